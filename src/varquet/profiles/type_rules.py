"""The type that each policy takes for a path, from the facts about its values alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import pyarrow as pa

from varquet.profiles.facts import DECIMALS, INTEGERS, PathFacts
from varquet.profiles.fitting import exact_digits, roomy_decimal
from varquet.profiles.options import Options
from varquet.types import BY_NAME, MAX_DECIMAL_DIGITS

__all__ = ["POLICIES", "Policy", "Taken", "hot", "majority", "saving", "spark", "uniform"]

# From the weakest to the strongest, when two types are as common as each other; objects and arrays lose to all.
_TIE_ORDER: Final = (
    "array", "object", "boolean", "int8", "int16", "int32", "int64", "float", "double", "decimal4", "decimal8", "decimal16", "date",
    "time", "timestamp", "timestamp_ntz", "binary", "string", "timestamp_nanos", "timestamp_ntz_nanos", "uuid",
)  # fmt: skip
# Decimals without a point are integers to Spark if they have no more digits.
_BIGINT_DIGITS: Final = 18
# Types whose typed columns Spark cannot read.
_NOT_FOR_SPARK: Final = ("time", "timestamp_nanos", "timestamp_ntz_nanos", "uuid")


@dataclass(frozen=True, slots=True)
class Taken:
    """The type that a policy takes for a path: a primitive, `object`, `array`, or nothing; and why."""

    kind: Literal["object", "array", "primitive", "nothing"]
    type: pa.DataType | None
    reason: str


Policy: TypeAlias = Callable[[PathFacts, Options], Taken]


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


def _of(name: str, facts: PathFacts, reason: str) -> Taken:
    if name == "object":
        return Taken("object", None, reason)
    if name == "array":
        return Taken("array", None, reason)
    return Taken("primitive", _type_of(name, facts), reason)


def _none(reason: str) -> Taken:
    return Taken("nothing", None, reason)


def _mixture(families: Mapping[str, int]) -> str:
    ordered = sorted(families.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count:,}" for name, count in ordered)


def _most_common(families: Mapping[str, int]) -> tuple[str, int]:
    return max(families.items(), key=lambda item: (item[1], _TIE_ORDER.index(item[0])))


def uniform(facts: PathFacts, options: Options) -> Taken:
    """Iceberg: one family of types, or nothing."""
    families = _families(facts)
    if not families:
        return _none("nothing but nulls")
    if len(families) > 1:
        return _none("mixed: " + _mixture(families))
    return _of(next(iter(families)), facts, "one family of types")


def majority(facts: PathFacts, options: Options) -> Taken:
    """Iceberg 1.11: the most common type."""
    families = _families(facts)
    if not families:
        return _none("nothing but nulls")
    reason = "one family of types" if len(families) == 1 else f"the most common of {_mixture(families)}"
    return _of(_most_common(families)[0], facts, reason)


def _no_decimal(facts: PathFacts) -> str:
    whole, scale = exact_digits(facts)
    return f"no decimal has {whole} digits before the point and {scale} behind it"


def spark(facts: PathFacts, options: Options) -> Taken:
    """Spark: integers are bigint, with decimals a decimal of 18 or 38 digits; everything else must be one type, and one that it knows."""
    families = _families(facts)
    if not families:
        return _none("nothing but nulls")
    exact = {name: count for name, count in families.items() if name in INTEGERS or name in DECIMALS}
    if len(exact) == len(families):
        whole, scale = facts.decimal_digits or (0, 0)
        if scale == 0 and whole <= _BIGINT_DIGITS:
            return Taken("primitive", pa.int64(), "integers")
        kind = roomy_decimal(*exact_digits(facts))
        reason = "integers and decimals" if len(exact) > 1 else "decimals"
        return Taken("primitive", kind, reason) if kind is not None else _none(_no_decimal(facts))
    if len(families) > 1:
        return _none("mixed: " + _mixture(families))
    name = next(iter(families))
    return _none(f"{name}: Spark gives it no column") if name in _NOT_FOR_SPARK else _of(name, facts, "one type")


def saving(facts: PathFacts, options: Options) -> Taken:
    """varquet: the family that most values have, if that is enough of them; types that one more value will not change."""
    families = _families(facts)
    if not families:
        return _none("nothing but nulls")
    total = sum(families.values())
    least = options.min_typed_share * total
    exact = {name: families.pop(name) for name in tuple(families) if name in INTEGERS or name in DECIMALS}
    if exact:
        families["decimal16" if len(exact) > 1 else next(iter(exact))] = sum(exact.values())
    name, count = _most_common(families)
    if count < least:
        return _none(f"no type has {options.min_typed_share:.0%} of the values: {_mixture(families)}")

    def because(count: int) -> str:
        return "one type" if count == total else f"{count / total:.1%} of its values; the rest stays in the residual: {_mixture(families)}"

    if name in INTEGERS:
        return Taken("primitive", pa.int64(), because(count))
    if name in DECIMALS:
        kind = roomy_decimal(*exact_digits(facts))
        return Taken("primitive", kind, because(count)) if kind is not None else _most_numbers(facts, least, because)
    if options.for_spark and name in _NOT_FOR_SPARK:
        return _none(f"{name}: Spark cannot read its typed column")
    return _of(name, facts, because(count))


def _most_numbers(facts: PathFacts, least: float, because: Callable[[int], str]) -> Taken:
    """The type that most of the exact numbers have, where no decimal has room for all: a few very long ones cost the others nothing."""
    integers, narrow = facts.of(*INTEGERS), facts.of(*INTEGERS, "decimal4", "decimal8")
    if integers and integers >= least:
        return Taken("primitive", pa.int64(), because(integers))
    if narrow and narrow >= least:
        # What is narrower than 16 bytes has at most 19 digits before the point and 18 behind it.
        whole = max(_digits_before_point(facts, name) for name in (*INTEGERS, "decimal4", "decimal8"))
        return Taken(
            "primitive", pa.decimal128(MAX_DECIMAL_DIGITS, min(exact_digits(facts)[1], MAX_DECIMAL_DIGITS - whole)), because(narrow)
        )
    return _none(_no_decimal(facts))


def _digits_before_point(facts: PathFacts, name: str) -> int:
    bounds = facts.bounds(name)
    return 0 if bounds is None else max(len(str(int(abs(bound)))) for bound in bounds)


def hot(facts: PathFacts, options: Options) -> Taken:
    """Maps: a key that is frequent has a column for its values, of the type that the map has."""
    families = _families(facts)
    if not facts.steps:
        return Taken("object", None, "a map")
    if len(families) != 1 or not families.keys().isdisjoint(("object", "array")):
        return _none("values of the map's own type")
    return _of(next(iter(families)), facts, "a frequent key")


POLICIES: Final[dict[str, Policy]] = {"varquet": saving, "iceberg": uniform, "iceberg-1.11": majority, "spark": spark, "map": hot}
