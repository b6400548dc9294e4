"""Which values a typed_value takes: exact numerics that lose nothing by it, everything else only in its own type."""

from __future__ import annotations

import json
import math
import struct
import uuid
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from construct_variant import plain_rows
from kernel_builds import BUILDS, using
from shredded_rules import stored_as
from strategies import physical
from variant_columns import column_of, nodes_column, rows_of

import varquet as vq
from varquet.types import BY_NAME
from varquet.variant import decode, encode
from varquet.variant.model import NULL, Node, Scalar


@pytest.fixture(autouse=True, params=[build for build in BUILDS if build != "interpreted"])
def _on_build(request: pytest.FixtureRequest) -> Any:
    with using(request.param):
        yield


def scalar(name: str, payload: Any) -> Scalar:
    return Scalar(BY_NAME[name], payload)


def placed(node: Node, ddl: str, *, exact_types: bool = False) -> Any:
    """The typed_value that a value gets; None where it stays in value."""
    column = vq.shred(nodes_column([node]), ddl, exact_types=exact_types)
    (row,) = plain_rows(column)
    assert (row["value"] is None) != (row["typed_value"] is None)
    if row["value"] is not None:
        assert row["value"] == encode(node)[1]
    ((metadata, value),) = (each for each in rows_of(vq.unshred(column, strict=True)) if each is not None)
    expected = stored_as(node, vq.ShreddingSchema.parse(ddl), exact_types=exact_types)
    assert physical(decode(metadata, value)) == physical(expected)
    return row["typed_value"]


# Exact numerics

LIMITS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
MOST = 10**38 - 1


@pytest.mark.parametrize("ddl", LIMITS)
@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "decimal4", "decimal8", "decimal16"])
def test_integers_up_to_the_edge_of_the_column(ddl: str, name: str) -> None:
    for bits, beyond in product((7, 15, 31, 63), (-1, 0)):
        number = (1 << bits) + beyond
        for signed in (number, -number, -number - 1):
            payload: Any = Decimal(signed) if name.startswith("decimal") else signed
            if not _holds(name, signed):
                continue
            fits = -(1 << LIMITS[ddl]) <= signed < 1 << LIMITS[ddl]
            assert placed(scalar(name, payload), ddl) == (signed if fits else None)


def _holds(name: str, number: int) -> bool:
    bits = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}.get(name)
    digits = {"decimal4": 9, "decimal8": 18, "decimal16": 38}.get(name)
    return -(1 << bits) <= number < 1 << bits if bits is not None else len(str(abs(number))) <= (digits or 0)


@pytest.mark.parametrize(
    ("value", "ddl", "stored"),
    [
        (scalar("int8", 1), "decimal(9,2)", Decimal("1.00")),
        (scalar("int8", -128), "decimal(5,2)", Decimal("-128.00")),
        (scalar("int16", 1000), "decimal(5,2)", None),
        (scalar("int64", -(1 << 63)), "decimal(19,0)", Decimal(-(1 << 63))),
        (scalar("int64", -(1 << 63)), "decimal(18,0)", None),
        (scalar("int64", (1 << 63) - 1), "decimal(38,19)", Decimal((1 << 63) - 1)),
        (scalar("int64", (1 << 63) - 1), "decimal(38,20)", None),
        (scalar("decimal4", Decimal("1.10")), "decimal(9,1)", Decimal("1.1")),
        (scalar("decimal4", Decimal("1.10")), "decimal(9,3)", Decimal("1.100")),
        (scalar("decimal4", Decimal("1.11")), "decimal(9,1)", None),
        (scalar("decimal4", Decimal("1.00")), "tinyint", 1),
        (scalar("decimal4", Decimal("1.50")), "tinyint", None),
        (scalar("decimal4", Decimal("0E-9")), "int", 0),
        (scalar("decimal16", Decimal("0E-38")), "decimal(1,0)", Decimal(0)),
        (scalar("decimal4", Decimal("-0.000000001")), "decimal(9,9)", Decimal("-0.000000001")),
        (scalar("decimal4", Decimal("-0.000000001")), "decimal(9,8)", None),
        (scalar("decimal8", Decimal(999999999999999999)), "decimal(18,0)", Decimal(999999999999999999)),
        (scalar("decimal8", Decimal(999999999999999999)), "decimal(18,1)", None),
        (scalar("decimal8", Decimal("9999999990.00")), "decimal(10,0)", Decimal(9999999990)),
        (scalar("decimal16", Decimal(MOST)), "decimal(38,0)", Decimal(MOST)),
        (scalar("decimal16", Decimal(-MOST)), "decimal(38,0)", Decimal(-MOST)),
        (scalar("decimal16", Decimal(MOST)), "decimal(37,0)", None),
        (scalar("decimal16", Decimal(MOST)), "decimal(38,1)", None),
        (scalar("decimal16", Decimal(f"{MOST}E-38")), "decimal(38,38)", Decimal(f"{MOST}E-38")),
        (scalar("decimal16", Decimal(f"-{MOST}E-38")), "decimal(38,37)", None),
        (scalar("decimal16", Decimal(f"1{'0' * 37}E-37")), "tinyint", 1),
        (scalar("decimal16", Decimal(f"1{'0' * 37}")), "bigint", None),
        (scalar("decimal16", Decimal("-9223372036854775808.0")), "bigint", -(1 << 63)),
        (scalar("decimal16", Decimal("9223372036854775808.0")), "bigint", None),
        (scalar("int8", 9), "decimal(1,0)", Decimal(9)),
        (scalar("int8", 10), "decimal(1,0)", None),
        (scalar("int8", 0), "decimal(1,1)", Decimal("0.0")),
        (scalar("int8", 1), "decimal(1,1)", None),
    ],
    ids=lambda each: str(getattr(each, "value", each)),
)
def test_exact_numbers_cross_where_nothing_is_lost(value: Scalar, ddl: str, stored: Any) -> None:
    assert placed(value, ddl) == stored


@pytest.mark.parametrize(
    ("value", "ddl", "is_typed"),
    [
        (scalar("int8", 1), "tinyint", True),
        (scalar("int8", 1), "smallint", False),
        (scalar("int64", 1), "bigint", True),
        (scalar("int64", 1), "int", False),
        (scalar("int32", 1), "decimal(9,0)", False),
        (scalar("decimal4", Decimal("1.0")), "int", False),
        (scalar("decimal4", Decimal("1.0")), "decimal(9,1)", True),
        (scalar("decimal4", Decimal("1.0")), "decimal(5,1)", True),
        (scalar("decimal4", Decimal("1.0")), "decimal(9,2)", False),
        (scalar("decimal4", Decimal("1.0")), "decimal(10,1)", False),
        (scalar("decimal8", Decimal("1.0")), "decimal(10,1)", True),
        (scalar("decimal16", Decimal("1.0")), "decimal(18,1)", False),
        (scalar("decimal16", Decimal("1.0")), "decimal(19,1)", True),
        (scalar("string", "x"), "string", True),
    ],
    ids=str,
)
def test_exact_types_keep_the_physical_type(value: Scalar, ddl: str, is_typed: bool) -> None:
    assert (placed(value, ddl, exact_types=True) is not None) == is_typed


# Everything else

OF_EACH_TYPE = {
    "boolean": scalar("true", True),
    "tinyint": scalar("int8", 1),
    "bigint": scalar("int64", 1),
    "float": scalar("float", 1.0),
    "double": scalar("double", 1.0),
    "decimal(9,0)": scalar("decimal4", Decimal(1)),
    "date": scalar("date", 1),
    "time": scalar("time", 1),
    "timestamp": scalar("timestamp", 1),
    "timestamp_ntz": scalar("timestamp_ntz", 1),
    "timestamp_nanos": scalar("timestamp_nanos", 1),
    "timestamp_ntz_nanos": scalar("timestamp_ntz_nanos", 1),
    "binary": scalar("binary", b"1"),
    "string": scalar("string", "1"),
    "uuid": scalar("uuid", uuid.UUID(int=1)),
}
EXACT = {"tinyint", "bigint", "decimal(9,0)"}


@pytest.mark.parametrize("ddl", OF_EACH_TYPE)
def test_nothing_crosses_from_one_type_to_another(ddl: str) -> None:
    for other, value in OF_EACH_TYPE.items():
        crosses = other == ddl or {other, ddl} <= EXACT
        assert (placed(value, ddl) is not None) == crosses, other
    for value in (NULL, [], {}, [OF_EACH_TYPE[ddl]], {"a": OF_EACH_TYPE[ddl]}):
        assert placed(value, ddl) is None


def test_both_booleans_are_typed() -> None:
    column = vq.shred(nodes_column([scalar("true", True), scalar("false", False), NULL, scalar("true", True)]), "boolean")
    assert column.field("typed_value").to_pylist() == [True, False, None, True]


@pytest.mark.parametrize(
    ("ddl", "tag", "bits", "store"),
    [
        ("double", 7, (0x7FF8000000000000, 0x7FF8000000000123, 0xFFF0000000000001, 1 << 63, 0, 1, 0x7FF0000000000000), "<Q"),
        ("float", 14, (0x7FC00000, 0x7FC00123, 0xFF800001, 1 << 31, 0, 1, 0x7F800000), "<I"),
    ],
)
def test_every_bit_of_a_floating_point_number_survives(ddl: str, tag: int, bits: tuple[int, ...], store: str) -> None:
    """NaN with its payload, -0.0, denormal numbers."""
    rows = [(b"\x01\x00\x00", bytes((tag << 2,)) + struct.pack(store, each)) for each in bits]
    column = vq.shred(column_of(rows), ddl)
    typed = column.field("typed_value")
    assert column.field("value").null_count == len(rows)
    assert typed.view(pa.uint64() if ddl == "double" else pa.uint32()).to_pylist() == list(bits)
    assert rows_of(vq.unshred(column)) == rows
    assert math.copysign(1, typed[3].as_py()) == -1


@pytest.mark.parametrize("name", ["date", "time", "timestamp", "timestamp_ntz", "timestamp_nanos", "timestamp_ntz_nanos"])
def test_moments_over_the_whole_range(name: str) -> None:
    limit = 1 << (8 * BY_NAME[name].width - 1)
    numbers = (0, 86_399_999_999) if name == "time" else (-limit, -1, 0, 1, limit - 1)
    column = vq.shred(nodes_column([scalar(name, number) for number in numbers]), name)
    assert column.type.field("typed_value").type == BY_NAME[name].arrow
    assert [row["typed_value"] for row in plain_rows(column)] == list(numbers)
    assert [decode(*row).value for row in rows_of(vq.unshred(column)) if row is not None] == list(numbers)  # type: ignore[union-attr]


@pytest.mark.parametrize("size", [0, 1, 63, 64, 300, 70_000])
@pytest.mark.parametrize("ddl", ["string", "binary"])
def test_texts_of_any_length(size: int, ddl: str) -> None:
    payload: Any = "x" * size if ddl == "string" else b"\xff" * size
    assert placed(scalar(ddl, payload), ddl) == payload


def test_a_long_string_of_few_bytes_is_stored_as_a_string() -> None:
    """The long form of a short string is legal (E10); it comes back in the short one."""
    column = vq.shred(column_of([(b"\x01\x00\x00", b"\x40\x02\x00\x00\x00hi")]), "string")
    assert column.field("typed_value").to_pylist() == ["hi"]
    assert rows_of(vq.unshred(column)) == [(b"\x01\x00\x00", b"\x09hi")]


def test_uuids_are_arrow_uuids() -> None:
    one = uuid.UUID("f24f9b64-81fa-49d1-b74e-8c09a6e31c56")
    column = vq.shred(nodes_column([scalar("uuid", one), scalar("string", str(one)), NULL]), "uuid")
    assert column.type.field("typed_value").type == pa.uuid()
    assert column.field("typed_value").storage.to_pylist() == [one.bytes, None, None]
    assert column.field("value").null_count == 1


def test_a_string_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(vq.InvalidVariantError, match=r"expected a string in UTF-8, got other bytes \(E8"):
        vq.shred(column_of([(b"\x01\x00\x00", b"\x09\xff\xfe")]), "string")


# The Arrow types of others


@pytest.mark.parametrize(
    ("kind", "payload", "expected"),
    [
        (pa.decimal32(9, 2), Decimal("1.10"), scalar("decimal4", Decimal("1.10"))),
        (pa.decimal32(5, 5), Decimal("-0.00001"), scalar("decimal4", Decimal("-0.00001"))),
        (pa.decimal64(18, 0), Decimal(-(10**17)), scalar("decimal8", Decimal(-(10**17)))),
        (pa.decimal64(9, 0), Decimal(7), scalar("decimal4", Decimal(7))),
        (pa.decimal128(38, 38), Decimal(f"-{MOST}E-38"), scalar("decimal16", Decimal(f"-{MOST}E-38"))),
        (pa.large_string(), "x" * 64, scalar("string", "x" * 64)),
        (pa.string_view(), "x", scalar("string", "x")),
        (pa.large_binary(), b"x", scalar("binary", b"x")),
        (pa.binary_view(), b"\xff" * 20, scalar("binary", b"\xff" * 20)),
        (pa.binary(16), bytes(16), scalar("uuid", uuid.UUID(int=0))),
        (pa.dictionary(pa.int8(), pa.string()), "x", scalar("string", "x")),
        (pa.timestamp("us", "Europe/Berlin"), 5, scalar("timestamp", 5)),
        (pa.timestamp("ns", "+02:00"), 5, scalar("timestamp_nanos", 5)),
        (pa.bool_(), False, scalar("false", False)),
    ],
    ids=str,
)
def test_typed_values_in_other_arrow_types(kind: pa.DataType, payload: Any, expected: Scalar) -> None:
    typed = pa.array([None, payload, payload, None, payload], kind)
    metadata = pa.array([b"\x01\x00\x00"] * 5)
    value = pa.array([b"\x00", None, None, b"\x00", None])
    column = pa.StructArray.from_arrays([metadata, value, typed], names=["metadata", "value", "typed_value"])
    nodes = [decode(*row) for row in rows_of(vq.unshred(column)) if row is not None]
    assert nodes == [NULL, expected, expected, NULL, expected]
    assert [decode(*row) for row in rows_of(vq.unshred(column[2:])) if row is not None] == nodes[2:]


@pytest.mark.parametrize("text", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("index", [pa.int8(), pa.int32(), pa.int64(), pa.uint16()])
def test_typed_texts_in_a_dictionary(text: pa.DataType, index: pa.DataType) -> None:
    """Whatever number nulls have in it: those that it has no text for are as good as others."""
    texts = ["a", None, "longer than the thirty-two bytes that are copied at once", "a", "x" * 70]
    encoded = pa.array(texts, text).dictionary_encode()
    values = pa.array([None, b"\x00", None, None, None], pa.binary())
    for number in (0, 99):
        numbers = np.array(encoded.indices.fill_null(number)).astype(index.to_pandas_dtype())
        indices = pa.Array.from_buffers(index, len(texts), [encoded.indices.buffers()[0], pa.py_buffer(numbers)])
        typed = pa.DictionaryArray.from_arrays(indices, encoded.dictionary, safe=False)
        names = ["metadata", "value", "typed_value"]
        column = pa.StructArray.from_arrays([pa.array([b"\x01\x00\x00"] * 5, pa.binary()), values, typed], names)
        expected = ["null" if one is None else json.dumps(one) for one in texts]
        assert vq.to_json(vq.unshred(column)).to_pylist() == expected
        assert vq.to_json(vq.unshred(column.slice(1, 3))).to_pylist() == expected[1:4]
