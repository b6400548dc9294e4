"""Shredding schemas as text: what is read, how it is printed, and what is said about mistakes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from varquet.errors import SchemaError
from varquet.schema import ShreddingSchema
from varquet.types import arrow_type_of_sql

parse = ShreddingSchema.parse


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("bigint", "bigint"),
        (" VARIANT\n", "variant"),
        ("Array < String >", "array<string>"),
        ("struct<>", "struct<>"),
        ("STRUCT < >", "struct<>"),
        ("struct<b: int, a int>", "a int, b int"),
        ("a BIGINT, b STRUCT<c: STRING, d: ARRAY<INT>>, e VARIANT", "a bigint, b struct<c: string, d: array<int>>, e variant"),
        ("a:BIGINT,b:STRUCT<c:STRING>", "a bigint, b struct<c: string>"),
        ("a\tBIGINT\n,\n  b : struct< c :array<array<int>> >", "a bigint, b struct<c: array<array<int>>>"),
        ("decimal", "decimal(10,0)"),
        ("a DEC(12), b numeric ( 38 , 38 )", "a decimal(12,0), b decimal(38,38)"),
        (
            "a byte, b short, c integer, d long, e real, f bool, g text",
            "a tinyint, b smallint, c int, d bigint, e float, f boolean, g string",
        ),
        (
            "a timestamp_ltz, b timestamp_ntz, c timestamp_nanos, d timestamp_ntz_nanos",
            "a timestamp, b timestamp_ntz, c timestamp_nanos, d timestamp_ntz_nanos",
        ),
        ("a date, b time, c uuid, d binary, e time(6)", "a date, b time, c uuid, d binary, e time"),
        ("a int COMMENT 'it''s', b int comment \"x\"\"y\"", "a int, b int"),
        ("a int COMMENT 'one, > \\' here', b struct<c: int comment \"x\">", "a int, b struct<c: int>"),
        (
            "date date, array array<int>, struct struct<struct: int>, variant variant",
            "array array<int>, date date, struct struct<struct: int>, variant variant",
        ),
        ("not int, comment int, null int", "comment int, not int, null int"),
        ("`a.b` int, `c``d` int, `` int, `e f`: int", "`` int, `a.b` int, `c``d` int, `e f` int"),
        ("1a int, _b int, é int", "`1a` int, _b int, `é` int"),
        ("`plain` int", "plain int"),
        ("A int, a int", "A int, a int"),
    ],
)
def test_what_is_read_and_how_it_is_printed(text: str, canonical: str) -> None:
    schema = parse(text)
    assert schema.ddl() == canonical == str(schema)
    assert parse(canonical) == schema


@pytest.mark.parametrize(
    "name",
    [
        "boolean",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "float",
        "double",
        "decimal(38,10)",
        "date",
        "time",
        "timestamp",
        "timestamp_ntz",
        "timestamp_nanos",
        "timestamp_ntz_nanos",
        "binary",
        "string",
        "uuid",
    ],
)
def test_every_type_by_name(name: str) -> None:
    assert parse(name).type == arrow_type_of_sql(name)
    assert parse(name.upper()).ddl() == name
    assert parse(f"a {name}").fields[0][1].type == arrow_type_of_sql(name)


def test_types_are_canonical() -> None:
    assert parse("uuid").type == pa.binary(16)
    assert parse("timestamp").type == pa.timestamp("us", "UTC")


NAMES = "names of other characters than letters, digits and _ stand in backticks, as in `content-type`"
OPTIONAL = "any field of a Variant may be missing or null, so shredded fields are always optional"
TYPES = (
    "the types are array, bigint, binary, boolean, date, decimal, double, float, int, smallint, string, struct, time, timestamp, "
    "timestamp_nanos, timestamp_ntz, timestamp_ntz_nanos, tinyint, uuid, variant"
)
EMPTY = "struct<> is an object of which no field is shredded"
CLOSING = "there are more closing brackets than opening ones"
BRACKETS = "write struct<name: type, ...> or array<type>"
DIGITS = "a decimal of 1 to 38 digits with no more of them behind the point"


@pytest.mark.parametrize(
    ("text", "character", "expected", "got", "hint"),
    [
        ("", 1, "a type or a list of fields", "the end", EMPTY),
        (" \n", 3, "a type or a list of fields", "the end", EMPTY),
        ("a STRUCT<b: >", 13, "a type", "'>'", None),
        ("a", 1, "a type", "'a'", TYPES),
        ("a:", 3, "a type", "the end", None),
        ("a, b int", 2, "a type", "','", None),
        ("a bigint,", 10, "a field name", "the end", None),
        ("a bigint,, b int", 10, "a field name", "','", None),
        ("struct<a int,>", 14, "a field name", "'>'", None),
        ("a int b int", 7, "',' or the end", "'b'", None),
        ("bigint  >", 9, "the end", "'>'", CLOSING),
        ("decimal(10,2) x", 15, "the end", "'x'", None),
        ("struct<a: int>>", 15, "the end", "'>'", CLOSING),
        ("a array<int>>, b int", 13, "',' or the end", "'>'", CLOSING),
        ("a struct<b int", 15, "',' or '>'", "the end", "struct< opens at character 3"),
        ("a array<int", 12, "'>'", "the end", "array< opens at character 3"),
        ("array<int, int>", 10, "'>'", "','", None),
        ("array<>", 7, "a type", "'>'", None),
        ("array", 6, "'<' behind array", "the end", BRACKETS),
        ("a struct(b int)", 9, "'<' behind struct", "'('", BRACKETS),
        ("a bigintt", 3, "a type", "'bigintt'", "did you mean bigint?"),
        ("a struct<b: Strng>", 13, "a type", "'strng'", "did you mean string?"),
        ("a qqq", 3, "a type", "'qqq'", TYPES),
        ("a map<string, int>", 3, "a type", "'map'", "take a struct of the keys that are known, or variant"),
        ("a list<int>", 3, "a type", "'list'", "it is array<type>"),
        ("a object", 3, "a type", "'object'", "it is struct<name: type, ...>"),
        ("a uint32", 3, "a type", "'uint32'", "there are no unsigned integers: take bigint or decimal(20,0)"),
        ("a uint64", 3, "a type", "'uint64'", "there are no unsigned integers: take decimal(20,0)"),
        ("a int96", 3, "a type", "'int96'", "take timestamp_nanos or timestamp_ntz_nanos"),
        ("a timestamp_ms", 3, "a type", "'timestamp_ms'", "take timestamp or timestamp_ntz"),
        ("a int64", 3, "a type", "'int64'", "take bigint"),
        ("a void", 3, "a type", "'void'", "take variant, which has no typed_value"),
        ("a varchar(20)", 3, "a type without a length", "'varchar(20)'", "take string"),
        ("a int(11)", 3, "a type without parameters", "'int(11)'", "take int"),
        ("a time(3)", 3, "a type without parameters", "'time(3)'", "take time"),
        ("a variant(3)", 10, "',' or the end", "'('", "this type takes no parameters"),
        ("a decimal(39,2)", 3, DIGITS, "'decimal(39,2)'", None),
        ("a decimal(5,6)", 3, DIGITS, "'decimal(5,6)'", None),
        ("a decimal(5,-2)", 10, "one or two numbers in brackets", "'('", "write decimal(precision, scale)"),
        ("a decimal(99999)", 10, "one or two numbers in brackets", "'('", "write decimal(precision, scale)"),
        ("a int, a string", 8, "a field name that this object does not have yet", "'a'", None),
        ("struct<`x y` int, b struct<`x y`: int>, `x y` int>", 41, "a field name that this object does not have yet", "'`x y`'", None),
        ("a int not null", 7, "a type without NOT NULL", "'not null'", OPTIONAL),
        ("bigint NOT NULL", 8, "a type without NOT NULL", "'NOT NULL'", OPTIONAL),
        ("array<int> not null", 12, "a type without NOT NULL", "'not null'", OPTIONAL),
        ("a array<int not null>", 13, "a type without NOT NULL", "'not null'", OPTIONAL),
        ("content-type string", 8, "a type", "'-'", NAMES),
        ("a int, content-type string", 15, "a type", "'-'", NAMES),
        ("a.b int", 2, "a type", "'.'", NAMES),
        ("a int, 'b' int", 8, "a field name", '"\'"', NAMES),
        ("'a' int", 1, "a type", '"\'"', NAMES),
        ("`a string", 10, "a closing '`'", "the end", "the name opens at character 1"),
        ("a int comment x", 7, "',' or the end", "'comment'", None),
    ],
)
def test_mistakes(text: str, character: int, expected: str, got: str, hint: str | None) -> None:
    spot = f"{text[: character - 1]}▸{text[character - 1 :]}".replace("\n", " ")
    with pytest.raises(SchemaError) as caught:
        parse(text)
    assert str(caught.value) == f"expected {expected}, got {got} at character {character} of '{spot}'" + (f". Hint: {hint}" if hint else "")


def test_names_that_are_no_text() -> None:
    with pytest.raises(SchemaError) as caught:
        parse("`\ud800` int")
    assert str(caught.value) == "expected a field name that is Unicode text, got '\\ud800' with a lone surrogate - at $"


def test_the_spot_in_a_long_text() -> None:
    text = ", ".join(f"field_{number} bigint" for number in range(1000))
    with pytest.raises(SchemaError) as caught:
        parse(text.replace("field_500 bigint", "field_500 bgint"))
    assert str(caught.value) == (
        "expected a type, got 'bgint' at character 8901 of '…498 bigint, field_499 bigint, field_500 ▸bgint, field_501 bigint,…'. "
        "Hint: did you mean bigint?"
    )
    with pytest.raises(SchemaError, match="got 'zzzzzzzzzzzzzzzzzzzzzzzz…' at character"):
        parse("a int " + "z" * 100)
