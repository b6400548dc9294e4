"""A view gives what `try_variant_get` gives on the Variants that Spark's own reader puts together, row for row, and reads less."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from interop_values import (
    DOCUMENT_SCHEMAS,
    DOCUMENTS,
    EDGE_KEY_DOCUMENTS,
    EDGE_KEYS,
    EVENT_SCHEMA,
    SCALARS,
    column_of,
    event_lines,
    nested_table,
    table_of,
    variants_of,
)

import varquet as vq
from varquet.errors import UnsupportedTypeError
from varquet.types import BY_NAME
from varquet.variant.model import NULL, Node, Scalar

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ALL_DOCUMENTS = [document for documents in DOCUMENTS.values() for document in documents]
PATHS = (
    "$", "$.id", "$.user", "$.user.name", "$.user.geo", "$.user.geo.lat", "$.user.geo.lon", "$.user.geo.alt", "$.tags", "$.tags[0]",
    "$.tags[1]", "$.items", "$.items[0]", "$.items[0].sku", "$.items[1].qty", "$.items[0].extra", "$.more.a", "$.unknown.a", "$[0]",
    "$[0].id", "$.nowhere", "$.unknown.a.b",
)  # fmt: skip
DOCUMENT_TYPES = (None, "string", "bigint", "decimal(9,2)")
TYPES = (
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(9,2)", "decimal(18,9)", "decimal(38,2)",
    "decimal(38,38)", "date", "timestamp", "timestamp_ntz", "binary", "string",
)  # fmt: skip
# Spark has no Variants of these.
UNKNOWN = ("time", "timestamp_nanos", "timestamp_ntz_nanos", "uuid")

Pair = tuple[str, str | None]


def view(spark: SparkSession, path: Path | list[str] | str, columns: Any, **options: Any) -> DataFrame:
    from varquet.spark.views import view

    return view(spark, path, columns, **options)


def seen(frame: DataFrame, names: Iterable[str]) -> list[tuple[str, ...]]:
    """The rows of a frame, sorted, each value as text that tells it from all others of its type; also dates that Python has not."""
    kinds = dict(frame.dtypes)
    texts = [
        f"hex(`{one}`)" if kinds[one] == "binary" else f"`{one}`" if kinds[one] == "variant" else f"cast(`{one}` as string)"
        for one in names
    ]
    return sorted(tuple(shown(value) for value in row) for row in frame.selectExpr(*texts).collect())


def shown(value: Any) -> str:
    is_variant = type(value).__name__ == "VariantVal"
    return f"variant {variant(value)!r}" if is_variant else repr(value)


def compare(spark: SparkSession, path: Path, pairs: Sequence[Pair], column: str = "v", row: str = "row") -> DataFrame:
    """Compare a view with what Spark gets from whole Variants; its columns are c0, c1, ..."""
    made = view(spark, path, {row: row, **{f"c{k}": f"{at} {kind or ''}".strip() for k, (at, kind) in enumerate(pairs)}}, column=column)
    asked = [f"try_variant_get({column}, {spark_text(at)}, '{kind or 'variant'}') as c{k}" for k, (at, kind) in enumerate(pairs)]
    expected = spark.read.parquet(str(path)).selectExpr(row, *asked)
    assert [(field.name, field.dataType) for field in made.schema] == [(field.name, field.dataType) for field in expected.schema]
    got, wanted = seen(made, made.columns), seen(expected, made.columns)
    if got != wanted:
        for left, right in zip(got, wanted, strict=True):
            for name, one, other in zip([row, *pairs], left, right, strict=True):
                assert one == other, f"{name} of row {right[0]}: got {one}, expected {other}"
    return made


def spark_text(at: str) -> str:
    return '"' + at.replace("\\", "\\\\").replace('"', '\\"') + '"'


def plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def write(path: Path, values: Sequence[Node | str | None], ddl: str, **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    vq.write(table_of(v=column_of(values)), path, {"v": ddl}, **options)
    return path


# The same values


@pytest.mark.parametrize("schema", ["object", "value only", "other types", "root array"])
def test_documents_by_schemas_that_fit_or_not(spark: SparkSession, tmp_path: Path, schema: str) -> None:
    path = write(tmp_path / "file.parquet", ALL_DOCUMENTS, DOCUMENT_SCHEMAS[schema], row_group_rows=10)
    compare(spark, path, [(at, kind) for at in PATHS for kind in DOCUMENT_TYPES])


def test_files_with_different_schemas_in_one_folder(spark: SparkSession, tmp_path: Path) -> None:
    for number, ddl in enumerate(DOCUMENT_SCHEMAS.values()):
        write(tmp_path / f"{number}.parquet", ALL_DOCUMENTS, ddl)
    write(tmp_path / "empty.parquet", [], DOCUMENT_SCHEMAS["object"])
    write(tmp_path / "nulls.parquet", [None, "null", "{}"], DOCUMENT_SCHEMAS["object"])
    compare(spark, tmp_path, [(at, kind) for at in PATHS for kind in ("string", None)])


@pytest.mark.parametrize("targets", [TYPES[:8], TYPES[8:]], ids=["numbers", "others"])
def test_every_type_as_every_type(spark: SparkSession, tmp_path: Path, targets: Sequence[str]) -> None:
    scalars = [scalar for name, scalars in SCALARS.items() if name not in UNKNOWN for scalar in scalars]
    short = [scalar for scalar in scalars if not isinstance(scalar.value, (str, bytes)) or len(scalar.value) < 1000]
    numbers = ["12", " 12 ", "-1.5", "1e3", "true", "2026-01-31", "2026-01-31 12:30:00", "2026-01-31T12:30:00.5Z", "99999999999999999999"]
    short += [Scalar(BY_NAME["string"], text) for text in numbers]
    # Each typed column alone, so that values of its type come from it and those of others from its residual.
    ddl = ", ".join(f"`{kind}` {kind}" for kind in TYPES)
    path = write(tmp_path / "file.parquet", [dict.fromkeys(TYPES, scalar) for scalar in short], ddl)
    compare(spark, path, [(f"$['{kind}']", target) for kind in TYPES for target in targets])


def test_typed_columns_alone_as_every_type(spark: SparkSession, tmp_path: Path) -> None:
    names = {"decimal(9,2)": "decimal4", "decimal(18,9)": "decimal8", "decimal(38,2)": "decimal16"}
    spark_names = {"tinyint": "int8", "smallint": "int16", "int": "int32", "bigint": "int64", **names}
    values = {
        kind: [one for one in SCALARS[spark_names.get(kind, kind)] if len(str(one.value)) < 1000]
        for kind in TYPES
        if kind != "decimal(38,38)"
    }
    fits = {"decimal(9,2)": 2, "decimal(18,9)": 9, "decimal(38,2)": 2}
    for kind, scale in fits.items():
        values[kind] = [Scalar(one.type, one.value.quantize(Decimal(1).scaleb(-scale))) for one in values[kind] if abs(one.value) < 1000]  # type: ignore[union-attr,operator]
    rows: list[Node | None] = [{kind: some[row % len(some)] for kind, some in values.items()} for row in range(24)]
    path = write(tmp_path / "file.parquet", [None, NULL, {}, *rows], ", ".join(f"`{kind}` {kind}" for kind in values))
    made = compare(spark, path, [(f"$['{kind}']", target) for kind in values for target in (*TYPES, None)])
    # No residual of a field holds anything: nothing is decoded, and there is one scan.
    assert plan(made).count("FileScan") == 1 and "ArrowEvalPython" not in plan(made)


def test_decimals_as_doubles_round_as_those_of_variants(spark: SparkSession, tmp_path: Path) -> None:
    chance = random.Random(7)
    kinds = {"decimal(9,4)": "decimal4", "decimal(18,9)": "decimal8", "decimal(38,18)": "decimal16", "decimal(38,0)": "decimal16"}
    rows: list[Node] = []
    for _ in range(2000):
        row: dict[str, Node] = {}
        for kind, name in kinds.items():
            precision, scale = map(int, kind[8:-1].split(","))
            digits = chance.randrange(10 ** chance.randint(1, precision)) * chance.choice((1, -1))
            row[kind] = Scalar(BY_NAME[name], Decimal(f"{digits}E-{scale}"))
        rows.append(row)
    path = write(tmp_path / "file.parquet", rows, ", ".join(f"`{kind}` {kind}" for kind in kinds))
    made = compare(spark, path, [(f"$['{kind}']", "double") for kind in kinds])
    assert "ArrowEvalPython" not in plan(made) and "variant" not in plan(made)


EVENT_PAIRS: list[Pair] = [
    ("$.id", "bigint"), ("$.id", "string"), ("$.type", "string"), ("$.user.id", "bigint"), ("$.user.id", "decimal(20,0)"),
    ("$.user.geo.lat", "double"), ("$.user.geo", None), ("$.amount", "decimal(12,2)"), ("$.score", "double"), ("$.items[0].qty", "int"),
    ("$.items[1].price", "decimal(9,2)"), ("$.items", None), ("$.tags[0]", "string"), ("$.flags.beta", "boolean"), ("$.ts", "timestamp"),
    ("$.payload", None), ("$.payload.q", "string"), ("$.payload.paid", "boolean"), ("$.x_0042", "string"), ("$.absent.path", "int"),
    ("$.device", "string"), ("$", None),
]  # fmt: skip


@pytest.fixture(scope="module")
def events(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Sample events in files of varquet, of Spark and of DuckDB."""
    folder = tmp_path_factory.mktemp("events")
    lines = event_lines(2000)
    made = {"varquet": write(folder / "varquet.parquet", [*lines, None], EVENT_SCHEMA, row_group_rows=500), "spark": folder / "spark"}
    frame = spark.createDataFrame(list(enumerate(lines)), "row int, text string").selectExpr("row", "parse_json(text) as v")
    frame.repartition(2).write.parquet(str(made["spark"]))
    duckdb = pytest.importorskip("duckdb")
    table = pa.table({"row": pa.array(range(len(lines)), pa.int32()), "text": lines})
    made["duckdb"] = folder / "duckdb.parquet"
    with duckdb.connect() as connection:
        connection.register("lines", table)
        connection.sql(
            f"copy (select \"row\", text::json::variant as v from lines) to '{made['duckdb']}' (format parquet, row_group_size 700)"
        )
    return made


@pytest.mark.parametrize("writer", ["varquet", "spark", "duckdb"])
def test_events_of_all_writers(spark: SparkSession, events: dict[str, Path], writer: str) -> None:
    compare(spark, events[writer], EVENT_PAIRS)


def test_filters_find_the_same_rows(spark: SparkSession, events: dict[str, Path]) -> None:
    made = view(
        spark, events["varquet"], {"n": "row", "id": "$.user.id bigint", "country": "$.user.geo.country string", "score": "$.score double"}
    )
    columns = "row as n", "try_variant_get(v, '$.user.id', 'bigint') as id", "try_variant_get(v, '$.user.geo.country', 'string') as country"
    native = spark.read.parquet(str(events["varquet"])).selectExpr(*columns, "try_variant_get(v, '$.score', 'double') as score")
    for predicate in (
        "id < 5000",
        "id is null",
        "country in ('DE', 'FR') and id > 100",
        "score > 0.9 or score is null",
        "not country = 'DE'",
    ):
        assert seen(made.where(predicate), ["n"]) == seen(native.where(predicate), ["n"]), predicate
    assert made.count() == native.count()
    made.createOrReplaceTempView("made")
    native.createOrReplaceTempView("native")
    told = [spark.sql(f"select country, count(*), sum(id) from {name} group by country").collect() for name in ("made", "native")]
    assert sorted(map(str, told[0])) == sorted(map(str, told[1]))


def test_filters_by_values_of_every_type(spark: SparkSession, tmp_path: Path) -> None:
    texts = {
        "bigint": ("100",), "tinyint": ("-1",), "decimal(9,2)": ("1.10",), "string": ("x",), "date": ("1970-01-02",), "boolean": ("true",),
        "timestamp": ("1970-01-01 00:00:00.000001Z",), "double": ("NaN", "0.0", "-0.0", "Infinity"), "float": ("NaN", "0.0"),
    }  # fmt: skip
    of = {"bigint": "int64", "tinyint": "int8", "decimal(9,2)": "decimal4"}
    values = {kind: [one for one in SCALARS[of.get(kind, kind)] if len(str(one.value)) < 100] for kind in texts}
    rows: list[Node] = [{kind: some[row % len(some)]} for kind, some in values.items() for row in range(12)]
    # Each row group has values of one type, or of few.
    path = write(tmp_path / "file.parquet", rows, ", ".join(f"`{kind}` {kind}" for kind in texts), row_group_rows=4)
    made = view(spark, path, {"row": "row", **{kind: f"$['{kind}'] {kind}" for kind in texts}, "wide": "$.float double"})
    columns = [f"try_variant_get(v, \"$['{kind}']\", '{kind}') as `{kind}`" for kind in texts]
    native = spark.read.parquet(str(path)).selectExpr("row", *columns, "try_variant_get(v, '$.float', 'double') as wide")
    asked = [(kind, kind, text) for kind, some in texts.items() for text in some]
    for name, kind, text in [*asked, ("wide", "double", "NaN"), ("wide", "double", "5.5")]:
        for operator in ("=", ">"):
            predicate = f"`{name}` {operator} cast('{text}' as {kind})"
            assert seen(made.where(predicate), ["row"]) == seen(native.where(predicate), ["row"]), predicate


# Names and places


def by_hand(spark: SparkSession, path: Path, paths: Mapping[str, vq.Path]) -> dict[str, list[str]]:
    """What whole Variants have at paths, by varquet: for paths that Spark has no text for."""
    rows = [row[0] for row in spark.read.parquet(str(path)).select("v").collect()]
    whole = [None if one is None else {"metadata": bytes(one.metadata), "value": bytes(one.value)} for one in rows]
    return {name: sorted(map(repr, variants_of(vq.extract(pa.array(whole, vq.VARIANT), at)))) for name, at in paths.items()}


def variants(frame: DataFrame) -> dict[str, list[str]]:
    """The columns of a frame, each sorted."""
    rows = frame.collect()
    return {name: sorted(repr(None if row[name] is None else variant(row[name])) for row in rows) for name in frame.columns}


def variant(value: Any) -> vq.Variant:
    return vq.Variant(bytes(value.metadata), bytes(value.value))


@pytest.mark.parametrize("keys", [EDGE_KEYS, tuple(key for key in EDGE_KEYS if key != "A")], ids=["names that differ in case", "others"])
def test_any_name(spark: SparkSession, tmp_path: Path, keys: tuple[str, ...]) -> None:
    leaf = vq.ShreddingSchema.primitive("string")
    outer = vq.ShreddingSchema.object(dict.fromkeys(keys, vq.ShreddingSchema.array(vq.ShreddingSchema.object(dict.fromkeys(keys, leaf)))))
    ddl = vq.ShreddingSchema.object({**dict.fromkeys(keys, leaf), "outer": outer}).ddl()
    path = write(tmp_path / "file.parquet", EDGE_KEY_DOCUMENTS, ddl)
    paths = {
        f"{kind} {number}": at
        for number, key in enumerate(EDGE_KEYS)
        for kind, at in (("top", vq.Path((key,))), ("in", vq.Path(("outer", key, 0, key))))
    }
    made = view(spark, path, {name: vq.path(at) for name, at in paths.items()})
    assert variants(made) == by_hand(spark, path, paths)
    assert (".typed_value" in plan(made)) == ("A" not in keys)


def test_names_that_differ_in_case_are_different(spark: SparkSession, tmp_path: Path) -> None:
    rows: list[str | None] = ['{"a":1,"A":2,"o":{"b":[{"c":1,"C":2}]}}', '{"A":3}', '{"a":"text"}', '{"o":{"B":5}}', None, '{"ſ":1,"s":2}']
    pairs: list[Pair] = [
        ("$.a", "bigint"),
        ("$.A", "bigint"),
        ("$.o", None),
        ("$.o.b[0].C", "int"),
        ("$.o.B", "int"),
        ("$.s", "int"),
        ("$", None),
    ]
    both = "a bigint, A bigint, o struct<b: array<struct<c: int, C: int>>, B: int>"
    for number, ddl in enumerate((both, "a bigint, o struct<b: array<struct<C: int>>>", "A bigint, o struct<B: int>", "`ſ` int, s int")):
        write(tmp_path / f"{number}.parquet", rows, ddl)
        compare(spark, tmp_path / f"{number}.parquet", pairs)
    compare(spark, tmp_path, pairs)
    # The result itself may have such names, too.
    assert view(spark, tmp_path, {"a": "$.a bigint", "A": "$.A bigint"}).columns == ["a", "A"]


def test_indexes_from_the_end_and_out_of_bounds(spark: SparkSession, tmp_path: Path) -> None:
    rows: list[str | None] = [
        '{"a":[1,2,3]}',
        '{"a":[]}',
        '{"a":["x"]}',
        '{"a":[[1],[2,3]]}',
        '{"a":{"b":1}}',
        "[1]",
        None,
        '{"a":null}',
        '{"a":[null]}',
    ]
    texts = ("$.a[0]", "$.a[2]", "$.a[7]", "$.a[-1]", "$.a[-3]", "$.a[-7]", "$.a[-1][-1]", "$.a[1][0]", "$[-1]")
    for number, ddl in enumerate(("a array<bigint>", "a array<array<bigint>>", "variant")):
        path = write(tmp_path / f"{number}.parquet", rows, ddl)
        paths = {text: vq.Path.parse(text) for text in texts}
        assert variants(view(spark, path, {text: text for text in texts})) == by_hand(spark, path, paths), ddl


def test_variants_inside_structs_and_whole_columns(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    vq.write(nested_table(ALL_DOCUMENTS), path, {("s", "b"): DOCUMENT_SCHEMAS["object"]})
    pairs: list[Pair] = [("$.id", "bigint"), ("$.user", None), ("$.user.geo.lat", "double")]
    compare(spark, path, pairs, "s.b")
    made = view(spark, path, {"id": "s.b:$.id string", "s": "s"})
    native = spark.read.parquet(str(path)).selectExpr("try_variant_get(s.b, '$.id', 'string') as id", "s")
    assert made.schema["s"].dataType == native.schema["s"].dataType
    assert sorted(map(repr, made.selectExpr("id", "s.a").collect())) == sorted(map(repr, native.selectExpr("id", "s.a").collect()))
    whole = write(tmp_path / "whole.parquet", ALL_DOCUMENTS, DOCUMENT_SCHEMAS["object"])
    assert variants(view(spark, whole, ["v"])) == by_hand(spark, whole, {"v": vq.Path()})
    with pytest.raises(UnsupportedTypeError, match="in a list or map"):
        view(spark, path, ["l.element:$.id bigint"])


def test_hive_partitions(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "a [b] {c} d*e %20 f"
    lines: list[Node | str | None] = [*event_lines(60)]
    for number, day in enumerate(("2026-01-01", "2026-01-02", "__HIVE_DEFAULT_PARTITION__")):
        ddl = EVENT_SCHEMA if number else "id bigint"
        write(folder / f"day={day}" / f"kind={number + 8:02}" / "x=y.parquet", lines[20 * number : 20 * number + 20], ddl)
    made = view(spark, folder, {"day": "day", "kind": "kind", "row": "row", "id": "$.id bigint", "user": "$.user.id bigint"}, name="by_day")
    escaped = re.sub(r"([\[{*])", r"\\\1", str(folder))
    asked = "try_variant_get(v, '$.id', 'bigint') as id", "try_variant_get(v, '$.user.id', 'bigint') as user"
    native = spark.read.option("basePath", str(folder)).parquet(f"{escaped}/*").selectExpr("day", "kind", "row", *asked)
    assert made.dtypes == native.dtypes
    assert dict(made.dtypes)["day"] == "date"
    assert seen(made, made.columns) == seen(native, made.columns)
    one_day = spark.sql("select * from by_day where day = date'2026-01-02'")
    assert seen(one_day, ["row", "id"]) == seen(native.where("day = date'2026-01-02'"), ["row", "id"])
    assert "PartitionFilters: [isnotnull(day" in plan(one_day)
    # Without them the same files are read.
    assert seen(view(spark, folder, {"id": "$.id bigint"}), ["id"]) == seen(native, ["id"])
    assert seen(view(spark, f"file://{tmp_path}/*/day=2026-01-01/**/*.parquet", {"id": "$.id bigint"}), ["id"]) == seen(
        native.where("day = date'2026-01-01'"), ["id"]
    )


def test_columns_that_only_some_files_have(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", ['{"id":1}', '{"id":"x"}'], "id bigint")
    pq.write_table(pa.table({"other": ["p", "q"]}), tmp_path / "b.parquet")
    made = view(
        spark,
        [str(tmp_path / "b.parquet"), str(tmp_path / "a.parquet")],
        {"id": "v:$.id bigint", "raw": "v:$.id", "other": "other", "v": "v"},
    )
    assert dict(made.dtypes) == {"id": "bigint", "raw": "variant", "other": "string", "v": "variant"}
    rows = sorted(made.selectExpr("id", "to_json(raw)", "other", "to_json(v)").collect(), key=repr)
    assert [tuple(row) for row in rows] == [
        (1, "1", None, '{"id":1}'),
        (None, '"x"', None, '{"id":"x"}'),
        (None, None, "p", None),
        (None, None, "q", None),
    ]


def test_footers_read_by_workers(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, ddl in enumerate(DOCUMENT_SCHEMAS.values()):
        write(tmp_path / f"{number}.parquet", ALL_DOCUMENTS, ddl)
    monkeypatch.setattr("varquet.spark.views._FEW_FILES", 0)
    compare(spark, tmp_path, [("$.id", "bigint"), ("$.user.geo", None)])
    with pytest.raises(UnsupportedTypeError, match="expected Variants or maps at 'row'"):
        view(spark, tmp_path, ["row:$.id bigint"])


def test_moments_in_another_time_zone(spark: SparkSession, tmp_path: Path) -> None:
    moments = [
        {"o": dict.fromkeys(("timestamp", "timestamp_ntz", "date", "string"), scalar)}
        for scalar in [
            *SCALARS["timestamp"][:4],
            *SCALARS["timestamp_ntz"][:4],
            *SCALARS["date"][:4],
            Scalar(BY_NAME["string"], "2026-06-30 23:30:00"),
        ]
    ]
    path = write(tmp_path / "file.parquet", [*moments], "o struct<timestamp: timestamp, timestamp_ntz: timestamp_ntz, date: date>")
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        names = ("timestamp", "timestamp_ntz", "date", "string")
        compare(spark, path, [("$.o", None), ("$.o", "string"), *((f"$.o.{name}", kind) for name in names for kind in (*names, None))])
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(zone))


# What is read


def test_one_scan_where_no_residual_holds_anything(spark: SparkSession, tmp_path: Path) -> None:
    rows: list[str | None] = [f'{{"id":{number},"user":{{"name":"n{number}","age":{number % 90}}},"text":"t"}}' for number in range(1000)]
    path = write(tmp_path / "file.parquet", rows, "id bigint, user struct<name: string, age: int>, text string", row_group_rows=100)
    made = view(spark, path, {"id": "$.id bigint", "name": "$.user.name string", "age": "$.user.age bigint", "all": "$.user"})
    found = made.where("id = 250 and age >= 0").select("name")
    text = plan(found)
    assert text.count("FileScan") == 1 and "Union" not in text and "ArrowEvalPython" not in text
    scan = found._jdf.queryExecution().executedPlan().collectLeaves().head()
    pushed, read = (scan.metadata().apply(name) for name in ("PushedFilters", "ReadSchema"))
    assert "EqualTo(v.typed_value.id.typed_value,250)" in pushed
    assert "GreaterThanOrEqual(v.typed_value.user.typed_value.age.typed_value,0)" in pushed
    user = "user:struct<typed_value:struct<age:struct<typed_value:int>,name:struct<typed_value:string>>>"
    assert read == f"struct<v:struct<typed_value:struct<{user},id:struct<typed_value:bigint>>>>"
    assert [tuple(row) for row in found.collect()] == [("n250",)]
    # Row groups that cannot have it are not read.
    assert scan.metrics().apply("numOutputRows").value() == 100


def test_two_scans_where_types_conflict(spark: SparkSession, tmp_path: Path) -> None:
    rows: list[str | None] = [f'{{"id":{number}}}' if number != 777 else '{"id":"250"}' for number in range(1000)]
    path = write(tmp_path / "file.parquet", rows, "id bigint", row_group_rows=100)
    made = view(spark, path, {"row": "row", "id": "$.id bigint"})
    found = made.where("id = 250")
    text = plan(found)
    assert text.count("FileScan") == 2 and text.count("Union") == 1
    assert "IsNull(v.typed_value.id.value)" in text and "IsNotNull(v.typed_value.id.value)" in text
    assert sorted(row.row for row in found.collect()) == [250, 777]
    assert made.count() == 1000
    # Values that are nowhere in conflict need no second scan, whatever the others do.
    assert plan(view(spark, path, {"row": "row", "other": "$.other"})).count("FileScan") == 1


def test_files_without_conflicts_are_scanned_apart(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(4):
        write(tmp_path / f"{number}.parquet", ['{"id":1,"n":2}', '{"id":"x"}' if number == 3 else '{"id":2}'], "id bigint, n int")
    assert plan(view(spark, tmp_path, ["$.id bigint", "$.n int"])).count("FileScan") == 3
    assert plan(view(spark, tmp_path, ["$.n int"])).count("FileScan") == 1


def test_other_reads_stay_as_they_were(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "file.parquet", ALL_DOCUMENTS, DOCUMENT_SCHEMAS["object"])
    name = "spark.sql.parquet.ignoreVariantAnnotation"
    spark.conf.set(name, "false")
    before = spark.read.parquet(str(path)).selectExpr("row", "to_json(v)").collect()
    view(spark, path, {"id": "$.id bigint"})
    assert spark.conf.get(name) == "true"
    after = spark.read.parquet(str(path))
    assert dict(after.dtypes)["v"] == "variant" and after.selectExpr("row", "to_json(v)").collect() == before
    assert spark.read.schema("row int, v variant").parquet(str(path)).selectExpr("row", "to_json(v)").collect() == before


# What is refused


def test_mistakes_are_told(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "file.parquet", ['{"id":1}'], "id bigint")
    mistakes: Mapping[str, tuple[Any, str]] = {
        "nothing": ({}, "expected the columns of a view"),
        "type": ({"x": "$.id uuid"}, "expected a type that Spark has Variants of, got uuid"),
        "column": ({"x": "gone"}, "expected the name of a column, got 'gone'"),
        "variant column": ({"x": "gone:$.id bigint"}, "expected the name of a column, got 'gone'"),
    }
    for columns, message in mistakes.values():
        with pytest.raises(UnsupportedTypeError, match=message):
            view(spark, path, columns)


def test_what_spark_cannot_read_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    typed = write(tmp_path / "typed.parquet", ['{"t":null}'], "t uuid, id bigint")
    with pytest.raises(UnsupportedTypeError, match=r'got uuid. Hint: Spark cannot read it; spark.read.format\("varquet"\) does'):
        view(spark, typed, {"t": "$.t string"})
    draft = tmp_path / "draft.parquet"
    vq.write(table_of(v=column_of(['{"id":1}'])), draft, {"v": "id bigint"}, layout="draft")
    with pytest.raises(UnsupportedTypeError, match="in the standard's layout"):
        view(spark, draft, {"id": "$.id bigint"})
