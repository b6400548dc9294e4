"""What of the Delta protocol varquet reads and writes, and what it refuses, with the reason."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from varquet.delta.actions import Metadata, Protocol
from varquet.delta.schema import has_type
from varquet.errors import UnsupportedTypeError

__all__ = ["FEATURE", "SHREDDING", "check_readable", "check_writable", "is_shredding_enabled", "protocol_for"]

SHREDDING: Final = "delta.enableVariantShredding"
_VARIANT: Final = "variantType"
_SHREDDED: Final = "variantShredding"
_NTZ: Final = "timestampNtz"

_READ: Final = frozenset(
    {
        _VARIANT,
        f"{_VARIANT}-preview",
        _SHREDDED,
        f"{_SHREDDED}-preview",
        _NTZ,
        "deletionVectors",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "columnMapping",
    }
)
# Those whose rules are looked at below are written where they do not apply.
_WRITTEN: Final = _READ | {
    "appendOnly", "invariants", "checkConstraints", "generatedColumns", "changeDataFeed", "identityColumns", "rowTracking",
    "domainMetadata", "inCommitTimestamp", "allowColumnDefaults", "clustering",
}  # fmt: skip
# What properties of a new table need; those that readers need to know come first.
_BY_PROPERTY: Final = {
    ("delta.enableDeletionVectors", "true"): ("deletionVectors", True),
    ("delta.checkpointPolicy", "v2"): ("v2Checkpoint", True),
    ("delta.enableInCommitTimestamps", "true"): ("inCommitTimestamp", False),
    ("delta.enableChangeDataFeed", "true"): ("changeDataFeed", False),
    (SHREDDING, "true"): (_SHREDDED, True),
}
FEATURE: Final = "delta.feature."
"""Properties that ask for features of a new table, as other clients take them; they are not kept."""
_BY_FIELD: Final = {
    "delta.invariants": "columns with invariants",
    "delta.generationExpression": "generated columns",
    "delta.identity.start": "identity columns",
}


def check_readable(protocol: Protocol, metadata: Metadata, where: str) -> None:
    """An error if a table cannot be read right."""
    if protocol.reader > 3 or protocol.reader < 1:
        raise _unsupported(where, "read", f"reader version {protocol.reader}")
    _check_features(protocol.reader_features or (), _READ, where, "read")
    mapping = metadata.configuration.get("delta.columnMapping.mode", "none")
    if mapping != "none":
        raise _unsupported(where, "read", f"column mapping by {mapping}")
    if metadata.provider != "parquet":
        raise _unsupported(where, "read", f"files in the format {metadata.provider}")


def check_writable(protocol: Protocol, metadata: Metadata, where: str, *, changes_rows: bool) -> None:
    """An error if a table cannot be written right; `changes_rows` where rows that it has are changed or removed."""
    check_readable(protocol, metadata, where)
    if protocol.writer > 7:
        raise _unsupported(where, "write", f"writer version {protocol.writer}")
    _check_features(protocol.writer_features or (), _WRITTEN, where, "write")
    properties = metadata.configuration
    if changes_rows and properties.get("delta.appendOnly", "").lower() == "true":
        raise UnsupportedTypeError(f"expected to add rows only to {where}, whose property delta.appendOnly is true, got another change")
    for name in properties:
        if name.startswith("delta.constraints."):
            raise _unsupported(where, "write", f"the constraint {name.removeprefix('delta.constraints.')}")
    if properties.get("delta.enableRowTracking", "").lower() == "true":
        raise _unsupported(where, "write", "row tracking")
    for field in _fields(json.loads(metadata.schema_string)):
        for key, what in _BY_FIELD.items():
            if key in (field.get("metadata") or {}):
                raise _unsupported(where, "write", f"{what}, as {field['name']}")


def _check_features(given: Iterable[str], known: Iterable[str], where: str, verb: str) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise _unsupported(where, verb, f"the table feature{'' if len(unknown) == 1 else 's'} {', '.join(unknown)}")


def _unsupported(where: str, verb: str, what: str) -> UnsupportedTypeError:
    return UnsupportedTypeError(
        f"expected a Delta table that varquet can {verb}, got {where} with {what}", hint=f"{verb} it with Delta's own connector"
    )


def _fields(kind: Any) -> Iterable[dict[str, Any]]:
    waiting = [kind]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            for field in one.get("fields", ()):
                yield field
                waiting.append(field["type"])
            waiting += [one[key] for key in ("elementType", "keyType", "valueType") if key in one]


def is_shredding_enabled(protocol: Protocol, properties: Mapping[str, str]) -> bool:
    """Whether Variants may be written shredded: only if the property is exactly true, and readers are told."""
    return properties.get(SHREDDING) == "true" and protocol.supports(_SHREDDED)


def protocol_for(schema_string: str, properties: Mapping[str, str], current: Protocol | None) -> Protocol:
    """The protocol that a table needs, next to what it has: features go before the properties and types that need them."""
    both: set[str] = set()
    if has_type(schema_string, "variant") or properties.get(SHREDDING) == "true":
        both.add(_VARIANT)
    if has_type(schema_string, "timestamp_ntz"):
        both.add(_NTZ)
    if current is None:
        asked = [_BY_PROPERTY[one] for one in properties.items() if one in _BY_PROPERTY]
        named = [name.removeprefix(FEATURE) for name in properties if name.startswith(FEATURE)]
        asked += [(feature, feature in _READ) for feature in named]
        both |= {feature for feature, for_readers in asked if for_readers}
        all_of_them = both | {feature for feature, _ in asked}
        return Protocol(3, 7, frozenset(both), frozenset(all_of_them | {"appendOnly", "invariants"})) if all_of_them else Protocol(1, 2)
    if properties.get(SHREDDING) == "true":
        both.add(_SHREDDED)
    missing = {feature for feature in both if not current.supports(feature)}
    if not missing:
        return current
    readers = set(current.reader_features or ()) | missing
    writers = set(current.writer_features or ()) | missing | _implied(current)
    if current.reader == 2:
        readers.add("columnMapping")
    return Protocol(3, 7, frozenset(readers), frozenset(writers))


def _implied(protocol: Protocol) -> set[str]:
    """The features that an old writer version stands for."""
    if protocol.writer == 7:
        return set()
    by_version = {2: ("appendOnly", "invariants"), 3: ("checkConstraints",), 4: ("changeDataFeed", "generatedColumns")}
    by_version |= {5: ("columnMapping",), 6: ("identityColumns",)}
    return {feature for version, features in by_version.items() if version <= protocol.writer for feature in features}
