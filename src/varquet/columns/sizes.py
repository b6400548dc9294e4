"""How large a value is by its first byte."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from varquet.kernels.source import _bytes as frames

__all__ = ["SIZES"]


def _size(header: int) -> int:
    basic, rest = header & 3, header >> 2
    if basic == frames.BASIC_SHORT_STRING:
        return 1 + rest
    width = frames.tag_width(rest) if basic == frames.BASIC_PRIMITIVE else -1
    return max(0, 1 + width)


SIZES: Final[npt.NDArray[np.int64]] = np.array([_size(header) for header in range(256)], np.int64)
"""By first byte; 0 where more must be looked at: lengths of their own, containers, and bytes that begin nothing."""
