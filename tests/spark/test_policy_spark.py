"""The policy `spark` chooses what Spark itself writes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from interop_values import event_lines

import varquet as vq

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CASES: dict[str, list[Any]] = {
    "integers": [{"a": 1}, {"a": 300}, {"a": 1 << 40}],
    "booleans and strings": [{"a": True, "b": "x"}, {"a": False, "b": ""}],
    "decimals": ['{"a":1.5}', '{"a":123.45}', '{"a":0.05}'],
    "wide decimals": ['{"a":12345678901234567890.5}', '{"a":1.25}'],
    "integers and decimals": ['{"a":1}', '{"a":2.50}', '{"a":1234567890123}'],
    "integers and wide decimals": ['{"a":1234567890123456789}', '{"a":2.5000}'],
    "doubles": ['{"a":1e0}', '{"a":2.5e3}'],
    "doubles and integers": ['{"a":1e0,"b":1}', '{"a":2,"b":1}'],
    "strings and integers": [{"a": "x", "b": 1}, {"a": 2, "b": 1}],
    "nulls": [{"a": None, "b": 1}, {"a": 1, "b": None}, {"a": 2}],
    "only nulls": [{"a": None, "b": 1}, {"a": None, "b": 1}],
    "objects": [{"o": {"x": 1, "y": {"z": "s"}}}, {"o": {"x": 2}}],
    "objects and scalars": [{"o": {"x": 1}, "b": 1}, {"o": 1, "b": 1}],
    "empty objects": [{"o": {}, "b": 1}, {"o": {}, "b": 2}],
    "arrays": [{"l": [1, 2]}, {"l": []}],
    "empty arrays": [{"l": [], "b": 1}, {"l": [], "b": 1}],
    "mixed arrays": [{"l": [1, "x"], "b": 1}, {"l": [True], "b": 1}],
    "arrays of objects": [{"l": [{"x": 1}, {"x": 2, "y": "s"}]}, {"l": [{"x": 3}]}],
    "arrays and scalars": [{"l": [1], "b": 1}, {"l": 1, "b": 1}],
    "arrays of arrays": [{"l": [[1], [2, 3]]}, {"l": [[]]}],
    "a tenth": [{"a": 1, **({"rare": 1} if n < 1 else {}), **({"kept": 1} if n < 2 else {})} for n in range(20)],
    "root of arrays": [[1, 2], [3]],
    "root of scalars": [1, 2, 300],
    "root of mixed values": [1, '"x"'],
    "SQL NULLs": [{"a": 1}, None, {"a": 2}],
    "frequent by its nulls": [{"k": 1, **({"r": None} if n < 10 else {})} for n in range(100)],
    "a tenth of values that are null too": [*[None] * 50, *[{"k": 1, **({"r": 1} if n < 5 else {})} for n in range(50)]],
    "a tenth of Variant nulls too": [*["null"] * 50, *[{"k": 1, **({"r": 1} if n < 5 else {})} for n in range(50)]],
    "elements count each": [{"k": 1, **({"l": [{"x": 1}] * 5} if n < 2 else {"l": []})} for n in range(100)],
    "too few elements": [{"k": 1, **({"l": [{"x": 1}] * 4} if n < 2 else {"l": []})} for n in range(100)],
    "one string among integers": [{"a": 1, "b": 1}] * 1000 + [{"a": "x", "b": 1}],
    "decimals without a point": ['{"a":12345678901234567890,"b":1}', '{"a":1,"b":2}'],
    "nineteen digits and a point": ['{"a":1234567890123456789}', '{"a":0.1234567890123456789}'],
    "too many digits": ['{"a":1234567890123456789,"b":1}', '{"a":0.12345678901234567890,"b":1}'],
    "trailing zeros": ['{"a":1.5000}', '{"a":22}'],
    "zeros": ['{"a":0,"b":0.0}', '{"a":0.5,"b":0.00}'],
    "arrays of nulls": [{"l": [None], "b": 1}, {"l": [None, None], "b": 1}],
    "root of empty arrays": [[], []],
    "fifty objects": ['{"a":' * 50 + "1" + "}" * 50],
    "fifty-one objects": ['{"a":' * 51 + "1" + "}" * 51],
    "fifty arrays": ["[" * 50 + "1" + "]" * 50],
    "fifty-four arrays": ["[" * 54 + "1" + "]" * 54],
    "room for 149 integers": [{f"f{n:03}": n for n in range(149)}],
    "no room for 150 integers": [{f"f{n:03}": n for n in range(150)}],
    "no room for 200 integers": [{f"f{n:03}": n for n in range(200)}] * 3,
    "no room for two objects": [{name: {f"f{n:03}": n for n in range(100)} for name in "ab"}],
    "no room for nulls": [{f"f{n:03}": None for n in range(320)}],
    "room goes to all below first": [{"a": {"x": [{"y": 1}] * 2, "z": "s"}, **{f"f{n:03}": n for n in range(148)}}],
    "names in Java's order": [{"a": 1, **{f"f{n:03}": n for n in range(148)}, "\uff5e": 1, "\U0001f600": 1}] * 2,
    "more than a thousand names": [{f"a{n:04}": 1, "z": 1} for n in range(1010)],
    "a thousand names of one object": [{f"a{n:04}": "x" for n in range(1010)}],
}


def line(row: Any) -> str | None:
    return row if row is None or isinstance(row, str) else json.dumps(row)


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, vq.ShreddingSchema]:
    """The schema that Spark infers for each case, from the file that it writes."""
    cases = {**CASES, "events": event_lines(400)}
    folder = tmp_path_factory.mktemp("spark")
    found = {}
    for number, (name, rows) in enumerate(cases.items()):
        frame = spark.createDataFrame([(line(row),) for row in rows], "text string").selectExpr("parse_json(text) AS v")
        frame.coalesce(1).write.parquet(str(folder / str(number)))
        (path,) = sorted((folder / str(number)).glob("*.parquet"))
        found[name] = vq.ShreddingSchema.from_parquet(path, "v")
    return found


@pytest.mark.parametrize("name", [*CASES, "events"])
def test_the_policy_chooses_what_spark_writes(written: dict[str, vq.ShreddingSchema], name: str) -> None:
    rows = CASES[name] if name in CASES else event_lines(400)
    column = vq.parse_json(pa.array([line(row) for row in rows], pa.string()))
    assert vq.choose(vq.profile(column), "spark").schema.ddl() == written[name].ddl()
