"""`history`: what was done to a Delta table, version by version."""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass, field
from typing import Any

from varquet.delta.actions import parse_lines
from varquet.delta.files import LogFiles, commit_path, is_table
from varquet.errors import UnsupportedTypeError
from varquet.parquet.folder import Folder

__all__ = ["Version", "history"]


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a table, and what made it."""

    version: int
    timestamp: datetime.datetime
    operation: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, str] = field(default_factory=dict)
    engine: str | None = None
    is_blind_append: bool | None = None
    added: int = 0
    removed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The version as plain data."""
        return {
            "version": self.version,
            "timestamp": self.timestamp.isoformat(),
            "operation": self.operation,
            "parameters": self.parameters,
            "metrics": self.metrics,
            "engine": self.engine,
            "is_blind_append": self.is_blind_append,
            "added_files": self.added,
            "removed_files": self.removed,
        }


def history(path: str | os.PathLike[str], limit: int | None = None, *, filesystem: Any = None) -> list[Version]:
    """The versions of a Delta table whose commits are still there, the newest first.

    Args:
        path: the table's folder.
        limit: no more than so many.
        filesystem: one of pyarrow or fsspec in which the path is.
    """
    folder = Folder.at(path, filesystem)
    if not is_table(folder):
        raise UnsupportedTypeError(f"expected a Delta table, got {folder.path}, which is none")
    commits = LogFiles.of(folder).commits
    return [_version(folder, number, commits[number].changed) for number in sorted(commits, reverse=True)[:limit]]


def _version(folder: Folder, number: int, changed: float) -> Version:
    name = commit_path(number)
    actions = list(parse_lines(folder.read(name) or b"", name))
    info: dict[str, Any] = next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
    told = info.get("inCommitTimestamp") or changed * 1000
    return Version(
        number,
        datetime.datetime.fromtimestamp(told / 1000, datetime.UTC),
        info.get("operation"),
        info.get("operationParameters") or {},
        info.get("operationMetrics") or {},
        info.get("engineInfo"),
        info.get("isBlindAppend"),
        sum("add" in action for action in actions),
        sum("remove" in action for action in actions),
    )
