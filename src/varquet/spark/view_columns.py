"""The columns of a view as Spark computes them from the columns of files of one shape.

path            read as                                                    becomes
typed column    v.typed_value.a.typed_value                                itself, a cast, or Spark's own cast of it as a Variant
residual        v.metadata, v.typed_value.a.value                          a Variant, made in Python; then Spark's own cast
object, array   v.metadata, v.typed_value.a with all that is below it      a Variant, put together in Python; then Spark's own cast
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias, Union

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, functions, types
from pyspark.sql.pandas.functions import arrow_udf

from varquet.columns.extract import extract
from varquet.errors import UnsupportedTypeError
from varquet.layouts.shredding import unshred
from varquet.parquet.positions import is_list
from varquet.paths import Path
from varquet.queries.access import Step, down
from varquet.spark.variants import from_spark, to_spark
from varquet.spark.view_access import Reading
from varquet.types import sql_name
from varquet.variant.metadata import EMPTY_METADATA

__all__ = [
    "Tree",
    "column_at",
    "computed",
    "in_python",
    "native",
    "put",
    "quoted",
    "residual",
    "spark_type",
    "struct_of",
    "tree_of_shape",
    "typed_as",
]

Tree: TypeAlias = dict[str | None, Union["Tree", types.DataType]]
"""What is read, by name; the elements of an array have none."""

_METADATA: Final = "metadata"
_VALUE: Final = "value"
_TYPED: Final = "typed_value"
_HINT: Final = 'Spark cannot read it; spark.read.format("varquet") does'


def spark_type(kind: pa.DataType, *, hint: str | None = None) -> types.DataType:
    """The type of Spark that has the same values as an Arrow type of one value."""
    if pa.types.is_decimal128(kind):
        return types.DecimalType(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind) and kind.unit == "us":
        return types.TimestampNTZType() if kind.tz is None else types.TimestampType()
    for is_kind, made in _TYPES:
        if is_kind(kind):
            return made
    raise UnsupportedTypeError(f"expected a type that Spark has Variants of, got {sql_name(kind)}", hint=hint)


_TYPES: Final[tuple[tuple[Callable[[pa.DataType], bool], types.DataType], ...]] = (
    (pa.types.is_boolean, types.BooleanType()),
    (pa.types.is_int8, types.ByteType()),
    (pa.types.is_int16, types.ShortType()),
    (pa.types.is_int32, types.IntegerType()),
    (pa.types.is_int64, types.LongType()),
    (pa.types.is_float32, types.FloatType()),
    (pa.types.is_float64, types.DoubleType()),
    (pa.types.is_date32, types.DateType()),
    (pa.types.is_string, types.StringType()),
    (pa.types.is_binary, types.BinaryType()),
)
_INTEGERS: Final = ("tinyint", "smallint", "int", "bigint")


# What is read


def tree_of_shape(readings: Iterable[Reading], held: frozenset[Reading]) -> Tree:
    """The columns of the file, of Variants with nothing but what these readings need; `held` are those whose residual holds something."""
    tree: Tree = {}
    # Whole groups come first, outer ones before inner ones, so that their fields keep the order of the file.
    for reading in sorted(readings, key=lambda one: (one.is_primitive or one.typed is None, len(one.trail))):
        steps: tuple[Step, ...] = (*reading.position, *reading.trail)
        if reading.typed is not None:
            put(tree, (*steps, _TYPED), _tree_of(reading.typed))
        if reading in held:
            put(tree, (*steps, _VALUE), types.BinaryType())
        if reading in held or (reading.typed is not None and not reading.is_primitive):
            put(tree, (*reading.position, _METADATA), types.BinaryType())
    return tree


def put(tree: Tree, steps: tuple[Step, ...], leaf: Tree | types.DataType) -> None:
    """Add to a tree what is at the end of these steps; an index stands for all elements."""
    for step in steps[:-1]:
        below = tree.setdefault(None if isinstance(step, int) else step, {})
        assert isinstance(below, dict)
        tree = below
    last = None if isinstance(steps[-1], int) else steps[-1]
    known = tree.setdefault(last, leaf if isinstance(leaf, types.DataType) else {})
    if isinstance(known, dict) and isinstance(leaf, dict):
        for name, inner in leaf.items():
            put(known, (0 if name is None else name,), inner)


def _tree_of(kind: pa.DataType) -> Tree | types.DataType:
    if pa.types.is_struct(kind):
        return {field.name: _tree_of(field.type) for field in kind}
    if is_list(kind):
        return {None: _tree_of(kind.value_type)}
    return spark_type(kind, hint=_HINT)


def struct_of(tree: Tree) -> types.StructType:
    """A tree as a schema to read with."""
    return types.StructType([types.StructField(name or "", _type_of(inner)) for name, inner in tree.items()])


def _type_of(tree: Tree | types.DataType) -> types.DataType:
    if isinstance(tree, types.DataType):
        return tree
    return types.ArrayType(_type_of(tree[None])) if None in tree else struct_of(tree)


# What is made of it


def quoted(name: str) -> str:
    """A name in backticks, so that nothing in it means anything."""
    return "`" + name.replace("`", "``") + "`"


def column_at(steps: tuple[Step, ...]) -> Column:
    """What is at the end of these steps from a row on; null where anything on the way is."""
    made = functions.col(quoted(str(steps[0])))
    for step in steps[1:]:
        if isinstance(step, str):
            made = made.getField(step)
        elif step >= 0:
            made = functions.get(made, functions.lit(step))
        else:
            made = functions.try_element_at(made, functions.lit(step))
    return made


def residual(reading: Reading) -> Column:
    """The `value` that a reading may come from."""
    return column_at((*reading.position, *reading.trail, _VALUE))


def computed(reading: Reading, target: pa.DataType | None, *, is_held: bool) -> Column:
    """The value at a path of a Variant that is read as a struct; `is_held` says whether its residual is looked at."""
    if reading.typed is not None and not reading.is_primitive:
        group = column_at((*reading.position, *reading.trail))
        return _cast(_putting_together(is_element=reading.is_element)(_metadata(reading), group), target)
    typed = None if reading.typed is None else typed_as(column_at((*reading.position, *reading.trail, _TYPED)), reading.typed, target)
    if not is_held:
        return functions.lit(None).cast(_target(target)) if typed is None else typed
    value = residual(reading)
    assert reading.rest is not None
    decoded = _cast(_decoding(reading.rest)(functions.when(value.isNotNull(), _metadata(reading)), value), target)
    return decoded if typed is None else functions.when(value.isNotNull(), decoded).otherwise(typed)


def native(reading: Reading, target: pa.DataType | None) -> Column:
    """The value at a path of a Variant that Spark reads itself."""
    assert reading.rest is not None
    variant = column_at(reading.position)
    return _cast(_extracting(reading.rest)(variant) if reading.rest.steps else variant, target)


def _metadata(reading: Reading) -> Column:
    return column_at((*reading.position, _METADATA))


def _target(target: pa.DataType | None) -> types.DataType:
    return types.VariantType() if target is None else spark_type(target)


def _cast(variant: Column, target: pa.DataType | None) -> Column:
    return variant if target is None else functions.try_variant_get(variant, "$", spark_type(target).simpleString())


def typed_as(column: Column, kind: pa.DataType, target: pa.DataType | None) -> Column:
    """A typed column as another type, as `try_variant_get` casts the Variants of its values."""
    if target is None:
        return column.cast(types.VariantType())
    before, after = spark_type(kind, hint=_HINT), spark_type(target)
    if isinstance(before, (types.FloatType, types.DoubleType)):
        # Itself, but not for a filter on the file: statistics do not tell of NaN, and dictionaries tell 0.0 from -0.0.
        column = functions.nanvl(column, functions.lit(math.nan).cast(before))
    if before == after:
        return column
    return column.cast(after) if _is_exact(before, after) else _cast(column.cast(types.VariantType()), target)


def _is_exact(before: types.DataType, after: types.DataType) -> bool:
    """Whether a plain cast never fails and does the same as that of a Variant: each value becomes itself, or the double next to it."""
    if isinstance(before, types.DecimalType) and isinstance(after, types.DecimalType):
        return bool(after.scale >= before.scale and after.precision - after.scale >= before.precision - before.scale)
    names = before.simpleString(), after.simpleString()
    if names[1] == "double":
        return isinstance(before, (types.DecimalType, types.FloatType)) or names[0] in _INTEGERS
    return names[0] in _INTEGERS and names[1] in _INTEGERS[_INTEGERS.index(names[0]) :]


# What is made of it in Python


def in_python(work: Callable[..., pa.Array], kind: types.DataType) -> Any:
    """A function of Arrow arrays as one of Spark's columns; its type hints tell Spark what it is."""
    return arrow_udf(work, kind)  # type: ignore[call-overload]


def _decoding(rest: Path) -> Any:
    """What a residual has at the rest of a path."""

    def decode_residual(metadata: pa.Array, value: pa.Array) -> pa.Array:
        names, values = _settled(metadata).fill_null(EMPTY_METADATA), _settled(value)
        fields = [pa.field(_METADATA, pa.binary()), pa.field(_VALUE, pa.binary())]
        variants = pa.StructArray.from_arrays([names, values], fields=fields, mask=pc.is_null(values))
        return to_spark(extract(variants, rest, threads=1))

    return in_python(decode_residual, types.VariantType())


def _putting_together(*, is_element: bool) -> Any:
    """A group that is an object or array, as a Variant."""

    def put_group_together(metadata: pa.Array, group: pa.Array) -> pa.Array:
        names, group = _settled(metadata), _settled(group)
        typed = down(group, (_TYPED,))
        value = down(group, (_VALUE,)) if group.type.get_field_index(_VALUE) >= 0 else pa.nulls(len(group), pa.binary())
        is_there = pc.is_valid(group) if is_element else pc.or_(pc.is_valid(value), pc.is_valid(typed))
        fields = [pa.field(_METADATA, pa.binary()), pa.field(_VALUE, pa.binary()), pa.field(_TYPED, typed.type)]
        made = pa.StructArray.from_arrays([names, value, typed], fields=fields, mask=pc.invert(is_there))
        return to_spark(unshred(made, layout="parquet", threads=1))

    return in_python(put_group_together, types.VariantType())


def _extracting(path: Path) -> Any:
    """What whole Variants have at a path."""

    def extract_path(variant: pa.Array) -> pa.Array:
        return to_spark(extract(from_spark(variant, "")[0], path, threads=1))

    return in_python(extract_path, types.VariantType())


def _settled(array: pa.Array) -> pa.Array:
    """An array as a file has it: Spark's timestamps are in the zone of the session, and its texts and bytes may be large."""
    kind = _settled_type(array.type)
    return array if kind == array.type else array.cast(kind)


def _settled_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_settled_type(field.type)) for field in kind])
    if is_list(kind):
        return pa.list_(kind.value_field.with_type(_settled_type(kind.value_type)))
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp("us", "UTC")
    if pa.types.is_large_binary(kind):
        return pa.binary()
    return pa.string() if pa.types.is_large_string(kind) else kind
