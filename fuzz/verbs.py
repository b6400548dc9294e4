"""One batch through every verb, and what must hold whatever the bytes are.

Every input gives a value or a `VarquetError`; anything else is a failure. Beyond that:

- validate, to_json and the reference decoder agree on which rows are Variants (the reference on a sample, it is slow);
- strict validation refuses all that validation refuses;
- what to_json writes is JSON, and parse_json takes it;
- extract raises nothing on rows that are Variants, and its strings are UTF-8;
- what parse_json makes passes strict validation;
- the same rows in reverse order give the same results: reading past the end of a row would find other bytes there.

Memory. The outputs of one row stay within these bounds, and the peak of a whole batch within `PEAK` of its input:

    parse_json   metadata and value: 5 bytes for each byte of text, and 8 (worst are arrays in arrays, `[[[]]]`)
    extract      a part of the row, or a scalar of at most 64 bytes, or the text of to_json
    to_json      112 V + 32 V N bytes for a value of V bytes, the longest name of its dictionary being N bytes long

The last one is no mere multiple, and cannot be: JSON repeats the name of a field wherever it stands, the encoding does not, and
both are legal. It is made up of 16 (a value may use its own bytes that many times over), 6 (`\\u0001` for one byte), and one name,
escaped, quoted and with its colon, for every three bytes that a field takes.
"""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path as FilePath
from typing import Any, Final, TypeVar
from unittest import mock

import pyarrow as pa

import varquet as vq
from fuzz.inputs import Batch, Row
from varquet.columns import extract as extracting
from varquet.errors import InvalidVariantError, VarquetError
from varquet.variant import Variant, decode
from varquet.variant import to_json as reference_to_json
from varquet.variant.cast import try_cast
from varquet.variant.decode import decode_value
from varquet.variant.model import NULL, Node

__all__ = ["FLOOR", "PATHS", "PEAK", "TARGETS", "FaultError", "Figures", "run", "warm_up"]

PATHS: Final = ("$", "$.a", "$[0]", "$.b", "$[-1]", "$.a.b", "$.a[0]", "$[1].a", "$['']", "$['\uff5e']", "$.k1", "$[255]")
TARGETS: Final = (
    *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(38, 38), pa.decimal128(9, 2)),
    *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.binary(16), pa.date32(), pa.time64("us")),
    *(pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.timestamp("ns")),
)
_TYPED_PATHS: Final = 2
_REFERENCE_SHARE: Final = 20

PEAK: Final = 16
"""What a batch may take at any moment, in parts of its input ..."""
FLOOR: Final = 32 << 20
"""... and besides: scratch that is kept between calls, and the tables of this harness."""

T = TypeVar("T")


class FaultError(Exception):
    """A verb did what it must not do."""

    def __init__(self, verb: str, what: str) -> None:
        super().__init__(f"{verb}: {what}")


@dataclass
class Figures:
    """What was done, added up."""

    counts: Counter[str] = field(default_factory=Counter)
    largest: dict[str, float] = field(default_factory=dict)

    def add(self, other: Figures) -> None:
        self.counts += other.counts
        for name, ratio in other.largest.items():
            self.note(name, ratio)

    def note(self, name: str, ratio: float) -> None:
        self.largest[name] = max(self.largest.get(name, 0.0), ratio)


def run(inputs: Batch, number: int) -> Figures:
    """Send a batch through all verbs; raises FaultError, or whatever a verb raised that it must not raise."""
    figures = Figures()
    with _peak_memory(figures, max(1, inputs.size())):
        _send(inputs, number, figures)
    return figures


def warm_up(inputs: Batch) -> None:
    """Do everything once without a look at the memory, so that what is loaded and kept for good is there."""
    _send(inputs, 0, Figures())


def _send(inputs: Batch, number: int, figures: Figures) -> None:
    is_variant = _validate_and_write(inputs.rows, figures)
    good = [row for row, is_one in zip(inputs.rows, is_variant, strict=True) if is_one]
    bad = [row for row, is_one in zip(inputs.rows, is_variant, strict=True) if not is_one]
    _extract(good, number, figures, are_variants=True)
    _extract(bad, number, figures, are_variants=False)
    _parse(inputs.texts, number, figures)
    _ask_the_reference(inputs.rows, is_variant, number, figures)
    figures.counts["inputs"] += len(inputs.rows)


def _called(verb: str, call: Callable[[], T]) -> T:
    """The result of a call that must not raise at all."""
    try:
        return call()
    except Exception as error:
        raise FaultError(verb, f"{type(error).__name__}: {error}") from error


def _demand(holds: bool, verb: str, what: str) -> None:
    if not holds:
        raise FaultError(verb, what)


def _column(rows: list[Row]) -> pa.StructArray:
    children = [pa.array([row[part] for row in rows], pa.binary()) for part in (0, 1)]
    return pa.StructArray.from_arrays(children, names=["metadata", "value"])


# The verbs


def _validate_and_write(rows: list[Row], figures: Figures) -> list[bool]:
    column = _column(rows)
    findings = _called("validate", lambda: vq.validate(column, on_error="collect", threads=1)).to_pylist()
    refused = {finding["row"] for finding in findings}
    strictly = set(_called("strict validate", lambda: vq.validate(column, on_error="collect", strict=True, threads=1))["row"].to_pylist())
    _demand(refused <= strictly, "strict validate", f"accepts rows {sorted(refused - strictly)[:5]} that validate refuses")
    texts = _called("to_json", lambda: vq.to_json(column, on_error="null", threads=1))
    _called("to_json", lambda: texts.validate(full=True))
    written = texts.to_pylist()
    unwritten = {row for row, text in enumerate(written) if text is None}
    _demand(unwritten == refused, "to_json", f"and validate differ about rows {sorted(unwritten ^ refused)[:5]}")
    backwards = column.take(pa.array(range(len(rows) - 1, -1, -1), pa.int64()))
    again = [
        {**finding, "row": len(rows) - 1 - finding["row"]} for finding in vq.validate(backwards, on_error="collect", threads=1).to_pylist()
    ]
    _demand(again[::-1] == findings, "validate", "finds something else in another order of the rows")
    _demand(vq.to_json(backwards, on_error="null", threads=1).to_pylist()[::-1] == written, "to_json", "depends on the order of the rows")
    for (metadata, value), text in zip(rows, written, strict=True):
        if text is not None:
            size, longest = len(text.encode()), _longest_name(metadata)
            _demand(size <= 112 * len(value) + 32 * len(value) * longest, "to_json", f"writes {size} bytes for {len(value)}, {longest}")
            figures.note("to_json: text / value", size / len(value))
    parsed = _called("parse_json", lambda: vq.parse_json(texts, threads=1))
    _demand(parsed.null_count == len(unwritten), "parse_json", "makes null of a text that to_json wrote")
    figures.counts["variants"] += len(rows) - len(refused)
    figures.counts["strict variants"] += len(rows) - len(strictly)
    return [row not in refused for row in range(len(rows))]


def _longest_name(metadata: bytes) -> int:
    width = (metadata[0] >> 6) + 1
    count = int.from_bytes(metadata[1 : 1 + width], "little")
    offsets = [int.from_bytes(metadata[1 + i * width : 1 + (i + 1) * width], "little") for i in range(1, count + 2)]
    return max((after - before for before, after in pairwise(offsets)), default=0)


def _extract(rows: list[Row], number: int, figures: Figures, *, are_variants: bool) -> None:
    """All paths as Variants, and some of them, others in each batch, as every type."""
    column = _column(rows)
    backwards = column.take(pa.array(range(len(rows) - 1, -1, -1), pa.int64()))
    verb = "extract" if are_variants else "extract from damaged rows"
    with _every_row() if not are_variants else _nothing():
        for path in PATHS:
            parts = _called(f"{verb} {path}", lambda path=path: vq.extract(column, path, threads=1))  # type: ignore[misc]
            _called(f"{verb} {path}", lambda parts=parts: parts.validate(full=True))  # type: ignore[misc]
            again = vq.extract(backwards, path, threads=1).to_pylist()[::-1]
            _demand(again == parts.to_pylist(), f"{verb} {path}", "depends on the order of the rows")
            if are_variants:
                _called(f"validate what {verb} {path} gives", lambda parts=parts: vq.validate(parts, threads=1))  # type: ignore[misc]
        for path in [PATHS[(number + k * 5) % len(PATHS)] for k in range(_TYPED_PATHS)]:
            for target in TARGETS:
                what = f"{verb} {path} as {target}"
                array = _called(what, lambda path=path, target=target: vq.extract(column, path, target, threads=1))  # type: ignore[misc]
                _called(what, lambda array=array: array.validate(full=True))  # type: ignore[misc]
                figures.counts["typed values"] += len(array) - array.null_count


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@contextmanager
def _every_row() -> Iterator[None]:
    """Let extract pass over rows that are no Variants instead of raising at the first, so that one does not hide the others."""

    def decoded(*arguments: Any) -> Node:
        try:
            return decode_value(*arguments)
        except InvalidVariantError:
            return NULL

    def casted(*arguments: Any) -> object:
        try:
            return try_cast(*arguments)
        except InvalidVariantError:
            return None

    with mock.patch.multiple(extracting, _raise_first=lambda status, first: None, decode_value=decoded, try_cast=casted):
        yield


def _parse(texts: list[bytes], number: int, figures: Figures) -> None:
    mode: Any = "last" if number % 2 else "error"
    column = pa.array(texts, pa.binary())
    parsed = _called("parse_json", lambda: vq.parse_json(column, on_error="collect", duplicate_keys=mode, threads=1))
    _demand(parsed.column.null_count == parsed.errors.num_rows, "parse_json", "has other errors than nulls")
    _called("validate what parse_json gives", lambda: vq.validate(parsed.column, strict=True, threads=1))
    backwards = vq.parse_json(pa.array(texts[::-1], pa.binary()), on_error="collect", duplicate_keys=mode, threads=1)
    _demand(backwards.column.to_pylist()[::-1] == parsed.column.to_pylist(), "parse_json", "depends on the order of the rows")
    _demand(
        backwards.errors["offset"].to_pylist()[::-1] == parsed.errors["offset"].to_pylist(), "parse_json", "errs elsewhere in another order"
    )
    for text, row in zip(texts, parsed.column.to_pylist(), strict=True):
        if row is not None:
            size = len(row["metadata"]) + len(row["value"])
            _demand(size <= 5 * len(text) + 8, "parse_json", f"makes {size} bytes of {len(text)}")
            if len(text) > 1000:
                figures.note("parse_json: Variant / text of over 1,000 bytes", size / len(text))
    for offset, message in zip(parsed.errors["offset"].to_pylist(), parsed.errors["message"].to_pylist(), strict=True):
        _demand(offset >= 0 and message.startswith("expected ") and len(message) < 300, "parse_json", f"says {message!r} at {offset}")
    figures.counts["texts"] += len(texts)
    figures.counts["JSON texts"] += len(texts) - parsed.errors.num_rows


def _ask_the_reference(rows: list[Row], is_variant: list[bool], number: int, figures: Figures) -> None:
    share = range(number % _REFERENCE_SHARE, len(rows), _REFERENCE_SHARE)
    texts = _called("to_json", lambda: vq.to_json(_column([rows[row] for row in share]), on_error="null", threads=1)).to_pylist()
    for row, text in zip(share, texts, strict=True):
        try:
            expected = reference_to_json(decode(*rows[row]))
        except InvalidVariantError:
            expected = None
        _demand(text == expected, "to_json", f"writes {str(text)[:80]!r} for row {row}, the reference {str(expected)[:80]!r}")
        _demand(is_variant[row] == (expected is not None), "validate", f"and the reference differ about row {row}")
        shown = _called("repr", lambda row=row: repr(Variant(*rows[row])))  # type: ignore[misc]
        _demand(len(shown) < 400, "repr", f"has {len(shown)} characters")
        for path in PATHS[:6]:
            try:
                Variant(*rows[row]).get(path)
            except VarquetError:
                continue
    figures.counts["rows the reference saw"] += len(texts)


# Memory

_STATUS: Final = FilePath("/proc/self/status")
_CLEAR: Final = FilePath("/proc/self/clear_refs")


def _resident(which: str) -> int:
    """VmRSS, or VmHWM, its peak; where the system does not tell, the peak since the process started."""
    if _STATUS.exists():
        for line in _STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith(which):
                return int(line.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


@contextmanager
def _peak_memory(figures: Figures, size: int) -> Iterator[None]:
    """Fail if more than PEAK times the size, and FLOOR, was resident at some moment."""
    if _CLEAR.exists():
        _CLEAR.write_text("5", encoding="ascii")  # sets the peak back to what is resident now
    before = _resident("VmRSS")
    yield
    growth = _resident("VmHWM") - before
    figures.note("MiB taken by a batch", growth / (1 << 20))
    if size > 1 << 20:
        figures.note("memory / input of a batch of over 1 MiB", growth / size)
    _demand(growth <= PEAK * size + FLOOR, "memory", f"grew by {growth} bytes for {size} bytes of input")
