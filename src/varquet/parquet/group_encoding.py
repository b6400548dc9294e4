"""A row group encoded column by column, without pyarrow's writer.

pyarrow goes down every way to a leaf column for itself, null by null, which takes longer than encoding the values does. Here the leaf
columns of a group share the levels up to it (`entries`), and kernels encode their values without the nulls (`bodies`). All columns end
their pages at the same rows as long as pages are not too large, so that readers can leave out the same rows of each.

What has types that are not known here is encoded by pyarrow: row groups of both make one file.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from varquet.kernels.source import pages as kernel
from varquet.parquet.bodies import PLAIN, RLE, Bodies, encode_values, has_known_values
from varquet.parquet.elements import PHYSICAL
from varquet.parquet.encodings import Encodings
from varquet.parquet.entries import LeafColumn, is_known, leaf_columns
from varquet.parquet.footer import MAGIC, Footer
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
from varquet.parquet.row_groups import EncodedGroup, encode_group
from varquet.parquet.thrift import (
    BINARY,
    I32,
    I64,
    LIST,
    STRUCT,
    TRUE,
    binary,
    integer,
    integers,
    list_header,
    read_struct,
    struct,
    structs,
)

__all__ = ["GroupEncoder"]

Ints = npt.NDArray[np.int64]
Octets = bytes | memoryview

PAGE_ROWS: Final = 20_000
_WRITE_BATCH_ROWS: Final = 16_384
"""What pyarrow encodes at a time, after which a page may end."""
_PAGE_BYTES: Final = 1 << 20
_MOST_BYTES: Final = 1 << 30
"""Of one column in a row group: the sizes of pages are numbers of 32 bits."""
_LONGEST_BOUND: Final = 4096

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
            return _group(chunks, table.num_rows, self._empty.footer)
        options = {"use_dictionary": encodings.dictionary or False, "column_encoding": encodings.others or None, **self.options}
        return encode_group(_with_one_dictionary(table), options)

    def _chunks(self, table: pa.Table, encodings: Encodings) -> list[_Chunk] | None:
        leaves = self._leaves
        if leaves is None:
            return None
        columns = [leaf for field, column in zip(self.schema, table.columns, strict=True) for leaf in leaf_columns(column, field.nullable)]
        if any(column.nbytes > _MOST_BYTES for column in columns):
            return None
        assert [(leaf.definition, leaf.repetition) for leaf in leaves] == [(one.entries.level, one.entries.repetitions) for one in columns]
        dictionary = frozenset(encodings.dictionary)
        made: list[_Chunk] = []
        for leaf, column in zip(leaves, columns, strict=True):
            encoding = "dictionary" if leaf.name in dictionary else encodings.others.get(leaf.name, "PLAIN")
            made.append(self._chunk(leaf, column, table.num_rows, encoding))
        return made

    def _chunk(self, leaf: _Leaf, column: LeafColumn, rows: int, encoding: str) -> _Chunk:
        entries = column.entries
        here = entries.here()
        row_firsts = _page_rows(rows, column.nbytes)
        firsts = value_firsts = entries.firsts(row_firsts)
        held = None
        if not here.all():
            held = here if entries.holders is None else here[entries.holders]
            value_firsts = np.concatenate([[0], np.cumsum(np.add.reduceat(here, firsts[:-1], dtype=np.int64))])
        bodies = encode_values(column.pieces, held, value_firsts, leaf.width, encoding)
        levels = []
        sizes = [(SIZES_TEXT_BYTES, I64, integer(bodies.raw_size))] if bodies.raw_size is not None else []
        if leaf.repetition:
            repetition = entries.repetition_levels(firsts)
            levels.append(repetition.pages)
            sizes.append((SIZES_REPETITION, LIST, integers(repetition.counts)))
        if leaf.definition:
            definition = entries.definition_levels(firsts)
            levels.append(definition.pages)
            sizes.append((SIZES_DEFINITION, LIST, integers(definition.counts)))
        pages = [self._page(*parts) for parts in zip(*levels, bodies.pages, strict=True)]
        entry_counts = np.diff(firsts).tolist()
        null_counts = (np.diff(firsts) - np.diff(value_firsts)).tolist()
        return _Chunk(
            leaf,
            self.codec,
            bodies,
            None if bodies.dictionary is None else self._page(bodies.dictionary),
            pages,
            entry_counts,
            null_counts,
            row_firsts[:-1].tolist(),
            struct(*sizes) if sizes else None,
        )

    def _page(self, *parts: Octets) -> _Page:
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        if self.codec_name is None:
            return _Page(len(body), bytes(body))
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


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A column chunk before it has a place in a file."""

    leaf: _Leaf
    codec: int
    values: Bodies
    dictionary: _Page | None
    pages: list[_Page]
    entries: list[int]
    """Of each page."""
    nulls: list[int]
    rows: list[int]
    """The first one of each page."""
    sizes: bytes | None

    def placed(self, at: int, out: list[Octets]) -> tuple[bytes, bytes | None, bytes, int, int]:
        """Put its pages to `out`, which has `at` bytes; the chunk for the footer, its indexes, and its bytes, compressed or not."""
        leaf, values = self.leaf, self.values
        start, raw = at, 0
        page_kinds = [(kernel.DATA_PAGE, values.encoding, len(self.pages))]
        used = [RLE, values.encoding]
        if self.dictionary is not None:
            header = _header(kernel.DICTIONARY_PAGE, self.dictionary, HEADER_DICTIONARY, (values.dictionary_size, PLAIN))
            out += (header, self.dictionary.body)
            raw += len(header) + self.dictionary.raw_size
            at += len(header) + len(self.dictionary.body)
            page_kinds.insert(0, (kernel.DICTIONARY_PAGE, PLAIN, 1))
            used.insert(0, PLAIN)
        first = at
        locations: list[bytes] = []
        for page, entries, row in zip(self.pages, self.entries, self.rows, strict=True):
            header = _header(kernel.DATA_PAGE, page, HEADER_V1, (entries, values.encoding, RLE, RLE))
            size = len(header) + len(page.body)
            locations.append(struct((PAGE_OFFSET, I64, integer(at)), (PAGE_SIZE, I32, integer(size)), (PAGE_ROW, I64, integer(row))))
            out += (header, page.body)
            raw += len(header) + page.raw_size
            at += size
        metadata = [
            (META_TYPE, I32, integer(leaf.physical)),
            (META_ENCODINGS, LIST, integers(used, I32)),
            (META_PATH, LIST, leaf.path),
            (META_CODEC, I32, integer(self.codec)),
            (META_VALUES, I64, integer(sum(self.entries))),
            (META_UNCOMPRESSED, I64, integer(raw)),
            (META_COMPRESSED, I64, integer(at - start)),
            (META_DATA_PAGE, I64, integer(first)),
        ]
        if self.dictionary is not None:
            metadata.append((META_DICTIONARY_PAGE, I64, integer(start)))
        metadata.append((META_STATISTICS, STRUCT, self._statistics()))
        kinds = [
            struct((PAGES_KIND, I32, integer(a)), (PAGES_ENCODING, I32, integer(b)), (PAGES_COUNT, I32, integer(c)))
            for a, b, c in page_kinds
        ]
        metadata.append((META_PAGE_ENCODINGS, LIST, structs(kinds)))
        if self.sizes is not None:
            metadata.append((META_SIZES, STRUCT, self.sizes))
        column_index = self._column_index()
        # Where indexes are, is known when all pages are in the file.
        chunk = [(CHUNK_FILE_OFFSET, I64, integer(0)), (CHUNK_METADATA, STRUCT, struct(*metadata))]
        chunk += [(CHUNK_OFFSET_INDEX, I64, integer(0)), (CHUNK_OFFSET_INDEX_LENGTH, I32, integer(0))]
        if column_index is not None:
            chunk += [(CHUNK_COLUMN_INDEX, I64, integer(0)), (CHUNK_COLUMN_INDEX_LENGTH, I32, integer(len(column_index)))]
        return struct(*chunk), column_index, struct((PAGES, LIST, structs(locations))), raw, at - start

    def _statistics(self) -> bytes:
        fields = [(STATISTICS_NULLS, I64, integer(sum(self.nulls)))]
        bounds = [bound for bound in self.values.bounds if bound is not None]
        if bounds:
            greatest = self.values.stored(max(bound[1] for bound in bounds))
            least = self.values.stored(min(bound[0] for bound in bounds))
            if max(len(least), len(greatest)) <= _LONGEST_BOUND:
                fields += [(STATISTICS_GREATEST, BINARY, binary(greatest)), (STATISTICS_LEAST, BINARY, binary(least))]
                fields += [(STATISTICS_GREATEST_IS_EXACT, TRUE, b""), (STATISTICS_LEAST_IS_EXACT, TRUE, b"")]
        return struct(*fields)

    def _column_index(self) -> bytes | None:
        """The bounds of each page; None if a page has values but no bounds, or such that are too long."""
        empty = [entries == nulls for entries, nulls in zip(self.entries, self.nulls, strict=True)]
        bounds = [bound for bound in self.values.bounds if bound is not None]
        if len(bounds) + sum(empty) != len(empty):
            return None
        stored = [(b"", b"") if bound is None else tuple(map(self.values.stored, bound)) for bound in self.values.bounds]
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
            (INDEX_NULLS, LIST, integers(self.nulls)),
        )


def _header(kind: int, page: _Page, field: int, numbers: tuple[int, ...]) -> bytes:
    places = (HEADER_VALUES, HEADER_ENCODING, HEADER_DEFINITION, HEADER_REPETITION)
    inner = struct(*((place, I32, integer(number)) for place, number in zip(places, numbers, strict=False)))
    sizes = (HEADER_RAW_SIZE, I32, integer(page.raw_size)), (HEADER_SIZE, I32, integer(len(page.body)))
    return struct((HEADER_KIND, I32, integer(kind)), *sizes, (field, STRUCT, inner))


def _page_rows(rows: int, size: int) -> Ints:
    """The first rows of the pages of a column of so many bytes, and the row behind the last one."""
    most = min(PAGE_ROWS, max(1, _PAGE_BYTES * rows // max(1, size)))
    # Pages of columns that need more of them begin at the rows of others too.
    step = PAGE_ROWS if most == PAGE_ROWS else max(1, PAGE_ROWS >> (-(-PAGE_ROWS // most) - 1).bit_length())
    return np.append(np.arange(0, rows, step), rows)


def _group(chunks: list[_Chunk], rows: int, footer: Footer) -> EncodedGroup:
    pages: list[Octets] = []
    at = len(MAGIC)
    raw = 0
    columns: list[bytes] = []
    indexes: list[tuple[bytes | None, bytes]] = []
    for chunk in chunks:
        column, column_index, offset_index, raw_size, size = chunk.placed(at, pages)
        columns.append(column)
        indexes.append((column_index, offset_index))
        raw += raw_size
        at += size
    about = read_struct(
        struct(
            (GROUP_COLUMNS, LIST, structs(columns)),
            (GROUP_BYTES, I64, integer(raw)),
            (GROUP_ROWS, I64, integer(rows)),
            (GROUP_FILE_OFFSET, I64, integer(len(MAGIC))),
            (GROUP_COMPRESSED, I64, integer(at - len(MAGIC))),
        ),
        0,
    )
    return EncodedGroup.of(pages, footer, about, rows, indexes)


def _described(place: Place) -> _Leaf:
    names = [step.element.name for step in place.chain()]
    kind = place.element.physical_type
    assert kind is not None
    path = list_header(BINARY, len(names)) + b"".join(binary(name.encode("utf-8", "surrogateescape")) for name in names)
    width = place.element.type_length or _WIDTHS.get(kind, 0)
    return _Leaf(".".join(names), path, PHYSICAL.index(kind), width, place.definition, place.repetition)
