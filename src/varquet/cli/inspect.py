"""`varquet inspect`: what is where in Parquet files with columns of Variants and shredded maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from varquet.cli.output import JsonSwitch, Output

if TYPE_CHECKING:
    from varquet.parquet.inspect import Inspection

__all__ = ["EXAMPLE", "inspect"]

EXAMPLE: Final = "Example: varquet inspect events.parquet"

_MOST_OF_BOUND: Final = 24


def inspect(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Parquet files, folders of them, or globs.", show_default=False)],
    column: Annotated[
        list[str] | None,
        typer.Option("--column", help="Look at this column only; can be given again.", show_default="all Variants and shredded maps"),
    ] = None,
    as_json: JsonSwitch = False,
) -> None:
    """Show the paths of shredded Variants: how much of each is in its typed column, how much is not, and what it costs.

    typed is what lies in typed_value, residual what lies in value because it has another type, null are Variant nulls, missing
    is what is not there; partial are objects of which some fields have no column. All are counted exactly, and most come
    from the footers. Of maps with hot keys each key is shown, and what is left in the map.
    """
    from varquet.parquet.inspect import inspect as inspect_files
    from varquet.parquet.reader import files_of

    out = Output.choose(as_json=as_json)
    files = files_of(paths)
    with out.progress("inspecting", len(files)) as advance:
        found = inspect_files(files, column or None, on_file=lambda: advance(1))
    out.tables(_data(found), lambda: _tables(found))


def _data(found: Inspection) -> dict[str, Any]:
    files = [{**file, "shredding": dict(file["shredding"])} for file in found.files.to_pylist()]
    return {
        "paths": found.paths.to_pylist(),
        "files": files,
        "row_groups": found.row_groups.to_pylist(),
        "maps": found.maps.to_pylist(),
    }


def _tables(found: Inspection) -> list[Any]:
    from rich.text import Text

    rows, files = found.paths.to_pylist(), found.files.to_pylist()
    total, size = sum(file["rows"] for file in files), sum(file["size"] for file in files)
    groups = sum(file["row_groups"] for file in files)
    shown: list[Any] = [
        Text(f"{_count(len(files), 'file')}, {_count(total, 'row')}, {_count(groups, 'row group')}, {size:,} bytes"),
    ]
    maps = found.maps.to_pylist()
    if not rows and not maps:
        shown.append(Text("no Variant column"))
    for column in dict.fromkeys(row["column"] for row in rows):
        sizes = [group for group in found.row_groups.to_pylist() if group["column"] == column]
        parts = {part: sum(group[f"{part}_compressed_bytes"] for group in sizes) for part in ("metadata", "value", "typed")}
        label = ", ".join(f"{part} {number:,}" for part, number in parts.items())
        shown += [Text(), Text.assemble((_printable(column), "bold"), f"  {sum(parts.values()):,} bytes ({label})")]
        shown.append(_tree([row for row in rows if row["column"] == column]))
    for column in dict.fromkeys(row["column"] for row in maps):
        keys = [row for row in maps if row["column"] == column]
        shown += [Text(), Text.assemble((_printable(column), "bold"), f"  {sum(row['compressed_bytes'] for row in keys):,} bytes")]
        shown.append(_keys(keys))
    return shown


def _keys(rows: Sequence[dict[str, Any]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("key", "type"):
        table.add_column(name, overflow="fold")
    for name in ("rows", "values", "in the residual", "bytes"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        key = "(the residual)" if row["key"] is None else _printable(row["key"])
        beside = "" if row["key"] is None else "not known" if row["beside"] is None else f"{row['beside']:,}"
        table.add_row(*map(Text, (key, row["type"], f"{row['rows']:,}", f"{row['values']:,}", beside, f"{row['compressed_bytes']:,}")))
    return table


def _tree(rows: Sequence[dict[str, Any]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    partial = any(row["partial"] for row in rows)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("path", "type"):
        table.add_column(name, overflow="fold")
    for name in ("rows", "typed", *(("partial",) if partial else ()), "residual", "null", "missing", "bytes"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("min .. max", overflow="fold")
    above: list[str] = []
    for row in rows:
        above = [*above[: row["depth"]], row["path"]]
        step = row["path"].removeprefix(above[-2]).removeprefix(".") if row["depth"] else row["path"]
        kinds = ("typed", *(("partial",) if partial else ()), "residual", "variant_null", "missing")
        bounds = "" if row["min"] is None else f"{_short(row['min'])} .. {_short(row['max'])}"
        cells = ["  " * row["depth"] + _printable(step), row["type"], f"{row['rows']:,}"]
        cells += [_share(row[kind], row["rows"]) for kind in kinds]
        table.add_row(*map(Text, (*cells, f"{row['compressed_bytes']:,}", bounds)))
    return table


def _share(part: int, whole: int) -> str:
    """A share that is 0 % or 100 % only where it is exactly that.

    >>> _share(0, 5), _share(1, 10_000), _share(9_999, 10_000), _share(5, 5), _share(0, 0)
    ('-', '<0.1%', '99.9%', '100%', '-')
    """
    if part == 0:
        return "-"
    if part == whole:
        return "100%"
    tenths = part * 1000 // whole
    return f"{tenths / 10:.1f}%" if tenths else "<0.1%"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _short(text: str) -> str:
    return _printable(text if len(text) <= _MOST_OF_BOUND else text[: _MOST_OF_BOUND - 1] + "…")


def _printable(text: str) -> str:
    """Text that stays in its cell: line ends and what controls terminals are written as escapes."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
