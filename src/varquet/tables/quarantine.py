"""Records that are no JSON, kept aside with where they were and why they are there.

They are Parquet files in the folder `_quarantine` of a table, which engines that read the table pass over, and that anyone can read:

    file      the file that the record was in; null if it was not in a file
    line      its line there, from 1
    offset    the byte of the file, uncompressed, at which it begins
    at        the byte of the record that is wrong
    reason    what is wrong
    record    the record itself
    row       the other columns of its row, as JSON; null if it had none
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from varquet.columns.ndjson import Lines
from varquet.parquet.folder import Folder
from varquet.parquet.json_rows import json_objects
from varquet.parquet.sources import Refused
from varquet.tables.base import QUARANTINE, StagedFile, Table
from varquet.tables.jobs import Job

__all__ = ["QuarantineWriter", "bad_lines", "bad_texts", "number_lines"]

SCHEMA: Final = pa.schema(
    {
        "file": pa.string(),
        "line": pa.int64(),
        "offset": pa.int64(),
        "at": pa.int64(),
        "reason": pa.string(),
        "record": pa.binary(),
        "row": pa.string(),
    }
)
# Lines are numbered within the part of a file that a task reads, until the parts before it have been counted.
_SPLIT: Final = "split"
_UNNUMBERED: Final = SCHEMA.append(pa.field(_SPLIT, pa.int64()))


def bad_lines(split: int, lines: Lines, refused: Sequence[tuple[int, Refused]]) -> pa.Table:
    """Lines that are no JSON, as they are kept, by their rows; `split` says in which part of the file they are."""
    rows = [row for row, _ in refused]
    count = len(rows)
    return pa.table(
        [
            pa.array([one.file for _, one in refused], pa.string()),
            pa.array(lines.numbers[rows]),
            pa.array(lines.starts[rows]),
            *_reasons([one for _, one in refused]),
            pa.array([lines.text(row) for row in rows], pa.binary()),
            pa.nulls(count, pa.string()),
            pa.repeat(pa.scalar(split, pa.int64()), count),
        ],
        schema=_UNNUMBERED,
    )


def bad_texts(texts: pa.Array, refused: Sequence[tuple[int, Refused]], others: pa.RecordBatch) -> pa.Table:
    """Values of a text column that are no JSON, as they are kept, by their rows, with the other columns of the batch."""
    rows = pa.array([row for row, _ in refused], pa.int64())
    count = len(rows)
    nothing = [pa.nulls(count, pa.string()), pa.nulls(count, pa.int64()), pa.nulls(count, pa.int64())]
    beside = pa.nulls(count, pa.string())
    if others.num_columns:
        beside = json_objects(others.take(rows)).cast(pa.string())
    kept = [*nothing, *_reasons([one for _, one in refused]), texts.take(rows).cast(pa.binary()), beside, pa.nulls(count, pa.int64())]
    return pa.table(kept, schema=_UNNUMBERED)


def _reasons(refused: Sequence[Refused]) -> list[pa.Array]:
    return [pa.array([one.offset for one in refused], pa.int64()), pa.array([one.message for one in refused], pa.string())]


class QuarantineWriter:
    """The file of bad records that one task makes, if it finds any."""

    def __init__(self, table: Table, job: Job, name: str) -> None:
        self.table = table
        self.job = job
        self.path = f"{QUARANTINE}/{name}.parquet"
        self.staged = table.staged(job, self.path)
        self.rows = 0
        self.writer: pq.ParquetWriter | None = None
        self.local = ""

    def write(self, bad: pa.Table) -> None:
        """Take some bad records."""
        if self.writer is None:
            descriptor, self.local = tempfile.mkstemp(prefix="varquet-", suffix=".parquet")
            os.close(descriptor)
            self.writer = pq.ParquetWriter(self.local, _UNNUMBERED, compression="zstd")
        self.writer.write_table(bad)
        self.rows += bad.num_rows

    def close(self) -> list[StagedFile]:
        """Finish the file; what it is, if there is one."""
        if self.writer is None:
            return []
        self.writer.close()
        size = os.path.getsize(self.local)
        self.table.make_room(self.job, self.staged)
        self.table.folder.upload(self.local, self.staged)
        return [StagedFile(self.staged, self.path, self.rows, size)]

    def abort(self) -> None:
        """Leave nothing."""
        if self.writer is not None:
            self.writer.close()
            os.unlink(self.local)


def number_lines(folder: Folder, file: StagedFile, before: Mapping[int, int]) -> None:
    """Number the lines in a staged file from the beginning of their files; `before` says how many lines are before each split."""
    data = folder.read(file.staged)
    assert data is not None
    bad = pq.read_table(pa.BufferReader(data))
    if _SPLIT not in bad.schema.names:
        # An attempt before this one has done it, and died before anybody knew.
        return
    splits = bad[_SPLIT].to_pylist()
    added = pa.array([None if split is None else before.get(split, 0) for split in splits], pa.int64())
    line = bad.schema.get_field_index("line")
    numbered = bad.set_column(line, "line", pc.add(bad["line"], added)).drop_columns([_SPLIT]).cast(SCHEMA)
    descriptor, local = tempfile.mkstemp(prefix="varquet-", suffix=".parquet")
    os.close(descriptor)
    pq.write_table(numbered, local, compression="zstd")
    folder.upload(local, file.staged)
