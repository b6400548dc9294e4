"""A row group encoded column by column, without pyarrow's writer.

pyarrow goes down every way to a leaf column for itself, null by null, which takes longer than encoding the values does. Here the leaf
columns of a group share the levels up to it (`entries`), and kernels encode their values without the nulls (`bodies`). All columns end
their pages at the same rows as long as pages are not too large, so that readers can leave out the same rows of each.

What has types that are not known here is encoded by pyarrow: row groups of both make one file.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from varquet.kernels.source import pages as kernel
from varquet.parquet.bodies import Bodies, encode_values, has_known_values
from varquet.parquet.elements import PHYSICAL
from varquet.parquet.encodings import Encodings
from varquet.parquet.entries import LeafColumn, PackedLevels, is_known, leaf_columns
from varquet.parquet.footer import Footer
from varquet.parquet.footer_fields import (
    CHUNK_COLUMN_INDEX,
    CHUNK_COLUMN_INDEX_LENGTH,
    CHUNK_FILE_OFFSET,
    CHUNK_METADATA,
    CHUNK_OFFSET_INDEX,
    CHUNK_OFFSET_INDEX_LENGTH,
    GROUP_BYTES,
    GROUP_COLUMNS,
    GROUP_COMPRESSED,
    GROUP_FILE_OFFSET,
    GROUP_ROWS,
    HEADER_DEFINITION,
    HEADER_DICTIONARY,
    HEADER_ENCODING,
    HEADER_KIND,
    HEADER_RAW_SIZE,
    HEADER_REPETITION,
    HEADER_SIZE,
    HEADER_V1,
    HEADER_VALUES,
    INDEX_GREATEST,
    INDEX_LEAST,
    INDEX_NULL_PAGES,
    INDEX_NULLS,
    INDEX_ORDER,
    META_CODEC,
    META_COMPRESSED,
    META_DATA_PAGE,
    META_DICTIONARY_PAGE,
    META_ENCODINGS,
    META_PAGE_ENCODINGS,
    META_PATH,
    META_SIZES,
    META_STATISTICS,
    META_TYPE,
    META_UNCOMPRESSED,
    META_VALUES,
    PAGE_OFFSET,
    PAGE_ROW,
    PAGE_SIZE,
    PAGES,
    PAGES_COUNT,
    PAGES_ENCODING,
    PAGES_KIND,
    PLAIN,
    RLE,
    SIZES_DEFINITION,
    SIZES_REPETITION,
    SIZES_TEXT_BYTES,
    STATISTICS_GREATEST,
    STATISTICS_GREATEST_IS_EXACT,
    STATISTICS_LEAST,
    STATISTICS_LEAST_IS_EXACT,
    STATISTICS_NULLS,
)
from varquet.parquet.levels import Place, leaf_places, places
from varquet.parquet.row_groups import EncodedGroup, PlacedGroup, Span, encode_group
from varquet.parquet.thrift import (
    BINARY,
    I32,
    I64,
    LIST,
    STRUCT,
    TRUE,
    binary,
    fields,
    integer,
    integers,
    list_header,
    struct,
    structs,
)

__all__ = ["GroupEncoder"]

Ints = npt.NDArray[np.int64]
Octets = bytes | memoryview

PAGE_ROWS: Final = 16_384
_WRITE_BATCH_ROWS: Final = 16_384
"""What pyarrow encodes at a time, after which a page may end."""
_PAGE_BYTES: Final = 1 << 20
_MOST_BYTES: Final = 1 << 30
"""Of one column in a row group: the sizes of pages are numbers of 32 bits."""
_LONGEST_BOUND: Final = 4096
_SMALL_PAGE: Final = 32

_UNORDERED, _ASCENDING, _DESCENDING = 0, 1, 2
_WIDTHS: Final = {"INT32": 4, "INT64": 8, "FLOAT": 4, "DOUBLE": 8}
_CODECS: Final = {
    "none": (kernel.UNCOMPRESSED, None),
    "snappy": (kernel.SNAPPY, "snappy"),
    "gzip": (2, "gzip"),
    "brotli": (4, "brotli"),
    "zstd": (kernel.ZSTD, "zstd"),
    "lz4": (7, "lz4_raw"),
}


@dataclass(frozen=True, slots=True)
class _Leaf:
    """What the footer says of a leaf column in every row group."""

    name: str
    """Its path with dots, as encodings are chosen for it."""
    path: bytes
    physical: int
    width: int
    definition: int
    repetition: int


class GroupEncoder:
    """Encodes the row groups of a file."""

    def __init__(self, schema: pa.Schema, compression: str = "zstd", compression_level: int | None = None) -> None:
        self.schema = schema
        self.options: dict[str, Any] = {
            "version": "2.6",
            "write_page_index": True,
            "store_decimal_as_integer": True,
            "store_schema": False,
            "write_batch_size": _WRITE_BATCH_ROWS,
            "compression": compression,
            "compression_level": compression_level,
        }
        self.codec, self.codec_name = _CODECS.get(compression.lower(), (-1, None))
        self.level = compression_level

    @functools.cached_property
    def _empty(self) -> EncodedGroup:
        """A file without rows, whose footer has the schema."""
        return encode_group(pa.Table.from_batches([], self.schema), self.options)

    @functools.cached_property
    def _leaves(self) -> list[_Leaf] | None:
        """The leaf columns; None if pyarrow shall encode them."""
        if self.codec < 0 or not all(is_known(field.type, has_known_values) for field in self.schema):
            return None
        return [_described(place) for place in leaf_places(places(self._empty.footer.schema))]

    def encode(self, table: pa.Table, encodings: Encodings) -> EncodedGroup:
        """Encode all rows of a table as one row group."""
        try:
            chunks = self._chunks(table, encodings) if table.num_rows else None
        except pa.ArrowNotImplementedError:  # to join or to choose what is in every type
            chunks = None
        if chunks is not None:
            return _OwnGroup(chunks, table.num_rows, self._empty.footer)
        options = {"use_dictionary": encodings.dictionary or False, "column_encoding": encodings.others or None, **self.options}
        return encode_group(_with_one_dictionary(table), options)

    def _chunks(self, table: pa.Table, encodings: Encodings) -> list[_Chunk] | None:
        leaves = self._leaves
        if leaves is None:
            return None
        columns = [leaf for field, column in zip(self.schema, table.columns, strict=True) for leaf in leaf_columns(column, field.nullable)]
        sizes = [column.nbytes for column in columns]
        if any(size > _MOST_BYTES for size in sizes):
            return None
        assert [(leaf.definition, leaf.repetition) for leaf in leaves] == [(one.entries.level, one.entries.repetitions) for one in columns]
        dictionary = frozenset(encodings.dictionary)
        made: list[_Chunk] = []
        shared: dict[tuple[object, ...], list[_Page]] = {}
        for leaf, column, size in zip(leaves, columns, sizes, strict=True):
            encoding = "dictionary" if leaf.name in dictionary else encodings.others.get(leaf.name, "PLAIN")
            made.append(self._chunk(leaf, column, _page_rows(table.num_rows, size), encoding, shared))
        return made

    def _chunk(
        self, leaf: _Leaf, column: LeafColumn, row_firsts: Ints, encoding: str, shared: dict[tuple[object, ...], list[_Page]]
    ) -> _Chunk:
        """A leaf as a column chunk; those that are empty put their pages to `shared`, or take them from there."""
        entries = column.entries
        firsts = value_firsts = entries.firsts(row_firsts)
        held = None
        if column.is_empty:
            value_firsts = np.zeros_like(firsts)
        elif not (here := entries.here()).all():
            held = here if entries.holders is None else here[entries.holders]
            counts = [np.count_nonzero(here[first:last]) for first, last in itertools.pairwise(firsts.tolist())]
            value_firsts = np.cumsum([0, *counts])
        bodies = encode_values(column.pieces, held, value_firsts, leaf.width, encoding)
        levels: list[PackedLevels] = []
        sizes = [(SIZES_TEXT_BYTES, I64, integer(bodies.raw_size))] if bodies.raw_size is not None else []
        if leaf.repetition:
            levels.append(entries.repetition_levels(firsts))
            sizes.append((SIZES_REPETITION, LIST, integers(levels[-1].counts)))
        if leaf.definition:
            levels.append(entries.definition_levels(firsts))
            sizes.append((SIZES_DEFINITION, LIST, integers(levels[-1].counts)))
        # Empty leaves of one group have the same levels, and nothing else.
        key = (*map(id, levels), bytes(bodies.pages[0])) if column.is_empty else None
        pages = shared.get(key) if key is not None else None
        if pages is None:
            pages = [self._page(*parts) for parts in zip(*(one.pages for one in levels), bodies.pages, strict=True)]
        if key is not None:
            shared[key] = pages
        entry_counts = np.diff(firsts).tolist()
        null_counts = (np.diff(firsts) - np.diff(value_firsts)).tolist()
        dictionary = None if bodies.dictionary is None else self._page(bodies.dictionary)
        rows_of_pages = row_firsts[:-1].tolist()
        return _with_headers(leaf, self.codec, bodies, dictionary, pages, entry_counts, null_counts, rows_of_pages, sizes)

    def _page(self, *parts: Octets) -> _Page:
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        if self.codec_name is None:
            return _Page(len(body), bytes(body))
        if len(body) <= _SMALL_PAGE:
            return _small_page(bytes(body), self.codec_name, self.level)
        return _Page(len(body), _codec(self.codec_name, self.level).compress(body, asbytes=True))


def _with_one_dictionary(table: pa.Table) -> pa.Table:
    """So that a column chunk can have the dictionary of its column."""
    try:
        return table.unify_dictionaries()
    except pa.ArrowNotImplementedError:  # not inside of every type
        return table.combine_chunks()


def _codec(name: str, level: int | None) -> pa.Codec:
    return pa.Codec(name) if level is None else pa.Codec(name, compression_level=level)


@dataclass(frozen=True, slots=True)
class _Page:
    """The body of a page, compressed."""

    raw_size: int
    body: bytes


@functools.lru_cache(256)
def _small_page(body: bytes, codec: str, level: int | None) -> _Page:
    """A page of a few bytes, as those of columns without a value are, of which there are many of the same."""
    return _Page(len(body), _codec(codec, level).compress(body, asbytes=True))


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A column chunk before it has a place in a file."""

    stored: list[Octets]
    """Its pages with their headers."""
    size: int
    raw_size: int
    before: bytes
    """The fields that describe it, before those that say where it is."""
    behind: bytes
    dictionary_size: int
    """Bytes of the page of its dictionary, which comes first; 0 without one."""
    page_sizes: list[int]
    rows: list[int]
    """The first one of each page."""
    column_index: bytes | None

    def metadata(self, at: int) -> bytes:
        """Its description if it begins here."""
        places = [(META_DATA_PAGE, I64, integer(at + self.dictionary_size))]
        if self.dictionary_size:
            places.append((META_DICTIONARY_PAGE, I64, integer(at)))
        return self.before + fields(*places, previous=META_COMPRESSED) + self.behind

    def offset_index(self, at: int) -> bytes:
        """Where its pages are if it begins here."""
        at += self.dictionary_size
        locations: list[bytes] = []
        for size, row in zip(self.page_sizes, self.rows, strict=True):
            locations.append(struct((PAGE_OFFSET, I64, integer(at)), (PAGE_SIZE, I32, integer(size)), (PAGE_ROW, I64, integer(row))))
            at += size
        return struct((PAGES, LIST, structs(locations)))


@dataclass(frozen=True, slots=True)
class _OwnGroup:
    """A row group before it has a place in a file."""

    chunks: list[_Chunk]
    rows: int
    footer: Footer

    @property
    def pages(self) -> list[Octets]:
        return [octets for chunk in self.chunks for octets in chunk.stored]

    def placed(self, at: int) -> PlacedGroup:
        starts = list(itertools.accumulate((chunk.size for chunk in self.chunks), initial=at))
        metadata = [chunk.metadata(start) for chunk, start in zip(self.chunks, starts, strict=False)]
        offset_indexes = [chunk.offset_index(start) for chunk, start in zip(self.chunks, starts, strict=False)]
        column_indexes = [chunk.column_index for chunk in self.chunks]
        raw_size = sum(chunk.raw_size for chunk in self.chunks)
        about = (
            (GROUP_BYTES, I64, integer(raw_size)),
            (GROUP_ROWS, I64, integer(self.rows)),
            (GROUP_FILE_OFFSET, I64, integer(at)),
            (GROUP_COMPRESSED, I64, integer(starts[-1] - at)),
        )
        return _PlacedGroup(metadata, column_indexes, offset_indexes, struct(*about, previous=GROUP_COLUMNS))


@dataclass(frozen=True, slots=True)
class _PlacedGroup:
    """A row group whose pages are in a file."""

    metadata: list[bytes]
    column_indexes: list[bytes | None]
    offset_indexes: list[bytes]
    behind: bytes
    """The fields behind its columns."""

    def described(self, column_indexes: Sequence[Span | None], offset_indexes: Sequence[Span | None]) -> bytes:
        columns: list[bytes] = []
        for metadata, column_index, offset_index in zip(self.metadata, column_indexes, offset_indexes, strict=True):
            assert offset_index is not None
            chunk = [(CHUNK_FILE_OFFSET, I64, integer(0)), (CHUNK_METADATA, STRUCT, metadata)]
            chunk += [(CHUNK_OFFSET_INDEX, I64, integer(offset_index[0])), (CHUNK_OFFSET_INDEX_LENGTH, I32, integer(offset_index[1]))]
            if column_index is not None:
                chunk += [(CHUNK_COLUMN_INDEX, I64, integer(column_index[0])), (CHUNK_COLUMN_INDEX_LENGTH, I32, integer(column_index[1]))]
            columns.append(struct(*chunk))
        return fields((GROUP_COLUMNS, LIST, structs(columns))) + self.behind


def _with_headers(
    leaf: _Leaf,
    codec: int,
    values: Bodies,
    dictionary: _Page | None,
    pages: list[_Page],
    entries: list[int],
    nulls: list[int],
    rows: list[int],
    sizes: list[tuple[int, int, bytes]],
) -> _Chunk:
    """A column chunk of pages, of which each has so many entries, so many nulls among them, and begins with this row."""
    headers = [
        _header(kernel.DATA_PAGE, page, HEADER_V1, (count, values.encoding, RLE, RLE)) for page, count in zip(pages, entries, strict=True)
    ]
    stored: list[Octets] = [octets for header, page in zip(headers, pages, strict=True) for octets in (header, page.body)]
    raw_size = sum(map(len, headers)) + sum(page.raw_size for page in pages)
    kinds = [(kernel.DATA_PAGE, values.encoding, len(pages))]
    used = [RLE, values.encoding]
    dictionary_size = 0
    if dictionary is not None:
        header = _header(kernel.DICTIONARY_PAGE, dictionary, HEADER_DICTIONARY, (values.dictionary_size, PLAIN))
        stored = [header, dictionary.body, *stored]
        raw_size += len(header) + dictionary.raw_size
        kinds.insert(0, (kernel.DICTIONARY_PAGE, PLAIN, 1))
        used.insert(0, PLAIN)
        dictionary_size = len(header) + len(dictionary.body)
    size = sum(map(len, stored))
    before = fields(
        (META_TYPE, I32, integer(leaf.physical)),
        (META_ENCODINGS, LIST, integers(used, I32)),
        (META_PATH, LIST, leaf.path),
        (META_CODEC, I32, integer(codec)),
        (META_VALUES, I64, integer(sum(entries))),
        (META_UNCOMPRESSED, I64, integer(raw_size)),
        (META_COMPRESSED, I64, integer(size)),
    )
    counted = [
        struct((PAGES_KIND, I32, integer(kind)), (PAGES_ENCODING, I32, integer(encoding)), (PAGES_COUNT, I32, integer(count)))
        for kind, encoding, count in kinds
    ]
    behind = [(META_STATISTICS, STRUCT, _statistics(values, sum(nulls))), (META_PAGE_ENCODINGS, LIST, structs(counted))]
    if sizes:
        behind.append((META_SIZES, STRUCT, struct(*sizes)))
    return _Chunk(
        stored,
        size,
        raw_size,
        before,
        struct(*behind, previous=META_DICTIONARY_PAGE if dictionary_size else META_DATA_PAGE),
        dictionary_size,
        [len(header) + len(page.body) for header, page in zip(headers, pages, strict=True)],
        rows,
        _column_index(values, entries, nulls),
    )


def _statistics(values: Bodies, nulls: int) -> bytes:
    given = [(STATISTICS_NULLS, I64, integer(nulls))]
    bounds = [bound for bound in values.bounds if bound is not None]
    if bounds:
        greatest = values.stored(max(bound[1] for bound in bounds))
        least = values.stored(min(bound[0] for bound in bounds))
        if max(len(least), len(greatest)) <= _LONGEST_BOUND:
            given += [(STATISTICS_GREATEST, BINARY, binary(greatest)), (STATISTICS_LEAST, BINARY, binary(least))]
            given += [(STATISTICS_GREATEST_IS_EXACT, TRUE, b""), (STATISTICS_LEAST_IS_EXACT, TRUE, b"")]
    return struct(*given)


def _column_index(values: Bodies, entries: list[int], nulls: list[int]) -> bytes | None:
    """The bounds of each page; None if a page has values but no bounds, or such that are too long."""
    empty = [count == without for count, without in zip(entries, nulls, strict=True)]
    bounds = [bound for bound in values.bounds if bound is not None]
    if len(bounds) + sum(empty) != len(empty):
        return None
    stored = [(b"", b"") if bound is None else tuple(map(values.stored, bound)) for bound in values.bounds]
    if any(len(octets) > _LONGEST_BOUND for pair in stored for octets in pair):
        return None
    lows, highs = [bound[0] for bound in bounds], [bound[1] for bound in bounds]
    order = _UNORDERED
    if all(a <= b for one in (lows, highs) for a, b in itertools.pairwise(one)):
        order = _ASCENDING
    elif all(a >= b for one in (lows, highs) for a, b in itertools.pairwise(one)):
        order = _DESCENDING
    return struct(
        (INDEX_NULL_PAGES, LIST, list_header(TRUE, len(empty)) + bytes(1 if one else 2 for one in empty)),
        (INDEX_LEAST, LIST, list_header(BINARY, len(stored)) + b"".join(binary(pair[0]) for pair in stored)),
        (INDEX_GREATEST, LIST, list_header(BINARY, len(stored)) + b"".join(binary(pair[1]) for pair in stored)),
        (INDEX_ORDER, I32, integer(order)),
        (INDEX_NULLS, LIST, integers(nulls)),
    )


def _header(kind: int, page: _Page, field: int, numbers: tuple[int, ...]) -> bytes:
    sizes = (HEADER_RAW_SIZE, I32, integer(page.raw_size)), (HEADER_SIZE, I32, integer(len(page.body)))
    return struct((HEADER_KIND, I32, integer(kind)), *sizes, (field, STRUCT, _inner_header(numbers)))


@functools.lru_cache(256)
def _inner_header(numbers: tuple[int, ...]) -> bytes:
    places = (HEADER_VALUES, HEADER_ENCODING, HEADER_DEFINITION, HEADER_REPETITION)
    return struct(*((place, I32, integer(number)) for place, number in zip(places, numbers, strict=False)))


def _page_rows(rows: int, size: int) -> Ints:
    """The first rows of the pages of a column of so many bytes, and the row behind the last one."""
    most = min(PAGE_ROWS, max(1, _PAGE_BYTES * rows // max(1, size)))
    # Pages of columns that need more of them begin at the rows of others too.
    step = PAGE_ROWS if most == PAGE_ROWS else max(1, PAGE_ROWS >> (-(-PAGE_ROWS // most) - 1).bit_length())
    return np.append(np.arange(0, rows, step), rows)


def _described(place: Place) -> _Leaf:
    names = [step.element.name for step in place.chain()]
    kind = place.element.physical_type
    assert kind is not None
    path = list_header(BINARY, len(names)) + b"".join(binary(name.encode("utf-8", "surrogateescape")) for name in names)
    width = place.element.type_length or _WIDTHS.get(kind, 0)
    return _Leaf(".".join(names), path, PHYSICAL.index(kind), width, place.definition, place.repetition)
