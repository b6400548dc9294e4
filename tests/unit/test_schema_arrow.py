"""Shredding schemas as Arrow types: the specification's own examples both ways, and columns of other writers."""

from __future__ import annotations

import pyarrow as pa
import pytest

from varquet.columns.arrow import VARIANT
from varquet.errors import SchemaError
from varquet.schema import ShreddingSchema

parse = ShreddingSchema.parse

METADATA = pa.field("metadata", pa.binary(), nullable=False)
VALUE = pa.field("value", pa.binary())


def typed(arrow: pa.DataType) -> pa.Field:
    return pa.field("typed_value", arrow)


def required(name: str, *children: pa.Field) -> pa.Field:
    return pa.field(name, pa.struct(children), nullable=False)


STRING = (VALUE, typed(pa.string()))
TIMESTAMP = (VALUE, typed(pa.timestamp("us", "UTC")))
DOUBLE = (VALUE, typed(pa.float64()))
TAGS = (VALUE, typed(pa.list_(required("element", *STRING))))
LOCATION = (VALUE, typed(pa.struct([required("latitude", *DOUBLE), required("longitude", *DOUBLE)])))

# The definitions of the shredding specification; fields in the order in which varquet writes them.
SPECIFICATION = {
    "measurement": ("bigint", (METADATA, VALUE, typed(pa.int64()))),
    "tags": ("array<string>", (METADATA, *TAGS)),
    "event": (
        "event_ts timestamp, event_type string",
        (METADATA, VALUE, typed(pa.struct([required("event_ts", *TIMESTAMP), required("event_type", *STRING)]))),
    ),
    "nested event": (
        "event_ts timestamp, event_type string, location struct<latitude: double, longitude: double>, tags array<string>",
        (
            METADATA,
            VALUE,
            typed(
                pa.struct(
                    [
                        required("event_ts", *TIMESTAMP),
                        required("event_type", *STRING),
                        required("location", *LOCATION),
                        required("tags", *TAGS),
                    ]
                )
            ),
        ),
    ),
    "a field that is not shredded": ("a variant", (METADATA, VALUE, typed(pa.struct([required("a", VALUE)])))),
    "an object without fields": ("struct<>", (METADATA, VALUE, typed(pa.struct([])))),
    "a uuid": ("uuid", (METADATA, VALUE, typed(pa.uuid()))),
}


@pytest.mark.parametrize("name", SPECIFICATION)
def test_the_examples_of_the_specification(name: str) -> None:
    ddl, children = SPECIFICATION[name]
    physical = parse(ddl).physical()
    assert physical == pa.struct(children)
    assert str(physical) == str(pa.struct(children))
    assert ShreddingSchema.from_physical(physical).ddl() == ddl
    assert parse(ddl).physical(metadata=False) == pa.struct(children[1:])
    assert ShreddingSchema.from_physical(pa.struct(children[1:]), metadata=False).ddl() == ddl


def test_an_unshredded_column_requires_its_value() -> None:
    assert ShreddingSchema.value().physical() == VARIANT
    assert ShreddingSchema.value().physical(metadata=False) == pa.struct([VALUE])
    assert ShreddingSchema.from_physical(VARIANT) == ShreddingSchema.value()


@pytest.mark.parametrize(
    ("ddl", "arrow"),
    [
        ("variant", pa.null()),
        ("uuid", pa.binary(16)),
        ("struct<>", pa.struct([])),
        ("array<string>", pa.list_(pa.field("element", pa.string()))),
        ("a bigint, b array<variant>", pa.struct([("a", pa.int64()), ("b", pa.list_(pa.field("element", pa.null())))])),
    ],
)
def test_logical_types(ddl: str, arrow: pa.DataType) -> None:
    assert parse(ddl).arrow() == arrow and str(parse(ddl).arrow()) == str(arrow)
    assert ShreddingSchema.from_arrow(arrow) == parse(ddl)


@pytest.mark.parametrize(
    "arrow",
    [
        pa.large_list(pa.int8()),
        pa.list_(pa.int8(), 3),
        pa.list_view(pa.field("x", pa.int8(), nullable=False)),
        pa.large_list_view(pa.int8()),
        pa.run_end_encoded(pa.int32(), pa.list_(pa.int8())),
    ],
)
def test_every_list_is_an_array(arrow: pa.DataType) -> None:
    assert ShreddingSchema.from_arrow(arrow) == parse("array<tinyint>")


def test_logical_types_that_are_refused() -> None:
    with pytest.raises(SchemaError, match=r"expected field names that differ, got 'a' twice - at \$\.x\[\*\]$"):
        ShreddingSchema.from_arrow(pa.struct([("x", pa.list_(pa.struct([("a", pa.int8()), ("a", pa.int8())])))]))
    with pytest.raises(SchemaError, match=r"got map<string, int8>: it has no maps - at \$\.x"):
        ShreddingSchema.from_arrow(pa.struct([("x", pa.map_(pa.string(), pa.int8()))]))


@pytest.mark.parametrize(
    ("fields", "ddl"),
    [
        ([typed(pa.int64()), VALUE, METADATA], "bigint"),
        ([METADATA, typed(pa.int64())], "bigint"),
        ([METADATA, VALUE], "variant"),
        ([pa.field("metadata", pa.large_binary()), pa.field("value", pa.binary_view()), typed(pa.string_view())], "string"),
        ([pa.field("metadata", pa.dictionary(pa.int32(), pa.binary())), VALUE], "variant"),
        ([METADATA, pa.field("value", pa.binary(), nullable=False), pa.field("typed_value", pa.int8(), nullable=False)], "tinyint"),
        ([METADATA, VALUE, pa.field("_metadata_key_paths", pa.uint8()), pa.field("_x", pa.struct([("a", pa.uint8())]))], "variant"),
        ([METADATA, VALUE, typed(pa.struct([("a", pa.struct([typed(pa.binary(16))])), ("_b", pa.struct([VALUE]))]))], "_b variant, a uuid"),
        ([METADATA, typed(pa.large_list(pa.struct([VALUE])))], "array<variant>"),
        ([METADATA, typed(pa.list_(pa.struct([typed(pa.date32())])))], "array<date>"),
        (
            [METADATA, typed(pa.struct([("value", pa.struct([typed(pa.struct([("typed_value", pa.struct([VALUE]))]))]))]))],
            "value struct<typed_value: variant>",
        ),
    ],
)
def test_physical_types_of_other_writers(fields: list[pa.Field], ddl: str) -> None:
    assert ShreddingSchema.from_physical(pa.struct(fields)).ddl() == ddl


class _VariantType(pa.ExtensionType):  # type: ignore[misc]
    def __init__(self, storage: pa.DataType) -> None:
        super().__init__(storage, "arrow.parquet.variant")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> _VariantType:
        return cls(storage)


def test_arrows_extension_type_for_variants() -> None:
    assert ShreddingSchema.from_physical(_VariantType(parse("a bigint").physical())) == parse("a bigint")


LOGICAL = "ShreddingSchema.from_arrow reads types that say what the values are"


@pytest.mark.parametrize(
    ("arrow", "message"),
    [
        (pa.int64(), "expected a group of metadata, value and typed_value, got int64 - at $"),
        (pa.struct([VALUE]), "expected a metadata column, got struct<value: binary> - at $"),
        (pa.struct([METADATA]), "expected at least one of value and typed_value, got struct<metadata: binary not null> - at $"),
        (pa.struct([("a", pa.int64())]), f"expected only metadata, value and typed_value in a group, got 'a' - at $. Hint: {LOGICAL}"),
        (pa.struct([METADATA, VALUE, ("x", pa.int8())]), "expected only metadata, value and typed_value in a group, got 'x' - at $"),
        (pa.struct([METADATA, VALUE, VALUE]), "expected one value in a group, got 2 - at $"),
        (pa.struct([("metadata", pa.string()), VALUE]), "expected metadata to be binary, got string - at $"),
        (pa.struct([METADATA, ("value", pa.binary(16))]), "expected value to be binary, got fixed_size_binary[16] - at $"),
        (
            pa.struct([METADATA, typed(pa.struct([("a", pa.int64())]))]),
            "expected a group of value and typed_value, got int64 - at $.a",
        ),
        (
            pa.struct([METADATA, typed(pa.struct([("a", pa.struct([("b", pa.int8()), VALUE]))]))]),
            "expected only value and typed_value in a group, got 'b' - at $.a",
        ),
        (
            pa.struct([METADATA, typed(pa.struct([required("a", METADATA, VALUE)]))]),
            (
                "expected only value and typed_value in a group, got 'metadata' - at $.a. "
                "Hint: the metadata column belongs to the top level only"
            ),
        ),
        (
            pa.struct([METADATA, typed(pa.list_(pa.struct([])))]),
            "expected at least one of value and typed_value, got struct<> - at $[*]",
        ),
        (
            pa.struct([METADATA, typed(pa.list_(pa.string()))]),
            "expected a group of value and typed_value, got string - at $[*]",
        ),
        (
            pa.struct([METADATA, typed(pa.struct([required("a", VALUE), required("a", VALUE)]))]),
            "expected field names that differ, got 'a' twice - at $",
        ),
        (
            pa.struct([METADATA, typed(pa.struct([required("a b", VALUE, typed(pa.list_(required("element", typed(pa.uint32())))))]))]),
            (
                "expected a type of the shredding specification's table for typed_value, got uint32: "
                "it has no unsigned integers - at $['a b'][*]. "
                "Hint: take bigint or decimal(20,0)"
            ),
        ),
        (
            pa.struct([METADATA, VALUE, typed(pa.binary(4))]),
            (
                "expected a type of the shredding specification's table for typed_value, got fixed_size_binary[4]: "
                "its only binary of a fixed length is the uuid of 16 bytes - at $. Hint: take binary"
            ),
        ),
        (
            pa.struct([METADATA, VALUE, typed(pa.map_(pa.string(), pa.int8()))]),
            (
                "expected a type of the shredding specification's table for typed_value, got map<string, int8>: it has no maps - at $. "
                "Hint: take a struct of the keys that are known, or variant"
            ),
        ),
        (
            pa.struct([METADATA, VALUE, typed(pa.null())]),
            (
                "expected a type of the shredding specification's table for typed_value, got null: a null has no type there - at $. "
                "Hint: take variant, which has no typed_value"
            ),
        ),
    ],
)
def test_physical_types_that_are_refused(arrow: pa.DataType, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        ShreddingSchema.from_physical(arrow)
    assert str(caught.value) == message
