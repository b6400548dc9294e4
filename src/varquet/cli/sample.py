"""`varquet sample`: made-up data to try things on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from varquet.cli.files import new_file
from varquet.cli.output import JsonSwitch, Output
from varquet.samples import Kind, write

__all__ = ["EXAMPLE", "sample"]

EXAMPLE: Final = "Example: varquet sample events -n 100000 -o events.ndjson"


def sample(
    kind: Annotated[Kind, typer.Argument(help="What the rows are about.", show_default=False)],
    rows: Annotated[int, typer.Option("-n", "--rows", min=0, help="How many rows.")] = 10,
    seed: Annotated[int, typer.Option(help="Another seed, other data; the same seed, the same data on every machine.")] = 0,
    start: Annotated[int, typer.Option(min=0, help="The first row; a part of the data is the same as in the whole.")] = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write to this file, and print what was written.", show_default="stdout")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    as_json: JsonSwitch = False,
) -> None:
    """Write rows of sample data as NDJSON (one JSON value per line), to stdout or to a file.

    events are nested and flawed as real ones are, github are webhook deliveries, headers are maps of HTTP headers.
    """
    out = Output.choose(as_json=as_json)
    if output is None or str(output) == "-":
        # The rows are the result, and JSON already. No progress: on a terminal it would run into them.
        write(kind, rows, sys.stdout.buffer, seed=seed, start=start)
        return
    with new_file(output, force=force) as file, out.progress(f"{kind} sample", rows) as advance:
        size = write(kind, rows, file, seed=seed, start=start, on_rows=advance)
    out.result(
        {"path": str(output), "kind": str(kind), "rows": rows, "bytes": size, "seed": seed, "start": start},
        [("path", str(output)), ("kind", str(kind)), ("rows", f"{rows:,}"), ("bytes", f"{size:,}")],
    )
