"""parse_json with shared_metadata=True: the same values and refusals as without, with one metadata for many rows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from json_mistakes import damaged_json, texts_with_duplicates
from kernel_builds import BUILDS, law_on_every_build, using
from strategies import json_texts, physical
from variant_columns import rows_of

import varquet as vq
from varquet.columns import parse_json as driver
from varquet.errors import JsonError
from varquet.kernels.source import _interning as interning
from varquet.samples import generate
from varquet.variant import decode
from varquet.variant import parse_json as reference_parse_json
from varquet.variant.metadata import Metadata

ROOM = st.tuples(st.integers(1, 6), st.integers(1, 40))


@contextmanager
def _room(most_names: int, tape_nodes: int) -> Iterator[None]:
    """Let groups end early: by their names, and because the tape is full."""
    with (
        mock.patch.object(driver, "MOST_SHARED_NAMES", most_names),
        mock.patch.object(driver, "_TAPE_NODES", tape_nodes),
        mock.patch.object(driver, "_local", type(driver._local)()),
    ):
        yield


def _meanings(column: pa.Array) -> list[object]:
    return [None if row is None else physical(decode(*row)) for row in rows_of(column)]


@law_on_every_build(st.lists(json_texts() | st.none(), max_size=12), ROOM)
def test_the_values_are_those_of_the_reference(texts: list[str | None], room: tuple[int, int]) -> None:
    with _room(*room):
        column = vq.parse_json(pa.array(texts, pa.string()), shared_metadata=True)
    assert column.type == vq.variant_field("v", shared_metadata=True).type
    assert _meanings(column) == [None if text is None else physical(reference_parse_json(text)) for text in texts]
    vq.validate(column, strict=True)


@law_on_every_build(st.lists(texts_with_duplicates(), min_size=1, max_size=6), ROOM)
def test_the_last_of_several_fields_with_one_name_is_kept(texts: list[str], room: tuple[int, int]) -> None:
    with _room(*room):
        column = vq.parse_json(pa.array(texts, pa.string()), duplicate_keys="last", shared_metadata=True)
    assert _meanings(column) == [physical(reference_parse_json(text, duplicate_keys="last")) for text in texts]
    vq.validate(column, strict=True)


@law_on_every_build(damaged_json(), st.sampled_from(("error", "last")), ROOM, share=2)
def test_the_same_texts_are_refused_for_the_same_reasons(texts: list[bytes], duplicate_keys: Any, room: tuple[int, int]) -> None:
    column = pa.array(texts, pa.binary())
    expected = vq.parse_json(column, on_error="collect", duplicate_keys=duplicate_keys)
    with _room(*room):
        parsed = vq.parse_json(column, on_error="collect", duplicate_keys=duplicate_keys, shared_metadata=True)
    assert parsed.errors.equals(expected.errors)
    assert _meanings(parsed.column) == _meanings(expected.column)
    vq.validate(parsed.column, strict=True)
    if len(expected.errors):
        with _room(*room), pytest.raises(JsonError) as caught:
            vq.parse_json(column, duplicate_keys=duplicate_keys, shared_metadata=True)
        assert caught.value.row == expected.errors["row"][0].as_py()


@law_on_every_build(st.integers(0, 1 << 32), st.integers(1, 20), st.integers(1, 60), share=0.1)
def test_no_metadata_has_more_names_than_allowed_unless_a_row_has(seed: int, most_names: int, tape_nodes: int) -> None:
    choice = random.Random(seed)
    names = [f"n{k}" for k in range(choice.randint(1, 60))]
    texts = [
        "{" + ",".join(f'"{name}":{k}' for k, name in enumerate(choice.sample(names, choice.randint(0, min(12, len(names)))))) + "}"
        for _ in range(60)
    ]
    with _room(most_names, tape_nodes):
        column = vq.parse_json(pa.array(texts), shared_metadata=True)
    alone = vq.parse_json(pa.array(texts))
    assert vq.to_json(column).equals(vq.to_json(alone))
    entries = [Metadata(entry) for entry in column.field("metadata").dictionary.to_pylist()]
    own = [len(Metadata(metadata)) for metadata, _ in filter(None, rows_of(alone))]
    for row, entry in enumerate(column.field("metadata").indices.to_pylist()):
        assert own[row] <= len(entries[entry])
    for number, entry in enumerate(entries):
        users = [own[row] for row, used in enumerate(column.field("metadata").indices.to_pylist()) if used == number]
        assert len(entry) <= most_names or len(entry) == max(users)


# Without a compiler the large ones would take minutes.
@pytest.mark.parametrize(("build", "count"), [(build, count) for build in BUILDS for count in (129, 257, 70_000) if build != "interpreted"])
def test_a_row_of_many_names_among_small_ones(build: str, count: int) -> None:
    wide = "{" + ",".join(f'"k{k:06}":{{"k{count - 1 - k:06}":{k % 7}}}' for k in range(count)) + "}"
    texts = ['{"a":1}', '{"b":[{"a":2}]}', wide, '{"a":1}', wide, "[]"]
    with using(build):
        column = vq.parse_json(pa.array(texts), shared_metadata=True)
        assert vq.to_json(column).equals(vq.to_json(vq.parse_json(pa.array(texts))))
        vq.validate(column, strict=True)
    sizes = [len(Metadata(entry)) for entry in column.field("metadata").dictionary.to_pylist()]
    assert sizes == [2, count, 1, count, 0]


@pytest.mark.parametrize("kind", ["events", "github", "headers"])
def test_sample_rows_share_few_dictionaries(kind: str) -> None:
    texts = pa.array(list(generate(kind, 3000, seed=5)), pa.string())
    column = vq.parse_json(texts, shared_metadata=True, threads=1)
    assert vq.to_json(column).equals(vq.to_json(vq.parse_json(texts)))
    assert len(column.field("metadata").dictionary) < 300


def test_rows_of_one_shape_have_one_metadata() -> None:
    column = vq.parse_json(pa.array(['{"a":1,"b":{"c":[1,2,3]}}'] * 20_000), shared_metadata=True, threads=1)
    assert column.field("metadata").dictionary.to_pylist() == [bytes((0x11, 3, 0, 1, 2, 3)) + b"abc"]


def test_long_names_end_a_group_too() -> None:
    texts = [f'{{"{chr(97 + k) * 40_000}":1}}' for k in range(5)]
    column = vq.parse_json(pa.array(texts), shared_metadata=True)
    assert [len(Metadata(entry)) for entry in column.field("metadata").dictionary.to_pylist()] == [1] * 5
    assert vq.to_json(column).to_pylist() == texts


@pytest.mark.parametrize("texts", [[], [None], [None, None]])
def test_columns_without_a_value(texts: list[None]) -> None:
    column = vq.parse_json(pa.array(texts, pa.string()), shared_metadata=True)
    assert column.to_pylist() == texts
    column.validate(full=True)


# The bytes are those of the rows alone


@law_on_every_build(st.integers(0, 1 << 32), ROOM, share=0.1)
def test_the_bytes_depend_on_nothing_but_the_texts(seed: int, room: tuple[int, int]) -> None:
    """Not on what the thread has parsed before, not on how large its buffers were to begin with, and not on how many threads there are."""
    choice = random.Random(seed)
    texts = [_some_text(choice) for _ in range(120)]
    column = pa.array(texts, pa.binary())

    def parsed(threads: int) -> pa.Array:
        return vq.parse_json(column, on_error="null", shared_metadata=True, threads=threads)

    with _room(*room), mock.patch.object(driver, "_ROWS_PER_SLICE", choice.choice((7, 50, 200))):
        first = parsed(1)
        assert parsed(1).equals(first)
        vq.parse_json(pa.array(["[" + "1e9," * 30_000 + "1]", "{" + ",".join(f'"{k}":1' for k in range(500)) + "}"]), threads=1)
        for threads in (1, 2, 3):
            assert parsed(threads).equals(first)
        with mock.patch.object(driver, "_local", type(driver._local)()), mock.patch.object(driver, "_Scratch", _SmallScratch):
            assert parsed(1).equals(first)
            assert parsed(3).equals(first)


class _SmallScratch(driver._Scratch):
    """Buffers that run full all the time."""

    def __init__(self) -> None:
        super().__init__()
        self.metadata_ratio = {False: 0.0, True: 0.0}
        self.value_ratio = 0.0
        self.names.keys = self.names.keys[:65].copy()
        self.names.info = self.names.info[: 2 * interning.KEY].copy()
        self.row_keys = self.ranks = self.row_keys[:0]
        self.fit_names()


def _some_text(choice: random.Random) -> bytes | None:
    fields = [f'"{choice.choice("abcdefghijklmnop") * choice.choice((1, 1, 9))}":1e1' for _ in range(choice.randrange(4))]
    return choice.choice(
        (
            b"{" + ",".join(fields).encode() + b"}",
            b"{" + ",".join(fields).encode() + b"}",
            b"[{" + ",".join(fields).encode() + b"},{",
            b'["' + b"x" * choice.choice((10, 9_000, 30_000)) + b'"]',
            None,
        )
    )


@pytest.mark.parametrize("build", BUILDS)
def test_a_group_stays_one_where_buffers_were_grown_or_names_forgotten(build: str) -> None:
    """What the rows share is cut after so many nodes; and a thread that knows very many names forgets them."""
    rows = ['{"a":1,"c":[1,2,3]}'] * 1800 + ['{"a":1,"b":2}'] * 500
    column, doubles = pa.array(rows), pa.array(['{"a":1e1,"b":2e1}'] * 5000)
    with using(build), mock.patch.object(driver, "_local", type(driver._local)()):
        first = vq.parse_json(column, shared_metadata=True, threads=1)
        assert len(first.field("metadata").dictionary) == 2
        assert len(vq.parse_json(doubles, shared_metadata=True, threads=1).field("metadata").dictionary) == 1
        vq.parse_json(pa.array(["[" + "1," * 20_000 + "1]"]), threads=1)
        assert vq.parse_json(column, shared_metadata=True, threads=1).equals(first)
        for names in (4_090, 4_093, 65_530, *range(65_532, 65_537)) if build != "interpreted" else ():
            driver._local.scratch = None
            vq.parse_json(pa.array(["{" + ",".join(f'"n{k}":1' for k in range(names)) + "}"]), threads=1)
            assert vq.parse_json(column, shared_metadata=True, threads=1).equals(first)


@pytest.mark.parametrize("build", BUILDS)
def test_slices_end_at_the_same_rows_for_any_number_of_threads(build: str) -> None:
    rows = 300 if build == "interpreted" else 40_000
    column = pa.array(['{"a":1,"c":[1,2,3]}'] * rows + ['{"a":1,"b":2}'] * rows)
    with using(build):
        results = [vq.parse_json(column, shared_metadata=True, threads=threads) for threads in (1, 2, 3)]
        one_by_one = vq.parse_json(column)
        shredded = [vq.shred(one_by_one, "a bigint", shared_metadata=True, threads=threads) for threads in (1, 2, 3)]
    assert all(result.equals(results[0]) for result in results)
    assert all(result.equals(shredded[0]) for result in shredded)
