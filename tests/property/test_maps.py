"""Maps are what they were, whatever keys are hot, and every key is found in them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from strategies import hot_keys, map_rows, map_types

import varquet as vq
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
