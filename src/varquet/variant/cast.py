"""What a cast means: one Variant value as a value of an Arrow type, with the results of Spark's `variant_get`.

This is the readable definition of `extract`'s typed result, run per value: the twin that the kernels are tested
against, and the way for the pairs of types that no kernel covers. docs/casts.md is the same for people.

A result depends on the value and the type alone: never on the clock, on a session's time zone (it is always UTC) or on
the machine's time-zone database. Exact numbers cast by value, so the width and the scale they were stored in do not matter.
"""

from __future__ import annotations

import enum
import functools
import math
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias

import pyarrow as pa

from varquet.errors import CastError, InvalidVariantError, UnsupportedTypeError
from varquet.types import Family, sql_name
from varquet.variant import cast_text as text
from varquet.variant.json_text import to_json
from varquet.variant.model import Node, Scalar
from varquet.variant.text import date_text, time_text, timestamp_text, uuid_text

__all__ = ["cast", "try_cast"]

_MICROS: Final = 1_000_000
_INT64_MAX: Final = (1 << 63) - 1
_DAY_SECONDS: Final = 86_400
_SHOWN: Final = 60  # characters of a text that an error message repeats


class _Kind(enum.Enum):
    NULL = enum.auto()
    BOOLEAN = enum.auto()
    INTEGER = enum.auto()
    FLOAT = enum.auto()
    DOUBLE = enum.auto()
    DECIMAL = enum.auto()
    STRING = enum.auto()
    BINARY = enum.auto()
    DATE = enum.auto()
    TIME = enum.auto()
    TIMESTAMP = enum.auto()
    TIMESTAMP_NTZ = enum.auto()
    UUID = enum.auto()


@dataclass(frozen=True, slots=True)
class _Target:
    """An Arrow type, reduced to what a cast asks of it."""

    kind: _Kind
    name: str
    bits: int = 0
    precision: int = 0
    scale: int = 0
    per_second: int = _MICROS


def cast(node: Node, target: pa.DataType) -> object:
    """The value as the payload of an Arrow type; None for Variant null; CastError where it has no such meaning.

    | target | payload |
    |---|---|
    | bool, int8 .. int64, float32, float64 | bool, int, float |
    | decimal128(p, s) | Decimal with s digits behind the point |
    | string, binary, binary(16) for uuid | str, bytes, bytes |
    | date32 | int, days since 1970-01-01 |
    | time64("us") | int, microseconds since midnight |
    | timestamp("us") and timestamp("ns"), with or without a zone | int, ticks since 1970-01-01T00:00:00 |

    >>> from varquet.types import BY_NAME
    >>> cast(Scalar(BY_NAME["string"], " 12 "), pa.int64())
    12
    """
    result = try_cast(node, target)
    if result is None and not _is_null(node):
        raise CastError(f"cannot cast {_described(node)} to {_target_of(target).name}")
    return result


def try_cast(node: Node, target: pa.DataType) -> object:
    """Like `cast`, with None where that raises CastError."""
    wanted = _target_of(target)
    if not isinstance(node, Scalar):
        return to_json(node) if wanted.kind is _Kind.STRING else None
    convert = _CASTS.get((node.type.family, wanted.kind))
    return None if convert is None else convert(_payload(node), wanted)


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.type.family is Family.NULL


def _payload(scalar: Scalar) -> Any:
    """What the casts of the scalar's family take: its value, where timestamps of either unit are nanoseconds."""
    value: Any = scalar.value
    return value * 1000 if scalar.type.name in ("timestamp", "timestamp_ntz") else value


def _described(node: Node) -> str:
    """The value as an error message names it."""
    if not isinstance(node, Scalar):
        return "an object" if isinstance(node, dict) else "an array"
    family = node.type.family
    if family is Family.TIME:
        return f"time of {node.value!r} microseconds"
    if isinstance(node.value, (str, bytes)):
        return f"{node.type.name} {node.value[:_SHOWN]!r}{'...' if len(node.value) > _SHOWN else ''}"
    name = "boolean" if family is Family.BOOLEAN else node.type.name
    return f"{name} {_TO_STRING[family](_payload(node), _STRING)}"


# ---------------------------------------------------------------- the types that a value can become

_STRING: Final = _Target(_Kind.STRING, "string")
_KINDS: Final[dict[pa.DataType, _Kind]] = {
    pa.null(): _Kind.NULL,
    pa.bool_(): _Kind.BOOLEAN,
    pa.int8(): _Kind.INTEGER,
    pa.int16(): _Kind.INTEGER,
    pa.int32(): _Kind.INTEGER,
    pa.int64(): _Kind.INTEGER,
    pa.float32(): _Kind.FLOAT,
    pa.float64(): _Kind.DOUBLE,
    pa.date32(): _Kind.DATE,
    pa.time64("us"): _Kind.TIME,
    pa.binary(16): _Kind.UUID,
}


@functools.lru_cache(maxsize=256)
def _target_of(arrow: pa.DataType) -> _Target:
    is_ = pa.types
    if (kind := _KINDS.get(arrow)) is not None:
        return _Target(kind, sql_name(arrow), bits=arrow.bit_width if kind is _Kind.INTEGER else 0)
    if is_.is_decimal128(arrow) and arrow.scale >= 0:
        return _Target(_Kind.DECIMAL, sql_name(arrow), precision=arrow.precision, scale=arrow.scale)
    if is_.is_string(arrow) or is_.is_large_string(arrow) or is_.is_string_view(arrow):
        return _STRING
    if is_.is_binary(arrow) or is_.is_large_binary(arrow) or is_.is_binary_view(arrow):
        return _Target(_Kind.BINARY, "binary")
    if is_.is_timestamp(arrow) and arrow.unit in ("us", "ns"):
        kind = _Kind.TIMESTAMP if arrow.tz else _Kind.TIMESTAMP_NTZ
        name = sql_name(pa.timestamp(arrow.unit, "UTC" if arrow.tz else None))
        return _Target(kind, name, per_second=_MICROS if arrow.unit == "us" else text.NANOS)
    raise UnsupportedTypeError(
        f"expected a type that a Variant value can be cast to, got {arrow}",
        hint="take a bool, a signed integer, float32, float64, decimal128, string, binary, binary(16), date32, "
        "time64('us') or a timestamp in 'us' or 'ns'",
    )


# ---------------------------------------------------------------- to numbers


def _within(number: int, bits: int) -> int | None:
    return number if -(1 << (bits - 1)) <= number < 1 << (bits - 1) else None


def _truncated(number: float, bits: int) -> int | None:
    """A floating-point number cut to an integer; 2 to the 63rd becomes the largest bigint, as it does in Spark."""
    if not math.isfinite(number):
        return None
    if bits == 64 and number == float(1 << 63):
        return _INT64_MAX
    return _within(int(number), bits)


def _boolean_to_decimal(value: bool, target: _Target) -> Decimal | None:
    return text.rescale(Decimal(int(value)), target.precision, target.scale)


def _exact_to_decimal(number: int | Decimal, target: _Target) -> Decimal | None:
    return text.rescale(Decimal(number), target.precision, target.scale)


def _floating_to_decimal(number: float, target: _Target) -> Decimal | None:
    # Spark takes the digits that the double prints as, not its exact binary value; of a float too.
    return text.rescale(Decimal(repr(number)), target.precision, target.scale) if math.isfinite(number) else None


def _string_to_integer(value: str, target: _Target) -> int | None:
    number = text.read_integer(value)
    return None if number is None else _within(number, target.bits)


def _string_to_decimal(value: str, target: _Target) -> Decimal | None:
    number = text.read_decimal(value)
    return None if number is None else text.rescale(number, target.precision, target.scale)


def _timestamp_to_decimal(nanos: int, target: _Target) -> Decimal | None:
    return text.rescale(Decimal(f"{nanos}e-9"), target.precision, target.scale)


def _seconds(nanos: int) -> float:
    # Spark divides the microseconds as a double; a nanosecond timestamp must not differ from its microsecond twin.
    return float(nanos // 1000) / _MICROS


# ---------------------------------------------------------------- to dates and times


def _ticks(nanos: int, target: _Target) -> int | None:
    return _within(nanos // (text.NANOS // target.per_second), 64)


def _exact_to_timestamp(number: int | Decimal, target: _Target) -> int | None:
    numerator, denominator = number.as_integer_ratio()
    whole = abs(numerator) * target.per_second // denominator
    return _within(-whole if numerator < 0 else whole, 64)


def _time_of_day(micros: int) -> int:
    if not 0 <= micros < _DAY_SECONDS * _MICROS:
        raise InvalidVariantError(f"expected a time within one day, got {micros} microseconds since midnight")
    return micros


def _string_to_date(value: str, target: _Target) -> int | None:
    days = text.read_date(value)
    return None if days is None else _within(days, 32)


def _string_to_time(value: str, target: _Target) -> int | None:
    nanos = text.read_time(value)
    return None if nanos is None else nanos // 1000


def _string_to_timestamp(value: str, target: _Target) -> int | None:
    moment = text.read_timestamp(value)
    if moment is None:
        return None
    # A timestamp without zone is the local clock that the text shows: the offset has to be a valid one, no more.
    offset = moment.offset or 0 if target.kind is _Kind.TIMESTAMP else 0
    return _ticks((moment.seconds - offset) * text.NANOS + moment.nanos, target)


# ---------------------------------------------------------------- to text and bytes


def _timestamp_to_string(nanos: int, target: _Target) -> str:
    # SQL's form: a blank for the T, no zone (it is UTC), and no more fraction than there is.
    return _without_trailing_zeros(timestamp_text(nanos, "ns", tz=False).replace("T", " "))


def _without_trailing_zeros(clock: str) -> str:
    return clock.rstrip("0").rstrip(".")


def _binary_to_string(value: bytes, target: _Target) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _string_to_uuid(value: str, target: _Target) -> bytes | None:
    try:
        found = uuid.UUID(value)
    except ValueError:
        return None
    # The class takes many spellings; only the canonical one is a uuid here.
    return found.bytes if str(found) == value.lower() else None


# ---------------------------------------------------------------- which family can become which kind

_Cast: TypeAlias = Callable[[Any, _Target], object]
_F, _K = Family, _Kind

_TO_STRING: Final[dict[Family, _Cast]] = {
    _F.BOOLEAN: lambda value, _: "true" if value else "false",
    _F.EXACT: lambda number, _: text.plain_text(number),
    _F.FLOAT: lambda number, _: text.java_float_text(number),
    _F.DOUBLE: lambda number, _: text.java_double_text(number),
    _F.DATE: lambda days, _: date_text(days),
    _F.TIME: lambda micros, _: _without_trailing_zeros(time_text(micros)),
    _F.TIMESTAMP: _timestamp_to_string,
    _F.TIMESTAMP_NTZ: _timestamp_to_string,
    _F.BINARY: _binary_to_string,
    _F.STRING: lambda value, _: value,
    _F.UUID: lambda value, _: uuid_text(value),
}

_CASTS: Final[dict[tuple[Family, _Kind], _Cast]] = {
    **{(family, _K.STRING): to_string for family, to_string in _TO_STRING.items()},
    (_F.BOOLEAN, _K.BOOLEAN): lambda value, _: value,
    (_F.BOOLEAN, _K.INTEGER): lambda value, _: int(value),
    (_F.BOOLEAN, _K.FLOAT): lambda value, _: float(value),
    (_F.BOOLEAN, _K.DOUBLE): lambda value, _: float(value),
    (_F.BOOLEAN, _K.DECIMAL): _boolean_to_decimal,
    (_F.EXACT, _K.BOOLEAN): lambda number, _: number != 0,
    (_F.EXACT, _K.INTEGER): lambda number, target: _within(int(number), target.bits),
    (_F.EXACT, _K.FLOAT): lambda number, _: text.nearest_float(number),
    (_F.EXACT, _K.DOUBLE): lambda number, _: float(number),
    (_F.EXACT, _K.DECIMAL): _exact_to_decimal,
    (_F.EXACT, _K.TIMESTAMP): _exact_to_timestamp,
    **{
        (family, kind): convert
        for family in (_F.FLOAT, _F.DOUBLE)
        for kind, convert in {
            _K.BOOLEAN: lambda number, _: number != 0,
            _K.INTEGER: lambda number, target: _truncated(number, target.bits),
            _K.FLOAT: lambda number, _: text.narrow_to_float(number),
            _K.DOUBLE: lambda number, _: number,
            _K.DECIMAL: _floating_to_decimal,
            _K.TIMESTAMP: lambda number, target: _truncated(number * target.per_second, 64),
        }.items()
    },
    (_F.STRING, _K.BOOLEAN): lambda value, _: text.read_boolean(value),
    (_F.STRING, _K.INTEGER): _string_to_integer,
    (_F.STRING, _K.FLOAT): lambda value, _: text.read_float(value),
    (_F.STRING, _K.DOUBLE): lambda value, _: text.read_double(value),
    (_F.STRING, _K.DECIMAL): _string_to_decimal,
    (_F.STRING, _K.BINARY): lambda value, _: value.encode(),
    (_F.STRING, _K.DATE): _string_to_date,
    (_F.STRING, _K.TIME): _string_to_time,
    (_F.STRING, _K.TIMESTAMP): _string_to_timestamp,
    (_F.STRING, _K.TIMESTAMP_NTZ): _string_to_timestamp,
    (_F.STRING, _K.UUID): _string_to_uuid,
    (_F.DATE, _K.DATE): lambda days, _: days,
    (_F.DATE, _K.TIMESTAMP): lambda days, target: _within(days * _DAY_SECONDS * target.per_second, 64),
    (_F.DATE, _K.TIMESTAMP_NTZ): lambda days, target: _within(days * _DAY_SECONDS * target.per_second, 64),
    (_F.TIME, _K.TIME): lambda micros, _: _time_of_day(micros),
    **{
        (family, kind): convert
        for family in (_F.TIMESTAMP, _F.TIMESTAMP_NTZ)
        for kind, convert in {
            _K.DATE: lambda nanos, _: nanos // (_DAY_SECONDS * text.NANOS),
            _K.TIMESTAMP: _ticks,
            _K.TIMESTAMP_NTZ: _ticks,
        }.items()
    },
    (_F.TIMESTAMP, _K.INTEGER): lambda nanos, target: _within(nanos // text.NANOS, target.bits),
    (_F.TIMESTAMP, _K.FLOAT): lambda nanos, _: text.narrow_to_float(_seconds(nanos)),
    (_F.TIMESTAMP, _K.DOUBLE): lambda nanos, _: _seconds(nanos),
    (_F.TIMESTAMP, _K.DECIMAL): _timestamp_to_decimal,
    (_F.BINARY, _K.BINARY): lambda value, _: value,
    (_F.BINARY, _K.UUID): lambda value, _: value if len(value) == 16 else None,
    (_F.UUID, _K.UUID): lambda value, _: value.bytes,
}  # fmt: skip
