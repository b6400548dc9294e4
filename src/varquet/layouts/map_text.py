"""Texts stored as numbers, booleans, dates and timestamps: only those that come back exactly as they were.

boolean              true
bigint               12
double               1.5                          as casts write it
decimal(9,2)         1.50                         with all digits behind the point
date                 2026-01-31
timestamp            2026-01-31T12:30:00Z         no zeros at the end of a fraction
timestamp, in ms     2026-01-31T12:30:00.120Z     three digits always
timestamp_ntz        2026-01-31 12:30:00
"""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from varquet.columns.arrow import plain
from varquet.layouts.casts import cast_typed

__all__ = ["CANDIDATES", "texts_of", "typed_of"]

CANDIDATES: Final = (
    pa.bool_(),
    pa.int64(),
    pa.date32(),
    pa.timestamp("us", "UTC"),
    pa.timestamp("ms", "UTC"),
    pa.timestamp("us"),
    pa.float64(),
)
"""The types that texts are tried as; decimals are for those who know their digits."""

_MICROS: Final = pa.timestamp("us", "UTC")


def typed_of(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Texts as a type; null where the text would not come back exactly as it is."""
    texts = plain(texts).cast(pa.string())
    typed = _cast(texts, kind)
    is_same = pc.fill_null(pc.equal(texts_of(typed), texts), False)
    return pc.if_else(is_same, typed, pa.scalar(None, kind))


def _cast(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(kind):
        digits = rf"^-?[0-9]{{1,{kind.precision - kind.scale}}}{re.escape('.') if kind.scale else ''}[0-9]{{{kind.scale}}}$"
        return pc.if_else(pc.match_substring_regex(texts, digits), texts, pa.scalar(None, pa.string())).cast(kind)
    if _is_instant(kind) and kind != _MICROS:
        return cast_typed(texts, _MICROS).cast(kind, safe=False)
    return cast_typed(texts, kind)


def texts_of(typed: pa.Array) -> pa.Array:
    """The texts of what `typed_of` made."""
    typed = plain(typed)
    kind = typed.type
    if pa.types.is_decimal(kind):
        return typed.cast(pa.string())
    if not _is_instant(kind):
        return cast_typed(typed, pa.string())
    # Without a zone, because they are in UTC and no database of zones is needed then.
    moments = typed.cast(pa.timestamp(kind.unit))
    if kind.unit == "ms":
        return pc.strftime(moments, "%Y-%m-%dT%H:%M:%SZ")
    texts = pc.replace_substring(cast_typed(moments, pa.string()), " ", "T")
    return pc.binary_join_element_wise(texts, pa.scalar("Z"), pa.scalar(""))


def _is_instant(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) and kind.tz is not None)
