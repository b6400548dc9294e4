"""Files pass between varquet and DuckDB with equal values; where they do not, the difference is listed here with its reason.

DuckDB hands its VARIANTs over as Arrow in the Variant encoding itself, types included, so nothing is lost in comparing.
Tests of known differences fail when DuckDB stops to differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from interop_values import (
    ALL_TYPES,
    BEGINNING_ALIKE,
    DISTINCT,
    DOCUMENT_SCHEMAS,
    DOCUMENTS,
    EDGE_KEY_DOCUMENTS,
    EDGE_KEYS,
    EVENT_SCHEMA,
    SCALARS,
    SHAPES,
    column_of,
    different_rows,
    encodings_of,
    event_lines,
    nested_table,
    positions,
    table_of,
    variants_of,
)

import varquet as vq
from varquet.variant.model import NULL, Node

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

# DuckDB reads it, but has no way to hand it over in the Variant encoding: compared by a cast instead.
NOT_EXPORTED = "timestamp_nanos"
ALL_SCALARS = [scalar for name, scalars in SCALARS.items() if name != NOT_EXPORTED for scalar in scalars]
ALL_DOCUMENTS = [document for documents in DOCUMENTS.values() for document in documents]


@pytest.fixture(scope="module")
def connection() -> Iterator[DuckDBPyConnection]:
    with duckdb.connect() as made:
        made.execute("SET threads = 2")
        yield made


def read_by_duckdb(connection: DuckDBPyConnection, path: Path) -> pa.Table:
    """All columns of a file as DuckDB reads them, in the order of `row`."""
    return connection.sql(f"SELECT * FROM read_parquet('{path}') ORDER BY row").to_arrow_table()


def types_in_duckdb(connection: DuckDBPyConnection, path: Path) -> dict[str, str]:
    return {name: kind for name, kind, *_ in connection.sql(f"DESCRIBE FROM read_parquet('{path}')").fetchall()}


def as_duckdb_has_it(column: pa.Array) -> pa.Array:
    """The column with SQL NULL for each top-level Variant null: DuckDB's VARIANT has one null for both."""
    return pa.array([None if variant is None or variant.is_null else _as_row(variant) for variant in variants_of(column)], vq.VARIANT)


def _as_row(variant: vq.Variant) -> dict[str, bytes]:
    return {"metadata": variant.metadata, "value": variant.value}


def write_and_compare(
    connection: DuckDBPyConnection, path: Path, column: pa.Array, ddls: tuple[str, ...], row_group_rows: int = 10_000
) -> None:
    """Write a column shredded by each schema, side by side in one file; DuckDB must see VARIANTs, and the same values in each."""
    table = table_of(**{f"v{number}": column for number in range(len(ddls))})
    vq.write(table, path, {f"v{number}": ddl for number, ddl in enumerate(ddls)}, row_group_rows=row_group_rows)
    assert types_in_duckdb(connection, path) == {"row": "INTEGER", **dict.fromkeys(table.column_names[1:], "VARIANT")}
    read = read_by_duckdb(connection, path)
    for number, ddl in enumerate(ddls):
        assert different_rows(read[f"v{number}"], as_duckdb_has_it(column)) == [], ddl


# Files that we write


@pytest.mark.parametrize("name", [name for name in SCALARS if name != NOT_EXPORTED])
def test_every_type_unshredded(connection: DuckDBPyConnection, tmp_path: Path, name: str) -> None:
    write_and_compare(connection, tmp_path / "file.parquet", column_of([None, *positions(SCALARS[name])]), ("variant",))


@pytest.mark.parametrize("ddl", ALL_TYPES)
def test_every_type_shredded_by_every_type(connection: DuckDBPyConnection, tmp_path: Path, ddl: str) -> None:
    column = column_of([None, *positions(ALL_SCALARS)])
    ddls = (ddl, f"x {ddl}", f"array<{ddl}>", f"y {ddl}, x array<struct<x: {ddl}>>")
    write_and_compare(connection, tmp_path / "file.parquet", column, ddls)


@pytest.mark.parametrize("ddl", ["variant", "timestamp_nanos", "x timestamp_nanos", "array<timestamp_nanos>", "x string"])
def test_nanoseconds_with_a_zone_by_their_number(connection: DuckDBPyConnection, tmp_path: Path, ddl: str) -> None:
    scalars = SCALARS[NOT_EXPORTED]
    table = table_of(
        root=column_of(scalars), field=column_of([{"x": one} for one in scalars]), element=column_of([[one] for one in scalars])
    )
    vq.write(table, tmp_path / "file.parquet", dict.fromkeys(("root", "field", "element"), ddl))
    places = [f"epoch_ns({place}::TIMESTAMPTZ_NS)" for place in ("root", "field.x", "element[1]")]
    read = connection.sql(f"SELECT variant_typeof(root), {', '.join(places)} FROM '{tmp_path}/file.parquet' ORDER BY row").fetchall()
    # The largest number is DuckDB's infinity, which has no number.
    numbers = [None if one.value == 2**63 - 1 else one.value for one in scalars]
    assert read == [("TIMESTAMP_NANOS_TZ", number, number, number) for number in numbers]


@pytest.mark.parametrize("ddl", DISTINCT)
def test_every_encoding_of_many_values(connection: DuckDBPyConnection, tmp_path: Path, ddl: str) -> None:
    nodes: list[Node] = [NULL]
    for scalar in DISTINCT[ddl]:
        nodes += [{"x": scalar}, {"x": [scalar, scalar]}]
    path = tmp_path / "file.parquet"
    write_and_compare(connection, path, column_of(nodes), (f"x {ddl}", f"x array<{ddl}>", "variant"), row_group_rows=150)
    assert pq.ParquetFile(path).num_row_groups == 3
    if ddl in ("tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz"):
        assert "DELTA_BINARY_PACKED" in encodings_of(path)
    if ddl in ("string", "binary"):
        assert "DELTA_LENGTH_BYTE_ARRAY" in encodings_of(path)


def test_texts_that_begin_alike(connection: DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    nodes: list[Node] = [NULL, *({"x": scalar} for scalar in BEGINNING_ALIKE)]
    write_and_compare(connection, path, column_of(nodes), ("x string",), row_group_rows=150)
    assert "DELTA_BYTE_ARRAY" in encodings_of(path)


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_documents_by_schemas_that_fit_or_not(connection: DuckDBPyConnection, tmp_path: Path, kind: str) -> None:
    write_and_compare(connection, tmp_path / "file.parquet", column_of(DOCUMENTS[kind]), tuple(DOCUMENT_SCHEMAS.values()))


def test_sample_events(connection: DuckDBPyConnection, tmp_path: Path) -> None:
    column = vq.parse_json(pa.array(event_lines(400)))
    write_and_compare(connection, tmp_path / "file.parquet", column, (EVENT_SCHEMA, "variant"), row_group_rows=150)


@pytest.mark.parametrize("shape", SHAPES)
def test_wide_long_and_deep(connection: DuckDBPyConnection, tmp_path: Path, shape: str) -> None:
    nodes, ddls = SHAPES[shape]
    write_and_compare(connection, tmp_path / "file.parquet", column_of(nodes), ddls)


@pytest.mark.parametrize("key", [key for key in EDGE_KEYS if key])
def test_any_name_shredded(connection: DuckDBPyConnection, tmp_path: Path, key: str) -> None:
    leaf = vq.ShreddingSchema.primitive("string")
    schema = vq.ShreddingSchema.object({key: leaf, "outer": vq.ShreddingSchema.object({key: vq.ShreddingSchema.array(leaf)})})
    write_and_compare(connection, tmp_path / "file.parquet", column_of(EDGE_KEY_DOCUMENTS), (schema.ddl(), "variant"))


def test_any_names_together(connection: DuckDBPyConnection, tmp_path: Path) -> None:
    # "A" alone: DuckDB cannot tell it from "a", see below.
    schema = vq.ShreddingSchema.object({key: vq.ShreddingSchema.primitive("string") for key in EDGE_KEYS if key != "a"})
    write_and_compare(connection, tmp_path / "file.parquet", column_of(EDGE_KEY_DOCUMENTS), (schema.ddl(),))


@pytest.mark.parametrize("ddl", ["variant", DOCUMENT_SCHEMAS["object"]], ids=["unshredded", "shredded"])
def test_inside_structs_lists_and_maps(connection: DuckDBPyConnection, tmp_path: Path, ddl: str) -> None:
    table = nested_table(ALL_DOCUMENTS)
    path = tmp_path / "file.parquet"
    vq.write(table, path, {("s", "b"): ddl, ("l", "element"): ddl, ("m", "value"): ddl})
    kinds = {"row": "INTEGER", "s": "STRUCT(a INTEGER, b VARIANT)", "l": "VARIANT[]", "m": "MAP(VARCHAR, VARIANT)"}
    assert types_in_duckdb(connection, path) == kinds
    read = read_by_duckdb(connection, path)
    written = as_duckdb_has_it(column_of(ALL_DOCUMENTS))
    assert different_rows(read["s"].combine_chunks().field("b"), written) == []
    assert different_rows(read["l"].combine_chunks().flatten(), written) == []
    assert different_rows(read["m"].combine_chunks().items, written) == []
    for name in ("l", "m"):
        assert read[name].combine_chunks().offsets == table[name].combine_chunks().offsets


@pytest.mark.parametrize("ddl", [EVENT_SCHEMA, "variant"], ids=["shredded", "unshredded"])
def test_queries_on_paths(connection: DuckDBPyConnection, tmp_path: Path, ddl: str) -> None:
    column = vq.parse_json(pa.array(event_lines(400)))
    vq.write(table_of(v=column), tmp_path / "file.parquet", {"v": ddl})
    paths = {
        "v.id": "$.id",
        "v.type": "$.type",
        "v.user.geo.country": "$.user.geo.country",
        "v.items[1]": "$.items[0]",
        "v.absent": "$.absent",
    }
    read = connection.sql(
        f"SELECT {', '.join(f'{place} AS p{number}' for number, place in enumerate(paths))} FROM '{tmp_path}/file.parquet'"
    )
    answer = read.to_arrow_table()
    for number, path in enumerate(paths.values()):
        assert different_rows(answer[f"p{number}"], as_duckdb_has_it(vq.extract(column, path))) == [], path
    found = connection.sql(f"SELECT row FROM '{tmp_path}/file.parquet' WHERE v.type::VARCHAR = 'purchase' ORDER BY row").fetchall()
    kinds = vq.extract(column, "$.type", "string").to_pylist()
    assert [row for (row,) in found] == [row for row, kind in enumerate(kinds) if kind == "purchase"] != []


def test_metadata_and_value_come_first(tmp_path: Path) -> None:
    # DuckDB refuses a file in which `value` is not one of the first two columns.
    vq.write(table_of(v=column_of(DOCUMENTS["nested"])), tmp_path / "file.parquet", {"v": DOCUMENT_SCHEMAS["object"]})
    assert [field.name for field in pq.ParquetFile(tmp_path / "file.parquet").schema_arrow.field("v").type] == [
        "metadata",
        "value",
        "typed_value",
    ]


def test_files_converted_from_the_draft(connection: DuckDBPyConnection, tmp_path: Path) -> None:
    """draft -> standard -> draft and draft -> unshredded -> draft, and what stands in between is what DuckDB reads."""
    documents = [document for kind in DOCUMENTS.values() for document in kind]
    column = column_of([*event_lines(300), *documents])
    schemas = {"v0": EVENT_SCHEMA, "v1": DOCUMENT_SCHEMAS["object"], "v2": DOCUMENT_SCHEMAS["other types"]}
    draft = tmp_path / "draft.parquet"
    vq.write(table_of(**dict.fromkeys(schemas, column)), draft, schemas, layout="draft", row_group_rows=150)
    for layout in ("parquet", "unshredded"):
        path = tmp_path / f"{layout}.parquet"
        vq.convert(draft, path, layout)
        read = read_by_duckdb(connection, path)
        for name, ddl in schemas.items():
            assert different_rows(read[name], as_duckdb_has_it(column)) == [], (layout, ddl)
        vq.convert(path, tmp_path / f"{layout} back.parquet", "draft", schemas)
        assert vq.diff(draft, tmp_path / f"{layout} back.parquet").is_equal


# What DuckDB cannot


@pytest.mark.parametrize("ddl", ["variant", "x int", "string", "array<int>"])
def test_known_a_top_level_variant_null_becomes_an_sql_null(connection: DuckDBPyConnection, tmp_path: Path, ddl: str) -> None:
    vq.write(table_of(v=column_of([NULL, [NULL], {"x": NULL}])), tmp_path / "file.parquet", {"v": ddl})
    read = variants_of(read_by_duckdb(connection, tmp_path / "file.parquet")["v"])
    assert read == [None, vq.Variant.from_python([None]), vq.Variant.from_python({"x": None})]
    assert connection.sql(f"SELECT v IS NULL FROM '{tmp_path}/file.parquet' ORDER BY row").fetchall() == [(True,), (False,), (False,)]


def test_known_names_that_differ_in_case_only_cannot_be_shredded_side_by_side(connection: DuckDBPyConnection, tmp_path: Path) -> None:
    # The fields of DuckDB's structs do not differ in case, so the second one is renamed. One of the two can be shredded.
    column = column_of(['{"A":1,"a":-1}'])
    vq.write(table_of(v=column), tmp_path / "both.parquet", {"v": "A int, a int"})
    assert variants_of(read_by_duckdb(connection, tmp_path / "both.parquet")["v"]) == [vq.Variant.from_python({"A": 1, "a_1": -1})]
    write_and_compare(connection, tmp_path / "one.parquet", column, ("A int", "a int", "variant"))


def test_known_the_empty_name_cannot_be_the_only_one_shredded(connection: DuckDBPyConnection, tmp_path: Path) -> None:
    # A struct without names is a tuple in DuckDB, and those it does not read as a typed_value. Beside another name it reads "".
    column = column_of(['{"":"text","a":1}'])
    vq.write(table_of(v=column), tmp_path / "alone.parquet", {"v": "`` string"})
    with pytest.raises(duckdb.NotImplementedException, match="Variant shredding on type: 'TUPLE"):
        read_by_duckdb(connection, tmp_path / "alone.parquet")
    write_and_compare(connection, tmp_path / "beside.parquet", column, ("`` string, b string", "a int", "variant"))


@pytest.mark.parametrize("ddl", ["variant", "timestamp_nanos"])
def test_known_nanoseconds_with_a_zone_are_read_but_not_handed_on(connection: DuckDBPyConnection, tmp_path: Path, ddl: str) -> None:
    vq.write(table_of(v=column_of(SCALARS[NOT_EXPORTED])), tmp_path / "file.parquet", {"v": ddl})
    with pytest.raises(duckdb.InvalidInputException, match="Can't convert VARIANT of type 'TIMESTAMP_NANOS_TZ' to Parquet VARIANT"):
        read_by_duckdb(connection, tmp_path / "file.parquet")


# Files that DuckDB writes

UNSHREDDED = ", SHREDDING {v: 'NULL'}"
SHREDDINGS = {
    "unshredded": UNSHREDDED,
    "automatic": "",
    "object": ", SHREDDING {v: 'STRUCT(id BIGINT, user STRUCT(name VARCHAR, geo STRUCT(lat DECIMAL(9,4), lon DOUBLE)), "
    "tags VARCHAR[], items STRUCT(sku VARCHAR, qty TINYINT)[])'}",
    "root array": ", SHREDDING {v: 'STRUCT(id INTEGER)[]'}",
    "root primitive": ", SHREDDING {v: 'VARCHAR'}",
}
DUCKDB_TYPES = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DECIMAL(9,2)", "DECIMAL(18,9)", "DECIMAL(38,2)", "DECIMAL(38,38)", "FLOAT",
    "DOUBLE", "DATE", "TIME", "TIMESTAMPTZ", "TIMESTAMP", "TIMESTAMPTZ_NS", "TIMESTAMP_NS", "UUID", "BLOB", "VARCHAR",
)  # fmt: skip


def copied_by_duckdb(connection: DuckDBPyConnection, folder: Path, column: pa.Array, shredding: str) -> Path:
    """A file that DuckDB has written of our values."""
    vq.write(table_of(v=column), folder / "ours.parquet", {"v": "variant"}, overwrite=True)
    made = folder / "theirs.parquet"
    connection.execute(f"COPY (SELECT row, v FROM '{folder}/ours.parquet' ORDER BY row) TO '{made}' (FORMAT parquet{shredding})")
    return made


def is_shredded(path: Path) -> bool:
    return bool(pq.ParquetFile(path).schema_arrow.field("v").type.get_field_index("typed_value") >= 0)


@pytest.mark.parametrize("kind", DOCUMENTS)
@pytest.mark.parametrize("shredding", SHREDDINGS)
def test_we_read_documents_written_by_duckdb(connection: DuckDBPyConnection, tmp_path: Path, kind: str, shredding: str) -> None:
    column = column_of(DOCUMENTS[kind])
    path = copied_by_duckdb(connection, tmp_path, column, SHREDDINGS[shredding])
    assert is_shredded(path) == (shredding != "unshredded")
    assert different_rows(vq.read(path)["v"], as_duckdb_has_it(column)) == []
    vq.convert(path, tmp_path / "draft.parquet", "draft")
    assert vq.diff(path, tmp_path / "draft.parquet").is_equal


@pytest.mark.parametrize("shredding", ["unshredded", "automatic", "object"])
def test_we_read_sample_events_written_by_duckdb(connection: DuckDBPyConnection, tmp_path: Path, shredding: str) -> None:
    column = vq.parse_json(pa.array(event_lines(300)))
    path = copied_by_duckdb(connection, tmp_path, column, SHREDDINGS[shredding])
    assert is_shredded(path) == (shredding != "unshredded")
    assert different_rows(vq.read(path)["v"], column) == []


@pytest.mark.parametrize("name", [name for name in SCALARS if name != NOT_EXPORTED])
def test_we_read_every_type_written_by_duckdb(connection: DuckDBPyConnection, tmp_path: Path, name: str) -> None:
    column = column_of([None, *positions(SCALARS[name])])
    for shredding in (UNSHREDDED, ""):
        path = copied_by_duckdb(connection, tmp_path, column, shredding)
        assert different_rows(vq.read(path)["v"], as_duckdb_has_it(column)) == []


@pytest.mark.parametrize("kind", DUCKDB_TYPES)
def test_we_read_every_type_shredded_by_duckdb(connection: DuckDBPyConnection, tmp_path: Path, kind: str) -> None:
    column = column_of([None, *positions(ALL_SCALARS)])
    for shredding in (kind, f"STRUCT(y {kind}, x STRUCT(x {kind})[])"):
        path = copied_by_duckdb(connection, tmp_path, column, f", SHREDDING {{v: '{shredding}'}}")
        assert is_shredded(path)
        assert different_rows(vq.read(path)["v"], as_duckdb_has_it(column)) == []


def test_we_read_names_written_by_duckdb(connection: DuckDBPyConnection, tmp_path: Path) -> None:
    column = column_of(EDGE_KEY_DOCUMENTS)
    path = copied_by_duckdb(connection, tmp_path, column, UNSHREDDED)
    assert different_rows(vq.read(path)["v"], column) == []


# A value made by DuckDB of its own types: SQL, the type that it writes, and its JSON text.
MADE = {
    "true": ("boolean", "true"),
    "1::TINYINT": ("int8", "1"),
    "1::SMALLINT": ("int16", "1"),
    "1::INTEGER": ("int32", "1"),
    "1::BIGINT": ("int64", "1"),
    "200::UTINYINT": ("int16", "200"),
    "1::UBIGINT": ("int64", "1"),
    "1::HUGEINT": ("int64", "1"),
    "1.10::DECIMAL(3,2)": ("decimal4", "1.10"),
    "1.10::DECIMAL(12,2)": ("decimal8", "1.10"),
    "1.10::DECIMAL(30,2)": ("decimal16", "1.10"),
    "1.5::FLOAT": ("float", "1.5e0"),
    "'-inf'::DOUBLE": ("double", '"-Infinity"'),
    "DATE '2024-01-05'": ("date", '"2024-01-05"'),
    "'infinity'::DATE": ("date", '"+5881580-07-11"'),  # the largest day is DuckDB's infinity
    "TIME '10:20:30.5'": ("time", '"10:20:30.500000"'),
    "TIMESTAMP '2024-01-05 10:20:30.123456'": ("timestamp_ntz", '"2024-01-05T10:20:30.123456"'),
    "'2024-01-05 10:20:30+02'::TIMESTAMPTZ": ("timestamp", '"2024-01-05T08:20:30.000000Z"'),
    "TIMESTAMP_NS '2024-01-05 10:20:30.123456789'": ("timestamp_ntz_nanos", '"2024-01-05T10:20:30.123456789"'),
    "'a'::ENUM('a', 'b')": ("string", '"a"'),
    "UUID '12345678-1234-5678-1234-567812345678'": ("uuid", '"12345678-1234-5678-1234-567812345678"'),
    "'\\xAA'::BLOB": ("binary", '"qg=="'),
    "[1, NULL, 3]": ("array", "[1,null,3]"),
    "MAP {'a': 1}": ("array", '[{"key":"a","value":1}]'),
    "{'b': {'c': [1, 2]}, 'a': NULL}": ("object", '{"a":null,"b":{"c":[1,2]}}'),
}
# JSON to VARIANT by DuckDB, where our parse_json gives another type, value or error.
MADE |= {
    "'1'::JSON": ("int64", "1"),
    "'1.10'::JSON": ("double", "1.1e0"),
    "'1e400'::JSON": ("double", '"Infinity"'),
    "'123456789012345678901234567890'::JSON": ("double", "1.2345678901234568e+29"),
    '\'{"a":1,"a":2}\'::JSON': ("object", '{"a":2}'),
}


@pytest.mark.parametrize("sql", MADE)
@pytest.mark.parametrize("shredding", ["unshredded", "automatic"])
def test_we_read_what_duckdb_makes(connection: DuckDBPyConnection, tmp_path: Path, sql: str, shredding: str) -> None:
    path = tmp_path / "file.parquet"
    connection.execute(f"COPY (SELECT 0 AS row, ({sql})::VARIANT AS v) TO '{path}' (FORMAT parquet{SHREDDINGS[shredding]})")
    (variant,) = variants_of(vq.read(path)["v"])
    assert variant is not None
    kind, text = MADE[sql]
    assert variant.type_name == kind
    # DuckDB leaves the fields of an object in the order in which they were made, so their text may have another order.
    assert variant == vq.Variant.from_json(text) if kind in ("object", "array") else variant.to_json() == text
    assert [variant] == variants_of(read_by_duckdb(connection, path)["v"])


@pytest.mark.parametrize("text", ["18446744073709551615", "9223372036854775808"])
def test_known_large_json_integers_are_not_written(connection: DuckDBPyConnection, tmp_path: Path, text: str) -> None:
    # They are UINT64 in its VARIANT and would need a decimal; that type of Parquet's is not used for them.
    with pytest.raises(duckdb.InvalidInputException, match="Type UINT64 with value"):
        connection.execute(f"COPY (SELECT '{text}'::JSON::VARIANT AS v) TO '{tmp_path}/file.parquet' (FORMAT parquet)")


def test_known_json_integers_never_reach_a_typed_value(connection: DuckDBPyConnection, tmp_path: Path) -> None:
    # Non-negative ones are UINT64, which no typed_value has; we read them from the residual all the same.
    path = tmp_path / "file.parquet"
    lines = "SELECT ('{\"n\":' || n || '}')::JSON::VARIANT AS v FROM range(5) AS numbers(n)"
    connection.execute(f"COPY ({lines}) TO '{path}' (FORMAT parquet, SHREDDING {{v: 'STRUCT(n BIGINT)'}})")
    typed = pq.read_table(path)["v"].combine_chunks().field("typed_value").field("n")
    assert (typed.field("typed_value").null_count, typed.field("value").null_count) == (5, 0)
    assert vq.extract(vq.read(path)["v"], "$.n", "bigint").to_pylist() == [0, 1, 2, 3, 4]
