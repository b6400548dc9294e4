"""Finding one's way in the bytes of a Variant that may be anything: every position is checked before it is read.

Functions return 0 or more, or minus one of the BAD_ codes. Where the parts of a container are is left in FRAME_SLOTS slots
of a stack; where the parts of the row's dictionary are, in the state.
"""

from __future__ import annotations

from varquet.kernels.source._codes import (
    BAD_DECIMAL_DIGITS,
    BAD_DECIMAL_SCALE,
    BAD_FIELD_ID,
    BAD_METADATA_EMPTY,
    BAD_METADATA_LENGTH,
    BAD_METADATA_OFFSETS,
    BAD_METADATA_TRUNCATED,
    BAD_METADATA_UTF8,
    BAD_METADATA_VERSION,
    BAD_OFFSET,
    BAD_STRING_UTF8,
    BAD_TAG,
    BAD_TIME,
    BAD_VALUE_EMPTY,
    BAD_VALUE_TRUNCATED,
)
from varquet.kernels.source._unicode import is_utf8
from varquet.kernels.source.dialect import (
    M64,
    InBytes,
    InInts,
    OutBytes,
    OutInts,
    copy_bytes,
    i64,
    inlined,
    kernel,
    load64,
    load_le,
    same_bytes,
    signed,
    store64,
    u64,
)

BASIC_PRIMITIVE = 0
BASIC_SHORT_STRING = 1
BASIC_OBJECT = 2
BASIC_ARRAY = 3

# A value may use the same bytes for several children, but not to become more than this many times its own size.
MAX_EXPANSION = 16

# Short pieces are copied by so many bytes, or half of them, whatever their size: there must be room for that behind them.
COPIED_AT_ONCE = 32

# A dictionary.
DICT_COUNT = 0
DICT_WIDTH = 1
DICT_OFFSETS = 2
DICT_BYTES = 3
DICT_TOTAL = 4
DICT_ASCENDING = 5
DICT_SLOTS = 6

# A container: where its parts are. FRAME_TOTAL is the size of its values, FRAME_END the byte behind them.
FRAME_KIND = 0
FRAME_COUNT = 1
FRAME_IDS = 2
FRAME_ID_WIDTH = 3
FRAME_OFFSETS = 4
FRAME_WIDTH = 5
FRAME_VALUES = 6
FRAME_TOTAL = 7
FRAME_NEXT = 8
FRAME_SLOTS = 9

# The state of a kernel that reads Variants: what it needs, where it stopped, how many different dictionaries next_dictionary has
# come to, two names (start, length), a dictionary, and where that was found (ROW_KNOWN_END is 0 if nowhere), and how
# many numbers about containers and how many bytes of scalars are on its tape.
ROW_NEED = 0
ROW_OFFSET = 1
ROW_OUT = 2
ROW_DICTIONARIES = 3
ROW_NAMES = 4
ROW_DICT = 8
ROW_KNOWN = 14
ROW_KNOWN_END = 15
ROW_CONTAINERS = 16
ROW_SCALARS = 17
ROW_SLOTS = 18


@inlined
def open_dictionary(metadata: InBytes, at: i64, end: i64, state: OutInts) -> i64:
    """Read a dictionary's header; its offsets and names are not looked at yet."""
    width: i64
    count: i64
    start: i64
    if at >= end:
        return -BAD_METADATA_EMPTY
    if metadata[at] & 15 != 1:
        return -BAD_METADATA_VERSION
    width = (metadata[at] >> 6) + 1
    if at + 1 + width > end:
        return -BAD_METADATA_TRUNCATED
    count = load_le(metadata, at + 1, width)
    start = at + 1 + (count + 2) * width
    if start > end:
        return -BAD_METADATA_TRUNCATED
    state[ROW_DICT + DICT_COUNT] = count
    state[ROW_DICT + DICT_WIDTH] = width
    state[ROW_DICT + DICT_OFFSETS] = at + 1 + width
    state[ROW_DICT + DICT_BYTES] = start
    state[ROW_DICT + DICT_TOTAL] = load_le(metadata, start - width, width)
    if start + state[ROW_DICT + DICT_TOTAL] > end:
        return -BAD_METADATA_TRUNCATED
    return 0


@kernel
def names_differ(metadata: InBytes, one: i64, one_length: i64, other: i64, other_length: i64) -> i64:
    """-1, 0 or 1: how the first name compares with the second by unsigned bytes."""
    k: i64
    length: i64 = one_length if one_length < other_length else other_length
    for k in range(length):
        if metadata[one + k] != metadata[other + k]:
            return -1 if metadata[one + k] < metadata[other + k] else 1
    if one_length == other_length:
        return 0
    return -1 if one_length < other_length else 1


@kernel
def check_dictionary(metadata: InBytes, at: i64, end: i64, state: OutInts) -> i64:
    """Read a dictionary and check all of it; DICT_ASCENDING says whether its names are sorted and unique."""
    code: i64 = open_dictionary(metadata, at, end, state)
    count: i64
    width: i64
    offsets: i64
    start: i64
    k: i64
    before: i64 = 0
    here: i64
    after: i64
    ascending: i64 = 1
    if code < 0:
        return code
    count = state[ROW_DICT + DICT_COUNT]
    width = state[ROW_DICT + DICT_WIDTH]
    offsets = state[ROW_DICT + DICT_OFFSETS]
    start = state[ROW_DICT + DICT_BYTES]
    if start + state[ROW_DICT + DICT_TOTAL] != end:
        return -BAD_METADATA_LENGTH
    here = load_le(metadata, offsets, width)
    if here != 0:
        return -BAD_METADATA_OFFSETS
    for k in range(count):
        after = load_le(metadata, offsets + (k + 1) * width, width)
        if after < here or after > state[ROW_DICT + DICT_TOTAL]:
            return -BAD_METADATA_OFFSETS
        if is_utf8(metadata, start + here, start + after) == 0:
            return -BAD_METADATA_UTF8
        if k > 0 and ascending and names_differ(metadata, start + before, here - before, start + here, after - here) >= 0:
            ascending = 0
        before = here
        here = after
    state[ROW_DICT + DICT_ASCENDING] = ascending
    return 0


@inlined
def next_dictionary(metadata: InBytes, at: i64, end: i64, state: OutInts) -> i64:
    """Like check_dictionary, for rows of one column in turn: what is the same as for the row before is not checked again."""
    code: i64
    moved: i64 = at - state[ROW_KNOWN]
    if state[ROW_KNOWN_END] > 0 and end - at == state[ROW_KNOWN_END] - state[ROW_KNOWN]:
        if moved == 0:
            return 0
        if same_bytes(metadata, at, metadata, state[ROW_KNOWN], end - at):
            state[ROW_DICT + DICT_OFFSETS] += moved
            state[ROW_DICT + DICT_BYTES] += moved
            state[ROW_KNOWN] = at
            state[ROW_KNOWN_END] = end
            return 0
    state[ROW_KNOWN_END] = 0
    state[ROW_DICTIONARIES] += 1
    code = check_dictionary(metadata, at, end, state)
    if code == 0:
        state[ROW_KNOWN] = at
        state[ROW_KNOWN_END] = end
    return code


@inlined
def find_name(metadata: InBytes, state: OutInts, field: i64, at: i64) -> i64:
    """The start (state[at]) and length (state[at + 1]) of a name of the row's dictionary; 0 or minus a code."""
    width: i64 = state[ROW_DICT + DICT_WIDTH]
    first: i64
    last: i64
    if field >= state[ROW_DICT + DICT_COUNT]:
        return -BAD_FIELD_ID
    first = load_le(metadata, state[ROW_DICT + DICT_OFFSETS] + field * width, width)
    last = load_le(metadata, state[ROW_DICT + DICT_OFFSETS] + (field + 1) * width, width)
    if first > last or last > state[ROW_DICT + DICT_TOTAL]:
        return -BAD_METADATA_OFFSETS
    state[at] = state[ROW_DICT + DICT_BYTES] + first
    state[at + 1] = last - first
    return 0


@inlined
def open_container(value: InBytes, at: i64, end: i64, frame: OutInts, slot: i64) -> i64:
    """Read the header of an object or array, whose first byte is known to be there; the size of all but its values."""
    header: i64 = value[at]
    kind: i64 = header & 3
    width: i64 = ((header >> 2) & 3) + 1
    id_width: i64 = 0
    large: i64
    count: i64
    start: i64
    if kind == BASIC_OBJECT:
        id_width = ((header >> 4) & 3) + 1
        large = (header >> 6) & 1
    else:
        large = (header >> 4) & 1
    start = at + (5 if large else 2)
    if start > end:
        return -BAD_VALUE_TRUNCATED
    count = load_le(value, at + 1, 4) if large else value[at + 1]
    frame[slot + FRAME_KIND] = kind
    frame[slot + FRAME_COUNT] = count
    frame[slot + FRAME_IDS] = start
    frame[slot + FRAME_ID_WIDTH] = id_width
    start += count * id_width
    frame[slot + FRAME_OFFSETS] = start
    frame[slot + FRAME_WIDTH] = width
    start += (count + 1) * width
    if start > end:
        return -BAD_VALUE_TRUNCATED
    frame[slot + FRAME_VALUES] = start
    frame[slot + FRAME_TOTAL] = load_le(value, start - width, width)
    frame[slot + FRAME_NEXT] = 0
    if start + frame[slot + FRAME_TOTAL] > end:
        return -BAD_VALUE_TRUNCATED
    return start - at


@inlined
def child_at(value: InBytes, frame: InInts, slot: i64, k: i64) -> i64:
    """The position of a container's k-th child, or minus a code."""
    width: i64 = frame[slot + FRAME_WIDTH]
    offset: i64 = load_le(value, frame[slot + FRAME_OFFSETS] + k * width, width)
    if offset >= frame[slot + FRAME_TOTAL]:
        return -BAD_OFFSET
    return frame[slot + FRAME_VALUES] + offset


@inlined
def tag_width(tag: i64) -> i64:
    """Bytes behind the header of a primitive; -1 for those with a length, -2 for an unknown tag."""
    if tag <= 2:
        return 0
    if tag == 3:
        return 1
    if tag == 4:
        return 2
    if tag == 5 or tag == 11 or tag == 14:
        return 4
    if tag == 8:
        return 5
    if tag == 9:
        return 9
    if tag == 10:
        return 17
    if tag == 15 or tag == 16:
        return -1
    if tag == 20:
        return 16
    if tag <= 19:
        return 8
    return -2


@inlined
def scalar_size(value: InBytes, at: i64, end: i64) -> i64:
    """The size of a primitive or short string, whose first byte is known to be there, or minus a code."""
    header: i64 = value[at]
    size: i64
    if header & 3 == BASIC_SHORT_STRING:
        size = 1 + (header >> 2)
    else:
        size = tag_width(header >> 2)
        if size == -1:
            if at + 5 > end:
                return -BAD_VALUE_TRUNCATED
            size = 4 + load_le(value, at + 1, 4)
        elif size == -2:
            return -BAD_TAG
        size += 1
    if at + size > end:
        return -BAD_VALUE_TRUNCATED
    return size


@inlined
def value_size(value: InBytes, at: i64, end: i64, frame: OutInts, slot: i64) -> i64:
    """The size of the value at `at`, or minus a code; of a container only the header is looked at."""
    code: i64
    if at >= end:
        return -BAD_VALUE_EMPTY
    if value[at] & 3 < BASIC_OBJECT:
        return scalar_size(value, at, end)
    code = open_container(value, at, end, frame, slot)
    if code < 0:
        return code
    return code + frame[slot + FRAME_TOTAL]


@inlined
def load_signed(value: InBytes, at: i64, width: i64) -> i64:
    """A little-endian two's complement number of 1, 2, 4 or 8 bytes."""
    number: i64
    half: i64
    if width == 8:
        return signed(load64(value, at))
    number = load_le(value, at, width)
    half = 1
    half = half << (8 * width - 1)
    return (number ^ half) - half


@kernel
def exceeds_38_digits(low: u64, high: u64) -> i64:
    """1 if a 128-bit two's complement number has more than 38 decimal digits."""
    top: u64 = 0x4B3B4CA85A86C47A
    rest: u64 = 0x098A224000000000
    if high >> 63:
        low = (~low + 1) & M64
        high = (~high + (1 if low == 0 else 0)) & M64
    if high != top:
        return 1 if high > top else 0
    return 1 if low >= rest else 0


@kernel
def check_scalar(value: InBytes, at: i64, end: i64) -> i64:
    """The size of a primitive or short string whose content was checked as well, or minus a code."""
    size: i64 = scalar_size(value, at, end)
    header: i64
    tag: i64
    micros: i64
    if size < 0:
        return size
    header = value[at]
    if header & 3 == BASIC_SHORT_STRING:
        return size if is_utf8(value, at + 1, at + size) else -BAD_STRING_UTF8
    tag = header >> 2
    if tag == 16:
        return size if is_utf8(value, at + 5, at + size) else -BAD_STRING_UTF8
    if tag >= 8 and tag <= 10:
        if value[at + 1] > 38:
            return -BAD_DECIMAL_SCALE
        if tag == 10 and exceeds_38_digits(load64(value, at + 2), load64(value, at + 10)):
            return -BAD_DECIMAL_DIGITS
    elif tag == 17:
        micros = load_signed(value, at + 1, 8)
        if micros < 0 or micros >= 86400000000:
            return -BAD_TIME
    return size


@inlined
def width_of(number: i64) -> i64:
    """Bytes needed for an unsigned number below 2^32."""
    if number < 256:
        return 1
    if number < 65536:
        return 2
    if number < 16777216:
        return 3
    return 4


@inlined
def copy_value(out: OutBytes, to: i64, source: InBytes, at: i64, size: i64, source_size: i64) -> i64:
    """Copy bytes to where up to COPIED_AT_ONCE may be written; most are so few that a call of memcpy takes longer."""
    if size <= COPIED_AT_ONCE and at + COPIED_AT_ONCE <= source_size:
        store64(out, to, load64(source, at))
        store64(out, to + 8, load64(source, at + 8))
        if size > 16:
            store64(out, to + 16, load64(source, at + 16))
            store64(out, to + 24, load64(source, at + 24))
    else:
        copy_bytes(out, to, source, at, size)
    return to + size
