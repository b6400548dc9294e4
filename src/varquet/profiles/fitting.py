"""How well the values of a path fit the type of a column, and the wider type that more of them fit.

A profile has counts and ranges for each physical type, not for each value: where a range lies partly outside of a column's type,
integers count as outside, because JSON-born ones have the narrowest width that holds them, and decimals as inside.
"""

from __future__ import annotations

import pyarrow as pa

from varquet.profiles.facts import DECIMALS, INTEGERS, PathFacts
from varquet.schema import Kind, ShreddingSchema
from varquet.types import BY_NAME, MAX_DECIMAL_DIGITS

__all__ = ["exact_digits", "roomy_decimal", "typed_values", "widened"]

# Decimals that are fewer than this among integers are no reason to give integers up.
_FEW_DECIMALS = 0.05


def typed_values(node: ShreddingSchema, facts: PathFacts, *, is_map: bool = False) -> int:
    """About how many values of a path go into the typed column of a node.

    Of a map, whose texts a profile knows as texts only, that is all of them.
    """
    if node.kind is Kind.OBJECT:
        return facts.of("object")
    if node.kind is Kind.ARRAY:
        return facts.of("array")
    kind = node.type
    if kind is None:
        return 0
    if is_map:
        return facts.held
    if pa.types.is_integer(kind):
        return sum(facts.of(name) for name in INTEGERS if _is_within(facts, name, kind.bit_width))
    if pa.types.is_decimal(kind):
        return sum(facts.of(name) for name in (*INTEGERS, *DECIMALS) if not _is_beyond(facts, name, kind.precision - kind.scale))
    return sum(count for name, count in facts.types.items() if _is_of(name, kind))


def _is_within(facts: PathFacts, name: str, bits: int) -> bool:
    """Whether all integers of this physical type have room in so many bits."""
    low, high = facts.bounds(name) or (0, 0)
    return _fits(low, high, bits)


def _is_beyond(facts: PathFacts, name: str, whole: int) -> bool:
    """Whether no number of this physical type has room in so many digits before the point."""
    low, high = facts.bounds(name) or (0, 0)
    return bool(low >= 10**whole or high <= -(10**whole))


def _is_of(name: str, kind: pa.DataType) -> bool:
    if name in ("null", "object", "array", *INTEGERS, *DECIMALS):
        return False
    return bool(pa.types.is_boolean(kind)) if name == "boolean" else BY_NAME[name].arrow == kind


def widened(leaf: ShreddingSchema, facts: PathFacts) -> ShreddingSchema:
    """The type with room for all exact numbers of a path, where it is one for exact numbers; never a narrower one."""
    kind = leaf.type
    if kind is None or not (pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        return leaf
    whole, scale = exact_digits(facts)
    if pa.types.is_integer(kind):
        if facts.decimal_digits is None:
            low, high = facts.integer_range or (0, 0)
            widths = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
            return ShreddingSchema.primitive(
                next(width for width in widths if width.bit_width >= kind.bit_width and _fits(low, high, width.bit_width))
            )
        if facts.of(*DECIMALS) < _FEW_DECIMALS * facts.of(*INTEGERS, *DECIMALS):
            return leaf
    else:
        whole, scale = max(whole, kind.precision - kind.scale), max(scale, kind.scale)
        if (whole, scale) == (kind.precision - kind.scale, kind.scale):
            return leaf
    wider = roomy_decimal(whole, scale)
    return leaf if wider is None else ShreddingSchema.primitive(wider)


def _fits(low: int, high: int, bits: int) -> bool:
    return -(1 << (bits - 1)) <= low and high < 1 << (bits - 1)


def roomy_decimal(whole: int, scale: int) -> pa.DataType | None:
    """A decimal of 18 or 38 digits with room for so many before the point, and just so many behind it; None if there is none."""
    if whole + scale > MAX_DECIMAL_DIGITS:
        return None
    return pa.decimal128(18 if whole + scale <= 18 else MAX_DECIMAL_DIGITS, scale)


def exact_digits(facts: PathFacts) -> tuple[int, int]:
    """The most digits before the point and behind it that an integer or a decimal of a path has."""
    whole, scale = facts.decimal_digits or (0, 0)
    return max((whole, *(len(str(abs(number))) for number in facts.integer_range or ()))), scale
