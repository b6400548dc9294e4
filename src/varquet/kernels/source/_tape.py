"""The nodes of one value on a tape, and their Variant bytes.

The tape holds the nodes of a row in the order of the text, NODE numbers each, and perhaps several rows one behind the other:

    slot 0   kind (bits 0-7), scale or widths (8-15), number of the field name (16 up), for which `ranks` has the field id
    slot 1   integer, double bits, low half of a decimal, start of a string or of bytes to copy; of a container: index behind its last node
    slot 2   high half of a decimal, length of a string or of bytes to copy; of a container: number of children
    slot 3   size in bytes once written

An open container's slot 1 holds its parent, so the tape is also the stack and depth has no limit of its own.

Node sizes are known when a container closes, except that field ids need more than one byte where a row has over 256 names;
such rows are sized again. Values are laid out in the order of the text; ids and offsets in the order of the names.
"""

from __future__ import annotations

from varquet.kernels.source._bytes import copy_value, width_of
from varquet.kernels.source._sorting import sort_ints
from varquet.kernels.source.dialect import (
    InBytes,
    InInts,
    OutBytes,
    OutInts,
    copy_bytes,
    i64,
    inlined,
    kernel,
    store64,
    store_le,
    trailing_zeros,
    u64,
)

NODE = 4
KIND_LITERAL = 0
KIND_INTEGER = 1
KIND_DOUBLE = 2
KIND_DECIMAL = 3
KIND_STRING = 4
KIND_UNESCAPED = 5
KIND_RAW = 6
KIND_OBJECT = 7
KIND_ARRAY = 8
KIND_DROPPED = 9


@inlined
def close_container(tape: OutInts, node: i64, behind: i64) -> i64:
    """Finish an open container on the tape; its parent, or -1. Slot 0 gets the offset width, slot 3 the whole size."""
    parent: i64 = tape[node + 1]
    count: i64 = tape[node + 2]
    total: i64 = tape[node + 3]
    width: i64 = width_of(total)
    is_object: i64 = 1 if tape[node] & 255 == KIND_OBJECT else 0
    tape[node] |= (width << 8) | (1 << 12)
    tape[node + 1] = behind
    tape[node + 3] = total + 1 + (1 if count < 256 else 4) + (count + 1) * width + is_object * count
    return parent


@inlined
def behind_row(tape: InInts, root: i64) -> i64:
    """The index behind the last node of the row whose first node is `root`."""
    return tape[root + 1] if tape[root] & 255 >= KIND_OBJECT else root + NODE


@kernel
def size_again(tape: OutInts, root: i64, ranks: InInts) -> i64:
    """Compute the sizes of a row's containers anew, without dropped nodes and with field ids as wide as they need to be."""
    node: i64 = behind_row(tape, root) - NODE
    child: i64
    count: i64
    total: i64
    widest: i64
    kind: i64
    width: i64
    while node >= root:
        kind = tape[node] & 255
        if kind == KIND_OBJECT or kind == KIND_ARRAY:
            count = 0
            total = 0
            widest = 0
            child = node + NODE
            while child < tape[node + 1]:
                kind = tape[child] & 255
                if kind != KIND_DROPPED:
                    count += 1
                    total += tape[child + 3]
                    if tape[node] & 255 == KIND_OBJECT and ranks[tape[child] >> 16] > widest:
                        widest = ranks[tape[child] >> 16]
                child = tape[child + 1] if kind >= KIND_OBJECT else child + NODE
            width = width_of(total)
            widest = width_of(widest)
            tape[node] = (tape[node] >> 16 << 16) | (tape[node] & 255) | (width << 8) | (widest << 12)
            tape[node + 2] = count
            tape[node + 3] = total + 1 + (1 if count < 256 else 4) + (count + 1) * width
            if tape[node] & 255 == KIND_OBJECT:
                tape[node + 3] += count * widest
        node -= NODE
    return 0


@kernel
def drop_duplicates(tape: OutInts, root: i64, ranks: InInts, sorting: OutInts) -> i64:
    """Keep only the last of the fields that have one name, in every object of the row, and size the row again."""
    node: i64 = root
    stop: i64 = behind_row(tape, root)
    child: i64
    behind: i64
    count: i64
    k: i64
    while node < stop:
        if tape[node] & 255 == KIND_OBJECT:
            count = tape[node + 2]
            child = node + NODE
            for k in range(count):
                sorting[k] = (ranks[tape[child] >> 16] << 32) | k
                sorting[count + k] = 0
                child = tape[child + 1] if tape[child] & 255 >= KIND_OBJECT else child + NODE
            sort_ints(sorting, 0, count, 2 * count)
            for k in range(count - 1):
                if sorting[k] >> 32 == sorting[k + 1] >> 32:
                    sorting[count + (sorting[k] & 0xFFFFFFFF)] = 1
            child = node + NODE
            for k in range(count):
                behind = tape[child + 1] if tape[child] & 255 >= KIND_OBJECT else child + NODE
                if sorting[count + k] == 1:
                    tape[child] = KIND_DROPPED
                    tape[child + 1] = behind
                child = behind
        node = tape[node + 1] if tape[node] & 255 == KIND_DROPPED else node + NODE
    size_again(tape, root, ranks)
    return 0


@kernel
def write_row(
    data: InBytes,
    data_size: i64,
    unescaped: InBytes,
    tape: OutInts,
    root: i64,
    ranks: InInts,
    names: i64,
    sorting: OutInts,
    value: OutBytes,
    out: i64,
) -> i64:
    """Write a row's nodes one behind the other; the end, or -1 where an object has a name twice."""
    node: i64 = root
    stop: i64 = behind_row(tape, root)
    head: i64
    kind: i64
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
    start: i64
    length: i64
    ids_at: i64
    while node < stop:
        head = tape[node]
        kind = head & 255
        if kind == KIND_STRING or kind == KIND_UNESCAPED:
            start = tape[node + 1]
            length = tape[node + 2]
            if length < 64:
                value[out] = 1 | (length << 2)
                out += 1
            else:
                value[out] = 16 << 2
                store_le(value, out + 1, length, 4)
                out += 5
            if kind == KIND_UNESCAPED:
                copy_bytes(value, out, unescaped, start, length)
            else:
                copy_value(value, out, data, start, length, data_size)
            out += length
        elif kind == KIND_INTEGER:
            length = tape[node + 3]
            if length == 2:
                value[out] = 3 << 2
                value[out + 1] = tape[node + 1] & 255
            elif length == 3:
                value[out] = 4 << 2
                store_le(value, out + 1, tape[node + 1], 2)
            elif length == 5:
                value[out] = 5 << 2
                store_le(value, out + 1, tape[node + 1], 4)
            else:
                value[out] = 6 << 2
                store64(value, out + 1, tape[node + 1])
            out += length
        elif kind == KIND_LITERAL:
            value[out] = tape[node + 1]
            out += 1
        elif kind == KIND_DOUBLE:
            value[out] = 7 << 2
            store64(value, out + 1, tape[node + 1])
            out += 9
        elif kind == KIND_DECIMAL:
            length = tape[node + 3]
            value[out] = (8 << 2) if length == 6 else ((9 << 2) if length == 10 else (10 << 2))
            value[out + 1] = (head >> 8) & 255
            if length == 6:
                store_le(value, out + 2, tape[node + 1], 4)
            else:
                store64(value, out + 2, tape[node + 1])
                if length == 18:
                    store64(value, out + 10, tape[node + 2])
            out += length
        elif kind == KIND_RAW:
            copy_bytes(value, out, data, tape[node + 1], tape[node + 2])
            out += tape[node + 2]
        elif kind == KIND_DROPPED:
            node = tape[node + 1]
            continue
        else:
            count = tape[node + 2]
            width = (head >> 8) & 15
            id_width = (head >> 12) & 15
            if kind == KIND_OBJECT:
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
            if kind == KIND_ARRAY:
                for k in range(count):
                    store_le(value, out, total, width)
                    out += width
                    total += tape[child + 3]
                    child = tape[child + 1] if tape[child] & 255 >= KIND_OBJECT else child + NODE
            else:
                k = 0
                if names <= 128:
                    # The fields in the order of their names, by a bit for each rank.
                    fields = 0
                    upper = 0
                    while k < count:
                        if tape[child] & 255 != KIND_DROPPED:
                            rank = ranks[tape[child] >> 16]
                            if rank < 64:
                                fields |= one << rank
                            else:
                                upper |= one << (rank - 64)
                            sorting[rank] = total
                            total += tape[child + 3]
                            k += 1
                        child = tape[child + 1] if tape[child] & 255 >= KIND_OBJECT else child + NODE
                    k = 0
                    while fields:
                        rank = trailing_zeros(fields)
                        fields &= fields - 1
                        store_le(value, ids_at + k, rank, 1)
                        store_le(value, out + k * width, sorting[rank], width)
                        k += 1
                    while upper:
                        rank = trailing_zeros(upper) + 64
                        upper &= upper - 1
                        store_le(value, ids_at + k, rank, 1)
                        store_le(value, out + k * width, sorting[rank], width)
                        k += 1
                    if k < count:
                        return -1
                else:
                    while k < count:
                        if tape[child] & 255 != KIND_DROPPED:
                            sorting[k] = (ranks[tape[child] >> 16] << 32) | k
                            sorting[count + k] = total
                            total += tape[child + 3]
                            k += 1
                        child = tape[child + 1] if tape[child] & 255 >= KIND_OBJECT else child + NODE
                    sort_ints(sorting, 0, count, 2 * count)
                    for k in range(count):
                        if k > 0 and sorting[k] >> 32 == sorting[k - 1] >> 32:
                            return -1
                        store_le(value, ids_at + k * id_width, sorting[k] >> 32, id_width)
                        store_le(value, out + k * width, sorting[count + (sorting[k] & 0xFFFFFFFF)], width)
                out += count * width
            store_le(value, out, total, width)
            out += width
        node += NODE
    return out
