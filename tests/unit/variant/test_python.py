"""Python objects to nodes and back."""

from __future__ import annotations

import collections
import datetime
import enum
import math
import pickle
import types
import uuid
from decimal import Decimal

import numpy as np
import pytest

from varquet.errors import CastError, InvalidVariantError, UnsupportedTypeError
from varquet.types import BY_NAME
from varquet.variant import Scalar, Timestamp, Variant, equal, from_python, to_python
from varquet.variant.model import NULL, Node

UTC = datetime.UTC
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1


class _Colour(str, enum.Enum):  # noqa: UP042 - the old mixin, whose str() is not its text
    RED = "red"


@pytest.mark.parametrize(
    ("obj", "type_name", "payload"),
    [
        (None, "null", None),
        (True, "true", True),
        (np.False_, "false", False),
        (127, "int8", 127),
        (-129, "int16", -129),
        (1 << 31, "int64", 1 << 31),
        (np.int64(5), "int8", 5),
        (np.uint64((1 << 64) - 1), "decimal16", Decimal((1 << 64) - 1)),
        (1 << 63, "decimal16", Decimal(1 << 63)),
        (-(10**38) + 1, "decimal16", Decimal(-(10**38) + 1)),
        (1.5, "double", 1.5),
        (np.float64(1.5), "double", 1.5),
        (np.float32(0.1), "float", float(np.float32(0.1))),
        (np.float16(0.1), "float", float(np.float16(0.1))),
        (Decimal("1.10"), "decimal4", Decimal("1.10")),
        (Decimal("1E+2"), "decimal4", Decimal(100)),
        (Decimal("0E+50"), "decimal4", Decimal(0)),
        (Decimal("-0.00"), "decimal4", Decimal("0.00")),
        (Decimal("1E-38"), "decimal16", Decimal("1E-38")),
        (Decimal("1E+37"), "decimal16", Decimal(10**37)),
        ("é", "string", "é"),
        (np.str_("x"), "string", "x"),
        (_Colour.RED, "string", "red"),
        (b"\x00", "binary", b"\x00"),
        (bytearray(b"a"), "binary", b"a"),
        (memoryview(b"abc")[1:], "binary", b"bc"),
        (np.bytes_(b"a"), "binary", b"a"),
        (datetime.date(1970, 1, 2), "date", 1),
        (datetime.date.min, "date", -719162),
        (datetime.time(12, 33, 54, 123456), "time", 45_234_123_456),
        (datetime.datetime(1970, 1, 1, 0, 0, 1), "timestamp_ntz", 1_000_000),
        (datetime.datetime(1970, 1, 1, tzinfo=UTC), "timestamp", 0),
        (datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2))), "timestamp", -7_200_000_000),
        (datetime.datetime.min.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=14))), "timestamp", -62_135_647_200_000_000),
        (np.datetime64("2025-04-16"), "date", 20194),
        (np.datetime64(2, "W"), "date", 14),
        (np.datetime64(2, "h"), "timestamp_ntz", 7_200_000_000),
        (np.datetime64(2, "s"), "timestamp_ntz", 2_000_000),
        (np.datetime64(2, "ms"), "timestamp_ntz", 2_000),
        (np.datetime64(2, "us"), "timestamp_ntz", 2),
        (np.datetime64(2, "ns"), "timestamp_ntz_nanos", 2),
        (np.array(3, dtype=np.int32), "int8", 3),
        (uuid.UUID(int=1), "uuid", uuid.UUID(int=1)),
        (Timestamp(1, "us", True), "timestamp", 1),
        (Timestamp(1, "us", False), "timestamp_ntz", 1),
        (Timestamp(1, "ns", True), "timestamp_nanos", 1),
        (Timestamp(1, "ns", False), "timestamp_ntz_nanos", 1),
        (Variant.from_python(7), "int8", 7),
    ],
)
def test_scalars(obj: object, type_name: str, payload: object) -> None:
    node = from_python(obj)
    assert isinstance(node, Scalar)
    assert node.type.name == type_name
    assert repr(node.value) == repr(payload)
    assert type(node.value) is type(payload)


def test_containers() -> None:
    expected: Node = {"a": [Scalar(BY_NAME["int8"], 1), NULL]}
    for source in (
        {"a": [1, None]},
        {"a": (1, None)},
        types.MappingProxyType({"a": collections.deque([1, None])}),
        {"a": np.array([1, None], dtype=object)},
        {np.str_("a"): collections.UserList([1, None])},
        {"a": Variant.from_python([1, None])},
        Variant.from_python({"a": [1, None]}),
    ):
        assert from_python(source) == expected
    assert from_python(np.arange(4, dtype=np.int64).reshape(2, 2)) == from_python([[0, 1], [2, 3]])
    assert from_python(range(2)) == from_python([0, 1])
    assert from_python(np.array([1.5], dtype=np.float32)) == [Scalar(BY_NAME["float"], 1.5)]
    assert from_python(np.array(["2020-01-01"], dtype="datetime64[ns]")) == [Scalar(BY_NAME["timestamp_ntz_nanos"], 1_577_836_800 * 10**9)]


def test_pyspark_values_are_taken_by_their_two_parts() -> None:
    variant = Variant.from_python({"a": 1})
    assert from_python([types.SimpleNamespace(metadata=variant.metadata, value=variant.value)]) == from_python([{"a": 1}])


@pytest.mark.parametrize(
    ("obj", "error", "message"),
    [
        ({"a": [1 << 200]}, CastError, "expected an integer of at most 38 digits, got one of 201 bits - at $['a'][0]"),
        ([10**38], CastError, "expected an integer of at most 38 digits, got one of 127 bits - at $[0]"),
        (Decimal("NaN"), CastError, "expected a finite decimal, got NaN - at $. Hint: make it a float"),
        (Decimal("-Infinity"), CastError, "expected a finite decimal, got -Infinity"),
        (Decimal("1E+38"), CastError, "expected a decimal of at most 38 digits, got 1E+38"),
        (Decimal("1E+999999"), CastError, "expected a decimal of at most 38 digits, got 1E+999999"),
        (Decimal("1E-39"), CastError, "expected a decimal of at most 38 digits, got 1E-39"),
        (Decimal("9" * 5000), CastError, "expected a decimal of at most 38 digits, got 9999"),
        ("a\ud800", CastError, "expected a string of Unicode characters, got the lone surrogate '\\ud800' - at $"),
        ({"\udc00": 1}, CastError, "expected a field name of Unicode characters, got the lone surrogate"),
        (datetime.time(1, tzinfo=UTC), CastError, "expected a time without zone, got 01:00:00+00:00"),
        (np.datetime64("NaT"), CastError, "expected a moment, got NaT - at $. Hint: None is the null of a Variant"),
        (np.datetime64(1 << 60, "s"), CastError, "expected a moment that fits timestamp_ntz"),
        (np.datetime64(1 << 40, "D"), CastError, "expected a moment that fits date"),
        (np.datetime64(1, "M"), UnsupportedTypeError, "expected a datetime64 in days, seconds or fractions down to nanoseconds"),
        (np.datetime64(1, "ps"), UnsupportedTypeError, "expected a datetime64 in days, seconds or fractions down to nanoseconds"),
        ([{"a": 1j}], UnsupportedTypeError, "expected a Python object that a Variant can hold, got complex - at $[0]['a']. Hint: convert"),
        ({1, 2}, UnsupportedTypeError, "expected a Python object that a Variant can hold, got set"),
        (object(), UnsupportedTypeError, "expected a Python object that a Variant can hold, got object"),
        (datetime.timedelta(1), UnsupportedTypeError, "expected a Python object that a Variant can hold, got timedelta"),
        (np.timedelta64(1, "s"), UnsupportedTypeError, "expected a Python object that a Variant can hold, got timedelta64"),
        (np.longdouble(1), UnsupportedTypeError, "expected a Python object that a Variant can hold, got longdouble"),
        (np.ma.masked, UnsupportedTypeError, "expected a Python object that a Variant can hold, got MaskedConstant"),
        ({"a": {1: 2}}, UnsupportedTypeError, "expected a field name of type str, got int '1' - at $['a']. Hint: make the keys"),
        ({None: 2}, UnsupportedTypeError, "expected a field name of type str, got NoneType 'None'"),
        (_Colour, UnsupportedTypeError, "expected a Python object that a Variant can hold, got EnumType"),
    ],
)
def test_what_no_variant_can_hold_is_refused(obj: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        from_python(obj)
    assert str(caught.value).startswith(message)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_cycles_are_refused_but_sharing_is_not() -> None:
    shared = [1]
    assert from_python([shared, shared]) == from_python([[1], [1]])
    cycle: dict[str, object] = {"a": [0]}
    cycle["a"] = [1, cycle]
    with pytest.raises(CastError, match=r"expected a tree, got a dict that contains itself - at \$\['a'\]\[1\]"):
        from_python(cycle)
    array = np.array([None], dtype=object)
    array[0] = array
    with pytest.raises(CastError, match="got a ndarray that contains itself"):
        from_python(array)
    lonely = np.array(None, dtype=object)
    lonely[()] = lonely
    with pytest.raises(UnsupportedTypeError):
        from_python(lonely)


def test_a_damaged_variant_inside_is_found_at_its_place() -> None:
    with pytest.raises(InvalidVariantError, match=r"expected 1 byte of int8, got 0 - at byte 5, \$\['a'\]\[0\]\[0\]"):
        from_python({"a": [Variant(b"\x01\0\0", b"\x03\x01\x00\x01\x0c")]})


def test_pandas_values() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert from_python(pandas.Timestamp("2020-01-01T00:00:00.000000001")) == Scalar(
        BY_NAME["timestamp_ntz_nanos"], 1_577_836_800 * 10**9 + 1
    )
    assert from_python(pandas.Timestamp("1970-01-01T02:00:00.000001+02:00")) == Scalar(BY_NAME["timestamp"], 1)
    assert from_python(pandas.Timestamp("1969-12-31T23:59:59.999999999Z")) == Scalar(BY_NAME["timestamp_nanos"], -1)
    with pytest.raises(CastError, match="expected a moment, got NaT"):
        from_python(pandas.NaT)
    with pytest.raises(UnsupportedTypeError):
        from_python(pandas.NA)


@pytest.mark.parametrize(
    ("name", "payload", "obj"),
    [
        ("null", None, None),
        ("true", True, True),
        ("int64", 5, 5),
        ("float", 0.10000000149011612, 0.10000000149011612),
        ("decimal16", Decimal("1.10"), Decimal("1.10")),
        ("binary", b"\x00", b"\x00"),
        ("string", "é", "é"),
        ("uuid", uuid.UUID(int=1), uuid.UUID(int=1)),
        ("date", 0, datetime.date(1970, 1, 1)),
        ("date", 2932896, datetime.date.max),
        ("date", 2932897, np.datetime64("10000-01-01", "D")),
        ("date", -719163, np.datetime64("0000-12-31", "D")),
        ("date", -(1 << 31), np.datetime64(-(1 << 31), "D")),
        ("time", 86_399_999_999, datetime.time(23, 59, 59, 999999)),
        ("timestamp", 1, datetime.datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC)),
        ("timestamp_ntz", -1, datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)),
        ("timestamp_ntz", 253_402_300_799_999_999, datetime.datetime.max),
        ("timestamp_ntz", 253_402_300_800_000_000, Timestamp(253_402_300_800_000_000, "us", False)),
        ("timestamp", -62_135_596_800_000_001, Timestamp(-62_135_596_800_000_001, "us", True)),
        ("timestamp", INT64_MIN, Timestamp(INT64_MIN, "us", True)),
        ("timestamp_ntz", INT64_MAX, Timestamp(INT64_MAX, "us", False)),
        ("timestamp_nanos", 1000, Timestamp(1000, "ns", True)),
        ("timestamp_ntz_nanos", INT64_MIN, Timestamp(INT64_MIN, "ns", False)),
    ],
)
def test_back_to_python(name: str, payload: object, obj: object) -> None:
    node = Scalar(BY_NAME[name], payload)  # type: ignore[arg-type]
    made = to_python(node)
    assert made == obj
    assert type(made) is type(obj)
    if isinstance(made, datetime.datetime) and isinstance(obj, datetime.datetime):
        assert made.tzinfo is obj.tzinfo
    if name != "float":
        assert equal(from_python(made), node)


def test_a_float_comes_back_as_a_python_float_and_so_as_a_double() -> None:
    made = to_python(from_python(np.float32(1.5)))
    assert type(made) is float
    assert from_python(made) == Scalar(BY_NAME["double"], 1.5)


def test_special_floats_come_back() -> None:
    nan, zero = to_python(from_python(math.nan)), to_python(from_python(-0.0))
    assert isinstance(nan, float) and math.isnan(nan)
    assert isinstance(zero, float) and math.copysign(1, zero) == -1


def test_a_time_outside_the_day_is_refused() -> None:
    with pytest.raises(InvalidVariantError, match="expected a time within one day, got -1"):
        to_python(Scalar(BY_NAME["time"], -1))


def test_great_depth() -> None:
    obj: object = 1
    for _ in range(100_000):
        obj = [{"a": obj}]
    node = from_python(obj)
    back = to_python(node)
    for _ in range(100_000):
        assert isinstance(back, list)
        back = back[0]["a"]
    assert back == 1


def test_timestamp() -> None:
    moment = Timestamp(1_730_982_834_123_456_789, "ns", True)
    assert str(moment) == "2024-11-07T12:33:54.123456789Z"
    assert repr(moment) == "Timestamp(ticks=1730982834123456789, unit='ns', tz=True)"
    assert moment == pickle.loads(pickle.dumps(moment))
    assert len({moment, Timestamp(1_730_982_834_123_456_789, "ns", True)}) == 1
    with pytest.raises(AttributeError):
        moment.ticks = 0  # type: ignore[misc]
    with pytest.raises(UnsupportedTypeError, match='expected "us" or "ns" as the unit of a Timestamp, got \'ms\''):
        Timestamp(0, "ms", True)  # type: ignore[arg-type]
    with pytest.raises(CastError, match="in 64 bits"):
        Timestamp(1 << 63, "us", True)


@pytest.mark.parametrize("ticks", [1 << 63, -(1 << 63) - 1, 10**5000], ids=["above", "below", "very long"])
def test_ticks_of_more_than_64_bits(ticks: int) -> None:
    with pytest.raises(CastError, match="expected the ticks of a Timestamp in 64 bits, got a number of"):
        Timestamp(ticks, "us", True)
