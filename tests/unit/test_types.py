"""The table of types: complete, consistent, and readable by its SQL names."""

from __future__ import annotations

import pyarrow as pa
import pytest

from varquet.errors import UnsupportedTypeError
from varquet.types import (
    BY_NAME,
    BY_TAG,
    PRIMITIVES,
    Family,
    arrow_type_of_sql,
    decimal_type_for_digits,
    integer_type_for,
    sql_name,
)


def test_tags_and_widths_are_those_of_the_specification() -> None:
    assert [(kind.tag, kind.name, kind.width) for kind in PRIMITIVES] == [
        (0, "null", 0),
        (1, "true", 0),
        (2, "false", 0),
        (3, "int8", 1),
        (4, "int16", 2),
        (5, "int32", 4),
        (6, "int64", 8),
        (7, "double", 8),
        (8, "decimal4", 5),
        (9, "decimal8", 9),
        (10, "decimal16", 17),
        (11, "date", 4),
        (12, "timestamp", 8),
        (13, "timestamp_ntz", 8),
        (14, "float", 4),
        (15, "binary", -1),
        (16, "string", -1),
        (17, "time", 8),
        (18, "timestamp_nanos", 8),
        (19, "timestamp_ntz_nanos", 8),
        (20, "uuid", 16),
    ]
    assert all(BY_TAG[kind.tag] is BY_NAME[kind.name] is kind for kind in PRIMITIVES)


def test_equivalence_classes_are_those_of_the_specification() -> None:
    families = {family: [kind.name for kind in PRIMITIVES if kind.family is family] for family in Family}
    assert families[Family.EXACT] == ["int8", "int16", "int32", "int64", "decimal4", "decimal8", "decimal16"]
    assert families[Family.BOOLEAN] == ["true", "false"]
    assert families[Family.TIMESTAMP] == ["timestamp", "timestamp_nanos"]
    assert families[Family.TIMESTAMP_NTZ] == ["timestamp_ntz", "timestamp_ntz_nanos"]
    assert sum(len(names) == 1 for names in families.values()) == 8


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_the_narrowest_integer(bits: int) -> None:
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    wider = f"int{bits * 2}" if bits < 64 else None
    for number, name in ((least, f"int{bits}"), (most, f"int{bits}"), (least - 1, wider), (most + 1, wider)):
        kind = integer_type_for(number)
        assert (kind.name if kind else None) == name


def test_the_decimal_for_a_number_of_digits() -> None:
    names = {digits: kind.name if (kind := decimal_type_for_digits(digits)) else None for digits in (1, 9, 10, 18, 19, 38, 39)}
    assert names == {1: "decimal4", 9: "decimal4", 10: "decimal8", 18: "decimal8", 19: "decimal16", 38: "decimal16", 39: None}


@pytest.mark.parametrize(
    ("text", "arrow"),
    [
        ("bigint", pa.int64()),
        (" LONG ", pa.int64()),
        ("tinyint", pa.int8()),
        ("byte", pa.int8()),
        ("smallint", pa.int16()),
        ("Integer", pa.int32()),
        ("float", pa.float32()),
        ("real", pa.float32()),
        ("double", pa.float64()),
        ("string", pa.string()),
        ("text", pa.string()),
        ("boolean", pa.bool_()),
        ("binary", pa.binary()),
        ("date", pa.date32()),
        ("time", pa.time64("us")),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestamp_ltz", pa.timestamp("us", "UTC")),
        ("timestamp_ntz", pa.timestamp("us")),
        ("timestamp_nanos", pa.timestamp("ns", "UTC")),
        ("timestamp_ntz_nanos", pa.timestamp("ns")),
        ("uuid", pa.binary(16)),
        ("decimal", pa.decimal128(10, 0)),
        ("decimal(5)", pa.decimal128(5, 0)),
        ("DECIMAL( 38 , 38 )", pa.decimal128(38, 38)),
        ("numeric(10,2)", pa.decimal128(10, 2)),
        ("dec (10,2)", pa.decimal128(10, 2)),
    ],
)
def test_sql_names(text: str, arrow: pa.DataType) -> None:
    assert arrow_type_of_sql(text) == arrow
    assert arrow_type_of_sql(sql_name(arrow)) == arrow


@pytest.mark.parametrize("text", ["decimal(0)", "decimal(39)", "decimal(5,6)", "decimal(38,39)"])
def test_decimals_that_do_not_exist(text: str) -> None:
    with pytest.raises(UnsupportedTypeError, match="expected a decimal of 1 to 38 digits"):
        arrow_type_of_sql(text)


@pytest.mark.parametrize(
    "text", ["", "void", "struct<a:int>", "decimal(a)", "decimal(5,)", "decimal(-1)", "int(5)", "varchar(10)", "bigint x"]
)
def test_what_is_no_type(text: str) -> None:
    with pytest.raises(UnsupportedTypeError, match="expected the SQL name of a primitive type, got .*Hint: the names are bigint, binary"):
        arrow_type_of_sql(text)


def test_types_without_a_sql_name_keep_their_own() -> None:
    assert sql_name(pa.list_(pa.int8())) == "list<item: int8>"
