"""varquet on Spark: the same kernels in Spark's Python workers."""
