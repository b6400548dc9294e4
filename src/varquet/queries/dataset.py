"""The files of a dataset: single ones, folders, globs, lists; local or in an object store; with Hive partitions in their paths."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import pyarrow as pa

from varquet.errors import UnsupportedTypeError
from varquet.parquet.files import DataFile, locate
from varquet.parquet.hive import partitions_of
from varquet.parquet.listing import files_in_store
from varquet.parquet.reader import files_of

__all__ = ["FoundFile", "Source", "find_files", "partition_schema"]

Source: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"

_WHOLE_NUMBER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, and what its path says of its rows."""

    file: DataFile
    partitions: dict[str, str | None] = field(default_factory=dict)
    groups: range | None = None
    """The row groups that are read, where that is not all of them; of none of them the file is still asked for its columns."""


def find_files(source: Source, filesystem: Any = None) -> list[FoundFile]:
    """The files that a source names, in a stable order; hidden ones and those that begin with _ are left out of folders."""
    if not isinstance(source, (str, os.PathLike)):
        return [found for one in source for found in find_files(one, filesystem)]
    text = os.fspath(source)
    given, text = locate(text, filesystem)
    if given is None:
        return [FoundFile(DataFile(path), partitions_of(path)) for path in files_of(text)]
    found = files_in_store(given, text, lambda name: name.endswith(".parquet"))
    if not found:
        raise UnsupportedTypeError(f"expected a Parquet file, a folder of them or a glob, got {text!r}, which names none")
    return [FoundFile(DataFile(path, given), partitions_of(path)) for path in found]


def partition_schema(files: Sequence[FoundFile]) -> dict[str, pa.DataType]:
    """The types of partition columns: bigint where all values are whole numbers, else string."""
    values: dict[str, list[str]] = {}
    for found in files:
        for name, value in found.partitions.items():
            values.setdefault(name, []).extend([] if value is None else [value])
    return {
        name: pa.int64() if texts and all(_WHOLE_NUMBER.fullmatch(text) for text in texts) else pa.string()
        for name, texts in values.items()
    }
