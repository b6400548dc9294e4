"""Bloom filters: read as others write them, asked for equality only."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import varquet as vq
from varquet.queries.bloom import read_bloom_filter, xxh64


@pytest.mark.parametrize(
    ("data", "hashed"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_xxh64(data: bytes, hashed: int) -> None:
    assert xxh64(data) == hashed


def table() -> pa.Table:
    return pa.table({"k": pa.array(range(0, 20_000, 2), pa.int64()), "s": [f"value {n}" for n in range(10_000)]})


def check(path: Path) -> None:
    query = vq.scan(path)
    for present, absent in (("k = 5000", "k = 5001"), ("s = 'value 17'", "s = 'value 17b'"), ("k in (1, 8)", "k in (7, 9)")):
        assert query.where(present).count() == 1
        assert query.where(absent).count() == 0
        assert query.where(present).explain().row_groups_read >= 1
    absent = [n for n in range(1, 2001, 2) if query.where(f"k = {n}").explain().row_groups_read]
    assert len(absent) < 100, "one in a hundred is to be expected"
    assert "a Bloom filter has it not" in str(query.where("k = 5001").explain()) or 5001 in absent
    assert query.where("k > 5001").explain().row_groups_read >= 1


def test_filters_of_pyarrow(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "f.parquet", bloom_filter_options={"k": {"ndv": 10_000}, "s": {"ndv": 10_000}})
    check(tmp_path / "f.parquet")


def test_filters_of_duckdb(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    rows = table()  # noqa: F841 - DuckDB finds it by its name
    duckdb.sql(f"copy (select k // 100 * 100 as k, s from rows) to '{path}' (format parquet)")
    metadata = pq.read_metadata(path).row_group(0).column(0)
    if metadata.bloom_filter_offset is None:
        pytest.fail("DuckDB wrote no Bloom filter")
    query = vq.scan(path)
    assert query.where("k = 300").count() == 50
    assert query.where("k = 301").explain().row_groups_read == 0


def test_what_is_no_filter_says_nothing() -> None:
    assert read_bloom_filter(lambda size, offset: b"", 0) is None
    assert read_bloom_filter(lambda size, offset: b"\xff" * size, 0) is None
    assert read_bloom_filter(lambda size, offset: bytes(size), 0) is None
