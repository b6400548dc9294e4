"""Reading files that others wrote: where Variants are, what is accepted, and what an error says."""

from __future__ import annotations

import os
import pickle
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from patched_footers import patch_file
from variant_columns import rows_of

import varquet as vq
from varquet.errors import InvalidVariantError, ParquetError, SchemaError, UnsupportedTypeError, VarquetError
from varquet.parquet.decoding import PageDecoder, PageRun

NO_NAMES = bytes.fromhex("010000")
V = pa.schema([vq.variant_field("v")])


def variants(*texts: str | None) -> pa.Array:
    return vq.parse_json(pa.array(texts, pa.string()))


def texts(column: pa.Array | pa.ChunkedArray) -> list[str | None]:
    found: list[str | None] = vq.to_json(column).to_pylist()
    return found


def write(path: Path, *values: str | None, schema: str = "variant", **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    vq.write(pa.table([variants(*values)], schema=V), path, {"v": schema}, **options)
    return path


def write_physical(path: Path, table: pa.Table, *variants: tuple[str, ...], **options: Any) -> Path:
    """A file as another writer may make it: the groups as they are, and the annotation."""
    pq.write_table(table, path, **options)
    patch_file(path, variants)
    return path


# Which files


def test_files_folders_globs_and_lists(tmp_path: Path) -> None:
    first = write(tmp_path / "a.parquet", "1")
    write(tmp_path / "b" / "day=2" / "c.parquet", "2", schema="int")
    write(tmp_path / "b" / "day=10" / "c.parquet", "3", schema="string")
    for source, expected in [
        (first, ["1"]),
        (str(first), ["1"]),
        (tmp_path, ["1", "3", "2"]),
        (str(tmp_path / "*.parquet"), ["1"]),
        (str(tmp_path / "**" / "c.parquet"), ["3", "2"]),
        ([tmp_path / "b", first], ["3", "2", "1"]),
    ]:
        assert texts(vq.read(source)["v"]) == expected
        assert [text for batch in vq.read_batches(source) for text in texts(batch["v"])] == expected


def test_hidden_files_of_a_folder_are_left_out(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", "1")
    for name in (".hidden.parquet", "_metadata.parquet", "_log/x.parquet", ".tmp/x.parquet", "_p=1/x.parquet"):
        write(tmp_path / name, '"hidden"' if "=" not in name else "2")
    assert sorted(filter(None, texts(vq.read(tmp_path)["v"]))) == ["1", "2"]


@pytest.mark.parametrize("name", ["nothing.parquet", "*.nothing", "empty"])
def test_a_source_without_files(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnsupportedTypeError, match="expected a Parquet file, a folder of them or a glob, got .*, which names none"):
        vq.read(tmp_path / name)


@pytest.mark.parametrize("data", [b"", b"hello", b"PAR1" + bytes(20) + b"PAR1"])
def test_what_is_no_parquet_file(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(data)
    with pytest.raises(ParquetError, match="x.parquet"):
        vq.read(path)


def test_a_file_that_was_cut_off(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", *map(str, range(100)), schema="int")
    whole = path.read_bytes()
    for size in (len(whole) - 1, len(whole) - 30, len(whole) // 2, 12):
        path.write_bytes(whole[:size])
        with pytest.raises(ParquetError, match="x.parquet"):
            vq.read(path)


# Which columns


def test_columns_in_the_order_asked_for(tmp_path: Path) -> None:
    fields = pa.schema([pa.field("id", pa.int64()), vq.variant_field("v"), pa.field("name", pa.string()), vq.variant_field("w")])
    data = pa.table([pa.array([1]), variants("1"), pa.array(["x"]), variants("2")], schema=fields)
    vq.write(data, tmp_path / "x.parquet", {"w": "int"})
    assert vq.read(tmp_path / "x.parquet", ["w", "id"]).column_names == ["w", "id"]
    assert [batch.schema.names for batch in vq.read_batches(tmp_path / "x.parquet", ["v"])] == [["v"]]
    with pytest.raises(UnsupportedTypeError, match="expected columns of .*x.parquet', got 'nope'. Hint: they are 'id', 'v', 'name', 'w'"):
        vq.read(tmp_path / "x.parquet", ["id", "nope"])


def test_only_the_columns_asked_for_are_looked_at(tmp_path: Path) -> None:
    """S8: nothing is held against a column that nobody reads."""
    both_set = pa.array([{"metadata": NO_NAMES, "value": b"\x00", "typed_value": 1}])
    path = write_physical(tmp_path / "x.parquet", pa.table({"id": [7], "bad": both_set, "good": variants("1")}), ("bad",), ("good",))
    assert texts(vq.read(path, ["good", "id"])["good"]) == ["1"]
    with pytest.raises(InvalidVariantError):
        vq.read(path)


def test_only_annotated_groups_are_variants(tmp_path: Path) -> None:
    table = pa.table({"struct": variants("1"), "variant": variants("2")})
    back = vq.read(write_physical(tmp_path / "x.parquet", table, ("variant",)))
    assert back.schema.field("struct").type == vq.VARIANT
    assert back.schema.field("struct").metadata is None
    assert back.schema.field("variant").metadata[b"ARROW:extension:name"] == b"arrow.parquet.variant"


@pytest.mark.parametrize("name", ["element", "list", "key", "value", "typed_value", "metadata", "key_value", "a.b", "", "_x", "é"])
def test_columns_and_fields_of_any_name(tmp_path: Path, name: str) -> None:
    inner = pa.StructArray.from_arrays([variants('{"a":1}')], fields=[vq.variant_field(name)])
    data = pa.table([variants('{"a":1}'), inner], schema=pa.schema([vq.variant_field(name), pa.field("outer", inner.type)]))
    vq.write(data, tmp_path / "x.parquet", {(name,): "a int", ("outer", name): "a string"})
    back = vq.read(tmp_path / "x.parquet")
    assert texts(back[name]) == ['{"a":1}']
    assert texts(back["outer"].combine_chunks().field(0)) == ['{"a":1}']
    assert texts(vq.read(tmp_path / "x.parquet", [name])[name]) == ['{"a":1}']


def test_lists_whose_items_have_another_name(tmp_path: Path) -> None:
    """Older writers say `item`, `array` or `array_element` where the standard says `element`."""
    items = pa.ListArray.from_arrays([0, 2, 3], variants("1", "2", "3"))
    path = write_physical(tmp_path / "x.parquet", pa.table({"l": items}), ("l", "list", "item"), use_compliant_nested_type=False)
    item = vq.read(path).schema.field("l").type.value_field
    assert (item.metadata or {}).get(b"ARROW:extension:name") == b"arrow.parquet.variant"


# What is accepted


def test_shredded_lists_whose_items_have_another_name(tmp_path: Path) -> None:
    kind = pa.list_(pa.field("item", pa.struct([("value", pa.binary()), ("typed_value", pa.int64())])))
    struct = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", kind)])
    column = pa.array([{"metadata": NO_NAMES, "typed_value": [{"typed_value": 1}, {"value": b"\x00"}]}], struct)
    path = write_physical(tmp_path / "x.parquet", pa.table({"v": column}), ("v",), use_compliant_nested_type=False)
    assert texts(vq.read(path)["v"]) == ["[1,null]"]


def test_metadata_that_lost_its_dictionary_half_way(tmp_path: Path) -> None:
    """A writer gives a dictionary up when it grows too large; rows before and behind that are read alike."""
    column = variants(*(f'{{"key{k:06}":{k}}}' for k in range(5000)))
    items = pa.ListArray.from_arrays(list(range(0, 5001, 2)), column)
    table = pa.table({"v": column[:2500], "l": items})
    path = write_physical(
        tmp_path / "x.parquet",
        table,
        ("v",),
        ("l", "list", "element"),
        dictionary_pagesize_limit=4096,
        data_page_size=4096,
        row_group_size=2000,
    )
    back = vq.read(path)
    assert texts(back["v"]) == texts(column[:2500])
    assert texts(pa.concat_arrays([chunk.values for chunk in back["l"].chunks])) == texts(column)
    assert [text for batch in vq.read_batches(path, batch_rows=300) for text in texts(batch["v"])] == texts(column[:2500])


def test_texts_that_lost_their_dictionary_half_way(tmp_path: Path) -> None:
    """The same for texts, which are read as dictionaries where they repeat."""
    values = [f'{{"a":"{min(k, 900)}","b":[{{"c":"{k % 7}"}}]}}' for k in range(2500)] + [None, "1"]
    shredded = vq.shred(variants(*values), "a string, b array<struct<c: string>>")
    path = write_physical(
        tmp_path / "x.parquet", pa.table({"v": shredded}), ("v",), dictionary_pagesize_limit=2048, data_page_size=512, row_group_size=2000
    )
    for batch_rows in (1, 100, 5000):
        assert [text for batch in vq.read_batches(path, batch_rows=batch_rows) for text in texts(batch["v"])] == values


def test_residuals_that_only_some_row_groups_have(tmp_path: Path) -> None:
    """Those that are empty are not read."""
    values = ['{"a":"x","b":[1]}', '{"a":"x","b":[]}', '{"a":1,"b":["y"]}', "[2]", None, '{"a":"x","c":{}}', '{"a":"z"}', "null"]
    for row_group_rows in (1, 2, 3, 8):
        path = write(tmp_path / "x.parquet", *values, schema="a string, b array<int>", row_group_rows=row_group_rows, overwrite=True)
        assert texts(vq.read(path)["v"]) == values
        assert texts(vq.read(path, strict=True, threads=1)["v"]) == values


def test_a_batch_has_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", "1")
    with pytest.raises(UnsupportedTypeError, match="expected at least one row in a batch, got 0"):
        list(vq.read_batches(path, batch_rows=0))


@pytest.mark.parametrize("schema", ["variant", "int", "a int"])
@pytest.mark.parametrize("row_group_rows", [1, 2])
def test_row_groups_of_nothing_but_nulls_beside_others(tmp_path: Path, schema: str, row_group_rows: int) -> None:
    """Their metadata is a dictionary without entries, to which other row groups, also large ones, have no more to say."""
    wide = "{" + ",".join(f'"k{k:03}":null' for k in range(300)) + "}"
    values = [None, None, wide, None, '{"a":1}', None, None, None]
    path = write(tmp_path / "x.parquet", *values, schema=schema, row_group_rows=row_group_rows)
    back = vq.read(path)
    back.validate(full=True)
    assert texts(back["v"]) == values
    assert texts(vq.unshred(vq.shred(back["v"], "a int"))) == values
    vq.write(back, tmp_path / "again.parquet", {"v": "a string"})
    assert texts(vq.read(tmp_path / "again.parquet")["v"]) == values


def test_decimals_in_every_physical_type(tmp_path: Path) -> None:
    for integers in (True, False):
        numbers = [pa.array(["1.10", "-0.05", None]).cast(pa.decimal128(precision, 2)) for precision in (5, 12, 30)]
        columns = {
            f"v{k}": pa.StructArray.from_arrays([pa.array([NO_NAMES] * 3), typed], names=["metadata", "typed_value"])
            for k, typed in enumerate(numbers)
        }
        path = write_physical(
            tmp_path / f"{integers}.parquet", pa.table(columns), *((name,) for name in columns), store_decimal_as_integer=integers
        )
        back = vq.read(path)
        for name in columns:
            assert texts(back[name]) == ["1.10", "-0.05", "null"]


def test_a_batch_is_as_long_as_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", *map(str, range(50)), schema="int", row_group_rows=20)
    assert [batch.num_rows for batch in vq.read_batches(path, batch_rows=8)] == [8, 8, 4, 8, 8, 4, 8, 2]
    assert [text for batch in vq.read_batches(path, batch_rows=8) for text in texts(batch["v"])] == [str(k) for k in range(50)]


def test_batches_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", *map(str, range(50)), schema="int", row_group_rows=5)
    batches = vq.read_batches([path, tmp_path / "x.parquet"])
    assert texts(next(batches)["v"]) == ["0", "1", "2", "3", "4"]


def test_nullability_is_kept(tmp_path: Path) -> None:
    fields = pa.schema([vq.variant_field("v", nullable=False), vq.variant_field("w")])
    vq.write(pa.table([variants("1"), variants(None)], schema=fields), tmp_path / "x.parquet", {"v": "int"})
    back = vq.read(tmp_path / "x.parquet")
    assert [back.schema.field(name).nullable for name in ("v", "w")] == [False, True]


# Errors


def test_a_variant_without_metadata(tmp_path: Path) -> None:
    column = pa.StructArray.from_arrays([pa.array([b"\x00"])], names=["value"])
    path = write_physical(tmp_path / "x.parquet", pa.table({"v": column}), ("v",))
    with pytest.raises(SchemaError, match=r"column 'v' of .*x.parquet'.*expected a metadata column"):
        vq.read(path)


def _conflict(rows: int, bad: int) -> pa.Array:
    """Integers, of which one has both value and typed_value."""
    return pa.array([{"metadata": NO_NAMES, "value": b"\x00" if row == bad else None, "typed_value": row} for row in range(rows)])


def test_an_error_names_column_file_row_and_rule(tmp_path: Path) -> None:
    path = write_physical(tmp_path / "x.parquet", pa.table({"id": range(100), "my v": _conflict(100, 77)}), ("my v",), row_group_size=30)
    for read in (lambda: vq.read(path), lambda: list(vq.read_batches(path, batch_rows=7)), lambda: vq.read([path], threads=1)):
        with pytest.raises(InvalidVariantError) as caught:
            read()
        assert caught.value.row == 77
        words = str(caught.value)
        assert "column 'my v'" in words and str(path) in words and "(S6," in words and "at row 77" in words
        again = pickle.loads(pickle.dumps(caught.value))
        assert str(again) == words and type(again) is InvalidVariantError


def test_an_error_inside_a_struct_or_list_names_the_column(tmp_path: Path) -> None:
    inner = pa.StructArray.from_arrays([_conflict(3, 1)], names=["one"])
    items = pa.ListArray.from_arrays([0, 3, 3, 3], _conflict(3, 1))
    path = write_physical(tmp_path / "s.parquet", pa.table({"pair": inner}), ("pair", "one"))
    with pytest.raises(InvalidVariantError, match=r"column 'pair\.one' of '.*s\.parquet'.*\(S6,"):
        vq.read(path)
    path = write_physical(tmp_path / "l.parquet", pa.table({"items": items}), ("items", "list", "element"))
    with pytest.raises(InvalidVariantError, match=r"column 'items\.element' of '.*l\.parquet'.*\(S6,"):
        vq.read(path)


def test_the_file_at_fault_is_named(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", "1")
    write_physical(tmp_path / "b.parquet", pa.table({"v": _conflict(2, 1)}), ("v",))
    with pytest.raises(InvalidVariantError, match=r"b\.parquet.* at row 1"):
        vq.read(tmp_path)


@pytest.mark.parametrize(
    ("typed", "options", "words"),
    [
        (pa.array([1], pa.uint32()), {}, r"got INT32 INT\(32,false\): it has no unsigned integers"),
        (pa.array([1], pa.timestamp("ns")), {"use_deprecated_int96_timestamps": True}, "got INT96: it has no INT96"),
        (pa.array([1], pa.timestamp("ms")), {}, r"got INT64 TIMESTAMP\(false,MILLIS\)"),
        (pa.array([b"1234"], pa.binary(4)), {}, r"got FIXED_LEN_BYTE_ARRAY\(4\)"),
        (pa.array([bytes(16)], pa.binary(16)), {}, r"got FIXED_LEN_BYTE_ARRAY\(16\)"),
        (pa.array([1], pa.time64("us")), {"write_time_adjusted_to_utc": True}, r"got INT64 TIME\(true,MICROS\)"),
        (pa.array([1], pa.time64("ns")), {}, r"got INT64 TIME\(false,NANOS\)"),
        (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())), {}, "got a MAP"),
    ],
    ids=str,
)
def test_types_that_no_typed_value_may_have(tmp_path: Path, typed: pa.Array, options: Any, words: str) -> None:
    column = pa.StructArray.from_arrays([pa.array([NO_NAMES]), pa.nulls(1, pa.binary()), typed], names=["metadata", "value", "typed_value"])
    path = write_physical(tmp_path / "x.parquet", pa.table({"v": column}), ("v",), **options)
    with pytest.raises(SchemaError, match=f"column 'v' of .*x.parquet'.*{words}"):
        vq.read(path)


def test_strict_reading(tmp_path: Path) -> None:
    kind = vq.ShreddingSchema.parse("a int").physical()
    names = variants('{"a":1}').field("metadata")[0].as_py()
    rows = [
        {"metadata": names, "value": None, "typed_value": {"a": {"typed_value": 1}}},
        {"metadata": names, "value": b"\x02\x01\x00\x00\x02\x0c\x05"},
    ]
    path = write_physical(tmp_path / "x.parquet", pa.table({"v": pa.array(rows, kind)}), ("v",))
    assert texts(vq.read(path)["v"]) == ['{"a":1}', '{"a":5}']
    with pytest.raises(InvalidVariantError, match=r"\(W9,.* at row 1"):
        vq.read(path, strict=True)
    with pytest.raises(InvalidVariantError, match=r"\(W9,.* at row 1"):
        list(vq.read_batches(path, strict=True))


def test_reading_leaves_no_file_open(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", "1", "2", schema="int")
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    for _ in range(20):
        vq.read(path)
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before + 2


def test_every_error_is_one_of_ours(tmp_path: Path) -> None:
    """Bytes changed at random in the footer of a small file: an error that names the file, or a table."""
    path = write(tmp_path / "x.parquet", '{"a":1}', '{"a":"x"}', schema="a int")
    whole = path.read_bytes()
    choice = random.Random(5)
    for _ in range(200):
        changed = bytearray(whole)
        footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
        changed[choice.randrange(footer, len(whole))] ^= 1 << choice.randrange(8)
        path.write_bytes(changed)
        try:
            vq.read(path)
        except VarquetError as error:
            assert str(error)
        except (OSError, pa.ArrowException, ValueError) as error:
            # What pyarrow itself notices behind the schema keeps pyarrow's words.
            assert type(error).__module__.startswith(("pyarrow", "builtins"))


def test_rows_that_share_metadata_share_it_in_memory(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", *(f'{{"a":{k}}}' for k in range(1000)), schema="a int")
    column = vq.read(path)["v"]
    assert pa.types.is_dictionary(column.type.field("metadata").type)
    assert len(column.chunk(0).field("metadata").dictionary) == 1
    assert len({row[0] for row in rows_of(column) if row}) == 1


PAGES_OF_OTHERS: list[tuple[dict[str, Any], bool]] = [
    ({"write_page_index": True}, True),
    ({"write_page_index": True, "compression": "snappy"}, True),
    ({"write_page_index": True, "compression": "none", "use_dictionary": ["v.metadata"]}, True),
    # Without an index nobody knows where pages are; and these are left to pyarrow, when they are met or before.
    ({"write_page_index": False}, False),
    ({"write_page_index": True, "compression": "gzip"}, False),
    ({"write_page_index": True, "data_page_version": "2.0"}, False),
    ({"write_page_index": True, "dictionary_pagesize_limit": 200, "data_page_size": 500, "write_batch_size": 10}, False),
]


@pytest.mark.parametrize(("options", "is_decoded"), PAGES_OF_OTHERS, ids=str)
@pytest.mark.parametrize("threads", [1, 3])
def test_pages_that_are_decoded_here_and_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], is_decoded: bool, threads: int
) -> None:
    rows = [f'{{"a":{k},"b":["{k % 7} {k}",null],"c":{{"d":{"null" if k % 3 else f"{k / 8:.3f}"}}},"e{k % 50}":true}}' for k in range(500)]
    shredded = vq.shred(variants(*rows), "a bigint, b array<string>, c struct<d decimal(9,3)>")
    path = write_physical(tmp_path / "x.parquet", pa.table({"v": shredded, "n": range(500)}), ("v",), row_group_size=120, **options)
    read: list[bool] = []
    decode = PageDecoder.read

    def spied(self: PageDecoder, source: pa.NativeFile, run: PageRun) -> pa.RecordBatch | None:
        found = decode(self, source, run)
        read.append(found is not None)
        return found

    monkeypatch.setattr(PageDecoder, "read", spied)
    table = vq.read(path, threads=threads)
    assert texts(table["v"]) == texts(variants(*rows))
    assert table["n"].to_pylist() == list(range(500))
    assert (read == [True] * 5) == is_decoded
    assert is_decoded or not any(read)
    assert len(read) <= 2 * threads + 1 or is_decoded  # once is enough to see that one does not know them
