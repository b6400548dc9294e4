"""Structured Streaming: streams into shredded tables, each batch exactly once, and streams of the rows that come into one.

Tasks write the files of a batch out of sight and hand on what they are; a second step commits them. Between the two Spark observes what was
written, so that how well the plan fits stands in the progress of the query.
"""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.query import StreamingQuery

from varquet.delta.files import is_table
from varquet.errors import UnsupportedTypeError
from varquet.layouts.shredding import LayoutName
from varquet.parquet.folder import Folder
from varquet.parquet.sources import DuplicateKeys
from varquet.parquet.writer import ROW_GROUP_ROWS
from varquet.profiles.plan import Plan, leaf_types
from varquet.spark.arrow import arrow_schema_of
from varquet.spark.map_tables import has_hot_keys
from varquet.spark.tasks import partition_number, with_versions_checked
from varquet.tables.base import Table
from varquet.tables.jobs import Job
from varquet.tables.opening import TableKind, open_table
from varquet.tables.parsing import Parsing
from varquet.tables.parts import write_part
from varquet.tables.write_job import Keys, OnError, Part, PlanLike, named_columns, plan_of, settings_of
from varquet.tables.writing import FILE_BYTES, Settings

__all__ = ["METRICS", "read_stream", "write_stream"]

METRICS: Final = "varquet"
"""What the observed metrics are called in the progress of a query."""

_MOST_PATHS: Final = 100


def read_stream(spark: SparkSession, path: str) -> DataFrame:
    """The rows of a table, and those that come into it, as a stream, through Spark's native reader.

    For layouts that it does not read there is `spark.readStream.format("varquet")`, which is also what reads Delta tables, and tables
    whose plan has hot keys of maps.
    """
    if is_table(Folder.at(path)) or has_hot_keys(path):
        return spark.readStream.format("varquet").option("path", path).load()
    return spark.readStream.schema(spark.read.parquet(path).schema).parquet(path)


def write_stream(
    frame: DataFrame,
    path: str,
    plan: PlanLike | None = None,
    *,
    checkpoint: str,
    json_columns: Sequence[str] = (),
    map_columns: Sequence[str] = (),
    partition_by: Keys = (),
    sort_by: Keys = (),
    on_error: OnError = "quarantine",
    duplicate_keys: DuplicateKeys = "error",
    evolve: bool = False,
    trigger: dict[str, Any] | None = None,
    name: str | None = None,
    file_bytes: int = FILE_BYTES,
    row_group_rows: int = ROW_GROUP_ROWS,
    layout: LayoutName = "parquet",
    compression: str = "zstd",
    compression_level: int | None = None,
    table: TableKind | None = None,
    properties: Mapping[str, str] | None = None,
    merge_schema: bool = False,
) -> StreamingQuery:
    """Start a query that adds the rows of a stream to a shredded table, each exactly once.

    A batch that Spark repeats, because it was stopped in the middle of it, replaces the files that it may have had. What was written
    stands in the progress of the query, under observedMetrics["varquet"]: rows, files, bytes, quarantined, nulls, typed_values,
    residual_values, typed_share, and the typed share of every path of the plan, by its name.

    Args:
        frame: a stream.
        path: the table's folder.
        plan: how Variants are shredded; by default the table's plan, or the one that the first batch leads to.
        checkpoint: where Spark keeps how far the query is; it also says which query this is when it is started again.
        evolve: adapt the table's plan to each batch, for the next one; see `Plan.evolve`.
        trigger: arguments for Spark's `trigger`, as {"availableNow": True} or {"processingTime": "1 minute"}.
        name: the name of the query.
        json_columns, map_columns, partition_by, sort_by, on_error, duplicate_keys, file_bytes, row_group_rows, layout, compression,
            compression_level, table, properties, merge_schema: as for `write`.
    """
    if not frame.isStreaming:
        raise UnsupportedTypeError("expected a stream, got a DataFrame that is none", hint="varquet.spark.write writes it")
    target = open_table(path, table, properties=properties, merge_schema=merge_schema)
    job = target.begin()
    recorded = target.plan()
    given = plan_of(plan) if plan is not None else None if recorded is None else Plan.from_json(recorded)
    named, maps = named_columns(given, json_columns, map_columns)
    parsing = Parsing.of(arrow_schema_of(frame.schema), named, on_error, duplicate_keys, maps)
    settings = settings_of(
        parsing.schema,
        parsing.variants,
        partition_by,
        sort_by,
        plan=target.allowed(given),
        file_bytes=file_bytes,
        layout=layout,
        compression=compression,
        compression_level=compression_level,
        row_group_rows=row_group_rows,
    )
    paths = _paths_of(given)
    target.check(settings.columns(parsing.schema), settings.layout, is_replaced=False)
    task = _Task(target, job, settings, parsing, paths, follows_table=plan is None or evolve, evolves=evolve)
    written = frame.mapInArrow(with_versions_checked(task), _schema(paths)).observe(METRICS, *_metrics(paths))
    writer = written.writeStream.format("varquet").option("staged", "true").option("checkpointLocation", checkpoint)
    writer = writer.option("query", checkpoint).option("path", path).outputMode("append")
    if table is not None:
        writer = writer.option("table", table)
    if properties:
        writer = writer.option("properties", json.dumps(dict(properties)))
    if merge_schema:
        writer = writer.option("merge_schema", "true")
    if evolve:
        writer = writer.option("evolve", "true")
    if given is not None:
        writer = writer.option("plan", given.to_json())
    if maps:
        writer = writer.option("map_columns", json.dumps(maps))
    if trigger is not None:
        writer = writer.trigger(**trigger)
    return (writer if name is None else writer.queryName(name)).start()


def _paths_of(plan: Plan | None) -> list[str]:
    """The paths of which the progress tells how many values are typed; as files count them."""
    if plan is None:
        return []
    found = [
        path if len(plan.columns) == 1 else f"{name}:{path}"
        for name, column in plan.columns.items()
        for path, kind in leaf_types(column.schema).items()
        if "[*]" not in path and kind
    ]
    return found[:_MOST_PATHS]


_COUNTS: Final = ("rows", "files", "bytes", "quarantined", "nulls", "typed_values", "residual_values")


def _schema(paths: Sequence[str]) -> str:
    each = [f"typed_{k} bigint, residual_{k} bigint" for k in range(len(paths))]
    return ", ".join(["result binary", *(f"{name} bigint" for name in _COUNTS), *each])


def _metrics(paths: Sequence[str]) -> list[Any]:
    def share(typed: str, residual: str) -> Any:
        return F.try_divide(F.sum(typed), F.sum(typed) + F.sum(residual))

    sums = [F.sum(name).alias(name) for name in _COUNTS]
    each = [share(f"typed_{k}", f"residual_{k}").alias(path) for k, path in enumerate(paths)]
    return [*sums, share("typed_values", "residual_values").alias("typed_share"), *each]


@dataclass(frozen=True, slots=True)
class _Task:
    """Writes the rows of one partition of a batch, on an executor."""

    table: Table
    job: Job
    settings: Settings
    parsing: Parsing
    paths: list[str]
    follows_table: bool
    """Whether the plan of the table, which an earlier batch may have changed, goes before the one that it began with."""
    evolves: bool
    """Whether each batch may change the plan."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settings = self.settings
        recorded = self.table.plan() if self.follows_table else None
        if recorded is not None:
            settings = replace(settings, plan=self.table.allowed(Plan.from_json(recorded)))
        # A commit closes the job's folder; each batch has one.
        self.table.open(self.job)
        is_counted = self.evolves or settings.plan is None
        part = write_part(
            batches, partition_number(), table=self.table, job=self.job, settings=settings, parsing=self.parsing, counts=is_counted
        )
        yield self._result(part)

    def _result(self, part: Part) -> pa.RecordBatch:
        counts: Counter[str] = Counter()
        for file in part.files:
            for path, (typed, residual) in file.counts.items():
                counts[f"typed {path}"] += typed
                counts[f"residual {path}"] += residual
                counts["typed_values"] += typed
                counts["residual_values"] += residual
        counts.update(
            rows=sum(file.rows for file in part.files),
            files=len(part.files),
            bytes=sum(file.size for file in part.files),
            quarantined=sum(file.rows for file in part.quarantine),
            nulls=part.nulls,
        )
        values = {"result": pa.array([pickle.dumps((self.job, part))], pa.binary())}
        values |= {name: pa.array([counts[name]], pa.int64()) for name in _COUNTS}
        for k, path in enumerate(self.paths):
            values |= {f"{kind}_{k}": pa.array([counts[f"{kind} {path}"]], pa.int64()) for kind in ("typed", "residual")}
        return pa.RecordBatch.from_pydict(values)
