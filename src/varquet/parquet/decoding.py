"""Columns out of pages: levels become what Arrow has for groups and lists, and values are put where they say.

pyarrow goes down to each leaf column for itself: it decodes levels, makes validity bits of them for all groups around, and puts values
apart by them, which takes longer than reading the values does. Here levels are bytes, a group takes them from one of the columns below
it, and the pages of all columns are decompressed at once. Pages that begin with the same rows in all columns can be read by themselves,
so that several threads read one row group.

Whatever is not as expected is left to pyarrow: other types, encodings and versions of pages, damage.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from varquet import kernels
from varquet.kernels.source import _unpacking as unpacking
from varquet.kernels.source import decode as kernel
from varquet.kernels.source import pages as pages_kernel
from varquet.parquet.footer_fields import RLE
from varquet.parquet.leaf_values import Decoded, Dictionary, LeafType, NotKnownError, decode_leaf, read_dictionary
from varquet.parquet.levels import Place, is_middle
from varquet.parquet.pages import LeafPages, PageIndex, Pages
from varquet.parquet.raw_pages import CODECS, ListedPages, decompressed, list_pages

__all__ = ["PageDecoder", "PageRun"]

Bytes: TypeAlias = npt.NDArray[np.uint8]

_MOST_BYTES: Final = 1 << 28
_MOST_ENTRIES: Final = 1 << 24
_KEPT_GROUPS: Final = 8


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A leaf column."""

    number: int
    type: LeafType
    scopes: tuple[int, ...]
    """From which definition level on there is an instance: of the rows, and of each group that repeats around it."""


@dataclass(frozen=True, slots=True)
class _Group:
    """A struct, of which some fields may be left out, or a list in three levels, as the standard has it."""

    place: Place
    fields: tuple[pa.Field, ...]
    """As Arrow has them; of a list its elements."""
    children: tuple[int, ...]
    """Which of the nodes they are."""
    is_list: bool


_Node: TypeAlias = _Leaf | _Group


def _nodes(column: Place, kind: pa.DataType, texts: Collection[int]) -> list[_Node]:
    """What a column consists of, each behind those that it is made of; no recursion, so that depth has no limit."""
    found: list[tuple[Place, pa.DataType, list[Place]]] = []
    waiting = [(column, kind)]
    while waiting:
        place, kind = waiting.pop()
        kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
        children = place.children
        if place.element.repetition == "REPEATED":
            raise NotKnownError
        if pa.types.is_list(kind) and len(children) == 1 and is_middle(children[0]):
            children = children[0].children
        elif not pa.types.is_struct(kind) and place.element.is_group:
            raise NotKnownError
        fields = [kind.field(k) for k in range(kind.num_fields)]
        if len(fields) != len(children):
            raise NotKnownError
        found.append((place, kind, children))
        waiting += zip(children, (field.type for field in fields), strict=True)
    nodes: list[_Node] = []
    at: dict[int, int] = {}
    for place, kind, children in reversed(found):
        at[id(place)] = len(nodes)
        if place.element.is_group:
            shown = tuple(kind.field(k) for k in range(kind.num_fields))
            nodes.append(_Group(place, shown, tuple(at[id(child)] for child in children), pa.types.is_list(kind)))
        else:
            nodes.append(_leaf(place, kind, texts))
    return nodes


def _leaf(place: Place, kind: pa.DataType, texts: Collection[int]) -> _Leaf:
    is_dictionary = pa.types.is_dictionary(kind)
    scopes = (0, *(above.definition for above in place.chain() if above.element.repetition == "REPEATED"))
    known = LeafType(
        kind.value_type if is_dictionary else kind,
        place.element.physical_type or "",
        place.definition,
        place.repetition,
        scopes[-1],
        is_dictionary or place.first_leaf in texts,
        place.element.type_length or 0,
    )
    return _Leaf(place.first_leaf, known, scopes)


class _Column:
    """A leaf column in some pages, as far as groups around it ask."""

    def __init__(self, leaf: _Leaf, decoded: Decoded) -> None:
        self.leaf = leaf
        self.decoded = decoded
        self.known: dict[int, Bytes] = {leaf.type.repetition: decoded.instances}

    def at(self, depth: int) -> Bytes:
        """The definition levels of what stands in so many lists around it, one for each instance."""
        if depth not in self.known:
            definitions = self.decoded.definitions
            made = np.empty(len(definitions), np.uint8)
            count = kernels.decode.pick_levels(definitions, self.decoded.repetitions, self.leaf.scopes[depth], depth, made)
            self.known[depth] = made[:count]
        return self.known[depth]

    def offsets(self, depth: int) -> npt.NDArray[np.int32]:
        """Where the elements of each list begin, and behind them where the last ends; the lists stand in so many others."""
        definitions = self.decoded.definitions
        made = np.empty(len(definitions) + 1, np.int32)
        least, least_element = self.leaf.scopes[depth : depth + 2]
        count = kernels.decode.list_offsets(definitions, self.decoded.repetitions, least, least_element, depth, made.view(np.uint8))
        return made[: count + 1]


@dataclass(frozen=True, slots=True)
class PageRun:
    """Some pages of a row group, one behind the other."""

    group: int
    pages: Pages
    chosen: range

    @property
    def first_row(self) -> int:
        return self.pages.first_rows[self.chosen[0]]

    @property
    def rows(self) -> int:
        return self.pages.end(self.chosen[-1]) - self.first_row


class PageDecoder:
    """Columns of a file that are read some pages at a time, by any number of threads."""

    def __init__(self, root: Place, schema: pa.Schema, texts: Collection[int]) -> None:
        """`schema` has the columns as they are stored; the leaf columns `texts` stay in their dictionaries."""
        self.schema = schema
        self.columns: list[list[_Node]] = []
        self.is_known = True
        """Whether columns can be read here, as far as one knows."""
        top = {column.element.name: column for column in root.children}
        try:
            for about in schema:
                if about.name not in top:
                    raise NotKnownError
                self.columns.append(_nodes(top[about.name], about.type, texts))
        except NotKnownError:
            self.is_known = False
        self.lock = threading.Lock()
        self.dictionaries: OrderedDict[int, dict[int, Dictionary]] = OrderedDict()

    def runs(self, source: pa.NativeFile, index: PageIndex, group: int, leaves: Sequence[int], most_rows: int) -> list[PageRun] | None:
        """The pages of some leaf columns of a row group, as many in a row as have at most so many rows; None if others must read them."""
        if not self.is_known or not leaves:
            return None
        pages = index.common_pages(source, group, leaves)
        if pages is None or not all(place.is_whole for place in pages.leaves.values()):
            return None
        if len({place.codec for place in pages.leaves.values()}) > 1 or pages.leaves[leaves[0]].codec not in CODECS.values():
            return None
        runs = [PageRun(group, pages, chosen) for chosen in pages.runs(most_rows)]
        return runs if all(run.rows <= most_rows for run in runs) else None

    def read(self, source: pa.NativeFile, run: PageRun) -> pa.RecordBatch | None:
        """The rows of some pages, of the leaf columns that these are of; None if others must read them, and all that follow."""
        try:
            arrays = self._arrays(source, run)
        except (NotKnownError, pa.ArrowException, OSError):
            # Who reads it as others are read will hear what is wrong with it. What one page is like, the others are.
            self.is_known = False
            return None
        fields = [pa.field(about.name, array.type, about.nullable) for about, array in zip(self.schema, arrays, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def _arrays(self, source: pa.NativeFile, run: PageRun) -> list[pa.Array]:
        places = run.pages.leaves
        wanted = [node for nodes in self.columns for node in nodes if isinstance(node, _Leaf) and node.number in places]
        codec = places[wanted[0].number].codec
        assert codec is not None
        known = self._known_dictionaries(run.group)
        raw: list[tuple[bytes, ListedPages]] = []
        for leaf in wanted:
            octets = _octets(source, places[leaf.number], run.chosen, with_dictionary=leaf.number not in known)
            listed = list_pages(octets, codec)
            if listed is None:
                raise NotKnownError
            raw.append((octets, listed))
        if sum(listed.raw_size for _, listed in raw) > _MOST_BYTES:
            raise NotKnownError
        bodies = decompressed(raw, codec, unpacking.SPARE)
        leaves: dict[int, _Column] = {}
        at = 0
        for leaf, (_, listed) in zip(wanted, raw, strict=True):
            leaves[leaf.number] = _read_leaf(leaf, bodies, at, listed, known, run.rows)
            at += listed.raw_size
        return [_assembled(nodes, leaves) for nodes in self.columns]

    def _known_dictionaries(self, group: int) -> dict[int, Dictionary]:
        """The dictionaries of a row group that have been read, by leaf column; those that are read next come there too."""
        with self.lock:
            while group not in self.dictionaries and len(self.dictionaries) >= _KEPT_GROUPS:
                self.dictionaries.popitem(last=False)
            return self.dictionaries.setdefault(group, {})


def _octets(source: pa.NativeFile, place: LeafPages, chosen: range, *, with_dictionary: bool) -> bytes:
    """The bytes of some pages that lie one behind the other."""
    start, end = place.offsets[chosen[0]], place.offsets[chosen[-1]] + place.sizes[chosen[-1]]
    if place.dictionary is None or not with_dictionary:
        return bytes(source.read_at(end - start, start))
    if chosen[0] == 0:
        return bytes(source.read_at(end - place.dictionary, place.dictionary))
    return bytes(source.read_at(place.offsets[0] - place.dictionary, place.dictionary) + source.read_at(end - start, start))


def _read_leaf(leaf: _Leaf, bodies: Bytes, at: int, listed: ListedPages, dictionaries: dict[int, Dictionary], rows: int) -> _Column:
    """A leaf column out of the pages whose bodies begin at `at`; `dictionaries` gets its own if there is one among them."""
    table = listed.table
    sizes = table[:, pages_kernel.PAGE_RAW_SIZE]
    parts = np.empty((len(table), kernel.PART_SLOTS), np.int64)
    np.cumsum(sizes, out=parts[:, kernel.PART_END])
    parts[:, kernel.PART_END] += at
    parts[:, kernel.PART_START] = parts[:, kernel.PART_END] - sizes
    parts[:, kernel.PART_ENTRIES] = table[:, pages_kernel.PAGE_VALUES]
    encodings = table[:, pages_kernel.PAGE_ENCODING].tolist()
    if table[0, pages_kernel.PAGE_KIND] != pages_kernel.DATA_PAGE:
        start, end, count, _ = parts[0].tolist()
        dictionaries[leaf.number] = read_dictionary(leaf.type, bodies, start, end, count, encodings[0])
        table, parts, encodings = table[1:], parts[1:], encodings[1:]
    is_repeated = leaf.type.repetition > 0
    # What a page says of itself need not be true, and memory is taken for it.
    if listed.rows != rows and (not is_repeated or listed.rows > _MOST_ENTRIES):
        raise NotKnownError
    if is_repeated and (table[:, pages_kernel.PAGE_REPETITIONS] != RLE).any():
        raise NotKnownError
    decoded = decode_leaf(leaf.type, bodies, parts.ravel(), encodings, dictionaries.get(leaf.number))
    if is_repeated and (np.count_nonzero(decoded.repetitions == 0) != rows or (rows and decoded.repetitions[0])):
        raise NotKnownError
    return _Column(leaf, decoded)


def _assembled(nodes: Sequence[_Node], leaves: Mapping[int, _Column]) -> pa.Array:
    """A column out of its leaf columns; what has none of them is left out."""
    made: dict[int, pa.Array] = {}
    # Some leaf column of each node.
    some: dict[int, _Column] = {}
    for number, node in enumerate(nodes):
        if isinstance(node, _Leaf):
            if node.number in leaves:
                some[number] = leaves[node.number]
                made[number] = some[number].decoded.values
            continue
        there = [child for child in node.children if child in made]
        if not there:
            continue
        # One in few lists has few levels to look at.
        column = some[number] = min((some[child] for child in there), key=lambda one: one.leaf.type.repetition)
        definitions = column.at(node.place.repetition)
        validity, nulls = None, 0
        if node.place.element.repetition == "OPTIONAL":
            is_there = definitions >= node.place.definition
            nulls = len(is_there) - int(np.count_nonzero(is_there))
            validity = pa.py_buffer(np.packbits(is_there, bitorder="little")) if nulls else None
        fields = [
            pa.field(field.name, made[child].type, field.nullable)
            for field, child in zip(node.fields, node.children, strict=True)
            if child in made
        ]
        arrays = [made[child] for child in there]
        if node.is_list:
            buffers = [validity, pa.py_buffer(column.offsets(node.place.repetition))]
            made[number] = pa.ListArray.from_buffers(pa.list_(fields[0]), len(definitions), buffers, nulls, children=arrays)
        else:
            made[number] = pa.StructArray.from_buffers(pa.struct(fields), len(definitions), [validity], nulls, children=arrays)
    if len(nodes) - 1 not in made:
        raise NotKnownError
    return made[len(nodes) - 1]
