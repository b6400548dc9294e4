"""Values of a Parquet column, without its nulls, to the bodies of its pages; and its levels.

Each entry point does all pages of a column chunk: page p has the values from firsts[p] to firsts[p + 1], and its bytes end at ends[p].

    levels, indexes    runs: a count and a value, or up to 504 values packed in groups of eight
    integers           differences, less the smallest of a block of 128, packed in fours of 32 (DELTA_BINARY_PACKED)
    texts              lengths as such differences, then the bytes; or of each text only what differs from the one before
"""

from __future__ import annotations

from varquet.kernels.source._hashing import KIND_EXACT, KIND_STRING, hash_bytes, hash_number
from varquet.kernels.source._packing import pack_page_deltas, pack_page_indexes, pack_page_levels
from varquet.kernels.source.dialect import (
    M64,
    InBytes,
    InBytesView,
    InInts,
    InIntsView,
    OutBytes,
    OutBytesView,
    OutInts,
    OutIntsView,
    copy_bytes,
    i64,
    in_bytes,
    in_ints,
    inlined,
    kernel,
    load64,
    load_le,
    nogil,
    out_bytes,
    out_ints,
    reversed_bytes,
    same_bytes,
    signed,
    store_le,
    u64,
)


def pack_levels(levels: InBytesView, firsts: InIntsView, width: i64, out: OutBytesView, ends: OutIntsView, counts: OutIntsView) -> i64:
    """Write the levels of all pages, each with the number of its bytes before it; how many bytes they are.

    Levels take `width` bits, up to 8; counts[l] is how often there is level l. There is room for all levels of a page as bytes, a byte
    more for every 504 of them, and 16 more.
    """
    page: i64
    at: i64 = 0
    start: i64
    levels_p: InBytes = in_bytes(levels)
    firsts_p: InInts = in_ints(firsts)
    pages: i64 = len(firsts) - 1
    out_p: OutBytes = out_bytes(out)
    ends_p: OutInts = out_ints(ends)
    counts_p: OutInts = out_ints(counts)
    with nogil:
        for page in range(pages):
            start = at
            at = pack_page_levels(levels_p, firsts_p[page], firsts_p[page + 1], width, out_p, at + 4, counts_p)
            store_le(out_p, start, at - start - 4, 4)
            ends_p[page] = at
    return at


def pack_indexes(indexes: InIntsView, firsts: InIntsView, width: i64, out: OutBytesView, ends: OutIntsView) -> i64:
    """Write the indexes of all pages into a dictionary, `width` bits each, up to 32 (RLE_DICTIONARY); how many bytes they are.

    There is room for `width` + 8 bytes for every eight indexes of a page, and as many more twice.
    """
    page: i64
    at: i64 = 0
    indexes_p: InInts = in_ints(indexes)
    firsts_p: InInts = in_ints(firsts)
    pages: i64 = len(firsts) - 1
    out_p: OutBytes = out_bytes(out)
    ends_p: OutInts = out_ints(ends)
    with nogil:
        for page in range(pages):
            out_p[at] = width
            at = pack_page_indexes(indexes_p, firsts_p[page], firsts_p[page + 1], width, out_p, at + 1)
            ends_p[page] = at
    return at


def pack_deltas(numbers: InIntsView, firsts: InIntsView, bits: i64, out: OutBytesView, ends: OutIntsView, deltas: OutIntsView) -> i64:
    """Write the integers of all pages (DELTA_BINARY_PACKED); how many bytes they are.

    There is room for 9 bytes an integer, and MOST_BLOCK more for each page; `deltas` has room for a block.
    """
    page: i64
    at: i64 = 0
    numbers_p: InInts = in_ints(numbers)
    firsts_p: InInts = in_ints(firsts)
    pages: i64 = len(firsts) - 1
    out_p: OutBytes = out_bytes(out)
    ends_p: OutInts = out_ints(ends)
    deltas_p: OutInts = out_ints(deltas)
    with nogil:
        for page in range(pages):
            at = pack_page_deltas(numbers_p, firsts_p[page], firsts_p[page + 1], bits, deltas_p, out_p, at)
            ends_p[page] = at
    return at


def hold_offsets(offsets: InBytesView, width: i64, held: InBytesView, out: OutIntsView) -> i64:
    """The offsets of those texts that are held, each of which ends where the next one begins; how many texts these are.

    Offsets have `width` bytes, 4 or 8. It is -1 if there are bytes of a text that is not held.
    """
    k: i64
    count: i64 = len(held)
    kept: i64 = 0
    start: i64
    end: i64
    offsets_p: InBytes = in_bytes(offsets)
    held_p: InBytes = in_bytes(held)
    out_p: OutInts = out_ints(out)
    with nogil:
        start = load_le(offsets_p, 0, 4) if width == 4 else signed(load64(offsets_p, 0))
        out_p[0] = start
        for k in range(count):
            end = load_le(offsets_p, (k + 1) * 4, 4) if width == 4 else signed(load64(offsets_p, (k + 1) * 8))
            if held_p[k] == 0 and end != start:
                kept = -1
                break
            kept += held_p[k]
            out_p[kept] = end
            start = end
    return kept


@kernel
def lengths_of(offsets: InInts, first: i64, last: i64, out: OutInts) -> i64:
    """The lengths of texts, from out[first] on."""
    k: i64
    for k in range(first, last):
        out[k] = offsets[k + 1] - offsets[k]
    return last


def pack_texts(
    data: InBytesView,
    offsets: InIntsView,
    firsts: InIntsView,
    out: OutBytesView,
    ends: OutIntsView,
    lengths: OutIntsView,
    deltas: OutIntsView,
) -> i64:
    """Write the texts of all pages, their lengths before them (DELTA_LENGTH_BYTE_ARRAY); how many bytes they are.

    There is room for all bytes, 6 more a text, and MOST_BLOCK more for each page; `lengths` has room for one of each text.
    """
    page: i64
    at: i64 = 0
    size: i64
    data_p: InBytes = in_bytes(data)
    offsets_p: InInts = in_ints(offsets)
    firsts_p: InInts = in_ints(firsts)
    pages: i64 = len(firsts) - 1
    out_p: OutBytes = out_bytes(out)
    ends_p: OutInts = out_ints(ends)
    lengths_p: OutInts = out_ints(lengths)
    deltas_p: OutInts = out_ints(deltas)
    with nogil:
        for page in range(pages):
            lengths_of(offsets_p, firsts_p[page], firsts_p[page + 1], lengths_p)
            at = pack_page_deltas(lengths_p, firsts_p[page], firsts_p[page + 1], 32, deltas_p, out_p, at)
            size = offsets_p[firsts_p[page + 1]] - offsets_p[firsts_p[page]]
            copy_bytes(out_p, at, data_p, offsets_p[firsts_p[page]], size)
            at += size
            ends_p[page] = at
    return at


@inlined
def shared_length(data: InBytes, one: i64, other: i64, most: i64) -> i64:
    """How many bytes two texts have in common at their beginning, up to `most`."""
    k: i64 = 0
    while k + 8 <= most and load64(data, one + k) == load64(data, other + k):
        k += 8
    while k < most and data[one + k] == data[other + k]:
        k += 1
    return k


def pack_text_changes(
    data: InBytesView,
    offsets: InIntsView,
    firsts: InIntsView,
    out: OutBytesView,
    ends: OutIntsView,
    lengths: OutIntsView,
    deltas: OutIntsView,
) -> i64:
    """Write of the texts of all pages what differs from the one before (DELTA_BYTE_ARRAY); how many bytes they are.

    There is room for all bytes, 12 more a text, and twice MOST_BLOCK more for each page; `lengths` has room for one of each text.
    """
    page: i64
    at: i64 = 0
    k: i64
    first: i64
    last: i64
    most: i64
    data_p: InBytes = in_bytes(data)
    offsets_p: InInts = in_ints(offsets)
    firsts_p: InInts = in_ints(firsts)
    pages: i64 = len(firsts) - 1
    out_p: OutBytes = out_bytes(out)
    ends_p: OutInts = out_ints(ends)
    lengths_p: OutInts = out_ints(lengths)
    deltas_p: OutInts = out_ints(deltas)
    with nogil:
        for page in range(pages):
            first = firsts_p[page]
            last = firsts_p[page + 1]
            for k in range(first, last):
                lengths_p[k] = 0
                if k > first:
                    most = offsets_p[k + 1] - offsets_p[k]
                    if offsets_p[k] - offsets_p[k - 1] < most:
                        most = offsets_p[k] - offsets_p[k - 1]
                    lengths_p[k] = shared_length(data_p, offsets_p[k - 1], offsets_p[k], most)
            at = pack_page_deltas(lengths_p, first, last, 32, deltas_p, out_p, at)
            for k in range(first, last):
                lengths_p[k] = offsets_p[k + 1] - offsets_p[k] - lengths_p[k]
            at = pack_page_deltas(lengths_p, first, last, 32, deltas_p, out_p, at)
            for k in range(first, last):
                copy_bytes(out_p, at, data_p, offsets_p[k + 1] - lengths_p[k], lengths_p[k])
                at += lengths_p[k]
            ends_p[page] = at
    return at


def pack_plain_texts(
    data: InBytesView, offsets: InIntsView, chosen: InIntsView, firsts: InIntsView, out: OutBytesView, ends: OutIntsView
) -> i64:
    """Write texts each behind its length (PLAIN), value k of all pages being the text chosen[k]; how many bytes they are.

    There is room for all bytes, and 4 more a text.
    """
    page: i64
    k: i64
    at: i64 = 0
    start: i64
    size: i64
    data_p: InBytes = in_bytes(data)
    offsets_p: InInts = in_ints(offsets)
    chosen_p: InInts = in_ints(chosen)
    firsts_p: InInts = in_ints(firsts)
    pages: i64 = len(firsts) - 1
    out_p: OutBytes = out_bytes(out)
    ends_p: OutInts = out_ints(ends)
    with nogil:
        for page in range(pages):
            for k in range(firsts_p[page], firsts_p[page + 1]):
                start = offsets_p[chosen_p[k]]
                size = offsets_p[chosen_p[k] + 1] - start
                store_le(out_p, at, size, 4)
                copy_bytes(out_p, at + 4, data_p, start, size)
                at += 4 + size
            ends_p[page] = at
    return at


def number_texts(data: InBytesView, offsets: InIntsView, count: i64, table: OutIntsView, indexes: OutIntsView, firsts: OutIntsView) -> i64:
    """Number texts in the order in which each comes first; how many differ, or -1 if there is no more room for one.

    indexes[k] is the number of text k, and firsts[n] the first text that has number n. `table` has zeros, a power of two of them, and is
    full when half of them are something else.
    """
    k: i64
    slot: i64
    number: i64
    found: i64 = 0
    start: i64
    length: i64
    other: i64
    hashed: u64
    data_p: InBytes = in_bytes(data)
    offsets_p: InInts = in_ints(offsets)
    table_p: OutInts = out_ints(table)
    slots: i64 = len(table)
    indexes_p: OutInts = out_ints(indexes)
    firsts_p: OutInts = out_ints(firsts)
    room: i64 = len(firsts)
    if room > slots // 2:
        room = slots // 2
    with nogil:
        for k in range(count):
            start = offsets_p[k]
            length = offsets_p[k + 1] - start
            hashed = hash_bytes(KIND_STRING, data_p, start, length, 0)
            slot = hashed & (slots - 1)
            number = -1
            while table_p[slot] != 0:
                other = firsts_p[table_p[slot] - 1]
                if offsets_p[other + 1] - offsets_p[other] == length and same_bytes(data_p, start, data_p, offsets_p[other], length):
                    number = table_p[slot] - 1
                    break
                slot = (slot + 1) & (slots - 1)
            if number < 0:
                if found == room:
                    found = -1
                    break
                firsts_p[found] = k
                number = found
                found += 1
                table_p[slot] = found
            indexes_p[k] = number
    return found


def number_integers(numbers: InIntsView, count: i64, table: OutIntsView, indexes: OutIntsView, firsts: OutIntsView) -> i64:
    """Number integers as number_texts does texts."""
    k: i64
    slot: i64
    number: i64
    found: i64 = 0
    hashed: u64
    numbers_p: InInts = in_ints(numbers)
    table_p: OutInts = out_ints(table)
    slots: i64 = len(table)
    indexes_p: OutInts = out_ints(indexes)
    firsts_p: OutInts = out_ints(firsts)
    room: i64 = len(firsts)
    if room > slots // 2:
        room = slots // 2
    with nogil:
        for k in range(count):
            hashed = hash_number(KIND_EXACT, numbers_p[k] & M64, 0, 0)
            slot = hashed & (slots - 1)
            number = -1
            while table_p[slot] != 0:
                if numbers_p[firsts_p[table_p[slot] - 1]] == numbers_p[k]:
                    number = table_p[slot] - 1
                    break
                slot = (slot + 1) & (slots - 1)
            if number < 0:
                if found == room:
                    found = -1
                    break
                firsts_p[found] = k
                number = found
                found += 1
                table_p[slot] = found
            indexes_p[k] = number
    return found


@inlined
def first_bytes(data: InBytes, at: i64, length: i64) -> u64:
    """Up to eight bytes as a number that sorts as they do."""
    word: u64 = 0
    byte: u64
    k: i64
    if length >= 8:
        return reversed_bytes(load64(data, at))
    for k in range(length):
        byte = data[at + k]
        word |= byte << (8 * k)
    return reversed_bytes(word)


@kernel
def is_before(data: InBytes, one: i64, one_end: i64, other: i64, other_end: i64) -> i64:
    """1 if one text sorts before another, as unsigned bytes."""
    while one + 8 <= one_end and other + 8 <= other_end and load64(data, one) == load64(data, other):
        one += 8
        other += 8
    while one < one_end and other < other_end:
        if data[one] != data[other]:
            return 1 if data[one] < data[other] else 0
        one += 1
        other += 1
    return 1 if one == one_end and other < other_end else 0


def find_bounds(data: InBytesView, offsets: InIntsView, firsts: InIntsView, least: OutIntsView, greatest: OutIntsView) -> i64:
    """Which text of each page sorts first and which last, as unsigned bytes; -1 where a page has none. Returns how many pages have some."""
    page: i64
    k: i64
    at: i64
    end: i64
    low: i64
    high: i64
    low_word: u64
    high_word: u64
    word: u64
    found: i64 = 0
    data_p: InBytes = in_bytes(data)
    offsets_p: InInts = in_ints(offsets)
    firsts_p: InInts = in_ints(firsts)
    pages: i64 = len(firsts) - 1
    least_p: OutInts = out_ints(least)
    greatest_p: OutInts = out_ints(greatest)
    with nogil:
        for page in range(pages):
            low = -1
            high = -1
            low_word = 0
            high_word = 0
            for k in range(firsts_p[page], firsts_p[page + 1]):
                at = offsets_p[k]
                end = offsets_p[k + 1]
                word = first_bytes(data_p, at, end - at)
                if low < 0:
                    low = k
                    high = k
                    low_word = word
                    high_word = word
                    found += 1
                    continue
                if word <= low_word:
                    if word < low_word or is_before(data_p, at, end, offsets_p[low], offsets_p[low + 1]):
                        low = k
                        low_word = word
                if word >= high_word:
                    if word > high_word or is_before(data_p, offsets_p[high], offsets_p[high + 1], at, end):
                        high = k
                        high_word = word
            least_p[page] = low
            greatest_p[page] = high
    return found
