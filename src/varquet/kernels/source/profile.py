"""What is in a variant column, path by path: counts of types, ranges, sizes and sketches, all exact and added up over rows.

Paths are nodes of a tree, NODE numbers each. A node's children are found by (parent, name) in a table; the elements of an array
are one child, whatever their index. Once a node has as many named children as are let through, or is closed, all other names
are one child together, below which nothing is counted, and each of them is written to a log. The kernel can stop anywhere for
want of room and go on from there: where it is within a row is kept in `progress`.
"""

from __future__ import annotations

from varquet.kernels.source._bytes import (
    BASIC_OBJECT,
    BASIC_PRIMITIVE,
    FRAME_COUNT,
    FRAME_ID_WIDTH,
    FRAME_IDS,
    FRAME_KIND,
    FRAME_NEXT,
    FRAME_TOTAL,
    FRAME_VALUES,
    MAX_EXPANSION,
    ROW_OFFSET,
    child_at,
    load_signed,
    open_container,
    scalar_size,
    value_size,
)
from varquet.kernels.source._codes import (
    BAD_EXPANSION,
    BAD_FIELD_ID,
    BAD_VALUE_EMPTY,
    BAD_VALUE_LENGTH,
    NEED_KEYS,
    NEED_NOTHING,
    NEED_STACK,
    NEED_TAPE,
)
from varquet.kernels.source._hashing import mix
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
    bits_of_double,
    cython,
    i64,
    in_bytes,
    in_ints,
    inlined,
    kernel,
    leading_zeros,
    load64,
    load_le,
    nogil,
    out_bytes,
    out_ints,
    reversed_bytes,
    signed,
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

# A node; what every value touches comes first. The smallest and largest of a type are numbers that sort like the values.
# FIRST_CHILD and NEXT_CHILD are guesses: which child came first and which came after this one lately. FLOOR is what all registers
# of the sketch have reached.
NAME = 0
NEXT_CHILD = 1
BYTES = 2
FLOOR = 3
LAST_ROW = 4
ROWS = 5
PARENT = 6
FIRST_CHILD = 7
CHILDREN = 8
ELEMENT_NODE = 9
OTHERS_NODE = 10
SHORTEST = 11
LONGEST = 12
ITEMS = 13
DIGITS = 14
SCALE = 15
# Of each type: how many, the smallest, the largest, the first row.
TYPES = 16
TYPE_SLOTS = 4
TYPE_LOW = 1
TYPE_HIGH = 2
TYPE_FIRST = 3
NODE = 104

# Names of children that have none.
NAME_ELEMENT = -1
NAME_OTHERS = -2

LARGEST = 9223372036854775807

# Registers of a sketch of distinct values.
SKETCH_BITS = 8
SKETCH = 256

# Where the first value of a type at a node was found: the node, the type, the row, its first byte and its size.
EXAMPLE_NODE = 0
EXAMPLE_TYPE = 1
EXAMPLE_ROW = 2
EXAMPLE_AT = 3
EXAMPLE_SIZE = 4
EXAMPLE_SLOTS = 5

# Where the kernel is.
AT_NODES = 0
AT_LOG = 1
AT_EXAMPLES = 2
AT_MODE = 3
AT_BYTE = 4
AT_LIMIT = 5
AT_NODE = 6
AT_DEPTH = 7
AT_BUDGET = 8
AT_NEED = 9
AT_SLOTS = 10

MODE_ROW = 0
MODE_VALUE = 1
MODE_NEXT = 2

# A container on the stack: where its parts are, its node, and where the guess is which child comes next.
FRAME_NODE = 9
FRAME_BEFORE = 10
PROFILE_FRAME = 11


@kernel
def new_node(nodes: OutInts, node: i64, parent: i64, name: i64) -> i64:
    k: i64
    at: i64 = node * NODE
    for k in range(NODE):
        nodes[at + k] = 0
    nodes[at + PARENT] = parent
    nodes[at + NAME] = name
    nodes[at + LAST_ROW] = -1
    nodes[at + SHORTEST] = LARGEST
    nodes[at + LONGEST] = -1
    for k in range(TYPE_COUNT):
        nodes[at + TYPES + TYPE_SLOTS * k + TYPE_LOW] = LARGEST
        nodes[at + TYPES + TYPE_SLOTS * k + TYPE_HIGH] = -LARGEST - 1
        nodes[at + TYPES + TYPE_SLOTS * k + TYPE_FIRST] = LARGEST
    return node


@inlined
def child_slot(nodes: InInts, table: InInts, slots: i64, parent: i64, name: i64) -> i64:
    """The slot of a child, or the empty one in which it would be."""
    mixed: u64 = ((parent << 32) ^ name) & M64
    prime: u64 = 0x9E3779B97F4A7C15
    slot: i64
    mixed = (mixed * prime) & M64
    slot = signed(mixed >> 20) & (slots - 1)
    while table[slot] != 0:
        if nodes[table[slot] * NODE + PARENT] == parent and nodes[table[slot] * NODE + NAME] == name:
            return slot
        slot = (slot + 1) & (slots - 1)
    return slot


@inlined
def digits_of(number: u64, powers: InInts) -> i64:
    """How many decimal digits a number has; none for zero. powers[k] is 10^k."""
    digits: i64
    twenty: u64 = 0x8AC7230489E80000
    if number == 0:
        return 0
    digits = ((64 - leading_zeros(number)) * 1233) >> 12
    if digits > 18:
        return 20 if number >= twenty else 19
    return digits + (1 if number >= powers[digits] & M64 else 0)


@kernel
def wide_digits(low: u64, high: u64, powers: InInts) -> i64:
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
    return digits + digits_of(low, powers)


@inlined
def ordered_bits(bits: i64, width: i64) -> i64:
    """The bits of a float or double as a number that sorts like it."""
    top: i64 = 0x7FFFFFFF
    if width == 4:
        return bits if bits >= 0 else bits ^ top
    return bits if bits >= 0 else bits ^ LARGEST


@inlined
def first_bytes(value: InBytes, at: i64, length: i64, whole: i64) -> u64:
    """The first eight bytes of so many, or as many as there are, little-endian; `whole` bytes can be read."""
    one: u64 = 1
    word: u64 = 0
    k: i64
    length = 8 if length > 8 else length
    length = 0 if length < 0 else length
    if at + 8 <= whole:
        # Twice half the bits: a shift by all of them is undefined.
        return load64(value, at) & ((((one << (4 * length)) << (4 * length)) - 1) & M64)
    for k in range(length):
        one = value[at + k]
        word |= one << (8 * k)
    return word


@inlined
def note_range(nodes: OutInts, at: i64, kind: i64, number: i64) -> i64:
    at += TYPES + TYPE_SLOTS * kind
    if number < nodes[at + TYPE_LOW]:
        nodes[at + TYPE_LOW] = number
    if number > nodes[at + TYPE_HIGH]:
        nodes[at + TYPE_HIGH] = number
    return 0


@kernel
def note_decimal(nodes: OutInts, at: i64, kind: i64, value: InBytes, start: i64, size: i64, powers: InInts) -> i64:
    """Take a decimal into its node: its digits before the point and behind it, and the double that is near it into the range."""
    scale: i64 = value[start + 1]
    left: i64 = scale
    digits: i64
    number: i64
    near: cython.double
    if kind == TYPE_DECIMAL16:
        digits = wide_digits(load64(value, start + 2), load64(value, start + 10), powers)
        near = cython.cast(cython.double, signed(load64(value, start + 10))) * 1.8446744073709552e19
        near += cython.cast(cython.double, load64(value, start + 2))
    else:
        number = load_signed(value, start + 2, size - 2)
        digits = digits_of((number if number >= 0 else -number) & M64, powers)
        near = cython.cast(cython.double, number)
    if digits - scale > nodes[at + DIGITS]:
        nodes[at + DIGITS] = digits - scale
    if scale > nodes[at + SCALE]:
        nodes[at + SCALE] = scale
    while left > 18:
        near = near / 1e18
        left -= 18
    near = near / cython.cast(cython.double, powers[left])
    return note_range(nodes, at, kind, ordered_bits(bits_of_double(near), 8))


@inlined
def quick_hash(value: InBytes, at: i64, length: i64, word: u64, kind: i64, whole: i64) -> u64:
    """A hash of a scalar whose first bytes are known; of long ones the first 48, the last eight and the length count."""
    first: u64 = 0x9E3779B97F4A7C15
    second: u64 = 0xE7037ED1A0B428DB
    about: u64 = (length << 5) | kind
    mixed: u64 = mix(word ^ first ^ about, first_bytes(value, at + 8, length - 8, whole) ^ second)
    k: i64 = 16
    if length > 16:
        while k + 8 < length and k < 48:
            mixed = mix(mixed ^ load64(value, at + k), second)
            k += 8
        mixed = mix(mixed ^ load64(value, at + length - 8), second)
    return mix(mixed, first)


@inlined
def note_sketch(sketches: OutBytes, node: i64, floor: i64, hashed: u64) -> i64:
    """Take a hash into a sketch: its first bits choose a register, which keeps the most zeros that followed them."""
    register: i64
    one: u64 = 1
    zeros: i64 = leading_zeros(((hashed << SKETCH_BITS) & M64) | (one << (SKETCH_BITS - 1))) + 1
    if zeros > floor:
        register = node * SKETCH + signed(hashed >> (64 - SKETCH_BITS))
        if sketches[register] < zeros:
            sketches[register] = zeros
    return 0


@kernel
def note_scalar(
    nodes: OutInts, node: i64, kind: i64, value: InBytes, at: i64, size: i64, whole: i64, sketches: OutBytes, powers: InInts
) -> i64:
    """Take a scalar, whose bytes are known to be there, into the ranges and the sketch of its node."""
    place: i64 = node * NODE
    number: i64
    length: i64
    word: u64
    if kind == TYPE_BOOLEAN:
        note_range(nodes, place, kind, 1 if value[at] >> 2 == 1 else 0)
        return note_sketch(sketches, node, nodes[place + FLOOR], quick_hash(value, at, 0, value[at], kind, whole))
    length = size - 1
    if kind == TYPE_BINARY or (kind == TYPE_STRING and value[at] & 3 == BASIC_PRIMITIVE):
        length = size - 5
    at += size - length
    word = first_bytes(value, at, length, whole)
    note_sketch(sketches, node, nodes[place + FLOOR], quick_hash(value, at, length, word, kind, whole))
    if kind == TYPE_STRING or kind == TYPE_BINARY or kind == TYPE_UUID:
        return note_range(nodes, place, kind, signed(reversed_bytes(word) ^ 0x8000000000000000))
    if kind >= TYPE_DECIMAL4 and kind <= TYPE_DECIMAL16:
        return note_decimal(nodes, place, kind, value, at - 1, size, powers)
    number = signed((word << (64 - 8 * length)) & M64) >> (64 - 8 * length)
    # What is not a number has no place in a range.
    if kind == TYPE_DOUBLE:
        return note_range(nodes, place, kind, ordered_bits(number, 8)) if number & LARGEST <= 0x7FF0000000000000 else 0
    if kind == TYPE_FLOAT:
        return note_range(nodes, place, kind, ordered_bits(number, 4)) if number & 0x7FFFFFFF <= 0x7F800000 else 0
    return note_range(nodes, place, kind, number)


@kernel
def note_example(examples: OutInts, progress: OutInts, node: i64, kind: i64, row: i64, at: i64, size: i64) -> i64:
    """Remember where the first value of a type was."""
    place: i64 = progress[AT_EXAMPLES]
    examples[place + EXAMPLE_NODE] = node
    examples[place + EXAMPLE_TYPE] = kind
    examples[place + EXAMPLE_ROW] = row
    examples[place + EXAMPLE_AT] = at
    examples[place + EXAMPLE_SIZE] = size
    progress[AT_EXAMPLES] = place + EXAMPLE_SLOTS
    return 0


@kernel
def profile_row(
    value: InBytes,
    start: i64,
    end: i64,
    whole: i64,
    names: InInts,
    names_at: i64,
    name_count: i64,
    row: i64,
    row_base: i64,
    most_children: i64,
    most_depth: i64,
    nodes: OutInts,
    nodes_size: i64,
    table: OutInts,
    slots: i64,
    sketches: OutBytes,
    log: OutInts,
    log_size: i64,
    examples: OutInts,
    examples_size: i64,
    kinds: InInts,
    powers: InInts,
    stack: OutInts,
    stack_size: i64,
    progress: OutInts,
    state: OutInts,
) -> i64:
    """Count one row, from where it was left; 0, minus a code, or what is too small."""
    mode: i64 = progress[AT_MODE]
    at: i64 = progress[AT_BYTE]
    limit: i64 = progress[AT_LIMIT]
    node: i64 = progress[AT_NODE]
    depth: i64 = progress[AT_DEPTH]
    budget: i64 = progress[AT_BUDGET]
    frame: i64
    size: i64
    kind: i64
    place: i64
    name: i64
    slot: i64
    guess: i64
    if mode == MODE_ROW:
        state[ROW_OFFSET] = 0
        if start >= end:
            return -BAD_VALUE_EMPTY
        size = value_size(value, start, end, stack, 0)
        if size < 0:
            return size
        if start + size != end:
            state[ROW_OFFSET] = size
            return -BAD_VALUE_LENGTH
        at = start
        limit = end
        node = 0
        depth = 0
        budget = MAX_EXPANSION * (end - start)
        mode = MODE_VALUE
    while True:
        if mode == MODE_VALUE:
            progress[AT_MODE] = MODE_VALUE
            progress[AT_BYTE] = at
            progress[AT_LIMIT] = limit
            progress[AT_NODE] = node
            progress[AT_DEPTH] = depth
            progress[AT_BUDGET] = budget
            state[ROW_OFFSET] = at - start
            if (depth + 2) * PROFILE_FRAME > stack_size:
                return NEED_STACK
            if progress[AT_EXAMPLES] + EXAMPLE_SLOTS > examples_size:
                return NEED_TAPE
            place = node * NODE
            kind = kinds[value[at]]
            frame = depth * PROFILE_FRAME
            if kind < TYPE_OBJECT:
                size = scalar_size(value, at, limit)
                if size < 0:
                    return size
                if kind != TYPE_NULL:
                    note_scalar(nodes, node, kind, value, at, size, whole, sketches, powers)
                nodes[place + BYTES] += size
            else:
                size = open_container(value, at, limit, stack, frame)
                if size < 0:
                    return size
                stack[frame + FRAME_NODE] = node
                stack[frame + FRAME_BEFORE] = place + FIRST_CHILD
                nodes[place + BYTES] += size + stack[frame + FRAME_TOTAL]
                if kind == TYPE_ARRAY:
                    if stack[frame + FRAME_COUNT] < nodes[place + SHORTEST]:
                        nodes[place + SHORTEST] = stack[frame + FRAME_COUNT]
                    if stack[frame + FRAME_COUNT] > nodes[place + LONGEST]:
                        nodes[place + LONGEST] = stack[frame + FRAME_COUNT]
                    nodes[place + ITEMS] += stack[frame + FRAME_COUNT]
                # What is below names that share a node is nobody's, and nobody asks for what is very deep.
                if nodes[place + NAME] != NAME_OTHERS and depth < most_depth:
                    depth += 1
            budget -= size
            if budget < 0:
                return -BAD_EXPANSION
            if nodes[place + TYPES + TYPE_SLOTS * kind] == 0:
                nodes[place + TYPES + TYPE_SLOTS * kind + TYPE_FIRST] = row_base + row
                if kind >= TYPE_OBJECT:
                    size += stack[frame + FRAME_TOTAL]
                note_example(examples, progress, node, kind, row, at, size)
            nodes[place + TYPES + TYPE_SLOTS * kind] += 1
            if nodes[place + LAST_ROW] != row_base + row:
                nodes[place + LAST_ROW] = row_base + row
                nodes[place + ROWS] += 1
            mode = MODE_NEXT
        while depth > 0:
            frame = (depth - 1) * PROFILE_FRAME
            if stack[frame + FRAME_NEXT] < stack[frame + FRAME_COUNT]:
                break
            depth -= 1
        if depth == 0:
            return 0
        progress[AT_MODE] = MODE_NEXT
        progress[AT_DEPTH] = depth
        progress[AT_BUDGET] = budget
        node = stack[frame + FRAME_NODE]
        place = node * NODE
        if progress[AT_NODES] + 2 > nodes_size // NODE or 2 * (progress[AT_NODES] + 2) > slots:
            return NEED_KEYS
        if stack[frame + FRAME_KIND] == BASIC_OBJECT:
            name = load_le(
                value,
                stack[frame + FRAME_IDS] + stack[frame + FRAME_NEXT] * stack[frame + FRAME_ID_WIDTH],
                stack[frame + FRAME_ID_WIDTH],
            )
            if name >= name_count:
                return -BAD_FIELD_ID
            name = names[names_at + name]
            guess = nodes[stack[frame + FRAME_BEFORE]]
            slot = 0
            if guess == 0 or nodes[guess * NODE + NAME] != name:
                slot = child_slot(nodes, table, slots, node, name)
                guess = table[slot]
            if guess != 0:
                nodes[stack[frame + FRAME_BEFORE]] = guess
                stack[frame + FRAME_BEFORE] = guess * NODE + NEXT_CHILD
                node = guess
            elif nodes[place + CHILDREN] >= most_children:
                if progress[AT_LOG] + 2 > log_size:
                    return NEED_TAPE
                log[progress[AT_LOG]] = node
                log[progress[AT_LOG] + 1] = name
                progress[AT_LOG] += 2
                if nodes[place + OTHERS_NODE] == 0:
                    nodes[place + OTHERS_NODE] = new_node(nodes, progress[AT_NODES], node, NAME_OTHERS)
                    progress[AT_NODES] += 1
                node = nodes[place + OTHERS_NODE]
            else:
                table[slot] = new_node(nodes, progress[AT_NODES], node, name)
                progress[AT_NODES] += 1
                nodes[place + CHILDREN] += 1
                node = table[slot]
        else:
            if nodes[place + ELEMENT_NODE] == 0:
                nodes[place + ELEMENT_NODE] = new_node(nodes, progress[AT_NODES], node, NAME_ELEMENT)
                progress[AT_NODES] += 1
            node = nodes[place + ELEMENT_NODE]
        at = child_at(value, stack, frame, stack[frame + FRAME_NEXT])
        if at < 0:
            return at
        limit = stack[frame + FRAME_VALUES] + stack[frame + FRAME_TOTAL]
        stack[frame + FRAME_NEXT] += 1
        mode = MODE_VALUE


def profile_rows(
    value: InBytesView,
    value_offsets: InIntsView,
    valid: InBytesView,
    found_starts: InIntsView,
    found_counts: InIntsView,
    found: InIntsView,
    first: i64,
    last: i64,
    row_base: i64,
    most_children: i64,
    most_depth: i64,
    nodes: OutIntsView,
    table: OutIntsView,
    sketches: OutBytesView,
    log: OutIntsView,
    examples: OutIntsView,
    kinds: InIntsView,
    powers: InIntsView,
    stack: OutIntsView,
    progress: OutIntsView,
    status: OutIntsView,
    state: OutIntsView,
) -> i64:
    """Count rows `first` to `last` where valid; the row reached, with AT_NEED if it wants room to go on there.

    Field id f of row k has the name found[found_starts[k] + f]. Row numbers count from row_base. A row that is no Variant ends
    it, with code | offset << 8 in its status; what was counted of it stays. Below `most_depth` nothing is counted. `kinds` has
    the type of a value by its first byte.
    """
    row: i64 = first
    code: i64
    whole: i64 = len(value)
    value_p: InBytes = in_bytes(value)
    value_offsets_p: InInts = in_ints(value_offsets)
    valid_p: InBytes = in_bytes(valid)
    found_starts_p: InInts = in_ints(found_starts)
    found_counts_p: InInts = in_ints(found_counts)
    found_p: InInts = in_ints(found)
    nodes_p: OutInts = out_ints(nodes)
    nodes_size: i64 = len(nodes)
    table_p: OutInts = out_ints(table)
    slots: i64 = len(table)
    sketches_p: OutBytes = out_bytes(sketches)
    log_p: OutInts = out_ints(log)
    log_size: i64 = len(log)
    examples_p: OutInts = out_ints(examples)
    examples_size: i64 = len(examples)
    kinds_p: InInts = in_ints(kinds)
    powers_p: InInts = in_ints(powers)
    stack_p: OutInts = out_ints(stack)
    stack_size: i64 = len(stack)
    progress_p: OutInts = out_ints(progress)
    status_p: OutInts = out_ints(status)
    state_p: OutInts = out_ints(state)
    with nogil:
        progress_p[AT_NEED] = NEED_NOTHING
        while row < last:
            if valid_p[row]:
                code = profile_row(
                    value_p,
                    value_offsets_p[row],
                    value_offsets_p[row + 1],
                    whole,
                    found_p,
                    found_starts_p[row],
                    found_counts_p[row],
                    row,
                    row_base,
                    most_children,
                    most_depth,
                    nodes_p,
                    nodes_size,
                    table_p,
                    slots,
                    sketches_p,
                    log_p,
                    log_size,
                    examples_p,
                    examples_size,
                    kinds_p,
                    powers_p,
                    stack_p,
                    stack_size,
                    progress_p,
                    state_p,
                )
                if code > 0:
                    progress_p[AT_NEED] = code
                    break
                progress_p[AT_MODE] = MODE_ROW
                if code < 0:
                    status_p[row] = -code | (state_p[ROW_OFFSET] << 8)
                    break
            row += 1
    return row


def insert_nodes(nodes: InIntsView, table: OutIntsView, count: i64) -> i64:
    """Enter all nodes that have a name into an empty table that has grown."""
    node: i64
    nodes_p: InInts = in_ints(nodes)
    table_p: OutInts = out_ints(table)
    slots: i64 = len(table)
    with nogil:
        for node in range(1, count):
            if nodes_p[node * NODE + NAME] > 0:
                table_p[child_slot(nodes_p, table_p, slots, nodes_p[node * NODE + PARENT], nodes_p[node * NODE + NAME])] = node
    return 0
