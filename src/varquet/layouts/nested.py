"""Parts as nested Arrow columns and back: what all layouts that are made of structs and lists have in common.

A group holds what one instance may be: a residual column, and beside it a column for the type of the node. Layouts differ in
the names of these columns and in what is required; `Form` says how.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa

from varquet import kernels
from varquet.columns.arrow import Bytes, Flat, Ints, binary_array, bitmap, flatten, integers_of, plain, validity_of
from varquet.errors import InvalidVariantError, UnsupportedTypeError
from varquet.layouts.parts import Part, walk
from varquet.schema import Kind, ShreddingSchema

__all__ = ["Form", "from_nested", "to_nested"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Form:
    """How a layout names the columns of a group, and whether the groups of fields and elements are required."""

    residual: str
    typed: Mapping[Kind, str]
    required: bool
    null: bytes
    """A Variant null as it stands in a residual; no other value sorts before it."""


def to_nested(
    root: Part, form: Form, valid: Bytes, before: Sequence[tuple[pa.Field, pa.Array]] = (), *, whole: bool = False
) -> pa.StructArray:
    """Parts as nested columns, from the leaves up; rows are null where `valid` is 0.

    `before` are columns that stand before those of the root. With `whole` the root's residual is required: it has every value.
    """
    groups: dict[int, pa.StructArray] = {}
    for part in reversed(walk(root)):
        required = whole and part is root
        value = _value_array(part.value, required=required)
        columns = [(pa.field(form.residual, value.type, nullable=not required), value)]
        typed = _typed_array(part, groups, form)
        if typed is not None:
            columns.append((pa.field(form.typed[part.schema.kind], typed.type), typed))
        validity, nulls = None, 0
        if part is root:
            columns = [*before, *columns]
            validity, nulls = bitmap(valid)
        kind = pa.struct([field for field, _ in columns])
        groups[id(part)] = pa.StructArray.from_buffers(kind, len(part), [validity], nulls, children=[array for _, array in columns])
    return groups[id(root)]


def _value_array(value: Flat | None, *, required: bool) -> pa.Array:
    assert value is not None
    if len(value.data) == 0 and not required:
        return pa.nulls(len(value), pa.binary())
    return binary_array(pa.py_buffer(value.data), value.offsets, None if required else value.valid)


def _typed_array(part: Part, groups: dict[int, pa.StructArray], form: Form) -> pa.Array | None:
    match part.schema.kind:
        case Kind.PRIMITIVE:
            is_uuid = pa.types.is_fixed_size_binary(part.schema.type)
            return pa.ExtensionArray.from_storage(pa.uuid(), part.typed) if is_uuid else plain(_given(part.typed))
        case Kind.OBJECT:
            fields = [(name, groups.pop(id(child))) for name, child in part.fields]
            kind = pa.struct([pa.field(name, group.type, nullable=not form.required) for name, group in fields])
            validity, nulls = bitmap(_given(part.present))
            return pa.StructArray.from_buffers(kind, len(part), [validity], nulls, children=[group for _, group in fields])
        case Kind.ARRAY:
            group = groups.pop(id(_given(part.element)))
            kind = pa.list_(pa.field("element", group.type, nullable=not form.required))
            validity, nulls = bitmap(_given(part.present))
            offsets = _given(part.offsets).astype(np.int32)
            return pa.ListArray.from_buffers(kind, len(part), [validity, pa.py_buffer(offsets)], nulls, children=[group])
    return None


def _given(thing: T | None) -> T:
    assert thing is not None
    return thing


def from_nested(
    array: pa.StructArray,
    schema: ShreddingSchema,
    form: Form,
    valid: Bytes,
    *,
    strict: bool,
    first_row: int,
    split: Callable[[pa.StructArray], list[tuple[ShreddingSchema, pa.StructArray]]] | None = None,
) -> Part:
    """Nested columns as parts; what stands below a null is missing, whatever its own bits say.

    `split` finds further columns for other types in a group: each a schema and a group of its own.
    """
    root = Part(schema, np.arange(len(array), dtype=np.int64))
    waiting: list[tuple[Part, pa.StructArray, Bytes]] = [(root, array, valid)]
    while waiting:
        part, group, here = waiting.pop()
        for other_schema, other_group in split(group) if split is not None else ():
            other = Part(other_schema, part.rows)
            part.others.append(other)
            waiting.append((other, other_group, here))
        if group.type.get_field_index(form.residual) >= 0:
            residual = group.field(form.residual)
            # Most are empty: what is typed in every row leaves nothing.
            if residual.null_count < len(residual):
                value = flatten(residual, "binary values")
                part.value = Flat(value.data, value.offsets, value.valid & here)
        if part.schema.kind is Kind.VALUE:
            continue
        typed = group.field(form.typed[part.schema.kind])
        if part.schema.kind is Kind.PRIMITIVE:
            part.typed = _masked(typed if _is_dictionary_of_texts(typed) else plain(typed), here)
            continue
        typed = plain(typed)
        part.present = here if typed.null_count == 0 else validity_of(typed) & here
        match part.schema.kind:
            case Kind.OBJECT:
                for name, child_schema in part.schema.fields:
                    child = Part(child_schema, part.rows)
                    part.fields.append((name, child))
                    child_group = plain(typed.field(name))
                    there = part.present if child_group.null_count == 0 else part.present & validity_of(child_group)
                    if strict and form.required and not np.array_equal(there, part.present):
                        row = first_row + int(part.rows[np.flatnonzero(there != part.present)[0]])
                        raise InvalidVariantError(f"expected the group of field {name!r} to be required, got a null (W10)", row=row)
                    waiting.append((child, child_group, there))
            case Kind.ARRAY:
                part.offsets, elements = _elements(typed)
                element_rows, reached = np.empty(len(elements), np.int64), np.empty(len(elements), np.uint8)
                if kernels.unshred.repeat_lists(part.offsets, part.rows, part.present, element_rows, reached) != len(elements):
                    raise UnsupportedTypeError("expected lists with offsets that ascend, got others", hint="pyarrow's validate says where")
                part.element = Part(_given(part.schema.element), element_rows)
                waiting.append((part.element, elements, reached & validity_of(elements)))
    return root


def _is_dictionary_of_texts(typed: pa.Array) -> bool:
    """Whether texts repeat and none of those that do is a null, so that rows can share their bytes."""
    kind = typed.type
    if not pa.types.is_dictionary(kind) or typed.dictionary.null_count > 0:
        return False
    return bool(pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type))


def _masked(typed: pa.Array, here: Bytes) -> pa.Array:
    """The typed values with nulls where the instance is not there."""
    own = validity_of(typed)
    if np.array_equal(own & here, own):
        return typed
    # The same buffers under another validity; what lies before the offset does not matter.
    valid = np.concatenate([np.zeros(typed.offset, np.uint8), own & here])
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffers = [bits, *typed.buffers()[1:]]
    if pa.types.is_dictionary(typed.type):
        return pa.DictionaryArray.from_buffers(typed.type, len(typed), buffers[:2], typed.dictionary, offset=typed.offset)
    return pa.Array.from_buffers(typed.type, len(typed), buffers, offset=typed.offset)


def _elements(lists: pa.Array) -> tuple[Ints, pa.StructArray]:
    """A list array's offsets from 0 on, and its elements."""
    kind = lists.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        lengths = np.asarray(pa.compute.fill_null(pa.compute.list_value_length(lists), 0), dtype=np.int64)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        return ends, plain(lists.flatten() if pa.types.is_fixed_size_list(kind) else _viewed(lists, lengths))
    offsets = integers_of(lists.offsets).astype(np.int64)
    first = int(offsets[0]) if len(offsets) else 0
    last = int(offsets[-1]) if len(offsets) else 0
    return offsets - first, plain(lists.values.slice(first, last - first))


def _viewed(lists: pa.Array, lengths: Ints) -> pa.Array:
    """The elements of list views in their order, joined from stretches.

    pyarrow's cast from list views writes wrong offsets, its flatten fails for extension types in them, its take for binary views.
    """
    filled = np.flatnonzero(lengths)
    firsts = np.asarray(lists.offsets, dtype=np.int64)[filled]
    lasts = firsts + lengths[filled]
    # Where one list's elements follow those of the list before, both are one stretch.
    begins = np.flatnonzero(np.concatenate([[True], firsts[1:] != lasts[:-1]])) if len(filled) else filled
    stops = np.concatenate([begins[1:], [len(filled)]]) - 1 if len(filled) else filled
    stretches = [
        lists.values.slice(first, last - first) for first, last in zip(firsts[begins].tolist(), lasts[stops].tolist(), strict=True)
    ]
    return pa.concat_arrays(stretches) if stretches else lists.values.slice(0, 0)
