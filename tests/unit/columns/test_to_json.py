"""`to_json`: the text of every type, and what is said of bytes that are no Variant."""

from __future__ import annotations

import json
import math
import pickle
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from variant_columns import column_of, nodes_column

import varquet as vq
from varquet.types import BY_NAME
from varquet.variant.model import Scalar

EMPTY = b"\x01\x00\x00"


@pytest.mark.parametrize(
    ("kind", "payload", "text"),
    [
        ("null", None, "null"),
        ("true", True, "true"),
        ("false", False, "false"),
        ("int8", -128, "-128"),
        ("int64", -(1 << 63), "-9223372036854775808"),
        ("int64", 5, "5"),
        ("double", 1.5, "1.5e0"),
        ("double", 100000.0, "100000.0e0"),
        ("double", -0.0, "-0.0e0"),
        ("double", 1e16, "1e+16"),
        ("double", 5e-324, "5e-324"),
        ("double", math.nan, '"NaN"'),
        ("double", math.inf, '"Infinity"'),
        ("double", -math.inf, '"-Infinity"'),
        ("float", 0.10000000149011612, "0.1e0"),
        ("float", -math.inf, '"-Infinity"'),
        ("decimal4", Decimal("1.10"), "1.10"),
        ("decimal4", Decimal("0E-5"), "0.00000"),
        ("decimal8", Decimal("-0.00001"), "-0.00001"),
        ("decimal16", Decimal("-" + "9" * 38), "-" + "9" * 38),
        ("decimal16", Decimal("1E-38"), "0." + "0" * 37 + "1"),
        ("date", 20194, '"2025-04-16"'),
        ("date", 2932897, '"+10000-01-01"'),
        ("date", -719529, '"-0001-12-31"'),
        ("date", -719528, '"0000-01-01"'),
        ("date", (1 << 31) - 1, '"+5881580-07-11"'),
        ("time", 45_234_123_456, '"12:33:54.123456"'),
        ("timestamp", 1744821296780000, '"2025-04-16T16:34:56.780000Z"'),
        ("timestamp_ntz", -1, '"1969-12-31T23:59:59.999999"'),
        ("timestamp_nanos", -1, '"1969-12-31T23:59:59.999999999Z"'),
        ("timestamp_ntz_nanos", 0, '"1970-01-01T00:00:00.000000000"'),
        ("timestamp", -(1 << 63), '"-290308-12-21T19:59:05.224192Z"'),
        ("timestamp_nanos", -(1 << 63), '"1677-09-21T00:12:43.145224192Z"'),
        ("binary", b"", '""'),
        ("binary", b"\xff\xfe", '"//4="'),
        ("string", 'a"\\/\b\f\n\r\t\x00\x1f\x7fé\u2028', '"a\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7fé\u2028"'),
        ("string", "x" * 64, '"' + "x" * 64 + '"'),
        ("uuid", uuid.UUID("F24F9B64-81FA-49D1-B74E-8C09A6E31C56"), '"f24f9b64-81fa-49d1-b74e-8c09a6e31c56"'),
    ],
)
def test_the_text_of_every_type(kind: str, payload: Any, text: str) -> None:
    assert vq.to_json(nodes_column([Scalar(BY_NAME[kind], payload)])).to_pylist() == [text]


def test_numbers_of_any_length() -> None:
    """Digits are written eight at a time."""
    whole = [sign * (10**digits + more) for digits in range(19) for more in (-1, 0, 1) for sign in (1, -1)]
    assert vq.to_json(nodes_column([Scalar(BY_NAME["int64"], number) for number in whole])).to_pylist() == [*map(str, whole)]
    decimals = [Decimal(number).scaleb(-scale) for number in whole if abs(number) < 10**18 for scale in (0, 1, 7, 8, 9, 16, 17, 18)]
    column = nodes_column([Scalar(BY_NAME["decimal8"], number) for number in decimals])
    assert vq.to_json(column).to_pylist() == [f"{number:f}" for number in decimals]


@pytest.mark.parametrize("special", ["", '"', "\\", "\n", "\x01", "é", "語", "😀"])
def test_strings_of_any_length_with_something_special_anywhere(special: str) -> None:
    texts = ["x" * before + special + "y" * behind for before in range(20) for behind in (0, 1, 6, 7, 8, 9, 30, 60)]
    column = nodes_column([Scalar(BY_NAME["string"], text) for text in texts])
    assert vq.to_json(column).to_pylist() == [json.dumps(text, ensure_ascii=False) for text in texts]


def test_more_and_longer_names_than_are_kept() -> None:
    """Rows with other metadata each, in which the same id is another name."""
    objects = [{f"{row}-{key}-{'n' * (key % 50)}": key for key in range(count)} for row, count in enumerate((1, 700, 3, 2000, 700))]
    texts = [json.dumps(dict(sorted(one.items())), separators=(",", ":")) for one in objects]
    column = vq.parse_json(pa.array(texts * 2))
    assert vq.to_json(column).to_pylist() == texts * 2


def test_objects_show_their_fields_in_the_order_of_the_encoding() -> None:
    column = vq.parse_json(pa.array(['{ "b" : [ ] , "a" : { "é\\n" : [ 1 , {} ] } }']))
    assert vq.to_json(column).to_pylist() == ['{"a":{"é\\n":[1,{}]},"b":[]}']


def test_an_sql_null_stays_null_and_a_variant_null_is_text() -> None:
    assert vq.to_json(vq.parse_json(pa.array([None, "null"]))).to_pylist() == [None, "null"]
    assert vq.to_json(pa.nulls(2)).to_pylist() == [None, None]


def test_the_type_is_string() -> None:
    assert vq.to_json(pa.array([], vq.VARIANT)).type == pa.string()
    assert vq.to_json(pa.chunked_array([], vq.VARIANT)).type == pa.string()
    assert vq.to_json(column_of([(EMPTY, b"\x00")])).type == pa.string()


BAD = (EMPTY, b"\x0c")


def test_bytes_that_are_no_variant_raise_with_their_row() -> None:
    column = pa.chunked_array([column_of([(EMPTY, b"\x00"), None]), column_of([(EMPTY, b"\x00"), BAD, BAD])])
    with pytest.raises(vq.InvalidVariantError) as raised:
        vq.to_json(column)
    assert str(raised.value) == "expected more bytes of the value, got its end (E9, in the value) - at row 3, byte 0"
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.row, again.offset) == (str(raised.value), 3, 0)


def test_on_error_null_makes_them_null() -> None:
    assert vq.to_json(column_of([BAD, (EMPTY, b"\x04"), None, BAD]), on_error="null").to_pylist() == [None, "true", None, None]


@pytest.mark.parametrize(
    ("argument", "options", "message"),
    [
        ("x", {}, "expected a pyarrow Array or ChunkedArray, got builtins.str. Hint: pa.array(values) makes one"),
        (
            pa.array(["1"]),
            {},
            "expected a variant column, struct<metadata: binary, value: binary>, got string. Hint: parse_json makes one from JSON text",
        ),
        (pa.array([], vq.VARIANT), {"on_error": "collect"}, "expected on_error to be 'raise' or 'null', got 'collect'"),
        (pa.array([], vq.VARIANT), {"threads": -1}, "expected at least one thread, got -1"),
        (
            pa.array([{"metadata": EMPTY, "value": b"\0", "typed_value": 1}]),
            {},
            "expected an unshredded variant column, got one with a typed_value",
        ),
        (pa.array([{"metadata": EMPTY, "value": 1}]), {}, "expected binary values, got an Arrow array of int64"),
        (pa.array([{"metadata": 1.5, "value": b"\0"}]), {}, "expected binary metadata, got an Arrow array of double"),
    ],
)
def test_wrong_arguments(argument: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(vq.UnsupportedTypeError) as raised:
        vq.to_json(argument, **options)
    assert str(raised.value) == message
