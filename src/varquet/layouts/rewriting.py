"""The kernels that collect names, group rows and rewrite values, each called until it has all the room that it needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from varquet import kernels
from varquet.columns.arrow import Flat, Spans, binary_array, shared_metadata_array
from varquet.columns.names import NameBuffers
from varquet.columns.reading import Scratch
from varquet.kernels.source import _bytes as frames
from varquet.kernels.source import _codes as codes
from varquet.kernels.source import _tape as tape
from varquet.layouts.parts import Ints

__all__ = ["Buffers", "Found", "Groups", "collect_names", "group_rows", "rewrite_values"]


class Buffers:
    """What the kernels that rewrite values grow as they go on."""

    def __init__(self, room: int) -> None:
        self.scratch = Scratch()
        self.out = np.empty(room, np.uint8)
        self.scalars = np.empty(1 << 14, np.uint8)
        self._make_tape(1024)

    def _make_tape(self, nodes: int) -> None:
        self.nodes = np.empty(nodes * tape.NODE, np.int64)
        self.containers = np.empty((nodes + 1) * tape.CONTAINER, np.int64)
        self.sorting = np.empty(3 * nodes, np.int64)

    def grow(self, need: int) -> None:
        if need == codes.NEED_TAPE:
            self._make_tape(2 * len(self.nodes) // tape.NODE)
        elif need == codes.NEED_SCALARS:
            self.scalars = np.empty(2 * len(self.scalars), np.uint8)
        elif need == codes.NEED_STACK:
            self.scratch.stack = np.empty(2 * len(self.scratch.stack), np.int64)
        else:
            self.out = np.concatenate([self.out, np.empty(len(self.out), np.uint8)])


@dataclass(frozen=True, slots=True)
class Found:
    """The interned names of each dictionary: field id f of dictionary k is name names[starts[k] + f], of counts[k]."""

    starts: Ints
    counts: Ints
    names: Ints


def collect_names(dictionaries: Spans, interned: NameBuffers, status: Ints) -> Found:
    """Intern the names of all dictionaries; status tells of those that are none."""
    count = len(dictionaries.valid)
    starts: Ints = np.zeros(count, np.int64)
    counts: Ints = np.zeros(count, np.int64)
    found: Ints = np.empty(max(1024, int(1.1 * interned.found_a_row * count)), np.int64)
    state = np.zeros(frames.ROW_SLOTS, np.int64)
    place = 0
    while True:
        place = kernels.share.collect_names(
            dictionaries.data,
            dictionaries.starts,
            dictionaries.ends,
            dictionaries.valid,
            place,
            count,
            interned.keys,
            interned.info,
            interned.table,
            starts,
            counts,
            found,
            status,
            interned.state,
            state,
        )
        need = int(state[frames.ROW_NEED])
        if need == codes.NEED_NOTHING:
            used = int(state[frames.ROW_OUT])
            interned.found_a_row = used / max(1, count)
            return Found(starts, counts, found[:used])
        if need == codes.NEED_STACK:
            found = np.concatenate([found, np.empty(len(found), np.int64)])
        else:
            interned.grow(need)


@dataclass(frozen=True, slots=True)
class Groups:
    """Neighbouring rows with one dictionary: name f of row k has there the id ids[id_starts[k] + f]."""

    metadata: pa.DictionaryArray
    id_starts: Ints
    ids: Ints


def group_rows(found: Found, interned: NameBuffers, most_names: int, names_size: int, always: Ints | None = None) -> Groups:
    """Make groups of rows that have few names together, and all of which have the names `always`.

    `names_size` is how many bytes the names of all rows have at most, and those of as many groups.
    """
    always = np.zeros(0, np.int64) if always is None else always
    count = len(found.starts)
    room = interned.room
    id_starts: Ints = np.zeros(count, np.int64)
    ids: Ints = np.empty(int(found.counts.sum()), np.int64)
    groups: Ints = np.zeros(count, np.int64)
    metadata = np.empty(4 * (len(ids) + count * len(always)) + names_size + 16 * count + 16, np.uint8)
    offsets: Ints = np.zeros(count + 2, np.int64)
    made = kernels.share.group_rows(
        count,
        most_names,
        always,
        found.starts,
        found.counts,
        found.names,
        np.empty(2 * room, np.int64),
        np.full(room, -1, np.int64),
        np.empty(room, np.int64),
        interned.ranked,
        room,
        id_starts,
        ids,
        groups,
        interned.keys,
        interned.info,
        metadata,
        offsets,
        interned.state,
    )
    used = int(offsets[made])
    dictionary = binary_array(pa.py_buffer(metadata[:used].copy()), offsets[: made + 1], None)
    return Groups(shared_metadata_array(groups, dictionary), id_starts, ids)


def rewrite_values(values: Spans, rows: Ints, id_starts: Ints, id_counts: Ints, ids: Ints, names: int, status: Ints) -> Flat:
    """The same values with other ids: field id f of a value of row k becomes ids[id_starts[k] + f], of id_counts[k].

    `names` is how many there are at most; status tells by row of values that cannot be followed.
    """
    count = len(values.valid)
    buffers = Buffers(int(np.sum(values.ends - values.starts)) * 5 // 4 + 256)
    offsets: Ints = np.zeros(count + 1, np.int64)
    ranks = np.arange(max(1, names), dtype=np.int64)
    state = buffers.scratch.state
    instance = 0
    while True:
        instance = kernels.rewrite.rewrite_rows(
            values.data,
            values.starts,
            values.ends,
            values.valid,
            rows,
            instance,
            count,
            id_starts,
            id_counts,
            ids,
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
            return Flat(buffers.out, offsets, values.valid)
        buffers.grow(need)
