"""Queries as text: what they mean, and what is said of those that mean nothing."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal

import pyarrow as pa
import pytest

import varquet as vq
from varquet.errors import UnsupportedTypeError
from varquet.queries.expressions import And, Comparison, In, Or
from varquet.queries.grammar import QueryError, parse_operand, parse_predicate, predicate_text


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("$.a = 1", "$.a::double = 1.0"),
        ("$.a::bigint<>1", "$.a::bigint != 1"),
        ("$.a = 9007199254740993", "$.a::bigint = 9007199254740993"),
        ("$['a b'].c[0] >= 'it''s'", "$['a b'].c[0]::string >= 'it''s'"),
        ("v:$.a is not NULL", "not v:$.a is null"),
        ('"odd name":$ is nan', '"odd name":$::double is nan'),
        ("$.a in (1, 2.5, null)", "$.a::double in (1.0, 2.5, null)"),
        ("$.a not in ('x')", "not $.a::string in ('x')"),
        ("$.a not between 1 and 2 and $.b < 3", "(not ($.a::double >= 1.0 and $.a::double <= 2.0) and $.b::double < 3.0)"),
        ("$.a STARTS WITH 'x' or not $.b is null", "($.a::string starts with 'x' or not $.b is null)"),
        ("$.a = 1 or $.b = 2 and $.c = 3", "($.a::double = 1.0 or ($.b::double = 2.0 and $.c::double = 3.0))"),
        ("($.a = 1 or $.b = 2) and not ($.c = 3)", "(($.a::double = 1.0 or $.b::double = 2.0) and not $.c::double = 3.0)"),
        ("$.t >= timestamp '2026-01-01T00:00:00Z'", "$.t::timestamp >= timestamp '2026-01-01T00:00:00+00:00'"),
        ("$.t = timestamp_ntz '2026-01-01 12:30:00'", "$.t::timestamp_ntz = timestamp_ntz '2026-01-01T12:30:00'"),
        ("$.d = date '2026-01-31' and $.t = time '01:02:03'", "($.d::date = date '2026-01-31' and $.t::time = time '01:02:03')"),
        ("$.m = decimal '0.10'", "$.m::decimal(38,18) = decimal '0.100000000000000000'"),
        ("$.x = x'CAFE' and $.y = true", "($.x::binary = x'cafe' and $.y::boolean = true)"),
        ("$.u = uuid '00000000-0000-0000-0000-000000000001'", "$.u::uuid = x'00000000000000000000000000000001'"),
        ("day = 3 and \"in\" != 'x'", "(day = 3 and \"in\" != 'x')"),
        ("$.a = double 'nan'", "$.a::double = double 'nan'"),
        ("$.a::decimal(10, 2) < -1", "$.a::decimal(10,2) < decimal '-1.00'"),
    ],
)
def test_what_texts_mean(text: str, meant: str) -> None:
    predicate = parse_predicate(text)
    assert predicate_text(predicate) == meant
    assert predicate_text(parse_predicate(meant)) == meant


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected a path such as .*, or the name of a column, got the end at character 0"),
        ("$.a", "expected a comparison: .*, got the end at character 3"),
        ("$.a = ", "expected a literal, got the end at character 6"),
        ("$.a = 1 and", "got the end at character 11"),
        ("($.a = 1", r"expected '\)', got the end at character 8"),
        ("$.a = 1)", r"expected AND, OR or the end, got '\)' at character 7"),
        ("$.a = 1 $.b = 2", "expected AND, OR or the end, got .* at character 8"),
        ("$.a ~ 1", "expected a path, a name, a literal or an operator, got '~ 1' at character 4"),
        ("$.a = date 'soon'", "expected a date in quotes, got .*soon.* at character 11"),
        ("$.a::blob = 1", "expected the SQL name of a primitive type, got 'blob', at character 5"),
        ("$.a between 1 or 2", "expected AND, got 'or 2' at character 14"),
        ("$.a not = 1", "expected a comparison"),
        ("$.a in (1,)", "expected a literal"),
        ("$.a = null", "expected a literal, got 'null' at character 6"),
        ("$.a::int = 1.5", "expected a whole number to compare int with, got 1.5"),
        ("$.a::int = 'x'", "expected a literal of type int, got 'x', at character 9"),
        ("$.a in (1, 'x')", "expected literals of one type, got double and string"),
        ("$.a starts with 1", "expected text as the beginning of text, got 1"),
        ("$.a::int is nan", "expected float or double for is nan, got int"),
        ("$.a = x'ABC'", "expected a literal"),
    ],
)
def test_what_is_no_query_is_said_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(QueryError, match=problem):
        parse_predicate(text)


def test_selections() -> None:
    assert parse_operand("$.user.id bigint").key == vq.path("$.user.id", pa.int64()).key
    assert parse_operand("v:$.m decimal(10,2)").key == vq.path("$.m", "decimal(10,2)", column="v").key
    assert parse_operand("$.geo").key == vq.path("$.geo").key
    assert parse_operand("day").key == vq.column("day").key
    with pytest.raises(QueryError, match="expected the SQL name"):
        parse_operand("$.a blob")
    with pytest.raises(QueryError, match="expected AND, OR or the end"):
        parse_operand("$.a bigint = 1")


def test_python_says_the_same() -> None:
    made = (vq.path("$.a") > 3) & ~vq.path("$.b", "string").is_in(["x", None]) | vq.path("$.c").is_null()
    assert predicate_text(made) == "(($.a::double > 3.0 and not $.b::string in ('x', null)) or $.c is null)"
    assert isinstance(made, Or) and isinstance(made.parts[0], And)
    assert predicate_text(vq.path("$.n") == Decimal("1.5")) == "$.n::decimal(38,18) = decimal '1.500000000000000000'"
    assert predicate_text(vq.path("$.d") <= datetime.date(2026, 1, 2)) == "$.d::date <= date '2026-01-02'"
    assert predicate_text(vq.path("$.u") != uuid.UUID(int=1)) == "$.u::uuid != x'00000000000000000000000000000001'"
    assert isinstance(vq.path("$.a").is_in([]), In)
    assert isinstance(vq.path("$.a") == pa.scalar(5), Comparison)


def test_what_cannot_be_compared() -> None:
    with pytest.raises(UnsupportedTypeError, match="got None"):
        _ = vq.path("$.a") == None  # noqa: E711
    with pytest.raises(UnsupportedTypeError, match="got another path"):
        _ = vq.path("$.a") == vq.path("$.b")
    with pytest.raises(UnsupportedTypeError, match="expected & | ~"):
        _ = 1 < vq.path("$.a") < 3
    with pytest.raises(UnsupportedTypeError, match="expected a predicate"):
        _ = (vq.path("$.a") > 1) & 1  # type: ignore[operator]
    with pytest.raises(UnsupportedTypeError, match="expected a literal that a value can be compared with"):
        _ = vq.path("$.a") == [1]
    with pytest.raises(UnsupportedTypeError, match="expected a literal of type timestamp"):
        _ = vq.path("$.a", "timestamp") > datetime.datetime(2026, 1, 1)


def test_predicates_of_any_depth() -> None:
    text = "not " * 5000 + "(" * 5000 + "$.a = 1" + ")" * 5000
    assert predicate_text(parse_predicate(text)).startswith("not not ")
