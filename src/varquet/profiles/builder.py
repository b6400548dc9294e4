"""Counting a variant column, slice by slice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from varquet import kernels
from varquet.columns.arrow import Bytes, Spans, VariantSlice
from varquet.columns.findings import raise_first
from varquet.columns.names import NameBuffers
from varquet.errors import InvalidVariantError
from varquet.kernels.source import _bytes as frames
from varquet.kernels.source import _codes as codes
from varquet.kernels.source import profile as kernel
from varquet.layouts.rewriting import collect_names
from varquet.profiles.facts import COUNT, KERNEL_COLUMNS, OTHERS, ROWS, Ints, Profile, Steps, sort_key
from varquet.schema import ELEMENT

__all__ = ["Builder"]

# Paths are followed so deep: no policy looks deeper than 50.
MOST_DEPTH: Final = 100

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
        self.closed: dict[int, frozenset[str]] = {}
        self._close(closed)

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
                MOST_DEPTH,
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
        raise_first(status, first_row)
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

    def _close(self, closed: Mapping[Steps, frozenset[str]]) -> None:
        """Make nodes for these names, and let no others come to them."""
        made: dict[tuple[int, int], int] = {}
        for steps, names in sorted(closed.items(), key=lambda item: sort_key(item[0])):
            node = 0
            for step in steps:
                node = self._child(made, node, self._numbers([step])[0] if isinstance(step, str) else kernel.NAME_ELEMENT)
            for number in self._numbers(sorted(names)):
                self._child(made, node, number)
            self.nodes[node * kernel.NODE + kernel.CLOSED] = 1
            self.closed[node] = names
        self.table[:] = 0
        kernels.profile.insert_nodes(self.nodes, self.table, self.count)

    def _child(self, made: dict[tuple[int, int], int], parent: int, name: int) -> int:
        """The node of a name, or of elements, below another."""
        if (parent, name) not in made:
            if (self.count + 2) * kernel.NODE > len(self.nodes) or 2 * (self.count + 2) > len(self.table):
                self._grow()
            node = made[parent, name] = self.count
            self._start_node(node, parent, name)
            self.progress[kernel.AT_NODES] += 1
            if name == kernel.NAME_ELEMENT:
                self.nodes[parent * kernel.NODE + kernel.ELEMENT_NODE] = node
            else:
                self.nodes[parent * kernel.NODE + kernel.CHILDREN] += 1
        return made[parent, name]

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
        nodes, starts = np.unique(pairs >> 32, return_index=True)
        for node, first, last in zip(nodes.tolist(), starts.tolist(), [*starts.tolist()[1:], len(pairs)], strict=True):
            if node not in self.closed:
                found = self.frequent.setdefault(node, _Frequent())
                found.add((pairs[first:last] & 0xFFFFFFFF).tolist(), counts[first:last].tolist())
                found.shorten(self.most_names, self.share * (self.rows - self.nulls))

    def profile(self) -> Profile:
        """What was counted."""
        table = self.nodes[: self.count * kernel.NODE].reshape(self.count, kernel.NODE)
        order, steps = self._in_order(table)
        numbers = np.ascontiguousarray(table[order][:, KERNEL_COLUMNS])
        # Of several names together it is not known how many rows have one of them, see `folded`.
        others = table[order, kernel.NAME] == kernel.NAME_OTHERS
        numbers[others, ROWS] = numbers[others, COUNT]
        sketches = self.sketches[: self.count * kernel.SKETCH].reshape(self.count, kernel.SKETCH)[order]
        place = {node: steps[k] for k, node in enumerate(order)}
        closed = {place[node]: names for node, names in self.closed.items() if node in place}
        is_exact = True
        least = self.share * (self.rows - self.nulls)
        for node, found in self.frequent.items():
            is_counted = (table[:, kernel.PARENT] == node) & (table[:, kernel.NAME] > 0) & (table[:, kernel.ROWS] >= max(least, 1))
            counted = {self._name(int(number)) for number in table[is_counted, kernel.NAME]}
            more = {self._name(name) for name in found.at_least(least)}
            is_exact = is_exact and not more
            closed[place[node]] = frozenset(counted | more)
        return Profile(self.rows, self.nulls, tuple(steps), numbers, sketches, closed, is_exact, self.share)

    def _in_order(self, table: Ints) -> tuple[list[int], list[Steps]]:
        """The nodes that were seen and their paths, in the order of the paths."""
        below: dict[int, list[tuple[int, bytes, int]]] = {}
        for node in np.flatnonzero(table[1:, kernel.COUNT]).tolist():
            parent, name = table[node + 1, kernel.PARENT], int(table[node + 1, kernel.NAME])
            rank = 0 if name == kernel.NAME_ELEMENT else 2 if name == kernel.NAME_OTHERS else 1
            below.setdefault(int(parent), []).append((rank, self.names.name(name) if rank == 1 else b"", node + 1))
        order: list[int] = []
        steps: list[Steps] = []
        waiting: list[tuple[int, Steps]] = [(0, ())] if table[0, kernel.COUNT] else []
        while waiting:
            node, path = waiting.pop()
            order.append(node)
            steps.append(path)
            for rank, _, child in sorted(below.get(node, ()), reverse=True):
                step = ELEMENT if rank == 0 else OTHERS if rank == 2 else self._name(int(table[child, kernel.NAME]))
                waiting.append((child, (*path, step)))
        return order, steps

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

    def add(self, names: list[int], counts: list[int]) -> None:
        known = self.counts
        for name, count in zip(names, counts, strict=True):
            known[name] = known.get(name, 0) + count
        self.seen += sum(counts)

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
