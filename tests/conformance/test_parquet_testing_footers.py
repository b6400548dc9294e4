"""The shredded files of apache/parquet-testing: their footers say VARIANT(1), and are what an annotation of ours gives."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from varquet.parquet.footer import annotate, read_footer

ANNOTATION = bytes.fromhex("1c 0c 20 13 01 00 00")


@pytest.fixture(scope="module")
def files(parquet_testing: Path) -> list[Path]:
    found = sorted((parquet_testing / "shredded_variant").glob("*.parquet"))
    assert len(found) > 60
    return found


def test_every_variant_is_found(files: list[Path]) -> None:
    for path in files:
        footer = read_footer(path)
        assert footer.variants() == {("var",): 1}, path.name
        facts = pq.read_metadata(path)
        assert (footer.num_rows, footer.created_by) == (facts.num_rows, facts.created_by), path.name
        assert footer.key_value_metadata == {key.decode(): value.decode() for key, value in facts.metadata.items()}, path.name


def test_an_annotation_taken_off_is_put_back_byte_for_byte(files: list[Path]) -> None:
    for path in files:
        original = read_footer(path).data
        assert annotate(original, ["var"]) == original, path.name
        before, behind = original.split(ANNOTATION)
        bare = before + behind
        assert annotate(bare, ["var"]) == original, path.name
