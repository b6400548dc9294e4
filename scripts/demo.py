"""Show what varquet does today: sample events to a variant column, into Parquet and out again as typed columns.

python scripts/demo.py [--rows 20000] [--into demo]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

import varquet as vq
from varquet import samples

T = TypeVar("T")

PATHS: tuple[tuple[str, pa.DataType], ...] = (
    ("$.id", pa.int64()),
    ("$.type", pa.string()),
    ("$.amount", pa.decimal128(12, 2)),
    ("$.user.geo.country", pa.string()),
    ("$.items[0].qty", pa.int32()),
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Show what varquet does today.")
    parser.add_argument("--rows", type=int, default=20_000, help="how many sample events (default: 20000)")
    parser.add_argument("--into", type=Path, default=Path("demo"), help="where the files go (default: demo)")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)

    lines = pa.array(samples.generate("events", options.rows), pa.binary()).cast(pa.string())
    ndjson = options.into / "events.ndjson"
    ndjson.write_text("".join(f"{line}\n" for line in lines.to_pylist()), encoding="utf-8")
    text_size = ndjson.stat().st_size

    column, parse_seconds = timed(lambda: vq.parse_json(lines))
    vq.validate(column)
    _, write_seconds = timed(lambda: vq.to_json(column))
    parquet = options.into / "events.parquet"
    pq.write_table(pa.table([column], schema=pa.schema([vq.variant_field("event")])), parquet, compression="zstd")

    stored = pq.read_table(parquet)["event"]
    extracted, extract_seconds = timed(lambda: {path: vq.extract(stored, path, kind) for path, kind in PATHS})
    if vq.to_json(stored).combine_chunks() != vq.to_json(column):
        raise SystemExit("the events read back from Parquet are not the events written")

    print(f"{options.rows:,} sample events: JSON text -> variant column -> Parquet -> typed columns\n")
    show(
        ("", "bytes", "share of the JSON"),
        [
            ("JSON text", f"{text_size:,}", "100 %"),
            ("variant column in memory", f"{column.nbytes:,}", share(column.nbytes, text_size)),
            ("variant column in Parquet (zstd)", f"{parquet.stat().st_size:,}", share(parquet.stat().st_size, text_size)),
        ],
    )
    show(
        ("", "seconds", "rows/s", "MB/s of JSON"),
        [
            speed("parse_json", options.rows, text_size, parse_seconds),
            speed("to_json", options.rows, text_size, write_seconds),
            speed(f"extract, {len(PATHS)} paths", options.rows, text_size, extract_seconds),
        ],
    )
    rows = pa.table(list(extracted.values()), [f"{path} ({kind})" for path, kind in PATHS]).drop_null().slice(0, 5)
    show(rows.column_names, zip(*([str(value) for value in values.to_pylist()] for values in rows.columns), strict=True))
    first = vq.Variant(column[0]["metadata"].as_py(), column[0]["value"].as_py())
    print(f"The first event: {first!r}\n")
    print(f"The events as JSON: {ndjson}\nThe events as Variant in Parquet: {parquet}")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What a call returns, and the seconds of its fastest run of three."""
    best = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - started)
    return result, best


def share(size: int, of: int) -> str:
    return f"{100 * size / of:.0f} %"


def speed(what: str, rows: int, size: int, seconds: float) -> tuple[str, str, str, str]:
    return what, f"{seconds:.4f}", f"{rows / seconds:,.0f}", f"{size / seconds / 1e6:,.0f}"


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
