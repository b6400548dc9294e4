"""`scan`: what it reads, what it skips, where its values come from, and what it says of mistakes."""

from __future__ import annotations

import datetime
import json
import pickle
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from patched_footers import patch_file

import varquet as vq
from varquet.errors import UnsupportedTypeError
from varquet.parquet.pages import read_pages
from varquet.profiles.plan import ColumnPlan, Plan
from varquet.queries import opened
from varquet.queries.scanning import Scan

SCHEMA = "a bigint, b struct<c: string, d: decimal(9,1)>, items array<struct<sku: string>>, free variant"


def table_of(values: list[Any], **columns: pa.Array) -> pa.Table:
    column = vq.parse_json(pa.array([None if value is None else json.dumps(value) for value in values]))
    made = pa.table({"n": pa.array(range(len(values)), pa.int64()), **columns, "v": column})
    return made.set_column(made.num_columns - 1, vq.variant_field("v"), made["v"])


def write(path: Path, values: list[Any], schema: str = SCHEMA, rows: int = 10, **columns: pa.Array) -> Scan:
    vq.write(table_of(values, **columns), path, {"v": schema}, row_group_rows=rows)
    return vq.scan(path)


def event(number: int) -> dict[str, Any]:
    return {
        "a": number,
        "b": {"c": f"c{number:03d}", "d": number / 2},
        "items": [{"sku": f"s{number}"}],
        "free": {"x": number},
        "rest": number,
    }


EVENTS = [event(number) for number in range(100)]


@pytest.fixture
def events(tmp_path: Path) -> Scan:
    return write(tmp_path / "events.parquet", EVENTS)


def found(scan: Scan) -> list[int]:
    return scan.select("n").table()["n"].to_pylist()  # type: ignore[no-any-return]


def test_a_file_written_anew_is_understood_anew(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    for schema in ("a bigint", "a string, b struct<c: string>", "b variant"):
        path.unlink(missing_ok=True)
        scan = write(path, EVENTS[:20], schema).select({"a": "$.a bigint", "c": "$.b.c string"})
        assert scan.table().to_pylist() == [{"a": one["a"], "c": one["b"]["c"]} for one in EVENTS[:20]]


def test_values_of_another_type_are_put_between_the_typed_ones(tmp_path: Path) -> None:
    given = [1, "2", None, 3.75, "x", [4], {"b": 5}, True, 7]
    values = [{} if k % 10 == 9 else {"a": given[k % 10]} for k in range(50)]
    scan = write(tmp_path / "mixed.parquet", values, "a bigint", rows=25)
    whole = [1, 2, None, 3, None, None, None, 1, 7, None] * 5
    assert scan.select({"a": "$.a bigint"}).table()["a"].to_pylist() == whole
    assert scan.select({"a": "$.a double"}).table()["a"].to_pylist() == [3.75 if one == 3 else one for one in whole]
    texts = ["1", "2", None, "3.75", "x", "[4]", '{"b":5}', "true", "7", None] * 5
    assert scan.select({"a": "$.a string"}).table()["a"].to_pylist() == texts
    assert scan.where("$.a::bigint >= 2").count() == 15


_RUN_COLUMNS = {"a": "$.a bigint", "text": "$.b.c string", "d": "$.b.d double", "as text": "$.a string"}


@pytest.mark.parametrize("select", [["a"], ["text"], ["d"], ["as text"], ["a", "d"], list(_RUN_COLUMNS)], ids=str)
def test_row_groups_are_read_at_once_as_one_by_one(tmp_path: Path, select: list[str]) -> None:
    values: list[Any] = [{"a": k, "b": {"c": f"c{k}", "d": k / 2}} if k % 3 else None for k in range(200)]
    for k in range(80, 200, 7):
        values[k] = {"a": [str(k), None, [k], {"x": {"y": k}}, 2.5][k % 5], "b": {"c": k, "d": "7" if k % 2 else k}}
    scan = write(tmp_path / "f.parquet", values).select({name: _RUN_COLUMNS[name] for name in select})
    expected = vq.scan(table_of(values)).select({name: _RUN_COLUMNS[name] for name in select}).table()
    for threads in (1, 2, 5, 40):
        assert replace(scan, _threads=threads).table().combine_chunks().equals(expected.combine_chunks())
    assert pa.Table.from_batches(list(scan.limit(77).batches())).to_pylist() == expected.slice(0, 77).to_pylist()


def test_row_groups_of_nothing_but_nulls(tmp_path: Path) -> None:
    values = [{"a": k} if k // 10 in (0, 5, 9) else {"a": None} if k % 2 else {} for k in range(100)]
    scan = write(tmp_path / "f.parquet", values).select({"a": "$.a bigint", "c": "$.b.c string"})
    assert replace(scan, _threads=1).table().to_pylist() == [{"a": one.get("a"), "c": None} for one in values]


def test_paths_as_columns(events: Scan) -> None:
    query = events.select(
        {"a": "$.a bigint", "c": "$.b.c string", "sku": "$.items[0].sku string", "x": "$.free.x int", "r": "$.rest double"}
    )
    assert query.where("$.a in (3, 50)").table().to_pylist() == [
        {"a": 3, "c": "c003", "sku": "s3", "x": 3, "r": 3.0},
        {"a": 50, "c": "c050", "sku": "s50", "x": 50, "r": 50.0},
    ]
    assert query.schema.types == [pa.int64(), pa.string(), pa.string(), pa.int32(), pa.float64()]


def test_parts_as_variants_and_text(events: Scan) -> None:
    made = events.select({"b": "$.b", "i": "$.items[-1]", "t": "$.b string", "none": "$.b.zz"}).where("$.a = 7").table()
    assert vq.to_json(made["b"]).to_pylist() == ['{"c":"c007","d":3.5}']
    assert vq.to_json(made["i"]).to_pylist() == ['{"sku":"s7"}']
    assert made["t"].to_pylist() == ['{"c":"c007","d":3.5}']
    assert made["none"].null_count == 1
    assert made.schema.field("b").equals(vq.variant_field("b"), check_metadata=True)


def test_all_columns_of_some_rows(events: Scan) -> None:
    made = events.where("$.a between 20 and 22").table()
    assert made.column_names == ["n", "v"]
    assert [json.loads(text) for text in vq.to_json(made["v"]).to_pylist()] == EVENTS[20:23]
    assert events.select("v").where("$.b.c = 'c005'").table()["v"].to_pylist() == events.table()["v"].to_pylist()[5:6]


@pytest.mark.parametrize(
    ("predicate", "groups"),
    [
        ("$.a = 55", [5]),
        ("$.a < 10", [0]),
        ("$.a::bigint >= 95", [9]),
        ("$.a::decimal(20,0) >= 95", [9]),
        ("$.b.c starts with 'c04'", [4]),
        ("$.b.c = 'c041'", [4]),
        ("$.b.d < 5", [0]),
        ("not $.a < 90", [9]),
        ("$.a = 5 or $.b.c = 'c099'", [0, 9]),
        ("$.a in (5, 6, null)", [0]),
        ("$.a is null", []),
        ("n = 31", [3]),
        # Of another type, from a residual, or within an array: nothing is skipped but by the bounds of all elements.
        ("$.a::string = '55'", list(range(10))),
        ("$.rest = 55", list(range(10))),
        ("$.free.x = 55", list(range(10))),
        ("$.items[0].sku = 's55'", [0, 5]),
        ("$.items[3].sku is null", list(range(10))),
        ("$.b.d > 49", [9]),
        # No text is a number here, and no object.
        ("$.b = 5", []),
    ],
)
def test_row_groups_that_cannot_match_are_not_read(events: Scan, predicate: str, groups: list[int]) -> None:
    asked = events.where(predicate)
    (file,) = asked.explain().files
    assert [group.number for group in file.row_groups if group.is_read] == groups
    by_hand = vq.scan(vq.read(file.path)).where(predicate)
    assert found(asked) == found(by_hand)


def test_a_conflict_only_turns_skip_into_read(tmp_path: Path) -> None:
    """P19 and P20: one value of another type, in `value`, and the statistics of its row group tell nothing."""
    values = [*EVENTS[:10], {**event(10), "a": "11"}, *EVENTS[11:20], *EVENTS[20:30]]
    query = write(tmp_path / "f.parquet", values)
    assert found(query.where("$.a = 11")) == [10, 11]
    groups = query.where("$.a > 1000").explain().files[0].row_groups
    assert [group.is_read for group in groups] == [False, True, False]
    assert found(query.where("$.a::bigint > 1000")) == []


def test_files_without_statistics_are_read_whole(tmp_path: Path) -> None:
    write(tmp_path / "with.parquet", EVENTS[:20])
    opened = pq.ParquetFile(tmp_path / "with.parquet")
    pq.write_table(opened.read(), tmp_path / "without.parquet", write_statistics=False, row_group_size=10)
    plan = vq.Plan.from_profiles({"v": vq.profile(table_of(EVENTS[:20]), "v")})
    query = vq.scan(tmp_path / "without.parquet", plan=plan)
    assert query.where("$.a = 5").explain().row_groups_read == 2
    assert found(query.where("$.a = 5")) == [5]


def test_only_the_columns_that_are_needed_are_read(events: Scan) -> None:
    """A leftover key, a value-only sibling or an array beside a path costs it nothing."""
    metadata = pq.read_metadata(events.explain().files[0].path)
    names = {metadata.row_group(0).column(k).path_in_schema: k for k in range(metadata.num_columns)}

    def size(*columns: str) -> int:
        return sum(metadata.row_group(g).column(names[name]).total_compressed_size for g in range(10) for name in columns)

    assert events.select({"a": "$.a bigint"}).explain().bytes == size("v.typed_value.a.typed_value")
    assert events.select({"a": "$.b.c string"}).explain().bytes == size("v.typed_value.b.typed_value.c.typed_value")
    told = events.select({"r": "$.rest int"}).explain()
    assert told.bytes == size("v.metadata", "v.value")
    assert (told.paths[0].residual, told.paths[0].typed) == (10, 0)
    assert events.select({"x": "$.free int"}).explain().bytes == size("v.typed_value.free.value")
    assert events.explain().bytes == events.explain().size


def test_explain_as_text_and_data(events: Scan) -> None:
    asked = events.select({"a": "$.a bigint"}).where("$.a = 55")
    text = str(asked.explain())
    assert "row groups  1 of 10 are read" in text
    assert "row group 5 read: statistics do not rule it out" in text
    assert "row group 4 skipped: $.a::double = 55.0: $.a::double is from 40.0 to 49.0" in text
    data = json.loads(json.dumps(asked.explain().to_dict()))
    assert (data["row_groups_read"], data["files_read"], data["paths"][0]["typed"]) == (1, 1, 1)
    assert [group["read"] for group in data["details"][0]["row_groups"]].index(True) == 5
    assert "all rows match" in str(events.where("$.a >= 0").explain())


def test_null_logic(tmp_path: Path) -> None:
    values = [{"a": 1}, {"a": None}, {}, None, {"a": "x"}, "scalar", {"a": {"z": 1}}, {"a": [1]}]
    query = write(tmp_path / "f.parquet", values, "a bigint")
    assert found(query.where("$.a is null")) == [2, 3, 5]
    assert found(query.where("$.a::bigint is null")) == [1, 2, 3, 4, 5, 6, 7]
    assert found(query.where("$.a is not null")) == [0, 1, 4, 6, 7]
    assert found(query.where("not $.a::bigint = 2")) == [0]
    assert found(query.where("$.a not in (2, null)")) == []
    assert found(query.where("$.a = 1 or $.a::bigint is null")) == list(range(8))
    assert found(query.where("$ is null")) == [3]
    assert found(query.where("$.a::string is not null")) == [0, 4, 6, 7]


def test_nan_equals_itself_and_is_the_largest(tmp_path: Path) -> None:
    nodes = [vq.Variant.from_python({"d": value}) for value in (1.0, float("nan"), None, -0.0)]
    column = pa.StructArray.from_arrays([[v.metadata for v in nodes], [v.value for v in nodes]], names=["metadata", "value"])
    table = pa.table(
        {"n": [0, 1, 2, 3], "v": column.cast(vq.VARIANT)}, schema=pa.schema([pa.field("n", pa.int64()), vq.variant_field("v")])
    )
    vq.write(table, tmp_path / "f.parquet", {"v": "d double"})
    query = vq.scan(tmp_path / "f.parquet")
    assert found(query.where("$.d > 5")) == [1], "statistics do not tell whether there is a NaN"
    assert found(query.where("$.d = double 'nan'")) == [1]
    assert found(query.where("$.d is nan")) == [1]
    assert found(query.where("$.d is not nan")) == [0, 3]
    assert found(query.where("$.d = 0")) == [3]
    assert found(query.where("$.d < double 'nan'")) == [0, 3]
    assert found(query.where("$.d in (double 'nan', 1)")) == [0, 1]


def test_ordinary_columns_and_their_statistics(tmp_path: Path) -> None:
    days = pa.array([datetime.date(2026, 1, 1 + n // 10) for n in range(30)])
    prices = pa.array([Decimal(n) / 4 for n in range(30)], pa.decimal128(10, 2))
    query = write(tmp_path / "f.parquet", EVENTS[:30], day=days, price=prices)
    assert found(query.where(vq.column("day") == datetime.date(2026, 1, 2))) == list(range(10, 20))
    assert query.where("day = date '2026-01-02'").explain().row_groups_read == 1
    assert found(query.where("price < 1 and $.a > 1")) == [2, 3]
    assert query.where("price > 7").explain().row_groups_read == 1
    assert found(query.where("day is null")) == []
    with pytest.raises(UnsupportedTypeError, match="expected a literal of type date, got 5"):
        query.where("day = 5").table()
    with pytest.raises(UnsupportedTypeError, match="expected the name of a column, got 'nope'"):
        query.where("nope = 5").table()


def test_datasets(tmp_path: Path) -> None:
    for year, part in ((2025, EVENTS[:5]), (2026, EVENTS[5:9])):
        for country in ("DE", "FR"):
            folder = tmp_path / f"year={year}" / f"country={country}"
            folder.mkdir(parents=True)
            vq.write(table_of(part).drop_columns("n"), folder / "part.parquet", {"v": "a int" if year == 2025 else "a bigint, b variant"})
    (tmp_path / "_tmp.parquet").write_bytes(b"not a file of the dataset")
    query = vq.scan(tmp_path)
    assert query.count() == 18
    made = query.select({"y": "year", "c": "country", "a": "$.a int"}).where("year = 2026 and country = 'FR'").table()
    assert made.to_pylist() == [{"y": 2026, "c": "FR", "a": number} for number in range(5, 9)]
    told = query.where("year = 2026").explain()
    assert (told.files_read, len(told.files)) == (2, 4)
    assert "year is from 2025 to 2025" in str(told)
    assert query.table().column_names == ["v", "year", "country"]
    assert vq.scan(str(tmp_path / "year=*" / "*" / "part.parquet")).count() == 18
    assert vq.scan([tmp_path / "year=2025", tmp_path / "year=2026" / "country=DE"]).count() == 14
    with pytest.raises(UnsupportedTypeError, match="which names none"):
        vq.scan(tmp_path / "nowhere")


def test_files_of_one_dataset_may_differ(tmp_path: Path) -> None:
    vq.write(table_of(EVENTS[:3], extra=pa.array([1, 2, 3])), tmp_path / "1.parquet", {"v": "a bigint"})
    vq.write(table_of(EVENTS[3:6]), tmp_path / "2.parquet", {"v": "b variant"})
    vq.write(table_of(EVENTS[6:9]), tmp_path / "3.parquet", {"v": "a string"}, layout="draft")
    vq.write(table_of(EVENTS[9:12]), tmp_path / "4.parquet")
    query = vq.scan(tmp_path)
    assert query.select({"a": "$.a int"}).table()["a"].to_pylist() == list(range(12))
    assert query.select({"a": "$.a int"}).where("$.a > 4 and $.b.c < 'c010'").table()["a"].to_pylist() == [5, 6, 7, 8, 9]
    assert query.select({"e": "extra"}).table()["e"].to_pylist() == [1, 2, 3, *[None] * 9]
    assert query.where("extra = 2").select({"a": "$.a int"}).table()["a"].to_pylist() == [1]
    assert query.table().num_rows == 12


def test_several_variants_and_variants_in_structs(tmp_path: Path) -> None:
    column = table_of(EVENTS[:3])["v"].combine_chunks()
    inner = pa.StructArray.from_arrays([pa.array([10, 20, 30]), column], fields=[pa.field("k", pa.int64()), vq.variant_field("body")])
    schema = pa.schema([vq.variant_field("v"), pa.field("request", inner.type)])
    vq.write(pa.Table.from_arrays([column, inner], schema=schema), tmp_path / "f.parquet", {"v": "a int", "request.body": "a bigint"})
    query = vq.scan(tmp_path / "f.parquet")
    assert query.select({"a": "v:$.a int", "b": "request.body:$.b.c string"}).where("request.body:$.a > 1").table().to_pylist() == [
        {"a": 2, "b": "c002"}
    ]
    assert vq.scan(tmp_path / "f.parquet", column="v").select({"a": "$.a int"}).table()["a"].to_pylist() == [0, 1, 2]
    with pytest.raises(UnsupportedTypeError, match=r"has several.* Hint: write column:\$.path; they are v, request.body"):
        query.select({"a": "$.a int"}).table()
    with pytest.raises(UnsupportedTypeError, match="expected Variants or maps at 'request'"):
        query.select({"a": "request:$.a int"}).table()
    assert query.select("request").table()["request"].to_pylist()[0]["k"] == 10


def test_a_table_in_memory() -> None:
    query = vq.scan(table_of(EVENTS[:5]))
    assert query.select({"a": "$.a int", "n": "n"}).where("$.a > 2 and n < 4").table().to_pylist() == [{"a": 3, "n": 3}]
    assert query.where("$.b.c = 'c001'").count() == 1
    assert vq.scan(table_of(EVENTS[:5]).to_batches()[0]).count() == 5
    with pytest.raises(UnsupportedTypeError, match="expected the name of a column"):
        query.where("nope = 1").table()
    with pytest.raises(UnsupportedTypeError, match="has none"):
        vq.scan(pa.table({"x": [1]})).where("$.a = 1").table()


def test_ways_to_take_the_result(events: Scan) -> None:
    query = events.select({"a": "$.a bigint"}).where("$.a >= 90")
    assert query.count() == 10
    assert sum(batch.num_rows for batch in query.batches()) == 10
    assert query.reader().read_all().equals(query.table())
    assert pa.table(query).equals(query.table())
    assert query.limit(3).table()["a"].to_pylist() == [90, 91, 92]
    assert query.limit(3).count() == 3
    assert query.limit(0).table().num_rows == 0
    assert events.select([]).table().num_columns == 0
    assert events.count() == 100
    assert pickle.loads(pickle.dumps(query.query.select))["a"].key == vq.path("$.a", "bigint").key
    with pytest.raises(UnsupportedTypeError, match="expected a number of rows, got -1"):
        query.limit(-1)
    with pytest.raises(UnsupportedTypeError, match="different names"):
        events.select(["$.a", "$.x.a"])


def test_conditions_add_up(events: Scan) -> None:
    query = events.where("$.a > 10").where(vq.path("$.a") < 13)
    assert found(query) == [11, 12]
    with pytest.raises(UnsupportedTypeError, match="expected a predicate, got 5"):
        events.where(5)  # type: ignore[arg-type]


def test_threads_give_the_same(events: Scan) -> None:
    path = events.explain().files[0].path
    assert vq.scan(path, threads=4).table().equals(vq.scan(path, threads=1).table())


def test_a_file_that_changes_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    assert write(path, EVENTS[:5]).count() == 5
    vq.write(table_of(EVENTS[:7]), path, overwrite=True)
    assert vq.scan(path).count() == 7
    assert found(vq.scan(path).where("$.a = 6")) == [6]


def test_damage_is_said_with_its_place(tmp_path: Path) -> None:
    write(tmp_path / "good.parquet", [{"a": 1, "b": 2}] * 3, "a bigint", rows=3)
    table = pq.read_table(tmp_path / "good.parquet")
    column = table["v"].combine_chunks()
    # An object that says it has a field, and then ends.
    broken = pa.array([None, b"\x02\x01", None], pa.binary())
    names = [field.name for field in column.type]
    children = [broken if name == "value" else column.field(name) for name in names]
    fields = [pa.field(name, child.type) for name, child in zip(names, children, strict=True)]
    pq.write_table(table.set_column(1, "v", pa.StructArray.from_arrays(children, fields=fields)), tmp_path / "bad.parquet")
    plan = vq.Plan.from_profiles({"v": vq.profile(table_of([{"a": 1}]), "v")})
    query = vq.scan(tmp_path / "bad.parquet", plan=plan)
    assert query.select({"a": "$.a int"}).table()["a"].to_pylist() == [1, 1, 1]
    with pytest.raises(vq.InvalidVariantError, match=r"\$.b::int of '.*bad.parquet', row group 0: .* row"):
        query.select({"b": "$.b int"}).table()


def test_matching_rows_come_from_their_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "f.parquet", EVENTS, rows=100)
    table = pq.read_table(tmp_path / "f.parquet")
    options = {"max_rows_per_page": 10, "write_batch_size": 10, "write_page_index": True}
    pq.write_table(table, tmp_path / "pages.parquet", row_group_size=50, **options)
    patch_file(tmp_path / "pages.parquet", [("v",)])
    read: list[list[int]] = []

    def noted(source: Any, index: Any, group: int, pages: Any, chosen: Any, dictionaries: Any) -> pa.Table:
        read.append([group, *chosen])
        return read_pages(source, index, group, pages, chosen, dictionaries)

    monkeypatch.setattr(opened, "read_pages", noted)
    monkeypatch.setattr(opened, "_WORTH_PAGES", 0)
    query = vq.scan(tmp_path / "pages.parquet", threads=1)
    for predicate, pages in (
        ("$.a = 57", [[1, 0]]),
        ("$.a in (3, 41, 99)", [[0, 0, 4], [1, 4]]),
        ("$.a between 19 and 20 or $.b.c = 'c077'", [[0, 1, 2], [1, 2]]),
        ("$.a >= 0", []),
        ("$.rest = 12", [[0, 1]]),
    ):
        read.clear()
        made = query.where(predicate).table()
        assert made.equals(vq.scan(vq.read(tmp_path / "f.parquet")).where(predicate).table().cast(made.schema))
        assert read == pages, predicate
    asked = query.select({"sku": "$.items[0].sku string", "x": "$.free.x int", "b": "$.b string"}).where("$.a = 33")
    assert asked.table().to_pylist() == [{"sku": "s33", "x": 33, "b": '{"c":"c033","d":16.5}'}]


def test_pages_that_are_not_in_line_are_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened, "_WORTH_PAGES", 0)
    write(tmp_path / "f.parquet", EVENTS, rows=100)
    table = pq.read_table(tmp_path / "f.parquet")
    pq.write_table(table, tmp_path / "odd.parquet", data_page_size=64, write_batch_size=3, write_page_index=True)
    pq.write_table(table, tmp_path / "none.parquet", max_rows_per_page=10, write_batch_size=10)
    for name in ("odd", "none"):
        patch_file(tmp_path / f"{name}.parquet", [("v",)])
        made = vq.scan(tmp_path / f"{name}.parquet").where("$.a = 57").table()
        assert [json.loads(text) for text in vq.to_json(made["v"]).to_pylist()] == [EVENTS[57]]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_typed_text_of_any_arrow_type_is_cast_alike(tmp_path: Path, kind: pa.DataType) -> None:
    fields = [pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary()), pa.field("typed_value", kind)]
    children = [pa.array([b"\x01\x00\x00"] * 2), pa.nulls(2, pa.binary()), pa.array(["12", "x"], kind)]
    pq.write_table(pa.table({"v": pa.StructArray.from_arrays(children, fields=fields)}), tmp_path / "file.parquet")
    plan = Plan({"v": ColumnPlan(vq.ShreddingSchema.parse("string"))})
    query = vq.scan(tmp_path / "file.parquet", plan=plan).select({"n": "$ bigint", "d": "$ double", "s": "$ string"})
    assert query.table().to_pylist() == [{"n": 12, "d": 12.0, "s": "12"}, {"n": None, "d": None, "s": "x"}]


def test_residuals_of_variant_nulls_are_not_read_for_typed_values(tmp_path: Path) -> None:
    scan = write(tmp_path / "file.parquet", [{"a": None if n % 2 else n} for n in range(40)] + [{"a": "x"}], "a bigint")
    typed = scan.select({"a": "$.a bigint"})
    assert typed.table()["a"].to_pylist() == [None if n % 2 else n for n in range(40)] + [None]
    found = typed.explain().paths[0]
    assert (found.typed, found.both + found.residual) == (4, 1)
    assert typed.where("$.a::bigint is null").count() == 21 and typed.where("$.a is null").count() == 0
    assert typed.where("$.a = 'x'").count() == 1 and typed.where("$.a::bigint > 35").explain().row_groups_read == 2
    assert vq.to_json(scan.select({"a": "$.a"}).table()["a"]).to_pylist()[:3] == ["0", "null", "2"]
