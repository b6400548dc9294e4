"""Leaf columns read without their nulls are what pyarrow reads: of every type and encoding, at any depth, in every build."""

from __future__ import annotations

import decimal
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kernel_builds import BUILDS, using

from varquet.columns.arrow import plain
from varquet.parquet.dense import Dense, DenseLeaves
from varquet.parquet.files import DataFile

_ROWS = 1_003
_GROUP_ROWS = 517


def _values(kind: pa.DataType, chance: random.Random) -> pa.Array:
    numbers = [chance.randint(-100, 100) for _ in range(_ROWS)]
    if pa.types.is_decimal(kind):
        return pa.array([decimal.Decimal(number).scaleb(-2) for number in numbers], kind)
    if pa.types.is_fixed_size_binary(kind):
        return pa.array([bytes([number & 255] * kind.byte_width) for number in numbers], kind)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return pa.array(["x" * (number & 15) + str(number) for number in numbers]).cast(kind)
    if pa.types.is_boolean(kind):
        return pa.array([number > 0 for number in numbers])
    return pa.array(numbers, pa.int64()).cast(pa.int32() if kind == pa.date32() else kind).cast(kind)


def _nested(values: pa.Array, depth: int, nulls: float, chance: random.Random) -> pa.Array:
    """The values at the bottom of structs any of which may be null, those of every other level required."""
    array = values
    for level in range(depth):
        is_required = level % 2 == 1 and level < depth - 1
        field = pa.field("a", array.type, nullable=level == 0 or not is_required)
        mask = None if is_required else pa.array([chance.random() < nulls / depth for _ in range(len(values))])
        array = pa.StructArray.from_arrays([array], fields=[field], mask=mask)
    return array


def _with_nulls(values: pa.Array, nulls: float, chance: random.Random) -> pa.Array:
    mask = pa.array([chance.random() >= nulls for _ in range(len(values))])
    return pa.array([value if kept.as_py() else None for value, kept in zip(values.to_pylist(), mask, strict=True)], values.type)


def _write(path: Path, column: pa.Array, **options: Any) -> DenseLeaves:
    options = {"compression": "zstd", "store_decimal_as_integer": True, "write_batch_size": 13, "data_page_size": 100} | options
    pq.write_table(pa.table({"c": column}), path, row_group_size=_GROUP_ROWS, store_schema=False, **options)
    kept = DataFile(str(path)).kept()
    return DenseLeaves(kept.footer, kept.metadata)


def _as_pyarrow_reads(path: Path, group: int) -> pa.Array:
    column = pq.ParquetFile(path).read_row_group(group)["c"].combine_chunks()
    array = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    while pa.types.is_struct(array.type):
        array = array.field(0)
    return plain(array)


def _read(leaves: DenseLeaves, path: Path, group: int, kind: pa.DataType) -> Dense | None:
    with pa.OSFile(str(path), "rb") as source:
        return leaves.read(source, [group], 0, kind)


_KINDS = [
    *(pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("us", "UTC"), pa.int8()),
    *(pa.string(), pa.binary(), pa.binary(3), pa.binary(16), pa.decimal128(9, 2), pa.decimal128(18, 2), pa.decimal128(30, 2)),
]


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("kind", _KINDS, ids=str)
def test_values_and_validity_are_those_of_pyarrow(kind: pa.DataType, build: str, tmp_path: Path) -> None:
    chance = random.Random(str(kind))
    for depth, nulls, dictionary, compression in (
        (1, 0.0, True, "zstd"),
        (2, 0.3, False, "snappy"),
        (7, 0.1, True, "none"),
        (4, 0.97, False, "zstd"),
    ):
        path = tmp_path / f"{depth}.parquet"
        values = _with_nulls(_values(kind, chance), nulls, chance)
        leaves = _write(path, _nested(values, depth, nulls, chance), use_dictionary=dictionary, compression=compression)
        for group in range(2):
            expected = _as_pyarrow_reads(path, group)
            with using(build):
                found = _read(leaves, path, group, expected.type)
                assert found is not None
                assert found.values.equals(expected.drop_null())
                assert found.held_rows().tolist() == np.flatnonzero(np.asarray(expected.is_valid())).tolist()
                made = found.spread()
            made.validate(full=True)
            assert made.equals(expected) and made.null_count == expected.null_count


@pytest.mark.parametrize(
    ("kind", "encoding"),
    [
        (pa.int32(), "DELTA_BINARY_PACKED"),
        (pa.int64(), "DELTA_BINARY_PACKED"),
        (pa.float64(), "BYTE_STREAM_SPLIT"),
        (pa.binary(), "DELTA_LENGTH_BYTE_ARRAY"),
        (pa.string(), "DELTA_BYTE_ARRAY"),
    ],
)
def test_encodings_of_values_stay_as_they_are(kind: pa.DataType, encoding: str, tmp_path: Path) -> None:
    chance = random.Random(encoding)
    values = _with_nulls(_values(kind, chance), 0.4, chance)
    leaves = _write(tmp_path / "f.parquet", _nested(values, 3, 0.2, chance), use_dictionary=False, column_encoding={"c.a.a.a": encoding})
    found = _read(leaves, tmp_path / "f.parquet", 1, kind)
    assert found is not None and found.spread().equals(_as_pyarrow_reads(tmp_path / "f.parquet", 1))


def test_long_runs_of_values_and_of_nulls(tmp_path: Path) -> None:
    runs = [0] * 300 + [None] * 250 + [1, None] * 100 + [2] * 253
    leaves = _write(tmp_path / "f.parquet", _nested(pa.array(runs, pa.int64()), 2, 0, random.Random(1)), data_page_size=1 << 20)
    for group in range(2):
        found = _read(leaves, tmp_path / "f.parquet", group, pa.int64())
        assert found is not None and found.spread().to_pylist() == runs[group * _GROUP_ROWS : (group + 1) * _GROUP_ROWS]


def test_row_groups_one_behind_the_other(tmp_path: Path) -> None:
    chance = random.Random(2)
    for kind in (pa.int64(), pa.string(), pa.decimal128(9, 2)):
        values = pa.concat_arrays([_with_nulls(_values(kind, chance), 0.3, chance), pa.nulls(_GROUP_ROWS, kind), _values(kind, chance)])
        leaves = _write(tmp_path / "f.parquet", _nested(values, 3, 0.1, chance))
        groups = [4, 1, 2, 0]
        expected = pa.concat_arrays([_as_pyarrow_reads(tmp_path / "f.parquet", group) for group in groups])
        with pa.OSFile(str(tmp_path / "f.parquet"), "rb") as source:
            found = leaves.read(source, groups, 0, kind)
        assert found is not None and found.spread().equals(expected)


def test_more_pages_than_are_expected(tmp_path: Path) -> None:
    leaves = _write(tmp_path / "f.parquet", _nested(pa.array(range(_ROWS)), 2, 0.1, random.Random(1)), write_batch_size=1, data_page_size=1)
    found = _read(leaves, tmp_path / "f.parquet", 0, pa.int64())
    assert found is not None and found.spread().equals(_as_pyarrow_reads(tmp_path / "f.parquet", 0))


def test_nothing_but_nulls(tmp_path: Path) -> None:
    leaves = _write(tmp_path / "f.parquet", _nested(pa.nulls(_ROWS, pa.string()), 2, 0, random.Random(1)))
    found = _read(leaves, tmp_path / "f.parquet", 0, pa.string())
    assert found is not None and len(found.values) == 0 and found.spread().equals(pa.nulls(_GROUP_ROWS, pa.string()))


@pytest.mark.parametrize("options", [{"data_page_version": "2.0"}, {"compression": "gzip"}, {"compression": "lz4"}], ids=str)
def test_what_is_written_otherwise_is_left(options: dict[str, Any], tmp_path: Path) -> None:
    leaves = _write(tmp_path / "f.parquet", _nested(pa.array(range(_ROWS)), 2, 0.1, random.Random(1)), **options)
    assert _read(leaves, tmp_path / "f.parquet", 0, pa.int64()) is None


def test_columns_that_are_left(tmp_path: Path) -> None:
    deep = _nested(pa.array(range(_ROWS)), 40, 0.1, random.Random(1))
    lists = pa.array([[number] for number in range(_ROWS)])
    for column, kind in ((deep, pa.int64()), (lists, pa.int64()), (pa.array(range(_ROWS)), pa.int32())):
        leaves = _write(tmp_path / "f.parquet", column)
        assert _read(leaves, tmp_path / "f.parquet", 0, kind) is None
        assert leaves.leaves == {0: None}


def test_other_values_in_place_of_the_column_s_own() -> None:
    bits = np.packbits([1, 0, 1, 1, 0, 0, 0, 0, 0, 1], bitorder="little")
    column = Dense(pa.array([1, 2, 3, 4]), bits, 10)
    assert column.spread(pa.array(["a", None, "", "d"])).to_pylist() == ["a", None, None, "", None, None, None, None, None, "d"]
    assert column.spread(pa.array([True, False, True, True])).to_pylist() == [True, None, False, True, None, None, None, None, None, True]
    assert column.spread(pa.array([0, 1.5, 2.5, 3.5]).slice(0)).to_pylist() == [0.0, None, 1.5, 2.5, None, None, None, None, None, 3.5]


def test_values_of_two_columns() -> None:
    column = Dense(pa.array([1, 2, 3]), np.packbits([1, 0, 1, 1, 0, 0, 0, 0, 0, 0], bitorder="little"), 10)
    other = Dense(pa.array([b"", b"", b""]), np.packbits([0, 0, 1, 0, 1, 0, 0, 0, 0, 1], bitorder="little"), 10)
    for kind in (pa.int64(), pa.decimal128(19, 0), pa.string(), pa.int8()):
        values, others = pa.array([1, 2, 3]).cast(kind), pa.array([7, None, 9]).cast(kind)
        made = column.spread_with(values, other, others)
        made.validate(full=True)
        assert made.cast(pa.int64()).to_pylist() == [1, None, 7, 3, None, None, None, None, None, 9] and made.null_count == 6
    whole = Dense(pa.array([1, 2]), np.array([3], np.uint8), 2)
    assert whole.spread_with(whole.values, Dense(pa.array([b""]), np.array([2], np.uint8), 2), pa.array([5])).to_pylist() == [1, 5]
    assert whole.values.to_pylist() == [1, 2]


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_damage_is_left_to_pyarrow(compression: str, build: str, tmp_path: Path) -> None:
    """Of a damaged column either nothing is had, or what pyarrow reads of it."""
    chance = random.Random(compression)
    path, damaged = tmp_path / "f.parquet", tmp_path / "g.parquet"
    values = _with_nulls(_values(pa.string(), chance), 0.2, chance)
    _write(path, _nested(values, 3, 0.1, chance), compression=compression, data_page_size=2_000)
    kept = DataFile(str(path)).kept()
    chunk = kept.metadata.row_group(0).column(0)
    octets, start = path.read_bytes(), chunk.dictionary_page_offset
    outcomes = set()
    with using(build):
        for _ in range(150):
            changed = bytearray(octets)
            for _ in range(chance.choice((1, 1, 3))):
                changed[start + chance.randrange(chunk.total_compressed_size)] = chance.choice((0, 1, 127, 128, 255, chance.randrange(256)))
            damaged.write_bytes(changed)
            found = _read(DenseLeaves(kept.footer, kept.metadata), damaged, 0, pa.string())
            outcomes.add(found is None)
            if found is not None:
                assert found.spread().cast(pa.binary()).equals(_as_pyarrow_reads(damaged, 0).cast(pa.binary()))
    assert outcomes == {True, False}
