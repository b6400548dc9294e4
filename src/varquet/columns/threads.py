"""The thread pool that hands slices of a column to the kernels, which release the GIL."""

from __future__ import annotations

import operator
import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Final, TypeVar

from varquet.errors import UnsupportedTypeError

__all__ = ["drawn_in_order", "in_order", "thread_count"]

_MOST_DIGITS: Final = 9

T = TypeVar("T")
R = TypeVar("R")


def thread_count(threads: int | None = None) -> int:
    """How many threads a verb uses: its `threads=` argument, else VARQUET_THREADS, else the cores this process may use."""
    if threads is None and (text := os.environ.get("VARQUET_THREADS")):
        if not text.isascii() or not text.isdigit() or len(text) > _MOST_DIGITS:
            raise UnsupportedTypeError(f"expected VARQUET_THREADS to be a number of threads, got {text!r}")
        threads = int(text)
    if threads is None:
        try:
            return max(1, len(os.sched_getaffinity(0)))
        except AttributeError:  # not on macOS and Windows
            return max(1, os.cpu_count() or 1)
    try:
        threads = operator.index(threads)
    except TypeError:
        raise UnsupportedTypeError(f"expected threads to be a number of threads, got {threads!r}") from None
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


def drawn_in_order(work: Callable[[T], R], tasks: Iterator[T], threads: int) -> Iterator[R]:
    """Like `in_order`, for tasks that cost something to make: each thread draws the next one, in turn, before it works on it.

    So no more threads are busy than asked for, and none waits for one that makes tasks for all.
    """
    if threads == 1:
        yield from map(work, tasks)
        return
    drawing = threading.Lock()
    expected: queue.Queue[Future[R]] = queue.Queue(2 * threads)
    is_over = threading.Event()

    def worker() -> None:
        while True:
            result: Future[R] = Future()
            with drawing:
                if is_over.is_set():
                    return
                expected.put(result)  # where there is room for it, and before the task is made
                try:
                    task = next(tasks)
                except BaseException as error:
                    is_over.set()
                    result.set_exception(_NoMoreTasksError() if isinstance(error, StopIteration) else error)
                    return
            try:
                result.set_result(work(task))
            except BaseException as error:
                result.set_exception(error)

    with ThreadPoolExecutor(threads, thread_name_prefix="varquet") as pool:
        for _ in range(threads):
            pool.submit(worker)
        try:
            while True:
                yield expected.get().result()
        except _NoMoreTasksError:
            return
        finally:
            is_over.set()
            while not expected.empty():  # a worker may be waiting for room
                expected.get_nowait()


class _NoMoreTasksError(Exception):
    """There is no further task."""
