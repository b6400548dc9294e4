"""Queries on tables in memory: every row is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from varquet.columns.arrow import is_variant_type, variant_field
from varquet.columns.extract import extract
from varquet.layouts.casts import cast_value
from varquet.layouts.map_entries import lookup
from varquet.layouts.map_keys import key_of
from varquet.parquet.positions import Position, field_at, find_variants, position_of, positions_named
from varquet.queries.binding import made_table, no_column, only_variant, with_types
from varquet.queries.evaluate import evaluate
from varquet.queries.explaining import Explanation
from varquet.queries.expressions import Operand, Query, operands_of
from varquet.queries.grammar import predicate_text

__all__ = ["BoundTable", "TableSource"]


@dataclass(frozen=True, slots=True)
class TableSource:
    """A table, and the Variant column that paths speak of if they name none."""

    table: pa.Table
    column: str | None

    def row_count(self) -> int:
        return int(self.table.num_rows)

    def bind(self, query: Query) -> BoundTable:
        return BoundTable(self, query)


class BoundTable:
    """A query on a table."""

    def __init__(self, source: TableSource, query: Query) -> None:
        self.source = source
        self.source_schema = source.table.schema
        self.query = query
        self.where = None if query.where is None else with_types(query.where, lambda operand: self.field(operand.column).type)
        for operand in operands_of(self.where):
            self.check(operand)
        if query.select is None:
            self.schema = self.source_schema
        else:
            self.schema = pa.schema([self.output_field(name, operand) for name, operand in query.select.items()])

    def field(self, name: str | None) -> pa.Field:
        found = field_at(self.source_schema, (name or "",))
        if found is None:
            raise no_column(name or "", self.source_schema.names)
        return found

    def position(self, operand: Operand) -> Position:
        name = operand.column or self.source.column
        if name is not None:
            found = next((one for one in positions_named(name) if field_at(self.source_schema, one) is not None), None)
            if found is not None and self.map_at(found) is not None:
                return found
            return position_of(name, self.source_schema)
        # A column that nobody has marked is one by its type.
        marked = find_variants(self.source_schema)
        unmarked: list[Position] = [(one.name,) for one in self.source_schema if is_variant_type(one.type)]
        return only_variant(marked or unmarked, "the table")

    def map_at(self, position: Position) -> pa.DataType | None:
        """The type of the maps at a position; None for Variants."""
        found = field_at(self.source_schema, position)
        return found.type if found is not None and pa.types.is_map(found.type) else None

    def check(self, operand: Operand) -> None:
        if operand.path is None:
            self.field(operand.column)
            return
        position = self.position(operand)
        if self.map_at(position) is not None:
            key_of(operand.path, ".".join(position))

    def output_field(self, name: str, operand: Operand) -> pa.Field:
        self.check(operand)
        if operand.path is None:
            return self.field(operand.column).with_name(name)
        maps = self.map_at(self.position(operand))
        kind = operand.type or (None if maps is None else maps.item_type)
        return variant_field(name) if kind is None else pa.field(name, kind)

    def tables(self, threads: int, limit: int | None) -> Iterator[pa.Table]:
        table = self.source.table
        if self.where is not None:
            mask = evaluate(self.where, lambda operand: self.values(table, operand, threads))
            table = table.filter(mask)
        if self.query.select is not None:
            columns = [self.values(table, operand, threads) for operand in self.query.select.values()]
            table = made_table(columns, self.schema, table.num_rows)
        yield table

    def values(self, table: pa.Table, operand: Operand, threads: int) -> pa.ChunkedArray:
        if operand.path is None:
            return table.column(operand.column)
        position = self.position(operand)
        column = table.column(position[0])
        for name in position[1:]:
            column = pc.struct_field(column, name)
        if pa.types.is_map(column.type):
            key = key_of(operand.path, ".".join(position))
            kind = operand.type or column.type.item_type
            return pa.chunked_array([cast_value(lookup(chunk, key), operand.type) for chunk in column.chunks], kind)
        return extract(column, operand.path, operand.type, threads=threads)

    def explain(self) -> Explanation:
        return Explanation(None if self.where is None else predicate_text(self.where), [], [])
