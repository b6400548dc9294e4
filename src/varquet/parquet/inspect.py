"""`inspect`: what is where in Parquet files with Variant columns, path by path.

Each instance of a path (a row, or below an array an element of it) is one of four things:

    typed          it is in typed_value; an object whose other fields are in `value` counts here, and as partial
    residual       it is in `value` only, because its type is not that of typed_value
    variant_null   it is a Variant null
    missing        it is not there: no such field, no object around it; for the column itself, an SQL NULL

    typed + residual + variant_null + missing = rows

The counts are exact. Most come from the footer (`varquet.parquet.levels`). The values of a `value` column are read only
where it holds some, and its statistics do not tell whether Variant nulls are among them.
"""

from __future__ import annotations

import functools
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, TypeAlias
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from varquet.columns.arrow import plain
from varquet.errors import UnsupportedTypeError
from varquet.layouts.nested import Form
from varquet.layouts.primitives import typed_kind
from varquet.layouts.shredding import LAYOUTS
from varquet.parquet.footer import read_footer
from varquet.parquet.inspect_maps import MAPS, MapCounts, map_places
from varquet.parquet.levels import Chunk, Place, RowGroup, list_element, places, read_row_groups
from varquet.parquet.positions import Position
from varquet.parquet.reader import Source, files_of, open_file
from varquet.schema import ELEMENT, Kind, ShreddingSchema, display_path
from varquet.schema.walk import Step
from varquet.types import BY_TAG
from varquet.variant.model import Payload, Scalar
from varquet.variant.text import scalar_text

__all__ = ["Inspection", "inspect"]

_BYTES: Final = ("compressed_bytes", "raw_bytes")

Bound: TypeAlias = "bool | int | float | bytes"

_PATHS: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("column", "path")),
        ("depth", pa.int32()),
        ("type", pa.string()),
        *((name, pa.int64()) for name in ("files", "row_groups", "rows", "typed", "partial", "residual", "variant_null", "missing")),
        *((f"{part}{size}", pa.int64()) for part in ("value_", "typed_", "") for size in _BYTES),
        *((name, pa.string()) for name in ("min", "max")),
    ]
)
_FILES: Final = pa.schema(
    [
        ("path", pa.string()),
        *((name, pa.int64()) for name in ("rows", "row_groups", "size")),
        ("created_by", pa.string()),
        ("shredding", pa.map_(pa.string(), pa.string())),
    ]
)
_ROW_GROUPS: Final = pa.schema(
    [
        ("file", pa.string()),
        ("row_group", pa.int64()),
        ("column", pa.string()),
        ("rows", pa.int64()),
        *((f"{part}_{size}", pa.int64()) for part in ("metadata", "value", "typed") for size in _BYTES),
    ]
)


@dataclass(frozen=True, slots=True)
class Inspection:
    """What `inspect` found, as Arrow tables."""

    paths: pa.Table
    """One row for each path of the shredding schemas of each Variant column, over all files, in the order of the tree.

    column, path ($.a.b[*]), depth    which path
    type                              of typed_value: a SQL name, struct, array, or variant where there is no typed_value;
                                      several, joined by " | ", where files disagree
    files, row_groups                 how many have the path; all counts are about these
    rows                              instances: rows, or below an array its elements
    typed, residual, variant_null, missing   what they are, together `rows`; `partial` of the typed are objects that have
                                      fields without a column, too
    value_*, typed_*, *_bytes         the bytes of the path's own columns, compressed and raw, and their sum; those of
                                      what lies below a path are not among them
    min, max                          bounds of typed_value as text, where every row group has them and all have one type;
                                      writers may have cut long strings
    """
    files: pa.Table
    """path, rows, row_groups, size, created_by, shredding (the DDL of each Variant column)."""
    row_groups: pa.Table
    """file, row_group, column, rows, and the bytes of all metadata, value and typed_value columns of that Variant column."""
    maps: pa.Table
    """One row for each hot key of each column of maps, and before them one with no key for the residual.

    column, key, type          which key, and what its column holds; several types, joined by " | ", where files disagree
    files, row_groups, rows    how many have a column for the key; all counts are about these
    values                     how many values its column holds; of the residual, how many entries
    beside                     how many values are in the residual because the column cannot hold them; null if a writer did not say
    *_bytes                    the bytes of the column, compressed and raw
    """


def inspect(source: Source, columns: Sequence[str] | None = None, *, on_file: Callable[[], None] | None = None) -> Inspection:
    """Find out what lies in which columns of Parquet files with Variants and shredded maps, whoever wrote them.

    Args:
        source: a file, a folder (all *.parquet in it and below), a glob, or several of them.
        columns: the columns of Variants and maps to look at, those inside structs and lists by dotted names; all by default.
        on_file: called when a file is done.
    """
    found: dict[tuple[str, tuple[Step, ...]], _Path] = {}
    files: list[dict[str, object]] = []
    row_groups: list[dict[str, object]] = []
    maps: dict[tuple[str, str | None], MapCounts] = {}
    names: dict[str, None] = {}
    for path in files_of(source):
        file = _File(path, columns)
        names |= dict.fromkeys(file.names)
        files.append(file.facts())
        for node in file.nodes:
            found.setdefault((node.column, node.steps), _Path()).meet(node)
        for one in file.maps:
            counts = maps.setdefault((one.column, one.key), MapCounts())
            counts.meet(one)
            for group in file.row_groups:
                counts.add(one, group)
        for group in file.row_groups:
            sizes = {column: dict.fromkeys(_ROW_GROUPS.names[4:], 0) for column in file.columns}
            for node in file.nodes:
                found[node.column, node.steps].add(node, group)
                for part, chunk in node.chunks(group):
                    sizes[node.column][f"{part}_compressed_bytes"] += chunk.compressed_bytes
                    sizes[node.column][f"{part}_raw_bytes"] += chunk.raw_bytes
            for column, size in sizes.items():
                row_groups.append({"file": path, "row_group": group.number, "column": column, "rows": group.rows, **size})
        if on_file is not None:
            on_file()
    _check(columns, names)
    order = {name: place for place, name in enumerate(names)}
    keys = sorted(found, key=lambda key: (order[key[0]], [(step is ELEMENT, "" if step is ELEMENT else step) for step in key[1]]))
    return Inspection(
        pa.Table.from_pylist([found[key].facts(*key) for key in keys], _PATHS),
        pa.Table.from_pylist(files, _FILES),
        pa.Table.from_pylist(row_groups, _ROW_GROUPS),
        pa.Table.from_pylist([counts.facts(*key) for key, counts in maps.items()], MAPS),
    )


def _check(wanted: Sequence[str] | None, names: dict[str, None]) -> None:
    for name in wanted or ():
        if name not in names:
            known = ", ".join(map(repr, names))
            raise UnsupportedTypeError(
                f"expected the name of a Variant or shredded map, got {name!r}",
                hint=f"they are {known}" if known else "there is none",
            )


@dataclass(frozen=True, slots=True)
class _Node:
    """One path of one column of one file."""

    column: str
    steps: tuple[Step, ...]
    schema: ShreddingSchema
    form: Form
    group: Place
    scope: Place | None

    @property
    def value(self) -> Place | None:
        return self.group.child(self.form.residual)

    @property
    def typed_name(self) -> str:
        return self.form.typed.get(self.schema.kind, "")

    @property
    def typed_value(self) -> Place | None:
        return self.group.child(self.typed_name) if self.typed_name else None

    def chunks(self, group: RowGroup) -> Iterator[tuple[str, Chunk]]:
        """The leaf columns of its own, each with the part it plays."""
        metadata = None if self.steps else self.group.child("metadata")
        for part, place in (("metadata", metadata), ("value", self.value), ("typed", self.typed_value)):
            if place is not None and not place.element.is_group:
                yield part, group.chunks[place.first_leaf]


class _File:
    """One file: its Variant columns as nodes, and its row groups."""

    def __init__(self, path: str, wanted: Sequence[str] | None) -> None:
        self.path = path
        self.footer = read_footer(path)
        opened = open_file(path)
        root = places(self.footer.schema)
        variants = [".".join(position) for position in opened.variants]
        self.names = [*variants, *(".".join(position) for position in opened.maps)]
        self.maps = [one for one in map_places(opened, root) if wanted is None or one.column in wanted]
        self.columns: dict[str, ShreddingSchema] = {}
        self.nodes: list[_Node] = []
        for column, (position, schema) in zip(variants, opened.variants.items(), strict=True):
            if wanted is None or column in wanted:
                self.columns[column] = schema
                form = LAYOUTS[opened.layouts.get(position, "parquet")].FORM
                self.nodes += _nodes(column, schema, form, _find(root, opened.paths[position]))
        # Opened anew where values are read: not with the dictionaries that putting Variants together wants.
        self.row_groups = list(read_row_groups(self.footer, root, functools.cache(lambda: pq.ParquetFile(path))))

    def facts(self) -> dict[str, object]:
        return {
            "path": self.path,
            "rows": self.footer.num_rows,
            "row_groups": len(self.row_groups),
            "size": os.path.getsize(self.path),
            "created_by": self.footer.created_by,
            "shredding": [(column, schema.ddl()) for column, schema in self.columns.items()],
        }


def _find(root: Place, path: Position) -> Place:
    place = root
    for name in path:
        below = place.child(name)
        assert below is not None
        place = below
    return place


def _nodes(column: str, schema: ShreddingSchema, form: Form, group: Place) -> Iterator[_Node]:
    waiting: list[tuple[tuple[Step, ...], ShreddingSchema, Place, Place | None]] = [((), schema, group, group.scope())]
    while waiting:
        steps, schema, group, scope = waiting.pop()
        node = _Node(column, steps, schema, form, group, scope)
        yield node
        typed = node.typed_value
        if schema.element is not None and typed is not None:
            waiting.append(((*steps, ELEMENT), schema.element, list_element(typed), typed.children[0]))
        for name, child in schema.fields:
            below = typed.child(name) if typed is not None else None
            assert below is not None
            waiting.append(((*steps, name), child, below, scope))


@dataclass(slots=True)
class _Path:
    """The counts of one path, over files and row groups."""

    files: int = 0
    row_groups: int = 0
    types: dict[str, None] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_PATHS.names[6:-2], 0))
    bounds: dict[pa.DataType, list[tuple[Bound, Bound] | None]] = field(default_factory=dict)

    def meet(self, node: _Node) -> None:
        """Take notice of a file that has the path."""
        self.files += 1
        self.types[_type_name(node.schema)] = None

    def add(self, node: _Node, group: RowGroup) -> None:
        """Add what is in one row group."""
        self.row_groups += 1
        counted = _count(node, group)
        for name, number in counted.items():
            self.counts[name] += number
        for part, chunk in node.chunks(group):
            if part != "metadata":
                for prefix in (f"{part}_", ""):
                    self.counts[f"{prefix}compressed_bytes"] += chunk.compressed_bytes
                    self.counts[f"{prefix}raw_bytes"] += chunk.raw_bytes
        if node.schema.kind is Kind.PRIMITIVE and counted["typed"] and node.typed_value is not None:
            physical = node.typed_value.element.physical_type or ""
            bounds = _bounds(group.chunks[node.typed_value.first_leaf], physical, node.schema.type)
            self.bounds.setdefault(node.schema.type, []).append(bounds)

    def facts(self, column: str, steps: tuple[Step, ...]) -> dict[str, object]:
        low, high = self._range()
        return {
            "column": column, "path": display_path(steps), "depth": len(steps), "type": " | ".join(self.types),
            "files": self.files, "row_groups": self.row_groups, **self.counts, "min": low, "max": high,
        }  # fmt: skip

    def _range(self) -> tuple[str | None, str | None]:
        if len(self.types) != 1 or len(self.bounds) != 1:
            return None, None
        ((kind, bounds),) = self.bounds.items()
        given = [pair for pair in bounds if pair is not None]
        if len(given) < len(bounds):
            return None, None
        return _text(min(low for low, _ in given), kind), _text(max(high for _, high in given), kind)


def _type_name(schema: ShreddingSchema) -> str:
    return {Kind.OBJECT: "struct", Kind.ARRAY: "array"}.get(schema.kind) or schema.ddl()


def _count(node: _Node, group: RowGroup) -> dict[str, int]:
    """What the instances of a path are in one row group."""
    rows = group.rows if node.scope is None else group.present(node.scope)
    value, typed_value = node.value, node.typed_value
    values = 0 if value is None else group.non_null(value)
    typed = 0
    if typed_value is not None:
        typed = group.present(typed_value) if typed_value.element.is_group else group.non_null(typed_value)
    nulls, partial = _values(node, group, rows, typed, values)
    known = typed + values - partial
    if not node.steps:
        # A Variant that is there but has neither is a Variant null (S4); an SQL NULL has no group.
        there = group.present(node.group)
        nulls, missing = nulls + there - known, rows - there
    elif node.steps[-1] is ELEMENT:
        nulls, missing = nulls + rows - known, 0
    else:
        missing = rows - known
    residual = rows - typed - nulls - missing
    return {"rows": rows, "typed": typed, "partial": partial, "residual": residual, "variant_null": nulls, "missing": missing}


def _values(node: _Node, group: RowGroup, rows: int, typed: int, values: int) -> tuple[int, int]:
    """How many values of the `value` column are Variant nulls, and how many stand beside a typed_value."""
    place, typed_value = node.value, node.typed_value
    if place is None or values == 0:
        return 0, 0
    if typed == rows:
        return 0, values
    chunk = group.chunks[place.first_leaf]
    nulls: int | None = None
    # No value sorts before a Variant null, and a bound that was cut is still a bound.
    if chunk.least is not None and chunk.least > node.form.null:
        nulls = 0
    elif chunk.greatest == node.form.null:
        nulls = values
    # Only objects may have both, and then `value` holds an object (W4, W13).
    apart = typed == 0 or (typed + values <= rows and (node.schema.kind is not Kind.OBJECT or nulls == values))
    beside = 0 if apart else None
    if nulls is not None and beside is not None:
        return nulls, beside
    leaves = [place.first_leaf]
    if beside is None and typed_value is not None:
        leaves.append(group.cheapest(typed_value))
    nulls, counted = 0, 0
    for array, there in group.read(leaves, node.group):
        octets = plain(array.field(node.form.residual))
        is_null = there & np.asarray(pc.fill_null(pc.equal(octets, pa.scalar(node.form.null, octets.type)), False))
        if beside is None:
            is_typed = np.asarray(plain(array.field(node.typed_name)).is_valid())
            counted += int((there & is_typed & np.asarray(octets.is_valid())).sum())
            is_null &= ~is_typed
        nulls += int(is_null.sum())
    return nulls, counted if beside is None else beside


def _bounds(chunk: Chunk, physical: str, kind: pa.DataType) -> tuple[Bound, Bound] | None:
    """The bounds of a typed_value column, as values that compare as its type does; None where there are none."""
    if chunk.least is None or chunk.greatest is None:
        return None
    low, high = (_read_bound(octets, physical, kind) for octets in (chunk.least, chunk.greatest))
    # NaN is not equal to itself, and no bound.
    return (low, high) if low == low and high == high else None


def _read_bound(octets: bytes, physical: str, kind: pa.DataType) -> Bound:
    """A value in Parquet's plain encoding."""
    match physical:
        case "BOOLEAN":
            return octets != b"\x00"
        case "INT32" | "INT64":
            return int.from_bytes(octets, "little", signed=True)
        case "FLOAT" | "DOUBLE":
            number: float = struct.unpack("<f" if physical == "FLOAT" else "<d", octets)[0]
            return number
    return int.from_bytes(octets, "big", signed=True) if pa.types.is_decimal(kind) else octets


def _text(bound: Bound, kind: pa.DataType) -> str:
    payload: Payload = bound
    if pa.types.is_decimal(kind):
        number = int(bound)
        payload = Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -kind.scale))
    elif isinstance(bound, bytes) and pa.types.is_string(kind):
        payload = bound.decode("utf-8", "replace")
    elif isinstance(bound, bytes) and pa.types.is_fixed_size_binary(kind):
        payload = UUID(bytes=bound)
    return scalar_text(Scalar(BY_TAG[typed_kind(kind).tag], payload))
