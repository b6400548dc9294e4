"""Variants for the exchange of files with other engines: every type, every kind of document, and the schemas to shred them by."""

from __future__ import annotations

import math
import os
import struct
import uuid
from collections.abc import Iterable, Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

import varquet as vq
from varquet import samples
from varquet.types import BY_NAME
from varquet.variant.encode import encode
from varquet.variant.json_text import parse_json
from varquet.variant.model import NULL, Node, Scalar

__all__ = [
    "ALL_TYPES",
    "BEGINNING_ALIKE",
    "DISTINCT",
    "DOCUMENTS",
    "DOCUMENT_SCHEMAS",
    "EDGE_KEYS",
    "EDGE_KEY_DOCUMENTS",
    "EVENT_SCHEMA",
    "SCALARS",
    "SHAPES",
    "column_of",
    "different_rows",
    "encodings_of",
    "event_lines",
    "nested_table",
    "positions",
    "table_of",
    "variants_of",
]


def _of(name: str, *payloads: object) -> list[Scalar]:
    return [Scalar(BY_NAME[name], payload) for payload in payloads]  # type: ignore[arg-type]


def _single(number: float) -> float:
    rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return rounded


_MICROS = (0, 1, -1, 1_700_000_000_123_456, -62_135_596_800_000_000, 253_402_300_799_999_999, 2**63 - 1, -(2**63))
_NANOS = (0, 1, -1, 1_700_000_000_123_456_789, -9_000_000_000_000_000_000, 2**63 - 1, -(2**63))
_FLOATING = (0.0, -0.0, 1.0, -1.5, 0.1, math.pi, math.nan, math.inf, -math.inf)

SCALARS: dict[str, list[Scalar]] = {
    "null": [NULL],
    "boolean": [*_of("true", True), *_of("false", False)],
    "int8": _of("int8", 0, 1, -1, 127, -128),
    "int16": _of("int16", 5, 128, -129, 32767, -32768),
    "int32": _of("int32", -7, 32768, 2**31 - 1, -(2**31)),
    "int64": _of("int64", 100, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)),
    "decimal4": _of("decimal4", *map(Decimal, ("0", "0.00", "1.10", "-1.5", "100.00", "0.000000001", "999999999", "-9999999.99"))),
    "decimal8": _of("decimal8", *map(Decimal, ("7", "1.10", "0.000000000000000001", "999999999999999999", "-1234567890.12345678"))),
    "decimal16": _of(
        "decimal16",
        *map(Decimal, ("3", "1.10", "-0.01", "9" * 38, "-" + "9" * 38, "0." + "9" * 38, "0." + "0" * 37 + "1", "12345678901234567890.5")),
    ),
    "float": _of("float", *map(_single, (*_FLOATING, 3.4028234663852886e38, 2.0**-149))),
    "double": _of("double", *_FLOATING, 1.7976931348623157e308, 5e-324, 1e16, 123456789.0),
    "date": _of("date", 0, 1, -1, 20_000, -719_162, 2_932_896, 2_932_897, -719_529, 2**31 - 1, -(2**31)),
    "time": _of("time", 0, 1, 45_296_123_456, 86_399_999_999),
    "timestamp": _of("timestamp", *_MICROS),
    "timestamp_ntz": _of("timestamp_ntz", *_MICROS),
    "timestamp_nanos": _of("timestamp_nanos", *_NANOS),
    "timestamp_ntz_nanos": _of("timestamp_ntz_nanos", *_NANOS),
    "uuid": _of("uuid", uuid.UUID("f24f9b64-81fa-49d1-b74e-8c09a6e31c56"), uuid.UUID(int=0), uuid.UUID(int=2**128 - 1)),
    "binary": _of("binary", b"", b"\0", b"\xff\xfe not text", b"x" * 70_000),
    "string": _of(
        "string", "", "a", "x" * 63, "x" * 64, "x" * 70_000, "é" * 32, "\U0001f600 日本", 'say "\\" \n\t\0 \x1f \x7f', "123", "null"
    ),
}
"""Values of every type, at the edges of each, also in a wider type than they need."""

ALL_TYPES = (
    "boolean", "tinyint", "smallint", "int", "bigint", "decimal(9,2)", "decimal(18,9)", "decimal(38,2)", "decimal(38,38)", "float",
    "double", "date", "time", "timestamp", "timestamp_ntz", "timestamp_nanos", "timestamp_ntz_nanos", "uuid", "binary", "string",
)  # fmt: skip
"""Every type that a typed_value may have, by its SQL name; decimals in each of their three storages."""

DISTINCT: dict[str, list[Scalar]] = {
    "tinyint": _of("int8", *range(-100, 100)),
    "smallint": _of("int16", *range(-30_000, 30_000, 300)),
    "int": _of("int32", *range(-(2**31), 2**31, 2**32 // 200)),
    "bigint": _of("int64", *range(-(2**63), 2**63, 2**64 // 200)),
    "decimal(9,2)": _of("decimal4", *(Decimal(f"{number * 4_999}E-2") for number in range(200))),
    "decimal(18,9)": _of("decimal8", *(Decimal(f"{number * 10**15 - 7}E-9") for number in range(200))),
    "decimal(38,2)": _of("decimal16", *(Decimal(f"{number * 10**35 - 7}E-2") for number in range(200))),
    "float": _of("float", *(number / 4 for number in range(200))),
    "double": _of("double", *(number / 3 for number in range(200))),
    "date": _of("date", *range(-719_162, 2_932_896, 20_000)),
    "timestamp": _of("timestamp", *range(-60_000 * 10**12, 250_000 * 10**12, 1_500 * 10**12)),
    "timestamp_ntz": _of("timestamp_ntz", *range(-60_000 * 10**12, 250_000 * 10**12, 1_500 * 10**12)),
    "binary": _of("binary", *(bytes([number]) * number for number in range(200))),
    "string": _of("string", *(f"{number}é" * (number % 7) + str(number) for number in range(200))),
}
"""Many different values of a type that all engines share, so that the writer chooses another encoding than a dictionary for them."""

BEGINNING_ALIKE: list[Scalar] = _of("string", *(f"2026-01-01T00:{number // 60:02}:{number % 60:02}é" for number in range(300)))
"""Texts in order, for which the writer stores what they do not share with the one before."""

EDGE_KEYS = (
    "", ".", "a.b", "value", "typed_value", "metadata", "list", "element", "key_value", "_x", "A", "a", "é", "\ue000", "\U0001f600",
    "k" * 300, "with space", "`tick`", '"quote"', "$", "[0]", "\t",
)  # fmt: skip
"""Names that are empty, look like paths or columns, differ in case only, or sort differently in UTF-16 than in UTF-8."""

_ONE = Scalar(BY_NAME["int8"], 1)


def _edge_key_documents() -> list[Node]:
    documents: list[Node] = [dict.fromkeys(EDGE_KEYS, _ONE)]
    for key in EDGE_KEYS:
        documents += [{key: Scalar(BY_NAME["string"], "text")}, {key: NULL}, {"outer": {key: [{key: _ONE}]}}]
    return documents


EDGE_KEY_DOCUMENTS = _edge_key_documents()


def _deep(levels: int) -> Node:
    node: Node = _ONE
    for level in range(levels):
        node = {"d": node} if level % 2 else [node, _ONE]
    return node


def _deep_ddl(levels: int) -> str:
    ddl = "int"
    for level in range(levels):
        ddl = f"struct<d: {ddl}>" if level % 2 else f"array<{ddl}>"
    return ddl


SHAPES: dict[str, tuple[list[Node], tuple[str, ...]]] = {
    "wide objects": (
        [{f"k{field:04}": _ONE for field in range(fields)} for fields in (31, 32, 33, 255, 256, 257, 1000)],
        ("variant", "k0001 int, k0255 string, k0300 bigint", "array<int>"),
    ),
    "long arrays": ([[_ONE] * length for length in (0, 255, 256, 257, 33_000)], ("variant", "array<int>", "array<string>")),
    "deep": ([_deep(levels) for levels in (1, 10, 60)], ("variant", _deep_ddl(30))),
}
"""Values at the edges of the encoding's widths, with the schemas to shred them by."""

DOCUMENTS: dict[str, list[str | None]] = {
    "nested": [
        '{"id":1,"user":{"name":"Ada","geo":{"lat":52.5,"lon":13.4}},"tags":["x","y"],"items":[{"sku":"a","qty":1},{"sku":"b","qty":2}]}',
        '{"id":2,"user":{"name":"Bob","geo":{"lat":1.0,"lon":-0.5,"alt":3}},"tags":[],"items":[{"sku":"c","qty":3,"extra":[1,{"deep":true}]}]}',
        '{"id":3,"user":{"name":"Eve"},"items":[]}',
        '{"id":4,"user":{"geo":{}},"tags":["z"],"items":[{}],"more":{"a":{"b":{"c":{"d":[[[1]]]}}}}}',
    ],
    "conflicting": [
        '{"id":"one","user":"Ada","tags":"x","items":{"sku":"a"}}',
        '{"id":1.5,"user":["Ada"],"tags":[1,"x",null,{"t":2},["n"]],"items":[1,{"sku":2,"qty":"3"},null,[{"sku":"n"}]]}',
        '{"id":1.50,"user":{"name":{"first":"A"},"geo":[52.5,13.4]},"tags":{"x":1},"items":"none"}',
        '{"id":true,"user":{"name":7,"geo":{"lat":"52.5","lon":1e1}},"tags":[["a"],[]],"items":[[],{},"x"]}',
        '{"id":99999999999999999999,"user":1,"tags":1e5,"items":-0.0}',
        "[]", "[1,2]", '"text"', "17", "2.50", "false", "{}",
    ],
    "null-heavy": [
        None, "null", '{"id":null,"user":null,"tags":null,"items":null}', "{}",
        '{"id":5,"user":{"name":null,"geo":null},"tags":[null,null],"items":[null,{"sku":null,"qty":null},{}]}',
        None, '{"user":{"geo":{"lat":null,"lon":null}}}', '{"other":null}', "[null]", None,
        '{"user":{}}', '{"tags":[]}', '{"items":[{"sku":null}]}', '{"unknown":{"a":null,"b":[null]},"user":{"unknown":null}}',
    ],
}  # fmt: skip

DOCUMENT_SCHEMAS = {
    "unshredded": "variant",
    "object": "id bigint, user struct<name: string, geo: struct<lat: decimal(9,4), lon: double>>, tags array<string>, "
    "items array<struct<sku: string, qty: int>>",
    "value only": "id variant, user struct<name: variant, geo: variant>, tags array<variant>, items array<struct<sku: variant>>",
    "other types": "id decimal(38,2), user string, tags array<array<string>>, items struct<sku: string>, unknown struct<a: int>",
    "root array": "array<struct<id: int>>",
    "root primitive": "string",
    "nothing matches": "absent timestamp, gone struct<x: array<struct<y: binary>>>",
}
"""Schemas that fit the documents well, in part and not at all."""

EVENT_SCHEMA = (
    "id bigint, ts string, type string, session string, amount decimal(12,2), score decimal(9,4), "
    "user struct<id: bigint, name: string, email: string, plan: string, "
    "geo: struct<lat: decimal(9,4), lon: decimal(9,4), country: string>>, "
    "device struct<os: string, ver: string>, items array<struct<sku: string, qty: int, price: decimal(9,2)>>, tags array<string>, "
    "flags struct<beta: boolean>, payload variant"
)


def event_lines(rows: int) -> list[str]:
    """Sample events as JSON text."""
    return [line.decode() for line in samples.generate("events", rows)]


def positions(scalars: Iterable[Scalar]) -> list[Node]:
    """Each scalar as it is, as a field, as an element, and deep inside; so that every kind of place holds every type."""
    nodes: list[Node] = []
    for scalar in scalars:
        nodes += [scalar, {"x": scalar}, [scalar], {"y": scalar, "x": [{"x": scalar}, scalar]}]
    return nodes


def column_of(values: Sequence[Node | str | None]) -> pa.StructArray:
    """A variant column of nodes, JSON texts and SQL NULLs, by the readable reference encoder."""
    made = [None if value is None else encode(parse_json(value) if isinstance(value, str) else value) for value in values]
    return pa.array([None if one is None else {"metadata": one[0], "value": one[1]} for one in made], vq.VARIANT)


def table_of(**columns: pa.Array) -> pa.Table:
    """A table of variant columns, with a `row` to sort by."""
    rows = len(next(iter(columns.values())))
    schema = pa.schema([pa.field("row", pa.int32(), nullable=False), *(vq.variant_field(name) for name in columns)])
    return pa.table([pa.array(range(rows), pa.int32()), *columns.values()], schema=schema)


def nested_table(values: Sequence[Node | str | None]) -> pa.Table:
    """The values as variants inside a struct, a list and a map; lists of two, none and one."""
    column = column_of(values)
    rows = len(column)
    struct_type = pa.struct([pa.field("a", pa.int32()), vq.variant_field("b")])
    in_struct = pa.StructArray.from_arrays([pa.array(range(rows), pa.int32()), column], fields=list(struct_type))
    # Rows 0 and 1 stand in the first list, the second is empty, then one each.
    offsets = pa.array([0, 2, *range(2, rows + 1)], pa.int32())
    in_list = pa.ListArray.from_arrays(offsets, column, type=pa.list_(vq.variant_field("element")))
    keys = pa.array([f"key {row}" for row in range(rows)])
    in_map = pa.MapArray.from_arrays(offsets, keys, column, type=pa.map_(pa.string(), vq.variant_field("value")))
    return pa.table({"row": pa.array(range(rows), pa.int32()), "s": in_struct, "l": in_list, "m": in_map})


def variants_of(column: pa.Array | pa.ChunkedArray) -> list[vq.Variant | None]:
    """The rows of a variant column, its children found by name; an SQL NULL is None."""
    return [None if row is None else vq.Variant(row["metadata"], row["value"]) for row in column.to_pylist()]


def different_rows(got: pa.Array | pa.ChunkedArray, expected: pa.Array | pa.ChunkedArray) -> list[str]:
    """The rows that do not mean the same, for people; SQL NULL, Variant null and missing are different things."""
    pairs = zip(variants_of(got), variants_of(expected), strict=True)
    return [f"row {row}: got {left!r}, expected {right!r}" for row, (left, right) in enumerate(pairs) if left != right]


def encodings_of(path: str | os.PathLike[str]) -> set[str]:
    """The encodings of all column chunks of a Parquet file."""
    footer = pq.ParquetFile(path).metadata
    groups = [footer.row_group(group) for group in range(footer.num_row_groups)]
    return {encoding for group in groups for column in range(group.num_columns) for encoding in group.column(column).encodings}
