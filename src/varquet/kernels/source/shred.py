"""A variant column taken apart along a schema, one schema node at a time.

A node's instances are the rows, or the elements of the arrays around it. Where an instance's value is, is kept as a start
and an end in the column's bytes; a start of -1 means that it is missing. `split_objects` finds the fields of one object
node in all instances and gathers what the schema has no column for into the residual; `expand_arrays` makes elements
instances of their own; `shred_leaves` reads what fits the typed_value and leaves the rest for the residual.
"""

from __future__ import annotations

from varquet.kernels.source._bytes import (
    BASIC_ARRAY,
    BASIC_OBJECT,
    COPIED_AT_ONCE,
    DICT_COUNT,
    FRAME_COUNT,
    FRAME_ID_WIDTH,
    FRAME_IDS,
    FRAME_OFFSETS,
    FRAME_TOTAL,
    FRAME_VALUES,
    FRAME_WIDTH,
    MAX_EXPANSION,
    ROW_DICT,
    ROW_NEED,
    ROW_OUT,
    child_at,
    copy_value,
    open_container,
    open_dictionary,
    value_size,
    width_of,
)
from varquet.kernels.source._codes import (
    BAD_DUPLICATE_NAME,
    BAD_EXPANSION,
    BAD_FIELD_ID,
    BAD_OFFSET,
    BAD_VALUE_TRUNCATED,
    NEED_NOTHING,
    NEED_STACK,
    NEED_VALUE,
)
from varquet.kernels.source._dictionaries import match_dictionary
from varquet.kernels.source._instances import (
    AHEAD,
    IS_MISSING,
    IS_RESIDUAL,
    IS_TYPED,
)
from varquet.kernels.source.dialect import (
    InBytes,
    InBytesView,
    InInts,
    InIntsView,
    OutBytes,
    OutBytesView,
    OutInts,
    OutIntsView,
    copy_bytes,
    i64,
    in_bytes,
    in_ints,
    inlined,
    kernel,
    load_le,
    nogil,
    out_bytes,
    out_ints,
    prefetch,
    same_bytes,
    store_le,
)

# Room that the header of a residual object needs at most: header byte, count, and one offset more than fields.
OBJECT_ROOM = 16


def match_rows(
    metadata: InBytesView,
    metadata_starts: InIntsView,
    metadata_ends: InIntsView,
    valid: InBytesView,
    first: i64,
    last: i64,
    names: InBytesView,
    name_offsets: InIntsView,
    found_starts: OutIntsView,
    found_counts: OutIntsView,
    found: OutIntsView,
    status: OutIntsView,
    state: OutIntsView,
) -> i64:
    """Match every row's dictionary with the schema's names; the row reached.

    Field id f of row k is the schema's name found[found_starts[k] + f], of found_counts[k]. Rows with the same metadata as
    the row before share its part of `found`; ROW_OUT is how much of it is used.
    """
    row: i64 = first
    code: i64
    size: i64
    before: i64 = first - 1
    metadata_p: InBytes = in_bytes(metadata)
    metadata_starts_p: InInts = in_ints(metadata_starts)
    metadata_ends_p: InInts = in_ints(metadata_ends)
    valid_p: InBytes = in_bytes(valid)
    names_p: InBytes = in_bytes(names)
    name_offsets_p: InInts = in_ints(name_offsets)
    name_count: i64 = len(name_offsets) - 1
    found_starts_p: OutInts = out_ints(found_starts)
    found_counts_p: OutInts = out_ints(found_counts)
    found_p: OutInts = out_ints(found)
    found_size: i64 = len(found)
    status_p: OutInts = out_ints(status)
    state_p: OutInts = out_ints(state)
    with nogil:
        state_p[ROW_NEED] = NEED_NOTHING
        while row < last:
            found_counts_p[row] = 0
            found_starts_p[row] = 0
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
                    found_starts_p[row] = found_starts_p[before]
                    found_counts_p[row] = found_counts_p[before]
                    status_p[row] = status_p[before]
                else:
                    code = open_dictionary(metadata_p, metadata_starts_p[row], metadata_ends_p[row], state_p)
                    if code == 0:
                        if state_p[ROW_OUT] + state_p[ROW_DICT + DICT_COUNT] > found_size:
                            state_p[ROW_NEED] = NEED_STACK
                            break
                        code = match_dictionary(metadata_p, names_p, name_offsets_p, name_count, found_p, state_p[ROW_OUT], state_p)
                    if code < 0:
                        status_p[row] = -code
                    else:
                        found_starts_p[row] = state_p[ROW_OUT]
                        found_counts_p[row] = state_p[ROW_DICT + DICT_COUNT]
                        state_p[ROW_OUT] += state_p[ROW_DICT + DICT_COUNT]
            before = row
            row += 1
    return row


@inlined
def leave_out(child_starts: OutInts, child_ends: OutInts, seen: InInts, fields: i64, instance: i64, instances: i64) -> i64:
    """Note that an instance has not got the fields that were not seen in it."""
    field: i64
    place: i64 = instance
    for field in range(fields):
        if seen[field] != instance:
            child_starts[place] = -1
            child_ends[place] = -1
        place += instances
    return 0


@kernel
def split_object(
    value: InBytes,
    value_bytes: i64,
    at: i64,
    end: i64,
    sizes: InInts,
    found: InInts,
    found_start: i64,
    found_count: i64,
    children: InInts,
    instance: i64,
    instances: i64,
    child_starts: OutInts,
    child_ends: OutInts,
    seen: OutInts,
    fields: i64,
    others: OutInts,
    others_size: i64,
    residual: OutBytes,
    residual_size: i64,
    frame: OutInts,
    state: OutInts,
) -> i64:
    """Find one object's fields, and write those without a column as an object to the residual at ROW_OUT.

    Returns the position behind the residual, minus a code, or minus a need less 1000.
    """
    code: i64 = open_container(value, at, end, frame, 0)
    count: i64
    ids: i64
    id_width: i64
    offsets: i64
    width: i64
    values: i64
    values_size: i64
    field: i64
    child: i64
    k: i64
    place: i64
    size: i64
    total: i64 = 0
    there: i64 = 0
    rest: i64 = 0
    widest: i64 = 0
    to: i64 = state[ROW_OUT]
    budget: i64 = MAX_EXPANSION * (end - at)
    if code < 0:
        return code
    count = frame[FRAME_COUNT]
    ids = frame[FRAME_IDS]
    id_width = frame[FRAME_ID_WIDTH]
    offsets = frame[FRAME_OFFSETS]
    width = frame[FRAME_WIDTH]
    values = frame[FRAME_VALUES]
    values_size = frame[FRAME_TOTAL]
    for k in range(count):
        field = value[ids + k] if id_width == 1 else load_le(value, ids + k * id_width, id_width)
        if field >= found_count:
            return -BAD_FIELD_ID
        place = value[offsets + k] if width == 1 else load_le(value, offsets + k * width, width)
        if place >= values_size:
            return -BAD_OFFSET
        size = sizes[value[values + place]]
        if size == 0:
            size = value_size(value, values + place, values + values_size, frame, 16)
            if size < 0:
                return size
        elif place + size > values_size:
            return -BAD_VALUE_TRUNCATED
        place += values
        child = found[found_start + field]
        if child >= 0:
            child = children[child]
        if child >= 0:
            if seen[child] == instance:
                return -BAD_DUPLICATE_NAME
            seen[child] = instance
            there += 1
            child = child * instances + instance
            child_starts[child] = place
            child_ends[child] = place + size
        else:
            if 3 * rest + 3 > others_size:
                return -1000 - NEED_STACK
            others[3 * rest] = field
            others[3 * rest + 1] = place
            others[3 * rest + 2] = size
            rest += 1
            total += size
            if field > widest:
                widest = field
            if total > budget:
                return -BAD_EXPANSION
    if there < fields:
        leave_out(child_starts, child_ends, seen, fields, instance, instances)
    if rest == 0:
        return to
    if to + OBJECT_ROOM + rest * 8 + total + COPIED_AT_ONCE > residual_size:
        return -1000 - NEED_VALUE
    width = width_of(total)
    widest = width_of(widest)
    residual[to] = 2 | ((width - 1) << 2) | ((widest - 1) << 4) | ((1 if rest > 255 else 0) << 6)
    to += 1
    if rest > 255:
        store_le(residual, to, rest, 4)
        to += 4
    else:
        residual[to] = rest
        to += 1
    for k in range(rest):
        store_le(residual, to, others[3 * k], widest)
        to += widest
    size = 0
    for k in range(rest):
        store_le(residual, to, size, width)
        to += width
        size += others[3 * k + 2]
    store_le(residual, to, size, width)
    to += width
    for k in range(rest):
        to = copy_value(residual, to, value, others[3 * k + 1], others[3 * k + 2], value_bytes)
    return to


def split_objects(
    value: InBytesView,
    starts: InIntsView,
    ends: InIntsView,
    rows: InIntsView,
    first: i64,
    last: i64,
    sizes: InIntsView,
    found_starts: InIntsView,
    found_counts: InIntsView,
    found: InIntsView,
    children: InIntsView,
    child_starts: OutIntsView,
    child_ends: OutIntsView,
    seen: OutIntsView,
    outcome: OutBytesView,
    residual: OutBytesView,
    residual_offsets: OutIntsView,
    others: OutIntsView,
    frame: OutIntsView,
    status: OutIntsView,
    state: OutIntsView,
) -> i64:
    """Split the objects among instances `first` to `last`; the instance reached.

    sizes[b] is the size of a value whose first byte is b, or 0 where that does not tell. children[n] is the place of the schema's
    name n among this node's fields, or -1. child_starts has one stretch of all instances for each field, and seen[f] the last instance
    that has field f, -1 before. outcome is IS_TYPED for an object; residual bytes k, if any, end at residual_offsets[k + 1] (a value
    that is no object is in it as a whole). status is by row.
    """
    instance: i64 = first
    instances: i64 = len(starts)
    row: i64
    at: i64
    code: i64
    value_p: InBytes = in_bytes(value)
    value_bytes: i64 = len(value)
    starts_p: InInts = in_ints(starts)
    ends_p: InInts = in_ints(ends)
    rows_p: InInts = in_ints(rows)
    sizes_p: InInts = in_ints(sizes)
    found_starts_p: InInts = in_ints(found_starts)
    found_counts_p: InInts = in_ints(found_counts)
    found_p: InInts = in_ints(found)
    children_p: InInts = in_ints(children)
    child_starts_p: OutInts = out_ints(child_starts)
    child_ends_p: OutInts = out_ints(child_ends)
    seen_p: OutInts = out_ints(seen)
    fields: i64 = len(seen)
    field: i64
    outcome_p: OutBytes = out_bytes(outcome)
    residual_p: OutBytes = out_bytes(residual)
    residual_size: i64 = len(residual)
    residual_offsets_p: OutInts = out_ints(residual_offsets)
    others_p: OutInts = out_ints(others)
    others_size: i64 = len(others)
    frame_p: OutInts = out_ints(frame)
    status_p: OutInts = out_ints(status)
    state_p: OutInts = out_ints(state)
    with nogil:
        state_p[ROW_NEED] = NEED_NOTHING
        while instance < last:
            if instance + AHEAD < last:
                prefetch(value_p, starts_p[instance + AHEAD])
            at = starts_p[instance]
            outcome_p[instance] = IS_MISSING
            if at >= 0:
                row = rows_p[instance]
                if value_p[at] & 3 == BASIC_OBJECT:
                    code = split_object(
                        value_p,
                        value_bytes,
                        at,
                        ends_p[instance],
                        sizes_p,
                        found_p,
                        found_starts_p[row],
                        found_counts_p[row],
                        children_p,
                        instance,
                        instances,
                        child_starts_p,
                        child_ends_p,
                        seen_p,
                        fields,
                        others_p,
                        others_size,
                        residual_p,
                        residual_size,
                        frame_p,
                        state_p,
                    )
                    if code < -1000:
                        # The instance is split again from its start.
                        for field in range(fields):
                            seen_p[field] = -1
                        state_p[ROW_NEED] = -1000 - code
                        break
                    if code < 0:
                        status_p[row] = -code
                    else:
                        outcome_p[instance] = IS_TYPED
                        state_p[ROW_OUT] = code
                else:
                    code = state_p[ROW_OUT] + ends_p[instance] - at
                    if code > residual_size:
                        state_p[ROW_NEED] = NEED_VALUE
                        break
                    copy_bytes(residual_p, state_p[ROW_OUT], value_p, at, ends_p[instance] - at)
                    outcome_p[instance] = IS_RESIDUAL
                    state_p[ROW_OUT] = code
            if outcome_p[instance] != IS_TYPED:
                leave_out(child_starts_p, child_ends_p, seen_p, fields, instance, instances)
            instance += 1
            residual_offsets_p[instance] = state_p[ROW_OUT]
    return instance


def count_elements(
    value: InBytesView,
    value_offsets: InIntsView,
    starts: InIntsView,
    ends: InIntsView,
    rows: InIntsView,
    instances: i64,
    offsets: OutIntsView,
    outcome: OutBytesView,
    frame: OutIntsView,
    status: OutIntsView,
) -> i64:
    """Count the elements of the arrays among all instances: those of instance k are offsets[k] to offsets[k + 1]."""
    instance: i64
    at: i64
    code: i64
    row: i64
    before: i64 = -1
    budget: i64 = 0
    value_p: InBytes = in_bytes(value)
    value_offsets_p: InInts = in_ints(value_offsets)
    starts_p: InInts = in_ints(starts)
    ends_p: InInts = in_ints(ends)
    rows_p: InInts = in_ints(rows)
    offsets_p: OutInts = out_ints(offsets)
    outcome_p: OutBytes = out_bytes(outcome)
    frame_p: OutInts = out_ints(frame)
    status_p: OutInts = out_ints(status)
    with nogil:
        offsets_p[0] = 0
        for instance in range(instances):
            at = starts_p[instance]
            offsets_p[instance + 1] = offsets_p[instance]
            outcome_p[instance] = IS_MISSING
            if at >= 0:
                outcome_p[instance] = IS_RESIDUAL
                if value_p[at] & 3 == BASIC_ARRAY:
                    row = rows_p[instance]
                    if row != before:
                        budget = MAX_EXPANSION * (value_offsets_p[row + 1] - value_offsets_p[row])
                        before = row
                    code = open_container(value_p, at, ends_p[instance], frame_p, 0)
                    if code >= 0:
                        budget -= frame_p[FRAME_COUNT]
                        if budget < 0:
                            code = -BAD_EXPANSION
                    if code < 0:
                        status_p[row] = -code
                        outcome_p[instance] = IS_MISSING
                    else:
                        outcome_p[instance] = IS_TYPED
                        offsets_p[instance + 1] += frame_p[FRAME_COUNT]
    return 0


def expand_arrays(
    value: InBytesView,
    value_offsets: InIntsView,
    starts: InIntsView,
    ends: InIntsView,
    rows: InIntsView,
    instances: i64,
    offsets: InIntsView,
    outcome: InBytesView,
    element_starts: OutIntsView,
    element_ends: OutIntsView,
    element_rows: OutIntsView,
    frame: OutIntsView,
    status: OutIntsView,
) -> i64:
    """Find the elements that count_elements has counted."""
    instance: i64
    element: i64
    place: i64
    size: i64
    k: i64
    before: i64 = -1
    budget: i64 = 0
    value_p: InBytes = in_bytes(value)
    value_offsets_p: InInts = in_ints(value_offsets)
    starts_p: InInts = in_ints(starts)
    ends_p: InInts = in_ints(ends)
    rows_p: InInts = in_ints(rows)
    offsets_p: InInts = in_ints(offsets)
    outcome_p: InBytes = in_bytes(outcome)
    element_starts_p: OutInts = out_ints(element_starts)
    element_ends_p: OutInts = out_ints(element_ends)
    element_rows_p: OutInts = out_ints(element_rows)
    frame_p: OutInts = out_ints(frame)
    status_p: OutInts = out_ints(status)
    with nogil:
        for instance in range(instances):
            if outcome_p[instance] == IS_TYPED:
                open_container(value_p, starts_p[instance], ends_p[instance], frame_p, 0)
                for k in range(offsets_p[instance + 1] - offsets_p[instance]):
                    element = offsets_p[instance] + k
                    element_starts_p[element] = -1
                    element_ends_p[element] = -1
                    element_rows_p[element] = rows_p[instance]
                    place = child_at(value_p, frame_p, 0, k)
                    size = place
                    if place >= 0:
                        size = value_size(value_p, place, frame_p[FRAME_VALUES] + frame_p[FRAME_TOTAL], frame_p, 16)
                    # Elements may share bytes, but not without end.
                    if rows_p[instance] != before:
                        before = rows_p[instance]
                        budget = MAX_EXPANSION * (value_offsets_p[before + 1] - value_offsets_p[before])
                    budget -= size
                    if budget < 0 and size >= 0:
                        size = -BAD_EXPANSION
                    if size < 0:
                        status_p[rows_p[instance]] = -size
                    else:
                        element_starts_p[element] = place
                        element_ends_p[element] = place + size
    return 0
