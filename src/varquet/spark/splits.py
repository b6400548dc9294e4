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
# Each task makes a file of its own: for less than this a core does not get several, unless the bytes say little of the work.
_WORTHWHILE: Final = 256 << 20
_PACKED: Final = (".gz", ".zst", ".bz2", ".lz4")
_LARGEST: Final = 512 << 20
_TASKS_AT_ONCE: Final = 2
# Opening a file costs about as much as reading so many bytes.
_OPENING: Final = 1 << 20
# A task takes a fiftieth more or less rather than a small piece of a file.
_SLACK: Final = 50


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
    """The splits of each task, in the order of the files; about `split_bytes` for each, by default the same for all."""
    split_bytes = _even(files, max(1, parallelism)) if split_bytes is None else max(1, split_bytes)
    slack = split_bytes // _SLACK
    tasks: list[list[Split]] = [[]]
    room = split_bytes
    count = 0
    for number, file in enumerate(files):
        first = 0
        is_whole: bool | None = None
        while True:
            last = file.size
            if last - first > room + slack:
                if room > slack and is_whole is None:
                    is_whole = _is_whole(file)
                if tasks[-1] and (room <= slack or is_whole):
                    tasks.append([])
                    # What a task took too much or left over, the next one has less or more.
                    room = split_bytes + min(slack, max(-slack, room))
                    continue
                last = last if is_whole else first + room
            tasks[-1].append(Split(file.file, count, number, last - first, None if last - first == file.size else (first, last)))
            count += 1
            room -= last - first
            if last == file.size:
                break
            first = last
        room -= _OPENING
    return [task for task in tasks if task]


def _even(files: Sequence[RawFile], parallelism: int) -> int:
    """How much each task reads where nobody says: all cores have the same number of tasks, so that none of them waits for the last one."""
    total = sum(file.size + _OPENING for file in files)
    least = max(_SMALLEST, -(-total // (_TASKS_AT_ONCE * parallelism)))
    if not any(file.file.path.lower().endswith(_PACKED) for file in files):
        least = max(least, min(_WORTHWHILE, -(-total // parallelism)))
    count = -(-total // min(_LARGEST, least))
    if count > parallelism:
        count = -(-count // parallelism) * parallelism
    return -(-total // max(1, count))


def _is_whole(file: RawFile) -> bool:
    """Whether a file can be read only from its beginning on."""
    with file.file.open() as opened:
        return is_compressed(opened.read(8))
