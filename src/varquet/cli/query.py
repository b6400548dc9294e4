"""`varquet query`: rows and paths of Parquet files, of which only what is asked for is read."""

from __future__ import annotations

import enum
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from varquet.cli.files import new_file
from varquet.cli.output import JsonSwitch, Output
from varquet.errors import VarquetError

if TYPE_CHECKING:
    from varquet.queries.scanning import Scan

__all__ = ["EXAMPLE", "FormatChoice", "query"]

EXAMPLE: Final = "Example: varquet query events.parquet --select 'id = $.user.id bigint' --where \"$.type = 'click'\" -n 10"

_SHOWN_ROWS: Final = 100


class FormatChoice(enum.StrEnum):
    """How rows are printed or written."""

    TABLE = "table"
    NDJSON = "ndjson"
    ARROW = "arrow"
    PARQUET = "parquet"


def query(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH", help="Parquet files, folders of them, globs, or URIs such as s3://bucket/folder.", show_default=False
        ),
    ],
    select: Annotated[
        list[str] | None,
        typer.Option(
            "--select", "-s", metavar="[NAME =] PATH [TYPE]", help="A column of the result; can be given again.", show_default="all columns"
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", "-w", metavar="PREDICATE", help="Which rows; given again, all must hold.", show_default="all rows"),
    ] = None,
    column: Annotated[
        str | None, typer.Option("--column", help="The Variant column that paths speak of.", show_default="the only one")
    ] = None,
    version: Annotated[
        int | None, typer.Option("--version", min=0, help="An earlier version of a Delta table.", show_default="the newest")
    ] = None,
    timestamp: Annotated[
        str | None,
        typer.Option("--timestamp", metavar="TIME", help="A Delta table as it was at 2026-01-31T12:00Z.", show_default="now"),
    ] = None,
    rows: Annotated[int | None, typer.Option("-n", "--rows", min=0, help="Stop after so many rows.", show_default="all rows")] = None,
    count: Annotated[bool, typer.Option("--count", help="Print only how many rows there are.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Print what would be read and what skipped, and why; read nothing.")] = False,
    form: Annotated[
        FormatChoice | None, typer.Option("--format", help="How rows are written.", show_default="a table for people, else ndjson")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write to this file.", show_default="standard output")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")] = False,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="How many threads to use.", show_default="VARQUET_THREADS or all cores")
    ] = None,
    as_json: JsonSwitch = False,
) -> None:
    """Read paths of Variant columns as typed columns, only from the row groups that may have matching rows.

    PREDICATE compares paths with literals: = != < <= > >= IN BETWEEN STARTS WITH, IS NULL, IS NAN, with AND, OR, NOT and brackets:
    "$.user.age >= 18 and $.country in ('DE', 'FR')". A path is compared as the type of its literal, or as one that is named:
    $.amount::decimal(18,2). Columns that are no Variants go by their names. docs/queries.md has all of it.
    """
    from varquet.queries.scanning import scan

    asked = scan(paths, column=column, threads=threads, version=version, timestamp=timestamp)
    if select:
        asked = asked.select(_selection(select))
    for predicate in where or []:
        asked = asked.where(predicate)
    if rows is not None:
        asked = asked.limit(rows)
    out = Output.choose(as_json=as_json)
    if explain:
        explanation = asked.explain()
        out.tables(explanation.to_dict(), lambda: [_text(str(explanation))])
    elif count:
        found = asked.count()
        out.result({"rows": found}, [("rows", f"{found:,}")])
    else:
        _print_rows(asked, form or _form(output, as_json=as_json), output, force=force)


def _selection(texts: list[str]) -> dict[str, Any]:
    """Names and paths; `NAME = PATH` gives a name."""
    from varquet.queries.grammar import parse_operand
    from varquet.queries.scanning import name_of

    made: dict[str, Any] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        if equals and "$" not in name and "'" not in name and '"' not in name:
            name, operand = name.strip(), parse_operand(rest)
        else:
            operand = parse_operand(text)
            name = name_of(operand)
        if name in made:
            raise VarquetError(f"expected columns with different names, got {name!r} twice", hint="write --select 'name = $.path type'")
        made[name] = operand
    return made


def _form(output: Path | None, *, as_json: bool) -> FormatChoice:
    if output is not None:
        known = {".parquet": FormatChoice.PARQUET, ".arrow": FormatChoice.ARROW, ".arrows": FormatChoice.ARROW}
        return known.get(output.suffix, FormatChoice.NDJSON)
    return FormatChoice.TABLE if sys.stdout.isatty() and not as_json else FormatChoice.NDJSON


def _print_rows(asked: Scan, form: FormatChoice, output: Path | None, *, force: bool) -> None:
    if form is FormatChoice.PARQUET:
        if output is None:
            raise VarquetError("expected a file for Parquet, got standard output", hint="-o FILE.parquet")
        from varquet.parquet.writer import write

        write(asked.reader(), output, overwrite=force)
    elif form is FormatChoice.TABLE and output is None:
        _print_table(asked)
    elif output is not None:
        with new_file(output, force=force) as file:
            _write_rows(asked, form, file)
    else:
        _write_rows(asked, form, sys.stdout.buffer)


def _write_rows(asked: Scan, form: FormatChoice, file: Any) -> None:
    if form is FormatChoice.ARROW:
        import pyarrow as pa

        with pa.ipc.new_stream(file, asked.schema) as writer:
            for batch in asked.batches():
                writer.write_batch(batch)
        return
    from varquet.parquet.json_rows import json_lines

    for batch in asked.batches():
        file.write(json_lines(batch, bare=False))


def _print_table(asked: Scan) -> None:
    import json

    from rich.console import Console
    from rich.table import Table

    from varquet.parquet.json_rows import json_lines

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in asked.schema.names:
        table.add_column(name, overflow="ellipsis", no_wrap=True)
    shown, is_more = 0, False
    for batch in asked.batches():
        for line in bytes(json_lines(batch, bare=False)).splitlines():
            if shown == _SHOWN_ROWS:
                is_more = True
                break
            values = json.loads(line, parse_float=str, parse_int=str)
            table.add_row(*("" if value is None else value if isinstance(value, str) else json.dumps(value) for value in values.values()))
            shown += 1
        if is_more:
            break
    console = Console(highlight=False)
    console.print(table)
    if is_more:
        console.print(f"the first {shown} rows; -n {_SHOWN_ROWS} or fewer, or --format ndjson for all", style="dim")


def _text(text: str) -> Any:
    from rich.text import Text

    return Text(text)
