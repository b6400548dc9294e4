"""How commands end."""

from __future__ import annotations

import enum

__all__ = ["ExitCode"]


class ExitCode(enum.IntEnum):
    """How a command ended."""

    OK = 0
    FINDINGS = 1
    """It ran, and what it looked at is not as it should be."""
    FAILURE = 2
    """It was called wrongly or could not do its work."""
    INTERRUPTED = 130
