"""What it costs to move a million events from one layout to the other, against shredding them from JSON, in one run.

    python bench/convert.py --rows 200000 --passes 3

Prints how much of the time and the CPU time of shredding from NDJSON a conversion takes, with every row verified; below 1 is
cheaper. bench/README.md says how it is measured.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, Literal

from data import Sample
from files import folder, ingest
from measure import Candidate, Facts, Job, Measurement, table
from report import Benchmark, everything, run

__all__ = ["BENCHMARK", "candidates", "ratios"]

TO_PARQUET: Final = "to the standard's layout"
TO_DRAFT: Final = "to the draft's layout"
FROM_JSON: Final = "from NDJSON"
FROM_OTHER: Final = "from the other layout"

_LAYOUTS: Final[dict[str, Literal["parquet", "draft"]]] = {TO_PARQUET: "parquet", TO_DRAFT: "draft"}


def candidates(data: Sample, threads: Sequence[int]) -> list[Candidate]:
    """The same work from two sources, each in a process of its own."""
    jobs = {FROM_JSON: json_jobs, FROM_OTHER: convert_jobs}
    return [Candidate(name, data.rows, data.text_bytes, partial(prepare, data, threads)) for name, prepare in jobs.items()]


def json_jobs(data: Sample, threads: Sequence[int]) -> list[Job]:
    """Parse, shred and write."""
    path = folder() / "events.parquet"
    return [Job(work, count, partial(ingest, data, path, layout, count)) for work, layout in _LAYOUTS.items() for count in threads]


def convert_jobs(data: Sample, threads: Sequence[int]) -> list[Job]:
    """`convert` from files that are made before the clock starts."""
    from varquet import convert

    place = folder()
    for layout in _LAYOUTS.values():
        ingest(data, place / f"{layout}.parquet", layout, max(threads))

    def work_of(layout: Literal["parquet", "draft"], count: int) -> Facts:
        source = place / ("draft.parquet" if layout == "parquet" else "parquet.parquet")
        (made,) = convert(source, place / "made.parquet", layout, overwrite=True, threads=count)
        return {"rows": made.rows}

    return [Job(work, count, partial(work_of, layout, count)) for work, layout in _LAYOUTS.items() for count in threads]


def ratios(measured: Sequence[Measurement]) -> list[dict[str, Any]]:
    """One row for each work and number of threads: the share of what shredding from NDJSON takes."""
    by_name = {(one.candidate, one.work, one.threads): one for one in measured}
    rows: list[dict[str, Any]] = []
    for (name, work, threads), one in by_name.items():
        if name == FROM_OTHER:
            other = by_name[FROM_JSON, work, threads]
            share, by_cpu = 1 / one.times_faster_than(other), 1 / one.times_faster_than(other, by_cpu=True)
            rows.append({"work": work, "threads": threads, "seconds": one.best, "share": share, "share_of_cpu": by_cpu})
    return rows


def _as_text(rows: Sequence[dict[str, Any]], measured: Sequence[Measurement]) -> str:
    summary = table(
        ("converting", "threads", "s", "/ shredding from NDJSON", "by CPU"),
        [(row["work"], str(row["threads"]), f"{row['seconds']:.2f}", f"{row['share']:.2f}", f"{row['share_of_cpu']:.2f}") for row in rows],
    )
    return f"{summary}\n\n{everything(measured)}"


BENCHMARK: Final = Benchmark(
    "convert",
    "Measure converting files between layouts against shredding from NDJSON.",
    (TO_PARQUET, TO_DRAFT),
    candidates,
    ratios,
    _as_text,
    threads="2",
)


if __name__ == "__main__":
    sys.exit(run(BENCHMARK))
