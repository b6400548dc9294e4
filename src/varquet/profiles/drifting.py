"""`drift`: how well a plan fits data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from varquet.profiles.column_plan import ColumnPlan
from varquet.profiles.evolving import column_frequencies, evolved
from varquet.profiles.facts import Profile, path_text
from varquet.profiles.fitting import typed_values
from varquet.profiles.plan import Plan
from varquet.profiles.profiling import Data
from varquet.profiles.profiling import profile as profile_of
from varquet.schema.walk import steps_of

__all__ = ["Drift", "PathDrift", "drift"]

Finding: TypeAlias = Literal["fits", "conflicts", "rare", "new"]

_LEAST_TYPED = 0.95


@dataclass(frozen=True, slots=True)
class PathDrift:
    """How one path fits a plan."""

    path: str
    type: str | None
    """The plan's; None for a path that it has not."""
    frequency: float
    typed_share: float
    """About what share of its values, nulls apart, goes into the typed column."""
    finding: Finding


@dataclass(frozen=True, slots=True)
class Drift:
    """How well a plan fits the data of one column."""

    typed_bytes: float
    """What share of all bytes lies in typed columns."""
    paths: list[PathDrift]

    @property
    def findings(self) -> list[PathDrift]:
        """The paths that do not fit."""
        return [path for path in self.paths if path.finding != "fits"]


def drift(plan: Plan | ColumnPlan, data: Profile | Data, column: str | None = None) -> Drift:
    """Measure how well the plan of a column fits data: what is typed, what conflicts, what is rare, what is new.

    Args:
        plan: the plan of a column, or one of a table.
        data: a profile, or what `profile` takes: a column, a table with one, files.
        column: the name of the column, where the plan or the data has several.
    """
    if isinstance(plan, Plan):
        plan = plan.columns[plan.column_name(column)]
    profile = data if isinstance(data, Profile) else profile_of(data, column)
    facts = {one.steps: one for one in profile}
    frequency = column_frequencies(profile, plan.policy, facts)
    found: list[PathDrift] = []
    typed_bytes = 0.0
    for steps, leaf in plan.leaves.items():
        here = facts.get(steps)
        held = here.held if here is not None else 0
        typed = typed_values(leaf, here, is_map=plan.is_map) / held if here is not None and held else 0.0
        if here is not None:
            typed_bytes += typed * here.bytes
        finding: Finding = "fits"
        if frequency(steps) < plan.least_frequency and not plan.options.is_hinted(steps):
            finding = "rare"
        elif leaf.type is not None and held and typed < _LEAST_TYPED:
            finding = "conflicts"
        found.append(PathDrift(path_text(steps), leaf.ddl(), frequency(steps), typed, finding))
    _, changes = evolved("", plan, profile)
    for change in changes:
        if change.kind == "added":
            found.append(PathDrift(change.path, None, frequency(steps_of(change.path)), 0.0, "new"))
    root = facts.get(())
    return Drift(typed_bytes / max(1, root.bytes if root is not None else 0), found)
