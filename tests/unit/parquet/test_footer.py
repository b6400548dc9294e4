"""Footers are read as pyarrow reads them, patched in exactly the bytes that must change, and refused when damaged."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from patched_footers import patch_bytes, patch_file

from varquet.errors import ParquetError
from varquet.parquet.elements import LogicalType, SchemaElement, column_name
from varquet.parquet.footer import Footer, annotate, read_footer
from varquet.parquet.thrift import BINARY, I32, STRUCT, apply, binary, field_header, list_header, read_struct

VARIANT = pa.struct([pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary())])
ANNOTATION = bytes.fromhex("0c 20 13 01 00 00")  # as parquet-java writes VARIANT(1): union member 16, field 1 an i8 of 1

FIELD = pa.struct([pa.field("value", pa.binary()), pa.field("typed_value", pa.int64())])
SHREDDED = pa.struct(
    [
        pa.field("metadata", pa.binary(), nullable=False),
        pa.field("value", pa.binary()),
        pa.field(
            "typed_value",
            pa.struct(
                [
                    pa.field("a", FIELD, nullable=False),
                    pa.field(
                        "b.c", pa.struct([pa.field("typed_value", pa.list_(pa.field("element", FIELD, nullable=False)))]), nullable=False
                    ),
                ]
            ),
        ),
    ]
)
TYPES = {
    "boolean": pa.bool_(), "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(), "uint8": pa.uint8(),
    "uint32": pa.uint32(), "float16": pa.float16(), "float": pa.float32(), "double": pa.float64(), "string": pa.string(),
    "binary": pa.binary(), "fixed": pa.binary(5), "date": pa.date32(), "time_ms": pa.time32("ms"), "time_us": pa.time64("us"),
    "time_ns": pa.time64("ns"), "ts_ms": pa.timestamp("ms"), "ts_us_utc": pa.timestamp("us", "UTC"), "ts_ns": pa.timestamp("ns"),
    "decimal_9_2": pa.decimal128(9, 2), "decimal_18_0": pa.decimal128(18, 0), "decimal_38_38": pa.decimal128(38, 38),
    "decimal_76_3": pa.decimal256(76, 3), "uuid": pa.uuid(), "json": pa.json_(), "null": pa.null(), "duration": pa.duration("us"),
}  # fmt: skip
SCHEMAS = {
    "types": pa.schema([pa.field(name, kind, nullable=index % 3 > 0) for index, (name, kind) in enumerate(TYPES.items())]),
    "nested": pa.schema(
        [
            pa.field("struct", pa.struct([pa.field("x", pa.int8(), nullable=False), pa.field("y", pa.struct({"z": pa.string()}))])),
            pa.field("list", pa.list_(pa.field("element", pa.list_(pa.int32()), nullable=False))),
            pa.field("map", pa.map_(pa.string(), pa.struct({"k": pa.decimal128(5, 1)}))),
            pa.field("maps", pa.list_(pa.map_(pa.int32(), pa.list_(pa.string())))),
        ]
    ),
    "variants": pa.schema(
        [("id", pa.int64()), ("v", VARIANT), ("s", SHREDDED), ("l", pa.list_(VARIANT)), ("m", pa.map_(pa.string(), SHREDDED))]
    ),
    "odd names": pa.schema([("", pa.int32()), ("a.b", VARIANT), ("naïve 😀", pa.int64()), ("x" * 3000, VARIANT)]),
    "wide": pa.schema([pa.field(f"column_{index}", list(TYPES.values())[index % 19]) for index in range(2500)]),
    "empty": pa.schema([]),
}  # fmt: skip


def written(schema: pa.Schema, rows: int = 0, **options: object) -> bytes:
    """A file of this schema with rows of nulls, or with none."""
    columns = [pa.array([None] * rows, field.type) for field in schema]
    table = pa.Table.from_arrays(columns, schema=schema) if rows else pa.Table.from_batches([], schema)
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def footer_of(data: bytes) -> bytes:
    return data[-8 - int.from_bytes(data[-8:-4], "little") : -8]


def wrapped(footer: bytes) -> bytes:
    return b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def variant_rows(count: int) -> pa.Table:
    rows = [None if index % 7 == 3 else {"metadata": b"\x01\x00\x00", "value": bytes((12, index % 128))} for index in range(count)]
    return pa.table({"id": pa.array(range(count)), "v": pa.array(rows, VARIANT)})


@pytest.fixture
def small() -> bytes:
    out = io.BytesIO()
    pq.write_table(variant_rows(20), out, row_group_size=10, store_schema=False)
    return out.getvalue()


def leaves(element: SchemaElement, path: str = "", definition: int = 0, repetition: int = 0) -> Iterator[tuple[object, ...]]:
    """Each column as pyarrow describes it."""
    for child in element.children:
        name = f"{path}.{child.name}" if path else child.name
        levels = (definition + (child.repetition != "REQUIRED"), repetition + (child.repetition == "REPEATED"))
        if child.is_group:
            yield from leaves(child, name, *levels)
        else:
            yield name, child.physical_type, child.type_length or 0, child.converted_type or "NONE", *levels, child.logical_type


ARROW_NAMES = {"INTEGER": "INT", "None": "NONE"}


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("integers", [False, True])
def test_schemas_are_read_as_pyarrow_reads_them(name: str, integers: bool) -> None:
    data = written(SCHEMAS[name], store_decimal_as_integer=integers)
    footer = read_footer(io.BytesIO(data))
    schema = pq.ParquetFile(io.BytesIO(data)).schema
    found = list(leaves(footer.schema))
    assert len(found) == len(schema)
    for index, (path, physical, length, converted, definition, repetition, logical) in enumerate(found):
        column = schema.column(index)
        assert (path, physical, length) == (column.path, column.physical_type, column.length or 0)
        assert (definition, repetition) == (column.max_definition_level, column.max_repetition_level)
        kind = str(getattr(logical, "kind", None))
        assert ARROW_NAMES.get(kind, kind) == column.logical_type.type
        if kind != "TIMESTAMP":  # pyarrow shows what it would write, not what is there
            assert converted == column.converted_type
        if kind == "DECIMAL":
            assert isinstance(logical, LogicalType) and (logical.precision, logical.scale) == (column.precision, column.scale)


def test_logical_types_have_their_parameters() -> None:
    root = read_footer(io.BytesIO(written(SCHEMAS["types"]))).schema
    found = {child.name: str(child.logical_type) for child in root.children}
    assert found == {
        "boolean": "None", "int8": "INTEGER(8, true)", "int16": "INTEGER(16, true)", "int32": "None", "int64": "None",
        "uint8": "INTEGER(8, false)", "uint32": "INTEGER(32, false)", "float16": "FLOAT16", "float": "None", "double": "None",
        "string": "STRING", "binary": "None", "fixed": "None", "date": "DATE", "time_ms": "TIME(false, MILLIS)",
        "time_us": "TIME(false, MICROS)", "time_ns": "TIME(false, NANOS)", "ts_ms": "TIMESTAMP(false, MILLIS)",
        "ts_us_utc": "TIMESTAMP(true, MICROS)", "ts_ns": "TIMESTAMP(false, NANOS)", "decimal_9_2": "DECIMAL(9, 2)",
        "decimal_18_0": "DECIMAL(18, 0)", "decimal_38_38": "DECIMAL(38, 38)", "decimal_76_3": "DECIMAL(76, 3)", "uuid": "UUID",
        "json": "JSON", "null": "UNKNOWN", "duration": "None",
    }  # fmt: skip
    assert [child.repetition for child in root.children[:4]] == ["REQUIRED", "OPTIONAL", "OPTIONAL", "REQUIRED"]
    assert (root.name, root.repetition, root.is_group, root.field_id) == ("schema", None, True, None)


def test_field_ids_are_read() -> None:
    schema = pa.schema([pa.field("a", pa.int32(), metadata={"PARQUET:field_id": "7"})])
    assert read_footer(io.BytesIO(written(schema))).schema.children[0].field_id == 7


@pytest.mark.parametrize(
    ("union", "expected"),
    [
        ("0c 20 00 00", LogicalType("VARIANT", 16)),
        ("0c 20 13 02 00 00", LogicalType("VARIANT", 16, version=2)),
        ("0c 22 18 02 31 32 00 00", LogicalType("GEOMETRY", 17, crs="12")),
        ("0c 24 25 02 00 00", LogicalType("GEOGRAPHY", 18, algorithm="VINCENTY")),
        ("0c 24 25 0e 00 00", LogicalType("GEOGRAPHY", 18, algorithm="ALGORITHM_7")),
        ("0c 26 00 00", LogicalType("FILE", 19)),
        ("0c 50 15 08 00 00", LogicalType("UNRECOGNIZED", 40)),
        ("8c 11 1c 9c 00 00 00 00", LogicalType("TIMESTAMP", 8, utc=True)),
        ("dc 00 00", LogicalType("BSON", 13)),
        ("00", None),
    ],
)
def test_logical_types_pyarrow_does_not_write(union: str, expected: LogicalType | None) -> None:
    data = written(SCHEMAS["variants"])
    start, end = footer_of(patch_bytes(data, ["v"])).split(ANNOTATION)
    footer = Footer(start + bytes.fromhex(union) + end)
    assert footer.schema.children[1].logical_type == expected
    assert footer.variants() == ({("v",): expected.version} if expected and expected.kind == "VARIANT" else {})


@pytest.mark.parametrize("union", ["0c 20 00 1c 00 00", "05 20 02 00", "5c 15 02 00 00", "7c 00 00", "ac 00 00"])
def test_logical_types_that_are_none(union: str) -> None:
    start, end = footer_of(patch_bytes(written(SCHEMAS["variants"]), ["v"])).split(ANNOTATION)
    with pytest.raises(ParquetError):
        read_footer(io.BytesIO(wrapped(start + bytes.fromhex(union) + end)))


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("rows", [0, 10])
def test_a_footer_with_nothing_to_change_stays_as_it_is(name: str, rows: int) -> None:
    # pyarrow makes no nulls of an extension type.
    schema = pa.schema([field.with_nullable(True) for field in SCHEMAS[name] if not isinstance(field.type, pa.BaseExtensionType)])
    for options in ({}, {"write_page_index": True, "compression": "zstd"}, {"store_schema": False, "row_group_size": 3}):
        data = written(schema, rows, **options)
        assert annotate(footer_of(data), []) == footer_of(data)
        assert patch_bytes(data, []) == data


PATHS = [("v",), ("s",), ("l", "list", "element"), ("m", "key_value", "value")]


@pytest.mark.parametrize("path", PATHS)
def test_an_annotation_is_seven_bytes_in_the_right_place(path: tuple[str, ...]) -> None:
    old = footer_of(written(SCHEMAS["variants"], 5))
    new = annotate(old, [path])
    at = new.index(ANNOTATION)
    assert new[: at - 1] + new[at + len(ANNOTATION) :] == old
    assert Footer(new).variants() == {path: 1}
    assert annotate(new, [path]) == new


def test_every_path_at_once_and_pyarrow_agrees() -> None:
    data = patch_bytes(written(SCHEMAS["variants"], 5), iter(PATHS))
    assert list(read_footer(io.BytesIO(data)).variants()) == PATHS
    lines = [line.strip() for line in str(pq.ParquetFile(io.BytesIO(data)).schema).splitlines() if "Variant" in line]
    assert lines == [f"optional group field_id=-1 {path[-1]} (Variant(1)) {{" for path in PATHS]
    assert patch_bytes(data, PATHS) == data
    assert patch_bytes(patch_bytes(written(SCHEMAS["variants"], 5), PATHS[2:]), PATHS) == data


def test_another_version_is_replaced() -> None:
    old = footer_of(written(SCHEMAS["variants"]))
    assert Footer(annotate(old, ["v"], 2)).variants() == {("v",): 2}
    assert annotate(annotate(old, ["v"], 2), ["v"]) == annotate(old, ["v"])
    for version in (0, 128):
        with pytest.raises(ParquetError, match=f"expected a version of the Variant specification from 1 to 127, got {version}"):
            annotate(old, ["v"], version)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (("w",), "expected a column w in the schema, got none. Hint: the schema has 'id', 'v', 's', 'l', 'm'"),
        (("s", "typed_value", "b"), "expected a column s.typed_value.b in the schema, got none. Hint: s.typed_value has 'a', 'b.c'"),
        (("id", "x"), "expected a column id.x in the schema, got none. Hint: id has nothing below it"),
        ((), "expected the path of a column, got the empty path"),
        (("schema",), "expected a column schema in the schema, got none"),
        (("id",), "expected a group at id to be a Variant, got a column of type INT64"),
        (("s", "metadata"), "expected a group at s.metadata to be a Variant, got a column of type BYTE_ARRAY"),
        (("l",), "expected a group without a logical type at l to be a Variant, got LIST. Hint: the path of an element"),
        (("m",), "expected a group without a logical type at m to be a Variant, got MAP"),
        (("s", "typed_value", "b.c", "typed_value"), "at s.typed_value.`b.c`.typed_value to be a Variant, got LIST"),
    ],
)
def test_paths_that_cannot_be_variants(path: tuple[str, ...], message: str) -> None:
    with pytest.raises(ParquetError) as caught:
        annotate(footer_of(written(SCHEMAS["variants"])), [("v",), path])
    assert message in str(caught.value)


def test_a_path_that_two_columns_share() -> None:
    data = written(pa.schema([("v", VARIANT), ("v", VARIANT)]))
    with pytest.raises(ParquetError, match="expected one column v in the schema, got two"):
        patch_bytes(data, ["v"])


def test_unknown_fields_stay_byte_for_byte(small: bytes) -> None:
    old = footer_of(small)
    whole = read_struct(old, 0)
    later = binary(b"from the future")
    with_unknown = apply(old, [whole.edit(31_000, BINARY, later), *(one.edit(11, BINARY, later) for one in whole.structs(2))])
    assert with_unknown.count(later) == 6
    new = annotate(with_unknown, ["v"], key_values={"k": "v"})
    assert new.count(later) == 6 and Footer(new).variants() == {("v",): 1}
    # The group's unknown field 11 now counts from field 10: its header, and nothing else of it, is another.
    assert new.count(ANNOTATION + field_header(10, 11, BINARY) + later) == 1
    element = list(read_struct(new, 0).structs(2))[2]
    assert (list(element.fields)[-2:], element.text(4)) == ([10, 11], "v")


def test_key_values_are_added_and_replaced(small: bytes) -> None:
    once = patch_bytes(small, [], key_values={"varquet.schema": "a bigint", "naïve": "😀"})
    assert read_footer(io.BytesIO(once)).key_value_metadata == {"varquet.schema": "a bigint", "naïve": "😀"}
    assert pq.read_metadata(io.BytesIO(once)).metadata == {b"varquet.schema": b"a bigint", "naïve".encode(): "😀".encode()}
    again = patch_bytes(once, ["v"], key_values={"naïve": "", "more": "x" * 1000})
    assert read_footer(io.BytesIO(again)).key_value_metadata == {"varquet.schema": "a bigint", "naïve": "", "more": "x" * 1000}
    assert patch_bytes(again, ["v"], key_values={"more": "x" * 1000}) == again
    assert pq.read_table(io.BytesIO(again)).equals(pq.read_table(io.BytesIO(small)).replace_schema_metadata(None), check_metadata=False)


def test_key_values_beside_those_of_others() -> None:
    schema = SCHEMAS["variants"].with_metadata({b"a": b"1", b"bytes": b"\xff\x00", **{f"k{index}".encode(): b"v" for index in range(13)}})
    data = written(schema)
    before = read_footer(io.BytesIO(data)).key_value_metadata
    assert {"ARROW:schema", "a", "bytes"} < before.keys() and before["bytes"].encode("utf-8", "surrogateescape") == b"\xff\x00"
    after = read_footer(io.BytesIO(patch_bytes(data, ["v"], key_values={"a": "2", "z": "3"}))).key_value_metadata
    assert after == {**before, "a": "2", "z": "3"} and list(after)[:-1] == list(before)
    assert patch_bytes(data, [], key_values=before) == data


def test_a_key_that_is_there_twice_is_left_once(small: bytes) -> None:
    pair = field_header(0, 1, BINARY) + binary(b"k") + field_header(1, 2, BINARY) + binary(b"old") + b"\x00"
    lone = field_header(0, 1, BINARY) + binary(b"lone") + b"\x00"
    old = footer_of(small)
    twice = apply(old, [read_struct(old, 0).edit(5, 9, list_header(STRUCT, 3) + pair + lone + pair)])
    assert Footer(twice).key_value_metadata == {"k": "old", "lone": ""}
    new = annotate(twice, [], key_values={"k": "new"})
    assert Footer(new).key_value_metadata == {"k": "new", "lone": ""}
    assert new.count(lone) == 1 and b"old" not in new


def test_facts_of_the_file(small: bytes) -> None:
    footer = read_footer(io.BytesIO(small))
    assert (footer.num_rows, footer.key_value_metadata, footer.variants()) == (20, {}, {})
    assert footer.created_by == pq.read_metadata(io.BytesIO(small)).created_by


@pytest.mark.parametrize("name", ["path", "text", "python", "unbuffered", "native", "mapped", "buffer"])
@pytest.mark.parametrize("schema", ["variants", "wide"])
def test_files_in_every_form(name: str, schema: str, tmp_path: Path) -> None:
    data = written(SCHEMAS[schema])
    path = tmp_path / "file.parquet"
    path.write_bytes(data)
    expected = Footer(footer_of(data))
    if name in ("path", "text"):
        assert read_footer(path if name == "path" else str(path)) == expected
        return
    forms: dict[str, Callable[[], Any]] = {
        "python": lambda: path.open("rb"),
        "unbuffered": lambda: path.open("rb", buffering=0),
        "native": lambda: pa.OSFile(str(path)),
        "mapped": lambda: pa.memory_map(str(path)),
        "buffer": lambda: pa.BufferReader(data),
    }
    with forms[name]() as file:
        assert read_footer(file) == expected


def test_a_patched_file_has_the_same_data(tmp_path: Path) -> None:
    table = variant_rows(1000)
    path = tmp_path / "file.parquet"
    pq.write_table(table, path, row_group_size=300, write_page_index=True, compression="zstd")
    before = path.read_bytes()
    patch_file(path, ["v"], key_values={"varquet.test": "yes"})
    after = path.read_bytes()
    body = len(before) - 8 - len(footer_of(before))
    assert after[:body] == before[:body] and len(after) > len(before)
    assert after == patch_bytes(before, ["v"], key_values={"varquet.test": "yes"})

    assert pq.read_table(path).equals(table)
    assert ds.dataset(path).to_table(filter=ds.field("id") >= 990).equals(table.slice(990))
    file = pq.ParquetFile(path)
    assert "optional group field_id=-1 v (Variant(1))" in str(file.schema)
    assert sum(batch.num_rows for batch in file.iter_batches(64, columns=["v.value"])) == 1000
    first = file.metadata.row_group(0)
    assert (first.column(0).statistics.min, first.column(0).statistics.max, first.column(1).statistics.null_count) == (0, 299, 43)
    assert all(first.column(index).has_column_index and first.column(index).has_offset_index for index in range(3))


def test_what_is_not_a_parquet_file(tmp_path: Path, small: bytes) -> None:
    path = tmp_path / "file.parquet"
    for data, message in (
        (b"", "expected a Parquet file, of 12 bytes at least, got 0"),
        (b"PAR1PAR1", "expected a Parquet file, of 12 bytes at least, got 8"),
        (b"id,v\n" * 5, "expected b'PAR1' at the end of a Parquet file, got b'd,v\\n' - at byte 21, "),
        (b"id,v\n" * 5, "Hint: this is not a Parquet file"),
        (small[:-1], "Hint: the file starts as Parquet: it was cut off, or is still being written"),
        (small[:-4] + b"PARE", "expected a footer in plain text, got an encrypted one (PARE)"),
        (small[:-8] + b"\xff\xff\xff\x7f" + b"PAR1", "bytes, got a length of 2147483647 - at byte "),
        (small[:-8] + bytes(4) + b"PAR1", "expected more of the footer, got its end"),
    ):
        path.write_bytes(data)
        with pytest.raises(ParquetError) as caught:
            read_footer(path)
        assert message in str(caught.value) and str(path) in str(caught.value)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(FileNotFoundError):
        read_footer(tmp_path / "none.parquet")


def test_a_signed_footer_is_not_changed() -> None:
    encryption = pytest.importorskip("pyarrow.parquet.encryption", reason="this pyarrow has no encryption")

    class Kms(encryption.KmsClient):  # type: ignore[misc, name-defined]
        def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
            return key_bytes.hex().encode()

        def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
            return bytes.fromhex(wrapped_key.decode())

    factory = encryption.CryptoFactory(lambda configuration: Kms())
    configuration = encryption.EncryptionConfiguration(footer_key="footer", column_keys={"column": ["id"]}, plaintext_footer=True)
    out = io.BytesIO()
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), configuration)
    with pq.ParquetWriter(out, variant_rows(5).schema, encryption_properties=properties) as writer:
        writer.write_table(variant_rows(5))
    footer = read_footer(io.BytesIO(out.getvalue()))
    assert footer.num_rows == 5 and footer.created_by is not None
    with pytest.raises(ParquetError, match="got 28 more. Hint: it may be signed"):
        patch_bytes(out.getvalue(), ["v"])


def use(data: bytes) -> str:
    """Do with a file all that is done with footers: what became of it in a word."""
    try:
        footer = read_footer(io.BytesIO(data))
        str((footer.schema, footer.num_rows, footer.key_value_metadata, footer.created_by, footer.variants()))
        again = patch_bytes(data, ["v"], key_values={"k": "v"})
        assert read_footer(io.BytesIO(again)).variants()["v",] == 1
    except ParquetError:
        return "refused"
    return "read"


def test_a_file_cut_off_anywhere_is_refused(small: bytes) -> None:
    assert use(small) == "read"
    assert {use(small[:size]) for size in range(len(small))} == {"refused"}
    footer = footer_of(small)
    assert {use(wrapped(footer[:size])) for size in range(len(footer))} == {"refused"}


def test_every_flipped_bit_is_refused_or_harmless(small: bytes) -> None:
    data = patch_bytes(small, ["v"], key_values={"key": "value"})
    start = len(data) - 8 - len(footer_of(data))
    results = []
    for at in range(start, len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[at] ^= 1 << bit
            results.append(use(bytes(flipped)))
    assert len(results) > 4000 and set(results) == {"read", "refused"}


def element(name: bytes, *, children: int = 0, physical: int | None = None, repetition: int | None = 1, more: bytes = b"") -> bytes:
    """One SchemaElement, written by hand; its numbers are below 64."""
    out = b""
    previous = 0
    for number, kind, value in ((1, I32, physical), (3, I32, repetition), (4, BINARY, name), (5, I32, children or None)):
        if value is not None:
            octets = binary(value) if isinstance(value, bytes) else bytes((2 * value if value >= 0 else -2 * value - 1,))
            out += field_header(previous, number, kind) + octets
            previous = number
    return out + more + b"\x00"


def file_of(*elements: bytes, behind: str = "16 00 19 0c 00") -> bytes:
    return wrapped(b"\x15\x02\x19" + list_header(STRUCT, len(elements)) + b"".join(elements) + bytes.fromhex(behind))


def test_schemas_written_by_hand() -> None:
    root = read_footer(io.BytesIO(file_of(element(b"r", children=2, repetition=None), element(b"g"), element(b"x", physical=9)))).schema
    assert [(child.name, child.physical_type, child.is_group) for child in root.children] == [("g", None, True), ("x", "TYPE_9", False)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (file_of(), "expected a root in the schema, got the end of its 0 elements"),
        (file_of(element(b"r"), element(b"x", physical=1)), "expected the schema to end after 1 elements, got another"),
        (file_of(element(b"r", children=3), element(b"x", physical=1)), "expected 2 more below 'r' in the schema, got the end of its 2"),
        (file_of(element(b"r", children=-1)), "expected a number of children of a column of the schema, got -1"),
        (file_of(element(b"r", children=1, physical=1), element(b"x")), "expected no children of a column of the schema, got 1"),
        (
            file_of(element(b"r", children=1), element(b"x", repetition=None)),
            "expected a repetition type in a struct of the footer, got none",
        ),
        (file_of(element(b"r", children=1), element(b"x", repetition=3)), "expected a repetition type of 0 to 2 in the schema, got 3"),
        (file_of(b"\x00"), "expected a name in a struct of the footer, got none"),
        (file_of(element(b"\xff")), "expected UTF-8 text in the footer"),
        (file_of(element(b"r"), behind="29 0c 00"), "expected a number of rows in the footer, got none"),
        (file_of(element(b"r"), behind="16 01 19 0c 00"), "expected a number of rows in the footer, got -1"),
        (wrapped(b"\x00"), "expected a root in the schema"),
    ],
)
def test_schemas_that_are_none(data: bytes, message: str) -> None:
    with pytest.raises(ParquetError) as caught:
        read_footer(io.BytesIO(data))
    assert message in str(caught.value)


def test_a_schema_nested_without_end() -> None:
    depth = 20_000
    variant = field_header(5, 10, STRUCT) + ANNOTATION
    group = element(b"g", children=1)
    deep = file_of(*[group] * depth, element(b"v", children=1, more=variant), element(b"x", physical=1))
    footer = read_footer(io.BytesIO(deep))
    path = ("g",) * (depth - 1) + ("v",)
    assert footer.variants() == {path: 1}
    assert patch_bytes(deep, [path]) == deep
    # Each level a Variant: the paths together are the square of the footer, and are not built.
    with pytest.raises(ParquetError, match="expected Variant columns at paths of 4194304 names at most, got more"):
        read_footer(io.BytesIO(file_of(*[element(b"g", children=1, more=variant)] * depth, element(b"x", physical=1)))).variants()


def test_names_in_messages() -> None:
    assert column_name(("a", "b.c", "d`e", "", "naïve")) == "a.`b.c`.`d``e`.``.naïve"
    assert column_name(["x"] * 100) == ".".join([*["x"] * 8, "...", *["x"] * 8])
