"""The bytes of strings, numbers, null, true and false of JSON text."""

from __future__ import annotations

from varquet.kernels.source._codes import (
    JSON_CLOSING_QUOTE,
    JSON_CONTROL,
    JSON_DIGIT,
    JSON_ESCAPE,
    JSON_HEX,
    JSON_HIGH_SURROGATE,
    JSON_IN_RANGE,
    JSON_LOW_SURROGATE,
    JSON_UTF8,
    JSON_VALUE,
)
from varquet.kernels.source._decimal_text import DOUBLE_OVERFLOW, DOUBLE_UNSURE, double_from_decimal, double_from_text, wide_integer
from varquet.kernels.source._interning import (
    STATE_OFFSET,
)
from varquet.kernels.source._unicode import plain_run, utf8_length
from varquet.kernels.source.dialect import (
    M64,
    InBytes,
    InInts,
    OutBytes,
    OutInts,
    copy_bytes,
    copy_within,
    i64,
    inlined,
    kernel,
    load64,
    signed,
    store64,
    store_le,
    trailing_byte,
    u64,
)

# Where 10^0 to 10^8 are, behind the pairs of `powers`.
EXACT_POWERS = 1302


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
def text_header(scalars: OutBytes, used: i64, length: i64) -> i64:
    """Write what stands before a text of this length; how many bytes."""
    if length < 64:
        scalars[used] = 1 | (length << 2)
        return 1
    scalars[used] = 16 << 2
    store_le(scalars, used + 1, length, 4)
    return 5


@kernel
def write_unescaped(data: InBytes, at: i64, end: i64, scalars: OutBytes, used: i64, state: OutInts) -> i64:
    """Write a string with escapes to the scalars; its size, or minus an error code. STATE_OFFSET is then its closing quote, or the spot."""
    length: i64 = unescape(data, at, end, scalars, used + 1, state)
    if length < 0:
        return length
    length -= used + 1
    if length >= 64:
        copy_within(scalars, used + 5, used + 1, length)
    return length + text_header(scalars, used, length)


@inlined
def digits_in(word: u64) -> i64:
    """How many of the eight bytes are digits, before the first that is none."""
    found: u64 = word ^ 0x3030303030303030
    tops: u64 = 0x8080808080808080
    found = (((found + 0x7676767676767676) & M64) | found) & tops
    return trailing_byte(found) if found else 8


@inlined
def value_of_digits(word: u64, count: i64) -> u64:
    """The number that the first `count` bytes are, from 1 to 8 of them: digits become pairs, pairs fours, and those one number."""
    pairs: u64 = ((word ^ 0x3030303030303030) << (64 - 8 * count)) & M64
    fours: u64
    pairs = (((pairs * 2561) & M64) >> 8) & 0x00FF00FF00FF00FF
    fours = (((pairs * 6553601) & M64) >> 16) & 0x0000FFFF0000FFFF
    return ((fours * 42949672960001) & M64) >> 32


@inlined
def parse_number(
    data: InBytes, at: i64, end: i64, scalars: OutBytes, used: i64, tape: OutInts, node: i64, powers: InInts, state: OutInts
) -> i64:
    """Write a number to the scalars, and its size to its node; the byte behind it, or minus an error code."""
    start: i64 = at
    negative: i64 = 0
    number: u64 = 0
    word: u64
    count: i64 = 8
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
        while count == 8 and at + 8 <= end:
            word = load64(data, at)
            count = digits_in(word)
            if count:
                number = (number * powers[EXACT_POWERS + count] + value_of_digits(word, count)) & M64
                at += count
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
        count = 8
        while count == 8 and at + 8 <= end and digits:
            word = load64(data, at)
            count = digits_in(word)
            if count:
                number = (number * powers[EXACT_POWERS + count] + value_of_digits(word, count)) & M64
                at += count
                digits += count
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
        if point < 0 and (digits < 19 or (digits == 19 and number < limit + negative)):
            value = signed(((number ^ (0 - negative)) + negative) & M64)
            # As narrow as it may be: int8 is the third type of all, and int64 the sixth.
            size = value ^ (value >> 63)
            size = (1 if size > 0x7F else 0) + (1 if size > 0x7FFF else 0) + (1 if size > 0x7FFFFFFF else 0)
            scalars[used] = (3 + size) << 2
            store64(scalars, used + 1, value & M64)
            tape[node + 3] = 1 + (1 << size)
            return at
        wide = digits if digits > scale else scale
        if wide <= 38 and (digits != 0 or negative == 0):
            if digits <= 18:
                store64(scalars, used + 2, ((number ^ (0 - negative)) + negative) & M64)
                store64(scalars, used + 10, (0 - negative) & M64)
            else:
                wide_integer(data, first, at, negative, tape, node + 1, node + 2)
                store64(scalars, used + 2, tape[node + 1] & M64)
                store64(scalars, used + 10, tape[node + 2] & M64)
            size = (1 if wide > 9 else 0) + (1 if wide > 18 else 0)
            scalars[used] = (8 + size) << 2
            scalars[used + 1] = scale
            tape[node + 3] = 2 + (4 << size)
            return at
    scalars[used] = 7 << 2
    tape[node + 3] = 9
    if digits == 0:
        store64(scalars, used + 1, limit if negative else 0)
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
    store64(scalars, used + 1, tape[node + 1] & M64)
    return at


@inlined
def is_word_byte(byte: i64) -> i64:
    """1 for what a word is made of: nullx is one wrong word, not a null and an x."""
    if (byte >= 48 and byte <= 57) or byte == 95:
        return 1
    byte |= 32
    return 1 if byte >= 97 and byte <= 122 else 0


@kernel
def parse_literal(data: InBytes, at: i64, end: i64, scalars: OutBytes, used: i64, state: OutInts) -> i64:
    """Write null, true or false to the scalars, which takes a byte; the byte behind it, or minus an error code."""
    behind: i64 = 0
    state[STATE_OFFSET] = at
    if at + 4 <= end and data[at] == 110 and data[at + 1] == 117 and data[at + 2] == 108 and data[at + 3] == 108:
        scalars[used] = 0
        behind = at + 4
    elif at + 4 <= end and data[at] == 116 and data[at + 1] == 114 and data[at + 2] == 117 and data[at + 3] == 101:
        scalars[used] = 4
        behind = at + 4
    elif at + 5 <= end and data[at] == 102 and data[at + 1] == 97 and data[at + 2] == 108 and data[at + 3] == 115 and data[at + 4] == 101:
        scalars[used] = 8
        behind = at + 5
    if behind == 0 or (behind < end and is_word_byte(data[behind])):
        return -JSON_VALUE
    return behind
