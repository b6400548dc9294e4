"""What can be profiled: columns, tables, batches, datasets, readers and files, as the parts of one column."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyarrow as pa

from varquet.columns.arrow import Column, is_variant_type, plain
from varquet.columns.parse_json import parse_json
from varquet.errors import UnsupportedTypeError, VarquetError
from varquet.layouts.shredding import layout_of, unshred
from varquet.parquet.json_rows import variants_of_maps
from varquet.parquet.positions import is_variant_field
from varquet.parquet.sources import Source, find_sources, open_source

if TYPE_CHECKING:
    import pyarrow.dataset

__all__ = ["Data", "column_parts", "map_column", "variant_parts", "variants_of"]

Data: TypeAlias = (
    "Column | pa.Table | pa.RecordBatch | Sequence[pa.Table | pa.RecordBatch] | pyarrow.dataset.Dataset | pyarrow.dataset.Scanner"
    " | pa.RecordBatchReader | str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
)
"""Variants, shredded or not, JSON text or maps: a column, what has one, or files."""

Parts: TypeAlias = "Callable[[], Iterable[Callable[[], Column]]]"
"""What makes the parts of a column, one behind the other, whenever it is called."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """One column of what is in Arrow's memory, or comes there batch by batch."""

    field: pa.Field
    columns: Callable[[], Iterable[Column]]
    can_be_read_again: bool = True


def variant_parts(data: Data, column: str | None, threads: int) -> tuple[Parts, bool]:
    """What makes the parts of a column as Variants, and whether it can do so twice."""
    rows = _rows(data, column)
    if rows is not None:
        return lambda: (
            functools.partial(variants_of, part, rows.field, threads=threads) for part in rows.columns()
        ), rows.can_be_read_again
    source = _source(data, column, threads)
    return lambda: source.columns(lambda _: None), source.can_be_read_again


def column_parts(data: Data, column: str | None, threads: int) -> Iterable[Callable[[], Column]]:
    """What makes the parts of a column of maps, as they are."""
    rows = _rows(data, column)
    if rows is not None:
        return (functools.partial(lambda part: part, part) for part in rows.columns())
    source = _source(data, column, threads)
    if not source.is_map:
        raise UnsupportedTypeError(f"expected a column of maps, got {source.column!r} of {source.schema.field(source.column).type}")
    return (functools.partial(lambda make: make().rows.column(source.column), make) for make in source.batches(lambda _: None))


def map_column(files: Sequence[str], column: str | None) -> str | None:
    """The name of the column of files if it is one of maps."""
    source = open_source(find_sources(files), column=column, output_column=None, duplicate_keys="last", threads=1)
    return source.column if source.is_map else None


def variants_of(column: Column, field: pa.Field, *, on_error: Literal["raise", "null"] = "raise", threads: int | None = None) -> Column:
    """A variant column of one that is one, shredded or not, or of JSON text, or of maps; text that is not JSON is an error, or a null."""
    kind = plain(pa.nulls(0, column.type)).type
    if is_variant_type(kind) and kind.get_field_index("typed_value") < 0:
        return column
    if pa.types.is_map(kind):
        return variants_of_maps(column, field)
    if layout_of(kind) is not None:
        return unshred(column, threads=threads)
    return parse_json(column, on_error=on_error, duplicate_keys="last", shared_metadata=True)


def _source(data: Any, column: str | None, threads: int) -> Source:
    given = [data] if isinstance(data, (str, os.PathLike)) else data
    if not isinstance(given, Sequence) or not given or not all(isinstance(one, (str, os.PathLike)) for one in given):
        raise UnsupportedTypeError(
            f"expected a column, tables, record batches, a dataset, or files, got {_told(given)}",
            hint="parse_json makes a column of JSON text",
        )
    names = [os.fspath(one) for one in given]
    return open_source(find_sources(names), column=column, output_column=None, duplicate_keys="last", threads=threads)


def _told(data: Any) -> str:
    """What something is, in the words of an error."""
    name = type(data).__name__
    if not isinstance(data, Sequence):
        return f"a {name}"
    kinds = sorted({type(one).__name__ for one in data})
    return f"a {name} of {' and '.join(kinds)}" if kinds else f"an empty {name}"


def _rows(data: Any, column: str | None) -> _Rows | None:
    """A column of Arrow's; None for files."""
    if isinstance(data, (pa.Array, pa.ChunkedArray)):
        if column is not None:
            raise UnsupportedTypeError(f"expected no name for the only column, got {column!r}")
        return _Rows(pa.field("data", data.type), lambda: [data])
    tables = [data] if isinstance(data, (pa.Table, pa.RecordBatch)) else data
    if isinstance(tables, Sequence) and tables and all(isinstance(one, (pa.Table, pa.RecordBatch)) for one in tables):
        field = _field(tables[0].schema, column)
        for one in tables:
            _field(one.schema, field.name)
        return _Rows(field, lambda: [one.column(field.name) for one in tables])
    if isinstance(data, pa.RecordBatchReader):
        field = _field(data.schema, column)
        return _Rows(field, lambda: (batch.column(field.name) for batch in data), can_be_read_again=False)
    # Whoever has a dataset has imported its module, which others need not wait for.
    datasets = sys.modules.get("pyarrow.dataset")
    if datasets is not None and isinstance(data, datasets.Dataset):
        field = _field(data.schema, column)
        return _Rows(field, lambda: (batch.column(0) for batch in data.scanner(columns=[field.name]).to_batches()))
    if datasets is not None and isinstance(data, datasets.Scanner):
        field = _field(data.projected_schema, column)
        return _Rows(field, lambda: (batch.column(field.name) for batch in _scanned(data)))
    return None


def _scanned(scanner: pyarrow.dataset.Scanner) -> Iterator[pa.RecordBatch]:
    """The batches of a scanner, of which some can be read once and do not say so."""
    try:
        yield from scanner.to_batches()
    except pa.ArrowInvalid as error:
        if "already scanned" not in str(error):
            raise
        raise VarquetError(
            "expected data that can be read twice, because an object has too many names, got a scanner of a stream",
            hint="write it to a file first, or let more names be counted",
        ) from error


def _is_shredded(kind: pa.DataType) -> bool:
    """Whether a type can only be that of a shredded column, although nothing says that it is a Variant."""
    layout = layout_of(kind)
    return layout is not None and (layout != "parquet" or kind.get_field_index("typed_value") >= 0)


def _field(schema: pa.Schema, column: str | None) -> pa.Field:
    """The field of a column by its name, or of the only one that can be meant."""
    there = "the columns are " + (", ".join(map(repr, schema.names)) or "none")
    if column is not None:
        count = len(schema.get_all_field_indices(column))
        if count != 1:
            raise UnsupportedTypeError(f"expected one column {column!r}, got {count or 'none'}", hint=there)
        return schema.field(column)
    found = [field for field in schema if is_variant_field(field)]
    found = found or [field for field in schema if _is_shredded(field.type)]
    found = found or [field for field in schema if pa.types.is_map(field.type)]
    if len(found) != 1:
        raise UnsupportedTypeError(
            f"expected a table with one Variant column, or else one of maps, got {', '.join(field.name for field in found) or 'none'}",
            hint=f"name the column; {there}",
        )
    return found[0]
