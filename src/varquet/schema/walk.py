"""A shredding schema as a walk: what its readers produce and its printers consume.

    a bigint, b array<variant>   is   OBJECT, field a, primitive int64, field b, ARRAY, VALUE, END, END

Text, JSON, Python and Arrow types are read into such walks, and trees are folded from them and walked again. No step
needs to know how deep it is, so no schema is too deep: nothing here or around it recurses.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from varquet.errors import PathError, SchemaError, UnsupportedTypeError
from varquet.paths import Path, normalized

__all__ = [
    "ARRAY",
    "ELEMENT",
    "END",
    "OBJECT",
    "VALUE",
    "Event",
    "Kind",
    "Mark",
    "Node",
    "Step",
    "Trail",
    "check_name",
    "display_path",
    "fold",
    "place",
    "steps_of",
    "walk",
]


class Kind(enum.Enum):
    """What a node of a shredding schema makes of a value."""

    VALUE = "value"
    """No typed_value: whatever it is, it is stored in `value`."""
    PRIMITIVE = "primitive"
    """typed_value is a column of one primitive type."""
    OBJECT = "object"
    """typed_value is a group of shredded fields."""
    ARRAY = "array"
    """typed_value is a list of shredded elements."""


class Mark(enum.Enum):
    """What an event of a walk says; a PRIMITIVE comes with its Arrow type, a FIELD with its name and before its node."""

    VALUE = "value"
    PRIMITIVE = "primitive"
    OBJECT = "object"
    FIELD = "field"
    ARRAY = "array"
    END = "end"


Event: TypeAlias = tuple[Mark, Any]

VALUE: Final[Event] = (Mark.VALUE, None)
OBJECT: Final[Event] = (Mark.OBJECT, None)
ARRAY: Final[Event] = (Mark.ARRAY, None)
END: Final[Event] = (Mark.END, None)


class _Element(enum.Enum):
    ELEMENT = "[*]"

    def __repr__(self) -> str:
        return "ELEMENT"


ELEMENT: Final = _Element.ELEMENT
"""The step from an array to its elements, all of which are shredded alike."""

Step: TypeAlias = str | _Element

Trail: TypeAlias = "tuple[Trail, Step] | None"
"""The way to a node, innermost step outermost, so that readers extend it at no cost; None is the root."""


class Node(Protocol):
    """A node of a shredding schema, as a walk sees it."""

    @property
    def kind(self) -> Kind: ...
    @property
    def type(self) -> Any: ...
    @property
    def fields(self) -> Sequence[tuple[str, Node]]: ...
    @property
    def element(self) -> Node | None: ...


def walk(node: Node) -> Iterator[Event]:
    """The events of a tree, fields in its order."""
    pending: list[Node | Event] = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, tuple):
            yield item
        elif item.kind is Kind.VALUE:
            yield VALUE
        elif item.kind is Kind.PRIMITIVE:
            yield Mark.PRIMITIVE, item.type
        else:
            pending.append(END)
            if item.element is not None:
                pending.append(item.element)
            for name, child in reversed(item.fields):
                pending += (child, (Mark.FIELD, name))
            yield OBJECT if item.kind is Kind.OBJECT else ARRAY


T = TypeVar("T")


def fold(
    events: Iterable[Event],
    *,
    value: Callable[[], T],
    primitive: Callable[[Any], T],
    object: Callable[[list[tuple[str, T]]], T],
    array: Callable[[T], T],
) -> T:
    """What the events describe, made from the leaves up; a field name given twice is refused."""
    whole: list[tuple[str, T]] = []
    opened: list[tuple[Mark, dict[str, None], list[tuple[str, T]]]] = [(Mark.ARRAY, {}, whole)]
    for mark, payload in events:
        kind, names, children = opened[-1]
        if mark is Mark.FIELD:
            if payload in names:
                raise SchemaError(f"expected field names that differ, got {_short(payload)!r} twice", path=place(_trail_of(opened[:-1])))
            names[payload] = None
            continue
        if mark in (Mark.OBJECT, Mark.ARRAY):
            opened.append((mark, {}, []))
            continue
        if mark is Mark.VALUE:
            done = value()
        elif mark is Mark.PRIMITIVE:
            done = primitive(payload)
        else:
            opened.pop()
            done = object(children) if kind is Mark.OBJECT else array(children[0][1])
            kind, names, children = opened[-1]
        children.append((next(reversed(names)) if kind is Mark.OBJECT else "", done))
    return whole[0][1]


def _trail_of(opened: Sequence[tuple[Mark, dict[str, None], object]]) -> Trail:
    trail: Trail = None
    for mark, names, _ in opened[1:]:
        trail = (trail, next(reversed(names), "") if mark is Mark.OBJECT else ELEMENT)
    return trail


def check_name(name: object, at: Trail = None) -> str:
    """The name, if it can be that of a field of the object at this place: any text that has a UTF-8 form."""
    if not isinstance(name, str):
        raise SchemaError(f"expected text as the name of a field, got {name!r}", path=place(at))
    if not name.isascii() and any("\ud800" <= char <= "\udfff" for char in name):
        raise SchemaError(f"expected a field name that is Unicode text, got {_short(name)!r} with a lone surrogate", path=place(at))
    return name


_SHORTHAND: Final = re.compile(r"[A-Za-z_\u0080-\ud7ff\ue000-\U0010ffff][0-9A-Za-z_\u0080-\ud7ff\ue000-\U0010ffff]*")
_MOST_STEPS: Final = 12
_MOST_CHARACTERS: Final = 40


def display_path(steps: Iterable[Step | int]) -> str:
    """A path as people write it, with `[*]` for the elements of an array.

    >>> display_path(["items", ELEMENT, "sku"])
    '$.items[*].sku'
    >>> display_path(["content-type"])
    "$['content-type']"
    """
    return "$" + "".join(map(_step_text, steps))


def _step_text(step: Step | int) -> str:
    if step is ELEMENT:
        return "[*]"
    if isinstance(step, str) and _SHORTHAND.fullmatch(step):
        return f".{step}"
    return normalized((step,))[1:]


def place(trail: Trail) -> str:
    """Where an error is: the display path, of very deep ones the first and last few steps, of long names the beginning."""
    steps: list[Step] = []
    while trail is not None:
        trail, step = trail
        steps.append(_short(step) if isinstance(step, str) else step)
    steps.reverse()
    if len(steps) <= _MOST_STEPS:
        return display_path(steps)
    half = _MOST_STEPS // 2
    return display_path(steps[:half]) + "…" + display_path(steps[-half:])[1:]


def _short(name: str) -> str:
    return name if len(name) <= _MOST_CHARACTERS else name[:_MOST_CHARACTERS] + "…"


_STAR: Final = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\[[ \t\n\r]*\*[ \t\n\r]*\]""", re.DOTALL)


def steps_of(path: Path | str | Sequence[Step | int]) -> tuple[Step, ...]:
    """The steps of a path into a schema; `[*]` and every index lead to the elements of an array.

    >>> steps_of("$.items[*].sku") == steps_of("$.items[0].sku") == ("items", ELEMENT, "sku")
    True
    """
    if isinstance(path, str):
        # An index stands for the star while the path is parsed: both have one character, so that positions stay right.
        plain = _STAR.sub(lambda found: found[0].replace("*", "0") if found[0].startswith("[") else found[0], path)
        try:
            path = Path.parse(plain)
        except PathError as error:
            hint = "paths into a schema look like $.a.b, $['a.b'] or $.items[*].sku"
            raise PathError(error.message.replace(repr(plain), repr(path)), hint=hint) from None
    steps: list[Step] = []
    for step in path:
        if isinstance(step, (str, _Element)):
            steps.append(step)
        elif isinstance(step, int) and not isinstance(step, bool):
            steps.append(ELEMENT)
        else:
            raise UnsupportedTypeError(f"expected names, indexes and ELEMENT as the steps of a path, got {step!r}")
    return tuple(steps)
