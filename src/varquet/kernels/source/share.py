"""One dictionary for many rows: their field names collected.

`collect_names` interns the names of all rows' dictionaries; `group_rows` makes groups of neighbouring rows that together
have few names, and their dictionaries. The values are then rewritten to their ids (`rewrite`).
"""

from __future__ import annotations

from varquet.kernels.source._bytes import (
    DICT_BYTES,
    DICT_COUNT,
    DICT_OFFSETS,
    DICT_TOTAL,
    DICT_WIDTH,
    ROW_DICT,
    ROW_NEED,
    ROW_OUT,
    open_dictionary,
    width_of,
)
from varquet.kernels.source._codes import (
    BAD_METADATA_OFFSETS,
    NEED_NOTHING,
    NEED_STACK,
)
from varquet.kernels.source._interning import (
    KEY,
    KEY_LENGTH,
    STATE_NEED,
    STATE_SEED,
    hash_name,
    intern_hashed,
    names_size,
    rank_names,
    sort_row_names,
    write_dictionary,
)
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
    i64,
    in_bytes,
    in_ints,
    kernel,
    load_le,
    nogil,
    out_bytes,
    out_ints,
    prefetch_int,
    same_bytes,
    u64,
)


@kernel
def intern_dictionary(
    metadata: InBytes,
    keys: OutBytes,
    keys_size: i64,
    info: OutInts,
    info_size: i64,
    table: OutInts,
    slots: i64,
    found: OutInts,
    interned: OutInts,
    state: OutInts,
) -> i64:
    """Write the numbers of the names of an open dictionary to `found` at ROW_OUT; 0 or minus a code. ROW_NEED is what is too small."""
    count: i64 = state[ROW_DICT + DICT_COUNT]
    width: i64 = state[ROW_DICT + DICT_WIDTH]
    offsets: i64 = state[ROW_DICT + DICT_OFFSETS]
    start: i64 = state[ROW_DICT + DICT_BYTES]
    total: i64 = state[ROW_DICT + DICT_TOTAL]
    out: i64 = state[ROW_OUT]
    seed: u64 = interned[STATE_SEED] & M64
    field: i64
    here: i64 = load_le(metadata, offsets, width)
    behind: i64
    key: i64
    # What one name needs from memory is on its way while others are hashed.
    for field in range(count):
        behind = load_le(metadata, offsets + (field + 1) * width, width)
        if here > behind or behind > total:
            return -BAD_METADATA_OFFSETS
        found[out + field] = hash_name(metadata, start + here, behind - here, seed)
        prefetch_int(table, found[out + field] & (slots - 1))
        here = behind
    for field in range(count):
        prefetch_int(info, table[found[out + field] & (slots - 1)] * KEY)
    here = load_le(metadata, offsets, width)
    for field in range(count):
        behind = load_le(metadata, offsets + (field + 1) * width, width)
        key = intern_hashed(
            metadata,
            start + here,
            behind - here,
            found[out + field],
            keys,
            keys_size,
            info,
            info_size,
            table,
            slots,
            interned,
        )
        if key < 0:
            state[ROW_NEED] = interned[STATE_NEED]
            return 0
        found[out + field] = key
        here = behind
    return 0


def collect_names(
    metadata: InBytesView,
    metadata_starts: InIntsView,
    metadata_ends: InIntsView,
    valid: InBytesView,
    first: i64,
    last: i64,
    keys: OutBytesView,
    info: OutIntsView,
    table: OutIntsView,
    found_starts: OutIntsView,
    found_counts: OutIntsView,
    found: OutIntsView,
    status: OutIntsView,
    interned: OutIntsView,
    state: OutIntsView,
) -> i64:
    """Intern the names of the dictionaries of rows `first` to `last`; the row reached.

    Field id f of row k is name found[found_starts[k] + f], of found_counts[k]; rows with the metadata of the row before share
    its part of `found`, of which ROW_OUT is used. ROW_NEED is what is too small.
    """
    row: i64 = first
    code: i64
    size: i64
    before: i64 = first - 1
    metadata_p: InBytes = in_bytes(metadata)
    metadata_starts_p: InInts = in_ints(metadata_starts)
    metadata_ends_p: InInts = in_ints(metadata_ends)
    valid_p: InBytes = in_bytes(valid)
    keys_p: OutBytes = out_bytes(keys)
    keys_size: i64 = len(keys)
    info_p: OutInts = out_ints(info)
    info_size: i64 = len(info)
    table_p: OutInts = out_ints(table)
    slots: i64 = len(table)
    found_starts_p: OutInts = out_ints(found_starts)
    found_counts_p: OutInts = out_ints(found_counts)
    found_p: OutInts = out_ints(found)
    found_size: i64 = len(found)
    status_p: OutInts = out_ints(status)
    interned_p: OutInts = out_ints(interned)
    state_p: OutInts = out_ints(state)
    with nogil:
        state_p[ROW_NEED] = NEED_NOTHING
        while row < last:
            found_starts_p[row] = 0
            found_counts_p[row] = 0
            if valid_p[row]:
                size = metadata_ends_p[row] - metadata_starts_p[row]
                if (
                    before >= 0
                    and valid_p[before]
                    and size == metadata_ends_p[before] - metadata_starts_p[before]
                    and (
                        metadata_starts_p[row] == metadata_starts_p[before]
                        or same_bytes(metadata_p, metadata_starts_p[row], metadata_p, metadata_starts_p[before], size)
                    )
                ):
                    found_starts_p[row] = found_starts_p[before]
                    found_counts_p[row] = found_counts_p[before]
                    status_p[row] = status_p[before]
                else:
                    code = open_dictionary(metadata_p, metadata_starts_p[row], metadata_ends_p[row], state_p)
                    if code < 0:
                        status_p[row] = -code
                    else:
                        if state_p[ROW_OUT] + state_p[ROW_DICT + DICT_COUNT] > found_size:
                            state_p[ROW_NEED] = NEED_STACK
                            break
                        code = intern_dictionary(
                            metadata_p, keys_p, keys_size, info_p, info_size, table_p, slots, found_p, interned_p, state_p
                        )
                        if state_p[ROW_NEED] != NEED_NOTHING:
                            break
                        if code < 0:
                            status_p[row] = -code
                        else:
                            found_starts_p[row] = state_p[ROW_OUT]
                            found_counts_p[row] = state_p[ROW_DICT + DICT_COUNT]
                            state_p[ROW_OUT] += state_p[ROW_DICT + DICT_COUNT]
            before = row
            row += 1
    return row


@kernel
def close_group(
    first: i64,
    last: i64,
    members: OutInts,
    count: i64,
    ranked: OutInts,
    spare: i64,
    locals_of: OutInts,
    found_starts: InInts,
    found_counts: InInts,
    found: InInts,
    id_starts: OutInts,
    ids: OutInts,
    ids_used: i64,
    groups: OutInts,
    group: i64,
    keys: InBytes,
    info: OutInts,
    metadata: OutBytes,
    to: i64,
    interned: OutInts,
) -> i64:
    """Write the dictionary of rows `first` to `last`, whose `count` names are members, and their ids; ids_used then."""
    row: i64
    field: i64
    at: i64 = sort_row_names(members, count, ranked, spare, info, keys, interned)
    total: i64 = names_size(members, at, at + count, info)
    before: i64 = -1
    write_dictionary(members, at, count, width_of(total if total > count else count), locals_of, keys, info, metadata, to)
    for row in range(first, last):
        groups[row] = group
        if before >= 0 and found_starts[row] == found_starts[before] and found_counts[row] == found_counts[before]:
            id_starts[row] = id_starts[before]
        else:
            id_starts[row] = ids_used
            for field in range(found_counts[row]):
                ids[ids_used + field] = locals_of[found[found_starts[row] + field]]
            ids_used += found_counts[row]
        before = row
    return ids_used


def join_lists(
    order: InIntsView, starts: InIntsView, counts: InIntsView, names: InIntsView, joined: OutIntsView, places: OutIntsView
) -> i64:
    """Put lists one behind the other: list k, which goes to places[k], is names[starts[k]:starts[k] + counts[k]]; by `order`."""
    k: i64
    n: i64
    at: i64
    to: i64 = 0
    count: i64 = len(order)
    order_p: InInts = in_ints(order)
    starts_p: InInts = in_ints(starts)
    counts_p: InInts = in_ints(counts)
    names_p: InInts = in_ints(names)
    joined_p: OutInts = out_ints(joined)
    places_p: OutInts = out_ints(places)
    with nogil:
        for n in range(count):
            k = order_p[n]
            places_p[k] = to
            for at in range(starts_p[k], starts_p[k] + counts_p[k]):
                joined_p[to] = names_p[at]
                to += 1
    return to


@kernel
def begin_group(always: InInts, always_count: i64, stamps: OutInts, group: i64, members: OutInts, info: InInts) -> i64:
    """Give a group the names that every group has; the bytes of these."""
    k: i64
    size: i64 = 0
    for k in range(always_count):
        stamps[always[k]] = group
        members[k] = always[k]
        size += info[always[k] * KEY + KEY_LENGTH]
    return size


def group_rows(
    rows: i64,
    most: i64,
    always: InIntsView,
    found_starts: InIntsView,
    found_counts: InIntsView,
    found: InIntsView,
    members: OutIntsView,
    stamps: OutIntsView,
    locals_of: OutIntsView,
    ranked: OutIntsView,
    spare: i64,
    id_starts: OutIntsView,
    ids: OutIntsView,
    groups: OutIntsView,
    keys: InBytesView,
    info: OutIntsView,
    metadata: OutBytesView,
    metadata_offsets: OutIntsView,
    interned: OutIntsView,
) -> i64:
    """Group neighbouring rows that have at most `most` names together (a single row may have more); how many groups.

    Every group also has the names `always`, all different. Row k is in group groups[k], its field id f becomes
    ids[id_starts[k] + f], and the dictionary of group g ends at metadata_offsets[g + 1]. `stamps` is all -1 before; members has
    room for all names twice; `ids` for the counts of all rows; `metadata` for all names of all rows and groups, with four bytes
    more for each, and 16 for each row.
    """
    row: i64
    field: i64
    key: i64
    first: i64 = 0
    group: i64 = 0
    count: i64 = 0
    added: i64
    ids_used: i64 = 0
    size: i64 = 0
    added_size: i64
    to: i64 = 0
    same: i64
    always_p: InInts = in_ints(always)
    always_count: i64 = len(always)
    found_starts_p: InInts = in_ints(found_starts)
    found_counts_p: InInts = in_ints(found_counts)
    found_p: InInts = in_ints(found)
    members_p: OutInts = out_ints(members)
    stamps_p: OutInts = out_ints(stamps)
    locals_p: OutInts = out_ints(locals_of)
    ranked_p: OutInts = out_ints(ranked)
    id_starts_p: OutInts = out_ints(id_starts)
    ids_p: OutInts = out_ints(ids)
    groups_p: OutInts = out_ints(groups)
    keys_p: InBytes = in_bytes(keys)
    info_p: OutInts = out_ints(info)
    metadata_p: OutBytes = out_bytes(metadata)
    metadata_offsets_p: OutInts = out_ints(metadata_offsets)
    interned_p: OutInts = out_ints(interned)
    with nogil:
        rank_names(ranked_p, spare, info_p, keys_p, interned_p)
        metadata_offsets_p[0] = 0
        count = always_count
        size = begin_group(always_p, always_count, stamps_p, group, members_p, info_p)
        for row in range(rows + 1):
            added = 0
            added_size = 0
            same = 0
            if row < rows:
                # A row without names starts where the one after it does.
                if row > first and found_starts_p[row] == found_starts_p[row - 1] and found_counts_p[row] == found_counts_p[row - 1]:
                    same = 1
                if same == 0:
                    for field in range(found_counts_p[row]):
                        key = found_p[found_starts_p[row] + field]
                        if stamps_p[key] != group:
                            stamps_p[key] = group
                            members_p[count + added] = key
                            added += 1
                            added_size += info_p[key * KEY + KEY_LENGTH]
                if row == first or count + added <= most:
                    count += added
                    size += added_size
                    continue
            if row > first:
                ids_used = close_group(
                    first,
                    row,
                    members_p,
                    count,
                    ranked_p,
                    spare,
                    locals_p,
                    found_starts_p,
                    found_counts_p,
                    found_p,
                    id_starts_p,
                    ids_p,
                    ids_used,
                    groups_p,
                    group,
                    keys_p,
                    info_p,
                    metadata_p,
                    to,
                    interned_p,
                )
                to += 1 + (count + 2) * width_of(size if size > count else count) + size
                group += 1
                metadata_offsets_p[group] = to
            if row < rows:
                # The row that did not fit begins the next group.
                first = row
                count = always_count
                size = begin_group(always_p, always_count, stamps_p, group, members_p, info_p)
                for field in range(found_counts_p[row]):
                    key = found_p[found_starts_p[row] + field]
                    if stamps_p[key] != group:
                        stamps_p[key] = group
                        members_p[count] = key
                        count += 1
                        size += info_p[key * KEY + KEY_LENGTH]
    return group
