"""The types a typed_value can have: those of the shredding specification's table, each in one canonical Arrow form.

| Parquet | canonical Arrow | also taken |
|---|---|---|
| BOOLEAN | bool | |
| INT32 INT(8,true), INT(16,true), INT32, INT64 | int8, int16, int32, int64 | |
| FLOAT, DOUBLE | float, double | |
| DECIMAL(P,S), 1 <= P <= 38, 0 <= S <= P | decimal128(P,S) | decimal32, decimal64 |
| DATE | date32 | |
| TIME(false,MICROS) | time64[us] | |
| TIMESTAMP(true,MICROS), (true,NANOS) | timestamp[us, UTC], [ns, UTC] | any other time zone: it is the same instant |
| TIMESTAMP(false,MICROS), (false,NANOS) | timestamp[us], [ns] | |
| BYTE_ARRAY, BYTE_ARRAY STRING | binary, string | large_ and _view |
| FIXED_LEN_BYTE_ARRAY(16) UUID | fixed_size_binary[16] | arrow.uuid |

Dictionary and run-end encoding are ways to lay out a column, not types: what they encode counts.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from varquet.errors import SchemaError
from varquet.schema.walk import Trail, place
from varquet.types import MAX_DECIMAL_DIGITS, PRIMITIVES, Family, sql_name

__all__ = ["canonical_type", "common_exact_type", "is_exact", "is_list", "not_in_table", "unencoded"]

_TABLE: Final = frozenset(kind.arrow for kind in PRIMITIVES if kind.arrow is not None and kind.family is not Family.NULL)
_FOR_UNSIGNED: Final = {8: "smallint", 16: "int", 32: "bigint or decimal(20,0)", 64: "decimal(20,0)"}
_DIGITS: Final = {8: 3, 16: 5, 32: 10, 64: 19}
"""Digits that a decimal needs to hold every integer of so many bits."""


def unencoded(arrow: pa.DataType) -> pa.DataType:
    """The type of the values, whatever encodes them."""
    while pa.types.is_dictionary(arrow) or pa.types.is_run_end_encoded(arrow):
        arrow = arrow.value_type
    return arrow


def is_list(arrow: pa.DataType) -> bool:
    """Whether it is one of Arrow's list types; a map is none."""
    t = pa.types
    return bool(
        t.is_list(arrow) or t.is_large_list(arrow) or t.is_fixed_size_list(arrow) or t.is_list_view(arrow) or t.is_large_list_view(arrow)
    )


def canonical_type(arrow: pa.DataType, at: Trail = None) -> pa.DataType:
    """The canonical form of a type that a typed_value can have; any other is refused with the reason.

    >>> canonical_type(pa.timestamp("us", "Europe/Berlin"))
    TimestampType(timestamp[us, tz=UTC])
    """
    canonical = _canonical(unencoded(arrow))
    if canonical is None:
        raise not_in_table(str(arrow), arrow, at)
    return canonical


def _canonical(arrow: pa.DataType) -> pa.DataType | None:
    if arrow in _TABLE:
        return arrow
    t = pa.types
    if t.is_large_string(arrow) or t.is_string_view(arrow):
        return pa.string()
    if t.is_large_binary(arrow) or t.is_binary_view(arrow):
        return pa.binary()
    if t.is_timestamp(arrow) and arrow.tz and arrow.unit in ("us", "ns"):
        return pa.timestamp(arrow.unit, "UTC")
    if t.is_decimal(arrow):
        fits = arrow.bit_width <= 128 and 0 <= arrow.scale <= arrow.precision
        return pa.decimal128(arrow.precision, arrow.scale) if fits else None
    if isinstance(arrow, pa.BaseExtensionType) and arrow.extension_name == "arrow.uuid":
        return pa.binary(16)
    return None


def not_in_table(name: str, arrow: pa.DataType, at: Trail) -> SchemaError:
    """The error for a type that no typed_value can have: `name` says what was found, the Arrow type says why."""
    why, instead = _objection(unencoded(arrow))
    return SchemaError(
        f"expected a type of the shredding specification's table for typed_value, got {name}: {why}", path=place(at), hint=instead
    )


def _objection(arrow: pa.DataType) -> tuple[str, str]:
    t = pa.types
    if t.is_unsigned_integer(arrow):
        return "it has no unsigned integers", f"take {_FOR_UNSIGNED[arrow.bit_width]}"
    if t.is_float16(arrow):
        return "its floating-point numbers have 32 or 64 bits", "take float"
    if t.is_timestamp(arrow):
        return "its timestamps are in microseconds or nanoseconds", f"take {'timestamp' if arrow.tz else 'timestamp_ntz'}"
    if t.is_time(arrow):
        return "its times are in microseconds", "take time"
    if t.is_date(arrow):
        return "its dates count days", "take date"
    if t.is_duration(arrow):
        return "it has no durations", "take bigint"
    if t.is_decimal(arrow):
        return _decimal_objection(arrow)
    if t.is_fixed_size_binary(arrow):
        return "its only binary of a fixed length is the uuid of 16 bytes", "take binary"
    if t.is_null(arrow):
        return "a null has no type there", "take variant, which has no typed_value"
    if t.is_map(arrow):
        return "it has no maps", "take a struct of the keys that are known, or variant"
    if t.is_struct(arrow) or is_list(arrow):
        return "it is no primitive type", "objects and arrays are made by ShreddingSchema.object, .array or .from_arrow"
    if isinstance(arrow, pa.BaseExtensionType):
        storage = _canonical(arrow.storage_type)
        return "it has no such type", f"take {sql_name(storage) if storage is not None else 'variant'}"
    return "it has no such type", "take variant, which has no typed_value"


def _decimal_objection(arrow: Any) -> tuple[str, str]:
    whole = max(arrow.precision - arrow.scale, 0)
    scale = max(arrow.scale, 0)
    holds = max(whole + scale, 1) <= MAX_DECIMAL_DIGITS
    instead = f"take decimal({max(whole + scale, 1)},{scale})" if holds else "take double, string or variant"
    if not 0 <= arrow.scale <= arrow.precision:
        return "the scale of its decimals is between 0 and the precision", instead
    return f"its decimals have at most {MAX_DECIMAL_DIGITS} digits in 128 bits", instead


def is_exact(arrow: pa.DataType) -> bool:
    """Whether it is an integer or a decimal: the exact numerics, one equivalence class of the encoding specification."""
    return bool(pa.types.is_integer(arrow) or pa.types.is_decimal(arrow))


def common_exact_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The exact numeric that holds every number of both without loss, or None if that takes more than 38 digits.

    >>> common_exact_type(pa.int8(), pa.decimal128(4, 2))
    Decimal128Type(decimal128(5, 2))
    """
    if one == other:
        return one
    if pa.types.is_integer(one) and pa.types.is_integer(other):
        return max(one, other, key=lambda arrow: arrow.bit_width)
    scale = max(_scale(one), _scale(other))
    precision = max(_whole_digits(one), _whole_digits(other)) + scale
    return pa.decimal128(precision, scale) if precision <= MAX_DECIMAL_DIGITS else None


def _scale(arrow: Any) -> int:
    return int(arrow.scale) if pa.types.is_decimal(arrow) else 0


def _whole_digits(arrow: Any) -> int:
    return int(arrow.precision - arrow.scale) if pa.types.is_decimal(arrow) else _DIGITS[arrow.bit_width]
