"""One Spark session for all tests that need one; without pyspark or Java they are skipped, and say why."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HERE = Path(__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "spark: needs pyspark and a Java runtime")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # pyspark warns of every pandas from 3.0 on as soon as it touches Arrow; nothing here uses pandas.
    ignore = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(ignore)


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session of two threads that keeps time in UTC and leaves nothing behind."""
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: pip install 'varquet[spark]'")
    if _java() is None:
        pytest.skip("Java is not installed: Spark needs a Java runtime of version 17 or later, on PATH or in JAVA_HOME")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session: SparkSession = (
            sql.SparkSession.builder.master("local[2]")
            .appName("varquet tests")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()
