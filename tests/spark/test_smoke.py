"""What varquet and Spark hand each other, in short: run on every Spark that varquet supports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import varquet as vq
from varquet import samples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.smoke]

EDGES = ["null", "true", "0", "-129", "9223372036854775807", "1.50", "1e3", '""', '"\\u00e9\\ud83d\\ude00"', "[]", "{}", '[1,[{"a":null}]]']


def as_spark_takes_it(column: pa.Array) -> pa.Array:
    """The variant column in Spark's order, value first, and with the mark by which Spark knows it."""
    fields = [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
    ]
    return pa.StructArray.from_arrays([column.field("value"), column.field("metadata")], fields=fields)


def test_spark_reads_our_variants_and_we_read_them_back(spark: SparkSession) -> None:
    lines = [*EDGES, *(line.decode() for line in samples.generate("events", 200))]
    column = vq.parse_json(pa.array(lines))
    frame = spark.createDataFrame(pa.table({"row": pa.array(range(len(lines))), "v": as_spark_takes_it(column)}))
    assert dict(frame.dtypes)["v"] == "variant"

    # What Spark says about the value, and its own copy of it.
    answer = (
        frame.selectExpr("row", "v", "schema_of_variant(v) AS kind", "try_variant_get(v, '$.id', 'bigint') AS id").toArrow().sort_by("row")
    )
    returned = answer["v"].combine_chunks()
    vq.validate(returned)
    assert vq.to_json(returned).to_pylist() == vq.to_json(column).to_pylist()
    assert answer["kind"].to_pylist()[:6] == ["VOID", "BOOLEAN", "BIGINT", "BIGINT", "BIGINT", "DECIMAL(2,1)"]
    assert answer["id"].to_pylist() == vq.extract(column, "$.id", pa.int64()).to_pylist()


def test_we_read_the_variants_that_spark_makes(spark: SparkSession) -> None:
    lines = [line.decode() for line in samples.generate("events", 200)]
    frame = spark.createDataFrame(pa.table({"row": pa.array(range(len(lines))), "text": pa.array(lines)}))
    made = frame.selectExpr("row", "parse_json(text) AS v").toArrow().sort_by("row")["v"].combine_chunks()
    vq.validate(made)
    ours = vq.parse_json(pa.array(lines))
    for row in range(len(lines)):
        theirs = vq.Variant(made[row]["metadata"].as_py(), made[row]["value"].as_py())
        assert theirs == vq.Variant(ours[row]["metadata"].as_py(), ours[row]["value"].as_py())


def test_the_pipeline(spark: SparkSession, tmp_path: Path) -> None:
    """Raw JSON to a table, and every way back: the native reader, a view, the data source, streams."""
    from varquet import spark as vqs

    raw, table = tmp_path / "raw.ndjson", str(tmp_path / "table")
    lines = [line.decode() for line in samples.generate("events", 300)]
    raw.write_text("\n".join([*lines, "nope"]), encoding="utf-8")
    report = vqs.ingest(spark, raw, table, split_bytes=raw.stat().st_size // 3, sort_by="$.id bigint")
    assert (report.rows, report.quarantined) == (300, 1)
    asked = ["try_variant_get(v, '$.user.id', 'bigint') user", "try_variant_get(v, '$.amount', 'double') amount"]
    expected = spark.createDataFrame([(line,) for line in lines], "text string").selectExpr("parse_json(text) v").selectExpr(*asked)
    view = vqs.view(spark, table, {"user": "$.user.id bigint", "amount": "$.amount double"})
    source = spark.read.format("varquet").option("select", '{"user": "$.user.id bigint", "amount": "$.amount double"}').load(table)
    read = vqs.read(spark, table).selectExpr(*asked)
    for frame in (view, source, read):
        assert sorted(map(repr, frame.collect())) == sorted(map(repr, expected.collect()))
    assert vqs.profile(vqs.read(spark, table), "v").rows == 300
    vqs.read(spark, table).write.format("varquet").mode("append").save(str(tmp_path / "saved"))
    assert spark.read.parquet(str(tmp_path / "saved")).count() == 300
    stream = vqs.read_stream(spark, table)
    query = vqs.write_stream(stream, str(tmp_path / "streamed"), checkpoint=str(tmp_path / "checkpoint"), trigger={"availableNow": True})
    query.awaitTermination()
    assert spark.read.parquet(str(tmp_path / "streamed")).count() == 300
    assert query.recentProgress[0]["observedMetrics"]["varquet"]["rows"] == 300
