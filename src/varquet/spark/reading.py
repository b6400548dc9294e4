"""`read`: tables as DataFrames, through Spark's native reader."""

from __future__ import annotations

import os

from pyspark.sql import DataFrame, SparkSession

from varquet.spark.map_tables import read_maps

__all__ = ["read"]


def read(spark: SparkSession, path: str | os.PathLike[str], *more: str | os.PathLike[str]) -> DataFrame:
    """A DataFrame of a table, or of several, whose Variant columns are real `variant` columns, and whose maps are whole.

    Spark's native reader reads them: it knows the standard's layout, and fails on times, nanoseconds and uuids that have a column.
    For those, and for other layouts, there is `spark.read.format("varquet")`. Queries on a few paths are much faster through `view`.
    Maps that have columns for hot keys are put together; in folders that varquet has not written, one of the files is asked whether there
    are any.
    """
    paths = (path, *more)
    return read_maps(spark, spark.read.parquet(*(os.fspath(one) for one in paths)), paths)
