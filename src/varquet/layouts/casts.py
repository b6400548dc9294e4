"""Casting columns that are typed already, with the rules that `extract` has for Variants."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from varquet.columns.arrow import bitmap, plain, validity_of
from varquet.columns.extract import extract
from varquet.errors import UnsupportedTypeError
from varquet.layouts.shredding import unshred
from varquet.paths import Path
from varquet.variant.metadata import EMPTY_METADATA

__all__ = ["WIDER", "cast_typed", "cast_value", "is_wider_decimal"]

WIDER: Final = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
}
"""Types of Arrow that Variants and others have not, with the smallest ones that hold all of their values."""

# What fits into the 53 bits of a double.
_EXACT_DIGITS: Final = 15
_EXACT_POWER: Final = 22


def cast_typed(array: pa.Array, target: pa.DataType) -> pa.Array:
    """A typed column as another type, as `extract` casts."""
    kind = array.type
    if kind == target:
        return array
    if pa.types.is_signed_integer(kind) and pa.types.is_signed_integer(target) and kind.bit_width <= target.bit_width:
        return array.cast(target)
    if pa.types.is_integer(kind) and pa.types.is_float64(target):
        return array.cast(target, safe=False)
    if pa.types.is_float32(kind) and pa.types.is_float64(target):
        return array.cast(target)
    if pa.types.is_decimal128(kind) and pa.types.is_float64(target):
        doubles = _exact_doubles(array)
        if doubles is not None:
            return doubles
    if pa.types.is_decimal128(kind) and pa.types.is_decimal128(target) and is_wider_decimal(kind, target):
        return array.cast(target)
    rows = len(array)
    fields = [pa.field("metadata", pa.binary()), pa.field("value", pa.binary()), pa.field("typed_value", kind)]
    children = [pa.repeat(pa.scalar(EMPTY_METADATA, pa.binary()), rows), pa.nulls(rows, pa.binary()), array]
    made = pa.StructArray.from_arrays(children, fields=fields, mask=pc.is_null(array))
    return extract(unshred(made, layout="parquet", threads=1), Path(), target, threads=1)


def cast_value(values: pa.Array, target: pa.DataType | None) -> pa.Array:
    """Values of a map as a type, or as they are."""
    if target is None or values.type == target:
        return values
    if pa.types.is_nested(values.type):
        raise UnsupportedTypeError(f"expected a map of single values to cast to {target}, got one of {values.type}")
    values = plain(values)
    return cast_typed(values.cast(pa.string()) if pa.types.is_large_string(values.type) else values, target)


def is_wider_decimal(kind: pa.DataType, target: pa.DataType) -> bool:
    """Whether a decimal type has room for all values of another, as they are."""
    return bool(target.scale >= kind.scale and target.precision - target.scale >= kind.precision - kind.scale)


def _exact_doubles(array: pa.Array) -> pa.Array | None:
    """Decimals as doubles, where both the digits and the power of ten are doubles themselves, so that one division rounds rightly."""
    kind = array.type
    if kind.scale > _EXACT_POWER:
        return None
    words = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2)[array.offset : array.offset + len(array)]
    low = words[:, 0]
    if kind.precision > _EXACT_DIGITS:
        is_small = (words[:, 1] == (low >> 63)) & (np.abs(low) < 1 << 53)
        if not (is_small | (validity_of(array) == 0)).all():
            return None
    validity = array.buffers()[0]
    if validity is not None and array.offset:
        validity = bitmap(validity_of(array))[0]
    # Arrow's memory, which is used again sooner than numpy's.
    doubles = pa.allocate_buffer(8 * len(array))
    np.divide(low, float(10**kind.scale), out=np.frombuffer(doubles, np.float64))
    return pa.Array.from_buffers(pa.float64(), len(array), [validity, doubles], array.null_count)
