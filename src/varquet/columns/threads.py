"""The thread pool that hands slices of a column to the kernels, which release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from varquet.errors import UnsupportedTypeError

__all__ = ["in_order", "thread_count"]

T = TypeVar("T")
R = TypeVar("R")


def thread_count(threads: int | None = None) -> int:
    """How many threads a verb uses: its `threads=` argument, else VARQUET_THREADS, else the cores this process may use."""
    if threads is None and (text := os.environ.get("VARQUET_THREADS")):
        if not text.isascii() or not text.isdigit():
            raise UnsupportedTypeError(f"expected VARQUET_THREADS to be a number of threads, got {text!r}")
        threads = int(text)
    if threads is None:
        try:
            return max(1, len(os.sched_getaffinity(0)))
        except AttributeError:  # not on macOS and Windows
            return max(1, os.cpu_count() or 1)
    if threads < 1:
        raise UnsupportedTypeError(f"expected at least one thread, got {threads}")
    return threads


def in_order(work: Callable[[T], R], tasks: Iterable[T], threads: int) -> Iterator[R]:
    """The results of `work` in the order of `tasks`, with no more than a few results waiting to be taken."""
    remaining = iter(tasks)
    first = list(islice(remaining, 2))
    if threads == 1 or len(first) < 2:
        for task in first:
            yield work(task)
        yield from map(work, remaining)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="varquet") as pool:
        waiting: list[Future[R]] = [pool.submit(work, task) for task in first]
        try:
            for task in islice(remaining, 2 * threads - len(first)):
                waiting.append(pool.submit(work, task))
            while waiting:
                result = waiting.pop(0).result()
                for task in islice(remaining, 1):
                    waiting.append(pool.submit(work, task))
                yield result
        finally:
            for future in waiting:
                future.cancel()
