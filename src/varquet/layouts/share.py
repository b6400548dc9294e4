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

from varquet.columns.arrow import MOST_SHARED_NAMES, SHARED_VARIANT, Dictionaries, Flat, Spans
from varquet.columns.findings import raise_first
from varquet.columns.names import NameBuffers
from varquet.layouts.parts import Ints, Part, walk
from varquet.layouts.rewriting import collect_names, group_rows, rewrite_values

__all__ = ["share_metadata"]

# A dictionary of metadata is taken as it is where so many rows share an entry of it.
_ROWS_PER_ENTRY: Final = 16


def share_metadata(root: Part, rows: Dictionaries, *, most_names: int = MOST_SHARED_NAMES, first_row: int = 0) -> pa.DictionaryArray:
    """Rewrite all `value` parts to dictionaries that neighbouring rows share, and return the metadata column that goes with them."""
    shared = rows.array
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
    def __init__(self, rows: Dictionaries, first_row: int) -> None:
        self.rows = rows
        self.first_row = first_row
        self.names = NameBuffers()
        self.status: Ints = np.zeros(len(rows), np.int64)

    def check(self) -> None:
        raise_first(self.status, self.first_row)

    def collect(self) -> None:
        """Intern the names of all rows."""
        metadata = self.rows.spans
        self.found = collect_names(Spans(metadata.data, metadata.starts, metadata.ends, self.rows.valid), self.names, self.status)
        self.check()

    def group(self, most_names: int) -> pa.DictionaryArray:
        """Make the groups, their dictionaries and the rows' new ids."""
        names_size = int(np.sum(self.rows.spans.ends - self.rows.spans.starts))
        self.groups = group_rows(self.found, self.names, most_names, names_size)
        return self.groups.metadata

    def rewrite(self, value: Flat, rows: Ints) -> Flat:
        """The same values with their rows' new ids."""
        values = Spans(value.data, value.offsets[:-1], value.offsets[1:], value.valid)
        groups = self.groups
        written = rewrite_values(values, rows, groups.id_starts, self.found.counts, groups.ids, len(self.names), self.status)
        self.check()
        return written
