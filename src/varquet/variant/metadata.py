"""The metadata of a Variant: the dictionary that holds each field name once.

    metadata = header (1 byte) | dictionary_size | offset 0 .. offset dictionary_size | bytes of the names

    header     bits 0-3 version, always 1
               bit 4    sorted_strings: the names are unique and in unsigned byte order
               bit 5    reserved
               bits 6-7 offset_size - 1; dictionary_size and the offsets are unsigned little endian of that many bytes

The empty dictionary is 01 00 00. Reading relies on nothing that the header claims about order: names are found by
comparing them, so that a dictionary sorted by the wrong rule, as some writers leave it, is still read correctly.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from varquet.errors import InvalidVariantError
from varquet.variant.messages import byte_count

__all__ = ["EMPTY_METADATA", "Metadata", "metadata_size"]

EMPTY_METADATA: Final = bytes((1, 0, 0))
"""The dictionary without a name."""

_VERSION: Final = 1
_VERSION_MASK: Final = 0x0F
_SORTED: Final = 0x10


@dataclass(frozen=True)
class Metadata:
    """The dictionary of field names, read from its bytes only when a name is asked for.

    >>> names = Metadata(bytes.fromhex("01 02 00 01 03 61 6262"))
    >>> len(names), names.name(1), names.find("bb"), names.find("c")
    (2, 'bb', (1,), ())
    """

    data: bytes

    def __len__(self) -> int:
        """How many names there are."""
        return len(self._bounds) - 1

    @property
    def sorted_strings(self) -> bool:
        """What the header says about the order; not proven to be true."""
        return bool(_header(self.data) & _SORTED)

    def name(self, field_id: int, *, offset: int | None = None) -> str:
        """The name with this id; `offset` is where the id was found, for the error if there is no such name."""
        if not 0 <= field_id < len(self):
            raise InvalidVariantError(f"expected a field id below {len(self)}, the size of the dictionary, got {field_id}", offset=offset)
        if field_id not in self._names:
            start, end = self._bounds[field_id], self._bounds[field_id + 1]
            try:
                self._names[field_id] = self.data[start:end].decode("utf-8")
            except UnicodeDecodeError as error:
                raise InvalidVariantError(
                    f"expected field name {field_id} of the metadata in UTF-8, got byte 0x{self.data[start + error.start]:02x}",
                    offset=start + error.start,
                ) from None
        return self._names[field_id]

    def find(self, name: str) -> tuple[int, ...]:
        """The ids with this name: none, one, or several, because an unsorted dictionary may hold a name more than once."""
        try:
            return tuple(self._ids.get(name.encode("utf-8"), ()))
        except UnicodeEncodeError:
            return ()  # a lone surrogate is in no UTF-8 name

    def check(self) -> None:
        """Raise unless every byte of the metadata is as it should be, also in names that nothing uses."""
        for field_id in range(len(self)):
            self.name(field_id)

    @cached_property
    def _bounds(self) -> list[int]:
        """Where in `data` each name starts, and where the last one ends."""
        size = metadata_size(self.data)
        if size != len(self.data):
            raise InvalidVariantError(f"expected the metadata to end after {byte_count(size)}, got {len(self.data)}", offset=size)
        width, table, count = _table(self.data)
        offsets = [_unsigned(self.data, table + i * width, width) for i in range(count + 1)]
        names = table + (count + 1) * width
        if offsets[0] != 0:
            raise InvalidVariantError(f"expected 0 as the first offset of the metadata, got {offsets[0]}", offset=table)
        for i in range(count):
            if offsets[i] > offsets[i + 1]:
                raise InvalidVariantError(
                    f"expected ascending offsets in the metadata, got {offsets[i + 1]} after {offsets[i]}", offset=table + (i + 1) * width
                )
        return [names + offset for offset in offsets]

    @cached_property
    def _names(self) -> dict[int, str]:
        # A long name used by many objects is decoded once, so that memory stays within a small multiple of the input.
        return {}

    @cached_property
    def _ids(self) -> dict[bytes, list[int]]:
        ids: defaultdict[bytes, list[int]] = defaultdict(list)
        for field_id in range(len(self)):
            ids[self.data[self._bounds[field_id] : self._bounds[field_id + 1]]].append(field_id)
        return dict(ids)


def metadata_size(data: bytes) -> int:
    """How many bytes the metadata at the start of `data` takes, as when a value follows it.

    >>> metadata_size(bytes.fromhex("010000" "0c2a"))
    3
    """
    width, table, count = _table(data)
    names = table + (count + 1) * width
    last = _unsigned(data, names - width, width)
    if last > len(data) - names:
        raise InvalidVariantError(f"expected {byte_count(last)} of field names in the metadata, got {len(data) - names}", offset=names)
    return names + last


def _table(data: bytes) -> tuple[int, int, int]:
    """The width of an offset, where the offsets start, and how many names there are."""
    header = _header(data)
    width = (header >> 6) + 1
    if len(data) < 1 + width:
        raise InvalidVariantError(f"expected {byte_count(width)} of dictionary_size in the metadata, got {len(data) - 1}", offset=1)
    count = _unsigned(data, 1, width)
    table = 1 + width
    if (count + 1) * width > len(data) - table:
        raise InvalidVariantError(
            f"expected {byte_count((count + 1) * width)} of offsets for {count} names in the metadata, got {len(data) - table}",
            offset=table,
        )
    return width, table, count


def _header(data: bytes) -> int:
    if not data:
        raise InvalidVariantError("expected a metadata header, got no bytes", offset=0, hint="the empty dictionary is 01 00 00")
    if data[0] & _VERSION_MASK != _VERSION:
        raise InvalidVariantError(f"expected metadata of version {_VERSION}, got version {data[0] & _VERSION_MASK}", offset=0)
    return data[0]


def _unsigned(data: bytes, start: int, width: int) -> int:
    return int.from_bytes(data[start : start + width], "little")
