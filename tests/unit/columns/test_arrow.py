"""Variant columns as Arrow sees them, and results that outgrow 32-bit offsets."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from variant_columns import rows_of

import varquet as vq
from varquet.columns import arrow


def test_a_variant_field_carries_the_extension_name() -> None:
    field = vq.variant_field("v")
    assert field.type == vq.VARIANT
    assert field.nullable
    assert field.metadata == {b"ARROW:extension:name": b"arrow.parquet.variant", b"ARROW:extension:metadata": b""}
    assert not vq.variant_field("v", nullable=False).nullable


def test_the_children_of_a_variant_column_are_never_null() -> None:
    assert [(field.name, field.type, field.nullable) for field in vq.VARIANT] == [
        ("metadata", pa.binary(), False),
        ("value", pa.binary(), False),
    ]


@pytest.mark.parametrize(
    ("kind", "is_one"),
    [
        (vq.VARIANT, True),
        (pa.struct([("value", pa.binary_view()), ("metadata", pa.large_binary())]), True),
        (pa.struct([("value", pa.binary())]), False),
        (pa.binary(), False),
    ],
)
def test_variant_types_are_told_by_their_fields(kind: pa.DataType, is_one: bool) -> None:
    assert vq.is_variant_type(kind) is is_one


def test_a_column_survives_a_parquet_file(tmp_path: object) -> None:
    column = vq.parse_json(pa.array(['{"a":1}', None, "null", "[]"]))
    table = pa.table([column], schema=pa.schema([vq.variant_field("v")]))
    path = f"{tmp_path}/v.parquet"
    pq.write_table(table, path)
    again = pq.read_table(path)["v"]
    assert rows_of(again) == rows_of(column)
    assert vq.to_json(again).to_pylist() == ['{"a":1}', None, "null", "[]"]


@pytest.fixture
def few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 32-bit offsets end after 40 bytes, because 2 GiB are too many for a test."""
    monkeypatch.setattr(arrow, "_INT32_MAX", 40)
    monkeypatch.setattr("varquet.columns.parse_json._ROWS_PER_SLICE", 2)
    monkeypatch.setattr("varquet.columns.reading.ROWS_PER_SLICE", 2)


@pytest.mark.usefixtures("few_bytes")
@pytest.mark.parametrize("texts", [["1"] * 5, ['"' + "x" * 50 + '"', "1", None, "2", "3"], ["1", "2", None, '"' + "x" * 50 + '"', "3"]])
@pytest.mark.parametrize("is_chunked", [True, False])
def test_results_that_outgrow_32_bits_have_one_wider_type(texts: list[str | None], is_chunked: bool) -> None:
    strings = pa.array(texts, pa.string())
    column = vq.parse_json(pa.chunked_array([strings[:3], strings[3:]]) if is_chunked else strings)
    column.validate(full=True)
    assert vq.to_json(column).to_pylist() == texts
    assert vq.extract(column, "$", "string").to_pylist() == [None if text is None else text.strip('"') for text in texts]
    assert vq.to_json(vq.extract(column, "$")).to_pylist() == texts
    if any(text and len(text) > 40 for text in texts):
        assert column.type.field("value").type == pa.large_binary()
        assert vq.to_json(column).type == pa.large_string()
