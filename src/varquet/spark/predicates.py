"""Predicates of varquet as conditions of Spark."""

from __future__ import annotations

import datetime
import decimal
import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from varquet.queries.expressions import Comparison, In, IsNan, IsNull, Operand, Predicate, StartsWith, fold, operand_of
from varquet.spark.view_columns import spark_type

__all__ = ["condition"]

_COMPARED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def condition(predicate: Predicate, column_of: Callable[[Operand], Column]) -> Column:
    """A predicate as a condition on columns that hold the values of its operands."""

    def leaf(part: Predicate) -> Column:
        operand = operand_of(part)
        column = column_of(operand)
        if isinstance(part, IsNull):
            return column.isNull()
        if isinstance(part, IsNan):
            return F.when(column.isNotNull(), F.isnan(column))
        if isinstance(part, StartsWith):
            return column.startswith(part.prefix)
        if isinstance(part, In):
            # Not by isin, which takes no nulls: that what is not among the others is unknown then.
            tests = [column == _literal(literal, operand) for literal in part.literals]
            tests += [F.lit(None).cast("boolean")] if part.has_null or not tests else []
            return functools.reduce(operator.or_, tests)
        assert isinstance(part, Comparison)
        made: Column = _COMPARED[part.operator](column, _literal(part.literal, operand))
        return made

    made: Column = fold(
        predicate,
        leaf,
        lambda parts: functools.reduce(operator.and_, parts),
        lambda parts: functools.reduce(operator.or_, parts),
        lambda part: ~part,
    )
    return made


def _literal(value: Any, operand: Operand) -> Column:
    if isinstance(value, (datetime.date, decimal.Decimal)):
        # As text: the literals of Spark depend on time zones.
        value = value.isoformat() if isinstance(value, datetime.date) else str(value)
    made = F.lit(bytearray(value) if isinstance(value, bytes) else value)
    return made if operand.type is None else made.cast(spark_type(operand.type))
