"""Schemas made of schemas: the union of two, and the part of one that some paths name or leave."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

from varquet.errors import SchemaError
from varquet.schema.leaf_types import common_exact_type, is_exact
from varquet.schema.walk import ARRAY, ELEMENT, END, OBJECT, VALUE, Event, Kind, Mark, Node, Step, Trail, display_path, place, walk
from varquet.types import MAX_DECIMAL_DIGITS, sql_name

__all__ = ["OnConflict", "find", "merge", "select", "without"]

OnConflict: TypeAlias = Literal["error", "value"]


def merge(one: Node, other: Node, *, on_conflict: OnConflict) -> Iterator[Event]:
    """The walk of the union: every path of either, with a type that holds the values of both."""
    pending: list[Any] = [(one, other, None)]
    while pending:
        item = pending.pop()
        if isinstance(item[0], Mark):
            yield item
            continue
        one, other, at = item
        if one is None or (other is not None and one.kind is Kind.VALUE):
            yield from walk(other)
        elif other is None or other.kind is Kind.VALUE:
            yield from walk(one)
        elif one.kind is not other.kind:
            yield _conflict(one, other, at, on_conflict)
        elif one.kind is Kind.PRIMITIVE:
            common = common_exact_type(one.type, other.type) if is_exact(one.type) and is_exact(other.type) else None
            if one.type == other.type:
                common = one.type
            yield _conflict(one, other, at, on_conflict) if common is None else (Mark.PRIMITIVE, common)
        elif one.kind is Kind.ARRAY:
            yield ARRAY
            pending += (END, (one.element, other.element, (at, ELEMENT)))
        else:
            yield OBJECT
            pending.append(END)
            left, right = dict(one.fields), dict(other.fields)
            for name in {**left, **right}:
                pending += ((left.get(name), right.get(name), (at, name)), (Mark.FIELD, name))


def _conflict(one: Node, other: Node, at: Trail, on_conflict: OnConflict) -> Event:
    if on_conflict == "value":
        return VALUE
    both_exact = one.kind is other.kind is Kind.PRIMITIVE and is_exact(one.type) and is_exact(other.type)
    why = f", and no decimal of {MAX_DECIMAL_DIGITS} digits holds both" if both_exact else ""
    raise SchemaError(
        f"expected one type for both schemas, got {_named(one)} and {_named(other)}{why}",
        path=place(at),
        hint='on_conflict="value" leaves such a path without typed_value',
    )


def _named(node: Node) -> str:
    return sql_name(node.type) if node.kind is Kind.PRIMITIVE else {Kind.OBJECT: "a struct", Kind.ARRAY: "an array"}[node.kind]


def find(node: Node, steps: Sequence[Step]) -> tuple[Node, int]:
    """The deepest node on the way, and how many of the steps lead to it."""
    for count, step in enumerate(steps):
        below = node.element if step is ELEMENT else dict(node.fields).get(step)
        if below is None:
            return node, count
        node = below
    return node, len(steps)


_Tree: TypeAlias = "dict[Step | None, _Tree]"
"""Paths as a tree of their steps; the key None says that a path ends here."""


def _tree_of(node: Node, paths: Iterable[Sequence[Step]], missing: Literal["error", "ignore"]) -> _Tree:
    tree: _Tree = {}
    for steps in paths:
        nearest, count = find(node, steps)
        if count < len(steps):
            if missing == "error":
                raise _no_such_path(nearest, steps, count)
            continue
        below = tree
        for step in steps:
            below = below.setdefault(step, {})
        below[None] = {}
    return tree


def _no_such_path(nearest: Node, steps: Sequence[Step], count: int) -> SchemaError:
    names = [name for name, _ in nearest.fields]
    wanted = steps[count]
    close = difflib.get_close_matches(wanted, names, n=1) if isinstance(wanted, str) else []
    hint = f"did you mean {display_path([*steps[:count], close[0]])}?" if close else 'missing="ignore" passes over such paths'
    return SchemaError(f"expected a path of the schema, got {display_path(steps)}, which it does not have", hint=hint)


def select(node: Node, paths: Iterable[Sequence[Step]], *, missing: Literal["error", "ignore"]) -> Iterator[Event]:
    """The walk of what these paths name and what is on the way to it."""
    tree = _tree_of(node, paths, missing)
    if not tree:
        yield VALUE
        return
    pending: list[Any] = [(node, tree)]
    while pending:
        item = pending.pop()
        if isinstance(item[0], Mark):
            yield item
            continue
        node, tree = item
        if None in tree:
            yield from walk(node)
        elif node.kind is Kind.ARRAY:
            yield ARRAY
            pending += (END, (node.element, tree[ELEMENT]))
        else:
            yield OBJECT
            pending.append(END)
            for name, child in node.fields:
                if name in tree:
                    pending += ((child, tree[name]), (Mark.FIELD, name))


def without(node: Node, paths: Iterable[Sequence[Step]], *, missing: Literal["error", "ignore"]) -> Iterator[Event]:
    """The walk of what is left without these paths; elements and the root cannot go and become value only."""
    pending: list[Any] = [(node, _tree_of(node, paths, missing))]
    while pending:
        item = pending.pop()
        if isinstance(item[0], Mark):
            yield item
            continue
        node, tree = item
        if not tree:
            yield from walk(node)
        elif None in tree:
            yield VALUE
        elif node.kind is Kind.ARRAY:
            yield ARRAY
            pending += (END, (node.element, tree[ELEMENT]))
        else:
            yield OBJECT
            pending.append(END)
            for name, child in node.fields:
                below = tree.get(name, {})
                if None not in below:
                    pending += ((child, below), (Mark.FIELD, name))
