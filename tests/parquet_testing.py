"""Where the conformance suites of apache/parquet-testing are: data that is read where it is present and never copied here."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["DIRECTORY", "WHY_SKIPPED"]

DIRECTORY = Path(os.environ.get("VARQUET_PARQUET_TESTING") or Path(__file__).parents[2] / "shared" / "data" / "parquet-testing")
WHY_SKIPPED = "apache/parquet-testing is not here; clone it and set VARQUET_PARQUET_TESTING to its directory"
