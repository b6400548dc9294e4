"""How the data source writes: tasks write files out of sight, the commit puts them in place; of a stream, batch by batch."""

from __future__ import annotations

import dataclasses
import hashlib
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import datasource as api
from pyspark.sql.types import StructType

from varquet.errors import UnsupportedTypeError
from varquet.layouts.map_keys import maps_of_options
from varquet.profiles.plan import ColumnPlan, Plan
from varquet.spark.arrow import arrow_schema_of
from varquet.spark.profiling import merged
from varquet.spark.source_options import checked_options, listed
from varquet.spark.tasks import partition_number
from varquet.tables.base import Commit, StagedFile, Table
from varquet.tables.jobs import Job
from varquet.tables.opening import open_table
from varquet.tables.parsing import Parsing
from varquet.tables.parts import write_part
from varquet.tables.quarantine import number_lines
from varquet.tables.write_job import Part, WriteJob, named_columns, plan_of, settings_of
from varquet.tables.writing import Settings

__all__ = ["StagedWriter", "StreamWriter", "Writer", "Writing", "query_of"]

_OPTIONS: Final = {
    "path", "plan", "schemas", "json_columns", "map_columns", "partition_by", "sort_by", "mode", "on_error", "duplicate_keys",
    "file_bytes", "layout", "compression", "compression_level", "row_group_rows", "query", "staged", "evolve", "checkpointlocation",
    "table", "properties", "merge_schema",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Writing:
    """What is to be written, where and how."""

    table: Table
    settings: Settings
    parsing: Parsing
    mode: str | None

    @classmethod
    def of(cls, options: Mapping[str, str], schema: StructType) -> Writing:
        given = checked_options(options, _OPTIONS)
        table = _table_of(given)
        plan = _plan_of(given)
        names, maps = named_columns(plan, listed(given.get("json_columns", "")), listed(given.get("map_columns", "")))
        parsing = Parsing.of(
            arrow_schema_of(schema),
            names,
            given.get("on_error", "fail"),  # type: ignore[arg-type]
            given.get("duplicate_keys", "error"),  # type: ignore[arg-type]
            maps,
        )

        others: dict[str, Any] = {
            name: _number(name, given[name]) for name in ("file_bytes", "row_group_rows", "compression_level") if name in given
        }
        others |= {name: given[name] for name in ("layout", "compression") if name in given}
        partition_by, sort_by = (listed(given.get(name, "")) for name in ("partition_by", "sort_by"))
        settings = settings_of(parsing.schema, parsing.variants, partition_by, sort_by, plan=plan, **others)
        return cls(table, settings, parsing, given.get("mode"))

    def write(self, job: Job, batches: Iterator[pa.RecordBatch], number: int) -> Part:
        return write_part(batches, number, table=self.table, job=job, settings=self.settings, parsing=self.parsing)


def _plan_of(given: Mapping[str, str]) -> Plan | None:
    if "plan" in given and "schemas" in given:
        raise UnsupportedTypeError("expected one of the options plan and schemas, got both")
    maps = {name: ColumnPlan.of_keys(keys) for name, keys in maps_of_options(given, ignores_case=True).items()}
    text = given.get("plan")
    plan: Plan | None = None
    if "schemas" in given:
        plan = plan_of(listed(given["schemas"]))
    elif text is not None:
        plan = Plan.from_json(text) if text.lstrip().startswith("{") else Plan.load(text)
    elif maps:
        plan = Plan({})
    return plan if plan is None or not maps else Plan({**plan.columns, **maps}, plan.step)


def _table_of(given: Mapping[str, str]) -> Table:
    properties = listed(given["properties"]) if "properties" in given else None
    if properties is not None and not isinstance(properties, Mapping):
        raise UnsupportedTypeError(
            f"expected the option properties as JSON, got {given['properties']!r}", hint='{"delta.appendOnly": "true"}'
        )
    return open_table(
        given["path"],
        given.get("table"),  # type: ignore[arg-type]
        properties=properties,
        merge_schema=given.get("merge_schema", "false").lower() == "true",
    )


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UnsupportedTypeError(f"expected a number for the option {name}, got {text!r}") from None


def query_of(options: Mapping[str, str]) -> str:
    """What tells the batches of one stream from those of another; the same whenever the stream is started again."""
    given = {name.lower(): text for name, text in options.items()}
    text = given.get("query") or given.get("checkpointlocation")
    if not text:
        raise UnsupportedTypeError(
            "expected the option checkpointLocation or query, got none of them: a batch that comes again would not be known",
            hint='.option("query", "a name that the stream keeps")',
        )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(slots=True)
class _Message(api.WriterCommitMessage):
    """What one task has written, for which job."""

    parts: list[tuple[Job, Part]]


def _parts_of(messages: Sequence[api.WriterCommitMessage | None]) -> list[tuple[Job, Part]]:
    return [part for message in messages if isinstance(message, _Message) for part in message.parts]


class Writer(api.DataSourceArrowWriter):
    """Writes a DataFrame: tasks write files out of sight, the commit puts them in place."""

    def __init__(self, writing: Writing, *, overwrite: bool) -> None:
        modes = {"overwrite", "overwrite-partitions"} if overwrite else {"append", "error", "ignore", "overwrite-partitions"}
        mode = writing.mode or ("overwrite" if overwrite else "append")
        if mode not in modes:
            raise UnsupportedTypeError(
                f"expected the option mode to be one of {', '.join(sorted(modes))}, got {mode!r}",
                hint="what Spark calls the mode is overwrite or append, beside this option",
            )
        self.job = WriteJob(writing.table, mode)  # type: ignore[arg-type]
        plan = self.plan = writing.settings.plan or self.job.recorded_plan()
        plan = writing.table.allowed(plan)
        self.writing = dataclasses.replace(writing, settings=dataclasses.replace(writing.settings, plan=plan))
        self.job.check(writing.parsing.schema, self.writing.settings)
        if not self.job.is_ignored:
            writing.table.open(self.job.job)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> api.WriterCommitMessage:
        if self.job.is_ignored:
            return _Message([])
        return _Message([(self.job.job, self.writing.write(self.job.job, iterator, partition_number()))])

    def commit(self, messages: list[api.WriterCommitMessage | None]) -> None:
        if not self.job.is_ignored:
            plan = self.plan
            assert plan is None or isinstance(plan, Plan)
            self.job.commit([part for _, part in _parts_of(messages)], self.writing.parsing.schema, self.writing.settings, plan)

    def abort(self, messages: list[api.WriterCommitMessage | None]) -> None:
        self.job.table.abort(self.job.job)


class StreamWriter(api.DataSourceStreamArrowWriter):
    """Writes a stream, batch by batch; a batch that comes again replaces its own files."""

    def __init__(self, writing: Writing, query: str) -> None:
        self.query = query
        self.table = writing.table
        self.job = Job.begin()
        recorded = writing.table.plan()
        self.plan = writing.settings.plan or (None if recorded is None else Plan.from_json(recorded))
        allowed = writing.table.allowed(self.plan)
        self.writing = dataclasses.replace(writing, settings=dataclasses.replace(writing.settings, plan=allowed))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> api.WriterCommitMessage:
        self.table.open(self.job)
        return _Message([(self.job, self.writing.write(self.job, iterator, partition_number()))])

    def commit(self, messages: list[api.WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        plan = None if self.plan is None else self.plan.to_json()
        commit_batch(self.table, self.query, batchId, _parts_of(messages) or [(self.job, Part())], plan)

    def abort(self, messages: list[api.WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        for job in {self.job, *(job for job, _ in _parts_of(messages))}:
            self.table.abort(job)


class StagedWriter(api.DataSourceStreamArrowWriter):
    """Commits what `write_stream` has written: its rows say which files there are. A plan follows from what was counted."""

    def __init__(self, options: Mapping[str, str]) -> None:
        given = checked_options(options, _OPTIONS)
        self.table = _table_of(given)
        self.query = query_of(options)
        self.evolves = given.get("evolve") == "true"
        self.given = given.get("plan")
        self.maps = listed(given.get("map_columns", ""))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> api.WriterCommitMessage:
        return _Message([pickle.loads(value) for batch in iterator for value in batch.column("result").to_pylist()])

    def commit(self, messages: list[api.WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        parts = _parts_of(messages)
        plan = self._next_plan([part for _, part in parts])
        commit_batch(self.table, self.query, batchId, parts or [(Job.begin(), Part())], plan)

    def _next_plan(self, parts: Sequence[Part]) -> str | None:
        """The plan of the table from now on: the one that it has, else the one that was given, and what this batch makes of it."""
        text = self.table.plan() or self.given
        names = sorted({name for part in parts for name in part.profiles})
        found = {name: merged([part.profiles[name] for part in parts if name in part.profiles]) for name in names}
        # A batch is counted once: names of objects with too many that came up late wait for a batch in which they do not.
        found = {name: dataclasses.replace(profile, is_exact=True) for name, profile in found.items()}
        if text is None:
            return Plan.from_profiles(found, maps=self.maps).to_json() if found else None
        if not self.evolves:
            return text
        before = Plan.from_json(text)
        return before.evolve({name: profile for name, profile in found.items() if name in before.columns})[0].to_json()

    def abort(self, messages: list[api.WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        for job in {job for job, _ in _parts_of(messages)}:
            self.table.abort(job)


def commit_batch(table: Table, query: str, batch: int, parts: Sequence[tuple[Job, Part]], plan: str | None) -> None:
    """Put the files of a batch of a stream in place, instead of those that it had when it was committed before."""
    table.recover()
    job = parts[0][0]
    files: list[StagedFile] = []
    for _, part in parts:
        for file in part.quarantine:
            number_lines(table.folder, file, {})
        files += [*part.files, *part.quarantine]
    schema = next((part.schema for _, part in parts if part.schema is not None), None)
    if schema is not None or table.has_data():
        table.commit(job, Commit(files, schema=schema, batch=(query, batch), plan=plan))
    for other in {begun for begun, _ in parts} - {job}:
        table.abort(other)
