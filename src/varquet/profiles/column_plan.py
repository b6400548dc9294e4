"""How one column of a table is shredded, pinned, and what a step of evolution does to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from varquet.errors import UnsupportedTypeError, VarquetError
from varquet.layouts.map_keys import MapKeysLike, keys_of
from varquet.profiles.facts import Steps
from varquet.profiles.options import MAP_POLICY, Options, PolicyName, check_share
from varquet.profiles.type_rules import POLICIES
from varquet.schema import Kind, ShreddingSchema, display_path
from varquet.schema.walk import steps_of

__all__ = ["RETAIN_FREQUENCY", "Change", "ColumnPlan", "leaf_types", "leaves_of"]

RETAIN_FREQUENCY: Final = 0.05


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """How one column is shredded, and what led to it. With the policy `map` it is a map, and the fields of the schema its hot keys."""

    schema: ShreddingSchema
    policy: PolicyName = "varquet"
    options: Options = field(default_factory=Options)
    """What the policy was told, hints among it; it is told the same when the plan evolves."""
    retain_frequency: float = RETAIN_FREQUENCY
    """A path that is shredded stays until it is in fewer values than this, and than those in which a new one must be."""
    retain_typed_share: float = 0.25
    """A path keeps its type while this share of its values has it."""
    profile_digest: str | None = None
    gone: Mapping[str, str] = field(default_factory=dict)
    """Paths that were shredded once, and the types they had: they come back as those or not at all."""
    order: tuple[str, ...] = ()
    """The hot keys of a map in the order in which somebody gave them."""

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise UnsupportedTypeError(f"expected a policy, got {self.policy!r}", hint="they are " + ", ".join(map(repr, POLICIES)))
        for name in ("retain_frequency", "retain_typed_share"):
            check_share(name, getattr(self, name))

    @classmethod
    def of_keys(cls, given: MapKeysLike) -> ColumnPlan:
        """The plan for a map whose hot keys somebody has chosen."""
        keys = keys_of(given)
        return cls(keys.schema(), MAP_POLICY, order=tuple(keys.names))

    @property
    def is_map(self) -> bool:
        """Whether the column stays a map, and the fields of the schema are its hot keys."""
        return self.policy == MAP_POLICY

    @property
    def least_frequency(self) -> float:
        """In how many values a column is at least: never more than a new one needs, or one that has gone would come back at once."""
        return min(self.retain_frequency, self.options.min_field_frequency)

    @property
    def leaves(self) -> dict[Steps, ShreddingSchema]:
        """The columns by their paths; a schema that shreds nothing has none."""
        return leaves_of(self.schema)

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON has it, a path to a line; `from_dict` reads it."""
        return {
            "policy": self.policy,
            "options": self.options.to_dict(),
            "retain_frequency": self.retain_frequency,
            "retain_typed_share": self.retain_typed_share,
            "profile_digest": self.profile_digest,
            "schema": self.schema.ddl(),
            "paths": leaf_types(self.schema),
            "gone": dict(sorted(self.gone.items())),
            **({"order": list(self.order)} if self.order else {}),
        }

    @classmethod
    def from_dict(cls, data: object) -> ColumnPlan:
        """What `to_dict` made; what somebody has changed by hand is checked."""
        given = _members(data)
        unknown = given.keys() - {*_MEMBERS, *_MORE_MEMBERS}
        if unknown or not given.keys() >= _MEMBERS.keys():
            raise VarquetError(
                f"expected what says how a column is shredded, got {', '.join(sorted(map(repr, given))) or 'nothing'}",
                hint="it has " + ", ".join(_MEMBERS) + " and perhaps " + ", ".join(_MORE_MEMBERS),
            )
        for name, value in given.items():
            kind = {**_MEMBERS, **_MORE_MEMBERS}[name]
            if not isinstance(value, kind):
                raise VarquetError(f"expected {name} to be {_KINDS[kind]}, got {value!r}")
        schema = ShreddingSchema.parse(given["schema"])
        if given["paths"] != leaf_types(schema):
            raise VarquetError(
                "expected the schema and the paths to say the same, got paths that the schema has not",
                hint="change the schema, and write the paths as `varquet plan show` does",
            )
        for path, ddl in given["gone"].items():
            steps_of(path)
            ShreddingSchema.parse(ddl)
        if not all(isinstance(name, str) for name in given.get("order", ())):
            raise VarquetError(f"expected the names of keys as order, got {given['order']!r}")
        return cls(
            schema,
            given["policy"],
            Options.from_dict(given["options"]),
            given["retain_frequency"],
            given["retain_typed_share"],
            given.get("profile_digest"),
            given["gone"],
            tuple(given.get("order", ())),
        )


_MEMBERS: Final[dict[str, Any]] = {
    "policy": str,
    "options": dict,
    "retain_frequency": (int, float),
    "retain_typed_share": (int, float),
    "schema": str,
    "paths": dict,
    "gone": dict,
}
_MORE_MEMBERS: Final[dict[str, Any]] = {"profile_digest": (str, type(None)), "order": list}
_KINDS: Final[dict[Any, str]] = {
    str: "text",
    dict: "an object",
    list: "a list",
    (int, float): "a number",
    (str, type(None)): "text or null",
}


def _members(data: object) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise VarquetError(f"expected what says how a column is shredded, got {data!r}")
    return data


@dataclass(frozen=True, slots=True)
class Change:
    """What a step of evolution did to one path."""

    column: str
    path: str
    kind: Literal["added", "dropped", "widened", "typed"]
    """`typed`: it had a column for its values only."""
    before: str | None
    after: str | None
    reason: str


def leaves_of(schema: ShreddingSchema) -> dict[Steps, ShreddingSchema]:
    """The leaves of a schema by their paths, without the root of one that shreds nothing."""
    return {steps: leaf for steps, leaf in schema.leaves() if steps or leaf.kind is not Kind.VALUE}


def leaf_types(schema: ShreddingSchema) -> dict[str, str]:
    """The types of a schema's leaves by their paths."""
    return {display_path(steps): leaf.ddl() for steps, leaf in schema.leaves()}
