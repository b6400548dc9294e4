"""Tables that are folders: what is committed appears, what is not leaves nothing, whatever dies on the way."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs
import pytest

import varquet as vq
from varquet.errors import UnsupportedTypeError, VarquetError
from varquet.parquet.folder import Folder
from varquet.profiles.plan import ColumnPlan, Plan
from varquet.tables.base import Commit, StagedFile
from varquet.tables.directory import DirectoryTable
from varquet.tables.jobs import Job, is_alive
from varquet.tables.writing import Key, Settings, TableWriter

LINES = [f'{{"id": {row}, "kind": "{"abc"[row % 3]}", "odd": {row if row % 10 else "null"}}}' for row in range(1000)]
PLAN = Plan({"v": ColumnPlan(vq.ShreddingSchema.parse("id bigint, kind string, odd bigint"))})


@pytest.fixture
def table(tmp_path: Path) -> DirectoryTable:
    return DirectoryTable(Folder.at(tmp_path / "events"))


def batch(lines: list[str] = LINES) -> pa.RecordBatch:
    schema = pa.schema([vq.variant_field("v"), pa.field("n", pa.int64())])
    return pa.RecordBatch.from_arrays([vq.parse_json(pa.array(lines)), pa.array(range(len(lines)))], schema=schema)


def stage(table: DirectoryTable, job: Job, rows: pa.RecordBatch | None = None, **settings: object) -> list[StagedFile]:
    rows = batch() if rows is None else rows
    table.open(job)
    writer = TableWriter(table, job, rows.schema, Settings(**{"plan": PLAN, **settings}))  # type: ignore[arg-type]
    writer.write(rows)
    return writer.close()


def numbers(table: DirectoryTable) -> list[int]:
    found = vq.read(table.folder.path)
    return sorted(found["n"].to_pylist())


def left(table: DirectoryTable) -> list[str]:
    """Whatever there is besides data and the plan."""
    return [entry.path for entry in table.folder.entries() if not entry.path.endswith((".parquet", "plan.json"))]


def test_a_task_that_is_late_leaves_nothing(table: DirectoryTable) -> None:
    job = table.begin()
    table.open(job)
    begun = TableWriter(table, job, batch().schema, Settings(PLAN))
    begun.write(batch())
    table.abort(job)
    with pytest.raises(FileNotFoundError):
        begun.close()
    begun.abort()
    for partition_by in ((), (Key("n", "n"),)):
        late = TableWriter(table, job, batch().schema, Settings(PLAN, partition_by=partition_by))
        with pytest.raises(vq.VarquetError, match="got one that has ended"):
            late.write(batch())
    assert not table.folder.exists()


def test_files_appear_when_they_are_committed(table: DirectoryTable) -> None:
    job = table.begin()
    files = stage(table, job)
    assert not table.has_data() and files[0].rows == 1000
    assert files[0].counts == {"$.id": (1000, 0), "$.kind": (1000, 0), "$.odd": (900, 100)}
    assert table.commit(job, Commit(files, plan=PLAN.to_json())) == []
    assert numbers(table) == list(range(1000)) and left(table) == []
    assert Plan.from_json(table.plan() or "") == PLAN


def test_what_is_aborted_leaves_nothing(table: DirectoryTable) -> None:
    job = table.begin()
    stage(table, job)
    table.abort(job)
    assert table.folder.entries() == [] and not table.folder.exists("_varquet")


def test_files_go_for_others(table: DirectoryTable) -> None:
    for replace, expected in (("nothing", 1000), ("nothing", 2000), ("all", 1000)):
        job = table.begin()
        table.commit(job, Commit(stage(table, job), replace))  # type: ignore[arg-type]
        assert len(numbers(table)) == expected


def test_partitions_go_for_their_own(table: DirectoryTable) -> None:
    key = Key("kind", "v", vq.Path.parse("$.kind"))
    job = table.begin()
    files = stage(table, job, partition_by=(key,))
    table.commit(job, Commit(files))
    assert sorted({file.path.split("/")[0] for file in files}) == ["kind=a", "kind=b", "kind=c"]
    some = batch([line for line in LINES if '"b"' in line][:5])
    job = table.begin()
    gone = table.commit(job, Commit(stage(table, job, some, partition_by=(key,)), "partitions"))
    assert [path.split("/")[0] for path in gone] == ["kind=b"]
    found = vq.scan(table.folder.path).select({"kind": "kind", "id": "$.id bigint"}).table().to_pylist()
    assert len([row for row in found if row["kind"] == "b"]) == 5 and len(found) == 1000 - 333 + 5


def test_a_batch_goes_for_itself(table: DirectoryTable) -> None:
    for number in (0, 1, 0):
        job = table.begin()
        table.commit(job, Commit(stage(table, job), batch=("one", number)))
    names = sorted(entry.path for entry in table.data_files())
    assert [name[: len("part-00000-one-0-")] for name in names] == ["part-00000-one-0-", "part-00000-one-1-"]


def dead_job() -> Job:
    """The name of a process that has ended."""
    code = "from varquet.tables.jobs import Job; print(Job.begin().folder)"
    name = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    found = Job.of_folder(name)
    assert found is not None
    return found


def test_the_next_job_clears_up_behind_a_dead_one(table: DirectoryTable) -> None:
    job, other = dead_job(), table.begin()
    stage(table, job)
    living = stage(table, other)
    assert not is_alive(job, 0.0) and is_alive(other, 0.0)
    table.begin()
    assert left(table) == [living[0].staged]
    table.commit(other, Commit(living))
    assert numbers(table) == list(range(1000)) and left(table) == []


@pytest.mark.parametrize("moved", [0, 1, 2])
def test_the_next_job_finishes_a_commit_that_was_begun(table: DirectoryTable, moved: int) -> None:
    first = table.begin()
    table.commit(first, Commit(stage(table, first)))
    job = dead_job()
    files = [*stage(table, job), *stage(table, job)]
    journal = {"add": [[file.staged, file.path] for file in files], "remove": [table.data_files()[0].path], "plan": "{}"}
    table.folder.write(f"_varquet/{job.folder}/commit.json", json.dumps(journal).encode())
    for file in files[:moved]:
        table.folder.move(file.staged, file.path)
    table.begin()
    assert sorted(entry.path for entry in table.data_files()) == sorted(file.path for file in files)
    assert len(numbers(table)) == 2000 and left(table) == [] and table.plan() == "{}"


def test_a_commit_whose_files_are_gone_says_so(table: DirectoryTable) -> None:
    job = dead_job()
    table.folder.write(f"_varquet/{job.folder}/commit.json", json.dumps({"add": [["a", "b"]], "remove": [], "plan": None}).encode())
    with pytest.raises(VarquetError, match="cannot be finished"):
        table.begin()


def test_vacuum_takes_what_has_not_changed_for_long(table: DirectoryTable) -> None:
    job = table.begin()
    stage(table, job)
    assert table.vacuum() == []
    assert table.vacuum(older_than=-1) == [job.folder]
    assert not table.folder.exists("_varquet")


def test_jobs_of_other_machines_live_for_a_day() -> None:
    job = Job("token", "some.other.host", 1, 0)
    assert Job.of_folder(job.folder) == job
    assert not is_alive(job, 0.0) and is_alive(job, 4e9)
    assert Job.of_folder("plan.json") is None


def test_delta_tables_are_left_alone(table: DirectoryTable) -> None:
    table.folder.write("_delta_log/00000000000000000000.json", b"{}")
    with pytest.raises(VarquetError, match="is a Delta table"):
        table.begin()


def test_files_end_at_their_size_and_hold_sorted_rows(table: DirectoryTable) -> None:
    job = table.begin()
    table.open(job)
    writer = TableWriter(table, job, batch().schema, Settings(file_bytes=1, row_group_rows=100))
    for first in range(0, 1000, 10):
        writer.write(batch().slice(first, 10))
    small = writer.close()
    assert 5 < len(small) <= 10 and sum(file.rows for file in small) == 1000
    files = stage(table, job, sort_by=(Key("odd", "v", vq.Path.parse("$.odd"), pa.int64()), Key("n", "n")), sorted_bytes=1)
    table.commit(job, Commit(files))
    (path,) = [table.folder.full(file.path) for file in files]
    rows = vq.scan(path).select({"odd": "$.odd bigint", "n": "n"}).table()
    assert rows["odd"].to_pylist() == sorted((row for row in range(1000) if row % 10), key=int) + [None] * 100
    assert rows["n"].to_pylist()[900:] == list(range(0, 1000, 10))


@pytest.mark.parametrize(
    ("values", "folders"),
    [
        (pa.array(["a/b", "ü", "", None, "x=y%"]), ["a%2Fb", "x%3Dy%25", "ü", "__HIVE_DEFAULT_PARTITION__"]),
        (pa.array([1, -2, None]), ["-2", "1", "__HIVE_DEFAULT_PARTITION__"]),
        (pa.array([True, False]), ["false", "true"]),
        (pa.array([1.5, 1e20]), ["1.0E20", "1.5"]),
        (pa.array([0, 1_500_000], pa.timestamp("us", "UTC")), ["1970-01-01 00%3A00%3A00", "1970-01-01 00%3A00%3A01.5"]),
        (pa.array([19_000], pa.date32()), ["2022-01-08"]),
    ],
)
def test_partitions_are_named_as_spark_names_them(table: DirectoryTable, values: pa.Array, folders: list[str]) -> None:
    rows = batch(LINES[: len(values)]).append_column("p", values)
    files = stage(table, table.begin(), rows, partition_by=(Key("p", "p"),))
    assert sorted({file.path.split("/")[0].removeprefix("p=") for file in files}) == sorted(folders)


def test_many_partitions_do_not_keep_many_files_open(table: DirectoryTable) -> None:
    job = table.begin()
    table.open(job)
    rows = batch()
    writer = TableWriter(table, job, rows.schema, Settings(partition_by=(Key("n", "n"),)))
    writer.write(rows)
    before = threading.active_count()
    table.commit(job, Commit(writer.close()))
    assert before < 400 and len(table.data_files()) == 1000
    assert vq.scan(table.folder.path).select({"n": "n"}).where("n = 7").count() == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"partition_by": (Key("v", "v"), Key("n", "n"))}, "expected a column that does not partition"),
        ({"partition_by": (Key("n", "v", vq.Path.parse("$.id")),)}, "expected a new name for a partition"),
        ({"partition_by": (Key("n", "n"), Key("n", "n"))}, "different names"),
        ({"partition_by": (Key("n", "n"),), "sort_by": (Key("n", "n"),)}, "expected to sort by what differs"),
        ({"file_bytes": 0}, "at least one byte"),
    ],
)
def test_settings_that_make_no_sense(table: DirectoryTable, settings: dict[str, object], message: str) -> None:
    with pytest.raises(UnsupportedTypeError, match=message):
        stage(table, Job.begin(), **settings)


def test_a_table_in_an_object_store(object_store: pafs.FileSystem) -> None:
    store = object_store
    store.create_dir("bucket")
    table = DirectoryTable(Folder.at("bucket/events", store))
    for replace in ("nothing", "nothing", "all"):
        job = table.begin()
        files = stage(table, job, partition_by=(Key("kind", "v", vq.Path.parse("$.kind")),))
        table.commit(job, Commit(files, replace))  # type: ignore[arg-type]
    job = table.begin()
    stage(table, job)
    table.abort(job)
    assert len(table.data_files()) == 3 and left(table) == []
    assert vq.scan("bucket/events", filesystem=store).select({"kind": "kind"}).where("kind = 'a'").count() == 334
