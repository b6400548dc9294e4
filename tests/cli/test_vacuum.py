"""`varquet vacuum`: what dead jobs have left goes, and what they had decided is done."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from varquet.cli.main import main
from varquet.parquet.folder import Folder
from varquet.tables.directory import DirectoryTable


def test_vacuum_finishes_and_deletes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = DirectoryTable(Folder.at(tmp_path / "table"))
    code = "from varquet.tables.jobs import Job; print(Job.begin().folder)"
    dead, decided = (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() for _ in range(2)
    )
    table.folder.write(f"_varquet/{dead}/part.parquet.staged", b"x")
    table.folder.write(f"_varquet/{decided}/a.parquet.staged", b"y")
    journal = {"add": [[f"_varquet/{decided}/a.parquet.staged", "a.parquet"]], "remove": [], "plan": None}
    table.folder.write(f"_varquet/{decided}/commit.json", json.dumps(journal).encode())
    assert main(["vacuum", str(tmp_path / "table"), "--json"]) == 0
    assert sorted(json.loads(capsys.readouterr().out)["jobs"]) == sorted([dead, decided])
    assert [entry.path for entry in table.folder.entries()] == ["a.parquet"]
    assert main(["vacuum", str(tmp_path / "table")]) == 0
    assert capsys.readouterr().out.startswith("jobs  0 cleared away")
    assert main(["vacuum", str(tmp_path / "none")]) == 2
    assert "which does not exist" in capsys.readouterr().err
