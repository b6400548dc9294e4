"""The actions of a Delta log: what one line of a commit says, as plain data."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from varquet.delta.deletion_vectors import unique_id
from varquet.delta.statistics import FileStatistics
from varquet.errors import VarquetError

__all__ = ["Add", "Metadata", "Protocol", "lines_of", "parse_lines"]

_ADD: Final = ("path", "partitionValues", "size", "modificationTime", "dataChange", "stats", "tags", "deletionVector")


@dataclass(frozen=True, slots=True)
class Protocol:
    """What a client must know to read and to write a table."""

    reader: int
    writer: int
    reader_features: frozenset[str] | None = None
    writer_features: frozenset[str] | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """As the log has it."""
        features = [None if (names := data.get(key)) is None else frozenset(names) for key in ("readerFeatures", "writerFeatures")]
        return cls(int(data["minReaderVersion"]), int(data["minWriterVersion"]), *features)

    def to_dict(self) -> dict[str, Any]:
        """As the log has it."""
        data: dict[str, Any] = {"minReaderVersion": self.reader, "minWriterVersion": self.writer}
        if self.reader_features is not None:
            data["readerFeatures"] = sorted(self.reader_features)
        if self.writer_features is not None:
            data["writerFeatures"] = sorted(self.writer_features)
        return data

    def supports(self, feature: str) -> bool:
        """Whether a feature, or its preview, is there for readers and writers."""
        names = {feature, f"{feature}-preview"}
        return bool(names & (self.reader_features or frozenset())) and bool(names & (self.writer_features or frozenset()))


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a table is: its schema, partitions and properties."""

    id: str
    schema_string: str
    partition_columns: tuple[str, ...] = ()
    configuration: dict[str, str] = field(default_factory=dict)
    name: str | None = None
    description: str | None = None
    created: int | None = None
    provider: str = "parquet"
    options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """As the log has it."""
        form = data.get("format") or {}
        return cls(
            data["id"],
            data["schemaString"],
            tuple(data.get("partitionColumns") or ()),
            dict(data.get("configuration") or {}),
            data.get("name"),
            data.get("description"),
            data.get("createdTime"),
            form.get("provider") or "parquet",
            dict(form.get("options") or {}),
        )

    def to_dict(self) -> dict[str, Any]:
        """As the log has it."""
        data = {
            "id": self.id,
            "name": self.name,
            "description": self.description,
            "format": {"provider": self.provider, "options": self.options},
            "schemaString": self.schema_string,
            "partitionColumns": list(self.partition_columns),
            "configuration": self.configuration,
            "createdTime": self.created,
        }
        return {key: value for key, value in data.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Add:
    """A file that is in a table."""

    path: str
    """As the log has it: a URI, from the table's folder on or absolute."""
    partition_values: dict[str, str | None]
    size: int
    modified: int
    """When, in milliseconds since 1970."""
    data_change: bool = True
    stats: str | None = None
    tags: dict[str, str] | None = None
    deletion_vector: dict[str, Any] | None = None
    others: dict[str, Any] = field(default_factory=dict)
    """What else the log says of it, which is kept."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """As the log has it."""
        return cls(
            data["path"],
            {name: value or None for name, value in (data.get("partitionValues") or {}).items()},
            int(data["size"]),
            int(data.get("modificationTime") or 0),
            bool(data.get("dataChange", True)),
            data.get("stats"),
            data.get("tags"),
            data.get("deletionVector"),
            {key: value for key, value in data.items() if key not in _ADD and value is not None},
        )

    def to_dict(self) -> dict[str, Any]:
        """As the log has it."""
        data = {
            "path": self.path,
            "partitionValues": self.partition_values,
            "size": self.size,
            "modificationTime": self.modified,
            "dataChange": self.data_change,
            "stats": self.stats,
            "tags": self.tags,
            "deletionVector": self.deletion_vector,
            **self.others,
        }
        return {key: value for key, value in data.items() if value is not None}

    def removed(self, now: int, *, data_change: bool = True) -> dict[str, Any]:
        """The action that takes it out of the table."""
        data: dict[str, Any] = {
            "path": self.path,
            "deletionTimestamp": now,
            "dataChange": data_change,
            "extendedFileMetadata": True,
            "partitionValues": self.partition_values,
            "size": self.size,
            "stats": self.stats,
            "tags": self.tags,
            "deletionVector": self.deletion_vector,
            **{key: self.others[key] for key in ("baseRowId", "defaultRowCommitVersion") if key in self.others},
        }
        return {"remove": {key: value for key, value in data.items() if value is not None}}

    @property
    def key(self) -> tuple[str, str | None]:
        """What tells it from all other files of the table."""
        return key_of(self.path, self.deletion_vector)

    @property
    def location(self) -> str:
        """Its path, or its URI if it is not below the table's folder."""
        return urllib.parse.unquote(self.path)

    def statistics(self) -> FileStatistics:
        """What is known of its rows."""
        return FileStatistics.parse(self.stats)


def key_of(path: str, deletion_vector: Mapping[str, Any] | None) -> tuple[str, str | None]:
    """What tells a logical file from all others."""
    return path, None if deletion_vector is None else unique_id(deletion_vector)


def encoded_path(path: str) -> str:
    """A path in the table's folder as the log has it: what has a meaning in URIs is encoded."""
    return urllib.parse.quote(path, safe="/=!$&'()*+,;:@-._~")


def parse_lines(data: bytes, name: str) -> Iterator[dict[str, Any]]:
    """The actions of a commit."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                action = json.loads(line)
            except ValueError as error:
                raise VarquetError(f"expected an action in line {number} of {name}, got {line[:80]!r}: {error}") from None
            if not isinstance(action, dict):
                raise VarquetError(f"expected an action in line {number} of {name}, got {line[:80]!r}")
            yield action


def lines_of(actions: Iterable[Mapping[str, Any]]) -> bytes:
    """Actions as a commit has them."""
    return b"".join(json.dumps(action, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for action in actions)
