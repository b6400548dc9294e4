"""Python objects to a node and back.

| Python | Variant | comes back as |
|---|---|---|
| None | null | None |
| bool, numpy.bool | boolean | bool |
| int, numpy integers | int8 .. int64, the narrowest; beyond 64 bits decimal16 | int; Decimal |
| float, numpy.float64 | double | float |
| numpy.float32, numpy.float16 | float | float (so a second trip makes it a double) |
| Decimal | decimal with all its digits | Decimal |
| str | string | str |
| bytes, bytearray, memoryview | binary | bytes |
| date, datetime64[D] | date | date; datetime64[D] outside the years 1 to 9999 |
| time without zone | time | time |
| datetime with zone | timestamp | datetime in UTC; Timestamp outside the years 1 to 9999 |
| datetime without zone, datetime64[s, ms, us] | timestamp_ntz | datetime; Timestamp outside the years 1 to 9999 |
| datetime64[ns] | timestamp_ntz_nanos | Timestamp |
| Timestamp | timestamp or timestamp_ntz, micros or nanos | see above |
| UUID | uuid | UUID |
| Mapping with str keys | object | dict |
| list, tuple, other Sequence, numpy array | array | list |
| Variant, or anything with `metadata` and `value` bytes | what it is | |
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, TypeAlias

import numpy as np

from varquet.errors import CastError, InvalidVariantError, UnsupportedTypeError, VarquetError
from varquet.types import BY_NAME, MAX_DECIMAL_DIGITS, Family, integer_type_for
from varquet.variant.decimals import decimal_scalar, fits_decimal, unscaled_and_scale
from varquet.variant.decode import decode
from varquet.variant.messages import place
from varquet.variant.model import NULL, Node, Scalar
from varquet.variant.text import timestamp_text

__all__ = ["Timestamp", "from_python", "to_python"]

_EPOCH: Final = datetime.datetime(1970, 1, 1)
_EPOCH_UTC: Final = _EPOCH.replace(tzinfo=datetime.UTC)
_EPOCH_DAY: Final = _EPOCH.toordinal()
_MICROSECOND: Final = datetime.timedelta(microseconds=1)
_MICROS_PER_DAY: Final = 86_400_000_000
_TIMESTAMPS: Final = {
    (True, "us"): BY_NAME["timestamp"],
    (False, "us"): BY_NAME["timestamp_ntz"],
    (True, "ns"): BY_NAME["timestamp_nanos"],
    (False, "ns"): BY_NAME["timestamp_ntz_nanos"],
}
# The unit of a datetime64, the type it becomes, and how many ticks of that type one unit is.
_NUMPY_UNITS: Final = {
    "W": ("date", 7),
    "D": ("date", 1),
    "h": ("timestamp_ntz", 3_600_000_000),
    "m": ("timestamp_ntz", 60_000_000),
    "s": ("timestamp_ntz", 1_000_000),
    "ms": ("timestamp_ntz", 1_000),
    "us": ("timestamp_ntz", 1),
    "ns": ("timestamp_ntz_nanos", 1),
}

_Target: TypeAlias = list[object] | dict[str, object]


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A moment that `datetime` cannot hold: with nanoseconds, or outside the years 1 to 9999.

    >>> str(Timestamp(1_730_982_834_123_456_789, "ns", True))
    '2024-11-07T12:33:54.123456789Z'
    """

    ticks: int
    """Microseconds or nanoseconds since 1970-01-01T00:00:00."""
    unit: Literal["us", "ns"]
    tz: bool
    """Whether this is a moment in UTC (timestamp) or the reading of some local clock (timestamp_ntz)."""

    def __post_init__(self) -> None:
        if self.unit not in ("us", "ns"):
            raise UnsupportedTypeError(f'expected "us" or "ns" as the unit of a Timestamp, got {self.unit!r}')
        if not -(1 << 63) <= self.ticks < 1 << 63:
            raise CastError(f"expected the ticks of a Timestamp in 64 bits, got a number of {int(self.ticks).bit_length()} bits")

    def __str__(self) -> str:
        return timestamp_text(self.ticks, self.unit, tz=self.tz)


def from_python(obj: object) -> Node:
    """The node of a Python object; the types are in the table above.

    >>> from_python({"a": [1, 2.5]})
    {'a': [Scalar(type=PrimitiveType('int8'), value=1), Scalar(type=PrimitiveType('double'), value=2.5)]}
    """
    return _Reader().node(obj)


def to_python(node: Node) -> object:
    """The Python object of a node; the types are in the table above.

    >>> to_python([NULL, {"at": Scalar(BY_NAME["date"], 20194)}])
    [None, {'at': datetime.date(2025, 4, 16)}]
    """
    root: list[object] = []
    pending: list[tuple[Iterator[tuple[str | int, Node]], _Target]] = [(iter(((0, node),)), root)]
    while pending:
        children, target = pending[-1]
        child = next(children, None)
        if child is None:
            pending.pop()
            continue
        step, here = child
        made: object
        if isinstance(here, Scalar):
            made = _python_of(here)
        elif isinstance(here, dict):
            made = {}
            pending.append((iter(here.items()), made))
        else:
            made = []
            pending.append((enumerate(here), made))
        if isinstance(target, dict):
            target[str(step)] = made
        else:
            target.append(made)
    return root[0]


def _python_of(scalar: Scalar) -> object:
    payload = scalar.value
    if not isinstance(payload, int) or scalar.type.family in (Family.BOOLEAN, Family.EXACT):
        return payload
    if scalar.type.family is Family.DATE:
        return _date_of(payload)
    if scalar.type.family is Family.TIME:
        return _time_of(payload)
    tz = scalar.type.family is Family.TIMESTAMP
    if scalar.type.name.endswith("nanos"):
        return Timestamp(payload, "ns", tz)
    try:
        return (_EPOCH_UTC if tz else _EPOCH) + payload * _MICROSECOND
    except OverflowError:
        return Timestamp(payload, "us", tz)


def _date_of(days: int) -> datetime.date | np.datetime64:
    try:
        return datetime.date.fromordinal(_EPOCH_DAY + days)
    except (ValueError, OverflowError):
        return np.datetime64(days, "D")


def _time_of(micros: int) -> datetime.time:
    if not 0 <= micros < _MICROS_PER_DAY:
        raise InvalidVariantError(f"expected a time within one day, got {micros} microseconds after midnight")
    return (_EPOCH + micros * _MICROSECOND).time()


class _Open:
    """A Python container whose items are being read into a node."""

    __slots__ = ("items", "node", "source", "step")

    def __init__(self, source: object, items: Iterator[tuple[object, object]], node: list[Node] | dict[str, Node]) -> None:
        self.source = source
        self.items = items
        self.node = node
        self.step: str | int | None = None


class _Reader:
    def __init__(self) -> None:
        self.open: list[_Open] = []
        self.open_sources: set[int] = set()

    def node(self, obj: object) -> Node:
        try:
            root = self.begin(obj)
            while self.open:
                self.advance(self.open[-1])
            return root
        except VarquetError as error:
            inner = (error.path or "$")[1:]
            error.path = place([each.step for each in self.open if each.step is not None]) + inner
            raise

    def begin(self, obj: object) -> Node:
        """Read a scalar whole; make an empty node of a container and leave its items for later."""
        if isinstance(obj, np.ndarray) and obj.ndim == 0:
            obj = obj[()]
        scalar = _scalar_of(obj)
        if scalar is not None:
            return scalar
        node: list[Node] | dict[str, Node]
        items: Iterator[tuple[object, object]]
        if isinstance(obj, Mapping):
            node, items = {}, iter(obj.items())
        elif isinstance(obj, Sequence) or (isinstance(obj, np.ndarray) and obj.ndim > 0):
            node, items = [], enumerate(obj)
        else:
            return _encoded_node(obj)
        if id(obj) in self.open_sources:
            raise CastError(f"expected a tree, got a {type(obj).__name__} that contains itself")
        self.open_sources.add(id(obj))
        self.open.append(_Open(obj, items, node))
        return node

    def advance(self, parent: _Open) -> None:
        """Read the next item of a container, or close it after the last."""
        item = next(parent.items, None)
        if item is None:
            self.open.pop()
            self.open_sources.remove(id(parent.source))
            return
        key, obj = item
        if isinstance(parent.node, list):
            parent.step = len(parent.node)
            parent.node.append(self.begin(obj))
            return
        if not isinstance(key, str):
            raise UnsupportedTypeError(
                f"expected a field name of type str, got {type(key).__name__} {str(key)[:40]!r}", hint="make the keys of the mapping text"
            )
        name = _characters(key, "field name")
        parent.step = name
        parent.node[name] = self.begin(obj)


def _encoded_node(obj: object) -> Node:
    """The node of a Variant, or of what else carries its two parts, such as PySpark's `VariantVal`."""
    metadata, value = getattr(obj, "metadata", None), getattr(obj, "value", None)
    if isinstance(metadata, bytes) and isinstance(value, bytes):
        return decode(metadata, value)
    raise UnsupportedTypeError(
        f"expected a Python object that a Variant can hold, got {type(obj).__name__}",
        hint="convert it to None, bool, int, float, Decimal, str, bytes, date, time, datetime, UUID, a list or a dict",
    )


def _scalar_of(obj: object) -> Scalar | None:
    """The scalar of a Python object, or None if it is none."""
    match obj:
        case None:
            return NULL
        case bool() | np.bool_():
            return Scalar(BY_NAME["true" if obj else "false"], bool(obj))
        case np.timedelta64():
            return None  # numpy counts it among the integers
        case int() | np.integer():
            return _integer(int(obj))
        case float():
            return Scalar(BY_NAME["double"], float(obj))
        case np.floating() if isinstance(obj, (np.float32, np.float16)):
            return Scalar(BY_NAME["float"], float(obj))
        case Decimal():
            return _decimal(obj)
        case str():
            return Scalar(BY_NAME["string"], _characters(obj, "string"))
        case bytes() | bytearray() | memoryview():
            return Scalar(BY_NAME["binary"], bytes(obj))
        case datetime.datetime():
            return _timestamp(obj)
        case datetime.date():
            return Scalar(BY_NAME["date"], obj.toordinal() - _EPOCH_DAY)
        case datetime.time():
            return _time(obj)
        case np.datetime64():
            return _numpy_datetime(obj)
        case uuid.UUID():
            return Scalar(BY_NAME["uuid"], obj)
        case Timestamp():
            return Scalar(_TIMESTAMPS[obj.tz, obj.unit], obj.ticks)
    return None


def _integer(number: int) -> Scalar:
    kind = integer_type_for(number)
    if kind:
        return Scalar(kind, number)
    if not fits_decimal(number, 0):
        raise CastError(f"expected an integer of at most {MAX_DECIMAL_DIGITS} digits, got one of {number.bit_length()} bits")
    return decimal_scalar(number, 0)


def _decimal(number: Decimal) -> Scalar:
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise CastError(f"expected a finite decimal, got {number}", hint="make it a float, which has NaN and infinities")
    zeros = max(exponent, 0) if number else 0
    if len(digits) + zeros > MAX_DECIMAL_DIGITS or -exponent > MAX_DECIMAL_DIGITS:
        raise CastError(f"expected a decimal of at most {MAX_DECIMAL_DIGITS} digits, got {str(number)[:60]}")
    if exponent > 0:
        return decimal_scalar(int(number), 0)
    return decimal_scalar(*unscaled_and_scale(number))


def _characters(text: str, what: str) -> str:
    text = str.__str__(text)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise CastError(f"expected a {what} of Unicode characters, got the lone surrogate {text[error.start]!r}") from None
    return text


def _timestamp(moment: datetime.datetime) -> Scalar:
    if not isinstance(moment.year, int):
        # The NaT of pandas is an instance of datetime whose parts are all NaN.
        raise CastError(f"expected a moment, got {moment}", hint="None is the null of a Variant")
    offset = moment.utcoffset()
    clock = datetime.datetime.combine(moment.date(), moment.time().replace(tzinfo=None))
    micros = (clock - _EPOCH - (offset or datetime.timedelta())) // _MICROSECOND
    # A pandas Timestamp is a datetime that carries nanoseconds beside it.
    nanos = int(getattr(moment, "nanosecond", 0))
    if nanos:
        return Scalar(_TIMESTAMPS[offset is not None, "ns"], micros * 1000 + nanos)
    return Scalar(_TIMESTAMPS[offset is not None, "us"], micros)


def _time(time: datetime.time) -> Scalar:
    if time.tzinfo is not None:
        raise CastError(f"expected a time without zone, got {time.isoformat()}", hint="a Variant time has none; drop it or use a datetime")
    micros = ((time.hour * 60 + time.minute) * 60 + time.second) * 1_000_000 + time.microsecond
    return Scalar(BY_NAME["time"], micros)


def _numpy_datetime(moment: np.datetime64) -> Scalar:
    if np.isnat(moment):
        raise CastError("expected a moment, got NaT", hint="None is the null of a Variant")
    unit, count = np.datetime_data(moment.dtype)
    if unit not in _NUMPY_UNITS:
        raise UnsupportedTypeError(
            f"expected a datetime64 in days, seconds or fractions down to nanoseconds, got {moment.dtype}", hint="convert it with astype"
        )
    name, factor = _NUMPY_UNITS[unit]
    ticks = int(moment.astype(np.int64)) * count * factor
    kind = BY_NAME[name]
    if not -(1 << (8 * kind.width - 1)) <= ticks < 1 << (8 * kind.width - 1):
        raise CastError(f"expected a moment that fits {name}, got {moment}")
    return Scalar(kind, ticks)
