"""The default policy: what saves most, with conflicts tolerated and named, within a budget, and by hints."""

from __future__ import annotations

import datetime
import json
import uuid
from typing import Any

import pyarrow as pa
import pytest

import varquet as vq
from varquet.errors import UnsupportedTypeError
from varquet.profiles.policies import Decision, Options, with_hints


def column(*rows: Any) -> pa.Array:
    return vq.parse_json(pa.array([json.dumps(row) for row in rows]))


def chosen(values: pa.Array, options: Options | None = None) -> str:
    return vq.choose(vq.profile(values), options=options).schema.ddl()


def decision(values: pa.Array, path: str, options: Options | None = None) -> Decision:
    return next(one for one in vq.choose(vq.profile(values), options=options).decisions if one.path == path)


def test_types_that_one_more_value_does_not_change() -> None:
    assert chosen(column({"a": 1}, {"a": 2})) == "a bigint"
    assert chosen(vq.parse_json(pa.array(['{"a":1.5}', '{"a":22.25}']))) == "a decimal(18,2)"
    assert chosen(vq.parse_json(pa.array(['{"a":1}', '{"a":22.25}']))) == "a decimal(18,2)"
    assert chosen(vq.parse_json(pa.array(['{"a":1234567890123456789}', '{"a":22.25}']))) == "a decimal(38,2)"
    assert chosen(vq.parse_json(pa.array(['{"a":1.5}', '{"a":1e0}', '{"a":2e0}']))) == "a double"


def test_rare_conflicts_are_tolerated_and_said() -> None:
    values = column(*[{"a": 1}] * 97, *[{"a": "x"}] * 3)
    found = decision(values, "$.a")
    assert (found.chosen, found.type, found.frequency, found.typed_share) == (True, "bigint", 1.0, 0.97)
    assert found.reason == "97.0% of its values; the rest stays in the residual: int8 97, string 3"
    assert chosen(column({"a": 1}, {"a": "x"}, {"a": [1]})) == "variant"
    assert decision(column({"a": 1}, {"a": "x"}, {"a": [1]}), "$.a").reason.startswith("no type has 50% of the values: ")


def test_what_is_below_an_unshredded_path_is_not_shredded() -> None:
    values = column({"a": {"x": 1}}, {"a": 1}, {"a": "x"})
    assert decision(values, "$.a.x").reason == "below a path that is not shredded"
    assert not decision(values, "$.a.x").chosen


def test_names_that_are_data_are_named_so() -> None:
    values = column(*({"m": {f"id {n}": n, "usual": 1}, "n": 1} for n in range(300)))
    options = Options()
    found = vq.choose(vq.profile(values, most_names=50), options=options)
    assert found.schema.ddl() == "m struct<usual: bigint>, n bigint"
    (others,) = [one for one in found.decisions if one.path == "$.m.*"]
    assert others.reason == "names that are data, none of them frequent"


def test_what_spark_cannot_read_stays_unshredded_unless_it_need_not() -> None:
    rows = [vq.Variant.from_python({"at": datetime.time(1), "id": uuid.UUID(int=n), "n": n}) for n in range(3)]
    values = pa.array([{"metadata": row.metadata, "value": row.value} for row in rows], vq.VARIANT)
    assert chosen(values) == "n bigint"
    assert decision(values, "$.id").reason == "uuid: Spark cannot read its typed column"
    assert chosen(values, Options(for_spark=False)) == "at time, id uuid, n bigint"


def test_a_budget_of_columns_goes_to_those_that_hold_most() -> None:
    values = column(*({"short": 1, "long": "x" * 50, "longer": "y" * 60, "o": {"tiny": True}} for _ in range(10)))
    assert chosen(values, Options(max_columns=2)) == "long string, longer string"
    assert decision(values, "$.short", Options(max_columns=2)).reason == "beyond the 2 columns that hold most"
    hinted = with_hints(Options(max_columns=2), always=["$.o.tiny"])
    assert chosen(values, hinted) == "longer string, o struct<tiny: boolean>"


class TestHints:
    values = column(*({"id": n, "rare": {"x": 1}} if n == 0 else {"id": n, "user": {"name": "a", "age": 5}} for n in range(100)))

    def test_always(self) -> None:
        assert chosen(self.values) == "id bigint, user struct<age: bigint, name: string>"
        hinted = with_hints(Options(), always=["$.rare.x"])
        assert chosen(self.values, hinted) == "id bigint, rare struct<x: bigint>, user struct<age: bigint, name: string>"

    def test_never(self) -> None:
        hinted = with_hints(Options(), never=["$.user"])
        assert chosen(self.values, hinted) == "id bigint"
        assert decision(self.values, "$.user.age", hinted).reason == "never, by a hint"

    def test_types(self) -> None:
        hinted = with_hints(Options(), types={"$.user.age": "int", "$.id": "decimal(20,0)"})
        assert chosen(self.values, hinted) == "id decimal(20,0), user struct<age: int, name: string>"
        assert decision(self.values, "$.id", hinted).reason == "by a hint"


def test_refusals() -> None:
    with pytest.raises(UnsupportedTypeError, match="expected a policy, got 'best'"):
        vq.choose(vq.profile(column(1)), "best")  # type: ignore[arg-type]
    parts = [vq.profile(column(*({f"{letter}{n}": 1} for n in range(500))), most_names=5, candidates={}) for letter in "ab"]
    merged = parts[0].merge(vq.profile(column(*({"often": 1, f"c{n}": 1} for n in range(500))), most_names=5, candidates={}))
    assert not merged.is_exact
    with pytest.raises(UnsupportedTypeError, match="expected an exact profile"):
        vq.choose(merged)
