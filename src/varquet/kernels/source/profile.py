"""What is in a variant column, path by path: counts of types, ranges, sizes and sketches, all exact and added up over rows.

`_path_facts` has what is known of a path, `_path_tree` how paths are found; here rows are walked through. The kernel can stop anywhere
for want of room and go on from there: where it is within a row is kept in `progress`.
"""

from __future__ import annotations

from varquet.kernels.source._bytes import BASIC_OBJECT, MAX_EXPANSION, scalar_size
from varquet.kernels.source._codes import (
    BAD_EXPANSION,
    BAD_FIELD_ID,
    BAD_OFFSET,
    BAD_VALUE_EMPTY,
    BAD_VALUE_LENGTH,
    BAD_VALUE_TRUNCATED,
    NEED_NOTHING,
    NEED_STACK,
    NEED_TAPE,
    NEED_VALUE,
)
from varquet.kernels.source._path_facts import (
    BYTES,
    CLASS_DECIMAL,
    CLASS_INTEGER,
    CLASS_MASK,
    CLASS_TEXT,
    DEPTH,
    ELEMENT_NODE,
    FIRST_CHILD,
    FOLLOWER,
    HEADER_SIZE,
    HEADER_TYPE,
    NAME,
    NO_BYTES,
    NODE,
    PARENT,
    READ_AHEAD,
    SHAPE_ID_WIDTH,
    SHAPE_START,
    SHAPE_WIDTH,
    TYPE_ARRAY,
    TYPE_OBJECT,
    TYPE_SLOTS,
    TYPE_STRING,
    TYPES,
    WIDTH_MASK,
    note_decimal,
    note_integer,
    note_length,
    note_long,
    note_other,
    note_text,
    note_value,
)
from varquet.kernels.source._path_tree import (
    AT_BUDGET,
    AT_CHILD,
    AT_CONTAINER,
    AT_NEED,
    AT_WAITING,
    CHILD,
    CHILD_KEY,
    CHILD_NODE,
    NAME_ELEMENT,
    WAITING,
    WAITING_AT,
    WAITING_END,
    WAITING_NODE,
    child_key,
    child_slot,
    new_child,
    note_first,
)
from varquet.kernels.source.dialect import (
    InBytes,
    InBytesView,
    InInts,
    InIntsView,
    OutBytes,
    OutBytesView,
    OutInts,
    OutIntsView,
    i64,
    in_bytes,
    in_ints,
    inlined,
    kernel,
    load64,
    load_le,
    nogil,
    out_bytes,
    out_ints,
    signed,
)


@inlined
def stop(progress: OutInts, waiting: i64, container: i64, child: i64, budget: i64, need: i64, row: i64) -> i64:
    """Keep where the kernel is within a row and what it needs; the row."""
    progress[AT_WAITING] = waiting
    progress[AT_CONTAINER] = container
    progress[AT_CHILD] = child
    progress[AT_BUDGET] = budget
    progress[AT_NEED] = need
    return row


@inlined
def fail(status: OutInts, row: i64, offset: i64, code: i64) -> i64:
    """Say what is wrong with a row, and where in it; the row."""
    status[row] = code | (offset << 8)
    return row


@inlined
def wait(stack: OutInts, waiting: i64, at: i64, end: i64, node: i64) -> i64:
    """Put a container on top of the stack; where that ends now."""
    stack[waiting + WAITING_AT] = at
    stack[waiting + WAITING_END] = end
    stack[waiting + WAITING_NODE] = node
    return waiting + WAITING


@inlined
def leave(stack: OutInts, container: i64, waiting: i64) -> i64:
    """Take a container off the stack, and turn those that it holds, which are above it, so that the first is on top; its end then."""
    low: i64 = container
    high: i64 = waiting - WAITING
    k: i64
    number: i64
    while low < high:
        for k in range(WAITING):
            number = stack[low + k]
            stack[low + k] = stack[high + k]
            stack[high + k] = number
        low += WAITING
        high -= WAITING
    return waiting - WAITING


@kernel
def count_rows(
    value: InBytes,
    value_offsets: InInts,
    valid: InBytes,
    value_size: i64,
    found_starts: InInts,
    found_counts: InInts,
    found: InInts,
    row: i64,
    last: i64,
    row_base: i64,
    most_children: i64,
    most_depth: i64,
    nodes: OutInts,
    nodes_size: i64,
    sketches: OutBytes,
    table: OutInts,
    slots: i64,
    log: OutInts,
    log_size: i64,
    examples: OutInts,
    examples_size: i64,
    tables: InInts,
    stack: OutInts,
    stack_size: i64,
    progress: OutInts,
    status: OutInts,
) -> i64:
    """What profile_rows does.

    The containers of a row are counted in the order in which they are written, each before those that it holds. So no more of them
    wait than have an offset in one of the containers around the one that is being counted: no more than the row has bytes.
    """
    waiting: i64 = progress[AT_WAITING]
    container: i64 = progress[AT_CONTAINER]
    child: i64 = progress[AT_CHILD]
    budget: i64 = progress[AT_BUDGET]
    start: i64
    number: i64
    names: i64
    name_count: i64
    at: i64
    limit: i64
    parent: i64
    known: i64
    id_at: i64
    id_width: i64
    id_mask: i64
    offsets: i64
    offset_at: i64
    offset_end: i64
    width: i64
    mask: i64
    first: i64
    end: i64
    before: i64
    name: i64
    node: i64
    kind: i64
    size: i64
    progress[AT_NEED] = NEED_NOTHING
    progress[AT_WAITING] = 0
    while row < last:
        if valid[row] == 0:
            row += 1
            continue
        start = value_offsets[row]
        number = row_base + row
        names = found_starts[row]
        name_count = found_counts[row]
        if waiting == 0:
            limit = value_offsets[row + 1]
            if start >= limit:
                return fail(status, row, 0, BAD_VALUE_EMPTY)
            if limit + READ_AHEAD > value_size:
                return stop(progress, 0, 0, 0, 0, NEED_VALUE, row)
            if value[start] & 3 < BASIC_OBJECT:
                size = scalar_size(value, start, limit)
                if size < 0:
                    return fail(status, row, 0, -size)
                if start + size != limit:
                    return fail(status, row, size, BAD_VALUE_LENGTH)
            waiting = wait(stack, 0, start, limit, 0)
            container = 0
            child = -1
            budget = MAX_EXPANSION * (limit - start)
        while waiting > 0:
            at = stack[container + WAITING_AT]
            limit = stack[container + WAITING_END]
            parent = stack[container + WAITING_NODE]
            known = tables[value[at]]
            kind = known & HEADER_TYPE
            if kind >= TYPE_OBJECT:
                width = (known >> SHAPE_WIDTH) & WIDTH_MASK
                id_width = (known >> SHAPE_ID_WIDTH) & WIDTH_MASK
                mask = tables[NO_BYTES + width]
                id_mask = tables[NO_BYTES + id_width]
                id_at = at + (known >> SHAPE_START)
                size = value[at + 1] if id_at == at + 2 else load_le(value, at + 1, 4)
                offsets = id_at + size * id_width
                offset_end = offsets + size * width
                first = offset_end + width
                if first > limit:
                    return fail(status, row, at - start, BAD_VALUE_TRUNCATED)
                end = first + (signed(load64(value, offset_end)) & mask)
                if end > limit:
                    return fail(status, row, at - start, BAD_VALUE_TRUNCATED)
                if child < 0:
                    if parent == 0 and end != limit:
                        return fail(status, row, end - at, BAD_VALUE_LENGTH)
                    if nodes[parent + TYPES + TYPE_SLOTS * kind] == 0:
                        if note_first(nodes, examples, examples_size, progress, parent, kind, number, row, at, end - at):
                            return stop(progress, waiting, container, child, budget, NEED_TAPE, row)
                    note_value(nodes, parent, kind, number)
                    nodes[parent + BYTES] += end - at
                    if kind == TYPE_ARRAY:
                        note_length(nodes, parent, size)
                    # Each of its children takes as long as any other, however large it is.
                    budget -= first - at
                    if budget < 0:
                        return fail(status, row, at - start, BAD_EXPANSION)
                    child = 0
                limit = end
                id_at += child * id_width
                offset_at = offsets + child * width
                # Nobody asks for what is very deep.
                if nodes[parent + DEPTH] >= most_depth:
                    offset_at = offset_end
                if kind == TYPE_OBJECT:
                    # As if there were a node before the first child, which that follows.
                    node = parent + FIRST_CHILD - FOLLOWER
                else:
                    node = nodes[parent + ELEMENT_NODE]
                    if node == 0 and offset_at < offset_end:
                        node = new_child(
                            nodes,
                            nodes_size,
                            table,
                            slots,
                            parent,
                            NAME_ELEMENT,
                            most_children,
                            log,
                            log_size,
                            examples_size,
                            waiting,
                            stack_size,
                            progress,
                        )
                        if node < 0:
                            return stop(progress, waiting, container, child, budget, -node, row)
            else:
                # A row that is a scalar is like the only element of an array without a header.
                id_at = at
                id_width = 0
                id_mask = 0
                offsets = at
                offset_at = at
                offset_end = at + 1
                width = 1
                mask = 0
                first = at
                node = parent
            while offset_at < offset_end:
                if id_width != 0:
                    name = signed(load64(value, id_at)) & id_mask
                    if name >= name_count:
                        return fail(status, row, at - start, BAD_FIELD_ID)
                    name = found[names + name]
                    # The child that came here last is asked first, then the one behind it, because some rows leave one out.
                    before = node
                    node = nodes[node + FOLLOWER]
                    if nodes[node + NAME] != name:
                        node = nodes[node + FOLLOWER]
                        if nodes[node + NAME] != name:
                            node = table[child_slot(table, slots, child_key(parent, name)) + CHILD_NODE]
                            if node == 0:
                                node = new_child(
                                    nodes,
                                    nodes_size,
                                    table,
                                    slots,
                                    parent,
                                    name,
                                    most_children,
                                    log,
                                    log_size,
                                    examples_size,
                                    waiting,
                                    stack_size,
                                    progress,
                                )
                                if node < 0:
                                    return stop(progress, waiting, container, (offset_at - offsets) // width, budget, -node, row)
                            nodes[before + FOLLOWER] = node
                    id_at += id_width
                end = first + (signed(load64(value, offset_at)) & mask)
                if end >= limit:
                    return fail(status, row, at - start, BAD_OFFSET)
                at = end
                known = tables[value[at]]
                kind = known & HEADER_TYPE
                if kind >= TYPE_OBJECT:
                    if waiting + WAITING > stack_size:
                        return stop(progress, waiting, container, (offset_at - offsets) // width, budget, NEED_STACK, row)
                    waiting = wait(stack, waiting, at, limit, node)
                else:
                    size = known >> HEADER_SIZE
                    if size == 0:
                        # Only strings and binary with a length of their own pass here.
                        size = scalar_size(value, at, limit)
                        if size < 0:
                            return fail(status, row, at - start, -size)
                    elif at + size > limit:
                        return fail(status, row, at - start, BAD_VALUE_TRUNCATED)
                    if nodes[node + TYPES + TYPE_SLOTS * kind] == 0:
                        if note_first(nodes, examples, examples_size, progress, node, kind, number, row, at, size):
                            return stop(progress, waiting, container, (offset_at - offsets) // width, budget, NEED_TAPE, row)
                    note_value(nodes, node, kind, number)
                    if known & CLASS_MASK == CLASS_TEXT:
                        nodes[node + BYTES] += size
                        if known > CLASS_MASK + HEADER_TYPE:
                            note_text(nodes, sketches, node, TYPE_STRING, value, at + 1, size - 1, value[at], NO_BYTES + size - 1, tables)
                        else:
                            note_long(nodes, sketches, node, kind, value, at + 5, size - 5, tables)
                    elif known & CLASS_MASK == CLASS_INTEGER:
                        note_integer(nodes, sketches, node, kind, value, at + 1, size - 1)
                    elif known & CLASS_MASK == CLASS_DECIMAL:
                        note_decimal(nodes, sketches, node, kind, value, at + 1, tables)
                    else:
                        note_other(nodes, sketches, node, kind, value, at + 1, size - 1, tables)
                offset_at += width
            waiting = leave(stack, container, waiting)
            container = waiting - WAITING
            child = -1
        row += 1
    return row


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
    sketches: OutBytesView,
    table: OutIntsView,
    log: OutIntsView,
    examples: OutIntsView,
    tables: InIntsView,
    stack: OutIntsView,
    progress: OutIntsView,
    status: OutIntsView,
) -> i64:
    """Count rows `first` to `last` where valid; the row reached, with AT_NEED if it wants room to go on there.

    Field id f of row k has the name found[found_starts[k] + f]. Row numbers count from row_base. A row that is no Variant ends
    it, with code | offset << 8 in its status; what was counted of it stays. A row with less than READ_AHEAD bytes behind it is not
    begun, and needs a larger value. Below `most_depth` nothing is counted. `sketches` are
    the bytes of `nodes`.
    """
    row: i64 = first
    value_p: InBytes = in_bytes(value)
    value_size: i64 = len(value)
    value_offsets_p: InInts = in_ints(value_offsets)
    valid_p: InBytes = in_bytes(valid)
    found_starts_p: InInts = in_ints(found_starts)
    found_counts_p: InInts = in_ints(found_counts)
    found_p: InInts = in_ints(found)
    nodes_p: OutInts = out_ints(nodes)
    nodes_size: i64 = len(nodes)
    sketches_p: OutBytes = out_bytes(sketches)
    table_p: OutInts = out_ints(table)
    slots: i64 = len(table) // CHILD
    log_p: OutInts = out_ints(log)
    log_size: i64 = len(log)
    examples_p: OutInts = out_ints(examples)
    examples_size: i64 = len(examples)
    tables_p: InInts = in_ints(tables)
    stack_p: OutInts = out_ints(stack)
    stack_size: i64 = len(stack)
    progress_p: OutInts = out_ints(progress)
    status_p: OutInts = out_ints(status)
    with nogil:
        row = count_rows(
            value_p,
            value_offsets_p,
            valid_p,
            value_size,
            found_starts_p,
            found_counts_p,
            found_p,
            row,
            last,
            row_base,
            most_children,
            most_depth,
            nodes_p,
            nodes_size,
            sketches_p,
            table_p,
            slots,
            log_p,
            log_size,
            examples_p,
            examples_size,
            tables_p,
            stack_p,
            stack_size,
            progress_p,
            status_p,
        )
    return row


def insert_nodes(nodes: InIntsView, table: OutIntsView, end: i64) -> i64:
    """Enter all nodes up to this end that have a name into an empty table that has grown."""
    node: i64 = NODE
    key: i64
    slot: i64
    nodes_p: InInts = in_ints(nodes)
    table_p: OutInts = out_ints(table)
    slots: i64 = len(table) // CHILD
    with nogil:
        while node < end:
            if nodes_p[node + NAME] > 0:
                key = child_key(nodes_p[node + PARENT], nodes_p[node + NAME])
                slot = child_slot(table_p, slots, key)
                table_p[slot + CHILD_KEY] = key
                table_p[slot + CHILD_NODE] = node
            node += NODE
    return 0
