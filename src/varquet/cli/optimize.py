"""`varquet optimize`: the small files of a Delta table become larger ones."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Final

import typer

from varquet.cli.output import JsonSwitch, Output

__all__ = ["EXAMPLE", "optimize"]

EXAMPLE: Final = 'Example: varquet optimize lake/events --sort-by "$.user.id bigint"'


def optimize(
    path: Annotated[str, typer.Argument(metavar="TABLE", help="The folder of a Delta table, or its URI.", show_default=False)],
    sort_by: Annotated[
        list[str] | None,
        typer.Option("--sort-by", metavar="PATH", help='Cluster all rows by a path, as "$.user.id bigint"; can be given again.'),
    ] = None,
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="A plan for the table, instead of its own.", show_default="none")
    ] = None,
    reshred: Annotated[bool, typer.Option("--reshred", help="Also write files anew that were shredded by another plan.")] = False,
    file_bytes: Annotated[
        int | None, typer.Option("--file-bytes", min=1, help="How large files should be, about.", show_default="134217728")
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="How many threads to use.", show_default="VARQUET_THREADS or all cores")
    ] = None,
    as_json: JsonSwitch = False,
) -> None:
    """Write the small files of a Delta table together into larger ones, by its current plan; with --sort-by in order, so that more can be
    skipped. Its rows stay the same, and older versions can be read until vacuum."""
    from varquet.columns.threads import thread_count
    from varquet.profiles.plan import Plan
    from varquet.tables.delta import optimize as optimize_table
    from varquet.tables.writing import FILE_BYTES

    started = time.monotonic()
    done = optimize_table(
        path,
        None if plan is None else Plan.load(plan),
        sort_by=sort_by or (),
        reshred=reshred,
        file_bytes=file_bytes or FILE_BYTES,
        threads=thread_count(threads),
    )
    lines = [
        ("version", f"{done.version:,}"),
        ("files", f"{done.removed_files:,} became {done.added_files:,}"),
        ("bytes", f"{done.removed_bytes:,} became {done.added_bytes:,}"),
        ("rows", f"{done.rows:,}"),
        ("time", f"{time.monotonic() - started:.2f} s"),
    ]
    Output.choose(as_json=as_json).result(done.to_dict(), lines)
