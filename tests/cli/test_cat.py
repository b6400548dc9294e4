"""`varquet cat`: rows as NDJSON, exact in every type."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import varquet as vq
from varquet.cli.main import main
from varquet.errors import UnsupportedTypeError
from varquet.parquet.json_rows import json_lines, json_texts

TEXTS = ['{"a":1,"b":[1.10,null,"é\\n"]}', "null", None, "[1e3]", '{"a":{"x":-0.0}}']
ROWS = ['{"a":1,"b":[1.10,null,"é\\n"]}', "null", "null", "[1000.0e0]", '{"a":{"x":-0.0e0}}']


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    column = vq.parse_json(pa.array(TEXTS, pa.string()))
    vq.write(pa.table([column], schema=pa.schema([vq.variant_field("v")])), "one.parquet", {"v": "a bigint"}, row_group_rows=2)
    ids = pa.array([1, None, 3, 4, 5], pa.int32())
    shape = pa.schema([pa.field("id", pa.int32()), vq.variant_field("v"), pa.field('odd "name"', pa.date32())])
    days = pa.array([datetime.date(2025, 4, 16)] * 5)
    vq.write(pa.table([ids, column, days], schema=shape), "more.parquet", {"v": "a bigint"})


def cat(capsys: pytest.CaptureFixture[str], *args: str) -> list[str]:
    assert main(["cat", *args]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out == "" or out.endswith("\n")
    return out.split("\n")[:-1]


class TestRows:
    def test_a_table_of_one_variant_gives_its_values(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cat(capsys, "one.parquet") == cat(capsys, "one.parquet", "--json") == ROWS

    def test_more_columns_give_objects(self, capsys: pytest.CaptureFixture[str]) -> None:
        lines = cat(capsys, "more.parquet")
        ids = ["1", "null", "3", "4", "5"]
        assert lines == [f'{{"id":{row},"v":{text},"odd \\"name\\"":"2025-04-16"}}' for row, text in zip(ids, ROWS, strict=True)]

    def test_columns(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cat(capsys, "more.parquet", "--columns", "v,id", "-n", "1") == [f'{{"v":{ROWS[0]},"id":1}}']
        assert cat(capsys, "more.parquet", "--column", "v") == ROWS
        assert cat(capsys, "more.parquet", "--columns", "v") == ROWS
        assert cat(capsys, "more.parquet", "--column", "id") == ["1", "null", "3", "4", "5"]
        assert cat(capsys, "more.parquet", "--columns", "id")[0] == '{"id":1}'

    @pytest.mark.parametrize("count", [0, 1, 3, 5, 100])
    def test_the_first_rows(self, count: int, capsys: pytest.CaptureFixture[str]) -> None:
        assert cat(capsys, "one.parquet", "-n", str(count)) == ROWS[:count]
        assert cat(capsys, "one.parquet", "one.parquet", "-n", str(count)) == (ROWS * 2)[:count]

    def test_what_is_printed_can_be_ingested(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("rows.ndjson").write_text("\n".join(cat(capsys, "one.parquet")))
        assert main(["ingest", "rows.ndjson", "again.parquet", "--schema", "a int"]) == 0
        capsys.readouterr()
        assert cat(capsys, "again.parquet") == ROWS

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (["none.parquet"], "expected a Parquet file, a folder of them or a glob, got 'none.parquet', which names none"),
            (["one.parquet", "--column", "x"], "expected columns of 'one.parquet', got 'x'. Hint: they are 'v'"),
            (["one.parquet", "--column", "v", "--columns", "v"], "expected --column or --columns, got both. Hint: varquet cat --help"),
            (["text"], "expected a Parquet file, of 12 bytes at least, got 2 - at text"),
        ],
    )
    def test_what_cannot_be_printed(self, args: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
        Path("text").write_text("no")
        assert main(["cat", *args]) == 2
        assert capsys.readouterr() == ("", f"error: {message}\n")

    def test_a_reader_who_leaves_ends_it_quietly(self) -> None:
        texts = pa.array([json.dumps({"n": "x" * 500})] * 20_000)
        vq.write(pa.table([vq.parse_json(texts)], schema=pa.schema([vq.variant_field("v")])), "large.parquet")
        command = [sys.executable, "-m", "varquet", "cat", "large.parquet"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout
            assert process.stderr
            assert process.stdout.readline().startswith(b'{"n":"xxx')
            process.stdout.close()
            errors = process.stderr.read()
        assert (process.returncode, errors) == (0, b"")


def printed(array: pa.Array) -> list[str]:
    return json_texts(array, pa.field("x", array.type)).to_pylist()  # type: ignore[no-any-return]


class TestTypes:
    @pytest.mark.parametrize(
        ("array", "text"),
        [
            (pa.array([True]), "true"),
            (pa.array([255], pa.uint8()), "255"),
            (pa.array([65535], pa.uint16()), "65535"),
            (pa.array([(1 << 32) - 1], pa.uint32()), "4294967295"),
            (pa.array([(1 << 64) - 1], pa.uint64()), "18446744073709551615"),
            (pa.array([1.5], pa.float64()), "1.5e0"),
            (pa.array([0.1], pa.float32()), "0.1e0"),
            (pa.array([1.5], pa.float64()).cast(pa.float16()), "1.5e0"),
            (pa.array([float("nan")]), '"NaN"'),
            (pa.array([Decimal("1.10")], pa.decimal128(5, 2)), "1.10"),
            (pa.array([Decimal("1.10")], pa.decimal256(20, 2)), "1.10"),
            (pa.array([Decimal(10**40)], pa.decimal256(60, 0)), f'"{10**40}"'),
            (pa.array([datetime.date(2025, 4, 16)], pa.date64()), '"2025-04-16"'),
            (pa.array([1], pa.time32("s")), '"00:00:01.000000"'),
            (pa.array([1], pa.time64("ns")), '"00:00:00.000000001"'),
            (pa.array([1_000], pa.timestamp("ms", "Europe/Berlin")), '"1970-01-01T00:00:01.000000Z"'),
            (pa.array([1], pa.timestamp("ns")), '"1970-01-01T00:00:00.000000001"'),
            (pa.array([7], pa.duration("us")), "7"),
            (pa.array(['a"\n'], pa.large_string()), '"a\\"\\n"'),
            (pa.array(["x"], pa.string_view()), '"x"'),
            (pa.array([b"\x00\xff"]), '"AP8="'),
            (pa.array([b"\x00\xff"], pa.binary(2)), '"AP8="'),
            (pa.array([b"\x00\xff"], pa.binary_view()), '"AP8="'),
            (pa.array([uuid.UUID(int=1).bytes], pa.uuid()), '"00000000-0000-0000-0000-000000000001"'),
            (pa.array(["x"]).dictionary_encode(), '"x"'),
            (pa.array([[1, None], []], pa.list_(pa.int8()))[:1], "[1,null]"),
            (pa.array([[1, 2]], pa.large_list(pa.int8())), "[1,2]"),
            (pa.array([[1, 2]], pa.list_(pa.int8(), 2)), "[1,2]"),
            (pa.array([{"a": 1, "b": {"c": None}}]), '{"a":1,"b":{"c":null}}'),
            (pa.array([{}], pa.struct([])), "{}"),
            (pa.array([[("k", 1), ('"', None)]], pa.map_(pa.string(), pa.int8())), '{"k":1,"\\"":null}'),
            (pa.array([[(1, "x")]], pa.map_(pa.int8(), pa.string())), '[{"key":1,"value":"x"}]'),
        ],
        ids=lambda value: str(value.type) if isinstance(value, pa.Array) else None,
    )
    def test_a_value_and_a_null_of_every_type(self, array: pa.Array, text: str) -> None:
        assert printed(array) == [text]
        json.loads(text)
        both = pa.concat_arrays([pa.nulls(1, array.type), array, pa.nulls(1, array.type)])
        assert printed(both) == ["null", text, "null"]
        assert printed(both[1:]) == [text, "null"]
        assert printed(both[:0]) == []

    def test_nulls(self) -> None:
        assert printed(pa.nulls(2)) == ["null", "null"]

    def test_variants_inside_others(self) -> None:
        variants = vq.parse_json(pa.array(['{"a":1.0}', None, "2"], pa.string()))
        field = pa.field("x", pa.struct([vq.variant_field("body")]))
        rows = pa.StructArray.from_arrays([variants], fields=list(field.type), mask=pa.array([False, False, True]))
        assert json_texts(rows, field).to_pylist() == ['{"body":{"a":1.0}}', '{"body":null}', "null"]
        field = pa.field("x", pa.list_(vq.variant_field("element")))
        lists = pa.ListArray.from_arrays(pa.array([0, 2, 2, 3], pa.int32()), variants, type=field.type)
        assert json_texts(lists, field).to_pylist() == ['[{"a":1.0},null]', "[]", "[2]"]
        assert json_texts(lists[1:], field).to_pylist() == ["[]", "[2]"]

    def test_a_type_that_has_no_text(self) -> None:
        array = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
        with pytest.raises(UnsupportedTypeError, match="expected a column of a type that JSON can show, got sparse_union"):
            printed(array)

    def test_lines(self) -> None:
        batch = pa.record_batch({"a": [1, 2], "b": ["x", None]})
        assert bytes(json_lines(batch, bare=False)) == b'{"a":1,"b":"x"}\n{"a":2,"b":null}\n'
        assert bytes(json_lines(batch.select(["b"]), bare=True)) == b'"x"\nnull\n'
        assert bytes(json_lines(batch[:0], bare=False)) == b""

    def test_through_a_file(self, capsys: pytest.CaptureFixture[str]) -> None:
        rows: list[dict[str, Any]] = [{"tags": ["a", None], "s": {"n": 1}, "m": [("k", 1.5)]}, {"tags": None, "s": None, "m": []}]
        kinds = pa.schema(
            [("tags", pa.list_(pa.string())), ("s", pa.struct([("n", pa.int64())])), ("m", pa.map_(pa.string(), pa.float64()))]
        )
        pq.write_table(pa.Table.from_pylist(rows, kinds), "rows.parquet")
        assert cat(capsys, "rows.parquet") == ['{"tags":["a",null],"s":{"n":1},"m":{"k":1.5e0}}', '{"tags":null,"s":null,"m":{}}']
