"""Ingesting on a cluster of several processes, any of which may die: every row is in the table once, and nothing else is in its folder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_cluster import Cluster, Faults, Reached, wait_for

import varquet as vq

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'varquet[spark]'")

from varquet import spark as vqs
from varquet.columns.arrow import variant_field
from varquet.parquet.folder import Folder
from varquet.tables.base import Commit
from varquet.tables.directory import DirectoryTable
from varquet.tables.write_job import plan_of
from varquet.tables.writing import Settings, TableWriter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FILES, LINES, TASKS = 4, 500, 8
PLAN = {"v": "id bigint, name string, at struct<x bigint>"}


def record(row: int) -> dict[str, Any]:
    """A row; some values are not of the type that most have, and stay beside their column."""
    return {"id": row, "name": f"name {row % 17}", "at": {"x": row if row % 50 else str(row), "tags": ["a", None, row % 3]}}


BEFORE = [record(row) for row in range(100_000, 100_200)]
ADDED = [record(row) for row in range(FILES * LINES)]


@pytest.fixture(scope="module")
def one_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    java = os.path.join(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else "java"
    if shutil.which(java) is None:
        pytest.skip("Java is not installed: Spark needs a Java runtime of version 17 or later, on PATH or in JAVA_HOME")
    if not sys.platform.startswith("linux"):
        pytest.skip("the processes of the cluster are found in /proc, which only Linux has")
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture
def cluster(one_cluster: Cluster) -> Cluster:
    """A master with two workers, whatever has become of those that other tests have used."""
    one_cluster.start(workers=2)
    return one_cluster


@pytest.fixture(autouse=True)
def _no_drivers_left(one_cluster: Cluster) -> Iterator[None]:
    yield
    one_cluster.kill_drivers()


@pytest.fixture
def faults(tmp_path: Path) -> Faults:
    return Faults(tmp_path / "faults")


@pytest.fixture
def raw(tmp_path: Path) -> str:
    """A folder of NDJSON files, which are cut into two tasks each."""
    folder = tmp_path / "raw"
    folder.mkdir()
    for number in range(FILES):
        some = ADDED[number * LINES : (number + 1) * LINES]
        (folder / f"{number}.ndjson").write_text("\n".join(map(json.dumps, some)))
    return str(folder)


@pytest.fixture
def options(raw: str) -> dict[str, int]:
    """What makes two tasks of each file."""
    return {"split_bytes": max(path.stat().st_size for path in Path(raw).iterdir()) * 2 // 3}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table with some rows."""
    path = tmp_path / "table"
    target = DirectoryTable(Folder.at(path))
    plan, job = plan_of(PLAN), target.begin()
    target.open(job)
    writer = TableWriter(target, job, pa.schema([variant_field("v", shared_metadata=True)]), Settings(plan))
    parsed = vq.parse_json(pa.array([json.dumps(row) for row in BEFORE]))
    writer.write(pa.RecordBatch.from_arrays([parsed], schema=writer.schema))
    target.commit(job, Commit(writer.close(), plan=plan.to_json()))
    assert content(path) == BEFORE
    return path


def content(table: Path) -> list[dict[str, Any]]:
    """All rows of a table, as many times as they are there."""
    return sorted((json.loads(text) for text in vq.to_json(vq.read(table)["v"]).to_pylist()), key=lambda row: row["id"])


def visible(table: Path) -> dict[str, bytes]:
    """The files of a table but those that jobs have not committed, by name, with all of their bytes."""
    found = {str(path.relative_to(table)): path.read_bytes() for path in table.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if name.endswith((".parquet", "plan.json"))}


def staged(table: Path) -> list[Path]:
    return sorted((table / "_varquet").glob("*/*.staged"))


def assert_only_data(table: Path, *, quarantine: bool = False) -> None:
    """Nothing is below a table but its data, its plan and, if there is to be one, its quarantine."""
    folders = {"_varquet", "_quarantine"} if quarantine else {"_varquet"}
    below = [path.relative_to(table) for path in table.rglob("*")]
    assert {str(path) for path in below if (table / path).is_dir()} == folders
    files = {path for path in below if (table / path).is_file()}
    assert Path("_varquet/plan.json") in files
    data = files - {Path("_varquet/plan.json")}
    assert {path.suffix for path in data} == {".parquet"} and {str(path.parent) for path in data} <= {".", "_quarantine"}


def two_of(faults: Faults, point: str) -> list[Reached]:
    """The tasks at a point, once there are two: each of the two executors runs one at a time."""
    found = faults.reached(point)
    return found if len(found) > 1 else []


def test_python_workers_and_machines_may_die(cluster: Cluster, faults: Faults, raw: str, options: dict[str, int], tmp_path: Path) -> None:
    table = tmp_path / "table"
    faults.set("hold-begun")
    faults.set("hold-staged")
    driver = cluster.ingest("two-kills", raw, str(table), faults=faults, **options)
    # One task in each executor has written rows; one of them loses its Python process.
    first, other = wait_for("two tasks that have begun", lambda: two_of(faults, "begun"), driver.log)
    assert cluster.machine_of(first.pid) is not cluster.machine_of(other.pid)
    os.kill(first.pid, signal.SIGKILL)
    faults.clear("hold-begun")
    # Again one in each executor: its files are complete, and nobody knows. One of the executors is lost with its whole machine.
    second, _ = wait_for("two tasks that have staged their files", lambda: two_of(faults, "staged"), driver.log)
    assert len(staged(table)) == 2 and not list(table.glob("*.parquet"))
    cluster.machine_of(second.pid).kill()
    wait_for("a master with one worker", lambda: cluster.living_workers() == 1)
    faults.clear("hold-staged")
    report = driver.report()
    assert (report["rows"], report["files"], report["quarantined"]) == (len(ADDED), TASKS, 0)
    assert faults.tries("begun", first.task) > 1 and faults.tries("staged", second.task) > 1
    assert {one.task for one in faults.reached("staged")} == set(range(TASKS))
    assert content(table) == ADDED and vq.scan(table).count() == len(ADDED)
    assert_only_data(table)


def test_a_driver_may_die_before_it_commits(cluster: Cluster, faults: Faults, raw: str, options: dict[str, int], table: Path) -> None:
    before = visible(table)
    faults.set("hold-staged")
    driver = cluster.ingest("dies-before", raw, str(table), faults=faults, **options)
    wait_for("two tasks that have staged their files", lambda: two_of(faults, "staged"), driver.log)
    assert driver.process.poll() is None
    driver.kill()
    assert visible(table) == before and content(table) == BEFORE
    assert len(staged(table)) == 2
    # Its executors hear of it.
    wait_for("no executor of the dead driver", lambda: not cluster.executors())
    assert visible(table) == before and len(staged(table)) == 2

    faults.clear("hold-staged")
    report = cluster.ingest("after", raw, str(table), faults=faults, **options).report()
    assert report["rows"] == len(ADDED)
    assert content(table) == ADDED + BEFORE and vq.scan(table).count() == len(ADDED) + len(BEFORE)
    assert before.items() <= visible(table).items()
    assert_only_data(table)


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_driver_may_die_while_it_commits(
    one_cluster: Cluster, spark: SparkSession, faults: Faults, raw: str, options: dict[str, int], table: Path, mode: str
) -> None:
    driver = one_cluster.ingest(f"dies-{mode}", raw, str(table), faults=faults, master="local[1]", dies_after_moves=1, mode=mode, **options)
    assert driver.wait() == -signal.SIGKILL
    assert len(list(table.glob("*.parquet"))) == 2 and len(staged(table)) == TASKS - 1
    assert len(list((table / "_varquet").glob("*/commit.json"))) == 1

    kept = [] if mode == "overwrite" else BEFORE
    last = record(200_000)
    vqs.write(spark.createDataFrame([(json.dumps(last),)], "v string"), str(table), mode="append")
    assert content(table) == [*ADDED, *kept, last]
    assert_only_data(table)


def test_tasks_that_fail_are_tried_again(cluster: Cluster, faults: Faults, raw: str, options: dict[str, int], tmp_path: Path) -> None:
    table = tmp_path / "table"
    with open(Path(raw) / "3.ndjson", "a") as file:
        file.write("\nnope" * 30)
    faults.set("fail-staged")
    report = cluster.ingest("tries", raw, str(table), PLAN, faults=faults, **options).report()
    assert all(faults.tries("staged", task) == 2 for task in range(TASKS))
    assert (report["rows"], report["files"], report["quarantined"]) == (len(ADDED), TASKS, 30)
    assert content(table) == ADDED
    assert sorted(pq.read_table(table / "_quarantine")["line"].to_pylist()) == list(range(LINES + 1, LINES + 31))
    assert_only_data(table, quarantine=True)


def test_lines_in_quarantine_are_numbered_once(one_cluster: Cluster, faults: Faults, tmp_path: Path) -> None:
    raw, table = tmp_path / "raw.ndjson", tmp_path / "table"
    raw.write_text("\n".join("nope" if row % 10 == 0 else json.dumps(record(row)) for row in range(100)))
    faults.set("fail-numbered")
    report = one_cluster.ingest(
        "numbers", str(raw), str(table), PLAN, faults=faults, master="local[1,4]", split_bytes=raw.stat().st_size * 2 // 3
    ).report()
    assert faults.tries("numbered", 0) == faults.tries("numbered", 1) == 2
    assert (report["rows"], report["quarantined"]) == (90, 10)
    assert sorted(pq.read_table(table / "_quarantine")["line"].to_pylist()) == list(range(1, 101, 10))
    assert_only_data(table, quarantine=True)


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_commit_that_fails_half_way_is_finished(
    spark: SparkSession, table: Path, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    move, moved = Folder.move, []

    def failing(self: Folder, path: str, target: str) -> bool:
        if len(moved) == 1:
            raise error("the disk is tired")
        moved.append(path)
        return move(self, path, target)

    rows = [record(row) for row in range(20)]
    frame = spark.createDataFrame([(json.dumps(row),) for row in rows], "v string").repartition(4)
    with monkeypatch.context() as patch:
        patch.setattr(Folder, "move", failing)
        # Who knows what went wrong is told that it must not be run again.
        told, message = (vq.VarquetError, "do not run the job again") if error is OSError else (error, "the disk is tired")
        with pytest.raises(told, match=message):
            vqs.write(frame, str(table), mode="append")
    last = record(200_000)
    vqs.write(spark.createDataFrame([(json.dumps(last),)], "v string"), str(table), mode="append")
    assert content(table) in ([*BEFORE, last], [*rows, *BEFORE, last])
    assert_only_data(table)


def test_a_task_that_runs_twice_counts_once(cluster: Cluster, faults: Faults, raw: str, options: dict[str, int], tmp_path: Path) -> None:
    table = tmp_path / "table"
    faults.set("stall-staged")
    eager = {"spark.speculation": "true", "spark.speculation.quantile": "0.5", "spark.speculation.multiplier": "1.5",
             "spark.speculation.minTaskRuntime": "100ms"}  # fmt: skip
    report = cluster.ingest("twice", raw, str(table), PLAN, faults=faults, conf=eager, **options).report()
    assert any(faults.tries("staged", task) > 1 for task in range(TASKS))
    assert (report["rows"], report["files"]) == (len(ADDED), TASKS)
    assert content(table) == ADDED
    assert_only_data(table)


def test_executors_with_another_version_are_refused(cluster: Cluster, faults: Faults, raw: str, tmp_path: Path) -> None:
    faults.set("version", "0.0.1")
    answer = cluster.ingest("old", raw, str(tmp_path / "table"), PLAN, faults=faults).report()
    assert answer["error"] == "VarquetError"
    python = ".".join(map(str, sys.version_info[:2]))
    expected = f"expected varquet {vq.__version__} and Python {python}, as the driver has, got 0.0.1 and {python} on "
    assert answer["message"].startswith(expected) and "install the same version" in answer["message"]
    assert not faults.reached("begun") and not (tmp_path / "table").exists()
