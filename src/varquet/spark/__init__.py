"""varquet on Spark: the same kernels in Spark's Python workers, tables that Spark and others read.

    ingest(spark, source, path)   raw JSON files or a DataFrame to a shredded table, in one call
    write(df, path, plan)         a DataFrame to a shredded table
    write_stream(df, path, ...)   a stream to a shredded table, each batch exactly once
    read_stream(spark, path)      the rows that come into a table, as a stream
    profile(df, column)           exact facts about every path of a column
    analyze(df, column)           the plan that they lead to

All of it needs the extra [spark], on the driver and on the executors.
"""

from __future__ import annotations

from varquet.spark.ingesting import ingest
from varquet.spark.jobs import Report
from varquet.spark.profiling import analyze, profile
from varquet.spark.streaming import read_stream, write_stream
from varquet.spark.writing import write

__all__ = ["Report", "analyze", "ingest", "profile", "read_stream", "write", "write_stream"]
