"""`profile`: what it takes, what it says, and what it refuses."""

from __future__ import annotations

import io
import json
import math
import random
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from variant_columns import column_of

import varquet as vq
from varquet.columns.arrow import variant_children
from varquet.errors import InvalidVariantError, JsonError, UnsupportedTypeError, VarquetError
from varquet.profiles.profiling import _Counting
from varquet.samples import generate
from varquet.variant.decimals import unscaled_and_scale

TEXTS = ['{"a":1,"b":[1.50,"x"]}', None, '{"a":"one"}', "null", '{"a":300,"b":[]}']


@pytest.fixture
def column() -> pa.Array:
    return vq.parse_json(pa.array(TEXTS))


def test_what_is_known_of_a_path(column: pa.Array) -> None:
    found = vq.profile(column)
    assert (found.rows, found.nulls, found.values, len(found)) == (5, 1, 4, 4)
    assert [facts.path for facts in found] == ["$", "$.a", "$.b", "$.b[*]"]
    assert found["$"].types == {"null": 1, "object": 3}
    a = found["$.a"]
    assert (a.count, a.rows, a.nulls, a.bytes, a.types) == (3, 3, 0, 9, {"int8": 1, "int16": 1, "string": 1})
    assert (a.integer_range, a.decimal_digits, a.array_lengths, a.distinct) == ((1, 300), None, None, 3)
    assert (a.first_row("int8"), a.first_row("string"), a.first_row("date")) == (0, 2, None)
    assert (a.bounds("string"), a.bounds("int16"), a.bounds("double")) == ((b"one", b"one"), (300, 300), None)
    assert found["$.b"].array_lengths == (0, 2, 2)
    assert found["$.b[*]"].decimal_digits == (1, 2)
    assert found["$.b[*]"].rows == 1
    with pytest.raises(KeyError):
        found["$.c"]


def test_containers_of_one_row_are_any_number_and_come_in_their_order() -> None:
    many = [[k, {"a": k, "b": [k]}] for k in range(1_000)]
    found = vq.profile(vq.parse_json(pa.array([json.dumps(many)])))
    assert found["$[*]"].count == found["$[*][*].a"].count == found["$[*][*].b[*]"].count == 1_000
    assert found["$[*][*].b"].array_lengths == (1, 1, 1_000)
    assert (found["$[*][*]"].count, found["$[*][*]"].rows) == (2_000, 1)
    assert [conflict.example for conflict in found.conflicts() if conflict.path == "$[*][*]"] == ["0", "128", '{"a":0,"b":[0]}']


def test_fields_come_in_any_order_and_number() -> None:
    """Which field comes next is guessed from the rows before: the guess must not matter, not even where a name comes twice."""
    choice = random.Random(1)
    names = b"".join(b"abcdef"[k : k + 1] for k in range(6))
    metadata = bytes([1, len(names), *range(len(names) + 1)]) + names
    rows, counts, having = [], Counter[str](), Counter[str]()
    for number in range(300):
        in_row = [[choice.randrange(4) for _ in range(choice.randrange(5))] for _ in range(2)]
        inner = [bytes([2, len(ids), *ids, *range(0, 2 * len(ids) + 1, 2)]) + b"\x0c\x07" * len(ids) for ids in in_row]
        ends = [0, len(inner[0]), len(inner[0]) + len(inner[1])]
        # The fields e and f hold objects with the same names; which comes first changes.
        rows.append((metadata, bytes([2, 2, 4 + number % 2, 5 - number % 2, *ends]) + b"".join(inner)))
        for field, ids in zip("ef" if number % 2 == 0 else "fe", in_row, strict=True):
            counts.update(f"$.{field}.{'abcd'[one]}" for one in ids)
            having.update(f"$.{field}.{'abcd'[one]}" for one in set(ids))
    found = vq.profile(column_of(rows))
    assert {facts.path: (facts.count, facts.rows) for facts in found if len(facts.steps) == 2} == {
        path: (counts[path], having[path]) for path in counts
    }
    assert all(facts.types == {"int8": facts.count} for facts in found if len(facts.steps) == 2)
    few = vq.profile(column_of(rows), most_names=2)
    assert few["$.e"].count == few["$.f"].count == 300
    assert sum(facts.count for facts in few if len(facts.steps) == 2) == counts.total()


def test_examples_of_the_last_rows() -> None:
    """The last rows of a column are counted in a copy of their bytes."""
    found = vq.profile(vq.parse_json(pa.array(['{"a":1}'] * 50 + ['{"a":"last"}', '{"a":[7]}', "true"])))
    assert [(one.path, one.row, one.example) for one in found.conflicts()] == [
        ("$", 52, "true"),
        ("$", 0, '{"a":1}'),
        ("$.a", 0, "1"),
        ("$.a", 50, '"last"'),
        ("$.a", 51, "[7]"),
    ]


@pytest.mark.parametrize(
    ("value", "deepest", "count"),
    [
        ("03030001041503030000000f03030000000903030000000310ff7f", "$[*][*][*][*]", 27),
        ("030200001d03020000180302000013030200000e03020000091c000000000000f83f", "$[*][*][*][*][*]", 32),
    ],
)
def test_elements_that_share_their_bytes_are_counted_each(value: str, deepest: str, count: int) -> None:
    column = column_of([(b"\x01\x00\x00", bytes.fromhex(value))])
    vq.validate(column)
    found = vq.profile(column)
    assert (found[deepest].rows, found[deepest].count) == (1, count)


def test_bounds_sort_like_values() -> None:
    values = [-1.5, 2.5, 0.0, math.inf, -math.inf, math.nan, True, False, "b", "", b"\xff", b"\x00\x01"]
    rows = [vq.Variant.from_python(value) for value in values]
    found = vq.profile(column_of([(row.metadata, row.value) for row in rows]))["$"]
    assert found.bounds("double") == (-math.inf, math.inf)
    assert found.bounds("boolean") == (False, True)
    assert found.bounds("string") == (b"", b"b")
    assert found.bounds("binary") == (b"\x00\x01", b"\xff")
    assert vq.profile(column_of([(rows[0].metadata, rows[0].value)]))["$"].bounds("double") == (-1.5, -1.5)


@pytest.mark.parametrize("number", ["-1.25", "-5000.00", "-123456789012.34", "0.00", "-12345678901234567890123456789.5", "123.5"])
def test_bounds_of_wide_decimals(number: str) -> None:
    """Also of small negative ones, whose two halves are both large."""
    unscaled, scale = unscaled_and_scale(Decimal(number))
    row = (b"\x01\x00\x00", bytes((10 << 2, scale)) + unscaled.to_bytes(16, "little", signed=True))
    assert vq.profile(column_of([row]))["$"].bounds("decimal16") == (float(number), float(number))


def test_conflicts_with_values_that_their_type_does_not_allow() -> None:
    """A time outside of the day is counted, and shown as the bytes that it is."""
    outside = bytes((17 << 2,)) + (90_000_000_000).to_bytes(8, "little")
    found = vq.profile(column_of([(b"\x01\x00\x00", outside), (b"\x01\x00\x00", bytes((1 << 2 | 1,)) + b"x")]))
    assert {one.type: one.example for one in found.conflicts()} == {"time": f"... ({outside.hex()})", "string": '"x"'}


def test_zero_has_a_digit_unless_it_has_some_behind_the_point() -> None:
    for header, size in ((8, 4), (9, 8), (10, 16)):
        zeros = [(b"\x01\x00\x00", bytes((header << 2, scale)) + bytes(size)) for scale in (0, 1)]
        assert [vq.profile(column_of([zero]))["$"].decimal_digits for zero in zeros] == [(1, 0), (0, 1)]
        assert vq.profile(column_of(zeros))["$"].decimal_digits == (1, 1)


@pytest.mark.parametrize(
    "text",
    [
        '"value {}"',
        "{}",
        "1{}000",
        "-{}.25",
        "0.{}",
        "{}e5",
        '"{}"',
        '"a text that begins and ends like all others, with {} somewhere in the middle of it"',
    ],
)
def test_distinct_values_are_about_as_many(text: str) -> None:
    for count in (1, 10, 200, 5_000, 100_000):
        found = vq.profile(vq.parse_json(pa.array([text.format(n % count) for n in range(max(count, 1000))])))["$"]
        assert abs(found.distinct - count) <= max(1, 0.2 * count)


def test_every_source_gives_the_same(tmp_path: Path) -> None:
    lines = [bytes(line) for line in generate("events", 500, seed=1)]
    column = vq.parse_json(pa.array(lines, pa.binary()))
    expected = vq.profile(column)
    table = pa.table([column], schema=pa.schema([vq.variant_field("v")]))
    (tmp_path / "events.ndjson").write_bytes(b"\n".join(lines))
    vq.write(table, tmp_path / "standard.parquet", {"v": "id bigint, user struct<id: bigint>, tags array<string>"}, exact_types=True)
    vq.write(table, tmp_path / "draft.parquet", {"v": "id bigint"}, layout="draft", exact_types=True)
    texts = pa.array(lines, pa.binary()).cast(pa.string())
    for data in (
        table,
        table.to_batches()[0],
        texts,
        tmp_path / "events.ndjson",
        tmp_path / "standard.parquet",
        tmp_path / "draft.parquet",
    ):
        found = vq.profile(data)
        assert [(facts.path, facts.types, facts.rows) for facts in found] == [(facts.path, facts.types, facts.rows) for facts in expected]
    assert vq.profile([tmp_path / "events.ndjson", tmp_path / "events.ndjson"]) == expected.merge(expected)


def test_everything_of_arrow_gives_the_same(tmp_path: Path) -> None:
    texts = [bytes(line).decode() for line in generate("events", 300, seed=1)]
    column = vq.parse_json(pa.array(texts))
    expected = vq.profile(column)
    table = pa.table([pa.array(range(300)), column], schema=pa.schema([pa.field("n", pa.int64()), vq.variant_field("v")]))
    batches = table.to_batches(max_chunksize=100)
    ddl = "id bigint, user struct<id: bigint>, tags array<string>"
    shredded = [vq.shred(column, ddl, exact_types=True, layout=layout) for layout in ("parquet", "draft")]
    vq.write(table, tmp_path / "standard.parquet", {"v": ddl}, exact_types=True)
    vq.write(table, tmp_path / "draft.parquet", {"v": ddl}, layout="draft", exact_types=True)
    files = [tmp_path / "standard.parquet", tmp_path / "draft.parquet"]
    for data in (
        [table],
        batches,
        tuple(batches),
        [table.slice(0, 50), *table.slice(50).to_batches()],
        pa.RecordBatchReader.from_batches(table.schema, batches),
        ds.dataset(table),
        ds.dataset(files[0]),
        ds.dataset(files[1]),
        ds.dataset(table).scanner(columns=["v"]),
        ds.dataset(table).scanner(),
        ds.Scanner.from_batches(batches, schema=table.schema),
        *shredded,
        *(pa.chunked_array([one.slice(0, 90), one.slice(90)]) for one in shredded),
        *(pa.table({"n": range(300), "v": one}) for one in shredded),
        *(pq.read_table(file) for file in files),
        pq.read_table(files[0]).to_batches(),
    ):
        found = vq.profile(data)
        assert [(facts.path, facts.types, facts.rows) for facts in found] == [(facts.path, facts.types, facts.rows) for facts in expected]
    assert vq.profile(pa.table({"t": texts, "u": texts}), "t") == vq.profile([pa.table({"t": texts})], "t") == vq.profile(pa.array(texts))
    plan = vq.Plan.from_profiles({"v": expected}).columns["v"]
    assert vq.drift(plan, ds.dataset(table)) == vq.drift(plan, expected)


def test_streams_of_arrow_cannot_be_read_twice() -> None:
    column = vq.parse_json(pa.array([f'{{"a{n}":1}}' for n in range(60)] + ['{"late":1}'] * 60))
    table = pa.table([column], schema=pa.schema([vq.variant_field("v")]))
    assert (
        vq.profile(ds.dataset(table), most_names=50)
        == vq.profile(ds.dataset(table).scanner(), most_names=50)
        == vq.profile(column, most_names=50)
    )
    for data in (
        pa.RecordBatchReader.from_batches(table.schema, table.to_batches()),
        ds.Scanner.from_batches(table.to_batches(), schema=table.schema),
    ):
        with pytest.raises(VarquetError, match="expected data that can be read twice, because an object has"):
            vq.profile(data, most_names=50)


def test_what_is_no_data_is_told(column: pa.Array) -> None:
    table = pa.table([column, pa.array([1] * 5)], schema=pa.schema([vq.variant_field("v"), pa.field("n", pa.int64())]))
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    for data in (table, [table], table.to_batches()[0], reader, ds.dataset(table), ds.dataset(table).scanner()):
        with pytest.raises(UnsupportedTypeError, match="expected one column 'w', got none. Hint: the columns are 'v', 'n'"):
            vq.profile(data, "w")
    with pytest.raises(UnsupportedTypeError, match="expected one column 'v', got none. Hint: the columns are 'w'"):
        vq.profile([table, pa.table([column], schema=pa.schema([vq.variant_field("w")]))])
    with pytest.raises(UnsupportedTypeError, match="expected one column 'v', got 2"):
        vq.profile(pa.table([column, column], names=["v", "v"]), "v")
    for other, told in (
        ([1, 2], "a list of int"),
        ([], "an empty list"),
        ({"a": 1}, "a dict"),
        ([table, "x"], "a list of Table and str"),
        (3, "a int"),
    ):
        with pytest.raises(UnsupportedTypeError, match=f"expected a column, tables, record batches, a dataset, or files, got {told}"):
            vq.profile(other)  # type: ignore[arg-type]


def test_maps_are_objects() -> None:
    maps = pa.array([[("host", "a"), ("x", None)], None, []], pa.map_(pa.string(), pa.string()))
    found = vq.profile(maps)
    assert found["$.host"].types == {"string": 1}
    assert found["$.x"].types == {"null": 1}


def test_a_sample_is_the_same_in_any_order() -> None:
    texts = [f'{{"n":{n}}}' for n in range(2000)]
    there, back = (vq.profile(vq.parse_json(pa.array(each)), sample=0.25) for each in (texts, texts[::-1]))
    assert there == back
    assert 400 < there.values < 600


def test_a_sample_has_equal_values_all_or_not_at_all() -> None:
    values = vq.parse_json(pa.array([f'{{"n":{n % 20}}}' for n in range(2000)] + [None] * 50))
    found = vq.profile(values, sample=0.5)
    assert (found.values % 100, found.nulls) == (0, 50)
    assert found == vq.profile(values[:700], sample=0.5).merge(vq.profile(values[700:], sample=0.5))
    with pytest.raises(VarquetError, match="expected a sample with values in it, got none of 2000"):
        vq.profile(values, sample=1e-9)
    assert vq.profile(values, sample=1e-9, candidates={}).values == 0
    assert vq.profile(values[2000:], sample=1e-9).nulls == 50


def test_a_stream_cannot_be_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = b"".join(b'{"m":{"a%d":1}}\n' % n for n in range(60)) + b'{"m":{"late":1}}\n' * 60
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
    assert vq.profile("-")["$.m.late"].rows == 60
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
    with pytest.raises(VarquetError, match="expected data that can be read twice, because an object has more than 50 names"):
        vq.profile("-", most_names=50)


def test_progress_is_told(column: pa.Array) -> None:
    told: list[int] = []
    vq.profile(column, on_rows=told.append)
    assert sum(told) == 5


def test_nothing_at_all() -> None:
    found = vq.profile(pa.array([], vq.VARIANT))
    assert (found.rows, len(found)) == (0, 0)
    assert vq.Profile.from_bytes(found.to_bytes()) == found
    assert vq.profile(pa.nulls(3, vq.VARIANT)).nulls == 3


def test_refusals(tmp_path: Path, column: pa.Array) -> None:
    with pytest.raises(InvalidVariantError) as caught:
        vq.profile(column_of([(b"\x01\x00\x00", b"\x00"), (b"\x01\x00\x00", b"\x0c")]))
    assert caught.value.row == 1
    (tmp_path / "bad.ndjson").write_text("1\noops\n", encoding="utf-8")
    with pytest.raises(JsonError, match="line 2"):
        vq.profile(tmp_path / "bad.ndjson")
    for options, message in (({"sample": 0}, "sample"), ({"share": 2}, "share"), ({"most_names": 0}, "at least one name")):
        with pytest.raises(UnsupportedTypeError, match=message):
            vq.profile(column, **options)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedTypeError, match="expected a table with one Variant column, or else one of maps, got none"):
        vq.profile(pa.table({"n": [1]}))


def test_damaged_bytes_are_refused(column: pa.Array) -> None:
    data = vq.profile(column).to_bytes()
    assert vq.Profile.from_bytes(memoryview(data)) == vq.profile(column)
    for at in range(len(data)):
        for damaged in (data[:at], data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]):
            with pytest.raises(VarquetError, match="expected (the bytes of a profile, got|a profile of version)"):
                vq.Profile.from_bytes(damaged)
    for other in (b"oops", b"", data + b"x", data[:15] + b"\x04" + data[16:]):
        with pytest.raises(VarquetError):
            vq.Profile.from_bytes(other)


def test_the_first_row_is_the_smallest_whoever_comes_first() -> None:
    """A thread may be late with earlier rows."""
    counting = _Counting(1024, 0.01, 1.0, {}, lambda _: None)
    column = vq.parse_json(pa.array(["1"] * 3 + ['"a"'] * 2))
    for first in (2, 0, 4, 3, 1):
        counting.count((variant_children(column[first : first + 1]), first))
    found = counting.run([], 1)
    assert (found["$"].first_row("int8"), found["$"].first_row("string")) == (0, 3)
    assert [(one.type, one.row) for one in found.conflicts()] == [("int8", 0), ("string", 3)]


def test_examples_do_not_depend_on_the_cut() -> None:
    columns = [vq.parse_json(pa.array([text])) for text in ('{"a":{"b":1}}', '{"a":1}')]
    whole, parts = vq.profile(pa.concat_arrays(columns)), vq.profile(pa.chunked_array(columns))
    assert whole.conflicts() == parts.conflicts()
    assert [one.example for one in parts.conflicts()] == ["1", '{"b":1}']


def test_conflicts_come_with_examples() -> None:
    values = [{"a": 1, "b": 1}, {"a": 2.5, "b": "x" * 100}, {"a": None, "b": {"c": [1]}}, {"a": 3, "b": 2}, {"b": [True, None]}, {"b": "y"}]
    found = vq.profile(vq.parse_json(pa.array(list(map(json.dumps, values)))))
    assert [(one.path, one.type, one.count, one.row) for one in found.conflicts()] == [
        ("$.b", "int8", 2, 0),
        ("$.b", "string", 2, 1),
        ("$.b", "object", 1, 2),
        ("$.b", "array", 1, 4),
    ]
    assert [one.example for one in found.conflicts()] == ["1", '"' + "x" * 59 + '..."', '{"c":[1]}', "[true,null]"]
    assert vq.Profile.from_bytes(found.to_bytes()).conflicts() == found.conflicts()


def test_conflicts_of_parts_are_those_of_the_whole() -> None:
    parts = [vq.profile(vq.parse_json(pa.array([text]))) for text in ('{"a": 1}', '{"a": "x"}', '{"a": "b"}')]
    merged = parts[2].merge(parts[1], parts[0])
    assert not any(part.conflicts() for part in parts)
    assert [(one.type, one.count, one.example) for one in merged.conflicts()] == [("int8", 1, "1"), ("string", 2, '"b"')]
    assert merged.conflicts() == parts[0].merge(parts[1]).merge(parts[2]).conflicts()


def test_bounds_of_decimals_are_doubles_near_them() -> None:
    texts = ["-12345.5", "0.25", "99.75", "1234567890.12", "-0.5", "12345678901234567890.5", "1e-30", "-99999999999999999999.25"]
    rows = [vq.Variant.from_python(Decimal(text)) for text in texts]
    found = vq.profile(column_of([(row.metadata, row.value) for row in rows]))["$"]
    assert found.bounds("decimal4") == (-12345.5, 99.75)
    assert found.bounds("decimal8") == (1234567890.12, 1234567890.12)
    assert found.bounds("decimal16") == pytest.approx((-99999999999999999999.25, 12345678901234567890.5), rel=1e-15)
