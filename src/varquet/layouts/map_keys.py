"""Which keys of a map become columns, and how that is written in options and footers.

    parquet.map.shredding.columns = headers
    parquet.map.shredding.headers.keys = content-type,user-agent,locale
    paimon.map.shredding.headers.keys = content-type,user-agent,locale      in the footer of a file

A list is words with commas between them; or JSON, which begins with a bracket, for words in which there are commas, for empty ones, and
for those that begin or end with a blank: ["a,b", ""].
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyarrow as pa

from varquet.errors import SchemaError, UnsupportedTypeError
from varquet.paths import Path
from varquet.schema import ShreddingSchema

__all__ = ["HotKey", "MapKeys", "MapKeysLike", "is_map_option", "key_of", "keys_key", "keys_of", "maps_of_options", "sidecar_name"]

_OPTION: Final = "parquet.map.shredding."
_COLUMNS: Final = _OPTION + "columns"
_KEYS: Final = ".keys"
_FOOTER: Final = "paimon.map.shredding."


@dataclass(frozen=True, slots=True)
class HotKey:
    """A key that has a column of its own."""

    name: str
    type: pa.DataType | None = None
    """What texts are stored as; None leaves values the type that the map has."""


@dataclass(frozen=True, slots=True)
class MapKeys:
    """The keys of a map that have columns, in the order of these."""

    keys: tuple[HotKey, ...]

    def __post_init__(self) -> None:
        names = self.names
        twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
        if twice is not None:
            raise SchemaError(f"expected hot keys that differ, got {twice!r} twice")

    @property
    def names(self) -> list[str]:
        return [key.name for key in self.keys]

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def parse(cls, text: str) -> MapKeys:
        """Keys from the text of an option or a footer."""
        return cls(tuple(map(HotKey, _words(text))))

    def text(self) -> str:
        """The names, as `parse` reads them: words with commas where that says it all, else JSON."""
        names = self.names
        is_plain = all(name and "," not in name and name == name.strip() for name in names) and not names[0].startswith("[")
        return ",".join(names) if is_plain else json.dumps(names, ensure_ascii=False)

    @classmethod
    def from_schema(cls, schema: ShreddingSchema, order: Sequence[str] = ()) -> MapKeys:
        """The fields of an object as keys; texts, and what is no single value, keep the type of the map.

        Keys that `order` names come first, as it has them; the others are in the order of their bytes.
        """
        place = {name: k for k, name in enumerate(order)}
        fields = sorted(schema.fields, key=lambda pair: place.get(pair[0], len(place)))
        return cls(tuple(HotKey(name, None if field.type == pa.string() else field.type) for name, field in fields))

    def schema(self) -> ShreddingSchema:
        """The keys as fields of an object, of which those without a type are texts; a schema knows no order."""
        return ShreddingSchema.object([(key.name, ShreddingSchema.primitive(key.type or pa.string())) for key in self.keys])


MapKeysLike: TypeAlias = MapKeys | ShreddingSchema | str | Iterable[str]


def keys_of(given: MapKeysLike) -> MapKeys:
    """Hot keys in whatever form a user has them: names, the text of an option, or a schema with types."""
    if isinstance(given, MapKeys):
        return given
    if isinstance(given, ShreddingSchema):
        return MapKeys.from_schema(given)
    return MapKeys.parse(given) if isinstance(given, str) else MapKeys(tuple(map(HotKey, given)))


def is_map_option(name: str) -> bool:
    """Whether an option is one about maps."""
    return name.startswith(_OPTION)


def maps_of_options(options: Mapping[str, str], *, ignores_case: bool = False) -> dict[str, MapKeys]:
    """The maps that options name, by column; options about other things are none of ours.

    With `ignores_case` the names of options are in lower case, as Spark hands them on.

    >>> maps_of_options({"parquet.map.shredding.columns": "headers", "parquet.map.shredding.headers.keys": "accept,host"})["headers"].names
    ['accept', 'host']
    """
    given = {name: text for name, text in options.items() if is_map_option(name)}
    columns = _words(given.pop(_COLUMNS, ""))
    found: dict[str, MapKeys] = {}
    for column in columns:
        text = given.pop(f"{_OPTION}{column.lower() if ignores_case else column}{_KEYS}", None)
        if text is None:
            raise SchemaError(f"expected the option {_OPTION}{column}{_KEYS} for the column {column!r}, got none")
        found[column] = MapKeys.parse(text)
    if given:
        raise SchemaError(
            f"expected options of the columns that {_COLUMNS} names, got {min(given)!r}",
            hint=f"they are {', '.join(columns)}" if columns else f"it names none: {_COLUMNS} = headers",
        )
    return found


def key_of(path: Path, column: str) -> str:
    """The key that a path into a map names."""
    if len(path) != 1 or not isinstance(path.steps[0], str):
        raise UnsupportedTypeError(f"expected one key of the map {column!r}, got {path}", hint=f"write {column}['content-type']")
    return path.steps[0]


def keys_key(column: str) -> str:
    """Under what the footer of a file has the hot keys of a column."""
    return f"{_FOOTER}{column}{_KEYS}"


def sidecar_name(column: str, place: int) -> str:
    """The column that has the values of a hot key, by its place among them."""
    return f"__paimon_map_shred_{column}_{place}"


def _words(text: str) -> list[str]:
    stripped = text.strip()
    if stripped.startswith("["):
        try:
            words = json.loads(stripped)
        except ValueError:
            words = None
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise SchemaError(f"expected a JSON array of texts, got {text!r}", hint='what begins with a bracket is JSON: ["a,b", "[c"]')
        return words
    words = [word.strip() for word in stripped.split(",")] if stripped else []
    if not all(words):
        raise SchemaError(f"expected words with commas between them, got {text!r}", hint='an empty one is written as JSON: ["a", ""]')
    return words
