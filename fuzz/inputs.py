"""The inputs of the fuzzer: Variants and JSON texts, legal ones first, then damaged. The same ones for the same seed.

A batch depends on the seed and on its number alone, so that any one of them can be made again.
"""

from __future__ import annotations

import functools
import random
import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from varquet.samples import generate
from varquet.types import BY_NAME, PRIMITIVES, Family, PrimitiveType
from varquet.variant.encode import encode, encode_scalar
from varquet.variant.json_text import to_json
from varquet.variant.model import Node, Scalar

__all__ = ["Batch", "Row", "batch", "is_for_one_by_one"]

Row = tuple[bytes, bytes]
"""Metadata and value."""

NAMES: Final = ("a", "b", "", "c.d", "k", "value", "A", "\ue000", "\uff5e", "\U0001f600", "a" * 40, "é\n", "\x00", "z")


@dataclass(frozen=True, slots=True)
class Batch:
    """What goes through the verbs at once."""

    rows: list[Row]
    texts: list[bytes]

    def size(self) -> int:
        """Bytes of all inputs."""
        return sum(len(metadata) + len(value) for metadata, value in self.rows) + sum(map(len, self.texts))


def batch(seed: int, number: int, count: int) -> Batch:
    """So many rows and as many texts; now and then a few large ones instead, or some that are meant to be run alone."""
    choice = random.Random(f"{seed}/{number}")
    if number % 50 == 49:
        return Batch([_large_row(choice) for _ in range(20)], [_large_text(choice) for _ in range(20)])
    if is_for_one_by_one(number):
        count = min(count, 300)
        return Batch([_swelling_row(choice) for _ in range(count)], [_text(choice) for _ in range(count)])
    return Batch([_row(choice) for _ in range(count)], [_text(choice) for _ in range(count)])


def is_for_one_by_one(number: int) -> bool:
    """Whether the rows of this batch make outputs run full, each at another place, when they are alone."""
    return number % 25 == 5


# Legal values


@functools.cache
def _scalars() -> tuple[Scalar, ...]:
    """Every type, at the edges of its range."""
    found = [Scalar(BY_NAME["null"], None), Scalar(BY_NAME["true"], True), Scalar(BY_NAME["false"], False)]
    for kind in PRIMITIVES:
        found += [Scalar(kind, payload) for payload in _payloads(kind)]
    return tuple(found)


def _payloads(kind: PrimitiveType) -> list[bool | int | float | Decimal | bytes | str | uuid.UUID]:
    match kind.family:
        case Family.NULL | Family.BOOLEAN:
            return []
        case Family.EXACT if kind.name.startswith("decimal"):
            most = {"decimal4": 9, "decimal8": 18, "decimal16": 38}[kind.name]
            return [Decimal(f"{sign}{number}E-{scale}") for sign in ("", "-") for number in (0, 1, 10**most - 1) for scale in (0, 2, most)]
        case Family.FLOAT:
            return [0.0, -0.0, 1.5, struct.unpack("<f", b"\xff\xff\x7f\x7f")[0], float("nan"), float("-inf")]
        case Family.DOUBLE:
            return [0.0, -0.0, 1.5, 0.1, 1e300, 5e-324, 123456789.125, float("nan"), float("inf")]
        case Family.TIME:
            return [0, 86_399_999_999]
        case Family.BINARY:
            return [b"", b"\x00\xff", b"x" * 70]
        case Family.STRING:
            return [
                "",
                "a",
                "12",
                "-7",
                "1.50",
                "2025-04-16",
                "2025-04-16T16:34:56.78Z",
                "true",
                "é\U0001f600",
                '\x01"\\',
                "x" * 63,
                "x" * 64,
            ]
        case Family.UUID:
            return [uuid.UUID(int=0xF24F9B6481FA49D1B74E8C09A6E31C56)]
    limit = 1 << (8 * kind.width - 1)
    return [0, 1, -1, 5, limit - 1, -limit]


def _tree(choice: random.Random, depth: int) -> Node:
    kind = choice.random()
    if depth == 0 or kind < 0.4:
        return choice.choice(_scalars())
    children = [_tree(choice, depth - 1) for _ in range(choice.choice((0, 1, 1, 2, 3, 6)))]
    if kind < 0.65:
        return children
    return dict(zip(choice.sample(NAMES, len(children)), children, strict=True))


@functools.cache
def _legal_rows() -> tuple[Row, ...]:
    choice = random.Random(1)
    nodes: list[Node] = [*_scalars()]
    for scalar in _scalars():
        nodes += [[scalar], {"a": scalar}]
    nodes += [_tree(choice, 4) for _ in range(600)]
    nodes += [[scalar] * 256 for scalar in _scalars()[:3]]
    nodes += [{f"k{i}": scalar for i in range(300)} for scalar in _scalars()[3:5]]
    return tuple(encode(node) for node in nodes)


@functools.cache
def _legal_texts() -> tuple[bytes, ...]:
    choice = random.Random(2)
    texts = [to_json(_tree(choice, 4)).encode() for _ in range(600)]
    numbers = (
        "0",
        "-0",
        "1e5",
        "1.5E-3",
        "1e400",
        "1e-400",
        "12345678901234567890",
        "9" * 38,
        "9" * 39,
        "0.1",
        "-0.0",
        "1" + "0" * 30 + ".5",
    )
    texts += [number.encode() for number in numbers]
    texts += [
        b'{"a":1,"a":2}',
        b'{"a":{"b":1},"a":[{"b":2,"b":3}]}',
        b'"\\ud83d\\ude00\\u00e9\\n\\/"',
        b' [ 1 , { "\\u0061" : null } ] ',
        b"\xef\xbb\xbf1",
    ]
    return (*texts, *generate("events", 60, seed=3), *generate("headers", 40, seed=3))


# Odd but often legal bytes


def _container(choice: random.Random, children: list[bytes], names: int) -> bytes:
    """An object or array of these children with any freedom the encoding gives, and now and then one it does not."""
    is_object = names > 0 and choice.random() < 0.5
    values = bytearray()
    starts: list[int] = []
    for child in children:
        if starts and choice.random() < 0.2:
            starts.append(choice.choice(starts))
        else:
            starts.append(len(values))
            values += child
    least = max(1, (len(values).bit_length() + 7) // 8)
    offset_size = choice.randint(least, 4) if least <= 4 else 4
    ids = choice.sample(range(names), len(children)) if is_object and len(children) <= names else None
    if ids is not None and choice.random() < 0.7:
        ids.sort()
    is_large = len(children) > 255 or choice.random() < 0.1
    count = len(children).to_bytes(4 if is_large else 1, "little")
    if ids is not None:
        id_size = choice.choice((1, 1, 2, 3, 4)) if names <= 256 else choice.choice((2, 3, 4))
        header = 2 | (offset_size - 1) << 2 | (id_size - 1) << 4 | is_large << 6 | (choice.random() < 0.05) << 7
        count += b"".join(each.to_bytes(id_size, "little") for each in ids)
    else:
        header = 3 | (offset_size - 1) << 2 | is_large << 4 | choice.choice((0, 0, 0, 0, 1, 7)) << 5
    if choice.random() < 0.05:
        starts = [choice.randrange(len(values) + 2) for _ in starts]
    return bytes((header,)) + count + b"".join(start.to_bytes(offset_size, "little") for start in (*starts, len(values))) + values


def _odd_row(choice: random.Random) -> Row:
    names = [choice.choice(NAMES).encode() for _ in range(choice.randrange(6))]
    is_sorted = names == sorted(set(names)) or choice.random() < 0.02
    width = choice.choice((1, 1, 2, 3, 4))
    offsets = [0]
    for name in names:
        offsets.append(offsets[-1] + len(name))
    metadata = bytes((1 | is_sorted << 4 | (choice.random() < 0.05) << 5 | (width - 1) << 6,))
    metadata += b"".join(number.to_bytes(width, "little") for number in (len(names), *offsets)) + b"".join(names)
    pool = [encode_scalar(choice.choice(_scalars())) for _ in range(3)]
    for _ in range(choice.choice((1, 2, 4, 8))):
        pool.append(_container(choice, [choice.choice(pool) for _ in range(choice.randrange(5))], len(names)))
        if len(pool[-1]) > 3000:
            break
    return metadata, pool[-1]


def _expanding_row(choice: random.Random) -> Row:
    """Containers whose children are the same bytes: few bytes, many values."""
    value = encode_scalar(choice.choice(_scalars()))
    copies = choice.choice((2, 2, 3, 17, 255))
    # Many of many would keep the slow reference busy without telling it anything new.
    for _ in range(choice.randint(1, 40 if copies < 4 else 2)):
        size = max(1, (len(value).bit_length() + 7) // 8)
        starts = b"".join((0).to_bytes(size, "little") for _ in range(copies)) + len(value).to_bytes(size, "little")
        value = bytes((3 | (size - 1) << 2, copies)) + starts + value
    return b"\x01\x00\x00", value


def _swelling_row(choice: random.Random) -> Row:
    """Strings and names that take more room as JSON, of any length, so that outputs run full at any place."""
    text = choice.choice(("\x01", "\n", '"', "x", "\x01é", "x\x1f\U0001f600")) * choice.randrange(120)
    string = Scalar(BY_NAME["string"], text)
    match choice.randrange(3):
        case 0:
            return encode(string)
        case 1:
            return encode([string])
        case _:
            return encode({text: string})


def _deep_row(choice: random.Random, depth: int) -> Row:
    """Arrays and objects in one another."""
    pieces = [encode_scalar(choice.choice(_scalars()))]
    size = len(pieces[0])
    as_object = choice.random() < 0.5
    for _ in range(depth):
        width = (size.bit_length() + 7) // 8
        ends = (0).to_bytes(width, "little") + size.to_bytes(width, "little")
        pieces.append(bytes((2 | (width - 1) << 2, 1, 0)) + ends if as_object else bytes((3 | (width - 1) << 2, 1)) + ends)
        size += len(pieces[-1])
    return b"\x11\x01\x00\x01a", b"".join(reversed(pieces))


# Damage

_NUMBERS: Final = (0, 1, 2, 3, 4, 0x7F, 0x80, 0xFE, 0xFF, 0x100, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)


def _flip(data: bytearray, at: int, choice: random.Random) -> None:
    if at < len(data):
        data[at] ^= 1 << choice.randrange(8)


def _replace(data: bytearray, at: int, choice: random.Random) -> None:
    if at < len(data):
        data[at] = choice.choice((0, 1, 2, 3, 0x7F, 0x80, 0xFF, len(data) & 0xFF, (len(data) - at) & 0xFF, choice.randrange(256)))


def _number(data: bytearray, at: int, choice: random.Random) -> None:
    """A count, length or offset of any width that is as large as can be, or just too large."""
    width = choice.choice((1, 2, 3, 4))
    number = choice.choice((*_NUMBERS, len(data), len(data) + 1, len(data) - at, max(0, len(data) - at - 1)))
    data[at : at + width] = (number & ((1 << 8 * width) - 1)).to_bytes(width, "little")


def _cut(data: bytearray, at: int, choice: random.Random) -> None:
    del data[at:]


def _drop(data: bytearray, at: int, choice: random.Random) -> None:
    del data[at : at + choice.randint(1, 4)]


def _double(data: bytearray, at: int, choice: random.Random) -> None:
    data[at:at] = data[at : at + choice.randint(1, 12)]


def _append(data: bytearray, at: int, choice: random.Random) -> None:
    data += choice.randbytes(choice.randint(1, 4))


_DAMAGE: Final[tuple[Callable[[bytearray, int, random.Random], None], ...]] = (
    *(_flip, _flip, _flip, _replace, _replace, _number, _number),
    *(_cut, _drop, _double, _append),
)


def _damaged(data: bytes, choice: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(choice.choice((1, 1, 1, 2, 3, 6))):
        # Headers stand at the front, and most of what can go wrong does so there.
        most = min(len(changed), 12) if choice.random() < 0.4 else len(changed)
        choice.choice(_DAMAGE)(changed, choice.randrange(most + 1), choice)
    return bytes(changed)


def _retabled(data: bytes, choice: random.Random, *, is_metadata: bool) -> bytes:
    """Metadata, or an object or array, with other numbers in its table: offsets, ids, or the count before them."""
    if not data or (not is_metadata and data[0] & 3 < 2):
        return _damaged(data, choice)
    if is_metadata:
        width, start = (data[0] >> 6) + 1, 1
    else:
        is_object = data[0] & 3 == 2
        width, start = (data[0] >> 2 & 3) + 1, 5 if data[0] >> (6 if is_object else 4) & 1 else 2
    changed = bytearray(data)
    first = start + width * choice.randrange(8)
    numbers = [choice.choice((*_NUMBERS, len(data), choice.getrandbits(8 * width))) % (1 << 8 * width) for _ in range(choice.randint(1, 3))]
    # Ascending ones pass for offsets as long as nobody looks where they lead to.
    for number in sorted(numbers):
        if first + width <= len(changed):
            changed[first : first + width] = number.to_bytes(width, "little")
        first += width
    return bytes(changed)


def _row(choice: random.Random) -> Row:
    kind = choice.random()
    if kind < 0.53:
        metadata, value = choice.choice(_legal_rows())
    elif kind < 0.55:
        metadata, value = _swelling_row(choice)
    elif kind < 0.85:
        metadata, value = _odd_row(choice)
    elif kind < 0.88:
        metadata, value = _expanding_row(choice)
    elif kind < 0.90:
        metadata, value = _deep_row(choice, choice.randint(1, 150))
    elif kind < 0.95:
        # Metadata of one, value of another.
        metadata, value = choice.choice(_legal_rows())[0], choice.choice(_legal_rows())[1]
    else:
        metadata, value = choice.choice(_legal_rows())
        other = choice.choice(_legal_rows())[1]
        at = choice.randrange(len(value) + 1)
        value = value[:at] + other[choice.randrange(len(other)) :]
    what = choice.random()
    if what < 0.12:
        return metadata, value
    if what < 0.62:
        return metadata, _damaged(value, choice)
    if what < 0.72:
        return metadata, _retabled(value, choice, is_metadata=False)
    if what < 0.84:
        return _damaged(metadata, choice), value
    if what < 0.92:
        return _retabled(metadata, choice, is_metadata=True), value
    if what < 0.97:
        return _damaged(metadata, choice), _damaged(value, choice)
    return choice.randbytes(choice.randrange(12)), choice.randbytes(choice.randrange(24))


_PIECES: Final = (
    *(bytes((byte,)) for byte in b"{}[],:\"\\/0123456789+-.eEtfnu \t\n\x00\x1f\x80\xbf\xc0\xed\xf4\xff#'"),
    *(b"null", b"true", b"NaN", b"-", b"00", b"1e400", b"1e", b"1.", b".5", b"1e999", b"9" * 40, b"0." + b"0" * 40, b"1e-" + b"9" * 30),
    *(b'""', b'"a":', b"\\u", b"\\ud83d", b"\\ude00", b"\\ud83d\\ude00", b"\\u0041", b"\\x", b"\\u12", b'\\"', b"\\\\", b"\\u0022"),
    *(
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b"\xe2\x82",
        b"\xf0\x9f\x98\x80",
        b"\xc3\xa9",
        b"\xc0\xaf",
        b"\xf4\x90\x80\x80",
        b"[" * 70,
        b"x" * 70,
    ),
)


def _text(choice: random.Random) -> bytes:
    text = bytearray(choice.choice(_legal_texts()))
    if choice.random() < 0.1:
        return bytes(text)
    for _ in range(choice.choice((1, 1, 1, 2, 4))):
        at = choice.randrange(len(text) + 1)
        match choice.randrange(7):
            case 0 | 1:
                text[at:at] = choice.choice(_PIECES)
            case 2:
                text[at : at + 1] = choice.choice(_PIECES)
            case 3:
                _drop(text, at, choice)
            case 4:
                _flip(text, at, choice)
            case 5:
                _double(text, at, choice)
            case _:
                _cut(text, at, choice)
    return bytes(text)


# Large ones


def _large_row(choice: random.Random) -> Row:
    size = choice.choice((20_000, 100_000))
    match choice.randrange(6):
        case 0:
            row = _deep_row(choice, size // 4)
        case 1:
            row = encode(Scalar(BY_NAME["string"], choice.choice("x\x01é") * size))
        case 2:
            row = encode([choice.choice(_scalars())] * (size // 10))
        case 3:
            row = encode({f"k{(7919 * i) % (size // 20)}": choice.choice(_scalars()) for i in range(size // 20)})
        case 4:
            row = encode([{choice.choice(NAMES): scalar} for scalar in choice.choices(_scalars(), k=size // 30)])
        case _:
            metadata, value = encode([{"a": Scalar(BY_NAME["int8"], 1)}] * (size // 10))
            row = metadata, value
    if choice.random() < 0.5:
        return row
    metadata, value = row
    return (metadata, _damaged(value, choice)) if choice.random() < 0.7 else (_damaged(metadata, choice), value)


def _large_text(choice: random.Random) -> bytes:
    size = choice.choice((20_000, 100_000))
    text = choice.choice(
        (
            b"[" * size,
            b"[" * (size // 2) + b"]" * (size // 2),
            b'{"a":' * (size // 10) + b"1e1" + b"}" * (size // 10),
            b"[" + b",".join([b"1e1"] * (size // 4)) + b"]",
            b'"' + b"x" * size + b'"',
            b'"' + b"\\u00e9\\n" * (size // 8) + b'"',
            b"{" + b",".join(b'"k%d":%d' % ((7919 * i) % size, i) for i in range(size // 12)) + b"}",
            b"9" * size,
            b"0." + b"0" * size + b"1e" + str(size).encode(),
            b" " * size + b"1",
        )
    )
    if choice.random() < 0.5:
        return text
    changed = bytearray(text)
    at = choice.randrange(len(changed) + 1)
    changed[at : at + 1] = choice.choice(_PIECES)
    return bytes(changed)
