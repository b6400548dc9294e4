"""A scan finds the rows that looking at every row finds: any data, schema, cut into row groups and files, and any predicate."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pyarrow as pa
from hypothesis import given, note, settings
from hypothesis import strategies as st
from query_by_hand import is_true_of, random_predicate
from schema_strategies import schemas, schemas_for
from shredded_rules import stored_as
from strategies import scalars
from variant_columns import column_of

import varquet as vq
from varquet.queries.grammar import parse_predicate, predicate_text
from varquet.variant import decode, encode
from varquet.variant.model import Node

_KEYS = st.sampled_from(("a", "b", "c", "a.b"))
_ROWS = st.lists(
    st.none()
    | st.recursive(scalars(), lambda child: st.lists(child, max_size=3) | st.dictionaries(_KEYS, child, max_size=3), max_leaves=6),
    min_size=1,
    max_size=12,
)
_PREDICATES = 12


def written(rows: list[Node | None], schema: vq.ShreddingSchema, folder: Path, chance: random.Random) -> list[Path]:
    """The rows in files with row groups of any size, numbered."""
    column = column_of([None if row is None else encode(row) for row in rows])
    table = pa.table({"n": pa.array(range(len(rows)), pa.int64()), "v": column})
    table = table.set_column(1, vq.variant_field("v"), table["v"])
    cut = chance.randint(0, len(rows))
    made = []
    for part in (table.slice(0, cut), table.slice(cut)):
        if part.num_rows:
            made.append(folder / f"{len(made)}.parquet")
            vq.write(
                part, made[-1], {"v": schema}, row_group_rows=chance.randint(1, 5), layout=chance.choice(["parquet", "parquet", "draft"])
            )
    return made


@given(rows=_ROWS, data=st.data(), seed=st.integers(0, 1 << 32))
@settings(deadline=None)
def test_scan_is_filtering_every_row(rows: list[Node | None], data: st.DataObject, seed: int) -> None:
    chance = random.Random(seed)
    schema = data.draw(schemas_for(rows) if chance.random() < 0.8 else schemas())
    note(f"schema: {schema.ddl()}")
    with tempfile.TemporaryDirectory() as folder:
        files = written(rows, schema, Path(folder), chance)
        # A shredded number has the type of its column, which casts to text show; fields are sorted.
        rows = [None if row is None else decode(*encode(stored_as(row, schema))) for row in rows]
        query = vq.scan(files, column="v", threads=1)
        for _ in range(_PREDICATES):
            predicate = random_predicate(rows, chance)
            note(f"predicate: {predicate_text(predicate)}")
            expected = [number for number, is_true in enumerate(is_true_of(predicate, rows)) if is_true]
            assert query.select("n").where(predicate).table()["n"].to_pylist() == expected
            # Its text says the same.
            assert is_true_of(parse_predicate(predicate_text(predicate)), rows) == is_true_of(predicate, rows)
