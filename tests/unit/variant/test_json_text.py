"""The reference JSON parser and writer: types of numbers, strings, errors and their places."""

from __future__ import annotations

import math
import pickle
from decimal import Decimal

import pytest

from varquet.errors import JsonError, UnsupportedTypeError
from varquet.types import BY_NAME
from varquet.variant import Scalar, equal, parse_json, to_json
from varquet.variant.json_errors import VALUE, json_error
from varquet.variant.json_text import json_string
from varquet.variant.model import NULL, Node

DIGITS_38 = "9" * 38


@pytest.mark.parametrize(
    ("text", "type_name", "payload"),
    [
        ("0", "int8", 0),
        ("-0", "int8", 0),
        ("127", "int8", 127),
        ("-128", "int8", -128),
        ("128", "int16", 128),
        ("-129", "int16", -129),
        ("32768", "int32", 32768),
        ("2147483648", "int64", 2147483648),
        ("9223372036854775807", "int64", (1 << 63) - 1),
        ("-9223372036854775808", "int64", -(1 << 63)),
        ("9223372036854775808", "decimal16", Decimal(1 << 63)),
        ("-9223372036854775809", "decimal16", Decimal(-(1 << 63) - 1)),
        (DIGITS_38, "decimal16", Decimal(DIGITS_38)),
        ("1" + "0" * 38, "double", 1e38),
        ("1.10", "decimal4", Decimal("1.10")),
        ("0.0", "decimal4", Decimal("0.0")),
        ("-0.5", "decimal4", Decimal("-0.5")),
        ("99999999.9", "decimal4", Decimal("99999999.9")),
        ("999999999.9", "decimal8", Decimal("999999999.9")),
        ("0.000000001", "decimal4", Decimal("1E-9")),
        ("0.0000000001", "decimal8", Decimal("1E-10")),
        ("99999999999999999.9", "decimal8", Decimal("99999999999999999.9")),
        ("0.0000000000000000001", "decimal16", Decimal("1E-19")),
        ("0." + DIGITS_38, "decimal16", Decimal("0." + DIGITS_38)),
        ("0." + "0" * 37 + "1", "decimal16", Decimal("1E-38")),
        ("0." + "0" * 38 + "1", "double", 1e-39),
        ("1." + "0" * 38, "double", 1.0),
        ("-0.0", "double", -0.0),
        ("-0.000", "double", -0.0),
        ("1e0", "double", 1.0),
        ("1E+2", "double", 100.0),
        ("-0e0", "double", -0.0),
        ("1e-400", "double", 0.0),
        ("-1e-400", "double", -0.0),
        ("1.7976931348623157e308", "double", 1.7976931348623157e308),
        ("2.2250738585072011e-308", "double", 2.2250738585072011e-308),
        ("9007199254740993e0", "double", 9007199254740992.0),
    ],
)
def test_numbers_take_the_type_that_keeps_them(text: str, type_name: str, payload: object) -> None:
    node = parse_json(text)
    assert isinstance(node, Scalar)
    assert node.type.name == type_name
    assert repr(node.value) == repr(payload)
    assert equal(parse_json(to_json(node)), node)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('""', ""),
        ('"a\\"\\\\\\/\\b\\f\\n\\r\\t"', 'a"\\/\b\f\n\r\t'),
        ('"\\u0041\\u00e9\\u20AC"', "Aé€"),
        ('"\\ud83d\\uDE00"', "\U0001f600"),
        ('"\U0001f600é\x7f"', "\U0001f600é\x7f"),
        ('"\\u0000"', "\x00"),
    ],
)
def test_strings(text: str, value: str) -> None:
    assert parse_json(text) == Scalar(BY_NAME["string"], value)
    assert parse_json(text.encode()) == Scalar(BY_NAME["string"], value)


def test_every_control_character_must_be_escaped() -> None:
    for code in range(0x20):
        with pytest.raises(JsonError, match=f"expected no control character inside a string, got U\\+{code:04X}"):
            parse_json(f'"a{chr(code)}b"')
        assert parse_json(f'"\\u{code:04x}"') == Scalar(BY_NAME["string"], chr(code))
    assert parse_json('"\x7f"') == Scalar(BY_NAME["string"], "\x7f")


def test_blanks_and_the_byte_order_mark() -> None:
    expected: Node = {"a": [NULL, Scalar(BY_NAME["true"], True)], "b": {}}
    assert parse_json(' \t\r\n{ "a" : [ null ,true ] ,\n"b":{ } } ') == expected
    assert parse_json('\ufeff{"a":[null,true],"b":{}}') == expected
    assert parse_json(bytearray(b'\xef\xbb\xbf{"a":[null,true],"b":{}}')) == expected  # type: ignore[arg-type]
    ordered = parse_json('{"b":1,"a":2}')
    assert isinstance(ordered, dict) and list(ordered) == ["b", "a"]


def test_repeated_names() -> None:
    text = '{"a": {"x": 1}, "b": 2, "a": 3}'
    with pytest.raises(JsonError, match=r"does not hold yet, got '\"a\"' in .* - at byte 24"):
        parse_json(text)
    last = parse_json(text, duplicate_keys="last")
    assert isinstance(last, dict)
    assert list(last.items()) == [("b", Scalar(BY_NAME["int8"], 2)), ("a", Scalar(BY_NAME["int8"], 3))]
    with pytest.raises(JsonError, match="does not hold yet"):
        parse_json('{"a": 1, "\\u0061": 2}')
    with pytest.raises(UnsupportedTypeError, match='expected "error" or "last" as duplicate_keys, got \'first\''):
        parse_json("1", duplicate_keys="first")


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("", 0, "expected a value, got nothing - at byte 0. Hint: an empty text is no JSON value; null is"),
        (" \n", 2, "expected a value, got nothing - at byte 2. Hint"),
        ("\ufeff", 3, "expected a value, got"),
        ('{"a":}', 5, "expected a value, got '}' in {\"a\": >>> } - at byte 5"),
        ("[1,]", 3, "expected a value, got ']' in [1, >>> ] - at byte 3. Hint: there is no comma behind the last one"),
        ('{"a":1,}', 7, "expected a field name in double quotes, got '}' in {\"a\":1, >>> } - at byte 7. Hint: there is no comma"),
        ("[1 2]", 3, "expected ',' or ']', got '2' in [1 >>> 2] - at byte 3"),
        ("[1", 2, "expected ',' or ']', got the end of the text in [1 >>> - at byte 2"),
        ("[", 1, "expected a value, got the end of the text in [ >>> - at byte 1"),
        ("{", 1, "expected a field name in double quotes or '}', got the end of the text in { >>> - at byte 1"),
        ('{"a" 1}', 5, "expected ':', got '1' in {\"a\" >>> 1} - at byte 5"),
        ('{"a":1]', 6, "expected ',' or '}', got ']' in {\"a\":1 >>> ] - at byte 6"),
        ("{'a':1}", 1, "expected a field name in double quotes or '}', got ''' in { >>> 'a':1} - at byte 1. Hint: JSON quotes with \""),
        ("{a:1}", 1, "expected a field name in double quotes or '}', got 'a' in { >>> a:1} - at byte 1"),
        ('{"a":1} x', 8, "expected the end of the text, got 'x' in {\"a\":1} >>> x - at byte 8. Hint: a text holds one value"),
        ("1 2", 2, "expected the end of the text, got '2' in 1 >>> 2 - at byte 2. Hint: a text holds one value"),
        ("NaN", 0, "expected a value, got 'NaN' in >>> NaN - at byte 0. Hint: JSON has no NaN; use null or the string \"NaN\""),
        ("-Infinity", 1, "expected a digit, got 'Infinity' in - >>> Infinity - at byte 1. Hint: JSON has no infinity"),
        ("True", 0, "expected a value, got 'True' in >>> True - at byte 0. Hint: it is true in JSON"),
        ("None", 0, "expected a value, got 'None' in >>> None - at byte 0. Hint: it is null in JSON"),
        ("nul", 0, "expected a value, got 'nul' in >>> nul - at byte 0"),
        ("[nulll]", 1, "expected a value, got 'nulll' in [ >>> nulll] - at byte 1"),
        ("01", 1, "expected the end of the text, got '1' in 0 >>> 1 - at byte 1. Hint: numbers have no leading zeros"),
        ("[-01]", 3, "expected ',' or ']', got '1' in [-0 >>> 1] - at byte 3. Hint: numbers have no leading zeros"),
        ("+1", 0, "expected a value, got '+1' in >>> +1 - at byte 0. Hint: numbers start with a digit or with -"),
        (".5", 0, "expected a value, got '.5' in >>> .5 - at byte 0. Hint: numbers start with a digit or with -"),
        ("-", 1, "expected a digit, got the end of the text in - >>> - at byte 1"),
        ("1.", 2, "expected a digit, got the end of the text in 1. >>> - at byte 2"),
        ("1.e3", 2, "expected a digit, got 'e3' in 1. >>> e3 - at byte 2"),
        ("1e", 2, "expected a digit, got the end of the text in 1e >>> - at byte 2"),
        ("1e+-2", 3, "expected a digit, got '-2' in 1e+ >>> -2 - at byte 3"),
        ("[1e400]", 1, "expected a number within the range of a double, got '1e400' in [ >>> 1e400] - at byte 1"),
        ("-1e400", 0, "expected a number within the range of a double, got '-1e400' in >>> -1e400 - at byte 0"),
        ("9" * 400, 0, "expected a number within the range of a double, got '" + "9" * 24 + "…' in >>> " + "9" * 16 + "… - at byte 0"),
        ('"abc', 4, "expected a closing '\"', got the end of the text in \"abc >>> - at byte 4"),
        ('"a\nb"', 2, 'expected no control character inside a string, got U+000A in "a >>> \\x0ab" - at byte 2. Hint: write \\u000a'),
        ('"\\x"', 1, "expected an escape such as \\n, \\\\ or \\u0041, got '\\x' in \" >>> \\x\" - at byte 1"),
        ('"\\', 1, "expected an escape such as \\n, \\\\ or \\u0041, got '\\' in \" >>> \\ - at byte 1"),
        ('"\\u12g4"', 1, "expected four hexadecimal digits after \\u, got '\\u12g4' in \" >>> \\u12g4\" - at byte 1"),
        ('"\\u+123"', 1, "expected four hexadecimal digits after \\u"),
        ('"\\ud800"', 1, "expected a low surrogate after a high one, got '\\ud800' in \" >>> \\ud800\" - at byte 1"),
        ('"\\ud800\\ud800"', 1, "expected a low surrogate after a high one"),
        ('"\\ud800\\u0041"', 1, "expected a low surrogate after a high one"),
        ('"a\\udc00"', 2, "expected a high surrogate before a low one, got '\\udc00' in \"a >>> \\udc00\" - at byte 2"),
        ('"é\ud800"', 3, 'expected text in UTF-8, got byte 0xed in "é >>> \\xed\\xa0\\x80" - at byte 3. Hint: half of a surrogate pair'),
        (b'"\xff"', 1, 'expected text in UTF-8, got byte 0xff in " >>> \\xff" - at byte 1'),
        (b'"a\xc3"', 2, 'expected text in UTF-8, got byte 0xc3 in "a >>> \\xc3" - at byte 2'),
        (b'"\xc0\x80"', 1, "expected text in UTF-8, got byte 0xc0"),
        (b'"\xf4\x90\x80\x80"', 1, "expected text in UTF-8, got byte 0xf4"),
        (b"\xff", 0, "expected a value, got byte 0xff in >>> \\xff - at byte 0"),
        ("// no", 0, "expected a value, got '/' in >>> // no - at byte 0. Hint: JSON has no comments"),
        ("\u00a01", 0, "expected a value, got U+00A0"),
        ("\x00", 0, "expected a value, got U+0000"),
        ("é", 0, "expected a value, got 'é' in >>> é - at byte 0"),
    ],
)
def test_errors_say_what_was_expected_and_where(text: str | bytes, offset: int, message: str) -> None:
    with pytest.raises(JsonError) as caught:
        parse_json(text)
    assert str(caught.value).startswith(message)
    assert caught.value.offset == offset
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_the_spot_is_shown_in_long_texts_and_the_row_is_named() -> None:
    data = ('{"é": [' + "1," * 100 + "x" + ", 2" * 100 + "]}").encode()
    error = json_error(data, data.index(b"x"), VALUE, row=7, hint="see there")
    assert str(error) == (
        "expected a value, got 'x' in …1,1,1,1,1,1,1,1,1,1,1,1, >>> x, 2, 2, 2, 2, 2… - at row 7, byte 208. Hint: see there"
    )
    assert (error.row, error.offset, error.hint) == (7, 208, "see there")


def test_the_excerpt_cuts_no_character_in_two() -> None:
    data = ("é" * 30 + "x" + "é" * 30).encode()
    for offset in (60, 61):
        assert "\\x" not in str(json_error(data, offset, VALUE))


def test_json_errors_bear_any_bytes_and_offsets() -> None:
    for data in (b"", b"\xff" * 40, "\U0001f600".encode() * 9, bytes(range(256))):
        for offset in range(len(data) + 2):
            assert str(json_error(data, offset, VALUE)).startswith("expected a value, got ")


def test_great_depth() -> None:
    depth = 100_000
    for text in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
        assert to_json(parse_json(text)) == text
    with pytest.raises(JsonError) as caught:
        parse_json("[" * depth)
    assert caught.value.offset == depth


def test_huge_numbers_take_linear_time() -> None:
    with pytest.raises(JsonError, match="within the range"):
        parse_json("9" * 1_000_000)
    assert parse_json("1." + "9" * 1_000_000) == Scalar(BY_NAME["double"], 2.0)


@pytest.mark.parametrize("text", [None, 1, ["[]"]])
def test_only_text_is_parsed(text: object) -> None:
    with pytest.raises(UnsupportedTypeError, match="expected JSON text as str or bytes, got"):
        parse_json(text)  # type: ignore[arg-type]


def test_writing() -> None:
    node: Node = {
        "b": [NULL, Scalar(BY_NAME["double"], math.nan), Scalar(BY_NAME["float"], -math.inf)],
        'a"': {},
        "c": [],
        "d": Scalar(BY_NAME["date"], 0),
    }
    assert to_json(node) == '{"b":[null,"NaN","-Infinity"],"a\\"":{},"c":[],"d":"1970-01-01"}'


def test_only_what_must_be_escaped_is() -> None:
    assert json_string('"\\/\b\f\n\r\t\x00\x1f\x7f\u2028é\U0001f600') == '"\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\u2028é\U0001f600"'
