"""JSON text to the nodes of a tape, and the bytes of its scalars.

Field names are interned over all rows of a call. A name is first compared with the two that followed its predecessor
lately, which are nearly always right and cost a comparison instead of a hash.
"""

from __future__ import annotations

from varquet.kernels.source._codes import (
    JSON_BEHIND_ELEMENT,
    JSON_BEHIND_FIELD,
    JSON_COLON,
    JSON_END,
    JSON_FIELD_OR_END,
    JSON_NAME,
    JSON_VALUE,
    NEED_NOTHING,
    NEED_SCALARS,
    NEED_TAPE,
)
from varquet.kernels.source._interning import (
    KEY,
    KEY_LENGTH,
    KEY_NEXT,
    KEY_NEXT_BUT_ONE,
    KEY_PLACE,
    KEY_SERIAL,
    KEY_START,
    KEY_WORD,
    STATE_CONTAINERS,
    STATE_FOUND,
    STATE_NEED,
    STATE_NEED_SIZE,
    STATE_OFFSET,
    STATE_ROW_KEYS,
    STATE_SCALARS,
    STATE_SERIAL,
    STATE_TAPE,
    intern_name,
)
from varquet.kernels.source._json_scalars import parse_literal, parse_number, string_end, text_header, unescape, write_unescaped
from varquet.kernels.source._tape import (
    CONTAINER,
    CONTAINER_NODE,
    CONTAINER_SCALARS,
    KIND_ARRAY,
    KIND_MASK,
    KIND_OBJECT,
    KIND_SCALAR,
    NODE,
    close_container,
)
from varquet.kernels.source.dialect import (
    M64,
    InBytes,
    InInts,
    OutBytes,
    OutInts,
    copy_bytes,
    copy_wide,
    i64,
    inlined,
    kernel,
    load64,
    same_bytes,
    signed,
    u64,
)

# No scalar has more than so many times the bytes of its text: 1e1 becomes a double of nine. They are written some bytes at a time.
EXPANSION = 3
ROOM = 128


@inlined
def skip_blanks(data: InBytes, at: i64, end: i64) -> i64:
    while at < end and data[at] <= 32 and (data[at] == 32 or data[at] == 10 or data[at] == 13 or data[at] == 9):
        at += 1
    return at


@inlined
def is_name(data: InBytes, at: i64, end: i64, keys: InBytes, info: InInts, key: i64) -> i64:
    """The length of that name if the text goes on with it and a quote, else -1."""
    length: i64 = info[key * KEY + KEY_LENGTH]
    word: u64
    if length < 8 and at + 8 <= end:
        # What differs behind the name and its quote is shifted out.
        word = (load64(data, at) ^ info[key * KEY + KEY_WORD]) << (56 - 8 * length)
        return length if word & M64 == 0 and key != 0 else -1
    if at + length >= end or data[at + length] != 34 or key == 0:
        return -1
    return length if same_bytes(data, at, keys, info[key * KEY + KEY_START], length) else -1


@kernel
def parse_new_name(
    data: InBytes,
    at: i64,
    end: i64,
    scalars: OutBytes,
    used: i64,
    keys: OutBytes,
    keys_size: i64,
    info: OutInts,
    info_size: i64,
    table: OutInts,
    slots: i64,
    last: i64,
    state: OutInts,
) -> i64:
    """Read a field name that does not follow `last` as it used to, from behind its opening quote. Behind `used` is room to unescape it.

    Returns its number and leaves the byte behind the closing quote in STATE_OFFSET; or minus an error code, or 0 where
    STATE_NEED is set.
    """
    behind: i64
    key: i64
    stop: i64 = string_end(data, at, end, state)
    if stop >= 0:
        key = intern_name(data, at, stop - at, keys, keys_size, info, info_size, table, slots, state)
    elif stop == -1:
        behind = unescape(data, at, end, scalars, used, state)
        if behind < 0:
            return behind
        stop = state[STATE_OFFSET]
        key = intern_name(scalars, used, behind - used, keys, keys_size, info, info_size, table, slots, state)
        # It is not remembered as the follower of `last`: the text is searched for followers byte by byte, where an escaped
        # quote or backslash would end the name too late or mean something else.
        state[STATE_OFFSET] = stop + 1
        return key if key > 0 else 0
    else:
        return stop + 1
    if key < 0:
        return 0
    # The first guess stays: names that come once would crowd out the one that comes most of the time.
    info[last * KEY + (KEY_NEXT_BUT_ONE if info[last * KEY + KEY_NEXT] else KEY_NEXT)] = key
    state[STATE_OFFSET] = stop + 1
    return key


@kernel
def parse_row(
    data: InBytes,
    data_size: i64,
    at: i64,
    end: i64,
    tape: OutInts,
    tape_size: i64,
    containers: OutInts,
    scalars: OutBytes,
    scalars_size: i64,
    keys: OutBytes,
    keys_size: i64,
    info: OutInts,
    info_size: i64,
    table: OutInts,
    slots: i64,
    row_keys: OutInts,
    powers: InInts,
    state: OutInts,
) -> i64:
    """Read one text to the tape from STATE_TAPE on; 0, or minus an error code, or what is too small.

    Its containers and scalars are noted from STATE_CONTAINERS and STATE_SCALARS on, which are then behind them. There is room for as
    many containers as there are nodes, and one.
    Its common names become bits of STATE_FOUND; others that are new since STATE_SERIAL was changed are appended to row_keys, of which
    there are STATE_ROW_KEYS.
    """
    node: i64 = state[STATE_TAPE]
    parent: i64 = -1
    in_object: i64 = 0
    name: i64 = 0
    place: i64
    found: u64 = 0
    one: u64 = 1
    last: i64 = 0
    key: i64
    serial: i64 = state[STATE_SERIAL]
    byte: i64
    stop: i64
    used: i64 = state[STATE_SCALARS]
    container: i64 = state[STATE_CONTAINERS]
    length: i64
    size: i64
    count: i64 = 0
    total: i64 = 0
    last_node: i64 = tape_size - NODE
    if used + EXPANSION * (end - at) + ROOM > scalars_size:
        state[STATE_NEED_SIZE] = used + EXPANSION * (end - at) + ROOM
        return NEED_SCALARS
    if at + 3 <= end and data[at] == 0xEF and data[at + 1] == 0xBB and data[at + 2] == 0xBF:
        at += 3
    while True:
        if node > last_node:
            state[STATE_NEED_SIZE] = node + NODE
            return NEED_TAPE
        if in_object:
            if at >= end or data[at] != 34:
                at = skip_blanks(data, at, end)
                if at >= end or data[at] != 34:
                    state[STATE_OFFSET] = at
                    return -JSON_FIELD_OR_END if count == 0 else -JSON_NAME
            at += 1
            key = info[last * KEY + KEY_NEXT]
            length = is_name(data, at, end, keys, info, key)
            if length < 0:
                key = info[last * KEY + KEY_NEXT_BUT_ONE]
                length = is_name(data, at, end, keys, info, key)
                if length >= 0 and at & 15 == 0:
                    # Now and then the second guess becomes the first, so that the one that is right more often is it mostly.
                    info[last * KEY + KEY_NEXT_BUT_ONE] = info[last * KEY + KEY_NEXT]
                    info[last * KEY + KEY_NEXT] = key
            if length >= 0:
                at += length + 1
            else:
                key = parse_new_name(data, at, end, scalars, used, keys, keys_size, info, info_size, table, slots, last, state)
                if key <= 0:
                    return key if key < 0 else state[STATE_NEED]
                at = state[STATE_OFFSET]
            last = key
            place = info[key * KEY + KEY_PLACE]
            if place > 0:
                found |= one << (place - 1)
            elif info[key * KEY + KEY_SERIAL] != serial:
                info[key * KEY + KEY_SERIAL] = serial
                row_keys[state[STATE_ROW_KEYS]] = key
                state[STATE_ROW_KEYS] += 1
            name = key << 16
            if at >= end or data[at] != 58:
                at = skip_blanks(data, at, end)
                if at >= end or data[at] != 58:
                    state[STATE_OFFSET] = at
                    return -JSON_COLON
            at += 1
        byte = data[at] if at < end else 0
        if byte <= 32:
            at = skip_blanks(data, at, end)
            if at >= end:
                state[STATE_OFFSET] = at
                return -JSON_VALUE
            byte = data[at]
        if byte == 123 or byte == 91:
            tape[node] = (KIND_OBJECT if byte == 123 else KIND_ARRAY) | name
            tape[node + 2] = parent
            containers[container + CONTAINER_NODE] = node
            containers[container + CONTAINER_SCALARS] = used
            container += CONTAINER
            at = skip_blanks(data, at + 1, end)
            if at >= end or data[at] != byte + 2:
                if parent >= 0:
                    tape[parent + 1] = count
                    tape[parent + 3] = total
                parent = node
                node += NODE
                count = 0
                total = 0
                in_object = 1 if byte == 123 else 0
                name = 0
                continue
            at += 1
            tape[node + 1] = 0
            tape[node + 3] = 0
            close_container(tape, node, node + NODE)
            size = tape[node + 3]
        else:
            tape[node] = KIND_SCALAR | name
            if byte == 34:
                at += 1
                stop = string_end(data, at, end, state)
                if stop >= 0:
                    length = stop - at
                    if length < 64 and at + 64 <= data_size:
                        scalars[used] = 1 | (length << 2)
                        copy_wide(scalars, used + 1, data, at, length)
                        size = 1 + length
                    else:
                        size = text_header(scalars, used, length)
                        copy_bytes(scalars, used + size, data, at, length)
                        size += length
                    at = stop + 1
                elif stop == -1:
                    size = write_unescaped(data, at, end, scalars, used, state)
                    if size < 0:
                        return size
                    at = state[STATE_OFFSET] + 1
                else:
                    return stop + 1
            elif byte == 45 or (byte >= 48 and byte <= 57):
                at = parse_number(data, at, end, scalars, used, tape, node, powers, state)
                if at < 0:
                    return at
                size = tape[node + 3]
            else:
                at = parse_literal(data, at, end, scalars, used, state)
                if at < 0:
                    return at
                size = 1
            tape[node + 2] = node + NODE
            tape[node + 3] = size
            used += size
        # A value is complete: `node` is its place.
        count += 1
        total += size
        node += NODE
        while parent >= 0:
            byte = data[at] if at < end else 0
            if byte <= 32:
                at = skip_blanks(data, at, end)
                byte = data[at] if at < end else 0
            if byte == 44:
                at += 1
                break
            if byte != (125 if in_object else 93):
                state[STATE_OFFSET] = at
                return -JSON_BEHIND_FIELD if in_object else -JSON_BEHIND_ELEMENT
            at += 1
            stop = parent
            tape[stop + 1] = count
            tape[stop + 3] = total
            parent = close_container(tape, stop, node)
            in_object = 0
            name = 0
            if parent >= 0:
                in_object = 1 if tape[parent] & KIND_MASK == KIND_OBJECT else 0
                count = tape[parent + 1] + 1
                total = tape[parent + 3] + tape[stop + 3]
        if parent < 0:
            break
    at = skip_blanks(data, at, end)
    if at < end:
        state[STATE_OFFSET] = at
        return -JSON_END
    state[STATE_FOUND] = signed(found)
    state[STATE_CONTAINERS] = container
    state[STATE_SCALARS] = used
    return NEED_NOTHING
