"""What all benchmarks share: their options, whether the candidates found the same, and the way results are told and kept."""

from __future__ import annotations

import argparse
import compileall
import importlib.metadata
import importlib.util
import json
import math
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from data import Sample, sample
from measure import Candidate, Measurement, MeasurementError, measure, table

from varquet.samples import Kind

__all__ = ["UNLIKE", "Benchmark", "everything", "installed", "run", "times"]

RESULTS: Final = Path(__file__).parent / "results"
UNLIKE: Final = "rows unlike their text"
"""The fact that must be 0, of the first rows."""

_MODULES: Final = {"pysimdjson": "simdjson"}
"""What packages are imported as, where that is not their name."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One command: what it measures, and what it makes of that."""

    name: str
    description: str
    works: Sequence[str]
    candidates: Callable[[Sample, Sequence[int]], list[Candidate]]
    ratios: Callable[[Sequence[Measurement]], list[dict[str, Any]]]
    as_text: Callable[[Sequence[dict[str, Any]], Sequence[Measurement]], str]
    threads: str = "1,2"
    differ: Sequence[str] = ()
    """Facts in which candidates may differ."""
    kind: Kind = Kind.EVENTS
    """The sample that it runs on."""


def installed(packages: Mapping[str, str]) -> list[str]:
    """The candidates whose package is here; the others are named on stderr."""
    missing = {name: package for name, package in packages.items() if importlib.util.find_spec(_MODULES.get(package, package)) is None}
    for name, package in missing.items():
        print(f"{name} is not installed and left out. Hint: pip install {package}", file=sys.stderr)
    return [name for name in packages if name not in missing]


def disagreements(measured: Sequence[Measurement], differ: Sequence[str] = ()) -> list[str]:
    """Where candidates that did the same work on the same rows found different things, or not what was in the data."""
    found: list[str] = []
    for work, rows in dict.fromkeys((one.work, one.rows) for one in measured):
        same = [one for one in measured if (one.work, one.rows) == (work, rows)]
        for fact in dict.fromkeys(fact for one in same for fact in one.facts if fact not in differ):
            said = [(one, one.facts[fact]) for one in same if fact in one.facts]
            wanted = {"rows": rows, UNLIKE: 0}.get(fact, said[0][1])
            # Sums of doubles depend on the order in which they are added, which every candidate chooses.
            if not all(math.isclose(value, wanted, rel_tol=1e-9) for _, value in said):
                answers = ", ".join(f"{one.candidate} with threads={one.threads} {value!r}" for one, value in said)
                found.append(f"{work}, {rows} rows, {fact}: expected {wanted!r} of all, got {answers}")
    return found


def times(ratio: float | None) -> str:
    """A ratio as text."""
    if ratio is None:
        return "-"
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2f}"


def everything(measured: Sequence[Measurement]) -> str:
    """All measurements as a table."""
    return table(
        ("all measurements", "who", "threads", "rows", "krows/s", "MB/s", "best s", "median s", "CPU s", "peak MB"),
        [_cells(one) for one in measured],
        texts=2,
    )


def _cells(one: Measurement) -> list[str]:
    speeds = [f"{speed:,.1f}" for speed in (one.rows_per_second / 1e3, one.bytes_per_second / 1e6)]
    seconds = [f"{time:.4f}" for time in (one.best, one.median, one.best_cpu)]
    return [one.work, one.candidate, str(one.threads), f"{one.rows:,}", *speeds, *seconds, f"{one.peak_rss / 1e6:,.0f}"]


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in ("varquet", "pyarrow", "numpy", "duckdb", "orjson", "pysimdjson", "pyspark"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def _compile_bytecode() -> None:
    """What is measured is what an installed package does: it has its bytecode. Spark's workers import it anew in every pass."""
    found = importlib.util.find_spec("varquet")
    for folder in (found and found.submodule_search_locations) or ():
        compileall.compile_dir(folder, quiet=1)


def _options(benchmark: Benchmark, arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=benchmark.description, epilog=f"Example: python bench/{benchmark.name}.py --rows 200000")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the sample to run on (default: 1000000)")
    parser.add_argument("--passes", type=int, default=3, help="timed passes after the warm-up (default: 3)")
    parser.add_argument(
        "--threads", default=benchmark.threads, help=f"numbers of threads, separated by commas (default: {benchmark.threads})"
    )
    parser.add_argument("--only", default="", help=f"works whose names contain this, such as {benchmark.works[0]!r} (default: all)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args(arguments)
    try:
        options.threads = [int(text) for text in options.threads.split(",")]
    except ValueError:
        parser.error(f"expected --threads to be numbers such as 1,2, got {options.threads!r}")
    options.works = [work for work in benchmark.works if options.only in work]
    if options.rows < 1 or options.passes < 1 or min(options.threads) < 1 or not options.works:
        parser.error("expected at least one row, one pass, one thread and one work. Hint: the works are " + ", ".join(benchmark.works))
    return options


def run(benchmark: Benchmark, arguments: Sequence[str] | None = None) -> int:
    """Run a benchmark; 0 if all found the same, 1 if not, 2 if it could not be run, 130 if it was interrupted."""
    options = _options(benchmark, arguments)
    _compile_bytecode()
    data = sample(options.rows, kind=benchmark.kind)
    load = os.getloadavg()[0]
    try:
        measured = measure(
            benchmark.candidates(data, options.threads),
            passes=options.passes,
            works=options.works,
            tell=lambda text: print(text, file=sys.stderr, flush=True),
        )
    except MeasurementError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    rows, problems = benchmark.ratios(measured), disagreements(measured, benchmark.differ)
    report = {
        "rows": data.rows,
        "text_bytes": data.text_bytes,
        "cores": os.cpu_count(),
        "load_before": load,
        "load_after": os.getloadavg()[0],
        "versions": _versions(),
        "ratios": rows,
        "measurements": [one.as_json() for one in measured],
        "disagreements": problems,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{benchmark.name}-{data.rows}.json").write_text(json.dumps(report, indent=2) + "\n")
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        size = f"{data.rows:,} sample {data.kind}, {data.text_bytes / 1e6:.1f} MB of JSON text"
        print(f"{size}; best of {options.passes} passes; {os.cpu_count()} cores")
        print(f"load before the run {load:.1f} (others were at work if that is not near 0)\n")
        print(benchmark.as_text(rows, measured))
    for problem in problems:
        print(f"not the same: {problem}", file=sys.stderr)
    return 1 if problems else 0
