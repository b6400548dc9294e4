"""Laws of the reference JSON parser and writer, against the standard library and numpy."""

from __future__ import annotations

import json
import math
import pickle
import random
from decimal import Decimal
from typing import Any, Literal

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import json_documents, json_texts, nodes, physical

from varquet.errors import JsonError
from varquet.types import BY_NAME, Family
from varquet.variant import Scalar, decode, encode, equal, parse_json, to_json
from varquet.variant.model import Node

# Shares of the profile's number of examples (100 unless a profile says otherwise), so that one switch makes all runs longer.
EXAMPLES = settings().max_examples
quick = settings(max_examples=EXAMPLES // 4, deadline=None)


@quick
@given(json_texts())
def test_json_born_values_survive_json(text: str) -> None:
    node = parse_json(text)
    again = parse_json(to_json(node))
    assert equal(again, node)
    assert encode(again) == encode(node)


@quick
@given(nodes())
def test_the_text_of_any_node_is_the_documented_json(node: Node) -> None:
    text = to_json(node)
    assert json.loads(text, parse_float=Decimal, parse_int=Decimal) == _documented(node)
    assert to_json(decode(*encode(node))) == to_json(_by_name(node))


@quick
@given(json_texts())
def test_the_text_is_compact_and_escapes_no_more_than_it_must(text: str) -> None:
    ours = to_json(_numbers_as_zero(parse_json(text)))
    assert ours == json.dumps(json.loads(ours), ensure_ascii=False, separators=(",", ":"))


@quick
@given(json_documents())
def test_valid_texts_mean_what_the_standard_library_says(document: tuple[str, object]) -> None:
    text, meaning = document
    node = parse_json(text)
    assert _readable(node) == _readable_stdlib(text)
    _assert_means(node, meaning)
    assert physical(parse_json(text.encode())) == physical(node)
    assert physical(parse_json(b"\xef\xbb\xbf" + text.encode())) == physical(node)


@settings(max_examples=EXAMPLES // 2, deadline=None)
@given(json_texts(), st.integers(0, 1 << 32))
def test_damaged_texts_are_refused_where_the_standard_library_refuses_them(text: str, seed: int) -> None:
    damaged = _damaged_text(text, random.Random(seed))
    try:
        ours: object = _readable(parse_json(damaged))
    except JsonError as error:
        assert error.offset is not None and 0 <= error.offset <= len(damaged.encode("utf-8", "surrogatepass"))
        ours = "refused"
    assert ours == _readable_stdlib(damaged)


@quick
@given(st.binary(max_size=12))
def test_any_bytes_are_a_value_or_a_json_error(data: bytes) -> None:
    for text in (data, b'"' + data + b'"', b"[" + data):
        try:
            node = parse_json(text)
        except JsonError as error:
            assert pickle.loads(pickle.dumps(error)).offset == error.offset
        else:
            assert equal(parse_json(to_json(node)), node)


# What the laws are stated with


def _numbers_as_zero(node: Node) -> Node:
    if isinstance(node, list):
        return [_numbers_as_zero(child) for child in node]
    if isinstance(node, dict):
        return {name: _numbers_as_zero(child) for name, child in node.items()}
    return Scalar(BY_NAME["int8"], 0) if node.type.family in (Family.EXACT, Family.DOUBLE) else node


def _by_name(node: Node) -> Node:
    if isinstance(node, list):
        return [_by_name(child) for child in node]
    return {name: _by_name(node[name]) for name in sorted(node, key=str.encode)} if isinstance(node, dict) else node


def _documented(node: Node) -> object:
    """What the JSON text of a node should hold; numpy says how dates and timestamps look."""
    if isinstance(node, list):
        return [_documented(child) for child in node]
    if isinstance(node, dict):
        return {name: _documented(child) for name, child in node.items()}
    value: Any = node.value
    match node.type.family:
        case Family.NULL | Family.BOOLEAN | Family.STRING:
            return value
        case Family.EXACT:
            return Decimal(value)
        case Family.DOUBLE | Family.FLOAT if not math.isfinite(value):
            return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[repr(value)]
        case Family.DOUBLE:
            return Decimal(repr(value))
        case Family.FLOAT:
            return Decimal(np.format_float_scientific(np.float32(value), unique=True))
        case Family.DATE:
            return _signed(str(np.datetime64(value, "D")))
        case Family.TIME:
            return str(np.datetime64(value, "us")).partition("T")[2]
        case Family.TIMESTAMP | Family.TIMESTAMP_NTZ:
            return _numpy_moment(value, "ns" if node.type.name.endswith("nanos") else "us") + "Z" * (node.type.family is Family.TIMESTAMP)
        case Family.BINARY:
            return _base64(value).decode()
        case Family.UUID:
            text = value.hex
            return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _numpy_moment(ticks: int, unit: Literal["us", "ns"]) -> str:
    if ticks == -(1 << 63):  # numpy's NaT
        return {"us": "-290308-12-21T19:59:05.224192", "ns": "1677-09-21T00:12:43.145224192"}[unit]
    return _signed(str(np.datetime64(ticks, unit)))


def _signed(text: str) -> str:
    """numpy's date with our year: four digits at least (numpy counts the sign among them), a sign beyond four."""
    sign, (year, rest) = "-" * text.startswith("-"), text.lstrip("-").split("-", 1)
    return f"{sign or '+' * (len(year) > 4)}{year:0>4}-{rest}"


def _base64(data: bytes) -> bytes:
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    bits = "".join(f"{byte:08b}" for byte in data)
    bits += "0" * (-len(bits) % 6)
    text = bytes(alphabet[int(bits[at : at + 6], 2)] for at in range(0, len(bits), 6))
    return text + b"=" * (-len(text) % 4)


def _readable(node: Node) -> object:
    """A node of JSON as nested Python; numbers by type and value."""
    if isinstance(node, list):
        return [_readable(child) for child in node]
    if isinstance(node, dict):
        return {name: _readable(child) for name, child in node.items()}
    if isinstance(node.value, (int, Decimal)) and not isinstance(node.value, bool):
        return "exact", Decimal(node.value)
    return ("double", repr(node.value)) if isinstance(node.value, float) else node.value


def _readable_stdlib(text: str) -> object:
    """The same from `json.loads`, made as strict as RFC 8259 and varquet are; or "refused"."""

    def number(digits: str) -> object:
        exact = Decimal(digits)
        is_exact = "e" not in digits.lower() and len(exact.as_tuple().digits) <= 38 and -int(exact.as_tuple().exponent) <= 38
        if is_exact and not (digits.startswith("-") and exact == 0 and "." in digits):
            return "exact", abs(exact) if exact == 0 else exact
        if math.isinf(float(digits)):
            raise ValueError
        return "double", repr(float(digits))

    def fields(pairs: list[tuple[str, object]]) -> object:
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError
        return dict(pairs)

    def refuse(_: str) -> object:
        raise ValueError

    try:
        value = json.loads(text, parse_int=number, parse_float=number, parse_constant=refuse, object_pairs_hook=fields)
        json.dumps(value, ensure_ascii=False, default=str).encode()  # raises on lone surrogates
    except ValueError:
        return "refused"
    return value


def _assert_means(node: Node, meaning: object) -> None:
    if isinstance(meaning, dict):
        assert isinstance(node, dict) and list(node) == list(meaning)
        for name, child in meaning.items():
            _assert_means(node[name], child)
    elif isinstance(meaning, list):
        assert isinstance(node, list) and len(node) == len(meaning)
        for element, child in zip(node, meaning, strict=True):
            _assert_means(element, child)
    elif not isinstance(meaning, tuple):
        assert isinstance(node, Scalar) and node.value == meaning


def _damaged_text(text: str, choice: random.Random) -> str:
    for _ in range(choice.choice((1, 1, 2))):
        at = choice.randrange(len(text) + 1)
        what = choice.choice(
            ('"', ",", ":", "[", "]", "{", "}", "0", "-", "e", ".", " ", "\\", "\t", "\x00", "x", "null", "NaN", "\u00a0", "\ud800")
        )
        text = choice.choice((text[:at] + what + text[at:], text[:at] + text[at + 1 :], text[:at], text[:at] + what + text[at + 1 :]))
    return text
