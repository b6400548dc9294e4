"""`varquet analyze`: what is in the data, what will be shredded, and why."""

from __future__ import annotations

import dataclasses
import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from varquet.cli.files import check_new_file
from varquet.cli.output import JsonSwitch, Output
from varquet.cli.path_facts import facts_data
from varquet.errors import VarquetError

if TYPE_CHECKING:
    from varquet.profiles.examples import Conflict
    from varquet.profiles.facts import PathFacts, Profile
    from varquet.profiles.policies import Choice, Decision, Options

__all__ = ["EXAMPLE", "PolicyChoice", "analyze"]

EXAMPLE: Final = "Example: varquet analyze events.ndjson"


_MOST_CONFLICTS: Final = 40


class PolicyChoice(enum.StrEnum):
    """Who chooses the paths that become columns."""

    VARQUET = "varquet"
    ICEBERG = "iceberg"
    ICEBERG_1_11 = "iceberg-1.11"
    SPARK = "spark"
    MAP = "map"


def analyze(
    sources: Annotated[
        list[str], typer.Argument(metavar="PATH", help="NDJSON or Parquet: files (also .gz, .zst), folders or globs.", show_default=False)
    ],
    column: Annotated[
        str | None,
        typer.Option("--column", help="The column of Parquet files: JSON text, a Variant or maps.", show_default="the only one"),
    ] = None,
    policy: Annotated[
        PolicyChoice | None,
        typer.Option("--policy", help="Which rules choose the columns.", show_default="varquet; map for a column of maps"),
    ] = None,
    hint: Annotated[
        list[str] | None,
        typer.Option(
            "--hint", metavar="RULE", help="always:$.a.b, never:$.a, or a type: $.a.b=bigint; can be given again.", show_default=False
        ),
    ] = None,
    sample: Annotated[float, typer.Option("--sample", min=0.0, max=1.0, help="Count this share of the values, always the same.")] = 1.0,
    plan: Annotated[Path | None, typer.Option("--plan", help="Write the choice as a plan to this file.", show_default="nowhere")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --plan if it exists.")] = False,
    typed: Annotated[
        bool, typer.Option("--typed", help="Of maps of texts: give keys types whose texts are all exactly those of a number or the like.")
    ] = False,
    all_paths: Annotated[bool, typer.Option("--all", help="Show all paths, also those in fewer than 1 % of the values.")] = False,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="How many threads to use.", show_default="VARQUET_THREADS or all cores")
    ] = None,
    as_json: JsonSwitch = False,
) -> None:
    """Count what is in NDJSON, JSON text, Variants or maps, path by path, and show which paths or keys become columns and why.

    All counts are exact and do not depend on the order of the rows. Objects whose names are data (ids, hashes) are shown as one path
    with a star. The last line is the schema, as `varquet ingest --schema` takes it.

    With --json every path has all that is known of it, beside what was decided and why:

    - count, rows, nulls, bytes: how many values, rows that have one, Variant nulls, bytes

    - types, first_rows: how many values of each type, and the first row (from 0) that has one

    - integer_range, decimal_digits: smallest and largest integer; the most digits before and behind the point

    - array_lengths: the shortest, the longest, and the elements of all

    - bounds: the smallest and largest value of each type as text; of texts, binary and uuids (both in hexadecimal) the first 8 bytes,
    of decimals a double near them; NaN is none

    - distinct: about how many different values
    """
    if plan is not None:
        check_new_file(plan, force=force)
    # Behind the cheap checks: help and wrong calls need no Arrow.
    from varquet.profiles.map_types import type_keys
    from varquet.profiles.plan import Plan
    from varquet.profiles.policies import choose
    from varquet.profiles.profiling import map_column, profile

    out = Output.choose(as_json=as_json)
    options = _options(hint or [])
    maps = map_column(sources, column)
    name = column or maps or "v"
    rules = (PolicyChoice.MAP if maps else PolicyChoice.VARQUET) if policy is None else policy
    if typed and not maps:
        raise VarquetError("expected a column of maps with --typed, got another one", hint="Variants have types already")
    with out.progress("counting", None) as advance:
        found = profile(sources, column, sample=sample, on_rows=advance, threads=threads)
    choice = choose(found, rules.value, options)
    pinned = Plan.from_profiles({name: found}, rules.value, options)
    if typed:
        pinned = type_keys(pinned, name, sources, column, threads=threads)
        choice = dataclasses.replace(choice, schema=pinned.columns[name].schema)
    if plan is not None:
        pinned.save(check_new_file(plan, force=force))  # another process may have made it in the meantime
    data = {
        "rows": found.rows,
        "nulls": found.nulls,
        "policy": rules.value,
        "schema": choice.schema.ddl(),
        "schema_columns": choice.schema.columns,
        "digest": found.digest(),
        "paths": [{**dataclasses.asdict(decision), **facts_data(facts)} for facts, decision in _decided(found, choice)],
        "conflicts": [dataclasses.asdict(conflict) for conflict in found.conflicts()],
    }
    out.tables(data, lambda: _tables(found, choice, all_paths=all_paths))


def _options(hints: list[str]) -> Options:
    from varquet.profiles.policies import Options, with_hints

    always, never, types = [], [], {}
    for hint in hints:
        rule, colon, path = hint.partition(":")
        if colon and rule == "always":
            always.append(path)
        elif colon and rule == "never":
            never.append(path)
        elif "=" in hint:
            path, _, kind = hint.rpartition("=")
            types[path] = kind
        else:
            raise VarquetError(f"expected a hint such as always:$.a, never:$.a or $.a=bigint, got {hint!r}")
    return with_hints(Options(), always=always, never=never, types=types)


def _decided(found: Profile, choice: Choice) -> list[tuple[PathFacts, Decision]]:
    """What is known of each path, and what became of it; of those that only hints have nothing is known."""
    from varquet.profiles.facts import PathFacts
    from varquet.schema.walk import steps_of

    known = {facts.path: facts for facts in found}
    return [(known.get(one.path) or PathFacts.none(steps_of(one.path)), one) for one in choice.decisions]


def _tables(found: Profile, choice: Choice, *, all_paths: bool) -> list[Any]:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("path", "types"):
        table.add_column(name, overflow="fold")
    for name in ("values", "distinct", "bytes"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("column", no_wrap=True)
    table.add_column("why", overflow="fold")
    hidden = 0
    for facts, decision in _decided(found, choice):
        if not (all_paths or decision.chosen or decision.frequency >= 0.01):
            hidden += 1
            continue
        types = " ".join(f"{name} {count:,}" if len(facts.types) > 1 else name for name, count in facts.types.items())
        cells = [facts.path, types, f"{decision.frequency:.1%}", f"{facts.distinct:,}" if facts.distinct else "-", f"{facts.bytes:,}"]
        table.add_row(*map(Text, (*cells, decision.type or "-", decision.reason)), style=None if decision.chosen else "dim")
    shown: list[Any] = [Text(f"{found.rows:,} rows, {found.nulls:,} SQL NULLs, {len(found):,} paths"), table]
    if hidden:
        shown.append(Text(f"{hidden:,} paths in fewer than 1 % of the values are not shown; --all shows them"))
    conflicts = found.conflicts()
    if conflicts:
        shown += [Text(), _conflicts(conflicts)]
    return [*shown, Text(), Text(choice.schema.ddl())]


def _conflicts(conflicts: list[Conflict]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("values that conflict", overflow="fold")
    table.add_column("type", no_wrap=True)
    for name in ("count", "first row"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("for example", overflow="ellipsis", no_wrap=True)
    before = None
    for one in conflicts[:_MOST_CONFLICTS]:
        table.add_row(*map(Text, (one.path if one.path != before else "", one.type, f"{one.count:,}", f"{one.row:,}", one.example)))
        before = one.path
    if len(conflicts) > _MOST_CONFLICTS:
        table.add_row(f"... and {len(conflicts) - _MOST_CONFLICTS:,} more; --json has all")
    return table
