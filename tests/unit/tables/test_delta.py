"""Delta tables written and read in one process: modes, partitions, schemas, types, properties, features."""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta_tables import PLAN, actions, append, commit_by_hand, events, find, info, metadata, numbers, properties_set, text_of, texts

import varquet as vq
from varquet.delta.z85 import decode_variant, encode_variant
from varquet.errors import UnsupportedTypeError, VarquetError
from varquet.queries.dataset import FoundFile
from varquet.queries.opened import OpenedFile
from varquet.tables.delta import delete, history
from varquet.tables.write import write_table
from varquet.types import BY_NAME
from varquet.variant import encode
from varquet.variant.model import Node, Scalar

SHREDDING = "delta.enableVariantShredding"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events"


def typed_columns(path: Path) -> set[bool]:
    """Whether the files of a table have typed columns."""
    return {"typed_value" in str(pq.read_schema(file)) for file in path.rglob("part-*.parquet")}


def test_a_new_table_says_what_it_is(path: Path) -> None:
    report = append(path, 0, 100, mode="error")
    assert report.rows == 100 and report.files == 1
    protocol = find(path, 0, "protocol")[0]
    assert (protocol["minReaderVersion"], protocol["minWriterVersion"]) == (3, 7)
    assert set(protocol["readerFeatures"]) == {"variantType", "variantShredding"}
    assert set(protocol["writerFeatures"]) == {"variantType", "variantShredding", "appendOnly", "invariants"}
    told = metadata(path)
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in (("n", "long"), ("v", "variant"))]
    assert json.loads(told["schemaString"]) == {"type": "struct", "fields": fields}
    assert told["configuration"][SHREDDING] == "true" and told["partitionColumns"] == []
    assert vq.Plan.from_json(told["configuration"]["varquet.plan"]).schemas["v"].ddl() == PLAN["v"]
    # Features come before the property that needs them.
    kinds = [kind for action in actions(path, 0) for kind in action]
    assert kinds == ["commitInfo", "protocol", "metaData", "add"]
    assert texts(path) == [(n, vq.to_json(vq.parse_json(pa.array([text_of(n)])))[0].as_py()) for n in range(100)]
    assert typed_columns(path) == {True}


def test_a_table_without_variants_needs_no_features(path: Path) -> None:
    write_table(pa.table({"n": [1, 2]}), path, table="delta")
    assert find(path, 0, "protocol") == [{"minReaderVersion": 1, "minWriterVersion": 2}]
    assert SHREDDING not in metadata(path)["configuration"]
    assert numbers(path) == [1, 2]


def test_modes(path: Path) -> None:
    append(path, 0, 10, mode="error")
    append(path, 10, 10)
    assert numbers(path) == list(range(20))
    with pytest.raises(UnsupportedTypeError, match="expected a new table"):
        append(path, 20, 10, mode="error")
    assert append(path, 20, 10, mode="ignore").rows == 0
    assert len(history(path)) == 2
    assert append(path, 50, 5, mode="overwrite").replaced_files == 2
    assert numbers(path) == list(range(50, 55))
    assert [numbers(path, version=k) for k in range(3)] == [list(range(10)), list(range(20)), list(range(50, 55))]
    assert info(path, 2)["operationParameters"]["mode"] == "Overwrite" and not info(path, 2)["isBlindAppend"]
    assert info(path, 1)["isBlindAppend"] and info(path, 1)["operationMetrics"]["numOutputRows"] == "10"
    # An overwrite by rows of the same columns is the same table with the same schema.
    assert find(path, 2, "metaData") == []


def test_the_kind_of_table_is_found_out(path: Path) -> None:
    append(path)
    write_table(events(10, 10), path, mode="append", json_columns=["v"])
    assert numbers(path) == list(range(20))
    with pytest.raises(VarquetError, match="is a Delta table"):
        write_table(events(10, 10), path, table="directory", mode="append")
    with pytest.raises(UnsupportedTypeError, match="expected no properties"):
        write_table(events(0, 1), path.with_name("folder"), table="directory", properties={"a": "b"})
    with pytest.raises(UnsupportedTypeError, match="kind of table"):
        write_table(events(0, 1), path, table="iceberg")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedTypeError, match="standard's layout"):
        append(path, layout="draft")


def test_rows_without_files_make_a_table(path: Path) -> None:
    append(path, 0, 0)
    assert vq.scan(path).count() == 0 and vq.scan(path).schema.names == ["n", "v"]
    append(path, 0, 3)
    assert numbers(path) == [0, 1, 2]


def test_an_overwrite_may_change_the_schema(path: Path) -> None:
    append(path)
    before = metadata(path)
    write_table(pa.table({"m": ["x"], "day": ["a"]}), path, mode="overwrite", partition_by=["day"])
    after = metadata(path, 1)
    assert vq.scan(path).table().to_pylist() == [{"m": "x", "day": "a"}]
    assert after["id"] == before["id"] and after["partitionColumns"] == ["day"]
    assert numbers(path, version=0) == list(range(10))


# Partitions

PARTITIONS = {
    "date": pa.array([datetime.date(2020, 1, 1), datetime.date(1969, 12, 31), None], pa.date32()),
    "string": pa.array(["a/b=c%d e", "ü:?#'\"{}", None]),
    "int": pa.array([-1, 2**31 - 1, None], pa.int32()),
    "long": pa.array([-(2**63), 7, None], pa.int64()),
    "double": pa.array([1e20, -0.5, None]),
    "decimal": pa.array([decimal.Decimal("1.50"), decimal.Decimal("-999.99"), None], pa.decimal128(5, 2)),
    "boolean": pa.array([True, False, None]),
    "timestamp": pa.array([0, 1_577_836_800_123_456, None], pa.timestamp("us", "UTC")),
    "timestamp_ntz": pa.array([0, 1_577_836_800_123_456, None], pa.timestamp("us")),
}


@pytest.mark.parametrize("kind", PARTITIONS)
def test_partitions_of_any_type_come_back(path: Path, kind: str) -> None:
    values = PARTITIONS[kind]
    for first in (0, 3):
        write_table(events(first, 3, p=values), path, PLAN, table="delta", mode="append", partition_by="p", json_columns=["v"])
    found = vq.scan(path).select(["n", "p"]).table()
    assert found.schema.field("p").type == values.type
    assert sorted(found.to_pylist(), key=lambda row: row["n"]) == [{"n": n, "p": values[n % 3].as_py()} for n in range(6)]
    adds = find(path, 0, "add")
    assert len(adds) == 3 and [add["partitionValues"]["p"] for add in adds].count(None) == 1
    query = vq.scan(path).select(["n"]).where(vq.column("p") == values[0].as_py())
    assert sorted(query.table()["n"].to_pylist()) == [0, 3] and query.explain().files_opened == 2
    assert sorted(vq.scan(path).where("p is null").select("n").table()["n"].to_pylist()) == [2, 5]


def test_moments_of_partitions_have_a_zone(path: Path) -> None:
    write_table(events(0, 3, p=PARTITIONS["timestamp"]), path, PLAN, table="delta", partition_by="p")
    values = {add["partitionValues"]["p"] for add in find(path, 0, "add")}
    assert values == {"1970-01-01T00:00:00.000000Z", "2020-01-01T00:00:00.123456Z", None}


def test_partitions_by_paths_and_names_that_begin_with_a_line(path: Path) -> None:
    append(path, 0, 9, partition_by={"_kind": "$.kind string"})
    assert [name for name in sorted(entry.name for entry in path.iterdir()) if "=" in name] == ["_kind=a", "_kind=b", "_kind=c"]
    assert vq.scan(path).where("_kind = 'b'").select("n").table()["n"].to_pylist() == [1, 4, 7]
    assert vq.scan(path).schema.names == ["n", "v", "_kind"]


def test_partitions_are_overwritten(path: Path) -> None:
    days = pa.array([1, 2, 3] * 3, pa.int32())
    options: dict[str, Any] = {"plan": PLAN, "partition_by": "day", "json_columns": ["v"]}
    write_table(events(0, 9, day=days), path, table="delta", **options)
    write_table(events(100, 2, day=pa.array([2, 2], pa.int32())), path, mode="overwrite-partitions", **options)
    assert numbers(path) == [0, 2, 3, 5, 6, 8, 100, 101]
    assert len(find(path, 1, "remove")) == 1 and find(path, 1, "remove")[0]["partitionValues"] == {"day": "2"}
    assert numbers(path, version=0) == list(range(9))


def test_partitions_are_overwritten_however_others_write_their_values(path: Path) -> None:
    moment = pa.array([1_577_836_800_000_000], pa.timestamp("us", "UTC"))
    options: dict[str, Any] = {"plan": PLAN, "partition_by": "at", "json_columns": ["v"]}
    write_table(events(0, 1, at=moment), path, table="delta", **options)
    add = find(path, 0, "add")[0]
    gone = {"path": add["path"], "deletionTimestamp": 1, "dataChange": False}
    commit_by_hand(path, 1, {"remove": gone}, {"add": {**add, "path": add["path"] + "?", "partitionValues": {"at": "2020-01-01 00:00:00"}}})
    write_table(events(1, 1, at=moment), path, mode="overwrite-partitions", **options)
    assert numbers(path) == [1]


def test_other_partitions_are_refused(path: Path) -> None:
    append(path, partition_by={"kind": "$.kind string"})
    with pytest.raises(UnsupportedTypeError, match="expected the partitions of .* which are kind, got none"):
        append(path)


# Schemas


def test_columns_are_added_if_one_says_so(path: Path) -> None:
    append(path, 0, 2)
    more = events(2, 2, extra=pa.array(["x", "y"]))
    options: dict[str, Any] = {"plan": PLAN, "mode": "append", "json_columns": ["v"]}
    with pytest.raises(UnsupportedTypeError, match="got 'extra', too.*Hint: merge_schema"):
        write_table(more, path, **options)
    write_table(more, path, merge_schema=True, **options)
    assert vq.scan(path).select(["n", "extra"]).table().sort_by("n").to_pylist() == [
        {"n": n, "extra": extra} for n, extra in zip(range(4), (None, None, "x", "y"), strict=True)
    ]
    assert [field["name"] for field in json.loads(metadata(path, 1)["schemaString"])["fields"]] == ["n", "v", "extra"]
    assert vq.scan(path, version=0).schema.names == ["n", "v"]
    # Who leaves it out writes nulls.
    append(path, 4, 1)
    assert vq.scan(path).where("extra is null").count() == 3
    query = vq.scan(path).select("n").where("extra = 'y'")
    assert query.table()["n"].to_pylist() == [3]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (pa.table({"n": ["1"], "v": ["{}"]}), "expected column 'n' as int64, .* got string"),
        (pa.table({"n": pa.array([1], pa.int32()), "v": ["{}"]}), "expected column 'n' as int64, .* got int32"),
        (pa.table({"N": [1], "v": ["{}"]}), "expected names as .* has them, as 'n', got 'N'"),
        (pa.table({"n": [1], "v": ["{}"], "V": [1]}), "expected names that differ in more than case"),
        (pa.table({"n": [1], "v": ["{}"], "x": pa.array([1], pa.duration("s"))}), "expected a type that Delta tables have"),
    ],
)
def test_changes_of_columns_are_refused(path: Path, rows: pa.Table, message: str) -> None:
    append(path)
    with pytest.raises(UnsupportedTypeError, match=message):
        write_table(rows, path, PLAN, mode="append", json_columns=["v"], merge_schema=True)
    assert len(history(path)) == 1 and len(list(path.rglob("*.parquet"))) == 1


def test_columns_that_are_never_null(path: Path) -> None:
    fields = [
        {"name": "n", "type": "long", "nullable": False, "metadata": {}},
        {"name": "v", "type": "variant", "nullable": True, "metadata": {}},
    ]
    append(path)

    def change(_: dict[str, Any], told: dict[str, Any]) -> None:
        told["schemaString"] = json.dumps({"type": "struct", "fields": fields})

    properties_set(path, 1, change)
    append(path, 10)
    with pytest.raises(UnsupportedTypeError, match="expected no nulls in column 'n'.* got 1 in"):
        write_table(pa.table({"n": pa.array([1, None], pa.int64()), "v": ["{}", "{}"]}), path, PLAN, mode="append")
    with pytest.raises(UnsupportedTypeError, match="expected column 'n', which can never be null in .* got none"):
        write_table(pa.table({"v": ["{}"]}), path, PLAN, mode="append")
    assert numbers(path) == list(range(20)) and len(list(path.rglob("*.parquet"))) == 2


def test_types_come_back(path: Path) -> None:
    moment = datetime.datetime(2020, 2, 3, 4, 5, 6, 789_012)
    inner = pa.struct([pa.field("a", pa.int64()), pa.field("l", pa.list_(pa.field("element", pa.string())))])
    columns = {
        "i8": pa.array([-5, None], pa.int8()),
        "i16": pa.array([-500, None], pa.int16()),
        "f": pa.array([1.5, None], pa.float32()),
        "d": pa.array([float("nan"), None]),
        "s": pa.array(["ü" * 50, None]),
        "b": pa.array([b"\0\xff", None]),
        "flag": pa.array([True, None]),
        "date": pa.array([datetime.date(1, 1, 1), None]),
        "dec": pa.array([decimal.Decimal("12345678901234567890123456789012.345678"), None], pa.decimal128(38, 6)),
        "ts": pa.array([moment.replace(tzinfo=datetime.UTC), None], pa.timestamp("us", "UTC")),
        "ntz": pa.array([moment, None], pa.timestamp("us")),
        "st": pa.array([{"a": 1, "l": ["x", None]}, None], inner),
        "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
    }
    given = events(0, 2, **columns)
    write_table(given, path, PLAN, table="delta", json_columns=["v"])
    found = vq.scan(path).table()
    for name, column in columns.items():
        assert found.schema.field(name).type.equals(column.type), name
        assert str(found[name].to_pylist()) == str(column.to_pylist()), name
    assert "timestampNtz" in find(path, 0, "protocol")[0]["readerFeatures"]
    assert vq.scan(path).where("ts = timestamp '2020-02-03 04:05:06.789012Z'").count() == 1


def test_arrow_types_that_delta_has_not_become_wider(path: Path) -> None:
    columns = {
        "u8": pa.array([255], pa.uint8()),
        "u16": pa.array([65535], pa.uint16()),
        "u32": pa.array([2**32 - 1], pa.uint32()),
        "u64": pa.array([2**64 - 1], pa.uint64()),
        "text": pa.array(["x"], pa.large_string()),
        "choice": pa.array(["y"]).dictionary_encode(),
        "seconds": pa.array([5], pa.timestamp("s", "Europe/Berlin")),
        "list": pa.array([[1]], pa.large_list(pa.uint8())),
    }
    for _ in range(2):
        write_table(events(0, 1, **columns), path, PLAN, table="delta", mode="append")
    fields = {field["name"]: field["type"] for field in json.loads(metadata(path)["schemaString"])["fields"]}
    kinds = {"u8": "short", "u16": "integer", "u32": "long", "u64": "decimal(20,0)", "text": "string", "choice": "string"}
    assert {name: fields[name] for name in kinds} == kinds and fields["seconds"] == "timestamp"
    assert fields["list"]["elementType"] == "short"
    row = vq.scan(path).limit(1).table().to_pylist()[0]
    assert (row["u8"], row["u16"], row["u32"], row["u64"]) == (255, 65535, 2**32 - 1, 2**64 - 1)
    assert (row["text"], row["choice"], row["list"]) == ("x", "y", [1])
    assert row["seconds"] == datetime.datetime(1970, 1, 1, 0, 0, 5, tzinfo=datetime.UTC)
    nanos = pa.array([1], pa.timestamp("ns", "UTC"))
    # A nanosecond has no place in a Delta table, and is not lost without a word.
    with pytest.raises(pa.ArrowInvalid):
        write_table(pa.table({"at": nanos}), path.with_name("nanos"), table="delta")


def test_a_variant_within_a_struct(path: Path) -> None:
    inner = vq.parse_json(pa.array(['{"a": 1}', '{"a": 9}']))
    kind = pa.struct([pa.field("k", pa.int64()), vq.variant_field("doc")])
    column = pa.StructArray.from_arrays([pa.array([1, 2]), inner], fields=list(kind))
    write_table(pa.table({"outer": column}), path, {}, table="delta")
    # Where the struct is null Arrow has empty values in it, which are no Variants.
    variant = vq.Variant.from_python({"a": 4})
    rows = [{"outer": None}, {"outer": {"k": 3, "doc": {"metadata": variant.metadata, "value": variant.value}}}, {"outer": None}]
    write_table(pa.Table.from_pylist(rows, schema=pa.schema([pa.field("outer", kind)])), path, {}, mode="append")
    (field,) = json.loads(metadata(path)["schemaString"])["fields"]
    assert [(one["name"], one["type"]) for one in field["type"]["fields"]] == [("k", "long"), ("doc", "variant")]
    assert set(find(path, 0, "protocol")[0]["readerFeatures"]) >= {"variantType"}
    query = vq.scan(path, column="outer.doc").select({"a": "$.a bigint"})
    assert sorted(query.table()["a"].to_pylist(), key=str) == [1, 4, 9, None, None]
    assert vq.scan(path).table()["outer"].null_count == 2


# Properties and features


@pytest.mark.parametrize("value", ["false", "TRUE", "True", "1", ""])
def test_only_true_allows_shredding(path: Path, value: str) -> None:
    append(path, properties={SHREDDING: value})
    assert typed_columns(path) == {False} and metadata(path)["configuration"][SHREDDING] == value
    assert "variantShredding" not in find(path, 0, "protocol")[0]["readerFeatures"]
    append(path, 10)
    assert typed_columns(path) == {False} and numbers(path) == list(range(20))


def without_property(_: dict[str, Any], told: dict[str, Any]) -> None:
    del told["configuration"][SHREDDING]


def without_feature(protocol: dict[str, Any], _: dict[str, Any]) -> None:
    for names in ("readerFeatures", "writerFeatures"):
        protocol[names].remove("variantShredding")


def shouted(_: dict[str, Any], told: dict[str, Any]) -> None:
    told["configuration"][SHREDDING] = "TRUE"


@pytest.mark.parametrize("change", [without_property, shouted])
def test_a_table_that_does_not_allow_it_gets_unshredded_files(path: Path, change: Callable[..., None]) -> None:
    append(path)
    properties_set(path, 1, change)
    append(path, 10)
    added = find(path, 2, "add")[0]["path"]
    assert "typed_value" not in str(pq.read_schema(path / added))
    # Those that are shredded already are still read.
    assert numbers(path) == list(range(20)) and vq.scan(path).where("$.id::bigint >= 5").count() == 15


def test_the_property_brings_its_feature(path: Path) -> None:
    append(path)
    properties_set(path, 1, without_feature)
    append(path, 10)
    assert "typed_value" not in str(pq.read_schema(path / find(path, 2, "add")[0]["path"]))
    assert "variantShredding" in find(path, 2, "protocol")[0]["readerFeatures"]
    append(path, 20)
    assert "typed_value" in str(pq.read_schema(path / find(path, 3, "add")[0]["path"]))


def test_names_of_previews_are_accepted(path: Path) -> None:
    append(path)

    def change(protocol: dict[str, Any], _: dict[str, Any]) -> None:
        for names in ("readerFeatures", "writerFeatures"):
            protocol[names] = [f"{name}-preview" if name.startswith("variant") else name for name in protocol[names]]

    properties_set(path, 1, change)
    append(path, 10)
    assert find(path, 2, "protocol") == [] and typed_columns(path) == {True}
    assert numbers(path) == list(range(20))


def set_property(name: str, value: str) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(_: dict[str, Any], told: dict[str, Any]) -> None:
        told["configuration"][name] = value

    return change


def set_feature(name: str, *places: str) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(protocol: dict[str, Any], _: dict[str, Any]) -> None:
        for place in places:
            protocol[place].append(name)

    return change


def set_version(name: str, number: int) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(protocol: dict[str, Any], _: dict[str, Any]) -> None:
        protocol[name] = number

    return change


def set_field(name: str, value: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(_: dict[str, Any], told: dict[str, Any]) -> None:
        schema = json.loads(told["schemaString"])
        schema["fields"][0]["metadata"][name] = value
        told["schemaString"] = json.dumps(schema)

    return change


BOTH = ("readerFeatures", "writerFeatures")


@pytest.mark.parametrize(
    ("change", "message", "is_read"),
    [
        (set_feature("typeWidening", *BOTH), "can read, got .* with the table feature typeWidening", False),
        (set_feature("futureFeature", "writerFeatures"), "can write, got .* with the table feature futureFeature", True),
        (set_version("minReaderVersion", 4), "reader version 4", False),
        (set_version("minWriterVersion", 8), "writer version 8", True),
        (set_property("delta.columnMapping.mode", "name"), "column mapping by name", False),
        (set_property("delta.constraints.positive", "n > 0"), "the constraint positive", True),
        (set_property("delta.enableRowTracking", "true"), "row tracking", True),
        (set_field("delta.generationExpression", "1"), "generated columns, as n", True),
        (set_field("delta.invariants", "{}"), "columns with invariants, as n", True),
        (set_field("delta.identity.start", 1), "identity columns, as n", True),
    ],
)
def test_what_is_not_supported_is_refused(path: Path, change: Callable[..., None], message: str, is_read: bool) -> None:
    append(path)
    properties_set(path, 1, change)
    with pytest.raises(UnsupportedTypeError, match=f"{message}.*Hint: .* it with Delta's own connector"):
        append(path, 10)
    assert len(list(path.rglob("*.parquet"))) == 1
    if is_read:
        assert numbers(path) == list(range(10))
    else:
        with pytest.raises(UnsupportedTypeError, match=message):
            vq.scan(path)


def test_defaults_of_columns_are_not_taken_for_nulls(path: Path) -> None:
    append(path)
    properties_set(path, 1, set_field("CURRENT_DEFAULT", "7"))
    append(path, 10)
    assert numbers(path) == list(range(20))
    with pytest.raises(UnsupportedTypeError, match="expected column 'n', got none: .* has a default for it"):
        write_table(events(20, 10).drop_columns(["n"]), path, mode="append", json_columns=["v"])
    assert numbers(path) == list(range(20))


def test_tables_to_which_rows_are_only_added(path: Path) -> None:
    append(path, properties={"delta.appendOnly": "true"})
    append(path, 10)
    for change in (lambda: append(path, 20, mode="overwrite"), lambda: delete(path, "n < 10")):
        with pytest.raises(UnsupportedTypeError, match="expected to add rows only"):
            change()
    assert numbers(path) == list(range(20))


def test_properties_of_a_new_table_bring_their_features(path: Path) -> None:
    given = {"delta.enableDeletionVectors": "true", "delta.enableInCommitTimestamps": "true", "owner": "me"}
    append(path, properties={**given, "delta.feature.v2Checkpoint": "supported"})
    protocol, told = find(path, 0, "protocol")[0], metadata(path)["configuration"]
    assert set(protocol["readerFeatures"]) == {"variantType", "variantShredding", "deletionVectors", "v2Checkpoint"}
    assert set(protocol["writerFeatures"]) - set(protocol["readerFeatures"]) == {"appendOnly", "invariants", "inCommitTimestamp"}
    assert given.items() <= told.items() and "delta.feature.v2Checkpoint" not in told
    append(path, 10, properties=given)
    with pytest.raises(UnsupportedTypeError, match="expected properties for a new table"):
        append(path, 20, properties={"owner": "you"})


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"delta.columnMapping.mode": "name"}, "column mapping by name"),
        ({"delta.constraints.a": "n > 0"}, "the constraint a"),
        ({"delta.feature.typeWidening": "supported"}, "the table feature typeWidening"),
        ({"delta.dataSkippingNumIndexedCols": "many"}, "expected a number of columns"),
    ],
)
def test_new_tables_are_not_made_with_what_is_not_supported(path: Path, properties: dict[str, str], message: str) -> None:
    with pytest.raises(VarquetError, match=message):
        append(path, properties=properties)
    assert not (path / "_delta_log").exists()


# Statistics


def test_statistics_are_in_the_log(path: Path) -> None:
    append(path, 0, 100)
    known = json.loads(find(path, 0, "add")[0]["stats"])
    assert known["numRecords"] == 100 and known["nullCount"] == {"n": 0, "v": 0}
    assert (known["minValues"]["n"], known["maxValues"]["n"]) == (0, 99)
    low, high = (decode_variant(known[name]["v"]).to_json() for name in ("minValues", "maxValues"))
    assert json.loads(low) == {"$['id']": 0, "$['kind']": "a", "$['user']['id']": 0, "$['user']['name']": "u0"}
    assert json.loads(high) == {"$['id']": 99, "$['kind']": "c", "$['user']['id']": 6, "$['user']['name']": "u99"}


def bounds(first: int, last: int) -> dict[str, str]:
    """What statistics would say of rows with these numbers."""

    def of(number: int) -> dict[str, Any]:
        paths: dict[str, Node] = {
            "$['id']": Scalar(BY_NAME["int64"], number),
            "$['user']['name']": Scalar(BY_NAME["string"], f"w{number}"),
        }
        return {"n": number, "v": encode_variant(*encode(paths))}

    known = {"numRecords": last - first + 1, "minValues": of(first), "maxValues": of(last), "nullCount": {"n": 0, "v": 0}}
    return {"stats": json.dumps(known)}


def test_a_query_opens_only_the_files_that_can_match(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Of a thousand files that the log names three are there: whoever opens another one fails.
    there = [7, 250, 251]
    for number in there:
        append(path, 10 * number)
    pattern = find(path, 0, "add")[0]
    missing = [number for number in range(1000) if number not in there]
    made = [{**pattern, "path": f"missing-{number}.parquet", **bounds(10 * number, 10 * number + 9)} for number in missing]
    commit_by_hand(path, len(there), *({"add": add} for add in made))
    opened: list[str] = []
    init = OpenedFile.__init__

    def counted(self: OpenedFile, found: FoundFile, *others: Any) -> None:
        opened.append(found.file.path)
        init(self, found, *others)

    monkeypatch.setattr(OpenedFile, "__init__", counted)
    for where, wanted, files in (
        ("$.id::bigint between 2503 and 2512", range(2503, 2513), 2),
        ("$.id::bigint = 77 and $.user.name = 'u77'", [77], 1),
        ("$.user.name = 'u2511'", [2511], 1),
        ("$.id::bigint < 0", [], 0),
        ("$.id::bigint in (75, 2500) and $.kind is not null", [75, 2500], 2),
        ("n = 77", [77], 1),
    ):
        opened.clear()
        query = vq.scan(path).select("n").where(where)
        assert sorted(query.table()["n"].to_pylist()) == list(wanted)
        assert len(opened) == files
        told = query.explain()
        assert (told.files_opened, told.files_read, len(told.files)) == (files, files, 1000)
    assert "$.id::bigint < 0: $.id::bigint is from 9990 to 9999" in str(vq.scan(path).where("$.id::bigint < 0").explain())
    with pytest.raises(FileNotFoundError):
        vq.scan(path).where("$.kind = 'a'").count()
    # How many rows there are, the log says.
    assert vq.scan(path).count() == 10_000
