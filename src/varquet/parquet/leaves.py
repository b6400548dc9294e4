"""Which leaf columns of a file must be read to put its Variants together, and which of them as dictionaries."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final

import pyarrow.parquet as pq

from varquet.parquet.elements import SchemaElement
from varquet.parquet.levels import Place, places

__all__ = ["VariantLeaves", "has_only_nulls"]

_TEXT: Final = "STRING"
_BINARY: Final = "BYTE_ARRAY"
_LARGEST_DICTIONARY: Final = 1 << 16


class VariantLeaves:
    """The leaf columns of a file some of whose columns are Variants in the layout of the standard."""

    def __init__(self, schema: SchemaElement, metadata: pq.FileMetaData, variants: Collection[Sequence[str]]) -> None:
        """`variants` are the paths of the Variants in the file."""
        self.metadata = metadata
        self.root = places(schema)
        below = [place for path in variants for place in _below(_at(self.root, path))]
        self.residuals = {
            place.first_leaf
            for place in below
            if (place.element.name, place.element.physical_type) == ("value", _BINARY)
            and place.parent is not None
            and place.parent.child("typed_value") is not None
        }
        """Those that may be left out where they are empty, because there is a typed_value beside them."""
        self.texts = {
            place.first_leaf
            for place in below
            if place.element.name == "typed_value" and place.element.logical_type is not None and place.element.logical_type.kind == _TEXT
        }
        """The typed texts."""

    def of_columns(self, names: Collection[str], group: int) -> list[int]:
        """The leaves of top-level columns without the residuals that are empty throughout a row group."""
        about = self.metadata.row_group(group)
        return [
            leaf
            for column in self.root.children
            if column.element.name in names
            for leaf in range(column.first_leaf, column.end_leaf)
            if leaf not in self.residuals or not _is_empty_residual(about.column(leaf))
        ]

    def repeating_texts(self) -> list[str]:
        """The paths, as pyarrow writes them, of the typed texts that are in a dictionary throughout."""
        return [self.metadata.schema.column(leaf).path for leaf in self.repeating]

    @functools.cached_property
    def repeating(self) -> list[int]:
        """The typed texts that are in a dictionary throughout."""
        paths = [self.metadata.schema.column(leaf).path for leaf in range(self.root.end_leaf)]
        # Names with dots can give two columns one path.
        seen = Counter(paths)
        groups = [self.metadata.row_group(group) for group in range(self.metadata.num_row_groups)]
        return [
            leaf
            for leaf in sorted(self.texts)
            if seen[paths[leaf]] == 1 and all(_has_small_dictionary(group.column(leaf)) for group in groups)
        ]


def _at(place: Place, path: Sequence[str]) -> Place:
    for name in path:
        child = place.child(name)
        assert child is not None
        place = child
    return place


def _below(place: Place) -> Iterator[Place]:
    waiting = [place]
    while waiting:
        place = waiting.pop()
        yield place
        waiting += place.children


def has_only_nulls(chunk: pq.ColumnChunkMetaData) -> bool:
    """Whether statistics say so; writers that do not count the nulls of groups around a column count too few, never too many."""
    statistics = chunk.statistics
    return bool(statistics is not None and statistics.has_null_count and statistics.null_count == chunk.num_values)


def _is_empty_residual(chunk: pq.ColumnChunkMetaData) -> bool:
    # In a damaged footer it may have another type than in the schema, and pyarrow aborts when it compares the two.
    return chunk.physical_type == _BINARY and has_only_nulls(chunk)


def _has_small_dictionary(chunk: pq.ColumnChunkMetaData) -> bool:
    """Whether there is a dictionary that pays; writers give one up that has grown large, and write the rest as it is."""
    return bool(chunk.has_dictionary_page and 0 < chunk.data_page_offset - chunk.dictionary_page_offset <= _LARGEST_DICTIONARY)
