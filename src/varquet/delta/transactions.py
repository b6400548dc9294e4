"""Commits: a change becomes the next version of a table, or fails because of what others have committed meanwhile.

A commit is a file that is put where there is none. Who loses the race looks at what the winners have changed: if that does not touch what
the change rests on, it is made again for the newer version; else it fails. Changes that only add rows rest on the schema alone.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import random
import time
import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from varquet.delta.actions import Add, lines_of, parse_lines
from varquet.delta.checkpoints import clean_log, write_checkpoint
from varquet.delta.features import check_writable
from varquet.delta.files import commit_path, put_new
from varquet.delta.snapshot import Snapshot, newer
from varquet.errors import ConflictError
from varquet.parquet.folder import Folder

__all__ = ["Change", "commit", "latest"]

_ENGINE: Final = "varquet"
_LONGEST_WAIT: Final = 1.0


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be changed of a table."""

    operation: str
    actions: list[dict[str, Any]]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, int] = field(default_factory=dict)
    rests_on: Callable[[Add], bool] | None = None
    """The files whose rows it has read, and those that would be among them had they been there; None if it adds rows only."""
    moves_rows: bool = False
    """Whether the rows stay the same: then new files of others do not matter."""

    @property
    def removed(self) -> list[str]:
        """The paths of the files that it takes away."""
        return [action["remove"]["path"] for action in self.actions if "remove" in action]


def commit(snapshot: Snapshot, make: Callable[[Snapshot], Change | None]) -> Snapshot:
    """Make a change of the newest version of a table and commit it; the table then, as it was if there is nothing to do.

    Args:
        snapshot: the table as whoever made the change knows it.
        make: the change for a snapshot; it is called again when others have committed something.
    """
    known = newer(snapshot)
    _check_created(snapshot, known)
    change = make(known)
    if change is not None:
        _check(change, known.folder, snapshot.version, known.version)
    attempt = 0
    while change is not None:
        _check_protocol(known, change)
        version = known.version + 1
        if _put(known.folder, version, _provenance(known, change), change):
            made = known.with_actions(version, change.actions)
            _after(made)
            return made
        # Others were quicker.
        attempt += 1
        time.sleep(random.uniform(0, min(_LONGEST_WAIT, 0.005 * 2 ** min(attempt, 10))))
        before, known = known, newer(known)
        _check_created(before, known)
        _check(change, known.folder, before.version, known.version)
        change = make(known)
    return known


def _put(folder: Folder, version: int, provenance: dict[str, Any], change: Change) -> bool:
    """Put a commit where there is none; False if others were quicker."""
    try:
        if put_new(folder, commit_path(version), lines_of([provenance, *change.actions])):
            return True
    except Exception:
        # A store may have done what it could not say.
        with contextlib.suppress(Exception):
            if _is_there(folder, version, provenance):
                return True
        raise
    # A client that asks a store once more finds what it has put itself.
    return _is_there(folder, version, provenance)


def _is_there(folder: Folder, version: int, provenance: dict[str, Any]) -> bool:
    """Whether the commit of a version is ours."""
    found = next(parse_lines((folder.read(commit_path(version)) or b"").partition(b"\n")[0], commit_path(version)), {})
    return bool((found.get("commitInfo") or {}).get("txnId") == provenance["commitInfo"]["txnId"])


def _check_protocol(snapshot: Snapshot, change: Change) -> None:
    if snapshot.protocol is not None and snapshot.metadata is not None:
        changes_rows = any(action.get("remove", {}).get("dataChange", False) for action in change.actions)
        check_writable(snapshot.protocol, snapshot.metadata, snapshot.folder.path, changes_rows=changes_rows)


def _provenance(snapshot: Snapshot, change: Change) -> dict[str, Any]:
    """Who has done what, for `history`; the first action of a commit."""
    now = int(time.time() * 1000)
    info: dict[str, Any] = {"timestamp": now}
    if _has_commit_times(snapshot, change):
        info["inCommitTimestamp"] = max(now, _last_commit_time(snapshot) + 1)
    info |= {
        "operation": change.operation,
        # Texts, as other clients write and show them.
        "operationParameters": {name: value if isinstance(value, str) else json.dumps(value) for name, value in change.parameters.items()},
        "isolationLevel": "Serializable",
        "isBlindAppend": change.rests_on is None,
        "operationMetrics": {name: str(value) for name, value in change.metrics.items()},
        "engineInfo": _engine(),
        "txnId": str(uuid.uuid4()),
    }
    if snapshot.exists:
        info["readVersion"] = snapshot.version
    return {"commitInfo": info}


def _engine() -> str:
    try:
        return f"{_ENGINE}/{importlib.metadata.version(_ENGINE)}"
    except importlib.metadata.PackageNotFoundError:  # run from a source tree that was never installed
        return _ENGINE


def _has_commit_times(snapshot: Snapshot, change: Change) -> bool:
    properties = snapshot.properties
    for action in change.actions:
        properties = action.get("metaData", {}).get("configuration", properties)
    return properties.get("delta.enableInCommitTimestamps") == "true"


def _last_commit_time(snapshot: Snapshot) -> int:
    data = snapshot.folder.read(commit_path(snapshot.version)) if snapshot.exists else None
    for action in parse_lines(data or b"", commit_path(snapshot.version)):
        told = action.get("commitInfo", {}).get("inCommitTimestamp")
        if told is not None:
            return int(told)
    return 0


# What others have done


def _check_created(before: Snapshot, now: Snapshot) -> None:
    if now.exists and not before.exists:
        # Its partitions, its properties and so the form of its files are another one's choice.
        raise ConflictError(f"expected no table at {now.folder.path}, got one that was made meanwhile", hint="run it again")


def _check(change: Change, folder: Folder, before: int, now: int) -> None:
    """An error if one of the commits behind a version touches what a change rests on."""
    for version in range(before + 1, now + 1):
        data = folder.read(commit_path(version))
        if data is None:
            raise ConflictError(
                f"expected version {version} of {folder.path} to compare with, got none: its log was cleaned", hint="run it again"
            )
        _check_against(change, list(parse_lines(data, commit_path(version))), f"{folder.path}, version {version}")


def _check_against(change: Change, winner: Sequence[Mapping[str, Any]], where: str) -> None:
    for action in winner:
        if "metaData" in action:
            raise _conflict(where, "has changed the schema or the properties")
        if "protocol" in action and any("protocol" in mine for mine in change.actions):
            raise _conflict(where, "has changed the protocol")
    removed = {action["remove"]["path"] for action in winner if "remove" in action}
    touched = sorted(removed & set(change.removed))
    if touched:
        raise _conflict(where, f"has removed or changed a file that this change removes: {touched[0]}")
    if change.rests_on is None or change.moves_rows:
        return
    for action in winner:
        found = action.get("add") or action.get("remove")
        if found is None or not found.get("dataChange", True):
            continue
        file = Add.from_dict({"size": 0, **found})
        if change.rests_on(file):
            raise _conflict(where, f"has {'added' if 'add' in action else 'removed'} rows that this change is about: {file.path}")


def _conflict(where: str, what: str) -> ConflictError:
    return ConflictError(f"expected nobody else to change what this change rests on, got {where}, which {what}", hint="run it again")


# What a new version brings with it


def _after(snapshot: Snapshot) -> None:
    """A checkpoint where one is due. The commit is done: what fails here is left to the next one."""
    try:
        every = int(snapshot.properties.get("delta.checkpointInterval", "10"))
        if snapshot.version and every > 0 and snapshot.version % every == 0:
            write_checkpoint(snapshot)
            clean_log(snapshot)
    except Exception as error:
        told = f"version {snapshot.version} of {snapshot.folder.path} is committed, but has no checkpoint: {type(error).__name__}: {error}"
        warnings.warn(told, RuntimeWarning, stacklevel=3)


def latest(folder: Folder) -> Snapshot:
    """The newest snapshot of a folder; that of no table if it is none."""
    return newer(Snapshot(folder))
