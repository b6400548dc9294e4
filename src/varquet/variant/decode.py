"""The readable reference decoder: one Variant value from its bytes, every bound checked.

    value        = header (1 byte) | data           header: value_header (6 bits) << 2 | basic_type (2 bits)

    primitive    basic_type 0, value_header = type tag; data as `varquet.types` says; 4-byte length before string and binary
    short string basic_type 1, value_header = length of the UTF-8 bytes that follow, 0 to 63
    object       basic_type 2, value_header = is_large << 4 | (field_id_size - 1) << 2 | field_offset_size - 1
                 num_elements (4 bytes if is_large, else 1) | field ids | num_elements + 1 offsets | values
    array        basic_type 3, value_header = is_large << 2 | field_offset_size - 1
                 num_elements (4 bytes if is_large, else 1) | num_elements + 1 offsets | values

Offsets count from the first value byte, and the last one is the size of all values. Only that last one bounds the
children: values may be stored in any order, one may be used twice, and there may be gaps. Reserved bits are ignored.

Because values may be used twice, a few bytes could describe a tree without end. So the bytes of every value that is
visited are added up (of an object or array only those before its values), and more than 16 times the size of the
outermost value is refused. Without sharing the sum cannot exceed that size.

Nothing here recurses: depth is limited by memory alone.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from varquet.errors import InvalidVariantError
from varquet.types import BASIC_ARRAY, BASIC_OBJECT, BASIC_PRIMITIVE, BY_NAME, BY_TAG, MAX_DECIMAL_DIGITS, PrimitiveType
from varquet.variant.decimals import decimal_of, fits_decimal
from varquet.variant.messages import byte_count, place
from varquet.variant.metadata import Metadata, metadata_size
from varquet.variant.model import Node, Payload, Scalar

__all__ = [
    "EXPANSION_LIMIT",
    "Buffer",
    "Container",
    "Metadata",
    "decode",
    "decode_value",
    "is_container",
    "metadata_size",
    "primitive_type",
    "read_container",
    "read_scalar",
    "value_size",
]

Buffer: TypeAlias = bytes | memoryview

EXPANSION_LIMIT: Final = 16

_STRING: Final = BY_NAME["string"]


def decode(metadata: bytes, value: bytes) -> Node:
    """The value as a tree of plain Python objects; object fields keep the order in which they are encoded.

    >>> decode(bytes.fromhex("010000"), bytes.fromhex("0c2a"))
    Scalar(type=PrimitiveType('int8'), value=42)
    """
    dictionary = Metadata(bytes(metadata))
    dictionary.check()
    node = decode_value(dictionary, value)
    size = value_size(value)
    if size != len(value):
        raise InvalidVariantError(f"expected the value to end after {byte_count(size)}, got {len(value)}", offset=size)
    return node


def decode_value(dictionary: Metadata, value: Buffer) -> Node:
    """The value that starts `value`, which may be followed by other bytes; only the names it uses are read."""
    return _Decoder(dictionary, value).node()


def is_container(header: int) -> bool:
    """Whether a value with this header is an object or an array."""
    return header & 3 in (BASIC_OBJECT, BASIC_ARRAY)


def value_size(data: Buffer, start: int = 0, end: int | None = None) -> int:
    """How many bytes the value at `start` takes; raises if it does not end by `end`.

    >>> value_size(bytes.fromhex("0c2a" "ffff"))
    2
    """
    end = len(data) if end is None else end
    if is_container(_byte(data, start, end)):
        return read_container(data, start, end).values_end - start
    _, first, size = _scalar_extent(data, start, end)
    return first + size - start


def primitive_type(data: Buffer, start: int, end: int) -> PrimitiveType:
    """The type of the primitive or short string at `start`."""
    header = _byte(data, start, end)
    if header & 3 != BASIC_PRIMITIVE:
        return _STRING
    if header >> 2 not in BY_TAG:
        raise InvalidVariantError(
            f"expected a primitive type tag of 0 to {max(BY_TAG)}, got {header >> 2}",
            offset=start,
            hint="the value was written by a newer version of the specification, or is damaged",
        )
    return BY_TAG[header >> 2]


def read_scalar(data: Buffer, start: int, end: int) -> tuple[Scalar, int]:
    """The primitive or short string at `start`, and how many bytes it takes."""
    kind, first, size = _scalar_extent(data, start, end)
    payload = _PAYLOADS[kind.name](bytes(data[first : first + size]), first)
    return Scalar(kind, payload), first + size - start


@dataclass(frozen=True, slots=True)
class Container:
    """The parts of an object or array before its values; all positions are in `data`."""

    data: Buffer
    is_object: bool
    count: int
    id_size: int
    offset_size: int
    ids_start: int
    offsets_start: int
    values_start: int
    values_end: int

    def id_at(self, index: int) -> int:
        """Where the id of a field is."""
        return self.ids_start + index * self.id_size

    def field_id(self, index: int) -> int:
        """The id of a field: its name's place in the dictionary."""
        return _unsigned(self.data, self.id_at(index), self.id_size)

    def child(self, index: int) -> int:
        """Where the value of a field or element starts."""
        at = self.offsets_start + index * self.offset_size
        offset = _unsigned(self.data, at, self.offset_size)
        if offset >= self.values_end - self.values_start:
            raise InvalidVariantError(
                f"expected an offset below {self.values_end - self.values_start}, the size of the values, got {offset}", offset=at
            )
        return self.values_start + offset


def read_container(data: Buffer, start: int, end: int) -> Container:
    """The object or array at `start`; raises unless all of it, values included, ends by `end`."""
    header = _byte(data, start, end) >> 2
    is_object = data[start] & 3 == BASIC_OBJECT
    what = "object" if is_object else "array"
    is_large = header >> 4 & 1 if is_object else header >> 2 & 1
    id_size = (header >> 2 & 3) + 1 if is_object else 0
    offset_size = (header & 3) + 1
    count_size = 4 if is_large else 1

    _need(count_size, f"num_elements of the {what}", start + 1, end)
    count = _unsigned(data, start + 1, count_size)
    ids_start = start + 1 + count_size
    _need(count * id_size + (count + 1) * offset_size, f"ids and offsets of the {what} of {count}", ids_start, end)
    offsets_start = ids_start + count * id_size
    values_start = offsets_start + (count + 1) * offset_size
    total = _unsigned(data, values_start - offset_size, offset_size)
    _need(total, f"values in the {what}", values_start, end)
    return Container(data, is_object, count, id_size, offset_size, ids_start, offsets_start, values_start, values_start + total)


class _Open:
    """An object or array whose children are being read."""

    __slots__ = ("container", "next", "node", "step")

    def __init__(self, container: Container, node: list[Node] | dict[str, Node]) -> None:
        self.container = container
        self.node = node
        self.next = 0
        self.step: str | int | None = None


class _Decoder:
    def __init__(self, dictionary: Metadata, data: Buffer) -> None:
        self.dictionary = dictionary
        self.data = data
        self.allowance = 0
        self.open: list[_Open] = []

    def node(self) -> Node:
        try:
            size = value_size(self.data)
            self.allowance = EXPANSION_LIMIT * size
            root = self.begin(0, size)
            while self.open:
                self.advance(self.open[-1])
            return root
        except InvalidVariantError as error:
            error.path = place([each.step for each in self.open if each.step is not None])
            raise

    def begin(self, start: int, end: int) -> Node:
        """Read a scalar whole; make an empty node of an object or array and leave its children for later."""
        if not is_container(_byte(self.data, start, end)):
            scalar, size = read_scalar(self.data, start, end)
            self.spend(size, start)
            return scalar
        container = read_container(self.data, start, end)
        self.spend(container.values_start - start, start)
        node: list[Node] | dict[str, Node] = {} if container.is_object else []
        self.open.append(_Open(container, node))
        return node

    def advance(self, parent: _Open) -> None:
        """Read the next child of an object or array, or close it after the last."""
        container, index = parent.container, parent.next
        if index == container.count:
            self.open.pop()
            return
        parent.next += 1
        parent.step = None
        if isinstance(parent.node, list):
            parent.step = index
            parent.node.append(self.begin(container.child(index), container.values_end))
            return
        name = self.dictionary.name(container.field_id(index), offset=container.id_at(index))
        parent.step = name
        if name in parent.node:
            raise InvalidVariantError(f"expected distinct field names in an object, got {name[:40]!r} twice", offset=container.id_at(index))
        parent.node[name] = self.begin(container.child(index), container.values_end)

    def spend(self, size: int, start: int) -> None:
        self.allowance -= size
        if self.allowance < 0:
            raise InvalidVariantError(
                f"expected a value that expands to at most {EXPANSION_LIMIT} times its own bytes, got more",
                offset=start,
                hint="its objects or arrays use the same bytes over and over",
            )


def _scalar_extent(data: Buffer, start: int, end: int) -> tuple[PrimitiveType, int, int]:
    """The type of the scalar at `start`, where its data starts and how many bytes that is."""
    kind = primitive_type(data, start, end)
    first, size = start + 1, kind.width
    if data[start] & 3 != BASIC_PRIMITIVE:
        size = data[start] >> 2
    elif size < 0:
        _need(4, f"length of the {kind.name}", first, end)
        size = _unsigned(data, first, 4)
        first += 4
    _need(size, kind.name, first, end)
    return kind, first, size


def _need(size: int, what: str, start: int, end: int) -> None:
    if end - start < size:
        raise InvalidVariantError(f"expected {byte_count(size)} of {what}, got {end - start}", offset=start)


def _byte(data: Buffer, start: int, end: int) -> int:
    if start >= end:
        raise InvalidVariantError("expected a value, got no bytes", offset=start)
    return data[start]


def _unsigned(data: Buffer, start: int, width: int) -> int:
    return int.from_bytes(data[start : start + width], "little")


def _integer(data: bytes, first: int) -> int:
    return int.from_bytes(data, "little", signed=True)


def _decimal(data: bytes, first: int) -> Payload:
    scale, unscaled = data[0], int.from_bytes(data[1:], "little", signed=True)
    if scale > MAX_DECIMAL_DIGITS:
        raise InvalidVariantError(f"expected a decimal scale of 0 to {MAX_DECIMAL_DIGITS}, got {scale}", offset=first)
    if not fits_decimal(unscaled, scale):
        raise InvalidVariantError(
            f"expected a decimal of at most {MAX_DECIMAL_DIGITS} digits, got {len(str(abs(unscaled)))}", offset=first + 1
        )
    return decimal_of(unscaled, scale)


def _text(data: bytes, first: int) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidVariantError(f"expected a string in UTF-8, got byte 0x{data[error.start]:02x}", offset=first + error.start) from None


_PAYLOADS: Final[dict[str, Callable[[bytes, int], Payload]]] = {
    "null": lambda data, first: None,
    "true": lambda data, first: True,
    "false": lambda data, first: False,
    "double": lambda data, first: float(struct.unpack("<d", data)[0]),
    "float": lambda data, first: float(struct.unpack("<f", data)[0]),
    "binary": lambda data, first: data,
    "string": _text,
    # The one type in big endian (encoding specification, "uuid").
    "uuid": lambda data, first: uuid.UUID(bytes=data),
    **dict.fromkeys(("decimal4", "decimal8", "decimal16"), _decimal),
    **dict.fromkeys(("int8", "int16", "int32", "int64", "date", "time"), _integer),
    **dict.fromkeys(("timestamp", "timestamp_ntz", "timestamp_nanos", "timestamp_ntz_nanos"), _integer),
}
"""How the data of each type becomes a payload; called with the bytes and where they were, for errors."""
