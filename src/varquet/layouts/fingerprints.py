"""Shredded columns without putting them together: the numbers that `fingerprint` gives, and the way to another layout.

The number of an object is made from those of its fields and that of an array from those of its elements, so all of them can
be had part by part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from varquet import kernels
from varquet.columns.arena import Arena, arena
from varquet.columns.arrow import Bytes, Dictionaries, Ints, bitmap, flatten, nothing, spans, validity_of
from varquet.columns.findings import finding, raise_first
from varquet.columns.fingerprint import fingerprint_spans, signed
from varquet.kernels.source import _codes as codes
from varquet.kernels.source.fingerprint import NO_OBJECT
from varquet.layouts.base import Layout, Residual
from varquet.layouts.parts import Part, name_table, walk
from varquet.layouts.primitives import numbers_of, typed_kind
from varquet.schema import Kind, ShreddingSchema
from varquet.variant.fingerprint import fingerprint as reference_fingerprint
from varquet.variant.model import NULL

__all__ = ["ShreddedColumn", "fingerprint_shredded"]


def fingerprint_shredded(array: pa.StructArray, layout: Layout, schema: ShreddingSchema, *, seed: int = 0, first_row: int = 0) -> pa.Array:
    """The numbers of the rows of a column that was shredded by us: in its object residuals stand no fields of the schema."""
    return ShreddedColumn(array, layout, schema, seed=seed, first_row=first_row).fingerprints()


class ShreddedColumn:
    """The parts of a column that was shredded by us, and the numbers of what is in its residuals."""

    def __init__(self, array: pa.StructArray, layout: Layout, schema: ShreddingSchema, *, seed: int = 0, first_row: int = 0) -> None:
        self.array = array
        self.layout = layout
        self.schema = schema
        self.seed = seed
        self.first_row = first_row
        self.valid = validity_of(array)
        self.root = layout.parts(array, schema, self.valid, strict=False, first_row=first_row)
        residuals = layout.residuals(self.root, array, first_row=first_row)
        self.residuals = {id(part): self._numbers(part, residuals[id(part)]) for part in walk(self.root) if part.value is not None}

    def _numbers(self, part: Part, found: Residual) -> _Numbers:
        status: Ints = np.zeros(len(found.metadata.starts), np.int64)
        hashes: Ints = np.empty(len(found.instances), np.int64)
        fields: Ints = np.empty(len(found.instances), np.int64)
        is_open = part.schema.kind is Kind.OBJECT
        fingerprint_spans(found.metadata, found.values, found.rows, self.seed, hashes, fields, status, is_open=is_open)
        if status.any():
            raise_first(status[found.rows], self.first_row, part.rows[found.instances])
        return _Numbers(found.instances, hashes, fields)

    def fingerprints(self) -> pa.Array:
        """The numbers of the rows."""
        with arena() as memory:
            return _Reader(self, memory).read(self.root)

    def transcode(self, target: Layout) -> pa.StructArray:
        """The column in another layout: only its residuals are written anew. Its parts are of no use any more."""
        metadata = self.layout.join(self.root, self.array, self.valid, name_table(self.schema), first_row=self.first_row)
        for part in walk(self.root):
            if part.value is None:
                part.value = nothing(len(part))
        rows = Dictionaries(spans(metadata, "binary metadata"), metadata, self.valid)
        return target.to_arrow(self.root, rows, shared_metadata=True, first_row=self.first_row)

    def differs(self, other: ShreddedColumn) -> Bytes:
        """1 for every row that is not the same in another column with the same schema, part by part."""
        rows: Bytes = (self.valid != other.valid).astype(np.uint8)
        for part, its in zip(walk(self.root), walk(other.root), strict=True):
            if not np.array_equal(part.rows, its.rows) or not _same(part.offsets, its.offsets):
                return np.ones_like(rows)  # arrays of other lengths: no instance is where it was
            for bad in self._different(part, other, its):
                rows[part.rows[bad]] = 1
        return rows

    def _different(self, part: Part, other: ShreddedColumn, its: Part) -> Iterator[npt.NDArray[Any]]:
        """Instances of a part that are not the same."""
        if part.present is not None and its.present is not None:
            yield np.flatnonzero(part.present != its.present)
        if part.typed is not None and its.typed is not None and not _is_same_memory(part.typed, its.typed):
            there, its_there = validity_of(part.typed), validity_of(its.typed)
            numbers, its_numbers = (typed_numbers(one, valid, self.seed) for one, valid in ((part, there), (its, its_there)))
            yield np.flatnonzero((there != its_there) | ((there == 1) & (numbers != its_numbers)))
        mine, theirs = self.residuals.get(id(part), _NOTHING), other.residuals.get(id(its), _NOTHING)
        if not np.array_equal(mine.instances, theirs.instances):
            yield np.setxor1d(mine.instances, theirs.instances)
            both, at, its_at = np.intersect1d(mine.instances, theirs.instances, assume_unique=True, return_indices=True)
            yield both[(mine.hashes[at] != theirs.hashes[its_at]) | (mine.fields[at] != theirs.fields[its_at])]
        else:
            yield mine.instances[(mine.hashes != theirs.hashes) | (mine.fields != theirs.fields)]


@dataclass(frozen=True, slots=True)
class _Numbers:
    """What a part has in its residual: which instances, the number of each, and how many fields it has, or -1."""

    instances: Ints
    hashes: Ints
    fields: Ints


_NOTHING: Final = _Numbers(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))


def _same(one: Ints | None, other: Ints | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


def _is_same_memory(one: pa.Array, other: pa.Array) -> bool:
    """Whether two arrays are the same bytes, validity and all."""
    if pa.types.is_dictionary(one.type):  # which has its values elsewhere
        return False
    places = [[None if buffer is None else (buffer.address, buffer.size) for buffer in array.buffers()] for array in (one, other)]
    return bool(places[0] == places[1] and one.offset == other.offset and len(one) == len(other) and one.type == other.type)


def typed_numbers(part: Part, there: Bytes, seed: int) -> Ints:
    """The numbers of a part's typed values."""
    assert part.typed is not None and part.schema.type is not None
    kind, count = typed_kind(part.schema.type), len(part)
    # Behind the numbers there is room for the digits of one.
    hashes = np.empty(count + 2, np.int64)
    if kind.is_text:
        text = flatten(part.typed, "typed values of bytes")
        kernels.fingerprint.fingerprint_text(text.data, text.offsets, there, count, kind.tag, signed(seed), hashes)
    else:
        numbers = numbers_of(part.typed, part.schema.type)
        kernels.fingerprint.fingerprint_fixed(numbers, there, count, kind.tag, kind.scale, kind.stride, signed(seed), hashes)
    return hashes[:count]


class _Reader:
    """The instances of parts, from the leaves up: which there are, and their numbers."""

    def __init__(self, column: ShreddedColumn, memory: Arena) -> None:
        self.residuals = column.residuals
        self.valid = column.valid
        self.memory = memory
        self.seed = signed(column.seed)
        self.null = signed(reference_fingerprint(NULL, column.seed))
        self.first_row = column.first_row
        self.done: dict[int, tuple[Bytes, Ints]] = {}

    def read(self, root: Part) -> pa.Array:
        for part in reversed(walk(root)):
            there, hashes = self.instances(part)
            for other in part.others:
                other_there, other_hashes = self.done.pop(id(other))
                self.refuse(part, there & other_there)
                there, hashes = there | other_there, np.where(there == 1, hashes, other_hashes)
            self.done[id(part)] = there, hashes
        there, hashes = self.done[id(root)]
        # What is missing where something must be is a Variant null.
        hashes = np.where(there == 1, hashes, self.null)
        validity, nulls = bitmap(self.valid)
        return pa.Array.from_buffers(pa.uint64(), len(hashes), [validity, pa.py_buffer(hashes)], nulls)

    def refuse(self, part: Part, both: npt.NDArray[Any]) -> None:
        """An instance has two values."""
        if both.any():
            raise finding(codes.BAD_BOTH_SET, self.first_row + int(part.rows[np.flatnonzero(both)[0]]))

    def instances(self, part: Part) -> tuple[Bytes, Ints]:
        match part.schema.kind:
            case Kind.OBJECT:
                return self.objects(part)
            case Kind.ARRAY:
                there, hashes = self.arrays(part)
            case Kind.PRIMITIVE:
                there, hashes = self.primitives(part)
            case _:
                there, hashes = np.zeros(len(part), np.uint8), self.memory.ints(len(part))
        if part.value is None:
            return there, hashes
        self.refuse(part, there & part.value.valid)
        left = self.residuals[id(part)]
        hashes[left.instances] = left.hashes
        return there | part.value.valid, hashes

    def primitives(self, part: Part) -> tuple[Bytes, Ints]:
        there = validity_of(part.typed)
        return there, typed_numbers(part, there, self.seed)

    def objects(self, part: Part) -> tuple[Bytes, Ints]:
        assert part.present is not None
        count, present = len(part), part.present
        sums, fields = self.memory.filled(count, 0), self.memory.filled(count, 0)
        there = objects = present
        if part.value is not None:
            left = self.residuals[id(part)]
            sums[left.instances], fields[left.instances] = left.hashes, left.fields
            there = present | part.value.valid
            is_other = fields == NO_OBJECT
            self.refuse(part, is_other & (present == 1))
            # What is an object though none of its fields is shredded is finished like the others.
            objects = there & ~is_other
        for name, child in part.fields:
            child_there, child_hashes = self.done.pop(id(child))
            number = kernels.fingerprint.fingerprint_name(np.frombuffer(name.encode("utf-8"), np.uint8), self.seed)
            kernels.fingerprint.add_fields(number, child_there & present, child_hashes, count, sums, fields)
        kernels.fingerprint.finish_objects(objects, fields, count, self.seed, sums)
        return there, sums

    def arrays(self, part: Part) -> tuple[Bytes, Ints]:
        assert part.present is not None and part.offsets is not None and part.element is not None
        there, hashes = self.done.pop(id(part.element))
        elements = hashes if there.all() else np.where(there == 1, hashes, self.null)
        made = self.memory.ints(len(part))
        kernels.fingerprint.fingerprint_arrays(part.present, part.offsets, elements, len(part), self.seed, made)
        return part.present, made
