"""`write`: DataFrames to shredded tables. Spark's Python workers shred and write; the driver commits."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pyspark.sql import DataFrame

from varquet.layouts.shredding import LayoutName
from varquet.parquet.sources import DuplicateKeys
from varquet.parquet.writer import ROW_GROUP_ROWS
from varquet.profiles.policies import Options, PolicyName
from varquet.spark.profiling import profile
from varquet.spark.tasks import run_numbered, run_over
from varquet.tables.jobs import Job
from varquet.tables.opening import TableKind, open_table
from varquet.tables.parts import write_part
from varquet.tables.preparing import prepare
from varquet.tables.write_job import Keys, Mode, OnError, Part, PlanLike, Report, WriteJob
from varquet.tables.writing import FILE_BYTES

__all__ = ["write"]


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
    table: TableKind | None = None,
    properties: Mapping[str, str] | None = None,
    merge_schema: bool = False,
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
        table: "directory", a plain folder of Parquet files, or "delta"; by default what is there, and a directory where nothing is.
        properties, merge_schema: of Delta tables: the properties of a new one; and whether columns that it has not got are added to it.
    """
    target = open_table(path, table, filesystem, properties=properties, merge_schema=merge_schema)
    job = WriteJob(target, mode, functools.partial(run_numbered, frame.sparkSession))
    if job.is_ignored:
        return job.nothing()
    on_bad: Literal["raise", "null"] = "raise" if on_error == "fail" else "null"
    made = prepare(
        job,
        frame.limit(0).toArrow().schema,
        plan,
        lambda _, names: {name: profile(frame, name, on_error=on_bad) for name in names},
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
    )

    def work(started: Job) -> list[Part]:
        task = functools.partial(write_part, table=target, job=started, settings=made.settings, parsing=made.parsing)
        return run_over(frame, task, f"write {path}")

    return job.run(work, made.parsing.schema, made.settings, made.plan, made.changes)
