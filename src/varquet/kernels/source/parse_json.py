"""JSON text to Variant bytes in three steps: read to a tape, fix the dictionary, write.

`parse_rows` takes these steps a row at a time: every row gets a dictionary with its own names. `parse_shared` has what takes them for
many rows at once.
"""

from __future__ import annotations

from varquet.kernels.source._codes import (
    JSON_NEW_NAME,
    JSON_TOO_LARGE,
    NEED_FRESH_KEYS,
    NEED_NOTHING,
    NEED_VALUE,
)
from varquet.kernels.source._interning import (
    KEY,
    KEY_HASH,
    PADDING,
    STATE_CONTAINERS,
    STATE_KEYS,
    STATE_METADATA,
    STATE_NEED,
    STATE_NEED_SIZE,
    STATE_OFFSET,
    STATE_ROW_KEYS,
    STATE_SCALARS,
    STATE_SERIAL,
    STATE_TAPE,
    STATE_VALUE,
)
from varquet.kernels.source._json_names import KEYS_MAX, keep_names, take_back_names, write_row_names
from varquet.kernels.source._json_reading import parse_row
from varquet.kernels.source._tape import drop_duplicates, size_again, write_row
from varquet.kernels.source.dialect import (
    InBytes,
    InBytesView,
    InInts,
    InIntsView,
    OutBytes,
    OutBytesView,
    OutInts,
    OutIntsView,
    find_byte,
    i64,
    in_bytes,
    in_ints,
    kernel,
    nogil,
    out_bytes,
    out_ints,
)


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
