"""Where the variant columns of a table are: at the top, or inside structs, lists and maps.

A position is a path of Arrow field names, in which the items of a list are called `element` and the parts of a map `key` and
`value`: ("payload",), ("request", "body"), ("events", "element"). In text it is joined by dots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import pyarrow as pa

from varquet.columns.arrow import EXTENSION_NAME, bitmap, is_variant_type, plain, validity_of
from varquet.errors import UnsupportedTypeError, VarquetError
from varquet.parquet.elements import SchemaElement
from varquet.schema.walk import ELEMENT, Step

__all__ = [
    "Position",
    "elements_below",
    "field_at",
    "fields_below",
    "file_paths",
    "find_variants",
    "is_list",
    "is_variant_field",
    "locate_error",
    "parquet_path",
    "position_of",
    "positions_named",
    "replace_type",
    "replace_values",
    "schema_steps",
]

Position: TypeAlias = tuple[str, ...]

_EXTENSION_KEY = b"ARROW:extension:name"


def is_variant_field(field: pa.Field) -> bool:
    """Whether a field says that it is a Variant: by Arrow's extension name, or by Spark's mark on its metadata child."""
    kind = field.type
    if isinstance(kind, pa.BaseExtensionType):
        return kind.extension_name in (EXTENSION_NAME, "parquet.variant")
    if not is_variant_type(kind):
        return False
    if (field.metadata or {}).get(_EXTENSION_KEY) == EXTENSION_NAME.encode():
        return True
    child = kind.field("metadata")
    return (child.metadata or {}).get(b"variant") == b"true"


def fields_below(field: pa.Field) -> list[tuple[str, pa.Field]]:
    """The fields of a struct, the items of a list, the parts of a map, with their names in a position."""
    kind = field.type
    if pa.types.is_struct(kind):
        return [(child.name, child) for child in kind]
    if pa.types.is_map(kind):
        return [("key", kind.key_field), ("value", kind.item_field)]
    if is_list(kind):
        return [("element", kind.value_field)]
    return []


def is_list(kind: pa.DataType) -> bool:
    """Whether values of a type are lists of any kind; maps are not."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def find_variants(schema: pa.Schema) -> list[Position]:
    """The positions of all fields that say they are Variants."""
    found: list[Position] = []
    waiting: list[tuple[Position, pa.Field]] = [((field.name,), field) for field in reversed(list(schema))]
    while waiting:
        position, field = waiting.pop()
        if is_variant_field(field):
            found.append(position)
        else:
            waiting += [((*position, name), child) for name, child in reversed(fields_below(field))]
    return found


def positions_named(name: str | Position) -> list[Position]:
    """The positions that a user may mean by a name: a column, a dotted text, or a tuple."""
    return [tuple(name)] if not isinstance(name, str) else [(name,), tuple(name.split("."))]


def position_of(name: str | Position, schema: pa.Schema) -> Position:
    """The position that a user names: a column, a dotted text, or a tuple; it must hold a struct of metadata and value."""
    for position in positions_named(name):
        field = field_at(schema, position)
        if field is not None:
            if is_variant_type(field.type):
                return position
            raise UnsupportedTypeError(f"expected a variant column at {'.'.join(position)!r}, got {field.type}")
    raise UnsupportedTypeError(
        f"expected the name of a variant column, got {name!r}",
        hint="the columns are " + ", ".join(repr(n) for n in schema.names),
    )


def field_at(schema: pa.Schema, position: Position) -> pa.Field | None:
    """The field at a position, if there is one."""
    if schema.get_field_index(position[0]) < 0:
        return None
    field = schema.field(position[0])
    for name in position[1:]:
        inner = dict(fields_below(field)).get(name)
        if inner is None:
            return None
        field = inner
    return field


def parquet_path(schema: pa.Schema, position: Position) -> tuple[str, ...]:
    """The names that lead to a position in a file that pyarrow writes: lists and maps have one between."""
    field = schema.field(position[0])
    path = [position[0]]
    for name in position[1:]:
        if pa.types.is_struct(field.type):
            path.append(name)
        else:
            path += ["key_value" if pa.types.is_map(field.type) else "list", name]
        field = dict(fields_below(field))[name]
    return tuple(path)


def file_paths(schema: pa.Schema, root: SchemaElement) -> Iterator[tuple[Position, pa.Field, tuple[str, ...]]]:
    """Every field of a file's Arrow schema, outermost first, with the names that lead to it in the file, as its writer chose them."""
    columns = {element.name: element for element in root.children}
    waiting: list[tuple[Position, pa.Field, tuple[str, ...], SchemaElement]] = [
        ((field.name,), field, (field.name,), columns[field.name]) for field in reversed(list(schema))
    ]
    while waiting:
        position, field, path, element = waiting.pop()
        below = elements_below(field.type, element)
        # A repeated element is a list and its items at once; its annotation speaks of the items.
        yield position, field, () if below and not below[0][0] else path
        for (name, child), (steps, inner) in zip(reversed(fields_below(field)), reversed(below), strict=True):
            waiting.append(((*position, name), child, (*path, *steps), inner))


def elements_below(kind: pa.DataType, element: SchemaElement) -> list[tuple[tuple[str, ...], SchemaElement]]:
    """What fields_below gives, in the file: the names on the way and the element, by the rules for lists of old and new writers."""
    if pa.types.is_struct(kind):
        named = {child.name: child for child in element.children}
        return [((field.name,), named[field.name]) for field in kind]
    if not (pa.types.is_map(kind) or is_list(kind)):
        return []
    is_annotated = element.converted_type is not None or (element.logical_type is not None and element.logical_type.kind != "VARIANT")
    if element.repetition == "REPEATED" and not is_annotated:
        return [((), element)]
    (repeated,) = element.children
    if pa.types.is_map(kind):
        return [((repeated.name, child.name), child) for child in repeated.children]
    if len(repeated.children) == 1 and repeated.name not in ("array", f"{element.name}_tuple"):
        return [((repeated.name, child.name), child) for child in repeated.children]
    return [((repeated.name,), repeated)]


def schema_steps(schema: pa.Schema, position: Position) -> list[Step]:
    """A position as shredding schemas name it, in which the items of a list are ELEMENT and `element` is a name like others."""
    field = schema.field(position[0])
    steps: list[Step] = [position[0]]
    for name in position[1:]:
        is_named = pa.types.is_struct(field.type) or pa.types.is_map(field.type)
        steps.append(name if is_named else ELEMENT)
        field = dict(fields_below(field))[name]
    return steps


def replace_type(field: pa.Field, position: Position, change: Callable[[pa.Field], pa.Field]) -> pa.Field:
    """A field with the one at a position below it changed."""
    if not position:
        return change(field)
    name, rest = position[0], position[1:]
    kind = field.type
    if pa.types.is_struct(kind):
        return field.with_type(pa.struct([replace_type(child, rest, change) if child.name == name else child for child in kind]))
    if pa.types.is_map(kind):
        key = replace_type(kind.key_field, rest, change) if name == "key" else kind.key_field
        item = replace_type(kind.item_field, rest, change) if name == "value" else kind.item_field
        return field.with_type(pa.map_(key, item, kind.keys_sorted))
    value = replace_type(kind.value_field, rest, change)
    if pa.types.is_large_list(kind):
        return field.with_type(pa.large_list(value))
    if pa.types.is_fixed_size_list(kind):
        return field.with_type(pa.list_(value, kind.list_size))
    return field.with_type(pa.list_(value))


def replace_values(array: pa.Array, kind: pa.DataType, position: Position, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """An array with the values at a position below it changed.

    `kind` is the type it has when all positions have been changed; what is at the others keeps its type.
    """
    array = plain(array)
    if not position:
        return change(array)
    name, rest = position[0], position[1:]
    validity, nulls = bitmap(validity_of(array))
    if pa.types.is_struct(array.type):
        # Where a struct is null, what is in it is nothing, although Arrow may have empty values there.
        fields = array.flatten() if nulls else [array.field(k) for k in range(array.type.num_fields)]
        children = [
            replace_values(child, kind.field(k).type, rest, change) if kind.field(k).name == name else child
            for k, child in enumerate(fields)
        ]
        made = pa.struct([kind.field(k).with_type(child.type) for k, child in enumerate(children)])
        return pa.StructArray.from_buffers(made, len(array), [validity], nulls, children=children)
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        values = array.values.slice(array.offset * size, len(array) * size)
        items = replace_values(values, kind.value_type, rest, change)
        made = pa.list_(kind.value_field.with_type(items.type), size)
        return pa.FixedSizeListArray.from_buffers(made, len(array), [validity], nulls, children=[items])
    offsets = array.offsets
    first = offsets[0].as_py() if len(offsets) else 0
    last = offsets[-1].as_py() if len(offsets) else 0
    moved = pa.compute.subtract(offsets, pa.scalar(first, offsets.type))
    if pa.types.is_map(array.type):
        keys, items = array.keys.slice(first, last - first), array.items.slice(first, last - first)
        if name == "key":
            keys = replace_values(keys, kind.key_type, rest, change)
        else:
            items = replace_values(items, kind.item_type, rest, change)
        entry = [kind.key_field.with_type(keys.type), kind.item_field.with_type(items.type)]
        entries = pa.StructArray.from_buffers(pa.struct(entry), len(keys), [None], 0, children=[keys, items])
        made = pa.map_(*entry, kind.keys_sorted)
        return pa.MapArray.from_buffers(made, len(array), [validity, moved.buffers()[1]], nulls, children=[entries])
    items = replace_values(array.values.slice(first, last - first), kind.value_type, rest, change)
    is_large = pa.types.is_large_list(array.type)
    made = (pa.large_list if is_large else pa.list_)(kind.value_field.with_type(items.type))
    make = pa.LargeListArray if is_large else pa.ListArray
    return make.from_buffers(made, len(array), [validity, moved.buffers()[1]], nulls, children=[items])


def locate_error(error: VarquetError, position: Position, before: int, where: str = "") -> VarquetError:
    """An error about a batch of a variant column, with the column's name and the row as it counts from the first batch on.

    The items of a list or map have numbers of their own in a batch, which tell nobody anything: the batch's first row is named.
    """
    column = f"column {'.'.join(position)!r}{where}"
    if error.row is not None and len(position) > 1:
        error.message = f"{column}, in the rows from {before} on: {error.message}"
        error.row = None
    else:
        error.message = f"{column}: {error.message}"
        error.row = error.row + before if error.row is not None else None
    return error
