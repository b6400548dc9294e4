"""Dates and timestamps from the text forms that machines write; all others are left to the reference."""

from __future__ import annotations

from varquet.kernels.source.dialect import InBytes, OutInts, i64, inlined, kernel

NO_MOMENT = 0
A_MOMENT = 1


@inlined
def two_digits(data: InBytes, at: i64) -> i64:
    """The number in two digits, or -1."""
    tens: i64 = data[at] - 48
    ones: i64 = data[at + 1] - 48
    if tens < 0 or tens > 9 or ones < 0 or ones > 9:
        return -1
    return tens * 10 + ones


@kernel
def read_day(data: InBytes, at: i64, end: i64, result: OutInts, slot: i64) -> i64:
    """YYYY-MM-DD as days since 1970-01-01; A_MOMENT if it is one."""
    century: i64
    year: i64
    month: i64
    day: i64
    last: i64
    if at + 10 > end or data[at + 4] != 45 or data[at + 7] != 45:
        return NO_MOMENT
    century = two_digits(data, at)
    year = two_digits(data, at + 2)
    month = two_digits(data, at + 5)
    day = two_digits(data, at + 8)
    if century < 0 or year < 0 or month < 1 or month > 12 or day < 1:
        return NO_MOMENT
    year += 100 * century
    last = 31
    if month == 4 or month == 6 or month == 9 or month == 11:
        last = 30
    elif month == 2:
        last = 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    if day > last:
        return NO_MOMENT
    # Count from the first of March of the year 0, so that the leap day comes last.
    if month < 3:
        month += 12
        year -= 1
    year += 400
    result[slot] = 365 * year + year // 4 - year // 100 + year // 400 + (153 * (month - 3) + 2) // 5 + day - 1 - 719468 - 146097
    return A_MOMENT


@kernel
def read_timestamp(data: InBytes, at: i64, end: i64, per_second: i64, zoned: i64, result: OutInts, slot: i64) -> i64:
    """YYYY-MM-DD[T or blank]HH:MM:SS[.fraction][Z or +HH:MM] as ticks; A_MOMENT if it is one.

    A zone is only read where the result has one, and a fraction only as far as the result can hold it.
    """
    hour: i64
    minute: i64
    second: i64
    fraction: i64 = 0
    unit: i64 = per_second
    sign: i64 = 1
    seconds: i64
    if read_day(data, at, end, result, slot) == NO_MOMENT:
        return NO_MOMENT
    if at + 10 == end:
        seconds = result[slot] * 86400
    else:
        if at + 19 > end or (data[at + 10] != 84 and data[at + 10] != 32) or data[at + 13] != 58 or data[at + 16] != 58:
            return NO_MOMENT
        hour = two_digits(data, at + 11)
        minute = two_digits(data, at + 14)
        second = two_digits(data, at + 17)
        if hour < 0 or hour > 23 or minute < 0 or minute > 59 or second < 0 or second > 59:
            return NO_MOMENT
        seconds = ((result[slot] * 24 + hour) * 60 + minute) * 60 + second
        at += 19
        if at < end and data[at] == 46:
            at += 1
            if at >= end:
                return NO_MOMENT
            while at < end and data[at] >= 48 and data[at] <= 57:
                unit = unit // 10
                if unit == 0:
                    return NO_MOMENT
                fraction += (data[at] - 48) * unit
                at += 1
        if at < end:
            if zoned == 0:
                return NO_MOMENT
            if at + 1 == end and data[at] == 90:
                at += 1
            else:
                if at + 6 != end or (data[at] != 43 and data[at] != 45) or data[at + 3] != 58:
                    return NO_MOMENT
                if data[at] == 45:
                    sign = -1
                hour = two_digits(data, at + 1)
                minute = two_digits(data, at + 4)
                if hour < 0 or hour > 17 or minute < 0 or minute > 59:
                    return NO_MOMENT
                seconds -= sign * (hour * 60 + minute) * 60
    if per_second > 1000000 and (seconds < -9223372036 or seconds > 9223372035):
        return NO_MOMENT
    result[slot] = seconds * per_second + fraction
    return A_MOMENT
