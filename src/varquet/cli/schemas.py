"""Shredding schemas as options of commands."""

from __future__ import annotations

from pathlib import Path

from varquet.schema import ShreddingSchema

__all__ = ["read_schema"]


def read_schema(text: str) -> ShreddingSchema:
    """The schema of an option: its DDL or JSON, or @ and the name of a file with it."""
    if text.startswith("@"):
        text = Path(text[1:]).read_text(encoding="utf-8")
    return ShreddingSchema.parse(text).writable()
