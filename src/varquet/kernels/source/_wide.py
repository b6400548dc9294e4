"""128-bit decimals: another scale without losing a digit."""

from __future__ import annotations

from varquet.kernels.source._bytes import exceeds_38_digits
from varquet.kernels.source.dialect import M64, OutInts, i64, kernel, mul_high, signed, u64


@kernel
def rescale_exactly(low: u64, high: u64, scale: i64, to_scale: i64, precision: i64, out: OutInts, at: i64) -> i64:
    """Write to out[at], out[at + 1] the same number with `to_scale`; 1, or 0 where it would lose or exceed digits.

    The number is low and high as 128-bit two's complement.
    """
    negative: i64 = 1 if high >> 63 else 0
    ten: u64 = 10
    half: u64 = 0xFFFFFFFF
    part: u64
    rest: u64
    carry: u64
    digits: i64 = 0
    if exceeds_38_digits(low, high):
        return 0
    if negative:
        low = (~low + 1) & M64
        high = (~high + (1 if low == 0 else 0)) & M64
    if low == 0 and high == 0:
        scale = to_scale
    while scale > to_scale:
        # Divide by ten in 32-bit steps; a rest would be a lost digit.
        rest = high % ten
        high = high // ten
        part = (rest << 32) | (low >> 32)
        rest = part % ten
        part = part // ten
        rest = (rest << 32) | (low & half)
        low = (part << 32) | (rest // ten)
        if rest % ten:
            return 0
        scale -= 1
    while scale < to_scale:
        if high >> 60 or exceeds_38_digits(low, high):
            return 0
        carry = mul_high(low, ten)
        low = (low * ten) & M64
        high = (high * ten + carry) & M64
        scale += 1
    if exceeds_38_digits(low, high):
        return 0
    if precision < 38:
        digits = precision
        part = low
        carry = high
        # Below 10^precision: after so many divisions by ten nothing is left.
        while digits > 0:
            rest = carry % ten
            carry = carry // ten
            rest = (rest << 32) | (part >> 32)
            part = ((rest // ten) << 32) | ((((rest % ten) << 32) | (part & half)) // ten)
            digits -= 1
        if part != 0 or carry != 0:
            return 0
    if negative:
        low = (~low + 1) & M64
        high = (~high + (1 if low == 0 else 0)) & M64
    out[at] = signed(low)
    out[at + 1] = signed(high)
    return 1
