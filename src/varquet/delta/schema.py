"""The schemas of Delta tables: as JSON in the log, as Arrow here."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import pyarrow as pa

from varquet.columns.arrow import variant_field
from varquet.errors import UnsupportedTypeError
from varquet.layouts.casts import WIDER
from varquet.parquet.positions import is_variant_field

__all__ = ["from_delta", "has_type", "stored_schema", "to_delta", "with_new_columns"]

_NAMES: Final[dict[str, pa.DataType]] = {
    "string": pa.string(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}
_OF_TYPE: Final = {kind: name for name, kind in _NAMES.items()}
# Arrow types that a table keeps as another one, which holds all of their values.
_WIDER: Final = {
    **WIDER,
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
}
_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_VARIANT: Final = "variant"


def to_delta(schema: pa.Schema) -> str:
    """An Arrow schema as JSON for the log."""
    return json.dumps(_struct([_field(field, field.name) for field in schema]), ensure_ascii=False, separators=(",", ":"))


def _struct(fields: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "struct", "fields": fields}


def _field(field: pa.Field, where: str) -> dict[str, Any]:
    return {"name": field.name, "type": _type(field, where), "nullable": field.nullable, "metadata": {}}


def _type(field: pa.Field, where: str) -> Any:
    kind = field.type
    if is_variant_field(field):
        return _VARIANT
    if kind in _OF_TYPE:
        return _OF_TYPE[kind]
    if pa.types.is_decimal128(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_struct(kind):
        return _struct([_field(one, f"{where}.{one.name}") for one in kind])
    if pa.types.is_map(kind):
        item = kind.item_field
        return {
            "type": "map",
            "keyType": _type(kind.key_field, f"{where}.key"),
            "valueType": _type(item, f"{where}.value"),
            "valueContainsNull": item.nullable,
        }
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        item = kind.value_field
        return {"type": "array", "elementType": _type(item, f"{where}.element"), "containsNull": item.nullable}
    raise UnsupportedTypeError(f"expected a type that Delta tables have for column {where!r}, got {kind}", hint="cast it to another type")


def from_delta(text: str) -> pa.Schema:
    """The Arrow schema of a table, by the JSON of its log."""
    return pa.schema([_arrow_field(field, field["name"]) for field in json.loads(text)["fields"]])


def _arrow_field(field: dict[str, Any], where: str) -> pa.Field:
    return _arrow(field["name"], field["type"], bool(field.get("nullable", True)), where)


def _arrow(name: str, kind: Any, nullable: bool, where: str) -> pa.Field:
    if kind == _VARIANT or (isinstance(kind, dict) and kind.get("type") == _VARIANT):
        return variant_field(name, nullable=nullable, shared_metadata=True)
    if isinstance(kind, str):
        found = _NAMES.get(kind)
        digits = _DECIMAL.fullmatch(kind)
        if digits is not None:
            found = pa.decimal128(int(digits[1]), int(digits[2]))
        if found is None:
            raise UnsupportedTypeError(f"expected a type that varquet knows for column {where!r}, got {kind}")
        return pa.field(name, found, nullable)
    if kind["type"] == "struct":
        return pa.field(name, pa.struct([_arrow_field(one, f"{where}.{one['name']}") for one in kind["fields"]]), nullable)
    if kind["type"] == "array":
        element = _arrow("element", kind["elementType"], bool(kind.get("containsNull", True)), f"{where}.element")
        return pa.field(name, pa.list_(element), nullable)
    if kind["type"] == "map":
        key = _arrow("key", kind["keyType"], False, f"{where}.key")
        value = _arrow("value", kind["valueType"], bool(kind.get("valueContainsNull", True)), f"{where}.value")
        return pa.field(name, pa.map_(key, value), nullable)
    raise UnsupportedTypeError(f"expected a type that varquet knows for column {where!r}, got {kind}")


def stored_schema(schema: pa.Schema) -> pa.Schema:
    """A schema with the types that a table has for those of Arrow: what has none of its own becomes a wider one."""
    return pa.schema([_stored(field) for field in schema])


def _stored(field: pa.Field) -> pa.Field:
    kind = field.type
    if is_variant_field(field):
        return field
    return pa.field(field.name, _stored_type(kind), field.nullable)


def _stored_type(kind: pa.DataType) -> pa.DataType:
    if kind in _WIDER:
        return _WIDER[kind]
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if pa.types.is_dictionary(kind):
        return _stored_type(kind.value_type)
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_struct(kind):
        return pa.struct([_stored(one) for one in kind])
    if pa.types.is_map(kind):
        return pa.map_(_stored(kind.key_field), _stored(kind.item_field))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_list_view(kind):
        return pa.list_(_stored(kind.value_field))
    return kind


def has_type(schema_string: str, name: str) -> bool:
    """Whether a type is anywhere in a schema of the log."""
    waiting: list[Any] = [json.loads(schema_string)]
    while waiting:
        kind = waiting.pop()
        if kind == name:
            return True
        if isinstance(kind, dict):
            waiting += [kind[key] for key in ("type", "elementType", "keyType", "valueType") if key in kind]
            waiting += [one["type"] for one in kind.get("fields", ())]
    return False


def with_new_columns(schema_string: str, schema: pa.Schema) -> str:
    """A schema of the log with the columns of another one that it has not got, at the end; they can be null."""
    known = json.loads(schema_string)
    names = {field["name"].lower() for field in known["fields"]}
    added = [_field(field.with_nullable(True), field.name) for field in schema if field.name.lower() not in names]
    return json.dumps({**known, "fields": [*known["fields"], *added]}, ensure_ascii=False, separators=(",", ":"))
