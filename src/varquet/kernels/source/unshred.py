"""Shredded columns put together again, one schema node at a time, from the leaves up.

Every node writes the bytes of its instances one behind the other and notes where they are; a start of -1 means that the
instance is missing. Objects and arrays copy what their children have written. All nodes write into one arena but the root,
which writes what is returned. A node's own `value` column comes as flat bytes (data, offsets, valid).
"""

from __future__ import annotations

from varquet.kernels.source._bytes import (
    BASIC_OBJECT,
    DICT_ASCENDING,
    DICT_COUNT,
    FRAME_COUNT,
    FRAME_ID_WIDTH,
    FRAME_IDS,
    FRAME_TOTAL,
    FRAME_VALUES,
    MAX_EXPANSION,
    ROW_DICT,
    ROW_NEED,
    ROW_OUT,
    check_dictionary,
    child_at,
    copy_value,
    open_container,
    value_size,
    width_of,
)
from varquet.kernels.source._codes import (
    BAD_BOTH_SET,
    BAD_EXPANSION,
    BAD_FIELD_ID,
    BAD_MISSING_NAME,
    BAD_OBJECT_IN_VALUE,
    BAD_RESIDUAL_KIND,
    BAD_RESIDUAL_NAME,
    BAD_VALUE_LENGTH,
    NEED_NOTHING,
    NEED_STACK,
    NEED_VALUE,
)
from varquet.kernels.source._dictionaries import match_dictionary
from varquet.kernels.source._field_order import PART_ID, PART_SIZE, PART_SLOTS, PART_START, merge_parts, sort_parts
from varquet.kernels.source._names import compare_names
from varquet.kernels.source._residual import copy_residual
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
    load_le,
    nogil,
    out_bytes,
    out_ints,
    same_bytes,
    store_le,
)

# Bytes that the header of an object or array takes at most besides its tables, with room for what the last copy writes too much.
CONTAINER_ROOM = 48

# What is known of a row's dictionary, for each distinct one: field ids by the schema's names, then these. It has twins where
# one of the schema's names stands in it more than once.
SLOT_COUNT = 0
SLOT_ASCENDING = 1
SLOT_HAS_TWINS = 2
SLOT_EXTRA = 3


def match_names(
    metadata: InBytesView,
    metadata_starts: InIntsView,
    metadata_ends: InIntsView,
    valid: InBytesView,
    first: i64,
    last: i64,
    names: InBytesView,
    name_offsets: InIntsView,
    slots: OutIntsView,
    fields: OutIntsView,
    numbers: OutIntsView,
    status: OutIntsView,
    state: OutIntsView,
) -> i64:
    """Look up the field id of every name of the schema in every row's dictionary; the row reached.

    fields[slots[k] + n] is the id of name n in row k, or -1; behind the names stand SLOT_COUNT and the others. Rows with the
    same metadata as the row before share its part. All of the metadata is checked.
    """
    row: i64 = first
    code: i64
    size: i64
    field: i64
    name: i64
    k: i64
    before: i64 = first - 1
    metadata_p: InBytes = in_bytes(metadata)
    metadata_starts_p: InInts = in_ints(metadata_starts)
    metadata_ends_p: InInts = in_ints(metadata_ends)
    valid_p: InBytes = in_bytes(valid)
    names_p: InBytes = in_bytes(names)
    name_offsets_p: InInts = in_ints(name_offsets)
    name_count: i64 = len(name_offsets) - 1
    slots_p: OutInts = out_ints(slots)
    fields_p: OutInts = out_ints(fields)
    fields_size: i64 = len(fields)
    numbers_p: OutInts = out_ints(numbers)
    numbers_size: i64 = len(numbers)
    status_p: OutInts = out_ints(status)
    state_p: OutInts = out_ints(state)
    with nogil:
        state_p[ROW_NEED] = NEED_NOTHING
        while row < last:
            slots_p[row] = 0
            if valid_p[row]:
                size = metadata_ends_p[row] - metadata_starts_p[row]
                if (
                    before >= 0
                    and valid_p[before]
                    and size == metadata_ends_p[before] - metadata_starts_p[before]
                    and (
                        metadata_starts_p[row] == metadata_starts_p[before]
                        or same_bytes(metadata_p, metadata_starts_p[row], metadata_p, metadata_starts_p[before], size)
                    )
                ):
                    slots_p[row] = slots_p[before]
                    status_p[row] = status_p[before]
                else:
                    if state_p[ROW_OUT] + name_count + SLOT_EXTRA > fields_size:
                        state_p[ROW_NEED] = NEED_VALUE
                        break
                    slots_p[row] = state_p[ROW_OUT]
                    for k in range(name_count + SLOT_EXTRA):
                        fields_p[state_p[ROW_OUT] + k] = -1
                    code = check_dictionary(metadata_p, metadata_starts_p[row], metadata_ends_p[row], state_p)
                    if code == 0:
                        if state_p[ROW_DICT + DICT_COUNT] > numbers_size:
                            state_p[ROW_NEED] = NEED_STACK
                            break
                        code = match_dictionary(metadata_p, names_p, name_offsets_p, name_count, numbers_p, 0, state_p)
                    if code < 0:
                        status_p[row] = -code
                    else:
                        fields_p[state_p[ROW_OUT] + name_count + SLOT_HAS_TWINS] = 0
                        for field in range(state_p[ROW_DICT + DICT_COUNT]):
                            name = numbers_p[field]
                            # Of a name that a dictionary has twice, the first id is as good as any.
                            if name >= 0:
                                if fields_p[state_p[ROW_OUT] + name] < 0:
                                    fields_p[state_p[ROW_OUT] + name] = field
                                else:
                                    fields_p[state_p[ROW_OUT] + name_count + SLOT_HAS_TWINS] = 1
                        fields_p[state_p[ROW_OUT] + name_count + SLOT_COUNT] = state_p[ROW_DICT + DICT_COUNT]
                        fields_p[state_p[ROW_OUT] + name_count + SLOT_ASCENDING] = state_p[ROW_DICT + DICT_ASCENDING]
                    state_p[ROW_OUT] += name_count + SLOT_EXTRA
            before = row
            row += 1
    return row


def repeat_lists(list_offsets: InIntsView, rows: InIntsView, present: InBytesView, element_rows: OutIntsView, reached: OutBytesView) -> i64:
    """For each element the row of its list, and whether that list is there; how many there are, or -1 if offsets do not ascend."""
    k: i64
    element: i64 = 0
    lists: i64 = len(rows)
    room: i64 = len(element_rows)
    list_offsets_p: InInts = in_ints(list_offsets)
    rows_p: InInts = in_ints(rows)
    present_p: InBytes = in_bytes(present)
    element_rows_p: OutInts = out_ints(element_rows)
    reached_p: OutBytes = out_bytes(reached)
    with nogil:
        for k in range(lists):
            if list_offsets_p[k] != element or list_offsets_p[k + 1] < element or list_offsets_p[k + 1] > room:
                element = -1
                break
            while element < list_offsets_p[k + 1]:
                element_rows_p[element] = rows_p[k]
                reached_p[element] = present_p[k]
                element += 1
    return element


@kernel
def write_object(
    metadata: InBytes,
    metadata_start: i64,
    metadata_end: i64,
    fields: InInts,
    slot: i64,
    name_count: i64,
    value: InBytes,
    residual_size: i64,
    value_start: i64,
    value_end: i64,
    has_residual: i64,
    strict: i64,
    fills: i64,
    child_names: InInts,
    children: i64,
    instance: i64,
    instances: i64,
    child_starts: InInts,
    child_ends: InInts,
    arena: InBytes,
    arena_size: i64,
    out: OutBytes,
    out_size: i64,
    parts: OutInts,
    parts_size: i64,
    frame: OutInts,
    state: OutInts,
) -> i64:
    """Write one object from its shredded fields and its residual; the position behind it, minus a code, or a need less 1000.

    parts holds the fields as they are found, then room for them in the order of their names, then room to sort them.
    """
    to: i64 = state[ROW_OUT]
    count: i64 = 0
    shredded_count: i64
    rest: i64 = 0
    total: i64 = 0
    k: i64
    c: i64
    at: i64 = 0
    field: i64
    name: i64
    place: i64
    size: i64
    widest: i64 = 0
    width: i64
    id_width: i64
    code: i64
    most: i64
    shredded: i64
    last: i64
    greatest: i64
    widest_shredded: i64
    before: i64 = -1
    dictionary: i64 = fields[slot + name_count + SLOT_COUNT]
    is_ascending: i64 = fields[slot + name_count + SLOT_ASCENDING]
    has_twins: i64 = fields[slot + name_count + SLOT_HAS_TWINS]
    # Fields and columns are in the order of their names, and so of their ids if the dictionary is.
    in_order: i64 = is_ascending
    if has_residual:
        if value_start >= value_end or value[value_start] & 3 != BASIC_OBJECT:
            return -BAD_RESIDUAL_KIND
        code = open_container(value, value_start, value_end, frame, 0)
        if code < 0:
            return code
        if value_start + code + frame[FRAME_TOTAL] != value_end:
            return -BAD_VALUE_LENGTH
        rest = frame[FRAME_COUNT]
        if has_twins:
            code = check_dictionary(metadata, metadata_start, metadata_end, state)
            if code < 0:
                return code
    most = children + rest
    if 2 * (PART_SLOTS + 1) * most > parts_size:
        return -1000 - NEED_STACK
    for c in range(children):
        place = child_starts[c * instances + instance]
        if place >= 0:
            field = fields[slot + child_names[c]]
            if field < 0:
                return -BAD_MISSING_NAME
            size = child_ends[c * instances + instance] - place
            parts[at + PART_ID] = field
            parts[at + PART_START] = place
            parts[at + PART_SIZE] = size
            at += PART_SLOTS
            total += size
            if field > widest:
                widest = field
    shredded_count = at // PART_SLOTS
    widest_shredded = widest
    c = 0
    # Most of what is left behind a shredded object has names behind all of the schema's.
    last = children - 1
    while last >= 0 and fields[slot + child_names[last]] < 0:
        last -= 1
    greatest = fields[slot + child_names[last]] if last >= 0 else -1
    for k in range(rest):
        field = load_le(value, frame[FRAME_IDS] + k * frame[FRAME_ID_WIDTH], frame[FRAME_ID_WIDTH])
        if field >= dictionary:
            return -BAD_FIELD_ID
        # A residual may not hold a name that has a column; where one does, the column counts, even if it is missing.
        if is_ascending == 0 or field <= before:
            in_order = 0
            c = 0
        before = field
        if is_ascending and field > greatest:
            c = children
        while c < children and (fields[slot + child_names[c]] < field if is_ascending else fields[slot + child_names[c]] != field):
            c += 1
        shredded = c if c < children and fields[slot + child_names[c]] == field else -1
        if has_twins and shredded < 0:
            for name in range(children):
                if fields[slot + child_names[name]] >= 0 and compare_names(metadata, fields[slot + child_names[name]], field, state) == 0:
                    shredded = name
        if shredded >= 0:
            if strict:
                return -BAD_RESIDUAL_NAME
            if fills == 0 or child_starts[shredded * instances + instance] >= 0:
                continue
        place = child_at(value, frame, 0, k)
        if place < 0:
            return place
        size = value_size(value, place, frame[FRAME_VALUES] + frame[FRAME_TOTAL], frame, 16)
        if size < 0:
            return size
        parts[at + PART_ID] = field
        parts[at + PART_START] = ~place
        parts[at + PART_SIZE] = size
        at += PART_SLOTS
        total += size
        if field > widest:
            widest = field
        if total > MAX_EXPANSION * (value_end - value_start) + arena_size:
            return -BAD_EXPANSION
    count = at // PART_SLOTS
    at = 0
    if in_order == 0:
        at = most * PART_SLOTS
        code = sort_parts(metadata, metadata_start, metadata_end, is_ascending, parts, count, at, state)
        if code < 0:
            return code
    elif shredded_count and shredded_count < count and parts[shredded_count * PART_SLOTS + PART_ID] < widest_shredded:
        at = most * PART_SLOTS
        merge_parts(parts, count, shredded_count, at)
    width = width_of(total)
    id_width = width_of(widest)
    if to + CONTAINER_ROOM + count * (width + id_width) + total > out_size:
        return -1000 - NEED_VALUE
    out[to] = 2 | ((width - 1) << 2) | ((id_width - 1) << 4) | ((1 if count > 255 else 0) << 6)
    to += 1
    if count > 255:
        store_le(out, to, count, 4)
        to += 4
    else:
        out[to] = count
        to += 1
    for k in range(count):
        store_le(out, to, parts[at + k * PART_SLOTS + PART_ID], id_width)
        to += id_width
    size = 0
    for k in range(count):
        store_le(out, to, size, width)
        to += width
        size += parts[at + k * PART_SLOTS + PART_SIZE]
    store_le(out, to, size, width)
    to += width
    for k in range(count):
        place = parts[at + k * PART_SLOTS + PART_START]
        size = parts[at + k * PART_SLOTS + PART_SIZE]
        if place >= 0:
            to = copy_value(out, to, arena, place, size, arena_size)
        else:
            to = copy_value(out, to, value, ~place, size, residual_size)
    return to


def unshred_objects(
    metadata: InBytesView,
    metadata_starts: InIntsView,
    metadata_ends: InIntsView,
    slots: InIntsView,
    fields: InIntsView,
    name_count: i64,
    typed_valid: InBytesView,
    value: InBytesView,
    value_offsets: InIntsView,
    value_valid: InBytesView,
    rows: InIntsView,
    first: i64,
    last: i64,
    strict: i64,
    fills: i64,
    child_names: InIntsView,
    child_starts: InIntsView,
    child_ends: InIntsView,
    arena: InBytesView,
    out: OutBytesView,
    starts: OutIntsView,
    ends: OutIntsView,
    parts: OutIntsView,
    frame: OutIntsView,
    status: OutIntsView,
    state: OutIntsView,
) -> i64:
    """Write an object node's instances from those of its fields, which stand in child_starts one stretch for each.

    With `fills` a field of the residual counts where the shredded one is missing; without, it never counts.
    """
    instance: i64 = first
    instances: i64 = len(typed_valid)
    children: i64 = len(child_names)
    row: i64
    to: i64
    code: i64
    metadata_p: InBytes = in_bytes(metadata)
    metadata_starts_p: InInts = in_ints(metadata_starts)
    metadata_ends_p: InInts = in_ints(metadata_ends)
    slots_p: InInts = in_ints(slots)
    fields_p: InInts = in_ints(fields)
    typed_valid_p: InBytes = in_bytes(typed_valid)
    value_p: InBytes = in_bytes(value)
    residual_size: i64 = len(value)
    value_offsets_p: InInts = in_ints(value_offsets)
    value_valid_p: InBytes = in_bytes(value_valid)
    rows_p: InInts = in_ints(rows)
    child_names_p: InInts = in_ints(child_names)
    child_starts_p: InInts = in_ints(child_starts)
    child_ends_p: InInts = in_ints(child_ends)
    arena_p: InBytes = in_bytes(arena)
    arena_size: i64 = len(arena)
    out_p: OutBytes = out_bytes(out)
    out_size: i64 = len(out)
    starts_p: OutInts = out_ints(starts)
    ends_p: OutInts = out_ints(ends)
    parts_p: OutInts = out_ints(parts)
    parts_size: i64 = len(parts)
    frame_p: OutInts = out_ints(frame)
    status_p: OutInts = out_ints(status)
    state_p: OutInts = out_ints(state)
    with nogil:
        state_p[ROW_NEED] = NEED_NOTHING
        while instance < last:
            to = state_p[ROW_OUT]
            row = rows_p[instance]
            starts_p[instance] = -1
            if typed_valid_p[instance]:
                code = write_object(
                    metadata_p,
                    metadata_starts_p[row],
                    metadata_ends_p[row],
                    fields_p,
                    slots_p[row],
                    name_count,
                    value_p,
                    residual_size,
                    value_offsets_p[instance],
                    value_offsets_p[instance + 1],
                    value_valid_p[instance],
                    strict,
                    fills,
                    child_names_p,
                    children,
                    instance,
                    instances,
                    child_starts_p,
                    child_ends_p,
                    arena_p,
                    arena_size,
                    out_p,
                    out_size,
                    parts_p,
                    parts_size,
                    frame_p,
                    state_p,
                )
                if code < -1000:
                    state_p[ROW_NEED] = -1000 - code
                    break
                if code < 0:
                    status_p[row] = -code
                else:
                    starts_p[instance] = to
                    to = code
            elif value_valid_p[instance]:
                code = copy_residual(value_p, value_offsets_p[instance], value_offsets_p[instance + 1], out_p, to, out_size, frame_p)
                if code < -1000:
                    state_p[ROW_NEED] = NEED_VALUE
                    break
                if code < 0:
                    status_p[row] = -code
                elif strict and value_p[value_offsets_p[instance]] & 3 == BASIC_OBJECT:
                    status_p[row] = BAD_OBJECT_IN_VALUE
                else:
                    starts_p[instance] = to
                    to = code
            ends_p[instance] = to
            state_p[ROW_OUT] = to
            instance += 1
    return instance


def unshred_arrays(
    list_offsets: InIntsView,
    typed_valid: InBytesView,
    value: InBytesView,
    value_offsets: InIntsView,
    value_valid: InBytesView,
    rows: InIntsView,
    first: i64,
    last: i64,
    element_starts: InIntsView,
    element_ends: InIntsView,
    arena: InBytesView,
    out: OutBytesView,
    starts: OutIntsView,
    ends: OutIntsView,
    frame: OutIntsView,
    status: OutIntsView,
    state: OutIntsView,
) -> i64:
    """Write an array node's instances from those of its elements; a missing element becomes a Variant null."""
    instance: i64 = first
    to: i64
    size: i64
    code: i64
    count: i64
    width: i64
    k: i64
    element: i64
    list_offsets_p: InInts = in_ints(list_offsets)
    typed_valid_p: InBytes = in_bytes(typed_valid)
    value_p: InBytes = in_bytes(value)
    value_offsets_p: InInts = in_ints(value_offsets)
    value_valid_p: InBytes = in_bytes(value_valid)
    rows_p: InInts = in_ints(rows)
    element_starts_p: InInts = in_ints(element_starts)
    element_ends_p: InInts = in_ints(element_ends)
    arena_p: InBytes = in_bytes(arena)
    arena_size: i64 = len(arena)
    out_p: OutBytes = out_bytes(out)
    out_size: i64 = len(out)
    starts_p: OutInts = out_ints(starts)
    ends_p: OutInts = out_ints(ends)
    frame_p: OutInts = out_ints(frame)
    status_p: OutInts = out_ints(status)
    state_p: OutInts = out_ints(state)
    with nogil:
        state_p[ROW_NEED] = NEED_NOTHING
        while instance < last:
            to = state_p[ROW_OUT]
            starts_p[instance] = -1
            if typed_valid_p[instance]:
                if value_valid_p[instance]:
                    status_p[rows_p[instance]] = BAD_BOTH_SET
                count = list_offsets_p[instance + 1] - list_offsets_p[instance]
                size = 0
                for k in range(count):
                    element = list_offsets_p[instance] + k
                    size += element_ends_p[element] - element_starts_p[element] if element_starts_p[element] >= 0 else 1
                width = width_of(size)
                if to + CONTAINER_ROOM + count * width + size > out_size:
                    state_p[ROW_NEED] = NEED_VALUE
                    break
                starts_p[instance] = to
                out_p[to] = 3 | ((width - 1) << 2) | ((1 if count > 255 else 0) << 4)
                to += 1
                if count > 255:
                    store_le(out_p, to, count, 4)
                    to += 4
                else:
                    out_p[to] = count
                    to += 1
                size = 0
                for k in range(count):
                    element = list_offsets_p[instance] + k
                    store_le(out_p, to, size, width)
                    to += width
                    size += element_ends_p[element] - element_starts_p[element] if element_starts_p[element] >= 0 else 1
                store_le(out_p, to, size, width)
                to += width
                for k in range(count):
                    element = list_offsets_p[instance] + k
                    if element_starts_p[element] >= 0:
                        size = element_ends_p[element] - element_starts_p[element]
                        to = copy_value(out_p, to, arena_p, element_starts_p[element], size, arena_size)
                    else:
                        out_p[to] = 0
                        to += 1
            elif value_valid_p[instance]:
                code = copy_residual(value_p, value_offsets_p[instance], value_offsets_p[instance + 1], out_p, to, out_size, frame_p)
                if code < -1000:
                    state_p[ROW_NEED] = NEED_VALUE
                    break
                if code < 0:
                    status_p[rows_p[instance]] = -code
                else:
                    starts_p[instance] = to
                    to = code
            ends_p[instance] = to
            state_p[ROW_OUT] = to
            instance += 1
    return instance
