"""Variant columns as Spark hands them to Python and takes them back.

Spark's Variants are Arrow structs of `value` and `metadata`, in this order and neither of them null, found by their position; a mark on
`metadata` tells them from other structs.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from varquet.columns.arrow import plain, variant_field
from varquet.variant.metadata import EMPTY_METADATA

__all__ = ["SPARK_VARIANT", "from_spark", "is_spark_variant", "to_spark"]

SPARK_VARIANT: Final = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
    ]
)

_MARK: Final = b"variant"
_NULL_VALUE: Final = b"\x00"


def is_spark_variant(field: pa.Field) -> bool:
    """Whether a field of what Spark sends is a Variant."""
    kind = field.type
    if not pa.types.is_struct(kind) or kind.num_fields != 2 or [child.name for child in kind] != ["value", "metadata"]:
        return False
    return (kind.field("metadata").metadata or {}).get(_MARK) == b"true"


def from_spark(column: pa.Array, name: str) -> tuple[pa.Array, pa.Field]:
    """A column of Spark's Variants as a variant column, and its field; no byte is copied."""
    field = variant_field(name)
    children = [column.field("metadata"), column.field("value")]
    made = pa.StructArray.from_arrays(children, fields=list(field.type), mask=pc.is_null(column) if column.null_count else None)
    return made, field


def to_spark(column: pa.Array) -> pa.Array:
    """A variant column as Spark takes it."""
    metadata, value = plain(column.field("metadata")), plain(column.field("value"))
    if column.null_count:
        # Spark reads what is under a null, too: it must look like a Variant.
        is_null = pc.is_null(column)
        metadata = pc.if_else(is_null, pa.scalar(EMPTY_METADATA, metadata.type), metadata)
        value = pc.if_else(is_null, pa.scalar(_NULL_VALUE, value.type), value)
    children = [value.cast(pa.binary()), metadata.cast(pa.binary())]
    mask = pa.array(np.asarray(pc.is_null(column))) if column.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(SPARK_VARIANT), mask=mask)
