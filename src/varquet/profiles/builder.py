"""Counting a variant column, slice by slice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from varquet import kernels
from varquet.columns.arrow import Bytes, Spans, VariantSlice
from varquet.columns.findings import finding
from varquet.columns.names import NameBuffers
from varquet.errors import InvalidVariantError
from varquet.kernels.source import _bytes as frames
from varquet.kernels.source import _codes as codes
from varquet.kernels.source import profile as kernel
from varquet.layouts.rewriting import collect_names
from varquet.profiles.facts import KERNEL_COLUMNS, OTHERS, Ints, Profile, Steps, sort_key
from varquet.schema import ELEMENT

__all__ = ["Builder"]

_POWERS: Final = np.array([10**k for k in range(19)], np.int64)


class Builder:
    """The tree of paths of the rows seen so far.

    An object may have `most_names` different names. Of those beyond, the ones that may be in `share` of the rows are found
    (frequent items of Misra and Gries), to be counted in another pass, for which `closed` has them.
    """

    def __init__(self, most_names: int, share: float, closed: Mapping[Steps, frozenset[str]]) -> None:
        self.most_names = most_names
        self.share = share
        self.rows = 0
        self.nulls = 0
        self.names = NameBuffers()
        self.nodes: Ints = np.zeros(256 * kernel.NODE, np.int64)
        self.table: Ints = np.zeros(1024, np.int64)
        self.sketches = np.zeros(256 * kernel.SKETCH, np.uint8)
        self.log: Ints = np.empty(1 << 16, np.int64)
        self.stack: Ints = np.zeros(64 * kernel.PROFILE_FRAME, np.int64)
        self.progress: Ints = np.zeros(kernel.AT_SLOTS, np.int64)
        self.progress[kernel.AT_NODES] = 1
        self._start_node(0, 0, 0)
        self.frequent: dict[int, _Frequent] = {}
        self.closed = {self._node_of(steps): names for steps, names in sorted(closed.items(), key=lambda item: sort_key(item[0]))}
        for node, names in self.closed.items():
            for number in self._numbers(sorted(names)):
                self._child(node, number)
            self.nodes[node * kernel.NODE + kernel.CLOSED] = 1

    @property
    def count(self) -> int:
        return int(self.progress[kernel.AT_NODES])

    def add(self, part: VariantSlice, first_row: int, chosen: Bytes | None = None) -> None:
        """Count rows, of which the first has this number: those chosen, and all SQL NULLs."""
        rows = len(part)
        nulls = rows - int(np.count_nonzero(part.valid))
        valid = part.valid if chosen is None else part.valid & chosen
        self.nulls += nulls
        self.rows += nulls + int(np.count_nonzero(valid))
        status: Ints = np.zeros(rows, np.int64)
        metadata = part.metadata
        found = collect_names(Spans(metadata.data, metadata.starts, metadata.ends, valid), self.names, status)
        state: Ints = np.zeros(frames.ROW_SLOTS, np.int64)
        row = 0
        while not status.any():
            row = kernels.profile.profile_rows(
                part.value.data,
                part.value.offsets,
                valid,
                found.starts,
                found.counts,
                found.names,
                row,
                rows,
                first_row,
                self.most_names,
                self.nodes,
                self.table,
                self.sketches,
                self.log,
                _POWERS,
                self.stack,
                self.progress,
                status,
                state,
            )
            need = int(self.progress[kernel.AT_NEED])
            if need == codes.NEED_KEYS:
                self._grow()
            elif need == codes.NEED_STACK:
                self.stack = np.concatenate([self.stack, np.zeros(len(self.stack), np.int64)])
            elif need == codes.NEED_TAPE:
                self._read_log()
            else:
                break
        bad = np.flatnonzero(status)
        if len(bad):
            raise finding(int(status[bad[0]]), first_row + int(bad[0]))
        self._read_log()

    def _grow(self) -> None:
        size = 2 * len(self.nodes)
        nodes, sketches = np.zeros(size, np.int64), np.zeros(size // kernel.NODE * kernel.SKETCH, np.uint8)
        nodes[: len(self.nodes)] = self.nodes
        sketches[: len(self.sketches)] = self.sketches
        self.nodes, self.sketches = nodes, sketches
        self.table = np.zeros(2 * len(self.table), np.int64)
        kernels.profile.insert_nodes(self.nodes, self.table, self.count)

    def _start_node(self, node: int, parent: int, name: int) -> None:
        at = node * kernel.NODE
        numbers = self.nodes[at : at + kernel.NODE]
        numbers[:] = 0
        numbers[[kernel.PARENT, kernel.NAME, kernel.LAST_ROW, kernel.SHORTEST, kernel.LONGEST]] = parent, name, -1, kernel.LARGEST, -1
        types = numbers[kernel.TYPES :].reshape(kernel.TYPE_COUNT, kernel.TYPE_SLOTS)
        types[:, (kernel.TYPE_LOW, kernel.TYPE_FIRST)] = kernel.LARGEST
        types[:, kernel.TYPE_HIGH] = -kernel.LARGEST - 1

    def _child(self, parent: int, name: int) -> int:
        """The node of a name, or of elements, below another, made if there is none."""
        for node in range(1, self.count):
            if self.nodes[node * kernel.NODE + kernel.PARENT] == parent and self.nodes[node * kernel.NODE + kernel.NAME] == name:
                return node
        if (self.count + 2) * kernel.NODE > len(self.nodes) or 2 * (self.count + 2) > len(self.table):
            self._grow()
        node = self.count
        self._start_node(node, parent, name)
        self.progress[kernel.AT_NODES] += 1
        if name == kernel.NAME_ELEMENT:
            self.nodes[parent * kernel.NODE + kernel.ELEMENT_NODE] = node
        else:
            self.nodes[parent * kernel.NODE + kernel.CHILDREN] += 1
            self.table[:] = 0
            kernels.profile.insert_nodes(self.nodes, self.table, self.count)
        return node

    def _node_of(self, steps: Steps) -> int:
        node = 0
        for step in steps:
            node = self._child(node, self._numbers([step])[0] if isinstance(step, str) else kernel.NAME_ELEMENT)
        return node

    def _numbers(self, names: Sequence[str]) -> list[int]:
        """The numbers of names, interned if they are new."""
        octets = [name.encode("utf-8", "surrogatepass") for name in names]
        offsets = np.concatenate([[0], np.cumsum([len(each) for each in octets])]).astype("<u4")
        metadata = np.frombuffer(b"\xc1" + len(octets).to_bytes(4, "little") + offsets.tobytes() + b"".join(octets), np.uint8)
        whole = Spans(metadata, np.zeros(1, np.int64), np.array([len(metadata)], np.int64), np.ones(1, np.uint8))
        found = collect_names(whole, self.names, np.zeros(1, np.int64))
        return [int(number) for number in found.names[: len(octets)]]

    def _read_log(self) -> None:
        """Note the names that were not counted one by one."""
        used = int(self.progress[kernel.AT_LOG])
        self.progress[kernel.AT_LOG] = 0
        if not used:
            return
        pairs, counts = np.unique((self.log[0:used:2] << 32) | self.log[1:used:2], return_counts=True)
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            node, name = pair >> 32, pair & 0xFFFFFFFF
            if node not in self.closed:
                self.frequent.setdefault(node, _Frequent()).add(name, count)
        for found in self.frequent.values():
            found.shorten(self.most_names, self.share * (self.rows - self.nulls))

    def profile(self) -> Profile:
        """What was counted."""
        steps = self._steps()
        table = self.nodes[: self.count * kernel.NODE].reshape(self.count, kernel.NODE)
        seen = [node for node in range(self.count) if table[node, kernel.COUNT]]
        order = sorted(seen, key=lambda node: sort_key(steps[node]))
        numbers = np.ascontiguousarray(table[order][:, KERNEL_COLUMNS])
        for k, node in enumerate(order):
            if table[node, kernel.NAME] == kernel.NAME_OTHERS:
                numbers[k, 1] = numbers[k, 0]  # see `folded`
        sketches = self.sketches[: self.count * kernel.SKETCH].reshape(self.count, kernel.SKETCH)[order]
        closed = {steps[node]: names for node, names in self.closed.items()}
        is_exact = True
        least = self.share * (self.rows - self.nulls)
        for node, found in self.frequent.items():
            children = [child for child in seen if table[child, kernel.PARENT] == node and table[child, kernel.NAME] > 0]
            counted = {steps[child][-1] for child in children if table[child, kernel.ROWS] >= least}
            more = {self._name(name) for name in found.at_least(least)}
            is_exact = is_exact and not more
            closed[steps[node]] = frozenset(str(name) for name in counted) | more
        return Profile(self.rows, self.nulls, tuple(steps[node] for node in order), numbers, sketches, closed, is_exact, self.share)

    def _steps(self) -> list[Steps]:
        found: list[Steps] = [()]
        for node in range(1, self.count):
            at = node * kernel.NODE
            name = int(self.nodes[at + kernel.NAME])
            step = ELEMENT if name == kernel.NAME_ELEMENT else OTHERS if name == kernel.NAME_OTHERS else self._name(name)
            # A node is made after its parent.
            found.append((*found[int(self.nodes[at + kernel.PARENT])], step))
        return found

    def _name(self, number: int) -> str:
        octets = self.names.name(number)
        try:
            return octets.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidVariantError(f"expected UTF-8 in a field name, got {octets[:40]!r}", hint="validate finds the row") from error


class _Frequent:
    """Names that may be frequent: each was seen at least as often as is said, and at most `missed` times more."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.seen = 0
        self.missed = 0

    def add(self, name: int, count: int) -> None:
        self.counts[name] = self.counts.get(name, 0) + count
        self.seen += count

    def shorten(self, most: int, least: float) -> None:
        """Keep so many that what is missed stays below half of what matters."""
        room = max(most, math.ceil(2 * self.seen / max(least, 1)))
        if len(self.counts) <= 2 * room:
            return
        cut = sorted(self.counts.values(), reverse=True)[room]
        self.missed += cut
        self.counts = {name: count - cut for name, count in self.counts.items() if count > cut}

    def at_least(self, least: float) -> list[int]:
        """The names that may have been seen so often."""
        return [name for name, count in self.counts.items() if count + self.missed >= least]
