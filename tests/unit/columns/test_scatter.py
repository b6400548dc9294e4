"""Rows of a column replaced by others, of every kind of type, sliced or not."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from varquet.columns.scatter import replace_rows

_DAY = datetime.date(2026, 1, 2)
_COLUMNS = {
    pa.int8(): [1, None, 3, 4],
    pa.int64(): [1, None, -3, 1 << 40],
    pa.float64(): [1.5, None, float("inf"), -0.0],
    pa.bool_(): [True, None, False, True],
    pa.decimal128(20, 2): [decimal.Decimal("-1.25"), None, decimal.Decimal("3.00"), decimal.Decimal("99999999999999.99")],
    pa.date32(): [_DAY, None, _DAY, _DAY],
    pa.binary(16): [b"a" * 16, None, b"b" * 16, b"c" * 16],
    pa.string(): ["a", None, "", "long enough"],
    pa.struct([("a", pa.int64())]): [{"a": 1}, None, {"a": None}, {"a": 4}],
}


@pytest.mark.parametrize("kind", _COLUMNS, ids=str)
@pytest.mark.parametrize("rows", [[], [0], [1, 3], [0, 1, 2, 3]], ids=str)
def test_rows_have_the_values_given_and_others_their_own(kind: pa.DataType, rows: list[int]) -> None:
    wanted: list[Any] = list(_COLUMNS[kind])
    given = [_COLUMNS[kind][2], None, _COLUMNS[kind][0], _COLUMNS[kind][3]][: len(rows)]
    for row, value in zip(rows, given, strict=True):
        wanted[row] = value
    column = pa.array([wanted[0], *_COLUMNS[kind]], kind).slice(1)
    values = pa.array([None, *given], kind).slice(1)
    made = replace_rows(column, np.array(rows, np.int64), values)
    assert made.type == kind and made.to_pylist() == wanted
    assert column.to_pylist() == _COLUMNS[kind]
    made.validate(full=True)


def test_a_column_without_nulls_gets_them() -> None:
    made = replace_rows(pa.array([1, 2, 3]), np.array([1]), pa.array([None], pa.int64()))
    assert made.to_pylist() == [1, None, 3] and made.null_count == 1
