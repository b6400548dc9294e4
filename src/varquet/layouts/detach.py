"""Values with a dictionary of their own, as the draft has them, and values that use the dictionary of their row.

`detach` puts before every residual value a metadata with the names that it uses. `attach` takes these away again: it gives
neighbouring rows one dictionary, with the names of the schema and of all their residuals, and rewrites the values to its ids.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from varquet import kernels
from varquet.columns.arrow import MOST_SHARED_NAMES, Flat, Spans, VariantSlice
from varquet.columns.findings import finding
from varquet.columns.names import NameBuffers
from varquet.kernels.source import _bytes as frames
from varquet.kernels.source import _codes as codes
from varquet.layouts.parts import Bytes, Ints, NameTable, Part, walk
from varquet.layouts.rewriting import Buffers, Found, collect_names, group_rows, rewrite_values

__all__ = ["attach", "detach"]


def _check(status: Ints, rows: Ints, first_row: int) -> None:
    bad = np.flatnonzero(status)
    if len(bad):
        raise finding(int(status[bad[0]]), first_row + int(rows[bad[0]]))


def detach(root: Part, rows: VariantSlice, *, first_row: int = 0) -> None:
    """Put before every value of all parts a dictionary of its own."""
    for part in walk(root):
        if part.value is not None and len(part.value.data):
            part.value = _detached(part.value, part.rows, rows, first_row)


def _detached(value: Flat, rows: Ints, of: VariantSlice, first_row: int) -> Flat:
    count = len(value)
    buffers = Buffers(2 * int(value.offsets[-1] - value.offsets[0]) + 4 * count + 256)
    offsets = np.zeros(count + 1, np.int64)
    status: Ints = np.zeros(len(of), np.int64)
    names = 1024
    ids, marks, ranks = np.arange(names), np.full(names, -1, np.int64), np.empty(names, np.int64)
    state = buffers.scratch.state
    instance = 0
    while True:
        instance = kernels.share.detach_rows(
            of.metadata.data,
            of.metadata.starts,
            of.metadata.ends,
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
    _check(status, np.arange(len(of)), first_row)
    return Flat(buffers.out, offsets, value.valid)


def attach(root: Part, valid: Bytes, names: NameTable, *, first_row: int = 0) -> pa.DictionaryArray:
    """Rewrite all values, each of which has a dictionary before it, to dictionaries that neighbouring rows share; those."""
    attaching = _Attaching(len(valid), names, first_row)
    for part in walk(root):
        if part.value is not None and part.value.valid.any():
            attaching.add(part)
        else:
            part.value = None
    metadata = attaching.group(valid)
    attaching.rewrite()
    return metadata


@dataclass(frozen=True, slots=True)
class _Detached:
    """The values of one part: where each begins behind its dictionary, and which names that has."""

    part: Part
    value: Flat
    middles: Ints
    found: Found


class _Attaching:
    def __init__(self, rows: int, names: NameTable, first_row: int) -> None:
        self.rows = rows
        self.first_row = first_row
        self.names = NameBuffers()
        self.parts: list[_Detached] = []
        # The schema's names, interned first, in the form in which names are taken: a dictionary.
        own = _dictionary(names)
        whole = Spans(own, np.zeros(1, np.int64), np.array([len(own)], np.int64), np.ones(1, np.uint8))
        self.schema: Ints = collect_names(whole, self.names, np.zeros(1, np.int64)).names[: len(names.number)].copy()

    def add(self, part: Part) -> None:
        """Read the dictionaries of a part's values."""
        assert part.value is not None
        value = part.value
        middles: Ints = np.zeros(len(part), np.int64)
        status: Ints = np.zeros(len(part), np.int64)
        kernels.share.split_detached(
            value.data, value.offsets, value.valid, len(part), middles, status, np.zeros(frames.ROW_SLOTS, np.int64)
        )
        _check(status, part.rows, self.first_row)
        found = collect_names(Spans(value.data, value.offsets[:-1], middles, value.valid), self.names, status)
        _check(status, part.rows, self.first_row)
        self.parts.append(_Detached(part, value, middles, found))

    def group(self, valid: Bytes) -> pa.DictionaryArray:
        """Give every row the names of the schema and of its values, and neighbouring rows one dictionary."""
        own = len(self.schema)
        # All values of all parts, by row: where the names of each go in the list of its row, behind those of the schema.
        rows = np.concatenate([np.zeros(0, np.int64), *(one.part.rows[one.value.valid == 1] for one in self.parts)])
        counts = np.concatenate([np.zeros(0, np.int64), *(one.found.counts[one.value.valid == 1] for one in self.parts)])
        sources = np.concatenate(
            [np.zeros(0, np.int64), *(one.found.starts[one.value.valid == 1] + shift for one, shift in self._shifted())]
        )
        order = np.argsort(rows, kind="stable")
        more = np.bincount(rows, weights=counts, minlength=self.rows).astype(np.int64) if len(rows) else np.zeros(self.rows, np.int64)
        has_more = more > 0
        lengths = np.where(has_more, own + more, 0)
        # Rows without more names share the list at 0, which has the schema's alone.
        starts = np.where(has_more, own + np.cumsum(lengths) - lengths, 0)
        found = np.empty(own + int(lengths.sum()), np.int64)
        found[:own] = self.schema
        for place in range(own):
            found[starts[has_more] + place] = self.schema[place]
        before = np.cumsum(counts[order]) - counts[order]
        first = np.zeros(self.rows, np.int64)
        first[rows[order][::-1]] = before[::-1]
        places = np.empty(len(rows), np.int64)
        places[order] = own + before - first[rows[order]]
        target = np.repeat(starts[rows] + places, counts) + _counting(counts)
        if len(target):
            found[target] = np.concatenate([one.found.names for one in self.parts])[np.repeat(sources, counts) + _counting(counts)]
        listed = Found(starts, np.where(valid == 1, np.where(has_more, lengths, own), 0), found)
        name_bytes = self.names.lengths()
        names_size = int(name_bytes[found].sum()) + int(name_bytes[self.schema].sum()) * self.rows
        groups = group_rows(listed, self.names, MOST_SHARED_NAMES, names_size)
        self.ids, self.places = groups.ids, groups.id_starts[rows] + places
        return groups.metadata

    def _shifted(self) -> list[tuple[_Detached, int]]:
        shifts = np.cumsum([0, *(len(one.found.names) for one in self.parts)])
        return list(zip(self.parts, shifts[:-1].tolist(), strict=True))

    def rewrite(self) -> None:
        """Write all values again with the ids of their rows' dictionaries."""
        done = 0
        for one in self.parts:
            count = len(one.value)
            is_there = one.value.valid == 1
            id_starts: Ints = np.zeros(count, np.int64)
            id_starts[is_there] = self.places[done : done + int(is_there.sum())]
            done += int(is_there.sum())
            status: Ints = np.zeros(count, np.int64)
            values = Spans(one.value.data, one.middles, one.value.offsets[1:], one.value.valid)
            # Every value has ids of its own: it is its own row here.
            numbers = np.arange(count, dtype=np.int64)
            one.part.value = rewrite_values(values, numbers, id_starts, one.found.counts, self.ids, len(self.names), status)
            _check(status, one.part.rows, self.first_row)


def _counting(counts: Ints) -> Ints:
    """0, 1, 2 ... for each of the counts, one behind the other."""
    return np.arange(int(counts.sum()), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)


def _dictionary(names: NameTable) -> Bytes:
    """The names of a schema as metadata."""
    count = len(names.number)
    return np.frombuffer(
        bytes((0xC1,)) + count.to_bytes(4, "little") + names.offsets.astype("<u4").tobytes() + names.data.tobytes(), np.uint8
    )
