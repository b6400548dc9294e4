"""`convert`: files from any layout to any other, every row verified on the way.

The columns of a file that we shredded ourselves go over as they are where the schema stays the same: only what lies in
residuals is written anew. Everything else is put together and shredded again. Either way every row has a number made of its
value (`fingerprint`) before and after, from the columns that are about to be written.
"""

from __future__ import annotations

import functools
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from varquet.columns.arrow import Column, integers_of, validity_of, variant_field
from varquet.columns.fingerprint import fingerprint
from varquet.columns.parse_json import parse_json
from varquet.columns.threads import thread_count
from varquet.columns.to_json import to_json
from varquet.errors import UnsupportedTypeError, VarquetError
from varquet.layouts.fingerprints import ShreddedColumn, fingerprint_shredded
from varquet.layouts.map_keys import MapKeysLike
from varquet.layouts.shredding import LAYOUTS, LayoutName, shred_at_once, shredded_type, unshred
from varquet.parquet.footer import CONTENT_KEY, JSON_KEY, SCHEMA_KEY
from varquet.parquet.json_rows import json_texts
from varquet.parquet.maps import (
    MapPositionError,
    Maps,
    joined_columns,
    map_position,
    plan_maps,
    recorded_maps,
    sorted_maps,
    split_columns,
    split_schema,
    stored_maps,
)
from varquet.parquet.plans import PinnedSchemas
from varquet.parquet.positions import Position, field_at, locate_error, positions_named, replace_type, replace_values
from varquet.parquet.reader import OpenFile, Source, files_of, open_file
from varquet.parquet.writer import ROW_GROUP_BYTES, ROW_GROUP_ROWS, FileWriter
from varquet.schema import ShreddingSchema

__all__ = ["Content", "ConvertedFile", "TargetLayout", "convert"]

TargetLayout: TypeAlias = Literal["parquet", "draft", "unshredded", "json"]
Plan: TypeAlias = "ShreddingSchema | str | Mapping[str | Position, ShreddingSchema | str] | PinnedSchemas"

# What is not put together needs no cache for it; larger batches cost less.
BATCH_ROWS: Final = 32_768

_REPORT: Final = "nothing was written; please report it"
_TARGETS: Final = ("parquet", "draft", "unshredded", "json")


@dataclass(frozen=True, slots=True)
class Content:
    """What is in a column, however it is stored."""

    values: int
    """How many there are that are not SQL NULL."""
    fingerprint: str
    """The sum of their fingerprints, in 16 hexadecimal digits; it says nothing of their order."""


@dataclass(frozen=True, slots=True)
class ConvertedFile:
    """One file that was converted, and what was found in it."""

    source: str
    path: str
    rows: int
    size: int
    contents: dict[str, Content]
    """By the names of its Variant columns."""


def convert(
    source: Source,
    dest: str | os.PathLike[str],
    layout: TargetLayout = "parquet",
    plan: Plan | None = None,
    *,
    maps: Maps | None = None,
    json_columns: Sequence[str | Position] = (),
    overwrite: bool = False,
    compression: str = "zstd",
    compression_level: int | None = None,
    row_group_rows: int = ROW_GROUP_ROWS,
    row_group_bytes: int = ROW_GROUP_BYTES,
    on_rows: Callable[[int], None] | None = None,
    threads: int | None = None,
) -> list[ConvertedFile]:
    """Write Parquet files again with their Variants and maps in another layout, and make sure that no value changes.

    Every row is compared with itself: the fingerprint of its value as it was read with that of the columns about to be
    written. A difference is an error, and leaves no file. The number of values and the sum of their fingerprints stand in the
    footer of what is written, under `varquet.content`. Files of any size are read a few batches at a time.

    Args:
        source: a file, a folder (all *.parquet in it and below), a glob, or several of them.
        dest: the file to write where the source is one file; else the folder in which each file gets its name again.
        layout: "parquet", the standard's; "draft", that of the first Spark draft; "unshredded", the standard's without any typed
            column; or "json", a column of JSON text. Text has fewer types than Variants: what it cannot tell apart, such as
            dates and strings, is an error.
        plan: a Plan, or the shredding schema of each Variant column by name, or one for the only one; columns without keep what
            they have.
        maps: the hot keys of columns of maps, see `write`; an empty list makes them plain maps. By default those of the plan, and of
            other columns those that they have; without typed columns there are none.
        json_columns: columns of JSON text that are to become Variants; those that `convert` made are known.
        overwrite: replace existing files; without it that is an error.
        compression, compression_level, row_group_rows, row_group_bytes: as for `write`.
        on_rows: told how many more rows have been read.
        threads: how many threads to use; by default VARQUET_THREADS or all cores.
    """
    if layout not in _TARGETS:
        raise UnsupportedTypeError(f"expected a layout to convert to, got {layout!r}", hint="they are " + ", ".join(map(repr, _TARGETS)))
    if plan is not None and layout in ("unshredded", "json"):
        raise UnsupportedTypeError(f"expected no plan for a layout without typed columns, got one for {layout!r}")
    pairs = _targets(source, dest)
    options: dict[str, Any] = {
        "overwrite": overwrite,
        "compression": compression,
        "compression_level": compression_level,
        "row_group_rows": row_group_rows,
        "row_group_bytes": row_group_bytes,
        "threads": thread_count(threads),
    }
    # All of them are looked at before the first is written.
    conversions = [_Conversion(path, target, layout, plan, maps, json_columns) for path, target in pairs]
    for conversion in conversions:
        if conversion.target.exists() and not overwrite:
            raise UnsupportedTypeError(
                f"expected a new file, got {str(conversion.target)!r}, which exists", hint="overwrite=True replaces it"
            )
    return [conversion.run(on_rows or (lambda _: None), options) for conversion in conversions]


def _targets(source: Source, dest: str | os.PathLike[str]) -> list[tuple[str, FilePath]]:
    """The files, and the name that each gets; nothing may be read and written at once."""
    files = files_of(source)
    folder = FilePath(dest)
    if len(files) == 1 and isinstance(source, (str, os.PathLike)) and not FilePath(source).is_dir() and not folder.is_dir():
        pairs = [(files[0], folder)]
    else:
        if folder.exists() and not folder.is_dir():
            raise UnsupportedTypeError(f"expected a folder for the files of {str(source)!r}, got {str(folder)!r}, which is none")
        base = FilePath(os.path.commonpath([FilePath(file).resolve().parent for file in files]))
        pairs = [(file, folder / FilePath(file).resolve().relative_to(base)) for file in files]
    sources = {FilePath(file).resolve() for file in files}
    for file, target in pairs:
        if target.resolve() in sources:
            raise UnsupportedTypeError(f"expected another place for what is made of {file!r}, got {str(target)!r}, which is read")
    return pairs


@dataclass(frozen=True, slots=True)
class _Step:
    """What becomes of one column."""

    position: Position
    source: LayoutName | Literal["json"]
    source_schema: ShreddingSchema
    target: LayoutName | Literal["json"]
    schema: ShreddingSchema
    is_ours: bool

    def convert(self, array: pa.Array) -> tuple[pa.Array, pa.Array]:
        """The column as it is to be written, and the fingerprints of its values."""
        if self.is_ours and self.schema == self.source_schema and self.source != "json" and self.target != "json":
            column = ShreddedColumn(array, LAYOUTS[self.source], self.schema)
            before = column.fingerprints()
            made = column.transcode(LAYOUTS[self.target])
            self.refuse(column.differs(ShreddedColumn(made, LAYOUTS[self.target], self.schema)))
        else:
            variants = self.values(array)
            before = fingerprint(variants, threads=1)
            made = self.stored(variants)
            self.compare(before, made)
        return made, before

    def values(self, array: pa.Array) -> Column:
        if self.source == "json":
            return parse_json(array, shared_metadata=True, threads=1)
        return unshred(array, layout=self.source, threads=1)

    def stored(self, variants: Column) -> pa.Array:
        if self.target == "json":
            return to_json(variants, threads=1)
        return shred_at_once(variants, self.schema, layout=self.target)

    def compare(self, before: pa.Array, made: pa.Array) -> None:
        """An error if what is to be written has not these fingerprints."""
        if self.target == "json":
            after = fingerprint(parse_json(made, shared_metadata=True, threads=1), threads=1)
        else:
            after = fingerprint_shredded(made, LAYOUTS[self.target], self.schema)
        valid, now = validity_of(before), validity_of(after)
        self.refuse((valid != now) | ((valid == 1) & (integers_of(before) != integers_of(after))))

    def refuse(self, differs: npt.NDArray[Any]) -> None:
        """An error for the first row that is not what it was."""
        if differs.any():
            raise VarquetError(
                f"expected the same value in the layout {self.target!r}, got another one",
                row=int(np.flatnonzero(differs)[0]),
                hint="JSON text has no types for dates, timestamps, binary and the like, nor floats of 32 bits: keep the column a Variant"
                if self.target == "json"
                else _REPORT,
            )


class _Conversion:
    """One file on its way."""

    def __init__(
        self,
        path: str,
        target: FilePath,
        layout: TargetLayout,
        plan: Plan | None,
        maps: Maps | None,
        json_columns: Sequence[str | Position],
    ) -> None:
        self.path = path
        self.target = target
        self.layout: LayoutName = "draft" if layout == "draft" else "parquet"
        self.file = open_file(path)
        schemas = _schemas(self.file, plan, json_columns)
        self.steps = [
            _Step(
                position,
                source,
                found,
                "json" if layout == "json" else self.layout,
                ShreddingSchema.value() if layout in ("unshredded", "json") else schemas.get(position, found).writable(),
                SCHEMA_KEY in self.file.recorded,
            )
            for position, source, found in _columns(self.file, json_columns)
        ]
        self.is_json = layout == "json"
        self.logical, self.physical = self.file.joined, self.file.joined
        for step in self.steps:
            self.logical = _changed(self.logical, step.position, self.logical_field)
            self.physical = _changed(self.physical, step.position, functools.partial(self.stored_field, step))
        hot = {} if layout in ("unshredded", "json") else _hot_keys(self.file, plan)
        self.maps = plan_maps(self.logical, {**hot, **{map_position(name, self.logical): keys for name, keys in (maps or {}).items()}})
        self.stored = split_schema(self.physical, self.maps)
        # How what is about to be written is put together again, to be compared with what was read.
        nothing = {position: [0] * len(keys) for position, keys in self.maps.items()}
        self.stored_maps = stored_maps(self.stored, recorded_maps(self.maps, nothing), {})
        self.beside: list[dict[Position, list[int]]] = []
        self.sums = {step.position: 0 for step in self.steps}
        self.values = {step.position: 0 for step in self.steps}
        self.lock = threading.Lock()

    def logical_field(self, field: pa.Field) -> pa.Field:
        if self.is_json:
            return pa.field(field.name, pa.string(), field.nullable)
        return variant_field(field.name, nullable=field.nullable, shared_metadata=True)

    def stored_field(self, step: _Step, field: pa.Field) -> pa.Field:
        stored = pa.string() if self.is_json else shredded_type(step.schema, layout=self.layout, shared_metadata=True)
        return pa.field(field.name, stored, field.nullable)

    def run(self, on_rows: Callable[[int], None], options: dict[str, Any]) -> ConvertedFile:
        self.target.parent.mkdir(parents=True, exist_ok=True)
        schemas: dict[str | Position, ShreddingSchema | str] = {}
        if not self.is_json:
            schemas |= {step.position: step.schema for step in self.steps}
        with FileWriter(self.target, self.logical, schemas, maps=self.maps, layout=self.layout, is_shredded=True, **options) as writer:
            before = 0
            for batch in self.file.stored_batches(BATCH_ROWS):
                writer.write(functools.partial(self.convert, batch, before))
                before += batch.num_rows
                on_rows(batch.num_rows)
            writer.finish()
            for beside in self.beside:
                writer.count_beside(beside)
            expected = self.file.file.metadata.num_rows
            if writer.rows != expected:
                raise VarquetError(f"expected {expected} rows of {self.path!r}, got {writer.rows}", hint=_REPORT)
            contents = {".".join(position): Content(self.values[position], f"{self.sums[position]:016x}") for position in self.sums}
            writer.recorded[CONTENT_KEY] = json.dumps(
                {name: {"values": content.values, "fingerprint": content.fingerprint} for name, content in contents.items()}
            )
            if self.is_json:
                writer.recorded[JSON_KEY] = json.dumps([step.position for step in self.steps])
        return ConvertedFile(self.path, str(self.target), writer.written.rows, writer.written.size, contents)

    def convert(self, batch: pa.RecordBatch, before: int) -> pa.RecordBatch:
        columns = self.file.join_maps(batch, before)
        for step in self.steps:
            name = step.position[0]
            change = functools.partial(self.change, step, before)
            columns[name] = replace_values(columns[name], self.physical.field(name).type, step.position[1:], change)
        columns = self.split(columns, before)
        made = [
            columns[field.name] if columns[field.name].type == field.type else columns[field.name].cast(field.type) for field in self.stored
        ]
        return pa.RecordBatch.from_arrays(made, schema=self.stored)

    def split(self, columns: dict[str, pa.Array], before: int) -> dict[str, pa.Array]:
        """The columns with their maps taken apart, which are put together once more to see that they are the same."""
        try:
            made, beside = split_columns(columns, self.stored, self.maps)
            again = joined_columns(made, self.physical, self.stored_maps)
        except MapPositionError as failure:
            raise locate_error(failure.error, failure.position, before, f" of {self.path!r}") from None
        for name in {position[0] for position in self.maps}:
            field = self.physical.field(name)
            one, other = (sorted_maps(array, field.with_type(array.type)) for array in (columns[name], again[name]))
            if not one.equals(other):
                # Arrow says that NaN is not NaN.
                differs = np.flatnonzero(np.asarray(pc.not_equal(json_texts(one, field), json_texts(other, field))))
                if len(differs):
                    raise VarquetError(
                        f"column {name!r} of {self.path!r}: expected the same map, got another one",
                        row=before + int(differs[0]),
                        hint=_REPORT,
                    )
        with self.lock:
            self.beside.append(beside)
        return made

    def change(self, step: _Step, before: int, array: pa.Array) -> pa.Array:
        try:
            made, numbers = step.convert(array)
        except VarquetError as error:
            raise locate_error(error, step.position, before, f" of {self.path!r}") from None
        valid = validity_of(numbers) == 1
        total = int(np.sum(integers_of(numbers)[valid], dtype=np.uint64))
        with self.lock:
            self.sums[step.position] = (self.sums[step.position] + total) % (1 << 64)
            self.values[step.position] += int(np.count_nonzero(valid))
        return made


def _hot_keys(file: OpenFile, plan: Plan | None) -> dict[Position, MapKeysLike]:
    """The hot keys that the maps of a file have, or get by a plan."""
    found: dict[Position, MapKeysLike] = {position: one.keys for position, one in file.maps.items() if one.form != "shared"}
    for name, keys in () if plan is None or isinstance(plan, (str, ShreddingSchema, Mapping)) else plan.maps.items():
        found[map_position(name, file.joined)] = keys
    return found


def _columns(
    file: OpenFile, json_columns: Sequence[str | Position]
) -> list[tuple[Position, LayoutName | Literal["json"], ShreddingSchema]]:
    """The Variant columns of a file, and those of JSON text that shall be: where, in which layout, and how they are shredded."""
    found: list[tuple[Position, LayoutName | Literal["json"], ShreddingSchema]] = [
        (position, file.layouts.get(position, "parquet"), schema) for position, schema in file.variants.items()
    ]
    known = [tuple(position) for position in json.loads(file.recorded.get(JSON_KEY, "[]"))]
    named = [_json_position(name, file) for name in json_columns]
    found += [(position, "json", ShreddingSchema.value()) for position in dict.fromkeys((*known, *named))]
    return found


def _json_position(name: str | Position, file: OpenFile) -> Position:
    for position in positions_named(name):
        field = field_at(file.physical, position)
        if field is not None:
            if pa.types.is_string(field.type) or pa.types.is_large_string(field.type) or pa.types.is_binary(field.type):
                return position
            raise UnsupportedTypeError(f"expected a column of JSON text at {'.'.join(position)!r} of {file.path!r}, got {field.type}")
    raise UnsupportedTypeError(
        f"expected the name of a column of JSON text in {file.path!r}, got {name!r}",
        hint="the columns are " + ", ".join(map(repr, file.physical.names)),
    )


def _schemas(file: OpenFile, plan: Plan | None, json_columns: Sequence[str | Position]) -> dict[Position, ShreddingSchema]:
    """The schemas that a plan has for the columns of a file."""
    if plan is None:
        return {}
    positions = [position for position, _, _ in _columns(file, json_columns)]
    if isinstance(plan, (str, ShreddingSchema)):
        if len(positions) != 1:
            names = ", ".join(".".join(position) for position in positions) or "none"
            raise UnsupportedTypeError(
                f"expected one Variant column in {file.path!r} for one schema, got {names}", hint="pass a schema for each name"
            )
        return {positions[0]: _parsed(plan)}
    made: dict[Position, ShreddingSchema] = {}
    for name, schema in (plan if isinstance(plan, Mapping) else plan.schemas).items():
        position = next((one for one in positions_named(name) if one in positions), None)
        if position is None:
            raise UnsupportedTypeError(
                f"expected the name of a Variant column of {file.path!r}, got {name!r}",
                hint="they are " + ", ".join(".".join(one) for one in positions),
            )
        made[position] = _parsed(schema)
    return made


def _parsed(schema: ShreddingSchema | str) -> ShreddingSchema:
    return ShreddingSchema.parse(schema) if isinstance(schema, str) else schema


def _changed(schema: pa.Schema, position: Position, change: Callable[[pa.Field], pa.Field]) -> pa.Schema:
    index = schema.get_field_index(position[0])
    return schema.set(index, replace_type(schema.field(index), position[1:], change))
