"""`varquet analyze`: the table for people, everything for programs."""

from __future__ import annotations

import json
import math
import re
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from variant_columns import column_of, nodes_column

import varquet as vq
from varquet.cli.main import main
from varquet.types import BY_NAME
from varquet.variant.model import Node, Scalar


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


def test_hints_for_paths_that_no_row_has(capsys: pytest.CaptureFixture[str]) -> None:
    hints = ("--hint", "$.new.at=timestamp", "--hint", "always:$.nowhere")
    found = analyzed(capsys, *hints)
    assert found["schema"] == "id bigint, new struct<at: timestamp>, user struct<name: string>, v bigint"
    paths = {path["path"]: path for path in found["paths"]}  # type: ignore[attr-defined]
    hinted = paths["$.new.at"]
    assert (hinted["chosen"], hinted["type"], hinted["reason"]) == (True, "timestamp", "by a hint")
    assert (hinted["count"], hinted["rows"], hinted["bytes"], hinted["types"], hinted["distinct"]) == (0, 0, 0, {}, 0)
    assert "$.nowhere" not in paths
    assert main(["analyze", "rows.ndjson", *hints]) == 0
    assert re.search(r"\$\.new\.at +0\.0%", capsys.readouterr().out)


def test_programs_get_every_fact_of_every_path(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[Any] = [
        {"n": 5, "l": [1, 2]}, {"n": -(10**12), "l": []}, {"n": None}, None,
        {"n": "ümläute", "d": 12.50}, {"d": 0.125, "n": "a"}, {"n": 1e300},
    ]  # fmt: skip
    Path("all.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert main(["analyze", "all.ndjson", "--policy", "iceberg", "--json"]) == 0
    paths = {path.pop("path"): path for path in json.loads(capsys.readouterr().out)["paths"]}
    assert paths["$.n"] == {
        "chosen": False, "type": None, "reason": "mixed: int64 2, string 2, double 1", "frequency": 5 / 6, "typed_share": 0.0,
        "count": 6, "rows": 6, "nulls": 1, "bytes": vq.profile("all.ndjson")["$.n"].bytes,
        "types": {"null": 1, "int8": 1, "int64": 1, "double": 1, "string": 2},
        "first_rows": {"null": 2, "int8": 0, "int64": 1, "double": 6, "string": 4},
        "integer_range": [-(10**12), 5], "decimal_digits": None, "array_lengths": None,
        "bounds": {"int8": ["5", "5"], "int64": ["-1000000000000"] * 2, "double": ["1e+300"] * 2, "string": ["a", "ümläut"]},
        "distinct": 5,
    }  # fmt: skip
    decimals, arrays, elements = (paths[path] for path in ("$.d", "$.l", "$.l[*]"))
    assert (decimals["decimal_digits"], decimals["bounds"], decimals["integer_range"]) == ([2, 3], {"decimal4": ["0.125", "12.5"]}, None)
    assert (arrays["array_lengths"], arrays["bounds"], arrays["distinct"]) == ([0, 2, 2], {}, 0)
    assert (elements["count"], elements["rows"], elements["first_rows"]) == (2, 1, {"int8": 0})
    assert paths["$"]["types"] == {"null": 1, "object": 6}


@pytest.mark.parametrize(
    ("name", "values", "bounds"),
    [
        ("true", [True, True], ["true", "true"]),
        ("int64", [-(2**63), 2**63 - 1], ["-9223372036854775808", "9223372036854775807"]),
        ("float", [0.10000000149011612, math.inf, math.nan], ["0.1e0", "Infinity"]),
        ("double", [-math.inf, 1.5], ["-Infinity", "1.5e0"]),
        ("double", [math.nan], None),
        ("decimal16", [Decimal("-12345678901234567890.5"), Decimal("0.25")], ["-1.234567890123457e+19", "0.25"]),
        ("date", [0, 20194], ["1970-01-01", "2025-04-16"]),
        ("time", [0, 45_234_123_456], ["00:00:00.000000", "12:33:54.123456"]),
        ("timestamp", [-1, 0], ["1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00.000000Z"]),
        ("timestamp_ntz_nanos", [1, 2], ["1970-01-01T00:00:00.000000001", "1970-01-01T00:00:00.000000002"]),
        ("binary", [b"\x00\x01", b"\xff" * 20], ["0001", "ff" * 8]),
        ("string", ["", "1234567\U0001f600"], ["", "1234567"]),
        ("uuid", [uuid.UUID(int=0), uuid.UUID(int=1 << 127)], ["0" * 16, "8" + "0" * 15]),
    ],
)
def test_bounds_are_text_that_json_has(capsys: pytest.CaptureFixture[str], name: str, values: list[Any], bounds: list[str] | None) -> None:
    nodes: list[Node] = [Scalar(BY_NAME[name], value) for value in values]
    vq.write(pa.table({"v": nodes_column(nodes)}), "typed.parquet", {"v": "variant"})
    assert main(["analyze", "typed.parquet", "--json"]) == 0
    # Strict JSON: Python would also read what no other program does.
    (root,) = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["paths"]
    assert root["bounds"] == ({} if bounds is None else {"boolean" if name == "true" else name: bounds})


@pytest.mark.parametrize(
    ("octets", "bounds"),
    [
        (b"\x44" + (-1).to_bytes(8, "little", signed=True), {"time": ["-1", "-1"]}),
        (b"\x09a\xff", {"string": ["a\ufffd"] * 2}),
    ],
)
def test_bounds_of_what_is_not_valid(capsys: pytest.CaptureFixture[str], octets: bytes, bounds: dict[str, list[str]]) -> None:
    """Counting does not validate: a time of no day is shown as its number, a byte of no character as what stands for such."""
    vq.write(pa.table({"v": column_of([(b"\x01\x00\x00", octets)])}), "bad.parquet", {"v": "variant"})
    assert main(["analyze", "bad.parquet", "--json"]) == 0
    (root,) = json.loads(capsys.readouterr().out)["paths"]
    assert root["bounds"] == bounds


def test_help_says_what_the_facts_are(capsys: pytest.CaptureFixture[str]) -> None:
    known = analyzed(capsys)["paths"][0]  # type: ignore[index]
    assert main(["analyze", "--help"]) == 0
    said = set(re.findall(r"\w+", capsys.readouterr().out))
    decided = {"path", "chosen", "type", "reason", "frequency", "typed_share"}
    assert known.keys() - decided <= said


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
