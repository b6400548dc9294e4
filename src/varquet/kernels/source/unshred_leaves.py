"""The values of one leaf of a schema, typed or residual, as Variant bytes."""

from __future__ import annotations

from varquet.kernels.source._bytes import (
    ROW_NEED,
    ROW_OUT,
    copy_value,
)
from varquet.kernels.source._codes import (
    BAD_BOTH_SET,
    NEED_NOTHING,
    NEED_VALUE,
)
from varquet.kernels.source._residual import copy_residual
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
    kernel,
    load64,
    load_le,
    nogil,
    out_bytes,
    out_ints,
    signed,
    store64,
    store_le,
)

# Bytes that a scalar takes at most besides its text, with room for what the last copy writes too much.
SCALAR_ROOM = 56


@kernel
def write_fixed(out: OutBytes, to: i64, tag: i64, scale: i64, low: i64, high: i64) -> i64:
    """A scalar of fixed width with its header; the position behind it."""
    if tag == 1:
        out[to] = (1 if low else 2) << 2
        return to + 1
    out[to] = tag << 2
    to += 1
    if tag == 3:
        store_le(out, to, low, 1)
        return to + 1
    if tag == 4:
        store_le(out, to, low, 2)
        return to + 2
    if tag == 5 or tag == 11 or tag == 14:
        store_le(out, to, low, 4)
        return to + 4
    if tag >= 8 and tag <= 10:
        out[to] = scale
        to += 1
        if tag == 8:
            store_le(out, to, low, 4)
            return to + 4
        store64(out, to, low)
        if tag == 9:
            return to + 8
        store64(out, to + 8, high)
        return to + 16
    store64(out, to, low)
    return to + 8


def unshred_fixed(
    numbers: InIntsView,
    typed_valid: InBytesView,
    value: InBytesView,
    value_offsets: InIntsView,
    value_valid: InBytesView,
    rows: InIntsView,
    first: i64,
    last: i64,
    tag: i64,
    scale: i64,
    stride: i64,
    out: OutBytesView,
    starts: OutIntsView,
    ends: OutIntsView,
    frame: OutIntsView,
    status: OutIntsView,
    state: OutIntsView,
) -> i64:
    """Write a primitive node's instances, `stride` numbers each: two for a decimal, else one; the instance reached.

    Tag 0 says that there is no typed_value.
    """
    instance: i64 = first
    to: i64
    code: i64
    numbers_p: InInts = in_ints(numbers)
    typed_valid_p: InBytes = in_bytes(typed_valid)
    value_p: InBytes = in_bytes(value)
    value_offsets_p: InInts = in_ints(value_offsets)
    value_valid_p: InBytes = in_bytes(value_valid)
    rows_p: InInts = in_ints(rows)
    out_p: OutBytes = out_bytes(out)
    out_size: i64 = len(out)
    starts_p: OutInts = out_ints(starts)
    ends_p: OutInts = out_ints(ends)
    frame_p: OutInts = out_ints(frame)
    status_p: OutInts = out_ints(status)
    state_p: OutInts = out_ints(state)
    with nogil:
        state_p[ROW_NEED] = NEED_NOTHING
        while instance < last:
            to = state_p[ROW_OUT]
            starts_p[instance] = -1
            if typed_valid_p[instance]:
                if value_valid_p[instance]:
                    status_p[rows_p[instance]] = BAD_BOTH_SET
                if to + SCALAR_ROOM > out_size:
                    state_p[ROW_NEED] = NEED_VALUE
                    break
                starts_p[instance] = to
                to = write_fixed(out_p, to, tag, scale, numbers_p[stride * instance], numbers_p[stride * instance + stride - 1])
            elif value_valid_p[instance]:
                code = copy_residual(value_p, value_offsets_p[instance], value_offsets_p[instance + 1], out_p, to, out_size, frame_p)
                if code < -1000:
                    state_p[ROW_NEED] = NEED_VALUE
                    break
                if code < 0:
                    status_p[rows_p[instance]] = -code
                else:
                    starts_p[instance] = to
                    to = code
            ends_p[instance] = to
            state_p[ROW_OUT] = to
            instance += 1
    return instance


def unshred_text(
    text: InBytesView,
    offsets: InBytesView,
    offset_width: i64,
    index: InBytesView,
    typed_valid: InBytesView,
    value: InBytesView,
    value_offsets: InIntsView,
    value_valid: InBytesView,
    rows: InIntsView,
    first: i64,
    last: i64,
    tag: i64,
    out: OutBytesView,
    starts: OutIntsView,
    ends: OutIntsView,
    frame: OutIntsView,
    status: OutIntsView,
    state: OutIntsView,
) -> i64:
    """Write the instances of a string (tag 16), binary (15) or uuid (20) node; the instance reached.

    Text k lies between two of the offsets, which have 4 or 8 bytes. Instance k has text k, or that whose number `index` has, in 4 bytes.
    """
    instance: i64 = first
    place: i64
    start: i64
    to: i64
    size: i64
    code: i64
    text_p: InBytes = in_bytes(text)
    text_size: i64 = len(text)
    offsets_p: InBytes = in_bytes(offsets)
    index_p: InBytes = in_bytes(index)
    is_indexed: i64 = 1 if len(index) > 0 else 0
    typed_valid_p: InBytes = in_bytes(typed_valid)
    value_p: InBytes = in_bytes(value)
    value_offsets_p: InInts = in_ints(value_offsets)
    value_valid_p: InBytes = in_bytes(value_valid)
    rows_p: InInts = in_ints(rows)
    out_p: OutBytes = out_bytes(out)
    out_size: i64 = len(out)
    starts_p: OutInts = out_ints(starts)
    ends_p: OutInts = out_ints(ends)
    frame_p: OutInts = out_ints(frame)
    status_p: OutInts = out_ints(status)
    state_p: OutInts = out_ints(state)
    with nogil:
        state_p[ROW_NEED] = NEED_NOTHING
        while instance < last:
            to = state_p[ROW_OUT]
            starts_p[instance] = -1
            if typed_valid_p[instance]:
                if value_valid_p[instance]:
                    status_p[rows_p[instance]] = BAD_BOTH_SET
                place = load_le(index_p, 4 * instance, 4) if is_indexed else instance
                if offset_width == 4:
                    start = load_le(offsets_p, 4 * place, 4)
                    size = load_le(offsets_p, 4 * place + 4, 4) - start
                else:
                    start = signed(load64(offsets_p, 8 * place))
                    size = signed(load64(offsets_p, 8 * place + 8)) - start
                if to + SCALAR_ROOM + size > out_size:
                    state_p[ROW_NEED] = NEED_VALUE
                    break
                starts_p[instance] = to
                if tag == 16 and size < 64:
                    out_p[to] = 1 | (size << 2)
                    to += 1
                else:
                    out_p[to] = tag << 2
                    to += 1
                    if tag != 20:
                        store_le(out_p, to, size, 4)
                        to += 4
                to = copy_value(out_p, to, text_p, start, size, text_size)
            elif value_valid_p[instance]:
                code = copy_residual(value_p, value_offsets_p[instance], value_offsets_p[instance + 1], out_p, to, out_size, frame_p)
                if code < -1000:
                    state_p[ROW_NEED] = NEED_VALUE
                    break
                if code < 0:
                    status_p[rows_p[instance]] = -code
                else:
                    starts_p[instance] = to
                    to = code
            ends_p[instance] = to
            state_p[ROW_OUT] = to
            instance += 1
    return instance
