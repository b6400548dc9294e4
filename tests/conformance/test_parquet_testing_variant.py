"""The variant suite of apache/parquet-testing: every case decodes to its documented value and type, and survives encoding.

The suite's data_dictionary.json is not JSON (a trailing comma), rounds some numbers to a double's digits and has its own
forms of times, so the payloads are pinned here exactly and the dictionary is compared as far as it goes.
"""

from __future__ import annotations

import datetime
import json
import re
from decimal import Decimal
from uuid import UUID

import pytest
from parquet_testing import DIRECTORY

from varquet.types import BY_NAME
from varquet.variant import Scalar, Variant, decode, encode, equal
from varquet.variant.model import NULL, Node

SUITE = DIRECTORY / "variant"

pytestmark = pytest.mark.usefixtures("parquet_testing")


def _scalar(name: str, payload: object) -> Scalar:
    return Scalar(BY_NAME[name], payload)  # type: ignore[arg-type]


def _text(payload: str) -> Scalar:
    return _scalar("string", payload)


def _int8(payload: int) -> Scalar:
    return _scalar("int8", payload)


EXPECTED: dict[str, Node] = {
    "array_empty": [],
    "array_nested": [
        {"id": _int8(1), "thing": {"names": [_text("Contrarian"), _text("Spider")]}},
        NULL,
        {"id": _int8(2), "names": [_text("Apple"), _text("Ray"), NULL], "type": _text("if")},
    ],
    "array_primitive": [_int8(2), _int8(1), _int8(5), _int8(9)],
    "long_string": _text(
        "This string is for sure and certainly longer than 64 bytes and it also includes several non ascii characters such as "
        "\U0001f422, \U0001f496, \u2665\ufe0f, \U0001f3a3 and \U0001f926!!"
    ),
    "object_empty": {},
    "object_nested": {
        "id": _int8(1),
        "observation": {
            "location": _text("In the Volcano"),
            "time": _text("12:34:56"),
            "value": {"humidity": _scalar("int16", 456), "temperature": _int8(123)},
        },
        "species": {"name": _text("lava monster"), "population": _scalar("int16", 6789)},
    },
    "object_primitive": {
        "boolean_false_field": _scalar("false", False),
        "boolean_true_field": _scalar("true", True),
        "double_field": _scalar("decimal4", Decimal("1.23456789")),
        "int_field": _int8(1),
        "null_field": NULL,
        "string_field": _text("Apache Parquet"),
        "timestamp_field": _text("2025-04-16T12:34:56.78"),
    },
    "primitive_binary": _scalar("binary", bytes.fromhex("031337deadbeefcafe")),
    "primitive_boolean_false": _scalar("false", False),
    "primitive_boolean_true": _scalar("true", True),
    "primitive_date": _scalar("date", datetime.date(2025, 4, 16).toordinal() - datetime.date(1970, 1, 1).toordinal()),
    "primitive_decimal16": _scalar("decimal16", Decimal("12345678912345678.90")),
    "primitive_decimal4": _scalar("decimal4", Decimal("12.34")),
    "primitive_decimal8": _scalar("decimal8", Decimal("12345678.90")),
    "primitive_double": _scalar("double", 1234567890.1234),
    "primitive_float": _scalar("float", 1234567936.0),
    "primitive_int16": _scalar("int16", 1234),
    "primitive_int32": _scalar("int32", 123456),
    "primitive_int64": _scalar("int64", 1234567890123456789),
    "primitive_int8": _int8(42),
    "primitive_null": NULL,
    "primitive_string": _text(
        "This string is longer than 64 bytes and therefore does not fit in a short_string and it also includes several "
        "non ascii characters such as \U0001f422, \U0001f496, \u2665\ufe0f, \U0001f3a3 and \U0001f926!!"
    ),
    "primitive_time": _scalar("time", ((12 * 60 + 33) * 60 + 54) * 1_000_000 + 123_456),
    "primitive_timestamp": _scalar("timestamp", 1_744_821_296_780_000),
    "primitive_timestamp_nanos": _scalar("timestamp_nanos", 1_730_982_834_123_456_789),
    "primitive_timestampntz": _scalar("timestamp_ntz", 1_744_806_896_780_000),
    "primitive_timestampntz_nanos": _scalar("timestamp_ntz_nanos", 1_730_982_834_123_456_789),
    "primitive_uuid": _scalar("uuid", UUID("f24f9b64-81fa-49d1-b74e-8c09a6e31c56")),
    "short_string": _text("Less than 64 bytes (\u2764\ufe0f with utf8)"),
}

TEXT = {
    "primitive_binary": '"AxM33q2+78r+"',
    "primitive_date": '"2025-04-16"',
    "primitive_decimal16": "12345678912345678.90",
    "primitive_float": "1234568000.0e0",  # shorter than 1234567940 and still nearest to no other float
    "primitive_time": '"12:33:54.123456"',
    "primitive_timestamp": '"2025-04-16T16:34:56.780000Z"',
    "primitive_timestamp_nanos": '"2024-11-07T12:33:54.123456789Z"',
    "primitive_timestampntz": '"2025-04-16T12:34:56.780000"',
    "primitive_timestampntz_nanos": '"2024-11-07T12:33:54.123456789"',
    "primitive_uuid": '"f24f9b64-81fa-49d1-b74e-8c09a6e31c56"',
}


def _bytes(case: str) -> tuple[bytes, bytes]:
    return (SUITE / f"{case}.metadata").read_bytes(), (SUITE / f"{case}.value").read_bytes()


def test_the_suite_is_the_one_pinned_here() -> None:
    cases = {path.stem for path in SUITE.glob("*.value")}
    assert cases == set(EXPECTED)
    assert len(cases) == 29


@pytest.mark.parametrize("case", sorted(EXPECTED))
def test_case_decodes_to_its_value_and_type(case: str) -> None:
    assert decode(*_bytes(case)) == EXPECTED[case]


@pytest.mark.parametrize("case", sorted(EXPECTED))
def test_case_survives_encoding(case: str) -> None:
    node = decode(*_bytes(case))
    metadata, value = encode(node)
    assert equal(decode(metadata, value), node)
    assert decode(metadata, value) == node
    assert Variant(metadata, value) == Variant(*_bytes(case))
    if not isinstance(node, (dict, list)):
        assert value == _bytes(case)[1]


@pytest.mark.parametrize("case", sorted(TEXT))
def test_case_has_its_documented_text(case: str) -> None:
    assert Variant(*_bytes(case)).to_json() == TEXT[case]


def test_the_data_dictionary_says_the_same() -> None:
    text = (SUITE / "data_dictionary.json").read_text()
    documented = json.loads(re.sub(r",\s*}\s*$", "}", text))
    assert set(EXPECTED) - set(documented) == {"long_string"}
    for case, said in documented.items():
        assert _as_documented(case, Variant(*_bytes(case)).to_python(), said) == said, case


def _as_documented(case: str, found: object, said: object) -> object:
    """Our value in the form of the data dictionary."""
    match case:
        case "primitive_binary" | "primitive_uuid" | "primitive_date":
            return json.loads(Variant(*_bytes(case)).to_json())
        case "primitive_decimal4" | "primitive_decimal8" | "primitive_decimal16":
            return float(str(found))
        case "primitive_float":
            # Rounded to the digits that tell a 32-bit float from its neighbours.
            assert isinstance(found, float) and isinstance(said, float)
            return said if abs(said - found) < 64 else found
        case "primitive_time":
            return str(found)[:8] + ":" + str(found)[9:]
        case "primitive_timestamp" | "primitive_timestampntz":
            return said if found == datetime.datetime.fromisoformat(str(said)) else found
        case "primitive_timestamp_nanos":
            return str(found).replace("Z", "+00:00")
        case "primitive_timestampntz_nanos":
            return str(found)
        case "object_primitive":
            assert isinstance(found, dict)
            return {**found, "double_field": float(found["double_field"])}
    return found
