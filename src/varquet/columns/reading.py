"""What the verbs that read variant columns share: scratch buffers, and the loop that grows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from varquet import kernels
from varquet.columns.arrow import VariantSlice, binary_array, slices, variant_children
from varquet.columns.output import Output
from varquet.columns.threads import in_order
from varquet.kernels.source import _bytes as layout
from varquet.kernels.source import _codes as codes

__all__ = ["Scratch", "gather", "map_slices", "refused"]

ROWS_PER_SLICE: Final = 32_768
BYTES_PER_SLICE: Final = 16 << 20

R = TypeVar("R")


class Scratch:
    """The buffers with which a kernel walks through values: a stack of containers and room for sorting field ids."""

    def __init__(self) -> None:
        self.state: npt.NDArray[np.int64] = np.zeros(layout.ROW_SLOTS, np.int64)
        self.stack: npt.NDArray[np.int64] = np.empty(64 * layout.FRAME_SLOTS, np.int64)
        self.numbers: npt.NDArray[np.int64] = np.empty(1024, np.int64)

    def run(self, rows: int, call: Callable[[int], int], grow: Callable[[], None] | None = None, *, stack_is_grown: bool = False) -> None:
        """Call a kernel from row to row until it has reached the last, growing what it runs out of.

        `grow` enlarges the output; with stack_is_grown also what the kernel calls its stack.
        """
        row = 0
        while True:
            row = call(row)
            need = int(self.state[layout.ROW_NEED])
            if need == codes.NEED_NOTHING:
                assert row == rows
                return
            if need == codes.NEED_STACK and not stack_is_grown:
                self.stack = np.empty(2 * len(self.stack), np.int64)
                self.numbers = np.empty(2 * len(self.numbers), np.int64)
            else:
                assert grow is not None
                grow()


def map_slices(chunk: pa.Array, work: Callable[[VariantSlice, int], R], threads: int) -> list[tuple[int, R]]:
    """Apply `work` to slices of a variant chunk, with the threads given; (first row, result) in the order of the rows."""
    variants = variant_children(chunk)
    size = int(variants.value.offsets[-1] - variants.value.offsets[0])
    tasks = slices(len(variants), size, rows_per_slice=ROWS_PER_SLICE, size_per_slice=BYTES_PER_SLICE, threads=threads)
    return list(in_order(lambda task: (task[0], work(variants.slice(*task), task[0])), tasks, threads))


def gather(data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> pa.Array:
    """The bytes data[starts[k]:ends[k]] as a binary array; none where a start is negative."""
    size = int(np.sum(ends - starts))
    out = Output(size)
    offsets = np.zeros(len(starts) + 1, np.int64)
    kernels.extract_values.gather_rows(data, starts, ends, len(starts), out.bytes, offsets)
    return binary_array(out.finish(size), offsets, None)


def refused(status: npt.NDArray[Any], first: int) -> list[tuple[int, int]]:
    """(row, status) of the rows a kernel has refused."""
    return [(first + int(row), int(status[row])) for row in np.flatnonzero(status)]
