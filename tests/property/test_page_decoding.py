"""Pages that varquet decodes itself, against what pyarrow reads of the same files."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from kernel_builds import BUILDS
from parquet_tables import any_encodings, tables, write_groups

from varquet import kernels
from varquet.parquet import group_encoding
from varquet.parquet.decoding import PageDecoder
from varquet.parquet.encodings import Encodings, choose_encodings
from varquet.parquet.files import DataFile
from varquet.parquet.footer_fields import PLAIN
from varquet.parquet.group_encoding import GroupEncoder
from varquet.parquet.leaf_values import LeafType, NotKnownError, read_dictionary
from varquet.parquet.levels import leaf_places, places
from varquet.schema.parquet_form import any_depth

KNOWN: list[tuple[pa.DataType, str]] = [
    (pa.bool_(), "BOOLEAN"),
    (pa.int8(), "INT32"),
    (pa.int16(), "INT32"),
    (pa.int32(), "INT32"),
    (pa.int64(), "INT64"),
    (pa.float32(), "FLOAT"),
    (pa.float64(), "DOUBLE"),
    (pa.date32(), "INT32"),
    (pa.time64("us"), "INT64"),
    (pa.timestamp("us", "UTC"), "INT64"),
    (pa.timestamp("ns"), "INT64"),
    (pa.decimal128(9, 2), "INT32"),
    (pa.decimal128(18, 4), "INT64"),
    (pa.string(), "BYTE_ARRAY"),
    (pa.binary(), "BYTE_ARRAY"),
    (pa.binary(5), "FIXED_LEN_BYTE_ARRAY"),
    (pa.decimal128(38, 3), "FIXED_LEN_BYTE_ARRAY"),
]


def decoded(path: Path, most_rows: int, texts: list[int], pruned: set[int]) -> list[pa.RecordBatch | None] | None:
    """The batches of a file, each None if its pages are not known; None if a row group is not even tried."""
    file = DataFile(str(path))
    kept, source = file.kept(), file.open()
    root = places(kept.footer.schema)
    schema = pq.ParquetFile(path, **any_depth()).schema_arrow.remove_metadata()
    decoder = PageDecoder(root, schema, texts)
    batches: list[pa.RecordBatch | None] = []
    for group in range(kept.metadata.num_row_groups):
        leaves = [leaf for leaf in range(root.end_leaf) if leaf not in pruned]
        runs = decoder.runs(source, kept.pages, group, leaves, most_rows)
        if runs is None:
            return None
        batches += [decoder.read(source, run) for run in runs]
    return batches


def has_known_types(path: Path) -> bool:
    """Whether all types of a file are among those that are decoded, so that nothing is left to pyarrow in secret."""

    def known(kind: pa.DataType) -> bool:
        if pa.types.is_struct(kind) or pa.types.is_list(kind):
            return all(known(kind.field(k).type) for k in range(kind.num_fields))
        return kind in [one for one, _ in KNOWN]

    return all(known(field.type) for field in pq.read_schema(path))


def dictionary_texts(path: Path, encodings: Encodings) -> list[int]:
    metadata = pq.read_metadata(path)
    columns = [metadata.row_group(0).column(leaf) for leaf in range(metadata.num_columns)]
    return [
        leaf
        for leaf, column in enumerate(columns)
        if column.physical_type == "BYTE_ARRAY" and column.path_in_schema in encodings.dictionary and column.has_dictionary_page
    ]


@settings(deadline=None)
@given(st.data())
def test_the_same_as_pyarrow_reads(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    table = data.draw(tables())
    note(table.schema)
    encodings = any_encodings(data.draw, table) if data.draw(st.booleans()) else choose_encodings(table)
    compression = data.draw(st.sampled_from(["zstd", "snappy", "none"]))
    folder = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_encoding, "PAGE_ROWS", page_rows := data.draw(st.integers(1, 30)))
        encoder = GroupEncoder(table.schema, compression)
        path = write_groups(folder / "own.parquet", [encoder.encode(table, encodings), encoder.encode(table.slice(1), encodings)])
    texts = [leaf for leaf in dictionary_texts(path, encodings) if data.draw(st.booleans())]
    found = decoded(path, page_rows * data.draw(st.integers(1, 4)), texts, set())
    if found is None:
        assert not has_known_types(path)
        return
    # pyarrow encodes what varquet does not.
    batches = [batch for batch in found if batch is not None]
    assert len(batches) == len(found)
    for batch in batches:
        batch.validate(full=True)
    expected = pq.read_table(path)
    got = [row for batch in batches for row in batch.to_pylist()]
    assert repr(got) == repr(expected.to_pylist())


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_columns_of_pyarrow(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """What pyarrow writes has other runs, blocks and pages than what varquet does."""
    # pyarrow does not write pieces that have dictionaries of their own.
    table = data.draw(tables()).unify_dictionaries()
    path = tmp_path_factory.mktemp("pages") / "other.parquet"
    options: dict[str, Any] = {"data_page_version": data.draw(st.sampled_from(["1.0", "2.0"])), "write_page_index": True}
    pq.write_table(table, path, compression=data.draw(st.sampled_from(["zstd", "snappy", "none", "gzip"])), **options)
    found = decoded(path, 100, [], set())
    if options["data_page_version"] == "2.0" or found is None:
        assert found is None or None in found or not found
        return
    expected = pq.read_table(path)
    got = [row for batch in found if batch is not None for row in batch.to_pylist()]
    if None not in found:
        assert repr(got) == repr(expected.to_pylist())


LARGE = 3000


def large_table() -> pa.Table:
    """Enough for runs, blocks and widths of all kinds."""
    rows: list[dict[str, Any]] = []
    for k in range(LARGE):
        steady = k // 1000
        inner = None if k % 11 == 3 else {"text": None if k % 7 == 0 else f"{k * k:08d}", "many": [{"n": k * j} for j in range(k % 4)]}
        rows.append(
            {
                "steady": steady,
                "wide": (k * 0x9E3779B97F4A7C15 & (1 << 64) - 1) - (1 << 63),
                "small": None if k % 3 else k % 100,
                "real": k / 8,
                "flag": None if k % 5 == 1 else k % 3 == 0,
                "large": None if k % 19 == 7 else Decimal(k - 1500) * 10**20 / 1000,
                "octets": None if k % 23 == 7 else bytes([k % 256] * 5),
                "inner": None if k % 13 == 5 else inner,
                "lists": None if k % 17 == 2 else [[str(k)] * (j % 3) for j in range(k % 5)],
                "nothing": None,
            }
        )
    element = pa.struct([pa.field("n", pa.int64(), False)])
    inner_type = pa.struct([("text", pa.string()), ("many", pa.list_(element))])
    schema = pa.schema(
        [
            pa.field("steady", pa.int32(), False),
            ("wide", pa.int64()),
            ("small", pa.int16()),
            ("real", pa.float64()),
            ("flag", pa.bool_()),
            ("large", pa.decimal128(38, 3)),
            ("octets", pa.binary(5)),
            ("inner", inner_type),
            ("lists", pa.list_(pa.list_(pa.string()))),
            ("nothing", pa.string()),
        ]
    )
    return pa.Table.from_pylist(rows, schema)


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}, {"use_dictionary": False, "use_byte_stream_split": ["real"]}], ids=str)
@pytest.mark.parametrize("codec", ["zstd", "snappy", "none"])
def test_large_columns(tmp_path: Path, options: dict[str, Any], codec: str) -> None:
    table = large_table()
    path = tmp_path / "large.parquet"
    pq.write_table(table, path, compression=codec, row_group_size=1300, write_page_index=True, **options)
    batches = decoded(path, LARGE, [], set())
    assert batches is not None and None not in batches
    assert pa.Table.from_batches([batch for batch in batches if batch is not None]).equals(pq.read_table(path))


@pytest.mark.parametrize("encoding", ["DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
def test_differences_of_pyarrow(tmp_path: Path, encoding: str) -> None:
    table = large_table()
    numbers = {"steady": encoding, "wide": encoding, "inner.many.list.element.n": encoding}
    texts = {"inner.text": encoding, "lists.list.element.list.element": encoding, "nothing": encoding}
    path = tmp_path / "large.parquet"
    chosen = numbers if encoding == "DELTA_BINARY_PACKED" else texts
    pq.write_table(table, path, use_dictionary=False, column_encoding=chosen, data_page_size=2000, write_page_index=True)
    batches = decoded(path, LARGE, [], set())
    assert batches is not None and None not in batches
    assert pa.Table.from_batches([batch for batch in batches if batch is not None]).equals(pq.read_table(path))


def test_leaf_columns_that_are_left_out(tmp_path: Path) -> None:
    table = large_table()
    path = tmp_path / "large.parquet"
    pq.write_table(table, path, write_page_index=True)
    metadata = pq.read_metadata(path)
    names = [metadata.schema.column(leaf).path for leaf in range(metadata.num_columns)]
    batches = decoded(path, LARGE, [], {names.index("inner.text")})
    assert batches is not None
    (batch,) = batches
    assert batch is not None
    read = pq.ParquetFile(path).reader.read_row_group(0, column_indices=[k for k in range(len(names)) if names[k] != "inner.text"])
    assert pa.Table.from_batches([batch]).to_pylist() == read.to_pylist()
    assert batch.schema.field("inner").type.names == ["many"]


def test_pages_that_begin_with_other_rows(tmp_path: Path) -> None:
    rows = 40_000
    table = pa.table({"short": list(range(rows)), "long": ["x" * 100 + str(k) for k in range(rows)]})
    path = write_groups(tmp_path / "own.parquet", [GroupEncoder(table.schema).encode(table, Encodings([], {}))])
    batches = decoded(path, group_encoding.PAGE_ROWS, [], set())
    assert batches is not None and None not in batches
    assert [batch.num_rows for batch in batches if batch is not None] == [16_384, 16_384, rows - 32_768]
    assert pa.Table.from_batches([batch for batch in batches if batch is not None]).equals(pq.read_table(path))
    # Where none has so few rows, somebody else cuts them.
    assert decoded(path, 1000, [], set()) is None


@pytest.mark.parametrize("build", BUILDS)
def test_every_build_decodes_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, build: str) -> None:
    monkeypatch.setattr(kernels, "decode", kernels.load(build)["decode"])
    monkeypatch.setattr(kernels, "pages", kernels.load(build)["pages"])
    table = large_table().slice(0, 700)
    texts = ["inner.text", "lists.list.element.list.element"]
    for number, chosen in enumerate([{}, {"wide": "DELTA_BINARY_PACKED", **dict.fromkeys(texts, "DELTA_LENGTH_BYTE_ARRAY")}]):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(table, path, use_dictionary=not chosen, column_encoding=chosen or None, data_page_size=900, write_page_index=True)
        batches = decoded(path, 700, [], set())
        assert batches is not None and None not in batches
        assert pa.Table.from_batches([batch for batch in batches if batch is not None]).equals(pq.read_table(path))


@settings(deadline=None)
@given(st.data())
@pytest.mark.parametrize("build", [build for build in BUILDS if build != "compiled"])
def test_damage_is_left_to_others(tmp_path_factory: pytest.TempPathFactory, build: str, data: st.DataObject) -> None:
    """Bytes that were changed give None, or other values, and never reach beyond what is there: these builds check each access."""
    path = tmp_path_factory.mktemp("pages") / "damaged.parquet"
    table = large_table().slice(0, 60)
    encoding = data.draw(st.sampled_from(["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", None]))
    chosen = {"inner.text": encoding, "lists.list.element.list.element": encoding, "wide": "DELTA_BINARY_PACKED"} if encoding else None
    pq.write_table(table, path, compression="none", use_dictionary=not chosen, column_encoding=chosen, write_page_index=True)
    octets = bytearray(path.read_bytes())
    group = pq.read_metadata(path).row_group(0)
    # Column chunks lie one behind the other from the fourth byte on.
    end = 4 + sum(group.column(leaf).total_compressed_size for leaf in range(group.num_columns))
    for _ in range(data.draw(st.integers(1, 3))):
        octets[data.draw(st.integers(4, end - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(octets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "decode", kernels.load(build)["decode"])
        patch.setattr(kernels, "pages", kernels.load(build)["pages"])
        decoded(path, 60, [], set())


@pytest.mark.parametrize(("kind", "physical"), KNOWN, ids=str)
def test_known_types(kind: pa.DataType, physical: str) -> None:
    assert LeafType(kind, physical, 1, 0, 0, False, 5).kind == kind


@pytest.mark.parametrize(
    ("kind", "physical"),
    [
        (pa.uint8(), "INT32"),
        (pa.timestamp("ms"), "INT64"),
        (pa.timestamp("ns"), "INT96"),
        (pa.float16(), "FIXED_LEN_BYTE_ARRAY"),
        (pa.binary(4), "FIXED_LEN_BYTE_ARRAY"),
        (pa.large_string(), "BYTE_ARRAY"),
    ],
    ids=str,
)
def test_types_that_are_left_to_pyarrow(kind: pa.DataType, physical: str) -> None:
    with pytest.raises(NotKnownError):
        LeafType(kind, physical, 1, 0, 0, False, 5)


def test_very_deep_columns_are_left_to_pyarrow(tmp_path: Path) -> None:
    kind: pa.DataType = pa.int64()
    for _ in range(130):
        kind = pa.struct([("a", kind)])
    path = tmp_path / "deep.parquet"
    pq.write_table(pa.table({"deep": pa.nulls(3, kind)}), path, write_page_index=True, store_schema=False)
    assert len(leaf_places(places(DataFile(str(path)).kept().footer.schema))) == 1
    assert decoded(path, 3, [], set()) is None


@pytest.mark.parametrize(
    ("kind", "physical", "count"), [(pa.string(), "BYTE_ARRAY", 1 << 31), (pa.int64(), "INT64", 3), (pa.bool_(), "BOOLEAN", 1)]
)
def test_dictionaries_that_cannot_be_so_large(kind: pa.DataType, physical: str, count: int) -> None:
    """No memory is taken for entries that are not there; booleans have no dictionary."""
    octets = np.zeros(32, np.uint8)
    with pytest.raises(NotKnownError):
        read_dictionary(LeafType(kind, physical, 1, 0, 0, False), octets, 0, 16, count, PLAIN)
