"""The statistics of files: they equal what looking at every value gives, and of others' all is read that can be understood."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import pickle
import random
import tempfile
import uuid
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path as FilePath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from query_by_hand import node_at
from schema_strategies import schemas, schemas_for
from shredded_rules import representable, stored_as
from strategies import scalars, scalars_of
from variant_columns import column_of

import varquet as vq
from varquet.delta.statistics import FileStatistics, Indexing, statistics_of
from varquet.delta.z85 import decode_variant, encode_variant
from varquet.errors import SchemaError
from varquet.parquet.files import DataFile
from varquet.parquet.positions import Position
from varquet.parquet.writer import FileWriter
from varquet.paths import Path
from varquet.schema import ShreddingSchema
from varquet.types import BY_NAME
from varquet.variant import Variant, decode, encode
from varquet.variant.model import Node, Scalar

ALL = Indexing(-1)
_BOUNDED = ("int", "float", "double", "decimal", "date", "timestamp", "string")


def written(path: FilePath, table: pa.Table, schemas: dict[str | Position, ShreddingSchema | str], rows: int, **options: Any) -> FileWriter:
    with FileWriter(path, table.schema, schemas, row_group_rows=rows, threads=1, **options) as writer:
        for batch in table.to_batches():
            writer.write(batch)
    return writer


def statistics(table: pa.Table, schemas: dict[str | Position, ShreddingSchema | str], rows: int = 2, indexing: Indexing = ALL) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = FilePath(folder) / "a.parquet"
        writer = written(path, table, schemas, rows)
        return statistics_of(DataFile(str(path)), table.schema, writer.shredded, indexing)


def with_variants(rows: Sequence[Node | None], **columns: pa.Array) -> pa.Table:
    table = pa.table({**columns, "v": column_of([None if row is None else encode(row) for row in rows])})
    return table.set_column(table.num_columns - 1, vq.variant_field("v"), table["v"])


def of_json(*values: Any) -> pa.Table:
    column = vq.parse_json(pa.array([None if value is None else json.dumps(value) for value in values]))
    return pa.table({"v": column}, pa.schema([vq.variant_field("v")]))


def one_column(values: list[Any], kind: pa.DataType, rows: int = 2) -> tuple[Any, Any, Any]:
    """The bounds and the null count of a column of these values."""
    found = FileStatistics.parse(statistics(pa.table({"c": pa.array(values, kind)}), {}, rows))
    return (*found.bounds(("c",)), found.null_count(("c",)))


def has_only_nan(values: list[Any], group: int) -> bool:
    """Whether a row group has values, but none that a footer has bounds of."""
    groups = [[value for value in values[first : first + group] if value is not None] for first in range(0, len(values), group)]
    return any(there and all(value != value for value in there) for there in groups)


def bounds_by_hand(rows: list[Node | None], schema: ShreddingSchema, group: int) -> tuple[dict[str, Scalar], dict[str, Scalar]]:
    """The bounds of all paths, by looking at every row."""
    lows: dict[str, Scalar] = {}
    highs: dict[str, Scalar] = {}
    for steps, leaf in schema.leaves():
        if leaf.type is None or not all(isinstance(step, str) for step in steps):
            continue
        path = Path(tuple(map(str, steps)))
        there = [node for row in rows if (node := node_at(row, path)) is not None]
        if not all(representable(node, leaf.type) for node in there):
            continue
        stored = [scalar for node in there if isinstance(scalar := stored_as(node, leaf), Scalar)]
        if not stored or not stored[0].type.name.startswith(_BOUNDED):
            continue
        values: list[Any] = [scalar.value for scalar in stored]
        kind = stored[0].type
        if isinstance(values[0], float):
            numbers = [value for value in values if not math.isnan(value)]
            if numbers and not has_only_nan([getattr(node_at(row, path), "value", None) for row in rows], group):
                lows[str(path)] = Scalar(kind, min(numbers))
        elif isinstance(values[0], str):
            lows[str(path)] = Scalar(kind, min(values)[:32])
            if (high := cut_by_hand(max(values))) is not None:
                highs[str(path)] = Scalar(kind, high)
        else:
            lows[str(path)], highs[str(path)] = Scalar(kind, min(values)), Scalar(kind, max(values))
    return lows, highs


def cut_by_hand(text: str) -> str | None:
    """The shortest that is not smaller: by the definition, not by a rule."""
    if len(text) <= 32:
        return text
    tries = [text[:end] + "\U0010ffff" * (end < len(text)) for end in range(32, 65)]
    return next((one for one in tries if one.encode() >= text.encode()), None)


def decoded(text: Any) -> dict[str, Node]:
    if text is None:
        return {}
    variant = decode_variant(text)
    node = decode(variant.metadata, variant.value)
    assert isinstance(node, dict)
    return node


_KEYS = st.sampled_from(("a", "b", "c", "a.b", "typed_value", "'"))
_SCALARS = scalars() | st.text(min_size=28, max_size=70, alphabet="a\U0010ffff\uff5e").map(lambda text: Scalar(BY_NAME["string"], text))
_ALIKE = st.sampled_from(("int16", "int64", "decimal4", "double", "string", "date", "timestamp", "timestamp_ntz_nanos")).flatmap(
    lambda name: st.lists(
        st.none()
        | st.fixed_dictionaries(
            {},
            optional={
                "a": scalars_of(BY_NAME[name]),
                "b": st.fixed_dictionaries({}, optional={"c": scalars_of(BY_NAME[name])}) | scalars_of(BY_NAME[name]),
            },
        ),
        min_size=1,
        max_size=10,
    )
)
_ROWS = _ALIKE | st.lists(
    st.none() | st.recursive(_SCALARS, lambda child: st.lists(child, max_size=2) | st.dictionaries(_KEYS, child, max_size=3), max_leaves=6),
    min_size=1,
    max_size=10,
)


@given(rows=_ROWS, data=st.data(), seed=st.integers(0, 1 << 32))
def test_bounds_of_paths_are_those_of_every_row(rows: list[Node | None], data: st.DataObject, seed: int) -> None:
    chance = random.Random(seed)
    schema = data.draw(schemas_for(rows) if chance.random() < 0.9 else schemas()).writable()
    note(schema.ddl())
    group = chance.randint(1, 5)
    found = json.loads(statistics(with_variants(rows), {"v": schema}, group))
    lows, highs = bounds_by_hand(rows, schema, group)
    assert found["numRecords"] == len(rows)
    assert found["nullCount"]["v"] == rows.count(None)
    assert decoded(found.get("minValues", {}).get("v")) == lows
    assert decoded(found.get("maxValues", {}).get("v")) == highs


_ORDINARY: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int8(): st.integers(-128, 127),
    pa.int32(): st.integers(-(1 << 31), (1 << 31) - 1),
    pa.int64(): st.integers(-(1 << 63), (1 << 63) - 1),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
    pa.string(): st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.text("a\U0010ffff", min_size=30, max_size=70),
    pa.bool_(): st.booleans(),
    pa.binary(): st.binary(max_size=4),
    pa.date32(): st.dates(),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(datetime.UTC)),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("ns"): st.datetimes(datetime.datetime(1680, 1, 1), datetime.datetime(2260, 1, 1)),
    pa.decimal128(9, 2): st.decimals(-9_999_999, 9_999_999, places=2),
    pa.decimal128(18, 0): st.integers(-(10**17), 10**17).map(Decimal),
    pa.decimal128(38, 10): st.integers(-(10**38) + 1, 10**38 - 1).map(lambda number: Decimal(f"{number}E-10")),
    pa.list_(pa.int64()): st.lists(st.integers(0, 9), max_size=2),
}


def bound_by_hand(values: list[Any], kind: pa.DataType, group: int, *, is_low: bool) -> Any:
    """What JSON has of the bound of a column's values, which may be none; no bound is None."""
    real = [value for value in values if value is not None and value == value]
    if not real or pa.types.is_nested(kind) or pa.types.is_boolean(kind) or pa.types.is_binary(kind):
        return None
    bound = min(real) if is_low else max(real)
    if pa.types.is_floating(kind):
        return None if not is_low or math.isinf(bound) or has_only_nan(values, group) else bound
    if pa.types.is_string(kind):
        return bound[:32] if is_low else cut_by_hand(bound)
    if isinstance(bound, datetime.datetime):
        cut = bound.replace(microsecond=bound.microsecond // 1000 * 1000, tzinfo=None)
        return cut.isoformat(timespec="milliseconds") + ("Z" if kind.tz else "")
    return bound.isoformat() if isinstance(bound, datetime.date) else bound


@given(data=st.data(), rows=st.integers(0, 9), group=st.integers(1, 4))
def test_bounds_of_columns_are_those_of_every_row(data: st.DataObject, rows: int, group: int) -> None:
    kind = data.draw(st.sampled_from(sorted(_ORDINARY, key=str)))
    values = data.draw(st.lists(st.none() | _ORDINARY[kind], min_size=rows, max_size=rows))
    has_struct = data.draw(st.lists(st.booleans(), min_size=rows, max_size=rows))
    column = pa.array(values, kind)
    # Below a null struct there are values all the same, which nobody sees; a dictionary is written in another way.
    inner = column.dictionary_encode() if pa.types.is_string(kind) else column
    nested = pa.StructArray.from_arrays([inner], names=["c"], mask=pa.array([not there for there in has_struct], pa.bool_()))
    found = FileStatistics.parse(statistics(pa.table({"c": column, "s": nested}), {}, group))
    seen = [value if there else None for value, there in zip(values, has_struct, strict=True)]
    assert found.rows == rows and found.tight
    if not pa.types.is_nested(kind):
        assert found.null_count(("c",)) == values.count(None)
        assert found.null_count(("s", "c")) == seen.count(None)
    # JSON has as many digits of a double as tell it from others.
    read: Any = (lambda bound: None if bound is None else float(bound)) if pa.types.is_floating(kind) else lambda bound: bound
    low, high = map(read, found.bounds(("c",)))
    assert (low, high) == (bound_by_hand(values, kind, group, is_low=True), bound_by_hand(values, kind, group, is_low=False))
    low, high = map(read, found.bounds(("s", "c")))
    if not pa.types.is_string(kind):
        assert (low, high) == (bound_by_hand(seen, kind, group, is_low=True), bound_by_hand(seen, kind, group, is_low=False))
    else:
        # The bounds of a dictionary are those of all that is in it.
        assert all(low <= value and (high is None or value <= high) for value in seen if value is not None)


def test_the_whole_text() -> None:
    table = of_json({"a": 3, "b": {"c": "x"}}, None, {"a": -1}).append_column("n", pa.array([1, None, 2], pa.int32()))
    table = table.append_column("s", pa.array([{"d": Decimal("1.50"), "l": [1]}, None, {"d": Decimal("-2.25"), "l": None}]))
    text = statistics(table, {"v": "a int, b struct<c: string>"})
    low = encode_variant(*encode({"$['a']": Scalar(BY_NAME["int32"], -1), "$['b']['c']": Scalar(BY_NAME["string"], "x")}))
    high = encode_variant(*encode({"$['a']": Scalar(BY_NAME["int32"], 3), "$['b']['c']": Scalar(BY_NAME["string"], "x")}))
    assert text == (
        f'{{"numRecords":3,"minValues":{{"v":"{low}","n":1,"s":{{"d":-2.25}}}},'
        f'"maxValues":{{"v":"{high}","n":2,"s":{{"d":1.50}}}},"nullCount":{{"v":1,"n":1,"s":{{"d":1}}}}}}'
    )


def test_a_path_with_values_of_other_types_is_left_out() -> None:
    table = of_json({"a": 1, "b": 1, "c": 1}, {"a": "x", "b": None, "c": 2}, {"a": 2, "b": 3, "d": [1]})
    found = FileStatistics.parse(statistics(table, {"v": "a bigint, b bigint, c bigint, d array<bigint>"}, rows=1))
    bounds = {name: found.variant_bounds(("v",), Path.parse(name)) for name in ("$.a", "$.b", "$.c", "$.d", "$.d[0]", "$")}
    # A Variant null is a value of another type as well.
    assert bounds == {**dict.fromkeys(bounds, (None, None)), "$.c": (Variant.from_python(1), Variant.from_python(2))}


def test_a_primitive_at_the_root() -> None:
    found = FileStatistics.parse(statistics(of_json(5, None, -7), {"v": "bigint"}))
    low, high = found.variant_bounds(("v",), Path())
    assert low is not None and high is not None
    assert (low.to_python(), high.to_python(), low.type_name) == (-7, 5, "int64")
    assert found.null_count(("v",)) == 1
    assert found.variant_bounds(("v",), Path.parse("$.a")) == (None, None)


@pytest.mark.parametrize(
    ("name", "type_name"),
    [
        *(("tinyint", "int8"), ("smallint", "int16"), ("int", "int32"), ("bigint", "int64")),
        *(("decimal(9,0)", "decimal4"), ("decimal(18,3)", "decimal8"), ("decimal(19,3)", "decimal16")),
    ],
)
def test_the_type_is_that_of_the_column(name: str, type_name: str) -> None:
    found = FileStatistics.parse(statistics(of_json({"a": 7}, {"a": 12}), {"v": f"a {name}"}))
    low, high = found.variant_bounds(("v",), Path.parse("$.a"))
    assert low is not None and high is not None
    assert (low.type_name, high.type_name) == (type_name, type_name)
    assert (low.to_python(), high.to_python()) == (7, 12)


def test_types_without_bounds() -> None:
    rows: list[Node | None] = [
        {
            "t": Scalar(BY_NAME["true"], True),
            "x": Scalar(BY_NAME["binary"], b"a"),
            "u": Scalar(BY_NAME["uuid"], uuid.UUID(int=1)),
            "m": Scalar(BY_NAME["time"], 1),
        }
    ]
    found = json.loads(statistics(with_variants(rows), {"v": "t boolean, x binary, u uuid, m time"}))
    assert found == {"numRecords": 1, "nullCount": {"v": 0}}


def test_floating_point_has_no_upper_bound_because_of_nan() -> None:
    assert one_column([1.5, math.nan, 7.0], pa.float64()) == (Decimal("1.5"), None, 0)
    assert one_column([math.nan], pa.float64()) == (None, None, 0)
    assert one_column([-math.inf, 1.0], pa.float64()) == (None, None, 0)
    low, _, _ = one_column([0.0, 1.0], pa.float32())
    assert str(low) == "-0.0"


def test_variants_within_structs_and_lists() -> None:
    inner = of_json({"a": 1}, {"a": 2}, None)["v"].chunk(0)
    struct = pa.StructArray.from_arrays([inner], fields=[vq.variant_field("v")], mask=pa.array([False, True, False]))
    listed = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), inner, type=pa.list_(vq.variant_field("element")))
    table = pa.table({"s": struct, "l": listed})
    found = FileStatistics.parse(statistics(table, {"s.v": "a bigint", ("l", "element"): "a bigint"}))
    assert found.null_count(("s", "v")) == 2
    # Below a null struct nobody sees a value.
    assert found.variant_bounds(("s", "v"), Path.parse("$.a")) == (Variant.from_python(1), Variant.from_python(1))
    assert found.null_count(("l",)) is None and found.bounds(("l",)) == (None, None)


def test_texts_of_more_than_a_page_have_no_bounds() -> None:
    assert one_column(["a", "b" * 5_000], pa.string()) == (None, None, 0)
    assert one_column(["a", "b" * 5_000], pa.string(), rows=1) == (None, None, 0)
    assert one_column(["a", "b" * 4_000], pa.string()) == ("a", "b" * 32 + "\U0010ffff", 0)


def test_what_a_writer_left_out_is_not_said(tmp_path: FilePath) -> None:
    table = pa.table({"a": [1, None], "b": [3, 4]})
    pq.write_table(table, tmp_path / "a.parquet", write_statistics=["b"])
    found = FileStatistics.parse(statistics_of(DataFile(str(tmp_path / "a.parquet")), table.schema, {}, ALL))
    assert found.bounds(("a",)) == (None, None) and found.bounds(("b",)) == (3, 4)
    assert found.null_count(("b",)) == 0


def test_null_counts_of_arrow_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """They miss the nulls around a column written from a dictionary; without definition levels nothing is said."""
    monkeypatch.setattr("varquet.delta.statistics._Leaves._held", lambda *_: None)
    found = FileStatistics.parse(statistics(of_json({"a": 1}, None), {"v": "a int"}))
    assert found.null_count(("v",)) is None
    assert found.variant_bounds(("v",), Path.parse("$.a")) == (Variant.from_python(1), Variant.from_python(1))


def test_columns_that_the_file_has_not(tmp_path: FilePath) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64()), vq.variant_field("v")])
    shredded: dict[Position, ShreddingSchema] = {("v",): ShreddingSchema.parse("x int")}
    assert json.loads(statistics_of(DataFile(str(tmp_path / "a.parquet")), schema, shredded, ALL)) == {
        "numRecords": 1,
        "minValues": {"a": 1},
        "maxValues": {"a": 1},
        "nullCount": {"a": 0},
    }


def test_a_file_without_rows() -> None:
    table = of_json({"a": 1}).slice(0, 0)
    assert json.loads(statistics(table, {"v": "a int"})) == {"numRecords": 0, "nullCount": {"v": 0}}


SCHEMA = pa.schema(
    [
        pa.field("a", pa.int64()),
        pa.field("s", pa.struct([("X", pa.int64()), ("t", pa.struct([("y", pa.string()), ("z", pa.list_(pa.int64()))]))])),
        vq.variant_field("v"),
        pa.field("d.e", pa.int64()),
    ]
)


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, [("a",), ("s", "X"), ("s", "t", "y"), ("s", "t", "z"), ("v",), ("d.e",)]),
        ({"delta.dataSkippingNumIndexedCols": "-1"}, [("a",), ("s", "X"), ("s", "t", "y"), ("s", "t", "z"), ("v",), ("d.e",)]),
        ({"delta.dataSkippingNumIndexedCols": "3"}, [("a",), ("s", "X"), ("s", "t", "y")]),
        ({"delta.dataSkippingNumIndexedCols": "0"}, []),
        ({"delta.dataSkippingStatsColumns": "s.x, V", "delta.dataSkippingNumIndexedCols": "1"}, [("s", "X"), ("v",)]),
        ({"delta.dataSkippingStatsColumns": " s . `T` ,`d.e`"}, [("s", "t", "y"), ("s", "t", "z"), ("d.e",)]),
        ({"delta.dataSkippingStatsColumns": "a.b, d.e, nothing"}, []),
        ({"delta.dataSkippingStatsColumns": " "}, []),
    ],
)
def test_which_columns_are_looked_at(properties: dict[str, str], expected: list[Any]) -> None:
    assert Indexing.of(properties).columns(SCHEMA) == expected


def test_the_first_32_columns() -> None:
    schema = pa.schema([(f"c{number}", pa.int64()) for number in range(40)])
    assert Indexing.of({}).columns(schema) == [(f"c{number}",) for number in range(32)]


@pytest.mark.parametrize("text", ["a,,b", "a,", "`a", "a..b", "a b", ".a", "``"])
def test_names_that_cannot_be_read(text: str) -> None:
    with pytest.raises(SchemaError, match="expected names of columns as delta.dataSkippingStatsColumns, got "):
        Indexing.of({"delta.dataSkippingStatsColumns": text})


@pytest.mark.parametrize("text", ["", "-2", "1.5", "x"])
def test_numbers_that_cannot_be_read(text: str) -> None:
    with pytest.raises(SchemaError, match="expected a number of columns from -1 on as delta.dataSkippingNumIndexedCols, got "):
        Indexing.of({"delta.dataSkippingNumIndexedCols": text})


def test_a_backtick_in_a_name() -> None:
    assert Indexing.of({"delta.dataSkippingStatsColumns": "`a``b`.c"}).names == (("a`b", "c"),)


@pytest.mark.parametrize(
    "text",
    [
        *(
            None,
            "",
            "null",
            "[]",
            "7",
            "{",
            "x",
            '{"numRecords": "3"}',
            '{"numRecords": -1}',
            '{"numRecords": 1.0}',
            '{"numRecords": true}',
        ),
        *(
            '{"nullCount": 3}',
            '{"nullCount": {"a": {"b": 1}}}',
            '{"nullCount": {"a": null}, "minValues": [1], "maxValues": {"a": {"b": 2}}}',
        ),
        *(
            '{"minValues": {"a": NaN}}',
            '{"minValues": {"a": 1e99999999999999999999}}',
            "[" * 100_000,
            '{"numRecords": ' + "9" * 5_000 + "}",
        ),
    ],
)
def test_what_cannot_be_understood_is_not_known(text: str | None) -> None:
    found = FileStatistics.parse(text)
    assert found.rows is None
    assert found.null_count(("a",)) is None
    assert found.bounds(("a",)) == (None, None)
    assert found.variant_bounds(("a",), Path()) == (None, None)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda child: (
            st.lists(child)
            | st.dictionaries(st.sampled_from(("numRecords", "nullCount", "minValues", "maxValues", "tightBounds", "a")), child)
        ),
    )
)
def test_any_json_is_read(value: Any) -> None:
    found = FileStatistics.parse(json.dumps(value))
    for column in (("a",), ("a", "a"), ()):
        assert found.null_count(column) is None or isinstance(found.null_count(column), int)
        assert len(found.bounds(column)) == len(found.variant_bounds(column, Path(("a",)))) == 2


def test_whether_bounds_are_tight() -> None:
    assert FileStatistics.parse("{}").tight
    assert FileStatistics.parse('{"tightBounds": null}').tight
    assert not FileStatistics.parse('{"tightBounds": false}').tight
    assert not FileStatistics.parse('{"tightBounds": "?"}').tight


def test_decimals_keep_their_digits() -> None:
    digits = "1234567890123456789012345678.0123456789"
    assert FileStatistics.parse(f'{{"minValues":{{"a":{digits}}}}}').bounds(("a",)) == (Decimal(digits), None)
    with decimal.localcontext(prec=3):
        assert one_column([Decimal(digits)], pa.decimal128(38, 10)) == (Decimal(digits), Decimal(digits), 0)


def test_the_statistics_that_the_protocol_prints() -> None:
    text = (
        '{"nullCount":{"varCol":2},"minValues":{"varCol":"0S&u501fk+ze0(tB98CpzF6vU0rJl95HpNdvjbtatpi(cu0wW^cTu"},'
        '"maxValues":{"varCol":"0S&u500&]LC42A9vqZe}wb#-i1}-a+cT!xdbWhT9cTx}7v<+K"}}'
    )
    found = FileStatistics.parse(text)
    assert found.variant_bounds(("varCol",), Path.parse("$.a")) == (Variant.from_python("min-string"), Variant.from_python("variant"))
    assert found.variant_bounds(("varCol",), Path.parse("$.b.c")) == (Variant.from_python(1), Variant.from_python(100))
    assert found.variant_bounds(("varCol",), Path.parse("$.b")) == (None, None)
    assert pickle.loads(pickle.dumps(found)) == found


def test_bounds_of_two_types_and_of_no_primitive_are_not_believed() -> None:
    def text(value: Any) -> str:
        return encode_variant(*encode(value))

    one, two = Scalar(BY_NAME["int8"], 1), Scalar(BY_NAME["int16"], 2)
    found = FileStatistics.parse(
        json.dumps({"minValues": {"v": text({"$['a']": one, "$['b']": [one]})}, "maxValues": {"v": text({"$['a']": two, "$['c']": one})}})
    )
    assert found.variant_bounds(("v",), Path.parse("$.a")) == (None, None)
    assert found.variant_bounds(("v",), Path.parse("$.b")) == (None, None)
    assert found.variant_bounds(("v",), Path.parse("$.c")) == (None, Variant.from_python(1))
    assert FileStatistics.parse(json.dumps({"minValues": {"v": text([one])}})).variant_bounds(("v",), Path()) == (None, None)
