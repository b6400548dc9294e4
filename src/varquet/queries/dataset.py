"""The files of a dataset: single ones, folders, globs, lists; local or in an object store; with Hive partitions in their paths."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.fs as pafs

from varquet.errors import UnsupportedTypeError
from varquet.parquet.files import DataFile, locate
from varquet.parquet.hive import partitions_of
from varquet.parquet.reader import files_of, is_hidden

__all__ = ["FoundFile", "Source", "find_files", "partition_schema"]

Source: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"

_WILD: Final = re.compile(r"[*?\[]")
_WHOLE_NUMBER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, and what its path says of its rows."""

    file: DataFile
    partitions: dict[str, str | None] = field(default_factory=dict)


def find_files(source: Source, filesystem: Any = None) -> list[FoundFile]:
    """The files that a source names, in a stable order; hidden ones and those that begin with _ are left out of folders."""
    if not isinstance(source, (str, os.PathLike)):
        return [found for one in source for found in find_files(one, filesystem)]
    text = os.fspath(source)
    given, text = locate(text, filesystem)
    if given is None:
        return [FoundFile(DataFile(path), partitions_of(path)) for path in files_of(text)]
    return [FoundFile(DataFile(path, given), partitions_of(path)) for path in _remote_files(given, text)]


def _remote_files(filesystem: pafs.FileSystem, path: str) -> list[str]:
    wild = _WILD.search(path)
    if wild is not None:
        base = path[: wild.start()].rpartition("/")[0]
        below = filesystem.get_file_info(pafs.FileSelector(base, recursive=True))
        pattern = re.compile(_glob_pattern(path))
        found = [info.path for info in below if info.type == pafs.FileType.File and pattern.fullmatch(info.path)]
    else:
        info = filesystem.get_file_info(path)
        if info.type == pafs.FileType.File:
            return [path]
        below = [] if info.type == pafs.FileType.NotFound else filesystem.get_file_info(pafs.FileSelector(path, recursive=True))
        found = [
            one.path
            for one in below
            if one.type == pafs.FileType.File and one.path.endswith(".parquet") and not is_hidden(one.path[len(path) :].split("/"))
        ]
    if not found:
        raise UnsupportedTypeError(f"expected a Parquet file, a folder of them or a glob, got {path!r}, which names none")
    return sorted(found)


def _glob_pattern(path: str) -> str:
    """A glob as a regular expression, in which * stays within a folder and ** does not."""
    pieces = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]*\])", path)
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(known.get(piece) or (_one_of(piece[1:-1]) if piece.startswith("[") else re.escape(piece)) for piece in pieces)


def _one_of(characters: str) -> str:
    is_not = characters.startswith("!")
    return ("[^/" if is_not else "[") + re.escape(characters[is_not:]).replace(r"\-", "-") + "]"


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
