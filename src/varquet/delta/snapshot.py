"""Snapshots: what is in a table at a version, by the newest checkpoint before it and the commits since then."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from varquet.delta.actions import Add, Metadata, Protocol, key_of, parse_lines
from varquet.delta.checkpoints import read_checkpoint
from varquet.delta.features import check_readable
from varquet.delta.files import LOG, LogFiles, commit_path, is_table
from varquet.errors import UnsupportedTypeError, VarquetError
from varquet.parquet.folder import Folder

__all__ = ["Snapshot", "load", "newer", "version_at"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A table at a version. The version before the first is -1: there is no table."""

    folder: Folder
    version: int = -1
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    files: dict[tuple[str, str | None], Add] = field(default_factory=dict)
    removed: dict[tuple[str, str | None], dict[str, Any]] = field(default_factory=dict)
    """The tombstones: files that were in the table, which some may still be reading."""
    transactions: dict[str, dict[str, Any]] = field(default_factory=dict)
    domains: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def exists(self) -> bool:
        """Whether there is a table."""
        return self.version >= 0

    @property
    def properties(self) -> dict[str, str]:
        """The table's properties."""
        return {} if self.metadata is None else self.metadata.configuration

    def transaction(self, application: str) -> int | None:
        """The last version that an application has said it has written."""
        found = self.transactions.get(application)
        return None if found is None else int(found["version"])

    def with_actions(self, version: int, actions: Iterable[Mapping[str, Any]]) -> Snapshot:
        """The table at the next version."""
        made = _Replay(self)
        made.apply(actions)
        return made.snapshot(version)


class _Replay:
    """A snapshot being made; actions replace those before them."""

    def __init__(self, begin: Snapshot) -> None:
        self.begin = begin
        self.protocol, self.metadata = begin.protocol, begin.metadata
        self.files, self.removed = dict(begin.files), dict(begin.removed)
        self.transactions, self.domains = dict(begin.transactions), dict(begin.domains)

    def apply(self, actions: Iterable[Mapping[str, Any]]) -> None:
        for action in actions:
            for kind, data in action.items():
                if data is None:
                    continue
                if kind == "add":
                    add = Add.from_dict(data)
                    key = add.key
                    self.files[key] = add
                    self.removed.pop(key, None)
                elif kind == "remove":
                    key = key_of(data["path"], data.get("deletionVector"))
                    self.files.pop(key, None)
                    self.removed[key] = dict(data)
                elif kind == "metaData":
                    self.metadata = Metadata.from_dict(data)
                elif kind == "protocol":
                    self.protocol = Protocol.from_dict(data)
                elif kind == "txn":
                    self.transactions[data["appId"]] = dict(data)
                elif kind == "domainMetadata":
                    self.domains[data["domain"]] = dict(data)
                    if data.get("removed"):
                        del self.domains[data["domain"]]

    def snapshot(self, version: int) -> Snapshot:
        return replace(
            self.begin,
            version=version,
            protocol=self.protocol,
            metadata=self.metadata,
            files=self.files,
            removed=self.removed,
            transactions=self.transactions,
            domains=self.domains,
        )


def load(folder: Folder, version: int | None = None, timestamp: datetime.datetime | None = None) -> Snapshot:
    """A table as it is, or was at a version or a time; an error if there is none."""
    if version is not None and timestamp is not None:
        raise UnsupportedTypeError("expected a version or a timestamp, got both")
    if not is_table(folder):
        raise UnsupportedTypeError(f"expected a Delta table, got {folder.path}, which has no {LOG}")
    files = LogFiles.of(folder)
    if files.latest < 0:
        raise UnsupportedTypeError(f"expected a Delta table, got {folder.path}, whose {LOG} has no commits")
    wanted = files.latest if version is None else version
    if timestamp is not None:
        wanted = version_at(folder, files, timestamp)
    if not 0 <= wanted <= files.latest:
        raise UnsupportedTypeError(f"expected a version of {folder.path} from 0 to {files.latest}, got {wanted}")
    return _checked(_read(folder, files, wanted))


def newer(snapshot: Snapshot) -> Snapshot:
    """A snapshot with the commits that have been added since; itself if there are none."""
    if not snapshot.exists:
        files = LogFiles.of(snapshot.folder)
        return snapshot if files.latest < 0 else _checked(_read(snapshot.folder, files, files.latest))
    replay = _Replay(snapshot)
    version = snapshot.version
    while (data := snapshot.folder.read(commit_path(version + 1))) is not None:
        version += 1
        replay.apply(parse_lines(data, commit_path(version)))
    if version > snapshot.version:
        return _checked(replay.snapshot(version))
    # Where its own commit was cleaned away, those behind it may be, too: it only seems to be the last one.
    return snapshot if snapshot.folder.exists(commit_path(snapshot.version)) else load(snapshot.folder)


def _read(folder: Folder, files: LogFiles, version: int) -> Snapshot:
    """By the newest checkpoint that can be read."""
    usable = [one for one in files.checkpoints if one.version <= version]
    failure: Exception | None = None
    while True:
        checkpoint = usable.pop() if usable else None
        replay = _Replay(Snapshot(folder))
        first = 0
        if checkpoint is not None:
            try:
                replay.apply(read_checkpoint(folder, checkpoint))
            except Exception as error:  # an older one, and more commits, tell the same
                failure = error
                continue
            first = checkpoint.version + 1
        missing = [number for number in range(first, version + 1) if number not in files.commits]
        if missing:
            if usable:
                continue
            raise VarquetError(
                f"expected all commits of {folder.path} from {first} to {version}, got none of {missing[0]}",
                hint="older versions can be cleaned away; the newest ones cannot"
                if failure is None
                else f"a checkpoint is damaged: {failure}",
            )
        for number in range(first, version + 1):
            path = commit_path(number)
            replay.apply(parse_lines(folder.read(path) or b"", path))
        return replay.snapshot(version)


def _checked(snapshot: Snapshot) -> Snapshot:
    if snapshot.protocol is None or snapshot.metadata is None:
        raise VarquetError(f"expected the protocol and the schema of {snapshot.folder.path} in its log, got none")
    check_readable(snapshot.protocol, snapshot.metadata, snapshot.folder.path)
    return snapshot


def version_at(folder: Folder, files: LogFiles, timestamp: datetime.datetime) -> int:
    """The version of a table at a time: the last commit that is not later."""
    moment = timestamp if timestamp.tzinfo is not None else timestamp.replace(tzinfo=datetime.UTC)
    wanted = moment.timestamp() * 1000
    found = [number for number in sorted(files.commits) if commit_time(folder, files, number) <= wanted]
    if not found:
        first = min(files.commits, default=None)
        told = "" if first is None else f", the first commit is of {_shown(commit_time(folder, files, first))}"
        raise UnsupportedTypeError(f"expected a time at which {folder.path} was there, got {moment.isoformat()}{told}")
    return found[-1]


def commit_time(folder: Folder, files: LogFiles, version: int) -> float:
    """When a version was committed, in milliseconds since 1970: as the commit says, or its file."""
    first = (folder.read(commit_path(version)) or b"").partition(b"\n")[0]
    try:
        told = json.loads(first).get("commitInfo", {}).get("inCommitTimestamp")
    except (ValueError, AttributeError):
        told = None
    return float(told) if told is not None else files.commits[version].changed * 1000


def _shown(milliseconds: float) -> str:
    return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC).isoformat()
