"""`optimize` and `delete`: files of a Delta table become other ones, or go."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow.compute as pc

from varquet.columns.threads import thread_count
from varquet.delta.actions import Add
from varquet.delta.snapshot import Snapshot
from varquet.delta.transactions import Change, commit
from varquet.errors import UnsupportedTypeError
from varquet.parquet.folder import Folder
from varquet.parquet.footer import SCHEMA_KEY
from varquet.parquet.positions import find_variants
from varquet.parquet.writer import ROW_GROUP_ROWS
from varquet.profiles.plan import Plan
from varquet.profiles.profiling import profile
from varquet.queries.dataset import Dataset, found_file, snapshot_dataset
from varquet.queries.expressions import And, IsNull, Operand, Or, Predicate, Query
from varquet.queries.grammar import parse_predicate, predicate_text
from varquet.queries.in_files import BoundFiles, FilesSource
from varquet.queries.outcomes import TRUE
from varquet.queries.scanning import Scan
from varquet.tables.base import StagedFile
from varquet.tables.delta.table import DeltaTable, new_file, with_plan
from varquet.tables.jobs import Job
from varquet.tables.write_job import Keys, PlanLike, keys_of, plan_of
from varquet.tables.writing import FILE_BYTES, Key, Settings, TableWriter

__all__ = ["Rewritten", "delete", "optimize"]

# Files of this share of the wanted size are large enough.
_LARGE: Final = 0.75
# Rows are clustered by ranges of about so many bytes of files, each of which is sorted in memory.
_SORTED_TIMES: Final = 8
_ENOUGH_ROWS: Final = 16_384


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What has become of files."""

    path: str
    version: int
    removed_files: int
    added_files: int
    removed_bytes: int
    added_bytes: int
    rows: int

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


def optimize(
    path: str | os.PathLike[str],
    plan: PlanLike | None = None,
    *,
    sort_by: Keys = (),
    file_bytes: int = FILE_BYTES,
    reshred: bool = False,
    row_group_rows: int = ROW_GROUP_ROWS,
    compression: str = "zstd",
    filesystem: Any = None,
    threads: int | None = None,
) -> Rewritten:
    """Write the small files of a Delta table together into larger ones, by its current plan. Its rows stay the same.

    Args:
        path: the table's folder.
        plan: another plan, which the table has from now on.
        sort_by: columns or paths with types, as "$.user.id bigint", by which all rows of a partition are put in order, so that
            statistics tell which files have what; then all files are written anew.
        file_bytes: how large files should be, about.
        reshred: also write files anew that were shredded by another plan.
        row_group_rows, compression: as for `varquet.write`.
        filesystem: one of pyarrow or fsspec in which the path is.
        threads: how many threads to use; by default VARQUET_THREADS or all cores.
    """
    table = DeltaTable(Folder.at(path, filesystem))
    job = table.begin()
    snapshot = table.seen()
    whole = _dataset(snapshot)
    recorded = table.plan()
    schema = whole.schema
    assert schema is not None
    variants = [position[0] for position in find_variants(schema) if len(position) == 1]
    wanted = plan_of(plan) if plan is not None else _plan_of_rows(whole, variants) if recorded is None else Plan.from_json(recorded)
    keys = keys_of(sort_by, schema, variants, needs_type=True)
    settings = Settings(
        table.allowed(wanted) or Plan({}),
        tuple(Key(name, name) for name in whole.partition_columns),
        keys,
        file_bytes=file_bytes,
        sorted_bytes=file_bytes * _SORTED_TIMES,
        compression=compression,
        row_group_rows=row_group_rows,
        threads=thread_count(threads),
    )
    bins = _bins(table, snapshot, settings, is_sorted=bool(keys), reshred=reshred)
    gone = [add for group in bins for add in group]
    try:
        table.open(job)
        made = [file for group in bins for file in _rewrite(table, job, whole, group, settings, threads)]
        after = _replace(snapshot, gone, made, None if plan is None else wanted, keys)
    except BaseException:
        table.abort(job)
        raise
    table.staging.close(job)
    return Rewritten(
        table.folder.path,
        after.version,
        len(gone),
        len(made),
        sum(add.size for add in gone),
        sum(file.size for file in made),
        sum(file.rows for file in made),
    )


def _plan_of_rows(whole: Dataset, variants: Sequence[str]) -> Plan:
    """A plan for a table that has none, by its first rows."""
    rows = Scan(FilesSource(whole, None, None), Query()).select({name: Operand(None, name) for name in variants})
    found = rows.limit(_ENOUGH_ROWS).table() if variants else None
    return Plan({}) if found is None else Plan.from_profiles({name: profile(found[name]) for name in variants})


def _dataset(snapshot: Snapshot) -> Dataset:
    if not snapshot.exists:
        raise UnsupportedTypeError(f"expected a Delta table, got {snapshot.folder.path}, which is none")
    return snapshot_dataset(snapshot)


def _bins(table: DeltaTable, snapshot: Snapshot, settings: Settings, *, is_sorted: bool, reshred: bool) -> list[list[Add]]:
    """The files that are written anew, those together that become one file or a few."""
    by_partition: dict[tuple[tuple[str, str | None], ...], list[Add]] = {}
    for add in sorted(snapshot.files.values(), key=lambda add: add.path):
        by_partition.setdefault(tuple(sorted(add.partition_values.items())), []).append(add)
    if is_sorted:
        return list(by_partition.values())

    def must(add: Add) -> bool:
        return add.deletion_vector is not None or (reshred and not _is_shredded_by(table.folder, add, settings.plan))

    bins: list[list[Add]] = []
    for files in by_partition.values():
        open_bins: list[list[Add]] = []
        sizes: list[int] = []
        for add in sorted(files, key=lambda add: -add.size):
            if add.size >= settings.file_bytes * _LARGE and not must(add):
                continue
            room = next((k for k, size in enumerate(sizes) if size + add.size <= settings.file_bytes), None)
            if room is None:
                open_bins.append([add])
                sizes.append(add.size)
            else:
                open_bins[room].append(add)
                sizes[room] += add.size
        bins += [one for one in open_bins if len(one) > 1 or must(one[0])]
    return bins


def _is_shredded_by(folder: Folder, add: Add, plan: Any) -> bool:
    """Whether a file has the columns that a plan wants, as far as its footer says."""
    text = found_file(folder, add).file.footer().key_value_metadata.get(SCHEMA_KEY)
    known = {} if text is None else json.loads(text)
    return all(known.get(name) == schema.writable().ddl() for name, schema in plan.schemas.items())


def _rewrite(
    table: DeltaTable, job: Job, whole: Dataset, files: Sequence[Add], settings: Settings, threads: int | None
) -> Iterator[StagedFile]:
    """Write the rows of some files of one partition to new ones."""
    source = replace(whole, files=[found_file(table.folder, add) for add in files])
    rows = Scan(FilesSource(source, None, None), Query(), threads)
    for part, some in enumerate(_ranges(rows, settings, sum(add.size for add in files))):
        writer = TableWriter(table, job, rows.schema, settings, part)
        try:
            for batch in some.batches():
                writer.write(batch)
            yield from writer.close()
        except BaseException:
            writer.abort()
            raise


def _ranges(rows: Scan, settings: Settings, size: int) -> Iterator[Scan]:
    """The rows in ranges of what they are sorted by, each small enough to be sorted in memory; all of them if they are not sorted."""
    count = -(-size // settings.file_bytes)
    if not settings.sort_by or count < 2:
        yield rows
        return
    key = settings.sort_by[0]
    operand = Operand(key.path, key.column, key.type)
    values = rows.select({"key": operand}).table()["key"].combine_chunks().drop_null()
    order = pc.array_sort_indices(values)
    marks = [values[order[len(order) * k // count].as_py()].as_py() for k in range(1, count)] if len(order) else []
    edges = list(dict.fromkeys(marks))
    for low, high in zip([None, *edges], [*edges, None], strict=True):
        wanted: list[Predicate] = []
        if low is not None:
            wanted.append(operand >= low)
        if high is not None:
            wanted.append(operand < high)
        predicate: Predicate | None = None if not wanted else wanted[0] if len(wanted) == 1 else And(tuple(wanted))
        if high is None and predicate is not None:
            predicate = Or((predicate, IsNull(operand)))
        yield rows if predicate is None else rows.where(predicate)


def _replace(snapshot: Snapshot, gone: Sequence[Add], made: Sequence[StagedFile], plan: Plan | None, sort_by: Sequence[Key]) -> Snapshot:
    """Commit that some files hold the rows of others."""
    if not gone and plan is None:
        return snapshot

    def change(now: Snapshot) -> Change:
        assert now.metadata is not None
        moment = int(time.time() * 1000)
        actions: list[dict[str, Any]] = []
        if plan is not None:
            metadata = with_plan(now.metadata, plan.to_json())
            if metadata != now.metadata:
                actions.append({"metaData": metadata.to_dict()})
        actions += [add.removed(moment, data_change=False) for add in gone]
        actions += [{"add": new_file(file, now.metadata, moment, data_change=False).to_dict()} for file in made]
        metrics = {
            "numRemovedFiles": len(gone),
            "numAddedFiles": len(made),
            "numRemovedBytes": sum(add.size for add in gone),
            "numAddedBytes": sum(file.size for file in made),
        }
        parameters = {"predicate": [], "zOrderBy": [], "sortBy": [_shown(key) for key in sort_by]}
        return Change("OPTIMIZE", actions, parameters, metrics, rests_on=lambda add: False, moves_rows=True)

    return commit(snapshot, change)


def _shown(key: Key) -> str:
    return key.column if key.path is None else f"{key.column}:{key.path}"


def delete(path: str | os.PathLike[str], where: Predicate | str, *, column: str | None = None, filesystem: Any = None) -> Rewritten:
    """Delete the rows of a Delta table of which a predicate is true: of all rows of a file, or of none, since files go as a whole.

    Args:
        path: the table's folder.
        where: the predicate, as for `Scan.where`: on columns, partitions or paths.
        column: the Variant column of paths that name none; the only one by default.
        filesystem: one of pyarrow or fsspec in which the path is.
    """
    table = DeltaTable(Folder.at(path, filesystem))
    snapshot = table.snapshot()
    predicate = parse_predicate(where) if isinstance(where, str) else where
    whole = _dataset(snapshot)
    may_match = _matcher(whole, predicate, column, snapshot.folder)
    gone: list[Add] = []
    rows = 0
    for add in sorted(snapshot.files.values(), key=lambda add: add.path):
        if not may_match(add):
            continue
        one = Scan(FilesSource(replace(whole, files=[found_file(snapshot.folder, add)]), column, None), Query())
        matching, total = one.where(predicate).count(), one.count()
        if matching == total:
            gone.append(add)
            rows += total
        elif matching:
            raise UnsupportedTypeError(
                f"expected a predicate that is true of all rows of a file or of none, got {predicate_text(predicate)}, "
                f"which is true of {matching:,} of {total:,} rows of {add.location}",
                hint="partition the table, or cluster it by optimize with sort_by; Delta's own DELETE writes files anew",
            )
    if not gone:
        return Rewritten(table.folder.path, snapshot.version, 0, 0, 0, 0, 0)

    def change(now: Snapshot) -> Change:
        moment = int(time.time() * 1000)
        return Change(
            "DELETE",
            [add.removed(moment) for add in gone],
            {"predicate": [predicate_text(predicate)]},
            {"numRemovedFiles": len(gone), "numDeletedRows": rows, "numAddedFiles": 0},
            rests_on=may_match,
        )

    after = commit(snapshot, change)
    return Rewritten(table.folder.path, after.version, len(gone), 0, sum(add.size for add in gone), 0, rows)


def _matcher(whole: Dataset, predicate: Predicate, column: str | None, folder: Folder) -> Callable[[Add], bool]:
    """Whether a file can have a row of which a predicate is true, by what the log says of it."""

    def may_match(add: Add) -> bool:
        source = FilesSource(replace(whole, files=[found_file(folder, add)]), column, None)
        return bool(BoundFiles(source, Query(where=predicate, select={})).file_outcomes(0) & TRUE)

    return may_match
