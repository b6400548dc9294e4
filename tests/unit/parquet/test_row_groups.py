"""Row groups that are encoded apart and put together are what pyarrow writes alone."""

from __future__ import annotations

import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from varquet.parquet.row_groups import RowGroupFile, encode_group

OPTIONS: dict[str, Any] = {"version": "2.6", "compression": "zstd", "write_page_index": True, "store_schema": False, "write_batch_size": 64}


def table(rows: int) -> pa.Table:
    """Columns that have dictionaries and not, are in lists, and have many pages."""
    numbers = list(range(rows))
    return pa.table(
        {
            "number": numbers,
            "text": pa.array([None if k % 7 == 0 else f"text {k % 11}" for k in numbers]),
            "list": pa.array([list(range(k % 4)) for k in numbers], pa.list_(pa.int64())),
            "struct": pa.array([{"a": k / 3, "b": None} for k in numbers], pa.struct({"a": pa.float64(), "b": pa.binary()})),
            "nothing": pa.nulls(rows, pa.int32()),
        }
    )


def assembled(path: Path, pieces: list[pa.Table], options: dict[str, Any]) -> bytes:
    file = RowGroupFile(path)
    with ThreadPoolExecutor(3) as pool:
        for group in pool.map(lambda piece: encode_group(piece, options), pieces):
            file.add(group)
    file.close()
    assert file.size == path.stat().st_size
    return path.read_bytes()


def by_pyarrow(path: Path, pieces: list[pa.Table], options: dict[str, Any]) -> bytes:
    with pq.ParquetWriter(path, pieces[0].schema, **options) as writer:
        for piece in pieces:
            if piece.num_rows:
                writer.write_table(piece, row_group_size=piece.num_rows)
    return path.read_bytes()


@pytest.mark.parametrize(
    "more", [{}, {"write_page_index": False}, {"use_dictionary": False, "data_page_size": 100}, {"compression": "none"}]
)
@pytest.mark.parametrize("cuts", [[0], [1], [300], [1, 2, 300, 40, 5], [1000] * 20], ids=lambda cuts: f"{len(cuts)}x{cuts[0]}")
def test_the_bytes_are_those_that_pyarrow_writes(tmp_path: Path, cuts: list[int], more: dict[str, Any]) -> None:
    options = OPTIONS | {"data_page_size": 256} | more
    whole = table(sum(cuts))
    starts = [sum(cuts[:k]) for k in range(len(cuts))]
    pieces = [whole.slice(start, rows) for start, rows in zip(starts, cuts, strict=True)]
    made = assembled(tmp_path / "assembled.parquet", pieces, options)
    assert made == by_pyarrow(tmp_path / "pyarrow.parquet", pieces, options)
    assert pq.read_table(tmp_path / "assembled.parquet").equals(whole)


def test_pages_do_not_stay_in_memory(tmp_path: Path) -> None:
    file = RowGroupFile(tmp_path / "file.parquet")
    group = encode_group(table(100), OPTIONS)
    (octets,) = group.pages
    assert isinstance(octets, memoryview)
    pages = weakref.ref(octets.obj)
    file.add(group)
    del group, octets
    assert pages() is None
    file.close()


def test_an_aborted_file_is_none(tmp_path: Path) -> None:
    file = RowGroupFile(tmp_path / "file.parquet")
    file.add(encode_group(table(10), OPTIONS))
    file.abort()
    with pytest.raises(pa.ArrowInvalid):
        pq.read_metadata(tmp_path / "file.parquet")
