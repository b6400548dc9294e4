"""How many threads a verb uses, and what happens when one of them fails."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import varquet as vq
from varquet.columns.threads import drawn_in_order, in_order, thread_count


@pytest.fixture(autouse=True)
def without_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VARQUET_THREADS", raising=False)


def test_the_argument_comes_before_the_variable_before_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    assert thread_count() == len(os.sched_getaffinity(0))
    monkeypatch.setenv("VARQUET_THREADS", "3")
    assert thread_count() == 3
    assert thread_count(5) == 5
    monkeypatch.setenv("VARQUET_THREADS", "")
    assert thread_count() == len(os.sched_getaffinity(0))


def test_where_affinity_is_unknown_all_cores_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert thread_count() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert thread_count() == 1


@pytest.mark.parametrize("text", ["two", "-1", "1.5", "٣", "0", "9" * 5000])
def test_a_variable_that_is_no_number_of_threads(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("VARQUET_THREADS", text)
    with pytest.raises(vq.UnsupportedTypeError, match="expected (VARQUET_THREADS to be a number of threads|at least one thread), got"):
        vq.parse_json(pa.array(["1"]))


@pytest.mark.parametrize("threads", ["2", 1.5, [2]])
def test_an_argument_that_is_no_number_of_threads(threads: Any) -> None:
    with pytest.raises(vq.UnsupportedTypeError, match="expected threads to be a number of threads, got"):
        vq.parse_json(pa.array(["1"]), threads=threads)
    assert thread_count(np.int64(2)) == 2  # type: ignore[arg-type]


def test_the_variable_reaches_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[str] = set()
    original = vq.columns.parse_json._parse_slice  # type: ignore[attr-defined]

    def watched(*arguments: object, **options: object) -> object:
        seen.add(threading.current_thread().name)
        return original(*arguments, **options)

    monkeypatch.setattr("varquet.columns.parse_json._parse_slice", watched)
    monkeypatch.setattr("varquet.columns.parse_json._ROWS_PER_SLICE", 1)
    monkeypatch.setenv("VARQUET_THREADS", "1")
    vq.parse_json(pa.array(["1"] * 9))
    assert seen == {threading.current_thread().name}
    seen.clear()
    monkeypatch.setenv("VARQUET_THREADS", "3")
    vq.parse_json(pa.array(["1"] * 9))
    assert seen
    assert all(name.startswith("varquet") for name in seen)


either = pytest.mark.parametrize("in_turn", [in_order, drawn_in_order])


@either
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_results_come_in_the_order_of_the_tasks(in_turn: Callable[..., Iterator[object]], threads: int) -> None:
    assert list(in_turn(lambda task: task * task, iter(range(100)), threads)) == [task * task for task in range(100)]
    assert list(in_turn(str, iter([]), threads)) == []
    assert list(in_turn(str, iter([1]), threads)) == ["1"]


@either
@pytest.mark.parametrize("threads", [1, 2])
def test_tasks_are_not_taken_long_before_their_results_are(in_turn: Callable[..., Iterator[object]], threads: int) -> None:
    """Memory: a column of many slices must not have all of its results waiting."""
    taken = 0

    def tasks() -> Iterator[int]:
        nonlocal taken
        for task in range(100):
            taken += 1
            yield task

    results = in_turn(lambda task: task, tasks(), threads)
    for _ in range(10):
        next(results)
    assert taken <= 10 + 2 * threads + 1
    results.close()  # type: ignore[attr-defined]
    assert taken <= 10 + 2 * threads + 1


@either
@pytest.mark.parametrize("threads", [1, 3])
def test_what_fails_is_raised_in_its_turn(in_turn: Callable[..., Iterator[object]], threads: int) -> None:
    def work(task: int) -> int:
        if task == 7:
            raise KeyError(task)
        return task

    def tasks() -> Iterator[int]:
        yield from range(5)
        raise OSError("no more to read")

    for results, error in ((in_turn(work, iter(range(20)), threads), KeyError), (in_turn(work, tasks(), threads), OSError)):
        got: list[object] = []
        with pytest.raises(error):
            got.extend(results)
        # A pool may find out that tasks end badly before it has handed on what came before.
        assert got == list(range(7 if error is KeyError else len(got)))


def test_no_more_threads_than_asked_for_are_at_work() -> None:
    """Tasks are made by those who work on them, by one at a time."""
    names: set[str] = set()
    making = threading.Lock()

    def tasks() -> Iterator[int]:
        for task in range(50):
            assert making.acquire(blocking=False)
            names.add(threading.current_thread().name)
            making.release()
            yield task

    assert list(drawn_in_order(lambda task: task, tasks(), 3)) == list(range(50))
    assert len(names) <= 3 and threading.current_thread().name not in names


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_a_thread_is_raised_and_the_next_call_works(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr("varquet.columns.parse_json._ROWS_PER_SLICE", 2)
    texts = pa.array(["1"] * 7 + ["x"] + ["2"] * 7)
    with pytest.raises(vq.JsonError, match="at row 7, byte 0"):
        vq.parse_json(texts, threads=threads)
    assert vq.parse_json(texts, on_error="null", threads=threads).null_count == 1


def test_verbs_can_be_called_from_many_threads_at_once() -> None:
    """The scratch of one call must not be that of another."""
    texts = [pa.array([f'{{"k{thread}":[{row},"{"x" * (row % 80)}"]}}' for row in range(400)]) for thread in range(6)]
    results: dict[int, list[str]] = {}

    def work(thread: int) -> None:
        for _ in range(5):
            results[thread] = vq.to_json(vq.parse_json(texts[thread], threads=1), threads=2).to_pylist()

    workers = [threading.Thread(target=work, args=(thread,)) for thread in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == {thread: texts[thread].to_pylist() for thread in range(6)}
