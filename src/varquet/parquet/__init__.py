"""Parquet files: their footers read and patched, their columns written and read."""
