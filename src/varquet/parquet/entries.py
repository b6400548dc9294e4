"""Arrow columns as Parquet stores them: entries with levels, and values without nulls.

A leaf column has an entry for each of its values, and for each null and each empty list on the way to it, one. The definition level
of an entry says how far the way goes, the repetition level in which list around it the entry goes on. Leaves of one group share the
levels up to it, and those that have nothing but nulls share all of them.

An array may come in pieces. Those of a leaf are joined when its values are encoded, one leaf after the other: all of them at once
would take fresh memory for a whole row group, which costs more than the copying does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from varquet import kernels
from varquet.columns.arrow import integers_of, list_elements, validity_of

__all__ = ["Entries", "LeafColumn", "PackedLevels", "is_known", "joined", "leaf_columns"]

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MOST_LEVELS = 255


@dataclass(frozen=True, slots=True)
class PackedLevels:
    """The levels of a column chunk as its pages have them, and how often there is each."""

    pages: list[memoryview]
    counts: list[int]


def _packed(levels: Bytes, firsts: Ints, most: int) -> PackedLevels:
    pages = len(firsts) - 1
    out = np.empty(len(levels) + len(levels) // 504 + 16 * pages + 16, np.uint8)
    ends = np.empty(pages, np.int64)
    counts = np.zeros(MOST_LEVELS + 1, np.int64)
    kernels.encode.pack_levels(levels, firsts, most.bit_length(), out, ends, counts)
    view = out.data
    stops = [0, *ends.tolist()]
    return PackedLevels([view[a:b] for a, b in itertools.pairwise(stops)], counts[: most + 1].tolist())


def _kept(packed: dict[tuple[int, int], PackedLevels], levels: Bytes, firsts: Ints, most: int) -> PackedLevels:
    """Levels that are packed once for all leaves that have them. Leaves with as many pages have the same ones."""
    key = (most, len(firsts))
    if key not in packed:
        packed[key] = _packed(levels, firsts, most)
    return packed[key]


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of all leaf columns below a place, as far as they are known up to it."""

    definition: Bytes
    level: int
    """The definition level of an entry that goes on below this place."""
    repetition: Bytes | None = None
    """None where nothing repeats on the way: an entry is a row then."""
    repetitions: int = 0
    holders: Mask | None = None
    """The entries for which the arrays here have a value; None for all."""
    rows: Ints | None = None
    """Where the entries of each row begin; None where an entry is a row."""
    packed: dict[tuple[int, int], PackedLevels] = field(default_factory=dict)
    packed_repetition: dict[tuple[int, int], PackedLevels] = field(default_factory=dict)
    """Levels by the highest one and the number of pages; those of repetition are the same for all leaves of a list."""

    def __len__(self) -> int:
        return len(self.definition)

    def here(self) -> Mask:
        """The entries that go on below this place."""
        return np.equal(self.definition, self.level)

    def nullable(self, pieces: Sequence[pa.Array]) -> Entries:
        """The entries below a place that is optional, of which these are the pieces of its array."""
        here = self.here()
        if any(piece.null_count for piece in pieces):
            valid = np.concatenate([validity_of(piece) for piece in pieces]).view(np.bool_)
            here = here & self._spread(valid, False)
        return replace(self, definition=self.definition + here.view(np.uint8), level=self.level + 1, packed={})

    def nulls(self) -> Entries:
        """The entries below a place that is optional and null throughout."""
        return replace(self, level=self.level + 1)

    def repeated(self, offsets: Ints) -> tuple[Entries, Ints | None]:
        """The entries of the elements of lists, and which elements these are if not all between the first and the last offset."""
        here = self.here()
        lengths = np.where(here, self._spread(np.diff(offsets), 0), 0)
        counts = np.maximum(lengths, 1)
        ends = np.cumsum(counts)
        starts = ends - counts
        definition = np.repeat(self.definition + (lengths > 0).view(np.uint8), counts)
        repetition = np.full(len(definition), self.repetitions + 1, np.uint8)
        repetition[starts] = 0 if self.repetition is None else self.repetition
        rows = starts if self.rows is None else starts[self.rows]
        holders = definition == self.level + 1
        chosen = None
        if int(lengths.sum()) != int(offsets[-1] - offsets[0]):
            begins = self._spread(offsets[:-1], 0) - starts
            chosen = (np.repeat(begins, counts) + np.arange(len(definition)))[holders]
        return Entries(definition, self.level + 1, repetition, self.repetitions + 1, holders, rows), chosen

    def _spread(self, values: npt.NDArray[Any], other: int | bool) -> npt.NDArray[Any]:
        """The values of the arrays here for all entries."""
        if self.holders is None:
            return values
        spread = np.full(len(self), other, values.dtype)
        spread[self.holders] = values
        return spread

    def firsts(self, rows: Ints) -> Ints:
        """The entries with which these rows begin; the row behind the last one included."""
        return rows if self.rows is None else np.append(self.rows, len(self))[rows]

    def definition_levels(self, firsts: Ints) -> PackedLevels:
        """The definition levels in pages that begin with these entries."""
        return _kept(self.packed, self.definition, firsts, self.level)

    def repetition_levels(self, firsts: Ints) -> PackedLevels:
        """The repetition levels in pages that begin with these entries."""
        assert self.repetition is not None
        return _kept(self.packed_repetition, self.repetition, firsts, self.repetitions)


@dataclass(frozen=True, slots=True)
class LeafColumn:
    """A leaf column: its entries, and its values as the pieces of the array have them, with nulls and what is below nulls."""

    entries: Entries
    pieces: Sequence[pa.Array]
    is_empty: bool
    """Whether there is nothing but nulls; then its pieces are not there."""

    @property
    def nbytes(self) -> int:
        """The bytes of its values, at most."""
        return sum(piece.nbytes for piece in self.pieces)


def joined(pieces: Sequence[pa.Array]) -> pa.Array:
    """One array of several."""
    return pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)


def is_known(kind: pa.DataType, is_known_leaf: Callable[[pa.DataType], bool]) -> bool:
    """Whether a type is made of structs, lists, maps and leaves that are known, nested no deeper than levels can say."""
    waiting = [(kind, 1)]
    while waiting:
        kind, levels = waiting.pop()
        if levels > MOST_LEVELS:
            return False
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        if pa.types.is_struct(kind):
            if kind.num_fields == 0:
                return False
            waiting += [(kind.field(k).type, levels + 1) for k in range(kind.num_fields)]
        elif pa.types.is_map(kind):
            waiting += [(kind.key_type, levels + 2), (kind.item_type, levels + 2)]
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
            waiting.append((kind.value_type, levels + 2))
        elif (pa.types.is_nested(kind) and not pa.types.is_dictionary(kind)) or not is_known_leaf(kind):
            return False
    return True


def leaf_columns(column: pa.ChunkedArray, nullable: bool) -> Iterator[LeafColumn]:
    """The leaf columns of a column of a known type in the order of the schema."""
    pieces: Sequence[pa.Array] = column.chunks or [pa.nulls(0, column.type)]
    waiting = [(pieces, nullable, Entries(np.zeros(len(column), np.uint8), 0))]
    while waiting:
        pieces, nullable, entries = waiting.pop()
        if isinstance(pieces[0], pa.ExtensionArray):
            pieces = [piece.storage for piece in pieces]
        kind = pieces[0].type
        if pa.types.is_dictionary(kind) and any(piece.dictionary.null_count for piece in pieces):
            pieces, kind = [piece.dictionary_decode() for piece in pieces], kind.value_type
        is_empty = False
        if nullable:
            is_empty = not pa.types.is_nested(kind) and all(piece.null_count == len(piece) for piece in pieces)
            entries = entries.nulls() if is_empty else entries.nullable(pieces)
        if pa.types.is_struct(kind):
            for k in reversed(range(kind.num_fields)):
                waiting.append(([piece.field(k) for piece in pieces], kind.field(k).nullable, entries))
        elif pa.types.is_map(kind):
            array = joined(pieces)
            below, chosen = entries.repeated(integers_of(array.offsets).astype(np.int64))
            pairs = _reached(array, chosen)
            waiting += [([pairs.field(1)], kind.item_field.nullable, below), ([pairs.field(0)], False, below)]
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
            array = joined(pieces)
            below, chosen = entries.repeated(integers_of(array.offsets).astype(np.int64))
            waiting.append(([_reached(array, chosen)], kind.value_field.nullable, below))
        else:
            yield LeafColumn(entries, [pieces[0].slice(0, 0)] if is_empty else pieces, is_empty)


def _reached(lists: pa.Array, chosen: Ints | None) -> pa.Array:
    return list_elements(lists) if chosen is None else lists.values.take(pa.array(chosen))
