"""`validate`: each rule that bytes can break, by itself."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest
from variant_columns import column_of

import varquet as vq

EMPTY = b"\x01\x00\x00"
AB = bytes((1, 2, 0, 1, 2)) + b"ab"
NULL = b"\x00"


def _decimal(tag: int, scale: int, unscaled: int, width: int) -> bytes:
    return bytes((tag << 2, scale)) + unscaled.to_bytes(width, "little", signed=True)


# (metadata, value, rule, byte, the first words)
REFUSED = [
    (b"", NULL, "E2", 0, "expected metadata, got no bytes"),
    (b"\x02\x00\x00", NULL, "E4", 0, "expected metadata of version 1, got another version"),
    (b"\x01", NULL, "E6", 0, "expected more bytes of metadata, got its end"),
    (b"\x01\x00", NULL, "E6", 0, "expected more bytes of metadata, got its end"),
    (b"\x01\x01\x00\x02a", NULL, "E6", 0, "expected more bytes of metadata, got its end"),
    (b"\xc1" + b"\xff" * 8, NULL, "E6", 0, "expected more bytes of metadata, got its end"),
    (b"\x01\x01\x01\x01a", NULL, "E6", 0, "expected dictionary offsets that start at 0 and ascend"),
    (b"\x01\x02\x00\x02\x01a", NULL, "E6", 0, "expected dictionary offsets that start at 0 and ascend"),
    (b"\x01\x01\x00\x01\xff", NULL, "E8", 0, "expected field names in UTF-8"),
    (EMPTY + b"\x00", NULL, "E6", 0, "expected the metadata to end with its last field name"),
    (EMPTY, b"", "E9", 0, "expected a value, got no bytes"),
    (EMPTY, b"\x0c", "E9", 0, "expected more bytes of the value, got its end"),
    (EMPTY, b"\x40\x05\x00\x00\x00abcd", "E9", 0, "expected more bytes of the value, got its end"),
    (EMPTY, b"\x40\xff\xff\xff\xffabcd", "E9", 0, "expected more bytes of the value, got its end"),
    (EMPTY, b"\x00\x00", "E9", 1, "expected the end of the value, got more bytes"),
    (EMPTY, b"\x03\x00\x00\x00", "E9", 3, "expected the end of the value, got more bytes"),
    (EMPTY, b"\x54", "R6", 0, "expected a known primitive type, got"),
    (EMPTY, b"\xfc", "R6", 0, "expected a known primitive type, got"),
    (AB, b"\x02\x01\x02\x00\x01\x00", "E12", 0, "expected a field id within the dictionary"),
    (EMPTY, b"\x03\x01\x01\x01\x00", "E13", 2, "expected an offset within the container's values"),
    (EMPTY, b"\x03\x02\x00\x05\x01\x00", "E13", 3, "expected an offset within the container's values"),
    (EMPTY, b"\x1f\xff\xff\xff\xff" + b"\xff" * 8, "E9", 0, "expected more bytes of the value, got its end"),
    (EMPTY, b"\x05\xff", "E8", 0, "expected a string in UTF-8"),
    (EMPTY, b"\x40\x01\x00\x00\x00\xff", "E8", 0, "expected a string in UTF-8"),
    (EMPTY, _decimal(8, 39, 1, 4), "E16", 0, "expected a decimal scale of at most 38"),
    (EMPTY, _decimal(10, 0, 10**38, 16), "E16", 0, "expected a decimal of at most 38 digits"),
    (EMPTY, _decimal(10, 0, -(1 << 127), 16), "E16", 0, "expected a decimal of at most 38 digits"),
    (EMPTY, b"\x44" + (86_400_000_000).to_bytes(8, "little"), "E17", 0, "expected a time of day"),
    (EMPTY, b"\x44" + b"\xff" * 8, "E17", 0, "expected a time of day"),
    (AB, b"\x02\x02\x00\x00\x00\x01\x02\x00\x00", "E15", 0, "expected each field name once in an object"),
    (bytes((1, 2, 0, 1, 2)) + b"aa", b"\x02\x02\x00\x01\x00\x01\x02\x00\x00", "E15", 0, "expected each field name once in an object"),
]


@pytest.mark.parametrize(
    ("metadata", "value", "rule", "offset", "words"), REFUSED, ids=lambda part: part.hex() if isinstance(part, bytes) else ""
)
def test_what_is_no_variant(metadata: bytes, value: bytes, rule: str, offset: int, words: str) -> None:
    column = column_of([(EMPTY, NULL), (metadata, value)])
    with pytest.raises(vq.InvalidVariantError) as raised:
        vq.validate(column)
    error = raised.value
    assert error.message.startswith(words)
    assert error.message.endswith(f"({rule}, in the {'metadata' if rule in ('E2', 'E4', 'E6') or 'field names' in words else 'value'})")
    assert (error.row, error.offset) == (1, offset)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert vq.to_json(column, on_error="null").to_pylist() == ["null", None]
    (found,) = vq.validate(column, on_error="collect").to_pylist()
    assert found == {"row": 1, "rule": rule, "offset": offset, "message": error.message}


def test_a_nested_finding_points_at_its_place() -> None:
    value = b"\x03\x02\x00\x01\x05\x00" + b"\x03\x01\x00\x01\x54"
    (found,) = vq.validate(column_of([(EMPTY, value[:4] + b"\x06" + value[5:])]), on_error="collect").to_pylist()
    assert (found["rule"], found["offset"]) == ("R6", 10)


# What writers must not do, though readers take it.
STRICT = [
    (bytes((0x11, 2, 0, 1, 2)) + b"ba", NULL, "E7"),
    (bytes((0x11, 2, 0, 1, 2)) + b"aa", NULL, "E7"),
    (bytes((0x21, 0, 0)), NULL, "E4"),
    (EMPTY, b"\x82\x00\x00", "E4"),
    (EMPTY, b"\x23\x00\x00", "E4"),
    (EMPTY, b"\x43\x00\x00", "E4"),
    (EMPTY, b"\x83\x00\x00", "E4"),
    (AB, b"\x02\x02\x01\x00\x00\x01\x02\x00\x00", "E14"),
    (EMPTY, _decimal(8, 0, 10**9, 4), "E16"),
    (EMPTY, _decimal(8, 0, -(1 << 31), 4), "E16"),
    (EMPTY, _decimal(9, 0, -(10**18), 8), "E16"),
]


@pytest.mark.parametrize(("metadata", "value", "rule"), STRICT, ids=lambda part: part.hex() if isinstance(part, bytes) else part)
def test_strict(metadata: bytes, value: bytes, rule: str) -> None:
    column = column_of([(metadata, value)])
    vq.validate(column)
    assert vq.validate(column, on_error="collect", strict=True)["rule"].to_pylist() == [rule]
    with pytest.raises(vq.InvalidVariantError):
        vq.validate(column, strict=True)


LEGAL = {
    "unused names": (AB, NULL),
    "unsorted dictionary": (bytes((1, 2, 0, 1, 2)) + b"ba", b"\x02\x02\x01\x00\x00\x01\x02\x00\x00"),
    "duplicates in the dictionary": (bytes((1, 2, 0, 1, 2)) + b"aa", b"\x02\x01\x01\x00\x01\x00"),
    "wide sizes": (bytes((0xC1,)) + b"\x01\0\0\0" + b"\0\0\0\0" + b"\x01\0\0\0a", b"\x7e\x01\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0"),
    "values out of order": (AB, b"\x02\x02\x00\x01\x01\x00\x02\x04\x08"),
    "a value used twice": (EMPTY, b"\x03\x03\x00\x00\x00\x01\x04"),
    "gaps between values": (EMPTY, b"\x03\x01\x02\x04\xff\xff\x04\xff"),
    "long form of a short string": (EMPTY, b"\x40\x01\x00\x00\x00a"),
    "decimal scale above its digits": (EMPTY, _decimal(8, 38, 1, 4)),
}


@pytest.mark.parametrize("what", LEGAL)
def test_what_the_specification_allows(what: str) -> None:
    vq.validate(column_of([LEGAL[what]]), strict=True)
    assert vq.to_json(column_of([LEGAL[what]])).null_count == 0


def test_a_value_may_use_bytes_again_but_not_without_end() -> None:
    """Arrays whose two elements are the same array: 2**size nulls in few bytes."""

    def doubled(size: int) -> bytes:
        value = NULL
        for _ in range(size):
            value = bytes((3, 2, 0, 0, len(value))) + value
        return value

    vq.validate(column_of([(EMPTY, doubled(4))]))
    assert vq.to_json(column_of([(EMPTY, doubled(2))])).to_pylist() == ["[[null,null],[null,null]]"]
    for size in (10, 40):
        with pytest.raises(vq.InvalidVariantError, match="expands to at most 16 times its own bytes"):
            vq.validate(column_of([(EMPTY, doubled(size))]))
        assert vq.to_json(column_of([(EMPTY, doubled(size))]), on_error="null").null_count == 1


def test_a_good_column_gives_nothing_or_an_empty_table() -> None:
    column = vq.parse_json(pa.array(['{"a":[1,"x"]}', None]))
    assert vq.validate(column, strict=True) is None
    table = vq.validate(column, on_error="collect")
    assert table.num_rows == 0
    assert table.schema == pa.schema([("row", pa.int64()), ("rule", pa.string()), ("offset", pa.int64()), ("message", pa.string())])


def test_rows_are_counted_over_chunks_and_nulls_are_fine() -> None:
    chunk = column_of([None, (EMPTY, NULL), (EMPTY, b"")])
    assert vq.validate(pa.chunked_array([chunk, chunk[:0], chunk[1:]]), on_error="collect")["row"].to_pylist() == [2, 4]
    vq.validate(pa.nulls(3))
    vq.validate(pa.chunked_array([], vq.VARIANT))


def test_a_null_child_of_a_row_that_is_not_null() -> None:
    """Readers take the row for an SQL NULL; no writer may make one."""
    names, values = pa.array([EMPTY, None, EMPTY, None, EMPTY], pa.binary()), pa.array([NULL, NULL, None, None, NULL], pa.binary())
    column = pa.StructArray.from_arrays([names, values], ["metadata", "value"], mask=pa.array([False, False, False, False, True]))
    for form in (column, pa.StructArray.from_arrays([names.dictionary_encode(), values], ["metadata", "value"], mask=column.is_null())):
        assert vq.validate(form) is None
        assert vq.to_json(form).to_pylist() == ["null", None, None, None, None]
        found = vq.validate(pa.chunked_array([form, form]), strict=True, on_error="collect").to_pylist()
        assert [(each["row"], each["rule"]) for each in found] == [(1, "E2"), (2, "E3"), (3, "E2"), (6, "E2"), (7, "E3"), (8, "E2")]
        assert found[0]["message"].startswith("expected metadata, got null in a row that is not null")
        with pytest.raises(vq.InvalidVariantError, match=r"expected a value, got null.*\(E3, in the value\)"):
            vq.validate(form.slice(2), strict=True)
    no_rows = pa.StructArray.from_arrays([names, values], ["metadata", "value"], mask=pa.array([True] * 5))
    vq.validate(no_rows, strict=True)


@pytest.mark.parametrize(
    ("argument", "options", "message"),
    [
        (pa.array([], vq.VARIANT), {"on_error": "null"}, "expected on_error to be 'raise' or 'collect', got 'null'"),
        (
            pa.array([1]),
            {},
            "expected a variant column, struct<metadata: binary, value: binary>, got int64. Hint: parse_json makes one from JSON text",
        ),
        ([b"x"], {}, "expected a pyarrow Array or ChunkedArray, got builtins.list. Hint: pa.array(values) makes one"),
    ],
)
def test_wrong_arguments(argument: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(vq.UnsupportedTypeError) as raised:
        vq.validate(argument, **options)
    assert str(raised.value) == message
