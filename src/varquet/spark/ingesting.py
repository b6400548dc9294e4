"""`ingest`: raw JSON files or a DataFrame to a shredded table, in one call.

Raw files are read by Spark's Python workers themselves, in byte ranges. Where there is no plan yet, a few lines from all over them make one
that may be right: files are written by it while all lines are counted. If the plan that the counts lead to is another one, these files are
dropped and all is written once more. Either way the table has the plan of the exact counts.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from varquet.columns.arrow import Column, variant_field
from varquet.columns.ndjson import BLOCK_BYTES, Lines, read_ndjson
from varquet.errors import UnsupportedTypeError, VarquetError
from varquet.layouts.shredding import LayoutName
from varquet.parquet.sources import FIRST_REFUSED, DuplicateKeys, bad_line, parse_texts
from varquet.parquet.writer import ROW_GROUP_ROWS
from varquet.profiles.facts import Profile, Steps
from varquet.profiles.plan import Change, Plan
from varquet.profiles.policies import Options, PolicyName
from varquet.profiles.profiling import Counting, profile_batches, profile_parts
from varquet.spark.profiling import merge_parts, merged
from varquet.spark.reading import read
from varquet.spark.splits import RawFile, Split, cut, find_raw_files
from varquet.spark.tasks import parallelism, run_numbered
from varquet.spark.writing import write
from varquet.tables.base import Table
from varquet.tables.jobs import Job
from varquet.tables.opening import TableKind, open_table
from varquet.tables.parsing import Parsed
from varquet.tables.quarantine import QuarantineWriter, bad_lines
from varquet.tables.write_job import Keys, Mode, OnError, Part, PlanLike, Report, WriteJob, check_on_error, plan_of, settings_of
from varquet.tables.writing import FILE_BYTES, Settings, TableWriter

__all__ = ["ingest"]

_COLUMN: Final = "v"
# So many tasks may count while they write.
_MOST_COUNTED: Final = 256
# How much is looked at before the first pass.
_GLANCES: Final = 16
_GLANCE_BYTES: Final = 1 << 20
_GLANCE_ROWS: Final = 1024


def ingest(
    spark: SparkSession,
    source: DataFrame | str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    path: str,
    plan: PlanLike | None = None,
    *,
    column: str | None = None,
    map_columns: Sequence[str] = (),
    partition_by: Keys = (),
    sort_by: Keys = (),
    mode: Mode = "append",
    on_error: OnError = "quarantine",
    duplicate_keys: DuplicateKeys = "error",
    evolve: bool = False,
    policy: PolicyName = "varquet",
    options: Options | None = None,
    file_bytes: int = FILE_BYTES,
    split_bytes: int | None = None,
    row_group_rows: int = ROW_GROUP_ROWS,
    layout: LayoutName = "parquet",
    compression: str = "zstd",
    compression_level: int | None = None,
    filesystem: Any = None,
    table: TableKind | None = None,
    properties: Mapping[str, str] | None = None,
    merge_schema: bool = False,
) -> Report:
    """Land raw JSON as a table with a shredded Variant column: profile, shred, write, commit, report.

    Args:
        spark: the session whose executors do the work. They must see the same files.
        source: NDJSON files, also compressed by gzip, zstd, bz2 or lz4: paths, folders, globs, URIs; or Parquet files or a DataFrame with
            a column of JSON text, Variants or maps.
        path: the table's folder, as a path or URI.
        plan: how the column is shredded: a Plan, or {column: schema}; an empty one shreds nothing. By default the table's plan, if rows are
            added to it, and else what `policy` makes of the data.
        column: the column; of a DataFrame the only Variant by default, of raw files the name that it gets, which is `v` by default.
        map_columns: columns of maps of Parquet files or a DataFrame that get columns for hot keys, see `write`.
        partition_by, sort_by: paths with types, as "$.type string", or columns; see `write`.
        mode: as for `write`; by default rows are added.
        on_error: what becomes of records that are not JSON: they go to "quarantine", the folder `_quarantine` of the table, with file,
            line, offset and reason; "fail" the job; or become SQL "null".
        duplicate_keys: a field name that occurs twice in an object is an "error", or its "last" value counts.
        evolve: adapt the table's plan to the data, see `Plan.evolve`.
        policy, options: how a plan is made where there is none, see `varquet.choose`.
        file_bytes: how large files are, about.
        split_bytes: how much of the raw files one task reads, about.
        row_group_rows, layout, compression, compression_level, filesystem, table, properties, merge_schema: as for `write`.
    """
    written: dict[str, Any] = {
        "partition_by": partition_by,
        "sort_by": sort_by,
        "file_bytes": file_bytes,
        "row_group_rows": row_group_rows,
        "layout": layout,
        "compression": compression,
        "compression_level": compression_level,
    }
    frame, files = _opened(spark, source, filesystem)
    if frame is not None:
        named = _json_columns(frame, column, {*map_columns, *(() if plan is None else plan_of(plan).maps)})
        return write(
            frame, path, plan, json_columns=named, map_columns=map_columns, mode=mode, on_error=on_error, duplicate_keys=duplicate_keys,
            evolve=evolve, policy=policy, options=options, filesystem=filesystem, table=table, properties=properties,
            merge_schema=merge_schema, **written,
        )  # fmt: skip
    check_on_error(on_error)
    if map_columns:
        raise UnsupportedTypeError(f"expected columns of maps with Parquet files or a DataFrame only, got {map_columns[0]!r} with NDJSON")
    target = open_table(path, table, filesystem, properties=properties, merge_schema=merge_schema)
    job = WriteJob(target, mode, functools.partial(run_numbered, spark))
    if job.is_ignored:
        return job.nothing()
    given = job.recorded_plan() if plan is None else plan_of(plan)
    name = _column(given, column)
    raw = _Raw(cut(files, parallelism(spark), split_bytes), name, on_error, duplicate_keys)
    schema = raw.schema
    settings = settings_of(schema, (name,), **written)
    job.check(schema, settings)
    changes: list[Change] = []

    def work(plan: Plan, what: str, *, counts: bool = False) -> list[Part]:
        task = functools.partial(raw.write, table=target, job=job.job, settings=replace(settings, plan=target.allowed(plan)), counts=counts)
        return run_numbered(spark, task, len(raw.tasks), f"{what} into {path}")

    with job.aborted_on_error():
        if given is None and len(raw.tasks) > _MOST_COUNTED:
            # The driver would have to hold the counts of all tasks; in a pass of their own they merge on the executors.
            given = Plan.from_profiles({name: raw.profile(spark)}, policy, options)
            parts = work(given, "ingest")
        elif given is None:
            guess = Plan.from_profiles({name: raw.glance()}, policy, options)
            parts = work(guess, "count and ingest", counts=True)
            counted = merged([part.profiles.pop(name) for part in parts])
            exact = counted if counted.is_exact else raw.profile(spark)
            given = Plan.from_profiles({name: exact}, policy, options)
            if given.schemas != guess.schemas:
                job.restart()
                parts = work(given, "ingest")
        else:
            if evolve:
                given, changes = given.evolve({name: raw.profile(spark)})
            parts = work(given, "ingest")
        return job.commit(parts, schema, replace(settings, plan=given), given, changes)


def _opened(
    spark: SparkSession, source: DataFrame | str | os.PathLike[str] | Sequence[str | os.PathLike[str]], filesystem: Any
) -> tuple[DataFrame | None, list[RawFile]]:
    """A DataFrame, of Parquet files too; or raw files."""
    if isinstance(source, DataFrame):
        return source, []
    files = find_raw_files(source, filesystem)
    if not any(file.is_parquet for file in files):
        return None, files
    if not all(file.is_parquet for file in files):
        raise VarquetError("expected files of one kind, got Parquet files among others")
    return (read(spark, source) if isinstance(source, (str, os.PathLike)) else read(spark, *source)), []


def _json_columns(frame: DataFrame, column: str | None, maps: Collection[str]) -> list[str]:
    """The column of a DataFrame that becomes a Variant: the one that is named, or the only text where there is no Variant.

    Where there are maps with hot keys, nothing need become one.
    """
    if column is not None:
        return [column]
    if maps or any(kind == "variant" for _, kind in frame.dtypes):
        return []
    texts = [name for name, kind in frame.dtypes if kind == "string"]
    if len(texts) != 1:
        raise UnsupportedTypeError(
            f"expected one Variant column or one column of JSON text, got {', '.join(texts) or 'none'}",
            hint="name the column; they are " + ", ".join(frame.columns),
        )
    return texts


def _column(plan: Plan | None, column: str | None) -> str:
    """What the column of raw files is called."""
    if plan is None or not plan.columns:
        return column or _COLUMN
    name = next(iter(plan.columns)) if column is None and len(plan.columns) == 1 else column or _COLUMN
    if name not in plan.columns:
        raise UnsupportedTypeError(f"expected a plan for column {name!r}, got one for {', '.join(plan.columns)}")
    return name


@dataclass(frozen=True, slots=True)
class _Raw:
    """Raw files as tasks; its methods run on executors, but for `profile`."""

    tasks: list[list[Split]]
    column: str
    on_error: OnError
    duplicate_keys: DuplicateKeys

    @property
    def schema(self) -> pa.Schema:
        """That of the rows."""
        return pa.schema([variant_field(self.column, shared_metadata=True)])

    def profile(self, spark: SparkSession) -> Profile:
        """What is in the files."""

        def count(candidates: Mapping[Steps, frozenset[str]]) -> Profile:
            task = functools.partial(self.count, candidates=candidates)
            return merged(run_numbered(spark, task, len(self.tasks), "profile of the raw files", merge=merge_parts))

        return profile_parts(count)

    def glance(self) -> Profile:
        """What is in a few lines from all over the files; the driver looks at them itself."""
        splits = [split for task in self.tasks for split in task if split.size]
        counting = Counting()
        for split in splits[:: max(1, len(splits) // _GLANCES)]:
            lines = next(_lines(split, _GLANCE_BYTES), None)
            if lines is not None:
                counting.add(parse_texts(lines.texts.slice(0, _GLANCE_ROWS), self.duplicate_keys).column.drop_null())
        # It is a guess: names that come up late are counted with all rows.
        return replace(counting.profile(), is_exact=True)

    def count(self, number: int, candidates: Mapping[Steps, frozenset[str]]) -> bytes:
        """The profile of one task's lines."""

        def columns() -> Iterator[Callable[[], Column]]:
            for split in self.tasks[number]:
                for lines in _lines(split):
                    yield functools.partial(self.variants, split, lines)

        return profile_batches(columns, can_be_read_again=False, candidates=candidates, threads=1).to_bytes()

    def variants(self, split: Split, lines: Lines) -> Column:
        parsed = parse_texts(lines.texts, self.duplicate_keys)
        if parsed.errors.num_rows and self.on_error == "fail":
            raise self.failure(split, lines, parsed.errors)
        return self.counted(parsed.column)

    def counted(self, column: Column) -> Column:
        """The rows that get into the table, of a column in which bad records are null."""
        return column if self.on_error == "null" else column.drop_null()

    def failure(self, split: Split, lines: Lines, errors: pa.Table) -> VarquetError:
        """The error for the first bad line, with its number in the file."""
        refused = bad_line(split.file.path, lines, errors[:1].to_pylist()[0], self.duplicate_keys)
        return replace(refused, line=(refused.line or 0) + _lines_before(split)).error()

    def parse(self, split: Split, lines: Lines, found: list[Parsed]) -> pa.RecordBatch:
        """The rows of some lines; what else there is to say goes to `found`."""
        parsed = parse_texts(lines.texts, self.duplicate_keys)
        rows = pa.RecordBatch.from_arrays([parsed.column], schema=self.schema)
        errors = parsed.errors
        if not errors.num_rows:
            found.append(Parsed(rows, lines.size))
            return rows
        if self.on_error == "fail":
            raise self.failure(split, lines, errors)
        most = errors.num_rows if self.on_error == "quarantine" else FIRST_REFUSED
        refused = [(error["row"], bad_line(split.file.path, lines, error, self.duplicate_keys)) for error in errors[:most].to_pylist()]
        first = [one for _, one in refused[:FIRST_REFUSED]]
        if self.on_error == "null":
            found.append(Parsed(rows, lines.size, [], errors.num_rows, first, split.index))
            return rows
        found.append(Parsed(rows, lines.size, [bad_lines(split.index, lines, refused)], 0, first, split.index))
        return rows.filter(pc.is_valid(parsed.column))

    def write(self, number: int, *, table: Table, job: Job, settings: Settings, counts: bool) -> Part:
        """Write one task's lines; with `counts` count what is in them, too."""
        writer = TableWriter(table, job, self.schema, settings, number)
        quarantine = QuarantineWriter(table, job, job.label(number))
        part = Part()
        found: list[Parsed] = []
        counting = Counting()

        def take() -> None:
            while found:
                one = found.pop(0)
                one.count(part, quarantine)
                if counts:
                    counting.add(self.counted(one.rows.column(0)))

        try:
            for split in self.tasks[number]:
                ends = 0
                for lines in _lines(split):
                    ends += lines.ends
                    writer.write(functools.partial(self.parse, split, lines, found))
                    take()
                part.lines[split.file_index, split.index] = ends
            part.files += writer.close()
            take()
            if counts:
                part.profiles[self.column] = counting.profile().to_bytes()
            part.quarantine += quarantine.close()
        except BaseException:
            quarantine.abort()
            writer.abort()
            raise
        return part


def _lines(split: Split, block_bytes: int = BLOCK_BYTES) -> Iterator[Lines]:
    with split.file.open() as opened:
        yield from read_ndjson(opened, block_bytes=block_bytes, part=split.part)


def _lines_before(split: Split) -> int:
    """How many lines of the file end before a split."""
    if split.part is None or not split.part[0]:
        return 0
    with split.file.open() as opened:
        return sum(lines.ends for lines in read_ndjson(opened, part=(0, split.part[0])))
