"""What the statistics in a table's log tell of the values of a whole file, which need not be opened to know it.

A path that they have is of one type in all rows of the file, or is not there. Texts and moments are cut, so bounds may be wider than
the values; they may be wider still where rows were deleted. What is missing, or of a type whose bounds are not used, tells nothing.
"""

from __future__ import annotations

import datetime
import decimal
import struct
from typing import Any, Final

import pyarrow as pa

from varquet.delta.statistics import FileStatistics
from varquet.paths import Path
from varquet.queries.outcomes import Bounds
from varquet.queries.statistics import NOTHING_THERE, bound_as, bound_of, keeps_order
from varquet.types import Family
from varquet.variant import Scalar, Variant, decode

__all__ = ["file_bounds"]

# Moments in statistics are cut to milliseconds.
_CUT: Final = datetime.timedelta(milliseconds=1)
_LAST_CHARACTER: Final = "\U0010ffff"
# Some writers make doubles of decimals, and more than one step is taken on the way: so many digits are right.
_DOUBLE_DIGITS: Final = 15
_DOUBLE_ERROR: Final = decimal.Decimal("1e-14")
_EXACTLY: Final = decimal.Context(prec=100)
# No number of any type has more before the point.
_MOST_DIGITS: Final = 400

_DIGITS: Final = {"decimal4": 9, "decimal8": 18, "decimal16": 38}
_FAMILIES: Final = (Family.EXACT, Family.FLOAT, Family.DOUBLE, Family.DATE, Family.TIMESTAMP, Family.TIMESTAMP_NTZ, Family.STRING)


def file_bounds(
    statistics: FileStatistics, column: tuple[str, ...], path: Path | None, kind: pa.DataType | None, target: pa.DataType | None
) -> Bounds:
    """What is known of the values of an operand in a file.

    Args:
        statistics: what the log says of the file.
        column: the names that lead to the column.
        path: that of the values in a Variant column; None for a column itself.
        kind: the type of the column; that of a path is known from the statistics.
        target: what the values are cast to; None leaves them as they are.
    """
    nulls = statistics.null_count(column)
    if nulls is not None and nulls == statistics.rows:
        return NOTHING_THERE
    if path is None:
        has_nulls, low, high = nulls != 0, *_column_bounds(statistics, column, kind)
    else:
        # That a path is missing in no row is never known.
        has_nulls, (kind, low, high) = True, _path_bounds(statistics, column, path)
    if kind is None:
        return Bounds(has_nulls or target is not None)
    wanted = kind if target is None else target
    if not keeps_order(kind, wanted):
        return Bounds(has_nan=bool(pa.types.is_floating(kind) or pa.types.is_floating(wanted)))
    return Bounds(
        has_nulls,
        low=None if low is None else bound_as(low, kind, wanted, is_low=True),
        high=None if high is None else bound_as(high, kind, wanted, is_low=False),
        has_nan=bool(pa.types.is_floating(kind)),
    )


def _path_bounds(statistics: FileStatistics, column: tuple[str, ...], path: Path) -> tuple[pa.DataType | None, Any, Any]:
    """The type of the values at a path, None if it is not known, and their bounds."""
    low, high = (_scalar(bound) for bound in statistics.variant_bounds(column, path))
    kinds = [kind for kind in map(_type_of, (low, high)) if kind is not None]
    if not kinds:
        return None, None, None
    # Decimals of one width may still differ in scale.
    kind = max(kinds, key=lambda one: one.scale) if pa.types.is_decimal(kinds[0]) else kinds[0]
    return kind, _variant_bound(low, kind, is_low=True), _variant_bound(high, kind, is_low=False)


def _scalar(variant: Variant | None) -> Scalar | None:
    node = None if variant is None else decode(variant.metadata, variant.value)
    return node if isinstance(node, Scalar) and node.type.family in _FAMILIES else None


def _type_of(scalar: Scalar | None) -> pa.DataType | None:
    if scalar is None:
        return None
    if isinstance(scalar.value, decimal.Decimal):
        scale = -int(scalar.value.as_tuple().exponent)
        return pa.decimal128(max(_DIGITS[scalar.type.name], scale), scale)
    return scalar.type.arrow


def _variant_bound(scalar: Scalar | None, kind: pa.DataType, *, is_low: bool) -> Any:
    if scalar is None:
        return None
    value = scalar.value
    if isinstance(value, str):
        return _text(value, is_low=is_low)
    if isinstance(value, decimal.Decimal):
        return value
    return None if value != value else bound_of(value, kind, is_low=is_low)


def _column_bounds(statistics: FileStatistics, column: tuple[str, ...], kind: pa.DataType | None) -> tuple[Any, Any]:
    if kind is None:
        return None, None
    low, high = statistics.bounds(column)
    return _json_bound(low, kind, is_low=True), _json_bound(high, kind, is_low=False)


def _json_bound(raw: Any, kind: pa.DataType, *, is_low: bool) -> Any:
    """A bound that JSON has as something that compares with literals of the type; None if it is not understood."""
    if pa.types.is_boolean(kind):
        return raw if isinstance(raw, bool) else None
    if isinstance(raw, str):
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return _text(raw, is_low=is_low)
        return _moment(raw, kind, is_low=is_low)
    if isinstance(raw, bool) or not isinstance(raw, (int, decimal.Decimal)) or decimal.Decimal(raw).adjusted() > _MOST_DIGITS:
        return None
    if pa.types.is_integer(kind):
        return raw if isinstance(raw, int) and raw.bit_length() <= kind.bit_width else None
    if pa.types.is_floating(kind):
        return _floating(raw, kind)
    return _decimal(raw, kind, is_low=is_low) if pa.types.is_decimal(kind) else None


def _text(text: str, *, is_low: bool) -> bytes | None:
    # Where Delta cuts a character in two, a question mark is left of it, which is no upper bound.
    if not is_low and text.endswith("?" + _LAST_CHARACTER):
        return None
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return None


def _moment(text: str, kind: pa.DataType, *, is_low: bool) -> Any:
    try:
        if pa.types.is_date32(kind):
            return datetime.date.fromisoformat(text)
        if not pa.types.is_timestamp(kind):
            return None
        moment = datetime.datetime.fromisoformat(text)
        offset = moment.utcoffset()
        if kind.tz is None:
            # Some writers put a Z behind moments without a zone as well.
            if offset:
                return None
            moment = moment.replace(tzinfo=None)
        elif offset is None:
            return None
        return moment if is_low else moment + _CUT
    except (ValueError, OverflowError):
        return None


def _floating(raw: int | decimal.Decimal, kind: pa.DataType) -> float | None:
    try:
        number = float(raw)
        # The text of a 32-bit number has no more digits than tell it from others of 32 bits.
        return number if pa.types.is_float64(kind) else float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return None


def _decimal(raw: int | decimal.Decimal, kind: pa.DataType, *, is_low: bool) -> decimal.Decimal:
    number = decimal.Decimal(raw)
    if kind.precision <= _DOUBLE_DIGITS:
        return number
    error = _EXACTLY.multiply(number.copy_abs(), _DOUBLE_ERROR)
    return _EXACTLY.subtract(number, error) if is_low else _EXACTLY.add(number, error)
