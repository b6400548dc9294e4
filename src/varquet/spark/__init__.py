"""varquet on Spark: the same kernels in Spark's Python workers, tables that Spark and others read.

    ingest(spark, source, path)   raw JSON files or a DataFrame to a shredded table, in one call
    write(df, path, plan)         a DataFrame to a shredded table
    read(spark, path)             a table as a DataFrame whose column is a `variant`, by Spark's native reader
    view(spark, path, columns)    paths as typed columns that Spark prunes, and filters by statistics, like any others
    write_stream(df, path, ...)   a stream to a shredded table, each batch exactly once
    read_stream(spark, path)      the rows that come into a table, as a stream
    profile(df, column)           exact facts about every path of a column
    analyze(df, column)           the plan that they lead to
    profile_table, analyze_table  the same for Parquet files of any layout, file by file
    convert(spark, src, dest)     Parquet files from one layout to another, every value verified

All of it needs the extra [spark], on the driver and on the executors.
"""

from __future__ import annotations

from varquet.spark.ingesting import ingest
from varquet.spark.profiling import analyze, profile
from varquet.spark.reading import read
from varquet.spark.streaming import read_stream, write_stream
from varquet.spark.tables import analyze_table, convert, profile_table
from varquet.spark.views import view
from varquet.spark.writing import write
from varquet.tables.write_job import Report

__all__ = [
    "Report",
    "analyze",
    "analyze_table",
    "convert",
    "ingest",
    "profile",
    "profile_table",
    "read",
    "read_stream",
    "view",
    "write",
    "write_stream",
]
