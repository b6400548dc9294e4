"""One Variant value as a person handles it: a lazy, immutable view of its bytes."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from itertools import repeat
from typing import Final, SupportsIndex, TypeVar, overload

from varquet.errors import InvalidVariantError, UnsupportedTypeError
from varquet.paths import Path
from varquet.types import BASIC_OBJECT, Family
from varquet.variant.decode import (
    Container,
    Metadata,
    decode,
    decode_value,
    is_container,
    primitive_type,
    read_container,
    read_scalar,
    value_size,
)
from varquet.variant.encode import encode
from varquet.variant.equality import equal, logical_key
from varquet.variant.json_text import json_string, parse_json, to_json
from varquet.variant.model import Node
from varquet.variant.python import from_python, to_python
from varquet.variant.schema_of import schema_of

__all__ = ["Variant"]

_Default = TypeVar("_Default")

_REPR_LIMIT: Final = 200


class Variant:
    """A value of any type, in the bytes of the Parquet Variant encoding.

    >>> v = Variant.from_json('{"user": {"name": "Ada"}, "scores": [1, 2.50, null]}')
    >>> v["user"]["name"], v["scores"][-1], len(v["scores"])
    (Variant("Ada"), Variant(null), 3)
    >>> v.get("$.user.name").to_python(), v.get("$.user.age")
    ('Ada', None)
    >>> v
    Variant({"scores":[1,2.50,null],"user":{"name":"Ada"}})

    Only the bytes on the way to what is asked for are read and checked: a field can be read beside a damaged one.
    Parts share the bytes of the whole, and positions in errors count from the start of the part. Two Variants are equal
    if they mean the same value (see `varquet.variant.equality`).
    """

    __slots__ = ("_dictionary", "_is_part", "_view")

    def __init__(self, metadata: bytes, value: bytes) -> None:
        for what, data in (("metadata", metadata), ("value", value)):
            if not isinstance(data, (bytes, bytearray, memoryview)):
                raise UnsupportedTypeError(
                    f"expected bytes as {what}, got {type(data).__name__}", hint="Variant.from_python and Variant.from_json take values"
                )
        self._dictionary = Metadata(bytes(metadata))
        self._view = memoryview(bytes(value))
        self._is_part = False

    @classmethod
    def from_json(cls, text: str | bytes, *, duplicate_keys: str = "error") -> Variant:
        """The value of a JSON text; `duplicate_keys="last"` keeps the last of several fields with one name."""
        return cls(*encode(parse_json(text, duplicate_keys=duplicate_keys)))

    @classmethod
    def from_python(cls, obj: object) -> Variant:
        """The value of a Python object; `varquet.variant.python` has the table of types."""
        return cls(*encode(from_python(obj)))

    def to_python(self) -> object:
        """The value as Python objects."""
        return to_python(self._node())

    def to_json(self) -> str:
        """The value as compact JSON; `varquet.variant.text` has the forms of what JSON has no type for."""
        return to_json(self._node())

    @property
    def metadata(self) -> bytes:
        """The dictionary of field names, which parts share with the whole."""
        return self._dictionary.data

    @property
    def value(self) -> bytes:
        """The bytes of the value."""
        return bytes(self._view[: value_size(self._view)] if self._is_part else self._view)

    @property
    def type_name(self) -> str:
        """The name of the type in the encoding specification: "object", "array", "boolean", "int8", "timestamp_ntz" ..."""
        if self._is_container():
            return "object" if self._view[0] & 3 == BASIC_OBJECT else "array"
        kind = primitive_type(self._view, 0, len(self._view))
        return "boolean" if kind.family is Family.BOOLEAN else kind.name

    def schema_of(self) -> str:
        """The physical types of the whole value as text: `object<id: int8, tags: array<string>>`.

        Comparisons and casts take 1, 1.00 and a 64-bit 1 for the same; this tells them apart.
        """
        return schema_of(self._node())

    @property
    def is_null(self) -> bool:
        """Whether this is the Variant null, which is a value, unlike a missing field."""
        return self.type_name == "null"

    def __getitem__(self, key: str | SupportsIndex) -> Variant:
        """The field of an object with this name, or the element of an array at this index."""
        if isinstance(key, str):
            field = self._field(self._container("object"), key)
            if field is None:
                raise KeyError(key)
            return field
        if isinstance(key, SupportsIndex):
            element = self._element(self._container("array"), operator.index(key))
            if element is None:
                raise IndexError(f"index {key} is out of range for an array of {len(self)}")
            return element
        raise UnsupportedTypeError(f"expected a field name or an index, got {type(key).__name__}", hint="get() takes a Path")

    @overload
    def get(self, path: Path | str) -> Variant | None: ...
    @overload
    def get(self, path: Path | str, default: _Default) -> Variant | _Default: ...
    def get(self, path: Path | str, default: object = None) -> object:
        """The value at a path such as `$.a.b[0]`, or the default if there is none."""
        here = self
        for step in Path.parse(path):
            part = here._step(step)
            if part is None:
                return default
            here = part
        return here

    def keys(self) -> list[str]:
        """The field names of an object, in the order of the encoding."""
        return [name for name, _ in self.items()]

    def values(self) -> Iterator[Variant]:
        """The field values of an object, in the order of its names."""
        return (value for _, value in self.items())

    def items(self) -> Iterator[tuple[str, Variant]]:
        """The field names and values of an object."""
        return self._items(self._container("object"))

    def __len__(self) -> int:
        """The number of fields or elements."""
        return self._container().count

    def __iter__(self) -> Iterator[Variant | str]:
        """The elements of an array, or the field names of an object."""
        container = self._container()
        return iter(self.keys()) if container.is_object else self._elements(container)

    def __contains__(self, item: object) -> bool:
        """Whether an object has a field of this name, or an array an element equal to this Variant or Python object."""
        container = self._container()
        if container.is_object:
            return isinstance(item, str) and self._field(container, item) is not None
        wanted = logical_key(from_python(item))
        elements = self._node()
        return isinstance(elements, list) and any(logical_key(element) == wanted for element in elements)

    def __bool__(self) -> bool:
        # A false `false` and a false `missing` are too easily mistaken for each other.
        raise UnsupportedTypeError(
            "expected a question that has one answer, got the truth of a Variant", hint="use is_null, len(), to_python() or `is None`"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Variant):
            return NotImplemented
        return equal(self._node(), other._node())

    def __hash__(self) -> int:
        return hash(logical_key(self._node()))

    def __repr__(self) -> str:
        text = ""
        for piece in self._pieces():
            text += piece
            if len(text) > _REPR_LIMIT:
                return f"Variant({text[:_REPR_LIMIT]}…)"
        return f"Variant({text})"

    def __reduce__(self) -> tuple[type[Variant], tuple[bytes, bytes]]:
        return Variant, (self.metadata, self.value)

    def __copy__(self) -> Variant:
        return self

    def __deepcopy__(self, memo: object) -> Variant:
        return self

    def _part(self, start: int, end: int) -> Variant:
        """The value that starts there, and ends by `end` at the latest; not a byte of it is read yet."""
        part = Variant.__new__(Variant)
        part._dictionary = self._dictionary
        part._view = self._view[start:end]
        part._is_part = True
        return part

    def _node(self) -> Node:
        if self._is_part:
            return decode_value(self._dictionary, self._view)
        return decode(self.metadata, self.value)

    def _is_container(self) -> bool:
        if not self._view:
            raise InvalidVariantError("expected a value, got no bytes", offset=0)
        return is_container(self._view[0])

    def _container(self, wanted: str = "") -> Container:
        """The header of this object or array, if it is the one that is wanted."""
        if not self._is_container() or wanted not in ("", self.type_name):
            raise UnsupportedTypeError(f"expected an {wanted or 'object or array'}, got {self.type_name}")
        return read_container(self._view, 0, len(self._view))

    def _step(self, step: str | int) -> Variant | None:
        """The field or element one step down, or None if there is none, also because this is of another type."""
        if not self._is_container():
            return None
        container = self._container()
        if container.is_object:
            return self._field(container, step) if isinstance(step, str) else None
        return self._element(container, step) if isinstance(step, int) else None

    def _field(self, container: Container, name: str) -> Variant | None:
        # Compares ids with those of the name, in all fields: that finds it in whatever order a writer left them, does not
        # read the other names, and sees a duplicate.
        ids = frozenset(self._dictionary.find(name))
        found = [index for index in range(container.count) if container.field_id(index) in ids] if ids else []
        if len(found) > 1:
            raise InvalidVariantError(
                f"expected distinct field names in an object, got {name[:40]!r} twice", offset=container.id_at(found[1]), path="$"
            )
        return self._part(container.child(found[0]), container.values_end) if found else None

    def _element(self, container: Container, index: int) -> Variant | None:
        if index < 0:
            index += container.count
        if not 0 <= index < container.count:
            return None
        return self._part(container.child(index), container.values_end)

    def _elements(self, container: Container) -> Iterator[Variant]:
        for index in range(container.count):
            yield self._part(container.child(index), container.values_end)

    def _items(self, container: Container) -> Iterator[tuple[str, Variant]]:
        seen: set[str] = set()
        for index in range(container.count):
            name = self._dictionary.name(container.field_id(index), offset=container.id_at(index))
            if name in seen:
                raise InvalidVariantError(
                    f"expected distinct field names in an object, got {name[:40]!r} twice", offset=container.id_at(index), path="$"
                )
            seen.add(name)
            yield name, self._part(container.child(index), container.values_end)

    def _pieces(self) -> Iterator[str]:
        """The JSON text bit by bit, so that `repr` reads no more than it shows; what is damaged is said in its place."""
        pending: list[Iterator[str | Variant]] = [iter((self,))]
        while pending:
            part = next(pending[-1], None)
            if part is None:
                pending.pop()
            elif isinstance(part, str):
                yield part
            else:
                pending.append(part._own_pieces())

    def _own_pieces(self) -> Iterator[str | Variant]:
        closing = ""
        try:
            if not self._is_container():
                yield to_json(read_scalar(self._view, 0, len(self._view))[0])
                return
            container = self._container()
            opening, closing = "{}" if container.is_object else "[]"
            yield opening
            children = self._items(container) if container.is_object else zip(repeat(None), self._elements(container), strict=False)
            for index, (name, child) in enumerate(children):
                yield ("," if index else "") + ("" if name is None else f"{json_string(name)}:")
                yield child
            yield closing
        except InvalidVariantError as error:
            yield f"<invalid: {error.message}>{closing}"
