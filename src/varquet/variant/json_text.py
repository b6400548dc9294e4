"""JSON text to a node and back: the readable reference parser and writer.

Reading follows RFC 8259 to the letter, at any depth. Numbers stay exact where a Variant can hold them:

    12            int8 .. int64, the narrowest; beyond 64 bits decimal16, beyond 38 digits double
    1.10          decimal with the digits as written (110, scale 2), beyond 38 digits double; -0.0 is a double
    1e3           double, correctly rounded; out of range is an error

Writing is compact, with the fields of an object in the order of the node (a decoded node has the order of the
encoding, by name). What JSON has no type for takes the text of `varquet.variant.text`, in quotes unless it is a number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from varquet.errors import JsonError, UnsupportedTypeError
from varquet.types import BY_NAME, MAX_DECIMAL_DIGITS, Family, integer_type_for
from varquet.variant import json_errors as expect
from varquet.variant.decimals import decimal_scalar, unscaled_and_scale
from varquet.variant.json_errors import json_error
from varquet.variant.model import NULL, Node, Scalar
from varquet.variant.text import scalar_text

__all__ = ["json_string", "parse_json", "to_json"]

_BOM: Final = b"\xef\xbb\xbf"
_BLANKS: Final = re.compile(rb"[ \t\n\r]*")
_DIGITS: Final = re.compile(rb"[0-9]*")
_PLAIN: Final = re.compile(rb'[^"\\\x00-\x1f]*')
_CODE_UNIT: Final = re.compile(rb"\\u([0-9A-Fa-f]{4})")
_ESCAPES: Final = {b'"': '"', b"\\": "\\", b"/": "/", b"b": "\b", b"f": "\f", b"n": "\n", b"r": "\r", b"t": "\t"}
_LITERALS: Final = {
    b"null": NULL,
    b"true": Scalar(BY_NAME["true"], True),
    b"false": Scalar(BY_NAME["false"], False),
}
_WORD: Final = re.compile(rb"[0-9A-Za-z_]*")
_STRING: Final = BY_NAME["string"]
_DOUBLE: Final = BY_NAME["double"]

_NEEDS_ESCAPE: Final = re.compile(r'["\\\x00-\x1f]')
_WRITTEN_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNQUOTED: Final = (Family.NULL, Family.BOOLEAN, Family.EXACT)


def parse_json(text: str | bytes, *, duplicate_keys: str = "error") -> Node:
    """The node that a JSON text describes; of a repeated field name the last value is kept, if so asked for.

    >>> parse_json("[1, 1.10]")
    [Scalar(type=PrimitiveType('int8'), value=1), Scalar(type=PrimitiveType('decimal4'), value=Decimal('1.10'))]
    """
    if duplicate_keys not in ("error", "last"):
        raise UnsupportedTypeError(f'expected "error" or "last" as duplicate_keys, got {duplicate_keys!r}')
    if isinstance(text, str):
        # A lone surrogate becomes bytes that are no UTF-8, and is reported where it stands.
        return _Parser(text.encode("utf-8", "surrogatepass"), duplicate_keys).document()
    if isinstance(text, (bytes, bytearray, memoryview)):
        return _Parser(bytes(text), duplicate_keys).document()
    raise UnsupportedTypeError(f"expected JSON text as str or bytes, got {type(text).__name__}")


def to_json(node: Node) -> str:
    """The node as JSON text.

    >>> to_json({"a": [NULL, Scalar(BY_NAME["double"], 1.5)]})
    '{"a":[null,1.5e0]}'
    """
    written: list[str] = []
    pending: list[Iterator[str | Node]] = [iter((node,))]
    while pending:
        part = next(pending[-1], None)
        if part is None:
            pending.pop()
        elif isinstance(part, str):
            written.append(part)
        elif isinstance(part, Scalar):
            written.append(_scalar(part))
        else:
            pending.append(_object(part) if isinstance(part, dict) else _array(part))
    return "".join(written)


def json_string(text: str) -> str:
    """The text as a JSON string; only what must be escaped is.

    >>> print(json_string('say "hé"'))
    "say \\"hé\\""
    """
    return f'"{_NEEDS_ESCAPE.sub(_escaped, text)}"'


def _escaped(found: re.Match[str]) -> str:
    return _WRITTEN_ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04x}"


def _scalar(scalar: Scalar) -> str:
    text = scalar_text(scalar)
    if scalar.type.family in _UNQUOTED or (isinstance(scalar.value, float) and math.isfinite(scalar.value)):
        return text
    return json_string(text)


def _object(fields: dict[str, Node]) -> Iterator[str | Node]:
    opening = "{"
    for name, child in fields.items():
        yield f"{opening}{json_string(name)}:"
        yield child
        opening = ","
    yield "}" if fields else "{}"


def _array(elements: list[Node]) -> Iterator[str | Node]:
    opening = "["
    for child in elements:
        yield opening
        yield child
        opening = ","
    yield "]" if elements else "[]"


class _Parser:
    def __init__(self, data: bytes, duplicate_keys: str) -> None:
        self.data = data
        self.keep_last = duplicate_keys == "last"
        self.at = len(_BOM) if data.startswith(_BOM) else 0
        # The objects and arrays around the current place; beside an object the name whose value is being read.
        self.open: list[tuple[dict[str, Node] | list[Node], str]] = []

    def document(self) -> Node:
        self.blanks()
        while True:
            node = self.begin()
            while node is not None:
                if not self.open:
                    return self.end(node)
                node = self.attach(node)

    def begin(self) -> Node | None:
        """Read the value that starts here; of an object or array that is not empty only what precedes its first value."""
        if self.take(b"{"):
            self.blanks()
            if self.take(b"}"):
                return {}
            fields: dict[str, Node] = {}
            self.open.append((fields, self.name(fields, expect.FIELD_OR_END)))
            return None
        if self.take(b"["):
            self.blanks()
            if self.take(b"]"):
                return []
            self.open.append(([], ""))
            return None
        return self.scalar()

    def attach(self, node: Node) -> Node | None:
        """Put a finished value where it belongs; return the object or array if this was its last."""
        container, name = self.open[-1]
        if isinstance(container, dict):
            container.pop(name, None)  # the last of a repeated name also takes the last place
            container[name] = node
        else:
            container.append(node)
        self.blanks()
        if self.take(b","):
            self.blanks()
            if isinstance(container, dict):
                self.open[-1] = container, self.name(container, expect.NAME)
            return None
        if not self.take(b"}" if isinstance(container, dict) else b"]"):
            raise self.fail(expect.BEHIND_FIELD if isinstance(container, dict) else expect.BEHIND_ELEMENT)
        self.open.pop()
        return container

    def end(self, node: Node) -> Node:
        self.blanks()
        if self.at < len(self.data):
            raise self.fail(expect.END)
        return node

    def name(self, fields: dict[str, Node], expected: str) -> str:
        """Read a field name and the colon behind it."""
        start = self.at
        if self.peek() != b'"':
            raise self.fail(expected)
        name = self.string()
        if name in fields and not self.keep_last:
            raise self.fail(expect.NEW_NAME, start)
        self.blanks()
        if not self.take(b":"):
            raise self.fail(expect.COLON)
        self.blanks()
        return name

    def scalar(self) -> Scalar:
        first = self.peek()
        if first == b'"':
            return Scalar(_STRING, self.string())
        if first == b"-" or first.isdigit():
            return self.number()
        word = self.match(_WORD)
        if word not in _LITERALS:
            raise self.fail(expect.VALUE, self.at - len(word))
        return _LITERALS[word]

    def number(self) -> Scalar:
        start = self.at
        self.take(b"-")
        if not self.take(b"0"):
            self.digits()
        fraction = self.digits() if self.take(b".") else b""
        before_exponent = self.at
        if self.take(b"e") or self.take(b"E"):
            if not self.take(b"-"):
                self.take(b"+")
            self.digits()
        number = _number(self.data[start : self.at].decode("ascii"), len(fraction), has_exponent=self.at > before_exponent)
        if number is None:
            raise self.fail(expect.IN_RANGE, start)
        return number

    def digits(self) -> bytes:
        digits = self.match(_DIGITS)
        if not digits:
            raise self.fail(expect.DIGIT)
        return digits

    def string(self) -> str:
        self.at += 1
        parts: list[str] = []
        while True:
            start = self.at
            plain = self.match(_PLAIN)
            try:
                parts.append(plain.decode("utf-8"))
            except UnicodeDecodeError as error:
                raise self.fail(expect.UTF8, start + error.start) from None
            if self.take(b'"'):
                return "".join(parts)
            if self.at == len(self.data):
                raise self.fail(expect.CLOSING_QUOTE)
            if self.peek() != b"\\":
                raise self.fail(expect.NO_CONTROL)
            parts.append(self.escape())

    def escape(self) -> str:
        start = self.at
        character = self.data[start + 1 : start + 2]
        if character in _ESCAPES:
            self.at += 2
            return _ESCAPES[character]
        if character != b"u":
            raise self.fail(expect.ESCAPE)
        unit = self.code_unit()
        if 0xDC00 <= unit <= 0xDFFF:
            raise self.fail(expect.HIGH_SURROGATE, start)
        if 0xD800 <= unit <= 0xDBFF:
            low = self.code_unit() if self.data.startswith(b"\\u", self.at) else 0
            if not 0xDC00 <= low <= 0xDFFF:
                raise self.fail(expect.LOW_SURROGATE, start)
            unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
        return chr(unit)

    def code_unit(self) -> int:
        found = _CODE_UNIT.match(self.data, self.at)
        if not found:
            raise self.fail(expect.HEX_DIGITS)
        self.at = found.end()
        return int(found[1], 16)

    def blanks(self) -> None:
        self.match(_BLANKS)

    def peek(self) -> bytes:
        return self.data[self.at : self.at + 1]

    def take(self, character: bytes) -> bool:
        """Step over this character if it is the next one."""
        if self.peek() != character:
            return False
        self.at += 1
        return True

    def match(self, pattern: re.Pattern[bytes]) -> bytes:
        """Step over what the pattern, which also matches nothing, finds here."""
        found = pattern.match(self.data, self.at)
        assert found is not None
        self.at = found.end()
        return found[0]

    def fail(self, expected: str, at: int | None = None) -> JsonError:
        return json_error(self.data, self.at if at is None else at, expected)


def _number(text: str, scale: int, *, has_exponent: bool) -> Scalar | None:
    """The number in the type that keeps it exact, or None if it is out of range."""
    digits = len(text.lstrip("-0.").replace(".", ""))
    if not has_exponent and digits <= MAX_DECIMAL_DIGITS and scale <= MAX_DECIMAL_DIGITS:
        if scale == 0:
            return _integer(int(text))
        if digits > 0 or not text.startswith("-"):
            return decimal_scalar(*unscaled_and_scale(Decimal(text)))
        # A decimal has no negative zero, a double has.
    number = float(text)
    return None if math.isinf(number) else Scalar(_DOUBLE, number)


def _integer(number: int) -> Scalar:
    kind = integer_type_for(number)
    return Scalar(kind, number) if kind else decimal_scalar(number, 0)
