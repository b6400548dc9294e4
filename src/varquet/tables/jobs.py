"""Jobs that write to a table: what they are called, and whether they are still at work.

The name of a job says which process of which machine runs it, so that another one can tell whether it is dead without asking. What the job
has written but not committed is in a folder of that name.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
import time
import urllib.parse
from dataclasses import dataclass
from typing import Final

__all__ = ["IDLE_SECONDS", "Job", "batch_path", "end", "is_alive"]

IDLE_SECONDS: Final = 24 * 3600
"""A job that has changed nothing for so long is over, where nobody can tell otherwise."""
_LABEL: Final = re.compile(r"(part-\d{5,})-[0-9a-f]{16}-(?=[0-9a-f]{8}[^/]*$)")
_ENDED: Final[set[str]] = set()
"""The jobs of this process that are over, while it goes on."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job; it is plain data, for the processes of other machines."""

    token: str
    """What tells it from all others, in the names of its files."""
    host: str
    process: int
    started: int
    """When the process has started, on its machine's clock, since numbers of processes come again."""

    @classmethod
    def begin(cls) -> Job:
        """A new one, run by this process; or by the engine that has started it to speak for it."""
        process = _engine_of(os.getpid())
        return cls(secrets.token_hex(8), socket.gethostname(), process, _started(process) or 0)

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return f"{self.token}@{urllib.parse.quote(self.host, safe='')}.{self.process}.{self.started}"

    def label(self, part: int) -> str:
        """A name for files of one part of it, which another attempt at that part, or the same one run twice at once, has not."""
        return f"part-{part:05d}-{self.token}-{secrets.token_hex(4)}"

    @classmethod
    def of_folder(cls, name: str) -> Job | None:
        """The job whose folder has this name; None if none has."""
        token, at, rest = name.partition("@")
        parts = rest.rsplit(".", 2)
        if not at or len(parts) != 3 or not (parts[1].isdigit() and parts[2].isdigit()):
            return None
        return cls(token, urllib.parse.unquote(parts[0]), int(parts[1]), int(parts[2]))


def batch_path(path: str, mark: str) -> str:
    """The path of a job's file as a file of a batch, which has the same name whenever it is written."""
    return _LABEL.sub(lambda found: found[1] + mark, path, count=1)


def end(job: Job) -> None:
    """A job of this process is over, whatever it has left, or late tasks leave still."""
    _ENDED.add(job.token)


def is_alive(job: Job, last_change: float) -> bool:
    """Whether a job may still be at work: its process is there; or, on another machine, something has changed within the last day."""
    if job.token in _ENDED:
        return False
    if job.host == socket.gethostname():
        started = _started(job.process)
        return started is not None and (not job.started or started == job.started)
    return time.time() - last_change < IDLE_SECONDS


def _started(process: int) -> int | None:
    """When a process of this machine has started, as its system counts; None if it is not there, 0 if nobody knows."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except FileNotFoundError:
        if os.path.isdir("/proc/self"):
            return None
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return None
        except OSError:
            return 0
        return 0
    except OSError:
        return 0
    # A process that has ended, and that nobody has taken notice of yet, is at work no more.
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def _engine_of(process: int) -> int:
    """This process; or, if it is one of Spark's Python workers, which only speak for it, the JVM above it."""
    if not any(name.startswith("PYTHON_WORKER_FACTORY") for name in os.environ):
        return process
    above = process
    while above > 1:
        try:
            with open(f"/proc/{above}/stat", "rb") as file:
                name, _, rest = file.read().rpartition(b")")
        except OSError:
            return process
        if name.partition(b"(")[2] == b"java":
            return above
        above = int(rest.split()[1])
    return process
