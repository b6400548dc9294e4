"""`scan`: queries on paths that read only the columns they need, and only the row groups that may have what they ask for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import pyarrow as pa

from varquet.columns.threads import thread_count
from varquet.errors import UnsupportedTypeError
from varquet.parquet.plans import PinnedSchemas
from varquet.queries.dataset import Dataset, Moment, Source, find_dataset
from varquet.queries.explaining import Explanation
from varquet.queries.expressions import And, Operand, Predicate, Query
from varquet.queries.grammar import parse_operand, parse_predicate
from varquet.queries.in_files import BoundFiles, FilesSource
from varquet.queries.in_memory import BoundTable, TableSource

__all__ = ["Scan", "name_of", "scan"]

Selection: TypeAlias = "Mapping[str, str | Operand] | Sequence[str | Operand] | str | Operand"

_OUTPUT_ROWS: Final = 65_536


def scan(
    source: Source | pa.Table | pa.RecordBatch,
    *,
    column: str | None = None,
    filesystem: Any = None,
    plan: PinnedSchemas | None = None,
    threads: int | None = None,
    version: int | None = None,
    timestamp: Moment | None = None,
) -> Scan:
    """A query on Parquet files or a table, to be narrowed by `select` and `where`, and read as Arrow.

    >>> import varquet as vq
    >>> events = vq.parse_json(pa.array(['{"user": {"id": 1}, "n": 2.5}', '{"user": {"id": "x"}, "n": 7}']))
    >>> query = vq.scan(pa.table({"event": events})).select({"id": "$.user.id bigint", "n": "$.n double"}).where("$.n > 3")
    >>> query.table().to_pylist()
    [{'id': None, 'n': 7.0}]

    Args:
        source: a file, a folder (all *.parquet in it and below), a Delta table, a glob, several of them, or URIs such as
            s3://bucket/events; or a table in memory.
        column: the Variant column that paths speak of when they do not name one; the only one by default.
        filesystem: a filesystem of pyarrow or fsspec in which the paths are; by default the local one, or what a URI names.
        plan: a Plan, whose columns are Variants also in files that do not say so.
        threads: how many threads to use; by default VARQUET_THREADS or all cores.
        version, timestamp: an earlier version of a Delta table, by its number or by a time, as "2026-01-31T12:00:00Z".
    """
    found: TableSource | FilesSource
    if isinstance(source, (pa.Table, pa.RecordBatch)):
        table = pa.Table.from_batches([source]) if isinstance(source, pa.RecordBatch) else source
        found = TableSource(table, column)
    else:
        found = FilesSource(find_dataset(source, filesystem, version=version, timestamp=timestamp), column, plan)
    return Scan(found, Query(), threads)


@dataclass(frozen=True, slots=True)
class Scan:
    """A query and what it is asked of. `select` and `where` return another one; reading it any number of times is fine."""

    _source: TableSource | FilesSource = field(repr=False)
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
        if rows < 0:
            raise UnsupportedTypeError(f"expected a number of rows, got {rows}")
        return replace(self, _limit=rows)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the result."""
        return self._bound().schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The result, a batch at a time, in the order of the files and their rows."""
        return self._batches(self._bound())

    def _batches(self, bound: BoundTable | BoundFiles) -> Iterator[pa.RecordBatch]:
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
        bound = self._bound()
        return pa.Table.from_batches(list(self._batches(bound)), bound.schema)

    def reader(self) -> pa.RecordBatchReader:
        """The result as a stream, which DuckDB, Polars and others read."""
        bound = self._bound()
        return pa.RecordBatchReader.from_batches(bound.schema, self._batches(bound))

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

    @property
    def dataset(self) -> Dataset:
        """The files."""
        assert isinstance(self._source, FilesSource)
        return self._source.dataset

    def typed_predicate(self) -> Predicate:
        """The predicate, in which all columns have types."""
        bound = self._bound()
        assert isinstance(bound, BoundFiles) and bound.where is not None
        return bound.where

    def files_that_may_match(self) -> list[int]:
        """The numbers of the files that what is known of them, without opening them, does not rule out."""
        bound = self._bound()
        assert isinstance(bound, BoundFiles)
        return bound.files_that_may_match()

    def explain(self) -> Explanation:
        """What would be read and what would be skipped, and why."""
        return self._bound().explain()

    def _bound(self) -> BoundTable | BoundFiles:
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
