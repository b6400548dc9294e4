"""Words that error messages about one value share: places and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from varquet.paths import normalized

__all__ = ["byte_count", "place"]

_MOST_STEPS: Final = 12
_MOST_CHARACTERS: Final = 40


def place(steps: Sequence[str | int]) -> str:
    """The normalized path of these steps; of very deep ones the first and last few, of long names the beginning.

    >>> place(["a", 0])
    "$['a'][0]"
    >>> place([0] * 100_000)
    '$[0][0][0][0][0][0]…[0][0][0][0][0][0]'
    """
    if len(steps) <= _MOST_STEPS:
        return _text(steps)
    half = _MOST_STEPS // 2
    return _text(steps[:half]) + "…" + _text(steps[-half:])[1:]


def byte_count(size: int) -> str:
    """A number of bytes in words.

    >>> byte_count(1), byte_count(2)
    ('1 byte', '2 bytes')
    """
    return f"{size} byte" if size == 1 else f"{size} bytes"


def _text(steps: Sequence[str | int]) -> str:
    return normalized(map(_short, steps))


def _short(step: str | int) -> str | int:
    if isinstance(step, int) or len(step) <= _MOST_CHARACTERS:
        return step
    return step[:_MOST_CHARACTERS] + "…"
