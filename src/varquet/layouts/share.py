"""One metadata for many rows: what keeps the metadata column of a file small.

Rows rarely have exactly the same field names, so that a dictionary of its own for each row costs more than most columns do.
Instead neighbouring rows that have few names together get one dictionary, and what is left in `value` columns is rewritten
to its ids; the standard allows names in the metadata that a value does not use (docs/adr/0005). Rows that share their
metadata already, as those that `parse_json(..., shared_metadata=True)` and `read` return, stay as they are.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from varquet import kernels
from varquet.columns.arrow import MOST_SHARED_NAMES, SHARED_VARIANT, Flat, VariantSlice, binary_array, shared_metadata_array
from varquet.columns.findings import finding
from varquet.columns.names import NameBuffers
from varquet.columns.reading import Scratch
from varquet.kernels.source import _bytes as frames
from varquet.kernels.source import _codes as codes
from varquet.kernels.source import _tape as tape
from varquet.layouts.parts import Ints, Part, walk

__all__ = ["share_metadata"]

# A dictionary of metadata is taken as it is where so many rows share an entry of it.
_ROWS_PER_ENTRY: Final = 16


def share_metadata(root: Part, rows: VariantSlice, *, most_names: int = MOST_SHARED_NAMES, first_row: int = 0) -> pa.DictionaryArray:
    """Rewrite all `value` parts to dictionaries that neighbouring rows share, and return the metadata column that goes with them."""
    shared = rows.metadata_array
    if shared.type == SHARED_VARIANT.field("metadata").type and _ROWS_PER_ENTRY * len(shared.dictionary) <= len(shared):
        return shared
    sharing = _Sharing(rows, first_row)
    sharing.collect()
    metadata = sharing.group(most_names)
    for part in walk(root):
        if part.value is not None and len(part.value.data):
            part.value = sharing.rewrite(part.value, part.rows)
    return metadata


class _Sharing:
    def __init__(self, rows: VariantSlice, first_row: int) -> None:
        self.rows = rows
        self.first_row = first_row
        self.names = NameBuffers()
        self.status: Ints = np.zeros(len(rows), np.int64)

    def check(self) -> None:
        bad = np.flatnonzero(self.status)
        if len(bad):
            raise finding(int(self.status[bad[0]]), self.first_row + int(bad[0]))

    def collect(self) -> None:
        """Intern the names of all rows."""
        count = len(self.rows)
        self.found_starts, self.found_counts = np.empty(count, np.int64), np.empty(count, np.int64)
        self.found = np.empty(max(1024, 32 * count), np.int64)
        state = np.zeros(frames.ROW_SLOTS, np.int64)
        metadata = self.rows.metadata
        row = 0
        while True:
            row = kernels.share.collect_names(
                metadata.data,
                metadata.starts,
                metadata.ends,
                self.rows.valid,
                row,
                count,
                self.names.keys,
                self.names.info,
                self.names.table,
                self.found_starts,
                self.found_counts,
                self.found,
                self.status,
                self.names.state,
                state,
            )
            need = int(state[frames.ROW_NEED])
            if need == codes.NEED_NOTHING:
                break
            if need == codes.NEED_STACK:
                self.found = np.concatenate([self.found, np.empty(len(self.found), np.int64)])
            else:
                self.names.grow(need)
        self.check()

    def group(self, most_names: int) -> pa.DictionaryArray:
        """Make the groups, their dictionaries and the rows' new ids."""
        count = len(self.rows)
        room = self.names.room
        self.id_starts = np.zeros(count, np.int64)
        self.ids = np.empty(int(self.found_counts.sum()), np.int64)
        groups = np.zeros(count, np.int64)
        names_size = int(np.sum(self.rows.metadata.ends - self.rows.metadata.starts))
        metadata = np.empty(4 * len(self.ids) + names_size + 16 * count + 16, np.uint8)
        offsets = np.zeros(count + 2, np.int64)
        made = kernels.share.group_rows(
            count,
            most_names,
            self.found_starts,
            self.found_counts,
            self.found,
            np.empty(2 * room, np.int64),
            np.full(room, -1, np.int64),
            np.empty(room, np.int64),
            self.names.ranked,
            room,
            self.id_starts,
            self.ids,
            groups,
            self.names.keys,
            self.names.info,
            metadata,
            offsets,
            self.names.state,
        )
        used = int(offsets[made])
        dictionary = binary_array(pa.py_buffer(metadata[:used].copy()), offsets[: made + 1], None)
        self.ranks = np.arange(max(1, len(self.names)), dtype=np.int64)
        return shared_metadata_array(groups, dictionary)

    def rewrite(self, value: Flat, rows: Ints) -> Flat:
        """The same values with their rows' new ids."""
        count = len(value)
        scratch = Scratch()
        nodes = np.empty(1024 * tape.NODE, np.int64)
        sorting = np.empty(3 * 1024, np.int64)
        out = np.empty(int(value.offsets[-1] - value.offsets[0]) * 5 // 4 + 256, np.uint8)
        offsets = np.zeros(count + 1, np.int64)
        instance = 0
        while True:
            instance = kernels.share.rewrite_rows(
                value.data,
                value.offsets[:-1],
                value.offsets[1:],
                value.valid,
                rows,
                instance,
                count,
                self.id_starts,
                self.found_counts,
                self.ids,
                self.ranks,
                nodes,
                scratch.stack,
                sorting,
                out,
                offsets,
                self.status,
                scratch.state,
            )
            need = int(scratch.state[frames.ROW_NEED])
            if need == codes.NEED_NOTHING:
                break
            if need == codes.NEED_TAPE:
                nodes = np.empty(2 * len(nodes), np.int64)
                sorting = np.empty(2 * len(sorting), np.int64)
            elif need == codes.NEED_STACK:
                scratch.stack = np.empty(2 * len(scratch.stack), np.int64)
            else:
                out = np.concatenate([out, np.empty(len(out), np.uint8)])
        self.check()
        return Flat(out, offsets, value.valid)
