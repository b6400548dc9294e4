"""Tables that exist already, profiled and converted by Spark's Python workers, file by file, whatever their layout."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.fs as pafs
from pyspark.sql import SparkSession

from varquet.errors import UnsupportedTypeError
from varquet.parquet.convert import Content, ConvertedFile, TargetLayout
from varquet.parquet.convert import convert as convert_here
from varquet.parquet.files import DataFile
from varquet.parquet.folder import Folder
from varquet.parquet.reader import OpenFile
from varquet.parquet.writer import ROW_GROUP_ROWS
from varquet.profiles.facts import MOST_NAMES, SHARE, Profile, Steps
from varquet.profiles.plan import Plan
from varquet.profiles.policies import Options, PolicyName
from varquet.profiles.profiling import profile as profile_here
from varquet.profiles.profiling import profile_parts
from varquet.queries.dataset import Source, find_files
from varquet.spark.profiling import merge_parts, merged
from varquet.spark.tasks import run_numbered
from varquet.tables.base import StagedFile
from varquet.tables.directory import DirectoryTable
from varquet.tables.jobs import Job
from varquet.tables.write_job import Mode, PlanLike, WriteJob, plan_of

__all__ = ["analyze_table", "convert", "profile_table"]


def profile_table(
    spark: SparkSession,
    path: Source,
    column: str | None = None,
    *,
    most_names: int = MOST_NAMES,
    share: float = SHARE,
    sample: float = 1.0,
) -> Profile:
    """Count what is in a column of Parquet files, of any layout, on Spark's executors; see `profile`."""
    files = [found.file for found in find_files(path)]

    def count(candidates: Mapping[Steps, frozenset[str]]) -> Profile:
        task = functools.partial(
            _count, files=files, column=column, most_names=most_names, share=share, sample=sample, candidates=candidates
        )
        return merged(run_numbered(spark, task, len(files), f"profile of {path}", merge=merge_parts))

    return profile_parts(count)


def analyze_table(
    spark: SparkSession, path: Source, column: str, *, policy: PolicyName = "varquet", options: Options | None = None
) -> Plan:
    """The plan that a policy makes of a column of Parquet files; of a column of maps it has the hot keys."""
    first = OpenFile(find_files(path)[0].file).schema
    maps = [field.name for field in first if pa.types.is_map(field.type)]
    return Plan.from_profiles({column: profile_table(spark, path, column)}, policy, options, maps=maps)


def _count(
    number: int,
    *,
    files: Sequence[DataFile],
    column: str | None,
    most_names: int,
    share: float,
    sample: float,
    candidates: Mapping[Steps, frozenset[str]],
) -> bytes:
    with _local(files[number]) as path:
        found = profile_here([path], column, most_names=most_names, share=share, sample=sample, candidates=candidates, threads=1)
    return found.to_bytes()


def convert(
    spark: SparkSession,
    source: Source,
    path: str,
    layout: TargetLayout = "parquet",
    plan: PlanLike | None = None,
    *,
    json_columns: Sequence[str] = (),
    mode: Mode = "error",
    compression: str = "zstd",
    row_group_rows: int = ROW_GROUP_ROWS,
) -> list[ConvertedFile]:
    """Write Parquet files again with their Variants in another layout, on Spark's executors; every value is verified.

    Files keep their names and partitions. They appear when all of them are complete, so that a table can also be converted in its own
    place, by mode="overwrite". See `varquet.convert` for the layouts.

    Args:
        spark: the session.
        source: the files, as for `varquet.convert`.
        path: the folder for what they become.
        layout, plan, json_columns, compression, row_group_rows: as for `varquet.convert`.
        mode: as for `write`.
    """
    files = [found.file for found in find_files(source)]
    base = os.path.commonpath([os.path.dirname(file.path) for file in files])
    names = [os.path.relpath(file.path, base) for file in files]
    if len(set(names)) < len(names):
        raise UnsupportedTypeError("expected files with different names, got the same file twice")
    target = DirectoryTable(Folder.at(path))
    job = WriteJob(target, mode, functools.partial(run_numbered, spark))
    if job.is_ignored:
        return []
    given = None if plan is None else plan_of(plan)

    begun = job.job

    def work(number: int) -> tuple[StagedFile, dict[str, Content]]:
        return _convert(
            files[number], names[number], target, begun, layout, given, json_columns, compression=compression, rows=row_group_rows
        )

    with job.aborted_on_error():
        done = run_numbered(spark, work, len(files), f"convert {source} to {layout}")
        job.put([staged for staged, _ in done], given)
    return [
        ConvertedFile(file.path, job.table.folder.full(staged.path), staged.rows, staged.size, contents)
        for file, (staged, contents) in zip(files, done, strict=True)
    ]


def _convert(
    file: DataFile,
    name: str,
    table: DirectoryTable,
    job: Job,
    layout: TargetLayout,
    plan: Plan | None,
    json_columns: Sequence[str],
    *,
    compression: str,
    rows: int,
) -> tuple[StagedFile, dict[str, Content]]:
    staged = table.staged(job, name)
    with _local(file) as path, tempfile.TemporaryDirectory(prefix="varquet-") as folder:
        target = os.path.join(folder, "converted.parquet")
        (done,) = convert_here(
            path, target, layout, plan, json_columns=json_columns, compression=compression, row_group_rows=rows, threads=1
        )
        table.make_room(job, staged)
        table.folder.upload(target, staged)
    return StagedFile(staged, name, done.rows, done.size), done.contents


@contextlib.contextmanager
def _local(file: DataFile) -> Iterator[str]:
    """A file as one of this machine."""
    if file.filesystem is None:
        yield file.path
        return
    with tempfile.TemporaryDirectory(prefix="varquet-") as folder:
        path = os.path.join(folder, "file.parquet")
        pafs.copy_files(file.path, path, source_filesystem=file.filesystem, destination_filesystem=pafs.LocalFileSystem())
        yield path
