"""Scalars as text, written digit by digit; the forms are those of `varquet.variant.text`.

Functions that write return the position behind what they wrote; the caller has made sure that there is room.
"""

from __future__ import annotations

from varquet.kernels.source._bytes import load_signed
from varquet.kernels.source._unicode import plain_run, special_bytes, utf8_length
from varquet.kernels.source.dialect import (
    M64,
    InBytes,
    OutBytes,
    copy_bytes,
    cython,
    double_of_bits,
    float_of_bits,
    i64,
    inlined,
    kernel,
    load64,
    store64,
    trailing_byte,
    u64,
)
from varquet.variant.text import double_text, float_text

# The longest text of a scalar that is no string or binary, a decimal of 38 digits with sign, zero and point, and what writing
# eight digits at once writes too much.
SCALAR_ROOM = 64
# What a string takes besides its bytes: two quotes, and what copying by eight bytes writes too much.
STRING_ROOM = 10
# Longer strings are searched and copied at once, not by eight bytes.
SHORT = 48
NO_ROOM = -1
NOT_UTF8 = -2


@inlined
def eight_digits(number: u64) -> u64:
    """The eight decimal digits of a number below 10^8, leading zeros among them, as bytes from 0 to 9; the first is the lowest."""
    fours: u64 = (number // 10000) | ((number % 10000) << 32)
    # Lanes of 32 bits become lanes of 16, and those bytes; each time the quotient comes before the remainder.
    hundreds: u64 = ((fours * 10486) >> 20) & 0x0000007F0000007F
    twos: u64 = hundreds | ((fours - hundreds * 100) << 16)
    tens: u64 = ((twos * 103) >> 10) & 0x000F000F000F000F
    return tens | ((twos - tens * 10) << 8)


@kernel
def write_digits(out: OutBytes, at: i64, number: u64, least: i64) -> i64:
    """An unsigned number, with leading zeros up to `least` digits; up to eight bytes are written behind it."""
    digits: u64
    zeros: u64 = 0x3030303030303030
    last: u64 = 0x0100000000000000
    skipped: i64
    if number >= 100000000 or least > 8:
        at = write_digits(out, at, number // 100000000, least - 8)
        store64(out, at, eight_digits(number % 100000000) | zeros)
        return at + 8
    digits = eight_digits(number)
    # One digit stays, even if it is a zero.
    skipped = trailing_byte(digits | last)
    if skipped > 8 - least:
        skipped = 8 - least
    store64(out, at, (digits | zeros) >> (8 * skipped))
    return at + 8 - skipped


@kernel
def write_integer(out: OutBytes, at: i64, number: i64) -> i64:
    if number < 0:
        out[at] = 45
        return write_digits(out, at + 1, (0 - number) & M64, 1)
    return write_digits(out, at, number, 1)


@kernel
def write_decimal(value: InBytes, at: i64, out: OutBytes, to: i64) -> i64:
    """A decimal in plain notation with all digits of its scale."""
    tag: i64 = value[at] >> 2
    scale: i64 = value[at + 1]
    low: u64
    high: u64 = 0
    part: u64
    rest: u64
    digits: i64 = 0
    start: i64
    k: i64
    billion: u64 = 1000000000
    half: u64 = 0xFFFFFFFF
    number: i64
    if tag == 10:
        low = load64(value, at + 2)
        high = load64(value, at + 10)
        if high >> 63:
            out[to] = 45
            to += 1
            low = (~low + 1) & M64
            high = (~high + (1 if low == 0 else 0)) & M64
    else:
        number = load_signed(value, at + 2, 4 if tag == 8 else 8)
        if number < 0:
            out[to] = 45
            to += 1
            low = (0 - number) & M64
        else:
            low = number
    if high == 0 and scale <= 18:
        part = 1
        for k in range(scale):
            part *= 10
        to = write_digits(out, to, low // part, 1)
        if scale > 0:
            out[to] = 46
            to = write_digits(out, to + 1, low % part, scale)
        return to
    # Digits come out last first, nine at a time, into the room behind the text; then they are turned round.
    start = to
    while high != 0 or low != 0:
        rest = high % billion
        high = high // billion
        part = (rest << 32) | (low >> 32)
        rest = part % billion
        part = part // billion
        low = (rest << 32) | (low & half)
        rest = low % billion
        low = (part << 32) | (low // billion)
        for k in range(9):
            if high == 0 and low == 0 and rest == 0:
                break
            out[to] = 48 + rest % 10
            rest = rest // 10
            to += 1
            digits += 1
            if digits == scale:
                out[to] = 46
                to += 1
    while digits <= scale:
        out[to] = 48
        to += 1
        digits += 1
        if digits == scale:
            out[to] = 46
            to += 1
    k = to - 1
    while start < k:
        tag = out[start]
        out[start] = out[k]
        out[k] = tag
        start += 1
        k -= 1
    return to


@kernel
def write_plain(out: OutBytes, to: i64, whole: i64, places: i64) -> i64:
    """A double of at most 15 digits, whole / 10^places."""
    split: i64 = 1
    k: i64
    for k in range(places):
        split *= 10
    to = write_digits(out, to, whole // split, 1)
    out[to] = 46
    to = write_digits(out, to + 1, whole % split, places if places > 0 else 1)
    out[to] = 101
    out[to + 1] = 48
    return to + 2


@kernel
def write_scientific(out: OutBytes, to: i64, whole: i64, places: i64) -> i64:
    """The same below 0.0001 but not below 10^-22, which has an exponent of two digits."""
    first: i64 = to
    exponent: i64
    k: i64
    to = write_digits(out, to, whole, 1)
    exponent = places - (to - first - 1)
    if to > first + 1:
        # The first digit stands before the point.
        k = to
        while k > first + 1:
            out[k] = out[k - 1]
            k -= 1
        out[first + 1] = 46
        to += 1
    out[to] = 101
    out[to + 1] = 45
    out[to + 2] = 48 + exponent // 10
    out[to + 3] = 48 + exponent % 10
    return to + 4


@kernel
def write_float(bits: i64, is_float: i64, out: OutBytes, to: i64) -> i64:
    """The shortest text of a finite double or float; quoted words for the others."""
    number: cython.double
    scaled: cython.double
    power: cython.double = 1.0
    whole: i64
    places: i64
    length: i64
    k: i64
    if is_float == 0:
        number = double_of_bits(bits)
        if bits < 0:
            number = -number
        if number >= 1e-22 and number < 1e15:
            # Powers of ten up to 10^22 are doubles, and so are whole numbers up to 10^15: their quotient is rounded once, as is the text.
            for places in range(23):
                scaled = number * power
                if scaled >= 1e15 or (places > 15 and number >= 0.0001):
                    break
                whole = cython.cast(cython.longlong, scaled + 0.5)
                if cython.cast(cython.double, whole) / power == number:
                    if bits < 0:
                        out[to] = 45
                        to += 1
                    return write_plain(out, to, whole, places) if number >= 0.0001 else write_scientific(out, to, whole, places)
                power *= 10.0
    with cython.gil:
        text = (float_text(float_of_bits(bits)) if is_float else double_text(double_of_bits(bits))).encode()
        if text[0] > 57:
            text = b'"' + text + b'"'
        elif text[1:2] == b"I":
            text = b'"' + text + b'"'
        length = len(text)
        for k in range(length):
            out[to + k] = text[k]
    return to + length


@kernel
def write_date(out: OutBytes, to: i64, days: i64) -> i64:
    """Days since 1970-01-01 in the proleptic Gregorian calendar."""
    shifted: i64 = days + 719468
    era: i64 = shifted // 146097 if shifted >= 0 else -((146096 - shifted) // 146097)
    day: i64 = shifted - era * 146097
    year: i64 = (day - day // 1460 + day // 36524 - day // 146096) // 365
    month: i64
    day = day - (365 * year + year // 4 - year // 100)
    year += era * 400
    month = (5 * day + 2) // 153
    day = day - (153 * month + 2) // 5 + 1
    if month < 10:
        month += 3
    else:
        month -= 9
        year += 1
    if year < 0:
        out[to] = 45
        to = write_digits(out, to + 1, 0 - year, 4)
    else:
        if year > 9999:
            out[to] = 43
            to += 1
        to = write_digits(out, to, year, 4)
    out[to] = 45
    to = write_digits(out, to + 1, month, 2)
    out[to] = 45
    return write_digits(out, to + 1, day, 2)


@kernel
def write_time(out: OutBytes, to: i64, ticks: i64, per_second: i64) -> i64:
    seconds: i64 = ticks // per_second
    to = write_digits(out, to, seconds // 3600, 2)
    out[to] = 58
    to = write_digits(out, to + 1, seconds // 60 % 60, 2)
    out[to] = 58
    to = write_digits(out, to + 1, seconds % 60, 2)
    out[to] = 46
    return write_digits(out, to + 1, ticks % per_second, 6 if per_second == 1000000 else 9)


@kernel
def write_timestamp(out: OutBytes, to: i64, ticks: i64, per_second: i64, zone: i64) -> i64:
    per_day: i64 = 86400 * per_second
    day: i64
    rest: i64
    if ticks >= 0:
        day = ticks // per_day
        rest = ticks % per_day
    else:
        day = -1 - (-1 - ticks) // per_day
        rest = per_day - 1 - (-1 - ticks) % per_day
    to = write_date(out, to, day)
    out[to] = 84
    to = write_time(out, to + 1, rest, per_second)
    if zone:
        out[to] = 90
        to += 1
    return to


@kernel
def hex_digit(number: i64) -> i64:
    return 48 + number if number < 10 else 87 + number


@kernel
def write_uuid(value: InBytes, at: i64, out: OutBytes, to: i64) -> i64:
    k: i64
    for k in range(16):
        if k == 4 or k == 6 or k == 8 or k == 10:
            out[to] = 45
            to += 1
        out[to] = hex_digit(value[at + k] >> 4)
        out[to + 1] = hex_digit(value[at + k] & 15)
        to += 2
    return to


@kernel
def base64_digit(number: i64) -> i64:
    if number < 26:
        return 65 + number
    if number < 52:
        return 71 + number
    if number < 62:
        return number - 4
    return 43 if number == 62 else 47


@kernel
def write_base64(value: InBytes, at: i64, end: i64, out: OutBytes, to: i64) -> i64:
    three: i64
    while at < end:
        three = value[at] << 16
        if at + 1 < end:
            three |= value[at + 1] << 8
        if at + 2 < end:
            three |= value[at + 2]
        out[to] = base64_digit(three >> 18)
        out[to + 1] = base64_digit((three >> 12) & 63)
        out[to + 2] = base64_digit((three >> 6) & 63) if at + 1 < end else 61
        out[to + 3] = base64_digit(three & 63) if at + 2 < end else 61
        at += 3
        to += 4
    return to


@kernel
def write_string(data: InBytes, at: i64, end: i64, data_size: i64, out: OutBytes, to: i64, room: i64) -> i64:
    """A quoted JSON string; the position behind it, NO_ROOM (out has `room` bytes in all) or NOT_UTF8."""
    stop: i64
    byte: i64
    word: u64
    found: u64
    if to + (end - at) + STRING_ROOM > room:
        return NO_ROOM
    out[to] = 34
    to += 1
    while at < end:
        if end - at <= SHORT and at + 8 <= data_size:
            # All eight bytes are copied, and count as far as the string goes and needs no look.
            word = load64(data, at)
            store64(out, to, word)
            found = special_bytes(word)
            stop = at + (trailing_byte(found) if found else 8)
            if stop > end:
                stop = end
        else:
            stop = plain_run(data, at, end)
            copy_bytes(out, to, data, at, stop - at)
            found = 1
        to += stop - at
        at = stop
        if at >= end:
            break
        if found == 0:
            continue
        byte = data[at]
        if byte >= 128:
            stop = at + utf8_length(data, at, end)
            if stop == at:
                return NOT_UTF8
            while at < stop:
                out[to] = data[at]
                to += 1
                at += 1
            continue
        # There was room for the rest of the string and the quote; an escape takes up to five bytes more.
        if to + (end - at) + 5 + STRING_ROOM > room:
            return NO_ROOM
        at += 1
        out[to] = 92
        if byte == 34 or byte == 92:
            out[to + 1] = byte
        elif byte == 8:
            out[to + 1] = 98
        elif byte == 12:
            out[to + 1] = 102
        elif byte == 10:
            out[to + 1] = 110
        elif byte == 13:
            out[to + 1] = 114
        elif byte == 9:
            out[to + 1] = 116
        else:
            out[to + 1] = 117
            out[to + 2] = 48
            out[to + 3] = 48
            out[to + 4] = 48 + (byte >> 4)
            out[to + 5] = hex_digit(byte & 15)
            to += 4
        to += 2
    out[to] = 34
    return to + 1
