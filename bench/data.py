"""The data that benchmarks run on: sample events as NDJSON in parts, made once and kept under bench/data/.

    bench/data/events-1000000/part-000.ndjson    65,536 rows each, the last one the rest

The rows are those of `varquet sample events` with seed 0. What is kept is checked against the generator by its first and
last rows, and made again if the generator has changed since.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from varquet.samples import Kind, generate, write

__all__ = ["DATA", "ROWS_PER_BATCH", "Sample", "read_lines", "sample", "text_batches", "texts"]

DATA: Final = Path(__file__).parent / "data"
ROWS_PER_BATCH: Final = 32_768
_ROWS_PER_PART: Final = 2 * ROWS_PER_BATCH
_BYTES_PER_BLOCK: Final = 12 << 20
_NEWLINE: Final = ord("\n")


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of one kind in NDJSON files."""

    kind: Kind
    rows: int
    parts: tuple[Path, ...]

    @property
    def text_bytes(self) -> int:
        """The bytes of JSON text, without the newlines between them."""
        return sum(part.stat().st_size for part in self.parts) - self.rows


def sample(rows: int, *, kind: Kind = Kind.EVENTS, folder: Path = DATA) -> Sample:
    """The sample with this many rows, made unless it is there already."""
    if rows < 1:
        raise ValueError(f"expected at least one row, got {rows}")
    home = folder / f"{kind}-{rows}"
    ranges = [(first, min(_ROWS_PER_PART, rows - first)) for first in range(0, rows, _ROWS_PER_PART)]
    made = Sample(kind, rows, tuple(home / f"part-{number:03}.ndjson" for number in range(len(ranges))))
    if not all(_is_current(kind, part, first, count) for part, (first, count) in zip(made.parts, ranges, strict=True)):
        print(f"making {rows:,} rows of sample {kind} ...", file=sys.stderr, flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        # Made beside its place and then moved there: an interrupted run leaves nothing that looks complete.
        unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=folder))
        try:
            for part, (first, count) in zip(made.parts, ranges, strict=True):
                with (unfinished / part.name).open("wb") as file:
                    write(kind, count, file, start=first)
            shutil.rmtree(home, ignore_errors=True)
            unfinished.rename(home)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return made


def _is_current(kind: Kind, part: Path, first: int, rows: int) -> bool:
    if not part.is_file():
        return False
    opening = next(generate(kind, 1, start=first)) + b"\n"
    closing = next(generate(kind, 1, start=first + rows - 1)) + b"\n"
    with part.open("rb") as file:
        if file.read(len(opening)) != opening:
            return False
        file.seek(max(0, part.stat().st_size - len(closing)))
        return file.read() == closing


def read_lines(part: Path) -> Iterator[pa.Array]:
    """The lines of an NDJSON file as Arrow strings, batch after batch, over the mapped file without a copy.

    A text keeps the newline that ends it, which JSON takes for the blank that it is.
    """
    with pa.memory_map(str(part)) as file:
        whole = file.read_buffer()
    data = np.frombuffer(whole, np.uint8)
    start = 0
    while start < len(data):
        ends = np.flatnonzero(data[start : start + _BYTES_PER_BLOCK] == _NEWLINE) + 1
        if not len(ends):
            raise ValueError(f"expected lines of less than {_BYTES_PER_BLOCK} bytes in {part.name}, got a longer one at {start}")
        size = int(ends[-1])
        offsets = np.zeros(len(ends) + 1, np.int32)
        offsets[1:] = ends
        yield pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), whole[start : start + size])
        start += size


def text_batches(parts: Sequence[Path]) -> list[pa.Array]:
    """All texts as Arrow strings in memory, without newlines, in batches of 32,768 rows: what the verbs are measured on."""
    batches: list[pa.Array] = []
    for part in parts:
        data = np.fromfile(part, np.uint8)
        ends = np.flatnonzero(data == _NEWLINE)
        offsets = np.zeros(len(ends) + 1, np.int64)
        offsets[1:] = ends - np.arange(len(ends))
        data = data[data != _NEWLINE]
        for first in range(0, len(ends), ROWS_PER_BATCH):
            places = offsets[first : first + ROWS_PER_BATCH + 1]
            # Every batch owns its bytes, as one that came from a file or a socket does.
            own = data[places[0] : places[-1]].copy()
            batches.append(
                pa.StringArray.from_buffers(len(places) - 1, pa.py_buffer((places - places[0]).astype(np.int32)), pa.py_buffer(own))
            )
    return batches


def texts(parts: Sequence[Path], rows: int | None = None) -> list[bytes]:
    """The first texts, all by default, as Python bytes."""
    lines: list[bytes] = []
    for part in parts:
        with part.open("rb") as file:
            lines += [line.rstrip(b"\n") for line in (file if rows is None else islice(file, rows - len(lines)))]
    return lines


def main() -> None:
    """Make a sample, for later."""
    parser = argparse.ArgumentParser(
        description="Make the sample that the benchmarks run on.", epilog="Example: python bench/data.py --rows 200000"
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    made = sample(parser.parse_args().rows)
    print(f"{made.rows:,} rows of {made.kind}, {made.text_bytes / 1e6:.1f} MB of JSON text in {len(made.parts)} parts")


if __name__ == "__main__":
    main()
