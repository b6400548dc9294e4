"""What a scan reads and what it skips, and why: as data, and as text that people read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from varquet.queries.access import Access, Need
from varquet.queries.map_access import MapAccess

__all__ = ["Explanation", "FileReport", "GroupReport", "PathReport"]


@dataclass(frozen=True, slots=True)
class GroupReport:
    """One row group: whether it is read, why, and how many compressed bytes of it."""

    number: int
    rows: int
    is_read: bool
    reason: str
    bytes: int


@dataclass(frozen=True, slots=True)
class FileReport:
    """One file and its row groups."""

    path: str
    row_groups: list[GroupReport]
    size: int
    """The compressed bytes of all its columns."""
    reason: str | None = None
    """Why it is not even opened, if it is not."""

    @property
    def is_read(self) -> bool:
        return any(group.is_read for group in self.row_groups)


@dataclass(slots=True)
class PathReport:
    """Where the values of one path come from, in the row groups that are read."""

    path: str
    typed: int = 0
    """Row groups in which a typed column has all of them."""
    both: int = 0
    """Row groups in which some are in a typed column and some in a residual."""
    residual: int = 0
    """Row groups in which only a residual has any."""
    nowhere: int = 0
    """Row groups in which it is null throughout."""

    def count(self, access: Access | MapAccess, need: Need) -> None:
        """Add one row group; a key of a map has the sidecar for a typed column."""
        is_typed = need.reads_typed and (isinstance(access, MapAccess) or len(access.typed) > 0)
        if need.reads_residual:
            if is_typed:
                self.both += 1
            else:
                self.residual += 1
        elif is_typed:
            self.typed += 1
        else:
            self.nowhere += 1


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a scan would do."""

    predicate: str | None
    files: list[FileReport] = field(repr=False)
    paths: list[PathReport]

    @property
    def files_read(self) -> int:
        return sum(file.is_read for file in self.files)

    @property
    def files_opened(self) -> int:
        """Those whose footers are read; the others are ruled out by what their table says of them."""
        return sum(file.reason is None for file in self.files)

    @property
    def row_groups(self) -> int:
        return sum(len(file.row_groups) for file in self.files)

    @property
    def row_groups_read(self) -> int:
        return sum(group.is_read for file in self.files for group in file.row_groups)

    @property
    def bytes(self) -> int:
        """The compressed bytes of the columns that are read."""
        return sum(group.bytes for file in self.files for group in file.row_groups)

    @property
    def size(self) -> int:
        """The compressed bytes of all columns of all files."""
        return sum(file.size for file in self.files)

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        return {
            "predicate": self.predicate,
            "files": len(self.files),
            "files_read": self.files_read,
            "files_opened": self.files_opened,
            "row_groups": self.row_groups,
            "row_groups_read": self.row_groups_read,
            "bytes": self.bytes,
            "size": self.size,
            "paths": [
                {"path": one.path, "typed": one.typed, "both": one.both, "residual": one.residual, "nowhere": one.nowhere}
                for one in self.paths
            ],
            "details": [
                {
                    "path": file.path,
                    "size": file.size,
                    "reason": file.reason,
                    "row_groups": [
                        {"number": one.number, "rows": one.rows, "read": one.is_read, "reason": one.reason, "bytes": one.bytes}
                        for one in file.row_groups
                    ],
                }
                for file in self.files
            ],
        }

    def __str__(self) -> str:
        lines = [
            f"predicate   {self.predicate or 'none: all rows'}",
            f"files       {self.files_read:,} of {len(self.files):,} are read"
            + (f", {self.files_opened:,} are opened" if self.files_opened < len(self.files) else ""),
            f"row groups  {self.row_groups_read:,} of {self.row_groups:,} are read; selected columns only from pages with matching rows",
            f"bytes       {self.bytes:,} of {self.size:,}",
        ]
        for one in self.paths:
            told = [
                f"{what} in {count:,}"
                for what, count in (
                    ("typed column", one.typed),
                    ("typed column and residual", one.both),
                    ("residual", one.residual),
                    ("null throughout", one.nowhere),
                )
                if count
            ]
            lines.append(f"path        {one.path}: {', '.join(told)} row groups")
        for file in self.files:
            fate = "" if file.is_read else ": skipped" if file.reason is None else f": not opened, {file.reason}"
            lines.append(f"file        {file.path}{fate}")
            before: tuple[bool, str] | None = None
            first = 0
            for group in [*file.row_groups, None]:
                now = None if group is None else (group.is_read, group.reason)
                if now != before:
                    if before is not None:
                        last = (group.number if group is not None else len(file.row_groups)) - 1
                        numbers = f"row group {first}" if first == last else f"row groups {first} to {last}"
                        lines.append(f"            {numbers} {'read' if before[0] else 'skipped'}: {before[1]}")
                    first = group.number if group is not None else 0
                    before = now
        return "\n".join(lines)
