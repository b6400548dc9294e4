"""`write`: DataFrames to shredded tables. Spark's Python workers shred and write; the driver commits."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame

from varquet.layouts.shredding import LayoutName
from varquet.parquet.sources import DuplicateKeys
from varquet.parquet.writer import ROW_GROUP_ROWS
from varquet.profiles.plan import Change, Plan
from varquet.profiles.policies import Options, PolicyName
from varquet.profiles.profiling import Counting, variants_of
from varquet.profiles.profiling import profile as profile_here
from varquet.spark.jobs import Keys, Mode, OnError, Part, PlanLike, Report, WriteJob, named_columns, plan_of, settings_of
from varquet.spark.parsing import Parsing
from varquet.spark.profiling import profile
from varquet.spark.tasks import run_over
from varquet.tables.directory import DirectoryTable, Table
from varquet.tables.folder import Folder
from varquet.tables.jobs import Job
from varquet.tables.quarantine import QuarantineWriter
from varquet.tables.writing import FILE_BYTES, Settings, TableWriter

__all__ = ["write", "write_part"]

_ENOUGH_ROWS: Final = 16_384


def write(
    frame: DataFrame,
    path: str,
    plan: PlanLike | None = None,
    *,
    json_columns: Sequence[str] = (),
    map_columns: Sequence[str] = (),
    partition_by: Keys = (),
    sort_by: Keys = (),
    mode: Mode = "error",
    on_error: OnError = "fail",
    duplicate_keys: DuplicateKeys = "error",
    evolve: bool = False,
    policy: PolicyName = "varquet",
    options: Options | None = None,
    file_bytes: int = FILE_BYTES,
    row_group_rows: int = ROW_GROUP_ROWS,
    layout: LayoutName = "parquet",
    compression: str = "zstd",
    compression_level: int | None = None,
    filesystem: Any = None,
) -> Report:
    """Write a DataFrame as a table of Parquet files with shredded Variants and maps, which Spark and others read.

    Files are written out of sight and appear when all of them are complete; a job that fails leaves the table as it was. Columns that
    are no Variants keep their types.

    Args:
        frame: the rows.
        path: the table's folder, as a path or URI.
        plan: how columns are shredded: a Plan, or schemas by column, as {"event": "id bigint, type string"}, and hot keys of maps, as
            {"headers": ["content-type"]}; an empty one shreds nothing. By default the plan that the table has, if rows are added to
            it; else one made of the rows, which are computed twice then.
        json_columns: columns of JSON text or maps that become Variants; those that a plan names do anyway.
        map_columns: columns of maps that stay maps, and get columns for their hot keys; those for which a plan has keys do anyway. Who
            reads the table without varquet sees maps without these keys, and the columns.
        partition_by: columns, or paths with types as "$.type string", for folders as Hive and Spark name them.
        sort_by: columns or paths with types by which the rows of each file are sorted, so that statistics can skip more.
        mode: "error" if the table has files; "append"; "overwrite"; "overwrite-partitions", those that have rows in the DataFrame;
            "ignore" does nothing if it has files.
        on_error: what becomes of text that is not JSON: "fail" the job; "quarantine" the row's text, apart from the table; or "null".
        duplicate_keys: a field name that occurs twice in an object is an "error", or its "last" value counts.
        evolve: adapt the table's plan to the rows, see `Plan.evolve`.
        policy, options: how a plan is made where there is none, see `varquet.choose`.
        file_bytes: how large files are, about.
        row_group_rows, layout, compression, compression_level: as for `varquet.write`.
        filesystem: one of pyarrow or fsspec in which the path is; it must pickle.
    """
    job = WriteJob(frame.sparkSession, DirectoryTable(Folder.at(path, filesystem)), mode)
    if job.is_ignored:
        return job.nothing()
    given = job.recorded_plan() if plan is None else plan_of(plan)
    named, maps = named_columns(given, json_columns, map_columns)
    parsing = Parsing.of(frame.limit(0).toArrow().schema, named, on_error, duplicate_keys, maps)
    changes: list[Change] = []
    if given is None or evolve:
        names = parsing.unplanned() if given is None else tuple(name for name in given.columns if name in parsing.profiled)
        profiles = {name: profile(frame, name, on_error="raise" if on_error == "fail" else "null") for name in names}
        given, changes = (Plan.from_profiles(profiles, policy, options, maps=maps), []) if given is None else given.evolve(profiles)
    settings = settings_of(
        parsing.schema,
        parsing.variants,
        partition_by,
        sort_by,
        plan=given,
        file_bytes=file_bytes,
        layout=layout,
        compression=compression,
        compression_level=compression_level,
        row_group_rows=row_group_rows,
    )
    job.check(parsing.schema, settings)

    def work(started: Job) -> list[Part]:
        task = functools.partial(write_part, table=job.table, job=started, settings=settings, parsing=parsing)
        return run_over(frame, task, f"write {path}")

    return job.run(work, parsing.schema, settings, given, changes)


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
    """Write the rows of one partition; it runs on an executor. Without a plan, its first rows tell how Variants are shredded.

    With `counts` what is in the Variant columns is counted on the way.
    """
    writer: TableWriter | None = None
    quarantine = QuarantineWriter(table, job, job.label(number))
    part = Part()
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
    return Plan.from_profiles({name: profile_here(column, threads=1) for name, column in columns.items()}, maps=parsing.maps)
