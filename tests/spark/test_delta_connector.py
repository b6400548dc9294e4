"""Delta's own connector for Spark and varquet read and write each other's tables, and decode each other's statistics.

The connector comes from Maven; all of it runs in one driver, `tests/delta_spark.py`, before the tests look at what it has seen.
"""

from __future__ import annotations

import decimal
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import varquet as vq
from varquet.delta.snapshot import load
from varquet.parquet.folder import Folder
from varquet.tables.delta import history, optimize
from varquet.tables.write import write_table

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'varquet[spark]'")

pytestmark = [pytest.mark.spark, pytest.mark.maven, pytest.mark.slow]

PLAN = {"v": "id bigint, kind string, long string, mixed bigint, price decimal(9,2), user struct<id: bigint, name: string>"}
DRIVER = Path(__file__).parent.parent / "delta_spark.py"


def text_of(n: int) -> str:
    row = {"id": n, "kind": "abc"[n % 3], "long": "ü" * 31 + f"-{n:09d}-long", "mixed": n if n % 5 else "text", "list": [n]}
    return json.dumps({**row, "user": {"id": n % 7, "name": f"u{n}"}})[:-1] + f', "price": {n}.25' + "}"


def ours(path: Path, first: int, count: int, **options: Any) -> None:
    numbers = range(first, first + count)
    rows = pa.table(
        {
            "n": pa.array(numbers, pa.int64()),
            "v": [None if n % 11 == 10 else text_of(n) for n in numbers],
            "at": pa.array([1_600_000_000_123_456 + n for n in numbers], pa.timestamp("us", "UTC")),
            "price": pa.array([decimal.Decimal(n) / 4 for n in numbers], pa.decimal128(20, 2)),
            "part": pa.array([f"ü {n % 2}/=%" for n in numbers]),
        }
    )
    write_table(rows, path, PLAN, table="delta", mode="append", json_columns=["v"], **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of ours, what the connector has seen in them, and tables of its own."""
    made = tmp_path_factory.mktemp("delta")
    for k in range(4):
        ours(made / "commits", 20 * k, 20)
    for k in range(12):
        ours(made / "checkpoint", 20 * k, 20)
    for version in range(10):
        (made / "checkpoint" / "_delta_log" / f"{version:020d}.json").unlink()
    for k in range(3):
        ours(made / "partitions", 20 * k, 20, partition_by=["part", "at"] if k < 0 else ["part"])
    done = subprocess.run([sys.executable, str(DRIVER), str(made)], capture_output=True, text=True, check=False)
    assert (made / "answer.json").exists(), done.stderr[-5000:]
    skipped = json.loads((made / "answer.json").read_text()).get("skipped")
    if skipped:
        pytest.skip(skipped)
    return made


@pytest.fixture(scope="module")
def answer(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "answer.json").read_text())
    return found


OURS = {"commits": 80, "checkpoint": 240, "partitions": 60}


def plain(text: str | None) -> Any:
    return None if text is None else json.loads(text)


@pytest.mark.parametrize("name", OURS)
def test_delta_spark_reads_our_tables(answer: dict[str, Any], name: str) -> None:
    rows = answer[name]["rows"]
    assert [int(row[0]) for row in rows] == list(range(OURS[name]))
    for n, row in enumerate(rows):
        assert plain(row[1]) == (None if n % 11 == 10 else json.loads(text_of(n)))
        assert row[3] == f"{n / 4:.2f}" and row[4] == f"ü {n % 2}/=%" and row[2].startswith("2020-09-13 12:26:40.123")
    if name != "checkpoint":
        assert answer[name]["first"] == rows[:20]


@pytest.mark.parametrize("name", OURS)
def test_delta_spark_describes_our_tables(answer: dict[str, Any], name: str) -> None:
    detail, told = answer[name]["detail"], answer[name]["history"]
    assert detail["numFiles"] == len(answer[name]["statistics"]) and detail["minReaderVersion"] == 3
    assert {"variantType", "variantShredding"} <= set(detail["tableFeatures"])
    assert detail["properties"]["delta.enableVariantShredding"] == "true" and "varquet.plan" in detail["properties"]
    assert detail["partitionColumns"] == (["part"] if name == "partitions" else [])
    assert all(one["engineInfo"].startswith("varquet/") for one in told)
    assert told[0]["operation"] == "WRITE" and told[0]["operationMetrics"]["numOutputRows"] == "20"


def brute_force(path: Path) -> dict[str, Any]:
    """What the statistics of a file must be, from its rows."""
    table = vq.scan(path).table()
    found = [plain(text) for text in vq.to_json(table["v"]).to_pylist()]
    there = [one for one in found if one is not None]
    values = {
        "$['id']": [one["id"] for one in there],
        "$['kind']": [one["kind"] for one in there],
        "$['long']": [one["long"] for one in there],
        "$['price']": [one["price"] for one in there],
        "$['user']['id']": [one["user"]["id"] for one in there],
        "$['user']['name']": [one["user"]["name"] for one in there],
    }
    # `mixed` is not of one type, and has none.
    cut = {name: [one[:32] if isinstance(one, str) else one for one in some] for name, some in values.items()}
    highs = {name: max(some) for name, some in cut.items()}
    highs["$['long']"] += "\U0010ffff"
    numbers = table["n"].to_pylist()
    return {
        "numRecords": len(found),
        "low": min(numbers),
        "high": max(numbers),
        "lows": {name: min(some) for name, some in cut.items()},
        "highs": highs,
        "nulls": found.count(None),
        "dearest": f"{max(table['price'].to_pylist()):.2f}",
    }


@pytest.mark.parametrize(("name", "kind"), [("commits", "statistics"), ("checkpoint", "statistics"), ("checkpoint", "parsed")])
def test_our_statistics_decode_in_delta_spark_and_are_right(folder: Path, answer: dict[str, Any], name: str, kind: str) -> None:
    told = answer[name][kind]
    assert len(told) == {"statistics": {"commits": 4, "checkpoint": 12}[name], "parsed": 11}[kind]
    for path, found in told.items():
        expected = brute_force(folder / name / path)
        assert {key: found[key] for key in expected} == expected
        assert found["first"].startswith("2020-09-13 12:26:40.123")


@pytest.mark.parametrize("name", OURS)
def test_we_read_what_delta_spark_has_added(folder: Path, name: str) -> None:
    path = folder / name
    found = vq.scan(path).select(["n", "v"]).where("n = 5000").table()
    assert [plain(text) for text in vq.to_json(found["v"]).to_pylist()] == [{"id": 5000, "new": [1]}]
    assert vq.scan(path).count() == OURS[name] + 1
    assert history(path)[0].engine is not None and "Delta-Lake" in (history(path)[0].engine or "")
    query = vq.scan(path).select("n").where("$.id::bigint = 5000")
    assert query.table()["n"].to_pylist() == [5000] and query.explain().files_opened <= 2
    # And then we add to what it has added to.
    ours(path, 6000, 2, **({"partition_by": ["part"]} if name == "partitions" else {}))
    assert vq.scan(path).where("n >= 5000").count() == 3


def same(path: Path, rows: list[list[Any]]) -> bool:
    found = vq.scan(path).select(["n", "v"]).table()
    mine = sorted(zip(found["n"].to_pylist(), vq.to_json(found["v"]).to_pylist(), strict=True))
    return [(n, plain(text)) for n, text in mine] == [(int(row[0]), plain(row[1])) for row in rows]


def test_we_read_shredded_tables_with_deletion_vectors(folder: Path, answer: dict[str, Any]) -> None:
    path, rows = folder / "deleted", answer["deleted"]["rows"]
    assert len(rows) == 400 - 40 - 10
    files = load(Folder.at(path)).files.values()
    assert any(add.deletion_vector is not None for add in files)
    assert same(path, rows) and vq.scan(path).count() == len(rows)
    query = vq.scan(path).select("n").where("$.a::bigint between 210 and 219")
    assert sorted(query.table()["n"].to_pylist()) == [n for n in range(210, 220) if n % 10 != 7]
    assert query.explain().files_opened <= 2 < len(files)
    assert vq.scan(path).where("$.b.c = 'x127'").count() == 0
    texts = vq.scan(path).select("n").where("$.b.c = 'x333' and part = 'o d/d'")
    assert texts.table()["n"].to_pylist() == [333] and texts.explain().files_opened < len(files) // 2
    # Compacted, the rows are the same, and no row is deleted any more.
    optimize(path)
    assert same(path, rows)
    assert all(add.deletion_vector is None for add in load(Folder.at(path)).files.values())


def test_we_read_checkpoints_of_the_second_version(folder: Path, answer: dict[str, Any]) -> None:
    path = folder / "second"
    log = path / "_delta_log"
    checkpoints = [file for file in log.glob(f"{'[0-9]' * 20}.checkpoint.*") if len(file.name) > 50]
    assert checkpoints
    newest = max(int(file.name[:20]) for file in checkpoints)
    for version in range(newest):
        (log / f"{version:020d}.json").unlink()
    assert same(path, answer["second"]["rows"])
