"""Hypothesis strategies for shredding schemas: any legal one, and ones that know the data.

primitive_types()    every type of the standard's table, decimals of any precision and scale
schemas()            any schema, with the field names that trip up writers
schemas_for(nodes)   schemas that share names and types with these values, and differ from them in places
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import pyarrow as pa
from hypothesis import strategies as st
from strategies import EDGE_KEYS, keys

from varquet.schema import ShreddingSchema
from varquet.types import PRIMITIVES, Family
from varquet.variant.model import Node, Scalar

__all__ = ["primitive_types", "schema_for", "schemas", "schemas_for"]

_DIGITS: Final = (1, 2, 9, 10, 18, 19, 37, 38)
_FIXED_TYPES: Final = tuple({kind.arrow for kind in PRIMITIVES if kind.arrow is not None and kind.family is not Family.NULL})
_INTEGERS: Final = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_MOST_FIELDS: Final = 6


def primitive_types() -> st.SearchStrategy[pa.DataType]:
    """A type that a typed_value can have."""
    decimals = (st.sampled_from(_DIGITS) | st.integers(1, 38)).flatmap(
        lambda precision: st.integers(0, precision).map(lambda scale: pa.decimal128(precision, scale))
    )
    return st.sampled_from(sorted(_FIXED_TYPES, key=str)) | decimals


def schemas(*, max_leaves: int = 8) -> st.SearchStrategy[ShreddingSchema]:
    """Any legal schema, whatever the data is; a primitive or value only at the simplest."""
    leaf = st.just(ShreddingSchema.value()) | primitive_types().map(ShreddingSchema.primitive)
    return st.recursive(
        leaf,
        lambda child: child.map(ShreddingSchema.array) | st.dictionaries(keys(), child, max_size=_MOST_FIELDS).map(ShreddingSchema.object),
        max_leaves=max_leaves,
    )


def schemas_for(nodes: Sequence[Node | None]) -> st.SearchStrategy[ShreddingSchema]:
    """A schema made for these values: many of its paths and types are theirs, some are not."""
    given = [node for node in nodes if node is not None]
    return st.integers(0, 1 << 32).map(lambda seed: schema_for(given, random.Random(seed)))


def schema_for(nodes: list[Node], choice: random.Random, depth: int = 0) -> ShreddingSchema:
    """One such schema, by a source of chance."""
    chance = choice.random()
    if chance < 0.08 or (not nodes and chance < 0.5) or depth > 6:
        return ShreddingSchema.value()
    if chance < 0.16 or not nodes:
        return _unlike(choice, depth)
    like = choice.choice(nodes)
    if isinstance(like, dict):
        return _object_for([node for node in nodes if isinstance(node, dict)], choice, depth)
    if isinstance(like, list):
        elements = [child for node in nodes if isinstance(node, list) for child in node[:8]]
        return ShreddingSchema.array(schema_for(elements, choice, depth + 1))
    return ShreddingSchema.primitive(_type_for(like, choice))


def _object_for(nodes: list[dict[str, Node]], choice: random.Random, depth: int) -> ShreddingSchema:
    names = sorted({name for node in nodes for name in node})
    chosen = choice.sample(names, choice.randint(0, min(len(names), _MOST_FIELDS)))
    if choice.random() < 0.3:
        chosen.append(choice.choice(EDGE_KEYS))
    return ShreddingSchema.object({name: schema_for([node[name] for node in nodes if name in node], choice, depth + 1) for name in chosen})


def _type_for(scalar: Scalar, choice: random.Random) -> pa.DataType:
    if scalar.type.family is Family.NULL:
        return choice.choice(_FIXED_TYPES)
    if scalar.type.family is not Family.EXACT:
        return scalar.type.arrow
    if isinstance(scalar.value, Decimal):
        _, digits, exponent = scalar.value.as_tuple()
        # As narrow as the number needs, one digit too narrow, or wider.
        scale = max(0, -int(exponent) + choice.choice((-1, 0, 0, 0, 1)))
        precision = max(len(digits), scale) + choice.choice((-1, 0, 0, 1, 9))
    else:
        if choice.random() < 0.6:
            return choice.choice((scalar.type.arrow, *_INTEGERS))
        scale = choice.choice((0, 0, 2))
        precision = len(str(abs(int(scalar.value or 0)))) + scale + choice.choice((-1, 0, 0, 3))
    precision = min(38, max(1, precision))
    return pa.decimal128(precision, min(scale, precision)) if choice.random() < 0.85 else choice.choice(_INTEGERS)


def _unlike(choice: random.Random, depth: int) -> ShreddingSchema:
    """A schema that takes no notice of the data."""
    what = choice.random()
    if what < 0.25 and depth < 4:
        return ShreddingSchema.array(_unlike(choice, depth + 1))
    if what < 0.5 and depth < 4:
        return ShreddingSchema.object({name: _unlike(choice, depth + 1) for name in choice.sample(EDGE_KEYS, choice.randint(1, 3))})
    return ShreddingSchema.primitive(choice.choice(_FIXED_TYPES))
