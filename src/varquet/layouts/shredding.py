"""`shred` and `unshred`: variant columns to shredded ones in any layout, and back."""

from __future__ import annotations

import functools
from typing import Final, Literal, TypeAlias, cast

import pyarrow as pa

from varquet.columns.arrow import (
    SHARED_VARIANT,
    VARIANT,
    Column,
    map_chunks,
    plain,
    slices,
    spans,
    validity_of,
    variant_array,
    variant_children,
)
from varquet.columns.threads import in_order, thread_count
from varquet.errors import UnsupportedTypeError
from varquet.layouts import draft, parquet
from varquet.layouts.base import Layout
from varquet.layouts.parts import NameTable, name_table
from varquet.layouts.put_together import put_together
from varquet.layouts.take_apart import take_apart
from varquet.schema import ShreddingSchema

__all__ = ["LAYOUTS", "LayoutName", "layout_of", "shred", "shred_at_once", "shredded_type", "unshred"]

LayoutName: TypeAlias = Literal["parquet", "draft"]

LAYOUTS: Final[dict[str, Layout]] = {layout.NAME: layout for layout in (cast(Layout, parquet), cast(Layout, draft))}

# Slices are small enough for the cache, over whose bytes the schema's nodes pass one after the other, and large enough to
# make what Python does for each of them cheap.
_ROWS_PER_SLICE = 16_384
_BYTES_PER_SLICE = 4 << 20


def shred(
    column: Column,
    schema: ShreddingSchema | str,
    *,
    layout: LayoutName = "parquet",
    exact_types: bool = False,
    shared_metadata: bool = False,
    threads: int | None = None,
) -> Column:
    """Take a variant column apart: the paths of the schema become typed columns, everything else stays in a residual.

    Integers and decimals go into any integer or decimal column that holds them without loss; nothing else is converted:
    what does not fit stays in the residual. `unshred` gives every value back.

    Args:
        column: an Arrow variant column in any encoding, sliced or chunked.
        schema: a ShreddingSchema, or its DDL such as "id bigint, user struct<name: string>".
        layout: "parquet", the standard's (metadata, value, typed_value), or "draft", that of the first Spark draft (object,
            array, typed_value, untyped_value).
        exact_types: keep the physical type too: an int8 goes into an int8 column only.
        shared_metadata: give many rows one metadata, with the names of all of them, and return it dictionary-encoded; files
            become much smaller by it. (The draft has no metadata column.)
        threads: how many threads to use; by default VARQUET_THREADS or all cores.
    """
    count = thread_count(threads)
    return _shred(column, schema, layout, exact_types=exact_types, shared_metadata=shared_metadata, threads=count, alike=shared_metadata)


def shred_at_once(column: Column, schema: ShreddingSchema, *, layout: LayoutName = "parquet", exact_types: bool = False) -> Column:
    """Like `shred` with shared metadata, by this thread and without slices: for batches that are cut in the same way every time."""
    return _shred(column, schema, layout, exact_types=exact_types, shared_metadata=True, threads=1, alike=False)


def _shred(
    column: Column,
    schema: ShreddingSchema | str,
    layout: LayoutName,
    *,
    exact_types: bool,
    shared_metadata: bool,
    threads: int,
    alike: bool,
) -> Column:
    schema = ShreddingSchema.parse(schema) if isinstance(schema, str) else schema
    form = _layout(layout)
    kind, names = _shredded(schema, form.NAME, shared_metadata)
    rows_before = 0

    def shred_chunk(chunk: pa.Array) -> list[pa.Array]:
        nonlocal rows_before
        variants = variant_children(chunk)
        before = rows_before
        rows_before += len(variants)

        def shred_slice(task: tuple[int, int]) -> pa.Array:
            part = variants.slice(*task)
            root = take_apart(part, schema, names, exact_types=exact_types, first_row=before + task[0])
            return form.to_arrow(root, part.dictionaries, shared_metadata=shared_metadata, first_row=before + task[0])

        size = int(variants.value.offsets[-1] - variants.value.offsets[0])
        tasks = slices(len(variants), size, rows_per_slice=_ROWS_PER_SLICE, size_per_slice=_BYTES_PER_SLICE, threads=threads, alike=alike)
        return list(in_order(shred_slice, list(tasks) or [(0, 0)], threads))

    return map_chunks(column, shred_chunk, kind)


@functools.lru_cache(maxsize=64)
def _shredded(schema: ShreddingSchema, layout: str, shared_metadata: bool) -> tuple[pa.DataType, NameTable]:
    """The type of a column that is shredded by a schema, and all names in it; one column comes in many batches."""
    return LAYOUTS[layout].physical(schema, shared_metadata=shared_metadata), name_table(schema)


def shredded_type(schema: ShreddingSchema, *, layout: LayoutName = "parquet", shared_metadata: bool = False) -> pa.DataType:
    """The Arrow type of what `shred` returns; shared metadata is dictionary-encoded."""
    return _layout(layout).physical(schema, shared_metadata=shared_metadata)


def unshred(column: Column, *, layout: LayoutName | None = None, strict: bool = False, threads: int | None = None) -> Column:
    """Put a shredded column together again, to a variant column.

    The children are found by name, in any order; those that a layout lets writers omit may be absent, nullability does not
    matter, and fields that begin with an underscore are ignored. What a layout says must fail fails, with the rule and the row.

    Args:
        column: an Arrow struct column in one of the layouts, shredded or not.
        layout: which; by default the one whose names its children have.
        strict: also refuse what readers may accept: a shredded field that stands in the residual too, an object in `value`
            beside a null typed_value, a null in place of a field's group.
        threads: how many threads to use; by default VARQUET_THREADS or all cores.
    """
    if not isinstance(column, (pa.Array, pa.ChunkedArray)):
        raise UnsupportedTypeError(f"expected a pyarrow Array or ChunkedArray, got {type(column).__module__}.{type(column).__qualname__}")
    kind = plain(pa.nulls(0, column.type)).type
    if not pa.types.is_struct(kind):
        raise UnsupportedTypeError(f"expected a shredded variant column, struct<metadata, value, typed_value>, got {column.type}")
    # What no layout knows is read as the standard's, which says what is missing.
    form = _layout(layout or (layout_of(kind) or "parquet"))
    schema, names = _stored(form.NAME, kind)
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
            root = form.parts(array, schema, valid, strict=strict, first_row=before + task[0])
            metadata = form.join(root, array, valid, names, first_row=before + task[0])
            value = put_together(
                root, spans(metadata, "binary metadata"), valid, names, strict=strict, fills=form.FILLS, first_row=before + task[0]
            )
            return variant_array(metadata, value, valid)

        tasks = slices(len(chunk), 0, rows_per_slice=_ROWS_PER_SLICE, size_per_slice=_BYTES_PER_SLICE, threads=count)
        return list(in_order(unshred_slice, list(tasks) or [(0, 0)], count))

    is_plain = kind.get_field_index("metadata") >= 0 and not pa.types.is_dictionary(kind.field("metadata").type)
    return map_chunks(column, unshred_chunk, VARIANT if is_plain else SHARED_VARIANT)


@functools.lru_cache(maxsize=64)
def _stored(layout: str, kind: pa.DataType) -> tuple[ShreddingSchema, NameTable]:
    """The schema of a shredded column by its type, and all names in it; one column comes in many batches."""
    schema, *others = LAYOUTS[layout].schemas_of(kind)
    return schema, name_table(schema, *others)


def layout_of(kind: pa.DataType) -> str | None:
    """The name of the layout that a type has by the names of its children."""
    return next((name for name, layout in LAYOUTS.items() if layout.is_own(kind)), None)


def _layout(name: str) -> Layout:
    if name not in LAYOUTS:
        raise UnsupportedTypeError(f"expected a layout, got {name!r}", hint="they are " + ", ".join(map(repr, LAYOUTS)))
    return LAYOUTS[name]
