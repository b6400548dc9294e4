"""The nodes of one value on a tape, and their Variant bytes.

The tape holds the nodes of a row in the order of the text, NODE numbers each, and perhaps several rows one behind the other:

    slot 0   kind (bits 0-6), whether it is dropped (7), widths of a container (8-15), number of the field name (16 up), for which
             `ranks` has the field id
    slot 1   of a container: number of children
    slot 2   index behind the node and all that is in it
    slot 3   size in bytes once written

An open container's slot 2 holds its parent, so the tape is also the stack and depth has no limit of its own.

The bytes of scalars stand one behind the other elsewhere, in the same order. `containers` has, CONTAINER numbers each, the nodes of
containers and how many bytes of scalars come before: a value is the head of each container and the scalars from there to the next.

Node sizes are known when a container closes, except that field ids need more than one byte where a row has over 256 names;
such rows are sized again. Values are laid out in the order of the text; ids and offsets in the order of the names.
"""

from __future__ import annotations

from varquet.kernels.source._bytes import width_of
from varquet.kernels.source._interning import STATE_CONTAINERS, STATE_SCALARS
from varquet.kernels.source._sorting import sort_ints
from varquet.kernels.source.dialect import (
    InBytes,
    InInts,
    OutBytes,
    OutInts,
    copy_wide,
    copy_within,
    i64,
    inlined,
    kernel,
    store_le,
    trailing_zeros,
    u64,
)

NODE = 4
KIND_SCALAR = 0
KIND_OBJECT = 1
KIND_ARRAY = 2
KIND_MASK = 127
DROPPED = 128

CONTAINER_NODE = 0
CONTAINER_SCALARS = 1
CONTAINER = 2


@inlined
def close_container(tape: OutInts, node: i64, behind: i64) -> i64:
    """Finish an open container on the tape; its parent, or -1. Slot 0 gets the offset width, slot 3 the whole size."""
    parent: i64 = tape[node + 2]
    count: i64 = tape[node + 1]
    total: i64 = tape[node + 3]
    width: i64 = width_of(total)
    is_object: i64 = 1 if tape[node] & KIND_MASK == KIND_OBJECT else 0
    tape[node] |= (width << 8) | (1 << 12)
    tape[node + 2] = behind
    tape[node + 3] = total + 1 + (1 if count < 256 else 4) + (count + 1) * width + is_object * count
    return parent


@kernel
def size_again(tape: OutInts, root: i64, ranks: InInts) -> i64:
    """Compute the sizes of a row's containers anew, with as many children as there are and field ids as wide as they need to be."""
    node: i64 = tape[root + 2] - NODE
    child: i64
    count: i64
    total: i64
    widest: i64
    kind: i64
    width: i64
    while node >= root:
        kind = tape[node] & KIND_MASK
        if kind >= KIND_OBJECT:
            count = 0
            total = 0
            widest = 0
            child = node + NODE
            while child < tape[node + 2]:
                count += 1
                total += tape[child + 3]
                if kind == KIND_OBJECT and ranks[tape[child] >> 16] > widest:
                    widest = ranks[tape[child] >> 16]
                child = tape[child + 2]
            width = width_of(total)
            widest = width_of(widest)
            tape[node] = (tape[node] >> 16 << 16) | kind | (width << 8) | (widest << 12)
            tape[node + 1] = count
            tape[node + 3] = total + 1 + (1 if count < 256 else 4) + (count + 1) * width
            if kind == KIND_OBJECT:
                tape[node + 3] += count * widest
        node -= NODE
    return 0


@kernel
def close_gaps(tape: OutInts, root: i64, containers: OutInts, container: i64, scalars: OutBytes, scalar: i64, state: OutInts) -> i64:
    """Move what is left of a row together, over what was dropped of it; STATE_CONTAINERS and STATE_SCALARS are then behind the row."""
    node: i64 = root
    to: i64 = root
    stop: i64 = tape[root + 2]
    open_node: i64 = -1
    at: i64 = scalar
    size: i64
    behind: i64
    while node < stop or open_node >= 0:
        if open_node >= 0 and node >= tape[open_node + 2]:
            # As long as a container is open, its slot 1 holds the one around it.
            tape[open_node + 2] = to
            open_node = tape[open_node + 1]
        elif tape[node] & DROPPED:
            behind = tape[node + 2]
            while node < behind:
                if tape[node] & KIND_MASK == KIND_SCALAR:
                    at += tape[node + 3]
                node += NODE
        else:
            size = tape[node + 3]
            tape[to] = tape[node]
            tape[to + 2] = tape[node + 2]
            tape[to + 3] = size
            if tape[to] & KIND_MASK == KIND_SCALAR:
                copy_within(scalars, scalar, at, size)
                tape[to + 2] = to + NODE
                scalar += size
                at += size
            else:
                tape[to + 1] = open_node
                open_node = to
                containers[container + CONTAINER_NODE] = to
                containers[container + CONTAINER_SCALARS] = scalar
                container += CONTAINER
            to += NODE
            node += NODE
    state[STATE_CONTAINERS] = container
    state[STATE_SCALARS] = scalar
    return to


@kernel
def drop_duplicates(
    tape: OutInts,
    root: i64,
    containers: OutInts,
    container: i64,
    scalars: OutBytes,
    scalar: i64,
    ranks: InInts,
    sorting: OutInts,
    state: OutInts,
) -> i64:
    """Keep only the last of the fields that have one name, in every object of the row, and size the row again.

    The row has its first container and scalar here, and its last before STATE_CONTAINERS and STATE_SCALARS afterwards.
    """
    node: i64 = root
    stop: i64 = tape[root + 2]
    child: i64
    count: i64
    k: i64
    while node < stop:
        if tape[node] & (KIND_MASK | DROPPED) == KIND_OBJECT:
            count = tape[node + 1]
            child = node + NODE
            for k in range(count):
                sorting[k] = (ranks[tape[child] >> 16] << 32) | k
                sorting[count + k] = 0
                child = tape[child + 2]
            sort_ints(sorting, 0, count, 2 * count)
            for k in range(count - 1):
                if sorting[k] >> 32 == sorting[k + 1] >> 32:
                    sorting[count + (sorting[k] & 0xFFFFFFFF)] = 1
            child = node + NODE
            for k in range(count):
                if sorting[count + k] == 1:
                    tape[child] |= DROPPED
                child = tape[child + 2]
        node = tape[node + 2] if tape[node] & DROPPED else node + NODE
    close_gaps(tape, root, containers, container, scalars, scalar, state)
    size_again(tape, root, ranks)
    return 0


@kernel
def write_row(
    scalars: InBytes,
    start: i64,
    end: i64,
    tape: InInts,
    containers: OutInts,
    first: i64,
    last: i64,
    ranks: InInts,
    names: i64,
    sorting: OutInts,
    value: OutBytes,
    out: i64,
) -> i64:
    """Write a row that has these scalars and containers; the end, or -1 where an object has a name twice.

    Behind the scalars, the containers and the value there is room for PADDING bytes or one container more.
    """
    container: i64 = first
    # The scalars end before those of the next row, whose place is kept.
    next_scalars: i64 = containers[last + CONTAINER_SCALARS]
    node: i64
    head: i64
    count: i64
    child: i64
    width: i64
    id_width: i64
    total: i64
    k: i64
    rank: i64
    fields: u64
    upper: u64
    one: u64 = 1
    ids_at: i64
    if first == last:
        copy_wide(value, out, scalars, start, end - start)
        return out + end - start
    containers[last + CONTAINER_SCALARS] = end
    while container < last:
        node = containers[container + CONTAINER_NODE]
        head = tape[node]
        count = tape[node + 1]
        width = (head >> 8) & 15
        id_width = (head >> 12) & 15
        if head & KIND_MASK == KIND_OBJECT:
            value[out] = 2 | ((width - 1) << 2) | ((id_width - 1) << 4) | ((1 if count > 255 else 0) << 6)
        else:
            value[out] = 3 | ((width - 1) << 2) | ((1 if count > 255 else 0) << 4)
            id_width = 0
        out += 1
        if count > 255:
            store_le(value, out, count, 4)
            out += 4
        else:
            value[out] = count
            out += 1
        ids_at = out
        out += id_width * count
        total = 0
        child = node + NODE
        if id_width == 0:
            for k in range(count):
                store_le(value, out, total, width)
                out += width
                total += tape[child + 3]
                child = tape[child + 2]
        elif names <= 128:
            # The fields in the order of their names, by a bit for each rank.
            fields = 0
            upper = 0
            for k in range(count):
                rank = ranks[tape[child] >> 16]
                if rank < 64:
                    fields |= one << rank
                else:
                    upper |= one << (rank - 64)
                sorting[rank] = total
                total += tape[child + 3]
                child = tape[child + 2]
            k = 0
            while fields:
                rank = trailing_zeros(fields)
                fields &= fields - 1
                value[ids_at + k] = rank
                store_le(value, out + k * width, sorting[rank], width)
                k += 1
            while upper:
                rank = trailing_zeros(upper) + 64
                upper &= upper - 1
                value[ids_at + k] = rank
                store_le(value, out + k * width, sorting[rank], width)
                k += 1
            if k < count:
                out = -1
                break
            out += count * width
        else:
            for k in range(count):
                sorting[k] = (ranks[tape[child] >> 16] << 32) | k
                sorting[count + k] = total
                total += tape[child + 3]
                child = tape[child + 2]
            sort_ints(sorting, 0, count, 2 * count)
            k = 0
            while k < count and (k == 0 or sorting[k] >> 32 != sorting[k - 1] >> 32):
                store_le(value, ids_at + k * id_width, sorting[k] >> 32, id_width)
                store_le(value, out + k * width, sorting[count + (sorting[k] & 0xFFFFFFFF)], width)
                k += 1
            if k < count:
                out = -1
                break
            out += count * width
        store_le(value, out, total, width)
        out += width
        start = containers[container + CONTAINER_SCALARS]
        container += CONTAINER
        total = containers[container + CONTAINER_SCALARS] - start
        copy_wide(value, out, scalars, start, total)
        out += total
    containers[last + CONTAINER_SCALARS] = next_scalars
    return out
