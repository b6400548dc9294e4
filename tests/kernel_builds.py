"""The three builds of the kernels, and a way to run one law on each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from varquet import kernels

__all__ = ["BUILDS", "law_on_every_build", "using"]


def _loadable() -> list[str]:
    found = []
    for build in kernels.BUILDS:
        try:
            kernels.load(build)
        except ImportError:
            continue
        found.append(build)
    return found


BUILDS = _loadable()
"""The builds that exist here: the active one always does, the checked one only where it was asked for."""


@contextmanager
def using(build: str) -> Iterator[None]:
    """Let the verbs run on another build of the kernels for a while."""
    modules = kernels.load(build)
    before = {verb: getattr(kernels, verb) for verb in modules}
    for verb, module in modules.items():
        setattr(kernels, verb, module)
    try:
        yield
    finally:
        for verb, module in before.items():
            setattr(kernels, verb, module)


def _examples(build: str, share: float) -> int:
    """How many examples a build gets: the active one all of its share, the others enough to see that they are the same."""
    all_of_them = settings().max_examples * share
    part = 1.0 if build == kernels.ACTIVE else 0.1 if build == "interpreted" else 0.4
    return max(3, round(all_of_them * part))


def law_on_every_build(*strategies: st.SearchStrategy[Any], share: float = 1.0) -> Callable[[Callable[..., None]], Callable[[str], None]]:
    """Make a test of a law: for every build, under `share` of the profile's number of examples."""

    def decorate(law: Callable[..., None]) -> Callable[[str], None]:
        @pytest.mark.parametrize("build", BUILDS)
        def test(build: str) -> None:
            checked = settings(max_examples=_examples(build, share), deadline=None)(given(*strategies)(law))
            with using(build):
                checked()

        test.__name__ = law.__name__
        test.__doc__ = law.__doc__
        return test

    return decorate
