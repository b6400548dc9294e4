"""How much memory something takes at its worst moment, as the system sees it."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["Growth", "growth"]

_STATUS: Final = Path("/proc/self/status")
_CLEAR: Final = Path("/proc/self/clear_refs")


@dataclass
class Growth:
    """Bytes by which the resident memory grew, at most; known when the block is left."""

    bytes: int = 0


@contextmanager
def growth() -> Iterator[Growth]:
    """Measure a block; where the system cannot set its peak back, only what exceeds the peak of the process so far is seen."""
    if _CLEAR.exists():
        _CLEAR.write_text("5", encoding="ascii")
    before = _resident("VmRSS")
    measured = Growth()
    yield measured
    measured.bytes = max(0, _resident("VmHWM") - before)


def _resident(which: str) -> int:
    if _STATUS.exists():
        for line in _STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith(which):
                return int(line.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
