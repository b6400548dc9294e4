"""Plans: the shredding schema of a table's columns, pinned, and changed only by rules that never go back and forth.

A plan is a small JSON file that people read and compare.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Final

from varquet.errors import VarquetError
from varquet.layouts.map_keys import MapKeys
from varquet.parquet.footer import PLAN_KEY, read_footer
from varquet.profiles.column_plan import RETAIN_FREQUENCY, Change, ColumnPlan, leaf_types
from varquet.profiles.evolving import evolved
from varquet.profiles.facts import Profile
from varquet.profiles.policies import MAP_POLICY, Options, PolicyName, choose
from varquet.schema import ShreddingSchema

__all__ = ["Change", "ColumnPlan", "Plan", "leaf_types"]

_VERSION: Final = 1


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
        retain_frequency: float | None = None,
    ) -> Plan:
        """The plan that a policy makes of the first profile of each column; `maps` are those that stay maps, with hot keys.

        A path stays until it is in fewer values than `retain_frequency`: by default 5 %, or half of what new ones need if that is less.
        """
        options = options or Options()
        if retain_frequency is None:
            retain_frequency = min(RETAIN_FREQUENCY, options.min_field_frequency / 2)
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
        columns = {name: column.to_dict() for name, column in sorted(self.columns.items())}
        return json.dumps({"varquet_plan": _VERSION, "step": self.step, "columns": columns}, indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan that `to_json` wrote."""
        try:
            data = json.loads(text)
            version = data["varquet_plan"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise VarquetError("expected the JSON of a plan, got something else", hint="varquet analyze --plan FILE writes one") from error
        if version != _VERSION:
            raise VarquetError(f"expected a plan of version {_VERSION}, got {version!r}")
        step, columns = data.get("step"), data.get("columns")
        if not isinstance(step, int) or isinstance(step, bool) or step < 1:
            raise VarquetError(f"expected the step of a plan to be a whole number from 1 on, got {step!r}")
        if not isinstance(columns, dict):
            raise VarquetError(f"expected the columns of a plan by their names, got {columns!r}")
        made: dict[str, ColumnPlan] = {}
        for name, column in columns.items():
            try:
                made[name] = ColumnPlan.from_dict(column)
            except VarquetError as error:
                error.message = f"column {name!r} of the plan: {error.message}"
                raise
        return cls(made, step)

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
        """The plan of a file."""
        try:
            return cls.from_json(FilePath(path).read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise VarquetError(f"expected the JSON of a plan in {os.fspath(path)}, got what is not UTF-8") from error

    def evolve(self, profiles: Profile | Mapping[str, Profile]) -> tuple[Plan, list[Change]]:
        """The next plan, for data with these profiles, and what has changed; the same plan where nothing has.

        Args:
            profiles: a profile for each column, by name; or one for the only column.
        """
        if isinstance(profiles, Profile):
            profiles = {self.column_name(None): profiles}
        columns, changes = dict(self.columns), list[Change]()
        for name, profile in profiles.items():
            columns[name], found = evolved(name, columns[self.column_name(name)], profile)
            changes += found
        return (Plan(columns, self.step + 1), changes) if changes else (self, [])

    def column_name(self, name: str | None) -> str:
        """The name of a column of the plan, by default of the only one."""
        if name is None and len(self.columns) == 1:
            return next(iter(self.columns))
        if name is None or name not in self.columns:
            got = "none" if name is None else repr(name)
            raise VarquetError(f"expected the name of a column of the plan, got {got}", hint="they are " + ", ".join(self.columns))
        return name
