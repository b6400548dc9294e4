"""What is known of the values of one path: counts of types, ranges, sizes and a sketch, each value taken in as it is met.

A path is a node of a tree (`_path_tree`): NODE numbers in one array, of which the last are the bytes of its sketch. A node is told by
the place of its first number.
"""

from __future__ import annotations

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
# The sketch of distinct values: so many registers of a byte.
SKETCH_AT = 104
SKETCH_BITS = 8
SKETCH = 256
NODE = 136
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
    """How many decimal digits a number has; none for zero."""
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
def quick_hash(value: InBytes, at: i64, length: i64, word: u64, second_word: u64, about: u64) -> u64:
    """A hash of a scalar whose first two words are known; of long ones the first HASHED bytes, the last 16 and the length count."""
    first: u64 = 0x9E3779B97F4A7C15
    second: u64 = 0xE7037ED1A0B428DB
    mixed: u64 = mix(word ^ first ^ about, second_word ^ second)
    k: i64 = 16
    if length > 16:
        while k + 16 < length and k < HASHED:
            mixed = mix(mixed ^ load64(value, at + k), second ^ load64(value, at + k + 8))
            k += 16
        mixed = mix(mixed ^ load64(value, at + length - 16), second ^ load64(value, at + length - 8))
    return mix(mixed, first)


@inlined
def note_sketch(sketches: OutBytes, node: i64, hashed: u64) -> i64:
    """Take a hash into a sketch: its first bits choose a register, which keeps the most zeros that its last bits were."""
    one: u64 = 1
    zeros: i64 = trailing_zeros(hashed | (one << (64 - SKETCH_BITS))) + 1
    register: i64 = 8 * (node + SKETCH_AT) + signed(hashed >> (64 - SKETCH_BITS))
    if sketches[register] < zeros:
        sketches[register] = zeros
    return 0


@inlined
def note_text(nodes: OutInts, sketches: OutBytes, node: i64, kind: i64, value: InBytes, at: i64, length: i64, tables: InInts) -> i64:
    """Take a string or binary whose bytes begin here into the range and the sketch of its node."""
    masks: i64 = NO_BYTES + (length if length < 16 else 16)
    word: u64 = load64(value, at) & tables[masks]
    second_word: u64 = load64(value, at + 8) & tables[masks - 8]
    note_sketch(sketches, node, quick_hash(value, at, length, word, second_word, (length << 5) | kind))
    return note_range(nodes, node + TYPES + TYPE_SLOTS * kind, signed(reversed_bytes(word) ^ 0x8000000000000000))


@inlined
def note_decimal(nodes: OutInts, sketches: OutBytes, node: i64, kind: i64, value: InBytes, at: i64, length: i64, tables: InInts) -> i64:
    """Take a decimal, whose scale and number begin here, into its node.

    What is kept are its digits before the point and behind it; in the range of its type is the double that is near it.
    """
    word: u64 = load64(value, at) & tables[NO_BYTES + length]
    second_word: u64 = load64(value, at + 8) & tables[NO_BYTES - 8 + length]
    scale: i64 = signed(word & 255)
    left: i64 = scale
    low: u64 = (word >> 8) | ((second_word << 56) & M64)
    high: u64
    number: i64
    most: i64
    near: cython.double
    last_byte: u64
    note_sketch(sketches, node, quick_hash(value, at, length, word, second_word, (length << 5) | kind))
    if kind == TYPE_DECIMAL16:
        last_byte = value[at + 16]
        high = (second_word >> 8) | ((last_byte << 56) & M64)
        most = wide_digits(low, high, tables) - scale
        if most > nodes[node + DIGITS]:
            nodes[node + DIGITS] = most
        near = cython.cast(cython.double, signed(high)) * 1.8446744073709552e19
        near += cython.cast(cython.double, low)
    else:
        number = signed((low << 32) & M64) >> 32 if kind == TYPE_DECIMAL4 else signed(low)
        near = cython.cast(cython.double, number)
        most = nodes[node + DIGITS] + scale
        # No number here has more than 19 digits.
        if most < 19 and (number >= tables[POWERS + most] or number <= -tables[POWERS + most]):
            nodes[node + DIGITS] = digits_of((number if number >= 0 else -number) & M64, tables) - scale
    if scale > nodes[node + SCALE]:
        nodes[node + SCALE] = scale
    while left > 18:
        near = near / 1e18
        left -= 18
    near = near / cython.cast(cython.double, tables[POWERS + left])
    return note_range(nodes, node + TYPES + TYPE_SLOTS * kind, ordered_bits(bits_of_double(near), 8))


@kernel
def note_long(nodes: OutInts, sketches: OutBytes, node: i64, kind: i64, value: InBytes, at: i64, length: i64, tables: InInts) -> i64:
    """What note_text does, for what is long and rare."""
    return note_text(nodes, sketches, node, kind, value, at, length, tables)


@inlined
def note_integer(nodes: OutInts, sketches: OutBytes, node: i64, kind: i64, value: InBytes, at: i64, length: i64) -> i64:
    """Take an integer, a date, a time or a timestamp, of 1 to 8 bytes, into the range and the sketch of its node."""
    number: i64 = signed((load64(value, at) << (64 - 8 * length)) & M64) >> (64 - 8 * length)
    note_sketch(sketches, node, quick_hash(value, at, length, number & M64, 0, (length << 5) | kind))
    return note_range(nodes, node + TYPES + TYPE_SLOTS * kind, number)


@inlined
def note_other(nodes: OutInts, sketches: OutBytes, node: i64, kind: i64, value: InBytes, at: i64, length: i64, tables: InInts) -> i64:
    """Take a boolean, a float, a double or a uuid into the range and the sketch of its node; there is nothing to be said of a null."""
    place: i64 = node + TYPES + TYPE_SLOTS * kind
    number: i64
    word: u64 = load64(value, at) & tables[NO_BYTES + length]
    second_word: u64 = load64(value, at + 8) & tables[NO_BYTES - 8 + length]
    if kind == TYPE_NULL:
        return 0
    if kind == TYPE_BOOLEAN:
        word = value[at - 1]
    note_sketch(sketches, node, quick_hash(value, at, length, word, second_word, (length << 5) | kind))
    if kind == TYPE_BOOLEAN:
        return note_range(nodes, place, 1 if word >> 2 == 1 else 0)
    if kind == TYPE_UUID:
        return note_range(nodes, place, signed(reversed_bytes(word) ^ 0x8000000000000000))
    number = signed((word << (64 - 8 * length)) & M64) >> (64 - 8 * length)
    # What is not a number has no place in a range.
    if length == 8:
        return note_range(nodes, place, ordered_bits(number, 8)) if number & LARGEST <= 0x7FF0000000000000 else 0
    return note_range(nodes, place, ordered_bits(number, 4)) if number & 0x7FFFFFFF <= 0x7F800000 else 0


@inlined
def note_value(nodes: OutInts, node: i64, kind: i64, size: i64, number: i64) -> i64:
    """Count a value of this type and size in the row of this number."""
    nodes[node + TYPES + TYPE_SLOTS * kind] += 1
    nodes[node + BYTES] += size
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
