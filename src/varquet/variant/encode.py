"""The readable reference encoder: the bytes of one Variant value, in the one form that varquet writes.

    metadata  every distinct field name of the value once, sorted by unsigned UTF-8 bytes, sorted_strings set;
              offset_size is the smallest for both the bytes of the names and their number; no names: 01 00 00
    object    field ids ascend with the names; the values lie in the order of the dict, so the offsets need not ascend;
              field_id_size is the smallest for the largest id in this object, field_offset_size for the size of its values
    array     the values in order, field_offset_size likewise
    is_large  only above 255 fields or elements
    strings   the short form up to 63 bytes

Every scalar keeps its physical type, but for decimals too narrow for their digits or scale, which a reader might
refuse: these are widened. Nothing here recurses.
"""

from __future__ import annotations

import math
import struct
import uuid
from decimal import Decimal
from typing import Final

from varquet.errors import CastError, UnsupportedTypeError, VarquetError
from varquet.types import (
    BASIC_ARRAY,
    BASIC_OBJECT,
    BASIC_PRIMITIVE,
    BASIC_SHORT_STRING,
    MAX_DECIMAL_DIGITS,
    SHORT_STRING_MAX,
    Family,
    PrimitiveType,
)
from varquet.variant.decimals import decimal_scalar, fits_decimal, unscaled_and_scale
from varquet.variant.messages import place
from varquet.variant.metadata import EMPTY_METADATA
from varquet.variant.model import Node, Scalar

__all__ = ["encode", "encode_metadata", "encode_scalar"]

_METADATA_HEADER: Final = 0x11  # version 1, sorted_strings
_LARGE: Final = 255
_SIZE_LIMIT: Final = (1 << 32) - 1


def encode(node: Node) -> tuple[bytes, bytes]:
    """The metadata and the value of this node.

    >>> metadata, value = encode({"b": [], "a": {}})
    >>> metadata.hex(" "), value.hex(" ")
    ('11 02 00 01 02 61 62', '02 02 00 01 03 00 06 03 00 00 02 00 00')
    """
    names = _sorted_names(node)
    return encode_metadata(names), _Encoder(names).value(node)


def encode_metadata(names: list[str]) -> bytes:
    """The metadata that holds these names, which must be distinct and sorted."""
    if not names:
        return EMPTY_METADATA
    encoded = [name.encode("utf-8") for name in names]
    offsets = _running_sums([len(name) for name in encoded])
    width = _width(max(offsets[-1], len(names)), "field names")
    table = b"".join(number.to_bytes(width, "little") for number in (len(names), *offsets))
    return bytes((_METADATA_HEADER | (width - 1) << 6,)) + table + b"".join(encoded)


def encode_scalar(scalar: Scalar) -> bytes:
    """The bytes of one primitive value."""
    kind, payload = scalar.type, scalar.value
    match payload:
        case None if kind.family is Family.NULL:
            return _primitive(kind, b"")
        case bool() if kind.family is Family.BOOLEAN and payload is (kind.name == "true"):
            return _primitive(kind, b"")
        case int() if kind.name in _INTEGERS and not isinstance(payload, bool):
            return _primitive(kind, _integer(kind, payload))
        case float() if kind.family is Family.DOUBLE:
            return _primitive(kind, struct.pack("<d", payload))
        case float() if kind.family is Family.FLOAT:
            return _primitive(kind, _binary32(payload))
        case Decimal() if kind.name in _DECIMALS:
            return _decimal(kind, payload)
        case str() if kind.family is Family.STRING:
            return _string(kind, payload)
        case bytes() if kind.family is Family.BINARY:
            _width(len(payload), "binary")
            return _primitive(kind, len(payload).to_bytes(4, "little") + payload)
        case uuid.UUID() if kind.family is Family.UUID:
            return _primitive(kind, payload.bytes)
    raise CastError(f"expected a payload of {kind.name}, got {type(payload).__name__} {str(payload)[:40]!r}")


_DECIMALS: Final = frozenset(("decimal4", "decimal8", "decimal16"))
_INTEGERS: Final = frozenset(
    ("int8", "int16", "int32", "int64", "date", "time", "timestamp", "timestamp_ntz", "timestamp_nanos", "timestamp_ntz_nanos")
)


class _Open:
    """An object or array whose children are being written, last one first."""

    __slots__ = ("node", "pending", "sizes")

    def __init__(self, node: list[Node] | dict[str, Node]) -> None:
        self.node = node
        self.pending: list[Node] = list(node.values()) if isinstance(node, dict) else list(node)
        self.sizes: list[int] = []

    def step(self) -> str | int:
        """The name or index of the child that was last taken from `pending`."""
        index = len(self.pending)
        return list(self.node)[index] if isinstance(self.node, dict) else index


class _Encoder:
    """Writes from the last byte to the first: a header comes after its values, whose sizes it has to hold, are known.

    Joining the pieces once, in reverse, keeps the cost linear however deep the value is.
    """

    def __init__(self, names: list[str]) -> None:
        self.ids = {name: field_id for field_id, name in enumerate(names)}
        self.pieces: list[bytes] = []
        self.open: list[_Open] = []
        self.open_nodes: set[int] = set()

    def value(self, node: Node) -> bytes:
        try:
            size = self.begin(node)
            while self.open:
                parent = self.open[-1]
                size = self.begin(parent.pending.pop()) if parent.pending else self.finish(parent)
                if size is not None and self.open:
                    self.open[-1].sizes.append(size)
        except VarquetError as error:
            error.path = place([each.step() for each in self.open])
            raise
        return b"".join(reversed(self.pieces))

    def begin(self, node: Node) -> int | None:
        """Write a scalar and return its size; open an object or array, whose size is not known yet."""
        if isinstance(node, Scalar):
            return self.write(encode_scalar(node))
        if not isinstance(node, (list, dict)):
            raise UnsupportedTypeError(
                f"expected a Scalar, list or dict, got {type(node).__name__}", hint="from_python makes a node of Python values"
            )
        if id(node) in self.open_nodes:
            raise CastError("expected a tree, got an object or array that contains itself")
        self.open_nodes.add(id(node))
        self.open.append(_Open(node))
        return None

    def finish(self, done: _Open) -> int:
        """Write what precedes the values of an object or array, and return the size of it all."""
        header = self.header(done.node, done.sizes[::-1])
        self.open_nodes.remove(id(done.node))
        self.open.pop()
        return self.write(header) + sum(done.sizes)

    def write(self, piece: bytes) -> int:
        self.pieces.append(piece)
        return len(piece)

    def header(self, node: list[Node] | dict[str, Node], sizes: list[int]) -> bytes:
        offsets = _running_sums(sizes)
        offset_size = _width(offsets[-1], "values")
        is_large = len(node) > _LARGE
        count = len(node).to_bytes(4 if is_large else 1, "little")
        if isinstance(node, list):
            header = BASIC_ARRAY | (is_large << 2 | offset_size - 1) << 2
            return bytes((header,)) + count + _numbers(offsets, offset_size)
        fields = sorted(zip((self.ids[name] for name in node), offsets, strict=False))
        id_size = _width(fields[-1][0] if fields else 0, "field names")
        header = BASIC_OBJECT | (is_large << 4 | (id_size - 1) << 2 | offset_size - 1) << 2
        ids = [field_id for field_id, _ in fields]
        starts = [offset for _, offset in fields]
        return bytes((header,)) + count + _numbers(ids, id_size) + _numbers([*starts, offsets[-1]], offset_size)


def _sorted_names(node: Node) -> list[str]:
    """Every distinct field name, sorted by unsigned UTF-8 bytes, which is the plain order of Python's `str`."""
    names: set[str] = set()
    seen: set[int] = set()
    pending = [node]
    while pending:
        here = pending.pop()
        if id(here) in seen:
            continue
        if isinstance(here, dict):
            seen.add(id(here))
            names.update(here)
            pending.extend(here.values())
        elif isinstance(here, list):
            seen.add(id(here))
            pending.extend(here)
    for name in names:
        if not isinstance(name, str):
            raise UnsupportedTypeError(f"expected a field name of type str, got {type(name).__name__} {str(name)[:40]!r}")
        _utf8(name, "field name")
    return sorted(names)


def _primitive(kind: PrimitiveType, data: bytes) -> bytes:
    return bytes((kind.tag << 2 | BASIC_PRIMITIVE,)) + data


def _string(kind: PrimitiveType, text: str) -> bytes:
    data = _utf8(text, "string")
    if len(data) <= SHORT_STRING_MAX:
        return bytes((len(data) << 2 | BASIC_SHORT_STRING,)) + data
    _width(len(data), "string")
    return _primitive(kind, len(data).to_bytes(4, "little") + data)


def _utf8(text: str, what: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise CastError(
            f"expected a {what} of Unicode characters, got the lone surrogate {text[error.start]!r} at character {error.start + 1}"
        ) from None


def _integer(kind: PrimitiveType, number: int) -> bytes:
    try:
        return number.to_bytes(kind.width, "little", signed=True)
    except OverflowError:
        raise CastError(f"expected a number that fits {kind.name}, got {str(number)[:40]}") from None


def _binary32(number: float) -> bytes:
    try:
        data = struct.pack("<f", number)
    except OverflowError:
        raise CastError(f"expected a number that fits float, got {number!r}") from None
    if not math.isnan(number) and struct.unpack("<f", data)[0] != number:
        raise CastError(f"expected a number that 32 bits hold exactly, got {number!r}", hint="round it first, or make it a double")
    return data


def _decimal(kind: PrimitiveType, number: Decimal) -> bytes:
    if not number.is_finite() or number.as_tuple().exponent > 0:  # type: ignore[operator]
        raise CastError(f"expected a finite decimal without a positive exponent, got {number}")
    unscaled, scale = unscaled_and_scale(number)
    if not fits_decimal(unscaled, scale):
        raise CastError(f"expected a decimal of at most {MAX_DECIMAL_DIGITS} digits, got {str(number)[:60]}")
    narrowest = decimal_scalar(unscaled, scale).type
    if narrowest.width > kind.width:
        kind = narrowest
    return _primitive(kind, bytes((scale,)) + unscaled.to_bytes(kind.width - 1, "little", signed=True))


def _running_sums(sizes: list[int]) -> list[int]:
    sums = [0]
    for size in sizes:
        sums.append(sums[-1] + size)
    return sums


def _numbers(numbers: list[int], width: int) -> bytes:
    return b"".join(number.to_bytes(width, "little") for number in numbers)


def _width(largest: int, what: str) -> int:
    """The smallest number of bytes that holds this number."""
    if largest > _SIZE_LIMIT:
        raise CastError(f"expected at most {_SIZE_LIMIT} bytes of {what}, got {largest}")
    return max(1, (largest.bit_length() + 7) // 8)
