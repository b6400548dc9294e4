"""JSON text to Variant bytes, a row at a time, in three steps: read to a tape, fix the dictionary, write.

The tape holds the nodes of one row in the order of the text, NODE numbers each:

    slot 0   kind (bits 0-7), scale or widths (8-15), local id of the field name (16 up)
    slot 1   integer, double bits, low half of a decimal, start of a string; of a container: index behind its last node
    slot 2   high half of a decimal, length of a string; of a container: number of children
    slot 3   size in bytes once written; of an open container: size of the children so far

An open container's slot 1 holds its parent, so the tape is also the stack and depth has no limit of its own.

Field names are interned over all rows of a call. A name is first compared with the two that followed its predecessor
lately, which are nearly always right and cost a comparison instead of a hash. The names of a row in order of first
appearance are its shape; rows of a known shape copy their metadata and look up their ranks.

Node sizes are known when a container closes, except that field ids need more than one byte where a row has over 256 names;
such rows are sized again. Values are laid out in the order of the text; ids and offsets in the order of the names.
"""

from __future__ import annotations

from varquet.kernels.source._codes import (
    JSON_BEHIND_ELEMENT,
    JSON_BEHIND_FIELD,
    JSON_CLOSING_QUOTE,
    JSON_COLON,
    JSON_CONTROL,
    JSON_DIGIT,
    JSON_END,
    JSON_ESCAPE,
    JSON_FIELD_OR_END,
    JSON_HEX,
    JSON_HIGH_SURROGATE,
    JSON_IN_RANGE,
    JSON_LOW_SURROGATE,
    JSON_NAME,
    JSON_NEW_NAME,
    JSON_TOO_LARGE,
    JSON_UTF8,
    JSON_VALUE,
    NEED_FRESH_KEYS,
    NEED_KEYS,
    NEED_KEY_BYTES,
    NEED_METADATA,
    NEED_NOTHING,
    NEED_TAPE,
    NEED_UNESCAPED,
    NEED_VALUE,
)
from varquet.kernels.source._decimal_text import DOUBLE_OVERFLOW, DOUBLE_UNSURE, double_from_decimal, double_from_text, wide_integer
from varquet.kernels.source._sorting import sort_ints
from varquet.kernels.source._unicode import plain_run, utf8_length
from varquet.kernels.source.dialect import (
    M64,
    InBytes,
    InBytesView,
    InInts,
    InIntsView,
    OutBytes,
    OutBytesView,
    OutInts,
    OutIntsView,
    copy_bytes,
    copy_within,
    i64,
    in_bytes,
    in_ints,
    inlined,
    kernel,
    load64,
    nogil,
    out_bytes,
    out_ints,
    same_bytes,
    signed,
    store64,
    store_le,
    trailing_zeros,
    u64,
)

NODE = 4
KIND_LITERAL = 0
KIND_INTEGER = 1
KIND_DOUBLE = 2
KIND_DECIMAL = 3
KIND_STRING = 4
KIND_UNESCAPED = 5
KIND_OBJECT = 6
KIND_ARRAY = 7
KIND_DROPPED = 8

# The state of a call, kept between the calls that finish one slice.
STATE_KEYS = 0
STATE_KEY_BYTES = 1
STATE_SERIAL = 2
STATE_SHAPES = 3
STATE_SHAPE_INTS = 4
STATE_METADATA = 5
STATE_VALUE = 6
STATE_NEED = 7
STATE_NEED_SIZE = 8
STATE_UNESCAPED = 9
STATE_ROW_KEYS = 10
STATE_SHAPE_HASH = 11
STATE_OFFSET = 12
STATE_SEED = 13
STATE_LAST_SHAPE = 14
STATE_RANKED = 15
STATE_RANKED_AT = 16
STATE_SIZE = 17

# An interned field name. Name 0 is no name: it stands before the first one of a row.
KEY = 8
KEY_START = 0
KEY_LENGTH = 1
KEY_HASH = 2
KEY_PREFIX = 3
KEY_NEXT = 4
KEY_NEXT_BUT_ONE = 5
KEY_SERIAL = 6
KEY_LOCAL = 7

SHAPE = 5
SHAPE_HASH = 0
SHAPE_NAMES = 1
SHAPE_INTS = 2
SHAPE_METADATA = 3
SHAPE_METADATA_SIZE = 4
SHAPES_MAX = 1024
SHAPE_SLOTS = 4096

KEYS_MAX = 65536
# Short strings are copied 16 bytes at a time, so names and outputs have that much room behind them.
PADDING = 16


@inlined
def skip_blanks(data: InBytes, at: i64, end: i64) -> i64:
    while at < end and data[at] <= 32 and (data[at] == 32 or data[at] == 10 or data[at] == 13 or data[at] == 9):
        at += 1
    return at


@kernel
def hex4(data: InBytes, at: i64, end: i64) -> i64:
    """Four hexadecimal digits, or -1."""
    unit: i64 = 0
    k: i64
    digit: i64
    if at + 4 > end:
        return -1
    for k in range(4):
        digit = data[at + k]
        if digit >= 48 and digit <= 57:
            digit -= 48
        elif digit >= 97 and digit <= 102:
            digit -= 87
        elif digit >= 65 and digit <= 70:
            digit -= 55
        else:
            return -1
        unit = unit * 16 + digit
    return unit


@kernel
def unescape(data: InBytes, at: i64, end: i64, out: OutBytes, used: i64, state: OutInts) -> i64:
    """Copy a string's content up to its closing quote, escapes resolved; the end of the copy, or minus an error code.

    The copy is never longer than the text. STATE_OFFSET is set to the closing quote, or to the spot of the error.
    """
    stop: i64
    byte: i64
    unit: i64
    low: i64
    width: i64
    while True:
        stop = plain_run(data, at, end)
        copy_bytes(out, used, data, at, stop - at)
        used += stop - at
        at = stop
        state[STATE_OFFSET] = at
        if at >= end:
            return -JSON_CLOSING_QUOTE
        byte = data[at]
        if byte == 34:
            return used
        if byte < 32:
            return -JSON_CONTROL
        if byte >= 128:
            width = utf8_length(data, at, end)
            if width == 0:
                return -JSON_UTF8
            copy_bytes(out, used, data, at, width)
            used += width
            at += width
            continue
        if at + 1 >= end:
            return -JSON_ESCAPE
        byte = data[at + 1]
        at += 2
        if byte == 34 or byte == 92 or byte == 47:
            out[used] = byte
        elif byte == 98:
            out[used] = 8
        elif byte == 102:
            out[used] = 12
        elif byte == 110:
            out[used] = 10
        elif byte == 114:
            out[used] = 13
        elif byte == 116:
            out[used] = 9
        elif byte == 117:
            unit = hex4(data, at, end)
            if unit < 0:
                return -JSON_HEX
            at += 4
            if unit >= 0xDC00 and unit <= 0xDFFF:
                return -JSON_HIGH_SURROGATE
            if unit >= 0xD800 and unit <= 0xDBFF:
                if at + 2 > end or data[at] != 92 or data[at + 1] != 117:
                    return -JSON_LOW_SURROGATE
                low = hex4(data, at + 2, end)
                if low < 0:
                    state[STATE_OFFSET] = at
                    return -JSON_HEX
                if low < 0xDC00 or low > 0xDFFF:
                    return -JSON_LOW_SURROGATE
                at += 6
                unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
                out[used] = 0xF0 | (unit >> 18)
                out[used + 1] = 0x80 | ((unit >> 12) & 63)
                out[used + 2] = 0x80 | ((unit >> 6) & 63)
                out[used + 3] = 0x80 | (unit & 63)
                used += 3
            elif unit >= 0x800:
                out[used] = 0xE0 | (unit >> 12)
                out[used + 1] = 0x80 | ((unit >> 6) & 63)
                out[used + 2] = 0x80 | (unit & 63)
                used += 2
            elif unit >= 0x80:
                out[used] = 0xC0 | (unit >> 6)
                out[used + 1] = 0x80 | (unit & 63)
                used += 1
            else:
                out[used] = unit
        else:
            return -JSON_ESCAPE
        used += 1


@inlined
def string_end(data: InBytes, at: i64, end: i64, state: OutInts) -> i64:
    """The closing quote of a string without escapes; -1 if it has escapes; else minus an error code less one."""
    width: i64
    byte: i64
    while True:
        at = plain_run(data, at, end)
        if at >= end:
            state[STATE_OFFSET] = at
            return -JSON_CLOSING_QUOTE - 1
        byte = data[at]
        if byte == 34:
            return at
        if byte == 92:
            return -1
        if byte < 32:
            state[STATE_OFFSET] = at
            return -JSON_CONTROL - 1
        width = utf8_length(data, at, end)
        if width == 0:
            state[STATE_OFFSET] = at
            return -JSON_UTF8 - 1
        at += width


@kernel
def hash_name(name: InBytes, at: i64, length: i64, seed: u64) -> i64:
    mixed: u64 = seed ^ length
    word: u64
    prime: u64 = 0x9E3779B97F4A7C15
    k: i64
    while length >= 8:
        mixed = ((mixed ^ load64(name, at)) * prime) & M64
        mixed ^= mixed >> 32
        at += 8
        length -= 8
    word = 0
    for k in range(length):
        word = (word << 8) | name[at + k]
    mixed = ((mixed ^ word) * prime) & M64
    mixed ^= mixed >> 32
    mixed = (mixed * prime) & M64
    return signed(mixed >> 20)


@kernel
def intern_name(
    name: InBytes, at: i64, length: i64, keys: OutBytes, keys_size: i64, info: OutInts, info_size: i64, table: OutInts, slots: i64, state: OutInts
) -> i64:
    """The number of a field name, new or known; -1 where it has no room (STATE_NEED says which)."""
    mixed: i64 = hash_name(name, at, length, state[STATE_SEED] & M64)
    slot: i64 = mixed & (slots - 1)
    key: i64
    start: i64
    prefix: i64 = 0
    k: i64
    while table[slot] != 0:
        key = table[slot]
        if info[key * KEY + KEY_HASH] == mixed and info[key * KEY + KEY_LENGTH] == length:
            if same_bytes(keys, info[key * KEY + KEY_START], name, at, length):
                return key
        slot = (slot + 1) & (slots - 1)
    key = state[STATE_KEYS]
    start = state[STATE_KEY_BYTES]
    if (key + 1) * KEY > info_size:
        state[STATE_NEED] = NEED_KEYS
        return -1
    if start + length + PADDING > keys_size:
        state[STATE_NEED] = NEED_KEY_BYTES
        state[STATE_NEED_SIZE] = start + length + PADDING
        return -1
    copy_bytes(keys, start, name, at, length)
    for k in range(7):
        prefix = (prefix << 8) | (name[at + k] if k < length else 0)
    info[key * KEY + KEY_START] = start
    info[key * KEY + KEY_LENGTH] = length
    info[key * KEY + KEY_HASH] = mixed
    info[key * KEY + KEY_PREFIX] = prefix
    info[key * KEY + KEY_NEXT] = 0
    info[key * KEY + KEY_NEXT_BUT_ONE] = 0
    info[key * KEY + KEY_SERIAL] = -1
    info[key * KEY + KEY_LOCAL] = 0
    table[slot] = key
    state[STATE_KEYS] = key + 1
    state[STATE_KEY_BYTES] = start + length
    return key


@kernel
def names_in_order(info: InInts, keys: InBytes, one: i64, other: i64) -> i64:
    """1 if name `one` comes before name `other` by unsigned bytes."""
    k: i64
    length: i64
    a: i64 = info[one * KEY + KEY_PREFIX]
    b: i64 = info[other * KEY + KEY_PREFIX]
    if a != b:
        return 1 if a < b else 0
    a = info[one * KEY + KEY_START]
    b = info[other * KEY + KEY_START]
    length = info[one * KEY + KEY_LENGTH]
    if info[other * KEY + KEY_LENGTH] < length:
        length = info[other * KEY + KEY_LENGTH]
    for k in range(length):
        if keys[a + k] != keys[b + k]:
            return 1 if keys[a + k] < keys[b + k] else 0
    return 1 if info[one * KEY + KEY_LENGTH] < info[other * KEY + KEY_LENGTH] else 0


@kernel
def sort_names(names: OutInts, at: i64, count: i64, spare: i64, info: InInts, keys: InBytes) -> i64:
    """Sort name numbers at `at` by their bytes, merging runs by way of `spare`; returns where the sorted ones are."""
    width: i64 = 1
    left: i64
    middle: i64
    right: i64
    a: i64
    b: i64
    k: i64
    while width < count:
        left = 0
        while left < count:
            middle = left + width if left + width < count else count
            right = left + 2 * width if left + 2 * width < count else count
            a = left
            b = middle
            for k in range(left, right):
                if b >= right or (a < middle and names_in_order(info, keys, names[at + b], names[at + a]) == 0):
                    names[spare + k] = names[at + a]
                    a += 1
                else:
                    names[spare + k] = names[at + b]
                    b += 1
            left += 2 * width
        k = at
        at = spare
        spare = k
        width *= 2
    return at


@kernel
def rank_names(ranked: OutInts, spare: i64, info: OutInts, keys: InBytes, state: OutInts) -> i64:
    """Put all names known by now in order: ranked[r] is the name of rank r, ranked[spare + name] its rank."""
    count: i64 = state[STATE_KEYS] - 1
    k: i64
    at: i64
    for k in range(count):
        ranked[k] = k + 1
    at = sort_names(ranked, 0, count, spare, info, keys)
    if at != 0:
        for k in range(count):
            ranked[k] = ranked[at + k]
    for k in range(count):
        ranked[spare + ranked[k]] = k
    state[STATE_RANKED] = count
    state[STATE_RANKED_AT] = state[STATE_SERIAL]
    return 0


@kernel
def sort_row_names(names: OutInts, count: i64, ranked: OutInts, spare: i64, info: OutInts, keys: InBytes, state: OutInts) -> i64:
    """Sort a row's name numbers, at 0, by their bytes; returns where they are then.

    Names are ranked once, and again only when as many rows have passed as there are names. With ranks, bits in ranked[2 * spare:]
    (one for each rank, and one for each word of those; all zero between calls) put the names in order.
    """
    k: i64
    bits: i64
    tops: i64
    rank: i64
    word: i64
    top: i64
    at: i64
    found: i64
    one: i64 = 1
    all_ranked: i64 = 1
    for k in range(count):
        if names[k] > state[STATE_RANKED]:
            all_ranked = 0
    if all_ranked == 0:
        if state[STATE_SERIAL] - state[STATE_RANKED_AT] < state[STATE_KEYS]:
            return sort_names(names, 0, count, count, info, keys)
        rank_names(ranked, spare, info, keys, state)
    bits = 2 * spare
    tops = bits + (spare >> 5) + 1
    for k in range(count):
        rank = ranked[spare + names[k]]
        ranked[bits + (rank >> 5)] |= one << (rank & 31)
        ranked[tops + (rank >> 10)] |= one << ((rank >> 5) & 31)
    found = 0
    for k in range((state[STATE_RANKED] >> 10) + 1):
        top = ranked[tops + k]
        ranked[tops + k] = 0
        while top:
            at = (k << 5) + trailing_zeros(top)
            top &= top - 1
            word = ranked[bits + at]
            ranked[bits + at] = 0
            while word:
                names[found] = ranked[(at << 5) + trailing_zeros(word)]
                found += 1
                word &= word - 1
    return 0


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
def parse_number(data: InBytes, at: i64, end: i64, tape: OutInts, node: i64, powers: InInts, state: OutInts) -> i64:
    """Read a number to the tape; the byte behind it, or minus an error code."""
    start: i64 = at
    negative: i64 = 0
    number: u64 = 0
    digit: i64
    first: i64
    point: i64 = -1
    exponent: i64 = 0
    exponent_sign: i64 = 1
    has_exponent: i64 = 0
    digits: i64
    scale: i64 = 0
    wide: i64
    size: i64
    value: i64
    code: i64
    limit: u64 = 0x8000000000000000
    if data[at] == 45:
        negative = 1
        at += 1
    first = at
    if at >= end or data[at] < 48 or data[at] > 57:
        state[STATE_OFFSET] = at
        return -JSON_DIGIT
    if data[at] == 48:
        at += 1
        first = at
    else:
        while at < end:
            digit = data[at] - 48
            if digit < 0 or digit > 9:
                break
            number = (number * 10 + digit) & M64
            at += 1
    digits = at - first
    if at < end and data[at] == 46:
        point = at
        at += 1
        if at >= end or data[at] < 48 or data[at] > 57:
            state[STATE_OFFSET] = at
            return -JSON_DIGIT
        while at < end:
            digit = data[at] - 48
            if digit < 0 or digit > 9:
                break
            if digits == 0 and digit != 0:
                first = at
            if digits != 0 or digit != 0:
                digits += 1
            number = (number * 10 + digit) & M64
            at += 1
        scale = at - point - 1
    if at < end and (data[at] == 101 or data[at] == 69):
        has_exponent = 1
        at += 1
        if at < end and (data[at] == 43 or data[at] == 45):
            if data[at] == 45:
                exponent_sign = -1
            at += 1
        if at >= end or data[at] < 48 or data[at] > 57:
            state[STATE_OFFSET] = at
            return -JSON_DIGIT
        while at < end:
            digit = data[at] - 48
            if digit < 0 or digit > 9:
                break
            if exponent < 1000000000000:
                exponent = exponent * 10 + digit
            at += 1
    if has_exponent == 0:
        if point < 0:
            if digits < 19 or (digits == 19 and number < limit + negative):
                value = signed(number)
                if negative:
                    value = signed((0 - number) & M64)
                size = 9
                if value >= -128 and value <= 127:
                    size = 2
                elif value >= -32768 and value <= 32767:
                    size = 3
                elif value >= -2147483648 and value <= 2147483647:
                    size = 5
                tape[node] = KIND_INTEGER
                tape[node + 1] = value
                tape[node + 3] = size
                return at
        wide = digits if digits > scale else scale
        if wide <= 38 and (digits != 0 or negative == 0):
            if digits <= 18:
                tape[node + 1] = signed((0 - number) & M64) if negative else signed(number)
                tape[node + 2] = -negative
            else:
                wide_integer(data, first, at, negative, tape, node + 1, node + 2)
            tape[node] = KIND_DECIMAL | (scale << 8)
            tape[node + 3] = 6 if wide <= 9 else (10 if wide <= 18 else 18)
            return at
    tape[node] = KIND_DOUBLE
    tape[node + 3] = 9
    if digits == 0:
        tape[node + 1] = signed(limit) if negative else 0
        return at
    if digits <= 19:
        code = double_from_decimal(number, exponent * exponent_sign - scale, powers, tape, node + 1)
    else:
        code = DOUBLE_UNSURE
    if code == DOUBLE_UNSURE:
        tape[node + 1] = double_from_text(data, start, at)
        if (tape[node + 1] >> 52) & 0x7FF == 0x7FF:
            code = DOUBLE_OVERFLOW
    elif negative:
        tape[node + 1] = signed((tape[node + 1] & M64) | limit)
    if code == DOUBLE_OVERFLOW:
        state[STATE_OFFSET] = start
        return -JSON_IN_RANGE
    return at


@inlined
def is_word_byte(byte: i64) -> i64:
    """1 for what a word is made of: nullx is one wrong word, not a null and an x."""
    if (byte >= 48 and byte <= 57) or byte == 95:
        return 1
    byte |= 32
    return 1 if byte >= 97 and byte <= 122 else 0


@kernel
def parse_literal(data: InBytes, at: i64, end: i64, tape: OutInts, node: i64, state: OutInts) -> i64:
    """Read null, true or false to the tape; the byte behind it, or minus an error code."""
    behind: i64 = 0
    state[STATE_OFFSET] = at
    tape[node] = KIND_LITERAL
    tape[node + 3] = 1
    if at + 4 <= end and data[at] == 110 and data[at + 1] == 117 and data[at + 2] == 108 and data[at + 3] == 108:
        tape[node + 1] = 0
        behind = at + 4
    elif at + 4 <= end and data[at] == 116 and data[at + 1] == 114 and data[at + 2] == 117 and data[at + 3] == 101:
        tape[node + 1] = 4
        behind = at + 4
    elif at + 5 <= end and data[at] == 102 and data[at + 1] == 97 and data[at + 2] == 108 and data[at + 3] == 115 and data[at + 4] == 101:
        tape[node + 1] = 8
        behind = at + 5
    if behind == 0 or (behind < end and is_word_byte(data[behind])):
        return -JSON_VALUE
    return behind


@inlined
def is_name(data: InBytes, at: i64, end: i64, keys: InBytes, info: InInts, key: i64) -> i64:
    """The length of that name if the text goes on with it and a quote, else -1."""
    start: i64 = info[key * KEY + KEY_START]
    length: i64 = info[key * KEY + KEY_LENGTH]
    word: u64
    one: u64 = 1
    if at + length >= end or data[at + length] != 34 or key == 0:
        return -1
    if length < 8 and at + 8 <= end:
        word = load64(data, at) ^ load64(keys, start)
        return length if word & ((one << (8 * length)) - 1) == 0 else -1
    return length if same_bytes(data, at, keys, start, length) else -1


@kernel
def parse_new_name(
    data: InBytes,
    at: i64,
    end: i64,
    unescaped: OutBytes,
    unescaped_size: i64,
    keys: OutBytes,
    keys_size: i64,
    info: OutInts,
    info_size: i64,
    table: OutInts,
    slots: i64,
    last: i64,
    state: OutInts,
) -> i64:
    """Read a field name that does not follow `last` as it used to, from behind its opening quote.

    Returns its number and leaves the byte behind the closing quote in STATE_OFFSET; or minus an error code, or 0 where
    STATE_NEED is set.
    """
    used: i64
    behind: i64
    key: i64
    stop: i64 = string_end(data, at, end, state)
    if stop >= 0:
        key = intern_name(data, at, stop - at, keys, keys_size, info, info_size, table, slots, state)
    elif stop == -1:
        used = state[STATE_UNESCAPED]
        if used + end - at > unescaped_size:
            state[STATE_NEED] = NEED_UNESCAPED
            state[STATE_NEED_SIZE] = used + end - at
            return 0
        behind = unescape(data, at, end, unescaped, used, state)
        if behind < 0:
            return behind
        stop = state[STATE_OFFSET]
        key = intern_name(unescaped, used, behind - used, keys, keys_size, info, info_size, table, slots, state)
        # It is not remembered as the follower of `last`: the text is searched for followers byte by byte, where an escaped
        # quote or backslash would end the name too late or mean something else.
        state[STATE_OFFSET] = stop + 1
        return key if key > 0 else 0
    else:
        return stop + 1
    if key < 0:
        return 0
    info[last * KEY + KEY_NEXT_BUT_ONE] = info[last * KEY + KEY_NEXT]
    info[last * KEY + KEY_NEXT] = key
    state[STATE_OFFSET] = stop + 1
    return key


@inlined
def close_container(tape: OutInts, node: i64, behind: i64) -> i64:
    """Finish an open container on the tape; its parent, or -1. Slot 0 gets the offset width, slot 3 the whole size."""
    parent: i64 = tape[node + 1]
    count: i64 = tape[node + 2]
    total: i64 = tape[node + 3]
    width: i64 = width_of(total)
    is_object: i64 = 1 if tape[node] & 255 == KIND_OBJECT else 0
    tape[node] |= (width << 8) | (1 << 12)
    tape[node + 1] = behind
    tape[node + 3] = total + 1 + (1 if count < 256 else 4) + (count + 1) * width + is_object * count
    return parent


@kernel
def parse_row(
    data: InBytes,
    at: i64,
    end: i64,
    tape: OutInts,
    tape_size: i64,
    unescaped: OutBytes,
    unescaped_size: i64,
    keys: OutBytes,
    keys_size: i64,
    info: OutInts,
    info_size: i64,
    table: OutInts,
    slots: i64,
    row_keys: OutInts,
    powers: InInts,
    state: OutInts,
) -> i64:
    """Read one text to the tape; 0, or minus an error code, or the buffer that is too small."""
    node: i64 = 0
    parent: i64 = -1
    in_object: i64 = 0
    name: i64 = 0
    names: i64 = 0
    last: i64 = 0
    key: i64
    serial: i64 = state[STATE_SERIAL]
    shape_hash: i64 = 0
    byte: i64
    stop: i64
    used: i64
    length: i64
    if at + 3 <= end and data[at] == 0xEF and data[at + 1] == 0xBB and data[at + 2] == 0xBF:
        at += 3
    while True:
        if node + NODE > tape_size:
            state[STATE_NEED_SIZE] = node + NODE
            return NEED_TAPE
        if in_object:
            at = skip_blanks(data, at, end)
            if at >= end or data[at] != 34:
                state[STATE_OFFSET] = at
                return -JSON_FIELD_OR_END if tape[parent + 2] == 0 else -JSON_NAME
            at += 1
            key = info[last * KEY + KEY_NEXT]
            length = is_name(data, at, end, keys, info, key)
            if length < 0:
                key = info[last * KEY + KEY_NEXT_BUT_ONE]
                length = is_name(data, at, end, keys, info, key)
            if length >= 0:
                at += length + 1
            else:
                key = parse_new_name(
                    data, at, end, unescaped, unescaped_size, keys, keys_size, info, info_size, table, slots, last, state
                )
                if key <= 0:
                    return key if key < 0 else state[STATE_NEED]
                at = state[STATE_OFFSET]
            last = key
            if info[key * KEY + KEY_SERIAL] != serial:
                info[key * KEY + KEY_SERIAL] = serial
                info[key * KEY + KEY_LOCAL] = names
                row_keys[names] = key
                names += 1
                shape_hash = (shape_hash * 1000003 + key) & 0x3FFFFFFFFFFF
            name = info[key * KEY + KEY_LOCAL] << 16
            at = skip_blanks(data, at, end)
            if at >= end or data[at] != 58:
                state[STATE_OFFSET] = at
                return -JSON_COLON
            at += 1
        at = skip_blanks(data, at, end)
        if at >= end:
            state[STATE_OFFSET] = at
            return -JSON_VALUE
        byte = data[at]
        if byte == 34:
            at += 1
            stop = string_end(data, at, end, state)
            if stop >= 0:
                length = stop - at
                tape[node] = KIND_STRING
                tape[node + 1] = at
            elif stop == -1:
                used = state[STATE_UNESCAPED]
                if used + end - at > unescaped_size:
                    state[STATE_NEED_SIZE] = used + end - at
                    return NEED_UNESCAPED
                length = unescape(data, at, end, unescaped, used, state)
                if length < 0:
                    return length
                length -= used
                stop = state[STATE_OFFSET]
                state[STATE_UNESCAPED] = used + length
                tape[node] = KIND_UNESCAPED
                tape[node + 1] = used
            else:
                return stop + 1
            at = stop + 1
            tape[node + 2] = length
            tape[node + 3] = length + (1 if length < 64 else 5)
        elif byte == 123 or byte == 91:
            tape[node] = (KIND_OBJECT if byte == 123 else KIND_ARRAY) | name
            tape[node + 1] = parent
            tape[node + 2] = 0
            tape[node + 3] = 0
            parent = node
            node += NODE
            at = skip_blanks(data, at + 1, end)
            if at < end and data[at] == byte + 2:
                at += 1
                node = parent
                parent = close_container(tape, node, node + NODE)
            else:
                in_object = 1 if byte == 123 else 0
                name = 0
                continue
        elif byte == 45 or (byte >= 48 and byte <= 57):
            at = parse_number(data, at, end, tape, node, powers, state)
            if at < 0:
                return at
        else:
            at = parse_literal(data, at, end, tape, node, state)
            if at < 0:
                return at
        # A value is complete: `node` is its place, and a container that was just closed keeps its name.
        if tape[node] & 255 < KIND_OBJECT:
            tape[node] |= name
            node += NODE
            if parent >= 0:
                tape[parent + 2] += 1
                tape[parent + 3] += tape[node - NODE + 3]
        else:
            if parent >= 0:
                tape[parent + 2] += 1
                tape[parent + 3] += tape[node + 3]
            node = tape[node + 1]
        while parent >= 0:
            at = skip_blanks(data, at, end)
            byte = data[at] if at < end else 0
            if byte == 44:
                at += 1
                break
            if byte != (125 if in_object else 93):
                state[STATE_OFFSET] = at
                return -JSON_BEHIND_FIELD if in_object else -JSON_BEHIND_ELEMENT
            at += 1
            used = parent
            parent = close_container(tape, used, node)
            in_object = 0
            name = 0
            if parent >= 0:
                in_object = 1 if tape[parent] & 255 == KIND_OBJECT else 0
                tape[parent + 2] += 1
                tape[parent + 3] += tape[used + 3]
        if parent < 0:
            break
    at = skip_blanks(data, at, end)
    if at < end:
        state[STATE_OFFSET] = at
        return -JSON_END
    state[STATE_ROW_KEYS] = names
    state[STATE_SHAPE_HASH] = shape_hash
    return NEED_NOTHING


@kernel
def size_again(tape: OutInts, ranks: InInts, ranks_at: i64) -> i64:
    """Compute the sizes of all containers anew, without dropped nodes and with field ids as wide as they need to be."""
    node: i64 = tape[1] - NODE
    child: i64
    count: i64
    total: i64
    widest: i64
    kind: i64
    width: i64
    while node >= 0:
        kind = tape[node] & 255
        if kind == KIND_OBJECT or kind == KIND_ARRAY:
            count = 0
            total = 0
            widest = 0
            child = node + NODE
            while child < tape[node + 1]:
                kind = tape[child] & 255
                if kind != KIND_DROPPED:
                    count += 1
                    total += tape[child + 3]
                    if tape[node] & 255 == KIND_OBJECT and ranks[ranks_at + (tape[child] >> 16)] > widest:
                        widest = ranks[ranks_at + (tape[child] >> 16)]
                child = tape[child + 1] if kind >= KIND_OBJECT else child + NODE
            width = width_of(total)
            widest = width_of(widest)
            tape[node] = (tape[node] >> 16 << 16) | (tape[node] & 255) | (width << 8) | (widest << 12)
            tape[node + 2] = count
            tape[node + 3] = total + 1 + (1 if count < 256 else 4) + (count + 1) * width
            if tape[node] & 255 == KIND_OBJECT:
                tape[node + 3] += count * widest
        node -= NODE
    return 0


@kernel
def drop_duplicates(tape: OutInts, ranks: InInts, ranks_at: i64, sorting: OutInts) -> i64:
    """Keep only the last of the fields that have one name, in every object of the row, and size the row again."""
    node: i64 = 0
    child: i64
    behind: i64
    count: i64
    k: i64
    while node < tape[1]:
        if tape[node] & 255 == KIND_OBJECT:
            count = tape[node + 2]
            child = node + NODE
            for k in range(count):
                sorting[k] = (ranks[ranks_at + (tape[child] >> 16)] << 32) | k
                sorting[count + k] = 0
                child = tape[child + 1] if tape[child] & 255 >= KIND_OBJECT else child + NODE
            sort_ints(sorting, 0, count, 2 * count)
            for k in range(count - 1):
                if sorting[k] >> 32 == sorting[k + 1] >> 32:
                    sorting[count + (sorting[k] & 0xFFFFFFFF)] = 1
            child = node + NODE
            for k in range(count):
                behind = tape[child + 1] if tape[child] & 255 >= KIND_OBJECT else child + NODE
                if sorting[count + k] == 1:
                    tape[child] = KIND_DROPPED
                    tape[child + 1] = behind
                child = behind
        node = tape[node + 1] if tape[node] & 255 == KIND_DROPPED else node + NODE
    size_again(tape, ranks, ranks_at)
    return 0


@kernel
def write_row(
    data: InBytes,
    data_size: i64,
    unescaped: InBytes,
    tape: OutInts,
    ranks: InInts,
    ranks_at: i64,
    names: i64,
    sorting: OutInts,
    value: OutBytes,
    out: i64,
) -> i64:
    """Write the tape's nodes one behind the other; the end, or -1 where an object has a name twice."""
    node: i64 = 0
    stop: i64 = tape[1] if tape[0] & 255 >= KIND_OBJECT else NODE
    head: i64
    kind: i64
    count: i64
    child: i64
    width: i64
    id_width: i64
    total: i64
    k: i64
    rank: i64
    fields: u64
    one: u64 = 1
    length: i64
    ids_at: i64
    while node < stop:
        head = tape[node]
        kind = head & 255
        if kind == KIND_STRING or kind == KIND_UNESCAPED:
            length = tape[node + 2]
            if length < 64:
                value[out] = 1 | (length << 2)
                out += 1
            else:
                value[out] = 16 << 2
                store_le(value, out + 1, length, 4)
                out += 5
            if kind == KIND_UNESCAPED:
                copy_bytes(value, out, unescaped, tape[node + 1], length)
            elif length <= 16 and tape[node + 1] + 16 <= data_size:
                store64(value, out, load64(data, tape[node + 1]))
                store64(value, out + 8, load64(data, tape[node + 1] + 8))
            else:
                copy_bytes(value, out, data, tape[node + 1], length)
            out += length
        elif kind == KIND_INTEGER:
            length = tape[node + 3]
            if length == 2:
                value[out] = 3 << 2
                value[out + 1] = tape[node + 1] & 255
            elif length == 3:
                value[out] = 4 << 2
                store_le(value, out + 1, tape[node + 1], 2)
            elif length == 5:
                value[out] = 5 << 2
                store_le(value, out + 1, tape[node + 1], 4)
            else:
                value[out] = 6 << 2
                store64(value, out + 1, tape[node + 1])
            out += length
        elif kind == KIND_LITERAL:
            value[out] = tape[node + 1]
            out += 1
        elif kind == KIND_DOUBLE:
            value[out] = 7 << 2
            store64(value, out + 1, tape[node + 1])
            out += 9
        elif kind == KIND_DECIMAL:
            length = tape[node + 3]
            value[out] = (8 << 2) if length == 6 else ((9 << 2) if length == 10 else (10 << 2))
            value[out + 1] = (head >> 8) & 255
            if length == 6:
                store_le(value, out + 2, tape[node + 1], 4)
            else:
                store64(value, out + 2, tape[node + 1])
                if length == 18:
                    store64(value, out + 10, tape[node + 2])
            out += length
        elif kind == KIND_DROPPED:
            node = tape[node + 1]
            continue
        else:
            count = tape[node + 2]
            width = (head >> 8) & 15
            id_width = (head >> 12) & 15
            if kind == KIND_OBJECT:
                value[out] = 2 | ((width - 1) << 2) | ((id_width - 1) << 4) | ((1 if count > 255 else 0) << 6)
            else:
                value[out] = 3 | ((width - 1) << 2) | ((1 if count > 255 else 0) << 4)
                id_width = 0
            out += 1
            if count > 255:
                store_le(value, out, count, 4)
                out += 4
            else:
                value[out] = count
                out += 1
            ids_at = out
            out += id_width * count
            total = 0
            child = node + NODE
            if kind == KIND_ARRAY:
                for k in range(count):
                    store_le(value, out, total, width)
                    out += width
                    total += tape[child + 3]
                    child = tape[child + 1] if tape[child] & 255 >= KIND_OBJECT else child + NODE
            else:
                k = 0
                if names <= 64:
                    fields = 0
                    while k < count:
                        if tape[child] & 255 != KIND_DROPPED:
                            rank = ranks[ranks_at + (tape[child] >> 16)]
                            fields |= one << rank
                            sorting[rank] = total
                            total += tape[child + 3]
                            k += 1
                        child = tape[child + 1] if tape[child] & 255 >= KIND_OBJECT else child + NODE
                    k = 0
                    while fields:
                        rank = trailing_zeros(fields)
                        fields &= fields - 1
                        store_le(value, ids_at + k, rank, 1)
                        store_le(value, out + k * width, sorting[rank], width)
                        k += 1
                    if k < count:
                        return -1
                else:
                    while k < count:
                        if tape[child] & 255 != KIND_DROPPED:
                            sorting[k] = (ranks[ranks_at + (tape[child] >> 16)] << 32) | k
                            sorting[count + k] = total
                            total += tape[child + 3]
                            k += 1
                        child = tape[child + 1] if tape[child] & 255 >= KIND_OBJECT else child + NODE
                    sort_ints(sorting, 0, count, 2 * count)
                    for k in range(count):
                        if k > 0 and sorting[k] >> 32 == sorting[k - 1] >> 32:
                            return -1
                        store_le(value, ids_at + k * id_width, sorting[k] >> 32, id_width)
                        store_le(value, out + k * width, sorting[count + (sorting[k] & 0xFFFFFFFF)], width)
                out += count * width
            store_le(value, out, total, width)
            out += width
        node += NODE
    return out


@kernel
def forget_shapes(shape_table: OutInts, state: OutInts) -> i64:
    k: i64
    for k in range(SHAPE_SLOTS):
        shape_table[k] = 0
    state[STATE_SHAPES] = 0
    state[STATE_SHAPE_INTS] = 0
    state[STATE_LAST_SHAPE] = -1
    return 0


@kernel
def is_shape(shapes: InInts, shape: i64, shape_ints: InInts, mixed: i64, row_keys: InInts, count: i64) -> i64:
    """1 if these are the names of that shape, in its order."""
    k: i64
    ints: i64 = shapes[shape * SHAPE + SHAPE_INTS]
    if shapes[shape * SHAPE + SHAPE_HASH] != mixed or shapes[shape * SHAPE + SHAPE_NAMES] != count:
        return 0
    for k in range(count):
        if shape_ints[ints + k] != row_keys[k]:
            return 0
    return 1


@kernel
def find_shape(
    info: OutInts,
    keys: InBytes,
    row_keys: InInts,
    ranked: OutInts,
    spare: i64,
    sorting: OutInts,
    shapes: OutInts,
    shape_table: OutInts,
    shape_ints: OutInts,
    shape_ints_size: i64,
    metadata: OutBytes,
    metadata_size: i64,
    state: OutInts,
) -> i64:
    """Write the row's metadata; the shape's number, or -1 where the metadata has no room, or -2 where the names are too long."""
    count: i64 = state[STATE_ROW_KEYS]
    mixed: i64 = state[STATE_SHAPE_HASH]
    shape: i64 = state[STATE_LAST_SHAPE]
    out: i64 = state[STATE_METADATA]
    slot: i64
    ints: i64
    k: i64
    total: i64
    width: i64
    at: i64
    key: i64
    if shape >= 0 and is_shape(shapes, shape, shape_ints, mixed, row_keys, count) == 0:
        shape = -1
    if shape < 0:
        slot = (mixed ^ (mixed >> 17)) & (SHAPE_SLOTS - 1)
        while shape_table[slot] != 0:
            if is_shape(shapes, shape_table[slot] - 1, shape_ints, mixed, row_keys, count):
                shape = shape_table[slot] - 1
                break
            slot = (slot + 1) & (SHAPE_SLOTS - 1)
    if shape >= 0:
        total = shapes[shape * SHAPE + SHAPE_METADATA_SIZE]
        if out + total > metadata_size:
            state[STATE_NEED_SIZE] = out + total
            return -1
        copy_within(metadata, out, shapes[shape * SHAPE + SHAPE_METADATA], total)
        state[STATE_METADATA] = out + total
        state[STATE_LAST_SHAPE] = shape
        return shape
    total = 0
    for k in range(count):
        total += info[row_keys[k] * KEY + KEY_LENGTH]
    if total > 0xFFFFFFFF or count > 0xFFFFFFFF:
        return -2
    width = width_of(total if total > count else count)
    if out + 1 + (count + 2) * width + total + PADDING > metadata_size:
        state[STATE_NEED_SIZE] = out + 1 + (count + 2) * width + total + PADDING
        return -1
    if state[STATE_SHAPES] >= SHAPES_MAX or state[STATE_SHAPE_INTS] + 2 * count > shape_ints_size:
        forget_shapes(shape_table, state)
    shape = state[STATE_SHAPES]
    ints = state[STATE_SHAPE_INTS]
    state[STATE_SHAPES] = shape + 1
    state[STATE_SHAPE_INTS] = ints + 2 * count
    slot = (mixed ^ (mixed >> 17)) & (SHAPE_SLOTS - 1)
    while shape_table[slot] != 0:
        slot = (slot + 1) & (SHAPE_SLOTS - 1)
    shape_table[slot] = shape + 1
    for k in range(count):
        shape_ints[ints + k] = row_keys[k]
        sorting[k] = row_keys[k]
    at = sort_row_names(sorting, count, ranked, spare, info, keys, state)
    shapes[shape * SHAPE + SHAPE_HASH] = mixed
    shapes[shape * SHAPE + SHAPE_NAMES] = count
    shapes[shape * SHAPE + SHAPE_INTS] = ints
    shapes[shape * SHAPE + SHAPE_METADATA] = out
    metadata[out] = 1 | ((width - 1) << 6) | (16 if count > 0 else 0)
    store_le(metadata, out + 1, count, width)
    total = 0
    for k in range(count):
        key = sorting[at + k]
        shape_ints[ints + count + info[key * KEY + KEY_LOCAL]] = k
        store_le(metadata, out + 1 + (k + 1) * width, total, width)
        slot = out + 1 + (count + 2) * width + total
        if info[key * KEY + KEY_LENGTH] <= 16:
            store64(metadata, slot, load64(keys, info[key * KEY + KEY_START]))
            store64(metadata, slot + 8, load64(keys, info[key * KEY + KEY_START] + 8))
        else:
            copy_bytes(metadata, slot, keys, info[key * KEY + KEY_START], info[key * KEY + KEY_LENGTH])
        total += info[key * KEY + KEY_LENGTH]
    store_le(metadata, out + 1 + (count + 1) * width, total, width)
    total += 1 + (count + 2) * width
    shapes[shape * SHAPE + SHAPE_METADATA_SIZE] = total
    state[STATE_METADATA] = out + total
    state[STATE_LAST_SHAPE] = shape
    return shape


@kernel
def convert_row(
    data: InBytes,
    data_size: i64,
    at: i64,
    end: i64,
    keep_last: i64,
    tape: OutInts,
    tape_size: i64,
    unescaped: OutBytes,
    unescaped_size: i64,
    keys: OutBytes,
    keys_size: i64,
    info: OutInts,
    info_size: i64,
    table: OutInts,
    slots: i64,
    row_keys: OutInts,
    ranked: OutInts,
    sorting: OutInts,
    shapes: OutInts,
    shape_table: OutInts,
    shape_ints: OutInts,
    shape_ints_size: i64,
    powers: InInts,
    metadata: OutBytes,
    metadata_size: i64,
    value: OutBytes,
    value_size: i64,
    state: OutInts,
) -> i64:
    """Turn one text into metadata and value; 0, or minus an error code, or the buffer that is too small."""
    code: i64
    shape: i64
    ranks_at: i64
    used: i64
    if state[STATE_KEYS] > KEYS_MAX:
        return NEED_FRESH_KEYS
    state[STATE_SERIAL] += 1
    state[STATE_UNESCAPED] = 0
    code = parse_row(
        data, at, end, tape, tape_size, unescaped, unescaped_size, keys, keys_size, info, info_size, table, slots, row_keys, powers, state
    )
    if code != NEED_NOTHING:
        return code
    used = state[STATE_METADATA]
    shape = find_shape(
        info, keys, row_keys, ranked, info_size // KEY, sorting, shapes, shape_table, shape_ints, shape_ints_size, metadata, metadata_size, state
    )
    if shape < 0:
        state[STATE_OFFSET] = at
        return NEED_METADATA if shape == -1 else -JSON_TOO_LARGE
    ranks_at = shapes[shape * SHAPE + SHAPE_INTS] + state[STATE_ROW_KEYS]
    if state[STATE_ROW_KEYS] > 256:
        size_again(tape, shape_ints, ranks_at)
    if tape[3] > 0xFFFFFFFF:
        state[STATE_OFFSET] = at
        return -JSON_TOO_LARGE
    if state[STATE_VALUE] + tape[3] + PADDING > value_size:
        # The metadata is written again when the row is: a shape must not point behind the end of the output.
        state[STATE_METADATA] = used
        if shapes[shape * SHAPE + SHAPE_METADATA] == used:
            forget_shapes(shape_table, state)
        state[STATE_NEED_SIZE] = state[STATE_VALUE] + tape[3] + PADDING
        return NEED_VALUE
    at = write_row(data, data_size, unescaped, tape, shape_ints, ranks_at, state[STATE_ROW_KEYS], sorting, value, state[STATE_VALUE])
    if at < 0:
        if keep_last == 0:
            state[STATE_METADATA] = used
            if shapes[shape * SHAPE + SHAPE_METADATA] == used:
                forget_shapes(shape_table, state)
            state[STATE_OFFSET] = 0
            return -JSON_NEW_NAME
        drop_duplicates(tape, shape_ints, ranks_at, sorting)
        at = write_row(data, data_size, unescaped, tape, shape_ints, ranks_at, state[STATE_ROW_KEYS], sorting, value, state[STATE_VALUE])
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
    unescaped: OutBytesView,
    keys: OutBytesView,
    info: OutIntsView,
    table: OutIntsView,
    row_keys: OutIntsView,
    ranked: OutIntsView,
    sorting: OutIntsView,
    shapes: OutIntsView,
    shape_table: OutIntsView,
    shape_ints: OutIntsView,
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
    unescaped_p: OutBytes = out_bytes(unescaped)
    unescaped_size: i64 = len(unescaped)
    keys_p: OutBytes = out_bytes(keys)
    keys_size: i64 = len(keys)
    info_p: OutInts = out_ints(info)
    info_size: i64 = len(info)
    table_p: OutInts = out_ints(table)
    slots: i64 = len(table)
    row_keys_p: OutInts = out_ints(row_keys)
    ranked_p: OutInts = out_ints(ranked)
    sorting_p: OutInts = out_ints(sorting)
    shapes_p: OutInts = out_ints(shapes)
    shape_table_p: OutInts = out_ints(shape_table)
    shape_ints_p: OutInts = out_ints(shape_ints)
    shape_ints_size: i64 = len(shape_ints)
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
                    unescaped_p,
                    unescaped_size,
                    keys_p,
                    keys_size,
                    info_p,
                    info_size,
                    table_p,
                    slots,
                    row_keys_p,
                    ranked_p,
                    sorting_p,
                    shapes_p,
                    shape_table_p,
                    shape_ints_p,
                    shape_ints_size,
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
