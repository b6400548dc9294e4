"""The shredding schema of a column in a Parquet file: found, read by the specification's table, and refused where it is not in it."""

from __future__ import annotations

import io
import json
import pathlib
import textwrap
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from varquet.errors import SchemaError
from varquet.schema import ELEMENT, ShreddingSchema

parse = ShreddingSchema.parse


def written(columns: dict[str, pa.DataType], **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    pq.ParquetWriter(file, pa.schema(columns.items()), **options).close()
    file.seek(0)
    return file


def variant(typed_value: pa.DataType) -> pa.DataType:
    return pa.struct([pa.field("metadata", pa.binary(), nullable=False), ("value", pa.binary()), ("typed_value", typed_value)])


# The specification's nested event, in the words of pyarrow, and fields in order.
NESTED_EVENT = """\
optional group event {
  required binary metadata;
  optional binary value;
  optional group typed_value {
    required group event_ts {
      optional binary value;
      optional int64 typed_value (Timestamp(isAdjustedToUTC=true, timeUnit=microseconds));
    }
    required group event_type {
      optional binary value;
      optional binary typed_value (String);
    }
    required group location {
      optional binary value;
      optional group typed_value {
        required group latitude {
          optional binary value;
          optional double typed_value;
        }
        required group longitude {
          optional binary value;
          optional double typed_value;
        }
      }
    }
    required group tags {
      optional binary value;
      optional group typed_value (List) {
        repeated group list {
          required group element {
            optional binary value;
            optional binary typed_value (String);
          }
        }
      }
    }
  }
}
"""


def test_the_physical_type_is_the_specifications_group() -> None:
    schema = parse("event_type string, event_ts timestamp, location struct<latitude: double, longitude: double>, tags array<string>")
    file = written({"event": schema.physical()})
    lines = str(pq.ParquetFile(file).schema).splitlines()[2:-1]
    text = textwrap.dedent("\n".join(lines)) + "\n"
    for noise in ("field_id=-1 ", ", is_from_converted_type=false, force_set_converted_type=false"):
        text = text.replace(noise, "")
    assert text == NESTED_EVENT
    file.seek(0)
    assert ShreddingSchema.from_parquet(file, "event") == schema


@pytest.mark.parametrize(
    "name",
    [
        "boolean",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "float",
        "double",
        "decimal(9,4)",
        "decimal(18,9)",
        "decimal(38,9)",
        "date",
        "time",
        "timestamp",
        "timestamp_ntz",
        "timestamp_nanos",
        "timestamp_ntz_nanos",
        "binary",
        "string",
        "uuid",
    ],
)
@pytest.mark.parametrize("options", [{}, {"store_schema": False}, {"store_decimal_as_integer": True}])
def test_every_type(name: str, options: dict[str, Any]) -> None:
    schema = parse(f"a {name}, b array<{name}>")
    assert ShreddingSchema.from_parquet(written({"v": schema.physical()}, **options), "v") == schema


def test_columns_are_found_at_any_place(tmp_path: pathlib.Path) -> None:
    one, two, three = parse("a bigint"), parse("array<date>"), parse("variant")
    path = tmp_path / "places.parquet"
    places = {
        "id": pa.int64(),
        "a.b": one.physical(),
        "deep": pa.struct(
            [("x", pa.map_(pa.string(), pa.int8())), ("rows", pa.list_(pa.struct([("y", pa.int8()), ("v", two.physical())])))]
        ),
        "named": pa.map_(pa.string(), three.physical()),
        "last": one.physical(),
    }
    path.write_bytes(written(places).getvalue())
    for source in (path, str(path)):
        assert ShreddingSchema.from_parquet(source, "a.b") == one == ShreddingSchema.from_parquet(source, ["last"])
        assert ShreddingSchema.from_parquet(source, ("deep", "rows", ELEMENT, "v")) == two
        assert ShreddingSchema.from_parquet(source, ("named", "value")) == three


def test_fields_that_are_ignored_do_not_shift_the_columns() -> None:
    odd = pa.struct(
        [
            ("_x", pa.struct([("a", pa.uint8()), ("b", pa.list_(pa.uint8()))])),
            (
                "typed_value",
                pa.struct(
                    [("a", pa.struct([("typed_value", pa.date32()), ("_y", pa.map_(pa.string(), pa.uint8())), ("value", pa.binary())]))]
                ),
            ),
            ("_z", pa.uint8()),
            ("metadata", pa.binary()),
        ]
    )
    assert ShreddingSchema.from_parquet(written({"v": odd}), "v") == parse("a date")


def test_what_only_arrow_says_does_not_matter() -> None:
    # Parquet has INT64 and DATE here; durations and milliseconds are in the Arrow schema stored beside it.
    for arrow, name in ((pa.duration("us"), "bigint"), (pa.date64(), "date"), (pa.dictionary(pa.int32(), pa.string()), "string")):
        assert ShreddingSchema.from_parquet(written({"v": variant(arrow)}), "v") == parse(name)


@pytest.mark.parametrize(
    ("arrow", "options", "got", "hint"),
    [
        (pa.uint32(), {}, "INT32 INT(32,false): it has no unsigned integers", "take bigint or decimal(20,0)"),
        (pa.uint64(), {"store_schema": False}, "INT64 INT(64,false): it has no unsigned integers", "take decimal(20,0)"),
        (pa.binary(4), {}, "FIXED_LEN_BYTE_ARRAY(4): its only binary of a fixed length is the uuid of 16 bytes", "take binary"),
        (pa.binary(16), {}, "FIXED_LEN_BYTE_ARRAY(16): its only binary of a fixed length is the uuid of 16 bytes", "annotate it as UUID"),
        (
            pa.timestamp("ns"),
            {"use_deprecated_int96_timestamps": True},
            "INT96: it has no INT96",
            "write timestamps as INT64 of microseconds or nanoseconds",
        ),
        (
            pa.timestamp("ms", "UTC"),
            {},
            "INT64 TIMESTAMP(true,MILLIS): its timestamps are in microseconds or nanoseconds",
            "take timestamp",
        ),
        (
            pa.time64("us"),
            {"write_time_adjusted_to_utc": True},
            "INT64 TIME(true,MICROS): its times have no time zone",
            "write it as TIME(false,MICROS)",
        ),
        (pa.time64("ns"), {}, "INT64 TIME(false,NANOS): its times are in microseconds", "take time"),
        (pa.time32("ms"), {}, "INT32 TIME(false,MILLIS): its times are in microseconds", "take time"),
        (pa.float16(), {}, "FIXED_LEN_BYTE_ARRAY(2) FLOAT16: its floating-point numbers have 32 or 64 bits", "take float"),
        (
            pa.decimal256(50, 2),
            {},
            "FIXED_LEN_BYTE_ARRAY(21) DECIMAL(50,2): its decimals have at most 38 digits in 128 bits",
            "take double, string or variant",
        ),
        (pa.json_(), {}, "BYTE_ARRAY JSON: it has no such type", None),
        (pa.null(), {}, "INT32 NULL: a null has no type there", "take variant, which has no typed_value"),
        (pa.map_(pa.string(), pa.int8()), {}, "a MAP: it has no maps", "take a struct of the keys that are known, or variant"),
    ],
)
def test_types_that_are_refused(arrow: pa.DataType, options: dict[str, Any], got: str, hint: str | None, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "odd.parquet"
    field = pa.struct([("x.y", pa.struct([("value", pa.binary()), ("typed_value", arrow)]))])
    path.write_bytes(written({"id": pa.int8(), "v": variant(field)}, **options).getvalue())
    with pytest.raises(SchemaError) as caught:
        ShreddingSchema.from_parquet(path, "v")
    assert str(caught.value) == (
        f"expected a type of the shredding specification's table for typed_value, got {got}, in column 'v' of {path} - at $['x.y']"
        + (f". Hint: {hint}" if hint else "")
    )


@pytest.mark.parametrize(
    ("columns", "column", "message"),
    [
        ({"event": pa.int8()}, "evnt", "expected the name of a column, got 'evnt', of which there is none. Hint: did you mean 'event'?"),
        ({"v": pa.int8()}, "zzz", "expected the name of a column, got 'zzz', of which there is none"),
        ({"v": pa.int8()}, (), "expected the name of a column, got none"),
        ({"v": pa.struct([("a", pa.int8())])}, ("v", "b"), "expected the name of a field of column 'v', got 'b', of which there is none"),
        (
            {"v": pa.list_(pa.int8())},
            ("v", ELEMENT, ELEMENT),
            "expected the name of a field of column 'v.[*]', got '[*]', of which there is none",
        ),
        ({"v": pa.int64()}, "v", "expected a group of metadata, value and typed_value, got int64, in column 'v' - at $"),
        (
            {"v": pa.struct([("metadata", pa.binary()), ("value", pa.string())])},
            "v",
            "expected value to be binary, got BYTE_ARRAY STRING, in column 'v' - at $",
        ),
        (
            {"v": pa.struct([("metadata", pa.binary()), ("value", pa.list_(pa.binary()))])},
            "v",
            "expected value to be binary, got list<element: binary>, in column 'v' - at $",
        ),
    ],
)
def test_columns_that_are_no_variants(columns: dict[str, pa.DataType], column: Any, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        ShreddingSchema.from_parquet(written(columns), column)
    assert str(caught.value) == message


def test_two_columns_of_one_name() -> None:
    file = io.BytesIO()
    pq.ParquetWriter(file, pa.schema([("v", pa.int8()), ("v", pa.int8())])).close()
    file.seek(0)
    with pytest.raises(SchemaError, match="^expected the name of a column, got 'v', of which there are several$"):
        ShreddingSchema.from_parquet(file, "v")


def test_files_that_are_none(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError):
        ShreddingSchema.from_parquet(tmp_path / "none.parquet", "v")
    (tmp_path / "text.parquet").write_bytes(b"this is not Parquet")
    with pytest.raises(SchemaError, match=r"^expected a Parquet file that pyarrow opens, got \S+text\.parquet: Parquet magic bytes"):
        ShreddingSchema.from_parquet(tmp_path / "text.parquet", "v")
    with pytest.raises(SchemaError, match="^expected a Parquet file that pyarrow opens, got bytes: "):
        ShreddingSchema.from_parquet(io.BytesIO(b"x"), "v")


def test_deep_schemas() -> None:
    # pyarrow opens files of 100 levels unless told otherwise, and reads no Arrow schema that is much deeper.
    schema = parse("array<" * 120 + "bigint" + ">" * 120)
    assert ShreddingSchema.from_parquet(written({"v": schema.physical()}, store_schema=False), "v") == schema


SUITE = {
    2: "array<string>", 4: "boolean", 6: "tinyint", 8: "smallint", 10: "int", 12: "bigint", 14: "float", 16: "double", 18: "date",
    20: "timestamp", 22: "timestamp_ntz", 24: "decimal(9,4)", 26: "decimal(18,9)", 28: "decimal(38,9)", 30: "binary", 32: "time",
    34: "timestamp_nanos", 36: "timestamp_ntz_nanos", 37: "uuid", 38: "a variant, b variant", 44: "c struct<a: int, b: string>, d double",
    48: "variant", 84: "a int, b string, c double, d boolean", 88: "array<string>", 90: "string",
    126: "array<struct<a: int, b: string>>", 132: "a int, b string", 136: "array<array<string>>", 138: "a int, b string",
}  # fmt: skip
"""Schemas of apache/parquet-testing's shredded_variant, by case."""
REFUSED = {127: "INT32 INT(32,false): it has no unsigned integers", 137: "FIXED_LEN_BYTE_ARRAY(4): its only binary of a fixed length"}


def test_the_files_of_parquet_testing(parquet_testing: pathlib.Path) -> None:
    suite = parquet_testing / "shredded_variant"
    cases = {case["case_number"]: case.get("parquet_file", "") for case in json.loads((suite / "cases.json").read_text())}
    present = {number: suite / file for number, file in cases.items() if file and (suite / file).exists()}
    assert len(present.keys() & SUITE.keys()) >= 28
    for number, path in present.items():
        if number in REFUSED:
            with pytest.raises(SchemaError, match="^expected a type of the shredding .*got ") as caught:
                ShreddingSchema.from_parquet(path, "var")
            assert REFUSED[number] in str(caught.value)
            continue
        schema = ShreddingSchema.from_parquet(path, "var")
        assert schema.ddl() == SUITE.get(number, schema.ddl())
        assert ShreddingSchema.from_physical(pq.read_schema(path).field("var").type) == schema
