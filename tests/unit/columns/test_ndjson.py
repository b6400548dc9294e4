"""`read_ndjson`: lines in blocks, with their numbers, from files of any kind."""

from __future__ import annotations

import gzip
import io
import itertools
import os
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import varquet as vq
from varquet.columns.ndjson import Lines, read_ndjson
from varquet.errors import UnsupportedTypeError, VarquetError


def texts_of(blocks: list[Lines]) -> list[bytes]:
    return [lines.text(row) for lines in blocks for row in range(len(lines))]


def expected(data: bytes) -> list[tuple[int, int, bytes]]:
    """(number, first byte, text without white space at its end) of every line that is not blank, the slow way."""
    found, start = [], 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip(b" \t\r"):
            found.append((number, start, line.rstrip(b" \t\r\n")))
        start += len(line) + 1
    return found


def got(blocks: list[Lines]) -> list[tuple[int, int, bytes]]:
    return [(int(lines.numbers[row]), int(lines.starts[row]), lines.text(row)) for lines in blocks for row in range(len(lines))]


def compressed(data: bytes, kind: str) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, kind) as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


class TestLines:
    @given(
        st.lists(st.sampled_from([b"1", b'{"a":1}', b" 2 ", b"", b" ", b"\r", b"\t", b"[\r]", b"\xff"])), st.integers(1, 20), st.booleans()
    )
    def test_any_cut_gives_the_same_lines(self, lines: list[bytes], block_bytes: int, ends: bool) -> None:
        data = b"\n".join(lines) + (b"\n" if ends else b"")
        assert got(list(read_ndjson(io.BytesIO(data), block_bytes=block_bytes))) == expected(data)

    def test_what_they_look_like(self) -> None:
        (lines,) = read_ndjson(io.BytesIO(b'\n\n{"a":1}\r\n\r\n  \n[2]\n3\n'))
        assert lines.texts.type == pa.binary()
        assert lines.texts.to_pylist() == [b'{"a":1}\r\n\r\n  \n', b"[2]\n", b"3\n"]
        assert (lines.numbers.tolist(), lines.starts.tolist(), lines.size, len(lines)) == ([3, 6, 7], [2, 16, 20], 22, 3)
        assert vq.to_json(vq.parse_json(lines.texts)).to_pylist() == ['{"a":1}', "[2]", "3"]

    @pytest.mark.parametrize("data", [b"", b"\n", b" \r\n\t\n", b"\n" * 50])
    def test_nothing_but_blank_lines(self, data: bytes) -> None:
        assert list(read_ndjson(io.BytesIO(data), block_bytes=7)) == []

    def test_a_line_longer_than_the_block(self) -> None:
        long = b'"' + b"x" * 100_000 + b'"'
        blocks = list(read_ndjson(io.BytesIO(b"1\n" + long + b"\n2\n3\n"), block_bytes=64))
        assert texts_of(blocks) == [b"1", long, b"2", b"3"]
        assert [number for lines in blocks for number in lines.numbers] == [1, 2, 3, 4]

    def test_blocks_are_as_large_as_asked_for(self) -> None:
        blocks = list(read_ndjson(io.BytesIO(b"12345678\n" * 10_000), block_bytes=9_000))
        assert [lines.size for lines in blocks] == [9_000] * 10
        assert sum(map(len, blocks)) == 10_000

    @pytest.mark.parametrize(("rows", "sizes"), [(999, [999]), (1000, [1000]), (1400, [1400]), (3300, [1100] * 3), (4600, [920] * 5)])
    def test_blocks_of_a_file_are_equal(self, tmp_path: Path, rows: int, sizes: list[int]) -> None:
        path = tmp_path / "x.ndjson"
        path.write_bytes(b"12345678\n" * rows)
        for source in (path, pa.OSFile(str(path))):
            assert [len(lines) for lines in read_ndjson(source, block_bytes=9_000)] == sizes
        assert [len(lines) for lines in read_ndjson(path, block_bytes=9_000, part=(0, 9 * rows)) if len(lines)] == sizes

    def test_a_byte_order_mark_is_left_to_the_parser(self) -> None:
        (lines,) = read_ndjson(io.BytesIO(b"\xef\xbb\xbf1\n2\n"))
        assert vq.to_json(vq.parse_json(lines.texts)).to_pylist() == ["1", "2"]

    def test_blocks_have_a_size(self) -> None:
        with pytest.raises(UnsupportedTypeError, match="expected blocks of at least one byte, got 0"):
            read_ndjson(io.BytesIO(), block_bytes=0)


class TestSources:
    DATA = b"".join(b'{"a":%d}\n' % number for number in range(20_000))

    @pytest.mark.parametrize("kind", ["gzip", "zstd", "bz2", "lz4"])
    @pytest.mark.parametrize("as_path", [True, False])
    def test_compressed(self, kind: str, as_path: bool, tmp_path: Path) -> None:
        path = tmp_path / "rows"
        path.write_bytes(compressed(self.DATA, kind))
        read: list[int] = []
        blocks = list(read_ndjson(path if as_path else io.BytesIO(path.read_bytes()), block_bytes=50_000, on_bytes=read.append))
        assert got(blocks) == expected(self.DATA)
        assert len(blocks) > 3
        assert sum(read) == path.stat().st_size

    def test_gzip_in_several_members(self) -> None:
        data = gzip.compress(b"1\n2") + gzip.compress(b"3\n4\n")
        assert texts_of(list(read_ndjson(io.BytesIO(data)))) == [b"1", b"23", b"4"]

    @pytest.mark.parametrize("kind", ["gzip", "zstd"])
    def test_compressed_and_cut_off(self, kind: str, tmp_path: Path) -> None:
        path = tmp_path / "rows.gz"
        path.write_bytes(compressed(self.DATA, kind)[:-20])
        with pytest.raises(VarquetError, match=rf"expected a whole {kind} stream in .*rows\.gz, got "):
            list(read_ndjson(path))

    def test_a_path(self, tmp_path: Path) -> None:
        path = tmp_path / "rows.ndjson"
        path.write_bytes(self.DATA)
        read: list[int] = []
        assert got(list(read_ndjson(str(path), block_bytes=1 << 16, on_bytes=read.append))) == expected(self.DATA)
        assert sum(read) == len(self.DATA)

    def test_no_such_path(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            list(read_ndjson(tmp_path / "none"))

    def test_a_pipe_gives_full_blocks(self) -> None:
        reader, writer = os.pipe()

        def feed() -> None:
            with open(writer, "wb", buffering=0) as file:
                file.writelines(self.DATA[start : start + 1000] for start in range(0, len(self.DATA), 1000))

        thread = threading.Thread(target=feed)
        thread.start()
        with open(reader, "rb", buffering=0) as file:
            blocks = list(read_ndjson(file, block_bytes=100_000))
        thread.join()
        assert got(blocks) == expected(self.DATA)
        assert len(blocks) == -(-len(self.DATA) // 100_000)

    def test_a_file_is_closed_when_nobody_reads_on(self, tmp_path: Path) -> None:
        path = tmp_path / "rows"
        path.write_bytes(self.DATA)
        blocks = read_ndjson(path, block_bytes=1000)
        next(blocks)
        blocks.close()  # type: ignore[attr-defined]
        path.unlink()
        assert list(tmp_path.iterdir()) == []


@given(
    st.lists(st.sampled_from([b"{}", b"", b" ", b"[1]", b"x" * 9]), max_size=12).map(b"\n".join),
    st.lists(st.integers(0, 60), max_size=5),
    st.sampled_from([1, 3, 1 << 16]),
)
def test_parts_of_a_file_have_its_lines_once(data: bytes, cuts: list[int], block: int) -> None:
    places = sorted({0, *(cut for cut in cuts if cut < len(data)), len(data)})
    found, before = [], 0
    for first, last in itertools.pairwise(places):
        blocks = list(read_ndjson(io.BytesIO(data), block_bytes=block, part=(first, last)))
        found += [(number + before, start, text) for number, start, text in got(blocks)]
        before += sum(lines.ends for lines in blocks)
    assert found == expected(data)


def test_a_part_in_the_middle_is_never_taken_for_a_compressed_file(tmp_path: Path) -> None:
    data = b'{"a": 1}\n\x1f\x8b\x08 no JSON, no gzip\n{"b": 2}\n'
    (tmp_path / "lines").write_bytes(data)
    blocks = list(read_ndjson(tmp_path / "lines", part=(1, len(data))))
    assert got(blocks) == [(number - 1, start, text) for number, start, text in expected(data)[1:]]
