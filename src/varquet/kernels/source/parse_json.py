"""JSON text to Variant bytes in three steps: read to a tape, fix the dictionary, write.

`parse_rows` takes these steps a row at a time: every row gets a dictionary with its own names. `parse_shared_rows` takes them
for as many rows as the tape holds, which get one dictionary with the names of all of them.
"""

from __future__ import annotations

from varquet.kernels.source._bytes import width_of
from varquet.kernels.source._codes import (
    JSON_NEW_NAME,
    JSON_TOO_LARGE,
    NEED_FRESH_KEYS,
    NEED_METADATA,
    NEED_NOTHING,
    NEED_SCALARS,
    NEED_TAPE,
    NEED_VALUE,
)
from varquet.kernels.source._common_names import forget_common_names, row_names_in_order
from varquet.kernels.source._interning import (
    KEY,
    KEY_HASH,
    KEY_PLACE,
    KEY_SERIAL,
    PADDING,
    STATE_COMMON,
    STATE_CONTAINERS,
    STATE_ENTRIES,
    STATE_FOUND,
    STATE_GROUP_ENDS,
    STATE_KEYS,
    STATE_LAST_COUNT,
    STATE_LAST_FOUND,
    STATE_LAST_METADATA,
    STATE_LAST_NAMES,
    STATE_LAST_SIZE,
    STATE_METADATA,
    STATE_NAME_BYTES,
    STATE_NEED,
    STATE_NEED_SIZE,
    STATE_OFFSET,
    STATE_ROW_KEYS,
    STATE_SCALARS,
    STATE_SERIAL,
    STATE_TAPE,
    STATE_VALUE,
    names_size,
    sort_row_names,
    write_dictionary,
)
from varquet.kernels.source._json_reading import parse_row
from varquet.kernels.source._tape import KIND_MASK, KIND_OBJECT, NODE, drop_duplicates, size_again, write_row
from varquet.kernels.source.dialect import (
    InBytes,
    InBytesView,
    InInts,
    InIntsView,
    OutBytes,
    OutBytesView,
    OutInts,
    OutIntsView,
    copy_within,
    find_byte,
    i64,
    in_bytes,
    in_ints,
    kernel,
    nogil,
    out_bytes,
    out_ints,
    signed,
    u64,
)

KEYS_MAX = 65536

# What is kept of each row of a group.
ROOT_NODE = 0
ROOT_CONTAINERS = 1
ROOT_LAST_CONTAINER = 2
ROOT_SCALARS = 3
ROOT_LAST_SCALAR = 4
ROOT = 5

# A group of rows that shares its metadata has no more bytes of names than this, unless one row has.
MOST_NAME_BYTES = 65536


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
def convert_row(
    data: InBytes,
    data_size: i64,
    at: i64,
    end: i64,
    keep_last: i64,
    tape: OutInts,
    tape_size: i64,
    containers: OutInts,
    scalars: OutBytes,
    scalars_size: i64,
    keys: OutBytes,
    keys_size: i64,
    info: OutInts,
    info_size: i64,
    table: OutInts,
    slots: i64,
    row_keys: OutInts,
    ranked: OutInts,
    sorting: OutInts,
    common: OutInts,
    ranks: OutInts,
    powers: InInts,
    metadata: OutBytes,
    metadata_size: i64,
    value: OutBytes,
    value_size: i64,
    state: OutInts,
) -> i64:
    """Turn one text into metadata and value; 0, or minus an error code, or the buffer that is too small."""
    code: i64
    used: i64 = state[STATE_METADATA]
    spare: i64 = info_size // KEY
    start: i64 = at
    if state[STATE_KEYS] > KEYS_MAX:
        return NEED_FRESH_KEYS
    state[STATE_SERIAL] += 1
    state[STATE_ROW_KEYS] = 0
    state[STATE_TAPE] = 0
    state[STATE_CONTAINERS] = 0
    state[STATE_SCALARS] = 0
    code = parse_row(
        data,
        data_size,
        at,
        end,
        tape,
        tape_size,
        containers,
        scalars,
        scalars_size,
        keys,
        keys_size,
        info,
        info_size,
        table,
        slots,
        row_keys,
        powers,
        state,
    )
    if code != NEED_NOTHING:
        return code
    state[STATE_OFFSET] = start
    code = write_row_names(row_keys, ranked, spare, common, sorting, ranks, keys, info, metadata, metadata_size, state)
    if code != 0:
        return code
    if state[STATE_ROW_KEYS] > 256:
        size_again(tape, 0, ranks)
    if tape[3] > 0xFFFFFFFF:
        take_back_names(used, state)
        return -JSON_TOO_LARGE
    if state[STATE_VALUE] + tape[3] + PADDING > value_size:
        take_back_names(used, state)
        state[STATE_NEED_SIZE] = state[STATE_VALUE] + tape[3] + PADDING
        return NEED_VALUE
    at = write_row(
        scalars,
        0,
        state[STATE_SCALARS],
        tape,
        containers,
        0,
        state[STATE_CONTAINERS],
        ranks,
        state[STATE_ROW_KEYS],
        sorting,
        value,
        state[STATE_VALUE],
    )
    if at < 0:
        take_back_names(used, state)
        if keep_last == 0:
            return -JSON_NEW_NAME
        drop_duplicates(tape, 0, containers, 0, scalars, 0, ranks, sorting, state)
        # Names that only dropped values had go too.
        keep_names(tape, row_keys, info, state)
        code = write_row_names(row_keys, ranked, spare, common, sorting, ranks, keys, info, metadata, metadata_size, state)
        if code != 0:
            return code
        size_again(tape, 0, ranks)
        at = write_row(
            scalars,
            0,
            state[STATE_SCALARS],
            tape,
            containers,
            0,
            state[STATE_CONTAINERS],
            ranks,
            state[STATE_ROW_KEYS],
            sorting,
            value,
            state[STATE_VALUE],
        )
    state[STATE_VALUE] = at
    return 0


def parse_rows(
    data: InBytesView,
    offsets: InIntsView,
    valid: InBytesView,
    first: i64,
    last: i64,
    keep_last: i64,
    tape: OutIntsView,
    containers: OutIntsView,
    scalars: OutBytesView,
    keys: OutBytesView,
    info: OutIntsView,
    table: OutIntsView,
    row_keys: OutIntsView,
    ranked: OutIntsView,
    sorting: OutIntsView,
    common: OutIntsView,
    ranks: OutIntsView,
    powers: InIntsView,
    metadata: OutBytesView,
    metadata_offsets: OutIntsView,
    value: OutBytesView,
    value_offsets: OutIntsView,
    status: OutIntsView,
    state: OutIntsView,
) -> i64:
    """Turn rows `first` to `last` of a text column into Variants; the row reached.

    Row k is the text from offsets[k] to offsets[k + 1]. A row that is null (valid[k] == 0) or refused gets no bytes; a
    refused one has its error code and byte offset in the text, code | offset << 8, in status[k]. Where a buffer is too
    small, STATE_NEED names it, and the call is repeated from the row reached.
    """
    row: i64 = first
    code: i64
    data_p: InBytes = in_bytes(data)
    data_size: i64 = len(data)
    offsets_p: InInts = in_ints(offsets)
    valid_p: InBytes = in_bytes(valid)
    tape_p: OutInts = out_ints(tape)
    tape_size: i64 = len(tape)
    containers_p: OutInts = out_ints(containers)
    scalars_p: OutBytes = out_bytes(scalars)
    scalars_size: i64 = len(scalars)
    keys_p: OutBytes = out_bytes(keys)
    keys_size: i64 = len(keys)
    info_p: OutInts = out_ints(info)
    info_size: i64 = len(info)
    table_p: OutInts = out_ints(table)
    slots: i64 = len(table)
    row_keys_p: OutInts = out_ints(row_keys)
    ranked_p: OutInts = out_ints(ranked)
    sorting_p: OutInts = out_ints(sorting)
    common_p: OutInts = out_ints(common)
    ranks_p: OutInts = out_ints(ranks)
    powers_p: InInts = in_ints(powers)
    metadata_p: OutBytes = out_bytes(metadata)
    metadata_size: i64 = len(metadata)
    metadata_offsets_p: OutInts = out_ints(metadata_offsets)
    value_p: OutBytes = out_bytes(value)
    value_size: i64 = len(value)
    value_offsets_p: OutInts = out_ints(value_offsets)
    status_p: OutInts = out_ints(status)
    state_p: OutInts = out_ints(state)
    with nogil:
        state_p[STATE_NEED] = NEED_NOTHING
        while row < last:
            if valid_p[row]:
                code = convert_row(
                    data_p,
                    data_size,
                    offsets_p[row],
                    offsets_p[row + 1],
                    keep_last,
                    tape_p,
                    tape_size,
                    containers_p,
                    scalars_p,
                    scalars_size,
                    keys_p,
                    keys_size,
                    info_p,
                    info_size,
                    table_p,
                    slots,
                    row_keys_p,
                    ranked_p,
                    sorting_p,
                    common_p,
                    ranks_p,
                    powers_p,
                    metadata_p,
                    metadata_size,
                    value_p,
                    value_size,
                    state_p,
                )
                if code > 0:
                    state_p[STATE_NEED] = code
                    break
                if code < 0:
                    status_p[row] = -code | ((state_p[STATE_OFFSET] - offsets_p[row]) << 8)
            row += 1
            metadata_offsets_p[row] = state_p[STATE_METADATA]
            value_offsets_p[row] = state_p[STATE_VALUE]
    return row


@kernel
def forget_names(row_keys: InInts, first: i64, info: OutInts, state: OutInts) -> i64:
    """Take back the names of row_keys from `first` on."""
    k: i64
    for k in range(first, state[STATE_ROW_KEYS]):
        info[row_keys[k] * KEY + KEY_SERIAL] = -1
    state[STATE_ROW_KEYS] = first
    return 0


@kernel
def read_group(
    data: InBytes,
    data_size: i64,
    offsets: InInts,
    valid: InBytes,
    first: i64,
    last: i64,
    most_names: i64,
    tape: OutInts,
    tape_size: i64,
    containers: OutInts,
    scalars: OutBytes,
    scalars_size: i64,
    keys: OutBytes,
    keys_size: i64,
    info: OutInts,
    info_size: i64,
    table: OutInts,
    slots: i64,
    row_keys: OutInts,
    powers: InInts,
    roots: OutInts,
    status: OutInts,
    state: OutInts,
) -> i64:
    """Read rows to the tape until it is full or the names are too many; the row reached, or minus what is too small.

    Of row first + k, roots has ROOT numbers: its first node, or -1, and where its containers and its scalars begin and end. Where
    names end the group, STATE_GROUP_ENDS is 1, and the row reached is to be read with none. STATE_NEED_SIZE is how many bytes the
    values of the rows have at most.
    """
    row: i64 = first
    code: i64
    names: i64
    added: i64
    at: i64 = 0
    size: i64 = 0
    root: i64 = 0
    state[STATE_CONTAINERS] = 0
    state[STATE_SCALARS] = 0
    state[STATE_GROUP_ENDS] = 0
    while row < last:
        roots[root + ROOT_NODE] = -1
        roots[root + ROOT_CONTAINERS] = state[STATE_CONTAINERS]
        roots[root + ROOT_SCALARS] = state[STATE_SCALARS]
        if valid[row]:
            names = state[STATE_ROW_KEYS]
            state[STATE_TAPE] = at
            code = parse_row(
                data,
                data_size,
                offsets[row],
                offsets[row + 1],
                tape,
                tape_size,
                containers,
                scalars,
                scalars_size,
                keys,
                keys_size,
                info,
                info_size,
                table,
                slots,
                row_keys,
                powers,
                state,
            )
            if code > 0:
                forget_names(row_keys, names, info, state)
                if row == first or (code != NEED_TAPE and code != NEED_SCALARS):
                    return -code
                break
            if code == 0 and tape[at + 3] > 0xFFFFFFFF:
                state[STATE_OFFSET] = offsets[row]
                code = -JSON_TOO_LARGE
            if code < 0:
                status[row] = -code | ((state[STATE_OFFSET] - offsets[row]) << 8)
                forget_names(row_keys, names, info, state)
            else:
                if state[STATE_ROW_KEYS] > names:
                    added = names_size(row_keys, names, state[STATE_ROW_KEYS], info)
                    if names > 0 and (state[STATE_ROW_KEYS] > most_names or state[STATE_NAME_BYTES] + added > MOST_NAME_BYTES):
                        forget_names(row_keys, names, info, state)
                        state[STATE_GROUP_ENDS] = 1
                        break
                    state[STATE_NAME_BYTES] += added
                roots[root + ROOT_NODE] = at
                roots[root + ROOT_LAST_CONTAINER] = state[STATE_CONTAINERS]
                roots[root + ROOT_LAST_SCALAR] = state[STATE_SCALARS]
                size += tape[at + 3]
                at = tape[at + 2]
                if state[STATE_ROW_KEYS] > most_names or state[STATE_NAME_BYTES] > MOST_NAME_BYTES:
                    # One row has more names than a group may: it stays alone.
                    state[STATE_GROUP_ENDS] = 1
                    row += 1
                    break
        row += 1
        root += ROOT
    # Where there are many names, the ids of fields may take up to four bytes instead of one.
    state[STATE_NEED_SIZE] = size + (3 * (at // NODE) if state[STATE_ROW_KEYS] > 256 else 0)
    return row


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


@kernel
def write_root(
    roots: InInts,
    root: i64,
    tape: OutInts,
    containers: OutInts,
    scalars: OutBytes,
    ranks: InInts,
    names: i64,
    sorting: OutInts,
    value: OutBytes,
    keep_last: i64,
    state: OutInts,
) -> i64:
    """Write one row of a group, without what is dropped of it if the last field of a name is to be kept; its end, or -1."""
    container: i64 = roots[root + ROOT_CONTAINERS]
    scalar: i64 = roots[root + ROOT_SCALARS]
    last: i64 = roots[root + ROOT_LAST_CONTAINER]
    end: i64 = roots[root + ROOT_LAST_SCALAR]
    at: i64 = state[STATE_VALUE]
    out: i64 = write_row(scalars, scalar, end, tape, containers, container, last, ranks, names, sorting, value, at)
    if out < 0 and keep_last:
        drop_duplicates(tape, roots[root + ROOT_NODE], containers, container, scalars, scalar, ranks, sorting, state)
        last = state[STATE_CONTAINERS]
        end = state[STATE_SCALARS]
        out = write_row(scalars, scalar, end, tape, containers, container, last, ranks, names, sorting, value, at)
    return out


def parse_shared_rows(
    data: InBytesView,
    offsets: InIntsView,
    valid: InBytesView,
    first: i64,
    last: i64,
    keep_last: i64,
    most_names: i64,
    tape: OutIntsView,
    containers: OutIntsView,
    scalars: OutBytesView,
    keys: OutBytesView,
    info: OutIntsView,
    table: OutIntsView,
    row_keys: OutIntsView,
    ranked: OutIntsView,
    sorting: OutIntsView,
    ranks: OutIntsView,
    roots: OutIntsView,
    powers: InIntsView,
    metadata: OutBytesView,
    metadata_offsets: OutIntsView,
    entries: OutIntsView,
    value: OutBytesView,
    value_offsets: OutIntsView,
    status: OutIntsView,
    state: OutIntsView,
) -> i64:
    """Like parse_rows, but neighbouring rows that together have at most `most_names` names share one metadata.

    Row k has metadata entries[k], of which there are STATE_ENTRIES; entry e ends at metadata_offsets[e + 1].
    """
    start: i64 = first
    stop: i64
    row: i64
    root: i64
    node: i64
    out: i64
    code: i64
    count: i64
    known: i64 = -1
    data_p: InBytes = in_bytes(data)
    data_size: i64 = len(data)
    offsets_p: InInts = in_ints(offsets)
    valid_p: InBytes = in_bytes(valid)
    tape_p: OutInts = out_ints(tape)
    # Each row has a node at least, and a root.
    most_rows: i64 = len(roots) // ROOT
    tape_size: i64 = len(tape) if len(tape) < NODE * most_rows else NODE * most_rows
    containers_p: OutInts = out_ints(containers)
    scalars_p: OutBytes = out_bytes(scalars)
    scalars_size: i64 = len(scalars)
    keys_p: OutBytes = out_bytes(keys)
    keys_size: i64 = len(keys)
    info_p: OutInts = out_ints(info)
    info_size: i64 = len(info)
    table_p: OutInts = out_ints(table)
    slots: i64 = len(table)
    row_keys_p: OutInts = out_ints(row_keys)
    ranked_p: OutInts = out_ints(ranked)
    sorting_p: OutInts = out_ints(sorting)
    ranks_p: OutInts = out_ints(ranks)
    roots_p: OutInts = out_ints(roots)
    powers_p: InInts = in_ints(powers)
    metadata_p: OutBytes = out_bytes(metadata)
    metadata_size: i64 = len(metadata)
    metadata_offsets_p: OutInts = out_ints(metadata_offsets)
    entries_p: OutInts = out_ints(entries)
    value_p: OutBytes = out_bytes(value)
    value_size: i64 = len(value)
    value_offsets_p: OutInts = out_ints(value_offsets)
    status_p: OutInts = out_ints(status)
    state_p: OutInts = out_ints(state)
    with nogil:
        state_p[STATE_NEED] = NEED_NOTHING
        state_p[STATE_GROUP_ENDS] = 1
        if state_p[STATE_COMMON] > 0:
            # A group has all its names in one list.
            forget_common_names(info_p, state_p)
        while start < last:
            if state_p[STATE_GROUP_ENDS]:
                state_p[STATE_SERIAL] += 1
                state_p[STATE_ROW_KEYS] = 0
                state_p[STATE_NAME_BYTES] = 0
                known = -1
            if state_p[STATE_KEYS] > KEYS_MAX:
                state_p[STATE_NEED] = NEED_FRESH_KEYS
                break
            stop = read_group(
                data_p,
                data_size,
                offsets_p,
                valid_p,
                start,
                last if last - start < most_rows else start + most_rows,
                most_names,
                tape_p,
                tape_size,
                containers_p,
                scalars_p,
                scalars_size,
                keys_p,
                keys_size,
                info_p,
                info_size,
                table_p,
                slots,
                row_keys_p,
                powers_p,
                roots_p,
                status_p,
                state_p,
            )
            if stop < 0:
                state_p[STATE_NEED] = -stop
                break
            if stop == start:
                continue
            if state_p[STATE_VALUE] + state_p[STATE_NEED_SIZE] + PADDING > value_size:
                state_p[STATE_NEED_SIZE] += state_p[STATE_VALUE] + PADDING
                state_p[STATE_NEED] = NEED_VALUE
                break
            count = state_p[STATE_ROW_KEYS]
            code = 0
            if count != known:
                code = write_group_names(
                    row_keys_p,
                    ranked_p,
                    info_size // KEY,
                    sorting_p,
                    ranks_p,
                    keys_p,
                    info_p,
                    metadata_p,
                    metadata_size,
                    metadata_offsets_p,
                    state_p,
                )
                if code > 0:
                    state_p[STATE_NEED] = code
                    break
                known = count
            for row in range(start, stop):
                root = ROOT * (row - start)
                node = roots_p[root + ROOT_NODE]
                if node >= 0 and code < 0:
                    status_p[row] = -code
                elif node >= 0:
                    if count > 256:
                        size_again(tape_p, node, ranks_p)
                    out = write_root(roots_p, root, tape_p, containers_p, scalars_p, ranks_p, count, sorting_p, value_p, keep_last, state_p)
                    if out < 0:
                        status_p[row] = JSON_NEW_NAME
                    else:
                        state_p[STATE_VALUE] = out
                entries_p[row] = state_p[STATE_ENTRIES] - 1 if state_p[STATE_ENTRIES] > 0 else 0
                value_offsets_p[row + 1] = state_p[STATE_VALUE]
            start = stop
    return start


def insert_names(info: InIntsView, table: OutIntsView, count: i64) -> i64:
    """Enter names 1 to `count` - 1 into an empty table that has grown."""
    info_p: InInts = in_ints(info)
    table_p: OutInts = out_ints(table)
    slots: i64 = len(table)
    key: i64
    slot: i64
    with nogil:
        for key in range(1, count):
            slot = info_p[key * KEY + KEY_HASH] & (slots - 1)
            while table_p[slot] != 0:
                slot = (slot + 1) & (slots - 1)
            table_p[slot] = key
    return 0


def find_lines(data: InBytesView, first: i64, starts: OutIntsView) -> i64:
    """Where the lines behind the line ends of data[first:] begin, to `starts` as far as it has room; how many were found."""
    at: i64 = first
    size: i64 = len(data)
    room: i64 = len(starts)
    found: i64 = 0
    data_p: InBytes = in_bytes(data)
    starts_p: OutInts = out_ints(starts)
    with nogil:
        while found < room:
            at = find_byte(data_p, at, size, 10) + 1
            if at > size:
                break
            starts_p[found] = at
            found += 1
    return found
