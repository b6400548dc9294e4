"""Laws of evolving plans: whatever comes in whatever order, columns come and go by thresholds only and are never two things."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from hypothesis import assume, given
from hypothesis import strategies as st

import varquet as vq
from varquet.profiles.options import Options, PolicyName, with_hints
from varquet.profiles.plan import ColumnPlan, Plan
from varquet.profiles.policies import frequencies
from varquet.profiles.type_rules import POLICIES
from varquet.schema import ELEMENT, Kind, ShreddingSchema
from varquet.schema.walk import steps_of

_VALUES = st.recursive(
    st.sampled_from([None, True, 1, 300, 5_000_000_000, 1.5, 123456.125, "x", "yy"]),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=5,
)
# A batch is a few different rows, each many times, so that shares fall on all sides of the thresholds.
_BATCHES = st.lists(st.tuples(st.dictionaries(st.sampled_from("abc"), _VALUES, max_size=3) | _VALUES, st.integers(1, 30)), max_size=4)
_POLICIES = st.sampled_from([name for name in POLICIES if name != "map"])


def profiled(batch: list[tuple[Any, int]]) -> vq.Profile:
    return vq.profile(vq.parse_json(pa.array([json.dumps(row) for row, count in batch for _ in range(count)], pa.string())))


def kinds_of(schema: ShreddingSchema) -> dict[tuple[Any, ...], str]:
    """What every path is: an object, an array, or a family of types; what has no type yet may become anything."""
    found: dict[tuple[Any, ...], str] = {}
    for steps, node in schema.nodes():
        if node.kind is not Kind.VALUE:
            exact = node.type is not None and (pa.types.is_integer(node.type) or pa.types.is_decimal(node.type))
            found[steps] = "number" if exact else str(node.type or node.kind.value)
    return found


@given(st.lists(_BATCHES, min_size=2, max_size=5), _POLICIES)
def test_columns_come_and_go_by_thresholds_and_are_never_two_things(batches: list[Any], policy: PolicyName) -> None:
    plan = Plan.from_profiles({"v": profiled(batches[0])}, policy)
    seen = kinds_of(plan.schemas["v"])
    for batch in batches[1:]:
        profile = profiled(batch)
        facts = {one.steps: one for one in profile}
        frequency = frequencies(profile, policy)
        before = plan.columns["v"]
        plan, changes = plan.evolve(profile)
        after = plan.columns["v"]
        assert plan.evolve(profile) == (plan, [])
        assert Plan.from_json(plan.to_json()) == plan
        for steps, kind in kinds_of(after.schema).items():
            assert seen.setdefault(steps, kind) == kind
        for change in changes:
            steps = steps_of(change.path)
            if change.kind == "added":
                assert steps[-1:] == (ELEMENT,) or frequency(facts[steps]) >= 0.10
            elif change.kind == "dropped" and "below 5%" in change.reason:
                while steps[-1:] == (ELEMENT,):
                    steps = steps[:-1]
                assert frequency(facts.get(steps)) < 0.05
            elif change.kind == "dropped":
                assert "below 25%" in change.reason or before.schema.get(steps) == ShreddingSchema.value()
        typed = {steps for steps, leaf in before.schema.leaves() if leaf.kind is Kind.PRIMITIVE}
        gone = {steps_of(path) for path in after.gone}
        assert typed <= gone | {steps for steps, leaf in after.schema.leaves() if leaf.kind is Kind.PRIMITIVE}


@given(st.lists(_BATCHES, min_size=1, max_size=4), _POLICIES)
def test_hints_hold_whatever_comes(batches: list[Any], policy: PolicyName) -> None:
    hinted = with_hints(Options(), never=["$.c"], types={"$.a.b": "bigint", "$.z[*].y": "string"})
    plan = Plan.from_profiles({"v": profiled(batches[0])}, policy, hinted)
    for batch in batches[1:]:
        plan, _ = plan.evolve(profiled(batch))
        schema = plan.schemas["v"]
        assert schema.get("$.a.b") == ShreddingSchema.parse("bigint")
        assert schema.get("$.z[*].y") == ShreddingSchema.parse("string")
        assert schema.get("$.c") is None
        assert not plan.columns["v"].gone.keys() & {"$.a.b", "$.z[*].y"}


@given(st.lists(_BATCHES, min_size=2, max_size=4), st.permutations(range(4)), _POLICIES)
def test_batches_of_one_step_come_in_any_order(batches: list[Any], order: list[int], policy: PolicyName) -> None:
    start = Plan.from_profiles({"v": profiled(batches[0])}, policy)
    parts = [profiled(batch) for batch in batches[1:]]
    shuffled = [parts[k] for k in order if k < len(parts)]
    assert start.evolve(parts[0].merge(*parts[1:])) == start.evolve(shuffled[0].merge(*shuffled[1:]))


@given(_BATCHES, st.sampled_from([0.5, 0.1, 0.03, 0.0]), st.sampled_from([0.0, 0.05, 0.3, 1.0]))
def test_no_threshold_makes_a_path_come_and_go(batch: list[Any], admit: float, retain: float) -> None:
    assume(batch)
    profile = profiled(batch)
    column = ColumnPlan(ShreddingSchema.value(), options=Options(min_field_frequency=admit), retain_frequency=retain)
    plan, _ = Plan({"v": column}).evolve(profile)
    assert plan.evolve(profile) == (plan, [])
