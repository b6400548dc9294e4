"""Options of the data source, which are texts; those that stand for several things are JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from varquet.errors import UnsupportedTypeError
from varquet.layouts.map_keys import is_map_option

__all__ = ["checked_options", "listed"]


def checked_options(options: Mapping[str, str], known: set[str]) -> dict[str, str]:
    given = {name.lower(): text for name, text in options.items()}
    unknown = sorted(name for name in set(given) - known if not is_map_option(name))
    if unknown:
        raise UnsupportedTypeError(
            f"expected an option of the data source varquet, got {unknown[0]!r}", hint=f"they are {', '.join(sorted(known))}"
        )
    if not given.get("path"):
        raise UnsupportedTypeError("expected a path, got none", hint='.load("path") or .save("path")')
    return given


def listed(text: str) -> Any:
    """An option that is JSON, or a list of words."""
    stripped = text.strip()
    if stripped.startswith(("[", "{")):
        try:
            return json.loads(stripped)
        except ValueError as error:
            raise UnsupportedTypeError(f"expected JSON or words with commas between them, got {text!r}: {error}") from None
    return [word.strip() for word in stripped.split(",") if word.strip()]
