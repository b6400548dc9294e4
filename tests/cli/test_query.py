"""`varquet query`: rows, in every format, and what is skipped."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import varquet as vq
from varquet.cli.main import main


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [f'{{"id": {n}, "user": {{"name": "u{n}"}}, "odd": {n}.5}}' for n in range(30)]
    table = pa.Table.from_arrays([vq.parse_json(pa.array(texts))], schema=pa.schema([vq.variant_field("v")]))
    vq.write(table, "rows.parquet", {"v": "id bigint, user struct<name: string>"}, row_group_rows=10)


def rows(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[object]:
    assert main(["query", "rows.parquet", *arguments]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_rows_as_ndjson(capsys: pytest.CaptureFixture[str]) -> None:
    assert rows(capsys, "-s", "$.id bigint", "-s", "who = $.user", "-w", "$.id >= 28") == [
        {"id": 28, "who": {"name": "u28"}},
        {"id": 29, "who": {"name": "u29"}},
    ]
    assert rows(capsys, "-s", "$.odd double", "-w", "$.id > 3", "-w", "$.user.name = 'u7'") == [{"odd": 7.5}]
    assert rows(capsys, "-n", "1") == [{"v": {"id": 0, "odd": 0.5, "user": {"name": "u0"}}}]
    assert rows(capsys, "-w", "$.id > 100") == []


def test_rows_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "rows.parquet", "-s", "$.id bigint", "-s", "$.user", "-w", "$.id = 4", "--format", "table"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [["id", "user"], ["4", '{"name":', '"u4"}']]


def test_files(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("out.parquet", "out.arrow", "out.ndjson"):
        assert main(["query", "rows.parquet", "-s", "$.id bigint", "-w", "$.id < 3", "-o", name]) == 0
    assert vq.read("out.parquet")["id"].to_pylist() == [0, 1, 2]
    assert pa.ipc.open_stream(Path("out.arrow").read_bytes()).read_all()["id"].to_pylist() == [0, 1, 2]
    assert Path("out.ndjson").read_text() == '{"id":0}\n{"id":1}\n{"id":2}\n'
    assert main(["query", "rows.parquet", "-o", "out.parquet"]) == 2
    assert main(["query", "rows.parquet", "-o", "out.ndjson"]) == 2
    assert main(["query", "rows.parquet", "-o", "out.parquet", "--force"]) == 0
    assert vq.read("out.parquet").num_rows == 30
    assert main(["query", "rows.parquet", "--format", "parquet"]) == 2
    assert "expected a file for Parquet" in capsys.readouterr().err


def test_counts_and_explanations(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "rows.parquet", "--count", "-w", "$.id < 12", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"rows": 12}
    assert main(["query", "rows.parquet", "--explain", "-w", "$.id < 10"]) == 0
    assert "row groups  1 of 3 are read" in capsys.readouterr().out
    assert main(["query", "rows.parquet", "--explain", "-w", "$.id < 10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["row_groups_read"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-w", "$.id <"], "expected a literal, got the end at character 6"),
        (["-s", "$.id blob"], "expected the SQL name of a primitive type, got 'blob'"),
        (["-s", "nope"], "expected the name of a column, got 'nope'"),
        (["-s", "$.id", "-s", "$.a.id"], "expected columns with different names, got 'id' twice"),
    ],
)
def test_mistakes(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(["query", "rows.parquet", *arguments]) == 2
    assert message in capsys.readouterr().err
