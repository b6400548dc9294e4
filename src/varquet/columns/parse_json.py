"""`parse_json`: a column of JSON text to a variant column."""

from __future__ import annotations

import functools
import threading
from dataclasses import dataclass
from typing import Any, Final, Literal, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from varquet import kernels
from varquet.columns.arrow import (
    MOST_SHARED_NAMES,
    SHARED_VARIANT,
    VARIANT,
    Column,
    Flat,
    binary_array,
    flatten,
    map_chunks,
    shared_metadata_array,
    slices,
    variant_array,
)
from varquet.columns.names import NameBuffers
from varquet.columns.output import Output
from varquet.columns.repeated_names import first_repeated_names
from varquet.columns.threads import in_order, thread_count
from varquet.errors import JsonError, UnsupportedTypeError
from varquet.kernels.source import _codes as codes
from varquet.kernels.source import _common_names as common_names
from varquet.kernels.source import _interning as interning
from varquet.kernels.source import _tape as tape
from varquet.kernels.source._json_scalars import EXACT_POWERS
from varquet.kernels.source.parse_shared import ROOT
from varquet.variant import json_errors as expect

__all__ = ["ParsedJson", "parse_json"]

Ints = npt.NDArray[np.int64]

_NO_ROWS: Final[Ints] = np.zeros(0, np.int64)
_ROWS_PER_SLICE: Final = 32_768
_BYTES_PER_SLICE: Final = 8 << 20
# What one thread parses is cut as well if metadata is shared: a block of lines stays in one piece, so that nothing must be joined.
_SHARED_BYTES_PER_SLICE: Final = 12 << 20
# Rows that share their metadata are on the tape together; this many nodes are 256 KiB, which the second cache holds. Which rows are
# together decides about bytes: these do not change with what a thread has parsed before.
_TAPE_NODES: Final = 8192
_SHARED_SCALARS: Final = 1 << 16

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
    codes.JSON_NEW_NAME: expect.NEW_NAME,
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
    shared_metadata: bool = False,
    threads: int | None = None,
) -> Column: ...


@overload
def parse_json(
    strings: Column,
    *,
    on_error: Literal["collect"],
    duplicate_keys: Literal["error", "last"] = "error",
    shared_metadata: bool = False,
    threads: int | None = None,
) -> ParsedJson: ...


def parse_json(
    strings: Column,
    *,
    on_error: Literal["raise", "null", "collect"] = "raise",
    duplicate_keys: Literal["error", "last"] = "error",
    shared_metadata: bool = False,
    threads: int | None = None,
) -> Column | ParsedJson:
    """Parse a column of JSON texts (RFC 8259) into a variant column; nulls stay null.

    Numbers stay exact: integers take the narrowest width, larger ones and those with a point become decimals of up to 38
    digits (1.10 keeps its zero), those with an exponent or more digits become doubles. A double too large for its range,
    a lone surrogate, ill-formed UTF-8 and a field name that occurs twice are errors.

    Args:
        strings: an Arrow array of strings or UTF-8 bytes in any encoding, sliced or chunked.
        on_error: "raise" a JsonError at the first bad text, make it "null", or "collect" all errors beside the column. Of a text with
            several mistakes the first one is reported.
        duplicate_keys: "error", or "last" to keep the last of the fields with one name.
        shared_metadata: give neighbouring rows one metadata with the names of all of them and return it dictionary-encoded:
            faster, smaller, and what `write` wants. Without it every row has the names that it uses and no others.
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
        size_per_slice = _SHARED_BYTES_PER_SLICE if shared_metadata else _BYTES_PER_SLICE
        tasks = slices(
            len(texts), size, rows_per_slice=_ROWS_PER_SLICE, size_per_slice=size_per_slice, threads=count, alike=shared_metadata
        )
        pieces: list[pa.Array] = []

        def parse_slice(task: tuple[int, int]) -> tuple[int, pa.Array, list[tuple[int, int, int]]]:
            array, status = _parse_slice(texts, *task, keep_last=duplicate_keys == "last", shared=shared_metadata)
            rows = np.flatnonzero(status) if on_error != "null" else _NO_ROWS
            if on_error == "raise":
                rows = rows[:1]
            part = texts.slice(*task)
            return task[0], array, _refusals(part, rows, status[rows], names_may_repeat=duplicate_keys == "last") if len(rows) else []

        for first, array, found in in_order(parse_slice, tasks, count):
            for row, code, offset in found:
                error = _error(texts, first + row, code, offset, rows_before + first + row)
                if on_error == "raise":
                    raise error
                errors.append(error)
            pieces.append(array)
        rows_before += len(texts)
        return pieces

    column = map_chunks(strings, parse_chunk, SHARED_VARIANT if shared_metadata else VARIANT)
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


def _refusals(texts: Flat, rows: Ints, status: Ints, *, names_may_repeat: bool) -> list[tuple[int, int, int]]:
    """(row, code, byte of the text) of rows that were refused: what is wrong first in each."""
    found, offsets = status & 255, status >> 8
    if not names_may_repeat:
        # The kernels come across a repeated name last, and do not know where it was.
        starts = texts.offsets[rows]
        ends = np.where(found == codes.JSON_NEW_NAME, texts.offsets[rows + 1], starts + offsets)
        repeated = first_repeated_names(texts.data, starts, ends)
        found = np.where(repeated >= 0, codes.JSON_NEW_NAME, found)
        offsets = np.where(repeated >= 0, repeated, offsets)
    return list(zip(rows.tolist(), found.tolist(), offsets.tolist(), strict=True))


def _error(texts: Flat, row: int, code: int, offset: int, global_row: int) -> JsonError:
    text = texts.data[texts.offsets[row] : texts.offsets[row + 1]].tobytes()
    return expect.json_error(text, offset, _EXPECTED[code], row=global_row)


@functools.cache
def powers_of_ten() -> np.ndarray[Any, np.dtype[np.int64]]:
    """The 128 leading bits of 10^-342 to 10^308, as (high, low) pairs; then 10^0 to 10^8."""
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
    assert len(words) == EXACT_POWERS
    words += [10**exponent for exponent in range(9)]
    return np.array(words, np.uint64).view(np.int64)


class _Scratch:
    """The buffers one thread parses with, kept and grown from slice to slice."""

    def __init__(self) -> None:
        self.names = NameBuffers()
        self.state = self.names.state
        self.scalars = np.empty(_SHARED_SCALARS, np.uint8)
        self.common = np.zeros(common_names.COMMON, np.int64)
        # How large the output was, in parts of the text: what the next slice starts with.
        self.metadata_ratio = {False: 0.5, True: 0.05}
        self.value_ratio = 1.0
        self.row_keys: Ints = np.zeros(0, np.int64)
        self.ranks: Ints = np.zeros(0, np.int64)
        self.grow_tape(_TAPE_NODES * tape.NODE)
        self.fit_names()

    def fit_names(self) -> None:
        """Give what holds a row's names room for as many as are known. A group keeps those it has, and their ranks."""
        row_keys, ranks = self.row_keys, self.ranks
        # Those of the row before lie behind them.
        self.row_keys = np.empty(2 * self.names.room, np.int64)
        self.row_keys[: len(row_keys) // 2] = row_keys[: len(row_keys) // 2]
        self.state[interning.STATE_LAST_NAMES] = -1
        self.ranks = np.empty(self.names.room, np.int64)
        self.ranks[: len(ranks)] = ranks
        self.grow_tape(len(self.tape))

    def grow_tape(self, size: int) -> None:
        nodes = size // tape.NODE
        self.tape = np.empty(size, np.int64)
        self.containers = np.empty((nodes + 1) * tape.CONTAINER, np.int64)
        self.roots = np.empty(nodes * ROOT, np.int64)
        # An object's fields are sorted in three parts of its width; a row's names in two parts of theirs.
        self.sorting = np.empty(max(3 * nodes, 2 * self.names.room, 64), np.int64)

    def forget_names(self, kept: int) -> None:
        """Forget all names but the first of row_keys, which a group of rows has so far."""
        numbers = self.row_keys[:kept].copy()
        names, ranks = self.names.some(numbers), self.ranks[numbers]
        self.names.clear()
        self.fit_names()
        for k, name in enumerate(names):
            number = self.names.number_of(name)
            self.row_keys[k], self.ranks[number] = number, ranks[k]
            self.names.info[number * interning.KEY + interning.KEY_SERIAL] = self.state[interning.STATE_SERIAL]

    def satisfy(self, need: int, *, shared: bool) -> None:
        """Make room for what the kernel ran out of."""
        if need == codes.NEED_TAPE:
            self.grow_tape(2 * len(self.tape))
        elif need == codes.NEED_SCALARS:
            self.scalars = np.empty(max(2 * len(self.scalars), int(self.state[interning.STATE_NEED_SIZE])), np.uint8)
        elif need == codes.NEED_KEY_BYTES:
            self.names.grow(need)
        elif need == codes.NEED_FRESH_KEYS:
            self.forget_names(int(self.state[interning.STATE_ROW_KEYS]) if shared else 0)
        else:
            self.names.grow(need)
            self.fit_names()

    def is_large(self) -> bool:
        """Whether one unusual row has made it larger than is worth keeping."""
        return self.tape.nbytes + self.scalars.nbytes + self.names.info.nbytes + self.names.keys.nbytes > 64 << 20


_local = threading.local()


def _parse_slice(texts: Flat, first: int, last: int, *, keep_last: bool, shared: bool) -> tuple[pa.Array, Ints]:
    """Parse some rows: their variants, and why rows were refused."""
    scratch: _Scratch = getattr(_local, "scratch", None) or _Scratch()
    _local.scratch = None  # a failure must not leave half-used buffers behind
    output = _Output(texts.slice(first, last), scratch, shared=shared)
    row = 0
    while True:
        row = output.parse(row, keep_last=keep_last)
        need = int(scratch.state[interning.STATE_NEED])
        if need == codes.NEED_NOTHING:
            break
        if need in (codes.NEED_METADATA, codes.NEED_VALUE):
            output.grow(need)
        else:
            scratch.satisfy(need, shared=shared)
    array = output.finish()
    if not scratch.is_large():
        _local.scratch = scratch
    return array, output.status


class _Output:
    """What becomes of the texts of one slice."""

    def __init__(self, texts: Flat, scratch: _Scratch, *, shared: bool) -> None:
        self.texts = texts
        self.scratch = scratch
        self.shared = shared
        self.state = scratch.state
        self.state[interning.STATE_METADATA] = self.state[interning.STATE_VALUE] = self.state[interning.STATE_ENTRIES] = 0
        self.state[interning.STATE_LAST_NAMES] = -1
        self.state[interning.STATE_GROUP_ENDS] = 1
        rows = len(texts)
        self.size = int(texts.offsets[-1] - texts.offsets[0])
        self.metadata = Output(int(scratch.metadata_ratio[shared] * self.size) + 64)
        self.value = Output(int(scratch.value_ratio * self.size) + 64)
        self.metadata_offsets = np.zeros(rows + 1, np.int64)
        self.value_offsets = np.zeros(rows + 1, np.int64)
        self.entries = np.zeros(rows if shared else 0, np.int64)
        self.status = np.zeros(rows, np.int64)

    def parse(self, row: int, *, keep_last: bool) -> int:
        """Parse from a row on; the row reached."""
        texts, scratch = self.texts, self.scratch
        source = (texts.data, texts.offsets, texts.valid, row, len(texts), int(keep_last))
        names = (scratch.names.keys, scratch.names.info, scratch.names.table, scratch.row_keys, scratch.names.ranked)
        if self.shared:
            return int(
                kernels.parse_shared.parse_shared_rows(
                    *source,
                    MOST_SHARED_NAMES,
                    _TAPE_NODES,
                    _SHARED_SCALARS,
                    scratch.tape,
                    scratch.containers,
                    scratch.scalars,
                    *names,
                    scratch.sorting,
                    scratch.ranks,
                    scratch.roots,
                    powers_of_ten(),
                    self.metadata.bytes,
                    self.metadata_offsets,
                    self.entries,
                    self.value.bytes,
                    self.value_offsets,
                    self.status,
                    self.state,
                )
            )
        return int(
            kernels.parse_json.parse_rows(
                *source,
                scratch.tape,
                scratch.containers,
                scratch.scalars,
                *names,
                scratch.sorting,
                scratch.common,
                scratch.ranks,
                powers_of_ten(),
                self.metadata.bytes,
                self.metadata_offsets,
                self.value.bytes,
                self.value_offsets,
                self.status,
                self.state,
            )
        )

    def grow(self, need: int) -> None:
        size = int(self.state[interning.STATE_NEED_SIZE])
        if need == codes.NEED_METADATA:
            self.metadata.grow(int(self.state[interning.STATE_METADATA]), size)
        else:
            self.value.grow(int(self.state[interning.STATE_VALUE]), size)

    def finish(self) -> pa.Array:
        """The variants; null where texts were refused."""
        metadata_used, value_used = int(self.state[interning.STATE_METADATA]), int(self.state[interning.STATE_VALUE])
        self.scratch.metadata_ratio[self.shared] = 1.1 * metadata_used / max(self.size, 1) + 0.01
        self.scratch.value_ratio = 1.1 * value_used / max(self.size, 1) + 0.01
        valid = self.texts.valid
        refused = np.flatnonzero(self.status)
        if len(refused):
            valid = valid.copy()
            valid[refused] = 0
        names = self.metadata.finish(metadata_used)
        if self.shared:
            made = int(self.state[interning.STATE_ENTRIES])
            metadata = shared_metadata_array(self.entries, binary_array(names, self.metadata_offsets[: made + 1], None))
        else:
            metadata = binary_array(names, self.metadata_offsets, None)
        return variant_array(metadata, binary_array(self.value.finish(value_used), self.value_offsets, None), valid)
