"""One path of every row: where its value is in the row's bytes. `extract_values` reads it."""

from __future__ import annotations

from varquet.kernels.source._bytes import (
    BASIC_ARRAY,
    BASIC_OBJECT,
    DICT_BYTES,
    DICT_COUNT,
    DICT_OFFSETS,
    DICT_TOTAL,
    DICT_WIDTH,
    FRAME_COUNT,
    FRAME_ID_WIDTH,
    FRAME_IDS,
    FRAME_TOTAL,
    FRAME_VALUES,
    ROW_DICT,
    ROW_NAMES,
    ROW_OFFSET,
    ROW_OUT,
    child_at,
    find_name,
    open_container,
    open_dictionary,
    value_size,
)
from varquet.kernels.source._codes import BAD_VALUE_EMPTY, BAD_VALUE_LENGTH
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
    inlined,
    kernel,
    load_le,
    nogil,
    out_ints,
    same_bytes,
)

# A step of a path: a field name (its place in the bytes of all names) or an index; and what was found for it last.
STEP_IS_INDEX = 0
STEP_START = 1
STEP_LENGTH = 2
STEP_FIELD = 3
STEP_SLOTS = 4

FIELD_ABSENT = -1
FIELD_AMBIGUOUS = -2
FIELD_UNKNOWN = -3


@kernel
def compare_with_name(metadata: InBytes, start: i64, length: i64, names: InBytes, other: i64, other_length: i64) -> i64:
    """-1, 0 or 1: how a dictionary's name compares with a step's by unsigned bytes."""
    k: i64
    shared: i64 = length if length < other_length else other_length
    for k in range(shared):
        if metadata[start + k] != names[other + k]:
            return -1 if metadata[start + k] < names[other + k] else 1
    if length == other_length:
        return 0
    return -1 if length < other_length else 1


@kernel
def find_field(metadata: InBytes, header: i64, names: InBytes, start: i64, length: i64, state: OutInts) -> i64:
    """The field id of a name, FIELD_ABSENT, FIELD_AMBIGUOUS where the dictionary has it twice, or a code less 1000."""
    low: i64 = 0
    high: i64 = state[ROW_DICT + DICT_COUNT]
    middle: i64
    code: i64
    found: i64 = FIELD_ABSENT
    order: i64
    width: i64
    first: i64
    last: i64
    beyond_bmp: i64 = 0
    if header & 16:
        while low < high:
            middle = (low + high) >> 1
            code = find_name(metadata, state, middle, ROW_NAMES)
            if code < 0:
                return code - 1000
            order = compare_with_name(metadata, state[ROW_NAMES], state[ROW_NAMES + 1], names, start, length)
            if order == 0:
                return middle
            if order < 0:
                low = middle + 1
            else:
                high = middle
        # Some writers sort by UTF-16 units and set the flag all the same, which differs only from U+E000 on.
        for low in range(length):
            if names[start + low] >= 0xEE:
                beyond_bmp = 1
        if beyond_bmp == 0:
            return FIELD_ABSENT
    width = state[ROW_DICT + DICT_WIDTH]
    low = state[ROW_DICT + DICT_OFFSETS]
    last = load_le(metadata, low, width)
    for middle in range(state[ROW_DICT + DICT_COUNT]):
        first = last
        last = load_le(metadata, low + (middle + 1) * width, width)
        if last - first == length and first >= 0 and last <= state[ROW_DICT + DICT_TOTAL]:
            if same_bytes(metadata, state[ROW_DICT + DICT_BYTES] + first, names, start, length):
                if found >= 0:
                    return FIELD_AMBIGUOUS
                found = middle
    return found


@inlined
def field_position(
    metadata: InBytes, value: InBytes, frame: InInts, field: i64, names: InBytes, start: i64, length: i64, state: OutInts
) -> i64:
    """Which of an object's fields it is, or -1; or a code less 1000."""
    count: i64 = frame[FRAME_COUNT]
    width: i64 = frame[FRAME_ID_WIDTH]
    ids: i64 = frame[FRAME_IDS]
    k: i64
    code: i64
    if field >= 0:
        if width == 1:
            for k in range(count):
                if value[ids + k] == field:
                    return k
        else:
            for k in range(count):
                if load_le(value, ids + k * width, width) == field:
                    return k
    elif field == FIELD_AMBIGUOUS:
        for k in range(count):
            code = find_name(metadata, state, load_le(value, ids + k * width, width), ROW_NAMES)
            if code < 0:
                return code - 1000
            if state[ROW_NAMES + 1] == length and same_bytes(metadata, state[ROW_NAMES], names, start, length):
                return k
    return -1


@kernel
def locate(
    metadata: InBytes,
    metadata_start: i64,
    metadata_end: i64,
    is_known: i64,
    value: InBytes,
    start: i64,
    end: i64,
    names: InBytes,
    steps: OutInts,
    count: i64,
    frame: OutInts,
    state: OutInts,
) -> i64:
    """The place of the path's value, -1 if there is none, or a code less 1000; ROW_OUT is the end of what it may use."""
    at: i64 = start
    limit: i64 = end
    k: i64
    step: i64
    code: i64
    index: i64
    has_dictionary: i64 = 0
    state[ROW_OFFSET] = 0
    if start >= end:
        return -1000 - BAD_VALUE_EMPTY
    if is_known == 0:
        for k in range(count):
            steps[k * STEP_SLOTS + STEP_FIELD] = FIELD_UNKNOWN
    for k in range(count):
        step = k * STEP_SLOTS
        state[ROW_OFFSET] = at - start
        if value[at] & 3 != (BASIC_ARRAY if steps[step + STEP_IS_INDEX] else BASIC_OBJECT):
            return -1
        code = open_container(value, at, limit, frame, 0)
        if code < 0:
            return code - 1000
        if k == 0 and at + code + frame[FRAME_TOTAL] != end:
            state[ROW_OFFSET] = code + frame[FRAME_TOTAL]
            return -1000 - BAD_VALUE_LENGTH
        if steps[step + STEP_IS_INDEX]:
            index = steps[step + STEP_START]
            if index < 0:
                index += frame[FRAME_COUNT]
            if index < 0 or index >= frame[FRAME_COUNT]:
                return -1
        else:
            if has_dictionary == 0 and steps[step + STEP_FIELD] < FIELD_ABSENT:
                code = open_dictionary(metadata, metadata_start, metadata_end, state)
                if code < 0:
                    return code - 1000
                has_dictionary = 1
            if steps[step + STEP_FIELD] == FIELD_UNKNOWN:
                code = find_field(metadata, metadata[metadata_start], names, steps[step + STEP_START], steps[step + STEP_LENGTH], state)
                if code < -1000:
                    return code
                steps[step + STEP_FIELD] = code
            index = field_position(
                metadata,
                value,
                frame,
                steps[step + STEP_FIELD],
                names,
                steps[step + STEP_START],
                steps[step + STEP_LENGTH],
                state,
            )
            if index < -1000:
                return index
            if index < 0:
                return -1
        at = child_at(value, frame, 0, index)
        if at < 0:
            return at - 1000
        limit = frame[FRAME_VALUES] + frame[FRAME_TOTAL]
    state[ROW_OFFSET] = at - start
    code = value_size(value, at, limit, frame, 0)
    if code < 0:
        return code - 1000
    state[ROW_OUT] = at + code
    if count == 0 and at + code != end:
        state[ROW_OFFSET] = code
        return -1000 - BAD_VALUE_LENGTH
    return at


def locate_rows(
    metadata: InBytesView,
    metadata_starts: InIntsView,
    metadata_ends: InIntsView,
    value: InBytesView,
    value_offsets: InIntsView,
    valid: InBytesView,
    rows: i64,
    names: InBytesView,
    steps: OutIntsView,
    starts: OutIntsView,
    ends: OutIntsView,
    frame: OutIntsView,
    status: OutIntsView,
    state: OutIntsView,
) -> i64:
    """Find the path's value in every row: value[starts[k]:ends[k]], or starts[k] == -1; status[k] as in validate."""
    row: i64
    place: i64
    count: i64 = len(steps) // STEP_SLOTS
    size: i64
    before: i64 = -1
    is_known: i64
    metadata_p: InBytes = in_bytes(metadata)
    metadata_starts_p: InInts = in_ints(metadata_starts)
    metadata_ends_p: InInts = in_ints(metadata_ends)
    value_p: InBytes = in_bytes(value)
    value_offsets_p: InInts = in_ints(value_offsets)
    valid_p: InBytes = in_bytes(valid)
    names_p: InBytes = in_bytes(names)
    steps_p: OutInts = out_ints(steps)
    starts_p: OutInts = out_ints(starts)
    ends_p: OutInts = out_ints(ends)
    frame_p: OutInts = out_ints(frame)
    status_p: OutInts = out_ints(status)
    state_p: OutInts = out_ints(state)
    with nogil:
        for row in range(rows):
            starts_p[row] = -1
            ends_p[row] = -1
            if valid_p[row] == 0:
                continue
            # Rows of one shape have the same metadata: what was found in the row before holds for this one too.
            size = metadata_ends_p[row] - metadata_starts_p[row]
            is_known = 0
            if count and before >= 0 and size == metadata_ends_p[before] - metadata_starts_p[before]:
                if metadata_starts_p[row] == metadata_starts_p[before] or same_bytes(
                    metadata_p, metadata_starts_p[row], metadata_p, metadata_starts_p[before], size
                ):
                    is_known = 1
            place = locate(
                metadata_p,
                metadata_starts_p[row],
                metadata_ends_p[row],
                is_known,
                value_p,
                value_offsets_p[row],
                value_offsets_p[row + 1],
                names_p,
                steps_p,
                count,
                frame_p,
                state_p,
            )
            before = row
            if place < -1000:
                status_p[row] = (-1000 - place) | (state_p[ROW_OFFSET] << 8)
                before = -1
            elif place >= 0:
                starts_p[row] = place
                ends_p[row] = state_p[ROW_OUT]
    return rows
