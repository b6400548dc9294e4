"""Maps as Paimon stores them in its shared-shredding layout: read, never written.

    struct<
      __field_mapping: list<int>     for each of the K columns below the number of the key that it holds in this row, or -1
      __col_0 ... __col_K-1: T       the values; which key is in which column differs from row to row
      __overflow: map<int, T>        entries for which there was no column, by the numbers of their keys
    >

Which number stands for which key is said in the metadata of the Arrow field, which the footer of the file has. A null map is a null
struct, an empty one maps no column; a key with a null value is mapped to a column that is null.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from varquet.columns.arrow import Bytes, Ints, integers_of, plain, validity_of
from varquet.errors import InvalidMapError, ParquetError
from varquet.layouts.map_entries import map_array

__all__ = ["is_shared", "join_shared", "shared_keys", "shared_type"]

_LAYOUT: Final = b"paimon.map.storage-layout"
_SHARED: Final = b"shared-shredding"
_PREFIX: Final = "paimon.map.shared-shredding."
_VERSION: Final = 1
_MAPPING: Final = "__field_mapping"
_COLUMN: Final = "__col_"
_OVERFLOW: Final = "__overflow"
_LZ4_HEADER: Final = struct.Struct("<ii")


def is_shared(field: pa.Field) -> bool:
    """Whether a field says that it is a map in this layout."""
    return (field.metadata or {}).get(_LAYOUT) == _SHARED


def shared_type(field: pa.Field) -> pa.DataType:
    """The type of the maps that a field holds."""
    kind = field.type
    if not pa.types.is_struct(kind) or any(kind.get_field_index(name) < 0 for name in (_MAPPING, _OVERFLOW)):
        raise ParquetError(f"expected {_MAPPING} and {_OVERFLOW} in the shared-shredding column {field.name!r}, got {kind}")
    overflow = kind.field(_OVERFLOW).type
    if not pa.types.is_map(overflow):
        raise ParquetError(f"expected a map for {_OVERFLOW} of column {field.name!r}, got {overflow}")
    return pa.map_(pa.field("key", pa.string(), nullable=False), pa.field("value", overflow.item_type))


def shared_keys(field: pa.Field) -> tuple[str | None, ...]:
    """The keys of a column by their numbers; None for a number that stands for none."""
    told = {key.decode(): value for key, value in (field.metadata or {}).items()}
    version = _said(told, "version", field).decode()
    if version != str(_VERSION):
        raise ParquetError(f"expected version {_VERSION} of the shared-shredding column {field.name!r}, got {version!r}")
    try:
        size = int(_said(told, "field-dict-original-size", field))
        compression = told.get(_PREFIX + "field-dict-compression", b"zstd").decode().lower()
        # The bytes were made a text by Latin-1, and that a text of UTF-8.
        packed = _said(told, "field-dict", field).decode("utf-8").encode("latin-1")
        numbers: dict[str, Any] = json.loads(_unpacked(packed, size, compression))
        keys: list[str | None] = [None] * (max(numbers.values(), default=-1) + 1)
        for key, number in numbers.items():
            keys[number] = key
    except (ValueError, TypeError, AttributeError, IndexError, struct.error, OSError) as error:
        raise ParquetError(f"expected a dictionary of the keys of the shared-shredding column {field.name!r}, got {error}") from None
    return tuple(keys)


def _said(told: Mapping[str, bytes], name: str, field: pa.Field) -> bytes:
    if _PREFIX + name not in told:
        raise ParquetError(f"expected {_PREFIX}{name} in the metadata of column {field.name!r}, got none")
    return told[_PREFIX + name]


def _unpacked(packed: bytes, size: int, compression: str) -> bytes:
    if compression == "none":
        return packed
    if compression == "zstd":
        return bytes(pa.Codec("zstd").decompress(packed, size))
    if compression == "lz4":
        length, _ = _LZ4_HEADER.unpack_from(packed)
        return bytes(pa.Codec("lz4_raw").decompress(packed[_LZ4_HEADER.size : _LZ4_HEADER.size + length], size))
    raise ValueError(f"the compression {compression!r}, which is not known")


def join_shared(array: pa.StructArray, keys: tuple[str | None, ...], kind: pa.DataType) -> pa.MapArray:
    """The maps of a column: first what is in columns, in their order, then what overflowed."""
    rows, valid = len(array), validity_of(array)
    columns = [array.field(f"{_COLUMN}{place}") for place in range(_column_count(array.type))]
    ids = _mapping(array.field(_MAPPING), valid, len(columns))
    overflow = array.field(_OVERFLOW)
    spilled = integers_of(overflow.offsets).astype(np.int64) if rows else np.zeros(1, np.int64)
    first, count = int(spilled[0]), int(spilled[-1] - spilled[0])
    lengths = np.where((valid == 1) & (validity_of(overflow) == 1), np.diff(spilled), 0)
    is_there = np.repeat(lengths > 0, np.diff(spilled))
    extra = np.flatnonzero(is_there)
    extra_ids = integers_of(plain(overflow.keys.slice(first, count))).astype(np.int64)[extra]
    row, column = np.nonzero(ids >= 0)
    counts = np.bincount(row, minlength=rows)
    offsets = np.concatenate([[0], np.cumsum(counts + lengths)])
    source = np.empty(int(offsets[-1]), np.int64)
    named = np.empty(int(offsets[-1]), np.int64)
    at = offsets[row] + np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    source[at], named[at] = count + column * rows + row, ids[row, column]
    behind = np.repeat(offsets[:-1] + counts - (np.cumsum(lengths) - lengths), lengths) + np.arange(len(extra))
    source[behind], named[behind] = extra, extra_ids
    known = np.array([key is not None for key in keys], bool)
    wrong = np.flatnonzero((named >= len(keys)) | (named < 0)) if len(named) else named
    if not len(wrong) and not known.all():
        wrong = np.flatnonzero(~known[named])
    if len(wrong):
        where = int(np.searchsorted(offsets, wrong[0], side="right")) - 1
        raise InvalidMapError(f"expected the number of one of {len(keys)} keys, got {int(named[wrong[0]])}", row=where)
    items = pa.concat_arrays([plain(overflow.items.slice(first, count)), *map(plain, columns)]).take(pa.array(source))
    return map_array(kind, valid, offsets, pa.array(keys, pa.string()).take(pa.array(named)), items)


def _column_count(kind: pa.DataType) -> int:
    return sum(field.name.startswith(_COLUMN) for field in kind)


def _mapping(lists: pa.Array, valid: Bytes, columns: int) -> Ints:
    """The number of the key of each column in each row, or -1."""
    offsets = integers_of(lists.offsets).astype(np.int64) if len(lists) else np.zeros(1, np.int64)
    there = np.flatnonzero((valid == 1) & (validity_of(lists) == 1))
    bad = there[np.diff(offsets)[there] != columns]
    if len(bad):
        raise InvalidMapError(f"expected {columns} numbers in {_MAPPING}, got {int(np.diff(offsets)[bad[0]])}", row=int(bad[0]))
    first, count = int(offsets[0]), int(offsets[-1] - offsets[0])
    values = lists.values.slice(first, count)
    numbers = np.where(validity_of(values) == 1, integers_of(values), -1).astype(np.int64)
    made = np.full((len(lists), columns), -1, np.int64)
    made[there] = numbers[(offsets[there] - first)[:, np.newaxis] + np.arange(columns)]
    return made
