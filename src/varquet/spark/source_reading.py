"""How the data source reads: files, or parts of large ones, by queries of varquet in Python workers."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import datasource as api
from pyspark.sql.types import StructType

from varquet.errors import UnsupportedTypeError, VarquetError
from varquet.layouts.map_keys import maps_of_options
from varquet.profiles.plan import ColumnPlan, Plan
from varquet.queries.dataset import Dataset, FoundFile, find_dataset
from varquet.queries.expressions import IsNull, Not, Operand, Predicate, Query
from varquet.queries.grammar import parse_predicate
from varquet.queries.in_files import FilesSource
from varquet.queries.scanning import Scan
from varquet.spark.arrow import arrow_schema_of, as_spark_batch
from varquet.spark.source_options import checked_options, listed

__all__ = ["Reader", "Reading", "read_scan"]

# So much of a file is read by one task, if it has several row groups.
_TASK_BYTES: Final = 128 << 20
_OPTIONS: Final = {"path", "select", "where", "column", "version", "timestamp", "files"}


@dataclass(frozen=True, slots=True)
class Reading:
    """What is to be read."""

    path: str
    select: Mapping[str, str] | Sequence[str] | None
    where: str | None
    column: str | None
    version: int | None = None
    timestamp: str | None = None
    only: frozenset[str] | None = None
    """The paths of the files that are read, where that is not all of them."""
    plan: Plan | None = None
    """The hot keys of maps, for files that do not say which they are."""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Reading:
        given = checked_options(options, _OPTIONS)
        select = given.get("select")
        where = given.get("where")
        if where is not None:
            parse_predicate(where)
        maps = {name: ColumnPlan.of_keys(keys) for name, keys in maps_of_options(given, ignores_case=True).items()}
        version = given.get("version")
        if version is not None and not version.isdigit():
            raise UnsupportedTypeError(f"expected the number of a version, got {version!r}")
        return cls(
            given["path"],
            None if select is None else listed(select),
            where,
            given.get("column"),
            None if version is None else int(version),
            given.get("timestamp"),
            frozenset(listed(given["files"])) if "files" in given else None,
            Plan(maps) if maps else None,
        )

    def scan(self, dataset: Dataset | None = None, names: Sequence[str] | None = None, pushed: Sequence[Predicate] = ()) -> Scan:
        """The query, of some of the files and columns."""
        made = Scan(FilesSource(self.dataset() if dataset is None else dataset, self.column, self.plan), Query(), 1)
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

    def dataset(self) -> Dataset:
        """The files, as they are now or were at a version."""
        found = find_dataset(self.path, version=self.version, timestamp=self.timestamp)
        if self.only is None:
            return found
        return dataclasses.replace(found, files=[one for one in found.files if one.file.path in self.only])


class _PushFilters:
    """Takes the filters that Spark pushes, if the session lets it; and otherwise looks to Spark as if there were nothing to take.

    Spark refuses readers that have a `pushFilters` of their own while the session does not push, and no option tells them.
    """

    def __init__(self, reader: Reader) -> None:
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


def _cut(number: int, found: FoundFile) -> list[_Groups]:
    """The tasks for one file: a large one is read by several."""
    size = found.file.size() if found.size is None else found.size
    if size <= _TASK_BYTES:
        return [_Groups(number)]
    groups = found.file.metadata().num_row_groups
    count = min(groups, -(-size // _TASK_BYTES))
    return [_Groups(number, range(groups * k // count, groups * (k + 1) // count)) for k in range(count)]


class Reader(api.DataSourceReader):
    """Reads files by queries of varquet."""

    def __init__(self, reading: Reading, schema: StructType) -> None:
        self.reading = reading
        self.names = schema.fieldNames()
        self.arrow = arrow_schema_of(schema)
        self.dataset = reading.dataset()
        self.pushed: list[Predicate] = []
        self.pushFilters = _PushFilters(self)  # type: ignore[method-assign]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "pushFilters"}

    def partitions(self) -> Sequence[api.InputPartition]:
        wanted = self.reading.scan(self.dataset, self.names, self.pushed).files_that_may_match()
        return [task for number in wanted for task in _cut(number, self.dataset.files[number])]

    def read(self, partition: api.InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Groups)
        dataset = self.dataset
        if dataset.schema is not None:
            found = [dataclasses.replace(dataset.files[partition.file], groups=partition.groups)]
        else:
            # All files are asked for their columns: one that this file has not got is null here, and no mistake.
            found = [
                dataclasses.replace(one, groups=partition.groups if k == partition.file else range(0))
                for k, one in enumerate(dataset.files)
            ]
        return read_scan(self.reading.scan(dataclasses.replace(dataset, files=found), self.names, self.pushed), self.arrow)


def read_scan(made: Scan, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a query as Spark wants them."""
    for batch in made.batches():
        yield as_spark_batch(batch, schema)
