"""The files of a dataset: single ones, folders, globs, lists, Delta tables; local or in an object store; with partitions and statistics."""

from __future__ import annotations

import datetime
import functools
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from varquet.delta.actions import Add
from varquet.delta.deletion_vectors import read_deleted
from varquet.delta.files import is_table
from varquet.delta.schema import from_delta
from varquet.delta.snapshot import Snapshot, load
from varquet.delta.statistics import FileStatistics
from varquet.errors import UnsupportedTypeError
from varquet.parquet.files import DataFile, locate
from varquet.parquet.folder import Folder
from varquet.parquet.hive import partitions_of
from varquet.parquet.listing import files_in_store
from varquet.parquet.reader import files_of

__all__ = [
    "Dataset",
    "DeletedRows",
    "FoundFile",
    "Moment",
    "Source",
    "file_at",
    "find_dataset",
    "find_files",
    "found_file",
    "partition_value",
    "snapshot_dataset",
]

Source: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
Moment: TypeAlias = "datetime.datetime | str"

_WHOLE_NUMBER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")
_WILD: Final = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class DeletedRows:
    """The rows of a file that are not in its table any more."""

    folder: Folder
    descriptor: dict[str, Any]

    def positions(self) -> npt.NDArray[np.int64]:
        """Their numbers in the file, in order."""
        return read_deleted(self.descriptor, self._read)

    def _read(self, path: str, offset: int, length: int) -> bytes:
        file = file_at(self.folder, path)
        with file.open() as opened:
            return bytes(opened.read_at(length, offset))


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, and what is known of its rows without opening it."""

    file: DataFile
    partitions: dict[str, str | None] = field(default_factory=dict)
    groups: range | None = None
    """The row groups that are read, where that is not all of them; of none of them the file is still asked for its columns."""
    stats: str | None = None
    """What a table says of the values in it."""
    deleted: DeletedRows | None = None
    size: int | None = None

    @property
    def statistics(self) -> FileStatistics:
        """What a table says of the values in it, understood."""
        return FileStatistics.parse(self.stats)


@dataclass(frozen=True, slots=True)
class Dataset:
    """The files of a dataset, and what is known of all of them."""

    files: list[FoundFile]
    schema: pa.Schema | None = None
    """The columns, where a table says which they are; else the files do."""
    partition_columns: tuple[str, ...] = ()
    """The columns of that schema which are not in the files."""

    @property
    def partitions(self) -> dict[str, pa.DataType]:
        """The types of partition columns; of folders bigint where all values are whole numbers, else string."""
        if self.schema is not None:
            return {name: self.schema.field(name).type for name in self.partition_columns}
        values: dict[str, list[str]] = {}
        for found in self.files:
            for name, value in found.partitions.items():
                values.setdefault(name, []).extend([] if value is None else [value])
        return {
            name: pa.int64() if texts and all(_WHOLE_NUMBER.fullmatch(text) for text in texts) else pa.string()
            for name, texts in values.items()
        }


def find_dataset(source: Source, filesystem: Any = None, *, version: int | None = None, timestamp: Moment | None = None) -> Dataset:
    """The files that a source names, in a stable order; hidden ones and those that begin with _ are left out of folders.

    Args:
        version, timestamp: which version of a Delta table, by its number or its time.
    """
    if not isinstance(source, (str, os.PathLike)):
        parts = [find_dataset(one, filesystem, version=version, timestamp=timestamp) for one in source]
        return parts[0] if len(parts) == 1 else Dataset([found for part in parts for found in part.files])
    text = os.fspath(source)
    given, text = locate(text, filesystem)
    if os.path.isdir(text) if given is None else not (_WILD.search(text) or text.endswith(".parquet")):
        folder = Folder.at(text, given)
        if is_table(folder):
            return snapshot_dataset(load(folder, version, _moment(timestamp)))
    if version is not None or timestamp is not None:
        raise UnsupportedTypeError(f"expected a Delta table for a version of it, got {text!r}, which is none")
    if given is None:
        return Dataset([FoundFile(DataFile(path), partitions_of(path)) for path in files_of(text)])
    found = files_in_store(given, text, lambda name: name.endswith(".parquet"))
    if not found:
        raise UnsupportedTypeError(f"expected a Parquet file, a folder of them or a glob, got {text!r}, which names none")
    return Dataset([FoundFile(DataFile(path, given), partitions_of(path)) for path in found])


def find_files(source: Source, filesystem: Any = None) -> list[FoundFile]:
    """The files that a source names, for those who read whole files; an error if rows of some are deleted."""
    found = find_dataset(source, filesystem).files
    for file in found:
        if file.deleted is not None:
            raise UnsupportedTypeError(
                f"expected files of which all rows count, got {file.file.path!r}, some of whose rows are deleted",
                hint="varquet optimize writes such files anew",
            )
    return found


def snapshot_dataset(snapshot: Snapshot) -> Dataset:
    """The files of a Delta table at a version."""
    assert snapshot.metadata is not None
    files = [found_file(snapshot.folder, add) for add in sorted(snapshot.files.values(), key=lambda add: add.path)]
    return Dataset(files, from_delta(snapshot.metadata.schema_string), snapshot.metadata.partition_columns)


def found_file(folder: Folder, add: Add) -> FoundFile:
    """A file of a Delta table."""
    deleted = None if add.deletion_vector is None else DeletedRows(folder, add.deletion_vector)
    return FoundFile(file_at(folder, add.location), add.partition_values, None, add.stats, deleted, add.size)


def file_at(folder: Folder, location: str) -> DataFile:
    """A file by its path in a table, or by its URI."""
    if "://" in location or location.startswith(("file:", "/")):
        filesystem, path = locate(location, folder.filesystem if location.startswith("/") else None)
        return DataFile(path, filesystem)
    return folder.file(location)


def _moment(timestamp: Moment | None) -> datetime.datetime | None:
    if not isinstance(timestamp, str):
        return timestamp
    try:
        return datetime.datetime.fromisoformat(timestamp)
    except ValueError:
        raise UnsupportedTypeError(f"expected a time such as 2026-01-31T12:00:00Z, got {timestamp!r}") from None


@functools.lru_cache(4096)
def partition_value(text: str | None, kind: pa.DataType) -> Any:
    """The value of a partition, which folders and logs have as text."""
    if text is None or pa.types.is_string(kind):
        return text
    if pa.types.is_signed_integer(kind):
        return int(text)
    if pa.types.is_timestamp(kind) and kind.tz is not None and not re.search(r"(Z|[+-]\d\d:?\d\d)$", text):
        text += "Z"
    return pa.scalar(text).cast(kind).as_py()
