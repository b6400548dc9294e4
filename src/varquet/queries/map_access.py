"""How the value of a key of a map is had from the columns of a file: `headers['content-type']`.

A hot key has a sidecar. The residual is looked at only where it can hold the key: in files whose writer says so, or says nothing, and
in row groups whose statistics do not rule it out. What is not hot is in the residual, or in the map where there are no sidecars.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from varquet.columns.arrow import plain
from varquet.layouts.casts import cast_typed, cast_value
from varquet.layouts.map_entries import is_text, lookup
from varquet.layouts.map_sidecar import RESIDUAL, nested_sidecar
from varquet.layouts.map_text import texts_of
from varquet.parquet.maps import StoredMap
from varquet.parquet.positions import Position
from varquet.queries.access import Access, Need, down
from varquet.queries.outcomes import ANYTHING, Bounds
from varquet.queries.statistics import NOTHING_THERE, BloomFilter, bounds_of, holds_nothing

__all__ = ["MapAccess", "is_direct", "map_access", "map_bounds", "map_need", "may_hold", "read_map"]


@dataclass(frozen=True, slots=True)
class MapAccess:
    """Where the values of a key are in one file."""

    column: Position
    """The names that lead to the maps."""
    key: str
    kind: pa.DataType
    """The type of the map's values."""
    stored: StoredMap | None = None
    """How the maps are stored, where they are not plain ones."""
    sidecar: Access | None = None
    """The column of the key, where it has one."""
    residual: Position = ()
    residual_leaves: range = field(default=range(0))
    """The leaves of the maps without hot keys, keys first; of other layouts than ours all leaves."""
    is_complete: bool = False
    """Whether it is certain that the sidecar has all values of the key."""
    whole: frozenset[int] = frozenset()
    """All leaves of the column, where it has to be put together first: its values are maps with hot keys themselves."""


def map_access(
    position: Position, kind: pa.DataType, key: str, stored: StoredMap | None, leaves_at: Callable[[Position], range]
) -> MapAccess:
    """The way to the values of a key of the maps at a position, whose type is `kind`; `leaves_at` gives the leaves of a column."""
    if stored is None or stored.form == "shared":
        return MapAccess(position, key, kind.item_type, stored, None, position, leaves_at(position))
    residual = position if stored.form == "sidecars" else (*position, RESIDUAL)
    place = stored.keys.names.index(key) if key in stored.keys.names else None
    if place is None:
        return MapAccess(position, key, kind.item_type, stored, None, residual, leaves_at(residual))
    name: Position = (stored.sidecars[place],) if stored.form == "sidecars" else (*position, nested_sidecar(place))
    sidecar = Access(name, typed=leaves_at(name), typed_type=stored.keys.keys[place].type or kind.item_type)
    return MapAccess(position, key, kind.item_type, stored, sidecar, residual, leaves_at(residual), stored.beside[place] == 0)


def may_hold(access: MapAccess, group: pq.RowGroupMetaData, bloom: BloomFilter | None = None) -> bool:
    """Whether the residual of a row group may have values of the key."""
    if access.is_complete:
        return False
    if access.whole:
        return True
    if access.stored is not None and access.stored.form == "shared":
        return True
    leaf = access.residual_leaves[0]
    # An empty map leaves a null in the column of keys.
    if holds_nothing(group, leaf):
        return False
    key = access.key.encode("utf-8", "surrogatepass")
    statistics = group.column(leaf).statistics
    if statistics is not None and statistics.has_min_max and not _bytes(statistics.min_raw) <= key <= _bytes(statistics.max_raw):
        return False
    holds = None if bloom is None else bloom(leaf)
    return holds is None or holds(key)


def _bytes(bound: Any) -> bytes:
    return bound.encode() if isinstance(bound, str) else bytes(bound)


def map_need(access: MapAccess, group: pq.RowGroupMetaData) -> Need:
    """What is read of a row group."""
    if access.whole:
        return Need(access.whole, True, False)
    reads_residual = may_hold(access, group)
    sidecar = range(0) if access.sidecar is None else access.sidecar.typed
    reads_sidecar = len(sidecar) > 1 or (len(sidecar) == 1 and not holds_nothing(group, sidecar[0]))
    leaves = {*(sidecar if reads_sidecar else ()), *(access.residual_leaves if reads_residual else ())}
    return Need(frozenset(leaves), reads_residual, reads_sidecar)


def read_map(access: MapAccess, target: pa.DataType | None, need: Need, columns: Mapping[str, pa.Array], rows: int) -> pa.Array:
    """The value of the key in every row, as a type or as the map has it, from the columns that were read."""
    wanted = access.kind if target is None else target
    sidecar: pa.Array | None = None
    if need.reads_typed and access.sidecar is not None:
        sidecar = down(columns[access.sidecar.column[0]], access.sidecar.column[1:])
        if not need.reads_residual and is_direct(sidecar.type, wanted):
            return cast_typed(plain(sidecar), wanted) if sidecar.type != wanted else sidecar
        sidecar = _as_value(sidecar, access.kind)
    if not need.reads_residual:
        return pa.nulls(rows, wanted) if sidecar is None else cast_value(sidecar, target)
    maps = down(columns[access.residual[0]], access.residual[1:])
    if access.stored is not None and access.stored.form == "shared":
        maps = access.stored.joined(maps)
    found = lookup(maps, access.key)
    if found.type != access.kind:
        found = found.cast(access.kind)
    return cast_value(found if sidecar is None else pc.if_else(pc.is_valid(sidecar), sidecar, found), target)


def _as_value(sidecar: pa.Array, kind: pa.DataType) -> pa.Array:
    made = texts_of(sidecar) if is_text(kind) and not is_text(plain(sidecar).type) else sidecar
    return made if made.type == kind else made.cast(kind)


def is_direct(kind: pa.DataType, target: pa.DataType) -> bool:
    """Whether a typed sidecar as another type is what the text that it stands for would be as that type."""
    if kind == target or (pa.types.is_int64(kind) and pa.types.is_float64(target)):
        return True
    return bool(pa.types.is_timestamp(kind) and pa.types.is_timestamp(target) and kind.tz == target.tz and target.unit == "us")


def map_bounds(access: MapAccess, target: pa.DataType | None, group: pq.RowGroupMetaData, bloom: BloomFilter | None = None) -> Bounds:
    """What is known of the values of the key, as a type, in a row group."""
    if may_hold(access, group, bloom):
        return ANYTHING
    if access.sidecar is None:
        return NOTHING_THERE
    wanted = access.kind if target is None else target
    kind = access.sidecar.typed_type
    if is_text(access.kind) and not is_text(kind) and not is_direct(kind, wanted):
        return NOTHING_THERE if all(holds_nothing(group, leaf) for leaf in access.sidecar.typed) else ANYTHING
    return bounds_of(access.sidecar, wanted, group, bloom)
