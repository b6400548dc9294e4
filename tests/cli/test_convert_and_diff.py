"""`varquet convert` and `varquet diff`: what people and programs see, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from varquet.cli.main import main


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.ndjson").write_text('{"a":1,"b":"x"}\n{"a":"one"}\nnull\n', encoding="utf-8")
    assert main(["ingest", "rows.ndjson", "draft.parquet", "--layout", "draft", "--schema", "a bigint", "--json"]) == 0


@pytest.fixture
def out(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    capsys.readouterr()
    return capsys


@pytest.mark.parametrize("layout", ["parquet", "draft", "unshredded", "json"])
def test_every_layout_and_they_are_equal(out: pytest.CaptureFixture[str], layout: str) -> None:
    assert main(["convert", "draft.parquet", "made.parquet", "--layout", layout, "--json"]) == 0
    made = json.loads(out.readouterr().out)
    assert (made["layout"], made["rows"], len(made["files"])) == (layout, 3, 1)
    assert made["files"][0]["contents"]["v"]["values"] == 3
    assert main(["diff", "draft.parquet", "made.parquet", "--json"]) == 0
    assert json.loads(out.readouterr().out)["equal"] is True


def test_people_see_what_was_verified(out: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "draft.parquet", "made.parquet", "--schema", "b string"]) == 0
    shown, errors = out.readouterr()
    assert errors == ""
    lines = dict(line.split(maxsplit=1) for line in shown.splitlines())
    assert (lines["files"], lines["rows"], lines["layout"]) == ("1", "3", "parquet")
    assert lines["verified"].startswith("made.parquet: v 3 values ")


def test_differences_are_findings(out: pytest.CaptureFixture[str]) -> None:
    Path("other.ndjson").write_text('{"a":1,"b":"y"}\n{"a":"one"}\nnull\n5\n', encoding="utf-8")
    assert main(["ingest", "other.ndjson", "other.parquet", "--json"]) == 0
    out.readouterr()
    assert main(["diff", "draft.parquet", "other.parquet"]) == 1
    shown, errors = out.readouterr()
    assert errors == ""
    assert [line.rstrip() for line in shown.splitlines()] == [
        "rows     3 and 4",
        "columns  v",
        "result   2 rows differ",
        "",
        "at       v $['b']",
        'A        draft.parquet row 0: "x"',
        'B        other.parquet row 0: "y"',
        "",
        "A        no such row",
        "B        other.parquet row 3",
    ]
    assert main(["diff", "draft.parquet", "other.parquet", "--json", "-n", "1"]) == 1
    found = json.loads(out.readouterr().out)
    assert (found["equal"], found["differing_rows"], len(found["differences"])) == (False, 2, 1)


def test_failures(out: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "draft.parquet", "draft.parquet"]) == 2
    assert "which is read" in out.readouterr().err
    assert main(["diff", "draft.parquet", "nowhere.parquet"]) == 2
    assert "nowhere.parquet" in out.readouterr().err
    assert main(["convert", "draft.parquet", "made.parquet", "--schema", "a bigint,"]) == 2
    assert not Path("made.parquet").exists()
