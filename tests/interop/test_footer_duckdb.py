"""A file whose footer was patched is a Variant to DuckDB, with every value as it was; without the patch it is a struct."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from patched_footers import patch_file

import varquet
from varquet.samples import generate

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: it is in the dependency group dev")


@pytest.mark.parametrize("kind", ["events", "github", "headers"])
def test_duckdb_reads_a_patched_file_as_variants(kind: str, tmp_path: Path) -> None:
    lines = [line.decode() for line in generate(kind, 300)]
    texts = [None if index % 50 == 7 else line for index, line in enumerate(lines)]
    path = tmp_path / "events.parquet"
    table = pa.table(
        {"id": pa.array(range(300)), "v": varquet.parse_json(pa.array(texts)), "l": pa.array([[]] * 300, pa.list_(varquet.VARIANT))}
    )
    pq.write_table(table, path, row_group_size=100, write_page_index=True)

    with duckdb.connect() as connection:
        query = f"SELECT typeof(v), typeof(l), v::JSON FROM '{path}' ORDER BY id"
        assert {row[:2] for row in connection.execute(query).fetchall()} == {
            ('STRUCT(metadata BLOB, "value" BLOB)', 'STRUCT(metadata BLOB, "value" BLOB)[]')
        }
        patch_file(path, [("v",), ("l", "list", "element")])
        rows = connection.execute(query).fetchall()

    assert {row[:2] for row in rows} == {("VARIANT", "VARIANT[]")}
    for text, (*_, found) in zip(texts, rows, strict=True):
        assert (None if found is None else json.loads(found, parse_float=Decimal)) == (text and json.loads(text, parse_float=Decimal))
