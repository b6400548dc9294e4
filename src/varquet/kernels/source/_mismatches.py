"""Values that no cast turns into a type, told without the cast: pairs of types that have none, and texts of another shape.

Only what certainly has no meaning is told; `varquet.variant.cast` decides about everything else.
"""

from __future__ import annotations

from varquet.kernels.source._bytes import BASIC_OBJECT, BASIC_SHORT_STRING
from varquet.kernels.source._unicode import is_utf8
from varquet.kernels.source.dialect import InBytes, i64, inlined, kernel

# What a value is read as.
TO_INTEGER = 1
TO_DOUBLE = 2
TO_FLOAT = 3
TO_BOOLEAN = 4
TO_DATE = 5
TO_TIMESTAMP = 6
TO_TIMESTAMP_NTZ = 7
TO_TIME = 8
TO_DECIMAL = 9
TO_STRING = 10
TO_BINARY = 11
TO_UUID = 12

TAG_BINARY = 15
TAG_STRING = 16
TAG_UUID = 20


@inlined
def is_digit(byte: i64) -> i64:
    return 1 if byte >= 48 and byte <= 57 else 0


@inlined
def is_sign(byte: i64) -> i64:
    return 1 if byte == 43 or byte == 45 else 0


@kernel
def is_no_number(value: InBytes, at: i64, end: i64, target: i64) -> i64:
    """1 if a text without blanks around it is neither a number with a point and an exponent nor, but for a decimal, a special one."""
    start: i64 = at + is_sign(value[at])
    byte: i64 = value[start] | 32 if start < end else 0
    if target != TO_DECIMAL:
        if byte == 110:
            return 0 if end - start == 3 else 1
        if byte == 105:
            return 0 if end - start == 3 or end - start == 8 else 1
        # A letter that is part of the number in Java.
        byte = value[end - 1] | 32
        if byte == 100 or byte == 102:
            end -= 1
    at = start
    while at < end:
        byte = value[at]
        if is_sign(byte):
            # Signs stand at the beginning, and before an exponent.
            if at == start or value[at - 1] | 32 != 101:
                return 1
        elif is_digit(byte) == 0 and byte != 46 and byte | 32 != 101:
            return 1
        at += 1
    return 0


@kernel
def is_no_such_text(value: InBytes, at: i64, end: i64, target: i64) -> i64:
    """1 if a text cannot be read as this type."""
    byte: i64
    k: i64
    # Spark takes DEL for a blank, Java, which reads numbers with a point, does not.
    is_java: i64 = 1 if target == TO_DOUBLE or target == TO_FLOAT or target == TO_DECIMAL else 0
    if target == TO_UUID:
        return 1 if end - at != 36 else 0
    while at < end and (value[at] <= 32 or (value[at] == 127 and is_java == 0)):
        at += 1
    while at < end and (value[end - 1] <= 32 or (value[end - 1] == 127 and is_java == 0)):
        end -= 1
    if at == end:
        return 1
    if is_java:
        return is_no_number(value, at, end, target)
    byte = value[at]
    if target == TO_BOOLEAN:
        if end - at > 5:
            return 1
        byte |= 32
        # t, f, y and n; 1 and 0, which the bit does not change.
        return 0 if byte == 116 or byte == 102 or byte == 121 or byte == 110 or byte == 48 or byte == 49 else 1
    if target == TO_TIME:
        return 0 if is_digit(byte) or byte == 84 else 1
    at += is_sign(byte)
    if target == TO_INTEGER:
        if at == end:
            return 1
        while at < end:
            if is_digit(value[at]) == 0:
                return 1
            at += 1
        return 0
    # Dates and timestamps begin with a year of four digits.
    if end - at < 4:
        return 1
    for k in range(at, at + 4):
        if is_digit(value[k]) == 0:
            return 1
    return 0


@kernel
def has_no_cast(value: InBytes, at: i64, tag: i64, target: i64) -> i64:
    """1 if no value of a primitive type becomes one of that type; not of the types whose values may be damaged."""
    is_boolean: i64 = 1 if tag == 1 or tag == 2 else 0
    is_number: i64 = 1 if (tag >= 3 and tag <= 7) or tag == 14 or ((tag == 8 or tag == 9) and value[at + 1] <= 38) else 0
    is_moment: i64 = 1 if (tag >= 11 and tag <= 13) or tag == 18 or tag == 19 else 0
    is_local: i64 = 1 if tag == 11 or tag == 13 or tag == 19 else 0
    if target == TO_BINARY:
        return 1 if is_boolean or is_number or is_moment or tag == TAG_UUID else 0
    if target == TO_UUID:
        return 1 if is_boolean or is_number or is_moment else 0
    if tag == TAG_BINARY or tag == TAG_UUID:
        return 1
    if target == TO_BOOLEAN:
        return is_moment
    if target == TO_DATE or target == TO_TIMESTAMP_NTZ:
        return 1 if is_boolean or is_number else 0
    if target == TO_TIME:
        return 1 if is_boolean or is_number or is_moment else 0
    if target == TO_TIMESTAMP:
        return is_boolean
    return is_local


@kernel
def is_mismatch(value: InBytes, at: i64, end: i64, target: i64) -> i64:
    """1 if a located value, which is no Variant null, certainly cannot be cast to a type other than string."""
    header: i64 = value[at]
    if header & 3 >= BASIC_OBJECT:
        return 1
    if header & 3 == BASIC_SHORT_STRING or header >> 2 == TAG_STRING:
        if target == TO_BINARY:
            return 0
        at += 1 if header & 3 == BASIC_SHORT_STRING else 5
        # What is no text at all is an error.
        return is_no_such_text(value, at, end, target) if is_utf8(value, at, end) else 0
    return has_no_cast(value, at, header >> 2, target)
