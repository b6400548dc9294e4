"""The physical types of one value, as text: what casts and comparisons never let one see."""

from __future__ import annotations

from decimal import Decimal

from varquet.types import Family
from varquet.variant.decimals import unscaled_and_scale
from varquet.variant.model import Node, Scalar

__all__ = ["schema_of"]


def schema_of(node: Node) -> str:
    """The types as the encoding names them; the elements of an array are the types that occur, in the order of their names.

    >>> from varquet.variant.json_text import parse_json
    >>> schema_of(parse_json('{"id": 1, "price": 12.50, "tags": ["a", 1, "b"], "none": []}'))
    'object<id: int8, none: array<>, price: decimal4(2), tags: array<int8 | string>>'
    """
    # Every value twice: first its children are put before it, then their texts are taken from `done`.
    done: list[str] = []
    pending: list[tuple[Node, bool]] = [(node, False)]
    while pending:
        here, is_ready = pending.pop()
        if isinstance(here, Scalar):
            done.append(_scalar(here))
        elif not is_ready:
            pending.append((here, True))
            pending += ((child, False) for child in (here.values() if isinstance(here, dict) else here))
        else:
            # The last child was done first.
            children = [done.pop() for _ in range(len(here))]
            if isinstance(here, dict):
                fields = sorted(zip(here, children, strict=True))
                done.append(f"object<{', '.join(f'{_name(name)}: {kind}' for name, kind in fields)}>")
            else:
                done.append(f"array<{' | '.join(sorted(set(children)))}>")
    return done[0]


def _scalar(scalar: Scalar) -> str:
    if scalar.type.family is Family.BOOLEAN:
        return "boolean"
    if isinstance(scalar.value, Decimal):
        return f"{scalar.type.name}({unscaled_and_scale(scalar.value)[1]})"
    return scalar.type.name


def _name(name: str) -> str:
    is_plain = name.isidentifier()
    return name if is_plain else "`" + name.replace("`", "``") + "`"
