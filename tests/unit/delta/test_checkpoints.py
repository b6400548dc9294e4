"""Checkpoints and the clean-up of logs: a table reads the same by checkpoints of any form, damaged or not, as by its commits."""

from __future__ import annotations

import datetime
import decimal
import json
import os
import shutil
import time
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta_tables import PLAN, actions, append, commit_by_hand, events, find, metadata, numbers, properties_set

import varquet as vq
from varquet.delta.checkpoints import clean_log, write_checkpoint
from varquet.delta.durations import milliseconds
from varquet.delta.files import LogFiles
from varquet.delta.snapshot import Snapshot, load, newer
from varquet.delta.z85 import decode_variant
from varquet.errors import ConflictError, UnsupportedTypeError, VarquetError
from varquet.parquet.folder import Folder
from varquet.tables.base import Commit
from varquet.tables.delta import DeltaTable, delete, history
from varquet.tables.write import write_table

DAY = 24 * 3600


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events"


def last_version(path: Path) -> int:
    """The version of the last checkpoint, as the log says."""
    return int(json.loads((path / "_delta_log" / "_last_checkpoint").read_text())["version"])


def log(path: Path, version: int, ending: str = "json") -> Path:
    return path / "_delta_log" / f"{version:020d}.{ending}"


def made(path: Path, versions: int, **options: Any) -> Path:
    """A table with so many versions, one file each; the last but one version deletes the first file."""
    for version in range(versions):
        if version == versions - 2:
            delete(path, "n < 10")
        else:
            append(path, 10 * version, **options)
    return path


def state(snapshot: Snapshot) -> tuple[Any, ...]:
    """What a snapshot says, whichever way it was read."""
    files = {key: {**add.to_dict(), "dataChange": None} for key, add in snapshot.files.items()}
    removed = {key: data["deletionTimestamp"] for key, data in snapshot.removed.items()}
    return snapshot.version, snapshot.protocol, snapshot.metadata, files, removed, snapshot.transactions, snapshot.domains


def without_checkpoints(path: Path) -> Path:
    copy = path.with_name(f"{path.name}-{uuid.uuid4()}")
    shutil.copytree(path, copy)
    for file in (copy / "_delta_log").rglob("*checkpoint*"):
        if file.is_file():
            file.unlink()
    return copy


def by_commits(path: Path, version: int | None = None) -> tuple[Any, ...]:
    return state(load(Folder.at(without_checkpoints(path)), version))


def test_a_checkpoint_says_what_its_commits_say(path: Path) -> None:
    made(path, 13)
    assert log(path, 10, "checkpoint.parquet").exists() and last_version(path) == 10
    told = json.loads((path / "_delta_log" / "_last_checkpoint").read_text())
    assert told["version"] == 10 and told["size"] == 13 and told["numOfAddFiles"] == 11
    for version in range(9):
        log(path, version).rename(log(path, version, "moved"))
    expected = without_checkpoints(path)
    for version in range(9):
        log(expected, version, "moved").rename(log(expected, version))
    assert state(load(Folder.at(path))) == state(load(Folder.at(expected)))
    assert numbers(path) == [*range(10, 110), *range(120, 130)] and numbers(path, version=10) == list(range(110))
    append(path, 200)
    assert numbers(path, version=12) == [*range(10, 110), *range(120, 130)]
    with pytest.raises(VarquetError, match="expected all commits .* from 0 to 5, got none of 0.*older versions can be cleaned away"):
        vq.scan(path, version=5)


def test_no_checksum_of_another_file_is_left(path: Path) -> None:
    append(path)
    (path / "_delta_log" / "._last_checkpoint.crc").write_bytes(b"as Hadoop writes it")
    write_checkpoint(load(Folder.at(path)))
    assert not (path / "_delta_log" / "._last_checkpoint.crc").exists() and last_version(path) == 0


def test_the_interval_of_checkpoints(path: Path) -> None:
    made(path, 7, properties={"delta.checkpointInterval": "3"})
    assert [one.version for one in LogFiles.of(Folder.at(path)).checkpoints] == [3, 6]


def test_everything_is_in_a_checkpoint(path: Path) -> None:
    made(path, 5, partition_by={"kind": "$.kind string"}, properties={"a.b": "c"})
    add = find(path, 0, "add")[0]
    vector = {"storageType": "i", "pathOrInlineDv": "x" * 20, "sizeInBytes": 16, "cardinality": 2}
    commit_by_hand(
        path,
        5,
        {"txn": {"appId": "q", "version": 7, "lastUpdated": 5}},
        {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}},
        {"domainMetadata": {"domain": "gone", "configuration": "{}", "removed": True}},
        {"add": {**add, "path": "with%20vector.parquet", "deletionVector": vector, "tags": {"t": "u"}, "baseRowId": 3}},
        {"remove": {"path": "old.parquet", "deletionTimestamp": 1, "dataChange": True}},
    )
    before = load(Folder.at(path))
    write_checkpoint(before)
    for version in range(6):
        log(path, version).unlink()
    after = load(Folder.at(path))
    expected = state(before)
    # A tombstone goes when the retention of removed files is over.
    old = ("old.parquet", None)
    assert old in before.removed and old not in after.removed
    assert state(after)[:4] == expected[:4] and state(after)[5:] == expected[5:]
    assert after.transaction("q") == 7 and list(after.domains) == ["d"]
    (found,) = [one for one in after.files.values() if one.deletion_vector is not None]
    assert (found.deletion_vector or {})["cardinality"] == 2 and found.tags == {"t": "u"} and found.others == {"baseRowId": 3}


def test_statistics_are_columns_of_a_checkpoint(path: Path) -> None:
    moments = [datetime.datetime(2020, 1, k, 1, 2, 3, 456_000, tzinfo=datetime.UTC) for k in (1, 2)]
    columns = {
        "day": pa.array([1, 1], pa.int32()),
        "at": pa.array(moments, pa.timestamp("us", "UTC")),
        "ntz": pa.array([one.replace(tzinfo=None) for one in moments], pa.timestamp("us")),
        "date": pa.array([one.date() for one in moments]),
        "dec": pa.array([decimal.Decimal("-1.25"), decimal.Decimal("99.75")], pa.decimal128(30, 2)),
        "x": pa.array([1.5, 2.5]),
        "s": pa.array([{"t": "a", "flag": True}, {"t": "b", "flag": None}]),
    }
    write_table(events(0, 2, **columns), path, PLAN, table="delta", partition_by="day", properties={"delta.checkpointInterval": "1"})
    append_more = events(2, 2, **columns)
    write_table(append_more, path, PLAN, mode="append", partition_by="day")
    (text, parsed, values) = next(
        (add["stats"], add["stats_parsed"], add["partitionValues_parsed"])
        for add in pq.read_table(log(path, 1, "checkpoint.parquet"))["add"].to_pylist()
        if add is not None and '"n":0' in add["stats"]
    )
    assert values == {"day": 1} and parsed["numRecords"] == 2
    low, high, counts = parsed["minValues"], parsed["maxValues"], parsed["nullCount"]
    assert (low["n"], high["n"], low["at"], high["ntz"]) == (0, 1, moments[0], moments[1].replace(tzinfo=None))
    assert (low["date"], high["dec"], low["x"], low["s"]) == (moments[0].date(), decimal.Decimal("99.75"), 1.5, {"t": "a"})
    assert counts["s"] == {"t": 0, "flag": 1} and counts["v"] == 0
    for name, found in (("minValues", low), ("maxValues", high)):
        variant = vq.Variant(found["v"]["metadata"], found["v"]["value"])
        assert variant == decode_variant(json.loads(text)[name]["v"])
    # The column of Variants says that it is one.
    assert str(pq.ParquetFile(log(path, 1, "checkpoint.parquet")).schema).count("Variant") == 2


@pytest.mark.parametrize("as_json", ["true", "false"])
@pytest.mark.parametrize("as_struct", ["true", "false"])
def test_statistics_as_text_and_as_columns(path: Path, as_json: str, as_struct: str) -> None:
    properties = {"delta.checkpoint.writeStatsAsJson": as_json, "delta.checkpoint.writeStatsAsStruct": as_struct}
    for k in range(11):
        append(path, 10 * k, properties=properties)
    for version in range(11):
        log(path, version).unlink()
    add = pq.read_table(log(path, 10, "checkpoint.parquet"))["add"].to_pylist()[-1]
    assert (add["stats"] is None, "stats_parsed" in add) == (as_json == "false", as_struct == "true")
    query = vq.scan(path).select("n").where("$.id::bigint = 55 and n > 50")
    assert query.table()["n"].to_pylist() == [55]
    assert query.explain().files_opened == (11 if (as_json, as_struct) == ("false", "false") else 1)


def test_damaged_checkpoints_are_passed_by(path: Path) -> None:
    made(path, 13, properties={"delta.checkpointInterval": "5"})
    expected = by_commits(path)
    newest = log(path, 10, "checkpoint.parquet")
    for damage in (b"", b"PAR1", newest.read_bytes()[:-100], b"x" * 1000):
        newest.write_bytes(damage)
        assert state(load(Folder.at(path))) == expected
    log(path, 0).unlink()
    assert state(load(Folder.at(path))) == expected
    log(path, 5, "checkpoint.parquet").write_bytes(b"")
    with pytest.raises(VarquetError, match="expected all commits .* from 0 to 12, got none of 0.*a checkpoint is damaged"):
        load(Folder.at(path))


def test_what_the_last_checkpoint_says_is_a_hint(path: Path) -> None:
    made(path, 13)
    expected = by_commits(path)
    for text in ("", "{", "[]", '{"version": "x"}', '{"version": 999}', '{"version": 3}'):
        (path / "_delta_log" / "_last_checkpoint").write_text(text)
        assert state(load(Folder.at(path))) == expected
    (path / "_delta_log" / "_last_checkpoint").unlink()
    assert state(load(Folder.at(path))) == expected


def test_checkpoints_in_parts(path: Path) -> None:
    made(path, 13)
    expected = by_commits(path)
    whole = log(path, 10, "checkpoint.parquet")
    rows = pq.read_table(whole)
    whole.unlink()
    cuts = [0, 1, 5, rows.num_rows]
    parts = [log(path, 10, f"checkpoint.{k:010d}.{3:010d}.parquet") for k in (1, 2, 3)]
    for part, first, last in zip(parts, cuts, cuts[1:], strict=False):
        pq.write_table(rows.slice(first, last - first), part)
    for version in range(10):
        log(path, version).unlink()
    assert state(load(Folder.at(path))) == expected
    parts[1].unlink()
    with pytest.raises(VarquetError, match="got none of 0"):
        load(Folder.at(path))


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_second_version_checkpoints(path: Path, form: str) -> None:
    made(path, 13)
    expected = by_commits(path)
    whole = log(path, 10, "checkpoint.parquet")
    rows = pq.read_table(whole)
    whole.unlink()
    (path / "_delta_log" / "_sidecars").mkdir()
    is_file = pa.array([row["add"] is not None or row["remove"] is not None for row in rows.to_pylist()])
    files = rows.filter(is_file).select(["add", "remove"])
    sidecars: list[dict[str, Any]] = []
    for part in (files.slice(0, 4), files.slice(4)):
        name = f"{uuid.uuid4()}.parquet"
        place = path / "_delta_log" / "_sidecars" / name
        pq.write_table(part, place)
        sidecars.append({"sidecar": {"path": name, "sizeInBytes": place.stat().st_size, "modificationTime": 0, "tags": {}}})
    others = [find(path, 0, "protocol")[0], find(path, 0, "metaData")[0]]
    top: list[dict[str, Any]] = [{"checkpointMetadata": {"version": 10}}, {"protocol": others[0]}, {"metaData": others[1]}, *sidecars]
    place = log(path, 10, f"checkpoint.{uuid.uuid4()}.{form}")
    if form == "json":
        place.write_text("".join(json.dumps(action) + "\n" for action in top))
    else:
        kind = pa.struct([("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64())])
        named = pa.array([None] * 2 + [{**one["sidecar"]} for one in sidecars], kind)
        first = rows.filter(pa.array([row["protocol"] is not None or row["metaData"] is not None for row in rows.to_pylist()]))
        columns = {name: pa.concat_arrays([*first[name].chunks, pa.nulls(2, first[name].type)]) for name in ("protocol", "metaData")}
        pq.write_table(pa.table({**columns, "sidecar": named}), place)
    for version in range(10):
        log(path, version).unlink()
    assert state(load(Folder.at(path))) == expected
    append(path, 500)
    assert numbers(path)[-1] == 509
    (path / "_delta_log" / "_sidecars" / sidecars[0]["sidecar"]["path"]).unlink()
    with pytest.raises(VarquetError, match="a checkpoint is damaged"):
        load(Folder.at(path))


def test_statistics_of_shredded_variants_in_a_checkpoint_are_not_taken_for_others(path: Path) -> None:
    append(path)
    append(path, 10)
    for version in (0, 1):
        for action in (told := actions(path, version)):
            if "add" in action:
                known = json.loads(action["add"]["stats"])
                # As a reader of Parquet gives a Variant whose paths are columns of their own.
                known["minValues"]["v"] = known["maxValues"]["v"] = {"metadata": "", "value": None, "typed_value": {"$['id']": 1}}
                action["add"]["stats"] = json.dumps(known)
        commit_by_hand(path, version, *told)
    assert vq.scan(path).where("$.id::bigint = 15").count() == 1


# Old commits


def aged(path: Path, versions: range, days: float) -> None:
    for version in versions:
        then = time.time() - days * DAY
        for file in (path / "_delta_log").glob(f"{version:020d}.*"):
            os.utime(file, (then, then))


def commits(path: Path) -> list[int]:
    return sorted(LogFiles.of(Folder.at(path)).commits)


def test_old_commits_go(path: Path) -> None:
    made(path, 25)
    assert clean_log(load(Folder.at(path))) == [] and commits(path) == list(range(25))
    aged(path, range(15), 40)
    log(path, 3, "crc").write_text("{}")
    expected = state(load(Folder.at(path)))
    gone = clean_log(load(Folder.at(path)))
    # Versions 10 to 14 are old, too; but nothing between them and the checkpoint that they need may go.
    assert commits(path) == list(range(10, 25)) and len(gone) == 11
    assert [one.version for one in LogFiles.of(Folder.at(path)).checkpoints] == [10, 20]
    assert state(load(Folder.at(path))) == expected
    for version in (10, 14, 20):
        assert numbers(path, version=version) == list(range(10 * version + 10))
    with pytest.raises(VarquetError, match="older versions can be cleaned away"):
        vq.scan(path, version=9)
    assert [one.version for one in history(path)][-1] == 10


def test_commits_go_with_the_next_checkpoint(path: Path) -> None:
    made(path, 15, properties={"delta.logRetentionDuration": "interval 2 days"})
    aged(path, range(15), 4)
    for k in range(15, 20):
        append(path, 10 * k)
    assert commits(path)[0] == 0
    append(path, 200)
    assert commits(path) == list(range(10, 21))
    assert numbers(path) == [*range(10, 130), *range(140, 210)]


@pytest.mark.parametrize(
    ("properties", "days"),
    [({"delta.enableExpiredLogCleanup": "false"}, 400), ({"delta.logRetentionDuration": "interval 20 weeks"}, 100), ({}, 29)],
)
def test_commits_stay_that_are_to_stay(path: Path, properties: dict[str, str], days: float) -> None:
    made(path, 12, properties=properties)
    aged(path, range(11), days)
    assert clean_log(load(Folder.at(path))) == [] and commits(path) == list(range(12))


def test_commits_behind_one_that_stays_stay(path: Path) -> None:
    # As after a restore of some files, which are newer than those behind them.
    made(path, 12)
    aged(path, range(12), 40)
    aged(path, range(4, 5), 0)
    assert clean_log(load(Folder.at(path))) == [] and commits(path) == list(range(12))


def test_commits_without_a_checkpoint_stay(path: Path) -> None:
    made(path, 5)
    aged(path, range(5), 400)
    assert clean_log(load(Folder.at(path))) == [] and commits(path) == list(range(5))


def test_who_has_slept_through_a_clean_up_notices(path: Path) -> None:
    append(path, properties={"delta.logRetentionDuration": "interval 1 day"})
    table = DeltaTable(Folder.at(path))
    job, before = table.begin(), table.seen()
    for k in range(1, 15):
        append(path, 10 * k)
    aged(path, range(15), 10)
    clean_log(load(Folder.at(path)))
    assert commits(path)[0] == 10
    assert newer(before).version == 14
    with pytest.raises(ConflictError, match="its log was cleaned"):
        table.commit(job, Commit([]))
    assert commits(path) == list(range(10, 15))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("interval 30 days", 30 * DAY * 1000),
        ("INTERVAL 1 WEEK", 7 * DAY * 1000),
        ("7 days", 7 * DAY * 1000),
        ("interval 1 day 2 hours 3 minutes", (DAY + 7380) * 1000),
        ("interval 5 milliseconds", 5),
        (None, 123),
    ],
)
def test_durations(text: str | None, expected: int) -> None:
    assert milliseconds(text, 123) == expected


@pytest.mark.parametrize("text", ["", "interval", "soon", "3", "interval 2 months", "1 day and more"])
def test_durations_that_are_none(text: str) -> None:
    with pytest.raises(UnsupportedTypeError, match="expected a duration"):
        milliseconds(text, 0)


def test_properties_that_make_no_sense_do_not_stop_commits(path: Path) -> None:
    append(path)

    def change(_: dict[str, Any], told: dict[str, Any]) -> None:
        told["configuration"] |= {"delta.checkpointInterval": "often", "delta.logRetentionDuration": "long"}

    properties_set(path, 1, change)
    with pytest.warns(RuntimeWarning, match="is committed, but has no checkpoint: ValueError"):
        append(path, 10)
    assert numbers(path) == list(range(20)) and metadata(path, 1)["configuration"]["delta.checkpointInterval"] == "often"
