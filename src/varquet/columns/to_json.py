"""`to_json`: a variant column to a column of JSON text."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
import pyarrow as pa

from varquet import kernels
from varquet.columns.arrow import Column, VariantSlice, binary_array, map_chunks
from varquet.columns.findings import finding
from varquet.columns.output import Output
from varquet.columns.reading import Scratch, map_slices, refused
from varquet.columns.threads import thread_count
from varquet.errors import UnsupportedTypeError
from varquet.kernels.source import _bytes as layout
from varquet.kernels.source import to_json as kernel

__all__ = ["to_json"]


def to_json(column: Column, *, on_error: Literal["raise", "null"] = "raise", threads: int | None = None) -> Column:
    """Write a variant column as JSON text; an SQL NULL stays null, a Variant null becomes the text `null`.

    The text is compact, object fields stand in the order of their names. What JSON has no type for becomes:

    | type | text |
    |---|---|
    | double, float | the shortest digits that identify it, always with an exponent: 1.5e0 (a plain 1.5 is a decimal) |
    | NaN, infinities | "NaN", "Infinity", "-Infinity" |
    | decimal | plain notation with all digits of its scale: 1.10 |
    | date | "2025-04-16" |
    | time | "12:33:54.123456" |
    | timestamp | "2025-04-16T16:34:56.780000Z", in nanoseconds with nine digits; timestamp_ntz without the Z |
    | binary | base64 with padding, quoted |
    | uuid | "f24f9b64-81fa-49d1-b74e-8c09a6e31c56" |

    `parse_json(to_json(x))` equals x for every value that came from JSON.

    Args:
        column: an Arrow variant column in any encoding, sliced or chunked.
        on_error: "raise" an InvalidVariantError at the first row whose bytes are no Variant, or make it "null".
        threads: how many threads to use; by default VARQUET_THREADS or all cores.
    """
    if on_error not in ("raise", "null"):
        raise UnsupportedTypeError(f"expected on_error to be 'raise' or 'null', got {on_error!r}")
    count = thread_count(threads)
    rows_before = 0

    def write_chunk(chunk: pa.Array) -> list[pa.Array]:
        nonlocal rows_before
        pieces: list[pa.Array] = []
        for _, (piece, bad) in map_slices(chunk, lambda part, first: _write_slice(part, rows_before + first), count):
            if bad and on_error == "raise":
                raise finding(bad[0][1], bad[0][0])
            pieces.append(piece)
        rows_before += len(chunk)
        return pieces

    return map_chunks(column, write_chunk, pa.string())


# So many names of a dictionary are kept as they are written, if they are no longer than this together.
_KNOWN_NAMES: Final = 512
_BYTES_OF_NAMES: Final = 1 << 14


class _Ratio:
    known = 2.0


# How long the last text was, in parts of its values: the first guess for the next.
_ratio = _Ratio()


def _write_slice(part: VariantSlice, first: int) -> tuple[pa.Array, list[tuple[int, int]]]:
    rows = len(part)
    scratch = Scratch()
    size = int(part.value.offsets[-1] - part.value.offsets[0])
    text = Output(int(_ratio.known * size) + 128)
    offsets = np.zeros(rows + 1, np.int64)
    status = np.zeros(rows, np.int64)
    names = np.empty(_BYTES_OF_NAMES, np.uint8)
    known = np.zeros(kernel.KNOWN_FIRST + _KNOWN_NAMES * kernel.KNOWN_SLOTS, np.int64)

    scratch.run(
        rows,
        lambda row: kernels.to_json.to_json_rows(
            part.metadata.data,
            part.metadata.starts,
            part.metadata.ends,
            part.value.data,
            part.value.offsets,
            part.valid,
            row,
            rows,
            scratch.stack,
            scratch.numbers,
            names,
            known,
            text.bytes,
            offsets,
            status,
            scratch.state,
        ),
        lambda: text.grow(int(scratch.state[layout.ROW_OUT])),
    )
    _ratio.known = min(8.0, max(1.0, 1.1 * int(offsets[-1]) / max(size, 1)))
    return binary_array(text.finish(int(offsets[-1])), offsets, part.valid & (status == 0), text=True), refused(status, first)
