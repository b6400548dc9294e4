"""`inspect` counts what a slow look at every row counts, for files of any writer, with and without histograms in the footer."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from construct_variant import plain_rows
from hypothesis import given, note, settings
from hypothesis import strategies as st
from parquet_testing import DIRECTORY
from patched_footers import patch_file
from schema_strategies import schemas, schemas_for
from shredded_rules import representable
from strategies import nodes
from variant_columns import column_of, rows_of

import varquet as vq
from varquet.errors import UnsupportedTypeError
from varquet.parquet import levels
from varquet.parquet.inspect import inspect
from varquet.schema import ELEMENT, Kind, ShreddingSchema, display_path
from varquet.variant import NULL, Node, decode, encode

COUNTS = ("rows", "typed", "partial", "residual", "variant_null", "missing")
Counts: TypeAlias = "dict[str, dict[str, int]]"


def counts_of(source: object, column: str = "v") -> Counts:
    table = inspect(source).paths  # type: ignore[arg-type]
    return {row["path"]: {name: row[name] for name in COUNTS} for row in table.to_pylist() if row["column"] == column}


def kinds_of(node: Node | None, schema: ShreddingSchema) -> set[str]:
    """What an instance must be, from its value; None is a missing one."""
    if node is None:
        return {"missing"}
    if node == NULL:
        return {"variant_null"}
    if schema.kind is Kind.OBJECT and isinstance(node, dict):
        return {"typed", "partial"} if set(node) - {name for name, _ in schema.fields} else {"typed"}
    if schema.kind is Kind.ARRAY and isinstance(node, list):
        return {"typed"}
    if schema.kind is Kind.PRIMITIVE and schema.type is not None and representable(node, schema.type):
        return {"typed"}
    return {"residual"}


def expected_of(values: list[Any], schema: ShreddingSchema, steps: tuple[Any, ...] = ()) -> Counts:
    """The counts of a schema's paths, from the values themselves."""
    counted = dict.fromkeys(COUNTS, 0) | {"rows": len(values)}
    for node in values:
        for kind in kinds_of(node, schema):
            counted[kind] += 1
    found = {display_path(steps): counted}
    for name, child in schema.fields:
        found |= expected_of([node.get(name) if isinstance(node, dict) else None for node in values], child, (*steps, name))
    if schema.element is not None:
        elements = [element for node in values if isinstance(node, list) for element in node]
        found |= expected_of(elements, schema.element, (*steps, ELEMENT))
    return found


def physical_counts(groups: list[Any], kind: pa.DataType, steps: tuple[Any, ...] = (), *, field: bool = False) -> Counts:
    """The counts of a column, from its value and typed_value columns as they are stored, whoever wrote them."""
    counted = dict.fromkeys(COUNTS, 0) | {"rows": len(groups)}
    typed_values = []
    for group in groups:
        value, typed = (group or {}).get("value"), (group or {}).get("typed_value")
        typed_values.append(typed)
        if typed is not None:
            counted["typed"] += 1
            counted["partial"] += value is not None
        elif value is not None:
            counted["variant_null" if value == b"\x00" else "residual"] += 1
        else:
            counted["missing" if field or (group is None and not steps) else "variant_null"] += 1
    found = {display_path(steps): counted}
    if kind.get_field_index("typed_value") < 0:
        return found
    typed_kind = kind.field("typed_value").type
    if pa.types.is_struct(typed_kind):
        for child in typed_kind:
            below = [None if typed is None else typed[child.name] for typed in typed_values]
            found |= physical_counts(below, child.type, (*steps, child.name), field=True)
    elif pa.types.is_list(typed_kind):
        elements = [element for typed in typed_values for element in typed or ()]
        found |= physical_counts(elements, typed_kind.value_type, (*steps, ELEMENT))
    return found


def stored_counts(path: Path | str, column: str = "v") -> Counts:
    # No reader finds its own histograms in this: all columns are read.
    stored = pq.read_table(path)[column]
    rows = [row for chunk in stored.chunks for row in plain_rows(chunk)]
    return physical_counts(rows, stored.type)


@pytest.fixture(params=["footer", "read"])
def counted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts come from the footer's histograms; or there are none, and no null counts either."""
    if request.param == "read":
        make = levels._chunk

        def without(*args: Any) -> levels.Chunk:
            chunk = make(*args)
            return levels.Chunk(chunk.entries, chunk.compressed_bytes, chunk.raw_bytes, None, None, None, None)

        monkeypatch.setattr(levels, "_chunk", without)


def variants(values: list[Any]) -> pa.Array:
    return column_of([None if value is None else encode(value) for value in values])


def write(path: Path, texts: list[str | None], ddl: str = "variant", **options: Any) -> Path:
    column = vq.parse_json(pa.array(texts, pa.string()))
    vq.write(pa.table([column], schema=pa.schema([vq.variant_field("v")])), path, {"v": ddl}, **options)
    return path


class TestCounts:
    @settings(max_examples=max(5, settings().max_examples // 3))
    @given(st.data(), st.lists(st.none() | nodes(max_leaves=8, wide=False), max_size=8), st.integers(1, 9))
    def test_any_schema(self, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, values: list[Any], group_rows: int) -> None:
        schema = data.draw(schemas_for(values) if data.draw(st.integers(0, 4)) else schemas()).writable()
        note(schema.ddl())
        path = tmp_path_factory.mktemp("any") / "rows.parquet"
        table = pa.table([variants(values)], schema=pa.schema([vq.variant_field("v")]))
        vq.write(table, path, {"v": schema}, row_group_rows=group_rows)
        decoded = [None if row is None else decode(*row) for row in rows_of(vq.read(path)["v"])]
        found = counts_of(path)
        assert found == expected_of(decoded, schema) == stored_counts(path)
        for counts in found.values():
            assert counts["typed"] + counts["residual"] + counts["variant_null"] + counts["missing"] == counts["rows"]
            assert counts["partial"] <= counts["typed"]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(levels, "_histograms", lambda *_: None)
            assert counts_of(path) == found

    @pytest.mark.usefixtures("counted")
    def test_every_kind_of_instance(self, tmp_path: Path) -> None:
        texts = ['{"a":1,"b":[1,"x",null],"c":{"d":1.5}}', '{"a":"s"}', None, "5", "null", '{"a":null,"b":[],"z":3}', '{"b":7,"c":{"e":1}}']
        path = write(tmp_path / "rows.parquet", texts, "a bigint, b array<int>, c struct<d: decimal(4,2)>", row_group_rows=3)
        names = ("$", "$.a", "$.b", "$.b[*]", "$.c", "$.c.d")
        assert {path: tuple(counts.values()) for path, counts in counts_of(path).items()} == dict(zip(names, [
            (7, 4, 1, 1, 1, 1),
            (7, 1, 0, 1, 1, 4),
            (7, 2, 0, 1, 0, 4),
            (3, 1, 0, 1, 1, 0),
            (7, 2, 1, 0, 0, 5),
            (7, 1, 0, 0, 0, 6),
        ], strict=True))  # fmt: skip

    @pytest.mark.usefixtures("counted")
    def test_unshredded(self, tmp_path: Path) -> None:
        path = write(tmp_path / "rows.parquet", ["1", None, "null", '{"a":2}', "null"], row_group_rows=2)
        (row,) = inspect(path).paths.to_pylist()
        assert (row["path"], row["type"], row["row_groups"], row["min"]) == ("$", "variant", 3, None)
        assert [row[name] for name in COUNTS] == [5, 0, 0, 2, 2, 1]
        assert row["typed_compressed_bytes"] == 0 < row["value_compressed_bytes"] == row["compressed_bytes"]

    @pytest.mark.usefixtures("counted")
    def test_variants_inside_structs_lists_and_maps(self, tmp_path: Path) -> None:
        body = vq.parse_json(pa.array(['{"a":1}', '{"a":"x"}', None, "null", '{"a":[1]}'], pa.string()))
        shape = pa.schema(
            [
                pa.field("s", pa.struct([vq.variant_field("body")])),
                pa.field("l", pa.list_(vq.variant_field("element"))),
                pa.field("m", pa.map_(pa.string(), vq.variant_field("value"))),
            ]
        )
        offsets = pa.array([0, 2, None, 2, 5, 5], pa.int32())
        table = pa.table(
            [
                pa.StructArray.from_arrays([body], fields=[vq.variant_field("body")], mask=pa.array([False, True, False, False, False])),
                pa.ListArray.from_arrays(offsets, body, type=shape.field("l").type),
                pa.MapArray.from_arrays(offsets, pa.array(list("abcde")), body, type=shape.field("m").type),
            ],
            schema=shape,
        )
        path = tmp_path / "rows.parquet"
        vq.write(table, path, {"s.body": "a int", "l.element": "a int", "m.value": "a int"}, row_group_rows=3)
        assert vq.read(path)["l"].null_count == 1
        rows = inspect(path).paths.to_pylist()
        assert {(row["column"], row["path"]): tuple(row[name] for name in COUNTS) for row in rows} == {
            ("s.body", "$"): (5, 2, 0, 0, 1, 2),
            ("s.body", "$.a"): (5, 1, 0, 1, 0, 3),
            ("l.element", "$"): (5, 3, 0, 0, 1, 1),
            ("l.element", "$.a"): (5, 1, 0, 2, 0, 2),
            ("m.value", "$"): (5, 3, 0, 0, 1, 1),
            ("m.value", "$.a"): (5, 1, 0, 2, 0, 2),
        }

    @pytest.mark.usefixtures("counted")
    def test_names_that_look_like_columns(self, tmp_path: Path) -> None:
        names = ["a.b", "value", "typed_value", "list", "element", "", "metadata", "a"]
        choice = random.Random(4)
        values = [{name: choice.choice([1, "x", None, {"b": 2, "value": [3]}]) for name in choice.sample(names, 4)} for _ in range(40)]
        schema = ShreddingSchema.from_python({name: {"b": "int", "value": ["int"]} if name == "a" else "int" for name in names})
        path = write(tmp_path / "rows.parquet", [json.dumps(value) for value in values], schema.ddl(), row_group_rows=17)
        decoded = [None if row is None else decode(*row) for row in rows_of(vq.read(path)["v"])]
        assert counts_of(path) == expected_of(decoded, schema)

    @pytest.mark.usefixtures("counted")
    def test_what_others_may_write(self, tmp_path: Path) -> None:
        """No value column, optional groups, null and null in elements and at the top: a Variant null (S4), or missing."""
        element = pa.struct([pa.field("typed_value", pa.int32())])
        a = pa.field("a", pa.struct([pa.field("typed_value", pa.list_(pa.field("element", element)))]))
        b = pa.field("b", pa.struct([pa.field("value", pa.binary()), pa.field("typed_value", pa.string())]))
        kind = pa.struct([pa.field("metadata", pa.binary(), nullable=False), pa.field("typed_value", pa.struct([a, b]))])
        meta = b"\x11\x02\x00\x01\x02ab"
        rows = [
            {"metadata": meta, "typed_value": {"a": {"typed_value": [{"typed_value": 1}, {"typed_value": None}, None]}, "b": None}},
            {"metadata": meta, "typed_value": {"a": None, "b": {"value": b"\x00", "typed_value": None}}},
            {"metadata": meta, "typed_value": None},
            None,
        ]
        path = tmp_path / "rows.parquet"
        pq.write_table(pa.table({"v": pa.array(rows, kind)}), path)
        patch_file(path, ["v"])
        assert counts_of(path) == stored_counts(path) == {
            "$": dict(zip(COUNTS, (4, 2, 0, 0, 1, 1), strict=True)),
            "$.a": dict(zip(COUNTS, (4, 1, 0, 0, 0, 3), strict=True)),
            "$.a[*]": dict(zip(COUNTS, (3, 1, 0, 0, 2, 0), strict=True)),
            "$.b": dict(zip(COUNTS, (4, 0, 0, 0, 1, 3), strict=True)),
        }  # fmt: skip

    @pytest.mark.usefixtures("counted")
    def test_files_that_break_the_rules_are_counted_too(self, tmp_path: Path) -> None:
        """A Variant null beside a shredded object, a value beside a typed number: what has a typed_value is typed."""
        number = pa.struct([pa.field("value", pa.binary()), pa.field("typed_value", pa.int64())])
        kind = pa.struct(
            [
                pa.field("metadata", pa.binary(), nullable=False),
                pa.field("value", pa.binary()),
                pa.field("typed_value", pa.struct([pa.field("a", number, nullable=False)])),
            ]
        )
        values = [(b"\x00", (b"\x0c\x01", 1)), (b"\x00", None), (b"\x02\x00\x00", (b"\x00", 2)), (b"\x0c\x05", None), (None, (b"\x00", 3))]
        rows = [
            {"metadata": b"\x11\x01\x00\x01a", "value": value, "typed_value": a and {"a": {"value": a[0], "typed_value": a[1]}}}
            for value, a in values
        ]
        path = tmp_path / "rows.parquet"
        pq.write_table(pa.table({"v": pa.array(rows, kind)}), path)
        patch_file(path, ["v"])
        assert counts_of(path) == stored_counts(path) == {
            "$": dict(zip(COUNTS, (5, 3, 2, 1, 1, 0), strict=True)),
            "$.a": dict(zip(COUNTS, (5, 3, 3, 0, 0, 2), strict=True)),
        }  # fmt: skip

    @pytest.mark.parametrize("compression", ["snappy", "zstd"])
    def test_duckdb_files(self, compression: str, tmp_path: Path) -> None:
        choice = random.Random(1)
        values: list[Any] = [choice.choice([None, 5, "x", _event(choice), _event(choice), _event(choice)]) for _ in range(300)]
        path = tmp_path / "rows.parquet"
        with duckdb.connect() as connection:
            connection.execute("create table t(x varchar)")
            connection.executemany("insert into t values (?)", [[None if value is None else json.dumps(value)] for value in values])
            connection.execute(
                f"copy (select x::json::variant as v from t) to '{path}' (format parquet, compression {compression}, row_group_size 100)"
            )
        assert pq.ParquetFile(path).metadata.created_by.startswith("DuckDB")
        found = counts_of(path)
        assert found == stored_counts(path)
        assert len(found) > 5

    @pytest.mark.skipif(not DIRECTORY.is_dir(), reason="apache/parquet-testing is not here")
    def test_the_files_of_parquet_testing(self) -> None:
        checked = 0
        for path in sorted((DIRECTORY / "shredded_variant").glob("*.parquet")):
            try:
                found = counts_of(path, "var")
            except vq.VarquetError:
                continue  # a schema that must be refused
            assert found == stored_counts(path, "var"), path.name
            checked += 1
        assert checked > 50


def _event(choice: random.Random) -> dict[str, Any]:
    event: dict[str, Any] = {
        "id": choice.randint(0, 1 << 40),
        "tags": [choice.choice(["a", "b", 1, None]) for _ in range(choice.randint(0, 3))],
    }
    if choice.random() < 0.7:
        event["user"] = {"name": choice.choice(["Ada", None, 3]), "at": [{"x": choice.random()} for _ in range(choice.randint(0, 2))]}
    return event


class TestTables:
    def test_several_files_that_disagree(self, tmp_path: Path) -> None:
        write(tmp_path / "a.parquet", ['{"a":1,"b":"x"}', '{"a":3}'], "a bigint, b string")
        write(tmp_path / "b.parquet", ['{"a":2.5,"c":[1]}'], "a decimal(3,1), c array<int>")
        found = inspect(tmp_path)
        rows = {row["path"]: row for row in found.paths.to_pylist()}
        assert list(rows) == ["$", "$.a", "$.b", "$.c", "$.c[*]"]
        facts = {
            path: (row["type"], row["files"], row["rows"], row["typed"], row["min"], row["max"], row["depth"]) for path, row in rows.items()
        }
        assert facts == {
            "$": ("struct", 2, 3, 3, None, None, 0),
            "$.a": ("bigint | decimal(3,1)", 2, 3, 3, None, None, 1),
            "$.b": ("string", 1, 2, 1, "x", "x", 1),
            "$.c": ("array", 1, 1, 1, None, None, 1),
            "$.c[*]": ("int", 1, 1, 1, "1", "1", 2),
        }
        assert [(Path(file["path"]).name, file["rows"], file["row_groups"], file["shredding"]) for file in found.files.to_pylist()] == [
            ("a.parquet", 2, 1, [("v", "a bigint, b string")]),
            ("b.parquet", 1, 1, [("v", "a decimal(3,1), c array<int>")]),
        ]
        assert [file["size"] for file in found.files.to_pylist()] == [
            (tmp_path / name).stat().st_size for name in ("a.parquet", "b.parquet")
        ]
        assert all("parquet-cpp-arrow" in file["created_by"] for file in found.files.to_pylist())

    def test_bytes_are_those_of_the_footer(self, tmp_path: Path) -> None:
        texts = [json.dumps({"a": number, "b": [str(number)], "z": number}) for number in range(100)]
        path = write(tmp_path / "rows.parquet", texts, "a int, b array<string>", row_group_rows=40)
        found = inspect(path)
        metadata = pq.ParquetFile(path).metadata
        sizes: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for group in range(metadata.num_row_groups):
            for index in range(metadata.row_group(group).num_columns):
                chunk = metadata.row_group(group).column(index)
                sizes[chunk.path_in_schema][0] += chunk.total_compressed_size
                sizes[chunk.path_in_schema][1] += chunk.total_uncompressed_size
        rows = {row["path"]: row for row in found.paths.to_pylist()}
        element = "v.typed_value.b.typed_value.list.element"
        for path_text, prefix in (("$", "v"), ("$.a", "v.typed_value.a"), ("$.b", "v.typed_value.b"), ("$.b[*]", element)):
            for part, name in (("value", "value"), ("typed", "typed_value")):
                own = sizes.get(f"{prefix}.{name}", [0, 0])
                assert [rows[path_text][f"{part}_{size}_bytes"] for size in ("compressed", "raw")] == own
            assert rows[path_text]["raw_bytes"] == rows[path_text]["value_raw_bytes"] + rows[path_text]["typed_raw_bytes"]
        groups = found.row_groups.to_pylist()
        assert [(row["row_group"], row["column"], row["rows"]) for row in groups] == [(0, "v", 40), (1, "v", 40), (2, "v", 20)]
        assert sum(row["metadata_compressed_bytes"] for row in groups) == sizes["v.metadata"][0]
        everything = sum(row[f"{part}_raw_bytes"] for row in groups for part in ("metadata", "value", "typed"))
        assert everything == sum(raw for _, raw in sizes.values())

    @pytest.mark.parametrize(
        ("ddl", "values", "low", "high"),
        [
            ("tinyint", ["-3", "7", "null", "1000"], "-3", "7"),
            ("decimal(38,2)", ["-1.50", "99999999999999999999.25"], "-1.50", "99999999999999999999.25"),
            ("decimal(9,1)", ["-1.5", "2.5"], "-1.5", "2.5"),
            ("double", ["1e3", "-2e-1"], "-0.2e0", "1000.0e0"),
            ("string", ['"b"', '"a\\n"', '"\U0001f600"'], "a\n", "\U0001f600"),
            ("boolean", ["true", "false"], "false", "true"),
            ("boolean", ["true"], "true", "true"),
            ("date", ["1"], None, None),
        ],
    )
    def test_bounds(self, ddl: str, values: list[str], low: str | None, high: str | None, tmp_path: Path) -> None:
        path = write(tmp_path / "rows.parquet", values, ddl, row_group_rows=1)
        (row,) = inspect(path).paths.to_pylist()
        assert (row["type"], row["min"], row["max"]) == (ddl, low, high)

    @pytest.mark.parametrize(
        ("kind", "values", "low", "high"),
        [
            (pa.date32(), [-719529, 2932897], "-0001-12-31", "+10000-01-01"),
            (pa.time64("us"), [0, 45_234_123_456], "00:00:00.000000", "12:33:54.123456"),
            (pa.timestamp("us", "UTC"), [-1, 0], "1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00.000000Z"),
            (pa.timestamp("ns"), [-(1 << 63), (1 << 63) - 1], "1677-09-21T00:12:43.145224192", "2262-04-11T23:47:16.854775807"),
            (pa.float32(), [0.1, 2.5], "0.1e0", "2.5e0"),
            (pa.binary(), [b"\xff\x00", b"\x01"], "AQ==", "/wA="),
            (pa.binary(16), [bytes(range(16)), bytes(16)], "00000000-0000-0000-0000-000000000000", "00010203-0405-0607-0809-0a0b0c0d0e0f"),
        ],
        ids=str,
    )
    def test_bounds_of_what_json_has_no_type_for(self, kind: pa.DataType, values: list[Any], low: str, high: str, tmp_path: Path) -> None:
        typed = pa.array(
            values, pa.int64() if pa.types.is_temporal(kind) and kind != pa.date32() else pa.int32() if kind == pa.date32() else kind
        )
        typed = typed.view(kind) if pa.types.is_temporal(kind) else typed
        meta = pa.array([b"\x01\x00\x00"] * 2)
        column = vq.unshred(pa.StructArray.from_arrays([meta, typed], names=["metadata", "typed_value"]))
        path = tmp_path / "rows.parquet"
        vq.write(
            pa.table([column], schema=pa.schema([vq.variant_field("v")])), path, {"v": ShreddingSchema.primitive(kind)}, row_group_rows=1
        )
        (row,) = inspect(path).paths.to_pylist()
        assert (row["typed"], row["min"], row["max"]) == (2, low, high)

    def test_no_bounds_where_a_row_group_has_none(self, tmp_path: Path) -> None:
        kind = pa.struct([pa.field("metadata", pa.binary(), nullable=False), pa.field("typed_value", pa.int64())])
        column = pa.array([{"metadata": b"\x01\x00\x00", "typed_value": 4}], kind)
        for name, statistics in (("a", True), ("b", False)):
            pq.write_table(pa.table({"v": column}), tmp_path / f"{name}.parquet", write_statistics=statistics)
            patch_file(tmp_path / f"{name}.parquet", ["v"])
        assert inspect(tmp_path / "a.parquet").paths["min"].to_pylist() == ["4"]
        (row,) = inspect(tmp_path).paths.to_pylist()
        assert (row["typed"], row["min"], row["max"]) == (2, None, None)

    def test_some_columns_only(self, tmp_path: Path) -> None:
        column = vq.parse_json(pa.array(["1"]))
        path = tmp_path / "rows.parquet"
        vq.write(pa.table([column, column], schema=pa.schema([vq.variant_field("a"), vq.variant_field("b")])), path)
        assert inspect(path).paths["column"].to_pylist() == ["a", "b"]
        assert inspect(path, ["b"]).paths["column"].to_pylist() == ["b"]
        assert inspect(path, ["b"]).row_groups["column"].to_pylist() == ["b"]
        with pytest.raises(UnsupportedTypeError, match=r"expected the name of a Variant or shredded map, got 'c'. Hint: they are 'a', 'b'"):
            inspect(path, ["c"])

    def test_files_without_variants_or_rows(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "none.parquet")
        done: list[None] = []
        found = inspect(tmp_path / "none.parquet", on_file=lambda: done.append(None))
        assert (found.paths.num_rows, found.files["rows"].to_pylist(), found.row_groups.num_rows, len(done)) == (0, [2], 0, 1)
        path = write(tmp_path / "empty.parquet", [], "a int")
        assert [row["rows"] for row in inspect(path).paths.to_pylist()] == [0, 0]


class TestReadingLittle:
    @pytest.fixture
    def read(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
        """The names of the leaf columns that were read."""
        names: list[str] = []
        batches = levels.RowGroup._batches

        def noted(self: levels.RowGroup, leaves: list[int]) -> Any:
            names.extend(self.open().schema.column(leaf).path for leaf in leaves)
            return batches(self, leaves)

        monkeypatch.setattr(levels.RowGroup, "_batches", noted)
        return iter([names])

    def test_the_footer_is_enough_where_all_values_conform(self, tmp_path: Path, read: Iterator[list[str]]) -> None:
        names = next(read)
        texts = ['{"a":1,"b":[{"c":"x"}]}', None, '{"a":2,"b":[]}', "{}"]
        counts = counts_of(write(tmp_path / "rows.parquet", texts, "a int, b array<struct<c: string>>"))
        assert counts["$.b[*].c"]["typed"] == 1
        texts = ['{"a":1,"z":1}', '{"a":2,"z":1}', "{}"]
        assert counts_of(write(tmp_path / "more.parquet", texts, "a int"))["$"]["partial"] == 2
        assert names == []

    def test_only_values_that_may_hold_nulls_are_read(self, tmp_path: Path, read: Iterator[list[str]]) -> None:
        names = next(read)
        texts = ['{"a":1,"b":"s"}', '{"a":null,"b":2}', '{"a":"x","b":3}', '{"a":2,"b":"t"}']
        counts = counts_of(write(tmp_path / "rows.parquet", texts, "a int, b int"))
        assert (counts["$.a"]["variant_null"], counts["$.b"]["residual"]) == (1, 2)
        assert names == ["v.typed_value.a.value"]
