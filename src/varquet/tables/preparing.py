"""What is decided before rows are written to a table: which columns become Variants, by which plan, and how files are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from varquet.parquet.sources import DuplicateKeys
from varquet.profiles.facts import Profile
from varquet.profiles.plan import Change, Plan
from varquet.profiles.policies import Options, PolicyName
from varquet.tables.parsing import Parsing
from varquet.tables.write_job import Keys, OnError, PlanLike, WriteJob, named_columns, plan_of, settings_of
from varquet.tables.writing import Settings

__all__ = ["Prepared", "prepare"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that a job needs to know to write rows."""

    parsing: Parsing
    settings: Settings
    plan: Plan
    changes: list[Change] = field(default_factory=list)
    """What is changed of the table's plan."""


def prepare(
    job: WriteJob,
    schema: pa.Schema,
    plan: PlanLike | None,
    profiles_of: Callable[[Parsing, Sequence[str]], Mapping[str, Profile]],
    *,
    json_columns: Sequence[str],
    map_columns: Sequence[str],
    on_error: OnError,
    duplicate_keys: DuplicateKeys,
    evolve: bool,
    policy: PolicyName,
    options: Options | None,
    partition_by: Keys,
    sort_by: Keys,
    **files: Any,
) -> Prepared:
    """Decide how rows of a schema are written, and check that they fit to the table.

    Args:
        profiles_of: counts what is in columns of Variants and maps, if a plan has to be made of that.
        files: how files are written, as Settings has it.
    """
    given = job.recorded_plan() if plan is None else plan_of(plan)
    named, maps = named_columns(given, json_columns, map_columns)
    parsing = Parsing.of(schema, named, on_error, duplicate_keys, maps)
    changes: list[Change] = []
    if given is None:
        given = Plan.from_profiles(profiles_of(parsing, parsing.unplanned()), policy, options, maps=maps)
    elif evolve:
        given, changes = given.evolve(profiles_of(parsing, [name for name in given.columns if name in parsing.profiled]))
    settings = settings_of(parsing.schema, parsing.variants, partition_by, sort_by, plan=job.table.allowed(given), **files)
    job.check(parsing.schema, settings)
    return Prepared(parsing, settings, given, changes)
