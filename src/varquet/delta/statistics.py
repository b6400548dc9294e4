"""The statistics of a file in a table's log: made of the footer of a finished file, and read as far as they can be understood.

    {"numRecords": 3,
     "nullCount": {"id": 0, "place": {"city": 1}, "v": 1},
     "minValues": {"id": 1, "place": {"city": "Bonn"}, "v": "<Z85>"},
     "maxValues": {"id": 9, "place": {"city": "Ulm"}, "v": "<Z85>"}}

Of a Variant column the bounds are one Variant object, keyed by normalized paths: `{"$['a']": 1, "$['b']['c']": "x"}`. A path is there
if every row of the file has it as the one type of its typed column, or has it not: if the `value` beside it is null throughout.

Bounds are left out where they could be wrong. Statistics in a footer pass over NaN, which readers take for the largest number: of
floating point there is a lower bound only. How many are null is counted by definition levels: the null counts that pyarrow writes
beside them miss the nulls of a group around a column that it writes from a dictionary, such as the metadata of Variants.
"""

from __future__ import annotations

import datetime
import itertools
import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from varquet.delta.z85 import decode_variant, encode_variant
from varquet.errors import ParquetError, SchemaError, VarquetError
from varquet.parquet.elements import SchemaElement
from varquet.parquet.files import DataFile
from varquet.parquet.positions import Position, is_variant_field
from varquet.parquet.thrift import Struct
from varquet.paths import Path
from varquet.schema import ShreddingSchema
from varquet.types import BY_NAME
from varquet.variant import Node, Scalar, Variant, encode
from varquet.variant.decimals import decimal_of

__all__ = ["FileStatistics", "Indexing", "statistics_of"]

Column: TypeAlias = tuple[str, ...]

_STATS_COLUMNS: Final = "delta.dataSkippingStatsColumns"
_INDEXED_COLUMNS: Final = "delta.dataSkippingNumIndexedCols"
_INDEXED: Final = 32
_PART: Final = r"`(?:[^`]|``)+`|[^\s`.,]+"
_NAME: Final = re.compile(rf"\s*((?:{_PART})(?:\s*\.\s*(?:{_PART}))*)\s*(?:,(?=\s*\S)|$)")

# Texts are cut behind so many characters, upper bounds behind so many at most.
_CUT: Final = 32
_LAST_CUT: Final = 64
_LAST_CHARACTER: Final = "\U0010ffff"

_EPOCH: Final = datetime.datetime(1970, 1, 1)
_PER_MILLISECOND: Final = {"ms": 1, "us": 1_000, "ns": 1_000_000}

# Fields of the structs of a footer.
_ROW_GROUPS, _GROUP_COLUMNS, _CHUNK_METADATA, _META_SIZES, _DEFINITION_LEVELS = 4, 1, 3, 16, 3


@dataclass(frozen=True, slots=True)
class Indexing:
    """Which columns of a table its statistics are of."""

    count: int = _INDEXED
    """The first so many leaf columns; -1 is all. A Variant, a list and a map are one each."""
    names: tuple[Column, ...] | None = None
    """These columns, and all within them, however many they are."""

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Indexing:
        """What the properties of a table say; the names of columns go before their number.

        >>> Indexing.of({"delta.dataSkippingStatsColumns": "id, place.city, `a.b`"}).names
        (('id',), ('place', 'city'), ('a.b',))
        """
        if _STATS_COLUMNS in properties:
            return cls(names=tuple(_names(properties[_STATS_COLUMNS])))
        text = properties.get(_INDEXED_COLUMNS, str(_INDEXED)).strip()
        if not re.fullmatch(r"-1|\+?[0-9]{1,10}", text):
            raise SchemaError(f"expected a number of columns from -1 on as {_INDEXED_COLUMNS}, got {text!r}")
        return cls(int(text))

    def columns(self, schema: pa.Schema, variants: Collection[Position] = ()) -> list[Column]:
        """The leaf columns of a schema that statistics are of; `variants` are Variants that their fields do not say to be."""
        wanted = None if self.names is None else [tuple(part.lower() for part in name) for name in self.names]
        found: list[Column] = []
        waiting: list[tuple[Column, pa.Field]] = [((one.name,), one) for one in reversed(list(schema))]
        while waiting and (wanted is not None or self.count < 0 or len(found) < self.count):
            column, one = waiting.pop()
            if pa.types.is_struct(one.type) and not is_variant_field(one) and column not in variants:
                waiting += [((*column, child.name), child) for child in reversed(list(one.type))]
            elif wanted is None or _is_within(column, wanted):
                found.append(column)
        return found


def _names(text: str) -> Iterator[Column]:
    at = 0
    while text[at:].strip():
        found = _NAME.match(text, at)
        if found is None:
            raise SchemaError(
                f"expected names of columns as {_STATS_COLUMNS}, got {text!r}",
                hint="write a, b.c, and others between backticks: `a b`.`c.d`",
            )
        yield tuple(part[1:-1].replace("``", "`") if part[0] == "`" else part for part in re.findall(_PART, found[1]))
        at = found.end()


def _is_within(column: Column, names: Collection[Column]) -> bool:
    lowered = tuple(part.lower() for part in column)
    return any(lowered[: len(name)] == name for name in names)


def statistics_of(file: DataFile, schema: pa.Schema, shredded: Mapping[Position, ShreddingSchema], indexing: Indexing) -> str:
    """The statistics of a finished file as the log has them, from its footer alone.

    Args:
        file: the file, in the layout of the standard.
        schema: its columns, with Variants as such; not those it is partitioned by.
        shredded: the shredding schema of each Variant column, as `FileWriter.shredded` has them.
        indexing: which columns are looked at.
    """
    leaves = _Leaves(file)
    counts: dict[str, Any] = {}
    lows: dict[str, Any] = {}
    highs: dict[str, Any] = {}
    for column in indexing.columns(schema, shredded):
        if column in shredded:
            nulls = leaves.nulls_of_group((*column, "metadata"))
            low, high = _variant_bounds(leaves, column, shredded[column])
        else:
            nulls = leaves.nulls(column)
            low, high = _column_bounds(leaves, column)
        for tree, value in ((counts, nulls), (lows, low), (highs, high)):
            if value is not None:
                _put(tree, column, value)
    named = {"numRecords": leaves.rows, "minValues": lows, "maxValues": highs, "nullCount": counts}
    return _json({name: value for name, value in named.items() if value != {}})


def _put(tree: dict[str, Any], column: Column, value: Any) -> None:
    for name in column[:-1]:
        tree = tree.setdefault(name, {})
    tree[column[-1]] = value


def _json(value: Any) -> str:
    """The text of a value; decimals keep all of their digits."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{_json(inner)}" for name, inner in value.items()) + "}"
    return format(value, "f") if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False, allow_nan=False)


def _column_bounds(leaves: _Leaves, column: Column) -> tuple[Any, Any]:
    kind, low, high = leaves.bounds(column)
    if kind is None:
        return None, None
    return _json_value(low, kind), _json_value(high, kind)


def _json_value(bound: Any, kind: pa.DataType) -> Any:
    """A bound as JSON has it: moments cut to milliseconds, those of years that a reader may not know left out."""
    if bound is None or (isinstance(bound, float) and math.isinf(bound)):
        return None
    if pa.types.is_decimal(kind):
        return decimal_of(bound, kind.scale)
    try:
        if pa.types.is_date(kind):
            return (_EPOCH + datetime.timedelta(days=bound)).date().isoformat()
        if pa.types.is_timestamp(kind):
            moment = _EPOCH + datetime.timedelta(milliseconds=bound // _PER_MILLISECOND[kind.unit])
            return moment.isoformat(timespec="milliseconds") + ("" if kind.tz is None else "Z")
    except OverflowError:
        return None
    return bound


def _variant_bounds(leaves: _Leaves, column: Column, schema: ShreddingSchema) -> tuple[str | None, str | None]:
    lows: dict[str, Node] = {}
    highs: dict[str, Node] = {}
    for steps, leaf in schema.leaves():
        names = [step for step in steps if isinstance(step, str)]
        if leaf.type is None or len(names) < len(steps):
            continue  # value only, or within an array
        group = (*column, *(name for step in names for name in ("typed_value", step)))
        if not leaves.holds_nothing((*group, "value")):
            continue
        typed = (*group, "typed_value")
        kind, low, high = leaves.bounds(typed)
        for bounds, bound in ((lows, low), (highs, high)):
            scalar = None if kind is None or bound is None else _scalar(bound, kind, leaves.physical_type(typed))
            if scalar is not None:
                bounds[str(Path(tuple(names)))] = scalar
    return _encoded(lows), _encoded(highs)


def _encoded(bounds: dict[str, Node]) -> str | None:
    return encode_variant(*encode(bounds)) if bounds else None


_DECIMALS: Final = {"INT32": "decimal4", "INT64": "decimal8", "FIXED_LEN_BYTE_ARRAY": "decimal16"}
_VARIANT_TYPES: Final = {
    BY_NAME[name].arrow: BY_NAME[name]
    for name in (
        *("int8", "int16", "int32", "int64", "float", "double", "string", "date"),
        *("timestamp", "timestamp_ntz", "timestamp_nanos", "timestamp_ntz_nanos"),
    )
}


def _scalar(bound: Any, kind: pa.DataType, physical: str | None) -> Scalar | None:
    """A bound as a Variant of the type that its column has; None where a Variant has none."""
    if pa.types.is_decimal(kind):
        return Scalar(BY_NAME[_DECIMALS[physical or ""]], decimal_of(bound, kind.scale))
    found = _VARIANT_TYPES.get(kind)
    return None if found is None else Scalar(found, bound)


class _Leaves:
    """The leaf columns of a file by the names that lead to them, and what its footer says of all their row groups."""

    def __init__(self, file: DataFile) -> None:
        metadata = file.metadata()
        self.rows = int(metadata.num_rows)
        self.groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
        self.footer = file.footer()
        self.walks: list[tuple[Iterator[Struct], list[Struct]]] | None = None
        # Arrow's writer is the one whose null counts may be too small.
        self.believes_counts = "parquet-cpp" not in (metadata.created_by or "")
        self.leaves: dict[Column, tuple[int, SchemaElement, int]] = {}
        waiting: list[tuple[Column, SchemaElement, int]] = [((), self.footer.schema, 0)]
        count = 0
        while waiting:
            path, element, levels = waiting.pop()
            levels += element.repetition in ("OPTIONAL", "REPEATED")
            if element.is_group:
                waiting += [((*path, child.name), child, levels) for child in reversed(element.children)]
            else:
                self.leaves[path] = count, element, levels
                count += 1

    def physical_type(self, path: Column) -> str | None:
        return self.leaves[path][1].physical_type

    def nulls(self, path: Column) -> int | None:
        """How many values of a column are null, itself or a group around it; None if that is not certain."""
        if path not in self.leaves:
            return None
        leaf, _, levels = self.leaves[path]
        if not levels:
            return 0
        counts = [self._nulls(group, leaf, levels) for group in range(len(self.groups))]
        return None if None in counts else sum(count for count in counts if count is not None)

    def nulls_of_group(self, path: Column) -> int | None:
        """How often the group around a column is null, which must have a value wherever the group is there."""
        return self.nulls(path) if path in self.leaves and self.leaves[path][1].repetition == "REQUIRED" else None

    def _nulls(self, group: int, leaf: int, levels: int) -> int | None:
        chunk = self.groups[group].column(leaf)
        held = self._held(group, leaf, levels)
        if held is not None:
            return int(chunk.num_values) - held
        statistics = chunk.statistics
        is_counted = self.believes_counts and statistics is not None and statistics.has_null_count
        return int(statistics.null_count) if is_counted else None

    def _held(self, group: int, leaf: int, levels: int) -> int | None:
        """How many values there are by the histogram of definition levels, if the footer has one."""
        try:
            metadata = self._chunk(group, leaf).struct(_CHUNK_METADATA)
            sizes = None if metadata is None else metadata.struct(_META_SIZES)
            histogram = None if sizes is None else sizes.integers(_DEFINITION_LEVELS)
        except (ParquetError, IndexError):
            return None
        if histogram is None or len(histogram) != levels + 1 or sum(histogram) != self.groups[group].column(leaf).num_values:
            return None
        return histogram[levels]

    def _chunk(self, group: int, leaf: int) -> Struct:
        """A column chunk as the footer has it; those behind it are not walked over."""
        if self.walks is None:
            self.walks = [(found.structs(_GROUP_COLUMNS), []) for found in self.footer.whole.structs(_ROW_GROUPS)]
        walk, chunks = self.walks[group]
        chunks += itertools.islice(walk, max(0, leaf + 1 - len(chunks)))
        return chunks[leaf]

    def holds_nothing(self, path: Column) -> bool:
        """Whether it is certain that a column is there and holds nothing but nulls."""
        return path in self.leaves and all(_is_empty(group.column(self.leaves[path][0])) for group in self.groups)

    def bounds(self, path: Column) -> tuple[pa.DataType | None, Any, Any]:
        """The type of a column's bounds, or None if it gets none, and both of them, each None if it is not known.

        Integers, decimals without their point, days and moments are integers, as the file has them.
        """
        if path not in self.leaves:
            return None, None, None
        leaf, element, _ = self.leaves[path]
        kind = _bounded_type(element)
        found: list[tuple[Any, Any]] = []
        for chunk in [] if kind is None else [group.column(leaf) for group in self.groups]:
            bounds = _raw_bounds(chunk.statistics)
            if bounds is not None:
                found.append(bounds)
            elif not _is_empty(chunk):
                return None, None, None
        if kind is None or not found:
            return None, None, None
        low, high = min(low for low, _ in found), max(high for _, high in found)
        if pa.types.is_string(kind):
            return kind, low[:_CUT], _cut_above(high)
        if pa.types.is_floating(kind):
            return kind, low or -0.0, None
        return kind, low, high


def _is_empty(chunk: pq.ColumnChunkMetaData) -> bool:
    statistics = chunk.statistics
    return statistics is not None and statistics.has_null_count and statistics.null_count == chunk.num_values


def _raw_bounds(statistics: pq.Statistics | None) -> tuple[Any, Any] | None:
    if statistics is None or not statistics.has_min_max:
        return None
    low, high = _raw(statistics.min_raw, statistics), _raw(statistics.max_raw, statistics)
    return None if low is None or high is None or low != low or high != high or low > high else (low, high)


def _raw(bound: Any, statistics: pq.Statistics) -> Any:
    if not isinstance(bound, bytes):
        return bound
    if statistics.physical_type == "FIXED_LEN_BYTE_ARRAY":
        return int.from_bytes(bound, "big", signed=True)
    try:
        return bound.decode("utf-8")
    except UnicodeDecodeError:
        return None  # a writer may have cut it within a character


def _cut_above(text: str) -> str | None:
    """A text that is not smaller than any of those that begin like this one; None if it would be too long."""
    for end in range(_CUT, _LAST_CUT + 1):
        if end >= len(text):
            return text
        if text[end] != _LAST_CHARACTER:
            return text[:end] + _LAST_CHARACTER
    return None


_PLAIN_TYPES: Final = {"INT32": pa.int32(), "INT64": pa.int64(), "FLOAT": pa.float32(), "DOUBLE": pa.float64()}
_INTEGERS: Final = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
_UNITS: Final = {"MILLIS": "ms", "MICROS": "us", "NANOS": "ns"}


def _bounded_type(element: SchemaElement) -> pa.DataType | None:
    """The type of a column, if bounds of that type are written."""
    physical, logical = element.physical_type, element.logical_type
    if logical is None:
        return _PLAIN_TYPES.get(physical or "") if element.converted_type is None else None
    if logical.kind == "INTEGER" and logical.signed:
        return _INTEGERS.get(logical.bits or 0)
    if logical.kind == "DECIMAL" and physical in _DECIMALS and logical.precision is not None and logical.precision <= 38:
        return pa.decimal128(logical.precision, logical.scale or 0)
    if logical.kind == "DATE":
        return pa.date32()
    if logical.kind == "TIMESTAMP" and logical.unit in _UNITS:
        return pa.timestamp(_UNITS[logical.unit], "UTC" if logical.utc else None)
    return pa.string() if logical.kind == "STRING" else None


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """What the log says of the values of a file; what is missing or cannot be understood is not known."""

    rows: int | None = None
    """How many rows the file has, deleted ones among them."""
    tight: bool = True
    """Whether bounds and null counts are those of the rows that are not deleted. If not, bounds may be wider, and null counts
    tell something only if they are 0 or the number of rows."""
    found: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """All that the text says."""
    _decoded: dict[tuple[str, Column], Variant | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def parse(cls, text: str | None) -> FileStatistics:
        """Read the `stats` of an `add` action.

        >>> FileStatistics.parse('{"numRecords": 3, "nullCount": {"a": {"b": 1}}}').null_count(("a", "b"))
        1
        """
        try:
            found = json.loads(text or "null", parse_float=Decimal, parse_constant=lambda _: None)
        except (ValueError, ArithmeticError, RecursionError, TypeError):
            found = None
        if not isinstance(found, dict):
            return cls()
        return cls(_count(found.get("numRecords")), found.get("tightBounds") in (None, True), found)

    def null_count(self, column: Column) -> int | None:
        """How many values of a column are null."""
        return _count(self._at("nullCount", column))

    def bounds(self, column: Column) -> tuple[Any, Any]:
        """The smallest and the largest value of a column as JSON has them; None for what is not known."""
        return self._at("minValues", column), self._at("maxValues", column)

    def variant_bounds(self, column: Column, path: Path) -> tuple[Variant | None, Variant | None]:
        """The smallest and the largest value at a path of a Variant column; None for what is not known."""
        low, high = (_part(self._variant(name, column), str(path)) for name in ("minValues", "maxValues"))
        if low is not None and high is not None and low.type_name != high.type_name:
            return None, None
        return low, high

    def _at(self, name: str, column: Column) -> Any:
        found: Any = self.found
        for step in (name, *column):
            if not isinstance(found, Mapping):
                return None
            found = found.get(step)
        return None if isinstance(found, Mapping) else found

    def _variant(self, name: str, column: Column) -> Variant | None:
        if (name, column) not in self._decoded:
            self._decoded[name, column] = _decoded(self._at(name, column))
        return self._decoded[name, column]


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _decoded(text: Any) -> Variant | None:
    try:
        return decode_variant(text) if isinstance(text, str) else None
    except VarquetError:
        return None


def _part(variant: Variant | None, name: str) -> Variant | None:
    """The value of a name, if it is one that can be a bound; others are not looked at, since there may be many."""
    try:
        if variant is None or variant.type_name != "object":
            return None
        found = variant[name]
        return None if found.type_name in ("object", "array", "null") else found
    except (KeyError, VarquetError):
        return None
