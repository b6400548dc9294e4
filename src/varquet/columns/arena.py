"""Memory that a thread uses again and again for what a kernel needs only for a while.

Fresh memory is slow: the operating system clears every page of it when it is first written. Whoever works through a column
slice by slice takes arrays from the arena of the thread and gives all of them back at once; nothing of them may be kept.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["Arena", "aligned_zeros", "arena"]

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_LARGEST_KEPT: Final = 64 << 20

_local = threading.local()


def aligned_zeros(count: int) -> Ints:
    """Zeros that begin with a cache line, and so does every eighth of them."""
    made: Ints = np.zeros(count + 7, np.int64)
    before = -made.ctypes.data % 64 // 8
    return made[before : before + count]


class Arena:
    """Arrays cut from one block of memory, and from more blocks while that is too small."""

    def __init__(self) -> None:
        self.block: Ints = np.empty(1 << 15, np.int64)
        self.used = 0
        self.before: list[Ints] = []
        self.expected = 1 << 20
        """How many bytes the last user of the arena made, for the first guess of the next."""

    def ints(self, count: int) -> Ints:
        """An array with whatever was in it before."""
        if self.used + count > len(self.block):
            self.before.append(self.block)
            self.block = np.empty(max(2 * len(self.block), count), np.int64)
            self.used = 0
        taken = self.block[self.used : self.used + count]
        self.used += count
        return taken

    def filled(self, count: int, number: int) -> Ints:
        """An array of one number."""
        taken = self.ints(count)
        taken.fill(number)
        return taken

    def bytes(self, count: int) -> Bytes:
        """Bytes with whatever was in them before."""
        return self.ints(-(-count // 8)).view(np.uint8)[:count]

    def filled_bytes(self, count: int, number: int) -> Bytes:
        """Bytes that are all the same."""
        taken = self.bytes(count)
        taken.fill(number)
        return taken

    def clear(self) -> None:
        """Take everything back; the next time one block will be enough."""
        if self.before:
            self.block = np.empty(sum(map(len, self.before)) + len(self.block), np.int64)
            self.before = []
        self.used = 0


@contextmanager
def arena() -> Iterator[Arena]:
    """The arena of this thread, until the block ends; inside of it another one."""
    mine: Arena = getattr(_local, "arena", None) or Arena()
    _local.arena = None
    try:
        yield mine
    finally:
        mine.clear()
        if mine.block.nbytes <= _LARGEST_KEPT:
            _local.arena = mine
