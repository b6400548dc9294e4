"""The pages of a column chunk as bytes: where each begins, what its header says, and its body, no longer compressed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from varquet import kernels
from varquet.kernels.source import pages as kernel

__all__ = ["CODECS", "ListedPages", "decompressed", "list_pages"]

CODECS: Final = {"UNCOMPRESSED": kernel.UNCOMPRESSED, "SNAPPY": kernel.SNAPPY, "ZSTD": kernel.ZSTD}
"""Those whose bytes say how many they become."""

_FEW_PAGES: Final = 64


class ListedPages(NamedTuple):
    """Some pages: a row of numbers for each, as the kernel describes it, and what they have together."""

    table: npt.NDArray[np.int64]
    raw_size: int
    """Bytes of their bodies that are not compressed."""
    rows: int
    """Entries of the data pages: rows, if the column repeats nowhere."""


def list_pages(octets: bytes, codec: int) -> ListedPages | None:
    """The pages that lie side by side in these bytes; None if they are not understood."""
    total = np.zeros(kernel.ALL_SLOTS, np.int64)
    room = _FEW_PAGES
    while True:
        table = np.empty((room, kernel.PAGE_SLOTS), np.int64)
        count = kernels.pages.list_pages(octets, len(octets), codec, table.ravel(), room, total)
        if count <= room:
            return None if count < 0 else ListedPages(table[:count], int(total[kernel.ALL_RAW_SIZE]), int(total[kernel.ALL_ROWS]))
        room *= _FEW_PAGES


def decompressed(pages: Sequence[tuple[bytes, ListedPages]], codec: int, spare: int = 0) -> npt.NDArray[np.uint8]:
    """The bodies of pages side by side, without the headers between them; and so many bytes behind them."""
    size = sum(listed.raw_size for _, listed in pages) + spare
    bodies: list[memoryview | bytes] = []
    for octets, listed in pages:
        view = memoryview(octets)
        bodies += [view[page[kernel.PAGE_START] : page[kernel.PAGE_START] + page[kernel.PAGE_SIZE]] for page in listed.table.tolist()]
    if codec == kernel.SNAPPY:
        decompress = pa.Codec("snappy").decompress
        sizes = [size for _, listed in pages for size in listed.table[:, kernel.PAGE_RAW_SIZE].tolist()]
        bodies = [decompress(body, size, asbytes=True) for body, size in zip(bodies, sizes, strict=True)]
    if codec != kernel.ZSTD:
        return np.frombuffer(b"".join([*bodies, bytes(spare)]), np.uint8)
    # One frame behind the other is what Zstandard takes at once.
    zstd = pa.Codec("zstd")
    joined = b"".join([*bodies, zstd.compress(bytes(spare), asbytes=True)] if spare else bodies)
    return np.frombuffer(zstd.decompress(joined, size), np.uint8)
