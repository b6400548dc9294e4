"""Makes the data source `varquet` known to Spark, which looks into every module with a name like this one's."""

import contextlib

# An error here would keep Spark from finding any data source at all; without this one, it says that it does not know it.
with contextlib.suppress(ImportError):
    from varquet.spark.source import VarquetSource as DefaultSource

__all__ = ["DefaultSource"]
