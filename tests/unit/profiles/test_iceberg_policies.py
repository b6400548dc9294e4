"""The edge cases that the tests of Iceberg's analyzer pin down: the same data, the same outcome.

`iceberg` is the analyzer as it is now (one family of types or nothing), `iceberg-1.11` as it was first shipped (the most common
type). Where nothing else is said, both give the same.
"""

from __future__ import annotations

import datetime
import itertools
import json
import random
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from variant_columns import nodes_column

import varquet as vq
from varquet.profiles.policies import Options, PolicyName, choose
from varquet.profiles.profiling import profile
from varquet.types import BY_NAME
from varquet.variant.model import Node, Scalar

BOTH: tuple[PolicyName, ...] = ("iceberg", "iceberg-1.11")


def column_of(values: list[Any]) -> pa.Array:
    rows = [None if value is None else vq.Variant.from_python(value) for value in values]
    return pa.array([None if row is None else {"metadata": row.metadata, "value": row.value} for row in rows], vq.VARIANT)


def texts(*rows: Any) -> pa.Array:
    return vq.parse_json(pa.array([row if row is None or isinstance(row, str) else json.dumps(row) for row in rows], pa.string()))


def chosen(column: pa.Array, policy: PolicyName, **options: Any) -> str:
    return choose(profile(column), policy, Options(**options)).schema.ddl()


def same(column: pa.Array, expected: str, **options: Any) -> None:
    assert [chosen(column, policy, **options) for policy in BOTH] == [expected, expected]


def scalar(name: str, value: Any) -> Scalar:
    return Scalar(BY_NAME[name], value)


def test_no_values_no_shredding() -> None:
    same(texts(), "variant")
    same(texts(None, None), "variant")
    same(texts("null", "null"), "variant")


def test_a_primitive_root() -> None:
    same(texts("1", "300", "null", None), "smallint")
    same(texts('"a"', '"b"'), "string")
    assert chosen(texts("1", "1", '"a"'), "iceberg") == "variant"
    assert chosen(texts("1", "1", '"a"'), "iceberg-1.11") == "tinyint"


def test_integers_take_the_widest_seen() -> None:
    same(texts({"a": 123}, {"a": 456}, {"a": 789}), "a smallint")
    same(texts({"a": 1}, {"a": 1 << 40}), "a bigint")
    same(texts({"a": 1}, {"a": 1 << 20}), "a int")


def test_true_and_false_are_one_type() -> None:
    same(texts({"a": True}, {"a": False}), "a boolean")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["123.45", "678.90"], "a decimal(5,2)"),
        (["123.4", "1.234567"], "a decimal(9,6)"),
        (["1" * 30 + ".5", "0." + "1" * 20], "a decimal(38,8)"),
        (["123456789012345678901234567890", "1.23456789012345678901"], "a decimal(38,8)"),
        (["1" * 20 + "." + "2" * 18], "a decimal(38,18)"),
        (["0.05"], "a decimal(2,2)"),
        (["1" * 19 + ".5"], "a decimal(20,1)"),
    ],
)
def test_decimals(values: list[str], expected: str) -> None:
    same(column_of([{"a": Decimal(value)} for value in values]), expected)


@pytest.mark.parametrize("policy", BOTH)
@pytest.mark.parametrize(
    ("digits", "scale", "physical", "size"),
    [
        (9, 0, "INT32", 0),
        (10, 0, "INT64", 0),
        (18, 0, "INT64", 0),
        (19, 0, "FIXED_LEN_BYTE_ARRAY", 9),
        (20, 0, "FIXED_LEN_BYTE_ARRAY", 9),
        (28, 0, "FIXED_LEN_BYTE_ARRAY", 12),
        (33, 0, "FIXED_LEN_BYTE_ARRAY", 14),
        (38, 0, "FIXED_LEN_BYTE_ARRAY", 16),
        (38, 18, "FIXED_LEN_BYTE_ARRAY", 16),
    ],
)
def test_decimals_have_the_fewest_bytes_in_a_file(
    policy: PolicyName, digits: int, scale: int, physical: str, size: int, tmp_path: Path
) -> None:
    """A decimal of P digits is an INT32 up to 9, an INT64 up to 18, else as many fixed bytes as P digits need."""
    value = Decimal((0, (1, *[0] * (digits - 2), 1), -scale))
    column = column_of([{"val": value}])
    schema = choose(profile(column), policy).schema
    assert schema.ddl() == f"val decimal({digits},{scale})"
    vq.write(pa.table({"v": column}), tmp_path / "v.parquet", {"v": schema})
    leaves = {leaf.path: leaf for leaf in pq.ParquetFile(tmp_path / "v.parquet").schema}
    leaf = leaves["v.typed_value.val.typed_value"]
    assert (leaf.physical_type, max(leaf.length, 0)) == (physical, size)
    assert json.loads(leaf.logical_type.to_json()) == {"Type": "Decimal", "precision": digits, "scale": scale}
    back = vq.read(tmp_path / "v.parquet")["v"]
    assert vq.extract(back, "$.val", pa.decimal128(38, scale)).to_pylist() == [value]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, Decimal("1.5")),
        (datetime.datetime(2025, 1, 1), datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)),
        (vq.Timestamp(1, "us", True), vq.Timestamp(1, "ns", True)),
        ("1", 1),
        ({"x": 1}, [1]),
        ({"x": 1}, "x"),
        ([1], "x"),
    ],
)
def test_what_is_mixed(one: Any, other: Any) -> None:
    """Uniform: nothing. Majority: the one that there are more of, whichever that is."""
    for more, less in ((one, other), (other, one)):
        column = column_of([{"a": more, "b": 1}, {"a": more, "b": 1}, {"a": less, "b": 1}])
        assert chosen(column, "iceberg") == "b tinyint"
        assert chosen(column, "iceberg-1.11") == chosen(column_of([{"a": more, "b": 1}] * 3), "iceberg") != "b tinyint"


@pytest.mark.parametrize(("counts", "majority"), [((2, 1), "float"), ((1, 2), "double"), ((1, 1), "double")])
def test_floats_and_doubles_are_mixed(counts: tuple[int, int], majority: str) -> None:
    """No family, unlike integers and decimals: neither is promoted to the other."""
    floats, doubles = counts
    values = [scalar("float", 1.5)] * floats + [scalar("double", 2.5)] * doubles
    column = nodes_column([{"a": value, "b": scalar("int8", 1)} for value in values])
    assert chosen(column, "iceberg") == "b tinyint"
    assert chosen(column, "iceberg-1.11") == f"a {majority}, b tinyint"
    root = nodes_column(list(values))
    assert [chosen(root, policy) for policy in BOTH] == ["variant", majority]


def test_a_field_of_objects_and_texts() -> None:
    """Uniform: no column, not even for what is in the objects; majority: the objects' fields, unless there are as many texts."""
    column = texts({"a": {"x": 1}, "b": 1}, {"a": {"x": 2}, "b": 1}, {"a": "gone", "b": 1})
    assert chosen(column, "iceberg") == "b tinyint"
    assert chosen(column, "iceberg-1.11") == "a struct<x: tinyint>, b tinyint"
    even = texts({"a": {"x": 1}, "b": 1}, {"a": "gone", "b": 1})
    assert chosen(even, "iceberg") == "b tinyint"
    assert chosen(even, "iceberg-1.11") == "a string, b tinyint"


TIE_ORDER: dict[str, Node] = {
    "array": [scalar("int8", 1)],
    "object": {"x": scalar("int8", 1)},
    "boolean": scalar("true", True),
    "int8": scalar("int8", 1),
    "int16": scalar("int16", 1),
    "int32": scalar("int32", 1),
    "int64": scalar("int64", 1),
    "float": scalar("float", 1.0),
    "double": scalar("double", 1.0),
    "decimal4": scalar("decimal4", Decimal("1.5")),
    "decimal8": scalar("decimal8", Decimal("1234567890.12")),
    "decimal16": scalar("decimal16", Decimal("12345678901234567890.123")),
    "date": scalar("date", 1),
    "time": scalar("time", 1),
    "timestamp": scalar("timestamp", 1),
    "timestamp_ntz": scalar("timestamp_ntz", 1),
    "binary": scalar("binary", b"x"),
    "string": scalar("string", "x"),
    "timestamp_nanos": scalar("timestamp_nanos", 1),
    "timestamp_ntz_nanos": scalar("timestamp_ntz_nanos", 1),
    "uuid": scalar("uuid", uuid.UUID(int=1)),
}
"""From the weakest to the strongest. Iceberg leaves a tie of objects and arrays to chance; here objects win it."""

FAMILIES = (("int8", "int16", "int32", "int64"), ("decimal4", "decimal8", "decimal16"))


@pytest.mark.parametrize(("weaker", "stronger"), list(itertools.combinations(TIE_ORDER, 2)))
def test_ties_go_by_a_fixed_order(weaker: str, stronger: str) -> None:
    """Of types that are as common as each other the stronger one wins; members of one family become its widest, however many."""
    low, high = TIE_ORDER[weaker], TIE_ORDER[stronger]
    are_family = any(weaker in family and stronger in family for family in FAMILIES)
    wins = {policy: chosen(nodes_column([high]), policy) for policy in BOTH}
    loses = {policy: chosen(nodes_column([low]), policy) for policy in BOTH}
    assert wins["iceberg"] == wins["iceberg-1.11"] != loses["iceberg"]
    for tie in ([low, high], [high, low], [low, high, high, low]):
        assert chosen(nodes_column(tie), "iceberg-1.11") == wins["iceberg-1.11"]
        assert chosen(nodes_column(tie), "iceberg") == (wins["iceberg"] if are_family else "variant")
    more = nodes_column([low, low, high])
    assert chosen(more, "iceberg-1.11") == (wins if are_family else loses)["iceberg-1.11"]
    assert chosen(more, "iceberg") == (wins["iceberg"] if are_family else "variant")


@pytest.mark.parametrize("width", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("digits", ["decimal4", "decimal8", "decimal16"])
def test_families_count_together_before_they_compete(width: str, digits: str) -> None:
    """Two integers of different widths are more than one date; as many decimals of two widths win the tie against them."""
    integers = [scalar("int8", 1), TIE_ORDER[width]]
    assert chosen(nodes_column([*integers, scalar("uuid", uuid.UUID(int=1))]), "iceberg-1.11") == chosen(nodes_column(integers), "iceberg")
    decimals = [scalar("decimal4", Decimal("1.5")), TIE_ORDER[digits]]
    both = nodes_column([*integers, *decimals])
    assert chosen(both, "iceberg-1.11") == chosen(nodes_column(decimals), "iceberg")
    assert chosen(both, "iceberg") == "variant"


def test_rare_fields_are_pruned_and_a_tenth_survives() -> None:
    rows = [{"always": 1, **({"five": 1} if n < 5 else {}), **({"ten": 1} if n < 10 else {})} for n in range(100)]
    same(texts(*rows), "always tinyint, ten tinyint")
    same(texts(*rows), "always tinyint, five tinyint, ten tinyint", min_field_frequency=0.05)


def test_nulls_are_not_counted() -> None:
    rows = [{"a": None if n >= 5 else 1, "b": 1} for n in range(100)]
    same(texts(*rows), "b tinyint")
    same(texts({"a": None, "b": 1}, {"a": 2, "b": 1}), "a tinyint, b tinyint")
    same(texts({"a": None, "b": 1}), "b tinyint")


def test_the_denominator_is_the_root_at_every_depth() -> None:
    rows = [{"o": {"x": 1, **({"y": 1} if n < 3 else {})}, "l": [{"p": 1, **({"q": 1} if n < 3 else {})}]} for n in range(100)]
    same(texts(*rows), "l array<struct<p: tinyint>>, o struct<x: tinyint>")
    few = [{"o": {"x": 1}} if n < 20 else {"b": 1} for n in range(100)]
    same(texts(*few), "b tinyint, o struct<x: tinyint>")
    fewer = [{"o": {"x": 1} if n < 9 else {"y": 1}} for n in range(100)]
    same(texts(*fewer), "o struct<y: tinyint>")


def test_elements_count_each() -> None:
    """2 rows of 100 have an array of 500 objects, the others an empty one: its elements are a thousand, and their field survives."""
    long = [[{"key": j} for j in range(500)]] * 2
    same(texts(*long, *[[]] * 98), "array<struct<key: smallint>>")
    # Below a field the array is as rare as its rows, however long it is.
    same(texts(*({"a": one, "b": 1} for one in long), *[{"b": 1}] * 98), "b tinyint")
    same(texts(*({"a": one, "b": 1} for one in long), *[{"a": [], "b": 1}] * 98), "a array<struct<key: smallint>>, b tinyint")


def test_elements_count_each_also_where_they_are_mixed() -> None:
    """What 1.11 tested: the other rows have a text instead. There are more objects; but they are not all of one family."""
    column = texts(*[[{"key": j} for j in range(500)]] * 2, *[["no_key"]] * 98)
    assert chosen(column, "iceberg-1.11") == "array<struct<key: smallint>>"
    assert chosen(column, "iceberg") == "variant"


def test_empty_objects_and_arrays() -> None:
    same(texts({"a": {}, "b": 1}, {"a": {}, "b": 1}), "b tinyint")
    same(texts({"a": [], "b": 1}, {"a": [], "b": 1}), "b tinyint")
    same(texts({"a": [], "b": 1}, {"a": [1], "b": 1}), "a array<tinyint>, b tinyint")
    same(texts({}, {}), "variant")


def test_roots_that_are_empty() -> None:
    same(texts([], [], []), "variant")
    same(texts([]), "variant")
    same(texts([[]], [[], []]), "variant")
    same(texts([], [1], None, "null"), "array<tinyint>")
    same(texts([None], []), "variant")
    same(texts([{}], [{}]), "variant")
    for empty in ({}, []):
        column = texts("1", "2", empty)
        assert chosen(column, "iceberg") == "variant"
        assert chosen(column, "iceberg-1.11") == "tinyint"
    # An empty root wins by its number, and has nothing to shred.
    assert chosen(texts([], [], "1"), "iceberg-1.11") == "variant"


def test_mixed_elements() -> None:
    column = texts({"a": [1, "x", 1], "b": 1})
    assert chosen(column, "iceberg") == "b tinyint"
    assert chosen(column, "iceberg-1.11") == "a array<tinyint>, b tinyint"


def test_depth() -> None:
    objects: Any = {"leaf": 1}
    for _ in range(54):
        objects = {"leaf": 1, "next": objects}
    for policy in BOTH:
        schema = choose(profile(texts(objects)), policy).schema
        assert schema.depth == 50
    arrays: Any = 1
    for _ in range(5):
        arrays = [arrays]
    same(texts({"a": arrays, "b": 1}), "a array<array<array<array<array<tinyint>>>>>, b tinyint")
    for _ in range(50):
        arrays = [arrays]
    same(texts(arrays), "variant")


def test_at_most_300_fields_ties_by_name() -> None:
    row = {f"field_{n:04}": n for n in range(1500)}
    for policy in BOTH:
        schema = choose(profile(texts(row)), policy).schema
        assert [name for name, _ in schema.fields] == [f"field_{n:04}" for n in range(300)]
    rows = [row, {"field_1400": 1}]
    for policy in BOTH:
        names = [name for name, _ in choose(profile(texts(*rows)), policy).schema.fields]
        assert names == [*(f"field_{n:04}" for n in range(299)), "field_1400"]


def test_names_that_are_known_before_there_are_too_many_are_still_counted() -> None:
    """Ten of 1,500 names of the first row come again, as a text and as a number."""
    names = [f"field_{n:04}" for n in range(1500)]
    rows = [dict.fromkeys(names, 42), dict.fromkeys(names[:10], "text"), dict.fromkeys(names[:10], 99)]
    for order in itertools.permutations(rows):
        column = texts(*order)
        majority = choose(profile(column), "iceberg-1.11").schema
        assert [(name, leaf.ddl()) for name, leaf in majority.fields] == [(name, "tinyint") for name in names[:300]]
        # The ten are the most frequent: they keep their places among the 300, and then have no type.
        uniform = choose(profile(column), "iceberg").schema
        assert [(name, leaf.ddl()) for name, leaf in uniform.fields] == [(name, "tinyint") for name in names[10:300]]


def test_pruning_comes_before_types() -> None:
    """A field of mixed types takes its place among the 300, and is dropped then."""
    rows = [{"mixed": 1, **{f"n{k}": 1 for k in range(3)}}, {"mixed": "x", **{f"n{k}": 1 for k in range(3)}}]
    assert chosen(texts(*rows), "iceberg", max_shredded_fields=3) == "n0 tinyint, n1 tinyint"


def test_uuids_are_tracked() -> None:
    same(column_of([{"a": uuid.UUID(int=1)}, {"a": uuid.UUID(int=2)}]), "a uuid")


@pytest.mark.parametrize("policy", ["iceberg", "iceberg-1.11", "spark", "varquet"])
def test_any_order_of_rows(policy: PolicyName) -> None:
    """What the analyzer promises below 1,000 names of an object, and gives up above: here with 12,000."""
    choice = random.Random(1)
    rows = [
        {"id": n, f"data {n}": n, "v": choice.choice([1, 2.5, "x", None]), **({f"often {n % 7}": 1} if n % 2 else {})}
        for n in range(12_000)
    ]
    lines = [json.dumps(row) for row in rows]
    expected = chosen(texts(*lines), policy)
    assert "id" in expected
    for _ in range(2):
        choice.shuffle(lines)
        assert chosen(texts(*lines), policy) == expected
