"""What the standard demands of whoever writes shredded columns, checked to the letter.

    schema   W3 the types of the table; W6, W7 arrays are lists of required groups; W10 fields are required groups with an
             optional value; E2, E3 metadata and value
    rows     W2 names in the metadata; W4, W5 value or typed_value; W6 arrays; W8 elements; W9 objects; W11 residuals;
             W13 the invalid rows; P10 nothing below what is absent; P11 what typed_value can hold is there

`findings` says what is wrong with a column, beginning with the rule; of what varquet writes it must say nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final, NamedTuple

import pyarrow as pa
from construct_variant import plain_rows

from varquet.schema import ShreddingSchema
from varquet.types import BY_NAME, PRIMITIVES, Family, decimal_type_for_digits
from varquet.variant import decode
from varquet.variant.metadata import Metadata
from varquet.variant.model import Node, Scalar

__all__ = ["findings", "representable", "residuals", "schema_findings", "stored_as"]

_TABLE: Final = {kind.arrow for kind in PRIMITIVES if kind.arrow is not None and kind.family is not Family.NULL}


def findings(column: pa.Array, *, exact_types: bool = False) -> list[str]:
    """All rules that a shredded column breaks, as "rule path: what is wrong"."""
    column.validate(full=True)
    found = list(schema_findings(column.type))
    if found:
        return found
    found = list(_unreachable(column, [True] * len(column), "$"))
    for number, row in enumerate(plain_rows(column)):
        if row is not None:
            place = _Place(f"row {number} $", row["metadata"], Metadata(row["metadata"]), exact_types)
            found += _group_findings(row, column.type, place, is_field=False)
    return found


# The schema


def schema_findings(kind: pa.DataType) -> Iterator[str]:
    """What is wrong with the type of a column."""
    names = [kind.field(k).name for k in range(kind.num_fields)]
    shredded = "typed_value" in names
    if names != ["metadata", "value", "typed_value"][: 2 + shredded]:
        yield f"E3 $: the children are {names}"
        return
    metadata, value = kind.field("metadata"), kind.field("value")
    if metadata.nullable or metadata.type != pa.binary():
        yield f"E2 $: metadata is {metadata}"
    if value.nullable is not shredded or value.type != pa.binary():
        yield f"E3 $: value is {value}"
    if shredded:
        yield from _typed_findings(kind.field("typed_value"), "$")


def _typed_findings(field: pa.Field, path: str) -> Iterator[str]:
    kind = field.type
    if not field.nullable:
        yield f"E3 {path}: typed_value is required"
    if pa.types.is_struct(kind):
        for child in kind:
            yield from _field_findings(child, f"{path}.{child.name}", rule="W10")
            if child.type.get_field_index("value") < 0:
                yield f"W10 {path}.{child.name}: a field without value"
    elif pa.types.is_list(kind):
        if kind.value_field.name != "element":
            yield f"W6 {path}: the elements are called {kind.value_field.name!r}"
        yield from _field_findings(kind.value_field, f"{path}[*]", rule="W7")
    else:
        storage = kind.storage_type if kind == pa.uuid() else kind
        is_decimal = pa.types.is_decimal128(storage) and 0 <= storage.scale <= storage.precision
        if storage not in _TABLE and not is_decimal:
            yield f"W3 {path}: typed_value is {kind}"


def _field_findings(field: pa.Field, path: str, *, rule: str) -> Iterator[str]:
    kind = field.type
    if field.nullable or not pa.types.is_struct(kind):
        yield f"{rule} {path}: it is no required group but {field}"
        return
    names = [child.name for child in kind]
    if not names or not set(names) <= {"value", "typed_value"} or len(set(names)) < len(names):
        yield f"{rule} {path}: the children are {names}"
        return
    if "value" in names and (kind.field("value").type != pa.binary() or not kind.field("value").nullable):
        yield f"{rule} {path}: value is {kind.field('value')}"
    if "typed_value" in names:
        yield from _typed_findings(kind.field("typed_value"), path)


# The rows


class _Place(NamedTuple):
    """Where a value is, and what its bytes are read with."""

    path: str
    metadata: bytes
    dictionary: Metadata
    exact_types: bool

    def below(self, step: str) -> _Place:
        return self._replace(path=self.path + step)


def _group_findings(group: dict[str, Any], kind: pa.DataType, place: _Place, *, is_field: bool) -> Iterator[str]:
    value, typed = group.get("value"), group.get("typed_value")
    residual = None if value is None else decode(place.metadata, value)
    if value is None and typed is None:
        if not is_field:
            yield f"W5 {place.path}: neither value nor typed_value is set"
        return
    if kind.get_field_index("typed_value") < 0:
        return
    typed_kind = kind.field("typed_value").type
    if pa.types.is_struct(typed_kind):
        yield from _object_findings(residual, typed, typed_kind, place)
        return
    if residual is not None and typed is not None:
        yield f"W4 {place.path}: both value and typed_value are set, and it is no object"
    if pa.types.is_list(typed_kind):
        if isinstance(residual, list):
            yield f"W6 {place.path}: value holds an array"
        for index, element in enumerate(typed or ()):
            yield from _group_findings(element, typed_kind.value_type, place.below(f"[{index}]"), is_field=False)
    elif residual is not None and representable(residual, typed_kind, exact_types=place.exact_types):
        yield f"P11 {place.path}: value holds {residual}, which typed_value of {typed_kind} could"


def _object_findings(residual: Node | None, typed: dict[str, Any] | None, kind: pa.DataType, place: _Place) -> Iterator[str]:
    if typed is None:
        if isinstance(residual, dict):
            yield f"W9 {place.path}: value holds an object, typed_value is null"
        return
    if residual is not None and not isinstance(residual, dict):
        yield f"W13 {place.path}: value beside an object holds none"
    elif residual is not None and not residual:
        yield f"P13 {place.path}: value holds an empty object"
    elif residual is not None and (both := sorted(set(residual) & set(typed))):
        yield f"W11 {place.path}: value holds the shredded fields {both}"
    for name, group in typed.items():
        here = place.below(f".{name}")
        yield from _group_findings(group, kind.field(name).type, here, is_field=True)
        is_there = group.get("value") is not None or group.get("typed_value") is not None
        if is_there and not place.dictionary.find(name):
            yield f"W2 {here.path}: the name is not in the metadata"


def representable(node: Node, kind: pa.DataType, *, exact_types: bool = False) -> bool:
    """Whether a typed_value of this primitive type can hold the value."""
    return isinstance(node, Scalar) and _as_type(node, kind, exact_types=exact_types) is not None


def stored_as(node: Node, schema: ShreddingSchema, *, exact_types: bool = False) -> Node:
    """What comes back of a value that was shredded: itself, but exact numerics have the type of the column they went to."""
    if schema.type is not None:
        stored = _as_type(node, schema.type, exact_types=exact_types) if isinstance(node, Scalar) else None
        return node if stored is None else stored
    if isinstance(node, dict):
        fields = dict(schema.fields)
        return {name: stored_as(child, fields[name], exact_types=exact_types) if name in fields else child for name, child in node.items()}
    if isinstance(node, list) and schema.element is not None:
        return [stored_as(child, schema.element, exact_types=exact_types) for child in node]
    return node


def _as_type(scalar: Scalar, kind: pa.DataType, *, exact_types: bool) -> Scalar | None:
    """A scalar in a column of this type: exact numerics cross where nothing is lost, nothing else does; None if it does not fit."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if scalar.type.family is not Family.EXACT:
        return scalar if scalar.type.arrow == kind and scalar.type.family is not Family.NULL else None
    assert isinstance(scalar.value, (int, Decimal))
    unscaled, scale = _unscaled(scalar.value)
    if pa.types.is_integer(kind):
        number, lost = divmod(unscaled, 10**scale)
        if lost or not -(1 << (kind.bit_width - 1)) <= number < 1 << (kind.bit_width - 1):
            return None
        stored = Scalar(BY_NAME[str(kind)], number)
    elif pa.types.is_decimal(kind):
        number, lost = divmod(unscaled * 10**kind.scale, 10**scale)
        primitive = decimal_type_for_digits(kind.precision)
        if lost or abs(number) >= 10**kind.precision or primitive is None:
            return None
        stored = Scalar(primitive, Decimal(f"{number}E-{kind.scale}"))
    else:
        return None
    same = stored.type is scalar.type and _unscaled(stored.value) == (unscaled, scale)
    return stored if same or not exact_types else None


def _unscaled(number: object) -> tuple[int, int]:
    if not isinstance(number, Decimal):
        assert isinstance(number, int)
        return number, 0
    sign, digits, exponent = number.as_tuple()
    return (-1) ** sign * int("".join(map(str, digits))), -int(exponent)


def residuals(column: pa.Array) -> Iterator[tuple[bytes, bytes]]:
    """The bytes of every value in the column, each with its metadata."""
    for row in plain_rows(column):
        pending = [row] if row is not None else []
        while pending:
            group = pending.pop()
            if group.get("value") is not None:
                yield row["metadata"], group["value"]
            typed = group.get("typed_value")
            if isinstance(typed, dict):
                pending += typed.values()
            elif isinstance(typed, list):
                pending += typed


def _unreachable(group: pa.Array, alive: list[bool], path: str) -> Iterator[str]:
    """Values below something that is absent (P10)."""
    if group.type.get_field_index("metadata") < 0 and group.null_count:
        yield f"W10 {path}: a group is null"
    for name in ("value", "typed_value"):
        if group.type.get_field_index(name) < 0:
            continue
        child = group.field(name)
        is_set = child.is_valid().to_pylist()
        if any(set_ and not here for set_, here in zip(is_set, alive, strict=True)):
            yield f"P10 {path}: {name} is set below what is absent"
        if name == "value":
            continue
        if pa.types.is_struct(child.type):
            for index, field in enumerate(child.type):
                yield from _unreachable(child.field(index), is_set, f"{path}.{field.name}")
        elif pa.types.is_list(child.type):
            offsets = child.offsets.to_pylist()
            elements = child.values.slice(offsets[0], offsets[-1] - offsets[0])
            lengths = [after - before for before, after in itertools.pairwise(offsets)]
            if any(length and not here for length, here in zip(lengths, is_set, strict=True)):
                yield f"P10 {path}: a null array has elements"
            yield from _unreachable(elements, [True] * len(elements), f"{path}[*]")
