"""Many processes on one Delta table: each commit counts once, and whoever is killed leaves a table that can be read."""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow.fs as pafs
import pytest
from delta_writers import ROWS, Place, Said, append, kill, rows_of, start, write_for_ever, write_some

import varquet as vq
from varquet.delta.snapshot import load
from varquet.parquet.folder import Folder
from varquet.tables.delta import history, vacuum

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="processes are forked and killed as on Unix")]

WRITERS, APPENDS = 8, 50
KILLS = 200


@pytest.fixture(params=["disk", "store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "disk":
        return Place(str(tmp_path / "table"))
    pytest.importorskip("obstore", reason="obstore is not installed: pip install 'varquet[delta]'")
    store: pafs.FileSystem = request.getfixturevalue("object_store")
    store.create_dir("writers")
    return Place("writers/table", request.getfixturevalue("object_store_port"))


def test_writers_at_once(place: Place, tmp_path: Path) -> None:
    append(place, place.filesystem(), -1)
    processes = [start(write_some, place, 1000 * k, APPENDS, tmp_path / f"said-{k}") for k in range(WRITERS)]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * WRITERS
    done = {batch for k in range(WRITERS) for batch in Said(tmp_path / f"said-{k}").batches("done")}
    assert len(done) == WRITERS * APPENDS
    scan = vq.scan(place.path, filesystem=place.filesystem())
    assert scan.count() == (WRITERS * APPENDS + 1) * ROWS
    one = scan.select({"row": "$.row bigint"}).where("$.batch::bigint = 3017")
    assert sorted(one.table()["row"].to_pylist()) == list(range(ROWS)) and one.explain().files_opened <= 2
    if place.port is not None:
        # Many small files are quicker read from a disk.
        local = str(tmp_path / "copy")
        pafs.copy_files(place.path, local, source_filesystem=place.filesystem(), destination_filesystem=pafs.LocalFileSystem())
        place = Place(local)
    assert [one.version for one in history(place.path)] == list(range(WRITERS * APPENDS, -1, -1))
    assert sorted(rows_of(place)) == sorted((batch, row) for batch in (-1, *done) for row in range(ROWS))
    # Each version has what the one before it has, and one batch more.
    counts = [vq.scan(place.path, version=version).count() for version in (0, 1, 77, 399)]
    assert counts == [ROWS, 2 * ROWS, 78 * ROWS, 400 * ROWS]


def test_writers_that_are_killed(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "table"))
    chance = random.Random(0)
    append(place, None, -1)
    known: dict[str, Counter[tuple[int, int]]] = {}
    all_said: list[Said] = []
    # A second one goes on all the time: what the killed ones leave disturbs nobody.
    steady = Said(tmp_path / "steady")
    begun = start(write_for_ever, place, 10_000_000, steady.path, -1, 0.2)
    try:
        for number in range(KILLS):
            said = Said(tmp_path / f"said-{number}")
            all_said.append(said)
            process = start(write_for_ever, place, 1000 * (number + 1), said.path, number)
            wait_for_words(said)
            time.sleep(chance.uniform(0, 0.06))
            kill(process)
            assert process.exitcode == -9
            assert begun.is_alive()
            check(place, [steady, *all_said], known)
    finally:
        kill(begun)
    check(place, [steady, *all_said], known)
    assert sum(len(said.batches("begin")) - len(said.batches("done")) for said in all_said) > KILLS // 2
    expected = rows_of(place)
    assert Counter(expected) == sum((known[path] for path in current(place)), Counter())
    # What they have left goes, and nothing else.
    assert vacuum(place.path, 0, force=True).files
    assert sorted(rows_of(place)) == sorted(expected)


def wait_for_words(said: Said) -> None:
    """Until a writer is at work."""
    end = time.monotonic() + 60
    while not said.path.exists():
        assert time.monotonic() < end
        time.sleep(0.001)


def current(place: Place) -> list[str]:
    return [add.location for add in load(Folder.at(place.path)).files.values()]


def check(place: Place, all_said: list[Said], known: dict[str, Counter[tuple[int, int]]]) -> None:
    """The table can be read, has all that was said to be done, and nothing in part or twice or that nobody has begun."""
    done = {batch for said in all_said for batch in said.batches("done")}
    paths = current(place)
    for path in paths:
        if path not in known:
            found = vq.scan(f"{place.path}/{path}").select({"batch": "$.batch bigint", "row": "$.row bigint"}).table()
            known[path] = Counter(zip(found["batch"].to_pylist(), found["row"].to_pylist(), strict=True))
    rows = sum((known[path] for path in paths), Counter())
    begun = {batch for said in all_said for batch in said.batches("begin")}
    there = {batch for batch, _ in rows} - {-1}
    assert rows == Counter((batch, row) for batch in (-1, *there) for row in range(ROWS))
    assert done <= there <= begun
