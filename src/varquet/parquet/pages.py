"""Some pages of a row group, read without the others.

pyarrow reads column chunks whole. But a data page stands for itself, and a file's offset index says where each begins and with
which row; where the pages of all columns begin with the same rows, as writers that end pages by rows make them, some of them are a
row group of their own. So the bytes of these pages, with the dictionaries before them and a footer that says so, are handed to
pyarrow as a small file in memory.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from varquet.errors import ParquetError
from varquet.parquet.elements import SchemaElement
from varquet.parquet.footer import Footer
from varquet.parquet.thrift import I64, LIST, STRUCT, Struct, apply, integer, list_header, read_struct
from varquet.schema.parquet_form import any_depth

__all__ = ["PageReader", "Pages"]

_MAGIC: Final = b"PAR1"

# Fields of the structs of a footer.
_NUM_ROWS, _ROW_GROUPS = 3, 4
_GROUP_COLUMNS, _GROUP_ROWS = 1, 3
_CHUNK_METADATA, _CHUNK_OFFSET_INDEX, _CHUNK_OFFSET_INDEX_LENGTH = 3, 4, 5
_META_VALUES, _META_COMPRESSED, _META_DATA_PAGE, _META_DICTIONARY_PAGE = 5, 7, 9, 11
_PAGES, _PAGE_OFFSET, _PAGE_SIZE, _PAGE_ROW = 1, 1, 2, 3
_HEADER_V1, _HEADER_V2, _HEADER_VALUES = 5, 8, 1


@dataclass(frozen=True, slots=True)
class _Leaf:
    """Where the pages of a column chunk are: the first byte of its dictionary, and the byte and size of each data page."""

    dictionary: int | None
    offsets: list[int]
    sizes: list[int]
    is_repeated: bool


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of a row group, which begin with the same rows in all of its columns."""

    first_rows: list[int]
    rows: int

    def end(self, page: int) -> int:
        """The row behind the last one of a page."""
        return self.first_rows[page + 1] if page + 1 < len(self.first_rows) else self.rows


class PageReader:
    """Reads some pages of the row groups of one file."""

    def __init__(self, footer: Footer, source: pa.NativeFile, dictionaries: Sequence[str]) -> None:
        self.footer = footer
        self.source = source
        self.dictionaries = dictionaries
        self.lock = threading.Lock()
        self.found: dict[int, tuple[Pages, Struct, list[Struct], list[_Leaf]] | None] = {}
        self.groups: list[Struct] | None = None
        self.repeated = _repeated_leaves(footer.schema)

    def pages(self, group: int) -> Pages | None:
        """The pages of a row group; None if they cannot be read apart."""
        found = self._locate(group)
        return None if found is None else found[0]

    def read(self, group: int, leaves: Sequence[int], pages: Sequence[int]) -> pa.Table:
        """The rows of some pages of a row group, of some leaf columns."""
        found = self._locate(group)
        assert found is not None
        about, row_group, chunks, places = found
        rows = sum(about.end(page) - about.first_rows[page] for page in pages)
        pieces = [_MAGIC]
        size = len(_MAGIC)
        columns = [chunk.data[chunk.start : chunk.end] for chunk in chunks]
        for leaf in leaves:
            place, chunk = places[leaf], chunks[leaf]
            octets = self._octets(place, pages)
            values = sum(map(_values, octets[1:])) if place.is_repeated else rows
            pieces += octets
            columns[leaf] = _moved(chunk, size, octets, values, has_dictionary=place.dictionary is not None)
            size += sum(map(len, octets))
        group_octets = apply(
            row_group.data,
            [
                row_group.edit(_GROUP_COLUMNS, LIST, list_header(STRUCT, len(columns)) + b"".join(columns)),
                row_group.edit(_GROUP_ROWS, I64, integer(rows)),
            ],
        )[row_group.start :]
        group_octets = group_octets[: read_struct(group_octets, 0).end]
        whole = self.footer.whole
        footer = apply(
            whole.data,
            [whole.edit(_NUM_ROWS, I64, integer(rows)), whole.edit(_ROW_GROUPS, LIST, list_header(STRUCT, 1) + group_octets)],
        )
        made = pa.BufferReader(b"".join((*pieces, footer, len(footer).to_bytes(4, "little"), _MAGIC)))
        file = pq.ParquetFile(made, read_dictionary=self.dictionaries, **any_depth())
        return file.reader.read_row_group(0, column_indices=list(leaves), use_threads=False)

    def _octets(self, place: _Leaf, pages: Sequence[int]) -> list[bytes]:
        """The bytes of a dictionary, or none, and of each page."""
        first = place.offsets[0]
        octets = [b"" if place.dictionary is None else self.source.read_at(first - place.dictionary, place.dictionary)]
        return [*octets, *(self.source.read_at(place.sizes[page], place.offsets[page]) for page in pages)]

    def _locate(self, group: int) -> tuple[Pages, Struct, list[Struct], list[_Leaf]] | None:
        with self.lock:
            if group not in self.found:
                try:
                    self.found[group] = self._look(group)
                except ParquetError:
                    self.found[group] = None  # an index that cannot be read is none
            return self.found[group]

    def _look(self, group: int) -> tuple[Pages, Struct, list[Struct], list[_Leaf]] | None:
        if self.groups is None:
            self.groups = list(self.footer.whole.structs(_ROW_GROUPS))
        row_group = self.groups[group]
        rows = row_group.integer(_GROUP_ROWS)
        chunks = list(row_group.structs(_GROUP_COLUMNS))
        indexes = [(chunk.integer(_CHUNK_OFFSET_INDEX), chunk.integer(_CHUNK_OFFSET_INDEX_LENGTH)) for chunk in chunks]
        if rows is None or any(start is None or length is None for start, length in indexes):
            return None
        low = min(start for start, _ in indexes if start is not None)
        high = max(start + length for start, length in indexes if start is not None and length is not None)
        octets = self.source.read_at(high - low, low)
        first_rows: list[int] | None = None
        places: list[_Leaf] = []
        for number, (chunk, (start, length)) in enumerate(zip(chunks, indexes, strict=True)):
            assert start is not None and length is not None
            locations = list(read_struct(octets[start - low : start - low + length], 0).structs(_PAGES))
            metadata = chunk.struct(_CHUNK_METADATA)
            if metadata is None or not locations:
                return None
            numbers = [[location.integer(field) for location in locations] for field in (_PAGE_OFFSET, _PAGE_SIZE, _PAGE_ROW)]
            offsets, sizes, begins = ([one for one in column if one is not None] for column in numbers)
            if not len(offsets) == len(sizes) == len(begins) == len(locations):
                return None
            if first_rows is not None and begins != first_rows:
                return None
            first_rows = begins
            dictionary = metadata.integer(_META_DICTIONARY_PAGE)
            is_before = dictionary is not None and 0 < dictionary < offsets[0]
            places.append(_Leaf(dictionary if is_before else None, offsets, sizes, self.repeated[number]))
        return None if first_rows is None else (Pages(first_rows, rows), row_group, chunks, places)


def _moved(chunk: Struct, start: int, octets: Sequence[bytes], values: int, *, has_dictionary: bool) -> bytes:
    """A column chunk that has these pages only, from `start` on."""
    metadata = chunk.struct(_CHUNK_METADATA)
    assert metadata is not None
    edits = [
        metadata.edit(_META_VALUES, I64, integer(values)),
        metadata.edit(_META_COMPRESSED, I64, integer(sum(map(len, octets)))),
        metadata.edit(_META_DATA_PAGE, I64, integer(start + len(octets[0]))),
    ]
    if has_dictionary:
        edits.append(metadata.edit(_META_DICTIONARY_PAGE, I64, integer(start)))
    # The edits are within the chunk's bytes, which end somewhere else then.
    made = apply(chunk.data[: chunk.end], edits)
    return made[chunk.start :]


def _values(page: bytes) -> int:
    """How many values a data page has, by its header: nulls among them, and an empty list counts as one."""
    header = read_struct(page, 0)
    inner = header.struct(_HEADER_V1) or header.struct(_HEADER_V2)
    count = None if inner is None else inner.integer(_HEADER_VALUES)
    if count is None:
        raise ParquetError("expected the header of a data page, got something else")
    return count


def _repeated_leaves(root: SchemaElement) -> list[bool]:
    """For each leaf column whether it is in a list."""
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
