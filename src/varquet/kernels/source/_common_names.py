"""The names of one row in order, found fast where rows have much the same names.

Up to COMMON names that most rows have get a place among themselves, in order. A row's names are then a set of bits, which is
in order by itself, and the few others, each of which knows between which of the common names it belongs (KEY_PLACE):

    k + 1    it is common name k
    -k - 1   it is no common one, and comes before common name k
    0        not known yet
    -k       while rows are counted to find the common names: so many rows have had it

Rows with many other names are sorted otherwise; where these get too many, the common names are found anew.
"""

from __future__ import annotations

from varquet.kernels.source._interning import (
    KEY,
    KEY_LENGTH,
    KEY_PLACE,
    STATE_COMMON,
    STATE_FOUND,
    STATE_KEYS,
    STATE_ROW_KEYS,
    STATE_TO_COUNT,
    STATE_UNCOMMON_ROWS,
    names_in_order,
    sort_names,
)
from varquet.kernels.source.dialect import M64, InBytes, InInts, OutInts, i64, kernel, trailing_zeros, u64

COMMON = 64
# So many rows are counted, and a common name is in so many of them at least.
ROWS_TO_COUNT = 128
ROWS_WITH_IT = 3
# So many rows may have more other names than MOST_OTHERS, and the common ones are found anew.
MOST_OTHERS = 12
MOST_UNCOMMON_ROWS = 1024


@kernel
def find_common_names(common: OutInts, spare: OutInts, info: OutInts, keys: InBytes, state: OutInts) -> i64:
    """Choose the common names of the rows that were counted, and put them in order."""
    known: i64 = state[STATE_KEYS]
    least: i64 = ROWS_TO_COUNT
    count: i64 = 0
    fit: i64 = 0
    at: i64
    key: i64
    rows: i64
    # How many names are in how many rows, and from how many on all of them fit.
    for rows in range(ROWS_TO_COUNT + 1):
        spare[rows] = 0
    for key in range(1, known):
        spare[-info[key * KEY + KEY_PLACE]] += 1
    while least >= ROWS_WITH_IT and fit + spare[least] <= COMMON:
        fit += spare[least]
        least -= 1
    for key in range(1, known):
        rows = -info[key * KEY + KEY_PLACE]
        info[key * KEY + KEY_PLACE] = 0
        if rows > least or (rows == least and rows >= ROWS_WITH_IT and fit < COMMON):
            if rows == least:
                fit += 1
            spare[count] = key
            count += 1
    at = sort_names(spare, 0, count, count, info, keys)
    for key in range(count):
        common[key] = spare[at + key]
        info[common[key] * KEY + KEY_PLACE] = key + 1
    state[STATE_COMMON] = count
    state[STATE_UNCOMMON_ROWS] = 0
    if count == 0:
        # Looking at all names again must not cost more than having read them.
        state[STATE_TO_COUNT] = -known
    return count


@kernel
def count_names(row_keys: InInts, count: i64, common: OutInts, spare: OutInts, info: OutInts, keys: InBytes, state: OutInts) -> i64:
    """Count the names of a row, unless it is to be passed over; behind the last one to be counted the common names are chosen."""
    k: i64
    if state[STATE_TO_COUNT] < 0:
        state[STATE_TO_COUNT] += 1
        return 0
    if state[STATE_TO_COUNT] == 0:
        state[STATE_TO_COUNT] = ROWS_TO_COUNT
    for k in range(count):
        info[row_keys[k] * KEY + KEY_PLACE] -= 1
    state[STATE_TO_COUNT] -= 1
    if state[STATE_TO_COUNT] == 0:
        find_common_names(common, spare, info, keys, state)
    return 0


@kernel
def forget_common_names(info: OutInts, state: OutInts) -> i64:
    """Let no name be common, and none have a place."""
    key: i64
    for key in range(1, state[STATE_KEYS]):
        info[key * KEY + KEY_PLACE] = 0
    state[STATE_COMMON] = 0
    state[STATE_TO_COUNT] = 0
    return 0


@kernel
def place_name(key: i64, common: InInts, info: OutInts, keys: InBytes, state: InInts) -> i64:
    """Find between which common names a name belongs."""
    low: i64 = 0
    high: i64 = state[STATE_COMMON]
    middle: i64
    while low < high:
        middle = (low + high) >> 1
        if names_in_order(info, keys, common[middle], key):
            low = middle + 1
        else:
            high = middle
    info[key * KEY + KEY_PLACE] = -low - 1
    return -low - 1


@kernel
def row_names_in_order(row_keys: OutInts, common: OutInts, names: OutInts, info: OutInts, keys: InBytes, state: OutInts) -> i64:
    """Write a row's names in order to `names`; their bytes, or -1 if that way is not theirs. It takes COMMON + 2 * MOST_OTHERS places.

    The common ones are bits of STATE_FOUND, the others STATE_ROW_KEYS names in row_keys. Afterwards STATE_ROW_KEYS counts them all; if
    that way is not theirs, all are in row_keys.
    """
    found: u64 = state[STATE_FOUND] & M64
    part: u64
    one: u64 = 1
    others: i64 = state[STATE_ROW_KEYS]
    made: i64 = 0
    size: i64 = 0
    place: i64
    key: i64
    at: i64
    k: i64
    if state[STATE_COMMON] == 0:
        count_names(row_keys, others, common, names, info, keys, state)
        return -1
    if others > MOST_OTHERS:
        while found:
            row_keys[others] = common[trailing_zeros(found)]
            found &= found - 1
            others += 1
        state[STATE_ROW_KEYS] = others
        state[STATE_UNCOMMON_ROWS] += 1
        if state[STATE_UNCOMMON_ROWS] > MOST_UNCOMMON_ROWS:
            forget_common_names(info, state)
        return -1
    # The others in order among themselves, of which there are few, behind all that there may be.
    for k in range(others):
        key = row_keys[k]
        place = info[key * KEY + KEY_PLACE]
        if place == 0:
            place = place_name(key, common, info, keys, state)
        at = COMMON + MOST_OTHERS + k
        while at > COMMON + MOST_OTHERS and (
            info[names[at - 1] * KEY + KEY_PLACE] < place
            or (info[names[at - 1] * KEY + KEY_PLACE] == place and names_in_order(info, keys, key, names[at - 1]))
        ):
            names[at] = names[at - 1]
            at -= 1
        names[at] = key
    for k in range(others + 1):
        part = found
        if k < others:
            place = -info[names[COMMON + MOST_OTHERS + k] * KEY + KEY_PLACE] - 1
            if place < 64:
                part &= (one << place) - 1
        found ^= part
        while part:
            key = common[trailing_zeros(part)]
            names[made] = key
            size += info[key * KEY + KEY_LENGTH]
            part &= part - 1
            made += 1
        if k < others:
            key = names[COMMON + MOST_OTHERS + k]
            names[made] = key
            size += info[key * KEY + KEY_LENGTH]
            made += 1
    state[STATE_ROW_KEYS] = made
    return size
