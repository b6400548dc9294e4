"""Every error says what, where and what to do, and survives the way from a worker to the driver."""

from __future__ import annotations

import copy
import pickle
import re

import pytest

from varquet import errors
from varquet.errors import CastError, InvalidVariantError, JsonError, PathError, UnsupportedTypeError, VarquetError

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, VarquetError)]


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ({}, "expected this, got that"),
        ({"row": 0}, "expected this, got that - at row 0"),
        ({"offset": 0}, "expected this, got that - at byte 0"),
        ({"path": "$['a']"}, "expected this, got that - at $['a']"),
        ({"row": 3, "offset": 17, "path": "$", "hint": "do it"}, "expected this, got that - at row 3, byte 17, $. Hint: do it"),
        ({"hint": "do it"}, "expected this, got that. Hint: do it"),
    ],
)
def test_the_text_of_an_error(where: dict[str, object], text: str) -> None:
    error = VarquetError("expected this, got that", **where)  # type: ignore[arg-type]
    assert str(error) == text
    assert error.args == ("expected this, got that",)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_errors_pickle(kind: type[VarquetError], protocol: int) -> None:
    error = kind("message", row=1, offset=2, path="$.a", hint="hint")
    error.add_note("a note")
    for again in (pickle.loads(pickle.dumps(error, protocol)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind
        assert str(again) == str(error)
        assert again.args == error.args
        assert (again.message, again.row, again.offset, again.path, again.hint) == ("message", 1, 2, "$.a", "hint")
        assert again.__notes__ == ["a note"]


def test_errors_are_also_what_python_calls_them() -> None:
    for kind in (CastError, InvalidVariantError, JsonError, PathError):
        assert issubclass(kind, VarquetError) and issubclass(kind, ValueError)
    assert issubclass(UnsupportedTypeError, VarquetError) and issubclass(UnsupportedTypeError, TypeError)


def test_the_tree_in_the_documentation_is_complete() -> None:
    assert set(errors.__all__) == {kind.__name__ for kind in KINDS}
    for kind in KINDS:
        assert errors.__doc__ is not None and f" {kind.__name__}" in errors.__doc__
        also = next((base.__name__ for base in (ValueError, TypeError) if issubclass(kind, base)), None)
        assert also is None or re.search(rf"{kind.__name__} .*\(also a {also}\)", errors.__doc__)
