"""Queries on keys of maps: what they give, which columns they read, what they skip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import varquet as vq
from varquet.queries.grammar import parse_operand, parse_predicate, predicate_text

KIND = pa.map_(pa.string(), pa.string())
ROWS: list[list[tuple[str, str | None]] | None] = [
    [("content-type", "json"), ("n", "1"), ("x", "a")],
    [("content-type", "html"), ("n", "2")],
    None,
    [],
    [("content-type", None), ("n", "012")],
    [("n", "30"), ("z", "z")],
]
LAYOUTS: dict[str, Any] = {
    "plain": [],
    "hot": ["content-type", "n"],
    "other": ["x", "nowhere", "n"],
    "typed": vq.ShreddingSchema.parse("n bigint, `content-type` string"),
}


def table_of(rows: list[Any] = ROWS) -> pa.Table:
    return pa.table({"id": pa.array(range(len(rows)), pa.int64()), "headers": pa.array(rows, KIND)})


@pytest.fixture(params=[*LAYOUTS, "memory", "all"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The same rows in every form; all of them together as well, with other hot keys in every file."""
    if request.param == "memory":
        return table_of()
    if request.param == "all":
        for k, (name, keys) in enumerate(LAYOUTS.items()):
            rows = table_of().slice(k * 2, 2)
            vq.write(rows, tmp_path / f"{k}-{name}.parquet", maps={"headers": keys})
        return tmp_path
    vq.write(table_of(), tmp_path / "a.parquet", maps={"headers": LAYOUTS[request.param]}, row_group_rows=2)
    return tmp_path / "a.parquet"


@pytest.mark.parametrize(
    ("predicate", "ids"),
    [
        ("headers['content-type'] = 'json'", [0]),
        ("headers['content-type'] != 'json'", [1]),
        ("not headers['content-type'] = 'json'", [1]),
        ("headers['content-type'] is null", [2, 3, 4, 5]),
        ("headers['content-type'] is not null", [0, 1]),
        ("headers['n'] > 1", [1, 4, 5]),
        ("headers['n']::bigint between 2 and 29", [1, 4]),
        ("headers['n'] = '012'", [4]),
        ("headers['n'] = 12", [4]),
        ("headers[\"x\"] in ('a', 'b') or headers[\"z\"] = 'z'", [0, 5]),
        ("headers['nowhere'] is not null", []),
        ("headers['content-type'] starts with 'j' and id = 0", [0]),
        ("headers:$['content-type'] = 'html'", [1]),
        ("headers is null", [2]),
    ],
)
def test_the_same_answers_in_every_layout(source: Any, predicate: str, ids: list[int]) -> None:
    query = vq.scan(source).where(predicate)
    assert query.select("id").table()["id"].to_pylist() == ids
    assert query.count() == len(ids)


def test_projections(source: Any) -> None:
    query = vq.scan(source).select({"t": "headers['content-type']", "n": "headers['n'] bigint", "z": "headers['z'] string", "id": "id"})
    assert query.schema.types == [pa.string(), pa.int64(), pa.string(), pa.int64()]
    assert query.table().to_pylist() == [
        {"t": "json", "n": 1, "z": None, "id": 0},
        {"t": "html", "n": 2, "z": None, "id": 1},
        {"t": None, "n": None, "z": None, "id": 2},
        {"t": None, "n": None, "z": None, "id": 3},
        {"t": None, "n": 12, "z": None, "id": 4},
        {"t": None, "n": 30, "z": "z", "id": 5},
    ]
    texts = vq.scan(source).select({"n": "headers['n']"}).where("headers['content-type'] is null").table()["n"].to_pylist()
    assert texts == [None, None, "012", "30"]


def test_whole_maps_and_whole_rows(source: Any) -> None:
    expected = [None if row is None else dict(row) for row in ROWS]
    for query in (vq.scan(source).select("headers"), vq.scan(source)):
        found = query.table()
        assert [None if row is None else dict(row) for row in found["headers"].to_pylist()] == expected
    assert vq.scan(source).schema.names == ["id", "headers"]


def _leaves(path: Path, *names: str) -> int:
    group = pq.ParquetFile(path).metadata.row_group(0)
    chunks = [group.column(k) for k in range(group.num_columns)]
    return sum(chunk.total_compressed_size for chunk in chunks if chunk.path_in_schema.split(".")[0] in names)


def test_only_the_sidecar_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    vq.write(table_of(), path, maps={"headers": ["content-type"]})
    found = vq.scan(path).select({"t": "headers['content-type']"}).where("headers['content-type'] = 'json'").explain()
    assert found.bytes == _leaves(path, "__paimon_map_shred_headers_0")
    assert (found.paths[0].typed, found.paths[0].residual) == (1, 0)
    other = vq.scan(path).select({"n": "headers['n']"}).explain()
    assert other.bytes == _leaves(path, "headers")
    whole = vq.scan(path).select("headers").explain()
    assert whole.bytes == _leaves(path, "headers", "__paimon_map_shred_headers_0")


def test_statistics_of_sidecars_skip_row_groups(tmp_path: Path) -> None:
    rows = [[("content-type", f"type-{k // 10}"), ("n", str(k)), ("tail", "1")] for k in range(40)]
    path = tmp_path / "a.parquet"
    vq.write(table_of(rows), path, maps={"headers": vq.ShreddingSchema.parse("`content-type` string, n bigint")}, row_group_rows=10)
    for predicate, read in (
        ("headers['content-type'] = 'type-2'", 1),
        ("headers['content-type'] > 'type-2'", 1),
        ("headers['content-type'] is null", 0),
        ("headers['n']::bigint >= 25", 2),
        ("headers['n'] = 25", 1),
        ("headers['n'] = '25'", 4),
        ("headers['a'] = 'below all keys'", 0),
        ("headers['zz'] = 'above all keys'", 0),
        ("headers['tail'] = '1'", 4),
    ):
        query = vq.scan(path).where(predicate)
        assert query.explain().row_groups_read == read, predicate
        assert query.count() == vq.scan(table_of(rows)).where(predicate).count()


def test_the_residual_decides_only_where_it_can_hold_the_key(tmp_path: Path) -> None:
    keys = vq.ShreddingSchema.parse("n bigint")
    fits, does_not = [[("n", "1"), ("z", "2")]] * 4, [[("n", "1"), ("z", "2")], [("n", "01"), ("z", "2")]]
    for name, rows, residual in (("fits", fits, 0), ("not", does_not, 1)):
        path = tmp_path / f"{name}.parquet"
        vq.write(table_of(rows), path, maps={"headers": keys})
        found = vq.scan(path).where("headers['n'] = '01'")
        assert found.count() == residual
        assert found.explain().paths[0].both == residual
    # In a row group whose residual is empty, nothing of it is read even if nobody said how much of the key is in it.
    path = tmp_path / "other.parquet"
    stored = pa.table({"headers": pa.array([[], []], KIND), "__paimon_map_shred_headers_0": ["1", None]})
    pq.write_table(stored.replace_schema_metadata({"paimon.map.shredding.headers.keys": "n"}), path)
    assert vq.scan(path).select({"n": "headers['n']"}).explain().bytes == _leaves(path, "__paimon_map_shred_headers_0")
    # A value that another writer left in the residual is found.
    stored = stored.set_column(0, "headers", pa.array([[], [("n", "2")]], KIND))
    pq.write_table(stored.replace_schema_metadata({"paimon.map.shredding.headers.keys": "n"}), path)
    assert vq.scan(path).select({"n": "headers['n']"}).table()["n"].to_pylist() == ["1", "2"]


def test_maps_in_structs_and_beside_variants(tmp_path: Path) -> None:
    variants = vq.parse_json(pa.array([f'{{"a": {k}}}' for k in range(len(ROWS))]))
    request = pa.StructArray.from_arrays([pa.array(ROWS, KIND), variants], fields=[pa.field("headers", KIND), vq.variant_field("body")])
    table = pa.table({"request": request})
    vq.write(table, tmp_path / "a.parquet", {"request.body": "a bigint"}, maps={"request.headers": ["n"]})
    for source in (tmp_path / "a.parquet", table):
        query = vq.scan(source).select(
            {"n": "request.headers['n']", "a": "request.body:$.a bigint", "t": "request.headers['content-type']"}
        )
        assert query.where("request.headers['n'] = '2'").table().to_pylist() == [{"n": "2", "a": 1, "t": "html"}]


def test_values_of_other_types(tmp_path: Path) -> None:
    numbers = pa.array([[("a", 1), ("b", 2)], [("a", 30)]], pa.map_(pa.string(), pa.int32()))
    structs = pa.array([[("a", {"x": 1})], []], pa.map_(pa.string(), pa.struct({"x": pa.int32()})))
    table = pa.table({"numbers": numbers, "structs": structs})
    vq.write(table, tmp_path / "a.parquet", maps={"numbers": ["a"], "structs": ["a"]})
    for source in (tmp_path / "a.parquet", table):
        query = vq.scan(source)
        assert query.where("numbers['a'] > 1").select({"a": "numbers['a']"}).table() == pa.table({"a": pa.array([30], pa.int32())})
        assert query.select({"s": "structs['a']"}).table()["s"].to_pylist() == [{"x": 1}, None]
        with pytest.raises(vq.UnsupportedTypeError, match="expected a map of single values"):
            query.select({"s": "structs['a'] string"}).table()


@pytest.mark.parametrize("maps", [{"outer": ["a"]}, {"outer.value": ["x"]}, {"outer": ["a"], "outer.value": ["x"]}], ids=str)
def test_maps_in_maps(tmp_path: Path, maps: dict[str, list[str]]) -> None:
    rows = [[("a", [("x", "1"), ("y", "2")]), ("b", [])], [("b", None)], None]
    table = pa.table({"outer": pa.array(rows, pa.map_(pa.string(), KIND))})
    vq.write(table, tmp_path / "a.parquet", maps=maps)
    query = vq.scan(tmp_path / "a.parquet").select({"a": "outer['a']", "b": "outer['b']"})
    assert query.table().to_pylist() == [{"a": [("x", "1"), ("y", "2")], "b": []}, {"a": None, "b": None}, {"a": None, "b": None}]
    assert vq.scan(tmp_path / "a.parquet").where("outer['a'] is not null").count() == 1


def test_files_without_the_map_have_nulls(tmp_path: Path) -> None:
    vq.write(table_of(), tmp_path / "a.parquet", maps={"headers": ["n"]})
    pq.write_table(pa.table({"id": pa.array([9], pa.int64())}), tmp_path / "b.parquet")
    query = vq.scan(tmp_path).select({"id": "id", "n": "headers['n']"}).where("headers['n'] is null")
    assert query.table().to_pylist() == [{"id": 2, "n": None}, {"id": 3, "n": None}, {"id": 9, "n": None}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("headers['a'] = ", "expected a literal"),
        ("headers['a = 1", "expected a path"),
        ("id['a'] = 1", "expected Variants or maps at 'id'"),
        ("headers:$.a.b = 1", "expected one key of the map 'headers', got"),
        ("headers:$[0] = 1", "expected one key of the map 'headers', got"),
        ("nowhere['a'] = 1", "expected the name of a column, got 'nowhere'"),
    ],
)
def test_what_cannot_be_asked(tmp_path: Path, text: str, message: str) -> None:
    vq.write(table_of(), tmp_path / "a.parquet", maps={"headers": ["n"]})
    with pytest.raises(vq.VarquetError, match=message):
        vq.scan(tmp_path / "a.parquet").where(text).table()


def test_maps_in_lists_have_no_one_value(tmp_path: Path) -> None:
    vq.write(pa.table({"l": pa.array([[[("a", "1")]]], pa.list_(KIND))}), tmp_path / "a.parquet", maps={"l.element": ["a"]})
    with pytest.raises(vq.UnsupportedTypeError, match="expected one map per row, got 'l.element'"):
        vq.scan(tmp_path / "a.parquet").select({"a": "l.element['a']"}).table()


def test_the_text_of_keys() -> None:
    operand = parse_operand("headers['content-type'] string")
    assert (operand.column, operand.path, operand.type) == ("headers", vq.Path(("content-type",)), pa.string())
    made = vq.column("headers")["it's"] == "x"
    assert predicate_text(parse_predicate(predicate_text(made))) == predicate_text(made)
    assert predicate_text(parse_predicate(r"headers['it\'s'] = 'x'")) == predicate_text(made)
    with pytest.raises(TypeError):
        iter(vq.column("headers"))
