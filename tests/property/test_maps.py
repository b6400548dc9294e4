"""Maps are what they were, in memory and in files, whatever keys are hot, and every key is found in them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from strategies import hot_keys, map_rows, map_types

import varquet as vq
from varquet.layouts.casts import cast_typed
from varquet.layouts.map_entries import lookup, sorted_entries
from varquet.layouts.map_keys import keys_of
from varquet.layouts.map_sidecar import grouped, join, join_grouped, split
from varquet.layouts.map_text import CANDIDATES


def _array(rows: list[dict[str, Any] | None], kind: pa.DataType) -> pa.Array:
    return pa.array([None if row is None else list(row.items()) for row in rows], pa.map_(pa.string(), kind))


@given(st.data())
def test_a_map_is_put_together_as_it_was(data: st.DataObject) -> None:
    kind, values = data.draw(map_types())
    rows, keys = data.draw(map_rows(values)), keys_of(data.draw(hot_keys()))
    array = _array(rows, kind)
    first = data.draw(st.integers(0, len(rows)))
    made = split(array.slice(first), keys)
    made.residual.validate(full=True)
    for joined in (join(made.residual, made.sidecars, keys), join_grouped(grouped(made), keys)):
        joined.validate(full=True)
        assert sorted_entries(joined).equals(sorted_entries(array.slice(first)))
    plain = [None if row is None else dict(row) for row in array.slice(first).to_pylist()]
    for name, sidecar in zip(keys.names, made.sidecars, strict=True):
        assert sidecar.to_pylist() == [None if row is None else row.get(name) for row in plain]
    left = [dict(row) for row in made.residual.to_pylist() if row]
    assert not any(row.get(name) is not None for row in left for name in keys.names)


@given(map_rows(), hot_keys(), st.lists(st.sampled_from(CANDIDATES), min_size=5, max_size=5))
def test_typed_sidecars_keep_every_text(rows: list[dict[str, Any] | None], names: list[str], kinds: list[pa.DataType]) -> None:
    keys = vq.MapKeys(tuple(vq.HotKey(name, kind) for name, kind in zip(names, kinds, strict=False)))
    made = split(_array(rows, pa.string()), keys)
    joined = join(made.residual, made.sidecars, keys)
    assert [None if row is None else dict(row) for row in joined.to_pylist()] == rows


@given(map_rows(), hot_keys())
def test_every_key_is_found(rows: list[dict[str, Any] | None], names: list[str]) -> None:
    array = _array(rows, pa.string())
    for name in names:
        assert lookup(array, name).to_pylist() == [None if row is None else row.get(name) for row in rows]


@given(st.lists(st.text(max_size=3), max_size=4, unique=True))
def test_keys_are_read_as_they_were_written(names: list[str]) -> None:
    keys = keys_of(names)
    assert not names or vq.MapKeys.parse(keys.text()) == keys


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _keys(data: st.DataObject, rows: list[dict[str, Any] | None]) -> vq.MapKeys:
    """Hot keys, some of them typed, most of them in the rows."""
    there = sorted({name for row in rows if row for name in row})
    names = data.draw(st.lists(st.sampled_from(there), max_size=4, unique=True) if there and data.draw(st.booleans()) else hot_keys())
    return vq.MapKeys(tuple(vq.HotKey(name, data.draw(st.none() | st.sampled_from(CANDIDATES))) for name in names))


def _files(data: st.DataObject, rows: list[dict[str, Any] | None], folder: Path) -> None:
    """The rows in files with other hot keys and row groups each."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=2)))
    for number, (first, last) in enumerate(pairwise([0, *cuts, len(rows)])):
        part = rows[first:last]
        table = pa.table({"id": pa.array(range(first, last), pa.int64()), "m": _array(part, pa.string())})
        vq.write(table, folder / f"{number}.parquet", maps={"m": _keys(data, part)}, row_group_rows=data.draw(st.integers(1, 4)))


@given(st.data(), map_rows(max_size=10))
def test_files_with_any_hot_keys_hold_what_was_written(data: st.DataObject, rows: list[dict[str, Any] | None]) -> None:
    with _folder() as folder:
        _files(data, rows, folder)
        read = vq.read(folder)
        assert [None if row is None else dict(row) for row in read["m"].to_pylist()] == rows
        assert read.schema.names == ["id", "m"]


@given(st.data(), map_rows(max_size=10))
def test_queries_find_what_is_there_whatever_keys_are_hot(data: st.DataObject, rows: list[dict[str, Any] | None]) -> None:
    there = sorted({name for row in rows if row for name in row})
    name = data.draw(st.sampled_from([*there, "content-type", "nowhere"]))
    values = [None if row is None else row.get(name) for row in rows]
    literal = data.draw(st.sampled_from([*(value for value in values if value is not None), "12", "x"]))
    operand = vq.column("m")[name]
    asked = {
        "equal": (operand == literal, [value == literal for value in values]),
        "other": (~(operand == literal), [value is not None and value != literal for value in values]),
        "larger": (operand > literal, [value is not None and value.encode() > literal.encode() for value in values]),
        "none": (operand.is_null(), [value is None for value in values]),
        "some": (operand.is_not_null() & (operand <= "m"), [value is not None and value.encode() <= b"m" for value in values]),
        "number": (operand.as_("bigint") == 12, [_is_twelve(value) for value in values]),
    }
    with _folder() as folder:
        _files(data, rows, folder)
        query = vq.scan(folder)
        assert query.select({"value": operand}).table()["value"].to_pylist() == values
        for what, (predicate, wanted) in asked.items():
            found = query.where(predicate).select({"id": "id", "value": operand}).table()
            assert found["id"].to_pylist() == [row for row, is_wanted in enumerate(wanted) if is_wanted], what
            assert found["value"].to_pylist() == [values[row] for row in found["id"].to_pylist()]


def _is_twelve(value: str | None) -> bool:
    """What the cast that everybody else uses says of a text."""
    return value is not None and cast_typed(pa.array([value]), pa.int64())[0].as_py() == 12
