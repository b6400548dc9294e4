"""What is known of the values of one path: counts of types, ranges, sizes and a sketch, each value taken in as it is met.

A path is a node of a tree (`_path_tree`): NODE numbers in one array, of which the last are the bytes of its sketch. A node is told by
the place of its first number.
"""

from __future__ import annotations

from varquet.kernels.source._bytes import BASIC_ARRAY, BASIC_SHORT_STRING
from varquet.kernels.source.dialect import (
    M64,
    InBytes,
    InInts,
    OutBytes,
    OutInts,
    bits_of_double,
    cython,
    i64,
    inlined,
    kernel,
    leading_zeros,
    load64,
    mix,
    reversed_bytes,
    signed,
    trailing_zeros,
    u64,
)

# How the types of values are numbered here: booleans are one, then the primitive types in the order of their tags.
TYPE_NULL = 0
TYPE_BOOLEAN = 1
TYPE_INT8 = 2
TYPE_INT64 = 5
TYPE_DOUBLE = 6
TYPE_DECIMAL4 = 7
TYPE_DECIMAL16 = 9
TYPE_FLOAT = 13
TYPE_BINARY = 14
TYPE_STRING = 15
TYPE_UUID = 19
TYPE_OBJECT = 20
TYPE_ARRAY = 21
TYPE_COUNT = 22

# A node; what every value touches comes first, in one cache line. FOLLOWER is the child of the same parent that came behind it,
# FIRST_CHILD the one that came first, when somebody looked: most likely they will again.
NAME = 0
FOLLOWER = 1
FIRST_CHILD = 2
ELEMENT_NODE = 3
BYTES = 4
LAST_ROW = 5
ROWS = 6
PARENT = 7
DIGITS = 8
SCALE = 9
CHILDREN = 10
OTHERS_NODE = 11
SHORTEST = 12
LONGEST = 13
ITEMS = 14
DEPTH = 15
# Of each type: how many, the smallest, the largest, the first row. The smallest and largest are numbers that sort like the values.
TYPES = 16
TYPE_SLOTS = 4
TYPE_LOW = 1
TYPE_HIGH = 2
TYPE_FIRST = 3
# The sketch of distinct values: so many registers of a byte. The last bits of a product depend on few bits of its factors.
SKETCH_AT = 104
SKETCH_BITS = 8
SKETCH_SKIPPED = 16
SKETCH = 256
# An object has room for the largest number of names less what is in SLACK; those at its fields have SLACK_BELOW.
SLACK = 136
SLACK_BELOW = 137
NODE = 144
# So many bytes of long texts count for it: whatever one is, it takes no longer.
HASHED = 256

LARGEST = 9223372036854775807

# Numbers that never change are in one array. First, what is known of a value by its first byte: its type in the last bits, how it is
# counted, and its size, or 0 where that is not known; of a container instead the widths of its offsets and ids and
# the size of its header and count.
HEADER_TYPE = 31
CLASS_TEXT = 0
CLASS_INTEGER = 32
CLASS_DECIMAL = 64
CLASS_OTHER = 96
CLASS_MASK = 96
HEADER_SIZE = 7
SHAPE_WIDTH = 5
SHAPE_ID_WIDTH = 8
SHAPE_START = 11
WIDTH_MASK = 7
# Then the powers of ten, up to 10^18.
POWERS = 256
# Then masks: at NO_BYTES is the one that leaves no byte of a word, k places behind it that which leaves k of them, or all. As many
# bytes as a short string has can be asked for, and eight less than none.
NO_BYTES = 283
TABLE_SIZE = 347

# Numbers and the first bytes of strings are read as whole words: so many bytes must be there behind every row.
READ_AHEAD = 16


@inlined
def digits_of(number: u64, tables: InInts) -> i64:
    """How many decimal digits a number has, counted from the first that is not zero."""
    digits: i64
    twenty: u64 = 0x8AC7230489E80000
    if number == 0:
        return 0
    digits = ((64 - leading_zeros(number)) * 1233) >> 12
    if digits > 18:
        return 20 if number >= twenty else 19
    return digits + (1 if number >= tables[POWERS + digits] & M64 else 0)


@kernel
def wide_digits(low: u64, high: u64, tables: InInts) -> i64:
    """How many decimal digits a 128-bit two's complement number has."""
    ten: u64 = 10
    half: u64 = 0xFFFFFFFF
    part: u64
    rest: u64
    digits: i64 = 0
    if high >> 63:
        low = (~low + 1) & M64
        high = (~high + (1 if low == 0 else 0)) & M64
    while high != 0:
        rest = high % ten
        high = high // ten
        part = (rest << 32) | (low >> 32)
        rest = part % ten
        part = part // ten
        rest = (rest << 32) | (low & half)
        low = (part << 32) | (rest // ten)
        digits += 1
    return digits + digits_of(low, tables)


@inlined
def ordered_bits(bits: i64, width: i64) -> i64:
    """The bits of a float or double as a number that sorts like it."""
    top: i64 = 0x7FFFFFFF
    if width == 4:
        return bits if bits >= 0 else bits ^ top
    return bits if bits >= 0 else bits ^ LARGEST


@inlined
def note_range(nodes: OutInts, place: i64, number: i64) -> i64:
    """Take a number into the range of a type, whose numbers are at this place."""
    if number < nodes[place + TYPE_LOW]:
        nodes[place + TYPE_LOW] = number
    if number > nodes[place + TYPE_HIGH]:
        nodes[place + TYPE_HIGH] = number
    return 0


@inlined
def note_sketch(sketches: OutBytes, node: i64, mixed: u64) -> i64:
    """Take what was mixed into a sketch: its first bits choose a register, which keeps the most zeros at the end of those behind them."""
    one: u64 = 1
    prime: u64 = 0x9E3779B97F4A7C15
    hashed: u64 = (mixed * prime) & M64
    zeros: i64 = trailing_zeros((hashed >> SKETCH_SKIPPED) | (one << (64 - SKETCH_BITS - SKETCH_SKIPPED))) + 1
    register: i64 = 8 * (node + SKETCH_AT) + signed(hashed >> (64 - SKETCH_BITS))
    if sketches[register] < zeros:
        sketches[register] = zeros
    return 0


@inlined
def mixed_words(word: u64, second_word: u64, about: u64) -> u64:
    """One number for a scalar of up to 16 bytes, and for what tells it from others with the same bytes: its first byte, as a rule."""
    first: u64 = 0x9E3779B97F4A7C15
    second: u64 = 0xE7037ED1A0B428DB
    return mix(word ^ first ^ about, second_word ^ second)


@inlined
def note_text(
    nodes: OutInts, sketches: OutBytes, node: i64, kind: i64, value: InBytes, at: i64, length: i64, about: u64, masks: i64, tables: InInts
) -> i64:
    """Take a string or binary whose bytes begin here into the range and the sketch of its node; `masks` are those of its length or 16."""
    word: u64 = load64(value, at) & tables[masks]
    second_word: u64 = load64(value, at + 8) & tables[masks - 8]
    second: u64 = 0xE7037ED1A0B428DB
    mixed: u64 = mixed_words(word, second_word, about)
    k: i64 = 16
    if length > 16:
        while k + 16 < length and k < HASHED:
            mixed = mix(mixed ^ load64(value, at + k), second ^ load64(value, at + k + 8))
            k += 16
        mixed = mix(mixed ^ load64(value, at + length - 16), second ^ load64(value, at + length - 8))
    note_sketch(sketches, node, mixed)
    return note_range(nodes, node + TYPES + TYPE_SLOTS * kind, signed(reversed_bytes(word) ^ 0x8000000000000000))


@kernel
def note_long(nodes: OutInts, sketches: OutBytes, node: i64, kind: i64, value: InBytes, at: i64, length: i64, tables: InInts) -> i64:
    """What note_text does, for what has a length of its own; a short string is the same however it is written."""
    about: u64 = (length << 2) | (BASIC_SHORT_STRING if kind == TYPE_STRING else BASIC_ARRAY)
    return note_text(nodes, sketches, node, kind, value, at, length, about, NO_BYTES + (length if length < 16 else 16), tables)


@kernel
def note_wide_decimal(
    nodes: OutInts, sketches: OutBytes, node: i64, low: u64, high: u64, scale: i64, about: u64, tables: InInts
) -> cython.double:
    """Take the digits of a 128-bit number into its node; the double that is near it."""
    digits: i64 = wide_digits(low, high, tables) - scale
    negative: u64 = high >> 63
    near: cython.double
    note_sketch(sketches, node, mixed_words(low, high, about))
    # Zero has a digit, too, if it has none behind the point.
    if digits == 0 and scale == 0:
        digits = 1
    if digits > nodes[node + DIGITS]:
        nodes[node + DIGITS] = digits
    if negative:
        # Of a small negative number both halves are large, and what they differ by would be lost.
        low = (~low + 1) & M64
        high = (~high + (1 if low == 0 else 0)) & M64
    near = cython.cast(cython.double, high) * 1.8446744073709552e19 + cython.cast(cython.double, low)
    return -near if negative else near


@inlined
def note_decimal(nodes: OutInts, sketches: OutBytes, node: i64, kind: i64, value: InBytes, at: i64, tables: InInts) -> i64:
    """Take a decimal, whose scale and number begin here, into its node.

    What is kept are its digits before the point and behind it; in the range of its type is the double that is near it.
    """
    scale: i64 = value[at]
    about: u64 = (scale << 8) | value[at - 1]
    low: u64 = load64(value, at + 1)
    number: i64
    most: i64
    near: cython.double
    if kind == TYPE_DECIMAL16:
        near = note_wide_decimal(nodes, sketches, node, low, load64(value, at + 9), scale, about, tables)
    else:
        number = signed((low << 32) & M64) >> 32 if kind == TYPE_DECIMAL4 else signed(low)
        note_sketch(sketches, node, mixed_words(number & M64, 0, about))
        near = cython.cast(cython.double, number)
        most = nodes[node + DIGITS] + scale
        # No number here has more than 19 digits.
        if most < 19 and (number >= tables[POWERS + most] or number <= -tables[POWERS + most]):
            nodes[node + DIGITS] = digits_of((number if number >= 0 else -number) & M64, tables) - scale
        elif most == 0:
            nodes[node + DIGITS] = 1
    if scale > nodes[node + SCALE]:
        nodes[node + SCALE] = scale
    while scale > 18:
        near = near / 1e18
        scale -= 18
    near = near / cython.cast(cython.double, tables[POWERS + scale])
    return note_range(nodes, node + TYPES + TYPE_SLOTS * kind, ordered_bits(bits_of_double(near), 8))


@inlined
def note_integer(nodes: OutInts, sketches: OutBytes, node: i64, kind: i64, value: InBytes, at: i64, length: i64) -> i64:
    """Take an integer, a date, a time or a timestamp, of 1 to 8 bytes, into the range and the sketch of its node."""
    number: i64 = signed((load64(value, at) << (64 - 8 * length)) & M64) >> (64 - 8 * length)
    note_sketch(sketches, node, mixed_words(number & M64, 0, value[at - 1]))
    return note_range(nodes, node + TYPES + TYPE_SLOTS * kind, number)


@inlined
def note_other(nodes: OutInts, sketches: OutBytes, node: i64, kind: i64, value: InBytes, at: i64, length: i64, tables: InInts) -> i64:
    """Take a boolean, a float, a double or a uuid into the range and the sketch of its node; there is nothing to be said of a null."""
    place: i64 = node + TYPES + TYPE_SLOTS * kind
    number: i64
    word: u64
    second_word: u64
    if kind == TYPE_NULL:
        return 0
    if kind == TYPE_BOOLEAN:
        word = value[at - 1]
        number = 1 if word >> 2 == 1 else 0
        # One that widens the range is a new one, and no other is.
        if number < nodes[place + TYPE_LOW] or number > nodes[place + TYPE_HIGH]:
            note_sketch(sketches, node, mixed_words(word, 0, 0))
            note_range(nodes, place, number)
        return 0
    word = load64(value, at) & tables[NO_BYTES + length]
    second_word = load64(value, at + 8) & tables[NO_BYTES - 8 + length]
    note_sketch(sketches, node, mixed_words(word, second_word, value[at - 1]))
    if kind == TYPE_UUID:
        return note_range(nodes, place, signed(reversed_bytes(word) ^ 0x8000000000000000))
    number = signed((word << (64 - 8 * length)) & M64) >> (64 - 8 * length)
    # What is not a number has no place in a range.
    if length == 8:
        return note_range(nodes, place, ordered_bits(number, 8)) if number & LARGEST <= 0x7FF0000000000000 else 0
    return note_range(nodes, place, ordered_bits(number, 4)) if number & 0x7FFFFFFF <= 0x7F800000 else 0


@inlined
def note_value(nodes: OutInts, node: i64, kind: i64, number: i64) -> i64:
    """Count a value of this type in the row of this number."""
    nodes[node + TYPES + TYPE_SLOTS * kind] += 1
    if nodes[node + LAST_ROW] != number:
        nodes[node + LAST_ROW] = number
        nodes[node + ROWS] += 1
    return 0


@inlined
def note_length(nodes: OutInts, node: i64, length: i64) -> i64:
    """Take the number of elements of an array into its node."""
    if length < nodes[node + SHORTEST]:
        nodes[node + SHORTEST] = length
    if length > nodes[node + LONGEST]:
        nodes[node + LONGEST] = length
    nodes[node + ITEMS] += length
    return 0
