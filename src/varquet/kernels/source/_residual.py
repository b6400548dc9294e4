"""What nodes of all kinds do with their own `value` column where columns are put together again."""

from __future__ import annotations

from varquet.kernels.source._bytes import (
    value_size,
)
from varquet.kernels.source._codes import (
    BAD_VALUE_EMPTY,
    BAD_VALUE_LENGTH,
    NEED_VALUE,
)
from varquet.kernels.source.dialect import (
    InBytes,
    OutBytes,
    OutInts,
    copy_bytes,
    i64,
    kernel,
)


@kernel
def copy_residual(value: InBytes, at: i64, end: i64, out: OutBytes, to: i64, out_size: i64, frame: OutInts) -> i64:
    """Copy what stands in a value column, if it is one value as far as its own header tells.

    Returns the position behind it, minus a code, or less than -1000 where there is no more room.
    """
    size: i64
    if at >= end:
        return -BAD_VALUE_EMPTY
    size = value_size(value, at, end, frame, 0)
    if size < 0:
        return size
    if at + size != end:
        return -BAD_VALUE_LENGTH
    if to + size > out_size:
        return -1000 - NEED_VALUE
    copy_bytes(out, to, value, at, size)
    return to + size
