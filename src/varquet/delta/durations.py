"""Durations as table properties have them: "interval 30 days", "7 days", "interval 1 week"."""

from __future__ import annotations

import re
from typing import Final

from varquet.errors import UnsupportedTypeError

__all__ = ["milliseconds"]

_UNITS: Final = {
    "millisecond": 1,
    "second": 1000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}  # fmt: skip
_PART: Final = re.compile(r"\s*(-?\d+)\s+([a-z]+?)s?(?=\s|$)")


def milliseconds(text: str | None, default: int) -> int:
    """How long a duration is; the default if there is none."""
    if text is None:
        return default
    rest = text.strip().lower().removeprefix("interval")
    total, place = 0, 0
    while found := _PART.match(rest, place):
        if found[2] not in _UNITS:
            break
        total += int(found[1]) * _UNITS[found[2]]
        place = found.end()
    if not place or rest[place:].strip():
        raise UnsupportedTypeError(f"expected a duration such as 'interval 30 days', got {text!r}")
    return total
