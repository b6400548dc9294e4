"""What is where in columns of maps whose hot keys have columns of their own; all of it comes from footers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from varquet.layouts.map_sidecar import RESIDUAL, nested_sidecar
from varquet.parquet.levels import Place, RowGroup
from varquet.parquet.maps import StoredMap
from varquet.parquet.positions import parquet_path
from varquet.parquet.reader import OpenFile

__all__ = ["MAPS", "MapCounts", "map_places"]

MAPS: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("column", "key", "type")),
        *((name, pa.int64()) for name in ("files", "row_groups", "rows", "values", "beside", "compressed_bytes", "raw_bytes")),
    ]
)


@dataclass(frozen=True, slots=True)
class MapPlace:
    """The column of one hot key of a map in a file, or the residual, which has no key."""

    column: str
    key: str | None
    type: str
    place: Place
    beside: int | None


def map_places(opened: OpenFile, root: Place) -> Iterator[MapPlace]:
    """Where the parts of a file's maps are; those of maps inside of maps with hot keys of their own are part of these."""
    for position, stored in opened.maps.items():
        if stored.form == "shared" or any(position[:length] in opened.maps for length in range(1, len(position))):
            continue
        name = ".".join(position)
        yield MapPlace(name, None, f"map<string, {stored.kind.item_type}>", _key(_find(root, _residual(opened, stored))), None)
        for number, key in enumerate(stored.keys.keys):
            kind = stored.kind.item_type if key.type is None else key.type
            yield MapPlace(name, key.name, str(kind), _find(root, _sidecar(opened, stored, number)), stored.beside[number])


def _residual(opened: OpenFile, stored: StoredMap) -> tuple[str, ...]:
    return stored.position if stored.form == "sidecars" else (*parquet_path(opened.physical, stored.position), RESIDUAL)


def _sidecar(opened: OpenFile, stored: StoredMap, number: int) -> tuple[str, ...]:
    if stored.form == "sidecars":
        return (stored.sidecars[number],)
    return (*parquet_path(opened.physical, stored.position), nested_sidecar(number))


def _find(root: Place, path: tuple[str, ...]) -> Place:
    for name in path:
        below = root.child(name)
        assert below is not None
        root = below
    return root


def _key(residual: Place) -> Place:
    """The keys of a map, which are there as often as there are entries."""
    return residual.children[0].children[0]


@dataclass(slots=True)
class MapCounts:
    """The counts of one key over files and row groups."""

    types: dict[str, None] = field(default_factory=dict)
    files: int = 0
    row_groups: int = 0
    rows: int = 0
    values: int = 0
    beside: int | None = 0
    sizes: list[int] = field(default_factory=lambda: [0, 0])

    def meet(self, one: MapPlace) -> None:
        """Take notice of a file that has the key."""
        self.files += 1
        self.types[one.type] = None
        self.beside = None if self.beside is None or (one.beside is None and one.key is not None) else self.beside + (one.beside or 0)

    def add(self, one: MapPlace, group: RowGroup) -> None:
        """Add what is in one row group."""
        self.row_groups += 1
        self.rows += group.rows
        place = one.place
        self.values += group.present(place) if place.element.is_group else group.non_null(place)
        whole = place if one.key is not None or place.parent is None else place.parent
        for leaf in range(whole.first_leaf, whole.end_leaf):
            self.sizes[0] += group.chunks[leaf].compressed_bytes
            self.sizes[1] += group.chunks[leaf].raw_bytes

    def facts(self, column: str, key: str | None) -> dict[str, object]:
        return {
            "column": column, "key": key, "type": " | ".join(self.types), "files": self.files, "row_groups": self.row_groups,
            "rows": self.rows, "values": self.values, "beside": None if key is None else self.beside,
            "compressed_bytes": self.sizes[0], "raw_bytes": self.sizes[1],
        }  # fmt: skip
