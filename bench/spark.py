"""Spark, for the benchmarks that compare with it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Sessions", "bytes_read", "has_java"]


def has_java() -> bool:
    """Whether there is a Java for Spark; a word on stderr if not."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    if found is None:
        print("Spark is left out: there is no Java. Hint: install a Java runtime of version 17 or later", file=sys.stderr)
    return found is not None


class Sessions:
    """A session for each number of threads, of which one runs at a time: calling it with a number starts it."""

    def __init__(self, **options: str) -> None:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        self.options = options
        self.running: dict[int, SparkSession] = {}

    def __call__(self, threads: int) -> SparkSession:
        from pyspark.sql import SparkSession

        if threads not in self.running:
            for one in self.running.values():
                one.stop()
            self.running.clear()
            builder = SparkSession.builder.master(f"local[{threads}]").config("spark.ui.enabled", "false")
            builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.driver.memory", "4g")
            # As anybody would set it for so few cores: by default it is 200.
            builder = builder.config("spark.sql.shuffle.partitions", str(threads))
            for name, value in self.options.items():
                builder = builder.config(name, value)
            self.running[threads] = builder.getOrCreate()
            self.running[threads].sparkContext.setLogLevel("OFF")
        return self.running[threads]


def bytes_read(spark: SparkSession) -> int:
    """What the JVM has read so far: its own metric leaves out much of it."""
    jvm: Any = spark.sparkContext._jvm
    lines = Path(f"/proc/{jvm.java.lang.ProcessHandle.current().pid()}/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["rchar"])
