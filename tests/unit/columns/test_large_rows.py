"""Rows beyond the scratch: great depth, long strings, many elements and many names, in time that grows with their size."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest
from variant_columns import column_of, rows_of

import varquet as vq
from varquet import kernels
from varquet.errors import InvalidVariantError, JsonError
from varquet.variant import encode
from varquet.variant import parse_json as reference_parse_json

SCALE = 100 if kernels.ACTIVE == "interpreted" else 1
DEPTH = 100_000 // SCALE
EMPTY = b"\x01\x00\x00"


def _nested(depth: int, kind: str) -> str:
    return {
        "array": "[" * depth + "1" + "]" * depth,
        "object": '{"a":' * depth + "1" + "}" * depth,
        "both": '[{"a":' * (depth // 2) + "1" + "}]" * (depth // 2),
    }[kind]


@pytest.mark.parametrize("kind", ["array", "object", "both"])
def test_any_depth(kind: str) -> None:
    """No verb recurses, and none takes time that grows with the square of the depth: ten times as deep finishes as well."""
    text = _nested(DEPTH, kind)
    assert rows_of(vq.parse_json(pa.array([text]))) == [encode(reference_parse_json(text))]
    for depth in (DEPTH, 10 * DEPTH):
        text = _nested(depth, kind)
        column = vq.parse_json(pa.array([text, "1", text]))
        assert vq.to_json(column).to_pylist() == [text, "1", text]
        vq.validate(column, strict=True)
        steps: tuple[str | int, ...] = (0,) if kind == "array" else ("a",) if kind == "object" else (0, "a")
        inner = vq.to_json(vq.extract(column, vq.Path(steps * 100))).to_pylist()
        assert inner == [_nested(depth - 100 * len(steps), kind), None, _nested(depth - 100 * len(steps), kind)]


def test_a_deep_value_cast_to_a_type() -> None:
    text = _nested(DEPTH // 2, "both")
    column = vq.parse_json(pa.array([f'{{"a":{text}}}']))
    assert vq.extract(column, "$.a", "string").to_pylist() == [text]
    assert vq.extract(column, "$.a", "bigint").to_pylist() == [None]


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
def test_depth_without_an_end_is_an_error_at_the_end(opening: str) -> None:
    text = opening * DEPTH
    with pytest.raises(JsonError) as raised:
        vq.parse_json(pa.array(["1", text]))
    assert (raised.value.row, raised.value.offset) == (1, len(text))
    assert len(str(raised.value)) < 300
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_depth_whose_innermost_value_is_damaged() -> None:
    (row,) = rows_of(vq.parse_json(pa.array([_nested(DEPTH, "both")])))
    assert row is not None
    column = column_of([(row[0], row[1][:-2] + b"\x54\x00")])
    with pytest.raises(InvalidVariantError, match="R6"):
        vq.validate(column)
    with pytest.raises(InvalidVariantError, match="R6"):
        vq.to_json(column)
    with pytest.raises(InvalidVariantError) as raised:
        vq.extract(column, "$[0]", "string")
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize("size", [65_536, 1_000_000])
def test_long_strings(size: int) -> None:
    size //= SCALE
    texts = [f'"{"x" * size}"', f'"{"é" * (size // 2)}\\n"', '"' + "\\u00e9\\n" * (size // 8) + '"', f'{{"{"k" * size}":"v"}}']
    column = vq.parse_json(pa.array(texts))
    assert rows_of(column) == [encode(reference_parse_json(text)) for text in texts]
    vq.validate(column, strict=True)
    written = vq.to_json(column)
    assert rows_of(vq.parse_json(written)) == rows_of(column)
    assert vq.extract(column, "$", "string")[0].as_py() == "x" * size
    assert vq.extract(column, vq.Path(("k" * size,)), "string").to_pylist() == [None, None, None, "v"]


def test_text_that_grows_six_times_when_written() -> None:
    """Control characters take six bytes each: the output outgrows what was set aside, again and again."""
    value = "\x01" * (1_000_000 // SCALE)
    column = column_of([encode(reference_parse_json('"' + "\\u0001" * len(value) + '"'))] * 3)
    assert vq.extract(column, "$", "string").to_pylist() == [value] * 3
    assert vq.to_json(column).to_pylist() == ['"' + "\\u0001" * len(value) + '"'] * 3


@pytest.mark.parametrize("count", [255, 256, 100_000])
def test_many_elements(count: int) -> None:
    count = count if count < 1000 else count // SCALE
    texts = ["[" + ",".join(map(str, range(count))) + "]", "[" + ",".join(['{"a":1}'] * count) + "]"]
    column = vq.parse_json(pa.array(texts))
    assert rows_of(column) == [encode(reference_parse_json(text)) for text in texts]
    assert vq.to_json(column).to_pylist() == texts
    vq.validate(column, strict=True)
    assert vq.extract(column, f"$[{count - 1}]", "bigint").to_pylist() == [count - 1, None]
    assert vq.extract(column, "$[-1].a", "bigint").to_pylist() == [None, 1]


def test_many_names_in_one_row() -> None:
    count = 70_000 // SCALE
    text = "{" + ",".join(f'"k{(7919 * i) % count:06}":{i}' for i in range(count)) + "}"
    column = vq.parse_json(pa.array(['{"k000001":0}', text, '{"k000001":0}']))
    assert rows_of(column)[1] == encode(reference_parse_json(text))
    vq.validate(column, strict=True)
    assert vq.extract(column, "$.k000000", "bigint").to_pylist() == [None, 0, None]
    assert vq.extract(column, f"$.k{7919 % count:06}", "bigint").to_pylist() == [None, 1, None]
    assert rows_of(vq.parse_json(vq.to_json(column)[1:2]))[0] is not None


def test_many_fields_in_no_order() -> None:
    """Sorting by name where neither the dictionary nor the fields are sorted: room for it is made as it is needed."""
    count = 20_000 // SCALE
    names = [f"{(7919 * i) % count:05}".encode() for i in range(count)]
    width = 4
    offsets = [5 * i for i in range(count + 1)]
    metadata = b"\xc1" + b"".join(n.to_bytes(width, "little") for n in (count, *offsets)) + b"".join(names)
    ids = b"".join(i.to_bytes(4, "little") for i in range(count))
    starts = b"".join(i.to_bytes(4, "little") for i in range(count + 1))
    value = b"\x7e" + count.to_bytes(4, "little") + ids + starts + b"\x00" * count
    column = column_of([(EMPTY, b"\x00"), (metadata, value)])
    vq.validate(column)
    assert vq.to_json(column)[1].as_py() == "{" + ",".join(f'"{name.decode()}":null' for name in names) + "}"
    assert vq.validate(column, on_error="collect", strict=True)["rule"].to_pylist() == ["E14"]
    twice = value.replace(ids, ids[:-4] + ids[:4])
    assert vq.validate(column_of([(metadata, twice)]), on_error="collect")["rule"].to_pylist() == ["E15"]


def test_counts_that_no_input_can_hold() -> None:
    """P26: 2**32 - 1 elements or names in a few bytes are refused before anything is set aside for them."""
    huge = b"\xff\xff\xff\xff"
    column = column_of(
        [
            (EMPTY, b"\x1f" + huge),
            (EMPTY, b"\x7e" + huge + b"\x00" * 40),
            (EMPTY, b"\x13" + huge + b"\x00" * 40),
            (b"\xc1" + huge, b"\x00"),
            (b"\xd1" + huge + b"\x00" * 40, b"\x02\x01\x00\x00\x01\x00"),
            (EMPTY, b"\x3c" + huge),
            (EMPTY, b"\x40" + huge + b"x"),
        ]
    )
    assert vq.validate(column, on_error="collect").num_rows == len(column)
    assert vq.to_json(column, on_error="null").null_count == len(column)
    for row in range(len(column)):
        for path in ("$.a", "$[0]", "$"):
            try:
                vq.extract(column[row : row + 1], path, "string")
            except InvalidVariantError as error:
                assert error.row == 0
