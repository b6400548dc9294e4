"""Processes that write to one Delta table at once, and may be killed at any time.

They are forked from a server that has loaded everything and done nothing yet, so that one more of them costs little. Each says in a file
of its own what it is about to write, and what it has written:

    begin 17        it may be in the table, whole or not at all
    done 17         it is in the table
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import signal
import time
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs

import varquet as vq
from varquet.errors import ConflictError
from varquet.tables.delta import optimize
from varquet.tables.write import write_table

__all__ = ["ROWS", "Place", "Said", "kill", "rows_of", "start", "write_for_ever", "write_some"]

ROWS = 3
"""How many rows are written at a time."""
_PLAN = {"v": "batch bigint, row bigint"}
# Arrow loads pandas with the first values of Python that it takes, if it is there: once, before anybody is forked.
pa.array([""])


@dataclass(frozen=True, slots=True)
class Place:
    """Where the table is: on a disk, or in the emulator of S3 that listens on a port."""

    path: str
    port: int | None = None

    def filesystem(self) -> Any:
        if self.port is None:
            return None
        return pafs.S3FileSystem(access_key="a", secret_key="b", endpoint_override=f"http://127.0.0.1:{self.port}", region="us-east-1")


def append(place: Place, filesystem: Any, batch: int) -> None:
    """Add the rows of a batch; on a disk in two files."""
    texts = [f'{{"batch": {batch}, "row": {row}}}' for row in range(ROWS)]
    rows = pa.table({"batch": pa.array([batch] * ROWS, pa.int64()), "half": pa.array([0, 1, 1], pa.int32()), "v": texts})
    keys = "half" if place.port is None else ()
    properties = {"delta.checkpointInterval": "7"}
    write_table(rows, place.path, _PLAN, table="delta", mode="append", partition_by=keys, filesystem=filesystem, properties=properties)


class Said:
    """What a writer says; each word is in its file before it goes on."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def say(self, word: str, batch: int) -> None:
        with open(self.path, "ab", buffering=0) as file:
            file.write(f"{word} {batch}\n".encode())

    def batches(self, word: str) -> set[int]:
        lines = self.path.read_text().split("\n")[:-1] if self.path.exists() else []
        return {int(number) for said, number in map(str.split, lines) if said == word}


def write_some(place: Place, first: int, count: int, said: Path) -> None:
    """Append so many batches, numbered from the first on."""
    filesystem, mine = place.filesystem(), Said(said)
    for batch in range(first, first + count):
        append(place, filesystem, batch)
        mine.say("done", batch)


def write_for_ever(place: Place, first: int, said: Path, seed: int, rest: float = 0.0) -> None:
    """Append batches with so many seconds between them, and compact the table now and then, until somebody kills this process."""
    filesystem, mine, chance = place.filesystem(), Said(said), random.Random(seed)
    parent = multiprocessing.parent_process()
    for batch in itertools.count(first):
        if parent is not None and not parent.is_alive():
            return  # nobody is left who could
        if chance.random() < 0.1:
            try:
                optimize(place.path, filesystem=filesystem, threads=1)
            except ConflictError:
                continue
        mine.say("begin", batch)
        append(place, filesystem, batch)
        mine.say("done", batch)
        time.sleep(rest)


def start(work: Any, *arguments: Any) -> BaseProcess:
    """A process that does some work."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload([__name__])
    process = server.Process(target=work, args=arguments, daemon=True)
    # Before Python 3.13 the server is not told where modules are, and loads nothing without a word.
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).parent), before)))
    try:
        process.start()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    return process


def kill(process: BaseProcess) -> None:
    """Pull the plug."""
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()


def rows_of(place: Place, version: int | None = None) -> list[tuple[int, int]]:
    """All rows of the table: the batch and the number in it, which the column and the Variant agree on."""
    query = vq.scan(place.path, filesystem=place.filesystem(), version=version)
    found = query.select({"batch": "batch", "same": "$.batch bigint", "row": "$.row bigint"}).table()
    assert found["batch"].equals(found["same"])
    return list(zip(found["batch"].to_pylist(), found["row"].to_pylist(), strict=True))
