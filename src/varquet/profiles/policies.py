"""From a profile to a shredding schema: named policies, each a pure function of the profile, and the reasons for every path.

    iceberg        Iceberg's analyzer: a path is shredded if all of its values are of one family of types
    iceberg-1.11   Iceberg's analyzer as first shipped: the most common type wins, ties by a fixed order
    spark          what Spark infers when it writes
    varquet        the default: what saves most within a budget of columns, conflicts tolerated and named
    map            for maps, whose keys are the fields: frequent keys, what saves most within the budget, whatever their values are

A field is kept if it is in 10 % of the values of the column, and nothing deeper than 50 is shredded. An object keeps its 300 most
frequent fields; Spark has room for 300 columns in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from varquet.errors import UnsupportedTypeError
from varquet.profiles.facts import OTHERS, PathFacts, Profile, Steps, path_text, sort_key
from varquet.profiles.fitting import typed_values
from varquet.profiles.options import MAP_POLICY, Options, PolicyName, prefixes, with_hints
from varquet.profiles.spark_width import in_java_order, within_width
from varquet.profiles.type_rules import POLICIES, Taken
from varquet.schema import ELEMENT, Kind, ShreddingSchema

__all__ = [
    "MAP_POLICY",
    "POLICIES",
    "Choice",
    "Decision",
    "Options",
    "Pinned",
    "PolicyName",
    "choose",
    "frequencies",
    "kinds_above",
    "with_hints",
]

_VALUE: Final = ShreddingSchema.value()
_SPARK_NAMES: Final = 1_000
_WITH_BUDGET: Final = ("varquet", MAP_POLICY)


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of one path, and why."""

    path: str
    chosen: bool
    type: str | None
    """The type of its typed column; `object` and `array` for what has columns below."""
    reason: str
    frequency: float
    """How many values it has for each value of the column, as the policy counts them; only within arrays can that be more than 1."""
    typed_share: float
    """About what share of its values, nulls apart, goes into the typed column."""
    bytes: int


@dataclass(frozen=True, slots=True)
class Choice:
    """A schema, and the reasons for every path of the profile, and for those that only hints or a plan have."""

    schema: ShreddingSchema
    decisions: list[Decision]


@dataclass(frozen=True, slots=True)
class Pinned:
    """What is known of paths before a policy is asked, from hints or from the plan of a table."""

    kept: frozenset[Steps] = frozenset()
    """Paths that have a column however rare they are, and before all others; what they are made of is for `types` or the policy to say."""
    types: Mapping[Steps, ShreddingSchema] = field(default_factory=dict)
    """The types of paths, if they have a column."""
    kinds: Mapping[Steps, Kind] = field(default_factory=dict)
    """Paths that are objects or arrays, if they have columns below, whatever most of their values are."""
    refused: Mapping[Steps, str] = field(default_factory=dict)
    """Paths that have none, nor anything below them, and the reasons."""


def choose(profile: Profile, policy: PolicyName = "varquet", options: Options | None = None, *, pinned: Pinned | None = None) -> Choice:
    """The schema that a policy chooses for the data of a profile; `pinned` is what a plan knows already."""
    if policy not in POLICIES:
        raise UnsupportedTypeError(f"expected a policy, got {policy!r}", hint="they are " + ", ".join(map(repr, POLICIES)))
    if not profile.is_exact:
        raise UnsupportedTypeError(
            "expected an exact profile, got one with names that were not counted everywhere",
            hint="profile the parts again with its `closed`",
        )
    return _Chooser(profile, policy, options or Options(), pinned or Pinned()).run()


def kinds_above(paths: Iterable[Steps]) -> dict[Steps, Kind]:
    """What is above paths: objects where a name follows, arrays where an element does."""
    return {steps[:k]: Kind.ARRAY if step is ELEMENT else Kind.OBJECT for steps in paths for k, step in enumerate(steps)}


def frequencies(profile: Profile, policy: PolicyName) -> Callable[[PathFacts | None], float]:
    """How many values a path has for each value of the column; Spark counts Variant nulls on both sides, the others on none."""
    root = next((facts for facts in profile if not facts.steps), None)
    values = (profile.values if policy == "spark" else root.held) if root is not None else 0

    def frequency(facts: PathFacts | None) -> float:
        if facts is None or not values:
            return 0.0
        return (facts.count if policy == "spark" else facts.held) / values

    return frequency


class _Chooser:
    """One choice in the making, from the leaves up."""

    def __init__(self, profile: Profile, policy: PolicyName, options: Options, pinned: Pinned) -> None:
        self.policy = policy
        self.type_of = POLICIES[policy]
        self.options = options
        self.pinned = pinned
        self.counted = frequencies(profile, policy)
        self.facts = {facts.steps: facts for facts in profile}
        self.types = {**pinned.types, **options.types}
        self.refused = {**pinned.refused, **dict.fromkeys(options.never, "never, by a hint")}
        # A hint for a path without values has no type to follow, unless it says which.
        self.wanted = {*pinned.kept, *options.types, *(steps for steps in options.always if steps in self.facts)}
        self.kept = {above for steps in self.wanted for above in prefixes(steps)}
        self.kinds = {**self.kinds_of_wanted(), **pinned.kinds}
        for steps in sorted(self.kept, key=len):
            if steps not in self.facts:
                self.facts[steps] = PathFacts.none(steps)
        self.below: dict[Steps, list[Steps]] = {}
        for steps in self.facts:
            if steps:
                self.below.setdefault(steps[:-1], []).append(steps)
        self.made: dict[Steps, ShreddingSchema | None] = {}
        self.reasons: dict[Steps, str] = {}
        self.left_out: dict[Steps, str] = {}
        """Paths that have a type and no column all the same, and why."""

    def kinds_of_wanted(self) -> dict[Steps, Kind]:
        """What is above the paths that are wanted; where some want an object and others an array, what most values are."""
        kinds: dict[Steps, Kind] = {}
        for steps in sorted(self.wanted, key=path_text):
            for above, kind in kinds_above([steps]).items():
                if kinds.setdefault(above, kind) is not kind and above in self.facts:
                    facts = self.facts[above]
                    kinds[above] = Kind.OBJECT if facts.of("object") >= facts.of("array") else Kind.ARRAY
        return kinds

    def run(self) -> Choice:
        # Deepest first; no recursion, so that depth has no limit but that of the policy.
        for steps in sorted(self.facts, key=len, reverse=True):
            made = self.schema_of(steps)
            # A column that is there already stays, without a type if the policy has none.
            self.made[steps] = _VALUE if made is None and steps and steps in self.pinned.kept and not self.refusal(steps) else made
        schema = self.made.get(()) or _VALUE
        if self.policy in _WITH_BUDGET:
            schema = self.within_budget(schema)
        elif self.policy == "spark":
            schema = self.within_width(schema)
        nodes = _nodes(schema)
        return Choice(schema, [self.decision(self.facts[steps], nodes) for steps in sorted(self.facts, key=sort_key)])

    def decision(self, facts: PathFacts, nodes: Mapping[Steps, ShreddingSchema]) -> Decision:
        steps, node = facts.steps, nodes.get(facts.steps)
        is_inside = any(above in self.types for above in prefixes(steps[:-1])) if steps else False
        if node is None:
            if steps in self.left_out:
                reason = self.left_out[steps]
            elif is_inside:
                reason = "not in the type of what is above it"
            elif self.made[steps] is None:
                reason = self.reasons[steps]
            else:
                reason = _why_not_below(nodes.get(steps[:-1]))
            return Decision(facts.path, False, None, reason, self.counted(facts), 0.0, facts.bytes)
        typed = typed_values(node, facts, is_map=self.policy == MAP_POLICY) / facts.held if facts.held else 0.0
        kind = node.kind.value if node.kind in (Kind.OBJECT, Kind.ARRAY) else node.ddl()
        reason = "in the type of what is above it" if is_inside else self.reasons[steps]
        return Decision(facts.path, True, kind, reason, self.counted(facts), typed, facts.bytes)

    def refusal(self, steps: Steps) -> str | None:
        """Why there is no column for a path, nor for anything below it, if that was said."""
        return next((self.refused[above] for above in prefixes(steps) if above in self.refused), None)

    def schema_of(self, steps: Steps) -> ShreddingSchema | None:
        facts, options = self.facts[steps], self.options
        if steps and steps[-1] is OTHERS:
            return self.decide(steps, None, "names that are data, none of them frequent")
        refusal = self.refusal(steps)
        if refusal is not None:
            return self.decide(steps, None, refusal)
        if steps not in self.kept:
            if len(steps) > options.max_depth:
                return self.decide(steps, None, f"deeper than {options.max_depth}")
            if steps and isinstance(steps[-1], str) and self.counted(facts) < options.min_field_frequency:
                return self.decide(steps, None, f"in fewer than {options.min_field_frequency:.0%} of the values")
        if steps in self.types:
            return self.decide(steps, self.types[steps], "by a hint" if steps in options.types else "as the plan has it")
        taken = self.type_of(facts, options)
        kind = self.kinds.get(steps)
        if kind is not None and kind.value != taken.kind:
            taken = Taken("object" if kind is Kind.OBJECT else "array", None, "for what is below it")
        if taken.kind == "nothing":
            return self.untyped(steps, taken.reason)
        if self.policy == "spark" and taken.kind != "primitive" and len(steps) >= options.max_depth and steps not in self.kept:
            return self.untyped(steps, f"an {taken.kind} below {options.max_depth} others")
        if taken.kind == "primitive":
            assert taken.type is not None
            return self.decide(steps, ShreddingSchema.primitive(taken.type), taken.reason)
        return self.object(steps, taken.reason) if taken.kind == "object" else self.array(steps, taken.reason)

    def object(self, steps: Steps, reason: str) -> ShreddingSchema | None:
        below = [path for path in self.below.get(steps, ()) if isinstance(path[-1], str)]
        if self.policy == "spark":
            self.leave_out_late_names(below, self.facts[steps].of("object"))
        else:
            self.leave_out_rarer_fields(below)
        fields = [(str(path[-1]), made) for path in below if path not in self.left_out and (made := self.made[path]) is not None]
        if not fields:
            return self.untyped(steps, "an object without a field worth a column")
        return self.decide(steps, ShreddingSchema.object(fields), reason)

    def leave_out_rarer_fields(self, fields: Sequence[Steps]) -> None:
        """Where an object has too many fields the most frequent ones stay, those without a type among them, and all that are wanted."""
        most = self.options.max_shredded_fields
        frequent = [path for path in fields if path in self.kept or self.counted(self.facts[path]) >= self.options.min_field_frequency]
        if len(frequent) > most:
            frequent.sort(key=lambda path: (path not in self.kept, -self.counted(self.facts[path]), in_java_order(str(path[-1]))))
            for path in frequent[most:]:
                if path not in self.kept and self.made[path] is not None:
                    self.left_out[path] = f"not among the {most} most frequent fields"

    def leave_out_late_names(self, fields: Sequence[Steps], objects: int) -> None:
        """Where there is more than one object Spark looks at the first names only, rare ones among them."""
        if objects > 1 and len(fields) > _SPARK_NAMES:
            for path in sorted(fields, key=lambda path: in_java_order(str(path[-1])))[_SPARK_NAMES:]:
                if path not in self.kept:
                    self.left_out[path] = f"not among the first {_SPARK_NAMES:,} names"

    def array(self, steps: Steps, reason: str) -> ShreddingSchema | None:
        element = self.made.get((*steps, ELEMENT))
        if element is None and self.policy == "spark":
            element = _VALUE
        if element is None:
            return self.decide(steps, None, "an array without elements of one type")
        return self.decide(steps, ShreddingSchema.array(element), reason)

    def untyped(self, steps: Steps, reason: str) -> ShreddingSchema | None:
        """A path without a type: nothing, but for Spark and for maps, which give a frequent field a column for its values."""
        return self.decide(steps, _VALUE if self.policy in ("spark", MAP_POLICY) and steps else None, reason)

    def decide(self, steps: Steps, schema: ShreddingSchema | None, reason: str) -> ShreddingSchema | None:
        self.reasons[steps] = reason
        return schema

    def within_budget(self, schema: ShreddingSchema) -> ShreddingSchema:
        """The leaves that hold most bytes, as many as there may be columns; those that are wanted come first."""
        leaves = [steps for steps, leaf in schema.leaves() if steps and (leaf.type is not None or self.policy == MAP_POLICY)]
        if len(leaves) <= self.options.max_columns:
            return schema
        ranked = sorted(leaves, key=lambda steps: (not self.is_wanted(steps), -self.saved(steps), str(steps)))
        self.left_out |= dict.fromkeys(ranked[self.options.max_columns :], f"beyond the {self.options.max_columns} columns that hold most")
        return schema.select(ranked[: self.options.max_columns])

    def within_width(self, schema: ShreddingSchema) -> ShreddingSchema:
        """What Spark has room for: it counts columns from the root down, and stops."""
        narrow = within_width(schema, self.options.max_shredded_fields, self.kept)
        after = _nodes(narrow)
        for steps, node in _nodes(schema).items():
            if steps not in after:
                self.left_out[steps] = f"beyond the {self.options.max_shredded_fields} columns that Spark has room for"
            elif after[steps].kind is not node.kind:
                self.reasons[steps] = f"no room for its type among the {self.options.max_shredded_fields} columns that Spark has"
        return narrow

    def is_wanted(self, steps: Steps) -> bool:
        """Whether a path has a column before all others, by itself or as a part of the type of one above it."""
        return steps in self.wanted or any(above in self.options.types for above in prefixes(steps))

    def saved(self, steps: Steps) -> int:
        """The bytes that a column takes out of the residual: its values, and of a map also its key, which every entry has."""
        facts = self.facts.get(steps)
        if facts is None:
            return 0
        return facts.bytes + (facts.held * len(str(steps[-1]).encode()) if self.policy == MAP_POLICY else 0)


def _why_not_below(above: ShreddingSchema | None) -> str:
    """Why a path that has a type has no column, by what is above it."""
    if above is None or above.kind is Kind.VALUE:
        return "below a path that is not shredded"
    return f"below a path that is {above.ddl()}" if above.kind is Kind.PRIMITIVE else "nothing below it has a column"


def _nodes(schema: ShreddingSchema) -> dict[Steps, ShreddingSchema]:
    """The nodes of a schema by their paths, without a root that shreds nothing."""
    return dict(schema.nodes()) if schema.kind is not Kind.VALUE else {}
