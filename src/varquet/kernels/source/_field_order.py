"""The fields of an object in the order of their names, from its columns and from its residual."""

from __future__ import annotations

from varquet.kernels.source._bytes import check_dictionary
from varquet.kernels.source._codes import BAD_DUPLICATE_NAME
from varquet.kernels.source._names import compare_names
from varquet.kernels.source._sorting import sort_ints
from varquet.kernels.source.dialect import InBytes, OutInts, i64, inlined, kernel

# What is known of a field that an object gets: its id, where its bytes are, and how many; those of the residual at ~PART_START.
PART_ID = 0
PART_START = 1
PART_SIZE = 2
PART_SLOTS = 3


@kernel
def sort_keys(
    metadata: InBytes,
    metadata_start: i64,
    metadata_end: i64,
    is_ascending: i64,
    parts: OutInts,
    keys: i64,
    count: i64,
    state: OutInts,
) -> i64:
    """Sort `count` keys (field id << 32 | place) at `keys`, behind which is room for as many, by name.

    Returns where they are then, or minus a code where a name stands twice.
    """
    k: i64
    width: i64 = 1
    left: i64
    middle: i64
    right: i64
    a: i64
    b: i64
    at: i64 = keys
    spare: i64 = keys + count
    code: i64
    if is_ascending:
        sort_ints(parts, keys, count, spare)
        for k in range(keys + 1, keys + count):
            if parts[k - 1] >> 32 == parts[k] >> 32:
                return -BAD_DUPLICATE_NAME
        return keys
    code = check_dictionary(metadata, metadata_start, metadata_end, state)
    if code < 0:
        return code
    while width < count:
        left = 0
        while left < count:
            middle = left + width if left + width < count else count
            right = left + 2 * width if left + 2 * width < count else count
            a = left
            b = middle
            for k in range(left, right):
                if b >= right or (a < middle and compare_names(metadata, parts[at + a] >> 32, parts[at + b] >> 32, state) <= 0):
                    parts[spare + k] = parts[at + a]
                    a += 1
                else:
                    parts[spare + k] = parts[at + b]
                    b += 1
            left += 2 * width
        k = at
        at = spare
        spare = k
        width *= 2
    for k in range(at + 1, at + count):
        if compare_names(metadata, parts[k - 1] >> 32, parts[k] >> 32, state) == 0:
            return -BAD_DUPLICATE_NAME
    return at


@inlined
def copy_part(parts: OutInts, to: i64, at: i64) -> i64:
    """Copy what is known of a field; the position behind it."""
    parts[to + PART_ID] = parts[at + PART_ID]
    parts[to + PART_START] = parts[at + PART_START]
    parts[to + PART_SIZE] = parts[at + PART_SIZE]
    return to + PART_SLOTS


@kernel
def merge_parts(parts: OutInts, count: i64, shredded: i64, spare: i64) -> i64:
    """Merge two runs of parts that ascend by id, the first `shredded` and the others, to `spare`; the position behind them."""
    a: i64 = 0
    b: i64 = shredded * PART_SLOTS
    middle: i64 = b
    end: i64 = count * PART_SLOTS
    while b < end:
        while a < middle and parts[a + PART_ID] < parts[b + PART_ID]:
            spare = copy_part(parts, spare, a)
            a += PART_SLOTS
        spare = copy_part(parts, spare, b)
        b += PART_SLOTS
    while a < middle:
        spare = copy_part(parts, spare, a)
        a += PART_SLOTS
    return spare


@kernel
def sort_parts(
    metadata: InBytes,
    metadata_start: i64,
    metadata_end: i64,
    is_ascending: i64,
    parts: OutInts,
    count: i64,
    spare: i64,
    state: OutInts,
) -> i64:
    """Put parts that have any order into that of their names, to `spare`; 0, or minus a code where a name stands twice."""
    keys: i64 = spare + count * PART_SLOTS
    k: i64
    at: i64
    for k in range(count):
        parts[keys + k] = (parts[k * PART_SLOTS + PART_ID] << 32) | k
    at = sort_keys(metadata, metadata_start, metadata_end, is_ascending, parts, keys, count, state)
    if at < 0:
        return at
    for k in range(count):
        copy_part(parts, spare + k * PART_SLOTS, (parts[at + k] & 0xFFFFFFFF) * PART_SLOTS)
    return 0
