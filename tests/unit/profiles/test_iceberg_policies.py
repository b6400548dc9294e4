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
from typing import Any

import pyarrow as pa
import pytest

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
        (["1" * 20 + "." + "2" * 18], "a decimal(38,18)"),
        (["0.05"], "a decimal(2,2)"),
        (["1" * 19 + ".5"], "a decimal(20,1)"),
    ],
)
def test_decimals(values: list[str], expected: str) -> None:
    same(column_of([{"a": Decimal(value)} for value in values]), expected)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, Decimal("1.5")),
        (datetime.datetime(2025, 1, 1), datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)),
        (vq.Timestamp(1, "us", True), vq.Timestamp(1, "ns", True)),
        ("1", 1),
        ({"x": 1}, [1]),
    ],
)
def test_what_is_mixed(one: Any, other: Any) -> None:
    """Uniform: nothing. Majority: the one that there are more of."""
    column = column_of([{"a": one, "b": 1}, {"a": one, "b": 1}, {"a": other, "b": 1}])
    assert chosen(column, "iceberg") == "b tinyint"
    assert chosen(column, "iceberg-1.11") == chosen(column_of([{"a": one, "b": 1}] * 3), "iceberg")


def test_ties_go_by_a_fixed_order() -> None:
    """Of types that are as common as each other the stronger one wins; objects and arrays lose to all."""
    order: list[Node] = [
        {"x": Scalar(BY_NAME["int8"], 1)},
        Scalar(BY_NAME["true"], True),
        *(Scalar(BY_NAME[name], 1) for name in ("int8",)),
        Scalar(BY_NAME["float"], 1.0),
        Scalar(BY_NAME["double"], 1.0),
        Scalar(BY_NAME["decimal4"], Decimal("1.5")),
        Scalar(BY_NAME["date"], 1),
        Scalar(BY_NAME["time"], 1),
        Scalar(BY_NAME["timestamp"], 1),
        Scalar(BY_NAME["timestamp_ntz"], 1),
        Scalar(BY_NAME["binary"], b"x"),
        Scalar(BY_NAME["string"], "x"),
        Scalar(BY_NAME["timestamp_nanos"], 1),
        Scalar(BY_NAME["timestamp_ntz_nanos"], 1),
        Scalar(BY_NAME["uuid"], uuid.UUID(int=1)),
    ]
    from variant_columns import nodes_column

    for weaker, stronger in itertools.pairwise(order):
        alone = chosen(nodes_column([stronger]), "iceberg-1.11")
        assert chosen(nodes_column([weaker, stronger]), "iceberg-1.11") == alone
        assert chosen(nodes_column([stronger, weaker]), "iceberg-1.11") == alone
        assert chosen(nodes_column([weaker, weaker, stronger]), "iceberg-1.11") == chosen(nodes_column([weaker]), "iceberg-1.11")


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
    """2 rows of 100 have the array, with 500 elements each: its fields survive, it does not (a field counts by itself)."""
    rows = [{"a": [{"x": 1}] * 500, "b": 1} if n < 20 else {"b": 1} for n in range(100)]
    same(texts(*rows), "a array<struct<x: tinyint>>, b tinyint")


def test_empty_objects_and_arrays() -> None:
    same(texts({"a": {}, "b": 1}, {"a": {}, "b": 1}), "b tinyint")
    same(texts({"a": [], "b": 1}, {"a": [], "b": 1}), "b tinyint")
    same(texts({"a": [], "b": 1}, {"a": [1], "b": 1}), "a array<tinyint>, b tinyint")
    same(texts({}, {}), "variant")


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
