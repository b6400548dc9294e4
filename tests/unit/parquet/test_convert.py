"""`convert`: any layout to any other, nothing lost, every row verified."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from patched_footers import patch_file

import varquet as vq
from varquet.errors import UnsupportedTypeError, VarquetError
from varquet.layouts.fingerprints import ShreddedColumn
from varquet.parquet import convert as module
from varquet.parquet.footer import read_footer
from varquet.samples import generate

SCHEMA = (
    "id bigint, type string, user struct<id: bigint, name: string, geo: struct<lat: decimal(9,6), country: string>>, "
    "items array<struct<sku: string, qty: bigint>>, tags array<string>, amount decimal(9,2)"
)
# What is hard for either layout: missing, null and SQL NULL, {} and [], conflicts at every level, partly shredded objects.
ADVERSARIAL: list[str | None] = [
    None, "null", "{}", "[]", '""', "1", '{"id":null}', '{"id":1.00}', '{"id":"x","user":[]}', '{"user":{}}',
    '{"user":{"id":1,"x":{"id":2}}}',
    '{"items":[]}', '{"items":[null,{},[],1,{"sku":null},{"sku":"a","qty":1,"more":{"sku":1}}]}', '{"tags":["a",null,1,{"tags":[]}]}',
    '{"":{"":[]}}',
    '{"id":99999999999999999999,"amount":1.005}', '{"amount":0.10}', '{"type":"é\\u0000"}', '{"a":{"b":{"c":{"d":[{"e":1}]}}}}',
]  # fmt: skip


def table(texts: list[Any], **others: pa.Array) -> pa.Table:
    column = vq.parse_json(pa.array(texts, pa.binary() if texts and isinstance(texts[0], bytes) else pa.string()))
    fields = [vq.variant_field("v"), *(pa.field(name, array.type) for name, array in others.items())]
    return pa.table([column, *others.values()], schema=pa.schema(fields))


def events(rows: int = 3000) -> list[bytes]:
    return list(generate("events", rows, seed=3))


def fingerprints(path: Path, column: str = "v") -> list[int | None]:
    found: list[int | None] = vq.fingerprint(vq.read(path)[column]).to_pylist()
    return found


@pytest.mark.parametrize("texts", [events(), ADVERSARIAL * 40], ids=["events", "adversarial"])
@pytest.mark.parametrize("between", ["parquet", "draft", "unshredded", "json"])
@pytest.mark.parametrize("first", ["parquet", "draft"])
def test_there_and_back(tmp_path: Path, texts: list[Any], first: Any, between: Any) -> None:
    source = tmp_path / "first.parquet"
    vq.write(table(texts), source, {"v": SCHEMA}, layout=first, row_group_rows=700)
    (there,) = vq.convert(source, tmp_path / "there.parquet", between)
    # The schema does not survive what has none.
    (back,) = vq.convert(tmp_path / "there.parquet", tmp_path / "back.parquet", first, {"v": SCHEMA})
    assert (there.rows, back.rows) == (len(texts), len(texts))
    assert there.contents == back.contents
    expected = vq.fingerprint(table(texts)["v"]).to_pylist()
    assert fingerprints(tmp_path / "back.parquet") == expected
    assert there.contents["v"].values == sum(number is not None for number in expected)
    total = sum(number for number in expected if number is not None)
    assert there.contents["v"].fingerprint == f"{total % (1 << 64):016x}"
    if between != "json":
        assert fingerprints(tmp_path / "there.parquet") == expected
    else:
        assert pq.read_schema(tmp_path / "there.parquet").field("v").type == pa.string()
    assert vq.diff(source, tmp_path / "there.parquet").is_equal
    assert pq.ParquetFile(tmp_path / "back.parquet").schema.equals(pq.ParquetFile(source).schema)


def test_the_schema_is_kept_or_changed(tmp_path: Path) -> None:
    vq.write(table(events(100)), tmp_path / "a.parquet", {"v": "id bigint, tags array<string>"}, layout="draft")
    vq.convert(tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert vq.ShreddingSchema.from_parquet(tmp_path / "b.parquet", "v").ddl() == "id bigint, tags array<string>"
    vq.convert(tmp_path / "a.parquet", tmp_path / "c.parquet", plan="user struct<id: bigint>")
    assert vq.ShreddingSchema.from_parquet(tmp_path / "c.parquet", "v").ddl() == "user struct<id: bigint>"
    vq.convert(tmp_path / "a.parquet", tmp_path / "d.parquet", "unshredded")
    assert vq.ShreddingSchema.from_parquet(tmp_path / "d.parquet", "v") == vq.ShreddingSchema.value()


def test_what_the_footer_says(tmp_path: Path) -> None:
    vq.write(table(["1", None, '{"a":2}']), tmp_path / "a.parquet")
    (made,) = vq.convert(tmp_path / "a.parquet", tmp_path / "b.parquet", "draft")
    recorded = read_footer(tmp_path / "b.parquet").key_value_metadata
    assert json.loads(recorded["varquet.content"]) == {"v": {"values": 2, "fingerprint": made.contents["v"].fingerprint}}
    assert made.size == (tmp_path / "b.parquet").stat().st_size
    vq.convert(tmp_path / "b.parquet", tmp_path / "c.parquet", "json")
    assert json.loads(read_footer(tmp_path / "c.parquet").key_value_metadata["varquet.json"]) == [["v"]]
    vq.convert(tmp_path / "c.parquet", tmp_path / "d.parquet")
    assert vq.is_variant_type(vq.read(tmp_path / "d.parquet").schema.field("v").type)


def test_other_columns_and_variants_inside_others_go_along(tmp_path: Path) -> None:
    variants = vq.parse_json(pa.array(['{"a":1,"b":2}', "null", '{"a":"x"}', "[1]"]))
    inner = vq.variant_field("body", nullable=True)
    structs = pa.StructArray.from_arrays([variants, pa.array([1, 2, 3, 4])], fields=[inner, pa.field("n", pa.int64())])
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 2, 3, 4]), variants)
    schema = pa.schema(
        [
            pa.field("s", structs.type),
            pa.field("l", pa.list_(vq.variant_field("element"))),
            pa.field("when", pa.timestamp("us", "UTC")),
            pa.field("name", pa.large_string()),
        ]
    )
    when = pa.array([datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)] * 4, pa.timestamp("us", "UTC"))
    source = pa.table([structs, lists.cast(schema.field("l").type), when, pa.array(list("abcd"), pa.large_string())], schema=schema)
    vq.write(source, tmp_path / "a.parquet", {"s.body": "a bigint", "l.element": "a bigint"})
    (draft,) = vq.convert(tmp_path / "a.parquet", tmp_path / "b.parquet", "draft")
    assert {name: content.values for name, content in draft.contents.items()} == {"s.body": 4, "l.element": 4}
    vq.convert(tmp_path / "b.parquet", tmp_path / "c.parquet", "json")
    vq.convert(tmp_path / "c.parquet", tmp_path / "d.parquet", plan={"s.body": "a bigint"})
    assert vq.diff(tmp_path / "a.parquet", tmp_path / "d.parquet").is_equal
    assert vq.read(tmp_path / "d.parquet")["when"].to_pylist() == when.to_pylist()
    assert pq.read_table(tmp_path / "c.parquet")["s"].to_pylist()[2] == {"body": '{"a":"x"}', "n": 3}


def test_a_folder_keeps_its_names(tmp_path: Path) -> None:
    (tmp_path / "in" / "day=1").mkdir(parents=True)
    vq.write(table(events(50)), tmp_path / "in" / "a.parquet", {"v": "id bigint"})
    vq.write(table(events(70)), tmp_path / "in" / "day=1" / "b.parquet", {"v": "type string"})
    made = vq.convert(tmp_path / "in", tmp_path / "out", "draft")
    assert [(Path(one.path).relative_to(tmp_path / "out").as_posix(), one.rows) for one in made] == [
        ("a.parquet", 50),
        ("day=1/b.parquet", 70),
    ]
    assert vq.diff(tmp_path / "in", tmp_path / "out").is_equal


def test_files_of_others_are_read_by_their_values(tmp_path: Path) -> None:
    """A shredded field may stand in the residual too, which fingerprints of parts must never see."""
    variants = vq.parse_json(pa.array(['{"a":1,"b":2}']))
    shredded = vq.shred(variants, "a bigint")
    whole = pa.StructArray.from_arrays(
        [shredded.field("metadata"), variants.field("value"), shredded.field("typed_value")], fields=list(shredded.type)
    )
    vq.write(pa.table([variants], schema=pa.schema([vq.variant_field("v")])), tmp_path / "a.parquet", {"v": "a bigint"})
    physical = pq.ParquetFile(tmp_path / "a.parquet").schema_arrow
    foreign = tmp_path / "foreign.parquet"
    pq.write_table(pa.table([whole.cast(physical.field("v").type)], schema=physical), foreign, store_schema=False)
    patch_file(foreign, [("v",)])
    vq.convert(foreign, tmp_path / "b.parquet", "draft")
    assert vq.to_json(vq.read(tmp_path / "b.parquet")["v"]).to_pylist() == ['{"a":1,"b":2}']


def test_json_text_of_others(tmp_path: Path) -> None:
    texts = pa.array(['{"a":1}', None, " [1, 2.50] "])
    pq.write_table(pa.table({"n": [1, 2, 3], "payload": texts}), tmp_path / "a.parquet")
    vq.convert(tmp_path / "a.parquet", tmp_path / "b.parquet", plan={"payload": "a bigint"}, json_columns=["payload"])
    assert vq.to_json(vq.read(tmp_path / "b.parquet")["payload"]).to_pylist() == ['{"a":1}', None, "[1,2.50]"]
    assert vq.diff(tmp_path / "a.parquet", tmp_path / "b.parquet").is_equal


class TestRefusals:
    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        vq.write(table(['{"a":1}', '{"a":2}']), tmp_path / "a.parquet", {"v": "a bigint"})
        return tmp_path / "a.parquet"

    def test_values_that_json_cannot_tell(self, tmp_path: Path) -> None:
        node = vq.Variant.from_python(datetime.date(2025, 1, 1))
        column = pa.array([{"metadata": node.metadata, "value": node.value}], vq.VARIANT)
        vq.write(pa.table([column], schema=pa.schema([vq.variant_field("v")])), tmp_path / "a.parquet")
        with pytest.raises(
            VarquetError, match=r"column 'v' of .* expected the same value in the layout 'json', got another one - at row 0"
        ):
            vq.convert(tmp_path / "a.parquet", tmp_path / "b.parquet", "json")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet"]

    @pytest.mark.parametrize("target", ["draft", "unshredded"])
    def test_a_fault_of_ours_is_seen_and_leaves_no_file(self, source: Path, tmp_path: Path, target: Any) -> None:
        """P30: what the conversion gets wrong, verification finds."""
        real, whole = ShreddedColumn.transcode, module._Step.stored

        def wrong(self: ShreddedColumn, layout: Any) -> pa.Array:
            made = real(self, layout)
            return made.take(pa.array([0, 0]))

        def wrong_too(self: Any, variants: pa.Array) -> pa.Array:
            made = whole(self, variants)
            return made.take(pa.array([0, 0]))

        with (
            mock.patch.object(ShreddedColumn, "transcode", wrong),
            mock.patch.object(module._Step, "stored", wrong_too),
            pytest.raises(VarquetError, match="got another one - at row 1"),
        ):
            vq.convert(source, tmp_path / "b.parquet", target)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet"]

    def test_a_row_too_few_is_seen(self, source: Path, tmp_path: Path) -> None:
        real = module._Conversion.convert
        with (
            mock.patch.object(module._Conversion, "convert", lambda self, batch, before: real(self, batch, before).slice(1)),
            pytest.raises(VarquetError, match="expected 2 rows of .*, got 1"),
        ):
            vq.convert(source, tmp_path / "b.parquet", "draft")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet"]

    def test_arguments(self, source: Path, tmp_path: Path) -> None:
        dest = tmp_path / "b.parquet"
        cases: list[tuple[dict[str, Any], str]] = [
            ({"layout": "orc"}, "expected a layout to convert to, got 'orc'"),
            ({"layout": "json", "plan": "a bigint"}, "expected no plan for a layout without typed columns, got one for 'json'"),
            ({"plan": {"w": "a bigint"}}, "expected the name of a Variant column of .*, got 'w'"),
            ({"json_columns": ["w"]}, "expected the name of a column of JSON text in .*, got 'w'"),
            ({"json_columns": ["v"]}, "expected a column of JSON text at 'v' of .*, got struct"),
        ]
        for options, message in cases:
            with pytest.raises(UnsupportedTypeError, match=message):
                vq.convert(source, dest, **options)
        with pytest.raises(UnsupportedTypeError, match=r"expected another place for what is made of .*, which is read"):
            vq.convert(source, source, "draft", overwrite=True)
        dest.write_bytes(b"mine")
        with pytest.raises(UnsupportedTypeError, match=r"expected a new file, got .*b\.parquet', which exists"):
            vq.convert(source, dest)
        assert dest.read_bytes() == b"mine"

    def test_several_columns_want_several_schemas(self, tmp_path: Path) -> None:
        column = vq.parse_json(pa.array(["1"]))
        both = pa.table([column, column], schema=pa.schema([vq.variant_field("v"), vq.variant_field("w")]))
        vq.write(both, tmp_path / "a.parquet")
        with pytest.raises(UnsupportedTypeError, match="expected one Variant column in .* for one schema, got v, w"):
            vq.convert(tmp_path / "a.parquet", tmp_path / "b.parquet", plan="a bigint")

    def test_an_unknown_layout_in_the_footer(self, tmp_path: Path) -> None:
        vq.write(table(["1"]), tmp_path / "a.parquet", layout="draft")
        data = (tmp_path / "a.parquet").read_bytes().replace(b'[["draft", "v"]]', b'[["later", "v"]]')
        (tmp_path / "b.parquet").write_bytes(data)
        with pytest.raises(vq.ParquetError, match="expected one of the layouts parquet, draft, got 'later'"):
            vq.read(tmp_path / "b.parquet")


def test_progress_is_told(tmp_path: Path) -> None:
    vq.write(table(events(100)), tmp_path / "a.parquet")
    told: list[int] = []
    vq.convert(tmp_path / "a.parquet", tmp_path / "b.parquet", "draft", on_rows=told.append)
    assert sum(told) == 100
