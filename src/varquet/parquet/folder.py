"""A folder on a disk or in an object store: the few things that tables ask of one, with paths from the folder on."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from dataclasses import dataclass
from typing import Any, Final

import pyarrow.fs as pafs

from varquet.parquet.files import DataFile, locate

__all__ = ["Entry", "Folder"]


_WITHOUT_FOLDERS: Final = ("s3", "gcs", "abfs")


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in a folder."""

    path: str
    """From the folder on, with slashes."""
    size: int
    changed: float
    """When, in seconds since 1970; 0 where nobody knows."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder, which need not exist yet. Folders pickle, and go to other machines."""

    path: str
    filesystem: pafs.FileSystem | None = None
    """None is the local one."""

    @classmethod
    def at(cls, path: str | os.PathLike[str], filesystem: Any = None) -> Folder:
        """The folder of a path or URI."""
        found, place = locate(os.fspath(path), filesystem)
        return cls((os.path.abspath(place) if found is None else place).rstrip("/") or "/", found)

    @property
    def store(self) -> pafs.FileSystem:
        """Its filesystem, the local one too."""
        return pafs.LocalFileSystem() if self.filesystem is None else self.filesystem

    def full(self, path: str) -> str:
        """The path of something in it, in its filesystem."""
        return f"{self.path.rstrip('/')}/{path}".rstrip("/")

    def file(self, path: str) -> DataFile:
        """A Parquet file in it."""
        return DataFile(self.full(path), self.filesystem)

    def entries(self, path: str = "") -> list[Entry]:
        """All files below, or below a folder in it, by name."""
        base = self.full(path)
        chosen = pafs.FileSelector(base, recursive=True, allow_not_found=True)
        return sorted(
            (
                Entry(self._relative(info.path), info.size, info.mtime.timestamp() if info.mtime is not None else 0.0)
                for info in self.store.get_file_info(chosen)
                if info.type == pafs.FileType.File
            ),
            key=lambda entry: entry.path,
        )

    def names(self, path: str) -> list[str]:
        """The names of what is right in a folder in it."""
        chosen = pafs.FileSelector(self.full(path), allow_not_found=True)
        return sorted(info.base_name for info in self.store.get_file_info(chosen))

    def _relative(self, path: str) -> str:
        # A filesystem may write its paths differently, with a drive or without a slash at the beginning.
        place = path.find(self.path)
        return path[place + len(self.path.rstrip("/")) + 1 :]

    def exists(self, path: str = "") -> bool:
        """Whether there is a file or folder."""
        return bool(self.store.get_file_info(self.full(path)).type != pafs.FileType.NotFound)

    def read(self, path: str) -> bytes | None:
        """All bytes of a file; None if there is none."""
        try:
            with self.store.open_input_stream(self.full(path)) as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None

    def write(self, path: str, data: bytes) -> None:
        """Write a small file, whole or not at all."""
        full = self.full(path)
        self.make_folder_of(path)
        if self.filesystem is not None:
            with self.filesystem.open_output_stream(full) as file:
                file.write(data)
            return
        temporary = f"{full}.{secrets.token_hex(4)}.tmp"
        with open(temporary, "wb") as local:
            local.write(data)
            local.flush()
            os.fsync(local.fileno())
        os.replace(temporary, full)

    def make_folder(self, path: str) -> None:
        """Make a folder, and those that it is in; object stores have none, and need none."""
        if self.store.type_name not in _WITHOUT_FOLDERS:
            self.store.create_dir(self.full(path) or "/", recursive=True)

    def make_folder_of(self, path: str, *, within: str | None = None) -> None:
        """Make sure that a file can be written.

        Args:
            within: a folder that is not made: on a local disk it must be there.
        """
        above = path.rpartition("/")[0]
        if within is None or self.filesystem is not None:
            self.make_folder(above)
            return
        os.stat(self.full(within))
        made = within
        for name in filter(None, above[len(within) :].split("/")):
            made = f"{made}/{name}"
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.full(made))

    def upload(self, local: str, path: str) -> None:
        """Move a local file here, perhaps from another disk; its folder is there if this one is local, too."""
        if self.filesystem is None:
            temporary = f"{self.full(path)}.{secrets.token_hex(4)}.tmp"
            shutil.move(local, temporary)
            os.replace(temporary, self.full(path))
        else:
            self.make_folder_of(path)
            pafs.copy_files(local, self.full(path), source_filesystem=pafs.LocalFileSystem(), destination_filesystem=self.filesystem)
            os.unlink(local)

    def move(self, path: str, target: str) -> bool:
        """Move a file within the folder, over one that is there; False if it is not there (any more)."""
        self.make_folder_of(target)
        try:
            self.store.move(self.full(path), self.full(target))
        except OSError:
            # Stores say differently that there is none.
            if self.exists(path):
                raise
            return False
        return True

    def delete(self, path: str) -> None:
        """Delete a file, if it is there, and the local folders that are empty then."""
        try:
            self.store.delete_file(self.full(path))
        except OSError:
            if self.exists(path):
                raise
        if self.filesystem is None:
            above = os.path.dirname(path)
            while above:
                try:
                    os.rmdir(self.full(above))
                except OSError:
                    break
                above = os.path.dirname(above)

    def rename_folder(self, path: str, target: str) -> None:
        """Give a local folder another name, at once; nothing if it is not there. An object store has no folders that could be renamed."""
        if self.filesystem is None:
            with contextlib.suppress(FileNotFoundError):
                os.rename(self.full(path), self.full(target))

    def delete_empty(self, path: str) -> None:
        """Delete a local folder if nothing is in it."""
        if self.filesystem is None:
            with contextlib.suppress(OSError):
                os.rmdir(self.full(path))

    def delete_folder(self, path: str) -> None:
        """Delete a folder with everything in it, if it is there."""
        try:
            self.store.delete_dir(self.full(path))
        except OSError:
            if self.exists(path):
                raise
