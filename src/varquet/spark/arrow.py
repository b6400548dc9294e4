"""Arrow data as Spark takes it: only the types that it has, in exactly the form in which it has them."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from varquet.columns.arrow import plain
from varquet.errors import UnsupportedTypeError
from varquet.layouts.casts import WIDER, cast_typed
from varquet.parquet.positions import find_variants, is_list, replace_type, replace_values
from varquet.spark.variants import SPARK_VARIANT, to_spark

__all__ = ["arrow_schema_of", "as_spark_batch", "spark_schema_of"]

_WIDER: Final = {**WIDER, pa.uuid(): pa.string()}
_MOST_DIGITS: Final = 38


def spark_schema_of(schema: pa.Schema) -> StructType:
    """Spark's types for the columns of a table: Variants as Variants, and what Spark has not as what comes closest."""
    fields = []
    for field in schema:
        made = field
        for position in find_variants(pa.schema([field])):
            made = replace_type(made, position[1:], lambda one: pa.field(one.name, SPARK_VARIANT, one.nullable))
        fields.append(pa.field(made.name, _type(made.type), made.nullable))
    return from_arrow_schema(pa.schema(fields))


def arrow_schema_of(schema: StructType) -> pa.Schema:
    """The form in which Spark wants columns of its types."""
    try:
        return to_arrow_schema(schema, timezone="UTC")
    except TypeError:  # before Spark 4.2
        return to_arrow_schema(schema)


def as_spark_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns of a batch that a schema of Spark names, in exactly its form."""
    columns = []
    for field in schema:
        source = batch.schema.field(field.name)
        array = batch.column(field.name)
        for position in find_variants(pa.schema([source])):
            array = replace_values(array, source.type, position[1:], to_spark)
        columns.append(array if array.type == field.type else _cast(array, field))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(array: pa.Array, field: pa.Field) -> pa.Array:
    kind = field.type
    if pa.types.is_nested(kind):
        return array.cast(kind)
    if isinstance(array.type, pa.BaseExtensionType) and array.type != pa.uuid():
        array = array.storage
    if pa.types.is_string(kind) and (pa.types.is_time(array.type) or array.type == pa.uuid() or pa.types.is_decimal256(array.type)):
        return array.cast(kind) if pa.types.is_decimal256(array.type) else cast_typed(array, kind)
    try:
        return plain(array).cast(kind, safe=not pa.types.is_timestamp(kind))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UnsupportedTypeError(f"expected column {field.name!r} as {kind}, got {array.type}: {error}") from None


def _type(kind: pa.DataType) -> pa.DataType:
    """What Spark takes for an Arrow type."""
    if kind in _WIDER:
        return _WIDER[kind]
    if isinstance(kind, pa.BaseExtensionType):
        return _type(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _type(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_time(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if pa.types.is_duration(kind):
        return pa.duration("us")
    if pa.types.is_decimal(kind):
        fits = kind.precision <= _MOST_DIGITS and 0 <= kind.scale <= kind.precision
        return pa.decimal128(kind.precision, kind.scale) if fits else pa.string()
    if kind == SPARK_VARIANT:
        return kind
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(child.name, _type(child.type), child.nullable, child.metadata) for child in kind])
    if pa.types.is_map(kind):
        return pa.map_(_type(kind.key_type), _type(kind.item_type))
    if is_list(kind):
        return pa.list_(pa.field("element", _type(kind.value_type), kind.value_field.nullable))
    return kind
