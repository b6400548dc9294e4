"""A 64-bit number for a value: the same for values that are equal (`varquet.variant.equality`), different for nearly all others.

Two values that differ have the same number by an accident of one in 2^64; whoever must expect somebody to look for such values
takes a seed that nobody knows. The number of an object is made from those of its fields, in any order, and that of an array
from those of its elements, so that shredded columns have theirs without being put together.

    mix(a, b)        the lower half of a * b, xor the upper half
    number(k, l, h)  mix(mix(seed ^ A ^ l, B) ^ h, A ^ k)                       of two 64-bit words of kind k
    bytes(k, b)      words of eight bytes, w0, w1 ..., the last one filled up with zeros (and all zeros where none is left):
                     m = seed ^ A; for every whole word m = mix(m ^ w, B); mix(mix(m ^ last, B ^ length), A ^ k)
    object           number(OBJECT, sum of mix(bytes(NAME, name) ^ C, field ^ D) over its fields, how many)
    array            number(ARRAY, m, how many), m = 0 and for every element m = mix(m ^ element, D)
    exact number     number(EXACT | scale << 8, unscaled as 128 bits) without zeros at the end of its fraction
    timestamp        number(kind, microseconds rounded down, nanoseconds beyond them)
"""

from __future__ import annotations

import math
import struct
import uuid
from decimal import Decimal
from typing import Final

from varquet.types import Family
from varquet.variant.decimals import unscaled_and_scale
from varquet.variant.equality import without_trailing_zeros
from varquet.variant.model import Node, Scalar

__all__ = ["fingerprint"]

_M64: Final = (1 << 64) - 1
_A: Final = 0x9E3779B97F4A7C15
_B: Final = 0xE7037ED1A0B428DB
_C: Final = 0xA0761D6478BD642F
_D: Final = 0x8EBC6AF09C88C6E3

_NULL, _TRUE, _FALSE, _EXACT, _DOUBLE, _FLOAT, _DATE, _TIME, _TIMESTAMP, _TIMESTAMP_NTZ = range(10)
_BINARY, _STRING, _UUID, _OBJECT, _ARRAY, _NAME = range(10, 16)

_WHOLE: Final = {Family.DATE: _DATE, Family.TIME: _TIME}
_MOMENTS: Final = {Family.TIMESTAMP: _TIMESTAMP, Family.TIMESTAMP_NTZ: _TIMESTAMP_NTZ}


def fingerprint(node: Node, seed: int = 0) -> int:
    """The number of a value, from 0 to 2^64 - 1.

    >>> from varquet.variant.json_text import parse_json
    >>> fingerprint(parse_json('{"a": 1, "b": 2.50}')) == fingerprint(parse_json('{"b": 2.5, "a": 1.0}'))
    True
    """
    seed &= _M64
    # Every value twice: first its children are put before it, then their numbers are taken from `done`.
    done: list[int] = []
    pending: list[tuple[Node, bool]] = [(node, False)]
    while pending:
        here, is_ready = pending.pop()
        if isinstance(here, Scalar):
            done.append(_scalar(here, seed))
        elif not is_ready:
            pending.append((here, True))
            pending += ((child, False) for child in (here.values() if isinstance(here, dict) else here))
        else:
            # The last child was done first.
            children = [done.pop() for _ in range(len(here))]
            done.append(_object(dict(zip(here, children, strict=True)), seed) if isinstance(here, dict) else _array(children, seed))
    return done[0]


def _object(fields: dict[str, int], seed: int) -> int:
    total = sum(_mix(_bytes(_NAME, name.encode("utf-8", "surrogatepass"), seed) ^ _C, field ^ _D) for name, field in fields.items())
    return _number(_OBJECT, total & _M64, len(fields), seed)


def _array(elements: list[int], seed: int) -> int:
    total = 0
    for element in elements:
        total = _mix(total ^ element, _D)
    return _number(_ARRAY, total, len(elements), seed)


def _scalar(scalar: Scalar, seed: int) -> int:
    payload, family = scalar.value, scalar.type.family
    if payload is None or isinstance(payload, bool):
        return _number(_NULL if payload is None else _TRUE if payload else _FALSE, 0, 0, seed)
    if isinstance(payload, str):
        return _bytes(_STRING, payload.encode("utf-8", "surrogatepass"), seed)
    if isinstance(payload, uuid.UUID):
        return _bytes(_UUID, payload.bytes, seed)
    if isinstance(payload, bytes):
        return _bytes(_BINARY, payload, seed)
    if isinstance(payload, float):
        kind, form, integer = (_FLOAT, "<f", "<I") if family is Family.FLOAT else (_DOUBLE, "<d", "<Q")
        bits = struct.unpack(integer, struct.pack(form, math.nan if math.isnan(payload) else payload))[0]
        return _number(kind, bits, 0, seed)
    if isinstance(payload, Decimal):
        unscaled, scale = without_trailing_zeros(*unscaled_and_scale(payload))
        return _number(_EXACT | scale << 8, unscaled & _M64, (unscaled >> 64) & _M64, seed)
    if family in _MOMENTS:
        micros, rest = divmod(payload, 1000) if scalar.type.name.endswith("nanos") else (payload, 0)
        return _number(_MOMENTS[family], micros & _M64, rest, seed)
    if family in _WHOLE:
        return _number(_WHOLE[family], payload & _M64, 0, seed)
    return _number(_EXACT, payload & _M64, (payload >> 64) & _M64, seed)


def _mix(one: int, other: int) -> int:
    product = one * other
    return (product & _M64) ^ (product >> 64)


def _number(kind: int, low: int, high: int, seed: int) -> int:
    return _mix(_mix(seed ^ _A ^ low, _B) ^ high, _A ^ kind)


def _bytes(kind: int, data: bytes, seed: int) -> int:
    mixed = seed ^ _A
    whole = len(data) & ~7
    for at in range(0, whole, 8):
        mixed = _mix(mixed ^ int.from_bytes(data[at : at + 8], "little"), _B)
    return _mix(_mix(mixed ^ int.from_bytes(data[whole:], "little"), _B ^ len(data)), _A ^ kind)
