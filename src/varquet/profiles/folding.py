"""Objects with data for names: what is rare in them becomes one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from varquet.profiles.facts import COUNT, OTHERS, ROWS, Profile, Steps, add, nothing, sort_key, together

__all__ = ["folded"]


def folded(profile: Profile, most_names: int) -> Profile:
    """Without the names of objects with more than `most_names` that are not frequent.

    What is left is the same whichever of the rare names were counted one by one. Below rare names nothing is kept.
    """
    names: dict[Steps, list[tuple[Steps, int]]] = {}
    for k, steps in enumerate(profile.paths):
        if steps and isinstance(steps[-1], str):
            names.setdefault(steps[:-1], []).append((steps, k))
    large = {above for above, below in names.items() if len(below) > most_names} | set(profile.closed)
    if not large:
        return profile
    least = profile.share * profile.values
    is_rare = (profile.numbers[:, ROWS] < least).tolist()
    gone = {steps for above in large for steps, k in names.get(above, ()) if is_rare[k]}
    kept: list[Steps] = []
    sources: list[int] = []
    # A path comes behind all that are above it.
    for k, steps in enumerate(profile.paths):
        if steps in gone or steps[:-1] in gone:
            gone.add(steps)
        else:
            kept.append(steps)
            sources.append(k)
    large -= gone
    rare = {above: [k for _, k in names.get(above, ()) if is_rare[k]] for above in large}
    made = kept
    # Most of those that come are there already: others were counted together before.
    new = {(*above, OTHERS) for above, places in rare.items() if places}.difference(kept)
    if new:
        made = sorted({*kept, *new}, key=sort_key)
    target = {steps: k for k, steps in enumerate(made)}
    numbers, sketches = nothing(len(made)), np.zeros((len(made), profile.sketches.shape[1]), np.uint8)
    at = np.array([target[steps] for steps in kept], np.int64)
    numbers[at] = profile.numbers[sources]
    sketches[at] = profile.sketches[sources]
    for above, places in rare.items():
        if places:
            k = target[*above, OTHERS]
            add(numbers, np.array([k]), together(profile.numbers[places]))
            sketches[k] = np.maximum(sketches[k], profile.sketches[places].max(axis=0))
    for steps, k in target.items():
        if steps and steps[-1] is OTHERS:
            # How many rows have any of several names is not to be had from how many have each.
            numbers[k, ROWS] = numbers[k, COUNT]
    closed = {above: frozenset(str(steps[-1]) for steps, k in names.get(above, ()) if not is_rare[k]) for above in large}
    examples = {about: example for about, example in profile.examples.items() if about[0] in target}
    told_apart = {above: kept_names for above, kept_names in closed.items() if (*above, OTHERS) in target}
    return replace(profile, paths=tuple(made), numbers=numbers, sketches=sketches, closed=closed, examples=examples, told_apart=told_apart)
