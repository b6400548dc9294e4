"""Singular RFC 9535 paths: what is read, what is refused, and the normalized form."""

from __future__ import annotations

import pickle
import re
from typing import Any

import pytest

from varquet.errors import PathError, UnsupportedTypeError
from varquet.paths import Path


@pytest.mark.parametrize(
    ("text", "steps", "normal"),
    [
        ("$", (), "$"),
        ("$.a.b", ("a", "b"), "$['a']['b']"),
        ("$._x1", ("_x1",), "$['_x1']"),
        ("$.é\U0001f600", ("é\U0001f600",), "$['é\U0001f600']"),
        ("$['a.b']", ("a.b",), "$['a.b']"),
        ('$["a"]', ("a",), "$['a']"),
        ("$['']", ("",), "$['']"),
        ("$[0]", (0,), "$[0]"),
        ("$[-1]", (-1,), "$[-1]"),
        ("$.a[10].b", ("a", 10, "b"), "$['a'][10]['b']"),
        ("$ .a [ 'b' ]\t[\n0\r]", ("a", "b", 0), "$['a']['b'][0]"),
        ("$['\\'\"']", ("'\"",), "$['\\'\"']"),
        ('$["\'\\""]', ("'\"",), "$['\\'\"']"),
        ("$['\\b\\f\\n\\r\\t\\/\\\\']", ("\b\f\n\r\t/\\",), "$['\\b\\f\\n\\r\\t/\\\\']"),
        ("$['\\u0041\\u000B']", ("A\x0b",), "$['A\\u000b']"),
        ("$['\\uD83D\\ude00']", ("\U0001f600",), "$['\U0001f600']"),
        ("$['\\u0000']", ("\0",), "$['\\u0000']"),
        ("$['\x7f']", ("\x7f",), "$['\x7f']"),
        ("$[9007199254740991]", (9007199254740991,), "$[9007199254740991]"),
    ],
)
def test_paths_and_their_normalized_form(text: str, steps: tuple[str | int, ...], normal: str) -> None:
    path = Path.parse(text)
    assert path.steps == steps
    assert str(path) == normal
    assert Path.parse(normal) == path
    assert tuple(path) == steps and len(path) == len(steps)
    assert pickle.loads(pickle.dumps(path)) == path
    assert hash(path) == hash(Path(steps))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected '$', got the end at character 1 of path ''. Hint: paths look like $.a.b, $['a.b'] or $[0]"),
        ("a.b", "expected '$', got 'a' at character 1 of path 'a.b'. Hint: paths look like"),
        (" $", "expected '$', got ' ' at character 1"),
        ("$ ", "expected '.' or '[', got the end at character 3"),
        ("$a", "expected '.' or '[', got 'a' at character 2"),
        ("$.", "expected a field name, got the end at character 3"),
        ("$..a", "expected a field name, got '.' at character 3"),
        ("$. a", "expected a field name, got ' ' at character 3"),
        ("$.*", "expected a field name, got '*' at character 3"),
        ("$.1", "expected a field name, got '1' at character 3"),
        ("$.content-type", "expected '.' or '[', got '-' at character 10 of path '$.content-type'. Hint: names with other characters"),
        ("$[*]", "expected a quoted field name or an index, got '*' at character 3"),
        ("$[]", "expected a quoted field name or an index, got ']' at character 3"),
        ("$[-0]", "expected a quoted field name or an index, got '-' at character 3"),
        ("$[01]", "expected ']', got '1' at character 4"),
        ("$[1:2]", "expected ']', got ':' at character 4"),
        ("$['a','b']", "expected ']', got ',' at character 6"),
        ("$[?@.a]", "expected a quoted field name or an index, got '?'"),
        ("$[0", "expected ']', got the end at character 4"),
        ("$['a", "expected a closing ', got the end at character 5 of path \"$['a\". Hint: the name opens at character 3"),
        ("$['\n']", "expected a character that is no control character, got '\\n' at character 4"),
        ("$['\ud800']", "expected a Unicode character that is no lone surrogate"),
        ("$['\\x']", "expected an escape such as \\n, \\\\ or \\u0041, got '\\\\' at character 4"),
        ("$['\\\"']", "expected an escape"),
        ("$['\\", "expected an escape"),
        ("$['\\u12']", "expected four hexadecimal digits after \\u"),
        ("$['\\u+123']", "expected four hexadecimal digits after \\u"),
        ("$['\\ud800']", "expected a low surrogate after a high one"),
        ("$['\\ud800\\u0041']", "expected a low surrogate after a high one"),
        ("$['\\udc00']", "expected a high surrogate before a low one"),
        ("$[9007199254740992]", "expected an index between -9007199254740991 and 9007199254740991, got '9' at character 3"),
        ("$[-9007199254740992]", "expected an index between"),
    ],
)
def test_what_is_no_path(text: str, message: str) -> None:
    with pytest.raises(PathError) as caught:
        Path.parse(text)
    assert str(caught.value).startswith(message)
    assert caught.value.hint


def test_paths_are_made_step_by_step() -> None:
    path = Path() / "a" / 0 / "b.c"
    assert path == Path.parse("$.a[0]['b.c']")
    assert repr(path) == "Path(\"$['a'][0]['b.c']\")"
    assert Path.parse(path) is path
    assert Path(("0",)) != Path((0,))


@pytest.mark.parametrize(
    ("steps", "error", "message"),
    [
        ((1.5,), UnsupportedTypeError, "expected a field name or an index as a step of a path, got float"),
        (("a", True), UnsupportedTypeError, "expected a field name or an index as a step of a path, got bool"),
        ((b"a",), UnsupportedTypeError, "expected a field name or an index as a step of a path, got bytes"),
        ("ab", UnsupportedTypeError, "expected the steps of a path as a tuple, got str"),
        (7, UnsupportedTypeError, "expected the steps of a path as a tuple, got int"),
        ((2**60,), PathError, "expected an index between -9007199254740991 and 9007199254740991, got one of 61 bits"),
        ((-(2**53),), PathError, "expected an index between -9007199254740991 and 9007199254740991, got one of 54 bits"),
        ((10**5000,), PathError, "expected an index between"),
        (("é\ud800",), PathError, "expected a field name of Unicode characters, got a lone surrogate"),
    ],
)
def test_steps_that_make_no_path(steps: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        Path(steps)


def test_a_list_of_steps_becomes_a_tuple() -> None:
    steps: Any = ["a", 0]
    assert Path(steps) == Path(("a", 0))
    assert hash(Path(steps)) == hash(Path(("a", 0)))
    assert (Path() / "é" / -1).steps == ("é", -1)
