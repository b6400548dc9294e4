"""Shredding schemas as JSON and as plain Python.

    JSON     {"type":"object","fields":{"a":"bigint","b":{"type":"array","element":"variant"}}}
    Python   {"a": "bigint", "b": ["variant"]}

Types are written as in DDL. Python also takes Arrow types, and None for "variant"; JSON takes a list of one element for an
array, and null.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from varquet.errors import SchemaError
from varquet.schema.arrow_form import read_arrow
from varquet.schema.ddl import read_ddl, syntax_error
from varquet.schema.walk import ARRAY, ELEMENT, END, OBJECT, VALUE, Event, Kind, Mark, Trail, check_name, fold, place, walk
from varquet.types import sql_name

__all__ = ["read_json", "read_python", "to_python", "write_json"]


def read_python(source: object) -> Iterator[Event]:
    """The walk of a schema given as a str, an Arrow type, a mapping, a list of one, None or a schema."""
    pending: list[Any] = [(source, None)]
    ancestors: dict[int, object] = {}
    while pending:
        item = pending.pop()
        if isinstance(item, _Left):
            del ancestors[item.container]
            yield END
            continue
        if isinstance(item[0], Mark):
            yield item
            continue
        source, at = item
        if source is None:
            yield VALUE
        elif isinstance(source, str):
            yield from read_ddl(source, at)
        elif isinstance(source, pa.DataType):
            yield from read_arrow(source, at)
        elif isinstance(getattr(source, "kind", None), Kind):
            yield from walk(source)  # type: ignore[arg-type]
        elif isinstance(source, (Mapping, list, tuple)):
            if id(source) in ancestors:
                raise SchemaError("expected a tree, got a container that holds itself", path=place(at))
            ancestors[id(source)] = source
            pending.append(_Left(id(source)))
            if isinstance(source, Mapping):
                yield OBJECT
                for name, child in reversed(list(source.items())):
                    pending += ((child, (at, check_name(name, at))), (Mark.FIELD, name))
            else:
                yield ARRAY
                pending.append((_only(source, at), (at, ELEMENT)))
        else:
            raise SchemaError(
                f"expected a type's name, an Arrow type, a dict, a list of one or None, got {type(source).__name__}",
                path=place(at),
                hint='schemas look like {"a": "bigint", "tags": ["string"], "rest": None}',
            )


class _Left:
    """The end of a container, where it stops being an ancestor of what follows."""

    __slots__ = ("container",)

    def __init__(self, container: int) -> None:
        self.container = container


def _only(elements: list[Any] | tuple[Any, ...], at: Trail) -> Any:
    if len(elements) != 1:
        raise SchemaError(
            f"expected a list of one, the type of the elements, got {len(elements)} of them",
            path=place(at),
            hint="the elements of an array are shredded alike; where they differ in type take variant",
        )
    return elements[0]


def to_python(events: Iterable[Event]) -> Any:
    """The schema as `read_python` takes it: type names, dicts and lists of one."""

    def as_dict(fields: list[tuple[str, Any]]) -> Any:
        return dict(fields)

    return fold(events, value=lambda: "variant", primitive=sql_name, object=as_dict, array=lambda element: [element])


def write_json(events: Iterable[Event]) -> Iterator[str]:
    """The pieces of the JSON text, without blanks and with fields in order."""
    opened: list[tuple[Mark, int]] = []
    for mark, payload in events:
        if mark is Mark.FIELD:
            _, count = opened[-1]
            opened[-1] = (Mark.OBJECT, count + 1)
            yield f"{',' if count else ''}{json.dumps(payload, ensure_ascii=False)}:"
        elif mark is Mark.END:
            closed, _ = opened.pop()
            yield "}}" if closed is Mark.OBJECT else "}"
        elif mark is Mark.PRIMITIVE:
            yield f'"{sql_name(payload)}"'
        elif mark is Mark.VALUE:
            yield '"variant"'
        else:
            yield '{"type":"object","fields":{' if mark is Mark.OBJECT else '{"type":"array","element":'
            opened.append((mark, 0))


def read_json(text: str) -> Iterator[Event]:
    """The walk of a schema given as JSON."""
    pending: list[Any] = [(_JsonReader(text).tree(), None)]
    while pending:
        item = pending.pop()
        if isinstance(item[0], Mark):
            yield item
            continue
        source, at = item
        if source is None:
            yield VALUE
        elif isinstance(source, str):
            yield from read_ddl(source, at)
        elif isinstance(source, list) or (isinstance(source, dict) and source.get("type") == "array"):
            yield ARRAY
            element = _only(source, at) if isinstance(source, list) else _member(source, "element", at)
            pending += (END, (element, (at, ELEMENT)))
        elif isinstance(source, dict) and source.get("type") == "object":
            fields = _member(source, "fields", at)
            if not isinstance(fields, dict):
                raise SchemaError(f'expected an object as "fields", got {_described(fields)}', path=place(at), hint=_EXAMPLE)
            yield OBJECT
            pending.append(END)
            for name, child in reversed(fields.items()):
                pending += ((child, (at, check_name(name, at))), (Mark.FIELD, name))
        else:
            got = _described(source.get("type")) if isinstance(source, dict) and "type" in source else _described(source)
            wanted = '"object" or "array" as "type"' if isinstance(source, dict) else "a type's name or an object"
            raise SchemaError(f"expected {wanted}, got {got}", path=place(at), hint=_EXAMPLE)


_EXAMPLE: Final = 'schemas look like {"type":"object","fields":{"a":"bigint","tags":{"type":"array","element":"string"}}}'


def _member(source: dict[str, Any], name: str, at: Trail) -> Any:
    odd = [key for key in source if key not in ("type", name)]
    if odd:
        raise SchemaError(f'expected "type" and "{name}" in an {source["type"]}, got {odd[0]!r}', path=place(at), hint=_EXAMPLE)
    if name not in source:
        raise SchemaError(f'expected "{name}" in an {source["type"]}, got none', path=place(at), hint=_EXAMPLE)
    return source[name]


def _described(source: object) -> str:
    if isinstance(source, (dict, list)):
        return 'an object without "type"' if isinstance(source, dict) else "a list"
    text = source.text if isinstance(source, _Literal) else json.dumps(source, ensure_ascii=False)
    return text if len(text) <= 40 else text[:40] + "…"


class _Literal:
    """A number or a boolean: JSON, but in no place part of a schema."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


_BLANKS: Final = re.compile(r"[ \t\n\r]*")
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"true|false|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD: Final = re.compile(r"\w+")


class _JsonReader:
    """JSON to dicts and lists at any depth, which the standard library's recursive parser does not reach."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def tree(self) -> Any:
        whole: list[Any] = []
        opened: list[dict[str, Any] | list[Any]] = [whole]
        name = ""
        while True:
            inner = opened[-1]
            if isinstance(inner, dict):
                name = self.name(inner)
            node = self.value()
            if isinstance(inner, dict):
                inner[name] = node
            else:
                inner.append(node)
            if isinstance(node, (dict, list)) and not self.takes("}" if isinstance(node, dict) else "]"):
                opened.append(node)
                continue
            while len(opened) > 1 and not self.takes(","):
                closing = "}" if isinstance(opened[-1], dict) else "]"
                if not self.takes(closing):
                    raise self.fail(f"',' or '{closing}'")
                opened.pop()
            if len(opened) == 1:
                break
        self.blanks()
        if self.at < len(self.text):
            raise self.fail("the end")
        return whole[0]

    def name(self, taken: dict[str, Any]) -> str:
        self.blanks()
        start = self.at
        if self.text[start : start + 1] != '"':
            raise self.fail("a name in double quotes")
        name = self.string()
        if name in taken:
            self.at = start
            raise self.fail("a name that this object does not have yet")
        if not self.takes(":"):
            raise self.fail("':'")
        return name

    def value(self) -> Any:
        if self.takes("{"):
            return {}
        if self.takes("["):
            return []
        if self.text[self.at : self.at + 1] == '"':
            return self.string()
        found = _WORD.match(self.text, self.at)
        if found and found[0] == "null":
            self.at = found.end()
            return None
        literal = _SCALAR.match(self.text, self.at)
        if not literal:
            raise self.fail("a type's name in double quotes, '{' or '['")
        self.at = literal.end()
        return _Literal(literal[0])

    def string(self) -> str:
        found = _STRING.match(self.text, self.at)
        try:
            text: str = json.loads(found[0] if found else "")
        except ValueError:
            raise self.fail("a string as JSON has them") from None
        self.at += len(found[0]) if found else 0
        return text

    def blanks(self) -> None:
        blanks = _BLANKS.match(self.text, self.at)
        self.at = blanks.end() if blanks else self.at

    def takes(self, char: str) -> bool:
        self.blanks()
        if not self.text.startswith(char, self.at):
            return False
        self.at += 1
        return True

    def fail(self, expected: str) -> SchemaError:
        return syntax_error(self.text, self.at, expected)
