"""The pipeline through Spark Connect: the same calls, in a process of their own, because a process has sessions of one kind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import varquet as vq

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'varquet[spark]'")
pytest.importorskip("grpc", reason="grpcio is not installed, which Spark Connect needs: pip install 'pyspark[connect]'")

pytestmark = pytest.mark.spark

SCRIPT = """
import json, sys, warnings
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
from pyspark.sql import SparkSession
from varquet import spark as vqs

folder = sys.argv[1]
spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
report = vqs.ingest(spark, f"{folder}/raw.ndjson", f"{folder}/table", split_bytes=5000)
frame = vqs.read(spark, f"{folder}/table")
view = vqs.view(spark, f"{folder}/table", {"id": "$.id bigint", "m": "$.m string"})
vqs.write(frame, f"{folder}/written", partition_by="$.k string")
frame.write.format("varquet").mode("append").save(f"{folder}/saved")
vqs.convert(spark, f"{folder}/table", f"{folder}/draft", "draft")
print(json.dumps({
    "session": type(spark).__module__,
    "report": [report.rows, report.quarantined, report.files > 1],
    "profile": [vqs.profile(frame, "v").rows, vqs.profile_table(spark, f"{folder}/table").rows],
    "view": [list(row) for row in view.where("id < 6").orderBy("id").collect()],
    "partition": vqs.read(spark, f"{folder}/written").where("k = 'k1'").count(),
    "saved": spark.read.format("varquet").load(f"{folder}/saved").count(),
    "draft": spark.read.format("varquet").option("select", "$.id bigint").load(f"{folder}/draft").agg({"id": "sum"}).collect()[0][0],
}))
spark.stop()
"""


@pytest.mark.usefixtures("spark")
def test_the_same_calls_work_through_spark_connect(tmp_path: Path) -> None:
    lines = [json.dumps({"id": row, "k": f"k{row % 3}", "m": row if row % 5 else "text"}) for row in range(500)]
    (tmp_path / "raw.ndjson").write_text("\n".join([*lines, "nope"]))
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    for name in ("SPARK_REMOTE", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, check=False, env=environment, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "session": "pyspark.sql.connect.session",
        "report": [500, 1, True],
        "profile": [500, 500],
        "view": [[row, str(row) if row % 5 else "text"] for row in range(6)],
        "partition": 167,
        "saved": 500,
        "draft": sum(range(500)),
    }
    assert vq.scan(tmp_path / "table").count() == 500
