"""The shredding schema of a Variant column in a Parquet file.

The structure is read from the Arrow schema that pyarrow makes of the file's. The leaf types are not: several Parquet types
that no typed_value may have (INT96, TIME(true), a FIXED_LEN_BYTE_ARRAY(16) that is no UUID, JSON) look like legal ones in
Arrow, so each leaf column is held against the specification's table itself.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from varquet.errors import SchemaError
from varquet.schema.arrow_form import leaf_count, not_binary, read_physical, storage
from varquet.schema.leaf_types import is_list, not_in_table
from varquet.schema.walk import ELEMENT, Event, Step, Trail, place
from varquet.types import MAX_DECIMAL_DIGITS

__all__ = ["any_depth", "read_parquet"]

_DEPTH_LIMIT: Final = 1_000_000
_UNITS: Final = {"milliseconds": "MILLIS", "microseconds": "MICROS", "nanoseconds": "NANOS"}
_DECIMALS: Final = {"INT32": 9, "INT64": 18, "BYTE_ARRAY": MAX_DECIMAL_DIGITS, "FIXED_LEN_BYTE_ARRAY": MAX_DECIMAL_DIGITS}
"""The most digits a decimal has in each physical type."""

_TABLE: Final = {
    "BOOLEAN": pa.bool_(),
    "INT32": pa.int32(),
    "INT32 INT(8,true)": pa.int8(),
    "INT32 INT(16,true)": pa.int16(),
    "INT32 INT(32,true)": pa.int32(),
    "INT32 DATE": pa.date32(),
    "INT64": pa.int64(),
    "INT64 INT(64,true)": pa.int64(),
    "INT64 TIME(false,MICROS)": pa.time64("us"),
    "INT64 TIMESTAMP(true,MICROS)": pa.timestamp("us", "UTC"),
    "INT64 TIMESTAMP(true,NANOS)": pa.timestamp("ns", "UTC"),
    "INT64 TIMESTAMP(false,MICROS)": pa.timestamp("us"),
    "INT64 TIMESTAMP(false,NANOS)": pa.timestamp("ns"),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "BYTE_ARRAY": pa.binary(),
    "BYTE_ARRAY STRING": pa.string(),
    "FIXED_LEN_BYTE_ARRAY(16) UUID": pa.binary(16),
}


@functools.cache
def any_depth() -> dict[str, int]:
    """What makes pyarrow open files with schemas of any depth, where its version knows a limit."""
    import pyarrow.parquet as pq  # not needed by those who only write schemas

    return {"schema_depth_limit": _DEPTH_LIMIT} if "schema_depth_limit" in inspect.signature(pq.ParquetFile).parameters else {}


def read_parquet(source: Any, column: str | Sequence[Step]) -> Iterator[Event]:
    """The walk of the schema of a column of a file, which is named, or reached by names and ELEMENT through structs and lists."""
    import pyarrow.parquet as pq  # not needed by those who only write schemas

    if isinstance(source, pq.ParquetFile):
        yield from _read_open(source, column, "")
        return
    named = f" of {os.fspath(source)}" if isinstance(source, (str, os.PathLike)) else ""
    try:
        file = pq.ParquetFile(source, **any_depth())
    except (pa.ArrowInvalid, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the file system's own words, such as FileNotFoundError; Arrow's have no number
        raise SchemaError(f"expected a Parquet file that pyarrow opens, got{named.removeprefix(' of') or ' bytes'}: {error}") from error
    with file:
        yield from _read_open(file, column, named)


def _read_open(file: Any, column: str | Sequence[Step], named: str) -> Iterator[Event]:
    steps = (column,) if isinstance(column, str) else tuple(column)
    arrow, first = _find(file.schema.to_arrow_schema(), steps, named)
    leaves = _ParquetLeaves(file.schema, first)
    try:
        yield from read_physical(arrow, metadata=True, leaves=leaves)
    except SchemaError as error:
        message = f"{error.message}, in column {_column_name(steps)!r}{named}"
        raise SchemaError(message, path=error.path, hint=error.hint) from None


def _column_name(steps: Sequence[Step]) -> str:
    return ".".join("[*]" if step is ELEMENT else str(step) for step in steps)


def _find(schema: pa.Schema, steps: Sequence[Step], named: str) -> tuple[pa.DataType, int]:
    """The type of the column and the number of leaf columns before it."""
    children: list[tuple[Step, pa.DataType]] = [(field.name, field.type) for field in schema]
    before = 0
    found: pa.DataType | None = None
    for depth, step in enumerate(steps):
        names = [name for name, _ in children]
        if names.count(step) != 1:
            what = f"a column{named}" if depth == 0 else f"a field of column {_column_name(steps[:depth])!r}{named}"
            close = difflib.get_close_matches(str(step), [name for name in names if isinstance(name, str)], n=1)
            count = "are several" if step in names else "is none"
            raise SchemaError(
                f"expected the name of {what}, got {_column_name([step])!r}, of which there {count}",
                hint=f"did you mean {close[0]!r}?" if close and step not in names else None,
            )
        position = names.index(step)
        before += sum(leaf_count(arrow) for _, arrow in children[:position])
        found = children[position][1]
        children = _below(found)
    if found is None:
        raise SchemaError("expected the name of a column, got none")
    return found, before


def _below(arrow: pa.DataType) -> list[tuple[Step, pa.DataType]]:
    plain = storage(arrow)
    if pa.types.is_struct(plain):
        return [(field.name, field.type) for field in plain.fields]
    if pa.types.is_map(plain):
        return [("key", plain.key_type), ("value", plain.item_type)]
    if is_list(plain):
        return [(ELEMENT, plain.value_type)]
    return []


class _ParquetLeaves:
    """The leaf columns of a file from some column on."""

    def __init__(self, schema: Any, first: int) -> None:
        self.schema = schema
        self.next = first

    def take(self) -> Any:
        self.next += 1
        return self.schema.column(self.next - 1)

    def typed_value(self, arrow: pa.DataType, at: Trail) -> pa.DataType:
        if pa.types.is_map(arrow):
            raise not_in_table("a MAP", arrow, at)
        column = self.take()
        name, logical = _parquet_name(column)
        if name in _TABLE:
            return _TABLE[name]
        if logical.get("Type") == "Decimal" and column.precision <= _DECIMALS.get(column.physical_type, 0):
            return pa.decimal128(column.precision, column.scale)
        raise _refused(name, arrow, at)

    def binary(self, arrow: pa.DataType, name: str, at: Trail) -> None:
        if leaf_count(arrow) != 1 or pa.types.is_nested(storage(arrow)):
            raise not_binary(str(arrow), name, at)
        found, _ = _parquet_name(self.take())
        if found != "BYTE_ARRAY":
            raise not_binary(found, name, at)

    def skip(self, arrow: pa.DataType) -> None:
        self.next += leaf_count(arrow)


def _refused(name: str, arrow: pa.DataType, at: Trail) -> SchemaError:
    words = {
        "INT96": ("it has no INT96", "write timestamps as INT64 of microseconds or nanoseconds"),
        "FIXED_LEN_BYTE_ARRAY(16)": ("its only binary of a fixed length is the uuid of 16 bytes", "annotate it as UUID"),
        "INT64 TIME(true,MICROS)": ("its times have no time zone", "write it as TIME(false,MICROS)"),
    }.get(name, ("it has no such type", "") if name.startswith("BYTE_ARRAY") else None)
    if words is None:
        return not_in_table(name, arrow, at)
    why, hint = words
    return SchemaError(
        f"expected a type of the shredding specification's table for typed_value, got {name}: {why}", path=place(at), hint=hint or None
    )


def _parquet_name(column: Any) -> tuple[str, dict[str, Any]]:
    """A leaf column's type in the words of the specification's table, and pyarrow's description of its logical type."""
    physical = column.physical_type
    if physical == "FIXED_LEN_BYTE_ARRAY":
        physical = f"{physical}({column.length})"
    logical: dict[str, Any] = json.loads(column.logical_type.to_json())
    kind = logical["Type"]
    if kind in ("None", "Undefined"):
        return physical, logical
    name = kind.upper()
    if kind == "Int":
        name = f"INT({logical['bitWidth']},{str(logical['isSigned']).lower()})"
    elif kind in ("Time", "Timestamp"):
        name += f"({str(logical['isAdjustedToUTC']).lower()},{_UNITS[logical['timeUnit']]})"
    elif kind == "Decimal":
        name += f"({logical['precision']},{logical['scale']})"
    return f"{physical} {name}", logical
