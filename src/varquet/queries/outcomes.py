"""What a predicate can be of the rows of a file or row group, by what is known of the values in them.

Of every comparison it is said which of true, false and unknown it may be of some row, never fewer than it is; NOT, AND and OR
combine these sets by the rules of SQL. Rows need not be read where a predicate cannot be true. All of it is sound as long as the
bounds are: a bound may be wider than the values, and what is not known is anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from varquet.queries.expressions import Comparison, In, IsNan, IsNull, Operand, Predicate, StartsWith, fold, operand_of

__all__ = ["ANYTHING", "FALSE", "TRUE", "UNKNOWN", "Bounds", "outcomes"]

TRUE: Final = 1
FALSE: Final = 2
UNKNOWN: Final = 4


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is known of the values of an operand in some rows."""

    has_nulls: bool = True
    """Whether some may be null."""
    has_values: bool = True
    """Whether some may not be."""
    low: Any = None
    """No value is smaller; None if that is not known."""
    high: Any = None
    """No value is larger, NaN apart."""
    has_nan: bool = True
    """Whether some may be NaN, which the bounds do not tell."""
    excludes: Callable[[Any], bool] | None = None
    """Whether it is certain that no value equals a literal: what a Bloom filter knows."""


ANYTHING: Final = Bounds()


def outcomes(predicate: Predicate, bounds_of: Callable[[Operand], Bounds]) -> int:
    """Which of TRUE, FALSE and UNKNOWN a predicate may be, as a sum of them."""
    return fold(predicate, lambda leaf: _leaf(leaf, bounds_of(operand_of(leaf))), _both, _one, _opposite)


def _opposite(found: int) -> int:
    return (found & UNKNOWN) | (FALSE if found & TRUE else 0) | (TRUE if found & FALSE else 0)


def _both(parts: list[int]) -> int:
    found = TRUE
    for part in parts:
        found = _pair(found, part)
    return found


def _one(parts: list[int]) -> int:
    return _opposite(_both([_opposite(part) for part in parts]))


def _pair(left: int, right: int) -> int:
    """What two predicates may be together, whatever rows they are which of."""
    made = TRUE if left & right & TRUE else 0
    if (left & FALSE and right) or (right & FALSE and left):
        made |= FALSE
    if (left & UNKNOWN and right & (TRUE | UNKNOWN)) or (right & UNKNOWN and left & (TRUE | UNKNOWN)):
        made |= UNKNOWN
    return made


def _leaf(predicate: Predicate, bounds: Bounds) -> int:
    if isinstance(predicate, IsNull):
        return (TRUE if bounds.has_nulls else 0) | (FALSE if bounds.has_values else 0)
    found = UNKNOWN if bounds.has_nulls else 0
    if bounds.has_values:
        found |= _of_values(predicate, bounds)
    return found


def _of_values(predicate: Predicate, bounds: Bounds) -> int:
    if isinstance(predicate, IsNan):
        return FALSE | (TRUE if bounds.has_nan else 0)
    if isinstance(predicate, StartsWith):
        return _starts_with(predicate.prefix.encode("utf-8", "surrogatepass"), bounds)
    if isinstance(predicate, In):
        can_be = [literal for literal in predicate.literals if _may_equal(literal, bounds)]
        found = TRUE if can_be else 0
        if not any(_must_equal(literal, bounds) for literal in predicate.literals):
            found |= UNKNOWN if predicate.has_null else FALSE
        return found
    assert isinstance(predicate, Comparison)
    return _compared(predicate.operator, _ordered(predicate.literal), bounds)


def _compared(operator: str, literal: Any, bounds: Bounds) -> int:
    if operator in ("=", "!="):
        equal = TRUE if _may_equal(literal, bounds) else 0
        if not _must_equal(literal, bounds):
            equal |= FALSE
        return equal if operator == "=" else _opposite(equal)
    if operator in (">", ">="):
        # a > b is the opposite of a <= b, of values that are not null.
        return _opposite(_compared("<=" if operator == ">" else "<", literal, bounds))
    if _is_nan(literal):
        # All are smaller but NaN, which is not smaller than itself.
        return TRUE | (FALSE if operator == "<" and bounds.has_nan else 0)
    low, high = _ordered(bounds.low), _ordered(bounds.high)
    may_be = low is None or (low < literal if operator == "<" else low <= literal)
    may_not_be = bounds.has_nan or high is None or (high >= literal if operator == "<" else high > literal)
    return (TRUE if may_be else 0) | (FALSE if may_not_be else 0)


def _may_equal(literal: Any, bounds: Bounds) -> bool:
    value = _ordered(literal)
    if _is_nan(value):
        return bounds.has_nan
    if bounds.low is not None and value < _ordered(bounds.low):
        return False
    if bounds.high is not None and value > _ordered(bounds.high):
        return False
    return bounds.excludes is None or not bounds.excludes(literal)


def _must_equal(literal: Any, bounds: Bounds) -> bool:
    value = _ordered(literal)
    if bounds.has_nan or _is_nan(value) or bounds.low is None or bounds.high is None:
        return False
    return bool(_ordered(bounds.low) == value == _ordered(bounds.high))


def _starts_with(prefix: bytes, bounds: Bounds) -> int:
    low, high = _ordered(bounds.low), _ordered(bounds.high)
    # All texts with the prefix lie from the prefix on, and those behind it that do not have it lie behind all of them.
    may_be = (high is None or high >= prefix) and (low is None or low <= prefix or low.startswith(prefix))
    must_be = low is not None and high is not None and low.startswith(prefix) and high.startswith(prefix)
    return (TRUE if may_be else 0) | (0 if must_be else FALSE)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _ordered(value: Any) -> Any:
    """A value that Python orders as the format does: texts by their bytes."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
