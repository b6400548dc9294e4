"""Versions of a Delta table: time travel, history, and what several who change it at once may do."""

from __future__ import annotations

import datetime
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from delta_tables import PLAN, actions, append, commit_by_hand, events, find, info, metadata, numbers, properties_set

import varquet as vq
from varquet.delta import transactions
from varquet.delta.files import put_new
from varquet.delta.snapshot import Snapshot, load
from varquet.delta.transactions import Change, latest
from varquet.errors import ConflictError, UnsupportedTypeError, VarquetError
from varquet.parquet.folder import Folder
from varquet.tables.base import Commit
from varquet.tables.delta import DeltaTable, delete, history, optimize
from varquet.tables.write import write_table
from varquet.tables.write_job import plan_of
from varquet.tables.writing import Settings, TableWriter


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events"


def dated(path: Path, version: int, moment: datetime.datetime) -> None:
    os.utime(path / "_delta_log" / f"{version:020d}.json", (moment.timestamp(),) * 2)


def test_time_travel(path: Path) -> None:
    noon = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC)
    for version in range(4):
        append(path, 10 * version)
        dated(path, version, noon + datetime.timedelta(hours=version))
    for version in range(4):
        expected = list(range(10 * version + 10))
        assert numbers(path, version=version) == expected
        assert numbers(path, timestamp=noon + datetime.timedelta(hours=version)) == expected
        assert numbers(path, timestamp=noon + datetime.timedelta(hours=version, minutes=59)) == expected
    assert numbers(path, timestamp="2026-01-31T13:30:00Z") == list(range(20))
    assert numbers(path, timestamp="2026-01-31T14:30:00+01:00") == list(range(20))
    assert numbers(path, timestamp="2026-01-31 12:00:00") == list(range(10))
    for wrong, message in (
        ({"version": 4}, "from 0 to 3, got 4"),
        ({"version": -1}, "from 0 to 3, got -1"),
        ({"timestamp": "2026-01-31T11:59:59Z"}, "expected a time at which .* was there"),
        ({"timestamp": "yesterday"}, "expected a time such as"),
        ({"version": 1, "timestamp": "2026-01-31T13:30:00Z"}, "got both"),
    ):
        with pytest.raises(UnsupportedTypeError, match=message):
            vq.scan(path, **wrong)


def test_versions_of_what_is_no_table(tmp_path: Path) -> None:
    vq.write(pa.table({"n": [1]}), tmp_path / "a.parquet")
    with pytest.raises(UnsupportedTypeError, match="expected a Delta table for a version of it"):
        vq.scan(tmp_path, version=0)
    for ask in (history, optimize, lambda path: load(Folder.at(path))):
        with pytest.raises(UnsupportedTypeError, match="expected a Delta table"):
            ask(tmp_path)
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(UnsupportedTypeError, match="whose _delta_log has no commits"):
        vq.scan(tmp_path)


def test_history_tells_what_was_done(path: Path) -> None:
    append(path)
    append(path, 10)
    append(path, 0, 5, mode="overwrite")
    delete(path, "n >= 0")
    told = history(path)
    assert [one.version for one in told] == [3, 2, 1, 0]
    assert [one.operation for one in told] == ["DELETE", "WRITE", "WRITE", "CREATE TABLE AS SELECT"]
    assert [(one.added, one.removed) for one in told] == [(0, 1), (1, 2), (1, 0), (1, 0)]
    assert [one.is_blind_append for one in told] == [False, False, True, True]
    assert told[0].metrics["numDeletedRows"] == "5" and told[1].metrics["numOutputRows"] == "5"
    assert all((one.engine or "").startswith("varquet/") for one in told)
    assert abs(told[0].timestamp.timestamp() - time.time()) < 600
    assert [one.version for one in history(path, 2)] == [3, 2] and told[0].to_dict()["removed_files"] == 1
    json.dumps([one.to_dict() for one in told])


def test_times_in_commits_go_before_those_of_files(path: Path) -> None:
    append(path, properties={"delta.enableInCommitTimestamps": "true"})
    # A clock that is behind: times in the log still ascend.
    future = int(time.time() * 1000) + 3_600_000
    first = actions(path, 0)
    first[0]["commitInfo"]["inCommitTimestamp"] = future
    commit_by_hand(path, 0, *first)
    append(path, 10)
    append(path, 20)
    assert [info(path, version)["inCommitTimestamp"] for version in range(3)] == [future, future + 1, future + 2]
    assert list(actions(path, 2)[0]) == ["commitInfo"]
    moment = datetime.datetime.fromtimestamp((future + 1) / 1000, datetime.UTC)
    assert numbers(path, timestamp=moment) == list(range(20))
    assert history(path)[1].timestamp == moment
    append(path.with_name("without"))
    assert "inCommitTimestamp" not in info(path.with_name("without"), 0)


def test_damaged_commits_are_named(path: Path) -> None:
    append(path)
    append(path, 10)
    log = path / "_delta_log"
    (log / f"{1:020d}.json").write_text('{"add": \n')
    with pytest.raises(VarquetError, match="expected an action in line 1 of _delta_log/00000000000000000001.json"):
        vq.scan(path)
    (log / f"{1:020d}.json").write_text("[1]\n")
    with pytest.raises(VarquetError, match="expected an action in line 1"):
        vq.scan(path)
    append(path.with_name("other"))
    (log / f"{1:020d}.json").rename(log / f"{2:020d}.json")
    with pytest.raises(VarquetError, match="expected all commits of .* from 0 to 2, got none of 1"):
        vq.scan(path)


# What others do meanwhile


class Meanwhile:
    """Lets something be done right before the next commit is put."""

    def __init__(self, patch: pytest.MonkeyPatch, *what: Callable[[], Any]) -> None:
        self.waiting = list(what)
        patch.setattr(transactions, "put_new", self.put)

    def put(self, folder: Folder, path: str, data: bytes) -> bool:
        if self.waiting:
            self.waiting.pop(0)()
        return put_new(folder, path, data)


def test_appends_go_behind_those_of_others(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(path)
    Meanwhile(monkeypatch, lambda: append(path, 100), lambda: append(path, 200))
    append(path, 10)
    assert numbers(path) == [*range(20), *range(100, 110), *range(200, 210)]
    # The second of them was in between as well: it was put while the first was being put.
    assert len(history(path)) == 4 and info(path, 3)["readVersion"] == 2


def test_appends_go_behind_deletes_and_overwrites(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(path)
    Meanwhile(monkeypatch, lambda: delete(path, "n < 10"))
    append(path, 10)
    assert numbers(path) == list(range(10, 20))
    Meanwhile(monkeypatch, lambda: append(path, 30, mode="overwrite"))
    append(path, 20)
    assert numbers(path) == list(range(20, 40))


def add_column(path: Path, version: int) -> None:
    def change(_: dict[str, Any], told: dict[str, Any]) -> None:
        schema = json.loads(told["schemaString"])
        schema["fields"].append({"name": "new", "type": "string", "nullable": True, "metadata": {}})
        told["schemaString"] = json.dumps(schema)

    properties_set(path, version, change)


CONFLICTS: dict[str, tuple[Callable[[Path], Any], Callable[[Path], Any], str]] = {
    "an append and other columns": (lambda path: append(path, 20), lambda path: add_column(path, 2), "has changed the schema"),
    "an overwrite and an append": (
        lambda path: append(path, 20, mode="overwrite"),
        lambda path: append(path, 30),
        "has added rows that this change is about",
    ),
    "two deletes of a file": (lambda path: delete(path, "n < 10"), lambda path: delete(path, "n < 10"), "has removed or changed a file"),
    "a delete and rows that it is about": (lambda path: delete(path, "n < 10"), lambda path: append(path, 5, 2), "has added rows"),
    "an overwrite and a delete": (
        lambda path: append(path, 20, mode="overwrite"),
        lambda path: delete(path, "n < 10"),
        "has removed",
    ),
    "compaction and a delete": (optimize, lambda path: delete(path, "n < 10"), "has removed or changed a file"),
    "compaction twice": (optimize, optimize, "has removed or changed a file"),
}


@pytest.mark.parametrize("case", CONFLICTS)
def test_changes_that_conflict_fail(path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, theirs, message = CONFLICTS[case]
    append(path)
    append(path, 10)
    Meanwhile(monkeypatch, lambda: theirs(path))
    with pytest.raises(ConflictError, match=f"{message}.*Hint: run it again"):
        mine(path)
    assert len(history(path)) == 3
    # What failed leaves no file behind, and the table can be read.
    named = {add["path"] for version in range(3) for add in find(path, version, "add")}
    assert {file.name for file in path.rglob("*.parquet")} == named
    vq.scan(path).table()


FITTING: dict[str, tuple[Callable[[Path], Any], Callable[[Path], Any], list[int]]] = {
    "compaction and an append": (optimize, lambda path: append(path, 20), list(range(30))),
    "a delete and other rows": (lambda path: delete(path, "n < 10"), lambda path: append(path, 20), list(range(10, 30))),
    "deletes of two files": (lambda path: delete(path, "n < 10"), lambda path: delete(path, "n >= 10"), []),
}


@pytest.mark.parametrize("case", FITTING)
def test_changes_that_do_not_conflict_fit(path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, theirs, expected = FITTING[case]
    append(path)
    append(path, 10)
    Meanwhile(monkeypatch, lambda: theirs(path))
    mine(path)
    assert numbers(path) == expected


def test_overwrites_of_different_partitions_fit(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(first: int, day: int, mode: Any = "overwrite-partitions") -> None:
        rows = events(first, 2, day=pa.array([day] * 2, pa.int32()))
        write_table(rows, path, PLAN, table="delta", mode=mode, partition_by="day", json_columns=["v"])

    write(0, 1, "append")
    write(2, 2, "append")
    Meanwhile(monkeypatch, lambda: write(20, 2))
    write(10, 1)
    assert numbers(path) == [10, 11, 20, 21]
    Meanwhile(monkeypatch, lambda: write(40, 1, "append"))
    with pytest.raises(ConflictError, match="has added rows"):
        write(30, 1)


def test_of_two_who_make_a_table_one_makes_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for mode in ("error", "append", "overwrite"):
        made = path.with_name(mode)
        Meanwhile(monkeypatch, lambda made=made: append(made, 100, partition_by={"kind": "$.kind string"}))  # type: ignore[misc]
        with pytest.raises(ConflictError, match="made meanwhile"):
            append(made, 0, mode=mode)
        assert numbers(made) == list(range(100, 110)) and len(list(made.rglob("*.parquet"))) == 3


def test_a_batch_of_a_stream_is_committed_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(path)

    def batch(number: int, first: int, query: str = "query") -> None:
        table = DeltaTable(Folder.at(path))
        job = table.begin()
        table.open(job)
        rows = events(first, 10)
        rows = rows.set_column(1, vq.variant_field("v"), vq.parse_json(rows["v"]))
        writer = TableWriter(table, job, rows.schema, Settings(plan_of(PLAN)))
        for some in rows.to_batches():
            writer.write(some)
        table.commit(job, Commit(writer.close(), batch=(query, number)))

    batch(0, 10)
    batch(0, 10)
    batch(1, 20)
    batch(0, 10)
    assert numbers(path) == list(range(30))
    assert find(path, 2, "txn")[0].items() >= {"appId": "query", "version": 1}.items()
    # Two at once, as a stream that was taken for dead: one of them commits.
    Meanwhile(monkeypatch, lambda: batch(2, 30))
    batch(2, 30)
    batch(0, 40, "another")
    assert numbers(path) == list(range(50))
    assert len(list(path.glob("part-*.parquet"))) == 5
    assert latest(Folder.at(path)).transaction("query") == 2


def test_a_store_that_does_more_than_it_says(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(path)

    def answers(answer: Callable[[], bool]) -> Callable[..., bool]:
        def put(folder: Folder, name: str, data: bytes) -> bool:
            put_new(folder, name, data)
            return answer()

        return put

    def lost() -> bool:
        raise OSError("no answer")

    # Its client has asked twice, and found what the first one has put.
    monkeypatch.setattr(transactions, "put_new", answers(lambda: False))
    append(path, 10)
    monkeypatch.setattr(transactions, "put_new", answers(lost))
    append(path, 20)
    assert numbers(path) == list(range(30)) and len(history(path)) == 3

    def nothing(*_: Any) -> bool:
        raise OSError("no answer")

    monkeypatch.setattr(transactions, "put_new", nothing)
    with pytest.raises(OSError, match="no answer"):
        append(path, 30)
    assert numbers(path) == list(range(30)) and len(list(path.rglob("*.parquet"))) == 3


@pytest.mark.parametrize("error", [KeyboardInterrupt, TypeError])
def test_what_fails_behind_a_commit_does_not_undo_it(path: Path, error: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    append(path, properties={"delta.checkpointInterval": "1"})

    def stop(*_: Any) -> None:
        raise error

    monkeypatch.setattr(transactions, "write_checkpoint", stop)
    if error is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt):
            append(path, 10)
    else:
        with pytest.warns(RuntimeWarning, match="version 1 of .* is committed, but has no checkpoint: TypeError"):
            append(path, 10)
    assert numbers(path) == list(range(20))


def test_a_change_that_is_nothing_is_no_version(path: Path) -> None:
    append(path)
    table = DeltaTable(Folder.at(path))
    assert transactions.commit(table.snapshot(), lambda _: None).version == 0
    assert delete(path, "n > 1000").version == 0 and len(history(path)) == 1


def test_a_change_knows_what_it_removes() -> None:
    change = Change("X", [{"remove": {"path": "a"}}, {"add": {"path": "b"}}, {"txn": {"appId": "q", "version": 3}}])
    assert change.removed == ["a"]
    assert not Snapshot(Folder("/nowhere")).exists


def test_deltalake_opens_and_lists_our_tables(path: Path) -> None:
    deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed")
    for k in range(12):
        append(path, 10 * k, partition_by={"kind": "$.kind string"}, properties={"owner": "me"})
    table = deltalake.DeltaTable(str(path))
    assert table.version() == 11
    expected = sorted(add["path"] for version in range(12) for add in find(path, version, "add"))
    assert sorted(os.path.relpath(uri.removeprefix("file://"), path) for uri in table.file_uris()) == expected
    assert [field.name for field in table.schema().fields] == ["n", "v", "kind"]
    assert table.metadata().id == metadata(path)["id"] and table.metadata().configuration["owner"] == "me"
    assert table.metadata().partition_columns == ["kind"]
    assert [one["operation"] for one in table.history()] == ["WRITE"] * 11 + ["CREATE TABLE AS SELECT"]
    adds = pa.table(table.get_add_actions(flatten=True))
    assert sum(adds["num_records"].to_pylist()) == 120
    assert {"variantType", "variantShredding"} <= set(table.protocol().reader_features)
    old = deltalake.DeltaTable(str(path), version=5)
    assert old.version() == 5 and len(old.file_uris()) == 18
