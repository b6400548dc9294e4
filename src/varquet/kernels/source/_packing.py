"""Numbers of one page packed into bits: levels and indexes as runs, integers as differences."""

from __future__ import annotations

from varquet.kernels.source._varints import write_varint, write_zigzag
from varquet.kernels.source.dialect import (
    M64,
    InBytes,
    InInts,
    OutBytes,
    OutInts,
    i64,
    inlined,
    kernel,
    leading_zeros,
    load64,
    signed,
    store64,
    store_le,
    u64,
)

# Groups of one packed run, so that their number and a bit take a byte.
GROUP = 8
MOST_GROUPS = 63

BLOCK = 128
MINIBLOCK = 32

# Bytes that a block of differences takes at most, and the header before all of them.
MOST_BLOCK = 1100


@inlined
def pack_eight_bytes(word: u64, width: i64) -> u64:
    """Eight bytes as eight numbers of up to `width` bits: pairs, fours, and all."""
    word = (word & 0x00FF00FF00FF00FF) | ((word & 0xFF00FF00FF00FF00) >> (8 - width))
    word = (word & 0x0000FFFF0000FFFF) | ((word & 0xFFFF0000FFFF0000) >> (16 - 2 * width))
    return (word & 0x00000000FFFFFFFF) | ((word >> 32) << (4 * width)) & M64


@inlined
def eight_levels(levels: InBytes, at: i64, last: i64) -> u64:
    """Eight levels, or zeros where there are no more."""
    word: u64 = 0
    byte: u64
    k: i64
    if at + 8 <= last:
        return load64(levels, at)
    for k in range(last - at):
        byte = levels[at + k]
        word |= byte << (8 * k)
    return word


@inlined
def is_one_level(word: u64) -> i64:
    """1 if all eight bytes are the same."""
    return 1 if (word >> 8) == (word & 0x00FFFFFFFFFFFFFF) else 0


@kernel
def pack_page_levels(levels: InBytes, first: i64, last: i64, width: i64, out: OutBytes, at: i64, counts: OutInts) -> i64:
    """Write the levels of a page as runs, and count them; the position behind them."""
    k: i64 = first
    j: i64
    header: i64
    groups: i64
    octets: i64
    word: u64
    while k < last:
        j = k
        if k + 8 <= last and is_one_level(load64(levels, k)):
            j = k + 8
            while j + 8 <= last and load64(levels, j) == load64(levels, k):
                j += 8
            while j < last and levels[j] == levels[k]:
                j += 1
            at = write_varint(out, at, (j - k) << 1)
            out[at] = levels[k]
            at += 1
            counts[levels[k]] += j - k
            k = j
            continue
        header = at
        at += 1
        groups = 0
        while k < last and groups < MOST_GROUPS:
            word = eight_levels(levels, k, last)
            if groups > 0 and k + 8 <= last and is_one_level(word):
                break
            for j in range(8 if k + 8 <= last else last - k):
                counts[(word >> (8 * j)) & 255] += 1
            word = pack_eight_bytes(word, width)
            for octets in range(width):
                out[at + octets] = (word >> (8 * octets)) & 255
            at += width
            k += 8
            groups += 1
        out[header] = (groups << 1) | 1
    return at


@kernel
def pack_bits(numbers: InInts, first: i64, count: i64, less: u64, mask: u64, width: i64, out: OutBytes, at: i64) -> i64:
    """Write numbers less another one in `width` bits each, to whole bytes; the position behind them."""
    waiting: u64 = 0
    bits: i64 = 0
    number: u64
    k: i64
    for k in range(first, first + count):
        number = (((numbers[k] & M64) - less) & M64) & mask
        waiting |= (number << bits) & M64
        bits += width
        if bits >= 64:
            store64(out, at, waiting)
            at += 8
            bits -= 64
            waiting = number >> (width - bits) if bits > 0 else 0
    while bits > 0:
        out[at] = waiting & 255
        waiting = waiting >> 8
        at += 1
        bits -= 8
    return at


@kernel
def pack_page_indexes(indexes: InInts, first: i64, last: i64, width: i64, out: OutBytes, at: i64) -> i64:
    """Write the indexes of a page as runs; the position behind them."""
    k: i64 = first
    j: i64
    header: i64
    groups: i64
    count: i64
    mask: u64 = 0xFFFFFFFF
    while k < last:
        j = k + 1
        while j < last and indexes[j] == indexes[k]:
            j += 1
        if j - k >= GROUP or width == 0:
            at = write_varint(out, at, (j - k) << 1)
            if width > 0:
                store_le(out, at, indexes[k], (width + 7) >> 3)
                at += (width + 7) >> 3
            k = j
            continue
        header = at
        at += 1
        groups = 0
        while k < last and groups < MOST_GROUPS:
            count = GROUP if k + GROUP <= last else last - k
            if groups > 0 and count == GROUP:
                j = 1
                while j < GROUP and indexes[k + j] == indexes[k]:
                    j += 1
                if j == GROUP:
                    break
            j = pack_bits(indexes, k, count, 0, mask, width, out, at)
            at += width
            while j < at:
                out[j] = 0
                j += 1
            k += count
            groups += 1
        out[header] = (groups << 1) | 1
    return at


@inlined
def wrapped_difference(one: i64, other: i64, bits: i64) -> i64:
    """A difference as a number of so many bits."""
    word: u64 = ((one & M64) - (other & M64)) & M64
    if bits == 32:
        word = word & 0xFFFFFFFF
        return signed(word) if word < 0x80000000 else signed(word) - 0x100000000
    return signed(word)


@kernel
def pack_page_deltas(numbers: InInts, first: i64, last: i64, bits: i64, deltas: OutInts, out: OutBytes, at: i64) -> i64:
    """Write integers of 32 or 64 bits as differences; the position behind them. `deltas` has room for a block."""
    k: i64 = first
    count: i64
    j: i64
    m: i64
    stop: i64
    width: i64
    widths: i64
    least: i64
    delta: i64
    most: u64
    mask: u64 = 0xFFFFFFFFFFFFFFFF
    if bits == 32:
        mask = 0xFFFFFFFF
    at = write_varint(out, at, BLOCK)
    at = write_varint(out, at, BLOCK // MINIBLOCK)
    at = write_varint(out, at, last - first)
    at = write_zigzag(out, at, numbers[first] if last > first else 0)
    k += 1
    while k < last:
        count = BLOCK if last - k > BLOCK else last - k
        least = 0
        for j in range(count):
            # It wraps, and so does whoever adds it up.
            delta = wrapped_difference(numbers[k + j], numbers[k + j - 1], bits)
            deltas[j] = delta
            if j == 0 or delta < least:
                least = delta
        at = write_zigzag(out, at, least)
        widths = at
        at += BLOCK // MINIBLOCK
        for m in range(BLOCK // MINIBLOCK):
            stop = count if count < (m + 1) * MINIBLOCK else (m + 1) * MINIBLOCK
            most = 0
            for j in range(m * MINIBLOCK, stop):
                most |= (((deltas[j] & M64) - (least & M64)) & M64) & mask
            width = 64 - leading_zeros(most) if most else 0
            out[widths + m] = width
            if m * MINIBLOCK < count:
                # What is missing to a whole one is filled up with what packs to zeros.
                for j in range(stop, (m + 1) * MINIBLOCK):
                    deltas[j] = least
                at = pack_bits(deltas, m * MINIBLOCK, MINIBLOCK, least & M64, mask, width, out, at)
        k += count
    return at
