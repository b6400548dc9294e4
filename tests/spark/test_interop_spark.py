"""Files pass between varquet and Spark with equal values; what Spark cannot read is listed here, and fails when it can.

Spark is asked for `variant` as a user would: `spark.read.parquet(path)`, schema inferred, no options. It hands over the bytes of
the Variant encoding, so nothing is lost in comparing. Values share few files, a column for each schema: a job costs most.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from varquet.types import BY_NAME
from varquet.variant.model import NULL, Node, Scalar

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

# Types of the standard that Spark has not: it refuses their typed_value, and all but a uuid also in the value of a shredded column.
UNKNOWN_TYPES = ("time", "timestamp_nanos", "timestamp_ntz_nanos", "uuid")
UNKNOWN_VALUES = ("time", "timestamp_nanos", "timestamp_ntz_nanos")
SPARK_TYPES = tuple(ddl for ddl in ALL_TYPES if ddl not in UNKNOWN_TYPES)
SPARK_SCALARS = [scalar for name, scalars in SCALARS.items() if name not in UNKNOWN_VALUES for scalar in scalars]
ALL_DOCUMENTS = [document for documents in DOCUMENTS.values() for document in documents]


def variant_column(values: Iterable[Any]) -> pa.Array:
    """Spark's VariantVals as a variant column. (DataFrame.toArrow fails on a variant that is SQL NULL.)"""
    rows = [None if value is None else {"metadata": bytes(value.metadata), "value": bytes(value.value)} for value in values]
    return pa.array(rows, vq.VARIANT)


def write_and_compare(spark: SparkSession, path: Path, column: pa.Array, ddls: Sequence[str], row_group_rows: int = 10_000) -> None:
    """Write a column shredded by each schema, side by side in one file; Spark must see variants, and the same values in each."""
    table = table_of(**{f"v{number}": column for number in range(len(ddls))})
    vq.write(table, path, {f"v{number}": ddl for number, ddl in enumerate(ddls)}, row_group_rows=row_group_rows)
    frame = spark.read.parquet(str(path))
    assert dict(frame.dtypes) == {"row": "int", **dict.fromkeys(table.column_names[1:], "variant")}
    rows = frame.orderBy("row").collect()
    for number, ddl in enumerate(ddls):
        assert different_rows(variant_column(row[f"v{number}"] for row in rows), column) == [], ddl


def object_ddl(types: Iterable[str], form: str = "{}") -> str:
    """A schema with a field for each type, which has the type's name: `bigint` bigint, ..."""
    return ", ".join(f"`{name}` {form.format(name)}" for name in types)


def scalars_in_fields(scalars: Iterable[Scalar]) -> list[Node]:
    """Each scalar in the field of each type, as it is and in an array."""
    nodes: list[Node] = []
    for scalar in scalars:
        elements: list[Node] = [scalar, NULL]
        nodes += [dict.fromkeys(SPARK_TYPES, scalar), dict.fromkeys(SPARK_TYPES, elements)]
    return nodes


# Files that we write


def test_every_type_unshredded(spark: SparkSession, tmp_path: Path) -> None:
    scalars = [scalar for scalars in SCALARS.values() for scalar in scalars]
    write_and_compare(spark, tmp_path / "file.parquet", column_of([None, *positions(scalars)]), ["variant"])


def test_every_type_shredded_by_every_type(spark: SparkSession, tmp_path: Path) -> None:
    column = column_of([None, *scalars_in_fields(SPARK_SCALARS)])
    write_and_compare(spark, tmp_path / "fields.parquet", column, [object_ddl(SPARK_TYPES), object_ddl(SPARK_TYPES, "array<{}>")])
    short = [scalar for scalar in SPARK_SCALARS if not isinstance(scalar.value, (str, bytes)) or len(scalar.value) < 1000]
    write_and_compare(spark, tmp_path / "roots.parquet", column_of([None, *positions(short)]), SPARK_TYPES)


def test_every_encoding_of_many_values(spark: SparkSession, tmp_path: Path) -> None:
    rows = max(map(len, DISTINCT.values()))
    nodes: list[Node | None] = [None, NULL]
    for row in range(rows):
        fields = {name: scalars[row % len(scalars)] for name, scalars in DISTINCT.items()}
        nodes += [{**fields}, {name: [scalar, NULL, scalar] for name, scalar in fields.items()}]
    path = tmp_path / "file.parquet"
    ddls = [object_ddl(DISTINCT), object_ddl(DISTINCT, "array<{}>"), "variant"]
    write_and_compare(spark, path, column_of(nodes), ddls, row_group_rows=150)
    assert pq.ParquetFile(path).num_row_groups > 2
    assert encodings_of(path) >= {"PLAIN", "RLE_DICTIONARY", "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY"}


def test_texts_that_begin_alike(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    nodes: list[Node | None] = [None, NULL, *({"x": scalar} for scalar in BEGINNING_ALIKE)]
    write_and_compare(spark, path, column_of(nodes), ["x string"], row_group_rows=150)
    assert "DELTA_BYTE_ARRAY" in encodings_of(path)


def test_documents_by_schemas_that_fit_or_not(spark: SparkSession, tmp_path: Path) -> None:
    write_and_compare(spark, tmp_path / "file.parquet", column_of(ALL_DOCUMENTS), list(DOCUMENT_SCHEMAS.values()))


@pytest.mark.parametrize("shape", SHAPES)
def test_wide_long_and_deep(spark: SparkSession, tmp_path: Path, shape: str) -> None:
    nodes, ddls = SHAPES[shape]
    write_and_compare(spark, tmp_path / "file.parquet", column_of(nodes), ddls)


def test_any_name_shredded(spark: SparkSession, tmp_path: Path) -> None:
    leaf = vq.ShreddingSchema.primitive("string")
    alone = [vq.ShreddingSchema.object({key: leaf, "outer": vq.ShreddingSchema.object({key: leaf})}) for key in EDGE_KEYS]
    together = vq.ShreddingSchema.object(dict.fromkeys(EDGE_KEYS, leaf))
    write_and_compare(spark, tmp_path / "file.parquet", column_of(EDGE_KEY_DOCUMENTS), [one.ddl() for one in (together, *alone)])


@pytest.mark.parametrize("ddl", ["variant", DOCUMENT_SCHEMAS["object"]], ids=["unshredded", "shredded"])
def test_inside_structs_lists_and_maps(spark: SparkSession, tmp_path: Path, ddl: str) -> None:
    table = nested_table(ALL_DOCUMENTS)
    vq.write(table, tmp_path / "file.parquet", {("s", "b"): ddl, ("l", "element"): ddl, ("m", "value"): ddl})
    frame = spark.read.parquet(f"{tmp_path}/file.parquet")
    assert dict(frame.dtypes) == {"row": "int", "s": "struct<a:int,b:variant>", "l": "array<variant>", "m": "map<string,variant>"}
    rows = frame.orderBy("row").collect()
    written = column_of(ALL_DOCUMENTS)
    assert different_rows(variant_column(row.s.b for row in rows), written) == []
    assert different_rows(variant_column(value for row in rows for value in row.l), written) == []
    assert different_rows(variant_column(value for row in rows for value in row.m.values()), written) == []
    assert [len(row.l) for row in rows] == [len(row.m) for row in rows] == [len(row) for row in table["l"].to_pylist()]


# A path and a type in Spark's words; ours are the same.
QUERIES = [
    ("$.id", "bigint"), ("$.type", "string"), ("$.user.id", "bigint"), ("$.user.id", "string"), ("$.user.geo.lat", "double"),
    ("$.user.geo.lat", "decimal(9,4)"), ("$.amount", "decimal(12,2)"), ("$.score", "double"), ("$.items[0].qty", "int"),
    ("$.items[1].price", "decimal(9,2)"), ("$.tags[0]", "string"), ("$.flags.beta", "boolean"), ("$.ts", "timestamp"),
    ("$.payload.paid", "boolean"), ("$.x_0042", "string"), ("$.absent.path", "int"), ("$.device", "string"),
]  # fmt: skip


def test_sample_events_and_queries_on_their_paths(spark: SparkSession, tmp_path: Path) -> None:
    column = vq.parse_json(pa.array(event_lines(300)))
    path = tmp_path / "file.parquet"
    write_and_compare(spark, path, column, [EVENT_SCHEMA, "variant"], row_group_rows=128)

    frame = spark.read.parquet(str(path))
    for name in ("v0", "v1"):
        asked = [f"try_variant_get({name}, '{place}', '{kind}') AS q{number}" for number, (place, kind) in enumerate(QUERIES)]
        parts = [f"variant_get({name}, '$.{part}', 'variant') AS {part}" for part in ("payload", "items", "user")]
        answer = frame.selectExpr("row", *asked).toArrow().sort_by("row")
        for number, (place, kind) in enumerate(QUERIES):
            ours = vq.extract(column, place, kind)
            assert answer[f"q{number}"].combine_chunks().cast(ours.type).to_pylist() == ours.to_pylist(), (name, place, kind)
        rows = frame.orderBy("row").selectExpr(*parts).collect()
        for part in ("payload", "items", "user"):
            assert different_rows(variant_column(row[part] for row in rows), vq.extract(column, f"$.{part}")) == [], (name, part)
        found = frame.where(f"try_variant_get({name}, '$.user.id', 'bigint') > 100000").orderBy("row").collect()
        numbers = vq.extract(column, "$.user.id", "bigint").to_pylist()
        assert [row.row for row in found] == [row for row, number in enumerate(numbers) if number is not None and number > 100_000] != []


def test_files_converted_from_the_draft(spark: SparkSession, tmp_path: Path) -> None:
    """draft -> standard -> draft and draft -> unshredded -> draft, and what stands in between is what Spark reads."""
    column = column_of([*event_lines(300), *ALL_DOCUMENTS])
    schemas = {"v0": EVENT_SCHEMA, "v1": DOCUMENT_SCHEMAS["object"], "v2": DOCUMENT_SCHEMAS["other types"]}
    draft = tmp_path / "draft.parquet"
    vq.write(table_of(**dict.fromkeys(schemas, column)), draft, schemas, layout="draft", row_group_rows=150)
    for layout in ("parquet", "unshredded"):
        path = tmp_path / f"{layout}.parquet"
        vq.convert(draft, path, layout)
        rows = spark.read.parquet(str(path)).orderBy("row").collect()
        for name, ddl in schemas.items():
            assert different_rows(variant_column(row[name] for row in rows), column) == [], (layout, ddl)
        vq.convert(path, tmp_path / f"{layout} back.parquet", "draft", schemas)
        assert vq.diff(draft, tmp_path / f"{layout} back.parquet").is_equal


# What Spark cannot


@pytest.mark.parametrize("name", UNKNOWN_TYPES)
def test_known_typed_values_of_types_that_spark_has_not(spark: SparkSession, tmp_path: Path, name: str) -> None:
    # Shred by another schema to be read by Spark: unshredded it reads them all, see test_every_type_unshredded.
    vq.write(table_of(v=column_of(SCALARS[name])), tmp_path / "file.parquet", {"v": f"x {BY_NAME[name].sql}"})
    expected = "INVALID_VARIANT_SHREDDING_SCHEMA" if name == "time" else "PARQUET_TYPE_ILLEGAL"
    with pytest.raises(Exception, match=expected):
        spark.read.parquet(f"{tmp_path}/file.parquet").collect()


@pytest.mark.parametrize("name", UNKNOWN_VALUES)
def test_known_unknown_types_in_the_value_of_a_shredded_column(spark: SparkSession, tmp_path: Path, name: str) -> None:
    # Putting a shredded value together Spark looks at every type; unshredded bytes it passes on as they are.
    vq.write(table_of(v=column_of(SCALARS[name])), tmp_path / "file.parquet", {"v": "x int"})
    with pytest.raises(Exception, match=f"UNKNOWN_PRIMITIVE_TYPE_IN_VARIANT.*{BY_NAME[name].tag}"):
        spark.read.parquet(f"{tmp_path}/file.parquet").collect()


def test_a_uuid_in_the_value_of_a_shredded_column(spark: SparkSession, tmp_path: Path) -> None:
    write_and_compare(spark, tmp_path / "file.parquet", column_of(positions(SCALARS["uuid"])), ["x int", "array<string>"])


# Files that Spark writes

SHREDDING = "spark.sql.variant.writeShredding.enabled"
INFERRING = "spark.sql.variant.inferShreddingSchema"
FORCED = "spark.sql.variant.forceShreddingSchemaForTest"


def written_by_spark(frame: DataFrame, path: Path, confs: dict[str, str], *partition_by: str) -> list[Path]:
    """One file, or one for each partition, written under these settings."""
    session = frame.sparkSession
    before = {name: str(session.conf.get(name)) for name in confs}
    for name, setting in confs.items():
        session.conf.set(name, setting)
    try:
        frame.coalesce(1).write.partitionBy(*partition_by).parquet(str(path))
    finally:
        for name, setting in before.items():
            session.conf.set(name, setting)
    return sorted(path.rglob("*.parquet"))


def typed_value_of(path: Path) -> pa.DataType | None:
    kind = pq.ParquetFile(path).schema_arrow.field("v").type
    return kind.field("typed_value").type if kind.get_field_index("typed_value") >= 0 else None


def frame_of(spark: SparkSession, folder: Path, column: pa.Array) -> DataFrame:
    """Our values as a DataFrame: `row`, `v`, and `part`."""
    vq.write(table_of(v=column), folder / "ours.parquet", {"v": "variant"}, overwrite=True)
    return spark.read.parquet(f"{folder}/ours.parquet").selectExpr("row", "v", "row % 3 AS part")


SETTINGS = {
    "unshredded": {SHREDDING: "false"},
    "inferred": {},
    "forced": {INFERRING: "false", FORCED: DOCUMENT_SCHEMAS["object"]},
    "forced, other types": {INFERRING: "false", FORCED: DOCUMENT_SCHEMAS["other types"]},
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_we_read_documents_and_events_written_by_spark(spark: SparkSession, tmp_path: Path, setting: str) -> None:
    # The top-level scalars and arrays among the documents would keep Spark from inferring an object.
    documents = [text for text in ALL_DOCUMENTS if text is None or text.startswith("{")]
    column = column_of([*event_lines(200), *documents])
    frame = frame_of(spark, tmp_path, column)
    (path,) = written_by_spark(frame.drop("part"), tmp_path / "theirs", SETTINGS[setting])
    typed = typed_value_of(path)
    assert (typed is None) == (setting == "unshredded")
    if setting == "inferred":
        assert typed is not None and {"id", "type", "user"} <= {field.name for field in typed}
    read = vq.read(path).sort_by("row")["v"]
    assert different_rows(read, column) == []
    assert different_rows(variant_column(row.v for row in spark.read.parquet(str(path)).orderBy("row").collect()), read) == []
    vq.convert(path, tmp_path / "draft.parquet", "draft")
    assert vq.diff(path, tmp_path / "draft.parquet").is_equal


def test_we_read_documents_of_all_kinds_written_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    column = column_of(ALL_DOCUMENTS)
    frame = frame_of(spark, tmp_path, column).drop("part")
    for number, schema in enumerate((DOCUMENT_SCHEMAS["object"], "array<struct<id: int>>", "string")):
        (path,) = written_by_spark(frame, tmp_path / f"theirs {number}", {INFERRING: "false", FORCED: schema})
        assert typed_value_of(path) is not None
        assert different_rows(vq.read(path).sort_by("row")["v"], column) == []


def test_we_read_partitioned_folders_written_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    # Each file infers a schema of its own.
    column = column_of(event_lines(200))
    paths = written_by_spark(frame_of(spark, tmp_path, column), tmp_path / "theirs", {}, "part")
    assert [path.parent.name for path in paths] == ["part=0", "part=1", "part=2"]
    assert different_rows(vq.read(tmp_path / "theirs").sort_by("row")["v"], column) == []
    for part, path in enumerate(paths):
        assert different_rows(vq.read(path).sort_by("row")["v"], column.take(pa.array(range(part, 200, 3)))) == []


def test_we_read_every_type_shredded_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    column = column_of([None, *scalars_in_fields(SPARK_SCALARS)])
    frame = frame_of(spark, tmp_path, column).drop("part")
    for number, form in enumerate(("{}", "array<{}>")):
        forced = {INFERRING: "false", FORCED: object_ddl(SPARK_TYPES, form)}
        (path,) = written_by_spark(frame, tmp_path / f"theirs {number}", forced)
        typed = typed_value_of(path)
        assert typed is not None and {field.name for field in typed} == set(SPARK_TYPES)
        assert different_rows(vq.read(path).sort_by("row")["v"], column) == []


def test_values_have_the_physical_type_that_spark_wrote(spark: SparkSession, tmp_path: Path) -> None:
    # An int8 goes into Spark's int64 column and is an int64 from then on; what does not fit stays as it was.
    column = column_of(['{"n":1,"d":1.5}', '{"n":"one","d":2}', '{"n":2.5,"d":1e0}'])
    forced = {INFERRING: "false", FORCED: "n bigint, d decimal(12,2)"}
    (path,) = written_by_spark(frame_of(spark, tmp_path, column).drop("part"), tmp_path / "theirs", forced)
    read = variants_of(vq.read(path).sort_by("row")["v"])
    kinds = [(one["n"].type_name, one["d"].type_name, one["d"].to_json()) for one in read if one is not None]
    assert kinds == [("int64", "decimal8", "1.50"), ("string", "decimal8", "2.00"), ("decimal4", "double", "1.0e0")]


def test_we_read_several_variants_and_those_in_structs_written_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    column = column_of(event_lines(100))
    frame = frame_of(spark, tmp_path, column).selectExpr(
        "row",
        "v",
        "named_struct('a', row, 'b', v) AS s",
        "array(v, v) AS l",
        "map('key', v) AS m",
        "variant_get(v, '$.user', 'variant') AS w",
    )
    (path,) = written_by_spark(frame, tmp_path / "theirs", {})
    read = vq.read(path).sort_by("row")
    assert different_rows(read["v"], column) == []
    assert different_rows(read["w"], vq.extract(column, "$.user")) == []
    assert different_rows(read["s"].combine_chunks().field("b"), column) == []
    assert different_rows(read["l"].combine_chunks().flatten()[::2], column) == []
    assert different_rows(read["m"].combine_chunks().items, column) == []
