"""Taking a variant column apart along a schema."""

from __future__ import annotations

import numpy as np

from varquet import kernels
from varquet.columns.arena import Arena, arena
from varquet.columns.arrow import Flat, VariantSlice, nothing
from varquet.columns.findings import raise_first
from varquet.columns.output import Output
from varquet.columns.reading import Scratch
from varquet.columns.sizes import SIZES
from varquet.kernels.source import _bytes as frames
from varquet.kernels.source import _codes as codes
from varquet.kernels.source import _instances as instances
from varquet.layouts.parts import Bytes, Ints, NameTable, Part
from varquet.layouts.primitives import text_array, typed_array, typed_kind
from varquet.schema import Kind, ShreddingSchema

__all__ = ["take_apart"]

_NO_BYTES = np.zeros(0, np.uint8)
_INT32_MAX = (1 << 31) - 1


def _bytes_between(starts: Ints, ends: Ints) -> int:
    """How many bytes instances have; a missing one has the same number for both."""
    return int(ends.sum()) - int(starts.sum())


class _Column:
    """One slice of a column while it is taken apart."""

    def __init__(self, part: VariantSlice, names: NameTable, memory: Arena, *, exact_types: bool, first_row: int) -> None:
        self.part = part
        self.memory = memory
        self.names = names
        self.exact = int(exact_types)
        self.first_row = first_row
        self.data = part.value.data
        self.status: Ints = memory.filled(len(part), 0)
        self.frame: Ints = memory.ints(2 * 16 + frames.FRAME_SLOTS)

    def locate(self) -> tuple[Ints, Ints]:
        """Where each row's value is, checked as far as its own header goes."""
        rows = len(self.part)
        starts, ends = self.memory.ints(rows), self.memory.ints(rows)
        kernels.extract.locate_rows(
            self.part.metadata.data,
            self.part.metadata.starts,
            self.part.metadata.ends,
            self.data,
            self.part.value.offsets,
            self.part.valid,
            rows,
            _NO_BYTES,
            np.zeros(0, np.int64),
            starts,
            ends,
            self.frame,
            self.status,
            np.zeros(frames.ROW_SLOTS, np.int64),
        )
        longer = (starts >= 0) & (ends != self.part.value.offsets[1:])
        self.status[longer] = codes.BAD_VALUE_LENGTH
        return starts, ends

    def match(self) -> None:
        """Which of the schema's names the names of each row's dictionary are."""
        rows = len(self.part)
        scratch = Scratch()
        self.found_starts, self.found_counts = self.memory.ints(rows), self.memory.ints(rows)
        self.found = self.memory.ints(max(1024, 8 * rows))

        def call(row: int) -> int:
            return int(
                kernels.shred.match_rows(
                    self.part.metadata.data,
                    self.part.metadata.starts,
                    self.part.metadata.ends,
                    self.part.valid,
                    row,
                    rows,
                    self.names.data,
                    self.names.offsets,
                    self.found_starts,
                    self.found_counts,
                    self.found,
                    self.status,
                    scratch.state,
                )
            )

        def grow() -> None:
            self.found = np.concatenate([self.found, np.empty(len(self.found), np.int64)])

        scratch.run(rows, call, grow, stack_is_grown=True)

    def check(self) -> None:
        raise_first(self.status, self.first_row)

    def residual(self, starts: Ints, ends: Ints, outcome: Bytes, counts: Ints) -> Flat:
        """The whole bytes of the instances that did not fit."""
        if counts[instances.COUNT_LEFT] == 0:
            return nothing(len(starts))
        out = np.empty(int(counts[instances.COUNT_LEFT_BYTES]) + frames.COPIED_AT_ONCE, np.uint8)
        offsets, valid = np.empty(len(starts) + 1, np.int64), np.empty(len(starts), np.uint8)
        used = kernels.shred_leaves.gather_left(self.data, starts, ends, outcome, len(starts), out, offsets, valid)
        return Flat(out[:used], offsets, valid)

    def primitive(self, part: Part, starts: Ints, ends: Ints) -> None:
        assert part.schema.type is not None
        kind = typed_kind(part.schema.type)
        count = len(starts)
        outcome = self.memory.bytes(count)
        counts = self.memory.ints(instances.COUNT_SLOTS)
        bits = np.zeros(-(-count // 8), np.uint8)
        if kind.is_text:
            room = _bytes_between(starts, ends) + frames.COPIED_AT_ONCE
            out = Output(room)
            width = 4 if room <= _INT32_MAX else 8
            offsets = np.empty(width * (count + 1), np.uint8)
            used = kernels.shred_leaves.shred_text(
                self.data,
                starts,
                ends,
                part.rows,
                count,
                kind.tag,
                out.bytes,
                width,
                offsets,
                bits,
                outcome,
                self.status,
                counts,
            )
            part.typed = text_array(part.schema.type, out.finish(used), offsets, width, bits, int(counts[instances.COUNT_TYPED]), count)
        else:
            numbers = np.empty(kind.width * count, np.uint8) if kind.width else np.zeros(len(bits), np.uint8)
            kernels.shred_leaves.shred_fixed(
                self.data,
                starts,
                ends,
                part.rows,
                count,
                kind.tag,
                kind.precision,
                kind.scale,
                self.exact,
                kind.width,
                numbers,
                bits,
                outcome,
                self.status,
                counts,
            )
            part.typed = typed_array(part.schema.type, numbers, bits, int(counts[instances.COUNT_TYPED]), count)
        part.value = self.residual(starts, ends, outcome, counts)

    def whole(self, part: Part, starts: Ints, ends: Ints) -> None:
        """A node that has no typed_value: all of its instances are in the residual."""
        outcome = np.where(starts >= 0, instances.IS_RESIDUAL, instances.IS_MISSING).astype(np.uint8)
        part.value = self.residual(starts, ends, outcome, self.left(starts, ends, outcome))

    def left(self, starts: Ints, ends: Ints, outcome: Bytes) -> Ints:
        counts = self.memory.filled(instances.COUNT_SLOTS, 0)
        left = outcome == instances.IS_RESIDUAL
        counts[instances.COUNT_LEFT] = np.count_nonzero(left)
        counts[instances.COUNT_LEFT_BYTES] = np.sum((ends - starts)[left])
        return counts

    def object(self, part: Part, starts: Ints, ends: Ints) -> list[tuple[Part, Ints, Ints]]:
        count = len(starts)
        fields = part.schema.fields
        children = np.full(max(1, len(self.names.number)), -1, np.int64)
        for place, (name, _) in enumerate(fields):
            children[self.names.number[name]] = place
        child_starts, child_ends = self.memory.ints(len(fields) * count), self.memory.ints(len(fields) * count)
        seen = self.memory.filled(len(fields), -1)
        outcome = self.memory.bytes(count)
        offsets = np.zeros(count + 1, np.int64)
        scratch = Scratch()
        residual = Output(_bytes_between(starts, ends) // 4 + 256)

        def call(instance: int) -> int:
            return int(
                kernels.shred.split_objects(
                    self.data,
                    starts,
                    ends,
                    part.rows,
                    instance,
                    count,
                    SIZES,
                    self.found_starts,
                    self.found_counts,
                    self.found,
                    children,
                    child_starts,
                    child_ends,
                    seen,
                    outcome,
                    residual.bytes,
                    offsets,
                    scratch.numbers,
                    self.frame,
                    self.status,
                    scratch.state,
                )
            )

        scratch.run(count, call, lambda: residual.grow(int(scratch.state[frames.ROW_OUT])))
        part.present = (outcome == instances.IS_TYPED).view(np.uint8)
        part.value = Flat(np.frombuffer(residual.finish(int(offsets[-1])), np.uint8), offsets, (offsets[1:] > offsets[:-1]).view(np.uint8))
        below: list[tuple[Part, Ints, Ints]] = []
        for place, (name, schema) in enumerate(fields):
            child = Part(schema, part.rows)
            part.fields.append((name, child))
            stretch = slice(place * count, (place + 1) * count)
            below.append((child, child_starts[stretch], child_ends[stretch]))
        return below

    def array(self, part: Part, starts: Ints, ends: Ints) -> list[tuple[Part, Ints, Ints]]:
        assert part.schema.element is not None
        count = len(starts)
        offsets = np.zeros(count + 1, np.int64)
        outcome = self.memory.bytes(count)
        kernels.shred.count_elements(
            self.data, self.part.value.offsets, starts, ends, part.rows, count, offsets, outcome, self.frame, self.status
        )
        elements = int(offsets[-1])
        element_starts, element_ends, element_rows = self.memory.ints(elements), self.memory.ints(elements), np.empty(elements, np.int64)
        kernels.shred.expand_arrays(
            self.data,
            self.part.value.offsets,
            starts,
            ends,
            part.rows,
            count,
            offsets,
            outcome,
            element_starts,
            element_ends,
            element_rows,
            self.frame,
            self.status,
        )
        part.present = (outcome == instances.IS_TYPED).view(np.uint8)
        part.offsets = offsets
        part.value = self.residual(starts, ends, outcome, self.left(starts, ends, outcome))
        part.element = Part(part.schema.element, element_rows)
        return [(part.element, element_starts, element_ends)]


def take_apart(part: VariantSlice, schema: ShreddingSchema, names: NameTable, *, exact_types: bool = False, first_row: int = 0) -> Part:
    """The parts of some rows of a variant column; InvalidVariantError for bytes that cannot be followed.

    Exact numbers go into any exact numeric column that holds them without loss; with exact_types only into a column of their
    own physical type. Nothing else is ever converted.
    """
    with arena() as memory:
        column = _Column(part, names, memory, exact_types=exact_types, first_row=first_row)
        root = Part(schema, np.arange(len(part), dtype=np.int64))
        waiting = [(root, *column.locate())]
        column.check()
        column.match()
        column.check()
        while waiting:
            node, starts, ends = waiting.pop()
            match node.schema.kind:
                case Kind.OBJECT:
                    waiting += column.object(node, starts, ends)
                case Kind.ARRAY:
                    waiting += column.array(node, starts, ends)
                case Kind.PRIMITIVE:
                    column.primitive(node, starts, ends)
                case Kind.VALUE:
                    column.whole(node, starts, ends)
            column.check()
    return root
