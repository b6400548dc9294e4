"""`profile`: exact facts about every path of a variant column, from whatever holds one."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import numpy as np

from varquet.columns.arrow import Bytes, Column, VariantSlice, chunks_of, slices, variant_children
from varquet.columns.fingerprint import fingerprint_slice
from varquet.columns.threads import in_order, thread_count
from varquet.errors import UnsupportedTypeError, VarquetError
from varquet.profiles.builder import Builder
from varquet.profiles.facts import MOST_NAMES, SHARE, Profile, Steps
from varquet.profiles.folding import folded
from varquet.profiles.inputs import Data, column_parts, map_column, variant_parts, variants_of
from varquet.profiles.merging import empty, merge

__all__ = [
    "MOST_NAMES",
    "SHARE",
    "Counting",
    "Data",
    "column_parts",
    "map_column",
    "profile",
    "profile_batches",
    "profile_parts",
    "variants_of",
]

_ROWS_PER_SLICE: Final = 32_768
_BYTES_PER_SLICE: Final = 8 << 20


def profile(
    data: Data,
    column: str | None = None,
    *,
    most_names: int = MOST_NAMES,
    share: float = SHARE,
    sample: float = 1.0,
    candidates: Mapping[Steps, frozenset[str]] | None = None,
    on_rows: Callable[[int], None] | None = None,
    threads: int | None = None,
) -> Profile:
    """Count what is in a variant column, path by path.

    All counts and ranges are exact, and the same for any order and any cut of the rows; so is the profile that `merge` makes
    of the profiles of parts. An object whose names are data (more than `most_names` of them) keeps those that are in a `share` of
    the rows, counted exactly, and one row of facts for all others; finding them takes another pass over the data. Where parts
    are profiled apart and the merged profile is not exact, profile them again with the merged profile's `closed` as candidates
    and merge, until it is. Containers more than 100 levels deep are counted, but not what is in them.

    Args:
        data: a column of Variants, shredded or not, of JSON text or maps; tables, record batches, a dataset, a scanner or reader with one;
            or NDJSON or Parquet files, folders, globs. A reader is refused if the rows have to be read twice.
        column: its name, where there are several.
        most_names: how many different names of one object are counted one by one.
        share: names of larger objects are kept that this share of the rows has.
        sample: count this share of the different values, all by default: always the same ones, whatever the order and the parts.
            Equal values are counted all or not at all, so that of few different values it may be any share of the rows. SQL NULLs are all
            counted.
        candidates: names of objects with too many, from other parts of the data; then there is one pass only.
        on_rows: told how many more rows have been counted, in every pass.
        threads: how many threads to use; by default VARQUET_THREADS or all cores.
    """
    count = thread_count(threads)
    columns, can_be_read_again = variant_parts(data, column, count)
    return profile_batches(
        columns,
        can_be_read_again=can_be_read_again,
        most_names=most_names,
        share=share,
        sample=sample,
        candidates=candidates,
        on_rows=on_rows,
        threads=count,
    )


def profile_batches(
    columns: Callable[[], Iterable[Callable[[], Column]]],
    *,
    can_be_read_again: bool = True,
    most_names: int = MOST_NAMES,
    share: float = SHARE,
    sample: float = 1.0,
    candidates: Mapping[Steps, frozenset[str]] | None = None,
    on_rows: Callable[[int], None] | None = None,
    threads: int | None = None,
) -> Profile:
    """Like `profile`, of what makes the parts of a variant column, as often as it is asked."""
    if not 0 < sample <= 1:
        raise UnsupportedTypeError(f"expected a sample between 0 and 1, got {sample}")
    if not 0 < share <= 1:
        raise UnsupportedTypeError(f"expected a share between 0 and 1, got {share}")
    if most_names < 1:
        raise UnsupportedTypeError(f"expected at least one name to be counted, got {most_names}")
    closed: Mapping[Steps, frozenset[str]] = candidates or {}
    while True:
        counting = _Counting(most_names, share, sample, closed, on_rows or (lambda _: None))
        found = counting.run(columns(), thread_count(threads))
        # Of parts of the data some may have nothing in the sample.
        if candidates is None and not found.values and counting.values:
            raise VarquetError(
                f"expected a sample with values in it, got none of {counting.values}",
                hint="equal values are sampled all or not at all; count a larger share, or all",
            )
        if candidates is not None or found.is_exact:
            return found
        if not can_be_read_again:
            raise VarquetError(
                f"expected data that can be read twice, because an object has more than {most_names} names, got a stream",
                hint="write it to a file first, or let more names be counted",
            )
        closed = found.closed


def profile_parts(count: Callable[[Mapping[Steps, frozenset[str]]], Profile]) -> Profile:
    """The profile of data of which others count the parts.

    Args:
        count: counts all parts with these candidates, as `profile` does, and merges what they give; it is called until that is exact.
    """
    closed: Mapping[Steps, frozenset[str]] = {}
    while not (found := count(closed)).is_exact:
        closed = found.closed
    return found


class _Counting:
    """One pass over the rows."""

    def __init__(
        self, most_names: int, share: float, sample: float, closed: Mapping[Steps, frozenset[str]], on_rows: Callable[[int], None]
    ) -> None:
        self.make = functools.partial(Builder, most_names, share, closed)
        self.nothing = empty(share, most_names)
        self.sample = sample
        self.on_rows = on_rows
        self.values = 0
        self.builders: list[Builder] = []
        self.lock = threading.Lock()

    def run(self, columns: Iterable[Callable[[], Column]], threads: int) -> Profile:
        # What makes a column, a parser for example, has threads of its own.
        made = in_order(lambda make: make(), columns, threads)
        for rows in in_order(self.count, _numbered(made), threads):
            self.on_rows(rows)
        parts: list[Profile] = []
        while self.builders:
            parts.append(self.builders.pop().profile())
        return merge(parts or [self.nothing])

    def count(self, task: tuple[VariantSlice, int]) -> int:
        part, first = task
        builder = self.builder_for(first)
        # What fails is raised, and the whole profile with it: the builder need not come back.
        builder.add(part, first, None if self.sample == 1 else _chosen(part, self.sample, first))
        with self.lock:
            self.builders.append(builder)
            self.values += int(np.count_nonzero(part.valid))
        return len(part)

    def builder_for(self, first: int) -> Builder:
        """One that has seen earlier rows only, so that what it sees first of a type is the first of its rows; perhaps a new one."""
        with self.lock:
            for k, builder in enumerate(self.builders):
                if builder.end <= first:
                    return self.builders.pop(k)
        return self.make()


def _numbered(columns: Iterable[Column], before: int = 0) -> Iterator[tuple[VariantSlice, int]]:
    """Slices of columns, with the number of rows before each."""
    for column in columns:
        for chunk in chunks_of(column):
            variants = variant_children(chunk)
            size = int(variants.value.offsets[-1] - variants.value.offsets[0])
            for first, last in slices(len(variants), size, rows_per_slice=_ROWS_PER_SLICE, size_per_slice=_BYTES_PER_SLICE):
                yield variants.slice(first, last), before + first
            before += len(variants)


class Counting:
    """The profile of a variant column that comes a part at a time, and only once: names of objects with too many are not exact."""

    def __init__(self, most_names: int = MOST_NAMES) -> None:
        self.builder = Builder(most_names, SHARE, {})
        self.rows = 0

    def add(self, column: Column) -> None:
        """Count some rows."""
        for part, first in _numbered([column], self.rows):
            self.builder.add(part, first, None)
        self.rows += len(column)

    def profile(self) -> Profile:
        """What was counted so far; nothing can be added after that."""
        return folded(self.builder.profile())


def _chosen(part: VariantSlice, share: float, first: int) -> Bytes:
    """1 for the rows whose fingerprints are small enough: the same ones wherever they stand."""
    numbers = fingerprint_slice(part, 0, first)
    chosen: Bytes = (numbers.view(np.uint64) < np.uint64(int(share * (1 << 64)))).astype(np.uint8)
    return chosen
