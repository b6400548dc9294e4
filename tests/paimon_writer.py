"""Writes rows of maps by pypaimon in its shared-shredding layout; runs in an environment that has it, not in that of the tests.

python paimon_writer.py WAREHOUSE ROWS.json COLUMNS COMPRESSION
"""

from __future__ import annotations

import json
import sys

import pyarrow as pa
from pypaimon import CatalogFactory, Schema  # type: ignore[import-not-found]


def main() -> None:
    warehouse, rows_file, columns, compression = sys.argv[1:]
    schema = pa.schema([("id", pa.int64()), ("headers", pa.map_(pa.string(), pa.string()))])
    options = {
        "file.format": "parquet",
        "file.compression": compression,
        "fields.headers.map.storage-layout": "shared-shredding",
        "fields.headers.map.shared-shredding.max-columns": columns,
    }
    catalog = CatalogFactory.create({"warehouse": warehouse})
    catalog.create_database("db", True)
    catalog.create_table("db.headers", Schema.from_pyarrow_schema(schema, options=options), True)
    builder = catalog.get_table("db.headers").new_batch_write_builder()
    with open(rows_file, encoding="utf-8") as file:
        rows = json.load(file)
    maps = [None if row is None else list(row.items()) for row in rows]
    writer, commit = builder.new_write(), builder.new_commit()
    writer.write_arrow(pa.table({"id": list(range(len(rows))), "headers": maps}, schema=schema))
    commit.commit(writer.prepare_commit())
    writer.close()
    commit.close()


main()
