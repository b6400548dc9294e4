"""Where texts that were refused repeat a field name, of which `parse_json` tells before anything that is wrong behind it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from varquet import kernels
from varquet.columns.names import NameBuffers
from varquet.kernels.source import _codes as codes
from varquet.kernels.source import _interning as interning
from varquet.kernels.source import repeated_names as kernel

__all__ = ["first_repeated_names"]

Ints = npt.NDArray[np.int64]

_PLACES: Final = 1 << 12


def first_repeated_names(data: npt.NDArray[Any], starts: Ints, ends: Ints) -> Ints:
    """Where in data[starts[k]:ends[k]], which is JSON up to its end, the first name stands that its object holds already; -1 if nowhere."""
    names = NameBuffers()
    state = names.state
    seen, stack = np.empty(_PLACES * kernel.SEEN, np.int64), np.empty(256, np.int64)
    unescaped = np.empty(int(np.max(ends - starts, initial=0)), np.uint8)
    places = np.empty(len(starts), np.int64)
    row = 0
    while True:
        row = int(
            kernels.repeated_names.find_repeated_names(
                data, starts, ends, row, len(starts), names.keys, names.info, names.table, seen, stack, unescaped, places, state
            )
        )
        match int(state[interning.STATE_NEED]):
            case codes.NEED_NOTHING:
                return np.where(places < ends, places - starts, -1)
            case codes.NEED_TAPE:
                seen = np.empty(2 * len(seen), np.int64)
            case codes.NEED_STACK:
                stack = np.empty(2 * len(stack), np.int64)
            case codes.NEED_FRESH_KEYS:
                names.clear()
            case need:
                names.grow(need)
