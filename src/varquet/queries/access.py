"""How the value at a path is had from the columns of a file: which of them are needed, and what is made of them.

A path leads through the typed columns of a shredded Variant as far as these go. Where it ends at a typed column, values are there, or
in the `value` beside it if they are of another type; where it goes on, or leads beside what is shredded, they are in the `value` of
the last group. As the standard says, what is shredded is not looked for in the residuals above it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from varquet.columns.arrow import VARIANT, flatten, plain, validity_of
from varquet.columns.extract import extract, extract_held
from varquet.columns.scatter import replace_rows
from varquet.errors import VarquetError
from varquet.layouts.casts import cast_typed
from varquet.layouts.shredding import LayoutName, unshred
from varquet.parquet.dense import Dense
from varquet.parquet.elements import SchemaElement
from varquet.parquet.positions import Position, elements_below, fields_below, is_list
from varquet.paths import Path
from varquet.types import BASIC_OBJECT
from varquet.variant.metadata import EMPTY_METADATA

__all__ = ["Access", "Leaves", "Need", "column_access", "down", "need_of", "null_test", "read_access", "read_dense", "variant_access"]

Step: TypeAlias = "str | int"

_TYPED: Final = "typed_value"
_VALUE: Final = "value"


class Leaves:
    """The numbers of a file's leaf columns, by the elements of its schema."""

    def __init__(self, root: SchemaElement) -> None:
        self.first: dict[int, int] = {}
        self.end: dict[int, int] = {}
        count = 0
        waiting: list[tuple[SchemaElement, bool]] = [(root, False)]
        while waiting:
            element, is_left = waiting.pop()
            if is_left:
                self.end[id(element)] = count
                continue
            self.first[id(element)] = count
            if element.is_group:
                waiting.append((element, True))
                waiting += [(child, False) for child in reversed(element.children)]
            else:
                count += 1
                self.end[id(element)] = count
        self.root = root

    def of(self, element: SchemaElement) -> range:
        """The leaves of an element: its own, or all below it."""
        return range(self.first[id(element)], self.end[id(element)])


@dataclass(frozen=True, slots=True)
class Access:
    """Where the value at a path is in one file."""

    column: Position
    """The names that lead to the Variant column, or to an ordinary one."""
    trail: tuple[Step, ...] = ()
    """From there to the last group that the path leads to: names of children, and indexes of elements."""
    rest: Path | None = None
    """What is left of the path from the `value` of that group on; None for an ordinary column."""
    metadata: int | None = None
    value: int | None = None
    """The leaf of the group's `value`; None if it has none."""
    typed: range = field(default=range(0))
    """The leaves of what is typed there, where the path ends at it."""
    typed_type: pa.DataType | None = None
    layout: LayoutName = "parquet"
    whole: range = field(default=range(0))
    """All leaves, where nothing can be read apart."""
    sidecars: frozenset[int] = frozenset()
    """Further leaves of an ordinary column that is a map."""

    @property
    def is_primitive(self) -> bool:
        """Whether the path ends at a typed column."""
        return self.typed_type is not None and not pa.types.is_nested(self.typed_type)

    @property
    def is_element(self) -> bool:
        """Whether the group is an element of an array, which is there although it may hold nothing."""
        return bool(self.trail) and isinstance(self.trail[-1], int)

    @property
    def is_within_list(self) -> bool:
        """Whether it leads through the elements of an array."""
        return any(isinstance(step, int) for step in self.trail)

    @property
    def has_own_leaves(self) -> bool:
        """Whether the values are in no more than a typed leaf and the `value` beside it, one for each row."""
        ends_here = self.rest is not None and not self.rest.steps and self.layout == "parquet"
        return ends_here and self.is_primitive and len(self.typed) == 1 and not self.is_within_list


def column_access(
    position: Position, field: pa.Field, element: SchemaElement, leaves: Leaves, sidecars: Iterable[SchemaElement] = ()
) -> Access:
    """An ordinary column, which is read as it is; of a map with sidecars all of these, too."""
    beside = frozenset(leaf for one in sidecars for leaf in leaves.of(one))
    return Access(position, typed=leaves.of(element), typed_type=field.type, sidecars=beside)


def variant_access(position: Position, field: pa.Field, element: SchemaElement, leaves: Leaves, path: Path, layout: LayoutName) -> Access:
    """The way to the value at a path of a Variant column."""
    if layout != "parquet":
        return Access(position, rest=path, layout=layout, whole=leaves.of(element))
    below = _children(field, element)
    metadata = leaves.of(below["metadata"][1])[0]
    trail: list[Step] = []
    steps = list(path.steps)
    while steps:
        typed = below.get(_TYPED)
        step = steps[0]
        if typed is None:
            break
        if isinstance(step, str) and pa.types.is_struct(typed[0].type):
            inner = _children(*typed).get(step)
        elif isinstance(step, int) and is_list(typed[0].type):
            (inner,) = _children(*typed).values()
        else:
            break
        if inner is None:
            break
        trail += [_TYPED, step]
        field, element = inner
        below = _children(field, element)
        steps.pop(0)
    value, typed = below.get(_VALUE), below.get(_TYPED)
    ends_here = not steps and typed is not None
    return Access(
        position,
        tuple(trail),
        Path(tuple(steps)),
        metadata,
        None if value is None else leaves.of(value[1])[0],
        leaves.of(typed[1]) if ends_here and typed is not None else range(0),
        plain(pa.nulls(0, typed[0].type)).type if ends_here and typed is not None else None,
    )


def _children(field: pa.Field, element: SchemaElement) -> dict[str, tuple[pa.Field, SchemaElement]]:
    return {
        name: (child, inner) for (name, child), (_, inner) in zip(fields_below(field), elements_below(field.type, element), strict=True)
    }


@dataclass(frozen=True, slots=True)
class Need:
    """What is read of an access in one row group."""

    leaves: frozenset[int]
    reads_residual: bool
    reads_typed: bool = True


def need_of(access: Access, target: pa.DataType | None, *, has_residual: bool, has_typed: bool = True, as_null_test: bool = False) -> Need:
    """The leaves that are needed for a path as a type; `has_residual` says whether its `value` holds anything.

    The metadata is not among them: it is large, and most values that are looked at have no names in them.
    """
    if access.layout != "parquet":
        return Need(frozenset(access.whole), True)
    if access.rest is None:
        return Need(frozenset(access.typed) | access.sidecars, False)
    residual = access.value is not None and has_residual
    needed: set[int] = set()
    reads_typed = len(access.typed) > 0 and (has_typed or not residual)
    if residual and access.value is not None:
        needed.add(access.value)
    if reads_typed:
        if access.is_primitive:
            needed |= set(access.typed)
        elif target is None or pa.types.is_string(target):
            if as_null_test:
                needed.add(access.typed[0])
            else:
                needed |= set(access.typed)
        else:
            # An object or array is no scalar: only what is not shredded can be one.
            reads_typed = False
    return Need(frozenset(needed), residual, reads_typed)


def read_access(
    access: Access, target: pa.DataType | None, need: Need, columns: Mapping[str, pa.Array], rows: int, metadata: Callable[[], pa.Array]
) -> pa.Array:
    """The value at a path of every row, as a type or as Variants, from the columns that were read.

    `metadata` reads the metadata of the rows, if it must be.
    """
    kind = target if target is not None else VARIANT
    if not need.leaves or access.rest is None:
        return pa.nulls(rows, kind)
    array = down(columns[access.column[0]], access.column[1:])
    if access.layout != "parquet":
        return extract(unshred(array, layout=access.layout, threads=1), access.rest, target, threads=1)
    group = down(array, access.trail)
    value = _child(group, _VALUE) if need.reads_residual else None
    typed = _child(group, _TYPED) if need.reads_typed and len(access.typed) else None
    if access.rest.steps or typed is None:
        return pa.nulls(rows, kind) if value is None else _from_residual(value, access.rest, target, pa.nulls(rows, kind), metadata)
    if not access.is_primitive or target is None:
        has_names = not access.is_primitive or value is not None
        names = metadata() if has_names else pa.repeat(pa.scalar(EMPTY_METADATA, pa.binary()), rows)
        variants = _put_together(names, group, value, typed, is_element=access.is_element)
        return variants if target is None else extract(variants, Path(), target, threads=1)
    made = cast_typed(plain(typed), target)
    return made if value is None else _from_residual(value, access.rest, target, made, metadata)


def read_dense(
    access: Access,
    target: pa.DataType,
    need: Need,
    leaf: Callable[[int, pa.DataType], Dense | None],
    rows: int,
    metadata: Callable[[], pa.Array],
) -> pa.Array | None:
    """Like `read_access`, of a path that has leaves of its own, which `leaf` reads; None if they cannot be read without their nulls."""
    assert access.rest is not None and access.typed_type is not None
    value = leaf(access.value, pa.binary()) if need.reads_residual and access.value is not None else None
    typed = leaf(access.typed[0], access.typed_type) if need.reads_typed else None
    if (value is None and need.reads_residual) or (typed is None and need.reads_typed):
        return None
    if typed is None or not len(typed.values):
        typed = None
    if value is None or not len(value.values):
        return pa.nulls(rows, target) if typed is None else typed.spread(cast_typed(typed.values, target))
    known = None if typed is None else extract_held(value.values, target)
    if typed is None or known is None:
        base = pa.nulls(rows, target) if typed is None else typed.spread(cast_typed(typed.values, target))
        return _with_residuals(value.values, value.held_rows(), access.rest, target, base, metadata)
    _, held, left = known
    base = typed.spread_with(cast_typed(typed.values, target), value, held)
    if not len(left):
        return base
    return _with_residuals(value.values.take(pa.array(left)), value.held_rows()[left], access.rest, target, base, metadata)


def null_test(access: Access, need: Need, columns: Mapping[str, pa.Array], rows: int, metadata: Callable[[], pa.Array]) -> pa.Array:
    """Whether there is a value at a path, whatever it is: an array that is null where there is none."""
    if access.layout != "parquet" or access.rest is None or access.rest.steps:
        return read_access(access, None, need, columns, rows, metadata)
    if not need.leaves:
        return pa.nulls(rows, pa.bool_())
    group = down(down(columns[access.column[0]], access.column[1:]), access.trail)
    found = pc.is_valid(group) if access.is_element else pa.array(np.zeros(rows, bool))
    for name, is_read in ((_VALUE, need.reads_residual), (_TYPED, need.reads_typed and len(access.typed) > 0)):
        if is_read:
            found = pc.or_(found, pc.is_valid(_child(group, name)))
    return pc.if_else(found, pa.scalar(True), pa.scalar(None, pa.bool_()))


def _from_residual(value: pa.Array, rest: Path, target: pa.DataType | None, base: pa.Array, metadata: Callable[[], pa.Array]) -> pa.Array:
    """Values of a base, but where `value` holds something what is found at the rest of the path there."""
    if value.null_count == len(value):
        return base
    known = None if rest.steps or target is None else extract_held(value, target)
    if known is None:
        rows = np.flatnonzero(validity_of(value).view(bool))
    else:
        held_rows, held, rows = known
        base = replace_rows(base, held_rows, held)
        if not len(rows):
            return base
    return _with_residuals(value.take(pa.array(rows)), rows, rest, target, base, metadata)


def _with_residuals(
    values: pa.Array,
    rows: npt.NDArray[np.int64],
    rest: Path,
    target: pa.DataType | None,
    base: pa.Array,
    metadata: Callable[[], pa.Array],
) -> pa.Array:
    """Values of a base, but in these rows what is found at the rest of the path in the values of a residual."""
    # Names are needed to find one, and to write those of objects.
    if rest.steps or ((target is None or pa.types.is_string(target)) and _has_containers(values)):
        names = metadata().take(pa.array(rows))
    else:
        names = pa.repeat(pa.scalar(EMPTY_METADATA, pa.binary()), len(values))
    variants = pa.StructArray.from_arrays(
        [names, values], fields=[pa.field("metadata", names.type, False), pa.field("value", values.type, False)]
    )
    try:
        found = extract(variants, rest, target, threads=1)
    except VarquetError as error:
        error.row = None if error.row is None else int(rows[error.row])
        raise
    return replace_rows(base, rows, found if found.type == base.type else found.cast(base.type))


def _has_containers(values: pa.Array) -> bool:
    flat = flatten(values, "binary values")
    starts = flat.offsets[:-1][np.diff(flat.offsets) > 0]
    return bool((flat.data[starts] & 3 >= BASIC_OBJECT).any())


def _put_together(metadata: pa.Array, group: pa.Array, value: pa.Array | None, typed: pa.Array, *, is_element: bool) -> pa.Array:
    rows = len(group)
    children = [metadata, pa.nulls(rows, pa.binary()) if value is None else value, typed]
    is_there = pc.is_valid(group) if is_element else pc.or_(pc.is_valid(children[1]), pc.is_valid(typed))
    fields = [pa.field(name, child.type) for name, child in zip(("metadata", _VALUE, _TYPED), children, strict=True)]
    made = pa.StructArray.from_arrays(children, fields=fields, mask=pc.invert(is_there))
    variants = unshred(made, layout="parquet", threads=1)
    return variants if variants.type == VARIANT else variants.cast(VARIANT)


def _child(array: pa.Array, name: str) -> pa.Array:
    """A child of a struct, null where the struct is."""
    child = array.field(name)
    if array.null_count == 0:
        return child
    if isinstance(child, pa.DictionaryArray):
        # Dictionaries are not to be copied: rows under a null are never looked at.
        return child
    return pc.struct_field(array, name)


def down(array: pa.Array, trail: tuple[Step, ...]) -> pa.Array:
    """What is at the end of a trail from a column, null where anything on the way is."""
    for step in trail:
        array = plain(array)
        array = _child(array, step) if isinstance(step, str) else _element(array, step)
    return plain(array) if not isinstance(array, pa.DictionaryArray) else array


def _element(array: pa.Array, index: int) -> pa.Array:
    """The element at an index of each list; null where there is none."""
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        starts = (np.arange(len(array), dtype=np.int64) + array.offset) * size
        lengths = np.full(len(array), size, np.int64)
    else:
        offsets = np.asarray(array.offsets).astype(np.int64)
        starts, lengths = offsets[:-1], np.diff(offsets)
    place = starts + (index if index >= 0 else lengths + index)
    is_there = (index < lengths) if index >= 0 else (lengths + index >= 0)
    is_there &= np.asarray(pc.is_valid(array))
    return array.values.take(pa.array(np.where(is_there, place, 0), mask=~is_there))
