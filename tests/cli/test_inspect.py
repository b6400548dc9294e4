"""`varquet inspect`: the tree for people, the tables for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import varquet as vq
from varquet.cli.main import main
from varquet.parquet.inspect import inspect

TEXTS = ['{"a":1,"b":[{"c":"x"},{"c":null}],"z":0}', '{"a":"one"}', "null", None, '{"a":2}', '{"a":2,"b":[]}', '{"a":3}', '{"a":4}']


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    column = vq.parse_json(pa.array(TEXTS, pa.string()))
    shape = pa.schema([vq.variant_field("v"), vq.variant_field("w")])
    vq.write(pa.table([column, column], schema=shape), "rows.parquet", {"v": "a bigint, b array<struct<c: string>>"}, row_group_rows=5)


def lines(capsys: pytest.CaptureFixture[str], *args: str) -> list[str]:
    assert main(["inspect", *args]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return [line.rstrip() for line in out.splitlines()]


def test_people_get_a_tree(capsys: pytest.CaptureFixture[str]) -> None:
    shown = lines(capsys, "rows.parquet", "--column", "v")
    rows = {row["path"]: row for row in inspect("rows.parquet").paths.to_pylist() if row["column"] == "v"}
    assert shown[0] == f"1 file, 8 rows, 2 row groups, {Path('rows.parquet').stat().st_size:,} bytes"
    assert shown[2].startswith("v  ")
    cells = [line.split() for line in shown[3:]]
    assert cells[0] == ["path", "type", "rows", "typed", "partial", "residual", "null", "missing", "bytes", "min", "..", "max"]
    size = {path: f"{row['compressed_bytes']:,}" for path, row in rows.items()}
    assert cells[1:] == [
        ["$", "struct", "8", "75.0%", "12.5%", "-", "12.5%", "12.5%", size["$"]],
        ["a", "bigint", "8", "62.5%", "-", "12.5%", "-", "25.0%", size["$.a"], "1", "..", "4"],
        ["b", "array", "8", "25.0%", "-", "-", "-", "75.0%", size["$.b"]],
        ["[*]", "struct", "2", "100%", "-", "-", "-", "-", size["$.b[*]"]],
        ["c", "string", "2", "50.0%", "-", "-", "50.0%", "-", size["$.b[*].c"], "x", "..", "x"],
    ]
    assert [len(line) - len(line.lstrip()) for line in shown[4:]] == [0, 2, 2, 4, 6]


def test_every_variant_column_has_its_tree(capsys: pytest.CaptureFixture[str]) -> None:
    shown = lines(capsys, "rows.parquet")
    assert [line.split()[0] for line in shown if line.startswith(("v ", "w "))] == ["v", "w"]
    assert shown[-1].split()[:7] == ["$", "variant", "8", "-", "75.0%", "12.5%", "12.5%"]


def test_programs_get_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "rows.parquet", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    facts = json.loads(out)
    found = inspect("rows.parquet")
    assert facts["paths"] == found.paths.to_pylist()
    assert facts["row_groups"] == found.row_groups.to_pylist()
    assert [(file["path"], file["shredding"]) for file in facts["files"]] == [
        ("rows.parquet", {"v": "a bigint, b array<struct<c: string>>", "w": "variant"})
    ]


def test_several_files(capsys: pytest.CaptureFixture[str]) -> None:
    column = vq.parse_json(pa.array(['{"a":true}']))
    vq.write(pa.table([column], schema=pa.schema([vq.variant_field("v")])), "z.parquet", {"v": "a boolean"})
    shown = lines(capsys, "rows.parquet", "z.parquet", "--column", "v")
    assert shown[0].startswith("2 files, 9 rows, 3 row groups, ")
    assert any("bigint | boolean" in line for line in shown)


def test_names_and_values_that_control_terminals(capsys: pytest.CaptureFixture[str]) -> None:
    column = vq.parse_json(pa.array([json.dumps({"\x1b[2J[bold]": "a\nb" + "c" * 100})]))
    schema = vq.ShreddingSchema.from_python({"\x1b[2J[bold]": "string"})
    vq.write(pa.table([column], schema=pa.schema([vq.variant_field("v")])), "odd.parquet", {"v": schema})
    (line,) = lines(capsys, "odd.parquet")[5:]
    assert "[2J[bold]" in line
    assert "a\\nbccccccc" in line
    assert "…" in line
    assert "\x1b" not in line


def test_a_file_without_variants(capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pa.table({"x": [1]}), "plain.parquet")
    assert lines(capsys, "plain.parquet")[1:] == ["no Variant column"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["none"], "expected a Parquet file, a folder of them or a glob, got 'none', which names none"),
        (["rows.parquet", "--column", "x"], "expected the name of a Variant or shredded map, got 'x'. Hint: they are 'v', 'w'"),
    ],
)
def test_what_cannot_be_inspected(args: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", *args]) == 2
    assert capsys.readouterr() == ("", f"error: {message}\n")
