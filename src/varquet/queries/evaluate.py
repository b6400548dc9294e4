"""What a predicate is of each row, given the values of its operands."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from varquet.queries.expressions import Comparison, In, IsNan, IsNull, Operand, Predicate, StartsWith, fold, operand_of

__all__ = ["compare", "evaluate"]

Values: TypeAlias = "pa.Array | pa.ChunkedArray"


def evaluate(predicate: Predicate, values_of: Callable[[Operand], Values]) -> Values:
    """True, false or null for each row, by the values of the operands in them."""
    return fold(
        predicate,
        lambda leaf: _leaf(leaf, values_of(operand_of(leaf))),
        lambda parts: functools.reduce(pc.and_kleene, parts),
        lambda parts: functools.reduce(pc.or_kleene, parts),
        pc.invert,
    )


def _leaf(predicate: Predicate, values: Values) -> Values:
    if isinstance(predicate, IsNull):
        return pc.is_null(values)
    if isinstance(predicate, IsNan):
        return pc.is_nan(values)
    if isinstance(predicate, StartsWith):
        return pc.starts_with(values, predicate.prefix)
    if isinstance(predicate, In):
        return _in(predicate, values)
    assert isinstance(predicate, Comparison)
    return compare(values, predicate.operator, predicate.literal)


_COMPARE = {"=": pc.equal, "!=": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}


def compare(values: Values, operator: str, literal: Any) -> Values:
    """Values compared with a literal; NaN equals itself and is larger than all others."""
    made = _COMPARE[operator](values, pa.scalar(literal, values.type))
    if not pa.types.is_floating(values.type):
        return made
    is_nan = pc.is_nan(values)
    if literal != literal:
        return {
            "=": lambda: is_nan,
            ">=": lambda: is_nan,
            "!=": lambda: pc.invert(is_nan),
            "<": lambda: pc.invert(is_nan),
            "<=": lambda: pc.or_kleene(is_nan, pc.invert(is_nan)),
            ">": lambda: pc.and_kleene(is_nan, pc.invert(is_nan)),
        }[operator]()
    return pc.or_kleene(made, is_nan) if operator in (">", ">=", "!=") else made


def _in(predicate: In, values: Values) -> Values:
    unknown = pa.scalar(None, pa.bool_())
    if pa.types.is_floating(values.type) and predicate.literals:
        made = functools.reduce(pc.or_kleene, [compare(values, "=", literal) for literal in predicate.literals])
    else:
        literals = pa.array(predicate.literals, values.type)
        made = pc.if_else(pc.is_valid(values), pc.is_in(values, value_set=literals), unknown)
    return pc.if_else(pc.fill_null(made, False), pa.scalar(True), unknown) if predicate.has_null else made
