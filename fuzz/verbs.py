"""One batch through every verb, and what must hold whatever the bytes are.

Every input gives a value or a `VarquetError`; anything else is a fault. Beyond that:

- validate, to_json and the reference decoder agree on which rows are Variants (the reference on a sample, it is slow);
- strict validation refuses all that validation refuses;
- what to_json writes is JSON, and parse_json takes it;
- extract raises nothing on rows that are Variants, and its strings are UTF-8;
- what parse_json makes passes strict validation; with shared metadata it makes the same and refuses the same;
- what shred takes apart unshred puts together again, and both survive damaged bytes in any of their columns;
- fingerprint gives a shredded column the numbers of its values, in both layouts, and the way from one to the other keeps them;
- a row between other rows gives the same, and alone, where its last byte is the last of the buffer: reading past its end
  finds other bytes there, or none.

Memory. The outputs of one row stay within these bounds, and the peak of a whole batch within PEAK times its input and FLOOR:

    parse_json   metadata and value: 5 bytes for each byte of text, and 8 (worst are arrays in arrays, `[[[]]]`)
    extract      a part of the row, a scalar of at most 64 bytes, or the text of to_json
    to_json      112 V + 32 V N bytes for a value of V bytes, the longest name of its dictionary being N bytes long

The last one is no mere multiple, and cannot be: JSON repeats the name of a field wherever it stands, the encoding does not, and
both are legal. It is made up of 16 (a value may use its own bytes that many times over), 6 (`\\u0001` for one byte), and one name,
escaped, quoted and with its colon, for every three bytes that a field takes.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from unittest import mock

import pyarrow as pa

import varquet as vq
from fuzz.inputs import Batch, Row, is_for_one_by_one
from fuzz.memory import growth
from varquet.columns import extract as extracting
from varquet.errors import InvalidVariantError, VarquetError
from varquet.layouts import detach, put_together, share, take_apart
from varquet.layouts.fingerprints import ShreddedColumn
from varquet.layouts.shredding import LAYOUTS
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
PEAK: Final = 16
FLOOR: Final = 32 << 20

_TYPED_PATHS: Final = 2
_REFERENCE_SHARE: Final = 20
_ALONE_SHARE: Final = 10

# What stands behind a row that is read too far: zeros are nulls, the others go on where something was cut off.
_VALUES_BETWEEN: Final = (b"\x00" * 9, b"\xff" * 9, b"\x80" * 9, b"\x01" * 9)
_TEXTS_BETWEEN: Final = (b"\x80\xbf\x80\xbf", b'0041"', b'"', b"5e5", b"}]}]", b"\\u0041", b"ll", b"   1")

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
    size = max(1, inputs.size())
    with growth() as taken:
        _send(inputs, number, figures)
    figures.note("MiB taken by a batch", taken.bytes / (1 << 20))
    if size > 1 << 20:
        figures.note("memory / input of a batch of over 1 MiB", taken.bytes / size)
    _demand(taken.bytes <= PEAK * size + FLOOR, "memory", f"grew by {taken.bytes} bytes for {size} bytes of input")
    return figures


def warm_up(inputs: Batch) -> None:
    """Do everything once without a look at the memory, so that what is loaded and kept for good is there."""
    _send(inputs, 0, Figures())


def _send(inputs: Batch, number: int, figures: Figures) -> None:
    is_variant = _validate_and_write(inputs.rows, number, figures)
    good = [row for row, is_one in zip(inputs.rows, is_variant, strict=True) if is_one]
    bad = [row for row, is_one in zip(inputs.rows, is_variant, strict=True) if not is_one]
    _extract(good, number, figures, are_variants=True)
    _extract(bad, number, figures, are_variants=False)
    _shred(good, bad, number, figures)
    _parse(inputs.texts, number, figures)
    _ask_the_reference(inputs.rows, is_variant, number, figures)
    figures.counts["inputs"] += len(inputs.rows)


def _called(verb: str, call: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """The result of a call that must not raise at all."""
    try:
        return call(*arguments, **options)
    except FaultError:
        raise
    except Exception as error:
        raise FaultError(verb, f"{type(error).__name__}: {error}") from error


def _demand(holds: bool, verb: str, what: str) -> None:
    if not holds:
        raise FaultError(verb, what)


def _column(rows: Sequence[Row]) -> pa.StructArray:
    children = [pa.array([row[part] for row in rows], pa.binary()) for part in (0, 1)]
    return pa.StructArray.from_arrays(children, names=["metadata", "value"])


def _in_company(verb: str, outcomes: Callable[[Sequence[T]], list[Any]], inputs: Sequence[T], others: Sequence[T], number: int) -> None:
    """What comes of an input does not depend on what is around it, or on there being something around it."""
    expected = outcomes(inputs)
    mixed = [each for pair in zip(inputs, itertools.islice(itertools.cycle(others), number, None), strict=False) for each in pair]
    _demand(outcomes(mixed)[::2] == expected, verb, "depends on the rows around")
    share = 1 if is_for_one_by_one(number) else _ALONE_SHARE
    for place in range(number % share, len(inputs), share):
        _demand(outcomes([inputs[place]]) == [expected[place]], verb, f"differs for row {place} alone")


# Reading


def _validated(rows: Sequence[Row], *, strict: bool = False) -> list[Any]:
    findings = vq.validate(_column(rows), on_error="collect", strict=strict, threads=1)
    found: dict[int, Any] = {each.pop("row"): each for each in findings.to_pylist()}
    return [found.get(row) for row in range(len(rows))]


def _written(rows: Sequence[Row]) -> list[str | None]:
    texts: list[str | None] = vq.to_json(_column(rows), on_error="null", threads=1).to_pylist()
    return texts


def _validate_and_write(rows: list[Row], number: int, figures: Figures) -> list[bool]:
    column = _column(rows)
    is_variant = [finding is None for finding in _called("validate", _validated, rows)]
    refused = {row for row, is_one in enumerate(is_variant) if not is_one}
    strictly = {row for row, finding in enumerate(_called("strict validate", _validated, rows, strict=True)) if finding}
    _demand(refused <= strictly, "strict validate", f"accepts rows {sorted(refused - strictly)[:5]} that validate refuses")
    texts = _called("to_json", vq.to_json, column, on_error="null", threads=1)
    _called("to_json", texts.validate, full=True)
    written = texts.to_pylist()
    unwritten = {row for row, text in enumerate(written) if text is None}
    _demand(unwritten == refused, "to_json", f"and validate differ about rows {sorted(unwritten ^ refused)[:5]}")
    for (metadata, value), text in zip(rows, written, strict=True):
        if text is not None:
            size, longest = len(text.encode()), _longest_name(metadata)
            _demand(size <= 112 * len(value) + 32 * len(value) * longest, "to_json", f"writes {size} bytes for {len(value)}, {longest}")
            figures.note("to_json: text / value", size / len(value))
    _called("fingerprint", _fingerprint, rows, [number for number, is_one in enumerate(is_variant) if is_one])
    parsed = _called("parse_json of what to_json wrote", vq.parse_json, texts, threads=1)
    _demand(parsed.null_count == len(unwritten), "parse_json", "makes null of a text that to_json wrote")
    between = [(metadata, value) for metadata in _VALUES_BETWEEN for value in _VALUES_BETWEEN]
    _called("validate", _in_company, "validate", _validated, rows, between, number)
    _called("to_json", _in_company, "to_json", _written, rows, between, number)
    figures.counts["variants"] += len(rows) - len(refused)
    figures.counts["strict variants"] += len(rows) - len(strictly)
    return is_variant


def _fingerprint(rows: list[Row], good: list[int]) -> None:
    """Variants have a number, the same alone; of other bytes it raises or not, but never more than that."""
    numbers = vq.fingerprint(_column([rows[row] for row in good]), threads=1).to_pylist()
    for place in range(0, len(good), _ALONE_SHARE):
        alone = vq.fingerprint(_column([rows[good[place]]]), threads=1).to_pylist()
        _demand(alone == [numbers[place]], "fingerprint", f"differs for row {good[place]} alone")
    for row in sorted(set(range(len(rows))) - set(good)):
        with contextlib.suppress(VarquetError):
            vq.fingerprint(_column([rows[row]]), threads=1)
        with contextlib.suppress(VarquetError):
            vq.profile(_column([rows[row]]), threads=1)
    counted = _called("profile", vq.profile, _column([rows[row] for row in good]), threads=1, most_names=20 if len(good) > 100 else 16_384)
    _demand(counted.values == len(good), "profile", "does not count all rows")


def _longest_name(metadata: bytes) -> int:
    width = (metadata[0] >> 6) + 1
    count = int.from_bytes(metadata[1 : 1 + width], "little")
    offsets = [int.from_bytes(metadata[1 + i * width : 1 + (i + 1) * width], "little") for i in range(1, count + 2)]
    return max((after - before for before, after in itertools.pairwise(offsets)), default=0)


def _extract(rows: list[Row], number: int, figures: Figures, *, are_variants: bool) -> None:
    """All paths as Variants, and some of them, others in each batch, as every type."""
    column = _column(rows)
    of_what = "" if are_variants else " from damaged rows"
    between = [(metadata, value) for metadata in _VALUES_BETWEEN for value in _VALUES_BETWEEN]
    typed = [PATHS[(number + k * 5) % len(PATHS)] for k in range(_TYPED_PATHS)]
    for path in PATHS:
        verb = f"extract {path}{of_what}"
        with _all_rows():
            if path in typed:
                _called(verb, _in_company, verb, functools.partial(_parts, path=path), rows, between, number)
        with _nothing() if are_variants else _all_rows():
            parts = _called(verb, vq.extract, column, path, threads=1)
            _called(verb, parts.validate, full=True)
            if are_variants:
                findings = _called(f"validate what {verb} gives", vq.validate, parts, on_error="collect", threads=1).to_pylist()
                # A part may share more of its bytes, for its size, than the whole does.
                others = [each for each in findings if "expands to at most" not in each["message"]]
                _demand(not others, verb, f"gives what is no Variant: {others[:1]}")
            for target in TARGETS if path in typed else ():
                array = _called(f"{verb} as {target}", vq.extract, column, path, target, threads=1)
                _called(f"{verb} as {target}", array.validate, full=True)
                figures.counts["typed values"] += len(array) - array.null_count


def _parts(rows: Sequence[Row], path: str) -> list[Any]:
    column = _column(rows)
    numbers = vq.extract(column, path, "decimal(38,10)", threads=1).to_pylist()
    return list(zip(vq.extract(column, path, threads=1).to_pylist(), numbers, strict=True))


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@contextmanager
def _all_rows() -> Iterator[None]:
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

    with mock.patch.multiple(extracting, raise_first=lambda status, first: None, decode_value=decoded, try_cast=casted):
        yield


# Shredding

SCHEMAS: Final = (
    "a variant, b string, `` bigint, k array<variant>",
    "a struct<a: bigint, b: string>, b array<int>, z decimal(20,5), A double, value boolean",
    "array<variant>",
    "array<struct<a: string, b: array<string>, k: timestamp>>",
    "bigint",
    "string",
    "decimal(38,10)",
    "variant",
)


@contextmanager
def _no_checks() -> Iterator[None]:
    """Let shredding go on behind rows that it refuses, so that one does not hide the others."""
    with (
        mock.patch.object(take_apart._Column, "check"),
        mock.patch.object(put_together._Builder, "check"),
        mock.patch.object(share._Sharing, "check"),
        mock.patch.object(detach, "raise_first"),
    ):
        yield


def _shred(good: list[Row], bad: list[Row], number: int, figures: Figures) -> None:
    """Some schemas, others in each batch: Variants there and back, and damaged bytes in every column."""
    damaged = [*bad, *good[: len(bad) // 4]]
    for schema in (SCHEMAS[number % len(SCHEMAS)], SCHEMAS[(number * 3 + 1) % len(SCHEMAS)]):
        for shared in (False, True):
            verb = f"shred by {schema!r}{', shared' if shared else ''}"
            rows, shredded = _shredded(verb, good, schema, shared_metadata=shared)
            _called(verb, shredded.validate, full=True)
            back = _called(f"un{verb}", vq.unshred, shredded, threads=1)
            _demand(_same_values(back, rows), f"un{verb}", "gives other values back")
            with _no_checks():
                _called(f"{verb} of damaged rows", vq.shred, _column(damaged), schema, shared_metadata=shared, threads=1)
        _draft(good, schema, damaged)
        for mixed in _mixed(shredded, damaged):
            verb = f"unshred of damaged bytes by {schema!r}"
            with _no_checks():
                _called(verb, vq.unshred, mixed, threads=1)
            for strict in (False, True):
                try:
                    vq.unshred(mixed, strict=strict, threads=1)
                except VarquetError:
                    continue
                except Exception as error:
                    raise FaultError(verb, f"{type(error).__name__}: {error}") from error
    figures.counts["rows shredded"] += 4 * len(good)


def _shredded(verb: str, rows: list[Row], schema: str, **options: Any) -> tuple[list[Row], pa.StructArray]:
    """Shred rows, without those of which a part shares more of its bytes than is let through, though the whole does not."""
    while True:
        try:
            return rows, vq.shred(_column(rows), schema, exact_types=True, threads=1, **options)
        except InvalidVariantError as error:
            if "expands to at most" not in error.message or error.row is None:
                raise FaultError(verb, str(error)) from error
            rows = rows[: error.row] + rows[error.row + 1 :]
        except Exception as error:
            raise FaultError(verb, f"{type(error).__name__}: {error}") from error


def _draft(good: list[Row], schema: str, damaged: list[Row]) -> None:
    """The same in the layout of the first draft, whose residuals have a dictionary of their own."""
    verb = f"shred to the draft by {schema!r}"
    rows, shredded = _shredded(verb, good, schema, layout="draft")
    _called(verb, shredded.validate, full=True)
    back = _called(f"un{verb}", vq.unshred, shredded, layout="draft", threads=1)
    _demand(_same_values(back, rows), f"un{verb}", "gives other values back")
    parsed = vq.ShreddingSchema.parse(schema)
    column = ShreddedColumn(shredded, LAYOUTS["draft"], parsed)
    numbers = vq.fingerprint(_column(rows), threads=1)
    _demand(_called(verb, column.fingerprints).equals(numbers), verb, "changes fingerprints")
    standard = ShreddedColumn(_called("transcode", column.transcode, LAYOUTS["parquet"]), LAYOUTS["parquet"], parsed)
    _demand(not column.differs(standard).any(), "transcode", f"by {schema!r} changes values")
    _demand(standard.fingerprints().equals(numbers), "transcode", f"by {schema!r} changes fingerprints")
    untyped = pa.array([metadata + value for metadata, value in damaged], pa.binary())
    others = pa.StructArray.from_arrays([untyped], names=["untyped_value"])
    with _no_checks():
        _called(f"{verb} of damaged rows", vq.shred, _column(damaged), schema, layout="draft", threads=1)
        _called("unshred of damaged rows of the draft", vq.unshred, others, threads=1)
    for place in range(0, len(damaged), 7):
        try:
            vq.unshred(others[place : place + 1], threads=1)
        except VarquetError:
            continue
        except Exception as error:
            raise FaultError("unshred of a damaged row of the draft", f"{type(error).__name__}: {error}") from error


def _same_values(column: pa.StructArray, rows: list[Row]) -> bool:
    """Whether the values are the same but for the order of fields, which damaged rows may have wrong and shredding puts right."""
    texts, others = vq.to_json(column, threads=1), vq.to_json(_column(rows), threads=1)
    if texts.equals(others):
        return True
    return all(a == b or json.loads(a) == json.loads(b) for a, b in zip(texts.to_pylist(), others.to_pylist(), strict=True))


def _mixed(shredded: pa.StructArray, damaged: list[Row]) -> Iterator[pa.StructArray]:
    """A shredded column with the metadata, the values, or all bytes of other rows."""
    count = min(len(shredded), len(damaged))
    if count == 0:
        return
    rows = shredded[:count]
    others = _column(damaged[:count])
    fields = [field.with_nullable(True) for field in rows.type]
    plain = [field.with_type(pa.binary()) if field.name == "metadata" else field for field in fields]
    # A null here and there: what a value column has where everything is in a typed one.
    mask = pa.array([k % 3 == 0 for k in range(count)])
    values = pa.compute.if_else(mask, pa.scalar(None, pa.binary()), others.field("value"))
    own = rows.field("metadata").dictionary_decode()
    for metadata, value in ((others.field("metadata"), rows.field("value")), (own, values), (others.field("metadata"), values)):
        children = {"metadata": metadata, "value": value}
        parts = [children.get(field.name, rows.field(k)) for k, field in enumerate(fields)]
        yield pa.StructArray.from_arrays(parts, fields=plain)


# Parsing


def _parsed(texts: Sequence[bytes], mode: Any) -> list[Any]:
    parsed = vq.parse_json(pa.array(texts, pa.binary()), on_error="collect", duplicate_keys=mode, threads=1)
    found: dict[int, Any] = {each.pop("row"): each for each in parsed.errors.to_pylist()}
    return [found.get(row, made) for row, made in enumerate(parsed.column.to_pylist())]


def _parse(texts: list[bytes], number: int, figures: Figures) -> None:
    mode: Any = "last" if number % 2 else "error"
    column = pa.array(texts, pa.binary())
    parsed = _called("parse_json", vq.parse_json, column, on_error="collect", duplicate_keys=mode, threads=1)
    _demand(parsed.column.null_count == parsed.errors.num_rows, "parse_json", "has other errors than nulls")
    _called("validate what parse_json gives", vq.validate, parsed.column, strict=True, threads=1)
    _called("parse_json", _in_company, "parse_json", lambda some: _parsed(some, mode), texts, _TEXTS_BETWEEN, number)
    shared = _called("parse_json, shared", vq.parse_json, column, on_error="collect", duplicate_keys=mode, shared_metadata=True, threads=1)
    _demand(shared.errors.equals(parsed.errors), "parse_json, shared", "refuses other texts or gives other reasons")
    _demand(vq.to_json(shared.column).equals(vq.to_json(parsed.column)), "parse_json, shared", "makes other values")
    _called("validate what parse_json, shared, gives", vq.validate, shared.column, strict=True, threads=1)
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


# The reference


def _ask_the_reference(rows: list[Row], is_variant: list[bool], number: int, figures: Figures) -> None:
    share = range(number % _REFERENCE_SHARE, len(rows), _REFERENCE_SHARE)
    for row, text in zip(share, _written([rows[row] for row in share]), strict=True):
        try:
            expected = reference_to_json(decode(*rows[row]))
        except InvalidVariantError:
            expected = None
        _demand(text == expected, "to_json", f"writes {str(text)[:80]!r} for row {row}, the reference {str(expected)[:80]!r}")
        _demand(is_variant[row] == (expected is not None), "validate", f"and the reference differ about row {row}")
        shown = _called("repr", repr, Variant(*rows[row]))
        _demand(len(shown) < 400, "repr", f"has {len(shown)} characters")
        for path in PATHS[:6]:
            try:
                Variant(*rows[row]).get(path)
            except VarquetError:
                continue
    figures.counts["rows the reference saw"] += len(share)
