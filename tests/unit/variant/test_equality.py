"""Which values are the same, and which are not."""

from __future__ import annotations

import itertools
import math
import uuid
from decimal import Decimal

import pytest

from varquet.types import BY_NAME
from varquet.variant import Scalar, equal, logical_key, parse_json
from varquet.variant.model import NULL, Node


def _scalar(name: str, payload: object) -> Scalar:
    return Scalar(BY_NAME[name], payload)  # type: ignore[arg-type]


# Every group is one value in several forms; no two groups are the same value.
CLASSES: list[list[Node]] = [
    [NULL],
    [_scalar("true", True)],
    [_scalar("false", False)],
    [
        _scalar("int8", 1),
        _scalar("int16", 1),
        _scalar("int32", 1),
        _scalar("int64", 1),
        _scalar("decimal4", Decimal(1)),
        _scalar("decimal8", Decimal("1.00")),
        _scalar("decimal16", Decimal("1." + "0" * 37)),
    ],
    [_scalar("int8", 0), _scalar("decimal4", Decimal("0.00")), _scalar("decimal4", Decimal("-0.0"))],
    [_scalar("int8", 100), _scalar("decimal4", Decimal("100.0"))],
    [_scalar("int8", 10)],
    [_scalar("decimal4", Decimal("1.5")), _scalar("decimal8", Decimal("1.50"))],
    [_scalar("decimal16", Decimal("9" * 38))],
    [_scalar("decimal16", Decimal("9" * 37 + "8"))],
    [_scalar("double", 1.0)],
    [_scalar("float", 1.0)],
    [_scalar("double", 0.0)],
    [_scalar("double", -0.0)],
    [_scalar("float", 0.0)],
    [_scalar("float", -0.0)],
    [_scalar("double", math.nan), _scalar("double", -math.nan), _scalar("double", float("nan"))],
    [_scalar("float", math.nan)],
    [_scalar("double", math.inf)],
    [_scalar("double", -math.inf)],
    [_scalar("date", 0)],
    [_scalar("time", 0)],
    [_scalar("timestamp", 0), _scalar("timestamp_nanos", 0)],
    [_scalar("timestamp", -1), _scalar("timestamp_nanos", -1000)],
    [_scalar("timestamp_nanos", 1)],
    [_scalar("timestamp_ntz", 0), _scalar("timestamp_ntz_nanos", 0)],
    [_scalar("timestamp", (1 << 63) - 1)],
    [_scalar("string", "")],
    [_scalar("string", "1")],
    [_scalar("string", "object")],
    [_scalar("binary", b"")],
    [_scalar("binary", b"1")],
    [_scalar("uuid", uuid.UUID(int=0))],
    [_scalar("binary", bytes(16))],
    [[]],
    [{}],
    [[NULL]],
    [[[]]],
    [[[], []]],
    [[[[]]]],
    [parse_json("[1, 2]"), parse_json("[1.0, 2.00]")],
    [parse_json("[2, 1]")],
    [parse_json('{"a": 1, "b": 2}'), parse_json('{"b": 2.0, "a": 1}')],
    [parse_json('{"a": 2, "b": 1}')],
    [parse_json('{"a": 1}')],
    [parse_json('{"A": 1}')],
    [parse_json('{"a": null}')],
    [parse_json('{"a": {"b": 1}}')],
    [parse_json('[{"a": 1}, {"b": 1}]')],
    [parse_json('[{"a": 1, "b": 1}]')],
    [parse_json('["a", 1]')],
    [parse_json('[{"a": [1]}, 2]')],
    [parse_json('[{"a": [1, 2]}]')],
]


@pytest.mark.parametrize("same", CLASSES)
def test_one_value_in_several_forms(same: list[Node]) -> None:
    for left, right in itertools.product(same, repeat=2):
        assert equal(left, right)
        assert hash(logical_key(left)) == hash(logical_key(right))


def test_different_values() -> None:
    keys = [logical_key(same[0]) for same in CLASSES]
    assert len(set(keys)) == len(keys)
    for left, right in itertools.combinations(CLASSES, 2):
        assert not any(equal(a, b) for a in left for b in right)


def test_great_depth() -> None:
    left, right, other = (parse_json("[" * 100_000 + leaf + "]" * 100_000) for leaf in ("1", "1.0", "2"))
    assert equal(left, right)
    assert hash(logical_key(left)) == hash(logical_key(right))
    assert not equal(left, other)
