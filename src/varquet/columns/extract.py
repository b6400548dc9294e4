"""`extract`: one path of a variant column as a typed Arrow column, or as a smaller variant column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from varquet import kernels
from varquet.columns.arrow import VARIANT, Column, VariantSlice, binary_array, bitmap, map_chunks, plain, variant_array
from varquet.columns.findings import raise_first
from varquet.columns.output import Output
from varquet.columns.reading import Scratch, gather, map_slices
from varquet.columns.threads import thread_count
from varquet.columns.to_json import to_json
from varquet.errors import CastError, UnsupportedTypeError, VarquetError
from varquet.kernels.source import _bytes as layout
from varquet.kernels.source import _mismatches as targets
from varquet.kernels.source import extract as kernel
from varquet.kernels.source import extract_values as casts
from varquet.paths import Path
from varquet.types import BASIC_OBJECT, arrow_type_of_sql
from varquet.variant.cast import cast, try_cast
from varquet.variant.decode import Metadata, decode_value
from varquet.variant.model import Node

__all__ = ["extract", "extract_held"]

Ints = npt.NDArray[np.int64]

# Arrow type -> (kernel target, its two parameters, numpy type of the result).
_FIXED: Final[dict[pa.DataType, tuple[int, int, int, Any]]] = {
    pa.int8(): (targets.TO_INTEGER, 8, 0, np.int8),
    pa.int16(): (targets.TO_INTEGER, 16, 0, np.int16),
    pa.int32(): (targets.TO_INTEGER, 32, 0, np.int32),
    pa.int64(): (targets.TO_INTEGER, 64, 0, np.int64),
    pa.float64(): (targets.TO_DOUBLE, 0, 0, np.int64),
    pa.float32(): (targets.TO_FLOAT, 0, 0, np.int32),
    pa.bool_(): (targets.TO_BOOLEAN, 0, 0, np.uint8),
    pa.date32(): (targets.TO_DATE, 0, 0, np.int32),
    pa.time64("us"): (targets.TO_TIME, 0, 0, np.int64),
}
_PER_SECOND: Final = {"us": 1_000_000, "ns": 1_000_000_000}
_UUID: Final = pa.binary(16)
_FAR: Final = 1 << 40  # beyond all elements of an array, of which there are fewer than 2^32


def extract(
    column: Column,
    path: str | Path,
    type: pa.DataType | str | None = None,
    *,
    on_mismatch: Literal["null", "raise"] = "null",
    threads: int | None = None,
) -> Column:
    """The value at one path of every Variant: as a variant column, or cast to a type.

    Only the bytes on the way to the path's value are read: damage elsewhere in a row is for `validate` to find.

    A path that leads nowhere, an SQL NULL and, with a type, a Variant null give null. Casts have the results of Spark's
    `try_variant_get` (`variant_get` with on_mismatch="raise"); docs/casts.md lists them. Numbers cast by value: whether
    5 was stored as int8, int64 or decimal makes no difference.

    Args:
        column: an Arrow variant column in any encoding, sliced or chunked.
        path: a singular RFC 9535 path, such as $.user.geo, $['a.b'] or $.items[0]; $.items[-1] is the last element.
        type: an Arrow type or a SQL type name such as "bigint" or "decimal(10,2)"; None keeps Variants.
        on_mismatch: a value that cannot be cast becomes "null", or "raise" a CastError.
        threads: how many threads to use; by default VARQUET_THREADS or all cores.
    """
    if on_mismatch not in ("null", "raise"):
        raise UnsupportedTypeError(f"expected on_mismatch to be 'null' or 'raise', got {on_mismatch!r}")
    steps = Path.parse(path)
    target = arrow_type_of_sql(type) if isinstance(type, str) else type
    if target is not None and not isinstance(target, pa.DataType):
        raise UnsupportedTypeError(
            f"expected an Arrow type or the SQL name of a type, got {target!r}", hint="pa.int64() and 'bigint' are such"
        )
    reader = None if target is None else _reader(target)
    count = thread_count(threads)
    rows_before = 0

    def read_chunk(chunk: pa.Array) -> list[pa.Array]:
        nonlocal rows_before
        before = rows_before
        rows_before += len(chunk)
        try:
            return [piece for _, piece in map_slices(chunk, lambda part, first: read_slice(part, before + first), count)]
        except VarquetError as error:
            if error.row is not None:
                # What the reference found damaged has a path of its own, from the value that this one leads to.
                error.path = str(steps) + (error.path or "$")[1:]
            raise

    def read_slice(part: VariantSlice, first: int) -> pa.Array:
        starts, ends = _locate(part, steps, first)
        if reader is None:
            return _gather(part, starts, ends)
        array, outcome = reader(part, starts, ends, first)
        slow = outcome >= casts.IS_SLOW if on_mismatch == "raise" else outcome == casts.IS_SLOW
        array = _cast_slow(array, part, starts, ends, slow, target, first, on_mismatch == "raise")
        return array if array.type == target else array.cast(target)

    return map_chunks(column, read_chunk, VARIANT if target is None else target)


def extract_held(values: pa.Array, target: pa.DataType) -> tuple[Ints, pa.Array, Ints] | None:
    """Of a column of values, some of which are null, those that are not, as a type: much faster than `extract`, where these are few.

    Returns the numbers of their rows, what they are as the type, and the rows among these that are left to `extract`; None if
    the type is not one of a fixed width.
    """
    fixed = _fixed(target)
    if fixed is None:
        return None
    kind, first, second, width = fixed
    values = plain(values)
    validity, offsets, data = values.buffers()
    count = len(values) - values.null_count
    rows, numbers, outcome = np.empty(count, np.int64), np.zeros(count * _slots(kind), np.int64), np.empty(count, np.uint8)
    bits = np.full((values.offset + len(values) + 7) // 8, 255, np.uint8) if validity is None else np.frombuffer(validity, np.uint8)
    kernels.extract_values.held_rows(
        np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8),
        np.frombuffer(offsets, np.uint8),
        8 if pa.types.is_large_binary(values.type) else 4,
        bits,
        values.offset,
        len(values),
        kind,
        first,
        second,
        rows,
        numbers,
        outcome,
    )
    return rows, _fixed_array(target, kind, width, numbers, outcome), rows[outcome == casts.IS_SLOW]


_Reader = Callable[[VariantSlice, Ints, Ints, int], tuple[pa.Array, npt.NDArray[Any]]]


def _reader(target: pa.DataType) -> _Reader:
    """The way to read located values as this type; it returns the array and what became of each row."""
    fixed = _fixed(target)
    if fixed is not None:
        kind, first, second, width = fixed
        return lambda part, starts, ends, _: _read_fixed(part, starts, ends, target, kind, first, second, width)
    if target == _UUID:
        return lambda part, starts, ends, first: _read_text(part, starts, ends, target, targets.TO_UUID, first)
    if _is_text(target):
        return lambda part, starts, ends, first: _read_text(part, starts, ends, target, targets.TO_STRING, first)
    if pa.types.is_binary(target) or pa.types.is_large_binary(target) or pa.types.is_binary_view(target):
        return lambda part, starts, ends, first: _read_text(part, starts, ends, target, targets.TO_BINARY, first)
    raise UnsupportedTypeError(
        f"expected a type that a Variant value can be cast to, got {target}",
        hint="take a bool, a signed integer, float32, float64, decimal128, string, binary, binary(16), date32, "
        "time64('us') or a timestamp in 'us' or 'ns'",
    )


def _fixed(target: pa.DataType) -> tuple[int, int, int, Any] | None:
    """The kernel's target for a type of fixed width, its two parameters, and the numpy type of the result."""
    if pa.types.is_decimal128(target) and target.scale >= 0:
        return targets.TO_DECIMAL, target.precision, target.scale, np.int64
    if pa.types.is_timestamp(target) and target.unit in _PER_SECOND:
        return targets.TO_TIMESTAMP if target.tz else targets.TO_TIMESTAMP_NTZ, _PER_SECOND[target.unit], 0, np.int64
    return _FIXED.get(target)


def _is_text(target: pa.DataType) -> bool:
    return bool(pa.types.is_string(target) or pa.types.is_large_string(target) or pa.types.is_string_view(target))


def _locate(part: VariantSlice, path: Path, first: int) -> tuple[Ints, Ints]:
    names = bytearray()
    steps = np.zeros(len(path) * kernel.STEP_SLOTS, np.int64)
    for k, step in enumerate(path):
        slots = steps[k * kernel.STEP_SLOTS :]
        if isinstance(step, int):
            slots[kernel.STEP_IS_INDEX] = 1
            slots[kernel.STEP_START] = max(-_FAR, min(step, _FAR))
        else:
            name = step.encode("utf-8", "surrogatepass")  # a lone surrogate matches no name
            slots[kernel.STEP_START] = len(names)
            slots[kernel.STEP_LENGTH] = len(name)
            names += name
    rows = len(part)
    starts, ends, status = np.empty(rows, np.int64), np.empty(rows, np.int64), np.zeros(rows, np.int64)
    kernels.extract.locate_rows(
        part.metadata.data,
        part.metadata.starts,
        part.metadata.ends,
        part.value.data,
        part.value.offsets,
        part.valid,
        rows,
        np.frombuffer(bytes(names), np.uint8),
        steps,
        starts,
        ends,
        np.empty(layout.FRAME_SLOTS, np.int64),
        status,
        np.zeros(layout.ROW_SLOTS, np.int64),
    )
    raise_first(status, first)
    return starts, ends


def _gather(part: VariantSlice, starts: Ints, ends: Ints) -> pa.Array:
    values = gather(part.value.data, starts, ends)
    return variant_array(part.metadata_array, values, (starts >= 0).astype(np.uint8))


def _read_fixed(
    part: VariantSlice, starts: Ints, ends: Ints, target: pa.DataType, kind: int, first: int, second: int, width: Any
) -> tuple[pa.Array, npt.NDArray[Any]]:
    rows = len(part)
    numbers = np.zeros(rows * _slots(kind), np.int64)
    outcome = np.zeros(rows, np.uint8)
    kernels.extract_values.fixed_rows(part.value.data, starts, ends, rows, kind, first, second, numbers, outcome)
    return _fixed_array(target, kind, width, numbers, outcome), outcome


def _slots(kind: int) -> int:
    """How many numbers a kernel writes for each value."""
    return 2 if kind == targets.TO_DECIMAL else 1


def _fixed_array(target: pa.DataType, kind: int, width: Any, numbers: Ints, outcome: npt.NDArray[np.uint8]) -> pa.Array:
    data = np.packbits(numbers.astype(np.uint8), bitorder="little") if kind == targets.TO_BOOLEAN else numbers.astype(width, copy=False)
    validity, nulls = bitmap((outcome == casts.IS_READ).astype(np.uint8))
    return pa.Array.from_buffers(target, len(outcome), [validity, pa.py_buffer(data)], nulls)


def _read_text(
    part: VariantSlice, starts: Ints, ends: Ints, target: pa.DataType, kind: int, first: int
) -> tuple[pa.Array, npt.NDArray[Any]]:
    rows = len(part)
    scratch = Scratch()
    out = Output(int(np.sum(ends - starts)) + 128)
    offsets = np.zeros(rows + 1, np.int64)
    outcome = np.zeros(rows, np.uint8)
    status = np.zeros(rows, np.int64)

    scratch.run(
        rows,
        lambda row: kernels.extract_values.text_rows(
            part.value.data,
            part.value.offsets,
            starts,
            ends,
            row,
            rows,
            kind,
            out.bytes,
            offsets,
            outcome,
            status,
            scratch.state,
        ),
        lambda: out.grow(int(scratch.state[layout.ROW_OUT])),
    )
    raise_first(status, first)
    array = binary_array(out.finish(int(offsets[-1])), offsets, (outcome == casts.IS_READ).astype(np.uint8), text=kind == targets.TO_STRING)
    # Arrow cannot replace anything in views: they are made when all rows are there.
    is_view = pa.types.is_string_view(target) or pa.types.is_binary_view(target)
    return array if is_view or array.type == target else array.cast(target), outcome


def _cast_slow(
    array: pa.Array,
    part: VariantSlice,
    starts: Ints,
    ends: Ints,
    slow: npt.NDArray[Any],
    target: pa.DataType,
    first: int,
    is_strict: bool,
) -> pa.Array:
    """Fill in the rows that the kernel left to the reference cast."""
    if _is_text(target) and slow.any():
        array, slow = _write_containers(array, part, starts, ends, slow)
    rows = np.flatnonzero(slow)
    if not len(rows):
        return array
    results: list[object] = []
    known: dict[bytes, object] = {}  # scalars recur, above all those that cannot be cast
    for row in rows.tolist():
        value = part.value.data[starts[row] : ends[row]].tobytes()
        if value in known:
            results.append(known[value])
            continue
        metadata = part.metadata.data[part.metadata.starts[row] : part.metadata.ends[row]].tobytes()
        try:
            # Objects and arrays become text or nothing, and nothing is known without reading all of them.
            if value[0] & 3 >= BASIC_OBJECT and not _is_text(target):
                node: Node = {} if value[0] & 3 == BASIC_OBJECT else []
            else:
                node = decode_value(Metadata(metadata), value)
            results.append(cast(node, target) if is_strict else try_cast(node, target))
            if value[0] & 3 < BASIC_OBJECT:
                known[value] = results[-1]
        except VarquetError as error:
            error.row = first + row
            if not isinstance(error, CastError):
                error.offset = (error.offset or 0) + int(starts[row] - part.value.offsets[row])
            raise
    return pc.replace_with_mask(array, pa.array(slow), pa.array(results, array.type))


def _write_containers(
    array: pa.Array, part: VariantSlice, starts: Ints, ends: Ints, slow: npt.NDArray[Any]
) -> tuple[pa.Array, npt.NDArray[Any]]:
    """The JSON of all objects and arrays among the rows that are left; and what is left then."""
    rows = np.flatnonzero(slow)
    rows = rows[part.value.data[starts[rows]] & 3 >= BASIC_OBJECT]
    if not len(rows):
        return array, slow
    values = gather(part.value.data, starts[rows], ends[rows])
    variants = variant_array(part.metadata_array.take(pa.array(rows)), values, np.ones(len(rows), np.uint8))
    try:
        texts = to_json(variants, threads=1)
    except VarquetError:
        return array, slow  # the reference says where the damage is
    is_written = np.zeros(len(slow), bool)
    is_written[rows] = True
    return pc.replace_with_mask(array, pa.array(is_written), texts.cast(array.type)), slow & ~is_written
