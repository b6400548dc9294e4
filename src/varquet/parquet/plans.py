"""What files need to know of a plan."""

from __future__ import annotations

from typing import Protocol

from varquet.layouts.map_keys import MapKeys
from varquet.schema import ShreddingSchema

__all__ = ["PinnedSchemas"]


class PinnedSchemas(Protocol):
    """A plan: schemas and hot keys by column, and what is recorded of it (`varquet.Plan`)."""

    @property
    def schemas(self) -> dict[str, ShreddingSchema]: ...
    @property
    def maps(self) -> dict[str, MapKeys]: ...
    def to_json(self) -> str: ...
