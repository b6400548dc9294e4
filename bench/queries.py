"""How fast queries on paths are, against DuckDB and Spark on the same file and against a plain typed table, in one run.

    python bench/queries.py --rows 200000 --passes 3

Prints ratios and the bytes that are read, and writes all measurements into bench/results/. bench/README.md says what is compared and how.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from data import DATA, Sample
from files import ingest
from measure import Candidate, Facts, Job, Measurement, table
from report import Benchmark, everything, installed, run, times
from spark import Sessions, has_java

__all__ = ["BENCHMARK", "candidates", "ratios"]

SUM: Final = "sum of a path"
CONFLICTS: Final = "sum of one with 3 % conflicts"
NULLS: Final = "sum of one with 5 % nulls"
CLEAN: Final = "the same, nothing beside it"
FILTER: Final = "rows with a text"
GROUP: Final = "group by a path"
POINT: Final = "one row by a sorted path"
FETCH: Final = "a few rows, all columns"
BYTES: Final = "bytes read"

_US: Final = "varquet"
_DUCKDB: Final = "DuckDB"
_SPARK: Final = "Spark"
_TYPED: Final = "typed table"

# The columns of the typed table: all paths that are columns of the shredded file too, what is left as text.
_COLUMNS: Final = {
    "id": "$.id bigint",
    "ts": "$.ts string",
    "type": "$.type string",
    "user_id": "$.user.id bigint",
    "name": "$.user.name string",
    "email": "$.user.email string",
    "lat": "$.user.geo.lat decimal(9,6)",
    "lon": "$.user.geo.lon decimal(9,6)",
    "country": "$.user.geo.country string",
    "plan": "$.user.plan string",
    "session": "$.session string",
    "os": "$.device.os string",
    "ver": "$.device.ver string",
    "items": "$.items string",
    "tags": "$.tags string",
    "amount": "$.amount double",
    "score": "$.score double",
    "payload": "$.payload string",
}


class Files:
    """What is queried: the events shredded, the same typed, and a file with nothing but one path; made once."""

    def __init__(self, data: Sample) -> None:
        home = DATA / f"queries-{data.rows}"
        self.events, self.typed, self.clean = (home / f"{name}.parquet" for name in ("events", "typed", "clean"))
        if not all(path.is_file() for path in (self.events, self.typed, self.clean)):
            self._make(data, home)
        middle = pq.ParquetFile(self.typed).read_row_group(pq.read_metadata(self.typed).num_row_groups // 2, columns=["id", "session"])
        self.id = middle["id"][middle.num_rows // 2].as_py()
        self.session = middle["session"][middle.num_rows // 3].as_py()

    def _make(self, data: Sample, home: Path) -> None:
        import varquet as vq

        print("making the files to be queried ...", file=sys.stderr, flush=True)
        unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=DATA))
        try:
            ingest(data, unfinished / self.events.name, "parquet", os.cpu_count() or 1)
            query = vq.scan(unfinished / self.events.name).select(_COLUMNS)
            options = {"compression": "zstd", "write_page_index": True, "store_decimal_as_integer": True}
            with pq.ParquetWriter(unfinished / self.typed.name, query.schema, **options) as writer:
                for rows in _grouped(query.batches()):
                    writer.write_table(rows, row_group_size=131_072)
            schema = pa.schema([vq.variant_field("v", shared_metadata=True)])
            with vq.FileWriter(unfinished / self.clean.name, schema, {"v": "amount decimal(9,2)"}) as clean:
                for batch in vq.scan(unfinished / self.events.name).select({"amount": "$.amount decimal(9,2)"}).batches():
                    texts = pc.binary_join_element_wise('{"amount":', batch["amount"].cast(pa.string()).fill_null("0.00"), "}", "")
                    clean.write(pa.record_batch([vq.parse_json(texts, shared_metadata=True)], schema=schema))
            shutil.rmtree(home, ignore_errors=True)
            unfinished.rename(home)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def _grouped(batches: Any) -> Any:
    """Tables of as many rows as a row group has."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= 131_072:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def candidates(data: Sample, threads: Sequence[int]) -> list[Candidate]:
    """Those who can run here."""
    files = Files(data)
    peers = {_DUCKDB: duckdb_jobs, _SPARK: spark_jobs}
    here = [name for name in installed({_DUCKDB: "duckdb", _SPARK: "pyspark"}) if name != _SPARK or has_java()]
    jobs = {_US: varquet_jobs, _TYPED: typed_jobs} | {name: peers[name] for name in here}
    return [Candidate(name, data.rows, data.text_bytes, partial(prepare, files, threads)) for name, prepare in jobs.items()]


def _jobs(
    threads: Sequence[int],
    works: dict[str, Callable[[int], Facts]],
    ready: Callable[[int], object] = lambda _: None,
    sizes: Mapping[str, Callable[[], float]] | None = None,
) -> list[Job]:
    """A job for each work and number of threads; `sizes` say how many bytes are read, which is not part of the work."""

    def check(work: str) -> Facts:
        return {BYTES: sizes[work]()} if sizes is not None and work in sizes else {}

    return [
        Job(work, count, partial(do, count), partial(check, work), partial(ready, count)) for work, do in works.items() for count in threads
    ]


def varquet_jobs(files: Files, threads: Sequence[int]) -> list[Job]:
    """`scan`, and pyarrow for what is made of its columns."""
    import varquet as vq

    def latitudes(count: int = 1) -> vq.Scan:
        return vq.scan(files.events, threads=count).select({"lat": "$.user.geo.lat decimal(9,6)"})

    def users(count: int = 1) -> vq.Scan:
        return vq.scan(files.events, threads=count).select({"user": "$.user.id bigint"})

    def amounts(path: Path, count: int = 1) -> vq.Scan:
        return vq.scan(path, threads=count).select({"amount": "$.amount double"})

    def with_text(count: int = 1) -> vq.Scan:
        return vq.scan(files.events, threads=count).select({"id": "$.id bigint"}).where(vq.path("$.session") == files.session)

    def by_country(count: int = 1) -> vq.Scan:
        return vq.scan(files.events, threads=count).select({"country": "$.user.geo.country string", "amount": "$.amount double"})

    def one(count: int = 1) -> vq.Scan:
        return vq.scan(files.events, threads=count).select({"ts": "$.ts string"}).where(vq.path("$.id", "bigint") == files.id)

    def total(path: Path, count: int) -> Facts:
        return {"sum": pc.sum(amounts(path, count).table()["amount"]).as_py()}

    def grouped(count: int) -> Facts:
        made = by_country(count).table().group_by("country", use_threads=count > 1).aggregate([("amount", "sum"), ("amount", "count")])
        return {"groups": made.num_rows, "sum": pc.sum(made["amount_sum"]).as_py()}

    def fetch(count: int) -> Facts:
        query = vq.scan(files.events, threads=count).where(vq.path("$.id", "bigint").between(files.id, files.id + 9))
        return {"found": query.table().num_rows}

    works: dict[str, Callable[[int], Facts]] = {
        SUM: lambda count: {"sum": float(pc.sum(latitudes(count).table()["lat"]).as_py())},
        CONFLICTS: lambda count: {"sum": pc.sum(users(count).table()["user"]).as_py()},
        NULLS: partial(total, files.events),
        CLEAN: partial(total, files.clean),
        FILTER: lambda count: {"found": with_text(count).table().num_rows},
        GROUP: grouped,
        POINT: lambda count: {"found": one(count).table().num_rows},
        FETCH: fetch,
    }
    sizes = {SUM: latitudes, CONFLICTS: users, NULLS: lambda: amounts(files.events), FILTER: with_text, GROUP: by_country, POINT: one}
    return _jobs(threads, works, sizes={work: partial(_bytes, query) for work, query in sizes.items()})


def _bytes(query: Callable[[], Any]) -> float:
    return float(query().explain().bytes)


def typed_jobs(files: Files, threads: Sequence[int]) -> list[Job]:
    """The limit: pyarrow on the columns as somebody would have declared them."""

    def read(columns: list[str] | None, count: int, filters: Any = None) -> pa.Table:
        pa.set_cpu_count(count)
        return pq.read_table(files.typed, columns=columns, filters=filters, use_threads=count > 1)

    def size(columns: list[str], groups: Sequence[int] | None = None) -> int:
        metadata = pq.read_metadata(files.typed)
        names = [metadata.schema.column(k).name for k in range(metadata.num_columns)]
        chosen = range(metadata.num_row_groups) if groups is None else groups
        return sum(metadata.row_group(g).column(names.index(name)).total_compressed_size for g in chosen for name in columns)

    def total(name: str, count: int) -> Facts:
        return {"sum": float(pc.sum(read([name], count)[name]).as_py())}

    def matching(count: int) -> Facts:
        found = read(["id"], count, pc.field("session") == files.session)
        return {"found": found.num_rows}

    def grouped(count: int) -> Facts:
        made = read(["country", "amount"], count).group_by("country", use_threads=count > 1)
        counted = made.aggregate([("amount", "sum"), ("amount", "count")])
        return {"groups": counted.num_rows, "sum": pc.sum(counted["amount_sum"]).as_py()}

    def point(count: int) -> Facts:
        return {"found": read(["ts"], count, pc.field("id") == files.id).num_rows}

    def fetch(count: int) -> Facts:
        wanted = (pc.field("id") >= files.id) & (pc.field("id") <= files.id + 9)
        return {"found": read(None, count, wanted).num_rows}

    middle = [pq.read_metadata(files.typed).num_row_groups // 2]
    sizes = {
        SUM: partial(size, ["lat"]),
        CONFLICTS: partial(size, ["user_id"]),
        NULLS: partial(size, ["amount"]),
        FILTER: partial(size, ["id", "session"]),
        GROUP: partial(size, ["country", "amount"]),
        POINT: partial(size, ["id", "ts"], middle),
    }
    sums = {SUM: partial(total, "lat"), CONFLICTS: partial(total, "user_id"), NULLS: partial(total, "amount")}
    return _jobs(threads, {**sums, FILTER: matching, GROUP: grouped, POINT: point, FETCH: fetch}, sizes=sizes)


def duckdb_jobs(files: Files, threads: Sequence[int]) -> list[Job]:
    """The same paths of the same file."""
    import duckdb

    database = duckdb.connect()

    def one(statement: str) -> tuple[Any, ...]:
        return tuple(database.execute(statement).fetchall()[0])

    def total(path: Path, _: int) -> Facts:
        return {"sum": one(f"SELECT sum(try_cast(v.amount AS DOUBLE)) FROM '{path}'")[0]}

    def users(_: int) -> Facts:
        return {"sum": float(one(f"SELECT sum(try_cast(v.user.id AS BIGINT)) FROM '{files.events}'")[0])}

    def latitudes(_: int) -> Facts:
        return {"sum": float(one(f"SELECT sum(v.user.geo.lat::DECIMAL(9,6)) FROM '{files.events}'")[0])}

    def matching(_: int) -> Facts:
        return {"found": one(f"SELECT count(v.id::BIGINT) FROM '{files.events}' WHERE v.session::VARCHAR = '{files.session}'")[0]}

    def grouped(_: int) -> Facts:
        amounts = f"SELECT v.user.geo.country::VARCHAR AS c, sum(try_cast(v.amount AS DOUBLE)) AS s FROM '{files.events}' GROUP BY 1"
        groups, total = one(f"SELECT count(*), sum(s) FROM ({amounts})")
        return {"groups": groups, "sum": total}

    def point(_: int) -> Facts:
        return {"found": one(f"SELECT count(v.ts::VARCHAR) FROM '{files.events}' WHERE v.id::BIGINT = {files.id}")[0]}

    def fetch(_: int) -> Facts:
        wanted = f"SELECT v FROM '{files.events}' WHERE v.id::BIGINT BETWEEN {files.id} AND {files.id + 9}"
        return {"found": len(database.sql(wanted).to_arrow_table())}

    sums = {SUM: latitudes, CONFLICTS: users, NULLS: partial(total, files.events), CLEAN: partial(total, files.clean)}
    works = {**sums, FILTER: matching, GROUP: grouped, POINT: point, FETCH: fetch}
    return _jobs(threads, works, lambda count: database.execute(f"SET threads = {count}"))


def spark_jobs(files: Files, threads: Sequence[int]) -> list[Job]:
    """The same paths of the same file; a session for each number of threads."""
    session = Sessions()

    def get(path: str, kind: str) -> str:
        return f"try_variant_get(v, '{path}', '{kind}')"

    def total(path: Path, count: int) -> Facts:
        row = session(count).read.parquet(str(path)).selectExpr(f"sum({get('$.amount', 'double')})").first()
        assert row is not None
        return {"sum": row[0]}

    def latitudes(count: int) -> Facts:
        row = session(count).read.parquet(str(files.events)).selectExpr(f"sum({get('$.user.geo.lat', 'decimal(9,6)')})").first()
        assert row is not None
        return {"sum": float(row[0])}

    def users(count: int) -> Facts:
        row = session(count).read.parquet(str(files.events)).selectExpr(f"sum({get('$.user.id', 'bigint')})").first()
        assert row is not None
        return {"sum": row[0]}

    def matching(count: int) -> Facts:
        frame = session(count).read.parquet(str(files.events)).where(f"{get('$.session', 'string')} = '{files.session}'")
        return {"found": len(frame.selectExpr(get("$.id", "bigint")).collect())}

    def grouped(count: int) -> Facts:
        frame = session(count).read.parquet(str(files.events))
        frame = frame.selectExpr(f"{get('$.user.geo.country', 'string')} as c", f"{get('$.amount', 'double')} as a")
        made = frame.groupBy("c").agg({"a": "sum"}).collect()
        return {"groups": len(made), "sum": sum(row[1] or 0 for row in made)}

    def point(count: int) -> Facts:
        frame = session(count).read.parquet(str(files.events)).where(f"{get('$.id', 'bigint')} = {files.id}")
        return {"found": len(frame.selectExpr(get("$.ts", "string")).collect())}

    def fetch(count: int) -> Facts:
        frame = session(count).read.parquet(str(files.events))
        return {"found": len(frame.where(f"{get('$.id', 'bigint')} between {files.id} and {files.id + 9}").collect())}

    sums = {SUM: latitudes, CONFLICTS: users, NULLS: partial(total, files.events), CLEAN: partial(total, files.clean)}
    works = {**sums, FILTER: matching, GROUP: grouped, POINT: point, FETCH: fetch}
    return _jobs(threads, works, session)


def ratios(measured: Sequence[Measurement]) -> list[dict[str, Any]]:
    """One row for each of our works: seconds, how many times as fast as the others, time and bytes against the typed table."""
    by_name = {(one.candidate, one.work, one.threads): one for one in measured}
    rows: list[dict[str, Any]] = []
    for (name, work, threads), one in by_name.items():
        if name != _US:
            continue
        row: dict[str, Any] = {"work": work, "threads": threads, "seconds": one.best}
        for peer in (_DUCKDB, _SPARK):
            other = by_name.get((peer, work, threads))
            row[f"x_{peer}"] = None if other is None else one.times_faster_than(other)
        typed = by_name.get((_TYPED, work, threads))
        row["of_typed"] = None if typed is None else 1 / one.times_faster_than(typed)
        has_bytes = typed is not None and BYTES in typed.facts and BYTES in one.facts
        row["bytes_of_typed"] = one.facts[BYTES] / typed.facts[BYTES] if has_bytes and typed is not None else None
        rows.append(row)
    return rows


def _as_text(rows: Sequence[dict[str, Any]], measured: Sequence[Measurement]) -> str:
    def share(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f}"

    summary = table(
        ("varquet", "threads", "ms", "x DuckDB", "x Spark", "time / typed", "bytes / typed"),
        [
            (
                row["work"],
                str(row["threads"]),
                f"{1000 * row['seconds']:.1f}",
                times(row[f"x_{_DUCKDB}"]),
                times(row[f"x_{_SPARK}"]),
                share(row["of_typed"]),
                share(row["bytes_of_typed"]),
            )
            for row in rows
        ],
    )
    return f"{summary}\n\n{everything(measured)}"


BENCHMARK: Final = Benchmark(
    "queries",
    "Measure queries on paths against DuckDB, Spark and a typed table.",
    (SUM, CONFLICTS, NULLS, CLEAN, FILTER, GROUP, POINT, FETCH),
    candidates,
    ratios,
    _as_text,
    threads="2",
    differ=(BYTES,),
)


if __name__ == "__main__":
    sys.exit(run(BENCHMARK))
