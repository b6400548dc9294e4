"""The layout of the first Spark shredding draft.

    struct<                                       the column, and every field and element
      untyped_value: binary                       a metadata of its own, and behind it the value of what has no typed column
      object: struct<name: ..., ...>              or
      array: list<element: ...>                   or
      typed_value: T
    >

Every column may be omitted, which is as if it were always null; all of them null means missing. A group may have several of
`object`, `array` and `typed_value`, of which a value uses one at most. Where the draft is silent or contradicts itself,
docs/adr/0006 says what is done: both an untyped_value and a typed_value are refused, a shredded field that is missing may
stand in the untyped_value of its object, and a missing element or column that is not null is a Variant null.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from varquet.columns.arrow import Dictionaries, plain
from varquet.layouts.base import Residual
from varquet.layouts.detach import attach, detach, split
from varquet.layouts.nested import Form, from_nested, to_nested
from varquet.layouts.parts import Bytes, NameTable, Part, walk
from varquet.schema import Kind, ShreddingSchema
from varquet.schema.draft_form import UNTYPED, alternatives, is_draft

__all__ = ["FILLS", "FORM", "NAME", "is_own", "join", "parts", "physical", "residuals", "schemas_of", "to_arrow"]

NAME: Final = "draft"
FILLS: Final = True

_TYPED: Final = {Kind.PRIMITIVE: "typed_value", Kind.OBJECT: "object", Kind.ARRAY: "array"}
FORM: Final = Form(UNTYPED, _TYPED, required=False, null=b"\x01\x00\x00\x00")


def is_own(kind: pa.DataType) -> bool:
    return is_draft(kind)


def physical(schema: ShreddingSchema, *, shared_metadata: bool) -> pa.DataType:
    """The type of a shredded column; there is no metadata to share."""
    return schema.draft()


def schemas_of(kind: pa.DataType) -> list[ShreddingSchema]:
    """The schema of a column, and those of what its groups have beside it."""
    schemas = [ShreddingSchema.from_draft(kind)]
    waiting = [kind]
    while waiting:
        group = plain(pa.nulls(0, waiting.pop())).type
        for place, name in enumerate(alternatives(group)):
            child = plain(pa.nulls(0, group.field(name).type)).type
            if place > 0:
                schemas.append(ShreddingSchema.from_draft(pa.struct([group.field(name)])))
            if name == "object":
                waiting += [field.type for field in child]
            elif name == "array":
                waiting.append(child.value_type)
    return schemas


def to_arrow(root: Part, rows: Dictionaries, *, shared_metadata: bool, first_row: int) -> pa.StructArray:
    detach(root, rows, first_row=first_row)
    return to_nested(root, FORM, rows.valid)


def parts(array: pa.StructArray, schema: ShreddingSchema, valid: Bytes, *, strict: bool, first_row: int) -> Part:
    return from_nested(array, schema, FORM, valid, strict=strict, first_row=first_row, split=_others)


def residuals(root: Part, array: pa.StructArray, *, first_row: int) -> dict[int, Residual]:
    found: dict[int, Residual] = {}
    for part in walk(root):
        if part.value is not None:
            instances, both = part.value.there()
            metadata, values = split(both, part.rows[instances], first_row=first_row)
            found[id(part)] = Residual(instances, values, metadata, np.arange(len(instances)))
    return found


def join(root: Part, array: pa.StructArray, valid: Bytes, names: NameTable, *, first_row: int) -> pa.Array:
    return attach(root, valid, names, first_row=first_row)


def _others(group: pa.StructArray) -> list[tuple[ShreddingSchema, pa.StructArray]]:
    """What a group has beside the column that its schema takes."""
    found: list[tuple[ShreddingSchema, pa.StructArray]] = []
    for name in alternatives(group.type)[1:]:
        alone = pa.StructArray.from_arrays([group.field(name)], fields=[group.type.field(name)])
        found.append((ShreddingSchema.from_draft(alone.type), alone))
    return found
