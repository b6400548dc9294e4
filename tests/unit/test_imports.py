"""`import varquet` costs next to nothing: what is heavy loads when it is used, in a process of its own to see it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ("pyspark", "py4j", "deltalake", "duckdb", "typer", "rich", "pandas")


def modules_after(code: str) -> set[str]:
    """The top-level modules that a fresh Python has loaded after running this."""
    script = f"import sys, json\n{code}\nprint(json.dumps(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_import_loads_nothing_heavy() -> None:
    loaded = modules_after("import varquet")
    assert "varquet" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_import_does_not_even_load_arrow() -> None:
    assert modules_after("import varquet").isdisjoint({"pyarrow", "numpy"})


def test_using_the_verbs_loads_nothing_heavy() -> None:
    loaded = modules_after(
        "import struct, varquet as vq, pyarrow as pa\n"
        "text = b'{\"a\": [1, 2.5]}'\n"
        # pa.array would load pandas by itself, where it is installed.
        "texts = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(struct.pack('<2i', 0, len(text))), pa.py_buffer(text)])\n"
        "column = vq.parse_json(texts)\n"
        "vq.validate(column)\n"
        "vq.extract(column, '$.a[1]', pa.float64())\n"
        "vq.to_json(column)\n"
        "repr(vq.Variant.from_json('{}'))"
    )
    assert "pyarrow" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_the_command_loads_no_engine() -> None:
    assert modules_after("import varquet.cli.main").isdisjoint(HEAVY)


def test_every_public_name_can_be_loaded() -> None:
    import varquet

    for name in varquet.__all__:
        assert getattr(varquet, name) is not None
        assert name in dir(varquet)
    with pytest.raises(AttributeError, match="'parse_jsn'"):
        varquet.parse_jsn  # noqa: B018


def test_import_time_is_told() -> None:
    """Printed (pytest -s shows it), never asserted: how fast a busy machine is says nothing about the code."""
    script = (
        "import time; a = time.perf_counter(); import varquet; b = time.perf_counter(); varquet.parse_json; "
        "print(b - a, time.perf_counter() - b)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    package, verbs = map(float, done.stdout.split())
    print(f"import varquet: {package * 1000:.0f} ms; the first verb with pyarrow, numpy and the kernels: {verbs * 1000:.0f} ms")
