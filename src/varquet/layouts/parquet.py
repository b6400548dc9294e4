"""The layout of the Parquet Variant Shredding standard.

    struct<                                       the column
      metadata: binary not null
      value: binary                               what has no typed column; null where nothing is left
      typed_value: <by the schema>
    >
    primitive   typed_value: T
    object      typed_value: struct<name: struct<value: binary, typed_value: ...> not null, ...>
    array       typed_value: list<element: struct<value: binary, typed_value: ...> not null>
    value only  no typed_value

Null and null means missing, which only a field may be; a Variant null is the value 00; an SQL NULL is a null column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from varquet.columns.arrow import (
    SHARED_VARIANT,
    VARIANT,
    Column,
    Flat,
    VariantSlice,
    binary_array,
    bitmap,
    flatten,
    map_chunks,
    metadata_of,
    plain,
    slices,
    spans,
    validity_of,
    variant_array,
    variant_children,
)
from varquet.columns.threads import in_order, thread_count
from varquet.errors import InvalidVariantError, UnsupportedTypeError
from varquet.layouts.parts import Bytes, Ints, Part, name_table, walk
from varquet.layouts.put_together import put_together
from varquet.layouts.share import share_metadata
from varquet.layouts.take_apart import take_apart
from varquet.schema import Kind, ShreddingSchema

__all__ = ["shred", "shredded_type", "unshred"]

# Slices are small enough for the cache, over whose bytes the schema's nodes pass one after the other, and large enough to
# make what Python does for each of them cheap.
_ROWS_PER_SLICE = 16_384
_BYTES_PER_SLICE = 4 << 20


def shred(
    column: Column,
    schema: ShreddingSchema | str,
    *,
    exact_types: bool = False,
    shared_metadata: bool = False,
    threads: int | None = None,
) -> Column:
    """Take a variant column apart: the paths of the schema become typed columns, everything else stays in `value`.

    Integers and decimals go into any integer or decimal column that holds them without loss; nothing else is converted:
    what does not fit stays in `value`. `unshred` gives every value back.

    Args:
        column: an Arrow variant column in any encoding, sliced or chunked.
        schema: a ShreddingSchema, or its DDL such as "id bigint, user struct<name: string>".
        exact_types: keep the physical type too: an int8 goes into an int8 column only.
        shared_metadata: give many rows one metadata, with the names of all of them, and return it dictionary-encoded; files
            become much smaller by it.
        threads: how many threads to use; by default VARQUET_THREADS or all cores.
    """
    schema = ShreddingSchema.parse(schema) if isinstance(schema, str) else schema
    names = name_table(schema)
    count = thread_count(threads)
    rows_before = 0

    def shred_chunk(chunk: pa.Array) -> list[pa.Array]:
        nonlocal rows_before
        variants = variant_children(chunk)
        before = rows_before
        rows_before += len(variants)

        def shred_slice(task: tuple[int, int]) -> pa.Array:
            part = variants.slice(*task)
            root = take_apart(part, schema, names, exact_types=exact_types, first_row=before + task[0])
            metadata = share_metadata(root, part, first_row=before + task[0]) if shared_metadata else plain(part.metadata_array)
            return _to_arrow(root, part, metadata)

        size = int(variants.value.offsets[-1] - variants.value.offsets[0])
        tasks = slices(len(variants), size, rows_per_slice=_ROWS_PER_SLICE, size_per_slice=_BYTES_PER_SLICE, threads=count)
        return list(in_order(shred_slice, list(tasks) or [(0, 0)], count))

    return map_chunks(column, shred_chunk, shredded_type(schema, shared_metadata=shared_metadata))


def shredded_type(schema: ShreddingSchema, *, shared_metadata: bool = False) -> pa.DataType:
    """The Arrow type of what `shred` returns; shared metadata is dictionary-encoded."""
    kind = schema.physical()
    if not shared_metadata:
        return kind
    metadata = SHARED_VARIANT.field("metadata")
    return pa.struct([metadata if field.name == "metadata" else field for field in kind])


def unshred(column: Column, *, strict: bool = False, threads: int | None = None) -> Column:
    """Put a shredded column together again: struct<metadata, value, typed_value> to a variant column.

    The children are found by name, in any order; `value` or `typed_value` may be absent, nullability does not matter, and
    fields that begin with an underscore are ignored. What the standard says must fail fails, with the rule and the row.

    Args:
        column: an Arrow struct column in the layout of the standard, shredded or not.
        strict: also refuse what readers may accept: a shredded field that stands in `value` too, an object in `value`
            beside a null typed_value, a null in place of a field's group.
        threads: how many threads to use; by default VARQUET_THREADS or all cores.
    """
    if not isinstance(column, (pa.Array, pa.ChunkedArray)):
        raise UnsupportedTypeError(f"expected a pyarrow Array or ChunkedArray, got {type(column).__module__}.{type(column).__qualname__}")
    kind = plain(pa.nulls(0, column.type)).type
    if not pa.types.is_struct(kind):
        raise UnsupportedTypeError(f"expected a shredded variant column, struct<metadata, value, typed_value>, got {column.type}")
    schema = ShreddingSchema.from_physical(kind)
    names = name_table(schema)
    count = thread_count(threads)
    rows_before = 0

    def unshred_chunk(chunk: pa.Array) -> list[pa.Array]:
        nonlocal rows_before
        before = rows_before
        rows_before += len(chunk)
        chunk = plain(chunk)

        def unshred_slice(task: tuple[int, int]) -> pa.Array:
            array = chunk.slice(task[0], task[1] - task[0])
            valid = validity_of(array)
            kept = metadata_of(array)
            root = _from_arrow(array, schema, valid, strict=strict, first_row=before + task[0])
            metadata = spans(kept, "binary metadata")
            value = put_together(root, metadata, valid, names, strict=strict, first_row=before + task[0])
            return variant_array(kept, value, valid)

        tasks = slices(len(chunk), 0, rows_per_slice=_ROWS_PER_SLICE, size_per_slice=_BYTES_PER_SLICE, threads=count)
        return list(in_order(unshred_slice, list(tasks) or [(0, 0)], count))

    is_shared = pa.types.is_dictionary(kind.field("metadata").type)
    return map_chunks(column, unshred_chunk, SHARED_VARIANT if is_shared else VARIANT)


def _to_arrow(root: Part, rows: VariantSlice, metadata: pa.Array) -> pa.StructArray:
    """Parts as the standard's nested columns, from the leaves up."""
    groups: dict[int, pa.StructArray] = {}
    for part in reversed(walk(root)):
        # An unshredded Variant always has a value; an SQL NULL is a null of the column.
        required = part is root and part.schema.kind is Kind.VALUE
        children = [_value_array(part.value, required=required)]
        names = [pa.field("value", children[0].type, nullable=not required)]
        if part is root:
            children.insert(0, metadata)
            names.insert(0, pa.field("metadata", children[0].type, nullable=False))
        typed = _typed_array(part, groups)
        if typed is not None:
            children.append(typed)
            names.append(pa.field("typed_value", typed.type))
        validity, nulls = bitmap(rows.valid) if part is root else (None, 0)
        groups[id(part)] = pa.StructArray.from_buffers(pa.struct(names), len(part), [validity], nulls, children=children)
    return groups[id(root)]


def _value_array(value: Flat | None, *, required: bool) -> pa.Array:
    assert value is not None
    if len(value.data) == 0 and not required:
        return pa.nulls(len(value), pa.binary())
    return binary_array(pa.py_buffer(value.data), value.offsets, None if required else value.valid)


def _typed_array(part: Part, groups: dict[int, pa.StructArray]) -> pa.Array | None:
    match part.schema.kind:
        case Kind.PRIMITIVE:
            is_uuid = pa.types.is_fixed_size_binary(part.schema.type)
            return pa.ExtensionArray.from_storage(pa.uuid(), part.typed) if is_uuid else part.typed
        case Kind.OBJECT:
            fields = [(name, groups.pop(id(child))) for name, child in part.fields]
            kind = pa.struct([pa.field(name, group.type, nullable=False) for name, group in fields])
            validity, nulls = bitmap(_given(part.present))
            return pa.StructArray.from_buffers(kind, len(part), [validity], nulls, children=[group for _, group in fields])
        case Kind.ARRAY:
            assert part.element is not None
            group = groups.pop(id(part.element))
            kind = pa.list_(pa.field("element", group.type, nullable=False))
            validity, nulls = bitmap(_given(part.present))
            offsets = _given(part.offsets).astype(np.int32)
            return pa.ListArray.from_buffers(kind, len(part), [validity, pa.py_buffer(offsets)], nulls, children=[group])
    return None


def _given(array: Any) -> Any:
    assert array is not None
    return array


def _from_arrow(array: pa.StructArray, schema: ShreddingSchema, valid: Bytes, *, strict: bool, first_row: int) -> Part:
    """The standard's nested columns as parts; what stands below a null is missing, whatever its own bits say."""
    root = Part(schema, np.arange(len(array), dtype=np.int64))
    waiting: list[tuple[Part, pa.StructArray, Bytes]] = [(root, array, valid)]
    while waiting:
        part, group, here = waiting.pop()
        if group.type.get_field_index("value") >= 0:
            value = flatten(group.field("value"), "binary values")
            part.value = Flat(value.data, value.offsets, value.valid & here)
        if group.type.get_field_index("typed_value") < 0:
            continue
        typed = plain(group.field("typed_value"))
        match part.schema.kind:
            case Kind.PRIMITIVE:
                part.typed = _masked(typed, here)
            case Kind.OBJECT:
                part.present = validity_of(typed) & here
                for name, child_schema in part.schema.fields:
                    child = Part(child_schema, part.rows)
                    part.fields.append((name, child))
                    child_group = plain(typed.field(name))
                    there = part.present & validity_of(child_group)
                    if strict and not np.array_equal(there, part.present):
                        row = first_row + int(part.rows[np.flatnonzero(there != part.present)[0]])
                        raise InvalidVariantError(f"expected the group of field {name!r} to be required, got a null (W10)", row=row)
                    waiting.append((child, child_group, there))
            case Kind.ARRAY:
                part.present = validity_of(typed) & here
                part.offsets, elements = _elements(typed)
                part.element = Part(_given(part.schema.element), np.repeat(part.rows, np.diff(part.offsets)))
                reached = np.repeat(part.present, np.diff(part.offsets))
                waiting.append((part.element, elements, reached & validity_of(elements)))
    return root


def _masked(typed: pa.Array, here: Bytes) -> pa.Array:
    """The typed values with nulls where the instance is not there."""
    own = validity_of(typed)
    if np.array_equal(own & here, own):
        return typed
    return pa.compute.if_else(pa.array(here.astype(bool)), typed, pa.scalar(None, typed.type))


def _elements(lists: pa.Array) -> tuple[Ints, pa.StructArray]:
    """A list array's offsets from 0 on, and its elements."""
    kind = lists.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        lengths = np.asarray(pa.compute.fill_null(pa.compute.list_value_length(lists), 0), dtype=np.int64)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        return ends, plain(lists.flatten() if pa.types.is_fixed_size_list(kind) else _viewed(lists, lengths))
    offsets = np.asarray(lists.offsets, dtype=np.int64)
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
