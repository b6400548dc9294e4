"""Buffers in which kernels intern field names, grown as they ask."""

from __future__ import annotations

import secrets

import numpy as np
import numpy.typing as npt

from varquet import kernels
from varquet.columns.arena import aligned_zeros
from varquet.kernels.source import _codes as codes
from varquet.kernels.source import _interning as interning
from varquet.kernels.source.dialect import in_bytes, out_bytes, out_ints

__all__ = ["NameBuffers"]

Ints = npt.NDArray[np.int64]


class NameBuffers:
    """The names interned so far: their bytes, what is known of each, and the table that finds them."""

    def __init__(self) -> None:
        self.state: Ints = np.zeros(interning.STATE_SIZE, np.int64)
        # An unpredictable seed, so that nobody can choose names that all fall into one slot.
        self.state[interning.STATE_SEED] = secrets.randbits(62)
        self.found_a_row = 32.0
        """How many names the last dictionaries had for each row, all of them together: the first guess for the next."""
        self.keys: npt.NDArray[np.uint8] = np.empty(1 << 15, np.uint8)
        self.info: Ints = np.zeros(0, np.int64)
        self.clear()

    def __len__(self) -> int:
        return int(self.state[interning.STATE_KEYS]) - 1

    @property
    def room(self) -> int:
        """How many names fit, name 0 among them."""
        return len(self.info) // interning.KEY

    def clear(self) -> None:
        """Forget all names, but keep the room for them: one row alone may need it, and would otherwise be begun again forever."""
        room = max(self.room, 1 << 12)
        self.info = np.zeros(0, np.int64)
        self.state[interning.STATE_KEYS] = 1
        self.state[interning.STATE_KEY_BYTES] = 0
        self.state[interning.STATE_COMMON] = self.state[interning.STATE_TO_COUNT] = 0
        self._grow_names(room)

    def grow(self, need: int) -> None:
        """Make room for what a kernel ran out of."""
        if need == codes.NEED_KEYS:
            self._grow_names(2 * self.room)
        else:
            keys = np.empty(max(2 * len(self.keys), int(self.state[interning.STATE_NEED_SIZE])), np.uint8)
            keys[: len(self.keys)] = self.keys
            self.keys = keys

    def number_of(self, name: bytes) -> int:
        """The number of a name, which it gets if it has none yet; kernels do the same faster for many."""
        octets = in_bytes(name)
        while True:
            keys, info, table = out_bytes(self.keys), out_ints(self.info), out_ints(self.table)
            key = interning.intern_name(octets, 0, len(name), keys, len(keys), info, len(info), table, len(table), out_ints(self.state))
            if key >= 0:
                return int(key)
            self.grow(int(self.state[interning.STATE_NEED]))

    def _grow_names(self, names: int) -> None:
        info: Ints = aligned_zeros(names * interning.KEY)
        info[: len(self.info)] = self.info
        self.info = info
        self.table: Ints = np.zeros(4 * names, np.int64)
        kernels.parse_json.insert_names(self.info, self.table, int(self.state[interning.STATE_KEYS]))
        # Names by rank, ranks by name, and bits: see sort_row_names.
        self.ranked: Ints = np.zeros(2 * names + names // 16 + 64, np.int64)
        self.state[interning.STATE_RANKED] = 0

    def lengths(self) -> Ints:
        """The bytes of each name, by its number."""
        return self.info[interning.KEY_LENGTH :: interning.KEY]

    def name(self, number: int) -> bytes:
        start = int(self.info[number * interning.KEY + interning.KEY_START])
        return self.keys[start : start + int(self.info[number * interning.KEY + interning.KEY_LENGTH])].tobytes()

    def some(self, numbers: Ints) -> list[bytes]:
        """The names of these numbers; number 0 is the empty name."""
        starts = self.info[numbers * interning.KEY + interning.KEY_START]
        ends = starts + self.info[numbers * interning.KEY + interning.KEY_LENGTH]
        octets = self.keys[: int(self.state[interning.STATE_KEY_BYTES])].tobytes()
        return [octets[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
