"""Objects with data for names: what is rare in them becomes one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from varquet.profiles.facts import CONTAINERS, COUNT, OTHERS, ROWS, Ints, Profile, Steps, add, nothing, sort_key, together
from varquet.schema import ELEMENT

__all__ = ["MOST_PATHS", "folded", "limits", "without_uncounted"]

MOST_PATHS: Final = 1 << 16
"""Where there are more paths than this, objects within objects may have fewer names."""


def folded(profile: Profile) -> Profile:
    """The profile that one pass over the same rows has: objects with too many names keep those that are frequent.

    What is left is the same whichever of the rare names were counted one by one. Below rare names nothing is kept. Of a profile that is
    not exact it is not known yet which names are frequent: it keeps all that may be.
    """
    kept = without_uncounted(profile)
    if not kept.is_exact or not kept.closed:
        return kept
    frequent = _frequent_names(kept)
    closed = {steps: frequent.get(steps, frozenset()) for steps in kept.closed}
    found = _with_names(kept, closed)
    # Other parts that counted the same names merge with this one exactly, as long as it has them too.
    return found if closed == kept.closed else replace(found, unfolded=kept)


def without_uncounted(profile: Profile) -> Profile:
    """Without what does not matter to other parts: names that are not in `closed`, and what some part could not look at.

    An object with too many names that no part had too many of has all of them here; those that are frequent are in `closed` then.
    """
    count: dict[Steps, int] = {}
    hidden: set[Steps] = set()
    for steps in profile.paths:
        if steps and isinstance(name := steps[-1], str):
            above = steps[:-1]
            count[above] = count.get(above, 0) + 1
            # What is below it was looked at in some parts only, so that nothing can be said of that.
            if name not in profile.told_apart.get(above, (name,)):
                hidden.add(steps)
    large = _large(profile, count)
    if not (large or hidden or profile.closed):
        return profile
    closed = dict(profile.closed)
    if large:
        frequent = _frequent_names(profile)
        closed |= {steps: frequent.get(steps, frozenset()) for steps in large}
    return _with_names(profile, closed, hidden)


def limits(above: Ints, most_names: int, most_paths: int) -> Ints:
    """How many names objects may have where there are too many paths; `above` are the numbers of names of objects around, multiplied."""
    return np.clip(most_paths // above, 1, most_names)


def _large(profile: Profile, count: Mapping[Steps, int]) -> set[Steps]:
    """Objects with too many names that are not closed yet, of those with so many names."""
    most = profile.most_names
    large = {steps for steps, names in count.items() if names > most}.difference(profile.closed)
    if not _is_wide(profile, large):
        return large
    below: dict[Steps, int] = {(): 1}
    for steps in profile.paths:
        above = 1
        if steps:
            around = steps[:-1]
            above = below[around]
            if steps[-1] is not ELEMENT:
                names = most + 1 if around in large or around in profile.closed else count.get(around, 1)
                above = min(above * names, MOST_PATHS + 1)
        below[steps] = above
        if steps not in profile.closed and count.get(steps, 0) > min(most, max(1, MOST_PATHS // above)):
            large.add(steps)
    return large


def _is_wide(profile: Profile, large: Collection[Steps]) -> bool:
    """Whether there are too many paths: more than so many, where objects with more than the most names count for one name more than that.

    What is below the names of such objects was not looked at: if there is anything, that is too many.
    """
    closed = {*large, *profile.closed}
    has_fields = [bool(steps) and steps[:-1] in closed and steps[-1] is not ELEMENT for steps in profile.paths]
    fields = np.flatnonzero(has_fields)
    if profile.numbers[fields][:, CONTAINERS].any():
        return True
    return len(profile) - len(fields) + len(closed) * (profile.most_names + 1) > MOST_PATHS


def _frequent_names(profile: Profile) -> dict[Steps, frozenset[str]]:
    """Of each object the names that are frequent."""
    names: dict[Steps, list[str]] = {}
    is_frequent = profile.numbers[:, ROWS] >= profile.share * profile.values
    for k in np.flatnonzero(is_frequent).tolist():
        steps = profile.paths[k]
        if steps and isinstance(steps[-1], str):
            names.setdefault(steps[:-1], []).append(steps[-1])
    return {steps: frozenset(below) for steps, below in names.items()}


def _with_names(profile: Profile, closed: Mapping[Steps, frozenset[str]], hidden: set[Steps] | frozenset[Steps] = frozenset()) -> Profile:
    """With these names of objects one by one, all others of the same objects as one, and nothing below those and below `hidden`."""
    gone: set[Steps] = set()
    kept: list[Steps] = []
    sources: list[int] = []
    rare: dict[Steps, list[int]] = {}
    # A path comes behind all that are above it.
    for k, steps in enumerate(profile.paths):
        above = steps[:-1]
        if steps and (above in gone or above in hidden):
            gone.add(steps)
        elif steps and above in closed and isinstance(steps[-1], str) and steps[-1] not in closed[above]:
            gone.add(steps)
            rare.setdefault(above, []).append(k)
        else:
            kept.append(steps)
            sources.append(k)
    closed = {steps: names for steps, names in closed.items() if steps not in gone and steps not in hidden}
    if not gone:
        return replace(profile, closed=closed)
    made = kept
    # Most of those that come are there already: others were counted together before.
    new = {(*above, OTHERS) for above in rare}.difference(kept)
    if new:
        made = sorted({*kept, *new}, key=sort_key)
    target = {steps: k for k, steps in enumerate(made)}
    numbers, sketches = nothing(len(made)), np.zeros((len(made), profile.sketches.shape[1]), np.uint8)
    at = np.array([target[steps] for steps in kept], np.int64)
    numbers[at] = profile.numbers[sources]
    sketches[at] = profile.sketches[sources]
    for above, places in rare.items():
        k = target[*above, OTHERS]
        # How many rows have any of several names is not to be had from how many have each.
        others = together(profile.numbers[places])
        others[:, ROWS] = others[:, COUNT]
        add(numbers, np.array([k]), others)
        sketches[k] = np.maximum(sketches[k], profile.sketches[places].max(axis=0))
    examples = {about: example for about, example in profile.examples.items() if about[0] in target}
    told_apart = {steps: names & closed.get(steps, names) for steps, names in profile.told_apart.items() if steps in target}
    told_apart |= {steps: names for steps, names in closed.items() if steps not in told_apart and (*steps, OTHERS) in target}
    return replace(profile, paths=tuple(made), numbers=numbers, sketches=sketches, closed=closed, examples=examples, told_apart=told_apart)
