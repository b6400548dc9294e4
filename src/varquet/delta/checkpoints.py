"""Checkpoints: a whole snapshot in Parquet, so that nobody needs to read all commits.

They are written as one file, the classic form, which every client reads. Those of others are read in all forms: in parts, and as the
second version has them, with sidecars.
"""

from __future__ import annotations

import datetime
import decimal
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from varquet.columns.arrow import variant_field
from varquet.delta.actions import parse_lines
from varquet.delta.durations import milliseconds
from varquet.delta.files import LOG, CheckpointFiles, LogFiles
from varquet.delta.schema import from_delta
from varquet.delta.z85 import decode_variant, encode_variant
from varquet.parquet.folder import Folder
from varquet.parquet.positions import is_variant_field
from varquet.parquet.writer import write
from varquet.variant.value import Variant

if TYPE_CHECKING:
    from varquet.delta.snapshot import Snapshot

__all__ = ["clean_log", "read_checkpoint", "write_checkpoint"]

_TEXTS: Final = pa.map_(pa.string(), pa.string())
_LIST: Final = pa.list_(pa.field("element", pa.string()))
_VECTOR: Final = pa.struct(
    [
        pa.field("storageType", pa.string()),
        pa.field("pathOrInlineDv", pa.string()),
        pa.field("offset", pa.int32()),
        pa.field("sizeInBytes", pa.int32()),
        pa.field("cardinality", pa.int64()),
        pa.field("maxRowIndex", pa.int64()),
    ]
)
_LAST: Final = f"{LOG}/_last_checkpoint"
_DAY: Final = 24 * 3600 * 1000


def read_checkpoint(folder: Folder, checkpoint: CheckpointFiles) -> Iterator[dict[str, Any]]:
    """The actions of a checkpoint."""
    sidecars: list[str] = []
    for path in checkpoint.paths:
        for action in _actions_in(folder, path):
            if action.get("sidecar"):
                sidecars.append(action["sidecar"]["path"])
            else:
                yield action
    for path in sidecars:
        yield from _actions_in(folder, path if "/" in path else f"{LOG}/_sidecars/{path}")


def _actions_in(folder: Folder, path: str) -> Iterator[dict[str, Any]]:
    if path.endswith(".json"):
        yield from parse_lines(folder.read(path) or b"", path)
        return
    with folder.file(path).open() as opened:
        for batch in pq.ParquetFile(opened).iter_batches():
            for row in batch.to_pylist(maps_as_pydicts="lossy"):
                action = {kind: _told(data) for kind, data in row.items() if data is not None}
                add = action.get("add")
                if add is not None:
                    add.pop("partitionValues_parsed", None)
                    parsed = add.pop("stats_parsed", None)
                    if add.get("stats") is None and parsed is not None:
                        add["stats"] = json.dumps(_as_json(parsed), ensure_ascii=False)
                yield action


def _told(data: Any) -> Any:
    """What an action says; columns that it says nothing in are left out, as JSON leaves them out."""
    if not isinstance(data, dict):
        return data
    found = {name: value for name, value in data.items() if value is not None}
    if isinstance(found.get("deletionVector"), dict):
        found["deletionVector"] = {name: value for name, value in found["deletionVector"].items() if value is not None}
    return found


def _as_json(value: Any) -> Any:
    """Parsed statistics as the text has them."""
    if isinstance(value, dict):
        if value.keys() == {"metadata", "value"} and isinstance(value["metadata"], bytes):
            return encode_variant(value["metadata"], value["value"])
        return {name: made for name, one in value.items() if (made := _as_json(one)) is not None}
    if isinstance(value, datetime.datetime):
        text = value.replace(tzinfo=None).isoformat(timespec="microseconds")
        return f"{text}Z" if value.tzinfo is not None else text
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, (bytes, list)):
        return None
    return value if isinstance(value, (bool, int, float, str)) else None if value is None else float(value)


def write_checkpoint(snapshot: Snapshot) -> str:
    """Write the checkpoint of a snapshot, and say that it is the last one; its path."""
    assert snapshot.protocol is not None and snapshot.metadata is not None
    now = int(time.time() * 1000)
    kept = milliseconds(snapshot.properties.get("delta.deletedFileRetentionDuration"), 7 * _DAY)
    as_json = snapshot.properties.get("delta.checkpoint.writeStatsAsJson", "true").lower() != "false"
    as_struct = snapshot.properties.get("delta.checkpoint.writeStatsAsStruct", "false").lower() == "true"
    schema = from_delta(snapshot.metadata.schema_string)
    partitions = set(snapshot.metadata.partition_columns)
    parsed = _statistics_fields(schema, partitions) if as_struct else None
    values = None
    if as_struct and partitions:
        values = pa.field("partitionValues_parsed", pa.struct([schema.field(name) for name in snapshot.metadata.partition_columns]))
    adds = []
    for add in snapshot.files.values():
        data = add.to_dict()
        text = data.get("stats")
        if not as_json:
            data.pop("stats", None)
        if parsed is not None and text is not None:
            data["stats_parsed"] = _parsed(text, parsed)
        if values is not None:
            data["partitionValues_parsed"] = _parsed_struct(add.partition_values, values.type)
        adds.append({**data, "dataChange": False})
    removes = [data for data in snapshot.removed.values() if (data.get("deletionTimestamp") or 0) > now - kept]
    rows: list[dict[str, Any]] = [
        {"protocol": snapshot.protocol.to_dict()},
        {"metaData": snapshot.metadata.to_dict()},
        *({"txn": data} for data in snapshot.transactions.values()),
        *({"domainMetadata": data} for data in snapshot.domains.values()),
        *({"remove": {**data, "dataChange": False}} for data in removes),
        *({"add": data} for data in adds),
    ]
    table = pa.Table.from_pylist(_as_rows(rows), schema=_schema([one for one in (values, parsed) if one is not None]))
    path = f"{LOG}/{snapshot.version:020d}.checkpoint.parquet"
    with tempfile.TemporaryDirectory(prefix="varquet-") as made:
        local = os.path.join(made, "checkpoint.parquet")
        size = write(table, local, compression="snappy", threads=1).size
        snapshot.folder.upload(local, path)
    about = {"version": snapshot.version, "size": len(rows), "sizeInBytes": size, "numOfAddFiles": len(adds)}
    if snapshot.folder.filesystem is None:
        # Hadoop would compare the new file with the checksum of the one that it has written itself.
        snapshot.folder.delete(f"{LOG}/._last_checkpoint.crc")
    snapshot.folder.write(_LAST, json.dumps(about).encode())
    return path


def _schema(parsed: list[pa.Field]) -> pa.Schema:
    file = [pa.field("path", pa.string()), pa.field("partitionValues", _TEXTS), pa.field("size", pa.int64())]
    rows = [pa.field("baseRowId", pa.int64()), pa.field("defaultRowCommitVersion", pa.int64())]
    vector = pa.field("deletionVector", _VECTOR)
    add = [
        *file,
        pa.field("modificationTime", pa.int64()),
        pa.field("dataChange", pa.bool_()),
        pa.field("tags", _TEXTS),
        vector,
        *rows,
        pa.field("clusteringProvider", pa.string()),
        pa.field("stats", pa.string()),
        *parsed,
    ]
    remove = [
        *file,
        pa.field("deletionTimestamp", pa.int64()),
        pa.field("dataChange", pa.bool_()),
        pa.field("extendedFileMetadata", pa.bool_()),
        vector,
        *rows,
    ]
    form = pa.struct([pa.field("provider", pa.string()), pa.field("options", _TEXTS)])
    metadata = [
        pa.field("id", pa.string()),
        pa.field("name", pa.string()),
        pa.field("description", pa.string()),
        pa.field("format", form),
        pa.field("schemaString", pa.string()),
        pa.field("partitionColumns", _LIST),
        pa.field("configuration", _TEXTS),
        pa.field("createdTime", pa.int64()),
    ]
    protocol = [
        pa.field("minReaderVersion", pa.int32()),
        pa.field("minWriterVersion", pa.int32()),
        pa.field("readerFeatures", _LIST),
        pa.field("writerFeatures", _LIST),
    ]
    transaction = [pa.field("appId", pa.string()), pa.field("version", pa.int64()), pa.field("lastUpdated", pa.int64())]
    domain = [pa.field("domain", pa.string()), pa.field("configuration", pa.string()), pa.field("removed", pa.bool_())]
    parts = {"txn": transaction, "add": add, "remove": remove, "metaData": metadata, "protocol": protocol, "domainMetadata": domain}
    return pa.schema([pa.field(name, pa.struct(fields)) for name, fields in parts.items()])


def _as_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Actions as Arrow takes them: maps are lists of pairs."""
    maps = ("partitionValues", "tags", "configuration", "options")

    def pairs(data: dict[str, Any], name: str) -> Any:
        value = data[name]
        if name in maps and isinstance(value, dict):
            return list(value.items())
        if name == "format":
            return {**value, "options": list((value.get("options") or {}).items())}
        return value

    return [{kind: {name: pairs(data, name) for name in data} for kind, data in row.items()} for row in rows]


# Statistics as columns


def _statistics_fields(schema: pa.Schema, partitions: set[str]) -> pa.Field:
    """The column of parsed statistics of a table."""
    data = [field for field in schema if field.name not in partitions]
    bounds = [made for field in data if (made := _bounds_field(field)) is not None]
    counts = [made for field in data if (made := _counts_field(field)) is not None]
    parts = [pa.field("numRecords", pa.int64()), pa.field("tightBounds", pa.bool_())]
    if bounds:
        parts += [pa.field("minValues", pa.struct(bounds)), pa.field("maxValues", pa.struct(bounds))]
    if counts:
        parts.append(pa.field("nullCount", pa.struct(counts)))
    return pa.field("stats_parsed", pa.struct(parts))


def _bounds_field(field: pa.Field) -> pa.Field | None:
    kind = field.type
    if is_variant_field(field):
        return variant_field(field.name)
    if pa.types.is_struct(kind):
        inner = [made for one in kind if (made := _bounds_field(one)) is not None]
        return pa.field(field.name, pa.struct(inner)) if inner else None
    is_left_out = pa.types.is_nested(kind) or pa.types.is_boolean(kind) or pa.types.is_binary(kind) or pa.types.is_null(kind)
    return None if is_left_out else pa.field(field.name, kind)


def _counts_field(field: pa.Field) -> pa.Field | None:
    if not is_variant_field(field) and pa.types.is_struct(field.type):
        inner = [made for one in field.type if (made := _counts_field(one)) is not None]
        return pa.field(field.name, pa.struct(inner)) if inner else None
    return pa.field(field.name, pa.int64())


def _parsed(text: str, field: pa.Field) -> dict[str, Any] | None:
    """The statistics of one file as its column has them; what is not understood is not known."""
    try:
        data = json.loads(text, parse_float=decimal.Decimal)
    except ValueError:
        return None
    return _parsed_struct(data, field.type) if isinstance(data, dict) else None


def _parsed_struct(data: Mapping[str, Any], kind: pa.DataType) -> dict[str, Any]:
    return {field.name: _parsed_value(data[field.name], field) for field in kind if data.get(field.name) is not None}


def _parsed_value(value: Any, field: pa.Field) -> Any:
    if is_variant_field(field):
        if not isinstance(value, str):
            return None
        try:
            found: Variant = decode_variant(value)
        except Exception:
            return None
        return {"metadata": bytes(found.metadata), "value": bytes(found.value)}
    if pa.types.is_struct(field.type):
        return _parsed_struct(value, field.type) if isinstance(value, dict) else None
    try:
        if isinstance(value, str) and not pa.types.is_string(field.type):
            return pa.scalar(value).cast(field.type).as_py()
        if pa.types.is_decimal(field.type):
            return pa.scalar(str(value)).cast(field.type).as_py()
        if pa.types.is_floating(field.type):
            return float(value)
        return pa.scalar(value, field.type).as_py()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError):
        return None


# What is not needed any more


def clean_log(snapshot: Snapshot) -> list[str]:
    """Delete commits and checkpoints that are older than the table keeps its history; the paths of those that went.

    All from the newest checkpoint on that is old enough is kept, with the commit of that checkpoint.
    """
    if snapshot.properties.get("delta.enableExpiredLogCleanup", "true").lower() == "false":
        return []
    files = LogFiles.of(snapshot.folder)
    yesterday = time.time() - _DAY / 1000
    # What commits have left that were killed.
    gone = [entry.path for entry in files.others if entry.path.endswith(".tmp") and entry.changed < yesterday]
    gone += _expired(snapshot, files)
    for path in gone:
        snapshot.folder.delete(path)
    return gone


def _expired(snapshot: Snapshot, files: LogFiles) -> list[str]:
    """The commits and checkpoints that are older than the table keeps its history."""
    kept = milliseconds(snapshot.properties.get("delta.logRetentionDuration"), 30 * _DAY)
    midnight = int(time.time() * 1000 - kept) // _DAY * _DAY
    recent = min((number for number, entry in files.commits.items() if entry.changed * 1000 > midnight), default=files.latest + 1)
    old = [number for number in files.commits if number < recent]
    checkpoints = [one.version for one in files.checkpoints if old and one.version <= max(old)]
    if not checkpoints:
        return []
    first = max(checkpoints)
    gone = [entry.path for number, entry in files.commits.items() if number < first]
    gone += [path for one in files.checkpoints if one.version < first for path in one.paths]
    gone += [entry.path for entry in files.others if (number := _checksum_version(entry.path)) is not None and number < first]
    return gone


def _checksum_version(path: str) -> int | None:
    name = path.removeprefix(f"{LOG}/")
    return int(name[:20]) if name.endswith(".crc") and name[:20].isdigit() and len(name) == 24 else None
