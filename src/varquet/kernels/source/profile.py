"""What is in a variant column, path by path: counts of types, ranges, sizes and sketches, all exact and added up over rows.

Paths are nodes of a tree, NODE numbers each. A node's children are found by (parent, name) in a table; the elements of an array
are one child, whatever their index. Once a node has as many named children as are let through, or is closed, all other names
are one child together, below which nothing is counted, and each of them is written to a log. The kernel can stop anywhere for
want of room and go on from there: where it is within a row is kept in `progress`.
"""

from __future__ import annotations

from varquet.kernels.source._bytes import (
    BASIC_OBJECT,
    FRAME_COUNT,
    FRAME_ID_WIDTH,
    FRAME_IDS,
    FRAME_OFFSETS,
    FRAME_TOTAL,
    FRAME_VALUES,
    FRAME_WIDTH,
    MAX_EXPANSION,
    ROW_OFFSET,
    load_signed,
    open_container,
    scalar_size,
    value_size,
)
from varquet.kernels.source._codes import (
    BAD_EXPANSION,
    BAD_FIELD_ID,
    BAD_OFFSET,
    BAD_VALUE_EMPTY,
    BAD_VALUE_LENGTH,
    BAD_VALUE_TRUNCATED,
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
NAME = 0
BYTES = 1
LAST_ROW = 2
ROWS = 3
DIGITS = 4
SCALE = 5
ELEMENT_NODE = 6
PARENT = 7
CHILDREN = 8
OTHERS_NODE = 9
SHORTEST = 10
LONGEST = 11
ITEMS = 12
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

# Where the kernel is: containers wait in a queue, AT_WAITING of them so far in this row, of which AT_CONTAINER is being counted;
# AT_CHILD is the next of its children, or -1 as long as it has not been counted itself.
AT_NODES = 0
AT_LOG = 1
AT_EXAMPLES = 2
AT_WAITING = 3
AT_CONTAINER = 4
AT_CHILD = 5
AT_BUDGET = 6
AT_NEED = 7
AT_SLOTS = 8

# A container in the queue: its first byte, the end of what holds it, its node, and how many containers are around it. The first in
# the queue is the row itself, even if it is a scalar.
WAITING_AT = 0
WAITING_END = 1
WAITING_NODE = 2
WAITING_DEPTH = 3
WAITING = 4

# So much of a row's budget is spent on each container in the queue, which is the memory that it takes there: bytes that are in many
# containers cannot make the queue larger than the budget. A container has three bytes at least, so that the budget of a row in which
# every byte is in one place is never spent.
COST_OF_WAITING = 32

# A slot of the table of children: the node of the parent and the name in one number, and the child; both are 0 in an empty one.
CHILD_KEY = 0
CHILD_NODE = 1
CHILD = 2

# What is known of a value by its first byte is one number: its type in the last bits, and its size, or 0 where that is not known.
HEADER_BITS = 5
HEADER_TYPE = 31

# Where the mask is that leaves no byte of a word; the one that leaves k of them is k places behind it. On either side are eight more.
NO_BYTES = 8


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
def child_slot(table: InInts, slots: i64, key: u64) -> i64:
    """The slot of a child, or the empty one in which it would be."""
    prime: u64 = 0x9E3779B97F4A7C15
    # Only from bit 32 on the product depends on the parent.
    slot: i64 = signed(((key * prime) & M64) >> 32) & (slots - 1)
    number: i64 = signed(key)
    while table[slot * CHILD + CHILD_KEY] != number and table[slot * CHILD + CHILD_KEY] != 0:
        slot = (slot + 1) & (slots - 1)
    return slot * CHILD


@inlined
def child_key(parent: i64, name: i64) -> i64:
    return (parent << 32) | name


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
def first_bytes(value: InBytes, at: i64, length: i64) -> u64:
    """The first eight bytes of so many, or as many as there are, little-endian, one by one."""
    byte: u64
    word: u64 = 0
    k: i64
    for k in range(8 if length > 8 else length):
        byte = value[at + k]
        word |= byte << (8 * k)
    return word


@inlined
def load_masked(value: InBytes, at: i64, mask: i64, last_pair: i64) -> i64:
    """The number that a mask of at most four bytes leaves of a word; two words can be read up to `last_pair`."""
    number: i64 = 0
    shift: i64 = 0
    byte: i64
    if at <= last_pair:
        return signed(load64(value, at)) & mask
    while mask >> shift:
        byte = value[at]
        number |= byte << shift
        at += 1
        shift += 8
    return number


@inlined
def note_range(nodes: OutInts, at: i64, kind: i64, number: i64) -> i64:
    at += TYPES + TYPE_SLOTS * kind
    if number < nodes[at + TYPE_LOW]:
        nodes[at + TYPE_LOW] = number
    if number > nodes[at + TYPE_HIGH]:
        nodes[at + TYPE_HIGH] = number
    return 0


@inlined
def note_decimal(nodes: OutInts, at: i64, kind: i64, value: InBytes, start: i64, size: i64, powers: InInts) -> i64:
    """Take a decimal into its node: its digits before the point and behind it, and the double that is near it into the range."""
    scale: i64 = value[start + 1]
    left: i64 = scale
    most: i64 = nodes[at + DIGITS] + scale
    number: i64
    near: cython.double
    if kind == TYPE_DECIMAL16:
        number = wide_digits(load64(value, start + 2), load64(value, start + 10), powers)
        if number > most:
            nodes[at + DIGITS] = number - scale
        near = cython.cast(cython.double, signed(load64(value, start + 10))) * 1.8446744073709552e19
        near += cython.cast(cython.double, load64(value, start + 2))
    else:
        number = load_signed(value, start + 2, size - 2)
        near = cython.cast(cython.double, number)
        # No number here has more than 19 digits.
        if most < 19 and (number >= powers[most] or number <= -powers[most]):
            nodes[at + DIGITS] = digits_of((number if number >= 0 else -number) & M64, powers) - scale
    if scale > nodes[at + SCALE]:
        nodes[at + SCALE] = scale
    while left > 18:
        near = near / 1e18
        left -= 18
    near = near / cython.cast(cython.double, powers[left])
    return note_range(nodes, at, kind, ordered_bits(bits_of_double(near), 8))


@inlined
def quick_hash(value: InBytes, at: i64, length: i64, word: u64, second_word: u64, kind: i64) -> u64:
    """A hash of a scalar whose first two words are known; of long ones the first 48 bytes, the last eight and the length count."""
    first: u64 = 0x9E3779B97F4A7C15
    second: u64 = 0xE7037ED1A0B428DB
    about: u64 = (length << 5) | kind
    mixed: u64 = mix(word ^ first ^ about, second_word ^ second)
    k: i64 = 16
    if length > 16:
        while k + 8 < length and k < 48:
            mixed = mix(mixed ^ load64(value, at + k), second)
            k += 8
        mixed = mix(mixed ^ load64(value, at + length - 8), second)
    return mix(mixed, first)


@inlined
def note_sketch(sketches: OutBytes, node: i64, hashed: u64) -> i64:
    """Take a hash into a sketch: its first bits choose a register, which keeps the most zeros that followed them."""
    one: u64 = 1
    zeros: i64 = leading_zeros(((hashed << SKETCH_BITS) & M64) | (one << (SKETCH_BITS - 1))) + 1
    register: i64 = node * SKETCH + signed(hashed >> (64 - SKETCH_BITS))
    if sketches[register] < zeros:
        sketches[register] = zeros
    return 0


@inlined
def note_scalar(
    nodes: OutInts,
    node: i64,
    kind: i64,
    value: InBytes,
    at: i64,
    length: i64,
    last_pair: i64,
    sketches: OutBytes,
    powers: InInts,
    masks: InInts,
) -> i64:
    """Take a scalar, whose bytes behind its header are known to be there, into the ranges and the sketch of its node."""
    place: i64 = node * NODE
    number: i64
    word: u64
    second_word: u64
    if kind == TYPE_BOOLEAN:
        note_range(nodes, place, kind, 1 if value[at - 1] >> 2 == 1 else 0)
        return note_sketch(sketches, node, quick_hash(value, at, 0, value[at - 1], 0, kind))
    if at <= last_pair:
        number = NO_BYTES + (length if length < 16 else 16)
        word = load64(value, at) & masks[number]
        second_word = load64(value, at + 8) & masks[number - 8]
    else:
        word = first_bytes(value, at, length)
        second_word = first_bytes(value, at + 8, length - 8)
    note_sketch(sketches, node, quick_hash(value, at, length, word, second_word, kind))
    if kind == TYPE_STRING or kind == TYPE_BINARY or kind == TYPE_UUID:
        return note_range(nodes, place, kind, signed(reversed_bytes(word) ^ 0x8000000000000000))
    if kind >= TYPE_DECIMAL4 and kind <= TYPE_DECIMAL16:
        return note_decimal(nodes, place, kind, value, at - 1, length + 1, powers)
    number = signed((word << (64 - 8 * length)) & M64) >> (64 - 8 * length)
    # What is not a number has no place in a range.
    if kind == TYPE_DOUBLE:
        return note_range(nodes, place, kind, ordered_bits(number, 8)) if number & LARGEST <= 0x7FF0000000000000 else 0
    if kind == TYPE_FLOAT:
        return note_range(nodes, place, kind, ordered_bits(number, 4)) if number & 0x7FFFFFFF <= 0x7F800000 else 0
    return note_range(nodes, place, kind, number)


@kernel
def note_first(
    nodes: OutInts,
    examples: OutInts,
    examples_size: i64,
    progress: OutInts,
    node: i64,
    kind: i64,
    number: i64,
    row: i64,
    at: i64,
    size: i64,
) -> i64:
    """Remember where the first value of a type was; NEED_TAPE if there is no room for it."""
    place: i64 = progress[AT_EXAMPLES]
    if place + EXAMPLE_SLOTS > examples_size:
        return NEED_TAPE
    examples[place + EXAMPLE_NODE] = node
    examples[place + EXAMPLE_TYPE] = kind
    examples[place + EXAMPLE_ROW] = row
    examples[place + EXAMPLE_AT] = at
    examples[place + EXAMPLE_SIZE] = size
    progress[AT_EXAMPLES] = place + EXAMPLE_SLOTS
    nodes[node * NODE + TYPES + TYPE_SLOTS * kind + TYPE_FIRST] = number
    return NEED_NOTHING


@inlined
def note_value(nodes: OutInts, place: i64, kind: i64, size: i64, number: i64) -> i64:
    """Count a value of this type and size in the row of this number."""
    nodes[place + TYPES + TYPE_SLOTS * kind] += 1
    nodes[place + BYTES] += size
    if nodes[place + LAST_ROW] != number:
        nodes[place + LAST_ROW] = number
        nodes[place + ROWS] += 1
    return 0


@inlined
def note_length(nodes: OutInts, place: i64, length: i64) -> i64:
    """Take the number of elements of an array into its node."""
    if length < nodes[place + SHORTEST]:
        nodes[place + SHORTEST] = length
    if length > nodes[place + LONGEST]:
        nodes[place + LONGEST] = length
    nodes[place + ITEMS] += length
    return 0


@kernel
def new_child(
    nodes: OutInts,
    nodes_size: i64,
    table: OutInts,
    slots: i64,
    slot: i64,
    parent: i64,
    name: i64,
    most_children: i64,
    log: OutInts,
    log_size: i64,
    progress: OutInts,
) -> i64:
    """Make a node for a child that has none, or note it in the log and take that of the others; minus what is too small."""
    node: i64 = progress[AT_NODES]
    place: i64 = parent * NODE
    if node + 2 > nodes_size // NODE or 2 * (node + 2) > slots:
        return -NEED_KEYS
    if name == NAME_ELEMENT:
        nodes[place + ELEMENT_NODE] = node
    elif nodes[place + CHILDREN] < most_children:
        nodes[place + CHILDREN] += 1
        table[slot + CHILD_KEY] = child_key(parent, name)
        table[slot + CHILD_NODE] = node
    else:
        if progress[AT_LOG] + 2 > log_size:
            return -NEED_TAPE
        log[progress[AT_LOG]] = parent
        log[progress[AT_LOG] + 1] = name
        progress[AT_LOG] += 2
        if nodes[place + OTHERS_NODE] != 0:
            return nodes[place + OTHERS_NODE]
        nodes[place + OTHERS_NODE] = node
        name = NAME_OTHERS
    progress[AT_NODES] += 1
    return new_node(nodes, node, parent, name)


@inlined
def stop(progress: OutInts, waiting: i64, container: i64, child: i64, budget: i64, need: i64) -> i64:
    """Keep where the kernel is within a row; what it needs."""
    progress[AT_WAITING] = waiting
    progress[AT_CONTAINER] = container
    progress[AT_CHILD] = child
    progress[AT_BUDGET] = budget
    return need


@inlined
def fail(state: OutInts, offset: i64, code: i64) -> i64:
    state[ROW_OFFSET] = offset
    return code


@inlined
def wait(queue: OutInts, waiting: i64, at: i64, end: i64, node: i64, depth: i64) -> i64:
    """Put a container, or a row, at the end of the queue; how many there are now."""
    queue[waiting * WAITING + WAITING_AT] = at
    queue[waiting * WAITING + WAITING_END] = end
    queue[waiting * WAITING + WAITING_NODE] = node
    queue[waiting * WAITING + WAITING_DEPTH] = depth
    return waiting + 1


@kernel
def profile_row(
    value: InBytes,
    start: i64,
    end: i64,
    last_pair: i64,
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
    headers: InInts,
    powers: InInts,
    masks: InInts,
    frame: OutInts,
    queue: OutInts,
    queue_size: i64,
    progress: OutInts,
    state: OutInts,
) -> i64:
    """Count one row, from where it was left; 0, minus a code, or what is too small.

    Containers are counted in the order of their depth, and those of one depth in the order in which they come: values of one
    path come in the order in which they are written.
    """
    waiting: i64 = progress[AT_WAITING]
    container: i64 = progress[AT_CONTAINER]
    child: i64 = progress[AT_CHILD]
    budget: i64 = progress[AT_BUDGET]
    number: i64 = row_base + row
    at: i64
    limit: i64
    parent: i64
    depth: i64
    basic: i64
    count: i64
    ids: i64
    id_width: i64
    id_mask: i64
    offsets: i64
    width: i64
    mask: i64
    first: i64
    name: i64
    node: i64
    place: i64
    slot: i64
    kind: i64
    size: i64
    head: i64
    if waiting == 0:
        if start >= end:
            return fail(state, 0, -BAD_VALUE_EMPTY)
        size = value_size(value, start, end, frame, 0)
        if size < 0:
            return fail(state, 0, size)
        if start + size != end:
            return fail(state, size, -BAD_VALUE_LENGTH)
        waiting = wait(queue, 0, start, end, 0, 0)
        container = 0
        child = -1
        budget = MAX_EXPANSION * size
    while container < waiting:
        at = queue[container * WAITING + WAITING_AT]
        limit = queue[container * WAITING + WAITING_END]
        parent = queue[container * WAITING + WAITING_NODE]
        depth = queue[container * WAITING + WAITING_DEPTH]
        basic = value[at] & 3
        count = 1
        ids = at
        id_width = 0
        offsets = at
        width = 0
        first = at
        if basic >= BASIC_OBJECT:
            size = open_container(value, at, limit, frame, 0)
            if size < 0:
                return fail(state, at - start, size)
            count = frame[FRAME_COUNT]
            ids = frame[FRAME_IDS]
            id_width = frame[FRAME_ID_WIDTH]
            offsets = frame[FRAME_OFFSETS]
            width = frame[FRAME_WIDTH]
            first = frame[FRAME_VALUES]
            limit = first + frame[FRAME_TOTAL]
            if child < 0:
                place = parent * NODE
                kind = TYPE_OBJECT + basic - BASIC_OBJECT
                if nodes[place + TYPES + TYPE_SLOTS * kind] == 0:
                    if note_first(nodes, examples, examples_size, progress, parent, kind, number, row, at, limit - at) != NEED_NOTHING:
                        return stop(progress, waiting, container, child, budget, NEED_TAPE)
                note_value(nodes, place, kind, limit - at, number)
                if kind == TYPE_ARRAY:
                    note_length(nodes, place, count)
                budget -= size
                if budget < 0:
                    return fail(state, at - start, -BAD_EXPANSION)
                # What is below names that share a node is nobody's, and nobody asks for what is very deep.
                if nodes[place + NAME] == NAME_OTHERS or depth >= most_depth:
                    count = 0
        child = 0 if child < 0 else child
        id_mask = masks[NO_BYTES + id_width]
        mask = masks[NO_BYTES + width]
        while child < count:
            name = NAME_ELEMENT
            slot = 0
            if basic == BASIC_OBJECT:
                name = load_masked(value, ids + child * id_width, id_mask, last_pair)
                if name >= name_count:
                    return fail(state, at - start, -BAD_FIELD_ID)
                name = names[names_at + name]
                slot = child_slot(table, slots, child_key(parent, name))
                node = table[slot + CHILD_NODE]
            else:
                node = nodes[parent * NODE + ELEMENT_NODE]
            if basic < BASIC_OBJECT:
                node = parent
            elif node == 0:
                # If it stopped for want of these a little later, the child would come here twice, and twice into the log.
                if progress[AT_EXAMPLES] + EXAMPLE_SLOTS > examples_size:
                    return stop(progress, waiting, container, child, budget, NEED_TAPE)
                if (waiting + 1) * WAITING > queue_size:
                    return stop(progress, waiting, container, child, budget, NEED_STACK)
                node = new_child(nodes, nodes_size, table, slots, slot, parent, name, most_children, log, log_size, progress)
                if node < 0:
                    return stop(progress, waiting, container, child, budget, -node)
            size = load_masked(value, offsets + child * width, mask, last_pair)
            if size >= limit - first:
                return fail(state, at - start, -BAD_OFFSET)
            at = first + size
            kind = headers[value[at]]
            size = kind >> HEADER_BITS
            kind = kind & HEADER_TYPE
            if kind >= TYPE_OBJECT:
                if (waiting + 1) * WAITING > queue_size:
                    return stop(progress, waiting, container, child, budget, NEED_STACK)
                waiting = wait(queue, waiting, at, limit, node, depth + 1)
                size = COST_OF_WAITING
            else:
                head = 1
                if size == 0:
                    # Only strings and binary with a length of their own pass here.
                    head = 5
                    size = scalar_size(value, at, limit)
                    if size < 0:
                        return fail(state, at - start, size)
                elif at + size > limit:
                    return fail(state, at - start, -BAD_VALUE_TRUNCATED)
                place = node * NODE
                if nodes[place + TYPES + TYPE_SLOTS * kind] == 0:
                    if note_first(nodes, examples, examples_size, progress, node, kind, number, row, at, size) != NEED_NOTHING:
                        return stop(progress, waiting, container, child, budget, NEED_TAPE)
                note_value(nodes, place, kind, size, number)
                if kind != TYPE_NULL:
                    note_scalar(nodes, node, kind, value, at + head, size - head, last_pair, sketches, powers, masks)
            budget -= size
            if budget < 0:
                return fail(state, at - start, -BAD_EXPANSION)
            child += 1
        container += 1
        child = -1
    return 0


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
    headers: InIntsView,
    powers: InIntsView,
    masks: InIntsView,
    frame: OutIntsView,
    queue: OutIntsView,
    progress: OutIntsView,
    status: OutIntsView,
    state: OutIntsView,
) -> i64:
    """Count rows `first` to `last` where valid; the row reached, with AT_NEED if it wants room to go on there.

    Field id f of row k has the name found[found_starts[k] + f]. Row numbers count from row_base. A row that is no Variant ends
    it, with code | offset << 8 in its status; what was counted of it stays. Below `most_depth` nothing is counted.
    """
    row: i64 = first
    code: i64
    # Where the last two whole words begin.
    last_pair: i64 = len(value) - 16
    value_p: InBytes = in_bytes(value)
    value_offsets_p: InInts = in_ints(value_offsets)
    valid_p: InBytes = in_bytes(valid)
    found_starts_p: InInts = in_ints(found_starts)
    found_counts_p: InInts = in_ints(found_counts)
    found_p: InInts = in_ints(found)
    nodes_p: OutInts = out_ints(nodes)
    nodes_size: i64 = len(nodes)
    table_p: OutInts = out_ints(table)
    slots: i64 = len(table) // CHILD
    sketches_p: OutBytes = out_bytes(sketches)
    log_p: OutInts = out_ints(log)
    log_size: i64 = len(log)
    examples_p: OutInts = out_ints(examples)
    examples_size: i64 = len(examples)
    headers_p: InInts = in_ints(headers)
    powers_p: InInts = in_ints(powers)
    masks_p: InInts = in_ints(masks)
    frame_p: OutInts = out_ints(frame)
    queue_p: OutInts = out_ints(queue)
    queue_size: i64 = len(queue)
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
                    last_pair,
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
                    headers_p,
                    powers_p,
                    masks_p,
                    frame_p,
                    queue_p,
                    queue_size,
                    progress_p,
                    state_p,
                )
                if code > 0:
                    progress_p[AT_NEED] = code
                    break
                progress_p[AT_WAITING] = 0
                if code < 0:
                    status_p[row] = -code | (state_p[ROW_OFFSET] << 8)
                    break
            row += 1
    return row


def insert_nodes(nodes: InIntsView, table: OutIntsView, count: i64) -> i64:
    """Enter all nodes that have a name into an empty table that has grown."""
    node: i64
    key: i64
    slot: i64
    nodes_p: InInts = in_ints(nodes)
    table_p: OutInts = out_ints(table)
    slots: i64 = len(table) // CHILD
    with nogil:
        for node in range(1, count):
            if nodes_p[node * NODE + NAME] > 0:
                key = child_key(nodes_p[node * NODE + PARENT], nodes_p[node * NODE + NAME])
                slot = child_slot(table_p, slots, key)
                table_p[slot + CHILD_KEY] = key
                table_p[slot + CHILD_NODE] = node
    return 0
