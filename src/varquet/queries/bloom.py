"""Bloom filters of Parquet column chunks: split blocks of 256 bits, hashed by XXH64. Only asked, never written here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from varquet.errors import ParquetError
from varquet.parquet.thrift import read_struct

__all__ = ["read_bloom_filter", "xxh64"]

_M: Final = (1 << 64) - 1
_P1, _P2, _P3, _P4, _P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_SALT: Final = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)
_BLOCK: Final = 32
# The header is a small struct; no more than this is looked at for it.
_HEADER_ROOM: Final = 64


def read_bloom_filter(read_at: Callable[[int, int], bytes], offset: int) -> Callable[[bytes], bool] | None:
    """Whether a value, as its plain bytes, may be in a column chunk; None for filters of a kind that is not known.

    `read_at(size, offset)` gives so many bytes, or fewer at the end of the file, from a position on.
    """
    head = read_at(_HEADER_ROOM, offset)
    try:
        header = read_struct(head, 0)
        size = header.integer(1)
        kinds = [header.struct(field) for field in (2, 3, 4)]
    except ParquetError:
        return None
    # Fields 2 to 4 say algorithm, hash and compression, of each of which there is one kind: its field 1.
    if size is None or size <= 0 or size % _BLOCK or any(kind is None or 1 not in kind.fields for kind in kinds):
        return None
    bits = read_at(size, offset + header.end)
    if len(bits) < size:
        return None

    def may_hold(value: bytes) -> bool:
        hashed = xxh64(value)
        block = ((hashed >> 32) * (size // _BLOCK)) >> 32
        key = hashed & 0xFFFFFFFF
        for k, salt in enumerate(_SALT):
            bit = ((key * salt) & 0xFFFFFFFF) >> 27
            at = block * _BLOCK + 4 * k
            if not int.from_bytes(bits[at : at + 4], "little") >> bit & 1:
                return False
        return True

    return may_hold


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (64 - bits))) & _M


def _round(state: int, lane: int) -> int:
    return _rotated((state + lane * _P2) & _M, 31) * _P1 & _M


def xxh64(data: bytes, seed: int = 0) -> int:
    """The 64-bit xxHash of bytes."""
    length, at = len(data), 0
    if length >= 32:
        lanes = [(seed + _P1 + _P2) & _M, (seed + _P2) & _M, seed, (seed - _P1) & _M]
        while at + 32 <= length:
            for k in range(4):
                lanes[k] = _round(lanes[k], int.from_bytes(data[at + 8 * k : at + 8 * k + 8], "little"))
            at += 32
        state = sum(_rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & _M
        for lane in lanes:
            state = ((state ^ _round(0, lane)) * _P1 + _P4) & _M
    else:
        state = (seed + _P5) & _M
    state = (state + length) & _M
    while at + 8 <= length:
        state = (_rotated(state ^ _round(0, int.from_bytes(data[at : at + 8], "little")), 27) * _P1 + _P4) & _M
        at += 8
    if at + 4 <= length:
        state = (_rotated(state ^ (int.from_bytes(data[at : at + 4], "little") * _P1 & _M), 23) * _P2 + _P3) & _M
        at += 4
    while at < length:
        state = _rotated(state ^ (data[at] * _P5 & _M), 11) * _P1 & _M
        at += 1
    state = (state ^ (state >> 33)) * _P2 & _M
    state = (state ^ (state >> 29)) * _P3 & _M
    return state ^ (state >> 32)
