"""Fingerprints: what the reference says, the same for equal values only, and the same from shredded columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import note
from hypothesis import strategies as st
from kernel_builds import law_on_every_build
from schema_strategies import schemas, schemas_for
from strategies import encodings, nodes
from variant_columns import column_of, nodes_column

import varquet as vq
from varquet.layouts.fingerprints import ShreddedColumn, fingerprint_shredded
from varquet.layouts.shredding import LAYOUTS
from varquet.variant import equal
from varquet.variant.fingerprint import fingerprint as reference
from varquet.variant.model import Node

_NARROW = nodes(max_leaves=8, wide=False)
_VALUES = st.lists(st.one_of(st.none(), _NARROW, _NARROW, nodes(max_leaves=8)), max_size=6)
_SEEDS = st.sampled_from((0, 1, (1 << 64) - 1))
_LAYOUTS = st.sampled_from(("parquet", "draft"))


def _column(data: st.DataObject, values: list[Any]) -> pa.Array:
    return column_of([None if value is None else data.draw(encodings(value)) for value in values])


def _expected(values: list[Any], seed: int = 0) -> list[int | None]:
    return [None if value is None else reference(value, seed) for value in values]


@law_on_every_build(st.data(), _VALUES, _SEEDS)
def test_kernels_and_reference_agree_whatever_the_bytes(data: st.DataObject, values: list[Any], seed: int) -> None:
    assert vq.fingerprint(_column(data, values), seed=seed).to_pylist() == _expected(values, seed)


@law_on_every_build(st.lists(_NARROW, min_size=2, max_size=8))
def test_equal_values_and_no_others_have_the_same(values: list[Node]) -> None:
    numbers = vq.fingerprint(nodes_column(values)).to_pylist()
    for one, its in zip(values, numbers, strict=True):
        assert [its == number for number in numbers] == [equal(one, other) for other in values]


def _schema(data: st.DataObject, values: list[Any]) -> vq.ShreddingSchema:
    schema = data.draw(schemas_for(values) if data.draw(st.integers(0, 4)) else schemas())
    note(f"schema: {schema.ddl()}")
    return schema


@law_on_every_build(st.data(), _VALUES, _LAYOUTS, _SEEDS, share=2)
def test_a_shredded_column_has_those_of_its_values(data: st.DataObject, values: list[Any], layout: Any, seed: int) -> None:
    schema = _schema(data, values)
    shredded = vq.shred(_column(data, values), schema, layout=layout, shared_metadata=data.draw(st.booleans()))
    assert fingerprint_shredded(shredded, LAYOUTS[layout], schema, seed=seed).to_pylist() == _expected(values, seed)


@law_on_every_build(st.data(), _VALUES, _LAYOUTS, _LAYOUTS, share=2)
def test_transcoding_is_shredding_to_the_other_layout(data: st.DataObject, values: list[Any], source: Any, target: Any) -> None:
    schema = _schema(data, values)
    column = _column(data, values)
    shredded = ShreddedColumn(vq.shred(column, schema, layout=source), LAYOUTS[source], schema)
    made = shredded.transcode(LAYOUTS[target])
    made.validate(full=True)
    assert made.type == vq.shred(column, schema, layout=target, shared_metadata=True).type
    back = vq.unshred(made, layout=target, strict=True)
    vq.validate(back, strict=True)
    assert vq.fingerprint(back).to_pylist() == _expected(values)
    assert not shredded.differs(ShreddedColumn(made, LAYOUTS[target], schema)).any()


@law_on_every_build(st.data(), st.lists(_NARROW | st.none(), min_size=1, max_size=6), _LAYOUTS, _LAYOUTS)
def test_whatever_differs_is_seen(data: st.DataObject, values: list[Any], layout: Any, its_layout: Any) -> None:
    """Two columns of one schema: the rows said to differ are those whose values do."""
    schema = _schema(data, values)
    others = [data.draw(st.just(value) | _NARROW | st.none()) for value in values]
    columns = [
        ShreddedColumn(vq.shred(_column(data, each), schema, layout=name), LAYOUTS[name], schema)
        for each, name in ((values, layout), (others, its_layout))
    ]
    same = [a is b if a is None or b is None else equal(a, b) for a, b in zip(values, others, strict=True)]
    said = columns[0].differs(columns[1])
    # Where arrays have other lengths, all rows are said to.
    assert all(differs or is_same for differs, is_same in zip(said, same, strict=True))
    assert np.any(said) == (not all(same))
