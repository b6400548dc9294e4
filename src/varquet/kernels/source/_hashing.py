"""Numbers for values, as `varquet.variant.fingerprint` defines them."""

from __future__ import annotations

from varquet.kernels.source._bytes import BASIC_SHORT_STRING, load_signed
from varquet.kernels.source._wide import rescale_exactly
from varquet.kernels.source.dialect import M64, InBytes, OutInts, i64, inlined, kernel, load64, load_le, mix, u64

# What kinds of values there are. Those that can be equal are of one kind.
KIND_EXACT = 3
KIND_DOUBLE = 4
KIND_FLOAT = 5
KIND_DATE = 6
KIND_TIME = 7
KIND_TIMESTAMP = 8
KIND_TIMESTAMP_NTZ = 9
KIND_BINARY = 10
KIND_STRING = 11
KIND_UUID = 12
KIND_OBJECT = 13
KIND_ARRAY = 14
KIND_NAME = 15


@inlined
def hash_number(kind: u64, low: u64, high: u64, seed: u64) -> u64:
    first: u64 = 0x9E3779B97F4A7C15
    second: u64 = 0xE7037ED1A0B428DB
    return mix(mix(seed ^ first ^ low, second) ^ high, first ^ kind)


@inlined
def hash_bytes(kind: u64, data: InBytes, at: i64, length: i64, seed: u64) -> u64:
    first: u64 = 0x9E3779B97F4A7C15
    second: u64 = 0xE7037ED1A0B428DB
    mixed: u64 = seed ^ first
    word: u64 = 0
    left: i64 = length
    size: u64 = length
    while left >= 8:
        mixed = mix(mixed ^ load64(data, at), second)
        at += 8
        left -= 8
    if left >= 4:
        word = load_le(data, at, 4)
        at += 4
        left -= 4
        if left > 0:
            word |= (load_le(data, at, left) << 32) & M64
    elif left > 0:
        word = load_le(data, at, left)
    return mix(mix(mixed ^ word, second ^ size), first ^ kind)


@inlined
def hash_field(name: u64, field: u64) -> u64:
    """What one field gives to its object, whose fields are added up."""
    first: u64 = 0xA0761D6478BD642F
    second: u64 = 0x8EBC6AF09C88C6E3
    return mix(name ^ first, field ^ second)


@inlined
def hash_object(total: u64, fields: u64, seed: u64) -> u64:
    return hash_number(KIND_OBJECT, total, fields, seed)


@inlined
def hash_element(before: u64, element: u64) -> u64:
    """What an array has given with one element more."""
    second: u64 = 0x8EBC6AF09C88C6E3
    return mix(before ^ element, second)


@inlined
def hash_array(total: u64, elements: u64, seed: u64) -> u64:
    return hash_number(KIND_ARRAY, total, elements, seed)


@kernel
def hash_exact(low: i64, high: i64, scale: i64, seed: u64, spare: OutInts, at: i64) -> u64:
    """An exact number without the zeros at its end; `spare` has room for two numbers."""
    if high == (low >> 63):
        while scale > 0 and low % 10 == 0:
            low = low // 10
            scale -= 1
        high = low >> 63
    else:
        while scale > 0 and rescale_exactly(low & M64, high & M64, scale, scale - 1, 38, spare, at):
            low = spare[at]
            high = spare[at + 1]
            scale -= 1
    return hash_number(KIND_EXACT | (scale << 8), low & M64, high & M64, seed)


@inlined
def hash_moment(kind: u64, moment: i64, in_nanos: i64, seed: u64) -> u64:
    """A timestamp by its microseconds and the nanoseconds beyond them."""
    rest: i64 = 0
    if in_nanos:
        if moment >= 0:
            rest = moment % 1000
            moment = moment // 1000
        else:
            # Rounded down, as Python does and C does not.
            moment = -(moment + 1)
            rest = 999 - moment % 1000
            moment = -(moment // 1000) - 1
    return hash_number(kind, moment & M64, rest, seed)


@kernel
def hash_fixed(tag: i64, low: i64, high: i64, scale: i64, seed: u64, spare: OutInts, at: i64) -> u64:
    """A value of fixed width by its tag; doubles and floats by their bits, booleans by their tag alone."""
    if tag <= 2:
        return hash_number(tag, 0, 0, seed)
    if tag <= 6:
        return hash_number(KIND_EXACT, low & M64, (low >> 63) & M64, seed)
    if tag == 7:
        # All that are not a number are one.
        if low & 0x7FFFFFFFFFFFFFFF > 0x7FF0000000000000:
            low = 0x7FF8000000000000
        return hash_number(KIND_DOUBLE, low & M64, 0, seed)
    if tag <= 10:
        return hash_exact(low, high, scale, seed, spare, at)
    if tag == 14:
        if low & 0x7FFFFFFF > 0x7F800000:
            low = 0x7FC00000
        return hash_number(KIND_FLOAT, low & 0xFFFFFFFF, 0, seed)
    if tag == 11:
        return hash_number(KIND_DATE, low & M64, 0, seed)
    if tag == 17:
        return hash_number(KIND_TIME, low & M64, 0, seed)
    if tag == 12 or tag == 18:
        return hash_moment(KIND_TIMESTAMP, low, 1 if tag == 18 else 0, seed)
    return hash_moment(KIND_TIMESTAMP_NTZ, low, 1 if tag == 19 else 0, seed)


@inlined
def kind_of_text(tag: i64) -> i64:
    if tag == 15:
        return KIND_BINARY
    return KIND_STRING if tag == 16 else KIND_UUID


@kernel
def hash_scalar(value: InBytes, at: i64, size: i64, seed: u64, spare: OutInts, slot: i64) -> u64:
    """A scalar whose bytes are known to be there."""
    header: i64 = value[at]
    tag: i64 = header >> 2
    if header & 3 == BASIC_SHORT_STRING:
        return hash_bytes(KIND_STRING, value, at + 1, size - 1, seed)
    if tag == 15 or tag == 16:
        return hash_bytes(kind_of_text(tag), value, at + 5, size - 5, seed)
    if tag == 20:
        return hash_bytes(KIND_UUID, value, at + 1, 16, seed)
    if tag <= 2:
        return hash_number(tag, 0, 0, seed)
    if tag == 8:
        return hash_exact(load_signed(value, at + 2, 4), load_signed(value, at + 2, 4) >> 63, value[at + 1], seed, spare, slot)
    if tag == 9:
        return hash_exact(load_signed(value, at + 2, 8), load_signed(value, at + 2, 8) >> 63, value[at + 1], seed, spare, slot)
    if tag == 10:
        return hash_exact(load_signed(value, at + 2, 8), load_signed(value, at + 10, 8), value[at + 1], seed, spare, slot)
    return hash_fixed(tag, load_signed(value, at + 1, size - 1), 0, 0, seed, spare, slot)
