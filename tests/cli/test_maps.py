"""The commands on columns of maps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import varquet as vq
from varquet.cli.main import main

KIND = pa.map_(pa.string(), pa.string())


@pytest.fixture(autouse=True)
def headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pa.Table:
    """A plain file of maps in an empty folder."""
    monkeypatch.chdir(tmp_path)
    rows = [[("content-type", "json"), ("n", str(k)), *([("rare", "1")] if k == 7 else [])] for k in range(20)]
    table = pa.table({"id": pa.array(range(20), pa.int64()), "headers": pa.array(rows, KIND)})
    pq.write_table(table, "plain.parquet")
    return table


def run(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> Any:
    assert main([*args, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def columns(name: str) -> list[str]:
    return list(pq.ParquetFile(name).schema_arrow.names)


def test_analyze_chooses_hot_keys(capsys: pytest.CaptureFixture[str]) -> None:
    found = run(capsys, "analyze", "plain.parquet", "--plan", "plan.json")
    assert (found["policy"], found["schema"]) == ("map", "`content-type` string, n string")
    assert vq.Plan.load("plan.json").maps["headers"].names == ["content-type", "n"]
    typed = run(capsys, "analyze", "plain.parquet", "--column", "headers", "--typed", "--plan", "typed.json")
    assert typed["schema"] == "`content-type` string, n bigint"


def test_ingest_writes_sidecars(capsys: pytest.CaptureFixture[str], headers: pa.Table) -> None:
    found = run(capsys, "ingest", "plain.parquet", "shredded.parquet")
    assert found["schema"] == "`content-type` string, n string"
    assert columns("shredded.parquet") == ["id", "headers", "__paimon_map_shred_headers_0", "__paimon_map_shred_headers_1"]
    assert vq.Plan.from_parquet("shredded.parquet") == vq.Plan.from_profiles(
        {"headers": vq.profile("plain.parquet", "headers")}, maps=["headers"]
    )
    assert vq.diff("plain.parquet", "shredded.parquet").is_equal
    run(capsys, "analyze", "plain.parquet", "--typed", "--plan", "plan.json")
    run(capsys, "ingest", "plain.parquet", "typed.parquet", "--plan", "plan.json")
    assert pq.ParquetFile("typed.parquet").schema_arrow.field(3).type == pa.int64()
    assert vq.diff("plain.parquet", "typed.parquet").is_equal


def test_ingest_of_text_with_maps_beside_it(capsys: pytest.CaptureFixture[str], headers: pa.Table) -> None:
    table = headers.append_column("doc", pa.array(['{"a": 1}'] * 20))
    pq.write_table(table, "both.parquet")
    run(capsys, "ingest", "both.parquet", "shredded.parquet", "--column", "doc", "--map-column", "headers")
    assert columns("shredded.parquet")[2:] == ["__paimon_map_shred_headers_0", "__paimon_map_shred_headers_1", "doc"]
    assert vq.diff("both.parquet", "shredded.parquet").is_equal
    profiles = {name: vq.profile("both.parquet", name) for name in ("doc", "headers")}
    plan = vq.Plan.from_parquet("shredded.parquet")
    assert plan == vq.Plan.from_profiles(profiles, maps=["headers"])
    assert (plan.columns["doc"].policy, plan.columns["headers"].policy) == ("varquet", "map")
    # The plan of the text alone, with hot keys chosen beside it, is recorded with both; a schema that somebody gave is no plan.
    vq.Plan.from_profiles({"doc": profiles["doc"]}).save("doc.json")
    for number, chosen in enumerate((["--plan", "doc.json"], ["--schema", "a bigint"])):
        run(capsys, "ingest", "both.parquet", f"{number}.parquet", "--column", "doc", "--map-column", "headers", *chosen)
        assert vq.Plan.from_parquet(f"{number}.parquet") == (plan if number == 0 else None)
        assert columns(f"{number}.parquet") == columns("shredded.parquet")
        assert vq.diff("both.parquet", f"{number}.parquet").is_equal
    assert main(["ingest", "both.parquet", "c.parquet", "--column", "doc", "--map-column", "id"]) == 2
    assert "got id" in capsys.readouterr().err


def test_convert_and_back(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "convert", "plain.parquet", "a.parquet", "--map", "headers=n,rare")
    assert len(columns("a.parquet")) == 4
    run(capsys, "convert", "a.parquet", "b.parquet", "--map", "headers=")
    assert columns("b.parquet") == ["id", "headers"]
    assert run(capsys, "diff", "plain.parquet", "b.parquet")["equal"]
    assert main(["convert", "plain.parquet", "c.parquet", "--map", "headers"]) == 2
    assert "expected a column and its hot keys, got headers" in capsys.readouterr().err


def test_plans_evolve(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "analyze", "plain.parquet", "--plan", "plan.json")
    pq.write_table(pa.table({"headers": pa.array([[("n", "1"), ("new", "2")]], KIND)}), "new.parquet")
    found = run(capsys, "plan", "evolve", "plan.json", "new.parquet", "-o", "next.json")
    assert found["schema"] == "n string, new string"
    assert run(capsys, "plan", "drift", "plan.json", "new.parquet", code=1)["paths"][0]["finding"] == "rare"


def test_cat_and_inspect(capsys: pytest.CaptureFixture[str]) -> None:
    vq.convert("plain.parquet", "a.parquet", maps={"headers": ["n"]})
    assert main(["cat", "a.parquet", "--column", "headers", "-n", "1"]) == 0
    assert json.loads(capsys.readouterr().out) == {"content-type": "json", "n": "0"}
    assert [row["key"] for row in run(capsys, "inspect", "a.parquet")["maps"]] == [None, "n"]
    assert main(["inspect", "a.parquet"]) == 0
    assert "(the residual)" in capsys.readouterr().out
