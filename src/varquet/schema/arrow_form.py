"""Shredding schemas as Arrow types: the logical one, which says what the values are, and the physical one of the column.

For `a bigint, b array<string>, c variant`:

    logical    struct<a: int64, b: list<element: string>, c: null>
    physical   struct<
                 metadata: binary not null,
                 value: binary,
                 typed_value: struct<
                   a: struct<value: binary, typed_value: int64> not null,
                   b: struct<value: binary, typed_value: list<element: struct<value: binary, typed_value: string> not null>> not null,
                   c: struct<value: binary> not null>>

Reading the physical one is as lenient as the specification wants readers to be: children are found by name, either of
`value` and `typed_value` may be absent, nullability does not matter, and fields beginning with `_` are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol

import pyarrow as pa

from varquet.errors import SchemaError
from varquet.schema.leaf_types import canonical_type, is_list, unencoded
from varquet.schema.walk import ARRAY, ELEMENT, END, OBJECT, VALUE, Event, Mark, Trail, check_name, fold, place

__all__ = ["ArrowLeaves", "Leaves", "arrow_type", "leaf_count", "physical_type", "read_arrow", "read_physical", "storage"]

_VARIANT_EXTENSIONS: Final = ("arrow.parquet.variant", "parquet.variant")
_BINARY: Final = (pa.binary(), pa.large_binary(), pa.binary_view())


def storage(arrow: pa.DataType) -> pa.DataType:
    """The type itself, behind encodings and Arrow's extension type for Variants."""
    arrow = unencoded(arrow)
    while isinstance(arrow, pa.BaseExtensionType) and arrow.extension_name in _VARIANT_EXTENSIONS:
        arrow = arrow.storage_type
    return arrow


def read_arrow(arrow: pa.DataType, at: Trail = None) -> Iterator[Event]:
    """The walk of a schema given as a logical Arrow type."""
    pending: list[Any] = [(arrow, at)]
    while pending:
        item = pending.pop()
        if isinstance(item[0], Mark):
            yield item
            continue
        arrow, at = unencoded(item[0]), item[1]
        if pa.types.is_null(arrow):
            yield VALUE
        elif pa.types.is_struct(arrow):
            yield OBJECT
            pending.append(END)
            for child in reversed(arrow.fields):
                pending += ((child.type, (at, check_name(child.name, at))), (Mark.FIELD, child.name))
        elif is_list(arrow):
            yield ARRAY
            pending += (END, (arrow.value_type, (at, ELEMENT)))
        else:
            yield Mark.PRIMITIVE, canonical_type(arrow, at)


def arrow_type(events: Iterable[Event]) -> pa.DataType:
    """The logical Arrow type of a schema."""
    return fold(
        events,
        value=pa.null,
        primitive=lambda arrow: arrow,
        object=pa.struct,
        array=lambda element: pa.list_(pa.field("element", element)),
    )


def physical_type(events: Iterable[Event], *, metadata: bool) -> pa.DataType:
    """The Arrow type of a shredded column, or without metadata that of a shredded field or element."""
    typed = fold(
        events,
        value=lambda: None,
        primitive=lambda arrow: pa.uuid() if pa.types.is_fixed_size_binary(arrow) else arrow,
        object=lambda fields: pa.struct([pa.field(name, _group(typed), nullable=False) for name, typed in fields]),
        array=lambda typed: pa.list_(pa.field("element", _group(typed), nullable=False)),
    )
    if not metadata:
        return _group(typed)
    # An unshredded Variant has no other place than value, which is required then (LogicalTypes.md).
    own = [pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary(), nullable=typed is not None)]
    return pa.struct(own if typed is None else [*own, pa.field("typed_value", typed)])


def _group(typed: pa.DataType | None) -> pa.DataType:
    value = pa.field("value", pa.binary())
    return pa.struct([value] if typed is None else [value, pa.field("typed_value", typed)])


class Leaves(Protocol):
    """What a physical schema says of its leaf columns, asked in the order in which they lie there."""

    def typed_value(self, arrow: pa.DataType, at: Trail) -> pa.DataType:
        """The canonical type of a typed_value column."""

    def binary(self, arrow: pa.DataType, name: str, at: Trail) -> None:
        """Refuse a metadata or value column that is not plain binary."""

    def skip(self, arrow: pa.DataType) -> None:
        """Pass over the columns of a field that is ignored."""


class ArrowLeaves:
    """Leaf columns of which the Arrow type is all there is to know."""

    def typed_value(self, arrow: pa.DataType, at: Trail) -> pa.DataType:
        return canonical_type(arrow, at)

    def binary(self, arrow: pa.DataType, name: str, at: Trail) -> None:
        if unencoded(arrow) not in _BINARY:
            raise not_binary(str(arrow), name, at)

    def skip(self, arrow: pa.DataType) -> None:
        pass


def not_binary(got: str, name: str, at: Trail) -> SchemaError:
    """The error for a metadata or value column of a wrong type."""
    return SchemaError(f"expected {name} to be binary, got {got}", path=place(at))


_GROUP: Final = "group"
_TYPED: Final = "typed_value"
_SKIP: Final = "skip"


def read_physical(arrow: pa.DataType, *, metadata: bool, leaves: Leaves) -> Iterator[Event]:
    """The walk of a schema given as the physical type of a column, or without metadata of a field."""
    pending: list[Any] = [(_GROUP, arrow, None)]
    while pending:
        item = pending.pop()
        if isinstance(item[0], Mark):
            yield item
            continue
        what, arrow, at = item
        if what is _GROUP:
            children = _children(arrow, at, metadata=metadata)
            metadata = False  # one metadata column, at the top level (W1)
            if all(name != "typed_value" for name, _ in children):
                yield VALUE
            for name, child in reversed(children):
                pending.append((name if name in ("metadata", "value", "typed_value") else _SKIP, child, at))
        elif what is _SKIP:
            leaves.skip(arrow)
        elif what != _TYPED:
            leaves.binary(arrow, what, at)
        elif pa.types.is_struct(storage(arrow)):
            yield OBJECT
            pending.append(END)
            for child in reversed(storage(arrow).fields):
                pending += ((_GROUP, child.type, (at, check_name(child.name, at))), (Mark.FIELD, child.name))
        elif is_list(unencoded(arrow)):
            yield ARRAY
            pending += (END, (_GROUP, unencoded(arrow).value_type, (at, ELEMENT)))
        else:
            yield Mark.PRIMITIVE, leaves.typed_value(arrow, at)


def _children(arrow: pa.DataType, at: Trail, *, metadata: bool) -> list[tuple[str, pa.DataType]]:
    wanted = ("metadata", "value", "typed_value") if metadata else ("value", "typed_value")
    plain = storage(arrow)
    if not pa.types.is_struct(plain):
        raise SchemaError(f"expected a group of {' and '.join((', '.join(wanted[:-1]), wanted[-1]))}, got {_cut(arrow)}", path=place(at))
    children = [(child.name, child.type) for child in plain.fields]
    names = [name for name, _ in children]
    for name in names:
        if name not in wanted and not name.startswith("_"):
            raise SchemaError(
                f"expected only {' and '.join((', '.join(wanted[:-1]), wanted[-1]))} in a group, got {name!r}",
                path=place(at),
                hint="the metadata column belongs to the top level only" if name == "metadata" else _hint_for_logical(plain),
            )
        if name in wanted and names.count(name) > 1:
            raise SchemaError(f"expected one {name} in a group, got {names.count(name)}", path=place(at))
    if metadata and "metadata" not in names:
        raise SchemaError(f"expected a metadata column, got {_cut(arrow)}", path=place(at), hint=_hint_for_logical(plain))
    if "value" not in names and "typed_value" not in names:
        raise SchemaError(f"expected at least one of value and typed_value, got {_cut(arrow)}", path=place(at))
    return children


def _hint_for_logical(arrow: pa.DataType) -> str | None:
    names = {child.name for child in arrow.fields}
    return None if names & {"value", "typed_value"} else "ShreddingSchema.from_arrow reads types that say what the values are"


def _cut(arrow: pa.DataType) -> str:
    text = str(arrow)
    return text if len(text) <= 80 else text[:80] + "…"


def leaf_count(arrow: pa.DataType) -> int:
    """How many leaf columns of a Parquet file a field of this type stands for."""
    count = 0
    pending = [arrow]
    while pending:
        arrow = unencoded(pending.pop())
        if isinstance(arrow, pa.BaseExtensionType):
            pending.append(arrow.storage_type)
        elif pa.types.is_struct(arrow):
            pending += [child.type for child in arrow.fields]
        elif pa.types.is_map(arrow):
            pending += (arrow.key_type, arrow.item_type)
        elif is_list(arrow):
            pending.append(arrow.value_type)
        else:
            count += 1
    return count
