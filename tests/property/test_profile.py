"""P22-P24: profiles count what is there, in whatever order, parts and batches it comes."""

from __future__ import annotations

import functools
import itertools
import json
import random
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from kernel_builds import BUILDS, law_on_every_build, using
from profile_by_hand import bytes_by_hand, count_by_hand
from strategies import encodings, nodes
from variant_columns import column_of

import varquet as vq
import varquet.profiles.builder
from varquet.profiles.builder import Builder
from varquet.profiles.facts import OTHERS, Profile, Steps
from varquet.profiles.merging import merge
from varquet.profiles.profiling import Counting, profile, profile_parts
from varquet.variant import encode
from varquet.variant import parse_json as reference_parse_json
from varquet.variant.model import Node

_NARROW = nodes(max_leaves=10, wide=False)
_VALUES = st.lists(st.one_of(st.none(), _NARROW, _NARROW, nodes(max_leaves=8)), max_size=8)


def _facts(found: Profile) -> dict[Any, dict[str, Any]]:
    names = ("count", "rows", "types", "integer_range", "decimal_digits", "array_lengths")
    return {facts.steps: {name: getattr(facts, name) for name in names} for facts in found}


@law_on_every_build(st.data(), _VALUES, share=2)
def test_counts_are_those_of_counting_by_hand(data: st.DataObject, values: list[Any]) -> None:
    column = column_of([None if value is None else data.draw(encodings(value)) for value in values])
    found = profile(column)
    assert _facts(found) == count_by_hand(values)
    assert (found.rows, found.nulls) == (len(values), sum(value is None for value in values))
    assert Profile.from_bytes(found.to_bytes()) == found
    for facts in found:
        for kind in facts.types:
            assert facts.first_row(kind) is not None


@law_on_every_build(_VALUES, share=2)
def test_bytes_are_those_that_values_take(values: list[Any]) -> None:
    found = profile(column_of([None if value is None else encode(value) for value in values]))
    expected = bytes_by_hand(values)
    assert {facts.steps: facts.bytes for facts in found if facts.steps in expected} == expected
    whole = [encode(value)[1] for value in values if value is not None]
    assert not whole or found["$"].bytes == sum(map(len, whole))


@law_on_every_build(st.data(), st.lists(st.none() | _NARROW, max_size=10), st.integers(1, 3))
def test_any_order_and_any_parts(data: st.DataObject, values: list[Any], threads: int) -> None:
    rows = [None if value is None else encode(value) for value in values]
    whole = profile(column_of(rows))
    shuffled = data.draw(st.permutations(rows))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    parts = [profile(column_of(shuffled[first:last])) for first, last in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    assert merge(data.draw(st.permutations(parts))) == whole
    if len(parts) > 2:
        assert parts[0].merge(parts[1].merge(*parts[2:])) == whole
    chunked = pa.chunked_array([column_of(shuffled[first:last]) for first, last in zip([0, *cuts], [*cuts, len(rows)], strict=True)])
    assert profile(chunked, threads=threads) == whole


def _with_data_for_names(rows: int, seed: int) -> list[str]:
    """Objects with names that are data: many of them, some frequent, at two levels."""
    choice = random.Random(seed)
    made = []
    for row in range(rows):
        fields = {f"id_{choice.randrange(20_000)}": {"n": row, "kind": "x"} for _ in range(4)}
        fields |= {name: 1 for name in ("often", "seldom") if choice.random() < {"often": 0.5, "seldom": 0.02}[name]}
        inner = {f"k{choice.randrange(3_000)}": True, **({"usual": "y"} if row % 3 else {})}
        made.append(vq.Variant.from_python({"map": fields, "inner": [inner], "z": row}).to_json())
    return made


@pytest.mark.parametrize("most_names", [1, 50, 1000, 100_000])
@pytest.mark.parametrize("remembered", [2, 1 << 17])
def test_names_that_are_data(most_names: int, remembered: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the order, the parts, the threads, and when names are forgotten: the same ones are kept, and counted exactly."""
    monkeypatch.setattr(varquet.profiles.builder, "_MANY_NAMES", remembered)
    texts = _with_data_for_names(4000, 1)
    by_hand = count_by_hand([reference_parse_json(text) for text in texts])
    whole = profile(vq.parse_json(pa.array(texts)), most_names=most_names)
    assert whole.is_exact
    choice = random.Random(2)
    for threads in (1, 3):
        shuffled = choice.sample(texts, len(texts))
        column = pa.chunked_array([vq.parse_json(pa.array(shuffled[first : first + 700])) for first in range(0, len(texts), 700)])
        assert profile(column, most_names=most_names, threads=threads) == whole
    for facts in whole:
        if OTHERS not in facts.steps:
            assert (facts.count, facts.rows, facts.types) == tuple(by_hand[facts.steps][key] for key in ("count", "rows", "types"))
    if most_names < 20_000:
        assert {facts.steps[1] for facts in whole if facts.steps[:1] == ("map",) and len(facts.steps) == 2} == {"often", "seldom", OTHERS}
        others = whole["$.map.*"]
        rare = [by_hand[steps] for steps in by_hand if len(steps) == 2 and steps[0] == "map" and steps[1] not in ("often", "seldom")]
        assert others.count == sum(facts["count"] for facts in rare) > 10_000
        assert others.types == {"object": others.count}
        assert len(whole.closed[("map",)]) == 2
    else:
        assert not whole.closed


def _counted(
    columns: list[pa.Array], passes: list[int], closed: Mapping[Steps, frozenset[str]], *, most_names: int, share: float
) -> Profile:
    """One pass over parts: as on executors, some of them are merged before others are."""
    passes.append(len(columns))
    parts = [profile(column, most_names=most_names, share=share, candidates=closed) for column in columns]
    return merge([merge(parts[:2]), Profile.from_bytes(merge(parts[2:]).to_bytes())])


def test_names_that_are_data_below_such_names() -> None:
    """Of a rare name nothing is kept, even if what it holds has too many names itself; a frequent one keeps its others."""
    choice = random.Random(3)
    texts = []
    for row in range(900):
        items = ",".join(f'"i{k}":{row}' for k in choice.sample(range(60), 4))
        texts.append(f'{{"m":{{"u{choice.randrange(40)}":{{{items}}}, "usual":{{"k{row}":[{{{items}}}]}}}}}}')
    whole = profile(vq.parse_json(pa.array(texts)), most_names=6, share=0.2)
    assert [facts.path for facts in whole] == ["$", "$.m", "$.m.usual", "$.m.usual.*", "$.m.*"]
    assert set(whole.closed) == {("m",), ("m", "usual")}
    assert (whole["$.m.*"].count, whole["$.m.usual.*"].count) == (900, 900)
    for seed in range(4):
        shuffled = random.Random(seed).sample(texts, len(texts))
        assert profile(vq.parse_json(pa.array(shuffled)), most_names=6, share=0.2, threads=1 + seed % 2) == whole
        columns = [vq.parse_json(pa.array(shuffled[first : first + 300])) for first in range(0, 900, 300)]
        assert profile_parts(functools.partial(_counted, columns, [], most_names=6, share=0.2)) == whole


def _tree(choice: random.Random, depth: int) -> Any:
    if depth == 0 or (kind := choice.random()) < 0.3:
        return choice.choice([1, "a", None, 2.5])
    if kind < 0.8:
        return {f"n{choice.randrange(12)}": _tree(choice, depth - 1) for _ in range(choice.randrange(1, 4))}
    return [_tree(choice, depth - 1) for _ in range(choice.randrange(0, 3))]


def test_too_many_names_anywhere_in_any_parts() -> None:
    """Parts that cannot look below a name that is rare in them find out together what is below it."""
    passes: list[int] = []
    for seed in range(200):
        choice = random.Random(seed)
        texts = [json.dumps(_tree(choice, 4)) for _ in range(choice.randrange(5, 60))]
        most_names, share = choice.randrange(1, 6), choice.choice([0.01, 0.05, 0.2, 0.5])
        whole = profile(vq.parse_json(pa.array(texts)), most_names=most_names, share=share, threads=1)
        shuffled = choice.sample(texts, len(texts))
        cuts = [0, *sorted(choice.choices(range(len(texts)), k=3)), len(texts)]
        columns = [vq.parse_json(pa.array(shuffled[first:last], pa.string())) for first, last in itertools.pairwise(cuts)]
        assert profile(pa.chunked_array(columns), most_names=most_names, share=share, threads=2) == whole
        found = profile_parts(functools.partial(_counted, columns, passes, most_names=most_names, share=share))
        assert (found, found.closed) == (whole, whole.closed), seed
    assert 200 < len(passes) < 200 * 8


def test_names_without_end_take_no_more_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of names that are data is bounded by what is of use, however many there are."""
    monkeypatch.setattr(varquet.profiles.builder, "_MANY_NAMES", 1000)
    counting = Counting(most_names=20)
    known: list[int] = []
    for first in range(0, 40_000, 500):
        texts = [f'{{"m": {{"a{n}": 1, "b": {n}, "c": {{"d{n % 7}": null}}}}}}' for n in range(first, first + 500)]
        counting.add(vq.parse_json(pa.array(texts), shared_metadata=True))
        known.append(len(counting.builder.names))
    # Behind a batch there are no more than the limit; names that may be frequent are at most twice what the share allows.
    assert max(known) <= 1000 + 500
    assert min(known[40:]) < 300
    found = counting.profile()
    assert (found["$.m.b"].rows, found["$.m.*"].count, found["$.m.b"].integer_range) == (40_000, 40_000, (0, 39_999))
    assert [found[f"$.m.c.d{k}"].rows for k in range(7)] == [len(range(k, 40_000, 7)) for k in range(7)]
    # Where no name is of use, all are forgotten.
    alone = profile(vq.parse_json(pa.array([f'{{"a{n}": 1}}' for n in range(3000)])), candidates={(): frozenset()})
    assert [(facts.path, facts.count) for facts in alone] == [("$", 3000), ("$.*", 3000)]


def test_parts_apart_take_a_second_pass() -> None:
    """A name that is rare in one part and frequent in another is counted in both, once the parts know of each other."""
    first = [f'{{"m": {{"a{n}": 1, "b": 1}}}}' for n in range(500)]
    second = [f'{{"m": {{"c{n}": 1{tail}}}}}' for n in range(500) for tail in [', "b": 1' if n % 250 == 0 else ""]]
    columns = [vq.parse_json(pa.array(texts)) for texts in (first, second)]
    parts = [profile(column, most_names=20, candidates={}) for column in columns]
    assert [part.closed[("m",)] for part in parts] == [{"b"}, frozenset()]
    merged = merge(parts)
    assert not merged.is_exact
    again = merge(profile(column, most_names=20, candidates=merged.closed) for column in columns)
    assert again.is_exact
    whole = profile(pa.chunked_array(columns), most_names=20)
    assert again == whole
    assert Profile.from_bytes(again.to_bytes()) == whole
    assert whole["$.m.b"].rows == 502


@pytest.mark.parametrize("build", BUILDS)
def test_growing_anywhere_counts_nothing_twice(build: str) -> None:
    """Room for nodes, for the stack and for the log runs out in the middle of rows."""
    deep: Node = reference_parse_json("[" * 90 + '{"x":1}' + "]" * 90)
    wide: Node = reference_parse_json(vq.Variant.from_python({f"n{i}": {"a": i, "b": [i]} for i in range(700)}).to_json())
    values = [deep, wide, deep, wide]
    with using(build):
        assert _facts(profile(column_of([encode(value) for value in values]))) == count_by_hand(values)
        builder = Builder(3, 0.01, {})
        builder.log = builder.log[:4]
        from varquet.columns.arrow import variant_children

        builder.add(variant_children(column_of([encode(wide)] * 2)), 0)
        assert builder.profile()["$.*"].count == 2 * 697


def test_very_deep_values_are_counted_down_to_a_limit() -> None:
    found = profile(vq.parse_json(pa.array(["[" * 50_000 + "]" * 50_000])))
    assert len(found) == 101
    assert found["$" + "[*]" * 100].types == {"array": 1}
