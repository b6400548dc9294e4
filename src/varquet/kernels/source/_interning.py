"""Field names interned over many rows, and put in order.

Name 0 is no name. The names are copied one behind the other into `keys`, with KEY numbers about each in `info`; `table` finds
them by their hash. All of it grows by its driver, who is told what is missing by STATE_NEED.
"""

from __future__ import annotations

from varquet.kernels.source._codes import NEED_KEY_BYTES, NEED_KEYS
from varquet.kernels.source.dialect import (
    M64,
    InBytes,
    InInts,
    OutBytes,
    OutInts,
    copy_bytes,
    i64,
    inlined,
    kernel,
    load64,
    load_le,
    reversed_bytes,
    same_bytes,
    signed,
    store64,
    store_le,
    trailing_zeros,
    u64,
)

# The state of a call, kept between the calls that finish one slice.
STATE_KEYS = 0
STATE_KEY_BYTES = 1
STATE_SERIAL = 2
STATE_METADATA = 3
STATE_VALUE = 4
STATE_NEED = 5
STATE_NEED_SIZE = 6
STATE_SCALARS = 7
STATE_ROW_KEYS = 8
STATE_OFFSET = 9
STATE_SEED = 10
STATE_RANKED = 11
STATE_SORTED = 12
STATE_TAPE = 13
STATE_ENTRIES = 14
STATE_GROUP_ENDS = 15
STATE_NAME_BYTES = 16
STATE_TO_COUNT = 17
STATE_COMMON = 18
STATE_UNCOMMON_ROWS = 19
STATE_LAST_NAMES = 20
STATE_LAST_METADATA = 21
STATE_LAST_SIZE = 22
STATE_FOUND = 23
STATE_LAST_FOUND = 24
STATE_LAST_COUNT = 25
STATE_CONTAINERS = 26
STATE_WRITTEN_NAMES = 27
STATE_SIZE = 28

# An interned field name. Name 0 is no name: it stands before the first one of a row.
KEY = 8
KEY_START = 0
KEY_LENGTH = 1
KEY_HASH = 2
KEY_WORD = 3
KEY_NEXT = 4
KEY_NEXT_BUT_ONE = 5
KEY_SERIAL = 6
KEY_PLACE = 7

# Short strings are copied 64 bytes at a time (`copy_wide`), so names and outputs have that much room behind them.
PADDING = 64


@inlined
def hash_name(name: InBytes, at: i64, length: i64, seed: u64) -> i64:
    mixed: u64 = seed ^ length
    word: u64
    prime: u64 = 0x9E3779B97F4A7C15
    end: i64 = at + length
    if length >= 8:
        while at + 8 < end:
            mixed = ((mixed ^ load64(name, at)) * prime) & M64
            mixed ^= mixed >> 32
            at += 8
        # The last eight bytes, some of which may have been counted already.
        word = load64(name, end - 8)
    elif length >= 4:
        word = load_le(name, at, 4)
        word |= (load_le(name, end - 4, 4) << 32) & M64
    elif length > 0:
        word = name[at] | (name[at + (length >> 1)] << 8) | (name[end - 1] << 16)
    else:
        word = 0
    mixed = ((mixed ^ word) * prime) & M64
    mixed ^= mixed >> 32
    mixed = (mixed * prime) & M64
    return signed(mixed >> 20)


@inlined
def intern_name(
    name: InBytes,
    at: i64,
    length: i64,
    keys: OutBytes,
    keys_size: i64,
    info: OutInts,
    info_size: i64,
    table: OutInts,
    slots: i64,
    state: OutInts,
) -> i64:
    """The number of a field name, new or known; -1 where it has no room (STATE_NEED says which)."""
    mixed: i64 = hash_name(name, at, length, state[STATE_SEED] & M64)
    return intern_hashed(name, at, length, mixed, keys, keys_size, info, info_size, table, slots, state)


@kernel
def intern_hashed(
    name: InBytes,
    at: i64,
    length: i64,
    mixed: i64,
    keys: OutBytes,
    keys_size: i64,
    info: OutInts,
    info_size: i64,
    table: OutInts,
    slots: i64,
    state: OutInts,
) -> i64:
    """What intern_name does, for a name whose hash is known."""
    slot: i64 = mixed & (slots - 1)
    key: i64
    start: i64
    word: u64 = 0
    quote: u64 = 34
    k: i64
    if length >= 4 and length < 8:
        # All that is to be compared is in one cache line.
        word = (load_le(name, at + length - 4, 4) >> (8 * (8 - length))) & M64
        word = load_le(name, at, 4) | ((word << 32) & M64) | ((quote << (8 * length)) & M64)
        while table[slot] != 0:
            key = table[slot]
            if info[key * KEY + KEY_WORD] == signed(word) and info[key * KEY + KEY_LENGTH] == length:
                return key
            slot = (slot + 1) & (slots - 1)
    else:
        while table[slot] != 0:
            key = table[slot]
            if info[key * KEY + KEY_HASH] == mixed and info[key * KEY + KEY_LENGTH] == length:
                if same_bytes(keys, info[key * KEY + KEY_START], name, at, length):
                    return key
            slot = (slot + 1) & (slots - 1)
    key = state[STATE_KEYS]
    start = state[STATE_KEY_BYTES]
    if (key + 1) * KEY > info_size:
        state[STATE_NEED] = NEED_KEYS
        return -1
    if start + length + PADDING > keys_size:
        state[STATE_NEED] = NEED_KEY_BYTES
        state[STATE_NEED_SIZE] = start + length + PADDING
        return -1
    copy_bytes(keys, start, name, at, length)
    # Its first eight bytes as they are in a text: the quote behind a shorter name belongs to them.
    word = 0
    for k in range(7, -1, -1):
        word = ((word << 8) & M64) | (name[at + k] if k < length else (34 if k == length else 0))
    info[key * KEY + KEY_START] = start
    info[key * KEY + KEY_LENGTH] = length
    info[key * KEY + KEY_HASH] = mixed
    info[key * KEY + KEY_WORD] = signed(word)
    info[key * KEY + KEY_NEXT] = 0
    info[key * KEY + KEY_NEXT_BUT_ONE] = 0
    info[key * KEY + KEY_SERIAL] = -1
    info[key * KEY + KEY_PLACE] = 0
    table[slot] = key
    state[STATE_KEYS] = key + 1
    state[STATE_KEY_BYTES] = start + length
    return key


@inlined
def leading_bytes(info: InInts, key: i64) -> u64:
    """The first eight bytes of a name as a number that compares as they do; zeros behind a shorter one."""
    length: i64 = info[key * KEY + KEY_LENGTH]
    word: u64 = info[key * KEY + KEY_WORD] & M64
    one: u64 = 1
    if length < 8:
        word &= (one << (8 * length)) - 1
    return reversed_bytes(word)


@kernel
def names_in_order(info: InInts, keys: InBytes, one: i64, other: i64) -> i64:
    """1 if name `one` comes before name `other` by unsigned bytes."""
    k: i64
    length: i64
    a: i64
    b: i64
    first: u64 = leading_bytes(info, one)
    second: u64 = leading_bytes(info, other)
    if first != second:
        return 1 if first < second else 0
    a = info[one * KEY + KEY_START]
    b = info[other * KEY + KEY_START]
    length = info[one * KEY + KEY_LENGTH]
    if info[other * KEY + KEY_LENGTH] < length:
        length = info[other * KEY + KEY_LENGTH]
    for k in range(length):
        if keys[a + k] != keys[b + k]:
            return 1 if keys[a + k] < keys[b + k] else 0
    return 1 if info[one * KEY + KEY_LENGTH] < info[other * KEY + KEY_LENGTH] else 0


@kernel
def sort_names(names: OutInts, at: i64, count: i64, spare: i64, info: InInts, keys: InBytes) -> i64:
    """Sort name numbers at `at` by their bytes, merging runs by way of `spare`; returns where the sorted ones are."""
    width: i64 = 1
    left: i64
    middle: i64
    right: i64
    a: i64
    b: i64
    k: i64
    while width < count:
        left = 0
        while left < count:
            middle = left + width if left + width < count else count
            right = left + 2 * width if left + 2 * width < count else count
            a = left
            b = middle
            for k in range(left, right):
                if b >= right or (a < middle and names_in_order(info, keys, names[at + b], names[at + a]) == 0):
                    names[spare + k] = names[at + a]
                    a += 1
                else:
                    names[spare + k] = names[at + b]
                    b += 1
            left += 2 * width
        k = at
        at = spare
        spare = k
        width *= 2
    return at


@kernel
def rank_names(ranked: OutInts, spare: i64, info: OutInts, keys: InBytes, state: OutInts) -> i64:
    """Put all names known by now in order: ranked[r] is the name of rank r, ranked[spare + name] its rank."""
    count: i64 = state[STATE_KEYS] - 1
    k: i64
    at: i64
    for k in range(count):
        ranked[k] = k + 1
    at = sort_names(ranked, 0, count, spare, info, keys)
    if at != 0:
        for k in range(count):
            ranked[k] = ranked[at + k]
    for k in range(count):
        ranked[spare + ranked[k]] = k
    state[STATE_RANKED] = count
    state[STATE_SORTED] = 0
    return 0


@kernel
def sort_row_names(names: OutInts, count: i64, ranked: OutInts, spare: i64, info: OutInts, keys: InBytes, state: OutInts) -> i64:
    """Sort a row's name numbers, at 0, by their bytes; returns where they are then. There is room for as many behind them.

    Names are ranked once, and again only when as many have been sorted without ranks as there are. Bits in ranked[2 * spare:] (one for
    each rank, and one for each word of those; all zero between calls) put the names in order; the few that have no rank are sorted
    among themselves and put between the others.
    """
    k: i64
    bits: i64
    tops: i64
    rank: i64
    word: i64
    top: i64
    at: i64
    low: i64
    high: i64
    middle: i64
    found: i64
    one: i64 = 1
    unranked: i64 = 0
    for k in range(count):
        if names[k] > state[STATE_RANKED]:
            names[count + unranked] = names[k]
            unranked += 1
    state[STATE_SORTED] += unranked
    if unranked > 0 and state[STATE_SORTED] >= state[STATE_KEYS]:
        rank_names(ranked, spare, info, keys, state)
        unranked = 0
    if 2 * unranked > count:
        return sort_names(names, 0, count, count, info, keys)
    bits = 2 * spare
    tops = bits + (spare >> 5) + 1
    for k in range(count):
        if names[k] <= state[STATE_RANKED]:
            rank = ranked[spare + names[k]]
            ranked[bits + (rank >> 5)] |= one << (rank & 31)
            ranked[tops + (rank >> 10)] |= one << ((rank >> 5) & 31)
    found = 0
    for k in range((state[STATE_RANKED] >> 10) + 1):
        top = ranked[tops + k]
        ranked[tops + k] = 0
        while top:
            at = (k << 5) + trailing_zeros(top)
            top &= top - 1
            word = ranked[bits + at]
            ranked[bits + at] = 0
            while word:
                names[found] = ranked[(at << 5) + trailing_zeros(word)]
                found += 1
                word &= word - 1
    if unranked == 0:
        return 0
    at = sort_names(names, count, unranked, count + unranked, info, keys)
    # From the last on, each goes behind the last of the others that comes before it.
    high = found
    for k in range(unranked - 1, -1, -1):
        low = 0
        found = high
        while low < high:
            middle = (low + high) >> 1
            if names_in_order(info, keys, names[middle], names[at + k]):
                low = middle + 1
            else:
                high = middle
        while found > high:
            found -= 1
            names[found + k + 1] = names[found]
        names[high + k] = names[at + k]
    return 0


@kernel
def names_size(names: InInts, first: i64, last: i64, info: InInts) -> i64:
    """The bytes of names `first` to `last`."""
    k: i64
    total: i64 = 0
    for k in range(first, last):
        total += info[names[k] * KEY + KEY_LENGTH]
    return total


@kernel
def write_dictionary(
    names: InInts, at: i64, count: i64, width: i64, ranks: OutInts, keys: InBytes, info: InInts, metadata: OutBytes, out: i64
) -> i64:
    """Write the metadata of `count` names that are in order, and the rank of each to `ranks`; how many bytes it has.

    It needs PADDING bytes of room behind it.
    """
    k: i64
    name: i64
    start: i64
    length: i64
    to: i64 = out + 1 + (count + 2) * width
    total: i64 = 0
    metadata[out] = 1 | ((width - 1) << 6) | (16 if count > 0 else 0)
    store_le(metadata, out + 1, count, width)
    for k in range(count):
        name = names[at + k]
        ranks[name] = k
        store_le(metadata, out + 1 + (k + 1) * width, total, width)
        length = info[name * KEY + KEY_LENGTH]
        if length <= 8:
            store64(metadata, to + total, info[name * KEY + KEY_WORD])
        else:
            start = info[name * KEY + KEY_START]
            if length <= 16:
                store64(metadata, to + total, load64(keys, start))
                store64(metadata, to + total + 8, load64(keys, start + 8))
            else:
                copy_bytes(metadata, to + total, keys, start, length)
        total += length
    store_le(metadata, out + 1 + (count + 1) * width, total, width)
    return total + 1 + (count + 2) * width
