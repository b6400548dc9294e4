"""`extract` finds what navigating the decoded value finds, and casts it as the reference cast does, in every build."""

from __future__ import annotations

import importlib
import random
import struct
from collections.abc import Sequence
from decimal import Decimal, localcontext
from typing import Any

import pyarrow as pa
import pytest
from cast_values import BINARIES, DAYS, MICROS, edge_values, identifier, random_values, time, timestamp_nanos, timestamp_ntz_nanos
from hypothesis import strategies as st
from kernel_builds import BUILDS, law_on_every_build, using
from strategies import EDGE_KEYS, encodings, keys, nodes, physical, scalars
from variant_columns import column_of, nodes_column, rows_of
from variant_damage import damaged

import varquet as vq
from varquet.errors import CastError, InvalidVariantError
from varquet.paths import Path
from varquet.types import BY_NAME
from varquet.variant import Scalar, decode, encode
from varquet.variant.cast import cast, try_cast
from varquet.variant.metadata import Metadata
from varquet.variant.model import Node

extracting = importlib.import_module("varquet.columns.extract")

TARGETS = [
    pa.bool_(),
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.float32(),
    pa.float64(),
    pa.decimal128(38, 0),
    pa.decimal128(38, 38),
    pa.decimal128(18, 0),
    pa.decimal128(9, 2),
    pa.decimal128(1, 0),
    pa.decimal128(20, 19),
    pa.string(),
    pa.large_string(),
    pa.binary(),
    pa.large_binary(),
    pa.binary(16),
    pa.date32(),
    pa.time64("us"),
    pa.timestamp("us", "UTC"),
    pa.timestamp("us"),
    pa.timestamp("ns", "UTC"),
    pa.timestamp("ns"),
]
_FLOATS = {pa.float32(): ("<f", "<i"), pa.float64(): ("<d", "<q")}


def _same(array: pa.Array, payloads: Sequence[Any]) -> None:
    """The array holds these payloads, bit for bit: -0.0 is not 0.0, and NaN is NaN."""
    assert len(array) == len(payloads)
    if array.type in _FLOATS:
        real, _ = _FLOATS[array.type]
        assert [_bits(real, number) for number in array.to_pylist()] == [_bits(real, number) for number in payloads]
    else:
        assert array.equals(pa.array(payloads, array.type)), (array.to_pylist(), payloads)
    array.validate(full=True)


def _bits(form: str, number: float | None) -> bytes | None:
    return None if number is None else b"NaN" if number != number else struct.pack(form, number)


# Casts


@law_on_every_build(st.lists(scalars(), min_size=1, max_size=30))
def test_scalars_cast_as_in_the_reference(values: list[Scalar]) -> None:
    _casts_agree(values)


@law_on_every_build(st.data(), nodes(wide=False), share=0.5)
def test_odd_encodings_cast_as_in_the_reference(data: st.DataObject, node: Node) -> None:
    rows = [data.draw(encodings(node)), data.draw(encodings([node]))]
    # Decoded again, because a text of an object shows the order of its encoding.
    values = [decode(*row) for row in rows]
    for target in TARGETS:
        for path in (Path(), Path((0,))):
            _same(vq.extract(column_of(rows), path, target), [_cast_at(value, path, target) for value in values])


@pytest.mark.parametrize("build", BUILDS)
def test_values_at_the_edges_of_every_cast(build: str) -> None:
    values = [*edge_values(), time(0), time(86_399_999_999), identifier("F24F9B64-81FA-49D1-B74E-8C09A6E31C56")]
    values += [kind(micros) for kind in (timestamp_nanos, timestamp_ntz_nanos) for micros in MICROS]
    assert len(values) > len(DAYS) + len(BINARIES)
    if build == "interpreted":
        values = values[::7]
    with using(build):
        _casts_agree(values)


@law_on_every_build(st.integers(0, 1 << 32), share=0.1)
def test_random_values_cast_as_in_the_reference(seed: int) -> None:
    _casts_agree(random_values(60, seed=seed))


def _casts_agree(values: Sequence[Scalar]) -> None:
    column = nodes_column(list(values))
    for target in TARGETS:
        _same(vq.extract(column, "$", target), [try_cast(value, target) for value in values])


_NEARLY = ["nan", "Infinity", "+inf", "true", "2026-01-02", "12:30", "T12", "1e5", "-.5", "1.5f", "7.d", "\u0130nf", "\x7f12\x7f", " t "]
_CHARACTERS = "0123456789+-.eEfFdDnNaAiItTyYZ: \x00\x7f\u00e9\u212a\u0661"


@law_on_every_build(
    st.lists(st.sampled_from(_NEARLY) | st.text(_CHARACTERS, max_size=8), min_size=1, max_size=30), st.integers(0, 1 << 32), share=2
)
def test_texts_that_are_nearly_something_cast_as_in_the_reference(texts: list[str], seed: int) -> None:
    """Most are told to be nothing without the reference; none may be that is something."""
    choice = random.Random(seed)
    others = [text[: choice.randrange(len(text) + 1)] + choice.choice(_CHARACTERS) + choice.choice(("", text, "x" * 70)) for text in texts]
    _casts_agree([Scalar(BY_NAME["string"], text) for text in texts + others])


@law_on_every_build(st.lists(st.tuples(st.integers(0, (1 << 24) - 1), st.integers(0, 60), st.integers(-3, 3)), min_size=1, max_size=20))
def test_numbers_around_the_middle_of_two_floats(parts: list[tuple[int, int, int]]) -> None:
    """They must be rounded once, though they are doubles on the way."""
    values: list[Scalar] = []
    with localcontext(prec=100):
        for digits, shift, beside in parts:
            middle = Decimal(2 * digits + 1) * Decimal(2) ** (shift - 30)
            for number in (middle, middle + Decimal(beside).scaleb(-9), -middle, Decimal(repr(float(middle)))):
                text = format(round(number, 12), "f")
                values.append(Scalar(BY_NAME["string"], text))
                values.append(Scalar(BY_NAME["double"], float(number)))
                for places in (0, 3, 6, 9):
                    short = round(number, places) + 0  # no decimal is -0
                    if abs(short.scaleb(places)) < 10**18:
                        values.append(Scalar(BY_NAME["decimal8"], short))
    for target in (pa.float32(), pa.float64()):
        _same(vq.extract(nodes_column(list(values)), "$", target), [try_cast(value, target) for value in values])


def test_plain_mismatches_do_not_need_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call for each row took a second for half a million."""
    monkeypatch.setattr(extracting, "try_cast", None)
    column = vq.parse_json(pa.array(['"junk"', "{}", "[1]", '"x2:y"', "null", None]))
    for target in TARGETS:
        if target not in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.time64("us")):
            assert vq.extract(column, "$", target).null_count == 6
    for target in (pa.date32(), pa.time64("us"), pa.binary(), pa.timestamp("us")):
        assert vq.extract(vq.parse_json(pa.array(["1", "1.5", "true", "1e1"])), "$", target).null_count == 4


@pytest.mark.parametrize("build", BUILDS)
def test_text_that_is_no_utf8_is_no_mismatch(build: str) -> None:
    with using(build):
        for target in (pa.int64(), pa.float64(), pa.date32(), pa.bool_(), pa.binary(16)):
            with pytest.raises(InvalidVariantError):
                vq.extract(column_of([(b"\x01\x00\x00", b"\x09x\xff")]), "$", target)


@law_on_every_build(st.lists(scalars(), min_size=1, max_size=5), st.sampled_from(TARGETS))
def test_a_mismatch_raises_at_its_row(values: list[Scalar], target: pa.DataType) -> None:
    column = nodes_column([{"a": value} for value in values])
    for row, value in enumerate(values):
        try:
            cast(value, target)
        except CastError as expected:
            with pytest.raises(CastError) as raised:
                vq.extract(column, "$.a", target, on_mismatch="raise")
            assert (raised.value.message, raised.value.row, raised.value.path) == (expected.message, row, "$['a']")
            return
    _same(vq.extract(column, "$.a", target, on_mismatch="raise"), [try_cast(value, target) for value in values])


# Paths


@st.composite
def _paths(draw: st.DrawFn, node: Node) -> Path:
    """A path into the value, or one that leaves it at some point."""
    path = Path()
    here: Node | None = node
    for _ in range(draw(st.integers(0, 5))):
        step: str | int
        if isinstance(here, dict) and here and draw(st.integers(0, 9)):
            step = draw(st.sampled_from(sorted(here)))
        elif isinstance(here, list) and draw(st.integers(0, 9)):
            step = draw(st.integers(-len(here) - 1, len(here)))
        else:
            step = draw(keys() | st.sampled_from(EDGE_KEYS) | st.integers(-3, 3) | st.sampled_from((1 << 40, -(1 << 40))))
        path /= step
        here = _at(here, Path((step,)))
    return path


def _at(node: Node | None, path: Path) -> Node | None:
    for step in path:
        if isinstance(node, dict) and isinstance(step, str):
            node = node.get(step)
        elif isinstance(node, list) and isinstance(step, int) and -len(node) <= step < len(node):
            node = node[step]
        else:
            return None
    return node


def _cast_at(node: Node, path: Path, target: pa.DataType) -> object:
    found = _at(node, path)
    return None if found is None else try_cast(found, target)


@law_on_every_build(st.data(), st.lists(nodes(), min_size=1, max_size=4), share=2)
def test_paths_lead_where_navigating_the_value_leads(data: st.DataObject, values: list[Node]) -> None:
    """P16, P15: whatever legal bytes mean the values, and whatever row came before."""
    values = [*values, values[0]]
    rows = [data.draw(encodings(value)) for value in values]
    values = [decode(*row) for row in rows]
    column = column_of(rows)
    path = data.draw(_paths(data.draw(st.sampled_from(values))))
    found = [_at(value, path) for value in values]
    parts = vq.extract(column, path)
    assert [None if row is None else physical(decode(*row)) for row in rows_of(parts)] == [
        None if part is None else physical(part) for part in found
    ]
    vq.validate(parts)
    target = data.draw(st.sampled_from(TARGETS))
    _same(vq.extract(column, path, target), [_cast_at(value, path, target) for value in values])


@law_on_every_build(st.data(), nodes(wide=False), st.integers(0, 1 << 32), share=3)
def test_paths_into_damaged_bytes(data: st.DataObject, node: Node, seed: int) -> None:
    """What still is a Variant is navigated as before; of the rest, extract says that it is none, or reads a part of its bytes."""
    choice = random.Random(seed)
    row = damaged(data.draw(encodings(node)), choice, other=encode([node]))
    path = data.draw(_paths(node))
    try:
        value = decode(*row)
    except InvalidVariantError:
        value = None
    target = data.draw(st.sampled_from(TARGETS))
    if value is not None and not _is_wrongly_called_sorted(row[0]):
        expected = _at(value, path)
        (found,) = rows_of(vq.extract(column_of([row]), path))
        assert (None if found is None else physical(decode(*found))) == (None if expected is None else physical(expected))
        try:
            payload = _cast_at(value, path, target)
        except InvalidVariantError:
            with pytest.raises(InvalidVariantError):
                vq.extract(column_of([row]), path, target)
            return
        _same(vq.extract(column_of([row]), path, target), [payload])
        return
    try:
        (found,) = rows_of(vq.extract(column_of([row]), path))
        assert found is None or (found[0] == row[0] and found[1] in row[1])
        vq.extract(column_of([row]), path, target)
    except InvalidVariantError as error:
        assert error.row == 0


def _is_wrongly_called_sorted(metadata: bytes) -> bool:
    """Whether the header promises an order that the names do not have, not even as UTF-16; readers may rely on it (R3)."""
    dictionary = Metadata(metadata)
    names = [dictionary.name(i) for i in range(len(dictionary))]
    orders = (sorted(set(names)), sorted(set(names), key=lambda name: name.encode("utf-16-be")))
    return dictionary.sorted_strings and names not in orders
