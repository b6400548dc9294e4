"""The facts of a profile counted by hand: the twin of the kernel, one value at a time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from varquet.profiles.facts import Steps
from varquet.schema import ELEMENT
from varquet.types import Family
from varquet.variant import encode
from varquet.variant.decimals import unscaled_and_scale
from varquet.variant.model import Node, Scalar

__all__ = ["bytes_by_hand", "count_by_hand", "type_name"]


def type_name(node: Node) -> str:
    if isinstance(node, dict):
        return "object"
    if isinstance(node, list):
        return "array"
    return "boolean" if node.type.family is Family.BOOLEAN else node.type.name


def _walk(values: Sequence[Node | None]) -> Iterator[tuple[int, Steps, Node]]:
    """All values with their rows and paths."""
    for row, value in enumerate(values):
        waiting: list[tuple[Steps, Node]] = [] if value is None else [((), value)]
        while waiting:
            steps, node = waiting.pop()
            yield row, steps, node
            if isinstance(node, dict):
                waiting += [((*steps, name), child) for name, child in node.items()]
            elif isinstance(node, list):
                waiting += [((*steps, ELEMENT), child) for child in node]


def bytes_by_hand(values: Sequence[Node | None]) -> dict[Steps, int]:
    """How many bytes the values of paths without containers take where nothing takes more than it needs."""
    found: dict[Steps, int] = defaultdict(int)
    containers: set[Steps] = set()
    for _, steps, node in _walk(values):
        if isinstance(node, (dict, list)):
            containers.add(steps)
        found[steps] += len(encode(node)[1])
    return {steps: size for steps, size in found.items() if steps not in containers}


def count_by_hand(values: Sequence[Node | None]) -> dict[Steps, dict[str, Any]]:
    """For every path: count, rows, types, the range of integers, digits and scale of decimals, and lengths of arrays."""
    found: dict[Steps, dict[str, Any]] = defaultdict(
        lambda: {"count": 0, "rows": set(), "types": Counter(), "integers": [], "digits": [], "lengths": [], "distinct": set()}
    )
    for row, steps, node in _walk(values):
        facts = found[steps]
        facts["count"] += 1
        facts["rows"].add(row)
        facts["types"][type_name(node)] += 1
        if isinstance(node, list):
            facts["lengths"].append(len(node))
        elif not isinstance(node, dict):
            _scalar(facts, node)
    return {
        steps: {
            "count": facts["count"],
            "rows": len(facts["rows"]),
            "types": dict(facts["types"]),
            "integer_range": (min(facts["integers"]), max(facts["integers"])) if facts["integers"] else None,
            "decimal_digits": (max(0, *(d for d, _ in facts["digits"])), max(s for _, s in facts["digits"])) if facts["digits"] else None,
            "array_lengths": (min(facts["lengths"]), max(facts["lengths"]), sum(facts["lengths"])) if facts["lengths"] else None,
        }
        for steps, facts in found.items()
    }


def _scalar(facts: dict[str, Any], node: Scalar) -> None:
    if isinstance(node.value, Decimal):
        unscaled, scale = unscaled_and_scale(node.value)
        digits = len(str(abs(unscaled)))
        facts["digits"].append((digits - scale, scale))
    elif node.type.family is Family.EXACT:
        facts["integers"].append(node.value)
