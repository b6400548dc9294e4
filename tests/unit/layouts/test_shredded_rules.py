"""The rules that shredded output is held against do find what is wrong: one column for each of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from shredded_rules import findings, representable, schema_findings
from variant_columns import nodes_column

import varquet as vq
from varquet.types import BY_NAME
from varquet.variant import encode
from varquet.variant.model import NULL, Scalar

BINARY = pa.binary()
METADATA = pa.field("metadata", BINARY, nullable=False)
VALUE = pa.field("value", BINARY)


def _column_type(typed: pa.DataType, *, value: pa.Field = VALUE, metadata: pa.Field = METADATA, nullable: bool = True) -> pa.DataType:
    return pa.struct([metadata, value, pa.field("typed_value", typed, nullable=nullable)])


def _group(typed: pa.DataType | None = None) -> pa.DataType:
    return pa.struct([VALUE] if typed is None else [VALUE, pa.field("typed_value", typed)])


def _object(group: pa.DataType, *, nullable: bool = False) -> pa.DataType:
    return pa.struct([pa.field("a", group, nullable=nullable)])


def _array(group: pa.DataType, *, name: str = "element", nullable: bool = False) -> pa.DataType:
    return pa.list_(pa.field(name, group, nullable=nullable))


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ("E2", _column_type(pa.int32(), metadata=pa.field("metadata", BINARY))),
        ("E3", _column_type(pa.int32(), value=pa.field("value", BINARY, nullable=False))),
        ("E3", _column_type(pa.int32(), value=pa.field("value", pa.string()))),
        ("E3", pa.struct([METADATA, VALUE])),
        ("E3", pa.struct([METADATA, pa.field("typed_value", pa.int32())])),
        ("E3", _column_type(pa.int32(), nullable=False)),
        ("W3", _column_type(pa.uint8())),
        ("W3", _column_type(pa.timestamp("ms"))),
        ("W3", _column_type(pa.binary(4))),
        ("W3", _column_type(pa.large_string())),
        ("W3", _column_type(_object(_group(pa.time64("ns"))))),
        ("W6", _column_type(_array(_group(pa.int32()), name="item"))),
        ("W7", _column_type(_array(_group(pa.int32()), nullable=True))),
        ("W7", _column_type(_array(pa.int32()))),
        ("W10", _column_type(_object(_group(pa.int32()), nullable=True))),
        ("W10", _column_type(_object(pa.struct([pa.field("typed_value", pa.int32())])))),
        ("W10", _column_type(_object(pa.struct([VALUE, pa.field("other", pa.int32())])))),
    ],
)
def test_a_type_that_breaks_a_rule(rule: str, kind: pa.DataType) -> None:
    assert [found.split()[0] for found in schema_findings(kind)] == [rule]


@pytest.mark.parametrize(
    "ddl", ["variant", "int", "a int, b array<variant>", "array<array<struct<a: uuid, b: decimal(38,0)>>>", "struct<>"]
)
def test_a_type_that_breaks_none(ddl: str) -> None:
    assert list(schema_findings(vq.ShreddingSchema.parse(ddl).physical())) == []


NAMES, OBJECT = encode({"a": NULL, "b": NULL})
_, ONLY_A = encode({"a": Scalar(BY_NAME["int8"], 1)})
MISSING = {"value": None, "typed_value": None}


@pytest.mark.parametrize(
    ("rule", "ddl", "value", "typed"),
    [
        ("W4", "int", b"\x00", 1),
        ("W5", "int", None, None),
        ("W5", "array<int>", None, [MISSING]),
        ("W5", "array<variant>", None, [{"value": None}]),
        ("W4", "array<int>", b"\x00", []),
        ("W4", "array<int>", None, [{"value": b"\x00", "typed_value": 1}]),
        ("W6", "array<int>", b"\x03\x00\x00", None),
        ("W9", "a int", OBJECT, None),
        ("W9", "a int", b"\x02\x00\x00", None),
        ("W11", "a int", OBJECT, {"a": MISSING}),
        ("W13", "a int", b"\x00", {"a": MISSING}),
        ("P13", "a int", b"\x02\x00\x00", {"a": MISSING}),
        ("W2", "c int", None, {"c": {"value": None, "typed_value": 1}}),
        ("P11", "int", b"\x0c\x01", None),
        ("P11", "a int", None, {"a": {"value": b"\x0c\x01", "typed_value": None}}),
        ("P11", "string", b"\x05a", None),
        ("P11", "decimal(3,2)", b"\x0c\x01", None),
    ],
)
def test_a_row_that_breaks_a_rule(rule: str, ddl: str, value: bytes | None, typed: Any) -> None:
    good = vq.shred(nodes_column([NULL]), ddl)
    assert findings(good) == []
    bad = pa.array([{"metadata": NAMES, "value": value, "typed_value": typed}], good.type)
    found = [each.split()[0] for each in findings(pa.concat_arrays([good, bad]))]
    # What pa.array puts below a null that is required is its own affair.
    assert [each for each in found if each != "P10"] == [rule]


def test_values_below_what_is_absent() -> None:
    kind = vq.ShreddingSchema.parse("a int").physical()
    field = pa.StructArray.from_arrays([pa.nulls(1, BINARY), pa.array([7], pa.int32())], fields=list(kind.field(2).type.field(0).type))
    typed = pa.StructArray.from_arrays([field], fields=list(kind.field(2).type), mask=pa.array([True]))
    column = pa.StructArray.from_arrays([pa.array([NAMES]), pa.array([b"\x00"]), typed], fields=list(kind))
    assert findings(column) == ["P10 $.a: typed_value is set below what is absent"]


def test_elements_of_a_null_array() -> None:
    kind = vq.ShreddingSchema.parse("array<int>").physical()
    element = pa.StructArray.from_arrays([pa.array([b"\x00"]), pa.nulls(1, pa.int32())], fields=list(kind.field(2).type.value_type))
    typed = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), element, type=kind.field(2).type, mask=pa.array([True]))
    column = pa.StructArray.from_arrays([pa.array([NAMES]), pa.array([b"\x00"]), typed], fields=list(kind))
    assert findings(column) == ["P10 $: a null array has elements"]


def test_exact_types_are_held_against_what_was_asked_for() -> None:
    one = Scalar(BY_NAME["int8"], 1)
    assert representable(one, pa.int64()) and not representable(one, pa.int64(), exact_types=True)
    column = vq.shred(nodes_column([one]), "bigint", exact_types=True)
    assert findings(column, exact_types=True) == []
    assert [each.split()[0] for each in findings(column)] == ["P11"]
