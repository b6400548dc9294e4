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
