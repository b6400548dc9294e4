"""Maps that Paimon's own writer has put into its shared-shredding layout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import varquet as vq

WRITER = Path(__file__).parents[1] / "paimon_writer.py"

ROWS: list[dict[str, str | None] | None] = [
    {"content-type": "application/json", "user-agent": "mobile-app", "x-request-id": "req-001", "b": None},
    None,
    {},
    {"x-request-id": None},
    {"é,\U0001f600": "", "": "empty", "content-type": None},
    *({f"key-{k % 37}": str(k), "content-type": "text/html"} for k in range(2_000)),
]


@pytest.fixture(scope="session")
def pypaimon() -> str:
    """A Python that has pypaimon: that of VARQUET_PYPAIMON, or one that is made once, because it wants another pyarrow than ours."""
    named = os.environ.get("VARQUET_PYPAIMON")
    if named:
        return named
    folder = Path(sys.prefix) / "pypaimon"
    python = folder / "bin" / "python"
    if not (folder / "done").exists():
        try:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True, timeout=120)
            install = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "pypaimon>=2.1"]
            subprocess.run(install, check=True, capture_output=True, timeout=600)
        except (OSError, subprocess.SubprocessError) as error:
            shutil.rmtree(folder, ignore_errors=True)
            pytest.skip(f"pypaimon 2.1 or later cannot be installed: {error}")
        (folder / "done").touch()
    return str(python)


@pytest.mark.paimon
@pytest.mark.parametrize(("columns", "compression"), [(256, "zstd"), (2, "zstd"), (3, "lz4"), (1, "none")])
def test_shared_shredding_by_paimon(pypaimon: str, tmp_path: Path, columns: int, compression: str) -> None:
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps(ROWS), encoding="utf-8")
    subprocess.run([pypaimon, WRITER, tmp_path / "warehouse", rows, str(columns), compression], check=True)
    (file,) = (tmp_path / "warehouse").rglob("*.parquet")
    assert (pq.ParquetFile(file).schema_arrow.field("headers").metadata or {})[b"paimon.map.storage-layout"] == b"shared-shredding"
    found = vq.read(file)
    assert _dicts(found["headers"].to_pylist()) == ROWS
    assert found["id"].to_pylist() == list(range(len(ROWS)))
    assert vq.scan(file).where("headers['content-type'] = 'text/html'").count() == 2_000
    # Such files are not lost to anyone: they become files with columns for hot keys.
    vq.convert(file, tmp_path / "sidecars.parquet", maps={"headers": ["content-type"]})
    assert _dicts(vq.read(tmp_path / "sidecars.parquet")["headers"].to_pylist()) == ROWS


def _dicts(rows: list[Any]) -> list[Any]:
    return [None if row is None else dict(row) for row in rows]
