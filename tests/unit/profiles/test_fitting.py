"""What a profile says about how values fit a type."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

import varquet as vq
from varquet.profiles.fitting import typed_values, widened
from varquet.schema import ShreddingSchema


def facts(*values: Any) -> vq.PathFacts:
    return vq.profile(vq.parse_json(pa.array([value if isinstance(value, str) else json.dumps(value) for value in values])))["$"]


@pytest.mark.parametrize(
    ("type", "values", "expected"),
    [
        ("tinyint", [1, 300, 70_000, 10**12], 1),
        ("smallint", [1, 300, 70_000, 10**12], 2),
        ("bigint", [1, 300, 70_000, 10**12, '"x"'], 4),
        ("tinyint", [10**12], 0),
        ("decimal(3,2)", ["123456789.123456"], 0),
        ("decimal(3,2)", ["1.25", "9.99"], 2),
        ("decimal(18,2)", [1, "1.25", '"x"', "1e0"], 2),
        ("double", ["1e0", "1.5", 1], 1),
        ("string", ['"x"', '"y"', 1], 2),
        ("boolean", ["true", "false", 1], 2),
        ("array<bigint>", ["[1]", "[]", 1], 2),
        ("a bigint", ['{"a": 1}', "{}", 1], 2),
        ("variant", [1, 2], 0),
        ("date", ["null"], 0),
    ],
)
def test_values_that_go_into_a_column(type: str, values: list[Any], expected: int) -> None:
    assert typed_values(ShreddingSchema.parse(type), facts(*values)) == expected


@pytest.mark.parametrize(
    ("before", "values", "after"),
    [
        ("tinyint", [1], "tinyint"),
        ("tinyint", [200], "smallint"),
        ("bigint", [1], "bigint"),
        ("bigint", ["1.5"], "decimal(18,1)"),
        ("bigint", [*[1] * 99, "1.5"], "bigint"),
        ("decimal(5,2)", ["1.25"], "decimal(5,2)"),
        ("decimal(5,2)", ["1.125"], "decimal(18,3)"),
        ("decimal(18,2)", ["12345678901234567890.5"], "decimal(38,2)"),
        ("decimal(38,20)", ["1234567890123456789012345678901234567.5"], "decimal(38,20)"),
        ("string", [1], "string"),
        ("variant", [1], "variant"),
    ],
)
def test_types_that_more_values_fit(before: str, values: list[Any], after: str) -> None:
    assert widened(ShreddingSchema.parse(before), facts(*values)).ddl() == after
