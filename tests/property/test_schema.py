"""Shredding schemas: every form reads back to an equal schema, and merge, select and without obey their laws."""

from __future__ import annotations

import io
import json
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from schema_strategies import primitive_types
from strategies import keys

from varquet.errors import PathError, SchemaError
from varquet.schema import ELEMENT, Kind, ShreddingSchema, display_path
from varquet.schema.leaf_types import canonical_type, common_exact_type, is_exact
from varquet.types import MAX_DECIMAL_DIGITS

EXACT_TYPES = primitive_types().filter(is_exact)


def schemas(
    types: st.SearchStrategy[pa.DataType] | None = None, names: st.SearchStrategy[str] | None = None
) -> st.SearchStrategy[ShreddingSchema]:
    """Any schema, also one of objects without fields, or one of these types and field names."""
    leaves = st.just(ShreddingSchema.value()) | st.builds(ShreddingSchema.primitive, primitive_types() if types is None else types)
    return st.recursive(
        leaves,
        lambda below: (
            st.builds(ShreddingSchema.array, below)
            | st.builds(ShreddingSchema.object, st.dictionaries(keys() if names is None else names, below, max_size=4))
        ),
        max_leaves=12,
    )


# Few names and few types, so that two schemas have something to agree and to disagree about.
ALIKE = schemas(EXACT_TYPES | st.sampled_from([pa.string(), pa.float64()]), st.sampled_from("ab"))
DECIMAL_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}


@given(schemas())
def test_text_round_trip(schema: ShreddingSchema) -> None:
    text = schema.ddl()
    assert text == str(schema)
    assert ShreddingSchema.parse(text) == schema
    assert ShreddingSchema.parse(text).ddl() == text


@given(schemas())
def test_json_round_trip(schema: ShreddingSchema) -> None:
    text = schema.to_json()
    assert ShreddingSchema.from_json(text) == schema == ShreddingSchema.parse(text)
    assert text == json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)
    assert ShreddingSchema.from_json(json.dumps(json.loads(text), indent=1)) == schema


@given(schemas())
def test_python_round_trip(schema: ShreddingSchema) -> None:
    assert ShreddingSchema.from_python(schema.to_python()) == schema
    assert ShreddingSchema.from_python(schema) == schema
    assert ShreddingSchema.from_python({"a": schema, "b": [schema]}).get("$.b[*]") == schema


@given(schemas())
def test_arrow_round_trip(schema: ShreddingSchema) -> None:
    assert ShreddingSchema.from_arrow(schema.arrow()) == schema
    assert ShreddingSchema.from_python(schema.arrow()) == schema


@given(schemas())
def test_physical_round_trip(schema: ShreddingSchema) -> None:
    assert ShreddingSchema.from_physical(schema.physical()) == schema
    assert ShreddingSchema.from_physical(schema.physical(metadata=False), metadata=False) == schema


@given(schemas(), st.randoms(use_true_random=False))
def test_physical_types_of_other_writers_mean_the_same(schema: ShreddingSchema, random: object) -> None:
    assert ShreddingSchema.from_physical(_dressed(schema.physical(), random, group=True)) == schema


def _dressed(arrow: pa.DataType, random: object, *, group: bool) -> pa.DataType:
    """The same physical type with children in any order, any nullability, large and view types, and a field to be ignored."""
    shuffle, choice = random.shuffle, random.choice  # type: ignore[attr-defined]
    if pa.types.is_struct(arrow):
        children = [pa.field(child.name, _dressed(child.type, random, group=not group), choice([True, False])) for child in arrow.fields]
        if group:
            typed = any(child.name == "typed_value" for child in children)
            children = [child for child in children if child.name != "value" or not typed or choice([True, False])]
            children += choice([[], [pa.field("_x", pa.uint8())]])
        shuffle(children)
        return pa.struct(children)
    if pa.types.is_list(arrow):
        make = choice([pa.list_, pa.large_list, pa.list_view])
        return make(pa.field("item", _dressed(arrow.value_type, random, group=True), choice([True, False])))
    if arrow == pa.binary():
        return choice([pa.binary(), pa.large_binary(), pa.binary_view()])
    if arrow == pa.string():
        return choice([pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())])
    return arrow


@given(schemas())
def test_parquet_round_trip(schema: ShreddingSchema) -> None:
    # Parquet has no groups without a child.
    assume(all(leaf.kind is not Kind.OBJECT for _, leaf in schema.leaves()))
    inner = pa.struct([pa.field("before", pa.list_(pa.map_(pa.string(), pa.int8()))), pa.field("v", schema.physical())])
    columns = pa.schema([("id", pa.struct([("a", pa.int8()), ("b", pa.int8())])), ("v", schema.physical()), ("rows", pa.list_(inner))])
    file = io.BytesIO()
    pq.ParquetWriter(file, columns).close()
    for column in ("v", ("v",), ("rows", ELEMENT, "v")):
        file.seek(0)
        assert ShreddingSchema.from_parquet(file, column) == schema
    file.seek(0)
    leaves = [pq.ParquetFile(file).schema.column(index).path for index in range(pq.ParquetFile(file).metadata.num_columns)]
    assert schema.columns == sum(path.startswith("v.") for path in leaves)


@given(schemas(), schemas())
def test_equality_is_that_of_the_text(one: ShreddingSchema, other: ShreddingSchema) -> None:
    assert (one == other) is (one.ddl() == other.ddl())
    again = ShreddingSchema.from_json(one.to_json())
    assert again == one and hash(again) == hash(one)
    assert pickle.loads(pickle.dumps(one)) == one


@given(schemas())
def test_fields_are_in_the_order_of_their_bytes(schema: ShreddingSchema) -> None:
    pending = [schema]
    while pending:
        node = pending.pop()
        names = [name.encode() for name, _ in node.fields]
        assert names == sorted(set(names))
        pending += [child for _, child in node.fields] + ([node.element] if node.element else [])


@given(schemas())
def test_leaves_are_found_again(schema: ShreddingSchema) -> None:
    leaves = list(schema.leaves())
    assert len({steps for steps, _ in leaves}) == len(leaves) > 0
    for steps, leaf in leaves:
        assert schema.get(steps) is leaf is schema.get(display_path(steps))
        assert not leaf.fields and leaf.element is None
        assert schema.depth >= len(steps)
    assert schema.depth == max(len(steps) + (leaf.kind is Kind.OBJECT) for steps, leaf in leaves)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.just(ELEMENT), max_size=5))
@example(["a", "é", "a.b", "", "'", '"', "\\", "[*]", "*", "\n", "0", ELEMENT])
def test_displayed_paths_are_read_back(steps: list[object]) -> None:
    schema = ShreddingSchema.parse("bigint")
    for step in reversed(steps):
        schema = ShreddingSchema.array(schema) if step is ELEMENT else ShreddingSchema.object({str(step): schema})
    assert schema.get(display_path(steps)) == ShreddingSchema.parse("bigint")  # type: ignore[arg-type]


@given(st.text("$.[]*'\"ab\\ 0", max_size=12))
def test_any_text_is_a_path_or_a_path_error(text: str) -> None:
    try:
        ShreddingSchema.parse("a array<struct<b: int>>").get(text)
    except PathError as error:
        assert repr(text) in error.message


@given(EXACT_TYPES, EXACT_TYPES)
def test_the_common_type_holds_both_and_no_more(one: pa.DataType, other: pa.DataType) -> None:
    common = common_exact_type(one, other)
    whole, scale = max(_whole(one), _whole(other)), max(_scale(one), _scale(other))
    if common is None:
        assert whole + scale > MAX_DECIMAL_DIGITS
    else:
        assert common == common_exact_type(other, one) == canonical_type(common)
        assert (_whole(common), _scale(common)) == (whole, scale)


def _whole(arrow: pa.DataType) -> int:
    return arrow.precision - arrow.scale if pa.types.is_decimal(arrow) else DECIMAL_DIGITS[arrow.bit_width]


def _scale(arrow: pa.DataType) -> int:
    return arrow.scale if pa.types.is_decimal(arrow) else 0


def _merged(one: ShreddingSchema | None, other: ShreddingSchema | None) -> ShreddingSchema | None:
    """The union, or None where there is none."""
    if one is None or other is None:
        return None
    try:
        return one.merge(other)
    except SchemaError:
        return None


@given(ALIKE, ALIKE, ALIKE)
def test_merge_is_commutative_associative_and_idempotent(a: ShreddingSchema, b: ShreddingSchema, c: ShreddingSchema) -> None:
    assert _merged(a, a) == a == _merged(a, ShreddingSchema.value()) == _merged(ShreddingSchema.value(), a)
    assert _merged(a, b) == _merged(b, a)
    assert a.merge(b, on_conflict="value") == b.merge(a, on_conflict="value")
    assert _merged(_merged(a, b), c) == _merged(a, _merged(b, c))


@given(ALIKE, ALIKE)
def test_merge_loses_no_path(one: ShreddingSchema, other: ShreddingSchema) -> None:
    union = _merged(one, other)
    assume(union is not None)
    assert union is not None
    for schema in (one, other):
        assert _merged(union, schema) == union
        for steps, leaf in schema.leaves():
            found = union.get(steps)
            assert found is not None
            assert leaf.kind in (found.kind, Kind.VALUE)


@given(schemas(primitive_types(), st.sampled_from("abc")), st.data())
def test_what_is_selected_and_what_is_left_make_the_whole(schema: ShreddingSchema, data: st.DataObject) -> None:
    everywhere = [steps[:count] for steps, _ in schema.leaves() for count in range(len(steps) + 1)]
    paths = data.draw(st.lists(st.sampled_from(everywhere), max_size=4))
    selected, left = schema.select(paths), schema.without(paths)
    assert selected.merge(left) == schema
    assert selected.merge(schema) == schema == left.merge(schema)
    for steps in paths:
        assert selected.get(steps) == schema.get(steps)
        remaining = left.get(steps)
        assert remaining is None or remaining.kind is Kind.VALUE
    assert schema.select([()]) == schema == schema.without([])
    assert schema.select([]) == ShreddingSchema.value() == schema.without([()])
    for steps, _ in selected.leaves():
        assert not paths or any(steps[: len(path)] == tuple(path) for path in paths)


@given(st.text("ab`<>,:() \n'\"-{[", max_size=24) | st.text(max_size=12))
@example("a bigint" + ">" * 5)
@example("`a``b` bigint comment 'x'")
def test_any_text_is_a_schema_or_a_schema_error(text: str) -> None:
    try:
        schema = ShreddingSchema.parse(text)
    except SchemaError as error:
        assert "expected" in error.message and "got" in error.message
    else:
        assert ShreddingSchema.parse(str(schema)) == schema


@given(schemas(), st.data())
def test_damaged_text_is_a_schema_or_a_schema_error(schema: ShreddingSchema, data: st.DataObject) -> None:
    for text in (schema.ddl(), schema.to_json()):
        first = data.draw(st.integers(0, len(text)))
        last = data.draw(st.integers(first, min(len(text), first + 3)))
        damaged = text[:first] + data.draw(st.sampled_from(["", ",", "<", ">", "`", " ", "x", '"', "}", "not null"])) + text[last:]
        try:
            ShreddingSchema.parse(damaged)
        except SchemaError as error:
            assert "expected" in error.message and "got" in error.message


@pytest.mark.parametrize("form", ["array<", "struct<a: "])
def test_five_thousand_levels(form: str) -> None:
    levels = 5_000
    text = form * levels + "bigint" + ">" * levels
    schema = ShreddingSchema.parse(text)
    again = ShreddingSchema.parse(schema.ddl())
    assert schema.depth == levels and schema.columns == levels + 3
    assert again == schema and hash(again) == hash(schema) and again is not schema
    assert schema != ShreddingSchema.parse(text.replace("bigint", "int"))
    assert schema.merge(ShreddingSchema.parse(text.replace("bigint", "int"))) == schema
    assert ShreddingSchema.from_json(schema.to_json()) == schema == pickle.loads(pickle.dumps(schema))
    assert ShreddingSchema.from_python(schema.to_python()) == schema
    assert ShreddingSchema.from_arrow(schema.arrow()) == schema == ShreddingSchema.from_physical(schema.physical())
    assert len(repr(schema)) < 110
    ((steps, leaf),) = schema.leaves()
    assert len(steps) == levels and schema.get(steps) is leaf
    assert schema.select([steps]) == schema and schema.without([steps]).depth == levels
    with pytest.raises(SchemaError, match="got bigint and string - at .{20,80}\\. Hint") as caught:
        schema.merge(ShreddingSchema.parse(text.replace("bigint", "string")))
    assert "…" in str(caught.value)
