"""The main job, on local Spark: sample events as raw JSON to a shredded table, and what one query costs before and after.

python scripts/demo.py [--rows 200000] [--into demo] [--master 'local[2]']
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import varquet as vq
from varquet import samples
from varquet import spark as vqs
from varquet.spark.sessions import start_session

QUERY = "country, count(*) AS orders, sum(amount) AS amount FROM {} WHERE type = 'purchase' AND amount > 100 GROUP BY country"
PATHS = {"type": "$.type string", "amount": "$.amount decimal(18,2)", "country": "$.user.geo.country string"}
SHOWN_PATHS = 12


def main() -> None:
    parser = argparse.ArgumentParser(description="Show what varquet does on Spark.")
    parser.add_argument("--rows", type=int, default=200_000, help="how many sample events (default: 200000)")
    parser.add_argument("--into", type=Path, default=Path("demo"), help="where the files go (default: demo)")
    parser.add_argument("--master", default="local[2]", help="where Spark runs (default: local[2])")
    options = parser.parse_args()
    folder: Path = options.into
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    raw, table, text, whole = (folder / name for name in ("events.ndjson", "events", "events-as-text", "events-unshredded"))
    with raw.open("wb") as file:
        for event in samples.generate("events", options.rows):
            file.write(event + b"\n")
        file.write(b'{"id": 1, "type": "purch\n')  # what a crashed producer leaves

    spark = start_session(options.master, "varquet demo")
    print(f"\n{options.rows:,} sample events, {raw.stat().st_size:,} bytes of JSON.")
    print(f"varquet ingest {raw} {table} --spark '{options.master}'\n")
    report = vqs.ingest(spark, raw, str(table))
    width = max(len(label) for label, _ in report.lines())
    for label, line in report.lines():
        print(f"  {label.ljust(width)}  {line}")

    spark.read.text(str(raw)).write.option("compression", "zstd").parquet(str(text))
    vqs.ingest(spark, raw, str(whole), {})
    spark.read.parquet(str(text)).createOrReplaceTempView("text")
    spark.read.parquet(str(whole)).createOrReplaceTempView("whole")
    vqs.view(spark, str(table), PATHS, name="shredded")
    get = ", ".join(f"try_variant_get(v, '{path.split()[0]}', '{path.split()[1]}') AS {name}" for name, path in PATHS.items())
    asked = {
        "JSON text in Parquet": f"(SELECT {get} FROM (SELECT try_parse_json(value) AS v FROM text))",
        "unshredded Variants": f"(SELECT {get} FROM whole)",
        "shredded, through a view": "shredded",
    }
    found = {what: measured(spark, "SELECT " + QUERY.format(source)) for what, source in asked.items()}
    answers = [rows for rows, _, _ in found.values()]
    if not answers[0] or any(rows != answers[0] for rows in answers):
        raise SystemExit("the query has not the same answer from all tables")

    print(f"\nOne query:\n  SELECT {QUERY.format('events')}\n")
    slowest = max(seconds for _, seconds, _ in found.values())
    sizes = {what: size_of(path) for what, path in zip(asked, (text, whole, table), strict=True)}
    show(
        ("table", "bytes on disk", "bytes read", "seconds", "times as fast"),
        [
            (what, f"{sizes[what]:,}", "-" if read is None else f"{read:,}", f"{seconds:.2f}", f"{slowest / seconds:.1f}")
            for what, (_, seconds, read) in found.items()
        ],
    )
    show(("country", "orders", "amount"), [(str(row[0]), f"{row[1]:,}", f"{row[2]:,}") for row in answers[0][:5]])
    paths = sorted(vq.inspect(table).paths.to_pylist(), key=lambda path: -path["compressed_bytes"])[:SHOWN_PATHS]
    show(
        (f"the largest paths of {table}", "type", "typed", "elsewhere", "bytes"),
        [
            (
                path["path"],
                path["type"] or "",
                share(path["typed"], path["rows"]),
                share(path["residual"], path["rows"]),
                f"{path['compressed_bytes']:,}",
            )
            for path in paths
        ],
    )
    print(f"Look at it: {folder}/, or")
    for command in (
        f"inspect {table}",
        f"cat {table} | head -3",
        f"""query {table} -s '$.user.id bigint' -s '$.items' -w "$.type = 'purchase' and $.amount > 100" -n 5""",
        f"""query {table}/_quarantine -s file -s line -s reason""",
    ):
        print(f"  .venv/bin/varquet {command}")
    spark.stop()


def measured(spark: Any, query: str) -> tuple[list[Any], float, int | None]:
    """The answer of a query in order, the seconds of its fastest run of three, and the bytes that Spark has read for it."""
    best, read, rows = float("inf"), None, []
    for _ in range(3):
        before, started = bytes_read(spark), time.perf_counter()
        rows = spark.sql(query).collect()
        best = min(best, time.perf_counter() - started)
        after = bytes_read(spark)
        read = None if before is None or after is None else after - before
    return sorted(rows, key=lambda row: (-row[1], str(row[0]))), best, read


def bytes_read(spark: Any) -> int | None:
    """All bytes that the JVM has read so far; None where the system does not tell."""
    process = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    try:
        lines = Path(f"/proc/{process}/io").read_text().splitlines()
    except OSError:
        return None
    return int(dict(line.split(": ") for line in lines)["rchar"])


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*.parquet") if "_quarantine" not in file.parts)


def share(size: int, of: int) -> str:
    return f"{100 * size / max(1, of):.0f} %"


def show(head: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table: the first column to the left, the others to the right."""
    table = [list(head), *(list(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        first, *others = (
            text.ljust(width) if k == 0 else text.rjust(width) for k, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([first, *others]).rstrip())
    print()


if __name__ == "__main__":
    main()
