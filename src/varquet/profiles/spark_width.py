"""The room that Spark gives the columns of a file: nodes of a schema take it from the root down, in the order of their names."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from varquet.profiles.facts import Steps
from varquet.schema import ELEMENT, Kind, ShreddingSchema
from varquet.schema.walk import ARRAY, END, OBJECT, VALUE, Event, Mark, fold

__all__ = ["in_java_order", "within_width"]


def in_java_order(name: str) -> bytes:
    """What names are ordered by where Java compares them: their UTF-16 code units."""
    return name.encode("utf-16-be", "surrogatepass")


def within_width(schema: ShreddingSchema, width: int, kept: Collection[Steps] = ()) -> ShreddingSchema:
    """The schema with as many columns as there is room for; paths that are kept need none.

    Every node takes one for its `value`, and a primitive another for its typed_value. Where nothing is left a node has no type,
    and the fields behind it are gone.
    """
    return fold(
        _walk(schema, width, kept),
        value=ShreddingSchema.value,
        primitive=ShreddingSchema.primitive,
        object=lambda fields: ShreddingSchema.object(fields) if fields else ShreddingSchema.value(),
        array=ShreddingSchema.array,
    )


def _walk(schema: ShreddingSchema, left: int, kept: Collection[Steps]) -> Iterator[Event]:
    pending: list[tuple[Steps, ShreddingSchema | None]] = [((), schema)]
    while pending:
        steps, node = pending.pop()
        if node is None:
            yield END
            continue
        is_kept = steps in kept
        if steps and steps[-1] is not ELEMENT:
            if left <= 0 and not is_kept:
                continue
            yield Mark.FIELD, steps[-1]
        left -= 1
        if (left <= 0 and not is_kept) or node.kind is Kind.VALUE:
            yield VALUE
        elif node.kind is Kind.PRIMITIVE:
            left -= 1
            yield Mark.PRIMITIVE, node.type
        else:
            yield OBJECT if node.kind is Kind.OBJECT else ARRAY
            pending.append((steps, None))
            if node.element is not None:
                pending.append(((*steps, ELEMENT), node.element))
            pending += [((*steps, name), child) for name, child in sorted(node.fields, key=lambda one: in_java_order(one[0]), reverse=True)]
