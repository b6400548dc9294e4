"""`varquet ingest --spark`: the command, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import varquet as vq

pytestmark = pytest.mark.spark


@pytest.mark.usefixtures("spark")
def test_raw_files_become_a_table(tmp_path: Path) -> None:
    lines = [json.dumps({"id": row, "kind": "ab"[row % 2]}) for row in range(200)]
    (tmp_path / "raw.ndjson").write_text("\n".join([*lines, "nope"]))
    command = [sys.executable, "-m", "varquet", "ingest", "raw.ndjson", "table", "--spark", "local[1]", "--json"]
    done = subprocess.run([*command, "--partition-by", "$.kind string"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout)
    assert (report["rows"], report["quarantined"], report["schemas"]) == (200, 1, {"v": "id bigint, kind string"})
    assert vq.scan(tmp_path / "table").select({"id": "$.id bigint"}).where("kind = 'a'").count() == 100
    failed = subprocess.run(
        [*command, "--on-error", "raise", "--mode", "overwrite"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert failed.returncode == 2
    message = json.loads(failed.stderr.splitlines()[-1])["error"]
    assert message["type"] == "JsonError" and "raw.ndjson, line 201: expected a value, got 'nope'" in message["message"]
    assert vq.scan(tmp_path / "table").count() == 200
