"""Shredding schemas as Arrow types in the layout of the first Spark shredding draft.

For `a bigint, b array<string>, c variant`:

    struct<
      untyped_value: binary,
      object: struct<
        a: struct<untyped_value: binary, typed_value: int64>,
        b: struct<untyped_value: binary, array: list<element: struct<untyped_value: binary, typed_value: string>>>,
        c: struct<untyped_value: binary>>>

Reading is as lenient as the draft: children are found by name, any of them may be absent, nullability does not matter, and
fields beginning with `_` are left alone. A group may have several of `object`, `array` and `typed_value`, of which each value
uses one at most; a schema has one for each place, and takes the first of them in this order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa

from varquet.errors import SchemaError
from varquet.schema.arrow_form import ArrowLeaves, storage
from varquet.schema.leaf_types import is_list, unencoded
from varquet.schema.walk import ARRAY, ELEMENT, END, OBJECT, VALUE, Event, Mark, Trail, check_name, fold, place

__all__ = ["ALTERNATIVES", "UNTYPED", "alternatives", "draft_type", "is_draft", "read_draft"]

UNTYPED: Final = "untyped_value"
ALTERNATIVES: Final = ("object", "array", "typed_value")
_NAMES: Final = (*ALTERNATIVES, UNTYPED)


def draft_type(events: Iterable[Event]) -> pa.DataType:
    """The Arrow type of a column shredded in the draft's layout."""
    return fold(
        events,
        value=lambda: _group(None, None),
        primitive=lambda arrow: _group("typed_value", pa.uuid() if pa.types.is_fixed_size_binary(arrow) else arrow),
        object=lambda fields: _group("object", pa.struct([pa.field(name, group) for name, group in fields])),
        array=lambda element: _group("array", pa.list_(pa.field("element", element))),
    )


def _group(name: str | None, typed: pa.DataType | None) -> pa.DataType:
    untyped = pa.field(UNTYPED, pa.binary())
    return pa.struct([untyped] if name is None else [untyped, pa.field(name, typed)])


def is_draft(arrow: pa.DataType) -> bool:
    """Whether a type is a group of the draft, by the names of its children; `_` names beside them do not count."""
    plain = storage(arrow)
    if not pa.types.is_struct(plain):
        return False
    names = [child.name for child in plain.fields if not child.name.startswith("_")]
    return bool(names) and set(names) <= set(_NAMES)


def alternatives(arrow: pa.DataType) -> list[str]:
    """Which of `object`, `array` and `typed_value` a group has."""
    names = {child.name for child in storage(arrow).fields}
    return [name for name in ALTERNATIVES if name in names]


def read_draft(arrow: pa.DataType) -> Iterator[Event]:
    """The walk of a schema given as the Arrow type of a column in the draft's layout."""
    leaves = ArrowLeaves()
    pending: list[Any] = [(arrow, None)]
    while pending:
        item = pending.pop()
        if isinstance(item[0], Mark):
            yield item
            continue
        group, at = item
        children = _children(group, at)
        if UNTYPED in children:
            leaves.binary(children[UNTYPED], UNTYPED, at)
        # What a schema does not take must be legal all the same.
        for name in alternatives(group):
            _check(name, children[name], at)
        first = next(iter(alternatives(group)), None)
        if first is None:
            yield VALUE
        elif first == "object":
            yield OBJECT
            pending.append(END)
            for child in reversed(storage(children[first]).fields):
                pending += ((child.type, (at, check_name(child.name, at))), (Mark.FIELD, child.name))
        elif first == "array":
            yield ARRAY
            pending += (END, (unencoded(children[first]).value_type, (at, ELEMENT)))
        else:
            yield Mark.PRIMITIVE, leaves.typed_value(children[first], at)


def _check(name: str, arrow: pa.DataType, at: Trail) -> None:
    if name == "object" and not pa.types.is_struct(storage(arrow)):
        raise SchemaError(f"expected object to be a group, got {arrow} (D3)", path=place(at))
    if name == "array" and not is_list(unencoded(arrow)):
        raise SchemaError(f"expected array to be a list, got {arrow} (D2)", path=place(at))
    if name == "typed_value" and (pa.types.is_nested(storage(arrow))):
        raise SchemaError(f"expected typed_value to be of a primitive type, got {arrow} (D1)", path=place(at))


def _children(arrow: pa.DataType, at: Trail) -> dict[str, pa.DataType]:
    plain = storage(arrow)
    if not pa.types.is_struct(plain):
        raise SchemaError(f"expected a group of object, array, typed_value and untyped_value, got {arrow} (D1)", path=place(at))
    names = [child.name for child in plain.fields if not child.name.startswith("_")]
    for name in names:
        if name not in _NAMES:
            raise SchemaError(f"expected only {', '.join(_NAMES)} in a group, got {name!r} (D16)", path=place(at))
        if names.count(name) > 1:
            raise SchemaError(f"expected one {name} in a group, got {names.count(name)}", path=place(at))
    if not names:
        raise SchemaError(f"expected at least one of {', '.join(_NAMES)} in a group, got {arrow} (D1)", path=place(at))
    return {child.name: child.type for child in plain.fields}
