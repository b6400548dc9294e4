"""Queries as text.

    predicate   = [NOT] comparison, combined by AND and OR, in brackets where needed
    comparison  = operand (= | != | <> | < | <= | > | >=) literal
                | operand [NOT] IN ( literal, ... )
                | operand [NOT] BETWEEN literal AND literal
                | operand [NOT] STARTS WITH 'text'
                | operand IS [NOT] NULL
                | operand IS [NOT] NAN
    operand     = [column:] path [:: type]          $.user.id, payload:$.user.id::bigint
                | column['key'] [:: type]           the value of a key of a map: headers['content-type'], headers["x-shard"]::bigint
                | column                            a column of the file that is no Variant; "in quotes" if need be
    literal     = 12 | -0.5 | 1e3 | 'text' ('' is a quote) | TRUE | FALSE | NULL, in a list only
                | DATE '2026-01-31' | TIME '12:30:00' | TIMESTAMP '2026-01-31T12:30:00Z' | TIMESTAMP_NTZ '2026-01-31T12:30:00'
                | DECIMAL '0.10' | DOUBLE 'nan' | UUID '...' | X'CAFE'

    selection   = [column:] path [type] | column['key'] [type] | column    $.user.id bigint

Keywords may be in any case. A path ends where the grammar of RFC 9535 ends it: $['a b'].c is one.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
import uuid
from collections.abc import Callable
from typing import Any, Final

from varquet.errors import PathError, UnsupportedTypeError, VarquetError
from varquet.paths import Path
from varquet.queries.expressions import (
    And,
    Comparison,
    In,
    IsNan,
    IsNull,
    Not,
    Operand,
    Operator,
    Or,
    Predicate,
    StartsWith,
    fold,
    operand_of,
    quoted_name,
)
from varquet.types import arrow_type_of_sql

__all__ = ["QueryError", "parse_operand", "parse_predicate", "predicate_text"]


class QueryError(VarquetError, ValueError):
    """The text is no predicate, or no selection."""


_TOKEN: Final = re.compile(
    r"""
    (?P<blank>\s+)
  | (?P<path>\$(?:\.[A-Za-z_\u0080-\U0010ffff][0-9A-Za-z_\u0080-\U0010ffff]*|\[\s*(?:-?\d+|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\s*\])*)
  | (?P<key>\[\s*(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\s*\])
  | (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
  | (?P<text>'(?:[^']|'')*')
  | (?P<octets>[xX]'[0-9A-Fa-f]*')
  | (?P<name>[A-Za-z_][0-9A-Za-z_]*(?:\.[A-Za-z_][0-9A-Za-z_]*)*)
  | (?P<quoted>"(?:[^"]|"")*")
  | (?P<sign>::|<=|>=|<>|!=|[=<>(),:])
    """,
    re.VERBOSE | re.DOTALL,
)
_OPERATORS: Final[dict[str, Operator]] = {"=": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_TYPED: Final[dict[str, Callable[[str], Any]]] = {
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "timestamp": lambda text: _moment(text, is_aware=True),
    "timestamp_ntz": lambda text: _moment(text, is_aware=False),
    "decimal": decimal.Decimal,
    "double": float,
    "uuid": uuid.UUID,
}
_KEYWORDS: Final = frozenset(("and", "or", "not", "in", "is", "null", "nan", "between", "starts", "with", "true", "false", *_TYPED))


def parse_predicate(text: str) -> Predicate:
    """The predicate that a text says."""
    parser = _Parser(text)
    predicate = parser.any()
    parser.end()
    return predicate


def parse_operand(text: str) -> Operand:
    """The operand that a selection says: a path, of a column if one is named, and its type if it has one."""
    parser = _Parser(text)
    operand = parser.operand(is_selection=True)
    parser.end()
    return operand


class _Parser:
    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise UnsupportedTypeError(f"expected a query as text, got {type(text).__name__}")
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise self.failure("a path, a name, a literal or an operator", at)
            kind = str(found.lastgroup)
            if kind != "blank":
                self.tokens.append((kind, found[0], at))
            at = found.end()
        self.place = 0

    def failure(self, expected: str, at: int | None = None) -> QueryError:
        if at is None:
            at = self.tokens[self.place][2] if self.place < len(self.tokens) else len(self.text)
        got = repr(self.text[at : at + 20]) if at < len(self.text) else "the end"
        return QueryError(f"expected {expected}, got {got} at character {at} of {self.text!r}", hint="docs/queries.md has the grammar")

    def peek(self, offset: int = 0) -> tuple[str, str]:
        place = self.place + offset
        return self.tokens[place][:2] if place < len(self.tokens) else ("end", "")

    def is_next(self, *words: str) -> bool:
        """Whether these keywords or signs come next; if so they are passed."""
        for k, word in enumerate(words):
            kind, text = self.peek(k)
            if kind not in ("name", "sign") or text.lower() != word:
                return False
        self.place += len(words)
        return True

    def demand(self, word: str) -> None:
        if not self.is_next(word):
            raise self.failure(word.upper() if word.isalpha() else repr(word))

    def end(self) -> None:
        if self.place < len(self.tokens):
            raise self.failure("AND, OR or the end")

    def any(self) -> Predicate:
        # Operators wait on a stack of their own, so that no text is nested too deeply.
        done: list[Predicate] = []
        waiting: list[str] = []

        def settle(least: int) -> None:
            while waiting and waiting[-1] != "(" and _BINDING[waiting[-1]] >= least:
                word = waiting.pop()
                if word == "not":
                    done.append(Not(done.pop()))
                else:
                    right, left = done.pop(), done.pop()
                    made = And if word == "and" else Or
                    parts = left.parts if isinstance(left, made) else (left,)
                    done.append(made((*parts, right)))

        while True:
            if self.is_next("not"):
                waiting.append("not")
                continue
            if self.is_next("("):
                waiting.append("(")
                continue
            done.append(self.comparison())
            while True:
                settle(_BINDING["not"])
                if "(" in waiting and self.is_next(")"):
                    settle(0)
                    waiting.pop()
                    continue
                break
            word = "and" if self.is_next("and") else "or" if self.is_next("or") else None
            if word is None:
                break
            settle(_BINDING[word])
            waiting.append(word)
        settle(0)
        if waiting:
            raise self.failure("')'")
        return done[0]

    def comparison(self) -> Predicate:
        operand = self.operand()
        if self.is_next("is", "not", "null"):
            return operand.is_not_null()
        if self.is_next("is", "null"):
            return operand.is_null()
        start = self.place
        try:
            if self.is_next("is", "not", "nan"):
                return Not(operand.is_nan())
            if self.is_next("is", "nan"):
                return operand.is_nan()
            is_not = self.is_next("not")
            made = self.compared(operand)
            return Not(made) if is_not else made
        except UnsupportedTypeError as error:
            at = self.tokens[min(start, len(self.tokens) - 1)][2]
            raise QueryError(f"{error.message}, at character {at} of {self.text!r}", hint=error.hint) from None

    def compared(self, operand: Operand) -> Predicate:
        if self.is_next("in"):
            self.demand("(")
            literals: list[Any] = []
            while not self.is_next(")"):
                if literals:
                    self.demand(",")
                literals.append(self.literal(or_null=True))
            return operand.is_in(literals)
        if self.is_next("between"):
            low = self.literal()
            self.demand("and")
            return operand.between(low, self.literal())
        if self.is_next("starts", "with"):
            literal = self.literal()
            return operand.starts_with(literal)
        kind, text = self.peek()
        if kind == "sign" and text in _OPERATORS and self.tokens[self.place - 1][1].lower() != "not":
            self.place += 1
            return operand.compared(_OPERATORS[text], self.literal())
        raise self.failure("a comparison: = != < <= > >= IN BETWEEN STARTS WITH IS")

    def operand(self, *, is_selection: bool = False) -> Operand:
        name: str | None = None
        kind, text = self.peek()
        if kind in ("name", "quoted") and not (kind == "name" and text.lower() in _KEYWORDS and not is_selection):
            name = text if kind == "name" else text[1:-1].replace('""', '"')
            self.place += 1
            kind, text = self.peek()
            if kind == "key":
                kind, text = "path", "$" + text
            elif not self.is_next(":"):
                return Operand(None, name)
            else:
                kind, text = self.peek()
        if kind != "path":
            raise self.failure("a path such as $.a.b" if name is not None else "a path such as $.a.b, or the name of a column")
        at = self.tokens[self.place][2]
        self.place += 1
        try:
            path = Path.parse(text)
        except PathError as error:
            raise QueryError(f"{error.message}, at character {at} of {self.text!r}", hint=error.hint) from None
        if self.is_next("::") or (is_selection and self.place < len(self.tokens)):
            return Operand(path, name, self.type())
        return Operand(path, name)

    def type(self) -> Any:
        kind, text = self.peek()
        if kind != "name":
            raise self.failure("the name of a type")
        at = self.tokens[self.place][2]
        self.place += 1
        end = at + len(text)
        if self.is_next("("):
            while self.place < len(self.tokens) and self.tokens[self.place][1] != ")":
                self.place += 1
            self.demand(")")
            end = self.tokens[self.place - 1][2] + 1
        try:
            return arrow_type_of_sql(self.text[at:end])
        except UnsupportedTypeError as error:
            raise QueryError(f"{error.message}, at character {at} of {self.text!r}", hint=error.hint) from None

    def literal(self, *, or_null: bool = False) -> Any:
        kind, text = self.peek()
        at = self.place
        self.place += 1
        if kind == "number":
            return int(text) if text.lstrip("+-").isdigit() else float(text)
        if kind == "text":
            return text[1:-1].replace("''", "'")
        if kind == "octets":
            if len(text) % 2 == 1:
                return bytes.fromhex(text[2:-1])
        elif kind == "name" and text.lower() in ("true", "false"):
            return text.lower() == "true"
        elif kind == "name" and text.lower() == "null" and or_null:
            return None
        elif kind == "name" and text.lower() in _TYPED and self.peek()[0] == "text":
            content = self.peek()[1][1:-1].replace("''", "'")
            try:
                value = _TYPED[text.lower()](content)
            except (ValueError, ArithmeticError):
                raise self.failure(f"a {text.lower()} in quotes") from None
            self.place += 1
            return value
        self.place = at
        raise self.failure("a literal")


_BINDING: Final = {"or": 1, "and": 2, "not": 3}


def _moment(text: str, *, is_aware: bool) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(text)
    if (moment.tzinfo is not None) != is_aware:
        raise ValueError
    return moment


def predicate_text(predicate: Predicate) -> str:
    """A predicate as text, from which `parse_predicate` makes the same."""
    return fold(
        predicate,
        _leaf_text,
        lambda parts: f"({' and '.join(parts)})",
        lambda parts: f"({' or '.join(parts)})",
        lambda part: f"not {part}",
    )


def _leaf_text(predicate: Predicate) -> str:
    text = _operand_text(operand_of(predicate))
    if isinstance(predicate, IsNull):
        return f"{text} is null"
    if isinstance(predicate, IsNan):
        return f"{text} is nan"
    if isinstance(predicate, StartsWith):
        return f"{text} starts with {_literal_text(predicate.prefix)}"
    if isinstance(predicate, In):
        literals = [*map(_literal_text, predicate.literals), *(["null"] if predicate.has_null else [])]
        return f"{text} in ({', '.join(literals)})"
    assert isinstance(predicate, Comparison)
    return f"{text} {predicate.operator} {_literal_text(predicate.literal)}"


def _operand_text(operand: Operand) -> str:
    text = operand.text()
    if operand.path is None and text.lower() in _KEYWORDS:
        return f'"{text}"'
    if operand.path is not None and operand.column is not None and operand.column.lower() in _KEYWORDS:
        return f'"{operand.column}"' + text[len(quoted_name(operand.column)) :]
    return text


def _literal_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value) if math.isfinite(value) else f"double '{value}'"
    if isinstance(value, decimal.Decimal):
        return f"decimal '{value}'"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, datetime.datetime):
        return f"timestamp{'' if value.tzinfo is not None else '_ntz'} '{value.isoformat()}'"
    if isinstance(value, datetime.date):
        return f"date '{value.isoformat()}'"
    if isinstance(value, datetime.time):
        return f"time '{value.isoformat()}'"
    return "'" + str(value).replace("'", "''") + "'"
