"""What those who write ask of a table, whatever its format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeAlias

import pyarrow as pa

from varquet.layouts.shredding import LayoutName
from varquet.parquet.files import DataFile
from varquet.parquet.folder import Folder
from varquet.parquet.plans import PinnedSchemas
from varquet.parquet.positions import Position
from varquet.schema import ShreddingSchema
from varquet.tables.jobs import Job

__all__ = ["QUARANTINE", "Commit", "Replace", "StagedFile", "Table", "TableSchema"]

QUARANTINE: Final = "_quarantine"

Replace: TypeAlias = Literal["nothing", "all", "partitions"]
"""Which files go when others come: none, all, or those in the same partitions."""


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file that is complete, and not in its place yet."""

    staged: str
    path: str
    """Where it belongs. Both paths begin in the table."""
    rows: int
    size: int
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each shredded path how many values are in its typed column, and how many beside it."""
    about: str | None = None
    """What the table records of it."""


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The columns of a table."""

    stored: pa.Schema
    """Those in its files."""
    partitions: tuple[pa.Field, ...] = ()
    """Those in the names of its folders."""
    order: tuple[str, ...] = ()
    """The names in the order of the rows that were given; partitions by paths come last."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What a job changes of a table."""

    files: Sequence[StagedFile]
    replace: Replace = "nothing"
    schema: TableSchema | None = None
    """The columns of the rows; None where they are certainly those of the table."""
    batch: tuple[str, int] | None = None
    """The stream and the number of its batch that is written, perhaps again: then it replaces what it has written before."""
    plan: str | None = None
    """The plan that the table has from now on, as JSON."""

    @property
    def mark(self) -> str | None:
        """What the names of a batch's files have in them, and no others."""
        return None if self.batch is None else f"-{self.batch[0]}-{self.batch[1]}-"


class Table(Protocol):
    """What those who write ask of a table, whatever its format."""

    @property
    def folder(self) -> Folder:
        """Where its files are."""

    @property
    def keeps_schema(self) -> bool:
        """Whether it knows its columns even if it has no file."""

    def row_schema(self, schema: pa.Schema) -> pa.Schema:
        """The types in which rows of a schema are stored: its own, or wider ones."""

    def begin(self) -> Job:
        """Clear up behind jobs that have died, and begin another one."""

    def open(self, job: Job) -> None:
        """Let the tasks of a job write, until it is committed or aborted."""

    def staged(self, job: Job, path: str) -> str:
        """Where a job writes the file that belongs at a path."""

    def make_room(self, job: Job, staged: str) -> None:
        """Make sure that a task can write a local file there; an error if the job is over."""

    def about(self, file: DataFile, schema: pa.Schema, shredded: Mapping[Position, ShreddingSchema]) -> str | None:
        """What the table records of a file that a task has finished."""

    def commit(self, job: Job, commit: Commit) -> list[str]:
        """Put the files of a job in place; the paths of those that went for them."""

    def abort(self, job: Job) -> None:
        """Leave nothing of a job."""

    def recover(self) -> list[str]:
        """Clear up behind jobs that have died; the names of their folders."""

    def plan(self) -> str | None:
        """The plan that is recorded in the table, as JSON."""

    def allowed(self, plan: PinnedSchemas | None) -> PinnedSchemas | None:
        """The plan by which files are written where this one is asked for: a table may forbid to shred."""

    def has_data(self) -> bool:
        """Whether rows were written to it, so that another one may not take its place unasked."""

    def check(self, schema: TableSchema, layout: LayoutName = "parquet", *, is_replaced: bool) -> None:
        """An error if rows of a schema, or the layout of their Variants, do not fit to the table."""
