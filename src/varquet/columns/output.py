"""Memory for what kernels write, used again when whoever got the result has dropped it.

Fresh memory is slow: the operating system clears every page of it when it is first written. A pipeline drops what it made as
fast as it makes more, so what comes back is kept for a while.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["Output"]

Bytes = npt.NDArray[np.uint8]

# Less than this comes from the allocator, which keeps small pieces itself.
_LEAST_KEPT: Final = 1 << 17
_MOST_KEPT: Final = 96 << 20

# What came back, the oldest first, by its id. Arrow drops buffers in any thread, and perhaps while this thread is right here:
# nothing but single operations on the dictionary, which need no lock.
_waiting: Final[dict[int, Bytes]] = {}


class Output:
    """Bytes to be written and then handed to Arrow."""

    def __init__(self, size: int) -> None:
        self.bytes = _take(size)

    def grow(self, used: int, size: int = 0) -> None:
        """Have at least so many bytes, at least twice as many as now, and the first `used` as they are."""
        smaller = self.bytes
        self.bytes = _take(max(size, 2 * len(smaller)))
        self.bytes[:used] = smaller[:used]
        _give(smaller)

    def finish(self, used: int) -> pa.Buffer:
        """The first `used` bytes as an Arrow buffer; nothing may be written any more."""
        made, self.bytes = self.bytes, np.zeros(0, np.uint8)
        if len(made) < _LEAST_KEPT:
            return pa.py_buffer(made[:used])
        return pa.foreign_buffer(made.ctypes.data, used, base=_Lent(made))


class _Lent:
    """Bytes that an Arrow buffer has: they come back when it goes."""

    __slots__ = ("made",)

    def __init__(self, made: Bytes) -> None:
        self.made = made

    def __del__(self) -> None:
        _give(self.made)


def _take(size: int) -> Bytes:
    """So many bytes, or a few more, with whatever was in them before."""
    if size < _LEAST_KEPT:
        return np.empty(size, np.uint8)
    fitting = [(len(kept), key) for key, kept in list(_waiting.items()) if size <= len(kept) <= size + size // 2]
    for _, key in sorted(fitting):
        found = _waiting.pop(key, None)  # another thread may have been faster
        if found is not None:
            return found
    # A little more than was asked for fits the next one too.
    return np.empty(size + size // 16, np.uint8)


def _give(made: Bytes) -> None:
    """Keep bytes that nobody uses any more, instead of the oldest ones kept."""
    if not _LEAST_KEPT <= len(made) <= _MOST_KEPT:
        return
    _waiting[id(made)] = made
    kept = list(_waiting.items())
    size = sum(len(each) for _, each in kept)
    for key, oldest in kept:
        if size <= _MOST_KEPT:
            break
        if _waiting.pop(key, None) is not None:
            size -= len(oldest)
