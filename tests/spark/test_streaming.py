"""Streams into tables and out of them: each row exactly once, wherever they are stopped; plans that follow the data."""

from __future__ import annotations

import contextlib
import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import varquet as vq

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'varquet[spark]'")

from varquet import spark as vqs
from varquet.profiles.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = pytest.mark.spark

NOW = {"availableNow": True}


class Land:
    """Files of JSON lines that come in, and a stream of them."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.raw = folder / "raw"
        self.raw.mkdir()
        self.table = folder / "table"
        self.checkpoint = folder / "checkpoint"
        self.files = 0

    def add(self, lines: list[str]) -> None:
        # Moved into place, as Spark wants it.
        temporary = self.raw.parent / "coming"
        temporary.write_text("\n".join(lines))
        temporary.rename(self.raw / f"{self.files:05d}.txt")
        self.files += 1

    def frame(self, files_per_batch: int = 1) -> DataFrame:
        reader = self.spark.readStream.option("maxFilesPerTrigger", files_per_batch)
        return reader.text(str(self.raw)).withColumnRenamed("value", "v")

    def start(self, **options: Any) -> StreamingQuery:
        chosen = {"json_columns": ["v"], "trigger": NOW, **options}
        return vqs.write_stream(self.frame(), str(self.table), checkpoint=str(self.checkpoint), **chosen)

    def run(self, **options: Any) -> StreamingQuery:
        query = self.start(**options)
        query.awaitTermination()
        return query

    def ids(self) -> list[int]:
        return sorted(vq.scan(self.table).select({"id": "$.id bigint"}).table()["id"].to_pylist())

    def left(self) -> list[str]:
        return [file.name for file in self.table.rglob("*") if file.is_file() and file.suffix != ".parquet" and file.name != "plan.json"]


@pytest.fixture
def land(spark: SparkSession, tmp_path: Path) -> Land:
    return Land(spark, tmp_path)


def lines(first: int, count: int = 50) -> list[str]:
    return [f'{{"id": {row}, "kind": "{"ab"[row % 2]}"}}' for row in range(first, first + count)]


def test_the_first_batch_makes_the_plan_and_progress_tells_how_it_fits(land: Land) -> None:
    land.add(lines(0))
    land.run()
    assert land.ids() == list(range(50)) and land.left() == []
    plan = Plan.load(land.table / "_varquet" / "plan.json")
    assert plan.schemas["v"].ddl() == "id bigint, kind string"
    land.add([*lines(50, 30), *(f'{{"id": {row}, "kind": {row}}}' for row in range(80, 99)), '{"id": 99, "new": 1}', "nope"])
    query = land.run()
    assert land.ids() == list(range(100))
    metrics = next(progress for progress in query.recentProgress if progress["numInputRows"])["observedMetrics"]["varquet"]
    assert (metrics["rows"], metrics["quarantined"], metrics["files"]) == (50, 1, 1)
    assert metrics["$.id"] == 1.0 and metrics["$.kind"] == pytest.approx(30 / 49)
    assert metrics["typed_share"] == pytest.approx(80 / 99)
    assert Plan.load(land.table / "_varquet" / "plan.json") == plan
    assert land.spark.read.parquet(str(land.table)).count() == 100


def test_plans_follow_the_stream(land: Land) -> None:
    land.add(lines(0))
    land.run(evolve=True)
    land.add([f'{{"id": {row}.5, "other": true}}' for row in range(50)])
    land.run(evolve=True)
    land.add(['{"id": 7, "other": false}'])
    land.run(evolve=True)
    ddl = Plan.load(land.table / "_varquet" / "plan.json").schemas["v"].ddl()
    assert "other boolean" in ddl and "id decimal" in ddl
    assert len(land.ids()) == 101


def test_pinned_plans_stay(land: Land) -> None:
    land.add(lines(0))
    land.run(plan={"v": "kind string"})
    land.add(lines(50))
    land.run()
    assert Plan.load(land.table / "_varquet" / "plan.json").schemas["v"].ddl() == "kind string"
    assert all(row["path"] != "$.id" or not row["typed"] for row in vq.inspect(land.table).paths.to_pylist())
    assert land.ids() == list(range(100))


def test_batches_that_come_again_replace_themselves(land: Land) -> None:
    for k in range(4):
        land.add(lines(50 * k))
    land.run(partition_by="$.kind string")
    before = sorted(file.name for file in land.table.rglob("*.parquet"))
    # Spark believes that its last two batches were never committed.
    commits = sorted((file for file in (land.checkpoint / "commits").iterdir() if file.name.isdigit()), key=lambda file: int(file.name))
    for file in commits[-2:]:
        file.unlink()
        (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    land.add(lines(200))
    land.run(partition_by="$.kind string")
    after = sorted(file.name for file in land.table.rglob("*.parquet"))
    assert land.ids() == list(range(250)) and land.left() == []
    assert len(after) == len(before) + 2 and len(set(after) & set(before)) >= 4


def test_streams_can_be_stopped_anywhere(land: Land) -> None:
    drawn = random.Random(7)
    total = 0
    for _ in range(4):
        for _ in range(3):
            land.add(lines(total, 20))
            total += 20
        query = land.start(trigger=None)
        # Within a batch, between two, or before the first one.
        query.awaitTermination(drawn.random() * 6)
        query.stop()
        with contextlib.suppress(Exception):
            query.exception()
    land.run()
    assert land.ids() == list(range(total))
    # What a stopped query has left goes with the next job of another process, or by vacuum.
    from varquet.parquet.folder import Folder
    from varquet.tables.directory import DirectoryTable

    DirectoryTable(Folder.at(land.table)).vacuum(older_than=-1)
    assert land.left() == [] and land.ids() == list(range(total))


def test_the_data_source_writes_streams(land: Land, tmp_path: Path) -> None:
    for k in range(3):
        land.add(lines(50 * k))
    frame = land.frame().selectExpr("parse_json(v) v")

    def run() -> None:
        writer = frame.writeStream.format("varquet").option("path", str(land.table)).option("schemas", '{"v": "id bigint"}')
        writer.option("checkpointLocation", str(land.checkpoint)).trigger(availableNow=True).start().awaitTermination()

    run()
    commits = sorted(file for file in (land.checkpoint / "commits").iterdir() if file.name.isdigit())
    commits[-1].unlink()
    (commits[-1].parent / f".{commits[-1].name}.crc").unlink(missing_ok=True)
    run()
    assert land.ids() == list(range(150)) and land.left() == []
    assert vq.scan(land.table).select({"id": "$.id bigint"}).explain().paths[0].typed


@pytest.mark.parametrize("how", ["native", "varquet"])
def test_tables_are_streams(land: Land, tmp_path: Path, how: str) -> None:
    def add(first: int) -> None:
        frame = land.spark.createDataFrame([(line,) for line in lines(first)], "v string")
        vqs.write(frame, str(land.table), {"v": "id bigint"}, mode="append")

    def run() -> list[int]:
        if how == "native":
            frame = vqs.read_stream(land.spark, str(land.table))
        else:
            frame = land.spark.readStream.format("varquet").load(str(land.table))
        writer = frame.selectExpr("variant_get(v, '$.id', 'bigint') id").writeStream.format("parquet")
        writer = writer.option("path", str(tmp_path / "out")).option("checkpointLocation", str(tmp_path / "out-checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()
        return sorted(row.id for row in land.spark.read.parquet(str(tmp_path / "out")).collect())

    add(0)
    assert run() == list(range(50))
    add(50)
    add(100)
    assert run() == list(range(150)) == run()
    if how == "varquet":
        vqs.write(land.spark.createDataFrame([('{"id": 1000}',)], "v string"), str(land.table), {"v": "id bigint"}, mode="overwrite")
        assert len(run()) == 151


def test_mistakes_are_told(land: Land, spark: SparkSession) -> None:
    with pytest.raises(vq.UnsupportedTypeError, match="expected a stream"):
        vqs.write_stream(spark.range(1), str(land.table), checkpoint=str(land.checkpoint))
    with pytest.raises(vq.UnsupportedTypeError, match="expected the name of a column, got 'w'"):
        land.start(plan={"w": "id bigint"})
    land.add(["nope"])
    query = land.start(on_error="fail")
    with pytest.raises(Exception, match="expected a value, got 'nope'"):
        query.awaitTermination()
    assert not list(land.table.rglob("*.parquet"))
    shutil.rmtree(land.checkpoint)
