"""Columns of maps in files: which have hot keys, how they are written, and how they are found again.

    paimon.map.shredding.<column>.keys    the hot keys of a map at the top, as the proposal to Paimon has it
    varquet.maps                          for each map [position, keys, how many values of each are in the residual all the same]

Inside of structs, lists and maps only `varquet.maps` tells of a map. See `varquet.layouts.map_sidecar` for the columns.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa

from varquet.errors import ParquetError, SchemaError, UnsupportedTypeError, VarquetError
from varquet.layouts.map_entries import is_text, sorted_entries, stored_map, stored_type
from varquet.layouts.map_keys import HotKey, MapKeys, MapKeysLike, keys_key, keys_of, sidecar_name
from varquet.layouts.map_shared import is_shared, join_shared, shared_keys, shared_type
from varquet.layouts.map_sidecar import RESIDUAL, grouped, grouped_type, join, join_grouped, nested_sidecar, sidecar_types, split
from varquet.parquet.positions import (
    Position,
    field_at,
    fields_below,
    find_variants,
    is_variant_field,
    positions_named,
    replace_type,
    replace_values,
)

__all__ = [
    "MAPS_KEY",
    "MapPositionError",
    "Maps",
    "StoredMap",
    "joined_columns",
    "joined_schema",
    "map_position",
    "plan_maps",
    "recorded_maps",
    "sorted_maps",
    "split_columns",
    "split_schema",
    "stored_maps",
]

MAPS_KEY: Final = "varquet.maps"

_MOMENTS: Final = (pa.timestamp("us", "UTC"), pa.timestamp("ms", "UTC"), pa.timestamp("us"))

# By names, or positions; a Mapping of either is no Mapping of both for mypy.
Maps: TypeAlias = Mapping[Any, MapKeysLike]


class MapPositionError(Exception):
    """What is wrong with a map, and where it is; for those who know which rows these are."""

    def __init__(self, position: Position, error: VarquetError) -> None:
        super().__init__(position, error)
        self.position = position
        self.error = error


# What is written


def map_position(name: str | Position, schema: pa.Schema) -> Position:
    """The position of the maps that a user names: a column, a dotted text, or a tuple."""
    for position in positions_named(name):
        field = field_at(schema, position)
        if field is not None:
            if pa.types.is_map(field.type) and is_text(stored_type(field.type.key_type)):
                return position
            raise UnsupportedTypeError(f"expected maps with texts for keys at {'.'.join(position)!r}, got {field.type}")
    raise UnsupportedTypeError(
        f"expected the name of a column of maps, got {name!r}", hint="the columns are " + ", ".join(map(repr, schema.names))
    )


def plan_maps(schema: pa.Schema, maps: Maps) -> dict[Position, MapKeys]:
    """The maps of a schema that are taken apart, those inside of others first; those without hot keys are left as they are."""
    found: dict[Position, MapKeys] = {}
    for name, given in maps.items():
        position, keys = map_position(name, schema), keys_of(given)
        if not len(keys):
            continue
        field = field_at(schema, position)
        assert field is not None
        if find_variants(pa.schema([field.type.item_field])):
            raise UnsupportedTypeError(
                f"expected maps without Variants for hot keys, got {'.'.join(position)!r}", hint="Variants are shredded by schemas"
            )
        if is_text(field.type.item_type):
            for key in keys.keys:
                _check_type(key, position)
        found[position] = keys
    taken = {name.casefold(): name for name in schema.names}
    for (column, *below), keys in found.items():
        for place in range(0 if below else len(keys)):
            name = sidecar_name(column, place)
            if name.casefold() in taken:
                raise UnsupportedTypeError(
                    f"expected {name!r} to be free for a hot key of {column!r}, got a column {taken[name.casefold()]!r}",
                    hint="rename the column",
                )
    return dict(sorted(found.items(), key=lambda item: (-len(item[0]), item[0])))


def _check_type(key: HotKey, position: Position) -> None:
    kind = key.type
    if kind is None or is_text(kind):
        return
    numbers = pa.types.is_boolean(kind) or pa.types.is_int64(kind) or pa.types.is_float64(kind) or pa.types.is_decimal128(kind)
    if not (numbers or pa.types.is_date32(kind) or kind in _MOMENTS):
        raise SchemaError(
            f"expected boolean, bigint, double, decimal, date or a timestamp for key {key.name!r} of {'.'.join(position)!r}, got {kind}"
        )


def split_schema(schema: pa.Schema, maps: Mapping[Position, MapKeys]) -> pa.Schema:
    """The columns as the file has them; sidecars stand behind their map."""
    fields: dict[str, list[pa.Field]] = {field.name: [field] for field in schema}
    for position, keys in maps.items():
        own = fields[position[0]]
        if len(position) == 1:
            kind = own[0].type
            sidecars = enumerate(sidecar_types(kind, keys))
            own[0] = own[0].with_type(stored_map(kind))
            own += [pa.field(sidecar_name(position[0], place), one) for place, one in sidecars]
        else:
            own[0] = replace_type(own[0], position[1:], functools.partial(_group_field, keys=keys))
    return pa.schema([field for own in fields.values() for field in own], schema.metadata)


def _group_field(field: pa.Field, *, keys: MapKeys) -> pa.Field:
    return field.with_type(grouped_type(field.type, keys))


def split_columns(
    columns: Mapping[str, pa.Array], schema: pa.Schema, maps: Mapping[Position, MapKeys]
) -> tuple[dict[str, pa.Array], dict[Position, list[int]]]:
    """Columns as a file has them, which `schema` says, and how many values of hot keys stay in residuals."""
    made, beside = dict(columns), dict[Position, list[int]]()
    for position, keys in maps.items():
        name = position[0]
        try:
            if len(position) == 1:
                parts = split(made[name], keys)
                made[name], beside[position] = parts.residual, parts.beside
                made |= {sidecar_name(name, place): sidecar for place, sidecar in enumerate(parts.sidecars)}
            else:
                counts = beside.setdefault(position, [0] * len(keys))
                change = functools.partial(_grouped, keys=keys, beside=counts)
                made[name] = replace_values(made[name], schema.field(name).type, position[1:], change)
        except VarquetError as error:
            raise MapPositionError(position, error) from None
    return {name: made[name] for name in schema.names}, beside


def _grouped(array: pa.Array, *, keys: MapKeys, beside: list[int]) -> pa.Array:
    parts = split(array, keys)
    for place, count in enumerate(parts.beside):
        beside[place] += count
    return grouped(parts)


def recorded_maps(maps: Mapping[Position, MapKeys], beside: Mapping[Position, Sequence[int]]) -> dict[str, str]:
    """What the footer says of the maps of a file."""
    if not maps:
        return {}
    told = {keys_key(position[0]): keys.text() for position, keys in maps.items() if len(position) == 1}
    each = [[list(position), keys.names, list(beside[position])] for position, keys in maps.items()]
    return {**told, MAPS_KEY: json.dumps(each, ensure_ascii=False)}


# What is read


@dataclass(frozen=True, slots=True)
class StoredMap:
    """A column of maps that is not stored as maps alone."""

    position: Position
    form: Literal["sidecars", "group", "shared"]
    keys: MapKeys
    """The hot keys; none in Paimon's shared layout."""
    kind: pa.DataType
    """The type of the maps."""
    beside: tuple[int | None, ...] = ()
    """For each hot key, how many of its values are in the residual; None where nobody said."""
    numbered: tuple[str | None, ...] = ()
    """The keys by their numbers, in Paimon's shared layout."""

    @property
    def sidecars(self) -> list[str]:
        """The columns of the file that belong to it beside the one that has its name."""
        return [sidecar_name(self.position[0], place) for place in range(len(self.keys))] if self.form == "sidecars" else []

    def joined(self, array: pa.Array, sidecars: Sequence[pa.Array] = ()) -> pa.Array:
        """The maps, of what is stored at the position and its sidecars."""
        if self.form == "sidecars":
            return join(array, sidecars, self.keys)
        return join_grouped(array, self.keys) if self.form == "group" else join_shared(array, self.numbered, self.kind)


def stored_maps(schema: pa.Schema, recorded: Mapping[str, str], planned: Mapping[str, MapKeys]) -> dict[Position, StoredMap]:
    """The maps of a file that are to be put together, outer ones first.

    Args:
        schema: the columns of the file.
        recorded: what its footer says, by key.
        planned: the keys by column, where the footer of a file with sidecars says nothing: they are part of a table's options then.
    """
    told: dict[Position, tuple[list[str], list[int]]] = {
        tuple(position): (names, beside) for position, names, beside in _recorded(recorded.get(MAPS_KEY, "[]"))
    }
    found: dict[Position, StoredMap] = {}
    for field in schema:
        position: Position = (field.name,)
        if is_shared(field):
            found[position] = StoredMap(position, "shared", MapKeys(()), shared_type(field), numbered=shared_keys(field))
            continue
        there = list(_sidecars(schema, field.name)) if pa.types.is_map(field.type) else []
        text = recorded.get(keys_key(field.name))
        keys = planned.get(field.name) if text is None else MapKeys.parse(text)
        # Without sidecars it is a map like others, and sidecars of which nobody says what they are stay columns.
        if keys is None or not there:
            continue
        if len(there) != len(keys):
            raise ParquetError(
                f"expected a sidecar of column {field.name!r} for each of its keys {', '.join(keys.names)}, got {', '.join(there)}"
            )
        counts: Sequence[int | None] = told.get(position, ([], []))[1] or [None] * len(keys)
        found[position] = StoredMap(position, "sidecars", _typed(schema, keys, there, field.type), stored_map(field.type), tuple(counts))
    for position, (names, beside) in told.items():
        if len(position) > 1 and schema.get_field_index(position[0]) >= 0:
            found[position] = _group(schema, position, names, beside)
    return dict(sorted(found.items(), key=lambda item: (len(item[0]), item[0])))


def _recorded(text: str) -> list[Any]:
    try:
        made = json.loads(text)
    except ValueError:
        made = None
    if not isinstance(made, list) or not all(isinstance(one, list) and len(one) == 3 for one in made):
        raise ParquetError(f"expected positions, keys and counts under {MAPS_KEY}, got {text!r}")
    return made


def _sidecars(schema: pa.Schema, column: str) -> Iterator[str]:
    place = 0
    while schema.get_field_index(name := sidecar_name(column, place)) >= 0:
        yield name
        place += 1


def _typed(schema: pa.Schema, keys: MapKeys, there: Sequence[str], kind: pa.DataType) -> MapKeys:
    """The keys with the types of their sidecars, where these are not that of the map."""
    return _with_types(keys.names, [schema.field(name).type for name in there], kind)


def _with_types(names: Sequence[str], kinds: Sequence[pa.DataType], kind: pa.DataType) -> MapKeys:
    item = stored_type(kind.item_type)
    return MapKeys(tuple(HotKey(name, None if stored_type(one) == item else one) for name, one in zip(names, kinds, strict=True)))


def _group(schema: pa.Schema, position: Position, names: Sequence[str], beside: Sequence[int]) -> StoredMap:
    # Where maps are inside of maps, the outer one's values are found in its residual as they are in the whole.
    field = schema.field(position[0])
    for name in position[1:]:
        below = dict(fields_below(field))
        if RESIDUAL in below and name not in below:
            below = dict(fields_below(below[RESIDUAL]))
        if name not in below:
            raise ParquetError(f"expected a map at {'.'.join(position)!r}, got {field.type}")
        field = below[name]
    fields = dict(fields_below(field))
    wanted = [nested_sidecar(place) for place in range(len(names))]
    if list(fields) != [RESIDUAL, *wanted]:
        raise ParquetError(f"expected {', '.join((RESIDUAL, *wanted))} at {'.'.join(position)!r}, got {field.type}")
    kind = stored_map(fields[RESIDUAL].type)
    keys = _with_types(names, [fields[name].type for name in wanted], kind)
    return StoredMap(position, "group", keys, kind, tuple(beside))


def joined_schema(schema: pa.Schema, maps: Mapping[Position, StoredMap]) -> pa.Schema:
    """The columns with all maps put together."""
    gone = {name for one in maps.values() for name in one.sidecars}
    fields = {field.name: field for field in schema if field.name not in gone}
    for position, one in maps.items():
        field = fields[position[0]]
        fields[position[0]] = replace_type(field, position[1:], functools.partial(_map_field, kind=one.kind))
    return pa.schema(list(fields.values()))


def _map_field(field: pa.Field, *, kind: pa.DataType) -> pa.Field:
    return pa.field(field.name, kind, field.nullable)


def joined_columns(columns: Mapping[str, pa.Array], schema: pa.Schema, maps: Mapping[Position, StoredMap]) -> dict[str, pa.Array]:
    """Some of the columns with their maps put together; `schema` is the one that they have then."""
    made = dict(columns)
    for position, one in maps.items():
        if position[0] not in columns:
            continue
        change = functools.partial(one.joined, sidecars=[made.pop(sidecar) for sidecar in one.sidecars])
        try:
            made[position[0]] = replace_values(made[position[0]], schema.field(position[0]).type, position[1:], change)
        except VarquetError as error:
            raise MapPositionError(position, error) from None
    return made


def sorted_maps(array: pa.Array, field: pa.Field) -> pa.Array:
    """A column whose maps with texts for keys have their entries in the order of these, wherever they are in it."""
    kind = array.type
    for position in reversed(_map_positions(field.with_type(kind))):
        array = replace_values(array, kind, position, sorted_entries)
    return array


def _map_positions(field: pa.Field) -> list[Position]:
    """The positions of the maps below a field, outer ones first."""
    found: list[Position] = []
    waiting: list[tuple[Position, pa.Field]] = [((), field)]
    while waiting:
        position, inner = waiting.pop()
        if is_variant_field(inner):
            continue
        if pa.types.is_map(inner.type) and is_text(stored_type(inner.type.key_type)):
            found.append(position)
        waiting += [((*position, name), child) for name, child in fields_below(inner)]
    return sorted(found, key=len)
