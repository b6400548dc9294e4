"""Deletion vectors: the examples of the protocol, bitmaps of all kinds of containers, and what is said of damaged ones."""

from __future__ import annotations

import random
import re
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from varquet.delta.deletion_vectors import path_of, read_deleted, unique_id
from varquet.delta.z85 import encode
from varquet.errors import VarquetError

RELATIVE = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4, "sizeInBytes": 40, "cardinality": 6}
ABSOLUTE = {**RELATIVE, "storageType": "p", "pathOrInlineDv": "s3://mytable/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"}
INLINE = {
    "storageType": "i",
    "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    "sizeInBytes": 40,
    "cardinality": 6,
}
"""The examples of the protocol."""


def no_file(path: str, offset: int, length: int) -> bytes:
    raise AssertionError(f"{path} is read")


def number(value: int, width: int) -> bytes:
    return value.to_bytes(width, "little")


def container(rows: list[int], *, as_runs: bool) -> bytes:
    """The rows of one container, the way the format wants so many of them, or as runs."""
    if as_runs:
        runs: list[list[int]] = []
        for row in rows:
            if runs and runs[-1][0] + runs[-1][1] + 1 == row:
                runs[-1][1] += 1
            else:
                runs.append([row, 0])
        return number(len(runs), 2) + b"".join(number(first, 2) + number(more, 2) for first, more in runs)
    if len(rows) <= 4096:
        return b"".join(number(row, 2) for row in rows)
    bits = bytearray(8192)
    for row in rows:
        bits[row // 8] |= 1 << row % 8
    return bytes(bits)


def bitmap(containers: dict[int, tuple[list[int], bool]]) -> bytes:
    """Containers by their keys: their rows, and whether these are written as runs."""
    count = len(containers)
    made = [container(rows, as_runs=as_runs) for rows, as_runs in containers.values()]
    heads = b"".join(number(key, 2) + number(len(rows) - 1, 2) for key, (rows, _) in containers.items())
    of_runs = [as_runs for _, as_runs in containers.values()]
    if any(of_runs):
        flags = sum(1 << place for place, is_run in enumerate(of_runs) if is_run)
        start = number(12347 | (count - 1) << 16, 4) + number(flags, -(-count // 8)) + heads
        has_offsets = count >= 4
    else:
        start, has_offsets = number(12346, 4) + number(count, 4) + heads, True
    at = len(start) + 4 * count
    offsets = b""
    for piece in made:
        offsets += number(at, 4)
        at += len(piece)
    return start + (offsets if has_offsets else b"") + b"".join(made)


def vector(bitmaps: dict[int, dict[int, tuple[list[int], bool]]]) -> bytes:
    """The data of a deletion vector, in the format of the protocol."""
    parts = b"".join(number(key, 4) + bitmap(containers) for key, containers in bitmaps.items())
    return number(1681511377, 4) + number(len(bitmaps), 8) + parts


def old_vector(bitmaps: dict[int, dict[int, tuple[list[int], bool]]]) -> bytes:
    """The same in the format before it."""
    made = [bitmap(bitmaps.get(key, {})) for key in range(max(bitmaps, default=-1) + 1)]
    return number(1681511376, 4) + number(len(made), 4) + b"".join(number(len(one), 4) + one for one in made)


def rows_of(bitmaps: dict[int, dict[int, tuple[list[int], bool]]]) -> list[int]:
    return [high << 32 | key << 16 | row for high, containers in bitmaps.items() for key, (rows, _) in containers.items() for row in rows]


def inline(data: bytes, cardinality: int) -> dict[str, Any]:
    text = encode(data + bytes(-len(data) % 4))
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data), "cardinality": cardinality}


def stored(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data + zlib.crc32(data).to_bytes(4, "big")


def drawn_rows(seed: tuple[int, int, int]) -> list[int]:
    """Rows of a container: few, many, or in long runs."""
    chosen, count, start = seed
    chance = random.Random(chosen)
    if chosen % 3 == 0:
        return sorted(chance.sample(range(1 << 16), count % 50 + 1))
    if chosen % 3 == 1:
        return sorted(chance.sample(range(1 << 16), 4090 + count % 12))
    first = start % 60_000
    return [row for row in range(first, min(first + count, 1 << 16)) if chance.random() < 0.999] or [first]


_CONTAINERS = st.tuples(st.tuples(st.integers(0, 1 << 30), st.integers(1, 10_000), st.integers(0, 60_000)).map(drawn_rows), st.booleans())
_BITMAPS = st.dictionaries(
    st.sampled_from((0, 1, 7, (1 << 31) - 1)),
    st.dictionaries(st.integers(0, (1 << 16) - 1), _CONTAINERS, min_size=1, max_size=6),
    max_size=3,
).map(lambda found: {high: dict(sorted(found[high].items())) for high in sorted(found)})


def test_the_examples_of_the_protocol() -> None:
    assert read_deleted(INLINE, no_file).tolist() == [3, 4, 7, 11, 18, 29]
    assert path_of(INLINE) is None
    assert path_of(RELATIVE) == "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert path_of({**RELATIVE, "pathOrInlineDv": "^-aqEH.-t@S}K{vb[*k^"}) == "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert path_of(ABSOLUTE) == ABSOLUTE["pathOrInlineDv"]


def test_what_tells_them_apart() -> None:
    assert unique_id(RELATIVE) == "uab^-aqEH.-t@S}K{vb[*k^@4"
    assert unique_id({**RELATIVE, "offset": 0}) == "uab^-aqEH.-t@S}K{vb[*k^@0"
    assert unique_id({**RELATIVE, "offset": None}) == "uab^-aqEH.-t@S}K{vb[*k^"
    assert unique_id(INLINE) == "i" + str(INLINE["pathOrInlineDv"])


@given(_BITMAPS)
def test_bitmaps_of_all_containers(bitmaps: dict[int, dict[int, tuple[list[int], bool]]]) -> None:
    data, rows = vector(bitmaps), rows_of(bitmaps)
    found = read_deleted(inline(data, len(rows)), no_file)
    assert found.dtype == np.int64
    assert found.tolist() == rows


@given(_BITMAPS)
def test_bitmaps_of_the_format_before(bitmaps: dict[int, dict[int, tuple[list[int], bool]]]) -> None:
    small = {high: containers for high, containers in bitmaps.items() if high < 10}
    rows = rows_of(small)
    assert read_deleted(inline(old_vector(small), len(rows)), no_file).tolist() == rows


SMALL = {0: {0: ([1, 2, 3], True), 5: ([9, 11], False)}, 1: {2: ([0], False)}}


def test_in_a_file_behind_another() -> None:
    before, data = stored(vector({0: {0: ([5], False)}})), vector(SMALL)
    file = b"\x01" + before + stored(data)
    asked: list[tuple[str, int, int]] = []

    def read(path: str, offset: int, length: int) -> bytes:
        asked.append((path, offset, length))
        return file[offset : offset + length]

    found = read_deleted({**RELATIVE, "offset": 1 + len(before), "sizeInBytes": len(data)}, read)
    assert found.tolist() == rows_of(SMALL)
    assert asked == [("ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin", 1 + len(before), len(data) + 8)]
    without = {**ABSOLUTE, "sizeInBytes": len(data)}
    del without["offset"]
    assert read_deleted(without, lambda path, offset, length: stored(data)[offset : offset + length]).tolist() == rows_of(SMALL)


@pytest.mark.parametrize("damage", range(len(stored(vector(SMALL)))))
def test_a_changed_byte_of_a_file_is_found(damage: int) -> None:
    file = bytearray(stored(vector(SMALL)))
    file[damage] ^= 0x10
    with pytest.raises(VarquetError, match=r"deletion vector: expected .*, got .* - at .*deletion_vector_"):
        read_deleted({**RELATIVE, "sizeInBytes": len(vector(SMALL))}, lambda path, offset, length: bytes(file))


@given(st.binary(max_size=100), st.integers(0, 100))
def test_any_other_bytes_are_a_clear_error(data: bytes, cardinality: int) -> None:
    for start in (b"", number(1681511377, 4), vector(SMALL)[:30]):
        try:
            found = read_deleted(inline(start + data, cardinality), no_file)
            assert len(found) == cardinality
        except VarquetError as error:
            assert re.match("deletion vector: expected .*, got ", error.message)


@pytest.mark.parametrize(
    ("data", "cardinality", "message"),
    [
        (number(1681511378, 4) + bytes(8), 0, "expected the magic number 1681511377, got 1681511378"),
        (vector(SMALL), 5, "expected as many rows as the table says, got more"),
        (vector(SMALL), 7, "expected 7 rows, got 6"),
        (vector(SMALL)[:-1], 6, "expected 2 more bytes, got 1"),
        (vector({0: {0: ([3, 2], False)}}), 2, "expected rows that ascend, got one behind a larger one"),
        (vector({0: {7: ([3], False), 2: ([3], False)}}), 2, "expected rows that ascend, got one behind a larger one"),
        (
            vector({1: {0: ([3], False)}, 0: {0: ([3], False)}}),
            2,
            "expected keys of bitmaps that ascend from 0 to 2147483647, got 0 behind 1",
        ),
        (vector({1 << 31: {0: ([3], False)}}), 1, "got 2147483648 behind -1"),
        (vector({0: {}})[:-8] + number(5, 4), 0, "expected the cookie 12346 or 12347 of a bitmap, got 5"),
        (vector({0: {}})[:-4] + number(1 << 17, 4), 0, "expected at most 65536 containers of a bitmap, got 131072"),
        (vector({0: {0: ([65535], True)}})[:-2] + number(1, 2), 1, "expected runs of 1 rows within a container, got 2 up to 65537"),
    ],
)
def test_what_is_damaged(data: bytes, cardinality: int, message: str) -> None:
    with pytest.raises(VarquetError, match=re.escape(message)):
        read_deleted(inline(data, cardinality), no_file)


def test_a_bitmap_that_claims_too_many_rows_makes_none() -> None:
    head = number(12347 | 0xFFFF << 16, 4) + b"\xff" * 8192
    data = number(1681511377, 4) + number(1, 8) + number(0, 4) + head + b"".join(number(key, 2) + b"\xff\xff" for key in range(1 << 16))
    with pytest.raises(VarquetError, match="got more"):
        read_deleted(inline(data, 10), no_file)


@pytest.mark.parametrize(
    ("descriptor", "message"),
    [
        ({**INLINE, "storageType": "x"}, "expected a storageType of u, p, i and its pathOrInlineDv, got 'x'"),
        ({**INLINE, "pathOrInlineDv": None}, "expected a storageType of u, p, i and its pathOrInlineDv, got 'i' and None"),
        ({**INLINE, "sizeInBytes": -1}, "expected a number as sizeInBytes, got -1"),
        ({**INLINE, "cardinality": None}, "expected a number as cardinality, got None"),
        ({**INLINE, "sizeInBytes": 41}, "expected 41 bytes, got 40"),
        ({**INLINE, "sizeInBytes": 36}, "expected 36 bytes, got 40"),
        ({**INLINE, "pathOrInlineDv": "abc"}, "expected a multiple of 5 characters of Z85, got 3"),
        ({**RELATIVE, "pathOrInlineDv": "abc"}, "expected 20 characters of a UUID at least, got 'abc'"),
        ({**RELATIVE, "offset": "4"}, "expected a number as offset, got '4'"),
    ],
)
def test_what_a_descriptor_must_say(descriptor: dict[str, Any], message: str) -> None:
    with pytest.raises(VarquetError, match=re.escape(message)):
        read_deleted(descriptor, no_file)


def test_a_file_that_is_cut_or_says_another_size() -> None:
    data = stored(vector(SMALL))
    size = len(data) - 8
    with pytest.raises(VarquetError, match=rf"expected {size + 8} bytes of the file, got {size}"):
        read_deleted({**RELATIVE, "sizeInBytes": size}, lambda path, offset, length: data[:-8])
    with pytest.raises(VarquetError, match=rf"expected {size - 1} bytes, as the table says, got {size}, as the file says"):
        read_deleted({**RELATIVE, "sizeInBytes": size - 1}, lambda path, offset, length: data)
