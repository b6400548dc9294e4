"""The text of scalars, at the edges of their ranges."""

from __future__ import annotations

import struct
import uuid
from decimal import Decimal

import pytest

from varquet.errors import InvalidVariantError
from varquet.types import BY_NAME
from varquet.variant.model import NULL, Scalar
from varquet.variant.text import binary_text, date_text, decimal_text, double_text, float_text, scalar_text, time_text, timestamp_text

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (0, "1970-01-01"),
        (-1, "1969-12-31"),
        (20194, "2025-04-16"),
        (11016, "2000-02-29"),
        (-25509, "1900-02-28"),
        (-25508, "1900-03-01"),
        (-719162, "0001-01-01"),
        (-719163, "0000-12-31"),
        (-719528, "0000-01-01"),
        (-719529, "-0001-12-31"),
        (2932896, "9999-12-31"),
        (2932897, "+10000-01-01"),
        ((1 << 31) - 1, "+5881580-07-11"),
        (-(1 << 31), "-5877641-06-23"),
    ],
)
def test_dates(days: int, text: str) -> None:
    assert date_text(days) == text


@pytest.mark.parametrize(
    ("micros", "text"), [(0, "00:00:00.000000"), (1, "00:00:00.000001"), (45234123456, "12:33:54.123456"), (86399999999, "23:59:59.999999")]
)
def test_times(micros: int, text: str) -> None:
    assert time_text(micros) == text


@pytest.mark.parametrize("micros", [-1, 86_400_000_000, INT64_MAX, INT64_MIN])
def test_times_outside_a_day(micros: int) -> None:
    with pytest.raises(InvalidVariantError, match=f"expected a time within one day, got {micros} microseconds"):
        time_text(micros)


@pytest.mark.parametrize(
    ("ticks", "unit", "tz", "text"),
    [
        (1744821296780000, "us", True, "2025-04-16T16:34:56.780000Z"),
        (1744806896780000, "us", False, "2025-04-16T12:34:56.780000"),
        (1730982834123456789, "ns", True, "2024-11-07T12:33:54.123456789Z"),
        (-1, "us", False, "1969-12-31T23:59:59.999999"),
        (-1, "ns", False, "1969-12-31T23:59:59.999999999"),
        (INT64_MAX, "us", True, "+294247-01-10T04:00:54.775807Z"),
        (INT64_MIN, "us", True, "-290308-12-21T19:59:05.224192Z"),
        (INT64_MAX, "ns", False, "2262-04-11T23:47:16.854775807"),
        (INT64_MIN, "ns", False, "1677-09-21T00:12:43.145224192"),
    ],
)
def test_timestamps(ticks: int, unit: str, tz: bool, text: str) -> None:
    assert timestamp_text(ticks, unit, tz=tz) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.5, "1.5e0"),
        (1e5, "100000.0e0"),
        (0.0, "0.0e0"),
        (-0.0, "-0.0e0"),
        (1e16, "1e+16"),
        (1e-5, "1e-05"),
        (0.1, "0.1e0"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_doubles(number: float, text: str) -> None:
    assert double_text(number) == text


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        (0x3DCCCCCD, "0.1e0"),
        (0x3FC00000, "1.5e0"),
        (0x80000000, "-0.0e0"),
        (0x00000001, "1e-45"),
        (0x7F7FFFFF, "3.4028235e+38"),
        (0x4B800000, "16777216.0e0"),
        (0x4E932C06, "1234568000.0e0"),
        (0x7FC00000, "NaN"),
        (0xFF800000, "-Infinity"),
    ],
)
def test_floats(bits: int, text: str) -> None:
    assert float_text(struct.unpack("<f", struct.pack("<I", bits))[0]) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("1.10", "1.10"),
        ("0.00001", "0.00001"),
        ("1E-5", "0.00001"),
        ("123", "123"),
        ("0", "0"),
        ("0.00", "0.00"),
        ("-0.5", "-0.5"),
        ("-12.34", "-12.34"),
        ("9" * 38, "9" * 38),
        ("1E-38", "0." + "0" * 37 + "1"),
    ],
)
def test_decimals(number: str, text: str) -> None:
    assert decimal_text(Decimal(number)) == text


def test_decimals_beyond_38_digits() -> None:
    for number in (Decimal(10**38), Decimal("1E-39")):
        with pytest.raises(InvalidVariantError, match="at most 38 digits"):
            decimal_text(number)


def test_binary() -> None:
    assert [binary_text(data) for data in (b"", b"\xff", b"\xfb\xff", b"\x03\x13\x37")] == ["", "/w==", "+/8=", "AxM3"]


@pytest.mark.parametrize(
    ("name", "payload", "text"),
    [
        ("true", True, "true"),
        ("false", False, "false"),
        ("int64", -5, "-5"),
        ("decimal4", Decimal("1.0"), "1.0"),
        ("double", 2.0, "2.0e0"),
        ("float", 0.10000000149011612, "0.1e0"),
        ("date", 0, "1970-01-01"),
        ("time", 0, "00:00:00.000000"),
        ("timestamp", 0, "1970-01-01T00:00:00.000000Z"),
        ("timestamp_ntz", 0, "1970-01-01T00:00:00.000000"),
        ("timestamp_nanos", 0, "1970-01-01T00:00:00.000000000Z"),
        ("timestamp_ntz_nanos", 0, "1970-01-01T00:00:00.000000000"),
        ("binary", b"\x00", "AA=="),
        ("string", 'a"b', 'a"b'),
        ("uuid", uuid.UUID(int=255), "00000000-0000-0000-0000-0000000000ff"),
    ],
)
def test_every_scalar_has_a_text(name: str, payload: object, text: str) -> None:
    assert scalar_text(Scalar(BY_NAME[name], payload)) == text  # type: ignore[arg-type]


def test_null() -> None:
    assert scalar_text(NULL) == "null"
