"""What a layout is: a way to store the parts of a shredded column in Arrow columns, and to find them there again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from varquet.columns.arrow import Dictionaries, Spans
from varquet.layouts.nested import Form
from varquet.layouts.parts import Bytes, Ints, NameTable, Part
from varquet.schema import ShreddingSchema

__all__ = ["Layout", "Residual"]


@dataclass(frozen=True, slots=True)
class Residual:
    """The values that a part has in its residual: which instances have one, and each with its metadata, that of row rows[k]."""

    instances: Ints
    values: Spans
    metadata: Spans
    rows: Ints


class Layout(Protocol):
    """One physical form of shredded columns. A new one is a new file with these, and its name in `varquet.layouts.shredding`."""

    NAME: str
    FILLS: bool
    """Whether a shredded field that is missing may stand in the residual of its object instead."""

    FORM: Form
    """How it names its columns."""

    def is_own(self, kind: pa.DataType) -> bool:
        """Whether a type, by the names of its children, is that of a column in this layout."""

    def physical(self, schema: ShreddingSchema, *, shared_metadata: bool) -> pa.DataType:
        """The Arrow type of a column that this layout makes."""

    def schemas_of(self, kind: pa.DataType) -> list[ShreddingSchema]:
        """The schema of a column of this type, whoever made it, and those of what it has beside; SchemaError for what is illegal."""

    def to_arrow(self, root: Part, rows: Dictionaries, *, shared_metadata: bool, first_row: int) -> pa.StructArray:
        """The column of parts whose residuals use the metadata of these rows."""

    def parts(self, array: pa.StructArray, schema: ShreddingSchema, valid: Bytes, *, strict: bool, first_row: int) -> Part:
        """The parts of a column, their residuals as they stand in it."""

    def residuals(self, root: Part, array: pa.StructArray, *, first_row: int) -> dict[int, Residual]:
        """The residuals of all of these parts that have one, by the id of the part."""

    def join(self, root: Part, array: pa.StructArray, valid: Bytes, names: NameTable, *, first_row: int) -> pa.Array:
        """Let all residuals of these parts use the metadata of their rows, and return that; it has all names of the schema."""
