"""Which paths of a Variant column become columns of their own.

tree           ShreddingSchema, the frozen tree that people use
walk           a tree as a flat run of events, which every form is read to and written from
ddl            a bigint, b struct<c: string>
json_form      JSON and plain Python
arrow_form     Arrow types, logical and physical
parquet_form   the columns of a Parquet file, held against the standard's table
merge          two schemas as one, and parts of one
leaf_types     the primitive types that a typed_value may have
"""

from __future__ import annotations

from varquet.schema.tree import ShreddingSchema
from varquet.schema.walk import ELEMENT, Kind, display_path

__all__ = ["ELEMENT", "Kind", "ShreddingSchema", "display_path"]
