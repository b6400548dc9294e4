"""`varquet cat`: the rows of Parquet files as NDJSON."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from varquet.cli.output import JsonSwitch
from varquet.errors import VarquetError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["EXAMPLE", "cat"]

EXAMPLE: Final = "Example: varquet cat events.parquet -n 5"

_BATCH_ROWS: Final = 16_384


def cat(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Parquet files, folders of them, or globs.", show_default=False)],
    column: Annotated[
        str | None, typer.Option("--column", help="Print the values of this column only.", show_default="all columns")
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="Print these columns: names with commas between.", show_default="all columns")
    ] = None,
    rows: Annotated[int | None, typer.Option("-n", "--rows", min=0, help="Stop after so many rows.", show_default="all rows")] = None,
    as_json: JsonSwitch = False,
) -> None:
    """Print the rows of Parquet files as NDJSON (one JSON value per line), exactly: Variants shredded or not, whoever wrote them.

    A file with one column, a Variant, gives its values; one with more gives an object of all columns for each row. Dates,
    timestamps, binary and decimals have the same text forms in any column. An SQL NULL is printed as null.
    """
    from varquet.parquet.json_rows import json_lines
    from varquet.parquet.positions import is_variant_field
    from varquet.parquet.reader import files_of, open_file

    if column is not None and columns is not None:
        raise VarquetError("expected --column or --columns, got both", hint="varquet cat --help")
    wanted = [column] if column is not None else columns.split(",") if columns is not None else None
    left = sys.maxsize if rows is None else rows

    def with_lines(batch: pa.RecordBatch, *, bare: bool) -> tuple[pa.RecordBatch, memoryview]:
        return batch, json_lines(batch, bare=bare)

    # The rows are the result, and JSON already. No progress: on a terminal it would run into them.
    for path in files_of(paths):
        if left == 0:
            break
        file = open_file(path, wanted)
        bare = column is not None or (len(file.schema) == 1 and is_variant_field(file.schema.field(0)))
        for batch, lines in file.map_batches(functools.partial(with_lines, bare=bare), batch_rows=max(1, min(left, _BATCH_ROWS))):
            sys.stdout.buffer.write(lines if batch.num_rows <= left else json_lines(batch.slice(0, left), bare=bare))
            left -= min(left, batch.num_rows)
            if left == 0:
                break
