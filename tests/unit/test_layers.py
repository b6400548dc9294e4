"""Imports point one way: the contracts in pyproject.toml hold, and break when somebody breaks them."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("importlinter", reason="import-linter is not installed: it is in the dependency group dev")

ROOT = Path(__file__).parents[2]


def lint(config: Path, *path: Path) -> subprocess.CompletedProcess[str]:
    command = f"import sys; sys.path[:0] = {[str(entry) for entry in path]!r}; from importlinter.cli import lint_imports_command as c; c()"
    arguments = ["--config", str(config), "--no-cache"]
    return subprocess.run([sys.executable, "-c", command, *arguments], capture_output=True, text=True, check=False, cwd=config.parent)


def test_contracts_are_kept() -> None:
    done = lint(ROOT / "pyproject.toml", ROOT / "src")
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_import_that_points_up_is_found(tmp_path: Path) -> None:
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][0]["layers"]
    package = tmp_path / "varquet"
    for name in (name.strip() for layer in layers for name in re.split(r"[|:]", layer)):
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "__main__.py").touch()
    config = tmp_path / "pyproject.toml"
    config.write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8"), encoding="utf-8")
    assert lint(config, tmp_path).returncode == 0
    (package / "variant" / "__init__.py").write_text("from varquet import kernels\n", encoding="utf-8")
    done = lint(config, tmp_path)
    assert done.returncode == 1
    assert "varquet.variant is not allowed to import varquet.kernels" in done.stdout
