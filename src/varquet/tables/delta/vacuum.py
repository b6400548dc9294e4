"""`vacuum`: delete the files that no version within the table's retention needs."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any, Final

from varquet.delta.actions import Add
from varquet.delta.deletion_vectors import path_of
from varquet.delta.durations import milliseconds
from varquet.delta.features import check_writable
from varquet.delta.snapshot import Snapshot, load
from varquet.errors import UnsupportedTypeError
from varquet.parquet.folder import Folder
from varquet.parquet.listing import is_hidden
from varquet.queries.dataset import file_at

__all__ = ["Vacuumed", "vacuum"]

_WEEK: Final = 7 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """What was deleted, or would be."""

    path: str
    files: list[str]
    bytes: int
    is_dry_run: bool


def vacuum(
    path: str | os.PathLike[str], older_than: float | None = None, *, dry_run: bool = False, force: bool = False, filesystem: Any = None
) -> Vacuumed:
    """Delete files of a Delta table that are in no version of the last days: they were removed, or written and never committed.

    Args:
        path: the table's folder.
        older_than: how many seconds ago files must have been removed and written; by default the table's retention, a week if it has none.
        dry_run: delete nothing, only say what would be.
        force: allow less than the table's retention, which can take files from those who are writing or reading an older version.
        filesystem: one of pyarrow or fsspec in which the path is.
    """
    folder = Folder.at(path, filesystem)
    snapshot = load(folder)
    assert snapshot.protocol is not None and snapshot.metadata is not None
    check_writable(snapshot.protocol, snapshot.metadata, folder.path, changes_rows=False)
    retention = milliseconds(snapshot.properties.get("delta.deletedFileRetentionDuration"), _WEEK * 1000) / 1000
    kept = retention if older_than is None else older_than
    if kept < retention and not force:
        raise UnsupportedTypeError(
            f"expected to keep files of {folder.path} for at least {retention:,.0f} s, its retention, got {kept:,.0f} s",
            hint="force allows it, if nobody else writes or reads an older version",
        )
    before = time.time() - kept
    needed = _needed(snapshot, before)
    found = [
        entry
        for entry in folder.entries()
        if entry.changed < before and not _is_kept_apart(entry.path) and folder.full(entry.path) not in needed
    ]
    if not dry_run:
        for entry in found:
            folder.delete(entry.path)
    return Vacuumed(folder.path, [entry.path for entry in found], sum(entry.size for entry in found), dry_run)


def _is_kept_apart(path: str) -> bool:
    """Whether a file is none of the data: one of the log, or what engines do not look into."""
    above, _, name = path.rpartition("/")
    return is_hidden(above.split("/")) or name.startswith("_")


def _needed(snapshot: Snapshot, before: float) -> set[str]:
    """The files of the table, and those that were removed not long ago."""
    removed = [
        Add.from_dict({"size": 0, **data}) for data in snapshot.removed.values() if (data.get("deletionTimestamp") or 0) / 1000 >= before
    ]
    needed: set[str] = set()
    for add in (*snapshot.files.values(), *removed):
        vector = None if add.deletion_vector is None else path_of(add.deletion_vector)
        # A log may name files of its table by their whole paths.
        needed |= {file_at(snapshot.folder, path).path for path in (add.location, vector) if path is not None}
    return needed
