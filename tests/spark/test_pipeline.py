"""The pipeline on Spark: profiles, writing and ingesting give what the same rows give in one process, and lose nothing."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from interop_values import event_lines

import varquet as vq
from varquet import samples

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'varquet[spark]'")

from pyspark.sql import Row

from varquet import spark as vqs
from varquet.profiles.plan import leaf_types

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EVENTS = event_lines(400)
GITHUB, HEADERS = ([line.decode() for line in samples.generate(name, 150)] for name in ("github", "headers"))
# Conflicts, nulls, what is missing or empty, deep, and names of every kind.
ODD = [
    '{"a": 1}', '{"a": "1"}', '{"a": null}', "{}", "[]", "null", '"text"', "3", '{"a": {"b": 1}}', '{"a": [1, "x", null, {"b": 2}]}',
    '{"a.b": 1, "a": {"b": 2}}', '{"ключ": "值", "😀": [{}]}', '{"A": 1, "a": 2}', '{"": 0, "$": 1, "\'": 2, "`": 3}',
    '{"a": 1.50}', '{"a": 1e300}', '{"a": 123456789012345678901234567890}', '{"a": true, "b": {"c": {"d": {"e": {"f": [[[[1]]]]}}}}}',
    '{"b": {}, "c": []}', '{"a": ' + "[" * 90 + "]" * 90 + "}",
]  # fmt: skip
PATHS = [("$.a", "bigint"), ("$.a", "string"), ("$.a", "double"), ("$.a.b", "bigint"), ("$.b.c.d.e", "string"), ("$['a.b']", "bigint"),
         ("$['ключ']", "string"), ("$.id", "bigint"), ("$.user.geo.country", "string"), ("$.items[0].sku", "string"),
         ("$.amount", "decimal(18,2)")]  # fmt: skip


def as_json(lines: list[str]) -> list[Any]:
    return sorted((json.loads(vq.to_json(vq.parse_json(pa.array([line])))[0].as_py()) for line in lines), key=repr)


def content(path: Path | str) -> list[Any]:
    column = vq.read(path)["v"]
    return sorted((json.loads(text) for text in vq.to_json(column).to_pylist()), key=repr)


def files_of(path: Path) -> list[str]:
    return sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())


@pytest.mark.parametrize("partitions", [1, 3, 70])
def test_profiles_are_those_of_one_process(spark: SparkSession, partitions: int) -> None:
    lines = [*EVENTS, *ODD, *(f'{{"id{row}": {row}, "n": {{"k{row % 40}": 1}}}}' for row in range(300))]
    expected = vq.profile(pa.array(lines), most_names=50)
    frame = spark.createDataFrame([(line,) for line in lines], "text string").repartition(partitions)
    assert vqs.profile(frame, "text", most_names=50) == expected
    assert vqs.profile(frame.selectExpr("try_parse_json(text) v").where("v is not null"), most_names=50).rows == len(lines)
    assert vqs.analyze(frame, "text").schemas["text"] == vq.choose(vq.profile(pa.array(lines))).schema


def test_profiles_of_variants_and_maps(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(line, {"a": line[:3], "b": None}) for line in EVENTS], "text string, m map<string,string>")
    assert vqs.profile(frame.selectExpr("parse_json(text) v"), "v") == vq.profile(pa.array(EVENTS))
    maps = pa.array([[("a", line[:3]), ("b", None)] for line in EVENTS], pa.map_(pa.string(), pa.string()))
    assert vqs.profile(frame, "m") == vq.profile(maps)
    for column, message in (("nope", "expected a column of the DataFrame"), (None, "one Variant column")):
        with pytest.raises(vq.UnsupportedTypeError, match=message):
            vqs.profile(frame, column)
    with pytest.raises(vq.JsonError, match="expected a value"):
        vqs.profile(spark.createDataFrame([("nope",)], "text string"), "text")


@pytest.mark.parametrize("lines", [EVENTS, GITHUB, HEADERS, ODD], ids=["events", "github", "headers", "odd"])
def test_what_is_ingested_is_what_spark_parses(spark: SparkSession, tmp_path: Path, lines: list[str]) -> None:
    """`read`, `view` and in-process queries agree with Spark's own parse_json and try_variant_get on the source."""
    raw, table = tmp_path / "raw.ndjson", tmp_path / "table"
    raw.write_text("\n".join(lines), encoding="utf-8")
    report = vqs.ingest(spark, raw, str(table), split_bytes=raw.stat().st_size // 3)
    assert report.rows == len(lines) and report.quarantined == 0 and report.bytes_in == raw.stat().st_size
    assert report.files > 1
    assert content(table) == as_json(lines)
    assert report.plan.schemas["v"] == vq.choose(vq.profile(raw)).schema
    leaves = [(path, kind) for path, kind in leaf_types(report.plan.schemas["v"]).items() if "[*]" not in path and kind != "variant"]
    paths = [*PATHS, *(leaf for leaf in leaves if "'" not in leaf[0].replace("['", "").replace("']", ""))][:40]
    asked = [f'try_variant_get(v, "{path}", "{kind}") c{k}' for k, (path, kind) in enumerate(paths)]
    parsed = spark.createDataFrame([(line,) for line in lines], "text string").selectExpr("parse_json(text) v")
    expected = sorted(map(repr, parsed.selectExpr(*asked).collect()))
    read = vqs.read(spark, table)
    assert dict(read.dtypes) == {"v": "variant"}
    assert sorted(map(repr, read.selectExpr(*asked).collect())) == expected
    named = {f"c{k}": f"{path} {kind}" for k, (path, kind) in enumerate(paths)}
    assert sorted(map(repr, vqs.view(spark, str(table), named).collect())) == expected
    # Doubles and decimals as text are where docs/casts.md tells of differences; what is no text agrees in process, too.
    exact = {name: path for name, path in named.items() if not path.endswith(("string", "double"))}
    found = vq.scan(table).select(exact).table().to_pylist()
    assert sorted(map(repr, (Row(**row) for row in found))) == sorted(map(repr, parsed.selectExpr(*asked).select(*exact).collect()))


def test_files_of_every_kind_together(spark: SparkSession, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    (raw / "below").mkdir(parents=True)
    (raw / "a.ndjson").write_text("\n".join(EVENTS[:100]) + "\n", encoding="utf-8")
    (raw / "below" / "b.jsonl.gz").write_bytes(gzip.compress("\n".join(EVENTS[100:200]).encode()))
    with pa.CompressedOutputStream(str(raw / "c.json.zst"), "zstd") as file:
        file.write("\r\n\n".join(EVENTS[200:]).encode())
    (raw / "empty.ndjson").touch()
    (raw / "_hidden.ndjson").write_text("nope")
    for split in (None, 2000):
        report = vqs.ingest(spark, str(raw), str(tmp_path / "table"), mode="overwrite", split_bytes=split)
        assert report.rows == len(EVENTS) and content(tmp_path / "table") == as_json(EVENTS)
    with pytest.raises(vq.VarquetError, match="does not exist"):
        vqs.ingest(spark, str(tmp_path / "none"), str(tmp_path / "other"))
    assert not (tmp_path / "other").exists()


def test_bad_records_are_set_apart_with_where_they_are(spark: SparkSession, tmp_path: Path) -> None:
    lines = [f'{{"id": {row}}}' for row in range(2000)]
    bad = {3: '{"id": ', 700: "nope", 701: '{"a": 1, "a": 2}', 1999: '{"b": "\\x"}'}
    text = "\n\n".join(bad.get(row, line) for row, line in enumerate(lines))
    raw, table = tmp_path / "raw.ndjson", tmp_path / "table"
    raw.write_text(text)
    (tmp_path / "second.ndjson").write_text("{}\nworse\n")
    report = vqs.ingest(spark, [raw, tmp_path / "second.ndjson"], str(table), split_bytes=3000)
    assert (report.rows, report.quarantined, report.quarantine) == (2000 - 4 + 1, 5, str(table / "_quarantine"))
    found = pq.read_table(table / "_quarantine").sort_by([("file", "ascending"), ("line", "ascending")]).to_pylist()
    assert [(row["file"], row["line"], row["record"].decode()) for row in found] == [
        *((str(raw), 2 * row + 1, record.strip()) for row, record in bad.items()),
        (str(tmp_path / "second.ndjson"), 2, "worse"),
    ]
    for row in found[:-1]:
        assert text.encode()[row["offset"] :].startswith(row["record"]) and row["at"] <= len(row["record"])
    assert "expected a value" in found[0]["reason"]
    assert any("line 1401: " in line for line in report.first_refused)
    assert spark.read.parquet(str(table / "_quarantine")).count() == 5
    assert spark.read.parquet(str(table)).count() == 1997

    with pytest.raises(vq.JsonError, match=r"raw.ndjson, line 7: expected a value, got the end"):
        vqs.ingest(spark, raw, str(table), on_error="fail", split_bytes=3000)
    raw.write_text(text.replace('{"id": \n', "{}\n"))
    with pytest.raises(vq.JsonError, match=r"raw.ndjson, line 1401: expected a value, got 'nope'"):
        vqs.ingest(spark, raw, str(table), on_error="fail", split_bytes=3000)
    assert spark.read.parquet(str(table)).count() == 1997
    report = vqs.ingest(spark, raw, str(table), on_error="null", mode="overwrite", duplicate_keys="last")
    assert (report.rows, report.nulls, report.quarantined) == (2000, 2, 0)
    assert not (table / "_quarantine").exists()
    assert vq.read(table)["v"].null_count == 2


def test_modes(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "table"
    frame = spark.range(10).selectExpr("id", "parse_json('{\"a\": ' || id || '}') v")
    assert vqs.write(frame, str(table)).rows == 10
    before = files_of(table)
    with pytest.raises(vq.UnsupportedTypeError, match="expected a new table"):
        vqs.write(frame, str(table))
    assert vqs.write(frame, str(table), mode="ignore").rows == 0
    assert files_of(table) == before
    vqs.write(frame, str(table), mode="append")
    assert spark.read.parquet(str(table)).count() == 20
    report = vqs.write(frame.where("id < 3"), str(table), mode="overwrite")
    assert report.replaced_files and spark.read.parquet(str(table)).count() == 3
    vqs.write(frame.where("id > 100"), str(table), mode="overwrite")
    assert spark.read.parquet(str(table)).count() == 0 and dict(spark.read.parquet(str(table)).dtypes)["v"] == "variant"
    with pytest.raises(vq.UnsupportedTypeError, match="expected a mode, got 'upsert'"):
        vqs.write(frame, str(table), mode="upsert")  # type: ignore[arg-type]
    with pytest.raises(vq.UnsupportedTypeError, match="expected the columns of"):
        vqs.write(frame.select("v"), str(table), mode="append")
    with pytest.raises(vq.UnsupportedTypeError, match="expected the partitions of"):
        vqs.write(frame.withColumnRenamed("id", "p").selectExpr("p", "p as id", "v"), str(table), mode="append", partition_by="p")


def test_partitions_by_columns_and_paths(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    frame = spark.range(30).selectExpr(
        "id", "cast(id % 3 as int) p", "parse_json('{\"k\": \"k' || id % 2 || '\", \"id\": ' || id || '}') v"
    )
    keys = {"p": "p", "kind": "$.k string"}
    vqs.write(frame, table, partition_by=keys)
    read = spark.read.parquet(table)
    assert read.columns == ["id", "v", "p", "kind"] and read.where("kind = 'k1' and p = 2").count() == 5
    vqs.write(frame.where("id = 4"), table, partition_by=keys, mode="overwrite-partitions")
    assert spark.read.parquet(table).where("kind = 'k0' and p = 1").count() == 1
    assert spark.read.parquet(table).count() == 30 - 5 + 1


def test_rows_are_sorted_within_files(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(1000, numPartitions=2).selectExpr("parse_json('{\"id\": ' || (id * 7919) % 1000 || '}') v")
    vqs.write(frame, str(tmp_path / "table"), sort_by="$.id bigint", row_group_rows=100)
    plan = vq.scan(tmp_path / "table").select({"id": "$.id bigint"}).where("$.id = 500")
    assert plan.count() == 1
    groups = [group for file in plan.explain().files for group in file.row_groups]
    assert len(groups) == 10 and sum(group.is_read for group in groups) <= 4
    with pytest.raises(vq.UnsupportedTypeError, match="expected a type"):
        vqs.write(frame, str(tmp_path / "other"), sort_by="$.id")


def test_all_types_of_spark_pass_through(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(5).selectExpr(
        "id", "cast(id as tinyint) t", "cast(id as float) f", "cast(id as decimal(20,3)) d", "cast(id as string) s", "id > 2 b",
        "cast('x' as binary) x", "date'2024-01-05' day", "timestamp'2024-01-05 10:20:30.5' ts", "timestamp_ntz'2024-01-05 10:20:30' n",
        "array(id, null) a", "map('k', id) m", "named_struct('v', parse_json('{\"a\": ' || id || '}'), 'z', id) s2",
        "array(parse_json('[' || id || ']')) va", "map('k', parse_json('{}')) vm", "if(id = 3, null, parse_json('{\"q\": 1}')) v",
    )  # fmt: skip
    report = vqs.write(frame, str(tmp_path / "table"), {"v": "q bigint", "s2.v": "a bigint"})
    assert report.plan.schemas["s2.v"].ddl() == "a bigint"
    read = spark.read.parquet(str(tmp_path / "table"))
    assert dict(read.dtypes) == dict(frame.dtypes)
    plain = [f"`{name}`" for name, kind in frame.dtypes if "variant" not in kind]
    as_text = [*plain, "to_json(v) v", "to_json(s2.v) s2", "to_json(va[0]) va", "to_json(vm['k']) vm"]
    assert sorted(map(repr, read.selectExpr(*as_text).collect())) == sorted(map(repr, frame.selectExpr(*as_text).collect()))


def test_text_and_maps_become_variants(spark: SparkSession, tmp_path: Path) -> None:
    rows = [(row, '{"a": ' + str(row) + "}" if row != 2 else "nope", {"k": str(row)}) for row in range(4)]
    frame = spark.createDataFrame(rows, "id int, text string, m map<string,string>").repartition(1)
    table = str(tmp_path / "table")
    with pytest.raises(vq.JsonError, match="partition 0, row 2: expected a value"):
        vqs.write(frame.sort("id"), table, {}, json_columns=["text"])
    assert not (tmp_path / "table").exists() or not list((tmp_path / "table").rglob("*.parquet"))
    report = vqs.write(frame, table, json_columns=["text", "m"], on_error="quarantine")
    assert (report.rows, report.quarantined) == (3, 1)
    assert report.plan.schemas["text"].ddl() == "a bigint" and report.plan.schemas["m"].ddl() == "k string"
    read = spark.read.parquet(table)
    assert dict(read.dtypes) == {"id": "int", "text": "variant", "m": "variant"}
    assert sorted(row[0] for row in read.selectExpr("to_json(m)").collect()) == ['{"k":"0"}', '{"k":"1"}', '{"k":"3"}']
    (bad,) = pq.read_table(tmp_path / "table" / "_quarantine").to_pylist()
    assert bad["record"] == b"nope" and json.loads(bad["row"]) == {"id": 2, "m": {"k": "2"}}
    with pytest.raises(vq.UnsupportedTypeError, match="expected Variants, JSON text or maps in column 'id'"):
        vqs.write(frame, table, json_columns=["id"], mode="append")


def test_plans_are_pinned_and_evolve(spark: SparkSession, tmp_path: Path) -> None:
    def raw(name: str, line: str) -> str:
        (tmp_path / name).write_text("\n".join(line % row for row in range(100)))
        return str(tmp_path / name)

    table = str(tmp_path / "table")
    first = vqs.ingest(spark, raw("a.ndjson", '{"a": %d}'), table)
    assert first.plan.schemas["v"].ddl() == "a bigint"
    second = vqs.ingest(spark, raw("b.ndjson", '{"a": 1, "b": "%d"}'), table)
    assert second.plan == first.plan and second.changes == []
    third = vqs.ingest(spark, raw("c.ndjson", '{"a": 1.5, "b": "%d"}'), table, evolve=True)
    assert {(change.path, change.kind) for change in third.changes} == {("$.a", "widened"), ("$.b", "added")}
    assert vqs.ingest(spark, raw("d.ndjson", '{"a": %d}'), table).plan == third.plan
    assert spark.read.parquet(table).count() == 400
    total = spark.read.parquet(table).selectExpr("sum(try_variant_get(v, '$.a', 'double'))").first()
    assert total is not None and total[0] == 4950 + 100 + 150 + 4950
    with pytest.raises(vq.UnsupportedTypeError, match="expected a plan for column 'w', got one for v"):
        vqs.ingest(spark, raw("d.ndjson", '{"a": %d}'), table, column="w")


def test_a_job_that_fails_leaves_the_table_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "table"
    frame = spark.range(100, numPartitions=4).selectExpr("id", "parse_json('{\"a\": ' || id || '}') v")
    vqs.write(frame, str(table), {"v": "a bigint"})
    before = files_of(table)
    failing = frame.selectExpr("if(id = 99, cast(raise_error('no') as bigint), id) id", "v")
    with pytest.raises(Exception, match="no"):
        vqs.write(failing, str(table), {"v": "a bigint"}, mode="overwrite")
    assert files_of(table) == before


def test_reports_say_what_was_done(spark: SparkSession, tmp_path: Path) -> None:
    raw = tmp_path / "raw.ndjson"
    raw.write_text("\n".join(f'{{"a": {row if row % 4 else "null"}}}' for row in range(100)) + "\nnope")
    report = vqs.ingest(spark, raw, str(tmp_path / "table"))
    assert report.typed == {"$.a": 0.75}
    assert json.loads(json.dumps(report.to_dict()))["schemas"] == {"v": "a bigint"}
    shown = dict(report.lines())
    assert shown["rows"] == "100 in 1 file" and shown["typed $.a"].startswith("75.0%") and shown["quarantine"].startswith("1 not JSON, in ")


def test_the_plan_is_that_of_all_lines_whatever_the_first_ones_are(spark: SparkSession, tmp_path: Path) -> None:
    lines = [*(f'{{"a": {row}}}' for row in range(1100)), *(f'{{"b": "{row}"}}' for row in range(30_000)), "nope"]
    raw, table = tmp_path / "raw.ndjson", tmp_path / "table"
    raw.write_text("\n".join(lines))
    report = vqs.ingest(spark, raw, str(table))
    assert report.plan.schemas["v"] == vq.choose(vq.profile(pa.array(lines[:-1]))).schema == vq.ShreddingSchema.parse("b string")
    assert (report.rows, report.quarantined) == (31_100, 1)
    assert {file.split("/")[0] for file in files_of(table) if "parquet" not in file.split("/")[0]} == {"_quarantine", "_varquet"}
    assert [file for file in files_of(table) if file.startswith("_varquet/")] == ["_varquet/plan.json"]
    assert vq.scan(table).select({"a": "$.a bigint"}).where("$.a::bigint is not null").count() == 1100


def test_names_that_are_data_come_before_those_that_are_not(spark: SparkSession, tmp_path: Path) -> None:
    """The first lines have more names than are counted one by one, and those that matter come behind them."""
    raw = tmp_path / "raw.ndjson"
    lines = [json.dumps({f"id{row}_{k}": 1 for k in range(4)}) for row in range(400)] + ['{"late": 1}'] * 600
    raw.write_text("\n".join(lines) + "\n", encoding="utf-8")
    report = vqs.ingest(spark, raw, str(tmp_path / "table"))
    assert report.plan.columns["v"].schema.ddl() == "late bigint"


def test_text_in_parquet_files_and_dataframes_is_ingested(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(row, f'{{"a": {row}}}') for row in range(20)], "id int, text string")
    frame.write.parquet(str(tmp_path / "raw"))
    for source in (str(tmp_path / "raw"), [tmp_path / "raw"], frame):
        report = vqs.ingest(spark, source, str(tmp_path / "table"), mode="overwrite")
        assert (report.rows, report.plan.schemas["text"].ddl()) == (20, "a bigint")
        assert dict(vqs.read(spark, tmp_path / "table").dtypes) == {"id": "int", "text": "variant"}
    (tmp_path / "raw" / "lines.ndjson").write_text("{}")
    for source, message in (
        (str(tmp_path / "raw"), "expected files of one kind"),
        (frame.select("id"), "JSON text, got none"),
    ):
        with pytest.raises(vq.VarquetError, match=message):
            vqs.ingest(spark, source, str(tmp_path / "table"))
