"""Examples: the first value of each type at a path, so that people see what stands against what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import pyarrow as pa

from varquet.columns.arrow import VARIANT, VariantSlice
from varquet.columns.to_json import to_json
from varquet.errors import VarquetError
from varquet.variant import Variant
from varquet.variant.metadata import EMPTY_METADATA

__all__ = ["Conflict", "Example", "container_examples", "scalar_example"]

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
        try:
            return Variant(EMPTY_METADATA, self.octets).to_json()
        except VarquetError:
            # A value that its type does not allow, a time outside of the day for one, was counted all the same.
            return f"{_CUT} ({self.octets.hex()})"


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


def container_examples(part: VariantSlice, places: Sequence[tuple[int, int, int]]) -> list[bytes]:
    """The JSON of objects and arrays, as far as they are short, of which the row, the first byte and the size are given."""
    short = [k for k, (_, _, size) in enumerate(places) if size <= _LONGEST]
    made = [b""] * len(places)
    names, values = part.metadata, part.value.data
    dictionaries = [names.data[int(names.starts[places[k][0]]) : int(names.ends[places[k][0]])].tobytes() for k in short]
    octets = [values[places[k][1] : sum(places[k][1:])].tobytes() for k in short]
    column = pa.StructArray.from_arrays([pa.array(dictionaries, pa.binary()), pa.array(octets, pa.binary())], fields=list(VARIANT))
    for k, text in zip(short, _texts(column), strict=True):
        made[k] = text.encode()
    return made


def _texts(column: pa.StructArray) -> list[str]:
    """The JSON of a few Variants; what is damaged below the paths that are counted is no example, and has no text."""
    try:
        texts: list[str] = to_json(column, threads=1).to_pylist()
        return texts
    except VarquetError:
        return [""] if len(column) == 1 else [text for k in range(len(column)) for text in _texts(column.slice(k, 1))]
