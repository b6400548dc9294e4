"""The reference encoder: the exact bytes of what varquet writes."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from decimal import Decimal

import pytest

from varquet.errors import CastError, UnsupportedTypeError
from varquet.types import BY_NAME
from varquet.variant import Scalar, decode, encode, parse_json
from varquet.variant.encode import encode_metadata
from varquet.variant.model import NULL, Node

INT8 = BY_NAME["int8"]


def _scalar(name: str, payload: object) -> Scalar:
    return Scalar(BY_NAME[name], payload)  # type: ignore[arg-type]


def _bytes(json_text: str) -> tuple[str, str]:
    metadata, value = encode(parse_json(json_text))
    return metadata.hex(), value.hex()


def _hex(text: str) -> str:
    return text.replace(" ", "")


@pytest.mark.parametrize(
    ("name", "payload", "data"),
    [
        ("null", None, "00"),
        ("true", True, "04"),
        ("false", False, "08"),
        ("int8", -128, "0c 80"),
        ("int16", 1, "10 0100"),
        ("int32", -1, "14 ffffffff"),
        ("int64", (1 << 63) - 1, "18 ffffffffffffff7f"),
        ("double", -0.0, "1c 0000000000000080"),
        ("decimal4", Decimal("1.10"), "20 02 6e000000"),
        ("decimal8", Decimal(1), "24 00 0100000000000000"),
        ("decimal16", Decimal("-0.01"), "28 02 ffffffffffffffffffffffffffffffff"),
        ("date", -(1 << 31), "2c 00000080"),
        ("timestamp", 1, "30 0100000000000000"),
        ("timestamp_ntz", 1, "34 0100000000000000"),
        ("float", 1.5, "38 0000c03f"),
        ("float", float("inf"), "38 0000807f"),
        ("binary", b"\x00\xff", "3c 02000000 00ff"),
        ("string", "", "01"),
        ("string", "é", "09 c3a9"),
        ("time", 1, "44 0100000000000000"),
        ("timestamp_nanos", -1, "48 ffffffffffffffff"),
        ("timestamp_ntz_nanos", 1, "4c 0100000000000000"),
        ("uuid", uuid.UUID(int=1), "50 00000000000000000000000000000001"),
    ],
)
def test_every_type(name: str, payload: object, data: str) -> None:
    metadata, value = encode(_scalar(name, payload))
    assert (metadata.hex(), value.hex()) == ("010000", _hex(data))
    assert decode(metadata, value) == _scalar(name, payload)


def test_strings_are_short_up_to_63_bytes() -> None:
    assert encode(_scalar("string", "x" * 63))[1] == bytes((63 << 2 | 1,)) + b"x" * 63
    assert encode(_scalar("string", "x" * 64))[1] == b"\x40\x40\x00\x00\x00" + b"x" * 64
    assert encode(_scalar("string", "é" * 32))[1][:5] == b"\x40\x40\x00\x00\x00"


def test_fields_by_name_and_values_in_source_order() -> None:
    assert _bytes('{"b": 1, "a": "x"}') == (_hex("11 02 00 01 02 61 62"), _hex("02 02 00 01 02 00 04 0c01 0578"))
    assert _bytes('{"a": {"c": 1}, "b": null}') == (
        _hex("11 03 00 01 02 03 61 62 63"),
        _hex("02 02 00 01 00 07 08 02 01 02 00 02 0c01 00"),
    )
    assert _bytes("[1, [], {}]") == (_hex("01 00 00"), _hex("03 03 00 02 05 08 0c01 030000 020000"))


def test_names_are_sorted_by_utf8_not_by_utf16() -> None:
    metadata, value = encode({"\U0001f600": NULL, "\uff5e": NULL, "\ue000": NULL})
    assert metadata == bytes.fromhex("11 03 00 03 06 0a") + "\ue000\uff5e\U0001f600".encode()
    assert value == bytes.fromhex("02 03 00 01 02 02 01 00 03 00 00 00")


def test_empty_and_repeated_names() -> None:
    assert encode({"": {"": NULL}})[0] == bytes.fromhex("11 01 00 00")
    assert encode([{"a": NULL}, {"a": NULL}])[0] == bytes.fromhex("11 01 00 01 61")


@pytest.mark.parametrize(("count", "header", "count_bytes"), [(255, 0x03, "ff"), (256, 0x17, "00010000")])
def test_is_large_only_above_255_elements(count: int, header: int, count_bytes: str) -> None:
    value = encode([NULL] * count)[1]
    assert value[0] == header
    assert value[1:].hex().startswith(count_bytes)
    assert decode(b"\x01\0\0", value) == [NULL] * count


@pytest.mark.parametrize(("count", "header"), [(255, 0x02), (256, 0x46), (257, 0x56)])
def test_is_large_and_id_width_of_objects(count: int, header: int) -> None:
    """256 fields: is_large and two-byte offsets, but ids up to 255 fit one byte; 257 need two."""
    node: Node = {f"{i:03}": NULL for i in range(count)}
    metadata, value = encode(node)
    assert value[0] == header
    assert decode(metadata, value) == node


@pytest.mark.parametrize(("size", "offset_size"), [(255, 1), (256, 2), (65535, 2), (65536, 3), ((1 << 24) - 1, 3), (1 << 24, 4)])
def test_offsets_are_as_wide_as_the_values_need(size: int, offset_size: int) -> None:
    metadata, value = encode([_scalar("binary", bytes(size - 5))])
    assert value[0] == 3 | (offset_size - 1) << 2
    assert len(value) == 2 + 2 * offset_size + size
    assert decode(metadata, value) == [_scalar("binary", bytes(size - 5))]
    metadata, value = encode({"a": _scalar("binary", bytes(size - 5))})
    assert value[0] == 2 | (offset_size - 1) << 2
    assert decode(metadata, value) == {"a": _scalar("binary", bytes(size - 5))}


@pytest.mark.parametrize(("size", "offset_size"), [(255, 1), (256, 2), (65535, 2), (65536, 3)])
def test_metadata_offsets_are_as_wide_as_the_names_need(size: int, offset_size: int) -> None:
    metadata = encode({"x" * size: NULL})[0]
    assert metadata[0] == 0x11 | (offset_size - 1) << 6
    assert len(metadata) == 1 + 3 * offset_size + size


def test_the_dictionary_size_has_the_width_of_the_offsets() -> None:
    names = sorted({"", *(f"{i:x}" for i in range(300))})
    assert encode_metadata(names)[:3] == bytes((0x51, 301 - 256, 1))


def test_only_the_ids_of_an_object_decide_its_id_width() -> None:
    names = [f"{i:03}" for i in range(300)]
    metadata, value = encode([{names[0]: NULL}, dict.fromkeys(names, NULL)])
    decoded = decode(metadata, value)
    assert decoded == [{names[0]: NULL}, dict.fromkeys(names, NULL)]
    first = value.index(bytes.fromhex("02 01 00 00 01 00"))
    assert first > 0


@pytest.mark.parametrize(
    ("name", "number", "written_as"),
    [
        ("decimal4", "999999999", "decimal4"),
        ("decimal4", "2147483647", "decimal8"),
        ("decimal4", "1E-10", "decimal8"),
        ("decimal4", "1E-38", "decimal16"),
        ("decimal8", "9" * 19, "decimal16"),
        ("decimal16", "1", "decimal16"),
    ],
)
def test_decimals_too_narrow_for_their_digits_are_widened(name: str, number: str, written_as: str) -> None:
    assert decode(*encode(_scalar(name, Decimal(number)))) == _scalar(written_as, Decimal(number))


@pytest.mark.parametrize(
    ("name", "payload", "message"),
    [
        ("int8", 128, "expected a number that fits int8, got 128 - at $['a'][1]"),
        ("date", 1 << 31, "expected a number that fits date, got 2147483648 - at $['a'][1]"),
        ("int8", True, "expected a payload of int8, got bool 'True' - at $['a'][1]"),
        ("int8", Decimal(1), "expected a payload of int8, got Decimal '1' - at $['a'][1]"),
        ("double", 1, "expected a payload of double, got int '1' - at $['a'][1]"),
        ("true", False, "expected a payload of true, got bool 'False' - at $['a'][1]"),
        ("decimal4", 1, "expected a payload of decimal4, got int '1' - at $['a'][1]"),
        ("null", 0, "expected a payload of null, got int '0' - at $['a'][1]"),
        ("string", b"x", "expected a payload of string, got bytes \"b'x'\" - at $['a'][1]"),
        ("float", 0.1, "expected a number that 32 bits hold exactly, got 0.1 - at $['a'][1]. Hint: round it first, or make it a double"),
        ("float", 1e300, "expected a number that fits float, got 1e+300 - at $['a'][1]"),
        ("decimal4", Decimal("NaN"), "expected a finite decimal without a positive exponent, got NaN - at $['a'][1]"),
        ("decimal4", Decimal("1E+1"), "expected a finite decimal without a positive exponent, got 1E+1 - at $['a'][1]"),
        ("decimal16", Decimal("1E-39"), "expected a decimal of at most 38 digits, got 1E-39 - at $['a'][1]"),
        ("decimal16", Decimal(10**38), "expected a decimal of at most 38 digits, got 1" + "0" * 38 + " - at $['a'][1]"),
        ("string", "a\ud800", "expected a string of Unicode characters, got the lone surrogate '\\ud800' at character 2 - at $['a'][1]"),
    ],
)
def test_what_no_variant_can_hold_is_refused(name: str, payload: object, message: str) -> None:
    with pytest.raises(CastError) as caught:
        encode({"a": [NULL, _scalar(name, payload)], "b": NULL})
    assert str(caught.value) == message


def test_what_is_no_node_is_refused() -> None:
    with pytest.raises(UnsupportedTypeError, match="expected a Scalar, list or dict, got int - at .*from_python"):
        encode([1])  # type: ignore[list-item]
    with pytest.raises(UnsupportedTypeError, match="expected a field name of type str, got int '1'"):
        encode({1: NULL})  # type: ignore[dict-item]
    with pytest.raises(CastError, match="expected a field name of Unicode characters"):
        encode({"\ud800": NULL})


def test_a_node_inside_itself_is_refused_but_one_used_twice_is_not() -> None:
    inner: list[Node] = [NULL]
    assert encode([inner, inner])[1] == encode([[NULL], [NULL]])[1]
    inner.append({"again": inner})
    with pytest.raises(CastError, match=r"contains itself - at \$\['x'\]\[1\]\['again'\]"):
        encode({"x": inner})


def test_the_same_bytes_whatever_the_hash_seed() -> None:
    program = (
        "from varquet.variant import encode, parse_json\n"
        'm, v = encode(parse_json(\'{"z": {"a": 1, "m": 2}, "b": [{"q": 1, "c": 2}], "\\u00e9": {}}\'))\n'
        "print(m.hex(), v.hex())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
