"""Numbers in sevens of bits, the lowest first, as Thrift and Parquet write them."""

from __future__ import annotations

from varquet.kernels.source.dialect import M64, InBytes, OutBytes, OutInts, i64, inlined, kernel, signed, u64


@kernel
def read_varint(data: InBytes, at: i64, end: i64, out: OutInts, slot: i64) -> i64:
    """Read a number of up to 42 bits; the position behind it, or -1."""
    shift: i64 = 0
    number: i64 = 0
    byte: i64
    while at < end and shift < 42:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            out[slot] = number
            return at
        shift += 7
    return -1


@kernel
def read_zigzag(data: InBytes, at: i64, end: i64, out: OutInts, slot: i64) -> i64:
    """Read a number of up to 64 bits whose sign is its last bit; the position behind it, or -1."""
    shift: i64 = 0
    number: u64 = 0
    byte: u64
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        number |= ((byte & 127) << shift) & M64
        if byte < 128:
            out[slot] = signed((number >> 1) ^ (0xFFFFFFFFFFFFFFFF if number & 1 else 0))
            return at
        shift += 7
    return -1


@inlined
def write_varint(out: OutBytes, at: i64, number: u64) -> i64:
    """Write a number; the position behind it."""
    while number > 127:
        out[at] = (number & 127) | 128
        at += 1
        number = number >> 7
    out[at] = number
    return at + 1


@inlined
def write_zigzag(out: OutBytes, at: i64, number: i64) -> i64:
    """Write a number whose sign is its last bit; the position behind it."""
    word: u64 = number & M64
    word = (word << 1) & M64
    if number < 0:
        word = word ^ 0xFFFFFFFFFFFFFFFF
    return write_varint(out, at, word)
