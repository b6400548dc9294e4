"""Running varquet's functions on Spark's executors: numbered tasks and tasks over the rows of a DataFrame.

Only what Spark Connect has too is used; what it has not (descriptions of jobs, the number of cores) is done without. What a task
raises comes back as the error that it was.
"""

from __future__ import annotations

import contextlib
import math
import pickle
import platform
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import varquet
from varquet import errors
from varquet.errors import VarquetError

__all__ = ["described", "parallelism", "partition_number", "run_numbered", "run_over", "translated_errors", "with_versions_checked"]

_RESULT: Final = "result binary"
_RAISED: Final = re.compile(r"^varquet\.errors\.(\w+): (.*?)(?=\n\s*\n|\n\tat |\nDriver stacktrace|\Z)", re.MULTILINE | re.DOTALL)
_MISSING: Final = re.compile(r"No module named '(varquet|pyarrow|numpy|pandas)[.\w]*'")
_UNKNOWN_PARALLELISM: Final = 16
_MOST_RESULTS: Final = 64


def run_numbered(
    spark: SparkSession, task: Callable[[int], Any], count: int, what: str, *, merge: Callable[[list[Any]], Any] | None = None
) -> list[Any]:
    """The results of a task for the numbers below a count, in their order, each run on an executor; none of them twice in the result.

    Args:
        merge: makes one result of several; then there may be fewer, in any order. The driver has not to hold all of them.
    """
    if not count:
        return []

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _result(task(number) if merge is not None else (number, task(number)))

    results = spark.range(0, count, 1, count).mapInArrow(with_versions_checked(work), _RESULT)
    if merge is not None:
        return _collect(spark, _merged(results, merge, count), what)
    return [result for _, result in sorted(_collect(spark, results, what), key=lambda pair: pair[0])]


def run_over(
    frame: DataFrame, task: Callable[[Iterator[pa.RecordBatch], int], Any], what: str, *, merge: Callable[[list[Any]], Any] | None = None
) -> list[Any]:
    """The results of a task over the rows of each partition of a DataFrame, which it is given with the partition's number."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield _result(task(batches, partition_number()))

    results = frame.mapInArrow(with_versions_checked(work), _RESULT)
    if merge is not None:
        results = _merged(results, merge, _partitions(frame))
    return _collect(frame.sparkSession, results, what)


def _merged(results: DataFrame, merge: Callable[[list[Any]], Any], count: int) -> DataFrame:
    """Fewer results, merged on the executors, where there are many."""
    if count <= _MOST_RESULTS:
        return results

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found: list[Any] = []
        for batch in batches:
            found += [pickle.loads(value) for value in batch.column(0).to_pylist()]
            found = [merge(found)]
        for value in found:
            yield _result(value)

    return results.repartition(math.isqrt(count)).mapInArrow(work, _RESULT)


def _partitions(frame: DataFrame) -> int:
    try:
        return int(frame.rdd.getNumPartitions())
    except Exception:  # Spark Connect does not say
        return _MOST_RESULTS + 1


def with_versions_checked(
    work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The same work for an executor, which makes sure first that what runs there is what the driver runs."""
    expected = _versions()

    def checked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _check_versions(expected)
        yield from work(batches)

    return checked


def partition_number() -> int:
    """The number of the partition that the task in this process works on."""
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def _result(value: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(value)], pa.binary())], names=["result"])


def _collect(spark: SparkSession, frame: DataFrame, what: str) -> list[Any]:
    with described(spark, what), translated_errors():
        return [pickle.loads(bytes(row[0])) for row in frame.collect()]


@contextlib.contextmanager
def described(spark: SparkSession, what: str) -> Iterator[None]:
    """Spark's jobs within this carry a description, which its user interface shows."""
    try:
        context = spark.sparkContext
    except Exception:  # Spark Connect has none, and each version says so with another error
        yield
        return
    before = context.getLocalProperty("spark.job.description")
    context.setJobDescription(f"varquet: {what}")
    try:
        yield
    finally:
        context.setLocalProperty("spark.job.description", before)  # type: ignore[arg-type]


def parallelism(spark: SparkSession) -> int:
    """How many tasks run at once."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # as above
        return _UNKNOWN_PARALLELISM


@contextlib.contextmanager
def translated_errors() -> Iterator[None]:
    """Errors of varquet that were raised on an executor come as they were raised there, without Spark's wrapping."""
    try:
        yield
    except PySparkException as error:
        text = str(error)
        found = _RAISED.search(text)
        if found is not None:
            kind = getattr(errors, found[1], VarquetError)
            raise kind(found[2].strip()) from error
        missing = _MISSING.search(text)
        if missing is not None:
            raise VarquetError(
                f"expected the package {missing[1]} on Spark's executors, got Python there without it",
                hint="install varquet[spark] for the Python of the executors (PYSPARK_PYTHON), or ship it with the job by --archives",
            ) from error
        raise


def _versions() -> tuple[str, str]:
    return varquet.__version__, ".".join(platform.python_version_tuple()[:2])


def _check_versions(expected: tuple[str, str]) -> None:
    """An error if what runs here is not what the driver runs."""
    found = _versions()
    if found != expected:
        raise VarquetError(
            f"expected varquet {expected[0]} and Python {expected[1]}, as the driver has, got {' and '.join(found)} on {platform.node()}",
            hint="install the same version for the Python of the executors (PYSPARK_PYTHON)",
        )
