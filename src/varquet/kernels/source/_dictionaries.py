"""From the names of a row's dictionary to those of a schema, and back.

A schema's names are given once, all different, sorted by unsigned bytes: name k is names[name_offsets[k]:name_offsets[k + 1]].
"""

from __future__ import annotations

from varquet.kernels.source._bytes import DICT_COUNT, ROW_DICT, ROW_NAMES, find_name
from varquet.kernels.source.dialect import InBytes, InInts, OutInts, i64, inlined, kernel

NOT_IN_SCHEMA = -1


@inlined
def compare_with_schema(metadata: InBytes, start: i64, length: i64, names: InBytes, name_offsets: InInts, name: i64) -> i64:
    """-1, 0 or 1: how a dictionary's name compares with a schema's by unsigned bytes."""
    other: i64 = name_offsets[name]
    other_length: i64 = name_offsets[name + 1] - other
    shared: i64 = length if length < other_length else other_length
    k: i64
    for k in range(shared):
        if metadata[start + k] != names[other + k]:
            return -1 if metadata[start + k] < names[other + k] else 1
    if length == other_length:
        return 0
    return -1 if length < other_length else 1


@kernel
def match_dictionary(
    metadata: InBytes, names: InBytes, name_offsets: InInts, name_count: i64, found: OutInts, at: i64, state: OutInts
) -> i64:
    """Write to found[at + id] the schema's name that each name of the row's open dictionary is; 0 or minus a code.

    Both are sorted as a rule, so that one pass over the two finds all; where the dictionary is not, the search starts anew.
    """
    count: i64 = state[ROW_DICT + DICT_COUNT]
    field: i64
    name: i64 = 0
    order: i64
    code: i64
    low: i64
    high: i64
    for field in range(count):
        code = find_name(metadata, state, field, ROW_NAMES)
        if code < 0:
            return code
        found[at + field] = NOT_IN_SCHEMA
        if name > 0 and compare_with_schema(metadata, state[ROW_NAMES], state[ROW_NAMES + 1], names, name_offsets, name - 1) <= 0:
            low = 0
            high = name
            while low < high:
                name = (low + high) >> 1
                if compare_with_schema(metadata, state[ROW_NAMES], state[ROW_NAMES + 1], names, name_offsets, name) > 0:
                    low = name + 1
                else:
                    high = name
            name = low
        while name < name_count:
            order = compare_with_schema(metadata, state[ROW_NAMES], state[ROW_NAMES + 1], names, name_offsets, name)
            if order <= 0:
                if order == 0:
                    found[at + field] = name
                    name += 1
                break
            name += 1
    return 0
