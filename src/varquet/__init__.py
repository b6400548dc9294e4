"""varquet makes semi-structured data as fast as typed columns.

    parse_json(strings)           JSON text -> variant column
    to_json(column)               variant column -> JSON text
    extract(column, path, type)   one path -> typed Arrow column, or a smaller variant column
    validate(column)              are these bytes Variants?
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
    from varquet.columns.parse_json import ParsedJson, parse_json
    from varquet.columns.to_json import to_json
    from varquet.columns.validate import validate
    from varquet.errors import CastError, InvalidVariantError, JsonError, PathError, UnsupportedTypeError, VarquetError
    from varquet.paths import Path
    from varquet.variant.python import Timestamp
    from varquet.variant.value import Variant

__all__ = [
    "VARIANT",
    "CastError",
    "InvalidVariantError",
    "JsonError",
    "ParsedJson",
    "Path",
    "PathError",
    "Timestamp",
    "UnsupportedTypeError",
    "VarquetError",
    "Variant",
    "__version__",
    "extract",
    "is_variant_type",
    "parse_json",
    "to_json",
    "validate",
    "variant_field",
]

try:
    __version__ = version("varquet")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+unknown"

_HOMES: Final = {
    "varquet.columns.arrow": ("VARIANT", "is_variant_type", "variant_field"),
    "varquet.columns.extract": ("extract",),
    "varquet.columns.parse_json": ("ParsedJson", "parse_json"),
    "varquet.columns.to_json": ("to_json",),
    "varquet.columns.validate": ("validate",),
    "varquet.errors": ("CastError", "InvalidVariantError", "JsonError", "PathError", "UnsupportedTypeError", "VarquetError"),
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
