"""Deletion vectors: which rows of a file are deleted, though they are still in it.

    descriptor   storageType u (a file of the table, named by a UUID), p (a file anywhere) or i (in the log itself)
    in a file    at `offset`: size, 4 bytes big endian | data | CRC-32 of the data, 4 bytes big endian
    data         magic number, 4 bytes | number of bitmaps, 8 bytes | (high half of the row numbers, 4 bytes | bitmap)*

    bitmap       cookie 12346 | number of containers, 4 bytes                       none of the containers is of runs
                 cookie 12347, 2 bytes | their number - 1, 2 bytes | a bit for each, set if it is of runs
                 (key: the next 16 bits of the row numbers | number of rows - 1)*   2 bytes each
                 where each container begins, 4 bytes each                          not behind cookie 12347 and fewer than 4
                 the containers
    container    runs: their number | (first row | number of rows - 1)*             2 bytes each
                 up to 4096 rows: each row, 2 bytes; more: a bit for each of the 65536

All that is not said to be otherwise is little endian. The bitmaps are those of the RoaringFormatSpec.

Before that format was fixed there was another one, which Delta's readers take still: a magic number smaller by one, the number of
bitmaps in 4 bytes, and before each bitmap its size in 4 bytes in place of a key, which counts up from 0. The protocol's own example
of an inline deletion vector is of that format, with these numbers big endian.
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from varquet.delta.z85 import decode
from varquet.errors import CastError, VarquetError

__all__ = ["path_of", "read_deleted", "unique_id"]

Rows: TypeAlias = npt.NDArray[np.int64]
Descriptor: TypeAlias = Mapping[str, Any]

_MAGIC: Final = 1681511377
_OLD_MAGIC: Final = 1681511376
_ORDERS: Final[tuple[Literal["little", "big"], ...]] = ("little", "big")
_STORAGE: Final = ("u", "p", "i")
_UUID_CHARACTERS: Final = 20
_COOKIE: Final = 12346
_COOKIE_OF_RUNS: Final = 12347
_FEW_CONTAINERS: Final = 4
_LARGEST_ARRAY: Final = 4096
_CONTAINER_ROWS: Final = 1 << 16
_BITMAP_BYTES: Final = _CONTAINER_ROWS // 8
_LARGEST_KEY: Final = (1 << 31) - 1


def unique_id(descriptor: Descriptor) -> str:
    """What tells a deletion vector from all others of the same file.

    >>> unique_id({"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4})
    'uab^-aqEH.-t@S}K{vb[*k^@4'
    """
    storage, text = _storage(descriptor)
    offset = descriptor.get("offset")
    return f"{storage}{text}" if offset is None else f"{storage}{text}@{offset}"


def path_of(descriptor: Descriptor) -> str | None:
    """The file that a deletion vector is in: relative to the table or absolute; None if it is in the log itself.

    >>> path_of({"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^"})
    'ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin'
    """
    storage, text = _storage(descriptor)
    if storage == "i":
        return None
    if storage == "p":
        return text
    if len(text) < _UUID_CHARACTERS:
        raise _damaged(f"expected {_UUID_CHARACTERS} characters of a UUID at least, got {text!r}")
    folder, name = text[:-_UUID_CHARACTERS], uuid.UUID(bytes=_octets(text[-_UUID_CHARACTERS:]))
    return f"{folder}{'/' if folder else ''}deletion_vector_{name}.bin"


def read_deleted(descriptor: Descriptor, read: Callable[[str, int, int], bytes]) -> Rows:
    """The numbers of the deleted rows of a file, from 0 on and in order.

    Args:
        descriptor: `deletionVector` of an `add` action.
        read: gives bytes of a file, by its path as `path_of` has it, where they begin and how many they are.
    """
    size, cardinality = _number(descriptor, "sizeInBytes"), _number(descriptor, "cardinality")
    path = path_of(descriptor)
    if path is None:
        data = _octets(_storage(descriptor)[1])
        if not size <= len(data) < size + 4:
            raise _damaged(f"expected {size} bytes, got {len(data)}")
        return _rows(data[:size], cardinality)
    offset = 0 if descriptor.get("offset") is None else _number(descriptor, "offset")
    try:
        return _rows(_checked(read(path, offset, size + 8), size), cardinality)
    except VarquetError as error:
        error.path = error.path or path
        raise


def _checked(stored: bytes, size: int) -> bytes:
    """The data in the bytes that a file has of it, which say how many they are and what their checksum is."""
    if len(stored) < size + 8:
        raise _damaged(f"expected {size + 8} bytes of the file, got {len(stored)}")
    said = int.from_bytes(stored[:4], "big")
    if said != size:
        raise _damaged(f"expected {size} bytes, as the table says, got {said}, as the file says")
    data = bytes(stored[4 : 4 + size])
    found, expected = zlib.crc32(data), int.from_bytes(stored[4 + size : 8 + size], "big")
    if found != expected:
        raise _damaged(f"expected the checksum {expected:08x}, got {found:08x}")
    return data


def _rows(data: bytes, cardinality: int) -> Rows:
    reader = _Reader(data, cardinality)
    found = [rows + (key << 32) for key in _keys(reader) for rows in _bitmap(reader)]
    made: Rows = np.concatenate(found) if found else np.zeros(0, np.int64)
    if len(made) != cardinality:
        raise _damaged(f"expected {cardinality} rows, got {len(made)}")
    if (np.diff(made) <= 0).any():
        raise _damaged("expected rows that ascend, got one behind a larger one")
    return made


def _keys(reader: _Reader) -> Iterator[int]:
    """The high half of the row numbers of each bitmap, which the reader is then at."""
    head = reader.octets(4)
    for order in _ORDERS:
        if int.from_bytes(head, order) == _OLD_MAGIC:
            for key in range(reader.number(4, order)):
                reader.octets(4)  # the size of the bitmap, which knows its end
                yield key
            return
    magic, last = int.from_bytes(head, "little"), -1
    if magic != _MAGIC:
        raise _damaged(f"expected the magic number {_MAGIC}, got {magic}", hint="a later version of the format may have written it")
    for _ in range(reader.number(8)):
        key = reader.number(4)
        if not last < key <= _LARGEST_KEY:
            raise _damaged(f"expected keys of bitmaps that ascend from 0 to {_LARGEST_KEY}, got {key} behind {last}")
        yield key
        last = key


def _bitmap(reader: _Reader) -> list[Rows]:
    cookie = reader.number(4)
    if cookie & 0xFFFF == _COOKIE_OF_RUNS:
        count = (cookie >> 16) + 1
        flags = np.frombuffer(reader.octets(-(-count // 8)), np.uint8)
        is_runs = np.unpackbits(flags, bitorder="little")[:count].astype(bool).tolist()
        has_offsets = count >= _FEW_CONTAINERS
    elif cookie == _COOKIE:
        count = reader.number(4)
        if count > _CONTAINER_ROWS:
            raise _damaged(f"expected at most {_CONTAINER_ROWS} containers of a bitmap, got {count}")
        is_runs = [False] * count
        has_offsets = True
    else:
        raise _damaged(f"expected the cookie {_COOKIE} or {_COOKIE_OF_RUNS} of a bitmap, got {cookie}")
    heads = reader.shorts(2 * count).reshape(-1, 2)
    counts = heads[:, 1] + 1
    reader.expect(int(counts.sum()))
    if has_offsets:
        reader.octets(4 * count)  # the containers follow each other in order
    return [
        _container(reader, rows, is_of_runs=of_runs) + (key << 16)
        for key, rows, of_runs in zip(heads[:, 0].tolist(), counts.tolist(), is_runs, strict=True)
    ]


def _container(reader: _Reader, count: int, *, is_of_runs: bool) -> Rows:
    if is_of_runs:
        return _runs(reader.shorts(2 * reader.number(2)).reshape(-1, 2), count)
    if count <= _LARGEST_ARRAY:
        return reader.shorts(count)
    bits = np.unpackbits(np.frombuffer(reader.octets(_BITMAP_BYTES), np.uint8), bitorder="little")
    rows: Rows = np.flatnonzero(bits)
    if len(rows) != count:
        raise _damaged(f"expected {count} rows of a container, got {len(rows)}")
    return rows


def _runs(runs: Rows, count: int) -> Rows:
    firsts, lengths = runs[:, 0], runs[:, 1] + 1
    total = int(lengths.sum())
    if total != count or (firsts + lengths > _CONTAINER_ROWS).any():
        raise _damaged(f"expected runs of {count} rows within a container, got {total} up to {int((firsts + lengths).max(initial=0))}")
    before = np.cumsum(lengths) - lengths
    return np.repeat(firsts - before, lengths) + np.arange(total)


class _Reader:
    """Bytes being read, and how many rows are still expected of them: no more are made than the table says there are."""

    def __init__(self, data: bytes, rows: int) -> None:
        self.data = data
        self.at = 0
        self.rows = rows

    def octets(self, size: int) -> bytes:
        found = self.data[self.at : self.at + size]
        if len(found) < size:
            raise _damaged(f"expected {size} more bytes, got {len(found)}", offset=self.at)
        self.at += size
        return found

    def number(self, width: int, order: Literal["little", "big"] = "little") -> int:
        return int.from_bytes(self.octets(width), order)

    def shorts(self, count: int) -> Rows:
        return np.frombuffer(self.octets(2 * count), "<u2").astype(np.int64)

    def expect(self, rows: int) -> None:
        self.rows -= rows
        if self.rows < 0:
            raise _damaged("expected as many rows as the table says, got more", offset=self.at)


def _storage(descriptor: Descriptor) -> tuple[str, str]:
    storage, text = descriptor.get("storageType"), descriptor.get("pathOrInlineDv")
    if storage not in _STORAGE or not isinstance(text, str):
        raise _damaged(f"expected a storageType of {', '.join(_STORAGE)} and its pathOrInlineDv, got {storage!r} and {text!r:.60}")
    return str(storage), text


def _number(descriptor: Descriptor, name: str) -> int:
    number = descriptor.get(name)
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise _damaged(f"expected a number as {name}, got {number!r}")
    return number


def _octets(text: str) -> bytes:
    try:
        return decode(text)
    except CastError as error:
        raise _damaged(error.message, hint=error.hint) from None


def _damaged(message: str, *, offset: int | None = None, hint: str | None = None) -> VarquetError:
    return VarquetError(f"deletion vector: {message}", offset=offset, hint=hint)
