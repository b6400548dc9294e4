"""`read`: tables as DataFrames, through Spark's native reader."""

from __future__ import annotations

import os

from pyspark.sql import DataFrame, SparkSession

from varquet.delta.files import is_table
from varquet.parquet.folder import Folder
from varquet.queries.dataset import Moment, find_dataset
from varquet.spark.arrow import spark_schema_of
from varquet.spark.locations import base_of, is_native, read_by_source, read_files, uris_of
from varquet.spark.map_tables import read_maps

__all__ = ["read"]


def read(
    spark: SparkSession,
    path: str | os.PathLike[str],
    *more: str | os.PathLike[str],
    version: int | None = None,
    timestamp: Moment | None = None,
) -> DataFrame:
    """A DataFrame of a table, or of several, whose Variant columns are real `variant` columns, and whose maps are whole.

    Spark's native reader reads them: it knows the standard's layout, and fails on times, nanoseconds and uuids that have a column.
    For those, and for other layouts, there is `spark.read.format("varquet")`. Queries on a few paths are much faster through `view`.
    Maps that have columns for hot keys are put together; in folders that varquet has not written, one of the files is asked whether there
    are any.

    Args:
        spark: the session.
        path, more: folders or files of Parquet, or a Delta table, for which its own connector is not needed.
        version, timestamp: an earlier version of a Delta table, by its number or by a time.
    """
    if not more and (version is not None or timestamp is not None or _is_delta(path)):
        return _read_delta(spark, path, version, timestamp)
    paths = (path, *more)
    return read_maps(spark, spark.read.parquet(*(os.fspath(one) for one in paths)), paths)


def _is_delta(path: str | os.PathLike[str]) -> bool:
    text = os.fspath(path)
    return not any(letter in text for letter in "*?[{") and is_table(Folder.at(text))


def _read_delta(spark: SparkSession, path: str | os.PathLike[str], version: int | None, timestamp: Moment | None) -> DataFrame:
    dataset = find_dataset(path, version=version, timestamp=timestamp)
    assert dataset.schema is not None
    native = [found for found in dataset.files if is_native(found, dataset)]
    others = [found for found in dataset.files if not is_native(found, dataset)]
    schema = spark_schema_of(dataset.schema)
    names = [f"`{name.replace('`', '``')}`" for name in dataset.schema.names]
    frames: list[DataFrame] = []
    if native:
        uris = uris_of(path, native)
        frames.append(read_files(spark, uris, base_of(uris) if dataset.partition_columns else None, schema).select(*names))
    if others:
        frames.append(read_by_source(spark, path, others, version=version, timestamp=timestamp).select(*names))
    if not frames:
        return spark.createDataFrame([], schema)
    return frames[0] if len(frames) == 1 else frames[0].unionAll(frames[1])
