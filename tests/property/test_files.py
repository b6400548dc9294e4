"""What is written to a Parquet file is read back: any schema, any cut into batches and row groups, Variants anywhere in the table."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from schema_strategies import schemas, schemas_for
from shredded_rules import findings, stored_as
from strategies import nodes, physical
from variant_columns import column_of, rows_of

import varquet as vq
from varquet.layouts import shredding as layout
from varquet.variant import decode, encode, equal
from varquet.variant.model import Node

_NODES = nodes(max_leaves=8)
_SMALL = nodes(max_leaves=5, wide=False)
_COMPRESSIONS = ("zstd", "snappy", "none", "gzip", "lz4")

_AS_READ = vq.variant_field("v", shared_metadata=True)

_EXAMPLES = settings(max_examples=max(5, round(settings().max_examples * 0.6)))


@contextmanager
def _file() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "rows.parquet"


def _variants(values: list[Any]) -> pa.Array:
    return column_of([None if value is None else encode(value) for value in values])


def _kept(column: pa.Array | pa.ChunkedArray) -> list[object]:
    """What every row means, with its types."""
    return [None if row is None else physical(decode(*row)) for row in rows_of(column)]


def _expected(values: list[Any], schema: vq.ShreddingSchema, *, exact_types: bool = False) -> list[object]:
    return [None if value is None else physical(stored_as(value, schema, exact_types=exact_types)) for value in values]


def _schema(data: st.DataObject, values: list[Node | None]) -> vq.ShreddingSchema:
    schema = data.draw(schemas_for(values) if data.draw(st.integers(0, 4)) else schemas())
    note(f"schema: {schema.ddl()}")
    return schema


def _cut(table: pa.Table, choice: random.Random) -> Any:
    """The table, or its batches as a stream, cut anywhere, some of them empty."""
    places = sorted(choice.randint(0, table.num_rows) for _ in range(choice.randint(0, 3)))
    parts = [table.slice(first, last - first) for first, last in pairwise([0, *places, table.num_rows])]
    if choice.random() < 0.4:
        return pa.concat_tables(parts)
    batches = [pa.RecordBatch.from_arrays([_array(column) for column in part.columns], schema=table.schema) for part in parts]
    return iter(batches) if choice.random() < 0.5 else pa.RecordBatchReader.from_batches(table.schema, batches)


def _array(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)


# One column


@_EXAMPLES
@given(st.data(), st.lists(st.none() | _NODES, max_size=7), st.booleans(), st.sampled_from(_COMPRESSIONS), st.integers(0, 1 << 32))
def test_a_column_comes_back(data: st.DataObject, values: list[Any], exact_types: bool, compression: str, seed: int) -> None:
    """P2: through a file with any row groups and batches; order and number of rows, SQL NULL and Variant null are kept."""
    schema = _schema(data, values)
    choice = random.Random(seed)
    row_group_rows = choice.randint(1, len(values) + 1)
    fields = pa.schema([pa.field("id", pa.int64()), vq.variant_field("v")])
    table = pa.table([pa.array(range(len(values)), pa.int64()), _variants(values)], schema=fields)
    with _file() as path:
        written = vq.write(
            _cut(table, choice), path, {"v": schema}, row_group_rows=row_group_rows, compression=compression, exact_types=exact_types
        )
        assert written.rows == len(values)
        assert written.row_groups == -(-len(values) // row_group_rows) == pq.ParquetFile(path).num_row_groups
        assert written.size == path.stat().st_size
        back = vq.read(path, strict=True)
        assert back.schema.equals(fields.set(1, _AS_READ), check_metadata=True)
        assert back["id"].to_pylist() == list(range(len(values)))
        assert _kept(back["v"]) == _expected(values, schema, exact_types=exact_types)
        batch_rows = choice.randint(1, len(values) + 1)
        batches = list(vq.read_batches(path, batch_rows=batch_rows))
        assert all(0 < batch.num_rows <= batch_rows for batch in batches)
        assert [row for batch in batches for row in rows_of(batch["v"])] == rows_of(back["v"])
        # What lies in the file keeps the rules for writers, and says what was asked for.
        assert vq.ShreddingSchema.from_parquet(path, "v") == schema.writable()
        for chunk in pq.read_table(path)["v"].chunks:
            assert findings(chunk, exact_types=exact_types) == []


@_EXAMPLES
@given(st.data(), st.lists(st.none() | _SMALL, min_size=1, max_size=5), st.integers(0, 1 << 32))
def test_paths_of_what_was_read_are_those_of_what_was_written(data: st.DataObject, values: list[Any], seed: int) -> None:
    """P16, P17: through missing, null and non-object parents, empty arrays and indexes out of range."""
    choice = random.Random(seed)
    fields = pa.schema([vq.variant_field("other"), vq.variant_field("v")])
    column = _variants(values)
    with _file() as path:
        vq.write(pa.table([column, column], schema=fields), path, {"v": _schema(data, values)}, row_group_rows=choice.randint(1, 3))
        everything, alone = vq.read(path)["v"], vq.read(path, columns=["v"])
    assert alone.column_names == ["v"]
    assert rows_of(alone["v"]) == rows_of(everything)
    for steps in [(), *(_some_path(choice.choice(values), choice) for _ in range(4))]:
        got, expected = (rows_of(vq.extract(each, vq.Path(steps))) for each in (everything, column))
        for one, other in zip(got, expected, strict=True):
            assert one == other if one is None or other is None else equal(decode(*one), decode(*other))


def _some_path(node: Node | None, choice: random.Random) -> tuple[str | int, ...]:
    """A path into a value, and perhaps a step beyond it."""
    steps: list[str | int] = []
    while isinstance(node, (dict, list)) and node and choice.random() < 0.9:
        step: Any = choice.choice(sorted(node)) if isinstance(node, dict) else choice.randint(-1, len(node))
        steps.append(step)
        node = node[step] if isinstance(node, dict) else node[step] if step < len(node) else None
    return (*steps, choice.choice(("a", "", 0, -1))) if choice.random() < 0.3 else tuple(steps)


# Tables


@_EXAMPLES
@given(st.data(), st.integers(0, 6), st.integers(0, 1 << 32))
def test_variants_anywhere_in_a_table_come_back(data: st.DataObject, rows: int, seed: int) -> None:
    """P2: inside structs, lists and maps, several in one file, beside ordinary columns."""
    choice = random.Random(seed)
    draw = st.lists(st.none() | _SMALL, min_size=rows, max_size=rows)
    top, one, other = data.draw(draw), data.draw(draw), data.draw(draw)
    nested = [data.draw(st.none() | st.lists(st.none() | _SMALL, max_size=3)) for _ in range(rows)]
    plans = {
        "top": _schema(data, top),
        "pair.one": _schema(data, one),
        "pair.other": _schema(data, other),
        "items.element": _schema(data, [value for values in nested for value in values or ()]),
        "named.value": _schema(data, [value for values in nested for value in values or ()]),
    }
    table = pa.table(
        [
            pa.array([f"row {row}" for row in range(rows)], pa.string()),
            _variants(top),
            _pairs(one, other, choice),
            _lists(nested),
            _maps(nested),
            pa.array([[row, None] for row in range(rows)], pa.list_(pa.int32())),
        ],
        schema=_TABLE,
    )
    with _file() as path:
        vq.write(_cut(table, choice), path, plans, row_group_rows=choice.randint(1, rows + 1))
        back = vq.read(path)
    back.validate(full=True)
    assert back.schema.equals(_TABLE_AS_READ, check_metadata=True)
    assert back["text"].equals(table["text"]) and back["numbers"].equals(table["numbers"])
    assert _kept(back["top"]) == _expected(top, plans["top"])
    for name in ("one", "other"):
        assert _kept(_children(back["pair"], name)) == _stored(_children(table["pair"], name), plans[f"pair.{name}"])
    for name, plan in (("items", "items.element"), ("named", "named.value")):
        got, expected = back[name].to_pylist(), table[name].to_pylist()
        assert [_shape(row) for row in got] == [_shape(row) for row in expected]
        assert _kept(column_of(list(_bytes_in(got)))) == _stored(column_of(list(_bytes_in(expected))), plans[plan])


def _table_schema(*, shared_metadata: bool) -> pa.Schema:
    """As it is written, and as it is read: rows that share their metadata in the file do so in memory."""

    def variant(name: str) -> pa.Field:
        return vq.variant_field(name, shared_metadata=shared_metadata)

    return pa.schema(
        [
            pa.field("text", pa.string()),
            variant("top"),
            pa.field("pair", pa.struct([variant("one"), pa.field("between", pa.int64()), variant("other")])),
            pa.field("items", pa.list_(variant("element"))),
            pa.field("named", pa.map_(pa.field("key", pa.string(), nullable=False), variant("value"))),
            pa.field("numbers", pa.list_(pa.field("element", pa.int32()))),
        ]
    )


_TABLE = _table_schema(shared_metadata=False)
_TABLE_AS_READ = _table_schema(shared_metadata=True)


def _pairs(one: list[Any], other: list[Any], choice: random.Random) -> pa.Array:
    """Structs, some null, with Variants below the null ones that must not come to light."""
    children = [_variants(one), pa.array(range(len(one)), pa.int64()), _variants(other)]
    mask = pa.array([choice.random() < 0.2 for _ in one], pa.bool_())
    return pa.StructArray.from_arrays(children, fields=list(_TABLE.field("pair").type), mask=mask)


def _lists(nested: list[Any]) -> pa.Array:
    offsets = _offsets(nested)
    items = _variants([value for values in nested for value in values or ()])
    kind = _TABLE.field("items").type
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items, type=kind, mask=pa.array([v is None for v in nested], pa.bool_()))


def _maps(nested: list[Any]) -> pa.Array:
    items = _variants([value for values in nested for value in values or ()])
    keys = pa.array([f"k{index}" for values in nested for index in range(len(values or ()))], pa.string())
    kind = _TABLE.field("named").type
    mask = pa.array([values is None for values in nested], pa.bool_())
    return pa.MapArray.from_arrays(pa.array(_offsets(nested), pa.int32()), keys, items, type=kind, mask=mask)


def _offsets(nested: list[Any]) -> list[int]:
    offsets = [0]
    for values in nested:
        offsets.append(offsets[-1] + len(values or ()))
    return offsets


def _children(column: pa.ChunkedArray, name: str) -> pa.Array:
    """A child of a struct column, null where the struct is."""
    rows = column.to_pylist()
    return column_of([None if row is None or row[name] is None else (row[name]["metadata"], row[name]["value"]) for row in rows])


def _stored(column: pa.Array, schema: vq.ShreddingSchema) -> list[object]:
    return _expected([None if row is None else decode(*row) for row in rows_of(column)], schema)


def _shape(row: Any) -> Any:
    if row is None:
        return None
    return [each[0] if isinstance(each, tuple) else each is None for each in row]


def _bytes_in(rows: list[Any]) -> Iterator[tuple[bytes, bytes] | None]:
    for row in rows:
        for each in row or ():
            value = each[1] if isinstance(each, tuple) else each
            yield None if value is None else (value["metadata"], value["value"])


@settings(_EXAMPLES, max_examples=max(5, settings().max_examples // 5))
@given(st.data(), st.lists(st.lists(st.none() | _SMALL, max_size=4), min_size=1, max_size=4))
def test_files_with_conflicting_schemas_are_read_as_one(data: st.DataObject, parts: list[list[Any]]) -> None:
    """S11: every file of a folder has a schema of its own."""
    fields = pa.schema([vq.variant_field("v")])
    with tempfile.TemporaryDirectory() as folder:
        for number, values in enumerate(parts):
            schema = None if data.draw(st.integers(0, 4)) == 0 else {"v": data.draw(schemas_for(values) | schemas())}
            vq.write(pa.table([_variants(values)], schema=fields), Path(folder) / f"part-{number}.parquet", schema)
        back = vq.read(folder)
        assert [row for batch in vq.read_batches(folder) for row in rows_of(batch["v"])] == rows_of(back["v"])
    assert back.schema.equals(pa.schema([_AS_READ]), check_metadata=True)
    expected = [value for values in parts for value in values]
    assert len(back) == len(expected)
    for row, value in zip(rows_of(back["v"]), expected, strict=True):
        assert row is None if value is None else row is not None and equal(decode(*row), value)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows", [1, 7, 100])
def test_slices_and_threads_do_not_change_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, rows: int) -> None:
    """P14: the same rows come from the file however many hands wrote and read it."""
    texts = [f'{{"id":{k},"tags":["{k % 7}",{k}],"k{k % 5}":{{"x":{k / 4}}}}}' for k in range(500)]
    table = pa.table([vq.parse_json(pa.array(texts))], schema=pa.schema([vq.variant_field("v")]))
    monkeypatch.setattr(layout, "_ROWS_PER_SLICE", rows)
    vq.write(
        table,
        tmp_path / "f.parquet",
        {"v": "id bigint, tags array<string>, k1 struct<x: decimal(9,2)>"},
        threads=threads,
        row_group_rows=90,
    )
    back = vq.read(tmp_path / "f.parquet", threads=threads)
    assert [vq.Variant(*row) for row in rows_of(back["v"]) if row] == [vq.Variant(*row) for row in rows_of(table["v"]) if row]
    assert pq.ParquetFile(tmp_path / "f.parquet").num_row_groups == 6
