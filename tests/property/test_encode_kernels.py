"""Page bodies against decoders written for reading, on every build of the kernels."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from kernel_builds import law_on_every_build

from varquet import kernels
from varquet.kernels.source import _packing as packing

Ints = npt.NDArray[np.int64]


class Reader:
    """Bytes, and how far they are read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        assert self.at + count <= len(self.data)
        self.at += count
        return self.data[self.at - count : self.at]

    def varint(self) -> int:
        number = shift = 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def zigzag(self) -> int:
        number = self.varint()
        return number >> 1 ^ -(number & 1)

    def packed(self, count: int, width: int) -> list[int]:
        bits = int.from_bytes(self.take(count * width // 8), "little")
        return [bits >> k * width & (1 << width) - 1 for k in range(count)]

    def runs(self, count: int, width: int) -> list[int]:
        found: list[int] = []
        while len(found) < count:
            header = self.varint()
            if header & 1:
                found += self.packed(8 * (header >> 1), width)
            else:
                found += [int.from_bytes(self.take((width + 7) // 8), "little")] * (header >> 1)
        return found[:count]

    def deltas(self, bits: int) -> list[int]:
        block, miniblocks, count, value = self.varint(), self.varint(), self.varint(), self.zigzag()
        found = [value] if count else []
        while len(found) < count:
            least = self.zigzag()
            for width in self.take(miniblocks):
                if len(found) < count:
                    for delta in self.packed(block // miniblocks, width):
                        value = (value + least + delta + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
                        found.append(value)
        return found[:count]


@st.composite
def in_runs(draw: st.DrawFn, values: st.SearchStrategy[int]) -> list[int]:
    pieces = draw(st.lists(st.tuples(values, st.sampled_from([1, 1, 1, 2, 7, 8, 9, 30, 600])), max_size=12))
    return [value for value, count in pieces for _ in range(count)]


CUTS = st.lists(st.integers(0, 50), max_size=3)


def firsts_of(count: int, cuts: list[int]) -> Ints:
    return np.array([0, *sorted(min(cut, count) for cut in cuts), count], np.int64)


def pages_of(out: npt.NDArray[np.uint8], ends: Ints, used: int) -> list[Reader]:
    assert used == ends[-1]
    return [Reader(out[start:end].tobytes()) for start, end in itertools.pairwise([0, *ends.tolist()])]


def wide(width: int) -> st.SearchStrategy[tuple[int, list[int]]]:
    return st.tuples(st.just(width), in_runs(st.integers(0, (1 << width) - 1)))


@law_on_every_build(st.integers(1, 8).flatmap(wide), CUTS)
def test_levels(given: tuple[int, list[int]], cuts: list[int]) -> None:
    width, levels = given
    firsts = firsts_of(len(levels), cuts)
    pages = len(firsts) - 1
    out, ends, counts = (
        np.zeros(len(levels) + len(levels) // 504 + 16 * pages + 16, np.uint8),
        np.zeros(pages, np.int64),
        np.zeros(256, np.int64),
    )
    used = kernels.encode.pack_levels(np.array(levels, np.uint8), firsts, width, out, ends, counts)
    found: list[int] = []
    for reader, count in zip(pages_of(out, ends, used), np.diff(firsts).tolist(), strict=True):
        assert int.from_bytes(reader.take(4), "little") == len(reader.data) - 4
        found += reader.runs(count, width)
        assert reader.at == len(reader.data)
    assert found == levels
    assert counts.tolist() == [levels.count(level) for level in range(256)]


@law_on_every_build(st.integers(0, 20).flatmap(wide), CUTS)
def test_indexes(given: tuple[int, list[int]], cuts: list[int]) -> None:
    width, indexes = given
    firsts = firsts_of(len(indexes), cuts)
    pages = len(firsts) - 1
    out, ends = np.zeros((len(indexes) // 8 + 2 * pages) * (width + 8), np.uint8), np.zeros(pages, np.int64)
    used = kernels.encode.pack_indexes(np.array(indexes, np.int64), firsts, width, out, ends)
    found: list[int] = []
    for reader, count in zip(pages_of(out, ends, used), np.diff(firsts).tolist(), strict=True):
        assert reader.take(1)[0] == width
        found += reader.runs(count, width)
        assert reader.at == len(reader.data)
    assert found == indexes


def integers(bits: int) -> st.SearchStrategy[tuple[int, list[int]]]:
    anything = st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)
    return st.tuples(st.just(bits), st.lists(anything, max_size=300) | st.lists(st.integers(0, 9), max_size=300) | in_runs(anything))


@law_on_every_build(st.sampled_from([32, 64]).flatmap(integers), CUTS)
def test_deltas(given: tuple[int, list[int]], cuts: list[int]) -> None:
    bits, numbers = given
    firsts = firsts_of(len(numbers), cuts)
    pages = len(firsts) - 1
    out, ends = np.zeros(9 * len(numbers) + packing.MOST_BLOCK * pages, np.uint8), np.zeros(pages, np.int64)
    used = kernels.encode.pack_deltas(np.array(numbers, np.int64), firsts, bits, out, ends, np.zeros(packing.BLOCK, np.int64))
    found: list[int] = []
    for reader in pages_of(out, ends, used):
        found += reader.deltas(bits)
        assert reader.at == len(reader.data)
    assert found == numbers


TEXTS = st.lists(st.binary(max_size=30) | st.sampled_from([b"2026-01-01T00:00", b"2026-01-01T00:01", b""]), max_size=150)


def side_by_side(texts: list[bytes]) -> tuple[npt.NDArray[np.uint8], Ints]:
    """With a few bytes before them."""
    ends = list(itertools.accumulate((len(text) for text in texts), initial=3))
    return np.frombuffer(b"..." + b"".join(texts) + b".", np.uint8), np.array(ends, np.int64)


@law_on_every_build(TEXTS, CUTS)
def test_texts(texts: list[bytes], cuts: list[int]) -> None:
    data, offsets = side_by_side(texts)
    firsts = firsts_of(len(texts), cuts)
    pages, size = len(firsts) - 1, sum(map(len, texts))
    ends, lengths, deltas = np.zeros(pages, np.int64), np.zeros(len(texts), np.int64), np.zeros(packing.BLOCK, np.int64)

    out = np.zeros(size + 6 * len(texts) + packing.MOST_BLOCK * pages, np.uint8)
    used = kernels.encode.pack_texts(data, offsets, firsts, out, ends, lengths, deltas)
    found: list[bytes] = []
    for reader in pages_of(out, ends, used):
        found += [reader.take(length) for length in reader.deltas(32)]
        assert reader.at == len(reader.data)
    assert found == texts

    out = np.zeros(size + 12 * len(texts) + 2 * packing.MOST_BLOCK * pages, np.uint8)
    used = kernels.encode.pack_text_changes(data, offsets, firsts, out, ends, lengths, deltas)
    found = []
    for reader in pages_of(out, ends, used):
        shared, rest, before = reader.deltas(32), reader.deltas(32), b""
        for kept, length in zip(shared, rest, strict=True):
            before = before[:kept] + reader.take(length)
            found.append(before)
        assert reader.at == len(reader.data)
    assert found == texts

    out = np.zeros(size + 4 * len(texts) + 4, np.uint8)
    used = kernels.encode.pack_plain_texts(data, offsets, np.arange(len(texts)), firsts, out, ends)
    found = []
    for reader in pages_of(out, ends, used):
        while reader.at < len(reader.data):
            found.append(reader.take(int.from_bytes(reader.take(4), "little")))
    assert found == texts

    least, greatest = np.zeros(pages, np.int64), np.zeros(pages, np.int64)
    assert kernels.encode.find_bounds(data, offsets, firsts, least, greatest) == np.count_nonzero(np.diff(firsts))
    for page, (first, last) in enumerate(itertools.pairwise(firsts.tolist())):
        if first == last:
            assert (least[page], greatest[page]) == (-1, -1)
        else:
            assert (texts[least[page]], texts[greatest[page]]) == (min(texts[first:last]), max(texts[first:last]))


@law_on_every_build(TEXTS, st.integers(0, 5))
def test_numbers_of_texts_and_integers(texts: list[bytes], room: int) -> None:
    data, offsets = side_by_side(texts)
    numbers = np.array([hash(text) for text in texts], np.int64)
    known = list(dict.fromkeys(texts))
    calls: list[Callable[[Ints, Ints, Ints], int]] = [
        lambda *tables: kernels.encode.number_texts(data, offsets, len(texts), *tables),
        lambda *tables: kernels.encode.number_integers(numbers, len(texts), *tables),
    ]
    for call in calls:
        indexes, firsts = np.zeros(len(texts), np.int64), np.zeros(200, np.int64)
        assert call(np.zeros(512, np.int64), indexes, firsts) == len(known)
        assert [known[index] for index in indexes] == texts
        assert [texts[first] for first in firsts[: len(known)]] == known
        fits = len(known) <= room
        assert (call(np.zeros(64, np.int64), indexes, np.zeros(room, np.int64)) >= 0) == fits


@law_on_every_build(
    st.lists(st.tuples(st.binary(max_size=3), st.booleans()), min_size=1, max_size=40), st.sampled_from([(4, 0), (8, 0), (8, 1 << 40)])
)
def test_offsets_of_held_texts(given: list[tuple[bytes, bool]], form: tuple[int, int]) -> None:
    width, before = form
    offsets = side_by_side([text for text, _ in given])[1] + before
    held = np.array([keep for _, keep in given], np.uint8)
    out = np.zeros(len(given) + 1, np.int64)
    count = kernels.encode.hold_offsets(offsets.astype(f"i{width}").view(np.uint8), width, held, out)
    if any(text and not keep for text, keep in given):
        assert count == -1
    else:
        _, expected = side_by_side([text for text, keep in given if keep])
        assert out[: count + 1].tolist() == (expected + before).tolist()
