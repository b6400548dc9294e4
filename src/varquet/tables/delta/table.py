"""A Delta table as those who write see it: files are written in their places, and are in the table when a commit of its log says so."""

from __future__ import annotations

import json
import time
import urllib.parse
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from varquet.delta.actions import Add, Metadata, encoded_path
from varquet.delta.features import FEATURE, SHREDDING, check_writable, is_shredding_enabled, protocol_for
from varquet.delta.schema import from_delta, stored_schema, to_delta, with_new_columns
from varquet.delta.snapshot import Snapshot
from varquet.delta.statistics import FileStatistics, Indexing, statistics_of
from varquet.delta.transactions import Change, commit, latest
from varquet.errors import UnsupportedTypeError
from varquet.layouts.shredding import LayoutName
from varquet.parquet.files import DataFile
from varquet.parquet.folder import Folder
from varquet.parquet.hive import partitions_of
from varquet.parquet.listing import is_hidden
from varquet.parquet.plans import PinnedSchemas
from varquet.parquet.positions import Position, find_variants
from varquet.profiles.plan import Plan
from varquet.queries.dataset import partition_value
from varquet.schema import ShreddingSchema
from varquet.tables.base import QUARANTINE, Commit, StagedFile, TableSchema
from varquet.tables.directory import DirectoryTable
from varquet.tables.jobs import Job, batch_path

__all__ = ["PLAN", "DeltaTable", "new_file", "with_plan"]

_DEFAULT: Final = "CURRENT_DEFAULT"
PLAN: Final = "varquet.plan"
"""The property in which the plan of a table is."""
_STAGING: Final = "_varquet/"


class DeltaTable:
    """A Delta table, or the place for one. It pickles, for tasks, without what it knows of the log."""

    def __init__(self, folder: Folder, properties: Mapping[str, str] | None = None, *, merge_schema: bool = False) -> None:
        """A table in a folder.

        Args:
            properties: those of a new table.
            merge_schema: columns of new rows that the table has not got are added to it, instead of being an error.
        """
        self.folder = folder
        self.given = dict(properties or {})
        self.merge_schema = merge_schema
        self.known: Snapshot | None = None
        self.indexing = Indexing.of(self.given)
        # Bad records are no part of the table; they are staged as those of a plain folder are.
        self.staging = DirectoryTable(folder)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "known": None}

    def snapshot(self) -> Snapshot:
        """The table as it is now, which need not exist; commits rest on what was seen last."""
        self.known = latest(self.folder)
        if self.known.exists:
            self.indexing = Indexing.of(self.known.properties)
        return self.known

    def seen(self) -> Snapshot:
        """The table as it was seen last."""
        return self.snapshot() if self.known is None else self.known

    @property
    def keeps_schema(self) -> bool:
        """Whether it knows its columns even if it has no file: yes."""
        return True

    def row_schema(self, schema: pa.Schema) -> pa.Schema:
        """The types in which rows of a schema are stored: those of Delta, which are wider than some of Arrow."""
        return stored_schema(schema)

    def has_data(self) -> bool:
        """Whether there is a table."""
        return self.seen().exists

    def plan(self) -> str | None:
        """The plan that is recorded in its properties, as JSON."""
        return self.seen().properties.get(PLAN)

    def allowed(self, plan: PinnedSchemas | None) -> PinnedSchemas | None:
        """The plan by which files are written: none that shreds, unless the table allows it; never one with hot keys of maps."""
        if plan is not None and plan.maps:
            raise UnsupportedTypeError(
                f"expected plain maps in a Delta table, got hot keys of {next(iter(plan.maps))!r}",
                hint="its other readers would see maps without these keys; table='directory' takes them",
            )
        return plan if self.is_shredding_enabled() else Plan({})

    def is_shredding_enabled(self) -> bool:
        """Whether Variants may be shredded: the table's property says so, or that of the table to be."""
        seen = self.seen()
        if seen.protocol is None:
            return self.given.get(SHREDDING, "true") == "true"
        return is_shredding_enabled(seen.protocol, seen.properties)

    def begin(self) -> Job:
        """Look at the log, clear up behind jobs that have died, and begin another one."""
        self.snapshot()
        self.recover()
        return Job.begin()

    def open(self, job: Job) -> None:
        """Let the tasks of a job write."""
        self.staging.open(job)

    def recover(self) -> list[str]:
        """Clear up behind jobs that have died; files that no commit names are left to `vacuum`."""
        return self.staging.recover()

    def staged(self, job: Job, path: str) -> str:
        """Where a job writes the file that belongs at a path: there, where nobody sees it before the log names it."""
        return self.staging.staged(job, path) if path.startswith(f"{QUARANTINE}/") else path

    def make_room(self, job: Job, staged: str) -> None:
        """Make sure that a task can write a local file there."""
        if staged.startswith(_STAGING):
            self.staging.make_room(job, staged)
        else:
            self.folder.make_folder_of(staged)

    def about(self, file: DataFile, schema: pa.Schema, shredded: Mapping[Position, ShreddingSchema]) -> str | None:
        """The statistics of a file."""
        return statistics_of(file, schema, shredded, self.indexing)

    def check(self, schema: TableSchema, layout: LayoutName = "parquet", *, is_replaced: bool) -> None:
        """An error if rows of a schema, or the layout of their Variants, do not fit to the table."""
        if layout != "parquet":
            raise UnsupportedTypeError(f"expected the standard's layout in a Delta table, got {layout!r}")
        seen = self.seen()
        full = _full(schema)
        names = [name.lower() for name in full.names]
        if len(set(names)) < len(names):
            raise UnsupportedTypeError(
                f"expected names that differ in more than case, got {', '.join(full.names)}", hint="Delta tables ignore case"
            )
        to_delta(full)
        if seen.metadata is None or seen.protocol is None:
            made = self._new_metadata(schema, 0)
            protocol = protocol_for(made.schema_string, {**self.given, **made.configuration}, None)
            check_writable(protocol, made, f"{self.folder.path}, a new one,", changes_rows=False)
            return
        check_writable(seen.protocol, seen.metadata, self.folder.path, changes_rows=is_replaced)
        if any(seen.properties.get(name) != value for name, value in self.given.items() if not name.startswith(FEATURE)):
            raise UnsupportedTypeError(f"expected properties for a new table, got some for {self.folder.path}, which has others")
        if is_replaced:
            return
        if seen.metadata.partition_columns != tuple(field.name for field in schema.partitions):
            raise UnsupportedTypeError(
                f"expected the partitions of {self.folder.path}, which are {', '.join(seen.metadata.partition_columns) or 'none'}, "
                f"got {', '.join(field.name for field in schema.partitions) or 'none'}"
            )
        self._check_columns(seen.metadata.schema_string, full)

    def _check_columns(self, schema_string: str, given: pa.Schema) -> None:
        there = from_delta(schema_string)
        kinds = {field.name: field for field in there}
        for field in given:
            known = kinds.get(field.name)
            if known is None:
                other = next((name for name in there.names if name.lower() == field.name.lower()), None)
                if other is not None:
                    raise UnsupportedTypeError(
                        f"expected names as {self.folder.path} has them, as {other!r}, got {field.name!r}", hint="Delta tables ignore case"
                    )
                if not self.merge_schema:
                    raise UnsupportedTypeError(
                        f"expected the columns of {self.folder.path}, which are {', '.join(there.names)}, got {field.name!r}, too",
                        hint="merge_schema=True adds it to the table, mode='overwrite' replaces the table",
                    )
            elif _shape(pa.schema([known])) != _shape(pa.schema([field])):
                raise UnsupportedTypeError(
                    f"expected column {field.name!r} as {known.type}, as {self.folder.path} has it, got {field.type}"
                )
        for field in there:
            if not field.nullable and field.name not in given.names:
                raise UnsupportedTypeError(f"expected column {field.name!r}, which can never be null in {self.folder.path}, got none")
        for told in json.loads(schema_string)["fields"]:
            if told["name"] not in given.names and _DEFAULT in (told.get("metadata") or {}):
                raise UnsupportedTypeError(
                    f"expected column {told['name']!r}, got none: {self.folder.path} has a default for it, which varquet does not compute"
                )

    def commit(self, job: Job, wanted: Commit) -> list[str]:
        """Put the files of a job into the table; the paths of those that went for them."""
        data = [file for file in wanted.files if not file.path.startswith(f"{QUARANTINE}/")]
        made: Change | None = None

        def change(snapshot: Snapshot) -> Change | None:
            nonlocal made
            made = self._change(snapshot, wanted, data)
            return made

        # Bad records first: they are kept even if this process dies right behind the commit.
        mark = wanted.mark
        apart = {file.staged: _quarantine_path(file, mark) for file in wanted.files if file.staged != file.path}
        if mark is not None:
            for entry in self.folder.entries(QUARANTINE):
                if mark in entry.path:
                    self.folder.delete(entry.path)
        for staged, path in apart.items():
            self.folder.move(staged, path)
        try:
            self.known = commit(self.seen() if wanted.batch is None else latest(self.folder), change)
        except BaseException:
            for staged, path in apart.items():
                self.folder.move(path, staged)
            raise
        if made is None:
            for file in data:
                self.folder.delete(file.path)
        self.staging.close(job)
        return [] if made is None else made.removed

    def _change(self, snapshot: Snapshot, wanted: Commit, files: list[StagedFile]) -> Change | None:
        """What a job changes of a snapshot; None if that is done already."""
        now = int(time.time() * 1000)
        actions: list[dict[str, Any]] = []
        if wanted.batch is not None:
            query, number = wanted.batch
            written = snapshot.transaction(query)
            if written is not None and written >= number:
                return None
            actions.append({"txn": {"appId": query, "version": number, "lastUpdated": now}})
        metadata = self._metadata(snapshot, wanted, now)
        protocol = protocol_for(metadata.schema_string, {**self.given, **metadata.configuration}, snapshot.protocol)
        if protocol != snapshot.protocol:
            actions.append({"protocol": protocol.to_dict()})
        if metadata != snapshot.metadata:
            actions.append({"metaData": metadata.to_dict()})
        partitions = metadata.partition_columns
        adds = [new_file(file, metadata, now) for file in files]
        _check_nulls(metadata, adds)
        goes = None
        if wanted.replace == "all":
            goes = _any
        elif wanted.replace == "partitions":
            values = [_values(add, metadata) for add in adds]
            goes = lambda file: _values(file, metadata) in values  # noqa: E731
        gone = [file for file in snapshot.files.values() if goes is not None and goes(file)]
        actions += [file.removed(now) for file in gone]
        actions += [{"add": add.to_dict()} for add in adds]
        mode = {"all": "Overwrite", "partitions": "Overwrite", "nothing": "Append"}[wanted.replace]
        return Change(
            "STREAMING UPDATE" if wanted.batch is not None else "WRITE" if snapshot.exists else "CREATE TABLE AS SELECT",
            actions,
            {"mode": mode, "partitionBy": list(partitions)},
            {
                "numFiles": len(adds),
                "numOutputRows": sum(file.rows for file in files),
                "numOutputBytes": sum(file.size for file in files),
                **({"numRemovedFiles": len(gone)} if gone else {}),
            },
            rests_on=goes,
        )

    def _metadata(self, snapshot: Snapshot, wanted: Commit, now: int) -> Metadata:
        """What the table is from now on."""
        if snapshot.metadata is None or (wanted.replace == "all" and wanted.schema is not None):
            assert wanted.schema is not None
            made = self._new_metadata(wanted.schema, now)
            if snapshot.metadata is not None:
                made = replace(snapshot.metadata, schema_string=made.schema_string, partition_columns=made.partition_columns)
                if _shape(from_delta(made.schema_string)) == _shape(from_delta(snapshot.metadata.schema_string)):
                    made = replace(made, schema_string=snapshot.metadata.schema_string)
        else:
            made = snapshot.metadata
            if wanted.schema is not None:
                full = _full(wanted.schema)
                self._check_columns(made.schema_string, full)
                if any(name not in from_delta(made.schema_string).names for name in full.names):
                    made = replace(made, schema_string=with_new_columns(made.schema_string, full))
        return made if wanted.plan is None else with_plan(made, wanted.plan)

    def _new_metadata(self, schema: TableSchema, now: int) -> Metadata:
        full = _full(schema)
        kept = {name: value for name, value in self.given.items() if not name.startswith(FEATURE)}
        properties = {"delta.checkpoint.writeStatsAsStruct": "true", **kept}
        if find_variants(full):
            properties.setdefault(SHREDDING, "true")
        columns = pa.schema([field.with_nullable(True) for field in full])
        return Metadata(str(uuid.uuid4()), to_delta(columns), tuple(field.name for field in schema.partitions), properties, created=now)

    def abort(self, job: Job) -> None:
        """Leave nothing of a job; but what the log names stays, since what fails behind a commit does not undo it."""
        self.staging.abort(job)
        now = latest(self.folder)
        named = {urllib.parse.unquote(path) for path, _ in (*now.files, *now.removed)}
        for entry in self.folder.entries():
            if f"-{job.token}-" in entry.path and entry.path not in named and not is_hidden(entry.path.split("/")[:-1]):
                self.folder.delete(entry.path)


def with_plan(metadata: Metadata, plan: str) -> Metadata:
    """What a table is if it has this plan."""
    if metadata.configuration.get(PLAN) == plan:
        return metadata
    return replace(metadata, configuration={**metadata.configuration, PLAN: plan})


def _any(file: Add) -> bool:
    return True


def _quarantine_path(file: StagedFile, mark: str | None) -> str:
    """Where bad records belong; those of a batch can be told from others."""
    return file.path if mark is None else batch_path(file.path, mark)


def _full(schema: TableSchema) -> pa.Schema:
    """All columns of a table, in the order of the rows, with types that Delta has."""
    fields = {field.name: field for field in (*schema.stored, *schema.partitions)}
    return stored_schema(pa.schema([fields[name] for name in schema.order or fields]))


def _shape(schema: pa.Schema) -> Any:
    """The names and types of a schema, whatever can be null."""

    def bare(kind: Any) -> Any:
        if isinstance(kind, list):
            return [bare(one) for one in kind]
        if isinstance(kind, dict):
            return {
                key: bare(value) for key, value in kind.items() if key not in ("nullable", "containsNull", "valueContainsNull", "metadata")
            }
        return kind

    return bare(json.loads(to_delta(schema)))


def new_file(file: StagedFile, metadata: Metadata, now: int, *, data_change: bool = True) -> Add:
    """A file as the log names it, in the partition that its folders say."""
    texts, kinds = partitions_of(file.path), from_delta(metadata.schema_string)
    values = {name: _partition_text(texts.get(name), kinds.field(name).type) for name in metadata.partition_columns}
    return Add(encoded_path(file.path), values, file.size, now, data_change, file.about)


def _partition_text(text: str | None, kind: pa.DataType) -> str | None:
    """The value of a partition as the log has it: moments with their zone, without which each reader takes its own."""
    if text is None or not pa.types.is_timestamp(kind) or kind.tz is None:
        return text
    return f"{partition_value(text, kind).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def _values(file: Add, metadata: Metadata) -> list[Any]:
    """The values of a file's partition, which others may write differently."""
    kinds = from_delta(metadata.schema_string)
    return [partition_value(file.partition_values.get(name), kinds.field(name).type) for name in metadata.partition_columns]


def _check_nulls(metadata: Metadata, adds: list[Add]) -> None:
    """Columns that can never be null are not."""
    never = [field["name"] for field in json.loads(metadata.schema_string)["fields"] if not field.get("nullable", True)]
    for add in adds if never else ():
        known = FileStatistics.parse(add.stats)
        for name in never:
            count = known.null_count((name,)) if name not in add.partition_values else int(add.partition_values[name] is None)
            if count != 0:
                told = "some" if count is None else f"{count:,}"
                raise UnsupportedTypeError(
                    f"expected no nulls in column {name!r}, which can never be null in the table, got {told} in {add.location}"
                )
