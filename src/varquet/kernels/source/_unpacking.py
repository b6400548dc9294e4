"""Numbers that a page has packed, as Parquet packs them: levels, indexes, and differences.

All of them are read as whole words, so that up to SPARE bytes behind them are looked at, which must be there.
"""

from __future__ import annotations

from varquet.kernels.source._varints import read_varint, read_zigzag
from varquet.kernels.source.dialect import M64, InBytes, OutBytes, OutInts, i64, inlined, kernel, load64, signed, store64, u64

SPARE = 16

MOST_LEVEL_BITS = 7
MOST_INDEX_BITS = 31

# Where the numbers of a header are put that is being read, and what was read in all.
AT_NUMBER = 0
AT_BLOCK = 1
AT_MINIBLOCKS = 2
AT_COUNT = 3
AT_LAST = 4
AT_LEAST = 5
AT_HELD = 6
AT_SIZE = 7
SCRATCH = 8


@kernel
def unpack_levels(data: InBytes, at: i64, end: i64, count: i64, most: i64, width: i64, out: OutBytes, to: i64, scratch: OutInts) -> i64:
    """Read levels as bytes; how many of them are the highest, or -1."""
    one: u64 = 1
    repeated: u64 = 0x0101010101010101
    sevens: u64 = 0x7F7F7F7F7F7F7F7F
    eighths: u64 = 0x8080808080808080
    # Numbers side by side are put apart: halves, then fours, then pairs.
    fours: u64 = (one << (4 * width)) - 1
    twos: u64 = ((one << (2 * width)) - 1) * 0x0000000100000001
    ones: u64 = ((one << width) - 1) * 0x0001000100010001
    highest: u64 = repeated * most
    room: u64 = repeated * (127 - most)
    word: u64
    last: i64 = to + count
    run: i64
    held: i64 = 0
    k: i64
    while to < last:
        at = read_varint(data, at, end, scratch, AT_NUMBER)
        if at < 0:
            return -1
        run = scratch[AT_NUMBER] >> 1
        if run == 0:
            return -1
        if scratch[AT_NUMBER] & 1 == 0:
            if at >= end or data[at] > most:
                return -1
            run = run if run < last - to else last - to
            if data[at] == most:
                held += run
            for k in range(to, to + run):
                out[k] = data[at]
            at += 1
            to += run
            continue
        if run > end - at or run * width > end - at:
            return -1
        while run > 0 and to < last:
            word = load64(data, at)
            word = (word & fours) | (((word >> (4 * width)) & fours) << 32)
            word = (word & twos) | (((word >> (2 * width)) & twos) << 16)
            word = (word & ones) | (((word >> width) & ones) << 8)
            if to + 8 <= last:
                store64(out, to, word)
                to += 8
            else:
                # Behind the last level there may be anything.
                word = word & ((one << (8 * (last - to))) - 1)
                while to < last:
                    out[to] = word & 255
                    held += 1 if (word & 255) == (highest & 255) else 0
                    if (word & 255) > (highest & 255):
                        return -1
                    word = word >> 8
                    to += 1
                break
            if (word + room) & eighths:
                return -1
            # The bytes that are the highest level, counted.
            word = (((word ^ highest) + sevens) & eighths) >> 7
            held += 8 - signed(((word * repeated) & M64) >> 56)
            at += width
            run -= 1
    return held


@kernel
def unpack_indexes(data: InBytes, at: i64, end: i64, count: i64, limit: i64, out: OutInts, to: i64, scratch: OutInts) -> i64:
    """Read numbers of dictionary entries, of which there are `limit`, from number `to` on; the number behind the last, or -1."""
    last: i64 = to + count
    width: i64
    octets: i64
    run: i64
    bit: i64
    number: i64
    mask: i64
    k: i64
    if at >= end or data[at] > MOST_INDEX_BITS:
        return -1
    width = data[at]
    octets = (width + 7) >> 3
    mask = (1 << width) - 1
    at += 1
    while to < last:
        at = read_varint(data, at, end, scratch, AT_NUMBER)
        if at < 0:
            return -1
        run = scratch[AT_NUMBER] >> 1
        if run == 0:
            return -1
        if scratch[AT_NUMBER] & 1 == 0:
            if octets > end - at:
                return -1
            number = signed(load64(data, at)) & mask
            if number >= limit:
                return -1
            at += octets
            run = run if run < last - to else last - to
            for k in range(to, to + run):
                out[k] = number
            to += run
            continue
        if run > end - at or run * width > end - at:
            return -1
        run = 8 * run
        bit = 8 * at
        at += (run >> 3) * width
        run = run if run < last - to else last - to
        for k in range(to, to + run):
            number = signed(load64(data, bit >> 3) >> (bit & 7)) & mask
            if number >= limit:
                return -1
            out[k] = number
            bit += width
        to += run
    return to


@inlined
def unpack_miniblock(data: InBytes, at: i64, width: i64, least: u64, value: u64, out: OutInts, to: i64, count: i64) -> u64:
    """Read numbers that are told by what they differ from the one before, more than `least`; the last."""
    one: u64 = 1
    mask: u64 = (((one << (width & 63)) - 1) & M64) if width < 64 else 0xFFFFFFFFFFFFFFFF
    behind: u64
    word: u64
    bit: i64 = 8 * at
    k: i64
    for k in range(to, to + count):
        word = load64(data, bit >> 3) >> (bit & 7)
        if width > 56 and (bit & 7) > 0:
            behind = data[(bit >> 3) + 8]
            word = (word | (behind << (64 - (bit & 7)))) & M64
        value = (value + least + (word & mask)) & M64
        out[k] = signed(value)
        bit += width
    return value


@kernel
def unpack_differences(data: InBytes, at: i64, end: i64, count: i64, out: OutInts, to: i64, scratch: OutInts) -> i64:
    """Read numbers as differences (DELTA_BINARY_PACKED), from number `to` on; the position behind them, or -1."""
    last: i64 = to + count
    miniblock: i64
    size: i64
    widths: i64
    width: i64
    value: u64
    at = read_varint(data, at, end, scratch, AT_BLOCK)
    if at >= 0:
        at = read_varint(data, at, end, scratch, AT_MINIBLOCKS)
    if at >= 0:
        at = read_varint(data, at, end, scratch, AT_COUNT)
    if at >= 0:
        at = read_zigzag(data, at, end, scratch, AT_LAST)
    if at < 0 or scratch[AT_COUNT] != count or scratch[AT_MINIBLOCKS] < 1 or scratch[AT_BLOCK] < 1:
        return -1
    size = scratch[AT_BLOCK] // scratch[AT_MINIBLOCKS]
    if size < 8 or size & 7 or size * scratch[AT_MINIBLOCKS] != scratch[AT_BLOCK]:
        return -1
    value = scratch[AT_LAST] & M64
    if count > 0:
        out[to] = scratch[AT_LAST]
        to += 1
    while to < last:
        at = read_zigzag(data, at, end, scratch, AT_LEAST)
        if at < 0 or scratch[AT_MINIBLOCKS] > end - at:
            return -1
        widths = at
        at += scratch[AT_MINIBLOCKS]
        for miniblock in range(scratch[AT_MINIBLOCKS]):
            if to >= last:
                break
            width = data[widths + miniblock]
            if width > 64 or (size >> 3) * width > end - at:
                return -1
            count = size if size < last - to else last - to
            value = unpack_miniblock(data, at, width, scratch[AT_LEAST] & M64, value, out, to, count)
            at += (size >> 3) * width
            to += count
    return at
