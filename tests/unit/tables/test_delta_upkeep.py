"""The upkeep of Delta tables: deleting, compacting, clustering, and vacuum, which never takes what is needed."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta_tables import append, commit_by_hand, find, info, metadata, numbers, properties_set, texts

import varquet as vq
from varquet.delta.snapshot import load
from varquet.errors import UnsupportedTypeError
from varquet.parquet.folder import Folder
from varquet.tables.delta import delete, history, optimize, vacuum
from varquet.tables.write import write_table

WEEK = 7 * 24 * 3600


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events"


def data_files(path: Path) -> list[str]:
    return sorted(str(file.relative_to(path)) for file in path.rglob("*.parquet") if "_delta_log" not in str(file))


def test_delete_takes_whole_files(path: Path) -> None:
    for k in range(3):
        append(path, 10 * k)
    done = delete(path, "$.id::bigint between 10 and 19")
    assert (done.removed_files, done.added_files, done.rows, done.version) == (1, 0, 10, 3)
    assert numbers(path) == [*range(10), *range(20, 30)] and numbers(path, version=2) == list(range(30))
    assert info(path, 3)["operation"] == "DELETE" and find(path, 3, "remove")[0]["dataChange"]
    with pytest.raises(UnsupportedTypeError, match="true of 5 of 10 rows of .*Hint: partition the table"):
        delete(path, "n < 5")
    assert delete(path, vq.column("n") > 1000).removed_files == 0
    assert len(history(path)) == 4


def test_delete_by_partitions_opens_no_other_files(path: Path) -> None:
    append(path, 0, 9, partition_by={"kind": "$.kind string"})
    for file in data_files(path):
        if "kind=a" not in file:
            (path / file).rename(path / file.replace(".parquet", ".moved"))
    assert delete(path, "kind = 'a'").rows == 3
    assert len(load(Folder.at(path)).files) == 2


def test_small_files_become_a_large_one(path: Path) -> None:
    for k in range(6):
        append(path, 10 * k)
    before = texts(path)
    done = optimize(path)
    assert (done.removed_files, done.added_files, done.rows) == (6, 1, 60)
    assert texts(path) == before and numbers(path, version=5) == list(range(60))
    assert not any(action["dataChange"] for kind in ("add", "remove") for action in find(path, 6, kind))
    assert info(path, 6)["operation"] == "OPTIMIZE" and info(path, 6)["operationMetrics"]["numRemovedFiles"] == "6"
    known = json.loads(find(path, 6, "add")[0]["stats"])
    assert (known["numRecords"], known["minValues"]["n"], known["maxValues"]["n"]) == (60, 0, 59)
    assert optimize(path).removed_files == 0 and len(history(path)) == 7


def test_partitions_are_compacted_apart(path: Path) -> None:
    for k in range(3):
        append(path, 9 * k, 9, partition_by={"kind": "$.kind string"})
    before = texts(path)
    assert optimize(path).added_files == 3
    assert texts(path) == before
    assert sorted(add["partitionValues"]["kind"] for add in find(path, 3, "add")) == ["a", "b", "c"]
    assert vq.scan(path).where("kind = 'b'").explain().files_opened == 1


def test_large_files_are_left_alone(path: Path) -> None:
    append(path, 0, 3000)
    large = (path / data_files(path)[0]).stat().st_size
    append(path, 3000, 10)
    append(path, 3010, 10)
    done = optimize(path, file_bytes=large)
    assert (done.removed_files, done.added_files) == (2, 1) and numbers(path) == list(range(3020))


def shredded(path: Path) -> set[str]:
    names = [add.location for add in load(Folder.at(path)).files.values()]
    return {json.loads(pq.read_metadata(path / name).metadata[b"varquet.schemas"])["v"] for name in names}


def test_files_are_shredded_by_the_plan(path: Path) -> None:
    append(path, 0, 100)
    before = texts(path)
    assert optimize(path, reshred=True).removed_files == 0
    done = optimize(path, {"v": "id bigint, odd array<bigint>"}, reshred=True)
    assert done.removed_files == 1 and texts(path) == before
    plan = vq.Plan.from_json(metadata(path, 1)["configuration"]["varquet.plan"])
    assert plan.schemas["v"].ddl() == "id bigint, odd array<bigint>"
    # Rows that are added are shredded like that, too.
    append(path, 100, 5, plan=None)
    added = path / find(path, 2, "add")[0]["path"]
    assert "odd" in str(pq.read_schema(added)) and "kind" not in str(pq.read_schema(added).field("v").type).split("typed_value")[1]


def test_a_table_without_a_plan_is_shredded_by_its_rows(path: Path) -> None:
    for k in range(2):
        append(path, 100 * k, 100)
    told = metadata(path)
    del told["configuration"]["varquet.plan"]
    commit_by_hand(path, 2, {"metaData": told})
    before = texts(path)
    assert optimize(path, sort_by="$.user.id bigint").added_files == 1
    assert texts(path) == before
    assert "typed_value" in str(pq.read_schema(path / find(path, 3, "add")[0]["path"]))


def test_a_table_that_forbids_shredding_stays_unshredded(path: Path) -> None:
    for k in range(2):
        append(path, 10 * k, properties={"delta.enableVariantShredding": "false"})
    before = texts(path)
    optimize(path, {"v": "id bigint"})
    assert texts(path) == before
    assert all("typed_value" not in str(pq.read_schema(path / file)) for file in data_files(path))


@pytest.mark.parametrize("key", ["$.user.id bigint", "$.user.name string", "n"])
def test_sorted_files_are_skipped_better(path: Path, key: str) -> None:
    for k in range(8):
        append(path, 1000 * k, 1000)
    before = texts(path)
    where = {"n": "n = 4242", "$.user.id bigint": "$.user.id::bigint = 3", "$.user.name string": "$.user.name = 'u4242'"}[key]
    found = sorted(vq.scan(path).where(where).select("n").table()["n"].to_pylist())
    size = sum((path / file).stat().st_size for file in data_files(path))
    done = optimize(path, sort_by=key, file_bytes=size // 6)
    query = vq.scan(path).where(where).select("n")
    assert done.added_files > 3 and texts(path) == before
    assert sorted(query.table()["n"].to_pylist()) == found
    assert query.explain().files_opened <= 2 < done.added_files
    assert len(json.loads(info(path, 8)["operationParameters"]["sortBy"])) == 1


def test_rows_without_the_sorted_value_are_kept(path: Path) -> None:
    rows = [{"id": k} if k % 3 else {"other": k} for k in range(2000)]
    given = pa.table({"n": list(range(2000)), "v": [None if k % 10 == 0 else json.dumps(row) for k, row in enumerate(rows)]})
    for k in range(4):
        write_table(given.slice(500 * k, 500), path, {"v": "id bigint"}, table="delta", mode="append")
    before = texts_or_none(path)
    assert optimize(path, sort_by="$.id bigint", file_bytes=8000).added_files > 1
    assert texts_or_none(path) == before


def texts_or_none(path: Path) -> list[tuple[int, str | None]]:
    found = vq.scan(path).select(["n", "v"]).table()
    return sorted(zip(found["n"].to_pylist(), vq.to_json(found["v"]).to_pylist(), strict=True), key=lambda row: row[0])


# Vacuum


def aged(path: Path, seconds: float = 2 * WEEK) -> None:
    """Let all files be older."""
    for file in path.rglob("*"):
        if file.is_file():
            then = file.stat().st_mtime - seconds
            os.utime(file, (then, then))


def removed_before(path: Path, version: int, seconds: float) -> None:
    """Let the files that a version has removed be removed earlier."""
    name = path / "_delta_log" / f"{version:020d}.json"
    actions = [json.loads(line) for line in name.read_text().splitlines()]
    for action in actions:
        if "remove" in action:
            action["remove"]["deletionTimestamp"] -= int(seconds * 1000)
    commit_by_hand(path, version, *actions)


def test_vacuum_waits_for_the_retention(path: Path) -> None:
    append(path)
    append(path, 10, mode="overwrite")
    stray = path / "part-00000-stray.parquet"
    stray.write_bytes(b"never committed")
    assert vacuum(path).files == []
    with pytest.raises(UnsupportedTypeError, match="at least 604,800 s, its retention, got 60 s.*Hint: force"):
        vacuum(path, 60)
    aged(path)
    # The file is old, and was removed a moment ago.
    assert vacuum(path, dry_run=True).files == ["part-00000-stray.parquet"]
    removed_before(path, 1, 2 * WEEK)
    dry = vacuum(path, dry_run=True)
    assert dry.is_dry_run and len(dry.files) == 2 and dry.bytes > 0 and len(data_files(path)) == 3
    assert sorted(vacuum(path).files) == sorted(dry.files)
    assert data_files(path) == [find(path, 1, "add")[0]["path"]] and numbers(path) == list(range(10, 20))
    with pytest.raises(FileNotFoundError):
        vq.scan(path, version=0).table()


def test_vacuum_by_force(path: Path) -> None:
    append(path)
    append(path, 10, mode="overwrite")
    time.sleep(0.01)
    assert len(vacuum(path, 0, force=True).files) == 1
    assert numbers(path) == list(range(10, 20))


def test_vacuum_by_the_retention_of_the_table(path: Path) -> None:
    append(path, properties={"delta.deletedFileRetentionDuration": "interval 1 hour"})
    append(path, 10, mode="overwrite")
    aged(path, 7200)
    removed_before(path, 1, 1800)
    assert vacuum(path).files == []
    removed_before(path, 1, 1801)
    assert len(vacuum(path).files) == 1
    with pytest.raises(UnsupportedTypeError, match="at least 3,600 s"):
        vacuum(path, 3599)


def test_vacuum_keeps_what_is_needed(path: Path) -> None:
    append(path, 0, 9, partition_by={"_kind": "$.kind string"})
    # Others name files by whole paths, and write characters of URIs differently.
    adds = find(path, 0, "add")
    whole = [{**adds[0], "path": str(path / adds[0]["path"])}, {**adds[1], "path": f"file://{path}/{adds[1]['path']}"}]
    odd = {**adds[2], "path": adds[2]["path"].replace("=", "%3D")}
    told = [{"remove": {"path": add["path"], "deletionTimestamp": 1, "dataChange": True}} for add in adds]
    commit_by_hand(path, 1, *told, *({"add": add} for add in (*whole, odd)))
    (path / "_quarantine").mkdir()
    (path / "_quarantine" / "bad.parquet").write_bytes(b"bad records")
    stray = path / "_kind=a" / "part-stray.parquet"
    stray.write_bytes(b"never committed")
    aged(path)
    before = {str(file) for file in path.rglob("*") if file.is_file()}
    assert vacuum(path).files == ["_kind=a/part-stray.parquet"]
    assert {str(file) for file in path.rglob("*") if file.is_file()} == before - {str(stray)}
    assert numbers(path) == list(range(9))


def test_vacuum_of_what_it_does_not_understand(path: Path) -> None:
    append(path)

    def change(protocol: dict[str, Any], _: dict[str, Any]) -> None:
        protocol["writerFeatures"].append("futureFeature")

    properties_set(path, 1, change)
    aged(path)
    with pytest.raises(UnsupportedTypeError, match="futureFeature"):
        vacuum(path)
    assert len(data_files(path)) == 1
