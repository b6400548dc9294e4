"""The tree of a shredding schema: how it is made, what it knows of itself, and what is made of two."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest

from varquet.errors import PathError, SchemaError, UnsupportedTypeError, VarquetError
from varquet.paths import Path
from varquet.schema import ELEMENT, Kind, ShreddingSchema, display_path

parse = ShreddingSchema.parse
Untyped: Any = ShreddingSchema
"""For calls that the types forbid."""


def test_the_four_kinds() -> None:
    value, primitive = ShreddingSchema.value(), ShreddingSchema.primitive(pa.int64())
    assert (value.kind, value.type, value.fields, value.element) == (Kind.VALUE, None, (), None)
    assert (primitive.kind, primitive.type, primitive.fields, primitive.element) == (Kind.PRIMITIVE, pa.int64(), (), None)
    array = ShreddingSchema.array(primitive)
    assert (array.kind, array.type, array.fields, array.element) == (Kind.ARRAY, None, (), primitive)
    for fields in ({"b": value, "a": array}, [("b", value), ("a", array)], iter([("a", array), ("b", value)])):
        made = ShreddingSchema.object(fields)
        assert (made.kind, made.type, made.fields, made.element) == (Kind.OBJECT, None, (("a", array), ("b", value)), None)
    assert ShreddingSchema.primitive("BIGINT") == primitive
    assert ShreddingSchema.primitive(pa.timestamp("us", "Asia/Tokyo")).type == pa.timestamp("us", "UTC")


def test_fields_are_ordered_by_their_utf8_bytes() -> None:
    names = ["\U00010000", "\uff5e", "b", "B", "", "a.b", "a"]
    made = ShreddingSchema.object((name, ShreddingSchema.value()) for name in names)
    assert [name for name, _ in made.fields] == ["", "B", "a", "a.b", "b", "\uff5e", "\U00010000"]


def test_a_schema_cannot_be_changed() -> None:
    schema = parse("a bigint")
    with pytest.raises(dataclasses.FrozenInstanceError):
        schema.kind = Kind.VALUE  # type: ignore[misc]
    with pytest.raises((AttributeError, TypeError)):
        schema.other = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda: Untyped(Kind.PRIMITIVE),
            SchemaError,
            "expected what belongs to a node of its kind, got <Kind.PRIMITIVE: 'primitive'> with nothing.",
        ),
        (
            lambda: Untyped(Kind.VALUE, pa.int8()),
            SchemaError,
            "got <Kind.VALUE: 'value'> with a type. Hint: make nodes by ShreddingSchema.value",
        ),
        (lambda: Untyped(Kind.ARRAY), SchemaError, "got <Kind.ARRAY: 'array'> with nothing"),
        (lambda: Untyped(Kind.OBJECT, element=parse("int")), SchemaError, "got <Kind.OBJECT: 'object'> with an element"),
        (lambda: Untyped(Kind.ARRAY, None, (("a", parse("int")),), parse("int")), SchemaError, "with fields and an element"),
        (lambda: Untyped("value"), SchemaError, "got 'value' with nothing"),
        (
            lambda: Untyped.object([("a", parse("int")), ("a", parse("int"))]),
            SchemaError,
            "expected field names that differ, got 'a' twice",
        ),
        (lambda: Untyped.object({1: parse("int")}), SchemaError, "expected text as the name of a field, got 1 - at $"),
        (
            lambda: Untyped.object({"\ud800": parse("int")}),
            SchemaError,
            "expected a field name that is Unicode text, got '\\ud800' with a lone surrogate - at $",
        ),
        (
            lambda: Untyped.object({"a": "int"}),
            UnsupportedTypeError,
            "expected a ShreddingSchema, got str. Hint: ShreddingSchema.from_python",
        ),
        (lambda: Untyped.array("int"), UnsupportedTypeError, "expected a ShreddingSchema, got str"),
        (lambda: Untyped.primitive(5), UnsupportedTypeError, "expected an Arrow type or the SQL name of one, got 5"),
        (lambda: Untyped.primitive("array<int>"), SchemaError, "expected the name of a primitive type, got 'array<int>'"),
        (
            lambda: Untyped.primitive("bigintt"),
            SchemaError,
            "expected a type, got 'bigintt' at character 1 of '▸bigintt'. Hint: did you mean bigint?",
        ),
        (
            lambda: Untyped.primitive(pa.uint32()),
            SchemaError,
            "got uint32: it has no unsigned integers - at $. Hint: take bigint or decimal(20,0)",
        ),
        (lambda: Untyped.primitive(pa.null()), SchemaError, "got null: a null has no type there - at $. Hint: take variant"),
        (lambda: Untyped.parse("int").merge("int"), UnsupportedTypeError, "expected a ShreddingSchema, got str"),
        (
            lambda: Untyped.parse("int").merge(parse("int"), on_conflict="drop"),
            UnsupportedTypeError,
            'expected "error" or "value" as on_conflict, got \'drop\'',
        ),
        (
            lambda: Untyped.parse("a int").select("$.a"),
            UnsupportedTypeError,
            "expected several paths, got one: $.a. Hint: put it into a list",
        ),
        (
            lambda: Untyped.parse("a int").select(["$.a"], missing="null"),
            UnsupportedTypeError,
            'expected "error" or "ignore" as missing, got \'null\'',
        ),
        (
            lambda: Untyped.parse("a int").get([1.5]),
            UnsupportedTypeError,
            "expected names, indexes and ELEMENT as the steps of a path, got 1.5",
        ),
        (lambda: Untyped.parse("a int").get([True]), UnsupportedTypeError, "as the steps of a path, got True"),
        (lambda: Untyped.parse(5), UnsupportedTypeError, "expected the text of a schema, got int. Hint: ShreddingSchema.from_python"),
        (lambda: Untyped.from_json(b"{}"), UnsupportedTypeError, "expected the text of a schema, got bytes"),
        (lambda: Untyped.from_arrow("int64"), UnsupportedTypeError, "expected an Arrow type, got str"),
        (lambda: Untyped.from_physical(pa.schema([])), UnsupportedTypeError, "expected an Arrow type, got Schema"),
    ],
)
def test_what_cannot_be_made(make: Any, kind: type[VarquetError], message: str) -> None:
    with pytest.raises(kind) as caught:
        make()
    assert message in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_schema_errors_are_value_errors() -> None:
    assert issubclass(SchemaError, VarquetError) and issubclass(SchemaError, ValueError)


def test_equal_schemas_are_equal_objects() -> None:
    one, other = parse("a bigint, b struct<c: string>"), parse("b struct<c string>, a long")
    assert one == other and hash(one) == hash(other) and len({one, other}) == 1
    for different in (
        "a bigint",
        "a int, b struct<c: string>",
        "A bigint, b struct<c: string>",
        "a bigint, b struct<c: variant>",
        "bigint",
    ):
        assert one != parse(different)
    assert parse("struct<>") != parse("variant") != parse("array<variant>")
    assert one != "a bigint, b struct<c: string>"


def test_schemas_pickle_and_copy() -> None:
    schema = parse("a bigint, `b.c` array<struct<`d``e`: uuid>>, f struct<>")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(schema, protocol)) == schema
    assert copy.copy(schema) is schema is copy.deepcopy(schema)


def test_a_pickled_schema_has_the_hash_of_the_process_that_reads_it() -> None:
    code = (
        "import pickle, sys; from varquet.schema import ShreddingSchema as S; s = pickle.loads(sys.stdin.buffer.read()); "
        "print({S.parse('a bigint, b string'): 'found'}.get(s))"
    )
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(parse("a bigint, b string")), capture_output=True, check=False)
    assert done.stdout.decode().strip() == "found", done.stderr.decode()


def test_repr_is_short() -> None:
    assert repr(parse("b string, a bigint")) == "ShreddingSchema('a bigint, b string')"
    wide = ShreddingSchema.object((f"field_{number}", parse("bigint")) for number in range(1000))
    assert repr(wide) == ("ShreddingSchema('field_0 bigint, field_1 bigint, field_10 bigint, field_100 bigint, field_101 big…')")


@pytest.mark.parametrize(
    ("text", "depth", "columns"),
    [
        ("variant", 0, 2),
        ("bigint", 0, 3),
        ("struct<>", 1, 2),
        ("array<variant>", 1, 3),
        ("array<string>", 1, 4),
        ("event_type string, event_ts timestamp", 1, 6),
        ("a struct<b: struct<c: int>>, d int", 3, 8),
        ("array<array<struct<a: int, b: variant>>>", 3, 7),
    ],
)
def test_depth_and_columns(text: str, depth: int, columns: int) -> None:
    assert (parse(text).depth, parse(text).columns) == (depth, columns)


def test_leaves() -> None:
    schema = parse("b array<struct<`x.y`: int, z: variant>>, a bigint, c struct<>")
    assert [(steps, str(leaf)) for steps, leaf in schema.leaves()] == [
        (("a",), "bigint"),
        (("b", ELEMENT, "x.y"), "int"),
        (("b", ELEMENT, "z"), "variant"),
        (("c",), "struct<>"),
    ]
    assert [display_path(steps) for steps, _ in schema.leaves()] == ["$.a", "$.b[*]['x.y']", "$.b[*].z", "$.c"]
    assert list(parse("int").leaves()) == [((), parse("int"))]
    assert repr(ELEMENT) == "ELEMENT" and pickle.loads(pickle.dumps(ELEMENT)) is ELEMENT


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ((), "$"),
        (("items", ELEMENT, "sku"), "$.items[*].sku"),
        (("a", 0), "$.a[0]"),
        (("content-type",), "$['content-type']"),
        (("", "1a", "é", "\n", "it's"), "$['']['1a'].é['\\n']['it\\'s']"),
        (("[*]",), "$['[*]']"),
    ],
)
def test_display_path(steps: tuple[Any, ...], text: str) -> None:
    assert display_path(steps) == text


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", "a array<struct<b: int>>, `[*]` struct<c: date>"),
        ("$.a", "array<struct<b: int>>"),
        ("$.a[*]", "struct<b: int>"),
        ("$['a'] [ * ] .b", "int"),
        ("$.a[0].b", "int"),
        ("$.a[-1].b", "int"),
        (Path.parse("$.a[3].b"), "int"),
        (("a", ELEMENT, "b"), "int"),
        (["a", 0, "b"], "int"),
        ("$['[*]'].c", "date"),
        ('$["[*]"].c', "date"),
        ("$.A", None),
        ("$.a.b", None),
        ("$[*]", None),
        ("$.a[*].b.c", None),
        ("$.a[*].b[*]", None),
    ],
)
def test_get(path: Any, found: str | None) -> None:
    schema = parse("a array<struct<b: int>>, `[*]` struct<c: date>")
    assert schema.get(path) == (None if found is None else parse(found))


def test_a_path_that_is_none_is_shown_as_it_was_written() -> None:
    with pytest.raises(PathError) as caught:
        parse("a array<int>").get("$.a[*]b")
    assert str(caught.value) == (
        "expected '.' or '[', got 'b' at character 7 of path '$.a[*]b'. "
        "Hint: paths into a schema look like $.a.b, $['a.b'] or $.items[*].sku"
    )


@pytest.mark.parametrize(
    ("paths", "selected", "left"),
    [
        (["$"], "a struct<b: int, c: array<struct<d: int, e: int>>>, f date", "variant"),
        ([], "variant", "a struct<b: int, c: array<struct<d: int, e: int>>>, f date"),
        (["$.f"], "f date", "a struct<b: int, c: array<struct<d: int, e: int>>>"),
        (["$.a.b"], "a struct<b: int>", "a struct<c: array<struct<d: int, e: int>>>, f date"),
        (["$.a.b", "$.f"], "a struct<b: int>, f date", "a struct<c: array<struct<d: int, e: int>>>"),
        (["$.a.c[*].d"], "a struct<c: array<struct<d: int>>>", "a struct<b: int, c: array<struct<e: int>>>, f date"),
        (["$.a.c[2]"], "a struct<c: array<struct<d: int, e: int>>>", "a struct<b: int, c: array<variant>>, f date"),
        (["$.a", "$.a.b"], "a struct<b: int, c: array<struct<d: int, e: int>>>", "f date"),
        (["$.a.b", "$.a.c"], "a struct<b: int, c: array<struct<d: int, e: int>>>", "a struct<>, f date"),
    ],
)
def test_select_and_without(paths: list[str], selected: str, left: str) -> None:
    schema = parse("a struct<b: int, c: array<struct<d: int, e: int>>>, f date")
    assert schema.select(paths).ddl() == selected
    assert schema.without(paths).ddl() == left


def test_paths_that_are_not_there() -> None:
    schema = parse("user struct<name: string>, items array<int>")
    for verb in (schema.select, schema.without):
        with pytest.raises(SchemaError) as caught:
            verb(["$.items", "$.user.nmae"])
        assert (
            str(caught.value) == "expected a path of the schema, got $.user.nmae, which it does not have. Hint: did you mean $.user.name?"
        )
        with pytest.raises(
            SchemaError, match=r"got \$.items\[\*\]\[\*\], which it does not have. Hint: missing=\"ignore\" passes over such paths"
        ):
            verb([["items", 0, 0]])
    assert schema.select(["$.items", "$.user.nmae"], missing="ignore") == parse("items array<int>")
    assert schema.without(["$.items", "$.user.nmae"], missing="ignore") == parse("user struct<name: string>")


@pytest.mark.parametrize(
    ("one", "other", "union"),
    [
        ("a int", "b int", "a int, b int"),
        ("a variant", "a struct<b: int>", "a struct<b: int>"),
        ("variant", "variant", "variant"),
        ("struct<>", "a int", "a int"),
        ("tinyint", "int", "int"),
        ("bigint", "smallint", "bigint"),
        ("tinyint", "decimal(2,0)", "decimal(3,0)"),
        ("smallint", "decimal(5,2)", "decimal(7,2)"),
        ("int", "decimal(38,0)", "decimal(38,0)"),
        ("bigint", "decimal(19,19)", "decimal(38,19)"),
        ("decimal(10,2)", "decimal(5,4)", "decimal(12,4)"),
        ("decimal(1,1)", "decimal(1,0)", "decimal(2,1)"),
        ("array<int>", "array<bigint>", "array<bigint>"),
        ("array<variant>", "array<struct<a: int>>", "array<struct<a: int>>"),
        ("a array<struct<b: int>>", "a array<struct<c: int>>, d date", "a array<struct<b: int, c: int>>, d date"),
    ],
)
def test_merge(one: str, other: str, union: str) -> None:
    assert parse(one).merge(parse(other)).ddl() == union
    assert parse(other).merge(parse(one)).ddl() == union


@pytest.mark.parametrize(
    ("one", "other", "message", "union"),
    [
        ("a int, b date", "a string", "got int and string - at $.a", "a variant, b date"),
        ("a float", "a double", "got float and double - at $.a", "a variant"),
        ("a int", "a double", "got int and double - at $.a", "a variant"),
        ("a timestamp", "a timestamp_nanos", "got timestamp and timestamp_nanos - at $.a", "a variant"),
        (
            "a array<struct<b: struct<c: int>>>",
            "a array<struct<b: date>>",
            "got a struct and date - at $.a[*].b",
            "a array<struct<b: variant>>",
        ),
        ("a array<int>", "a struct<b: int>", "got an array and a struct - at $.a", "a variant"),
        ("int", "a int", "got int and a struct - at $", "variant"),
        ("a bigint", "a decimal(21,20)", "got bigint and decimal(21,20), and no decimal of 38 digits holds both - at $.a", "a variant"),
    ],
)
def test_conflicts(one: str, other: str, message: str, union: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse(one).merge(parse(other))
    assert (
        str(caught.value)
        == f'expected one type for both schemas, {message}. Hint: on_conflict="value" leaves such a path without typed_value'
    )
    assert parse(one).merge(parse(other), on_conflict="value").ddl() == union
