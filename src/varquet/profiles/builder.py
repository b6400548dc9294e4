"""Counting a variant column, slice by slice."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from varquet import kernels
from varquet.columns.arena import aligned_zeros
from varquet.columns.arrow import Bytes, Spans, VariantSlice
from varquet.columns.findings import raise_first
from varquet.columns.names import NameBuffers
from varquet.columns.sizes import SIZES
from varquet.errors import InvalidVariantError
from varquet.kernels.source import _bytes as frames
from varquet.kernels.source import _codes as codes
from varquet.kernels.source import _path_facts as kernel
from varquet.kernels.source import _path_tree as tree
from varquet.layouts.rewriting import collect_names
from varquet.profiles import folding
from varquet.profiles.examples import Example, container_examples, scalar_example
from varquet.profiles.facts import BYTES, COUNT, KERNEL_COLUMNS, OTHERS, ROWS, TYPE_NAMES, WIDTH, Ints, Profile, Steps, sort_key
from varquet.schema import ELEMENT

__all__ = ["Builder"]

# Paths are followed so deep: no policy looks deeper than 50.
MOST_DEPTH: Final = 100
# As soon as so many names are known, and four times as many as are of use, those that are of none are forgotten.
_MANY_NAMES: Final = 1 << 17
_USELESS: Final = 4


# How scalars of a type are counted; all others are like integers.
_CLASSES: Final = {
    kernel.TYPE_STRING: kernel.CLASS_TEXT,
    kernel.TYPE_BINARY: kernel.CLASS_TEXT,
    **dict.fromkeys(range(kernel.TYPE_DECIMAL4, kernel.TYPE_DECIMAL16 + 1), kernel.CLASS_DECIMAL),
    **dict.fromkeys((kernel.TYPE_NULL, kernel.TYPE_BOOLEAN, kernel.TYPE_DOUBLE, kernel.TYPE_FLOAT, kernel.TYPE_UUID), kernel.CLASS_OTHER),
}


def _tables() -> Ints:
    """The numbers that never change, as the kernel has them; those of bytes that begin no value are 0: the kernel finds them."""
    made: Ints = np.zeros(kernel.TABLE_SIZE, np.int64)
    for header in range(256):
        tag, basic = header >> 2, header & 3
        if basic == frames.BASIC_PRIMITIVE and tag <= kernel.TYPE_UUID + 1:
            kind = kernel.TYPE_NULL if tag == 0 else kernel.TYPE_BOOLEAN if tag <= 2 else tag - 1
            made[header] = kind | _CLASSES.get(kind, kernel.CLASS_INTEGER) | SIZES[header] << kernel.HEADER_SIZE
        elif basic == frames.BASIC_SHORT_STRING:
            made[header] = kernel.TYPE_STRING | kernel.CLASS_TEXT | SIZES[header] << kernel.HEADER_SIZE
        elif basic == frames.BASIC_OBJECT:
            made[header] = kernel.TYPE_OBJECT | (tag & 3) + 1 << kernel.SHAPE_WIDTH | (tag >> 2 & 3) + 1 << kernel.SHAPE_ID_WIDTH
            made[header] |= (5 if tag & 16 else 2) << kernel.SHAPE_START
        elif basic == frames.BASIC_ARRAY:
            made[header] = kernel.TYPE_ARRAY | (tag & 3) + 1 << kernel.SHAPE_WIDTH | (5 if tag & 4 else 2) << kernel.SHAPE_START
    made[kernel.POWERS : kernel.POWERS + 19] = [10**k for k in range(19)]
    made[kernel.NO_BYTES : kernel.NO_BYTES + 8] = [(1 << 8 * k) - 1 for k in range(8)]
    made[kernel.NO_BYTES + 8 :] = -1
    return made


_TABLES: Final = _tables()


def _fixed_sizes() -> Ints:
    """What a value of each type takes, or 0 where the kernel adds their bytes up."""
    made: Ints = np.zeros(kernel.TYPE_COUNT, np.int64)
    known = _TABLES[:256]
    is_fixed = (known & kernel.CLASS_MASK != kernel.CLASS_TEXT) & (known & kernel.HEADER_TYPE < kernel.TYPE_OBJECT)
    made[known[is_fixed] & kernel.HEADER_TYPE] = known[is_fixed] >> kernel.HEADER_SIZE
    return made


_FIXED_SIZES: Final = _fixed_sizes()


def _slots(room: int) -> int:
    """How many slots the table of the children of so many nodes has: a power of two, half of them empty."""
    return 1 << (2 * room - 1).bit_length()


class Builder:
    """The tree of paths of the rows seen so far.

    An object may have `most_names` different names. Of those beyond, the ones that may be in `share` of the rows are found
    (frequent items of Misra and Gries), to be counted in another pass, for which `closed` has them.
    """

    def __init__(self, most_names: int, share: float, closed: Mapping[Steps, frozenset[str]], most_paths: int | None = None) -> None:
        self.most_names = most_names
        self.most_paths = folding.MOST_PATHS if most_paths is None else most_paths
        self.share = share
        self.rows = 0
        self.nulls = 0
        self.names = NameBuffers()
        self.many_names = _MANY_NAMES
        # Memory that is not used is not taken.
        room = max(4, min(4096, self.most_paths))
        self.nodes: Ints = aligned_zeros(room * kernel.NODE)
        self.table: Ints = np.zeros(_slots(room) * tree.CHILD, np.int64)
        self.log: Ints = np.empty(1 << 18, np.int64)
        self.firsts: Ints = np.empty(4096 * tree.EXAMPLE_SLOTS, np.int64)
        self.examples: dict[tuple[int, int], Example] = {}
        self.end = 0
        """The number behind that of the last row: only rows from there on can be added."""
        self.stack: Ints = np.zeros(256 * tree.WAITING, np.int64)
        self.progress: Ints = np.zeros(tree.AT_SLOTS, np.int64)
        self.progress[tree.AT_NODES] = kernel.NODE
        self._start_node(0, 0, 0, 0)
        self.frequent: dict[int, _Frequent] = {}
        self.closed: dict[int, frozenset[str]] = {}
        self._close(closed)

    @property
    def count(self) -> int:
        return int(self.progress[tree.AT_NODES]) // kernel.NODE

    def add(self, part: VariantSlice, first_row: int, chosen: Bytes | None = None) -> None:
        """Count rows, of which the first has this number: those chosen, and all SQL NULLs."""
        rows = len(part)
        self.end = first_row + rows
        nulls = rows - int(np.count_nonzero(part.valid))
        valid = part.valid if chosen is None else part.valid & chosen
        self.nulls += nulls
        self.rows += nulls + int(np.count_nonzero(valid))
        status: Ints = np.zeros(rows, np.int64)
        metadata = part.metadata
        found = collect_names(Spans(metadata.data, metadata.starts, metadata.ends, valid), self.names, status)
        if status.any():
            raise_first(status, first_row)
        row = 0
        before = 0
        data, offsets = part.value.data, part.value.offsets
        while True:
            row = kernels.profile.profile_rows(
                data,
                offsets,
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
                self.nodes.view(np.uint8),
                self.table,
                self.log,
                self.firsts,
                _TABLES,
                self.stack,
                self.progress,
                status,
            )
            need = int(self.progress[tree.AT_NEED])
            if need == codes.NEED_NOTHING:
                break
            if need == codes.NEED_KEYS:
                if self.count + 2 > self.most_paths:
                    self._narrow()
                self._grow()
            elif need == codes.NEED_STACK:
                self.stack = np.concatenate([self.stack, np.zeros(len(self.stack), np.int64)])
            elif need == codes.NEED_TAPE:
                self._read_log()
                self._read_firsts(part, first_row, before)
            else:
                # The last rows are counted in a copy that has enough behind it, and the others are of no use any more.
                before = int(offsets[row])
                moved = np.empty_like(offsets)
                np.subtract(offsets[row:], before, out=moved[row:])
                data = np.zeros(int(moved[row:].max()) + kernel.READ_AHEAD, np.uint8)
                data[: len(part.value.data) - before] = part.value.data[before : before + len(data)]
                offsets = moved
                self.firsts[tree.EXAMPLE_AT : int(self.progress[tree.AT_EXAMPLES]) : tree.EXAMPLE_SLOTS] -= before
        if row < rows:
            raise_first(status, first_row)
        self._read_firsts(part, first_row, before)
        if len(self.names) > self.many_names:
            self._forget_names()

    def _forget_names(self) -> None:
        """Keep the names of nodes, and those that may be frequent: where names are data, there is no end of others."""
        self._read_log()
        named = self.nodes[: self.count * kernel.NODE].reshape(self.count, kernel.NODE)[:, kernel.NAME]
        has_name = named > 0
        kept = np.unique(np.concatenate([named[has_name], *(found.names for found in self.frequent.values())]))
        octets = self.names.some(kept)
        self.names.clear()
        moved: Ints = np.zeros(int(kept.max(initial=0)) + 1, np.int64)
        moved[kept] = self._interned(octets)
        named[has_name] = moved[named[has_name]]
        for found in self.frequent.values():
            found.names = moved[found.names]
        self._find_children()
        self.many_names = max(_MANY_NAMES, _USELESS * len(kept))

    def _grow(self) -> None:
        before = len(self.nodes) // kernel.NODE
        # Where there are too many paths, it is looked often whether objects have too many names by now.
        room = before + max(16, self.most_paths // 4) if before >= self.most_paths else min(2 * before, self.most_paths + 2)
        nodes = aligned_zeros(room * kernel.NODE)
        nodes[: len(self.nodes)] = self.nodes
        self.nodes = nodes
        self.table = np.empty(_slots(room) * tree.CHILD, np.int64)
        self._find_children()

    def _narrow(self) -> None:
        """Where there are too many paths, let objects have no more names than `folding` leaves them.

        What is known here is some of the data, and limits only shrink as more is known: what has too many names here has too many in all.
        """
        table = self.nodes[: self.count * kernel.NODE].reshape(self.count, kernel.NODE)
        parents = table[:, kernel.PARENT] // kernel.NODE
        counts = table[:, kernel.TYPES : kernel.SKETCH_AT : kernel.TYPE_SLOTS]
        is_seen = counts.any(axis=1)
        is_named = is_seen & (table[:, kernel.NAME] > 0)
        names: Ints = np.bincount(parents[is_named], minlength=self.count)
        is_closed = table[:, kernel.OTHERS_NODE] > 0
        is_closed[[node // kernel.NODE for node in self.closed]] = True
        is_field = is_seen & (table[:, kernel.NAME] != tree.NAME_ELEMENT)
        # The root is a field of nothing.
        is_field[0] = False
        is_above = is_field & is_closed[parents]
        has_containers = bool(counts[is_above, kernel.TYPE_OBJECT :].any())
        paths = int(np.count_nonzero(is_seen & ~is_above)) + (self.most_names + 1) * int(np.count_nonzero(is_closed & is_seen))
        if not has_containers and paths <= self.most_paths:
            return
        above: Ints = np.ones(self.count, np.int64)
        below: Ints = np.ones(self.count, np.int64)
        depths = table[:, kernel.DEPTH]
        for depth in range(MOST_DEPTH + 1):
            here = np.flatnonzero(depths == depth)
            if not len(here):
                break
            if depth:
                is_element = table[here, kernel.NAME] == tree.NAME_ELEMENT
                above[here] = np.where(is_element, above[parents[here]], below[parents[here]])
            is_large = is_closed[here] | (names[here] > folding.limits(above[here], self.most_names, self.most_paths))
            wide = np.where(is_large, self.most_names + 1, np.maximum(names[here], 1))
            below[here] = np.minimum(above[here] * wide, self.most_paths + 1)
        table[:, kernel.SLACK] = self.most_names - folding.limits(above, self.most_names, self.most_paths)
        table[:, kernel.SLACK_BELOW] = self.most_names - folding.limits(below, self.most_names, self.most_paths)
        # Names that are not counted yet, because their values wait, must not let others in where some were counted together before.
        table[is_closed, kernel.CHILDREN] = kernel.LARGEST // 2
        table[~is_closed, kernel.CHILDREN] = names[~is_closed] + table[~is_closed, kernel.SLACK]

    def _find_children(self) -> None:
        """Enter all nodes into the table that finds them."""
        self.table[:] = 0
        kernels.profile.insert_nodes(self.nodes, self.table, int(self.progress[tree.AT_NODES]))

    def _start_node(self, node: int, parent: int, name: int, depth: int) -> None:
        numbers = self.nodes[node : node + kernel.NODE]
        numbers[:] = 0
        numbers[[kernel.PARENT, kernel.NAME, kernel.DEPTH]] = parent, name, depth
        numbers[[kernel.LAST_ROW, kernel.SHORTEST, kernel.LONGEST]] = -1, kernel.LARGEST, -1
        types = numbers[kernel.TYPES : kernel.SKETCH_AT].reshape(kernel.TYPE_COUNT, kernel.TYPE_SLOTS)
        types[:, (kernel.TYPE_LOW, kernel.TYPE_FIRST)] = kernel.LARGEST
        types[:, kernel.TYPE_HIGH] = -kernel.LARGEST - 1

    def _close(self, closed: Mapping[Steps, frozenset[str]]) -> None:
        """Make nodes for these names, and let no others come to them."""
        made: dict[tuple[int, int], int] = {}
        for steps, names in sorted(closed.items(), key=lambda item: sort_key(item[0])):
            node = 0
            for step in steps:
                node = self._child(made, node, self._numbers([step])[0] if isinstance(step, str) else tree.NAME_ELEMENT)
            for number in self._numbers(sorted(names)):
                self._child(made, node, number)
            self.nodes[node + kernel.CHILDREN] = kernel.LARGEST // 2
            self.closed[node] = names
        self._find_children()

    def _child(self, made: dict[tuple[int, int], int], parent: int, name: int) -> int:
        """The node of a name, or of elements, below another."""
        if (parent, name) not in made:
            if (self.count + 2) * kernel.NODE > len(self.nodes) or 2 * (self.count + 2) > len(self.table) // tree.CHILD:
                self._grow()
            node = made[parent, name] = int(self.progress[tree.AT_NODES])
            self._start_node(node, parent, name, int(self.nodes[parent + kernel.DEPTH]) + 1)
            self.progress[tree.AT_NODES] += kernel.NODE
            if name == tree.NAME_ELEMENT:
                self.nodes[parent + kernel.ELEMENT_NODE] = node
            else:
                self.nodes[parent + kernel.CHILDREN] += 1
        return made[parent, name]

    def _numbers(self, names: Sequence[str]) -> list[int]:
        """The numbers of names, interned if they are new."""
        return self._interned([name.encode("utf-8", "surrogatepass") for name in names])

    def _interned(self, octets: Sequence[bytes]) -> list[int]:
        offsets = np.concatenate([[0], np.cumsum([len(each) for each in octets])]).astype("<u4")
        metadata = np.frombuffer(b"\xc1" + len(octets).to_bytes(4, "little") + offsets.tobytes() + b"".join(octets), np.uint8)
        whole = Spans(metadata, np.zeros(1, np.int64), np.array([len(metadata)], np.int64), np.ones(1, np.uint8))
        found = collect_names(whole, self.names, np.zeros(1, np.int64))
        numbers: list[int] = found.names[: len(octets)].tolist()
        return numbers

    def _read_log(self) -> None:
        """Note the names that were not counted one by one."""
        used = int(self.progress[tree.AT_LOG])
        self.progress[tree.AT_LOG] = 0
        if not used:
            return
        nodes, names = self.log[0:used:2], self.log[1:used:2]
        # Most data has one such object, or none.
        if nodes.min() != nodes.max():
            order = np.argsort(nodes, kind="stable")
            nodes, names = nodes[order], names[order]
        starts = [0, *(np.flatnonzero(np.diff(nodes)) + 1).tolist(), len(nodes)]
        for first, last in itertools.pairwise(starts):
            node = int(nodes[first])
            if node not in self.closed:
                found = self.frequent.setdefault(node, _Frequent())
                found.add(names[first:last])
                found.shorten(self.most_names - int(self.nodes[node + kernel.SLACK]), self.share * (self.rows - self.nulls))

    def _read_firsts(self, part: VariantSlice, first_row: int, before: int) -> None:
        """Keep the first value of each type at each node, as much of it as one looks at; their places count from `before` on."""
        used = int(self.progress[tree.AT_EXAMPLES])
        self.progress[tree.AT_EXAMPLES] = 0
        if not used:
            return
        values = part.value.data.data
        found = self.firsts[:used].reshape(-1, tree.EXAMPLE_SLOTS).tolist()
        # What a container stands against may come in later rows, or in another part.
        places = [(row, before + at, size) for _, kind, row, at, size in found if kind >= kernel.TYPE_OBJECT]
        containers = iter(container_examples(part, places) if places else ())
        for node, kind, row, at, size in found:
            octets = scalar_example(values, before + at, size) if kind < kernel.TYPE_OBJECT else next(containers)
            self.examples[node, kind] = Example(first_row + row, octets)

    def profile(self) -> Profile:
        """What was counted."""
        self._read_log()
        table = self.nodes[: self.count * kernel.NODE].reshape(self.count, kernel.NODE)
        counts: Ints = table[:, kernel.TYPES : kernel.SKETCH_AT : kernel.TYPE_SLOTS].sum(axis=1)
        order, steps = self._in_order(table, np.flatnonzero(counts))
        numbers = np.empty((len(order), WIDTH), np.int64)
        numbers[:, COUNT] = counts[order]
        numbers[:, 1:] = table[np.array(order, np.int64)[:, None], KERNEL_COLUMNS]
        numbers[:, BYTES] += table[order, kernel.TYPES : kernel.SKETCH_AT : kernel.TYPE_SLOTS] @ _FIXED_SIZES
        # Of several names together it is not known how many rows have one of them, see `folded`.
        others = table[order, kernel.NAME] == tree.NAME_OTHERS
        numbers[others, ROWS] = numbers[others, COUNT]
        sketches = table[order, kernel.SKETCH_AT : kernel.SLACK].view(np.uint8)
        place = dict(zip([kernel.NODE * k for k in order], steps, strict=True))
        closed = {place[node]: names for node, names in self.closed.items() if node in place}
        is_exact = True
        least = self.share * (self.rows - self.nulls)
        rows: Ints = np.zeros(self.count, np.int64)
        rows[order] = numbers[:, ROWS]
        with_others = table[order, kernel.PARENT][others]
        below = self._children(table, {*self.frequent, *with_others.tolist()})
        for node, found in self.frequent.items():
            counted = self._names_of(table, below[node][rows[below[node]] >= max(least, 1)])
            more = {self._name(name) for name in found.at_least(least).tolist()}
            is_exact = is_exact and not more
            closed[place[node]] = frozenset(counted | more)
        told_apart = {place[node]: self._names_of(table, below[node]) for node in with_others.tolist()}
        examples = {(place[node], TYPE_NAMES[kind]): example for (node, kind), example in self.examples.items() if node in place}
        return Profile(
            self.rows, self.nulls, tuple(steps), numbers, sketches, closed, is_exact, self.share, examples, told_apart, self.most_names
        )

    def _children(self, table: Ints, nodes: Iterable[int]) -> dict[int, Ints]:
        """The children of some nodes that have names."""
        named = np.flatnonzero(table[:, kernel.NAME] > 0)
        named = named[np.argsort(table[named, kernel.PARENT], kind="stable")]
        asked = sorted(nodes)
        first = np.searchsorted(table[named, kernel.PARENT], asked).tolist()
        last = np.searchsorted(table[named, kernel.PARENT], asked, side="right").tolist()
        return {node: named[start:end] for node, start, end in zip(asked, first, last, strict=True)}

    def _names_of(self, table: Ints, nodes: Ints) -> frozenset[str]:
        return frozenset(map(_text, self.names.some(table[nodes, kernel.NAME])))

    def _in_order(self, table: Ints, seen: Ints) -> tuple[list[int], list[Steps]]:
        """The nodes that were seen and their paths, in the order of the paths."""
        numbers = table[seen, kernel.NAME]
        # Those that have no name get the empty one, which is number 0.
        names = map(_text, self.names.some(np.maximum(numbers, 0)))
        parents = (table[seen, kernel.PARENT] // kernel.NODE).tolist()
        below: dict[int, list[tuple[int, str, int]]] = {}
        for node, parent, number, name in zip(seen.tolist(), parents, numbers.tolist(), names, strict=True):
            if node:
                rank = 1 if number > 0 else 0 if number == tree.NAME_ELEMENT else 2
                below.setdefault(parent, []).append((rank, name, node))
        order: list[int] = []
        steps: list[Steps] = []
        waiting: list[tuple[int, Steps]] = [(0, ())] if len(seen) and seen[0] == 0 else []
        while waiting:
            node, path = waiting.pop()
            order.append(node)
            steps.append(path)
            if node in below:
                # The order of characters is that of the bytes of UTF-8.
                children = sorted(below[node], reverse=True)
                waiting += [(child, (*path, name if rank == 1 else OTHERS if rank else ELEMENT)) for rank, name, child in children]
        return order, steps

    def _name(self, number: int) -> str:
        return _text(self.names.name(number))


def _text(name: bytes) -> str:
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidVariantError(f"expected UTF-8 in a field name, got {name[:40]!r}", hint="validate finds the row") from error


def _largest(counts: Ints, place: int) -> int:
    """The count that has this place among them, from 0 for the largest."""
    most = int(counts.max())
    if most > len(counts):
        return int(np.partition(counts, -place - 1)[-place - 1])
    # Most of them are the same few numbers, which is hard for those who sort.
    from_above = np.cumsum(np.bincount(counts)[::-1])
    return most - int(np.searchsorted(from_above, place, side="right"))


class _Frequent:
    """Names that may be frequent: each was seen at least as often as is said, and at most `missed` times more."""

    def __init__(self) -> None:
        self.names: Ints = np.zeros(0, np.int64)
        self.counts: Ints = np.zeros(0, np.int64)
        self.seen = 0
        self.missed = 0

    def add(self, names: Ints) -> None:
        """Count names, each as often as it comes."""
        self.seen += len(names)
        most = max(int(names.max()), int(self.names.max(initial=0)))
        if most < 8 * (len(names) + len(self.names)):
            counts = np.bincount(names, minlength=most + 1)
            counts[self.names] += self.counts
            self.names = np.flatnonzero(counts)
            self.counts = counts[self.names]
        else:
            # Numbers so far apart would take much room.
            self.names, place = np.unique(np.concatenate([self.names, names]), return_inverse=True)
            counts = np.bincount(place[len(self.counts) :], minlength=len(self.names))
            counts[place[: len(self.counts)]] += self.counts
            self.counts = counts

    def shorten(self, most: int, least: float) -> None:
        """Keep so many that what is missed stays below half of what matters."""
        room = max(most, math.ceil(2 * self.seen / max(least, 1)))
        if len(self.counts) <= 2 * room:
            return
        cut = _largest(self.counts, room)
        self.missed += cut
        kept = self.counts > cut
        self.names, self.counts = self.names[kept], self.counts[kept] - cut

    def at_least(self, least: float) -> Ints:
        """The names that may have been seen so often."""
        return self.names[self.counts + self.missed >= least]
