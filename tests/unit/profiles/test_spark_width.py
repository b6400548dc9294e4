"""How the policy `spark` spends its room; tests/spark/test_policy_spark.py compares it with what Spark writes."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import varquet as vq
from varquet.profiles.options import Options, with_hints
from varquet.profiles.spark_width import within_width
from varquet.schema import ShreddingSchema

# What Spark 4.2 wrote with spark.sql.variant.shredding.maxSchemaWidth set to these.
WIDTHS = {
    1: "variant",
    2: "a variant",
    3: "a struct<x: variant>",
    4: "a struct<x: bigint>",
    5: "a struct<x: bigint, y: variant>",
    6: "a struct<x: bigint, y: array<variant>>",
    7: "a struct<x: bigint, y: array<bigint>>",
    8: "a struct<x: bigint, y: array<bigint>>, b variant",
    9: "a struct<x: bigint, y: array<bigint>>, b string",
}


@pytest.mark.parametrize(("width", "expected"), WIDTHS.items())
def test_room_is_spent_from_the_root_down(width: int, expected: str) -> None:
    schema = ShreddingSchema.parse("a struct<x: bigint, y: array<bigint>>, b string")
    assert within_width(schema, width).ddl() == expected
    rows = pa.array([json.dumps({"a": {"x": 1, "y": [2]}, "b": "s"})])
    assert vq.choose(vq.profile(rows), "spark", Options(max_shredded_fields=width)).schema.ddl() == expected


def test_reasons_say_what_there_was_no_room_for() -> None:
    rows = pa.array([json.dumps({"a": {"x": 1, "y": [2]}, "b": "s"})])
    found = {one.path: one for one in vq.choose(vq.profile(rows), "spark", Options(max_shredded_fields=5)).decisions}
    assert (found["$.a.y"].chosen, found["$.a.y"].type) == (True, "variant")
    assert found["$.a.y"].reason == "no room for its type among the 5 columns that Spark has"
    assert not found["$.b"].chosen
    assert found["$.b"].reason == "beyond the 5 columns that Spark has room for"


def test_hints_have_room() -> None:
    rows = pa.array([json.dumps({"a": {"x": 1, "y": [2]}, "b": "s"})])
    hinted = with_hints(Options(max_shredded_fields=3), always=["$.b"], types={"$.c.d": "int"})
    assert vq.choose(vq.profile(rows), "spark", hinted).schema.ddl() == "a struct<x: variant>, b string, c struct<d: int>"


def test_very_deep_schemas() -> None:
    deep = ShreddingSchema.primitive(pa.int64())
    for _ in range(5_000):
        deep = ShreddingSchema.array(deep)
    assert within_width(deep, 10_000) == deep
    assert within_width(deep, 10).depth == 9
