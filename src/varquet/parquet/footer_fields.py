"""The numbers that fields have in the structs of a Parquet footer, a page index and a page, and those of encodings (parquet.thrift)."""

from __future__ import annotations

from typing import Final

# FileMetaData
VERSION: Final = 1
SCHEMA: Final = 2
NUM_ROWS: Final = 3
ROW_GROUPS: Final = 4
KEY_VALUES: Final = 5
CREATED_BY: Final = 6

# SchemaElement
ELEMENT_TYPE: Final = 1
ELEMENT_REPETITION: Final = 3
ELEMENT_NAME: Final = 4
ELEMENT_CHILDREN: Final = 5

# RowGroup
GROUP_COLUMNS: Final = 1
GROUP_BYTES: Final = 2
GROUP_ROWS: Final = 3
GROUP_FILE_OFFSET: Final = 5
GROUP_COMPRESSED: Final = 6

# ColumnChunk
CHUNK_FILE_OFFSET: Final = 2
CHUNK_METADATA: Final = 3
CHUNK_OFFSET_INDEX: Final = 4
CHUNK_OFFSET_INDEX_LENGTH: Final = 5
CHUNK_COLUMN_INDEX: Final = 6
CHUNK_COLUMN_INDEX_LENGTH: Final = 7

# ColumnMetaData
META_TYPE: Final = 1
META_ENCODINGS: Final = 2
META_PATH: Final = 3
META_CODEC: Final = 4
META_VALUES: Final = 5
META_UNCOMPRESSED: Final = 6
META_COMPRESSED: Final = 7
META_DATA_PAGE: Final = 9
META_INDEX_PAGE: Final = 10
META_DICTIONARY_PAGE: Final = 11
META_STATISTICS: Final = 12
META_PAGE_ENCODINGS: Final = 13
META_SIZES: Final = 16

# Statistics
STATISTICS_NULLS: Final = 3
STATISTICS_GREATEST: Final = 5
STATISTICS_LEAST: Final = 6
STATISTICS_GREATEST_IS_EXACT: Final = 7
STATISTICS_LEAST_IS_EXACT: Final = 8

# SizeStatistics
SIZES_TEXT_BYTES: Final = 1
SIZES_REPETITION: Final = 2
SIZES_DEFINITION: Final = 3

# PageEncodingStats
PAGES_KIND: Final = 1
PAGES_ENCODING: Final = 2
PAGES_COUNT: Final = 3

# ColumnIndex
INDEX_NULL_PAGES: Final = 1
INDEX_LEAST: Final = 2
INDEX_GREATEST: Final = 3
INDEX_ORDER: Final = 4
INDEX_NULLS: Final = 5

# OffsetIndex and PageLocation
PAGES: Final = 1
PAGE_OFFSET: Final = 1
PAGE_SIZE: Final = 2
PAGE_ROW: Final = 3

# PageHeader; DataPageHeader, DataPageHeaderV2 and DictionaryPageHeader
HEADER_KIND: Final = 1
HEADER_RAW_SIZE: Final = 2
HEADER_SIZE: Final = 3
HEADER_V1: Final = 5
HEADER_DICTIONARY: Final = 7
HEADER_V2: Final = 8
HEADER_VALUES: Final = 1
HEADER_ENCODING: Final = 2
HEADER_DEFINITION: Final = 3
HEADER_REPETITION: Final = 4

# Encoding
PLAIN: Final = 0
PLAIN_DICTIONARY: Final = 2
RLE: Final = 3
DELTA_BINARY_PACKED: Final = 5
DELTA_LENGTH_BYTE_ARRAY: Final = 6
DELTA_BYTE_ARRAY: Final = 7
RLE_DICTIONARY: Final = 8
BYTE_STREAM_SPLIT: Final = 9
