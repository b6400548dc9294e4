"""What the log tells of a file: no row that matches is ever lost by it, and files without one are known."""

from __future__ import annotations

import datetime
import json
import math
import random
import tempfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path as FilePath
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from query_by_hand import random_predicate, truth
from schema_strategies import schemas_for
from shredded_rules import stored_as
from strategies import scalars, scalars_of
from variant_columns import column_of

import varquet as vq
from varquet.delta.statistics import FileStatistics, Indexing, statistics_of
from varquet.delta.z85 import encode_variant
from varquet.parquet.files import DataFile
from varquet.parquet.writer import FileWriter
from varquet.paths import Path
from varquet.queries.expressions import Operand, Predicate
from varquet.queries.file_statistics import file_bounds
from varquet.queries.grammar import parse_predicate, predicate_text
from varquet.queries.outcomes import ANYTHING, FALSE, TRUE, UNKNOWN, Bounds, outcomes
from varquet.queries.statistics import NOTHING_THERE
from varquet.types import BY_NAME
from varquet.variant import decode, encode
from varquet.variant.model import Node, Scalar

_KEYS = st.sampled_from(("a", "b", "c", "a.b"))
_TEXTS = st.text(min_size=28, max_size=40, alphabet="ab\U0010ffff?").map(lambda text: Scalar(BY_NAME["string"], text))
_NAMES = ("int8", "int64", "decimal4", "decimal16", "float", "double", "string", "date", "timestamp", "timestamp_ntz", "timestamp_nanos")
_ALIKE = st.sampled_from(_NAMES).flatmap(
    lambda name: st.lists(
        st.none() | st.fixed_dictionaries({}, optional={"a": scalars_of(BY_NAME[name]), "b": _TEXTS}), min_size=1, max_size=10
    )
)
_ROWS = _ALIKE | st.lists(
    st.none()
    | st.recursive(scalars(), lambda child: st.lists(child, max_size=2) | st.dictionaries(_KEYS, child, max_size=3), max_leaves=5),
    min_size=1,
    max_size=10,
)


def statistics(table: pa.Table, schema: vq.ShreddingSchema | None, rows: int) -> FileStatistics:
    with tempfile.TemporaryDirectory() as folder:
        path = FilePath(folder) / "a.parquet"
        with FileWriter(path, table.schema, None if schema is None else {"v": schema}, row_group_rows=rows, threads=1) as writer:
            for batch in table.to_batches():
                writer.write(batch)
        return FileStatistics.parse(statistics_of(DataFile(str(path)), table.schema, writer.shredded, Indexing()))


def check(predicate: Predicate, bounds: Any, rows: Sequence[Node | None]) -> None:
    """That what a predicate is of each row is among what was said."""
    said = outcomes(predicate, bounds)
    for row in rows:
        found = truth(predicate, row)
        assert said & (UNKNOWN if found is None else TRUE if found else FALSE), (predicate_text(predicate), row)


@given(rows=_ROWS, data=st.data(), seed=st.integers(0, 1 << 32))
def test_no_row_is_lost_by_a_path(rows: list[Node | None], data: st.DataObject, seed: int) -> None:
    chance = random.Random(seed)
    schema = data.draw(schemas_for(rows)).writable()
    note(schema.ddl())
    column = column_of([None if row is None else encode(row) for row in rows])
    known = statistics(pa.table({"v": column}, pa.schema([vq.variant_field("v")])), schema, chance.randint(1, 5))
    stored = [None if row is None else decode(*encode(stored_as(row, schema))) for row in rows]
    wide = FileStatistics(known.rows, False, known.found)
    left = chance.sample(stored, chance.randint(0, len(stored)))
    for _ in range(15):
        predicate = random_predicate(stored, chance)
        note(predicate_text(predicate))
        check(predicate, lambda operand: file_bounds(known, ("v",), operand.path, None, operand.type), stored)
        # Where rows were deleted, what is said of all of them is true of those that are left.
        check(predicate, lambda operand: file_bounds(wide, ("v",), operand.path, None, operand.type), left)


_COLUMNS = ("int8", "int32", "int64", "float", "double", "string", "date", "timestamp", "timestamp_ntz")


@given(data=st.data(), seed=st.integers(0, 1 << 32))
def test_no_row_is_lost_by_a_column(data: st.DataObject, seed: int) -> None:
    chance = random.Random(seed)
    name = data.draw(st.sampled_from((*_COLUMNS, "decimal(9,2)", "decimal(38,10)")))
    values: list[Scalar | None]
    if name.startswith("decimal"):
        kind = pa.decimal128(9, 2) if name == "decimal(9,2)" else pa.decimal128(38, 10)
        most, primitive = 10**kind.precision - 1, BY_NAME["decimal4" if kind.precision == 9 else "decimal16"]
        drawn = st.integers(-most, most).map(lambda number: Scalar(primitive, Decimal(f"{number}E-{kind.scale}")))
    else:
        kind, drawn = BY_NAME[name].arrow, scalars_of(BY_NAME[name]) | (_TEXTS if name == "string" else st.nothing())
    values = data.draw(st.lists(st.none() | drawn, min_size=1, max_size=8))
    numbers = pa.array([None if value is None else value.value for value in values], _storage(kind))
    known = statistics(pa.table({"c": numbers.view(kind) if numbers.type != kind else numbers}), None, chance.randint(1, 4))

    def bounds(operand: Operand) -> Bounds:
        return file_bounds(known, ("c",), None, kind, operand.type) if not operand.path else ANYTHING

    for _ in range(15):
        check(random_predicate(values, chance), bounds, values)


def _storage(kind: pa.DataType) -> pa.DataType:
    return pa.int32() if pa.types.is_date32(kind) else pa.int64() if pa.types.is_timestamp(kind) else kind


def of(**parts: Any) -> FileStatistics:
    return FileStatistics.parse(json.dumps({"numRecords": 10, **parts}))


def column_bounds(kind: pa.DataType, low: Any, high: Any, target: pa.DataType | None = None) -> Bounds:
    known = of(nullCount={"c": 0}, minValues={"c": low}, maxValues={"c": high})
    return file_bounds(known, ("c",), None, kind, target)


def variant(**values: Scalar) -> str:
    return encode_variant(*encode({f"$['{name}']": value for name, value in values.items()}))


UTC = datetime.UTC


@pytest.mark.parametrize(
    ("kind", "low", "high", "expected"),
    [
        (pa.int64(), 3, 9, (3, 9)),
        (pa.int8(), 3, 900, (3, None)),
        (pa.int64(), 3.5, "9", (None, None)),
        (pa.int64(), True, None, (None, None)),
        (pa.string(), "a", "b\U0010ffff", (b"a", b"b\xf4\x8f\xbf\xbf")),
        (pa.string(), "a?\U0010ffff", "b?\U0010ffff", (b"a?\xf4\x8f\xbf\xbf", None)),
        (pa.string(), "\ud800", 7, (None, None)),
        (pa.bool_(), False, True, (False, True)),
        (pa.bool_(), 0, "true", (None, None)),
        (pa.date32(), "2024-02-29", "2024-02-30", (datetime.date(2024, 2, 29), None)),
        (
            pa.timestamp("us", "UTC"),
            "2024-01-01T01:02:03.123Z",
            "2024-01-01T01:02:03.123-07:00",
            (datetime.datetime(2024, 1, 1, 1, 2, 3, 123_000, UTC), datetime.datetime(2024, 1, 1, 8, 2, 3, 124_000, UTC)),
        ),
        # Whose clock that would be is not known.
        (pa.timestamp("us", "UTC"), "2024-01-01T01:02:03.123", "9999-12-31T23:59:59.999Z", (None, None)),
        (
            pa.timestamp("us"),
            "2024-01-01T01:02:03.123456",
            "2024-01-01T01:02:03.123Z",
            (datetime.datetime(2024, 1, 1, 1, 2, 3, 123_456), datetime.datetime(2024, 1, 1, 1, 2, 3, 124_000)),
        ),
        (pa.timestamp("us"), "2024-01-01T01:02:03.123+02:00", "+12024-01-01T00:00:00.000", (None, None)),
        (pa.decimal128(9, 2), 1, 2.25, (Decimal(1), Decimal("2.25"))),
        (pa.binary(), "a", "b", (None, None)),
        (pa.time64("us"), "00:00", "00:01", (None, None)),
        (pa.list_(pa.int64()), 1, 2, (None, None)),
    ],
)
def test_bounds_of_a_column(kind: pa.DataType, low: Any, high: Any, expected: tuple[Any, Any]) -> None:
    found = column_bounds(kind, low, high)
    assert (found.low, found.high) == expected
    assert found.has_nulls is False and found.has_values


def test_floating_point_may_have_nan_beyond_its_bounds() -> None:
    assert column_bounds(pa.float64(), 1.5, 2.5) == Bounds(False, True, 1.5, 2.5, has_nan=True)
    assert column_bounds(pa.float64(), "NaN", "Infinity") == Bounds(False, has_nan=True)
    # As Java writes the number of 32 bits that is next to a tenth, which is a little larger.
    found = column_bounds(pa.float32(), 0.1, 0.1)
    assert found.high > 0.1
    assert column_bounds(pa.float32(), -1e300, 1e300) == Bounds(False, has_nan=True)
    assert not column_bounds(pa.int64(), 1, 2).has_nan


def test_decimals_that_were_doubles_on_the_way() -> None:
    exact = Decimal("1234567890123456789.01")
    found = column_bounds(pa.decimal128(38, 2), float(exact), float(exact))
    assert found.low < exact < found.high
    huge = FileStatistics.parse('{"minValues":{"c":1e999999},"maxValues":{"c":1e99999999}}')
    assert file_bounds(huge, ("c",), None, pa.decimal128(38, 2), None) == Bounds(True, has_nan=False)
    assert file_bounds(huge, ("c",), None, pa.float64(), None) == Bounds(True, has_nan=True)


def test_casts_that_keep_the_order() -> None:
    assert column_bounds(pa.int32(), 1, 2, pa.float64()) == Bounds(False, True, 1.0, 2.0, has_nan=False)
    assert column_bounds(pa.int64(), 1, (1 << 53) + 1, pa.float64()).high > (1 << 53) + 1
    assert column_bounds(pa.int32(), 1, 2, pa.decimal128(38, 2)).high == Decimal(2)
    assert column_bounds(pa.int32(), 1, 2, pa.string()) == Bounds(True, has_nan=False)
    assert column_bounds(pa.int64(), 1, 2, pa.int32()) == Bounds(True, has_nan=False)
    assert column_bounds(pa.string(), "1", "2", pa.float64()) == ANYTHING


def test_nulls() -> None:
    int64 = pa.int64()
    for tight in ({}, {"tightBounds": False}):
        known = of(nullCount={"a": 0, "b": 10, "c": 4, "v": 10}, **tight)
        assert file_bounds(known, ("a",), None, int64, None) == Bounds(False, has_nan=False)
        assert file_bounds(known, ("b",), None, int64, None) == NOTHING_THERE
        assert file_bounds(known, ("b",), None, int64, pa.string()) == NOTHING_THERE
        assert file_bounds(known, ("c",), None, int64, None) == Bounds(True, has_nan=False)
        assert file_bounds(known, ("d",), None, int64, None) == Bounds(True, has_nan=False)
        assert file_bounds(known, ("v",), Path.parse("$.a"), None, int64) == NOTHING_THERE
        # A column whose type does not matter is asked only whether it is there.
        assert file_bounds(known, ("a",), None, None, None) == Bounds(False)
    assert file_bounds(FileStatistics.parse('{"nullCount":{"a":3}}'), ("a",), None, int64, None).has_values
    assert file_bounds(FileStatistics.parse(None), ("a",), None, int64, None) == Bounds(True, has_nan=False)


def test_a_path() -> None:
    low, high = Scalar(BY_NAME["int64"], 3), Scalar(BY_NAME["int64"], 9)
    known = of(nullCount={"v": 0}, minValues={"v": variant(a=low, b=low)}, maxValues={"v": variant(a=high, c=high)})

    def bounds(path: str, target: pa.DataType | None) -> Bounds:
        return file_bounds(known, ("v",), Path.parse(path), None, target)

    assert bounds("$.a", pa.int64()) == Bounds(True, True, 3, 9, has_nan=False)
    assert bounds("$.a", pa.float64()) == Bounds(True, True, 3.0, 9.0, has_nan=False)
    assert bounds("$.a", pa.string()) == Bounds(True, has_nan=False)
    assert bounds("$.b", pa.int64()) == Bounds(True, True, 3, None, has_nan=False)
    assert bounds("$.c", pa.int64()) == Bounds(True, True, None, 9, has_nan=False)
    for path in ("$", "$.d", "$.a.b", "$.a[0]"):
        assert bounds(path, pa.int64()) == ANYTHING


@pytest.mark.parametrize(
    ("low", "high", "target", "expected"),
    [
        (Scalar(BY_NAME["string"], "a"), Scalar(BY_NAME["string"], "b"), pa.string(), (b"a", b"b")),
        (Scalar(BY_NAME["date"], 1), Scalar(BY_NAME["date"], (1 << 31) - 1), pa.date32(), (datetime.date(1970, 1, 2), None)),
        (
            Scalar(BY_NAME["timestamp"], 1),
            Scalar(BY_NAME["timestamp"], 2),
            pa.timestamp("us", "UTC"),
            (datetime.datetime(1970, 1, 1, 0, 0, 0, 1, UTC), datetime.datetime(1970, 1, 1, 0, 0, 0, 2, UTC)),
        ),
        (
            Scalar(BY_NAME["timestamp_ntz_nanos"], 1500),
            Scalar(BY_NAME["timestamp_ntz_nanos"], 1500),
            pa.timestamp("ns"),
            (datetime.datetime(1970, 1, 1, 0, 0, 0, 1), datetime.datetime(1970, 1, 1, 0, 0, 0, 2)),
        ),
        (
            Scalar(BY_NAME["decimal4"], Decimal("1.5")),
            Scalar(BY_NAME["decimal4"], Decimal("2.25")),
            pa.decimal128(38, 18),
            (Decimal("1.5"), Decimal("2.25")),
        ),
        (Scalar(BY_NAME["decimal4"], Decimal("1.5")), Scalar(BY_NAME["decimal4"], Decimal("2.25")), pa.decimal128(9, 1), (None, None)),
        (Scalar(BY_NAME["float"], 1.5), Scalar(BY_NAME["float"], math.nan), pa.float64(), (1.5, None)),
        (Scalar(BY_NAME["true"], True), Scalar(BY_NAME["true"], True), pa.bool_(), (None, None)),
        (Scalar(BY_NAME["binary"], b"a"), Scalar(BY_NAME["binary"], b"b"), pa.binary(), (None, None)),
    ],
)
def test_types_at_a_path(low: Scalar, high: Scalar, target: pa.DataType, expected: tuple[Any, Any]) -> None:
    known = of(minValues={"v": variant(a=low)}, maxValues={"v": variant(a=high)})
    found = file_bounds(known, ("v",), Path.parse("$.a"), None, target)
    assert (found.low, found.high) == expected
    assert found.has_nulls and found.has_values
    assert found.has_nan or not pa.types.is_floating(target)


@pytest.mark.parametrize(
    ("text", "can_match"),
    [
        ("$.id = 150", True),
        ("$.id = 99", False),
        ("$.id > 199", False),
        ("$.id between 10 and 20", False),
        ("$.user.name = 'name-0150-and-more-than-what-is-kept-of-it'", True),
        ("$.user.name < 'name-01'", False),
        ("$.user.name starts with 'other'", False),
        ("$.user.name starts with 'name'", True),
        ("$.price < 10 and $.id = 150", False),
        ("$.mixed = 99", True),
        ("$.id = 99 or $.nowhere = 1", True),
        ("not $.id >= 100", False),
        ("$.id is null", True),
    ],
)
def test_files_are_skipped_by_paths(text: str, can_match: bool) -> None:
    rows = [
        {
            "id": number,
            "user": {"name": f"name-{number:04d}-and-more-than-what-is-kept-of-it"},
            "price": number + 0.25,
            "mixed": str(number) if number % 50 == 0 else number,
        }
        for number in range(100, 200)
    ]
    table = pa.table({"v": vq.parse_json(pa.array([json.dumps(row) for row in rows]))}, pa.schema([vq.variant_field("v")]))
    schema = vq.ShreddingSchema.parse("id bigint, user struct<name: string>, price decimal(9,2), mixed bigint")
    known = statistics(table, schema, 40)
    said = outcomes(parse_predicate(text), lambda operand: file_bounds(known, ("v",), operand.path, None, operand.type))
    assert bool(said & TRUE) is can_match
