"""Values written again with the field ids of other dictionaries.

`rewrite_rows` reads values to a tape and writes them with the ids of a dictionary that they share; `detach_rows` does the contrary: it
gives every value a dictionary of its own, with the names that it uses.
"""

from __future__ import annotations

from varquet.kernels.source._bytes import (
    BASIC_OBJECT,
    DICT_ASCENDING,
    DICT_BYTES,
    DICT_COUNT,
    DICT_TOTAL,
    FRAME_COUNT,
    FRAME_ID_WIDTH,
    FRAME_IDS,
    FRAME_KIND,
    FRAME_NEXT,
    FRAME_SLOTS,
    FRAME_TOTAL,
    FRAME_VALUES,
    MAX_EXPANSION,
    ROW_CONTAINERS,
    ROW_DICT,
    ROW_NAMES,
    ROW_NEED,
    ROW_OFFSET,
    ROW_OUT,
    ROW_SCALARS,
    child_at,
    copy_value,
    find_name,
    next_dictionary,
    open_container,
    open_dictionary,
    scalar_size,
    width_of,
)
from varquet.kernels.source._codes import (
    BAD_DUPLICATE_NAME,
    BAD_EXPANSION,
    BAD_FIELD_ID,
    BAD_VALUE_EMPTY,
    NEED_KEYS,
    NEED_NOTHING,
    NEED_SCALARS,
    NEED_STACK,
    NEED_TAPE,
    NEED_VALUE,
)
from varquet.kernels.source._interning import (
    PADDING,
)
from varquet.kernels.source._names import compare_names, ids_in_name_order
from varquet.kernels.source._sorting import sort_ints
from varquet.kernels.source._tape import (
    CONTAINER,
    CONTAINER_NODE,
    CONTAINER_SCALARS,
    KIND_ARRAY,
    KIND_MASK,
    KIND_OBJECT,
    KIND_SCALAR,
    NODE,
    size_again,
    write_row,
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
    copy_bytes,
    i64,
    in_bytes,
    in_ints,
    kernel,
    load_le,
    nogil,
    out_bytes,
    out_ints,
    store_le,
)


@kernel
def read_to_tape(
    value: InBytes,
    value_size: i64,
    start: i64,
    end: i64,
    ids: InInts,
    id_start: i64,
    id_count: i64,
    tape: OutInts,
    tape_size: i64,
    containers: OutInts,
    scalars: OutBytes,
    scalars_size: i64,
    stack: OutInts,
    stack_size: i64,
    state: OutInts,
) -> i64:
    """Read one object or array to the tape, and copy its scalars; 0, minus a code, or a need.

    ROW_CONTAINERS and ROW_SCALARS are then how many numbers about containers and how many bytes of scalars there are.
    """
    node: i64 = 0
    depth: i64 = 0
    at: i64 = start
    limit: i64 = end
    name: i64 = 0
    size: i64
    frame: i64 = 0
    open_node: i64
    container: i64 = 0
    used: i64 = 0
    budget: i64 = MAX_EXPANSION * (end - start)
    while True:
        state[ROW_OFFSET] = at - start
        if node + NODE > tape_size:
            return NEED_TAPE
        if at >= limit:
            return -BAD_VALUE_EMPTY
        if value[at] & 3 < BASIC_OBJECT:
            size = scalar_size(value, at, limit)
            if size < 0:
                return size
            if used + size + PADDING > scalars_size:
                return NEED_SCALARS
            copy_value(scalars, used, value, at, size, value_size)
            used += size
            tape[node] = KIND_SCALAR | name
            tape[node + 2] = node + NODE
            tape[node + 3] = size
            node += NODE
        else:
            # A frame has one slot more: the node that it fills.
            if (depth + 1) * (FRAME_SLOTS + 1) > stack_size:
                return NEED_STACK
            frame = depth * (FRAME_SLOTS + 1)
            size = open_container(value, at, limit, stack, frame)
            if size < 0:
                return size
            stack[frame + FRAME_SLOTS] = node
            tape[node] = (KIND_OBJECT if stack[frame + FRAME_KIND] == BASIC_OBJECT else KIND_ARRAY) | name
            tape[node + 1] = stack[frame + FRAME_COUNT]
            tape[node + 3] = 0
            containers[container + CONTAINER_NODE] = node
            containers[container + CONTAINER_SCALARS] = used
            container += CONTAINER
            node += NODE
            depth += 1
        budget -= size
        if budget < 0:
            return -BAD_EXPANSION
        while depth > 0:
            frame = (depth - 1) * (FRAME_SLOTS + 1)
            if stack[frame + FRAME_NEXT] < stack[frame + FRAME_COUNT]:
                break
            open_node = stack[frame + FRAME_SLOTS]
            tape[open_node + 2] = node
            depth -= 1
        if depth == 0:
            state[ROW_CONTAINERS] = container
            state[ROW_SCALARS] = used
            return 0
        name = 0
        if stack[frame + FRAME_KIND] == BASIC_OBJECT:
            size = load_le(
                value,
                stack[frame + FRAME_IDS] + stack[frame + FRAME_NEXT] * stack[frame + FRAME_ID_WIDTH],
                stack[frame + FRAME_ID_WIDTH],
            )
            if size >= id_count:
                return -BAD_FIELD_ID
            name = ids[id_start + size] << 16
        at = child_at(value, stack, frame, stack[frame + FRAME_NEXT])
        if at < 0:
            return at
        limit = stack[frame + FRAME_VALUES] + stack[frame + FRAME_TOTAL]
        stack[frame + FRAME_NEXT] += 1


def rewrite_rows(
    value: InBytesView,
    value_starts: InIntsView,
    value_ends: InIntsView,
    value_valid: InBytesView,
    rows: InIntsView,
    first: i64,
    last: i64,
    id_starts: InIntsView,
    id_counts: InIntsView,
    ids: InIntsView,
    ranks: InIntsView,
    tape: OutIntsView,
    containers: OutIntsView,
    scalars: OutBytesView,
    stack: OutIntsView,
    sorting: OutIntsView,
    out: OutBytesView,
    out_offsets: OutIntsView,
    status: OutIntsView,
    state: OutIntsView,
) -> i64:
    """Write values `first` to `last` again with the ids that group_rows has found; the value reached.

    ranks[n] is n: a new id is also the place of its name in the order of names. `sorting` has room for three numbers for
    each node of the tape, and for 128.
    """
    instance: i64 = first
    row: i64
    at: i64
    end: i64
    code: i64
    value_p: InBytes = in_bytes(value)
    value_size: i64 = len(value)
    value_starts_p: InInts = in_ints(value_starts)
    value_ends_p: InInts = in_ints(value_ends)
    value_valid_p: InBytes = in_bytes(value_valid)
    rows_p: InInts = in_ints(rows)
    id_starts_p: InInts = in_ints(id_starts)
    id_counts_p: InInts = in_ints(id_counts)
    ids_p: InInts = in_ints(ids)
    ranks_p: InInts = in_ints(ranks)
    names: i64 = len(ranks)
    tape_p: OutInts = out_ints(tape)
    tape_size: i64 = len(tape)
    containers_p: OutInts = out_ints(containers)
    scalars_p: OutBytes = out_bytes(scalars)
    scalars_size: i64 = len(scalars)
    stack_p: OutInts = out_ints(stack)
    stack_size: i64 = len(stack)
    sorting_p: OutInts = out_ints(sorting)
    out_p: OutBytes = out_bytes(out)
    out_size: i64 = len(out)
    out_offsets_p: OutInts = out_ints(out_offsets)
    status_p: OutInts = out_ints(status)
    state_p: OutInts = out_ints(state)
    with nogil:
        state_p[ROW_NEED] = NEED_NOTHING
        while instance < last:
            if value_valid_p[instance]:
                row = rows_p[instance]
                at = value_starts_p[instance]
                end = value_ends_p[instance]
                if at < end and value_p[at] & 3 < BASIC_OBJECT:
                    if state_p[ROW_OUT] + end - at > out_size:
                        state_p[ROW_NEED] = NEED_VALUE
                        break
                    copy_bytes(out_p, state_p[ROW_OUT], value_p, at, end - at)
                    state_p[ROW_OUT] += end - at
                else:
                    code = read_to_tape(
                        value_p,
                        value_size,
                        at,
                        end,
                        ids_p,
                        id_starts_p[row],
                        id_counts_p[row],
                        tape_p,
                        tape_size,
                        containers_p,
                        scalars_p,
                        scalars_size,
                        stack_p,
                        stack_size,
                        state_p,
                    )
                    if code > 0:
                        state_p[ROW_NEED] = code
                        break
                    if code == 0:
                        size_again(tape_p, 0, ranks_p)
                        if state_p[ROW_OUT] + tape_p[3] + PADDING > out_size:
                            state_p[ROW_NEED] = NEED_VALUE
                            break
                        code = write_row(
                            scalars_p,
                            0,
                            state_p[ROW_SCALARS],
                            tape_p,
                            containers_p,
                            0,
                            state_p[ROW_CONTAINERS],
                            ranks_p,
                            names,
                            sorting_p,
                            out_p,
                            state_p[ROW_OUT],
                        )
                        if code < 0:
                            code = -BAD_DUPLICATE_NAME
                        else:
                            state_p[ROW_OUT] = code
                    if code < 0:
                        status_p[row] = -code | (state_p[ROW_OFFSET] << 8)
            instance += 1
            out_offsets_p[instance] = state_p[ROW_OUT]
    return instance


@kernel
def used_names(tape: InInts, marks: OutInts, used: OutInts, stamp: i64) -> i64:
    """The distinct field ids of the objects on the tape, to `used`; how many. Ids with this stamp in `marks` are known."""
    node: i64 = 0
    child: i64
    field: i64
    count: i64 = 0
    while node < tape[2]:
        if tape[node] & KIND_MASK == KIND_OBJECT:
            child = node + NODE
            while child < tape[node + 2]:
                field = tape[child] >> 16
                if marks[field] != stamp:
                    marks[field] = stamp
                    used[count] = field
                    count += 1
                child = tape[child + 2]
        node += NODE
    return count


@kernel
def write_own_names(
    metadata: InBytes, used: OutInts, count: i64, ranks: OutInts, out: OutBytes, to: i64, out_size: i64, state: OutInts
) -> i64:
    """Write the dictionary of some ids of the row's dictionary, and the rank of each; the position behind it, or -1 for no room.

    `used` has room for twice as many; ROW_OFFSET is then how many names there are, which is less where one name has two ids.
    """
    k: i64
    at: i64 = 0
    names: i64 = 0
    total: i64 = 0
    width: i64
    offset: i64 = 0
    if state[ROW_DICT + DICT_ASCENDING]:
        sort_ints(used, 0, count, count)
    else:
        at = ids_in_name_order(metadata, used, count, count, state)
    for k in range(count):
        if k > 0 and state[ROW_DICT + DICT_ASCENDING] == 0 and compare_names(metadata, used[at + k - 1], used[at + k], state) == 0:
            ranks[used[at + k]] = names - 1
            continue
        find_name(metadata, state, used[at + k], ROW_NAMES)
        ranks[used[at + k]] = names
        total += state[ROW_NAMES + 1]
        names += 1
    width = width_of(total if total > names else names)
    state[ROW_OFFSET] = names
    if to + 1 + (names + 2) * width + total > out_size:
        return -1
    out[to] = 1 | ((width - 1) << 6) | (16 if names > 0 else 0)
    store_le(out, to + 1, names, width)
    names = 0
    for k in range(count):
        if k > 0 and ranks[used[at + k]] == ranks[used[at + k - 1]]:
            continue
        find_name(metadata, state, used[at + k], ROW_NAMES)
        store_le(out, to + 1 + (names + 1) * width, offset, width)
        copy_bytes(out, to + 1 + (state[ROW_OFFSET] + 2) * width + offset, metadata, state[ROW_NAMES], state[ROW_NAMES + 1])
        offset += state[ROW_NAMES + 1]
        names += 1
    store_le(out, to + 1 + (names + 1) * width, offset, width)
    return to + 1 + (names + 2) * width + total


def detach_rows(
    metadata: InBytesView,
    metadata_starts: InIntsView,
    metadata_ends: InIntsView,
    value: InBytesView,
    value_offsets: InIntsView,
    value_valid: InBytesView,
    rows: InIntsView,
    first: i64,
    last: i64,
    ids: InIntsView,
    marks: OutIntsView,
    ranks: OutIntsView,
    tape: OutIntsView,
    containers: OutIntsView,
    scalars: OutBytesView,
    stack: OutIntsView,
    sorting: OutIntsView,
    out: OutBytesView,
    out_offsets: OutIntsView,
    status: OutIntsView,
    state: OutIntsView,
) -> i64:
    """Write each of the values `first` to `last` behind a dictionary of its own; the value reached.

    ids[n] is n, for as many names as a dictionary has; where one has more, ROW_NEED is NEED_KEYS. `marks` is all -1 before the
    first call; `ranks` and it are as large as `ids`. `sorting` has room for three numbers for each node of the tape, and for 128.
    """
    instance: i64 = first
    row: i64
    at: i64
    end: i64
    to: i64
    code: i64
    count: i64
    metadata_p: InBytes = in_bytes(metadata)
    metadata_starts_p: InInts = in_ints(metadata_starts)
    metadata_ends_p: InInts = in_ints(metadata_ends)
    value_p: InBytes = in_bytes(value)
    value_size: i64 = len(value)
    value_offsets_p: InInts = in_ints(value_offsets)
    value_valid_p: InBytes = in_bytes(value_valid)
    rows_p: InInts = in_ints(rows)
    ids_p: InInts = in_ints(ids)
    ids_size: i64 = len(ids)
    marks_p: OutInts = out_ints(marks)
    ranks_p: OutInts = out_ints(ranks)
    tape_p: OutInts = out_ints(tape)
    tape_size: i64 = len(tape)
    containers_p: OutInts = out_ints(containers)
    scalars_p: OutBytes = out_bytes(scalars)
    scalars_size: i64 = len(scalars)
    stack_p: OutInts = out_ints(stack)
    stack_size: i64 = len(stack)
    sorting_p: OutInts = out_ints(sorting)
    out_p: OutBytes = out_bytes(out)
    out_size: i64 = len(out)
    out_offsets_p: OutInts = out_ints(out_offsets)
    status_p: OutInts = out_ints(status)
    state_p: OutInts = out_ints(state)
    with nogil:
        state_p[ROW_NEED] = NEED_NOTHING
        while instance < last:
            if value_valid_p[instance]:
                row = rows_p[instance]
                at = value_offsets_p[instance]
                end = value_offsets_p[instance + 1]
                to = state_p[ROW_OUT]
                if at < end and value_p[at] & 3 < BASIC_OBJECT:
                    if to + 3 + end - at > out_size:
                        state_p[ROW_NEED] = NEED_VALUE
                        break
                    out_p[to] = 1
                    out_p[to + 1] = 0
                    out_p[to + 2] = 0
                    copy_bytes(out_p, to + 3, value_p, at, end - at)
                    state_p[ROW_OUT] = to + 3 + end - at
                else:
                    code = next_dictionary(metadata_p, metadata_starts_p[row], metadata_ends_p[row], state_p)
                    if code == 0:
                        if state_p[ROW_DICT + DICT_COUNT] > ids_size:
                            state_p[ROW_NEED] = NEED_KEYS
                            break
                        code = read_to_tape(
                            value_p,
                            value_size,
                            at,
                            end,
                            ids_p,
                            0,
                            state_p[ROW_DICT + DICT_COUNT],
                            tape_p,
                            tape_size,
                            containers_p,
                            scalars_p,
                            scalars_size,
                            stack_p,
                            stack_size,
                            state_p,
                        )
                    if code > 0:
                        state_p[ROW_NEED] = code
                        break
                    if code == 0:
                        count = used_names(tape_p, marks_p, sorting_p, instance)
                        to = write_own_names(metadata_p, sorting_p, count, ranks_p, out_p, to, out_size, state_p)
                        count = state_p[ROW_OFFSET]
                        state_p[ROW_OFFSET] = 0
                        if to >= 0:
                            size_again(tape_p, 0, ranks_p)
                            if to + tape_p[3] + PADDING > out_size:
                                to = -1
                        if to < 0:
                            # The instance is read again from its start: its stamp must not be known then.
                            for count in range(ids_size):
                                marks_p[count] = -1
                            state_p[ROW_NEED] = NEED_VALUE
                            break
                        code = write_row(
                            scalars_p,
                            0,
                            state_p[ROW_SCALARS],
                            tape_p,
                            containers_p,
                            0,
                            state_p[ROW_CONTAINERS],
                            ranks_p,
                            count,
                            sorting_p,
                            out_p,
                            to,
                        )
                        if code < 0:
                            code = -BAD_DUPLICATE_NAME
                        else:
                            state_p[ROW_OUT] = code
                    if code < 0:
                        status_p[row] = -code | (state_p[ROW_OFFSET] << 8)
            instance += 1
            out_offsets_p[instance] = state_p[ROW_OUT]
    return instance


def split_detached(
    value: InBytesView, starts: InIntsView, ends: InIntsView, count: i64, middles: OutIntsView, status: OutIntsView, state: OutIntsView
) -> i64:
    """Where behind its dictionary each value begins; status is code | offset << 8 for what has no whole dictionary."""
    k: i64
    code: i64
    value_p: InBytes = in_bytes(value)
    starts_p: InInts = in_ints(starts)
    ends_p: InInts = in_ints(ends)
    middles_p: OutInts = out_ints(middles)
    status_p: OutInts = out_ints(status)
    state_p: OutInts = out_ints(state)
    with nogil:
        for k in range(count):
            middles_p[k] = starts_p[k]
            code = open_dictionary(value_p, starts_p[k], ends_p[k], state_p)
            if code < 0:
                status_p[k] = -code
            else:
                middles_p[k] = state_p[ROW_DICT + DICT_BYTES] + state_p[ROW_DICT + DICT_TOTAL]
    return 0
