"""Writing Parquet files with shredded columns: Variants that Spark, DuckDB and Delta read, and maps with columns for hot keys.

Row groups are encoded each by a thread; the VARIANT(1) annotation is put into the footer when the file is finished. A file is written
under a temporary name in the same folder and moved into place at the end, so that nobody ever sees half of it.
"""

from __future__ import annotations

import functools
import json
import os
import secrets
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from types import TracebackType
from typing import Final, Self, TypeAlias

import pyarrow as pa

from varquet.columns.threads import thread_count
from varquet.errors import UnsupportedTypeError, VarquetError
from varquet.layouts.map_keys import MapKeysLike, sidecar_name
from varquet.layouts.shredding import LayoutName, shred_at_once, shredded_type
from varquet.parquet.encodings import Encodings, choose_encodings
from varquet.parquet.files import DataFile
from varquet.parquet.footer import LAYOUT_KEY, PLAN_KEY, SCHEMA_KEY, annotate
from varquet.parquet.group_encoding import GroupEncoder
from varquet.parquet.maps import MapPositionError, Maps, plan_maps, recorded_maps, split_columns, split_schema
from varquet.parquet.plans import PinnedSchemas
from varquet.parquet.positions import Position, find_variants, locate_error, parquet_path, position_of, replace_type, replace_values
from varquet.parquet.row_groups import EncodedGroup, RowGroupFile
from varquet.schema import ShreddingSchema, display_path

__all__ = ["Batches", "FileWriter", "WrittenFile", "batches_of", "write"]

ROW_GROUP_ROWS: Final = 131_072
ROW_GROUP_BYTES: Final = 128 << 20
# How many rows one thread shreds at a time.
SHRED_ROWS: Final = 16_384

Batches: TypeAlias = "pa.Table | pa.RecordBatch | pa.RecordBatchReader | Iterable[pa.RecordBatch]"


Schemas: TypeAlias = "Mapping[str | Position, ShreddingSchema | str] | PinnedSchemas"


@dataclass(frozen=True, slots=True)
class _Shredded:
    """A batch as it is written, or the column that could not be shredded and why."""

    batch: pa.RecordBatch | None
    position: Position = ()
    error: VarquetError | None = None
    beside: dict[Position, list[int]] = field(default_factory=dict)
    """How many values of hot keys are in the residuals of maps."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """What has been written."""

    path: str
    rows: int
    size: int
    row_groups: int


def write(
    data: Batches,
    path: str | os.PathLike[str],
    schemas: Schemas | None = None,
    *,
    maps: Maps | None = None,
    overwrite: bool = False,
    layout: LayoutName = "parquet",
    exact_types: bool = False,
    compression: str = "zstd",
    compression_level: int | None = None,
    row_group_rows: int = ROW_GROUP_ROWS,
    row_group_bytes: int = ROW_GROUP_BYTES,
    threads: int | None = None,
) -> WrittenFile:
    """Write a table or a stream of batches as one Parquet file, with its columns of Variants and maps shredded.

    Args:
        data: an Arrow table, batch, reader, or any iterable of batches; of a stream only a row group is held in memory.
        path: the file; it appears when it is complete.
        schemas: the shredding schema of each Variant column, by name ("payload", or "request.body" inside a struct), as a
            ShreddingSchema or DDL; or a Plan, which is recorded in the file. A field that is marked as a Variant and has none is
            written unshredded.
        maps: the keys that get columns of their own, of each column of maps by name, as {"headers": ["content-type", "user-agent"]};
            `maps_of_options` makes that of table options. Those who do not know of it see maps without these keys, and the columns.
        overwrite: replace an existing file; without it that is an error.
        layout: "parquet", the standard's, which other engines read, or "draft", that of the first Spark draft; see `shred`.
        exact_types: keep the physical types of numbers too, see `shred`.
        compression, compression_level: as pyarrow knows them; zstd by default.
        row_group_rows, row_group_bytes: a row group is closed when it reaches either.
        threads: how many threads shred and encode; by default VARQUET_THREADS or all cores.
    """
    batches, schema = batches_of(data)
    with FileWriter(
        path,
        schema,
        schemas,
        maps=maps,
        overwrite=overwrite,
        layout=layout,
        exact_types=exact_types,
        compression=compression,
        compression_level=compression_level,
        row_group_rows=row_group_rows,
        row_group_bytes=row_group_bytes,
        threads=threads,
    ) as writer:
        for batch in batches:
            writer.write(batch)
    return writer.written


def batches_of(data: Batches) -> tuple[Iterator[pa.RecordBatch], pa.Schema]:
    """The batches of a table or stream, and their schema."""
    if isinstance(data, pa.Table):
        return iter(data.to_batches(max_chunksize=65_536)), data.schema
    if isinstance(data, pa.RecordBatch):
        return iter([data]), data.schema
    if isinstance(data, pa.RecordBatchReader):
        return iter(data), data.schema
    batches = iter(data)
    first = next(batches, None)
    if not isinstance(first, pa.RecordBatch):
        raise UnsupportedTypeError(
            f"expected a table or batches of Arrow data, got {type(first).__qualname__ if first is not None else 'no batch at all'}",
            hint="pass a pyarrow Table or RecordBatchReader, which also know their schema when they are empty",
        )

    def rest() -> Iterator[pa.RecordBatch]:
        yield first
        yield from batches

    return rest(), first.schema


class FileWriter:
    """One Parquet file in the making: `write` batches, leave the `with` block to finish it; an error leaves no file.

    The same threads shred batches and encode row groups that are full; who calls `write` puts the latter into the file. Rows keep
    their order. With is_shredded the batches come as the file has them (`schema` still says which columns are Variants and maps).
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        schema: pa.Schema,
        schemas: Schemas | None = None,
        *,
        maps: Maps | None = None,
        overwrite: bool = False,
        layout: LayoutName = "parquet",
        exact_types: bool = False,
        compression: str = "zstd",
        compression_level: int | None = None,
        row_group_rows: int = ROW_GROUP_ROWS,
        row_group_bytes: int = ROW_GROUP_BYTES,
        threads: int | None = None,
        is_shredded: bool = False,
    ) -> None:
        self.path = FilePath(path)
        if self.path.exists() and not overwrite:
            raise UnsupportedTypeError(f"expected a new file, got {str(self.path)!r}, which exists", hint="overwrite=True replaces it")
        if row_group_rows < 1 or row_group_bytes < 1:
            raise UnsupportedTypeError(f"expected row groups of at least one row and byte, got {row_group_rows} and {row_group_bytes}")
        self.layout = layout
        self.source = schema
        self.recorded: dict[str, str] = {}
        """What else the footer shall say, by key; until the file is closed."""
        named: dict[str | Position, ShreddingSchema | str] = {}
        hot: dict[str | Position, MapKeysLike] = {}
        if isinstance(schemas, Mapping):
            named.update(schemas)
        elif schemas is not None:
            named.update(schemas.schemas)
            self.recorded[PLAN_KEY] = schemas.to_json()
            hot.update(schemas.maps)
        hot.update(maps or {})
        self.shredded = _plan(schema, named)
        self.maps = plan_maps(schema, hot)
        self.beside = {position: [0] * len(keys) for position, keys in self.maps.items()}
        """How many values of the hot keys of each map are in its residual."""
        self.schema = schema
        for position, shredding in self.shredded.items():
            self.schema = _with_physical(self.schema, position, shredded_type(shredding, layout=layout, shared_metadata=True))
        self.schema = split_schema(self.schema, self.maps)
        self.exact_types = exact_types
        self.is_shredded = is_shredded
        self.threads = thread_count(threads)
        self.row_group_rows = row_group_rows
        self.row_group_bytes = row_group_bytes
        self.encoder = GroupEncoder(self.schema, compression, compression_level)
        self.rows = 0
        self.row_groups = 0
        # Three stages: batches that are being shredded, those that wait for their row group to be full, and groups being encoded.
        self.workers = ThreadPoolExecutor(self.threads, thread_name_prefix="varquet-write")
        self.shredding: deque[Future[_Shredded]] = deque()
        self.taken = 0
        self.waiting: list[pa.RecordBatch] = []
        self.waiting_rows = 0
        self.waiting_bytes = 0
        self.encodings: Future[Encodings] | None = None
        """Chosen by whoever encodes the first row group."""
        self.encoding: deque[Future[EncodedGroup]] = deque()
        self.file: RowGroupFile | None = None
        self.full_rows = 0
        """The rows of all row groups that are encoded, or will be."""
        self.first_group: tuple[int, int] | None = None
        """The rows and the bytes of the first row group, once it is in the file."""
        self.temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(6)}.tmp")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def write(self, batch: pa.RecordBatch | Callable[[], pa.RecordBatch]) -> None:
        """Take a batch, or what makes one, which is then called by another thread; what fails there is raised by a later call."""
        if isinstance(batch, pa.RecordBatch):
            for first in range(0, batch.num_rows, SHRED_ROWS):
                self._submit(functools.partial(batch.slice, first, SHRED_ROWS))
        else:
            self._submit(batch)

    def _submit(self, make: Callable[[], pa.RecordBatch]) -> None:
        self.shredding.append(self.workers.submit(self._shred, make))
        while len(self.shredding) > 2 * self.threads or (self.shredding and self.shredding[0].done()):
            self._take()

    def _shred(self, make: Callable[[], pa.RecordBatch]) -> _Shredded:
        batch = make()
        expected = self.schema.names if self.is_shredded else self.source.names
        if batch.schema.names != expected:
            raise UnsupportedTypeError(f"expected a batch with the columns {expected}, got {batch.schema.names}")
        if self.is_shredded:
            return _Shredded(pa.RecordBatch.from_arrays(batch.columns, schema=self.schema))
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        for position, shredding in self.shredded.items():
            name = position[0]
            change = functools.partial(shred_at_once, schema=shredding, layout=self.layout, exact_types=self.exact_types)
            try:
                columns[name] = replace_values(columns[name], self.schema.field(name).type, position[1:], change)
            except VarquetError as error:
                return _Shredded(None, position, error)
        try:
            columns, beside = split_columns(columns, self.schema, self.maps)
        except MapPositionError as failure:
            return _Shredded(None, failure.position, failure.error)
        return _Shredded(pa.RecordBatch.from_arrays(list(columns.values()), schema=self.schema), beside=beside)

    def _take(self) -> None:
        """Take the oldest shredded batch, and hand its row group on if that is full now."""
        done = self.shredding.popleft().result()
        if done.error is not None:
            raise locate_error(done.error, done.position, self.taken)
        assert done.batch is not None
        self.count_beside(done.beside)
        self.taken += done.batch.num_rows
        if done.batch.num_rows:
            self.waiting.append(done.batch)
            self.waiting_rows += done.batch.num_rows
            self.waiting_bytes += done.batch.nbytes
        while self.waiting_rows >= self.row_group_rows or (self.waiting_rows and self.waiting_bytes >= self.row_group_bytes):
            self._flush()

    def count_beside(self, beside: Mapping[Position, Sequence[int]]) -> None:
        """Take notice of values of hot keys that are in residuals."""
        for position, counts in beside.items():
            self.beside[position] = [before + more for before, more in zip(self.beside[position], counts, strict=True)]

    def _flush(self) -> None:
        """Have the next row group encoded; as many as there are threads may be on their way."""
        table = pa.Table.from_batches(self.waiting, self.schema)
        group, rest = table.slice(0, self.row_group_rows), table.slice(self.row_group_rows)
        self.full_rows += group.num_rows
        self.waiting = rest.to_batches()
        self.waiting_rows = rest.num_rows
        self.waiting_bytes = rest.nbytes if rest.num_rows else 0
        is_first = self.encodings is None
        if self.encodings is None:
            self.encodings = Future()
        # Tasks begin in their order: whoever waits for the encodings waits for a task that has begun.
        self.encoding.append(self.workers.submit(self._encode, group, self.encodings, is_first))
        while self.encoding and (len(self.encoding) > self.threads or self.encoding[0].done()):
            self._append()

    def _encode(self, group: pa.Table, encodings: Future[Encodings], is_first: bool) -> EncodedGroup:
        if is_first:
            try:
                encodings.set_result(choose_encodings(group))
            except BaseException as error:
                encodings.set_exception(error)  # or others would wait for ever
                raise
        return self.encoder.encode(group, encodings.result())

    def _append(self) -> None:
        """Put the oldest row group that is being encoded into the file."""
        group = self.encoding.popleft().result()
        if self.file is None:
            self.file = RowGroupFile(self.temporary)
        self.file.add(group)
        if self.first_group is None:
            self.first_group = group.rows, self.file.size
        if group.rows:
            self.rows += group.rows
            self.row_groups += 1

    @property
    def size(self) -> int:
        """About how many bytes the row groups have that are full so far, encoded or not: as many for each row as the first of them."""
        if self.full_rows == 0:
            return 0
        while self.first_group is None:
            self._append()
        rows, size = self.first_group
        return size * self.full_rows // rows

    def counts(self) -> dict[str, tuple[int, int]]:
        """Of the finished file: for each shredded path outside of arrays, how many values are typed and how many are beside them.

        Hot keys of maps at the top are among them.
        """
        held: Counter[str] = Counter()
        found = DataFile(str(self.path)).metadata()
        for group in range(found.num_row_groups):
            row_group = found.row_group(group)
            for index in range(row_group.num_columns):
                column = row_group.column(index)
                if column.statistics is not None and column.statistics.has_null_count:
                    held[column.path_in_schema] += column.num_values - column.statistics.null_count
        counts: dict[str, tuple[int, int]] = {}
        is_only = len(self.shredded) + len(self.maps) == 1
        for position, keys in self.maps.items():
            for place, key in enumerate(keys.names) if len(position) == 1 else ():
                name = display_path((key,)) if is_only else f"{position[0]}:{display_path((key,))}"
                counts[name] = (held[sidecar_name(position[0], place)], self.beside[position][place])
        if self.layout != "parquet":
            return counts
        for position, schema in self.shredded.items():
            base = parquet_path(self.schema, position)
            for steps, leaf in schema.leaves():
                if leaf.type is not None and all(isinstance(step, str) for step in steps):
                    group_path = ".".join((*base, *(name for step in steps for name in ("typed_value", str(step)))))
                    name = display_path(steps) if is_only else f"{'.'.join(position)}:{display_path(steps)}"
                    counts[name] = (held[f"{group_path}.typed_value"], held[f"{group_path}.value"])
        return counts

    def finish(self) -> None:
        """Write what is left; `rows` is then how many there are, and nothing but `recorded` may change."""
        while self.shredding:
            self._take()
        if self.waiting_rows or self.encodings is None:
            self._flush()
        while self.encoding:
            self._append()

    def close(self) -> None:
        """Write what is left, finish the file and move it into place."""
        try:
            self.finish()
            assert self.file is not None
            # The VARIANT annotation promises the standard's layout; columns in another one are found by what is recorded.
            paths = [parquet_path(self.schema, position) for position in self.shredded] if self.layout == "parquet" else []
            self.file.close(lambda footer: annotate(footer, paths, key_values=self._recorded()))
            os.replace(self.temporary, self.path)
        except BaseException:
            self.abort()
            raise
        self.workers.shutdown()
        self.written = WrittenFile(str(self.path), self.rows, self.path.stat().st_size, self.row_groups)

    def _recorded(self) -> dict[str, str] | None:
        """What the footer says of the columns of Variants and maps."""
        recorded = self.recorded | recorded_maps(self.maps, self.beside)
        if self.shredded:
            schemas = {".".join(position): schema.ddl() for position, schema in self.shredded.items()}
            recorded[SCHEMA_KEY] = json.dumps(schemas, ensure_ascii=False)
            if self.layout != "parquet":
                recorded[LAYOUT_KEY] = json.dumps([[self.layout, *position] for position in self.shredded], ensure_ascii=False)
        return recorded or None

    def abort(self) -> None:
        """Leave nothing behind."""
        self.workers.shutdown(cancel_futures=True)
        if self.file is not None:
            self.file.abort()
        self.temporary.unlink(missing_ok=True)


def _plan(schema: pa.Schema, schemas: Mapping[str | Position, ShreddingSchema | str]) -> dict[Position, ShreddingSchema]:
    plan: dict[Position, ShreddingSchema] = {position: ShreddingSchema.value() for position in find_variants(schema)}
    for name, shredding in schemas.items():
        parsed = ShreddingSchema.parse(shredding) if isinstance(shredding, str) else shredding
        plan[position_of(name, schema)] = parsed.writable()
    return plan


def _with_physical(schema: pa.Schema, position: Position, kind: pa.DataType) -> pa.Schema:
    index = schema.get_field_index(position[0])

    def change(field: pa.Field) -> pa.Field:
        kept = {key: text for key, text in (field.metadata or {}).items() if not key.startswith(b"ARROW:extension:")}
        return pa.field(field.name, kind, field.nullable, kept or None)

    return schema.set(index, replace_type(schema.field(index), position[1:], change))
