"""How the typed_value of each primitive type is read by kernels and stored by Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from varquet.columns.arrow import integers_of, is_text_or_bytes, plain, text_buffers
from varquet.errors import UnsupportedTypeError
from varquet.types import BY_NAME, decimal_type_for_digits

__all__ = ["Texts", "TypedKind", "numbers_of", "text_array", "text_of", "typed_array", "typed_kind"]

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_NO_BYTES: Final = np.zeros(0, np.uint8)
_MOST_TEXTS: Final = (1 << 31) - 1
"""In a dictionary, so that their numbers have 4 bytes."""


@dataclass(frozen=True, slots=True)
class TypedKind:
    """What kernels need to know about a typed_value: the Variant tag, and how wide it is."""

    tag: int
    precision: int = 0
    """Bits of an integer, digits of a decimal."""
    scale: int = 0
    is_text: bool = False
    store: Any = np.int64
    """The numpy type of the Arrow data, where it is a single number."""
    stride: int = 1
    """How many 64-bit numbers a kernel reads for each value."""

    @property
    def width(self) -> int:
        """How many bytes a kernel writes for each value; 0 for a bit."""
        return 0 if self.store is np.bool_ else int(np.dtype(self.store).itemsize) * self.stride


_TAGS: dict[pa.DataType, TypedKind] = {
    pa.bool_(): TypedKind(BY_NAME["true"].tag, store=np.bool_),
    pa.int8(): TypedKind(BY_NAME["int8"].tag, 8, store=np.int8),
    pa.int16(): TypedKind(BY_NAME["int16"].tag, 16, store=np.int16),
    pa.int32(): TypedKind(BY_NAME["int32"].tag, 32, store=np.int32),
    pa.int64(): TypedKind(BY_NAME["int64"].tag, 64),
    pa.float32(): TypedKind(BY_NAME["float"].tag, store=np.int32),
    pa.float64(): TypedKind(BY_NAME["double"].tag),
    pa.date32(): TypedKind(BY_NAME["date"].tag, store=np.int32),
    pa.time64("us"): TypedKind(BY_NAME["time"].tag),
    pa.timestamp("us", "UTC"): TypedKind(BY_NAME["timestamp"].tag),
    pa.timestamp("us"): TypedKind(BY_NAME["timestamp_ntz"].tag),
    pa.timestamp("ns", "UTC"): TypedKind(BY_NAME["timestamp_nanos"].tag),
    pa.timestamp("ns"): TypedKind(BY_NAME["timestamp_ntz_nanos"].tag),
    pa.string(): TypedKind(BY_NAME["string"].tag, is_text=True),
    pa.binary(): TypedKind(BY_NAME["binary"].tag, is_text=True),
    pa.binary(16): TypedKind(BY_NAME["uuid"].tag, is_text=True),
}


def typed_kind(kind: pa.DataType) -> TypedKind:
    """The kernel's view of a canonical primitive type of a shredding schema."""
    if pa.types.is_decimal(kind):
        primitive = decimal_type_for_digits(kind.precision)
        assert primitive is not None
        return TypedKind(primitive.tag, kind.precision, kind.scale, stride=2)
    return _TAGS[kind]


def typed_array(kind: pa.DataType, data: Bytes, bits: Bytes, typed: int, count: int) -> pa.Array:
    """An Arrow array of what the kernel has read: `typed` of the instances, which are those whose bit is set."""
    validity = None if typed == count else pa.py_buffer(bits)
    return pa.Array.from_buffers(kind, count, [validity, pa.py_buffer(data)], count - typed)


def text_array(kind: pa.DataType, data: pa.Buffer, offsets: Bytes, width: int, bits: Bytes, typed: int, count: int) -> pa.Array:
    """The same for strings, bytes and uuids, with offsets of 4 or 8 bytes."""
    validity = None if typed == count else pa.py_buffer(bits)
    made = {4: (pa.string(), pa.binary()), 8: (pa.large_string(), pa.large_binary())}[width][0 if pa.types.is_string(kind) else 1]
    array = pa.Array.from_buffers(made, count, [validity, pa.py_buffer(offsets), data], count - typed)
    return array.cast(kind) if pa.types.is_fixed_size_binary(kind) else array


def numbers_of(array: pa.Array, kind: pa.DataType) -> Ints:
    """The values of a fixed-width array as kernels read them: one number each, the two halves of a decimal."""
    if len(array) == 0:
        return np.zeros(0, np.int64)
    if pa.types.is_decimal(kind):
        if array.type != kind:
            array = array.cast(pa.decimal128(kind.precision, kind.scale))
        return np.frombuffer(array.buffers()[1], np.int64)[2 * array.offset : 2 * (array.offset + len(array))]
    data = array.buffers()[1]
    if pa.types.is_boolean(kind):
        bits = np.frombuffer(data, np.uint8)
        return np.unpackbits(bits, bitorder="little", count=array.offset + len(array))[array.offset :].astype(np.int64)
    numbers = np.frombuffer(data, _TAGS[kind].store)[array.offset : array.offset + len(array)]
    return numbers.astype(np.int64, copy=False)


@dataclass(frozen=True, slots=True)
class Texts:
    """The bytes of strings, binary or uuids as kernels read them: text k begins at offset k; rows may have their texts by number."""

    data: Bytes
    offsets: Bytes
    """Of `width` bytes each, 4 or 8."""
    width: int
    index: Bytes
    """The number of each row's text, in 4 bytes; empty if row k has text k."""


def text_of(array: pa.Array) -> Texts:
    """The bytes of a string, binary or uuid array; a dictionary without nulls stays one."""
    index = _NO_BYTES
    if pa.types.is_dictionary(array.type) and 0 < len(array.dictionary) <= _MOST_TEXTS and len(array):
        numbers = integers_of(array.indices)
        # What a null has for an index may be anything.
        if int(numbers.min()) >= 0 and int(numbers.max()) < len(array.dictionary):
            index = numbers.astype(np.int32, copy=False).view(np.uint8)
            array = array.dictionary
    array = plain(array)
    if pa.types.is_fixed_size_binary(array.type):
        array = array.cast(pa.binary())
    if not is_text_or_bytes(array.type):
        raise UnsupportedTypeError(f"expected typed values of bytes, got an Arrow array of {array.type}")
    data, offsets = text_buffers(array)
    return Texts(data, offsets.view(np.uint8), offsets.itemsize, index)
