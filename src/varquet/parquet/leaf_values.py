"""The levels and values of a leaf column out of the bodies of its pages, in any of the encodings that files get; see `bodies`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from varquet import kernels
from varquet.kernels.source import _unpacking as unpacking
from varquet.kernels.source import decode as kernel
from varquet.parquet.dense import Dense
from varquet.parquet.footer_fields import (
    BYTE_STREAM_SPLIT,
    DELTA_BINARY_PACKED,
    DELTA_BYTE_ARRAY,
    DELTA_LENGTH_BYTE_ARRAY,
    PLAIN,
    PLAIN_DICTIONARY,
    RLE_DICTIONARY,
)

__all__ = ["Decoded", "Dictionary", "LeafType", "NotKnownError", "decode_leaf", "read_dictionary"]

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

_BY_INDEX: Final = {PLAIN_DICTIONARY, RLE_DICTIONARY}
_NUMBERS: Final = {PLAIN, DELTA_BINARY_PACKED, RLE_DICTIONARY}
_TEXTS: Final = {PLAIN, DELTA_LENGTH_BYTE_ARRAY, RLE_DICTIONARY}
_STORED: Final = {"INT32": np.int32, "INT64": np.int64, "FLOAT": np.float32, "DOUBLE": np.float64}
_MOST_BYTES: Final = (1 << 31) - 1
"""What 32-bit offsets reach; longer texts are left to others."""
_NO_BYTES: Final = np.zeros(0, np.uint8)
_NO_INTS: Final = np.zeros(0, np.int64)


class NotKnownError(Exception):
    """Something must be read by others."""


@dataclass(frozen=True, slots=True)
class LeafType:
    """A leaf column: its highest levels, and the type of its values."""

    kind: pa.DataType
    physical: str
    definition: int
    repetition: int
    least: int
    """The definition level from which on there is an instance: that of the group that repeats around it."""
    keeps_dictionary: bool
    """Whether its values stay in their dictionary, which they must have then."""
    length: int = 0
    """The bytes of a value that is a byte array of fixed length."""

    def __post_init__(self) -> None:
        if (
            not _is_readable(self.kind, self.physical, self.length)
            or max(self.definition, self.repetition).bit_length() > unpacking.MOST_LEVEL_BITS
        ):
            raise NotKnownError

    @property
    def is_text(self) -> bool:
        return self.physical == "BYTE_ARRAY"

    @property
    def is_fixed(self) -> bool:
        return self.physical == "FIXED_LEN_BYTE_ARRAY"


def _is_readable(kind: pa.DataType, physical: str, length: int) -> bool:
    """Whether values of an Arrow type that are stored as a physical type can be decoded here."""
    if physical == "BYTE_ARRAY":
        return kind in (pa.binary(), pa.string())
    if physical == "FIXED_LEN_BYTE_ARRAY":
        return (pa.types.is_decimal128(kind) and 0 < length <= 16) or (kind == pa.binary(length) if length > 0 else False)
    if physical in ("INT32", "INT64"):
        if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
            # Of other units in the file pyarrow makes those that it has.
            return bool(kind.unit in ("us", "ns") and physical == "INT64")
        return bool(
            pa.types.is_decimal128(kind)
            or (pa.types.is_signed_integer(kind) and (kind.bit_width == 64) == (physical == "INT64"))
            or (pa.types.is_date32(kind) and physical == "INT32")
        )
    others = {"BOOLEAN": pa.types.is_boolean, "FLOAT": pa.types.is_float32, "DOUBLE": pa.types.is_float64}
    return physical in others and bool(others[physical](kind))


@dataclass(frozen=True, slots=True)
class Dictionary:
    """The dictionary of a column chunk: its entries, as the kernel takes them, and as an Arrow array if they are no numbers."""

    numbers: Ints
    """Numbers, or the offsets of texts."""
    octets: Bytes
    array: pa.Array | None
    longest: int
    """Bytes of the longest text."""

    def __len__(self) -> int:
        return len(self.numbers) if self.array is None else len(self.array)


def read_dictionary(leaf: LeafType, octets: Bytes, start: int, end: int, count: int, encoding: int) -> Dictionary:
    """A dictionary of so many entries out of a page that is no longer compressed."""
    # Writers of old call that by the name of what refers to it.
    if encoding not in (PLAIN, PLAIN_DICTIONARY) or leaf.physical == "BOOLEAN":
        raise NotKnownError
    # A text has a length before it.
    width = leaf.length if leaf.is_fixed else 4 if leaf.is_text else np.dtype(_STORED[leaf.physical]).itemsize
    if count * width > end - start:
        raise NotKnownError
    if leaf.is_fixed:
        return Dictionary(_NO_INTS, _NO_BYTES, _fixed(leaf, octets[start : start + count * leaf.length]), 0)
    if not leaf.is_text:
        entries = octets[start : start + count * width].view(f"i{width}")
        return Dictionary(entries.astype(np.int64), _NO_BYTES, None, 0)
    offsets: Ints = np.empty(count + 1, np.int64)
    texts = np.empty(end - start, np.uint8)
    size = kernels.decode.list_texts(octets, start, end, count, offsets, texts)
    if size < 0:
        raise NotKnownError
    array = pa.Array.from_buffers(leaf.kind, count, [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(texts)], 0)
    return Dictionary(offsets, texts, array, int(np.diff(offsets).max(initial=0)))


@dataclass(frozen=True, slots=True)
class Decoded:
    """A leaf column in some pages: its levels, those of its instances alone, and its values, one for each instance."""

    definitions: Bytes
    repetitions: Bytes
    instances: Bytes
    values: pa.Array


def decode_leaf(leaf: LeafType, octets: Bytes, parts: Ints, encodings: Sequence[int], dictionary: Dictionary | None) -> Decoded:
    """Decode pages, of which `parts` says where they are, as the kernel has it."""
    entries = int(parts[kernel.PART_ENTRIES :: kernel.PART_SLOTS].sum())
    found = {RLE_DICTIONARY if one in _BY_INDEX else one for one in encodings}
    if len(found) != 1 or (found == {RLE_DICTIONARY} and dictionary is None):
        raise NotKnownError
    (encoding,) = found
    keeps_indexes = (leaf.keeps_dictionary or leaf.is_fixed) and encoding == RLE_DICTIONARY
    about: Ints = np.zeros(kernel.ABOUT_SLOTS, np.int64)
    about[: kernel.ABOUT_ENCODING + 1] = (
        leaf.repetition,
        leaf.definition,
        leaf.repetition.bit_length(),
        leaf.definition.bit_length(),
        leaf.least,
        encoding,
    )
    texts = _NO_BYTES
    if keeps_indexes:
        about[kernel.ABOUT_OUT] = 4
    elif leaf.is_text and encoding in _TEXTS:
        about[kernel.ABOUT_OUT] = kernel.OUT_TEXTS
        if encoding != RLE_DICTIONARY or dictionary is None:
            most = int((parts[kernel.PART_END :: kernel.PART_SLOTS] - parts[kernel.PART_START :: kernel.PART_SLOTS]).sum())
        else:
            most = entries * dictionary.longest
        if most > _MOST_BYTES:
            raise NotKnownError
        texts = np.empty(most, np.uint8)
    elif leaf.physical == "BOOLEAN" and encoding == PLAIN:
        about[[kernel.ABOUT_WIDTH, kernel.ABOUT_OUT]] = 1
    elif leaf.physical in _STORED and encoding in _NUMBERS:
        about[kernel.ABOUT_WIDTH] = np.dtype(_STORED[leaf.physical]).itemsize
        about[kernel.ABOUT_OUT] = leaf.kind.bit_width // 8
    width = int(about[kernel.ABOUT_OUT])
    room = pa.allocate_buffer((entries + 2) * (4 if width == kernel.OUT_TEXTS else width))
    about[kernel.ABOUT_ENTRIES] = 0 if dictionary is None else len(dictionary)
    definitions = np.empty(entries, np.uint8) if leaf.definition else np.zeros(entries, np.uint8)
    picked = np.empty(entries, np.uint8)
    repetitions = np.empty(entries if leaf.repetition else 0, np.uint8)
    bits = np.empty((entries + 7) // 8, np.uint8)
    scratch: Ints = np.empty(unpacking.SCRATCH, np.int64)
    instances = kernels.decode.decode_leaf(
        octets,
        parts,
        len(encodings),
        about,
        repetitions,
        definitions,
        picked,
        bits,
        np.empty(entries + 2, np.int64),
        _NO_BYTES if dictionary is None else dictionary.octets,
        _NO_INTS if dictionary is None else dictionary.numbers,
        np.frombuffer(room, np.uint8),
        texts,
        scratch,
    )
    if instances < 0:
        raise NotKnownError
    held = int(scratch[unpacking.AT_HELD])
    validity = None if held == instances else pa.py_buffer(bits)
    if width == kernel.OUT_NOTHING:
        values = Dense(_other_values(leaf, octets, parts, encoding, held), bits, instances).spread()
    elif width == kernel.OUT_TEXTS:
        values = pa.Array.from_buffers(leaf.kind, instances, [validity, room, pa.py_buffer(texts)], instances - held)
    else:
        kind = pa.int32() if keeps_indexes else leaf.kind
        if leaf.physical == "BOOLEAN":
            room = pa.py_buffer(np.packbits(np.frombuffer(room, np.uint8, instances), bitorder="little"))
        values = pa.Array.from_buffers(kind, instances, [validity, room], instances - held)
    if keeps_indexes and not leaf.keeps_dictionary:
        assert dictionary is not None and dictionary.array is not None
        values = dictionary.array.take(values)
    if leaf.keeps_dictionary:
        if held and not keeps_indexes:
            raise NotKnownError
        indexes = values if keeps_indexes else pa.nulls(instances, pa.int32())
        entries_array = pa.array([], leaf.kind) if dictionary is None or dictionary.array is None else dictionary.array
        values = pa.DictionaryArray.from_arrays(indexes, entries_array, safe=False)
    return Decoded(definitions, repetitions, picked[:instances], values)


def _other_values(leaf: LeafType, octets: Bytes, parts: Ints, encoding: int, count: int) -> pa.Array:
    """The values without nulls, in encodings that are rare."""
    if not count:
        return pa.nulls(0, leaf.kind)
    pages = len(parts) // kernel.PART_SLOTS
    if leaf.is_text and encoding == DELTA_BYTE_ARRAY:
        shared: Ints = np.empty(count, np.int64)
        offsets: Ints = np.empty(count + 1, np.int64)
        size = kernels.decode.unpack_changes(octets, parts, pages, shared, offsets, np.empty(unpacking.SCRATCH, np.int64))
        if not 0 <= size <= _MOST_BYTES:
            raise NotKnownError
        made = np.empty(size, np.uint8)
        kernels.decode.join_changes(octets, parts, pages, shared, offsets, made)
        return pa.Array.from_buffers(leaf.kind, count, [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(made)], 0)
    if leaf.is_fixed and encoding == PLAIN:
        return _fixed(leaf, np.concatenate(_pieces(octets, parts, leaf.length)))
    if encoding == BYTE_STREAM_SPLIT and leaf.physical in ("FLOAT", "DOUBLE"):
        # First all first bytes, then all second ones.
        width = np.dtype(_STORED[leaf.physical]).itemsize
        made = np.concatenate([piece.reshape(width, -1).T for piece in _pieces(octets, parts, width)]).ravel()
        return pa.Array.from_buffers(leaf.kind, count, [None, pa.py_buffer(made)], 0)
    raise NotKnownError


def _pieces(octets: Bytes, parts: Ints, width: int) -> list[Bytes]:
    """The bytes of the values of each page, of which each has so many."""
    rows = parts.reshape(-1, kernel.PART_SLOTS).tolist()
    if any(values * width > end - start for start, end, _, values in rows):
        raise NotKnownError
    return [octets[start : start + values * width] for start, _, _, values in rows]


def _fixed(leaf: LeafType, octets: Bytes) -> pa.Array:
    """Byte arrays of fixed length; decimals are such, the highest byte first."""
    count = len(octets) // leaf.length
    made = octets
    if pa.types.is_decimal128(leaf.kind):
        made = np.empty((count, 16), np.uint8)
        turned = octets.reshape(count, leaf.length)[:, ::-1]
        made[:, : leaf.length] = turned
        made[:, leaf.length :] = np.where(turned[:, -1:] >= 128, 255, 0)
    return pa.Array.from_buffers(leaf.kind, count, [None, pa.py_buffer(np.ascontiguousarray(made))], 0)
