"""What it costs to profile a million events: against parsing them, and against Spark's schema_of_variant_agg, in one run.

    python bench/profiling.py --rows 200000 --passes 3

bench/README.md says what is compared and how.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from data import Sample
from files import folder
from measure import Candidate, Facts, Job, Measurement, table
from report import Benchmark, everything, installed, run, times
from spark import Sessions, has_java

__all__ = ["BENCHMARK", "candidates", "ratios"]

PARSE: Final = "parse_json"
PROFILE: Final = "profile what was parsed"
PROFILE_FILE: Final = "profile a file"

_US: Final = "varquet"
_SPARK: Final = "Spark"


def candidates(data: Sample, threads: Sequence[int]) -> list[Candidate]:
    """Those who can run here."""
    jobs = {_US: varquet_jobs}
    if installed({_SPARK: "pyspark"}) and has_java():
        jobs[_SPARK] = spark_jobs
    return [Candidate(name, data.rows, data.text_bytes, partial(prepare, data, threads)) for name, prepare in jobs.items()]


def _unshredded(data: Sample) -> Path:
    """The events as a file with one unshredded Variant column."""
    from varquet import FileWriter, variant_field

    path = folder() / "events.parquet"
    schema = pa.schema([variant_field("v", shared_metadata=True)])
    with FileWriter(path, schema, overwrite=True) as writer:
        for column in _columns(data):
            writer.write(pa.record_batch([column], schema=schema))
    return path


def _columns(data: Sample) -> list[pa.Array]:
    from varquet import parse_json
    from varquet.columns.ndjson import read_ndjson

    return [parse_json(lines.texts, shared_metadata=True) for part in data.parts for lines in read_ndjson(part)]


def varquet_jobs(data: Sample, threads: Sequence[int]) -> list[Job]:
    """A column in memory, as `parse_json` makes it; and a file."""
    from varquet import parse_json, profile
    from varquet.columns.ndjson import read_ndjson

    texts = [lines.texts for part in data.parts for lines in read_ndjson(part)]
    column = pa.chunked_array(_columns(data))
    path = _unshredded(data)

    def parse(count: int) -> Facts:
        return {"rows": sum(len(parse_json(text, threads=count)) for text in texts)}

    def count_column(count: int) -> Facts:
        return {"rows": profile(column, threads=count).rows}

    def count_file(count: int) -> Facts:
        return {"rows": profile(path, threads=count).rows}

    return [
        *(Job(PARSE, count, partial(parse, count)) for count in threads),
        *(Job(PROFILE, count, partial(count_column, count)) for count in threads),
        *(Job(PROFILE_FILE, count, partial(count_file, count)) for count in threads),
    ]


def spark_jobs(data: Sample, threads: Sequence[int]) -> list[Job]:
    """One aggregate over the same file; a session for each number of threads."""
    path = _unshredded(data)
    session = Sessions()

    def count_file(count: int) -> Facts:
        row = session(count).read.parquet(str(path)).selectExpr("count(*)", "schema_of_variant_agg(v)").first()
        assert row is not None
        return {"rows": row[0]}

    return [Job(PROFILE_FILE, count, partial(count_file, count), ready=partial(session, count)) for count in threads]


def ratios(measured: Sequence[Measurement]) -> list[dict[str, Any]]:
    """One row for each of our works: seconds, the share of parsing, and how many times as fast as Spark."""
    by_name = {(one.candidate, one.work, one.threads): one for one in measured}
    rows: list[dict[str, Any]] = []
    for (name, work, threads), one in by_name.items():
        if name != _US:
            continue
        parse, spark = by_name.get((_US, PARSE, threads)), by_name.get((_SPARK, work, threads))
        share = None if parse is None or work == PARSE else 1 / one.times_faster_than(parse)
        rows.append(
            {
                "work": work,
                "threads": threads,
                "seconds": one.best,
                "share_of_parsing": share,
                "x_Spark": None if spark is None else one.times_faster_than(spark),
            }
        )
    return rows


def _as_text(rows: Sequence[dict[str, Any]], measured: Sequence[Measurement]) -> str:
    summary = table(
        ("varquet", "threads", "s", "/ parsing", "x Spark"),
        [
            (
                row["work"],
                str(row["threads"]),
                f"{row['seconds']:.2f}",
                "-" if row["share_of_parsing"] is None else f"{row['share_of_parsing']:.2f}",
                times(row["x_Spark"]),
            )
            for row in rows
        ],
    )
    return f"{summary}\n\n{everything(measured)}"


BENCHMARK: Final = Benchmark(
    "profile",
    "Measure profiling against parsing and against Spark.",
    (PARSE, PROFILE, PROFILE_FILE),
    candidates,
    ratios,
    _as_text,
    threads="1,2",
)


if __name__ == "__main__":
    sys.exit(run(BENCHMARK))
