"""`varquet vacuum`: clear up behind jobs that have died."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from varquet.cli.output import JsonSwitch, Output
from varquet.errors import VarquetError

__all__ = ["EXAMPLE", "vacuum"]

EXAMPLE: Final = "Example: varquet vacuum lake/events"
_DAY_HOURS: Final = 24
_SHOWN: Final = 20


def vacuum(
    path: Annotated[str, typer.Argument(metavar="TABLE", help="The folder of a table, or its URI.", show_default=False)],
    older_than: Annotated[
        float | None,
        typer.Option(
            "--older-than",
            min=0,
            metavar="HOURS",
            help="Also end jobs that have changed nothing for so long; of a Delta table, delete what was removed before.",
            show_default="24; of a Delta table its retention",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Of a Delta table: only say what would be deleted.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Of a Delta table: keep files for less than its retention.")] = False,
    as_json: JsonSwitch = False,
) -> None:
    """Finish commits that were begun, and delete what jobs have left that died before theirs; of a Delta table, also the files that no
    version within its retention needs. The rows of the table stay as they are."""
    from varquet.delta.files import is_table
    from varquet.parquet.folder import Folder
    from varquet.tables.delta import vacuum as vacuum_delta
    from varquet.tables.directory import DirectoryTable

    table = DirectoryTable(Folder.at(path))
    if not table.folder.exists():
        raise VarquetError(f"expected the folder of a table, got {path}, which does not exist")
    if is_table(table.folder):
        found = vacuum_delta(path, None if older_than is None else older_than * 3600, dry_run=dry_run, force=force)
        told = "would be deleted" if dry_run else "deleted"
        shown = [("files", f"{len(found.files):,} {told}, {found.bytes:,} bytes"), *(("", name) for name in found.files[:_SHOWN])]
        data = {"path": path, "files": found.files, "bytes": found.bytes, "dry_run": dry_run}
        Output.choose(as_json=as_json).result(data, shown)
        return
    if dry_run or force:
        raise VarquetError("expected --dry-run and --force for Delta tables, got them for a plain folder")
    done = table.vacuum(_DAY_HOURS * 3600 if older_than is None else older_than * 3600)
    lines = [("jobs", f"{len(done):,} cleared away"), *(("", name) for name in done)]
    Output.choose(as_json=as_json).result({"path": path, "jobs": done}, lines)
