"""Which encoding each column of a file gets: a dictionary where values repeat, differences where numbers climb or texts begin alike.

A dictionary on every column costs both time and size where values hardly repeat; so the first row group is looked at, and
each leaf gets what pays. Only encodings that Spark's vectorized reader and DuckDB read are used.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from varquet.columns.arrow import is_text_or_bytes, list_elements
from varquet.parquet.bodies import are_few
from varquet.parquet.entries import joined

__all__ = ["Encodings", "choose_encodings", "leaves"]

_SAMPLE: Final = 16_384
# Numbers are counted fast, and some repeat only over many rows.
_SAMPLE_OF_NUMBERS: Final = 65_536
_SAMPLE_OF_NEIGHBOURS: Final = 256
_REPEATS: Final = 0.35  # a dictionary pays while no more than this share of the values is distinct


@dataclass(frozen=True, slots=True)
class Encodings:
    """What pyarrow's writer is told: the columns with a dictionary, and the encodings of others."""

    dictionary: list[str]
    others: dict[str, str]


def leaves(column: pa.ChunkedArray, path: str) -> Iterator[tuple[str, list[pa.Array]]]:
    """The leaf columns of a column in pieces, with their dotted Parquet paths; nested values as far as they are reached."""
    waiting = [(path, column.chunks)] if column.num_chunks else []
    while waiting:
        path, pieces = waiting.pop()
        if isinstance(pieces[0], pa.ExtensionArray):
            pieces = [piece.storage for piece in pieces]
        kind = pieces[0].type
        if pa.types.is_struct(kind):
            waiting += [(f"{path}.{kind.field(k).name}", [piece.field(k) for piece in pieces]) for k in range(kind.num_fields)]
        elif pa.types.is_map(kind):
            waiting += [
                (f"{path}.key_value.key", [piece.keys for piece in pieces]),
                (f"{path}.key_value.value", [piece.items for piece in pieces]),
            ]
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
            waiting.append((f"{path}.list.element", [list_elements(piece) for piece in pieces]))
        else:
            yield path, pieces


def choose_encodings(table: pa.Table) -> Encodings:
    """Look at the first rows of a table and choose."""
    dictionary: list[str] = []
    others: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for name, column in zip(table.column_names, table.columns, strict=True):
        for path, pieces in leaves(column.slice(0, _SAMPLE_OF_NUMBERS), name):
            kind = pieces[0].type
            seen[path] += 1
            if pa.types.is_dictionary(kind):
                dictionary.append(path)
            elif pa.types.is_boolean(kind) or pa.types.is_null(kind):
                continue
            elif _repeats(leaf := _first(pieces, _SAMPLE if is_text_or_bytes(kind) else _SAMPLE_OF_NUMBERS)):
                dictionary.append(path)
            elif pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time(kind):
                others[path] = "DELTA_BINARY_PACKED"
            elif is_text_or_bytes(kind):
                others[path] = "DELTA_BYTE_ARRAY" if _begin_alike(leaf) else "DELTA_LENGTH_BYTE_ARRAY"
    # Names with dots can give two columns one path, and then no encoding but the plain one is right for both.
    return Encodings(dictionary, {path: encoding for path, encoding in others.items() if seen[path] == 1})


def _first(pieces: list[pa.Array], count: int) -> pa.Array:
    """The first so many values, or fewer."""
    return joined(pa.chunked_array(pieces).slice(0, count).chunks)


def _begin_alike(texts: pa.Array) -> bool:
    """Whether texts share two thirds of their bytes with the one before, from their beginning on, as times in order do."""
    values = [bytes(value) for value in texts.drop_null()[:_SAMPLE_OF_NEIGHBOURS].cast(pa.large_binary()).to_pylist()]
    shared = sum(_shared(one, other) for one, other in itertools.pairwise(values))
    return 3 * shared > 2 * sum(map(len, values[1:]))


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes two texts have in common at their beginning."""
    return next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _repeats(values: pa.Array) -> bool:
    count = len(values) - values.null_count
    if count == 0:
        return True
    most = max(int(_REPEATS * count), 16)
    found = are_few(values, most)
    if found is None:
        try:
            found = bool(pc.count_distinct(values.drop_null()).as_py() <= most)
        except pa.ArrowNotImplementedError:  # views, for example, cannot be counted
            found = False
    return found
