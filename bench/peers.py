"""Those who are compared: each prepares, in a process of its own, the jobs that it can do.

    varquet       Arrow batches of 32,768 rows in, Arrow arrays out, which are dropped; several threads take a batch each
    DuckDB        the same texts as an Arrow column of JSON, or a table of VARIANT in its memory; one aggregate takes the result
    orjson        every text to Python objects, which are dropped; it has no Variant and holds the GIL
    simdjson      every text to the tape of one parser, which the next text writes over: reading JSON, and nothing else
    reference     varquet.variant, the plain Python that kernels are tested against, on a few rows
    interpreted   the kernels' source run by Python, as where nothing could be compiled, on a few rows

Every job counts and sums what it made, so that it can be seen that all of them made the same.
"""

from __future__ import annotations

import collections
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from data import Sample, read_lines, text_batches, texts
from measure import Facts, Job
from report import UNLIKE

from varquet import extract, parse_json, to_json, validate
from varquet.paths import Path as VariantPath
from varquet.types import arrow_type_of_sql
from varquet.variant import Variant, decode, encode
from varquet.variant import parse_json as parse_node
from varquet.variant import to_json as node_to_json
from varquet.variant.cast import try_cast

__all__ = [
    "EXTRACTS",
    "NDJSON",
    "PARSE",
    "TO_JSON",
    "VALIDATE",
    "WORKS",
    "Extract",
    "duckdb_jobs",
    "orjson_jobs",
    "reference_jobs",
    "simdjson_jobs",
    "varquet_jobs",
]

T = TypeVar("T")

_CHECKED_ROWS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Extract:
    """One path and the type it is read as; no type keeps Variants."""

    path: str
    type: str | None

    @property
    def work(self) -> str:
        return f"extract {self.path} {self.type or 'variant'}"


NDJSON: Final = "NDJSON file to variant"
PARSE: Final = "parse_json"
PARSE_SHARED: Final = "parse_json, shared metadata"
EXTRACTS: Final = (
    Extract("$.id", "bigint"),
    Extract("$.user.geo.lat", "double"),
    Extract("$.user.email", "string"),
    Extract("$.user", None),
)
TO_JSON: Final = "to_json"
VALIDATE: Final = "validate"
WORKS: Final = (PARSE, PARSE_SHARED, NDJSON, *(one.work for one in EXTRACTS), TO_JSON, VALIDATE)


def _total(facts: Iterable[Facts]) -> Facts:
    total: Facts = {}
    for one in facts:
        for name, value in one.items():
            total[name] = total.get(name, 0) + value
    return total


def _compared(made: Sequence[str | None], given: Sequence[bytes]) -> Facts:
    """How many texts do not mean what those mean that they were made from, to a parser that is none of these candidates."""
    unlike = [text is None or json.loads(text) != json.loads(source) for text, source in zip(made, given, strict=True)]
    return {UNLIKE: sum(unlike)}


# --- varquet


def varquet_jobs(sample: Sample, threads: Sequence[int], rows: int | None = None) -> list[Job]:
    """All verbs over batches; `rows` limits them to the first ones, for kernels that are not compiled."""
    batches = text_batches(sample.parts if rows is None else sample.parts[:1])
    if rows is not None:
        batches = [batches[0][:rows]]
    variants = [parse_json(batch, threads=1) for batch in batches]
    given = texts(sample.parts, min(_CHECKED_ROWS, len(batches[0])))
    jobs: list[Job] = []
    for count in threads:
        over = partial(_over, threads=count)
        jobs.append(Job(PARSE, count, partial(over, _parse, batches), partial(_check_parse, batches[0], given)))
        shared = partial(_parse, shared_metadata=True)
        jobs.append(
            Job(PARSE_SHARED, count, partial(over, shared, batches), partial(_check_parse, batches[0], given, shared_metadata=True))
        )
        if rows is None:
            jobs.append(Job(NDJSON, count, partial(over, _parse_part, sample.parts)))
        for one in EXTRACTS:
            check = partial(over, partial(_count_values, one.path), variants) if one.type is None else dict
            jobs.append(Job(one.work, count, partial(over, partial(_extract, one), variants), check))
        jobs.append(Job(TO_JSON, count, partial(over, _to_json, variants), partial(_check_to_json, variants[0], given)))
        jobs.append(Job(VALIDATE, count, partial(over, _validate, variants)))
    return jobs


def _over(work: Callable[[T], Facts], tasks: Sequence[T], *, threads: int) -> Facts:
    if threads == 1:
        return _total(map(work, tasks))
    with ThreadPoolExecutor(threads) as pool:
        return _total(pool.map(work, tasks))


def _parse(batch: pa.Array, *, shared_metadata: bool = False) -> Facts:
    column = parse_json(batch, shared_metadata=shared_metadata, threads=1)
    return {"rows": len(column), "nulls": column.null_count}


def _parse_part(part: Path) -> Facts:
    return _total(map(_parse, read_lines(part)))


def _extract(one: Extract, column: pa.Array) -> Facts:
    return _summed(extract(column, one.path, one.type, threads=1), one.type)


def _summed(array: pa.Array, type: str | None) -> Facts:
    if type is None:
        return {"rows": len(array)}
    total = pc.sum(pc.binary_length(array) if type == "string" else array).as_py() or 0
    return {"rows": len(array), "nulls": array.null_count, "sum": total}


def _count_values(path: str, column: pa.Array) -> Facts:
    # DuckDB does not tell a Variant null from a missing field.
    found = to_json(extract(column, path, threads=1), threads=1)
    return {"nulls": found.null_count + (pc.sum(pc.equal(found, "null")).as_py() or 0)}


def _to_json(column: pa.Array) -> Facts:
    text = to_json(column, threads=1)
    return {"rows": len(text), "nulls": text.null_count}


def _validate(column: pa.Array) -> Facts:
    validate(column, threads=1)
    return {"rows": len(column)}


def _check_parse(batch: pa.Array, given: list[bytes], *, shared_metadata: bool = False) -> Facts:
    return _check_to_json(parse_json(batch[: len(given)], shared_metadata=shared_metadata), given)


def _check_to_json(column: pa.Array, given: list[bytes]) -> Facts:
    return _compared(to_json(column[: len(given)]).to_pylist(), given)


# --- DuckDB


def duckdb_jobs(sample: Sample, threads: Sequence[int]) -> list[Job]:
    """The same in SQL: one connection, told before each run how many threads to use."""
    import duckdb

    database = duckdb.connect()
    # Arrow's JSON type spares DuckDB the check that a cast from text would make.
    batches = [pa.ExtensionArray.from_storage(pa.json_(pa.string()), batch) for batch in text_batches(sample.parts)]
    database.register("texts", pa.table({"text": pa.chunked_array(batches)}))
    database.execute("CREATE TEMP TABLE variants AS SELECT text::VARIANT AS v FROM texts")
    parts = ", ".join("'" + str(part).replace("'", "''") + "'" for part in sample.parts)
    given = texts(sample.parts, min(_CHECKED_ROWS, sample.rows))

    def job(work: str, count: int, result: str, source: str, *, total: str | None = None, check: Callable[[], Facts] = dict) -> Job:
        # One aggregate over the result makes DuckDB compute all of it, and hands out next to nothing.
        query = f"SELECT count(*), count(x){f', sum({total})' if total else ''} FROM (SELECT {result} AS x FROM {source})"
        return Job(work, count, partial(run, query), check, partial(database.execute, f"SET threads = {count}"))

    def run(query: str) -> Facts:
        rows, values, *totals = database.execute(query).fetchall()[0]
        return {"rows": rows, "nulls": rows - values} | dict(zip(("sum",), totals, strict=False))

    def check_text(source: str) -> Facts:
        made = database.execute(f"SELECT x::JSON FROM ({source} LIMIT {len(given)})").fetchall()
        return _compared([text for (text,) in made], given)

    jobs: list[Job] = []
    for count in threads:
        check_parse, check_to_json = (
            partial(check_text, f"SELECT {x} AS x FROM {y}") for x, y in (("text::VARIANT", "texts"), ("v", "variants"))
        )
        jobs += [job(work, count, "text::VARIANT", "texts", check=check_parse) for work in (PARSE, PARSE_SHARED)]
        jobs.append(job(NDJSON, count, "json::VARIANT", f"read_ndjson_objects([{parts}])"))
        for one in EXTRACTS:
            steps = "".join(f'."{step}"' for step in VariantPath.parse(one.path))
            cast = {"bigint": "::BIGINT", "double": "::DOUBLE", "string": "::VARCHAR", None: ""}[one.type]
            total = {"bigint": "x", "double": "x", "string": "strlen(x)", None: None}[one.type]
            jobs.append(job(one.work, count, f"v{steps}{cast}", "variants", total=total))
        jobs.append(job(TO_JSON, count, "v::JSON", "variants", check=check_to_json))
    return jobs


# --- orjson


def orjson_jobs(sample: Sample) -> list[Job]:
    """Parsing alone, from Python bytes that are there already."""
    import orjson

    lines = texts(sample.parts)

    def run() -> Facts:
        collections.deque(map(orjson.loads, lines), maxlen=0)
        return {"rows": len(lines)}

    def check() -> Facts:
        given = lines[:_CHECKED_ROWS]
        return _compared([json.dumps(orjson.loads(line)) for line in given], given)

    return [Job(work, 1, run, check) for work in (PARSE, PARSE_SHARED)]


# --- simdjson


def simdjson_jobs(sample: Sample) -> list[Job]:
    """Parsing alone, from Python bytes that are there already; a parser's document has to go before the next comes."""
    import simdjson

    lines = texts(sample.parts)
    parse = simdjson.Parser().parse

    def run() -> Facts:
        for line in lines:
            parse(line)
        return {"rows": len(lines)}

    def check() -> Facts:
        given = lines[:_CHECKED_ROWS]
        return _compared([json.dumps(parse(line).as_dict()) for line in given], given)

    return [Job(work, 1, run, check) for work in (PARSE, PARSE_SHARED)]


# --- The reference twin


def reference_jobs(sample: Sample, rows: int) -> list[Job]:
    """Value by value in plain Python."""
    given = texts(sample.parts, rows)
    variants = [encode(parse_node(text)) for text in given]
    checked = given[:_CHECKED_ROWS]

    def parse() -> Facts:
        return {"rows": sum(len(encode(parse_node(text))) == 2 for text in given), "nulls": 0}

    def read(one: Extract) -> Facts:
        path = VariantPath.parse(one.path)
        found = [Variant(metadata, value).get(path) for metadata, value in variants]
        if one.type is None:
            return {"rows": len([None if part is None else (part.metadata, part.value) for part in found])}
        target = arrow_type_of_sql(one.type)
        results: list[Any] = [None if part is None else try_cast(decode(part.metadata, part.value), target) for part in found]
        return _summed(pa.array(results, target), one.type)

    def count_values(one: Extract) -> Facts:
        found = [Variant(metadata, value).get(one.path) for metadata, value in variants]
        return {"nulls": sum(part is None or part.is_null for part in found)}

    def write() -> Facts:
        return {"rows": len([node_to_json(decode(metadata, value)) for metadata, value in variants]), "nulls": 0}

    def check() -> Facts:
        return _compared([node_to_json(decode(metadata, value)) for metadata, value in variants[: len(checked)]], checked)

    def check_all() -> Facts:
        for metadata, value in variants:
            decode(metadata, value)
        return {"rows": len(variants)}

    return [
        *(Job(work, 1, parse, check) for work in (PARSE, PARSE_SHARED)),
        *(Job(one.work, 1, partial(read, one), partial(count_values, one) if one.type is None else dict) for one in EXTRACTS),
        Job(TO_JSON, 1, write, check),
        Job(VALIDATE, 1, check_all),
    ]
