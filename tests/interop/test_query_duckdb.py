"""The same queries find the same rows in files of varquet and of DuckDB, shredded and not; and DuckDB takes a scan's result."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from interop_values import EVENT_SCHEMA, event_lines, table_of
from query_by_hand import EVENT_QUERIES, events_found

import varquet as vq

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

EVENTS = event_lines(2000)
SHREDDED = (
    ', SHREDDING {v: \'STRUCT(id BIGINT, type VARCHAR, ts VARCHAR, amount DECIMAL(9,2), score DECIMAL(9,4), "user" STRUCT(id BIGINT, '
    "name VARCHAR, plan VARCHAR, geo STRUCT(country VARCHAR, lat DECIMAL(9,4))), items STRUCT(sku VARCHAR, qty INTEGER)[], "
    "flags STRUCT(beta BOOLEAN))'}"
)
NAMES = ("shredded", "unshredded", "draft", "duckdb", "duckdb_shredded", "duckdb_automatic")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("queries")
    table = table_of(v=vq.parse_json(pa.array(EVENTS)))
    made = {
        name: folder / f"{name}.parquet" for name in ("shredded", "unshredded", "draft", "duckdb", "duckdb_shredded", "duckdb_automatic")
    }
    vq.write(table, made["shredded"], {"v": EVENT_SCHEMA}, row_group_rows=300)
    vq.write(table, made["unshredded"], row_group_rows=300)
    vq.write(table, made["draft"], {"v": EVENT_SCHEMA}, row_group_rows=300, layout="draft")
    with duckdb.connect() as connection:
        for name, how in (("duckdb", ", SHREDDING {v: 'NULL'}"), ("duckdb_shredded", SHREDDED), ("duckdb_automatic", "")):
            rows = f"SELECT row, v FROM '{made['unshredded']}' ORDER BY row"
            connection.execute(f"COPY ({rows}) TO '{made[name]}' (FORMAT parquet, ROW_GROUP_SIZE 2048{how})")
    return made


@pytest.mark.parametrize("predicate", EVENT_QUERIES)
def test_the_same_rows_everywhere(files: dict[str, Path], predicate: str) -> None:
    expected = events_found(EVENTS, predicate)
    for name, path in files.items():
        assert vq.scan(path, column="v").select("row").where(predicate).table()["row"].to_pylist() == expected, name


def test_the_same_values_everywhere(files: dict[str, Path]) -> None:
    select = {"id": "$.id bigint", "user": "$.user string", "geo": "$.user.geo", "sku": "$.items[0].sku string", "q": "$.payload.q string"}
    results = [vq.scan(path, column="v").select(select).where("$.amount > 100").table() for path in files.values()]
    texts = [result.set_column(2, "geo", vq.to_json(result["geo"])) for result in results]
    assert texts[0].num_rows > 100
    assert all(text.equals(texts[0]) for text in texts)


def test_duckdb_takes_a_scan(files: dict[str, Path]) -> None:
    events = vq.scan(files["shredded"]).select({"country": "$.user.geo.country string", "amount": "$.amount double"}).reader()  # noqa: F841
    by_country = duckdb.sql("select country, count(amount), sum(amount) from events group by country order by country").fetchall()
    own = duckdb.sql(
        f"select v.user.geo.country::varchar as country, count(try_cast(v.amount as double)), sum(try_cast(v.amount as double)) "
        f"from '{files['unshredded']}' group by 1 order by 1"
    ).fetchall()
    assert [row[:2] for row in by_country] == [row[:2] for row in own]
    assert [row[2] for row in by_country] == pytest.approx([row[2] for row in own])
