"""Writing rows into the files of a table: partitions, sizes of files, order of rows. One process writes one part of a table."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from varquet.columns.arrow import plain
from varquet.columns.extract import extract
from varquet.errors import UnsupportedTypeError
from varquet.layouts.casts import cast_typed, cast_value
from varquet.layouts.map_entries import lookup
from varquet.layouts.map_keys import key_of
from varquet.layouts.shredding import LayoutName
from varquet.parquet.files import DataFile
from varquet.parquet.hive import partition_folder
from varquet.parquet.plans import PinnedSchemas
from varquet.parquet.writer import ROW_GROUP_ROWS, FileWriter
from varquet.paths import Path
from varquet.tables.base import StagedFile, Table, TableSchema
from varquet.tables.jobs import Job

__all__ = ["FILE_BYTES", "Key", "Settings", "TableWriter"]

FILE_BYTES: Final = 128 << 20

_MOST_OPEN: Final = 128
_OPEN_BYTES: Final = 512 << 20
_SORTED_BYTES: Final = 512 << 20


@dataclass(frozen=True, slots=True)
class Key:
    """What rows are partitioned or sorted by: a column, or the value at a path of a Variant column, as a type."""

    name: str
    column: str
    path: Path | None = None
    type: pa.DataType | None = None

    def of(self, batch: pa.RecordBatch) -> pa.Array:
        """The values for the rows of a batch."""
        values = batch.column(self.column)
        if self.path is not None and pa.types.is_map(values.type):
            return cast_value(lookup(values, key_of(self.path, self.column)), self.type or pa.string())
        if self.path is not None:
            return extract(values, self.path, self.type or pa.string(), threads=1)
        return values if self.type is None else cast_typed(plain(values), self.type)

    def stored_type(self, schema: pa.Schema) -> pa.DataType:
        """The type of the values for rows of a schema."""
        if self.type is not None:
            return self.type
        return pa.string() if self.path is not None else schema.field(self.column).type


@dataclass(frozen=True, slots=True)
class Settings:
    """How the files of a table are written."""

    plan: PinnedSchemas | None = None
    partition_by: tuple[Key, ...] = ()
    sort_by: tuple[Key, ...] = ()
    file_bytes: int = FILE_BYTES
    """A file ends with the row group in which it reaches this size."""
    sorted_bytes: int = _SORTED_BYTES
    """How much is held in memory to be sorted; a file of sorted rows has no more."""
    layout: LayoutName = "parquet"
    compression: str = "zstd"
    compression_level: int | None = None
    row_group_rows: int = ROW_GROUP_ROWS
    threads: int = 1

    def __post_init__(self) -> None:
        if self.file_bytes < 1 or self.sorted_bytes < 1:
            raise UnsupportedTypeError(f"expected files of at least one byte, got {min(self.file_bytes, self.sorted_bytes)}")
        names = [key.name for key in self.partition_by]
        if len(set(names)) < len(names):
            raise UnsupportedTypeError(f"expected partitions with different names, got {', '.join(names)}")

    def stored(self, schema: pa.Schema) -> pa.Schema:
        """The schema of the files for rows of a schema: columns that partition are in the names of folders alone."""
        gone = {key.name for key in self.partition_by if key.path is None}
        for key in self.partition_by:
            if key.path is not None and key.name in schema.names:
                raise UnsupportedTypeError(f"expected a new name for a partition by a path, got {key.name!r}, which a column has")
        kept = [field for field in schema if field.name not in gone]
        for key in self.sort_by:
            if key.column in gone:
                raise UnsupportedTypeError(f"expected to sort by what differs within a partition, got {key.column!r}, which does not")
        if not kept:
            raise UnsupportedTypeError(f"expected a column that does not partition the table, got only {', '.join(schema.names)}")
        return pa.schema(kept, schema.metadata)

    def columns(self, schema: pa.Schema) -> TableSchema:
        """The columns of the table for rows of a schema."""
        partitions = tuple(pa.field(key.name, key.stored_type(schema)) for key in self.partition_by)
        order = (*schema.names, *(key.name for key in self.partition_by if key.path is not None))
        return TableSchema(self.stored(schema), partitions, order)


class TableWriter:
    """Part of a job that writes a table: takes batches, and gives the files that it has made of them."""

    def __init__(self, table: Table, job: Job, schema: pa.Schema, settings: Settings, part: int = 0, *, keeps_empty: bool = False) -> None:
        self.table = table
        self.job = job
        self.settings = settings
        self.keeps_empty = keeps_empty
        """Whether a file without rows is one."""
        self.rows = table.row_schema(schema)
        self.is_cast = not self.rows.equals(schema)
        self.schema = settings.stored(self.rows)
        self.label = job.label(part)
        self.count = 0
        self.parts: dict[str, _Part] = {}
        self.done: list[StagedFile] = []

    def write(self, batch: pa.RecordBatch | Callable[[], pa.RecordBatch]) -> None:
        """Take a batch, or what makes one."""
        if self.is_cast:
            batch = functools.partial(self._stored, batch)
        if not self.settings.partition_by and not self.settings.sort_by:
            self._part("").write(batch)
            return
        rows = batch if isinstance(batch, pa.RecordBatch) else batch()
        for folder, some in self._partitioned(rows):
            self._part(folder).write(some)
        self._make_room()

    def _stored(self, batch: pa.RecordBatch | Callable[[], pa.RecordBatch]) -> pa.RecordBatch:
        """A batch with the types that the table has; an error if a value would not be the same."""
        given = batch if isinstance(batch, pa.RecordBatch) else batch()
        columns = [
            column if column.type == field.type else column.cast(field.type) for column, field in zip(given.columns, self.rows, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.rows)

    def _part(self, folder: str) -> _Part:
        if folder not in self.parts:
            self.parts[folder] = _Part(self, folder)
        return self.parts[folder]

    def _partitioned(self, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The rows of each partition, without the columns that their folder speaks of."""
        keys = self.settings.partition_by
        rows = batch.select(self.schema.names)
        if not keys:
            yield "", rows
        if not keys or not rows.num_rows:
            return
        texts = [cast_typed(plain(key.of(batch)), pa.string()) for key in keys]
        codes = np.zeros(batch.num_rows, np.int64)
        for text in texts:
            found = pc.dictionary_encode(text, null_encoding="encode")
            codes = codes * (len(found.dictionary) + 1) + np.asarray(found.indices.cast(pa.int64()))
            # Numbers stay small, however many columns there are.
            codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        for first, last in zip(starts, np.append(starts[1:], len(order)), strict=True):
            chosen = order[first:last]
            folder = partition_folder({key.name: text[int(chosen[0])].as_py() for key, text in zip(keys, texts, strict=True)})
            yield folder, rows.take(pa.array(chosen))

    def _make_room(self) -> None:
        """Finish files while too many are begun, or too much waits for its row group."""
        while len(self.parts) > _MOST_OPEN or (len(self.parts) > 1 and sum(part.waiting for part in self.parts.values()) > _OPEN_BYTES):
            largest = max(self.parts, key=lambda folder: self.parts[folder].waiting)
            self.parts.pop(largest).close()

    def new_path(self, folder: str) -> str:
        """Where the next file of a partition belongs."""
        self.count += 1
        return f"{folder}{self.label}-{self.count:04d}.parquet"

    def close(self) -> list[StagedFile]:
        """Finish all files; what they are."""
        while self.parts:
            self.parts.popitem()[1].close()
        return self.done

    def abort(self) -> None:
        """Stop writing."""
        for part in self.parts.values():
            part.abort()


class _Part:
    """The files of one partition, one behind the other."""

    def __init__(self, above: TableWriter, folder: str) -> None:
        self.above = above
        self.folder = folder
        self.writer: FileWriter | None = None
        self.path = ""
        self.local = ""
        self.unsorted: list[pa.RecordBatch] = []
        self.unsorted_bytes = 0

    @property
    def waiting(self) -> int:
        """The bytes in memory."""
        return self.unsorted_bytes + (0 if self.writer is None else self.writer.waiting_bytes)

    def write(self, batch: pa.RecordBatch | Callable[[], pa.RecordBatch]) -> None:
        settings = self.above.settings
        if settings.sort_by and isinstance(batch, pa.RecordBatch):
            self.unsorted.append(batch)
            self.unsorted_bytes += batch.nbytes
            if self.unsorted_bytes >= settings.sorted_bytes:
                self._finish_file()
            return
        writer = self._open()
        writer.write(batch)
        if writer.size >= settings.file_bytes:
            self._finish_file()

    def _open(self) -> FileWriter:
        if self.writer is None:
            above = self.above
            self.path = above.new_path(self.folder)
            staged = above.table.staged(above.job, self.path)
            if above.table.folder.filesystem is None:
                above.table.make_room(above.job, staged)
                self.local = above.table.folder.full(staged)
            else:
                self.local = os.path.join(tempfile.mkdtemp(prefix="varquet-"), "file.parquet")
            settings = above.settings
            self.writer = FileWriter(
                self.local,
                above.schema,
                settings.plan,
                layout=settings.layout,
                compression=settings.compression,
                compression_level=settings.compression_level,
                row_group_rows=settings.row_group_rows,
                threads=settings.threads,
            )
        return self.writer

    def _finish_file(self) -> None:
        if self.unsorted:
            self._open().write(self._sorted())
        if self.writer is None:
            return
        writer, self.writer = self.writer, None
        writer.close()
        table, staged = self.above.table, self.above.table.staged(self.above.job, self.path)
        is_kept = writer.written.rows > 0 or self.above.keeps_empty
        counts = writer.counts() if is_kept else {}
        about = table.about(DataFile(self.local), writer.source, writer.shredded) if is_kept else None
        if not is_kept:
            os.unlink(self.local)
        elif table.folder.filesystem is not None:
            table.folder.upload(self.local, staged)
        if table.folder.filesystem is not None:
            os.rmdir(os.path.dirname(self.local))
        if is_kept:
            self.above.done.append(StagedFile(staged, self.path, writer.written.rows, writer.written.size, counts, about))

    def _sorted(self) -> pa.RecordBatch:
        """All rows that wait, in order; nulls come last."""
        (batch,) = pa.Table.from_batches(self.unsorted).combine_chunks().to_batches()
        self.unsorted, self.unsorted_bytes = [], 0
        keys = {str(k): key.of(batch) for k, key in enumerate(self.above.settings.sort_by)}
        return batch.take(pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys]))

    def close(self) -> None:
        """Finish the file that is begun."""
        self._finish_file()

    def abort(self) -> None:
        """Leave nothing of the file that is begun."""
        if self.writer is not None:
            self.writer.abort()
