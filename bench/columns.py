"""How fast the verbs are, against DuckDB, orjson and our own plain Python, in one run.

    python bench/columns.py --rows 200000 --passes 5

Prints a table of ratios and one of all measurements, writes both as JSON into bench/results/, and exits with 1 if the
candidates did not find the same in the data. bench/README.md says what is compared and how.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from data import Sample, texts
from measure import Candidate, Measurement, table
from peers import WORKS, duckdb_jobs, orjson_jobs, reference_jobs, simdjson_jobs, varquet_jobs
from report import Benchmark, everything, installed, run, times

__all__ = ["BENCHMARK", "candidates", "ratios"]

_US: Final = "varquet"
_DUCKDB: Final = "DuckDB"
_ORJSON: Final = "orjson"
_SIMDJSON: Final = "simdjson"
_REFERENCE: Final = "reference"
_INTERPRETED: Final = "interpreted"
_FEW_ROWS: Final = 2_000


def candidates(data: Sample, threads: Sequence[int]) -> list[Candidate]:
    """Those who can run here: all of them, or without the peers that are not installed."""
    few = min(_FEW_ROWS, data.rows)
    few_bytes = sum(map(len, texts(data.parts, few)))
    compiled, interpreted = {"VARQUET_KERNELS": "compiled"}, {"VARQUET_KERNELS": "interpreted"}
    peers = {
        _DUCKDB: Candidate(_DUCKDB, data.rows, data.text_bytes, partial(duckdb_jobs, data, threads)),
        _ORJSON: Candidate(_ORJSON, data.rows, data.text_bytes, partial(orjson_jobs, data)),
        _SIMDJSON: Candidate(_SIMDJSON, data.rows, data.text_bytes, partial(simdjson_jobs, data)),
    }
    return [
        Candidate(_US, data.rows, data.text_bytes, partial(varquet_jobs, data, threads), compiled),
        *(peers[name] for name in installed({_DUCKDB: "duckdb", _ORJSON: "orjson", _SIMDJSON: "pysimdjson"})),
        Candidate(_REFERENCE, few, few_bytes, partial(reference_jobs, data, few)),
        Candidate(_INTERPRETED, few, few_bytes, partial(varquet_jobs, data, (1,), few), interpreted),
    ]


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
        for name in (_DUCKDB, _ORJSON, _SIMDJSON, _REFERENCE, _INTERPRETED):
            other = by_name.get((name, one.work, one.threads if name == _DUCKDB else 1))
            row[f"x_{name}"] = None if other is None else one.times_faster_than(other)
            if name == _DUCKDB:
                row[f"x_{name}_by_cpu"] = None if other is None else one.times_faster_than(other, by_cpu=True)
        rows.append(row)
    return rows


def _as_text(rows: Sequence[dict[str, Any]], measured: Sequence[Measurement]) -> str:
    speeds = ("krows_per_second", "megabytes_per_second", "megabytes_per_cpu_second")
    others = {
        "x DuckDB": f"x_{_DUCKDB}",
        "by CPU": f"x_{_DUCKDB}_by_cpu",
        "x orjson": f"x_{_ORJSON}",
        "x simdjson": f"x_{_SIMDJSON}",
        "x reference": f"x_{_REFERENCE}",
        "x interpreted": f"x_{_INTERPRETED}",
    }
    summary = table(
        ("varquet", "threads", "krows/s", "MB/s", "MB/CPU s", *others),
        [
            (row["work"], str(row["threads"]), *(f"{row[x]:,.0f}" for x in speeds), *(times(row[x]) for x in others.values()))
            for row in rows
        ],
    )
    return f"{summary}\n\n{everything(measured)}"


BENCHMARK: Final = Benchmark("columns", "Measure the verbs of varquet against its peers.", WORKS, candidates, ratios, _as_text)


if __name__ == "__main__":
    sys.exit(run(BENCHMARK))
