"""`diff`: equal by meaning, and where not."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import varquet as vq
from varquet.errors import JsonError, UnsupportedTypeError
from varquet.parquet.diff import Difference, Place


def write(path: Path, texts: list[str | None], schema: str = "variant", **options: Any) -> Path:
    column = vq.parse_json(pa.array(texts, pa.string()))
    numbers = pa.array(range(len(texts)), pa.int64())
    table = pa.table([column, numbers], schema=pa.schema([vq.variant_field("v"), pa.field("n", pa.int64())]))
    vq.write(table, path, {"v": schema}, **options)
    return path


def test_the_same_however_stored(tmp_path: Path) -> None:
    one = write(tmp_path / "a.parquet", ['{"a":1,"b":[1.50]}', None, "null"], "a decimal(9,2)")
    other = write(tmp_path / "b.parquet", ['{"b":[1.5],"a":1.0}', None, "null"], "b array<double>", layout="draft", row_group_rows=1)
    found = vq.diff(one, other)
    assert found.is_equal
    assert (found.left_rows, found.right_rows, found.columns, found.differing_rows, found.differences) == (3, 3, ["v", "n"], 0, [])


@pytest.mark.parametrize(
    ("left", "right", "differences"),
    [
        ("1", "2", [("$", "1", "2")]),
        ("1", "1e0", [("$", "1", "1.0e0")]),
        ("null", None, [("$", "null", None)]),
        ('{"a":1}', '{"a":null}', [("$['a']", "1", "null")]),
        ('{"a":1}', "{}", [("$['a']", "1", None)]),
        ('{"a":[1,{"b":2,"c":3}]}', '{"a":[1,{"b":3,"d":3},4]}', [
            ("$['a'][1]['b']", "2", "3"), ("$['a'][1]['c']", "3", None), ("$['a'][1]['d']", None, "3"), ("$['a'][2]", None, "4"),
        ]),
        ('{"a":{"b":1}}', '{"a":[1]}', [("$['a']", '{"b":1}', "[1]")]),
    ],
)  # fmt: skip
def test_where_they_differ(tmp_path: Path, left: str, right: str | None, differences: list[Any]) -> None:
    one = write(tmp_path / "a.parquet", ["0", left, "0"])
    other = write(tmp_path / "b.parquet", ["0", right, "0"])
    found = vq.diff(one, other)
    assert not found.is_equal
    assert found.differing_rows == 1
    places = Place(str(one), 1), Place(str(other), 1)
    assert found.differences == [Difference(*places, "v", *each) for each in differences]


def test_what_has_the_same_text_is_shown_with_its_type(tmp_path: Path) -> None:
    paths = []
    for name, value in (("a", datetime.date(2025, 1, 1)), ("b", "2025-01-01")):
        node = vq.Variant.from_python([value])
        column = pa.array([{"metadata": node.metadata, "value": node.value}], vq.VARIANT)
        paths.append(tmp_path / f"{name}.parquet")
        vq.write(pa.table([column], schema=pa.schema([vq.variant_field("v")])), paths[-1])
    (difference,) = vq.diff(*paths).differences
    assert (difference.path, difference.left_value, difference.right_value) == ("$[0]", 'date "2025-01-01"', 'string "2025-01-01"')


def test_places_are_those_of_files_and_lengths_may_differ(tmp_path: Path) -> None:
    write(tmp_path / "whole.parquet", [str(n) for n in range(7)], row_group_rows=2)
    (tmp_path / "parts").mkdir()
    write(tmp_path / "parts" / "a.parquet", ["0", "1", "2"])
    write(tmp_path / "parts" / "b.parquet", ["3", "40", "5"])
    found = vq.diff(tmp_path / "whole.parquet", tmp_path / "parts", ["v"])
    assert (found.left_rows, found.right_rows, found.differing_rows) == (7, 6, 2)
    whole, part = str(tmp_path / "whole.parquet"), str(tmp_path / "parts" / "b.parquet")
    assert found.differences == [
        Difference(Place(whole, 4), Place(part, 1), "v", "$", "4", "40"),
        Difference(Place(whole, 6), None, None, None, None, None),
    ]


def test_all_are_counted_and_some_described(tmp_path: Path) -> None:
    one = write(tmp_path / "a.parquet", ["1"] * 50)
    other = write(tmp_path / "b.parquet", ["2"] * 50)
    found = vq.diff(one, other, most=3)
    assert (found.differing_rows, len(found.differences)) == (50, 3)
    assert vq.diff(one, other, most=0).differing_rows == 50


def test_long_values_are_cut(tmp_path: Path) -> None:
    one = write(tmp_path / "a.parquet", ['"' + "x" * 5000 + '"'])
    other = write(tmp_path / "b.parquet", ["1"])
    (difference,) = vq.diff(one, other).differences
    assert difference.left_value is not None
    assert len(difference.left_value) == 200


def test_other_columns_and_variants_inside_them(tmp_path: Path) -> None:
    def nested(path: Path, texts: list[str], names: list[str]) -> Path:
        variants = vq.parse_json(pa.array(texts))
        structs = pa.StructArray.from_arrays([variants, pa.array(names)], fields=[vq.variant_field("v"), pa.field("name", pa.string())])
        vq.write(pa.table([structs], schema=pa.schema([pa.field("s", structs.type)])), path)
        return path

    one = nested(tmp_path / "a.parquet", ["1", '{"a":1,"b":2}', "3"], ["x", "y", "z"])
    assert vq.diff(one, nested(tmp_path / "b.parquet", ["1.0", '{"b":2,"a":1}', "3"], ["x", "y", "z"])).is_equal
    found = vq.diff(one, nested(tmp_path / "c.parquet", ["1", '{"a":1,"b":3}', "3"], ["x", "y", "Z"]))
    assert [(each.left.row if each.left else None, each.column, each.left_value, each.right_value) for each in found.differences] == [
        (1, "s", '{"v":{"a":1,"b":2},"name":"y"}', '{"v":{"a":1,"b":3},"name":"y"}'),
        (2, "s", '{"v":3,"name":"z"}', '{"v":3,"name":"Z"}'),
    ]


def test_json_text_on_one_side(tmp_path: Path) -> None:
    one = write(tmp_path / "a.parquet", ['{"a":1}', None])
    pq.write_table(pa.table({"v": ['{ "a" : 1.0 }', None], "n": [0, 1]}), tmp_path / "b.parquet")
    assert vq.diff(one, tmp_path / "b.parquet").is_equal
    pq.write_table(pa.table({"v": ["1", "oops"], "n": [0, 1]}), tmp_path / "c.parquet")
    with pytest.raises(JsonError, match=r"column 'v' of .*c\.parquet': .* - at row 1"):
        vq.diff(one, tmp_path / "c.parquet")


def test_great_depth_and_width(tmp_path: Path) -> None:
    deep = "[" * 5000 + "1" + "]" * 5000
    one = write(tmp_path / "a.parquet", [deep])
    other = write(tmp_path / "b.parquet", [deep.replace("1", "2")])
    (difference,) = vq.diff(one, other).differences
    assert (difference.path, difference.left_value) == ("$" + "[0]" * 5000, "1")


def test_refusals(tmp_path: Path) -> None:
    one = write(tmp_path / "a.parquet", ["1"])
    pq.write_table(pa.table({"v": [1.5], "m": [1]}), tmp_path / "b.parquet")
    with pytest.raises(UnsupportedTypeError, match=r"expected both sides to have the same columns, got 'n' only in .*a\.parquet"):
        vq.diff(one, tmp_path / "b.parquet")
    with pytest.raises(UnsupportedTypeError, match=r"expected Variants or JSON text in column 'v' of .*b\.parquet', got double"):
        vq.diff(one, tmp_path / "b.parquet", ["v"])
    with pytest.raises(UnsupportedTypeError, match="expected columns of"):
        vq.diff(one, one, ["w"])
    with pytest.raises(UnsupportedTypeError, match="got -1"):
        vq.diff(one, one, most=-1)
