"""Plans: the shredding schema of a table's columns, pinned, and changed only by rules that never go back and forth.

A plan is a small JSON file that people read and compare. `evolve` is a pure function of a plan and a profile: a path comes in at
10 % of the values, stays until it falls below 5 %, and keeps its type, which may only widen (integers to decimals, decimals to
more digits). A path whose type no longer fits its values goes, and never comes back as another type.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Final, Literal

import pyarrow as pa

from varquet.errors import VarquetError
from varquet.layouts.map_keys import MapKeys, MapKeysLike, keys_of
from varquet.parquet.footer import PLAN_KEY, read_footer
from varquet.profiles.facts import DECIMALS, INTEGERS, PathFacts, Profile, Steps
from varquet.profiles.policies import MAP_POLICY, Options, PolicyName, choose, integer_digits, roomy_decimal
from varquet.profiles.profiling import Data
from varquet.profiles.profiling import profile as profile_of
from varquet.schema import ShreddingSchema, display_path
from varquet.schema.walk import steps_of
from varquet.types import BY_NAME

__all__ = ["Change", "ColumnPlan", "Drift", "PathDrift", "Plan", "drift"]

_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """How one column is shredded, and what led to it. With the policy `map` it is a map, and the fields of the schema its hot keys."""

    schema: ShreddingSchema
    policy: PolicyName = "varquet"
    options: Options = field(default_factory=Options)
    """What the policy was told, hints among it; it is told the same when the plan evolves."""
    retain_frequency: float = 0.05
    """A path that is shredded stays until it is in fewer values than this."""
    retain_typed_share: float = 0.25
    """A path keeps its type while this share of its values has it."""
    profile_digest: str | None = None
    gone: Mapping[str, str] = field(default_factory=dict)
    """Paths that were shredded once, and the types they had: they come back as those or not at all."""
    order: tuple[str, ...] = ()
    """The hot keys of a map in the order in which somebody gave them."""

    @classmethod
    def of_keys(cls, given: MapKeysLike) -> ColumnPlan:
        """The plan for a map whose hot keys somebody has chosen."""
        keys = keys_of(given)
        return cls(keys.schema(), MAP_POLICY, order=tuple(keys.names))

    @property
    def is_map(self) -> bool:
        """Whether the column stays a map, and the fields of the schema are its hot keys."""
        return self.policy == MAP_POLICY


@dataclass(frozen=True, slots=True)
class Change:
    """What a step of evolution did to one path."""

    column: str
    path: str
    kind: Literal["added", "dropped", "widened"]
    before: str | None
    after: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The pinned schemas of a table's Variant columns, and the hot keys of its maps, by name."""

    columns: Mapping[str, ColumnPlan]
    step: int = 1
    """How often it was made or changed."""

    @classmethod
    def from_profiles(
        cls,
        profiles: Mapping[str, Profile],
        policy: PolicyName = "varquet",
        options: Options | None = None,
        *,
        maps: Collection[str] = (),
        retain_frequency: float = 0.05,
    ) -> Plan:
        """The plan that a policy makes of the first profile of each column; `maps` are those that stay maps, with hot keys."""
        options = options or Options()
        policies: dict[str, PolicyName] = {name: MAP_POLICY if name in maps else policy for name in profiles}
        return cls(
            {
                name: ColumnPlan(
                    choose(profile, policies[name], options).schema,
                    policies[name],
                    options,
                    retain_frequency,
                    profile_digest=profile.digest(),
                )
                for name, profile in profiles.items()
            }
        )

    @property
    def schemas(self) -> dict[str, ShreddingSchema]:
        """What `write` takes for the Variant columns."""
        return {name: column.schema for name, column in self.columns.items() if not column.is_map}

    @property
    def maps(self) -> dict[str, MapKeys]:
        """What `write` takes for the columns of maps."""
        return {name: MapKeys.from_schema(column.schema, column.order) for name, column in self.columns.items() if column.is_map}

    def digest(self) -> str:
        """A hash of the plan, in hexadecimal."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        """The plan as JSON, the same text for the same plan; a path to a line, so that two plans can be compared."""
        return json.dumps(
            {
                "varquet_plan": _VERSION,
                "step": self.step,
                "columns": {
                    name: {
                        "policy": column.policy,
                        "options": column.options.to_dict(),
                        "retain_frequency": column.retain_frequency,
                        "retain_typed_share": column.retain_typed_share,
                        "profile_digest": column.profile_digest,
                        "schema": column.schema.ddl(),
                        "paths": leaf_types(column.schema),
                        "gone": dict(sorted(column.gone.items())),
                        **({"order": list(column.order)} if column.order else {}),
                    }
                    for name, column in sorted(self.columns.items())
                },
            },
            indent=2,
            ensure_ascii=False,
        )

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan that `to_json` wrote."""
        try:
            data = json.loads(text)
            version = data["varquet_plan"]
        except (ValueError, KeyError, TypeError) as error:
            raise VarquetError("expected the JSON of a plan, got something else", hint="varquet analyze --plan FILE writes one") from error
        if version != _VERSION:
            raise VarquetError(f"expected a plan of version {_VERSION}, got {version!r}")
        columns: dict[str, ColumnPlan] = {}
        for name, column in data["columns"].items():
            schema = ShreddingSchema.parse(column["schema"])
            if column["paths"] != leaf_types(schema):
                raise VarquetError(
                    f"expected the schema and the paths of column {name!r} to say the same, got paths that the schema has not",
                    hint="change the schema, and write the paths as `varquet plan show` does",
                )
            rest = {key: value for key, value in column.items() if key not in ("schema", "paths", "options", "order")}
            rest["order"] = tuple(column.get("order", ()))
            columns[name] = ColumnPlan(schema, options=Options.from_dict(column["options"]), **rest)
        return cls(columns, data["step"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, whole or not at all."""
        target = FilePath(path)
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        temporary.write_text(self.to_json() + "\n", encoding="utf-8")
        os.replace(temporary, target)

    @classmethod
    def from_parquet(cls, path: str | os.PathLike[str]) -> Plan | None:
        """The plan by which a file was written, if it was by one."""
        recorded = read_footer(path).key_value_metadata.get(PLAN_KEY)
        return None if recorded is None else cls.from_json(recorded)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        return cls.from_json(FilePath(path).read_text(encoding="utf-8"))

    def evolve(self, profiles: Mapping[str, Profile]) -> tuple[Plan, list[Change]]:
        """The next plan, for data with these profiles, and what has changed; the same plan where nothing has."""
        columns, changes = dict(self.columns), list[Change]()
        for name, profile in profiles.items():
            if name not in columns:
                raise VarquetError(f"expected the name of a column of the plan, got {name!r}", hint="they are " + ", ".join(columns))
            columns[name], found = _evolved(name, columns[name], profile)
            changes += found
        return (Plan(columns, self.step + 1), changes) if changes else (self, [])


def leaf_types(schema: ShreddingSchema) -> dict[str, str]:
    """The types of a schema's leaves by their paths."""
    return {display_path(steps): leaf.ddl() for steps, leaf in schema.leaves()}


def _evolved(name: str, plan: ColumnPlan, profile: Profile) -> tuple[ColumnPlan, list[Change]]:
    facts = {one.steps: one for one in profile}
    root = facts.get(())
    values = root.held if root is not None else 0
    if not values:
        return plan, []
    kept: dict[Steps, ShreddingSchema] = {}
    gone: dict[str, str] = dict(plan.gone)
    reasons: dict[str, str] = {}
    asked = plan.options
    never: set[Steps] = set(asked.never)
    for steps, leaf in plan.schema.leaves():
        path, here = display_path(steps), facts.get(steps)
        if _is_hinted(steps, asked):
            if here is not None or steps in asked.types:
                kept[steps] = asked.types.get(steps, leaf)
            continue
        share = here.held / values if here is not None else 0.0
        if here is None or share < plan.retain_frequency:
            gone[path], reasons[path] = leaf.ddl(), f"in {share:.1%} of the values, below {plan.retain_frequency:.0%}"
            never.add(steps)
            continue
        wider = _widened(leaf, here)
        typed = _typed(plan, wider, here) / max(1, here.held)
        if leaf.type is not None and typed < plan.retain_typed_share:
            gone[path], reasons[path] = leaf.ddl(), f"{typed:.1%} of its values have its type, below {plan.retain_typed_share:.0%}"
            never.add(steps)
            continue
        kept[steps] = wider
    # What went comes back only at the threshold for new paths, and only as what it was.
    back: dict[Steps, ShreddingSchema] = {}
    for path, ddl in plan.gone.items():
        steps = steps_of(path)
        here, leaf = facts.get(steps), ShreddingSchema.parse(ddl)
        share = here.held / values if here is not None else 0.0
        if here is not None and share >= asked.min_field_frequency and _typed(plan, leaf, here) >= 0.5 * here.held:
            back[steps] = _widened(leaf, here)
            del gone[path]
        else:
            never.add(steps)
    known = {**kept, **back}
    options = dataclasses.replace(asked, always=asked.always | known.keys(), never=frozenset(never), types={**known, **asked.types})
    schema = choose(profile, plan.policy, options).schema
    before, after = leaf_types(plan.schema), leaf_types(schema)
    changes: list[Change] = []
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old is None:
            changes.append(Change(name, path, "added", None, new, f"in at least {asked.min_field_frequency:.0%} of the values"))
        elif new is None:
            changes.append(Change(name, path, "dropped", old, None, reasons.get(path, "what is above it is no longer shredded")))
            gone.setdefault(path, old)
        elif old != new:
            changes.append(Change(name, path, "widened", old, new, "values that did not fit"))
    if not changes:
        return plan, []
    return dataclasses.replace(plan, schema=schema, gone=gone, profile_digest=profile.digest()), changes


def _is_hinted(steps: Steps, options: Options) -> bool:
    """Whether a person said that this path has a column, however rare it is."""
    return steps in options.always or any(steps[: len(asked)] == asked for asked in options.types)


def _widened(leaf: ShreddingSchema, facts: PathFacts) -> ShreddingSchema:
    """The type with room for all exact numbers of a path, where it is one for exact numbers; never a narrower one."""
    kind = leaf.type
    if kind is None or not (pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        return leaf
    whole, scale = integer_digits(facts), 0
    if facts.decimal_digits is not None:
        whole, scale = max(whole, facts.decimal_digits[0]), facts.decimal_digits[1]
    if pa.types.is_integer(kind):
        if facts.decimal_digits is None:
            low, high = facts.integer_range or (0, 0)
            widths = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
            return ShreddingSchema.primitive(
                next(width for width in widths if width.bit_width >= kind.bit_width and _fits(low, high, width.bit_width))
            )
        # Decimals that are a few among integers are no reason to give integers up.
        if facts.of(*DECIMALS) < 0.05 * facts.of(*INTEGERS, *DECIMALS):
            return leaf
    else:
        whole, scale = max(whole, kind.precision - kind.scale), max(scale, kind.scale)
        if (whole, scale) == (kind.precision - kind.scale, kind.scale):
            return leaf
    wider = roomy_decimal(whole, scale)
    return leaf if wider is None else ShreddingSchema.primitive(wider)


def _fits(low: int, high: int, bits: int) -> bool:
    return -(1 << (bits - 1)) <= low and high < 1 << (bits - 1)


def _typed(plan: ColumnPlan, leaf: ShreddingSchema, facts: PathFacts) -> int:
    """How many values of a path are of a leaf's kind; of a map, whose texts a profile knows as texts only, that is all of them."""
    kind = leaf.type
    if kind is None or plan.is_map:
        return facts.held
    if pa.types.is_integer(kind):
        return facts.of(*INTEGERS)
    if pa.types.is_decimal(kind):
        return facts.of(*INTEGERS, *DECIMALS)
    names = [name for name in facts.types if name not in ("null", *INTEGERS, *DECIMALS, "object", "array")]
    return facts.of(*(name for name in names if _is_of(name, kind)))


def _is_of(name: str, kind: pa.DataType) -> bool:
    return bool(pa.types.is_boolean(kind)) if name == "boolean" else BY_NAME[name].arrow == kind


@dataclass(frozen=True, slots=True)
class PathDrift:
    """How one path fits a plan."""

    path: str
    type: str | None
    """The plan's; None for a path that it has not."""
    frequency: float
    typed_share: float
    finding: Literal["fits", "conflicts", "rare", "new"]


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


def drift(plan: ColumnPlan, data: Profile | Data) -> Drift:
    """Measure how well a column's plan fits data: what is typed, what conflicts, what is rare, what is new.

    The data is a profile, or what `profile` takes: a column, a table with one, files.
    """
    profile = data if isinstance(data, Profile) else profile_of(data)
    facts = {one.steps: one for one in profile}
    root = facts.get(())
    values = max(1, root.held if root is not None else 0)
    leaves = dict(plan.schema.leaves())
    found: list[PathDrift] = []
    typed_bytes = 0.0
    for steps, leaf in leaves.items():
        here = facts.get(steps)
        held = here.held if here is not None else 0
        typed = _typed(plan, leaf, here) / held if here is not None and held else 0.0
        if here is not None and leaf.type is not None:
            typed_bytes += typed * here.bytes
        share = held / values
        finding: Literal["fits", "conflicts", "rare", "new"] = "fits"
        if share < plan.retain_frequency:
            finding = "rare"
        elif leaf.type is not None and typed < 0.95:
            finding = "conflicts"
        found.append(PathDrift(display_path(steps), leaf.ddl(), share, typed, finding))
    fresh = choose(profile, plan.policy, plan.options).schema
    for steps, _ in fresh.leaves():
        if steps not in leaves:
            found.append(PathDrift(display_path(steps), None, facts[steps].held / values, 0.0, "new"))
    return Drift(typed_bytes / max(1, root.bytes if root is not None else 0), found)
