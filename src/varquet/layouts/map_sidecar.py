"""Maps whose hot keys are columns of their own, a layout that a proposal to Paimon describes; the map stays a map.

    headers                        map<string, T>    the residual: the entries that no sidecar has
    __paimon_map_shred_headers_0   T                 the values of hot key 0
    __paimon_map_shred_headers_1   T                 the values of hot key 1

    a map                          its residual           the sidecar of the key
    null                           null                   null
    {}                             {}                     null
    without the key                without it             null
    has the key with a null        has it with a null     null
    has the key with a value       without it             the value

A typed sidecar (a varquet extension) holds texts as another type; a text that would not come back exactly as it was stays in the
residual. Inside of structs, lists and maps, of which the proposal does not speak, one group holds all of it:

    struct<residual: map<string, T>, sidecar_0: T, sidecar_1: T, ...>         null for a null map

The order of entries is no part of a map's value. Put together, a map has first the entries of its sidecars, in the order of the keys,
and then those of its residual, as they stand there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from varquet.columns.arrow import Bytes, bitmap, plain, validity_of
from varquet.errors import InvalidMapError, UnsupportedTypeError
from varquet.layouts.map_entries import Entries, check_unique, encoded, entries_of, is_text, map_array, stored_map
from varquet.layouts.map_keys import MapKeys
from varquet.layouts.map_text import texts_of, typed_of

__all__ = ["RESIDUAL", "SplitMap", "grouped", "grouped_type", "join", "join_grouped", "nested_sidecar", "sidecar_types", "split"]

RESIDUAL: Final = "residual"


@dataclass(frozen=True, slots=True)
class SplitMap:
    """A column of maps taken apart."""

    residual: pa.MapArray
    sidecars: list[pa.Array]
    beside: list[int]
    """For each key, how many of its values are in the residual because their sidecar cannot hold them."""


def sidecar_types(kind: pa.DataType, keys: MapKeys) -> list[pa.DataType]:
    """The types of the sidecars of a map."""
    item = stored_map(kind).item_type
    if is_text(item):
        return [item if key.type is None or is_text(key.type) else key.type for key in keys.keys]
    return [item] * len(keys)


def split(array: pa.Array, keys: MapKeys) -> SplitMap:
    """Take the values of hot keys out of maps. A key that is there twice is an error."""
    entries = entries_of(array)
    codes, names = encoded(entries.keys)
    check_unique(entries, codes, names)
    places = pc.fill_null(pc.index_in(names, value_set=pa.array(keys.names, names.type)), -1)
    hot = np.asarray(places).astype(np.int64)[codes]
    moved = (hot >= 0) & (validity_of(entries.items) == 1)
    chosen = np.flatnonzero(moved)
    # Small numbers are sorted by their digits, in one pass.
    chosen = chosen[np.argsort(hot[chosen].astype(np.int16 if len(keys) < 1 << 15 else np.int64), kind="stable")]
    starts = np.searchsorted(hot[chosen], np.arange(len(keys) + 1))
    rows, sidecars, beside = entries.rows, list[pa.Array](), list[int]()
    for number, kind in enumerate(sidecar_types(entries.kind, keys)):
        own = chosen[starts[number] : starts[number + 1]]
        at = np.full(len(entries), -1, np.int64)
        at[rows[own]] = own
        values = entries.items.take(pa.array(at, mask=at < 0))
        if is_text(values.type) and not is_text(kind):
            texts, values = values, typed_of(values, kind)
            left = at[(validity_of(texts) == 1) & (validity_of(values) == 0)]
            moved[left] = False
            beside.append(len(left))
        else:
            beside.append(0)
        sidecars.append(values)
    kept = pa.array(np.flatnonzero(~moved))
    counts = np.bincount(rows[~moved], minlength=len(entries))
    offsets = np.concatenate([[0], np.cumsum(counts)])
    residual = map_array(entries.kind, entries.valid, offsets, entries.keys.take(kept), entries.items.take(kept))
    return SplitMap(residual, sidecars, beside)


def join(residual: pa.Array, sidecars: Sequence[pa.Array], keys: MapKeys) -> pa.MapArray:
    """Put maps together again. A value that would be lost, or a key that would be there twice, is an error."""
    entries = entries_of(residual)
    columns = [_items(sidecar, entries.items.type) for sidecar in sidecars]
    there = [validity_of(column) for column in columns]
    _check_apart(entries.valid, there, keys)
    _check_once(entries, there, keys)
    counts = np.zeros(len(entries), np.int64)
    for valid in there:
        counts += valid
    lengths = entries.lengths
    offsets = np.concatenate([[0], np.cumsum(lengths + counts)])
    source = np.empty(int(offsets[-1]), np.int64)
    named = np.empty(int(offsets[-1]), np.int64)
    begin, count = offsets[:-1].copy(), len(entries.keys)
    for number, valid in enumerate(there):
        rows = np.flatnonzero(valid)
        source[begin[rows]] = count + number * len(entries) + rows
        named[begin[rows]] = count + number
        begin += valid
    own = np.repeat(begin - entries.offsets[:-1], lengths) + np.arange(count)
    source[own] = named[own] = np.arange(count)
    items = pa.concat_arrays([entries.items, *columns]).take(pa.array(source))
    names = pa.concat_arrays([entries.keys, pa.array(keys.names, entries.keys.type)]).take(pa.array(named))
    return map_array(entries.kind, entries.valid, offsets, names, items)


def _items(sidecar: pa.Array, kind: pa.DataType) -> pa.Array:
    """A sidecar as values of the map."""
    if is_text(kind) and not is_text(plain(sidecar).type):
        sidecar = texts_of(sidecar)
    return sidecar if sidecar.type == kind else sidecar.cast(kind)


def _check_apart(valid: Bytes, there: Sequence[Bytes], keys: MapKeys) -> None:
    """An error for a null map that has a value in a sidecar."""
    for key, has in zip(keys.names, there, strict=True):
        lost = np.flatnonzero((valid == 0) & (has == 1))
        if len(lost):
            raise InvalidMapError(f"expected no value of key {key!r} beside a null map, got one", row=int(lost[0]))


def _check_once(entries: Entries, there: Sequence[Bytes], keys: MapKeys) -> None:
    """An error for a key that is both in a sidecar and in the residual."""
    places = pc.index_in(entries.keys, value_set=pa.array(keys.names, entries.keys.type))
    if places.null_count == len(places):
        return
    hot = np.asarray(pc.fill_null(places, -1)).astype(np.int64)
    found = np.flatnonzero(hot >= 0)
    rows = entries.rows[found]
    twice = np.flatnonzero(np.stack(there)[hot[found], rows])
    if len(twice):
        name, row = keys.names[int(hot[found[twice[0]]])], int(rows[twice[0]])
        raise InvalidMapError(f"expected key {name!r} in its sidecar or in the residual, got it in both", row=row)


def nested_sidecar(place: int) -> str:
    """The field that has the values of a hot key where the map is inside of something."""
    return f"sidecar_{place}"


def grouped_type(kind: pa.DataType, keys: MapKeys) -> pa.DataType:
    """The group that a map inside of something becomes."""
    fields = [pa.field(nested_sidecar(place), one) for place, one in enumerate(sidecar_types(kind, keys))]
    return pa.struct([pa.field(RESIDUAL, stored_map(kind)), *fields])


def grouped(made: SplitMap) -> pa.StructArray:
    """A map that was taken apart as one group."""
    children = [made.residual, *made.sidecars]
    names = [RESIDUAL, *map(nested_sidecar, range(len(made.sidecars)))]
    fields = [pa.field(name, child.type) for name, child in zip(names, children, strict=True)]
    validity, nulls = bitmap(validity_of(made.residual))
    return pa.StructArray.from_buffers(pa.struct(fields), len(made.residual), [validity], nulls, children=children)


def join_grouped(array: pa.StructArray, keys: MapKeys) -> pa.MapArray:
    """Put maps together that are groups."""
    if not pa.types.is_struct(array.type) or array.type.get_field_index(RESIDUAL) < 0 or array.type.num_fields != len(keys) + 1:
        raise UnsupportedTypeError(f"expected a group of a residual and {len(keys)} sidecars, got {array.type}")
    # What lies below a null group is nothing, whatever its own bits say.
    children = [pc.struct_field(array, place) for place in range(len(keys) + 1)] if array.null_count else array.flatten()
    return join(children[0], children[1:], keys)
