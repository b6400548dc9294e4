"""Variant columns as Arrow sees them, and the way from any Arrow array to the flat buffers that kernels read.

    variant column   struct<metadata: binary not null, value: binary not null>

A null of the struct is an SQL NULL; a Variant null is the value 00. The field that holds such a column carries Arrow's
canonical extension name in its metadata (`variant_field`), so that other Arrow libraries know what it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from varquet.errors import UnsupportedTypeError
from varquet.variant.metadata import EMPTY_METADATA

__all__ = [
    "EXTENSION_NAME",
    "MOST_SHARED_NAMES",
    "SHARED_VARIANT",
    "VARIANT",
    "Column",
    "Dictionaries",
    "Flat",
    "Spans",
    "VariantSlice",
    "binary_array",
    "bitmap",
    "chunks_of",
    "flatten",
    "integers_of",
    "is_text_or_bytes",
    "is_variant_type",
    "list_elements",
    "map_chunks",
    "metadata_of",
    "nothing",
    "plain",
    "shared_metadata_array",
    "slices",
    "spans",
    "text_buffers",
    "validity_of",
    "variant_array",
    "variant_children",
    "variant_field",
]

EXTENSION_NAME: Final = "arrow.parquet.variant"
VARIANT: Final = pa.struct([pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary(), nullable=False)])
SHARED_VARIANT: Final = pa.struct(
    [pa.field("metadata", pa.dictionary(pa.int32(), pa.binary()), nullable=False), pa.field("value", pa.binary(), nullable=False)]
)

# How many names rows that share their metadata have together: files get smaller with more, but readers that unpack a row's
# whole dictionary get slower (docs/adr/0005).
MOST_SHARED_NAMES: Final = 128

Column: TypeAlias = "pa.Array | pa.ChunkedArray"
Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]

_INT32_MAX: Final = (1 << 31) - 1
_LARGEST_SLICE: Final = 256 << 20
_NO_BYTES: Final[Bytes] = np.zeros(0, np.uint8)


def variant_field(name: str, *, nullable: bool = True, shared_metadata: bool = False) -> pa.Field:
    """A field for a Variant column, with Arrow's canonical extension name in its metadata.

    With shared_metadata the metadata is dictionary-encoded, as `read` returns it: rows that have the same point to one copy.
    """
    kind = SHARED_VARIANT if shared_metadata else VARIANT
    return pa.field(name, kind, nullable=nullable, metadata={"ARROW:extension:name": EXTENSION_NAME, "ARROW:extension:metadata": ""})


@dataclass(frozen=True, slots=True)
class Flat:
    """An array of byte strings as kernels read it: row k is data[offsets[k]:offsets[k + 1]], null where valid[k] is 0."""

    data: Bytes
    offsets: Ints
    valid: Bytes

    def __len__(self) -> int:
        return len(self.valid)

    def slice(self, first: int, last: int) -> Flat:
        return Flat(self.data, self.offsets[first : last + 1], self.valid[first:last])

    def there(self) -> tuple[Ints, Spans]:
        """Which rows are not null, and their bytes alone."""
        rows = np.flatnonzero(self.valid)
        if len(rows) == len(self):
            return rows, Spans(self.data, self.offsets[:-1], self.offsets[1:], self.valid)
        return rows, Spans(self.data, self.offsets[rows], self.offsets[rows + 1], np.ones(len(rows), np.uint8))


@dataclass(frozen=True, slots=True)
class Spans:
    """Byte strings that may share bytes: row k is data[starts[k]:ends[k]], null where valid[k] is 0."""

    data: Bytes
    starts: Ints
    ends: Ints
    valid: Bytes

    def slice(self, first: int, last: int) -> Spans:
        return Spans(self.data, self.starts[first:last], self.ends[first:last], self.valid[first:last])


@dataclass(frozen=True, slots=True)
class Dictionaries:
    """The metadata of rows, whose values are elsewhere; a row is null where valid is 0."""

    spans: Spans
    array: pa.Array
    """The same as Arrow has it."""
    valid: Bytes

    def __len__(self) -> int:
        return len(self.valid)


@dataclass(frozen=True, slots=True)
class VariantSlice:
    """Rows of a variant column as kernels read them; a row is null where valid is 0, whatever its children say."""

    metadata: Spans
    value: Flat
    valid: Bytes
    metadata_array: pa.Array
    """The metadata as Arrow has it, for results that keep it."""

    def __len__(self) -> int:
        return len(self.valid)

    @property
    def dictionaries(self) -> Dictionaries:
        return Dictionaries(self.metadata, self.metadata_array, self.valid)

    def slice(self, first: int, last: int) -> VariantSlice:
        return VariantSlice(
            self.metadata.slice(first, last),
            self.value.slice(first, last),
            self.valid[first:last],
            self.metadata_array.slice(first, last - first),
        )


def plain(array: pa.Array) -> pa.Array:
    """The same values without an extension type, dictionary, run ends or views."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    kind = array.type
    if pa.types.is_dictionary(kind):
        return plain(array.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return plain(pc.run_end_decode(array))
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return array.cast(pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary())
    if pa.types.is_null(kind):
        return array.cast(pa.binary())
    return array


def is_text_or_bytes(kind: pa.DataType) -> bool:
    """Whether values are strings or bytes of any length, behind offsets."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def validity_of(array: pa.Array) -> Bytes:
    """1 for every value that is not null, else 0."""
    if array.null_count == 0:
        return np.ones(len(array), np.uint8)
    bits = np.frombuffer(array.buffers()[0], np.uint8)[array.offset // 8 :]
    first = array.offset % 8
    return np.unpackbits(bits, bitorder="little", count=first + len(array))[first:]


def text_buffers(array: pa.Array) -> tuple[Bytes, npt.NDArray[Any]]:
    """The bytes of an array of strings or bytes of any length, and their offsets, of 4 or 8 bytes; nothing is copied."""
    is_large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    offset_type = np.dtype(np.int64 if is_large else np.int32)
    _, offsets, data = array.buffers()
    if len(array) == 0 or offsets is None:
        return _NO_BYTES, np.zeros(len(array) + 1, offset_type)
    places = np.frombuffer(offsets, offset_type, len(array) + 1, array.offset * offset_type.itemsize)
    return _NO_BYTES if data is None else np.frombuffer(data, np.uint8), places


def flatten(array: pa.Array, what: str) -> Flat:
    """Any Arrow array of strings or bytes, whatever its encoding or slice, as flat buffers; copies only where it must."""
    array = plain(array)
    if pa.types.is_fixed_size_binary(array.type):
        array = array.cast(pa.binary())
    if not is_text_or_bytes(array.type):
        raise UnsupportedTypeError(f"expected {what}, got an Arrow array of {array.type}")
    data, offsets = text_buffers(array)
    return Flat(data, offsets.astype(np.int64), validity_of(array))


def list_elements(lists: pa.Array) -> pa.Array:
    """What lies in lists, be they null or not; not by flatten, which fails where null lists hold extension types."""
    if pa.types.is_fixed_size_list(lists.type):
        size = lists.type.list_size
        return lists.values.slice(lists.offset * size, len(lists) * size)
    first, last = (lists.offsets[0].as_py(), lists.offsets[len(lists)].as_py()) if len(lists) else (0, 0)
    return lists.values.slice(first, last - first)


@functools.lru_cache(64)
def nothing(rows: int) -> Flat:
    """So many nulls, which take no memory and cannot be written to."""
    return Flat(_NO_BYTES, np.broadcast_to(np.int64(0), rows + 1), np.broadcast_to(np.uint8(0), rows))


def spans(array: pa.Array, what: str) -> Spans:
    """Like `flatten`, but a dictionary stays one: its rows point to the same bytes."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        entries = flatten(array.dictionary, what)
        if len(entries):
            valid = validity_of(array)
            index = integers_of(array.indices).astype(np.int64, copy=False)
            if array.null_count:
                index = index * valid  # what a null has for an index may be anything
            there = valid if array.dictionary.null_count == 0 else valid & entries.valid[index]
            return Spans(entries.data, entries.offsets[:-1].take(index), entries.offsets[1:].take(index), there)
    flat = flatten(array, what)
    return Spans(flat.data, flat.offsets[:-1], flat.offsets[1:], flat.valid)


def integers_of(array: pa.Array) -> npt.NDArray[Any]:
    """The data of an array of integers, whatever stands where it is null; not by compute functions, which load pandas."""
    if len(array) == 0:
        return np.zeros(0, np.int64)
    return np.frombuffer(array.buffers()[1], array.type.to_pandas_dtype())[array.offset : array.offset + len(array)]


def metadata_of(array: pa.StructArray) -> pa.Array:
    """The metadata of a variant column, shredded or not; a dictionary stays one."""
    metadata = array.field("metadata")
    if not pa.types.is_dictionary(metadata.type):
        return plain(metadata)
    if len(metadata.dictionary) or metadata.null_count == len(metadata):
        return metadata
    # Where a row group has nothing but SQL NULLs, pyarrow reads indexes into a dictionary of nothing.
    return pa.DictionaryArray.from_arrays(pa.nulls(len(metadata), metadata.type.index_type), metadata.dictionary)


def is_variant_type(kind: pa.DataType) -> bool:
    """Whether an Arrow type is a struct with `metadata` and `value`, found by name."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return bool(pa.types.is_struct(kind) and kind.get_field_index("metadata") >= 0 and kind.get_field_index("value") >= 0)


def variant_children(array: pa.Array) -> VariantSlice:
    """The metadata and value of a variant column as flat buffers, found by name, in any order and encoding."""
    array = plain(array)
    if pa.types.is_binary(array.type) and array.null_count == len(array):
        none = Flat(_NO_BYTES, np.zeros(len(array) + 1, np.int64), np.zeros(len(array), np.uint8))
        empty = binary_array(pa.py_buffer(b""), none.offsets, None)
        return VariantSlice(spans(empty, "metadata"), none, none.valid, empty)
    if not is_variant_type(array.type):
        raise UnsupportedTypeError(
            f"expected a variant column, struct<metadata: binary, value: binary>, got {array.type}",
            hint="parse_json makes one from JSON text",
        )
    if array.type.get_field_index("typed_value") >= 0:
        raise UnsupportedTypeError("expected an unshredded variant column, got one with a typed_value")
    # StructArray.field ignores neither the parent's offset nor adds its nulls, which is what is wanted here.
    valid = validity_of(array)
    kept = metadata_of(array)
    metadata = spans(kept, "binary metadata")
    value = flatten(array.field("value"), "binary values")
    return VariantSlice(metadata, value, valid & metadata.valid & value.valid, kept)


def slices(
    rows: int, size: int, *, rows_per_slice: int, size_per_slice: int, threads: int = 2, alike: bool = False
) -> Iterator[tuple[int, int]]:
    """Cut rows into slices of about equal size that keep a kernel's scratch small and all threads busy.

    One thread gets as much as may be at once: what comes in several pieces must often be joined again. Where rows of a slice share
    their metadata, they are to be cut `alike`: how many threads there are must not decide about bytes.
    """
    if rows == 0:
        return
    if threads == 1 and not alike:
        rows_per_slice, size_per_slice = rows, _LARGEST_SLICE
    by_size = -(-size // size_per_slice)
    step = max(1, min(rows_per_slice, -(-rows // max(1, by_size))))
    for first in range(0, rows, step):
        yield first, min(rows, first + step)


def bitmap(valid: Bytes) -> tuple[pa.Buffer | None, int]:
    """Arrow's validity bits and the number of nulls; no bits where there is none."""
    nulls = len(valid) - int(np.count_nonzero(valid))
    if nulls == 0:
        return None, 0
    return pa.py_buffer(np.packbits(valid, bitorder="little")), nulls


def binary_array(data: pa.Buffer, offsets: Ints, valid: Bytes | None, *, text: bool = False) -> pa.Array:
    """An Arrow array over flat buffers: 32-bit offsets where they suffice, 64-bit ones above 2 GiB."""
    validity, nulls = (None, 0) if valid is None else bitmap(valid)
    if offsets[-1] <= _INT32_MAX:
        kind, places = (pa.string() if text else pa.binary()), pa.py_buffer(offsets.astype(np.int32))
    else:
        kind, places = (pa.large_string() if text else pa.large_binary()), pa.py_buffer(offsets)
    return pa.Array.from_buffers(kind, len(offsets) - 1, [validity, places, data], nulls)


def variant_array(metadata: pa.Array, value: pa.Array, valid: Bytes) -> pa.StructArray:
    """A variant column from its children; a row is null where valid is 0."""
    validity, nulls = bitmap(valid)
    kind = pa.struct([pa.field("metadata", metadata.type, nullable=False), pa.field("value", value.type, nullable=False)])
    return pa.StructArray.from_buffers(kind, len(valid), [validity], nulls, children=[metadata, value])


def shared_metadata_array(entries: Ints, dictionary: pa.Array) -> pa.DictionaryArray:
    """Metadata of which row k has entry entries[k]."""
    if len(dictionary) == 0:  # no row has any, but indexes must point to something
        dictionary = pa.array([EMPTY_METADATA], pa.binary())
    # Not by pa.array, which loads pandas where there is one.
    indexes = pa.py_buffer(entries.astype(np.int32))
    kind = pa.dictionary(pa.int32(), dictionary.type)
    return pa.DictionaryArray.from_buffers(kind, len(entries), [None, indexes], dictionary)


def chunks_of(column: Column) -> list[pa.Array]:
    """The chunks of a column; an Array is one."""
    if isinstance(column, pa.ChunkedArray):
        return list(column.chunks)
    if isinstance(column, pa.Array):
        return [column]
    raise UnsupportedTypeError(
        f"expected a pyarrow Array or ChunkedArray, got {type(column).__module__}.{type(column).__qualname__}",
        hint="pa.array(values) makes one",
    )


def map_chunks(column: Column, work: Callable[[pa.Array], list[pa.Array]], empty: pa.DataType) -> Column:
    """Apply a verb: an Array gives an Array, a ChunkedArray gives a ChunkedArray.

    `work` gets one chunk and returns its result in pieces. Pieces of one type each; where some outgrow 32-bit offsets, all
    of them are widened, so that the result has one type.
    """
    pieces = [piece for chunk in chunks_of(column) for piece in work(chunk)]
    if isinstance(column, pa.ChunkedArray):
        return _one_type(pieces, empty)
    if len(pieces) == 1:
        return pieces[0]
    chunked = _one_type(pieces, empty)
    if chunked.nbytes > _INT32_MAX:
        chunked = chunked.cast(_wide(chunked.type))
    return pa.concat_arrays(chunked.chunks) if chunked.num_chunks else pa.nulls(0, empty)


def _one_type(pieces: list[pa.Array], empty: pa.DataType) -> pa.ChunkedArray:
    kinds = {piece.type for piece in pieces}
    if len(kinds) > 1:
        wide = _wide(pieces[0].type)
        pieces = [piece.cast(wide) for piece in pieces]
    return pa.chunked_array(pieces, type=None if pieces else empty)


def _wide(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_wide(field.type)) for field in kind])
    if pa.types.is_binary(kind):
        return pa.large_binary()
    return pa.large_string() if pa.types.is_string(kind) else kind
