"""The command `varquet`: streams, exit codes, --json, files written whole or not at all."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import varquet
from varquet import kernels
from varquet.cli import files, info
from varquet.cli.main import ExitCode, build_app, main
from varquet.cli.output import ConsoleOutput, JsonOutput, Output
from varquet.errors import VarquetError
from varquet.samples import Kind, generate

SOURCE = str(Path(varquet.__file__).parents[1])
COMMANDS = ("info", "sample", "analyze", "ingest", "cat", "query", "inspect", "convert", "diff", "history", "optimize", "vacuum")


def environment(**changes: str) -> dict[str, str]:
    path = os.pathsep.join([SOURCE, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1", **changes}


def run(*args: str, cwd: Path | None = None, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "varquet", *args],
        capture_output=True, text=True, encoding="utf-8", cwd=cwd, env=environment(**changes), timeout=120, check=False,
    )  # fmt: skip


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", env=environment(), timeout=120, check=False
    )


class TestProcess:
    def test_version(self) -> None:
        done = run("--version")
        assert (done.returncode, done.stdout, done.stderr) == (0, f"varquet {varquet.__version__}\n", "")

    def test_info(self) -> None:
        done = run("info", "--json", VARQUET_THREADS="3")
        assert (done.returncode, done.stderr) == (0, "")
        facts = json.loads(done.stdout)
        assert facts["varquet"] == varquet.__version__
        assert facts["threads"] == 3
        assert facts["python"] == ".".join(map(str, sys.version_info[:3]))
        assert facts["kernels"]["active"] in ("compiled", "checked", "interpreted")
        assert (facts["kernels"]["reason"] is None) == (facts["kernels"]["active"] == "compiled")
        assert list(facts["packages"]) == ["pyarrow", "numpy", "pyspark", "deltalake", "duckdb", "pandas"]
        assert facts["packages"]["pyarrow"] is not None

    def test_sample_to_stdout_is_nothing_but_the_rows(self) -> None:
        plain = run("sample", "events", "-n", "7", "--seed", "5", "--start", "100")
        assert (plain.returncode, plain.stderr) == (0, "")
        assert plain.stdout.encode().split(b"\n") == [*generate("events", 7, seed=5, start=100), b""]
        assert run("sample", "events", "-n", "7", "--seed", "5", "--start", "100", "--json").stdout == plain.stdout
        assert run("sample", "events", "-n", "7", "--seed", "5", "--start", "100", "-o", "-").stdout == plain.stdout

    def test_without_a_command_it_shows_the_help_and_fails(self) -> None:
        done = run()
        assert done.returncode == 2
        assert "Usage: varquet" in done.stdout

    def test_a_reader_who_leaves_ends_it_quietly(self) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "varquet", "sample", "events", "-n", "5000000"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
        )  # fmt: skip
        assert process.stdout
        assert process.stderr
        line = process.stdout.readline()
        process.stdout.close()
        assert line.rstrip(b"\n") == next(generate("events", 1))
        errors = process.stderr.read()
        process.stderr.close()
        assert process.wait(60) == 0
        assert errors == b""

    @pytest.mark.parametrize("args", [["--help"], ["info"], ["info", "--json"], ["--version"], ["sample", "headers"]])
    def test_a_reader_who_was_never_there(self, args: list[str]) -> None:
        reader, writer = os.pipe()
        os.close(reader)
        try:
            done = subprocess.run(
                [sys.executable, "-m", "varquet", *args], stdout=writer, stderr=subprocess.PIPE, env=environment(), timeout=60, check=False
            )
        finally:
            os.close(writer)
        assert (done.returncode, done.stderr) == (0, b"")

    @pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
    def test_ctrl_c_leaves_no_file_behind(self, tmp_path: Path) -> None:
        # Jobs in the background of a shell ignore Ctrl-C, and so would this one.
        listening = (
            "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
            "from varquet.cli.main import main; sys.exit(main())"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", listening, "sample", "events", "-n", "50000000", "-o", "events.ndjson"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=tmp_path,
        )  # fmt: skip
        try:
            end = time.monotonic() + 60
            while not any(path.stat().st_size for path in tmp_path.iterdir()):
                assert time.monotonic() < end
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()
        assert (process.returncode, output, errors) == (130, b"", b"interrupted\n")
        assert list(tmp_path.iterdir()) == []

    def test_an_error_is_one_line_and_shows_more_when_debugging(self) -> None:
        done = run("info", VARQUET_THREADS="many")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "error: expected VARQUET_THREADS to be a number of threads, got 'many'\n"
        debugged = run("info", VARQUET_THREADS="many", VARQUET_DEBUG="1")
        assert debugged.returncode == 2
        assert debugged.stderr.startswith("Traceback")
        assert debugged.stderr.endswith(done.stderr)

    @pytest.mark.parametrize("missing", ["typer", "rich"])
    def test_without_the_extra_it_says_how_to_get_it(self, missing: str) -> None:
        done = run_python(f"import sys; sys.modules[{missing!r}] = None; from varquet.cli.main import main; sys.exit(main(['info']))")
        assert (done.returncode, done.stdout) == (2, "")
        assert (
            done.stderr
            == f"error: the command varquet needs the package {missing}, which is not installed. Hint: pip install 'varquet[cli]'\n"
        )

    def test_importing_the_command_loads_nothing_heavy(self) -> None:
        done = run_python(
            "import sys, varquet; before = set(sys.modules)\n"
            "import varquet.cli, varquet.cli.main; after = set(sys.modules)\n"
            "heavy = {'typer', 'rich', 'numpy', 'pyarrow', 'pandas', 'duckdb', 'deltalake', 'pyspark'}\n"
            "print(sorted(heavy & (after - before)), sorted(after & {'typer', 'rich', 'pandas', 'duckdb', 'deltalake', 'pyspark'}))"
        )
        assert (done.stdout, done.stderr) == ("[] []\n", "")

    @pytest.mark.parametrize("args", [["--help"], *([command, "--help"] for command in COMMANDS), ["sample", "oops"]])
    def test_help_and_usage_need_no_arrow(self, args: list[str]) -> None:
        done = run_python(
            "import sys, varquet; before = set(sys.modules)\n"
            "from varquet.cli.main import main\n"
            f"code = main({args!r})\n"
            "print(code, sorted({'numpy', 'pyarrow', 'pandas', 'pyspark'} & (set(sys.modules) - before)))"
        )
        assert done.stdout.splitlines()[-1] == f"{0 if '--help' in args else 2} []"


class TestUsage:
    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (["sample"], r"kind.* Hint: varquet sample --help$"),
            (["sample", "oops"], r"'oops' is not one of 'events', 'github', 'headers'.* Hint: varquet sample --help$"),
            (["sample", "events", "-n", "-1"], r"'--rows'.* Hint: varquet sample --help$"),
            (["sample", "events", "-n", "ten"], r"'--rows'.* Hint: varquet sample --help$"),
            (["sample", "events", "--start", "-1"], r"'--start'.*"),
            (["sample", "events", "--colour"], r"--colour.* Hint: varquet sample --help$"),
            (["smaple"], r"'smaple'.* Hint: varquet --help$"),
            (["sample", "events", "-n", str(10**15)], r"expected rows between 0 and \d+, got n=1000000000000000 from start=0$"),
        ],
    )
    def test_wrong_calls_fail_with_one_line(self, args: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(args) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert re.fullmatch("error: .*" + message, err.rstrip("\n"))
        assert "Value error" not in err
        assert main([*args, "--json"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        error = json.loads(err)["error"]
        assert set(error) == {"type", "message", "hint"}
        assert error["message"]

    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_command_has_an_example_and_json(self, command: str) -> None:
        shown = CliRunner().invoke(build_app(), [command, "--help"], env={"COLUMNS": "120", "NO_COLOR": "1"})
        assert shown.exit_code == 0
        assert f"Example: varquet {command}" in shown.output
        assert "--json" in shown.output

    def test_no_command_was_forgotten(self) -> None:
        assert tuple(command.name for command in build_app().registered_commands) == COMMANDS

    @pytest.mark.parametrize("command", COMMANDS)
    def test_the_examples_work(self, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import importlib

        monkeypatch.chdir(tmp_path)
        assert CliRunner().invoke(build_app(), ["sample", "events", "-n", "10", "-o", "events.ndjson"]).exit_code == 0
        if command in ("cat", "query", "inspect"):
            assert CliRunner().invoke(build_app(), ["ingest", "events.ndjson", "events.parquet"]).exit_code == 0
        elif command in ("convert", "diff"):
            assert CliRunner().invoke(build_app(), ["ingest", "events.ndjson", "draft.parquet", "--layout", "draft"]).exit_code == 0
        if command == "diff":
            assert CliRunner().invoke(build_app(), ["ingest", "events.ndjson", "events.parquet"]).exit_code == 0
        elif command == "sample":
            Path("events.ndjson").unlink()
        elif command in ("history", "optimize", "vacuum"):
            made = CliRunner().invoke(build_app(), ["ingest", "events.ndjson", "lake/events", "--table", "delta"])
            assert made.exit_code == 0
        example = importlib.import_module(f"varquet.cli.{command}").EXAMPLE
        args = shlex.split(example.removeprefix("Example: varquet ").replace("-n 100000", "-n 10"))
        assert CliRunner().invoke(build_app(), args).exit_code == 0

    def test_exit_codes(self) -> None:
        assert [(code.name, code.value) for code in ExitCode] == [("OK", 0), ("FINDINGS", 1), ("FAILURE", 2), ("INTERRUPTED", 130)]


class TestFailures:
    @pytest.mark.parametrize(
        ("error", "code", "line"),
        [
            (
                VarquetError("expected a, got b", row=3, path="$.x", hint="try c"),
                2,
                "error: expected a, got b - at row 3, $.x. Hint: try c",
            ),
            (VarquetError("first\nsecond"), 2, "error: first second"),
            (PermissionError(13, "Permission denied", "out.ndjson"), 2, "error: Permission denied: out.ndjson"),
            (
                ZeroDivisionError("division by zero"),
                2,
                "error: unexpected ZeroDivisionError: division by zero. Hint: VARQUET_DEBUG=1 shows where; please report it",
            ),
            (KeyboardInterrupt(), 130, "interrupted"),
            (BrokenPipeError(32, "Broken pipe"), 0, ""),
        ],
        ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
    )
    def test_what_a_command_raises(
        self, error: BaseException, code: int, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def fail() -> int:
            raise error

        monkeypatch.delenv("VARQUET_DEBUG", raising=False)
        monkeypatch.setattr("varquet.columns.threads.thread_count", fail)
        assert main(["info"]) == code
        assert capsys.readouterr() == ("", line + "\n" if line else "")

    def test_json_errors(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        monkeypatch.chdir(tmp_path)
        Path("old").write_text("old")
        assert main(["sample", "events", "-o", "old", "--json"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert json.loads(err) == {
            "error": {
                "type": "VarquetError",
                "message": "expected the name of a new file, got old, which exists",
                "hint": "--force replaces it",
            }
        }


class TestSampleToFile:
    @pytest.fixture(autouse=True)
    def _here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

    @pytest.mark.parametrize("kind", Kind)
    def test_it_writes_the_rows_and_says_so(self, kind: Kind) -> None:
        done = CliRunner().invoke(build_app(), ["sample", kind, "-n", "5000", "--seed", "9", "-o", "out.ndjson", "--json"])
        assert (done.exit_code, done.stderr) == (0, "")
        expected = b"".join(line + b"\n" for line in generate(kind, 5000, seed=9))
        assert Path("out.ndjson").read_bytes() == expected
        assert json.loads(done.stdout) == {
            "path": "out.ndjson", "kind": str(kind), "rows": 5000, "bytes": len(expected), "seed": 9, "start": 0,
        }  # fmt: skip

    def test_people_get_lines(self) -> None:
        done = CliRunner().invoke(build_app(), ["sample", "events", "-n", "5000", "-o", "out.ndjson"])
        size = f"{Path('out.ndjson').stat().st_size:,}"
        assert done.stdout.split("\n") == ["path   out.ndjson", "kind   events", "rows   5,000", f"bytes  {size}", ""]

    def test_an_existing_file_is_replaced_with_force_only(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("out").write_text("mine")
        assert main(["sample", "events", "-o", "out"]) == 2
        assert capsys.readouterr().err == "error: expected the name of a new file, got out, which exists. Hint: --force replaces it\n"
        assert Path("out").read_text() == "mine"
        assert main(["sample", "events", "-o", "out", "--force"]) == 0
        assert Path("out").read_bytes().split(b"\n")[0] == next(generate("events", 1))
        assert os.listdir() == ["out"]

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            ("none/out", "expected a file in an existing directory, got none{sep}out. Hint: mkdir -p none"),
            (".", "expected the name of an ordinary file, got ., which is something else"),
        ],
    )
    def test_names_that_cannot_be_written(self, target: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["sample", "events", "-o", target, "--force"]) == 2
        assert capsys.readouterr() == ("", f"error: {message.format(sep=os.sep)}\n")
        assert os.listdir() == []

    @pytest.mark.skipif(sys.platform == "win32", reason="POSIX devices")
    def test_a_device_is_never_replaced(self, capsys: pytest.CaptureFixture[str]) -> None:
        os.mkfifo("pipe")
        assert main(["sample", "events", "-o", "pipe", "--force"]) == 2
        assert "expected the name of an ordinary file, got pipe" in capsys.readouterr().err
        assert Path("pipe").is_fifo()


class TestNewFile:
    def test_the_name_appears_only_at_the_end(self, tmp_path: Path) -> None:
        target = tmp_path / "out"
        with files.new_file(target, force=False) as file:
            file.write(b"new")
            assert not target.exists()
        assert target.read_bytes() == b"new"
        assert list(tmp_path.iterdir()) == [target]

    def test_a_failure_keeps_what_was_there(self, tmp_path: Path) -> None:
        target = tmp_path / "out"
        target.write_bytes(b"old")

        def write_half() -> None:
            with files.new_file(target, force=True) as file:
                file.write(b"half")
                raise RuntimeError("disk")

        with pytest.raises(RuntimeError, match="disk"):
            write_half()
        assert target.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [target]

    def test_a_file_made_meanwhile_is_not_replaced(self, tmp_path: Path) -> None:
        target = tmp_path / "out"

        def race() -> None:
            with files.new_file(target, force=False) as file:
                file.write(b"new")
                target.write_bytes(b"other")

        with pytest.raises(VarquetError, match="which exists"):
            race()
        assert target.read_bytes() == b"other"
        assert list(tmp_path.iterdir()) == [target]

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        real, link = tmp_path / "real", tmp_path / "link"
        real.write_bytes(b"old")
        try:
            link.symlink_to(real)
        except OSError:
            pytest.skip("no links here")
        with files.new_file(link, force=True) as file:
            file.write(b"new")
        assert link.is_symlink()
        assert real.read_bytes() == b"new"


class TestOutput:
    def test_long_lines_are_not_wrapped(self, capsys: pytest.CaptureFixture[str]) -> None:
        Output.choose(as_json=False).result({}, [("a", "x" * 300), ("long", "[bold]not markup[/bold]")])
        assert capsys.readouterr().out == f"a     {'x' * 300}\nlong  [bold]not markup[/bold]\n"

    def test_json_is_ascii_whatever_the_terminal(self, capsys: pytest.CaptureFixture[str]) -> None:
        Output.choose(as_json=True).result({"name": "é\udc80"}, [])
        out = capsys.readouterr().out
        assert out.isascii()
        assert json.loads(out) == {"name": "é\udc80"}

    @pytest.mark.parametrize("output", [ConsoleOutput(), JsonOutput()])
    def test_no_progress_where_nobody_looks(self, output: Output, capsys: pytest.CaptureFixture[str]) -> None:
        with output.progress("work", 10) as advance:
            advance(5)
        assert capsys.readouterr() == ("", "")

    def test_progress_goes_to_stderr(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        with ConsoleOutput().progress("counting", 10) as advance:
            advance(10)
        out, err = capsys.readouterr()
        assert out == ""
        assert "counting" in err


@pytest.mark.skipif(sys.platform == "win32", reason="the Java here is a shell script")
class TestInfo:
    @pytest.fixture
    def java(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path / "path"))

        def make(folder: str, script: str) -> Path:
            program = tmp_path / folder / "java"
            program.parent.mkdir(parents=True)
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)
            return program

        return make

    def facts(self) -> dict[str, object]:
        done = CliRunner().invoke(build_app(), ["info", "--json"])
        assert done.exit_code == 0
        facts = json.loads(done.stdout)
        assert isinstance(facts, dict)
        return facts

    def test_java_on_the_path(self, java: Callable[[str, str], Path]) -> None:
        program = java("path", """echo 'openjdk version "21.0.4" 2026-07-15' >&2""")
        assert self.facts()["java"] == {"version": "21.0.4", "path": str(program)}

    def test_java_home_comes_first(self, java: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
        java("path", """echo 'openjdk version "21.0.4"' >&2""")
        program = java("home/bin", """echo 'java version "17.0.9" LTS' >&2""")
        monkeypatch.setenv("JAVA_HOME", str(program.parents[1]))
        assert self.facts()["java"] == {"version": "17.0.9", "path": str(program)}

    def test_a_java_home_without_java_falls_back(self, java: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
        program = java("path", """echo 'openjdk version "21.0.4"' >&2""")
        monkeypatch.setenv("JAVA_HOME", str(program.parents[1] / "gone"))
        assert self.facts()["java"] == {"version": "21.0.4", "path": str(program)}

    @pytest.mark.parametrize("script", ["echo 'No Java runtime present' >&2; exit 1", "exit 0"])
    def test_a_java_that_does_not_run(self, java: Callable[[str, str], Path], script: str) -> None:
        java("path", script)
        assert self.facts()["java"] is None

    def test_no_java(self, java: Callable[[str, str], Path], capsys: pytest.CaptureFixture[str]) -> None:
        assert self.facts()["java"] is None
        assert main(["info"]) == 0
        assert re.search(r"^java +not found$", capsys.readouterr().out, re.MULTILINE)

    def test_why_the_kernels_are_not_compiled(
        self, java: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(kernels, "ACTIVE", "interpreted")
        monkeypatch.setattr(kernels, "REASON", "no C compiler")
        assert main(["info"]) == 0
        assert re.search(r"^kernels +interpreted \(no C compiler\)$", capsys.readouterr().out, re.MULTILINE)
        assert self.facts()["kernels"] == {"active": "interpreted", "reason": "no C compiler"}

    def test_packages_that_are_not_installed(
        self, java: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(info, "_OPTIONAL", ("varquet-no-such-package",))
        assert main(["info"]) == 0
        assert re.search(r"^varquet-no-such-package +not installed$", capsys.readouterr().out, re.MULTILINE)
