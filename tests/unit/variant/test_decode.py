"""The reference decoder: every type from its bytes, what readers must bear, and what they must refuse."""

from __future__ import annotations

import math
import struct
import uuid
from decimal import Decimal

import pytest

from varquet.errors import InvalidVariantError
from varquet.types import BY_NAME, PRIMITIVES
from varquet.variant import Scalar, decode, encode, value_size
from varquet.variant.decode import Metadata, decode_value, read_container
from varquet.variant.model import NULL, Node

EMPTY = b"\x01\x00\x00"
NAMES = bytes.fromhex("01 03 00 01 02 03 61 62 63")  # a, b, c
INT8 = BY_NAME["int8"]


def _hex(text: str) -> bytes:
    return bytes.fromhex(text)


@pytest.mark.parametrize(
    ("data", "type_name", "payload"),
    [
        ("00", "null", None),
        ("04", "true", True),
        ("08", "false", False),
        ("0c 80", "int8", -128),
        ("10 0080", "int16", -32768),
        ("14 ffffff7f", "int32", 2147483647),
        ("18 0000000000000080", "int64", -(1 << 63)),
        ("1c 000000000000f83f", "double", 1.5),
        ("20 02 d2040000", "decimal4", Decimal("12.34")),
        ("20 26 01000000", "decimal4", Decimal("1E-38")),
        ("24 00 ffffffffffffffff", "decimal8", Decimal(-1)),
        ("28 02 ffffffff3f228a097ac4865aa84c3b4b", "decimal16", Decimal("9" * 36 + ".99")),
        ("2c ffffffff", "date", -1),
        ("30 0100000000000000", "timestamp", 1),
        ("34 ffffffffffffffff", "timestamp_ntz", -1),
        ("38 0000c03f", "float", 1.5),
        ("3c 02000000 00ff", "binary", b"\x00\xff"),
        ("40 02000000 c3a9", "string", "é"),
        ("09 c3a9", "string", "é"),
        ("01", "string", ""),
        ("44 0000000000000000", "time", 0),
        ("48 0100000000000000", "timestamp_nanos", 1),
        ("4c 0100000000000000", "timestamp_ntz_nanos", 1),
        ("50 000102030405060708090a0b0c0d0e0f", "uuid", uuid.UUID("00010203-0405-0607-0809-0a0b0c0d0e0f")),
    ],
)
def test_every_type(data: str, type_name: str, payload: object) -> None:
    node = decode(EMPTY, _hex(data))
    assert node == Scalar(BY_NAME[type_name], payload)  # type: ignore[arg-type]
    assert isinstance(node, Scalar) and type(node.value) is type(payload)
    assert value_size(_hex(data) + b"more") == len(_hex(data))


def test_the_cases_above_are_all_types() -> None:
    assert len(PRIMITIVES) == 21


def test_special_floats() -> None:
    for number in (math.inf, -math.inf):
        assert decode(EMPTY, b"\x1c" + struct.pack("<d", number)) == Scalar(BY_NAME["double"], number)
    nan, zero = decode(EMPTY, b"\x38" + struct.pack("<f", math.nan)), decode(EMPTY, b"\x1c" + struct.pack("<d", -0.0))
    assert isinstance(nan, Scalar) and isinstance(zero, Scalar)
    assert isinstance(nan.value, float) and math.isnan(nan.value)
    assert isinstance(zero.value, float) and math.copysign(1, zero.value) == -1


@pytest.mark.parametrize(
    "data",
    [
        "02 02 00 01 00 02 04 0c01 0c02",
        "02 02 00 01 02 00 04 0c02 0c01",  # values out of order
        "82 02 00 01 00 02 04 0c01 0c02",  # reserved bit
        "06 02 00 01 0000 0200 0400 0c01 0c02",  # wide offsets
        "12 02 0000 0100 00 02 04 0c01 0c02",  # wide ids
        "42 02000000 00 01 00 02 04 0c01 0c02",  # is_large for few
        "7e 02000000 00000000 01000000 00000000 02000000 04000000 0c01 0c02",  # everything at its widest
        "02 02 00 01 00 03 05 0c01 ff 0c02",  # a gap between values
        "02 02 00 01 00 02 05 0c01 0c02 ff",  # and behind them
    ],
)
def test_objects_in_every_legal_form(data: str) -> None:
    assert decode(NAMES, _hex(data)) == {"a": Scalar(INT8, 1), "b": Scalar(INT8, 2)}


@pytest.mark.parametrize(
    "data",
    [
        "03 02 00 02 04 0c01 0c02",
        "e3 02 00 02 04 0c01 0c02",  # all three reserved bits
        "03 02 02 00 04 0c02 0c01",
        "0f 02 00000000 02000000 04000000 0c01 0c02",
        "13 02000000 00 02 04 0c01 0c02",
    ],
)
def test_arrays_in_every_legal_form(data: str) -> None:
    assert decode(EMPTY, _hex(data)) == [Scalar(INT8, 1), Scalar(INT8, 2)]


def test_shared_and_unsorted() -> None:
    assert decode(EMPTY, _hex("03 03 00 00 00 02 0c07")) == [Scalar(INT8, 7)] * 3
    # DuckDB leaves the fields in the order of insertion; a dictionary may hold a name twice.
    node = decode(_hex("01 03 00 01 02 03 62 61 62"), _hex("02 02 02 01 00 02 04 0c01 0c02"))
    assert isinstance(node, dict)
    assert list(node.items()) == [("b", Scalar(INT8, 1)), ("a", Scalar(INT8, 2))]


def test_empty_object_and_array() -> None:
    assert decode(EMPTY, _hex("02 00 00")) == {}
    assert decode(EMPTY, _hex("03 00 00")) == []
    assert decode(EMPTY, _hex("03 00 05 ffffffffff")) == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "expected a value, got no bytes - at byte 0, $"),
        ("0c", "expected 1 byte of int8, got 0 - at byte 1, $"),
        ("14 000000", "expected 4 bytes of int32, got 3 - at byte 1, $"),
        ("05", "expected 1 byte of string, got 0 - at byte 1, $"),
        ("40 0000", "expected 4 bytes of length of the string, got 2 - at byte 1, $"),
        ("3c ffffffff 00", "expected 4294967295 bytes of binary, got 1 - at byte 5, $"),
        ("54", "expected a primitive type tag of 0 to 20, got 21 - at byte 0, $"),
        ("20 27 00000000", "expected a decimal scale of 0 to 38, got 39 - at byte 1, $"),
        ("28 00 00000000000000000000000000000080", "expected a decimal of at most 38 digits, got 39 - at byte 2, $"),
        ("05 ff", "expected a string in UTF-8, got byte 0xff - at byte 1, $"),
        ("40 03000000 61 c3 62", "expected a string in UTF-8, got byte 0xc3 - at byte 6, $"),
        ("0d eda080", "expected a string in UTF-8, got byte 0xed - at byte 1, $"),
        ("0c 01 00", "expected the value to end after 2 bytes, got 3 - at byte 2"),
        ("03", "expected 1 byte of num_elements of the array, got 0 - at byte 1, $"),
        ("42 0000", "expected 4 bytes of num_elements of the object, got 2 - at byte 1, $"),
        ("13 ffffffff 00", "expected 4294967296 bytes of ids and offsets of the array of 4294967295, got 1 - at byte 5, $"),
        ("03 01 00", "expected 2 bytes of ids and offsets of the array of 1, got 1 - at byte 2, $"),
        ("03 01 00 02 0c", "expected 2 bytes of values in the array, got 1 - at byte 4, $"),
        ("03 01 02 02 0c01", "expected an offset below 2, the size of the values, got 2 - at byte 2, $[0]"),
        ("03 01 ff 02 0c01", "expected an offset below 2, the size of the values, got 255 - at byte 2, $[0]"),
        ("03 01 01 02 000c", "expected 1 byte of int8, got 0 - at byte 6, $[0]"),
        ("03 01 00 00", "expected an offset below 0, the size of the values, got 0 - at byte 2, $[0]"),
        ("02 01 03 00 01 00", "expected a field id below 3, the size of the dictionary, got 3 - at byte 2, $"),
        ("02 02 00 00 00 01 02 00 00", "expected distinct field names in an object, got 'a' twice - at byte 3, $['a']"),
        ("02 02 00 03 00 01 02 00 00", "expected a field id below 3, the size of the dictionary, got 3 - at byte 3, $"),
        # A child that ends behind its parent, though within the whole.
        ("03 02 00 05 06 03 01 00 01 0c 00", "expected 1 byte of int8, got 0 - at byte 10, $[0][0]"),
        ("03 02 00 06 07 02 01 00 00 01 0c 00", "expected 1 byte of int8, got 0 - at byte 11, $[0]['a']"),
        ("03 02 00 01 02 00 54", "expected a primitive type tag of 0 to 20, got 21 - at byte 6, $[1]"),
    ],
)
def test_damage_is_named_with_its_place(data: str, message: str) -> None:
    with pytest.raises(InvalidVariantError) as caught:
        decode(NAMES, _hex(data))
    assert str(caught.value).split(". Hint")[0] == message


def test_children_may_overlap_within_their_parent() -> None:
    """The array's int8 ends with the byte that is also the null behind it."""
    assert decode(EMPTY, _hex("03 02 00 05 06 03 01 00 02 0c 00")) == [[Scalar(INT8, 0)], NULL]


def test_a_name_twice_through_two_ids_is_refused() -> None:
    with pytest.raises(InvalidVariantError, match="got 'a' twice"):
        decode(_hex("01 02 00 01 02 61 61"), _hex("02 02 00 01 00 01 02 00 00"))


def test_the_path_leads_to_the_damage() -> None:
    metadata, value = encode({"list": [NULL, {"deep name": Scalar(BY_NAME["string"], "x" * 70)}]})
    damaged = value.replace(b"x" * 70, b"x" * 69 + b"\xff")
    with pytest.raises(InvalidVariantError) as caught:
        decode(metadata, damaged)
    assert caught.value.path == "$['list'][1]['deep name']"
    assert caught.value.offset == len(value) - 1


def test_damaged_metadata_is_refused_although_nothing_uses_it() -> None:
    with pytest.raises(InvalidVariantError, match="field name 1 of the metadata"):
        decode(_hex("01 02 00 01 02 61 ff"), b"\x00")
    assert decode_value(Metadata(_hex("01 02 00 01 02 61 ff")), b"\x00") == NULL


def test_every_prefix_of_a_value_is_refused() -> None:
    metadata, value = encode({"a": [Scalar(INT8, 1), Scalar(BY_NAME["string"], "x" * 70)], "b": {"c": Scalar(BY_NAME["double"], 1.0)}})
    for size in range(len(value)):
        with pytest.raises(InvalidVariantError):
            decode(metadata, value[:size])
    for size in range(len(metadata)):
        with pytest.raises(InvalidVariantError):
            decode(metadata[:size], value)


@pytest.mark.parametrize("kind", [list, dict])
def test_great_depth(kind: type) -> None:
    depth = 100_000
    node: Node = NULL
    for _ in range(depth):
        node = [node] if kind is list else {"a": node}
    metadata, value = encode(node)
    decoded = decode(metadata, value)
    for _ in range(depth):
        assert isinstance(decoded, (list, dict)) and len(decoded) == 1
        decoded = decoded[0] if isinstance(decoded, list) else decoded["a"]
    assert decoded == NULL
    with pytest.raises(InvalidVariantError, match="type tag") as caught:
        decode(metadata, value[:-1] + b"\xfc")
    assert len(str(caught.value)) < 500


def test_sharing_is_bounded_by_what_is_visited() -> None:
    """Many elements share one string: up to 16 times the size of the whole it is read, beyond that it is not."""
    text = b"\x40\x20\x00\x00\x00" + b"x" * 32

    def shared(count: int) -> bytes:
        return bytes((3, count)) + bytes(count) + bytes((len(text),)) + text

    for count in range(1, 120):
        value = shared(count)
        visited = len(value) + (count - 1) * len(text)
        if visited <= 16 * len(value):
            assert decode(EMPTY, value) == [Scalar(BY_NAME["string"], "x" * 32)] * count
        else:
            with pytest.raises(InvalidVariantError, match="expands to at most 16 times its own bytes"):
                decode(EMPTY, value)
    assert 16 * len(shared(119)) < len(shared(119)) + 118 * len(text)
    with pytest.raises(InvalidVariantError, match="expands to at most 16 times its own bytes"):
        decode_value(Metadata(EMPTY), shared(119) + bytes(10_000))


def test_a_container_header_says_where_everything_is() -> None:
    data = _hex("ffff 02 02 00 01 02 00 04 0c02 0c01 ffff")
    container = read_container(data, 2, len(data))
    assert (container.is_object, container.count, container.id_size, container.offset_size) == (True, 2, 1, 1)
    assert (container.ids_start, container.offsets_start, container.values_start, container.values_end) == (4, 6, 9, 13)
    assert [container.field_id(i) for i in range(2)] == [0, 1]
    assert [container.child(i) for i in range(2)] == [11, 9]
