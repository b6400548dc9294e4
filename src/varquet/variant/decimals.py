"""Decimals of the Variant encoding: an unscaled integer of up to 38 digits and a scale of 0 to 38.

Python's `Decimal` arithmetic rounds to the context's 28 digits, so nothing here calculates with it: values are taken
apart and put together by their digits.
"""

from __future__ import annotations

from decimal import Decimal

from varquet.types import MAX_DECIMAL_DIGITS, decimal_type_for_digits
from varquet.variant.model import Scalar

__all__ = ["decimal_of", "decimal_scalar", "fits_decimal", "unscaled_and_scale"]


def decimal_of(unscaled: int, scale: int) -> Decimal:
    """The decimal unscaled / 10**scale, with exactly `scale` digits behind the point.

    >>> decimal_of(110, 2)
    Decimal('1.10')
    """
    return Decimal(f"{unscaled}E-{scale}")


def unscaled_and_scale(number: Decimal) -> tuple[int, int]:
    """The integer and the scale of a finite decimal whose exponent is not positive.

    >>> unscaled_and_scale(Decimal("-1.10"))
    (-110, 2)
    """
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int) or exponent > 0:
        raise ValueError(f"expected a finite decimal without a positive exponent, got {number}")
    return int(Decimal((sign, digits, 0))), -exponent


def fits_decimal(unscaled: int, scale: int) -> bool:
    """Whether a Variant can hold this decimal."""
    return abs(unscaled) < 10**MAX_DECIMAL_DIGITS and 0 <= scale <= MAX_DECIMAL_DIGITS


def decimal_scalar(unscaled: int, scale: int) -> Scalar:
    """The decimal in the narrowest type that has room for its digits and for its scale.

    The encoding would allow a scale above the number of digits in any type; Spark calls a decimal4 with more than nine
    digits behind the point malformed, so the scale counts as well.
    """
    kind = decimal_type_for_digits(max(len(str(abs(unscaled))), scale))
    if kind is None:
        raise ValueError(f"expected a decimal of at most {MAX_DECIMAL_DIGITS} digits, got {unscaled}E-{scale}")
    return Scalar(kind, decimal_of(unscaled, scale))
