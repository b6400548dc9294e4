"""Putting a variant column together again from its parts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from varquet import kernels
from varquet.columns.arena import Arena, arena
from varquet.columns.arrow import Flat, Spans, binary_array, validity_of
from varquet.columns.findings import raise_first
from varquet.columns.output import Output
from varquet.columns.reading import Scratch, gather
from varquet.kernels.source import _bytes as frames
from varquet.kernels.source import _codes as codes
from varquet.kernels.source import unshred as kernel
from varquet.layouts.parts import Bytes, Ints, NameTable, Part, walk
from varquet.layouts.primitives import numbers_of, text_of, typed_kind
from varquet.schema import Kind

__all__ = ["put_together"]

_NO_BYTES = np.zeros(0, np.uint8)


class _RowSize:
    known = 256.0


# How many bytes a row of the last slice took: the first guess for the next.
_row_size = _RowSize()


class _Builder:
    """One slice of a column while it is put together: the bytes made so far, and where each part's instances are in them.

    The root's instances stand in an output of their own, where row k ends at offsets[k + 1]; unless rows may be other types.
    """

    def __init__(
        self, root: Part, metadata: Spans, valid: Bytes, names: NameTable, memory: Arena, *, strict: bool, fills: bool, first_row: int
    ) -> None:
        self.root = root
        self.metadata = metadata
        self.memory = memory
        self.valid = valid
        self.names = names
        self.strict = int(strict)
        self.fills = int(fills)
        self.first_row = first_row
        self.status: Ints = memory.filled(len(valid), 0)
        self.frame: Ints = memory.ints(2 * 16 + frames.FRAME_SLOTS)
        self.scratch = Scratch()
        self.made: Bytes = memory.bytes(memory.expected)
        self.empty = Flat(_NO_BYTES, memory.filled(1, 0), memory.bytes(0))
        self.out = None if root.others else Output(int(1.1 * _row_size.known * len(valid)) + 1024)
        self.offsets: Ints = np.zeros(len(valid) + 1, np.int64)
        self.places: dict[int, tuple[Ints, Ints]] = {id(root): (memory.ints(len(valid)), self.offsets[1:])}
        self.fields_of: dict[int, tuple[Ints, Ints, Ints]] = {}
        for part in walk(root):
            self.reserve(part)

    def reserve(self, part: Part) -> None:
        """Room for the places of a part's children: those of an object's fields lie side by side, as the kernel wants them."""
        count = len(part)
        if part.element is not None:
            elements = len(part.element)
            self.places[id(part.element)] = self.memory.ints(elements), self.memory.ints(elements)
        for other in part.others:
            self.places[id(other)] = self.memory.ints(count), self.memory.ints(count)
        if part.schema.kind is Kind.OBJECT:
            # It wants them in the order of their names, too.
            ordered = sorted(part.fields, key=lambda field: field[0].encode())
            numbers = np.array([self.names.number[name] for name, _ in ordered], np.int64)
            starts, ends = self.memory.ints(count * len(ordered)), self.memory.ints(count * len(ordered))
            for place, (_, child) in enumerate(ordered):
                stretch = slice(place * count, (place + 1) * count)
                self.places[id(child)] = starts[stretch], ends[stretch]
            self.fields_of[id(part)] = numbers, starts, ends

    def match(self) -> None:
        """The field ids of the schema's names in each row's dictionary."""
        rows = len(self.valid)
        scratch = Scratch()
        self.slots = self.memory.ints(rows)
        self.fields = self.memory.ints(max(1024, 8 * (len(self.names.number) + kernel.SLOT_EXTRA)))

        def call(row: int) -> int:
            return int(
                kernels.unshred.match_names(
                    self.metadata.data,
                    self.metadata.starts,
                    self.metadata.ends,
                    self.valid,
                    row,
                    rows,
                    self.names.data,
                    self.names.offsets,
                    self.slots,
                    self.fields,
                    scratch.numbers,
                    self.status,
                    scratch.state,
                )
            )

        def grow() -> None:
            fields = self.memory.ints(2 * len(self.fields))
            fields[: len(self.fields)] = self.fields
            self.fields = fields

        scratch.run(rows, call, grow)

    def check(self) -> None:
        raise_first(self.status, self.first_row)

    def nothing(self, count: int) -> Flat:
        """Nulls, for parts that have no residual; all of them use the same."""
        if len(self.empty) < count:
            self.empty = Flat(_NO_BYTES, self.memory.filled(count + 1, 0), self.memory.filled_bytes(count, 0))
        return self.empty.slice(0, count)

    def grow(self) -> None:
        used = int(self.scratch.state[frames.ROW_OUT])
        made = self.memory.bytes(2 * len(self.made))
        made[:used] = self.made[:used]
        self.made = made

    def run(self, part: Part, call: Callable[[int, Flat, Ints, Ints, Bytes, Scratch], int]) -> None:
        """Let a kernel write a part's instances: those of the root to the output, all others to the arena."""
        count = len(part)
        starts, ends = self.places[id(part)]
        value = part.value or self.nothing(count)
        if part is self.root and self.out is not None:
            scratch, out = Scratch(), self.out
            scratch.run(
                count,
                lambda instance: call(instance, value, starts, ends, out.bytes, scratch),
                lambda: out.grow(int(scratch.state[frames.ROW_OUT])),
            )
        else:
            self.scratch.run(count, lambda instance: call(instance, value, starts, ends, self.made, self.scratch), self.grow)
        self.check()

    def write(self, part: Part) -> None:
        match part.schema.kind:
            case Kind.OBJECT:
                self.object(part)
            case Kind.ARRAY:
                self.array(part)
            case _:
                self.primitive(part)
        for other in part.others:
            self.merge(part, other)

    def finish(self) -> pa.Array:
        """The root's instances as an array."""
        starts, ends = self.places[id(self.root)]
        missing = (starts < 0) & (self.valid == 1)
        if self.out is not None and not missing.any():
            used = int(self.offsets[-1])
            _row_size.known = used / max(1, len(starts))
            return binary_array(self.out.finish(used), self.offsets, None)
        # One Variant null behind everything serves all that are missing.
        made = np.append(self.made if self.out is None else self.out.bytes, np.uint8(0))
        starts, ends = np.where(missing, len(made) - 1, starts), np.where(missing, len(made), ends)
        return gather(made, starts, np.where(starts < 0, -1, ends))

    def merge(self, part: Part, other: Part) -> None:
        """Let a part have what the same instances have as another type."""
        starts, ends = self.places[id(part)]
        other_starts, other_ends = self.places[id(other)]
        self.status[part.rows[(starts >= 0) & (other_starts >= 0)]] = codes.BAD_BOTH_SET
        self.check()
        np.copyto(ends, other_ends, where=starts < 0)
        np.copyto(starts, other_starts, where=starts < 0)

    def primitive(self, part: Part) -> None:
        count = len(part)
        if part.typed is None:
            typed_valid = np.zeros(count, np.uint8)
            numbers, tag, scale, stride = np.zeros(0, np.int64), 0, 0, 1
        else:
            assert part.schema.type is not None
            kind = typed_kind(part.schema.type)
            typed_valid = validity_of(part.typed)
            if kind.is_text:
                self.text(part, typed_valid, kind.tag)
                return
            numbers, tag, scale, stride = numbers_of(part.typed, part.schema.type), kind.tag, kind.scale, kind.stride
        self.run(
            part,
            lambda instance, value, starts, ends, out, scratch: kernels.unshred_leaves.unshred_fixed(
                numbers,
                typed_valid,
                value.data,
                value.offsets,
                value.valid,
                part.rows,
                instance,
                count,
                tag,
                scale,
                stride,
                out,
                starts,
                ends,
                self.frame,
                self.status,
                scratch.state,
            ),
        )

    def text(self, part: Part, typed_valid: Bytes, tag: int) -> None:
        text = text_of(part.typed)
        self.run(
            part,
            lambda instance, value, starts, ends, out, scratch: kernels.unshred_leaves.unshred_text(
                text.data,
                text.offsets,
                text.width,
                text.index,
                typed_valid,
                value.data,
                value.offsets,
                value.valid,
                part.rows,
                instance,
                len(part),
                tag,
                out,
                starts,
                ends,
                self.frame,
                self.status,
                scratch.state,
            ),
        )

    def object(self, part: Part) -> None:
        assert part.present is not None
        present = part.present
        child_names, child_starts, child_ends = self.fields_of[id(part)]
        self.run(
            part,
            lambda instance, value, starts, ends, out, scratch: kernels.unshred.unshred_objects(
                self.metadata.data,
                self.metadata.starts,
                self.metadata.ends,
                self.slots,
                self.fields,
                len(self.names.number),
                present,
                value.data,
                value.offsets,
                value.valid,
                part.rows,
                instance,
                len(part),
                self.strict,
                self.fills,
                child_names,
                child_starts,
                child_ends,
                self.made,
                out,
                starts,
                ends,
                scratch.numbers,
                self.frame,
                self.status,
                scratch.state,
            ),
        )

    def array(self, part: Part) -> None:
        assert part.present is not None and part.offsets is not None and part.element is not None
        present, offsets = part.present, part.offsets
        element_starts, element_ends = self.places[id(part.element)]
        self.run(
            part,
            lambda instance, value, starts, ends, out, scratch: kernels.unshred.unshred_arrays(
                offsets,
                present,
                value.data,
                value.offsets,
                value.valid,
                part.rows,
                instance,
                len(part),
                element_starts,
                element_ends,
                self.made,
                out,
                starts,
                ends,
                self.frame,
                self.status,
                scratch.state,
            ),
        )


def put_together(
    root: Part, metadata: Spans, valid: Bytes, names: NameTable, *, strict: bool = False, fills: bool = False, first_row: int = 0
) -> pa.Array:
    """The value column of the parts' rows; a row that is missing where it must not be becomes a Variant null."""
    with arena() as memory:
        builder = _Builder(root, metadata, valid, names, memory, strict=strict, fills=fills, first_row=first_row)
        builder.match()
        builder.check()
        for part in reversed(walk(root)):
            builder.write(part)
        memory.expected = max(1 << 20, int(builder.scratch.state[frames.ROW_OUT]) * 9 // 8)
        return builder.finish()
