"""What statistics let one say of a predicate: never less than is true."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from query_by_hand import truth

import varquet as vq
from varquet.queries.expressions import Operand, Predicate
from varquet.queries.grammar import parse_predicate, predicate_text
from varquet.queries.outcomes import ANYTHING, FALSE, TRUE, UNKNOWN, Bounds, outcomes
from varquet.types import BY_NAME
from varquet.variant.model import Scalar


def of(text: str, bounds: Bounds) -> int:
    return outcomes(parse_predicate(text), lambda _: bounds)


RANGE = Bounds(has_nulls=False, low=10.0, high=20.0, has_nan=False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$.a = 5", FALSE),
        ("$.a = 10", TRUE | FALSE),
        ("$.a != 5", TRUE),
        ("$.a < 10", FALSE),
        ("$.a <= 10", TRUE | FALSE),
        ("$.a > 20", FALSE),
        ("$.a >= 10", TRUE),
        ("$.a in (1, 2, 30)", FALSE),
        ("$.a in (1, null)", UNKNOWN),
        ("$.a not in (1, null)", UNKNOWN),
        ("$.a between 1 and 9", FALSE),
        ("not $.a between 1 and 9", TRUE),
        ("$.a is null", FALSE),
        ("$.a is not null", TRUE),
        ("$.a is nan", FALSE),
        ("$.a < 5 or $.a > 30", FALSE),
        ("$.a < 5 or $.a > 15", TRUE | FALSE),
        ("$.a > 5 and $.a < 15", TRUE | FALSE),
        ("not ($.a > 5 and $.a < 30)", FALSE),
        ("$.a = double 'nan'", FALSE),
        ("$.a < double 'nan'", TRUE),
        ("$.a in ()", FALSE),
    ],
)
def test_by_bounds(text: str, expected: int) -> None:
    assert of(text, RANGE) == expected


def test_what_is_not_known_rules_nothing_out() -> None:
    for text in ("$.a = 5", "$.a != 5", "$.a < 5", "$.a is null", "not $.a in (1)", "$.a::string starts with 'x'", "$.a is nan"):
        assert of(text, ANYTHING) & TRUE


def test_nan_is_beyond_the_bounds() -> None:
    tainted = Bounds(has_nulls=False, low=10.0, high=20.0, has_nan=True)
    assert of("$.a > 20", tainted) == TRUE | FALSE
    assert of("$.a <= 20", tainted) == TRUE | FALSE
    assert of("$.a < 10", tainted) == FALSE
    assert of("$.a != 15", Bounds(False, True, 15.0, 15.0, has_nan=True)) == TRUE | FALSE
    assert of("$.a = double 'nan'", tainted) == TRUE | FALSE


def test_nulls_are_unknown() -> None:
    nothing = Bounds(has_nulls=True, has_values=False)
    assert of("$.a = 5", nothing) == UNKNOWN
    assert of("not $.a = 5", nothing) == UNKNOWN
    assert of("$.a = 5 or $.a is null", nothing) == TRUE
    assert of("$.a = 5 and $.a is null", nothing) == UNKNOWN
    assert of("$.a is not null", nothing) == FALSE


def test_texts_compare_by_their_bytes() -> None:
    # In UTF-16 the order of these two is the other way round.
    bounds = Bounds(False, True, "\uff5e".encode(), "\U0001f600".encode(), has_nan=False)
    assert of("$.a > '\uff5e'", bounds) == TRUE | FALSE
    assert of("$.a = '\U00010000'", bounds) == TRUE | FALSE
    assert of("$.a = 'z'", bounds) == FALSE
    assert of("$.a::string starts with 'a'", Bounds(False, True, b"aa", b"ab\xff", has_nan=False)) == TRUE
    assert of("$.a::string starts with 'ab'", Bounds(False, True, b"aa", b"ab\xff", has_nan=False)) == TRUE | FALSE
    assert of("$.a::string starts with 'b'", Bounds(False, True, b"aa", b"ab\xff", has_nan=False)) == FALSE
    assert of("$.a::string starts with 'abc'", Bounds(False, True, b"ac", b"zz", has_nan=False)) == FALSE


def test_a_bloom_filter_rules_equality_out_and_nothing_else() -> None:
    bounds = Bounds(False, True, 0.0, 9.0, has_nan=False, excludes=lambda literal: literal == 5)
    assert of("$.a = 5", bounds) == FALSE
    assert of("$.a = 6", bounds) == TRUE | FALSE
    assert of("$.a in (5, 6)", bounds) == TRUE | FALSE
    assert of("$.a in (5)", bounds) == FALSE
    assert of("$.a >= 5", bounds) == TRUE | FALSE


@pytest.mark.parametrize("seed", range(200))
def test_no_outcome_is_missed(seed: int) -> None:
    """Random values, bounds around them, random predicates: what each value gives is among what was said."""
    chance = random.Random(seed)
    values: list[Any] = [chance.choice((None, math.nan, -0.0, 0.0, *range(-3, 4))) for _ in range(chance.randint(1, 4))]
    real = [value for value in values if value is not None and value == value]
    slack = chance.choice((0, 0, 1))
    bounds = Bounds(
        has_nulls=None in values or chance.random() < 0.2,
        has_values=any(value is not None for value in values),
        low=min(real) - slack if real and chance.random() < 0.8 else None,
        high=max(real) + slack if real and chance.random() < 0.8 else None,
        has_nan=any(value is not None and value != value for value in values) or chance.random() < 0.3,
    )
    operand = vq.path("$", "double")

    def predicate(depth: int) -> Predicate:
        drawn = chance.random()
        if depth and drawn < 0.5:
            parts = [predicate(depth - 1) for _ in range(2)]
            return ~parts[0] if drawn < 0.15 else parts[0] & parts[1] if drawn < 0.33 else parts[0] | parts[1]
        literals = [chance.choice((-2.0, 0.0, 1.0, 3.0, math.nan)) for _ in range(2)]
        return chance.choice(
            (
                operand.is_null(),
                operand.is_nan(),
                operand.is_in([*literals, *([None] if chance.random() < 0.3 else [])]),
                operand.between(*literals),
                operand == literals[0],
                operand != literals[0],
                operand < literals[0],
                operand <= literals[0],
                operand > literals[0],
                operand >= literals[0],
            )
        )

    for made in [predicate(3) for _ in range(20)]:
        said = outcomes(made, lambda _: bounds)
        for value in values:
            node = None if value is None else Scalar(BY_NAME["double"], float(value))
            is_true = truth(made, node)
            assert said & (UNKNOWN if is_true is None else TRUE if is_true else FALSE), (predicate_text(made), value, bounds)


def test_one_more_value_never_makes_a_skip() -> None:
    """P20: bounds that are wider, or not known, say all that narrower ones say."""
    narrow, wide = RANGE, Bounds(has_nulls=True, low=0.0, high=30.0, has_nan=True)
    for text in ("$.a = 5", "$.a > 20", "$.a is null", "$.a not in (15)", "$.a between 21 and 22"):
        assert of(text, narrow) & ~of(text, wide) == 0
        assert of(text, wide) & ~of(text, ANYTHING) == 0


def test_operands_are_asked_one_by_one() -> None:
    known = {"a": RANGE, "b": Bounds(has_nulls=True, has_values=False)}

    def bounds_of(operand: Operand) -> Bounds:
        assert operand.path is not None
        return known[str(operand.path.steps[0])]

    assert outcomes(parse_predicate("$.a > 5 and $.b > 5"), bounds_of) == UNKNOWN
    assert outcomes(parse_predicate("$.a > 5 or $.b > 5"), bounds_of) == TRUE
