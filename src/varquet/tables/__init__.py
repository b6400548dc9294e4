"""Tables: folders of Parquet files, and how files come to be in them."""
