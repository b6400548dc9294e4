"""JSON text to Variant bytes, a row at a time, in three steps: read to a tape, fix the dictionary, write.

Field names are interned over all rows of a call. A name is first compared with the two that followed its predecessor
lately, which are nearly always right and cost a comparison instead of a hash. The names of a row in order of first
appearance are its shape; rows of a known shape copy their metadata and look up their ranks.
"""

from __future__ import annotations

from varquet.kernels.source._bytes import width_of
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
    NEED_METADATA,
    NEED_NOTHING,
    NEED_TAPE,
    NEED_UNESCAPED,
    NEED_VALUE,
)
from varquet.kernels.source._decimal_text import DOUBLE_OVERFLOW, DOUBLE_UNSURE, double_from_decimal, double_from_text, wide_integer
from varquet.kernels.source._interning import (
    KEY,
    KEY_HASH,
    KEY_LENGTH,
    KEY_LOCAL,
    KEY_NEXT,
    KEY_NEXT_BUT_ONE,
    KEY_SERIAL,
    KEY_START,
    PADDING,
    STATE_KEYS,
    STATE_LAST_SHAPE,
    STATE_METADATA,
    STATE_NEED,
    STATE_NEED_SIZE,
    STATE_OFFSET,
    STATE_ROW_KEYS,
    STATE_SERIAL,
    STATE_SHAPE_HASH,
    STATE_SHAPE_INTS,
    STATE_SHAPES,
    STATE_UNESCAPED,
    STATE_VALUE,
    intern_name,
    sort_row_names,
)
from varquet.kernels.source._tape import (
    KIND_ARRAY,
    KIND_DECIMAL,
    KIND_DOUBLE,
    KIND_DROPPED,
    KIND_INTEGER,
    KIND_LITERAL,
    KIND_OBJECT,
    KIND_STRING,
    KIND_UNESCAPED,
    NODE,
    close_container,
    drop_duplicates,
    size_again,
    write_row,
)
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
    u64,
)

SHAPE = 5
SHAPE_HASH = 0
SHAPE_NAMES = 1
SHAPE_INTS = 2
SHAPE_METADATA = 3
SHAPE_METADATA_SIZE = 4
SHAPES_MAX = 1024
SHAPE_SLOTS = 4096

KEYS_MAX = 65536


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
                key = parse_new_name(data, at, end, unescaped, unescaped_size, keys, keys_size, info, info_size, table, slots, last, state)
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
def keep_names(tape: OutInts, row_keys: OutInts, info: OutInts, sorting: OutInts, state: OutInts) -> i64:
    """Number the row's names anew, without those that no field has any more."""
    count: i64 = state[STATE_ROW_KEYS]
    node: i64
    child: i64
    k: i64
    step: i64
    kept: i64 = 0
    for k in range(count):
        sorting[k] = -1
    # First the names that are left are marked and numbered, then the fields get the new numbers.
    for step in range(2):
        node = 0
        while node < tape[1]:
            if tape[node] & 255 == KIND_OBJECT:
                child = node + NODE
                while child < tape[node + 1]:
                    if tape[child] & 255 != KIND_DROPPED:
                        k = tape[child] >> 16
                        if step == 0:
                            sorting[k] = 0
                        else:
                            tape[child] = (tape[child] & 65535) | (sorting[k] << 16)
                    child = tape[child + 1] if tape[child] & 255 >= KIND_OBJECT else child + NODE
            node = tape[node + 1] if tape[node] & 255 == KIND_DROPPED else node + NODE
        if step == 0:
            state[STATE_SHAPE_HASH] = 0
            for k in range(count):
                if sorting[k] == 0:
                    sorting[k] = kept
                    row_keys[kept] = row_keys[k]
                    info[row_keys[kept] * KEY + KEY_LOCAL] = kept
                    state[STATE_SHAPE_HASH] = (state[STATE_SHAPE_HASH] * 1000003 + row_keys[kept]) & 0x3FFFFFFFFFFF
                    kept += 1
            state[STATE_ROW_KEYS] = kept
    return kept


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
        info,
        keys,
        row_keys,
        ranked,
        info_size // KEY,
        sorting,
        shapes,
        shape_table,
        shape_ints,
        shape_ints_size,
        metadata,
        metadata_size,
        state,
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
        # Names that only dropped values had go too, and with them the metadata that was written.
        state[STATE_METADATA] = used
        if shapes[shape * SHAPE + SHAPE_METADATA] == used:
            forget_shapes(shape_table, state)
        keep_names(tape, row_keys, info, sorting, state)
        shape = find_shape(
            info,
            keys,
            row_keys,
            ranked,
            info_size // KEY,
            sorting,
            shapes,
            shape_table,
            shape_ints,
            shape_ints_size,
            metadata,
            metadata_size,
            state,
        )
        if shape < 0:
            return NEED_METADATA
        ranks_at = shapes[shape * SHAPE + SHAPE_INTS] + state[STATE_ROW_KEYS]
        size_again(tape, shape_ints, ranks_at)
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
