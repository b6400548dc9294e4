"""The values of a leaf column as the bodies of its pages, in any of the encodings that files get, and their bounds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from varquet import kernels
from varquet.columns.arrow import integers_of, is_text_or_bytes, text_buffers, validity_of
from varquet.kernels.source import _packing as packing
from varquet.parquet.entries import joined
from varquet.parquet.footer_fields import DELTA_BINARY_PACKED, DELTA_BYTE_ARRAY, DELTA_LENGTH_BYTE_ARRAY, PLAIN, RLE_DICTIONARY

__all__ = ["Bodies", "Bounds", "are_few", "encode_values", "has_known_values"]

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_FEW_SLOTS: Final = 4096
_MOST_DICTIONARY: Final = 1 << 20
"""Bytes of a dictionary; a larger one is given up."""
_LONG_DIGITS: Final = 18
"""Of decimals that fit a number of 64 bits."""
_NO_BYTES: Final = np.zeros(1, np.uint8)

Bounds = tuple[Any, Any] | None
"""The least and the greatest value of a page, as something that sorts as they do."""


@dataclass(frozen=True, slots=True)
class Bodies:
    """The values of a column chunk: the bytes of each page, and of a dictionary, which may be missing."""

    encoding: int
    pages: list[memoryview]
    bounds: list[Bounds]
    """None for a page without values, or whose values have no bounds."""
    stored: Callable[[Any], bytes]
    """How a bound is stored."""
    raw_size: int | None = None
    """Bytes of all texts before they were encoded; None for other types."""
    dictionary: memoryview | None = None
    dictionary_size: int = 0


def has_known_values(kind: pa.DataType) -> bool:
    """Whether values of a type, which is no extension type, can be encoded here."""
    if pa.types.is_dictionary(kind):
        return pa.types.is_signed_integer(kind.index_type) and is_text_or_bytes(kind.value_type)
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return bool(kind.unit != "s")
    return bool(
        is_text_or_bytes(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_signed_integer(kind)
        or pa.types.is_float32(kind)
        or pa.types.is_float64(kind)
        or pa.types.is_date32(kind)
        or pa.types.is_decimal128(kind)
        or (pa.types.is_fixed_size_binary(kind) and kind.byte_width > 0)
    )


def encode_values(pieces: Sequence[pa.Array], held: Mask | None, firsts: Ints, width: int, encoding: str) -> Bodies:
    """Encode the values of an array in pieces that are held, in pages that begin with these of them.

    `width` is that of the physical type in bytes: 4 or 8 of a number, any of a byte array of fixed length.
    """
    kind = pieces[0].type
    if pa.types.is_dictionary(kind):
        return _dictionary_arrays(pieces, held, firsts)
    array = joined(pieces)
    if is_text_or_bytes(kind):
        return _texts(_Texts.of(array, held), firsts, encoding)
    if pa.types.is_boolean(kind):
        return _booleans(_chosen(_bits(array), held), firsts)
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        return _floats(_chosen(_data(array, f"f{width}"), held), firsts, encoding)
    if pa.types.is_decimal128(kind):
        halves = _data(array, "V16")
        if width in (4, 8):
            low = _chosen(halves.view(np.int64)[::2], held)
            return _integers(low, firsts, width, encoding)
        return _fixed(_chosen(halves, held).view(np.uint8).reshape(-1, 16)[:, width - 1 :: -1], firsts, is_signed=True)
    if pa.types.is_fixed_size_binary(kind):
        return _fixed(_chosen(_data(array, f"V{width}"), held).view(np.uint8).reshape(-1, width), firsts, is_signed=False)
    return _integers(_chosen(_data(array, f"i{kind.bit_width // 8}"), held), firsts, width, encoding)


def are_few(array: pa.Array, most: int) -> bool | None:
    """Whether no more than so many values differ, nulls apart; None if that cannot be counted here."""
    kind = array.type
    held = None if array.null_count == 0 else validity_of(array).view(np.bool_)
    if is_text_or_bytes(kind):
        texts = _Texts.of(array, held)
        return texts.numbered(most) is not None
    if pa.types.is_decimal128(kind) and kind.precision <= _LONG_DIGITS:
        values = _chosen(_data(array, "V16").view(np.int64)[::2], held)
    elif pa.types.is_boolean(kind) or not pa.types.is_primitive(kind) or kind.bit_width not in (8, 16, 32, 64):
        return None
    else:
        values = _chosen(_data(array, f"i{kind.bit_width // 8}"), held)
    numbers = values.astype(np.int64)
    return _numbered_integers(numbers, most) is not None


def _chosen(values: npt.NDArray[Any], held: Mask | None) -> npt.NDArray[Any]:
    return values if held is None else values[held]


def _data(array: pa.Array, kind: str) -> npt.NDArray[Any]:
    data = array.buffers()[1]
    if data is None or len(array) == 0:
        return np.zeros(len(array), kind)
    return np.frombuffer(data, kind, len(array), array.offset * np.dtype(kind).itemsize)


def _bits(array: pa.Array) -> Mask:
    data = array.buffers()[1]
    if data is None or len(array) == 0:
        return np.zeros(len(array), np.bool_)
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little", count=array.offset + len(array))
    return bits[array.offset :].view(np.bool_)


def _cut(out: npt.NDArray[Any], ends: Sequence[int]) -> list[memoryview]:
    view = out.data
    return [view[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _whole(values: npt.NDArray[Any], firsts: Ints) -> list[memoryview]:
    """The pages of values as they are."""
    octets = _octets(np.ascontiguousarray(values))
    width = values.dtype.itemsize if values.ndim == 1 else values.shape[1]
    stops = (firsts * width).tolist()
    return [octets[start:end] for start, end in itertools.pairwise(stops)]


def _octets(values: npt.NDArray[Any]) -> memoryview:
    return values.data.cast("B") if values.size else memoryview(b"")


def _spans(firsts: Ints) -> list[tuple[int, int]]:
    stops = firsts.tolist()
    return list(itertools.pairwise(stops))


def _booleans(values: Mask, firsts: Ints) -> Bodies:
    pages = [values[a:b] for a, b in _spans(firsts)]
    bounds = [(bool(page.min()), bool(page.max())) if len(page) else None for page in pages]
    packed = [np.packbits(page, bitorder="little").data for page in pages]
    return Bodies(PLAIN, packed, bounds, lambda value: bytes((value,)))


def _integers(values: npt.NDArray[Any], firsts: Ints, width: int, encoding: str) -> Bodies:
    bounds = [(int(values[a:b].min()), int(values[a:b].max())) if b > a else None for a, b in _spans(firsts)]

    def stored(value: int) -> bytes:
        return value.to_bytes(width, "little", signed=True)

    if encoding == "PLAIN":
        return Bodies(PLAIN, _whole(values.astype(f"i{width}", copy=False), firsts), bounds, stored)
    numbers = values.astype(np.int64)
    if encoding == "dictionary":
        found = _numbered_integers(numbers, _MOST_DICTIONARY // width)
        if found is not None:
            entries = _octets(numbers[found[1]].astype(f"i{width}"))
            return _indexed(found[0], firsts, entries, len(found[1]), bounds, stored)
    pages = len(firsts) - 1
    out, ends = np.empty(9 * len(numbers) + packing.MOST_BLOCK * pages, np.uint8), np.empty(pages, np.int64)
    kernels.encode.pack_deltas(numbers, firsts, 8 * width, out, ends, np.empty(packing.BLOCK, np.int64))
    return Bodies(DELTA_BINARY_PACKED, _cut(out, ends.tolist()), bounds, stored)


def _floats(values: npt.NDArray[Any], firsts: Ints, encoding: str) -> Bodies:
    kind = values.dtype

    def stored(value: Any) -> bytes:
        return bytes(np.array([value], kind))

    bounds = [_float_bounds(values[a:b]) for a, b in _spans(firsts)]
    if encoding == "dictionary":
        bits = values.view(f"i{kind.itemsize}").astype(np.int64)
        found = _numbered_integers(bits, _MOST_DICTIONARY // kind.itemsize)
        if found is not None:
            entries = _octets(values[found[1]])
            return _indexed(found[0], firsts, entries, len(found[1]), bounds, stored)
    return Bodies(PLAIN, _whole(values, firsts), bounds, stored)


def _float_bounds(values: npt.NDArray[Any]) -> Bounds:
    """Without NaN, which has no place among the others; a zero may be either one."""
    numbers = values[~np.isnan(values)]
    if not len(numbers):
        return None
    least, greatest = numbers.min(), numbers.max()
    return -abs(least) if least == 0 else least, abs(greatest) if greatest == 0 else greatest


def _fixed(values: npt.NDArray[Any], firsts: Ints, *, is_signed: bool) -> Bodies:
    """Byte arrays of fixed length: signed numbers with their highest byte first, or bytes."""
    values = np.ascontiguousarray(values)
    width = values.shape[1]
    keys = values.copy()
    if is_signed:
        keys[:, 0] ^= 0x80
    sortable = keys.view(f"V{width}").reshape(-1).tolist() if len(keys) else []
    bounds = [(min(sortable[a:b]), max(sortable[a:b])) if b > a else None for a, b in _spans(firsts)]

    def stored(value: bytes) -> bytes:
        return bytes((value[0] ^ 0x80,)) + value[1:] if is_signed else value

    return Bodies(PLAIN, _whole(values, firsts), bounds, stored)


@dataclass(frozen=True, slots=True)
class _Texts:
    """Texts side by side."""

    data: npt.NDArray[np.uint8]
    offsets: Ints

    @classmethod
    def of(cls, array: pa.Array, held: Mask | None) -> _Texts:
        data, offsets = text_buffers(array)
        octets = data if len(data) else _NO_BYTES
        if held is None:
            return cls(octets, offsets.astype(np.int64, copy=False))
        kept = np.empty(len(array) + 1, np.int64)
        count = kernels.encode.hold_offsets(offsets.view(np.uint8), offsets.itemsize, held.view(np.uint8), kept)
        if count < 0:  # something lies between them that is not held
            return cls.of(array.filter(pa.array(held)), None)
        return cls(octets, kept[: count + 1])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def size(self) -> int:
        return int(self.offsets[-1] - self.offsets[0])

    def all(self) -> list[bytes]:
        octets = self.data[self.offsets[0] : self.offsets[-1]].tobytes()
        stops = (self.offsets - self.offsets[0]).tolist()
        return [octets[start:end] for start, end in itertools.pairwise(stops)]

    def text(self, number: int) -> bytes:
        return self.data[self.offsets[number] : self.offsets[number + 1]].tobytes()

    def numbered(self, most: int) -> tuple[Ints, Ints] | None:
        count = len(self)
        return _numbered(count, lambda *room: kernels.encode.number_texts(self.data, self.offsets, count, *room), most)

    def plain(self, chosen: Ints, firsts: Ints) -> tuple[npt.NDArray[np.uint8], Ints]:
        size = int((self.offsets[chosen + 1] - self.offsets[chosen]).sum()) + 4 * len(chosen)
        out, ends = np.empty(size + 4, np.uint8), np.empty(len(firsts) - 1, np.int64)
        kernels.encode.pack_plain_texts(self.data, self.offsets, chosen, firsts, out, ends)
        return out, ends

    def bounds(self, firsts: Ints) -> list[Bounds]:
        least, greatest = np.empty(len(firsts) - 1, np.int64), np.empty(len(firsts) - 1, np.int64)
        kernels.encode.find_bounds(self.data, self.offsets, firsts, least, greatest)
        return [(self.text(a), self.text(b)) if a >= 0 else None for a, b in zip(least.tolist(), greatest.tolist(), strict=True)]


def _texts(texts: _Texts, firsts: Ints, encoding: str) -> Bodies:
    bounds = texts.bounds(firsts)
    pages = len(firsts) - 1
    if encoding == "dictionary":
        found = texts.numbered(_MOST_DICTIONARY // 4)
        if found is not None:
            entries, ends = texts.plain(found[1], np.array([0, len(found[1])], np.int64))
            if int(ends[0]) <= _MOST_DICTIONARY:
                held = entries.data[: int(ends[0])]
                return _indexed(found[0], firsts, held, len(found[1]), bounds, bytes, texts.size)
    if encoding == "PLAIN":
        out, ends = texts.plain(np.arange(len(texts)), firsts)
        return Bodies(PLAIN, _cut(out, ends.tolist()), bounds, bytes, texts.size)
    ends, lengths, deltas = np.empty(pages, np.int64), np.empty(len(texts), np.int64), np.empty(packing.BLOCK, np.int64)
    if encoding == "DELTA_BYTE_ARRAY":
        out = np.empty(texts.size + 12 * len(texts) + 2 * packing.MOST_BLOCK * pages, np.uint8)
        kernels.encode.pack_text_changes(texts.data, texts.offsets, firsts, out, ends, lengths, deltas)
        return Bodies(DELTA_BYTE_ARRAY, _cut(out, ends.tolist()), bounds, bytes, texts.size)
    out = np.empty(texts.size + 6 * len(texts) + packing.MOST_BLOCK * pages, np.uint8)
    kernels.encode.pack_texts(texts.data, texts.offsets, firsts, out, ends, lengths, deltas)
    return Bodies(DELTA_LENGTH_BYTE_ARRAY, _cut(out, ends.tolist()), bounds, bytes, texts.size)


def _dictionary_arrays(pieces: Sequence[pa.DictionaryArray], held: Mask | None, firsts: Ints) -> Bodies:
    """Texts that have dictionaries already, of which each that is used is kept once: readers count on that."""
    every: list[bytes] = []
    moved: list[Ints] = []
    first, before = 0, None
    for piece in pieces:
        # Slices of one array have one dictionary.
        if before is None or not piece.dictionary.equals(before):
            first, before = len(every), piece.dictionary
            every += _Texts.of(before, None).all()
        moved.append(integers_of(piece.indices).astype(np.int64) + first)
    indexes = _chosen(np.concatenate(moved), held)
    uses = np.bincount(indexes, minlength=len(every))
    numbers: dict[bytes, int] = {}
    places = np.zeros(len(every), np.int64)
    for place in np.flatnonzero(uses).tolist():
        places[place] = numbers.setdefault(every[place], len(numbers))
    kept = list(numbers)
    order = sorted(range(len(kept)), key=kept.__getitem__)
    ranks = np.empty(len(kept), np.int64)
    ranks[order] = np.arange(len(kept))
    numbered = places[indexes]
    ranked = ranks[numbered]
    bounds: list[Bounds] = [(kept[order[ranked[a:b].min()]], kept[order[ranked[a:b].max()]]) if b > a else None for a, b in _spans(firsts)]
    size = sum(len(text) * count for text, count in zip(every, uses.tolist(), strict=True))
    entries = b"".join(piece for text in kept for piece in (len(text).to_bytes(4, "little"), text))
    return _indexed(numbered, firsts, memoryview(entries), len(kept), bounds, bytes, size)


def _numbered_integers(numbers: Ints, most: int) -> tuple[Ints, Ints] | None:
    return _numbered(len(numbers), lambda *room: kernels.encode.number_integers(numbers, len(numbers), *room), most)


def _numbered(count: int, call: Callable[[Ints, Ints, Ints], int], most: int) -> tuple[Ints, Ints] | None:
    """The number of each value among those that differ, and where each of these comes first; None if they are too many."""
    indexes = np.empty(count, np.int64)
    slots = _FEW_SLOTS
    while True:
        firsts = np.empty(min(slots // 2, most), np.int64)
        found = call(np.zeros(slots, np.int64), indexes, firsts)
        if found >= 0:
            return indexes, firsts[:found]
        if len(firsts) == most:
            return None
        slots *= 16


def _indexed(
    indexes: Ints,
    firsts: Ints,
    dictionary: memoryview,
    entries: int,
    bounds: list[Bounds],
    stored: Callable[[Any], bytes],
    raw_size: int | None = None,
) -> Bodies:
    pages = len(firsts) - 1
    width = max(entries - 1, 0).bit_length()
    out, ends = np.empty((len(indexes) // 8 + 2 * pages) * (width + 8), np.uint8), np.empty(pages, np.int64)
    kernels.encode.pack_indexes(indexes, firsts, width, out, ends)
    return Bodies(RLE_DICTIONARY, _cut(out, ends.tolist()), bounds, stored, raw_size, dictionary, entries)
