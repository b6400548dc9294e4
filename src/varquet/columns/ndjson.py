"""Reading NDJSON (one JSON text per line) in blocks, without Python ever looking at a line.

A block is one buffer, cut where a line ends; its texts are the places where its lines begin. The line end stays with its
text, as white space that JSON allows, and so do blank lines with the text before them: nothing is copied.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from varquet import kernels
from varquet.columns.arrow import binary_array
from varquet.columns.output import Output
from varquet.errors import UnsupportedTypeError, VarquetError

__all__ = ["Lines", "is_compressed", "read_ndjson"]

BLOCK_BYTES: Final = 8 << 20

_WHITE: Final = np.isin(np.arange(256), list(b" \t\n\r"))
# No JSON text begins with any of these.
_COMPRESSIONS: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\x04\x22\x4d\x18": "lz4"}
_LONGEST_MARK: Final = max(map(len, _COMPRESSIONS))

Ints: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]


class BinaryFile(Protocol):
    """What is asked of an open file: its next bytes, none of them at its end."""

    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Lines:
    """Some lines of a file that are not blank."""

    texts: pa.Array
    """Binary: the bytes of each line, with the line ends and blank lines behind it."""
    numbers: Ints
    """The number of each line in the file, from 1."""
    starts: Ints
    """The byte of the file at which each line begins; of a compressed file, the byte of what it holds."""
    size: int
    """The bytes of the block."""
    ends: int
    """How many line ends it has, those of blank lines among them."""

    def __len__(self) -> int:
        return len(self.numbers)

    def text(self, row: int) -> bytes:
        """One line without the white space at its end."""
        return bytes(self.texts[row].as_py()).rstrip(b" \t\r\n")


def read_ndjson(
    source: str | os.PathLike[str] | BinaryFile,
    *,
    block_bytes: int = BLOCK_BYTES,
    on_bytes: Callable[[int], None] | None = None,
    part: tuple[int, int] | None = None,
) -> Iterator[Lines]:
    """The lines of a file, block by block; blank lines are left out.

    Lines end with LF or CR LF, the last one may end with the file. Blocks have about `block_bytes`, up to half more where that makes
    those of a file equal, and more only where one line has. Whether a line is JSON is for `parse_json` to say.

    Args:
        source: a path, or a file open for reading bytes; compressed by gzip, zstd, bz2 or lz4, or not: its first bytes tell.
        block_bytes: how much is read at a time.
        on_bytes: told how many more bytes of the source were read, before they are decompressed.
        part: read only the lines that begin from the first of these bytes on and before the second, and number them from 1; of a file
            that is not compressed, and can be read anywhere. Parts that together are all bytes have together all lines. Blocks of blank
            lines are not left out then, and have no rows.
    """
    if block_bytes < 1:
        raise UnsupportedTypeError(f"expected blocks of at least one byte, got {block_bytes}")
    block_bytes = _even(_size_of(source, part), block_bytes)
    if part is not None:
        return _read_part(source, part, block_bytes, on_bytes or (lambda _: None))
    return (lines for lines in _read(source, block_bytes, on_bytes or (lambda _: None)) if len(lines))


def _size_of(source: str | os.PathLike[str] | BinaryFile, part: tuple[int, int] | None) -> int | None:
    """The bytes that will be read, if that is known."""
    if part is not None:
        return part[1] - part[0]
    if isinstance(source, pa.NativeFile):
        return int(source.size()) if source.seekable() else None
    if isinstance(source, (str, os.PathLike)) and os.path.isfile(source):
        return os.path.getsize(source)
    return None


def _even(size: int | None, block_bytes: int) -> int:
    """The bytes of blocks of about so many that are equal for so many bytes: a small one at the end costs as much as others do."""
    if size is None or size <= block_bytes:
        return block_bytes
    return -(-size // round(size / block_bytes))


def is_compressed(head: bytes) -> bool:
    """Whether a file that begins so is compressed."""
    return head.startswith(tuple(_COMPRESSIONS))


def _read_part(
    source: str | os.PathLike[str] | BinaryFile, part: tuple[int, int], block_bytes: int, on_bytes: Callable[[int], None]
) -> Iterator[Lines]:
    with contextlib.ExitStack() as stack:
        file: Any = stack.enter_context(open(source, "rb", buffering=0)) if isinstance(source, (str, os.PathLike)) else source
        first, last = (_line_from(file, place) for place in part)
        file.seek(first)
        yield from _read(_Limited(file, last - first), block_bytes, on_bytes, first, is_part=True)


def _line_from(file: Any, place: int) -> int:
    """Where the first line begins that begins at a byte of a file or behind it; its end, if none does."""
    if place == 0:
        return 0
    at = place - 1
    file.seek(at)
    while piece := file.read(1 << 16):
        found = int(piece.find(b"\n"))
        if found >= 0:
            return at + found + 1
        at += len(piece)
    if at < place:
        file.seek(0, os.SEEK_END)
        at = int(file.tell())
    return at


class _Limited:
    """The next bytes of a file, but no more than so many."""

    def __init__(self, file: Any, size: int) -> None:
        self.file = file
        self.left = max(0, size)

    def read(self, size: int, /) -> bytes:
        piece: bytes = self.file.read(min(size, self.left))
        self.left -= len(piece)
        return piece

    def readinto(self, buffer: memoryview, /) -> int:
        size = int(self.file.readinto(buffer[: min(len(buffer), self.left)]) or 0)
        self.left -= size
        return size


def _read(
    source: str | os.PathLike[str] | BinaryFile,
    block_bytes: int,
    on_bytes: Callable[[int], None],
    offset: int = 0,
    *,
    is_part: bool = False,
) -> Iterator[Lines]:
    line = 1
    # A line whose end has not come yet is carried over to the next block; one longer than a block is kept in pieces.
    begun: list[Bytes] = []
    with _opened(source, on_bytes, is_part=is_part) as fill:
        while True:
            carried = begun.pop() if len(begun) == 1 and len(begun[0]) < block_bytes else np.zeros(0, np.uint8)
            output = Output(len(carried) + block_bytes)
            block = output.bytes[: len(carried) + block_bytes]
            block[: len(carried)] = carried
            size = len(carried) + fill(block.data[len(carried) :])
            if size == len(carried):
                begun.append(carried)
                break
            cut = _behind_last_line(block, size)
            if cut == 0:
                begun.append(block[:size])
                continue
            rest = block[cut:size].copy()
            whole = pa.py_buffer(np.concatenate([*begun, block[:cut]])) if begun else output.finish(cut)
            begun = [rest]
            lines = _cut(whole, line, offset)
            line, offset = line + lines.ends, offset + whole.size
            yield lines
    yield _cut(pa.py_buffer(np.concatenate(begun)), line, offset)


def _behind_last_line(block: Bytes, size: int) -> int:
    """Where the last line that ends in a block ends; 0 if none does."""
    step = 1 << 16
    for last in range(size, 0, -step):
        first = max(0, last - step)
        found = block[first:last].tobytes().rfind(b"\n")
        if found >= 0:
            return first + found + 1
    return 0


def _cut(block: pa.Buffer, line: int, offset: int) -> Lines:
    """The lines of a block that begins with this line at this byte of the file."""
    data = np.frombuffer(block, np.uint8)
    starts = _line_starts(data)
    ends = len(starts) - 1
    if starts[-1] == len(data):
        starts = starts[:-1]
    numbers = np.arange(line, line + len(starts), dtype=np.int64)
    # A blank line begins with white space, which few other lines do: only then is it worth looking at every byte.
    if len(starts) and _WHITE[data[starts]].any():
        filled = np.logical_or.reduceat(~_WHITE[data], starts)
        starts, numbers = starts[filled], numbers[filled]
    texts = binary_array(block, np.append(starts, len(data)), None)
    return Lines(texts, numbers, starts + offset, len(data), ends)


def _line_starts(data: Bytes) -> Ints:
    """0, and where lines begin behind the line ends."""
    starts = np.zeros(1 + max(64, len(data) // 128), np.int64)
    known = 1
    while True:
        known += int(kernels.parse_json.find_lines(data, int(starts[known - 1]), starts[known:]))
        if known < len(starts):
            return starts[:known]
        starts = np.concatenate([starts, np.empty(len(starts), np.int64)])


@contextlib.contextmanager
def _opened(
    source: str | os.PathLike[str] | BinaryFile, on_bytes: Callable[[int], None], *, is_part: bool
) -> Iterator[Callable[[memoryview], int]]:
    """A function that fills a buffer with the next bytes, decompressed; how many, which is less than all only at the end."""
    with contextlib.ExitStack() as stack:
        if isinstance(source, (str, os.PathLike)):
            name = os.fspath(source)
            raw = _Counted(stack.enter_context(open(source, "rb", buffering=0)), on_bytes)
        else:
            name = str(getattr(source, "name", "the input"))
            raw = _Counted(source, on_bytes)
        if is_part:
            yield lambda buffer: _fill(raw, buffer)
            return
        head = bytearray(_LONGEST_MARK)
        raw.waiting = bytes(head[: _fill(raw, memoryview(head))])
        compression = next((kind for mark, kind in _COMPRESSIONS.items() if raw.waiting.startswith(mark)), None)
        if compression is None:
            yield lambda buffer: _fill(raw, buffer)
            return
        stream = pa.CompressedInputStream(pa.PythonFile(raw, "r"), compression)

        def decompress(buffer: memoryview) -> int:
            try:
                return _fill(stream, buffer)
            except OSError as error:
                if error.errno is not None:
                    raise
                raise VarquetError(f"expected a whole {compression} stream in {name}, got {error}") from error

        yield decompress


class _IntoBuffer(Protocol):
    def readinto(self, buffer: memoryview, /) -> int: ...


def _fill(file: _IntoBuffer, buffer: memoryview) -> int:
    """Fill a buffer with the next bytes; how many, which is less than all only at the end."""
    used = 0
    while used < len(buffer):
        size = file.readinto(buffer[used:])
        if not size:
            break
        used += size
    return used


class _Counted:
    """A file of which the first bytes are known already, and that says how much of it was read."""

    def __init__(self, file: BinaryFile, on_bytes: Callable[[int], None]) -> None:
        self.file = file
        self.on_bytes = on_bytes
        self.waiting = b""
        self.closed = False

    def read(self, size: int, /) -> bytes:
        if self.waiting:
            piece, self.waiting = self.waiting[:size], self.waiting[size:]
            return piece
        piece = self.file.read(size)
        self.on_bytes(len(piece))
        return piece

    def readinto(self, buffer: memoryview, /) -> int:
        """Like `read`, without a copy where the file can do so."""
        if self.waiting or not hasattr(self.file, "readinto"):
            piece = self.read(len(buffer))
            buffer[: len(piece)] = piece
            return len(piece)
        size = int(self.file.readinto(buffer) or 0)
        self.on_bytes(size)
        return size

    def close(self) -> None:
        """Whoever opened the file closes it."""
        self.closed = True
