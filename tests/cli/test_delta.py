"""`varquet ingest --table delta`, `query`, `history`, `optimize`, `vacuum` and `convert --table` on Delta tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import varquet as vq
from varquet.cli.main import main


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    path = tmp_path / "raw.ndjson"
    path.write_text("\n".join(json.dumps({"id": row, "kind": "ab"[row % 2], "x": row if row % 3 else str(row)}) for row in range(100)))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert main([*(str(one) for one in arguments), "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_tables_are_made_looked_at_and_kept_small(raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "table"
    made = run(capsys, "ingest", raw, table, "--table", "delta", "--partition-by", "$.kind string", "--property", "delta.appendOnly=true")
    assert (made["rows"], made["files"], made["schemas"]) == (100, 2, {"v": "id bigint, kind string, x bigint"})
    again = run(capsys, "ingest", raw, table, "--table", "delta", "--partition-by", "$.kind string")
    assert again["rows"] == 100 and vq.scan(table).where("kind = 'a'").count() == 100
    versions = [(one["version"], one["operation"], one["added_files"]) for one in run(capsys, "history", table)["versions"]]
    assert versions == [
        (1, "WRITE", 2),
        (0, "CREATE TABLE AS SELECT", 2),
    ]
    assert len(run(capsys, "history", table, "-n", "1")["versions"]) == 1
    done = run(capsys, "optimize", table, "--sort-by", "$.id bigint")
    assert (done["version"], done["removed_files"], done["added_files"], done["rows"]) == (2, 4, 2, 200)
    assert main(["query", str(table), "--count", "--version", "0"]) == 0
    assert "100" in capsys.readouterr().out
    assert main(["vacuum", str(table), "--older-than", "0"]) == 2
    assert "its retention" in capsys.readouterr().err
    would = run(capsys, "vacuum", table, "--older-than", "0", "--force", "--dry-run")
    assert len(would["files"]) == 4 and len(list(table.rglob("*.parquet"))) == 6
    gone = run(capsys, "vacuum", table, "--older-than", "0", "--force")
    assert gone["files"] == would["files"] and vq.scan(table).count() == 200 and len(list(table.rglob("*.parquet"))) == 2
    assert main(["history", str(table)]) == 0 and "version 2" in capsys.readouterr().out


def test_files_become_a_table(raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, table = tmp_path / "events.parquet", tmp_path / "table"
    run(capsys, "ingest", raw, file)
    made = run(capsys, "convert", file, table, "--table", "delta")
    assert (made["rows"], made["schemas"]) == (100, {"v": "id bigint, kind string, x bigint"})
    left, right = (vq.to_json(vq.scan(path).table()["v"]).to_pylist() for path in (file, table))
    assert sorted(left) == sorted(right)
    assert main(["convert", str(file), str(table), "--table", "delta"]) == 2
    assert "expected a new table" in capsys.readouterr().err
    run(capsys, "convert", file, table, "--table", "delta", "--force", "--schema", "id bigint")
    assert vq.scan(table).count() == 100


def test_a_plain_table_is_made_without_spark(raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "table"
    for _ in range(2):
        run(capsys, "ingest", raw, table, "--table", "directory")
    assert vq.scan(table).count() == 200 and (table / "_varquet" / "plan.json").exists()
    run(capsys, "ingest", raw, table, "--table", "directory", "--force", "--unshredded")
    assert vq.scan(table).count() == 100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ingest", "RAW", "TABLE", "--partition-by", "$.kind string"], "expected --table or --spark"),
        (["ingest", "RAW", "TABLE", "--table", "delta", "--property", "nothing"], "expected --property NAME=VALUE"),
        (["ingest", "RAW", "TABLE", "--table", "directory", "--merge-schema"], "expected no properties and no merge_schema"),
        (["ingest", "RAW", "TABLE", "--table", "delta", "--on-error", "quarantine"], "expected --spark with --on-error quarantine"),
        (["history", "RAW"], "expected a Delta table"),
        (["optimize", "TABLE"], "expected a Delta table"),
        (["vacuum", "PLAIN", "--dry-run"], "for Delta tables"),
        (["query", "PLAIN", "--version", "3"], "expected a Delta table for a version"),
    ],
)
def test_mistakes_are_told(raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    run(capsys, "ingest", raw, tmp_path / "PLAIN", "--table", "directory")
    named = {"RAW": str(raw), "TABLE": str(tmp_path / "TABLE"), "PLAIN": str(tmp_path / "PLAIN")}
    assert main([named.get(one, one) for one in arguments]) == 2
    assert message in capsys.readouterr().err


def test_files_of_a_delta_table_are_not_taken_for_its_rows(raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "table"
    run(capsys, "ingest", raw, table, "--table", "delta")
    for arguments in (["cat", str(table)], ["inspect", str(table)], ["ingest", str(table), str(tmp_path / "x.parquet")]):
        assert main(arguments) == 2
        assert "a Delta table, of whose files its log tells which count" in capsys.readouterr().err
    with pytest.raises(vq.VarquetError, match="a Delta table"):
        vq.read(table)
