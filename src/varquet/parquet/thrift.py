"""Thrift's compact protocol, as far as a Parquet footer needs it: walk any struct, read what is wanted, patch one field.

    struct    field* stop(00)
    field     header | value      header = (id - previous id) << 4 | kind, or kind | zigzag varint id where that is not 1..15
    list, set header | element*   header = count << 4 | kind, or F0 | kind and a varint count above 14
    map       count | kinds | (key value)*      no kinds where the count is 0
    binary    varint length | bytes
    integers  zigzag varints; one byte for i8; a boolean field is its header alone, a boolean element one byte

A struct is walked into the spans of its fields; nothing is decoded before it is asked for, and what is not understood is
copied as it is. Nothing here recurses or allocates by a count that the input merely claims.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from varquet.errors import ParquetError

__all__ = [
    "BINARY",
    "I8",
    "I32",
    "I64",
    "LIST",
    "STOP",
    "STRUCT",
    "TRUE",
    "Edit",
    "Field",
    "Struct",
    "apply",
    "binary",
    "field_header",
    "fields",
    "integer",
    "integers",
    "list_header",
    "read_struct",
    "struct",
    "structs",
]

STOP: Final = 0
TRUE: Final = 1
FALSE: Final = 2
I8: Final = 3
I16: Final = 4
I32: Final = 5
I64: Final = 6
DOUBLE: Final = 7
BINARY: Final = 8
LIST: Final = 9
SET: Final = 10
MAP: Final = 11
STRUCT: Final = 12
UUID: Final = 13

_KINDS: Final = ("stop", "true", "false", "i8", "i16", "i32", "i64", "double", "binary", "list", "set", "map", "struct", "uuid")
_BOOLEANS: Final = (TRUE, FALSE)
_INTEGERS: Final = (I16, I32, I64)
_FIXED: Final = {TRUE: 1, FALSE: 1, I8: 1, DOUBLE: 8, UUID: 16}
"""Bytes of an element; a boolean field has none besides its header."""

_STOP: Final = bytes((STOP,))
_ONE_BYTE: Final = tuple(bytes((byte,)) for byte in range(256))
_VARINT_BYTES: Final = 10
_LONG_COUNT: Final = 15
_RUN_FIELDS: Final = 32


def _run_of_fields() -> re.Pattern[bytes]:
    """A pattern for fields that need no looking into, as many as follow each other.

    A footer holds some twenty-five fields per column chunk, and there may be a million chunks: a match skips a run of
    fields four times as fast as Python steps over them one by one. It takes what footers are made of: numbers, short
    strings, short lists of them, and structs of them. At anything else it ends, and `_skip` goes on from there.
    """

    def bytes_of(*pairs: tuple[int, int]) -> bytes:
        return b"[" + b"".join(re.escape(bytes((high << 4 | kind,))) for high, kind in pairs) + b"]"

    def header(*kinds: int) -> bytes:
        return bytes_of(*((delta, kind) for delta in range(1, 16) for kind in kinds))

    def counted(element: bytes, most: int, *kinds: int) -> bytes:
        return header(LIST) + any_of(*(bytes_of(*((count, kind) for kind in kinds)) + element * count for count in range(most + 1)))

    def any_of(*choices: bytes) -> bytes:
        return b"(?:" + b"|".join(choices) + b")"

    number = b"[\x80-\xff]{0,%d}[\x00-\x7f]" % (_VARINT_BYTES - 1)
    string = any_of(*(re.escape(bytes((size,))) + b".{%d}" % size for size in range(32)))
    plain = (header(*_INTEGERS) + number, header(TRUE, FALSE), header(BINARY) + string, counted(number, 4, *_INTEGERS))
    struct = any_of(*plain) + b"{0,%d}\x00" % _RUN_FIELDS
    numbers = any_of(*plain[:2]) + b"{0,%d}\x00" % _RUN_FIELDS
    return re.compile(
        any_of(*plain, counted(string, 6, BINARY), header(STRUCT) + struct, counted(numbers, 3, STRUCT)) + b"{0,%d}" % _RUN_FIELDS,
        re.DOTALL,
    )


_RUN: Final = _run_of_fields()


class Field(NamedTuple):
    """Where one field of a struct lies: its header at data[header:start], its value at data[start:end]."""

    id: int
    kind: int
    header: int
    start: int
    end: int


class Edit(NamedTuple):
    """A change to some bytes: data[start:end] becomes value."""

    start: int
    end: int
    value: bytes


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct as the spans of its fields; values are read from them by field id, None where there is no such field.

    >>> struct = read_struct(bytes.fromhex("15 08 18 01 61 00"), 0)
    >>> struct.integer(1), struct.text(2), struct.text(3), struct.end
    (4, 'a', None, 6)
    """

    data: bytes
    start: int
    fields: dict[int, Field]
    stop: int
    """Where the stop byte lies, or the header of the field before which the walk was told to end."""

    @property
    def end(self) -> int:
        """The first byte behind the struct."""
        return self.stop + 1

    def field(self, field_id: int, *kinds: int) -> Field | None:
        """The field with this id, which must be of one of these kinds."""
        field = self.fields.get(field_id)
        if field is not None and field.kind not in kinds:
            expected = " or ".join(_KINDS[kind] for kind in kinds)
            raise ParquetError(
                f"expected field {field_id} of a struct in the footer as {expected}, got {_KINDS[field.kind]}", offset=field.header
            )
        return field

    def integer(self, field_id: int) -> int | None:
        """An integer of any width."""
        field = self.field(field_id, I8, *_INTEGERS)
        if field is None:
            return None
        if field.kind == I8:
            return int.from_bytes(self.data[field.start : field.end], "little", signed=True)
        number, _ = _zigzag(self.data, field.start)
        if field.end == field.start + 1:
            return number
        bits = {I16: 16, I32: 32, I64: 64}[field.kind]
        if not -(1 << bits - 1) <= number < 1 << bits - 1:
            raise ParquetError(f"expected a number of {bits} bits in the footer, got {number}", offset=field.start)
        return number

    def boolean(self, field_id: int) -> bool | None:
        """A boolean."""
        field = self.field(field_id, *_BOOLEANS)
        return None if field is None else field.kind == TRUE

    def octets(self, field_id: int) -> bytes | None:
        """The bytes of a binary or string."""
        field = self.field(field_id, BINARY)
        if field is None:
            return None
        _, start = _varint(self.data, field.start)
        return self.data[start : field.end]

    def text(self, field_id: int) -> str | None:
        """A string, which must be UTF-8."""
        octets = self.octets(field_id)
        try:
            return None if octets is None else octets.decode("utf-8")
        except UnicodeDecodeError:
            offset = self.fields[field_id].start
            raise ParquetError(f"expected UTF-8 text in the footer, got {octets!r:.60}", offset=offset) from None

    def struct(self, field_id: int) -> Struct | None:
        """A struct within this one."""
        field = self.field(field_id, STRUCT)
        return None if field is None else read_struct(self.data, field.start)

    def structs(self, field_id: int) -> Iterator[Struct]:
        """The structs of a list, each walked when its turn comes; none where there is no such field."""
        field = self.field(field_id, LIST)
        if field is None:
            return
        kind, count, at = _list_header(self.data, field.start)
        if count and kind != STRUCT:
            raise ParquetError(f"expected a list of structs in the footer, got one of kind {kind}", offset=field.start)
        for _ in range(count):
            struct = read_struct(self.data, at)
            yield struct
            at = struct.end

    def integers(self, field_id: int) -> list[int] | None:
        """The integers of a list."""
        field = self.field(field_id, LIST)
        if field is None:
            return None
        kind, count, at = _list_header(self.data, field.start)
        if count and kind not in _INTEGERS:
            raise ParquetError(f"expected a list of integers in the footer, got one of kind {kind}", offset=field.start)
        numbers = []
        for _ in range(count):
            number, at = _zigzag(self.data, at)
            numbers.append(number)
        return numbers

    def edit(self, field_id: int, kind: int, value: bytes) -> Edit:
        """What must change so that this field has this value, be it there already or not.

        A new field goes where the order of ids puts it. The field behind it keeps its value but gets a new header, which
        counts from the new field on.
        """
        old = self.field(field_id, kind)
        if old is not None:
            return Edit(old.start, old.end, value)
        previous = 0
        for field in self.fields.values():
            if field.id > field_id:
                header = field_header(field_id, field.id, field.kind)
                return Edit(field.header, field.start, field_header(previous, field_id, kind) + value + header)
            previous = field.id
        return Edit(self.stop, self.stop, field_header(previous, field_id, kind) + value)


def read_struct(data: bytes, at: int, *, before: int | None = None) -> Struct:
    """Walk the struct that starts here, to its end or only up to the field with the id `before`."""
    start = at
    fields: dict[int, Field] = {}
    field_id = 0
    try:
        while True:
            header_at = at
            header = data[at]
            at += 1
            if header == STOP:
                return Struct(data, start, fields, header_at)
            kind = header & 15
            if header > 15:
                field_id += header >> 4
            else:
                field_id, at = _zigzag(data, at)
            if field_id == before:
                return Struct(data, start, fields, header_at)
            if kind in _BOOLEANS:
                end = at
            elif kind in _INTEGERS and data[at] < 128:
                end = at + 1
            elif kind == BINARY and data[at] < 128:
                end = at + 1 + data[at]
            else:
                end = _skip(data, at, kind)
            if field_id in fields:
                raise ParquetError(f"expected each field of a struct in the footer once, got field {field_id} again", offset=header_at)
            fields[field_id] = Field(field_id, kind, header_at, at, end)
            at = end
    except IndexError:
        raise _cut_off(data) from None


def _skip(data: bytes, at: int, kind: int) -> int:
    """Where a value of this kind that starts here ends; an IndexError if that is behind the last byte."""
    # What the value is nested in: None in a struct, else the kinds of the elements in turn and how many are still to come.
    pending: list[tuple[tuple[int, ...], int] | None] = []
    while True:
        if kind == STRUCT:
            pending.append(None)
        elif kind == BINARY:
            size, at = _varint(data, at)
            if size > len(data) - at:
                raise IndexError
            at += size
        elif kind in _INTEGERS:
            _, at = _varint(data, at)
        elif kind in (LIST, SET):
            element, count, at = _list_header(data, at)
            if element in _FIXED:
                at += count * _FIXED[element]
            elif count:
                pending.append(((element,), count))
        elif kind == MAP:
            count, at = _varint(data, at)
            if count:
                pending.append(((data[at] >> 4, data[at] & 15), 2 * count))
                at += 1
        elif kind in _FIXED:
            at += _FIXED[kind]
        else:
            raise ParquetError(f"expected a kind of Thrift value in the footer, got {kind}", offset=at)

        while pending:
            level = pending[-1]
            if level is None:
                run = _RUN.match(data, at)
                assert run is not None
                at = run.end()
                header = data[at]
                at += 1
                if header == STOP:
                    pending.pop()
                    continue
                kind = header & 15
                if header <= 15:
                    _, at = _varint(data, at)
                if kind in _BOOLEANS:
                    continue
                break
            kinds, count = level
            if count == 0:
                pending.pop()
                continue
            kind = kinds[-count % len(kinds)]
            pending[-1] = (kinds, count - 1)
            break
        else:
            if at > len(data):
                raise IndexError
            return at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    if byte < 128:
        return byte, at + 1
    number = byte & 127
    for shift in range(7, 7 * _VARINT_BYTES, 7):
        at += 1
        byte = data[at]
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at + 1
    raise ParquetError(f"expected a number of at most {_VARINT_BYTES} bytes in the footer, got a longer one", offset=at)


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    number, at = _varint(data, at)
    return number >> 1 ^ -(number & 1), at


def _list_header(data: bytes, at: int) -> tuple[int, int, int]:
    header = data[at]
    kind, count = header & 15, header >> 4
    start = at
    at += 1
    if count == _LONG_COUNT:
        count, at = _varint(data, at)
    # The shortest element is one byte, so a larger count is a lie, found before anything is done that often.
    if count > len(data) - at:
        raise ParquetError(f"expected a list in the footer of at most {len(data) - at} elements, got {count}", offset=start)
    return kind, count, at


def _cut_off(data: bytes) -> ParquetError:
    return ParquetError("expected more of the footer, got its end", offset=len(data))


def apply(data: bytes, edits: Iterable[Edit]) -> bytes:
    """The bytes with these changes made, which must not overlap; all else as it was."""
    pieces: list[bytes] = []
    at = 0
    for edit in sorted(edits):
        pieces += (data[at : edit.start], edit.value)
        at = edit.end
    return b"".join((*pieces, data[at:]))


def field_header(previous: int, field_id: int, kind: int) -> bytes:
    """The header of a field that follows the one with the id `previous`.

    >>> field_header(9, 10, STRUCT).hex(), field_header(0, 16, STRUCT).hex()
    ('1c', '0c20')
    """
    if 0 < field_id - previous <= 15:
        return _ONE_BYTE[(field_id - previous) << 4 | kind]
    return bytes((kind,)) + _to_varint(field_id << 1 if field_id >= 0 else ~(field_id << 1))


def list_header(kind: int, count: int) -> bytes:
    """The header of a list of so many elements."""
    if count < _LONG_COUNT:
        return bytes((count << 4 | kind,))
    return bytes((_LONG_COUNT << 4 | kind,)) + _to_varint(count)


def fields(*given: tuple[int, int, bytes], previous: int = 0) -> bytes:
    """Fields of a struct, by number, kind and value, without the stop byte; `previous` is the number of the field before them.

    >>> fields((1, I32, integer(4)), (2, BINARY, binary(b"a"))).hex(" ")
    '15 08 18 01 61'
    """
    made: list[bytes] = []
    for number, kind, value in given:
        made += (field_header(previous, number, kind), value)
        previous = number
    return b"".join(made)


def struct(*given: tuple[int, int, bytes], previous: int = 0) -> bytes:
    """A struct of these fields, or its end from the field behind `previous` on."""
    return fields(*given, previous=previous) + _STOP


def structs(given: Sequence[bytes]) -> bytes:
    """A list of structs."""
    return list_header(STRUCT, len(given)) + b"".join(given)


def integers(numbers: Sequence[int], kind: int = I64) -> bytes:
    """A list of integers."""
    return list_header(kind, len(numbers)) + b"".join(map(integer, numbers))


def binary(octets: bytes) -> bytes:
    """A binary or string value."""
    return _to_varint(len(octets)) + octets


@functools.lru_cache(1 << 12)
def integer(number: int) -> bytes:
    """An integer of any width from 16 bits on; the same few are written again and again.

    >>> integer(-1).hex(), integer(64).hex()
    ('01', '8001')
    """
    return _to_varint(number << 1 if number >= 0 else ~(number << 1))


def _to_varint(number: int) -> bytes:
    if number < 1 << 14:
        return _ONE_BYTE[number] if number < 1 << 7 else bytes((number & 127 | 128, number >> 7))
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
