"""`read`: tables as DataFrames, through Spark's native reader."""

from __future__ import annotations

import os

from pyspark.sql import DataFrame, SparkSession

__all__ = ["read"]


def read(spark: SparkSession, path: str | os.PathLike[str], *more: str | os.PathLike[str]) -> DataFrame:
    """A DataFrame of a table, or of several, whose Variant columns are real `variant` columns.

    Spark's native reader reads them: it knows the standard's layout, and fails on times, nanoseconds and uuids that have a column.
    For those, and for other layouts, there is `spark.read.format("varquet")`. Queries on a few paths are much faster through `view`.
    """
    return spark.read.parquet(*(os.fspath(one) for one in (path, *more)))
