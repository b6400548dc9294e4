"""Tables with maps that have hot keys, written in this process."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import varquet as vq

KIND = pa.map_(pa.string(), pa.string())
TABLE = pa.table({"id": pa.array(range(10), pa.int64()), "headers": pa.array([[("a", str(k)), ("b", "x")] for k in range(10)], KIND)})


def stored(path: Path) -> list[list[str]]:
    return [pq.ParquetFile(file).schema_arrow.names for file in sorted(path.rglob("*.parquet"))]


def test_folders_have_hot_keys_by_the_data_by_a_plan_and_by_evolution(tmp_path: Path) -> None:
    report = vq.write_table(TABLE, tmp_path / "t", map_columns=["headers"])
    assert report.plan.maps["headers"].names == ["a", "b"]
    assert stored(tmp_path / "t") == [["id", "headers", "__paimon_map_shred_headers_0", "__paimon_map_shred_headers_1"]]
    other = pa.table({"id": TABLE["id"], "headers": pa.array([[("c", "1")]] * 10, KIND)})
    again = vq.write_table(other, tmp_path / "t", mode="append", evolve=True)
    assert again.plan.maps["headers"].names == ["c"]
    assert vq.scan(tmp_path / "t").where("headers['c'] = '1' or headers['a'] = '3'").count() == 11
    given = vq.write_table(TABLE, tmp_path / "u", {"headers": ["b", "a"]}, partition_by={"b": "headers['b']"})
    assert given.plan.maps["headers"].names == ["b", "a"]
    assert [file.parent.name for file in (tmp_path / "u").rglob("*.parquet")] == ["b=x"]


def test_delta_tables_refuse_them(tmp_path: Path) -> None:
    for options in ({"plan": {"headers": ["a"]}}, {"map_columns": ["headers"]}):
        with pytest.raises(vq.UnsupportedTypeError, match="expected plain maps in a Delta table, got hot keys of 'headers'"):
            vq.write_table(TABLE, tmp_path / "t", table="delta", **options)  # type: ignore[arg-type]
    vq.write_table(TABLE, tmp_path / "t", {}, table="delta")
    query = vq.scan(tmp_path / "t").where("headers['a'] = '3'").select({"b": "headers['b']", "n": "headers['a'] bigint"})
    assert query.table().to_pylist() == [{"b": "x", "n": 3}]
