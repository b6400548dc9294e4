"""`varquet ingest`: NDJSON, JSON text or Variants to one Parquet file with a shredded Variant column; or, on Spark, to a table."""

from __future__ import annotations

import dataclasses
import enum
import functools
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from varquet.cli.files import check_new_file
from varquet.cli.output import JsonSwitch, Output
from varquet.errors import VarquetError

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from varquet.layouts.map_keys import MapKeysLike
    from varquet.parquet.sources import Batch, Refused, Source
    from varquet.profiles.facts import Profile
    from varquet.profiles.plan import Plan
    from varquet.schema import ShreddingSchema
    from varquet.tables.write_job import OnError as OnErrorOnSpark

__all__ = ["EXAMPLE", "Compression", "DuplicateKeys", "LayoutChoice", "ModeChoice", "OnError", "TableChoice", "ingest"]

EXAMPLE: Final = (
    'Example: varquet ingest events.ndjson events.parquet --schema "id bigint, type string, user struct<id: bigint, plan: string>"'
)


class OnError(enum.StrEnum):
    """What becomes of a text that is not JSON."""

    RAISE = "raise"
    NULL = "null"
    QUARANTINE = "quarantine"


class ModeChoice(enum.StrEnum):
    """What becomes of the rows that a table has."""

    APPEND = "append"
    OVERWRITE = "overwrite"
    OVERWRITE_PARTITIONS = "overwrite-partitions"
    ERROR = "error"
    IGNORE = "ignore"


class TableChoice(enum.StrEnum):
    """What kind of table DEST is."""

    DIRECTORY = "directory"
    DELTA = "delta"


class DuplicateKeys(enum.StrEnum):
    """What becomes of an object that has a field name twice."""

    ERROR = "error"
    LAST = "last"


class LayoutChoice(enum.StrEnum):
    """How shredded columns are laid out in the file."""

    PARQUET = "parquet"
    DRAFT = "draft"


class Compression(enum.StrEnum):
    """How the pages of the file are compressed."""

    ZSTD = "zstd"
    SNAPPY = "snappy"
    GZIP = "gzip"
    LZ4 = "lz4"
    BROTLI = "brotli"
    NONE = "none"


def ingest(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SRC", help="NDJSON or Parquet: files (also .gz, .zst), folders or globs; - is NDJSON on stdin.", show_default=False
        ),
    ],
    dest: Annotated[
        str,
        typer.Argument(metavar="DEST", help="The Parquet file to write; with --table or --spark the folder of it.", show_default=False),
    ],
    schema: Annotated[
        str | None,
        typer.Option(
            "--schema",
            metavar="DDL|@FILE",
            help='The paths that become columns: "id bigint, user struct<name: string>", JSON, or a file with it.',
            show_default="chosen by the data",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", metavar="FILE", help="A pinned plan instead of --schema, see varquet analyze --plan.", show_default="none"),
    ] = None,
    unshredded: Annotated[bool, typer.Option("--unshredded", help="Shred nothing: every value stays whole.")] = False,
    column: Annotated[
        str | None,
        typer.Option(
            "--column",
            help="The column of Parquet files to shred: JSON text, a Variant, or maps.",
            show_default="the only one",
        ),
    ] = None,
    map_column: Annotated[
        list[str] | None,
        typer.Option(
            "--map-column",
            help="A further column of Parquet files: maps that get columns for their hot keys; can be given again.",
            show_default="none",
        ),
    ] = None,
    output_column: Annotated[
        str | None,
        typer.Option("--output-column", help="The name of the Variant column in DEST.", show_default="v, or that of the Parquet column"),
    ] = None,
    on_error: Annotated[
        OnError | None,
        typer.Option(
            help="Stop at text that is not JSON, make it an SQL NULL and count it, or (with --spark) set it apart.",
            show_default="raise; with --spark quarantine",
        ),
    ] = None,
    duplicate_keys: Annotated[
        DuplicateKeys, typer.Option(help="A field name that occurs twice in an object is an error, or its last value counts.")
    ] = DuplicateKeys.ERROR,
    layout: Annotated[
        LayoutChoice, typer.Option("--layout", help="The Parquet standard's, which all engines read, or that of the first Spark draft.")
    ] = LayoutChoice.PARQUET,
    compression: Annotated[Compression, typer.Option(help="The compression of the file.")] = Compression.ZSTD,
    row_group_rows: Annotated[
        int | None, typer.Option("--row-group-rows", min=1, help="The most rows of a row group.", show_default="131072")
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="How many threads to use.", show_default="VARQUET_THREADS or all cores")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace DEST if it exists.")] = False,
    spark: Annotated[
        str | None,
        typer.Option(
            "--spark", metavar="MASTER", help="Run on Spark: local[*], local[4], spark://host:7077.", show_default="in this process"
        ),
    ] = None,
    table: Annotated[
        TableChoice | None,
        typer.Option(
            "--table",
            help="DEST is a table: a plain folder of Parquet files, or a Delta table.",
            show_default="a file; with --spark the table that is there, or a directory",
        ),
    ] = None,
    mode: Annotated[ModeChoice, typer.Option(help="For tables: what becomes of the rows that they have.")] = ModeChoice.APPEND,
    partition_by: Annotated[
        list[str] | None,
        typer.Option("--partition-by", metavar="PATH", help='For tables: folders by a path, as "$.type string"; can be given again.'),
    ] = None,
    sort_by: Annotated[
        list[str] | None,
        typer.Option("--sort-by", metavar="PATH", help='For tables: the order within files, as "$.user.id bigint"; can be given again.'),
    ] = None,
    evolve: Annotated[bool, typer.Option("--evolve", help="For tables: adapt the table's plan to the data.")] = False,
    merge_schema: Annotated[
        bool, typer.Option("--merge-schema", help="For Delta tables: add columns that the table has not got, instead of an error.")
    ] = False,
    properties: Annotated[
        list[str] | None,
        typer.Option("--property", metavar="NAME=VALUE", help="A property of a new Delta table; can be given again.", show_default="none"),
    ] = None,
    as_json: JsonSwitch = False,
) -> None:
    """Write NDJSON, a column of JSON text or a Variant column as a Parquet file with a shredded Variant column.

    A column of maps stays one: its hot keys get columns of their own.

    Without --schema or --plan the data is read twice: first to see which paths are worth a column, as `varquet analyze` does. (What
    comes from stdin cannot be, and stays whole, as with --unshredded.) What is chosen is recorded in DEST as a plan, and so is that
    of --plan. Whatever the schema does not name is kept. Other columns of Parquet files are kept as they are. DEST appears when it is
    complete; inputs larger than memory are fine.

    With --table DEST is a table, to which rows are added with the plan that it has: a folder of Parquet files, or a Delta table. With
    --spark the work is done by Spark, and texts that are not JSON go to the table's folder _quarantine, with file, line, offset and reason.
    """
    out = Output.choose(as_json=as_json)
    if sum((schema is not None, plan is not None, unshredded)) > 1:
        raise VarquetError("expected one of --schema, --plan and --unshredded, got several", hint="varquet ingest --help")
    if spark is not None:
        _ingest_on_spark(
            out, spark, sources, dest, schema, plan, unshredded=unshredded, column=output_column or column, on_error=on_error,
            duplicate_keys=duplicate_keys, layout=layout, compression=compression, row_group_rows=row_group_rows,
            mode=ModeChoice.OVERWRITE if force else mode, partition_by=partition_by, sort_by=sort_by, evolve=evolve,
            map_columns=map_column or [], table=table, merge_schema=merge_schema, properties=_properties(properties),
        )  # fmt: skip
        return
    if on_error is OnError.QUARANTINE:
        raise VarquetError("expected --spark with --on-error quarantine, got it without", hint="--spark 'local[*]' runs on this machine")
    if table is not None:
        from varquet.cli.ingest_table import ingest_into_table

        ingest_into_table(
            out, sources, dest, table, schema, plan, unshredded=unshredded, column=column, output_column=output_column, on_error=on_error,
            duplicate_keys=duplicate_keys, layout=layout, compression=compression, row_group_rows=row_group_rows, threads=threads,
            mode=ModeChoice.OVERWRITE if force else mode, partition_by=partition_by, sort_by=sort_by, evolve=evolve,
            merge_schema=merge_schema, properties=_properties(properties),
        )  # fmt: skip
        return
    if partition_by or sort_by or evolve or merge_schema or properties or mode is not ModeChoice.APPEND:
        raise VarquetError("expected --table or --spark with options for tables, got them without", hint="--table delta")
    target = check_new_file(Path(dest), force=force)
    # Behind the cheap checks: help and wrong calls need no Arrow.
    from varquet.cli.schemas import read_schema
    from varquet.columns.threads import thread_count
    from varquet.parquet.sources import find_sources, open_source
    from varquet.parquet.writer import ROW_GROUP_ROWS, FileWriter
    from varquet.profiles.plan import Plan
    from varquet.schema import ShreddingSchema

    shredding = ShreddingSchema.value() if schema is None else read_schema(schema)
    started = time.monotonic()
    count = thread_count(threads)
    source = open_source(
        find_sources(sources), column=column, output_column=output_column, duplicate_keys=duplicate_keys.value, threads=count
    )
    stop = on_error is not OnError.NULL
    hot = Plan.from_profiles({name: _counted_maps(sources, name, count) for name in map_column or ()}, maps=map_column or ())
    pinned = None
    if plan is not None:
        pinned = planned(plan, source.column, source.schema.names)
        pinned = dataclasses.replace(pinned, columns={**pinned.columns, **hot.columns})
    elif schema is None and not unshredded and source.can_be_read_again:
        with out.progress("counting", source.size) as advance:
            counts = counted(source, stop, advance, count)
        chosen = Plan.from_profiles({source.column: counts}, maps=[source.column] if source.is_map else [])
        pinned = Plan({**hot.columns, **chosen.columns})
    maps: dict[str, MapKeysLike] = {}
    if pinned is not None:
        shredding = pinned.columns[source.column].schema
    else:
        maps.update(hot.maps)
        if source.is_map:
            maps[source.column] = shredding
    found = Found(stop=stop)
    with (
        out.progress("ingesting", source.size) as advance,
        FileWriter(
            target,
            source.schema,
            pinned if pinned is not None else {} if source.is_map else {(source.column,): shredding},
            maps=maps,
            overwrite=force,
            layout=layout.value,
            compression=compression.value,
            row_group_rows=row_group_rows or ROW_GROUP_ROWS,
            threads=count,
        ) as writer,
    ):
        for number, make in enumerate(source.batches(advance)):
            writer.write(functools.partial(found.look, number, make))
    seconds = time.monotonic() - started
    written = writer.written
    size, refused, first = found.size, found.refused, found.first
    speed = size / 1e6 / max(seconds, 1e-9)
    out.result(
        {
            "path": dest,
            "rows": written.rows,
            "row_groups": written.row_groups,
            "bytes_in": size,
            "bytes_out": written.size,
            "seconds": round(seconds, 3),
            "mb_per_second": round(speed, 1),
            "column": source.column,
            "layout": layout.value,
            "schema": shredding.ddl(),
            "schema_columns": shredding.columns,
            "errors": refused,
            "first_errors": [dataclasses.asdict(one) for one in first],
        },
        [
            ("path", dest),
            ("rows", f"{written.rows:,} in {written.row_groups:,} row group{'' if written.row_groups == 1 else 's'}"),
            ("read", f"{size:,} bytes"),
            ("written", f"{written.size:,} bytes"),
            ("time", f"{seconds:.2f} s, {speed:,.0f} MB/s"),
            ("column", f"{source.column}, in {shredding.columns} columns"),
            *([("errors", f"{refused:,} texts that are not JSON became SQL NULL")] if refused else []),
            *(("", str(one.error())) for one in first),
        ],
    )


def _ingest_on_spark(
    out: Output,
    master: str,
    sources: list[str],
    dest: str,
    schema: str | None,
    plan: Path | None,
    *,
    unshredded: bool,
    column: str | None,
    on_error: OnError | None,
    mode: ModeChoice,
    partition_by: list[str] | None,
    sort_by: list[str] | None,
    map_columns: list[str],
    duplicate_keys: DuplicateKeys,
    layout: LayoutChoice,
    compression: Compression,
    row_group_rows: int | None,
    evolve: bool,
    table: TableChoice | None,
    merge_schema: bool,
    properties: dict[str, str],
) -> None:
    try:
        from varquet.spark import ingest as ingest_into_table
        from varquet.spark.sessions import start_session
    except ModuleNotFoundError as error:
        raise VarquetError(f"expected the package {error.name}, which is not installed", hint="pip install 'varquet[spark]'") from None
    from varquet.cli.schemas import read_schema
    from varquet.parquet.sources import STDIN
    from varquet.parquet.writer import ROW_GROUP_ROWS
    from varquet.profiles.plan import Plan

    if STDIN in sources:
        raise VarquetError("expected files, got stdin, which Spark's workers cannot read", hint="write it to a file first")
    given: Plan | dict[str, ShreddingSchema] | None = None
    if plan is not None:
        given = Plan.load(plan)
    elif schema is not None:
        given = {column or "v": read_schema(schema)}
    elif unshredded:
        given = {}
    errors: dict[OnError, OnErrorOnSpark] = {OnError.QUARANTINE: "quarantine", OnError.RAISE: "fail", OnError.NULL: "null"}
    session = start_session(master, "varquet ingest")
    try:
        report = ingest_into_table(
            session,
            sources,
            dest,
            given,
            column=column,
            map_columns=map_columns,
            partition_by=partition_by or (),
            sort_by=sort_by or (),
            mode=mode.value,
            on_error=errors[on_error or OnError.QUARANTINE],
            duplicate_keys=duplicate_keys.value,
            evolve=evolve,
            row_group_rows=row_group_rows or ROW_GROUP_ROWS,
            layout=layout.value,
            compression=compression.value,
            table=None if table is None else table.value,
            merge_schema=merge_schema,
            properties=properties,
        )
    finally:
        session.stop()
    out.result(report.to_dict(), report.lines())


def _properties(given: list[str] | None) -> dict[str, str]:
    pairs = [one.partition("=") for one in given or ()]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise VarquetError(f"expected --property NAME=VALUE, got {name!r}", hint="--property delta.appendOnly=true")
    return {name: value for name, _, value in pairs}


def planned(path: Path, column: str, names: list[str]) -> Plan:
    """The plan of a file for one column, and for the maps among the others."""
    from varquet.profiles.plan import Plan

    found = Plan.load(path)
    if column not in found.columns:
        raise VarquetError(
            f"expected a plan for column {column}, got {path} with {', '.join(found.columns)}", hint="--output-column names it"
        )
    kept = {name: one for name, one in found.columns.items() if name == column or (one.is_map and name in names)}
    return Plan(kept, found.step)


def counted(source: Source, stop: bool, advance: Callable[[int], None], threads: int) -> Profile:
    """What a source holds."""
    from varquet.profiles.profiling import profile_batches

    return profile_batches(lambda: source.columns(advance, stop=stop), threads=threads)


def _counted_maps(sources: list[str], column: str, threads: int) -> Profile:
    """What a column of maps holds that is not the one that is shredded."""
    from varquet.profiles.profiling import map_column, profile

    if map_column(sources, column) is None:
        raise VarquetError(f"expected a column of maps, got {column}", hint="--column names JSON text and Variants")
    return profile(sources, column, threads=threads)


class Found:
    """What the threads that parse have found: how many bytes, and which texts are not JSON."""

    def __init__(self, *, stop: bool) -> None:
        self.stop = stop
        self.batches: list[tuple[int, int, int, list[Refused]]] = []

    def look(self, number: int, make: Callable[[], Batch]) -> pa.RecordBatch:
        """The rows of a batch; an error if it has texts that are not JSON and that is to end it all."""
        batch = make()
        if batch.refused and self.stop:
            raise batch.first_refused[0].error()
        self.batches.append((number, batch.size, batch.refused, batch.first_refused))
        return batch.rows

    @property
    def size(self) -> int:
        return sum(size for _, size, _, _ in self.batches)

    @property
    def refused(self) -> int:
        return sum(refused for _, _, refused, _ in self.batches)

    @property
    def first(self) -> list[Refused]:
        """The first few in the order of the rows."""
        from varquet.parquet.sources import FIRST_REFUSED

        return [one for _, _, _, first in sorted(self.batches, key=lambda batch: batch[0]) for one in first][:FIRST_REFUSED]
