"""`varquet ingest`: from NDJSON and Parquet to shredded Parquet, and everything that can be wrong with them."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import varquet as vq
from varquet.cli.main import main
from varquet.parquet import sources
from varquet.samples import generate

LINES = ['{"a":1,"b":"x"}', '{"a":"one","c":[1.10,null]}', "null", "[1e3]"]
ROWS = ['{"a":1,"b":"x"}', '{"a":"one","c":[1.10,null]}', "null", "[1000.0e0]"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.ndjson").write_text("\n".join(LINES) + "\n")


def texts(path: str = "out.parquet", column: str = "v") -> list[str | None]:
    return vq.to_json(vq.read(path)[column]).to_pylist()  # type: ignore[no-any-return]


def ingest(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    code = main(["ingest", *args, "--json"])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert isinstance(facts, dict)
    return facts


def failure(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["ingest", *args]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err.removeprefix("error: ").rstrip("\n")


class TestNdjson:
    def test_the_layout_of_the_draft(self, capsys: pytest.CaptureFixture[str]) -> None:
        facts = ingest(capsys, "in.ndjson", "out.parquet", "--schema", "a bigint, b string", "--layout", "draft")
        assert facts["layout"] == "draft"
        assert pq.ParquetFile("out.parquet").schema_arrow.field("v").type == vq.ShreddingSchema.parse("a bigint, b string").draft()
        assert texts() == ROWS
        assert main(["cat", "out.parquet"]) == 0
        assert capsys.readouterr().out.splitlines() == ROWS
        assert ingest(capsys, "out.parquet", "standard.parquet", "--schema", "c array<variant>")["layout"] == "parquet"
        assert texts("standard.parquet") == ROWS

    def test_it_writes_a_shredded_file_and_says_so(self, capsys: pytest.CaptureFixture[str]) -> None:
        facts = ingest(capsys, "in.ndjson", "out.parquet", "--schema", "a bigint, b string")
        assert texts() == ROWS
        assert vq.ShreddingSchema.from_parquet("out.parquet", "v").ddl() == "a bigint, b string"
        assert facts.pop("seconds") >= 0
        assert facts.pop("mb_per_second") >= 0
        assert facts == {
            "path": "out.parquet", "rows": 4, "row_groups": 1, "bytes_in": Path("in.ndjson").stat().st_size,
            "bytes_out": Path("out.parquet").stat().st_size, "column": "v", "layout": "parquet",
            "schema": "a bigint, b string", "schema_columns": 6, "errors": 0, "first_errors": [],
        }  # fmt: skip

    def test_people_get_lines(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["ingest", "in.ndjson", "out.parquet", "--unshredded"]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        size = Path("out.parquet").stat().st_size
        expected = (
            rf"path     out\.parquet\nrows     4 in 1 row group\nread     55 bytes\nwritten  {size:,} bytes\n"
            r"time     \d+\.\d\d s, \d+ MB/s\ncolumn   v, in 2 columns\n"
        )
        assert re.fullmatch(expected, out)

    def test_nothing_is_shredded_if_that_is_asked_for(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert ingest(capsys, "in.ndjson", "out.parquet", "--unshredded")["schema"] == "variant"
        assert [field.name for field in pq.read_schema("out.parquet").field("v").type] == ["metadata", "value"]
        assert texts() == ROWS

    def test_without_a_schema_the_data_chooses(self, capsys: pytest.CaptureFixture[str]) -> None:
        chosen = vq.choose(vq.profile("in.ndjson")).schema.ddl()
        assert chosen != "variant"
        assert ingest(capsys, "in.ndjson", "out.parquet")["schema"] == chosen
        assert texts() == ROWS

    def test_what_the_data_chooses_is_recorded_as_a_plan(self, capsys: pytest.CaptureFixture[str]) -> None:
        facts = ingest(capsys, "in.ndjson", "out.parquet")
        counted = vq.profile("in.ndjson")
        plan = vq.Plan.from_parquet("out.parquet")
        assert plan == vq.Plan.from_profiles({"v": counted})
        column = plan.columns["v"]
        assert column.schema == vq.ShreddingSchema.from_parquet("out.parquet", "v")
        assert (column.schema.ddl(), column.policy, column.profile_digest) == (facts["schema"], "varquet", counted.digest())
        # It is what `analyze --plan` writes: two ways to the same file.
        assert main(["analyze", "in.ndjson", "--plan", "plan.json", "--json"]) == 0
        capsys.readouterr()
        assert vq.Plan.load("plan.json").digest() == plan.digest()
        ingest(capsys, "in.ndjson", "planned.parquet", "--plan", "plan.json")
        assert Path("planned.parquet").read_bytes() == Path("out.parquet").read_bytes()

    def test_what_somebody_else_chooses_is_no_plan(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        ingest(capsys, "in.ndjson", "schema.parquet", "--schema", "a bigint")
        ingest(capsys, "in.ndjson", "whole.parquet", "--unshredded")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1\n")))
        ingest(capsys, "-", "stdin.parquet")
        for name in ("schema", "whole", "stdin"):
            assert vq.Plan.from_parquet(f"{name}.parquet") is None

    @pytest.mark.parametrize("row", [{"a.b": 1, "`c` d": {"": 2, "ü\n": [{"$['x']": "y"}]}}, [1, 2], "x", None, {}])
    def test_any_names_and_values_make_a_plan(self, row: Any, capsys: pytest.CaptureFixture[str]) -> None:
        Path("odd.ndjson").write_text(json.dumps(row) + "\n", encoding="utf-8")
        ingest(capsys, "odd.ndjson", "out.parquet", "--output-column", "doc.v")
        plan = vq.Plan.from_parquet("out.parquet")
        assert plan is not None
        assert plan.schemas == {"doc.v": vq.choose(vq.profile("odd.ndjson")).schema}
        assert [json.loads(text or "") for text in texts(column="doc.v")] == [row]

    def test_refused_texts_are_counted_as_the_nulls_that_they_become(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("bad.ndjson").write_text('{"a":1}\n{"a":}\n', encoding="utf-8")
        ingest(capsys, "bad.ndjson", "out.parquet", "--on-error", "null")
        plan = vq.Plan.from_parquet("out.parquet")
        assert plan is not None
        counted = vq.profile(vq.parse_json(pa.array(['{"a":1}', None], pa.string())))
        assert plan.columns["v"].profile_digest == counted.digest()

    @pytest.mark.parametrize("text", ["a bigint, b string\n", '{"type":"object","fields":{"a":"bigint","b":"string"}}'])
    def test_a_schema_from_a_file(self, text: str, capsys: pytest.CaptureFixture[str]) -> None:
        Path("schema").write_text(text)
        assert ingest(capsys, "in.ndjson", "out.parquet", "--schema", "@schema")["schema"] == "a bigint, b string"

    def test_options_reach_the_file(self, capsys: pytest.CaptureFixture[str]) -> None:
        facts = ingest(
            capsys,
            "in.ndjson",
            "out.parquet",
            "--row-group-rows",
            "3",
            "--compression",
            "snappy",
            "--output-column",
            "doc",
            "--threads",
            "1",
        )
        assert facts["row_groups"] == 2
        file = pq.ParquetFile("out.parquet")
        assert [file.metadata.row_group(k).num_rows for k in range(2)] == [3, 1]
        assert file.metadata.row_group(0).column(0).compression == "SNAPPY"
        assert texts(column="doc") == ROWS

    def test_several_files_folders_and_globs(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("folder/deep").mkdir(parents=True)
        Path("folder/b.jsonl").write_text("2")
        Path("folder/a.json.gz").write_bytes(gzip.compress(b"1\n"))
        Path("folder/deep/c.ndjson").write_text("3\n\n4\n")
        for name in ("folder/_log.json", "folder/.hidden.json", "folder/notes.txt"):
            Path(name).write_text("no")
        assert ingest(capsys, "folder", "in.ndj*", "out.parquet")["rows"] == 8
        assert texts() == ["1", "2", "3", "4", *ROWS]

    @pytest.mark.parametrize("compress", [False, True])
    def test_stdin(self, compress: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        data = "\r\n".join(LINES).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(data) if compress else data)))
        assert ingest(capsys, "-", "out.parquet")["bytes_in"] == len(data)
        assert texts() == ROWS

    def test_many_blocks_in_order(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        read = sources.read_ndjson
        monkeypatch.setattr(sources, "read_ndjson", lambda file, *, block_bytes, on_bytes: read(file, block_bytes=5_000, on_bytes=on_bytes))
        Path("events").write_bytes(b"".join(line + b"\n" for line in generate("events", 300, seed=3)))
        assert ingest(capsys, "events", "out.parquet", "--schema", "id bigint, user struct<id: int>", "--threads", "3")["rows"] == 300
        assert vq.extract(vq.read("out.parquet")["v"], "$.id", pa.int64()).to_pylist() == [1_000_000 + row for row in range(300)]

    @pytest.mark.parametrize("data", ["", "\n \n"])
    def test_no_rows_at_all(self, data: str, capsys: pytest.CaptureFixture[str]) -> None:
        Path("empty").write_text(data)
        assert ingest(capsys, "empty", "out.parquet", "--schema", "a int")["rows"] == 0
        assert vq.read("out.parquet").num_rows == 0
        assert vq.ShreddingSchema.from_parquet("out.parquet", "v").ddl() == "a int"


class TestErrors:
    def test_a_bad_line_is_named(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("bad.ndjson").write_text('1\n\n{"a":}\n3\n')
        assert failure(capsys, "bad.ndjson", "out.parquet") == (
            "bad.ndjson, line 3: expected a value, got '}' in {\"a\": >>> } - at byte 5"
        )
        assert sorted(os.listdir()) == ["bad.ndjson", "in.ndjson"]

    def test_the_line_end_is_not_part_of_a_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("bad.ndjson").write_text('1\n"open\n3\n')
        message = failure(capsys, "bad.ndjson", "out.parquet")
        assert message.startswith("bad.ndjson, line 2: expected a closing '\"', got the end of the text")

    def test_bad_lines_as_null(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("bad.ndjson").write_text('1\n{"a":}\n\nTrue\n{"b":1,"b":2}\n')
        facts = ingest(capsys, "bad.ndjson", "out.parquet", "--on-error", "null")
        assert texts() == ["1", None, None, None]
        assert (facts["rows"], facts["errors"]) == (4, 3)
        found = facts["first_errors"]
        assert [(error["file"], error["line"], error["row"], error["offset"], error["file_offset"]) for error in found] == [
            ("bad.ndjson", 2, None, 5, 7), ("bad.ndjson", 4, None, 0, 10), ("bad.ndjson", 5, None, 7, 22),
        ]  # fmt: skip
        assert (found[1]["message"], found[1]["hint"]) == ("expected a value, got 'True' in >>> True", "it is true in JSON")
        assert main(["ingest", "bad.ndjson", "out.parquet", "--force", "--on-error", "null"]) == 0
        assert "errors   3 texts that are not JSON became SQL NULL\n" in capsys.readouterr().out

    def test_only_the_first_errors_are_shown(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("bad.ndjson").write_text("x\n" * 50)
        facts = ingest(capsys, "bad.ndjson", "out.parquet", "--on-error", "null")
        assert (facts["errors"], [error["line"] for error in facts["first_errors"]]) == (50, list(range(1, 11)))

    def test_duplicate_keys(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("twice.ndjson").write_text('{"a":1,"a":2}\n')
        assert failure(capsys, "twice.ndjson", "out.parquet").startswith(
            "twice.ndjson, line 1: expected a field name that this object does not"
        )
        ingest(capsys, "twice.ndjson", "out.parquet", "--duplicate-keys", "last")
        assert texts() == ['{"a":2}']

    def test_an_existing_file_is_replaced_with_force_only(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("out.parquet").write_text("mine")
        assert failure(capsys, "in.ndjson", "out.parquet") == (
            "expected the name of a new file, got out.parquet, which exists. Hint: --force replaces it"
        )
        assert Path("out.parquet").read_text() == "mine"
        Path("bad.ndjson").write_text("x")
        failure(capsys, "bad.ndjson", "out.parquet", "--force")
        assert Path("out.parquet").read_text() == "mine"
        ingest(capsys, "in.ndjson", "out.parquet", "--force")
        assert texts() == ROWS
        assert sorted(os.listdir()) == ["bad.ndjson", "in.ndjson", "out.parquet"]

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (["none.ndjson", "out.parquet"], "expected NDJSON or Parquet files, got none.ndjson, which does not exist"),
            (["empty", "out.parquet"], "expected NDJSON or Parquet files, got empty, which holds none. Hint: in a folder they end with .*"),
            (["in.ndjson", "none/out.parquet"], "expected a file in an existing directory, got none/out.parquet. Hint: mkdir -p none"),
            (["in.ndjson", "empty", "--force"], "expected the name of an ordinary file, got empty, which is something else"),
            (["in.ndjson", "out.parquet", "--schema", "a strange"], "expected .* got .*strange.*"),
            (["in.ndjson", "out.parquet", "--schema", "@none"], "No such file or directory: none"),
            (
                ["in.ndjson", "out.parquet", "--column", "x"],
                "expected the name of a column with Parquet files only, got x with NDJSON. Hint: .*",
            ),
            (["in.ndjson", "out.parquet", "--row-group-rows", "0"], ".*'--row-group-rows'.* Hint: varquet ingest --help"),
            (["in.ndjson", "out.parquet", "--compression", "zip"], ".*'zip'.* Hint: varquet ingest --help"),
            (["in.ndjson"], "Missing argument.* Hint: varquet ingest --help"),
            (["cut.gz", "out.parquet"], "expected a whole gzip stream in cut.gz, got .*"),
        ],
    )
    def test_what_cannot_be_done(self, args: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
        Path("empty").mkdir()
        Path("cut.gz").write_bytes(gzip.compress(os.urandom(500))[:-30])
        before = sorted(os.listdir())
        assert re.fullmatch(message, failure(capsys, *args))
        assert sorted(os.listdir()) == before


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_leaves_no_file_behind() -> None:
    # Jobs in the background of a shell ignore Ctrl-C, and so would this one.
    listening = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from varquet.cli.main import main; sys.exit(main())"
    )
    with subprocess.Popen(
        [sys.executable, "-c", listening, "ingest", "-", "out.parquet", "--row-group-rows", "100"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin
        # More than a pipe holds: when all is written, it is being read, and two blocks have become row groups.
        process.stdin.write(b'{"a":1}\n' * 3_000_000)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (130, b"", b"interrupted\n")
    assert os.listdir() == ["in.ndjson"]


class TestParquet:
    def table(self, column: Any, **others: Any) -> pa.Table:
        return pa.table({"id": pa.array(range(4), pa.int64()), "doc": column, **others})

    @pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())], ids=str)
    def test_a_column_of_text(self, kind: pa.DataType, capsys: pytest.CaptureFixture[str]) -> None:
        pq.write_table(self.table(pa.array([*LINES[:3], None], pa.string()).cast(kind)), "in.parquet", row_group_size=2)
        facts = ingest(capsys, "in.parquet", "out.parquet", "--schema", "a int")
        assert (facts["column"], facts["rows"], facts["bytes_in"]) == ("doc", 4, Path("in.parquet").stat().st_size)
        back = vq.read("out.parquet")
        assert back.column_names == ["id", "doc"]
        assert back["id"].to_pylist() == [0, 1, 2, 3]
        assert texts(column="doc") == [*ROWS[:3], None]
        assert vq.ShreddingSchema.from_parquet("out.parquet", "doc").ddl() == "a int"

    def test_a_variant_column_is_shredded_anew(self, capsys: pytest.CaptureFixture[str]) -> None:
        ingest(capsys, "in.ndjson", "first.parquet", "--schema", "b string")
        ingest(capsys, "first.parquet", "out.parquet", "--schema", "a bigint", "--output-column", "w")
        assert texts(column="w") == ROWS
        assert vq.ShreddingSchema.from_parquet("out.parquet", "w").ddl() == "a bigint"

    def test_the_column_is_named_where_there_are_several(self, capsys: pytest.CaptureFixture[str]) -> None:
        pq.write_table(self.table(pa.array(LINES), other=pa.array(list("wxyz"))), "in.parquet")
        message = failure(capsys, "in.parquet", "out.parquet")
        assert message == (
            "expected in.parquet to have one Variant column or one column of JSON text, got several: doc, other. Hint: name the column"
        )
        ingest(capsys, "in.parquet", "out.parquet", "--column", "doc")
        assert texts(column="doc") == ROWS
        assert vq.read("out.parquet")["other"].to_pylist() == list("wxyz")

    def test_several_files(self, capsys: pytest.CaptureFixture[str]) -> None:
        pq.write_table(self.table(pa.array(LINES)), "a.parquet")
        pq.write_table(self.table(pa.array(LINES[::-1])), "b.parquet")
        assert ingest(capsys, "a.parquet", "b.parquet", "out.parquet")["rows"] == 8
        assert texts(column="doc") == [*ROWS, *ROWS[::-1]]

    def test_a_bad_row_is_named(self, capsys: pytest.CaptureFixture[str]) -> None:
        pq.write_table(self.table(pa.array(["1", "2", "3", "nope"])), "in.parquet", row_group_size=2)
        assert failure(capsys, "in.parquet", "out.parquet").startswith("in.parquet, row 3: expected a value, got 'nope'")
        facts = ingest(capsys, "in.parquet", "out.parquet", "--on-error", "null")
        assert [(error["row"], error["line"]) for error in facts["first_errors"]] == [(3, None)]
        assert texts(column="doc") == ["1", "2", "3", None]

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (["in.parquet", "--column", "none"], "expected a column of in.parquet, got none. Hint: they are id, doc"),
            (
                ["in.parquet", "--column", "id"],
                "expected a Variant column, a column of JSON text or of maps, got id of .*, which is int64",
            ),
            (
                ["in.parquet", "--output-column", "id"],
                "expected the output column to be a new name, got id, which in.parquet has. Hint: .*",
            ),
            (["in.parquet", "in.ndjson"], "expected files of one kind, got in.parquet, which is Parquet, and in.ndjson, which is not"),
            (
                ["in.parquet", "more.parquet"],
                "expected files with the same columns, got in.parquet and more.parquet, .*: id is int64 and double",
            ),
            (["numbers.parquet"], "expected numbers.parquet to have one Variant column or one column of JSON text, got none. Hint: .*"),
        ],
    )
    def test_what_cannot_be_done(self, args: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
        pq.write_table(self.table(pa.array(LINES)), "in.parquet")
        pq.write_table(pa.table({"id": pa.array([1.5]), "doc": pa.array(["1"])}), "more.parquet")
        pq.write_table(pa.table({"id": pa.array([1.5])}), "numbers.parquet")
        files = [arg for arg in args if arg.endswith(("json", "parquet"))]
        assert re.fullmatch(message, failure(capsys, *files, "out.parquet", *args[len(files) :]))
        assert not Path("out.parquet").exists()


@pytest.mark.parametrize("option", ["--partition-by=$.a", "--sort-by=$.a bigint", "--evolve", "--mode=overwrite", "--merge-schema"])
def test_options_for_tables_want_one(capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert failure(capsys, "in.ndjson", "out.parquet", option).startswith("expected --table or --spark with options for tables")
    assert not Path("out.parquet").exists()


def test_stdin_is_nothing_for_spark(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'varquet[spark]'")
    assert "which Spark's workers cannot read" in failure(capsys, "-", "table", "--spark", "local[1]")


@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_the_bytes_of_a_file_are_the_same_every_time(
    threads: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the threads that parse have parsed before, and however many they are."""
    files = []
    for number in range(6):
        rows = ['{"a":1,"c":[1,2,3]}', f'{{"a":1,"b{number}":2e1}}', '{"long":"' + "x" * 9_000 * number + '"}'] * 30
        rows += ['{"a":1,"c":[1,2,3]}'] * 1800 + [f'{{"a":1,"b{number}":2}}'] * 500
        files.append(f"{number}.ndjson")
        Path(files[-1]).write_text("\n".join(rows) + "\n")
    made = []
    for asked, output in (("1", "first.parquet"), (threads, "second.parquet")):
        monkeypatch.setenv("VARQUET_THREADS", asked)
        ingest(capsys, *files, output, "--schema", "a bigint")
        made.append(Path(output).read_bytes())
        vq.parse_json(pa.array(["[" + "1," * 50_000 + "1]"]))
    assert made[0] == made[1]
