"""Shredding schemas as JSON and as plain Python: what is read, how it is written, and what is said about mistakes."""

from __future__ import annotations

import collections
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pytest

from varquet.errors import SchemaError
from varquet.schema import ShreddingSchema

EXAMPLE = 'schemas look like {"type":"object","fields":{"a":"bigint","tags":{"type":"array","element":"string"}}}'


@pytest.mark.parametrize(
    ("ddl", "text", "python"),
    [
        ("variant", '"variant"', "variant"),
        ("decimal(10,2)", '"decimal(10,2)"', "decimal(10,2)"),
        ("struct<>", '{"type":"object","fields":{}}', {}),
        ("array<variant>", '{"type":"array","element":"variant"}', ["variant"]),
        (
            "b struct<c: string>, a array<array<int>>",
            (
                '{"type":"object","fields":{"a":{"type":"array","element":{"type":"array","element":"int"}},'
                '"b":{"type":"object","fields":{"c":"string"}}}}'
            ),
            {"a": [["int"]], "b": {"c": "string"}},
        ),
        (
            'type int, fields int, element int, `"\\\n` int, `é\U0001f600` int',
            '{"type":"object","fields":{"\\"\\\\\\n":"int","element":"int","fields":"int","type":"int","é\U0001f600":"int"}}',
            {'"\\\n': "int", "element": "int", "fields": "int", "type": "int", "é\U0001f600": "int"},
        ),
    ],
)
def test_both_ways(ddl: str, text: str, python: Any) -> None:
    schema = ShreddingSchema.parse(ddl)
    assert schema.to_json() == text
    assert schema.to_python() == python
    assert ShreddingSchema.from_json(text) == schema == ShreddingSchema.parse(text)
    assert ShreddingSchema.from_python(python) == schema


@pytest.mark.parametrize(
    ("text", "ddl"),
    [
        (' {"fields" : { "b":\n"BIGINT", "a" : null } , "type" : "object" } ', "a variant, b bigint"),
        ('["string"]', "array<string>"),
        ('[["struct<a: int, b: array<int>>"]]', "array<array<struct<a: int, b: array<int>>>>"),
        ('"a int, b int"', "a int, b int"),
        ('{"type":"object","fields":{"\\u0061\\ud83d\\ude00\\n":"int"}}', "`a\U0001f600\n` int"),
    ],
)
def test_other_json_that_is_read(text: str, ddl: str) -> None:
    assert ShreddingSchema.parse(text) == ShreddingSchema.parse(ddl)


def test_null_is_read_where_the_text_is_known_to_be_json() -> None:
    assert ShreddingSchema.from_json("null") == ShreddingSchema.value()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a":"bigint"}', f'expected "object" or "array" as "type", got an object without "type" - at $. Hint: {EXAMPLE}'),
        ('{"type":"struct","fields":{}}', f'expected "object" or "array" as "type", got "struct" - at $. Hint: {EXAMPLE}'),
        ('{"type":"object"}', f'expected "fields" in an object, got none - at $. Hint: {EXAMPLE}'),
        ('{"type":"array"}', f'expected "element" in an array, got none - at $. Hint: {EXAMPLE}'),
        (
            '{"type":"array","element":"int","nullable":true}',
            f'expected "type" and "element" in an array, got \'nullable\' - at $. Hint: {EXAMPLE}',
        ),
        ('{"type":"object","fields":[{"name":"a"}]}', f'expected an object as "fields", got a list - at $. Hint: {EXAMPLE}'),
        (
            '{"type":"object","fields":{"a":{"type":"array","element":5}}}',
            f"expected a type's name or an object, got 5 - at $.a[*]. Hint: {EXAMPLE}",
        ),
        ("[true]", f"expected a type's name or an object, got true - at $[*]. Hint: {EXAMPLE}"),
        ('[{"type":7}]', f'expected "object" or "array" as "type", got 7 - at $[*]. Hint: {EXAMPLE}'),
        (
            "[]",
            (
                "expected a list of one, the type of the elements, got 0 of them - at $. "
                "Hint: the elements of an array are shredded alike; where they differ in type take variant"
            ),
        ),
        (
            '{"type":"object","fields":{"a.b":"array<strin>"}}',
            "expected a type, got 'strin' at character 7 of 'array<▸strin>' - at $['a.b']. Hint: did you mean string?",
        ),
        (
            '{"type":"object","fields":{"\\ud800":"int"}}',
            "expected a field name that is Unicode text, got '\\ud800' with a lone surrogate - at $",
        ),
        (
            '{"type":"object","fields":{"a":"int","a":"int"}}',
            (
                "expected a name that this object does not have yet, got '\"a\"' at character 38 of "
                '\'{"type":"object","fields":{"a":"int",▸"a":"int"}}\''
            ),
        ),
        ('{"type":"object"', "expected ',' or '}', got the end at character 17 of '{\"type\":\"object\"▸'"),
        ('{"type":"object",}', "expected a name in double quotes, got '}' at character 18 of '{\"type\":\"object\",▸}'"),
        ('{"type" "object"}', "expected ':', got '\"object\"' at character 9 of '{\"type\" ▸\"object\"}'"),
        ('["int",]', "expected a type's name in double quotes, '{' or '[', got ']' at character 8 of '[\"int\",▸]'"),
        ('["int"}', "expected ',' or ']', got '}' at character 7 of '[\"int\"▸}'"),
        ("[int]", "expected a type's name in double quotes, '{' or '[', got 'int' at character 2 of '[▸int]'"),
        ('"int', "expected a string as JSON has them, got '\"' at character 1 of '▸\"int'"),
        ('"in\\x"', "expected a string as JSON has them, got '\"in\\\\x\"' at character 1 of '▸\"in\\x\"'"),
        ('"int" "int"', 'expected the end, got \'"int"\' at character 7 of \'"int" ▸"int"\''),
        ("[", "expected a type's name in double quotes, '{' or '[', got the end at character 2 of '[▸'"),
    ],
)
def test_mistakes_in_json(text: str, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        ShreddingSchema.parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("source", "ddl"),
    [
        (None, "variant"),
        ("BIGINT", "bigint"),
        ("a int, b string", "a int, b string"),
        (pa.timestamp("us", "Europe/Berlin"), "timestamp"),
        (pa.struct([("a", pa.list_(pa.int8()))]), "a array<tinyint>"),
        (["struct<a: int>"], "array<struct<a: int>>"),
        ((pa.null(),), "array<variant>"),
        (
            {"b": None, "a": [{"c": pa.uuid()}], "d": ShreddingSchema.parse("x int")},
            "a array<struct<c: uuid>>, b variant, d struct<x: int>",
        ),
        (MappingProxyType({"a": collections.OrderedDict(b="int")}), "a struct<b: int>"),
    ],
)
def test_python_that_is_read(source: Any, ddl: str) -> None:
    assert ShreddingSchema.from_python(source) == ShreddingSchema.parse(ddl)


def test_a_container_may_occur_twice_but_not_in_itself() -> None:
    shared = {"x": "int"}
    assert ShreddingSchema.from_python({"a": shared, "b": [shared]}) == ShreddingSchema.parse("a struct<x: int>, b array<struct<x: int>>")
    ring: dict[str, Any] = {"x": "int"}
    ring["me"] = [ring]
    with pytest.raises(SchemaError, match=r"expected a tree, got a container that holds itself - at \$\.me\[\*\]"):
        ShreddingSchema.from_python(ring)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            {"a": int},
            (
                "expected a type's name, an Arrow type, a dict, a list of one or None, got type - at $.a. "
                'Hint: schemas look like {"a": "bigint", "tags": ["string"], "rest": None}'
            ),
        ),
        ({"a": 5}, "got int - at $.a"),
        ({"a": ["int", "string"]}, "expected a list of one, the type of the elements, got 2 of them - at $.a"),
        ({1: "int"}, "expected text as the name of a field, got 1 - at $"),
        ({"a": {"b": pa.uint8()}}, "got uint8: it has no unsigned integers - at $.a.b. Hint: take smallint"),
        ({"a": [pa.struct([("b", pa.float16())])]}, "got halffloat: its floating-point numbers have 32 or 64 bits - at $.a[*].b"),
        ({"a": {"b": "bigintt"}}, "expected a type, got 'bigintt' at character 1 of '▸bigintt' - at $.a.b. Hint: did you mean bigint?"),
    ],
)
def test_mistakes_in_python(source: Any, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        ShreddingSchema.from_python(source)
    assert message in str(caught.value)
