"""What the footers of files say of the columns of a view: where each is in a file, and whether its residual can hold something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import pyarrow as pa

from varquet.errors import UnsupportedTypeError
from varquet.parquet.positions import Position, fields_below, is_list
from varquet.paths import Path
from varquet.queries.access import Access, Step
from varquet.queries.dataset import FoundFile
from varquet.queries.expressions import Operand
from varquet.queries.map_access import MapAccess
from varquet.queries.opened import OpenedFile
from varquet.queries.statistics import adds_nothing
from varquet.spark.view_map_access import MapReading, WholeMap, key_reading, whole_reading

__all__ = ["FileFacts", "Reading", "Shape", "facts_of"]


@dataclass(frozen=True, slots=True)
class Reading:
    """Where one column of a view is in a file."""

    position: Position
    """The names that lead to the Variant column, or to an ordinary one."""
    rest: Path | None = None
    """What is left of the path from the group at the end of the trail on; None for an ordinary column."""
    trail: tuple[Step, ...] = ()
    """From the Variant column to the last group that the path leads to."""
    typed: pa.DataType | None = None
    """The type of the typed column there, if values can come from it."""
    has_value: bool = False
    """Whether the group has a `value`."""

    @property
    def is_primitive(self) -> bool:
        """Whether values come from one typed column, and its residual if that holds something."""
        return self.typed is not None and not pa.types.is_nested(self.typed)

    @property
    def is_element(self) -> bool:
        """Whether the group is an element of an array, which is there although it may hold nothing."""
        return bool(self.trail) and isinstance(self.trail[-1], int)


@dataclass(frozen=True, slots=True)
class Shape:
    """Where all columns of a view are in a file: files of one shape are read alike."""

    readings: tuple[Reading | MapReading | WholeMap | None, ...]
    """None for a path into a Variant column that the file has not got."""
    is_native: bool = False
    """Whether the Variants must be left to Spark's own reader."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What one footer says."""

    shape: Shape
    is_there: tuple[bool, ...]
    """Of each column of the view, whether the file has the column it comes from."""
    is_held: tuple[bool, ...]
    """Of each column of the view, whether the residual that it may come from can hold something that counts."""


def facts_of(found: FoundFile, select: Mapping[str, Operand], column: str | None, partitions: AbstractSet[str]) -> FileFacts:
    """The facts about one file.

    Args:
        found: the file.
        select: the columns of the view.
        column: the Variant column of paths that name none.
        partitions: the names among the columns that are folders, not in the file.
    """
    file = OpenedFile(found, None, {})
    readings: list[Reading | MapReading | WholeMap | None] = []
    held: list[bool] = []
    there: list[bool] = []
    is_native = False
    for operand in (_whole(one, file) for one in select.values()):
        if operand.path is None and operand.column in partitions:
            readings.append(Reading((operand.column or "",)))
            held.append(False)
            there.append(True)
            continue
        access = file.access(operand, column)
        there.append(access is not None)
        if isinstance(access, MapAccess):
            readings.append(key_reading(access, file))
            held.append(False)
        elif operand.path is None and access is not None and any(position[0] == operand.column for position in file.open.maps):
            readings.append(whole_reading(operand.column or "", file))
            held.append(False)
        elif operand.path is None:
            readings.append(Reading((operand.column or "",)))
            held.append(False)
        elif access is None:
            readings.append(None)
            held.append(False)
        else:
            reading, is_alike = _reading(access, operand, file)
            readings.append(reading)
            is_native |= is_alike
            groups = (file.metadata.row_group(group) for group in range(file.metadata.num_row_groups))
            held.append(reading.has_value and not all(adds_nothing(group, access, operand.type) for group in groups))
    is_native |= _is_read_twice(readings)
    if is_native:
        whole = [
            Reading(one.position, _path(operand)) if isinstance(one, Reading) and one.rest is not None else one
            for one, operand in zip(readings, select.values(), strict=True)
        ]
        return FileFacts(Shape(tuple(whole), True), tuple(there), (False,) * len(whole))
    return FileFacts(Shape(tuple(readings)), tuple(there), tuple(held))


def _whole(operand: Operand, file: OpenedFile) -> Operand:
    """An operand; that of a whole Variant column with the path that leads to all of it."""
    is_variant = operand.path is None and (operand.column or "",) in file.open.variants
    return Operand(Path(), operand.column, operand.type) if is_variant else operand


def _path(operand: Operand) -> Path:
    return Path() if operand.path is None else operand.path


def _reading(access: Access, operand: Operand, file: OpenedFile) -> tuple[Reading, bool]:
    """How a path is read, and whether a name that is read has a neighbour from which Spark, which ignores case, cannot tell it."""
    if access.layout != "parquet":
        raise UnsupportedTypeError(
            f"expected column {'.'.join(access.column)!r} of {file.path!r} in the standard's layout, got that of the {access.layout}",
            hint='spark.read.format("varquet") reads it',
        )
    field = file.open.physical.field(access.column[0])
    is_alike = False
    for number, step in enumerate((*access.column[1:], *access.trail), 1):
        below = fields_below(field)
        if number < len(access.column) and not pa.types.is_struct(field.type):
            name = ".".join(access.column)
            raise UnsupportedTypeError(f"expected a Variant column with one value per row, got {name!r}, which is in a list or map")
        if isinstance(step, int):
            ((_, field),) = below
        else:
            is_alike |= sum(_key(name) == _key(step) for name, _ in below) > 1
            field = dict(below)[step]
    typed = None
    # An object or array is no scalar: only what is not shredded can be one.
    if len(access.typed) and (access.is_primitive or operand.type is None or pa.types.is_string(operand.type)):
        typed = _stored(field.type.field("typed_value").type)
        is_alike |= any(_repeats(kind) for kind in _structs(typed))
    return Reading(access.column, access.rest, access.trail, typed, access.value is not None), is_alike


def _stored(kind: pa.DataType) -> pa.DataType:
    """The type of a column as the file has it, whatever form of it Arrow was told to read."""
    if isinstance(kind, pa.BaseExtensionType):
        return _stored(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _stored(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _stored(field.type)) for field in kind])
    if is_list(kind):
        return pa.list_(_stored(kind.value_type))
    if pa.types.is_string_view(kind) or pa.types.is_large_string(kind):
        return pa.string()
    return pa.binary() if pa.types.is_binary_view(kind) or pa.types.is_large_binary(kind) else kind


def _is_read_twice(readings: Iterable[Reading | MapReading | WholeMap | None]) -> bool:
    """Whether a column is wanted both as it is and for a Variant inside of it."""
    known = [reading for reading in readings if isinstance(reading, Reading)]
    ordinary = {reading.position[0] for reading in known if reading.rest is None}
    return any(reading.rest is not None and reading.position[0] in ordinary for reading in known)


def _structs(kind: pa.DataType) -> Iterator[pa.DataType]:
    waiting = [kind]
    while waiting:
        kind = waiting.pop()
        if pa.types.is_struct(kind):
            yield kind
            waiting += [field.type for field in kind]
        elif is_list(kind):
            waiting.append(kind.value_type)


def _repeats(kind: pa.DataType) -> bool:
    return bool(len({_key(field.name) for field in kind}) < kind.num_fields)


def _key(name: str) -> str:
    """What names have in common that any rule for ignoring case may take for the same; some that none does have it as well."""
    return name.upper().casefold().replace("\u0307", "")
