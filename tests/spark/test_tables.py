"""Tables that exist already: profiled and converted on Spark as in one process, whatever their layout."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from interop_values import event_lines

import varquet as vq

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'varquet[spark]'")

from varquet import spark as vqs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EVENTS = event_lines(300)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three files of different layouts and schemas, in partitions."""
    folder = tmp_path / "table"
    for k, (layout, schema) in enumerate([("parquet", "id bigint, type string"), ("draft", "id bigint"), ("parquet", "variant")]):
        place = folder / f"part={k}"
        place.mkdir(parents=True)
        column = vq.parse_json(pa.array(EVENTS[100 * k : 100 * k + 100]))
        vq.write(pa.table([column], schema=pa.schema([vq.variant_field("v")])), place / "f.parquet", {"v": schema}, layout=layout)  # type: ignore[arg-type]
    return folder


def test_tables_of_any_layout_are_profiled(spark: SparkSession, table: Path) -> None:
    expected = vq.profile(table)
    assert expected.rows == len(EVENTS)
    assert vqs.profile_table(spark, str(table)) == expected
    assert vqs.profile_table(spark, table, "v", most_names=3) == vq.profile(table, most_names=3)
    assert vqs.analyze_table(spark, str(table), "v").schemas["v"] == vq.choose(expected).schema


def test_tables_are_converted_and_verified(spark: SparkSession, table: Path, tmp_path: Path) -> None:
    done = vqs.convert(spark, str(table), str(tmp_path / "new"), plan={"v": "id bigint, user struct<id: bigint>"})
    assert [file.rows for file in done] == [100, 100, 100]
    assert sorted(str(file.relative_to(tmp_path / "new")) for file in (tmp_path / "new").rglob("*.parquet")) == [
        f"part={k}/f.parquet" for k in range(3)
    ]
    assert vq.diff(table, tmp_path / "new").is_equal
    assert spark.read.parquet(str(tmp_path / "new")).where("part = 1").count() == 100
    with pytest.raises(vq.UnsupportedTypeError, match="expected a new table"):
        vqs.convert(spark, str(table), str(tmp_path / "new"))
    assert vqs.convert(spark, str(table), str(tmp_path / "new"), mode="ignore") == []


def test_a_table_is_converted_in_its_own_place(spark: SparkSession, table: Path, tmp_path: Path) -> None:
    vqs.convert(spark, str(table), str(tmp_path / "copy"), "unshredded")
    vqs.convert(spark, str(table), str(table), "draft", plan={"v": "id bigint"}, mode="overwrite")
    assert vq.diff(table, tmp_path / "copy").is_equal
    assert spark.read.format("varquet").load(str(table)).count() == 300
    assert [file.name for file in (table / "_varquet").rglob("*") if file.is_file()] == ["plan.json"]


def test_a_value_that_cannot_be_kept_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    import datetime

    made = vq.Variant.from_python({"d": datetime.date(2024, 1, 5)})
    column = pa.array([{"metadata": made.metadata, "value": made.value}], vq.VARIANT)
    vq.write(pa.table([column], schema=pa.schema([vq.variant_field("v")])), tmp_path / "f.parquet")
    with pytest.raises(vq.VarquetError, match="expected the same value in the layout 'json'"):
        vqs.convert(spark, str(tmp_path / "f.parquet"), str(tmp_path / "new"), "json")
    assert not [file for file in (tmp_path / "new").rglob("*") if file.is_file()]
