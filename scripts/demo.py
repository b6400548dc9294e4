"""Show what varquet does: sample events as JSON to shredded Parquet, what is in it, and what a path costs to read.

python scripts/demo.py [--rows 100000] [--into demo]
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

SCHEMA = (
    "id bigint, ts string, type string, session string, amount decimal(9,2), score decimal(9,4), "
    "user struct<id: bigint, name: string, email: string, plan: string, geo: struct<lat: decimal(9,6), lon: decimal(9,6), "
    "country: string>>, device struct<os: string, ver: string>, items array<struct<sku: string, qty: bigint, price: decimal(9,2)>>, "
    "tags array<string>"
)
COMPARED = 1_000
PATH = "$.user.geo.country"
# Where the standard's layout has the typed values of that path.
LEAF = "event.typed_value.user.typed_value.geo.typed_value.country.typed_value"


def main() -> None:
    parser = argparse.ArgumentParser(description="Show what varquet does.")
    parser.add_argument("--rows", type=int, default=100_000, help="how many sample events (default: 100000)")
    parser.add_argument("--into", type=Path, default=Path("demo"), help="where the files go (default: demo)")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)

    lines = pa.array(samples.generate("events", options.rows), pa.binary()).cast(pa.string())
    ndjson = options.into / "events.ndjson"
    ndjson.write_text("".join(f"{line}\n" for line in lines.to_pylist()), encoding="utf-8")
    size = ndjson.stat().st_size

    column, parse_seconds = timed(lambda: vq.parse_json(lines, shared_metadata=True))
    table = pa.table([column], schema=pa.schema([vq.variant_field("event", shared_metadata=True)]))
    text, whole, shredded = (options.into / name for name in ("events-as-text.parquet", "events-unshredded.parquet", "events.parquet"))
    pq.write_table(pa.table({"event": lines}), text, compression="zstd")
    vq.write(table, whole, overwrite=True)
    _, write_seconds = timed(lambda: vq.write(table, shredded, {"event": SCHEMA}, overwrite=True))
    back, read_seconds = timed(lambda: vq.read(shredded)["event"])
    if events(back.slice(0, COMPARED)) != events(column.slice(0, COMPARED)):
        raise SystemExit("the events read back from Parquet are not the events written")

    stored = vq.read(whole)["event"]
    from_text, text_seconds = timed(lambda: vq.extract(vq.parse_json(pq.read_table(text)["event"]), PATH, "string"))
    from_whole, whole_seconds = timed(lambda: vq.extract(vq.read(whole)["event"], PATH, "string"))
    from_leaf, leaf_seconds = timed(lambda: pq.ParquetFile(shredded).read(columns=[LEAF]))
    leaf = from_leaf["event"].combine_chunks()
    for name in LEAF.split(".")[1:]:
        leaf = leaf.field(name)
    if not (from_text.combine_chunks() == from_whole.combine_chunks() == leaf):
        raise SystemExit(f"{PATH} is not the same from all files")

    print(f"{options.rows:,} sample events: JSON text -> Variants -> shredded Parquet")
    print(f"(read back and compared with what was written, value by value: the first {min(COMPARED, options.rows):,})\n")
    files = {"JSON text": ndjson, "JSON text in Parquet": text, "Variants in Parquet": whole, "shredded Variants in Parquet": shredded}
    sizes = {what: path.stat().st_size for what, path in files.items()}
    show(("", "bytes", "share"), [(what, f"{used:,}", share(used, size)) for what, used in sizes.items()])
    show(
        ("", "seconds", "rows/s", "MB/s of JSON"),
        [
            speed("parse_json", options.rows, size, parse_seconds),
            speed("write, shredded", options.rows, size, write_seconds),
            speed("read all of it", options.rows, size, read_seconds),
            speed("to_json", options.rows, size, timed(lambda: vq.to_json(stored))[1]),
        ],
    )
    show(
        (f"{PATH} of all events", "seconds", "times as fast"),
        [
            ("from JSON text in Parquet", f"{text_seconds:.4f}", "1"),
            ("from Variants in Parquet", f"{whole_seconds:.4f}", f"{text_seconds / whole_seconds:.0f}"),
            ("from its own column", f"{leaf_seconds:.4f}", f"{text_seconds / leaf_seconds:.0f}"),
        ],
    )
    found = vq.inspect(shredded).paths.to_pylist()
    show(
        (f"what is where in {shredded}", "type", "typed", "elsewhere", "bytes", "min", "max"),
        [
            (
                path["path"],
                path["type"],
                share(path["typed"], path["rows"]),
                share(path["residual"], path["rows"]),
                f"{path['compressed_bytes']:,}",
                *((path[bound] or "")[:26] for bound in ("min", "max")),
            )
            for path in found
        ],
    )
    print(f"Look at it: {options.into}/, or\n  .venv/bin/varquet inspect {shredded}\n  .venv/bin/varquet cat {shredded} | head -3")
    print(f"  .venv/bin/varquet query {shredded} -s '$.user.id bigint' -s '$.items' -w \"$.type = 'purchase' and $.amount > 100\" -n 5")


def events(column: pa.ChunkedArray | pa.Array) -> list[vq.Variant]:
    return [vq.Variant(row["metadata"], row["value"]) for row in column.to_pylist()]


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
