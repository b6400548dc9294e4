"""Streams of the rows that come into a table: file by file of a folder, version by version of a Delta table."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import datasource as api
from pyspark.sql.types import StructType

from varquet.delta.actions import Add, parse_lines
from varquet.delta.files import LogFiles, commit_path, is_table
from varquet.delta.snapshot import load
from varquet.errors import UnsupportedTypeError, VarquetError
from varquet.parquet.folder import Folder
from varquet.queries.dataset import Dataset, FoundFile, found_file, snapshot_dataset
from varquet.spark.arrow import arrow_schema_of
from varquet.spark.source_reading import Reading, read_scan

__all__ = ["stream_reader"]


def stream_reader(reading: Reading, schema: StructType) -> api.DataSourceStreamReader:
    """What reads the rows that come into a table."""
    is_delta = is_table(Folder.at(reading.path))
    return DeltaStreamReader(reading, schema) if is_delta else StreamReader(reading, schema)


@dataclass(frozen=True, slots=True)
class _File(api.InputPartition):
    """A file that has come into a table."""

    dataset: Dataset


class StreamReader(api.DataSourceStreamReader):
    """A stream of the files that come into a table. An offset is the set of files seen, by hashes of their paths."""

    def __init__(self, reading: Reading, schema: StructType) -> None:
        self.reading = reading
        self.names = schema.fieldNames()
        self.arrow = arrow_schema_of(schema)

    def initialOffset(self) -> dict[str, str]:  # noqa: N802
        return {"seen": ""}

    def latestOffset(self, *_: Any) -> dict[str, str]:  # noqa: N802
        return {"seen": _packed(_hash(found.file.path) for found in self._files())}

    def _files(self) -> list[FoundFile]:
        try:
            return self.reading.dataset().files
        except UnsupportedTypeError:  # none yet
            return []

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[api.InputPartition]:
        wanted = _unpacked(end["seen"]) - _unpacked(start["seen"])
        found = {_hash(one.file.path): one for one in self._files()}
        gone = wanted - found.keys()
        if gone:
            raise VarquetError(
                f"expected {len(wanted):,} new files in {self.reading.path}, got {len(wanted) - len(gone):,}: the others were replaced",
                hint="streams are for tables to which rows are only added; begin again with a new checkpoint",
            )
        return [_File(Dataset([found[one]])) for one in sorted(wanted, key=lambda one: found[one].file.path)]

    def read(self, partition: api.InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _File)
        return read_scan(self.reading.scan(partition.dataset, self.names), self.arrow)


class DeltaStreamReader(api.DataSourceStreamReader):
    """A stream of the rows that come into a Delta table. An offset is a version."""

    def __init__(self, reading: Reading, schema: StructType) -> None:
        self.reading = reading
        self.names = schema.fieldNames()
        self.arrow = arrow_schema_of(schema)

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"version": -1}

    def latestOffset(self, *_: Any) -> dict[str, int]:  # noqa: N802
        return {"version": LogFiles.of(Folder.at(self.reading.path)).latest}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[api.InputPartition]:
        first, last = start["version"], end["version"]
        if first == last:
            return []
        snapshot = load(Folder.at(self.reading.path), last)
        whole = snapshot_dataset(snapshot)
        if first < 0:
            files = whole.files
        else:
            folder = snapshot.folder
            files = [found_file(folder, add) for number in range(first + 1, last + 1) for add in self._added(folder, number)]
        return [_File(dataclasses.replace(whole, files=[file])) for file in files]

    def _added(self, folder: Folder, version: int) -> list[Add]:
        """The files that bring new rows with a version."""
        name = commit_path(version)
        data = folder.read(name)
        if data is None:
            raise VarquetError(
                f"expected version {version} in the log of {folder.path}, got none: it was cleaned away",
                hint="begin again with a new checkpoint",
            )
        actions = list(parse_lines(data, name))
        if any(action.get("remove", {}).get("dataChange", False) for action in actions):
            raise VarquetError(
                f"expected rows to be only added to {folder.path}, got version {version}, which removes some",
                hint="streams are for tables to which rows are only added; begin again with a new checkpoint",
            )
        return [Add.from_dict(action["add"]) for action in actions if action.get("add", {}).get("dataChange", False)]

    def read(self, partition: api.InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _File)
        return read_scan(self.reading.scan(partition.dataset, self.names), self.arrow)


def _hash(path: str) -> bytes:
    return hashlib.blake2b(path.encode(), digest_size=8).digest()


def _packed(hashes: Iterable[bytes]) -> str:
    return base64.b64encode(zlib.compress(b"".join(sorted(hashes)))).decode()


def _unpacked(text: str) -> set[bytes]:
    if not text:
        return set()
    data = zlib.decompress(base64.b64decode(text))
    return {data[k : k + 8] for k in range(0, len(data), 8)}
