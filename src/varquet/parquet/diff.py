"""`diff`: whether two datasets hold the same values in the same order, however they are stored, and where they do not.

Variants are compared by their fingerprints, with a seed that changes from run to run; everything else by its JSON text. Only
rows that differ are ever looked at one by one.
"""

from __future__ import annotations

import functools
import itertools
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from varquet.columns.arrow import integers_of, validity_of
from varquet.columns.fingerprint import fingerprint
from varquet.columns.parse_json import parse_json
from varquet.errors import JsonError, UnsupportedTypeError
from varquet.parquet.json_rows import json_texts
from varquet.parquet.maps import sorted_maps
from varquet.parquet.positions import is_variant_field
from varquet.parquet.reader import Source, files_of, open_file
from varquet.paths import Path
from varquet.variant.decode import decode
from varquet.variant.equality import equal
from varquet.variant.json_text import to_json
from varquet.variant.model import Node, Scalar

__all__ = ["Comparison", "Difference", "Place", "diff"]

_LONGEST: Final = 200

# A path, and what stands there on both sides.
_Shown: TypeAlias = tuple[str, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Place:
    """A row of a file."""

    file: str
    row: int
    """From 0 on."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that is not the same. What is missing on a side is None there, and so is the place where there is no such row."""

    left: Place | None
    right: Place | None
    column: str | None
    """None: one side has a row more."""
    path: str | None
    """Where in a Variant; None for a whole row."""
    left_value: str | None
    """As JSON, cut off where it is long."""
    right_value: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What `diff` has found."""

    left_rows: int
    right_rows: int
    columns: list[str]
    """Those that were compared."""
    differing_rows: int
    """Rows that are not the same, those of which only one side has one among them."""
    differences: list[Difference]
    """The first of them; a row may have several."""

    @property
    def is_equal(self) -> bool:
        return self.differing_rows == 0


def diff(
    left: Source,
    right: Source,
    columns: Sequence[str] | None = None,
    *,
    most: int = 10,
    on_rows: Callable[[int], None] | None = None,
    threads: int | None = None,
) -> Comparison:
    """Compare two datasets row by row, whatever layout, types of numbers, row groups and files each has its values in.

    Equal are values that mean the same (`Variant.__eq__`): 1 and 1.00, objects in any order of their fields; not 1 and 1e0, nor
    null and nothing. Maps are equal whatever the order of their entries. A column of JSON text on one side is read as Variants
    where the other side has Variants. The rows of a dataset are those of its files in the order of their names.

    Args:
        left, right: a file, a folder (all *.parquet in it and below), a glob, or several of them.
        columns: the columns to compare; all by default, and then both sides must have the same.
        most: how many differences to describe; all are counted.
        on_rows: told how many more rows have been compared.
        threads: how many threads to use; by default VARQUET_THREADS or all cores.
    """
    if most < 0:
        raise UnsupportedTypeError(f"expected how many differences to describe, got {most}")
    seed = secrets.randbits(64)
    sides = _Side(left, columns, seed, threads), _Side(right, columns, seed, threads)
    names = list(columns) if columns is not None else _common(*sides)
    found = _Found(names, seed, most)
    for one, other in _aligned(*(side.stretches(names) for side in sides)):
        found.compare(one, other)
        if on_rows is not None:
            on_rows(len(one or other or ()))
    return Comparison(found.rows[0], found.rows[1], names, found.differing, found.differences)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Some rows of one file, and the fingerprints of its Variant columns by name."""

    place: Place
    batch: pa.RecordBatch
    numbers: dict[str, pa.Array]

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def cut(self, rows: int) -> tuple[_Stretch, _Stretch]:
        behind = Place(self.place.file, self.place.row + rows)
        first = {name: array.slice(0, rows) for name, array in self.numbers.items()}
        rest = {name: array.slice(rows) for name, array in self.numbers.items()}
        return _Stretch(self.place, self.batch.slice(0, rows), first), _Stretch(behind, self.batch.slice(rows), rest)


class _Side:
    """One of the datasets."""

    def __init__(self, source: Source, columns: Sequence[str] | None, seed: int, threads: int | None) -> None:
        self.files = [open_file(path, columns) for path in files_of(source)]
        self.seed = seed
        self.threads = threads

    def stretches(self, columns: Sequence[str]) -> Iterator[_Stretch]:
        for file in self.files:
            missing = [name for name in columns if file.schema.get_field_index(name) < 0]
            if missing:
                raise UnsupportedTypeError(f"expected the column {missing[0]!r} in every file, got none in {file.path!r}")
            row = 0
            for batch, numbers in file.map_batches(lambda batch: self.numbered(batch.select(columns)), threads=self.threads):
                yield _Stretch(Place(file.path, row), batch, numbers)
                row += batch.num_rows

    def numbered(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, dict[str, pa.Array]]:
        variants = [field.name for field in batch.schema if is_variant_field(field)]
        return batch, {name: fingerprint(batch.column(name), seed=self.seed, threads=1) for name in variants}


def _common(left: _Side, right: _Side) -> list[str]:
    names = [[str(name) for name in side.files[0].schema.names] for side in (left, right)]
    for one, other, side in ((names[0], names[1], left), (names[1], names[0], right)):
        extra = [name for name in one if name not in other]
        if extra:
            raise UnsupportedTypeError(
                f"expected both sides to have the same columns, got {extra[0]!r} only in {side.files[0].path!r}",
                hint="name those to compare",
            )
    return names[0]


def _aligned(left: Iterator[_Stretch], right: Iterator[_Stretch]) -> Iterator[tuple[_Stretch | None, _Stretch | None]]:
    """Stretches of the same rows of both sides; None where a side has no more."""
    one, other = next(left, None), next(right, None)
    while one is not None or other is not None:
        if one is not None and len(one) == 0:
            one = next(left, None)
        elif other is not None and len(other) == 0:
            other = next(right, None)
        elif one is None or other is None:
            yield one, other
            one, other = next(left, None), next(right, None)
        else:
            rows = min(len(one), len(other))
            (here, one), (there, other) = one.cut(rows), other.cut(rows)
            yield here, there


class _Found:
    """What has been compared so far."""

    def __init__(self, columns: Sequence[str], seed: int, most: int) -> None:
        self.columns = columns
        self.seed = seed
        self.most = most
        self.rows = [0, 0]
        self.differing = 0
        self.differences: list[Difference] = []

    def compare(self, left: _Stretch | None, right: _Stretch | None) -> None:
        self.rows[0] += 0 if left is None else len(left)
        self.rows[1] += 0 if right is None else len(right)
        if left is None or right is None:
            rows = left or right
            assert rows is not None
            self.differing += len(rows)
            for row in range(min(len(rows), self.most - len(self.differences))):
                place = Place(rows.place.file, rows.place.row + row)
                self.differences.append(Difference(place if left else None, None if left else place, None, None, None, None))
            return
        differs = np.zeros(len(left), bool)
        for name in self.columns:
            bad = self._column(name, left, right)
            differs[bad] = True
        self.differing += int(np.count_nonzero(differs))

    def _column(self, name: str, left: _Stretch, right: _Stretch) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        fields = left.batch.schema.field(name), right.batch.schema.field(name)
        arrays = left.batch.column(name), right.batch.column(name)
        if is_variant_field(fields[0]) or is_variant_field(fields[1]):
            variants = [_variants(array, field, side) for array, field, side in zip(arrays, fields, (left, right), strict=True)]
            one, other = (
                side.numbers[name] if name in side.numbers else fingerprint(column, seed=self.seed, threads=1)
                for side, column in zip((left, right), variants, strict=True)
            )
            valid, its_valid = validity_of(one), validity_of(other)
            bad = np.flatnonzero((valid != its_valid) | ((valid == 1) & (integers_of(one) != integers_of(other))))
            describe: Callable[[int], Iterator[_Shown]] = functools.partial(_different_paths, variants)
        else:
            arrays = sorted_maps(arrays[0], fields[0]), sorted_maps(arrays[1], fields[1])
            texts = [json_texts(array, field, self._text) for array, field in zip(arrays, fields, strict=True)]
            bad = np.flatnonzero(np.asarray(pc.not_equal(*texts)))
            describe = functools.partial(_different_texts, arrays, fields)
        for row in bad[: max(0, self.most - len(self.differences))].tolist():
            places = Place(left.place.file, left.place.row + row), Place(right.place.file, right.place.row + row)
            for shown in itertools.islice(describe(row), self.most - len(self.differences)):
                self.differences.append(Difference(*places, name, *shown))
        return bad

    def _text(self, variants: pa.Array) -> pa.Array:
        """What stands for Variants inside of other columns."""
        return fingerprint(variants, seed=self.seed, threads=1).cast(pa.string())


def _different_paths(columns: Sequence[pa.Array], row: int) -> Iterator[_Shown]:
    for path, one, other in _different(*(_node(column, row) for column in columns)):
        texts = _shown(one), _shown(other)
        if texts[0] == texts[1] and isinstance(one, Scalar) and isinstance(other, Scalar):
            texts = f"{one.type.name} {texts[0]}", f"{other.type.name} {texts[1]}"
        yield str(path), *texts


def _different_texts(arrays: Sequence[pa.Array], fields: Sequence[pa.Field], row: int) -> Iterator[_Shown]:
    one, other = (json_texts(array.slice(row, 1), field)[0].as_py() for array, field in zip(arrays, fields, strict=True))
    yield "$", _cut(one), _cut(other)


def _variants(array: pa.Array, field: pa.Field, side: _Stretch) -> pa.Array:
    if is_variant_field(field):
        return array
    kind = array.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)):
        raise UnsupportedTypeError(f"expected Variants or JSON text in column {field.name!r} of {side.place.file!r}, got {kind}")
    try:
        return parse_json(array, threads=1)
    except JsonError as error:
        error.message = f"column {field.name!r} of {side.place.file!r}: {error.message}"
        error.row = None if error.row is None else side.place.row + error.row
        raise


class _Missing:
    """Where a side has nothing."""


_MISSING: Final = _Missing()


def _node(column: pa.Array, row: int) -> Node | _Missing:
    one = column[row]
    if not one.is_valid:
        return _MISSING
    return decode(one["metadata"].as_py(), one["value"].as_py())


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of a path, and those before it: deep values have long paths, which few need."""

    before: _Step | None
    step: str | int


def _path(last: _Step | None) -> Path:
    steps: list[str | int] = []
    while last is not None:
        steps.append(last.step)
        last = last.before
    return Path(tuple(reversed(steps)))


def _different(left: Node | _Missing, right: Node | _Missing) -> Iterator[tuple[Path, Node | _Missing, Node | _Missing]]:
    """The innermost paths at which two values are not the same, in the order of the names."""
    waiting: list[tuple[_Step | None, Node | _Missing, Node | _Missing]] = [(None, left, right)]
    while waiting:
        last, one, other = waiting.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            names = sorted({*one, *other}, reverse=True)
            waiting += ((_Step(last, name), one.get(name, _MISSING), other.get(name, _MISSING)) for name in names)
        elif isinstance(one, list) and isinstance(other, list):
            pairs = list(enumerate(itertools.zip_longest(one, other, fillvalue=_MISSING)))
            waiting += ((_Step(last, index), *pair) for index, pair in reversed(pairs))
        elif isinstance(one, _Missing) or isinstance(other, _Missing):
            if one is not other:
                yield _path(last), one, other
        elif not (isinstance(one, Scalar) and isinstance(other, Scalar) and equal(one, other)):
            yield _path(last), one, other


def _shown(node: Node | _Missing) -> str | None:
    return None if isinstance(node, _Missing) else _cut(to_json(node))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
