"""A decoded Variant as plain Python: the form that the readable reference code works on.

A node is a `dict` (object), a `list` (array) or a `Scalar`, which keeps the physical type beside the value so that
nothing is lost between decoding and encoding.
"""

from __future__ import annotations

import decimal
import uuid
from dataclasses import dataclass
from typing import TypeAlias, Union

from varquet.types import BY_NAME, PrimitiveType

__all__ = ["NULL", "Node", "Payload", "Scalar"]

Payload: TypeAlias = None | bool | int | float | decimal.Decimal | bytes | str | uuid.UUID


@dataclass(frozen=True, slots=True)
class Scalar:
    """A primitive value with its physical type.

    | type | payload |
    |---|---|
    | null | None |
    | true, false | bool |
    | int8 .. int64 | int |
    | float, double | float |
    | decimal4 .. decimal16 | Decimal, whose exponent is minus the scale |
    | date | int, days since 1970-01-01 |
    | time | int, microseconds since midnight |
    | timestamp, timestamp_ntz | int, microseconds since 1970-01-01T00:00:00 |
    | timestamp_nanos, timestamp_ntz_nanos | int, nanoseconds since then |
    | binary | bytes |
    | string | str |
    | uuid | UUID |
    """

    type: PrimitiveType
    value: Payload


Node: TypeAlias = Union[Scalar, "list[Node]", "dict[str, Node]"]

NULL = Scalar(BY_NAME["null"], None)
