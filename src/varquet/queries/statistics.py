"""What a row group's statistics tell of the values at a path.

The statistics of a typed column speak for a path only where the `value` beside it is all null: else values of other types may
be there, of which nothing is known. They are used where the cast from the column's type keeps the order and never fails. What is
missing, or of an order that is not that of the format, tells nothing.
"""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from varquet.layouts.casts import is_wider_decimal
from varquet.parquet.leaves import has_only_nulls
from varquet.queries.access import Access
from varquet.queries.outcomes import ANYTHING, Bounds

__all__ = ["NOTHING_THERE", "adds_nothing", "bound_as", "bound_of", "bounds_of", "bounds_of_constant", "holds_nothing", "keeps_order"]

_VARIANT_NULL: Final = b"\x00"

BloomFilter = Callable[[int], "Callable[[Any], bool] | None"]

_EPOCH: Final = datetime.datetime(1970, 1, 1)
NOTHING_THERE: Final = Bounds(has_nulls=True, has_values=False)


def bounds_of_constant(value: Any) -> Bounds:
    """What is known where all rows have one value, or null."""
    return NOTHING_THERE if value is None else Bounds(False, True, value, value, has_nan=False)


def holds_nothing(group: pq.RowGroupMetaData, leaf: int | None) -> bool:
    """Whether it is certain that a leaf column of a row group holds nothing but nulls."""
    return leaf is None or has_only_nulls(group.column(leaf))


def adds_nothing(group: pq.RowGroupMetaData, access: Access, target: pa.DataType | None) -> bool:
    """Whether it is certain that the residual of a path has no value for it, as a type: it is null, or a Variant null, throughout.

    Nothing is smaller than the byte of a Variant null; if that is the largest value, it is the only one.
    """
    if holds_nothing(group, access.value):
        return True
    if access.value is None or target is None or access.rest is None or not (access.is_primitive or access.rest.steps):
        return False
    statistics = group.column(access.value).statistics
    return statistics is not None and statistics.has_min_max and statistics.max == _VARIANT_NULL


def bounds_of(access: Access, target: pa.DataType | None, group: pq.RowGroupMetaData, bloom: BloomFilter | None = None) -> Bounds:
    """What is known of the values at a path, as a type, in a row group."""
    if access.layout != "parquet":
        return ANYTHING
    is_column = access.rest is None
    is_typed_only = is_column or adds_nothing(group, access, target)
    if not is_column and (access.rest.steps or not len(access.typed)):  # type: ignore[union-attr]
        return NOTHING_THERE if is_typed_only else ANYTHING
    if not is_typed_only:
        return ANYTHING
    if not is_column and not access.is_primitive:
        return ANYTHING if target is None or pa.types.is_string(target) else NOTHING_THERE
    if len(access.typed) != 1 or access.typed_type is None:
        return ANYTHING
    leaf = access.typed[0]
    chunk = group.column(leaf)
    statistics = chunk.statistics
    if statistics is None:
        return ANYTHING
    kind = access.typed_type
    wanted = target if target is not None else kind
    keeps = keeps_order(kind, wanted)
    has_nulls = not keeps or access.is_within_list or not statistics.has_null_count or statistics.null_count > 0
    if statistics.has_null_count and statistics.null_count == chunk.num_values:
        return NOTHING_THERE
    has_nan = bool(pa.types.is_floating(kind)) or (not keeps and bool(pa.types.is_floating(wanted)))
    if not keeps:
        return Bounds(has_nulls, has_nan=has_nan)
    low, high = (None, None) if not statistics.has_min_max else _values(statistics, kind, wanted)
    excludes = None if bloom is None or access.is_within_list else _excludes(bloom(leaf), kind)
    return Bounds(has_nulls, True, low, high, has_nan, excludes)


def keeps_order(kind: pa.DataType, target: pa.DataType) -> bool:
    """Whether casting from one type to another never fails, and never swaps two values."""
    if kind == target:
        return True
    if pa.types.is_signed_integer(kind):
        if pa.types.is_signed_integer(target):
            return bool(kind.bit_width <= target.bit_width)
        if pa.types.is_decimal128(target):
            return bool(target.precision - target.scale >= 19)
        return bool(pa.types.is_float64(target))
    if pa.types.is_decimal128(kind):
        if pa.types.is_decimal128(target):
            return is_wider_decimal(kind, target)
        return bool(pa.types.is_float64(target))
    return bool(pa.types.is_float32(kind) and pa.types.is_float64(target))


def _values(statistics: pq.Statistics, kind: pa.DataType, target: pa.DataType) -> tuple[Any, Any]:
    low, high = bound_of(statistics.min_raw, kind, is_low=True), bound_of(statistics.max_raw, kind, is_low=False)
    if low is None or high is None or low != low or high != high:
        return None, None
    return bound_as(low, kind, target, is_low=True), bound_as(high, kind, target, is_low=False)


def bound_as(bound: Any, kind: pa.DataType, target: pa.DataType, *, is_low: bool) -> Any:
    """A bound of values of a type as one of what they are cast to, where the cast keeps the order."""
    if pa.types.is_float64(target) and not pa.types.is_floating(kind):
        return _as_double(bound, -math.inf if is_low else math.inf)
    if pa.types.is_decimal128(target) and isinstance(bound, int):
        return decimal.Decimal(bound)
    return bound


def _as_double(bound: int | decimal.Decimal, outward: float) -> float:
    """A bound as a double: itself, or one step further out than a cast could round."""
    near = float(bound)
    return near if near == bound else math.nextafter(near, outward)


def bound_of(raw: Any, kind: pa.DataType, *, is_low: bool) -> Any:
    """A bound as a file has it, as a Python object that compares with literals of the type; None for types whose bounds are not used."""
    if pa.types.is_boolean(kind) or pa.types.is_float64(kind) or pa.types.is_float32(kind):
        return raw
    if pa.types.is_signed_integer(kind):
        return raw if isinstance(raw, int) else None
    if pa.types.is_decimal128(kind):
        number = raw if isinstance(raw, int) else int.from_bytes(raw, "big", signed=True)
        return decimal.Decimal(number).scaleb(-kind.scale, _EXACTLY)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return raw.encode() if isinstance(raw, str) else bytes(raw)
    if pa.types.is_fixed_size_binary(kind):
        return bytes(raw)
    if not isinstance(raw, int):
        return None
    try:
        if pa.types.is_date32(kind):
            return (_EPOCH + datetime.timedelta(days=raw)).date()
        if pa.types.is_timestamp(kind):
            return _moment(raw, kind, is_low=is_low)
        if pa.types.is_time64(kind) and kind.unit == "us":
            return (_EPOCH + datetime.timedelta(microseconds=raw)).time()
    except OverflowError:
        return None
    return None


_EXACTLY: Final = decimal.Context(prec=100)
_PER_MICRO: Final = {"s": (1, 1_000_000), "ms": (1, 1_000), "us": (1, 1), "ns": (1_000, 1)}


def _moment(raw: int, kind: pa.DataType, *, is_low: bool) -> datetime.datetime:
    parts, times = _PER_MICRO[kind.unit]
    micros = raw * times // parts if is_low else -(-raw * times // parts)
    moment = _EPOCH + datetime.timedelta(microseconds=micros)
    return moment.replace(tzinfo=datetime.UTC) if kind.tz is not None else moment


def _excludes(holds: Callable[[Any], bool] | None, kind: pa.DataType) -> Callable[[Any], bool] | None:
    """Whether a Bloom filter rules a literal out, which is given as the type that is compared."""
    if holds is None:
        return None

    def excludes(literal: Any) -> bool:
        if pa.types.is_signed_integer(kind):
            if literal != int(literal):
                return True
            literal = int(literal)
            if not -(1 << (kind.bit_width - 1)) <= literal < 1 << (kind.bit_width - 1):
                return True
            return not holds(literal.to_bytes(8 if kind.bit_width == 64 else 4, "little", signed=True))
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return not holds(literal.encode("utf-8", "surrogatepass") if isinstance(literal, str) else literal)
        if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
            return not holds(bytes(literal))
        return False

    return excludes
