"""What queries on tables and on files have in common: columns get types, and mistakes are told alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from varquet.errors import UnsupportedTypeError
from varquet.parquet.positions import Position
from varquet.queries.expressions import And, Comparison, In, Not, Operand, Or, Predicate, fold, literal_as, operand_of

__all__ = ["conjuncts", "is_null_test", "made_table", "no_column", "only_variant", "with_types"]


def with_types(predicate: Predicate, type_of: Callable[[Operand], pa.DataType | None]) -> Predicate:
    """A predicate whose columns have types, and whose literals are of them."""

    def leaf(part: Predicate) -> Predicate:
        operand = operand_of(part)
        if operand.path is not None or operand.type is not None:
            return part
        kind = type_of(operand)
        typed = Operand(None, operand.column, kind)
        if isinstance(part, Comparison):
            return Comparison(typed, part.operator, _literal(part.literal, typed))
        if isinstance(part, In):
            return In(typed, tuple(_literal(literal, typed) for literal in part.literals), part.has_null)
        return replace(part, operand=typed)  # type: ignore[type-var]

    return fold(predicate, leaf, lambda parts: And(tuple(parts)), lambda parts: Or(tuple(parts)), Not)


def _literal(value: Any, operand: Operand) -> Any:
    if operand.type is None or pa.types.is_nested(operand.type):
        raise UnsupportedTypeError(f"expected a column that can be compared with a literal, got {operand.column!r} of {operand.type}")
    return literal_as(value, operand.type)


def conjuncts(predicate: Predicate | None) -> list[Predicate]:
    """The predicates all of which must be true."""
    found: list[Predicate] = []
    waiting = [] if predicate is None else [predicate]
    while waiting:
        part = waiting.pop()
        if isinstance(part, And):
            waiting += reversed(part.parts)
        else:
            found.append(part)
    return found


def is_null_test(operand: Operand) -> bool:
    """Whether an operand of a predicate is only asked whether it is there: a path without a type can be asked nothing else."""
    return operand.path is not None and operand.type is None


def made_table(columns: Sequence[pa.Array | pa.ChunkedArray], schema: pa.Schema, rows: int) -> pa.Table:
    """A table of these columns, or of so many rows without any."""
    if not columns:
        # Rows without columns can be counted still.
        return pa.table({"": pa.nulls(rows)}).select([])
    cast = [column if column.type == field.type else column.cast(field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(cast, schema=schema)


def only_variant(positions: list[Position], where: str) -> Position:
    """The only Variant column; an error if there is none, or several."""
    if len(positions) != 1:
        names = ", ".join(".".join(position) for position in positions)
        raise UnsupportedTypeError(
            f"expected the name of a Variant column of {where!r}, which has {'none' if not positions else 'several'}",
            hint=f"write column:$.path; they are {names}" if positions else "paths lead into Variants; name other columns as they are",
        )
    return positions[0]


def no_column(name: str, names: Sequence[str]) -> UnsupportedTypeError:
    """The error for a name that no column has."""
    return UnsupportedTypeError(f"expected the name of a column, got {name!r}", hint="the columns are " + ", ".join(map(repr, names)))
