"""Whether bytes are a Variant: every header, offset, name and text of every row is looked at."""

from __future__ import annotations

from varquet.kernels.source._bytes import (
    BASIC_OBJECT,
    BASIC_SHORT_STRING,
    DICT_ASCENDING,
    FRAME_COUNT,
    FRAME_KIND,
    FRAME_NEXT,
    FRAME_OFFSETS,
    FRAME_SLOTS,
    FRAME_TOTAL,
    FRAME_VALUES,
    FRAME_WIDTH,
    MAX_EXPANSION,
    ROW_DICT,
    ROW_NEED,
    ROW_OFFSET,
    check_scalar,
    child_at,
    load_signed,
    next_dictionary,
    open_container,
    value_size,
)
from varquet.kernels.source._codes import (
    BAD_DECIMAL_WIDTH,
    BAD_EXPANSION,
    BAD_FIELD_ORDER,
    BAD_RESERVED_BITS,
    BAD_SORTED_FLAG,
    BAD_VALUE_EMPTY,
    BAD_VALUE_LENGTH,
    NEED_NOTHING,
    NEED_STACK,
)
from varquet.kernels.source._names import NEEDS_SORTING_ROOM, OUT_OF_ORDER, check_names
from varquet.kernels.source.dialect import (
    InBytes,
    InBytesView,
    InInts,
    InIntsView,
    OutInts,
    OutIntsView,
    i64,
    in_bytes,
    in_ints,
    kernel,
    nogil,
    out_ints,
)


@kernel
def strict_finding(value: InBytes, at: i64) -> i64:
    """What a writer may not do in a value's own bytes though readers take it: a code, or 0."""
    header: i64 = value[at]
    tag: i64 = header >> 2
    unscaled: i64
    if header & 3 == BASIC_OBJECT:
        return BAD_RESERVED_BITS if header & 0x80 else 0
    if header & 3 > BASIC_OBJECT:
        return BAD_RESERVED_BITS if header & 0xE0 else 0
    if header & 3 == BASIC_SHORT_STRING:
        return 0
    if tag == 8:
        unscaled = load_signed(value, at + 2, 4)
        return BAD_DECIMAL_WIDTH if unscaled > 999999999 or unscaled < -999999999 else 0
    if tag == 9:
        unscaled = load_signed(value, at + 2, 8)
        return BAD_DECIMAL_WIDTH if unscaled > 999999999999999999 or unscaled < -999999999999999999 else 0
    return 0


@kernel
def check_value(
    metadata: InBytes,
    value: InBytes,
    start: i64,
    end: i64,
    strict: i64,
    stack: OutInts,
    stack_size: i64,
    numbers: OutInts,
    numbers_size: i64,
    state: OutInts,
) -> i64:
    """Walk a value without recursion; 0, minus a code, or NEED_STACK. ROW_OFFSET is where."""
    depth: i64 = 0
    at: i64 = start
    limit: i64 = end
    size: i64
    code: i64
    frame: i64
    budget: i64 = MAX_EXPANSION * (end - start)
    state[ROW_OFFSET] = start
    if start >= end:
        return -BAD_VALUE_EMPTY
    size = value_size(value, start, end, stack, 0)
    if size < 0:
        return size
    if start + size != end:
        state[ROW_OFFSET] = start + size
        return -BAD_VALUE_LENGTH
    while True:
        state[ROW_OFFSET] = at
        if value[at] & 3 < BASIC_OBJECT:
            size = check_scalar(value, at, limit)
            if size < 0:
                return size
            budget -= size
        else:
            if (depth + 2) * FRAME_SLOTS > stack_size:
                return NEED_STACK
            frame = depth * FRAME_SLOTS
            size = open_container(value, at, limit, stack, frame)
            if size < 0:
                return size
            budget -= size
            if stack[frame + FRAME_KIND] == BASIC_OBJECT:
                code = check_names(metadata, value, stack, frame, numbers, numbers_size, state)
                if code == NEEDS_SORTING_ROOM:
                    return NEED_STACK
                if code < 0:
                    return code
                if strict and code == OUT_OF_ORDER:
                    return -BAD_FIELD_ORDER
            depth += 1
        if budget < 0:
            return -BAD_EXPANSION
        if strict:
            code = strict_finding(value, at)
            if code:
                return -code
        while depth > 0:
            frame = (depth - 1) * FRAME_SLOTS
            if stack[frame + FRAME_NEXT] < stack[frame + FRAME_COUNT]:
                break
            depth -= 1
        if depth == 0:
            return 0
        at = child_at(value, stack, frame, stack[frame + FRAME_NEXT])
        if at < 0:
            state[ROW_OFFSET] = stack[frame + FRAME_OFFSETS] + stack[frame + FRAME_NEXT] * stack[frame + FRAME_WIDTH]
            return at
        limit = stack[frame + FRAME_VALUES] + stack[frame + FRAME_TOTAL]
        stack[frame + FRAME_NEXT] += 1


@kernel
def check_row(
    metadata: InBytes,
    metadata_start: i64,
    metadata_end: i64,
    value: InBytes,
    start: i64,
    end: i64,
    strict: i64,
    stack: OutInts,
    stack_size: i64,
    numbers: OutInts,
    numbers_size: i64,
    state: OutInts,
) -> i64:
    """Check one row; 0, minus a code, or NEED_STACK. ROW_OFFSET is where, from the start of metadata or value."""
    code: i64
    state[ROW_OFFSET] = 0
    code = next_dictionary(metadata, metadata_start, metadata_end, state)
    if code < 0:
        return code
    if strict:
        if metadata[metadata_start] & 16 and state[ROW_DICT + DICT_ASCENDING] == 0:
            return -BAD_SORTED_FLAG
        if metadata[metadata_start] & 32:
            return -BAD_RESERVED_BITS
    code = check_value(metadata, value, start, end, strict, stack, stack_size, numbers, numbers_size, state)
    state[ROW_OFFSET] -= start
    return code


def validate_rows(
    metadata: InBytesView,
    metadata_starts: InIntsView,
    metadata_ends: InIntsView,
    value: InBytesView,
    value_offsets: InIntsView,
    valid: InBytesView,
    first: i64,
    last: i64,
    strict: i64,
    stack: OutIntsView,
    numbers: OutIntsView,
    status: OutIntsView,
    state: OutIntsView,
) -> i64:
    """Check rows `first` to `last`; the row reached. status[k] is code | offset << 8 for a row that is no Variant.

    The offset counts from the start of the metadata for codes about metadata, else from the start of the value.
    """
    row: i64 = first
    code: i64
    metadata_p: InBytes = in_bytes(metadata)
    metadata_starts_p: InInts = in_ints(metadata_starts)
    metadata_ends_p: InInts = in_ints(metadata_ends)
    value_p: InBytes = in_bytes(value)
    value_offsets_p: InInts = in_ints(value_offsets)
    valid_p: InBytes = in_bytes(valid)
    stack_p: OutInts = out_ints(stack)
    stack_size: i64 = len(stack)
    numbers_p: OutInts = out_ints(numbers)
    numbers_size: i64 = len(numbers)
    status_p: OutInts = out_ints(status)
    state_p: OutInts = out_ints(state)
    with nogil:
        state_p[ROW_NEED] = NEED_NOTHING
        while row < last:
            if valid_p[row]:
                code = check_row(
                    metadata_p,
                    metadata_starts_p[row],
                    metadata_ends_p[row],
                    value_p,
                    value_offsets_p[row],
                    value_offsets_p[row + 1],
                    strict,
                    stack_p,
                    stack_size,
                    numbers_p,
                    numbers_size,
                    state_p,
                )
                if code > 0:
                    state_p[ROW_NEED] = code
                    break
                if code < 0:
                    status_p[row] = -code | (state_p[ROW_OFFSET] << 8)
            row += 1
    return row
