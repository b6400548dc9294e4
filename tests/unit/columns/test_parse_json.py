"""`parse_json`: what becomes of texts, and what is said of those that are no JSON."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest
from kernel_builds import BUILDS, using
from variant_columns import rows_of

import varquet as vq
from varquet.columns.parse_json import ParsedJson
from varquet.variant import json_errors as expect

EMPTY = b"\x01\x00\x00"


def _value(text: str) -> bytes:
    """The value bytes of one text without field names."""
    (row,) = rows_of(vq.parse_json(pa.array([text])))
    assert row is not None
    assert row[0] == EMPTY
    return row[1]


# Values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", "00"),
        ("true", "04"),
        ("false", "08"),
        ("0", "0c00"),
        ("-0", "0c00"),
        ("127", "0c7f"),
        ("128", "108000"),
        ("-128", "0c80"),
        ("-129", "107fff"),
        ("32768", "1400800000"),
        ("2147483648", "180000008000000000"),
        ("-9223372036854775808", "180000000000000080"),
        ("9223372036854775808", "2800" + "0000000000000080" + "00" * 8),
        ("-9223372036854775809", "2800" + "ffffffffffffff7f" + "ff" * 8),
        ("1.10", "20026e000000"),
        ("0.00001", "200501000000"),
        ("-0.5", "2001fbffffff"),
        ("0.0", "200100000000"),
        ("-0.0", "1c0000000000000080"),
        ("999999999.9", "2401ffe30b5402000000"),
        ("1e0", "1c000000000000f03f"),
        ("1.5E+1", "1c0000000000002e40"),
        ("-1e-400", "1c0000000000000080"),
        ('""', "01"),
        ('"é"', "09c3a9"),
        ("[]", "030000"),
        ("{}", "020000"),
        ("[1,[null]]", "0302000207" + "0c01" + "03010001" + "00"),
    ],
)
def test_values(text: str, value: str) -> None:
    assert _value(text).hex() == value
    assert _value(f" \t\r\n{text}\n").hex() == value


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 62, 63, 64, 65, 255, 256, 70_000])
def test_strings_of_every_length_class(size: int) -> None:
    head = bytes((1 | size << 2,)) if size < 64 else b"\x40" + size.to_bytes(4, "little")
    assert _value(f'"{"x" * size}"') == head + b"x" * size
    assert _value(f'"{"x" * max(0, size - 1)}\\n"')[-1:] == b"\n"


def test_numbers_of_more_than_38_digits_become_doubles() -> None:
    assert _value("9" * 38)[0] >> 2 == 10
    assert _value("9" * 39)[0] >> 2 == 7
    assert _value("0." + "0" * 37 + "1")[0] >> 2 == 10
    assert _value("0." + "0" * 38 + "1")[0] >> 2 == 7


def test_a_byte_order_mark_is_skipped() -> None:
    assert _value("\ufeff 1") == _value("1")


def test_names_are_sorted_by_bytes_and_values_stay_in_the_order_of_the_text() -> None:
    """U+FF5E comes before U+1F600 in UTF-8, and behind it in UTF-16."""
    (row,) = rows_of(vq.parse_json(pa.array(['{"\U0001f600":1,"\uff5e":2,"a":3}'])))
    assert row is not None
    assert row[0] == bytes((0x11, 3, 0, 1, 4, 8)) + "a\uff5e\U0001f600".encode()
    assert row[1] == bytes((2, 3, 0, 1, 2, 4, 2, 0, 6, 12, 1, 12, 2, 12, 3))


def test_names_with_escapes_are_not_taken_for_the_bytes_they_stand_for() -> None:
    """The name of one row must not be found in the next one where its characters are written without escapes."""
    texts = ['{"a\\"b":1}', '{"a"b":1}', '{"a\\\\b":1}', '{"a\\b":1}', '{"a\\n":1}', '{"a\n":1}', '{"\\u0061":1}', '{"a":1}']
    parsed = vq.parse_json(pa.array(texts), on_error="collect")
    assert [None if row is None else row[0][4:] for row in rows_of(parsed.column)] == [
        b'a"b', None, b"a\\b", b"a\b", b"a\n", None, b"a", b"a"
    ]  # fmt: skip
    assert parsed.errors["row"].to_pylist() == [1, 5]


def test_an_sql_null_stays_null_and_a_null_text_is_a_variant_null() -> None:
    column = vq.parse_json(pa.array(["null", None]))
    assert column.null_count == 1
    assert rows_of(column) == [(EMPTY, b"\x00"), None]
    assert column.field("metadata").null_count == 0


def test_the_type_is_the_one_of_variant_columns() -> None:
    assert vq.parse_json(pa.array(["1"])).type == vq.VARIANT
    assert vq.parse_json(pa.array([], pa.string())).type == vq.VARIANT
    assert vq.parse_json(pa.chunked_array([], pa.large_string())).type == vq.VARIANT
    assert rows_of(vq.parse_json(pa.nulls(2))) == [None, None]


@pytest.mark.parametrize("build", [build for build in BUILDS if build != "interpreted"])
def test_one_text_may_have_more_names_than_are_kept(build: str) -> None:
    """It was begun again with room for few names, over and over."""
    text = "{" + ",".join(f'"n{number}":1' for number in range(140_000)) + "}"
    with using(build):
        for shared_metadata in (False, True):
            column = vq.parse_json(pa.array(['{"n1":1}', text]), shared_metadata=shared_metadata)
            assert len(vq.Variant(column[1]["metadata"].as_py(), column[1]["value"].as_py())) == 140_000


# Errors

# (text, message, byte, hint)
MISTAKES: list[tuple[str | bytes, str, int, str | None]] = [
    ("", "expected a value, got nothing", 0, "an empty text is no JSON value; null is"),
    ("  ", "expected a value, got nothing", 2, "an empty text is no JSON value; null is"),
    ('{"a":}', "expected a value, got '}' in {\"a\": >>> }", 5, None),
    ('{"a" 1}', "expected ':', got '1' in {\"a\" >>> 1}", 5, None),
    ('{"a":1 2}', "expected ',' or '}', got '2' in {\"a\":1 >>> 2}", 7, None),
    ('{"a":1,}', "expected a field name in double quotes, got '}' in {\"a\":1, >>> }", 7, "there is no comma behind the last one"),
    ("{'a':1}", "expected a field name in double quotes or '}', got ''' in { >>> 'a':1}", 1, "JSON quotes with \", not with '"),
    ("[1,]", "expected a value, got ']' in [1, >>> ]", 3, "there is no comma behind the last one"),
    ("[1 2]", "expected ',' or ']', got '2' in [1 >>> 2]", 3, None),
    ("[1", "expected ',' or ']', got the end of the text in [1 >>>", 2, None),
    ("1 2", "expected the end of the text, got '2' in 1 >>> 2", 2,
     "a text holds one value; for one value per line, split it into lines first"),
    ("01", "expected the end of the text, got '1' in 0 >>> 1", 1, "numbers have no leading zeros"),
    ("1.", "expected a digit, got the end of the text in 1. >>>", 2, None),
    ("-", "expected a digit, got the end of the text in - >>>", 1, None),
    ("+1", "expected a value, got '+1' in >>> +1", 0, "numbers start with a digit or with -"),
    ("NaN", "expected a value, got 'NaN' in >>> NaN", 0, 'JSON has no NaN; use null or the string "NaN"'),
    ("[True]", "expected a value, got 'True' in [ >>> True]", 1, "it is true in JSON"),
    ("nullx", "expected a value, got 'nullx' in >>> nullx", 0, None),
    ("1e400", "expected a number within the range of a double, got '1e400' in >>> 1e400", 0, None),
    ('"a', "expected a closing '\"', got the end of the text in \"a >>>", 2, None),
    ('"\\x"', "expected an escape such as \\n, \\\\ or \\u0041, got '\\x' in \" >>> \\x\"", 1, None),
    ('"\\u12"', "expected four hexadecimal digits after \\u, got '\\u12\"' in \" >>> \\u12\"", 1, None),
    ('"\\ud800"', "expected a low surrogate after a high one, got '\\ud800' in \" >>> \\ud800\"", 1, None),
    ('"\\udc00"', "expected a high surrogate before a low one, got '\\udc00' in \" >>> \\udc00\"", 1, None),
    ('{"a":1,"a":2}', "expected a field name that this object does not hold yet, got '\"a\"' in {\"a\":1, >>> \"a\":2}", 7,
     'duplicate_keys="last" keeps the last value of a name'),
    (b'"\xff"', 'expected text in UTF-8, got byte 0xff in " >>> \\xff"', 1, None),
    (b'"\xed\xa0\x80"', 'expected text in UTF-8, got byte 0xed in " >>> \\xed\\xa0\\x80"', 1,
     "half of a surrogate pair is no character"),
    ('"a\nb"', 'expected no control character inside a string, got U+000A in "a >>> \\x0ab"', 2, "write \\u000a"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "offset", "hint"), MISTAKES, ids=[repr(mistake[0]) for mistake in MISTAKES])
def test_an_error_says_what_was_expected_what_was_found_and_where(text: str | bytes, message: str, offset: int, hint: str | None) -> None:
    with pytest.raises(vq.JsonError) as raised:
        vq.parse_json(pa.array([text]))
    error = raised.value
    assert (error.message, error.row, error.offset, error.hint) == (message, 0, offset, hint)
    assert str(error) == f"{message} - at row 0, byte {offset}" + (f". Hint: {hint}" if hint else "")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.row, again.offset, type(again)) == (str(error), 0, offset, vq.JsonError)


def test_the_row_counts_over_chunks_and_slices() -> None:
    texts = pa.chunked_array([["1", None], [], ["2", "[", "3", "}"]], pa.string())
    with pytest.raises(vq.JsonError, match=r"at row 3, byte 1"):
        vq.parse_json(texts)
    with pytest.raises(vq.JsonError, match=r"at row 1, byte 1"):
        vq.parse_json(texts.slice(2))


def test_on_error_null_makes_bad_texts_null() -> None:
    column = vq.parse_json(pa.array(["1", "x", None, "{", "null"]), on_error="null")
    assert rows_of(column) == [(EMPTY, b"\x0c\x01"), None, None, None, (EMPTY, b"\x00")]


def test_on_error_collect_returns_the_column_and_a_table_of_errors() -> None:
    parsed = vq.parse_json(pa.chunked_array([["1", "x"], [None, '{"a":1,"a":1}', "["]]), on_error="collect")
    assert isinstance(parsed, ParsedJson)
    assert rows_of(parsed.column) == [(EMPTY, b"\x0c\x01"), None, None, None, None]
    assert parsed.errors.schema == pa.schema([("row", pa.int64()), ("offset", pa.int64()), ("message", pa.string())])
    assert parsed.errors.to_pylist() == [
        {"row": 1, "offset": 0, "message": "expected a value, got 'x' in >>> x"},
        {
            "row": 3,
            "offset": 7,
            "message": 'expected a field name that this object does not hold yet, got \'"a"\' in {"a":1, >>> "a":1}',
        },
        {"row": 4, "offset": 1, "message": "expected a value, got the end of the text in [ >>>"},
    ]
    assert vq.parse_json(pa.array(["1"]), on_error="collect").errors.num_rows == 0


def test_duplicate_keys_last_keeps_the_last_value_in_the_last_place() -> None:
    texts = ['{"a":1,"b":2,"a":3}', '{"a":{"a":1,"a":2},"a":{"a":3,"a":4}}', '[{"b":1,"b":[]},{"a":{"b":0,"b":1}}]']
    column = vq.parse_json(pa.array(texts), duplicate_keys="last")
    assert vq.to_json(column).to_pylist() == ['{"a":3,"b":2}', '{"a":{"a":4}}', '[{"b":[]},{"a":{"b":1}}]']
    assert rows_of(column)[0] == (b"\x11\x02\x00\x01\x02ab", bytes((2, 2, 0, 1, 2, 0, 4, 12, 2, 12, 3)))


def test_names_that_only_dropped_fields_had_are_not_in_the_dictionary() -> None:
    column = vq.parse_json(pa.array(['{"a":{"x":1},"a":2}']), duplicate_keys="last")
    assert rows_of(column) == [(b"\x11\x01\x00\x01a", bytes((2, 1, 0, 0, 2, 12, 2)))]


def test_a_name_in_escapes_is_the_same_name() -> None:
    with pytest.raises(vq.JsonError, match="does not hold yet"):
        vq.parse_json(pa.array(['{"a":1,"\\u0061":2}']))
    assert vq.to_json(vq.parse_json(pa.array(['{"a":1,"\\u0061":2}']), duplicate_keys="last")).to_pylist() == ['{"a":2}']


@pytest.mark.parametrize("build", BUILDS)
def test_a_repeated_name_is_found_in_texts_of_any_size(build: str) -> None:
    """Many names, long ones, deep ones, and the same name in other objects; short texts behind long ones."""
    many = 300 if build == "interpreted" else 140_000
    unlike = "{" + ",".join(f'"n{number}":[{{"n{number}":1}}]' for number in range(many))
    alike = "[" + ",".join('{"a":1,"b":{"a":2}}' for _ in range(many))
    deep = '{"a":[' * (many // 10)
    starts = ['{"a":1', unlike, "{" + f'"{"x" * 40_000}":1', alike + ',{"a":0', deep + '{"a":1', '{"\\n":1,"a":{"b":[]}']
    names = ["a", "n7", "x" * 40_000, "a", "a", "a"]
    texts = [f'{start},"{name}":2}}' for start, name in zip(starts, names, strict=True)]
    # What ends too early afterwards is wrong, too, but later.
    texts[3] += "]"
    texts.append('{"a":1,"\\u0061":2}')
    with using(build):
        parsed = vq.parse_json(pa.array(texts), on_error="collect")
    assert parsed.errors["offset"].to_pylist() == [*(len(start) + 1 for start in starts), 7]
    assert all("does not hold yet" in message for message in parsed.errors["message"].to_pylist())


def test_of_two_mistakes_the_first_is_reported() -> None:
    texts = ['{"a":1,"a":2,"b":1e400}', '{"b":1e400,"a":1,"a":2}', '{"a":1,"a"', '{"a":1,"a', '{"a":{"a":1},"b":[{"a":1,"a":2}],"c":}']
    errors = vq.parse_json(pa.array(texts), on_error="collect").errors
    assert errors["offset"].to_pylist() == [7, 5, 7, 9, 25]
    with pytest.raises(vq.JsonError, match="does not hold yet"):
        vq.parse_json(pa.array(texts[:1]))
    with pytest.raises(vq.JsonError, match="range of a double"):
        vq.parse_json(pa.array(texts[:1]), duplicate_keys="last")


def test_no_error_is_made_where_none_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a column of bad texts, an error for each took a thousand times as long as parsing it."""
    made = []
    monkeypatch.setattr(expect, "json_error", lambda *_, **__: made.append(1))
    assert vq.parse_json(pa.array(['{"a":1,"a":2}', "x"]), on_error="null").null_count == 2
    assert not made


# Arguments


@pytest.mark.parametrize(
    ("argument", "options", "message"),
    [
        (["1"], {}, "expected a pyarrow Array or ChunkedArray, got builtins.list. Hint: pa.array(values) makes one"),
        (pa.table({"a": ["1"]}), {}, "expected a pyarrow Array or ChunkedArray, got pyarrow.lib.Table. Hint: pa.array(values) makes one"),
        (pa.array([1]), {}, "expected strings of JSON text, got an Arrow array of int64"),
        (pa.array(["1"]), {"on_error": "ignore"}, "expected on_error to be 'raise', 'null' or 'collect', got 'ignore'"),
        (pa.array(["1"]), {"duplicate_keys": "first"}, "expected duplicate_keys to be 'error' or 'last', got 'first'"),
        (pa.array(["1"]), {"threads": 0}, "expected at least one thread, got 0"),
    ],
)
def test_wrong_arguments(argument: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(vq.UnsupportedTypeError) as raised:
        vq.parse_json(argument, **options)
    assert str(raised.value) == message
    assert isinstance(raised.value, TypeError)
