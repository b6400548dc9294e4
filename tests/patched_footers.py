"""Files of other writers with the VARIANT annotation that these did not write, or with other entries in their footers."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from varquet.parquet.footer import ColumnPath, annotate, read_footer, with_tail

__all__ = ["patch_bytes", "patch_file"]


def patch_bytes(data: bytes, variants: Iterable[ColumnPath], *, key_values: Mapping[str, str] | None = None) -> bytes:
    """The bytes of a whole Parquet file with its footer annotated."""
    footer = read_footer(io.BytesIO(data)).data
    return data[: -len(with_tail(footer))] + with_tail(annotate(footer, variants, key_values=key_values))


def patch_file(path: Path, variants: Iterable[ColumnPath], *, key_values: Mapping[str, str] | None = None) -> None:
    """Annotate the footer of a file in place."""
    path.write_bytes(patch_bytes(path.read_bytes(), variants, key_values=key_values))
