"""What is wrong with bytes that are no Variant: the words for the codes of the kernels."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from varquet.errors import InvalidVariantError
from varquet.kernels.source import _codes as codes

__all__ = ["finding", "findings_table", "raise_first"]

# (rule of the encoding specification, what is wrong). Codes about metadata count offsets from its start.
_WORDS: Final = {
    codes.BAD_METADATA_EMPTY: ("E2", "expected metadata, got no bytes"),
    codes.BAD_METADATA_VERSION: ("E4", "expected metadata of version 1, got another version"),
    codes.BAD_METADATA_TRUNCATED: ("E6", "expected more bytes of metadata, got its end"),
    codes.BAD_METADATA_OFFSETS: ("E6", "expected dictionary offsets that start at 0 and ascend within the metadata, got others"),
    codes.BAD_METADATA_UTF8: ("E8", "expected field names in UTF-8, got other bytes"),
    codes.BAD_METADATA_LENGTH: ("E6", "expected the metadata to end with its last field name, got more bytes"),
    codes.BAD_METADATA_NULL: ("E2", "expected metadata, got null in a row that is not null"),
    codes.BAD_VALUE_NULL: ("E3", "expected a value, got null in a row that is not null"),
    codes.BAD_VALUE_EMPTY: ("E9", "expected a value, got no bytes"),
    codes.BAD_VALUE_TRUNCATED: ("E9", "expected more bytes of the value, got its end"),
    codes.BAD_VALUE_LENGTH: ("E9", "expected the end of the value, got more bytes"),
    codes.BAD_TAG: ("R6", "expected a known primitive type, got a tag that this version does not know"),
    codes.BAD_FIELD_ID: ("E12", "expected a field id within the dictionary, got a larger one"),
    codes.BAD_OFFSET: ("E13", "expected an offset within the container's values, got a larger one"),
    codes.BAD_STRING_UTF8: ("E8", "expected a string in UTF-8, got other bytes"),
    codes.BAD_DECIMAL_SCALE: ("E16", "expected a decimal scale of at most 38, got a larger one"),
    codes.BAD_DECIMAL_DIGITS: ("E16", "expected a decimal of at most 38 digits, got more"),
    codes.BAD_TIME: ("E17", "expected a time of day, got one outside of it"),
    codes.BAD_DUPLICATE_NAME: ("E15", "expected each field name once in an object, got one twice"),
    codes.BAD_EXPANSION: ("E13", "expected a value that expands to at most 16 times its own bytes, got one that shares more of them"),
    codes.BAD_SORTED_FLAG: ("E7", "expected sorted and unique field names as the metadata says, got others"),
    codes.BAD_FIELD_ORDER: ("E14", "expected an object's fields in the order of their names, got another order"),
    codes.BAD_RESERVED_BITS: ("E4", "expected reserved bits to be 0, got 1"),
    codes.BAD_BOTH_SET: ("S6", "expected value or typed_value, got both for something that is no object"),
    codes.BAD_RESIDUAL_KIND: ("W13", "expected an object in the value beside a shredded object, got something else"),
    codes.BAD_RESIDUAL_NAME: ("W11", "expected no shredded field in the value of an object, got one"),
    codes.BAD_MISSING_NAME: ("W2", "expected all field names in the metadata, got a shredded field that is not there"),
    codes.BAD_OBJECT_IN_VALUE: ("W9", "expected a shredded object in typed_value, got it in value"),
    codes.BAD_DECIMAL_WIDTH: ("E16", "expected at most 9 digits in a decimal4 and 18 in a decimal8, got more"),
}


def finding(status: int, row: int) -> InvalidVariantError:
    """The error for a row's status, which is code | byte offset << 8."""
    code, offset = status & 255, status >> 8
    rule, words = _WORDS[code]
    part = "metadata" if code <= codes.BAD_METADATA_LENGTH or code == codes.BAD_METADATA_NULL else "value"
    return InvalidVariantError(f"{words} ({rule}, in the {part})", row=row, offset=offset)


def raise_first(status: npt.NDArray[np.int64], first_row: int, rows: npt.NDArray[np.int64] | None = None) -> None:
    """Raise for the first thing that a kernel has found; status is by row, or that of rows[k] for k."""
    bad = np.flatnonzero(status)
    if len(bad):
        raise finding(int(status[bad[0]]), first_row + int(bad[0] if rows is None else rows[bad[0]]))


def findings_table(found: list[tuple[int, int]]) -> pa.Table:
    """(row, status) pairs as a table: row, rule, offset (byte within metadata or value), message."""
    errors = [finding(status, row) for row, status in found]
    return pa.table(
        {
            "row": pa.array([row for row, _ in found], pa.int64()),
            "rule": pa.array([_WORDS[status & 255][0] for _, status in found], pa.string()),
            "offset": pa.array([error.offset for error in errors], pa.int64()),
            "message": pa.array([error.message for error in errors], pa.string()),
        }
    )
