"""Queries on the files of a dataset: which row groups are read, and what `explain` says of that."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from varquet.columns.arrow import SHARED_VARIANT, variant_field
from varquet.columns.threads import in_order
from varquet.delta.statistics import FileStatistics
from varquet.parquet.plans import PinnedSchemas
from varquet.parquet.positions import Position, field_at, find_variants, positions_named
from varquet.queries.access import Access
from varquet.queries.binding import conjuncts, is_null_test, made_table, no_column, only_variant, with_types
from varquet.queries.dataset import Dataset, partition_value
from varquet.queries.explaining import Explanation, FileReport, GroupReport, PathReport
from varquet.queries.expressions import Operand, Predicate, Query, operands_of
from varquet.queries.file_statistics import file_bounds
from varquet.queries.grammar import predicate_text
from varquet.queries.groups import GroupReading, Key, columns_of_run
from varquet.queries.map_access import MapAccess
from varquet.queries.opened import OpenedFile
from varquet.queries.outcomes import ANYTHING, FALSE, TRUE, UNKNOWN, Bounds, outcomes
from varquet.queries.statistics import bounds_of_constant

__all__ = ["BoundFiles", "FilesSource"]

# Row groups that are read at once: each costs some Python, for which threads wait for each other; but all of them are in memory.
_RUN_GROUPS: Final = 4
_RUN_ROWS: Final = 1 << 19
_RUN_COLUMNS: Final = 8


class FilesSource:
    """The files of a dataset, opened when they are first needed."""

    def __init__(self, dataset: Dataset, column: str | None, plan: PinnedSchemas | None) -> None:
        self.dataset = dataset
        self.found = dataset.files
        self.schema = dataset.schema
        self.column = column
        if column is None and dataset.schema is not None and len(variants := find_variants(dataset.schema)) == 1:
            self.column = ".".join(variants[0])
        self.plan = plan
        self.partitions = dataset.partitions
        self.opened: dict[int, OpenedFile] = {}
        self.known: dict[int, FileStatistics] = {}

    def file(self, index: int) -> OpenedFile:
        if index not in self.opened:
            self.opened[index] = OpenedFile(self.found[index], self.plan, self.partitions)
        return self.opened[index]

    def statistics(self, index: int) -> FileStatistics:
        """What a table says of the values in a file; understood once, since every operand of a query asks."""
        if index not in self.known:
            self.known[index] = self.found[index].statistics
        return self.known[index]

    def row_count(self) -> int:
        return sum(self._rows(k) for k in range(len(self.found)))

    def _rows(self, index: int) -> int:
        found = self.found[index]
        known = None if found.stats is None else self.statistics(index).rows
        rows = self.file(index).open.footer.num_rows if known is None else known
        return rows - (0 if found.deleted is None else int(found.deleted.descriptor["cardinality"]))

    def bind(self, query: Query) -> BoundFiles:
        return BoundFiles(self, query)


class BoundFiles:
    """A query on the files of a dataset."""

    def __init__(self, source: FilesSource, query: Query) -> None:
        self.source = source
        self.query = query
        self.where = None if query.where is None else with_types(query.where, self.type_of)
        for operand in [*operands_of(self.where), *(query.select or {}).values()]:
            self.check(operand)
        self.schema = self._schema()

    def _schema(self) -> pa.Schema:
        if self.query.select is not None:
            return pa.schema([self.output_field(name, operand) for name, operand in self.query.select.items()])
        if self.source.schema is not None:
            return self.source.schema
        files = [self.source.file(k) for k in range(len(self.source.found))]
        schema = pa.unify_schemas([file.open.schema for file in files], promote_options="permissive")
        for name, kind in self.source.partitions.items():
            if schema.get_field_index(name) < 0:
                schema = schema.append(pa.field(name, kind))
        return schema

    def files_with(self, operand: Operand) -> Iterator[OpenedFile]:
        for k in range(len(self.source.found)):
            file = self.source.file(k)
            if file.access(operand, self.source.column) is not None:
                yield file

    def check(self, operand: Operand) -> None:
        """A column that no file has is a mistake; one that some files lack is null there."""
        if operand.path is None and operand.column in self.source.partitions:
            return
        if self.source.schema is not None:
            self._check_in_schema(operand, self.source.schema)
            return
        if next(self.files_with(operand), None) is None:
            name = operand.column or self.source.column or ""
            raise no_column(name, [*self.source.file(0).open.schema.names, *self.source.partitions])

    def _check_in_schema(self, operand: Operand, schema: pa.Schema) -> None:
        """Like `check`, where a table says which columns there are; no file is opened."""
        if operand.path is None:
            if operand.column not in schema.names:
                raise no_column(operand.column or "", schema.names)
            return
        name = operand.column or self.source.column
        if name is None:
            only_variant(find_variants(schema), "the table")
        elif self._position(operand, schema) is None:
            raise no_column(name, schema.names)

    def _position(self, operand: Operand, schema: pa.Schema) -> Position | None:
        """The column into which a path leads, in the schema of a table."""
        named = positions_named(operand.column or self.source.column or "")
        return next((position for position in named if field_at(schema, position) is not None), None)

    def _type_in_schema(self, operand: Operand, schema: pa.Schema) -> pa.DataType | None:
        if operand.path is None:
            return schema.field(operand.column).type
        position = self._position(operand, schema)
        found = None if position is None else field_at(schema, position)
        return found.type.item_type if found is not None and pa.types.is_map(found.type) else None

    def type_of(self, operand: Operand) -> pa.DataType | None:
        """The type of an operand that was given none; None for a Variant."""
        self.check(operand)
        if self.source.schema is not None:
            return self._type_in_schema(operand, self.source.schema)
        file = next(self.files_with(operand), None)
        if file is None:
            return self.source.partitions[operand.column or ""]
        if operand.path is None:
            return file.open.schema.field(operand.column).type
        access = file.access(operand, self.source.column)
        return access.kind if isinstance(access, MapAccess) else None

    def output_field(self, name: str, operand: Operand) -> pa.Field:
        if operand.path is None:
            kind = self.type_of(operand)
            return variant_field(name, shared_metadata=True) if kind == SHARED_VARIANT else pa.field(name, kind)
        kind = operand.type or self.type_of(operand)
        return variant_field(name) if kind is None else pa.field(name, kind)

    def outcomes(self, file: OpenedFile, group: int) -> int:
        """What the predicate can be of the rows of a row group."""
        if self.where is None:
            return TRUE
        return outcomes(self.where, lambda operand: file.bounds(operand, self.source.column, group))

    def file_outcomes(self, index: int, where: Predicate | None = None) -> int:
        """What the predicate can be of the rows of a file, by what is known of it without opening it."""
        predicate = self.where if where is None else where
        found = self.source.found[index]
        if predicate is None or (found.stats is None and not found.partitions):
            return TRUE | FALSE | UNKNOWN
        return outcomes(predicate, functools.partial(self.file_bounds, index))

    def files_that_may_match(self) -> list[int]:
        """The numbers of the files that may have a row of which the predicate is true."""
        return [k for k in range(len(self.source.found)) if self.file_outcomes(k) & TRUE]

    def file_bounds(self, index: int, operand: Operand) -> Bounds:
        """What is known of an operand's values in a file that is not open."""
        found = self.source.found[index]
        if operand.path is None:
            name = operand.column or ""
            if name in self.source.partitions and name in found.partitions and self.source.schema is not None:
                return bounds_of_constant(partition_value(found.partitions[name], self.source.partitions[name]))
            if found.stats is None or self.source.schema is None:
                return ANYTHING
            return file_bounds(self.source.statistics(index), (name,), None, self.source.schema.field(name).type, operand.type)
        position = None if self.source.schema is None else self._position(operand, self.source.schema)
        if found.stats is None or position is None:
            return ANYTHING
        return file_bounds(self.source.statistics(index), position, operand.path, None, operand.type)

    def groups(self) -> Iterator[tuple[OpenedFile, int, int]]:
        """The row groups that must be read, with what the predicate can be of their rows."""
        for k, wanted in enumerate(self.source.found):
            if (wanted.groups is not None and not wanted.groups) or not self.file_outcomes(k) & TRUE:
                continue
            file = self.source.file(k)
            for group in wanted.groups or range(file.metadata.num_row_groups):
                found = self.outcomes(file, group)
                if found & TRUE:
                    yield file, group, found

    def runs(self, threads: int) -> Iterator[list[tuple[OpenedFile, int, int]]]:
        """The same, those together that are read at once: neighbours in a file, where there are enough for all threads."""
        run: list[tuple[OpenedFile, int, int]] = []
        rows = 0
        for file, group, found in self.groups():
            size = file.metadata.row_group(group).num_rows
            most = min(_RUN_GROUPS, file.metadata.num_row_groups // (2 * threads))
            if run and (run[-1][0] is not file or len(run) >= most or rows + size > _RUN_ROWS):
                yield run
                run, rows = [], 0
            run.append((file, group, found))
            rows += size
        if run:
            yield run

    def tables(self, threads: int, limit: int | None) -> Iterator[pa.Table]:
        if limit is not None:
            # Who wants few rows does not want row groups read ahead.
            threads = 1
        has_runs = limit is None and self.where is None and self.query.select and len(self.query.select) <= _RUN_COLUMNS
        runs = self.runs(threads) if has_runs else ([task] for task in self.groups())
        for tables in in_order(self.read_run, runs, threads):
            yield from tables

    def read_run(self, run: list[tuple[OpenedFile, int, int]]) -> list[pa.Table]:
        """The rows of row groups of a file: of several, which no predicate is asked of, all at once if that can be done."""
        file, select = run[0][0], self.query.select
        if len(run) > 1 and select and file.deleted is None:
            readings = [self.reading(file, group) for _, group, _ in run]
            columns = columns_of_run(readings, select)
            if columns is not None:
                return [made_table(columns, self.schema, sum(reading.rows for reading in readings))]
        made = (self.read_group(*task) for task in run)
        return [table for table in made if table is not None]

    def reading(self, file: OpenedFile, group: int) -> GroupReading:
        return GroupReading(file, group, file.metadata.row_group(group).num_rows, self.source.column, self.type_of)

    def read_group(self, file: OpenedFile, group: int, found: int) -> pa.Table | None:
        reading = self.reading(file, group)
        rows = reading.rows
        mask = None
        if self.where is not None and found & (FALSE | UNKNOWN):
            mask = reading.mask(self.where)
        alive = file.alive(group)
        if alive is not None:
            mask = alive if mask is None else pc.and_(mask, alive)
        if mask is not None:
            if not mask.true_count:
                return None
            if mask.true_count == rows:
                mask = None
        if self.query.select is None:
            return reading.everything(mask, self.schema)
        columns = reading.columns(self.query.select, mask)
        return made_table(columns, self.schema, rows if mask is None else mask.true_count)

    def explain(self) -> Explanation:
        parts = conjuncts(self.where)
        reports: list[FileReport] = []
        paths: dict[Key, PathReport] = {}
        for k, wanted in enumerate(self.source.found):
            if not self.file_outcomes(k) & TRUE:
                reports.append(FileReport(wanted.file.path, [], wanted.size or 0, self._why_not_opened(k, parts)))
                continue
            file = self.source.file(k)
            groups: list[GroupReport] = []
            for group in range(file.metadata.num_row_groups):
                found = self.outcomes(file, group)
                about = file.metadata.row_group(group)
                if found & TRUE:
                    leaves = self._leaves(file, group, paths)
                    size = sum(about.column(leaf).total_compressed_size for leaf in leaves)
                    groups.append(GroupReport(group, about.num_rows, True, self._why_kept(found), size))
                else:
                    groups.append(GroupReport(group, about.num_rows, False, self._why_skipped(file, group, parts), 0))
            reports.append(FileReport(file.path, groups, sum(_size(file.metadata.row_group(g)) for g in range(len(groups)))))
        return Explanation(None if self.where is None else predicate_text(self.where), reports, list(paths.values()))

    def _why_not_opened(self, index: int, parts: list[Predicate]) -> str:
        for part in parts:
            if not self.file_outcomes(index, part) & TRUE:
                operands = {operand.key: operand for operand in operands_of(part)}.values()
                told = [f"{operand.text()} {_told(self.file_bounds(index, operand))}" for operand in operands]
                return f"{predicate_text(part)}: {'; '.join(told)}"
        return "no row can match all of it"

    def _why_kept(self, found: int) -> str:
        if self.where is None:
            return "no predicate"
        return "statistics say that all rows match" if found == TRUE else "statistics do not rule it out"

    def _why_skipped(self, file: OpenedFile, group: int, parts: list[Predicate]) -> str:
        for part in parts:
            if not outcomes(part, lambda operand: file.bounds(operand, self.source.column, group)) & TRUE:
                told = []
                for operand in {operand.key: operand for operand in operands_of(part)}.values():
                    told.append(f"{operand.text()} {_told(file.bounds(operand, self.source.column, group))}")
                without = outcomes(part, lambda operand: file.bounds(operand, self.source.column, group, use_bloom=False))
                by = "a Bloom filter has it not" if without & TRUE else "; ".join(told)
                return f"{predicate_text(part)}: {by}"
        return "no row can match all of it"

    def _leaves(self, file: OpenedFile, group: int, paths: dict[Key, PathReport]) -> set[int]:
        reading = GroupReading(file, group, 0, self.source.column, self.type_of)
        needed: set[int] = set()
        asked = [(operand, is_null_test(operand)) for operand in operands_of(self.where)]
        asked += [(operand, False) for operand in (self.query.select or {}).values()]
        for operand, as_null_test in {(one.key, is_test): (one, is_test) for one, is_test in asked}.values():
            access = file.access(operand, self.source.column)
            if access is None:
                continue
            need = reading.need(access, operand, as_null_test=as_null_test)
            needed |= need.leaves
            if isinstance(access, Access) and access.metadata is not None and need.reads_residual and access.rest:
                needed.add(access.metadata)
            report = paths.setdefault(operand.key, PathReport(operand.text()))
            report.count(access, need)
        return set(range(file.metadata.num_columns)) if self.query.select is None else needed


def _size(group: pq.RowGroupMetaData) -> int:
    return sum(group.column(leaf).total_compressed_size for leaf in range(group.num_columns))


def _told(bounds: Bounds) -> str:
    if not bounds.has_values:
        return "is null throughout"
    if bounds.low is None or bounds.high is None:
        return "is never null" if not bounds.has_nulls else "is not known"
    return f"is from {_shown(bounds.low)} to {_shown(bounds.high)}"


def _shown(value: Any) -> str:
    if isinstance(value, bytes):
        return repr(value.decode("utf-8", "replace")[:40])
    return str(value)
