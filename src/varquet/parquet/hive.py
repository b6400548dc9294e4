"""Hive partitions: folders named name=value, which say what a column holds in all rows below them."""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Mapping
from typing import Final

__all__ = ["partition_folder", "partitions_of"]

_NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
# What Hive and Spark write as %XX, next to control characters.
_ESCAPED: Final = frozenset("\"#%'*/:=?\\\x7f{[]^")


def partitions_of(path: str) -> dict[str, str | None]:
    """The names and values in the folders of a path; None is a null."""
    found: dict[str, str | None] = {}
    for part in os.path.dirname(path).replace(os.sep, "/").split("/"):
        name, equals, value = part.partition("=")
        if equals and name:
            found[urllib.parse.unquote(name)] = None if value == _NO_VALUE else urllib.parse.unquote(value)
    return found


def partition_folder(values: Mapping[str, str | None]) -> str:
    """The folders for these names and values, one below the other, each ending with a slash; an empty text is a null there."""
    return "".join(f"{_escaped(name)}={_escaped(value) if value else _NO_VALUE}/" for name, value in values.items())


def _escaped(text: str) -> str:
    return "".join(f"%{ord(letter):02X}" if letter in _ESCAPED or letter < " " else letter for letter in text)
