"""Leaf columns read without their nulls.

pyarrow reads a column that is nested in groups by its definition levels: it decodes them, makes validity bits of them for each group
around the column, and puts values apart by them; that takes longer than reading the values does. But the levels of a page can be
parted from its values, which are a page of a required column then. So the pages of a column chunk that have values are handed to
pyarrow as a small file in memory that has this column alone, and the levels become validity bits once, those of the column itself.

Whatever is not as expected is left to pyarrow: other versions of pages, codecs that do not say how much they hold, damage.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from varquet import kernels
from varquet.columns.arrow import is_text_or_bytes, plain, validity_of
from varquet.columns.scatter import byte_width, replace_rows
from varquet.kernels.source import pages as kernel
from varquet.parquet.footer import MAGIC, Footer, with_tail
from varquet.parquet.footer_fields import (
    CHUNK_FILE_OFFSET,
    CHUNK_METADATA,
    ELEMENT_CHILDREN,
    ELEMENT_NAME,
    ELEMENT_REPETITION,
    ELEMENT_TYPE,
    GROUP_BYTES,
    GROUP_COLUMNS,
    GROUP_ROWS,
    META_CODEC,
    META_COMPRESSED,
    META_DATA_PAGE,
    META_DICTIONARY_PAGE,
    META_ENCODINGS,
    META_PATH,
    META_TYPE,
    META_UNCOMPRESSED,
    META_VALUES,
    NUM_ROWS,
    ROW_GROUPS,
    SCHEMA,
    VERSION,
)
from varquet.parquet.raw_pages import CODECS, decompressed, list_pages
from varquet.parquet.thrift import BINARY, I32, I64, LIST, STOP, STRUCT, apply, binary, fields, integer, list_header, struct, structs
from varquet.schema.parquet_form import any_depth

__all__ = ["Dense", "DenseLeaves"]

Bits = npt.NDArray[np.uint8]

_MOST_BITS: Final = 4
_MOST_FOOTER: Final = 256
"""Bytes of a footer besides what is the same for all chunks of a column."""
# What is read this way is in memory as a whole, several times over.
_MOST_BYTES: Final = 1 << 26
_REQUIRED: Final = integer(0)
_STOP: Final = bytes((STOP,))


@dataclass(frozen=True, slots=True)
class Dense:
    """The values of a leaf column in some row groups, without nulls, and which rows have them."""

    values: pa.Array
    bits: Bits
    """As Arrow's validity: a bit for each row."""
    rows: int

    def held_rows(self) -> npt.NDArray[np.int64]:
        """The numbers of the rows that have a value."""
        return np.flatnonzero(np.unpackbits(self.bits, bitorder="little", count=self.rows).view(bool))

    def spread(self, values: pa.Array | None = None) -> pa.Array:
        """The column as it is, with its nulls; or the same with other values in place of its own."""
        values = self.values if values is None else values
        count = len(values)
        if count == self.rows:
            return values
        kind = values.type
        if not count:
            return pa.nulls(self.rows, kind)
        is_text = is_text_or_bytes(kind)
        width = 0 if is_text else byte_width(kind)
        if values.null_count or values.offset or not (is_text or width):
            valid = np.unpackbits(self.bits, bitorder="little", count=self.rows)
            places = np.cumsum(valid, dtype=np.int64) - 1
            return values.take(pa.array(places, mask=valid == 0))
        buffers = values.buffers()
        if width:
            made = pa.allocate_buffer(self.rows * width)
            kernels.pages.spread_values(_octets(buffers[1]), width, self.bits, self.rows, count, _octets(made))
            return pa.Array.from_buffers(kind, self.rows, [pa.py_buffer(self.bits), made], self.rows - count)
        width = 8 if pa.types.is_large_binary(kind) or pa.types.is_large_string(kind) else 4
        made = pa.allocate_buffer((self.rows + 1) * width)
        kernels.pages.spread_offsets(_octets(buffers[1]), width, self.bits, self.rows, count, _octets(made))
        return pa.Array.from_buffers(kind, self.rows, [pa.py_buffer(self.bits), made, buffers[2]], self.rows - count)

    def spread_with(self, values: pa.Array, other: Dense, others: pa.Array) -> pa.Array:
        """Like `spread`, but rows of which the other column has a value get one of `others`, which may be null."""
        width = byte_width(values.type)
        if len(values) in (0, self.rows) or not width or values.null_count or values.offset or others.offset:
            return replace_rows(self.spread(values), other.held_rows(), others)
        made = pa.allocate_buffer(self.rows * width)
        out, bits = _octets(made), self.bits.copy()
        kernels.pages.spread_values(_octets(values.buffers()[1]), width, bits, self.rows, len(values), out)
        kernels.pages.place_values(_octets(others.buffers()[1]), width, validity_of(others), other.bits, self.rows, out, bits)
        return pa.Array.from_buffers(values.type, self.rows, [pa.py_buffer(bits), made])


def _octets(buffer: pa.Buffer | bytes) -> Bits:
    return np.frombuffer(buffer, np.uint8)


@dataclass(frozen=True, slots=True)
class _Leaf:
    """What is the same in all row groups: the highest definition level, and what a footer says of the column alone."""

    most: int
    width: int
    head: bytes
    """What a footer begins with that has this column alone, as a required one."""
    column: bytes
    """What the description of a column chunk begins with."""


class _Chunk(NamedTuple):
    """A column chunk: where its pages are, and what its footer says of them."""

    start: int
    size: int
    raw_size: int
    rows: int
    codec: int | None
    is_usable: bool


@dataclass(slots=True)
class DenseLeaves:
    """The leaf columns of a file that may be read without their nulls."""

    footer: Footer
    metadata: pq.FileMetaData
    leaves: dict[int, _Leaf | None] = field(default_factory=dict)

    def read(self, source: pa.NativeFile, groups: Sequence[int], leaf: int, kind: pa.DataType) -> Dense | None:
        """A leaf column of row groups, one behind the other, the values as this type; None if it must be read as others are."""
        if leaf not in self.leaves:
            self.leaves[leaf] = self._leaf(leaf)
        about = self.leaves[leaf]
        if about is None:
            return None
        chunks = [self._chunk(group, leaf) for group in groups]
        codec = chunks[0].codec
        size = sum(max(chunk.size, chunk.raw_size) for chunk in chunks)
        if codec is None or size > _MOST_BYTES or not all(chunk.is_usable and chunk.codec == codec for chunk in chunks):
            return None
        try:
            made = _read_chunks([source.read_at(chunk.size, chunk.start) for chunk in chunks], chunks, about, kind)
        except (pa.ArrowException, OSError):
            made = None  # who reads it as others are read will hear what is wrong with it
        if made is None:
            # What one chunk of a column is like, the others are: they are not to be read twice.
            self.leaves[leaf] = None
        return made

    def _chunk(self, group: int, leaf: int) -> _Chunk:
        row_group = self.metadata.row_group(group)
        chunk = row_group.column(leaf)
        start, rows = chunk.data_page_offset, row_group.num_rows
        if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
            start = chunk.dictionary_page_offset
        sizes = chunk.total_compressed_size, chunk.total_uncompressed_size
        return _Chunk(start, *sizes, rows, CODECS.get(chunk.compression), chunk.num_values == rows and min(sizes) > 0)

    def _leaf(self, leaf: int) -> _Leaf | None:
        column = self.metadata.schema.column(leaf)
        most, width = column.max_definition_level, column.max_definition_level.bit_length()
        if column.max_repetition_level or not 0 < width <= _MOST_BITS:
            return None
        elements = [element for element in self.footer.whole.structs(SCHEMA) if element.integer(ELEMENT_TYPE) is not None]
        found = elements[leaf]
        kind, name = found.integer(ELEMENT_TYPE), found.octets(ELEMENT_NAME)
        assert kind is not None and name is not None
        required = apply(found.data[: found.end], [found.edit(ELEMENT_REPETITION, I32, _REQUIRED)])[found.start :]
        return _Leaf(most, width, _head(required), _column(kind, name))


@functools.lru_cache(64)
def _meaning_of_four(most: int, width: int) -> Bits:
    """For four levels side by side: which are the highest, whether one is too high, how many are the highest."""
    packed = np.arange(1 << 4 * width)
    levels = np.stack([packed >> k * width & (1 << width) - 1 for k in range(4)])
    highest = levels == most
    meaning = (highest << np.arange(4)[:, None]).sum(0) | highest.sum(0) << kernel.FOUR_COUNT
    is_too_high = (levels > most).any(0)
    return np.asarray(meaning | kernel.FOUR_TOO_HIGH * is_too_high, np.uint8)


def _read_chunks(octets: Sequence[bytes], chunks: Sequence[_Chunk], leaf: _Leaf, kind: pa.DataType) -> Dense | None:
    codec = chunks[0].codec
    assert codec is not None
    pages = [list_pages(one, codec) for one in octets]
    listed = [one for one, chunk in zip(pages, chunks, strict=True) if one is not None and one.rows == chunk.rows]
    raw_size, rows = sum(one.raw_size for one in listed), sum(chunk.rows for chunk in chunks)
    if len(listed) < len(pages) or raw_size > _MOST_BYTES:
        return None
    bodies = decompressed(list(zip(octets, listed, strict=True)), codec)
    headers = sum(len(one.table) for one in listed) * kernel.MOST_HEADER
    room = len(MAGIC) + raw_size + headers + len(leaf.head) + len(chunks) * (len(leaf.column) + _MOST_FOOTER) + _MOST_FOOTER
    made = pa.allocate_buffer(room)
    out, bits, total = _octets(made), np.zeros((rows + 7) // 8, np.uint8), np.zeros(kernel.ALL_SLOTS, np.int64)
    four = _meaning_of_four(leaf.most, leaf.width)
    groups: list[bytes] = []
    count = before = at = 0
    end = len(MAGIC)
    for one, chunk in zip(listed, chunks, strict=True):
        first = end
        body = bodies[at : at + one.raw_size]
        end = kernels.pages.strip_pages(
            body, one.table.ravel(), len(one.table), leaf.most, leaf.width, four, bits, before, out, first, total
        )
        if end < 0:
            return None
        values = int(total[kernel.ALL_VALUES])
        if values:
            groups.append(_row_group(leaf, values, first, int(total[kernel.ALL_START]), end))
        count, before, at = count + values, before + chunk.rows, at + one.raw_size
    if not count:
        return Dense(pa.nulls(0, kind), bits, rows)
    footer = leaf.head + fields((NUM_ROWS, I64, integer(count)), (ROW_GROUPS, LIST, structs(groups)), previous=SCHEMA) + _STOP
    tail = with_tail(footer)
    out[: len(MAGIC)] = _octets(MAGIC)
    out[end : end + len(tail)] = _octets(tail)
    values = plain(_read(made.slice(0, end + len(tail)), len(groups)))
    return Dense(values, bits, rows) if values.type == kind and len(values) == count and not values.null_count else None


def _read(file: pa.Buffer, groups: int) -> pa.Array:
    reader = pq.ParquetFile(pa.BufferReader(file), pre_buffer=False, **any_depth()).reader
    column = reader.read_row_groups(list(range(groups)), use_threads=False).column(0)
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _head(element: bytes) -> bytes:
    """A footer up to its schema, which has one element."""
    root = struct((ELEMENT_NAME, BINARY, binary(b"schema")), (ELEMENT_CHILDREN, I32, integer(1)))
    return fields((VERSION, I32, integer(1)), (SCHEMA, LIST, structs([root, element])))


def _column(kind: int, name: bytes) -> bytes:
    """The description of a column chunk that is not compressed, up to the number of its values."""
    encodings, path = list_header(I32, 1) + integer(kernel.ENCODING_RLE), list_header(BINARY, 1) + binary(name)
    codec = integer(kernel.UNCOMPRESSED)
    return fields((META_TYPE, I32, integer(kind)), (META_ENCODINGS, LIST, encodings), (META_PATH, LIST, path), (META_CODEC, I32, codec))


def _row_group(leaf: _Leaf, count: int, first: int, start: int, end: int) -> bytes:
    """A row group of so many values, whose data pages are from `start` to `end`, and the dictionary before them from `first` on."""
    size = integer(end - first)
    numbers = [(META_VALUES, I64, integer(count)), (META_UNCOMPRESSED, I64, size), (META_COMPRESSED, I64, size)]
    numbers.append((META_DATA_PAGE, I64, integer(start)))
    if start > first:
        numbers.append((META_DICTIONARY_PAGE, I64, integer(first)))
    column = leaf.column + fields(*numbers, previous=META_VALUES - 1) + _STOP
    chunk = struct((CHUNK_FILE_OFFSET, I64, integer(0)), (CHUNK_METADATA, STRUCT, column))
    return struct((GROUP_COLUMNS, LIST, structs([chunk])), (GROUP_BYTES, I64, size), (GROUP_ROWS, I64, integer(count)))
