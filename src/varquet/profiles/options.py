"""What policies may do: thresholds, limits, and the hints of people who know their data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal, TypeAlias

from varquet.errors import UnsupportedTypeError, VarquetError
from varquet.profiles.facts import Steps, path_text
from varquet.schema import ShreddingSchema
from varquet.schema.walk import steps_of

__all__ = ["MAP_POLICY", "Options", "PolicyName", "check_share", "prefixes", "with_hints"]

PolicyName: TypeAlias = Literal["varquet", "iceberg", "iceberg-1.11", "spark", "map"]

MAP_POLICY: Final = "map"

_SHARES: Final = ("min_field_frequency", "min_typed_share")
_LIMITS: Final = ("max_shredded_fields", "max_depth", "max_columns")


@dataclass(frozen=True, slots=True)
class Options:
    """What a policy may do; the defaults are those of Iceberg's analyzer, but for the last three."""

    min_field_frequency: float = 0.10
    """A field must be in this share of the column's values."""
    max_shredded_fields: int = 300
    """An object keeps so many fields, the most frequent ones; the policy `spark` gives a column so many in all."""
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
    """The types of paths, whatever their values are, and if there are none yet."""
    for_spark: bool = True
    """Leave types unshredded whose typed columns Spark cannot read."""

    def __post_init__(self) -> None:
        for name in _SHARES:
            check_share(name, getattr(self, name))
        for name in _LIMITS:
            limit = getattr(self, name)
            if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
                raise UnsupportedTypeError(f"expected {name} to be a whole number that is not negative, got {limit!r}")

    def is_hinted(self, steps: Steps) -> bool:
        """Whether a person said that this path has a column, however rare it is."""
        return steps in self.always or any(above in self.types for above in prefixes(steps))

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
        hints = {name: data[name] for name in ("always", "never", "types") if name in data}
        try:
            return with_hints(cls(**{name: value for name, value in data.items() if name not in hints}), **hints)
        except (TypeError, AttributeError) as error:
            if isinstance(error, VarquetError):
                raise
            raise VarquetError(
                f"expected the options of a policy, got {', '.join(sorted(map(str, data)))}",
                hint="they are " + ", ".join(one.name for one in fields(cls)),
            ) from error


def check_share(name: str, share: object) -> None:
    """Refuse what is no share of anything."""
    if not isinstance(share, (int, float)) or isinstance(share, bool) or not 0 <= share <= 1:
        raise UnsupportedTypeError(f"expected {name} to be a share between 0 and 1, got {share!r}")


def prefixes(steps: Steps) -> Iterator[Steps]:
    """A path and all above it, the root first."""
    return (steps[:length] for length in range(len(steps) + 1))


def with_hints(
    options: Options, *, always: Iterable[str] = (), never: Iterable[str] = (), types: Mapping[str, ShreddingSchema | str] | None = None
) -> Options:
    """Options with hints, whose paths are given as text: $.user.id, $.items[*].sku."""
    parsed: dict[Steps, ShreddingSchema] = {
        steps_of(path): ShreddingSchema.parse(schema) if isinstance(schema, str) else schema for path, schema in (types or {}).items()
    }
    hinted = replace(
        options, always=frozenset(steps_of(path) for path in always), never=frozenset(steps_of(path) for path in never), types=parsed
    )
    for steps in sorted({*hinted.always, *hinted.types}, key=path_text):
        for above in prefixes(steps):
            if above in hinted.never:
                raise UnsupportedTypeError(f"expected hints that agree, got {path_text(steps)} asked for and {path_text(above)} never")
            if above != steps and above in hinted.types:
                raise UnsupportedTypeError(
                    f"expected hints that agree, got {path_text(steps)} asked for below {path_text(above)}, which has a type of its own",
                    hint=f"say it in the type of {path_text(above)}",
                )
    return hinted
