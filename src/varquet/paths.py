"""Paths into a Variant: the singular queries of RFC 9535.

    $            the whole value
    $.a.b        field b of field a
    $['a.b']     a field whose name holds a dot; "..." works as well
    $.a[0]       the first element; $.a[-1] the last

`str(path)` is the normalized form of RFC 9535, section 2.7, which is also the key of Delta's and Iceberg's Variant
statistics: `$['a']['b'][0]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from varquet.errors import PathError, UnsupportedTypeError

__all__ = ["Path", "normalized"]

_MAX_INDEX: Final = (1 << 53) - 1  # RFC 9535, 2.1: integers are those that I-JSON can exchange
_SHORTHAND: Final = re.compile(r"[A-Za-z_\u0080-\ud7ff\ue000-\U0010ffff][0-9A-Za-z_\u0080-\ud7ff\ue000-\U0010ffff]*")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_INDEX: Final = re.compile(r"0|-?[1-9][0-9]*")
_BLANK: Final = " \t\n\r"
_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/", "\\": "\\"}
_NORMAL_ESCAPES: Final = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "'": "\\'", "\\": "\\\\"}


@dataclass(frozen=True, slots=True)
class Path:
    """A singular path: field names and array indexes, outermost first.

    >>> Path.parse('$.user["first.name"][0]')
    Path("$['user']['first.name'][0]")
    >>> Path.parse("$.a.b").steps
    ('a', 'b')
    """

    steps: tuple[str | int, ...] = ()

    def __post_init__(self) -> None:
        if type(self.steps) is not tuple:
            if not isinstance(self.steps, (list, tuple)):
                raise UnsupportedTypeError(
                    f"expected the steps of a path as a tuple, got {type(self.steps).__name__}", hint="Path.parse reads the text of a path"
                )
            object.__setattr__(self, "steps", tuple(self.steps))
        for step in self.steps:
            if type(step) is str and step.isascii():
                continue
            _check_step(step)

    @classmethod
    def parse(cls, text: str | Path) -> Path:
        """Read a path from its text; a `Path` is returned as it is."""
        if isinstance(text, Path):
            return text
        if not isinstance(text, str):
            raise UnsupportedTypeError(f"expected a path or its text, got {type(text).__name__}", hint="paths look like $.a.b or $[0]")
        return cls(tuple(_Parser(text).steps()))

    def __truediv__(self, step: str | int) -> Path:
        """The path of a field or element below this one."""
        return Path((*self.steps, step))

    def __str__(self) -> str:
        return normalized(self.steps)

    def __repr__(self) -> str:
        return f'Path("{self}")'

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[str | int]:
        return iter(self.steps)


def normalized(steps: Iterable[str | int]) -> str:
    """The normalized form of steps, which error messages show even where they make no path."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f"['{''.join(map(_normal_character, step))}']" for step in steps)


def _check_step(step: object) -> None:
    """Refuse what no path that is read has for a step."""
    if isinstance(step, str):
        if _SURROGATE.search(step):
            raise PathError(f"expected a field name of Unicode characters, got a lone surrogate in {step!r}")
    elif isinstance(step, bool) or not isinstance(step, int):
        raise UnsupportedTypeError(f"expected a field name or an index as a step of a path, got {type(step).__name__}")
    elif abs(step) > _MAX_INDEX:
        raise PathError(f"expected an index between {-_MAX_INDEX} and {_MAX_INDEX}, got one of {step.bit_length()} bits")


def _normal_character(char: str) -> str:
    if char in _NORMAL_ESCAPES:
        return _NORMAL_ESCAPES[char]
    return f"\\u{ord(char):04x}" if char < " " else char


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, expected: str, at: int | None = None, hint: str | None = None) -> PathError:
        at = self.at if at is None else at
        got = repr(self.text[at]) if at < len(self.text) else "the end"
        return PathError(
            f"expected {expected}, got {got} at character {at + 1} of path {self.text!r}",
            hint=hint or "paths look like $.a.b, $['a.b'] or $[0]",
        )

    def steps(self) -> Iterator[str | int]:
        if not self.text.startswith("$"):
            raise self.fail("'$'", 0)
        self.at = 1
        while self.at < len(self.text):
            self.blanks()
            if self.peek() == ".":
                self.at += 1
                yield self.shorthand()
            elif self.peek() == "[":
                self.at += 1
                self.blanks()
                yield self.quoted() if self.peek() in ("'", '"') else self.index()
                self.blanks()
                if self.peek() != "]":
                    raise self.fail("']'")
                self.at += 1
            else:
                raise self.fail("'.' or '['", hint=_hint_for_odd_name(self.text))

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def blanks(self) -> None:
        while self.peek() and self.peek() in _BLANK:
            self.at += 1

    def shorthand(self) -> str:
        found = _SHORTHAND.match(self.text, self.at)
        if not found:
            raise self.fail("a field name", hint=_hint_for_odd_name(self.text))
        self.at = found.end()
        return found[0]

    def index(self) -> int:
        found = _INDEX.match(self.text, self.at)
        if not found:
            raise self.fail("a quoted field name or an index")
        if len(found[0]) > 17 or abs(int(found[0])) > _MAX_INDEX:
            raise self.fail(f"an index between {-_MAX_INDEX} and {_MAX_INDEX}")
        self.at = found.end()
        return int(found[0])

    def quoted(self) -> str:
        quote = self.peek()
        opened = self.at
        self.at += 1
        name: list[str] = []
        while (char := self.peek()) != quote:
            if not char:
                raise self.fail(f"a closing {quote}", hint=f"the name opens at character {opened + 1}")
            if char < " ":
                raise self.fail("a character that is no control character", hint=f"write \\u{ord(char):04x}")
            if "\ud800" <= char <= "\udfff":
                raise self.fail("a Unicode character that is no lone surrogate")
            self.at += 1
            name.append(self.escape(quote) if char == "\\" else char)
        self.at += 1
        return "".join(name)

    def escape(self, quote: str) -> str:
        char = self.peek()
        start = self.at - 1
        self.at += 1
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char and char == quote:
            return char
        if char != "u":
            raise self.fail("an escape such as \\n, \\\\ or \\u0041", start)
        unit = self.four_hex(start)
        if 0xDC00 <= unit <= 0xDFFF:
            raise self.fail("a high surrogate before a low one", start)
        if 0xD800 <= unit <= 0xDBFF:
            if self.text[self.at : self.at + 2] != "\\u":
                raise self.fail("a low surrogate after a high one", start)
            self.at += 2
            low = self.four_hex(start)
            if not 0xDC00 <= low <= 0xDFFF:
                raise self.fail("a low surrogate after a high one", start)
            unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
        return chr(unit)

    def four_hex(self, start: int) -> int:
        digits = self.text[self.at : self.at + 4]
        if not re.fullmatch(r"[0-9A-Fa-f]{4}", digits):
            raise self.fail("four hexadecimal digits after \\u", start)
        self.at += 4
        return int(digits, 16)


def _hint_for_odd_name(text: str) -> str:
    return f"names with other characters than letters, digits and _ are quoted, as in $['content-type'] (the path is {text!r})"
