"""`varquet ingest --table`: NDJSON, JSON text or Variants to a table, in this process."""

from __future__ import annotations

import functools
from pathlib import Path

from varquet.cli.ingest import Compression, DuplicateKeys, Found, LayoutChoice, ModeChoice, OnError, TableChoice, counted, planned
from varquet.cli.output import Output
from varquet.cli.schemas import read_schema
from varquet.columns.threads import thread_count
from varquet.layouts.map_keys import MapKeys
from varquet.parquet.sources import find_sources, open_source
from varquet.parquet.writer import ROW_GROUP_ROWS
from varquet.profiles.plan import Change, Plan
from varquet.tables.opening import open_table
from varquet.tables.write_job import Part, WriteJob, plan_of, settings_of
from varquet.tables.writing import TableWriter

__all__ = ["ingest_into_table"]


def ingest_into_table(
    out: Output,
    sources: list[str],
    dest: str,
    table: TableChoice,
    schema: str | None,
    plan: Path | None,
    *,
    unshredded: bool,
    column: str | None,
    output_column: str | None,
    on_error: OnError | None,
    duplicate_keys: DuplicateKeys,
    layout: LayoutChoice,
    compression: Compression,
    row_group_rows: int | None,
    threads: int | None,
    mode: ModeChoice,
    partition_by: list[str] | None,
    sort_by: list[str] | None,
    evolve: bool,
    merge_schema: bool,
    properties: dict[str, str],
) -> None:
    """Add what is in files to a table, or replace it."""
    count = thread_count(threads)
    target = open_table(dest, table.value, properties=properties, merge_schema=merge_schema)
    job = WriteJob(target, mode.value)
    if job.is_ignored:
        report = job.nothing()
        out.result(report.to_dict(), report.lines())
        return
    source = open_source(
        find_sources(sources), column=column, output_column=output_column, duplicate_keys=duplicate_keys.value, threads=count
    )
    stop = on_error is not OnError.NULL
    maps = [source.column] if source.is_map else []
    given = job.recorded_plan()
    if plan is not None:
        given = planned(plan, source.column, source.schema.names)
    elif schema is not None:
        shredding = read_schema(schema)
        given = plan_of({source.column: MapKeys.from_schema(shredding) if source.is_map else shredding})
    elif unshredded or (given is None and not source.can_be_read_again):
        given = Plan({})
    changes: list[Change] = []
    if given is None or (evolve and source.can_be_read_again):
        with out.progress("counting", source.size) as advance:
            found = {source.column: counted(source, stop, advance, count)}
        given, changes = (Plan.from_profiles(found, maps=maps), []) if given is None else given.evolve(found)
    settings = settings_of(
        source.schema,
        (source.column,),
        partition_by or (),
        sort_by or (),
        plan=target.allowed(given),
        layout=layout.value,
        compression=compression.value,
        row_group_rows=row_group_rows or ROW_GROUP_ROWS,
        threads=count,
    )
    job.check(source.schema, settings)
    looked = Found(stop=stop)
    with job.aborted_on_error(), out.progress("ingesting", source.size) as advance:
        writer = TableWriter(target, job.job, source.schema, settings)
        try:
            for number, make in enumerate(source.batches(advance)):
                writer.write(functools.partial(looked.look, number, make))
            files = writer.close()
        except BaseException:
            writer.abort()
            raise
        first = [(-1, one) for one in looked.first]
        part = Part(files, size=looked.size, nulls=looked.refused, first_refused=first)
        report = job.commit([part], source.schema, settings, given, changes)
    out.result(report.to_dict(), report.lines())
