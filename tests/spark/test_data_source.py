"""The data source `varquet`: what it reads and writes, its options, filters that Spark pushes, and errors that help."""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from interop_values import event_lines

import varquet as vq

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'varquet[spark]'")

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

EVENTS = event_lines(300)
SCHEMA = "id bigint, type string, user struct<id: bigint>, amount decimal(18,2)"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("tables")
    made = {}
    for layout in ("parquet", "draft"):
        made[layout] = folder / layout
        for part, first in enumerate(range(0, len(EVENTS), 100)):
            place = made[layout] / f"part={part}"
            place.mkdir(parents=True)
            lines = EVENTS[first : first + 100]
            fields = [vq.variant_field("v"), pa.field("n", pa.int32())]
            numbers = pa.array(range(first, first + len(lines)), pa.int32())
            table = pa.table([vq.parse_json(pa.array(lines)), numbers], schema=pa.schema(fields))
            vq.write(table, place / "events.parquet", {"v": SCHEMA}, layout=layout, row_group_rows=25)  # type: ignore[arg-type]
    return made


@pytest.fixture(params=[False, True], ids=["", "pushed"])
def pushing(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[bool]:
    """Sessions that push filters into Python data sources, and those that do not."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", str(request.param).lower())
    yield request.param
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def rows(frame: DataFrame) -> list[str]:
    return sorted(repr(row) for row in frame.collect())


def test_every_layout_is_read(spark: SparkSession, tables: dict[str, Path], pushing: bool) -> None:
    expected = spark.read.parquet(str(tables["parquet"])).selectExpr("to_json(v)", "n", "cast(part as bigint) part")
    for path in tables.values():
        frame = spark.read.format("varquet").load(str(path))
        assert dict(frame.dtypes) == {"v": "variant", "n": "int", "part": "bigint"}
        assert rows(frame.selectExpr("to_json(v)", "n", "part")) == rows(expected)
        for condition in ("n > 290", "n = 7 and part = 0", "part in (1, 2) and n < 105", "not n <=> 5 and n < 7", "n is null"):
            assert frame.where(condition).count() == expected.where(condition).count(), condition


def test_columns_and_rows_are_chosen_by_options(spark: SparkSession, tables: dict[str, Path], pushing: bool) -> None:
    reader = spark.read.format("varquet").option("select", json.dumps({"user": "$.user.id bigint", "kind": "$.type string", "all": "$"}))
    frame = reader.option("where", "$.type = 'purchase'").load(str(tables["draft"]))
    assert dict(frame.dtypes) == {"user": "bigint", "kind": "string", "all": "variant"}
    asked = ["try_variant_get(v, '$.user.id', 'bigint') user", "try_variant_get(v, '$.type', 'string') kind", "to_json(v) text"]
    native = spark.read.parquet(str(tables["parquet"])).selectExpr(*asked)
    assert rows(frame.selectExpr("user", "kind", "to_json(all) text")) == rows(native.where("kind = 'purchase'"))
    assert rows(frame.select("user").where("user < 3000 and kind like 'pur%'")) == rows(
        native.where("kind = 'purchase' and user < 3000").select("user")
    )
    some = spark.read.format("varquet").schema("n bigint, v variant").load(str(tables["draft"]))
    assert some.columns == ["n", "v"] and some.agg({"n": "sum"}).collect()[0][0] == sum(range(300))


@pytest.mark.usefixtures("spark")
def test_filters_reach_the_reader(tables: dict[str, Path]) -> None:
    from pyspark.sql import datasource as api
    from pyspark.sql.types import StructType

    from varquet.spark.source import VarquetSource

    source = VarquetSource({"path": str(tables["parquet"]), "select": '{"n": "n", "id": "$.user.id bigint", "v": "$"}'})
    reader: Any = source.reader(StructType.fromDDL("n int, id bigint"))
    assert reader.pushFilters.__func__ is api.DataSourceReader.pushFilters
    filters: list[api.Filter] = [
        api.GreaterThan(("n",), 280),
        api.Not(api.IsNull(("id",))),
        api.In(("n",), (281, 290, 299)),
        api.EqualTo(("v",), 1),
        api.EqualTo(("n",), "text"),
        api.StringEndsWith(("n",), "x"),
    ]
    assert list(reader.pushFilters(filters)) == filters
    assert len(reader.pushed) == 3
    found = [row for partition in reader.partitions() for batch in reader.read(partition) for row in batch.column("n").to_pylist()]
    assert found and set(found) <= {281, 290, 299}


def test_values_that_the_native_reader_has_not(spark: SparkSession, tmp_path: Path) -> None:
    values = [uuid.UUID(int=7), datetime.time(10, 20, 30), vq.Timestamp(1_730_982_834_123_456_789, "ns", True)]
    made = [vq.Variant.from_python({"t": value}) for value in values]
    column = pa.array([{"metadata": bytes(one.metadata), "value": bytes(one.value)} for one in made], vq.VARIANT)
    extra = pa.array([b"\0" * 16] * 3, pa.binary(16))
    fields = [vq.variant_field("v"), pa.field("u", extra.type), pa.field("n", pa.uint64())]
    table = pa.table([column, extra, pa.array([1, 2, 3], pa.uint64())], schema=pa.schema(fields))
    vq.write(table, tmp_path / "odd.parquet", {"v": "t time"})
    frame = spark.read.format("varquet").option("select", '{"text": "$.t string", "u": "u", "n": "n"}').load(str(tmp_path))
    assert dict(frame.dtypes) == {"text": "string", "u": "binary", "n": "decimal(20,0)"}
    assert [row.text for row in frame.collect()][:2] == [str(values[0]), "10:20:30"]
    assert spark.read.format("varquet").load(str(tmp_path)).select("v").count() == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"wher": "x"}, "expected an option of the data source varquet, got 'wher'"),
        ({"where": "$.a ="}, "expected a literal"),
        ({"select": '{"a": '}, "expected JSON or words"),
        ({"select": "nope"}, "expected the name of a column, got 'nope'"),
    ],
)
def test_options_that_make_no_sense(spark: SparkSession, tables: dict[str, Path], options: dict[str, str], message: str) -> None:
    with pytest.raises(Exception, match=message):
        spark.read.format("varquet").options(**options).load(str(tables["parquet"])).collect()


def test_writing(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    frame = spark.range(60, numPartitions=3).selectExpr("id", "cast(id % 2 as int) p", "parse_json('{\"a\": ' || id || '}') v")
    writer = frame.write.format("varquet").option("partition_by", "p").option("sort_by", "$.a bigint")
    writer.option("schemas", '{"v": "a bigint"}').mode("append").save(table)
    read = spark.read.parquet(table)
    assert read.columns == ["id", "v", "p"] and read.count() == 60
    assert vq.scan(table).select({"a": "$.a bigint"}).explain().paths[0].typed
    # The table has a plan now.
    frame.write.format("varquet").option("partition_by", "p").mode("append").save(table)
    assert spark.read.parquet(table).count() == 120
    one = frame.where("id = 1").write.format("varquet").option("partition_by", "p")
    one.option("mode", "overwrite-partitions").mode("overwrite").save(table)
    assert spark.read.parquet(table).where("p = 1").count() == 1 and spark.read.parquet(table).count() == 61
    frame.write.format("varquet").option("partition_by", "p").mode("overwrite").save(table)
    assert spark.read.parquet(table).count() == 60
    for mode, message in (("error", "expected a new table"), ("upsert", "expected the option mode")):
        with pytest.raises(Exception, match=message):
            frame.write.format("varquet").option("partition_by", "p").option("mode", mode).mode("append").save(table)
    frame.write.format("varquet").option("partition_by", "p").option("mode", "ignore").mode("append").save(table)
    assert spark.read.parquet(table).count() == 60
    assert [path.name for path in (tmp_path / "table" / "_varquet").iterdir()] == ["plan.json"]


def test_without_a_plan_the_first_rows_tell(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(50, numPartitions=1).selectExpr('\'{"a": \' || id || \', "b": "x"}\' text')
    frame.write.format("varquet").option("json_columns", "text").mode("append").save(str(tmp_path / "table"))
    found = vq.inspect(tmp_path / "table").paths.to_pylist()
    assert {(row["path"], row["type"]) for row in found if row["type"]} >= {("$.a", "bigint"), ("$.b", "string")}


def test_a_write_that_fails_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(10, numPartitions=2).selectExpr("if(id = 9, 'nope', '{}') text")
    with pytest.raises(Exception, match="expected a value, got 'nope'"):
        frame.write.format("varquet").option("json_columns", "text").mode("append").save(str(tmp_path / "table"))
    assert not [path for path in (tmp_path / "table").rglob("*") if path.is_file()]
    writer = frame.write.format("varquet").option("json_columns", "text")
    writer.option("on_error", "quarantine").mode("append").save(str(tmp_path / "table"))
    assert spark.read.parquet(str(tmp_path / "table")).count() == 9
    assert spark.read.parquet(str(tmp_path / "table" / "_quarantine")).selectExpr("cast(record as string)").collect()[0][0] == "nope"


def test_files_with_other_columns_and_large_files(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, extra in (("a", "x"), ("b", "y")):
        fields = [vq.variant_field("v"), pa.field(extra, pa.int64())]
        table = pa.table([vq.parse_json(pa.array(EVENTS[:100])), pa.array(range(100))], schema=pa.schema(fields))
        vq.write(table, tmp_path / f"{name}.parquet", {"v": SCHEMA}, row_group_rows=30)
    frame = spark.read.format("varquet").load(str(tmp_path))
    assert dict(frame.dtypes) == {"v": "variant", "x": "bigint", "y": "bigint"}
    assert [frame.where(f"{name} is not null").count() for name in "xy"] == [100, 100] and frame.where("x >= 90").count() == 10
    from pyspark.sql.types import StructType

    from varquet.spark import source, source_reading

    monkeypatch.setattr(source_reading, "_TASK_BYTES", 2000)
    reader = source.VarquetSource({"path": str(tmp_path)}).reader(StructType.fromDDL("x bigint"))
    tasks = reader.partitions()
    assert len(tasks) == 8
    assert sorted(str(value) for task in tasks for batch in reader.read(task) for value in batch.column("x").to_pylist()) == sorted(
        [*map(str, range(100)), *["None"] * 100]
    )
