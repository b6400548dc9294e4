"""The entries of maps as flat columns: found, looked up, put in order. Nothing here looks at one row after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from varquet.columns.arrow import Bytes, Ints, bitmap, integers_of, plain, validity_of
from varquet.errors import InvalidMapError, UnsupportedTypeError

__all__ = ["Entries", "check_unique", "encoded", "entries_of", "is_text", "lookup", "map_array", "sorted_entries", "stored_map"]


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of maps, one behind the other: those of row k are from offsets[k] on; null maps have none."""

    kind: pa.DataType
    valid: Bytes
    offsets: Ints
    keys: pa.Array
    items: pa.Array

    def __len__(self) -> int:
        return len(self.valid)

    @property
    def lengths(self) -> Ints:
        return np.diff(self.offsets)

    @property
    def rows(self) -> Ints:
        """The row of each entry."""
        return np.repeat(np.arange(len(self.valid), dtype=np.int64), self.lengths)


def is_text(kind: pa.DataType) -> bool:
    """Whether values of a type are texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def stored_type(kind: pa.DataType) -> pa.DataType:
    """The type that values of a map have once they were taken out of it: without dictionaries, run ends and views."""
    views = (pa.types.is_dictionary, pa.types.is_run_end_encoded, pa.types.is_string_view, pa.types.is_binary_view)
    return plain(pa.nulls(0, kind)).type if any(is_one(kind) for is_one in views) else kind


def stored_map(kind: pa.DataType) -> pa.DataType:
    """The type of maps that were taken apart."""
    return pa.map_(kind.key_field.with_type(stored_type(kind.key_type)), kind.item_field.with_type(stored_type(kind.item_type)))


def entries_of(array: pa.Array) -> Entries:
    """The entries of a column of maps with text keys, sliced or not."""
    array = plain(array)
    kind = array.type
    if not pa.types.is_map(kind) or not is_text(plain(pa.nulls(0, kind.key_type)).type):
        raise UnsupportedTypeError(f"expected maps with texts for keys, got {kind}")
    valid = validity_of(array)
    offsets = integers_of(array.offsets).astype(np.int64) if len(array) else np.zeros(1, np.int64)
    first, count = int(offsets[0]), int(offsets[-1] - offsets[0])
    keys, items = plain(array.keys.slice(first, count)), array.items.slice(first, count)
    if stored_type(items.type) != items.type:
        items = plain(items)
    lengths = np.diff(offsets)
    if (lengths[valid == 0] > 0).any():
        is_there = pa.array(np.repeat(valid, lengths) == 1)
        keys, items, lengths = keys.filter(is_there), items.filter(is_there), np.where(valid == 1, lengths, 0)
    if keys.null_count:
        row = int(np.repeat(np.arange(len(valid)), lengths)[np.flatnonzero(validity_of(keys) == 0)[0]])
        raise InvalidMapError("expected keys that are not null, got a null", row=row)
    return Entries(kind, valid, np.concatenate([[0], np.cumsum(lengths)]), keys, items)


def map_array(kind: pa.DataType, valid: Bytes, offsets: Ints, keys: pa.Array, items: pa.Array) -> pa.MapArray:
    """Maps of these entries; keys and items say which types they have, `kind` all else."""
    fields = [kind.key_field.with_type(keys.type), kind.item_field.with_type(items.type)]
    entries = pa.StructArray.from_buffers(pa.struct(fields), len(keys), [None], 0, children=[keys, items])
    if offsets[-1] > np.iinfo(np.int32).max:
        raise UnsupportedTypeError(f"expected at most {np.iinfo(np.int32).max} entries at once, got {offsets[-1]}", hint="take fewer rows")
    validity, nulls = bitmap(valid)
    places = pa.py_buffer(offsets.astype(np.int32))
    return pa.MapArray.from_buffers(pa.map_(*fields), len(valid), [validity, places], nulls, children=[entries])


def encoded(keys: pa.Array) -> tuple[Ints, pa.Array]:
    """Keys as numbers of the different ones, and those."""
    made = keys.dictionary_encode()
    return integers_of(made.indices).astype(np.int64), made.dictionary


def check_unique(entries: Entries, codes: Ints, names: pa.Array) -> None:
    """An error for a map that has a key twice."""
    numbers = np.sort(entries.rows * max(1, len(names)) + codes)
    again = np.flatnonzero(numbers[1:] == numbers[:-1])
    if len(again):
        row, code = divmod(int(numbers[again[0]]), len(names))
        raise InvalidMapError(
            f"expected each key once in a map, got {names[code].as_py()!r} twice", row=row, hint="a map has one value for a key"
        )


def lookup(array: pa.Array, key: str) -> pa.Array:
    """The value that every map has for a key, and null where it has none; of a key that is there twice the first, as in Spark."""
    entries = entries_of(array)
    found = np.flatnonzero(np.asarray(pc.equal(entries.keys, pa.scalar(key, entries.keys.type))))
    places = np.full(len(entries), -1, np.int64)
    places[entries.rows[found[::-1]]] = found[::-1]
    return entries.items.take(pa.array(places, mask=places < 0))


def sorted_entries(array: pa.Array) -> pa.Array:
    """The same maps with their entries by key, in the order of bytes: maps that are equal look alike then."""
    entries = entries_of(array)
    codes, names = encoded(entries.keys)
    ranks = np.empty(len(names), np.int64)
    ranks[integers_of(pc.array_sort_indices(names)).astype(np.int64)] = np.arange(len(names))
    order = pa.array(np.argsort(entries.rows * max(1, len(names)) + ranks[codes], kind="stable"))
    return map_array(entries.kind, entries.valid, entries.offsets, entries.keys.take(order), entries.items.take(order))
