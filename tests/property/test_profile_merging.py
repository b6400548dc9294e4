"""P23: profiles of parts merge to the profile of the whole, in any tree, where objects have more names than are counted one by one."""

from __future__ import annotations

import functools
import itertools
import json
import random
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

import varquet as vq
import varquet.profiles.folding
import varquet.profiles.merging
from varquet.profiles.facts import OTHERS, Profile, Steps
from varquet.profiles.merging import empty, merge
from varquet.profiles.profiling import Counting, profile, profile_parts
from varquet.schema import ELEMENT


def _value(choice: random.Random, depth: int, names: int) -> Any:
    kind = choice.random()
    if depth == 0 or kind < 0.2:
        return choice.choice([1, "a", None, 2.5])
    if kind < 0.85:
        # Some names come much more often than others.
        return {f"n{int(names * choice.random() ** 3)}": _value(choice, depth - 1, names) for _ in range(choice.randrange(1, 4))}
    return [_value(choice, depth - 1, names) for _ in range(choice.randrange(0, 3))]


def _rows_by_hand(rows: list[Any], most_names: int, share: float, most_paths: int = 1 << 16) -> dict[Steps, int]:
    """How many rows have each path that is kept: of objects with too many names those that are frequent, and all others as one."""
    values: dict[Steps, list[tuple[int, Any]]] = {(): list(enumerate(rows))}
    fields: dict[Steps, list[str]] = {}
    waiting: list[Steps] = [()]
    for steps in waiting:
        below: dict[Any, list[tuple[int, Any]]] = {}
        for row, value in values[steps]:
            parts = value.items() if isinstance(value, dict) else ((ELEMENT, one) for one in value) if isinstance(value, list) else ()
            for step, child in parts:
                below.setdefault(step, []).append((row, child))
        fields[steps] = [step for step in below if isinstance(step, str)]
        for step, children in below.items():
            values[*steps, step] = children
            waiting.append((*steps, step))

    large = [steps for steps, names in fields.items() if len(names) > most_names]
    inside = [value for steps in large for name in fields[steps] for _, value in values[*steps, name]]
    paths = len(values) + sum(most_names + 1 - len(fields[steps]) for steps in large)
    is_wide = paths > most_paths or any(isinstance(value, (dict, list)) for value in inside)
    found: dict[Steps, int] = {}

    def look(steps: Steps, above: int) -> None:
        found[steps] = len({row for row, _ in values[steps]})
        names = fields[steps]
        most = min(most_names, max(1, most_paths // above)) if is_wide else most_names
        frequent = [name for name in names if len({row for row, _ in values[*steps, name]}) >= share * len(rows)]
        if len(names) > most and len(frequent) < len(names):
            found[*steps, OTHERS] = sum(len(values[*steps, name]) for name in names if name not in frequent)
        for name in frequent if len(names) > most else names:
            look((*steps, name), above * (most_names + 1 if len(names) > most else len(names)))
        if (*steps, ELEMENT) in values:
            look((*steps, ELEMENT), above)

    look((), 1)
    return found


def _merged_anyhow(parts: list[Profile], choice: random.Random) -> Profile:
    """Merged two or three at a time, in any order, as executors do it; some are written and read in between."""
    while len(parts) > 1:
        chosen = [parts.pop(choice.randrange(len(parts))) for _ in range(min(len(parts), choice.choice([2, 2, 3])))]
        merged = chosen[0].merge(*chosen[1:])
        parts.append(Profile.from_bytes(merged.to_bytes()) if choice.random() < 0.5 else merged)
    return parts[0]


@pytest.mark.parametrize("most_paths", [3, 12, 40, 120, 1 << 16])
@pytest.mark.parametrize("at_once", [2, 1 << 15])
def test_any_parts_in_any_tree_of_merges(at_once: int, most_paths: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(varquet.profiles.merging, "_PATHS_AT_ONCE", at_once)
    monkeypatch.setattr(varquet.profiles.folding, "MOST_PATHS", most_paths)
    for seed in range(30 if most_paths < 1000 else 60):
        choice = random.Random(seed)
        values = [_value(choice, 4, choice.choice([6, 15])) for _ in range(choice.randrange(5, 80))]
        most_names, share = choice.choice([1, 2, 3, 4, 5, 6, 12, 50]), choice.choice([0.01, 0.05, 0.2, 0.5])
        texts = list(map(json.dumps, values))
        whole = profile(pa.array(texts), most_names=most_names, share=share, threads=1)
        assert {facts.steps: facts.rows for facts in whole} == _rows_by_hand(values, most_names, share, most_paths), seed
        shuffled = choice.sample(texts, len(texts))
        cuts = [0, *sorted(choice.choices(range(len(texts)), k=6)), len(texts)]
        columns = [pa.array(shuffled[first:last], pa.string()) for first, last in itertools.pairwise(cuts)]
        chunked = pa.chunked_array([vq.parse_json(column) for column in columns])
        assert profile(chunked, most_names=most_names, share=share, threads=3) == whole, seed

        counted = functools.partial(_counted, columns=columns, choice=choice, most_names=most_names, share=share)
        merged = profile_parts(counted)
        assert (merged, merged.closed, merged.most_names) == (whole, whole.closed, most_names), seed
        # What is exact at once is so without another pass.
        parts = [profile(column, most_names=most_names, share=share, threads=1) for column in columns]
        together = _merged_anyhow(parts, choice)
        assert not together.is_exact or together == whole, seed


def _counted(
    closed: Mapping[Steps, frozenset[str]], *, columns: list[pa.Array], choice: random.Random, most_names: int, share: float
) -> Profile:
    parts = [profile(column, candidates=closed, threads=1, most_names=most_names, share=share) for column in columns]
    return _merged_anyhow(parts, choice)


def test_parts_without_too_many_names_have_too_many_together() -> None:
    rows = [json.dumps({"l": [{"hot": 1}] * 500 if i % 300 == 0 else [{f"n{i}": 1}]}) for i in range(1500)]
    whole = vq.profile(pa.array(rows))
    parts = [vq.profile(pa.array(rows[first : first + 500])) for first in (0, 500, 1000)]
    merged = parts[0].merge(*parts[1:])
    assert merged.is_exact
    assert merged == whole == parts[2].merge(parts[0].merge(parts[1]))
    assert [facts.path for facts in merged] == ["$", "$.l", "$.l[*]", "$.l[*].*"]


def test_names_of_many_parts_take_no_more_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many parts there are, exact or not, names that are not frequent are folded as they are merged."""
    largest = []
    summed = varquet.profiles.merging._sum

    def noted(parts: Any) -> Profile:
        largest.append(sum(map(len, parts)))
        return summed(parts)

    monkeypatch.setattr(varquet.profiles.merging, "_sum", noted)
    monkeypatch.setattr(varquet.profiles.merging, "_PATHS_AT_ONCE", 1000)
    for late in (0, 40):
        largest.clear()
        parts = []
        for number in range(40):
            # In the last parts there is a name that is frequent there and was not told apart in others.
            texts = [json.dumps({f"n{number}_{k}": 1, **({"late": 1} if number >= 40 - late // 20 else {})}) for k in range(200)]
            parts.append(profile(pa.array(texts), most_names=150, candidates={}))
        merged = merge(parts)
        assert len(merged) <= 3
        assert merged["$.*"].count == 8000
        assert max(largest) <= 1200
        inexact = merge([parts[0], profile(pa.array(['{"late":1}'] * 500)), *parts[1:]])
        assert (inexact.is_exact, inexact.closed, len(inexact)) == (False, {(): {"late"}}, 3)


@pytest.mark.parametrize("order", ["by turns", "one behind the other", "any"])
def test_names_of_names_take_no_more_room(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred objects with fifty names each, and one with ten thousand that hold objects, but for one they are rare."""
    monkeypatch.setattr(varquet.profiles.folding, "MOST_PATHS", 500)
    rows = [(k % 200, k // 200) for k in range(10_000)]
    if order != "by turns":
        random.Random(1).shuffle(rows)
    if order == "one behind the other":
        rows.sort()
    texts = [json.dumps({f"u{user}": {f"v{name}": 1}, "u": {f"w{user}_{name}": {"x": 1}, "usual": [{"y": user}]}}) for user, name in rows]
    counting = Counting(most_names=300)
    for first in range(0, len(texts), 100):
        counting.add(vq.parse_json(pa.array(texts[first : first + 100])))
    # Objects one behind the other each have a share of 500 that shrinks as more come: all shares are 500 times a logarithm.
    assert counting.builder.count < 6 * 500
    found = counting.profile()
    assert found == profile(pa.array(texts), most_names=300, threads=2)
    names = [facts.steps[0] for facts in found if len(facts.steps) == 1]
    assert len(names) == 201
    assert {facts.path: facts.count for facts in found if facts.path.startswith("$.u0") or facts.path.startswith("$.u.usual")} == {
        "$.u.usual": 10_000, "$.u.usual[*]": 10_000, "$.u.usual[*].y": 10_000, "$.u0": 50, "$.u0.*": 50,
    }  # fmt: skip
    assert (len(found), found.is_exact) == (406, True)


def test_an_object_that_has_too_many_names_once_keeps_having_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for paths runs out in a row of which not everything was counted yet: names that were folded already stay so."""
    monkeypatch.setattr(varquet.profiles.folding, "MOST_PATHS", 8)
    first = {"o": {"c1": {f"n{k}": [k] for k in range(2)}, "c2": {"x": [1]}, "late": 1}, "p": {"q": {"r": {"s": 1}}}}
    for more in range(12):
        rows = [first | {f"z{k}": {"y": 1} for k in range(more)}, *({"o": {"late": 1}} for _ in range(299))]
        found = profile(pa.array(list(map(json.dumps, rows))), most_names=2, threads=1)
        assert {facts.steps: facts.rows for facts in found} == _rows_by_hand(rows, 2, 0.01, 8), more


def test_the_fewest_names_count_and_nothing_does_not() -> None:
    few, many = (profile(pa.array(['{"a":1,"b":2}']), most_names=most_names, share=0.5) for most_names in (1, 50))
    assert (few.merge(many).most_names, many.merge(few).most_names) == (1, 1)
    assert many.merge(empty()) == empty().merge(many) == many
    assert (empty().merge(many).most_names, empty().merge(many).share) == (50, 0.5)
    assert Profile.from_bytes(few.to_bytes()).most_names == 1


def test_a_stream_that_is_counted_once_keeps_what_may_be_frequent() -> None:
    counting = Counting(most_names=3)
    counting.add(vq.parse_json(pa.array([json.dumps({f"n{k}": 1}) for k in range(10)] + ['{"late":1}'] * 90)))
    found = counting.profile()
    assert (found.is_exact, found.closed) == (False, {(): {"late", *(f"n{k}" for k in range(10))}})
