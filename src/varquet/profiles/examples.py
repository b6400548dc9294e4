"""Examples: the first value of each type at a path, so that people see what stands against what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from varquet.columns.arrow import VariantSlice
from varquet.errors import VarquetError
from varquet.variant import Variant
from varquet.variant.metadata import EMPTY_METADATA

__all__ = ["Conflict", "Example", "container_example", "scalar_example"]

_LONGEST: Final = 64
_CUT: Final = "..."


class Example(NamedTuple):
    """A value and its row: bytes of the encoding, of objects and arrays JSON; empty if it is too long to be shown."""

    row: int
    octets: bytes

    def text(self, type: str) -> str:
        """The value as one line of text; texts are cut."""
        if type in ("object", "array"):
            return self.octets.decode() or ("{...}" if type == "object" else "[...]")
        if type in ("string", "binary"):
            start = 1 if self.octets[0] & 3 else 5
            told = self.octets[0] >> 2 if start == 1 else int.from_bytes(self.octets[1:5], "little")
            content, end = self.octets[start:], '"' if len(self.octets) == start + told else _CUT + '"'
            return '"' + (content.decode("utf-8", "ignore") if type == "string" else content.hex()) + end
        return Variant(EMPTY_METADATA, self.octets).to_json()


@dataclass(frozen=True, slots=True)
class Conflict:
    """One of several types of the values of a path, with an example."""

    path: str
    type: str
    count: int
    row: int
    """The first row that has a value of this type."""
    example: str


def scalar_example(values: memoryview, at: int, size: int) -> bytes:
    """What an example keeps of the value with `size` bytes from `at` on."""
    return bytes(values[at : at + (min(_LONGEST, size))])


def container_example(part: VariantSlice, row: int, at: int, size: int) -> bytes:
    """The JSON of an object or array of a row, if it is short."""
    if size > _LONGEST:
        return b""
    metadata = part.metadata
    names = metadata.data[int(metadata.starts[row]) : int(metadata.ends[row])].tobytes()
    try:
        return Variant(names, part.value.data[at : at + size].tobytes()).to_json().encode()
    except VarquetError:
        # What is damaged below the paths that are counted is no example.
        return b""
