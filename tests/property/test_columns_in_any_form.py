"""A verb's result depends on the rows alone: not on the Arrow form of the column, its slices, chunks or the number of threads."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from kernel_builds import law_on_every_build
from strategies import encodings, json_texts, nodes
from variant_columns import TEXT_FORMS, VARIANT_FORMS, Row, column_of, rows_of

import varquet as vq
from varquet.columns import parse_json as parsing
from varquet.columns import reading
from varquet.samples import generate

_TEXTS = st.lists(st.none() | json_texts(), max_size=6)


@contextmanager
def _slices_of(rows: int) -> Iterator[None]:
    """Let the verbs cut columns into slices of so few rows, as they do with long ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "_ROWS_PER_SLICE", rows)
        patch.setattr(reading, "ROWS_PER_SLICE", rows)
        yield


def _buffers(column: pa.Array | pa.ChunkedArray) -> list[str]:
    """The fingerprint of every buffer below a column."""
    arrays = list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]
    found = []
    for array in arrays:
        if isinstance(array, pa.ExtensionArray):
            arrays.append(array.storage)
        if pa.types.is_dictionary(array.type):
            arrays.append(array.dictionary)
        found += [hashlib.sha256(buffer).hexdigest() for buffer in array.buffers() if buffer is not None]
    return found


@law_on_every_build(_TEXTS, st.sampled_from(sorted(TEXT_FORMS)), st.sampled_from((1, 2)), st.sampled_from((1, 2, 100)))
def test_parse_json_takes_strings_in_any_form(texts: list[str | None], form: str, threads: int, rows: int) -> None:
    """P12, P14; and the input is left alone."""
    expected = [rows_of(vq.parse_json(pa.array([text], pa.string())))[0] for text in texts]
    column = TEXT_FORMS[form](pa.array(texts, pa.string()))
    before = _buffers(column)
    with _slices_of(rows):
        parsed = vq.parse_json(column, threads=threads)
    parsed.validate(full=True)
    assert type(parsed) is (pa.ChunkedArray if isinstance(column, pa.ChunkedArray) else pa.StructArray)
    assert rows_of(parsed) == expected
    assert _buffers(column) == before


@law_on_every_build(
    st.data(), st.lists(st.none() | nodes(wide=False), max_size=5), st.sampled_from(sorted(VARIANT_FORMS)), st.sampled_from((1, 2)), share=2
)
def test_every_reading_verb_takes_variants_in_any_form(data: st.DataObject, values: list[Any], form: str, threads: int) -> None:
    rows: list[Row] = [None if value is None else data.draw(encodings(value)) for value in values]
    plain = column_of(rows)
    column = VARIANT_FORMS[form](plain)
    before = _buffers(column)
    path = data.draw(st.sampled_from(("$", "$.a", "$[0]", "$['']", "$[-1]")))
    kind = data.draw(st.sampled_from((None, pa.string(), pa.int64(), pa.bool_(), pa.decimal128(9, 2), pa.binary(16))))
    expected = [vq.to_json(plain[i : i + 1]).to_pylist()[0] for i in range(len(rows))]
    expected_parts = [vq.extract(plain[i : i + 1], path, kind).to_pylist()[0] for i in range(len(rows))]
    with _slices_of(data.draw(st.sampled_from((1, 2, 100)))):
        texts = vq.to_json(column, threads=threads)
        parts = vq.extract(column, path, kind, threads=threads)
        assert vq.validate(column, on_error="collect", threads=threads).num_rows == 0
    texts.validate(full=True)
    parts.validate(full=True)
    assert texts.to_pylist() == expected
    assert _bits(parts.to_pylist()) == _bits(expected_parts)
    assert _buffers(column) == before


def _bits(values: list[Any]) -> list[Any]:
    return [repr(value) for value in values]


@pytest.mark.parametrize("kind", ["events", "github", "headers"])
def test_threads_and_slices_do_not_change_a_byte(kind: str) -> None:
    """P14 on realistic rows: more slices than threads, a new shape now and then."""
    texts = pa.array(list(generate(kind, 3000, seed=7)))
    expected = vq.parse_json(texts, threads=1)
    with _slices_of(100):
        for threads in (1, 2, 5):
            column = vq.parse_json(texts, threads=threads)
            assert column.equals(expected)
            assert vq.to_json(column, threads=threads).equals(vq.to_json(expected, threads=1))
            assert vq.extract(column, "$.id", "bigint", threads=threads).equals(vq.extract(expected, "$.id", "bigint", threads=1))
            vq.validate(column, strict=True, threads=threads)
