"""One row group being read: the columns of a predicate first, then those of the result, of matching rows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from varquet.columns.arrow import VARIANT
from varquet.errors import VarquetError
from varquet.layouts.casts import cast_value
from varquet.layouts.map_entries import lookup
from varquet.queries.access import Access, Need, down, need_of, null_test, read_access
from varquet.queries.binding import is_null_test, made_table
from varquet.queries.evaluate import evaluate
from varquet.queries.expressions import Operand, Predicate, operands_of
from varquet.queries.map_access import MapAccess, map_need, read_map
from varquet.queries.opened import OpenedFile
from varquet.queries.statistics import adds_nothing, holds_nothing

__all__ = ["GroupReading", "Key"]

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

    def need(self, access: Access | MapAccess, operand: Operand, *, as_null_test: bool = False) -> Need:
        if isinstance(access, MapAccess):
            return map_need(access, self.about)
        has_residual = access.value is not None and not adds_nothing(self.about, access, operand.type)
        has_typed = not (access.is_primitive and len(access.typed) == 1 and holds_nothing(self.about, access.typed[0]))
        return need_of(access, operand.type, has_residual=has_residual, has_typed=has_typed, as_null_test=as_null_test)

    def mask(self, predicate: Predicate) -> pa.Array:
        """Which rows a predicate is true of."""
        default = self.default
        wanted: dict[Key, tuple[Operand, Access | MapAccess, Need]] = {}
        for operand in operands_of(predicate):
            access = self.file.access(operand, default)
            if access is not None and operand.key not in wanted:
                wanted[operand.key] = operand, access, self.need(access, operand, as_null_test=is_null_test(operand))
        self.read_leaves = frozenset().union(*(need.leaves for _, _, need in wanted.values()))
        self.read = self.file.read(self.group, self.read_leaves)
        values: dict[Key, pa.Array] = {}

        def values_of(operand: Operand) -> pa.Array:
            if operand.key not in values:
                if operand.key not in wanted:
                    values[operand.key] = self.constant(operand)
                else:
                    _, access, need = wanted[operand.key]
                    if is_null_test(operand) and isinstance(access, Access):
                        metadata = functools.partial(self.metadata, access, None)
                        values[operand.key] = null_test(access, need, self.read, self.rows, metadata)
                    else:
                        values[operand.key] = self.array(operand, access, need, self.read, None)
            return values[operand.key]

        made = evaluate(predicate, values_of)
        return pc.fill_null(made, False)

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
        try:
            if isinstance(access, MapAccess) and access.whole:
                maps = down(self.put_together(access.column[0], columns), access.column[1:])
                made = cast_value(lookup(maps, access.key), operand.type)
            elif isinstance(access, MapAccess):
                made = read_map(access, operand.type, need, columns, rows)
            elif operand.path is None:
                made = self.put_together(access.column[0], columns)
            else:
                made = read_access(access, operand.type, need, columns, rows, functools.partial(self.metadata, access, chosen))
        except VarquetError as error:
            error.message = f"{operand.text()} of {self.file.path!r}, row group {self.group}: {error.message}"
            raise
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
        missing = frozenset().union(*(need.leaves for need in needs.values() if not need.leaves <= self.read_leaves))
        chosen = None if mask is None else np.flatnonzero(np.asarray(mask))
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
            if needs[name].leaves <= self.read_leaves:
                if known is None:
                    known = self.read if chosen is None else {one: column.take(pa.array(chosen)) for one, column in self.read.items()}
                columns = known
            else:
                columns = fresh
            made.append(self.array(operand, access, needs[name], columns, chosen))
        return made

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
