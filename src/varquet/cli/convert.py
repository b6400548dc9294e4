"""`varquet convert`: Parquet files from one layout of Variants to another."""

from __future__ import annotations

import dataclasses
import enum
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from varquet.cli.ingest import Compression, TableChoice
from varquet.cli.output import JsonSwitch, Output
from varquet.errors import VarquetError

__all__ = ["EXAMPLE", "TargetChoice", "convert"]

EXAMPLE: Final = "Example: varquet convert draft.parquet events.parquet --layout parquet"

_SHOWN: Final = 20


class TargetChoice(enum.StrEnum):
    """What the Variants of the files become."""

    PARQUET = "parquet"
    DRAFT = "draft"
    UNSHREDDED = "unshredded"
    JSON = "json"


def convert(
    sources: Annotated[list[str], typer.Argument(metavar="SRC", help="Parquet files, folders of them, or globs.", show_default=False)],
    dest: Annotated[
        Path, typer.Argument(metavar="DEST", help="The file to write; a folder where SRC is more than one file.", show_default=False)
    ],
    layout: Annotated[
        TargetChoice,
        typer.Option("--layout", help="The Parquet standard's, that of the first Spark draft, one unshredded column, or JSON text."),
    ] = TargetChoice.PARQUET,
    schema: Annotated[
        str | None,
        typer.Option("--schema", metavar="DDL|@FILE", help="The paths that become columns.", show_default="those that are columns now"),
    ] = None,
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="A pinned plan instead of --schema.", show_default="none")
    ] = None,
    maps: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="COLUMN=KEYS",
            help="The hot keys of a column of maps: headers=content-type,user-agent; none makes it a plain map. Can be given again.",
            show_default="those that they have",
        ),
    ] = None,
    json_column: Annotated[
        list[str] | None,
        typer.Option("--json-column", help="A column of JSON text that becomes a Variant; can be given again.", show_default="those known"),
    ] = None,
    compression: Annotated[Compression, typer.Option(help="The compression of the files.")] = Compression.ZSTD,
    table: Annotated[
        TableChoice | None,
        typer.Option("--table", help="DEST is a table with all rows of SRC, as delta.", show_default="files like those of SRC"),
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="How many threads to use.", show_default="VARQUET_THREADS or all cores")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    as_json: JsonSwitch = False,
) -> None:
    """Write Parquet files again with their Variants and maps in another layout; every value is compared with itself on the way.

    The number of values and the sum of their fingerprints are printed, and recorded in the footer of each file under
    varquet.content. A value that would not be the same is an error, and leaves no file.
    """
    from varquet.cli.schemas import read_schema
    from varquet.parquet.convert import convert as convert_files
    from varquet.parquet.reader import count_rows
    from varquet.profiles.plan import Plan

    out = Output.choose(as_json=as_json)
    if schema is not None and plan is not None:
        raise VarquetError("expected --schema or --plan, got both", hint="varquet convert --help")
    if table is not None:
        if layout is not TargetChoice.PARQUET:
            raise VarquetError(f"expected the standard's layout in a table, got {layout.value}", hint="leave --layout out")
        _convert_to_table(out, sources, dest, table, schema, plan, json_column or [], compression, force=force, threads=threads)
        return
    pinned = None if schema is None else read_schema(schema)
    started = time.monotonic()
    source = sources[0] if len(sources) == 1 else sources
    rows = count_rows(source)
    with out.progress("converting", rows) as advance:
        converted = convert_files(
            source,
            dest,
            layout.value,
            pinned if plan is None else Plan.load(plan),
            maps=_maps(maps or []),
            json_columns=json_column or (),
            overwrite=force,
            compression=compression.value,
            on_rows=advance,
            threads=threads,
        )
    seconds = time.monotonic() - started
    lines = [
        ("files", f"{len(converted):,}"),
        ("rows", f"{rows:,}"),
        ("layout", layout.value),
        ("written", f"{sum(file.size for file in converted):,} bytes"),
        ("time", f"{seconds:.2f} s"),
    ]
    for file in converted[:_SHOWN]:
        contents = ", ".join(f"{name} {content.values:,} values {content.fingerprint}" for name, content in file.contents.items())
        lines.append(("verified", f"{file.path}: {contents or 'no Variants'}"))
    if len(converted) > _SHOWN:
        lines.append(("", f"and {len(converted) - _SHOWN:,} more; --json lists all"))
    data = {
        "layout": layout.value,
        "rows": rows,
        "seconds": round(seconds, 3),
        "files": [dataclasses.asdict(file) for file in converted],
    }
    out.result(data, lines)


def _maps(texts: list[str]) -> dict[str, str]:
    """The hot keys by column."""
    found: dict[str, str] = {}
    for text in texts:
        column, equals, keys = text.partition("=")
        if not equals:
            raise VarquetError(f"expected a column and its hot keys, got {text}", hint="--map headers=content-type,user-agent")
        found[column] = keys
    return found


def _convert_to_table(
    out: Output,
    sources: list[str],
    dest: Path,
    table: TableChoice,
    schema: str | None,
    plan: Path | None,
    json_columns: list[str],
    compression: Compression,
    *,
    force: bool,
    threads: int | None,
) -> None:
    """All rows of files as a table; without a plan their values tell which paths become columns."""
    from varquet.cli.schemas import read_schema
    from varquet.columns.threads import thread_count
    from varquet.parquet.positions import find_variants
    from varquet.profiles.plan import Plan
    from varquet.profiles.profiling import profile
    from varquet.queries.scanning import scan
    from varquet.tables.write import write_table
    from varquet.tables.write_job import plan_of

    source = sources[0] if len(sources) == 1 else sources
    rows = scan(source, threads=threads)
    names = [*json_columns, *(position[0] for position in find_variants(rows.schema) if len(position) == 1)]
    if plan is not None:
        given = Plan.load(plan)
    elif schema is not None:
        if len(names) != 1:
            raise VarquetError(f"expected one Variant column for --schema, got {', '.join(names) or 'none'}", hint="--plan is for several")
        given = plan_of({names[0]: read_schema(schema)})
    else:
        given = Plan.from_profiles({name: profile(rows.select([name]).table(), name) for name in names})
    report = write_table(
        rows.reader(),
        dest,
        given,
        table=table.value,
        mode="overwrite" if force else "error",
        json_columns=json_columns,
        compression=compression.value,
        threads=thread_count(threads),
    )
    out.result(report.to_dict(), report.lines())
