"""Reading Parquet files with columns of Variants and maps, shredded or not, whoever wrote them."""

from __future__ import annotations

import functools
import glob
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path as FilePath
from typing import Final, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from varquet.columns.arrow import SHARED_VARIANT
from varquet.columns.threads import drawn_in_order, thread_count
from varquet.errors import UnsupportedTypeError, VarquetError
from varquet.layouts.shredding import unshred
from varquet.parquet.decoding import PageDecoder, PageRun
from varquet.parquet.file_columns import FileColumns, columns_of, find_columns, metadata_columns
from varquet.parquet.files import DataFile
from varquet.parquet.footer import read_footer
from varquet.parquet.leaves import VariantLeaves
from varquet.parquet.listing import LOG, is_hidden, refuse_log
from varquet.parquet.maps import MapPositionError, joined_columns
from varquet.parquet.plans import PinnedSchemas
from varquet.parquet.positions import Position, locate_error, replace_values
from varquet.schema.parquet_form import any_depth

__all__ = ["count_rows", "files_of", "open_file", "read", "read_batches"]

Source: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"

T = TypeVar("T")

Stored: TypeAlias = "pa.RecordBatch | Callable[[], pa.RecordBatch]"
"""Rows as a file has them, or what reads them."""

# Few enough rows for the cache, and enough to make what Python does for each batch cheap.
BATCH_ROWS: Final = 32_768


def read(
    source: Source,
    columns: Sequence[str] | None = None,
    *,
    plan: PinnedSchemas | None = None,
    strict: bool = False,
    threads: int | None = None,
) -> pa.Table:
    """Read Parquet files as one table in which every Variant column is a variant column, and every map a map, put together again.

    Files may have different shredding schemas. Whatever a writer was allowed to do is accepted; what must be refused is, with
    the rule, the column and the row. The metadata of a column is dictionary-encoded, because many rows have the same.

    Args:
        source: a file, a folder (all *.parquet in it and below), a glob, or several of them.
        columns: the top-level columns to read; all by default.
        plan: a Plan, whose columns every file must have. They are read as Variants also where a file does not say that they are,
            as files of writers that do not know the VARIANT annotation.
        strict: also refuse what the standard lets a reader accept, see `unshred`.
        threads: how many threads to use; by default VARQUET_THREADS or all cores.
    """
    tables = [
        pa.Table.from_batches(list(file.batches(strict=strict, threads=threads)), file.schema)
        for file in (open_file(path, columns, plan) for path in files_of(source))
    ]
    return pa.concat_tables(tables, promote_options="default")


def read_batches(
    source: Source,
    columns: Sequence[str] | None = None,
    *,
    plan: PinnedSchemas | None = None,
    batch_rows: int = BATCH_ROWS,
    strict: bool = False,
    threads: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """Like `read`, a batch at a time and file after file, so that files of any size can be read."""
    for path in files_of(source):
        yield from open_file(path, columns, plan).batches(batch_rows=batch_rows, strict=strict, threads=threads)


def files_of(source: Source) -> list[str]:
    """The files that a source names, in a stable order; hidden ones and those that begin with _ are left out of folders."""
    if not isinstance(source, (str, os.PathLike)):
        return [path for one in source for path in files_of(one)]
    path = FilePath(source)
    if path.is_dir():
        refuse_log(str(source), has_log=(path / LOG).is_dir())
        found = sorted(str(file) for file in path.rglob("*.parquet") if not is_hidden(file.relative_to(path).parts))
    elif path.exists():
        found = [str(path)]
    else:
        found = sorted(glob.glob(str(source), recursive=True))
    if not found:
        raise UnsupportedTypeError(f"expected a Parquet file, a folder of them or a glob, got {str(source)!r}, which names none")
    return found


def count_rows(source: Source) -> int:
    """How many rows a source has, by the footers of its files."""
    return sum(read_footer(path).num_rows for path in files_of(source))


class OpenFile:
    """One Parquet file: its schema as read, and its batches."""

    def __init__(self, file: DataFile, columns: Sequence[str] | None = None, plan: PinnedSchemas | None = None) -> None:
        self.source = file
        self.path = file.path
        self.kept = kept = file.kept()
        self.footer, self.metadata = kept.footer, kept.metadata
        self.recorded = self.footer.key_value_metadata
        """What its writer has said in the footer, by key."""
        # Rows that share their metadata shall do so in memory too.
        self.dictionaries = metadata_columns(self.footer)
        # Open from now on, so that it is the file that the footer is of; pyarrow's own view of it is made when it is needed.
        self.handle = file.open()
        if columns is None and plan is None:
            found = kept.once(FileColumns, lambda: find_columns(self.file, self.footer, self.path))
        else:
            found = find_columns(self.file, self.footer, self.path, columns, plan)
        self.physical, self.joined, self.schema = found.physical, found.joined, found.schema
        self.maps, self.variants, self.paths, self.layouts = found.maps, found.variants, found.paths, found.layouts

    @functools.cached_property
    def file(self) -> pq.ParquetFile:
        """The file as pyarrow has it."""
        return pq.ParquetFile(self.handle, metadata=self.metadata, read_dictionary=self.dictionaries, **any_depth())

    def parquet_file(self, *, is_plain: bool = False, more_dictionaries: Sequence[str] = ()) -> pq.ParquetFile:
        """The file opened once more, for another thread; `is_plain` reads no dictionaries."""
        names = None if is_plain else [*self.dictionaries, *more_dictionaries]
        return pq.ParquetFile(self.source.open(), metadata=self.metadata, read_dictionary=names, **any_depth())

    def batches(self, *, batch_rows: int = BATCH_ROWS, strict: bool = False, threads: int | None = None) -> Iterator[pa.RecordBatch]:
        """The rows, with every Variant put together by several threads while the next ones are decoded."""
        return self.map_batches(lambda batch: batch, batch_rows=batch_rows, strict=strict, threads=threads)

    def map_batches(
        self, work: Callable[[pa.RecordBatch], T], *, batch_rows: int = BATCH_ROWS, strict: bool = False, threads: int | None = None
    ) -> Iterator[T]:
        """What becomes of each batch by work that is done in the same threads."""

        def stored() -> Iterator[tuple[Stored, int]]:
            before = 0
            for rows, batch in self._to_put_together(batch_rows):
                yield batch, before
                before += rows

        def done(task: tuple[Stored, int]) -> T:
            batch, before = task
            return work(self.put_together(batch if isinstance(batch, pa.RecordBatch) else batch(), before, strict=strict))

        count = 1 if self.metadata.num_rows <= batch_rows else thread_count(threads)
        return drawn_in_order(done, stored(), count)

    def columns_of(self, name: str) -> list[str]:
        """The columns of the file that a column is put together from."""
        return columns_of(name, self.maps)

    def join_maps(self, batch: pa.RecordBatch, before: int) -> dict[str, pa.Array]:
        """Some of the columns as they are stored, by name, with every map in them put together."""
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        try:
            return joined_columns(columns, self.joined, self.maps)
        except MapPositionError as failure:
            raise locate_error(failure.error, failure.position, before, f" of {self.path!r}") from None

    def put_together(self, batch: pa.RecordBatch, before: int, *, strict: bool = False) -> pa.RecordBatch:
        """Some of the columns as they are stored, with every map and every Variant in them put together."""
        columns = self.join_maps(batch, before)
        for position in self.variants:
            name = position[0]
            if name in columns:
                change = functools.partial(self._unshred, position=position, before=before, strict=strict)
                columns[name] = replace_values(columns[name], self.schema.field(name).type, position[1:], change)
        names = [name for name in self.schema.names if name in columns]
        return pa.RecordBatch.from_arrays([columns[name] for name in names], schema=pa.schema([self.schema.field(name) for name in names]))

    def stored_batches(self, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """The rows as they are stored."""
        leaves = VariantLeaves(self.footer.schema, self.metadata, ())
        for group in range(self.file.num_row_groups):
            yield from self._group_batches(self.file, group, leaves.of_columns(self.physical.names, group), batch_rows)

    def _to_put_together(self, batch_rows: int) -> Iterator[tuple[int, Stored]]:
        """How many rows, and these as they are stored, or what reads them: without empty residuals, and with texts in dictionaries."""
        with_maps = {position[0] for position in self.maps}
        variants = [path for position, path in self.paths.items() if position not in self.layouts and position[0] not in with_maps]
        leaves = VariantLeaves(self.footer.schema, self.metadata, variants)
        texts = leaves.repeating_texts()
        decoder = PageDecoder(leaves.root, self.physical, leaves.repeating)
        file: pq.ParquetFile | None = None
        for group in range(self.metadata.num_row_groups):
            wanted = leaves.of_columns(self.physical.names, group)
            runs = decoder.runs(self.handle, self.kept.pages, group, wanted, batch_rows)
            if runs is None:
                file = file or (self.parquet_file(more_dictionaries=texts) if texts else self.file)
                for batch in self._group_batches(file, group, wanted, batch_rows):
                    yield batch.num_rows, batch
                continue
            for run in runs:
                yield run.rows, functools.partial(self._decoded, decoder, run, texts)

    def _decoded(self, decoder: PageDecoder, run: PageRun, texts: Sequence[str]) -> pa.RecordBatch:
        """The rows of some pages of a row group."""
        batch = decoder.read(self.handle, run)
        if batch is not None:
            return batch
        # Other threads may be here, too, each with a file of its own.
        file = self.parquet_file(more_dictionaries=texts)
        batches = list(self._group_batches(file, run.group, sorted(run.pages.leaves), run.pages.rows))
        return pa.Table.from_batches(batches).slice(run.first_row, run.rows).combine_chunks().to_batches()[0]

    def _group_batches(self, file: pq.ParquetFile, group: int, leaves: list[int], batch_rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of one row group: pyarrow cannot join the dictionaries of two of them."""
        if batch_rows < 1:
            raise UnsupportedTypeError(f"expected at least one row in a batch, got {batch_rows}")
        done = 0
        try:
            # Threads of pyarrow's would get in the way of those that put together what it has decoded.
            for batch in file.reader.iter_batches(batch_rows, [group], column_indices=leaves, use_threads=False):
                yield batch
                done += batch.num_rows
        except pa.ArrowNotImplementedError:
            # Nor can it make a dictionary of a column chunk whose writer gave its dictionary up half way.
            plain = self.parquet_file(is_plain=True)
            for batch in plain.reader.iter_batches(batch_rows, [group], column_indices=leaves, use_threads=False):
                if done < batch.num_rows:
                    yield batch.slice(done)
                done = max(0, done - batch.num_rows)

    def _unshred(self, array: pa.Array, *, position: Position, before: int, strict: bool) -> pa.Array:
        try:
            variants = unshred(array, layout=self.layouts.get(position, "parquet"), strict=strict, threads=1)
        except VarquetError as error:
            raise locate_error(error, position, before, f" of {self.path!r}") from None
        return variants if variants.type == SHARED_VARIANT else variants.cast(SHARED_VARIANT)


def open_file(path: str, columns: Sequence[str] | None = None, plan: PinnedSchemas | None = None) -> OpenFile:
    """Open one Parquet file and read its footer."""
    return OpenFile(DataFile(path), columns, plan)
