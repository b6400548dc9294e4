"""Z85: the text that Delta has for bytes, and Variants in it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import nodes

from varquet.delta.z85 import decode, decode_variant, encode, encode_variant
from varquet.errors import CastError, InvalidVariantError, VarquetError
from varquet.variant import Variant
from varquet.variant import encode as encode_node
from varquet.variant.model import Node

MIN, MAX = {"$['a']": "min-string", "$['b']['c']": 1}, {"$['a']": "variant", "$['b']['c']": 100}
PRINTED = [
    ("0S&u501fk+ze0(tB98CpzF6vU0rJl95HpNdvjbtatpi(cu0wW^cTu", MIN),
    ("0S&u500&]LC42A9vqZe}wb#-i1}-a+cT!xdbWhT9cTx}7v<+K", MAX),
]
"""The two examples of the protocol, with what it says they are."""
BY_THE_RULE = [
    ("0rJl95HpNdvjbtatpi(cu0wW^cTu=P0096c4jMddzy]{KA+PA73&{td", MIN),
    ("0rJl95HpNdvjbtatpi(cu0wW^cTu=P009693lsp#A+O%1BpqWW", MAX),
]


def test_the_example_of_the_rfc() -> None:
    data = bytes((0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B))
    assert encode(data) == "HelloWorld"
    assert decode("HelloWorld") == data
    assert encode(b"") == "" and decode("") == b""
    assert encode(b"\xff" * 4) == "%nSc0" and decode("%nSc0") == b"\xff" * 4


@pytest.mark.parametrize(("text", "expected"), PRINTED + BY_THE_RULE)
def test_the_statistics_of_the_protocol(text: str, expected: dict[str, object]) -> None:
    found = decode_variant(text)
    assert found.to_python() == expected
    assert found["$['b']['c']"].type_name == "int8"


@pytest.mark.parametrize("text", [text for text, _ in BY_THE_RULE])
def test_what_the_rule_makes_is_made_again(text: str) -> None:
    found = decode_variant(text)
    assert encode_variant(found.metadata, found.value) == text


@given(st.binary(max_size=200))
def test_bytes_come_back(data: bytes) -> None:
    whole = data + bytes(-len(data) % 4)
    assert len(encode(whole)) == len(whole) // 4 * 5
    assert decode(encode(whole)) == whole


@given(nodes())
def test_variants_come_back(node: Node) -> None:
    metadata, value = encode_node(node)
    text = encode_variant(metadata, value)
    assert len(text) % 5 == 0
    found = decode_variant(text)
    assert (found.metadata, found.value) == (metadata, value)


@given(st.text(max_size=40))
def test_any_other_text_is_a_clear_error(text: str) -> None:
    try:
        assert isinstance(decode_variant(text), Variant)
    except VarquetError as error:
        assert re.match("expected .*, got ", error.message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("HelloWorl", "expected a multiple of 5 characters of Z85, got 9"),
        ("Hell~", "expected characters of Z85, got '~' at character 5"),
        ("HelloHellö", "expected characters of Z85, got 'ö' at character 10"),
        ("Hello%nSc1", "expected blocks of Z85 that 4 bytes hold, got '%nSc1' at character 6"),
    ],
)
def test_what_is_no_z85(text: str, message: str) -> None:
    with pytest.raises(CastError, match=re.escape(message)):
        decode(text)


def test_what_cannot_be_written() -> None:
    with pytest.raises(CastError, match="expected a multiple of 4 bytes to write as Z85, got 3"):
        encode(b"abc")


def test_what_is_no_variant() -> None:
    with pytest.raises(InvalidVariantError, match="expected metadata of version 1, got version 6"):
        decode_variant("HelloWorld")
    with pytest.raises(InvalidVariantError, match="got no bytes"):
        decode_variant("")
    with pytest.raises(CastError, match="got 6 characters"):
        decode_variant("Hello0")
