"""`scan`: queries on paths that read only the columns they need, and only the row groups that may have what they ask for."""

from __future__ import annotations

import functools
import queue
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from varquet.columns.arrow import SHARED_VARIANT, VARIANT, is_variant_type, variant_field
from varquet.columns.extract import extract
from varquet.columns.threads import in_order, thread_count
from varquet.errors import UnsupportedTypeError, VarquetError
from varquet.parquet.pages import read_pages
from varquet.parquet.plans import PinnedSchemas
from varquet.parquet.positions import Position, field_at, find_variants, position_of, positions_named
from varquet.parquet.reader import OpenFile
from varquet.queries.access import Access, Leaves, Need, column_access, down, need_of, null_test, read_access, variant_access
from varquet.queries.bloom import read_bloom_filter
from varquet.queries.dataset import FoundFile, Source, find_files, partition_schema
from varquet.queries.evaluate import evaluate
from varquet.queries.explaining import Explanation, FileReport, GroupReport, PathReport
from varquet.queries.expressions import And, Comparison, In, IsNull, Not, Operand, Or, Predicate, Query, fold, literal_as, operands_of
from varquet.queries.grammar import parse_operand, parse_predicate, predicate_text
from varquet.queries.outcomes import FALSE, TRUE, UNKNOWN, Bounds, outcomes
from varquet.queries.statistics import bounds_of, holds_nothing

__all__ = ["Scan", "name_of", "scan"]

Selection: TypeAlias = "Mapping[str, str | Operand] | Sequence[str | Operand] | str | Operand"
Key: TypeAlias = "tuple[Any, ...]"

_NOTHING_THERE: Final = Bounds(has_nulls=True, has_values=False)
_OUTPUT_ROWS: Final = 65_536
_FEW_COLUMNS: Final = 8
# Pages are read apart if they are no more than this share of all, of columns of so many compressed bytes.
_SHARE_OF_PAGES: Final = 0.6
_WORTH_PAGES: Final = 1 << 20


def scan(
    source: Source | pa.Table | pa.RecordBatch,
    *,
    column: str | None = None,
    filesystem: Any = None,
    plan: PinnedSchemas | None = None,
    threads: int | None = None,
) -> Scan:
    """A query on Parquet files or a table, to be narrowed by `select` and `where`, and read as Arrow.

    >>> import varquet as vq
    >>> events = vq.parse_json(pa.array(['{"user": {"id": 1}, "n": 2.5}', '{"user": {"id": "x"}, "n": 7}']))
    >>> query = vq.scan(pa.table({"event": events})).select({"id": "$.user.id bigint", "n": "$.n double"}).where("$.n > 3")
    >>> query.table().to_pylist()
    [{'id': None, 'n': 7.0}]

    Args:
        source: a file, a folder (all *.parquet in it and below), a glob, several of them, or URIs such as s3://bucket/events; or a table.
        column: the Variant column that paths speak of when they do not name one; the only one by default.
        filesystem: a filesystem of pyarrow or fsspec in which the paths are; by default the local one, or what a URI names.
        plan: a Plan, whose columns are Variants also in files that do not say so.
        threads: how many threads to use; by default VARQUET_THREADS or all cores.
    """
    tables: _Tables | _Files
    if isinstance(source, (pa.Table, pa.RecordBatch)):
        table = pa.Table.from_batches([source]) if isinstance(source, pa.RecordBatch) else source
        tables = _Tables(table, column)
    else:
        tables = _Files(find_files(source, filesystem), column, plan)
    return Scan(tables, Query(), threads)


@dataclass(frozen=True, slots=True)
class Scan:
    """A query and what it is asked of. `select` and `where` return another one; reading it any number of times is fine."""

    _source: _Tables | _Files = field(repr=False)
    query: Query
    _threads: int | None = None
    _limit: int | None = None

    def select(self, columns: Selection) -> Scan:
        """With these columns only: by name, paths with types as in "$.user.id bigint", or names of columns as they are."""
        return replace(self, query=replace(self.query, select=_selection(columns)))

    def where(self, predicate: Predicate | str) -> Scan:
        """With only the rows of which this is true; what was asked before holds as well."""
        added = parse_predicate(predicate) if isinstance(predicate, str) else predicate
        if not isinstance(added, Predicate):
            raise UnsupportedTypeError(f"expected a predicate, got {predicate!r}")
        before = self.query.where
        return replace(self, query=replace(self.query, where=added if before is None else And((before, added))))

    def limit(self, rows: int) -> Scan:
        """With no more than so many rows."""
        return replace(self, _limit=rows)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the result."""
        return self._bound().schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The result, a batch at a time, in the order of the files and their rows."""
        bound = self._bound()
        left = self._limit
        for table in bound.tables(thread_count(self._threads), left):
            for batch in table.to_batches(max_chunksize=_OUTPUT_ROWS):
                wanted = batch if left is None else batch.slice(0, left)
                if left is not None:
                    left -= wanted.num_rows
                if wanted.num_rows:
                    yield wanted
            if left == 0:
                return

    def table(self) -> pa.Table:
        """The result as a table."""
        return pa.Table.from_batches(list(self.batches()), self.schema)

    def reader(self) -> pa.RecordBatchReader:
        """The result as a stream, which DuckDB, Polars and others read."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.reader().__arrow_c_stream__(requested_schema)

    def count(self) -> int:
        """How many rows the result has."""
        if self._limit is None and self.query.where is None:
            return self._source.row_count()
        narrow = self if self.query.select == {} else replace(self, query=replace(self.query, select={}))
        return sum(narrow._counts())

    def _counts(self) -> Iterator[int]:
        left = self._limit
        for table in self._bound().tables(thread_count(self._threads), left):
            count = table.num_rows if left is None else min(left, table.num_rows)
            yield count
            if left is not None:
                left -= count
                if left == 0:
                    return

    def explain(self) -> Explanation:
        """What would be read and what would be skipped, and why."""
        return self._bound().explain()

    def _bound(self) -> _BoundTables | _BoundFiles:
        return self._source.bind(self.query)


def _selection(columns: Selection) -> dict[str, Operand]:
    if isinstance(columns, (str, Operand)):
        columns = [columns]
    if isinstance(columns, Mapping):
        return {name: one if isinstance(one, Operand) else parse_operand(one) for name, one in columns.items()}
    made: dict[str, Operand] = {}
    for one in columns:
        operand = one if isinstance(one, Operand) else parse_operand(one)
        name = name_of(operand)
        if name in made:
            raise UnsupportedTypeError(f"expected columns with different names, got {name!r} twice", hint="give names: {'a': '$.x.id'}")
        made[name] = operand
    return made


def name_of(operand: Operand) -> str:
    """What a selected column is called that was given no name: the last field of its path."""
    if operand.path is None:
        return operand.column or ""
    names = [step for step in operand.path.steps if isinstance(step, str)]
    return names[-1] if names else operand.column or "value"


def _with_types(predicate: Predicate, type_of: Callable[[Operand], pa.DataType | None]) -> Predicate:
    """A predicate whose columns have types, and whose literals are of them."""

    def leaf(part: Predicate) -> Predicate:
        operand = part.operand  # type: ignore[attr-defined]
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


def _conjuncts(predicate: Predicate | None) -> list[Predicate]:
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


# Tables in memory.


@dataclass(frozen=True, slots=True)
class _Tables:
    table: pa.Table
    column: str | None

    def row_count(self) -> int:
        return int(self.table.num_rows)

    def bind(self, query: Query) -> _BoundTables:
        return _BoundTables(self, query)


class _BoundTables:
    """A query on a table in memory: every row is looked at."""

    def __init__(self, source: _Tables, query: Query) -> None:
        self.source = source
        self.source_schema = source.table.schema
        self.query = query
        self.where = None if query.where is None else _with_types(query.where, lambda operand: self.field(operand.column).type)
        for operand in operands_of(self.where):
            self.check(operand)
        if query.select is None:
            self.schema = self.source_schema
        else:
            self.schema = pa.schema([self.output_field(name, operand) for name, operand in query.select.items()])

    def field(self, name: str | None) -> pa.Field:
        found = field_at(self.source_schema, (name or "",))
        if found is None:
            raise _no_column(name or "", self.source_schema.names)
        return found

    def position(self, operand: Operand) -> Position:
        name = operand.column or self.source.column
        if name is not None:
            return position_of(name, self.source_schema)
        # A column that nobody has marked is one by its type.
        marked = find_variants(self.source_schema)
        unmarked: list[Position] = [(one.name,) for one in self.source_schema if is_variant_type(one.type)]
        return _only_variant(marked or unmarked, "the table")

    def check(self, operand: Operand) -> None:
        if operand.path is None:
            self.field(operand.column)
        else:
            self.position(operand)

    def output_field(self, name: str, operand: Operand) -> pa.Field:
        self.check(operand)
        if operand.path is None:
            return self.field(operand.column).with_name(name)
        return variant_field(name) if operand.type is None else pa.field(name, operand.type)

    def tables(self, threads: int, limit: int | None) -> Iterator[pa.Table]:
        table = self.source.table
        if self.where is not None:
            mask = evaluate(self.where, lambda operand: self.values(table, operand, threads))
            table = table.filter(mask)
        if self.query.select is not None:
            columns = [self.values(table, operand, threads) for operand in self.query.select.values()]
            table = _table(columns, self.schema, table.num_rows)
        yield table

    def values(self, table: pa.Table, operand: Operand, threads: int) -> pa.ChunkedArray:
        if operand.path is None:
            return table.column(operand.column)
        position = self.position(operand)
        column = table.column(position[0])
        for name in position[1:]:
            column = pc.struct_field(column, name)
        return extract(column, operand.path, operand.type, threads=threads)

    def explain(self) -> Explanation:
        return Explanation(None if self.where is None else predicate_text(self.where), [], [])


# Files.


class _Files:
    """The files of a dataset, opened when they are first needed."""

    def __init__(self, files: list[FoundFile], column: str | None, plan: PinnedSchemas | None) -> None:
        self.found = files
        self.column = column
        self.plan = plan
        self.partitions = partition_schema(files)
        self.opened: dict[int, _File] = {}

    def file(self, index: int) -> _File:
        if index not in self.opened:
            self.opened[index] = _File(self.found[index], self.plan, self.partitions)
        return self.opened[index]

    def row_count(self) -> int:
        return sum(self.file(k).open.footer.num_rows for k in range(len(self.found)))

    def bind(self, query: Query) -> _BoundFiles:
        return _BoundFiles(self, query)


class _File:
    """One open file: where its Variants are, and readers for its row groups."""

    def __init__(self, found: FoundFile, plan: PinnedSchemas | None, partitions: Mapping[str, pa.DataType]) -> None:
        self.open = OpenFile(found.file, None, plan)
        self.path = found.file.path
        self.leaves = Leaves(self.open.footer.schema)
        self.metadata = self.open.metadata
        self.readers: queue.SimpleQueue[pq.ParquetFile] = queue.SimpleQueue()
        self.source = found.file.open()
        self.index = found.file.page_index()
        self.accesses: dict[Key, Access | None] = {}
        self.blooms: dict[tuple[int, int], Callable[[Any], bool] | None] = {}
        self.partitions = {
            name: None if (value := found.partitions.get(name)) is None else int(value) if kind == pa.int64() else value
            for name, kind in partitions.items()
            if self.open.physical.get_field_index(name) < 0
        }

    def position(self, name: str | None) -> Position | None:
        """The Variant column that a path means; None if this file has not got it."""
        if name is None:
            return _only_variant(list(self.open.variants), self.path)
        for position in positions_named(name):
            if position in self.open.variants:
                return position
            if (found := field_at(self.open.physical, position)) is not None:
                raise UnsupportedTypeError(f"expected a Variant column at {'.'.join(position)!r} of {self.path!r}, got {found.type}")
        return None

    def access(self, operand: Operand, default: str | None) -> Access | None:
        """How an operand is read; None if there is no such column here."""
        key = (operand.path, operand.column)
        if key not in self.accesses:
            self.accesses[key] = self._access(operand, default)
        return self.accesses[key]

    def _access(self, operand: Operand, default: str | None) -> Access | None:
        if operand.path is None:
            position: Position | None = (operand.column or "",)
            assert position is not None
            field = field_at(self.open.physical, position)
            return None if field is None else column_access(position, field, self._element(position), self.leaves)
        position = self.position(operand.column or default)
        if position is None:
            return None
        field = field_at(self.open.physical, position)
        assert field is not None
        layout = self.open.layouts.get(position, "parquet")
        return variant_access(position, field, self._element(position), self.leaves, operand.path, layout)

    def _element(self, position: Position) -> Any:
        element = self.leaves.root
        for name in self.open.paths.get(position, position):
            element = next(child for child in element.children if child.name == name)
        return element

    def bounds(self, operand: Operand, default: str | None, group: int, *, use_bloom: bool = True) -> Bounds:
        """What is known of an operand's values in a row group."""
        if operand.path is None and operand.column in self.partitions:
            value = self.partitions[operand.column]
            return _NOTHING_THERE if value is None else Bounds(False, True, value, value, has_nan=False)
        access = self.access(operand, default)
        if access is None:
            return _NOTHING_THERE
        bloom = (lambda leaf: self.bloom(group, leaf)) if use_bloom else None
        return bounds_of(access, operand.type, self.metadata.row_group(group), bloom)

    def bloom(self, group: int, leaf: int) -> Callable[[Any], bool] | None:
        chunk = self.metadata.row_group(group).column(leaf)
        if chunk.bloom_filter_offset is None:
            return None
        if (group, leaf) not in self.blooms:
            with self.open.source.open() as opened:

                def read_at(offset: int, size: int) -> bytes:
                    opened.seek(offset)
                    return bytes(opened.read(size))

                self.blooms[group, leaf] = read_bloom_filter(read_at, chunk.bloom_filter_offset)
        return self.blooms[group, leaf]

    def read(self, group: int, leaves: frozenset[int]) -> dict[str, pa.Array]:
        """The top-level columns that have these leaves, with nothing else in them."""
        if not leaves:
            return {}
        try:
            reader = self.readers.get_nowait()
        except queue.Empty:
            reader = self.open.parquet_file()
        try:
            # Many columns of one row group are worth several threads, even beside those that read other row groups.
            table = reader.reader.read_row_group(group, column_indices=sorted(leaves), use_threads=len(leaves) > _FEW_COLUMNS)
        except pa.ArrowNotImplementedError:
            plain = self.open.parquet_file(is_plain=True)
            table = plain.reader.read_row_group(group, column_indices=sorted(leaves), use_threads=False)
        self.readers.put(reader)
        return {name: _one_chunk(column) for name, column in zip(table.column_names, table.columns, strict=True)}

    def read_rows(self, group: int, leaves: frozenset[int], rows: npt.NDArray[np.int64]) -> dict[str, pa.Array]:
        """Like `read`, of some rows only, in their order: from the pages that have them, if these can be read apart."""
        sizes = sum(self.metadata.row_group(group).column(leaf).total_compressed_size for leaf in leaves)
        pages = self.index.pages(self.source, group, sorted(leaves)) if sizes >= _WORTH_PAGES else None
        if pages is not None:
            begins = np.array(pages.first_rows, np.int64)
            page_of = np.searchsorted(begins, rows, side="right") - 1
            chosen = np.unique(page_of)
            if len(chosen) <= _SHARE_OF_PAGES * len(begins):
                table = read_pages(self.source, self.index, group, pages, chosen.tolist(), self.open.dictionaries)
                ends = np.append(begins[1:], pages.rows)
                starts = np.concatenate([[0], np.cumsum(ends[chosen] - begins[chosen])[:-1]])
                rows = rows - begins[page_of] + starts[np.searchsorted(chosen, page_of)]
                read = {name: _one_chunk(column) for name, column in zip(table.column_names, table.columns, strict=True)}
                return {name: column.take(pa.array(rows)) for name, column in read.items()}
        return {name: column.take(pa.array(rows)) for name, column in self.read(group, leaves).items()}


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    made = column.combine_chunks()
    return made.chunk(0) if isinstance(made, pa.ChunkedArray) else made


class _BoundFiles:
    """A query on the files of a dataset."""

    def __init__(self, source: _Files, query: Query) -> None:
        self.source = source
        self.query = query
        self.where = None if query.where is None else _with_types(query.where, self.type_of)
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

    def files_with(self, operand: Operand) -> Iterator[_File]:
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
            raise _no_column(name, [*self.source.file(0).open.physical.names, *self.source.partitions])

    def type_of(self, operand: Operand) -> pa.DataType:
        self.check(operand)
        file = next(self.files_with(operand), None)
        if file is None:
            return self.source.partitions[operand.column or ""]
        return file.open.schema.field(operand.column).type

    def output_field(self, name: str, operand: Operand) -> pa.Field:
        if operand.path is None:
            kind = self.type_of(operand)
            return variant_field(name, shared_metadata=True) if kind == SHARED_VARIANT else pa.field(name, kind)
        return variant_field(name) if operand.type is None else pa.field(name, operand.type)

    def outcomes(self, file: _File, group: int) -> int:
        """What the predicate can be of the rows of a row group."""
        if self.where is None:
            return TRUE
        return outcomes(self.where, lambda operand: file.bounds(operand, self.source.column, group))

    def groups(self) -> Iterator[tuple[_File, int, int]]:
        """The row groups that must be read, with what the predicate can be of their rows."""
        for k in range(len(self.source.found)):
            file = self.source.file(k)
            for group in range(file.metadata.num_row_groups):
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

    def read_group(self, file: _File, group: int, found: int) -> pa.Table | None:
        rows = file.metadata.row_group(group).num_rows
        reading = _Reading(self, file, group, rows)
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
        return _table(columns, self.schema, rows if mask is None else mask.true_count)

    def explain(self) -> Explanation:
        parts = _conjuncts(self.where)
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

    def _why_skipped(self, file: _File, group: int, parts: list[Predicate]) -> str:
        for part in parts:
            if not outcomes(part, lambda operand: file.bounds(operand, self.source.column, group)) & TRUE:
                told = []
                for operand in {operand.key: operand for operand in operands_of(part)}.values():
                    told.append(f"{operand.text()} {_told(file.bounds(operand, self.source.column, group))}")
                without = outcomes(part, lambda operand: file.bounds(operand, self.source.column, group, use_bloom=False))
                by = "a Bloom filter has it not" if without & TRUE else "; ".join(told)
                return f"{predicate_text(part)}: {by}"
        return "no row can match all of it"

    def _leaves(self, file: _File, group: int, paths: dict[Key, PathReport]) -> set[int]:
        reading = _Reading(self, file, group, 0)
        needed: set[int] = set()
        tests = {operand.key for part in _leaves_of(self.where) if isinstance(part, IsNull) for operand in [part.operand]}
        operands = [*operands_of(self.where), *(self.query.select or {}).values()]
        for operand in {one.key: one for one in operands}.values():
            access = file.access(operand, self.source.column)
            if access is None:
                continue
            need = reading.need(access, operand, as_null_test=operand.type is None and operand.key in tests)
            needed |= need.leaves
            if access.metadata is not None and need.reads_residual and access.rest is not None and access.rest.steps:
                needed.add(access.metadata)
            report = paths.setdefault(operand.key, PathReport(operand.text()))
            report.count(access, need)
        return set(range(file.metadata.num_columns)) if self.query.select is None else needed


def _leaves_of(predicate: Predicate | None) -> list[Predicate]:
    found: list[Predicate] = []
    if predicate is not None:
        fold(predicate, found.append, lambda _: None, lambda _: None, lambda _: None)
    return found


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


class _Reading:
    """One row group being read: what was read of it so far."""

    def __init__(self, bound: _BoundFiles, file: _File, group: int, rows: int) -> None:
        self.bound = bound
        self.file = file
        self.group = group
        self.rows = rows
        self.about = file.metadata.row_group(group)
        self.read: dict[str, pa.Array] = {}
        self.read_leaves: frozenset[int] = frozenset()
        self.names: dict[tuple[int, bool], pa.Array] = {}

    def need(self, access: Access, operand: Operand, *, as_null_test: bool = False) -> Need:
        has_residual = access.value is not None and not holds_nothing(self.about, access.value)
        has_typed = not (access.is_primitive and len(access.typed) == 1 and holds_nothing(self.about, access.typed[0]))
        return need_of(access, operand.type, has_residual=has_residual, has_typed=has_typed, as_null_test=as_null_test)

    def mask(self, predicate: Predicate) -> pa.Array:
        """Which rows a predicate is true of."""
        default = self.bound.source.column
        tests = {part.operand.key for part in _leaves_of(predicate) if isinstance(part, IsNull) and part.operand.type is None}
        wanted: dict[Key, tuple[Operand, Access, Need]] = {}
        for operand in operands_of(predicate):
            access = self.file.access(operand, default)
            if access is not None and operand.key not in wanted:
                wanted[operand.key] = operand, access, self.need(access, operand, as_null_test=operand.key in tests)
        self.read_leaves = frozenset().union(*(need.leaves for _, _, need in wanted.values()))
        self.read = self.file.read(self.group, self.read_leaves)
        values: dict[Key, pa.Array] = {}

        def values_of(operand: Operand) -> pa.Array:
            if operand.key not in values:
                if operand.key not in wanted:
                    values[operand.key] = self.constant(operand)
                else:
                    _, access, need = wanted[operand.key]
                    if operand.key in tests and operand.path is not None:
                        metadata = functools.partial(self.metadata, access, None)
                        values[operand.key] = null_test(access, need, self.read, self.rows, metadata)
                    else:
                        values[operand.key] = self.array(operand, access, need, self.read, None)
            return values[operand.key]

        made = evaluate(predicate, values_of)
        return pc.fill_null(made, False)

    def metadata(self, access: Access, chosen: npt.NDArray[np.int64] | None) -> pa.Array:
        """The metadata of a Variant column, of all rows or of those that are chosen; read once."""
        assert access.metadata is not None
        key = (access.metadata, chosen is None)
        if key not in self.names:
            leaves = frozenset((access.metadata,))
            columns = self.file.read(self.group, leaves) if chosen is None else self.file.read_rows(self.group, leaves, chosen)
            self.names[key] = down(columns[access.column[0]], (*access.column[1:], "metadata"))
        return self.names[key]

    def array(
        self, operand: Operand, access: Access, need: Need, columns: Mapping[str, pa.Array], chosen: npt.NDArray[np.int64] | None
    ) -> pa.Array:
        """The values of an operand, in all rows or in those that are chosen, which the columns have."""
        rows = self.rows if chosen is None else len(chosen)
        try:
            if operand.path is None:
                # Variants in it, if there are any, are put together.
                made = self.file.open.put_together(pa.record_batch({access.column[0]: columns[access.column[0]]}), 0).column(0)
            else:
                made = read_access(access, operand.type, need, columns, rows, functools.partial(self.metadata, access, chosen))
        except VarquetError as error:
            error.message = f"{operand.text()} of {self.file.path!r}, row group {self.group}: {error.message}"
            raise
        if operand.path is None and operand.type is not None and made.type != operand.type:
            return made.cast(operand.type)
        return made

    def constant(self, operand: Operand) -> pa.Array:
        """A partition's value, or nothing, for every row."""
        kind = operand.type
        if operand.path is None:
            kind = kind or self.bound.type_of(operand)
            if operand.column in self.file.partitions:
                return pa.repeat(pa.scalar(self.file.partitions[operand.column], kind), self.rows)
        return pa.nulls(self.rows, VARIANT if kind is None else kind)

    def columns(self, select: Mapping[str, Operand], mask: pa.Array | None) -> list[pa.Array]:
        """The columns of the result, of the rows that are wanted."""
        default = self.bound.source.column
        accesses = {name: self.file.access(operand, default) for name, operand in select.items()}
        needs = {name: self.need(access, select[name]) for name, access in accesses.items() if access is not None}
        missing = frozenset().union(*(need.leaves for need in needs.values() if not need.leaves <= self.read_leaves))
        chosen = None if mask is None else np.flatnonzero(np.asarray(mask))
        fresh = self.file.read(self.group, missing) if chosen is None else self.file.read_rows(self.group, missing, chosen)
        rows = self.rows if chosen is None else len(chosen)
        known: dict[str, pa.Array] | None = None
        made: list[pa.Array] = []
        for name, operand in select.items():
            access = accesses[name]
            if access is None:
                constant = self.constant(operand)
                made.append(constant.slice(0, rows))
                continue
            if needs[name].leaves <= self.read_leaves:
                if known is None:
                    known = self.read if chosen is None else {one: column.take(pa.array(chosen)) for one, column in self.read.items()}
                columns = known
            else:
                columns = fresh
            made.append(self.array(operand, access, needs[name], columns, chosen))
        return made

    def everything(self, mask: pa.Array | None, schema: pa.Schema) -> pa.Table:
        """All columns, Variants put together, of the rows that are wanted."""
        open_file = self.file.open
        leaves = frozenset(range(self.file.metadata.num_columns))
        if mask is None:
            rows, columns = self.rows, self.file.read(self.group, leaves)
        else:
            rows, columns = int(mask.true_count), self.file.read_rows(self.group, leaves, np.flatnonzero(np.asarray(mask)))
        whole = open_file.put_together(pa.record_batch({name: columns[name] for name in open_file.physical.names}), 0)
        made: list[pa.Array] = []
        for one in schema:
            if whole.schema.get_field_index(one.name) >= 0:
                made.append(whole.column(one.name))
            else:
                made.append(self.constant(Operand(None, one.name, one.type)).slice(0, rows))
        return _table(made, schema, rows)


def _table(columns: Sequence[pa.Array | pa.ChunkedArray], schema: pa.Schema, rows: int) -> pa.Table:
    if not columns:
        # Rows without columns can be counted still.
        return pa.table({"": pa.nulls(rows)}).select([])
    cast = [column if column.type == field.type else column.cast(field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(cast, schema=schema)


def _only_variant(positions: list[Position], where: str) -> Position:
    if len(positions) != 1:
        names = ", ".join(".".join(position) for position in positions)
        raise UnsupportedTypeError(
            f"expected the name of a Variant column of {where!r}, which has {'none' if not positions else 'several'}",
            hint=f"write column:$.path; they are {names}" if positions else "paths lead into Variants; name other columns as they are",
        )
    return positions[0]


def _no_column(name: str, names: Sequence[str]) -> UnsupportedTypeError:
    return UnsupportedTypeError(f"expected the name of a column, got {name!r}", hint="the columns are " + ", ".join(map(repr, names)))
