"""How fast the verbs are, against DuckDB, orjson and our own plain Python, in one run.

    python bench/columns.py --rows 200000 --passes 5

Prints a table of ratios and one of all measurements, writes both as JSON into bench/results/, and exits with 1 if the
candidates did not find the same in the data. bench/README.md says what is compared and how.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import math
import os
import platform
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from data import ROWS_PER_BATCH, Sample, sample, texts
from measure import Candidate, Measurement, MeasurementError, measure, table
from peers import PARSE, UNLIKE, WORKS, duckdb_jobs, orjson_jobs, reference_jobs, varquet_jobs

__all__ = ["candidates", "disagreements", "main", "ratios"]

RESULTS: Final = Path(__file__).parent / "results"

_US: Final = "varquet"
_DUCKDB: Final = "DuckDB"
_ORJSON: Final = "orjson"
_REFERENCE: Final = "reference"
_INTERPRETED: Final = "interpreted"
_FEW_ROWS: Final = 2_000


def candidates(data: Sample, threads: Sequence[int]) -> list[Candidate]:
    """Those who can run here: all of them, or without the peers that are not installed."""
    few = min(_FEW_ROWS, data.rows)
    few_bytes = sum(map(len, texts(data.parts, few)))
    compiled, interpreted = {"VARQUET_KERNELS": "compiled"}, {"VARQUET_KERNELS": "interpreted"}
    known = [
        Candidate(_US, data.rows, data.text_bytes, partial(varquet_jobs, data, threads), compiled),
        Candidate(_DUCKDB, data.rows, data.text_bytes, partial(duckdb_jobs, data, threads)),
        Candidate(_ORJSON, data.rows, data.text_bytes, partial(orjson_jobs, data)),
        Candidate(_REFERENCE, few, few_bytes, partial(reference_jobs, data, few)),
        Candidate(_INTERPRETED, few, few_bytes, partial(varquet_jobs, data, (1,), few), interpreted),
    ]
    missing = {_DUCKDB: "duckdb", _ORJSON: "orjson"}
    missing = {name: package for name, package in missing.items() if importlib.util.find_spec(package) is None}
    for name, package in missing.items():
        print(f"{name} is not installed and left out. Hint: pip install {package}", file=sys.stderr)
    return [one for one in known if one.name not in missing]


def disagreements(measured: Sequence[Measurement]) -> list[str]:
    """Where candidates that did the same work on the same rows found different things, or not what was in the data."""
    found: list[str] = []
    for work, rows in dict.fromkeys((one.work, one.rows) for one in measured):
        same = [one for one in measured if (one.work, one.rows) == (work, rows)]
        for fact in dict.fromkeys(fact for one in same for fact in one.facts):
            said = [(one, one.facts[fact]) for one in same if fact in one.facts]
            wanted = {"rows": rows, UNLIKE: 0}.get(fact, said[0][1])
            # Sums of doubles depend on the order in which they are added, which every candidate chooses.
            if not all(math.isclose(value, wanted, rel_tol=1e-9) for _, value in said):
                answers = ", ".join(f"{one.candidate} with threads={one.threads} {value!r}" for one, value in said)
                found.append(f"{work}, {rows} rows, {fact}: expected {wanted!r} of all, got {answers}")
    return found


def ratios(measured: Sequence[Measurement]) -> list[dict[str, Any]]:
    """One row for each verb and number of threads: how fast we are, and how many times faster than the others.

    DuckDB gets as many threads as we do. The others have one, whatever we use.
    """
    by_name = {(one.candidate, one.work, one.threads): one for one in measured}
    rows: list[dict[str, Any]] = []
    for one in measured:
        if one.candidate != _US:
            continue
        row: dict[str, Any] = {
            "work": one.work,
            "threads": one.threads,
            "krows_per_second": one.rows_per_second / 1e3,
            "megabytes_per_second": one.bytes_per_second / 1e6,
            "megabytes_per_cpu_second": one.text_bytes / one.best_cpu / 1e6,
        }
        for name in (_DUCKDB, _ORJSON, _REFERENCE, _INTERPRETED):
            other = by_name.get((name, one.work, one.threads if name == _DUCKDB else 1))
            row[f"x_{name}"] = None if other is None else one.times_faster_than(other)
            if name == _DUCKDB:
                row[f"x_{name}_by_cpu"] = None if other is None else one.times_faster_than(other, by_cpu=True)
        rows.append(row)
    return rows


def _as_text(rows: Sequence[dict[str, Any]], measured: Sequence[Measurement]) -> str:
    speeds = ("krows_per_second", "megabytes_per_second", "megabytes_per_cpu_second")
    others = (f"x_{_DUCKDB}", f"x_{_DUCKDB}_by_cpu", f"x_{_ORJSON}", f"x_{_REFERENCE}", f"x_{_INTERPRETED}")
    summary = table(
        ("varquet", "threads", "krows/s", "MB/s", "MB/CPU s", "x DuckDB", "by CPU", "x orjson", "x reference", "x interpreted"),
        [(row["work"], str(row["threads"]), *(f"{row[x]:,.0f}" for x in speeds), *(_times(row[x]) for x in others)) for row in rows],
    )
    everything = table(
        ("all measurements", "who", "threads", "rows", "krows/s", "MB/s", "best s", "median s", "CPU s", "peak MB"),
        [_cells(one) for one in measured],
        texts=2,
    )
    return f"{summary}\n\n{everything}"


def _times(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.1f}"


def _cells(one: Measurement) -> list[str]:
    speeds = [f"{speed:,.1f}" for speed in (one.rows_per_second / 1e3, one.bytes_per_second / 1e6)]
    seconds = [f"{time:.4f}" for time in (one.best, one.median, one.best_cpu)]
    return [one.work, one.candidate, str(one.threads), f"{one.rows:,}", *speeds, *seconds, f"{one.peak_rss / 1e6:,.0f}"]


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in ("varquet", "pyarrow", "numpy", "duckdb", "orjson"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Measure the verbs of varquet against its peers.", epilog="Example: python bench/columns.py --rows 200000"
    )
    parser.add_argument("--rows", type=int, default=1_000_000, help="sample events to run on (default: 1000000)")
    parser.add_argument("--passes", type=int, default=3, help="timed passes after the warm-up (default: 3)")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, separated by commas (default: 1,2)")
    parser.add_argument("--only", default="", help=f"works whose names contain this, such as {PARSE} or extract (default: all)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args(arguments)
    try:
        options.threads = [int(text) for text in options.threads.split(",")]
    except ValueError:
        parser.error(f"expected --threads to be numbers such as 1,2, got {options.threads!r}")
    options.works = [work for work in WORKS if options.only in work]
    if options.rows < 1 or options.passes < 1 or min(options.threads) < 1 or not options.works:
        parser.error("expected at least one row, one pass, one thread and one work. Hint: the works are " + ", ".join(WORKS))
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 if all found the same, 1 if not, 2 if it could not be run, 130 if it was interrupted."""
    options = _options(arguments)
    data = sample(options.rows)
    load = os.getloadavg()[0]
    try:
        measured = measure(
            candidates(data, options.threads),
            passes=options.passes,
            works=options.works,
            tell=lambda text: print(text, file=sys.stderr, flush=True),
        )
    except MeasurementError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    rows, problems = ratios(measured), disagreements(measured)
    report = {
        "rows": data.rows,
        "text_bytes": data.text_bytes,
        "rows_per_batch": ROWS_PER_BATCH,
        "cores": os.cpu_count(),
        "load_before": load,
        "load_after": os.getloadavg()[0],
        "versions": _versions(),
        "ratios": rows,
        "measurements": [one.as_json() for one in measured],
        "disagreements": problems,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"columns-{data.rows}.json").write_text(json.dumps(report, indent=2) + "\n")
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        size = f"{data.rows:,} sample events, {data.text_bytes / 1e6:.1f} MB of JSON text"
        print(f"{size}; best of {options.passes} passes; {os.cpu_count()} cores")
        print(f"load before the run {load:.1f} (others were at work if that is not near 0)\n")
        print(_as_text(rows, measured))
    for problem in problems:
        print(f"not the same: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
