"""Walking Thrift's compact protocol: spans are exact whatever lies in a struct, and damage is an error, never more."""

from __future__ import annotations

import random
import struct as packing
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from varquet.errors import ParquetError
from varquet.parquet.thrift import Edit, Struct, apply, binary, field_header, list_header, read_struct

TRUE, FALSE, I8, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID = range(1, 14)
BITS = {I16: 16, I32: 32, I64: 64}

Value: TypeAlias = "tuple[int, object]"


def varint(number: int) -> bytes:
    return bytes((number,)) if number < 128 else bytes((number % 128 + 128,)) + varint(number // 128)


def zigzag(number: int) -> bytes:
    return varint(2 * number if number >= 0 else -2 * number - 1)


def element(value: Value) -> bytes:
    """A value as an element of a list or map."""
    kind, payload = value
    match kind, payload:
        case ((1 | 2), _):
            return bytes((kind,))
        case 3, int():
            return packing.pack("b", payload)
        case ((4 | 5 | 6), int()):
            return zigzag(payload)
        case 7, float():
            return packing.pack("<d", payload)
        case 8, bytes():
            return varint(len(payload)) + payload
        case ((9 | 10), (int() as of, list() as values)):
            count = len(values)
            return (bytes((count << 4 | of,)) if count < 15 else bytes((0xF0 | of,)) + varint(count)) + b"".join(map(element, values))
        case 11, (int() as key, int() as of, list() as pairs):
            entries = b"".join(element(one) + element(two) for one, two in pairs)
            return varint(len(pairs)) + (bytes((key << 4 | of,)) + entries if pairs else b"")
        case 12, list():
            return struct(payload)
        case 13, bytes():
            return payload
    raise AssertionError(value)


def struct(fields: Fields) -> bytes:
    """A struct of these fields in their order, with the short header wherever it can be."""
    out = b""
    previous = 0
    for number, value in fields:
        kind = value[0]
        out += bytes((number - previous << 4 | kind,)) if 1 <= number - previous <= 15 else bytes((kind,)) + zigzag(number)
        out += b"" if kind in (TRUE, FALSE) else element(value)
        previous = number
    return out + b"\x00"


NUMBERS = st.integers(1, 20) | st.integers(-(1 << 15), (1 << 15) - 1)
SCALARS = (TRUE, FALSE, I8, I16, I32, I64, DOUBLE, BINARY, UUID)
Fields: TypeAlias = "list[tuple[int, Value]]"


def any_number(choice: random.Random, bits: int) -> int:
    return choice.choice((choice.randrange(-99, 99), choice.randrange(-(1 << bits - 1), 1 << bits - 1)))


def any_value(choice: random.Random, kind: int, depth: int) -> Value:
    """A value of this kind, with containers nested so deep at most."""
    kinds = SCALARS if depth == 0 else (*SCALARS, LIST, SET, MAP, STRUCT, STRUCT)
    match kind:
        case 1 | 2:
            return kind, None
        case 3 | 4 | 5 | 6:
            return kind, any_number(choice, {I8: 8, **BITS}[kind])
        case 7:
            return kind, choice.random()
        case 8:
            return kind, choice.randbytes(choice.choice((0, 1, 8, 31, 32, 127, 128, 300)))
        case 13:
            return kind, choice.randbytes(16)
        case 9 | 10:
            of = choice.choice(kinds)
            return kind, (of, [any_value(choice, of, depth - 1) for _ in range(choice.choice((0, 1, 2, 3, 5, 7, 14, 15, 20)))])
        case 11:
            key, of = choice.choice(SCALARS), choice.choice(kinds)
            return kind, (key, of, [(any_value(choice, key, 0), any_value(choice, of, depth - 1)) for _ in range(choice.randrange(4))])
    return kind, any_fields(choice, depth)


def any_fields(choice: random.Random, depth: int) -> Fields:
    kinds = SCALARS if depth == 0 else (*SCALARS, LIST, LIST, SET, MAP, STRUCT, STRUCT)
    small = choice.random() < 0.7
    numbers = list(
        {choice.randrange(1, 25) if small else choice.randrange(-(1 << 15), 1 << 15) for _ in range(choice.choice((0, 1, 4, 9)))}
    )
    if choice.random() < 0.8:
        numbers.sort()
    return [(number, any_value(choice, choice.choice(kinds), depth - 1)) for number in numbers]


STRUCTS = [any_fields(random.Random(seed), seed % 4) for seed in range(200)]


def spans(walked: Struct) -> list[tuple[int, int, bytes]]:
    return [(field.id, field.kind, walked.data[field.start : field.end]) for field in walked.fields.values()]


def expected_spans(fields: Fields) -> list[tuple[int, int, bytes]]:
    return [(number, value[0], b"" if value[0] in (TRUE, FALSE) else element(value)) for number, value in fields]


def test_a_walk_finds_where_each_value_lies() -> None:
    assert sum(len(fields) for fields in STRUCTS) > 500
    for fields in STRUCTS:
        octets = struct(fields)
        walked = read_struct(b"before" + octets + b"behind", 6)
        assert spans(walked) == expected_spans(fields)
        assert (walked.start, walked.end) == (6, 6 + len(octets))


def test_a_struct_inside_another_is_stepped_over() -> None:
    for fields in STRUCTS:
        inner = (STRUCT, fields)
        outer: Fields = [(1, inner), (2, (LIST, (STRUCT, [inner] * 3))), (7, (BINARY, b"end"))]
        walked = read_struct(struct(outer), 0)
        assert spans(walked) == expected_spans(outer)
        assert [spans(one) for one in walked.structs(2)] == [expected_spans(fields)] * 3


def test_a_struct_cut_off_anywhere_is_an_error() -> None:
    for fields in STRUCTS:
        octets = struct([(1, (STRUCT, fields))])
        for size in range(0, len(octets), 1 + len(octets) // 200):
            with pytest.raises(ParquetError):
                read_struct(octets[:size], 0)


@given(st.binary(max_size=60) | st.lists(st.sampled_from(b"\x00\x08\x15\x18\x19\x1b\x1c\x2c\xfc\x02\x80\xff"), max_size=60).map(bytes))
def test_any_bytes_are_a_struct_or_an_error(octets: bytes) -> None:
    try:
        walked = read_struct(octets, 0)
    except ParquetError:
        return
    assert walked.end <= len(octets)
    assert all(field.header < field.start <= field.end <= walked.stop for field in walked.fields.values())


@pytest.mark.parametrize("number", [-7, 1, 5, 10, 16, 30_000])
@pytest.mark.parametrize("new", [(LIST, (BINARY, [(BINARY, b"text")])), (STRUCT, [(16, (STRUCT, [(1, (I8, 1))]))])])
def test_an_edit_changes_one_field_and_nothing_else(number: int, new: Value) -> None:
    for given_fields in STRUCTS:
        fields = [field for field in given_fields if field[0] != number]
        walked = read_struct(b"before" + struct(fields) + b"behind", 6)
        once = apply(walked.data, [walked.edit(number, new[0], element(new))])
        assert once.startswith(b"before") and once.endswith(b"behind")
        again = read_struct(once, 6)
        assert again.end == len(once) - 6
        assert sorted(spans(again)) == sorted(expected_spans([*fields, (number, new)]))
        if list(walked.fields) == sorted(walked.fields):
            assert list(again.fields) == sorted(again.fields)
        assert apply(once, [again.edit(number, new[0], element(new))]) == once
        other: Value = (new[0], (BINARY, [])) if new[0] == LIST else (STRUCT, [])
        replaced = apply(once, [again.edit(number, new[0], element(other))])
        assert spans(read_struct(replaced, 6)) == [(*one[:2], element(other)) if one[0] == number else one for one in spans(again)]


def test_edits_apply_in_the_order_of_their_places() -> None:
    assert apply(b"0123456789", [Edit(8, 9, b"B"), Edit(2, 4, b""), Edit(0, 0, b"A")]) == b"A014567B9"


@pytest.mark.parametrize("kind", [I16, I32, I64])
def test_integers_keep_to_their_width(kind: int) -> None:
    top = (1 << BITS[kind] - 1) - 1
    for number in (0, 1, -1, 63, 64, -64, -65, top, -top - 1):
        assert read_struct(struct([(3, (kind, number))]), 0).integer(3) == number
    for number in (top + 1, -top - 2):
        with pytest.raises(ParquetError, match=f"expected a number of {BITS[kind]} bits in the footer, got {number} - at byte 1"):
            read_struct(struct([(3, (kind, number))]), 0).integer(3)


def test_values_are_read_by_field() -> None:
    walked = read_struct(
        struct(
            [
                (1, (I8, -5)),
                (2, (TRUE, None)),
                (3, (FALSE, None)),
                (4, (BINARY, "naïve".encode())),
                (20, (STRUCT, [(1, (I32, 7))])),
                (21, (LIST, (STRUCT, []))),
                (22, (LIST, (STRUCT, [(STRUCT, [(1, (I32, 8))]), (STRUCT, [])]))),
            ]
        ),
        0,
    )
    assert (walked.integer(1), walked.boolean(2), walked.boolean(3), walked.text(4)) == (-5, True, False, "naïve")
    inner = walked.struct(20)
    assert inner is not None and inner.integer(1) == 7
    assert list(walked.structs(21)) == []
    assert [one.integer(1) for one in walked.structs(22)] == [8, None]
    assert (walked.integer(9), walked.boolean(9), walked.octets(9), walked.text(9), walked.struct(9), list(walked.structs(9))) == (
        None, None, None, None, None, [],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([(4, (I32, 1))], "expected field 4 of a struct in the footer as binary, got i32 - at byte 0"),
        ([(4, (BINARY, b"\xff"))], r"expected UTF-8 text in the footer, got b'\\xff' - at byte 1"),
        ([(4, (BINARY, b"a")), (4, (BINARY, b"b"))], "expected each field of a struct in the footer once, got field 4 again - at byte 3"),
    ],
)
def test_what_is_not_as_it_should_be(fields: Fields, message: str) -> None:
    with pytest.raises(ParquetError, match=message):
        read_struct(struct(fields), 0).text(4)


def test_a_list_of_something_else_is_no_list_of_structs() -> None:
    walked = read_struct(struct([(1, (LIST, (I32, [(I32, 5)])))]), 0)
    with pytest.raises(ParquetError, match="expected a list of structs in the footer, got one of kind 5"):
        list(walked.structs(1))


def test_a_walk_can_end_early() -> None:
    octets = struct([(1, (I32, 5)), (4, (LIST, (STRUCT, [(STRUCT, [])] * 20))), (5, (I32, 6))])
    walked = read_struct(octets[:-6] + b"\xff" * 6, 0, before=4)
    assert walked.integer(1) == 5 and list(walked.fields) == [1] and walked.stop == 2


@pytest.mark.parametrize(
    ("octets", "message"),
    [
        ("", "expected more of the footer, got its end - at byte 0"),
        ("18 ff ff ff ff ff ff ff ff 7f 61", "expected more of the footer, got its end"),
        ("1c 18 ff ff ff ff ff ff ff ff 7f 61", "expected more of the footer, got its end"),
        ("1c 1d", "expected more of the footer, got its end"),
        ("19 fc ff ff ff ff 07", "expected a list in the footer of at most 0 elements, got 2147483647 - at byte 1"),
        ("1b ff ff ff ff 07 55 00", "expected more of the footer, got its end"),
        ("16 80 80 80 80 80 80 80 80 80 80 80 00", "expected a number of at most 10 bytes in the footer, got a longer one"),
        ("1c 16 80 80 80 80 80 80 80 80 80 80 80 00", "expected a number of at most 10 bytes in the footer, got a longer one"),
        ("1e", "expected a kind of Thrift value in the footer, got 14 - at byte 1"),
        ("1c 10", "expected a kind of Thrift value in the footer, got 0 - at byte 2"),
        ("19 2f 00 00 00", "expected a kind of Thrift value in the footer, got 15"),
    ],
)
def test_damage_is_named(octets: str, message: str) -> None:
    with pytest.raises(ParquetError, match=message):
        read_struct(bytes.fromhex(octets), 0)


@pytest.mark.parametrize(("start", "end"), [(b"\x1c", b"\x00"), (b"\x1c\x19\x1c", b"\x00\x00"), (b"\x19\x19\x19\x19", b"")])
def test_no_depth_is_too_deep(start: bytes, end: bytes) -> None:
    depth = 50_000
    octets = b"\x1c" + start * depth + end * depth + b"\x00\x00"
    if end:
        assert read_struct(octets, 0).end == len(octets)
    else:
        with pytest.raises(ParquetError):
            read_struct(octets, 0)


@given(st.integers(-(1 << 15), (1 << 15) - 1), NUMBERS, st.sampled_from(SCALARS))
def test_a_header_is_read_as_it_was_written(previous: int, number: int, kind: int) -> None:
    short = 1 <= number - previous <= 15
    assert field_header(previous, number, kind) == (bytes((number - previous << 4 | kind,)) if short else bytes((kind,)) + zigzag(number))


@pytest.mark.parametrize("count", [0, 1, 14, 15, 127, 128, 70_000])
def test_lists_and_strings_are_written_as_they_are_read(count: int) -> None:
    octets = b"\x19" + list_header(TRUE, count) + b"\x01" * count + b"\x18" + binary(b"x" * count) + b"\x00"
    walked = read_struct(octets, 0)
    assert walked.end == len(octets) and walked.octets(2) == b"x" * count


@given(st.lists(NUMBERS, max_size=20))
def test_lists_of_integers(numbers: list[int]) -> None:
    octets = b"\x19" + list_header(I64, len(numbers)) + b"".join(map(zigzag, numbers)) + b"\x00"
    walked = read_struct(octets, 0)
    assert walked.integers(1) == numbers and walked.integers(2) is None


def test_a_list_of_something_else_is_no_list_of_integers() -> None:
    with pytest.raises(ParquetError, match="expected a list of integers in the footer, got one of kind 8"):
        read_struct(b"\x19" + list_header(8, 1) + binary(b"x") + b"\x00", 0).integers(1)
