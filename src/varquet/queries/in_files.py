"""Queries on the files of a dataset: which row groups are read, and what `explain` says of that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from varquet.columns.arrow import SHARED_VARIANT, variant_field
from varquet.columns.threads import in_order
from varquet.parquet.plans import PinnedSchemas
from varquet.queries.access import Access
from varquet.queries.binding import conjuncts, is_null_test, made_table, no_column, with_types
from varquet.queries.dataset import FoundFile, partition_schema
from varquet.queries.explaining import Explanation, FileReport, GroupReport, PathReport
from varquet.queries.expressions import Operand, Predicate, Query, operands_of
from varquet.queries.grammar import predicate_text
from varquet.queries.groups import GroupReading, Key
from varquet.queries.map_access import MapAccess
from varquet.queries.opened import OpenedFile
from varquet.queries.outcomes import FALSE, TRUE, UNKNOWN, Bounds, outcomes

__all__ = ["BoundFiles", "FilesSource"]


class FilesSource:
    """The files of a dataset, opened when they are first needed."""

    def __init__(self, files: list[FoundFile], column: str | None, plan: PinnedSchemas | None) -> None:
        self.found = files
        self.column = column
        self.plan = plan
        self.partitions = partition_schema(files)
        self.opened: dict[int, OpenedFile] = {}

    def file(self, index: int) -> OpenedFile:
        if index not in self.opened:
            self.opened[index] = OpenedFile(self.found[index], self.plan, self.partitions)
        return self.opened[index]

    def row_count(self) -> int:
        return sum(self.file(k).open.footer.num_rows for k in range(len(self.found)))

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
        if next(self.files_with(operand), None) is None:
            name = operand.column or self.source.column or ""
            raise no_column(name, [*self.source.file(0).open.schema.names, *self.source.partitions])

    def type_of(self, operand: Operand) -> pa.DataType | None:
        """The type of an operand that was given none; None for a Variant."""
        self.check(operand)
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

    def groups(self) -> Iterator[tuple[OpenedFile, int, int]]:
        """The row groups that must be read, with what the predicate can be of their rows."""
        for k, wanted in enumerate(self.source.found):
            if wanted.groups is not None and not wanted.groups:
                continue
            file = self.source.file(k)
            for group in wanted.groups or range(file.metadata.num_row_groups):
                found = self.outcomes(file, group)
                if found & TRUE:
                    yield file, group, found

    def tables(self, threads: int, limit: int | None) -> Iterator[pa.Table]:
        tasks = self.groups()
        if limit is not None:
            # Who wants few rows does not want row groups read ahead.
            threads = 1
        for made in in_order(lambda task: self.read_group(*task), tasks, threads):
            if made is not None:
                yield made

    def read_group(self, file: OpenedFile, group: int, found: int) -> pa.Table | None:
        rows = file.metadata.row_group(group).num_rows
        reading = GroupReading(file, group, rows, self.source.column, self.type_of)
        mask = None
        if self.where is not None and found & (FALSE | UNKNOWN):
            mask = reading.mask(self.where)
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
        for k in range(len(self.source.found)):
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
