"""Delta tables for tests: rows to write, what a table says of itself, and logs written by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

import varquet as vq
from varquet.tables.write import write_table
from varquet.tables.write_job import Report

__all__ = [
    "PLAN",
    "actions",
    "append",
    "commit_by_hand",
    "events",
    "find",
    "info",
    "metadata",
    "numbers",
    "properties_set",
    "text_of",
    "texts",
]

PLAN = {"v": "id bigint, kind string, user struct<id: bigint, name: string>"}


def text_of(number: int) -> str:
    return json.dumps({"id": number, "kind": "abc"[number % 3], "user": {"id": number % 7, "name": f"u{number}"}, "odd": [number]})


def events(first: int, count: int, **columns: pa.Array) -> pa.Table:
    """Numbered rows with JSON text, and other columns."""
    wanted = range(first, first + count)
    return pa.table({"n": pa.array(wanted, pa.int64()), "v": pa.array([text_of(k) for k in wanted], pa.string()), **columns})


def append(path: Path | str, first: int = 0, count: int = 10, **options: Any) -> Report:
    """Add numbered rows to a Delta table, which is made where there is none."""
    given: dict[str, Any] = {"plan": PLAN, "mode": "append", "json_columns": ["v"], "table": "delta", **options}
    return write_table(events(first, count), path, **given)


def numbers(path: Path | str, **options: Any) -> list[int]:
    """The numbers of all rows, in order."""
    return sorted(vq.scan(path, **options).select("n").table()["n"].to_pylist())


def texts(path: Path | str, **options: Any) -> list[tuple[int, str]]:
    """All rows with their Variants as JSON, in order."""
    found = vq.scan(path, **options).select(["n", "v"]).table()
    return sorted(zip(found["n"].to_pylist(), vq.to_json(found["v"]).to_pylist(), strict=True))


def _commit(path: Path | str, version: int) -> Path:
    return Path(path) / "_delta_log" / f"{version:020d}.json"


def actions(path: Path | str, version: int) -> list[dict[str, Any]]:
    """What a commit says."""
    return [json.loads(line) for line in _commit(path, version).read_text().splitlines()]


def find(path: Path | str, version: int, kind: str) -> list[dict[str, Any]]:
    """The actions of one kind in a commit."""
    return [action[kind] for action in actions(path, version) if kind in action]


def info(path: Path | str, version: int) -> dict[str, Any]:
    """What a commit says of itself."""
    return find(path, version, "commitInfo")[0]


def metadata(path: Path | str, version: int = 0) -> dict[str, Any]:
    """What a commit says that the table is."""
    return find(path, version, "metaData")[0]


def commit_by_hand(path: Path | str, version: int, *given: Mapping[str, Any]) -> None:
    """A commit as another client might write it."""
    place = _commit(path, version)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("".join(json.dumps(action) + "\n" for action in given))


def properties_set(path: Path | str, version: int, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    """Commit another protocol and other metadata than those of version 0: `change` gets both."""
    protocol, told = find(path, 0, "protocol")[0], metadata(path)
    change(protocol, told)
    commit_by_hand(path, version, {"commitInfo": {"operation": "SET TBLPROPERTIES"}}, {"protocol": protocol}, {"metaData": told})
