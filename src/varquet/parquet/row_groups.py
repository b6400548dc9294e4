"""A Parquet file of row groups that are encoded each for itself, by any number of threads.

pyarrow writes a file from front to back, with one thread. So each row group becomes a file of its own in memory; the pages of
these files are copied one behind the other, their page indexes behind all pages, and what says where they are moves with them:

    PAR1 | pages of group 0 | pages of group 1 ... | column indexes | offset indexes | FileMetaData of group 0, with all groups

The result is what pyarrow alone would have written.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from varquet.errors import ParquetError
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
from varquet.parquet.thrift import I32, I64, LIST, STRUCT, Edit, Struct, apply, integer, list_header, read_struct

__all__ = ["EncodedGroup", "RowGroupFile", "encode_group"]


@dataclass(frozen=True, slots=True)
class EncodedGroup:
    """The row group of a file in memory that has no other; or none, if the table had no rows."""

    rows: int
    pages: memoryview
    column_indexes: list[bytes | None]
    """Of each column chunk, or None; like offset_indexes."""
    offset_indexes: list[bytes | None]
    footer: Footer


def encode_group(table: pa.Table, options: dict[str, Any]) -> EncodedGroup:
    """Encode all rows of a table as one row group, with these options of pyarrow's writer."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, **options) as writer:
        if table.num_rows:
            writer.write_table(table, row_group_size=table.num_rows)
    made = sink.getvalue()
    data = memoryview(made)
    footer = read_footer(pa.BufferReader(made))
    chunks = [chunk for group in footer.whole.structs(ROW_GROUPS) for chunk in group.structs(GROUP_COLUMNS)]
    column_indexes = [_span(chunk, CHUNK_COLUMN_INDEX, CHUNK_COLUMN_INDEX_LENGTH) for chunk in chunks]
    offset_indexes = [_span(chunk, CHUNK_OFFSET_INDEX, CHUNK_OFFSET_INDEX_LENGTH) for chunk in chunks]
    behind = min(
        (span.start for span in (*column_indexes, *offset_indexes) if span is not None), default=len(data) - len(with_tail(footer.data))
    )
    return EncodedGroup(
        table.num_rows,
        data[len(MAGIC) : behind],
        [None if span is None else bytes(data[span]) for span in column_indexes],
        [None if span is None else bytes(data[span]) for span in offset_indexes],
        footer,
    )


class RowGroupFile:
    """A file in the making: `add` row groups in their order, then `close` it. The first one, which may be empty, gives the schema."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("wb")
        self.file.write(MAGIC)
        self.size = len(MAGIC)
        self.groups: list[tuple[EncodedGroup, int]] = []
        """Each row group, and how far its pages have moved."""

    def add(self, group: EncodedGroup) -> None:
        """Append a row group."""
        moved = self.size - len(MAGIC)
        self._append(group.pages)
        # The pages are in the file, and need no memory any more.
        self.groups.append((EncodedGroup(group.rows, memoryview(b""), group.column_indexes, group.offset_indexes, group.footer), moved))

    def close(self) -> None:
        """Write page indexes and footer."""
        with self.file:
            column_indexes = [[self._place(index) for index in group.column_indexes] for group, _ in self.groups]
            offset_indexes = [
                [self._place(None if index is None else _moved_offset_index(index, by)) for index in group.offset_indexes]
                for group, by in self.groups
            ]
            made = [
                _moved_group(group, by, *indexes)
                for (group, by), *indexes in zip(self.groups, column_indexes, offset_indexes, strict=True)
                if group.rows
            ]
            whole = self.groups[0][0].footer.whole
            rows = sum(group.rows for group, _ in self.groups)
            edits = [
                whole.edit(NUM_ROWS, I64, integer(rows)),
                whole.edit(ROW_GROUPS, LIST, list_header(STRUCT, len(made)) + b"".join(made)),
            ]
            self._append(with_tail(apply(whole.data, edits)))

    def abort(self) -> None:
        """Leave the file as it is, which is not a Parquet file."""
        self.file.close()

    def _append(self, octets: bytes | memoryview) -> int:
        """Where they begin."""
        at = self.size
        self.file.write(octets)
        self.size += len(octets)
        return at

    def _place(self, index: bytes | None) -> tuple[int, int] | None:
        """Append an index; its first byte and its length."""
        return None if index is None else (self._append(index), len(index))


def _span(chunk: Struct, start: int, length: int) -> slice | None:
    at, size = chunk.integer(start), chunk.integer(length)
    return None if at is None or size is None else slice(at, at + size)


def _moved_offset_index(index: bytes, by: int) -> bytes:
    edits = [edit for page in read_struct(index, 0).structs(PAGES) for edit in _moved(page, by, PAGE_OFFSET)]
    return apply(index, edits)


def _moved_group(
    group: EncodedGroup, by: int, column_indexes: list[tuple[int, int] | None], offset_indexes: list[tuple[int, int] | None]
) -> bytes:
    """A row group as the footer of the whole file has it."""
    (found,) = group.footer.whole.structs(ROW_GROUPS)
    edits = _moved(found, by, GROUP_FILE_OFFSET)
    for chunk, column_index, offset_index in zip(found.structs(GROUP_COLUMNS), column_indexes, offset_indexes, strict=True):
        metadata = chunk.struct(CHUNK_METADATA)
        if metadata is None:
            raise ParquetError("expected metadata with each column chunk, got none", offset=chunk.start)
        edits += _moved(chunk, by, CHUNK_FILE_OFFSET)
        edits += _moved(metadata, by, META_DATA_PAGE, META_INDEX_PAGE, META_DICTIONARY_PAGE)
        if column_index is not None:
            edits.append(chunk.edit(CHUNK_COLUMN_INDEX, I64, integer(column_index[0])))
        if offset_index is not None:
            edits.append(chunk.edit(CHUNK_OFFSET_INDEX, I64, integer(offset_index[0])))
            edits.append(chunk.edit(CHUNK_OFFSET_INDEX_LENGTH, I32, integer(offset_index[1])))
    return apply(found.data[: found.end], edits)[found.start :]


def _moved(struct: Struct, by: int, *fields: int) -> list[Edit]:
    """The edits that move places in the file, as far as there are any: 0 is the beginning of no page."""
    places = ((field, struct.integer(field)) for field in fields)
    return [struct.edit(field, I64, integer(place + by)) for field, place in places if place]
