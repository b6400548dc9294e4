"""Numbers that look random and depend on nothing but a seed, a row and a name.

Each draw is a splitmix64 hash of the row, keyed by the seed and by the name of what is drawn. Naming the draws keeps them
independent of each other: one more field in a sample changes no other field, and a subset of the rows gets the numbers it
would have got among all of them.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Choices", "Draws", "Flags", "Ints", "Words", "scatter"]

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_MASK: Final = (1 << 64) - 1
_STEP: Final = 0x9E3779B97F4A7C15
_MULTIPLIER_1: Final = 0xBF58476D1CE4E5B9
_MULTIPLIER_2: Final = 0x94D049BB133111EB


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """Texts to choose from, each as often as its weight says."""

    texts: tuple[str, ...]
    lookup: Ints

    @classmethod
    def of(cls, weights: Mapping[str, int] | Sequence[str]) -> Choices:
        """From texts with their weights, or from texts that are all alike."""
        if not isinstance(weights, Mapping):
            weights = dict.fromkeys(weights, 1)
        lookup = np.repeat(np.arange(len(weights), dtype=np.int64), list(weights.values()))
        return cls(tuple(weights), lookup)


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """The draws of some rows (or of whatever else has a number: a person, a repository)."""

    seed: int
    rows: Words

    @classmethod
    def of_range(cls, seed: int, first: int, end: int) -> Draws:
        """The draws of the rows first .. end - 1."""
        return cls(seed, np.arange(first, end, dtype=np.uint64))

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, which: Ints) -> Draws:
        """The draws of the rows at these positions."""
        return Draws(self.seed, self.rows[which])

    def of(self, things: Ints) -> Draws:
        """The draws of other numbered things, under the same seed."""
        return Draws(self.seed, things.astype(np.uint64))

    def bits(self, name: str) -> Words:
        """64 random bits for each row."""
        z = self.rows * np.uint64(_STEP) + np.uint64(_key(self.seed, name))
        z = (z ^ (z >> np.uint64(30))) * np.uint64(_MULTIPLIER_1)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(_MULTIPLIER_2)
        return z ^ (z >> np.uint64(31))

    def below(self, name: str, end: int) -> Ints:
        """A number from 0 to end - 1 for each row, all alike; end is at most 2**31."""
        return (((self.bits(name) >> np.uint64(32)) * np.uint64(end)) >> np.uint64(32)).astype(np.int64)

    def skewed(self, name: str, end: int) -> Ints:
        """A number from 0 to end - 1 for each row, small ones far more often: the product of two even draws."""
        bits = self.bits(name)
        product = (bits >> np.uint64(32)) * (bits & np.uint64(0xFFFFFFFF))
        return (((product >> np.uint64(32)) * np.uint64(end)) >> np.uint64(32)).astype(np.int64)

    def chance(self, name: str, per_thousand: int) -> Flags:
        """True for about so many of a thousand rows."""
        return self.below(name, 1000) < per_thousand

    def codes(self, name: str, choices: Choices) -> Ints:
        """The position of one of the choices for each row."""
        return choices.lookup[self.below(name, len(choices.lookup))]

    def choose(self, name: str, choices: Choices) -> list[str]:
        """One of the choices for each row."""
        texts = choices.texts
        return [texts[code] for code in self.codes(name, choices).tolist()]


@functools.lru_cache(maxsize=4096)
def _key(seed: int, name: str) -> int:
    z = (seed + _STEP * (zlib.crc32(name.encode()) + 1)) & _MASK
    z = ((z ^ (z >> 30)) * _MULTIPLIER_1) & _MASK
    z = ((z ^ (z >> 27)) * _MULTIPLIER_2) & _MASK
    return z ^ (z >> 31)


def scatter(into: list[str], positions: NDArray[Any], texts: Sequence[str]) -> None:
    """Put each text at its position of a list."""
    for position, text in zip(positions.tolist(), texts, strict=True):
        into[position] = text
