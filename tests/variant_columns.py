"""Variant columns from single values and back, and any column in the many forms that Arrow has for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from varquet.columns.arrow import VARIANT
from varquet.variant import encode
from varquet.variant.model import Node

__all__ = ["TEXT_FORMS", "VARIANT_FORMS", "Row", "column_of", "nodes_column", "rows_of"]

Row = tuple[bytes, bytes] | None
"""The metadata and value of one Variant, or None for an SQL NULL."""


def column_of(rows: Sequence[Row]) -> pa.StructArray:
    """A variant column of these rows."""
    return pa.array([None if row is None else {"metadata": row[0], "value": row[1]} for row in rows], VARIANT)


def nodes_column(nodes: Sequence[Node]) -> pa.StructArray:
    """A variant column of these values, as the reference encodes them."""
    return column_of([encode(node) for node in nodes])


def rows_of(column: pa.Array | pa.ChunkedArray) -> list[Row]:
    """The bytes of each row."""
    return [None if row is None else (row["metadata"], row["value"]) for row in column.to_pylist()]


def _padded(array: pa.Array) -> pa.Array:
    """The same rows as a slice of a larger array, so that every buffer has an offset."""
    around = pa.concat_arrays([array[:1], array, array[:1]]) if len(array) else array
    return around[1 : 1 + len(array)] if len(array) else around


def _chunked(array: pa.Array) -> pa.ChunkedArray:
    """The same rows in three chunks, one of them empty."""
    middle = len(array) // 2
    return pa.chunked_array([array[:middle], array[:0], array[middle:]], array.type)


def _cast(kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    return lambda array: array.cast(kind)


def _run_ends(array: pa.Array) -> pa.Array:
    return pa.RunEndEncodedArray.from_arrays(pa.array(range(1, len(array) + 1), pa.int32()), array)


def _sliced_run_ends(array: pa.Array) -> pa.Array:
    """A slice of an array with runs, which starts within a run."""
    doubled = pa.concat_arrays([array[:1], array]) if len(array) else array
    return pc.run_end_encode(doubled)[1:] if len(array) else _run_ends(array)


def _indexed(array: pa.Array) -> pa.Array:
    """Variants behind the indexes of a dictionary, nulls as null indexes."""
    places = [None if is_null else index for index, is_null in enumerate(array.is_null().to_pylist())]
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), array)


class _Labelled(pa.ExtensionType):  # type: ignore[misc]
    """Some extension type over the column: verbs look at the storage."""

    def __init__(self, storage: pa.DataType) -> None:
        super().__init__(storage, "varquet.tests.labelled")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, _: bytes) -> _Labelled:
        return cls(storage)


def _labelled(array: pa.Array) -> pa.Array:
    return pa.ExtensionArray.from_storage(_Labelled(array.type), array)


TEXT_FORMS: dict[str, Callable[[pa.Array], pa.Array | pa.ChunkedArray]] = {
    "plain": lambda array: array,
    "sliced": _padded,
    "chunked": _chunked,
    "large": _cast(pa.large_string()),
    "binary": _cast(pa.binary()),
    "large binary": _cast(pa.large_binary()),
    "string view": _cast(pa.string_view()),
    "sliced view": lambda array: _padded(array.cast(pa.string_view())),
    "binary view": lambda array: array.cast(pa.binary()).cast(pa.binary_view()),
    "dictionary": lambda array: array.dictionary_encode(),
    "sliced dictionary": lambda array: _padded(array.dictionary_encode()),
    "run ends": _run_ends,
    "sliced run ends": _sliced_run_ends,
    "extension": _labelled,
    "sliced extension": lambda array: _padded(_labelled(array)),
    "chunked dictionary": lambda array: _chunked(array).dictionary_encode(),
}
"""A column of strings in every form that Arrow has for it."""


def _with_children(change: Callable[[pa.Array], pa.Array]) -> Callable[[pa.Array], pa.Array]:
    """A variant column whose children were changed; its nulls stay."""

    def changed(array: pa.Array) -> pa.Array:
        children = [change(array.field(index)) for index in range(2)]
        fields = [pa.field(name, child.type) for name, child in zip(("metadata", "value"), children, strict=True)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=pa.array(array.is_null()))

    return changed


def _swapped(array: pa.Array) -> pa.Array:
    fields = [pa.field("value", pa.binary()), pa.field("metadata", pa.binary())]
    return pa.StructArray.from_arrays([array.field(1), array.field(0)], fields=fields, mask=pa.array(array.is_null()))


def _null_children(array: pa.Array) -> pa.Array:
    """SQL NULLs as nulls of the children below a struct that is not null itself."""
    mask = np.array(array.is_null().to_pylist(), bool)
    children = [pa.array(array.field(index).to_pylist(), pa.binary(), mask=mask) for index in range(2)]
    return pa.StructArray.from_arrays(children, names=["metadata", "value"])


VARIANT_FORMS: dict[str, Callable[[pa.Array], pa.Array | pa.ChunkedArray]] = {
    "plain": lambda array: array,
    "sliced": _padded,
    "chunked": _chunked,
    "large": _with_children(_cast(pa.large_binary())),
    "sliced large": lambda array: _padded(_with_children(_cast(pa.large_binary()))(array)),
    "views": _with_children(_cast(pa.binary_view())),
    "sliced views": lambda array: _padded(_with_children(_cast(pa.binary_view()))(array)),
    "dictionary metadata": _with_children(lambda child: child.dictionary_encode()),
    "run ends in children": _with_children(_run_ends),
    "run ends": _run_ends,
    "dictionary": _indexed,
    "sliced children": _with_children(_padded),
    "other field order": _swapped,
    "nulls in children": _null_children,
    "extension": _labelled,
    "sliced extension": lambda array: _padded(_labelled(array)),
}
"""A variant column in every form that Arrow has for it."""
