"""One row group being read: the columns of a predicate first, then those of the result, of matching rows."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from varquet.columns.arrow import VARIANT
from varquet.errors import VarquetError
from varquet.layouts.casts import cast_value
from varquet.layouts.map_entries import lookup
from varquet.parquet.dense import Dense
from varquet.queries.access import Access, Need, down, need_of, null_test, read_access, read_dense
from varquet.queries.binding import is_null_test, made_table
from varquet.queries.evaluate import evaluate
from varquet.queries.expressions import Operand, Predicate, operands_of
from varquet.queries.map_access import MapAccess, map_need, read_map
from varquet.queries.opened import OpenedFile
from varquet.queries.statistics import adds_nothing, holds_nothing

__all__ = ["GroupReading", "Key", "columns_of_run"]

Key: TypeAlias = "tuple[Any, ...]"


class GroupReading:
    """One row group being read: what was read of it so far."""

    def __init__(
        self, file: OpenedFile, group: int, rows: int, default: str | None, type_of: Callable[[Operand], pa.DataType | None]
    ) -> None:
        self.default = default
        self.type_of = type_of
        self.file = file
        self.group = group
        self.rows = rows
        self.about = file.metadata.row_group(group)
        self.read: dict[str, pa.Array] = {}
        self.read_leaves: frozenset[int] = frozenset()
        self.names: dict[tuple[int, bool], pa.Array] = {}
        self.dense: dict[int, Dense | None] = {}
        self.made: dict[Key, pa.Array | None] = {}

    def need(self, access: Access | MapAccess, operand: Operand, *, as_null_test: bool = False) -> Need:
        if isinstance(access, MapAccess):
            return map_need(access, self.about)
        has_residual = access.value is not None and not adds_nothing(self.about, access, operand.type)
        has_typed = not (access.is_primitive and len(access.typed) == 1 and holds_nothing(self.about, access.typed[0]))
        return need_of(access, operand.type, has_residual=has_residual, has_typed=has_typed, as_null_test=as_null_test)

    def mask(self, predicate: Predicate) -> pa.Array:
        """Which rows a predicate is true of."""
        default = self.default
        wanted: dict[Key, tuple[Access | MapAccess, Need]] = {}
        values: dict[Key, pa.Array] = {}
        for operand in operands_of(predicate):
            access = self.file.access(operand, default)
            if access is None or operand.key in wanted or operand.key in values:
                continue
            need = self.need(access, operand, as_null_test=is_null_test(operand))
            made = self.whole(operand, access, need)
            if made is None:
                wanted[operand.key] = access, need
            else:
                values[operand.key] = made
        self.read_leaves = frozenset().union(*(need.leaves for _, need in wanted.values()))
        self.read = self.file.read(self.group, self.read_leaves)

        def values_of(operand: Operand) -> pa.Array:
            if operand.key not in values:
                if operand.key not in wanted:
                    values[operand.key] = self.constant(operand)
                else:
                    access, need = wanted[operand.key]
                    if is_null_test(operand) and isinstance(access, Access):
                        metadata = functools.partial(self.metadata, access, None)
                        values[operand.key] = null_test(access, need, self.read, self.rows, metadata)
                    else:
                        values[operand.key] = self.array(operand, access, need, self.read, None)
            return values[operand.key]

        return pc.fill_null(evaluate(predicate, values_of), False)

    def whole(self, operand: Operand, access: Access | MapAccess, need: Need) -> pa.Array | None:
        """The values of an operand in all rows, by reading its leaves without their nulls; None if that cannot be done."""
        if operand.type is None or not need.leaves or not isinstance(access, Access) or not access.has_own_leaves:
            return None
        if operand.key not in self.made:
            metadata = functools.partial(self.metadata, access, None)
            with self.located(operand):
                self.made[operand.key] = read_dense(access, operand.type, need, self.leaf, self.rows, metadata)
        return self.made[operand.key]

    def leaf(self, leaf: int, kind: pa.DataType) -> Dense | None:
        """A leaf without its nulls, read once."""
        if leaf not in self.dense:
            self.dense[leaf] = self.file.dense([self.group], leaf, kind)
        return self.dense[leaf]

    @contextlib.contextmanager
    def located(self, operand: Operand) -> Iterator[None]:
        """What fails here says of which operand, file and row group."""
        try:
            yield
        except VarquetError as error:
            error.message = f"{operand.text()} of {self.file.path!r}, row group {self.group}: {error.message}"
            raise

    def metadata(self, access: Access, chosen: npt.NDArray[np.int64] | None) -> pa.Array:
        """The metadata of a Variant column, of all rows or of those that are chosen; read once."""
        assert access.metadata is not None
        key = (access.metadata, chosen is None)
        if key not in self.names:
            leaves = frozenset((access.metadata,))
            columns = self.file.read(self.group, leaves) if chosen is None else self.file.read_rows(self.group, leaves, chosen)
            self.names[key] = down(columns[access.column[0]], (*access.column[1:], "metadata"))
        return self.names[key]

    def array(
        self,
        operand: Operand,
        access: Access | MapAccess,
        need: Need,
        columns: Mapping[str, pa.Array],
        chosen: npt.NDArray[np.int64] | None,
    ) -> pa.Array:
        """The values of an operand, in all rows or in those that are chosen, which the columns have."""
        rows = self.rows if chosen is None else len(chosen)
        with self.located(operand):
            if isinstance(access, MapAccess) and access.whole:
                maps = down(self.put_together(access.column[0], columns), access.column[1:])
                made = cast_value(lookup(maps, access.key), operand.type)
            elif isinstance(access, MapAccess):
                made = read_map(access, operand.type, need, columns, rows)
            elif operand.path is None:
                made = self.put_together(access.column[0], columns)
            else:
                made = read_access(access, operand.type, need, columns, rows, functools.partial(self.metadata, access, chosen))
        if operand.path is None and operand.type is not None and made.type != operand.type:
            return made.cast(operand.type)
        return made

    def put_together(self, name: str, columns: Mapping[str, pa.Array]) -> pa.Array:
        """A column with the Variants and maps in it put together, if there are any."""
        stored = {one: columns[one] for one in self.file.open.columns_of(name)}
        return self.file.open.put_together(pa.record_batch(stored), 0).column(0)

    def constant(self, operand: Operand) -> pa.Array:
        """A partition's value, or nothing, for every row."""
        kind = operand.type or self.type_of(operand)
        if operand.path is None and operand.column in self.file.partitions:
            return pa.repeat(pa.scalar(self.file.partitions[operand.column], kind), self.rows)
        return pa.nulls(self.rows, VARIANT if kind is None else kind)

    def columns(self, select: Mapping[str, Operand], mask: pa.Array | None) -> list[pa.Array]:
        """The columns of the result, of the rows that are wanted."""
        default = self.default
        accesses = {name: self.file.access(operand, default) for name, operand in select.items()}
        needs = {name: self.need(access, select[name]) for name, access in accesses.items() if access is not None}
        chosen = None if mask is None else np.flatnonzero(np.asarray(mask))
        whole = {name: self.known(select[name], access, needs[name], chosen) for name, access in accesses.items() if access is not None}
        unread = [need.leaves for name, need in needs.items() if whole[name] is None and not need.leaves <= self.read_leaves]
        missing = frozenset().union(*unread)
        fresh = self.file.read(self.group, missing) if chosen is None else self.file.read_rows(self.group, missing, chosen)
        rows = self.rows if chosen is None else len(chosen)
        known: dict[str, pa.Array] | None = None
        made: list[pa.Array] = []
        for name, operand in select.items():
            access = accesses[name]
            if access is None:
                constant = self.constant(operand)
                made.append(constant.slice(0, rows))
                continue
            if whole[name] is not None:
                made.append(whole[name])
                continue
            if needs[name].leaves <= self.read_leaves:
                if known is None:
                    known = self.read if chosen is None else {one: column.take(pa.array(chosen)) for one, column in self.read.items()}
                columns = known
            else:
                columns = fresh
            made.append(self.array(operand, access, needs[name], columns, chosen))
        return made

    def known(self, operand: Operand, access: Access | MapAccess, need: Need, chosen: npt.NDArray[np.int64] | None) -> pa.Array | None:
        """The values of an operand, if its leaves can be read without their nulls, or for a choice of rows have been read so already."""
        if chosen is None:
            return self.whole(operand, access, need)
        if not all(self.dense.get(leaf) is not None for leaf in need.leaves):
            return None
        made = self.whole(operand, access, need)
        return None if made is None else made.take(pa.array(chosen))

    def everything(self, mask: pa.Array | None, schema: pa.Schema) -> pa.Table:
        """All columns, Variants put together, of the rows that are wanted."""
        open_file = self.file.open
        leaves = frozenset(range(self.file.metadata.num_columns))
        if mask is None:
            rows, columns = self.rows, self.file.read(self.group, leaves)
        else:
            rows, columns = int(mask.true_count), self.file.read_rows(self.group, leaves, np.flatnonzero(np.asarray(mask)))
        whole = open_file.put_together(pa.record_batch({name: columns[name] for name in open_file.physical.names}), 0)
        made: list[pa.Array] = []
        for one in schema:
            if whole.schema.get_field_index(one.name) >= 0:
                made.append(whole.column(one.name))
            else:
                made.append(self.constant(Operand(None, one.name, one.type)).slice(0, rows))
        return made_table(made, schema, rows)


def columns_of_run(readings: Sequence[GroupReading], select: Mapping[str, Operand]) -> list[pa.Array] | None:
    """The columns of the result, of several row groups at once; None if not all of them can be read without their nulls."""
    first = readings[0]
    rows = sum(reading.rows for reading in readings)
    wanted: list[tuple[Access, pa.DataType, Need]] = []
    for operand in select.values():
        access = first.file.access(operand, first.default)
        if operand.type is None or not isinstance(access, Access) or not access.has_own_leaves:
            return None
        needs = {reading.need(access, operand) for reading in readings}
        need = needs.pop()
        # Texts are made of objects as well, whose names each row group has for itself.
        if needs or not all(map(first.file.may_be_dense, need.leaves)) or (need.reads_residual and pa.types.is_string(operand.type)):
            return None
        wanted.append((access, operand.type, need))
    dense: dict[int, Dense | None] = {}

    def leaf(number: int, kind: pa.DataType) -> Dense | None:
        if number not in dense:
            dense[number] = first.file.dense([reading.group for reading in readings], number, kind)
        return dense[number]

    def names() -> pa.Array:
        raise AssertionError("expected values that have no names")

    made: list[pa.Array] = []
    for access, kind, need in wanted:
        try:
            column = read_dense(access, kind, need, leaf, rows, names)
        except VarquetError:
            return None  # read one by one, they will tell in which row group that is
        if column is None:
            return None
        made.append(column)
    return made
