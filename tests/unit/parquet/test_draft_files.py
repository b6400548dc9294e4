"""Files in the layout of the first Spark draft take part in everything: written, read, inspected, by whoever made them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import varquet as vq
from varquet.errors import InvalidVariantError
from varquet.parquet.footer import read_footer
from varquet.samples import generate
from varquet.variant import encode, parse_json

SCHEMA = (
    "id bigint, type string, user struct<id: bigint, name: string, geo: struct<lat: decimal(9,6), country: string>>, "
    "items array<struct<sku: string, qty: bigint>>, tags array<string>, amount decimal(9,2)"
)


def events(rows: int = 2000) -> pa.Table:
    column = vq.parse_json(pa.array(generate("events", rows, seed=3), pa.binary()))
    return pa.table([column], schema=pa.schema([vq.variant_field("v")]))


def texts(column: pa.Array | pa.ChunkedArray) -> list[str | None]:
    found: list[str | None] = vq.to_json(column).to_pylist()
    return found


def test_a_file_there_and_back(tmp_path: Path) -> None:
    table = events()
    written = vq.write(table, tmp_path / "draft.parquet", {"v": SCHEMA}, layout="draft", row_group_rows=700)
    assert (written.rows, written.row_groups) == (2000, 3)
    vq.write(table, tmp_path / "standard.parquet", {"v": SCHEMA})
    assert texts(vq.read(tmp_path / "draft.parquet")["v"]) == texts(vq.read(tmp_path / "standard.parquet")["v"])
    back = vq.read(tmp_path / "draft.parquet", strict=True)
    assert back.schema.field("v").metadata[b"ARROW:extension:name"] == b"arrow.parquet.variant"
    vq.validate(back["v"], strict=True)


def test_what_the_file_says(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    vq.write(events(10), path, {"v": "id bigint, tags array<string>"}, layout="draft")
    footer = read_footer(path)
    assert footer.variants() == {}  # the annotation would promise the standard's layout
    assert footer.key_value_metadata["varquet.schemas"] == '{"v": "id bigint, tags array<string>"}'
    assert footer.key_value_metadata["varquet.layouts"] == '[["draft", "v"]]'
    names = [pq.ParquetFile(path).schema.column(k).path for k in range(len(pq.ParquetFile(path).schema))]
    assert names == [
        "v.untyped_value",
        "v.object.id.untyped_value",
        "v.object.id.typed_value",
        "v.object.tags.untyped_value",
        "v.object.tags.array.list.element.untyped_value",
        "v.object.tags.array.list.element.typed_value",
    ]


def test_a_file_that_somebody_else_wrote(tmp_path: Path) -> None:
    """Nothing is recorded: untyped_value gives the layout away."""
    octets = b"".join(encode(parse_json('{"x":1}')))
    group = pa.struct([("untyped_value", pa.binary()), ("typed_value", pa.int64())])
    kind = pa.struct([("untyped_value", pa.binary()), ("object", pa.struct([("a", group)]))])
    column = pa.array([{"object": {"a": {"typed_value": 5}}, "untyped_value": octets}, {"untyped_value": octets}, None], kind)
    pq.write_table(pa.table({"v": column, "w": pa.array([{"typed_value": 1}] * 3)}), tmp_path / "x.parquet")
    back = vq.read(tmp_path / "x.parquet")
    assert texts(back["v"]) == ['{"a":5,"x":1}', '{"x":1}', None]
    assert back["w"].to_pylist() == [{"typed_value": 1}] * 3  # might be anything


def test_columns_inside_of_others(tmp_path: Path) -> None:
    variants = vq.parse_json(pa.array(['{"a":1}', '{"b":[{"c":2}]}', "null"]))
    inner = pa.StructArray.from_arrays([variants], fields=[vq.variant_field("body")])
    items = pa.ListArray.from_arrays([0, 2, 3, 3], variants)
    kind = pa.list_(vq.variant_field("element"))
    items = pa.ListArray.from_buffers(kind, 3, items.buffers()[:2], children=[variants])
    table = pa.table([inner, items], schema=pa.schema([pa.field("request", inner.type), pa.field("events", kind)]))
    schemas = {"request.body": "a int", ("events", "element"): "b array<struct<c: int>>"}
    vq.write(table, tmp_path / "x.parquet", schemas, layout="draft")
    back = vq.read(tmp_path / "x.parquet")
    assert texts(back["request"].combine_chunks().field("body")) == texts(variants)
    assert texts(back["events"].combine_chunks().values) == texts(variants)


def test_inspection_finds_the_same_in_both_layouts(tmp_path: Path) -> None:
    table = events()
    found = []
    for layout in ("parquet", "draft"):
        path = tmp_path / f"{layout}.parquet"
        vq.write(table, path, {"v": SCHEMA}, layout=layout)  # type: ignore[arg-type]
        paths = vq.inspect(path).paths
        found.append(paths.drop([name for name in paths.column_names if name.endswith("_bytes")]).to_pylist())
    assert found[0] == found[1]
    assert len(found[0]) > 15


def test_files_of_both_layouts_are_one_dataset(tmp_path: Path) -> None:
    table = events(100)
    vq.write(table[:50], tmp_path / "a.parquet", {"v": SCHEMA})
    vq.write(table[50:], tmp_path / "b.parquet", {"v": "id string"}, layout="draft")
    assert [vq.Variant(row["metadata"], row["value"]) for row in vq.read(tmp_path)["v"].to_pylist()] == [
        vq.Variant(row["metadata"], row["value"]) for row in table["v"].to_pylist()
    ]


def test_damage_is_found_and_named(tmp_path: Path) -> None:
    column = pa.array([{"untyped_value": b"\x01\x00\x00\x00"}, {"untyped_value": b"\x01\x00\x00\x0c"}])
    pq.write_table(pa.table({"v": column}), tmp_path / "x.parquet")
    with pytest.raises(InvalidVariantError, match=r"column 'v' of .*x.parquet': expected more bytes of the value.* - at row 1"):
        vq.read(tmp_path / "x.parquet")
