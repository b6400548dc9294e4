"""The footer of a Parquet file: read without its row groups, and patched to say which groups are Variants.

    PAR1 | pages, page indexes | FileMetaData | length of FileMetaData, 4 bytes little endian | PAR1

    FileMetaData  1 version | 2 schema | 3 num_rows | 4 row_groups | 5 key_value_metadata | 6 created_by | 7 column_orders ...

No offset in a Parquet file points into or behind the footer, so a footer can grow without anything else changing. That
is how files written by pyarrow, which cannot write the logical type VARIANT, come to have it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol, TypeAlias

from varquet.errors import ParquetError
from varquet.parquet.elements import Elements, SchemaElement, read_elements
from varquet.parquet.footer_fields import CREATED_BY, KEY_VALUES, NUM_ROWS, ROW_GROUPS, SCHEMA
from varquet.parquet.thrift import BINARY, LIST, STOP, STRUCT, Edit, Struct, apply, binary, field_header, list_header, read_struct

__all__ = [
    "CONTENT_KEY",
    "JSON_KEY",
    "LAYOUT_KEY",
    "MAGIC",
    "PLAN_KEY",
    "SCHEMA_KEY",
    "Footer",
    "annotate",
    "read_footer",
    "with_tail",
]

MAGIC: Final = b"PAR1"
_ENCRYPTED_MAGIC: Final = b"PARE"
_TAIL: Final = 8
_SHORTEST: Final = len(MAGIC) + _TAIL
_FIRST_READ: Final = 1 << 16
_LONGEST: Final = (1 << 31) - 1

# What varquet records of a file's Variant columns: their schemas by name, and the layouts of those not in the standard's.
SCHEMA_KEY: Final = "varquet.schemas"
LAYOUT_KEY: Final = "varquet.layouts"
# The positions of columns of JSON text that were Variants, and what `convert` has found to be in each column.
JSON_KEY: Final = "varquet.json"
CONTENT_KEY: Final = "varquet.content"
# The plan that the schemas are from.
PLAN_KEY: Final = "varquet.plan"


class SeekableFile(Protocol):
    """What is asked of an open file; Python's binary files and pyarrow's NativeFile have it."""

    def seek(self, offset: int, whence: int = 0, /) -> int: ...
    def tell(self) -> int: ...
    def read(self, size: int = -1, /) -> bytes: ...


File: TypeAlias = "str | os.PathLike[str] | SeekableFile"
ColumnPath: TypeAlias = "Sequence[str]"


@dataclass(frozen=True)
class Footer:
    """The FileMetaData of a Parquet file, read from its bytes as it is asked for.

    Schema and row count come before the row groups and cost what the schema costs. The key-value metadata and created_by
    come behind them: asking for these steps over every column chunk once.
    """

    data: bytes

    @cached_property
    def schema(self) -> SchemaElement:
        """The root of the schema."""
        return self._elements.tree()

    @cached_property
    def num_rows(self) -> int:
        """How many rows the file has."""
        rows = self._holding(NUM_ROWS).integer(NUM_ROWS)
        if rows is None or rows < 0:
            raise ParquetError(f"expected a number of rows in the footer, got {'none' if rows is None else rows}")
        return rows

    @cached_property
    def key_value_metadata(self) -> dict[str, str]:
        """The texts that writers leave under keys of their own; bytes that are not UTF-8 become surrogate escapes."""
        found = {}
        for pair in self._holding(KEY_VALUES).structs(KEY_VALUES):
            key, value = pair.octets(1), pair.octets(2)
            if key is None:
                raise ParquetError("expected a key with each value of the key-value metadata, got none", offset=pair.start)
            found[key.decode("utf-8", "surrogateescape")] = (value or b"").decode("utf-8", "surrogateescape")
        return found

    @cached_property
    def created_by(self) -> str | None:
        """The program that wrote the file, as it names itself."""
        name = self._holding(CREATED_BY).octets(CREATED_BY)
        return None if name is None else name.decode("utf-8", "replace")

    def variants(self) -> dict[tuple[str, ...], int | None]:
        """The path of each group annotated VARIANT, from below the root, and the version its annotation names."""
        return self._elements.variants()

    @cached_property
    def _elements(self) -> Elements:
        return read_elements(self._holding(SCHEMA).structs(SCHEMA))

    @cached_property
    def _before_row_groups(self) -> Struct:
        return read_struct(self.data, 0, before=ROW_GROUPS)

    @cached_property
    def whole(self) -> Struct:
        """All of its fields."""
        return read_struct(self.data, 0)

    def _holding(self, field_id: int) -> Struct:
        head = self._before_row_groups
        return head if field_id in head.fields else self.whole


def read_footer(file: File) -> Footer:
    """Read the footer of a Parquet file, given by its path or open for reading.

    A damaged schema is found here; damage behind it when what lies there is asked for. Both raise ParquetError.
    """
    if not isinstance(file, str | os.PathLike):
        return _located(file)
    with open(file, "rb") as opened:
        try:
            return read_footer(opened)
        except ParquetError as error:
            error.path = os.fspath(file)
            raise


def annotate(footer: bytes, paths: Iterable[ColumnPath], version: int = 1, *, key_values: Mapping[str, str] | None = None) -> bytes:
    """The bytes of a footer in which exactly these groups got the logical type VARIANT(version).

    A path holds the names from below the root, those of the middle levels of lists and maps among them: ("tags", "list",
    "element"). A bare string is a column at the top. `key_values` are added to the key-value metadata, or replace what is
    there under their keys. Everything else stays byte for byte; what is there already is not written again.
    """
    if not 1 <= version <= 127:
        raise ParquetError(f"expected a version of the Variant specification from 1 to 127, got {version}")
    old = Footer(footer)
    if old.whole.end != len(footer):
        raise ParquetError(
            f"expected the footer to end at its {old.whole.end} bytes, got {len(footer) - old.whole.end} more",
            hint="it may be signed, as in files with encrypted columns; a signed footer cannot be changed",
        )
    elements = old._elements
    edits = [elements.variant_edit(footer, index, version) for index in elements.find(paths)]
    if key_values:
        edits.append(_key_values_edit(old.whole, key_values))
    return apply(footer, (edit for edit in edits if edit is not None))


def _located(file: SeekableFile) -> Footer:
    file.seek(0, os.SEEK_END)
    size = file.tell()
    if size < _SHORTEST:
        raise ParquetError(f"expected a Parquet file, of {_SHORTEST} bytes at least, got {size}")
    tail = _read_at(file, max(0, size - _FIRST_READ), size)
    magic = tail[-len(MAGIC) :]
    if magic == _ENCRYPTED_MAGIC:
        raise ParquetError(f"expected a footer in plain text, got an encrypted one ({magic.decode()})", hint="decrypt the file first")
    if magic != MAGIC:
        cut_off = _read_at(file, 0, len(MAGIC)) == MAGIC
        hint = "the file starts as Parquet: it was cut off, or is still being written" if cut_off else "this is not a Parquet file"
        raise ParquetError(f"expected {MAGIC!r} at the end of a Parquet file, got {magic!r}", offset=size - len(MAGIC), hint=hint)
    length = int.from_bytes(tail[-_TAIL : -len(MAGIC)], "little")
    if length > size - _SHORTEST:
        raise ParquetError(f"expected a footer of at most {size - _SHORTEST} bytes, got a length of {length}", offset=size - _TAIL)
    start = size - _TAIL - length
    data = tail[-_TAIL - length : -_TAIL] if length + _TAIL <= len(tail) else _read_at(file, start, size - _TAIL)
    footer = Footer(data)
    # What every use of a footer needs is checked here, so that errors come with the file's name.
    _ = footer.schema, footer.num_rows
    return footer


def _read_at(file: SeekableFile, start: int, end: int) -> bytes:
    file.seek(start)
    pieces = []
    while start < end:
        piece = file.read(end - start)
        if not piece:
            raise ParquetError(f"expected {end - start} more bytes of the file, got its end", offset=start)
        pieces.append(piece)
        start += len(piece)
    return b"".join(pieces)


def with_tail(footer: bytes) -> bytes:
    """A footer as a file ends with it."""
    if len(footer) > _LONGEST:
        raise ParquetError(f"expected a footer of at most {_LONGEST} bytes, got {len(footer)}")
    return b"".join((footer, len(footer).to_bytes(4, "little"), MAGIC))


def _key_values_edit(metadata: Struct, key_values: Mapping[str, str]) -> Edit | None:
    wanted = {_octets(key): _octets(value) for key, value in key_values.items()}
    new = dict(wanted)
    pairs = list(metadata.structs(KEY_VALUES))
    before = [metadata.data[pair.start : pair.end] for pair in pairs]
    after = []
    for pair, piece in zip(pairs, before, strict=True):
        key = pair.octets(1)
        if key is None or key not in wanted:
            after.append(piece)
        elif key in new:
            value = new.pop(key)
            after.append(piece if pair.octets(2) == value else _key_value(key, value))
        # Else the key is there twice, and readers differ in which they take: the one written now shall be the only one.
    after += [_key_value(key, value) for key, value in new.items()]
    if after == before:
        return None
    return metadata.edit(KEY_VALUES, LIST, list_header(STRUCT, len(after)) + b"".join(after))


def _key_value(key: bytes, value: bytes) -> bytes:
    return field_header(0, 1, BINARY) + binary(key) + field_header(1, 2, BINARY) + binary(value) + bytes((STOP,))


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
