"""Ask random queries of random files, and every row by hand: `python fuzz/queries.py [--evaluations 1000000] [--seed 0]`.

An evaluation is one predicate of one row. Data has shapes that repeat, values that are sorted in places, and conflicts; schemas
share paths and types with it, files and row groups are cut anywhere. A scan must find the rows of which the predicate is true when
each of them is decoded and looked at. What differs is printed with the seed of its round, and ends the run with 1.
`--round SEED` runs one round again.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
for folder in (ROOT, ROOT / "tests"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from cast_values import random_values  # noqa: E402
from patched_footers import patch_file  # noqa: E402
from query_by_hand import is_true_of, random_predicate  # noqa: E402
from schema_strategies import schema_for  # noqa: E402
from shredded_rules import stored_as  # noqa: E402
from variant_columns import column_of  # noqa: E402

import varquet as vq  # noqa: E402
from varquet.queries import opened  # noqa: E402
from varquet.queries.grammar import predicate_text  # noqa: E402
from varquet.types import BY_NAME  # noqa: E402
from varquet.variant import decode, encode  # noqa: E402
from varquet.variant.model import Node, Scalar  # noqa: E402

_PREDICATES = 30
_PROGRESS_SECONDS = 15.0


def main(arguments: list[str] | None = None) -> int:
    """Run; 0 if all agree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--round", type=int)
    options = parser.parse_args(arguments)
    seeds = random.Random(options.seed)
    # These files are small; their pages are to be read apart all the same.
    opened._WORTH_PAGES = 0  # type: ignore[misc]
    done = skipped = groups = rounds = 0
    shown = time.monotonic()
    while done < options.evaluations:
        seed = seeds.getrandbits(48) if options.round is None else options.round
        evaluations, left_out, all_groups, problem = one_round(seed)
        if problem is not None:
            print(f"round {seed}: {problem}", flush=True)
            return 1
        done, skipped, groups, rounds = done + evaluations, skipped + left_out, groups + all_groups, rounds + 1
        if options.round is not None:
            break
        if time.monotonic() - shown > _PROGRESS_SECONDS:
            shown = time.monotonic()
            print(f"{done:,} evaluations", flush=True)
    share = skipped / max(1, groups)
    print(f"{done:,} evaluations in {rounds:,} rounds agree; {skipped:,} of {groups:,} row groups were skipped ({share:.1%})", flush=True)
    return 0


def one_round(seed: int) -> tuple[int, int, int, str | None]:
    """Evaluations, row groups skipped, all row groups, and what is wrong."""
    chance = random.Random(seed)
    rows = _rows(chance)
    given = [row for row in rows if row is not None]
    schema = schema_for(given, chance)
    skipped = groups = 0
    with tempfile.TemporaryDirectory() as folder:
        query = vq.scan(_written(rows, schema, Path(folder), chance), column="v", threads=1).select("n")
        stored = [None if row is None else decode(*encode(stored_as(row, schema))) for row in rows]
        for _ in range(_PREDICATES):
            predicate = random_predicate(stored, chance, depth=chance.choice((0, 0, 1, 3)))
            expected = [number for number, is_true in enumerate(is_true_of(predicate, stored)) if is_true]
            asked = query.where(predicate)
            found = asked.table()["n"].to_pylist()
            if found != expected:
                return 0, 0, 0, f"{predicate_text(predicate)} finds {found}, not {expected}; schema {schema.ddl()}"
            told = asked.explain()
            groups += told.row_groups
            skipped += told.row_groups - told.row_groups_read
    return len(rows) * _PREDICATES, skipped, groups, None


def _rows(chance: random.Random) -> list[Node | None]:
    count = chance.randint(1, 120)
    values = random_values(40, seed=chance.getrandbits(32))
    shapes = [_shape(chance, values, depth=0) for _ in range(chance.randint(1, 3))]
    rows: list[Node | None] = []
    for number in range(count):
        if chance.random() < 0.03:
            rows.append(None)
        else:
            rows.append(_made(chance.choice(shapes), number, count, values, chance))
    return rows


def _shape(chance: random.Random, values: list[Scalar], depth: int) -> Any:
    """What rows have in common: fields, elements, and what kind of values is where."""
    drawn = chance.random()
    if depth < 3 and drawn < (0.9 if depth == 0 else 0.35):
        return {name: _shape(chance, values, depth + 1) for name in chance.sample(("a", "b", "c", "a.b", "d"), chance.randint(1, 4))}
    if depth < 3 and drawn < 0.5:
        return [_shape(chance, values, depth + 1)]
    return chance.choice(("sorted", "constant", "few", "text", "double", "any")), chance.choice(values)


def _made(shape: Any, number: int, count: int, values: list[Scalar], chance: random.Random) -> Node:
    if chance.random() < 0.03:
        return chance.choice(values)
    if isinstance(shape, dict):
        return {name: _made(inner, number, count, values, chance) for name, inner in shape.items() if chance.random() < 0.9}
    if isinstance(shape, list):
        return [_made(shape[0], number, count, values, chance) for _ in range(chance.randint(0, 3))]
    how, like = shape
    if how == "sorted":
        return Scalar(BY_NAME["int32"], number * 7 - count)
    if how == "text":
        return Scalar(BY_NAME["string"], f"{number // 10:05d}{chance.choice('abé')}")
    if how == "double":
        return Scalar(BY_NAME["double"], chance.choice((number / 4, number / 4, float("nan"), -0.0)))
    if how == "few":
        return Scalar(BY_NAME["string"], chance.choice(("x", "y", "zebra")))
    if how == "any":
        return chance.choice(values)
    return like


def _written(rows: list[Node | None], schema: vq.ShreddingSchema, folder: Path, chance: random.Random) -> list[Path]:
    column = column_of([None if row is None else encode(row) for row in rows])
    fields = [pa.field("n", pa.int64()), vq.variant_field("v")]
    table = pa.Table.from_arrays([pa.array(range(len(rows)), pa.int64()), column], schema=pa.schema(fields))
    cut = chance.randint(0, len(rows))
    made = []
    for part in (table.slice(0, cut), table.slice(cut)):
        if part.num_rows:
            made.append(folder / f"{len(made)}.parquet")
            layout = "draft" if chance.random() < 0.1 else "parquet"
            vq.write(part, made[-1], {"v": schema}, row_group_rows=chance.choice((1, 5, 20, 50)), layout=layout)
            if layout == "parquet" and chance.random() < 0.4:
                _in_pages(made[-1], chance.choice((1, 3, 7)))
    return made


def _in_pages(path: Path, rows: int) -> None:
    """Write a file again, with pages of so few rows."""
    table = pq.read_table(path)
    pq.write_table(table, path, row_group_size=40, max_rows_per_page=rows, write_batch_size=rows, write_page_index=True)
    patch_file(path, [("v",)])


if __name__ == "__main__":
    sys.exit(main())
