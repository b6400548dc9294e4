"""The data source `varquet`: `spark.read.format("varquet")`, `df.write.format("varquet")`, and both for streams.

Spark asks short-lived Python processes to plan and to commit, and has its Python workers read and write; what they tell each other is
pickled. Options are texts; those that stand for several things are JSON.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import hashlib
import json
import pickle
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import datasource as api
from pyspark.sql.types import StructType

from varquet.errors import UnsupportedTypeError, VarquetError
from varquet.parquet.files import DataFile
from varquet.profiles.folding import folded
from varquet.profiles.plan import Plan
from varquet.profiles.profiling import MOST_NAMES
from varquet.queries.dataset import FoundFile, find_files
from varquet.queries.expressions import IsNull, Not, Operand, Predicate, Query
from varquet.queries.grammar import parse_predicate
from varquet.queries.in_files import FilesSource
from varquet.queries.scanning import Scan
from varquet.spark.arrow import arrow_schema_of, as_spark_batch, spark_schema_of
from varquet.spark.jobs import Part, WriteJob, plan_of, settings_of
from varquet.spark.parsing import Parsing
from varquet.spark.profiling import merged
from varquet.spark.tasks import partition_number
from varquet.spark.writing import write_part
from varquet.tables.directory import DirectoryTable, StagedFile
from varquet.tables.folder import Folder
from varquet.tables.jobs import Job
from varquet.tables.quarantine import number_lines
from varquet.tables.writing import Settings

__all__ = ["VarquetSource"]

# So much of a file is read by one task, if it has several row groups.
_TASK_BYTES: Final = 128 << 20
_READ_OPTIONS: Final = {"path", "select", "where", "column"}
_WRITE_OPTIONS: Final = {
    "path", "plan", "schemas", "json_columns", "partition_by", "sort_by", "mode", "on_error", "duplicate_keys", "file_bytes", "layout",
    "compression", "compression_level", "row_group_rows", "query", "staged", "evolve", "checkpointlocation",
}  # fmt: skip


class VarquetSource(api.DataSource):
    """Tables of varquet, whatever their layout."""

    @classmethod
    def name(cls) -> str:
        return "varquet"

    def schema(self) -> StructType:
        return spark_schema_of(_Reading.of(self.options).scan().schema)

    def reader(self, schema: StructType) -> api.DataSourceReader:
        return _Reader(_Reading.of(self.options), schema)

    def streamReader(self, schema: StructType) -> api.DataSourceStreamReader:  # noqa: N802
        return _StreamReader(_Reading.of(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> api.DataSourceWriter:
        return _Writer(_Writing.of(self.options, schema), overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> api.DataSourceStreamWriter:  # noqa: N802
        if "staged" in self.options:
            return _StagedWriter(self.options)
        return _StreamWriter(_Writing.of(self.options, schema), _query_of(self.options))


def _checked(options: Mapping[str, str], known: set[str]) -> dict[str, str]:
    given = {name.lower(): text for name, text in options.items()}
    unknown = sorted(set(given) - known)
    if unknown:
        raise UnsupportedTypeError(
            f"expected an option of the data source varquet, got {unknown[0]!r}", hint=f"they are {', '.join(sorted(known))}"
        )
    if not given.get("path"):
        raise UnsupportedTypeError("expected a path, got none", hint='.load("path") or .save("path")')
    return given


def _listed(text: str) -> Any:
    """An option that is JSON, or a list of words."""
    stripped = text.strip()
    if stripped.startswith(("[", "{")):
        try:
            return json.loads(stripped)
        except ValueError as error:
            raise UnsupportedTypeError(f"expected JSON or words with commas between them, got {text!r}: {error}") from None
    return [word.strip() for word in stripped.split(",") if word.strip()]


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is to be read."""

    path: str
    select: Mapping[str, str] | Sequence[str] | None
    where: str | None
    column: str | None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> _Reading:
        given = _checked(options, _READ_OPTIONS)
        select = given.get("select")
        where = given.get("where")
        if where is not None:
            parse_predicate(where)
        return cls(given["path"], None if select is None else _listed(select), where, given.get("column"))

    def scan(self, found: Sequence[FoundFile] | None = None, names: Sequence[str] | None = None, pushed: Sequence[Predicate] = ()) -> Scan:
        """The query, of some of the files and columns."""
        made = Scan(FilesSource(list(self.files() if found is None else found), self.column, None), Query(), 1)
        if self.select is not None:
            made = made.select(self.select)
        if self.where is not None:
            made = made.where(self.where)
        for predicate in pushed:
            made = made.where(predicate)
        if names is None:
            return made
        known = dict(self.operands(made))
        missing = [name for name in names if name not in known]
        if missing:
            raise UnsupportedTypeError(f"expected columns of {self.path}, got {missing[0]!r}", hint="they are " + ", ".join(known))
        return made.select({name: known[name] for name in names})

    def operands(self, made: Scan) -> Iterator[tuple[str, Operand]]:
        """What each column of the result stands for."""
        for name in made.schema.names:
            yield name, (made.query.select or {}).get(name) or Operand(None, name)

    def files(self) -> list[FoundFile]:
        return find_files(self.path)


class _PushFilters:
    """Takes the filters that Spark pushes, if the session lets it; and otherwise looks to Spark as if there were nothing to take.

    Spark refuses readers that have a `pushFilters` of their own while the session does not push, and no option tells them.
    """

    def __init__(self, reader: _Reader) -> None:
        self.reader = reader
        self.__func__ = api.DataSourceReader.pushFilters  # by which Spark tells

    def __call__(self, filters: list[api.Filter]) -> Iterable[api.Filter]:
        made = self.reader.reading.scan()
        known = dict(self.reader.reading.operands(made))
        for one in filters:
            with contextlib.suppress(VarquetError):
                predicate = _predicate(one, known)
                if predicate is not None and made.where(predicate).schema:
                    self.reader.pushed.append(predicate)
            # Spark looks once more: what is skipped here has to be right, but not all that could be.
            yield one


def _predicate(pushed: api.Filter, known: Mapping[str, Operand]) -> Predicate | None:
    """A filter of Spark as a predicate on the rows; None, or an error, where it cannot be one."""
    if isinstance(pushed, api.Not):
        inner = _predicate(pushed.child, known)
        return None if inner is None else Not(inner)
    attribute: tuple[str, ...] = getattr(pushed, "attribute", ())
    if len(attribute) != 1 or attribute[0] not in known:
        return None
    operand = known[attribute[0]]
    if operand.path is not None and operand.type is None:
        return None
    value = getattr(pushed, "value", None)
    match pushed:
        case api.IsNull():
            return IsNull(operand)
        case api.IsNotNull():
            return Not(IsNull(operand))
        case api.EqualTo():
            return operand == value
        case api.GreaterThan():
            return operand > value
        case api.GreaterThanOrEqual():
            return operand >= value
        case api.LessThan():
            return operand < value
        case api.LessThanOrEqual():
            return operand <= value
        case api.In() if isinstance(value, (list, tuple)):
            return operand.is_in(value)
        case api.StringStartsWith() if isinstance(value, str):
            return operand.starts_with(value)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class _Groups(api.InputPartition):
    """Row groups of a file; or all of them."""

    file: int
    groups: range | None = None


def _cut(number: int, file: DataFile) -> list[_Groups]:
    """The tasks for one file: a large one is read by several."""
    size = file.size()
    if size <= _TASK_BYTES:
        return [_Groups(number)]
    groups = file.metadata().num_row_groups
    count = min(groups, -(-size // _TASK_BYTES))
    return [_Groups(number, range(groups * k // count, groups * (k + 1) // count)) for k in range(count)]


class _Reader(api.DataSourceReader):
    """Reads files by queries of varquet."""

    def __init__(self, reading: _Reading, schema: StructType) -> None:
        self.reading = reading
        self.names = schema.fieldNames()
        self.arrow = arrow_schema_of(schema)
        self.found = reading.files()
        self.pushed: list[Predicate] = []
        self.pushFilters = _PushFilters(self)  # type: ignore[method-assign]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "pushFilters"}

    def partitions(self) -> Sequence[api.InputPartition]:
        return [task for number, found in enumerate(self.found) for task in _cut(number, found.file)]

    def read(self, partition: api.InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Groups)
        # All files are asked for their columns: one that this file has not got is null here, and no mistake.
        found = [dataclasses.replace(one, groups=partition.groups if k == partition.file else range(0)) for k, one in enumerate(self.found)]
        return _read(self.reading.scan(found, self.names, self.pushed), self.arrow)


def _read(made: Scan, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in made.batches():
        yield as_spark_batch(batch, schema)


@dataclass(frozen=True, slots=True)
class _File(api.InputPartition):
    """A file that has come into a table."""

    found: FoundFile


class _StreamReader(api.DataSourceStreamReader):
    """A stream of the files that come into a table. An offset is the set of files seen, by hashes of their paths."""

    def __init__(self, reading: _Reading, schema: StructType) -> None:
        self.reading = reading
        self.names = schema.fieldNames()
        self.arrow = arrow_schema_of(schema)

    def initialOffset(self) -> dict[str, str]:  # noqa: N802
        return {"seen": ""}

    def latestOffset(self, *_: Any) -> dict[str, str]:  # noqa: N802
        return {"seen": _packed(_hash(found.file.path) for found in self._files())}

    def _files(self) -> list[FoundFile]:
        try:
            return self.reading.files()
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
        return [_File(found[one]) for one in sorted(wanted, key=lambda one: found[one].file.path)]

    def read(self, partition: api.InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _File)
        return _read(self.reading.scan([partition.found], self.names), self.arrow)


def _hash(path: str) -> bytes:
    return hashlib.blake2b(path.encode(), digest_size=8).digest()


def _packed(hashes: Iterable[bytes]) -> str:
    return base64.b64encode(zlib.compress(b"".join(sorted(hashes)))).decode()


def _unpacked(text: str) -> set[bytes]:
    if not text:
        return set()
    data = zlib.decompress(base64.b64decode(text))
    return {data[k : k + 8] for k in range(0, len(data), 8)}


@dataclass(frozen=True, slots=True)
class _Writing:
    """What is to be written, where and how."""

    table: DirectoryTable
    settings: Settings
    parsing: Parsing
    mode: str | None

    @classmethod
    def of(cls, options: Mapping[str, str], schema: StructType) -> _Writing:
        given = _checked(options, _WRITE_OPTIONS)
        table = DirectoryTable(Folder.at(given["path"]))
        plan = _plan_of(given)
        names = _listed(given.get("json_columns", ""))
        parsing = Parsing.of(
            arrow_schema_of(schema),
            (*names, *(() if plan is None else plan.columns)),
            given.get("on_error", "fail"),  # type: ignore[arg-type]
            given.get("duplicate_keys", "error"),  # type: ignore[arg-type]
        )

        others: dict[str, Any] = {
            name: _number(name, given[name]) for name in ("file_bytes", "row_group_rows", "compression_level") if name in given
        }
        others |= {name: given[name] for name in ("layout", "compression") if name in given}
        partition_by, sort_by = (_listed(given.get(name, "")) for name in ("partition_by", "sort_by"))
        settings = settings_of(parsing.schema, parsing.variants, partition_by, sort_by, plan=plan, **others)
        return cls(table, settings, parsing, given.get("mode"))

    def write(self, job: Job, batches: Iterator[pa.RecordBatch], number: int) -> Part:
        return write_part(batches, number, table=self.table, job=job, settings=self.settings, parsing=self.parsing)


def _plan_of(given: Mapping[str, str]) -> Plan | None:
    if "plan" in given and "schemas" in given:
        raise UnsupportedTypeError("expected one of the options plan and schemas, got both")
    if "schemas" in given:
        return plan_of(_listed(given["schemas"]))
    text = given.get("plan")
    if text is None:
        return None
    return Plan.from_json(text) if text.lstrip().startswith("{") else Plan.load(text)


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UnsupportedTypeError(f"expected a number for the option {name}, got {text!r}") from None


def _query_of(options: Mapping[str, str]) -> str:
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


class _Writer(api.DataSourceArrowWriter):
    """Writes a DataFrame: tasks write files out of sight, the commit puts them in place."""

    def __init__(self, writing: _Writing, *, overwrite: bool) -> None:
        modes = {"overwrite", "overwrite-partitions"} if overwrite else {"append", "error", "ignore", "overwrite-partitions"}
        mode = writing.mode or ("overwrite" if overwrite else "append")
        if mode not in modes:
            raise UnsupportedTypeError(
                f"expected the option mode to be one of {', '.join(sorted(modes))}, got {mode!r}",
                hint="what Spark calls the mode is overwrite or append, beside this option",
            )
        self.job = WriteJob(None, writing.table, mode)  # type: ignore[arg-type]
        plan = writing.settings.plan or self.job.recorded_plan()
        self.writing = dataclasses.replace(writing, settings=dataclasses.replace(writing.settings, plan=plan))
        self.job.check(writing.parsing.schema, self.writing.settings)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> api.WriterCommitMessage:
        if self.job.is_ignored:
            return _Message([])
        return _Message([(self.job.job, self.writing.write(self.job.job, iterator, partition_number()))])

    def commit(self, messages: list[api.WriterCommitMessage | None]) -> None:
        if not self.job.is_ignored:
            plan = self.writing.settings.plan
            assert plan is None or isinstance(plan, Plan)
            self.job.commit([part for _, part in _parts_of(messages)], self.writing.parsing.schema, self.writing.settings, plan)

    def abort(self, messages: list[api.WriterCommitMessage | None]) -> None:
        self.job.table.abort(self.job.job)


class _StreamWriter(api.DataSourceStreamArrowWriter):
    """Writes a stream, batch by batch; a batch that comes again replaces its own files."""

    def __init__(self, writing: _Writing, query: str) -> None:
        self.query = query
        self.table = writing.table
        self.job = Job.begin()
        recorded = writing.table.plan()
        plan = writing.settings.plan or (None if recorded is None else Plan.from_json(recorded))
        self.writing = dataclasses.replace(writing, settings=dataclasses.replace(writing.settings, plan=plan))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> api.WriterCommitMessage:
        return _Message([(self.job, self.writing.write(self.job, iterator, partition_number()))])

    def commit(self, messages: list[api.WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        plan = self.writing.settings.plan
        commit_batch(self.table, self.query, batchId, _parts_of(messages) or [(self.job, Part())], None if plan is None else plan.to_json())

    def abort(self, messages: list[api.WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        for job in {self.job, *(job for job, _ in _parts_of(messages))}:
            self.table.abort(job)


class _StagedWriter(api.DataSourceStreamArrowWriter):
    """Commits what `write_stream` has written: its rows say which files there are. A plan follows from what was counted."""

    def __init__(self, options: Mapping[str, str]) -> None:
        given = _checked(options, _WRITE_OPTIONS)
        self.table = DirectoryTable(Folder.at(given["path"]))
        self.query = _query_of(options)
        self.evolves = given.get("evolve") == "true"
        self.given = given.get("plan")

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
        found = {name: folded(merged([part.profiles[name] for part in parts if name in part.profiles]), MOST_NAMES) for name in names}
        if text is None:
            return Plan.from_profiles(found).to_json() if found else None
        if not self.evolves:
            return text
        before = Plan.from_json(text)
        return before.evolve({name: profile for name, profile in found.items() if name in before.columns})[0].to_json()

    def abort(self, messages: list[api.WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        for job in {job for job, _ in _parts_of(messages)}:
            self.table.abort(job)


def commit_batch(table: DirectoryTable, query: str, batch: int, parts: Sequence[tuple[Job, Part]], plan: str | None) -> None:
    """Put the files of a batch of a stream in place, instead of those that it had when it was committed before."""
    table.recover()
    mark = f"-{query}-{batch}-"
    job = parts[0][0]
    files: list[StagedFile] = []
    for begun, part in parts:
        for file in part.quarantine:
            number_lines(table.folder, file, {})
        for file in (*part.files, *part.quarantine):
            files.append(dataclasses.replace(file, path=file.path.replace(f"-{begun.token}-", mark)))
    table.commit(job, files, "batch", batch=mark, plan=plan)
    for other in {begun for begun, _ in parts} - {job}:
        table.abort(other)
