"""`varquet diff`: whether two datasets hold the same values."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Final

import typer

from varquet.cli.exit_codes import ExitCode
from varquet.cli.output import JsonSwitch, Output

if TYPE_CHECKING:
    from varquet.parquet.diff import Comparison, Difference, Place

__all__ = ["EXAMPLE", "diff"]

EXAMPLE: Final = "Example: varquet diff draft.parquet events.parquet"


def diff(
    left: Annotated[str, typer.Argument(metavar="A", help="A Parquet file, a folder of them, or a glob.", show_default=False)],
    right: Annotated[str, typer.Argument(metavar="B", help="What it is compared with.", show_default=False)],
    columns: Annotated[
        str | None, typer.Option("--columns", help="Compare these columns: names with commas between.", show_default="all columns")
    ] = None,
    most: Annotated[int, typer.Option("-n", "--most", min=0, help="Describe so many differences; all are counted.")] = 10,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="How many threads to use.", show_default="VARQUET_THREADS or all cores")
    ] = None,
    as_json: JsonSwitch = False,
) -> None:
    """Compare two datasets row by row by what their values mean, whatever layout, files and row groups they are in.

    The exit code is 0 if they are equal and 1 if not. 1 and 1.00 are equal, and so are objects in any order of their fields; 1 and
    1e0 are not, nor are a null and nothing. JSON text is compared with Variants as the Variants that it stands for.
    """
    from varquet.parquet.diff import diff as compare
    from varquet.parquet.reader import count_rows

    out = Output.choose(as_json=as_json)
    rows = max(count_rows(left), count_rows(right))
    with out.progress("comparing", rows) as advance:
        found = compare(left, right, columns.split(",") if columns is not None else None, most=most, on_rows=advance, threads=threads)
    out.result({"equal": found.is_equal, **dataclasses.asdict(found)}, _lines(found))
    if not found.is_equal:
        raise typer.Exit(ExitCode.FINDINGS)


def _lines(found: Comparison) -> list[tuple[str, str]]:
    rows = f"{found.left_rows:,}" if found.left_rows == found.right_rows else f"{found.left_rows:,} and {found.right_rows:,}"
    lines = [
        ("rows", rows),
        ("columns", ", ".join(found.columns)),
        ("result", "equal" if found.is_equal else f"{found.differing_rows:,} rows differ"),
    ]
    for one in found.differences:
        lines += [("", ""), *_described(one)]
    return lines


def _described(one: Difference) -> list[tuple[str, str]]:
    if one.column is None:
        return [("A", _place(one.left)), ("B", _place(one.right))]
    return [
        ("at", f"{one.column} {one.path}"),
        ("A", f"{_place(one.left)}: {'nothing' if one.left_value is None else one.left_value}"),
        ("B", f"{_place(one.right)}: {'nothing' if one.right_value is None else one.right_value}"),
    ]


def _place(place: Place | None) -> str:
    return "no such row" if place is None else f"{place.file} row {place.row:,}"
