"""What files need to know of a plan."""

from __future__ import annotations

from typing import Protocol

from varquet.schema import ShreddingSchema

__all__ = ["PinnedSchemas"]


class PinnedSchemas(Protocol):
    """A plan: schemas by column, and what is recorded of it (`varquet.Plan`)."""

    @property
    def schemas(self) -> dict[str, ShreddingSchema]: ...
    def to_json(self) -> str: ...
