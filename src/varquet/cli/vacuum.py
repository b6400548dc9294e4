"""`varquet vacuum`: clear up behind jobs that have died."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from varquet.cli.output import JsonSwitch, Output
from varquet.errors import VarquetError

__all__ = ["EXAMPLE", "vacuum"]

EXAMPLE: Final = "Example: varquet vacuum lake/events"


def vacuum(
    path: Annotated[str, typer.Argument(metavar="TABLE", help="The folder of a table, or its URI.", show_default=False)],
    older_than: Annotated[
        float, typer.Option("--older-than", min=0, metavar="HOURS", help="Also end jobs that have changed nothing for so long.")
    ] = 24,
    as_json: JsonSwitch = False,
) -> None:
    """Finish commits that were begun, and delete what jobs have left that died before theirs. The rows of the table stay as they are."""
    from varquet.tables.directory import DirectoryTable
    from varquet.tables.folder import Folder

    table = DirectoryTable(Folder.at(path))
    if not table.folder.exists():
        raise VarquetError(f"expected the folder of a table, got {path}, which does not exist")
    done = table.vacuum(older_than * 3600)
    lines = [("jobs", f"{len(done):,} cleared away"), *(("", name) for name in done)]
    Output.choose(as_json=as_json).result({"path": path, "jobs": done}, lines)
