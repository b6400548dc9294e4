"""How often each group and column of a Parquet file is there, counted without reading data where the file says so.

A leaf column stores a definition and a repetition level with each entry. How often each level occurs tells everything
about presence, for the leaf and for all groups around it:

    present(group) = entries with a repetition level up to the group's - entries with a definition level below the group's

Writers put these histograms into the footer (SizeStatistics: pyarrow, Spark). Where they are not there (DuckDB, older
writers) the levels of a leaf are counted by reading that leaf. `null_count` is no substitute: pyarrow leaves the nulls of
a group out of it when it writes a required column from a dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from varquet.columns.arrow import list_elements, plain
from varquet.errors import ParquetError
from varquet.parquet.elements import SchemaElement
from varquet.parquet.footer import Footer
from varquet.parquet.thrift import Struct, read_struct

__all__ = ["Chunk", "Levels", "Place", "RowGroup", "leaf_places", "list_element", "places", "read_row_groups"]

_BATCH_ROWS: Final = 65_536
_ROW_GROUPS: Final = 4

Mask = npt.NDArray[np.bool_]


@dataclass(slots=True, eq=False, repr=False)
class Place:
    """One element of a file's schema: where it is, its levels, and which leaf columns lie below it."""

    element: SchemaElement
    parent: Place | None
    definition: int
    repetition: int
    children: list[Place] = field(default_factory=list)
    first_leaf: int = 0
    end_leaf: int = 0

    def child(self, name: str) -> Place | None:
        """The child with this name."""
        return next((place for place in self.children if place.element.name == name), None)

    def chain(self) -> list[Place]:
        """The way from the top-level column to here."""
        way: list[Place] = []
        place: Place | None = self
        while place is not None and place.parent is not None:
            way.append(place)
            place = place.parent
        return way[::-1]

    def scope(self) -> Place | None:
        """The innermost group that repeats around this, or this itself; None where rows are what is counted."""
        return next((place for place in reversed(self.chain()) if place.element.repetition == "REPEATED"), None)


def places(schema: SchemaElement) -> Place:
    """The places of a schema; no recursion, so that depth has no limit."""
    root = Place(schema, None, 0, 0)
    order: list[Place] = []
    waiting = [root]
    leaves = 0
    while waiting:
        place = waiting.pop()
        order.append(place)
        if not place.element.is_group:
            place.first_leaf, place.end_leaf = leaves, leaves + 1
            leaves += 1
        for element in place.element.children:
            levels = {"REQUIRED": (0, 0), "OPTIONAL": (1, 0), "REPEATED": (1, 1)}[element.repetition or "REQUIRED"]
            place.children.append(Place(element, place, place.definition + levels[0], place.repetition + levels[1]))
        waiting += reversed(place.children)
    for place in reversed(order):
        if place.children:
            place.first_leaf, place.end_leaf = place.children[0].first_leaf, place.children[-1].end_leaf
    return root


def leaf_places(root: Place) -> list[Place]:
    """The leaf columns in the order of the schema."""
    found: list[Place] = []
    waiting = [root]
    while waiting:
        place = waiting.pop()
        waiting += reversed(place.children)
        if not place.element.is_group:
            found.append(place)
    return found


def list_element(group: Place) -> Place:
    """The elements of a list: in three levels as the standard has it, or in two, as old writers wrote it."""
    repeated = group.children[0]
    return repeated.children[0] if is_middle(repeated) else repeated


def is_middle(repeated: Place) -> bool:
    """Whether a group that repeats only stands between a list and its elements, so that Arrow has nothing for it."""
    parent = repeated.parent
    if parent is None or "LIST" not in (parent.element.converted_type, parent.element.logical_type and parent.element.logical_type.kind):
        return False
    name = repeated.element.name
    return len(repeated.children) == 1 and name != "array" and name != f"{parent.element.name}_tuple"


@dataclass(frozen=True, slots=True)
class Levels:
    """How many entries of a leaf column have each level."""

    definition: list[int]
    repetition: list[int]

    def present(self, place: Place) -> int:
        """How many instances there are of a place on the way to the leaf."""
        return sum(self.repetition[: place.repetition + 1]) - sum(self.definition[: place.definition])


@dataclass(frozen=True, slots=True)
class Chunk:
    """What the footer says about one leaf column of one row group."""

    entries: int
    compressed_bytes: int
    raw_bytes: int
    null_count: int | None
    least: bytes | None
    greatest: bytes | None
    levels: Levels | None


@dataclass(slots=True)
class RowGroup:
    """One row group: its leaf columns in the order of the schema, and what has been counted in it."""

    number: int
    rows: int
    chunks: list[Chunk]
    leaves: list[Place]
    open: Callable[[], pq.ParquetFile]
    _counted: dict[int, Levels] = field(default_factory=dict)

    def present(self, place: Place) -> int:
        """How many instances there are of a place."""
        if place.parent is None:
            return self.rows
        known = next((leaf for leaf in range(place.first_leaf, place.end_leaf) if self._known(leaf) is not None), None)
        return self._levels(self.cheapest(place) if known is None else known).present(place)

    def cheapest(self, place: Place) -> int:
        """The leaf column at or below a place that costs least to read."""
        return min(range(place.first_leaf, place.end_leaf), key=lambda leaf: self.chunks[leaf].compressed_bytes)

    def non_null(self, place: Place) -> int:
        """How many values a leaf column holds."""
        chunk = self.chunks[place.first_leaf]
        # Where nulls of groups are not counted there are more of them, never fewer.
        if self._known(place.first_leaf) is None and chunk.null_count == chunk.entries:
            return 0
        return self._levels(place.first_leaf).present(place)

    def read(self, leaves: Sequence[int], place: Place) -> Iterator[tuple[pa.Array, Mask]]:
        """What Arrow has of a place when only these leaf columns are read, and where it is there."""
        for batch in self._batches(leaves):
            last = _follow(batch, place.chain())[-1]
            yield last.array, last.there

    def _known(self, leaf: int) -> Levels | None:
        return self.chunks[leaf].levels or self._counted.get(leaf)

    def _levels(self, leaf: int) -> Levels:
        known = self._known(leaf)
        if known is None:
            known = self._counted[leaf] = _count(self._batches([leaf]), self.leaves[leaf])
        return known

    def _batches(self, leaves: Sequence[int]) -> Iterator[pa.RecordBatch]:
        file = self.open()
        # A name with a dot may bring columns that nobody asked for; what is wanted is found in the result by its names.
        paths = [file.schema.column(leaf).path for leaf in leaves]
        return file.iter_batches(_BATCH_ROWS, row_groups=[self.number], columns=paths)  # type: ignore[no-any-return]


class _Step(NamedTuple):
    """A place on the way to a column, in one batch."""

    place: Place
    array: pa.Array
    there: Mask
    ended: int
    """Entries that go no further: nulls and empty lists."""
    added: int
    """Entries of a list but for its first."""


def _follow(batch: pa.RecordBatch, chain: Sequence[Place]) -> list[_Step]:
    """What Arrow has of each place of a way."""
    steps: list[_Step] = []
    array = plain(batch.column(chain[0].element.name))
    there: Mask = np.ones(batch.num_rows, bool)
    # Arrow has nothing for the middle of a list, and one array for a group that repeats and the list it makes.
    reached = True
    for place in chain:
        if not reached:
            array = plain(array.field(place.element.name))
        before, added, reached = int(there.sum()), 0, False
        if place.element.repetition == "REPEATED":
            lengths = np.asarray(pc.fill_null(pc.list_value_length(array), 0))[there]
            filled = int(np.count_nonzero(lengths))
            # What null lists hold is not in files.
            array = plain(list_elements(array))
            ended, added, reached = before - filled, len(array) - filled, is_middle(place)
            there = np.ones(len(array), bool)
        else:
            if place.element.repetition == "OPTIONAL":
                there = there & np.asarray(array.is_valid())
            ended = before - int(there.sum())
            # A list is at once the group and what repeats in it.
            reached = not pa.types.is_struct(array.type)
        steps.append(_Step(place, array, there, ended, added))
    return steps


def _count(batches: Iterator[pa.RecordBatch], leaf: Place) -> Levels:
    levels = Levels([0] * (leaf.definition + 1), [0] * (leaf.repetition + 1))
    chain = leaf.chain()
    for batch in batches:
        levels.repetition[0] += batch.num_rows
        steps = _follow(batch, chain)
        for step in steps:
            if step.place.element.repetition != "REQUIRED":
                levels.definition[step.place.definition - 1] += step.ended
                levels.repetition[step.place.repetition] += step.added
        levels.definition[-1] += int(steps[-1].there.sum())
    return levels


def read_row_groups(footer: Footer, root: Place, open: Callable[[], pq.ParquetFile]) -> Iterator[RowGroup]:
    """The row groups of a file, as its footer describes them; `open` gives the file where it has to be read."""
    leaves = leaf_places(root)
    careless = (footer.created_by or "").startswith("parquet-cpp")
    for number, group in enumerate(read_struct(footer.data, 0).structs(_ROW_GROUPS)):
        chunks = [_chunk(struct, leaf, careless) for struct, leaf in zip(group.structs(1), leaves, strict=False)]
        if len(chunks) != len(leaves):
            raise ParquetError(f"expected {len(leaves)} columns in row group {number}, got {len(chunks)}", offset=group.start)
        yield RowGroup(number, _size(group.integer(3)), chunks, leaves, open)


def _chunk(struct: Struct, leaf: Place, careless: bool) -> Chunk:
    column = struct.struct(3)
    if column is None:
        raise ParquetError("expected the description of a column in the footer, got none", offset=struct.start, hint="is it encrypted?")
    statistics, entries = column.struct(12), _size(column.integer(5))
    nulls = statistics.integer(3) if statistics else None
    bounds: tuple[Any, Any] = (statistics.octets(6), statistics.octets(5)) if statistics else (None, None)
    levels = _histograms(column.struct(16), leaf, entries)
    required = leaf.element.repetition == "REQUIRED"
    if levels is None and leaf.definition == 0:
        levels = Levels([entries], [entries])
    elif levels is None and leaf.definition == 1 and leaf.repetition == 0 and nulls is not None and not (required and careless):
        levels = Levels([nulls, entries - nulls], [entries])
    return Chunk(entries, _size(column.integer(7)), _size(column.integer(6)), nulls, *bounds, levels)


def _histograms(sizes: Struct | None, leaf: Place, entries: int) -> Levels | None:
    """The histograms of a column chunk, if they are there and agree with the schema and the number of entries."""
    if sizes is None:
        return None
    definition = sizes.integers(3) or []
    repetition = sizes.integers(2) or ([entries] if leaf.repetition == 0 else [])
    fits = len(definition) == leaf.definition + 1 and len(repetition) == leaf.repetition + 1
    return Levels(definition, repetition) if fits and sum(definition) == sum(repetition) == entries else None


def _size(number: int | None) -> int:
    if number is None or number < 0:
        raise ParquetError(f"expected a size in the footer, got {number}")
    return number
