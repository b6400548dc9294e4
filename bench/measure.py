"""One way to time: every candidate in a process of its own, and their passes in turn.

A machine is never quiet. So the candidates do not run one after another, each in its own weather, but pass by pass: all of them
once, then all of them again, starting with another one each time. Of several passes the best says what the code can do and
the median what it did. Wall time is what a user waits for; CPU time, of all threads of the process, is what it cost.

    Job          a piece of work that can be repeated, and what it found
    Candidate    a name and the way to prepare its jobs, in a new process
    Measurement  what the passes of one job took
"""

from __future__ import annotations

import contextlib
import gc
import math
import multiprocessing
import os
import resource
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, TypeAlias

__all__ = ["Candidate", "Facts", "Job", "Measurement", "MeasurementError", "Pass", "measure", "table"]

Facts: TypeAlias = dict[str, float]
"""What a job found, by name: the numbers by which candidates show that they did the same work."""

_SHORTEST_PASS: Final = 0.25
_KILO: Final = 1024


class MeasurementError(RuntimeError):
    """A candidate failed; the message holds its traceback."""


@dataclass(frozen=True, slots=True)
class Job:
    """Work to be timed: `run` is timed and says what it found; `ready` comes before it, `check` finds out more, both untimed.

    Before the first pass it is run once, and again until `warm_up` seconds have passed: who compiles while it runs needs more than once.
    """

    work: str
    threads: int
    run: Callable[[], Facts]
    check: Callable[[], Facts] = dict
    ready: Callable[[], object] = lambda: None
    warm_up: float = 0.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """Somebody who does the work: `prepare` is called in a new process with these environment variables, and makes the jobs."""

    name: str
    rows: int
    text_bytes: int
    prepare: Callable[[], list[Job]]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pass:
    """Seconds that one run took."""

    wall: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a candidate needed for some work."""

    work: str
    candidate: str
    threads: int
    rows: int
    text_bytes: int
    passes: tuple[Pass, ...]
    peak_rss: int
    """Bytes: the most that the process held during the passes, its input included."""
    facts: Facts

    @property
    def best(self) -> float:
        return min(one.wall for one in self.passes)

    @property
    def median(self) -> float:
        return statistics.median(one.wall for one in self.passes)

    @property
    def best_cpu(self) -> float:
        return min(one.cpu for one in self.passes)

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.best

    @property
    def bytes_per_second(self) -> float:
        return self.text_bytes / self.best

    def times_faster_than(self, other: Measurement, *, by_cpu: bool = False) -> float:
        """How many times the rows of the other this one does in the same wall or CPU time."""
        mine, theirs = (self.best_cpu, other.best_cpu) if by_cpu else (self.best, other.best)
        return (theirs / other.rows) / (mine / self.rows)

    def as_json(self) -> dict[str, Any]:
        derived = {"best": self.best, "median": self.median, "best_cpu": self.best_cpu}
        return asdict(self) | derived | {"rows_per_second": self.rows_per_second, "bytes_per_second": self.bytes_per_second}


def measure(
    candidates: Sequence[Candidate],
    *,
    passes: int,
    works: Sequence[str] | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Measurement]:
    """Time all jobs of all candidates: work by work, and within one work in turn.

    `works` limits this to some works, in this order; `tell` is told what is going on.
    """
    if passes < 1:
        raise ValueError(f"expected at least one pass, got {passes}")
    measured: list[Measurement] = []
    with contextlib.ExitStack() as stack:
        workers: list[_Worker] = []
        for candidate in candidates:
            tell(f"prepare {candidate.name}")
            workers.append(stack.enter_context(_worker(candidate)))
        jobs = [(worker, number, work, threads) for worker in workers for number, (work, threads) in enumerate(worker.jobs)]
        for work in works if works is not None else dict.fromkeys(job[2] for job in jobs):
            runners = [_Runner(worker, number, threads) for worker, number, of_work, threads in jobs if of_work == work]
            tell(f"{work}: warm up {len(runners)} candidates")
            for runner in runners:
                runner.warm_up()
            for turn in range(passes):
                tell(f"{work}: pass {turn + 1} of {passes}")
                first = turn % max(1, len(runners))
                for runner in runners[first:] + runners[:first]:
                    runner.run()
            measured += [runner.result(work) for runner in runners]
    return measured


class _Worker:
    """The parent's end of a candidate's process."""

    def __init__(self, candidate: Candidate, connection: Connection) -> None:
        self.candidate = candidate
        self._connection = connection
        self.jobs: list[tuple[str, int]] = self._answer()

    def ask(self, *question: Any) -> Any:
        self._connection.send(question)
        return self._answer()

    def _answer(self) -> Any:
        try:
            answer, problem = self._connection.recv()
        except EOFError:
            raise MeasurementError(f"expected an answer of {self.candidate.name}, but its process ended") from None
        if problem:
            raise MeasurementError(f"{self.candidate.name} failed:\n{problem}")
        return answer


@contextlib.contextmanager
def _worker(candidate: Candidate) -> Iterator[_Worker]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs, candidate.prepare), daemon=True)
    # Variables such as VARQUET_KERNELS are read on import, hence must be there when the process starts.
    before = {name: os.environ.get(name) for name in candidate.environment}
    os.environ.update(candidate.environment)
    try:
        process.start()
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    theirs.close()
    try:
        yield _Worker(candidate, ours)
    finally:
        ours.close()  # which ends the loop on the other side
        process.join(timeout=10)
        if process.is_alive():
            process.terminate()
            process.join()


class _Runner:
    """One job of one worker, pass by pass."""

    def __init__(self, worker: _Worker, number: int, threads: int) -> None:
        self.worker = worker
        self.number = number
        self.threads = threads
        self.repeats = 1
        self.passes: list[Pass] = []

    def warm_up(self) -> None:
        first: Pass = self.worker.ask("warm up", self.number)
        self.repeats = max(1, math.ceil(_SHORTEST_PASS / max(first.wall, 1e-9)))

    def run(self) -> None:
        self.passes.append(self.worker.ask("run", self.number, self.repeats))

    def result(self, work: str) -> Measurement:
        peak, facts = self.worker.ask("report", self.number)
        who = self.worker.candidate
        return Measurement(work, who.name, self.threads, who.rows, who.text_bytes, tuple(self.passes), peak, facts)


def _serve(connection: Connection, prepare: Callable[[], list[Job]]) -> None:
    """What a candidate's process does: prepare, then answer questions until there is nobody to ask them."""
    try:
        jobs = prepare()
        connection.send(([(job.work, job.threads) for job in jobs], None))
        peaks = [0] * len(jobs)
        found: list[Facts] = [{} for _ in jobs]
        while True:
            question, number, *arguments = connection.recv()
            job = jobs[number]
            if question == "report":
                connection.send(((peaks[number], found[number] | job.check()), None))
                continue
            repeats = arguments[0] if arguments else 1
            _forget_peak()
            one, found[number] = _timed(job, repeats)
            spent = one.wall
            while question == "warm up" and spent < job.warm_up:
                one, found[number] = _timed(job, repeats)
                spent += one.wall
            if question == "run":
                peaks[number] = max(peaks[number], _peak_rss())
            connection.send((one, None))
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return
    except Exception:
        connection.send((None, traceback.format_exc()))


def _timed(job: Job, repeats: int) -> tuple[Pass, Facts]:
    job.ready()
    gc.collect()
    facts: Facts = {}
    wall, cpu = time.perf_counter(), _cpu_seconds()
    for _ in range(repeats):
        facts = job.run()
    cpu, wall = _cpu_seconds() - cpu, time.perf_counter() - wall
    return Pass(wall / repeats, cpu / repeats), facts


def _children() -> list[int]:
    """The processes below this one, where the system tells: Spark works in one."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(entry.parent.name)] = int(entry.read_text().rpartition(")")[2].split()[1])
    found = [os.getpid()]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def _cpu_seconds() -> float:
    total = time.process_time()
    for child in _children():
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def _forget_peak() -> None:
    """Let the peak start again from what is held now, where the system can do that; elsewhere it is that of the whole process."""
    for process in ("self", *_children()):
        with contextlib.suppress(OSError):
            Path(f"/proc/{process}/clear_refs").write_text("5")


def _peak_rss() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    total = peak if sys.platform == "darwin" else peak * _KILO
    with contextlib.suppress(OSError):
        # What ru_maxrss says is never less than at any time before, whatever clear_refs does.
        total = _high_water("self")
    for child in _children():
        with contextlib.suppress(OSError):
            total += _high_water(child)
    return total


def _high_water(process: int | str) -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * _KILO
    return 0  # it has ended, and nobody has asked for its result yet


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 1) -> str:
    """Plain text in columns: the first ones, `texts` of them, to the left, the numbers behind them to the right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    lines: list[str] = []
    for row in (header, ["-" * width for width in widths], *rows):
        cells = [
            cell.ljust(width) if column < texts else cell.rjust(width) for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
