"""The one table of Variant types: encoding tag, equivalence class, and the same type in Arrow, Parquet and SQL.

Everything that needs to know a tag, a width or a type's name reads it here. Names and numbers are those of the Parquet
Variant encoding specification; SQL names are Spark's.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from varquet.errors import UnsupportedTypeError

__all__ = [
    "BASIC_ARRAY",
    "BASIC_OBJECT",
    "BASIC_PRIMITIVE",
    "BASIC_SHORT_STRING",
    "BY_NAME",
    "BY_TAG",
    "MAX_DECIMAL_DIGITS",
    "PRIMITIVES",
    "Family",
    "PrimitiveType",
    "arrow_type_of_sql",
    "decimal_type_for_digits",
    "integer_type_for",
    "sql_name",
]

# The two low bits of a value's first byte.
BASIC_PRIMITIVE: Final = 0
BASIC_SHORT_STRING: Final = 1
BASIC_OBJECT: Final = 2
BASIC_ARRAY: Final = 3

SHORT_STRING_MAX: Final = 63
MAX_DECIMAL_DIGITS: Final = 38


class Family(enum.Enum):
    """An equivalence class of the encoding spec: values of one family compare by value, whatever their width."""

    NULL = "null"
    BOOLEAN = "boolean"
    EXACT = "exact numeric"
    FLOAT = "float"
    DOUBLE = "double"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp_ntz"
    BINARY = "binary"
    STRING = "string"
    UUID = "uuid"


@dataclass(frozen=True, slots=True)
class PrimitiveType:
    """One primitive type: its name, the tag in a value's header, and its equivalents elsewhere."""

    name: str
    tag: int
    family: Family
    width: int
    """Bytes after the header; for decimals with the scale byte; -1 where a 4-byte length comes first."""
    arrow: pa.DataType | None
    """The Arrow type of a column of such values; None for decimals, whose type depends on precision and scale."""
    parquet: str
    sql: str

    def __repr__(self) -> str:
        return f"PrimitiveType({self.name!r})"


_F = Family
PRIMITIVES: Final[tuple[PrimitiveType, ...]] = (
    PrimitiveType("null", 0, _F.NULL, 0, pa.null(), "", "void"),
    PrimitiveType("true", 1, _F.BOOLEAN, 0, pa.bool_(), "BOOLEAN", "boolean"),
    PrimitiveType("false", 2, _F.BOOLEAN, 0, pa.bool_(), "BOOLEAN", "boolean"),
    PrimitiveType("int8", 3, _F.EXACT, 1, pa.int8(), "INT32 INT(8,true)", "tinyint"),
    PrimitiveType("int16", 4, _F.EXACT, 2, pa.int16(), "INT32 INT(16,true)", "smallint"),
    PrimitiveType("int32", 5, _F.EXACT, 4, pa.int32(), "INT32", "int"),
    PrimitiveType("int64", 6, _F.EXACT, 8, pa.int64(), "INT64", "bigint"),
    PrimitiveType("double", 7, _F.DOUBLE, 8, pa.float64(), "DOUBLE", "double"),
    PrimitiveType("decimal4", 8, _F.EXACT, 5, None, "INT32 DECIMAL(P,S)", "decimal"),
    PrimitiveType("decimal8", 9, _F.EXACT, 9, None, "INT64 DECIMAL(P,S)", "decimal"),
    PrimitiveType("decimal16", 10, _F.EXACT, 17, None, "FIXED_LEN_BYTE_ARRAY DECIMAL(P,S)", "decimal"),
    PrimitiveType("date", 11, _F.DATE, 4, pa.date32(), "INT32 DATE", "date"),
    PrimitiveType("timestamp", 12, _F.TIMESTAMP, 8, pa.timestamp("us", "UTC"), "INT64 TIMESTAMP(true,MICROS)", "timestamp"),
    PrimitiveType("timestamp_ntz", 13, _F.TIMESTAMP_NTZ, 8, pa.timestamp("us"), "INT64 TIMESTAMP(false,MICROS)", "timestamp_ntz"),
    PrimitiveType("float", 14, _F.FLOAT, 4, pa.float32(), "FLOAT", "float"),
    PrimitiveType("binary", 15, _F.BINARY, -1, pa.binary(), "BYTE_ARRAY", "binary"),
    PrimitiveType("string", 16, _F.STRING, -1, pa.string(), "BYTE_ARRAY STRING", "string"),
    PrimitiveType("time", 17, _F.TIME, 8, pa.time64("us"), "INT64 TIME(false,MICROS)", "time"),
    PrimitiveType("timestamp_nanos", 18, _F.TIMESTAMP, 8, pa.timestamp("ns", "UTC"), "INT64 TIMESTAMP(true,NANOS)", "timestamp_nanos"),
    PrimitiveType(
        "timestamp_ntz_nanos", 19, _F.TIMESTAMP_NTZ, 8, pa.timestamp("ns"), "INT64 TIMESTAMP(false,NANOS)", "timestamp_ntz_nanos"
    ),
    PrimitiveType("uuid", 20, _F.UUID, 16, pa.binary(16), "FIXED_LEN_BYTE_ARRAY(16) UUID", "uuid"),
)  # fmt: skip

BY_TAG: Final[dict[int, PrimitiveType]] = {t.tag: t for t in PRIMITIVES}
BY_NAME: Final[dict[str, PrimitiveType]] = {t.name: t for t in PRIMITIVES}

_INTEGERS: Final = tuple(BY_NAME[name] for name in ("int8", "int16", "int32", "int64"))


def integer_type_for(number: int) -> PrimitiveType | None:
    """The narrowest integer type that holds this number, or None if 64 bits are too few."""
    for candidate in _INTEGERS:
        if -(1 << (8 * candidate.width - 1)) <= number < 1 << (8 * candidate.width - 1):
            return candidate
    return None


def decimal_type_for_digits(digits: int) -> PrimitiveType | None:
    """The decimal type for an unscaled value of so many digits, or None above 38."""
    if digits <= 9:
        return BY_NAME["decimal4"]
    if digits <= 18:
        return BY_NAME["decimal8"]
    if digits <= MAX_DECIMAL_DIGITS:
        return BY_NAME["decimal16"]
    return None


_SQL_ALIASES: Final = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "bool": "boolean",
    "text": "string",
    "varchar": "string",
    "timestamp_ltz": "timestamp",
    "dec": "decimal",
    "numeric": "decimal",
}
_BY_SQL: Final = {t.sql: t for t in PRIMITIVES if t.arrow is not None and t.family is not Family.NULL}
_DECIMAL: Final = re.compile(r"decimal\s*(?:\(\s*([0-9]{1,9})\s*(?:,\s*([0-9]{1,9})\s*)?\))?")


def arrow_type_of_sql(text: str) -> pa.DataType:
    """The Arrow type named by a SQL type such as `bigint`, `decimal(10, 2)` or `timestamp_ntz`.

    >>> arrow_type_of_sql("bigint")
    DataType(int64)
    """
    if not isinstance(text, str):
        raise UnsupportedTypeError(f"expected the SQL name of a primitive type, got {type(text).__qualname__} {text!r}")
    name = text.strip().lower()
    head, bracket, tail = name.partition("(")
    name = _SQL_ALIASES.get(head.strip(), head.strip()) + bracket + tail
    if name in _BY_SQL:
        return _BY_SQL[name].arrow
    if decimal := _DECIMAL.fullmatch(name):
        precision = int(decimal[1] or 10)
        scale = int(decimal[2] or 0)
        if 1 <= precision <= MAX_DECIMAL_DIGITS and scale <= precision:
            return pa.decimal128(precision, scale)
        raise UnsupportedTypeError(
            f"expected a decimal of 1 to {MAX_DECIMAL_DIGITS} digits with no more of them behind the point, got {text.strip()!r}"
        )
    raise UnsupportedTypeError(
        f"expected the SQL name of a primitive type, got {text!r}",
        hint="the names are " + ", ".join(sorted({*_BY_SQL, "decimal(p,s)"})),
    )


def sql_name(arrow: pa.DataType) -> str:
    """The SQL name of an Arrow type, for messages and schemas people read."""
    if pa.types.is_decimal(arrow):
        return f"decimal({arrow.precision},{arrow.scale})"
    for primitive in _BY_SQL.values():
        if primitive.arrow == arrow:
            return primitive.sql
    return str(arrow)
