"""Values with a dictionary of their own, as the draft has them, and values that use the dictionary of their row.

`detach` puts before every residual value a metadata with the names that it uses. `attach` takes these away again: it gives
neighbouring rows one dictionary, with the names of the schema and of all their residuals, and rewrites the values to its ids.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from varquet import kernels
from varquet.columns.arrow import MOST_SHARED_NAMES, Flat, VariantSlice, binary_array, shared_metadata_array
from varquet.columns.findings import finding
from varquet.columns.names import NameBuffers
from varquet.columns.reading import Scratch
from varquet.kernels.source import _bytes as frames
from varquet.kernels.source import _codes as codes
from varquet.kernels.source import _tape as tape
from varquet.layouts.parts import Bytes, Ints, NameTable, Part, walk

__all__ = ["attach", "detach"]


class _Buffers:
    """What the kernels that rewrite values grow as they go on."""

    def __init__(self, room: int) -> None:
        self.scratch = Scratch()
        self.nodes = np.empty(1024 * tape.NODE, np.int64)
        self.sorting = np.empty(3 * 1024, np.int64)
        self.out = np.empty(room, np.uint8)

    def grow(self, need: int) -> None:
        if need == codes.NEED_TAPE:
            self.nodes = np.empty(2 * len(self.nodes), np.int64)
            self.sorting = np.empty(2 * len(self.sorting), np.int64)
        elif need == codes.NEED_STACK:
            self.scratch.stack = np.empty(2 * len(self.scratch.stack), np.int64)
        else:
            self.out = np.concatenate([self.out, np.empty(len(self.out), np.uint8)])


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
    buffers = _Buffers(2 * int(value.offsets[-1] - value.offsets[0]) + 4 * count + 256)
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


class _Detached:
    """The values of one part: where each begins behind its dictionary, and which names that has."""

    def __init__(self, part: Part, value: Flat) -> None:
        self.part = part
        self.value = value
        count = len(value)
        self.middles: Ints = np.zeros(count, np.int64)
        self.starts: Ints = np.zeros(count, np.int64)
        self.counts: Ints = np.zeros(count, np.int64)
        self.found: Ints = np.zeros(max(1024, 4 * count), np.int64)


class _Attaching:
    def __init__(self, rows: int, names: NameTable, first_row: int) -> None:
        self.rows = rows
        self.first_row = first_row
        self.names = NameBuffers()
        self.parts: list[_Detached] = []
        # The schema's names, interned first, in the form in which the kernel takes names: a dictionary.
        own = _Detached(Part.__new__(Part), Flat(_dictionary(names), np.zeros(0, np.int64), np.zeros(0, np.uint8)))
        own.starts, own.counts = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self._collect(own, np.zeros(1, np.int64), np.array([len(own.value.data)]), np.ones(1, np.uint8), np.zeros(1, np.int64))
        self.schema: Ints = own.found[: len(names.number)].copy()

    def add(self, part: Part) -> None:
        """Read the dictionaries of a part's values."""
        assert part.value is not None
        values = _Detached(part, part.value)
        status: Ints = np.zeros(len(part), np.int64)
        kernels.share.split_detached(
            values.value.data,
            values.value.offsets,
            values.value.valid,
            len(part),
            values.middles,
            status,
            np.zeros(frames.ROW_SLOTS, np.int64),
        )
        _check(status, part.rows, self.first_row)
        self._collect(values, values.value.offsets[:-1], values.middles, values.value.valid, status)
        _check(status, part.rows, self.first_row)
        self.parts.append(values)

    def _collect(self, values: _Detached, starts: Ints, ends: Ints, valid: Bytes, status: Ints) -> None:
        state = np.zeros(frames.ROW_SLOTS, np.int64)
        instance = 0
        while True:
            instance = kernels.share.collect_names(
                values.value.data,
                starts,
                ends,
                valid,
                instance,
                len(valid),
                self.names.keys,
                self.names.info,
                self.names.table,
                values.starts,
                values.counts,
                values.found,
                status,
                self.names.state,
                state,
            )
            need = int(state[frames.ROW_NEED])
            if need == codes.NEED_NOTHING:
                return
            if need == codes.NEED_STACK:
                values.found = np.concatenate([values.found, np.empty(len(values.found), np.int64)])
            else:
                self.names.grow(need)

    def group(self, valid: Bytes) -> pa.DictionaryArray:
        """Give every row the names of the schema and of its values, and neighbouring rows one dictionary."""
        own = len(self.schema)
        # All values of all parts, by row: where the names of each go in the list of its row, behind those of the schema.
        rows = np.concatenate([np.zeros(0, np.int64), *(one.part.rows[one.value.valid == 1] for one in self.parts)])
        counts = np.concatenate([np.zeros(0, np.int64), *(one.counts[one.value.valid == 1] for one in self.parts)])
        sources = np.concatenate([np.zeros(0, np.int64), *(one.starts[one.value.valid == 1] + shift for one, shift in self._shifted())])
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
            found[target] = np.concatenate([one.found for one in self.parts])[np.repeat(sources, counts) + _counting(counts)]
        return self._make(starts, np.where(valid == 1, np.where(has_more, lengths, own), 0), found, rows, places)

    def _shifted(self) -> list[tuple[_Detached, int]]:
        shifts = np.cumsum([0, *(len(one.found) for one in self.parts)])
        return list(zip(self.parts, shifts[:-1].tolist(), strict=True))

    def _make(self, starts: Ints, counts: Ints, found: Ints, rows: Ints, places: Ints) -> pa.DictionaryArray:
        room = self.names.room
        id_starts: Ints = np.zeros(self.rows, np.int64)
        self.ids: Ints = np.empty(int(counts.sum()), np.int64)
        groups: Ints = np.zeros(self.rows, np.int64)
        lengths = self.names.lengths()
        size = int(lengths[found].sum()) + int(lengths[self.schema].sum()) * self.rows
        metadata = np.empty(4 * len(self.ids) + size + 16 * self.rows + 16, np.uint8)
        offsets: Ints = np.zeros(self.rows + 2, np.int64)
        made = kernels.share.group_rows(
            self.rows,
            MOST_SHARED_NAMES,
            starts,
            counts,
            found,
            np.empty(2 * room, np.int64),
            np.full(room, -1, np.int64),
            np.empty(room, np.int64),
            self.names.ranked,
            room,
            id_starts,
            self.ids,
            groups,
            self.names.keys,
            self.names.info,
            metadata,
            offsets,
            self.names.state,
        )
        self.places = id_starts[rows] + places
        used = int(offsets[made])
        return shared_metadata_array(groups, binary_array(pa.py_buffer(metadata[:used].copy()), offsets[: made + 1], None))

    def rewrite(self) -> None:
        """Write all values again with the ids of their rows' dictionaries."""
        ranks = np.arange(max(1, len(self.names)), dtype=np.int64)
        done = 0
        for one in self.parts:
            count = len(one.value)
            is_there = one.value.valid == 1
            id_starts: Ints = np.zeros(count, np.int64)
            id_starts[is_there] = self.places[done : done + int(is_there.sum())]
            done += int(is_there.sum())
            buffers = _Buffers(int(one.value.offsets[-1] - one.value.offsets[0]) * 5 // 4 + 256)
            offsets: Ints = np.zeros(count + 1, np.int64)
            status: Ints = np.zeros(count, np.int64)
            state = buffers.scratch.state
            numbers = np.arange(count, dtype=np.int64)
            instance = 0
            while True:
                instance = kernels.share.rewrite_rows(
                    one.value.data,
                    one.middles,
                    one.value.offsets[1:],
                    one.value.valid,
                    numbers,
                    instance,
                    count,
                    id_starts,
                    one.counts,
                    self.ids,
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
                buffers.grow(need)
            _check(status, one.part.rows, self.first_row)
            one.part.value = Flat(buffers.out, offsets, one.value.valid)


def _counting(counts: Ints) -> Ints:
    """0, 1, 2 ... for each of the counts, one behind the other."""
    return np.arange(int(counts.sum()), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)


def _dictionary(names: NameTable) -> Bytes:
    """The names of a schema as metadata."""
    count = len(names.number)
    return np.frombuffer(
        bytes((0xC1,)) + count.to_bytes(4, "little") + names.offsets.astype("<u4").tobytes() + names.data.tobytes(), np.uint8
    )
