"""From a profile to a shredding schema: named policies, each a pure function of the profile, and the reasons for every path.

    iceberg        Iceberg's analyzer: a path is shredded if all of its values are of one family of types
    iceberg-1.11   Iceberg's analyzer as first shipped: the most common type wins, ties by a fixed order
    spark          what Spark infers when it writes
    varquet        the default: what saves most within a budget of columns, conflicts tolerated and named
    map            for maps, whose keys are the fields: frequent keys, what saves most within the budget, whatever their values are

The first two share constants: a field is kept if it is in 10 % of the values of the column, an object keeps its 300 most frequent
fields, and nothing deeper than 50 is shredded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa

from varquet.errors import UnsupportedTypeError, VarquetError
from varquet.profiles.facts import DECIMALS, INTEGERS, OTHERS, PathFacts, Profile, Steps, path_text
from varquet.schema import ELEMENT, ShreddingSchema
from varquet.schema.walk import steps_of
from varquet.types import BY_NAME, MAX_DECIMAL_DIGITS

__all__ = [
    "MAP_POLICY",
    "POLICIES",
    "Choice",
    "Decision",
    "Options",
    "PolicyName",
    "choose",
    "integer_digits",
    "roomy_decimal",
    "with_hints",
]

PolicyName: TypeAlias = Literal["varquet", "iceberg", "iceberg-1.11", "spark", "map"]

MAP_POLICY: Final = "map"

# From the weakest to the strongest, when two types are as common as each other; objects and arrays lose to all.
_TIE_ORDER: Final = (
    "array", "object", "boolean", "int8", "int16", "int32", "int64", "float", "double", "decimal4", "decimal8", "decimal16", "date",
    "time", "timestamp", "timestamp_ntz", "binary", "string", "timestamp_nanos", "timestamp_ntz_nanos", "uuid",
)  # fmt: skip
# Types whose typed columns Spark cannot read.
_NOT_FOR_SPARK: Final = ("time", "timestamp_nanos", "timestamp_ntz_nanos", "uuid")


@dataclass(frozen=True, slots=True)
class Options:
    """What a policy may do; the defaults are those of Iceberg's analyzer, but for the last three."""

    min_field_frequency: float = 0.10
    """A field must be in this share of the column's values."""
    max_shredded_fields: int = 300
    """An object keeps so many fields, the most frequent ones."""
    max_depth: int = 50
    max_columns: int = 200
    """How many typed columns the policy `varquet` makes at most."""
    min_typed_share: float = 0.5
    """The policy `varquet` takes a type that this share of a path's values has."""
    always: frozenset[Steps] = frozenset()
    """Paths that are shredded however rare they are, if they have a type at all."""
    never: frozenset[Steps] = frozenset()
    """Paths that are not, nor anything below them."""
    types: Mapping[Steps, ShreddingSchema] = field(default_factory=dict)
    """The types of paths, whatever their values are."""
    for_spark: bool = True
    """Leave types unshredded whose typed columns Spark cannot read."""

    def to_dict(self) -> dict[str, Any]:
        """The options as JSON has them, paths as text; `from_dict` reads them."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            **plain,
            "always": sorted(map(path_text, self.always)),
            "never": sorted(map(path_text, self.never)),
            "types": dict(sorted((path_text(steps), schema.ddl()) for steps, schema in self.types.items())),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Options:
        """What `to_dict` made."""
        hints = {name: data[name] for name in ("always", "never", "types")}
        try:
            return with_hints(cls(**{name: value for name, value in data.items() if name not in hints}), **hints)
        except TypeError as error:
            raise VarquetError(
                f"expected the options of a policy, got {', '.join(sorted(data))}",
                hint="they are " + ", ".join(one.name for one in fields(cls)),
            ) from error


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of one path, and why."""

    path: str
    chosen: bool
    type: str | None
    """The type of its typed column; `object` and `array` for what has columns below."""
    reason: str
    frequency: float
    """In what share of the column's values it is."""
    typed_share: float
    """What share of its values, nulls apart, goes into the typed column."""
    bytes: int


@dataclass(frozen=True, slots=True)
class Choice:
    """A schema, and the reasons for every path of the profile."""

    schema: ShreddingSchema
    decisions: list[Decision]


def choose(profile: Profile, policy: PolicyName = "varquet", options: Options | None = None) -> Choice:
    """The schema that a policy chooses for the data of a profile."""
    if policy not in POLICIES:
        raise UnsupportedTypeError(f"expected a policy, got {policy!r}", hint="they are " + ", ".join(map(repr, POLICIES)))
    if not profile.is_exact:
        raise UnsupportedTypeError(
            "expected an exact profile, got one with names that were not counted everywhere",
            hint="profile the parts again with its `closed`",
        )
    return _Chooser(profile, POLICIES[policy], options or Options()).run()


def hint_steps(paths: Iterable[str]) -> frozenset[Steps]:
    """Paths of hints as steps: $.a.b[*]."""
    return frozenset(steps_of(path) for path in paths)


@dataclass(frozen=True, slots=True)
class _Taken:
    """The type that a policy takes for a path: a primitive, `object`, `array`, or nothing; and how many values have it."""

    kind: Literal["object", "array", "primitive", "nothing"]
    type: pa.DataType | None
    values: int
    reason: str


_NOTHING: Final = ShreddingSchema.value()

Policy: TypeAlias = Callable[[PathFacts, Options], _Taken]


def _families(facts: PathFacts) -> dict[str, int]:
    """How many values there are of each family; integers and decimals are one each, named by their widest member."""
    found = {name: count for name, count in facts.types.items() if name != "null"}
    for members in (INTEGERS, DECIMALS):
        seen = [name for name in members if name in found]
        if seen:
            total = sum(found.pop(name) for name in seen)
            found[seen[-1]] = total
    return found


def _type_of(name: str, facts: PathFacts) -> pa.DataType:
    """The Arrow type of a family's widest member."""
    if name in DECIMALS:
        return _decimal(*(facts.decimal_digits or (0, 0)))
    if name == "boolean":
        return pa.bool_()
    kind = BY_NAME[name].arrow
    assert kind is not None
    return kind


def _decimal(whole: int, scale: int) -> pa.DataType:
    """Room for so many digits before the point and behind it; where 38 are too few, those before it win."""
    whole = min(max(whole, 0), MAX_DECIMAL_DIGITS)
    scale = min(scale, MAX_DECIMAL_DIGITS - whole)
    return pa.decimal128(max(whole + scale, 1), scale)


def roomy_decimal(whole: int, scale: int) -> pa.DataType | None:
    """A decimal of 18 or 38 digits with room for so many before the point, and just so many behind it; None if there is none."""
    if whole + scale > MAX_DECIMAL_DIGITS:
        return None
    return pa.decimal128(18 if whole + scale <= 18 else MAX_DECIMAL_DIGITS, scale)


def _roomy(whole: int, scale: int, values: int, reason: str) -> _Taken:
    kind = roomy_decimal(whole, scale)
    if kind is None:
        return _none(f"no decimal has {whole} digits before the point and {scale} behind it")
    return _Taken("primitive", kind, values, reason)


def _as_taken(name: str, count: int, facts: PathFacts, reason: str) -> _Taken:
    if name == "object":
        return _Taken("object", None, count, reason)
    if name == "array":
        return _Taken("array", None, count, reason)
    return _Taken("primitive", _type_of(name, facts), count, reason)


def _none(reason: str) -> _Taken:
    return _Taken("nothing", None, 0, reason)


def _uniform(facts: PathFacts, options: Options) -> _Taken:
    """Iceberg: one family of types, or nothing."""
    families = _families(facts)
    if not families:
        return _none("nothing but nulls")
    if len(families) > 1:
        return _none("mixed: " + _mixture(families))
    ((name, count),) = families.items()
    return _as_taken(name, count, facts, "one family of types")


def _majority(facts: PathFacts, options: Options) -> _Taken:
    """Iceberg 1.11: the most common type."""
    families = _families(facts)
    if not families:
        return _none("nothing but nulls")
    name, count = max(families.items(), key=lambda item: (item[1], _TIE_ORDER.index(item[0])))
    return _as_taken(name, count, facts, "one family of types" if len(families) == 1 else f"the most common of {_mixture(families)}")


def _spark(facts: PathFacts, options: Options) -> _Taken:
    """Spark: integers are bigint, integers and decimals a decimal of 18 or 38 digits, everything else must be one type."""
    families = _families(facts)
    if not families:
        return _none("nothing but nulls")
    exact = {name: count for name, count in families.items() if name in INTEGERS or name in DECIMALS}
    if len(exact) == len(families):
        total = sum(exact.values())
        digits = facts.decimal_digits
        if digits is None:
            return _Taken("primitive", pa.int64(), total, "integers")
        return _roomy(max(digits[0], integer_digits(facts)), digits[1], total, "integers and decimals" if len(exact) > 1 else "decimals")
    if len(families) > 1:
        return _none("mixed: " + _mixture(families))
    ((name, count),) = families.items()
    return _as_taken(name, count, facts, "one type")


def integer_digits(facts: PathFacts) -> int:
    """The most digits that an integer of a path has."""
    return max((len(str(abs(number))) for number in facts.integer_range or ()), default=0)


def _saving(facts: PathFacts, options: Options) -> _Taken:
    """varquet: the family that most values have, if that is enough of them; types that one more value will not change."""
    families = _families(facts)
    if not families:
        return _none("nothing but nulls")
    exact = [name for name in families if name in INTEGERS or name in DECIMALS]
    total = sum(families.values())
    if len(exact) == 2:
        both = sum(families.pop(name) for name in exact)
        families["decimal16"] = both
    name, count = max(families.items(), key=lambda item: (item[1], _TIE_ORDER.index(item[0])))
    if count < options.min_typed_share * total:
        return _none(f"no type has {options.min_typed_share:.0%} of the values: {_mixture(families)}")
    reason = (
        "one type" if len(families) == 1 else f"{count / total:.1%} of its values; the rest stays in the residual: {_mixture(families)}"
    )
    if name in INTEGERS:
        return _Taken("primitive", pa.int64(), count, reason)
    if name in DECIMALS:
        digits = facts.decimal_digits or (0, 0)
        return _roomy(max(digits[0], integer_digits(facts)), digits[1], count, reason)
    if options.for_spark and name in _NOT_FOR_SPARK:
        return _none(f"{name}: Spark cannot read its typed column")
    return _as_taken(name, count, facts, reason)


def _hot(facts: PathFacts, options: Options) -> _Taken:
    """Maps: a key that is frequent has a column for its values, of the type that the map has."""
    families = _families(facts)
    if not facts.steps:
        return _Taken("object", None, facts.of("object"), "a map")
    if len(families) != 1 or not families.keys().isdisjoint(("object", "array")):
        return _none("values of the map's own type")
    ((name, count),) = families.items()
    return _as_taken(name, count, facts, "a frequent key")


def _mixture(families: Mapping[str, int]) -> str:
    ordered = sorted(families.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count:,}" for name, count in ordered)


POLICIES: Final[dict[str, Policy]] = {"varquet": _saving, "iceberg": _uniform, "iceberg-1.11": _majority, "spark": _spark, "map": _hot}


class _Chooser:
    """One choice in the making, from the leaves up."""

    def __init__(self, profile: Profile, policy: Policy, options: Options) -> None:
        self.profile = profile
        self.policy = policy
        self.options = options
        self.facts = {facts.steps: facts for facts in profile}
        self.below: dict[Steps, list[Steps]] = {}
        for steps in profile.paths:
            if steps:
                self.below.setdefault(steps[:-1], []).append(steps)
        root = self.facts.get(())
        self.values = root.held if root is not None else 0
        self.reasons: dict[Steps, tuple[bool, str | None, str, int]] = {}
        self.made: dict[Steps, ShreddingSchema | None] = {}

    def run(self) -> Choice:
        # Deepest first; no recursion, so that depth has no limit but that of the policy.
        for steps in sorted(self.facts, key=len, reverse=True):
            self.made[steps] = self.schema_of(steps)
        schema = self.made.get(()) or _NOTHING
        if self.policy in (_saving, _hot):
            schema = self.within_budget(schema)
        return Choice(schema, [self.decision(facts) for facts in self.facts.values()])

    def decision(self, facts: PathFacts) -> Decision:
        chosen, kind, reason, typed = self.reasons.get(facts.steps, (False, None, "below a path that is not shredded", 0))
        above = facts.steps[:-1]
        if chosen and facts.steps and not self.reasons.get(above, (False,))[0]:
            chosen, reason = False, "below a path that is not shredded"
        values = facts.held
        return Decision(
            facts.path,
            chosen,
            kind if chosen else None,
            reason,
            facts.rows / self.profile.values if self.profile.values else 0.0,
            typed / values if values and chosen else 0.0,
            facts.bytes,
        )

    def frequency(self, steps: Steps) -> float:
        """How often a field is there; Spark counts rows, the others count values that are not null."""
        facts = self.facts[steps]
        if self.policy is _spark:
            return facts.rows / self.profile.values
        return facts.held / self.values if self.values else 0.0

    def schema_of(self, steps: Steps) -> ShreddingSchema | None:
        facts, options = self.facts[steps], self.options
        if steps and steps[-1] is OTHERS:
            return self.decide(steps, None, "names that are data, none of them frequent", 0)
        if any(steps[:length] in options.never for length in range(len(steps) + 1)):
            return self.decide(steps, None, "never, by a hint", 0)
        if steps in options.types:
            return self.decide(steps, options.types[steps], "by a hint", facts.held)
        is_kept = steps in options.always or any(asked[: len(steps)] == steps for asked in options.always)
        if len(steps) > options.max_depth:
            return self.decide(steps, None, f"deeper than {options.max_depth}", 0)
        if steps and isinstance(steps[-1], str) and not is_kept and self.frequency(steps) < options.min_field_frequency:
            return self.decide(steps, None, f"in fewer than {options.min_field_frequency:.0%} of the values", 0)
        taken = self.policy(facts, options)
        if taken.kind == "nothing":
            return self.untyped(steps, taken.reason)
        if taken.kind == "primitive":
            assert taken.type is not None
            return self.decide(steps, ShreddingSchema.primitive(taken.type), taken.reason, taken.values)
        return self.object(steps, taken) if taken.kind == "object" else self.array(steps, taken)

    def object(self, steps: Steps, taken: _Taken) -> ShreddingSchema | None:
        fields = [
            (below, made) for below in self.below.get(steps, ()) if isinstance(below[-1], str) and (made := self.made[below]) is not None
        ]
        # Pruning comes before types: fields that have none count among the most frequent too.
        frequent = [below for below in self.below.get(steps, ()) if isinstance(below[-1], str) and self.is_frequent(below)]
        if len(frequent) > self.options.max_shredded_fields:
            ranked = sorted(frequent, key=lambda below: (-self.frequency(below), str(below[-1]).encode()))
            kept = {*ranked[: self.options.max_shredded_fields], *self.options.always}
            for below, _ in fields:
                if below not in kept:
                    self.decide(below, None, f"not among the {self.options.max_shredded_fields} most frequent fields", 0)
            fields = [(below, made) for below, made in fields if below in kept]
        if not fields:
            return self.untyped(steps, "an object without a field worth a column")
        return self.decide(steps, ShreddingSchema.object([(str(below[-1]), made) for below, made in fields]), taken.reason, taken.values)

    def untyped(self, steps: Steps, reason: str) -> ShreddingSchema | None:
        """A path without a type: nothing, but for Spark and for maps, which give a frequent field a column for its values."""
        return self.decide(steps, _NOTHING if self.policy in (_spark, _hot) and steps else None, reason, 0)

    def is_frequent(self, steps: Steps) -> bool:
        return self.frequency(steps) >= self.options.min_field_frequency or steps in self.options.always

    def array(self, steps: Steps, taken: _Taken) -> ShreddingSchema | None:
        element = self.made.get((*steps, ELEMENT))
        if element is None and self.policy is _spark:
            element = _NOTHING
        if element is None:
            return self.decide(steps, None, "an array without elements of one type", 0)
        return self.decide(steps, ShreddingSchema.array(element), taken.reason, taken.values)

    def decide(self, steps: Steps, schema: ShreddingSchema | None, reason: str, typed: int) -> ShreddingSchema | None:
        kind = None if schema is None else schema.ddl() if not schema.fields and schema.element is None else schema.kind.name.lower()
        self.reasons[steps] = schema is not None, kind, reason, typed
        return schema

    def within_budget(self, schema: ShreddingSchema) -> ShreddingSchema:
        """The leaves that hold most bytes, as many as there may be columns."""
        leaves = [steps for steps, leaf in schema.leaves() if steps and (leaf.type is not None or self.policy is _hot)]
        if len(leaves) <= self.options.max_columns:
            return schema
        hinted = {steps for steps in leaves if steps in self.options.always or steps in self.options.types}
        ranked = sorted(leaves, key=lambda steps: (steps not in hinted, -self.saved(steps), str(steps)))
        kept = ranked[: self.options.max_columns]
        for steps in ranked[self.options.max_columns :]:
            self.decide(steps, None, f"beyond the {self.options.max_columns} columns that hold most", 0)
        return schema.select(kept)

    def saved(self, steps: Steps) -> int:
        """The bytes that a column takes out of the residual: its values, and of a map also its key, which every entry has."""
        facts = self.facts.get(steps)
        if facts is None:
            return 0
        return facts.bytes + (facts.held * len(str(steps[-1]).encode()) if self.policy is _hot else 0)


def with_hints(
    options: Options, *, always: Iterable[str] = (), never: Iterable[str] = (), types: Mapping[str, ShreddingSchema | str] | None = None
) -> Options:
    """Options with hints, whose paths are given as text: $.user.id, $.items[*].sku."""
    parsed: dict[Steps, ShreddingSchema] = {
        steps_of(path): ShreddingSchema.parse(schema) if isinstance(schema, str) else schema for path, schema in (types or {}).items()
    }
    return replace(options, always=hint_steps(always), never=hint_steps(never), types=parsed)
