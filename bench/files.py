"""How fast NDJSON becomes a shredded Parquet file, and how fast that is read back, against DuckDB and Spark, in one run.

    python bench/files.py --rows 200000 --passes 3

Prints ratios of time and of file size, and all measurements with peak memory; writes both as JSON into bench/results/, and
exits with 1 if somebody did not find in the file what was put in. bench/README.md says what is compared and how.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import pyarrow as pa
from data import Sample, texts
from measure import Candidate, Facts, Job, Measurement, table
from report import UNLIKE, Benchmark, everything, installed, run, times
from spark import Sessions, has_java

__all__ = ["BENCHMARK", "SCHEMA", "candidates", "folder", "ingest", "ratios"]

WRITE: Final = "NDJSON to shredded Parquet"
READ: Final = "read all of it as Variants"
READ_TEXT: Final = "read all of it as JSON text"
BYTES: Final = "bytes of the file"

_US: Final = "varquet"
_DUCKDB: Final = "DuckDB"
_SPARK: Final = "Spark"
_CHECKED_ROWS: Final = 1_000

# The same 21 leaves for all, in the words of each.
SCHEMA: Final = (
    "id bigint, ts string, type string, user struct<id: bigint, name: string, email: string, geo: struct<lat: decimal(9,6), "
    "lon: decimal(9,6), country: string>, plan: string>, session string, device struct<os: string, ver: string>, "
    "items array<struct<sku: string, qty: bigint, price: decimal(9,2)>>, tags array<string>, amount decimal(9,2), "
    "score decimal(9,4), payload struct<url: string>"
)
_DUCKDB_SCHEMA: Final = (
    'STRUCT(id BIGINT, ts VARCHAR, "type" VARCHAR, "user" STRUCT(id BIGINT, name VARCHAR, email VARCHAR, geo STRUCT(lat DECIMAL(9,6), '
    "lon DECIMAL(9,6), country VARCHAR), plan VARCHAR), session VARCHAR, device STRUCT(os VARCHAR, ver VARCHAR), "
    "items STRUCT(sku VARCHAR, qty BIGINT, price DECIMAL(9,2))[], tags VARCHAR[], amount DECIMAL(9,2), "
    "score DECIMAL(9,4), payload STRUCT(url VARCHAR))"
)


def candidates(data: Sample, threads: Sequence[int]) -> list[Candidate]:
    """Those who can run here; each writes into a folder of its own, which goes when its process ends."""
    peers = {_DUCKDB: duckdb_jobs, _SPARK: spark_jobs}
    here = [name for name in installed({_DUCKDB: "duckdb", _SPARK: "pyspark"}) if name != _SPARK or has_java()]
    jobs = {_US: varquet_jobs} | {name: peers[name] for name in here}
    return [Candidate(name, data.rows, data.text_bytes, partial(prepare, data, threads)) for name, prepare in jobs.items()]


def folder() -> Path:
    """A new folder, which goes when the process ends."""
    import atexit

    made = Path(tempfile.mkdtemp(prefix="varquet-bench-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def _size(path: Path) -> int:
    """The bytes of a file, or of the Parquet files of a folder."""
    return path.stat().st_size if path.is_file() else sum(part.stat().st_size for part in path.rglob("*.parquet"))


def _check(data: Sample, first: Sequence[str]) -> Facts:
    """Whether the first rows that came back mean what was in the text, to a parser that is none of these candidates."""
    given = texts(data.parts, len(first))
    return {UNLIKE: sum(json.loads(text) != json.loads(source) for text, source in zip(first, given, strict=True))}


def ingest(data: Sample, path: Path, layout: Literal["parquet", "draft"], threads: int) -> Facts:
    """`varquet ingest` without the command around it."""
    from varquet import FileWriter, parse_json, variant_field
    from varquet.columns.ndjson import Lines, read_ndjson

    schema = pa.schema([variant_field("v", shared_metadata=True)])

    def parse(lines: Lines) -> pa.RecordBatch:
        return pa.record_batch([parse_json(lines.texts, shared_metadata=True, threads=1)], schema=schema)

    with FileWriter(path, schema, {"v": SCHEMA}, overwrite=True, layout=layout, threads=threads) as writer:
        for part in data.parts:
            for lines in read_ndjson(part):
                writer.write(partial(parse, lines))
    return {"rows": writer.written.rows}


def varquet_jobs(data: Sample, threads: Sequence[int]) -> list[Job]:
    """`varquet ingest`; `read_batches`, and the same with `to_json` in its threads."""
    from varquet import read_batches, to_json
    from varquet.parquet.reader import open_file

    path = folder() / "events.parquet"

    def write(count: int) -> Facts:
        return {**ingest(data, path, "parquet", count), BYTES: _size(path)}

    def read(count: int) -> Facts:
        return {"rows": sum(batch.num_rows for batch in read_batches(path, threads=count))}

    def read_text(count: int) -> Facts:
        rows, nulls = 0, 0
        for text in open_file(str(path)).map_batches(lambda batch: to_json(batch.column(0), threads=1), threads=count):
            rows, nulls = rows + len(text), nulls + text.null_count
        return {"rows": rows, "nulls": nulls}

    def check() -> Facts:
        batch = next(iter(read_batches(path)))
        return _check(data, to_json(batch.column(0)[:_CHECKED_ROWS]).to_pylist())

    return [
        *(Job(WRITE, count, partial(write, count)) for count in threads),
        *(Job(READ, count, partial(read, count)) for count in threads),
        *(Job(READ_TEXT, count, partial(read_text, count), check) for count in threads),
    ]


def duckdb_jobs(data: Sample, threads: Sequence[int]) -> list[Job]:
    """One COPY from its NDJSON reader, with the shredding named; a temporary table, or one aggregate over the column as JSON."""
    import duckdb

    path = folder() / "events.parquet"
    database = duckdb.connect()
    parts = ", ".join("'" + str(part).replace("'", "''") + "'" for part in data.parts)

    def write() -> Facts:
        database.execute(
            f"COPY (SELECT json::VARIANT AS v FROM read_ndjson_objects([{parts}])) TO '{path}' "
            f"(FORMAT parquet, COMPRESSION zstd, SHREDDING {{v: '{_DUCKDB_SCHEMA}'}})"
        )
        return {"rows": _rows_of(path), BYTES: _size(path)}

    def read() -> Facts:
        database.execute(f"CREATE OR REPLACE TEMP TABLE variants AS SELECT v FROM '{path}'")
        return {"rows": database.execute("SELECT count(*) FROM variants").fetchall()[0][0]}

    def read_text() -> Facts:
        rows, values = database.execute(f"SELECT count(*), count(v::JSON) FROM '{path}'").fetchall()[0]
        return {"rows": rows, "nulls": rows - values}

    def check() -> Facts:
        rows = database.execute(f"SELECT v::JSON FROM '{path}' LIMIT {_CHECKED_ROWS}").fetchall()
        return _check(data, [text for (text,) in rows])

    def ready(count: int) -> None:
        database.execute(f"SET threads = {count}")

    return [
        *(Job(WRITE, count, write, ready=partial(ready, count)) for count in threads),
        *(Job(READ, count, read, ready=partial(ready, count)) for count in threads),
        *(Job(READ_TEXT, count, read_text, check, partial(ready, count)) for count in threads),
    ]


def _rows_of(path: Path) -> int:
    import pyarrow.parquet as pq

    return sum(pq.ParquetFile(part).metadata.num_rows for part in ([path] if path.is_file() else path.rglob("*.parquet")))


def spark_jobs(data: Sample, threads: Sequence[int]) -> list[Job]:
    """Spark's own shredding with the schema forced, as its tests do; a session for each number of threads."""
    path = folder() / "events"
    session = Sessions(
        **{
            "spark.sql.parquet.compression.codec": "zstd",
            "spark.sql.variant.writeShredding.enabled": "true",
            "spark.sql.variant.forceShreddingSchemaForTest": SCHEMA.replace("user struct", "`user` struct"),
        }
    )

    def write(count: int) -> Facts:
        frame = session(count).read.text([str(part) for part in data.parts]).selectExpr("parse_json(value) AS v")
        frame.write.mode("overwrite").parquet(str(path))
        return {"rows": _rows_of(path), BYTES: _size(path)}

    def read(count: int) -> Facts:
        session(count).read.parquet(str(path)).write.format("noop").mode("overwrite").save()
        return {"rows": _rows_of(path)}

    def read_text(count: int) -> Facts:
        row = session(count).read.parquet(str(path)).selectExpr("count(*)", "count(to_json(v))", "sum(length(to_json(v)))").first()
        assert row is not None
        return {"rows": row[0], "nulls": row[0] - row[1]}

    def check(count: int) -> Facts:
        # Which part of the folder has the first rows, only their content tells.
        frame = session(count).read.parquet(str(path)).selectExpr("to_json(v) AS text", "variant_get(v, '$.id', 'bigint') AS id")
        return _check(data, [row.text for row in frame.orderBy("id").limit(_CHECKED_ROWS).collect()])

    return [
        *(Job(WRITE, count, partial(write, count), ready=partial(session, count)) for count in threads),
        *(Job(READ, count, partial(read, count), ready=partial(session, count)) for count in threads),
        *(Job(READ_TEXT, count, partial(read_text, count), partial(check, count), partial(session, count)) for count in threads),
    ]


def ratios(measured: Sequence[Measurement]) -> list[dict[str, Any]]:
    """One row for each work and number of threads: our seconds, and how many times those of the others and their bytes."""
    by_name = {(one.candidate, one.work, one.threads): one for one in measured}
    rows: list[dict[str, Any]] = []
    for one in measured:
        if one.candidate != _US:
            continue
        row: dict[str, Any] = {"work": one.work, "threads": one.threads, "seconds": one.best, "peak_megabytes": one.peak_rss / 1e6}
        if BYTES in one.facts:
            row["bytes_per_row"] = one.facts[BYTES] / one.rows
        for name in (_DUCKDB, _SPARK):
            other = by_name.get((name, one.work, one.threads))
            row[f"x_{name}"] = None if other is None else one.times_faster_than(other)
            row[f"x_{name}_by_cpu"] = None if other is None else one.times_faster_than(other, by_cpu=True)
            row[f"size_by_{name}"] = None if other is None or BYTES not in one.facts else one.facts[BYTES] / other.facts[BYTES]
        rows.append(row)
    return rows


def _as_text(rows: Sequence[dict[str, Any]], measured: Sequence[Measurement]) -> str:
    def share(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f}"

    names = [(f"x_{name}", f"x_{name}_by_cpu", f"size_by_{name}") for name in (_DUCKDB, _SPARK)]
    summary = table(
        ("varquet", "threads", "s", "peak MB", "bytes/row", *(f"{x} {name}" for name in (_DUCKDB, _SPARK) for x in ("x", "x CPU", "size"))),
        [
            (
                row["work"],
                str(row["threads"]),
                f"{row['seconds']:.2f}",
                f"{row['peak_megabytes']:,.0f}",
                f"{row['bytes_per_row']:.1f}" if "bytes_per_row" in row else "-",
                *(text for x, cpu, size in names for text in (times(row[x]), times(row[cpu]), share(row[size]))),
            )
            for row in rows
        ],
    )
    return f"{summary}\n\n{everything(measured)}"


BENCHMARK: Final = Benchmark(
    "files",
    "Measure writing and reading shredded Parquet files against DuckDB and Spark.",
    (WRITE, READ, READ_TEXT),
    candidates,
    ratios,
    _as_text,
    threads="2",
    differ=(BYTES,),
)


if __name__ == "__main__":
    sys.exit(run(BENCHMARK))
