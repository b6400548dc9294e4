"""What Delta's own connector for Spark says of Delta tables: this file runs as a driver of its own, since its jars must be there first.

    python tests/delta_spark.py FOLDER

Reads the tables `commits`, `checkpoint` and `partitions` in the folder, adds a row to each, makes the tables `deleted` and `second`, and
writes all that it has seen to `answer.json`; or why there is no connector, which is the key `skipped`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

PACKAGE = "io.delta:delta-spark_2.13:4.4.0"
SPARK = "4.2."
SETTINGS = {
    "spark.jars.packages": PACKAGE,
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.databricks.delta.snapshotPartitions": "2",
    # Statistics of Variants, and shredding, are off by default.
    "spark.databricks.delta.variantShredding.parseFooterForStats": "true",
    "spark.databricks.delta.stats.limitPerVariant": "100",
    "spark.sql.variant.inferShreddingSchema": "true",
    "spark.sql.variant.writeShredding.enabled": "true",
}


def rows(frame: Any) -> list[list[Any]]:
    """All rows, with Variants as JSON and the others as text."""
    asked = [f"to_json({name})" if kind == "variant" else f"cast({name} as string)" for name, kind in frame.dtypes]
    return sorted(([*row] for row in frame.selectExpr(*asked).collect()), key=lambda row: int(row[0]))


def statistics(spark: Any, path: str) -> dict[str, Any]:
    """The statistics of each file, as the connector decodes them."""
    from pyspark.sql import DataFrame

    jvm = spark.sparkContext._jvm
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)
    snapshot = log.update(False, jvm.scala.Option.empty(), jvm.scala.Option.empty())
    found = DataFrame(snapshot.withStats(), spark).selectExpr("path", "stats.*")
    return decoded(found)


def parsed(spark: Any, file: str) -> dict[str, Any]:
    """The parsed statistics of each file in a checkpoint."""
    return decoded(spark.read.parquet(file).where("add is not null").selectExpr("add.path", "add.stats_parsed.*"))


def decoded(frame: Any) -> dict[str, Any]:
    asked = frame.selectExpr(
        "path",
        "numRecords",
        "minValues.n as low",
        "maxValues.n as high",
        "cast(minValues.v as string) as lows",
        "cast(maxValues.v as string) as highs",
        "nullCount.v as nulls",
        "cast(minValues.at as string) as first",
        "cast(maxValues.price as string) as dearest",
    )
    return {row["path"]: {**row.asDict(), "lows": json.loads(row["lows"]), "highs": json.loads(row["highs"])} for row in asked.collect()}


def seen(spark: Any, path: str) -> dict[str, Any]:
    """All about one of our tables, then a row more in it."""
    table = f"delta.`{path}`"
    detail = spark.sql(f"describe detail {table}").first().asDict()
    told = spark.sql(f"describe history {table}").select("version", "operation", "operationMetrics", "engineInfo").collect()
    answer = {
        "rows": rows(spark.read.format("delta").load(path)),
        "first": rows(spark.read.format("delta").option("versionAsOf", 0).load(path)) if "checkpoint" not in path else [],
        "detail": {name: detail[name] for name in ("numFiles", "partitionColumns", "properties", "minReaderVersion", "tableFeatures")},
        "history": [row.asDict() for row in told],
        "statistics": statistics(spark, path),
    }
    # Twice: with what its files say, and with an overwrite of a column's order.
    frame = spark.read.format("delta").load(path).where("n = 0")
    added = 'parse_json(\'{"id": 5000, "new": [1]}\') as v'
    names = [added if name == "v" else "5000L as n" if name == "n" else name for name in frame.columns]
    frame.selectExpr(*names).write.format("delta").mode("append").save(path)
    return answer


def deleted(spark: Any, path: str) -> None:
    """A table with shredded Variants and statistics of them, some of whose rows are deleted by deletion vectors."""
    properties = "'delta.enableVariantShredding'='true', 'delta.enableDeletionVectors'='true'"
    spark.sql(
        f"create table delta.`{path}` (n bigint, v variant, part string) using delta partitioned by (part) tblproperties({properties})"
    )
    text = 'parse_json(\'{"a": \'||id||\', "b": {"c": "x\'||id||\'"}, "f": \'||(id/8)||\', "odd": [1]}\') as v'
    for first in range(0, 400, 100):
        frame = spark.range(first, first + 100, 1, 1).selectExpr("id as n", text, "if(id % 2 = 0, 'even', 'o d/d') as part")
        frame.write.format("delta").mode("append").save(path)
    spark.sql(f"delete from delta.`{path}` where n % 10 = 7 or n between 120 and 130")


def second(spark: Any, path: str) -> None:
    """A table with checkpoints of the second version."""
    properties = "'delta.enableVariantShredding'='true', 'delta.checkpointPolicy'='v2', 'delta.checkpointInterval'='3'"
    spark.sql(f"create table delta.`{path}` (n bigint, v variant) using delta tblproperties({properties})")
    for first in range(0, 40, 10):
        frame = spark.range(first, first + 10, 1, 1).selectExpr("id as n", "parse_json('{\"a\": '||id||'}') as v")
        frame.write.format("delta").mode("append").save(path)


def main(folder: Path) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    answer: dict[str, Any] = {}
    place = folder / "answer.json"
    import pyspark

    if not pyspark.__version__.startswith(SPARK):
        place.write_text(json.dumps({"skipped": f"{PACKAGE} is made for Spark {SPARK}x, this is {pyspark.__version__}"}))
        return
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
    except Exception as error:
        place.write_text(json.dumps({"skipped": f"{PACKAGE} cannot be had from Maven, or Java is missing: {str(error)[:200]}"}))
        return
    spark.sparkContext.setLogLevel("ERROR")
    for name in ("commits", "checkpoint", "partitions"):
        answer[name] = seen(spark, str(folder / name))
    for name, make in (("deleted", deleted), ("second", second)):
        make(spark, str(folder / name))
        answer[name] = {"rows": rows(spark.read.format("delta").load(str(folder / name)))}
    checkpoint = next((folder / "checkpoint" / "_delta_log").glob("*.checkpoint.parquet"))
    answer["checkpoint"]["parsed"] = parsed(spark, str(checkpoint))
    spark.stop()
    place.write_text(json.dumps(answer, default=str))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
