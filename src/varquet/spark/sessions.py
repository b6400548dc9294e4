"""A Spark session for commands, which have none."""

from __future__ import annotations

import os
import shutil
import sys
import warnings

from pyspark.sql import SparkSession

from varquet.errors import VarquetError

__all__ = ["start_session"]


def start_session(master: str, name: str) -> SparkSession:
    """A session on a master, as local[2] or spark://host:7077; its workers run this Python unless PYSPARK_PYTHON names another."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=os.path.join(home, "bin") if home else None) is None:
        raise VarquetError("expected a Java runtime of version 17 or later, got none on PATH or in JAVA_HOME", hint="Spark needs one")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # pyspark warns of every pandas from 3.0 on as soon as it touches Arrow; nothing here uses pandas.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    builder = SparkSession.builder.master(master).appName(name)
    if master.startswith("local"):
        # Nobody else has to find this driver; names that do not resolve are no reason to fail.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = builder.config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    # What goes wrong comes back as an error; Spark would log all of it again, with its own stack.
    session.sparkContext.setLogLevel("OFF")
    return session
