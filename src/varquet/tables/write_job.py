"""What all jobs that write a table have in common: modes, plans, the commit, the report."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, get_args

import pyarrow as pa

from varquet.errors import UnsupportedTypeError
from varquet.layouts.map_keys import MapKeys
from varquet.parquet.sources import FIRST_REFUSED, Refused
from varquet.profiles.plan import Change, ColumnPlan, Plan
from varquet.queries.expressions import Operand
from varquet.queries.grammar import parse_operand
from varquet.queries.scanning import name_of
from varquet.schema import ShreddingSchema
from varquet.tables.base import QUARANTINE, Commit, Replace, StagedFile, Table, TableSchema
from varquet.tables.jobs import Job, end
from varquet.tables.quarantine import number_lines
from varquet.tables.writing import Key, Settings, TableWriter

__all__ = ["Keys", "Mode", "OnError", "Part", "PlanLike", "Report", "WriteJob", "check_on_error", "named_columns", "plan_of", "settings_of"]

Mode: TypeAlias = Literal["append", "overwrite", "overwrite-partitions", "error", "ignore"]
OnError: TypeAlias = Literal["quarantine", "fail", "null"]
PlanLike: TypeAlias = "Plan | Mapping[str, ShreddingSchema | str | MapKeys | Sequence[str]]"
Each: TypeAlias = "Callable[[Callable[[int], Any], int, str], Any]"
Keys: TypeAlias = "str | Operand | Sequence[str | Operand] | Mapping[str, str | Operand]"

_REPLACED: Final[dict[str, Replace]] = {"append": "nothing", "error": "nothing", "overwrite": "all", "overwrite-partitions": "partitions"}


@dataclass(slots=True)
class Part:
    """What one task has done."""

    files: list[StagedFile] = field(default_factory=list)
    quarantine: list[StagedFile] = field(default_factory=list)
    size: int = 0
    """The bytes of the source that it has read."""
    nulls: int = 0
    """The texts that are not JSON and have become SQL NULLs."""
    first_refused: list[tuple[int, Refused]] = field(default_factory=list)
    """With the split in which lines are numbered; -1 if they are not."""
    lines: dict[tuple[int, int], int] = field(default_factory=dict)
    """How many lines there are by the numbers of a file and of a split of it."""
    profiles: dict[str, bytes] = field(default_factory=dict)
    schema: TableSchema | None = None
    """The columns of its rows."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a job has done."""

    path: str
    rows: int
    files: int
    bytes_in: int
    bytes_out: int
    seconds: float
    plan: Plan
    replaced_files: int = 0
    changes: list[Change] = field(default_factory=list)
    """What the job has changed of the table's plan."""
    quarantined: int = 0
    quarantine: str | None = None
    """Where the records are that are no JSON, if there are any."""
    nulls: int = 0
    """The records that are no JSON and were written as SQL NULLs."""
    first_refused: list[str] = field(default_factory=list)
    typed: dict[str, float] = field(default_factory=dict)
    """For each shredded path outside of arrays: what share of its values is in its typed column."""

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        data = {one.name: getattr(self, one.name) for one in dataclasses.fields(self) if one.name not in ("plan", "changes")}
        return {
            **data,
            "seconds": round(self.seconds, 3),
            "schemas": {name: column.schema.ddl() for name, column in self.plan.columns.items()},
            "changes": [dataclasses.asdict(change) for change in self.changes],
        }

    def lines(self) -> list[tuple[str, str]]:
        """The report for people: labels and texts."""
        speed = self.bytes_in / 1e6 / max(self.seconds, 1e-9)
        read = [("read", f"{self.bytes_in:,} bytes")] if self.bytes_in else []
        mixed = {path: share for path, share in self.typed.items() if share < 1}
        columns = [(f"column {name}", column.schema.ddl() or "unshredded") for name, column in self.plan.columns.items()]
        return [
            ("table", self.path),
            ("rows", f"{self.rows:,} in {self.files:,} file{'' if self.files == 1 else 's'}"),
            *read,
            ("written", f"{self.bytes_out:,} bytes"),
            *([("replaced", f"{self.replaced_files:,} files")] if self.replaced_files else []),
            ("time", f"{self.seconds:.2f} s" + (f", {speed:,.0f} MB/s" if read else "")),
            *columns,
            *((change.kind, f"{change.path} {change.after or change.before}: {change.reason}") for change in self.changes),
            *((f"typed {path}", f"{share:.1%}, the others are in the residual") for path, share in sorted(mixed.items())),
            *([("quarantine", f"{self.quarantined:,} not JSON, in {self.quarantine}")] if self.quarantined else []),
            *([("nulls", f"{self.nulls:,} texts that are not JSON became SQL NULL")] if self.nulls else []),
            *(("", text) for text in self.first_refused),
        ]


class WriteJob:
    """One job that writes a table: begun, run by tasks, committed; or aborted, which leaves the table as it was."""

    def __init__(self, table: Table, mode: Mode, each: Each | None = None) -> None:
        """Begin one.

        Args:
            each: runs a task for the numbers below a count, wherever that is done; one after the other in this process by default.
        """
        if mode not in (*_REPLACED, "ignore"):
            raise UnsupportedTypeError(f"expected a mode, got {mode!r}", hint=f"they are {', '.join((*_REPLACED, 'ignore'))}")
        self.each = each
        self.table = table
        self.mode = mode
        self.started = time.monotonic()
        self.job = table.begin()
        self.has_data = table.has_data()
        if mode == "error" and self.has_data:
            raise UnsupportedTypeError(
                f"expected a new table, got {table.folder.path}, which has files",
                hint="mode='append' adds to it, mode='overwrite' replaces it",
            )

    def restart(self) -> None:
        """Drop what tasks have written so far, and begin once more."""
        self.table.abort(self.job)
        self.job = self.table.begin()
        self.table.open(self.job)

    @property
    def is_ignored(self) -> bool:
        """Whether there is nothing to do."""
        return self.mode == "ignore" and self.has_data

    def nothing(self) -> Report:
        """The report of a job that had nothing to do."""
        text = self.table.plan()
        plan = Plan({}) if text is None else Plan.from_json(text)
        return Report(self.table.folder.path, 0, 0, 0, 0, time.monotonic() - self.started, plan)

    def recorded_plan(self) -> Plan | None:
        """The plan of the table, if rows are added to it."""
        text = self.table.plan() if self.mode in ("append", "overwrite-partitions") else None
        return None if text is None else Plan.from_json(text)

    def check(self, schema: pa.Schema, settings: Settings) -> None:
        """An error if rows of a schema do not fit to what is in the table already."""
        self.table.check(settings.columns(schema), settings.layout, is_replaced=self.mode == "overwrite")

    def run(
        self, work: Callable[[Job], list[Part]], schema: pa.Schema, settings: Settings, plan: Plan, changes: Sequence[Change] = ()
    ) -> Report:
        """Let tasks write, and commit what they have written."""
        with self.aborted_on_error():
            return self.commit(work(self.job), schema, settings, plan, changes)

    @contextlib.contextmanager
    def aborted_on_error(self) -> Iterator[None]:
        """Whatever goes wrong within this leaves the table as it was."""
        try:
            self.table.open(self.job)
            yield
        except BaseException:
            self.table.abort(self.job)
            raise

    def put(self, files: Sequence[StagedFile], plan: Plan | None, schema: TableSchema | None = None) -> list[str]:
        """Put files in place, as the mode says; the paths of those that went for them."""
        recorded = None if plan is None else plan.to_json()
        replaced = self.table.commit(self.job, Commit(files, _REPLACED.get(self.mode, "nothing"), schema, plan=recorded))
        end(self.job)
        return replaced

    def commit(
        self, parts: Sequence[Part], schema: pa.Schema, settings: Settings, plan: Plan | None, changes: Sequence[Change] = ()
    ) -> Report:
        """Put what tasks have written in place."""
        quarantine = [file for part in parts for file in part.quarantine]
        before = _lines_before(parts)
        if quarantine:
            # Lines have numbers within their splits: now that all of them are counted, they get those within their files.
            task = functools.partial(_number_lines, self.table, quarantine, before)
            if self.each is None:
                for number in range(len(quarantine)):
                    task(number)
            else:
                self.each(task, len(quarantine), "number the lines in quarantine")
        files = [file for part in parts for file in part.files]
        is_new = not self.has_data or self.mode == "overwrite"
        if not files and not settings.partition_by and is_new and not self.table.keeps_schema:
            # So that whoever reads the table knows its columns.
            writer = TableWriter(self.table, self.job, schema, settings, keeps_empty=True)
            writer.write(pa.RecordBatch.from_pylist([], schema=schema))
            files = writer.close()
        replaced = self.put([*files, *quarantine], plan, settings.columns(schema))
        refused = [
            one if one.line is None else dataclasses.replace(one, line=one.line + before.get(split, 0))
            for part in parts
            for split, one in part.first_refused
        ]
        return Report(
            self.table.folder.path,
            sum(file.rows for file in files),
            len(files),
            sum(part.size for part in parts),
            sum(file.size for file in files),
            time.monotonic() - self.started,
            plan or Plan({}),
            len(replaced),
            list(changes),
            sum(file.rows for file in quarantine),
            self.table.folder.full(QUARANTINE) if quarantine else None,
            sum(part.nulls for part in parts),
            [str(one.error()) for one in refused[:FIRST_REFUSED]],
            _typed_shares(files),
        )


def _lines_before(parts: Sequence[Part]) -> dict[int, int]:
    """How many lines of its file are before each split."""
    counts = {place: count for part in parts for place, count in part.lines.items()}
    before: dict[int, int] = {}
    sums: dict[int, int] = {}
    for (file, split), count in sorted(counts.items()):
        before[split] = sums.get(file, 0)
        sums[file] = before[split] + count
    return before


def _number_lines(table: Table, files: Sequence[StagedFile], before: Mapping[int, int], number: int) -> None:
    number_lines(table.folder, files[number], before)


def _typed_shares(files: Iterable[StagedFile]) -> dict[str, float]:
    sums: dict[str, list[int]] = {}
    for file in files:
        for path, (typed, beside) in file.counts.items():
            both = sums.setdefault(path, [0, 0])
            both[0] += typed
            both[1] += beside
    return {path: typed / (typed + beside) for path, (typed, beside) in sums.items() if typed + beside}


def check_on_error(on_error: str) -> None:
    """An error for a word that does not say what becomes of bad records."""
    if on_error not in get_args(OnError):
        raise UnsupportedTypeError(f"expected what to do with bad records, got {on_error!r}", hint="quarantine, fail or null")


def plan_of(given: PlanLike) -> Plan:
    """A plan, or schemas and hot keys by column as one."""
    return given if isinstance(given, Plan) else Plan({name: _column_plan(one) for name, one in given.items()})


def _column_plan(given: ShreddingSchema | str | MapKeys | Sequence[str]) -> ColumnPlan:
    if isinstance(given, str):
        return ColumnPlan(ShreddingSchema.parse(given))
    return ColumnPlan(given) if isinstance(given, ShreddingSchema) else ColumnPlan.of_keys(given)


def named_columns(plan: Plan | None, json_columns: Sequence[str], map_columns: Sequence[str]) -> tuple[list[str], list[str]]:
    """The columns that become Variants, and those that stay maps with hot keys; a plan names some of both."""
    planned = Plan({}) if plan is None else plan
    maps = dict.fromkeys((*map_columns, *planned.maps))
    return [*dict.fromkeys((*json_columns, *planned.schemas))], [*maps]


def settings_of(schema: pa.Schema, variants: Sequence[str], partition_by: Keys, sort_by: Keys, **others: Any) -> Settings:
    """How files of rows of a schema are written; `others` are as Settings has them."""
    return Settings(
        partition_by=keys_of(partition_by, schema, variants, needs_type=False),
        sort_by=keys_of(sort_by, schema, variants, needs_type=True),
        **others,
    )


def keys_of(keys: Keys, schema: pa.Schema, variants: Sequence[str], *, needs_type: bool) -> tuple[Key, ...]:
    """What rows are partitioned or sorted by: names of columns, or paths of Variants with types, as "$.user.id bigint"."""
    if isinstance(keys, (str, Operand)):
        keys = [keys]
    named = keys.items() if isinstance(keys, Mapping) else ((None, key) for key in keys)
    found: list[Key] = []
    for name, key in named:
        operand = parse_operand(key) if isinstance(key, str) else key
        if operand.path is None:
            column = operand.column or ""
            if column not in schema.names or column in variants:
                raise UnsupportedTypeError(
                    f"expected the name of a column that is no Variant, got {column!r}", hint="paths begin with $, as $.type string"
                )
            found.append(Key(name or column, column, None, operand.type))
            continue
        if operand.column is None and len(variants) != 1:
            raise UnsupportedTypeError(
                f"expected {operand.text()} to name its column, got several: {', '.join(variants)}", hint=f"write column:{operand.text()}"
            )
        if needs_type and operand.type is None:
            raise UnsupportedTypeError(
                f"expected a type for {operand.text()}, got none", hint=f"write {operand.text()} bigint, or the like"
            )
        found.append(Key(name or name_of(operand), operand.column or variants[0], operand.path, operand.type))
    return tuple(found)
