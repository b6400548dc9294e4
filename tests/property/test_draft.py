"""P29: everything that holds for the standard's layout holds for the draft's."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import note
from hypothesis import strategies as st
from kernel_builds import law_on_every_build
from schema_strategies import schemas, schemas_for
from shredded_rules import stored_as
from strategies import encodings, nodes, physical
from variant_columns import column_of, rows_of

import varquet as vq
from varquet.layouts import shredding
from varquet.variant import decode, encode, equal
from varquet.variant.metadata import Metadata
from varquet.variant.model import Node

_NARROW = nodes(max_leaves=8, wide=False)
_VALUES = st.lists(st.one_of(st.none(), _NARROW, _NARROW, _NARROW, nodes(max_leaves=8)), max_size=6)


def _schema(data: st.DataObject, values: list[Node | None]) -> vq.ShreddingSchema:
    schema = data.draw(schemas_for(values) if data.draw(st.integers(0, 4)) else schemas())
    note(f"schema: {schema.ddl()}")
    return schema


def _decoded(column: pa.Array) -> list[object]:
    return [None if row is None else physical(decode(*row)) for row in rows_of(column)]


def _untyped(array: pa.Array) -> list[bytes]:
    """All untyped values of a column, at every level."""
    found: list[bytes] = []
    waiting = [array]
    while waiting:
        one = waiting.pop()
        if pa.types.is_struct(one.type):
            for k, field in enumerate(one.type):
                if field.name == "untyped_value" and pa.types.is_binary(field.type):
                    found += one.field(k).drop_null().to_pylist()
                else:
                    waiting.append(one.field(k))
        elif pa.types.is_list(one.type):
            waiting.append(one.values)
    return found


@law_on_every_build(st.data(), _VALUES, st.booleans(), st.sampled_from((1, 2)), share=2)
def test_what_is_shredded_comes_back(data: st.DataObject, values: list[Any], exact_types: bool, threads: int) -> None:
    """P1, P4, and each untyped_value decodes alone and is as a writer must leave it."""
    schema = _schema(data, values)
    column = column_of([None if value is None else data.draw(encodings(value)) for value in values])
    shredded = vq.shred(column, schema, layout="draft", exact_types=exact_types, threads=threads)
    shredded.validate(full=True)
    assert shredded.type == schema.draft()
    assert vq.ShreddingSchema.from_draft(schema.draft()) == schema
    for octets in _untyped(shredded) if "untyped_value" not in schema.ddl() else ():
        _check_alone(octets)
    expected = [None if value is None else physical(stored_as(value, schema, exact_types=exact_types)) for value in values]
    back = vq.unshred(shredded, layout="draft", strict=True, threads=threads)
    back.validate(full=True)
    assert back.type == vq.variant_field("v", shared_metadata=True).type
    assert _decoded(back) == expected
    vq.validate(back, strict=True)


def _check_alone(octets: bytes) -> None:
    width = (octets[0] >> 6) + 1
    count = int.from_bytes(octets[1 : 1 + width], "little")
    behind = 1 + (count + 2) * width
    behind += int.from_bytes(octets[behind - width : behind], "little")
    vq.validate(column_of([(octets[:behind], octets[behind:])]), strict=True)
    node = decode(octets[:behind], octets[behind:])
    # No name is there that the value does not use.
    assert len(Metadata(encode(node)[0])) == len(Metadata(octets[:behind]))


@law_on_every_build(st.data(), _VALUES)
def test_from_layout_to_layout(data: st.DataObject, values: list[Any]) -> None:
    """P3: draft, standard and draft again, by any schemas."""
    column = column_of([None if value is None else encode(value) for value in values])
    back = column
    for layout in ("draft", "parquet", "draft"):
        back = vq.unshred(vq.shred(back, _schema(data, values), layout=layout), layout=layout)  # type: ignore[call-overload]
    for value, row in zip(values, rows_of(back), strict=True):
        assert row is None if value is None else row is not None and equal(decode(*row), value)


@law_on_every_build(st.data(), _VALUES, st.sampled_from((1, 2, 100)), st.booleans())
def test_slices_and_chunks_do_not_matter(data: st.DataObject, values: list[Any], rows: int, sliced: bool) -> None:
    """P2, P12, P14."""
    schema = _schema(data, values)
    column = column_of([None if value is None else encode(value) for value in values])
    expected = vq.shred(column, schema, layout="draft", threads=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shredding, "_ROWS_PER_SLICE", rows)
        shredded = vq.shred(column, schema, layout="draft", threads=2)
        given = shredded[len(shredded) // 2 :] if sliced else shredded
        back = vq.unshred(given, layout="draft", threads=2)
    assert shredded.equals(expected)
    assert _decoded(back) == _decoded(vq.unshred(expected, layout="draft"))[len(column) - len(back) :]
