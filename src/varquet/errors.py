"""Everything varquet raises on purpose.

    VarquetError
    ├── InvalidVariantError   bytes that are not a Variant (also a ValueError)
    ├── JsonError             text that is not JSON, or that no Variant can hold (also a ValueError)
    ├── PathError             text that is not a singular RFC 9535 path (also a ValueError)
    ├── SchemaError           text, a type or a tree that is no shredding schema (also a ValueError)
    ├── CastError             a value that cannot become the type asked for (also a ValueError)
    ├── InvalidMapError       a map with a key twice, or one that cannot be put together (also a ValueError)
    ├── ParquetError          a file that is not Parquet, or is damaged (also a ValueError)
    ├── ConflictError         a table that others have changed meanwhile
    └── UnsupportedTypeError  a type or an argument this verb does not take (also a TypeError)

An error says what was expected, what was found, where (row, byte offset, `$.path`), and, where there is something to be
done, ends with a hint. All of them pickle, because Spark sends them from its workers to the driver.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "CastError",
    "ConflictError",
    "InvalidMapError",
    "InvalidVariantError",
    "JsonError",
    "ParquetError",
    "PathError",
    "SchemaError",
    "UnsupportedTypeError",
    "VarquetError",
]


class VarquetError(Exception):
    """The base of all errors raised by varquet.

    >>> str(VarquetError("expected a value, got '}'", row=3, offset=17, hint="quote it"))
    "expected a value, got '}' - at row 3, byte 17. Hint: quote it"
    """

    def __init__(
        self,
        message: str,
        *,
        row: int | None = None,
        offset: int | None = None,
        path: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.row = row
        self.offset = offset
        self.path = path
        self.hint = hint

    def __str__(self) -> str:
        where = [
            f"{word} {position}" if word else str(position)
            for word, position in (("row", self.row), ("byte", self.offset), ("", self.path))
            if position is not None
        ]
        text = self.message
        if where:
            text += " - at " + ", ".join(where)
        if self.hint:
            text += f". Hint: {self.hint}"
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.__dict__)


def _restore(kind: type[VarquetError], state: dict[str, Any]) -> VarquetError:
    error = kind.__new__(kind, state["message"])
    error.__dict__.update(state)
    return error


class InvalidVariantError(VarquetError, ValueError):
    """The bytes do not form a Variant."""


class JsonError(VarquetError, ValueError):
    """The text is not JSON, or holds what no Variant can hold."""


class PathError(VarquetError, ValueError):
    """The text is not a singular RFC 9535 path."""


class SchemaError(VarquetError, ValueError):
    """The text, type or tree is no shredding schema, or two schemas contradict each other."""


class CastError(VarquetError, ValueError):
    """The value cannot become the type asked for without losing its meaning."""


class InvalidMapError(VarquetError, ValueError):
    """The map has a key twice or a null for a key, or its columns contradict each other."""


class ParquetError(VarquetError, ValueError):
    """The file is not Parquet, is damaged, or has not the columns that are spoken of."""


class ConflictError(VarquetError):
    """A table that others have changed while a change of it was made."""


class UnsupportedTypeError(VarquetError, TypeError):
    """This verb does not take that type or argument."""
