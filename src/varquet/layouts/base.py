"""What a layout is: a way to store the parts of a shredded column in Arrow columns, and to find them there again."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from varquet.columns.arrow import VariantSlice
from varquet.layouts.nested import Form
from varquet.layouts.parts import Bytes, NameTable, Part
from varquet.schema import ShreddingSchema

__all__ = ["Layout"]


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

    def to_arrow(self, root: Part, rows: VariantSlice, *, shared_metadata: bool, first_row: int) -> pa.StructArray:
        """The column of parts that were taken from these rows."""

    def from_arrow(
        self, array: pa.StructArray, schema: ShreddingSchema, names: NameTable, valid: Bytes, *, strict: bool, first_row: int
    ) -> tuple[Part, pa.Array]:
        """The parts of a column, and the metadata whose field ids their residuals use, which has all names of the schema."""
