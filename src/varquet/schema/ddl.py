"""Shredding schemas as text in the manner of Spark's DDL.

    a bigint, b struct<c: string, d: array<int>>, e variant     a list of fields: an object
    array<decimal(10,2)>                                        or one type

Keywords and type names are read in any case and by all of Spark's names; other names than those of letters, digits and
`_` stand in backticks, doubled inside. `variant` is a path of its own column without a typed_value. A comment behind a
field is read and dropped.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from varquet.errors import SchemaError, UnsupportedTypeError
from varquet.schema.walk import ARRAY, END, OBJECT, VALUE, Event, Mark, Trail, check_name, place
from varquet.types import MAX_DECIMAL_DIGITS, PRIMITIVES, Family, arrow_type_of_sql, sql_name

__all__ = ["read_ddl", "read_primitive", "syntax_error", "write_ddl"]

_BLANKS: Final = re.compile(r"\s*")
_WORD: Final = re.compile(r"\w+")
_QUOTED: Final = re.compile(r"`((?:[^`]|``)*)`")
_STRING: Final = re.compile(r'"[^"]*"')
_ARGUMENTS: Final = re.compile(r"\(\s*[0-9]{1,4}\s*(?:,\s*[0-9]{1,4}\s*)?\)")
_COMMENT: Final = re.compile(r"""comment\s*('(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")""", re.IGNORECASE | re.DOTALL)
_NOT_NULL: Final = re.compile(r"not\s+null\b", re.IGNORECASE)
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][0-9A-Za-z_]*")
_BEFORE: Final = 40
_AFTER: Final = 24
_MOST_OF_TOKEN: Final = 24
_HINT_FOR_NAMES: Final = "names of other characters than letters, digits and _ stand in backticks, as in `content-type`"

_TYPE_NAMES: Final = sorted({kind.sql for kind in PRIMITIVES if kind.family is not Family.NULL} | {"array", "struct", "variant"})
_INSTEAD: Final = {
    **dict.fromkeys(("map",), "take a struct of the keys that are known, or variant"),
    **dict.fromkeys(("object", "record", "row"), "it is struct<name: type, ...>"),
    **dict.fromkeys(("list",), "it is array<type>"),
    **dict.fromkeys(("json", "void", "null", "any"), "take variant, which has no typed_value"),
    **dict.fromkeys(("char", "character", "str", "utf8"), "take string"),
    **dict.fromkeys(("bytes", "blob", "varbinary", "fixed"), "take binary"),
    **dict.fromkeys(("int8",), "take tinyint"),
    **dict.fromkeys(("int16", "uint8"), "take smallint"),
    **dict.fromkeys(("int32", "uint16"), "take int"),
    **dict.fromkeys(("int64",), "take bigint"),
    **dict.fromkeys(("uint32",), "there are no unsigned integers: take bigint or decimal(20,0)"),
    **dict.fromkeys(("uint64",), "there are no unsigned integers: take decimal(20,0)"),
    **dict.fromkeys(("int96",), "take timestamp_nanos or timestamp_ntz_nanos"),
    **dict.fromkeys(("float16", "half", "float32"), "take float"),
    **dict.fromkeys(("float64",), "take double"),
    **dict.fromkeys(("number",), "take decimal(p,s) or double"),
    **dict.fromkeys(("datetime", "timestamptz", "timestamp_s", "timestamp_ms", "timestamp_us"), "take timestamp or timestamp_ntz"),
    **dict.fromkeys(("timestamp_ns",), "take timestamp_nanos or timestamp_ntz_nanos"),
    **dict.fromkeys(("interval", "duration"), "take bigint or string"),
}


def read_ddl(text: str, at: Trail = None) -> Iterator[Event]:
    """The walk of the schema that a text describes; errors name the character, and the place if the text is part of more."""
    return _Reader(text, at).events()


def read_primitive(text: str, at: Trail = None) -> pa.DataType:
    """The Arrow type of a text that names a primitive type."""
    (mark, arrow), *more = read_ddl(text, at)
    if mark is not Mark.PRIMITIVE or more:
        raise SchemaError(f"expected the name of a primitive type, got {text!r}", path=place(at) if at else None)
    return arrow


@dataclass(slots=True)
class _Open:
    mark: Mark
    word: str
    """`array<` or `struct<` as a message says it; empty for a list of fields at the root."""
    start: int
    names: set[str] = field(default_factory=set)


class _Reader:
    def __init__(self, text: str, at: Trail) -> None:
        self.text = text
        self.at = 0
        self.trail = at
        self.opened: list[_Open] = []

    def events(self) -> Iterator[Event]:
        self.blanks()
        if self.at == len(self.text):
            raise self.fail("a type or a list of fields", hint="struct<> is an object of which no field is shredded")
        if self.is_field_list():
            yield OBJECT
            self.opened.append(_Open(Mark.OBJECT, "", self.at))
            yield self.field()
        while True:
            event = self.type()
            yield event
            if event == OBJECT and not self.takes(">"):
                yield self.field()
                continue
            if event == ARRAY:
                continue
            if event == OBJECT:
                self.opened.pop()
                yield END
            # A type is complete, and with it perhaps others around it.
            while self.opened and self.closes():
                self.opened.pop()
                yield END
            if not self.opened:
                break
            yield self.field()
        self.blanks()
        if self.at < len(self.text):
            raise self.fail("the end", hint=self.hint_behind_type())

    def is_field_list(self) -> bool:
        """Whether the text begins with a name and not with a type, which is followed by nothing or by its parameters."""
        if self.peek() == "`":
            return True
        found = _WORD.match(self.text, self.at)
        if not found:
            return False
        behind = self.text[_skip(self.text, found.end()) :][:1]
        return behind not in ("", "(", "<", ">")

    def field(self) -> Event:
        self.blanks()
        start = self.at
        if self.peek() == "`":
            quoted = _QUOTED.match(self.text, self.at)
            if not quoted:
                raise self.fail("a closing '`'", len(self.text), hint=f"the name opens at character {start + 1}")
            name = quoted[1].replace("``", "`")
            self.at = quoted.end()
        else:
            word = _WORD.match(self.text, self.at)
            if not word:
                odd = self.peek() not in ("", ",", ":", ">", "<")
                raise self.fail("a field name", hint=_HINT_FOR_NAMES if odd else None)
            name = word[0]
            self.at = word.end()
        check_name(name, self.trail)
        names = self.opened[-1].names
        if name in names:
            raise self.fail("a field name that this object does not have yet", start)
        names.add(name)
        self.takes(":")
        return Mark.FIELD, name

    def type(self) -> Event:
        self.blanks()
        start = self.at
        found = _WORD.match(self.text, self.at)
        if not found:
            odd = self.peek() not in ("", ",", ":", ">", "<")
            raise self.fail("a type", hint=_HINT_FOR_NAMES if odd else None)
        word = found[0].lower()
        if not_null := _NOT_NULL.match(self.text, self.at):
            raise self.not_null(not_null[0])
        self.at = found.end()
        if word in ("struct", "array"):
            if not self.takes("<"):
                raise self.fail(f"'<' behind {word}", hint="write struct<name: type, ...> or array<type>")
            mark = Mark.OBJECT if word == "struct" else Mark.ARRAY
            self.opened.append(_Open(mark, f"{word}<", start))
            return OBJECT if mark is Mark.OBJECT else ARRAY
        if word == "variant":
            return VALUE
        return Mark.PRIMITIVE, self.primitive(word, start)

    def primitive(self, word: str, start: int) -> pa.DataType:
        name = word
        self.blanks()
        if self.peek() == "(":
            arguments = _ARGUMENTS.match(self.text, self.at)
            if not arguments:
                raise self.fail("one or two numbers in brackets", hint="write decimal(precision, scale)")
            name = word + arguments[0]
            self.at = arguments.end()
        if re.fullmatch(r"time\(\s*6\s*\)", name):  # so Spark prints its only time type
            return pa.time64("us")
        try:
            return arrow_type_of_sql(name)
        except UnsupportedTypeError:
            if word in ("decimal", "dec", "numeric"):
                digits = f"a decimal of 1 to {MAX_DECIMAL_DIGITS} digits with no more of them behind the point"
                raise self.fail(digits, start, got=repr(name)) from None
            if name != word and word in ("varchar", "char", "character", "string"):
                raise self.fail("a type without a length", start, got=repr(name), hint="take string") from None
            if name != word and word in _TYPE_NAMES:
                raise self.fail("a type without parameters", start, got=repr(name), hint=f"take {word}") from None
            raise self.fail("a type", start, got=repr(name), hint=_hint_for_type(word)) from None

    def closes(self) -> bool:
        """Read what stands behind a complete type: true if it closes the innermost object or array, false if a field follows."""
        self.blanks()
        inner = self.opened[-1]
        if inner.mark is Mark.OBJECT:
            comment = _COMMENT.match(self.text, self.at)
            if comment:
                self.at = comment.end()
                self.blanks()
            if self.takes(","):
                return False
            if not inner.word and self.at == len(self.text):
                return True
        if inner.word and self.takes(">"):
            return True
        expected = {"": "',' or the end", "struct<": "',' or '>'", "array<": "'>'"}[inner.word]
        hint = self.hint_behind_type()
        if self.at == len(self.text):
            hint = f"{inner.word} opens at character {inner.start + 1}"
        raise self.fail(expected, hint=hint)

    def hint_behind_type(self) -> str | None:
        if not_null := _NOT_NULL.match(self.text, self.at):
            raise self.not_null(not_null[0])
        if self.peek() == ">":
            return "there are more closing brackets than opening ones"
        if self.peek() == "(":
            return "this type takes no parameters"
        return None

    def not_null(self, got: str) -> SchemaError:
        hint = "any field of a Variant may be missing or null, so shredded fields are always optional"
        return self.fail("a type without NOT NULL", got=repr(got), hint=hint)

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def blanks(self) -> None:
        self.at = _skip(self.text, self.at)

    def takes(self, char: str) -> bool:
        self.blanks()
        if self.peek() != char:
            return False
        self.at += 1
        return True

    def fail(self, expected: str, at: int | None = None, *, got: str | None = None, hint: str | None = None) -> SchemaError:
        return syntax_error(self.text, self.at if at is None else at, expected, got=got, trail=self.trail, hint=hint)


def syntax_error(text: str, at: int, expected: str, *, got: str | None = None, trail: Trail = None, hint: str | None = None) -> SchemaError:
    """The error for what is found at a character of a text, with the spot marked by ▸."""
    found = got if got is not None else _token(text, at)
    return SchemaError(
        f"expected {expected}, got {found} at character {at + 1} of {_excerpt(text, at)}",
        path=place(trail) if trail else None,
        hint=hint,
    )


def _token(text: str, at: int) -> str:
    if at == len(text):
        return "the end"
    found = _WORD.match(text, at) or _QUOTED.match(text, at) or _STRING.match(text, at)
    token = found[0] if found else text[at]
    return repr(token if len(token) <= _MOST_OF_TOKEN else token[:_MOST_OF_TOKEN] + "…")


def _excerpt(text: str, at: int) -> str:
    before, behind = text[max(at - _BEFORE, 0) : at], text[at : at + _AFTER]
    opening, closing = "…" if at > _BEFORE else "", "…" if at + _AFTER < len(text) else ""
    return f"'{opening}{_one_line(before)}▸{_one_line(behind)}{closing}'"


def _skip(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at


def _one_line(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)


def _hint_for_type(word: str) -> str:
    if word in _INSTEAD:
        return _INSTEAD[word]
    close = difflib.get_close_matches(word, _TYPE_NAMES, n=1)
    return f"did you mean {close[0]}?" if close else "the types are " + ", ".join(_TYPE_NAMES)


def write_ddl(events: Iterable[Event]) -> Iterator[str]:
    """The pieces of the canonical text: names in order, an object at the root as a list of fields."""
    opened: list[tuple[Mark, int]] = []
    for mark, payload in events:
        if mark is Mark.FIELD:
            _, count = opened[-1]
            opened[-1] = (Mark.OBJECT, count + 1)
            yield f"{', ' if count else ''}{_quoted(payload)}{' ' if len(opened) == 1 else ': '}"
        elif mark is Mark.END:
            closed, count = opened.pop()
            if opened or closed is Mark.ARRAY:
                yield ">"
            elif not count:
                yield "struct<>"
        elif mark is Mark.PRIMITIVE:
            yield sql_name(payload)
        elif mark is Mark.VALUE:
            yield "variant"
        else:
            if opened or mark is Mark.ARRAY:
                yield "struct<" if mark is Mark.OBJECT else "array<"
            opened.append((mark, 0))


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"
