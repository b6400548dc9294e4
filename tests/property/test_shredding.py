"""Shredding loses nothing, puts everything where the standard wants it, and depends on the values alone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa
import pytest
from construct_variant import construct_rows
from hypothesis import note
from hypothesis import strategies as st
from kernel_builds import law_on_every_build
from schema_strategies import schemas, schemas_for
from shredded_columns import foreign, meaning
from shredded_rules import findings, residuals, stored_as
from strategies import encodings, nodes, physical
from variant_columns import VARIANT_FORMS, Row, column_of, nodes_column, rows_of
from variant_damage import damaged

import varquet as vq
from varquet.errors import InvalidVariantError
from varquet.layouts import shredding as layout
from varquet.variant import decode, encode, equal
from varquet.variant.model import Node

_NARROW = nodes(max_leaves=8, wide=False)
_VALUES = st.lists(st.one_of(st.none(), _NARROW, _NARROW, _NARROW, _NARROW, _NARROW, nodes(max_leaves=8)), max_size=5)
_SMALL_VALUES = st.lists(st.none() | _NARROW, max_size=6)
_THREADS = st.sampled_from((1, 2))


def _schema(data: st.DataObject, values: list[Node | None]) -> vq.ShreddingSchema:
    """A schema for this data, as a rule; or one that was made for other data."""
    schema = data.draw(schemas_for(values) if data.draw(st.integers(0, 4)) else schemas())
    note(f"schema: {schema.ddl()}")
    return schema


def _decoded(column: pa.Array | pa.ChunkedArray) -> list[object]:
    return [None if row is None else physical(decode(*row)) for row in rows_of(column)]


@contextmanager
def _slices_of(rows: int) -> Iterator[None]:
    """Let shred and unshred cut columns into slices of so few rows, as they do with long ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "_ROWS_PER_SLICE", rows)
        yield


def _plain_metadata(shredded: pa.StructArray) -> pa.StructArray:
    """Metadata comes as it was given, or shared as a dictionary; this gives every row its own."""
    children = _children(shredded)
    assert shredded.type[0].name == "metadata" and not shredded.type[0].nullable
    children[0] = (children[0].dictionary_decode() if pa.types.is_dictionary(children[0].type) else children[0]).cast(pa.binary())
    fields = [field.with_type(child.type) for field, child in zip(shredded.type, children, strict=True)]
    return pa.StructArray.from_arrays(children, fields=fields, mask=shredded.is_null())


def _children(struct: pa.StructArray) -> list[pa.Array]:
    return [struct.field(k) for k in range(struct.type.num_fields)]


# Round trips


@law_on_every_build(st.data(), _VALUES, st.booleans(), st.booleans(), _THREADS, share=3)
def test_what_is_shredded_legally_comes_back(
    data: st.DataObject, values: list[Any], exact_types: bool, shared_metadata: bool, threads: int
) -> None:
    """P1, P4-P8, P10, P11, P13: our own rules have nothing against it, and both readers give back every value and type."""
    schema = _schema(data, values)
    column = column_of([None if value is None else encode(value) for value in values])
    shredded = vq.shred(column, schema, exact_types=exact_types, shared_metadata=shared_metadata, threads=threads)
    if shared_metadata:
        assert pa.types.is_dictionary(shredded.type.field("metadata").type)
        shredded = _plain_metadata(shredded)
    assert shredded.type == schema.physical()
    assert findings(shredded, exact_types=exact_types) == []
    vq.validate(column_of(list(residuals(shredded))), strict=True)
    expected = [None if value is None else physical(stored_as(value, schema, exact_types=exact_types)) for value in values]
    if exact_types:
        assert expected == [None if value is None else physical(value) for value in values]
    back = vq.unshred(shredded, strict=True, threads=threads)
    back.validate(full=True)
    assert back.type == vq.VARIANT
    assert _decoded(back) == expected
    assert [None if node is None else physical(node) for node in construct_rows(shredded)] == expected
    # W14: the merged objects are as a writer must leave them.
    vq.validate(back, strict=True)
    for value, row in zip(values, rows_of(back), strict=True):
        assert (value is None) == (row is None)
        assert row is None or equal(decode(*row), value)


@law_on_every_build(st.data(), _SMALL_VALUES)
def test_one_schema_after_the_other(data: st.DataObject, values: list[Any]) -> None:
    """P3."""
    column = column_of([None if value is None else encode(value) for value in values])
    back = column
    for _ in range(3):
        back = vq.unshred(vq.shred(back, _schema(data, values)))
    for value, row in zip(values, rows_of(back), strict=True):
        assert row is None if value is None else row is not None and equal(decode(*row), value)


@law_on_every_build(st.data(), _VALUES, st.booleans())
def test_an_unshredded_column_passes_through(data: st.DataObject, values: list[Any], strict: bool) -> None:
    """P3, S9: metadata and value alone are kept byte by byte, whatever freedom their writer took."""
    column = column_of([None if value is None else data.draw(encodings(value)) for value in values])
    assert rows_of(vq.unshred(column, strict=strict)) == rows_of(column)
    assert rows_of(vq.unshred(vq.shred(column, vq.ShreddingSchema.value()), strict=strict)) == rows_of(column)


# What must not matter


@law_on_every_build(st.data(), _VALUES, st.booleans(), share=2)
def test_legal_bytes_of_any_kind_are_shredded_alike(data: st.DataObject, values: list[Any], exact_types: bool) -> None:
    """P15, P28: unsorted dictionaries with names twice or unused, oversize widths, shared offsets, reserved bits."""
    schema = _schema(data, values)
    rows: list[Row] = [None if value is None else data.draw(encodings(value)) for value in values]
    usual = [None if value is None else encode(value) for value in values]
    shredded = vq.shred(column_of(rows), schema, exact_types=exact_types)
    expected_parts = meaning(vq.shred(column_of(usual), schema, exact_types=exact_types))
    assert meaning(shredded) == expected_parts
    assert meaning(vq.shred(column_of(rows), schema, exact_types=exact_types, shared_metadata=True)) == expected_parts
    assert findings(shredded, exact_types=exact_types) == []
    expected = [None if value is None else physical(stored_as(value, schema, exact_types=exact_types)) for value in values]
    assert _decoded(vq.unshred(shredded, strict=True)) == expected


@law_on_every_build(st.data(), st.lists(nodes(max_leaves=10, wide=False), max_size=4))
def test_the_order_of_fields_does_not_matter(data: st.DataObject, values: list[Node]) -> None:
    """P15."""
    schema = _schema(data, list(values))
    assert meaning(vq.shred(nodes_column([_reversed(value) for value in values]), schema)) == meaning(
        vq.shred(nodes_column(values), schema)
    )


def _reversed(node: Node) -> Node:
    if isinstance(node, dict):
        return {name: _reversed(node[name]) for name in reversed(node)}
    return [_reversed(child) for child in node] if isinstance(node, list) else node


@law_on_every_build(st.data(), _SMALL_VALUES, st.integers(0, 1 << 32))
def test_every_row_is_shredded_for_itself(data: st.DataObject, values: list[Any], seed: int) -> None:
    """P12: permuting, repeating and splitting rows before or after is the same."""
    schema = _schema(data, values)
    column = column_of([None if value is None else encode(value) for value in values])
    alone = [meaning(vq.shred(column[row : row + 1], schema))[0] for row in range(len(column))]
    order = random.Random(seed).choices(range(len(column)), k=2 * len(column)) if values else []
    assert meaning(vq.shred(column, schema)) == alone
    assert meaning(vq.shred(column.take(pa.array(order, pa.int64())), schema)) == [alone[row] for row in order]
    shredded = vq.shred(column, schema)
    assert _decoded(vq.unshred(shredded.take(pa.array(order, pa.int64())))) == [_decoded(vq.unshred(shredded))[row] for row in order]


@law_on_every_build(st.data(), _SMALL_VALUES, st.sampled_from(sorted(VARIANT_FORMS)), _THREADS, st.sampled_from((1, 2, 100)), share=2)
def test_the_form_of_the_column_does_not_matter(data: st.DataObject, values: list[Any], form: str, threads: int, rows: int) -> None:
    """P14: slices, chunks, encodings and threads change no byte, and the input is left alone."""
    schema = _schema(data, values)
    plain = column_of([None if value is None else data.draw(encodings(value)) for value in values])
    expected = vq.shred(plain, schema, threads=1)
    column = VARIANT_FORMS[form](plain)
    before = _bytes_of(column)
    with _slices_of(rows):
        shredded = vq.shred(column, schema, threads=threads)
        back = vq.unshred(shredded, threads=threads)
    assert _bytes_of(column) == before
    assert type(shredded) is type(back) is (pa.ChunkedArray if isinstance(column, pa.ChunkedArray) else pa.StructArray)
    shredded.validate(full=True)
    whole = _plain_metadata(_whole(shredded))
    assert whole.type == schema.physical()
    assert findings(whole) == []
    # As text, because NaN is not equal to itself.
    assert repr(whole.to_pylist()) == repr(expected.to_pylist()) if _is_printable(schema) else meaning(whole) == meaning(expected)
    assert rows_of(back) == rows_of(vq.unshred(expected, threads=1))


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)


def _is_printable(schema: vq.ShreddingSchema) -> bool:
    """Whether Python has objects for all of the column's values; its moments have too few years and digits."""
    return not any(leaf.type is not None and pa.types.is_temporal(leaf.type) for _, leaf in schema.leaves())


def _bytes_of(column: pa.Array | pa.ChunkedArray) -> list[bytes]:
    found = []
    arrays = list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]
    for array in arrays:
        if isinstance(array, pa.ExtensionArray):
            arrays.append(array.storage)
        if pa.types.is_dictionary(array.type):
            arrays.append(array.dictionary)
        found += [buffer.to_pybytes() for buffer in array.buffers() if buffer is not None]
    return found


@law_on_every_build(st.data(), _SMALL_VALUES, st.integers(0, 1 << 32), st.sampled_from((1, 2, 100)), share=3)
def test_shredded_columns_are_read_in_any_legal_form(data: st.DataObject, values: list[Any], seed: int, rows: int) -> None:
    """P5, S2: children by name, in any order and encoding, optional groups, columns left out, columns to ignore."""
    schema = _schema(data, values)
    column = column_of([None if value is None else data.draw(encodings(value)) for value in values])
    shredded = vq.shred(column, schema)
    choice = random.Random(seed)
    other = foreign(shredded, choice)
    note(f"type: {other.type}")
    expected = rows_of(vq.unshred(shredded))
    assert rows_of(vq.unshred(other)) == expected
    with _slices_of(rows):
        assert rows_of(vq.unshred(other, threads=2)) == expected
    first = choice.randint(0, len(values))
    last = choice.randint(first, len(values))
    assert rows_of(vq.unshred(other[first:last])) == expected[first:last]
    assert rows_of(vq.unshred(pa.chunked_array([other[:first], other[first:]]))) == expected


# Damage


@law_on_every_build(st.data(), nodes(max_leaves=10, wide=False), st.integers(0, 1 << 32), share=4)
def test_damaged_variants_are_refused_or_come_back(data: st.DataObject, node: Node, seed: int) -> None:
    """P25: bytes that are no Variant are an error, or stay what they are; those that are one come back."""
    choice = random.Random(seed)
    schema = _schema(data, [node])
    for _ in range(4):
        row = damaged(data.draw(encodings(node)), choice, other=encode([node, {"x": node}]))
        column = column_of([encode(node), row])
        try:
            value = decode(*row)
        except InvalidVariantError:
            value = None
        try:
            back = vq.unshred(vq.shred(column, schema))
        except InvalidVariantError as error:
            assert value is None
            assert error.row == 1
            continue
        again = rows_of(back)[1]
        assert again is not None
        if value is not None:
            assert equal(decode(*again), value)


@law_on_every_build(st.data(), nodes(max_leaves=10, wide=False), st.integers(0, 1 << 32), share=4)
def test_damaged_shredded_columns_are_refused_or_read(data: st.DataObject, node: Node, seed: int) -> None:
    """P25 for the bytes in a shredded column: an error that names the row, or what the slow reader makes of them."""
    choice = random.Random(seed)
    shredded = vq.shred(column_of([data.draw(encodings(node))] * 2), _schema(data, [node]))
    for _ in range(4):
        column = _damaged_column(shredded, choice)
        expected: object = None
        with suppress(ValueError):
            (_, expected) = (None if row is None else physical(row) for row in construct_rows(column))
        try:
            rows = rows_of(vq.unshred(column))
        except InvalidVariantError as error:
            assert expected is None
            assert error.row == 1
            continue
        assert rows[1] is not None
        if expected is not None:
            assert physical(decode(*rows[1])) == expected


def _damaged_column(column: pa.Array, choice: random.Random) -> pa.Array:
    """The second row with its metadata damaged, or its value, or one of those below."""
    rows = column[1:].to_pylist() if _has_only_bytes(column.type) else None
    if rows is None:
        metadata = column.field("metadata").to_pylist()
        metadata[1], _ = damaged((metadata[1], b"\0"), choice, other=(b"\x01\x00\x00", b"\x00"))
        children = [pa.array(metadata, pa.binary()), *(column.field(k) for k in range(1, column.type.num_fields))]
        return pa.StructArray.from_arrays(children, fields=list(column.type))
    groups = []
    pending = [rows[0]]
    while pending:
        group = pending.pop()
        if isinstance(group, list):
            pending += group
        elif isinstance(group, dict):
            groups.append(group)
            pending += [child for child in group.values() if isinstance(child, (dict, list))]
    chosen = [group for group in groups if isinstance(group.get("value"), bytes)]
    if chosen and choice.random() < 0.7:
        group = choice.choice(chosen)
        rows[0]["metadata"], group["value"] = damaged(
            (rows[0]["metadata"], group["value"]), choice, other=(rows[0]["metadata"], choice.choice(chosen)["value"])
        )
    else:
        rows[0]["metadata"], _ = damaged((rows[0]["metadata"], b"\0"), choice, other=(rows[0]["metadata"], b"\0"))
    return pa.concat_arrays([column[:1], pa.array(rows, column.type)])


def _has_only_bytes(kind: pa.DataType) -> bool:
    """Whether Python's objects can stand for the values of this type and make them again."""
    pending = [kind]
    while pending:
        kind = pending.pop()
        if isinstance(kind, pa.BaseExtensionType) or pa.types.is_temporal(kind):
            return False
        pending += [kind.field(k).type for k in range(kind.num_fields)]
    return True
