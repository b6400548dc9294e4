"""The data source `varquet`: `spark.read.format("varquet")`, `df.write.format("varquet")`, and both for streams.

Spark asks short-lived Python processes to plan and to commit, and has its Python workers read and write; what they tell each other is
pickled.
"""

from __future__ import annotations

from pyspark.sql import datasource as api
from pyspark.sql.types import StructType

from varquet.spark.arrow import spark_schema_of
from varquet.spark.source_reading import Reader, Reading
from varquet.spark.source_streams import stream_reader
from varquet.spark.source_writing import StagedWriter, StreamWriter, Writer, Writing, query_of

__all__ = ["VarquetSource"]


class VarquetSource(api.DataSource):
    """Tables of varquet, whatever their layout."""

    @classmethod
    def name(cls) -> str:
        return "varquet"

    def schema(self) -> StructType:
        return spark_schema_of(Reading.of(self.options).scan().schema)

    def reader(self, schema: StructType) -> api.DataSourceReader:
        return Reader(Reading.of(self.options), schema)

    def streamReader(self, schema: StructType) -> api.DataSourceStreamReader:  # noqa: N802
        return stream_reader(Reading.of(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> api.DataSourceWriter:
        return Writer(Writing.of(self.options, schema), overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> api.DataSourceStreamWriter:  # noqa: N802
        if "staged" in self.options:
            return StagedWriter(self.options)
        return StreamWriter(Writing.of(self.options, schema), query_of(self.options))
