"""The schema in a footer: a tree of named elements with their physical and logical types.

    SchemaElement  1 type | 2 type_length | 3 repetition_type | 4 name | 5 num_children
                   6 converted_type | 7 scale | 8 precision | 9 field_id | 10 logicalType

The footer holds the tree as a list in depth-first order in which each group counts its children. Numbers and names are
those of Parquet's own Thrift definition; what it will define later is kept as a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, TypeAlias, TypeVar

from varquet.errors import ParquetError
from varquet.parquet.thrift import I8, STOP, STRUCT, Edit, Struct, field_header, read_struct

__all__ = ["PHYSICAL", "Elements", "LogicalType", "SchemaElement", "column_name", "read_elements"]

_T = TypeVar("_T")
_Names: TypeAlias = "dict[str, _Names]"

_LOGICAL_TYPE: Final = 10
_PLAIN_NAME: Final = re.compile(r"[\w-]+")
_SHOWN: Final = 8
_NOTHING: Final[_Names] = {}

PHYSICAL: Final = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_REPETITIONS: Final = ("REQUIRED", "OPTIONAL", "REPEATED")
_CONVERTED: Final = (
    "UTF8", "MAP", "MAP_KEY_VALUE", "LIST", "ENUM", "DECIMAL", "DATE", "TIME_MILLIS", "TIME_MICROS", "TIMESTAMP_MILLIS",
    "TIMESTAMP_MICROS", "UINT_8", "UINT_16", "UINT_32", "UINT_64", "INT_8", "INT_16", "INT_32", "INT_64", "JSON", "BSON", "INTERVAL",
)  # fmt: skip
_LOGICAL: Final = {
    1: "STRING", 2: "MAP", 3: "LIST", 4: "ENUM", 5: "DECIMAL", 6: "DATE", 7: "TIME", 8: "TIMESTAMP", 10: "INTEGER", 11: "UNKNOWN",
    12: "JSON", 13: "BSON", 14: "UUID", 15: "FLOAT16", 16: "VARIANT", 17: "GEOMETRY", 18: "GEOGRAPHY", 19: "FILE",
}  # fmt: skip
_VARIANT: Final = 16
_UNITS: Final = {1: "MILLIS", 2: "MICROS", 3: "NANOS"}
_EDGES: Final = ("SPHERICAL", "VINCENTY", "THOMAS", "ANDOYER", "KARNEY")
_MOST_NAMES: Final = 1 << 22


@dataclass(frozen=True, slots=True)
class LogicalType:
    """A logical type: its kind, and the parameters that this kind has; the others are None.

    `id` is the member of Parquet's LogicalType union; a member unknown here has the kind `UNRECOGNIZED`.

    >>> print(LogicalType("DECIMAL", 5, precision=9, scale=2), LogicalType("TIMESTAMP", 8, utc=True, unit="MICROS"))
    DECIMAL(9, 2) TIMESTAMP(true, MICROS)
    """

    kind: str
    id: int
    precision: int | None = None
    scale: int | None = None
    utc: bool | None = None
    unit: str | None = None
    bits: int | None = None
    signed: bool | None = None
    version: int | None = None
    crs: str | None = None
    algorithm: str | None = None

    def __str__(self) -> str:
        given = (self.precision, self.scale, self.utc, self.unit, self.bits, self.signed, self.version, self.crs, self.algorithm)
        parameters = [str(value).lower() if isinstance(value, bool) else str(value) for value in given if value is not None]
        name = self.kind if self.id in _LOGICAL else f"{self.kind} {self.id}"
        return f"{name}({', '.join(parameters)})" if parameters else name


@dataclass(frozen=True, slots=True)
class SchemaElement:
    """One column, group or the root of a Parquet schema, with everything below it."""

    name: str
    physical_type: str | None
    """None for a group."""
    type_length: int | None
    repetition: str | None
    """REQUIRED, OPTIONAL or REPEATED; None for the root."""
    converted_type: str | None
    logical_type: LogicalType | None
    precision: int | None
    scale: int | None
    field_id: int | None
    children: tuple[SchemaElement, ...] = field(default=(), repr=False)

    @property
    def is_group(self) -> bool:
        """Whether this has children in place of values."""
        return self.physical_type is None


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements as the footer lists them: depth first, the root at 0, and none with its children."""

    flat: list[SchemaElement]
    parents: list[int]
    """Where in the list the parent of each element is; -1 for the root."""
    starts: list[int]
    """Where in the footer each element starts."""

    def path(self, index: int) -> tuple[str, ...]:
        """The names from below the root down to this element."""
        names: list[str] = []
        while index > 0:
            names.append(self.flat[index].name)
            index = self.parents[index]
        return tuple(reversed(names))

    def tree(self) -> SchemaElement:
        """The root, with all elements below it."""
        children: dict[int, list[SchemaElement]] = {}
        # Backwards, every element comes after its children.
        for index in range(len(self.flat) - 1, -1, -1):
            element = self.flat[index]
            if index in children:
                element = replace(element, children=tuple(reversed(children.pop(index))))
            children.setdefault(self.parents[index], []).append(element)
        return children[-1][0]

    def variants(self) -> dict[tuple[str, ...], int | None]:
        """The path of each group annotated VARIANT, and the version of the specification that it names."""
        found: dict[tuple[str, ...], int | None] = {}
        names = 0
        for index, element in enumerate(self.flat):
            if element.logical_type is None or element.logical_type.kind != "VARIANT" or not element.is_group or not index:
                continue
            path = self.path(index)
            if path in found:
                raise ParquetError(f"expected one Variant column {column_name(path)} in the schema, got two", offset=self.starts[index])
            # Groups nested without end would make paths whose size is the square of the footer's.
            names += len(path)
            if names > _MOST_NAMES:
                raise ParquetError(f"expected Variant columns at paths of {_MOST_NAMES} names at most, got more")
            found[path] = element.logical_type.version
        return found

    def variant_edit(self, data: bytes, index: int, version: int) -> Edit | None:
        """What must change in the footer to make an element's logical type VARIANT(version); None if it is that."""
        element, column = self.flat[index], column_name(self.path(index))
        if not element.is_group:
            raise ParquetError(f"expected a group at {column} to be a Variant, got a column of type {element.physical_type}")
        annotation = element.logical_type or element.converted_type
        if isinstance(annotation, LogicalType) and annotation.kind == "VARIANT":
            if annotation.version == version:
                return None
        elif annotation is not None:
            raise ParquetError(
                f"expected a group without a logical type at {column} to be a Variant, got {annotation}",
                hint="the path of an element goes on through the group that repeats, as in tags.list.element",
            )
        variant = field_header(0, 1, I8) + bytes((version, STOP))
        union = field_header(0, _VARIANT, STRUCT) + variant + bytes((STOP,))
        return read_struct(data, self.starts[index]).edit(_LOGICAL_TYPE, STRUCT, union)

    def find(self, paths: Iterable[Sequence[str]]) -> list[int]:
        """Where in the list the elements at these paths are, in the order of the list; an error if there is not one at each."""
        tree: _Names = {}
        wanted: dict[int, tuple[str, ...]] = {}
        for given in paths:
            path = (given,) if isinstance(given, str) else tuple(given)
            node = tree
            for name in path:
                node = node.setdefault(name, {})
            wanted[id(node)] = path
        found: dict[tuple[str, ...], int] = {}
        reached = {0: tree}
        for index in range(1, len(self.flat)):
            below = reached.get(self.parents[index], _NOTHING).get(self.flat[index].name)
            if below is None:
                continue
            reached[index] = below
            if id(below) in wanted and found.setdefault(wanted[id(below)], index) != index:
                path = wanted[id(below)]
                raise ParquetError(f"expected one column {column_name(path)} in the schema, got two", offset=self.starts[index])
        for path in wanted.values():
            if path not in found:
                raise self._missing(path)
        return sorted(found.values())

    def _missing(self, path: tuple[str, ...]) -> ParquetError:
        if not path:
            return ParquetError("expected the path of a column, got the empty path, which is the root of the schema")
        places = {(self.parents[index], element.name): index for index, element in enumerate(self.flat)}
        parent = 0
        for name in path:
            if (parent, name) not in places:
                break
            parent = places[parent, name]
        names = [element.name for element, owner in zip(self.flat, self.parents, strict=True) if owner == parent]
        shown = ", ".join(repr(name) for name in names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        return ParquetError(
            f"expected a column {column_name(path)} in the schema, got none",
            hint=f"{column_name(self.path(parent)) if parent else 'the schema'} has {shown or 'nothing below it'}",
        )


def read_elements(structs: Iterable[Struct]) -> Elements:
    """Read the elements of a schema and check that they form one tree."""
    flat: list[SchemaElement] = []
    parents: list[int] = []
    starts: list[int] = []
    # The groups that still wait for children, and for how many.
    waiting = [(-1, 1)]
    for index, struct in enumerate(structs):
        if not waiting:
            raise ParquetError(f"expected the schema to end after {index} elements, got another", offset=struct.start)
        parent, count = waiting.pop()
        if count > 1:
            waiting.append((parent, count - 1))
        element = _read_element(struct, root=index == 0)
        if children := _child_count(struct):
            waiting.append((index, children))
        flat.append(element)
        parents.append(parent)
        starts.append(struct.start)
    if waiting:
        parent, count = waiting[-1]
        missing = "a root" if parent < 0 else f"{count} more below {flat[parent].name!r}"
        raise ParquetError(f"expected {missing} in the schema, got the end of its {len(flat)} elements")
    return Elements(flat, parents, starts)


def _read_element(struct: Struct, *, root: bool) -> SchemaElement:
    return SchemaElement(
        name=_required(struct.text(4), "a name", struct),
        physical_type=_named(struct.integer(1), PHYSICAL, "TYPE"),
        type_length=struct.integer(2),
        repetition=None if root else _repetition(struct),
        converted_type=_named(struct.integer(6), _CONVERTED, "CONVERTED_TYPE"),
        logical_type=_logical_type(struct),
        precision=struct.integer(8),
        scale=struct.integer(7),
        field_id=struct.integer(9),
    )


def column_name(path: Sequence[str]) -> str:
    """A path as people write it, with dots; names that are not plain words stand in backquotes.

    >>> column_name(("a", "b.c", "list"))
    'a.`b.c`.list'
    """
    names = [name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`" for name in path]
    if len(names) > 2 * _SHOWN:
        names[_SHOWN:-_SHOWN] = ["..."]
    return ".".join(names)


def _child_count(struct: Struct) -> int:
    count = struct.integer(5) or 0
    if count < 0 or (count and 1 in struct.fields):
        raise ParquetError(
            f"expected {'no' if count > 0 else 'a number of'} children of a column of the schema, got {count}", offset=struct.start
        )
    return count


def _repetition(struct: Struct) -> str:
    number = _required(struct.integer(3), "a repetition type", struct)
    if not 0 <= number < len(_REPETITIONS):
        raise ParquetError(f"expected a repetition type of 0 to 2 in the schema, got {number}", offset=struct.start)
    return _REPETITIONS[number]


def _logical_type(struct: Struct) -> LogicalType | None:
    field = struct.field(_LOGICAL_TYPE, STRUCT)
    if field is None:
        return None
    try:
        return _read_logical_type(struct.data[field.start : field.end])
    except ParquetError as error:
        if error.offset is not None:
            error.offset += field.start
        raise


# Thousands of columns share a handful of logical types, and share their bytes.
@lru_cache(maxsize=256)
def _read_logical_type(octets: bytes) -> LogicalType | None:
    union = read_struct(octets, 0)
    if not union.fields:
        return None
    if len(union.fields) > 1:
        raise ParquetError(f"expected one logical type for a column of the schema, got {len(union.fields)}", offset=union.start)
    member = next(iter(union.fields))
    kind = _LOGICAL.get(member)
    if kind is None:
        return LogicalType("UNRECOGNIZED", member)
    detail = _required(union.struct(member), "a logical type", union)
    match kind:
        case "DECIMAL":
            scale, precision = _required(detail.integer(1), "a scale", detail), _required(detail.integer(2), "a precision", detail)
            return LogicalType(kind, member, precision=precision, scale=scale)
        case "TIME" | "TIMESTAMP":
            utc, unit = _required(detail.boolean(1), "isAdjustedToUTC", detail), _required(detail.struct(2), "a unit", detail)
            return LogicalType(kind, member, utc=utc, unit=_UNITS.get(next(iter(unit.fields), 0)))
        case "INTEGER":
            bits, signed = _required(detail.integer(1), "a bit width", detail), _required(detail.boolean(2), "isSigned", detail)
            return LogicalType(kind, member, bits=bits, signed=signed)
        case "VARIANT":
            return LogicalType(kind, member, version=detail.integer(1))
        case "GEOMETRY" | "GEOGRAPHY":
            algorithm = _named(detail.integer(2), _EDGES, "ALGORITHM") if kind == "GEOGRAPHY" else None
            return LogicalType(kind, member, crs=detail.text(1), algorithm=algorithm)
        case _:
            return LogicalType(kind, member)


def _named(number: int | None, names: Sequence[str], what: str) -> str | None:
    if number is None:
        return None
    return names[number] if 0 <= number < len(names) else f"{what}_{number}"


def _required(value: _T | None, what: str, struct: Struct) -> _T:
    if value is None:
        raise ParquetError(f"expected {what} in a struct of the footer, got none", offset=struct.start)
    return value
