"""`fingerprint`: numbers that can be kept, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from variant_columns import VARIANT_FORMS, column_of

import varquet as vq
from varquet.errors import InvalidVariantError
from varquet.variant import parse_json
from varquet.variant.fingerprint import fingerprint as reference

KEPT = {
    "null": "501ce46aa4bc33eb",
    "true": "49cdeeedd9cb0b3f",
    "1": "ca317aaf92086b2f",
    "1.50": "2a797d7e22cbb0d4",
    "1e0": "52f7a70d605c649f",
    '"x"': "0da22ce2d337462e",
    '"a long string of more than eight bytes"': "3ba3ac61a5df5806",
    "[]": "82073b42f493cfd3",
    "[1,[2]]": "ff25abbe690e82b4",
    "{}": "6b11c8f68c80d5cf",
    '{"a":{"b":[]}}': "9b5a94e4787b6b45",
}


def test_they_never_change() -> None:
    """Files carry them: a change would make every one of them wrong."""
    numbers = vq.fingerprint(vq.parse_json(pa.array(list(KEPT)))).to_pylist()
    assert [f"{number:016x}" for number in numbers] == list(KEPT.values())
    assert numbers == [reference(parse_json(text)) for text in KEPT]


def test_the_type_of_a_number_does_not_matter_but_whether_it_is_exact_does() -> None:
    same = vq.fingerprint(vq.parse_json(pa.array(["1", "1.0", "1.00000000000000000000"]))).to_pylist()
    assert len(set(same)) == 1
    assert vq.fingerprint(vq.parse_json(pa.array(["1e0"]))).to_pylist() != same[:1]


@pytest.mark.parametrize("form", VARIANT_FORMS.values(), ids=VARIANT_FORMS)
def test_any_form_of_a_column(form: Callable[[pa.Array], pa.Array]) -> None:
    column = vq.parse_json(pa.array(['{"a":1}', None, "[1,2]", "null", '{"a":1}']))
    expected = vq.fingerprint(column).to_pylist()
    assert expected[1] is None
    assert expected[0] == expected[4]
    assert vq.fingerprint(form(column)).to_pylist() == expected


def test_a_seed_gives_other_numbers() -> None:
    column = vq.parse_json(pa.array(["1", "[]"]))
    assert not set(vq.fingerprint(column).to_pylist()) & set(vq.fingerprint(column, seed=1).to_pylist())
    assert vq.fingerprint(column, seed=-1).equals(vq.fingerprint(column, seed=(1 << 64) - 1))


def test_what_is_no_variant_is_refused_with_its_row() -> None:
    good = vq.parse_json(pa.array(["1"]))[0].as_py()
    rows = [(good["metadata"], good["value"]), (b"\x01\x00\x00", b"\x02\x01\x05\x00\x01\x00")]
    with pytest.raises(InvalidVariantError) as caught:
        vq.fingerprint(column_of(rows))
    assert caught.value.row == 1


def test_great_depth() -> None:
    text = "[" * 100_000 + "]" * 100_000
    assert vq.fingerprint(vq.parse_json(pa.array([text]))).to_pylist() == [reference(parse_json(text))]
