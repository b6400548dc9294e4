"""The files that are written: annotated, with statistics and indexes, in types that others read, whole or not at all."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from variant_columns import column_of, rows_of

import varquet as vq
from varquet.errors import InvalidVariantError, SchemaError, UnsupportedTypeError
from varquet.parquet import writer
from varquet.parquet.encodings import Encodings
from varquet.parquet.footer import read_footer
from varquet.samples import generate
from varquet.variant.value import Variant

V = pa.schema([vq.variant_field("v")])


def variants(*texts: str | None) -> pa.Array:
    return vq.parse_json(pa.array(texts, pa.string()))


def table(*texts: str | None) -> pa.Table:
    return pa.table([variants(*texts)], schema=V)


def batch(*texts: str | None) -> pa.RecordBatch:
    return pa.record_batch([variants(*texts)], schema=V)


def chunks(path: Path, row_group: int = 0) -> dict[str, Any]:
    """The column chunks of a row group by their dotted paths."""
    group = pq.ParquetFile(path).metadata.row_group(row_group)
    return {group.column(k).path_in_schema: group.column(k) for k in range(group.num_columns)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.parquet"


# The footer


def test_variants_are_annotated_wherever_they_are(path: Path) -> None:
    column = variants('{"a":1}', "2", None)
    pair = pa.StructArray.from_arrays([column, column], fields=[vq.variant_field("one"), vq.variant_field("element")])
    items = pa.ListArray.from_arrays([0, 2, 3, 3], column, type=pa.list_(vq.variant_field("element")))
    kind = pa.map_(pa.string(), vq.variant_field("value"))
    named = pa.MapArray.from_arrays([0, 2, 3, 3], pa.array(["x", "y", "z"]), column, type=kind)
    columns = {"v": column, "pair": pair, "items": items, "named": named}
    fields = [V.field(0), *(pa.field(name, column.type) for name, column in columns.items() if name != "v")]
    vq.write(pa.table(list(columns.values()), schema=pa.schema(fields)), path, {"pair.one": "a int", "items.element": "a string"})
    expected = {("v",), ("pair", "one"), ("pair", "element"), ("items", "list", "element"), ("named", "key_value", "value")}
    assert read_footer(path).variants() == dict.fromkeys(expected, 1)
    assert str(pq.ParquetFile(path).schema).count("(Variant(1))") == len(expected)


@pytest.mark.parametrize(
    ("ddl", "physical", "logical"),
    [
        ("boolean", "BOOLEAN", "None"),
        ("tinyint", "INT32", "Int(bitWidth=8, isSigned=true)"),
        ("smallint", "INT32", "Int(bitWidth=16, isSigned=true)"),
        ("int", "INT32", "None"),
        ("bigint", "INT64", "None"),
        ("float", "FLOAT", "None"),
        ("double", "DOUBLE", "None"),
        ("decimal(1,0)", "INT32", "Decimal(precision=1, scale=0)"),
        ("decimal(9,2)", "INT32", "Decimal(precision=9, scale=2)"),
        ("decimal(10,2)", "INT64", "Decimal(precision=10, scale=2)"),
        ("decimal(18,18)", "INT64", "Decimal(precision=18, scale=18)"),
        ("decimal(19,0)", "FIXED_LEN_BYTE_ARRAY", "Decimal(precision=19, scale=0)"),
        ("decimal(38,38)", "FIXED_LEN_BYTE_ARRAY", "Decimal(precision=38, scale=38)"),
        ("date", "INT32", "Date"),
        ("time", "INT64", "Time(isAdjustedToUTC=false, timeUnit=microseconds)"),
        ("timestamp", "INT64", "Timestamp(isAdjustedToUTC=true, timeUnit=microseconds"),
        ("timestamp_ntz", "INT64", "Timestamp(isAdjustedToUTC=false, timeUnit=microseconds"),
        ("timestamp_nanos", "INT64", "Timestamp(isAdjustedToUTC=true, timeUnit=nanoseconds"),
        ("timestamp_ntz_nanos", "INT64", "Timestamp(isAdjustedToUTC=false, timeUnit=nanoseconds"),
        ("binary", "BYTE_ARRAY", "None"),
        ("string", "BYTE_ARRAY", "String"),
        ("uuid", "FIXED_LEN_BYTE_ARRAY", "UUID"),
    ],
)
def test_types_are_those_of_the_standard(path: Path, ddl: str, physical: str, logical: str) -> None:
    """W3, at the top, in a field and in an element."""
    schema = vq.ShreddingSchema.parse(ddl)
    nested = vq.ShreddingSchema.object({"a": schema, "b": vq.ShreddingSchema.array(schema)})
    vq.write(
        pa.table([variants("1"), variants("1")], schema=pa.schema([vq.variant_field("v"), vq.variant_field("w")])),
        path,
        {"v": schema, "w": nested},
    )
    found = pq.ParquetFile(path).schema
    columns = {found.column(k).path: found.column(k) for k in range(len(found))}
    places = ("v.typed_value", "w.typed_value.a.typed_value", "w.typed_value.b.typed_value.list.element.typed_value")
    for place in places:
        assert columns[place].physical_type == physical
        assert str(columns[place].logical_type).startswith(logical)
    assert columns["v.metadata"].physical_type == columns["v.value"].physical_type == "BYTE_ARRAY"


def test_what_is_required_and_what_is_optional(path: Path) -> None:
    """E2, E3, W6, W7, W10."""
    fields = pa.schema([vq.variant_field("v"), vq.variant_field("plain", nullable=False)])
    vq.write(pa.table([variants("{}"), variants("1")], schema=fields), path, {"v": "a int, b array<string>, c variant"})

    def shape(element: Any) -> Any:
        children = {child.name: shape(child) for child in element.children}
        return (element.repetition, children) if children else element.repetition

    leaf = {"value": "OPTIONAL", "typed_value": "OPTIONAL"}
    array = ("OPTIONAL", {"list": ("REPEATED", {"element": ("REQUIRED", leaf)})})
    fields_of_v = {
        "a": ("REQUIRED", leaf),
        "b": ("REQUIRED", {"value": "OPTIONAL", "typed_value": array}),
        "c": ("REQUIRED", {"value": "OPTIONAL"}),
    }
    root = {child.name: shape(child) for child in read_footer(path).schema.children}
    assert root == {
        "v": ("OPTIONAL", {"metadata": "REQUIRED", "value": "OPTIONAL", "typed_value": ("OPTIONAL", fields_of_v)}),
        "plain": ("REQUIRED", {"metadata": "REQUIRED", "value": "REQUIRED"}),
    }


def test_the_schemas_are_recorded(path: Path) -> None:
    pair = pa.StructArray.from_arrays([variants("1")], fields=[vq.variant_field("one")])
    fields = pa.schema([*V, pa.field("pair", pair.type)])
    vq.write(pa.table([variants("1"), pair], schema=fields), path, {"v": "é int, b array<string>"})
    recorded = json.loads(pq.ParquetFile(path).metadata.metadata[b"varquet.schemas"])
    assert set(recorded) == {"v", "pair.one"}
    assert recorded["pair.one"] == "variant"
    assert vq.ShreddingSchema.parse(recorded["v"]) == vq.ShreddingSchema.parse("é int, b array<string>")
    assert vq.ShreddingSchema.from_parquet(path, "v") == vq.ShreddingSchema.parse(recorded["v"])


def test_a_file_without_variants_has_no_such_key(path: Path) -> None:
    vq.write(pa.table({"x": [1, 2]}), path)
    assert b"varquet.schemas" not in (pq.ParquetFile(path).metadata.metadata or {})
    assert vq.read(path).to_pylist() == [{"x": 1}, {"x": 2}]


def test_every_column_has_a_page_index(path: Path) -> None:
    vq.write(table(*generate("events", 300)), path, {"v": "id bigint, type string"}, row_group_rows=100)
    for group in range(3):
        for chunk in chunks(path, group).values():
            assert chunk.has_offset_index and chunk.has_column_index


def test_typed_columns_have_statistics(path: Path) -> None:
    vq.write(
        table('{"a":5,"b":"x","c":1.50}', '{"a":-3,"b":"yy","c":2.25}', '{"a":"no"}', None),
        path,
        {"v": "a bigint, b string, c decimal(9,2)"},
    )
    found = chunks(path)
    numbers = found["v.typed_value.a.typed_value"].statistics
    assert (numbers.min, numbers.max, numbers.null_count) == (-3, 5, 2)
    texts = found["v.typed_value.b.typed_value"].statistics
    assert (texts.min, texts.max, texts.null_count) == ("x", "yy", 2)
    assert found["v.typed_value.c.typed_value"].statistics.has_min_max
    # S10: whoever skips by them must see that one value is not typed.
    assert found["v.typed_value.a.value"].statistics.null_count == 3
    assert found["v.typed_value.b.value"].statistics.null_count == 4


# Encodings and compression


def test_zstd_is_the_default(path: Path) -> None:
    vq.write(table("1"), path, {"v": "int"})
    assert {chunk.compression for chunk in chunks(path).values()} == {"ZSTD"}


@pytest.mark.parametrize(("given", "found"), [("snappy", "SNAPPY"), ("none", "UNCOMPRESSED"), ("gzip", "GZIP"), ("zstd", "ZSTD")])
def test_other_compressions(path: Path, given: str, found: str) -> None:
    vq.write(table("1"), path, {"v": "int"}, compression=given)
    assert {chunk.compression for chunk in chunks(path).values()} == {found}


def test_a_dictionary_only_where_values_repeat(path: Path) -> None:
    texts = [
        f'{{"few":"{k % 5}","many":"text {k * 7919}","climbing":{k * 3},"constant":7,"measured":{k * 1.37e-3}e0}}' for k in range(2000)
    ]
    vq.write(table(*texts), path, {"v": "few string, many string, climbing bigint, constant int, measured double"})
    found = {name.split(".")[-2]: chunk for name, chunk in chunks(path).items() if name.endswith(".typed_value")}
    assert {name: chunk.has_dictionary_page for name, chunk in found.items()} == {
        "few": True,
        "many": False,
        "climbing": False,
        "constant": True,
        "measured": False,
    }
    assert "DELTA_BINARY_PACKED" in found["climbing"].encodings
    assert "DELTA_LENGTH_BYTE_ARRAY" in found["many"].encodings
    assert "PLAIN" in found["measured"].encodings
    assert chunks(path)["v.metadata"].has_dictionary_page


def test_nobody_waits_for_encodings_that_nobody_will_choose(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = itertools.count()

    def fails(group: pa.Table) -> Encodings:
        assert next(calls) == 0
        time.sleep(0.2)  # while the next row groups come to wait
        raise MemoryError("no room")

    monkeypatch.setattr(writer, "choose_encodings", fails)
    with pytest.raises(MemoryError, match="no room"):
        vq.write(table(*map(str, range(100))), path, {"v": "int"}, row_group_rows=10, threads=3)
    assert not list(path.parent.iterdir())


def test_texts_that_begin_alike(path: Path) -> None:
    texts = [f'{{"time":"2026-01-01T{k // 3600:02}:{k // 60 % 60:02}:{k % 60:02}Z","key":"{k * 7919 % 10007:05}"}}' for k in range(2000)]
    vq.write(table(*texts), path, {"v": "time string, key string"})
    found = {name.split(".")[-2]: chunk.encodings for name, chunk in chunks(path).items() if name.endswith(".typed_value")}
    assert "DELTA_BYTE_ARRAY" in found["time"] and "DELTA_LENGTH_BYTE_ARRAY" in found["key"]
    assert vq.to_json(vq.read(path)["v"]).to_pylist() == vq.to_json(vq.parse_json(pa.array(texts))).to_pylist()


def test_names_with_dots_do_not_mix_up_encodings(path: Path) -> None:
    """Two columns whose dotted paths are the same, of different types."""
    texts = [f'{{"a":{{"b":{k}}},"a.typed_value.b":"s{k * 7919}"}}' for k in range(2000)]
    vq.write(table(*texts), path, {"v": "a struct<b: bigint>, `a.typed_value.b` string"})
    assert vq.to_json(vq.read(path)["v"]).to_pylist() == texts


# Row groups and streams


@pytest.mark.parametrize(("row_group_rows", "sizes"), [(1, [1] * 7), (3, [3, 3, 1]), (7, [7]), (100, [7])])
def test_row_groups_have_the_rows_asked_for(path: Path, row_group_rows: int, sizes: list[int]) -> None:
    for data in (table(*"1234567"), iter([batch("1"), batch(), batch(*"23456"), batch("7")])):
        written = vq.write(data, path, {"v": "int"}, row_group_rows=row_group_rows, overwrite=True)
        file = pq.ParquetFile(path).metadata
        assert [file.row_group(k).num_rows for k in range(file.num_row_groups)] == sizes
        assert (written.rows, written.row_groups, written.size) == (7, len(sizes), path.stat().st_size)
        assert written.path == str(path)
        assert vq.to_json(vq.read(path)["v"]).to_pylist() == list("1234567")


def test_row_groups_are_closed_by_size_too(path: Path) -> None:
    text = json.dumps("x" * 10_000)
    written = vq.write((batch(*[text] * 10) for _ in range(20)), path, row_group_bytes=250_000)
    assert 5 <= written.row_groups <= 8
    assert vq.read(path).num_rows == 200


@pytest.mark.parametrize("options", [{"row_group_rows": 0}, {"row_group_bytes": 0}, {"row_group_rows": -1}])
def test_row_groups_of_nothing(path: Path, options: Any) -> None:
    with pytest.raises(UnsupportedTypeError, match="expected row groups of at least one row and byte"):
        vq.write(table("1"), path, **options)
    assert not path.exists()


def test_a_stream_is_held_in_memory_for_a_row_group_only(path: Path) -> None:
    """Sixty batches of a megabyte, two of them a row group: what is allocated stays far below the sum."""
    text = json.dumps({"text": "x" * 100_000})
    made = batch(*[text] * 10)
    most = 0

    def stream() -> Iterator[pa.RecordBatch]:
        nonlocal most
        for _ in range(60):
            most = max(most, pa.total_allocated_bytes())
            yield pa.record_batch([pa.concat_arrays([made["v"]])], schema=V)

    before = pa.total_allocated_bytes()
    written = vq.write(stream(), path, {"v": "text string"}, row_group_rows=20, threads=1)
    assert (written.rows, written.row_groups) == (600, 30)
    assert most - before < 20 << 20


@pytest.mark.parametrize(
    "make", [lambda: table("1", "2"), lambda: batch("1", "2"), lambda: table("1", "2").to_reader(), lambda: [batch("1"), batch("2")]]
)
def test_data_of_every_kind(path: Path, make: Any) -> None:
    assert vq.write(make(), path, {"v": "int"}).rows == 2
    assert vq.to_json(vq.read(path)["v"]).to_pylist() == ["1", "2"]


@pytest.mark.parametrize("data", [table(), batch(), table().to_reader(), [batch()]])
@pytest.mark.parametrize("schema", [None, "int", "a uuid, b array<uuid>", "array<struct<a: time>>"])
def test_no_rows_at_all(tmp_path: Path, data: Any, schema: str | None) -> None:
    path = tmp_path / "empty.parquet"
    data = table().to_reader() if isinstance(data, pa.RecordBatchReader) else data
    written = vq.write(data, path, None if schema is None else {"v": schema})
    assert (written.rows, written.row_groups) == (0, 0)
    back = vq.read(path)
    assert back.num_rows == 0 and back.schema.names == ["v"]
    assert vq.ShreddingSchema.from_parquet(path, "v") == vq.ShreddingSchema.parse(schema or "variant")


@pytest.mark.parametrize("schema", [None, "int", "a uuid, b array<uuid>", "array<struct<a: time>>"])
def test_nothing_but_nulls(path: Path, schema: str | None) -> None:
    vq.write(table(None, None, None), path, None if schema is None else {"v": schema}, row_group_rows=2)
    assert rows_of(vq.read(path)["v"]) == [None] * 3


@pytest.mark.parametrize("data", [[], [1], ["x"], iter(()), [None]])
def test_what_is_no_data(path: Path, data: Any) -> None:
    with pytest.raises(UnsupportedTypeError, match="expected a table or batches of Arrow data, got .* Hint: pass a pyarrow Table"):
        vq.write(data, path)
    assert not path.exists()


# Whole or not at all


def _left(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir())


def test_success_leaves_one_file(path: Path) -> None:
    vq.write(table("1"), path, {"v": "int"})
    assert _left(path) == ["out.parquet"]


def test_a_stream_that_fails_leaves_nothing(path: Path) -> None:
    def stream() -> Iterator[pa.RecordBatch]:
        for k in range(1000):
            yield batch(str(k))
            if _left(path):  # row groups are being written, by other threads
                raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        vq.write(stream(), path, {"v": "int"}, row_group_rows=1)
    assert _left(path) == []


def test_bad_bytes_leave_nothing(path: Path) -> None:
    bad = pa.record_batch([column_of([(b"\x01\x00\x00", b"\x0c")])], schema=V)
    with pytest.raises(InvalidVariantError):
        vq.write([batch("1"), bad], path, {"v": "int"}, row_group_rows=1)
    assert _left(path) == []


def test_bad_options_leave_nothing(path: Path) -> None:
    with pytest.raises(Exception, match="nope"):
        vq.write(table("1"), path, compression="nope")
    assert _left(path) == []


def test_an_existing_file_is_kept(path: Path) -> None:
    vq.write(table("1"), path)
    before = path.read_bytes()
    with pytest.raises(
        UnsupportedTypeError, match="expected a new file, got .*out.parquet', which exists.* Hint: overwrite=True replaces it"
    ):
        vq.write(table("2"), path)
    assert path.read_bytes() == before
    vq.write(table("2"), path, overwrite=True)
    assert vq.to_json(vq.read(path)["v"]).to_pylist() == ["2"]
    assert _left(path) == ["out.parquet"]


def test_a_failure_keeps_the_file_that_was_to_be_replaced(path: Path) -> None:
    vq.write(table("1"), path)
    before = path.read_bytes()

    def stream() -> Iterator[pa.RecordBatch]:
        yield batch("2")
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError):
        vq.write(stream(), path, overwrite=True)
    assert path.read_bytes() == before
    assert _left(path) == ["out.parquet"]


def test_a_writer_by_hand(path: Path) -> None:
    with vq.FileWriter(path, V, {"v": "int"}) as writer:
        writer.write(batch("1"))
        writer.write(batch("2", None))
        assert not path.exists()
    assert writer.written.rows == 3
    with pytest.raises(KeyError), vq.FileWriter(path, V, overwrite=True) as writer:
        raise KeyError("out of the block")
    assert vq.read(path).num_rows == 3
    assert _left(path) == ["out.parquet"]


# Which columns


def test_a_column_is_named_or_found_by_its_mark(path: Path) -> None:
    unmarked = pa.schema([pa.field("v", vq.VARIANT), pa.field("w", vq.VARIANT)])
    vq.write(pa.table([variants("1"), variants("1")], schema=unmarked), path, {"w": "int"})
    assert read_footer(path).variants() == {("w",): 1}
    assert vq.read(path).schema.field("v").type == vq.VARIANT


@pytest.mark.parametrize("name", ["a.b", ("a", "b"), ("a.b",)])
def test_columns_inside_others_are_named_by_dots_or_tuples(path: Path, name: Any) -> None:
    inner = pa.StructArray.from_arrays([variants("1")], fields=[vq.variant_field("b")])
    dotted = name == ("a.b",)
    fields = pa.schema([vq.variant_field("a.b")] if dotted else [pa.field("a", inner.type)])
    vq.write(pa.table([variants("1") if dotted else inner], schema=fields), path, {name: "int"})
    (found,) = read_footer(path).variants()
    assert found == (("a.b",) if dotted else ("a", "b"))
    assert "typed_value" in str(pq.ParquetFile(path).schema)


@pytest.mark.parametrize(
    ("schemas", "kind", "words"),
    [
        ({"w": "int"}, UnsupportedTypeError, "expected the name of a variant column, got 'w'. Hint: the columns are 'v', 'x'"),
        ({"x": "int"}, UnsupportedTypeError, "expected a variant column at 'x', got int64"),
        ({"v": "a inT8"}, SchemaError, "inT8"),
        ({"v": "a int, a int"}, SchemaError, "'a'"),
    ],
)
def test_schemas_that_are_refused(path: Path, schemas: Any, kind: type[Exception], words: str) -> None:
    data = pa.table([variants("1"), pa.array([1])], schema=pa.schema([*V, pa.field("x", pa.int64())]))
    with pytest.raises(kind, match=words):
        vq.write(data, path, schemas)
    assert _left(path) == []


def test_batches_with_other_columns_are_refused(path: Path) -> None:
    other = pa.record_batch([variants("1")], schema=pa.schema([vq.variant_field("w")]))
    with pytest.raises(UnsupportedTypeError, match=r"expected a batch with the columns \['v'\], got \['w'\]"):
        vq.write([batch("1"), other], path)
    assert _left(path) == []


def test_an_error_names_the_column_and_the_row_of_the_stream(path: Path) -> None:
    bad = pa.record_batch([column_of([(b"\x01\x00\x00", b"\x00"), (b"\x01\x00\x00", b"\x0c")])], schema=V)
    with pytest.raises(InvalidVariantError, match=r"column 'v': .*\(E9, in the value\) - at row 4") as caught:
        vq.write([batch("1", "2", "3"), bad], path, {"v": "int"})
    assert caught.value.row == 4


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "b"]).cast(pa.string_view()),
        pa.array([b"a", b"b"]).cast(pa.binary_view()),
        pa.array(["a", "b"], pa.large_string()),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.nulls(2),
        pa.array([[1, 2], [3, 4]], pa.list_(pa.int8(), 2)),
        pa.array([[1], None], pa.large_list(pa.int8())),
        pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int32())),
        pa.array([1.5, None], pa.float64()),
        pa.array([1, 2], pa.uint8()),
        pa.array([True, None]),
        pa.array([b"abc", None], pa.binary(3)),
        pa.array([{"a": 1, "b": ["x"]}, None]),
        pa.array([1, 2], pa.int16()).cast(pa.decimal256(50, 2)),
    ],
    ids=lambda column: str(column.type),
)
def test_ordinary_columns_of_many_types(path: Path, column: pa.Array) -> None:
    data = pa.table([variants("1", "2"), column], schema=pa.schema([*V, pa.field("x", column.type)]))
    vq.write(data, path, {"v": "int"}, row_group_rows=1)
    assert vq.read(path)["x"].to_pylist() == column.to_pylist()


def test_a_schema_deeper_than_pyarrow_reads_by_default(path: Path) -> None:
    schema, text = vq.ShreddingSchema.parse("bigint"), "5"
    for _ in range(80):
        schema, text = vq.ShreddingSchema.object({"a": schema}), f'{{"a":{text}}}'
    vq.write(table(text, "1"), path, {"v": schema})
    assert [Variant(*row).to_json() for row in rows_of(vq.read(path)["v"]) if row] == [text, "1"]
