"""varquet makes semi-structured data as fast as typed columns.

    parse_json(strings)           JSON text -> variant column
    to_json(column)               variant column -> JSON text
    extract(column, path, type)   one path -> typed Arrow column, or a smaller variant column
    validate(column)              are these bytes Variants?
    shred(column, schema)         variant column -> typed columns and a residual, the Parquet standard's layout
    unshred(column)               and back
    write(data, path, schemas)    a Parquet file with shredded Variant columns that others read
    read(path)                    any Parquet files with Variant columns, whoever wrote them
    inspect(path)                 what is in the columns of such files, path by path
    convert(src, dest, layout)    files from one layout to another, every value verified
    diff(left, right)             whether two datasets hold the same values, and where they do not
    write_table(data, path)       a table of many files, plain or Delta, in which rows can be added and replaced
    scan(path)                    queries on paths: only the columns and row groups they need, as Arrow
    profile(data)                 exact facts about every path: types, counts, ranges, sizes; profiles of parts merge
    choose(profile, policy)       the shredding schema that a policy chooses, with the reasons for every path
    Plan                          a table's schemas, pinned; evolve adapts them to drift without ever going back and forth
    fingerprint(column)           a number for every value that is the same for equal ones
    MapKeys                       which keys of a map become columns; maps_of_options reads them from table options
    ShreddingSchema               which paths become columns: "id bigint, user struct<name: string>"
    Variant                       one value, as a person handles it
    Path                          a singular RFC 9535 path, $.a['b.c'][0]

A variant column is an Arrow struct<metadata: binary, value: binary> (`VARIANT`, `variant_field`). Names are loaded when they
are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from varquet.columns.arrow import VARIANT, is_variant_type, variant_field
    from varquet.columns.extract import extract
    from varquet.columns.fingerprint import fingerprint
    from varquet.columns.parse_json import ParsedJson, parse_json
    from varquet.columns.to_json import to_json
    from varquet.columns.validate import validate
    from varquet.errors import (
        CastError,
        ConflictError,
        InvalidMapError,
        InvalidVariantError,
        JsonError,
        ParquetError,
        PathError,
        SchemaError,
        UnsupportedTypeError,
        VarquetError,
    )
    from varquet.layouts.map_keys import HotKey, MapKeys, maps_of_options
    from varquet.layouts.shredding import shred, unshred
    from varquet.parquet.convert import Content, ConvertedFile, convert
    from varquet.parquet.diff import Comparison, Difference, diff
    from varquet.parquet.inspect import Inspection, inspect
    from varquet.parquet.reader import read, read_batches
    from varquet.parquet.writer import FileWriter, WrittenFile, write
    from varquet.paths import Path
    from varquet.profiles.drifting import Drift, drift
    from varquet.profiles.facts import PathFacts, Profile
    from varquet.profiles.map_types import type_keys
    from varquet.profiles.plan import Change, ColumnPlan, Plan
    from varquet.profiles.policies import Choice, Decision, Options, choose
    from varquet.profiles.profiling import profile
    from varquet.queries.expressions import Operand, Predicate, Query, column, path
    from varquet.queries.grammar import QueryError
    from varquet.queries.scanning import Scan, scan
    from varquet.schema import ShreddingSchema
    from varquet.tables.write import write_table
    from varquet.variant.python import Timestamp
    from varquet.variant.value import Variant

__all__ = [
    "VARIANT",
    "CastError",
    "Change",
    "Choice",
    "ColumnPlan",
    "Comparison",
    "ConflictError",
    "Content",
    "ConvertedFile",
    "Decision",
    "Difference",
    "Drift",
    "FileWriter",
    "HotKey",
    "Inspection",
    "InvalidMapError",
    "InvalidVariantError",
    "JsonError",
    "MapKeys",
    "Operand",
    "Options",
    "ParquetError",
    "ParsedJson",
    "Path",
    "PathError",
    "PathFacts",
    "Plan",
    "Predicate",
    "Profile",
    "Query",
    "QueryError",
    "Scan",
    "SchemaError",
    "ShreddingSchema",
    "Timestamp",
    "UnsupportedTypeError",
    "Variant",
    "VarquetError",
    "WrittenFile",
    "__version__",
    "choose",
    "column",
    "convert",
    "diff",
    "drift",
    "extract",
    "fingerprint",
    "inspect",
    "is_variant_type",
    "maps_of_options",
    "parse_json",
    "path",
    "profile",
    "read",
    "read_batches",
    "scan",
    "shred",
    "to_json",
    "type_keys",
    "unshred",
    "validate",
    "variant_field",
    "write",
    "write_table",
]

try:
    __version__ = version("varquet")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+unknown"

_HOMES: Final = {
    "varquet.columns.arrow": ("VARIANT", "is_variant_type", "variant_field"),
    "varquet.columns.extract": ("extract",),
    "varquet.columns.fingerprint": ("fingerprint",),
    "varquet.columns.parse_json": ("ParsedJson", "parse_json"),
    "varquet.columns.to_json": ("to_json",),
    "varquet.columns.validate": ("validate",),
    "varquet.errors": (
        "CastError",
        "ConflictError",
        "InvalidMapError",
        "InvalidVariantError",
        "JsonError",
        "ParquetError",
        "PathError",
        "SchemaError",
        "UnsupportedTypeError",
        "VarquetError",
    ),
    "varquet.layouts.map_keys": ("HotKey", "MapKeys", "maps_of_options"),
    "varquet.layouts.shredding": ("shred", "unshred"),
    "varquet.parquet.convert": ("Content", "ConvertedFile", "convert"),
    "varquet.parquet.diff": ("Comparison", "Difference", "diff"),
    "varquet.parquet.inspect": ("Inspection", "inspect"),
    "varquet.parquet.reader": ("read", "read_batches"),
    "varquet.parquet.writer": ("FileWriter", "WrittenFile", "write"),
    "varquet.profiles.facts": ("PathFacts", "Profile"),
    "varquet.profiles.map_types": ("type_keys",),
    "varquet.profiles.drifting": ("Drift", "drift"),
    "varquet.profiles.plan": ("Change", "ColumnPlan", "Plan"),
    "varquet.profiles.policies": ("Choice", "Decision", "Options", "choose"),
    "varquet.profiles.profiling": ("profile",),
    "varquet.queries.expressions": ("Operand", "Predicate", "Query", "column", "path"),
    "varquet.queries.grammar": ("QueryError",),
    "varquet.queries.scanning": ("Scan", "scan"),
    "varquet.schema": ("ShreddingSchema",),
    "varquet.tables.write": ("write_table",),
    "varquet.paths": ("Path",),
    "varquet.variant.python": ("Timestamp",),
    "varquet.variant.value": ("Variant",),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'varquet' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
