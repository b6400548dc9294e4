"""Numbers from their decimal text: correctly rounded doubles and 128-bit integers, without the C library's locale."""

from __future__ import annotations

from varquet.kernels.source.dialect import (
    M64,
    InBytes,
    InInts,
    OutInts,
    bits_of_double,
    cython,
    i64,
    kernel,
    leading_zeros,
    mul_high,
    signed,
    u64,
)

DOUBLE_OVERFLOW = 1
DOUBLE_UNSURE = 2


@kernel
def double_from_decimal(digits: u64, exponent: i64, powers: InInts, result: OutInts, at: i64) -> i64:
    """Write to `result[at]` the bits of the double nearest to digits x 10^exponent; 0, or why not.

    This is the Eisel-Lemire method: the 64 leading bits of the digits times a 128-bit approximation of 10^exponent decide
    the rounding in all but a few cases, which are reported as DOUBLE_UNSURE. `powers` holds (high, low) for -342 to 308.
    """
    shift: i64
    high: u64
    low: u64
    more: u64
    power_high: u64
    mantissa: u64
    upper: i64
    power2: i64
    all_ones: u64 = 0xFFFFFFFFFFFFFFFF
    if digits == 0 or exponent < -342:
        result[at] = 0
        return 0
    if exponent > 308:
        return DOUBLE_OVERFLOW
    shift = leading_zeros(digits)
    digits = (digits << shift) & M64
    power_high = powers[2 * (exponent + 342)] & M64
    low = (digits * power_high) & M64
    high = mul_high(digits, power_high)
    if high & 0x1FF == 0x1FF:
        power_high = powers[2 * (exponent + 342) + 1] & M64
        more = mul_high(digits, power_high)
        low = (low + more) & M64
        if low < more:
            high += 1
    if low == all_ones and (exponent < -27 or exponent > 55):
        return DOUBLE_UNSURE
    upper = signed(high >> 63)
    mantissa = high >> (upper + 9)
    power2 = ((217706 * exponent) >> 16) + 63 + upper - shift + 1023
    if power2 <= 0:
        if 1 - power2 >= 64:
            result[at] = 0
            return 0
        mantissa >>= 1 - power2
        mantissa += mantissa & 1
        mantissa >>= 1
        # A mantissa that rounded up to 2^52 is the smallest normal number, whose bits are the same.
        result[at] = signed(mantissa)
        return 0
    if low <= 1 and exponent >= -4 and exponent <= 23 and mantissa & 3 == 1:
        # The product is exact and exactly halfway: round to even.
        if (mantissa << (upper + 9)) & M64 == high:
            mantissa -= 1
    mantissa += mantissa & 1
    mantissa >>= 1
    if mantissa >> 53:
        mantissa >>= 1
        power2 += 1
    if power2 >= 0x7FF:
        return DOUBLE_OVERFLOW
    mantissa ^= mantissa >> 52 << 52
    result[at] = signed(mantissa) | (power2 << 52)
    return 0


@kernel
def double_from_text(data: InBytes, start: i64, end: i64) -> i64:
    """The bits of the double nearest to a number's text, by Python's own correctly rounded conversion."""
    bits: i64 = 0
    with cython.gil:
        bits = bits_of_double(float(bytes(data[start:end])))
    return bits


@kernel
def wide_integer(data: InBytes, start: i64, end: i64, negative: i64, result: OutInts, low_at: i64, high_at: i64) -> i64:
    """Write the 128-bit two's complement of up to 38 digits (a point among them is passed over) to two places."""
    at: i64
    digit: i64
    low: u64 = 0
    high: u64 = 0
    carry: u64
    ten: u64 = 10
    for at in range(start, end):
        digit = data[at] - 48
        if digit < 0:
            continue
        carry = mul_high(low, ten)
        low = (low * ten) & M64
        high = (high * ten + carry) & M64
        carry = digit
        low = (low + carry) & M64
        if low < carry:
            high += 1
    if negative:
        low = (~low + 1) & M64
        high = (~high + (1 if low == 0 else 0)) & M64
    result[low_at] = signed(low)
    result[high_at] = signed(high)
    return 0
