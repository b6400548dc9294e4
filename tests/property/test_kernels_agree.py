"""The kernels say what the reference says: the same bytes, the same text, the same refusals, in every build."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from json_mistakes import damaged_json, texts_with_duplicates
from kernel_builds import BUILDS, law_on_every_build, using
from strategies import encodings, json_texts, nodes, physical
from variant_columns import Row, column_of, nodes_column, rows_of
from variant_damage import damaged

import varquet as vq
from varquet.errors import InvalidVariantError, JsonError
from varquet.samples import generate
from varquet.types import BY_NAME, Family
from varquet.variant import decode, encode, equal
from varquet.variant import parse_json as reference_parse_json
from varquet.variant import to_json as reference_to_json
from varquet.variant.decode import read_container
from varquet.variant.metadata import Metadata
from varquet.variant.model import Node, Scalar
from varquet.variant.text import double_text

# parse_json


def _encoded(text: str | bytes, duplicate_keys: str = "error") -> tuple[bytes, bytes]:
    return encode(reference_parse_json(text, duplicate_keys=duplicate_keys))


@law_on_every_build(st.lists(json_texts() | st.none(), max_size=6))
def test_parse_json_writes_the_bytes_of_the_reference(texts: list[str | None]) -> None:
    expected = [None if text is None else _encoded(text) for text in texts]
    assert rows_of(vq.parse_json(pa.array(texts, pa.string()))) == expected


@law_on_every_build(st.lists(texts_with_duplicates(), min_size=1, max_size=4))
def test_the_last_of_several_fields_with_one_name_is_kept(texts: list[str]) -> None:
    column = vq.parse_json(pa.array(texts, pa.string()), duplicate_keys="last")
    assert rows_of(column) == [_encoded(text, "last") for text in texts]


@law_on_every_build(damaged_json(), st.sampled_from(("error", "last")), share=2)
def test_parse_json_reports_what_the_reference_reports(texts: list[bytes], duplicate_keys: Any) -> None:
    """Same offset, words and hint, of what is wrong first."""
    expected = [_expected(text, duplicate_keys) for text in texts]
    assert [_outcome(text, duplicate_keys) for text in texts] == expected
    parsed = vq.parse_json(pa.array(texts, pa.binary()), on_error="collect", duplicate_keys=duplicate_keys)
    assert parsed.errors.to_pylist() == [
        {"row": row, "offset": error.offset, "message": error.message} for row, error in enumerate(expected) if isinstance(error, _Refusal)
    ]
    assert [_meaning(row) for row in rows_of(parsed.column)] == [None if isinstance(each, _Refusal) else each for each in expected]


class _Refusal(NamedTuple):
    offset: int | None
    message: str
    hint: str | None


def _outcome(text: bytes, duplicate_keys: Any) -> object:
    """The meaning of a text alone in a column, or what is wrong with it."""
    try:
        return _meaning(rows_of(vq.parse_json(pa.array([text], pa.binary()), duplicate_keys=duplicate_keys))[0])
    except JsonError as error:
        assert error.row == 0
        return _Refusal(error.offset, error.message, error.hint)


def _meaning(row: Row) -> object:
    return None if row is None else physical(decode(*row))


def _expected(text: bytes, duplicate_keys: str) -> object:
    try:
        return physical(reference_parse_json(text, duplicate_keys=duplicate_keys))
    except JsonError as error:
        return _Refusal(error.offset, error.message, error.hint)


@law_on_every_build(st.lists(texts_with_duplicates(), min_size=1, max_size=4), st.integers(0, 1 << 32))
def test_a_repeated_name_is_found_where_the_reference_finds_it(texts: list[str], seed: int) -> None:
    """Alone, before another mistake and behind it, and in a name that is not read to its end."""
    choice = random.Random(seed)
    damaged_texts = [text[: choice.randrange(len(text) + 1)] + choice.choice(("", "1e400", "x", '\\ud800"', '"')) for text in texts]
    expected = [_expected(text.encode(), "error") for text in texts + damaged_texts]
    for shared_metadata in (False, True):
        parsed = vq.parse_json(pa.array(texts + damaged_texts), on_error="collect", shared_metadata=shared_metadata)
        assert parsed.errors.to_pylist() == [
            {"row": row, "offset": each.offset, "message": each.message} for row, each in enumerate(expected) if isinstance(each, _Refusal)
        ]


@law_on_every_build(st.integers(0, 1 << 32), share=0.1)
def test_rows_of_one_shape_and_of_many_are_parsed_alike(seed: int) -> None:
    """Names are predicted from the row before: a column must not depend on what came before."""
    choice = random.Random(seed)
    names = [
        choice.choice(["a", "b", "ab", "abcdefgh", "abcdefghi", 'q\\"', "s\\\\", "n\\n", "\\u0061", "é", "", "long" * 9]) for _ in range(8)
    ]
    texts = []
    for _ in range(40):
        fields = choice.sample(names, choice.randint(0, len(names)))
        inner = choice.sample(names, choice.randint(0, 3))
        nested = "{" + ",".join(f'"{name}":{{}}' for name in dict.fromkeys(inner)) + "}"
        texts.append("{" + ",".join(f'"{name}":{choice.choice(["1", nested])}' for name in dict.fromkeys(fields)) + "}")
        if choice.random() < 0.2:
            texts.append(texts[-1].replace("\\", "", 1))
    for text, made in zip(texts, rows_of(vq.parse_json(pa.array(texts), on_error="null", duplicate_keys="last")), strict=True):
        try:
            assert made == _encoded(text, "last")
        except JsonError:
            assert made is None


# Without a compiler the large ones would take minutes.
_COUNTS = [
    (build, count) for build in BUILDS for count in (255, 256, 257, 65_535, 65_536, 65_537) if build != "interpreted" or count < 1000
]


@pytest.mark.parametrize(("build", "count"), _COUNTS)
def test_objects_of_many_names(build: str, count: int) -> None:
    """Field ids of one, two and three bytes, also in an inner object that uses few of them."""
    names = [f"k{(i * 7919) % count:05}" for i in range(count)]
    wide = "{" + ",".join(f'"{name}":{i % 100}' for i, name in enumerate(names)) + "}"
    text = f'[{{"{names[0]}":1,"{names[-1]}":{{}}}},{wide},{{"a":null}}]'
    with using(build):
        column = vq.parse_json(pa.array([text, '{"a":1}', text]))
    expected = _encoded(text)
    assert rows_of(column) == [expected, _encoded('{"a":1}'), expected]


@law_on_every_build(json_texts(), share=0.5)
def test_text_made_of_parsed_text_means_the_same(text: str) -> None:
    column = vq.parse_json(pa.array([text]))
    (again,) = rows_of(vq.parse_json(vq.to_json(column)))
    assert again is not None
    assert equal(decode(*again), reference_parse_json(text))


# to_json and validate


@law_on_every_build(st.data(), st.lists(nodes(), max_size=4), share=2)
def test_to_json_writes_the_text_of_the_reference(data: st.DataObject, values: list[Node]) -> None:
    """Whatever legal bytes mean the values; and validate has nothing against them."""
    rows: list[Row] = [data.draw(encodings(value)) for value in values]
    rows.insert(data.draw(st.integers(0, len(rows))), None)
    column = column_of(rows)
    assert vq.to_json(column).to_pylist() == [None if row is None else reference_to_json(decode(*row)) for row in rows]
    vq.validate(column)


@law_on_every_build(st.lists(st.tuples(st.integers(-(10**17), 10**17), st.integers(-40, 25)), min_size=1, max_size=20))
def test_doubles_are_written_with_the_digits_that_they_came_from(parts: list[tuple[int, int]]) -> None:
    """Those of few digits are written by the kernel itself, plainly or with an exponent, all others by Python."""
    numbers = [float(f"{digits}e{exponent}") for digits, exponent in parts]
    column = nodes_column([Scalar(BY_NAME["double"], number) for number in numbers])
    assert vq.to_json(column).to_pylist() == [double_text(number) for number in numbers]


@law_on_every_build(st.lists(nodes(), min_size=1, max_size=4))
def test_strict_validation_has_nothing_against_what_is_written_here(values: list[Node]) -> None:
    vq.validate(nodes_column(values), strict=True)


@law_on_every_build(st.lists(json_texts(), min_size=1, max_size=4), share=0.5)
def test_strict_validation_has_nothing_against_parsed_text(texts: list[str]) -> None:
    vq.validate(vq.parse_json(pa.array(texts)), strict=True)


@law_on_every_build(st.data(), nodes(wide=False))
def test_strict_validation_refuses_what_a_writer_may_not_do(data: st.DataObject, node: Node) -> None:
    row = data.draw(encodings(node))
    assert _is_refused(row, strict=True) == _breaks_a_rule_for_writers(*row)


@law_on_every_build(st.data(), nodes(wide=False), st.integers(0, 1 << 32), share=3)
def test_damaged_bytes_are_refused_by_all_or_by_none(data: st.DataObject, node: Node, seed: int) -> None:
    """P25: the reference, validate and to_json agree on whether bytes are a Variant, and on its text if they are."""
    choice = random.Random(seed)
    row, other = data.draw(encodings(node)), encode([node, {"x": node}])
    rows = [damaged(row, choice, other=other) for _ in range(12)]
    texts = [_reference_text(row) for row in rows]
    column = column_of(rows)
    assert vq.to_json(column, on_error="null").to_pylist() == texts
    refused = vq.validate(column, on_error="collect")["row"].to_pylist()
    assert refused == [row for row, text in enumerate(texts) if text is None]
    for row, text in zip(rows, texts, strict=True):
        if text is not None:
            assert _is_refused(row, strict=True) == _breaks_a_rule_for_writers(*row)


def _reference_text(row: tuple[bytes, bytes]) -> str | None:
    try:
        return reference_to_json(decode(*row))
    except InvalidVariantError:
        return None


def _is_refused(row: tuple[bytes, bytes], *, strict: bool) -> bool:
    return bool(vq.validate(column_of([row]), on_error="collect", strict=strict).num_rows)


def _breaks_a_rule_for_writers(metadata: bytes, value: bytes) -> bool:
    """The rules that `strict` adds to those for readers, spelled out once more."""
    dictionary = Metadata(metadata)
    names = [dictionary.name(i).encode() for i in range(len(dictionary))]
    if metadata[0] & 0x20 or (dictionary.sorted_strings and any(a >= b for a, b in pairwise(names))):
        return True
    pending = [(0, len(value))]
    while pending:
        start, end = pending.pop()
        header, tag = value[start], value[start] >> 2
        if header & 3 < 2:
            width = {8: 4, 9: 8}.get(tag, 0) if header & 3 == 0 else 0
            unscaled = int.from_bytes(value[start + 2 : start + 2 + width], "little", signed=True)
            if width and abs(unscaled) >= 10 ** (9 if width == 4 else 18):
                return True
            continue
        container = read_container(value, start, end)
        if header & (0x80 if container.is_object else 0xE0):
            return True
        if container.is_object:
            used = [names[container.field_id(i)] for i in range(container.count)]
            if any(a >= b for a, b in pairwise(used)):
                return True
        pending.extend((container.child(i), container.values_end) for i in range(container.count))
    return False


# Depth and numbers


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("depth", [1, 63, 64, 65, 200])
def test_nesting_deeper_than_the_scratch(build: str, depth: int) -> None:
    texts = ["[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, '[{"b":[' * depth + "]}]" * depth]
    with using(build):
        column = vq.parse_json(pa.array(texts))
        assert rows_of(column) == [_encoded(text) for text in texts]
        assert vq.to_json(column).to_pylist() == texts
        vq.validate(column, strict=True)


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("piece", ["\x01", '"', "x", "é", "x\x1f\U0001f600"])
def test_outputs_that_run_full_at_any_place(build: str, piece: str) -> None:
    """Alone, a row decides how much room there is: every length ends somewhere else in it."""
    with using(build):
        for length in range(0, 120, 7 if build == "interpreted" else 1):
            text = piece * length
            string = Scalar(BY_NAME["string"], text)
            binary = Scalar(BY_NAME["binary"], text.encode())
            shapes: list[Node] = [string, binary, {text: string}, [string, {text: binary}]]
            for node in shapes:
                (written,) = vq.to_json(nodes_column([node])).to_pylist()
                assert written == reference_to_json(node)
                assert vq.extract(nodes_column([node]), "$", "string").to_pylist()[0] in (text, written)
                assert rows_of(vq.parse_json(pa.array([written]))) == [_encoded(written)]


_MOMENTS = [kind for kind in BY_NAME.values() if kind.family in (Family.DATE, Family.TIMESTAMP, Family.TIMESTAMP_NTZ)]


@law_on_every_build(st.integers(0, 1 << 32), share=0.2)
def test_dates_and_timestamps_over_the_whole_range(seed: int) -> None:
    choice = random.Random(seed)
    values: list[Node] = []
    for kind in _MOMENTS:
        limit = 1 << (8 * kind.width - 1)
        unit = 86_400_000_000 if kind.width == 8 else 1
        values += [Scalar(kind, number) for number in (-limit, limit - 1, -1, 0, -unit, unit - 1)]
        for _ in range(40):
            number = choice.choice((choice.randrange(-limit, limit), choice.getrandbits(choice.randint(1, 8 * kind.width - 1))))
            near_a_day = number // unit * unit + choice.randint(-1, 1)
            values += [Scalar(kind, max(-limit, min(limit - 1, each))) for each in (number, -number, near_a_day)]
    column = nodes_column(values)
    assert vq.to_json(column).to_pylist() == [reference_to_json(value) for value in values]


# Many rows


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("kind", ["events", "github", "headers"])
def test_realistic_rows(build: str, kind: str) -> None:
    texts = list(generate(kind, 20 if build == "interpreted" else 300, seed=11))
    with using(build):
        column = vq.parse_json(pa.array(texts, pa.binary()))
        written = vq.to_json(column).to_pylist()
    expected = [_encoded(text) for text in texts]
    assert rows_of(column) == expected
    assert written == [reference_to_json(decode(*row)) for row in expected]


@pytest.mark.parametrize("build", BUILDS)
def test_names_that_most_rows_have_and_names_that_few_have(build: str) -> None:
    """The common names of a column are found by its first rows, and again when later ones have others; the bytes do not tell."""
    choice = random.Random(11)
    common = [f"{letter}{number}" for letter in ("", "m", "same first eight bytes ", "ü") for number in range(15)]
    later = [f"later {number:03}" for number in range(90)]
    rows: list[list[str]] = []
    rows += [choice.sample(common, 25) + [f"x_{choice.randrange(400)}" for _ in range(choice.randrange(4))] for _ in range(200)]
    rows += [common + later for _ in range(20)]
    rows += [choice.choice((common, later[:40], [])) for _ in range(60)]
    rows += [[f"only {row} {field}" for field in range(14)] for row in range(30)]
    if build != "interpreted":
        rows += [choice.sample(later, 40) for _ in range(1400)]
        rows += [choice.sample(later, 60) + choice.sample(common, 3) for _ in range(200)]
    texts = ["{" + ",".join(f'"{name}":{len(names)}' for name in dict.fromkeys(names)) + "}" for names in rows]
    with using(build):
        column = vq.parse_json(pa.array(texts), threads=1)
    assert rows_of(column) == [_encoded(text) for text in texts]


@pytest.mark.parametrize("build", BUILDS)
def test_a_thread_that_knows_the_common_names_of_rows_parses_others(build: str) -> None:
    """What it remembers from one column is right for the next: where names come twice, and where rows share their metadata."""
    choice = random.Random(3)
    common = [f"c{number:02}" for number in range(70)]
    rows = [choice.sample(common, 30) + [f"x_{choice.randrange(50)}"] * choice.randrange(3) for _ in range(250)]
    texts = ["{" + ",".join(f'"{name}":{field}' for field, name in enumerate(names)) + "}" for names in rows]
    twice = ['{"c01":1,"c01":{"x_7":2,"c02":3},"c03":{"gone":1},"c03":4}', *texts]
    with using(build):
        for _ in range(2):
            column = vq.parse_json(pa.array(texts), duplicate_keys="last", threads=1)
            assert rows_of(column) == [_encoded(text, "last") for text in texts]
            column = vq.parse_json(pa.array(twice), duplicate_keys="last", threads=1)
            assert rows_of(column) == [_encoded(text, "last") for text in twice]
            shared = vq.parse_json(pa.array(twice), duplicate_keys="last", shared_metadata=True, threads=1)
            assert vq.to_json(shared).to_pylist() == vq.to_json(column).to_pylist()


@pytest.mark.parametrize("build", [build for build in BUILDS if build != "interpreted"])
def test_more_names_than_are_remembered(build: str) -> None:
    """Names are forgotten when they become too many, in the middle of a column."""
    choice = random.Random(5)
    texts = []
    for row in range(1600):
        names = [f"k{choice.randrange(1 << 40)}" for _ in range(45)] + ["always", f"row{row % 1300}"]
        choice.shuffle(names)
        texts.append("{" + ",".join(f'"{name}":{row}' for name in names) + "}")
        texts.append('{"always":1,"b":{"always":2}}')
    with using(build):
        column = vq.parse_json(pa.array(texts))
    assert rows_of(column) == [_encoded(text) for text in texts]
