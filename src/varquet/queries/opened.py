"""One file of a dataset, open: where its Variants are, what its statistics say, and readers for its row groups and pages."""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from varquet.errors import UnsupportedTypeError
from varquet.layouts.map_keys import key_of
from varquet.parquet.dense import Dense, DenseLeaves
from varquet.parquet.pages import read_pages
from varquet.parquet.plans import PinnedSchemas
from varquet.parquet.positions import Position, field_at, positions_named
from varquet.parquet.reader import OpenFile
from varquet.paths import Path
from varquet.queries.access import Access, Leaves, column_access, variant_access
from varquet.queries.binding import only_variant
from varquet.queries.bloom import read_bloom_filter
from varquet.queries.dataset import FoundFile, partition_value
from varquet.queries.expressions import Operand
from varquet.queries.map_access import MapAccess, map_access, map_bounds
from varquet.queries.outcomes import Bounds
from varquet.queries.statistics import NOTHING_THERE, bounds_of, bounds_of_constant

__all__ = ["OpenedFile"]

_FEW_COLUMNS: Final = 8
# Pages are read apart if they are no more than this share of all, of columns of so many compressed bytes.
_SHARE_OF_PAGES: Final = 0.6
_WORTH_PAGES: Final = 1 << 18


class OpenedFile:
    """An open file."""

    def __init__(self, found: FoundFile, plan: PinnedSchemas | None, partitions: Mapping[str, pa.DataType]) -> None:
        self.open = OpenFile(found.file, None, plan)
        self.path = found.file.path
        self.leaves = self.open.kept.once(Leaves, lambda: Leaves(self.open.footer.schema))
        self.metadata = self.open.metadata
        self.readers: queue.SimpleQueue[Callable[[], pq.ParquetFile]] = queue.SimpleQueue()
        self.readers.put(lambda: self.open.file)
        self.dense_leaves = self.open.kept.once(DenseLeaves, lambda: DenseLeaves(self.open.footer, self.metadata))
        self.index = self.open.kept.pages
        self.accesses: dict[tuple[Any, ...], Access | MapAccess | None] = {}
        self.blooms: dict[tuple[int, int], Callable[[Any], bool] | None] = {}
        self.partitions = {
            name: partition_value(found.partitions.get(name), kind)
            for name, kind in partitions.items()
            if self.open.joined.get_field_index(name) < 0
        }
        self.deleted = None if found.deleted is None else found.deleted.positions()

    @property
    def source(self) -> pa.NativeFile:
        """The file itself, for pages and Bloom filters."""
        return self.open.handle

    def position(self, name: str | None) -> Position | None:
        """The column of Variants or maps that a path means; None if this file has not got it."""
        if name is None:
            return only_variant(list(self.open.variants), self.path)
        for position in positions_named(name):
            if position in self.open.variants:
                return position
            if (found := field_at(self.open.joined, position)) is not None:
                if pa.types.is_map(found.type):
                    return position
                raise UnsupportedTypeError(f"expected Variants or maps at {'.'.join(position)!r} of {self.path!r}, got {found.type}")
        return None

    def access(self, operand: Operand, default: str | None) -> Access | MapAccess | None:
        """How an operand is read; None if there is no such column here."""
        key = (operand.path, operand.column)
        if key not in self.accesses:
            self.accesses[key] = self._access(operand, default)
        return self.accesses[key]

    def _access(self, operand: Operand, default: str | None) -> Access | MapAccess | None:
        if operand.path is None:
            position: Position | None = (operand.column or "",)
            assert position is not None
            field = field_at(self.open.joined, position)
            if field is None:
                return None
            sidecars = [self._element((name,)) for name in self.open.columns_of(position[0])[1:]]
            return column_access(position, field, self._element(position), self.leaves, sidecars)
        position = self.position(operand.column or default)
        if position is None:
            return None
        if position not in self.open.variants:
            return self._map_access(position, operand.path)
        field = field_at(self.open.physical, position)
        assert field is not None
        layout = self.open.layouts.get(position, "parquet")
        return variant_access(position, field, self._element(position), self.leaves, operand.path, layout)

    def _map_access(self, position: Position, path: Path) -> MapAccess:
        name, above = ".".join(position), (field_at(self.open.joined, position[:length]) for length in range(1, len(position)))
        if not all(field is not None and pa.types.is_struct(field.type) for field in above):
            raise UnsupportedTypeError(f"expected one map per row, got {name!r} of {self.path!r}, which is in a list or map")
        field = field_at(self.open.joined, position)
        assert field is not None
        stored = self.open.maps.get(position)
        if any(len(other) > len(position) and other[: len(position)] == position for other in self.open.maps):
            names = [(one,) for one in self.open.columns_of(position[0])]
            whole = frozenset(leaf for one in names for leaf in self.leaves.of(self._element(one)))
            return MapAccess(position, key_of(path, name), field.type.item_type, stored, whole=whole)
        return map_access(position, field.type, key_of(path, name), stored, lambda at: self.leaves.of(self._element(at)))

    def _element(self, position: Position) -> Any:
        element = self.leaves.root
        for name in self.open.paths.get(position, position):
            element = next(child for child in element.children if child.name == name)
        return element

    def bounds(self, operand: Operand, default: str | None, group: int, *, use_bloom: bool = True) -> Bounds:
        """What is known of an operand's values in a row group."""
        if operand.path is None and operand.column in self.partitions:
            return bounds_of_constant(self.partitions[operand.column])
        access = self.access(operand, default)
        if access is None:
            return NOTHING_THERE
        bloom = (lambda leaf: self.bloom(group, leaf)) if use_bloom else None
        if isinstance(access, MapAccess):
            return map_bounds(access, operand.type, self.metadata.row_group(group), bloom)
        return bounds_of(access, operand.type, self.metadata.row_group(group), bloom)

    def alive(self, group: int) -> pa.Array | None:
        """Which rows of a row group are not deleted; None if none is."""
        if self.deleted is None:
            return None
        first = sum(self.metadata.row_group(k).num_rows for k in range(group))
        rows = self.metadata.row_group(group).num_rows
        begin, end = np.searchsorted(self.deleted, (first, first + rows))
        if begin == end:
            return None
        kept = np.ones(rows, bool)
        kept[self.deleted[begin:end] - first] = False
        return pa.array(kept)

    def bloom(self, group: int, leaf: int) -> Callable[[Any], bool] | None:
        chunk = self.metadata.row_group(group).column(leaf)
        if chunk.bloom_filter_offset is None:
            return None
        if (group, leaf) not in self.blooms:
            self.blooms[group, leaf] = read_bloom_filter(self.source.read_at, chunk.bloom_filter_offset)
        return self.blooms[group, leaf]

    def read(self, group: int, leaves: frozenset[int]) -> dict[str, pa.Array]:
        """The top-level columns that have these leaves, with nothing else in them."""
        if not leaves:
            return {}
        try:
            reader = self.readers.get_nowait()()
        except queue.Empty:
            reader = self.open.parquet_file()
        try:
            # Many columns of one row group are worth several threads, even beside those that read other row groups.
            table = reader.reader.read_row_group(group, column_indices=sorted(leaves), use_threads=len(leaves) > _FEW_COLUMNS)
        except pa.ArrowNotImplementedError:
            plain = self.open.parquet_file(is_plain=True)
            table = plain.reader.read_row_group(group, column_indices=sorted(leaves), use_threads=False)
        self.readers.put(lambda: reader)
        return {name: _one_chunk(column) for name, column in zip(table.column_names, table.columns, strict=True)}

    def may_be_dense(self, leaf: int) -> bool:
        """Whether nothing is known against reading a leaf column without its nulls."""
        return self.open.source.filesystem is None and self.dense_leaves.leaves.get(leaf, leaf) is not None

    def dense(self, groups: Sequence[int], leaf: int, kind: pa.DataType) -> Dense | None:
        """A leaf column without its nulls, as this type, of row groups one behind the other; None if it must be read by `read`."""
        # From an object store pyarrow reads all columns of a row group at once, which is worth more.
        return self.dense_leaves.read(self.source, groups, leaf, kind) if self.open.source.filesystem is None else None

    def read_rows(self, group: int, leaves: frozenset[int], rows: npt.NDArray[np.int64]) -> dict[str, pa.Array]:
        """Like `read`, of some rows only, in their order: from the pages that have them, if these can be read apart."""
        sizes = sum(self.metadata.row_group(group).column(leaf).total_compressed_size for leaf in leaves)
        pages = self.index.pages(self.source, group, sorted(leaves)) if sizes >= _WORTH_PAGES else None
        if pages is not None:
            begins = np.array(pages.first_rows, np.int64)
            page_of = np.searchsorted(begins, rows, side="right") - 1
            chosen = np.unique(page_of)
            if len(chosen) <= _SHARE_OF_PAGES * len(begins):
                table = read_pages(self.source, self.index, group, pages, chosen.tolist(), self.open.dictionaries)
                ends = np.append(begins[1:], pages.rows)
                starts = np.concatenate([[0], np.cumsum(ends[chosen] - begins[chosen])[:-1]])
                rows = rows - begins[page_of] + starts[np.searchsorted(chosen, page_of)]
                read = {name: _one_chunk(column) for name, column in zip(table.column_names, table.columns, strict=True)}
                return {name: column.take(pa.array(rows)) for name, column in read.items()}
        return {name: column.take(pa.array(rows)) for name, column in self.read(group, leaves).items()}


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    made = column.combine_chunks()
    return made.chunk(0) if isinstance(made, pa.ChunkedArray) else made
