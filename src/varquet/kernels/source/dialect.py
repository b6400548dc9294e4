"""What kernel sources are written in: Cython's pure-Python mode, with buffers whose C type the build decides.

A kernel source imports everything from here. Run as it is, this file gives the names their interpreted meaning. The build
(`build_tools/kernels.py`) drops the import and puts one of two preludes in its place, which give the same names a compiled
meaning:

    name       interpreted      pointers (release)      checked (fuzzing)
    InBytes    memoryview 'B'   const unsigned char *   const unsigned char[::1]
    OutBytes   memoryview 'B'   unsigned char *         unsigned char[::1]
    InInts     memoryview 'q'   const long long *       const long long[::1]
    OutInts    memoryview 'q'   long long *             long long[::1]

With pointers nothing is checked but what the kernel checks itself; with memoryviews every access is checked, so that a
missing guard shows as an IndexError instead of a silent overread. Entry points take `…View` arguments and hand them on
through `in_bytes(view)` and its like. Unsigned 64-bit arithmetic that can overflow is masked with `& M64`, a no-op in C.
"""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

__all__ = [
    "M64",
    "InBytes",
    "InBytesView",
    "InInts",
    "InIntsView",
    "OutBytes",
    "OutBytesView",
    "OutInts",
    "OutIntsView",
    "ascii_blocks",
    "bits_of_double",
    "boolean",
    "copy_bytes",
    "copy_wide",
    "copy_within",
    "cython",
    "double_of_bits",
    "find_byte",
    "float_of_bits",
    "i64",
    "in_bytes",
    "in_ints",
    "inlined",
    "kernel",
    "leading_zeros",
    "load64",
    "load_le",
    "mix",
    "mul_high",
    "nogil",
    "out_bytes",
    "out_ints",
    "plain_blocks",
    "prefetch",
    "prefetch_int",
    "reversed_bytes",
    "same_bytes",
    "signed",
    "store64",
    "store_le",
    "trailing_byte",
    "trailing_zeros",
    "u8",
    "u64",
]

M64 = (1 << 64) - 1

InBytes = OutBytes = InInts = OutInts = Any
InBytesView = OutBytesView = InIntsView = OutIntsView = Any
i64 = u64 = u8 = boolean = double = Any


def kernel(function: Any) -> Any:
    """Mark a function that only kernels call: compiled, it is a C function that runs without the GIL."""
    return function


def inlined(function: Any) -> Any:
    """Mark a kernel function that is too small to be called."""
    return function


class _NoGil:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


nogil = _NoGil()
cython = SimpleNamespace(gil=nogil, longlong=int, double=float, cast=lambda kind, value: kind(value))


def in_bytes(view: Any) -> Any:
    return memoryview(view).cast("B")


def in_ints(view: Any) -> Any:
    raw = memoryview(view)
    return raw if raw.format in ("q", "l") else raw.cast("B").cast("q")


out_bytes = in_bytes
out_ints = in_ints


def load64(data: Any, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def store64(data: Any, at: int, value: int) -> None:
    data[at : at + 8] = (value & M64).to_bytes(8, "little")


def prefetch(data: Any, at: int) -> None:
    """Let the processor fetch a byte that will be read soon; it need not exist."""


def prefetch_int(data: Any, at: int) -> None:
    """The same for a number."""


def load_le(data: Any, at: int, width: int) -> int:
    return int.from_bytes(data[at : at + width], "little")


def store_le(data: Any, at: int, value: int, width: int) -> None:
    data[at : at + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")


def copy_bytes(target: Any, at: int, source: Any, start: int, count: int) -> None:
    target[at : at + count] = source[start : start + count]


def copy_wide(target: Any, at: int, source: Any, start: int, count: int) -> None:
    """Copy bytes, and up to 64 where there are less: so many must be there."""
    copy_bytes(target, at, source, start, max(count, 64))


def copy_within(data: Any, at: int, start: int, count: int) -> None:
    data[at : at + count] = bytes(data[start : start + count])


def same_bytes(one: Any, at: int, other: Any, start: int, count: int) -> bool:
    return bool(one[at : at + count] == other[start : start + count])


def plain_blocks(data: Any, at: int, end: int) -> int:
    """The first byte of whole blocks of 16 that is a quote, a backslash, a control character or no ASCII; or their end."""
    while at + 16 <= end:
        for k in range(at, at + 16):
            if data[k] < 32 or data[k] == 34 or data[k] == 92 or data[k] >= 128:
                return k
        at += 16
    return at


def ascii_blocks(data: Any, at: int, end: int) -> int:
    """The start of the first block of 16 bytes that is not all ASCII, or the end of the blocks."""
    while at + 16 <= end and max(data[at : at + 16]) < 128:
        at += 16
    return at


def find_byte(data: Any, at: int, end: int, byte: int) -> int:
    """Where a byte is found first from `at` on, or `end`."""
    found = bytes(data[at:end]).find(byte)
    return end if found < 0 else at + found


def trailing_byte(mask: int) -> int:
    return ((mask & -mask).bit_length() - 1) >> 3


def trailing_zeros(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def leading_zeros(value: int) -> int:
    return 64 - value.bit_length()


def reversed_bytes(value: int) -> int:
    return int.from_bytes(value.to_bytes(8, "little"), "big")


def mix(one: int, other: int) -> int:
    """The lower half of a product with the upper one laid over it."""
    return (one * other & M64) ^ (one * other) >> 64


def mul_high(one: int, other: int) -> int:
    return (one * other) >> 64


def signed(value: int) -> int:
    value &= M64
    return value - (1 << 64) if value >> 63 else value


def bits_of_double(value: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def double_of_bits(bits: int) -> float:
    return float(struct.unpack("<d", (bits & M64).to_bytes(8, "little"))[0])


def float_of_bits(bits: int) -> float:
    return float(struct.unpack("<f", (bits & 0xFFFFFFFF).to_bytes(4, "little"))[0])
