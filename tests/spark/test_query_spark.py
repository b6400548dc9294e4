"""The same queries find the same rows in files that Spark wrote, shredded and not, as by hand; and as Spark itself finds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from interop_values import event_lines
from query_by_hand import EVENT_QUERIES, events_found

import varquet as vq

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EVENTS = event_lines(1000)


@pytest.fixture(scope="module")
def files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("queries")
    frame = (
        spark.createDataFrame(list(enumerate(EVENTS)), "n int, text string")
        .selectExpr("n", "parse_json(text) as v")
        .repartition(1)
        .sort("n")
    )
    made = {}
    for name, is_shredded in (("shredded", "true"), ("unshredded", "false")):
        made[name] = folder / name
        writer = frame.write.option("parquet.block.size", 200_000)
        with_shredding = spark.conf.get("spark.sql.variant.writeShredding.enabled", "true")
        spark.conf.set("spark.sql.variant.writeShredding.enabled", is_shredded)
        writer.parquet(str(made[name]))
        spark.conf.set("spark.sql.variant.writeShredding.enabled", str(with_shredding))
    return made


def test_spark_shreds(files: dict[str, Path]) -> None:
    paths = {name: vq.scan(path).select({"t": "$.type string"}).explain().paths[0] for name, path in files.items()}
    assert paths["shredded"].typed and not paths["unshredded"].typed


@pytest.mark.parametrize("predicate", EVENT_QUERIES)
def test_the_same_rows_in_files_of_spark(files: dict[str, Path], predicate: str) -> None:
    expected = events_found(EVENTS, predicate)
    for name, path in files.items():
        assert sorted(vq.scan(path).select("n").where(predicate).table()["n"].to_pylist()) == expected, name


def test_spark_finds_the_same(spark: SparkSession, files: dict[str, Path]) -> None:
    asked = {
        "$.user.id < 5000": "try_variant_get(v, '$.user.id', 'double') < 5000",
        "$.user.geo.country in ('DE', 'FR', null)": "try_variant_get(v, '$.user.geo.country', 'string') in ('DE', 'FR', null)",
        "not $.amount::decimal(9,2) between 100 and 200": "not try_variant_get(v, '$.amount', 'decimal(9,2)') between 100 and 200",
        "$.score > 0.9 or $.score::double is null": "coalesce(try_variant_get(v, '$.score', 'double') > 0.9, true)",
    }
    frame = spark.read.parquet(str(files["shredded"]))
    for ours, theirs in asked.items():
        found = sorted(vq.scan(files["shredded"]).select("n").where(ours).table()["n"].to_pylist())
        assert found == sorted(row.n for row in frame.where(theirs).select("n").collect()), ours
