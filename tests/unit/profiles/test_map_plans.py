"""Plans for maps: hot keys by frequency, bytes and budget; pinned, evolved, measured; and types for texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import varquet as vq
from varquet.profiles.policies import with_hints

KIND = pa.map_(pa.string(), pa.string())


def headers(rows: list[dict[str, Any] | None], kind: pa.DataType = KIND) -> pa.Array:
    return pa.array([None if row is None else list(row.items()) for row in rows], kind)


def _rows(count: int, **shares: float) -> list[dict[str, Any] | None]:
    """Rows in which each key is in a share of them."""
    return [{key: f"value of {key}" for key, share in shares.items() if k < share * count} for k in range(count)]


def plan_of(array: pa.Array, options: vq.Options | None = None) -> vq.Plan:
    return vq.Plan.from_profiles({"headers": vq.profile(array)}, options=options, maps=["headers"])


def test_frequent_keys_get_columns() -> None:
    plan = plan_of(headers([*_rows(100, a=1, b=0.5, c=0.1, d=0.09), None, None]))
    assert plan.maps["headers"].names == ["a", "b", "c"]
    assert plan.schemas == {}
    assert plan.columns["headers"].is_map


def test_nulls_do_not_make_a_key_hot() -> None:
    plan = plan_of(headers([{"a": "1", "b": None}] * 10))
    assert plan.maps["headers"].names == ["a"]


def test_the_budget_goes_to_keys_that_save_most() -> None:
    rows: list[dict[str, Any] | None] = [{"a": "1", "a-very-long-key": "2", "b": "a long value" * 3}] * 10
    plan = plan_of(headers(rows), vq.Options(max_columns=2))
    assert plan.maps["headers"].names == ["a-very-long-key", "b"]
    choice = vq.choose(vq.profile(headers(rows)), "map", vq.Options(max_columns=2))
    assert {one.path: one.chosen for one in choice.decisions} == {"$": True, "$.a": False, "$['a-very-long-key']": True, "$.b": True}


def test_hints_pin_keys() -> None:
    options = with_hints(vq.Options(), always=["$.rare"], never=["$.a"])
    plan = plan_of(headers(_rows(100, a=1, b=1, rare=0.01)), options)
    assert plan.maps["headers"].names == ["b", "rare"]


@pytest.mark.parametrize(
    ("kind", "value"),
    [(pa.int32(), 5), (pa.float64(), 0.5), (pa.list_(pa.int32()), [1]), (pa.struct({"x": pa.int32()}), {"x": 1}), (pa.bool_(), True)],
    ids=str,
)
def test_values_of_any_type(tmp_path: Path, kind: pa.DataType, value: Any) -> None:
    array = headers([{"a": value, "b": None}, {"a": value}], pa.map_(pa.string(), kind))
    plan = plan_of(array)
    assert plan.maps["headers"].names == ["a"]
    table = pa.table({"headers": array})
    vq.write(table, tmp_path / "a.parquet", plan)
    assert pq.ParquetFile(tmp_path / "a.parquet").schema_arrow.names == ["headers", "__paimon_map_shred_headers_0"]
    assert vq.read(tmp_path / "a.parquet").to_pylist() == table.to_pylist()


def test_a_plan_is_written_read_and_recorded(tmp_path: Path) -> None:
    array = headers(_rows(20, **{"content-type": 1, "a,b": 1}))
    plan = plan_of(array)
    assert vq.Plan.from_json(plan.to_json()) == plan
    vq.write(pa.table({"headers": array}), tmp_path / "a.parquet", plan)
    assert vq.Plan.from_parquet(tmp_path / "a.parquet") == plan
    assert len(pq.ParquetFile(tmp_path / "a.parquet").schema_arrow.names) == 3


def test_evolution_goes_no_way_back_and_forth() -> None:
    plan = plan_of(headers(_rows(100, a=1, b=0.5)))
    same, changes = plan.evolve({"headers": vq.profile(headers(_rows(100, a=1, b=0.06, c=0.09)))})
    assert same is plan and not changes
    later, changes = plan.evolve({"headers": vq.profile(headers(_rows(100, a=1, b=0.04, c=0.5)))})
    assert later.maps["headers"].names == ["a", "c"]
    assert [(one.path, one.kind) for one in changes] == [("$.b", "dropped"), ("$.c", "added")]
    assert later.columns["headers"].is_map
    again, changes = later.evolve({"headers": vq.profile(headers(_rows(100, a=1, b=0.5, c=0.5)))})
    assert again.maps["headers"].names == ["a", "b", "c"]


def test_drift_tells_of_rare_and_new_keys() -> None:
    plan = plan_of(headers(_rows(100, a=1, b=0.5)))
    found = vq.drift(plan.columns["headers"], headers(_rows(100, a=1, b=0.01, c=0.5)))
    assert [(one.path, one.finding) for one in found.findings] == [("$.b", "rare"), ("$.c", "new")]


def test_keys_get_the_types_of_their_texts(tmp_path: Path) -> None:
    rows: list[dict[str, Any] | None] = [
        {"n": str(k), "x": f"0{k}", "flag": "true", "day": "2026-01-31", "at": "2026-01-31T12:30:00Z", "mixed": "1" if k else "one"}
        for k in range(10)
    ]
    array = headers(rows)
    plan = vq.type_keys(plan_of(array), "headers", array)
    kinds = {"n": pa.int64(), "x": None, "flag": pa.bool_(), "day": pa.date32(), "at": pa.timestamp("us", "UTC"), "mixed": None}
    assert {key.name: key.type for key in plan.maps["headers"].keys} == kinds
    assert vq.Plan.from_json(plan.to_json()) == plan
    vq.write(pa.table({"headers": array}), tmp_path / "a.parquet", plan)
    assert vq.type_keys(plan_of(array), "headers", tmp_path / "a.parquet") == plan
    assert [dict(row) for row in vq.read(tmp_path / "a.parquet")["headers"].to_pylist()] == rows
    # Types stay when a plan evolves, and keys that come in later have none.
    later, _ = plan.evolve({"headers": vq.profile(headers([{"n": "1", "new": "1"}] * 10))})
    assert {key.name: key.type for key in later.maps["headers"].keys} == {"n": pa.int64(), "new": None}


def test_types_are_for_maps_of_texts() -> None:
    array = headers([{"a": 1}], pa.map_(pa.string(), pa.int32()))
    with pytest.raises(vq.UnsupportedTypeError, match="expected maps of texts"):
        vq.type_keys(plan_of(array), "headers", array)
    with pytest.raises(vq.UnsupportedTypeError, match="expected the name of a column of maps of the plan, got 'other'"):
        vq.type_keys(plan_of(array), "other", array)


def test_a_plan_knows_the_keys_of_files_that_do_not(tmp_path: Path) -> None:
    table = pa.table({"headers": headers([{"b": "1"}]), "__paimon_map_shred_headers_0": ["x"]})
    pq.write_table(table, tmp_path / "a.parquet")
    plan = plan_of(headers([{"a": "1"}]))
    assert vq.read(tmp_path / "a.parquet", plan=plan).to_pylist() == [{"headers": [("a", "x"), ("b", "1")]}]
