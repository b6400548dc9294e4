"""Merging: the profile of all rows of several profiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from varquet.kernels.source import _path_facts as kernel
from varquet.profiles.facts import MOST_NAMES, ROWS, SHARE, WIDTH, Profile, Steps, add, nothing, sort_key
from varquet.profiles.folding import folded, without_uncounted

__all__ = ["empty", "merge"]

# Profiles that have more paths than this are merged a few at a time: what they fold to is smaller.
_PATHS_AT_ONCE: Final = 1 << 15


def empty(share: float = SHARE, most_names: int = MOST_NAMES) -> Profile:
    """The profile of no rows."""
    numbers, sketches = np.zeros((0, WIDTH), np.int64), np.zeros((0, kernel.SKETCH), np.uint8)
    return Profile(0, 0, (), numbers, sketches, share=share, most_names=most_names)


def merge(profiles: Iterable[Profile]) -> Profile:
    """The profile of all rows of these profiles."""
    parts = [part.unfolded or part for part in profiles]
    if not parts:
        return empty()
    whole = parts[0]
    done = 1
    while done < len(parts):
        first = done
        paths = len(whole)
        while done < len(parts) and (done == first or paths + len(parts[done]) <= _PATHS_AT_ONCE):
            paths += len(parts[done])
            done += 1
        whole = without_uncounted(_sum([whole, *parts[first:done]]))
    return folded(whole)


def _sum(parts: Sequence[Profile]) -> Profile:
    """All that these profiles say, and whether they counted the same names."""
    paths = sorted({steps for part in parts for steps in part.paths}, key=sort_key)
    place = {steps: k for k, steps in enumerate(paths)}
    numbers, sketches = nothing(len(paths)), np.zeros((len(paths), kernel.SKETCH), np.uint8)
    examples = dict(parts[0].examples)
    told_apart: dict[Steps, frozenset[str]] = {}
    for part in parts:
        for about, example in part.examples.items():
            if example < examples.setdefault(about, example):
                examples[about] = example
        at = np.array([place[steps] for steps in part.paths], np.int64)
        add(numbers, at, part.numbers)
        sketches[at] = np.maximum(sketches[at], part.sketches)
        for steps, names in part.told_apart.items():
            told_apart[steps] = told_apart.get(steps, names) & names
    # Parts of no rows have nothing to say, and nobody asked how they were to be counted.
    counted = [part for part in parts if part.rows] or parts
    share = min(part.share for part in counted)
    closed = _closed(counted, share)
    # An object that some part could not look at has names that are not known yet: they will be, once all parts tell it apart.
    for steps in [steps for steps in closed if not _was_seen(steps, told_apart)]:
        del closed[steps]
    # A part that has too many names itself must have counted all of them.
    is_exact = all(part.is_exact and all(closed.get(steps) == names for steps, names in part.closed.items()) for part in counted)
    rows, nulls = sum(part.rows for part in parts), sum(part.nulls for part in parts)
    most_names = min(part.most_names for part in counted)
    return Profile(rows, nulls, tuple(paths), numbers, sketches, closed, is_exact, share, examples, told_apart, most_names)


def _closed(parts: Sequence[Profile], share: float) -> dict[Steps, frozenset[str]]:
    """Objects with too many names in some part, and the names that may be frequent in all parts together.

    What is frequent in the whole is frequent in some part, or in those parts together that count all names of the object.
    """
    closed: dict[Steps, frozenset[str]] = {}
    least: dict[Steps, float] = {}
    for part in parts:
        for steps, names in part.closed.items():
            closed[steps] = closed.get(steps, frozenset()) | names
            least[steps] = least.get(steps, 0.0) - part.values
    values = sum(part.values for part in parts)
    rows: dict[Steps, int] = {}
    for part in parts if closed else ():
        for steps, count in zip(part.paths, part.numbers[:, ROWS].tolist(), strict=True):
            if steps and isinstance(steps[-1], str) and steps[:-1] in closed and steps[:-1] not in part.closed:
                rows[steps] = rows.get(steps, 0) + count
    for steps, count in rows.items():
        if count >= share * (values + least[steps[:-1]]):
            closed[steps[:-1]] |= {str(steps[-1])}
    return closed


def _was_seen(steps: Steps, told_apart: Mapping[Steps, frozenset[str]]) -> bool:
    """Whether no name on the way was counted together with others."""
    return all(steps[:k] not in told_apart or step in told_apart[steps[:k]] for k, step in enumerate(steps) if isinstance(step, str))
