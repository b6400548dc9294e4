"""The standard's own tables, to the letter: what is missing, null or partial, and what readers must, may and must not accept."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from construct_variant import construct_rows, plain_rows
from kernel_builds import BUILDS, using
from shredded_rules import findings
from strategies import physical
from variant_columns import VARIANT_FORMS, column_of, nodes_column, rows_of

import varquet as vq
from varquet.errors import InvalidVariantError, SchemaError, UnsupportedTypeError
from varquet.types import BY_NAME
from varquet.variant import decode, encode, equal
from varquet.variant.model import NULL, Node, Scalar

NO_NAMES = bytes.fromhex("010000")


def text(payload: str) -> Scalar:
    return Scalar(BY_NAME["string"], payload)


def moment(micros: int) -> Scalar:
    return Scalar(BY_NAME["timestamp"], micros)


def number(payload: int) -> Scalar:
    return Scalar(BY_NAME["int64"], payload)


def value_of(node: Node, metadata: bytes) -> bytes:
    """The value bytes of a node whose names all are in this metadata, which has no others."""
    made, value = encode(node)
    assert made == metadata
    return value


def metadata_of(*names: str) -> bytes:
    return encode(dict.fromkeys(names, NULL))[0]


def nodes_of(column: pa.Array) -> list[Node | None]:
    return [None if row is None else decode(*row) for row in rows_of(column)]


def shredded(ddl: str, rows: list[Any]) -> pa.Array:
    """A shredded column written by hand."""
    return pa.array(rows, vq.ShreddingSchema.parse(ddl).physical())


@pytest.fixture(autouse=True, params=[build for build in BUILDS if build != "interpreted"])
def _on_build(request: pytest.FixtureRequest) -> Any:
    with using(request.param):
        yield


# The tables of the standard


def test_measurements() -> None:
    """34, null, "n/a", 100 as int64. (The standard prints the header of "n/a", 0x0D, as 13.)"""
    column = vq.shred(vq.parse_json(pa.array(["34", "null", '"n/a"', "100"])), "bigint")
    assert column.to_pylist() == [
        {"metadata": NO_NAMES, "value": None, "typed_value": 34},
        {"metadata": NO_NAMES, "value": b"\x00", "typed_value": None},
        {"metadata": NO_NAMES, "value": b"\x0d\x6e\x2f\x61", "typed_value": None},
        {"metadata": NO_NAMES, "value": None, "typed_value": 100},
    ]
    assert nodes_of(vq.unshred(column)) == [number(34), NULL, text("n/a"), number(100)]


def test_tags() -> None:
    values: list[Node] = [
        [text("comedy"), text("drama")],
        [text("horror"), NULL],
        [text("comedy"), text("drama"), text("romance")],
        NULL,
    ]
    column = vq.shred(nodes_column(values), "array<string>")
    assert column.to_pylist() == [
        {
            "metadata": NO_NAMES,
            "value": None,
            "typed_value": [{"value": None, "typed_value": "comedy"}, {"value": None, "typed_value": "drama"}],
        },
        {
            "metadata": NO_NAMES,
            "value": None,
            "typed_value": [{"value": None, "typed_value": "horror"}, {"value": b"\x00", "typed_value": None}],
        },
        {
            "metadata": NO_NAMES,
            "value": None,
            "typed_value": [{"value": None, "typed_value": tag} for tag in ("comedy", "drama", "romance")],
        },
        {"metadata": NO_NAMES, "value": b"\x00", "typed_value": None},
    ]
    assert nodes_of(vq.unshred(column)) == values


EVENT = "event_type string, event_ts timestamp"
MISSING: dict[str, Any] = {"value": None, "typed_value": None}


def _typed(payload: Any) -> dict[str, Any]:
    return {"value": None, "typed_value": payload}


def _event(event_type: Any, event_ts: Any) -> dict[str, Any]:
    return {"event_ts": event_ts, "event_type": event_type}


# (the object, the names of its metadata, the object in value, the fields in typed_value)
EVENTS: list[tuple[Node, tuple[str, ...], Node | None, dict[str, Any] | None]] = [
    (
        {"event_type": text("noop"), "event_ts": moment(1729794114937)},
        ("event_type", "event_ts"),
        None,
        _event(_typed("noop"), _typed(1729794114937)),
    ),
    (
        {"event_type": text("login"), "event_ts": moment(1729794146402), "email": text("user@example.com")},
        ("event_type", "event_ts", "email"),
        {"email": text("user@example.com")},
        _event(_typed("login"), _typed(1729794146402)),
    ),
    ({"error_msg": text("malformed: ...")}, ("error_msg",), {"error_msg": text("malformed: ...")}, _event(MISSING, MISSING)),
    (text("malformed: not an object"), (), text("malformed: not an object"), None),
    (
        {"event_ts": moment(1729794240241), "click": text("_button")},
        ("event_ts", "click"),
        {"click": text("_button")},
        _event(MISSING, _typed(1729794240241)),
    ),
    (
        {"event_type": NULL, "event_ts": moment(1729794954163)},
        ("event_type", "event_ts"),
        None,
        _event({"value": b"\x00", "typed_value": None}, _typed(1729794954163)),
    ),
    (
        {"event_type": text("noop"), "event_ts": text("2024-10-24")},
        ("event_type", "event_ts"),
        None,
        _event(_typed("noop"), {"value": b"\x292024-10-24", "typed_value": None}),
    ),
    ({}, (), None, _event(MISSING, MISSING)),
    (NULL, (), NULL, None),
]


@pytest.mark.parametrize(("event", "names", "residual", "fields"), EVENTS)
def test_event(event: Node, names: tuple[str, ...], residual: Node | None, fields: dict[str, Any] | None) -> None:
    column = vq.shred(nodes_column([event]), EVENT)
    (row,) = plain_rows(column)
    assert row["metadata"] == metadata_of(*names)
    assert row["typed_value"] == fields
    assert (None if row["value"] is None else decode(row["metadata"], row["value"])) == residual
    assert nodes_of(vq.unshred(column, strict=True)) == [event]
    assert findings(column) == []


def test_a_missing_event_is_a_variant_null() -> None:
    """Null and null at the top, where a value is required: S4."""
    column = shredded(EVENT, [{"metadata": NO_NAMES, "value": None, "typed_value": None}])
    assert nodes_of(vq.unshred(column)) == [NULL]


_LOGIN = metadata_of("event_type")
_BOTH = metadata_of("event_type", "event_ts")
# (what the standard says, metadata, value, typed_value, what a lenient reader gives, the rule that a strict one names)
INVALID_EVENTS = {
    "a shredded field is present in value": (
        _BOTH,
        bytes.fromhex("020101000615") + b"login",
        _event(_typed("login"), _typed(1729795057774)),
        {"event_type": text("login"), "event_ts": moment(1729795057774)},
        r"expected no shredded field in the value of an object, got one \(W11,",
    ),
    "a shredded field is present in value, while typed_value is null": (
        _LOGIN,
        value_of({"event_type": text("login")}, _LOGIN),
        None,
        {"event_type": text("login")},
        r"expected a shredded object in typed_value, got it in value \(W9,",
    ),
    "typed_value is present and value is not an object": (
        NO_NAMES,
        b"\x05a",
        _event(MISSING, MISSING),
        None,
        r"expected an object in the value beside a shredded object, got something else \(W13,",
    ),
    "typed_value is null for object": (
        NO_NAMES,
        b"\x02\x00\x00",
        None,
        {},
        r"expected a shredded object in typed_value, got it in value \(W9,",
    ),
}


@pytest.mark.parametrize("what", INVALID_EVENTS)
def test_invalid_event(what: str) -> None:
    metadata, value, typed_value, lenient, rule = INVALID_EVENTS[what]
    good = {"metadata": NO_NAMES, "value": b"\x00", "typed_value": None}
    column = shredded(EVENT, [good, {"metadata": metadata, "value": value, "typed_value": typed_value}])
    # pa.array sets what it must not be asked about: the children of nulls that are required.
    (finding,) = (each for each in findings(column) if not each.startswith("P10"))
    assert finding.split()[0] in rule
    with pytest.raises(InvalidVariantError, match=rule) as caught:
        vq.unshred(column, strict=True)
    assert caught.value.row == 1
    if lenient is None:
        with pytest.raises(InvalidVariantError, match=rule):
            vq.unshred(column)
    else:
        assert nodes_of(vq.unshred(column)) == construct_rows(column) == [NULL, lenient]


def test_a_shredded_field_counts_even_if_it_is_missing() -> None:
    """The key in the residual is dropped, as in case 43 of the conformance suite."""
    metadata = metadata_of("b", "c")
    column = shredded(
        "b string", [{"metadata": metadata, "value": value_of({"b": text("x"), "c": NULL}, metadata), "typed_value": {"b": MISSING}}]
    )
    assert nodes_of(vq.unshred(column)) == construct_rows(column) == [{"c": NULL}]
    with pytest.raises(InvalidVariantError, match="W11"):
        vq.unshred(column, strict=True)


@pytest.mark.parametrize("field_id", [0, 1])
@pytest.mark.parametrize("shredded_field", [MISSING, _typed("x")])
def test_a_shredded_name_is_found_under_any_of_its_ids(field_id: int, shredded_field: dict[str, Any]) -> None:
    """A dictionary that is not sorted may have a name twice (E7)."""
    twice = bytes.fromhex("01 02 00 01 02") + b"bb"
    row = {"metadata": twice, "value": bytes((2, 1, field_id, 0, 1, 0)), "typed_value": {"b": shredded_field}}
    column = shredded("b string", [row])
    assert nodes_of(vq.unshred(column)) == construct_rows(column)
    with pytest.raises(InvalidVariantError, match="W11"):
        vq.unshred(column, strict=True)


# Missing, null, empty


@pytest.mark.parametrize(
    "ddl", ["variant", "bigint", "string", "a bigint", "a struct<b: string>, c variant", "array<a bigint>", "array<variant>"]
)
def test_sql_null_variant_null_and_empty_are_different(ddl: str) -> None:
    ddl = ddl.replace("array<a bigint>", "array<struct<a: bigint>>")
    values: list[Node] = [NULL, {}, [], {"a": NULL}, {"a": {}}, {"a": {"b": NULL}}, [NULL], [[]], [{}], [{"a": NULL}], text("")]
    rows = [None, *(encode(value) for value in values), None]
    column = vq.shred(column_of(rows), ddl)
    assert findings(column) == []
    assert nodes_of(vq.unshred(column, strict=True)) == [None, *values, None]
    assert construct_rows(column) == [None, *values, None]


def test_placement_of_empty_containers() -> None:
    objects = vq.shred(nodes_column([{}, []]), "a int")
    assert plain_rows(objects) == [
        {"metadata": NO_NAMES, "value": None, "typed_value": {"a": MISSING}},
        {"metadata": NO_NAMES, "value": b"\x03\x00\x00", "typed_value": None},
    ]
    arrays = vq.shred(nodes_column([{}, []]), "array<int>")
    assert plain_rows(arrays) == [
        {"metadata": NO_NAMES, "value": b"\x02\x00\x00", "typed_value": None},
        {"metadata": NO_NAMES, "value": None, "typed_value": []},
    ]


def test_a_missing_element_is_a_variant_null() -> None:
    """S4 in an array: a group of nulls, and a null group."""
    kind = pa.list_(pa.field("element", pa.struct([("value", pa.binary()), ("typed_value", pa.int32())])))
    struct = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", kind)])
    column = pa.array([{"metadata": NO_NAMES, "value": None, "typed_value": [MISSING, _typed(7), None]}], struct)
    assert nodes_of(vq.unshred(column)) == construct_rows(column) == [[NULL, Scalar(BY_NAME["int32"], 7), NULL]]


def test_what_lies_below_a_null_is_not_there() -> None:
    kind = vq.ShreddingSchema.parse("a struct<b: string>").physical()
    inner = pa.array([{"b": _typed("ghost")}], kind.field("typed_value").type.field("a").type.field("typed_value").type)
    field = pa.StructArray.from_arrays([pa.array([None], pa.binary()), inner], names=["value", "typed_value"], mask=pa.array([True]))
    objects = pa.StructArray.from_arrays([field], names=["a"])
    children = [pa.array([metadata_of("a", "b")]), pa.array([None], pa.binary()), objects]
    column = pa.StructArray.from_arrays(children, names=["metadata", "value", "typed_value"])
    assert nodes_of(vq.unshred(column)) == [{}]
    hidden = pa.StructArray.from_arrays(children, names=["metadata", "value", "typed_value"], mask=pa.array([True]))
    assert nodes_of(vq.unshred(hidden)) == [None]


# Columns that are left out, added, or in another order


def test_a_field_may_have_no_typed_value() -> None:
    column = shredded("a variant", [{"metadata": metadata_of("a"), "value": None, "typed_value": {"a": {"value": b"\x0c\x05"}}}])
    assert nodes_of(vq.unshred(column, strict=True)) == [{"a": Scalar(BY_NAME["int8"], 5)}]


def test_value_columns_may_be_absent() -> None:
    element = pa.struct([("typed_value", pa.string())])
    fields = pa.struct([("a", pa.struct([("typed_value", pa.int64())])), ("tags", pa.struct([("typed_value", pa.list_(element))]))])
    kind = pa.struct([("metadata", pa.binary()), ("typed_value", fields)])
    typed = {"a": {"typed_value": 1}, "tags": {"typed_value": [{"typed_value": "x"}]}}
    column = pa.array([{"metadata": metadata_of("a", "tags"), "typed_value": typed}, {"metadata": NO_NAMES, "typed_value": None}], kind)
    assert nodes_of(vq.unshred(column)) == [{"a": number(1), "tags": [text("x")]}, NULL]


def test_children_are_found_by_name() -> None:
    kind = pa.struct([("typed_value", pa.int64()), ("_source", pa.string()), ("value", pa.binary()), ("metadata", pa.binary())])
    column = pa.array([{"typed_value": 3, "metadata": NO_NAMES, "_source": "x"}, {"value": b"\x00", "metadata": NO_NAMES}], kind)
    assert nodes_of(vq.unshred(column)) == [number(3), NULL]


def test_underscored_fields_are_ignored_beside_value_but_are_names_in_an_object() -> None:
    group = pa.struct([("value", pa.binary()), ("typed_value", pa.int64()), ("_statistics", pa.int32())])
    kind = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", pa.struct([("_x", group)])), ("_y", pa.date32())])
    typed = {"_x": {"typed_value": 9, "_statistics": 1}}
    column = pa.array([{"metadata": metadata_of("_x"), "typed_value": typed}], kind)
    assert nodes_of(vq.unshred(column, strict=True)) == [{"_x": number(9)}]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (
            pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("other", pa.int32())]),
            "expected only metadata, value and typed_value in a group, got 'other'",
        ),
        (pa.struct([("value", pa.binary()), ("typed_value", pa.int32())]), "expected a metadata column"),
        (pa.struct([("metadata", pa.binary())]), "expected at least one of value and typed_value"),
        (pa.struct([("metadata", pa.binary()), ("typed_value", pa.uint32())]), "it has no unsigned integers"),
        (pa.struct([("metadata", pa.binary()), ("typed_value", pa.timestamp("ms"))]), "its timestamps are in microseconds or nanoseconds"),
        (pa.struct([("metadata", pa.binary()), ("typed_value", pa.binary(4))]), "its only binary of a fixed length is the uuid"),
        (pa.struct([("metadata", pa.string()), ("value", pa.binary())]), "expected metadata to be binary, got string"),
        (pa.struct([("metadata", pa.binary()), ("value", pa.int32())]), "expected value to be binary, got int32"),
        (
            pa.struct([("metadata", pa.binary()), ("typed_value", pa.struct([("a", pa.int32())]))]),
            r"expected a group of value and typed_value, got int32 - at \$\.a",
        ),
        (
            pa.struct([("metadata", pa.binary()), ("typed_value", pa.list_(pa.int32()))]),
            r"expected a group of value and typed_value, got int32 - at \$\[\*\]",
        ),
        (
            pa.struct(
                [("metadata", pa.binary()), ("typed_value", pa.list_(pa.struct([("value", pa.binary()), ("metadata", pa.binary())])))]
            ),
            "the metadata column belongs to the top level only",
        ),
    ],
)
def test_a_type_that_is_no_shredded_column(kind: pa.DataType, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        vq.unshred(pa.nulls(1, kind))


@pytest.mark.parametrize("column", [pa.array([b"x"]), pa.array([1]), pa.array([[1]])])
def test_a_column_that_is_no_struct(column: pa.Array) -> None:
    with pytest.raises(UnsupportedTypeError, match="expected a shredded variant column, struct<metadata, value, typed_value>"):
        vq.unshred(column)


@pytest.mark.parametrize("column", [None, [b"x"], b"x"])
def test_what_is_no_column_at_all(column: Any) -> None:
    with pytest.raises(UnsupportedTypeError, match="expected a pyarrow Array or ChunkedArray, got builtins"):
        vq.unshred(column)
    with pytest.raises(UnsupportedTypeError, match="expected a pyarrow Array or ChunkedArray, got builtins"):
        vq.shred(column, "int")


def test_shredding_what_is_shredded_already() -> None:
    with pytest.raises(UnsupportedTypeError, match="expected an unshredded variant column, got one with a typed_value"):
        vq.shred(shredded("int", [{"metadata": NO_NAMES, "value": None, "typed_value": 1}]), "int")


@pytest.mark.parametrize("make", [pa.list_, pa.large_list, pa.list_view, pa.large_list_view, lambda field: pa.list_(field, 2)])
def test_arrays_in_lists_of_every_kind(make: Any) -> None:
    element = pa.field("item", pa.struct([("value", pa.binary()), ("typed_value", pa.string())]))
    kind = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", make(element))])
    rows = [
        {"metadata": NO_NAMES, "value": None, "typed_value": [_typed("a"), _typed("b")]},
        {"metadata": NO_NAMES, "value": b"\x00", "typed_value": None},
        {"metadata": NO_NAMES, "value": None, "typed_value": [{"value": b"\x00"}, _typed("d")]},
    ]
    expected = [[text("a"), text("b")], NULL, [NULL, text("d")]]
    column = pa.array(rows, kind)
    assert nodes_of(vq.unshred(column)) == expected
    assert nodes_of(vq.unshred(column[1:])) == expected[1:]
    assert nodes_of(vq.unshred(column[2:])) == expected[2:]


def test_an_extension_over_a_shredded_column() -> None:
    class Foreign(pa.ExtensionType):  # type: ignore[misc]
        def __init__(self, storage: pa.DataType) -> None:
            super().__init__(storage, "varquet.tests.foreign")

        def __arrow_ext_serialize__(self) -> bytes:
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, storage: pa.DataType, _: bytes) -> Foreign:
            return cls(storage)

    column = shredded("int", [{"metadata": NO_NAMES, "value": None, "typed_value": 1}, None])
    labelled = pa.ExtensionArray.from_storage(Foreign(column.type), column)
    assert nodes_of(vq.unshred(labelled)) == [Scalar(BY_NAME["int32"], 1), None]


@pytest.mark.parametrize("form", VARIANT_FORMS)
@pytest.mark.parametrize("ddl", ["variant", "uuid", "a int, b array<time>"])
def test_the_type_does_not_depend_on_the_number_of_rows(form: str, ddl: str) -> None:
    column = VARIANT_FORMS[form](nodes_column([NULL, {"a": number(1)}]))
    rows, none = vq.shred(column, ddl), vq.shred(column.slice(0, 0), ddl)
    assert len(none) == 0 and none.type == rows.type
    assert vq.unshred(none).type == vq.unshred(rows).type
    shared, none = vq.shred(column, ddl, shared_metadata=True), vq.shred(column.slice(0, 0), ddl, shared_metadata=True)
    assert none.type == shared.type
    assert vq.unshred(none).type == vq.unshred(shared).type


# Errors


def test_an_error_counts_the_rows_of_all_chunks() -> None:
    bad = {"metadata": NO_NAMES, "value": b"\x00", "typed_value": 1}
    good = {"metadata": NO_NAMES, "value": None, "typed_value": 1}
    column = pa.chunked_array([shredded("int", [good] * 5000), shredded("int", [None, *[good] * 4999, bad, good])])
    for threads in (1, 2):
        with pytest.raises(InvalidVariantError, match=r"\(S6, in the value\) - at row 10000") as caught:
            vq.unshred(column, threads=threads)
        assert caught.value.row == 10_000


def test_shred_names_the_row_of_bad_bytes() -> None:
    good = encode({"a": number(1)})
    column = pa.chunked_array([column_of([good, None]), column_of([good, (good[0], good[1] + b"\x00"), good])])
    with pytest.raises(InvalidVariantError, match=r"expected the end of the value, got more bytes \(E9.*at row 3") as caught:
        vq.shred(column, "a int")
    assert caught.value.row == 3


@pytest.mark.parametrize(
    ("metadata", "value", "words"),
    [
        (b"", b"\x00", "E2"),
        (b"\x02\x00\x00", b"\x00", "E4"),
        (b"\x01\x05\x00", b"\x00", "E6"),
        (b"\x01\x01\x00\x02a", b"\x00", "E6"),
        (b"\x01\x01\x00\x01\xff", b"\x00", "E8"),
        (NO_NAMES, b"", "E9"),
        (NO_NAMES, b"\x0d\x61", "E9"),
        (NO_NAMES, b"\x00\x00", "E9"),
        (NO_NAMES, b"\x0c", "E9"),
    ],
)
@pytest.mark.parametrize("ddl", ["string", "a string", "array<string>", "variant"])
def test_bytes_that_are_no_variant(metadata: bytes, value: bytes, words: str, ddl: str) -> None:
    row = {"metadata": metadata, "value": value}
    with pytest.raises(InvalidVariantError, match=rf"\({words},.* at row 0"):
        vq.unshred(shredded(ddl, [row]))
    # Names that no value uses are not looked at before they are read.
    if words != "E8":
        with pytest.raises(InvalidVariantError, match=rf"\({words},.* at row 0"):
            vq.shred(column_of([(metadata, value)]), ddl)


def test_a_shredded_name_must_be_in_the_metadata() -> None:
    column = shredded("a int", [{"metadata": NO_NAMES, "value": None, "typed_value": {"a": _typed(1)}}])
    with pytest.raises(InvalidVariantError, match=r"expected all field names in the metadata.* \(W2,"):
        vq.unshred(column)
    with pytest.raises(ValueError, match="W2"):
        construct_rows(column)


def test_a_name_twice_in_an_object_is_refused() -> None:
    """R7, whether the name has a column or not."""
    twice = (metadata_of("a"), bytes((2, 2, 0, 0, 0, 1, 2, 0, 0)))
    with pytest.raises(InvalidVariantError, match="E15"):
        vq.shred(column_of([twice]), "a int")
    with pytest.raises(InvalidVariantError, match="E15"):
        vq.unshred(vq.shred(column_of([twice]), "b int"))


# Depth and width


@pytest.mark.parametrize("depth", [1, 70, 400])
def test_schemas_of_any_depth(depth: int) -> None:
    objects, arrays = vq.ShreddingSchema.parse("bigint"), vq.ShreddingSchema.parse("bigint")
    inside_objects: Node = number(5)
    inside_arrays: Node = number(5)
    for _ in range(depth):
        objects, arrays = vq.ShreddingSchema.object({"a": objects}), vq.ShreddingSchema.array(arrays)
        inside_objects, inside_arrays = {"a": inside_objects, "b": NULL}, [inside_arrays]
    for schema, node in ((objects, inside_objects), (arrays, inside_arrays)):
        column = vq.shred(nodes_column([node, NULL, node]), schema)
        assert column.type == schema.physical()
        back = nodes_of(vq.unshred(column))
        assert back[1] == NULL
        for each in (back[0], back[2]):
            assert each is not None and equal(each, node)


def test_values_deeper_than_any_schema() -> None:
    column = vq.parse_json(pa.array(['{"a":' * 5000 + "[1]" + "}" * 5000]))
    assert vq.to_json(vq.unshred(vq.shred(column, "a struct<a: struct<b: int>>"))).to_pylist() == vq.to_json(column).to_pylist()


@pytest.mark.parametrize("count", [255, 256, 257, 1000])
def test_wide_objects_partly_shredded(count: int) -> None:
    node: Node = {f"k{(i * 7919) % count:04}": number(i) for i in range(count)}
    schema = vq.ShreddingSchema.object({f"k{i:04}": vq.ShreddingSchema.primitive("bigint") for i in range(0, count, 3)})
    column = vq.shred(nodes_column([node, {}, node]), schema)
    assert findings(column) == []
    back = vq.unshred(column, strict=True)
    assert [physical(each) for each in nodes_of(back) if each is not None] == [physical(node), {}, physical(node)]
    vq.validate(back, strict=True)
