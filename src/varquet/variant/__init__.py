"""One Variant value: a lazy view of its bytes, and the readable reference code that reads and writes them.

Variant                  the value as a person handles it
Node = Scalar|list|dict  the value as plain Python, physical types kept
decode, encode           bytes <-> node
parse_json, to_json      JSON text <-> node
from_python, to_python   Python objects <-> node
equal, logical_key       the same value, however it is stored
fingerprint              a number that is the same for equal values
schema_of                the physical types of a value, as text
"""

from __future__ import annotations

from varquet.variant.decode import Metadata, decode, metadata_size, value_size
from varquet.variant.encode import encode
from varquet.variant.equality import equal, logical_key
from varquet.variant.fingerprint import fingerprint
from varquet.variant.json_errors import json_error
from varquet.variant.json_text import parse_json, to_json
from varquet.variant.model import NULL, Node, Payload, Scalar
from varquet.variant.python import Timestamp, from_python, to_python
from varquet.variant.schema_of import schema_of
from varquet.variant.value import Variant

__all__ = [
    "NULL",
    "Metadata",
    "Node",
    "Payload",
    "Scalar",
    "Timestamp",
    "Variant",
    "decode",
    "encode",
    "equal",
    "fingerprint",
    "from_python",
    "json_error",
    "logical_key",
    "metadata_size",
    "parse_json",
    "schema_of",
    "to_json",
    "to_python",
    "value_size",
]
