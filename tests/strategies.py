"""Hypothesis strategies for Variant values: every type, the edges where implementations go wrong, and odd but legal bytes.

keys()            field names, among them those that trip up writers
scalars()         a Scalar of any type, with payloads at the edges of its range
nodes()           trees of them, narrow, wide and with values at the edges of the offset widths
json_texts()      valid JSON texts in any dress
map_rows()        rows of MAP<STRING, STRING>: null, empty, with absent keys, null values, odd keys
map_types()       types that values of maps have, each with a strategy for them
hot_keys()        keys of a map that become columns, present in the rows or not
encodings(node)   (metadata, value) bytes that mean the node but are not what varquet would write
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from varquet.types import BY_NAME, PRIMITIVES, Family, PrimitiveType
from varquet.variant.encode import encode_scalar
from varquet.variant.model import Node, Scalar

__all__ = [
    "EDGE_KEYS",
    "encodings",
    "hot_keys",
    "json_documents",
    "json_texts",
    "keys",
    "map_rows",
    "map_types",
    "nodes",
    "physical",
    "scalars",
    "scalars_of",
]

EDGE_KEYS = (
    "",
    ".",
    "a.b",
    "value",
    "typed_value",
    "metadata",
    "list",
    "element",
    "_x",
    "A",
    "a",
    "\ue000",
    "\uff5e",
    "\U00010000",
    "\U0001f600",
    "\0",
)
"""Names that are empty, look like paths or columns, differ in case, or sort differently in UTF-16 than in UTF-8."""

_CHARACTERS = st.characters(exclude_categories=["Cs"])
_EDGE_STRINGS = (
    "",
    "x" * 63,
    "x" * 64,
    "é" * 31 + "x",  # 63 bytes
    "é" * 32,  # 64 bytes
    '"\\/\b\f\n\r\t\x00\x1f\x7f',
    "\u2028\ufeff\U0001f600",
)
_OFFSET_EDGES = (65_530, 65_535, 65_536)

_INT64 = (-(1 << 63), -(1 << 63) + 1, -(10**9), -1000, -1, 0, 1, 999, 1000, (1 << 63) - 2, (1 << 63) - 1)


def keys() -> st.SearchStrategy[str]:
    """Field names."""
    return st.sampled_from(EDGE_KEYS) | st.text(_CHARACTERS, max_size=6) | st.sampled_from(("k" * 63, "k" * 64, "k" * 300))


_MAP_KEYS = (*EDGE_KEYS, "a,b", ",", " a", "[a", "content-type", "user-agent")


def map_rows(values: st.SearchStrategy[Any] | None = None, *, max_size: int = 8) -> st.SearchStrategy[list[dict[str, Any] | None]]:
    """Rows of maps, whose values are texts by default."""
    texts = st.text(_CHARACTERS, max_size=4) | st.sampled_from(("12", "012", "true", "2026-01-02", "1.5", "2026-01-02T03:04:05Z"))
    row = st.dictionaries(st.sampled_from(_MAP_KEYS) | keys(), st.none() | (texts if values is None else values), max_size=6)
    return st.lists(st.none() | row, max_size=max_size)


def map_types() -> st.SearchStrategy[tuple[pa.DataType, st.SearchStrategy[Any]]]:
    """Types of values of maps, and values of them."""
    numbers = st.integers(-(1 << 31), (1 << 31) - 1)
    return st.sampled_from(
        (
            (pa.string(), st.text(_CHARACTERS, max_size=4)),
            (pa.large_string(), st.text(_CHARACTERS, max_size=4)),
            (pa.int32(), numbers),
            (pa.float64(), st.floats(allow_nan=False)),
            (pa.bool_(), st.booleans()),
            (pa.binary(), st.binary(max_size=4)),
            (pa.list_(pa.int32()), st.lists(numbers, max_size=3)),
            (pa.struct({"x": pa.int32(), "y": pa.string()}), st.fixed_dictionaries({"x": numbers, "y": st.none() | st.just("y")})),
            (pa.map_(pa.string(), pa.int32()), st.lists(st.tuples(keys(), numbers), max_size=2, unique_by=lambda pair: pair[0])),
        )
    )


def hot_keys() -> st.SearchStrategy[list[str]]:
    """Names of hot keys, without order or with any."""
    return st.lists(st.sampled_from(_MAP_KEYS) | keys(), max_size=5, unique=True)


def scalars() -> st.SearchStrategy[Scalar]:
    """A scalar of any type."""
    return st.one_of([scalars_of(kind) for kind in PRIMITIVES])


def scalars_of(kind: PrimitiveType) -> st.SearchStrategy[Scalar]:
    """A scalar of this type."""
    if kind.family is Family.EXACT and not kind.name.startswith("int"):
        return _decimals(kind)
    return _payloads(kind).map(lambda payload: Scalar(kind, payload))


def nodes(*, leaves: st.SearchStrategy[Scalar] | None = None, max_leaves: int = 12, wide: bool = True) -> st.SearchStrategy[Node]:
    """A tree; with `wide` also objects and arrays at the edges of the count, id and offset widths."""
    leaf = scalars() if leaves is None else leaves
    tree: st.SearchStrategy[Node] = st.recursive(
        leaf, lambda child: st.lists(child, max_size=5) | st.dictionaries(keys(), child, max_size=5), max_leaves=max_leaves
    )
    return st.one_of(tree, tree, tree, _wide_nodes(leaf)) if wide else tree


def _wide_nodes(leaf: st.SearchStrategy[Scalar]) -> st.SearchStrategy[Node]:
    arrays: st.SearchStrategy[Node] = st.tuples(st.sampled_from((255, 256, 257)), leaf).map(lambda made: [made[1]] * made[0])
    objects = st.tuples(st.sampled_from((31, 32, 33, 255, 256, 257)), leaf, leaf).map(_wide_object)
    large = st.tuples(st.sampled_from(_OFFSET_EDGES), leaf).map(_large_values)
    return arrays | objects | large


def _wide_object(made: tuple[int, Scalar, Scalar]) -> Node:
    count, first, second = made
    # Names that cross the UTF-16 surrogates, inserted in an order that is not theirs.
    names = [chr(0xFFF0 + 7 * i % count) + str(i) for i in range(count)]
    return {name: (first if i % 2 else second) for i, name in enumerate(names)}


def _large_values(made: tuple[int, Scalar]) -> Node:
    size, leaf = made
    text = Scalar(BY_NAME["string"], "x" * (size - 5))  # 5 bytes of header: the value takes `size` bytes
    return {"b": [text, leaf], "a": text, "c": leaf}


def _decimals(kind: PrimitiveType) -> st.SearchStrategy[Scalar]:
    most = {"decimal4": 9, "decimal8": 18, "decimal16": 38}[kind.name]
    edges = [10**d for d in (0, 8, 9, 17, 18, 37) if d < most] + [10**d - 1 for d in (1, 9, 10, 18, 19, 38) if d <= most]
    unscaled = st.sampled_from([0, *edges, *(-edge for edge in edges)]) | st.integers(-(10**most) + 1, 10**most - 1)
    scale = st.sampled_from((0, 1, most)) | st.integers(0, most)
    return st.builds(lambda number, places: Scalar(kind, Decimal(f"{number}E-{places}")), unscaled, scale)


def _payloads(kind: PrimitiveType) -> st.SearchStrategy[Any]:
    match kind.family:
        case Family.NULL:
            return st.none()
        case Family.BOOLEAN:
            return st.just(kind.name == "true")
        case Family.DOUBLE:
            return st.floats() | st.sampled_from((5e-324, 1.7976931348623157e308, 2.0**53, 0.1, 1e16, 1e22, 123456789.0))
        case Family.FLOAT:
            return st.floats(width=32)
        case Family.TIME:
            return st.sampled_from((0, 86_399_999_999)) | st.integers(0, 86_399_999_999)
        case Family.BINARY:
            return st.binary(max_size=20) | st.sampled_from((b"", b"\0" * 63, b"\xff" * 64))
        case Family.STRING:
            return st.text(_CHARACTERS, max_size=20) | st.sampled_from(_EDGE_STRINGS)
        case Family.UUID:
            return st.uuids()
    limit = 1 << (8 * kind.width - 1)
    edges = [*(n for n in _INT64 if -limit <= n < limit), -limit, limit - 1]
    # The edges of every narrower width as well: a narrow number in a wide type.
    edges += [n for bits in (7, 15, 31) for n in (-(1 << bits) - 1, -(1 << bits), (1 << bits) - 1, 1 << bits) if -limit <= n < limit]
    return st.sampled_from(edges) | st.integers(-limit, limit - 1)


# JSON texts


def json_texts() -> st.SearchStrategy[str]:
    """A valid JSON text: any blanks, any escapes, numbers in all forms, distinct names."""
    return json_documents().map(lambda document: document[0])


@st.composite
def json_documents(draw: st.DrawFn) -> tuple[str, object]:
    """A valid JSON text and what it means: numbers stay the text they are written as, in a one-element tuple."""
    value = draw(
        st.recursive(
            st.none()
            | st.booleans()
            | _number_texts().map(lambda text: (text,))
            | st.text(_CHARACTERS, max_size=12)
            | st.sampled_from(_EDGE_STRINGS),
            lambda child: st.lists(child, max_size=4) | st.dictionaries(keys(), child, max_size=4),
            max_leaves=10,
        )
    )
    dress = random.Random(draw(st.integers(0, 1 << 32)))
    return _dressed(value, dress), value


def _number_texts() -> st.SearchStrategy[str]:
    edges = [str(n) for bits in (7, 15, 31, 63) for n in (-(1 << bits) - 1, -(1 << bits), (1 << bits) - 1, 1 << bits)]
    edges += ["0", "-0", "9" * 38, "1" + "0" * 38, "9" * 39, "-" + "9" * 38, "1" + "0" * 300]
    decimals = ["0.0", "-0.0", "-0.000", "1.10", "0.1", "100.00", "9" * 9 + ".0", "9" * 8 + ".9", "9" * 17 + ".9", "9" * 18 + ".9"]
    decimals += ["0." + "0" * 37 + "1", "0." + "0" * 38 + "1", "0." + "1" * 38, "1." + "1" * 37, "1." + "1" * 38, "0." + "0" * 8 + "12"]
    doubles = [
        "1e0",
        "1E+5",
        "-1e-5",
        "0e9",
        "-0e0",
        "1e308",
        "1.7976931348623157e308",
        "5e-324",
        "1e-400",
        "-1e-400",
        "2.2250738585072011e-308",
    ]
    digits = st.text("0123456789", min_size=1, max_size=40)
    whole = st.just("0") | st.builds(lambda first, rest: first + rest, st.sampled_from("123456789"), st.text("0123456789", max_size=40))
    return st.sampled_from(edges + decimals + doubles) | st.builds(
        lambda sign, number, fraction, exponent: sign + number + fraction + exponent,
        st.sampled_from(("", "-")),
        whole,
        st.just("") | digits.map(lambda text: "." + text),
        st.just("") | st.integers(-400, 200).map(lambda e: f"e{e}") | st.integers(0, 200).map(lambda e: f"E+{e}"),
    )


def _dressed(value: object, dress: random.Random) -> str:
    def blank() -> str:
        return "".join(dress.choices(" \t\n\r", k=dress.choice((0, 0, 0, 1, 3))))

    if value is None or isinstance(value, bool):
        text = json.dumps(value)
    elif isinstance(value, tuple):
        text = value[0]
    elif isinstance(value, str):
        text = _dressed_string(value, dress)
    elif isinstance(value, list):
        text = "[" + ",".join(_dressed(child, dress) for child in value) + (blank() if not value else "") + "]"
    else:
        assert isinstance(value, dict)
        fields = (f"{blank()}{_dressed_string(name, dress)}{blank()}:{_dressed(child, dress)}" for name, child in value.items())
        text = "{" + ",".join(fields) + (blank() if not value else "") + "}"
    return blank() + text + blank()


def _dressed_string(text: str, dress: random.Random) -> str:
    if dress.random() < 0.5:
        return json.dumps(text, ensure_ascii=dress.random() < 0.5)
    short = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    written = []
    for character in text:
        units = character.encode("utf-16-be")
        escaped = "".join(f"\\u{units[i]:02x}{units[i + 1]:02X}" for i in range(0, len(units), 2))
        plain = [character] if character not in short and character >= " " else [short[character]] if character in short else []
        written.append(dress.choice([escaped, *plain]))
    return f'"{"".join(written)}"'


# Odd but legal bytes


@dataclass(frozen=True)
class _Oddities:
    """Which of the freedoms of the encoding are taken."""

    odd_dictionary: bool
    wide: bool
    large: bool
    shuffled: bool
    shared: bool
    reserved_bits: bool
    long_strings: bool


@st.composite
def encodings(draw: st.DrawFn, node: Node) -> tuple[bytes, bytes]:
    """Metadata and value that mean this node, with any freedom that the specification gives a writer.

    Dictionaries unsorted, with duplicates and unused names; sizes wider than needed; is_large for few; values in any
    order; equal values stored once (as far as the expansion limit goes); reserved bits set; long form of short strings.
    """
    oddities = _Oddities(*(draw(st.booleans()) for _ in range(7)))
    seed = draw(st.integers(0, 1 << 32))
    writer = _OddWriter(node, oddities, random.Random(seed))
    value, visited = writer.value(node)
    if visited > 16 * len(value):
        # Shared so often that readers refuse it.
        writer = _OddWriter(node, _Oddities(**{**vars(oddities), "shared": False}), random.Random(seed))
        value, _ = writer.value(node)
    return writer.metadata, value


class _OddWriter:
    def __init__(self, node: Node, oddities: _Oddities, choice: random.Random) -> None:
        self.odd = oddities
        self.random = choice
        names = sorted(_names(node))
        is_sorted = True
        if oddities.odd_dictionary:
            names += [name for name in names if choice.random() < 0.3]
            names += choice.sample(EDGE_KEYS, 3)
            choice.shuffle(names)
            is_sorted = sorted(set(names)) == names
        self.ids: dict[str, list[int]] = {}
        for field_id, name in enumerate(names):
            self.ids.setdefault(name, []).append(field_id)
        self.metadata = self._metadata([name.encode() for name in names], is_sorted=is_sorted)

    def _metadata(self, names: list[bytes], *, is_sorted: bool) -> bytes:
        total = sum(map(len, names))
        width = self.width(max(total, len(names)))
        claims_sorted = is_sorted and self.random.random() < 0.5
        reserved = self.odd.reserved_bits and self.random.random() < 0.5
        data = bytes((1 | claims_sorted << 4 | reserved << 5 | (width - 1) << 6,)) + len(names).to_bytes(width, "little")
        at = 0
        for name in (*names, b""):
            data += at.to_bytes(width, "little")
            at += len(name)
        return data + b"".join(names)

    def width(self, largest: int) -> int:
        least = max(1, (largest.bit_length() + 7) // 8)
        return self.random.randint(least, 4) if self.odd.wide else least

    def value(self, node: Node) -> tuple[bytes, int]:
        """The bytes, and how many a reader visits who follows every offset."""
        if isinstance(node, Scalar):
            data = encode_scalar(node)
            if data[0] & 3 == 1 and self.odd.long_strings and self.random.random() < 0.5:
                data = bytes((16 << 2,)) + (len(data) - 1).to_bytes(4, "little") + data[1:]
            return data, len(data)
        children = list(node.values()) if isinstance(node, dict) else node
        written = [self.value(child) for child in children]
        starts, values = self.layout([data for data, _ in written])
        offset_size = self.width(len(values))
        is_large = len(node) > 255 or (self.odd.large and self.random.random() < 0.5)
        reserved = self.random.getrandbits(3) if self.odd.reserved_bits else 0
        head = len(node).to_bytes(4 if is_large else 1, "little")
        if isinstance(node, dict):
            fields = sorted(zip(node, starts, strict=True), key=lambda field: field[0].encode())
            ids = [self.random.choice(self.ids[name]) for name, _ in fields]
            starts = [start for _, start in fields]
            id_size = self.width(max(ids, default=0))
            header = 2 | ((reserved & 1) << 5 | is_large << 4 | (id_size - 1) << 2 | offset_size - 1) << 2
            head += b"".join(field_id.to_bytes(id_size, "little") for field_id in ids)
        else:
            header = 3 | (reserved << 3 | is_large << 2 | offset_size - 1) << 2
        head = bytes((header,)) + head + b"".join(start.to_bytes(offset_size, "little") for start in (*starts, len(values)))
        return head + values, len(head) + sum(visited for _, visited in written)

    def layout(self, children: list[bytes]) -> tuple[list[int], bytes]:
        """Where each child starts, and the bytes of all of them."""
        order = list(range(len(children)))
        if self.odd.shuffled:
            self.random.shuffle(order)
        starts = [0] * len(children)
        stored: dict[bytes, int] = {}
        values = bytearray()
        for index in order:
            child = children[index]
            if self.odd.shared and child in stored and self.random.random() < 0.9:
                starts[index] = stored[child]
                continue
            starts[index] = stored[child] = len(values)
            values += child
        return starts, bytes(values)


def _names(node: Node) -> set[str]:
    if isinstance(node, Scalar):
        return set()
    children = node.values() if isinstance(node, dict) else node
    return set(node if isinstance(node, dict) else ()).union(*map(_names, children))


def physical(node: Node) -> object:
    """A form in which two nodes are the same only if types and payloads are, NaN included; fields in name order."""
    if isinstance(node, Scalar):
        return node.type.name, repr(node.value)
    if isinstance(node, list):
        return [physical(child) for child in node]
    return {name: physical(node[name]) for name in sorted(node)}
