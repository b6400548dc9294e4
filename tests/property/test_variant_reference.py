"""Laws of the reference code for one Variant value, under generated values, texts and damaged bytes."""

from __future__ import annotations

import itertools
import math
import pickle
import random
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import encodings, nodes, physical, scalars

from varquet.errors import InvalidVariantError
from varquet.paths import Path
from varquet.types import BY_NAME, Family
from varquet.variant import Scalar, Variant, decode, encode, equal, from_python, logical_key, to_json, to_python
from varquet.variant.model import Node

# Shares of the profile's number of examples (100 unless a profile says otherwise), so that one switch makes all runs longer.
EXAMPLES = settings().max_examples
quick = settings(max_examples=EXAMPLES // 4, deadline=None)
quicker = settings(max_examples=EXAMPLES // 6, deadline=None)
longer = settings(max_examples=EXAMPLES, deadline=None)


# Round trips


@quick
@given(nodes())
def test_decoding_what_was_encoded_gives_the_node_with_its_types(node: Node) -> None:
    assert physical(decode(*encode(node))) == physical(node)


@quick
@given(st.data(), nodes())
def test_every_legal_encoding_is_read(data: st.DataObject, node: Node) -> None:
    """P28: reserved bits, odd dictionaries, shared offsets, values out of order, oversize widths."""
    metadata, value = data.draw(encodings(node))
    assert physical(decode(metadata, value)) == physical(node)


@quick
@given(nodes())
def test_the_encoding_is_the_documented_one(node: Node) -> None:
    """P9, P14: sorted and unique names, minimal widths, values in source order without gaps, the same bytes every time."""
    metadata, value = encode(node)
    names = _documented_names(metadata)
    assert names == sorted(_all_names(node), key=str.encode)
    assert _documented_end(value, 0, names, node) == len(value)
    assert encode(node) == (metadata, value)


@quicker
@given(nodes(), st.integers(0, 1 << 32))
def test_the_order_of_fields_does_not_matter(node: Node, seed: int) -> None:
    """P15."""
    shuffled = _shuffled(node, random.Random(seed))
    assert equal(shuffled, node)
    assert encode(shuffled)[0] == encode(node)[0]
    assert to_json(decode(*encode(shuffled))) == to_json(decode(*encode(node)))


@quick
@given(nodes())
def test_python_objects_come_back_as_the_same_value(node: Node) -> None:
    assert equal(from_python(to_python(node)), _floats_as_doubles(node))


# Equality


@quick
@given(nodes(wide=False), st.integers(0, 1 << 32))
def test_a_value_equals_itself_in_any_width(node: Node, seed: int) -> None:
    other = _restated(node, random.Random(seed))
    assert equal(node, other)
    assert hash(logical_key(node)) == hash(logical_key(other))
    assert equal(other, node)


@quick
@given(scalars(), scalars())
def test_scalars_are_equal_exactly_when_their_meaning_is(left: Scalar, right: Scalar) -> None:
    assert equal(left, right) == _means_the_same(left, right)


@quicker
@given(nodes(wide=False), nodes(wide=False))
def test_different_trees_have_different_keys(left: Node, right: Node) -> None:
    assert equal(left, right) == (_nested_key(left) == _nested_key(right))
    assert not equal([left], left)
    assert not equal([left, right], [[left, right]])


@quicker
@given(st.data(), nodes(wide=False))
def test_variants_compare_by_value_whatever_their_bytes(data: st.DataObject, node: Node) -> None:
    odd = Variant(*data.draw(encodings(node)))
    plain = Variant(*encode(node))
    assert odd == plain
    assert hash(odd) == hash(plain)
    assert pickle.loads(pickle.dumps(odd)) == plain


# The lazy view


@quicker
@given(st.data(), nodes(wide=False))
def test_the_lazy_view_agrees_with_the_decoder(data: st.DataObject, node: Node) -> None:
    metadata, value = data.draw(encodings(node))
    for path, expected in _all_paths(node):
        part = Variant(metadata, value).get(path)
        assert part is not None
        assert physical(decode(part.metadata, part.value)) == physical(expected)
        assert part.to_json() == to_json(decode(part.metadata, part.value))
        assert part.get(path / "no such field / at all") is None
        if isinstance(expected, dict):
            assert part.keys() == sorted(expected, key=str.encode)
        if isinstance(expected, (dict, list)):
            assert len(part) == len(expected)
            assert len(list(part)) == len(expected)


# Damaged bytes


@longer
@given(st.data(), nodes(wide=False), st.integers(0, 1 << 32))
def test_damaged_bytes_are_a_value_or_an_invalid_variant_error(data: st.DataObject, node: Node, seed: int) -> None:
    """P25: nothing but InvalidVariantError escapes, from the decoder, from the lazy view or from what is done with a value."""
    choice = random.Random(seed)
    metadata, value = data.draw(encodings(node))
    other = encode({"x": [node]})
    metadata, value = _damaged(metadata, choice, other[0]), _damaged(value, choice, other[1])
    if choice.random() < 0.1:
        metadata, value = value, metadata
    for operation in _OPERATIONS:
        try:
            operation(metadata, value)
        except InvalidVariantError as error:
            assert "expected" in str(error) and "got" in str(error)
            pickle.dumps(error)
    assert repr(Variant(metadata, value)).startswith("Variant(")


@longer
@given(st.binary(max_size=30), st.binary(max_size=40))
def test_random_bytes_are_a_value_or_an_invalid_variant_error(metadata: bytes, value: bytes) -> None:
    for head in (b"", b"\x01\x00\x00", b"\x01\x02\x00\x01\x02ab"):
        for operation in _OPERATIONS:
            try:
                operation(head or metadata, value)
            except InvalidVariantError:
                continue
    assert repr(Variant(metadata, value)).startswith("Variant(")


def _use(metadata: bytes, value: bytes) -> None:
    node = decode(metadata, value)
    assert physical(decode(*encode(node))) == physical(node) or _has_narrow_decimal(node)
    assert equal(decode(*encode(node)), node)
    to_json(node)
    to_python(node)


def _touch_everything(metadata: bytes, value: bytes) -> None:
    pending = [Variant(metadata, value)]
    for _ in range(100):
        if not pending:
            break
        part = pending.pop()
        assert part.type_name
        if part.type_name == "object":
            pending.extend(part[name] for name in part.keys())  # noqa: SIM118
        elif part.type_name == "array":
            pending.extend(part[index] for index in range(len(part)))
        else:
            part.to_python()
        assert isinstance(part.value, bytes)


def _touch_one(metadata: bytes, value: bytes) -> None:
    Variant(metadata, value).get("$.a[0]")


_OPERATIONS = (_use, _touch_everything, _touch_one)


@pytest.mark.parametrize("size", [4, 64, 1000])
def test_a_tiny_value_that_expands_without_end_is_refused(size: int) -> None:
    """Arrays whose two elements are the same array, again and again: 2**size values in 5 * size bytes."""
    value = b"\x00"
    for _ in range(size):
        wide = len(value) > 255
        offsets = (0, 0, len(value))
        value = bytes((3 | wide << 2, 2)) + b"".join(offset.to_bytes(1 + wide, "little") for offset in offsets) + value
    if size == 4:
        assert physical(decode(b"\x01\0\0", value)) == physical(_doubled(size))
        return
    with pytest.raises(InvalidVariantError, match="at most 16 times its own bytes"):
        decode(b"\x01\0\0", value)


# What the laws are stated with


def _doubled(size: int) -> Node:
    node: Node = Scalar(BY_NAME["null"], None)
    for _ in range(size):
        node = [node, node]
    return node


def _all_names(node: Node) -> set[str]:
    if isinstance(node, Scalar):
        return set()
    own = set(node) if isinstance(node, dict) else set()
    return own.union(*map(_all_names, node.values() if isinstance(node, dict) else node))


def _minimal(largest: int) -> int:
    return next(width for width in (1, 2, 3, 4) if largest < 256**width)


def _documented_names(metadata: bytes) -> list[str]:
    if metadata == b"\x01\x00\x00":
        return []
    width = (metadata[0] >> 6) + 1
    assert metadata[0] & 0x3F == 0x11
    count = int.from_bytes(metadata[1 : 1 + width], "little")
    numbers = [int.from_bytes(metadata[1 + i * width : 1 + (i + 1) * width], "little") for i in range(count + 2)]
    names = metadata[1 + (count + 2) * width :]
    assert count > 0 and numbers[1] == 0 and numbers[-1] == len(names) and width == _minimal(max(len(names), count))
    return [names[start:end].decode() for start, end in itertools.pairwise(numbers[1:])]


def _documented_end(value: bytes, at: int, names: list[str], node: Node) -> int:
    """Check one value against the rules of the encoder, and return where it ends."""
    if isinstance(node, Scalar):
        return at + _documented_scalar_size(value, at, node)
    header, is_object, is_large = value[at] >> 2, isinstance(node, dict), len(node) > 255
    assert value[at] & 3 == (2 if is_object else 3)
    count_size = 4 if is_large else 1
    assert value[at + 1 : at + 1 + count_size] == len(node).to_bytes(count_size, "little")
    offset_size, id_size = (header & 3) + 1, (header >> 2 & 3) + 1
    assert header >> (4 if is_object else 2) == is_large
    at += 1 + count_size
    children = list(node.values()) if isinstance(node, dict) else node
    order = list(range(len(children)))
    if isinstance(node, dict):
        ids = [int.from_bytes(value[at + i * id_size : at + (i + 1) * id_size], "little") for i in range(len(node))]
        assert ids == sorted(ids)
        assert id_size == _minimal(max(ids, default=0))
        insertion = list(node)
        assert sorted(insertion, key=str.encode) == [names[field_id] for field_id in ids]
        order = [insertion.index(names[field_id]) for field_id in ids]
        at += len(ids) * id_size
    offsets = [int.from_bytes(value[at + i * offset_size : at + (i + 1) * offset_size], "little") for i in range(len(children) + 1)]
    assert offset_size == _minimal(offsets[-1])
    at += len(offsets) * offset_size
    end = at
    for index, child in enumerate(children):
        assert offsets[order.index(index)] == end - at
        end = _documented_end(value, end, names, child)
    assert offsets[-1] == end - at
    return end


def _documented_scalar_size(value: bytes, at: int, scalar: Scalar) -> int:
    if isinstance(scalar.value, str):
        length = len(scalar.value.encode())
        assert value[at] == (length << 2 | 1 if length < 64 else 16 << 2)
        return 1 + length if length < 64 else 5 + length
    assert value[at] == scalar.type.tag << 2
    return 5 + len(scalar.value) if isinstance(scalar.value, bytes) else 1 + scalar.type.width


def _shuffled(node: Node, choice: random.Random) -> Node:
    if isinstance(node, Scalar):
        return node
    if isinstance(node, list):
        return [_shuffled(child, choice) for child in node]
    names = list(node)
    choice.shuffle(names)
    return {name: _shuffled(node[name], choice) for name in names}


def _floats_as_doubles(node: Node) -> Node:
    if isinstance(node, Scalar):
        return Scalar(BY_NAME["double"], node.value) if node.type.family is Family.FLOAT else node
    if isinstance(node, list):
        return [_floats_as_doubles(child) for child in node]
    return {name: _floats_as_doubles(child) for name, child in node.items()}


def _restated(node: Node, choice: random.Random) -> Node:
    """The same value with other widths, other units, trailing zeros and fields in another order."""
    if isinstance(node, list):
        return [_restated(child, choice) for child in node]
    if isinstance(node, dict):
        return _shuffled({name: _restated(child, choice) for name, child in node.items()}, choice)
    value, name = node.value, node.type.name
    if name.startswith("int") and isinstance(value, int):
        return choice.choice([Scalar(BY_NAME["int64"], value), Scalar(BY_NAME["decimal16"], Decimal(f"{value}0000E-4"))])
    if isinstance(value, Decimal) and len(value.as_tuple().digits) < 37 and -int(value.as_tuple().exponent) < 37:
        return Scalar(BY_NAME["decimal16"], Decimal(f"{value:f}0" if "." in f"{value:f}" else f"{value:f}.0"))
    if name in ("timestamp", "timestamp_ntz") and isinstance(value, int) and abs(value) < 1 << 50:
        return Scalar(BY_NAME[name + "_nanos"], value * 1000)
    return node


def _means_the_same(left: Scalar, right: Scalar) -> bool:
    if left.type.family is not right.type.family:
        return False
    a, b = left.value, right.value
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if left.type.name != right.type.name and left.type.family in (Family.TIMESTAMP, Family.TIMESTAMP_NTZ):
        nanos = [s.value * (1 if s.type.name.endswith("nanos") else 1000) for s in (left, right) if isinstance(s.value, int)]
        return nanos[0] == nanos[1]
    return a == b


def _nested_key(node: Node) -> object:
    if isinstance(node, Scalar):
        return logical_key(node)
    if isinstance(node, list):
        return ["array", *map(_nested_key, node)]
    return {name: _nested_key(child) for name, child in node.items()}


def _all_paths(node: Node) -> list[tuple[Path, Node]]:
    found: list[tuple[Path, Node]] = []
    pending: list[tuple[Path, Node]] = [(Path(), node)]
    while pending:
        path, here = pending.pop()
        found.append((path, here))
        if isinstance(here, dict):
            pending.extend((path / name, child) for name, child in here.items())
        elif isinstance(here, list):
            pending.extend((path / index, child) for index, child in enumerate(here))
            pending.extend((path / (index - len(here)), child) for index, child in enumerate(here[-1:], len(here) - 1))
    return found


def _damaged(data: bytes, choice: random.Random, other: bytes) -> bytes:
    """Bit flips, bytes replaced by telling ones, cuts, and splices with other bytes."""
    damaged = bytearray(data)
    for _ in range(choice.choice((0, 1, 1, 2, 5))):
        at = choice.randrange(len(damaged) + 1)
        match choice.randrange(5):
            case 0 if at < len(damaged):
                damaged[at] ^= 1 << choice.randrange(8)
            case 1 if at < len(damaged):
                damaged[at] = choice.choice((0, 1, 2, 3, 0x7F, 0x80, 0xFE, 0xFF, len(data) & 0xFF, (len(data) - at) & 0xFF))
            case 2:
                del damaged[at:]
            case 3:
                damaged[at:at] = other[choice.randrange(len(other)) :]
            case _:
                del damaged[at : at + choice.randrange(4)]
    return bytes(damaged)


def _has_narrow_decimal(node: Node) -> bool:
    """Whether some decimal is in a type too narrow for its digits or scale, which the encoder widens."""
    if isinstance(node, Scalar):
        if not isinstance(node.value, Decimal):
            return False
        most = {"decimal4": 9, "decimal8": 18, "decimal16": 38}[node.type.name]
        return max(len(node.value.as_tuple().digits), -int(node.value.as_tuple().exponent)) > most
    return any(map(_has_narrow_decimal, node.values() if isinstance(node, dict) else node))
