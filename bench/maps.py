"""How much a map with columns for its hot keys saves, against the same map as plain Parquet, in DuckDB and in Spark, in one run.

    python bench/maps.py --rows 200000 --passes 3

Prints ratios of time, bytes and size, and writes all measurements into bench/results/. bench/README.md says what is compared and how.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from data import DATA, Sample
from measure import Candidate, Facts, Job, Measurement, table
from report import Benchmark, everything, installed, run, times
from spark import Sessions, bytes_read, has_java

from varquet.samples import Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["BENCHMARK", "candidates", "ratios"]

FILTER: Final = "headers['content-type'] = ..."
PROJECT: Final = "headers['content-type'] of all rows"
RARE: Final = "a key that is not hot"
WHOLE: Final = "whole maps"
ONE: Final = "the first, of one row"
BYTES: Final = "bytes read"
SIZE: Final = "bytes of the file"

_US: Final = "varquet"
_PLAIN: Final = "varquet, plain map"
_DUCKDB: Final = "DuckDB"
_VIEW: Final = "varquet on Spark"
_SPARK: Final = "Spark"

_KEY: Final = "content-type"
_TYPE: Final = "application/x-www-form-urlencoded"
_TAIL: Final = "x-clover-span"
_KIND: Final = pa.map_(pa.string(), pa.string())
_ROWS: Final = 65_536


class Files:
    """The same maps twice, by the same writer: plain, and with columns for the keys that the default policy finds; made once."""

    def __init__(self, data: Sample) -> None:
        home = DATA / f"maps-{data.rows}"
        self.plain, self.sidecars, self.one = (home / f"{name}.parquet" for name in ("plain", "sidecars", "one"))
        if not all(path.is_file() for path in (self.plain, self.sidecars, self.one)):
            self._make(data, home)

    def _make(self, data: Sample, home: Path) -> None:
        import varquet as vq

        print("making the files to be queried ...", file=sys.stderr, flush=True)
        unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=DATA))
        try:
            plain, sidecars = unfinished / self.plain.name, unfinished / self.sidecars.name
            vq.write(pa.RecordBatchReader.from_batches(pa.schema([("headers", _KIND)]), _batches(data)), plain)
            plan = vq.Plan.from_profiles({"headers": vq.profile(plain)}, maps=["headers"])
            vq.write(pa.RecordBatchReader.from_batches(pa.schema([("headers", _KIND)]), vq.read_batches(plain)), sidecars, plan)
            vq.write(vq.scan(plain).where(f"headers['{_KEY}'] is not null").limit(1).table(), unfinished / self.one.name, plan)
            shutil.rmtree(home, ignore_errors=True)
            unfinished.rename(home)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def _batches(data: Sample) -> Iterator[pa.RecordBatch]:
    for part in data.parts:
        with part.open("rb") as file:
            rows = [json.loads(line)["headers"] for line in file]
        for first in range(0, len(rows), _ROWS):
            maps = [None if row is None else list(row.items()) for row in rows[first : first + _ROWS]]
            yield pa.record_batch({"headers": pa.array(maps, _KIND)})


def candidates(data: Sample, threads: Sequence[int]) -> list[Candidate]:
    """Those who can run here."""
    files = Files(data)
    peers = {_DUCKDB: duckdb_jobs, _VIEW: view_jobs, _SPARK: spark_jobs}
    here = installed({_DUCKDB: "duckdb", _VIEW: "pyspark", _SPARK: "pyspark"})
    if _SPARK in here and not has_java():
        here = [_DUCKDB]
    jobs = {_US: partial(varquet_jobs, is_plain=False), _PLAIN: partial(varquet_jobs, is_plain=True)} | {name: peers[name] for name in here}
    return [Candidate(name, data.rows, data.text_bytes, partial(prepare, files, threads)) for name, prepare in jobs.items()]


def varquet_jobs(files: Files, threads: Sequence[int], *, is_plain: bool) -> list[Job]:
    """`scan`, and pyarrow for what is made of its columns."""
    import varquet as vq

    path = files.plain if is_plain else files.sidecars

    def filtered(count: int) -> vq.Scan:
        return vq.scan(path, threads=count).where(f"headers['{_KEY}'] = '{_TYPE}'")

    def projected(key: str, count: int) -> vq.Scan:
        return vq.scan(path, threads=count).select({"value": f"headers['{key}']"})

    def whole(count: int) -> vq.Scan:
        return vq.scan(path, threads=count).select("headers")

    def grouped(key: str, count: int) -> Facts:
        return _counted(projected(key, count).table()["value"].value_counts().to_pylist(), "values", "counts")

    asked: dict[str, tuple[Callable[[int], Facts], Callable[[int], vq.Scan]]] = {
        FILTER: (lambda count: {"found": filtered(count).count()}, lambda count: filtered(count).select([])),
        PROJECT: (partial(grouped, _KEY), partial(projected, _KEY)),
        RARE: (partial(grouped, _TAIL), partial(projected, _TAIL)),
        WHOLE: (lambda count: {"rows": whole(count).table().num_rows}, whole),
    }

    def check(query: Callable[[int], vq.Scan]) -> Facts:
        return {BYTES: float(query(1).explain().bytes), SIZE: float(path.stat().st_size)}

    return [Job(work, count, partial(do, count), partial(check, query)) for work, (do, query) in asked.items() for count in threads]


def _counted(groups: Sequence[Mapping[str, Any]], value: str, number: str) -> Facts:
    return {"groups": float(sum(group[value] is not None for group in groups)), "rows": float(sum(group[number] for group in groups))}


def duckdb_jobs(files: Files, threads: Sequence[int]) -> list[Job]:
    """The same keys of the plain map."""
    import duckdb

    database = duckdb.connect()

    def filtered(_: int) -> Facts:
        found = database.execute(f"SELECT count(*) FROM '{files.plain}' WHERE headers['{_KEY}'] = '{_TYPE}'").fetchall()
        return {"found": found[0][0]}

    def grouped(key: str, _: int) -> Facts:
        found = database.execute(f"SELECT headers['{key}'] AS value, count(*) AS n FROM '{files.plain}' GROUP BY 1").fetchall()
        return _counted([{"value": value, "n": number} for value, number in found], "value", "n")

    def whole(_: int) -> Facts:
        return {"rows": database.sql(f"SELECT headers FROM '{files.plain}'").to_arrow_table().num_rows}

    metadata = pq.read_metadata(files.plain)
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    read = float(sum(group.column(leaf).total_compressed_size for group in groups for leaf in range(group.num_columns)))
    works = {FILTER: filtered, PROJECT: partial(grouped, _KEY), RARE: partial(grouped, _TAIL), WHOLE: whole}

    def ready(count: int) -> None:
        database.execute(f"SET threads = {count}")

    facts: Callable[[], Facts] = lambda: {BYTES: read, SIZE: float(files.plain.stat().st_size)}  # noqa: E731
    return [Job(work, count, partial(do, count), facts, partial(ready, count)) for work, do in works.items() for count in threads]


def _frame_jobs(path: Path, one: Path, threads: Sequence[int], session: Sessions, frame: Callable[[Path, int], DataFrame]) -> list[Job]:
    """The queries on DataFrames with the columns `hot` and `tail`, of all rows and of one row, which is what a query costs at least."""
    frames: dict[int, DataFrame] = {}
    small: dict[int, DataFrame] = {}

    def ready(count: int) -> None:
        session(count)
        if count not in frames:
            frames[count], small[count] = frame(path, count), frame(one, count)

    def filtered(chosen: Mapping[int, DataFrame], count: int) -> Facts:
        return {"found": chosen[count].where(f"hot = '{_TYPE}'").count()}

    def grouped(column: str, count: int) -> Facts:
        return _counted([row.asDict() for row in frames[count].groupBy(column).count().collect()], column, "count")

    def check(do: Callable[[int], Facts], count: int) -> Facts:
        ready(count)
        before = bytes_read(session(count))
        do(count)
        return {BYTES: float(bytes_read(session(count)) - before), SIZE: float(path.stat().st_size)}

    works: dict[str, Callable[[int], Facts]] = {
        FILTER: partial(filtered, frames),
        PROJECT: partial(grouped, "hot"),
        RARE: partial(grouped, "tail"),
        ONE: partial(filtered, small),
    }
    return [
        Job(work, count, partial(do, count), partial(check, do, count), partial(ready, count))
        for work, do in works.items()
        for count in threads
    ]


def view_jobs(files: Files, threads: Sequence[int]) -> list[Job]:
    """`varquet.spark.view` of the file with sidecars."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from varquet import spark as vqs

    session = Sessions()
    columns = {"hot": f"headers['{_KEY}']", "tail": f"headers['{_TAIL}']"}
    return _frame_jobs(files.sidecars, files.one, threads, session, lambda path, count: vqs.view(session(count), str(path), columns))


def spark_jobs(files: Files, threads: Sequence[int]) -> list[Job]:
    """The same keys of the plain map."""
    session = Sessions()

    def frame(path: Path, count: int) -> DataFrame:
        return session(count).read.parquet(str(path)).selectExpr(f"headers['{_KEY}'] AS hot", f"headers['{_TAIL}'] AS tail")

    return _frame_jobs(files.plain, files.one, threads, session, frame)


def ratios(measured: Sequence[Measurement]) -> list[dict[str, Any]]:
    """One row for each work of ours, in a process and on Spark: seconds, and time, bytes and size against the plain map elsewhere."""
    by_name = {(one.candidate, one.work, one.threads): one for one in measured}
    rows: list[dict[str, Any]] = []
    for (name, work, threads), one in by_name.items():
        for peer in {_US: (_DUCKDB, _SPARK, _PLAIN), _VIEW: (_SPARK,)}.get(name, ()):
            other = by_name.get((peer, work, threads))
            if other is not None and work != ONE:
                least = [by_name.get((who, ONE, threads)) for who in (name, peer)]
                rows.append(
                    {
                        "who": name,
                        "peer": peer,
                        "work": work,
                        "threads": threads,
                        "seconds": one.best,
                        "x_faster": one.times_faster_than(other),
                        "x_faster_net": _net(one, other, *least),
                        "x_fewer_bytes": other.facts[BYTES] / max(1.0, one.facts[BYTES]),
                        "size": one.facts[SIZE] / other.facts[SIZE],
                    }
                )
    return rows


def _net(one: Measurement, other: Measurement, least: Measurement | None, other_least: Measurement | None) -> float | None:
    """How many times as fast, without what a query on one row costs."""
    if least is None or other_least is None:
        return None
    return max(0.0, other.best - other_least.best) / max(1e-3, one.best - least.best)


def _as_text(rows: Sequence[dict[str, Any]], measured: Sequence[Measurement]) -> str:
    summary = table(
        ("work", "who", "against", "threads", "ms", "x faster", "without one row's", "x fewer bytes", "file size"),
        [
            (
                row["work"], row["who"], row["peer"], str(row["threads"]), f"{1000 * row['seconds']:.1f}", times(row["x_faster"]),
                times(row["x_faster_net"]), times(row["x_fewer_bytes"]), f"{row['size']:.2f}",
            )
            for row in rows
        ],
        texts=3,
    )  # fmt: skip
    return f"{summary}\n\n{everything(measured)}"


BENCHMARK: Final = Benchmark(
    "maps",
    "Measure maps with columns for hot keys against plain maps in DuckDB and Spark.",
    (FILTER, PROJECT, RARE, WHOLE, ONE),
    candidates,
    ratios,
    _as_text,
    threads="2",
    differ=(BYTES, SIZE),
    kind=Kind.HEADERS,
)


if __name__ == "__main__":
    sys.exit(run(BENCHMARK))
