"""Variant bytes to JSON text, a row at a time, checked on the way like `validate` does."""

from __future__ import annotations

from varquet.kernels.source._bytes import (
    BASIC_OBJECT,
    BASIC_SHORT_STRING,
    FRAME_COUNT,
    FRAME_ID_WIDTH,
    FRAME_IDS,
    FRAME_KIND,
    FRAME_NEXT,
    FRAME_SLOTS,
    FRAME_TOTAL,
    FRAME_VALUES,
    MAX_EXPANSION,
    ROW_DICTIONARIES,
    ROW_NAMES,
    ROW_NEED,
    ROW_OFFSET,
    ROW_OUT,
    check_scalar,
    child_at,
    find_name,
    load_signed,
    next_dictionary,
    open_container,
    scalar_size,
    value_size,
)
from varquet.kernels.source._codes import (
    BAD_EXPANSION,
    BAD_METADATA_UTF8,
    BAD_STRING_UTF8,
    BAD_VALUE_EMPTY,
    BAD_VALUE_LENGTH,
    NEED_NOTHING,
    NEED_STACK,
    NEED_TEXT,
)
from varquet.kernels.source._names import NEEDS_SORTING_ROOM, check_names
from varquet.kernels.source._text import (
    NO_ROOM,
    NOT_UTF8,
    SCALAR_ROOM,
    write_base64,
    write_date,
    write_decimal,
    write_float,
    write_integer,
    write_string,
    write_time,
    write_timestamp,
    write_uuid,
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
    load64,
    load_le,
    nogil,
    out_bytes,
    out_ints,
    store64,
)

# Names as they stand before the values of objects, quoted and with a colon, each written when it is first needed: where the
# bytes of the next begin, the number of the dictionary they are of, the slot behind the last field id that has some, and for
# each field id where its bytes are. A size of 0 says that it has none yet.
KNOWN_USED = 0
KNOWN_DICTIONARY = 1
KNOWN_END = 2
KNOWN_FIRST = 3
KNOWN_START = 0
KNOWN_SIZE = 1
KNOWN_SLOTS = 2

# Names are copied by this many bytes, whatever their size.
NAME_AT_ONCE = 16


@kernel
def write_name(
    metadata: InBytes,
    metadata_size: i64,
    field: i64,
    out: OutBytes,
    to: i64,
    room: i64,
    state: OutInts,
) -> i64:
    """A name of the row's dictionary with a colon; the position behind it, minus a code, or a need less 1000."""
    code: i64 = find_name(metadata, state, field, ROW_NAMES)
    if code < 0:
        return code
    to = write_string(metadata, state[ROW_NAMES], state[ROW_NAMES] + state[ROW_NAMES + 1], metadata_size, out, to, room - 1)
    if to == NOT_UTF8:
        return -BAD_METADATA_UTF8
    if to == NO_ROOM:
        return -1000 - NEED_TEXT
    out[to] = 58
    return to + 1


@kernel
def write_known_name(
    metadata: InBytes,
    metadata_size: i64,
    field: i64,
    names: OutBytes,
    names_size: i64,
    known: OutInts,
    known_size: i64,
    out: OutBytes,
    to: i64,
    room: i64,
    state: OutInts,
) -> i64:
    """Like write_name; what it writes is kept for other rows while there is room for that."""
    slot: i64 = KNOWN_FIRST + field * KNOWN_SLOTS
    at: i64
    size: i64
    if slot + KNOWN_SLOTS > known_size:
        return write_name(metadata, metadata_size, field, out, to, room, state)
    if known[slot + KNOWN_SIZE] == 0:
        at = write_name(metadata, metadata_size, field, names, known[KNOWN_USED], names_size - NAME_AT_ONCE, state)
        if at < 0:
            return write_name(metadata, metadata_size, field, out, to, room, state)
        known[slot + KNOWN_START] = known[KNOWN_USED]
        known[slot + KNOWN_SIZE] = at - known[KNOWN_USED]
        known[KNOWN_USED] = at
        if slot + KNOWN_SLOTS > known[KNOWN_END]:
            known[KNOWN_END] = slot + KNOWN_SLOTS
    at = known[slot + KNOWN_START]
    size = known[slot + KNOWN_SIZE]
    if to + size + NAME_AT_ONCE > room:
        return -1000 - NEED_TEXT
    store64(out, to, load64(names, at))
    store64(out, to + 8, load64(names, at + 8))
    if size > NAME_AT_ONCE:
        copy_bytes(out, to + NAME_AT_ONCE, names, at + NAME_AT_ONCE, size - NAME_AT_ONCE)
    return to + size


@inlined
def forget_names(known: OutInts, state: InInts) -> i64:
    """Forget the names of another dictionary than the row's; returns 0."""
    k: i64
    if known[KNOWN_DICTIONARY] != state[ROW_DICTIONARIES]:
        known[KNOWN_DICTIONARY] = state[ROW_DICTIONARIES]
        known[KNOWN_USED] = 0
        for k in range(KNOWN_FIRST, known[KNOWN_END]):
            known[k] = 0
        known[KNOWN_END] = 0
    return 0


@kernel
def write_word(out: OutBytes, to: i64, word: i64) -> i64:
    """null, true or false, by their tags 0, 1 and 2."""
    if word == 0:
        out[to] = 110
        out[to + 1] = 117
        out[to + 2] = 108
        out[to + 3] = 108
        return to + 4
    if word == 1:
        out[to] = 116
        out[to + 1] = 114
        out[to + 2] = 117
        out[to + 3] = 101
        return to + 4
    out[to] = 102
    out[to + 1] = 97
    out[to + 2] = 108
    out[to + 3] = 115
    out[to + 4] = 101
    return to + 5


@kernel
def write_scalar(value: InBytes, value_total: i64, at: i64, size: i64, out: OutBytes, to: i64, room: i64) -> i64:
    """A checked scalar as JSON; the position behind it or NO_ROOM."""
    header: i64 = value[at]
    tag: i64 = header >> 2
    if header & 3 == BASIC_SHORT_STRING:
        return write_string(value, at + 1, at + size, value_total, out, to, room)
    if tag == 16:
        return write_string(value, at + 5, at + size, value_total, out, to, room)
    if to + SCALAR_ROOM > room:
        return NO_ROOM
    if tag <= 2:
        return write_word(out, to, tag)
    if tag <= 6:
        return write_integer(out, to, load_signed(value, at + 1, size - 1))
    if tag == 7:
        return write_float(load_signed(value, at + 1, 8), 0, out, to)
    if tag == 14:
        return write_float(load_signed(value, at + 1, 4), 1, out, to)
    if tag <= 10:
        return write_decimal(value, at, out, to)
    if tag == 15 and to + SCALAR_ROOM + (size - 5 + 2) // 3 * 4 > room:
        return NO_ROOM
    out[to] = 34
    to += 1
    if tag == 11:
        to = write_date(out, to, load_signed(value, at + 1, 4))
    elif tag == 12 or tag == 13:
        to = write_timestamp(out, to, load_signed(value, at + 1, 8), 1000000, 13 - tag)
    elif tag == 18 or tag == 19:
        to = write_timestamp(out, to, load_signed(value, at + 1, 8), 1000000000, 19 - tag)
    elif tag == 17:
        to = write_time(out, to, load_signed(value, at + 1, 8), 1000000)
    elif tag == 20:
        to = write_uuid(value, at + 1, out, to)
    else:
        to = write_base64(value, at + 5, at + size, out, to)
    out[to] = 34
    return to + 1


@kernel
def write_row(
    metadata: InBytes,
    metadata_size: i64,
    metadata_start: i64,
    metadata_end: i64,
    value: InBytes,
    value_total: i64,
    start: i64,
    end: i64,
    stack: OutInts,
    stack_size: i64,
    numbers: OutInts,
    numbers_size: i64,
    names: OutBytes,
    names_size: i64,
    known: OutInts,
    known_size: i64,
    out: OutBytes,
    room: i64,
    state: OutInts,
) -> i64:
    """Write one row's text; the position behind it, minus a code, or minus a need less 1000."""
    to: i64 = state[ROW_OUT]
    depth: i64 = 0
    at: i64 = start
    limit: i64 = end
    size: i64
    code: i64
    frame: i64 = 0
    budget: i64 = MAX_EXPANSION * (end - start)
    state[ROW_OFFSET] = 0
    code = next_dictionary(metadata, metadata_start, metadata_end, state)
    if code < 0:
        return code
    forget_names(known, state)
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
        if value[at] & 3 < BASIC_OBJECT:
            # Strings are checked while they are written.
            if value[at] & 3 == BASIC_SHORT_STRING or value[at] == 16 << 2:
                size = scalar_size(value, at, limit)
            else:
                size = check_scalar(value, at, limit)
            if size < 0:
                return size
            budget -= size
            to = write_scalar(value, value_total, at, size, out, to, room)
            if to == NOT_UTF8:
                return -BAD_STRING_UTF8
            if to == NO_ROOM:
                return -1000 - NEED_TEXT
        else:
            if (depth + 2) * FRAME_SLOTS > stack_size:
                return -1000 - NEED_STACK
            frame = depth * FRAME_SLOTS
            size = open_container(value, at, limit, stack, frame)
            if size < 0:
                return size
            budget -= size
            if stack[frame + FRAME_KIND] == BASIC_OBJECT:
                code = check_names(metadata, value, stack, frame, numbers, numbers_size, state)
                if code == NEEDS_SORTING_ROOM:
                    return -1000 - NEED_STACK
                if code < 0:
                    return code
            if to + 2 > room:
                return -1000 - NEED_TEXT
            out[to] = 123 if stack[frame + FRAME_KIND] == BASIC_OBJECT else 91
            to += 1
            depth += 1
        if budget < 0:
            return -BAD_EXPANSION
        while depth > 0:
            frame = (depth - 1) * FRAME_SLOTS
            if stack[frame + FRAME_NEXT] < stack[frame + FRAME_COUNT]:
                break
            if to + 1 > room:
                return -1000 - NEED_TEXT
            out[to] = 125 if stack[frame + FRAME_KIND] == BASIC_OBJECT else 93
            to += 1
            depth -= 1
        if depth == 0:
            return to
        if to + 2 > room:
            return -1000 - NEED_TEXT
        if stack[frame + FRAME_NEXT] > 0:
            out[to] = 44
            to += 1
        if stack[frame + FRAME_KIND] == BASIC_OBJECT:
            size = load_le(
                value,
                stack[frame + FRAME_IDS] + stack[frame + FRAME_NEXT] * stack[frame + FRAME_ID_WIDTH],
                stack[frame + FRAME_ID_WIDTH],
            )
            to = write_known_name(metadata, metadata_size, size, names, names_size, known, known_size, out, to, room, state)
            if to < 0:
                return to
        at = child_at(value, stack, frame, stack[frame + FRAME_NEXT])
        if at < 0:
            return at
        limit = stack[frame + FRAME_VALUES] + stack[frame + FRAME_TOTAL]
        stack[frame + FRAME_NEXT] += 1


def to_json_rows(
    metadata: InBytesView,
    metadata_starts: InIntsView,
    metadata_ends: InIntsView,
    value: InBytesView,
    value_offsets: InIntsView,
    valid: InBytesView,
    first: i64,
    last: i64,
    stack: OutIntsView,
    numbers: OutIntsView,
    names: OutBytesView,
    known: OutIntsView,
    text: OutBytesView,
    text_offsets: OutIntsView,
    status: OutIntsView,
    state: OutIntsView,
) -> i64:
    """Write rows `first` to `last` as JSON; the row reached.

    Text k ends at text_offsets[k + 1]. A row that is null or no Variant gets no text; the latter has code | offset << 8 in
    status[k]. Where a buffer is too small, ROW_NEED names it, and the call is repeated from the row reached. `known`, all 0 at
    first, says which names stand in `names` as they are written; for names that do not fit there all goes on without.
    """
    row: i64 = first
    code: i64
    metadata_p: InBytes = in_bytes(metadata)
    metadata_size: i64 = len(metadata)
    metadata_starts_p: InInts = in_ints(metadata_starts)
    metadata_ends_p: InInts = in_ints(metadata_ends)
    value_p: InBytes = in_bytes(value)
    value_total: i64 = len(value)
    value_offsets_p: InInts = in_ints(value_offsets)
    valid_p: InBytes = in_bytes(valid)
    stack_p: OutInts = out_ints(stack)
    stack_size: i64 = len(stack)
    numbers_p: OutInts = out_ints(numbers)
    numbers_size: i64 = len(numbers)
    names_p: OutBytes = out_bytes(names)
    names_size: i64 = len(names)
    known_p: OutInts = out_ints(known)
    known_size: i64 = len(known)
    text_p: OutBytes = out_bytes(text)
    text_size: i64 = len(text)
    text_offsets_p: OutInts = out_ints(text_offsets)
    status_p: OutInts = out_ints(status)
    state_p: OutInts = out_ints(state)
    with nogil:
        state_p[ROW_NEED] = NEED_NOTHING
        while row < last:
            if valid_p[row]:
                code = write_row(
                    metadata_p,
                    metadata_size,
                    metadata_starts_p[row],
                    metadata_ends_p[row],
                    value_p,
                    value_total,
                    value_offsets_p[row],
                    value_offsets_p[row + 1],
                    stack_p,
                    stack_size,
                    numbers_p,
                    numbers_size,
                    names_p,
                    names_size,
                    known_p,
                    known_size,
                    text_p,
                    text_size,
                    state_p,
                )
                if code < -1000:
                    state_p[ROW_NEED] = -1000 - code
                    break
                if code < 0:
                    status_p[row] = -code | (state_p[ROW_OFFSET] << 8)
                else:
                    state_p[ROW_OUT] = code
            row += 1
            text_offsets_p[row] = state_p[ROW_OUT]
    return row
