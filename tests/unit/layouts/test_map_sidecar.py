"""Maps taken apart by hot keys: what becomes of every kind of row, and which are refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import varquet as vq
from varquet.layouts.map_entries import lookup, sorted_entries
from varquet.layouts.map_keys import keys_of
from varquet.layouts.map_sidecar import grouped, join, join_grouped, split

KIND = pa.map_(pa.string(), pa.string())
KEYS = keys_of(["content-type", "user-agent"])

ROWS = [
    [("content-type", "application/json"), ("user-agent", "mobile-app"), ("x-request-id", "req-001")],
    None,
    [],
    [("x-request-id", "req-002")],
    [("content-type", None), ("user-agent", "curl")],
]


def test_the_example_of_the_proposal() -> None:
    made = split(pa.array(ROWS[:1], KIND), KEYS)
    assert made.residual.to_pylist() == [[("x-request-id", "req-001")]]
    assert [sidecar.to_pylist() for sidecar in made.sidecars] == [["application/json"], ["mobile-app"]]


def test_null_empty_absent_and_null_value_stay_distinct() -> None:
    made = split(pa.array(ROWS, KIND), KEYS)
    assert made.residual.to_pylist() == [
        [("x-request-id", "req-001")],
        None,
        [],
        [("x-request-id", "req-002")],
        [("content-type", None)],
    ]
    assert made.sidecars[0].to_pylist() == ["application/json", None, None, None, None]
    assert made.sidecars[1].to_pylist() == ["mobile-app", None, None, None, "curl"]
    assert join(made.residual, made.sidecars, KEYS).to_pylist() == [*ROWS[:4], [("user-agent", "curl"), ("content-type", None)]]


def test_sidecars_come_first_in_the_order_of_the_keys() -> None:
    made = split(pa.array([[("z", "1"), ("b", "2"), ("a", "3"), ("y", "4")]], KIND), keys_of(["a", "b"]))
    assert join(made.residual, made.sidecars, keys_of(["a", "b"])).to_pylist() == [[("a", "3"), ("b", "2"), ("z", "1"), ("y", "4")]]


def test_slices_and_what_lies_below_nulls_do_not_matter() -> None:
    hidden = pa.MapArray.from_arrays(
        pa.array([0, 1, 2, 3], pa.int32()), pa.array(["user-agent", "b", "user-agent"]), pa.array(["x", "y", "z"])
    )
    masked = pa.MapArray.from_buffers(
        hidden.type, 3, [pa.py_buffer(np.packbits([1, 0, 1], bitorder="little")), hidden.buffers()[1]], 1,
        children=[pa.StructArray.from_arrays([hidden.keys, hidden.items], fields=[KIND.key_field, KIND.item_field])],
    )  # fmt: skip
    for array, expected in (
        (masked, [[("user-agent", "x")], None, [("user-agent", "z")]]),
        (masked.slice(1), [None, [("user-agent", "z")]]),
    ):
        made = split(array, KEYS)
        assert join(made.residual, made.sidecars, KEYS).to_pylist() == expected


def test_a_key_that_is_there_twice_is_refused_with_row_and_key() -> None:
    for key in ("content-type", "other"):
        with pytest.raises(vq.InvalidMapError, match=f"expected each key once in a map, got '{key}' twice - at row 2"):
            split(pa.array([[], None, [(key, "1"), ("b", "2"), (key, "1")]], KIND), KEYS)


def test_a_sidecar_beside_a_null_map_or_the_same_key_is_refused() -> None:
    residual = pa.array([[], None], KIND)
    with pytest.raises(vq.InvalidMapError, match="no value of key 'user-agent' beside a null map, got one - at row 1"):
        join(residual, [pa.nulls(2, pa.string()), pa.array([None, "x"])], KEYS)
    residual = pa.array([[], [("user-agent", None)]], KIND)
    with pytest.raises(vq.InvalidMapError, match="'user-agent' in its sidecar or in the residual, got it in both - at row 1"):
        join(residual, [pa.nulls(2, pa.string()), pa.array([None, "x"])], KEYS)


def test_a_value_that_another_writer_left_in_the_residual_is_kept() -> None:
    residual = pa.array([[("user-agent", "x")]], KIND)
    assert join(residual, [pa.nulls(1, pa.string())] * 2, KEYS).to_pylist() == [[("user-agent", "x")]]


def test_other_types_are_refused() -> None:
    for array in (pa.array([{"a": 1}]), pa.array([[(1, "x")]], pa.map_(pa.int32(), pa.string()))):
        with pytest.raises(vq.UnsupportedTypeError, match="expected maps with texts for keys"):
            split(array, KEYS)


@pytest.mark.parametrize(
    ("kind", "fits", "does_not"),
    [
        (pa.bool_(), ["true", "false"], ["True", "TRUE", "1", "", " true"]),
        (pa.int64(), ["0", "-7", "9223372036854775807"], ["007", "+7", "-0", "9223372036854775808", "7.0", "1e3", " 7"]),
        (pa.float64(), ["1.5", "-0.0", "0.1"], ["1.50", "1e3", ".5", "0.1000000000000000055"]),
        (pa.decimal128(9, 2), ["1.50", "-0.05", "1234567.89"], ["1.5", "-0.00", "01.50", "12345678.90"]),
        (pa.date32(), ["2026-01-31"], ["2026-1-31", "2026-02-30", "20260131"]),
        (
            pa.timestamp("us", "UTC"),
            ["2026-01-31T12:30:00Z", "2026-01-31T12:30:00.5Z"],
            ["2026-01-31T12:30:00.500Z", "2026-01-31 12:30:00"],
        ),
        (pa.timestamp("ms", "UTC"), ["2026-01-31T12:30:00.500Z"], ["2026-01-31T12:30:00Z", "2026-01-31T12:30:00.5Z"]),
        (pa.timestamp("us"), ["2026-01-31 12:30:00", "2026-01-31 12:30:00.123456"], ["2026-01-31T12:30:00", "2026-01-31 12:30:00Z"]),
    ],
    ids=str,
)
def test_typed_sidecars_hold_only_what_comes_back_exactly(kind: pa.DataType, fits: list[str], does_not: list[str]) -> None:
    rows = [[("n", text)] for text in (*fits, *does_not)]
    keys = vq.MapKeys((vq.HotKey("n", kind),))
    made = split(pa.array(rows, KIND), keys)
    assert made.sidecars[0].type == kind
    assert made.residual.to_pylist() == [[] for _ in fits] + [[("n", text)] for text in does_not]
    assert made.beside == [len(does_not)]
    assert join(made.residual, made.sidecars, keys).to_pylist() == rows


def test_maps_inside_of_something_are_groups() -> None:
    group = grouped(split(pa.array(ROWS, KIND), KEYS))
    assert group.type.names == ["residual", "sidecar_0", "sidecar_1"]
    assert group.is_null().to_pylist() == [False, True, False, False, False]
    assert sorted_entries(join_grouped(group.slice(1), KEYS)).equals(sorted_entries(pa.array(ROWS, KIND).slice(1)))


def test_lookup_takes_the_first_of_a_key() -> None:
    maps = pa.array([[("a", "1"), ("a", "2")], None, [("b", "3")], [("a", None)]], KIND)
    assert lookup(maps, "a").to_pylist() == ["1", None, None, None]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("content-type,user-agent", ["content-type", "user-agent"]),
        (" a , b ", ["a", "b"]),
        ("", []),
        ('["a,b", "", " c"]', ["a,b", "", " c"]),
    ],
)
def test_keys_as_text(text: str, names: list[str]) -> None:
    assert vq.MapKeys.parse(text).names == names


def test_keys_are_written_as_words_where_that_says_it_all() -> None:
    assert keys_of(["content-type", "user-agent"]).text() == "content-type,user-agent"
    for names in (["a,b"], ["", "a"], [" a"], ["[a"], ["a", "é,"]):
        assert keys_of(names).text().startswith("[")
        assert vq.MapKeys.parse(keys_of(names).text()).names == names


@pytest.mark.parametrize("text", ["a,,b", "a,", '["a"', '{"a": 1}'.replace("{", "[{"), "[1]"])
def test_keys_that_are_none(text: str) -> None:
    with pytest.raises(vq.SchemaError, match="expected"):
        vq.MapKeys.parse(text)


def test_the_same_key_twice_is_no_list_of_hot_keys() -> None:
    with pytest.raises(vq.SchemaError, match="expected hot keys that differ, got 'a' twice"):
        keys_of("a,b,a")


def test_the_options_of_the_proposal() -> None:
    options = {
        "parquet.map.shredding.columns": "headers,a.b",
        "parquet.map.shredding.headers.keys": "content-type,user-agent,locale",
        "parquet.map.shredding.a.b.keys": '["x,y"]',
        "parquet.compression": "zstd",
    }
    found = vq.maps_of_options(options)
    assert {name: keys.names for name, keys in found.items()} == {
        "headers": ["content-type", "user-agent", "locale"],
        "a.b": ["x,y"],
    }
    with pytest.raises(vq.SchemaError, match=r"expected the option parquet\.map\.shredding\.headers\.keys"):
        vq.maps_of_options({"parquet.map.shredding.columns": "headers"})
    with pytest.raises(vq.SchemaError, match=r"got 'parquet\.map\.shredding\.other\.keys'"):
        vq.maps_of_options(options | {"parquet.map.shredding.other.keys": "a"})
