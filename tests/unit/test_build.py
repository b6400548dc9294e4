"""The build: what the generator leaves in the Cython text, what is compiled, and what happens where nothing can be."""

from __future__ import annotations

import importlib.metadata
import re
import stat
import sys
import tomllib
from pathlib import Path

import pytest

import backend
import doctor
import kernels as generator
import native
from varquet import kernels

ROOT = Path(__file__).parents[2]
TEXTS = [(mode, name) for mode in generator.MODES for name in generator.names()]

# Words of the dialect that mean nothing to Cython, or a Python object where a C number is meant.
LEFT_OVERS = re.compile(
    r"varquet\.kernels\.source|from __future__|^@kernel\b|^@inlined\b|\w+BytesView\b|\w+IntsView\b|\b(?:in|out)_(?:bytes|ints)\(|& M64\b",
    re.MULTILINE,
)


def test_the_generator_makes_every_module_that_the_loader_loads() -> None:
    assert set(generator.names()) == set(kernels.load(kernels.ACTIVE))
    assert set(generator.MODES) == set(kernels.BUILDS) - {"interpreted"}


@pytest.mark.parametrize(("mode", "name"), TEXTS)
def test_generated_text_has_no_left_overs_of_the_dialect(mode: str, name: str) -> None:
    assert not LEFT_OVERS.findall(generator.generate(name, mode))


@pytest.mark.parametrize(("mode", "name"), TEXTS)
def test_large_literals_are_c_numbers(mode: str, name: str) -> None:
    for number, _size in re.findall(r"\b(0x[0-9A-Fa-f]+|\d+)(?!U?LL)\b(U?LL)?", generator.generate(name, mode)):
        assert int(number, 0 if number.startswith("0x") else 10) < 1 << 31


@pytest.mark.parametrize("name", generator.names())
def test_checked_text_reads_memory_through_memoryviews_only(name: str) -> None:
    text = generator.generate(name, "checked")
    assert "boundscheck=True" in text.splitlines()[0]
    assert not re.search(r"\bunsigned char \*|\blong long \*", text)


@pytest.mark.parametrize("build", ["compiled", "checked"])
def test_compiled_modules_use_the_stable_abi(build: str) -> None:
    try:
        modules = kernels.load(build)
    except ImportError:
        pytest.skip(f"the {build} kernels are not built here: python build_tools/build.py --mode {build}")
    for verb, module in modules.items():
        assert module.__file__ is not None
        assert Path(module.__file__).name == f"{verb}{native.suffix()}"
    if native.LIMITED_API and sys.platform != "win32":
        assert native.suffix() == ".abi3.so"


def test_version_has_one_source() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert importlib.metadata.version("varquet") == project["version"]


def test_lock_names_no_registry() -> None:
    for lock in ROOT.glob("requirements*.lock"):
        assert not re.search(r"://|--(?:index|extra|find|hash)", lock.read_text(encoding="utf-8")), lock.name


@pytest.mark.parametrize(("asked", "modes"), [(None, ["compiled"]), ("compiled,checked", ["compiled", "checked"]), ("none", [])])
def test_environment_chooses_the_modes(monkeypatch: pytest.MonkeyPatch, asked: str | None, modes: list[str]) -> None:
    if asked is None:
        monkeypatch.delenv("VARQUET_BUILD", raising=False)
    else:
        monkeypatch.setenv("VARQUET_BUILD", asked)
    assert native.modes_wanted() == modes


@pytest.mark.parametrize("asked", ["fast", "none,compiled", ","])
def test_unknown_modes_are_refused(monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    monkeypatch.setenv("VARQUET_BUILD", asked)
    with pytest.raises(SystemExit, match="expected VARQUET_BUILD to be 'none' or some of compiled, checked"):
        native.modes_wanted()


@pytest.fixture
def without_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No C compiler can be found, and nothing that was built before."""
    monkeypatch.setenv("CC", str(tmp_path / "no-such-compiler"))
    monkeypatch.delenv("VARQUET_BUILD", raising=False)
    monkeypatch.setattr(native, "_zig", lambda: None)
    monkeypatch.setattr(native, "WORK", tmp_path / "build" / "kernels")
    monkeypatch.setattr(native, "PACKAGE", tmp_path / "package")


@pytest.mark.usefixtures("without_compiler")
def test_without_a_compiler_the_build_asks_for_zig(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_ZIG_PLATFORMS", {sys.platform: {native.platform.machine().lower()}})
    monkeypatch.setattr(native, "_has_python_header", lambda: True)
    assert native.ZIG in backend.get_requires_for_build_wheel()
    assert native.ZIG in backend.get_requires_for_build_editable()
    monkeypatch.setattr(native, "_ZIG_PLATFORMS", {})
    assert native.ZIG not in backend.get_requires_for_build_wheel()


@pytest.mark.usefixtures("without_compiler")
def test_where_nothing_compiles_the_build_goes_on_and_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    assert backend._compile() == []
    assert "THE KERNELS WERE NOT COMPILED" in capfd.readouterr().err


@pytest.mark.usefixtures("without_compiler")
def test_asking_for_nothing_compiles_nothing(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("VARQUET_BUILD", "none")
    assert backend._compile() == []
    assert native.zig_requirements() == []
    assert capfd.readouterr().err == ""


def fake_java(directory: Path, says: str) -> None:
    program = directory / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


@pytest.mark.skipif(sys.platform == "win32", reason="the pretended Java is a shell script")
@pytest.mark.parametrize(
    ("says", "problem"),
    [
        ('openjdk version "17.0.15" 2025-04-15', None),
        ('openjdk version "21" 2023-09-19', None),
        ('openjdk version "11.0.2" 2019-01-15', "is Java 11"),
        ('java version "1.8.0_392"', "is Java 8"),
        ("The operation could not be completed. Unable to locate a Java Runtime.", "Unable to locate a Java Runtime"),
    ],
)
def test_doctor_knows_java_by_its_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, says: str, problem: str | None) -> None:
    fake_java(tmp_path, says)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = doctor.java_problem()
    assert (found is None) if problem is None else (found is not None and problem in found[0])


def test_doctor_names_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(doctor, "OLDEST_PYTHON", (4, 0))
    monkeypatch.setenv("CC", str(tmp_path / "no-such-compiler"))
    assert doctor.main([]) == 2
    said = capsys.readouterr().err
    assert "missing: Python 4.0 or later is needed" in said
    assert "warning: No C compiler is on the PATH" in said
    assert "Java" not in said
    assert doctor.main(["--spark"]) == 2
    assert f"there is none in JAVA_HOME ({tmp_path})" in capsys.readouterr().err
