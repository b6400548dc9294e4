"""The values of one leaf of a schema: what fits its type becomes a typed column, the rest is gathered for the residual."""

from __future__ import annotations

from varquet.kernels.source._bytes import (
    BASIC_SHORT_STRING,
    copy_value,
    load_signed,
)
from varquet.kernels.source._codes import (
    BAD_DECIMAL_SCALE,
    BAD_STRING_UTF8,
)
from varquet.kernels.source._instances import (
    AHEAD,
    COUNT_LEFT,
    COUNT_LEFT_BYTES,
    COUNT_NUMBER,
    COUNT_TYPED,
    IS_MISSING,
    IS_RESIDUAL,
    IS_TYPED,
)
from varquet.kernels.source._unicode import is_utf8
from varquet.kernels.source._wide import rescale_exactly
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
    nogil,
    out_bytes,
    out_ints,
    prefetch,
    store64,
    store_le,
)

# Beyond every decimal of 18 digits.
TOO_WIDE = 4611686018427387904


@inlined
def rescale_small(number: i64, scale: i64, to_scale: i64, limit: i64) -> i64:
    """The same decimal of at most 18 digits with `to_scale`, or TOO_WIDE where digits are lost or it is not below the limit."""
    while scale < to_scale:
        if number > 99999999999999999 or number < -99999999999999999:
            return TOO_WIDE
        number *= 10
        scale += 1
    while scale > to_scale:
        # Towards zero, as C divides; Python must be told.
        if (number if number >= 0 else -number) % 10 != 0:
            return TOO_WIDE
        number = number // 10 if number >= 0 else -(-number // 10)
        scale -= 1
    return number if number < limit and number > -limit else TOO_WIDE


@kernel
def shred_exact(value: InBytes, at: i64, end: i64, tag: i64, precision: i64, scale: i64, limit: i64, exact: i64, out: OutInts) -> i64:
    """An exact number of any width for an integer (scale 0, precision = bits) or decimal column, if nothing is lost, to COUNT_NUMBER.

    `limit` is 10^precision for a decimal of at most 18 digits, else 0.
    """
    from_tag: i64 = value[at] >> 2
    from_scale: i64 = 0
    low: i64
    high: i64
    half: i64 = 1
    width: i64
    if from_tag >= 3 and from_tag <= 6:
        low = load_signed(value, at + 1, end - at - 1)
        high = -1 if low < 0 else 0
    elif from_tag >= 8 and from_tag <= 10:
        width = end - at - 2
        from_scale = value[at + 1]
        if from_scale > 38:
            return -BAD_DECIMAL_SCALE
        low = load_signed(value, at + 2, 8 if width == 16 else width)
        high = load_signed(value, at + 10, 8) if width == 16 else (-1 if low < 0 else 0)
    else:
        return IS_RESIDUAL
    if exact and (from_tag != tag or (tag >= 8 and from_scale != scale)):
        return IS_RESIDUAL
    if tag <= 6:
        if from_tag >= 8:
            if rescale_exactly(low, high, from_scale, 0, 38, out, COUNT_NUMBER) == 0:
                return IS_RESIDUAL
            low = out[COUNT_NUMBER]
            high = out[COUNT_NUMBER + 1]
        if high != (-1 if low < 0 else 0):
            return IS_RESIDUAL
        if precision < 64:
            half = half << (precision - 1)
            if low < -half or low >= half:
                return IS_RESIDUAL
        out[COUNT_NUMBER] = low
        return IS_TYPED
    if limit and from_tag < 10 and low <= 999999999999999999 and low >= -999999999999999999:
        low = rescale_small(low, from_scale, scale, limit)
        if low == TOO_WIDE:
            return IS_RESIDUAL
        out[COUNT_NUMBER] = low
        out[COUNT_NUMBER + 1] = -1 if low < 0 else 0
        return IS_TYPED
    return IS_TYPED if rescale_exactly(low, high, from_scale, scale, precision, out, COUNT_NUMBER) else IS_RESIDUAL


def shred_fixed(
    value: InBytesView,
    starts: InIntsView,
    ends: InIntsView,
    rows: InIntsView,
    instances: i64,
    tag: i64,
    precision: i64,
    scale: i64,
    exact: i64,
    width: i64,
    out: OutBytesView,
    bits: OutBytesView,
    outcome: OutBytesView,
    status: OutIntsView,
    counts: OutIntsView,
) -> i64:
    """Read the instances that fit a fixed-width typed_value whose Variant type is `tag`, `width` bytes each in `out`.

    Booleans have width 0 and take a bit. `bits` says which instances are typed; neither has a bit set before. COUNT_TYPED and
    the others say how many there are.

    Exact numbers cross widths and scales where nothing is lost, unless `exact` asks for the same physical type; nothing
    else crosses. For an integer `precision` is its bits, for a decimal its digits. Tag 1 stands for both booleans.
    """
    instance: i64
    at: i64
    from_tag: i64
    code: i64
    low: i64
    limit: i64 = 0
    is_exact: i64 = 1 if (tag >= 3 and tag <= 6) or (tag >= 8 and tag <= 10) else 0
    typed: i64 = 0
    left: i64 = 0
    left_bytes: i64 = 0
    value_p: InBytes = in_bytes(value)
    starts_p: InInts = in_ints(starts)
    ends_p: InInts = in_ints(ends)
    rows_p: InInts = in_ints(rows)
    out_p: OutBytes = out_bytes(out)
    bits_p: OutBytes = out_bytes(bits)
    outcome_p: OutBytes = out_bytes(outcome)
    status_p: OutInts = out_ints(status)
    counts_p: OutInts = out_ints(counts)
    with nogil:
        if tag >= 8 and tag <= 10 and precision <= 18:
            limit = 1
            for instance in range(precision):
                limit *= 10
        for instance in range(instances):
            if instance + AHEAD < instances:
                prefetch(value_p, starts_p[instance + AHEAD])
            at = starts_p[instance]
            code = IS_MISSING
            if at >= 0:
                code = IS_RESIDUAL
                if value_p[at] & 3 == 0:
                    from_tag = value_p[at] >> 2
                    if is_exact:
                        code = shred_exact(value_p, at, ends_p[instance], tag, precision, scale, limit, exact, counts_p)
                        if code < 0:
                            status_p[rows_p[instance]] = -code
                            code = IS_RESIDUAL
                    elif tag == 1:
                        if from_tag == 1 or from_tag == 2:
                            counts_p[COUNT_NUMBER] = 2 - from_tag
                            code = IS_TYPED
                    elif from_tag == tag:
                        counts_p[COUNT_NUMBER] = load_signed(value_p, at + 1, ends_p[instance] - at - 1)
                        code = IS_TYPED
            outcome_p[instance] = code
            low = 0
            if code == IS_TYPED:
                low = counts_p[COUNT_NUMBER]
                typed += 1
                bits_p[instance >> 3] |= 1 << (instance & 7)
            elif code == IS_RESIDUAL:
                left += 1
                left_bytes += ends_p[instance] - at
            if width == 8:
                store64(out_p, 8 * instance, low)
            elif width == 16:
                store64(out_p, 16 * instance, low)
                store64(out_p, 16 * instance + 8, counts_p[COUNT_NUMBER + 1] if code == IS_TYPED else 0)
            elif width == 0:
                if low:
                    out_p[instance >> 3] |= 1 << (instance & 7)
            else:
                store_le(out_p, width * instance, low, width)
        counts_p[COUNT_TYPED] = typed
        counts_p[COUNT_LEFT] = left
        counts_p[COUNT_LEFT_BYTES] = left_bytes
    return 0


def shred_text(
    value: InBytesView,
    starts: InIntsView,
    ends: InIntsView,
    rows: InIntsView,
    instances: i64,
    tag: i64,
    out: OutBytesView,
    offset_width: i64,
    out_offsets: OutBytesView,
    bits: OutBytesView,
    outcome: OutBytesView,
    status: OutIntsView,
    counts: OutIntsView,
) -> i64:
    """Copy the instances that are strings (tag 16), binary (15) or uuids (20); `out` has room for all instances, and COPIED_AT_ONCE more.

    Offsets have 4 or 8 bytes. `bits` and `counts` are as in shred_fixed.
    """
    instance: i64
    at: i64
    end: i64
    code: i64
    to: i64 = 0
    typed: i64 = 0
    left: i64 = 0
    left_bytes: i64 = 0
    value_p: InBytes = in_bytes(value)
    value_bytes: i64 = len(value)
    starts_p: InInts = in_ints(starts)
    ends_p: InInts = in_ints(ends)
    rows_p: InInts = in_ints(rows)
    out_p: OutBytes = out_bytes(out)
    out_offsets_p: OutBytes = out_bytes(out_offsets)
    bits_p: OutBytes = out_bytes(bits)
    outcome_p: OutBytes = out_bytes(outcome)
    status_p: OutInts = out_ints(status)
    counts_p: OutInts = out_ints(counts)
    with nogil:
        store_le(out_offsets_p, 0, 0, 4)
        if offset_width == 8:
            store64(out_offsets_p, 0, 0)
        for instance in range(instances):
            if instance + AHEAD < instances:
                prefetch(value_p, starts_p[instance + AHEAD])
            at = starts_p[instance]
            end = ends_p[instance]
            code = IS_MISSING
            if at >= 0:
                code = IS_RESIDUAL
                if value_p[at] & 3 == BASIC_SHORT_STRING:
                    at = at + 1 if tag == 16 else -1
                elif value_p[at] == tag << 2:
                    at = at + 1 if tag == 20 else at + 5
                else:
                    at = -1
                if at < 0:
                    left += 1
                    left_bytes += end - starts_p[instance]
                elif tag == 16 and is_utf8(value_p, at, end) == 0:
                    # The row is refused; whatever is not counted must not be gathered.
                    status_p[rows_p[instance]] = BAD_STRING_UTF8
                    code = IS_MISSING
                else:
                    to = copy_value(out_p, to, value_p, at, end - at, value_bytes)
                    code = IS_TYPED
                    typed += 1
                    bits_p[instance >> 3] |= 1 << (instance & 7)
            outcome_p[instance] = code
            if offset_width == 8:
                store64(out_offsets_p, 8 * (instance + 1), to)
            else:
                store_le(out_offsets_p, 4 * (instance + 1), to, 4)
        counts_p[COUNT_TYPED] = typed
        counts_p[COUNT_LEFT] = left
        counts_p[COUNT_LEFT_BYTES] = left_bytes
    return to


def gather_left(
    value: InBytesView,
    starts: InIntsView,
    ends: InIntsView,
    outcome: InBytesView,
    instances: i64,
    out: OutBytesView,
    out_offsets: OutIntsView,
    valid: OutBytesView,
) -> i64:
    """Copy the instances that are left for the residual one behind the other, and say which they are; the bytes copied.

    `out` has room for all of them, and COPIED_AT_ONCE more.
    """
    instance: i64
    to: i64 = 0
    value_p: InBytes = in_bytes(value)
    value_bytes: i64 = len(value)
    starts_p: InInts = in_ints(starts)
    ends_p: InInts = in_ints(ends)
    outcome_p: InBytes = in_bytes(outcome)
    out_p: OutBytes = out_bytes(out)
    out_offsets_p: OutInts = out_ints(out_offsets)
    valid_p: OutBytes = out_bytes(valid)
    with nogil:
        out_offsets_p[0] = 0
        for instance in range(instances):
            valid_p[instance] = 1 if outcome_p[instance] == IS_RESIDUAL else 0
            if valid_p[instance]:
                to = copy_value(out_p, to, value_p, starts_p[instance], ends_p[instance] - starts_p[instance], value_bytes)
            out_offsets_p[instance + 1] = to
    return to
