"""Maps with hot keys on Spark: written in batches and streams, read whole and by key, whatever keys each file has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import varquet as vq

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

KIND = pa.map_(pa.string(), pa.string())
ROWS: list[dict[str, str | None] | None] = [
    {"content-type": "json", "n": "1", "x": "a", "day": "2026-01-31", "at": "2026-01-31T12:30:00.5Z", "d": "1.5"}
    | {"ms": "2026-01-31T12:30:00.120Z"},
    {"content-type": "html", "n": "2"},
    None,
    {},
    {"content-type": None, "n": "012", "day": "today"},
    {"n": "30", "z": "z", "a,b": "comma", "": "empty", "é": "\U0001f600"},
]
TYPED = vq.MapKeys(
    (
        vq.HotKey("n", pa.int64()), vq.HotKey("day", pa.date32()), vq.HotKey("at", pa.timestamp("us", "UTC")), vq.HotKey("d", pa.float64()),
        vq.HotKey("ms", pa.timestamp("ms", "UTC")),
    )
)  # fmt: skip
LAYOUTS: dict[str, Any] = {"plain": [], "hot": ["content-type", "n"], "other": ["x", "nowhere", "n", "a,b", "", "é"], "typed": TYPED}


def table_of(rows: list[dict[str, str | None] | None] = ROWS) -> pa.Table:
    maps = pa.array([None if row is None else list(row.items()) for row in rows], KIND)
    return pa.table({"id": pa.array(range(len(rows)), pa.int64()), "headers": maps})


def frame_of(spark: SparkSession, rows: list[dict[str, str | None] | None] = ROWS) -> DataFrame:
    return spark.createDataFrame(list(enumerate(rows)), "id bigint, headers map<string, string>")


def collected(frame: DataFrame) -> list[dict[str, Any]]:
    return sorted((row.asDict() for row in frame.collect()), key=lambda row: row["id"])


@pytest.fixture(params=[*LAYOUTS, "all"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The same rows in every layout, and in files of all layouts."""
    if request.param == "all":
        for k, (name, keys) in enumerate(LAYOUTS.items()):
            vq.write(table_of().slice(k * 2, 2), tmp_path / f"{k}-{name}.parquet", maps={"headers": keys})
    else:
        vq.write(table_of(), tmp_path / "a.parquet", maps={"headers": LAYOUTS[request.param]}, row_group_rows=2)
    return tmp_path


def test_a_view_answers_as_a_scan_does(spark: SparkSession, source: Path) -> None:
    from varquet.spark import view

    keys = ["content-type", "n", "x", "day", "at", "d", "ms", "z", "a,b", "", "é", "nowhere"]
    columns = {f"k{k}": f"headers['{key}']" for k, key in enumerate(keys)}
    columns |= {"id": "id", "n1": "headers['n'] bigint", "n2": "headers['n'] double", "when": "headers['day'] date"}
    columns |= {"moment": "headers['at'] timestamp", "number": "headers['d'] double"}
    made = view(spark, source, columns)
    expected = vq.scan(source).select(columns).table().to_pylist()
    found = collected(made)
    assert [{name: value for name, value in row.items() if name != "moment"} for row in found] == [
        {name: value for name, value in row.items() if name != "moment"} for row in sorted(expected, key=lambda row: row["id"])
    ]
    assert [row["k0"] for row in found] == ["json", "html", None, None, None, None]
    for predicate, ids in (
        ("k0 = 'json'", [0]),
        ("k0 is null", [2, 3, 4, 5]),
        ("not k0 <=> 'json'", [1, 2, 3, 4, 5]),
        ("k1 = '012'", [4]),
        ("n1 > 1", [1, 4, 5]),
        ("n1 > 1 and k0 is null", [4, 5]),
        ("when = date'2026-01-31'", [0]),
        ("k7 = 'z' or k2 = 'a'", [0, 5]),
        ("k11 is not null", []),
    ):
        assert [row["id"] for row in collected(made.where(predicate))] == ids, predicate


def test_whole_maps_are_read(spark: SparkSession, source: Path) -> None:
    from varquet.spark import read, view

    expected = [{"id": k, "headers": row} for k, row in enumerate(ROWS)]
    assert collected(view(spark, source, ["id", "headers"])) == expected
    assert collected(spark.read.format("varquet").load(str(source))) == expected
    if not (source / "0-plain.parquet").exists():
        # Spark asks one of the files for the columns, and in this folder that is one without sidecars.
        found = read(spark, source)
        assert found.columns == ["id", "headers"]
        assert collected(found) == expected


def test_columns_that_only_look_like_sidecars_stay(spark: SparkSession, tmp_path: Path) -> None:
    from varquet.spark import read

    pq.write_table(table_of().append_column("__paimon_map_shred_headers_0", pa.array(["x"] * len(ROWS))), tmp_path / "a.parquet")
    assert read(spark, tmp_path).columns == ["id", "headers", "__paimon_map_shred_headers_0"]


def test_spark_reads_the_sidecar_alone_and_pushes_filters(spark: SparkSession, tmp_path: Path) -> None:
    from varquet.spark import view

    vq.write(table_of(), tmp_path / "a.parquet", maps={"headers": LAYOUTS["hot"]})
    made = view(spark, tmp_path, {"id": "id", "t": "headers['content-type']"})
    plan = made.where("t = 'json'").select("t")._jdf.queryExecution().toString()
    assert "ReadSchema: struct<__paimon_map_shred_headers_0:string>" in plan
    assert "EqualTo(__paimon_map_shred_headers_0,json)" in plan


def test_maps_in_structs_and_variants_beside_them(spark: SparkSession, tmp_path: Path) -> None:
    from varquet.spark import read, view

    variants = vq.parse_json(pa.array([f'{{"a": {k}}}' for k in range(len(ROWS))]))
    fields = [pa.field("headers", KIND), vq.variant_field("body")]
    request = pa.StructArray.from_arrays([table_of()["headers"].combine_chunks(), variants], fields=fields)
    table = pa.table({"id": table_of()["id"], "request": request})
    vq.write(table, tmp_path / "a.parquet", {"request.body": "a bigint"}, maps={"request.headers": ["n"]})
    made = view(spark, tmp_path, {"id": "id", "n": "request.headers['n']", "x": "request.headers['x']", "a": "request.body:$.a bigint"})
    assert [(row["n"], row["x"], row["a"]) for row in collected(made)][:3] == [("1", "a", 0), ("2", None, 1), (None, None, 2)]
    assert [row["request"].headers for row in collected(read(spark, tmp_path))] == ROWS


def test_files_without_the_map_have_nulls(spark: SparkSession, tmp_path: Path) -> None:
    from varquet.spark import view

    vq.write(table_of(), tmp_path / "a.parquet", maps={"headers": ["n"]})
    pq.write_table(pa.table({"id": pa.array([9], pa.int64())}), tmp_path / "b.parquet")
    made = view(spark, tmp_path, {"id": "id", "n": "headers['n']"})
    assert [row["n"] for row in collected(made)] == [None if row is None else row.get("n") for row in (*ROWS, None)]


def stored(path: Path) -> list[list[str]]:
    return [pq.ParquetFile(file).schema_arrow.names for file in sorted(path.glob("*.parquet"))]


def test_write_with_keys_with_a_plan_and_by_the_data(spark: SparkSession, tmp_path: Path) -> None:
    from varquet.spark import read, write

    frame = frame_of(spark).coalesce(1)
    given = write(frame, str(tmp_path / "given"), {"headers": ["n", "content-type"]})
    assert stored(tmp_path / "given") == [["id", "headers", "__paimon_map_shred_headers_0", "__paimon_map_shred_headers_1"]]
    (file,) = (tmp_path / "given").glob("*.parquet")
    assert pq.ParquetFile(file).metadata.metadata[b"paimon.map.shredding.headers.keys"] == b"n,content-type"
    assert given.to_dict()["schemas"] == {"headers": "`content-type` string, n string"}
    chosen = write(frame, str(tmp_path / "chosen"), map_columns=["headers"])
    assert {"content-type", "n"} <= set(chosen.plan.maps["headers"].names)
    # Rows that are added follow the plan of the table; a map that nobody speaks of stays as it is.
    write(frame.where("id = 0"), str(tmp_path / "given"), mode="append")
    assert stored(tmp_path / "given")[0] == stored(tmp_path / "given")[1]
    write(frame, str(tmp_path / "plain"), {})
    assert stored(tmp_path / "plain") == [["id", "headers"]]
    expected = [{"id": k, "headers": row} for k, row in enumerate(ROWS)]
    assert collected(read(spark, tmp_path / "chosen")) == expected
    assert len(collected(read(spark, tmp_path / "given"))) == 7


def test_maps_in_structs_are_written_by_a_plan(spark: SparkSession, tmp_path: Path) -> None:
    from varquet.spark import read, write

    frame = frame_of(spark).selectExpr("id", "named_struct('headers', headers) as request").coalesce(1)
    write(frame, str(tmp_path / "t"), {"request.headers": ["n"]})
    (file,) = (tmp_path / "t").glob("*.parquet")
    assert pq.ParquetFile(file).schema_arrow.field("request").type.field("headers").type.names == ["residual", "sidecar_0"]
    assert [row["request"].headers for row in collected(read(spark, tmp_path / "t"))] == ROWS
    with pytest.raises(vq.UnsupportedTypeError, match=r"expected the hot keys of 'request\.headers' by a plan"):
        write(frame, str(tmp_path / "u"), map_columns=["request.headers"])


def test_plans_evolve_with_the_table(spark: SparkSession, tmp_path: Path) -> None:
    from varquet.spark import read, write

    path = str(tmp_path / "table")
    write(frame_of(spark, [{"a": "1"}] * 10), path, map_columns=["headers"])
    report = write(frame_of(spark, [{"b": "2"}] * 10), path, mode="append", evolve=True)
    assert [(one.kind, one.path) for one in report.changes] == [("dropped", "$.a"), ("added", "$.b")]
    assert report.plan.maps["headers"].names == ["b"]
    found = [row["headers"] for row in collected(read(spark, path))]
    assert sorted(map(str, found)) == sorted(map(str, [{"a": "1"}] * 10 + [{"b": "2"}] * 10))
    scanned = vq.scan(path)
    assert (scanned.where("headers['a'] = '1'").count(), scanned.where("headers['b'] = '2'").count()) == (10, 10)


def test_variants_and_maps_in_one_table_in_partitions_by_a_key(spark: SparkSession, tmp_path: Path) -> None:
    from varquet.spark import view, write

    frame = frame_of(spark).selectExpr("*", "concat('{\"k\": ', id, '}') as doc")
    plan = {"doc": "k bigint", "headers": ["n"]}
    write(frame, str(tmp_path / "t"), plan, partition_by={"type": "headers['content-type']"}, sort_by=["headers['n'] bigint"])
    assert sorted(folder.name for folder in (tmp_path / "t").glob("type=*")) == [
        "type=__HIVE_DEFAULT_PARTITION__",
        "type=html",
        "type=json",
    ]
    made = view(spark, tmp_path / "t", {"id": "id", "k": "doc:$.k bigint", "n": "headers['n']", "type": "type"})
    assert [(row["k"], row["n"], row["type"]) for row in collected(made)][:2] == [(0, "1", "json"), (1, "2", "html")]


def test_a_key_twice_fails_the_job_and_leaves_the_table(spark: SparkSession, tmp_path: Path) -> None:
    from varquet.spark import write

    maps = pa.array([[("a", "1"), ("a", "2")]], KIND)
    pq.write_table(pa.table({"id": pa.array([1], pa.int64()), "headers": maps}), tmp_path / "twice.parquet")
    write(frame_of(spark), str(tmp_path / "t"), {"headers": ["n"]})
    before = stored(tmp_path / "t")
    with pytest.raises(Exception, match="expected each key once in a map, got 'a' twice"):
        write(spark.read.parquet(str(tmp_path / "twice.parquet")), str(tmp_path / "t"), {"headers": ["a"]}, mode="append")
    assert stored(tmp_path / "t") == before


def test_the_data_source_takes_the_options_of_the_proposal(spark: SparkSession, tmp_path: Path) -> None:
    writer = frame_of(spark).coalesce(1).withColumnRenamed("headers", "Headers").write.format("varquet").mode("append")
    writer = writer.option("parquet.map.shredding.columns", "Headers").option("parquet.map.shredding.Headers.keys", "n,content-type")
    writer.save(str(tmp_path / "t"))
    (file,) = (tmp_path / "t").glob("*.parquet")
    metadata = pq.ParquetFile(file)
    assert metadata.schema_arrow.names == ["id", "Headers", "__paimon_map_shred_Headers_0", "__paimon_map_shred_Headers_1"]
    assert metadata.metadata.metadata[b"paimon.map.shredding.Headers.keys"] == b"n,content-type"
    reader = spark.read.format("varquet").option("select", '["id", "Headers[\'n\'] bigint"]')
    assert [row["n"] for row in collected(reader.load(str(tmp_path / "t")))] == [1, 2, None, None, 12, 30]
    frame_of(spark).write.format("varquet").mode("append").option("map_columns", "headers").save(str(tmp_path / "u"))
    found = spark.read.format("varquet").load(str(tmp_path / "u"))
    assert [row["headers"] for row in collected(found)] == ROWS


def test_options_tell_the_keys_of_files_that_do_not(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"headers": pa.array([[("b", "1")]], KIND), "__paimon_map_shred_headers_0": ["x"]})
    pq.write_table(table, tmp_path / "a.parquet")
    reader = spark.read.format("varquet").option("parquet.map.shredding.columns", "headers")
    reader = reader.option("parquet.map.shredding.headers.keys", "a")
    assert [row.asDict() for row in reader.load(str(tmp_path)).collect()] == [{"headers": {"a": "x", "b": "1"}}]


def test_streams(spark: SparkSession, tmp_path: Path) -> None:
    from varquet.spark import read, read_stream, write_stream

    (tmp_path / "in").mkdir()
    for k in range(2):
        pq.write_table(table_of().slice(k * 3, 3), tmp_path / "in" / f"{k}.parquet")
    stream = spark.readStream.schema("id bigint, headers map<string, string>").option("maxFilesPerTrigger", 1)
    frame = stream.parquet(str(tmp_path / "in"))
    path, done = str(tmp_path / "out"), {"availableNow": True}
    query = write_stream(frame, path, map_columns=["headers"], checkpoint=str(tmp_path / "checkpoint"), trigger=done)
    query.awaitTermination()
    assert all("__paimon_map_shred_headers_0" in names for names in stored(tmp_path / "out"))
    expected = [{"id": k, "headers": row} for k, row in enumerate(ROWS)]
    assert collected(read(spark, path)) == expected
    back = read_stream(spark, path).writeStream.format("memory").queryName("maps").trigger(**done).start()
    back.awaitTermination()
    assert collected(spark.table("maps")) == expected
    planned = write_stream(frame, str(tmp_path / "p"), {"headers": ["n"]}, checkpoint=str(tmp_path / "c"), trigger=done)
    planned.awaitTermination()
    assert {tuple(names) for names in stored(tmp_path / "p")} == {("id", "headers", "__paimon_map_shred_headers_0")}


def test_ingest_profile_and_convert(spark: SparkSession, tmp_path: Path) -> None:
    from varquet.spark import analyze, analyze_table, convert, ingest, profile

    pq.write_table(table_of(), tmp_path / "in.parquet")
    assert profile(frame_of(spark), "headers") == vq.profile(table_of()["headers"])
    plan = analyze(frame_of(spark), "headers")
    assert plan.columns["headers"].is_map and "n" in plan.maps["headers"].names
    typed = analyze(frame_of(spark, [{"n": str(k), "x": f"0{k}"} for k in range(9)]).repartition(2), "headers", typed=True)
    assert {key.name: key.type for key in typed.maps["headers"].keys} == {"n": pa.int64(), "x": None}
    assert analyze_table(spark, tmp_path / "in.parquet", "headers").maps == plan.maps
    report = ingest(spark, tmp_path / "in.parquet", str(tmp_path / "out"), map_columns=["headers"])
    assert report.plan.maps == plan.maps
    assert vq.diff(tmp_path / "in.parquet", tmp_path / "out").is_equal
    convert(spark, str(tmp_path / "out"), str(tmp_path / "again"), plan={"headers": ["x"]})
    assert stored(tmp_path / "again") == [["id", "headers", "__paimon_map_shred_headers_0"]]
    assert vq.diff(tmp_path / "in.parquet", tmp_path / "again").is_equal
