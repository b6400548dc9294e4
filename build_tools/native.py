"""Compile the kernels: with the C compiler that is here, else with the one in the `ziglang` wheel.

    kernel source  -- kernels.generate -->  Cython text  -- Cython -->  C  -- compiler -->  <name>.abi3.so

What is made stays under `build/kernels/<mode>/` beside a record of what it was made from, so that a module whose text, tools
and flags have not changed is not made again.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import kernels

__all__ = ["LIMITED_API", "Built", "Compiler", "NativeBuildError", "build", "find_compiler", "install", "modes_wanted", "zig_requirements"]

WORK: Final = kernels.ROOT / "build" / "kernels"
PACKAGE: Final = kernels.ROOT / "src" / "varquet" / "kernels"

# The stable ABI of Python 3.11: one binary serves it and every later version. Builds without the GIL have none to offer yet.
LIMITED_API: Final = platform.python_implementation() == "CPython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
MACROS: Final = [("Py_LIMITED_API", "0x030B0000")] if LIMITED_API else []

# Kernels read Arrow buffers as bytes and as integers, and let integers wrap where they hash: neither is for the optimizer to reason about.
GCC_FLAGS: Final = ["-O3", "-g0", "-fno-strict-aliasing", "-fwrapv"]
MSVC_FLAGS: Final = ["/O2"]

# Without these, zig would build for this very processor, trap on what it takes for undefined behaviour, and write to the home directory.
ZIG_FLAGS: Final = ["-mcpu=baseline", "-fno-sanitize=undefined"]
ZIG: Final = "ziglang>=0.13"
_ZIG_PLATFORMS: Final = {
    "linux": {"x86_64", "i686", "aarch64", "armv7l", "ppc64le", "s390x", "riscv64"},
    "darwin": {"x86_64", "arm64"},
    "win32": {"amd64", "arm64", "x86"},
}

_PROBE: Final = "#include <Python.h>\n#include <string.h>\nint varquet_probe(void) { return (int)strlen(Py_GetVersion()); }\n"


class NativeBuildError(Exception):
    """The kernels could not be compiled."""


@dataclass(frozen=True)
class Compiler:
    """A C compiler: `system` is what setuptools finds (cc, gcc, clang, MSVC), `zig` is the one of the ziglang wheel."""

    kind: str
    command: str | None = None

    def __str__(self) -> str:
        if self.kind == "zig":
            return f"zig of ziglang {importlib.metadata.version('ziglang')}"
        return self.command or "the system's C compiler"


@dataclass(frozen=True)
class Built:
    """One compiled kernel module."""

    mode: str
    name: str
    file: Path

    @property
    def module(self) -> str:
        return f"varquet.kernels.{self.mode}.{self.name}"


def suffix() -> str:
    """How the file of a compiled module ends here."""
    if LIMITED_API and os.name != "nt":
        return ".abi3.so"
    return ".pyd" if LIMITED_API else str(sysconfig.get_config_var("EXT_SUFFIX"))


def modes_wanted() -> list[str]:
    """The builds that VARQUET_BUILD asks for: `compiled`, `checked`, both, or `none`."""
    asked = [word.strip() for word in os.environ.get("VARQUET_BUILD", "compiled").split(",") if word.strip()]
    if asked == ["none"]:
        return []
    unknown = [word for word in asked if word not in kernels.MODES]
    if unknown or not asked:
        raise SystemExit(f"expected VARQUET_BUILD to be 'none' or some of {', '.join(kernels.MODES)}, got {','.join(asked)!r}")
    return asked


def find_compiler() -> Compiler | None:
    """A compiler that can make a Python extension here, tried out; None where there is none."""
    if os.name == "nt":
        system = Compiler("system")
        return system if _works(system) else _zig()
    for command in _system_commands():
        system = Compiler("system", command)
        if shutil.which(shlex.split(command)[0]) and _works(system):
            return system
    return _zig()


def zig_requirements() -> list[str]:
    """What to install first so that the kernels can be compiled: nothing where a compiler is here, or none can be had."""
    machines = _ZIG_PLATFORMS.get(sys.platform, set())
    if platform.machine().lower() not in machines or not _has_python_header() or not modes_wanted():
        return []
    found = find_compiler()
    return [] if found is not None and found.kind == "system" else [ZIG]


def _has_python_header() -> bool:
    return (Path(sysconfig.get_paths()["include"]) / "Python.h").is_file()


def _system_commands() -> Iterator[str]:
    """What may be a C compiler: that of the environment alone, else the one Python was built with and the usual names."""
    if named := os.environ.get("CC"):
        yield named
        return
    yield str(sysconfig.get_config_var("CC") or "cc")
    yield from ("cc", "gcc", "clang")


def _zig() -> Compiler | None:
    zig = Compiler("zig")
    return zig if importlib.util.find_spec("ziglang") and _works(zig) else None


def _works(compiler: Compiler) -> bool:
    with tempfile.TemporaryDirectory(prefix="varquet-probe-") as scratch:
        source = Path(scratch) / "probe.c"
        source.write_text(_PROBE, encoding="utf-8")
        try:
            _compile(compiler, "probe", source, Path(scratch) / "out")
        except NativeBuildError:
            return False
        return True


def build(modes: Iterable[str], *, jobs: int = 2, quiet: bool = False) -> list[Built]:
    """Make the kernel modules of some modes under `build/`; NativeBuildError where no compiler here can."""
    wanted = [(mode, name) for mode in modes for name in kernels.names()]
    if not wanted:
        return []
    compiler = find_compiler()
    try:
        return _build_with(compiler, wanted, jobs=jobs, quiet=quiet)
    except NativeBuildError:
        second = _zig() if compiler is not None and compiler.kind == "system" else None
        if second is None:
            raise
        print(f"varquet: {compiler} failed, trying {second}", file=sys.stderr)
        return _build_with(second, wanted, jobs=jobs, quiet=quiet)


def _build_with(compiler: Compiler | None, wanted: list[tuple[str, str]], *, jobs: int, quiet: bool) -> list[Built]:
    with ThreadPoolExecutor(max(1, jobs), thread_name_prefix="kernel") as pool:
        return list(pool.map(lambda task: _make(task[0], task[1], compiler, quiet=quiet), wanted))


def install(built: Iterable[Built]) -> list[Path]:
    """Put compiled modules into the source tree, where an editable install finds them."""
    placed = []
    for module in built:
        target = PACKAGE / module.mode / module.file.name
        if not target.exists() or target.read_bytes() != module.file.read_bytes():
            # A process may have the old file mapped into its memory: replace it, never write into it.
            fresh = target.with_name(target.name + ".new")
            shutil.copyfile(module.file, fresh)
            os.replace(fresh, target)
            placed.append(target)
    return placed


def uninstall(modes: Iterable[str]) -> None:
    """Remove compiled modules from the source tree, so that none is left that no longer fits its source."""
    for mode in modes:
        for name in kernels.names():
            (PACKAGE / mode / f"{name}{suffix()}").unlink(missing_ok=True)


def _make(mode: str, name: str, compiler: Compiler | None, *, quiet: bool) -> Built:
    text = kernels.generate(name, mode)
    target = WORK / mode / f"{name}{suffix()}"
    record = target.with_name(f"{name}.made-from")
    made_from = _fingerprint(text, compiler)
    if target.exists() and record.exists() and record.read_text(encoding="utf-8") == made_from:
        return Built(mode, name, target)
    if compiler is None:
        raise NativeBuildError(_no_compiler())
    if not quiet:
        print(f"varquet: compiling kernels.{mode}.{name} with {compiler}", file=sys.stderr)
    target.parent.mkdir(parents=True, exist_ok=True)
    record.unlink(missing_ok=True)
    pyx = target.with_name(f"{name}.pyx")
    pyx.write_text(text, encoding="utf-8")
    source = pyx.with_suffix(".c")
    _run([sys.executable, "-m", "cython", "-3", "--module-name", f"varquet.kernels.{mode}.{name}", str(pyx), "-o", str(source)])
    out = target.with_name(f"{name}.out")
    shutil.rmtree(out, ignore_errors=True)
    os.replace(_compile(compiler, f"varquet.kernels.{mode}.{name}", source, out), target)
    shutil.rmtree(out, ignore_errors=True)
    record.write_text(made_from, encoding="utf-8")
    return Built(mode, name, target)


def _fingerprint(text: str, compiler: Compiler | None) -> str:
    parts = [
        text,
        importlib.metadata.version("cython"),
        str(compiler),
        repr((GCC_FLAGS, MSVC_FLAGS, ZIG_FLAGS, MACROS)),
        sysconfig.get_platform(),
        *(os.environ.get(name, "") for name in ("CFLAGS", "LDFLAGS", "ARCHFLAGS")),
    ]
    if not LIMITED_API:
        parts.append(sys.version)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _no_compiler() -> str:
    if not _has_python_header():
        return (
            f"Python.h is not in {sysconfig.get_paths()['include']}. "
            "Hint: install the headers of this Python (Debian and Ubuntu: python3-dev, Fedora: python3-devel)"
        )
    return (
        "no C compiler works here. "
        "Hint: install one (Debian, Ubuntu and Fedora: the package gcc; macOS: xcode-select --install) or `pip install ziglang`"
    )


def _compile(compiler: Compiler, module: str, source: Path, out: Path) -> Path:
    return _compile_with_zig(module, source, out) if compiler.kind == "zig" else _compile_with_system(compiler, module, source, out)


def _compile_with_system(compiler: Compiler, module: str, source: Path, out: Path) -> Path:
    flags = MSVC_FLAGS if os.name == "nt" else GCC_FLAGS
    script = Path(__file__).with_name("extension.py")
    command = [sys.executable, str(script), module, str(source), str(out), *map(json.dumps, (flags, MACROS, LIMITED_API))]
    answer = _run(command, environment={**os.environ, **({"CC": compiler.command} if compiler.command else {})})
    return Path(answer.splitlines()[-1])


def _compile_with_zig(module: str, source: Path, out: Path) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    target = out / f"{module.rpartition('.')[2]}{suffix()}"
    command = [sys.executable, "-m", "ziglang", "cc", "-shared", *GCC_FLAGS, *ZIG_FLAGS, f"-I{sysconfig.get_paths()['include']}"]
    command += [f"-D{name}={value}" for name, value in MACROS]
    if os.name == "nt":
        command += [f"-L{Path(sys.base_prefix) / 'libs'}"]
    else:
        command += ["-fPIC"]
    if sys.platform == "darwin":
        command += ["-undefined", "dynamic_lookup"]
    command += [str(source), "-o", str(target)]
    if os.name == "nt":
        command += ["-lpython3" if LIMITED_API else f"-lpython{sys.version_info.major}{sys.version_info.minor}"]
    caches = {name: str(WORK / "zig-cache") for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
    _run(command, environment={**os.environ, **caches})
    return target


def _run(command: list[str], *, environment: dict[str, str] | None = None) -> str:
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise NativeBuildError(f"{shlex.join(command)}: {error}") from error
    if done.returncode:
        raise NativeBuildError(f"{shlex.join(command)} ended with {done.returncode}:\n{(done.stderr or done.stdout)[-4000:]}")
    return done.stdout
