"""ShreddingSchema: which paths of a Variant column become columns of their own.

    a bigint, b struct<c: string, d: array<int>>, e variant

A schema is a tree of four kinds of nodes: objects, arrays, primitive types, and places without a typed_value ("value
only", `variant` in text). It is made from text, JSON, Python, an Arrow type or a Parquet file, and printed back as each of
them. What it does not name is kept all the same, in the `value` columns.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal, TypeAlias

import pyarrow as pa

from varquet.errors import SchemaError, UnsupportedTypeError
from varquet.paths import Path
from varquet.schema.arrow_form import ArrowLeaves, arrow_type, physical_type, read_arrow, read_physical
from varquet.schema.ddl import read_ddl, read_primitive, write_ddl
from varquet.schema.draft_form import draft_type, read_draft
from varquet.schema.json_form import read_json, read_python, to_python, write_json
from varquet.schema.leaf_types import canonical_type
from varquet.schema.merge import OnConflict, find, merge, select, without
from varquet.schema.parquet_form import read_parquet
from varquet.schema.walk import ELEMENT, Event, Kind, Step, check_name, display_path, fold, steps_of, walk

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    ParquetSource: TypeAlias = "str | os.PathLike[str] | BinaryIO | pa.NativeFile | pq.ParquetFile"

__all__ = ["ELEMENT", "Kind", "ShreddingSchema", "display_path"]

_MOST_OF_REPR: Final = 80


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ShreddingSchema:
    """One node of a shredding schema with all below it; the root stands for the column.

    >>> schema = ShreddingSchema.parse("event_type STRING, tags ARRAY<STRING>")
    >>> schema
    ShreddingSchema('event_type string, tags array<string>')
    >>> schema.get("$.tags[*]")
    ShreddingSchema('string')
    """

    kind: Kind
    type: pa.DataType | None = None
    """The type of a primitive in its canonical Arrow form; a uuid is fixed_size_binary[16]."""
    fields: tuple[tuple[str, ShreddingSchema], ...] = ()
    """The fields of an object, by the unsigned UTF-8 bytes of their names, as the metadata of a Variant orders them."""
    element: ShreddingSchema | None = None
    depth: int = field(init=False)
    """How many objects and arrays lie within each other at most; 0 for a primitive and for value only."""
    columns: int = field(init=False)
    """How many leaf columns of a Parquet file a column of this schema has, its metadata among them."""
    _hash: int = field(init=False)

    def __post_init__(self) -> None:
        given = (self.type is not None, bool(self.fields), self.element is not None)
        allowed = {Kind.VALUE: (0, 0, 0), Kind.PRIMITIVE: (1, 0, 0), Kind.OBJECT: (0, bool(self.fields), 0), Kind.ARRAY: (0, 0, 1)}
        if self.kind not in allowed or given != allowed[self.kind]:
            raise SchemaError(
                f"expected what belongs to a node of its kind, got {self.kind!r} with {self._parts()}",
                hint="make nodes by ShreddingSchema.value, .primitive, .object and .array",
            )
        if self.kind is Kind.PRIMITIVE:
            object.__setattr__(self, "type", canonical_type(self.type))
        object.__setattr__(self, "fields", _in_order(self.fields))
        below = [child for _, child in self.fields] if self.element is None else [_node(self.element)]
        nested = self.kind in (Kind.OBJECT, Kind.ARRAY)
        object.__setattr__(self, "depth", max((child.depth for child in below), default=0) + nested)
        object.__setattr__(self, "columns", 2 + (self.kind is Kind.PRIMITIVE) + sum(child.columns - 1 for child in below))
        object.__setattr__(self, "_hash", hash((self.kind.value, self.type, *(name for name, _ in self.fields), *map(hash, below))))

    def _parts(self) -> str:
        parts = (("a type", self.type), ("fields", self.fields), ("an element", self.element))
        return " and ".join(name for name, part in parts if part not in (None, ())) or "nothing"

    @classmethod
    def value(cls) -> ShreddingSchema:
        """A place without a typed_value: the field has a `value` column of its own, whatever its type."""
        return cls(Kind.VALUE)

    @classmethod
    def primitive(cls, type: pa.DataType | str) -> ShreddingSchema:
        """A place with a typed_value of a primitive type, which is given as an Arrow type or by its SQL name."""
        if not isinstance(type, (str, pa.DataType)):
            raise UnsupportedTypeError(f"expected an Arrow type or the SQL name of one, got {type!r}")
        return cls(Kind.PRIMITIVE, read_primitive(type) if isinstance(type, str) else type)

    @classmethod
    def object(cls, fields: Mapping[str, ShreddingSchema] | Iterable[tuple[str, ShreddingSchema]]) -> ShreddingSchema:
        """An object of which these fields are shredded; their order does not matter."""
        return cls(Kind.OBJECT, fields=tuple(fields.items() if isinstance(fields, Mapping) else fields))

    @classmethod
    def array(cls, element: ShreddingSchema) -> ShreddingSchema:
        """An array of which all elements are shredded alike."""
        return cls(Kind.ARRAY, element=element)

    @classmethod
    def parse(cls, text: str) -> ShreddingSchema:
        """Read a schema from its text: a list of fields or one type in the manner of Spark's DDL, or JSON.

        >>> ShreddingSchema.parse("a BIGINT, b STRUCT<c: STRING, d: ARRAY<INT>>, e VARIANT").columns
        11
        """
        if _text(text).lstrip()[:1] in ("{", "[", '"'):
            return cls.from_json(text)
        return _from(read_ddl(text))

    @classmethod
    def from_json(cls, text: str) -> ShreddingSchema:
        """Read a schema from JSON, as `to_json` writes it."""
        return _from(read_json(_text(text)))

    @classmethod
    def from_python(cls, source: Any) -> ShreddingSchema:
        """Read a schema from dicts (objects), lists of one (arrays), type names or Arrow types, and None (value only).

        >>> ShreddingSchema.from_python({"id": "bigint", "tags": [pa.string()], "rest": None})
        ShreddingSchema('id bigint, rest variant, tags array<string>')
        """
        return _from(read_python(source))

    @classmethod
    def from_arrow(cls, type: pa.DataType) -> ShreddingSchema:
        """Read a schema from the Arrow type of the values: structs are objects, lists arrays, null is value only."""
        return _from(read_arrow(_arrow(type)))

    @classmethod
    def from_physical(cls, type: pa.DataType, *, metadata: bool = True) -> ShreddingSchema:
        """Read a schema from the Arrow type of a shredded column, or without metadata from that of a shredded field."""
        return _from(read_physical(_arrow(type), metadata=metadata, leaves=ArrowLeaves()))

    @classmethod
    def from_draft(cls, type: pa.DataType) -> ShreddingSchema:
        """Read a schema from the Arrow type of a column in the layout of the first Spark draft."""
        return _from(read_draft(_arrow(type)))

    @classmethod
    def from_parquet(cls, source: ParquetSource, column: str | Sequence[Step]) -> ShreddingSchema:
        """Read the schema of a Variant column of a Parquet file; one inside structs and lists is reached by names and ELEMENT."""
        return _from(read_parquet(source, column))

    def ddl(self) -> str:
        """The canonical text, from which `parse` makes an equal schema."""
        return "".join(write_ddl(walk(self)))

    def to_json(self) -> str:
        """The schema as JSON without blanks.

        >>> ShreddingSchema.parse("a bigint, b array<variant>").to_json()
        '{"type":"object","fields":{"a":"bigint","b":{"type":"array","element":"variant"}}}'
        """
        return "".join(write_json(walk(self)))

    def to_python(self) -> Any:
        """The schema as `from_python` takes it: type names, dicts and lists of one."""
        return to_python(walk(self))

    def arrow(self) -> pa.DataType:
        """The Arrow type of the values, as `from_arrow` takes it."""
        return arrow_type(walk(self))

    def physical(self, *, metadata: bool = True) -> pa.DataType:
        """The Arrow type of a column shredded by this schema, or without metadata that of a field.

        >>> print(ShreddingSchema.parse("bigint").physical())
        struct<metadata: binary not null, value: binary, typed_value: int64>
        """
        return physical_type(walk(self), metadata=metadata)

    def draft(self) -> pa.DataType:
        """The Arrow type of a column shredded by this schema in the layout of the first Spark draft.

        >>> print(ShreddingSchema.parse("array<bigint>").draft())
        struct<untyped_value: binary, array: list<element: struct<untyped_value: binary, typed_value: int64>>>
        """
        return draft_type(walk(self))

    def writable(self) -> ShreddingSchema:
        """The schema as a Parquet file can have it: an object without fields, which would be an empty group, is value only.

        >>> ShreddingSchema.parse("a struct<>, b int").writable()
        ShreddingSchema('a variant, b int')
        """
        return fold(
            walk(self),
            value=ShreddingSchema.value,
            primitive=ShreddingSchema.primitive,
            object=lambda fields: ShreddingSchema.object(fields) if fields else ShreddingSchema.value(),
            array=ShreddingSchema.array,
        )

    def merge(self, other: ShreddingSchema, *, on_conflict: OnConflict = "error") -> ShreddingSchema:
        """The union of the paths of both.

        A path that is value only in one takes the type of the other. Exact numerics are widened so that nothing is lost.
        Other differences are an error, or the path is value only in the result.

        >>> one, other = ShreddingSchema.parse("a int, b string"), ShreddingSchema.parse("a decimal(4,2), c date")
        >>> one.merge(other)
        ShreddingSchema('a decimal(12,2), b string, c date')
        """
        if on_conflict not in ("error", "value"):
            raise UnsupportedTypeError(f'expected "error" or "value" as on_conflict, got {on_conflict!r}')
        return _from(merge(self, _node(other), on_conflict=on_conflict))

    def select(
        self, paths: Iterable[Path | str | Sequence[Step | int]], *, missing: Literal["error", "ignore"] = "error"
    ) -> ShreddingSchema:
        """Only these paths, each with all below it, and what is on the way to them; of no path, value only.

        >>> ShreddingSchema.parse("a struct<b: int, c: int>, d array<struct<e: int, f: int>>").select(["$.a.b", "$.d[*].e"])
        ShreddingSchema('a struct<b: int>, d array<struct<e: int>>')
        """
        return _from(select(self, _all_steps(paths), missing=_missing(missing)))

    def without(
        self, paths: Iterable[Path | str | Sequence[Step | int]], *, missing: Literal["error", "ignore"] = "error"
    ) -> ShreddingSchema:
        """All but these paths; the elements of an array and the root, which cannot go, become value only."""
        return _from(without(self, _all_steps(paths), missing=_missing(missing)))

    def get(self, path: Path | str | Sequence[Step | int]) -> ShreddingSchema | None:
        """The schema of a path, or None if it has none; `[*]` and every index lead to the elements of an array."""
        steps = steps_of(path)
        found, count = find(self, steps)
        return found if count == len(steps) and isinstance(found, ShreddingSchema) else None

    def leaves(self) -> Iterator[tuple[tuple[Step, ...], ShreddingSchema]]:
        """Every node with nothing below it, and the steps that lead to it; `display_path` makes text of them."""
        return ((steps, node) for steps, node in self.nodes() if node.element is None and not node.fields)

    def nodes(self) -> Iterator[tuple[tuple[Step, ...], ShreddingSchema]]:
        """Every node, those above others first, and the steps that lead to it."""
        pending: list[tuple[tuple[Step, ...], ShreddingSchema]] = [((), self)]
        while pending:
            steps, node = pending.pop()
            yield steps, node
            if node.element is not None:
                pending.append(((*steps, ELEMENT), node.element))
            pending += [((*steps, name), child) for name, child in reversed(node.fields)]

    def __eq__(self, other: builtins.object) -> bool:
        if not isinstance(other, ShreddingSchema):
            return NotImplemented
        pairs = [(self, other)]
        while pairs:
            one, two = pairs.pop()
            if one is two:
                continue
            if one._hash != two._hash or one.kind is not two.kind or one.type != two.type or len(one.fields) != len(two.fields):
                return False
            for (name, child), (name_too, child_too) in zip(one.fields, two.fields, strict=True):
                if name != name_too:
                    return False
                pairs.append((child, child_too))
            if one.element is not None and two.element is not None:
                pairs.append((one.element, two.element))
        return True

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return self.ddl()

    def __repr__(self) -> str:
        text = ""
        for piece in write_ddl(walk(self)):
            text += piece
            if len(text) > _MOST_OF_REPR:
                text = text[:_MOST_OF_REPR] + "…"
                break
        return f"ShreddingSchema({text!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # As text, because pickle recurses into objects, and because the hashes of this process mean nothing in another.
        return ShreddingSchema.parse, (self.ddl(),)

    def __copy__(self) -> ShreddingSchema:
        return self

    def __deepcopy__(self, memo: Any) -> ShreddingSchema:
        return self


def _from(events: Iterable[Event]) -> ShreddingSchema:
    make = ShreddingSchema
    return fold(events, value=make.value, primitive=make.primitive, object=make.object, array=make.array)


def _node(node: object) -> ShreddingSchema:
    if not isinstance(node, ShreddingSchema):
        raise UnsupportedTypeError(
            f"expected a ShreddingSchema, got {type(node).__name__}", hint="ShreddingSchema.from_python takes dicts and names"
        )
    return node


def _text(text: str) -> str:
    if not isinstance(text, str):
        raise UnsupportedTypeError(
            f"expected the text of a schema, got {type(text).__name__}", hint="ShreddingSchema.from_python takes dicts"
        )
    return text


def _arrow(arrow: pa.DataType) -> pa.DataType:
    if not isinstance(arrow, pa.DataType):
        raise UnsupportedTypeError(f"expected an Arrow type, got {type(arrow).__name__}")
    return arrow


def _in_order(fields: Iterable[tuple[str, ShreddingSchema]]) -> tuple[tuple[str, ShreddingSchema], ...]:
    ordered = sorted(((check_name(name), _node(child)) for name, child in fields), key=lambda pair: pair[0].encode())
    for (name, _), (following, _) in pairwise(ordered):
        if name == following:
            raise SchemaError(f"expected field names that differ, got {name!r} twice")
    return tuple(ordered)


def _all_steps(paths: Iterable[Path | str | Sequence[Step | int]]) -> list[tuple[Step, ...]]:
    if isinstance(paths, (str, Path)):
        raise UnsupportedTypeError(f"expected several paths, got one: {paths!s}", hint="put it into a list")
    return [steps_of(path) for path in paths]


def _missing(missing: str) -> Literal["error", "ignore"]:
    if missing == "error" or missing == "ignore":
        return missing  # type: ignore[return-value]
    raise UnsupportedTypeError(f'expected "error" or "ignore" as missing, got {missing!r}')
