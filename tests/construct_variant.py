"""The standard's construct_variant in plain Python: the slow reader of shredded columns that the fast one is held against.

It follows the pseudo-code of "Reconstructing a Shredded Variant", one row and one group at a time, and stops with `RefusedError`
where the standard has readers stop. Where it leaves a choice, the choice is that of `varquet.unshred`: a shredded field
counts even where the residual has it too, and a null group is a missing field.
"""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

import pyarrow as pa

from varquet.errors import VarquetError
from varquet.types import BY_NAME, PRIMITIVES, Family, decimal_type_for_digits
from varquet.variant import decode
from varquet.variant.metadata import Metadata
from varquet.variant.model import NULL, Node, Scalar

__all__ = ["RefusedError", "construct_rows", "construct_variant", "plain_rows", "scalar_of"]

_VIEWED: Final = {pa.date32(): pa.int32(), pa.time64("us"): pa.int64()}


class RefusedError(VarquetError, ValueError):
    """Data from which the standard makes no Variant; the message begins with the rule."""


def plain_rows(array: pa.Array) -> list[Any]:
    """An Arrow array as Python objects: like `to_pylist`, but dates, times and timestamps of any range stay numbers."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return plain_rows(array.storage)
    if pa.types.is_dictionary(kind):
        return plain_rows(array.dictionary_decode())
    if pa.types.is_timestamp(kind):
        return plain_rows(array.view(pa.int64()))
    if kind in _VIEWED:
        return plain_rows(array.view(_VIEWED[kind]))
    is_null = array.is_null().to_pylist()
    if pa.types.is_struct(kind):
        columns = {kind.field(k).name: plain_rows(array.field(k)) for k in range(kind.num_fields)}
        return [None if is_null[row] else {name: column[row] for name, column in columns.items()} for row in range(len(array))]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        items = plain_rows(array.values)
        offsets = array.offsets.to_pylist()
        return [None if is_null[row] else items[offsets[row] : offsets[row + 1]] for row in range(len(array))]
    return list(array.to_pylist())


def construct_rows(column: pa.Array) -> list[Node | None]:
    """Every row of a shredded column; None is an SQL NULL."""
    rows: list[Node | None] = []
    for row in plain_rows(column):
        if row is None:
            rows.append(None)
            continue
        Metadata(row["metadata"]).check()
        node = construct_variant(row["metadata"], row, column.type)
        # Missing where a value is required (S4).
        rows.append(NULL if node is None else node)
    return rows


def construct_variant(metadata: bytes, group: dict[str, Any], kind: pa.DataType) -> Node | None:
    """The value of one group with its value and typed_value; None where it is missing."""
    value, typed_value = group.get("value"), group.get("typed_value")
    if typed_value is None:
        return None if value is None else decode(metadata, value)
    typed = kind.field("typed_value").type
    if isinstance(typed_value, dict):
        return _object(metadata, value, typed_value, typed)
    if value is not None:
        raise RefusedError("S6: both value and typed_value are set, and it is no object")
    if isinstance(typed_value, list):
        element = typed.value_type
        elements = [None if each is None else construct_variant(metadata, each, element) for each in typed_value]
        return [NULL if each is None else each for each in elements]
    return scalar_of(typed_value, typed)


def _object(metadata: bytes, value: bytes | None, typed_value: dict[str, Any], typed: pa.DataType) -> Node:
    dictionary = Metadata(metadata)
    fields: dict[str, Node] = {}
    for name, group in typed_value.items():
        field = None if group is None else construct_variant(metadata, group, typed.field(name).type)
        if field is not None:
            if not dictionary.find(name):
                raise RefusedError(f"W2: the shredded field {name!r} is not in the metadata")
            fields[name] = field
    if value is None:
        return fields
    residual = decode(metadata, value)
    if not isinstance(residual, dict):
        raise RefusedError("W13: what stands in value beside a shredded object is no object")
    return fields | {name: field for name, field in residual.items() if name not in typed_value}


def scalar_of(payload: Any, kind: pa.DataType) -> Scalar:
    """A typed_value as the Variant scalar that the standard's table makes of it."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if isinstance(payload, bool):
        return Scalar(BY_NAME["true" if payload else "false"], payload)
    if pa.types.is_decimal(kind):
        primitive = decimal_type_for_digits(kind.precision)
        assert primitive is not None
        return Scalar(primitive, payload)
    if pa.types.is_fixed_size_binary(kind):
        return Scalar(BY_NAME["uuid"], UUID(bytes=payload))
    (primitive,) = (each for each in PRIMITIVES if each.arrow == kind and each.family is not Family.NULL)
    return Scalar(primitive, payload)
