"""Shredded columns as other writers may lay them out, and the meaning of one apart from its bytes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from construct_variant import plain_rows
from strategies import physical

from varquet.variant import decode

__all__ = ["foreign", "meaning"]


def meaning(column: pa.Array) -> list[Any]:
    """What is where in a shredded column: the typed values as they are, residuals decoded, no metadata."""
    return [None if row is None else _group_meaning(row, row["metadata"]) for row in plain_rows(column)]


def _group_meaning(group: dict[str, Any], metadata: bytes) -> Any:
    value, typed = group.get("value"), group.get("typed_value")
    if isinstance(typed, dict):
        typed = {name: _group_meaning(field, metadata) for name, field in typed.items()}
    elif isinstance(typed, list):
        typed = [_group_meaning(element, metadata) for element in typed]
    return None if value is None else physical(decode(metadata, value)), repr(typed)


def foreign(column: pa.Array, choice: random.Random) -> pa.Array:
    """The same data as the standard lets others write it, or readers let others get away with.

    Children in any order, all-null ones left out, some more that begin with an underscore; null groups for missing fields, with
    rubbish below; large, view and dictionary encodings; lists of every kind; decimals as narrow as they go; another time zone.
    """
    return _group(column, choice, is_field=False)


def _group(array: pa.Array, choice: random.Random, *, is_field: bool) -> pa.Array:
    children: dict[str, pa.Array] = {name: array.field(name) for name in ("metadata", "value", "typed_value") if _has(array, name)}
    missing = None
    if is_field and choice.random() < 0.5:
        missing = pc.and_(*(children[name].is_null() if name in children else True for name in ("value", "typed_value")))
    for name in ("value", "typed_value"):
        if {"value", "typed_value"} <= set(children) and children[name].null_count == len(array) and choice.random() < 0.4:
            del children[name]
    if "typed_value" in children:
        children["typed_value"] = _typed(children["typed_value"], choice)
    if "value" in children and missing is not None:
        children["value"] = pc.if_else(missing, pa.scalar(b"rubbish", pa.binary()), children["value"])
    for name in ("metadata", "value"):
        if name in children:
            children[name] = choice.choice(_BINARY_FORMS)(children[name])
    if choice.random() < 0.3:
        children["_extra"] = pa.array(range(len(array)), pa.int64())
    order = choice.sample(sorted(children), len(children))
    # A null of the column itself stays one; a missing field is a null group, or a group of nulls.
    mask = array.is_null() if not is_field else missing
    return pa.StructArray.from_arrays([children[name] for name in order], names=order, mask=mask)


def _has(array: pa.Array, name: str) -> bool:
    return bool(array.type.get_field_index(name) >= 0)


def _typed(array: pa.Array, choice: random.Random) -> pa.Array:
    kind = array.type
    if pa.types.is_struct(kind):
        fields = [kind.field(k).name for k in range(kind.num_fields)]
        choice.shuffle(fields)
        groups = [_group(array.field(kind.get_field_index(name)), choice, is_field=True) for name in fields]
        if not groups:
            return array
        return pa.StructArray.from_arrays(groups, names=fields, mask=array.is_null())
    if pa.types.is_list(kind):
        elements = _group(array.values, choice, is_field=False)
        return choice.choice(_LIST_FORMS)(array, elements)
    return _leaf(array, choice)


def _leaf(array: pa.Array, choice: random.Random) -> pa.Array:
    kind = array.type
    forms: list[Callable[[pa.Array], pa.Array]] = [lambda same: same]
    if kind == pa.uuid():
        forms.append(lambda uuids: uuids.storage)
    elif pa.types.is_string(kind):
        forms += _STRING_FORMS
    elif pa.types.is_binary(kind):
        forms += _BINARY_FORMS
    elif pa.types.is_decimal(kind):
        if kind.precision <= 9:
            forms.append(lambda numbers: numbers.cast(pa.decimal32(kind.precision, kind.scale)))
        if kind.precision <= 18:
            forms.append(lambda numbers: numbers.cast(pa.decimal64(kind.precision, kind.scale)))
    elif pa.types.is_timestamp(kind) and kind.tz:
        forms.append(lambda moments: moments.view(pa.timestamp(kind.unit, "Europe/Berlin")))
    else:
        forms.append(lambda values: values.dictionary_encode())
    forms.append(_run_ends)
    return choice.choice(forms)(array)


def _run_ends(array: pa.Array) -> pa.Array:
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    return pa.RunEndEncodedArray.from_arrays(pa.array(range(1, len(array) + 1), pa.int32()), array)


def _list(array: pa.Array, elements: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(array.offsets, elements, mask=array.is_null())


def _large_list(array: pa.Array, elements: pa.Array) -> pa.Array:
    return pa.LargeListArray.from_arrays(array.offsets.cast(pa.int64()), elements, mask=array.is_null())


def _list_view(array: pa.Array, elements: pa.Array) -> pa.Array:
    """Views may lie in any order; here the elements of a null view are others' too."""
    offsets = array.offsets[:-1]
    sizes = pc.if_else(array.is_null(), len(elements), pc.fill_null(pc.list_value_length(array), 0)).cast(pa.int32())
    return pa.ListViewArray.from_arrays(pc.if_else(array.is_null(), 0, offsets), sizes, elements, mask=array.is_null())


def _fixed_size_list(array: pa.Array, elements: pa.Array) -> pa.Array:
    """Where all arrays have one length, and none is null."""
    lengths = set(pc.list_value_length(array).to_pylist())
    if len(lengths) != 1 or lengths <= {None, 0}:
        return _list(array, elements)
    return pa.FixedSizeListArray.from_arrays(elements, lengths.pop())


_LIST_FORMS: list[Callable[[pa.Array, pa.Array], pa.Array]] = [_list, _large_list, _list_view, _fixed_size_list]
_BINARY_FORMS: list[Callable[[pa.Array], pa.Array]] = [
    lambda same: same,
    lambda values: values.cast(pa.large_binary()),
    lambda values: values.cast(pa.binary_view()),
    lambda values: values.dictionary_encode(),
]
_STRING_FORMS: list[Callable[[pa.Array], pa.Array]] = [
    lambda texts: texts.cast(pa.large_string()),
    lambda texts: texts.cast(pa.string_view()),
    lambda texts: texts.dictionary_encode(),
]
