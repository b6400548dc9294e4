"""The shredded_variant suite of apache/parquet-testing: valid files give their values with physical types, others are refused.

Every case whose file is here runs three times: through the file, through the Arrow column that pyarrow makes of it, and
through the slow reader that the properties of shredding are held against.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from construct_variant import RefusedError, construct_rows
from parquet_testing import DIRECTORY
from strategies import physical
from variant_columns import rows_of

import varquet as vq
from varquet.errors import InvalidVariantError, SchemaError, VarquetError
from varquet.variant import decode, metadata_size

SUITE = DIRECTORY / "shredded_variant"

pytestmark = pytest.mark.usefixtures("parquet_testing")


def _cases() -> list[dict[str, Any]]:
    if not (SUITE / "cases.json").is_file():
        return []
    return [case for case in json.loads((SUITE / "cases.json").read_text()) if (SUITE / case.get("parquet_file", "no file")).is_file()]


def _named(cases: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(case, id=f"{case['case_number']:03} {case['test']}") for case in cases]


ALL = _cases()
REFUSED = _named([case for case in ALL if "error_message" in case])
MAY_BE_REFUSED = _named([case for case in ALL if "notes" in case])
VALID = _named([case for case in ALL if "error_message" not in case and "notes" not in case])

# What each must-fail case breaks, in our words; the suite says it in those of another library.
BROKEN_RULE = {
    40: (InvalidVariantError, r"expected value or typed_value, got both for something that is no object \(S6,.* at row 0"),
    42: (InvalidVariantError, r"expected value or typed_value, got both for something that is no object \(S6,.* at row 0"),
    87: (InvalidVariantError, r"expected an object in the value beside a shredded object, got something else \(W13,.* at row 0"),
    127: (SchemaError, r"the shredding specification's table for typed_value, got (INT32 INT\(32,false\)|uint32): it has no unsigned"),
    128: (InvalidVariantError, r"expected an object in the value beside a shredded object, got something else \(W13,.* at row 0"),
    137: (SchemaError, r"table for typed_value, got (FIXED_LEN_BYTE_ARRAY\(4\)|fixed_size_binary\[4\]): its only binary of a fixed length"),
}
# What strict reading holds against the cases that may fail.
STRICT_RULE = {43: r"\(W11,", 84: r"\(W10[,)]", 125: r"\(W11,"}

Reader = Callable[..., list[Any]]


def _from_file(path: Path, **options: Any) -> list[Any]:
    table = vq.read(path, **options)
    assert table.schema.field("var").with_nullable(True).equals(vq.variant_field("var", shared_metadata=True), check_metadata=True)
    return [None if row is None else decode(*row) for row in rows_of(table["var"])]


def _from_arrow(path: Path, **options: Any) -> list[Any]:
    return [None if row is None else decode(*row) for row in rows_of(vq.unshred(pq.read_table(path)["var"], **options))]


READERS = [pytest.param(_from_file, id="read"), pytest.param(_from_arrow, id="unshred")]


def _expected(case: dict[str, Any]) -> list[object]:
    """The values of the case's .bin files, metadata and value one behind the other; None is an SQL NULL."""
    rows = []
    for name in case.get("variant_files") or [case["variant_file"]]:
        data = None if name is None else (SUITE / name).read_bytes()
        rows.append(None if data is None else physical(decode(data[: metadata_size(data)], data[metadata_size(data) :])))
    return rows


def _meaning(nodes: list[Any]) -> list[object]:
    return [None if node is None else physical(node) for node in nodes]


def test_there_are_cases() -> None:
    """Half of the suite is enough, but not none of it."""
    assert len(VALID) >= 60
    assert len(REFUSED) >= 3
    assert MAY_BE_REFUSED


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("case", VALID)
def test_valid_case(case: dict[str, Any], read: Reader) -> None:
    path = SUITE / case["parquet_file"]
    assert _meaning(read(path)) == _expected(case)
    assert _meaning(read(path, strict=True)) == _expected(case)


@pytest.mark.parametrize("case", VALID + MAY_BE_REFUSED)
def test_the_slow_reader_agrees(case: dict[str, Any]) -> None:
    column = pa.concat_arrays(pq.read_table(SUITE / case["parquet_file"])["var"].chunks)
    assert _meaning(construct_rows(column)) == _expected(case)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("case", REFUSED)
def test_case_to_be_refused(case: dict[str, Any], read: Reader) -> None:
    kind, words = BROKEN_RULE.get(case["case_number"], (VarquetError, "expected"))
    for strict in (False, True):
        with pytest.raises(kind, match=words):
            read(SUITE / case["parquet_file"], strict=strict)


@pytest.mark.parametrize("case", REFUSED)
def test_refusal_of_a_file_names_the_column_and_the_file(case: dict[str, Any]) -> None:
    path = SUITE / case["parquet_file"]
    with pytest.raises(VarquetError, match=f"column 'var' of '{re.escape(str(path))}'"):
        vq.read(path)


@pytest.mark.parametrize("case", [case for case in REFUSED if case.values[0]["case_number"] in (40, 42, 87, 128)])
def test_the_slow_reader_refuses_too(case: dict[str, Any]) -> None:
    column = pa.concat_arrays(pq.read_table(SUITE / case["parquet_file"])["var"].chunks)
    with pytest.raises(RefusedError, match="W13" if case["case_number"] in (87, 128) else "S6"):
        construct_rows(column)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("case", MAY_BE_REFUSED)
def test_case_that_may_be_refused(case: dict[str, Any], read: Reader) -> None:
    """Read as the suite says if it is read at all; strict reading refuses it."""
    path = SUITE / case["parquet_file"]
    assert _meaning(read(path)) == _expected(case)
    with pytest.raises(VarquetError, match=STRICT_RULE.get(case["case_number"], "expected")):
        read(path, strict=True)
