"""How hard hypothesis tries, and where the data of apache/parquet-testing is.

VARQUET_HYPOTHESIS chooses the profile: `short` (the default), `ci` (as short, the same examples in every run) or `long`.
"""

from __future__ import annotations

import os
from pathlib import Path

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
