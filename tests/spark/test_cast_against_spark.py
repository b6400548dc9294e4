"""`cast` gives what Spark's `try_variant_get` gives; where it does not, the difference is listed here with its reason."""

from __future__ import annotations

import datetime
import json
import math
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from cast_values import binary, decimal, edge_values, random_values, string, time, timestamp, timestamp_nanos, timestamp_ntz_nanos

from varquet.errors import CastError
from varquet.types import BY_NAME, Family, arrow_type_of_sql
from varquet.variant.cast import cast, try_cast
from varquet.variant.cast_text import read_double, read_float, rescale
from varquet.variant.decode import decode
from varquet.variant.encode import encode
from varquet.variant.equality import equal
from varquet.variant.json_text import parse_json
from varquet.variant.model import Node, Scalar

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

TARGETS = (
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10,2)", "decimal(9,4)", "decimal(38,0)",
    "decimal(38,18)", "decimal(38,38)", "string", "binary", "date", "timestamp", "timestamp_ntz",
)  # fmt: skip

# What the JVM prints for the value as a double: the digits from which Spark makes a decimal.
DOUBLE_TEXT = "text of the double"

VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
    ]
)


def variant_frame(spark: SparkSession, nodes: Iterable[Node]) -> DataFrame:
    """A DataFrame of a row number and a variant."""
    encoded = [encode(node) for node in nodes]
    variants = pa.array([{"value": value, "metadata": metadata} for metadata, value in encoded], VARIANT)
    return spark.createDataFrame(pa.table({"row": pa.array(range(len(encoded)), pa.int32()), "v": variants}))


def spark_casts(spark: SparkSession, nodes: Iterable[Node], targets: Iterable[str], function: str = "try_variant_get") -> pa.Table:
    """A column per target type with Spark's casts of all values, out of one query."""
    columns = [f"{function}(v, '$', '{target}') AS `{target}`" for target in targets]
    text = f"CAST({function}(v, '$', 'double') AS STRING) AS `{DOUBLE_TEXT}`" if function.startswith("try") else "NULL"
    return variant_frame(spark, nodes).selectExpr("row", *columns, text).toArrow().sort_by("row")


def payload(scalar: pa.Scalar) -> object:
    """An Arrow scalar as `cast` returns it."""
    if not scalar.is_valid:
        return None
    kind = scalar.type
    return scalar.value if pa.types.is_timestamp(kind) or pa.types.is_date(kind) else scalar.as_py()


def identical(left: object, right: object) -> bool:
    """Equal in type, digits, sign of zero and NaN."""
    if isinstance(left, float) and isinstance(right, float):
        return struct.pack("<d", left) == struct.pack("<d", right) or (math.isnan(left) and math.isnan(right))
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        return left.as_tuple() == right.as_tuple()
    return type(left) is type(right) and left == right


@dataclass(frozen=True)
class Comparison:
    """Values and what Spark makes of them."""

    nodes: list[Scalar]
    spark: pa.Table
    java: int

    def unexplained(self, target: str, explanations: Iterable[Callable[[Case], bool]]) -> list[str]:
        arrow = arrow_type_of_sql(target)
        found = []
        for row, node in enumerate(self.nodes):
            case = Case(
                node, target, try_cast(node, arrow), payload(self.spark[target][row]), self.spark[DOUBLE_TEXT][row].as_py(), self.java
            )
            if not identical(case.ours, case.sparks) and not any(explains(case) for explains in explanations):
                found.append(f"{node} to {target}: ours {case.ours!r}, Spark's {case.sparks!r}")
        return found


@dataclass(frozen=True)
class Case:
    node: Scalar
    target: str
    ours: Any
    sparks: Any
    double_text: str | None
    java: int


def printed_by_old_java(case: Case) -> bool:
    """Java before 19 prints some floating-point numbers with other digits than the fewest (JDK-4511638).

    The text must still name the same number, and a decimal must be the one that the printed digits give.
    """
    if case.java >= 19 or case.node.type.family not in (Family.FLOAT, Family.DOUBLE) or case.sparks is None:
        return False
    if case.target == "string":
        read = read_float if case.node.type.family is Family.FLOAT else read_double
        return identical(read(case.sparks), case.node.value)
    if case.target.startswith("decimal") and case.double_text is not None:
        arrow = arrow_type_of_sql(case.target)
        printed = rescale(Decimal(case.double_text), arrow.precision, arrow.scale)
        return identical(printed, case.sparks) and Decimal(case.double_text) != Decimal(repr(case.node.value))
    return False


def rounded_by_way_of_a_double(case: Case) -> bool:
    """Spark casts a decimal of more than 18 digits to int, smallint and tinyint by way of a double, which may round it up.

    To bigint it does not, and neither does varquet to any of them: 0.999 (38 nines) is 0, where Spark says 1.
    """
    if case.target not in ("int", "smallint", "tinyint") or not isinstance(case.node.value, Decimal):
        return False
    rounded = int(float(case.node.value))
    return len(case.node.value.as_tuple().digits) > 18 and case.sparks == try_cast(
        Scalar(BY_NAME["int64"], rounded), arrow_type_of_sql(case.target)
    )


def on_the_day_of_the_query(case: Case) -> bool:
    """A time without a date becomes a timestamp of today in Spark; varquet's casts do not read the clock."""
    today = (datetime.datetime.now(datetime.UTC) - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)).days
    return case.target == "timestamp" and case.ours is None and case.sparks is not None and abs(case.sparks // 86_400_000_000 - today) <= 1


@pytest.fixture(scope="module")
def java(spark: SparkSession) -> int:
    version = spark.sql("SELECT java_method('java.lang.System', 'getProperty', 'java.version')").first()
    assert version is not None
    return int(version[0].split(".")[0].split("-")[0])


@pytest.fixture(scope="module")
def edges(spark: SparkSession, java: int) -> Comparison:
    nodes = edge_values()
    return Comparison(nodes, spark_casts(spark, nodes, TARGETS), java)


@pytest.fixture(scope="module")
def randoms(spark: SparkSession, java: int) -> Comparison:
    nodes = random_values(2_000, seed=20_261_115)
    return Comparison(nodes, spark_casts(spark, nodes, TARGETS), java)


@pytest.mark.parametrize("target", TARGETS)
def test_edge_values_cast_as_in_spark(edges: Comparison, target: str) -> None:
    assert edges.unexplained(target, [printed_by_old_java, rounded_by_way_of_a_double]) == []


@pytest.mark.parametrize("target", TARGETS)
def test_random_values_cast_as_in_spark(randoms: Comparison, target: str) -> None:
    assert randoms.unexplained(target, [printed_by_old_java, rounded_by_way_of_a_double, on_the_day_of_the_query]) == []


@pytest.mark.parametrize("target", TARGETS)
def test_the_values_put_every_target_to_the_test(edges: Comparison, randoms: Comparison, target: str) -> None:
    for comparison in (edges, randoms):
        nulls = comparison.spark[target].null_count
        assert len(comparison.nodes) - nulls > 25
        assert nulls > 25 or target == "string"  # which everything can become


def test_ansi_mode_makes_no_difference(spark: SparkSession, edges: Comparison) -> None:
    before = spark.conf.get("spark.sql.ansi.enabled")
    assert before == "true"
    try:
        spark.conf.set("spark.sql.ansi.enabled", "false")
        other = spark_casts(spark, edges.nodes, TARGETS)
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
    for target in TARGETS:
        for row, node in enumerate(edges.nodes):
            assert identical(payload(other[target][row]), payload(edges.spark[target][row])), (node, target)


def test_spark_rounds_long_decimals_to_int_and_varquet_truncates(spark: SparkSession) -> None:
    values = [decimal(text) for text in ("0." + "9" * 38, "127." + "9" * 30, "-128." + "9" * 30, "2147483647." + "9" * 28)]
    found = spark_casts(spark, values, ["tinyint", "int", "bigint"])
    assert found["tinyint"].to_pylist() == [1, None, None, None]
    assert found["int"].to_pylist() == [1, 128, -129, None]
    assert found["bigint"].to_pylist() == [0, 127, -128, 2_147_483_647]
    assert [try_cast(value, pa.int8()) for value in values] == [0, 127, -128, None]
    assert [try_cast(value, pa.int32()) for value in values] == [0, 127, -128, 2_147_483_647]


# What Spark casts and varquet does not: (reason, text, target, Spark's result).
NOT_CAST_HERE = [
    ("Java reads hexadecimal floating point", "0x1p3", "double", 8.0),
    ("Java reads hexadecimal floating point", "0x1.8p1f", "float", 3.0),
    ("Java reads the digits of all scripts in decimals, though not in integers", "١٢", "decimal(10,2)", Decimal("12.00")),
    ("Java reads the digits of all scripts in decimals, though not in integers", "１２", "decimal(38,0)", Decimal(12)),
    ("a zone that only a time-zone database knows", "2024-01-05 10:20:30 Europe/Paris", "timestamp", 1_704_446_430_000_000),
    ("a zone that only a time-zone database knows", "2024-01-05 10:20:30 Europe/Paris", "timestamp_ntz", 1_704_450_030_000_000),
    ("a zone that only a time-zone database knows", "2024-01-05 10:20:30 Etc/UTC", "timestamp", 1_704_450_030_000_000),
    ("a zone that only a time-zone database knows", "2024-01-05T10:20:30GMT0", "timestamp", 1_704_450_030_000_000),
    ("an abbreviated zone of Java's own list", "2024-01-05T10:20:30PST", "timestamp", 1_704_478_830_000_000),
]  # fmt: skip


def test_what_spark_casts_and_varquet_does_not(spark: SparkSession) -> None:
    nodes = [string(text) for _, text, _, _ in NOT_CAST_HERE]
    found = spark_casts(spark, nodes, sorted({target for _, _, target, _ in NOT_CAST_HERE}))
    for row, (reason, text, target, result) in enumerate(NOT_CAST_HERE):
        assert payload(found[target][row]) == result, (reason, text)
        with pytest.raises(CastError, match="cannot cast string"):
            cast(nodes[row], arrow_type_of_sql(target))


def test_a_time_without_a_date_is_no_timestamp_here_and_one_of_today_in_spark(spark: SparkSession) -> None:
    nodes = [string(text) for text in ("10:20:30", "T10:20", "1:2", " 10:20:30.5", "10:20:30Z", "T1")]
    found = spark_casts(spark, nodes, ["timestamp", "timestamp_ntz"])
    for row, node in enumerate(nodes):
        ours, sparks = try_cast(node, arrow_type_of_sql("timestamp")), payload(found["timestamp"][row])
        assert ours is None
        assert on_the_day_of_the_query(Case(node, "timestamp", ours, sparks, None, 0))
        assert payload(found["timestamp_ntz"][row]) is None


def test_a_session_time_zone_moves_sparks_timestamps_and_not_ours(spark: SparkSession) -> None:
    node, morning, ahead = string("2024-01-05 10:20:30"), 1_704_450_030_000_000, 19_800_000_000
    try:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
        found = spark_casts(spark, [node, timestamp(morning)], ["timestamp", "string"])
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert payload(found["timestamp"][0]) == morning - ahead
    assert payload(found["string"][1]) == "2024-01-05 15:50:30"
    assert cast(node, arrow_type_of_sql("timestamp")) == morning
    assert cast(timestamp(morning), pa.string()) == "2024-01-05 10:20:30"


def test_binary_that_is_not_utf8_is_no_string_here_and_a_broken_one_in_spark(spark: SparkSession) -> None:
    broken = [b"\xff\xfe", b"a\xc3(", b"\xed\xa0\x80"]
    frame = variant_frame(spark, map(binary, broken))
    found = frame.selectExpr("row", "CAST(try_variant_get(v, '$', 'string') AS BINARY) AS data").toArrow().sort_by("row")
    assert found["data"].to_pylist() == broken
    assert [try_cast(binary(data), pa.string()) for data in broken] == [None] * 3


@pytest.mark.parametrize("value", [time(1), timestamp_nanos(1), timestamp_ntz_nanos(1)])
def test_types_that_spark_cannot_read(spark: SparkSession, value: Scalar) -> None:
    errors = pytest.importorskip("pyspark.errors")
    if not spark.version.startswith(("4.1.", "4.2.")):
        pytest.skip(f"known of Spark 4.1 and 4.2; this is {spark.version}")
    with pytest.raises(errors.PySparkException, match="UNKNOWN_PRIMITIVE_TYPE_IN_VARIANT"):
        spark_casts(spark, [value], ["string"])
    assert isinstance(try_cast(value, pa.string()), str)


TIME_TEXTS = (
    "10:20:30", "T10:20", "1:2", "10:20:30.5", "10:20:30Z", "10:20:30 PM", "12:00AM", "12:30 pm", "24:00:00", "23:59:59.999999999", "10",
    "T10",
    " T10", "2024-01-05 10:20:30", "10:20:30.1234567", " 10:20 ", "12:00:00  PM", "13:00 PM", "0:30am", "10:20 PM\t", "10:60", "10:20:",
    "T",
    "PM", "", "T1 AM", "10:20:30.", "-10:20", "1:2:3.4pM", "10 :20", "100:20", "12:00 A", "12:00 M",
)  # fmt: skip


def test_texts_become_times_as_in_spark(spark: SparkSession) -> None:
    if spark.version.startswith("4.1."):
        pytest.skip("the time type is a preview in Spark 4.1")
    nodes = [string(text) for text in TIME_TEXTS]
    found = spark_casts(spark, nodes, ["time(6)"])["time(6)"].cast(pa.time64("us")).cast(pa.int64()).to_pylist()
    assert [try_cast(node, pa.time64("us")) for node in nodes] == found
    assert 10 < sum(result is not None for result in found) < len(found) - 10


JSON_TEXTS = (
    "{}", "[]", '{"b":1.50,"a":[1,2.0,100.00,"x\\u0001\\u00e9\\n\\"/",null,true,{}],"c":{"d":1e100,"":"k"},"e":12345678901234567890.5}',
    "[[[[]]],[{}]]", '{"a":1e3,"b":1.5e-7,"c":-0.25,"d":123456789012345678901234567890123456789}', '{"😀":"日本","\\u0000":false}',
)  # fmt: skip


def test_objects_and_arrays_become_json_that_says_the_same(spark: SparkSession) -> None:
    """The numbers are spelled in varquet's form (1.50, 1.5e0), in Spark's without zeros and as Java does (1.5, 1.0E100)."""
    nodes = [decode(*encode(parse_json(text))) for text in JSON_TEXTS]
    found = spark_casts(spark, nodes, ["string", "bigint", "boolean", "binary", "date"])

    def meaning(text: str) -> object:
        return json.loads(text, parse_float=lambda digits: float(digits) if "e" in digits.lower() else Decimal(digits), parse_int=Decimal)

    for row, node in enumerate(nodes):
        assert meaning(str(cast(node, pa.string()))) == meaning(found["string"][row].as_py())
        for target in ("bigint", "boolean", "binary", "date"):
            assert try_cast(node, arrow_type_of_sql(target)) is None
            assert not found[target][row].is_valid


def test_variant_get_fails_where_cast_raises(spark: SparkSession) -> None:
    errors = pytest.importorskip("pyspark.errors")
    for node, target in ((string("abc"), "bigint"), (string("1.5"), "int"), (Scalar(BY_NAME["int16"], 300), "tinyint")):
        with pytest.raises(errors.PySparkException, match="INVALID_VARIANT_CAST"):
            spark_casts(spark, [node], [target], function="variant_get")
        with pytest.raises(CastError):
            cast(node, arrow_type_of_sql(target))


def test_variants_of_spark_arrive_through_arrow_and_decode(spark: SparkSession) -> None:
    quoted = ", ".join("('" + text.replace("\\", "\\\\").replace("'", "\\'") + "')" for text in JSON_TEXTS)
    table = spark.sql(f"SELECT parse_json(t) AS v, t FROM VALUES {quoted} AS texts(t)").toArrow()
    kind = table.schema.field("v").type
    assert [(field.name, field.type, field.nullable) for field in kind] == [("value", pa.binary(), False), ("metadata", pa.binary(), False)]
    assert kind.field("metadata").metadata == {b"variant": b"true"}
    for variant, text in zip(table["v"].to_pylist(), table["t"].to_pylist(), strict=True):
        assert equal(decode(variant["metadata"], variant["value"]), parse_json(text)), text


def test_every_type_that_spark_writes_decodes(spark: SparkSession) -> None:
    table = spark.sql(
        "SELECT to_variant_object(named_struct('b', true, 'n', CAST(null AS INT), 'i', 300S, 'l', 5000000000L, 'f', 1.5F, "
        "'d', double('NaN'), 'dec', 1.50, 's', 'é', 'bin', X'ff00', 'date', DATE'1969-12-31', 't', TIMESTAMP'2024-01-05 10:20:30.5', "
        "'ntz', TIMESTAMP_NTZ'2024-01-05 10:20:30')) AS v"
    ).toArrow()
    variant = table["v"][0].as_py()
    expected: dict[str, Node] = {
        name: Scalar(BY_NAME[kind], value)
        for name, kind, value in (
            ("b", "true", True),
            ("n", "null", None),
            ("i", "int16", 300),
            ("l", "int64", 5_000_000_000),
            ("f", "float", 1.5),
            ("d", "double", math.nan),
            ("dec", "decimal4", Decimal("1.50")),
            ("s", "string", "é"),
            ("bin", "binary", b"\xff\x00"),
            ("date", "date", -1),
            ("t", "timestamp", 1_704_450_030_500_000),
            ("ntz", "timestamp_ntz", 1_704_450_030_000_000),
        )
    }
    assert equal(decode(variant["metadata"], variant["value"]), expected)
