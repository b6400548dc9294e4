"""Files as Spark knows them: by URIs, in which what looks like a glob is a name."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession, types

from varquet.errors import UnsupportedTypeError
from varquet.parquet.files import locate
from varquet.parquet.hive import partitions_of
from varquet.queries.dataset import Dataset, FoundFile, Source

__all__ = ["base_of", "is_native", "read_by_source", "read_files", "uris_of"]

_GLOB: Final = re.compile(r"([\\*?\[\]{}])")


def uris_of(source: Source, files: Sequence[FoundFile]) -> list[str]:
    """The paths by which Spark knows the files of a source."""
    if not isinstance(source, (str, os.PathLike)):
        source = source[0]
    text = os.fspath(source)
    filesystem, there = locate(text)
    if filesystem is None:
        return ["file://" + os.path.abspath(found.file.path) for found in files]
    uri = text.partition("?")[0]
    if not uri.endswith(there):
        raise UnsupportedTypeError(f"expected a URI that Spark and pyarrow understand alike, got {text!r}")
    before = uri[: len(uri) - len(there)]
    return [before + found.file.path for found in files]


def base_of(uris: Sequence[str]) -> str:
    """The folder in which the partitions begin: that of the last name=value folders which follow each other."""
    bases = set()
    for uri in uris:
        folders = uri.split("/")[:-1]
        end = next((k for k in range(len(folders), 0, -1) if _is_partition(folders[k - 1])), None)
        while end is not None and _is_partition(folders[end - 1]):
            end -= 1
        bases.add("/".join(folders[:end]))
    if len(bases) != 1:
        raise UnsupportedTypeError(f"expected partitions below one folder, got {len(bases)}: {', '.join(sorted(bases)[:3])}")
    return bases.pop()


def _is_partition(folder: str) -> bool:
    return "=" in folder[1:]


def is_native(found: FoundFile, dataset: Dataset) -> bool:
    """Whether Spark's native reader reads a file right: no row is deleted, and its folders say what its partitions are."""
    if found.deleted is not None:
        return False
    folders = partitions_of(found.file.path)
    return all(name in folders and folders[name] == found.partitions.get(name) for name in dataset.partition_columns)


def read_by_source(spark: SparkSession, source: Source, files: Sequence[FoundFile], **options: Any) -> DataFrame:
    """The rows of some files of a table, by the data source, for those that Spark's native reader does not read right."""
    table = source if isinstance(source, (str, os.PathLike)) else source[0]
    reader = spark.read.format("varquet").option("path", os.fspath(table)).option("files", json.dumps([one.file.path for one in files]))
    return reader.options(**{key: str(value) for key, value in options.items() if value is not None}).load()


def read_files(spark: SparkSession, uris: Sequence[str], base: str | None, schema: types.StructType | None = None) -> DataFrame:
    """The rows of files, by Spark's native reader; partitions are those below a folder."""
    reader = spark.read if base is None else spark.read.option("basePath", base)
    if schema is not None:
        reader = reader.schema(schema)
    return reader.parquet(*(_GLOB.sub(r"\\\1", uri) for uri in uris))
