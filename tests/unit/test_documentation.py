"""Examples in the README and in docstrings do what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import varquet

ROOT = Path(__file__).parents[2]
PAGES = sorted(page for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")))
OPTIONS = doctest.NORMALIZE_WHITESPACE


def modules() -> list[str]:
    found = (module.name for module in pkgutil.walk_packages(varquet.__path__, "varquet."))
    # Compiled modules have no examples, and __main__ would run the command.
    return [name for name in found if not re.search(r"\.kernels\.(compiled|checked)\.|\.__main__$", name)]


@pytest.mark.parametrize("page", [page for page in PAGES if ">>> " in page.read_text(encoding="utf-8")], ids=lambda page: page.name)
def test_examples_of_a_page(page: Path) -> None:
    tried = doctest.testfile(str(page), module_relative=False, optionflags=OPTIONS, encoding="utf-8")
    assert tried.attempted > 0
    assert tried.failed == 0


@pytest.mark.parametrize("name", modules())
def test_examples_of_a_module(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
