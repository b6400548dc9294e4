"""What a query says: paths with types, predicates over them, and the columns of its result.

A path stands for the value it leads to, cast to a type as `extract` casts: what is missing, null or cannot be cast is null.
Predicates follow SQL's logic of three values. NaN equals itself and is larger than every other number, as in Spark and DuckDB.

    path("$.user.age") > 30                      compared as double, the type of the literal
    path("$.user.age", "bigint") > 30            as bigint: 30.5 becomes 30 before it is compared
    path("$.type").is_in(["click", "view"]) & ~path("$.user").is_null()
    column("day") == datetime.date(2026, 1, 1)   a column of the file that is no Variant
    column("headers")["content-type"] == "text/html"    the value of a key of a map

Everything here is plain data: it can be compared, pickled and written as text, and knows nothing of files.
"""

from __future__ import annotations

import datetime
import decimal
import math
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, TypeVar

import pyarrow as pa

from varquet.errors import UnsupportedTypeError
from varquet.paths import Path
from varquet.schema import display_path
from varquet.types import MAX_DECIMAL_DIGITS, arrow_type_of_sql, sql_name

__all__ = [
    "And",
    "Comparison",
    "In",
    "IsNan",
    "IsNull",
    "Not",
    "Operand",
    "Operator",
    "Or",
    "Predicate",
    "Query",
    "StartsWith",
    "column",
    "fold",
    "literal_as",
    "operand_of",
    "operands_of",
    "path",
    "quoted_name",
    "type_of_literal",
]

Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]

_EXACT_IN_DOUBLE: Final = 1 << 53
# Digits behind the point that are kept when a value is compared with a decimal literal.
_DECIMAL_SCALE: Final = 18


class Predicate:
    """Something that is true, false or unknown of a row; combine with &, | and ~."""

    __slots__ = ()

    def __and__(self, other: Predicate) -> Predicate:
        return And((self, _predicate(other)))

    def __or__(self, other: Predicate) -> Predicate:
        return Or((self, _predicate(other)))

    def __invert__(self) -> Predicate:
        return Not(self)

    def __bool__(self) -> bool:
        raise UnsupportedTypeError("expected & | ~ between predicates, got and, or, not or a chained comparison")


def _predicate(value: object) -> Predicate:
    if not isinstance(value, Predicate):
        raise UnsupportedTypeError(f"expected a predicate, got {value!r}", hint="put each comparison into brackets: (a > 1) & (b < 2)")
    return value


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """The value at a path of a Variant column, or of a key of a map, cast to a type; or a column of the file itself, which has no path.

    The methods and operators make predicates of it; `same_as` compares two operands.
    """

    path: Path | None
    column: str | None = None
    """The column's name; None is the file's only Variant column."""
    type: pa.DataType | None = None
    """What it is cast to; None leaves a Variant, or the column, as it is."""

    def as_(self, type: pa.DataType | str) -> Operand:
        """The same value, cast to a type."""
        return Operand(self.path, self.column, arrow_type_of_sql(type) if isinstance(type, str) else type)

    def __getitem__(self, key: str) -> Operand:
        """The value of a key of the map that a column is, or of a field of what is at a path."""
        return Operand((Path() if self.path is None else self.path) / key, self.column, None)

    __iter__ = None

    @property
    def key(self) -> tuple[Path | None, str | None, pa.DataType | None]:
        """What tells operands apart."""
        return self.path, self.column, self.type

    def __eq__(self, other: object) -> Predicate:  # type: ignore[override]
        return self.compared("=", other)

    def __ne__(self, other: object) -> Predicate:  # type: ignore[override]
        return self.compared("!=", other)

    def __lt__(self, other: object) -> Predicate:
        return self.compared("<", other)

    def __le__(self, other: object) -> Predicate:
        return self.compared("<=", other)

    def __gt__(self, other: object) -> Predicate:
        return self.compared(">", other)

    def __ge__(self, other: object) -> Predicate:
        return self.compared(">=", other)

    __hash__ = None  # type: ignore[assignment]

    def compared(self, operator: Operator, literal: object) -> Predicate:
        """What the operators make: this compared with a literal."""
        if isinstance(literal, Operand):
            raise UnsupportedTypeError(f"expected a literal to compare {self.text()} with, got another path or column")
        if literal is None:
            raise UnsupportedTypeError("expected a literal, got None, with which nothing compares", hint="use is_null() or is_not_null()")
        typed, (value,) = _typed(self, literal)
        return Comparison(typed, operator, value)

    def is_in(self, values: Iterable[object]) -> Predicate:
        """Whether it equals one of these; None among them makes what is found nowhere unknown, as in SQL."""
        literals = list(values)
        some = [literal for literal in literals if literal is not None]
        if not some:
            return In(self if self.type is not None or self.path is None else self.as_(pa.string()), (), bool(literals))
        operand, typed = _typed(self, *some)
        return In(operand, typed, len(some) < len(literals))

    def between(self, low: object, high: object) -> Predicate:
        """Whether it lies between two values, both included."""
        operand, (first, last) = _typed(self, low, high)
        return And((Comparison(operand, ">=", first), Comparison(operand, "<=", last)))

    def is_null(self) -> Predicate:
        """Whether there is no such value: without a type a Variant null is one, with a type it is not."""
        return IsNull(self)

    def is_not_null(self) -> Predicate:
        """Whether there is such a value."""
        return Not(IsNull(self))

    def is_nan(self) -> Predicate:
        """Whether it is a number that is none; as double, if it has no type."""
        operand = self if self.type is not None or self.path is None else self.as_(pa.float64())
        if operand.type is not None and not pa.types.is_floating(operand.type):
            raise UnsupportedTypeError(f"expected float or double for is nan, got {sql_name(operand.type)}")
        return IsNan(operand)

    def starts_with(self, prefix: str) -> Predicate:
        """Whether it is text that begins so."""
        if not isinstance(prefix, str):
            raise UnsupportedTypeError(f"expected text as the beginning of text, got {prefix!r}")
        operand = self if self.type is not None or self.path is None else self.as_(pa.string())
        if operand.type is not None and not pa.types.is_string(operand.type):
            raise UnsupportedTypeError(f"expected string for starts with, got {sql_name(operand.type)}")
        return StartsWith(operand, prefix)

    def __repr__(self) -> str:
        return f"<{self.text()}>"

    def text(self) -> str:
        """As the text grammar writes it."""
        if self.path is None:
            return quoted_name(self.column or "")
        prefix = "" if self.column is None else f"{quoted_name(self.column)}:"
        return prefix + display_path(self.path.steps) + ("" if self.type is None else f"::{sql_name(self.type)}")


def path(text: str | Path, type: pa.DataType | str | None = None, *, column: str | None = None) -> Operand:
    """The value at a path of a Variant column, to be compared or selected.

    Args:
        text: a singular RFC 9535 path, such as $.user.id or $.items[0].
        type: an Arrow type or the SQL name of one; without it, the type of the literal it is compared with.
        column: the Variant column, where there are several.
    """
    return Operand(Path.parse(text), column, arrow_type_of_sql(type) if isinstance(type, str) else type)


def column(name: str) -> Operand:
    """A column of the file that is not a Variant, or a Hive partition."""
    return Operand(None, name)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Predicate):
    """An operand compared with a literal of its type."""

    operand: Operand
    operator: Operator
    literal: Any


@dataclass(frozen=True, slots=True, eq=False)
class In(Predicate):
    """Whether an operand is one of several literals."""

    operand: Operand
    literals: tuple[Any, ...]
    has_null: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class IsNull(Predicate):
    """Whether an operand is null."""

    operand: Operand


@dataclass(frozen=True, slots=True, eq=False)
class IsNan(Predicate):
    """Whether an operand is NaN; unknown where it is null."""

    operand: Operand


@dataclass(frozen=True, slots=True, eq=False)
class StartsWith(Predicate):
    """Whether an operand begins with a text."""

    operand: Operand
    prefix: str


@dataclass(frozen=True, slots=True, eq=False)
class And(Predicate):
    """All of these."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Or(Predicate):
    """One of these."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Not(Predicate):
    """The opposite; of what is unknown that is unknown."""

    part: Predicate


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked of a dataset: the columns of the result by name, and which rows; all of both by default."""

    select: Mapping[str, Operand] | None = None
    where: Predicate | None = None


def operands_of(predicate: Predicate | None) -> Iterator[Operand]:
    """Every operand of a predicate, those used twice more than once."""
    found: list[Operand] = []
    if predicate is not None:
        fold(predicate, lambda leaf: found.append(operand_of(leaf)), lambda _: None, lambda _: None, lambda _: None)
    return iter(found)


def operand_of(leaf: Predicate) -> Operand:
    """The operand of a predicate that has no others in it."""
    assert isinstance(leaf, (Comparison, In, IsNull, IsNan, StartsWith))
    return leaf.operand


T = TypeVar("T")


def fold(
    predicate: Predicate,
    leaf: Callable[[Predicate], T],
    both: Callable[[list[T]], T],
    one: Callable[[list[T]], T],
    opposite: Callable[[T], T],
) -> T:
    """What becomes of a predicate from its leaves up; `both` combines the parts of an And, `one` those of an Or. Nothing recurses."""
    done: list[T] = []
    waiting: list[tuple[Predicate, bool]] = [(predicate, False)]
    while waiting:
        part, is_ready = waiting.pop()
        if isinstance(part, (And, Or)):
            if is_ready:
                parts = done[-len(part.parts) :]
                del done[-len(part.parts) :]
                done.append(both(parts) if isinstance(part, And) else one(parts))
            else:
                waiting.append((part, True))
                waiting += [(inner, False) for inner in reversed(part.parts)]
        elif isinstance(part, Not):
            if is_ready:
                done.append(opposite(done.pop()))
            else:
                waiting += [(part, True), (part.part, False)]
        else:
            done.append(leaf(part))
    return done[0]


def _typed(operand: Operand, *literals: object) -> tuple[Operand, tuple[Any, ...]]:
    """The operand with a type, its own or that of the literals, and the literals as that type has them."""
    if operand.path is None and operand.type is None:
        return operand, tuple(map(_plain, literals))  # the file knows the column's type
    kind = operand.type
    if kind is None:
        kinds = [type_of_literal(literal) for literal in literals]
        kind = kinds[0]
        for other in kinds[1:]:
            kind = _common(kind, other, literals)
    return operand.as_(kind), tuple(literal_as(literal, kind) for literal in literals)


def type_of_literal(literal: object) -> pa.DataType:
    """The type that a Python object gives to a path that has none."""
    value = _plain(literal)
    if isinstance(value, bool):
        return pa.bool_()
    if isinstance(value, int):
        # Doubles compare rightly with whole numbers that they hold exactly, whatever the value is: 30.5 > 30.
        if -_EXACT_IN_DOUBLE < value < _EXACT_IN_DOUBLE:
            return pa.float64()
        return pa.int64() if -(1 << 63) <= value < 1 << 63 else pa.decimal128(MAX_DECIMAL_DIGITS, 0)
    if isinstance(value, float):
        return pa.float64()
    if isinstance(value, decimal.Decimal):
        exponent = value.as_tuple().exponent
        return pa.decimal128(MAX_DECIMAL_DIGITS, max(_DECIMAL_SCALE, -exponent) if isinstance(exponent, int) else _DECIMAL_SCALE)
    if isinstance(value, str):
        return pa.string()
    if isinstance(value, bytes):
        return pa.binary()
    if isinstance(value, datetime.datetime):
        return pa.timestamp("us", "UTC" if value.tzinfo is not None else None)
    if isinstance(value, datetime.date):
        return pa.date32()
    if isinstance(value, datetime.time):
        return pa.time64("us")
    if isinstance(value, uuid.UUID):
        return pa.binary(16)
    raise UnsupportedTypeError(f"expected a literal that a value can be compared with, got {literal!r}")


def _plain(literal: object) -> Any:
    value = literal.as_py() if isinstance(literal, pa.Scalar) else literal
    if value is None:
        raise UnsupportedTypeError("expected a literal, got None, with which nothing can be compared", hint="use is_null()")
    return value


def _common(one: pa.DataType, other: pa.DataType, literals: tuple[object, ...]) -> pa.DataType:
    if one == other:
        return one
    integers = [kind for kind in (one, other) if pa.types.is_integer(kind)]
    if integers and pa.types.is_floating(one if integers[0] is other else other) and not _has_fraction(literals):
        return integers[0]
    if all(pa.types.is_integer(kind) or pa.types.is_decimal(kind) for kind in (one, other)):
        scale = max(kind.scale if pa.types.is_decimal(kind) else 0 for kind in (one, other))
        return pa.decimal128(MAX_DECIMAL_DIGITS, scale)
    if all(pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_floating(kind) for kind in (one, other)):
        return pa.float64()
    raise UnsupportedTypeError(f"expected literals of one type, got {sql_name(one)} and {sql_name(other)}", hint="give the path a type")


def _has_fraction(literals: tuple[object, ...]) -> bool:
    return any(isinstance(_plain(literal), float) for literal in literals)


def literal_as(literal: object, kind: pa.DataType) -> Any:
    """A literal as a value of a type, if that means the same; what it loses is an error."""
    value = _plain(literal)
    failure = UnsupportedTypeError(f"expected a literal of type {sql_name(kind)}, got {literal!r}")
    if isinstance(value, bool) != bool(pa.types.is_boolean(kind)):
        raise failure
    if pa.types.is_floating(kind) and isinstance(value, (int, decimal.Decimal)):
        return float(value)
    if pa.types.is_integer(kind) and isinstance(value, (float, decimal.Decimal)):
        if value != value.__trunc__():
            raise UnsupportedTypeError(
                f"expected a whole number to compare {sql_name(kind)} with, got {literal!r}", hint="give the path the type double"
            )
        value = int(value)
    if pa.types.is_decimal(kind):
        if isinstance(value, float) and math.isfinite(value):
            value = decimal.Decimal(repr(value))  # as it is written: 0.1 is a tenth
        elif isinstance(value, int):
            value = decimal.Decimal(value)
    if isinstance(value, uuid.UUID):
        value = value.bytes
    if pa.types.is_timestamp(kind) and isinstance(value, datetime.datetime):
        if (value.tzinfo is None) != (kind.tz is None):
            raise failure
        return value
    if not _is_of(value, kind):
        raise failure
    try:
        return pa.scalar(value, kind).as_py()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, TypeError, ValueError):
        raise failure from None


def _is_of(value: object, kind: pa.DataType) -> bool:
    """Whether a Python object is a value of a type; Arrow itself would take numbers for dates."""
    if pa.types.is_boolean(kind):
        return isinstance(value, bool)
    if pa.types.is_integer(kind):
        return isinstance(value, int)
    if pa.types.is_floating(kind):
        return isinstance(value, float)
    if pa.types.is_decimal(kind):
        return isinstance(value, decimal.Decimal)
    if pa.types.is_date(kind):
        return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)
    if pa.types.is_time(kind):
        return isinstance(value, datetime.time)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return isinstance(value, str)
    return not isinstance(value, (str, int, float)) and not pa.types.is_nested(kind)


def quoted_name(name: str) -> str:
    """A column's name as the text grammar reads it."""
    if name.replace("_", "a").isalnum() and not name[0].isdigit() and name.isascii():
        return name
    return '"' + name.replace('"', '""') + '"'
