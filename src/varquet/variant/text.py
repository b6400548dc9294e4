"""The text of scalars: the one form in which JSON, `repr` and casts to string show what JSON has no type for.

    date             2025-04-16; years beyond four digits with a sign: +10000-01-01, -0001-12-31 (there is a year 0)
    time             12:33:54.123456
    timestamp        2025-04-16T16:34:56.780000Z, nanoseconds with nine digits; _ntz without the Z
    float, double    the shortest digits that identify the value, always with an exponent: 1.5e0, 1e+16; NaN, Infinity
    decimal          plain notation with all digits of the scale: 1.10, 0.00001
    binary           base64 (RFC 4648, section 4) with padding
    uuid             f24f9b64-81fa-49d1-b74e-8c09a6e31c56

The calendar is the proleptic Gregorian one, over the whole range of the encoding.
"""

from __future__ import annotations

import base64
import datetime
import math
import uuid
from decimal import Decimal
from typing import Final

import numpy as np

from varquet.errors import InvalidVariantError
from varquet.types import MAX_DECIMAL_DIGITS, Family
from varquet.variant.decimals import fits_decimal, unscaled_and_scale
from varquet.variant.model import Scalar

__all__ = [
    "binary_text",
    "date_text",
    "decimal_text",
    "double_text",
    "float_text",
    "scalar_text",
    "time_text",
    "timestamp_text",
    "uuid_text",
]

_SECONDS_PER_DAY: Final = 86_400
_EPOCH: Final = datetime.date(1970, 1, 1).toordinal()
# The calendar repeats itself after 400 years.
_CYCLE_YEARS: Final = 400
_CYCLE_DAYS: Final = 146_097


def scalar_text(scalar: Scalar) -> str:
    """The text of any scalar, without quotes; a string is its own text.

    >>> from varquet.types import BY_NAME
    >>> scalar_text(Scalar(BY_NAME["date"], 20194))
    '2025-04-16'
    """
    payload = scalar.value
    match payload:
        case None:
            return "null"
        case bool():
            return "true" if payload else "false"
        case int():
            return _integer_text(scalar.type.name, scalar.type.family, payload)
        case float():
            return float_text(payload) if scalar.type.family is Family.FLOAT else double_text(payload)
        case Decimal():
            return decimal_text(payload)
        case str():
            return payload
        case bytes():
            return binary_text(payload)
        case uuid.UUID():
            return uuid_text(payload)


def _integer_text(name: str, family: Family, number: int) -> str:
    if family is Family.DATE:
        return date_text(number)
    if family is Family.TIME:
        return time_text(number)
    if family in (Family.TIMESTAMP, Family.TIMESTAMP_NTZ):
        return timestamp_text(number, "ns" if name.endswith("nanos") else "us", tz=family is Family.TIMESTAMP)
    return str(number)


def date_text(days: int) -> str:
    """The date so many days after 1970-01-01.

    >>> date_text(0), date_text(2932897), date_text(-719529)
    ('1970-01-01', '+10000-01-01', '-0001-12-31')
    """
    cycles, day = divmod(days, _CYCLE_DAYS)
    date = datetime.date.fromordinal(_EPOCH + day)
    year = date.year + _CYCLE_YEARS * cycles
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{date.month:02}-{date.day:02}"


def time_text(micros: int) -> str:
    """The time of day so many microseconds after midnight.

    >>> time_text(45_234_123_456)
    '12:33:54.123456'
    """
    if not 0 <= micros < _SECONDS_PER_DAY * 1_000_000:
        raise InvalidVariantError(f"expected a time within one day, got {micros} microseconds after midnight")
    return _clock(micros, 6)


def timestamp_text(ticks: int, unit: str, *, tz: bool) -> str:
    """The moment so many microseconds ("us") or nanoseconds ("ns") after 1970-01-01T00:00:00.

    >>> timestamp_text(-1, "ns", tz=True), timestamp_text(0, "us", tz=False)
    ('1969-12-31T23:59:59.999999999Z', '1970-01-01T00:00:00.000000')
    """
    digits = {"us": 6, "ns": 9}[unit]
    days, rest = divmod(ticks, _SECONDS_PER_DAY * 10**digits)
    return f"{date_text(days)}T{_clock(rest, digits)}{'Z' if tz else ''}"


def _clock(ticks: int, digits: int) -> str:
    seconds, fraction = divmod(ticks, 10**digits)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}.{fraction:0{digits}}"


def double_text(number: float) -> str:
    """The shortest text that identifies a double; its exponent tells it from a decimal.

    >>> [double_text(x) for x in (1.5, 1e5, -0.0, 1e16, 5e-324, float("-inf"))]
    ['1.5e0', '100000.0e0', '-0.0e0', '1e+16', '5e-324', '-Infinity']
    """
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    text = repr(float(number))
    return text if "e" in text else text + "e0"


def float_text(number: float) -> str:
    """The shortest text that identifies a 32-bit float among its kind.

    >>> float_text(struct_unpacked := 0.10000000149011612)
    '0.1e0'
    """
    return double_text(float(str(np.float32(number))))


def decimal_text(number: Decimal) -> str:
    """A decimal in plain notation, with all the digits of its scale.

    >>> decimal_text(Decimal("1.10")), decimal_text(Decimal("1E-5")), decimal_text(Decimal("-0.5"))
    ('1.10', '0.00001', '-0.5')
    """
    unscaled, scale = unscaled_and_scale(number)
    if not fits_decimal(unscaled, scale):
        raise InvalidVariantError(f"expected a decimal of at most {MAX_DECIMAL_DIGITS} digits, got {str(number)[:60]}")
    digits = f"{abs(unscaled):0{scale + 1}}"
    sign = "-" if unscaled < 0 else ""
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else sign + digits


def binary_text(data: bytes) -> str:
    """The base64 form of some bytes."""
    return base64.b64encode(data).decode("ascii")


def uuid_text(identifier: uuid.UUID) -> str:
    """The canonical lowercase form of a UUID."""
    return str(identifier)
