"""One step of a column's plan: a pure function of the plan and of a profile.

A path comes in at 10 % of the values, stays until it falls below 5 %, and keeps its type, which may only widen (integers to
decimals, decimals to more digits). A path whose type no longer fits its values goes, and never comes back as another type. What
was an object or an array stays one: whatever most of its values are later, the columns below it are told by their own values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from varquet.profiles.column_plan import Change, ColumnPlan, leaves_of
from varquet.profiles.facts import PathFacts, Profile, Steps, path_text
from varquet.profiles.fitting import typed_values, widened
from varquet.profiles.options import PolicyName, prefixes
from varquet.profiles.policies import Pinned, choose, frequencies, kinds_above
from varquet.schema import ELEMENT, Kind, ShreddingSchema
from varquet.schema.walk import steps_of

__all__ = ["column_frequencies", "evolved"]

# So much of its values must have the type of a path that went, for it to come back.
_TYPED_SHARE_TO_RETURN = 0.5


def evolved(name: str, plan: ColumnPlan, profile: Profile) -> tuple[ColumnPlan, list[Change]]:
    """The next plan of a column, for data with this profile, and what has changed; the same plan where nothing has."""
    facts = {one.steps: one for one in profile}
    if () not in facts or not facts[()].held:
        return plan, []
    step = _Step(plan, profile, facts)
    step.look_atleaves_of()
    step.look_at_gone()
    schema = step.schema()
    changes = step.changes(name, schema)
    if not changes:
        return plan, []
    return dataclasses.replace(plan, schema=schema, gone=step.gone_after(schema), profile_digest=profile.digest()), changes


class _Step:
    """What is known of each path of the plan before the policy is asked for others."""

    def __init__(self, plan: ColumnPlan, profile: Profile, facts: dict[Steps, PathFacts]) -> None:
        self.plan = plan
        self.profile = profile
        self.facts = facts
        self.frequency = column_frequencies(profile, plan.policy, facts)
        self.columns = plan.leaves
        self.gone = {steps_of(path): ShreddingSchema.parse(ddl) for path, ddl in plan.gone.items()}
        self.kept: set[Steps] = set()
        self.types: dict[Steps, ShreddingSchema] = {}
        self.refused: dict[Steps, str] = {}

    def look_atleaves_of(self) -> None:
        """Decide which columns stay, and as what."""
        asked = self.plan.options
        for steps, before in self.columns.items():
            if any(above in asked.never for above in prefixes(steps)):
                continue
            leaf = before
            if not asked.is_hinted(steps):
                leaf = self._widened(steps, before)
                reason = self._why_go(steps, leaf)
                if reason is not None:
                    self.refused[steps] = reason
                    continue
            self.kept.add(steps)
            if leaf.type is not None:
                self.types[steps] = leaf

    def _widened(self, steps: Steps, leaf: ShreddingSchema) -> ShreddingSchema:
        here = self.facts.get(steps)
        return leaf if here is None else widened(leaf, here)

    def _why_go(self, steps: Steps, leaf: ShreddingSchema) -> str | None:
        """Why a column is not worth having any more, if it is not."""
        least, least_typed = self.plan.least_frequency, self.plan.retain_typed_share
        share = self.frequency(steps)
        if share < least:
            return f"in {share:.1%} of the values, below {least:.0%}"
        field = self.facts.get(_field(steps))
        if field is not None and field.steps != steps and field.held and field.of("array") < least_typed * field.held:
            return f"{field.of('array') / field.held:.1%} of the values of {field.path} are arrays, below {least_typed:.0%}"
        here = self.facts.get(steps)
        if leaf.type is not None and here is not None and here.held:
            typed = typed_values(leaf, here, is_map=self.plan.is_map) / here.held
            if typed < least_typed:
                return f"{typed:.1%} of its values have its type, below {least_typed:.0%}"
        return None

    def look_at_gone(self) -> None:
        """Decide which paths that went come back: only at the threshold for new ones, and only as what they were."""
        for steps, leaf in self.gone.items():
            here = self.facts.get(steps)
            if leaf.type is None or self.plan.options.is_hinted(steps):
                continue
            wider = self._widened(steps, leaf)
            is_frequent = self.frequency(steps) >= self.plan.options.min_field_frequency and self._why_go(steps, wider) is None
            typed = 0 if here is None else typed_values(wider, here, is_map=self.plan.is_map)
            if here is not None and is_frequent and typed >= max(1, _TYPED_SHARE_TO_RETURN * here.held):
                self.types[steps] = wider
            else:
                self.refused[steps] = f"{leaf.ddl()} once, which too few of its values are"

    def schema(self) -> ShreddingSchema:
        """What the policy makes of all that."""
        while True:
            made = self._chosen()
            columns = leaves_of(made)
            # A new column must be one that would stay, and has room from the start for what would widen it in the next step.
            new = {steps: self._widened(steps, leaf) for steps, leaf in columns.items() if not self._is_known(steps)}
            refused = {steps: reason for steps, leaf in new.items() if (reason := self._why_go(steps, leaf)) is not None}
            wider = {steps: leaf for steps, leaf in new.items() if leaf.type is not None and steps not in refused}
            if not refused and all(columns[steps] == leaf for steps, leaf in wider.items()):
                return made
            self.refused |= refused
            self.types |= wider

    def _is_known(self, steps: Steps) -> bool:
        return steps in self.types or steps in self.kept or steps in self.refused or self.plan.options.is_hinted(steps)

    def _chosen(self) -> ShreddingSchema:
        kinds = kinds_above([*self.gone, *self.columns])
        pinned = Pinned(frozenset(self.kept), self.types, kinds, self.refused)
        return choose(self.profile, self.plan.policy, self.plan.options, pinned=pinned).schema

    def changes(self, name: str, schema: ShreddingSchema) -> list[Change]:
        """What is new, gone, or another type."""
        before, after = ({steps: leaf.ddl() for steps, leaf in columns.items()} for columns in (self.columns, leaves_of(schema)))
        found: list[Change] = []
        for path, steps in sorted((path_text(steps), steps) for steps in {*before, *after}):
            old, new = before.get(steps), after.get(steps)
            if old is None:
                is_hinted = self.plan.options.is_hinted(steps)
                reason = "by a hint" if is_hinted else f"in at least {self.plan.options.min_field_frequency:.0%} of the values"
                found.append(Change(name, path, "added", None, new, reason))
            elif new is None:
                reason = self.refused.get(steps) or self._why_not(steps, after)
                found.append(Change(name, path, "dropped", old, None, reason))
            elif old != new:
                is_first = self.columns[steps].kind is Kind.VALUE
                reason = "its values have a type now" if is_first else "values that did not fit"
                found.append(Change(name, path, "typed" if is_first else "widened", old, new, reason))
        return found

    def _why_not(self, steps: Steps, after: dict[Steps, str]) -> str:
        if any(path[: len(steps)] == steps for path in after):
            return "what is below it has columns now"
        if any(above in self.plan.options.never for above in prefixes(steps)):
            return "never, by a hint"
        return "beyond the columns that there may be"

    def gone_after(self, schema: ShreddingSchema) -> dict[str, str]:
        """The paths that had a column once and have none now."""
        columns = leaves_of(schema)
        has_columns = {above for steps in columns for above in prefixes(steps)}
        # An array of Spark's keeps a column for the values of its elements when these have lost their type.
        once = [(steps, leaf) for steps, leaf in self.columns.items() if steps not in self.gone] + [*self.gone.items()]
        untyped = {steps for steps, leaf in columns.items() if leaf.type is None}
        return {path_text(steps): leaf.ddl() for steps, leaf in once if steps not in has_columns or (leaf.type and steps in untyped)}


def column_frequencies(profile: Profile, policy: PolicyName, facts: Mapping[Steps, PathFacts]) -> Callable[[Steps], float]:
    """How frequent columns are: the elements of an array as the field that is one, and those of all values always."""
    frequency = frequencies(profile, policy)
    return lambda steps: frequency(facts.get(_field(steps))) if _field(steps) else 1.0


def _field(steps: Steps) -> Steps:
    """The field that is an array, of whose elements these are elements; of other paths themselves."""
    while steps and steps[-1] is ELEMENT:
        steps = steps[:-1]
    return steps
