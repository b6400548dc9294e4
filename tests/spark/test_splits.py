"""How raw files are cut into tasks: nothing is lost or read twice, and all cores have the same to do."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from varquet.parquet.files import DataFile

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'varquet[spark]'")

from varquet.spark import splits
from varquet.spark.splits import RawFile, Split, cut, find_raw_files

MB = 1 << 20


def files(sizes: list[int], name: str = "{}.ndjson") -> list[RawFile]:
    return [RawFile(DataFile(name.format(number)), size) for number, size in enumerate(sizes)]


def sizes_of(tasks: list[list[Split]]) -> list[int]:
    return [sum(split.size for split in task) for task in tasks]


@pytest.fixture(autouse=True)
def _told_by_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splits, "_is_whole", lambda file: file.file.path.endswith(".gz"))


@pytest.mark.parametrize("seed", range(200))
def test_every_byte_is_read_once(seed: int) -> None:
    choice = random.Random(seed)
    found = [
        RawFile(
            DataFile(f"{number}.ndjson{choice.choice(['', '', '.gz'])}"),
            choice.choice([0, 1, choice.randrange(1 << 10), choice.randrange(1 << 30), MB]),
        )
        for number in range(choice.randint(1, 20))
    ]
    tasks = cut(
        found,
        choice.choice([1, 2, 3, 8, 50]),
        choice.choice([None, None, 1, MB, 100 * MB]) if max(one.size for one in found) < 1 << 10 else None,
    )
    assert all(tasks)
    every = [split for task in tasks for split in task]
    assert [split.index for split in every] == list(range(len(every)))
    assert [split.file_index for split in every] == sorted(split.file_index for split in every)
    for number, file in enumerate(found):
        mine = [split for split in every if split.file_index == number]
        if len(mine) == 1:
            assert (mine[0].part, mine[0].size) == (None, file.size)
            continue
        parts = [split.part or (0, 0) for split in mine]
        assert not file.file.path.endswith(".gz")
        assert [first for first, _ in parts] == [0, *(last for _, last in parts[:-1])] and parts[-1][1] == file.size
        assert [split.size for split in mine] == [last - first for first, last in parts]


@pytest.mark.parametrize("sizes", [[28 * MB] * 15 + [7 * MB], [4300 * MB], [1000 * MB, 3 * MB, 700 * MB, MB], [9 * MB] * 400, [97 * MB]])
@pytest.mark.parametrize("parallelism", [1, 2, 3, 8, 40])
def test_no_core_waits_for_the_last_task(sizes: list[int], parallelism: int) -> None:
    told = sizes_of(cut(files(sizes), parallelism))
    assert len(told) < parallelism or len(told) % parallelism == 0
    assert max(told) <= 1.1 * min(told)
    assert max(told) <= 530 * MB
    assert len(told) >= parallelism or max(told) <= 40 * MB


def test_compressed_files_are_many_tasks() -> None:
    assert sizes_of(cut(files([60 * MB] * 7, "{}.ndjson.gz"), 2)) == [60 * MB] * 7
    assert sizes_of(cut(files([900 * MB, MB, MB], "{}.json.gz"), 2)) == [900 * MB, 2 * MB]


def test_small_files_are_read_together() -> None:
    tasks = cut(files([1000] * 10_000), 2)
    assert len(tasks) % 2 == 0 and len(tasks) <= 40
    assert cut([], 2) == []
    assert [[split.part for split in task] for task in cut(files([0, 0]), 2)] == [[None, None]]


def test_as_much_as_was_asked_for(tmp_path: Path) -> None:
    raw = tmp_path / "raw.ndjson"
    raw.write_bytes(b"{}\n" * 1000)
    assert [split.part for (split,) in cut(find_raw_files(raw), 2, 1000)] == [(0, 1000), (1000, 2000), (2000, 3000)]
    # A little more or less rather than a small piece.
    assert [split.part for (split,) in cut(find_raw_files(raw), 2, 1490)] == [(0, 1490), (1490, 3000)]
    assert [split.part for (split,) in cut(find_raw_files(raw), 2, 2990)] == [None]
