"""Which kind of table is, or is to be, at a path."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from varquet.delta.files import is_table
from varquet.errors import UnsupportedTypeError
from varquet.parquet.folder import Folder
from varquet.tables.base import Table
from varquet.tables.delta.table import DeltaTable
from varquet.tables.directory import DirectoryTable

__all__ = ["TableKind", "open_table"]

TableKind: TypeAlias = Literal["directory", "delta"]


def open_table(
    path: str | os.PathLike[str],
    kind: TableKind | None = None,
    filesystem: Any = None,
    *,
    properties: Mapping[str, str] | None = None,
    merge_schema: bool = False,
) -> Table:
    """The table at a path, which need not exist yet.

    Args:
        kind: "directory", a plain folder of Parquet files, or "delta"; by default what is there, and a directory where nothing is.
        properties, merge_schema: of Delta tables: the properties of a new one, and whether columns are added to it.
    """
    folder = Folder.at(path, filesystem)
    if kind not in ("directory", "delta", None):
        raise UnsupportedTypeError(f"expected a kind of table, got {kind!r}", hint="directory or delta")
    if kind is None:
        kind = "delta" if is_table(folder) else "directory"
    if kind == "delta":
        return DeltaTable(folder, properties, merge_schema=merge_schema)
    if properties or merge_schema:
        raise UnsupportedTypeError("expected no properties and no merge_schema of a plain folder, got some", hint="table='delta' has them")
    return DirectoryTable(folder)
