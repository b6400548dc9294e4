"""Plans: pinned, evolving by thresholds only, never back and forth."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import varquet as vq
from varquet.errors import VarquetError
from varquet.profiles.drifting import drift
from varquet.profiles.plan import Change, ColumnPlan, Plan
from varquet.profiles.policies import Options, with_hints


def column(rows: list[Any]) -> pa.Array:
    return vq.parse_json(pa.array([row if isinstance(row, str) else json.dumps(row) for row in rows]))


def profiled(rows: list[Any]) -> vq.Profile:
    return vq.profile(column(rows))


def with_share(share: float, rows: int = 200, **fields: Any) -> list[Any]:
    """Rows with a key, and these fields in a share of them."""
    return [{"id": n, **(fields if n < share * rows else {})} for n in range(rows)]


def evolved(plan: Plan, rows: list[Any]) -> tuple[Plan, list[tuple[str, str]]]:
    following, changes = plan.evolve({"v": profiled(rows)})
    return following, [(change.kind, change.path) for change in changes]


START = Plan.from_profiles({"v": profiled(with_share(0.5, a=1))})


def test_a_plan_is_json_that_people_read(tmp_path: Path) -> None:
    text = START.to_json()
    data = json.loads(text)
    assert data["columns"]["v"]["schema"] == "a bigint, id bigint"
    assert data["columns"]["v"]["paths"] == {"$.a": "bigint", "$.id": "bigint"}
    assert Plan.from_json(text) == START
    START.save(tmp_path / "plan.json")
    assert Plan.load(tmp_path / "plan.json") == START
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]
    assert START.digest() == Plan.load(tmp_path / "plan.json").digest()
    with pytest.raises(VarquetError, match="expected the JSON of a plan"):
        Plan.from_json("[]")
    with pytest.raises(VarquetError, match="expected a plan of version 1, got 2"):
        Plan.from_json(text.replace('"varquet_plan": 1', '"varquet_plan": 2'))
    with pytest.raises(VarquetError, match="to say the same"):
        Plan.from_json(text.replace('"$.a": "bigint"', '"$.a": "int"'))


def test_a_pinned_plan_gives_every_file_one_schema(tmp_path: Path) -> None:
    """Ten batches with shifting distributions."""
    for number in range(10):
        rows = with_share(number / 10, a=1 if number < 5 else "x", **{f"b{number}": 1})
        table = pa.table([column(rows)], schema=pa.schema([vq.variant_field("v")]))
        vq.write(table, tmp_path / f"{number}.parquet", START)
        assert Plan.from_parquet(tmp_path / f"{number}.parquet") == START
    schemas = {vq.ShreddingSchema.from_parquet(tmp_path / f"{number}.parquet", "v") for number in range(10)}
    assert schemas == {START.columns["v"].schema}


def test_a_file_without_a_plan(tmp_path: Path) -> None:
    vq.write(pa.table([column([1])], schema=pa.schema([vq.variant_field("v")])), tmp_path / "x.parquet", {"v": "bigint"})
    assert Plan.from_parquet(tmp_path / "x.parquet") is None


def test_nothing_changes_between_the_thresholds() -> None:
    for share in (0.5, 0.09, 0.05, 0.9):
        following, changes = evolved(START, with_share(share, a=1))
        assert (following, changes) == (START, [])


def test_in_at_a_tenth_out_below_a_twentieth() -> None:
    plan, changes = evolved(START, with_share(0.09, b="x", a=1))
    assert changes == []
    plan, changes = evolved(START, [{**row, "a": 1} for row in with_share(0.10, b="x")])
    assert changes == [("added", "$.b")]
    assert plan.columns["v"].schema.ddl() == "a bigint, b string, id bigint"
    assert plan.step == 2
    plan, changes = evolved(plan, [{**row, "a": 1} for row in with_share(0.06, b="x")])
    assert changes == []
    plan, changes = evolved(plan, [{**row, "a": 1} for row in with_share(0.04, b="x")])
    assert changes == [("dropped", "$.b")]
    assert plan.columns["v"].gone == {"$.b": "string"}
    plan, changes = evolved(plan, [{**row, "a": 1} for row in with_share(0.07, b="x")])
    assert changes == []
    plan, changes = evolved(plan, [{**row, "a": 1} for row in with_share(0.2, b="x")])
    assert changes == [("added", "$.b")]
    assert plan.columns["v"].gone == {}


def test_types_never_flip() -> None:
    """bigint, then strings, then bigint again: the path goes once, comes back as what it was, and is never a string."""
    plan, seen = START, []
    for kind in ("number", "text", "text", "number", "text", "number"):
        plan, _ = evolved(plan, with_share(1, a=1 if kind == "number" else "x"))
        seen.append(plan.columns["v"].schema.get("$.a"))
    assert {schema.ddl() for schema in seen if schema is not None} == {"bigint"}
    half = [{"id": n, "a": 1 if n % 3 == 0 else "x"} for n in range(300)]
    assert evolved(START, half) == (START, [])


def test_types_widen_and_never_narrow() -> None:
    plan, changes = evolved(START, ['{"id":1,"a":1.25}', '{"id":2,"a":3}'])
    assert changes == [("widened", "$.a")]
    assert plan.columns["v"].schema.ddl() == "a decimal(18,2), id bigint"
    assert evolved(plan, with_share(1, a=1)) == (plan, [])
    plan, changes = evolved(plan, ['{"id":1,"a":12345678901234567890.123}'])
    assert plan.columns["v"].schema.ddl() == "a decimal(38,3), id bigint"
    narrow = Plan({"v": ColumnPlan(vq.ShreddingSchema.parse("id int, a tinyint"))})
    plan, changes = evolved(narrow, with_share(1, a=300))
    assert plan.columns["v"].schema.ddl() == "a smallint, id int"


def test_few_decimals_among_integers_are_no_reason() -> None:
    assert evolved(START, [{"id": n, "a": n} for n in range(99)] + ['{"id":1,"a":1.5}'])[1] == []


def test_within_a_step_order_does_not_matter() -> None:
    choice = random.Random(1)
    batches = [with_share(choice.random(), a=choice.choice([1, "x", 1.5]), **{f"n{n}": n}) for n in range(10)]
    expected = START.evolve({"v": vq.profile(pa.chunked_array([column(rows) for rows in batches]))})
    for _ in range(3):
        choice.shuffle(batches)
        parts = [profiled(choice.sample(rows, len(rows))) for rows in batches]
        assert START.evolve({"v": parts[0].merge(*parts[1:])}) == expected


def test_an_evolving_plan_changes_only_when_thresholds_are_crossed() -> None:
    """Ten batches: b rises, stays, falls."""
    plan, log = START, []
    for share in (0.0, 0.05, 0.08, 0.12, 0.3, 0.08, 0.06, 0.03, 0.08, 0.0):
        plan, changes = evolved(plan, [{**row, "a": 1} for row in with_share(share, b=1)])
        log.append(changes)
    assert log == [[], [], [], [("added", "$.b")], [], [], [], [("dropped", "$.b")], [], []]


def test_changes_say_what_and_why() -> None:
    _, changes = START.evolve({"v": profiled([{"id": 1, "b": {"c": "x"}}])})
    assert changes == [
        Change("v", "$.a", "dropped", "bigint", None, "in 0.0% of the values, below 5%"),
        Change("v", "$.b.c", "added", None, "string", "in at least 10% of the values"),
    ]
    assert START.evolve({"v": profiled([])}) == (START, [])
    with pytest.raises(VarquetError, match="expected the name of a column of the plan, got 'w'"):
        START.evolve({"w": profiled([])})


def test_drift_measures_the_fit() -> None:
    plan = START.columns["v"]
    good = drift(plan, profiled(with_share(0.5, a=1)))
    assert good.findings == []
    assert 0.2 < good.typed_bytes < 1
    rows = [{"id": n if n % 2 else "x", "new": "y" * 50} for n in range(100)]
    bad = drift(plan, profiled(rows))
    assert [(path.path, path.finding) for path in bad.findings] == [("$.a", "rare"), ("$.id", "conflicts"), ("$.new", "new")]
    assert bad.typed_bytes < 0.1
    assert next(path for path in bad.paths if path.path == "$.id").typed_share == 0.5


def test_a_plan_remembers_what_the_policy_was_told() -> None:
    rows = [{"id": n, "keep": 1, "secret": 2, "as": 3} if n < 20 else {"id": n} for n in range(200)]
    options = with_hints(Options(min_field_frequency=0.2), always=["$.keep"], never=["$.secret"], types={"$.as": "string"})
    plan = Plan.from_profiles({"v": profiled(rows)}, "varquet", options)
    assert plan.schemas["v"].ddl() == "as string, id bigint, keep bigint"
    assert Plan.from_json(plan.to_json()) == plan
    assert json.loads(plan.to_json())["columns"]["v"]["options"]["types"] == {"$.as": "string"}
    # Rarer than any threshold, and more frequent than any: hints hold.
    rare = [{"id": n, "keep": 1, "as": 3} if n < 2 else {"id": n, "secret": 2, "new": n} for n in range(200)]
    following, changes = evolved(Plan.from_json(plan.to_json()), rare)
    assert following.schemas["v"].ddl() == "as string, id bigint, keep bigint, new bigint"
    assert changes == [("added", "$.new")]
    assert not [path for path in drift(following.columns["v"], profiled(rare)).paths if path.path == "$.secret"]
    with pytest.raises(VarquetError, match="expected the options of a policy"):
        Plan.from_json(plan.to_json().replace('"max_depth"', '"depth"'))


def test_a_plan_without_columns_gets_some() -> None:
    """Made from nothing, or emptied by one batch: what is frequent comes in."""
    empty = Plan.from_profiles({"v": profiled([{}] * 10)})
    plan, changes = evolved(empty, with_share(1, a="x"))
    assert changes == [("added", "$.a"), ("added", "$.id")]
    plan, changes = evolved(plan, [{}] * 10)
    assert changes == [("dropped", "$.a"), ("dropped", "$.id")]
    assert plan.schemas["v"].ddl() == "variant"
    plan, changes = evolved(plan, with_share(1, a="x"))
    assert changes == [("added", "$.a"), ("added", "$.id")]
    assert drift(empty, profiled([])).paths == []
    assert drift(START, profiled([])).typed_bytes == 0


def test_what_is_an_object_stays_one() -> None:
    """Columns go by their own values, whatever most values above them are."""
    plan, changes = evolved(START, ['"text"'] * 120 + with_share(0.5, rows=80, a=1))
    assert (plan, changes) == (START, [])
    nested = Plan.from_profiles({"v": profiled([{"o": {"x": n}} for n in range(10)])})
    assert evolved(nested, [{"o": "text"}] * 90 + [{"o": {"x": 1}}] * 10) == (nested, [])
    gone, changes = evolved(nested, [{"o": "text"}] * 100)
    assert changes == [("dropped", "$.o.x")]
    assert evolved(gone, [{"o": "text"}] * 100) == (gone, [])
    back, changes = evolved(gone, [{"o": {"x": 1}}] * 100)
    assert changes == [("added", "$.o.x")]
    assert back.schemas == nested.schemas


def test_arrays_stay_while_a_quarter_of_the_values_are_arrays() -> None:
    plan = Plan.from_profiles({"v": profiled([{"l": [n]} for n in range(10)])})
    assert plan.schemas["v"].ddl() == "l array<bigint>"
    assert evolved(plan, [{"l": []}] * 100) == (plan, [])
    few = profiled([{"l": []}] * 97 + [{"l": [1]}] * 3)
    assert plan.evolve(few) == (plan, [])
    assert [(path.path, path.finding, path.frequency) for path in drift(plan, few).paths] == [("$.l[*]", "fits", 1.0)]
    assert evolved(plan, [{"l": "x"}] * 70 + [{"l": [1]}] * 30) == (plan, [])
    _, changes = plan.evolve(profiled([{"l": "x"}] * 80 + [{"l": [1]}] * 20))
    assert [change.reason for change in changes] == ["20.0% of the values of $.l are arrays, below 25%"]


def test_hints_stay_when_nothing_has_them() -> None:
    options = with_hints(Options(), always=["$.keep"], types={"$.as.b": "string"})
    plan = Plan.from_profiles({"v": profiled([{"id": 1, "keep": 1}])}, "varquet", options)
    assert plan.schemas["v"].ddl() == "as struct<b: string>, id bigint, keep bigint"
    assert evolved(plan, with_share(1)) == (plan, [])
    assert evolved(plan, with_share(0.03, keep=1)) == (plan, [])
    assert drift(plan, profiled(with_share(1))).findings == []


def test_retained_columns_come_before_new_ones_where_there_is_little_room() -> None:
    options = Options(max_columns=2)
    plan = Plan.from_profiles({"v": profiled([{"a": 1, "b": 1}] * 10)}, "varquet", options)
    assert evolved(plan, [{"a": 1, "b": 1, "big": "x" * 100}] * 10) == (plan, [])


def test_a_column_for_values_only_may_get_a_type() -> None:
    plan = Plan.from_profiles({"v": profiled([{"a": None, "b": 1}] * 10)}, "spark")
    assert plan.schemas["v"].ddl() == "a variant, b bigint"
    following, changes = plan.evolve(profiled([{"a": 1, "b": 1}] * 10))
    assert changes == [Change("v", "$.a", "typed", "variant", "bigint", "its values have a type now")]
    assert evolved(following, [{"a": 1, "b": 1}] * 10) == (following, [])


def test_a_step_takes_the_profile_of_the_only_column() -> None:
    assert START.evolve(profiled(with_share(0.5, a=1))) == (START, [])
    two = Plan({"v": START.columns["v"], "w": START.columns["v"]})
    with pytest.raises(VarquetError, match="expected the name of a column of the plan, got none"):
        two.evolve(profiled([]))
    assert drift(two, profiled([]), "w") == drift(START.columns["v"], profiled([]))
    table = pa.table({"v": column(with_share(0.5, a=1)), "w": column([1] * 200)})
    assert drift(two, table, "v").findings == []


def test_retaining_never_needs_more_than_admitting() -> None:
    rows = with_share(0.03, a=1)
    for retain in (None, 0.05, 0.5):
        plan = Plan.from_profiles({"v": profiled(rows)}, "varquet", Options(min_field_frequency=0.01), retain_frequency=retain)
        assert plan.schemas["v"].ddl() == "a bigint, id bigint"
        assert evolved(plan, rows) == (plan, [])
    assert Plan.from_profiles({"v": profiled(rows)}, options=Options(min_field_frequency=0.02)).columns["v"].retain_frequency == 0.01


def test_drift_looks_at_the_width_of_types() -> None:
    narrow = ColumnPlan(vq.ShreddingSchema.parse("a tinyint, b decimal(3,2)"))
    found = drift(narrow, profiled(['{"a":1000000000000,"b":123456789.123456}'] * 10))
    assert [(path.path, path.finding, path.typed_share) for path in found.paths] == [("$.a", "conflicts", 0.0), ("$.b", "conflicts", 0.0)]
    assert found.typed_bytes == 0


def damaged(**changes: Any) -> str:
    data = json.loads(START.to_json())
    for name, value in changes.items():
        target = data if name in ("step", "columns") else data["columns"]["v"]
        if value is None:
            del target[name]
        else:
            target[name] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"step": "one"}, "expected the step of a plan to be a whole number from 1 on, got 'one'"),
        ({"step": 0}, "expected the step of a plan"),
        ({"columns": None}, "expected the columns of a plan by their names, got None"),
        ({"columns": {"v": 1}}, "column 'v' of the plan: expected what says how a column is shredded, got 1"),
        ({"schema": None}, "column 'v' of the plan: expected what says how a column is shredded"),
        ({"more": 1}, "column 'v' of the plan: expected what says how a column is shredded"),
        ({"schema": "a nothing"}, "column 'v' of the plan: "),
        ({"policy": "best"}, "column 'v' of the plan: expected a policy, got 'best'"),
        ({"gone": ["x"]}, "column 'v' of the plan: expected gone to be an object, got"),
        ({"gone": {"x": "bigint"}}, "column 'v' of the plan: "),
        ({"gone": {"$.x": 1}}, "column 'v' of the plan: "),
        ({"order": [1]}, "column 'v' of the plan: expected the names of keys as order"),
        ({"retain_frequency": "0.1"}, "column 'v' of the plan: expected retain_frequency to be a number, got '0.1'"),
        ({"retain_typed_share": 2}, "column 'v' of the plan: expected retain_typed_share to be a share"),
        ({"options": {}}, ""),
        ({"options": {"min_field_frequency": None}}, "column 'v' of the plan: expected min_field_frequency to be a share"),
        ({"options": {"always": 1}}, "column 'v' of the plan: expected the options of a policy"),
        ({"options": {"types": ["$.a"]}}, "column 'v' of the plan: expected the options of a policy"),
        ({"options": {"always": ["a"]}}, "column 'v' of the plan: "),
    ],
)
def test_plans_that_were_damaged(changes: dict[str, Any], message: str) -> None:
    if not message:
        assert Plan.from_json(damaged(**changes)).columns["v"].options == Options()
        return
    with pytest.raises(VarquetError, match=message):
        Plan.from_json(damaged(**changes))


def test_a_plan_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(b'{"varquet_plan": 1, "\xff": 2}')
    with pytest.raises(VarquetError, match="expected the JSON of a plan in .*plan.json, got what is not UTF-8"):
        Plan.load(tmp_path / "plan.json")
    with pytest.raises(VarquetError, match="expected the JSON of a plan"):
        Plan.from_json("[" * 100_000)


def test_drift_takes_data_as_well() -> None:
    rows = column(with_share(0.01, a="x"))
    assert drift(START.columns["v"], rows) == drift(START.columns["v"], vq.profile(rows))
    assert [(path.path, path.finding) for path in drift(START.columns["v"], rows).findings] == [("$.a", "rare")]


def test_read_takes_a_plan(tmp_path: Path) -> None:
    """A plan says which columns are Variants, where a file does not."""
    rows = column(with_share(0.5, a=1))
    table = pa.table({"n": list(range(len(rows))), "v": rows})
    pq.write_table(table, tmp_path / "unmarked.parquet")
    assert not vq.variant_field("v").equals(vq.read(tmp_path / "unmarked.parquet").schema.field("v"), check_metadata=True)
    vq.write(table, tmp_path / "marked.parquet", START)
    for name in ("unmarked", "marked"):
        read = vq.read(tmp_path / f"{name}.parquet", plan=START)
        assert vq.to_json(read["v"]).to_pylist() == vq.to_json(rows).to_pylist()
        assert sum(batch.num_rows for batch in vq.read_batches(tmp_path / f"{name}.parquet", plan=START)) == len(rows)
    assert vq.read(tmp_path, plan=START).num_rows == 2 * len(rows)
    assert vq.read(tmp_path / "marked.parquet", ["n"], plan=START).column_names == ["n"]
    with pytest.raises(VarquetError, match="expected column 'w' of the plan in .* as a Variant, got no such column"):
        vq.read(tmp_path / "marked.parquet", plan=Plan({"w": START.columns["v"]}))
    with pytest.raises(VarquetError, match="expected column 'n' of the plan .* got pyarrow.Field<n: int64>"):
        vq.read(tmp_path / "marked.parquet", plan=Plan({"n": START.columns["v"]}))
