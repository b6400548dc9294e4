"""Rows of any Arrow table as JSON text, column by column: Variants exactly, everything else in the same text forms.

A column of a type that Variants have becomes a Variant to be written; structs, lists and maps are put together from the
texts of what they hold. No row is ever a Python object.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from varquet.columns.arrow import chunks_of, plain
from varquet.columns.parse_json import parse_json
from varquet.columns.to_json import to_json
from varquet.errors import UnsupportedTypeError
from varquet.layouts.casts import WIDER
from varquet.layouts.shredding import unshred
from varquet.parquet.positions import is_variant_field
from varquet.variant.metadata import EMPTY_METADATA

__all__ = ["json_lines", "json_objects", "json_texts", "variants_of_maps"]

_TEXT: Final = pa.large_string()
_MAX_DIGITS: Final = 38
_WIDER: Final = {
    **WIDER,
    pa.time32("s"): pa.time64("us"),
    pa.time32("ms"): pa.time64("us"),
    pa.time64("ns"): pa.string(),
    pa.null(): pa.string(),
}


def json_lines(batch: pa.RecordBatch, *, bare: bool) -> memoryview:
    """The rows as NDJSON: each an object of all columns, or `bare` the value of the only one."""
    texts = json_texts(batch.column(0), batch.schema.field(0)) if bare else json_objects(batch)
    lines = pc.binary_join_element_wise(texts, _scalar(""), _scalar("\n"))
    data = lines.buffers()[2]
    return memoryview(data)[: pc.sum(pc.binary_length(lines)).as_py() or 0] if data is not None else memoryview(b"")


def json_objects(batch: pa.RecordBatch) -> pa.Array:
    """Each row as the JSON text of an object of all columns."""
    return _object(batch.columns, list(batch.schema), batch.num_rows, to_json)


def json_texts(array: pa.Array, field: pa.Field, variants: Callable[[pa.Array], pa.Array] = to_json) -> pa.Array:
    """The JSON text of each value; a null is `null`. `variants` makes the texts of Variants, wherever they are."""
    if is_variant_field(field):
        return variants(array).cast(_TEXT).fill_null("null")
    kind = array.type
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        array = plain(array)
        return json_texts(array, field.with_type(array.type), variants)
    if pa.types.is_struct(kind):
        # StructArray.field knows nothing of the parent's nulls; they are put over the whole text.
        texts = _object([array.field(k) for k in range(kind.num_fields)], list(kind), len(array), variants)
    elif pa.types.is_map(kind):
        texts = _map(array, variants)
    elif pa.types.is_nested(kind) and hasattr(kind, "value_field"):
        lengths = pc.fill_null(pc.list_value_length(array), 0)
        texts = _joined(np.asarray(lengths, dtype=np.int64), json_texts(array.flatten(), kind.value_field, variants), "[", "]")
    else:
        return _leaf(array)
    return pc.if_else(array.is_valid(), texts, _scalar("null"))


def variants_of_maps(column: pa.Array | pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    """Maps with texts for keys as Variants, objects with a field for each key."""
    texts = [json_texts(chunk, field.with_type(chunk.type)) for chunk in chunks_of(column)]
    nulls = [pc.if_else(chunk.is_valid(), text, pa.scalar(None, _TEXT)) for chunk, text in zip(chunks_of(column), texts, strict=True)]
    return parse_json(pa.chunked_array(nulls, _TEXT), duplicate_keys="last", shared_metadata=True)


def _object(columns: list[pa.Array], fields: list[pa.Field], rows: int, variants: Callable[[pa.Array], pa.Array]) -> pa.Array:
    pieces: list[pa.Scalar | pa.Array] = []
    for column, field in zip(columns, fields, strict=True):
        name = json.dumps(field.name, ensure_ascii=False)
        pieces += (_scalar(("," if pieces else "{") + name + ":"), json_texts(column, field, variants))
    if not pieces:
        return pa.array(["{}"] * rows, _TEXT)
    return pc.binary_join_element_wise(*pieces, _scalar("}"), _scalar(""))


def _map(array: pa.MapArray, variants: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """A map as an object where its keys are strings, else as an array of objects with key and value."""
    kind = array.type
    offsets = np.asarray(array.offsets, dtype=np.int64)
    first, count = int(offsets[0]), int(offsets[-1] - offsets[0])
    keys, items = array.keys.slice(first, count), array.items.slice(first, count)
    if pa.types.is_string(kind.key_type) or pa.types.is_large_string(kind.key_type) or pa.types.is_string_view(kind.key_type):
        values = json_texts(items, kind.item_field, variants)
        entries = pc.binary_join_element_wise(json_texts(keys, kind.key_field, variants), values, _scalar(":"))
        return _joined(np.diff(offsets), entries, "{", "}")
    fields = [kind.key_field.with_name("key"), kind.item_field.with_name("value")]
    return _joined(np.diff(offsets), _object([keys, items], fields, count, variants), "[", "]")


def _joined(lengths: npt.NDArray[np.int64], texts: pa.Array, before: str, after: str) -> pa.Array:
    """The texts of the items of lists of these lengths, with commas between them."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    joined = pc.binary_join(pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), texts), _scalar(","))
    return pc.binary_join_element_wise(_scalar(before), joined, _scalar(after), _scalar(""))


def _leaf(array: pa.Array) -> pa.Array:
    """A column of single values, written as the Variants that they would be."""
    array = _as_variant_type(array)
    metadata = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(array), np.int32)), pa.array([EMPTY_METADATA]))
    fields = [pa.field("metadata", metadata.type, nullable=False), pa.field("typed_value", array.type)]
    return to_json(unshred(pa.StructArray.from_arrays([metadata, array], fields=fields))).cast(_TEXT)


def _as_variant_type(array: pa.Array) -> pa.Array:
    kind = array.type
    if kind == pa.uuid():
        return array
    if isinstance(array, pa.ExtensionArray):
        return _as_variant_type(array.storage)
    if kind in _WIDER:
        return array.cast(_WIDER[kind])
    if pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind):
        return array.cast(pa.large_binary())
    if pa.types.is_string_view(kind):
        return array.cast(pa.large_string())
    if pa.types.is_timestamp(kind) and kind.unit in ("s", "ms"):
        return array.cast(pa.timestamp("us", kind.tz))
    if pa.types.is_duration(kind):
        return array.cast(pa.int64())
    if pa.types.is_decimal(kind) and not (kind.precision <= _MAX_DIGITS and 0 <= kind.scale <= kind.precision):
        return array.cast(pa.string())
    if pa.types.is_decimal256(kind):
        return array.cast(pa.decimal128(kind.precision, kind.scale))
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        raise UnsupportedTypeError(f"expected a column of a type that JSON can show, got {kind}", hint="choose others by --columns")
    return array


def _scalar(text: str) -> pa.Scalar:
    return pa.scalar(text, _TEXT)
