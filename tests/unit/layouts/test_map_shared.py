"""Paimon's shared-shredding layout: rows in columns that share, rows that overflow, and what cannot be."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import varquet as vq
from varquet.layouts.map_shared import is_shared, join_shared, shared_keys, shared_type

KIND = pa.struct(
    [
        ("__field_mapping", pa.list_(pa.int32())),
        ("__col_0", pa.string()),
        ("__col_1", pa.string()),
        ("__overflow", pa.map_(pa.int32(), pa.string())),
    ]
)
NUMBERS = {"a": 0, "b": 1, "é,": 2, "": 3}


def _field(compression: str = "none", **told: str | None) -> pa.Field:
    text = json.dumps(NUMBERS).encode()
    raw = bytes(pa.Codec("lz4_raw").compress(text))
    packed = {"zstd": bytes(pa.Codec("zstd").compress(text)), "lz4": struct.pack("<ii", len(raw), len(text)) + raw}.get(compression, text)
    metadata: dict[str, str | None] = {
        "version": "1",
        "field-dict": packed.decode("latin-1"),
        "field-dict-compression": compression,
        "field-dict-original-size": str(len(text)),
        **{name.replace("_", "-"): value for name, value in told.items()},
    }
    named = {f"paimon.map.shared-shredding.{name}": value for name, value in metadata.items() if value is not None}
    return pa.field("m", KIND, metadata={"paimon.map.storage-layout": "shared-shredding", **named})


def _row(mapping: list[int] | None, values: list[str | None], overflow: list[tuple[int, str | None]] | None) -> dict[str, Any]:
    return {"__field_mapping": mapping, "__col_0": values[0], "__col_1": values[1], "__overflow": overflow}


ROWS = [
    _row([0, 1], ["1", None], [(2, "x"), (3, None)]),
    None,
    _row([-1, -1], [None, None], []),
    _row([-1, 2], [None, "y"], None),
]
MAPS = [[("a", "1"), ("b", None), ("é,", "x"), ("", None)], None, [], [("é,", "y")]]


@pytest.mark.parametrize("compression", ["none", "zstd", "lz4"])
def test_maps_are_put_together(compression: str) -> None:
    field = _field(compression)
    assert is_shared(field) and shared_type(field) == pa.map_(pa.string(), pa.string())
    keys = shared_keys(field)
    assert keys == ("a", "b", "é,", "")
    array = pa.array(ROWS, KIND)
    for first in range(len(ROWS) + 1):
        made = join_shared(array.slice(first), keys, shared_type(field))
        made.validate(full=True)
        assert made.to_pylist() == MAPS[first:]


def test_a_dictionary_without_a_compression_is_zstd() -> None:
    assert shared_keys(_field("zstd", field_dict_compression=None)) == ("a", "b", "é,", "")


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"version": "2"}, "expected version 1 of the shared-shredding column 'm', got '2'"),
        ({"version": None}, "expected paimon.map.shared-shredding.version in the metadata of column 'm', got none"),
        ({"field_dict": "{"}, "expected a dictionary of the keys of the shared-shredding column 'm'"),
        ({"field_dict": "[1]"}, "expected a dictionary of the keys of the shared-shredding column 'm'"),
        ({"compression": "snappy"}, "the compression 'snappy', which is not known"),
    ],
)
def test_metadata_that_cannot_be(told: dict[str, str], message: str) -> None:
    with pytest.raises(vq.ParquetError, match=message):
        shared_keys(_field(**told))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (_row([0, 9], ["1", "2"], []), "expected the number of one of 4 keys, got 9 - at row 1"),
        (_row([0, -1], ["1", "2"], [(-2, "x")]), "expected the number of one of 4 keys, got -2 - at row 1"),
        (_row([0], ["1", "2"], []), "expected 2 numbers in __field_mapping, got 1 - at row 1"),
    ],
)
def test_rows_that_cannot_be(row: dict[str, Any], message: str) -> None:
    with pytest.raises(vq.InvalidMapError, match=message):
        join_shared(pa.array([None, row], KIND), ("a", "b", "é,", ""), pa.map_(pa.string(), pa.string()))


def test_other_structs_are_none() -> None:
    metadata = {"paimon.map.storage-layout": "shared-shredding"}
    for kind in (pa.int32(), pa.struct({"__overflow": pa.string()}), pa.struct({"__field_mapping": pa.int32(), "__overflow": pa.string()})):
        with pytest.raises(vq.ParquetError, match="expected"):
            shared_type(pa.field("m", kind, metadata=metadata))


def test_files_are_read_queried_and_converted(tmp_path: Path) -> None:
    path = tmp_path / "shared.parquet"
    table = pa.Table.from_arrays([pa.array(range(4)), pa.array(ROWS, KIND)], schema=pa.schema([pa.field("id", pa.int64()), _field("zstd")]))
    pq.write_table(table, path)
    assert vq.read(path)["m"].to_pylist() == MAPS
    query = vq.scan(path)
    assert query.where("m['é,'] is not null").select("id").table()["id"].to_pylist() == [0, 3]
    assert query.select({"a": "m['a'] bigint"}).table()["a"].to_pylist() == [1, None, None, None]
    assert query.select("m").table()["m"].to_pylist() == MAPS
    vq.convert(path, tmp_path / "sidecars.parquet", maps={"m": ["é,"]})
    vq.convert(path, tmp_path / "plain.parquet")
    assert pq.ParquetFile(tmp_path / "plain.parquet").schema_arrow.field("m").type == pa.map_(pa.string(), pa.string())
    for name in ("sidecars", "plain"):
        assert vq.diff(path, tmp_path / f"{name}.parquet").is_equal
    assert vq.inspect(path).maps.num_rows == 0
