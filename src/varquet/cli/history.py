"""`varquet history`: what was done to a Delta table."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from varquet.cli.output import JsonSwitch, Output

__all__ = ["EXAMPLE", "history"]

EXAMPLE: Final = "Example: varquet history lake/events -n 5"


def history(
    path: Annotated[str, typer.Argument(metavar="TABLE", help="The folder of a Delta table, or its URI.", show_default=False)],
    limit: Annotated[int | None, typer.Option("-n", "--versions", min=1, help="The newest so many.", show_default="all")] = None,
    as_json: JsonSwitch = False,
) -> None:
    """List the versions of a Delta table, the newest first: when each was made, by which operation and engine, and what it changed."""
    from varquet.tables.delta import history as versions_of

    found = versions_of(path, limit)
    lines = []
    for one in found:
        counts = ", ".join(f"{name} {value}" for name, value in one.metrics.items())
        told = [one.timestamp.isoformat(timespec="seconds"), one.operation or "", one.engine or "", counts]
        lines.append((f"version {one.version}", "  ".join(filter(None, told))))
    Output.choose(as_json=as_json).result({"path": path, "versions": [one.to_dict() for one in found]}, lines)
