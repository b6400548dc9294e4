"""Random Arrow tables of all shapes, and files of them that varquet encodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from varquet.parquet.encodings import Encodings, leaves
from varquet.parquet.row_groups import EncodedGroup, RowGroupFile

FLOATS = st.floats(width=32) | st.sampled_from([0.0, -0.0, float("nan")])
LEAVES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.bool_(), st.booleans()),
    (pa.int8(), st.integers(-128, 127)),
    (pa.int16(), st.integers(-(1 << 15), (1 << 15) - 1)),
    (pa.int32(), st.integers(-(1 << 31), (1 << 31) - 1)),
    (pa.int64(), st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 3)),
    (pa.float32(), FLOATS),
    (pa.float64(), FLOATS),
    (pa.date32(), st.dates()),
    (pa.time64("us"), st.times()),
    (pa.timestamp("us", "UTC"), st.integers(-(1 << 55), 1 << 55)),
    (pa.timestamp("ns"), st.integers(-(1 << 55), 1 << 55)),
    (pa.decimal128(9, 2), st.decimals(-(10**6), 10**6, places=2)),
    (pa.decimal128(18, 4), st.decimals(-(10**13), 10**13, places=4)),
    (pa.decimal128(38, 3), st.decimals(-(10**30), 10**30, places=3)),
    (pa.string(), st.text(max_size=12) | st.sampled_from(["2026-01-01", "2026-01-02", ""])),
    (pa.large_string(), st.text(max_size=40)),
    (pa.binary(), st.binary(max_size=12)),
    (pa.large_binary(), st.binary(max_size=20)),
    (pa.binary(5), st.binary(min_size=5, max_size=5)),
    (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(["a", "b", "long enough to be one"])),
]


@st.composite
def kinds(draw: st.DrawFn, depth: int = 3) -> tuple[pa.DataType, st.SearchStrategy[Any]]:
    """An Arrow type, and values of it."""
    shape = draw(st.integers(0, 3 if depth else 0))
    if shape == 0:
        leaf: tuple[pa.DataType, st.SearchStrategy[Any]] = draw(st.sampled_from(LEAVES))
        return leaf
    if shape == 1:
        inner, values = draw(kinds(depth - 1))
        nullable = draw(st.booleans())
        made = draw(st.sampled_from([pa.list_, pa.large_list]))
        return made(pa.field("element", inner, nullable)), st.lists(st.none() | values if nullable else values, max_size=3)
    if shape == 2:
        fields, strategies = [], {}
        for name in ("a", "b.c", "ü")[: draw(st.integers(1, 3))]:
            inner, values = draw(kinds(depth - 1))
            nullable = draw(st.booleans())
            fields.append(pa.field(name, inner, nullable))
            strategies[name] = st.none() | values if nullable else values
        return pa.struct(fields), st.fixed_dictionaries(strategies)
    inner, values = draw(kinds(depth - 1))
    pairs = st.lists(st.tuples(st.text(max_size=3), st.none() | values), max_size=3)
    return pa.map_(pa.string(), inner), pairs


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    columns, fields = [], []
    rows = draw(st.integers(1, 24))
    for k in range(draw(st.integers(1, 2))):
        kind, values = draw(kinds())
        nullable = draw(st.booleans())
        one = st.none() | values if nullable else values
        given_rows = draw(st.lists(one, min_size=rows, max_size=rows))
        fields.append(pa.field(f"c{k}", kind, nullable))
        array = pa.array(given_rows, kind)
        cut = draw(st.integers(0, rows))
        # Made for itself, a piece has a dictionary of its own.
        rest = array.slice(cut) if draw(st.booleans()) else pa.array(given_rows[cut:], kind)
        columns.append(pa.chunked_array([array.slice(0, cut), rest], kind))
    return pa.table(columns, schema=pa.schema(fields))


def write_groups(path: Path, groups: list[EncodedGroup]) -> Path:
    file = RowGroupFile(path)
    for group in groups:
        file.add(group)
    file.close()
    return path


def any_encodings(draw: Any, table: pa.Table) -> Encodings:
    """Some encoding for each leaf that is one for its type."""
    dictionary, others = [], {}
    seen: list[str] = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        for path, pieces in leaves(column, name):
            seen.append(path)
            kind = pieces[0].type
            choices = ["plain"] if not pa.types.is_boolean(kind) else []
            if pa.types.is_dictionary(kind) or not pa.types.is_boolean(kind):
                choices.append("dictionary")
            if pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time(kind):
                choices.append("DELTA_BINARY_PACKED")
            if not pa.types.is_dictionary(kind) and (pa.types.is_string(kind) or pa.types.is_binary(kind)):
                choices += ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]
            if pa.types.is_dictionary(kind):
                choices = ["dictionary"]
            chosen = draw(st.sampled_from(choices)) if choices else "plain"
            if chosen == "dictionary":
                dictionary.append(path)
            elif chosen != "plain":
                others[path] = chosen
    unique = {path for path in seen if seen.count(path) == 1}
    return Encodings([path for path in dictionary if path in unique], {path: one for path, one in others.items() if path in unique})
