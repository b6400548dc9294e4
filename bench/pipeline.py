"""How fast the pipeline on Spark is: raw JSON to a shredded table, and queries on it, against Spark's own shredding, in one run.

    python bench/pipeline.py --rows 200000 --passes 3

Prints ratios and the bytes that Spark reads, and writes all measurements into bench/results/. bench/README.md says what is compared.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from data import Sample
from files import folder
from measure import Candidate, Facts, Job, Measurement, table
from report import Benchmark, everything, installed, run, times
from spark import Sessions, bytes_read, has_java

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["BENCHMARK", "candidates", "ratios"]

INGEST: Final = "raw JSON to a shredded table"
PINNED: Final = "the same, pinned plan"
SUM: Final = "sum of a path"
FILTER: Final = "rows with a text"
GROUP: Final = "group by a path"
POINT: Final = "one row by a sorted path"
NONE: Final = "no row by a sorted path"
BYTES: Final = "bytes read"

_US: Final = "varquet on Spark"
_SPARK: Final = "Spark"
_HERE: Final = "in process"
_QUERIES: Final = (SUM, FILTER, GROUP, POINT, NONE)
_PATHS: Final = {
    "id": "$.id bigint",
    "ts": "$.ts string",
    "session": "$.session string",
    "lat": "$.user.geo.lat decimal(18,4)",
    "country": "$.user.geo.country string",
    "plan": "$.user.plan string",
}
_ANY_ID: Final = 1_000_000
# For so many seconds each candidate asks a query before it is timed, while the JVM compiles what it then runs.
_WARM_UP: Final = 5.0


def candidates(data: Sample, threads: Sequence[int]) -> list[Candidate]:
    """Those who can run here."""
    if not installed({_SPARK: "pyspark"}) or not has_java():
        raise SystemExit("this benchmark is about Spark")
    jobs = {_US: varquet_jobs, _SPARK: spark_jobs, _HERE: here_jobs}
    return [Candidate(name, data.rows, data.text_bytes, partial(prepare, data, threads)) for name, prepare in jobs.items()]


def _asked(frame: DataFrame, rows: int) -> dict[str, Callable[[], Facts]]:
    """The queries on a DataFrame with these columns."""
    wanted = _ANY_ID + rows // 2

    def total() -> Facts:
        return {"sum": float(frame.selectExpr("sum(lat)").collect()[0][0])}

    def matching() -> Facts:
        return {"found": frame.where("session like 'abc%'").selectExpr("count(id)").collect()[0][0]}

    def grouped() -> Facts:
        made = frame.groupBy("country", "plan").count().collect()
        return {"groups": len(made), "sum": float(sum(row["count"] for row in made))}

    def point(number: int) -> Facts:
        return {"found": float(len(frame.where(f"id = {number}").select("ts", "session").collect()))}

    return {SUM: total, FILTER: matching, GROUP: grouped, POINT: partial(point, wanted), NONE: partial(point, -5)}


def _query_jobs(threads: Sequence[int], session: Sessions, frame: Callable[[int], DataFrame], rows: int) -> list[Job]:
    frames: dict[int, DataFrame] = {}

    def ready(count: int) -> None:
        session(count)
        frames.clear()
        frames[count] = frame(count)

    def ask(work: str, count: int) -> Facts:
        return _asked(frames[count], rows)[work]()

    def check(work: str, count: int) -> Facts:
        ready(count)
        before = bytes_read(session(count))
        ask(work, count)
        return {BYTES: float(bytes_read(session(count)) - before)}

    return [
        Job(work, count, partial(ask, work, count), partial(check, work, count), partial(ready, count), _WARM_UP)
        for work in _QUERIES
        for count in threads
    ]


def varquet_jobs(data: Sample, threads: Sequence[int]) -> list[Job]:
    """`varquet.spark`: ingest, and queries through views."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from varquet import spark as vqs

    session = Sessions()
    made, kept = folder() / "events", folder() / "kept"
    parts = [str(part) for part in data.parts]

    plans: list[Any] = []

    def ingest(count: int, *, is_pinned: bool) -> Facts:
        report = vqs.ingest(session(count), parts, str(made), plans[0] if is_pinned else None, mode="overwrite")
        return {"rows": report.rows}

    def keep(count: int) -> None:
        session(count)
        if not plans:
            plans.append(vqs.ingest(session(count), parts, str(kept), mode="overwrite").plan)

    def view(count: int) -> DataFrame:
        keep(count)
        return vqs.view(session(count), str(kept), _PATHS)

    return [
        *(Job(INGEST, count, partial(ingest, count, is_pinned=False), ready=partial(session, count)) for count in threads),
        *(Job(PINNED, count, partial(ingest, count, is_pinned=True), ready=partial(keep, count)) for count in threads),
        *_query_jobs(threads, session, view, data.rows),
    ]


def spark_jobs(data: Sample, threads: Sequence[int]) -> list[Job]:
    """Spark's own: text, parse_json, its writer, which shreds by what it finds in the first rows; and try_variant_get."""
    session = Sessions(**{"spark.sql.parquet.compression.codec": "zstd", "spark.sql.variant.writeShredding.enabled": "true"})
    made, kept = folder() / "events", folder() / "kept"

    def write(path: Path, count: int) -> Facts:
        frame = session(count).read.text([str(part) for part in data.parts]).selectExpr("parse_json(value) AS v")
        frame.write.mode("overwrite").parquet(str(path))
        return {"rows": data.rows}

    def variants(count: int) -> DataFrame:
        if not kept.exists():
            write(kept, count)
        asked = [f"try_variant_get(v, '{path.split()[0]}', '{path.split()[1]}') AS {name}" for name, path in _PATHS.items()]
        return session(count).read.parquet(str(kept)).selectExpr(*asked)

    works = (INGEST, PINNED)
    return [
        *(Job(work, count, partial(write, made, count), ready=partial(session, count)) for work in works for count in threads),
        *_query_jobs(threads, session, variants, data.rows),
    ]


def here_jobs(data: Sample, threads: Sequence[int]) -> list[Job]:
    """The same in one process, without Spark: what `varquet ingest` does."""
    from varquet.parquet.sources import open_source
    from varquet.parquet.writer import FileWriter
    from varquet.profiles.policies import choose
    from varquet.profiles.profiling import profile_batches

    path = folder() / "events.parquet"
    parts = [str(part) for part in data.parts]

    def ingest(count: int, *, is_pinned: bool) -> Facts:
        source = open_source(parts, column=None, output_column=None, duplicate_keys="error", threads=count)
        if not is_pinned or not known:
            known[:] = [choose(profile_batches(lambda: source.columns(lambda _: None), threads=count)).schema]
        with FileWriter(path, source.schema, {"v": known[0]}, overwrite=True, threads=count) as writer:
            for make in source.batches(lambda _: None):
                writer.write(lambda make=make: make().rows)  # type: ignore[misc]
        return {"rows": writer.written.rows}

    known: list[Any] = []
    return [
        *(Job(INGEST, count, partial(ingest, count, is_pinned=False)) for count in threads),
        *(Job(PINNED, count, partial(ingest, count, is_pinned=True)) for count in threads),
    ]


def ratios(measured: Sequence[Measurement]) -> list[dict[str, Any]]:
    """One row for each work: seconds, how many times as fast as Spark, time against one process, bytes against Spark's."""
    by_name = {(one.candidate, one.work, one.threads): one for one in measured}
    rows: list[dict[str, Any]] = []
    for (name, work, threads), one in by_name.items():
        if name != _US:
            continue
        spark, here = by_name.get((_SPARK, work, threads)), by_name.get((_HERE, work, threads))
        has_bytes = spark is not None and BYTES in spark.facts and BYTES in one.facts
        rows.append(
            {
                "work": work,
                "threads": threads,
                "seconds": one.best,
                "x_spark": None if spark is None else one.times_faster_than(spark),
                "of_in_process": None if here is None else 1 / one.times_faster_than(here),
                "bytes": one.facts.get(BYTES),
                "x_fewer_bytes": spark.facts[BYTES] / max(1.0, one.facts[BYTES]) if has_bytes and spark is not None else None,
            }
        )
    return rows


def _as_text(rows: Sequence[dict[str, Any]], measured: Sequence[Measurement]) -> str:
    summary = table(
        ("varquet on Spark", "threads", "s", "x Spark", "time / in process", "bytes read", "x fewer bytes"),
        [
            (
                row["work"],
                str(row["threads"]),
                f"{row['seconds']:.2f}",
                times(row["x_spark"]),
                "-" if row["of_in_process"] is None else f"{row['of_in_process']:.2f}",
                "-" if row["bytes"] is None else f"{row['bytes']:,.0f}",
                times(row["x_fewer_bytes"]),
            )
            for row in rows
        ],
    )
    return f"{summary}\n\n{everything(measured)}"


BENCHMARK: Final = Benchmark(
    "pipeline",
    "Measure the pipeline on Spark against Spark's own shredding.",
    (INGEST, PINNED, *_QUERIES),
    candidates,
    ratios,
    _as_text,
    threads="2",
    differ=(BYTES,),
)


if __name__ == "__main__":
    sys.exit(run(BENCHMARK))
