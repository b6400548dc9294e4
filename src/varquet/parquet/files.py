"""Parquet files wherever they are: on a disk or in an object store, with their footers kept once they have been read."""

from __future__ import annotations

import os
import re
import threading
import urllib.parse
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from varquet.errors import ParquetError
from varquet.parquet.footer import Footer, read_footer
from varquet.parquet.pages import PageIndex
from varquet.schema.parquet_form import any_depth

__all__ = ["DataFile", "KeptFooter", "locate"]

T = TypeVar("T")

_KEPT_BYTES: Final = 256 << 20
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_WILD: Final = re.compile(r"[*?\[]")
_HADOOP_SCHEMES: Final = {"s3a": "s3", "s3n": "s3"}


@dataclass(frozen=True, slots=True)
class KeptFooter:
    """The footer of a file, and what was made of it."""

    footer: Footer
    metadata: pq.FileMetaData
    """The same as pyarrow has it."""
    pages: PageIndex
    """Where the file's pages are, as far as somebody has asked."""
    filesystem: pafs.FileSystem | None
    """Kept as well: while it lives, no other has its id."""
    _made: dict[type, Any] = field(default_factory=dict)

    def once(self, kind: type[T], make: Callable[[], T]) -> T:
        """What is made of the footer alone, one thing of each kind: the first time, then that again."""
        if kind not in self._made:
            self._made[kind] = make()
        return cast("T", self._made[kind])


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file: its path in a filesystem, which is the local one by default."""

    path: str
    filesystem: pafs.FileSystem | None = None

    def open(self) -> pa.NativeFile:
        """The file, open for reading anywhere in it, by several threads at once."""
        return pa.OSFile(self.path, "rb") if self.filesystem is None else self.filesystem.open_input_file(self.path)

    def size(self) -> int:
        """Its bytes."""
        return os.path.getsize(self.path) if self.filesystem is None else int(self.filesystem.get_file_info(self.path).size)

    def kept(self) -> KeptFooter:
        """Its footer and what was made of it, as the file is now; read again only if it has changed."""
        return _FOOTERS.get(self)

    def footer(self) -> Footer:
        """Its footer, as it is now."""
        return self.kept().footer

    def metadata(self) -> pq.FileMetaData:
        """Its footer as pyarrow has it."""
        return self.kept().metadata

    def state(self) -> tuple[Any, ...]:
        """What tells this file from another, and from what it was before it changed."""
        if self.filesystem is None:
            found = os.stat(self.path)
            return "", os.path.abspath(self.path), found.st_size, found.st_mtime_ns, found.st_ino
        info = self.filesystem.get_file_info(self.path)
        return self.filesystem.type_name, id(self.filesystem), self.path, info.size, info.mtime_ns


class _Footers:
    """The footers read last, up to a number of bytes."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.kept: OrderedDict[tuple[Any, ...], KeptFooter] = OrderedDict()
        self.size = 0

    def get(self, file: DataFile) -> KeptFooter:
        state = file.state()
        with self.lock:
            found = self.kept.get(state)
            if found is not None:
                self.kept.move_to_end(state)
                return found
        with file.open() as opened:
            try:
                footer = read_footer(opened)
            except ParquetError as error:
                error.path = file.path
                raise
            metadata = pq.ParquetFile(opened, **any_depth()).metadata
        read = KeptFooter(footer, metadata, PageIndex(footer), file.filesystem)
        with self.lock:
            if state not in self.kept:
                self.kept[state] = read
                self.size += len(footer.data)
            while self.size > _KEPT_BYTES and len(self.kept) > 1:
                _, dropped = self.kept.popitem(last=False)
                self.size -= len(dropped.footer.data)
        return read


_FOOTERS: Final = _Footers()


def locate(path: str, filesystem: Any = None) -> tuple[pafs.FileSystem | None, str]:
    """The filesystem in which a path or a URI is, and the path there; None is the local one.

    Args:
        path: may have wildcards; a question mark in a URI begins its options. Hadoop's names of object stores are known too.
        filesystem: one of pyarrow or fsspec in which the path is.
    """
    if filesystem is not None:
        return _as_pyarrow(filesystem), path
    if path.startswith("file:"):
        return None, urllib.parse.unquote(re.sub("^file:/*(?=/)", "", path))
    if not _URI.match(path):
        return None, path
    scheme, mark, rest = path.partition("://")
    text, question, options = (_HADOOP_SCHEMES.get(scheme.lower(), scheme) + mark + rest).partition("?")
    wild = _WILD.search(text)
    folder = text if wild is None else text[: wild.start()].rpartition("/")[0]
    found, base = pafs.FileSystem.from_uri(folder + question + options)
    return found, base + text[len(folder) :]


def _as_pyarrow(filesystem: Any) -> pafs.FileSystem | None:
    if isinstance(filesystem, pafs.LocalFileSystem):
        return None
    return filesystem if isinstance(filesystem, pafs.FileSystem) else pafs.PyFileSystem(pafs.FSSpecHandler(filesystem))
