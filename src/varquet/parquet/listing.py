"""Which files a folder or a glob stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

import pyarrow.fs as pafs

from varquet.errors import UnsupportedTypeError

__all__ = ["files_in_store", "is_hidden", "refuse_log"]

LOG: Final = "_delta_log"
"""The folder of the log of a Delta table."""
_WILD: Final = re.compile(r"[*?\[]")


def is_hidden(parts: Iterable[str]) -> bool:
    """Whether the names on the way to a file, from a dataset's folder on, keep it out; folders of partitions never do."""
    return any(part.startswith((".", "_")) and "=" not in part for part in parts)


def refuse_log(path: str, *, has_log: bool) -> None:
    """An error for a folder whose files do not all count."""
    if has_log:
        raise UnsupportedTypeError(
            f"expected a folder of Parquet files, got {path!r}, a Delta table, of whose files its log tells which count",
            hint="varquet.scan and varquet query read it",
        )


def files_in_store(filesystem: pafs.FileSystem, path: str, is_wanted: Callable[[str], bool]) -> list[str]:
    """The files of a store that a path names, in a stable order: itself, what a glob finds, or all in a folder with wanted names."""
    wild = _WILD.search(path)
    if wild is not None:
        base = path[: wild.start()].rpartition("/")[0]
        below = filesystem.get_file_info(pafs.FileSelector(base, recursive=True))
        pattern = re.compile(_glob_pattern(path))
        return sorted(info.path for info in below if info.type == pafs.FileType.File and pattern.fullmatch(info.path))
    info = filesystem.get_file_info(path)
    if info.type == pafs.FileType.File:
        return [path]
    refuse_log(path, has_log=filesystem.get_file_info(f"{path.rstrip('/')}/{LOG}").type == pafs.FileType.Directory)
    below = [] if info.type == pafs.FileType.NotFound else filesystem.get_file_info(pafs.FileSelector(path, recursive=True))
    return sorted(
        one.path
        for one in below
        if one.type == pafs.FileType.File and is_wanted(one.base_name) and not is_hidden(one.path[len(path) :].split("/"))
    )


def _glob_pattern(path: str) -> str:
    """A glob as a regular expression, in which * stays within a folder and ** does not."""
    pieces = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]*\])", path)
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(known.get(piece) or (_one_of(piece[1:-1]) if piece.startswith("[") else re.escape(piece)) for piece in pieces)


def _one_of(characters: str) -> str:
    is_not = characters.startswith("!")
    return ("[^/" if is_not else "[") + re.escape(characters[is_not:]).replace(r"\-", "-") + "]"
