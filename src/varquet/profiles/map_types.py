"""Which hot keys of maps of texts can be stored as numbers, booleans, dates or timestamps: those all of whose values come back exactly.

What is known of two parts of the data is known of both: a type is left if it is left in each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from varquet.columns.arrow import Column, chunks_of
from varquet.columns.threads import thread_count
from varquet.errors import UnsupportedTypeError
from varquet.layouts.map_entries import is_text, lookup, stored_type
from varquet.layouts.map_keys import MapKeys
from varquet.layouts.map_text import CANDIDATES, typed_of
from varquet.profiles.plan import ColumnPlan, Plan
from varquet.profiles.profiling import Data, column_parts
from varquet.schema import ShreddingSchema

__all__ = ["Fits", "fits_of", "merged_fits", "type_keys", "typed_column"]

Fits = Mapping[str, frozenset[int] | None]
"""Of each key the numbers of the candidates that take all of its values; None if it has no value at all."""


def fits_of(columns: Iterable[Column], keys: MapKeys) -> dict[str, frozenset[int] | None]:
    """What is known of the keys from some maps of texts."""
    found: dict[str, frozenset[int] | None] = dict.fromkeys(keys.names)
    for column in columns:
        for chunk in chunks_of(column):
            if not is_text(stored_type(chunk.type.item_type)):
                raise UnsupportedTypeError(f"expected maps of texts, whose values may be something else, got {chunk.type}")
            for name in keys.names:
                known = found[name]
                if known is None or known:
                    texts = pc.unique(lookup(chunk, name)).drop_null()
                    found[name] = _left(texts, known) if len(texts) else known
    return found


def _left(texts: pa.Array, known: frozenset[int] | None) -> frozenset[int]:
    tried = range(len(CANDIDATES)) if known is None else known
    return frozenset(number for number in tried if typed_of(texts, CANDIDATES[number]).null_count == 0)


def merged_fits(parts: Iterable[Fits]) -> dict[str, frozenset[int] | None]:
    """What is known from several parts of the data."""
    made: dict[str, frozenset[int] | None] = {}
    for part in parts:
        for name, known in part.items():
            before = made.get(name)
            made[name] = known if before is None else before if known is None else before & known
    return made


def typed_column(plan: ColumnPlan, fits: Fits) -> ColumnPlan:
    """A plan for maps whose keys have the first of the types that take all of their values, where there is one."""

    def leaf(name: str, before: ShreddingSchema) -> ShreddingSchema:
        left = fits.get(name)
        return ShreddingSchema.primitive(CANDIDATES[min(left)]) if left else before

    return dataclasses.replace(plan, schema=ShreddingSchema.object([(name, leaf(name, before)) for name, before in plan.schema.fields]))


def type_keys(plan: Plan, name: str, data: Data, column: str | None = None, *, threads: int | None = None) -> Plan:
    """A plan in which the hot keys of a map get types, where all of their texts are exactly those of a number, date or the like.

    Args:
        plan: a plan with a column of maps.
        name: that column.
        data: the maps: a column, a table with one, or Parquet files.
        column: the column of the data, where there are several.
        threads: how many threads to use; by default VARQUET_THREADS or all cores.
    """
    before = plan.columns.get(name)
    if before is None or not before.is_map:
        raise UnsupportedTypeError(
            f"expected the name of a column of maps of the plan, got {name!r}", hint="they are " + (", ".join(plan.maps) or "none")
        )
    parts: Iterable[Callable[[], Column]] = column_parts(data, column, thread_count(threads))
    after = typed_column(before, fits_of((part() for part in parts), plan.maps[name]))
    return plan if after == before else Plan({**plan.columns, name: after}, plan.step + 1)
