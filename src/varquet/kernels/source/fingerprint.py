"""A number for every value that is the same for equal values, whatever their bytes, and differs for others.

`varquet.variant.fingerprint` says what the number is. It is made from the leaves up: that of an object from those of its
fields, in any order, that of an array from those of its elements. So it can be had from the columns of a shredded Variant
without putting that together: `fingerprint_fixed` and `fingerprint_text` for typed columns, `fingerprint_values` for residuals,
`fingerprint_objects` and `fingerprint_arrays` for what is above them.
"""

from __future__ import annotations

from varquet.kernels.source._bytes import (
    BASIC_OBJECT,
    FRAME_COUNT,
    FRAME_ID_WIDTH,
    FRAME_IDS,
    FRAME_KIND,
    FRAME_NEXT,
    FRAME_TOTAL,
    FRAME_VALUES,
    MAX_EXPANSION,
    ROW_NAMES,
    ROW_NEED,
    ROW_OFFSET,
    child_at,
    find_name,
    open_container,
    open_dictionary,
    scalar_size,
    value_size,
)
from varquet.kernels.source._codes import BAD_EXPANSION, BAD_VALUE_EMPTY, BAD_VALUE_LENGTH, NEED_NOTHING, NEED_STACK
from varquet.kernels.source._hashing import (
    KIND_NAME,
    hash_array,
    hash_bytes,
    hash_element,
    hash_exact,
    hash_field,
    hash_fixed,
    hash_number,
    hash_object,
    hash_scalar,
    kind_of_text,
)
from varquet.kernels.source.dialect import (
    M64,
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
    load_le,
    nogil,
    out_ints,
    signed,
    u64,
)

# A container on the stack: where its parts are, what its children have given so far, and the name of the one under way.
HASH_SUM = 9
HASH_NAME = 10
HASH_FRAME = 11

# What `fingerprint_values` says of a value beside its number: how many fields it has, or that it is no object.
NO_OBJECT = -1


@kernel
def hash_value(
    metadata: InBytes,
    value: InBytes,
    start: i64,
    end: i64,
    seed: u64,
    is_open: i64,
    stack: OutInts,
    stack_size: i64,
    hashes: OutInts,
    fields: OutInts,
    k: i64,
    state: OutInts,
) -> i64:
    """Write the number of one value to hashes[k] and its fields to fields[k]; 0, minus a code, or NEED_STACK.

    With is_open an object's number is only what its fields give, to which others may be added.
    """
    depth: i64 = 0
    at: i64 = start
    limit: i64 = end
    size: i64
    code: i64
    frame: i64
    made: u64
    budget: i64 = MAX_EXPANSION * (end - start)
    state[ROW_OFFSET] = 0
    fields[k] = NO_OBJECT
    if start >= end:
        return -BAD_VALUE_EMPTY
    size = value_size(value, start, end, stack, 0)
    if size < 0:
        return size
    if start + size != end:
        state[ROW_OFFSET] = size
        return -BAD_VALUE_LENGTH
    while True:
        state[ROW_OFFSET] = at - start
        # The container that is opened, or room for a scalar's digits.
        if (depth + 2) * HASH_FRAME > stack_size:
            return NEED_STACK
        frame = depth * HASH_FRAME
        made = 0
        if value[at] & 3 < BASIC_OBJECT:
            size = scalar_size(value, at, limit)
            if size < 0:
                return size
            made = hash_scalar(value, at, size, seed, stack, frame)
        else:
            size = open_container(value, at, limit, stack, frame)
            if size < 0:
                return size
            stack[frame + HASH_SUM] = 0
            depth += 1
        budget -= size
        if budget < 0:
            return -BAD_EXPANSION
        code = 1 if value[at] & 3 < BASIC_OBJECT else 0
        while True:
            # With `code` a child is complete, and `made` is its number.
            if depth == 0:
                hashes[k] = signed(made)
                return 0
            frame = (depth - 1) * HASH_FRAME
            if code:
                if stack[frame + FRAME_KIND] == BASIC_OBJECT:
                    made = (stack[frame + HASH_SUM] & M64) + hash_field(stack[frame + HASH_NAME] & M64, made)
                    stack[frame + HASH_SUM] = signed(made & M64)
                else:
                    stack[frame + HASH_SUM] = signed(hash_element(stack[frame + HASH_SUM] & M64, made))
            if stack[frame + FRAME_NEXT] < stack[frame + FRAME_COUNT]:
                break
            made = stack[frame + HASH_SUM] & M64
            depth -= 1
            if stack[frame + FRAME_KIND] == BASIC_OBJECT:
                if depth == 0:
                    fields[k] = stack[frame + FRAME_COUNT]
                if depth > 0 or is_open == 0:
                    made = hash_object(made, stack[frame + FRAME_COUNT], seed)
            else:
                made = hash_array(made, stack[frame + FRAME_COUNT], seed)
            code = 1
        if stack[frame + FRAME_KIND] == BASIC_OBJECT:
            size = load_le(
                value,
                stack[frame + FRAME_IDS] + stack[frame + FRAME_NEXT] * stack[frame + FRAME_ID_WIDTH],
                stack[frame + FRAME_ID_WIDTH],
            )
            code = find_name(metadata, state, size, ROW_NAMES)
            if code < 0:
                return code
            stack[frame + HASH_NAME] = signed(hash_bytes(KIND_NAME, metadata, state[ROW_NAMES], state[ROW_NAMES + 1], seed))
        at = child_at(value, stack, frame, stack[frame + FRAME_NEXT])
        if at < 0:
            return at
        limit = stack[frame + FRAME_VALUES] + stack[frame + FRAME_TOTAL]
        stack[frame + FRAME_NEXT] += 1


def fingerprint_values(
    metadata: InBytesView,
    metadata_starts: InIntsView,
    metadata_ends: InIntsView,
    value: InBytesView,
    starts: InIntsView,
    ends: InIntsView,
    valid: InBytesView,
    rows: InIntsView,
    first: i64,
    last: i64,
    seed: i64,
    is_open: i64,
    hashes: OutIntsView,
    fields: OutIntsView,
    stack: OutIntsView,
    status: OutIntsView,
    state: OutIntsView,
) -> i64:
    """The numbers of values `first` to `last`, where valid; the value reached.

    Value k is value[starts[k]:ends[k]]; its metadata, and status where it is no Variant, is that of row rows[k]. With is_open
    an object's number is only the sum of what its fields give. fields[k] is how many it has, or NO_OBJECT.
    """
    k: i64 = first
    row: i64
    code: i64
    metadata_p: InBytes = in_bytes(metadata)
    metadata_starts_p: InInts = in_ints(metadata_starts)
    metadata_ends_p: InInts = in_ints(metadata_ends)
    value_p: InBytes = in_bytes(value)
    starts_p: InInts = in_ints(starts)
    ends_p: InInts = in_ints(ends)
    valid_p: InBytes = in_bytes(valid)
    rows_p: InInts = in_ints(rows)
    hashes_p: OutInts = out_ints(hashes)
    fields_p: OutInts = out_ints(fields)
    stack_p: OutInts = out_ints(stack)
    stack_size: i64 = len(stack)
    status_p: OutInts = out_ints(status)
    state_p: OutInts = out_ints(state)
    with nogil:
        state_p[ROW_NEED] = NEED_NOTHING
        while k < last:
            if valid_p[k]:
                row = rows_p[k]
                state_p[ROW_OFFSET] = 0
                code = open_dictionary(metadata_p, metadata_starts_p[row], metadata_ends_p[row], state_p)
                if code == 0:
                    code = hash_value(
                        metadata_p,
                        value_p,
                        starts_p[k],
                        ends_p[k],
                        seed & M64,
                        is_open,
                        stack_p,
                        stack_size,
                        hashes_p,
                        fields_p,
                        k,
                        state_p,
                    )
                if code > 0:
                    state_p[ROW_NEED] = code
                    break
                if code < 0:
                    status_p[row] = -code | (state_p[ROW_OFFSET] << 8)
            k += 1
    return k


def fingerprint_fixed(
    numbers: InIntsView, valid: InBytesView, count: i64, tag: i64, scale: i64, stride: i64, seed: i64, hashes: OutIntsView
) -> i64:
    """The numbers of typed values that have `stride` 64-bit numbers each, where valid. Tag 1 stands for both booleans."""
    k: i64
    high: i64
    numbers_p: InInts = in_ints(numbers)
    valid_p: InBytes = in_bytes(valid)
    hashes_p: OutInts = out_ints(hashes)
    with nogil:
        for k in range(count):
            if valid_p[k]:
                # The place of the number itself is room for its digits.
                if tag == 1:
                    hashes_p[k] = signed(hash_number(1 if numbers_p[k] else 2, 0, 0, seed & M64))
                elif stride == 2:
                    high = numbers_p[2 * k + 1]
                    hashes_p[k] = signed(hash_exact(numbers_p[2 * k], high, scale, seed & M64, hashes_p, count))
                else:
                    hashes_p[k] = signed(hash_fixed(tag, numbers_p[k], 0, scale, seed & M64, hashes_p, count))
    return 0


def fingerprint_text(
    data: InBytesView, offsets: InIntsView, valid: InBytesView, count: i64, tag: i64, seed: i64, hashes: OutIntsView
) -> i64:
    """The numbers of strings (tag 16), bytes (15) or uuids (20), where valid."""
    k: i64
    kind: i64 = kind_of_text(tag)
    data_p: InBytes = in_bytes(data)
    offsets_p: InInts = in_ints(offsets)
    valid_p: InBytes = in_bytes(valid)
    hashes_p: OutInts = out_ints(hashes)
    with nogil:
        for k in range(count):
            if valid_p[k]:
                hashes_p[k] = signed(hash_bytes(kind, data_p, offsets_p[k], offsets_p[k + 1] - offsets_p[k], seed & M64))
    return 0


def fingerprint_name(data: InBytesView, seed: i64) -> i64:
    """The number of a field's name."""
    return signed(hash_bytes(KIND_NAME, in_bytes(data), 0, len(data), seed & M64))


def add_fields(name: i64, valid: InBytesView, field_hashes: InIntsView, count: i64, sums: OutIntsView, fields: OutIntsView) -> i64:
    """Add one field of `count` objects, where valid, to what their fields give."""
    k: i64
    valid_p: InBytes = in_bytes(valid)
    field_hashes_p: InInts = in_ints(field_hashes)
    sums_p: OutInts = out_ints(sums)
    fields_p: OutInts = out_ints(fields)
    total: u64
    with nogil:
        for k in range(count):
            if valid_p[k]:
                total = (sums_p[k] & M64) + hash_field(name & M64, field_hashes_p[k] & M64)
                sums_p[k] = signed(total & M64)
                fields_p[k] += 1
    return 0


def finish_objects(valid: InBytesView, fields: InIntsView, count: i64, seed: i64, sums: OutIntsView) -> i64:
    """Turn what the fields of objects give into the numbers of the objects, where valid."""
    k: i64
    valid_p: InBytes = in_bytes(valid)
    fields_p: InInts = in_ints(fields)
    sums_p: OutInts = out_ints(sums)
    with nogil:
        for k in range(count):
            if valid_p[k]:
                sums_p[k] = signed(hash_object(sums_p[k] & M64, fields_p[k], seed & M64))
    return 0


def fingerprint_arrays(
    valid: InBytesView, offsets: InIntsView, element_hashes: InIntsView, count: i64, seed: i64, hashes: OutIntsView
) -> i64:
    """The numbers of arrays, where valid, from those of their elements."""
    k: i64
    element: i64
    total: u64
    valid_p: InBytes = in_bytes(valid)
    offsets_p: InInts = in_ints(offsets)
    element_hashes_p: InInts = in_ints(element_hashes)
    hashes_p: OutInts = out_ints(hashes)
    with nogil:
        for k in range(count):
            if valid_p[k]:
                total = 0
                for element in range(offsets_p[k], offsets_p[k + 1]):
                    total = hash_element(total, element_hashes_p[element] & M64)
                hashes_p[k] = signed(hash_array(total, offsets_p[k + 1] - offsets_p[k], seed & M64))
    return 0
