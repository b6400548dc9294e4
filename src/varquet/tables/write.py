"""`write_table`: Arrow data to tables, in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from varquet.layouts.shredding import LayoutName
from varquet.parquet.sources import DuplicateKeys
from varquet.parquet.writer import ROW_GROUP_ROWS, Batches, batches_of
from varquet.profiles.facts import Profile
from varquet.profiles.policies import Options, PolicyName
from varquet.profiles.profiling import profile
from varquet.tables.jobs import Job
from varquet.tables.opening import TableKind, open_table
from varquet.tables.parsing import Parsing
from varquet.tables.parts import write_part
from varquet.tables.preparing import prepare
from varquet.tables.write_job import Keys, Mode, OnError, Part, PlanLike, Report, WriteJob
from varquet.tables.writing import FILE_BYTES

__all__ = ["write_table"]


def write_table(
    data: Batches,
    path: str | os.PathLike[str],
    plan: PlanLike | None = None,
    *,
    table: TableKind | None = None,
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
    properties: Mapping[str, str] | None = None,
    merge_schema: bool = False,
    file_bytes: int = FILE_BYTES,
    row_group_rows: int = ROW_GROUP_ROWS,
    layout: LayoutName = "parquet",
    compression: str = "zstd",
    compression_level: int | None = None,
    filesystem: Any = None,
    threads: int = 1,
) -> Report:
    """Write Arrow data to a table with shredded Variants: a folder of Parquet files, or a Delta table.

    `varquet.spark.write` is the same on Spark.

    Files appear when all of them are complete; what fails leaves the table as it was. Several processes may write to a Delta table at once.

    Args:
        data: an Arrow table, batch or reader, or an iterable of batches.
        path: the table's folder, as a path or URI.
        plan: how columns are shredded: a Plan, or schemas by column, as {"event": "id bigint, type string"}, and hot keys of maps, as
            {"headers": ["content-type"]}; an empty one shreds nothing. By default the plan that the table has, if rows are added to
            it; else one made of the rows, all of them in memory.
        table: "directory", a plain folder of Parquet files, or "delta"; by default what is there, and a directory where nothing is.
        json_columns: columns of JSON text or maps that become Variants; those that a plan names do anyway.
        map_columns: columns of maps that stay maps, and get columns for their hot keys; not in Delta tables, whose readers would not know.
        partition_by: columns, or paths with types as "$.type string", for folders as Hive and Spark name them.
        sort_by: columns or paths with types by which the rows of each file are sorted, so that statistics can skip more.
        mode: "error" if there is a table; "append"; "overwrite"; "overwrite-partitions", those that have rows in the data; "ignore".
        on_error: what becomes of text that is not JSON: "fail"; "quarantine" the row's text, apart from the table; or "null".
        duplicate_keys: a field name that occurs twice in an object is an "error", or its "last" value counts.
        evolve: adapt the table's plan to the rows, see `Plan.evolve`.
        policy, options: how a plan is made where there is none, see `varquet.choose`.
        properties, merge_schema: of Delta tables: the properties of a new one; and whether columns that it has not got are added to it.
        file_bytes: how large files are, about.
        row_group_rows, layout, compression, compression_level, threads: as for `varquet.write`.
        filesystem: one of pyarrow or fsspec in which the path is.
    """
    target = open_table(path, table, filesystem, properties=properties, merge_schema=merge_schema)
    job = WriteJob(target, mode)
    if job.is_ignored:
        return job.nothing()
    if (evolve or (plan is None and job.recorded_plan() is None)) and not isinstance(data, (pa.Table, pa.RecordBatch)):
        # It is read twice.
        batches, schema = batches_of(data)
        data = pa.Table.from_batches(list(batches), schema)
    batches, schema = batches_of(data)
    made = prepare(
        job,
        schema,
        plan,
        lambda parsing, names: _profiles(parsing, batches_of(data)[0], names),
        json_columns=json_columns,
        map_columns=map_columns,
        on_error=on_error,
        duplicate_keys=duplicate_keys,
        evolve=evolve,
        policy=policy,
        options=options,
        partition_by=partition_by,
        sort_by=sort_by,
        file_bytes=file_bytes,
        layout=layout,
        compression=compression,
        compression_level=compression_level,
        row_group_rows=row_group_rows,
        threads=threads,
    )

    def work(begun: Job) -> list[Part]:
        return [write_part(batches, 0, table=target, job=begun, settings=made.settings, parsing=made.parsing)]

    return job.run(work, made.parsing.schema, made.settings, made.plan, made.changes)


def _profiles(parsing: Parsing, batches: Iterator[pa.RecordBatch], names: Sequence[str]) -> dict[str, Profile]:
    """What is in the Variant columns of some rows."""
    before, parsed = 0, []
    for batch in batches:
        parsed.append(parsing.parse(batch, "the data", before).rows)
        before += batch.num_rows
    rows = pa.Table.from_batches(parsed, parsing.schema)
    return {name: profile(rows[name]) for name in names}
