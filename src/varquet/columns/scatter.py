"""Some rows of a column replaced by others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from varquet.columns.arrow import bitmap, validity_of

__all__ = ["byte_width", "replace_rows"]

Ints = npt.NDArray[np.int64]


def replace_rows(column: pa.Array, rows: Ints, values: pa.Array) -> pa.Array:
    """A column in which the rows of these numbers, which are in order, have these values of the same type."""
    kind = column.type
    if len(rows) == len(column):
        return values
    if pa.types.is_nested(kind):
        # Neither structs nor lists can be replaced in place: each row is taken from one or the other.
        places = np.arange(len(column), dtype=np.int64)
        places[rows] = len(column) + np.arange(len(values), dtype=np.int64)
        return pa.concat_arrays([column, values]).take(pa.array(places))
    if width := byte_width(kind):
        return _replace_fixed(column, rows, values, width)
    mask = np.zeros(len(column), bool)
    mask[rows] = True
    return pc.replace_with_mask(column, pa.array(mask), values)


def byte_width(kind: pa.DataType) -> int:
    """The bytes of each value of a type; 0 if they are not whole, or differ."""
    is_number = pa.types.is_primitive(kind) and not pa.types.is_boolean(kind)
    is_fixed = is_number or pa.types.is_decimal128(kind) or pa.types.is_fixed_size_binary(kind)
    return kind.bit_width // 8 if is_fixed else 0


def _replace_fixed(column: pa.Array, rows: Ints, values: pa.Array, width: int) -> pa.Array:
    # A third of the time that Arrow's own function takes, where few rows are replaced. Arrow's memory is warmer than numpy's.
    buffer = pa.allocate_buffer(len(column) * width)
    data = np.frombuffer(buffer, f"V{width}")
    data[:] = _fixed(column, width)
    data[rows] = _fixed(values, width)
    valid = validity_of(column)
    valid[rows] = validity_of(values)
    validity, nulls = bitmap(valid)
    return pa.Array.from_buffers(column.type, len(column), [validity, buffer], nulls)


def _fixed(array: pa.Array, width: int) -> npt.NDArray[np.void]:
    return np.frombuffer(array.buffers()[1], f"V{width}")[array.offset : array.offset + len(array)]
