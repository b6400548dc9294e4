"""Raw files cut into tasks: byte ranges of large ones, several small ones together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow.fs as pafs

from varquet.columns.ndjson import is_compressed
from varquet.errors import VarquetError
from varquet.parquet.files import DataFile, locate
from varquet.parquet.listing import files_in_store
from varquet.parquet.sources import find_sources, is_data_name

__all__ = ["RawFile", "Split", "cut", "find_raw_files"]

_SMALLEST: Final = 32 << 20
_LARGEST: Final = 512 << 20
_TASKS_AT_ONCE: Final = 2
# Opening a file costs about as much as reading so many bytes.
_OPENING: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class RawFile:
    """A file of JSON lines, or of Parquet."""

    file: DataFile
    size: int

    @property
    def is_parquet(self) -> bool:
        """Whether its name says that it is a Parquet file."""
        return self.file.path.lower().endswith(".parquet")


@dataclass(frozen=True, slots=True)
class Split:
    """Part of a file for one task."""

    file: DataFile
    index: int
    """The number of the split in the order of all files and their bytes."""
    file_index: int
    size: int
    part: tuple[int, int] | None
    """The bytes in which its lines begin; None is the whole file, whatever its compression."""


def find_raw_files(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], filesystem: Any = None) -> list[RawFile]:
    """The files that paths, folders, globs and URIs stand for, in a stable order."""
    names = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    found: list[RawFile] = []
    for name in names:
        store, path = locate(os.fspath(name), filesystem)
        if store is None:
            found += [RawFile(DataFile(os.path.abspath(file)), os.path.getsize(file)) for file in find_sources([path])]
            continue
        files = files_in_store(store, path, is_data_name)
        if not files:
            raise VarquetError(f"expected NDJSON or Parquet files, got {name}, which names none")
        found += [RawFile(DataFile(info.path, store), info.size) for info in store.get_file_info(files) if info.type == pafs.FileType.File]
    return found


def cut(files: Sequence[RawFile], parallelism: int, split_bytes: int | None = None) -> list[list[Split]]:
    """The splits of each task; about `split_bytes` for each, by default as many as keep all cores busy twice."""
    total = sum(file.size for file in files)
    if split_bytes is None:
        split_bytes = min(_LARGEST, max(_SMALLEST, -(-total // (_TASKS_AT_ONCE * max(1, parallelism)))))
    splits: list[Split] = []
    for number, file in enumerate(files):
        if file.size <= split_bytes * 1.25 or _is_whole(file):
            splits.append(Split(file.file, len(splits), number, file.size, None))
            continue
        pieces = -(-file.size // split_bytes)
        for k in range(pieces):
            first, last = file.size * k // pieces, file.size * (k + 1) // pieces
            splits.append(Split(file.file, len(splits), number, last - first, (first, last)))
    tasks: list[list[Split]] = []
    room = 0
    for split in splits:
        if not tasks or room < split.size:
            tasks.append([])
            room = split_bytes
        tasks[-1].append(split)
        room -= split.size + _OPENING
    return tasks


def _is_whole(file: RawFile) -> bool:
    """Whether a file can be read only from its beginning on."""
    with file.file.open() as opened:
        return is_compressed(opened.read(8))
