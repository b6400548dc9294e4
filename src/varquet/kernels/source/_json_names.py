"""The names of rows of JSON text, or of groups of rows, as dictionaries."""

from __future__ import annotations

from varquet.kernels.source._bytes import width_of
from varquet.kernels.source._codes import (
    JSON_TOO_LARGE,
    NEED_METADATA,
)
from varquet.kernels.source._common_names import row_names_in_order
from varquet.kernels.source._interning import (
    KEY,
    KEY_PLACE,
    KEY_SERIAL,
    PADDING,
    STATE_ENTRIES,
    STATE_FOUND,
    STATE_LAST_COUNT,
    STATE_LAST_FOUND,
    STATE_LAST_METADATA,
    STATE_LAST_NAMES,
    STATE_LAST_SIZE,
    STATE_METADATA,
    STATE_NEED_SIZE,
    STATE_ROW_KEYS,
    STATE_SERIAL,
    names_size,
    sort_row_names,
    write_dictionary,
)
from varquet.kernels.source._tape import KIND_MASK, KIND_OBJECT, NODE
from varquet.kernels.source.dialect import (
    InBytes,
    InInts,
    OutBytes,
    OutInts,
    copy_within,
    i64,
    kernel,
    signed,
    u64,
)

KEYS_MAX = 65536


@kernel
def write_names(
    names: InInts,
    at: i64,
    count: i64,
    total: i64,
    ranks: OutInts,
    keys: InBytes,
    info: InInts,
    metadata: OutBytes,
    metadata_size: i64,
    state: OutInts,
) -> i64:
    """Write the dictionary of `count` names of `total` bytes that are in order; 0, or what is too small, or minus an error code."""
    out: i64 = state[STATE_METADATA]
    width: i64
    if total > 0xFFFFFFFF:
        return -JSON_TOO_LARGE
    width = width_of(total if total > count else count)
    if out + 1 + (count + 2) * width + total + PADDING > metadata_size:
        state[STATE_NEED_SIZE] = out + 1 + (count + 2) * width + total + PADDING
        return NEED_METADATA
    state[STATE_METADATA] = out + write_dictionary(names, at, count, width, ranks, keys, info, metadata, out)
    return 0


@kernel
def write_row_names(
    row_keys: OutInts,
    ranked: OutInts,
    spare: i64,
    common: OutInts,
    sorting: OutInts,
    ranks: OutInts,
    keys: InBytes,
    info: OutInts,
    metadata: OutBytes,
    metadata_size: i64,
    state: OutInts,
) -> i64:
    """Write the dictionary of the row's names, of which there are STATE_ROW_KEYS then; like `write_names`.

    Those that the row before had besides the common ones are in row_keys[spare:].
    """
    others: i64 = state[STATE_ROW_KEYS]
    count: i64
    out: i64 = state[STATE_METADATA]
    at: i64 = 0
    total: i64
    code: i64
    k: i64 = 0
    if others == state[STATE_LAST_NAMES] and state[STATE_FOUND] == state[STATE_LAST_FOUND]:
        while k < others and row_keys[k] == row_keys[spare + k]:
            k += 1
        if k == others:
            if out + state[STATE_LAST_SIZE] > metadata_size:
                state[STATE_NEED_SIZE] = out + state[STATE_LAST_SIZE]
                return NEED_METADATA
            copy_within(metadata, out, state[STATE_LAST_METADATA], state[STATE_LAST_SIZE])
            state[STATE_METADATA] = out + state[STATE_LAST_SIZE]
            state[STATE_ROW_KEYS] = state[STATE_LAST_COUNT]
            return 0
    for k in range(others):
        row_keys[spare + k] = row_keys[k]
    state[STATE_LAST_FOUND] = state[STATE_FOUND]
    total = row_names_in_order(row_keys, common, sorting, info, keys, state)
    count = state[STATE_ROW_KEYS]
    if total < 0:
        total = names_size(row_keys, 0, count, info)
        for k in range(count):
            sorting[k] = row_keys[k]
        at = sort_row_names(sorting, count, ranked, spare, info, keys, state)
    code = write_names(sorting, at, count, total, ranks, keys, info, metadata, metadata_size, state)
    state[STATE_LAST_NAMES] = others if code == 0 else -1
    state[STATE_LAST_COUNT] = count
    state[STATE_LAST_METADATA] = out
    state[STATE_LAST_SIZE] = state[STATE_METADATA] - out
    return code


@kernel
def keep_names(tape: InInts, row_keys: OutInts, info: OutInts, state: OutInts) -> i64:
    """Collect the row's names again, without those that no field has any more."""
    node: i64 = 0
    child: i64
    key: i64
    names: i64 = 0
    found: u64 = 0
    one: u64 = 1
    state[STATE_SERIAL] += 1
    while node < tape[2]:
        if tape[node] & KIND_MASK == KIND_OBJECT:
            child = node + NODE
            while child < tape[node + 2]:
                key = tape[child] >> 16
                if info[key * KEY + KEY_PLACE] > 0:
                    found |= one << (info[key * KEY + KEY_PLACE] - 1)
                elif info[key * KEY + KEY_SERIAL] != state[STATE_SERIAL]:
                    info[key * KEY + KEY_SERIAL] = state[STATE_SERIAL]
                    row_keys[names] = key
                    names += 1
                child = tape[child + 2]
        node += NODE
    state[STATE_ROW_KEYS] = names
    state[STATE_FOUND] = signed(found)
    return names


@kernel
def take_back_names(used: i64, state: OutInts) -> i64:
    """Forget the metadata that was written for a row, which has no other use then."""
    state[STATE_METADATA] = used
    state[STATE_LAST_NAMES] = -1
    return 0


@kernel
def forget_names(row_keys: InInts, first: i64, info: OutInts, state: OutInts) -> i64:
    """Take back the names of row_keys from `first` on."""
    k: i64
    for k in range(first, state[STATE_ROW_KEYS]):
        info[row_keys[k] * KEY + KEY_SERIAL] = -1
    state[STATE_ROW_KEYS] = first
    return 0


@kernel
def write_group_names(
    row_keys: InInts,
    ranked: OutInts,
    spare: i64,
    sorting: OutInts,
    ranks: OutInts,
    keys: InBytes,
    info: OutInts,
    metadata: OutBytes,
    metadata_size: i64,
    metadata_offsets: OutInts,
    state: OutInts,
) -> i64:
    """Write the dictionary of the group's names as the next entry; 0, or what is too small, or minus an error code."""
    count: i64 = state[STATE_ROW_KEYS]
    at: i64
    code: i64
    k: i64
    for k in range(count):
        sorting[k] = row_keys[k]
    at = sort_row_names(sorting, count, ranked, spare, info, keys, state)
    code = write_names(sorting, at, count, names_size(sorting, at, at + count, info), ranks, keys, info, metadata, metadata_size, state)
    if code == 0:
        state[STATE_ENTRIES] += 1
        metadata_offsets[state[STATE_ENTRIES]] = state[STATE_METADATA]
    return code
