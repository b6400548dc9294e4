"""A few thousand of the fuzzer's inputs on the active kernels; `python fuzz/run.py` has a million, on the checked ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import varquet as vq
from varquet import kernels

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # the fuzzer is no part of the package

from fuzz import verbs  # noqa: E402
from fuzz.inputs import Batch, batch  # noqa: E402

_COUNT = 20 if kernels.ACTIVE == "interpreted" else 1000


@pytest.mark.parametrize("number", [0, 1, 2])
def test_damaged_inputs_through_every_verb(number: int) -> None:
    inputs = batch(2025, number, _COUNT)
    verbs.warm_up(Batch(inputs.rows[:50], inputs.texts[:50]))
    figures = verbs.run(inputs, number)
    assert figures.counts["inputs"] == figures.counts["texts"] == _COUNT
    # The harness would prove little if nothing were legal any more, or everything.
    for kind in ("variants", "JSON texts"):
        assert 0.1 * _COUNT < figures.counts[kind] < 0.7 * _COUNT


@pytest.mark.skipif(kernels.ACTIVE == "interpreted", reason="minutes without a compiler")
def test_large_inputs_through_every_verb() -> None:
    assert verbs.run(batch(2025, 49, 1), 49).counts["inputs"] == 20


def test_inputs_depend_on_the_seed_and_the_batch_alone() -> None:
    assert batch(1, 2, 50) == batch(1, 2, 50)
    assert batch(1, 2, 50) != batch(1, 3, 50)
    assert batch(1, 2, 50) != batch(2, 2, 50)


def test_the_command_reports_figures() -> None:
    command = [sys.executable, str(ROOT / "fuzz" / "run.py"), "--inputs", "40", "--size", "20", "--build", kernels.ACTIVE]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert "passed: 40 inputs" in done.stdout


def test_a_fault_is_found_and_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness is worth nothing unless it fails when a verb does."""
    original = vq.to_json

    def faulty(column: pa.Array, **options: Any) -> object:
        if any(row["value"][:1] == b"\x0c" for row in column.to_pylist()):
            raise IndexError("Out of bounds on buffer access (axis 0)")
        return original(column, **options)

    monkeypatch.setattr(vq, "to_json", faulty)
    with pytest.raises(verbs.FaultError, match="to_json: IndexError: Out of bounds"):
        verbs.run(Batch([(b"\x01\x00\x00", b"\x0c\x05")], []), 0)
