"""`varquet plan`: show, compare, evolve and measure the pinned schemas of a table."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from varquet.cli.exit_codes import ExitCode
from varquet.cli.files import check_new_file
from varquet.cli.output import JsonSwitch, Output

if TYPE_CHECKING:
    pass

__all__ = ["EXAMPLES", "diff", "drift", "evolve", "show"]

EXAMPLES: Final = {
    "show": "Example: varquet plan show plan.json",
    "diff": "Example: varquet plan diff plan.json next.json",
    "evolve": "Example: varquet plan evolve plan.json events.ndjson -o next.json",
    "drift": "Example: varquet plan drift plan.json events.ndjson",
}

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan, as `varquet analyze --plan` writes it.", show_default=False)]
Data = Annotated[
    list[str], typer.Argument(metavar="PATH", help="NDJSON or Parquet: files (also .gz, .zst), folders or globs.", show_default=False)
]
ColumnOption = Annotated[str | None, typer.Option("--column", help="The column of the plan.", show_default="the only one")]
DataColumn = Annotated[
    str | None,
    typer.Option("--data-column", help="The column of Parquet files: JSON text, a Variant or maps.", show_default="the only one"),
]


def show(plan: PlanFile, as_json: JsonSwitch = False) -> None:
    """Show a plan: the columns it pins and their paths."""
    from varquet.profiles.plan import Plan, leaf_types

    found = Plan.load(plan)
    lines = [("plan", str(plan)), ("step", str(found.step))]
    for name, column in found.columns.items():
        lines += [("", ""), ("column", name), ("policy", column.policy), ("schema", column.schema.ddl())]
        lines += [("path", f"{path} {kind}") for path, kind in leaf_types(column.schema).items()]
        lines += [("gone", f"{path} {kind}") for path, kind in column.gone.items()]
    Output.choose(as_json=as_json).result(json.loads(found.to_json()), lines)


def diff(
    left: Annotated[Path, typer.Argument(metavar="A", help="A plan.", show_default=False)],
    right: Annotated[Path, typer.Argument(metavar="B", help="Another one.", show_default=False)],
    as_json: JsonSwitch = False,
) -> None:
    """Compare the paths of two plans. The exit code is 0 if they pin the same and 1 if not."""
    from varquet.profiles.plan import Plan, leaf_types

    one, other = Plan.load(left), Plan.load(right)
    found: list[dict[str, Any]] = []
    for name in sorted({*one.columns, *other.columns}):
        before = leaf_types(one.columns[name].schema) if name in one.columns else {}
        after = leaf_types(other.columns[name].schema) if name in other.columns else {}
        for path in sorted({*before, *after}):
            if before.get(path) != after.get(path):
                found.append({"column": name, "path": path, "before": before.get(path), "after": after.get(path)})
    lines = [("changed", f"{one_['column']} {one_['path']}: {one_['before'] or '-'} -> {one_['after'] or '-'}") for one_ in found]
    Output.choose(as_json=as_json).result({"equal": not found, "changes": found}, lines or [("result", "equal")])
    if found:
        raise typer.Exit(ExitCode.FINDINGS)


def evolve(
    plan: PlanFile,
    sources: Data,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Where the next plan is written: a new file, or PLAN itself.", show_default="nowhere"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --output if it exists.")] = False,
    column: ColumnOption = None,
    data_column: DataColumn = None,
    as_json: JsonSwitch = False,
) -> None:
    """Adapt a plan to new data: paths come in at 10 % of the values, go below 5 %, and types only widen.

    With -o PLAN the plan is adapted in place. Any other file that exists is replaced with --force only.
    """
    from varquet.profiles.plan import Plan
    from varquet.profiles.profiling import profile

    out = Output.choose(as_json=as_json)
    found = Plan.load(plan)
    name = found.column_name(column)
    if output is not None:
        _target(output, plan, force=force)
    with out.progress("counting", None) as advance:
        profiled = profile(sources, data_column, on_rows=advance)
    following, changes = found.evolve({name: profiled})
    if output is not None:
        following.save(_target(output, plan, force=force))  # another process may have made it in the meantime
    lines = [("step", f"{found.step} -> {following.step}"), ("rows", f"{profiled.rows:,}")]
    lines += [(one.kind, f"{one.path}: {one.before or '-'} -> {one.after or '-'} ({one.reason})") for one in changes]
    data = {"step": following.step, "changes": [dataclasses.asdict(one) for one in changes], "schema": following.columns[name].schema.ddl()}
    out.result(data, lines if changes else [*lines, ("result", "nothing changes")])


def drift(plan: PlanFile, sources: Data, column: ColumnOption = None, data_column: DataColumn = None, as_json: JsonSwitch = False) -> None:
    """Measure how well a plan fits data. The exit code is 0 if all of it fits and 1 if not."""
    from varquet.profiles.drifting import drift as measure
    from varquet.profiles.plan import Plan
    from varquet.profiles.profiling import profile

    out = Output.choose(as_json=as_json)
    found = Plan.load(plan)
    with out.progress("counting", None) as advance:
        profiled = profile(sources, data_column, on_rows=advance)
    measured = measure(found.columns[found.column_name(column)], profiled)
    lines = [("rows", f"{profiled.rows:,}"), ("typed", f"{measured.typed_bytes:.1%} of the bytes")]
    lines += [
        (one.finding, f"{one.path} {one.type or ''}: in {one.frequency:.1%} of the values, {one.typed_share:.1%} typed")
        for one in measured.findings
    ]
    out.result({"typed_bytes": measured.typed_bytes, "paths": [dataclasses.asdict(one) for one in measured.paths]}, lines)
    if measured.findings:
        raise typer.Exit(ExitCode.FINDINGS)


def _target(output: Path, plan: Path, *, force: bool) -> Path:
    """Where the next plan goes; to write it over the one that it follows is what evolving in place means."""
    is_in_place = output.exists() and output.samefile(plan)
    return check_new_file(output, force=force or is_in_place)
