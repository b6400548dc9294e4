"""What is said about text that is not JSON: expected, got, the spot, and a hint where the slip is a common one.

The reference parser and the compiled one report an offset and one of the expectations below; the words are made here,
so that both say the same.
"""

from __future__ import annotations

import re
from typing import Final

from varquet.errors import JsonError

__all__ = [
    "BEHIND_ELEMENT",
    "BEHIND_FIELD",
    "CLOSING_QUOTE",
    "COLON",
    "DIGIT",
    "END",
    "ESCAPE",
    "FIELD_OR_END",
    "HEX_DIGITS",
    "HIGH_SURROGATE",
    "IN_RANGE",
    "LOW_SURROGATE",
    "NAME",
    "NEW_NAME",
    "NO_CONTROL",
    "UTF8",
    "VALUE",
    "json_error",
]

VALUE: Final = "a value"
END: Final = "the end of the text"
NAME: Final = "a field name in double quotes"
FIELD_OR_END: Final = "a field name in double quotes or '}'"
COLON: Final = "':'"
BEHIND_FIELD: Final = "',' or '}'"
BEHIND_ELEMENT: Final = "',' or ']'"
DIGIT: Final = "a digit"
IN_RANGE: Final = "a number within the range of a double"
CLOSING_QUOTE: Final = "a closing '\"'"
NO_CONTROL: Final = "no control character inside a string"
ESCAPE: Final = "an escape such as \\n, \\\\ or \\u0041"
HEX_DIGITS: Final = "four hexadecimal digits after \\u"
HIGH_SURROGATE: Final = "a high surrogate before a low one"
LOW_SURROGATE: Final = "a low surrogate after a high one"
UTF8: Final = "text in UTF-8"
NEW_NAME: Final = "a field name that this object does not hold yet"

_BEFORE: Final = 24
_AFTER: Final = 16
_MOST_OF_TOKEN: Final = 24
_WORD: Final = re.compile(rb"[0-9A-Za-z_+.-]+")
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_WORDS: Final = {
    b"NaN": 'JSON has no NaN; use null or the string "NaN"',
    b"Infinity": 'JSON has no infinity; use null or the string "Infinity"',
    b"True": "it is true in JSON",
    b"False": "it is false in JSON",
    b"None": "it is null in JSON",
    b"undefined": "it is null in JSON",
}


def json_error(data: bytes, offset: int, expected: str, *, row: int | None = None, hint: str | None = None) -> JsonError:
    """The error for what is found at `offset` of the UTF-8 text `data`; the hint is guessed from the spot if not given.

    >>> print(json_error(b'{"a":}', 5, VALUE))
    expected a value, got '}' in {"a": >>> } - at byte 5
    """
    spot = f" in {_excerpt(data, offset)}" if data.strip() else ""
    return JsonError(
        f"expected {expected}, got {_got(data, offset)}{spot}",
        row=row,
        offset=offset,
        hint=hint or _hint(data, offset, expected),
    )


def _got(data: bytes, offset: int) -> str:
    """The offending word, string or character, as a person would name it."""
    if offset >= len(data):
        return "nothing" if not data.strip() else "the end of the text"
    spot = data[offset : offset + 4 * _MOST_OF_TOKEN]
    if token := _WORD.match(spot) or _STRING.match(spot):
        word = token[0].decode("utf-8", "backslashreplace")
        return f"'{_visible(word if len(word) <= _MOST_OF_TOKEN else word[:_MOST_OF_TOKEN] + '…')}'"
    if spot.startswith(b"\\u"):
        return f"'{_visible(spot[:6].decode('utf-8', 'backslashreplace'))}'"
    if spot.startswith(b"\\"):
        return f"'{_visible(_first_characters(spot, 2))}'"
    character = _first_characters(spot, 1)
    if not character:
        return f"byte 0x{spot[0]:02x}"
    return f"'{character}'" if character.isprintable() else f"U+{ord(character):04X}"


def _first_characters(data: bytes, count: int) -> str:
    """The characters that start `data`, or none if it starts with no UTF-8."""
    return data[: 4 * count].decode("utf-8", "replace").split("\ufffd")[0][:count]


def _excerpt(data: bytes, offset: int) -> str:
    """What stands around the offset, with the place marked by an arrow."""
    start = max(0, offset - _BEFORE)
    while start and data[start : start + 1] and 0x80 <= data[start] < 0xC0 and start < offset:
        start += 1
    end = min(len(data), offset + _AFTER)
    while end < len(data) and 0x80 <= data[end] < 0xC0 and end < offset + _AFTER + 4:
        end += 1
    before = ("…" if start else "") + _visible(data[start:offset].decode("utf-8", "backslashreplace"))
    after = _visible(data[offset:end].decode("utf-8", "backslashreplace")) + ("…" if end < len(data) else "")
    return f"{before.rstrip()} >>> {after}".strip()


def _visible(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{ord(c):04x}" for c in text)


def _hint(data: bytes, offset: int, expected: str) -> str | None:
    """What the writer of the text probably meant."""
    if expected == NEW_NAME:
        return 'duplicate_keys="last" keeps the last value of a name'
    if expected == NO_CONTROL and offset < len(data):
        return f"write \\u{data[offset]:04x}"
    if offset >= len(data):
        return None if data.strip() else "an empty text is no JSON value; null is"
    spot = data[offset : offset + 16]
    word = _WORD.match(spot)
    if word and word[0] in _WORDS:
        return _WORDS[word[0]]
    if expected == UTF8 and spot[:1] == b"\xed":
        return "half of a surrogate pair is no character"
    if spot[:1] == b"'":
        return "JSON quotes with \", not with '"
    if spot[:2] in (b"//", b"/*") or spot[:1] == b"#":
        return "JSON has no comments"
    if spot[:1] in b"]}" and data[max(0, offset - 64) : offset].rstrip(b" \t\n\r")[-1:] == b",":
        return "there is no comma behind the last one"
    if spot[:1].isdigit() and data[offset - 1 : offset] == b"0":
        return "numbers have no leading zeros"
    if spot[:1] in b"+." and expected == VALUE:
        return "numbers start with a digit or with -"
    if expected == END:
        return "a text holds one value; for one value per line, split it into lines first"
    return None
