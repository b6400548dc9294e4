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

    def test_types_below_rare_paths_and_of_paths_without_values(self) -> None:
        hinted = with_hints(Options(), types={"$.rare.x": "int", "$.new[*].at": "timestamp"})
        expected = "id bigint, new array<struct<at: timestamp>>, rare struct<x: int>, user struct<age: bigint, name: string>"
        assert chosen(self.values, hinted) == expected
        found = decision(self.values, "$.new[*].at", hinted)
        assert (found.chosen, found.type, found.reason, found.frequency) == (True, "timestamp", "by a hint", 0.0)

    def test_hints_come_before_all_others_where_there_is_little_room(self) -> None:
        many = column({f"f{n}": n for n in range(20)} | {"rare": {"x": 1}}, *({f"f{n}": n for n in range(20)} for _ in range(50)))
        for asked in ({"always": ["$.rare.x"]}, {"types": {"$.rare.x": "bigint"}}, {"types": {"$.rare": "struct<x: bigint>"}}):
            for limit in (Options(max_shredded_fields=2), Options(max_columns=2)):
                found = vq.choose(vq.profile(many), options=with_hints(limit, **asked)).schema  # type: ignore[arg-type]
                assert found.get("$.rare.x") == vq.ShreddingSchema.parse("bigint")
                assert len(list(found.leaves())) == 2

    def test_a_hint_says_that_a_path_is_an_object_whatever_most_of_its_values_are(self) -> None:
        values = column(*({"a": "x"} if n else {"a": {"b": 1}} for n in range(100)))
        assert chosen(values) == "a string"
        for asked in ({"always": ["$.a.b"]}, {"types": {"$.a.b": "bigint"}}):
            assert chosen(values, with_hints(Options(), **asked)) == "a struct<b: bigint>"  # type: ignore[arg-type]

    def test_hints_that_contradict_each_other(self) -> None:
        with pytest.raises(UnsupportedTypeError, match=r"got \$\.a\.b asked for and \$\.a never"):
            with_hints(Options(), always=["$.a.b"], never=["$.a"])
        with pytest.raises(UnsupportedTypeError, match=r"got \$\.a\.b asked for below \$\.a, which has a type of its own"):
            with_hints(Options(), always=["$.a.b"], types={"$.a": "string"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_field_frequency": 2}, "expected min_field_frequency to be a share between 0 and 1, got 2"),
        ({"min_typed_share": None}, "expected min_typed_share to be a share between 0 and 1, got None"),
        ({"max_columns": -1}, "expected max_columns to be a whole number that is not negative, got -1"),
        ({"max_depth": 1.5}, "expected max_depth to be a whole number that is not negative, got 1.5"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UnsupportedTypeError, match=message):
        Options(**options)


class TestDecisionsAreThoseOfTheSchema:
    """Whatever is said to be chosen is in the schema, as that; and nothing else is."""

    mixed = column(*([{"a": "x"}] * 6 + [{"a": {"b": 1, "c": {"d": 2}}}] * 4))

    @pytest.mark.parametrize("policy", ["varquet", "iceberg", "iceberg-1.11", "spark"])
    @pytest.mark.parametrize(
        "options",
        [
            Options(),
            Options(max_columns=1),
            Options(max_shredded_fields=1),
            Options(max_depth=1),
            with_hints(Options(), types={"$": "bigint"}),
            with_hints(Options(), types={"$.a": "struct<b: bigint>"}),
            with_hints(Options(), never=["$.a.c"]),
        ],
    )
    def test_chosen_paths(self, policy: Any, options: Options) -> None:
        rows = column(*({"id": n, "a": {"b": n, "c": {"d": "x", "e": [n]}}, "s": "text"} for n in range(20)))
        for values in (self.mixed, rows):
            choice = vq.choose(vq.profile(values), policy, options)
            for one in choice.decisions:
                node = choice.schema.get(one.path)
                is_there = node is not None and (one.path != "$" or node != vq.ShreddingSchema.value())
                assert one.chosen == is_there, one
                if one.chosen and node is not None:
                    assert one.type == (node.kind.value if node.fields or node.element is not None else node.ddl())
                assert one.reason

    def test_why_not(self) -> None:
        assert chosen(self.mixed) == "a string"
        assert [decision(self.mixed, path).reason for path in ("$.a.b", "$.a.c")] == ["below a path that is string"] * 2
        assert decision(self.mixed, "$.a.c.d").reason == "below a path that is not shredded"
        rows = column(*({"id": 10**6 + n, "a": {"b": 1}} for n in range(20)))
        assert decision(rows, "$.a", Options(max_columns=1)).reason == "nothing below it has a column"
        assert (
            decision(rows, "$.a.b", with_hints(Options(), types={"$.a": "struct<c: bigint>"})).reason
            == "not in the type of what is above it"
        )

    def test_a_hinted_type_that_no_value_has(self) -> None:
        hinted = with_hints(Options(), types={"$.id": "date"})
        assert decision(TestHints.values, "$.id", hinted).typed_share == 0.0

    def test_frequencies_are_what_the_policy_compares(self) -> None:
        nulls = column(*([{"a": None}] * 95 + [{"a": 1}] * 5))
        found = decision(nulls, "$.a")
        assert (found.frequency, found.reason) == (0.05, "in fewer than 10% of the values")


class TestNumbersThatNoDecimalHasRoomFor:
    """One very long number costs the others nothing."""

    outlier = '{"a":1.000000000000000000000000000001}'

    def test_among_integers(self) -> None:
        rows = vq.parse_json(pa.array([f'{{"a":{10**17 + n}}}' for n in range(99)] + [self.outlier]))
        assert chosen(rows) == "a bigint"
        assert decision(rows, "$.a").typed_share == 0.99

    def test_among_decimals(self) -> None:
        rows = vq.parse_json(pa.array([f'{{"a":{n}.25}}' for n in range(98)] + [self.outlier, '{"a":1234567890123456789012.5}']))
        assert chosen(rows) == "a decimal(38,30)"

    def test_nothing_but_those(self) -> None:
        rows = vq.parse_json(pa.array([self.outlier, '{"a":1234567890123456789012.5}']))
        assert decision(rows, "$.a").reason == "no decimal has 22 digits before the point and 30 behind it"


def test_refusals() -> None:
    with pytest.raises(UnsupportedTypeError, match="expected a policy, got 'best'"):
        vq.choose(vq.profile(column(1)), "best")  # type: ignore[arg-type]
    parts = [vq.profile(column(*({f"{letter}{n}": 1} for n in range(500))), most_names=5, candidates={}) for letter in "ab"]
    merged = parts[0].merge(vq.profile(column(*({"often": 1, f"c{n}": 1} for n in range(500))), most_names=5, candidates={}))
    assert not merged.is_exact
    with pytest.raises(UnsupportedTypeError, match="expected an exact profile"):
        vq.choose(merged)
