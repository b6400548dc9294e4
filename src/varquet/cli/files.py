"""Files that a command writes: whole or not at all, and never over an existing one unless told to."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from varquet.errors import VarquetError

__all__ = ["check_new_file", "new_file"]


@contextlib.contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name only when the block ends well.

    Until then it has a temporary name in the same directory, which is removed if the block fails. An existing file
    is replaced with `force` only; what a link points to is replaced, not the link.
    """
    target = check_new_file(path, force=force)
    temporary = target.with_name(f".varquet-{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
        check_new_file(path, force=force)  # another process may have made it in the meantime
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_new_file(path: Path, *, force: bool) -> Path:
    """Where a file of this name would be written, links followed; an error if it may not be."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise VarquetError(f"expected a file in an existing directory, got {path}", hint=f"mkdir -p {path.parent}")
    if target.exists():
        # Replacing a device or a pipe would put an ordinary file in its place.
        if not target.is_file():
            raise VarquetError(f"expected the name of an ordinary file, got {path}, which is something else")
        if not force:
            raise VarquetError(f"expected the name of a new file, got {path}, which exists", hint="--force replaces it")
    return target
