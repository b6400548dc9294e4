"""A table that is a plain folder of Parquet files: how files come into it and go, whatever dies on the way.

    table/                            what every engine reads
        part-00000-….parquet
        country=DE/part-00003-….parquet
        _varquet/                     what no engine looks into
            plan.json                 how its Variants are shredded
            <job>/                    what a job has written and not committed
                commit.json           the journal: what is to be moved, and what is to go

Files are written below the job's folder and moved into place when all of them are complete. The journal is written first: from then on
the commit is decided, and whoever finds it without its job finishes it. A folder has no transactions: those who read it during a commit
see some of its files.
"""

from __future__ import annotations

import contextlib
import json
import posixpath
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from varquet.errors import UnsupportedTypeError, VarquetError
from varquet.layouts.shredding import LayoutName
from varquet.parquet.files import DataFile
from varquet.parquet.folder import Entry, Folder
from varquet.parquet.hive import partitions_of
from varquet.parquet.listing import LOG, is_hidden
from varquet.parquet.plans import PinnedSchemas
from varquet.parquet.positions import Position
from varquet.parquet.reader import OpenFile
from varquet.schema import ShreddingSchema
from varquet.tables.base import QUARANTINE, Commit, TableSchema
from varquet.tables.jobs import IDLE_SECONDS, Job, batch_path, end, is_alive

__all__ = ["DirectoryTable"]

_OURS: Final = "_varquet"
_PLAN: Final = f"{_OURS}/plan.json"
_JOURNAL: Final = "commit.json"
_STAGED: Final = ".staged"
_GONE: Final = "gone-"


@dataclass(frozen=True, slots=True)
class DirectoryTable:
    """A folder of Parquet files as a table."""

    folder: Folder

    def data_files(self) -> list[Entry]:
        """The files that engines read."""
        return [entry for entry in self.folder.entries() if _is_data(entry.path)]

    def has_data(self) -> bool:
        """Whether there are files in it."""
        return bool(self.data_files())

    @property
    def keeps_schema(self) -> bool:
        """Whether it knows its columns without a file: no."""
        return False

    def row_schema(self, schema: pa.Schema) -> pa.Schema:
        """The types in which rows of a schema are stored: its own."""
        return schema

    def allowed(self, plan: PinnedSchemas | None) -> PinnedSchemas | None:
        """The plan by which files are written where this one is asked for: itself."""
        return plan

    def about(self, file: DataFile, schema: pa.Schema, shredded: Mapping[Position, ShreddingSchema]) -> str | None:
        """What is recorded of a file besides it: nothing."""
        return None

    def check(self, schema: TableSchema, layout: LayoutName = "parquet", *, is_replaced: bool) -> None:
        """An error if rows of a schema do not fit to what is in the table already."""
        existing = self.data_files()
        if not existing or is_replaced:
            return
        first = existing[0].path
        there = OpenFile(self.folder.file(first)).schema
        stored = [field.name for field in schema.stored]
        if there.names != stored:
            raise UnsupportedTypeError(
                f"expected the columns of {self.folder.path}, which are {', '.join(there.names)}, got {', '.join(stored)}",
                hint="mode='overwrite' replaces the table",
            )
        partitions = tuple(partitions_of(first))
        if partitions != tuple(field.name for field in schema.partitions):
            raise UnsupportedTypeError(
                f"expected the partitions of {self.folder.path}, which are {', '.join(partitions) or 'none'}, "
                f"got {', '.join(field.name for field in schema.partitions) or 'none'}"
            )

    def plan(self) -> str | None:
        """The plan that is recorded in the table, as JSON."""
        found = self.folder.read(_PLAN)
        return None if found is None else found.decode()

    def begin(self) -> Job:
        """Clear up behind jobs that have died, and begin another one."""
        if self.folder.exists(LOG):
            raise VarquetError(
                f"expected a plain folder of Parquet files, got {self.folder.path}, which is a Delta table",
                hint="files that its log does not name would not be seen",
            )
        self.recover()
        return Job.begin()

    def open(self, job: Job) -> None:
        """Let the tasks of a job write, until it is committed or aborted."""
        if self.folder.filesystem is None:
            self.folder.make_folder(f"{_OURS}/{job.folder}")

    def make_room(self, job: Job, staged: str) -> None:
        """Make sure that a task can write a local file there; an error if the job is over, so that a late task leaves nothing."""
        try:
            self.folder.make_folder_of(staged, within=f"{_OURS}/{job.folder}")
        except FileNotFoundError:
            raise VarquetError(f"expected a job at work in {self.folder.path}, got one that has ended: {job.folder}") from None

    def staged(self, job: Job, path: str) -> str:
        """Where a job writes the file that belongs at a path; not with the ending of Parquet files, which globs would find."""
        return f"{_OURS}/{job.folder}/{path}{_STAGED}"

    def commit(self, job: Job, commit: Commit) -> list[str]:
        """Put the files of a job in place; the paths of those that went for them."""
        mark = commit.mark
        files = [(file.staged, file.path if mark is None else batch_path(file.path, mark)) for file in commit.files]
        added = {path for _, path in files}
        goes = _replaced(commit)
        removed = [entry.path for entry in self.folder.entries() if entry.path not in added and goes(entry.path)] if goes else []
        journal = {"add": files, "remove": removed, "plan": commit.plan}
        self.folder.write(f"{_OURS}/{job.folder}/{_JOURNAL}", json.dumps(journal, ensure_ascii=False).encode())
        try:
            self._finish(job.folder, journal)
        except Exception as error:
            raise VarquetError(
                f"expected to move {len(files):,} files into {self.folder.path}, got {type(error).__name__}: {error}",
                hint="do not run the job again: its commit is decided, and the next job to the table, or vacuum, finishes it",
            ) from error
        return removed

    def _finish(self, name: str, journal: dict[str, object]) -> None:
        """Do what a journal says, as much of it as is not done yet, and forget it."""
        added, removed, plan = journal["add"], journal["remove"], journal["plan"]
        assert isinstance(added, list) and isinstance(removed, list)
        for staged, path in added:
            if not self.folder.move(staged, path) and not self.folder.exists(path):
                raise VarquetError(
                    f"expected {path} or {staged} in {self.folder.path}, got neither: the commit cannot be finished",
                    hint=f"the files that it is about are listed in {self.folder.full(f'{_OURS}/{name}/{_JOURNAL}')}",
                )
        for path in removed:
            self.folder.delete(path)
        if isinstance(plan, str):
            self.folder.write(_PLAN, plan.encode())
        # From here on it is done; what is left is rubbish, which the next job would clear away as well.
        self.folder.delete(f"{_OURS}/{name}/{_JOURNAL}")
        with contextlib.suppress(OSError):
            self._drop(name)

    def abort(self, job: Job) -> None:
        """Leave nothing of a job; but what is decided is done, by the next one if it cannot be done now."""
        end(job)
        journal = self.folder.read(f"{_OURS}/{job.folder}/{_JOURNAL}")
        if journal is not None:
            with contextlib.suppress(Exception):
                self._finish(job.folder, json.loads(journal))
            return
        self.close(job)

    def close(self, job: Job) -> None:
        """Delete the folder of a job, and the others that it has made for that."""
        self._drop(job.folder)
        for made in (_OURS, ""):
            self.folder.delete_empty(made)

    def _drop(self, name: str) -> None:
        """Delete the folder of a job. On a local disk it gets another name first: no late task can put a file into it meanwhile."""
        gone = f"{_OURS}/{_GONE}{name}"
        self.folder.rename_folder(f"{_OURS}/{name}", gone)
        self.folder.delete_folder(gone if self.folder.filesystem is None else f"{_OURS}/{name}")

    def recover(self, *, older_than: float | None = None) -> list[str]:
        """Finish the commits of jobs that have died in the middle of one, delete what others have left; the names of all of them.

        Args:
            older_than: also delete what jobs have left that have changed nothing for so many seconds, dead or not.
        """
        found: list[str] = []
        for name in self.folder.names(_OURS):
            if name.startswith(_GONE):
                self.folder.delete_folder(f"{_OURS}/{name}")
                continue
            job = Job.of_folder(name)
            if job is None:
                continue
            below = self.folder.entries(f"{_OURS}/{name}")
            changed = max((entry.changed for entry in below), default=0.0)
            is_old = older_than is not None and time.time() - changed > older_than
            if is_alive(job, changed) and not is_old:
                continue
            found.append(name)
            journal = self.folder.read(f"{_OURS}/{name}/{_JOURNAL}")
            if journal is not None:
                self._finish(name, json.loads(journal))
            else:
                self._drop(name)
        return found

    def vacuum(self, older_than: float = IDLE_SECONDS) -> list[str]:
        """Clear up behind jobs that have died, or have changed nothing for so many seconds; the names of their folders."""
        found = self.recover(older_than=older_than)
        self.folder.delete_empty(_OURS)
        return found


def _replaced(commit: Commit) -> Callable[[str], bool] | None:
    """Which paths of a table go; None if none does."""
    if commit.replace == "all":
        return lambda path: _is_data(path) or path.startswith(f"{QUARANTINE}/")
    if commit.replace == "partitions":
        partitions = [partitions_of(file.path) for file in commit.files if _is_data(file.path)]
        return lambda path: _is_data(path) and partitions_of(path) in partitions
    mark = commit.mark
    if mark is not None:
        return lambda path: mark in posixpath.basename(path) and not path.startswith(f"{_OURS}/")
    return None


def _is_data(path: str) -> bool:
    return path.endswith(".parquet") and not is_hidden(path.split("/"))
