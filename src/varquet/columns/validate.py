"""`validate`: whether the bytes of a column are Variants."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
import pyarrow as pa

from varquet import kernels
from varquet.columns.arrow import Column, VariantSlice, chunks_of, plain, validity_of
from varquet.columns.findings import finding, findings_table
from varquet.columns.reading import Scratch, map_slices, refused
from varquet.columns.threads import thread_count
from varquet.errors import UnsupportedTypeError
from varquet.kernels.source import _codes as codes

__all__ = ["validate"]


@overload
def validate(column: Column, *, on_error: Literal["raise"] = "raise", strict: bool = False, threads: int | None = None) -> None: ...


@overload
def validate(column: Column, *, on_error: Literal["collect"], strict: bool = False, threads: int | None = None) -> pa.Table: ...


def validate(
    column: Column,
    *,
    on_error: Literal["raise", "collect"] = "raise",
    strict: bool = False,
    threads: int | None = None,
) -> pa.Table | None:
    """Check every header, offset, field name and text of a variant column, as one must before trusting foreign bytes.

    Accepted is what the encoding specification lets a reader meet: unsorted or unused dictionary entries, widths larger
    than needed, values in any order, reserved bits. `strict` refuses what a writer may not do: fields out of order, a sorted
    flag that is not true, reserved bits, decimals with more digits than their width is for, and a null metadata or value in a row
    that is not null itself, which every reader here takes for an SQL NULL.

    Args:
        column: an Arrow variant column in any encoding, sliced or chunked; nulls are fine.
        on_error: "raise" an InvalidVariantError at the first bad row, or "collect": return a table of all bad rows with
            row, rule, offset and message (one finding for each row).
        strict: also refuse what readers accept but writers must not produce.
        threads: how many threads to use; by default VARQUET_THREADS or all cores.
    """
    if on_error not in ("raise", "collect"):
        raise UnsupportedTypeError(f"expected on_error to be 'raise' or 'collect', got {on_error!r}")
    count = thread_count(threads)
    found: list[tuple[int, int]] = []
    rows_before = 0

    def check(part: VariantSlice, first: int) -> list[tuple[int, int]]:
        status = _check_slice(part, strict=strict)
        if strict:
            held = rows[first : first + len(part)]
            status[held > part.value.valid] = codes.BAD_VALUE_NULL
            status[held > part.metadata.valid] = codes.BAD_METADATA_NULL
        return refused(status, rows_before + first)

    for chunk in chunks_of(column):
        rows = validity_of(plain(chunk))
        for _, bad in map_slices(chunk, check, count):
            if bad and on_error == "raise":
                raise finding(bad[0][1], bad[0][0])
            found += bad
        rows_before += len(chunk)
    return findings_table(found) if on_error == "collect" else None


def _check_slice(part: VariantSlice, *, strict: bool) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    scratch = Scratch()
    status = np.zeros(len(part), np.int64)
    scratch.run(
        len(part),
        lambda row: kernels.validate.validate_rows(
            part.metadata.data,
            part.metadata.starts,
            part.metadata.ends,
            part.value.data,
            part.value.offsets,
            part.valid,
            row,
            len(part),
            int(strict),
            scratch.stack,
            scratch.numbers,
            status,
            scratch.state,
        ),
    )
    return status
