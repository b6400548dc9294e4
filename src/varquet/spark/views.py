"""`view`: a shredded table as a DataFrame of typed columns, from which Spark reads only the columns, row groups and pages it needs.

Spark's own reader puts whole Variants together before it looks at a path. A view reads the columns of the file instead:

    files of one shape, no residual can hold anything     one scan of typed columns
    some residual beside a typed column holds something   two scans: of rows in which all of them are null, of typed columns;
                                                          and of the other rows, whose residuals are decoded in Python
    names that differ in case only                        Spark's own reader

and is the union of these. Which files are read how is decided by their footers when the view is made.
"""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession, functions, types

from varquet.columns.threads import in_order
from varquet.errors import UnsupportedTypeError
from varquet.queries.binding import no_column
from varquet.queries.dataset import Dataset, FoundFile, Moment, Source, find_dataset
from varquet.queries.expressions import Operand, Predicate, Query, operands_of
from varquet.queries.in_files import FilesSource
from varquet.queries.scanning import Scan, Selection
from varquet.spark.arrow import spark_schema_of
from varquet.spark.locations import base_of, is_native, read_by_source, read_files, uris_of
from varquet.spark.predicates import condition
from varquet.spark.tasks import run_numbered
from varquet.spark.view_access import FileFacts, Reading, Shape, facts_of
from varquet.spark.view_columns import Tree, column_at, computed, native, put, residual, spark_type, struct_of, tree_of_shape
from varquet.spark.view_map_access import MapReading, WholeMap
from varquet.spark.view_maps import add_map, map_value, value_type, whole_map

__all__ = ["view"]

_CONF: Final = "spark.sql.parquet.ignoreVariantAnnotation"
# So many footers are read by the driver itself, by a few threads; more of them by the workers.
_FEW_FILES: Final = 64
_FOOTER_THREADS: Final = 4
_FILES_PER_TASK: Final = 32


def view(
    spark: SparkSession,
    path: Source,
    columns: Selection,
    *,
    where: Predicate | str | None = None,
    column: str | None = None,
    name: str | None = None,
    version: int | None = None,
    timestamp: Moment | None = None,
) -> DataFrame:
    """A DataFrame of typed columns over the columns of shredded files; each is what `try_variant_get` gives, at less cost.

        events = view(spark, "events/", {"user": "$.user.id bigint", "geo": "$.user.geo", "day": "day"})
        events.where("user = 7").select("geo")

    Filters on typed columns skip row groups and pages, and only the columns of the file that a query needs are read. Those on columns
    that are stored as `float` or `double` skip nothing, because statistics do not tell of NaN and -0.0. The order of rows is not kept.

    The view is of the files as they are now: files that are added later are not in it, and files that are replaced must be looked at
    by another view.

    The session's `spark.sql.parquet.ignoreVariantAnnotation` is set to true, without which Spark does not read the columns below a
    Variant; other reads, of Variants too, give what they gave before. While it is false, reading the view fails.

    Args:
        spark: the session.
        path: a file, a folder (all *.parquet in it and below), a Delta table, a glob, several of them, or URIs that both Spark and
            pyarrow know.
        columns: by name, or as a list, what `Scan.select` takes: a path with a type ("$.user.id bigint") is a column of this type, a path
            without one a `variant`, and anything else a column of the file or of its partitions as it is.
        where: a predicate as for `Scan.where`: the view has only the rows of which it is true. What a Delta table's log tells of its
            files rules some out before any is opened.
        column: the Variant column of paths that do not name one; the only one by default.
        name: makes a temporary view of this name as well, for SQL.
        version, timestamp: an earlier version of a Delta table, by its number or by a time.
    """
    scan = Scan(FilesSource(find_dataset(path, version=version, timestamp=timestamp), column, None), Query()).select(columns)
    select = dict(scan.query.select or {})
    if not select:
        raise UnsupportedTypeError("expected the columns of a view, got none")
    dataset = scan.dataset
    hidden: dict[tuple[Any, ...], str] = {}
    predicate = None
    if where is not None:
        scan = scan.where(where)
        predicate = scan.typed_predicate()
        known = {operand.key: one for one, operand in select.items()}
        for operand in operands_of(predicate):
            if operand.key not in known:
                hidden[operand.key] = known[operand.key] = f"__where_{len(hidden)}"
                select[known[operand.key]] = operand
        dataset = replace(dataset, files=[dataset.files[number] for number in scan.files_that_may_match()])
    made = _whole(spark, path, dataset, select, column, version=version, timestamp=timestamp)
    if predicate is not None:
        made = made.where(condition(predicate, lambda operand: made[known[operand.key]])).drop(*hidden.values())
    if name is not None:
        made.createOrReplaceTempView(name)
    return made


def _whole(
    spark: SparkSession, path: Source, dataset: Dataset, select: Mapping[str, Operand], column: str | None, **moment: Any
) -> DataFrame:
    """All rows of the files."""
    for operand in select.values():
        if operand.type is not None:
            spark_type(operand.type, hint="cast it to another type, or leave the type out for a variant")
    found = [file for file in dataset.files if is_native(file, dataset)]
    folders = {one for file in found for one in file.partitions}
    partitions = frozenset(operand.column or "" for operand in select.values() if operand.path is None) & folders
    facts = _facts(spark, found, select, column, partitions)
    uris = uris_of(path, found)
    base = base_of(uris) if partitions else None
    if dataset.schema is None:
        kinds = _ordinary_types(spark, select, facts, uris, partitions, base, column)
    else:
        kinds = {field.name: field.dataType for field in spark_schema_of(dataset.schema)}
    if not all(one.shape.is_native for one in facts):
        spark.conf.set(_CONF, "true")
    nothing = _types_of_keys(select, facts)
    frames = [frame for group in _groups(facts, uris) for frame in _frames(spark, group, select, kinds, nothing, base)]
    if len(found) < len(dataset.files):
        others = [file for file in dataset.files if not is_native(file, dataset)]
        texts = json.dumps({name: operand.text() for name, operand in select.items()})
        frames.append(read_by_source(spark, path, others, select=texts, column=column, **moment))
    if not frames:
        return spark.createDataFrame([], types.StructType([_field(name, operand, kinds) for name, operand in select.items()]))
    return functools.reduce(lambda above, below: above.union(below), frames)


def _field(name: str, operand: Operand, kinds: Mapping[str, types.DataType]) -> types.StructField:
    if operand.type is not None:
        return types.StructField(name, spark_type(operand.type))
    return types.StructField(name, types.VariantType() if operand.path is not None else kinds[operand.column or ""])


# What their footers say


def _facts(
    spark: SparkSession, files: Sequence[FoundFile], select: Mapping[str, Operand], column: str | None, partitions: frozenset[str]
) -> list[FileFacts]:
    if len(files) <= _FEW_FILES:
        return list(in_order(lambda file: facts_of(file, select, column, partitions), files, _FOOTER_THREADS))

    def read_footers(number: int) -> list[FileFacts]:
        first = number * _FILES_PER_TASK
        return [facts_of(file, select, column, partitions) for file in files[first : first + _FILES_PER_TASK]]

    told = run_numbered(spark, read_footers, -(-len(files) // _FILES_PER_TASK), "footers for a view")
    return [facts for some in told for facts in some]


def _ordinary_types(
    spark: SparkSession,
    select: Mapping[str, Operand],
    facts: Sequence[FileFacts],
    uris: Sequence[str],
    partitions: frozenset[str],
    base: str | None,
    column: str | None,
) -> dict[str, types.DataType]:
    """The types of the columns that are no Variants, as Spark tells them; a column that no file has is a mistake."""
    known: dict[str | None, types.StructType] = {}

    def schema_of(uri: str | None) -> types.StructType:
        """The schema of a file, or of all with their partitions."""
        if uri not in known:
            known[uri] = (read_files(spark, uris, base) if uri is None else read_files(spark, [uri], None)).schema
        return known[uri]

    kinds: dict[str, types.DataType] = {}
    for number, operand in enumerate(select.values()):
        first = next((uri for uri, one in zip(uris, facts, strict=True) if one.is_there[number]), None)
        if first is None:
            raise no_column(operand.column or column or "", schema_of(None).names)
        if operand.path is None:
            name = operand.column or ""
            schema = schema_of(None if name in partitions else first)
            if name not in schema.names:
                raise no_column(name, schema.names)
            kinds[name] = schema[name].dataType
    return kinds


def _types_of_keys(select: Mapping[str, Operand], facts: Sequence[FileFacts]) -> dict[str, types.DataType]:
    """The types of keys of maps, for files that have no such map."""
    found: dict[str, types.DataType] = {}
    for number, name in enumerate(select):
        reading = next((one.shape.readings[number] for one in facts if isinstance(one.shape.readings[number], MapReading)), None)
        if isinstance(reading, MapReading):
            found[name] = value_type(reading.kind)
    return found


# How they are read


@dataclass(frozen=True, slots=True)
class _Group:
    """Files that are read alike."""

    shape: Shape
    is_held: tuple[bool, ...]
    uris: tuple[str, ...]


def _groups(facts: Sequence[FileFacts], uris: Sequence[str]) -> list[_Group]:
    """The files by shape; those in which a residual holds something beside a typed column apart from the others."""
    members: dict[tuple[Shape, bool], list[int]] = {}
    for number, one in enumerate(facts):
        members.setdefault((one.shape, bool(_conflicts(one.shape, one.is_held))), []).append(number)
    return [
        _Group(
            shape,
            tuple(any(facts[number].is_held[k] for number in numbers) for k in range(len(shape.readings))),
            tuple(uris[number] for number in numbers),
        )
        for (shape, _), numbers in members.items()
    ]


def _conflicts(shape: Shape, is_held: Sequence[bool]) -> list[Reading]:
    """The readings that come from a typed column in some rows and from its residual in others."""
    pairs = zip(shape.readings, is_held, strict=True)
    return list(dict.fromkeys(reading for reading, held in pairs if held and isinstance(reading, Reading) and reading.is_primitive))


def _frames(
    spark: SparkSession,
    group: _Group,
    select: Mapping[str, Operand],
    kinds: Mapping[str, types.DataType],
    nothing: Mapping[str, types.DataType],
    base: str | None,
) -> list[DataFrame]:
    readings = group.shape.readings
    pairs = list(zip(readings, group.is_held, strict=True))
    paths = [reading for reading in readings if isinstance(reading, Reading) and reading.rest is not None]
    if group.shape.is_native:
        tree: Tree = {}
    else:
        tree = tree_of_shape(paths, frozenset(reading for reading, held in pairs if held and isinstance(reading, Reading)))
    for reading in readings:
        if isinstance(reading, (MapReading, WholeMap)):
            add_map(tree, reading)
        elif reading is not None and reading.rest is None:
            put(tree, reading.position, kinds[reading.position[0]])
    if group.shape.is_native:
        for reading in paths:
            if not isinstance(tree.get(reading.position[0]), types.DataType):
                put(tree, reading.position, types.VariantType())
    frame = read_files(spark, group.uris, base, struct_of(tree))

    def selected(*, with_residuals: bool) -> list[Column]:
        made: list[Column] = []
        for (name, operand), (reading, held) in zip(select.items(), pairs, strict=True):
            if reading is None:
                one = functions.lit(None).cast(nothing.get(name, types.VariantType()) if operand.type is None else spark_type(operand.type))
            elif isinstance(reading, MapReading):
                one = map_value(reading, operand.type)
            elif isinstance(reading, WholeMap):
                one = whole_map(reading)
            elif reading.rest is None:
                one = column_at(reading.position)
                one = one if operand.type is None else one.cast(spark_type(operand.type))
            elif group.shape.is_native:
                one = native(reading, operand.type)
            else:
                one = computed(reading, operand.type, is_held=held and (with_residuals or not reading.is_primitive))
            made.append(one.alias(name))
        return made

    # Of a path with a type a Variant null is a null, which its typed column has there anyway.
    conflicts = {
        (reading, operand.type is None)
        for (reading, held), operand in zip(pairs, select.values(), strict=True)
        if held and isinstance(reading, Reading) and reading.is_primitive
    }
    if not conflicts:
        return [frame.select(*selected(with_residuals=True))]
    null = functions.lit(bytearray(b"\x00"))
    values = [(residual(reading), counts_nulls) for reading, counts_nulls in sorted(conflicts, key=repr)]
    is_held = functools.reduce(operator.or_, [value.isNotNull() if counts else value != null for value, counts in values])
    is_free = functools.reduce(operator.and_, [value.isNull() if counts else value.isNull() | (value == null) for value, counts in values])
    return [frame.where(is_free).select(*selected(with_residuals=False)), frame.where(is_held).select(*selected(with_residuals=True))]
