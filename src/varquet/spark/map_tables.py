"""Tables with maps whose hot keys are columns, which Spark's native reader would show as they are stored."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame, SparkSession, types

from varquet.layouts.map_keys import sidecar_name
from varquet.layouts.map_sidecar import RESIDUAL, nested_sidecar
from varquet.parquet.folder import Folder
from varquet.parquet.reader import OpenFile
from varquet.profiles.plan import Plan
from varquet.queries.dataset import find_files
from varquet.queries.expressions import Operand
from varquet.spark.views import view
from varquet.tables.directory import DirectoryTable

__all__ = ["has_hot_keys", "read_maps"]

# So many files are asked whether what looks like a sidecar is one.
_ASKED: Final = 16
_WILD: Final = re.compile(r"[*?\[{]")


def has_hot_keys(path: str | os.PathLike[str]) -> bool:
    """Whether the plan of a table has hot keys of maps."""
    text = os.fspath(path)
    if _WILD.search(text):
        return False
    try:
        recorded = DirectoryTable(Folder.at(text)).plan()
    except NotADirectoryError:  # a file
        return False
    return recorded is not None and bool(Plan.from_json(recorded).maps)


def read_maps(spark: SparkSession, native: DataFrame, paths: Sequence[str | os.PathLike[str]]) -> DataFrame:
    """What Spark's native reader gives, with maps put together where a plan or the columns say that they have hot keys."""
    if any(_has_groups(field.dataType) for field in native.schema):
        # Maps inside of something are put together by varquet's own reader.
        texts = [os.fspath(path) for path in paths]
        return _union([spark.read.format("varquet").load(text) for text in texts])
    maps = [field.name for field in native.schema if isinstance(field.dataType, types.MapType)]
    sidecars = {name for column in maps for name in native.columns if _is_sidecar(name, column)}
    if not any(map(has_hot_keys, paths)) and not (sidecars and _has_maps(paths)):
        return native
    return view(spark, [os.fspath(path) for path in paths], {name: Operand(None, name) for name in native.columns if name not in sidecars})


def _is_sidecar(name: str, column: str) -> bool:
    place = name.rpartition("_")[2]
    return place.isdigit() and name == sidecar_name(column, int(place))


def _has_maps(paths: Sequence[str | os.PathLike[str]]) -> bool:
    """Whether the footers of some files speak of hot keys."""
    return any(OpenFile(found.file).maps for path in paths for found in find_files(path)[:_ASKED])


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    made = frames[0]
    for frame in frames[1:]:
        made = made.union(frame)
    return made


def _has_groups(kind: types.DataType) -> bool:
    """Whether there is the group of a map with hot keys in values of a type."""
    if isinstance(kind, types.StructType):
        return kind.fieldNames()[:2] == [RESIDUAL, nested_sidecar(0)] or any(_has_groups(field.dataType) for field in kind)
    if isinstance(kind, types.ArrayType):
        return _has_groups(kind.elementType)
    return isinstance(kind, types.MapType) and _has_groups(kind.valueType)
