"""Some pages of a row group, read without the others.

pyarrow reads column chunks whole. But a data page stands for itself, and a file's offset index says where each begins and with
which row; where the pages of all columns begin with the same rows, as writers that end pages by rows make them, some of them are a
row group of their own. So the bytes of these pages, with the dictionaries before them and a footer that says so, are handed to
pyarrow as a small file in memory.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq

from varquet.errors import ParquetError
from varquet.parquet.elements import SchemaElement
from varquet.parquet.footer import MAGIC, Footer, with_tail
from varquet.parquet.footer_fields import (
    CHUNK_METADATA,
    CHUNK_OFFSET_INDEX,
    CHUNK_OFFSET_INDEX_LENGTH,
    GROUP_COLUMNS,
    GROUP_ROWS,
    HEADER_V1,
    HEADER_V2,
    HEADER_VALUES,
    META_CODEC,
    META_COMPRESSED,
    META_DATA_PAGE,
    META_DICTIONARY_PAGE,
    META_VALUES,
    NUM_ROWS,
    PAGE_OFFSET,
    PAGE_ROW,
    PAGE_SIZE,
    PAGES,
    ROW_GROUPS,
)
from varquet.parquet.thrift import I64, LIST, STRUCT, Struct, apply, integer, list_header, read_struct
from varquet.schema.parquet_form import any_depth

__all__ = ["LeafPages", "PageIndex", "Pages", "read_pages"]


@dataclass(frozen=True, slots=True)
class LeafPages:
    """Where the pages of a column chunk are: the first byte of its dictionary, and the byte and size of each data page."""

    dictionary: int | None
    offsets: list[int]
    sizes: list[int]
    is_repeated: bool
    codec: int | None
    size: int | None
    """The bytes of the whole column chunk, as its footer has them."""

    @property
    def is_whole(self) -> bool:
        """Whether these are all pages of the column chunk, one behind the other."""
        start = self.offsets[0] if self.dictionary is None else self.dictionary
        ends = [offset + size for offset, size in zip(self.offsets, self.sizes, strict=True)]
        return ends[:-1] == self.offsets[1:] and ends[-1] - start == self.size

    def joined(self, first_rows: Sequence[int], chosen: Sequence[int]) -> LeafPages:
        """Pages that begin with the chosen ones of their first rows, each with all behind it up to the next of them."""
        if len(chosen) == len(first_rows):
            return self
        begins = [bisect.bisect_left(first_rows, row) for row in chosen]
        ends = [self.offsets[last - 1] + self.sizes[last - 1] for last in (*begins[1:], len(first_rows))]
        offsets = [self.offsets[first] for first in begins]
        sizes = [end - start for start, end in zip(offsets, ends, strict=True)]
        return replace(self, offsets=offsets, sizes=sizes)


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of some columns of a row group, which begin with the same rows in all of them."""

    first_rows: list[int]
    rows: int
    leaves: dict[int, LeafPages]

    def end(self, page: int) -> int:
        """The row behind the last one of a page."""
        return self.first_rows[page + 1] if page + 1 < len(self.first_rows) else self.rows

    def runs(self, most: int) -> Iterator[range]:
        """All pages, as many in a row as have at most so many rows, or one that has more."""
        first = 0
        for page in range(1, len(self.first_rows) + 1):
            if page == len(self.first_rows) or self.end(page) - self.first_rows[first] > most:
                yield range(first, page)
                first = page


class PageIndex:
    """Where the pages of a file's row groups are, looked up column by column and kept."""

    def __init__(self, footer: Footer) -> None:
        self.footer = footer
        self.lock = threading.Lock()
        self.groups: list[Struct] | None = None
        self.chunks: dict[int, list[Struct]] = {}
        self.found: dict[tuple[int, int], tuple[LeafPages, list[int]] | None] = {}

    @functools.cached_property
    def repeated(self) -> list[bool]:
        """For each leaf column whether it is in a list."""
        return _repeated_leaves(self.footer.schema)

    def group(self, group: int) -> tuple[Struct, list[Struct]]:
        """A row group and its column chunks, as the footer has them."""
        if self.groups is None:
            self.groups = list(self.footer.whole.structs(ROW_GROUPS))
        if group not in self.chunks:
            self.chunks[group] = list(self.groups[group].structs(GROUP_COLUMNS))
        return self.groups[group], self.chunks[group]

    def pages(self, source: pa.NativeFile, group: int, leaves: Sequence[int]) -> Pages | None:
        """The pages of some columns of a row group; None if they cannot be read apart."""
        with self.lock:
            row_group, _ = self.group(group)
            rows = row_group.integer(GROUP_ROWS)
            first_rows: list[int] | None = None
            places: dict[int, LeafPages] = {}
            for leaf in leaves:
                if (group, leaf) not in self.found:
                    try:
                        self.found[group, leaf] = self._look(source, group, leaf)
                    except ParquetError:
                        self.found[group, leaf] = None  # an index that cannot be read is none
                found = self.found[group, leaf]
                if found is None or (first_rows is not None and found[1] != first_rows):
                    return None
                places[leaf], first_rows = found
            return None if first_rows is None or rows is None else Pages(first_rows, rows, places)

    def common_pages(self, source: pa.NativeFile, group: int, leaves: Sequence[int]) -> Pages | None:
        """Like `pages`, where pages of some columns begin with more rows: what lies between two rows with which all do is a page here."""
        single = [self.pages(source, group, [leaf]) for leaf in leaves]
        found = [one for one in single if one is not None]
        if not found or len(found) < len(single):
            return None
        common = sorted(set(found[0].first_rows).intersection(*(one.first_rows for one in found[1:])))
        if not common or common[0] != 0:
            return None
        places = {leaf: one.leaves[leaf].joined(one.first_rows, common) for leaf, one in zip(leaves, found, strict=True)}
        return Pages(common, found[0].rows, places)

    def _look(self, source: pa.NativeFile, group: int, leaf: int) -> tuple[LeafPages, list[int]] | None:
        chunk = self.group(group)[1][leaf]
        start, length = chunk.integer(CHUNK_OFFSET_INDEX), chunk.integer(CHUNK_OFFSET_INDEX_LENGTH)
        metadata = chunk.struct(CHUNK_METADATA)
        end = source.size()
        if start is None or length is None or metadata is None or not 0 <= start <= start + length <= end:
            return None
        locations = list(read_struct(source.read_at(length, start), 0).structs(PAGES))
        numbers = [[location.integer(field) for location in locations] for field in (PAGE_OFFSET, PAGE_SIZE, PAGE_ROW)]
        offsets, sizes, begins = ([one for one in column if one is not None] for column in numbers)
        if not locations or not len(offsets) == len(sizes) == len(begins) == len(locations):
            return None
        if any(not 0 <= offset <= offset + size <= end for offset, size in zip(offsets, sizes, strict=True)):
            return None
        if any(one >= next_one for one, next_one in itertools.pairwise(begins)):
            return None
        dictionary = metadata.integer(META_DICTIONARY_PAGE)
        is_before = dictionary is not None and 0 < dictionary < offsets[0]
        codec, size = metadata.integer(META_CODEC), metadata.integer(META_COMPRESSED)
        return LeafPages(dictionary if is_before else None, offsets, sizes, self.repeated[leaf], codec, size), begins


def read_pages(
    source: pa.NativeFile, index: PageIndex, group: int, pages: Pages, chosen: Sequence[int], dictionaries: Sequence[str]
) -> pa.Table:
    """The rows of the chosen pages, of the columns whose pages these are; `dictionaries` as pyarrow's `read_dictionary`."""
    row_group, chunks = index.group(group)
    rows = sum(pages.end(page) - pages.first_rows[page] for page in chosen)
    pieces = [MAGIC]
    size = len(MAGIC)
    columns = [chunk.data[chunk.start : chunk.end] for chunk in chunks]
    for leaf, place in pages.leaves.items():
        octets = _octets(source, place, chosen)
        values = sum(map(_values, octets[1:])) if place.is_repeated else rows
        pieces += octets
        columns[leaf] = _moved(chunks[leaf], size, octets, values, has_dictionary=place.dictionary is not None)
        size += sum(map(len, octets))
    edits = [
        row_group.edit(GROUP_COLUMNS, LIST, list_header(STRUCT, len(columns)) + b"".join(columns)),
        row_group.edit(GROUP_ROWS, I64, integer(rows)),
    ]
    made_group = apply(row_group.data[: row_group.end], edits)[row_group.start :]
    whole = index.footer.whole
    footer = apply(
        whole.data, [whole.edit(NUM_ROWS, I64, integer(rows)), whole.edit(ROW_GROUPS, LIST, list_header(STRUCT, 1) + made_group)]
    )
    made = pa.BufferReader(b"".join((*pieces, with_tail(footer))))
    file = pq.ParquetFile(made, read_dictionary=dictionaries, **any_depth())
    return file.reader.read_row_group(0, column_indices=sorted(pages.leaves), use_threads=False)


def _octets(source: pa.NativeFile, place: LeafPages, pages: Sequence[int]) -> list[bytes]:
    """The bytes of a dictionary, or none, and of each page."""
    dictionary = b"" if place.dictionary is None else source.read_at(place.offsets[0] - place.dictionary, place.dictionary)
    return [dictionary, *(source.read_at(place.sizes[page], place.offsets[page]) for page in pages)]


def _moved(chunk: Struct, start: int, octets: Sequence[bytes], values: int, *, has_dictionary: bool) -> bytes:
    """A column chunk that has these pages only, from `start` on."""
    metadata = chunk.struct(CHUNK_METADATA)
    assert metadata is not None
    edits = [
        metadata.edit(META_VALUES, I64, integer(values)),
        metadata.edit(META_COMPRESSED, I64, integer(sum(map(len, octets)))),
        metadata.edit(META_DATA_PAGE, I64, integer(start + len(octets[0]))),
    ]
    if has_dictionary:
        edits.append(metadata.edit(META_DICTIONARY_PAGE, I64, integer(start)))
    # The edits are within the chunk's bytes, which end somewhere else then.
    made = apply(chunk.data[: chunk.end], edits)
    return made[chunk.start :]


def _values(page: bytes) -> int:
    """How many values a data page has, by its header: nulls among them, and an empty list counts as one."""
    header = read_struct(page, 0)
    inner = header.struct(HEADER_V1) or header.struct(HEADER_V2)
    count = None if inner is None else inner.integer(HEADER_VALUES)
    if count is None:
        raise ParquetError("expected the header of a data page, got something else")
    return count


def _repeated_leaves(root: SchemaElement) -> list[bool]:
    found: list[bool] = []
    waiting: list[tuple[SchemaElement, bool]] = [(root, False)]
    while waiting:
        element, is_repeated = waiting.pop()
        is_repeated = is_repeated or element.repetition == "REPEATED"
        if element.is_group:
            waiting += [(child, is_repeated) for child in reversed(element.children)]
        else:
            found.append(is_repeated)
    return found
