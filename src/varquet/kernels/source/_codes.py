"""Numbers that kernels and their drivers share: why a row was refused, and what a kernel ran out of."""

from __future__ import annotations

# Why a JSON text was refused (status of a row in parse_json; the byte offset is beside it).
JSON_VALUE = 1
JSON_BEHIND_FIELD = 2
JSON_BEHIND_ELEMENT = 3
JSON_NAME = 4
JSON_FIELD_OR_END = 5
JSON_COLON = 6
JSON_END = 7
JSON_DIGIT = 8
JSON_CONTROL = 9
JSON_UTF8 = 10
JSON_ESCAPE = 11
JSON_HEX = 12
JSON_HIGH_SURROGATE = 13
JSON_LOW_SURROGATE = 14
JSON_CLOSING_QUOTE = 15
JSON_IN_RANGE = 16
JSON_NEW_NAME = 17
JSON_TOO_LARGE = 18

# What a kernel ran out of; its driver grows that and calls again at the row the kernel stopped at.
NEED_NOTHING = 0
NEED_TAPE = 1
NEED_SCALARS = 2
NEED_KEYS = 3
NEED_KEY_BYTES = 4
NEED_FRESH_KEYS = 5
NEED_METADATA = 6
NEED_VALUE = 7
NEED_STACK = 8
NEED_TEXT = 9

# Why bytes are not a Variant (status of a row in validate, to_json and extract).
BAD_METADATA_EMPTY = 1
BAD_METADATA_VERSION = 2
BAD_METADATA_TRUNCATED = 3
BAD_METADATA_OFFSETS = 4
BAD_METADATA_UTF8 = 5
BAD_METADATA_LENGTH = 6
BAD_VALUE_EMPTY = 7
BAD_VALUE_TRUNCATED = 8
BAD_VALUE_LENGTH = 9
BAD_TAG = 10
BAD_FIELD_ID = 11
BAD_OFFSET = 12
BAD_STRING_UTF8 = 13
BAD_DECIMAL_SCALE = 14
BAD_DECIMAL_DIGITS = 15
BAD_TIME = 16
BAD_DUPLICATE_NAME = 17
BAD_EXPANSION = 18
BAD_SORTED_FLAG = 19
BAD_FIELD_ORDER = 20
BAD_RESERVED_BITS = 21
BAD_DECIMAL_WIDTH = 22

# Why shredded columns do not make a Variant (status of a row in unshred).
BAD_BOTH_SET = 32
BAD_RESIDUAL_KIND = 33
BAD_RESIDUAL_NAME = 34
BAD_MISSING_NAME = 35
BAD_OBJECT_IN_VALUE = 36
