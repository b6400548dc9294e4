"""How hard hypothesis tries, and where the data of apache/parquet-testing is.

VARQUET_HYPOTHESIS chooses the profile: `short` (the default), `ci` (as short, the same examples in every run) or `long`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow.fs as pafs
import pytest
from hypothesis import HealthCheck, settings
from parquet_testing import DIRECTORY, WHY_SKIPPED

# Compiled or interpreted, alone or beside other work: how long an example takes says nothing.
_COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("short", parent=_COMMON, max_examples=100)
settings.register_profile("ci", parent=_COMMON, max_examples=100, derandomize=True, database=None, print_blob=True)
settings.register_profile("long", parent=_COMMON, max_examples=5_000)
settings.load_profile(os.environ.get("VARQUET_HYPOTHESIS", "short"))


@pytest.fixture(scope="session")
def parquet_testing() -> Path:
    """The directory of apache/parquet-testing; the test is skipped where it is not here."""
    if not DIRECTORY.is_dir():
        pytest.skip(WHY_SKIPPED)
    return DIRECTORY


@pytest.fixture(scope="session")
def object_store_port() -> Iterator[int]:
    """The port of an emulator of S3 on this machine."""
    server = pytest.importorskip("moto.server", reason="moto is not installed: it is in the dependency group dev")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    emulator = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    emulator.start()
    yield emulator.get_host_and_port()[1]
    emulator.stop()


@pytest.fixture(scope="session")
def object_store(object_store_port: int) -> pafs.FileSystem:
    """That store as a filesystem, in which buckets can be made."""
    address = f"http://127.0.0.1:{object_store_port}"
    return pafs.S3FileSystem(access_key="a", secret_key="b", endpoint_override=address, region="us-east-1", allow_bucket_creation=True)
