"""Files with maps whose hot keys are columns: what is in them, what others see, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import varquet as vq
from varquet.layouts.map_entries import sorted_entries

KIND = pa.map_(pa.string(), pa.string())
OPTIONS = {
    "parquet.map.shredding.columns": "headers",
    "parquet.map.shredding.headers.keys": "content-type,user-agent,locale",
}
ROWS: list[Any] = [
    [("content-type", "application/json"), ("user-agent", "mobile-app"), ("x-request-id", "req-001")],
    None,
    [],
    [("x-request-id", "req-002")],
    [("content-type", None), ("user-agent", "curl")],
]


def maps_of(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Rows of maps, wherever these are, as dicts."""
    return _plain(array.to_pylist())


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        if value and all(isinstance(one, tuple) for one in value):
            return {key: _plain(one) for key, one in value}
        return [_plain(one) for one in value]
    return {key: _plain(one) for key, one in value.items()} if isinstance(value, dict) else value


def headers(rows: list[Any] = ROWS) -> pa.Table:
    return pa.table({"id": pa.array(range(len(rows)), pa.int64()), "headers": pa.array(rows, KIND)})


def test_the_physical_columns_metadata_and_values_of_the_proposal(tmp_path: Path) -> None:
    path = tmp_path / "headers.parquet"
    vq.write(headers(ROWS[:1]), path, maps=vq.maps_of_options({**OPTIONS, "parquet.map.shredding.headers.keys": "content-type,user-agent"}))
    file = pq.ParquetFile(path)
    assert file.schema_arrow.names == ["id", "headers", "__paimon_map_shred_headers_0", "__paimon_map_shred_headers_1"]
    assert file.metadata.metadata[b"paimon.map.shredding.headers.keys"] == b"content-type,user-agent"
    assert str(file.schema.column(1).path) == "headers.key_value.key" and "Map" in str(file.schema)
    assert pq.read_table(path).to_pylist() == [
        {
            "id": 0,
            "headers": [("x-request-id", "req-001")],
            "__paimon_map_shred_headers_0": "application/json",
            "__paimon_map_shred_headers_1": "mobile-app",
        }
    ]
    assert maps_of(vq.read(path)["headers"]) == maps_of(headers(ROWS[:1])["headers"])


def test_a_plain_reader_sees_residual_and_sidecars(tmp_path: Path) -> None:
    path = tmp_path / "headers.parquet"
    vq.write(headers(), path, maps=vq.maps_of_options(OPTIONS))
    found = duckdb.sql(f"select * from '{path}' order by id").fetchall()
    assert found == [
        (0, {"x-request-id": "req-001"}, "application/json", "mobile-app", None),
        (1, None, None, None, None),
        (2, {}, None, None, None),
        (3, {"x-request-id": "req-002"}, None, None, None),
        (4, {"content-type": None}, None, "curl", None),
    ]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    vq.write(headers(), tmp_path / "a.parquet", maps={"headers": ["user-agent", "a,b"]})
    read = vq.read(tmp_path / "a.parquet")
    assert read.schema.names == ["id", "headers"]
    assert read["headers"].type == KIND
    assert maps_of(read["headers"]) == maps_of(headers()["headers"])
    assert vq.read(tmp_path / "a.parquet", ["headers"]).schema.names == ["headers"]
    recorded = pq.ParquetFile(tmp_path / "a.parquet").metadata.metadata
    assert json.loads(recorded[b"paimon.map.shredding.headers.keys"]) == ["user-agent", "a,b"]


def test_files_with_other_hot_keys_and_with_none_are_one_table(tmp_path: Path) -> None:
    for name, keys in (("a", ["user-agent"]), ("b", ["content-type", "nowhere"]), ("c", [])):
        vq.write(headers(), tmp_path / f"{name}.parquet", maps={"headers": keys})
    assert pq.ParquetFile(tmp_path / "c.parquet").schema_arrow.names == ["id", "headers"]
    assert maps_of(vq.read(tmp_path)["headers"]) == 3 * maps_of(headers()["headers"])


def test_maps_anywhere_and_variants_beside_them(tmp_path: Path) -> None:
    maps = pa.array(ROWS, KIND)
    variants = vq.parse_json(pa.array([f'{{"a": {k}}}' for k in range(len(ROWS))]))
    request = pa.StructArray.from_arrays([maps, variants], fields=[pa.field("headers", KIND), vq.variant_field("body")])
    table = pa.table(
        {
            "request": request,
            "list": pa.array([[row, None, []] for row in ROWS], pa.list_(KIND)),
            "outer": pa.array([[("k", row), ("j", [])] for row in ROWS], pa.map_(pa.string(), KIND)),
            "headers": maps,
        }
    )
    keys = {name: ["user-agent", "content-type"] for name in ("request.headers", "list.element", "outer.value", "headers")}
    path = tmp_path / "nested.parquet"
    vq.write(table, path, {"request.body": "a bigint"}, maps={**keys, "outer": ["k"]}, row_group_rows=2)
    physical = pq.ParquetFile(path).schema_arrow
    assert physical.field("request").type.field("headers").type.names == ["residual", "sidecar_0", "sidecar_1"]
    assert "__paimon_map_shred_outer_0" in physical.names and "__paimon_map_shred_headers_1" in physical.names
    read = vq.read(path)
    for name in ("list", "outer", "headers"):
        assert maps_of(read[name]) == maps_of(table[name])
    inner = pa.table({"request": read["request"]}).flatten()
    assert maps_of(inner["request.headers"]) == maps_of(maps)
    assert vq.to_json(inner["request.body"]).to_pylist() == vq.to_json(variants).to_pylist()


def test_values_of_other_types(tmp_path: Path) -> None:
    kinds = {
        "numbers": (pa.int32(), [[("a", 1), ("b", 2)], [("a", None)], None]),
        "lists": (pa.list_(pa.string()), [[("a", ["x", None])], [("b", [])], []]),
        "structs": (pa.struct({"x": pa.float64()}), [[("a", {"x": 0.5}), ("b", None)], [("a", {"x": None})], None]),
    }
    table = pa.table({name: pa.array(rows, pa.map_(pa.string(), kind)) for name, (kind, rows) in kinds.items()})
    vq.write(table, tmp_path / "a.parquet", maps={name: ["a"] for name in kinds})
    assert vq.read(tmp_path / "a.parquet").to_pylist() == table.to_pylist()


def test_typed_sidecars_and_what_they_cannot_hold(tmp_path: Path) -> None:
    rows = [[("n", "12"), ("d", "2026-01-31")], [("n", "012"), ("d", "today")], [("n", None)]]
    keys = vq.ShreddingSchema.parse("n bigint, d date")
    vq.write(headers(rows), tmp_path / "a.parquet", maps={"headers": keys}, row_group_rows=1)
    file = pq.ParquetFile(tmp_path / "a.parquet")
    sidecars = {keys.fields[k][0]: file.schema_arrow.field(f"__paimon_map_shred_headers_{k}").type for k in range(2)}
    assert sidecars == {"n": pa.int64(), "d": pa.date32()}
    assert json.loads(file.metadata.metadata[b"varquet.maps"]) == [[["headers"], [name for name, _ in keys.fields], [1, 1]]]
    assert maps_of(vq.read(tmp_path / "a.parquet")["headers"]) == maps_of(pa.array(rows, KIND))


def test_a_name_that_a_user_has_taken_is_refused(tmp_path: Path) -> None:
    for name in ("__paimon_map_shred_headers_1", "__PAIMON_map_shred_headers_1"):
        table = headers().append_column(name, pa.nulls(5))
        with pytest.raises(vq.UnsupportedTypeError, match=f"'__paimon_map_shred_headers_1' to be free .* got a column '{name}'"):
            vq.write(table, tmp_path / "a.parquet", maps=vq.maps_of_options(OPTIONS))
        vq.write(table, tmp_path / f"{name}.parquet", maps={"headers": ["content-type"]})
    assert not (tmp_path / "a.parquet").exists()


@pytest.mark.parametrize(
    ("maps", "message"),
    [
        ({"id": ["a"]}, "expected maps with texts for keys at 'id', got int64"),
        ({"nowhere": ["a"]}, "expected the name of a column of maps, got 'nowhere'"),
        ({"headers": vq.MapKeys((vq.HotKey("a", pa.int8()),))}, "expected boolean, bigint, .* for key 'a' of 'headers', got int8"),
        ({"headers": "a,,b"}, "expected words with commas"),
    ],
)
def test_hot_keys_that_cannot_be(tmp_path: Path, maps: Any, message: str) -> None:
    with pytest.raises(vq.VarquetError, match=message):
        vq.write(headers(), tmp_path / "a.parquet", maps=maps)
    assert not list(tmp_path.iterdir())


def test_a_key_twice_names_column_row_and_key_and_leaves_no_file(tmp_path: Path) -> None:
    table = headers([*([[]] * 40_000), [("a", "1"), ("a", "2")]])
    with pytest.raises(vq.InvalidMapError, match="column 'headers': expected each key once in a map, got 'a' twice - at row 40000"):
        vq.write(table, tmp_path / "a.parquet", maps={"headers": ["b"]})
    assert not list(tmp_path.iterdir())


def test_variants_in_maps_have_no_hot_keys(tmp_path: Path) -> None:
    variants = vq.parse_json(pa.array(["1"]))
    maps = pa.MapArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["a"]), variants)
    field = pa.field("m", pa.map_(pa.string(), vq.variant_field("value")))
    with pytest.raises(vq.UnsupportedTypeError, match="expected maps without Variants for hot keys, got 'm'"):
        vq.write(pa.table([maps.cast(field.type)], schema=pa.schema([field])), tmp_path / "a.parquet", maps={"m": ["a"]})


def _stored(path: Path, table: pa.Table, keys: str | None) -> Path:
    metadata = None if keys is None else {"paimon.map.shredding.headers.keys": keys}
    pq.write_table(table.replace_schema_metadata(metadata), path)
    return path


def test_files_of_others_by_the_proposal(tmp_path: Path) -> None:
    sidecars = {"__paimon_map_shred_headers_0": ["json"], "__paimon_map_shred_headers_1": [None]}
    table = pa.table(
        {"headers": pa.array([[("b", "1")]], KIND), **{name: pa.array(value, pa.string()) for name, value in sidecars.items()}}
    )
    path = _stored(tmp_path / "a.parquet", table, "content-type,user-agent")
    assert vq.read(path).to_pylist() == [{"headers": [("content-type", "json"), ("b", "1")]}]
    # A footer that says nothing leaves columns, unless a plan knows their keys.
    path = _stored(tmp_path / "b.parquet", table, None)
    assert vq.read(path).schema.names == table.schema.names
    # A footer that speaks of keys without sidecars leaves a map.
    path = _stored(tmp_path / "c.parquet", table.select(["headers"]), "content-type,user-agent")
    assert vq.read(path).to_pylist() == [{"headers": [("b", "1")]}]
    path = _stored(tmp_path / "d.parquet", table, "content-type,user-agent,locale")
    with pytest.raises(vq.ParquetError, match="expected a sidecar .* for each of its keys content-type, user-agent, locale, got"):
        vq.read(path)
    lost = table.set_column(0, "headers", pa.array([None], KIND))
    path = _stored(tmp_path / "e.parquet", lost, "content-type,user-agent")
    with pytest.raises(vq.InvalidMapError, match=r"column 'headers' of .*: expected no value of key 'content-type' beside a null map"):
        vq.read(path)


def test_a_stream_of_batches_is_written_in_row_groups(tmp_path: Path) -> None:
    batch = headers([[("user-agent", "x"), ("k", str(k))] for k in range(1000)]).to_batches()[0]
    written = vq.write((batch for _ in range(50)), tmp_path / "a.parquet", maps={"headers": ["user-agent"]}, row_group_rows=10_000)
    assert (written.rows, written.row_groups) == (50_000, 5)
    assert sum(batch.num_rows for batch in vq.read_batches(tmp_path / "a.parquet")) == 50_000


def test_convert_keeps_changes_and_drops_hot_keys(tmp_path: Path) -> None:
    source = tmp_path / "a.parquet"
    vq.write(headers(), source, maps={"headers": ["user-agent"]})
    expected = {"kept": {}, "changed": {"maps": {"headers": ["content-type", "user-agent"]}}, "plain": {"maps": {"headers": []}}}
    counts = {"kept": 1, "changed": 2, "plain": 0, "unshredded": 0}
    for name, options in {**expected, "unshredded": {"layout": "unshredded"}}.items():
        vq.convert(source, tmp_path / f"{name}.parquet", **options)  # type: ignore[arg-type]
        assert len(pq.ParquetFile(tmp_path / f"{name}.parquet").schema_arrow.names) == 2 + counts[name]
        assert vq.diff(source, tmp_path / f"{name}.parquet").is_equal


def test_diff_finds_what_differs_whatever_the_order(tmp_path: Path) -> None:
    vq.write(headers([[("a", "1"), ("b", "2")], [("a", "1")]]), tmp_path / "a.parquet", maps={"headers": ["b"]})
    vq.write(headers([[("b", "2"), ("a", "1")], [("a", None)]]), tmp_path / "b.parquet")
    found = vq.diff(tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert found.differing_rows == 1
    assert [(one.left_value, one.right_value) for one in found.differences] == [('{"a":"1"}', '{"a":null}')]


def test_inspect_tells_of_every_key(tmp_path: Path) -> None:
    vq.write(headers(), tmp_path / "a.parquet", maps={"headers": ["user-agent", "nowhere"]}, row_group_rows=2)
    found = vq.inspect(tmp_path / "a.parquet")
    assert found.maps.select(["column", "key", "type", "row_groups", "rows", "values", "beside"]).to_pylist() == [
        {"column": "headers", "key": None, "type": "map<string, string>", "row_groups": 3, "rows": 5, "values": 4, "beside": None},
        {"column": "headers", "key": "user-agent", "type": "string", "row_groups": 3, "rows": 5, "values": 2, "beside": 0},
        {"column": "headers", "key": "nowhere", "type": "string", "row_groups": 3, "rows": 5, "values": 0, "beside": 0},
    ]
    assert vq.inspect(tmp_path / "a.parquet", ["headers"]).maps.num_rows == 3
    with pytest.raises(vq.UnsupportedTypeError, match="expected the name of a Variant or shredded map, got 'id'"):
        vq.inspect(tmp_path / "a.parquet", ["id"])


def test_equal_maps_look_alike_when_they_are_sorted() -> None:
    one, other = (
        pa.array([[("b", "1"), ("a", "2"), ("\U0001f600", "3"), ("￿", "4")]], KIND),
        pa.array([[("￿", "4"), ("\U0001f600", "3"), ("a", "2"), ("b", "1")]], KIND),
    )
    assert sorted_entries(one).equals(sorted_entries(other))
