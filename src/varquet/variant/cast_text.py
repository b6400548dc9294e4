"""The text that casts read and write: SQL's forms of numbers, dates, times and timestamps.

Reading takes exactly the texts Spark takes, except those whose meaning depends on more than the text (a time without a
date, a zone that only a time-zone database knows) and two that Java lets through (hexadecimal floating point, digits
that are not ASCII). A reader returns None where the text has no meaning; it never raises, and every pattern is linear.
docs/casts.md holds the rules for people.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
import struct
from decimal import Decimal
from typing import Final, NamedTuple

import numpy as np

from varquet.types import MAX_DECIMAL_DIGITS

__all__ = [
    "NANOS",
    "Moment",
    "java_double_text",
    "java_float_text",
    "narrow_to_float",
    "nearest_float",
    "plain_text",
    "read_boolean",
    "read_date",
    "read_decimal",
    "read_double",
    "read_float",
    "read_integer",
    "read_time",
    "read_timestamp",
    "rescale",
]

NANOS: Final = 1_000_000_000

# Java's String.trim, used for fractional numbers, leaves DEL alone; Spark's own trimming, used elsewhere, does not.
_BLANK: Final = "".join(map(chr, range(0x21)))
_BLANK_OR_DEL: Final = _BLANK + "\x7f"

# No value here has more digits than a rounded text of 38 + 38; the context only has to be wider than that.
_EXACT: Final = decimal.Context(
    prec=100, rounding=decimal.ROUND_HALF_UP, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, capitals=1, traps=[]
)

# ---------------------------------------------------------------- numbers

_INTEGER: Final = re.compile(r"([+-]?)0*+([0-9]*+)")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]++(?:\.([0-9]*+))?|\.([0-9]++))(?:[eE]([+-]?)0*+([0-9]*+))?(?<![eE+-])")
_SPECIAL: Final = {
    "nan": math.nan,
    "inf": math.inf,
    "+inf": math.inf,
    "-inf": -math.inf,
    "infinity": math.inf,
    "+infinity": math.inf,
    "-infinity": -math.inf,
}
_TRUE: Final = frozenset({"t", "true", "y", "yes", "1"})
_FALSE: Final = frozenset({"f", "false", "n", "no", "0"})


def read_boolean(text: str) -> bool | None:
    """The truth value named by t, true, y, yes, 1 or f, false, n, no, 0, in any case."""
    word = text.strip(_BLANK_OR_DEL).lower()
    if word in _TRUE:
        return True
    return False if word in _FALSE else None


def read_integer(text: str) -> int | None:
    """The whole number written in plain digits, no wider than 64 bits need; a point or an exponent is refused."""
    found = _INTEGER.fullmatch(text.strip(_BLANK_OR_DEL))
    if found is None or not found[0][-1:].isdigit() or len(found[2]) > 19:
        return None
    return int(found[1] + (found[2] or "0"))


def read_decimal(text: str) -> Decimal | None:
    """The exact number written in decimal or exponent notation."""
    text = text.strip(_BLANK)
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    sign, digits = found[3] or "", found[4] or "0"
    exponent = int(sign + digits[:11])
    scale = len(found[1] or found[2] or "") - exponent
    # Java keeps a decimal's scale in 32 bits and refuses what does not fit, even where it would only be a zero.
    return Decimal(text) if -(1 << 31) <= scale < 1 << 31 else None


def rescale(number: Decimal, precision: int, scale: int) -> Decimal | None:
    """The number with `scale` digits behind the point, rounded half up, or None if it has more than `precision` digits."""
    if not number:
        return Decimal((0, (0,), -scale))
    if number.adjusted() >= MAX_DECIMAL_DIGITS:
        return None
    rounded = number.quantize(Decimal((0, (1,), -scale)), context=_EXACT)
    if not rounded:
        return rounded.copy_abs()
    return rounded if rounded.adjusted() + 1 + scale <= precision else None


def _float_body(text: str) -> str | float | None:
    """The digits of a floating-point text without Java's type suffix, or the special value it names."""
    text = text.strip(_BLANK)
    if text in ("+NaN", "-NaN"):
        return math.nan
    if (special := _SPECIAL.get(text.lower())) is not None:
        return special
    body = text[:-1] if text[-1:] in "fFdD" else text
    return body if _NUMBER.fullmatch(body) else None


def read_double(text: str) -> float | None:
    """The double nearest to the number in the text; too large a number is an infinity."""
    body = _float_body(text)
    return float(body) if isinstance(body, str) else body


def read_float(text: str) -> float | None:
    """The 32-bit float nearest to the number in the text; too large a number is an infinity."""
    body = _float_body(text)
    if not isinstance(body, str):
        return body
    double = float(body)
    # Also keeps exponents that Decimal cannot hold away from it.
    return double if double == 0 or math.isinf(double) else nearest_float(Decimal(body))


def nearest_float(number: int | Decimal) -> float:
    """The 32-bit float nearest to an exact number.

    Going through the nearest double would round twice. Of the two doubles around the number, the one whose last bit is
    odd is never halfway between two floats, so that narrowing it rounds as narrowing the number itself would.
    """
    double = float(number)
    difference = Decimal(number).compare(Decimal(double)) if math.isfinite(double) else Decimal(0)
    if difference and not struct.pack("<d", double)[0] & 1:
        double = math.nextafter(double, math.copysign(math.inf, difference))
    return narrow_to_float(double)


def narrow_to_float(double: float) -> float:
    """The 32-bit float nearest to a double."""
    try:
        narrow: float = struct.unpack("<f", struct.pack("<f", double))[0]
    except OverflowError:
        return math.copysign(math.inf, double)
    return narrow


def java_double_text(double: float) -> str:
    """A double as Java 19 and later write it: the shortest digits that identify it, 1.0E10 from ten million up."""
    return _java_text(double, repr(double))


def java_float_text(single: float) -> str:
    """A 32-bit float as Java 19 and later write it."""
    return _java_text(single, str(np.float32(single)))


def _java_text(number: float, shortest: str) -> str:
    if math.isnan(number):
        return "NaN"
    sign = "-" if math.copysign(1, number) < 0 else ""
    if math.isinf(number):
        return sign + "Infinity"
    if number == 0:
        return sign + "0.0"
    if len(Decimal(shortest).normalize(_EXACT).as_tuple().digits) == 1:
        # Java writes two digits at least, and then the two that come closest: 4.9E-324, not 5.0E-324.
        shortest = f"{number:.1e}"
    exact = Decimal(shortest).normalize(_EXACT).copy_abs()
    exponent = exact.adjusted()
    if -3 <= exponent < 7:
        text = format(exact, "f")
        return sign + (text if "." in text else text + ".0")
    digits = "".join(map(str, exact.as_tuple().digits))
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def plain_text(number: int | Decimal) -> str:
    """An exact number in plain notation without trailing zeros, so that 1.50 and 1.5 give one text."""
    return str(number) if isinstance(number, int) else format(number.normalize(_EXACT), "f")


# ---------------------------------------------------------------- dates and times

_CYCLE_DAYS: Final = 146_097  # of 400 years, after which the Gregorian calendar repeats
_EPOCH: Final = datetime.date(1970, 1, 1).toordinal()
_DAY_SECONDS: Final = 86_400

_DATE: Final = re.compile(r"([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_TIMESTAMP: Final = re.compile(
    r"([+-]?[0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})"
    r"(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*+))?([^0-9].*)?)?)?)?)?)?",
    re.DOTALL,
)
_TIME: Final = re.compile(r"([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*+))?)?)?")
_ZONE: Final = re.compile(r"Z|(?:UTC|GMT|UT)?(?P<offset>[+-].*)?")
_OFFSETS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"([+-])([0-9]{1,2})(?::([0-9]{1,2}))?",
        r"([+-])([0-9]{1,2}):([0-9]{2}):([0-9]{2})",
        r"([+-])([0-9]{2})([0-9]{2})([0-9]{2})?",
    )
)
_MAX_OFFSET: Final = 18 * 3600


class Moment(NamedTuple):
    """A point of local time with the offset that was written beside it."""

    seconds: int
    """Since 1970-01-01T00:00:00 of the local clock."""
    nanos: int
    offset: int | None
    """Seconds east of UTC, or None if the text names no zone."""


def _days(year: int, month: int, day: int) -> int | None:
    """Days since 1970-01-01 in the proleptic Gregorian calendar, whose year 0 exists."""
    cycle, year_of_cycle = divmod(year, 400)
    try:
        ordinal = datetime.date(2000 + year_of_cycle, month, day).toordinal()
    except ValueError:
        return None
    return ordinal - _EPOCH + (cycle - 5) * _CYCLE_DAYS


def read_date(text: str) -> int | None:
    """Days since 1970-01-01 of a yyyy, yyyy-m or yyyy-m-d text; after a full date, a blank or T may open anything."""
    found = _DATE.fullmatch(text.strip(_BLANK_OR_DEL))
    return _days(int(found[1]), int(found[2] or 1), int(found[3] or 1)) if found else None


def read_timestamp(text: str) -> Moment | None:
    """The moment in a yyyy[-m[-d[ h[:m[:s[.fraction][zone]]]]]] text, where T may stand for the blank.

    The fraction is cut to nanoseconds; the zone is Z, UTC, GMT, UT or an offset such as +1, +01:30 or UTC-0530.
    """
    found = _TIMESTAMP.fullmatch(text.strip(_BLANK_OR_DEL))
    if found is None:
        return None
    days = _days(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    seconds = _second_of_day(found[4] or "0", found[5], found[6])
    offset = _offset(found[8].strip(_BLANK)) if found[8] else None
    if days is None or seconds is None or (found[8] and offset is None):
        return None
    return Moment(days * _DAY_SECONDS + seconds, _nanos(found[7]), offset)


def read_time(text: str) -> int | None:
    """Nanoseconds since midnight of an h:m[:s[.fraction]] text, with AM or PM behind it or T before it."""
    text = text.rstrip(" ")
    suffix = text[-2:].upper() if len(text) > 2 else ""
    if suffix in ("AM", "PM"):
        text = text[:-2]
    # The T tells an hour alone from a year, and Spark wants it in front of everything.
    marked = text.startswith("T")
    found = _TIME.fullmatch(text[1:].rstrip(_BLANK_OR_DEL) if marked else text.strip(_BLANK_OR_DEL))
    if found is None or not (marked or found[2]):
        return None
    hour = int(found[1])
    if suffix in ("AM", "PM"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if suffix == "PM" else 0)
    seconds = _second_of_day(str(hour), found[2], found[3])
    return None if seconds is None else seconds * NANOS + _nanos(found[4])


def _second_of_day(hour: str, minute: str | None, second: str | None) -> int | None:
    h, m, s = int(hour), int(minute or 0), int(second or 0)
    return h * 3600 + m * 60 + s if h < 24 and m < 60 and s < 60 else None


def _nanos(fraction: str | None) -> int:
    return int((fraction or "")[:9].ljust(9, "0"))


def _offset(zone: str) -> int | None:
    found = _ZONE.fullmatch(zone)
    if found is None or not zone:
        return None
    if found["offset"] is None:
        return 0
    for pattern in _OFFSETS:
        if parts := pattern.fullmatch(found["offset"]):
            sign, hour, minute, *second = parts.groups()
            minutes, seconds = int(minute or 0), int(second[0] or 0) if second else 0
            total = int(hour) * 3600 + minutes * 60 + seconds
            if minutes > 59 or seconds > 59 or total > _MAX_OFFSET:
                return None
            return -total if sign == "-" else total
    return None
