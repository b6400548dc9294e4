"""Values with a dictionary of their own, as the draft has them, and values that use the dictionary of their row.

`detach` puts before every residual value a metadata with the names that it uses. `attach` takes these away again: it gives
neighbouring rows one dictionary, with the names of the schema and of all their residuals, and rewrites the values to its ids.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from varquet import kernels
from varquet.columns.arrow import MOST_SHARED_NAMES, Dictionaries, Flat, Spans
from varquet.columns.findings import raise_first
from varquet.columns.names import NameBuffers
from varquet.kernels.source import _bytes as frames
from varquet.kernels.source import _codes as codes
from varquet.layouts.parts import Bytes, Ints, NameTable, Part, walk
from varquet.layouts.rewriting import Buffers, Found, collect_names, group_rows, rewrite_values

__all__ = ["attach", "detach", "split"]


def detach(root: Part, rows: Dictionaries, *, first_row: int = 0) -> None:
    """Put before every value of all parts a dictionary of its own."""
    for part in walk(root):
        if part.value is not None and len(part.value.data):
            part.value = _detached(part.value, part.rows, rows, first_row)


def _detached(value: Flat, rows: Ints, of: Dictionaries, first_row: int) -> Flat:
    count = len(value)
    buffers = Buffers(2 * int(value.offsets[-1] - value.offsets[0]) + 4 * count + 256)
    offsets = np.zeros(count + 1, np.int64)
    status: Ints = np.zeros(len(of), np.int64)
    names = 1024
    ids, marks, ranks = np.arange(names), np.full(names, -1, np.int64), np.empty(names, np.int64)
    state = buffers.scratch.state
    instance = 0
    while True:
        instance = kernels.rewrite.detach_rows(
            of.spans.data,
            of.spans.starts,
            of.spans.ends,
            value.data,
            value.offsets,
            value.valid,
            rows,
            instance,
            count,
            ids,
            marks,
            ranks,
            buffers.nodes,
            buffers.containers,
            buffers.scalars,
            buffers.scratch.stack,
            buffers.sorting,
            buffers.out,
            offsets,
            status,
            state,
        )
        need = int(state[frames.ROW_NEED])
        if need == codes.NEED_NOTHING:
            break
        if need == codes.NEED_KEYS:
            names *= 2
            ids, marks, ranks = np.arange(names), np.full(names, -1, np.int64), np.empty(names, np.int64)
        else:
            buffers.grow(need)
    raise_first(status, first_row)
    return Flat(buffers.out, offsets, value.valid)


def split(both: Spans, rows: Ints, *, first_row: int = 0) -> tuple[Spans, Spans]:
    """The dictionaries and the values of what has both, one behind the other."""
    count = len(both.valid)
    middles: Ints = np.empty(count, np.int64)
    status: Ints = np.zeros(count, np.int64)
    kernels.rewrite.split_detached(both.data, both.starts, both.ends, count, middles, status, np.zeros(frames.ROW_SLOTS, np.int64))
    raise_first(status, first_row, rows)
    return Spans(both.data, both.starts, middles, both.valid), Spans(both.data, middles, both.ends, both.valid)


def attach(root: Part, valid: Bytes, names: NameTable, *, first_row: int = 0) -> pa.DictionaryArray:
    """Rewrite all values, each of which has a dictionary before it, to dictionaries that neighbouring rows share; those."""
    attaching = _Attaching(len(valid), names, first_row)
    for part in walk(root):
        if part.value is not None and part.value.valid.any():
            attaching.add(part)
        else:
            part.value = None
    metadata = attaching.group()
    attaching.rewrite()
    return metadata


@dataclass(frozen=True, slots=True)
class _Detached:
    """The values of one part: which instances have one, and which names the dictionary of each has."""

    part: Part
    instances: Ints
    values: Spans
    found: Found

    @property
    def rows(self) -> Ints:
        return self.part.rows[self.instances]


class _Attaching:
    def __init__(self, rows: int, names: NameTable, first_row: int) -> None:
        self.rows = rows
        self.first_row = first_row
        self.names = NameBuffers()
        self.parts: list[_Detached] = []
        self.names_size = 0
        # The schema's names, interned first, in the form in which names are taken: a dictionary.
        own = _dictionary(names)
        whole = Spans(own, np.zeros(1, np.int64), np.array([len(own)], np.int64), np.ones(1, np.uint8))
        self.schema: Ints = collect_names(whole, self.names, np.zeros(1, np.int64)).names[: len(names.number)].copy()

    def add(self, part: Part) -> None:
        """Read the dictionaries of a part's values."""
        assert part.value is not None
        instances, both = part.value.there()
        rows = part.rows[instances]
        metadata, values = split(both, rows, first_row=self.first_row)
        status: Ints = np.zeros(len(instances), np.int64)
        found = collect_names(metadata, self.names, status)
        self.names_size += int(np.sum(metadata.ends - metadata.starts))
        raise_first(status, self.first_row, rows)
        self.parts.append(_Detached(part, instances, values, found))

    def group(self) -> pa.DictionaryArray:
        """Give neighbouring rows one dictionary, with the names of the schema and of all their values."""
        # All values of all parts, by row: where the names of each go in the list of its row.
        none = np.zeros(0, np.int64)
        rows = np.concatenate([none, *(one.rows for one in self.parts)])
        counts = np.concatenate([none, *(one.found.counts for one in self.parts)])
        shifts = np.cumsum([0, *(len(one.found.names) for one in self.parts)])
        sources = np.concatenate([none, *(one.found.starts + shift for one, shift in zip(self.parts, shifts, strict=False))])
        names = np.concatenate([none, *(one.found.names for one in self.parts)])
        found, places = np.empty(int(counts.sum()), np.int64), np.empty(len(rows), np.int64)
        kernels.share.join_lists(np.argsort(rows, kind="stable"), sources, counts, names, found, places)
        lengths = np.bincount(rows, weights=counts, minlength=self.rows).astype(np.int64) if len(rows) else np.zeros(self.rows, np.int64)
        row_starts = np.cumsum(lengths) - lengths
        names_size = self.names_size + int(self.names.lengths()[self.schema].sum()) * self.rows
        groups = group_rows(Found(row_starts, lengths, found), self.names, MOST_SHARED_NAMES, names_size, self.schema)
        self.ids, self.places = groups.ids, groups.id_starts[rows] + places - row_starts[rows]
        return groups.metadata

    def rewrite(self) -> None:
        """Write all values again with the ids of their rows' dictionaries."""
        done = 0
        for one in self.parts:
            count = len(one.instances)
            id_starts = self.places[done : done + count]
            done += count
            status: Ints = np.zeros(count, np.int64)
            # Every value has ids of its own: it is its own row here.
            numbers = np.arange(count, dtype=np.int64)
            made = rewrite_values(one.values, numbers, id_starts, one.found.counts, self.ids, len(self.names), status)
            raise_first(status, self.first_row, one.rows)
            assert one.part.value is not None
            offsets: Ints = np.zeros(len(one.part) + 1, np.int64)
            offsets[one.instances + 1] = np.diff(made.offsets)
            one.part.value = Flat(made.data, np.cumsum(offsets), one.part.value.valid)


def _dictionary(names: NameTable) -> Bytes:
    """The names of a schema as metadata."""
    count = len(names.number)
    return np.frombuffer(
        bytes((0xC1,)) + count.to_bytes(4, "little") + names.offsets.astype("<u4").tobytes() + names.data.tobytes(), np.uint8
    )
