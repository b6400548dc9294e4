"""Row groups that varquet encodes itself, against those that pyarrow encodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from parquet_tables import any_encodings, tables, write_groups

from varquet.parquet import group_encoding
from varquet.parquet.encodings import Encodings, choose_encodings, leaves
from varquet.parquet.footer import read_footer
from varquet.parquet.footer_fields import (
    CHUNK_COLUMN_INDEX,
    CHUNK_OFFSET_INDEX,
    GROUP_COLUMNS,
    INDEX_GREATEST,
    INDEX_LEAST,
    INDEX_NULL_PAGES,
    INDEX_NULLS,
    PAGE_ROW,
    PAGES,
    ROW_GROUPS,
)
from varquet.parquet.group_encoding import GroupEncoder
from varquet.parquet.row_groups import EncodedGroup, encode_group
from varquet.parquet.thrift import Struct, read_struct

ALIKE = ("path_in_schema", "num_values", "physical_type", "compression")


def by_pyarrow(encoder: GroupEncoder, table: pa.Table, encodings: Encodings) -> EncodedGroup:
    options = {"use_dictionary": encodings.dictionary or False, "column_encoding": encodings.others or None, **encoder.options}
    return encode_group(table.unify_dictionaries(), options)


def same(one: pa.Table, other: pa.Table) -> bool:
    """Equal, and NaN with NaN."""
    return one.schema == other.schema and repr(one.to_pydict()) == repr(other.to_pydict())


@settings(deadline=None)
@given(st.data())
def test_pyarrow_reads_the_same_as_from_its_own_file(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    table = data.draw(tables())
    note(table.schema)
    encodings = any_encodings(data.draw, table) if data.draw(st.booleans()) else choose_encodings(table)
    compression = data.draw(st.sampled_from(["zstd", "snappy", "none", "gzip", "brotli", "lz4"]))
    folder = tmp_path_factory.mktemp("groups")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_encoding, "PAGE_ROWS", data.draw(st.integers(1, 30)))
        encoder = GroupEncoder(table.schema, compression)
        assert encoder._leaves is not None
        own = write_groups(folder / "own.parquet", [encoder.encode(table, encodings), encoder.encode(table.slice(1), encodings)])
    twice = [by_pyarrow(encoder, part, encodings) for part in (table, table.slice(1))]
    other = write_groups(folder / "other.parquet", twice)
    read = pq.read_table(own)
    read.validate(full=True)
    assert same(read, pq.read_table(other))
    pieces = [found for name, column in zip(table.column_names, table.columns, strict=True) for found in leaves(column, name)]
    dictionaries = {path for path, arrays in pieces if pa.types.is_dictionary(arrays[0].type)}
    ours, theirs = pq.read_metadata(own), pq.read_metadata(other)
    assert ours.schema.equals(theirs.schema) and ours.num_rows == theirs.num_rows
    for group in range(ours.num_row_groups):
        for leaf in range(ours.num_columns):
            a, b = ours.row_group(group).column(leaf), theirs.row_group(group).column(leaf)
            assert [getattr(a, name) for name in ALIKE] == [getattr(b, name) for name in ALIKE]
            one, two = a.statistics, b.statistics
            if one.null_count == a.num_values:
                assert not one.has_min_max  # pyarrow has some where a dictionary is for nothing
            elif a.path_in_schema in dictionaries:  # pyarrow's are those of entries that nobody uses, too
                assert two.min <= one.min <= one.max <= two.max
            else:
                assert (repr(one.min), repr(one.max)) == (repr(two.min), repr(two.max)), a.path_in_schema


def page_bounds(path: Path, leaf: int) -> list[tuple[int, bool, bytes, bytes, int]]:
    """Of each page of the only row group: its first row, whether it is without values, its bounds, and its nulls."""
    data = path.read_bytes()
    group = next(read_footer(path).whole.structs(ROW_GROUPS))
    chunk = list(group.structs(GROUP_COLUMNS))[leaf]
    index, offsets = (read_struct(data, chunk.integer(start) or 0) for start in (CHUNK_COLUMN_INDEX, CHUNK_OFFSET_INDEX))
    rows = [page.integer(PAGE_ROW) or 0 for page in offsets.structs(PAGES)]
    least, greatest = (binaries(index, field) for field in (INDEX_LEAST, INDEX_GREATEST))
    end = index.fields[INDEX_NULL_PAGES].end
    empty = [one == 1 for one in index.data[end - len(rows) : end]]
    return list(zip(rows, empty, least, greatest, index.integers(INDEX_NULLS) or [], strict=True))


def binaries(struct: Struct, field: int) -> list[bytes]:
    """The byte arrays of a list, which are fewer than 4,096 and shorter than 4,096 bytes."""

    def number(at: int) -> tuple[int, int]:
        byte = struct.data[at]
        return (byte, at + 1) if byte < 128 else (byte & 127 | struct.data[at + 1] << 7, at + 2)

    at = struct.fields[field].start + 1
    count = struct.data[at - 1] >> 4
    if count == 15:
        count, at = number(at)
    found = []
    for _ in range(count):
        size, at = number(at)
        found.append(struct.data[at : at + size])
        at += size
    return found


@pytest.mark.parametrize("encoding", ["dictionary", "plain", "delta"])
def test_bounds_of_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    monkeypatch.setattr(group_encoding, "PAGE_ROWS", 7)
    rows = [None if k % 7 == 3 or 20 <= k < 29 else (k * 37) % 11 - 5 for k in range(60)]
    lists = [None if k % 9 == 4 else [rows[k], *rows[: k % 3]] for k in range(60)]
    given_texts = [None if row is None else f"{row:+d} and more" for row in rows]
    inner = pa.StructArray.from_arrays([pa.array(given_texts)], ["text"], mask=pa.array([k % 5 == 0 for k in range(60)]))
    numbers = pa.array(rows, pa.int64())
    table = pa.table({"number": numbers, "list": pa.array(lists, pa.list_(pa.int64())), "inner": inner})
    paths = ["number", "list.list.element", "inner.text"]
    chosen = {
        "dictionary": Encodings(paths, {}),
        "plain": Encodings([], {}),
        "delta": Encodings([], dict(zip(paths, ["DELTA_BINARY_PACKED", "DELTA_BINARY_PACKED", "DELTA_BYTE_ARRAY"], strict=True))),
    }[encoding]
    path = write_groups(tmp_path / "own.parquet", [GroupEncoder(table.schema).encode(table, chosen)])
    texts = [None if k % 5 == 0 else text for k, text in enumerate(given_texts)]

    def number(value: int) -> bytes:
        return value.to_bytes(8, "little", signed=True)

    columns: list[tuple[list[Any], Any]] = [([[one] for one in rows], number), (lists, number), ([[one] for one in texts], str.encode)]
    for leaf, (column, stored) in enumerate(columns):
        expected = []
        for start in range(0, 60, 7):
            entries = [one for row in column[start : start + 7] for one in (row or [None])]
            values = [one for one in entries if one is not None]
            bounds = (stored(min(values)), stored(max(values))) if values else (b"", b"")
            expected.append((start, not values, *bounds, len(entries) - len(values)))
        assert page_bounds(path, leaf) == expected
    inners = [None if k % 5 == 0 else {"text": texts[k]} for k in range(60)]
    assert pq.read_table(path).to_pydict() == {"number": rows, "list": lists, "inner": inners}


def test_pages_of_columns_with_long_texts_are_cut_further(tmp_path: Path) -> None:
    rows = 30_000
    table = pa.table({"short": list(range(rows)), "long": ["x" * 400 + str(k) for k in range(rows)]})
    path = write_groups(tmp_path / "own.parquet", [GroupEncoder(table.schema).encode(table, choose_encodings(table))])
    assert [row for row, *_ in page_bounds(path, 0)] == [0, group_encoding.PAGE_ROWS]
    long = [row for row, *_ in page_bounds(path, 1)]
    assert len(long) > 10
    assert {0, group_encoding.PAGE_ROWS} <= set(long)
    assert pq.read_table(path).equals(table)


def test_bounds_that_are_too_long_are_left_out(tmp_path: Path) -> None:
    table = pa.table({"text": ["a", "b" * 5000, None], "number": [1, 2, 3]})
    path = write_groups(tmp_path / "own.parquet", [GroupEncoder(table.schema).encode(table, Encodings([], {}))])
    statistics = pq.read_metadata(path).row_group(0).column(0).statistics
    assert (statistics.has_min_max, statistics.null_count) == (False, 1)
    assert pq.read_table(path).equals(table)


def test_a_dictionary_that_grows_too_large_is_given_up(tmp_path: Path) -> None:
    rows = 3000
    reals = [k / 7 for k in range(rows)]
    table = pa.table({"text": [f"{k} " * 200 for k in range(rows)], "number": [k * k for k in range(rows)], "real": reals})
    path = write_groups(tmp_path / "own.parquet", [GroupEncoder(table.schema).encode(table, Encodings(["text", "number", "real"], {}))])
    found = pq.read_metadata(path).row_group(0)
    assert [found.column(leaf).has_dictionary_page for leaf in range(3)] == [False, True, True]
    assert pq.read_table(path).equals(table)


def test_what_nulls_hold_is_left_out(tmp_path: Path) -> None:
    values = pa.array([1, 2, 3, 4, 5, 6])
    hidden = pa.ListArray.from_arrays(pa.array([0, 2, 4, 6], pa.int32()), values, mask=pa.array([False, True, False]))
    offsets = pa.py_buffer(np.array([0, 1, 2, 3], np.int32))
    texts = pa.StringArray.from_buffers(3, offsets, pa.py_buffer(b"abc"), pa.py_buffer(bytes([0b101])), 1)
    struct = pa.StructArray.from_arrays([texts], ["a"], mask=pa.array([True, False, False]))
    table = pa.table({"hidden": hidden, "struct": struct})
    path = write_groups(tmp_path / "own.parquet", [GroupEncoder(table.schema).encode(table, Encodings([], {}))])
    assert pq.read_table(path).to_pydict() == {"hidden": [[1, 2], None, [5, 6]], "struct": [None, {"a": None}, {"a": "c"}]}


def test_dictionaries_with_the_same_entry_twice_and_such_that_nobody_uses(tmp_path: Path) -> None:
    indexes = pa.array([4, 0, 1, None, 2, 4, 1], pa.int32())
    array = pa.DictionaryArray.from_arrays(indexes, pa.array(["a", "b", "a", "unused", "c"]))
    table = pa.table({"text": array})
    path = write_groups(tmp_path / "own.parquet", [GroupEncoder(table.schema).encode(table, Encodings(["text"], {}))])
    for names in (None, ["text"]):
        assert pq.read_table(path, read_dictionary=names)["text"].to_pylist() == ["c", "a", "b", None, "a", "c", "b"]
    statistics = pq.read_metadata(path).row_group(0).column(0).statistics
    assert (statistics.min, statistics.max, statistics.null_count) == ("a", "c", 1)


def test_dictionaries_with_a_null(tmp_path: Path) -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 2], pa.int32()), pa.array(["a", None, "c"]))
    table = pa.table({"text": array})
    path = write_groups(tmp_path / "own.parquet", [GroupEncoder(table.schema).encode(table, Encodings(["text"], {}))])
    assert pq.read_table(path)["text"].to_pylist() == [None, "a", None, "c"]


@pytest.mark.parametrize("kind", [pa.uint8(), pa.timestamp("s"), pa.float16(), pa.list_(pa.int8(), 2)], ids=str)
def test_types_that_are_left_to_pyarrow(tmp_path: Path, kind: pa.DataType) -> None:
    table = pa.table({"known": [1, 2], "other": pa.nulls(2, kind)})
    encoder = GroupEncoder(table.schema)
    assert encoder._leaves is None
    path = write_groups(tmp_path / "own.parquet", [encoder.encode(table, Encodings([], {}))])
    assert pq.read_table(path).to_pydict() == {"known": [1, 2], "other": [None, None]}
