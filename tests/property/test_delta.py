"""A Delta table at any version has the rows that a list would have, and no statistics ever skip a row that matches."""

from __future__ import annotations

import itertools
import json
import random
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given, note, settings
from hypothesis import strategies as st
from query_by_hand import is_true_of, random_predicate
from schema_strategies import schemas, schemas_for
from shredded_rules import stored_as
from strategies import scalars
from variant_columns import column_of

import varquet as vq
from varquet.delta.checkpoints import write_checkpoint
from varquet.delta.snapshot import load
from varquet.parquet.folder import Folder
from varquet.queries.grammar import predicate_text
from varquet.tables.delta import delete, optimize, vacuum
from varquet.tables.write import write_table
from varquet.variant import decode, encode
from varquet.variant.model import Node

# Tables are many files: a few of them tell as much as many.
_FEW = max(1, settings().max_examples // 5)
_PARTS = ("a", "ü/=% ", None)
_OPERATIONS = ("append", "append", "overwrite", "overwrite-partitions", "delete", "optimize", "sort", "checkpoint", "vacuum", "widen")

_DOCUMENTS = st.none() | st.dictionaries(
    st.sampled_from(("id", "kind", "x")), st.integers(-5, 5) | st.sampled_from(("a", "bb", "")) | st.booleans() | st.none(), max_size=3
)
_ROWS = st.lists(st.tuples(st.sampled_from(_PARTS), _DOCUMENTS), min_size=0, max_size=5)
_Row = tuple[int, str | None, Any, bool]


class _Model:
    """What a table should be: the rows of each version, and whether it has one more column."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.versions: list[list[_Row]] = []
        self.is_wide = False
        self.next = 0

    @property
    def rows(self) -> list[_Row]:
        return self.versions[-1] if self.versions else []

    def write(self, mode: Any, given: list[tuple[str | None, Any]]) -> None:
        made: list[_Row] = [(self.next + k, part, document, self.is_wide) for k, (part, document) in enumerate(given)]
        self.next += len(made)
        columns = {
            "n": pa.array([row[0] for row in made], pa.int64()),
            "part": pa.array([row[1] for row in made], pa.string()),
            "v": pa.array([None if row[2] is None else json.dumps(row[2]) for row in made], pa.string()),
        }
        if self.is_wide:
            columns["wide"] = pa.array([row[0] for row in made], pa.int64())
        write_table(
            pa.table(columns),
            self.path,
            {"v": "id bigint, kind string"},
            table="delta",
            mode=mode,
            partition_by="part",
            merge_schema=True,
            properties=None if self.versions else {"delta.checkpointInterval": "3"},
        )
        parts = {row[1] for row in made}
        kept = {
            "append": self.rows,
            "overwrite": [],
            "overwrite-partitions": [row for row in self.rows if row[1] not in parts],
        }[mode]
        self.versions.append([*kept, *made])

    def do(self, operation: str, given: list[tuple[str | None, Any]], chance: random.Random) -> None:
        if operation in ("append", "overwrite", "overwrite-partitions"):
            self.write(operation, given)
        elif operation == "widen":
            self.is_wide = True
            self.write("append", given)
        elif operation == "delete":
            part = chance.choice(_PARTS)
            done = delete(self.path, "part is null" if part is None else vq.column("part") == part)
            if done.removed_files:
                self.versions.append([row for row in self.rows if row[1] != part])
        elif operation in ("optimize", "sort"):
            done = optimize(self.path, sort_by="$.id bigint" if operation == "sort" else (), file_bytes=chance.choice([1, 1 << 20]))
            if done.version == len(self.versions):
                self.versions.append(self.rows)
        elif operation == "checkpoint":
            write_checkpoint(load(Folder.at(self.path)))
        else:
            # A file is needed by all versions that the retention keeps: these are all.
            assert vacuum(self.path).files == []

    def check(self, version: int) -> None:
        found = vq.scan(self.path, version=version, threads=1).table()
        names = found.schema.names
        wide = found["wide"].to_pylist() if "wide" in names else [None] * found.num_rows
        documents = [None if text is None else json.loads(text) for text in vq.to_json(found["v"]).to_pylist()]
        made = dict(zip(found["n"].to_pylist(), zip(found["part"].to_pylist(), documents, wide, strict=True), strict=True))
        assert len(made) == found.num_rows
        assert made == {n: (part, document, n if is_wide else None) for n, part, document, is_wide in self.versions[version]}


@given(steps=st.lists(st.tuples(st.sampled_from(_OPERATIONS), _ROWS), min_size=1, max_size=8), first=_ROWS, seed=st.integers(0, 1 << 32))
@settings(max_examples=_FEW)
def test_a_table_is_a_list_of_lists_of_rows(
    steps: list[tuple[str, list[tuple[str | None, Any]]]], first: list[tuple[str | None, Any]], seed: int
) -> None:
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        model = _Model(Path(folder) / "table")
        model.write("append", first)
        for operation, given_rows in steps:
            model.do(operation, given_rows, chance)
            assert load(Folder.at(model.path)).version == len(model.versions) - 1
        for version in range(len(model.versions)):
            model.check(version)


_NODES = st.lists(
    st.none()
    | st.recursive(
        scalars(),
        lambda child: st.lists(child, max_size=3) | st.dictionaries(st.sampled_from(("a", "b", "c", "a.b")), child, max_size=3),
        max_leaves=6,
    ),
    min_size=1,
    max_size=12,
)


@given(rows=_NODES, data=st.data(), seed=st.integers(0, 1 << 32))
@settings(max_examples=2 * _FEW)
def test_no_row_is_skipped_that_matches(rows: list[Node | None], data: st.DataObject, seed: int) -> None:
    chance = random.Random(seed)
    schema = data.draw(schemas_for(rows) if chance.random() < 0.8 else schemas())
    note(f"schema: {schema.ddl()}")
    column = column_of([None if row is None else encode(row) for row in rows])
    table = pa.table({"n": pa.array(range(len(rows)), pa.int64()), "v": column})
    table = table.set_column(1, vq.variant_field("v"), table["v"])
    with tempfile.TemporaryDirectory() as folder:
        cuts = sorted({0, len(rows), *(chance.randint(0, len(rows)) for _ in range(2))})
        for first, last in itertools.pairwise(cuts):
            write_table(
                table.slice(first, last - first), folder, {"v": schema}, table="delta", mode="append", row_group_rows=chance.randint(1, 5)
            )
        if chance.random() < 0.3:
            write_checkpoint(load(Folder.at(folder)))
        stored = [None if row is None else decode(*encode(stored_as(row, schema))) for row in rows]
        query = vq.scan(folder, threads=1)
        for _ in range(12):
            predicate = random_predicate(stored, chance)
            note(f"predicate: {predicate_text(predicate)}")
            expected = [number for number, is_true in enumerate(is_true_of(predicate, stored)) if is_true]
            assert sorted(query.select("n").where(predicate).table()["n"].to_pylist()) == expected
