"""Small inputs that would grow without end, and bytes that lie about themselves: an error, soon, and little memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from kernel_builds import BUILDS, using
from variant_columns import column_of, rows_of

import varquet as vq
from varquet.errors import InvalidVariantError, UnsupportedTypeError
from varquet.variant import encode
from varquet.variant.model import NULL

NO_NAMES = bytes.fromhex("010000")
NAME_A = encode({"a": NULL})[0]
NAMES = encode({"a": NULL, "b": NULL})[0]


@pytest.fixture(autouse=True, params=[build for build in BUILDS if build != "interpreted"])
def _on_build(request: pytest.FixtureRequest) -> Any:
    with using(request.param):
        yield


def _array_of_one(value: bytes, count: int) -> bytes:
    """An array whose elements all are the same bytes."""
    header = bytes((3 | 3 << 2 | 1 << 4,)) + count.to_bytes(4, "little")
    return header + bytes(4 * count) + len(value).to_bytes(4, "little") + value


def _object_of(value: bytes) -> bytes:
    return bytes((2 | 3 << 2, 1, 0)) + bytes(4) + len(value).to_bytes(4, "little") + value


@pytest.mark.parametrize("shared_metadata", [False, True])
@pytest.mark.parametrize(
    "ddl", ["variant", "int", "array<variant>", "array<array<array<array<int>>>>", "array<array<array<array<string>>>>"]
)
def test_arrays_that_share_their_elements(ddl: str, shared_metadata: bool) -> None:
    """Four levels of 2000 equal elements stand for 16 * 10^12 values in 32 KB."""
    value = b"\x0c\x01"
    for _ in range(4):
        value = _array_of_one(value, 2000)
    column = column_of([(NO_NAMES, value)] * 3)
    before = pa.total_allocated_bytes()
    try:
        shredded = vq.shred(column, ddl, shared_metadata=shared_metadata)
    except InvalidVariantError as error:
        assert "expands to at most 16 times" in str(error) and error.row == 0
    else:
        # Nothing was followed: the bytes are kept as they are.
        assert rows_of(vq.unshred(shredded)) == rows_of(column)
        assert not ddl.startswith("array") and not shared_metadata
    assert pa.total_allocated_bytes() - before < 64 * len(value)


@pytest.mark.parametrize("ddl", ["array<struct<a: array<struct<a: array<struct<a: array<int>>>>>>>", "array<struct<b: int>>"])
def test_objects_in_arrays_that_share_them(ddl: str) -> None:
    value = b"\x0c\x01"
    for _ in range(4):
        value = _array_of_one(_object_of(value), 1000)
    with pytest.raises(InvalidVariantError, match="expands to at most 16 times"):
        vq.shred(column_of([(NAME_A, value)]), ddl)


def test_fields_that_share_their_bytes_are_legal() -> None:
    """Offsets may be equal (P28); both fields get the value."""
    value = bytes((2, 2, 0, 1, 0, 0, 2)) + b"\x0c\x07"
    for ddl in ("a int", "a int, b int", "c int"):
        assert vq.to_json(vq.unshred(vq.shred(column_of([(NAMES, value)]), ddl))).to_pylist() == ['{"a":7,"b":7}']


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (bytes((2, 1, 5, 0, 1, 0)), "E12"),  # a field id beyond the dictionary
        (bytes((2, 1, 0, 1, 1, 0)), "E13"),  # a field that starts at the end of the values
        (bytes((2, 1, 0, 9, 1, 0)), "E13"),
        (bytes((2, 1, 0, 0, 9, 0)), "E9"),  # values that end behind the value
        (bytes((2, 1, 0, 0, 0)), "E13"),  # a field without bytes
        (bytes((2, 255, 0)), "E9"),
        (bytes((2 | 1 << 6, 255, 255, 255, 255)), "E9"),  # 2^32 - 1 fields
        (bytes((2 | 1 << 6, 0)), "E9"),
        (bytes((2, 1, 0, 0, 1, 0xFC)), "R6"),  # a field of a type that nobody knows
    ],
)
@pytest.mark.parametrize("ddl", ["a int", "a string", "b int", "a struct<a: int>", "a array<int>"])
def test_objects_that_lie(value: bytes, rule: str, ddl: str) -> None:
    with pytest.raises(InvalidVariantError, match=rf"\({rule},.* at row 1"):
        vq.shred(column_of([encode({"a": NULL}), (NAME_A, value)]), ddl)


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (bytes((3, 1, 1, 1, 0)), "E13"),
        (bytes((3, 1, 0, 9, 0)), "E9"),
        (bytes((3, 255, 0)), "E9"),
        (bytes((3 | 1 << 4, 255, 255, 255, 255)), "E9"),
        (bytes((3 | 3 << 2 | 1 << 4, 255, 255, 255, 255, 0, 0, 0, 0)), "E9"),
        (bytes((3, 1, 0, 1, 0xFC)), "R6"),
    ],
)
@pytest.mark.parametrize("ddl", ["array<int>", "array<variant>", "array<struct<a: int>>"])
def test_arrays_that_lie(value: bytes, rule: str, ddl: str) -> None:
    with pytest.raises(InvalidVariantError, match=rf"\({rule},.* at row 1"):
        vq.shred(column_of([(NO_NAMES, b"\x03\x00\x00"), (NO_NAMES, value)]), ddl)


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (bytes((2, 1, 5, 0, 1, 0)), "E12"),
        (bytes((2, 1, 1, 9, 1, 0)), "E13"),
        (bytes((2, 1, 1, 0, 9, 0)), "E9"),
        (bytes((2, 255, 0)), "E9"),
        (bytes((2, 1, 1, 0, 1, 0, 0)), "E9"),  # more bytes than the object has
        (b"", "W13"),
    ],
)
def test_residuals_that_lie(value: bytes, rule: str) -> None:
    kind = vq.ShreddingSchema.parse("a int").physical()
    rows = [{"metadata": NAMES, "value": each, "typed_value": {"a": {"value": None, "typed_value": 1}}} for each in (None, value)]
    with pytest.raises(InvalidVariantError, match=rf"\({rule},.* at row 1"):
        vq.unshred(pa.array(rows, kind))


@pytest.mark.parametrize("row", [(b"\x01\xff\x00", b"\x00"), (b"\xc1\xff\xff\xff\xff", b"\x00"), (b"\x01\x02\x00\x05\x01ab", b"\x00")])
def test_dictionaries_that_lie(row: tuple[bytes, bytes]) -> None:
    for ddl in ("int", "a int", "variant"):
        with pytest.raises(InvalidVariantError, match=r"\(E6,.* at row 0"):
            vq.shred(column_of([row]), ddl)
        with pytest.raises(InvalidVariantError, match=r"\(E6,.* at row 0"):
            vq.shred(column_of([row]), ddl, shared_metadata=True)
        shredded = pa.array([{"metadata": row[0], "value": row[1]}], vq.ShreddingSchema.parse(ddl).physical())
        with pytest.raises(InvalidVariantError, match=r"\(E6,.* at row 0"):
            vq.unshred(shredded)


@pytest.mark.parametrize("bad", [b"\x05\xff", b"\x40" + (300).to_bytes(4, "little") + b"\xff" * 300])
def test_a_string_that_is_not_utf8_among_values_for_the_residual(bad: bytes) -> None:
    """What is refused takes no room among what is kept."""
    column = column_of([(NO_NAMES, b"\x0c\x01"), (NO_NAMES, bad), (NO_NAMES, b"\x0c\x02")])
    with pytest.raises(InvalidVariantError, match=r"expected a string in UTF-8, got other bytes \(E8, in the value\) - at row 1"):
        vq.shred(column, "string")


@pytest.mark.parametrize("offsets", [[0, 3, 1, 2], [0, 1, 9, 2], [0, -1, 1, 2]])
def test_lists_whose_offsets_do_not_ascend(offsets: list[int]) -> None:
    element = pa.StructArray.from_arrays([pa.nulls(2, pa.binary()), pa.array([1, 2], pa.int32())], ["value", "typed_value"])
    places = pa.py_buffer(np.array(offsets, np.int32))
    lists = pa.ListArray.from_buffers(pa.list_(element.type), 3, [None, places], 0, children=[element])
    column = pa.StructArray.from_arrays([pa.array([NO_NAMES] * 3), pa.nulls(3, pa.binary()), lists], ["metadata", "value", "typed_value"])
    with pytest.raises(UnsupportedTypeError, match="expected lists with offsets that ascend, got others"):
        vq.unshred(column)
