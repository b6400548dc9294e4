"""Where the maps of a view are in a file: which columns have the values of a key, or a whole map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from varquet.errors import UnsupportedTypeError
from varquet.layouts.map_entries import stored_type
from varquet.parquet.maps import StoredMap
from varquet.parquet.positions import Position
from varquet.queries.map_access import MapAccess, may_hold
from varquet.queries.opened import OpenedFile

__all__ = ["MapReading", "WholeMap", "key_reading", "whole_reading"]

_HINT: Final = 'spark.read.format("varquet") reads it'


@dataclass(frozen=True, slots=True)
class MapReading:
    """Where the values of a key are in a file."""

    position: Position
    key: str
    kind: pa.DataType
    """The type of the map's values."""
    sidecar: Position | None
    sidecar_kind: pa.DataType | None
    residual: Position | None
    """The map that may have the key; None if it cannot."""


@dataclass(frozen=True, slots=True)
class WholeMap:
    """A map of a file that is put together from its sidecars."""

    position: Position
    kind: pa.DataType
    keys: tuple[str, ...]
    sidecars: tuple[str, ...]
    sidecar_kinds: tuple[pa.DataType, ...]


def key_reading(access: MapAccess, file: OpenedFile) -> MapReading:
    """How the values of a key are read."""
    _check(access.stored, access.column, file)
    if access.whole:
        name = ".".join(access.column)
        raise UnsupportedTypeError(f"expected values of {name!r} that are no maps with hot keys of {file.path!r}, got such", hint=_HINT)
    groups = (file.metadata.row_group(group) for group in range(file.metadata.num_row_groups))
    has_residual = any(may_hold(access, group) for group in groups)
    sidecar = access.sidecar
    return MapReading(
        access.column,
        access.key,
        stored_type(access.kind),
        None if sidecar is None else sidecar.column,
        None if sidecar is None else stored_type(sidecar.typed_type),
        access.residual if has_residual else None,
    )


def whole_reading(name: str, file: OpenedFile) -> WholeMap:
    """How a column is read that is a map with sidecars; an error if there are such maps inside of it."""
    stored, *more = (one for position, one in file.open.maps.items() if position[0] == name)
    if more or len(stored.position) > 1:
        raise UnsupportedTypeError(
            f"expected plain maps inside of column {name!r} of {file.path!r}, got one that has hot keys",
            hint=f"{_HINT}; views read its keys",
        )
    _check(stored, stored.position, file)
    kinds = tuple(stored_type(file.open.physical.field(name).type) for name in stored.sidecars)
    return WholeMap(stored.position, stored.kind, tuple(stored.keys.names), tuple(stored.sidecars), kinds)


def _check(stored: StoredMap | None, position: Position, file: OpenedFile) -> None:
    if stored is not None and stored.form == "shared":
        raise UnsupportedTypeError(
            f"expected maps with sidecars or plain ones at {'.'.join(position)!r} of {file.path!r}, got Paimon's shared layout", hint=_HINT
        )
