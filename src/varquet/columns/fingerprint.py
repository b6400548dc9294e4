"""`fingerprint`: a number for every Variant that is the same for equal values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from varquet import kernels
from varquet.columns.arrow import Column, Spans, VariantSlice, bitmap, map_chunks
from varquet.columns.findings import raise_first
from varquet.columns.reading import Scratch, map_slices
from varquet.columns.threads import thread_count

__all__ = ["fingerprint", "fingerprint_slice", "fingerprint_spans", "signed"]

Ints = npt.NDArray[np.int64]


def fingerprint(column: Column, *, seed: int = 0, threads: int | None = None) -> Column:
    """A 64-bit number for every Variant: the same for equal values, however they are stored, and null for an SQL NULL.

    Values that mean the same have the same number, whatever the width of their integers, the scale of their decimals, the
    order of their fields or the names in their metadata. Others have another one, but for an accident of one in 2^64.
    `varquet.variant.fingerprint` says how it is made; it will not change, so that it can be kept.

    Args:
        column: an Arrow variant column in any encoding, sliced or chunked.
        seed: another one gives other numbers; one that nobody knows lets nobody make two values with the same.
        threads: how many threads to use; by default VARQUET_THREADS or all cores.
    """
    count = thread_count(threads)
    rows_before = 0

    def read_chunk(chunk: pa.Array) -> list[pa.Array]:
        nonlocal rows_before
        pieces = [piece for _, piece in map_slices(chunk, lambda part, first: _read_slice(part, seed, rows_before + first), count)]
        rows_before += len(chunk)
        return pieces

    return map_chunks(column, read_chunk, pa.uint64())


def fingerprint_slice(part: VariantSlice, seed: int, first: int) -> Ints:
    """The numbers of some rows, of which the first has this number; 0 for an SQL NULL."""
    rows = np.arange(len(part), dtype=np.int64)
    values = Spans(part.value.data, part.value.offsets[:-1], part.value.offsets[1:], part.valid)
    status = np.zeros(len(part), np.int64)
    hashes, fields = np.zeros(len(part), np.int64), np.zeros(len(part), np.int64)
    fingerprint_spans(part.metadata, values, rows, seed, hashes, fields, status)
    raise_first(status, first)
    return hashes


def _read_slice(part: VariantSlice, seed: int, first: int) -> pa.Array:
    hashes = fingerprint_slice(part, seed, first)
    validity, nulls = bitmap(part.valid)
    return pa.Array.from_buffers(pa.uint64(), len(part), [validity, pa.py_buffer(hashes)], nulls)


def fingerprint_spans(
    metadata: Spans, values: Spans, rows: Ints, seed: int, hashes: Ints, fields: Ints, status: Ints, *, is_open: bool = False
) -> None:
    """Write the numbers of values with the metadata of their rows, and how many fields each has, or -1 for what is no object.

    With is_open the number of an object is only the sum of what its fields give. `status` tells of the rows that are no Variants.
    """
    count = len(values.valid)
    scratch = Scratch()
    scratch.run(
        count,
        lambda first: kernels.fingerprint.fingerprint_values(
            metadata.data,
            metadata.starts,
            metadata.ends,
            values.data,
            values.starts,
            values.ends,
            values.valid,
            rows,
            first,
            count,
            signed(seed),
            int(is_open),
            hashes,
            fields,
            scratch.stack,
            status,
            scratch.state,
        ),
    )


def signed(seed: int) -> int:
    """A seed as kernels take it."""
    return (seed + (1 << 63)) % (1 << 64) - (1 << 63)
