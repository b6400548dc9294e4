"""`varquet analyze`: the table for people, everything for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import varquet as vq
from varquet.cli.main import main


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": n, "user": {"name": "a"}, "v": "x" if n == 7 else n} for n in range(20)]
    Path("rows.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"rare":1}\n', encoding="utf-8")


def analyzed(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, object]:
    assert main(["analyze", "rows.ndjson", *args, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    found: dict[str, object] = json.loads(out)
    return found


def test_programs_get_everything(capsys: pytest.CaptureFixture[str]) -> None:
    found = analyzed(capsys)
    assert (found["rows"], found["policy"], found["schema"]) == (21, "varquet", "id bigint, user struct<name: string>, v bigint")
    assert found["digest"] == vq.profile("rows.ndjson").digest()
    paths = {path["path"]: path for path in found["paths"]}  # type: ignore[attr-defined]
    assert paths["$.v"]["types"] == {"int8": 19, "string": 1}
    assert paths["$.v"]["typed_share"] == 0.95
    assert paths["$.rare"]["reason"] == "in fewer than 10% of the values"


@pytest.mark.parametrize(
    ("policy", "schema"),
    [
        ("iceberg", "id tinyint, user struct<name: string>"),
        ("iceberg-1.11", "id tinyint, user struct<name: string>, v tinyint"),
        ("spark", "id bigint, user struct<name: string>, v variant"),
    ],
)
def test_other_policies(capsys: pytest.CaptureFixture[str], policy: str, schema: str) -> None:
    assert analyzed(capsys, "--policy", policy)["schema"] == schema


def test_hints(capsys: pytest.CaptureFixture[str]) -> None:
    found = analyzed(capsys, "--hint", "always:$.rare", "--hint", "never:$.user", "--hint", "$.id=int")
    assert found["schema"] == "id int, rare bigint, v bigint"
    assert main(["analyze", "rows.ndjson", "--hint", "oops"]) == 2
    assert "expected a hint such as" in capsys.readouterr().err


def test_people_get_a_table_and_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "rows.ndjson"]) == 0
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "21 rows, 0 SQL NULLs, 6 paths"
    assert lines[1].split() == ["path", "types", "values", "distinct", "bytes", "column", "why"]
    assert lines[-1] == "id bigint, user struct<name: string>, v bigint"
    row, conflict = [line for line in lines if line.startswith("$.v")]
    assert conflict.split()[:3] == ["$.v", "int8", "19"]
    assert "bigint" in row and "95.0% of its values; the rest stays in the residual" in row
    assert main(["ingest", "rows.ndjson", "rows.parquet", "--schema", lines[-1], "--json"]) == 0
