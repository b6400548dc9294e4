"""Maps in views: the value of a key, and whole maps, from residuals and sidecars; Spark computes them itself.

column          read as                                     becomes
hot key         __paimon_map_shred_headers_0                itself, or a cast of it
                and headers, if that can hold the key       what the sidecar has, else what the residual has
other key       headers                                     what the residual has, or the plain map
whole map       headers and all sidecars                    their concatenation
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, functions, types

from varquet.layouts.map_entries import is_text, stored_type
from varquet.layouts.map_text import texts_of
from varquet.queries.map_access import is_direct
from varquet.spark.arrow import spark_schema_of
from varquet.spark.view_columns import Tree, column_at, in_python, put, typed_as
from varquet.spark.view_map_access import MapReading, WholeMap

__all__ = ["add_map", "map_value", "value_type", "whole_map"]


def add_map(tree: Tree, reading: MapReading | WholeMap) -> None:
    """Add to a tree what is read."""
    if isinstance(reading, WholeMap):
        put(tree, reading.position, value_type(reading.kind))
        for name, kind in zip(reading.sidecars, reading.sidecar_kinds, strict=True):
            put(tree, (name,), value_type(kind))
        return
    if reading.sidecar is not None and reading.sidecar_kind is not None:
        put(tree, reading.sidecar, value_type(reading.sidecar_kind))
    if reading.residual is not None:
        put(tree, reading.residual, types.MapType(types.StringType(), value_type(reading.kind)))


def value_type(kind: pa.DataType) -> types.DataType:
    """What Spark has for values of a type, nested ones too."""
    return spark_schema_of(pa.schema([pa.field("value", kind)]))["value"].dataType


def map_value(reading: MapReading, target: pa.DataType | None) -> Column:
    """The value of a key, as a type or as the map has it."""
    wanted = reading.kind if target is None else target
    made: Column | None = None
    if reading.sidecar is not None and reading.sidecar_kind is not None:
        made = column_at(reading.sidecar)
        if reading.residual is None and is_direct(reading.sidecar_kind, wanted):
            return made if reading.sidecar_kind == wanted and target is None else typed_as(made, _settled(reading.sidecar_kind), wanted)
        made = _as_value(made, reading.sidecar_kind, reading.kind)
    if reading.residual is not None:
        found = functions.try_element_at(column_at(reading.residual), functions.lit(reading.key))
        made = found if made is None else functions.coalesce(made, found)
    if made is None:
        return functions.lit(None).cast(value_type(wanted))
    return made if target is None else typed_as(made, _settled(reading.kind), target)


def whole_map(reading: WholeMap) -> Column:
    """A map with the entries of its sidecars; null where its residual is."""
    item = reading.kind.item_type
    kind = types.MapType(types.StringType(), value_type(item))
    values = [
        _as_value(column_at((name,)), stored, stored_type(item))
        for name, stored in zip(reading.sidecars, reading.sidecar_kinds, strict=True)
    ]
    entries = [one for key, value in zip(reading.keys, values, strict=True) for one in (functions.lit(key), value)]
    hot = functions.map_filter(functions.create_map(*entries), lambda _, value: value.isNotNull())
    return functions.map_concat(hot.cast(kind), column_at(reading.position))


def _as_value(column: Column, stored: pa.DataType, kind: pa.DataType) -> Column:
    """A sidecar as values of the map: texts exactly as they were."""
    if not is_text(kind) or is_text(stored):
        return column
    if pa.types.is_int64(stored) or pa.types.is_boolean(stored):
        return column.cast(types.StringType())

    def sidecar_texts(values: pa.Array) -> pa.Array:
        return texts_of(values.cast(stored))

    return in_python(sidecar_texts, types.StringType())(column)  # type: ignore[no-any-return]


def _settled(kind: pa.DataType) -> pa.DataType:
    """The type as which Spark reads a sidecar."""
    if pa.types.is_large_string(kind):
        return pa.string()
    return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else kind
