"""`extract`: paths, types, mismatches, and dictionaries as other writers leave them."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from variant_columns import Row, column_of, rows_of

import varquet as vq
from varquet.columns.extract import extract_held
from varquet.variant import encode
from varquet.variant import parse_json as reference_parse_json

EMPTY = b"\x01\x00\x00"

COLUMN = vq.parse_json(
    pa.array(
        [
            '{"a":{"b":[1,2,{"c":"x"}]},"a.b":5,"":0,"n":null}',
            None,
            "null",
            '{"a":[10,20]}',
            "[[7]]",
            '"text"',
        ]
    )
)


def _at(path: str) -> list[str | None]:
    """The values at a path, as JSON."""
    texts: list[str | None] = vq.to_json(vq.extract(COLUMN, path)).to_pylist()
    return texts


# Paths


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.a.b", ['[1,2,{"c":"x"}]', None, None, None, None, None]),
        ("$.a.b[2].c", ['"x"', None, None, None, None, None]),
        ("$.a.b[-1].c", ['"x"', None, None, None, None, None]),
        ("$.a.b[-3]", ["1", None, None, None, None, None]),
        ("$.a.b[3]", [None] * 6),
        ("$.a.b[-4]", [None] * 6),
        ("$['a.b']", ["5", None, None, None, None, None]),
        ("$['']", ["0", None, None, None, None, None]),
        ("$.n", ["null", None, None, None, None, None]),
        ("$.n.x", [None] * 6),
        ("$.A", [None] * 6),
        ("$.a[1]", [None, None, None, "20", None, None]),
        ("$[0][0]", [None, None, None, None, "7", None]),
        ("$[9007199254740991]", [None] * 6),
    ],
)
def test_paths(path: str, found: list[str | None]) -> None:
    assert _at(path) == found


def test_the_root_is_the_whole_column() -> None:
    assert rows_of(vq.extract(COLUMN, "$")) == rows_of(COLUMN)


def test_a_part_shares_the_metadata_of_the_whole() -> None:
    row, part = rows_of(COLUMN)[0], rows_of(vq.extract(COLUMN, "$.a.b[0]"))[0]
    assert row is not None
    assert part == (row[0], b"\x0c\x01")


def test_sql_null_variant_null_and_missing() -> None:
    """All three are null as a typed column; only Variant null stays a value as a variant column."""
    column = vq.parse_json(pa.array(['{"a":null}', "{}", None]))
    assert rows_of(vq.extract(column, "$.a")) == [(b"\x11\x01\x00\x01a", b"\x00"), None, None]
    assert vq.extract(column, "$.a", "int").to_pylist() == [None, None, None]
    assert vq.extract(column, "$.a", "int", on_mismatch="raise").to_pylist() == [None, None, None]


def test_a_path_object_is_taken_as_well() -> None:
    assert vq.extract(COLUMN, vq.Path(("a.b",)), "int").to_pylist() == [5, None, None, None, None, None]


def test_an_index_that_no_array_can_have_finds_nothing() -> None:
    assert vq.extract(COLUMN, vq.Path(((1 << 53) - 1,))).null_count == len(COLUMN)
    assert vq.extract(COLUMN, vq.Path((-(1 << 53) + 1,))).null_count == len(COLUMN)


# Types


@pytest.mark.parametrize(
    ("kind", "arrow", "values"),
    [
        ("tinyint", pa.int8(), [1, None, 2, 0, None, None]),
        ("bigint", pa.int64(), [1, 300, 2, 0, None, None]),
        ("double", pa.float64(), [1.0, 300.0, 2.5, 0.0, None, None]),
        ("decimal(4,1)", pa.decimal128(4, 1), [Decimal("1.0"), Decimal("300.0"), Decimal("2.5"), Decimal("0.0"), None, None]),
        ("boolean", pa.bool_(), [True, True, True, False, None, None]),
        ("string", pa.string(), ["1", "300", "2.5", "false", "abc", '[1,{"b":2.50}]']),
        (pa.large_string(), pa.large_string(), ["1", "300", "2.5", "false", "abc", '[1,{"b":2.50}]']),
        ("binary", pa.binary(), [None, None, None, None, b"abc", None]),
    ],
)
def test_types(kind: Any, arrow: pa.DataType, values: list[object]) -> None:
    column = vq.parse_json(pa.array(['{"a":1}', '{"a":300}', '{"a":2.50}', '{"a":false}', '{"a":"abc"}', '{"a":[1,{"b":2.50}]}']))
    found = vq.extract(column, "$.a", kind)
    assert found.type == arrow
    assert found.to_pylist() == values


def test_moments() -> None:
    column = vq.parse_json(pa.array(['"2025-04-16"', '"2025-04-16T16:34:56.78Z"', '"2025-04-16 16:34:56+02:00"', '"soon"', "0"]))
    day = datetime.date(2025, 4, 16)
    assert vq.extract(column, "$", "date").to_pylist() == [day, day, day, None, None]
    utc = datetime.UTC
    assert vq.extract(column, "$", pa.timestamp("us", "UTC")).to_pylist() == [
        datetime.datetime(2025, 4, 16, tzinfo=utc),
        datetime.datetime(2025, 4, 16, 16, 34, 56, 780000, tzinfo=utc),
        datetime.datetime(2025, 4, 16, 14, 34, 56, tzinfo=utc),
        None,
        datetime.datetime(1970, 1, 1, tzinfo=utc),
    ]
    assert vq.extract(column, "$", "timestamp_ntz").type == pa.timestamp("us")


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()])
def test_views_are_types_like_strings(kind: pa.DataType) -> None:
    found = vq.extract(vq.parse_json(pa.array(['"abc"', "null"])), "$", kind)
    assert found.type == kind
    assert found[0].as_py() in ("abc", b"abc")
    assert found[1].as_py() is None


@pytest.mark.parametrize(("kind", "view"), [(pa.string(), pa.string_view()), (pa.binary(), pa.binary_view())])
def test_views_of_what_only_the_reference_casts(kind: pa.DataType, view: pa.DataType) -> None:
    column = vq.parse_json(pa.array(['{"a":[1]}', "[]", "1e5", "true", '"abc"', "null", None] * 9))
    found = vq.extract(column, "$", view)
    assert found.type == view
    assert found.to_pylist() == vq.extract(column, "$", kind).to_pylist()


def test_the_width_of_a_number_never_matters() -> None:
    """5 as int8, int16, int32, int64, decimal4, decimal8 and decimal16 with trailing zeros."""
    widths = [(3, 1), (4, 2), (5, 4), (6, 8)]
    rows: list[Row] = [(EMPTY, bytes((tag << 2,)) + (5).to_bytes(width, "little")) for tag, width in widths]
    rows += [(EMPTY, bytes((tag << 2, 2)) + (500).to_bytes(width, "little")) for tag, width in ((8, 4), (9, 8), (10, 16))]
    column = column_of(rows)
    for kind in ("tinyint", "bigint", "double", "float", "decimal(3,2)", "string", "boolean"):
        assert len(set(vq.extract(column, "$", kind).to_pylist())) == 1, kind


# Mismatches


def test_a_mismatch_is_null_or_raises_with_row_and_path() -> None:
    column = pa.chunked_array([vq.parse_json(pa.array(['{"a":1}', None])), vq.parse_json(pa.array(['{"b":1}', '{"a":"x"}', '{"a":[]}']))])
    assert vq.extract(column, "$.a", "int").to_pylist() == [1, None, None, None, None]
    with pytest.raises(vq.CastError) as raised:
        vq.extract(column, "$.a", "int", on_mismatch="raise")
    assert str(raised.value) == "cannot cast string 'x' to int - at row 3, $['a']"
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.row, again.path) == (str(raised.value), 3, "$['a']")
    with pytest.raises(vq.CastError, match=r"cannot cast an array to int - at row 0, \$\['a'\]"):
        vq.extract(column.slice(4), "$.a", "int", on_mismatch="raise")


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ("300", "tinyint", "cannot cast int16 300 to tinyint"),
        ("1e300", "float", None),
        ("1e300", "bigint", "cannot cast double 1.0E300 to bigint"),
        ("99.99", "decimal(3,2)", "cannot cast decimal4 99.99 to decimal(3,2)"),
        ("true", "date", "cannot cast boolean true to date"),
        ('"2025-02-30"', "date", "cannot cast string '2025-02-30' to date"),
        ("{}", "bigint", "cannot cast an object to bigint"),
    ],
)
def test_what_a_mismatch_says(value: str, kind: str, message: str | None) -> None:
    column = vq.parse_json(pa.array([value]))
    if message is None:
        vq.extract(column, "$", kind, on_mismatch="raise")
        return
    with pytest.raises(vq.CastError) as raised:
        vq.extract(column, "$", kind, on_mismatch="raise")
    assert raised.value.message == message


# Dictionaries as other writers leave them


def _object(metadata: bytes, ids: list[int]) -> tuple[bytes, bytes]:
    """An object whose k-th field is the int8 k."""
    offsets = bytes(2 * k for k in range(len(ids) + 1))
    return metadata, bytes((2, len(ids))) + bytes(ids) + offsets + b"".join(bytes((12, k)) for k in range(len(ids)))


def _metadata(names: list[str], *, is_sorted: bool) -> bytes:
    encoded = [name.encode() for name in names]
    offsets = [sum(map(len, encoded[:k])) for k in range(len(names) + 1)]
    return bytes((1 | is_sorted << 4, len(names), *offsets)) + b"".join(encoded)


@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("others", [0, 40])
def test_dictionaries_sorted_by_utf16_units(is_sorted: bool, others: int) -> None:
    """Java writers sort by UTF-16, where U+1F600 comes before U+E000 and U+FF5E, and set the flag all the same."""
    names = [f"k{k:02}" for k in range(others)] + ["z", "\U0001f600", "\U0001f600x", "\ue000", "\uff5e", "\uff5e\U00010000"]
    assert names == sorted(names, key=lambda name: name.encode("utf-16-be"))
    assert names != sorted(names)
    column = column_of([_object(_metadata(names, is_sorted=is_sorted), list(range(len(names))))])
    vq.validate(column)
    for k, name in enumerate(names):
        assert vq.extract(column, vq.Path((name,)), "int").to_pylist() == [k], name
    for absent in ("\U0001f601", "\ue001", "zz", "", "\uff5f"):
        assert vq.extract(column, vq.Path((absent,)), "int").to_pylist() == [None]


def test_unsorted_dictionaries_and_names_that_occur_twice_in_them() -> None:
    metadata = _metadata(["b", "a", "c", "a", "", "b"], is_sorted=False)
    column = column_of([_object(metadata, [4, 3, 0, 2]), _object(metadata, [4, 1, 5, 2]), _object(metadata, [2])])
    assert vq.extract(column, "$.a", "int").to_pylist() == [1, 1, None]
    assert vq.extract(column, "$.b", "int").to_pylist() == [2, 2, None]
    assert vq.extract(column, "$.c", "int").to_pylist() == [3, 3, 0]
    assert vq.extract(column, "$['']", "int").to_pylist() == [0, 0, None]


def test_fields_out_of_the_order_of_their_names() -> None:
    """As DuckDB writes them: the dictionary and the ids in the order of insertion."""
    column = column_of([_object(_metadata(["b", "a"], is_sorted=False), [0, 1]), _object(_metadata(["a", "b"], is_sorted=True), [1, 0])])
    assert vq.extract(column, "$.a", "int").to_pylist() == [1, 1]
    assert vq.extract(column, "$.b", "int").to_pylist() == [0, 0]


def test_of_a_field_that_occurs_twice_the_first_counts() -> None:
    """Which only `validate` and the verbs that read whole values refuse."""
    column = column_of([_object(_metadata(["a", "b"], is_sorted=True), [0, 0])])
    assert vq.extract(column, "$.a", "int").to_pylist() == [0]
    with pytest.raises(vq.InvalidVariantError, match="expected each field name once in an object"):
        vq.validate(column)


# Only the bytes on the way


def test_a_damaged_sibling_is_not_touched() -> None:
    metadata, value = encode(reference_parse_json('{"a":1,"b":"xx"}'))
    broken = column_of([(metadata, value.replace(b"\x09xx", b"\xfdxx"))])
    assert vq.extract(broken, "$.a", "int").to_pylist() == [1]
    with pytest.raises(vq.InvalidVariantError) as raised:
        vq.extract(broken, "$.b", "string")
    assert (raised.value.row, raised.value.path) == (0, "$['b']")


def test_an_unknown_type_beside_the_path_is_not_touched() -> None:
    """R6: a value of a newer specification does not keep one from reading its siblings."""
    value = bytes((2, 2, 0, 1, 0, 2, 3)) + b"\x0c\x05" + b"\x54"
    column = column_of([(_metadata(["a", "b"], is_sorted=True), value)])
    assert vq.extract(column, "$.a", "int").to_pylist() == [5]
    with pytest.raises(vq.InvalidVariantError, match="R6"):
        vq.extract(column, "$.b", "int")


def test_the_path_of_an_error_starts_at_the_root() -> None:
    """Also where the damage is inside of the value that the path leads to."""
    value = bytes((2, 1, 0, 0, 5)) + b"\x03\x01\x00\x01\x54"
    column = column_of([None, (_metadata(["a"], is_sorted=True), value)])
    with pytest.raises(vq.InvalidVariantError) as raised:
        vq.extract(column, "$.a", "string")
    assert (raised.value.row, raised.value.offset, raised.value.path) == (1, 9, "$['a'][0]")


def test_bytes_behind_the_value_are_an_error() -> None:
    with pytest.raises(vq.InvalidVariantError, match="expected the end of the value, got more bytes"):
        vq.extract(column_of([(EMPTY, b"\x0c\x05\xff")]), "$", "int")


# Arguments


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (
            ("$.a", pa.uint8()),
            {},
            vq.UnsupportedTypeError,
            "expected a type that a Variant value can be cast to, got uint8. Hint: take a bool",
        ),
        (
            ("$.a", pa.timestamp("ms")),
            {},
            vq.UnsupportedTypeError,
            "expected a type that a Variant value can be cast to, got timestamp[ms]",
        ),
        (("$.a", "nothing"), {}, vq.UnsupportedTypeError, "expected the SQL name of a primitive type, got 'nothing'. Hint: the names are"),
        (("$.a", int), {}, vq.UnsupportedTypeError, "expected"),
        (("a.b",), {}, vq.PathError, "expected '$', got 'a' at character 1 of path 'a.b'. Hint: paths look like"),
        (("$..a",), {}, vq.PathError, "expected a field name, got '.'"),
        ((5,), {}, vq.UnsupportedTypeError, "expected"),
        (("$.a",), {"on_mismatch": "ignore"}, vq.UnsupportedTypeError, "expected on_mismatch to be 'null' or 'raise', got 'ignore'"),
        (("$.a",), {"threads": 0}, vq.UnsupportedTypeError, "expected at least one thread, got 0"),
    ],
)
def test_wrong_arguments(arguments: tuple[Any, ...], options: dict[str, Any], error: type[vq.VarquetError], message: str) -> None:
    with pytest.raises(error) as raised:
        vq.extract(COLUMN, *arguments, **options)
    assert str(raised.value).startswith(message)


def test_a_column_of_another_type() -> None:
    with pytest.raises(vq.UnsupportedTypeError, match=r"expected a variant column, .*, got string. Hint: parse_json makes one"):
        vq.extract(pa.array(["x"]), "$.a")


@pytest.mark.parametrize("kind", [None, pa.int8(), pa.string(), pa.decimal128(5, 2), pa.bool_(), pa.binary(16)])
def test_empty_and_null_columns_have_the_right_type(kind: pa.DataType | None) -> None:
    wanted = vq.VARIANT if kind is None else kind
    for column in (pa.array([], vq.VARIANT), pa.chunked_array([], vq.VARIANT), pa.nulls(0)):
        assert vq.extract(column, "$.a", kind).type == wanted
        assert len(vq.extract(column, "$.a", kind)) == 0
    nulls = vq.extract(pa.nulls(3), "$.a", kind)
    assert (nulls.type, nulls.null_count) == (wanted, 3)


# Of columns in which few rows hold something


def test_what_is_held_is_read_as_extract_reads_it() -> None:
    texts = ["1", None, '"23"', "null", '"x"', "[1]", None, "2.75", "true", None, None, '"1234567890123456789012"']
    variants = vq.parse_json(pa.array(["0", *texts])).slice(1)
    kept = pa.array([text is not None for text in texts])
    values = pc.if_else(kept, pc.struct_field(variants, "value"), pa.scalar(None, pa.binary()))
    for column in (values, values.cast(pa.large_binary()), pa.concat_arrays([values, values]).slice(12), values.filter(kept)):
        for kind in (pa.int64(), pa.int8(), pa.float64(), pa.bool_(), pa.decimal128(9, 2), pa.timestamp("us", "UTC")):
            found = extract_held(column, kind)
            assert found is not None
            rows, read, left = found
            assert rows.tolist() == [row for row, value in enumerate(column.to_pylist()) if value is not None]
            expected = vq.extract(variants.filter(kept), "$", kind)
            for row, value, wanted in zip(rows.tolist(), read.to_pylist(), expected.to_pylist(), strict=True):
                assert value == wanted if row not in left else value is None
    assert extract_held(values, pa.string()) is None


def test_what_is_no_whole_value_is_left() -> None:
    found = extract_held(pa.array([b"", b"\x0c", b"\x0c\x05\x05", b"\x0c\x05"]), pa.int64())
    assert found is not None
    assert found[1].to_pylist() == [None, None, None, 5] and found[2].tolist() == [0, 1, 2]
