"""`parse_json`: a column of JSON text to a variant column."""

from __future__ import annotations

import functools
import threading
from dataclasses import dataclass
from typing import Any, Final, Literal, overload

import numpy as np
import pyarrow as pa

from varquet import kernels
from varquet.columns.arrow import VARIANT, Column, Flat, binary_array, flatten, grown, map_chunks, slices, variant_array
from varquet.columns.names import NameBuffers
from varquet.columns.threads import in_order, thread_count
from varquet.errors import JsonError, UnsupportedTypeError
from varquet.kernels.source import _codes as codes
from varquet.kernels.source import _interning as interning
from varquet.kernels.source import _tape as tape
from varquet.kernels.source import parse_json as layout
from varquet.variant import json_errors as expect
from varquet.variant.json_text import parse_json as reference_parse_json

__all__ = ["ParsedJson", "parse_json"]

_ROWS_PER_SLICE: Final = 32_768
_BYTES_PER_SLICE: Final = 8 << 20

_EXPECTED: Final = {
    codes.JSON_VALUE: expect.VALUE,
    codes.JSON_BEHIND_FIELD: expect.BEHIND_FIELD,
    codes.JSON_BEHIND_ELEMENT: expect.BEHIND_ELEMENT,
    codes.JSON_NAME: expect.NAME,
    codes.JSON_FIELD_OR_END: expect.FIELD_OR_END,
    codes.JSON_COLON: expect.COLON,
    codes.JSON_END: expect.END,
    codes.JSON_DIGIT: expect.DIGIT,
    codes.JSON_CONTROL: expect.NO_CONTROL,
    codes.JSON_UTF8: expect.UTF8,
    codes.JSON_ESCAPE: expect.ESCAPE,
    codes.JSON_HEX: expect.HEX_DIGITS,
    codes.JSON_HIGH_SURROGATE: expect.HIGH_SURROGATE,
    codes.JSON_LOW_SURROGATE: expect.LOW_SURROGATE,
    codes.JSON_CLOSING_QUOTE: expect.CLOSING_QUOTE,
    codes.JSON_IN_RANGE: expect.IN_RANGE,
    codes.JSON_TOO_LARGE: "a value below 4 GiB",
}


@dataclass(frozen=True, slots=True)
class ParsedJson:
    """What `parse_json(..., on_error="collect")` returns: the column, null where a text was refused, and the reasons."""

    column: Column
    errors: pa.Table
    """row: int64, offset: int64 (byte within the text), message: string; in the order of the rows."""


@overload
def parse_json(
    strings: Column,
    *,
    on_error: Literal["raise", "null"] = "raise",
    duplicate_keys: Literal["error", "last"] = "error",
    threads: int | None = None,
) -> Column: ...


@overload
def parse_json(
    strings: Column,
    *,
    on_error: Literal["collect"],
    duplicate_keys: Literal["error", "last"] = "error",
    threads: int | None = None,
) -> ParsedJson: ...


def parse_json(
    strings: Column,
    *,
    on_error: Literal["raise", "null", "collect"] = "raise",
    duplicate_keys: Literal["error", "last"] = "error",
    threads: int | None = None,
) -> Column | ParsedJson:
    """Parse a column of JSON texts (RFC 8259) into a variant column; nulls stay null.

    Numbers stay exact: integers take the narrowest width, larger ones and those with a point become decimals of up to 38
    digits (1.10 keeps its zero), those with an exponent or more digits become doubles. A double too large for its range,
    a lone surrogate, ill-formed UTF-8 and a field name that occurs twice are errors.

    Args:
        strings: an Arrow array of strings or UTF-8 bytes in any encoding, sliced or chunked.
        on_error: "raise" a JsonError at the first bad text, make it "null", or "collect" all errors beside the column.
        duplicate_keys: "error", or "last" to keep the last of the fields with one name.
        threads: how many threads to use; by default VARQUET_THREADS or all cores.
    """
    if on_error not in ("raise", "null", "collect"):
        raise UnsupportedTypeError(f"expected on_error to be 'raise', 'null' or 'collect', got {on_error!r}")
    if duplicate_keys not in ("error", "last"):
        raise UnsupportedTypeError(f"expected duplicate_keys to be 'error' or 'last', got {duplicate_keys!r}")
    count = thread_count(threads)
    errors: list[JsonError] = []
    rows_before = 0

    def parse_chunk(chunk: pa.Array) -> list[pa.Array]:
        nonlocal rows_before
        texts = flatten(chunk, "strings of JSON text")
        size = int(texts.offsets[-1] - texts.offsets[0])
        tasks = slices(len(texts), size, rows_per_slice=_ROWS_PER_SLICE, size_per_slice=_BYTES_PER_SLICE)
        pieces: list[pa.Array] = []
        for first, array, found in in_order(lambda task: _parse_slice(texts, *task, duplicate_keys == "last"), tasks, count):
            for row, status in found:
                error = _error(texts, first + row, status, rows_before + first + row)
                if on_error == "raise":
                    raise error
                errors.append(error)
            pieces.append(array)
        rows_before += len(texts)
        return pieces

    column = map_chunks(strings, parse_chunk, VARIANT)
    if on_error != "collect":
        return column
    return ParsedJson(
        column,
        pa.table(
            {
                "row": pa.array([error.row for error in errors], pa.int64()),
                "offset": pa.array([error.offset for error in errors], pa.int64()),
                "message": pa.array([error.message for error in errors], pa.string()),
            }
        ),
    )


def _error(texts: Flat, row: int, status: int, global_row: int) -> JsonError:
    text = texts.data[texts.offsets[row] : texts.offsets[row + 1]].tobytes()
    code, offset = status & 255, status >> 8
    if code == codes.JSON_NEW_NAME:
        # The kernel finds this only once the text is gone; the reference parser knows where.
        try:
            reference_parse_json(text)
        except JsonError as error:
            error.row = global_row
            return error
    return expect.json_error(text, offset, _EXPECTED[code], row=global_row)


@functools.cache
def powers_of_ten() -> np.ndarray[Any, np.dtype[np.int64]]:
    """The 128 leading bits of 10^-342 to 10^308, as (high, low) pairs."""
    words: list[int] = []
    for exponent in range(-342, 309):
        if exponent >= 0:
            power = 5**exponent
            shift = 128 - power.bit_length()
            word = power << shift if shift >= 0 else power >> -shift
        else:
            divisor = 5**-exponent
            bits = divisor.bit_length()
            word = (1 << (bits + 127)) // divisor + 1 if exponent >= -27 else (1 << (2 * bits + 128)) // divisor + 1
            word >>= max(0, word.bit_length() - 128)
        words += (word >> 64, word & ((1 << 64) - 1))
    return np.array(words, np.uint64).view(np.int64)


class _Scratch:
    """The buffers one thread parses with, kept and grown from slice to slice."""

    def __init__(self) -> None:
        self.names = NameBuffers()
        self.state = self.names.state
        self.unescaped = np.empty(1 << 16, np.uint8)
        self.shapes = np.empty(layout.SHAPES_MAX * layout.SHAPE, np.int64)
        self.shape_table = np.zeros(layout.SHAPE_SLOTS, np.int64)
        # How large the output was, in parts of the text: what the next slice starts with.
        self.metadata_ratio = 0.5
        self.value_ratio = 1.0
        self.grow_tape(4096 * tape.NODE)
        self.fit_names()

    def fit_names(self) -> None:
        """Give what holds a row's names room for as many as are known."""
        self.row_keys = np.empty(self.names.room, np.int64)
        self.shape_ints = np.empty(2 * self.names.room + (1 << 16), np.int64)
        self.forget_shapes()
        self.grow_tape(len(self.tape))

    def grow_tape(self, size: int) -> None:
        self.tape = np.empty(size, np.int64)
        # An object's fields are sorted in three parts of its width; a row's names in two parts of theirs.
        self.sorting = np.empty(max(3 * (size // tape.NODE), 2 * self.names.room, 64), np.int64)

    def forget_shapes(self) -> None:
        self.shape_table[:] = 0
        self.state[interning.STATE_SHAPES] = 0
        self.state[interning.STATE_SHAPE_INTS] = 0
        self.state[interning.STATE_LAST_SHAPE] = -1

    def satisfy(self, need: int) -> None:
        """Make room for what the kernel ran out of."""
        if need == codes.NEED_TAPE:
            self.grow_tape(2 * len(self.tape))
        elif need == codes.NEED_UNESCAPED:
            self.unescaped = np.empty(max(2 * len(self.unescaped), int(self.state[interning.STATE_NEED_SIZE])), np.uint8)
        elif need == codes.NEED_KEY_BYTES:
            self.names.grow(need)
        else:
            if need == codes.NEED_FRESH_KEYS:
                self.names.clear()
            else:
                self.names.grow(need)
            self.fit_names()

    def is_large(self) -> bool:
        """Whether one unusual row has made it larger than is worth keeping."""
        return self.tape.nbytes + self.unescaped.nbytes + self.names.info.nbytes + self.names.keys.nbytes > 64 << 20


_local = threading.local()


def _parse_slice(texts: Flat, first: int, last: int, keep_last: bool) -> tuple[int, pa.Array, list[tuple[int, int]]]:
    """Parse some rows: the first of them, their variants, and (row, status) of those refused."""
    scratch: _Scratch = getattr(_local, "scratch", None) or _Scratch()
    _local.scratch = None  # a failure must not leave half-used buffers behind
    scratch.forget_shapes()
    state = scratch.state
    state[interning.STATE_METADATA] = state[interning.STATE_VALUE] = 0
    part = texts.slice(first, last)
    rows = last - first
    size = int(part.offsets[-1] - part.offsets[0])
    metadata = pa.allocate_buffer(int(scratch.metadata_ratio * size) + 64, resizable=True)
    value = pa.allocate_buffer(int(scratch.value_ratio * size) + 64, resizable=True)
    metadata_offsets = np.zeros(rows + 1, np.int64)
    value_offsets = np.zeros(rows + 1, np.int64)
    status = np.zeros(rows, np.int64)
    row = 0
    while True:
        row = kernels.parse_json.parse_rows(
            part.data,
            part.offsets,
            part.valid,
            row,
            rows,
            int(keep_last),
            scratch.tape,
            scratch.unescaped,
            scratch.names.keys,
            scratch.names.info,
            scratch.names.table,
            scratch.row_keys,
            scratch.names.ranked,
            scratch.sorting,
            scratch.shapes,
            scratch.shape_table,
            scratch.shape_ints,
            powers_of_ten(),
            np.frombuffer(metadata, np.uint8),
            metadata_offsets,
            np.frombuffer(value, np.uint8),
            value_offsets,
            status,
            state,
        )
        need = int(state[interning.STATE_NEED])
        if need == codes.NEED_NOTHING:
            break
        if need == codes.NEED_METADATA:
            metadata = grown(metadata, int(state[interning.STATE_METADATA]), int(state[interning.STATE_NEED_SIZE]))
        elif need == codes.NEED_VALUE:
            value = grown(value, int(state[interning.STATE_VALUE]), int(state[interning.STATE_NEED_SIZE]))
        else:
            scratch.satisfy(need)
    scratch.metadata_ratio = 1.1 * float(metadata_offsets[-1]) / max(size, 1) + 0.01
    scratch.value_ratio = 1.1 * float(value_offsets[-1]) / max(size, 1) + 0.01
    if not scratch.is_large():
        _local.scratch = scratch
    # Shrinking would copy what was written; pages that were never touched cost nothing.
    metadata.resize(int(metadata_offsets[-1]), shrink_to_fit=False)
    value.resize(int(value_offsets[-1]), shrink_to_fit=False)
    valid = part.valid
    refused = np.flatnonzero(status)
    if len(refused):
        valid = valid.copy()
        valid[refused] = 0
    array = variant_array(binary_array(metadata, metadata_offsets, None), binary_array(value, value_offsets, None), valid)
    return first, array, [(int(r), int(status[r])) for r in refused]
