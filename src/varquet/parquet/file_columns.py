"""What the columns of a Parquet file are: which hold Variants and maps, in which layout, shredded how, and what they are read as."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from varquet.columns.arrow import variant_field
from varquet.errors import ParquetError, UnsupportedTypeError, VarquetError
from varquet.layouts.shredding import LAYOUTS, LayoutName, layout_of
from varquet.parquet.elements import SchemaElement
from varquet.parquet.footer import LAYOUT_KEY, Footer
from varquet.parquet.maps import StoredMap, joined_schema, stored_maps
from varquet.parquet.plans import PinnedSchemas
from varquet.parquet.positions import Position, field_at, file_paths, positions_named, replace_type, schema_steps
from varquet.schema import ShreddingSchema
from varquet.schema.draft_form import UNTYPED

__all__ = ["FileColumns", "columns_of", "find_columns", "metadata_columns"]


@dataclass(frozen=True, slots=True)
class FileColumns:
    """The columns of one file, all of them or some."""

    physical: pa.Schema
    """As they are stored."""
    maps: Mapping[Position, StoredMap]
    """The columns of maps that are not stored as maps alone."""
    joined: pa.Schema
    """With maps put together, Variants as they are stored."""
    variants: Mapping[Position, ShreddingSchema]
    paths: Mapping[Position, tuple[str, ...]]
    """Of the Variants, as the file's own schema has them."""
    layouts: Mapping[Position, LayoutName]
    """Of the Variants that are not in the standard's."""
    schema: pa.Schema
    """With maps and Variants put together: as the file is read."""


def metadata_columns(footer: Footer) -> list[str]:
    """The dotted names of the metadata columns of the Variants that a file marks."""
    return [".".join((*variant, "metadata")) for variant in footer.variants() if _has_metadata(footer.schema, variant)]


def find_columns(
    file: pq.ParquetFile, footer: Footer, where: str, columns: Sequence[str] | None = None, plan: PinnedSchemas | None = None
) -> FileColumns:
    """The columns of a file, which `where` names in errors; see `read` for the arguments."""
    recorded = footer.key_value_metadata
    physical = file.schema_arrow
    maps = stored_maps(physical, recorded, {} if plan is None else plan.maps)
    if columns is not None:
        names = joined_schema(physical, maps).names
        unknown = [name for name in columns if name not in names]
        if unknown:
            raise UnsupportedTypeError(f"expected columns of {where!r}, got {unknown[0]!r}", hint="they are " + ", ".join(map(repr, names)))
        physical = pa.schema([physical.field(name) for column in columns for name in columns_of(column, maps)], physical.metadata)
        maps = {position: one for position, one in maps.items() if position[0] in columns}
    physical = physical.remove_metadata()
    planned = [_named(name, physical) for name in ([] if plan is None else plan.schemas)]
    annotated = set(footer.variants())
    variants: dict[Position, ShreddingSchema] = {}
    paths: dict[Position, tuple[str, ...]] = {}
    layouts: dict[Position, LayoutName] = {}
    recorded_layouts: dict[Position, LayoutName] = {
        tuple(position): layout for layout, *position in json.loads(recorded.get(LAYOUT_KEY, "[]"))
    }
    for position, field, names in file_paths(physical, footer.schema):
        if any(position[:length] in variants for length in range(1, len(position))):
            continue  # part of a Variant
        if names in annotated or (position in planned and layout_of(field.type) == "parquet"):
            variants[position] = _shredding(file, physical, position, field, where)
            paths[position] = names
        elif position in recorded_layouts or (layout_of(field.type) == "draft" and field.type.get_field_index(UNTYPED) >= 0):
            layouts[position] = recorded_layouts.get(position, "draft")
            if layouts[position] not in LAYOUTS:
                raise ParquetError(
                    f"column {'.'.join(position)!r} of {where!r}: expected one of the layouts {', '.join(LAYOUTS)}, got "
                    f"{layouts[position]!r}",
                    hint="a newer version of varquet wrote it",
                )
            variants[position] = LAYOUTS[layouts[position]].schemas_of(field.type)[0]
            paths[position] = names
    for position in planned:
        if position not in variants and (columns is None or position[0] in columns):
            raise UnsupportedTypeError(
                f"expected column {'.'.join(position)!r} of the plan in {where!r} as a Variant, got "
                f"{field_at(physical, position) or 'no such column'}",
                hint="the columns are " + ", ".join(map(repr, physical.names)),
            )
    joined = joined_schema(physical, maps)
    return FileColumns(physical, maps, joined, variants, paths, layouts, _as_read(joined, variants))


def columns_of(name: str, maps: Mapping[Position, StoredMap]) -> list[str]:
    """The columns of the file that a column is put together from."""
    stored = maps.get((name,))
    return [name] if stored is None else [name, *stored.sidecars]


def _as_read(schema: pa.Schema, variants: Mapping[Position, ShreddingSchema]) -> pa.Schema:
    for position in variants:
        index = schema.get_field_index(position[0])
        changed = replace_type(
            schema.field(index),
            position[1:],
            lambda field: variant_field(field.name, nullable=field.nullable, shared_metadata=True),
        )
        schema = schema.set(index, changed)
    return schema


def _named(name: str, physical: pa.Schema) -> Position:
    """The position that a name means, or the first that it could mean."""
    meant = positions_named(name)
    return next((position for position in meant if field_at(physical, position) is not None), meant[0])


def _shredding(file: pq.ParquetFile, physical: pa.Schema, position: Position, field: pa.Field, where: str) -> ShreddingSchema:
    if not pa.types.is_struct(field.type):
        raise UnsupportedTypeError(f"expected a group under the VARIANT annotation of {'.'.join(position)!r}, got {field.type}")
    steps = schema_steps(physical, position)
    try:
        return ShreddingSchema.from_parquet(file, position[0] if len(position) == 1 else steps)
    except VarquetError as error:
        error.message = f"column {'.'.join(position)!r} of {where!r}: {error.message}"
        raise


def _has_metadata(element: SchemaElement, path: Sequence[str]) -> bool:
    """Whether the group at a path has a metadata column, without which pyarrow could not even open the file as asked."""
    for name in path:
        element = next(child for child in element.children if child.name == name)
    return any(child.name == "metadata" for child in element.children)
