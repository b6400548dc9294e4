"""A Parquet file of row groups that are encoded each for itself, by any number of threads.

The pages of the row groups are copied one behind the other, their page indexes behind all pages, and what says where they are is written
when that is known:

    PAR1 | pages of group 0 | pages of group 1 ... | column indexes | offset indexes | FileMetaData of group 0, with all groups

`encode_group` has pyarrow encode one, which otherwise writes a file from front to back, with one thread: as the only row group of a file
in memory, which then moves. The result is what pyarrow alone would have written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from varquet.parquet.footer import MAGIC, Footer, read_footer, with_tail
from varquet.parquet.footer_fields import (
    CHUNK_COLUMN_INDEX,
    CHUNK_COLUMN_INDEX_LENGTH,
    CHUNK_FILE_OFFSET,
    CHUNK_METADATA,
    CHUNK_OFFSET_INDEX,
    CHUNK_OFFSET_INDEX_LENGTH,
    GROUP_COLUMNS,
    GROUP_FILE_OFFSET,
    META_DATA_PAGE,
    META_DICTIONARY_PAGE,
    META_INDEX_PAGE,
    NUM_ROWS,
    PAGE_OFFSET,
    PAGES,
    ROW_GROUPS,
)
from varquet.parquet.thrift import I32, I64, LIST, Edit, Struct, apply, integer, read_struct, structs

__all__ = ["EncodedGroup", "PlacedGroup", "RowGroupFile", "Span", "encode_group"]

Span: TypeAlias = tuple[int, int]
"""Where something begins in a file, and how many bytes it has."""


class PlacedGroup(Protocol):
    """A row group whose pages are in the file: what is still to be written of it."""

    @property
    def column_indexes(self) -> Sequence[bytes | None]:
        """Those of its columns that have one."""

    @property
    def offset_indexes(self) -> Sequence[bytes | None]:
        """The same."""

    def described(self, column_indexes: Sequence[Span | None], offset_indexes: Sequence[Span | None]) -> bytes:
        """The row group as the footer has it, its page indexes being in these places."""


class EncodedGroup(Protocol):
    """A row group that has no place in a file yet; it may have no rows."""

    @property
    def pages(self) -> Sequence[bytes | memoryview]:
        """The bytes of all pages."""

    @property
    def footer(self) -> Footer:
        """Of a file with the same schema."""

    @property
    def rows(self) -> int:
        """How many rows it has."""

    def placed(self, at: int) -> PlacedGroup:
        """What is left of it when its pages are in the file from here on."""


@dataclass(frozen=True, slots=True)
class _EncodedChunk:
    """A column chunk of a row group that pyarrow has encoded, and its page indexes, if it has them."""

    about: Struct
    metadata: Struct
    column_index: bytes | None
    offset_index: bytes | None


@dataclass(frozen=True, slots=True)
class _EncodedFile:
    """The row group of a file in memory that has no other; or none, if the table had no rows."""

    pages: Sequence[bytes | memoryview]
    footer: Footer
    about: Struct | None
    chunks: list[_EncodedChunk]

    @property
    def rows(self) -> int:
        return self.footer.num_rows

    def placed(self, at: int) -> PlacedGroup:
        return _MovedGroup(self.about, self.chunks, at - len(MAGIC))


def encode_group(table: pa.Table, options: dict[str, Any]) -> EncodedGroup:
    """Encode all rows of a table as one row group, with these options of pyarrow's writer."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, **options) as writer:
        if table.num_rows:
            writer.write_table(table, row_group_size=table.num_rows)
    made = sink.getvalue()
    data = memoryview(made)
    footer = read_footer(pa.BufferReader(made))
    about = next(footer.whole.structs(ROW_GROUPS), None)
    found = [] if about is None else list(about.structs(GROUP_COLUMNS))
    column_indexes = [_span(chunk, CHUNK_COLUMN_INDEX, CHUNK_COLUMN_INDEX_LENGTH) for chunk in found]
    offset_indexes = [_span(chunk, CHUNK_OFFSET_INDEX, CHUNK_OFFSET_INDEX_LENGTH) for chunk in found]
    starts = (span.start for span in (*column_indexes, *offset_indexes) if span is not None)
    behind = min(starts, default=len(data) - len(with_tail(footer.data)))
    chunks = [
        _EncodedChunk(
            chunk,
            _metadata(chunk),
            None if column_index is None else bytes(data[column_index]),
            None if offset_index is None else bytes(data[offset_index]),
        )
        for chunk, column_index, offset_index in zip(found, column_indexes, offset_indexes, strict=True)
    ]
    return _EncodedFile([data[len(MAGIC) : behind]], footer, about, chunks)


def _metadata(chunk: Struct) -> Struct:
    metadata = chunk.struct(CHUNK_METADATA)
    # pyarrow has just written it.
    assert metadata is not None
    return metadata


class RowGroupFile:
    """A file in the making: `add` row groups in their order, then `close` it. The first one, which may be empty, gives the schema."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("wb")
        self.file.write(MAGIC)
        self.size = len(MAGIC)
        self.footer: Footer | None = None
        self.rows = 0
        self.groups: list[PlacedGroup] = []

    def add(self, group: EncodedGroup) -> None:
        """Append a row group, unless it is empty."""
        self.footer = self.footer or group.footer
        if group.rows:
            self.rows += group.rows
            self.groups.append(group.placed(self.size))
        for octets in group.pages:
            self._append(octets)

    def close(self, patch: Callable[[bytes], bytes] = lambda footer: footer) -> None:
        """Write page indexes and footer, of which `patch` makes what is written."""
        with self.file:
            assert self.footer is not None
            column_indexes = [[self._place(index) for index in group.column_indexes] for group in self.groups]
            offset_indexes = [[self._place(index) for index in group.offset_indexes] for group in self.groups]
            made = [group.described(*places) for group, *places in zip(self.groups, column_indexes, offset_indexes, strict=True)]
            whole = self.footer.whole
            edits = [whole.edit(NUM_ROWS, I64, integer(self.rows)), whole.edit(ROW_GROUPS, LIST, structs(made))]
            self._append(with_tail(patch(apply(whole.data, edits))))
            self.file.flush()
            os.fsync(self.file.fileno())

    def abort(self) -> None:
        """Leave the file as it is, which is not a Parquet file."""
        self.file.close()

    def _append(self, octets: bytes | memoryview) -> int:
        """Where they begin."""
        at = self.size
        self.file.write(octets)
        self.size += len(octets)
        return at

    def _place(self, index: bytes | None) -> Span | None:
        """Append an index; its first byte and its length."""
        return None if index is None else (self._append(index), len(index))


def _span(chunk: Struct, start: int, length: int) -> slice | None:
    at, size = chunk.integer(start), chunk.integer(length)
    return None if at is None or size is None else slice(at, at + size)


def _moved_offset_index(index: bytes, by: int) -> bytes:
    edits = [edit for page in read_struct(index, 0).structs(PAGES) for edit in _moved(page, by, PAGE_OFFSET)]
    return apply(index, edits)


class _MovedGroup:
    """A row group that was made for another place."""

    def __init__(self, about: Struct | None, chunks: list[_EncodedChunk], by: int) -> None:
        """`by` is how far its pages have moved."""
        self.about, self.chunks, self.by = about, chunks, by
        self.column_indexes = [chunk.column_index for chunk in chunks]
        self.offset_indexes = [None if chunk.offset_index is None else _moved_offset_index(chunk.offset_index, by) for chunk in chunks]

    def described(self, column_indexes: Sequence[Span | None], offset_indexes: Sequence[Span | None]) -> bytes:
        assert self.about is not None
        edits = _moved(self.about, self.by, GROUP_FILE_OFFSET)
        for chunk, column_index, offset_index in zip(self.chunks, column_indexes, offset_indexes, strict=True):
            edits += _moved(chunk.about, self.by, CHUNK_FILE_OFFSET)
            edits += _moved(chunk.metadata, self.by, META_DATA_PAGE, META_INDEX_PAGE, META_DICTIONARY_PAGE)
            if column_index is not None:
                edits.append(chunk.about.edit(CHUNK_COLUMN_INDEX, I64, integer(column_index[0])))
            if offset_index is not None:
                edits.append(chunk.about.edit(CHUNK_OFFSET_INDEX, I64, integer(offset_index[0])))
                edits.append(chunk.about.edit(CHUNK_OFFSET_INDEX_LENGTH, I32, integer(offset_index[1])))
        return apply(self.about.data[: self.about.end], edits)[self.about.start :]


def _moved(struct: Struct, by: int, *fields: int) -> list[Edit]:
    """The edits that move places in the file, as far as there are any: 0 is the beginning of no page."""
    places = ((field, struct.integer(field)) for field in fields)
    return [struct.edit(field, I64, integer(place + by)) for field, place in places if place]
