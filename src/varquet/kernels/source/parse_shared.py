"""JSON text to Variant bytes with one dictionary for neighbouring rows.

Rows are read to a tape as long as they have few nodes, few bytes of scalars and few names together; then their dictionary is written,
and their values. Which rows these are depends on the rows alone: not on how large the buffers have become by others, and not on how
often a call was repeated with larger ones.
"""

from __future__ import annotations

from varquet.kernels.source._codes import (
    JSON_NEW_NAME,
    JSON_TOO_LARGE,
    NEED_FRESH_KEYS,
    NEED_NOTHING,
    NEED_VALUE,
)
from varquet.kernels.source._common_names import forget_common_names
from varquet.kernels.source._interning import (
    KEY,
    PADDING,
    STATE_COMMON,
    STATE_CONTAINERS,
    STATE_ENTRIES,
    STATE_GROUP_ENDS,
    STATE_KEYS,
    STATE_NAME_BYTES,
    STATE_NEED,
    STATE_NEED_SIZE,
    STATE_OFFSET,
    STATE_ROW_KEYS,
    STATE_SCALARS,
    STATE_SERIAL,
    STATE_TAPE,
    STATE_VALUE,
    STATE_WRITTEN_NAMES,
    names_size,
)
from varquet.kernels.source._json_names import KEYS_MAX, forget_names, write_group_names
from varquet.kernels.source._json_reading import EXPANSION, ROOM, parse_row
from varquet.kernels.source._tape import NODE, drop_duplicates, size_again, write_row
from varquet.kernels.source.dialect import (
    InBytes,
    InBytesView,
    InInts,
    InIntsView,
    OutBytes,
    OutBytesView,
    OutInts,
    OutIntsView,
    i64,
    in_bytes,
    in_ints,
    kernel,
    nogil,
    out_bytes,
    out_ints,
)

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
    shared_tape: i64,
    containers: OutInts,
    scalars: OutBytes,
    scalars_size: i64,
    shared_scalars: i64,
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
    """Read rows to the tape until they are enough or the names are too many; the row reached, or minus what is too small.

    The first row may take all of the tape and the scalars; those behind it are read if they certainly fit in what is shared. Of row
    first + k, roots has ROOT numbers: its first node, or -1, and where its containers and its scalars begin and end. Where names end
    the group, STATE_GROUP_ENDS is 1, and the row reached is to be read with none. STATE_NEED_SIZE is how many bytes the values of the
    rows have at most.
    """
    row: i64 = first
    code: i64
    names: i64
    length: i64
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
            length = offsets[row + 1] - offsets[row]
            # No two nodes have less than three bytes: so the row fits, whatever is in it.
            if row > first and (
                at + NODE * ((length >> 1) + 2) > shared_tape or state[STATE_SCALARS] + EXPANSION * length + ROOM > shared_scalars
            ):
                break
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
                return -code
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
    most_nodes: i64,
    most_scalars: i64,
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

    No more rows are read at once than have `most_nodes` nodes and `most_scalars` bytes of scalars, for which there is room, unless one
    row has more. STATE_GROUP_ENDS is to be 1 at the first row, and as it was left where a call is repeated.
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
    names: i64
    name_bytes: i64
    data_p: InBytes = in_bytes(data)
    data_size: i64 = len(data)
    offsets_p: InInts = in_ints(offsets)
    valid_p: InBytes = in_bytes(valid)
    tape_p: OutInts = out_ints(tape)
    tape_size: i64 = len(tape)
    # A row that is null has no node, but a root.
    most_rows: i64 = most_nodes if most_nodes < len(roots) // ROOT else len(roots) // ROOT
    shared_tape: i64 = NODE * most_nodes if NODE * most_nodes < tape_size else tape_size
    containers_p: OutInts = out_ints(containers)
    scalars_p: OutBytes = out_bytes(scalars)
    scalars_size: i64 = len(scalars)
    shared_scalars: i64 = most_scalars if most_scalars < scalars_size else scalars_size
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
        if state_p[STATE_COMMON] > 0:
            # A group has all its names in one list.
            forget_common_names(info_p, state_p)
        while start < last:
            if state_p[STATE_GROUP_ENDS]:
                state_p[STATE_SERIAL] += 1
                state_p[STATE_ROW_KEYS] = 0
                state_p[STATE_NAME_BYTES] = 0
                state_p[STATE_WRITTEN_NAMES] = -1
                state_p[STATE_GROUP_ENDS] = 0
            if state_p[STATE_KEYS] > KEYS_MAX:
                state_p[STATE_NEED] = NEED_FRESH_KEYS
                break
            names = state_p[STATE_ROW_KEYS]
            name_bytes = state_p[STATE_NAME_BYTES]
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
                shared_tape,
                containers_p,
                scalars_p,
                scalars_size,
                shared_scalars,
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
            if stop == start:
                continue
            count = state_p[STATE_ROW_KEYS]
            code = 0
            if stop < 0:
                code = -stop
            elif state_p[STATE_VALUE] + state_p[STATE_NEED_SIZE] + PADDING > value_size:
                state_p[STATE_NEED_SIZE] += state_p[STATE_VALUE] + PADDING
                code = NEED_VALUE
            elif count != state_p[STATE_WRITTEN_NAMES]:
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
                if code <= 0:
                    state_p[STATE_WRITTEN_NAMES] = count
            if code > 0:
                # These rows are read again, by a group that has the names it had before them.
                forget_names(row_keys_p, names, info_p, state_p)
                state_p[STATE_NAME_BYTES] = name_bytes
                state_p[STATE_GROUP_ENDS] = 0
                state_p[STATE_NEED] = code
                break
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
