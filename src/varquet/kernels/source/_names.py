"""Whether an object has a name twice, whatever the order of its fields and of the dictionary."""

from __future__ import annotations

from varquet.kernels.source._bytes import (
    DICT_ASCENDING,
    DICT_COUNT,
    FRAME_COUNT,
    FRAME_ID_WIDTH,
    FRAME_IDS,
    ROW_DICT,
    ROW_NAMES,
    find_name,
    names_differ,
)
from varquet.kernels.source._codes import BAD_DUPLICATE_NAME, BAD_FIELD_ID
from varquet.kernels.source._sorting import sort_ints
from varquet.kernels.source.dialect import InBytes, InInts, OutInts, i64, kernel, load_le

IN_ORDER = 1
OUT_OF_ORDER = 0
NEEDS_SORTING_ROOM = 2


@kernel
def compare_names(metadata: InBytes, one: i64, other: i64, state: OutInts) -> i64:
    """-1, 0 or 1: how the names of two field ids, both known to exist, compare."""
    find_name(metadata, state, one, ROW_NAMES)
    find_name(metadata, state, other, ROW_NAMES + 2)
    return names_differ(metadata, state[ROW_NAMES], state[ROW_NAMES + 1], state[ROW_NAMES + 2], state[ROW_NAMES + 3])


@kernel
def ids_in_name_order(metadata: InBytes, numbers: OutInts, count: i64, spare: i64, state: OutInts) -> i64:
    """Sort field ids at 0 by their names, merging by way of `spare`; returns where they are then."""
    at: i64 = 0
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
                if b >= right:
                    numbers[spare + k] = numbers[at + a]
                    a += 1
                elif a >= middle:
                    numbers[spare + k] = numbers[at + b]
                    b += 1
                else:
                    if compare_names(metadata, numbers[at + a], numbers[at + b], state) <= 0:
                        numbers[spare + k] = numbers[at + a]
                        a += 1
                    else:
                        numbers[spare + k] = numbers[at + b]
                        b += 1
            left += 2 * width
        k = at
        at = spare
        spare = k
        width *= 2
    return at


@kernel
def check_names(
    metadata: InBytes,
    value: InBytes,
    frame: InInts,
    slot: i64,
    numbers: OutInts,
    numbers_size: i64,
    state: OutInts,
) -> i64:
    """IN_ORDER, OUT_OF_ORDER but all different, NEEDS_SORTING_ROOM, or minus a code.

    The row's dictionary was checked (check_dictionary). With one that is sorted and unique, ids stand for names.
    """
    count: i64 = frame[slot + FRAME_COUNT]
    width: i64 = frame[slot + FRAME_ID_WIDTH]
    ids: i64 = frame[slot + FRAME_IDS]
    names: i64 = state[ROW_DICT + DICT_COUNT]
    by_id: i64 = state[ROW_DICT + DICT_ASCENDING]
    ordered: i64 = 1
    before: i64 = -1
    field: i64
    k: i64
    at: i64
    for k in range(count):
        field = load_le(value, ids + k * width, width)
        if field >= names:
            return -BAD_FIELD_ID
        if ordered and k > 0:
            if by_id:
                if field <= before:
                    ordered = 0
            elif compare_names(metadata, before, field, state) >= 0:
                ordered = 0
        before = field
    if ordered:
        return IN_ORDER
    if 2 * count > numbers_size:
        return NEEDS_SORTING_ROOM
    for k in range(count):
        numbers[k] = load_le(value, ids + k * width, width)
    if by_id:
        sort_ints(numbers, 0, count, count)
        for k in range(1, count):
            if numbers[k] == numbers[k - 1]:
                return -BAD_DUPLICATE_NAME
        return OUT_OF_ORDER
    at = ids_in_name_order(metadata, numbers, count, count, state)
    for k in range(1, count):
        if compare_names(metadata, numbers[at + k - 1], numbers[at + k], state) == 0:
            return -BAD_DUPLICATE_NAME
    return OUT_OF_ORDER
