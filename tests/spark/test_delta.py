"""Delta tables on Spark, without Delta's own connector: written, read, viewed, streamed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import varquet as vq

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'varquet[spark]'")

from varquet import spark as vqs
from varquet.tables.delta import history, optimize
from varquet.tables.write import write_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

# Rows 3, 4, 7, 11, 18 and 29, as the protocol has them.
DELETED = {"storageType": "i", "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", "sizeInBytes": 40, "cardinality": 6}
SELECTED = {"n": "n", "id": "$.id bigint", "kind": "$.kind string", "odd": "$.odd", "p": "p"}


def lines(first: int, count: int) -> list[str]:
    return [
        json.dumps({"id": row, "kind": "abc"[row % 3], "odd": row if row % 10 else {"x": row}, "deep": {"er": row * 0.5}})
        for row in range(first, first + count)
    ]


def frame(spark: SparkSession, first: int = 0, count: int = 100) -> DataFrame:
    rows = [(row, text, f"p{row % 2}") for row, text in enumerate(lines(first, count), first)]
    return spark.createDataFrame(rows, "n bigint, v string, p string").repartition(2)


def in_process(path: Path, **options: Any) -> list[dict[str, Any]]:
    """The selected columns as `scan` has them."""
    found = vq.scan(path, **options).select({**SELECTED, "odd": "$.odd string"}).table().to_pylist()
    return sorted(found, key=lambda row: row["n"])


def on_spark(view: DataFrame) -> list[dict[str, Any]]:
    """The rows of a view of the selected columns."""
    rows = [row.asDict() for row in view.selectExpr("n", "id", "kind", "cast(odd as string) odd", "p").collect()]
    return sorted(rows, key=lambda row: row["n"])


def with_deleted_rows(path: Path) -> None:
    """Take six rows out of the first file, as Delta does."""
    snapshot = max((path / "_delta_log").glob("*.json"))
    adds = [json.loads(line)["add"] for line in snapshot.read_text().splitlines() if line.startswith('{"add"')]
    add = next(one for one in adds if json.loads(one["stats"])["numRecords"] >= 30)
    removed = {"path": add["path"], "deletionTimestamp": 1, "dataChange": True, "extendedFileMetadata": False}
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7}
    features = ["deletionVectors", "variantType", "variantShredding"]
    actions = [
        {"protocol": {**protocol, "readerFeatures": features, "writerFeatures": features}},
        {"remove": removed},
        {"add": {**add, "deletionVector": DELETED}},
    ]
    version = int(snapshot.name.split(".")[0]) + 1
    (snapshot.parent / f"{version:020d}.json").write_text("\n".join(json.dumps(action) for action in actions))


def test_tables_are_written_by_tasks_and_read_by_all(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "table"
    report = vqs.write(frame(spark), str(path), json_columns=["v"], table="delta", partition_by=["p"])
    assert (report.rows, report.plan.schemas["v"].ddl()) == (100, "deep struct<er: decimal(18,1)>, id bigint, kind string, odd bigint")
    vqs.write(frame(spark, 100), str(path), mode="append", partition_by=["p"])
    assert [(one.version, one.operation) for one in history(path)] == [(1, "WRITE"), (0, "CREATE TABLE AS SELECT")]
    expected = [{"n": row, "id": row, "kind": "abc"[row % 3], "p": f"p{row % 2}"} for row in range(200)]
    found = in_process(path)
    assert [{name: row[name] for name in ("n", "id", "kind", "p")} for row in found] == expected
    assert on_spark(vqs.view(spark, path, SELECTED)) == found
    rows = vqs.read(spark, path)
    assert dict(rows.dtypes) == {"n": "bigint", "v": "variant", "p": "string"}
    texts = {row["n"]: row["t"] for row in rows.selectExpr("n", "to_json(v) t").collect()}
    assert {row: json.loads(text) for row, text in texts.items()} == {row: json.loads(text) for row, text in enumerate(lines(0, 200))}
    source = spark.read.format("varquet").load(str(path))
    assert sorted(row[0] for row in source.select("n").collect()) == list(range(200))
    assert vqs.read(spark, path, version=0).count() == 100 == vqs.view(spark, path, SELECTED, version=0).count()
    assert spark.read.format("varquet").option("version", "0").load(str(path)).count() == 100


def test_overwriting_goes_by_the_log(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "table"
    vqs.write(frame(spark), str(path), {"v": "id bigint"}, table="delta", partition_by=["p"])
    some = frame(spark, 1000, 10).where("p = 'p1'")
    vqs.write(some, str(path), mode="overwrite-partitions", partition_by=["p"])
    assert sorted(row["n"] for row in in_process(path)) == [*range(0, 100, 2), *range(1001, 1010, 2)]
    vqs.write(frame(spark, 0, 5), str(path), {"v": "id bigint"}, mode="overwrite")
    assert sorted(vq.scan(path).select(["n"]).table()["n"].to_pylist()) == [0, 1, 2, 3, 4]
    with pytest.raises(vq.VarquetError, match="expected a new table"):
        vqs.write(frame(spark), str(path), {"v": "id bigint"})
    with pytest.raises(vq.VarquetError, match="expected the columns of"):
        vqs.write(frame(spark).withColumnRenamed("n", "m"), str(path), mode="append")
    vqs.write(frame(spark, 5, 5).selectExpr("*", "'x' extra"), str(path), mode="append", merge_schema=True)
    assert vqs.read(spark, path).where("extra = 'x'").count() == 5 and vqs.read(spark, path).count() == 10


def test_a_job_that_fails_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "table"
    vqs.write(frame(spark), str(path), {"v": "id bigint"}, table="delta")
    before = sorted(str(file) for file in path.rglob("*"))
    with pytest.raises(Exception, match="no such luck"):
        vqs.write(
            frame(spark).selectExpr("if(n = 99, cast(raise_error('no such luck') as bigint), n) n", "v", "p"), str(path), mode="append"
        )
    assert vq.scan(path).count() == 100 and [str(file) for file in sorted(path.rglob("*.json"))] == [
        name for name in before if name.endswith(".json")
    ]


def test_raw_files_are_ingested_and_bad_lines_set_apart(spark: SparkSession, tmp_path: Path) -> None:
    raw, path = tmp_path / "raw.ndjson", tmp_path / "table"
    raw.write_text("\n".join([*lines(0, 50), "nope", *lines(50, 50)]))
    report = vqs.ingest(spark, raw, str(path), table="delta", partition_by={"kind": "$.kind string"}, sort_by="$.id bigint")
    assert (report.rows, report.quarantined) == (100, 1)
    report = vqs.ingest(spark, raw, str(path), partition_by={"kind": "$.kind string"})
    assert vq.scan(path).count() == 200 and vq.scan(path).where("kind = 'a'").count() == 68
    bad = [row.asDict() for row in spark.read.parquet(str(path / "_quarantine")).collect()]
    assert [(row["line"], bytes(row["record"])) for row in bad] == [(51, b"nope")] * 2
    assert not list((path / "_varquet").glob("*"))


def test_rows_that_are_deleted_are_not_seen(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "table"
    vqs.write(frame(spark).coalesce(1), str(path), json_columns=["v"], table="delta", partition_by=["p"])
    with_deleted_rows(path)
    expected = in_process(path)
    assert len(expected) == 94
    assert on_spark(vqs.view(spark, path, SELECTED)) == expected
    assert sorted(row["n"] for row in vqs.read(spark, path).select("n").collect()) == [row["n"] for row in expected]
    assert vq.scan(path).count() == 94
    with pytest.raises(vq.VarquetError, match="rows are deleted"):
        vqs.profile_table(spark, str(path))
    optimize(path)
    assert in_process(path) == expected and on_spark(vqs.view(spark, path, SELECTED)) == expected
    assert vqs.profile_table(spark, str(path), "v").rows == 94


@pytest.mark.parametrize(
    "where",
    [
        "$.id::bigint >= 150",
        "$.id::bigint in (3, 5, 170) or $.kind::string starts with 'c'",
        "p = 'p1' and not ($.id::bigint < 120)",
        "$.odd::bigint is null",
        "$.odd is not null and $.deep.er::double between 10 and 12.5",
        "$.nothing is null and n < 5",
    ],
)
def test_views_with_a_predicate_read_what_can_match(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, where: str) -> None:
    path = _many(tmp_path_factory)
    expected = vq.scan(path).where(where).select(["n"]).table()["n"].to_pylist()
    found = vqs.view(spark, path, {"n": "n", "id": "$.id bigint"}, where=where)
    assert sorted(row["n"] for row in found.collect()) == sorted(expected) and expected
    assert found.columns == ["n", "id"]
    source = spark.read.format("varquet").option("where", where).load(str(path))
    assert sorted(row["n"] for row in source.select("n").collect()) == sorted(expected)


def test_a_predicate_rules_files_out_before_they_are_opened(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = _many(tmp_path_factory)
    found = vqs.view(spark, path, {"n": "n"}, where="$.id::bigint >= 190")
    assert len(found.inputFiles()) == 2 and found.count() == 10
    reader = spark.read.format("varquet").option("where", "$.id::bigint >= 190").load(str(path))
    assert reader.rdd.getNumPartitions() == 2
    empty = vqs.view(spark, path, {"n": "n", "v": "$.odd", "id": "$.id bigint"}, where="$.id::bigint > 1000")
    assert empty.collect() == [] and [kind for _, kind in empty.dtypes] == ["bigint", "variant", "bigint"]


_MADE: dict[str, Path] = {}


def _many(folders: pytest.TempPathFactory) -> Path:
    """A table of twenty files of ten rows."""
    if "path" not in _MADE:
        path = folders.mktemp("many") / "table"
        for first in range(0, 200, 20):
            rows = pa.table({"n": range(first, first + 20), "v": lines(first, 20), "p": [f"p{row % 2}" for row in range(20)]})
            write_table(rows, path, json_columns=["v"], table="delta", mode="append", partition_by=["p"])
        _MADE["path"] = path
    return _MADE["path"]


def test_streams_write_each_batch_once_and_read_versions(spark: SparkSession, tmp_path: Path) -> None:
    raw, path, again = tmp_path / "raw", tmp_path / "table", tmp_path / "again"
    raw.mkdir()

    def add(number: int) -> None:
        (tmp_path / "coming").write_text("\n".join([*lines(number * 10, 10), "nope"]))
        (tmp_path / "coming").rename(raw / f"{number}.txt")

    def run() -> None:
        texts = spark.readStream.option("maxFilesPerTrigger", 1).text(str(raw)).withColumnRenamed("value", "v")
        where = str(tmp_path / "checkpoint")
        options: dict[str, Any] = {"table": "delta", "json_columns": ["v"], "trigger": {"availableNow": True}}
        vqs.write_stream(texts, str(path), checkpoint=where, **options).awaitTermination()

    def copy() -> None:
        rows = vqs.read_stream(spark, str(path))
        query = rows.writeStream.option("checkpointLocation", str(tmp_path / "other")).trigger(availableNow=True)
        query.start(str(again), format="parquet").awaitTermination()

    add(0)
    add(1)
    run()
    assert vq.scan(path).count() == 20
    copy()
    # The commit of the last batch was made, and Spark does not know.
    last = max((tmp_path / "checkpoint" / "commits").glob("[0-9]*"), key=lambda file: int(file.name))
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)
    add(2)
    run()
    ids = sorted(row["id"] for row in vq.scan(path).select({"id": "$.id bigint"}).table().to_pylist())
    assert ids == list(range(30))
    assert spark.read.parquet(str(path / "_quarantine")).count() == 3
    optimize(path)
    copy()
    assert spark.read.parquet(str(again)).selectExpr("try_variant_get(v, '$.id', 'bigint') id").distinct().count() == 30
    assert spark.read.parquet(str(again)).count() == 30


def test_the_data_source_writes_delta_tables(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    writer = frame(spark).write.format("varquet").option("table", "delta").option("schemas", '{"v": "id bigint"}')
    writer.option("partition_by", "p").option("properties", '{"delta.appendOnly": "true"}').mode("append").save(path)
    assert vq.scan(path).where("$.id::bigint < 10").count() == 10
    writer = frame(spark).write.format("varquet").option("schemas", '{"v": "id bigint"}').option("partition_by", "p")
    with pytest.raises(Exception, match=r"delta\.appendOnly"):
        writer.mode("overwrite").save(path)
