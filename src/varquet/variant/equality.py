"""When two values are the same: by what they mean, not by how they are stored.

exact numerics     by value, whatever the width or scale: int8 1 = int64 1 = decimal 1.00
float, double      each only with its own kind; NaN = NaN, -0.0 is not 0.0
timestamp, _ntz    by the moment, microseconds or nanoseconds alike, but never one with the other
string             short or long form alike
objects            whatever the order of their fields
everything else    same type, same value
"""

from __future__ import annotations

import math
import struct
from collections.abc import Hashable
from decimal import Decimal
from typing import Final, TypeAlias

from varquet.types import Family
from varquet.variant.decimals import unscaled_and_scale
from varquet.variant.model import Node, Scalar

__all__ = ["LogicalKey", "equal", "logical_key", "without_trailing_zeros"]

LogicalKey: TypeAlias = tuple[Hashable, ...]

_NOT_A_NUMBER: Final = "NaN"


def equal(left: Node, right: Node) -> bool:
    """Whether two nodes mean the same value.

    >>> from varquet.variant.json_text import parse_json
    >>> equal(parse_json('{"a": 1, "b": 2.50}'), parse_json('{"b": 2.5, "a": 1.0}'))
    True
    """
    return logical_key(left) == logical_key(right)


def logical_key(node: Node) -> LogicalKey:
    """A hashable form that is the same for equal nodes and differs for all others.

    It is flat: every object and array is announced by its size, and its children follow. Nested tuples would overflow
    the stack when hashed or compared at great depth.
    """
    key: list[Hashable] = []
    pending: list[Node | str] = [node]
    while pending:
        here = pending.pop()
        if isinstance(here, str):
            key.append(here)
        elif isinstance(here, Scalar):
            key.append((here.type.family, _canonical(here)))
        elif isinstance(here, dict):
            key.append(("object", len(here)))
            for name in sorted(here, reverse=True):
                pending += (here[name], name)
        else:
            key.append(("array", len(here)))
            pending.extend(reversed(here))
    return tuple(key)


def _canonical(scalar: Scalar) -> Hashable:
    payload, family = scalar.value, scalar.type.family
    if isinstance(payload, float):
        return _NOT_A_NUMBER if math.isnan(payload) else struct.pack("<d", payload)
    if isinstance(payload, Decimal):
        return without_trailing_zeros(*unscaled_and_scale(payload))
    if family is Family.EXACT:
        return payload, 0
    if family in (Family.TIMESTAMP, Family.TIMESTAMP_NTZ) and isinstance(payload, int):
        return payload if scalar.type.name.endswith("nanos") else payload * 1000
    return payload


def without_trailing_zeros(unscaled: int, scale: int) -> tuple[int, int]:
    """The same decimal with the smallest scale that has all of its digits."""
    while scale and unscaled % 10 == 0:
        unscaled, scale = unscaled // 10, scale - 1
    return unscaled, scale
