"""All that a profile knows of one path, as JSON has it."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any, Final

from varquet.errors import VarquetError

if TYPE_CHECKING:
    from varquet.profiles.facts import PathFacts

__all__ = ["facts_data"]

_PREFIX: Final = 8
"""How many bytes of strings, binary and uuids a profile keeps as a bound."""


def facts_data(facts: PathFacts) -> dict[str, Any]:
    """Every fact about a path but its name; what it has none of is null, or missing from what goes by type.

    Bounds are text, for JSON has no dates, no infinity, and no integers that every program reads exactly.
    """
    types = facts.types
    found = {name: facts.bounds(name) for name in types if name not in ("null", "object", "array")}
    return {
        "count": facts.count,
        "rows": facts.rows,
        "nulls": facts.nulls,
        "bytes": facts.bytes,
        "types": types,
        "first_rows": {name: facts.first_row(name) for name in types},
        "integer_range": facts.integer_range,
        "decimal_digits": facts.decimal_digits,
        "array_lengths": facts.array_lengths,
        "bounds": {name: [_bound_text(name, bound) for bound in bounds] for name, bounds in found.items() if bounds is not None},
        "distinct": facts.distinct,
    }


def _bound_text(name: str, bound: Any) -> str:
    """The text of a bound of a type: that of the value, of which a profile has the beginning only for strings, binary and uuids."""
    from varquet.types import BY_NAME
    from varquet.variant.model import Scalar
    from varquet.variant.text import scalar_text

    if name == "string":
        # A character that the end of the prefix cuts in two is left out.
        return codecs.getincrementaldecoder("utf-8")("replace").decode(bound)
    if name == "binary":
        return str(bound.hex())
    if name == "uuid":
        return str(bound.ljust(_PREFIX, b"\0").hex())
    if isinstance(bound, float) and name not in ("float", "double"):
        return repr(bound)
    try:
        return scalar_text(Scalar(BY_NAME["true" if name == "boolean" else name], bound))
    except VarquetError:
        # Nobody has validated what is counted: a time may be none of any day.
        return str(bound)
