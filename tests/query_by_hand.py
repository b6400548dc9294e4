"""Queries evaluated row by row in plain Python, from decoded values: what every scan must agree with; and random ones to ask."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

import varquet as vq
from varquet.paths import Path
from varquet.queries.expressions import And, Comparison, In, IsNan, IsNull, Not, Operand, Or, Predicate, StartsWith
from varquet.variant.cast import try_cast
from varquet.variant.model import Node, Scalar

__all__ = ["TYPES", "is_true_of", "random_predicate", "value_at"]

TYPES = (
    pa.int64(),
    pa.int32(),
    pa.int8(),
    pa.float64(),
    pa.float32(),
    pa.string(),
    pa.bool_(),
    pa.decimal128(9, 2),
    pa.decimal128(18, 4),
    pa.decimal128(38, 18),
    pa.date32(),
    pa.timestamp("us", "UTC"),
    pa.timestamp("us"),
    pa.time64("us"),
    pa.binary(),
    pa.binary(16),
)

STEPS = ("a", "b", "c", "a.b", 0, 1, -1)


def node_at(node: Node | None, path: Path) -> Node | None:
    """What a path leads to; None for nowhere."""
    for step in path.steps:
        if isinstance(step, str) and isinstance(node, dict):
            node = node.get(step)
        elif isinstance(step, int) and isinstance(node, list) and -len(node) <= step < len(node):
            node = node[step]
        else:
            return None
    return node


def value_at(node: Node | None, operand: Operand) -> Any:
    """The value of an operand, as something that Python compares as the format does; None for null."""
    assert operand.path is not None
    found = node_at(node, operand.path)
    if found is None or operand.type is None:
        return None if found is None else found
    if isinstance(found, Scalar) and found.type.name == "null":
        return None
    return comparable(try_cast(found, operand.type), operand.type)


def comparable(value: Any, kind: pa.DataType) -> Any:
    """A value that Python compares as the format does: NaN is the largest number, texts are their bytes."""
    if value is None:
        return None
    if pa.types.is_floating(kind):
        number = pa.scalar(value, kind).as_py()
        return (1, 0.0) if math.isnan(number) else (0, number)
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_date(kind):
        return pa.scalar(value, kind).value
    if isinstance(value, str):
        return value.encode()
    return bytes(getattr(value, "bytes", value)) if pa.types.is_fixed_size_binary(kind) or pa.types.is_binary(kind) else value


def truth(predicate: Predicate, node: Node | None) -> bool | None:
    """True, false or, for unknown, None."""
    if isinstance(predicate, Not):
        found = truth(predicate.part, node)
        return None if found is None else not found
    if isinstance(predicate, (And, Or)):
        parts = [truth(part, node) for part in predicate.parts]
        decisive = isinstance(predicate, Or)
        return decisive if decisive in parts else None if None in parts else not decisive
    operand = predicate.operand  # type: ignore[attr-defined]
    value = value_at(node, operand)
    if isinstance(predicate, IsNull):
        return value is None
    if value is None:
        return None
    if isinstance(predicate, IsNan):
        return bool(value[0] == 1)
    if isinstance(predicate, StartsWith):
        return bool(value.startswith(predicate.prefix.encode()))
    if isinstance(predicate, In):
        if value in [comparable(literal, operand.type) for literal in predicate.literals]:
            return True
        return None if predicate.has_null else False
    assert isinstance(predicate, Comparison)
    literal = comparable(predicate.literal, operand.type)
    return bool(
        {
            "=": value == literal,
            "!=": value != literal,
            "<": value < literal,
            "<=": value <= literal,
            ">": value > literal,
            ">=": value >= literal,
        }[predicate.operator]
    )


def is_true_of(predicate: Predicate, nodes: Sequence[Node | None]) -> list[bool]:
    """Whether a predicate is true of each row."""
    return [truth(predicate, node) is True for node in nodes]


def random_predicate(nodes: Sequence[Node | None], chance: random.Random, depth: int = 3) -> Predicate:
    """A predicate about paths, types and literals that occur in the data, and some that do not."""
    if depth and chance.random() < 0.6:
        if chance.random() < 0.3:
            return ~random_predicate(nodes, chance, depth - 1)
        parts = tuple(random_predicate(nodes, chance, depth - 1) for _ in range(chance.randint(1, 3)))
        return And(parts) if chance.random() < 0.5 else Or(parts)
    path = _random_path(nodes, chance)
    kind = chance.choice(TYPES)
    operand = vq.path(path, kind)
    drawn = chance.random()
    if drawn < 0.1:
        return vq.path(path).is_null()
    if drawn < 0.2:
        return operand.is_null()
    if drawn < 0.25:
        return vq.path(path, pa.float64()).is_nan()
    literals = _literals(nodes, operand, chance)
    if pa.types.is_string(kind) and drawn < 0.4:
        text = str(chance.choice(literals))
        return operand.starts_with(text[: chance.randint(0, len(text))])
    if drawn < 0.5:
        chosen: list[Any] = chance.sample(literals, chance.randint(0, min(3, len(literals))))
        return operand.is_in([*chosen, *([None] if chance.random() < 0.3 else [])])
    if drawn < 0.6:
        return operand.between(chance.choice(literals), chance.choice(literals))
    literal = chance.choice(literals)
    return chance.choice([operand.__eq__, operand.__ne__, operand.__lt__, operand.__le__, operand.__gt__, operand.__ge__])(literal)


def _random_path(nodes: Sequence[Node | None], chance: random.Random) -> Path:
    """A walk into one of the rows, sometimes a step beside."""
    steps: list[str | int] = []
    node = chance.choice(nodes) if nodes else None
    while isinstance(node, (dict, list)) and len(node) and chance.random() < 0.85:
        if isinstance(node, dict):
            step: str | int = chance.choice(sorted(node))
            node = node[step]
        else:
            step = chance.randrange(-len(node), len(node))
            node = node[step]
        steps.append(step)
    if chance.random() < 0.15:
        steps.append(chance.choice(STEPS))
    return Path(tuple(steps))


_EDGES: dict[str, list[Any]] = {
    "double": [0.0, -0.0, 1.5, math.inf, -math.inf, math.nan, 2.0**53, 1e300],
    "float": [0.0, -0.0, 1.5, math.inf, math.nan],
    "halffloat": [0.0],
    "string": ["", "a", "b", "\U0001f600", "\uff5e", "zz"],
    "bool": [True, False],
    "int64": [0, 1, -(1 << 63), (1 << 63) - 1, 1 << 53],
    "int32": [0, 1, -(1 << 31), (1 << 31) - 1],
    "int8": [0, 1, -128, 127],
    "binary": [b"", b"\xff", b"a"],
}


def _literals(nodes: Sequence[Node | None], operand: Operand, chance: random.Random) -> list[Any]:
    kind = operand.type
    assert operand.path is not None and kind is not None
    found: list[Any] = list(_EDGES.get(str(kind), []))
    if pa.types.is_decimal(kind):
        found += [Decimal(0), Decimal(1), Decimal("-1.5"), Decimal("0.01")]
    if pa.types.is_temporal(kind):
        found += [pa.scalar(number, pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind).as_py() for number in (0, 1, 12345)]
    if pa.types.is_fixed_size_binary(kind):
        found += [bytes(16), b"\xff" * 16]
    for node in chance.sample(list(nodes), min(len(nodes), 5)):
        inner = node_at(node, operand.path)
        value = None if inner is None or (isinstance(inner, Scalar) and inner.type.name == "null") else try_cast(inner, kind)
        if value is not None:
            try:
                found.append(pa.scalar(getattr(value, "bytes", value), kind).as_py())
            except (OverflowError, ValueError):
                continue  # a date that Python has no object for
    return [value for value in found if value is not None]


EVENT_QUERIES = (
    "$.type = 'purchase'",
    "$.user.id < 5000",
    "$.user.id::string = '21549' or $.user.id is null",
    "$.amount between 100 and 200 and not $.user.plan = 'free'",
    "$.user.geo.country in ('DE', 'FR', null)",
    "$.ts >= '2026-01-01T00:01:00' and $.ts < '2026-01-01T00:02:00'",
    "$.score::decimal(9,4) > 0.5 or $.score is nan",
    "$.items[0].qty::int = 1 and $.items[-1].price > 50",
    "$.payload.q is not null",
    "$.flags.beta = true or $.tags[0] starts with 's'",
    "not ($.device.os = 'ios' or $.device.os = 'android')",
    "$.user.name::string is null and $.user is not null",
    "$.user.geo.lat > 0 and $.user.geo.lon::decimal(9,4) < 0",
    "$.nowhere = 1 or $.id::bigint = 1000003",
)
"""Predicates about sample events: typed columns, residuals, arrays, conflicts, nulls."""


def events_found(texts: Sequence[str], predicate: str) -> list[int]:
    """The numbers of the events of which a predicate is true, by hand."""
    from varquet.queries.grammar import parse_predicate
    from varquet.variant.json_text import parse_json

    parsed = parse_predicate(predicate)
    return [number for number, is_true in enumerate(is_true_of(parsed, [parse_json(text) for text in texts])) if is_true]
