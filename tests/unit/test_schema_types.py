"""The types of the shredding specification's table: their canonical Arrow form, and why others are refused."""

from __future__ import annotations

import pyarrow as pa
import pytest

from varquet.errors import SchemaError
from varquet.schema import ShreddingSchema
from varquet.schema.leaf_types import canonical_type, common_exact_type, is_exact


@pytest.mark.parametrize(
    ("arrow", "canonical"),
    [
        *[
            (arrow, arrow)
            for arrow in (
                pa.bool_(),
                pa.int8(),
                pa.int16(),
                pa.int32(),
                pa.int64(),
                pa.float32(),
                pa.float64(),
                pa.decimal128(1, 0),
                pa.decimal128(38, 38),
                pa.date32(),
                pa.time64("us"),
                pa.timestamp("us"),
                pa.timestamp("ns"),
                pa.timestamp("us", "UTC"),
                pa.timestamp("ns", "UTC"),
                pa.binary(),
                pa.string(),
                pa.binary(16),
            )
        ],
        (pa.timestamp("us", "Europe/Berlin"), pa.timestamp("us", "UTC")),
        (pa.timestamp("ns", "+01:00"), pa.timestamp("ns", "UTC")),
        (pa.large_string(), pa.string()),
        (pa.string_view(), pa.string()),
        (pa.large_binary(), pa.binary()),
        (pa.binary_view(), pa.binary()),
        (pa.uuid(), pa.binary(16)),
        (pa.decimal32(9, 2), pa.decimal128(9, 2)),
        (pa.decimal64(18, 2), pa.decimal128(18, 2)),
        (pa.dictionary(pa.int32(), pa.large_string()), pa.string()),
        (pa.run_end_encoded(pa.int32(), pa.int64()), pa.int64()),
    ],
)
def test_canonical_types(arrow: pa.DataType, canonical: pa.DataType) -> None:
    assert canonical_type(arrow) == canonical
    assert str(canonical_type(arrow)) == str(canonical)
    assert ShreddingSchema.from_arrow(arrow).type == canonical


@pytest.mark.parametrize(
    ("arrow", "why", "hint"),
    [
        (pa.uint8(), "uint8: it has no unsigned integers", "take smallint"),
        (pa.uint16(), "uint16: it has no unsigned integers", "take int"),
        (pa.uint32(), "uint32: it has no unsigned integers", "take bigint or decimal(20,0)"),
        (pa.uint64(), "uint64: it has no unsigned integers", "take decimal(20,0)"),
        (pa.float16(), "halffloat: its floating-point numbers have 32 or 64 bits", "take float"),
        (pa.timestamp("ms"), "timestamp[ms]: its timestamps are in microseconds or nanoseconds", "take timestamp_ntz"),
        (pa.timestamp("s", "UTC"), "timestamp[s, tz=UTC]: its timestamps are in microseconds or nanoseconds", "take timestamp"),
        (pa.time32("ms"), "time32[ms]: its times are in microseconds", "take time"),
        (pa.time64("ns"), "time64[ns]: its times are in microseconds", "take time"),
        (pa.date64(), "date64[ms]: its dates count days", "take date"),
        (pa.duration("us"), "duration[us]: it has no durations", "take bigint"),
        (pa.binary(4), "fixed_size_binary[4]: its only binary of a fixed length is the uuid of 16 bytes", "take binary"),
        (pa.decimal256(38, 2), "decimal256(38, 2): its decimals have at most 38 digits in 128 bits", "take decimal(38,2)"),
        (pa.decimal256(50, 2), "decimal256(50, 2): its decimals have at most 38 digits in 128 bits", "take double, string or variant"),
        (pa.decimal128(5, -2), "decimal128(5, -2): the scale of its decimals is between 0 and the precision", "take decimal(7,0)"),
        (pa.decimal128(3, 5), "decimal128(3, 5): the scale of its decimals is between 0 and the precision", "take decimal(5,5)"),
        (pa.map_(pa.string(), pa.int8()), "map<string, int8>: it has no maps", "take a struct of the keys that are known, or variant"),
        (pa.sparse_union([]), "sparse_union<>: it has no such type", "take variant, which has no typed_value"),
        (pa.month_day_nano_interval(), "month_day_nano_interval: it has no such type", "take variant, which has no typed_value"),
        (pa.json_(), "extension<arrow.json>: it has no such type", "take string"),
        (pa.bool8(), "extension<arrow.bool8>: it has no such type", "take tinyint"),
        (pa.dictionary(pa.int8(), pa.uint64()), "uint64: it has no unsigned integers", "take decimal(20,0)"),
    ],
)
def test_types_that_are_refused(arrow: pa.DataType, why: str, hint: str) -> None:
    with pytest.raises(SchemaError) as caught:
        ShreddingSchema.from_arrow(pa.struct([("a", pa.list_(arrow))]))
    assert str(caught.value) == (
        f"expected a type of the shredding specification's table for typed_value, got {why} - at $.a[*]. Hint: {hint}"
    )


def test_nested_types_are_no_primitives() -> None:
    for arrow in (pa.struct([]), pa.list_(pa.int8())):
        with pytest.raises(SchemaError, match="it is no primitive type - at .*Hint: objects and arrays are made by ShreddingSchema.object"):
            ShreddingSchema.primitive(arrow)


def test_the_exact_numerics() -> None:
    assert all(map(is_exact, (pa.int8(), pa.int64(), pa.decimal128(3, 2))))
    assert not any(map(is_exact, (pa.float32(), pa.float64(), pa.string(), pa.bool_(), pa.date32())))
    assert common_exact_type(pa.int8(), pa.int64()) == pa.int64()
    assert common_exact_type(pa.int64(), pa.decimal128(19, 19)) == pa.decimal128(38, 19)
    assert common_exact_type(pa.int64(), pa.decimal128(20, 20)) is None
