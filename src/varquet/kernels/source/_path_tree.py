"""The tree of the paths of a variant column: nodes with what is known of each path, found by their parent and name.

The elements of an array are one child, whatever their index. Once a node has as many named children as are let through, or is
closed, all other names are one child together, below which nothing is counted, and each of them is written to a log.
"""

from __future__ import annotations

from varquet.kernels.source._codes import NEED_KEYS, NEED_NOTHING, NEED_STACK, NEED_TAPE
from varquet.kernels.source._path_facts import (
    CHILDREN,
    DEPTH,
    ELEMENT_NODE,
    LARGEST,
    LAST_ROW,
    LONGEST,
    NAME,
    NODE,
    OTHERS_NODE,
    PARENT,
    SHORTEST,
    SLACK,
    SLACK_BELOW,
    TYPE_COUNT,
    TYPE_FIRST,
    TYPE_HIGH,
    TYPE_LOW,
    TYPE_SLOTS,
    TYPES,
)
from varquet.kernels.source.dialect import M64, InInts, OutInts, i64, inlined, kernel, signed, u64

# Names of children that have none.
NAME_ELEMENT = -1
NAME_OTHERS = -2

# A slot of the table of children: the parent and the name in one number, and the child; both are 0 in an empty one.
CHILD_KEY = 0
CHILD_NODE = 1
CHILD = 2

# Where the first value of a type at a node was found: the node, the type, the row, its first byte and its size.
EXAMPLE_NODE = 0
EXAMPLE_TYPE = 1
EXAMPLE_ROW = 2
EXAMPLE_AT = 3
EXAMPLE_SIZE = 4
EXAMPLE_SLOTS = 5

# Where the kernel is: how much of the nodes, the log and the examples is used; containers wait on a stack, up to AT_WAITING in
# this row, of which the one at AT_CONTAINER is being counted; AT_CHILD is the next of its children, or -1 as long as it has not been
# counted itself.
AT_NODES = 0
AT_LOG = 1
AT_EXAMPLES = 2
AT_WAITING = 3
AT_CONTAINER = 4
AT_CHILD = 5
AT_BUDGET = 6
AT_NEED = 7
AT_SLOTS = 8

# A container on the stack: its first byte, the end of what holds it, and its node.
WAITING_AT = 0
WAITING_END = 1
WAITING_NODE = 2
WAITING = 3


@kernel
def new_node(nodes: OutInts, node: i64, parent: i64, name: i64) -> i64:
    k: i64
    for k in range(NODE):
        nodes[node + k] = 0
    nodes[node + PARENT] = parent
    nodes[node + NAME] = name
    # What is below names that share a node is nobody's: it is as if it were too deep.
    nodes[node + DEPTH] = LARGEST if name == NAME_OTHERS else nodes[parent + DEPTH] + 1
    nodes[node + SLACK] = nodes[parent + (SLACK if name == NAME_ELEMENT else SLACK_BELOW)]
    nodes[node + SLACK_BELOW] = nodes[node + SLACK]
    # As if it had so many fields already.
    nodes[node + CHILDREN] = nodes[node + SLACK]
    nodes[node + LAST_ROW] = -1
    nodes[node + SHORTEST] = LARGEST
    nodes[node + LONGEST] = -1
    for k in range(TYPE_COUNT):
        nodes[node + TYPES + TYPE_SLOTS * k + TYPE_LOW] = LARGEST
        nodes[node + TYPES + TYPE_SLOTS * k + TYPE_HIGH] = -LARGEST - 1
        nodes[node + TYPES + TYPE_SLOTS * k + TYPE_FIRST] = LARGEST
    return node


@inlined
def child_slot(table: InInts, slots: i64, key: u64) -> i64:
    """The slot of a child, or the empty one in which it would be."""
    prime: u64 = 0x9E3779B97F4A7C15
    # Only from bit 35 on the product depends on the parent, which is a multiple of eight above bit 32.
    slot: i64 = signed(((key * prime) & M64) >> 35) & (slots - 1)
    number: i64 = signed(key)
    while table[slot * CHILD + CHILD_KEY] != number and table[slot * CHILD + CHILD_KEY] != 0:
        slot = (slot + 1) & (slots - 1)
    return slot * CHILD


@inlined
def child_key(parent: i64, name: i64) -> i64:
    return (parent << 32) | name


@kernel
def new_child(
    nodes: OutInts,
    nodes_size: i64,
    table: OutInts,
    slots: i64,
    parent: i64,
    name: i64,
    most_children: i64,
    log: OutInts,
    log_size: i64,
    examples_size: i64,
    waiting: i64,
    stack_size: i64,
    progress: OutInts,
) -> i64:
    """Make a node for a child that has none, or note it in the log and take that of the others; minus what is too small."""
    node: i64 = progress[AT_NODES]
    slot: i64
    # If the kernel stopped for want of these a little later, the child would come here twice, and twice into the log.
    if progress[AT_EXAMPLES] + EXAMPLE_SLOTS > examples_size:
        return -NEED_TAPE
    if waiting + WAITING > stack_size:
        return -NEED_STACK
    if node + 2 * NODE > nodes_size or 2 * (node // NODE + 2) > slots:
        return -NEED_KEYS
    if name == NAME_ELEMENT:
        nodes[parent + ELEMENT_NODE] = node
    elif nodes[parent + CHILDREN] < most_children:
        nodes[parent + CHILDREN] += 1
        slot = child_slot(table, slots, child_key(parent, name))
        table[slot + CHILD_KEY] = child_key(parent, name)
        table[slot + CHILD_NODE] = node
    else:
        if progress[AT_LOG] + 2 > log_size:
            return -NEED_TAPE
        log[progress[AT_LOG]] = parent
        log[progress[AT_LOG] + 1] = name
        progress[AT_LOG] += 2
        if nodes[parent + OTHERS_NODE] != 0:
            return nodes[parent + OTHERS_NODE]
        nodes[parent + OTHERS_NODE] = node
        name = NAME_OTHERS
    progress[AT_NODES] = node + NODE
    return new_node(nodes, node, parent, name)


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
    nodes[node + TYPES + TYPE_SLOTS * kind + TYPE_FIRST] = number
    return NEED_NOTHING
