"""A variant column taken apart along a schema, one schema node at a time.

A node's instances are the rows, or the elements of the arrays around it. Where an instance's value is, is kept as a start
and an end in the column's bytes; a start of -1 means that it is missing. `split_objects` finds the fields of one object
node in all instances and gathers what the schema has no column for into the residual; `expand_arrays` makes elements
instances of their own; `shred_fixed` and `shred_text` read what fits the typed_value and leave the rest for the residual.
"""

from __future__ import annotations

from varquet.kernels.source._bytes import (
    BASIC_ARRAY,
    BASIC_OBJECT,
    BASIC_SHORT_STRING,
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
    load_signed,
    open_container,
    open_dictionary,
    value_size,
    width_of,
)
from varquet.kernels.source._codes import (
    BAD_DECIMAL_SCALE,
    BAD_DUPLICATE_NAME,
    BAD_EXPANSION,
    BAD_FIELD_ID,
    BAD_OFFSET,
    BAD_STRING_UTF8,
    BAD_VALUE_TRUNCATED,
    NEED_NOTHING,
    NEED_STACK,
    NEED_VALUE,
)
from varquet.kernels.source._dictionaries import match_dictionary
from varquet.kernels.source._unicode import is_utf8
from varquet.kernels.source._wide import rescale_exactly
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
    store64,
    store_le,
)

# What became of an instance's value.
IS_MISSING = 0
IS_TYPED = 1
IS_RESIDUAL = 2

# What a kernel tells of a node's instances: how many are typed, how many are left for the residual and how many bytes those
# have; behind them two numbers of its own.
COUNT_TYPED = 0
COUNT_LEFT = 1
COUNT_LEFT_BYTES = 2
COUNT_NUMBER = 3
COUNT_SLOTS = 5

# An instance's bytes are far from those of the one before: they are fetched this many instances before they are read.
AHEAD = 16

# Beyond every decimal of 18 digits.
TOO_WIDE = 4611686018427387904

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


@inlined
def rescale_small(number: i64, scale: i64, to_scale: i64, limit: i64) -> i64:
    """The same decimal of at most 18 digits with `to_scale`, or TOO_WIDE where digits are lost or it is not below the limit."""
    while scale < to_scale:
        if number > 99999999999999999 or number < -99999999999999999:
            return TOO_WIDE
        number *= 10
        scale += 1
    while scale > to_scale:
        # Towards zero, as C divides; Python must be told.
        if (number if number >= 0 else -number) % 10 != 0:
            return TOO_WIDE
        number = number // 10 if number >= 0 else -(-number // 10)
        scale -= 1
    return number if number < limit and number > -limit else TOO_WIDE


@kernel
def shred_exact(value: InBytes, at: i64, end: i64, tag: i64, precision: i64, scale: i64, limit: i64, exact: i64, out: OutInts) -> i64:
    """An exact number of any width for an integer (scale 0, precision = bits) or decimal column, if nothing is lost, to COUNT_NUMBER.

    `limit` is 10^precision for a decimal of at most 18 digits, else 0.
    """
    from_tag: i64 = value[at] >> 2
    from_scale: i64 = 0
    low: i64
    high: i64
    half: i64 = 1
    width: i64
    if from_tag >= 3 and from_tag <= 6:
        low = load_signed(value, at + 1, end - at - 1)
        high = -1 if low < 0 else 0
    elif from_tag >= 8 and from_tag <= 10:
        width = end - at - 2
        from_scale = value[at + 1]
        if from_scale > 38:
            return -BAD_DECIMAL_SCALE
        low = load_signed(value, at + 2, 8 if width == 16 else width)
        high = load_signed(value, at + 10, 8) if width == 16 else (-1 if low < 0 else 0)
    else:
        return IS_RESIDUAL
    if exact and (from_tag != tag or (tag >= 8 and from_scale != scale)):
        return IS_RESIDUAL
    if tag <= 6:
        if from_tag >= 8:
            if rescale_exactly(low, high, from_scale, 0, 38, out, COUNT_NUMBER) == 0:
                return IS_RESIDUAL
            low = out[COUNT_NUMBER]
            high = out[COUNT_NUMBER + 1]
        if high != (-1 if low < 0 else 0):
            return IS_RESIDUAL
        if precision < 64:
            half = half << (precision - 1)
            if low < -half or low >= half:
                return IS_RESIDUAL
        out[COUNT_NUMBER] = low
        return IS_TYPED
    if limit and from_tag < 10 and low <= 999999999999999999 and low >= -999999999999999999:
        low = rescale_small(low, from_scale, scale, limit)
        if low == TOO_WIDE:
            return IS_RESIDUAL
        out[COUNT_NUMBER] = low
        out[COUNT_NUMBER + 1] = -1 if low < 0 else 0
        return IS_TYPED
    return IS_TYPED if rescale_exactly(low, high, from_scale, scale, precision, out, COUNT_NUMBER) else IS_RESIDUAL


def shred_fixed(
    value: InBytesView,
    starts: InIntsView,
    ends: InIntsView,
    rows: InIntsView,
    instances: i64,
    tag: i64,
    precision: i64,
    scale: i64,
    exact: i64,
    width: i64,
    out: OutBytesView,
    bits: OutBytesView,
    outcome: OutBytesView,
    status: OutIntsView,
    counts: OutIntsView,
) -> i64:
    """Read the instances that fit a fixed-width typed_value whose Variant type is `tag`, `width` bytes each in `out`.

    Booleans have width 0 and take a bit. `bits` says which instances are typed; neither has a bit set before. COUNT_TYPED and
    the others say how many there are.

    Exact numbers cross widths and scales where nothing is lost, unless `exact` asks for the same physical type; nothing
    else crosses. For an integer `precision` is its bits, for a decimal its digits. Tag 1 stands for both booleans.
    """
    instance: i64
    at: i64
    from_tag: i64
    code: i64
    low: i64
    limit: i64 = 0
    is_exact: i64 = 1 if (tag >= 3 and tag <= 6) or (tag >= 8 and tag <= 10) else 0
    typed: i64 = 0
    left: i64 = 0
    left_bytes: i64 = 0
    value_p: InBytes = in_bytes(value)
    starts_p: InInts = in_ints(starts)
    ends_p: InInts = in_ints(ends)
    rows_p: InInts = in_ints(rows)
    out_p: OutBytes = out_bytes(out)
    bits_p: OutBytes = out_bytes(bits)
    outcome_p: OutBytes = out_bytes(outcome)
    status_p: OutInts = out_ints(status)
    counts_p: OutInts = out_ints(counts)
    with nogil:
        if tag >= 8 and tag <= 10 and precision <= 18:
            limit = 1
            for instance in range(precision):
                limit *= 10
        for instance in range(instances):
            if instance + AHEAD < instances:
                prefetch(value_p, starts_p[instance + AHEAD])
            at = starts_p[instance]
            code = IS_MISSING
            if at >= 0:
                code = IS_RESIDUAL
                if value_p[at] & 3 == 0:
                    from_tag = value_p[at] >> 2
                    if is_exact:
                        code = shred_exact(value_p, at, ends_p[instance], tag, precision, scale, limit, exact, counts_p)
                        if code < 0:
                            status_p[rows_p[instance]] = -code
                            code = IS_RESIDUAL
                    elif tag == 1:
                        if from_tag == 1 or from_tag == 2:
                            counts_p[COUNT_NUMBER] = 2 - from_tag
                            code = IS_TYPED
                    elif from_tag == tag:
                        counts_p[COUNT_NUMBER] = load_signed(value_p, at + 1, ends_p[instance] - at - 1)
                        code = IS_TYPED
            outcome_p[instance] = code
            low = 0
            if code == IS_TYPED:
                low = counts_p[COUNT_NUMBER]
                typed += 1
                bits_p[instance >> 3] |= 1 << (instance & 7)
            elif code == IS_RESIDUAL:
                left += 1
                left_bytes += ends_p[instance] - at
            if width == 8:
                store64(out_p, 8 * instance, low)
            elif width == 16:
                store64(out_p, 16 * instance, low)
                store64(out_p, 16 * instance + 8, counts_p[COUNT_NUMBER + 1] if code == IS_TYPED else 0)
            elif width == 0:
                if low:
                    out_p[instance >> 3] |= 1 << (instance & 7)
            else:
                store_le(out_p, width * instance, low, width)
        counts_p[COUNT_TYPED] = typed
        counts_p[COUNT_LEFT] = left
        counts_p[COUNT_LEFT_BYTES] = left_bytes
    return 0


def shred_text(
    value: InBytesView,
    starts: InIntsView,
    ends: InIntsView,
    rows: InIntsView,
    instances: i64,
    tag: i64,
    out: OutBytesView,
    offset_width: i64,
    out_offsets: OutBytesView,
    bits: OutBytesView,
    outcome: OutBytesView,
    status: OutIntsView,
    counts: OutIntsView,
) -> i64:
    """Copy the instances that are strings (tag 16), binary (15) or uuids (20); `out` has room for all instances, and COPIED_AT_ONCE more.

    Offsets have 4 or 8 bytes. `bits` and `counts` are as in shred_fixed.
    """
    instance: i64
    at: i64
    end: i64
    code: i64
    to: i64 = 0
    typed: i64 = 0
    left: i64 = 0
    left_bytes: i64 = 0
    value_p: InBytes = in_bytes(value)
    value_bytes: i64 = len(value)
    starts_p: InInts = in_ints(starts)
    ends_p: InInts = in_ints(ends)
    rows_p: InInts = in_ints(rows)
    out_p: OutBytes = out_bytes(out)
    out_offsets_p: OutBytes = out_bytes(out_offsets)
    bits_p: OutBytes = out_bytes(bits)
    outcome_p: OutBytes = out_bytes(outcome)
    status_p: OutInts = out_ints(status)
    counts_p: OutInts = out_ints(counts)
    with nogil:
        store_le(out_offsets_p, 0, 0, 4)
        if offset_width == 8:
            store64(out_offsets_p, 0, 0)
        for instance in range(instances):
            if instance + AHEAD < instances:
                prefetch(value_p, starts_p[instance + AHEAD])
            at = starts_p[instance]
            end = ends_p[instance]
            code = IS_MISSING
            if at >= 0:
                code = IS_RESIDUAL
                if value_p[at] & 3 == BASIC_SHORT_STRING:
                    at = at + 1 if tag == 16 else -1
                elif value_p[at] == tag << 2:
                    at = at + 1 if tag == 20 else at + 5
                else:
                    at = -1
                if at < 0:
                    left += 1
                    left_bytes += end - starts_p[instance]
                elif tag == 16 and is_utf8(value_p, at, end) == 0:
                    # The row is refused; whatever is not counted must not be gathered.
                    status_p[rows_p[instance]] = BAD_STRING_UTF8
                    code = IS_MISSING
                else:
                    to = copy_value(out_p, to, value_p, at, end - at, value_bytes)
                    code = IS_TYPED
                    typed += 1
                    bits_p[instance >> 3] |= 1 << (instance & 7)
            outcome_p[instance] = code
            if offset_width == 8:
                store64(out_offsets_p, 8 * (instance + 1), to)
            else:
                store_le(out_offsets_p, 4 * (instance + 1), to, 4)
        counts_p[COUNT_TYPED] = typed
        counts_p[COUNT_LEFT] = left
        counts_p[COUNT_LEFT_BYTES] = left_bytes
    return to


def gather_left(
    value: InBytesView,
    starts: InIntsView,
    ends: InIntsView,
    outcome: InBytesView,
    instances: i64,
    out: OutBytesView,
    out_offsets: OutIntsView,
    valid: OutBytesView,
) -> i64:
    """Copy the instances that are left for the residual one behind the other, and say which they are; the bytes copied.

    `out` has room for all of them, and COPIED_AT_ONCE more.
    """
    instance: i64
    to: i64 = 0
    value_p: InBytes = in_bytes(value)
    value_bytes: i64 = len(value)
    starts_p: InInts = in_ints(starts)
    ends_p: InInts = in_ints(ends)
    outcome_p: InBytes = in_bytes(outcome)
    out_p: OutBytes = out_bytes(out)
    out_offsets_p: OutInts = out_ints(out_offsets)
    valid_p: OutBytes = out_bytes(valid)
    with nogil:
        out_offsets_p[0] = 0
        for instance in range(instances):
            valid_p[instance] = 1 if outcome_p[instance] == IS_RESIDUAL else 0
            if valid_p[instance]:
                to = copy_value(out_p, to, value_p, starts_p[instance], ends_p[instance] - starts_p[instance], value_bytes)
            out_offsets_p[instance + 1] = to
    return to
