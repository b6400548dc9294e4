"""NDJSON and Parquet files as batches with one Variant column: what is ingested and what is profiled.

NDJSON is cut into blocks; a Parquet file gives its batches with the JSON text of one column parsed, or its Variants as they
are, and all other columns beside it. Parsing is left to the threads that shred: sources give what makes a batch.
"""

from __future__ import annotations

import functools
import glob
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa

from varquet.columns.arrow import flatten, variant_field
from varquet.columns.ndjson import Lines, read_ndjson
from varquet.columns.parse_json import ParsedJson, parse_json
from varquet.errors import JsonError, UnsupportedTypeError, VarquetError
from varquet.parquet.json_rows import variants_of_maps
from varquet.parquet.listing import LOG, is_hidden, refuse_log
from varquet.parquet.positions import is_variant_field
from varquet.parquet.reader import OpenFile, open_file
from varquet.variant.json_text import parse_json as reference_parse_json

__all__ = [
    "FIRST_REFUSED",
    "STDIN",
    "Batch",
    "DuplicateKeys",
    "Refused",
    "Source",
    "bad_line",
    "bad_row",
    "find_sources",
    "is_data_name",
    "open_source",
    "parse_texts",
]

STDIN: Final = "-"
FIRST_REFUSED: Final = 10

_SUFFIXES: Final = (".ndjson", ".jsonl", ".json")
_COMPRESSED: Final = ("", ".gz", ".zst", ".bz2", ".lz4")
_MAGIC: Final = b"PAR1"
_BLOCK_BYTES: Final = 8 << 20
_BLOCKS_BYTES: Final = 128 << 20
_COLUMN: Final = "v"

DuplicateKeys: TypeAlias = Literal["error", "last"]


@dataclass(frozen=True, slots=True)
class Refused:
    """A text that is not JSON: where it is, and why."""

    file: str
    line: int | None
    """The line of an NDJSON file, from 1; None for a Parquet file."""
    row: int | None
    """The row of a Parquet file, from 0; None for an NDJSON file."""
    offset: int
    """The byte within the text."""
    file_offset: int | None
    """The byte within an NDJSON file, or within what a compressed one holds."""
    message: str
    hint: str | None

    def error(self) -> JsonError:
        """The error that says so."""
        place = f"line {self.line}" if self.line is not None else f"row {self.row}"
        return JsonError(f"{self.file}, {place}: {self.message}", offset=self.offset, hint=self.hint)


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows, and how many bytes of the source they were."""

    rows: pa.RecordBatch
    size: int
    refused: int
    """How many texts are not JSON."""
    first_refused: list[Refused]
    """The first few of them."""


@dataclass(frozen=True, slots=True)
class Source:
    """Files ready to be read."""

    schema: pa.Schema
    column: str
    """The column of `schema` to be shredded."""
    size: int | None
    """The bytes of all files; None where nobody knows."""
    batches: Callable[[Callable[[int], None]], Iterator[Callable[[], Batch]]]
    """What makes the batches, one behind the other; what it is given is told how many more bytes of the files were read."""
    can_be_read_again: bool
    """Whether all of it is in files, and no pipe or stdin."""

    @property
    def is_map(self) -> bool:
        """Whether the column is one of maps, which stay maps."""
        return bool(pa.types.is_map(self.schema.field(self.column).type))

    def columns(self, on_bytes: Callable[[int], None], *, stop: bool = True) -> Iterator[Callable[[], pa.Array]]:
        """What makes the column of each batch as Variants; with `stop` an error for text that is not JSON, else a null."""
        for make in self.batches(on_bytes):
            yield functools.partial(self._column, make, stop=stop)

    def _column(self, make: Callable[[], Batch], *, stop: bool) -> pa.Array:
        batch = make()
        if batch.refused and stop:
            raise batch.first_refused[0].error()
        column = batch.rows.column(self.column)
        return variants_of_maps(column, self.schema.field(self.column)) if self.is_map else column


def find_sources(names: Sequence[str]) -> list[str]:
    """The files that names, folders and globs stand for, in a stable order; `-` is stdin."""
    found: list[str] = []
    for name in names:
        path = Path(name)
        if name == STDIN or (path.exists() and not path.is_dir()):
            files = [name]
        elif path.is_dir():
            refuse_log(name, has_log=(path / LOG).is_dir())
            files = sorted(str(file) for file in path.rglob("*") if file.is_file() and _is_data(file, path))
        else:
            files = sorted(glob.glob(name, recursive=True))
        if not files:
            raise VarquetError(
                f"expected NDJSON or Parquet files, got {name}, which {'holds none' if path.is_dir() else 'does not exist'}",
                hint="in a folder they end with .parquet, or with .ndjson, .jsonl or .json and perhaps .gz or .zst"
                if path.is_dir()
                else None,
            )
        found += files
    return found


def is_data_name(name: str) -> bool:
    """Whether a file of a folder has the name of one that can be read."""
    return name.lower().endswith((".parquet", *(suffix + more for suffix in _SUFFIXES for more in _COMPRESSED)))


def _is_data(file: Path, folder: Path) -> bool:
    return is_data_name(file.name) and not is_hidden(file.relative_to(folder).parts)


def open_source(
    files: Sequence[str], *, column: str | None, output_column: str | None, duplicate_keys: DuplicateKeys, threads: int
) -> Source:
    """Look at the files, which are all NDJSON or all Parquet, and prepare to read them."""
    parquet = [file for file in files if file != STDIN and _is_parquet(file)]
    if not parquet:
        if column is not None:
            raise VarquetError(
                f"expected the name of a column with Parquet files only, got {column} with NDJSON",
                hint="the output column names the result",
            )
        return _ndjson_source(files, output_column or _COLUMN, duplicate_keys, threads)
    if len(parquet) < len(files):
        other = next(file for file in files if file not in parquet)
        raise VarquetError(f"expected files of one kind, got {parquet[0]}, which is Parquet, and {other}, which is not")
    return _parquet_source(files, column, output_column, duplicate_keys, threads)


def _is_parquet(file: str) -> bool:
    if not Path(file).is_file():  # a pipe gives its bytes only once
        return False
    with open(file, "rb") as opened:
        return opened.read(len(_MAGIC)) == _MAGIC


def _ndjson_source(files: Sequence[str], name: str, duplicate_keys: DuplicateKeys, threads: int) -> Source:
    schema = pa.schema([variant_field(name, shared_metadata=True)])
    # Several blocks for each thread are in memory at once; with many threads they are smaller.
    block_bytes = max(1 << 20, min(_BLOCK_BYTES, _BLOCKS_BYTES // threads))

    def parse(file: str, lines: Lines) -> Batch:
        parsed = parse_texts(lines.texts, duplicate_keys)
        rows = pa.RecordBatch.from_arrays([parsed.column], schema=schema)
        first = [bad_line(file, lines, error, duplicate_keys) for error in parsed.errors[:FIRST_REFUSED].to_pylist()]
        return Batch(rows, lines.size, parsed.errors.num_rows, first)

    def batches(on_bytes: Callable[[int], None]) -> Iterator[Callable[[], Batch]]:
        for file in files:
            opened = sys.stdin.buffer if file == STDIN else file
            for lines in read_ndjson(opened, block_bytes=block_bytes, on_bytes=on_bytes):
                yield functools.partial(parse, file, lines)

    sizes = [os.path.getsize(file) if file != STDIN and Path(file).is_file() else None for file in files]
    known = [size for size in sizes if size is not None]
    return Source(schema, name, sum(known) if len(known) == len(files) else None, batches, len(known) == len(files))


def parse_texts(texts: pa.Array, duplicate_keys: DuplicateKeys) -> ParsedJson:
    """Variants of JSON texts, and what is wrong with those that are none, by one thread."""
    return parse_json(texts, on_error="collect", duplicate_keys=duplicate_keys, shared_metadata=True, threads=1)


def bad_line(file: str, lines: Lines, error: dict[str, Any], duplicate_keys: DuplicateKeys) -> Refused:
    """What is wrong with a line, for people."""
    row = error["row"]
    offset, message, hint = _reason(lines.text(row), error, duplicate_keys)
    name = "stdin" if file == STDIN else file
    return Refused(name, int(lines.numbers[row]), None, offset, int(lines.starts[row]) + offset, message, hint)


def bad_row(file: str, texts: pa.Array, before: int, error: dict[str, Any], duplicate_keys: DuplicateKeys) -> Refused:
    """What is wrong with a text of a column, for people."""
    text = flatten(texts.slice(error["row"], 1), "JSON text")
    octets = text.data[text.offsets[0] : text.offsets[1]].tobytes()
    offset, message, hint = _reason(octets, error, duplicate_keys)
    return Refused(file, None, before + error["row"], offset, None, message, hint)


def _reason(text: bytes, error: dict[str, Any], duplicate_keys: DuplicateKeys) -> tuple[int, str, str | None]:
    """Why a text is not JSON, in the words of the reference, which knows a hint and does not see the line end."""
    try:
        reference_parse_json(text, duplicate_keys=duplicate_keys)
    except JsonError as reason:
        return reason.offset or 0, reason.message, reason.hint
    return error["offset"], error["message"], None


def _parquet_source(
    files: Sequence[str], column: str | None, output_column: str | None, duplicate_keys: DuplicateKeys, threads: int
) -> Source:
    opened = [(file, open_file(file)) for file in files]
    name = column or _only_column(*opened[0])
    target = output_column or name
    schemas = [_schema_of(file, one, name, target) for file, one in opened]
    for file, schema in zip(files, schemas, strict=True):
        if not schema.equals(schemas[0]):
            raise UnsupportedTypeError(
                f"expected files with the same columns, got {files[0]} and {file}, which differ: {_differs(schemas[0], schema)}"
            )

    def parse(file: str, batch: pa.RecordBatch, index: int, before: int, size: int) -> Batch:
        columns = list(batch.columns)
        if is_variant_field(batch.schema.field(index)) or pa.types.is_map(batch.schema.field(index).type):
            return Batch(pa.RecordBatch.from_arrays(columns, schema=schemas[0]), size, 0, [])
        texts = columns[index]
        parsed = parse_texts(texts, duplicate_keys)
        columns[index] = parsed.column
        first = [bad_row(file, texts, before, error, duplicate_keys) for error in parsed.errors[:FIRST_REFUSED].to_pylist()]
        return Batch(pa.RecordBatch.from_arrays(columns, schema=schemas[0]), size, parsed.errors.num_rows, first)

    def batches(on_bytes: Callable[[int], None]) -> Iterator[Callable[[], Batch]]:
        for file, one in opened:
            size, total, before = os.path.getsize(file), max(1, one.file.metadata.num_rows), 0
            for batch in one.batches(threads=threads):
                done = size * (before + batch.num_rows) // total - size * before // total
                on_bytes(done)
                yield functools.partial(parse, file, batch, one.schema.get_field_index(name), before, done)
                before += batch.num_rows

    return Source(schemas[0], target, sum(os.path.getsize(file) for file in files), batches, can_be_read_again=True)


def _only_column(file: str, opened: OpenFile) -> str:
    """The column to shred where none is named: the only Variant, or else the only text, or else the only map."""
    variants = [field.name for field in opened.schema if is_variant_field(field)]
    found = variants or [field.name for field in opened.schema if _is_text(field.type)]
    found = found or [field.name for field in opened.schema if _is_map(field.type)]
    if len(found) == 1:
        return str(found[0])
    kinds = f"several: {', '.join(found)}" if found else "none"
    raise VarquetError(f"expected {file} to have one Variant column or one column of JSON text, got {kinds}", hint="name the column")


def _schema_of(file: str, opened: OpenFile, name: str, target: str) -> pa.Schema:
    index = opened.schema.get_field_index(name)
    names = ", ".join(opened.schema.names)
    if index < 0:
        raise VarquetError(f"expected a column of {file}, got {name}", hint=f"they are {names}")
    field = opened.schema.field(index)
    if target != name and target in opened.schema.names:
        raise VarquetError(f"expected the output column to be a new name, got {target}, which {file} has", hint=f"its columns are {names}")
    if is_variant_field(field) or _is_map(field.type):
        return opened.schema.set(index, field.with_name(target))
    if not _is_text(field.type):
        raise UnsupportedTypeError(
            f"expected a Variant column, a column of JSON text or of maps, got {name} of {file}, which is {field.type}"
        )
    return opened.schema.set(index, variant_field(target, shared_metadata=True))


def _is_map(kind: pa.DataType) -> bool:
    return bool(pa.types.is_map(kind) and _is_text(kind.key_type))


def _is_text(kind: pa.DataType) -> bool:
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_binary, pa.types.is_large_binary)
    return any(is_kind(kind) for is_kind in text)


def _differs(one: pa.Schema, other: pa.Schema) -> str:
    if one.names != other.names:
        return f"{', '.join(one.names)} and {', '.join(other.names)}"
    return next(f"{a.name} is {a.type} and {b.type}" for a, b in zip(one, other, strict=True) if not a.equals(b))
