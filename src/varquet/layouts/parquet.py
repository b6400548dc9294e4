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

from typing import Final

import pyarrow as pa

from varquet.columns.arrow import SHARED_VARIANT, Dictionaries, metadata_of, plain, spans
from varquet.layouts.base import Residual
from varquet.layouts.nested import Form, from_nested, to_nested
from varquet.layouts.parts import Bytes, NameTable, Part, walk
from varquet.layouts.share import share_metadata
from varquet.schema import Kind, ShreddingSchema

__all__ = ["FILLS", "FORM", "NAME", "is_own", "join", "parts", "physical", "residuals", "schemas_of", "to_arrow"]

NAME: Final = "parquet"
FILLS: Final = False

FORM: Final = Form("value", dict.fromkeys((Kind.PRIMITIVE, Kind.OBJECT, Kind.ARRAY), "typed_value"), required=True, null=b"\x00")


def is_own(kind: pa.DataType) -> bool:
    """Whether there is a metadata column, which all columns of the standard have."""
    return bool(pa.types.is_struct(kind) and kind.get_field_index("metadata") >= 0)


def physical(schema: ShreddingSchema, *, shared_metadata: bool) -> pa.DataType:
    """The type of a shredded column; shared metadata is dictionary-encoded."""
    kind = schema.physical()
    if not shared_metadata:
        return kind
    metadata = SHARED_VARIANT.field("metadata")
    return pa.struct([metadata if field.name == "metadata" else field for field in kind])


def schemas_of(kind: pa.DataType) -> list[ShreddingSchema]:
    return [ShreddingSchema.from_physical(kind)]


def to_arrow(root: Part, rows: Dictionaries, *, shared_metadata: bool, first_row: int) -> pa.StructArray:
    metadata = share_metadata(root, rows, first_row=first_row) if shared_metadata else plain(rows.array)
    before = [(pa.field("metadata", metadata.type, nullable=False), metadata)]
    # An unshredded Variant always has a value; an SQL NULL is a null of the column.
    return to_nested(root, FORM, rows.valid, before, whole=root.schema.kind is Kind.VALUE)


def parts(array: pa.StructArray, schema: ShreddingSchema, valid: Bytes, *, strict: bool, first_row: int) -> Part:
    return from_nested(array, schema, FORM, valid, strict=strict, first_row=first_row)


def residuals(root: Part, array: pa.StructArray, *, first_row: int) -> dict[int, Residual]:
    metadata = spans(metadata_of(array), "binary metadata")
    found: dict[int, Residual] = {}
    for part in walk(root):
        if part.value is not None:
            instances, values = part.value.there()
            found[id(part)] = Residual(instances, values, metadata, part.rows[instances])
    return found


def join(root: Part, array: pa.StructArray, valid: Bytes, names: NameTable, *, first_row: int) -> pa.Array:
    """They do already."""
    return metadata_of(array)
