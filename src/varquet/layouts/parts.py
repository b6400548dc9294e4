"""A shredded column in no particular layout: one part for every node of its schema.

A part's instances are the rows of the column, or the elements of the arrays around it:

    value     what the schema has no typed column for, as Variant bytes; null where there is nothing
    typed     primitive node: the typed values, null where an instance has none
    present   object and array nodes: 1 where the instance is an object or array
    fields    object node: the parts of its fields, with as many instances
    offsets   array node: instance k has the elements offsets[k] to offsets[k + 1] of `element`

A missing instance has neither value nor typed value. Layouts turn parts into Arrow structs and back; taking a column apart
(`varquet.layouts.take_apart`) and putting it together (`varquet.layouts.put_together`) know only parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from varquet.columns.arrow import Flat
from varquet.schema import ShreddingSchema

__all__ = ["Bytes", "Ints", "NameTable", "Part", "name_table", "walk"]

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(slots=True)
class Part:
    """The instances of one schema node."""

    schema: ShreddingSchema
    rows: Ints
    """The row of the column that each instance belongs to."""
    value: Flat | None = None
    """None: the layout has no such column, so nothing is in it."""
    typed: pa.Array | None = None
    present: Bytes | None = None
    fields: list[tuple[str, Part]] = field(default_factory=list)
    offsets: Ints | None = None
    element: Part | None = None
    others: list[Part] = field(default_factory=list)
    """The same instances as other types: where one of these has something, nothing else of the part has."""

    def __len__(self) -> int:
        return len(self.rows)

    def children(self) -> Iterator[Part]:
        yield from (part for _, part in self.fields)
        if self.element is not None:
            yield self.element
        yield from self.others


def walk(root: Part) -> list[Part]:
    """All parts, each before its children; no recursion, so that depth has no limit."""
    order: list[Part] = []
    waiting = [root]
    while waiting:
        part = waiting.pop()
        order.append(part)
        waiting.extend(part.children())
    return order


@dataclass(frozen=True, slots=True)
class NameTable:
    """The distinct field names of a schema, sorted by their bytes, as kernels take them."""

    number: dict[str, int]
    data: Bytes
    offsets: Ints


def name_table(*schemas: ShreddingSchema) -> NameTable:
    """The names of all of these schemas."""
    names: set[str] = set()
    waiting = list(schemas)
    while waiting:
        node = waiting.pop()
        for name, child in node.fields:
            names.add(name)
            waiting.append(child)
        if node.element is not None:
            waiting.append(node.element)
    ordered = sorted(names, key=lambda name: name.encode())
    data = "".join(ordered).encode()
    offsets = np.zeros(len(ordered) + 1, np.int64)
    np.cumsum([len(name.encode()) for name in ordered], out=offsets[1:])
    return NameTable({name: k for k, name in enumerate(ordered)}, np.frombuffer(data, np.uint8), offsets)
