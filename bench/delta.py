"""How fast queries on variant paths of a Delta table of many files are, and commits to it, against Delta's own connector, in one run.

    python bench/delta.py --rows 200000 --passes 3

Prints ratios, and how many files are opened and bytes read, and writes all measurements into bench/results/. bench/README.md says what is
compared and how. The connector comes from Maven; where it cannot be had, it is left out.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from data import DATA, Sample, text_batches
from files import SCHEMA, folder
from measure import Candidate, Facts, Job, Measurement, table
from report import Benchmark, everything, installed, run, times
from spark import Sessions, bytes_read, has_java

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["BENCHMARK", "candidates", "ratios"]

OPEN: Final = "open the table"
POINT: Final = "one row by a path"
NONE: Final = "no row by a path"
RANGE: Final = "rows in a range of time"
TEXT: Final = "rows with a text, in no order"
SUM: Final = "sum of a path"
COMMIT: Final = "commit one row"
FILES: Final = "files opened"
BYTES: Final = "bytes read"

_US: Final = "varquet"
_ALONE: Final = "its files alone"
_DELTA: Final = "Delta Spark"

_FILES: Final = 200
_PACKAGE: Final = "io.delta:delta-spark_2.13:4.4.0"
_CONNECTOR: Final = {
    "spark.jars.packages": _PACKAGE,
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.databricks.delta.variantShredding.parseFooterForStats": "true",
    "spark.databricks.delta.stats.limitPerVariant": "100",
}


class Events:
    """The table that is queried: events in the order of their time, in many files with a commit each; made once."""

    def __init__(self, data: Sample) -> None:
        import varquet as vq

        self.path = DATA / f"delta-{data.rows}"
        if not self.path.is_dir():
            self._make(data)
        middle = vq.scan(self.path).select({"id": "$.id bigint", "ts": "$.ts string", "session": "$.session string"}).table()
        middle = middle.sort_by("id")
        rows = middle.num_rows
        self.id = middle["id"][rows // 2].as_py()
        self.session = middle["session"][rows // 3].as_py()
        self.first, self.last = (middle["ts"][rows * k // 1000].as_py() for k in (500, 505))

    def _make(self, data: Sample) -> None:
        from varquet.tables.write import write_table

        print("making the table to be queried ...", file=sys.stderr, flush=True)
        unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=DATA))
        try:
            texts = pa.chunked_array(list(text_batches(data.parts)))
            for k in range(_FILES):
                first, last = (len(texts) * edge // _FILES for edge in (k, k + 1))
                rows = pa.table({"v": texts.slice(first, last - first)})
                write_table(rows, unfinished / "table", {"v": SCHEMA}, table="delta", mode="append")
            (unfinished / "table").rename(self.path)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def has_connector() -> bool:
    """Whether Delta's connector can be had; a word on stderr if not."""
    if not installed({_DELTA: "pyspark"}) or not has_java():
        return False
    code = f"from spark import Sessions; Sessions(**{_CONNECTOR!r})(1).range(1).count()"
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, check=False)
    if done.returncode:
        print(f"{_DELTA} is left out: {_PACKAGE} cannot be had from Maven, or is not for this Spark", file=sys.stderr)
    return done.returncode == 0


def candidates(data: Sample, threads: Sequence[int]) -> list[Candidate]:
    """Those who can run here."""
    events = Events(data)
    jobs: dict[str, Callable[..., list[Job]]] = {_US: varquet_jobs, _ALONE: files_jobs}
    if has_connector():
        jobs[_DELTA] = delta_jobs
    return [Candidate(name, data.rows, data.text_bytes, partial(prepare, events, threads)) for name, prepare in jobs.items()]


def _queries(events: Events) -> dict[str, Callable[[Any], Any]]:
    """What is asked of a scan."""
    import varquet as vq

    return {
        POINT: lambda scan: scan.select({"x": "$.ts string"}).where(vq.path("$.id", "bigint") == events.id),
        NONE: lambda scan: scan.select({"x": "$.ts string"}).where(vq.path("$.id", "bigint") == -5),
        RANGE: lambda scan: scan.select({"x": "$.id bigint"}).where(vq.path("$.ts", "string").between(events.first, events.last)),
        TEXT: lambda scan: scan.select({"x": "$.id bigint"}).where(vq.path("$.session", "string") == events.session),
        SUM: lambda scan: scan.select({"x": "$.user.geo.lat double"}),
    }


def _scan_jobs(events: Events, source: Any, threads: Sequence[int]) -> list[Job]:
    import varquet as vq

    def ask(work: str, count: int) -> Facts:
        found = _queries(events)[work](vq.scan(source, threads=count)).table()
        return {"sum": pc.sum(found["x"]).as_py()} if work == SUM else {"found": found.num_rows}

    def check(work: str) -> Facts:
        told = _queries(events)[work](vq.scan(source)).explain()
        return {FILES: told.files_opened, BYTES: told.bytes}

    return [Job(work, count, partial(ask, work, count), partial(check, work)) for work in _queries(events) for count in threads]


def varquet_jobs(events: Events, threads: Sequence[int]) -> list[Job]:
    """`scan`, which opens the table anew for each query, and `write_table`."""
    import varquet as vq
    from varquet.tables.write import write_table

    copy = folder() / "table"
    row = pa.table({"v": ['{"id": -1}']})

    def opened() -> Facts:
        return {"files": len(vq.scan(events.path).dataset.files)}

    def ready() -> None:
        if not copy.exists():
            shutil.copytree(events.path, copy)

    def commit(count: int) -> Facts:
        write_table(row, copy, {"v": SCHEMA}, mode="append", threads=count)
        return {}

    return [
        *(Job(OPEN, count, opened) for count in threads),
        *_scan_jobs(events, events.path, threads),
        *(Job(COMMIT, count, partial(commit, count), ready=ready) for count in threads),
    ]


def files_jobs(events: Events, threads: Sequence[int]) -> list[Job]:
    """`scan` of the same files without the log, whose statistics are then in the files only."""
    return _scan_jobs(events, str(events.path / "*.parquet"), threads)


def delta_jobs(events: Events, threads: Sequence[int]) -> list[Job]:
    """Delta's connector on the same table; it keeps what it knows of the table from query to query, except to open it."""
    session = Sessions(**_CONNECTOR)
    copy = folder() / "table"

    def get(path: str, kind: str) -> str:
        return f"try_variant_get(v, '{path}', '{kind}')"

    def frame(count: int) -> DataFrame:
        return session(count).read.format("delta").load(str(events.path))

    asked: dict[str, Callable[[int], DataFrame]] = {
        POINT: lambda count: frame(count).where(f"{get('$.id', 'bigint')} = {events.id}").selectExpr(get("$.ts", "string")),
        NONE: lambda count: frame(count).where(f"{get('$.id', 'bigint')} = -5").selectExpr(get("$.ts", "string")),
        RANGE: lambda count: (
            frame(count).where(f"{get('$.ts', 'string')} between '{events.first}' and '{events.last}'").selectExpr(get("$.id", "bigint"))
        ),
        TEXT: lambda count: frame(count).where(f"{get('$.session', 'string')} = '{events.session}'").selectExpr(get("$.id", "bigint")),
        SUM: lambda count: frame(count).selectExpr(f"sum({get('$.user.geo.lat', 'double')})"),
    }

    def ask(work: str, count: int) -> Facts:
        found = asked[work](count).collect()
        return {"sum": found[0][0]} if work == SUM else {"found": len(found)}

    def check(work: str, count: int) -> Facts:
        before = bytes_read(session(count))
        ask(work, count)
        return {BYTES: float(bytes_read(session(count)) - before)}

    def opened(count: int) -> Facts:
        context: Any = session(count).sparkContext
        log = context._jvm.org.apache.spark.sql.delta.DeltaLog
        log.clearCache()
        return {"files": log.forTable(session(count)._jsparkSession, str(events.path)).unsafeVolatileSnapshot().numOfFiles()}

    def ready(count: int) -> None:
        session(count)
        if not copy.exists():
            shutil.copytree(events.path, copy)

    def commit(count: int) -> Facts:
        row = session(count).sql("select parse_json('{\"id\": -1}') as v").coalesce(1)
        row.write.format("delta").mode("append").save(str(copy))
        return {}

    return [
        *(Job(OPEN, count, partial(opened, count), ready=partial(session, count)) for count in threads),
        *(
            Job(work, count, partial(ask, work, count), partial(check, work, count), partial(session, count))
            for work in asked
            for count in threads
        ),
        *(Job(COMMIT, count, partial(commit, count), ready=partial(ready, count)) for count in threads),
    ]


def ratios(measured: Sequence[Measurement]) -> list[dict[str, Any]]:
    """One row for each work: milliseconds, how many times as fast as the others, files opened and bytes read."""
    by_name = {(one.candidate, one.work, one.threads): one for one in measured}
    rows: list[dict[str, Any]] = []
    for (name, work, threads), one in by_name.items():
        if name != _US:
            continue
        row: dict[str, Any] = {"work": work, "threads": threads, "seconds": one.best}
        for peer in (_DELTA, _ALONE):
            other = by_name.get((peer, work, threads))
            row[f"x_{peer}"] = None if other is None else one.times_faster_than(other)
            row[f"bytes_{peer}"] = None if other is None else other.facts.get(BYTES)
        rows.append({**row, "files": one.facts.get(FILES), "bytes": one.facts.get(BYTES)})
    return rows


def _as_text(rows: Sequence[dict[str, Any]], measured: Sequence[Measurement]) -> str:
    def count(value: float | None) -> str:
        return "-" if value is None else f"{value:,.0f}"

    summary = table(
        ("varquet", "threads", "ms", f"x {_DELTA}", f"x {_ALONE}", f"files opened of {_FILES}", "bytes read", f"bytes {_DELTA}"),
        [
            (
                row["work"],
                str(row["threads"]),
                f"{1000 * row['seconds']:.1f}",
                times(row[f"x_{_DELTA}"]),
                times(row[f"x_{_ALONE}"]),
                count(row["files"]),
                count(row["bytes"]),
                count(row[f"bytes_{_DELTA}"]),
            )
            for row in rows
        ],
    )
    return f"{summary}\n\n{everything(measured)}"


BENCHMARK: Final = Benchmark(
    "delta",
    "Measure queries on variant paths of a Delta table, and commits to it, against Delta's own connector.",
    (OPEN, POINT, NONE, RANGE, TEXT, SUM, COMMIT),
    candidates,
    ratios,
    _as_text,
    threads="2",
    differ=(BYTES, FILES),
)


if __name__ == "__main__":
    sys.exit(run(BENCHMARK))
