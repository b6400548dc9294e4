"""The sample data: the same everywhere, cut anywhere, and with the flaws it promises."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from varquet.errors import UnsupportedTypeError
from varquet.samples import MAX_ROWS, Kind, generate, write

ROWS = 20_000


def unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    assert len(fields) == len(pairs), f"a key twice in {pairs}"
    return fields


def load(line: bytes) -> Any:
    return json.loads(line, parse_float=lambda text: float(text) if "e" in text else Decimal(text), object_pairs_hook=unique_object)


@pytest.fixture(scope="module")
def lines() -> Callable[[str], list[bytes]]:
    made: dict[str, list[bytes]] = {}

    def of(kind: str) -> list[bytes]:
        if kind not in made:
            made[kind] = list(generate(kind, ROWS))
        return made[kind]

    return of


@pytest.fixture(scope="module")
def events(lines: Callable[[str], list[bytes]]) -> list[dict[str, Any]]:
    return [load(line) for line in lines("events")]


@pytest.fixture(scope="module")
def github(lines: Callable[[str], list[bytes]]) -> list[dict[str, Any]]:
    return [load(line) for line in lines("github")]


@pytest.fixture(scope="module")
def headers(lines: Callable[[str], list[bytes]]) -> list[dict[str, Any]]:
    return [load(line) for line in lines("headers")]


def share(flags: Iterator[bool]) -> float:
    seen = list(flags)
    assert seen
    return sum(seen) / len(seen)


def values_in(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


class TestDeterminism:
    @pytest.mark.parametrize(
        ("kind", "digest"),
        [
            ("events", "d82e506693a91e9d87aadb65e3a6da3e6719f3eb3040a0ee999983795456dcae"),
            ("github", "f377ba8f76e2e58e92dc83b7053fdf049c32b0ae6846a8e89ce05a8c5cd76277"),
            ("headers", "ca84289065848df694c5195224a1f64695c7bf21f80a1a3524d97078feeea717"),
        ],
    )
    def test_the_bytes_are_pinned(self, kind: str, digest: str) -> None:
        assert hashlib.sha256(b"\n".join(generate(kind, 5000, seed=42))).hexdigest() == digest

    @pytest.mark.parametrize("kind", Kind)
    def test_a_seed_makes_other_rows(self, kind: Kind) -> None:
        first, second = (set(generate(kind, 200, seed=seed)) for seed in (0, 1))
        assert not first & second - {b'{"headers":{}}', b'{"headers":null}'}

    @pytest.mark.parametrize("kind", Kind)
    @pytest.mark.parametrize("cuts", [(1,), (4095, 4096, 4097), (1000, 5000), (0, 0, 6000)])
    def test_any_split_gives_the_same_rows(self, kind: Kind, cuts: tuple[int, ...], lines: Callable[[str], list[bytes]]) -> None:
        bounds = [0, *cuts, 6000]
        parts = [generate(kind, end - start, start=start) for start, end in itertools.pairwise(bounds)]
        assert list(itertools.chain(*parts)) == lines(kind)[:6000]

    @settings(max_examples=30, deadline=None)
    @given(st.sampled_from(Kind), st.integers(-(2**70), 2**70), st.integers(0, MAX_ROWS - 30), st.integers(1, 30), st.integers(0, 29))
    def test_a_row_does_not_know_the_rows_beside_it(self, kind: Kind, seed: int, start: int, n: int, place: int) -> None:
        rows = list(generate(kind, n, seed=seed, start=start))
        assert len(rows) == n
        place %= n
        assert list(generate(kind, 1, seed=seed, start=start + place)) == [rows[place]]
        load(rows[place])

    @pytest.mark.parametrize("kind", Kind)
    def test_write_is_generate_with_newlines(self, kind: Kind) -> None:
        file, steps = io.BytesIO(), list[int]()
        size = write(kind, 5000, file, seed=3, start=17, on_rows=steps.append)
        assert file.getvalue() == b"".join(line + b"\n" for line in generate(kind, 5000, seed=3, start=17))
        assert size == len(file.getvalue())
        assert sum(steps) == 5000

    def test_no_rows(self) -> None:
        assert list(generate("events", 0)) == []
        assert write("events", 0, io.BytesIO()) == 0


class TestArguments:
    def test_an_unknown_kind_is_refused_at_once(self) -> None:
        with pytest.raises(UnsupportedTypeError, match=r"got 'event'.*the kinds are events, github, headers"):
            generate("event", 1)
        with pytest.raises(UnsupportedTypeError, match="got 'event'"):
            write("event", 1, io.BytesIO())

    @pytest.mark.parametrize(("n", "start"), [(-1, 0), (1, -1), (1, MAX_ROWS), (MAX_ROWS + 1, 0)])
    def test_rows_out_of_range_are_refused_at_once(self, n: int, start: int) -> None:
        with pytest.raises(UnsupportedTypeError, match=f"got n={n} from start={start}"):
            generate("events", n, start=start)


@pytest.mark.parametrize(("kind", "size"), [("events", 420), ("github", 1000), ("headers", 390)])
def test_lines_are_one_line_of_the_promised_size(kind: str, size: int, lines: Callable[[str], list[bytes]]) -> None:
    assert sum(map(len, lines(kind))) / ROWS == pytest.approx(size, rel=0.03)
    assert not any(b"\n" in line or b"\r" in line for line in lines(kind))


class TestEvents:
    def test_the_fields_that_are_always_there(self, events: list[dict[str, Any]]) -> None:
        assert [event["id"] for event in events] == list(range(1_000_000, 1_000_000 + ROWS))
        instants = [event["ts"] for event in events]
        assert instants == sorted(instants)
        assert all(re.fullmatch(r"2026-01-01T\d\d:\d\d:\d\d\.\d{3}Z", instant) for instant in instants)
        assert all(isinstance(event["payload"], dict) and re.fullmatch("[0-9a-f]{12}", event["session"]) for event in events)

    def test_twelve_types_unevenly(self, events: list[dict[str, Any]]) -> None:
        counts = Counter(event["type"] for event in events)
        assert len(counts) == 12
        assert max(counts.values()) > 20 * min(counts.values())

    def test_three_in_a_hundred_ids_and_quantities_are_text(self, events: list[dict[str, Any]]) -> None:
        ids = [event["user"]["id"] for event in events if event["user"]]
        quantities = [item["qty"] for event in events for item in event.get("items", ())]
        for values in (ids, quantities):
            assert {type(value) for value in values} == {int, str}
            assert share(isinstance(value, str) for value in values) == pytest.approx(0.03, abs=0.006)
            assert all(str(int(value)) == str(value) for value in values)

    def test_a_person_is_the_same_person_in_every_event(self, events: list[dict[str, Any]]) -> None:
        people: dict[int, set[str]] = {}
        for event in events:
            if event["user"]:
                known = {key: value for key, value in event["user"].items() if key != "id"}
                people.setdefault(int(event["user"]["id"]), set()).add(json.dumps(known, default=str))
        assert len(people) < ROWS
        assert all(len(versions) == 1 for versions in people.values())

    @pytest.mark.parametrize("field", ["device", "tags", "amount", "score"])
    def test_fields_are_missing_or_null_now_and_then(self, field: str, events: list[dict[str, Any]]) -> None:
        assert 0.03 < share(field not in event for event in events) < 0.15
        assert 0.01 < share(event.get(field, 0) is None for event in events) < 0.08

    @pytest.mark.parametrize("field", ["email", "geo"])
    def test_fields_of_the_user_are_missing_or_null_now_and_then(self, field: str, events: list[dict[str, Any]]) -> None:
        users = [event["user"] for event in events]
        assert share(user is None for user in users) == pytest.approx(0.02, abs=0.005)
        assert 0.02 < share(field not in user for user in users if user) < 0.08
        assert 0.02 < share(user.get(field, 0) is None for user in users if user) < 0.08

    def test_amounts_are_decimals_of_two_places_and_the_cost_of_the_items(self, events: list[dict[str, Any]]) -> None:
        compared = 0
        for event in events:
            amount, items = event.get("amount"), event.get("items")
            if amount is not None:
                assert amount.as_tuple().exponent == -2
                if items and all(item["price"] is not None for item in items):
                    cost = sum(int(item["qty"]) * item["price"] for item in items)
                    assert abs(amount) == cost
                    assert (amount < 0) == (event["type"] == "refund")
                    compared += 1
        assert compared > ROWS // 5

    def test_scores_are_decimals_and_now_and_then_doubles(self, events: list[dict[str, Any]]) -> None:
        scores = [event["score"] for event in events if event.get("score") is not None]
        assert share(isinstance(score, float) for score in scores) == pytest.approx(0.075, abs=0.01)
        assert {type(score) for score in scores} == {float, Decimal}

    def test_each_of_a_thousand_rare_keys_is_in_a_thousandth_of_the_rows(self, events: list[dict[str, Any]]) -> None:
        counts = Counter(key for event in events for key in event if key.startswith("x_"))
        assert set(counts) == {f"x_{number:04d}" for number in range(1, 1001)}
        assert sum(counts.values()) / ROWS == pytest.approx(1.0, abs=0.05)
        assert all(1 <= count <= 50 for count in counts.values())

    def test_data_is_used_as_keys(self, events: list[dict[str, Any]]) -> None:
        seen = [event["seen"] for event in events if "seen" in event]
        assert len(seen) / ROWS == pytest.approx(0.15, abs=0.01)
        keys = Counter(key for counts in seen for key in counts)
        assert all(re.fullmatch(r"p-\d{5}", key) for key in keys)
        assert len(keys) > 4000
        assert keys.most_common(1)[0][1] < 6

    def test_payloads_depend_on_the_type(self, events: list[dict[str, Any]]) -> None:
        shapes: dict[str, set[tuple[str, ...]]] = {}
        for event in events:
            shapes.setdefault(event["type"], set()).add(tuple(event["payload"]))
        assert all(len(shape) == 1 for shape in shapes.values())
        assert len(set(map(frozenset, shapes.values()))) >= 10
        values = {type(event["payload"]["value"]) for event in events if event["type"] == "metric"}
        assert values == {int, float, Decimal, list, str, type(None)}

    def test_empty_arrays_and_objects(self, events: list[dict[str, Any]]) -> None:
        for field, empty in (("items", []), ("tags", []), ("flags", {}), ("device", {}), ("seen", {}), ("payload", {})):
            assert 0.01 < share(event.get(field) == empty for event in events) < 0.3, field

    def test_arrays_of_objects_of_up_to_four(self, events: list[dict[str, Any]]) -> None:
        assert set(Counter(len(event["items"]) for event in events if "items" in event)) == {0, 1, 2, 3, 4}

    def test_unicode_and_escapes(self, lines: Callable[[str], list[bytes]], events: list[dict[str, Any]]) -> None:
        text = b"\n".join(lines("events")).decode()
        for escape in ('\\"', "\\\\", "\\/", "\\n", "\\r", "\\t", "\\u0000", "\\u00f6", "\\ud83d\\ude80"):
            assert escape in text
        assert any("😀" in value for event in events for value in values_in(event) if isinstance(value, str))
        assert share(not line.isascii() for line in lines("events")) > 0.1


class TestGithub:
    def test_types_and_frame(self, github: list[dict[str, Any]]) -> None:
        counts = Counter(event["type"] for event in github)
        assert len(counts) == 12
        assert counts["PushEvent"] / ROWS == pytest.approx(0.5, abs=0.02)
        assert len({event["id"] for event in github}) == ROWS
        assert share("org" in event for event in github) == pytest.approx(0.6, abs=0.1)
        for event in github:
            assert event["repo"]["url"].endswith(event["repo"]["name"])
            assert event["public"] is True
            assert isinstance(event["payload"], dict)

    def test_a_push_holds_its_commits(self, github: list[dict[str, Any]]) -> None:
        pushes = [event["payload"] for event in github if event["type"] == "PushEvent"]
        assert {len(push["commits"]) for push in pushes} == set(range(7))
        for push in pushes:
            assert push["size"] == len(push["commits"])
            shas = [commit["sha"] for commit in push["commits"]]
            assert len(set(shas)) == len(shas)
            assert not shas or shas[-1] == push["head"]
            assert all(re.fullmatch("[0-9a-f]{40}", sha) for sha in (*shas, push["head"], push["before"]))

    def test_the_user_of_a_payload_is_the_actor(self, github: list[dict[str, Any]]) -> None:
        for kind, name in (("IssuesEvent", "issue"), ("IssueCommentEvent", "comment"), ("PullRequestReviewEvent", "review")):
            for event in github:
                if event["type"] == kind:
                    user = event["payload"][name]["user"]
                    assert (user["login"], user["id"]) == (event["actor"]["login"], event["actor"]["id"])

    def test_what_does_not_apply_is_null(self, github: list[dict[str, Any]]) -> None:
        issues = [event["payload"]["issue"] for event in github if event["type"] == "IssuesEvent"]
        assert {issue["closed_at"] is None for issue in issues if issue["state"] == "open"} == {True}
        assert {issue["closed_at"] is None for issue in issues if issue["state"] == "closed"} == {False}
        pulls = [event["payload"]["pull_request"] for event in github if event["type"] == "PullRequestEvent"]
        assert {pull["merged"] for pull in pulls} == {True, False}
        assert all((pull["merge_commit_sha"] is not None) == pull["merged"] for pull in pulls)

    def test_addresses_are_invented(self, lines: Callable[[str], list[bytes]]) -> None:
        hosts = set(re.findall(rb"https://([^/\"]+)", b"\n".join(lines("github"))))
        assert hosts == {b"api.example.com", b"avatars.example.com", b"example.com"}


class TestHeaders:
    def test_text_to_text_or_null(self, headers: list[dict[str, Any]]) -> None:
        assert all(list(row) == ["headers"] for row in headers)
        values = [value for row in headers for value in (row["headers"] or {}).values()]
        assert {type(value) for value in values} == {str, type(None)}
        assert share(value is None for value in values) == pytest.approx(0.017, abs=0.005)

    def test_hot_keys_and_a_long_tail(self, headers: list[dict[str, Any]]) -> None:
        counts = Counter(key for row in headers for key in row["headers"] or ())
        for hot in ("host", "user-agent", "accept", "accept-encoding", "content-type", "x-forwarded-for"):
            assert counts[hot] > ROWS * 0.65, hot
        tail = Counter({key: count for key, count in counts.items() if re.fullmatch("x-[a-z]+-[a-z]+", key) and count < ROWS * 0.05})
        assert len(tail) > 1400
        ordered = [count for _, count in tail.most_common()]
        assert ordered[0] > 20 * ordered[-1]
        assert share(any(key in tail for key in row["headers"] or ()) for row in headers) == pytest.approx(0.69, abs=0.03)

    def test_a_map_is_empty_or_null_now_and_then(self, headers: list[dict[str, Any]]) -> None:
        for odd in ("{}", "null"):
            assert share(json.dumps(row["headers"]) == odd for row in headers) == pytest.approx(0.005, abs=0.002)
