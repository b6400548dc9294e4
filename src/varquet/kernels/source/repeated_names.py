"""Where JSON texts repeat a field name: a second look at the few that were refused.

Names that occur twice are found when an object is written, and other mistakes end the reading of a text before; which came first,
and where it is, is found here. Every name becomes a number, and is entered with the number of its object into one table.
"""

from __future__ import annotations

from varquet.kernels.source._codes import NEED_FRESH_KEYS, NEED_NOTHING, NEED_STACK, NEED_TAPE
from varquet.kernels.source._interning import STATE_KEYS, STATE_NEED, STATE_OFFSET, STATE_SEED, intern_name
from varquet.kernels.source._json_names import KEYS_MAX
from varquet.kernels.source._json_scalars import string_end, unescape
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
    nogil,
    out_bytes,
    out_ints,
    signed,
    u64,
)

# A place of the table: a name of an object, or 0 where there is none. Objects count from 1 on.
SEEN_OBJECT = 0
SEEN_KEY = 1
SEEN = 2
# So many places there are at least; as many as twice the names of a text are enough, each of which takes five of its bytes.
LEAST_PLACES = 64


@kernel
def enter_name(seen: OutInts, places: i64, container: i64, key: i64, seed: u64) -> i64:
    """1 if the object has that name already, else 0 and it has it now."""
    prime: u64 = 0x9E3779B97F4A7C15
    mixed: u64 = seed ^ container
    at: i64
    mixed = (mixed * prime) & M64
    mixed ^= (mixed >> 32) ^ key
    mixed = (mixed * prime) & M64
    at = signed(mixed >> 20) & (places - 1)
    while seen[at * SEEN] != 0:
        if seen[at * SEEN + SEEN_OBJECT] == container and seen[at * SEEN + SEEN_KEY] == key:
            return 1
        at = (at + 1) & (places - 1)
    seen[at * SEEN + SEEN_OBJECT] = container
    seen[at * SEEN + SEEN_KEY] = key
    return 0


@kernel
def find_repeated_name(
    data: InBytes,
    at: i64,
    end: i64,
    keys: OutBytes,
    keys_size: i64,
    info: OutInts,
    info_size: i64,
    table: OutInts,
    slots: i64,
    seen: OutInts,
    places: i64,
    stack: OutInts,
    stack_size: i64,
    unescaped: OutBytes,
    state: OutInts,
) -> i64:
    """Where the first name begins, with its quote, that an object of this text holds already; `end`, or minus what is too small.

    Up to `end` the text is JSON. A name that ends behind it does not count.
    """
    depth: i64 = 0
    # The object that is read, or 0; a string is a name where one may begin.
    container: i64 = 0
    objects: i64 = 0
    names: i64 = 0
    is_name: i64 = 0
    start: i64
    stop: i64
    behind: i64
    key: i64 = 0
    byte: i64
    used: i64 = LEAST_PLACES
    k: i64
    # A short text needs few places, however many a long one before it has needed.
    while used < places and used < (end - at) >> 1:
        used *= 2
    for k in range(used * SEEN):
        seen[k] = 0
    while at < end:
        byte = data[at]
        if byte == 34:
            start = at
            stop = string_end(data, at + 1, end, state)
            if stop == -1:
                behind = unescape(data, at + 1, end, unescaped, 0, state)
                if behind < 0:
                    return end
                stop = state[STATE_OFFSET]
                if is_name:
                    key = intern_name(unescaped, 0, behind, keys, keys_size, info, info_size, table, slots, state)
            elif stop < 0:
                return end
            elif is_name:
                key = intern_name(data, at + 1, stop - at - 1, keys, keys_size, info, info_size, table, slots, state)
            at = stop
            if is_name:
                if key < 0:
                    return -state[STATE_NEED]
                names += 1
                if 2 * names > used:
                    return -NEED_TAPE
                if enter_name(seen, used, container, key, state[STATE_SEED] & M64):
                    return start
                is_name = 0
        elif byte == 123 or byte == 91:
            if depth >= stack_size:
                return -NEED_STACK
            stack[depth] = container
            depth += 1
            container = 0
            is_name = 0
            if byte == 123:
                objects += 1
                container = objects
                is_name = 1
        elif byte == 125 or byte == 93:
            if depth == 0:
                return end
            depth -= 1
            container = stack[depth]
            is_name = 0
        elif byte == 44:
            is_name = 1 if container > 0 else 0
        at += 1
    return end


def find_repeated_names(
    data: InBytesView,
    starts: InIntsView,
    ends: InIntsView,
    first: i64,
    last: i64,
    keys: OutBytesView,
    info: OutIntsView,
    table: OutIntsView,
    seen: OutIntsView,
    stack: OutIntsView,
    unescaped: OutBytesView,
    places: OutIntsView,
    state: OutIntsView,
) -> i64:
    """For texts `first` to `last`, data[starts[k]:ends[k]] each, write where a name is repeated first, or ends[k], to places[k].

    Returns the text reached. Where a buffer is too small, STATE_NEED names it, and the call is repeated from there. `unescaped` is as
    long as the longest text.
    """
    row: i64 = first
    found: i64
    data_p: InBytes = in_bytes(data)
    keys_p: OutBytes = out_bytes(keys)
    keys_size: i64 = len(keys)
    starts_p: InInts = in_ints(starts)
    ends_p: InInts = in_ints(ends)
    info_p: OutInts = out_ints(info)
    info_size: i64 = len(info)
    table_p: OutInts = out_ints(table)
    slots: i64 = len(table)
    seen_p: OutInts = out_ints(seen)
    room: i64 = len(seen) // SEEN
    stack_p: OutInts = out_ints(stack)
    stack_size: i64 = len(stack)
    unescaped_p: OutBytes = out_bytes(unescaped)
    places_p: OutInts = out_ints(places)
    state_p: OutInts = out_ints(state)
    with nogil:
        state_p[STATE_NEED] = NEED_NOTHING
        while row < last:
            if state_p[STATE_KEYS] > KEYS_MAX:
                state_p[STATE_NEED] = NEED_FRESH_KEYS
                break
            found = find_repeated_name(
                data_p,
                starts_p[row],
                ends_p[row],
                keys_p,
                keys_size,
                info_p,
                info_size,
                table_p,
                slots,
                seen_p,
                room,
                stack_p,
                stack_size,
                unescaped_p,
                state_p,
            )
            if found < 0:
                state_p[STATE_NEED] = -found
                break
            places_p[row] = found
            row += 1
    return row
