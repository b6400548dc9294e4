"""`varquet plan`, `varquet analyze --plan` and `varquet ingest --plan`: from data to a pinned schema and on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import varquet as vq
from varquet.cli.main import main


def write(name: str, rows: list[Any]) -> None:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    write("first.ndjson", [{"id": n, "a": "x"} for n in range(50)])
    write("next.ndjson", [{"id": n + 0.5, "b": True} for n in range(50)])
    assert main(["analyze", "first.ndjson", "--plan", "plan.json", "--json"]) == 0
    capsys.readouterr()


def said(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> Any:
    assert main([*args, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "plan", "show", "plan.json")["columns"]["v"]["paths"] == {"$.a": "string", "$.id": "bigint"}
    assert main(["plan", "show", "plan.json"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert "path    $.a string" in [line.rstrip() for line in shown]


def test_ingest_by_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    done = said(capsys, "ingest", "next.ndjson", "next.parquet", "--plan", "plan.json")
    assert done["schema"] == "a string, id bigint"
    assert vq.ShreddingSchema.from_parquet("next.parquet", "v").ddl() == "a string, id bigint"
    assert vq.Plan.from_parquet("next.parquet") == vq.Plan.load("plan.json")
    assert main(["ingest", "next.ndjson", "x.parquet", "--plan", "plan.json", "--schema", "a int"]) == 2
    assert "expected one of --schema, --plan and --unshredded, got several" in capsys.readouterr().err
    assert main(["ingest", "next.ndjson", "x.parquet", "--plan", "plan.json", "--output-column", "w"]) == 2
    assert "expected a plan for column w" in capsys.readouterr().err


def test_convert_by_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "ingest", "first.ndjson", "first.parquet", "--unshredded")
    said(capsys, "convert", "first.parquet", "made.parquet", "--plan", "plan.json", "--layout", "draft")
    assert vq.inspect("made.parquet").paths["path"].to_pylist() == ["$", "$.a", "$.id"]
    said(capsys, "diff", "first.parquet", "made.parquet")
    assert main(["convert", "first.parquet", "x.parquet", "--plan", "plan.json", "--schema", "a string"]) == 2
    assert "expected --schema or --plan, got both" in capsys.readouterr().err


def test_drift_evolve_and_diff(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "plan", "drift", "plan.json", "first.ndjson")["typed_bytes"] > 0.3
    found = said(capsys, "plan", "drift", "plan.json", "next.ndjson", code=1)
    assert {path["path"]: path["finding"] for path in found["paths"]} == {"$.a": "rare", "$.id": "conflicts", "$.b": "new"}
    done = said(capsys, "plan", "evolve", "plan.json", "next.ndjson", "-o", "next.json")
    assert done["schema"] == "b boolean, id decimal(18,1)"
    assert [(change["kind"], change["path"]) for change in done["changes"]] == [("dropped", "$.a"), ("added", "$.b"), ("widened", "$.id")]
    assert said(capsys, "plan", "diff", "plan.json", "plan.json")["equal"] is True
    changes = said(capsys, "plan", "diff", "plan.json", "next.json", code=1)["changes"]
    assert {(change["path"], change["before"], change["after"]) for change in changes} == {
        ("$.a", "string", None),
        ("$.b", None, "boolean"),
        ("$.id", "bigint", "decimal(18,1)"),
    }
    assert said(capsys, "plan", "evolve", "next.json", "next.ndjson")["changes"] == []


def test_people_see_the_changes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "evolve", "plan.json", "next.ndjson"]) == 0
    assert "dropped  $.a: string -> - (in 0.0% of the values, below 5%)" in capsys.readouterr().out
    assert main(["plan", "evolve", "plan.json", "first.ndjson"]) == 0
    assert "nothing changes" in capsys.readouterr().out
    assert main(["plan", "show", "first.ndjson"]) == 2
    assert "expected the JSON of a plan" in capsys.readouterr().err


def test_a_plan_that_exists_is_replaced_with_force_only(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.json").write_text("mine", encoding="utf-8")
    for args in (["analyze", "next.ndjson", "--plan", "mine.json"], ["plan", "evolve", "plan.json", "next.ndjson", "-o", "mine.json"]):
        assert main(args) == 2
        expected = "error: expected the name of a new file, got mine.json, which exists. Hint: --force replaces it\n"
        assert capsys.readouterr() == ("", expected)
        assert main([*args, "--json"]) == 2
        out, err = capsys.readouterr()
        assert (out, json.loads(err)["error"]["hint"]) == ("", "--force replaces it")
        assert Path("mine.json").read_text(encoding="utf-8") == "mine"
    said(capsys, "analyze", "next.ndjson", "--plan", "mine.json", "--force")
    assert vq.Plan.load("mine.json").schemas["v"].ddl() == "b boolean, id decimal(18,1)"
    said(capsys, "plan", "evolve", "plan.json", "next.ndjson", "-o", "mine.json", "--force")
    assert vq.Plan.load("mine.json").step == 2
    assert sorted(path.name for path in Path().iterdir()) == ["first.ndjson", "mine.json", "next.ndjson", "plan.json"]


def test_a_file_that_appears_while_rows_are_counted_is_kept(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from varquet.profiles import profiling

    counting = profiling.profile

    def slow(*args: Any, **options: Any) -> vq.Profile:
        Path("late.json").write_text("mine", encoding="utf-8")
        return counting(*args, **options)

    monkeypatch.setattr(profiling, "profile", slow)
    for args in (["analyze", "next.ndjson", "--plan", "late.json"], ["plan", "evolve", "plan.json", "next.ndjson", "-o", "late.json"]):
        Path("late.json").unlink(missing_ok=True)
        assert main(args) == 2
        assert "got late.json, which exists" in capsys.readouterr().err
        assert Path("late.json").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("name", ["plan.json", "./plan.json", "link.json"])
def test_a_plan_evolves_in_place(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """What -o names is PLAN itself, however it is written: that needs no --force."""
    if name == "link.json":
        Path(name).symlink_to("plan.json")
    said(capsys, "plan", "evolve", "plan.json", "next.ndjson", "-o", name)
    assert vq.Plan.load("plan.json").step == 2
    assert Path("link.json").is_symlink() == (name == "link.json")
    said(capsys, "plan", "evolve", name, "next.ndjson", "-o", "plan.json")
    assert vq.Plan.load("plan.json").step == 2


def test_a_folder_is_no_place_for_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    Path("folder").mkdir()
    for args in (["analyze", "next.ndjson", "--plan"], ["plan", "evolve", "plan.json", "next.ndjson", "-o"]):
        assert main([*args, "folder", "--force"]) == 2
        assert "expected the name of an ordinary file, got folder" in capsys.readouterr().err
        assert main([*args, "none/plan.json"]) == 2
        assert "expected a file in an existing directory, got none/plan.json" in capsys.readouterr().err
