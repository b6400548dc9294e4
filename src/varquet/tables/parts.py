"""Writing one part of a table: the rows of a partition of a DataFrame, or all of them in one process."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from varquet.profiles.plan import Plan
from varquet.profiles.profiling import Counting, profile, variants_of
from varquet.tables.base import Table
from varquet.tables.jobs import Job
from varquet.tables.parsing import Parsing
from varquet.tables.quarantine import QuarantineWriter
from varquet.tables.write_job import Part
from varquet.tables.writing import Settings, TableWriter

__all__ = ["write_part"]

_ENOUGH_ROWS: Final = 16_384


def write_part(
    batches: Iterator[pa.RecordBatch],
    number: int,
    *,
    table: Table,
    job: Job,
    settings: Settings,
    parsing: Parsing,
    counts: bool = False,
) -> Part:
    """Write some rows; on Spark, an executor those of one partition. Without a plan, its first rows tell how Variants are shredded.

    With `counts` what is in the Variant columns is counted on the way.
    """
    writer: TableWriter | None = None
    quarantine = QuarantineWriter(table, job, job.label(number))
    part = Part(schema=settings.columns(parsing.schema))
    counting = {name: Counting() for name in parsing.profiled if counts}

    def parsed() -> Iterator[pa.RecordBatch]:
        before = 0
        for batch in batches:
            found = parsing.parse(batch, f"partition {number}", before)
            before += batch.num_rows
            found.count(part, quarantine)
            for name, column in counting.items():
                column.add(variants_of(found.rows.column(name), found.rows.schema.field(name)))
            yield found.rows

    try:
        rows = parsed()
        if settings.plan is None:
            first = _first(rows)
            settings = replace(settings, plan=_plan_of(first, parsing))
            rows = itertools.chain(first, rows)
        for batch in rows:
            if writer is None:
                writer = TableWriter(table, job, batch.schema, settings, number)
            writer.write(batch)
        part.files += [] if writer is None else writer.close()
        part.quarantine += quarantine.close()
        part.profiles |= {name: column.profile().to_bytes() for name, column in counting.items()}
    except BaseException:
        quarantine.abort()
        if writer is not None:
            writer.abort()
        raise
    return part


def _first(batches: Iterator[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Enough rows to see what is in them."""
    found: list[pa.RecordBatch] = []
    while sum(batch.num_rows for batch in found) < _ENOUGH_ROWS and (batch := next(batches, None)) is not None:
        found.append(batch)
    return found


def _plan_of(batches: Sequence[pa.RecordBatch], parsing: Parsing) -> Plan:
    if not batches:
        return Plan({})
    columns = {name: pa.chunked_array([batch.column(name) for batch in batches]) for name in parsing.unplanned()}
    return Plan.from_profiles({name: profile(column, threads=1) for name, column in columns.items()}, maps=parsing.maps)
