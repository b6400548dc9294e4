"""The values that were located, read as numbers, moments or texts, or gathered as smaller Variants.

What is not common in a type is left, marked SLOW, to the reference cast; what certainly has no meaning as it is a MISMATCH, which is
null unless somebody wants to know why.
"""

from __future__ import annotations

from varquet.kernels.source._bytes import (
    BASIC_OBJECT,
    BASIC_SHORT_STRING,
    ROW_NEED,
    ROW_OUT,
    load_signed,
    scalar_size,
)
from varquet.kernels.source._codes import BAD_STRING_UTF8, NEED_NOTHING, NEED_TEXT
from varquet.kernels.source._mismatches import (
    TO_BINARY,
    TO_BOOLEAN,
    TO_DATE,
    TO_DECIMAL,
    TO_DOUBLE,
    TO_FLOAT,
    TO_INTEGER,
    TO_STRING,
    TO_TIME,
    TO_TIMESTAMP,
    TO_UUID,
    is_mismatch,
)
from varquet.kernels.source._moments import A_MOMENT, read_day, read_timestamp
from varquet.kernels.source._text import SCALAR_ROOM, write_decimal, write_integer
from varquet.kernels.source._unicode import is_utf8
from varquet.kernels.source.dialect import (
    InBytes,
    InBytesView,
    InInts,
    InIntsView,
    OutBytes,
    OutBytesView,
    OutInts,
    OutIntsView,
    bits_of_double,
    copy_bytes,
    cython,
    float_of_bits,
    i64,
    in_bytes,
    in_ints,
    inlined,
    kernel,
    load_le,
    nogil,
    out_bytes,
    out_ints,
)

# What became of a row's value.
IS_NULL = 0
IS_READ = 1
IS_SLOW = 2
IS_MISMATCH = 3

# The lowest normal exponent of a float, and the first it has no number for, as doubles have them.
LEAST_EXPONENT = 897
MOST_EXPONENT = 1150


@inlined
def fits(number: i64, bits: i64) -> i64:
    """1 if a signed integer of so many bits holds the number."""
    half: i64 = 1
    if bits == 64:
        return 1
    half = half << (bits - 1)
    return 1 if number >= -half and number < half else 0


@inlined
def power_of_ten(exponent: i64) -> i64:
    """10 to the exponent, which is at most 18."""
    power: i64 = 1
    k: i64
    for k in range(exponent):
        power *= 10
    return power


@kernel
def read_integer(value: InBytes, at: i64, end: i64, bits: i64, out: OutInts, slot: i64) -> i64:
    """An exact number, cut to an integer, or a plain text of one."""
    header: i64 = value[at]
    tag: i64 = header >> 2
    number: i64
    power: i64
    sign: i64 = 1
    if header & 3 == BASIC_SHORT_STRING:
        at += 1
        if at < end and value[at] == 45:
            sign = -1
            at += 1
        if at >= end or end - at > 18:
            return IS_SLOW
        number = 0
        while at < end:
            if value[at] < 48 or value[at] > 57:
                return IS_SLOW
            number = number * 10 + value[at] - 48
            at += 1
        number *= sign
    elif header & 3 != 0:
        return IS_SLOW
    elif tag >= 3 and tag <= 6:
        number = load_signed(value, at + 1, end - at - 1)
    elif tag == 1 or tag == 2:
        number = 2 - tag
    elif (tag == 8 or tag == 9) and value[at + 1] <= 18:
        number = load_signed(value, at + 2, end - at - 2)
        power = power_of_ten(value[at + 1])
        # Toward zero, whichever way this language divides.
        number = number // power if number >= 0 else -(-number // power)
    else:
        return IS_SLOW
    if fits(number, bits) == 0:
        return IS_MISMATCH
    out[slot] = number
    return IS_READ


@kernel
def read_double(value: InBytes, at: i64, end: i64, out: OutInts, slot: i64) -> i64:
    """A number, or a plain text of one, as the bits of the nearest double."""
    header: i64 = value[at]
    tag: i64 = header >> 2
    number: i64
    result: cython.double
    power: cython.double = 1.0
    k: i64
    point: i64 = 0
    is_negative: i64 = 0
    if header & 3 == BASIC_SHORT_STRING:
        at += 1
        if at < end and value[at] == 45:
            is_negative = 1
            at += 1
        # A digit at both ends, and so few that they and the power of ten are exact doubles, whose quotient is rounded once.
        if at >= end or end - at > 16 or value[at] == 46 or value[end - 1] == 46:
            return IS_SLOW
        number = 0
        while at < end:
            if value[at] == 46 and point == 0:
                point = end - at
            elif value[at] < 48 or value[at] > 57:
                return IS_SLOW
            else:
                number = number * 10 + value[at] - 48
            at += 1
        if number > 9007199254740992:
            return IS_SLOW
        for k in range(point - 1):
            power *= 10.0
        result = cython.cast(cython.double, number) / power
        out[slot] = bits_of_double(-result if is_negative else result)
        return IS_READ
    if header & 3 != 0:
        return IS_SLOW
    if tag == 7:
        out[slot] = load_signed(value, at + 1, 8)
        return IS_READ
    if tag >= 3 and tag <= 6:
        number = load_signed(value, at + 1, end - at - 1)
        result = cython.cast(cython.double, number)
    elif tag == 14:
        result = float_of_bits(load_signed(value, at + 1, 4))
    elif (tag == 8 or tag == 9) and value[at + 1] <= 22:
        number = load_signed(value, at + 2, end - at - 2)
        if number > 9007199254740992 or number < -9007199254740992:
            return IS_SLOW
        # Both are exact doubles, so that their quotient is rounded once.
        for k in range(value[at + 1]):
            power *= 10.0
        result = cython.cast(cython.double, number) / power
    else:
        return IS_SLOW
    out[slot] = bits_of_double(result)
    return IS_READ


@kernel
def read_float(value: InBytes, at: i64, end: i64, out: OutInts, slot: i64) -> i64:
    """A number, or a plain text of one, as the bits of the nearest float, by way of the nearest double.

    That rounds twice. It is the float nearest to the number itself unless the double is halfway between two floats, as the number
    then may lie on either side of it: no double lies between the two, and so none that is halfway.
    """
    header: i64 = value[at]
    number: i64
    sign: i64
    rest: i64
    half: i64 = 1 << 28
    bias: i64 = 1023 - 127
    exponent: i64
    if header >> 2 == 14 and header & 3 == 0:
        out[slot] = load_signed(value, at + 1, 4)
        return IS_READ
    if read_double(value, at, end, out, slot) != IS_READ:
        return IS_SLOW
    number = out[slot]
    sign = -2147483648 if number < 0 else 0
    number &= 0x7FFFFFFFFFFFFFFF
    exponent = number >> 52
    if number == 0:
        out[slot] = sign
        return IS_READ
    if exponent < LEAST_EXPONENT or exponent >= MOST_EXPONENT:
        return IS_SLOW
    rest = number & (2 * half - 1)
    # A double that is stored is the number itself.
    if rest == half and (header & 3 != 0 or header >> 2 != 7):
        return IS_SLOW
    number >>= 29
    if rest > half or (rest == half and number & 1):
        number += 1
    out[slot] = sign + number - (bias << 23)
    return IS_READ


@kernel
def read_decimal(value: InBytes, at: i64, end: i64, precision: i64, scale: i64, out: OutInts, slot: i64) -> i64:
    """An exact number with another scale, rounded half up, as 128 bits."""
    header: i64 = value[at]
    tag: i64 = header >> 2
    number: i64
    from_scale: i64 = 0
    power: i64
    rest: i64
    sign: i64 = 1
    if header & 3 != 0:
        return IS_SLOW
    if tag >= 3 and tag <= 6:
        number = load_signed(value, at + 1, end - at - 1)
    elif tag == 8 or tag == 9:
        number = load_signed(value, at + 2, end - at - 2)
        from_scale = value[at + 1]
    else:
        return IS_SLOW
    if number < 0:
        sign = -1
        if number < -999999999999999999:
            return IS_SLOW
        number = -number
    if scale >= from_scale:
        if scale - from_scale > 18:
            return IS_SLOW
        power = power_of_ten(scale - from_scale)
        if number > 999999999999999999 // power:
            return IS_SLOW
        number *= power
    else:
        if from_scale - scale > 18:
            return IS_SLOW
        power = power_of_ten(from_scale - scale)
        rest = number % power
        number = number // power
        if rest >= power - rest:
            number += 1
    if precision < 18 and number >= power_of_ten(precision):
        return IS_MISMATCH
    out[2 * slot] = sign * number
    out[2 * slot + 1] = -1 if sign < 0 and number > 0 else 0
    return IS_READ


@kernel
def read_moment(value: InBytes, at: i64, end: i64, target: i64, per_second: i64, out: OutInts, slot: i64) -> i64:
    """A date, time or timestamp of the same family, or the common text of one."""
    header: i64 = value[at]
    tag: i64 = header >> 2
    ticks: i64
    start: i64 = at + 1 if header & 3 == BASIC_SHORT_STRING else at + 5
    if header & 3 == BASIC_SHORT_STRING:
        if target == TO_DATE:
            return IS_READ if end - start == 10 and read_day(value, start, end, out, slot) == A_MOMENT else IS_SLOW
        if target == TO_TIME:
            return IS_SLOW
        if read_timestamp(value, start, end, per_second, 1 if target == TO_TIMESTAMP else 0, out, slot) == A_MOMENT:
            return IS_READ
        return IS_SLOW
    if header & 3 != 0:
        return IS_SLOW
    if target == TO_DATE:
        if tag != 11:
            return IS_SLOW
        out[slot] = load_signed(value, at + 1, 4)
        return IS_READ
    if end - at != 9:
        return IS_SLOW
    ticks = load_signed(value, at + 1, 8)
    if target == TO_TIME:
        if tag != 17 or ticks < 0 or ticks >= 86400000000:
            return IS_SLOW
    elif tag == (12 if target == TO_TIMESTAMP else 13):
        if per_second > 1000000:
            if ticks > 9223372036854775 or ticks < -9223372036854775:
                return IS_SLOW
            ticks *= 1000
    elif tag == (18 if target == TO_TIMESTAMP else 19):
        if per_second == 1000000:
            ticks = ticks // 1000 if ticks >= 0 else -1 - (-1 - ticks) // 1000
    else:
        return IS_SLOW
    out[slot] = ticks
    return IS_READ


@kernel
def read_common(value: InBytes, at: i64, end: i64, target: i64, first: i64, second: i64, out: OutInts, slot: i64) -> i64:
    """A value that is not null as a number of fixed width, if it is of those that are common."""
    header: i64 = value[at]
    tag: i64 = header >> 2
    if target == TO_INTEGER:
        return read_integer(value, at, end, first, out, slot)
    if target == TO_DOUBLE:
        return read_double(value, at, end, out, slot)
    if target == TO_FLOAT:
        return read_float(value, at, end, out, slot)
    if target == TO_DECIMAL:
        return read_decimal(value, at, end, first, second, out, slot)
    if target >= TO_DATE:
        return read_moment(value, at, end, target, first, out, slot)
    if target == TO_BOOLEAN and header & 3 == 0:
        if tag == 1 or tag == 2:
            out[slot] = 2 - tag
            return IS_READ
        if tag >= 3 and tag <= 6:
            out[slot] = 1 if load_signed(value, at + 1, end - at - 1) != 0 else 0
            return IS_READ
    return IS_SLOW


@kernel
def read_fixed(value: InBytes, at: i64, end: i64, target: i64, first: i64, second: i64, out: OutInts, slot: i64) -> i64:
    """A located value as a number of fixed width; IS_NULL, IS_READ, IS_SLOW or IS_MISMATCH."""
    outcome: i64
    if value[at] == 0:
        return IS_NULL
    outcome = read_common(value, at, end, target, first, second, out, slot)
    if outcome == IS_SLOW and is_mismatch(value, at, end, target):
        return IS_MISMATCH
    return outcome


def fixed_rows(
    value: InBytesView,
    starts: InIntsView,
    ends: InIntsView,
    rows: i64,
    target: i64,
    first: i64,
    second: i64,
    out: OutIntsView,
    outcome: OutBytesView,
) -> i64:
    """Read located values as fixed-width ones, one number each, two for a decimal.

    `first` and `second` say more about the target: bits of an integer, ticks per second, precision and scale.
    """
    row: i64
    value_p: InBytes = in_bytes(value)
    starts_p: InInts = in_ints(starts)
    ends_p: InInts = in_ints(ends)
    out_p: OutInts = out_ints(out)
    outcome_p: OutBytes = out_bytes(outcome)
    with nogil:
        for row in range(rows):
            if starts_p[row] >= 0:
                outcome_p[row] = read_fixed(value_p, starts_p[row], ends_p[row], target, first, second, out_p, row)
    return rows


def held_rows(
    value: InBytesView,
    offsets: InBytesView,
    width: i64,
    bits: InBytesView,
    before: i64,
    rows: i64,
    target: i64,
    first: i64,
    second: i64,
    held: OutIntsView,
    out: OutIntsView,
    outcome: OutBytesView,
) -> i64:
    """Read the values of an Arrow array of whole ones, as `fixed_rows` does: only of rows that hold one, side by side; how many.

    Offsets have `width` bytes; a row holds a value where its bit is set. The array begins `before` rows behind its buffers.
    Containers, and what is not one whole value, are SLOW.
    """
    count: i64 = 0
    row: i64 = before
    end: i64 = before + rows
    start: i64
    stop: i64
    value_p: InBytes = in_bytes(value)
    offsets_p: InBytes = in_bytes(offsets)
    bits_p: InBytes = in_bytes(bits)
    held_p: OutInts = out_ints(held)
    out_p: OutInts = out_ints(out)
    outcome_p: OutBytes = out_bytes(outcome)
    with nogil:
        while row < end:
            if bits_p[row >> 3] >> (row & 7) == 0:
                # No other row of this byte holds anything.
                row = (row | 7) + 1
                continue
            if (bits_p[row >> 3] >> (row & 7)) & 1:
                start = load_le(offsets_p, row * width, width)
                stop = load_le(offsets_p, (row + 1) * width, width)
                held_p[count] = row - before
                outcome_p[count] = IS_SLOW
                if start < stop and value_p[start] & 3 < BASIC_OBJECT and scalar_size(value_p, start, stop) == stop - start:
                    outcome_p[count] = read_fixed(value_p, start, stop, target, first, second, out_p, count)
                count += 1
            row += 1
    return count


@kernel
def write_bytes(value: InBytes, at: i64, end: i64, target: i64, out: OutBytes, to: i64, outcome: OutBytes, row: i64) -> i64:
    """Write a located value as a string, bytes or uuid; the position behind it. There is room for it."""
    header: i64 = value[at]
    tag: i64 = header >> 2
    start: i64 = at + 1 if header & 3 == BASIC_SHORT_STRING else at + 5
    outcome[row] = IS_SLOW
    if header == 0:
        outcome[row] = IS_NULL
        return to
    if header & 3 > BASIC_SHORT_STRING:
        return to
    if target == TO_UUID:
        if header & 3 == 0 and tag == 20:
            copy_bytes(out, to, value, at + 1, 16)
            outcome[row] = IS_READ
            return to + 16
        return to
    if header & 3 == BASIC_SHORT_STRING or tag == 16 or (tag == 15 and target == TO_BINARY):
        copy_bytes(out, to, value, start, end - start)
        outcome[row] = IS_READ
        return to + end - start
    if target == TO_BINARY:
        return to
    if tag >= 3 and tag <= 6:
        outcome[row] = IS_READ
        return write_integer(out, to, load_signed(value, at + 1, end - at - 1))
    if tag == 8 or tag == 9:
        start = to
        if value[at + 1] > 38:
            return to
        to = write_decimal(value, at, out, to)
        outcome[row] = IS_READ
        if value[at + 1] > 0:
            while out[to - 1] == 48:
                to -= 1
            if out[to - 1] == 46:
                to -= 1
            if to == start + 2 and out[start] == 45 and out[start + 1] == 48:
                out[start] = 48
                to = start + 1
    return to


@kernel
def is_bad_text(value: InBytes, at: i64, end: i64) -> i64:
    """1 if the value is a string that is not UTF-8."""
    header: i64 = value[at]
    if header & 3 == BASIC_SHORT_STRING:
        return 1 - is_utf8(value, at + 1, end)
    if header == 64:
        return 1 - is_utf8(value, at + 5, end)
    return 0


def text_rows(
    value: InBytesView,
    value_offsets: InIntsView,
    starts: InIntsView,
    ends: InIntsView,
    first: i64,
    last: i64,
    target: i64,
    out: OutBytesView,
    out_offsets: OutIntsView,
    outcome: OutBytesView,
    status: OutIntsView,
    state: OutIntsView,
) -> i64:
    """Write located values as strings, bytes or uuids, one behind the other; the row reached, as in to_json."""
    row: i64 = first
    value_p: InBytes = in_bytes(value)
    value_offsets_p: InInts = in_ints(value_offsets)
    starts_p: InInts = in_ints(starts)
    ends_p: InInts = in_ints(ends)
    out_p: OutBytes = out_bytes(out)
    out_size: i64 = len(out)
    out_offsets_p: OutInts = out_ints(out_offsets)
    outcome_p: OutBytes = out_bytes(outcome)
    status_p: OutInts = out_ints(status)
    state_p: OutInts = out_ints(state)
    with nogil:
        state_p[ROW_NEED] = NEED_NOTHING
        while row < last:
            if starts_p[row] >= 0:
                if state_p[ROW_OUT] + ends_p[row] - starts_p[row] + SCALAR_ROOM > out_size:
                    state_p[ROW_NEED] = NEED_TEXT
                    break
                if target == TO_STRING and is_bad_text(value_p, starts_p[row], ends_p[row]):
                    status_p[row] = BAD_STRING_UTF8 | ((starts_p[row] - value_offsets_p[row]) << 8)
                else:
                    state_p[ROW_OUT] = write_bytes(value_p, starts_p[row], ends_p[row], target, out_p, state_p[ROW_OUT], outcome_p, row)
                    if outcome_p[row] == IS_SLOW and target != TO_STRING and is_mismatch(value_p, starts_p[row], ends_p[row], target):
                        outcome_p[row] = IS_MISMATCH
            row += 1
            out_offsets_p[row] = state_p[ROW_OUT]
    return row


def gather_rows(value: InBytesView, starts: InIntsView, ends: InIntsView, rows: i64, out: OutBytesView, out_offsets: OutIntsView) -> i64:
    """Copy located values one behind the other; `out` has room for all of them. Returns the bytes copied."""
    row: i64
    to: i64 = 0
    value_p: InBytes = in_bytes(value)
    starts_p: InInts = in_ints(starts)
    ends_p: InInts = in_ints(ends)
    out_p: OutBytes = out_bytes(out)
    out_offsets_p: OutInts = out_ints(out_offsets)
    with nogil:
        for row in range(rows):
            if starts_p[row] >= 0:
                copy_bytes(out_p, to, value_p, starts_p[row], ends_p[row] - starts_p[row])
                to += ends_p[row] - starts_p[row]
            out_offsets_p[row + 1] = to
    return to
