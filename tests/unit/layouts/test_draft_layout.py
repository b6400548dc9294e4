"""The layout of the first Spark draft: its own examples to the letter, and each of its rules."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from kernel_builds import BUILDS, using
from variant_columns import column_of, nodes_column, rows_of

import varquet as vq
from varquet.errors import InvalidVariantError, SchemaError, UnsupportedTypeError
from varquet.variant import decode, encode, parse_json
from varquet.variant import to_json as node_to_json
from varquet.variant.metadata import Metadata
from varquet.variant.model import NULL, Node

NO_NAMES = b"\x01\x00\x00"


@pytest.fixture(autouse=True, params=[build for build in BUILDS if build != "interpreted"])
def _on_build(request: pytest.FixtureRequest) -> Any:
    with using(request.param):
        yield


def variants(*texts: str | None) -> pa.Array:
    return vq.parse_json(pa.array(texts, pa.string()))


def untyped(text: str) -> bytes:
    """A value with its own dictionary before it."""
    return b"".join(encode(parse_json(text)))


def read_alone(octets: bytes | None) -> str | None:
    """What an untyped_value says by itself: the metadata ends where its last offset says."""
    if octets is None:
        return None
    width = (octets[0] >> 6) + 1
    count = int.from_bytes(octets[1 : 1 + width], "little")
    behind = 1 + (count + 2) * width
    behind += int.from_bytes(octets[behind - width : behind], "little")
    return node_to_json(decode(octets[:behind], octets[behind:]))


def texts(column: pa.Array | pa.ChunkedArray) -> list[str | None]:
    return vq.to_json(column).to_pylist()


# The draft's examples

SIX_VALUES = [
    # (value, untyped_value at the top, b.untyped_value, which is non-null in a, which in b.c)
    ('{"a": 123, "b": {"c": "hello"}}', None, None, "typed_value", "typed_value"),
    ('{"a": 1.23, "b": {"c": "123"}}', None, None, "untyped_value", "typed_value"),
    ('{"a": [1,2,3], "b": {"c": null}}', None, None, "untyped_value", "untyped_value"),
    ('{"a": 123, "c": 456}', '{"c":456}', None, "typed_value", None),
    ('{"a": 123, "b": {"c": "hello", "d": 456}}', None, '{"d":456}', "typed_value", "typed_value"),
    (
        '[{"a": 1, "b": {"c": 2}}, {"a": 3, "b": {"c": 4}}]',
        '[{"a":1,"b":{"c":2}},{"a":3,"b":{"c":4}}]',
        None,
        None,
        None,
    ),
]


def test_the_table_of_six_values() -> None:
    column = variants(*(row[0] for row in SIX_VALUES))
    shredded = vq.shred(column, "a bigint, b struct<c: string>", layout="draft")
    group = pa.struct([("untyped_value", pa.binary()), ("typed_value", pa.string())])
    assert shredded.type == pa.struct(
        [
            ("untyped_value", pa.binary()),
            (
                "object",
                pa.struct(
                    [
                        ("a", pa.struct([("untyped_value", pa.binary()), ("typed_value", pa.int64())])),
                        ("b", pa.struct([("untyped_value", pa.binary()), ("object", pa.struct([("c", group)]))])),
                    ]
                ),
            ),
        ]
    )
    found = []
    for row in shredded.to_pylist():
        fields = row["object"] or {"a": None, "b": None}
        b = fields["b"] or {"untyped_value": None, "object": None}
        found.append(
            (
                read_alone(row["untyped_value"]),
                read_alone(b["untyped_value"]),
                _non_null(fields["a"]),
                _non_null((b["object"] or {"c": None})["c"]),
            )
        )
    assert found == [row[1:] for row in SIX_VALUES]
    assert texts(vq.unshred(shredded)) == texts(column)


def _non_null(group: dict[str, Any] | None) -> str | None:
    present = [name for name, value in (group or {}).items() if value is not None]
    assert len(present) <= 1
    return present[0] if present else None


NESTED = "array<struct<a: array<bigint>, b: bigint>>"


def test_the_nested_example() -> None:
    full = '[{"a":[1,2,3],"b":100},{"a":[4,5,6],"b":200}]'
    partial = '[{"a":[1,2,3],"b":100,"c":"unexpected"},{"a":[4,5,6],"b":200},"not an object"]'
    shredded = vq.shred(variants(full, partial), NESTED, layout="draft")
    integer = pa.struct([("untyped_value", pa.binary()), ("typed_value", pa.int64())])
    integers = pa.struct([("untyped_value", pa.binary()), ("array", pa.list_(pa.field("element", integer)))])
    element = pa.struct([("untyped_value", pa.binary()), ("object", pa.struct([("a", integers), ("b", integer)]))])
    assert shredded.type == pa.struct([("untyped_value", pa.binary()), ("array", pa.list_(pa.field("element", element)))])
    rows = shredded.to_pylist()
    assert [read_alone(each["untyped_value"]) for each in rows[0]["array"]] == [None, None]
    assert [read_alone(each["untyped_value"]) for each in rows[1]["array"]] == ['{"c":"unexpected"}', None, '"not an object"']
    assert [row["untyped_value"] for row in rows] == [None, None]
    assert texts(vq.unshred(shredded)) == [full, partial]


@pytest.mark.parametrize("text", ['{"a":[1]}', '"x"', "null", "{}"])
def test_a_value_that_is_no_array_stays_whole(text: str) -> None:
    """The draft's remarks on its nested example."""
    (row,) = vq.shred(variants(text), NESTED, layout="draft").to_pylist()
    assert row["array"] is None and read_alone(row["untyped_value"]) == text
    (row,) = vq.shred(variants(f'[{{"a":{text}}}]'), NESTED, layout="draft").to_pylist()
    assert read_alone(row["array"][0]["object"]["a"]["untyped_value"]) == text


def test_the_boundary_between_metadata_and_value() -> None:
    """One name of two bytes: six bytes of metadata, the rest is the value."""
    octets = bytes.fromhex("01 01 00 02") + b"hi" + encode({"hi": NULL})[1]
    column = pa.array([{"untyped_value": octets}])
    assert texts(vq.unshred(column)) == ['{"hi":null}']
    assert rows_of(vq.unshred(column))[0] == encode({"hi": NULL})


# What a writer does


def test_every_untyped_value_has_the_names_it_uses_and_no_others() -> None:
    column = variants('{"a": {"x": 1}, "b": {"y": {"z": 2, "x": 3}}, "c": 5, "d": {"w": 1}}')
    (row,) = vq.shred(column, "a bigint, b variant, c string", layout="draft").to_pylist()
    found = {name: row["object"][name]["untyped_value"] for name in "abc"} | {"": row["untyped_value"]}
    names = {}
    for place, octets in found.items():
        metadata = encode(parse_json(read_alone(octets) or ""))[0]
        assert octets.startswith(metadata)
        names[place] = _names(metadata)
    assert names == {"a": ["x"], "b": ["x", "y", "z"], "c": [], "": ["d", "w"]}


def _names(metadata: bytes) -> list[str]:
    dictionary = Metadata(metadata)
    return [dictionary.name(number) for number in range(len(dictionary))]


@pytest.mark.parametrize(
    ("text", "ddl", "typed"),
    [
        ("123", "decimal(9,2)", True),
        ("1.23", "bigint", False),
        ("1.00", "int", True),
        ("1.5", "double", False),
        ("1e0", "bigint", False),
        ('"123"', "bigint", False),
        ("300", "tinyint", False),
        ("12345678901234567890", "decimal(20,0)", True),
        ("true", "boolean", True),
        ("null", "string", False),
    ],
)
def test_numbers_widen_and_nothing_else_is_cast(text: str, ddl: str, typed: bool) -> None:
    """D11."""
    shredded = vq.shred(variants(text), ddl, layout="draft")
    (row,) = shredded.to_pylist()
    assert (row["typed_value"] is not None) == typed == (row["untyped_value"] is None)
    back = vq.unshred(shredded)
    assert decode(*rows_of(back)[0]) == decode(*rows_of(vq.unshred(vq.shred(variants(text), ddl)))[0])


def test_missing_null_and_sql_null() -> None:
    column = variants('{"a":null}', "{}", None, "null", '{"a":{}}')
    shredded = vq.shred(column, "a struct<x: int>", layout="draft")
    assert texts(vq.unshred(shredded)) == ['{"a":null}', "{}", None, "null", '{"a":{}}']
    rows = shredded.to_pylist()
    assert rows[0]["object"]["a"] == {"untyped_value": NO_NAMES + b"\x00", "object": None}
    assert rows[1] == {"untyped_value": None, "object": {"a": {"untyped_value": None, "object": None}}}
    assert rows[2] is None
    assert rows[3] == {"untyped_value": NO_NAMES + b"\x00", "object": None}
    assert rows[4]["object"]["a"]["object"] == {"x": {"untyped_value": None, "typed_value": None}}


# What a reader takes


def test_columns_may_be_omitted() -> None:
    """D6."""
    typed = pa.array([{"object": {"a": {"typed_value": 1}}}, {"object": {"a": {"typed_value": None}}}, {"object": None}, None])
    assert texts(vq.unshred(typed)) == ['{"a":1}', "{}", "null", None]
    group = pa.struct([("untyped_value", pa.binary())])
    kind = pa.struct([("object", pa.struct([("a", group), ("b", group)]))])
    rest = pa.array([{"object": {"a": {"untyped_value": untyped('{"x":[1]}')}, "b": None}}], kind)
    assert texts(vq.unshred(rest)) == ['{"a":{"x":[1]}}']


def test_a_null_group_is_a_missing_field() -> None:
    """D7: the groups of fields are optional."""
    group = pa.struct([("untyped_value", pa.binary()), ("typed_value", pa.int64())])
    kind = pa.struct([("untyped_value", pa.binary()), ("object", pa.struct([("a", group), ("b", group)]))])
    column = pa.array([{"object": {"a": None, "b": {"typed_value": 1}}}], kind)
    assert texts(vq.unshred(column)) == ['{"b":1}']


def test_missing_elements_and_columns_are_variant_nulls() -> None:
    group = pa.struct([("untyped_value", pa.binary()), ("typed_value", pa.int64())])
    kind = pa.struct([("untyped_value", pa.binary()), ("array", pa.list_(group))])
    column = pa.array([{"array": [None, {"typed_value": 1}, {}]}, {"array": []}, {}, None], kind)
    assert texts(vq.unshred(column)) == ["[null,1,null]", "[]", "null", None]


def test_a_group_may_have_a_column_for_each_type() -> None:
    """D17: object, array and typed_value side by side, of which one is non-null at most; at any depth."""
    inner = pa.struct(
        [("untyped_value", pa.binary()), ("array", pa.list_(pa.struct([("typed_value", pa.int64())]))), ("typed_value", pa.string())]
    )
    kind = pa.struct(
        [
            ("typed_value", pa.bool_()),
            ("untyped_value", pa.binary()),
            ("array", pa.list_(inner)),
            ("object", pa.struct([("a", inner), ("n", inner)])),
        ]
    )
    rows: list[Any] = [
        {"typed_value": True},
        {"array": [{"typed_value": "x"}, {"array": [{"typed_value": 1}]}, {"untyped_value": untyped('{"q":{"n":2}}')}]},
        {"object": {"a": {"array": []}, "n": {"typed_value": "y"}}, "untyped_value": untyped('{"z":1}')},
        {"untyped_value": untyped('[{"a":1}]')},
        {},
        None,
    ]
    column = pa.array(rows, kind)
    assert texts(vq.unshred(column)) == [
        "true",
        '["x",[1],{"q":{"n":2}}]',
        '{"a":[],"n":"y","z":1}',
        '[{"a":1}]',
        "null",
        None,
    ]
    assert vq.ShreddingSchema.from_draft(kind).ddl() == "a array<bigint>, n array<bigint>"
    for both in ({"typed_value": True, "array": []}, {"array": [], "untyped_value": untyped("1")}):
        with pytest.raises(InvalidVariantError, match="at row 1"):
            vq.unshred(pa.array([{}, both], kind))


def test_a_missing_field_may_stand_in_the_untyped_value() -> None:
    """The draft's pseudo code; a shredded field that is there wins."""
    group = pa.struct([("untyped_value", pa.binary()), ("typed_value", pa.int64())])
    kind = pa.struct([("untyped_value", pa.binary()), ("object", pa.struct([("a", group)]))])
    rest = untyped('{"a":"residual","b":2}')
    column = pa.array([{"untyped_value": rest, "object": {"a": None}}, {"untyped_value": rest, "object": {"a": {"typed_value": 1}}}], kind)
    assert texts(vq.unshred(column)) == ['{"a":"residual","b":2}', '{"a":1,"b":2}']
    with pytest.raises(InvalidVariantError, match="W11"):
        vq.unshred(column, strict=True)


def test_fields_with_an_underscore_are_ignored() -> None:
    """D15."""
    kind = [
        ("_metadata_key_paths", pa.list_(pa.string())),
        ("_spark_x", pa.int8()),
        ("typed_value", pa.int8()),
        ("untyped_value", pa.binary()),
    ]
    column = pa.array([{"_metadata_key_paths": ["x"], "_spark_x": 1, "typed_value": 5, "untyped_value": None}], pa.struct(kind))
    assert texts(vq.unshred(column)) == ["5"]


def test_a_plain_variant_is_still_read() -> None:
    """D14."""
    column = variants('{"a":1}', None)
    assert rows_of(vq.unshred(column)) == rows_of(column)
    assert rows_of(vq.unshred(column, layout="parquet")) == rows_of(column)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (pa.struct([("typed_value", pa.int64()), ("extra", pa.int64())]), r"got 'extra' \(D16\)"),
        (pa.struct([("object", pa.struct([("a", pa.struct([("value", pa.binary())]))]))]), r"got 'value' \(D16\) - at \$\.a"),
        (pa.struct([("object", pa.int64())]), r"expected object to be a group, got int64 \(D3\)"),
        (pa.struct([("array", pa.int64())]), r"expected array to be a list, got int64 \(D2\)"),
        (
            pa.struct([("array", pa.list_(pa.int64()))]),
            r"expected a group of object, array, typed_value and untyped_value, got int64 \(D1\)",
        ),
        (pa.struct([("typed_value", pa.list_(pa.int64()))]), r"expected typed_value to be of a primitive type"),
        (pa.struct([("typed_value", pa.uint8())]), "uint8"),
        (pa.struct([("untyped_value", pa.string())]), "expected untyped_value to be binary, got string"),
        (pa.struct([("_x", pa.int64())]), r"expected at least one of"),
    ],
    ids=str,
)
def test_types_that_are_refused(kind: pa.DataType, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        vq.unshred(pa.nulls(1, kind), layout="draft")


def test_both_typed_and_untyped_are_refused() -> None:
    """D5: the table counts, not the pseudo code that lets a Variant null through."""
    for both in (untyped("1"), untyped("null")):
        with pytest.raises(InvalidVariantError, match="got both"):
            vq.unshred(pa.array([{"typed_value": 1, "untyped_value": both}]))


def test_an_untyped_value_beside_an_object_must_be_one() -> None:
    """D17."""
    with pytest.raises(InvalidVariantError, match="W13"):
        vq.unshred(pa.array([{"object": {"a": {"typed_value": 1}}, "untyped_value": untyped("1")}]))


@pytest.mark.parametrize(
    "octets", [b"", b"\x01", b"\x02\x00\x00\x00", NO_NAMES, NO_NAMES + b"\x0c", b"\x01\x05\x00", NO_NAMES + b"\x02\x01\x00\x00\x01\x00"]
)
def test_damaged_untyped_values(octets: bytes) -> None:
    with pytest.raises(InvalidVariantError, match="at row 1"):
        vq.unshred(pa.array([{"untyped_value": untyped("1")}, {"untyped_value": octets}]))


def test_a_layout_that_nobody_knows() -> None:
    with pytest.raises(UnsupportedTypeError, match="expected a layout, got 'paths'. Hint: they are 'parquet', 'draft'"):
        vq.shred(variants("1"), "int", layout="paths")  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="expected only metadata, value and typed_value in a group, got 'x'"):
        vq.unshred(pa.array([{"x": 1}]))


def test_rows_of_many_names() -> None:
    """More names than rows share, in one value and over many."""
    nodes: list[Node] = [{f"k{row}_{name}": {f"n{name}": NULL} for name in range(40)} for row in range(30)]
    nodes.append({f"w{name:05}": NULL for name in range(3000)})
    column = nodes_column(nodes)
    for ddl in ("variant", "k3_3 variant, w00007 int", "k5_5 struct<n5: int>"):
        back = vq.unshred(vq.shred(column, ddl, layout="draft"))
        assert texts(back) == texts(column)
        vq.validate(back, strict=True)


def test_dictionaries_that_are_not_sorted_or_have_a_name_twice() -> None:
    twice = bytes.fromhex("01 03 00 01 02 03") + b"bab"
    inner = bytes((2, 1, 0, 0, 1, 0))
    column = column_of([(twice, bytes((2, 2, 1, 2, 0, 1, 7, 0)) + inner)])
    vq.validate(column)
    shredded = vq.shred(column, "variant", layout="draft")
    assert texts(vq.unshred(shredded)) == texts(column)
    vq.validate(vq.unshred(shredded), strict=True)
