"""Objects with data for names: what is rare in them becomes one."""

from __future__ import annotations

import numpy as np

from varquet.profiles.facts import COUNT, OTHERS, ROWS, Profile, Steps, add, nothing, sort_key, together

__all__ = ["folded"]


def folded(profile: Profile, most_names: int) -> Profile:
    """Without the names of objects with more than `most_names` that are not frequent.

    What is left is the same whichever of the rare names were counted one by one. Below rare names nothing is kept.
    """
    names: dict[Steps, list[Steps]] = {}
    for steps in profile.paths:
        if steps and isinstance(steps[-1], str):
            names.setdefault(steps[:-1], []).append(steps)
    large = {above for above, below in names.items() if len(below) > most_names} | set(profile.closed)
    if not large:
        return profile
    place = {steps: k for k, steps in enumerate(profile.paths)}
    least = profile.share * profile.values
    is_rare = (profile.numbers[:, ROWS] < least).tolist()
    rare = {steps for above in large for steps in names.get(above, ()) if is_rare[place[steps]]}
    others = {above: [*(steps for steps in names.get(above, ()) if steps in rare)] for above in large}
    kept: list[Steps] = []
    gone_paths: set[Steps] = set()
    # A path comes behind all that are above it.
    for steps in profile.paths:
        if steps in rare or steps[:-1] in gone_paths:
            gone_paths.add(steps)
        else:
            kept.append(steps)
    made = kept
    # Most of those that come are there already: others were counted together before.
    new = {(*above, OTHERS) for above, gone in others.items() if gone}.difference(kept)
    if new:
        made = sorted({*kept, *new}, key=sort_key)
    target = {steps: k for k, steps in enumerate(made)}
    numbers, sketches = nothing(len(made)), np.zeros((len(made), profile.sketches.shape[1]), np.uint8)
    at = np.array([target[steps] for steps in kept], np.int64)
    source = np.array([place[steps] for steps in kept], np.int64)
    numbers[at] = profile.numbers[source]
    sketches[at] = profile.sketches[source]
    for above, gone in others.items():
        if gone:
            source, k = np.array([place[steps] for steps in gone], np.int64), target[*above, OTHERS]
            add(numbers, np.array([k]), together(profile.numbers[source]))
            sketches[k] = np.maximum(sketches[k], profile.sketches[source].max(axis=0))
    for steps, k in target.items():
        if steps and steps[-1] is OTHERS:
            # How many rows have any of several names is not to be had from how many have each.
            numbers[k, ROWS] = numbers[k, COUNT]
    closed = {above: frozenset(str(steps[-1]) for steps in names.get(above, ()) if steps not in rare) for above in large}
    examples = {about: example for about, example in profile.examples.items() if about[0] in target}
    return Profile(profile.rows, profile.nulls, tuple(made), numbers, sketches, closed, profile.is_exact, profile.share, examples)
