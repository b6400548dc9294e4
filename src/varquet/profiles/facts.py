"""Profiles: exact facts about the paths of a variant column, which add up.

A profile has a row of numbers for each path. Counts are sums, ranges are smallest and largest, sketches are largest: all of them
are the same in whatever order rows and parts come, so that profiles of parts merge to the profile of the whole.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.ipc

from varquet.columns.arrow import integers_of
from varquet.errors import VarquetError
from varquet.kernels.source import _path_facts as kernel
from varquet.profiles.examples import Conflict, Example
from varquet.schema import ELEMENT, display_path
from varquet.schema.walk import Step

__all__ = ["MOST_NAMES", "OTHERS", "SHARE", "TYPE_NAMES", "PathFacts", "Profile", "Steps"]

Ints: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]


class _Others:
    """The step to all fields of an object whose names are too many to be counted one by one."""

    def __repr__(self) -> str:
        return "OTHERS"

    def __reduce__(self) -> str:
        return "OTHERS"


OTHERS: Final = _Others()

Steps: TypeAlias = "tuple[Step | _Others, ...]"

TYPE_NAMES: Final = (
    "null", "boolean", "int8", "int16", "int32", "int64", "double", "decimal4", "decimal8", "decimal16", "date", "timestamp",
    "timestamp_ntz", "float", "binary", "string", "time", "timestamp_nanos", "timestamp_ntz_nanos", "uuid", "object", "array",
)  # fmt: skip
"""The types in the order in which profiles count them."""

INTEGERS: Final = ("int8", "int16", "int32", "int64")
DECIMALS: Final = ("decimal4", "decimal8", "decimal16")

# The numbers of a path, in the order in which they are kept.
COUNT, ROWS, BYTES, _ITEMS, _SHORTEST, _LONGEST, _DIGITS, _SCALE = range(8)
_TYPES = 8
_LOW = _TYPES + kernel.TYPE_COUNT
_HIGH = _LOW + kernel.TYPE_COUNT
_FIRST = _HIGH + kernel.TYPE_COUNT
WIDTH: Final = _FIRST + kernel.TYPE_COUNT
CONTAINERS: Final = slice(_TYPES + kernel.TYPE_OBJECT, _LOW)
"""Where the counts of objects and arrays are."""
KERNEL_COLUMNS: Final = [
    kernel.ROWS,
    kernel.BYTES,
    kernel.ITEMS,
    kernel.SHORTEST,
    kernel.LONGEST,
    kernel.DIGITS,
    kernel.SCALE,
    *(kernel.TYPES + kernel.TYPE_SLOTS * k + slot for slot in range(kernel.TYPE_SLOTS) for k in range(kernel.TYPE_COUNT)),
]
"""Where the kernel has them, but for the first, which is the sum of the counts of all types."""

_NOTHING_SMALLER: Final = kernel.LARGEST
_NOTHING_LARGER: Final = -kernel.LARGEST - 1
_KINDS: Final = (
    (slice(COUNT, _SHORTEST), np.add, 0),
    (slice(_SHORTEST, _LONGEST), np.minimum, _NOTHING_SMALLER),
    (slice(_LONGEST, _TYPES), np.maximum, _NOTHING_LARGER),
    (slice(_TYPES, _LOW), np.add, 0),
    (slice(_LOW, _HIGH), np.minimum, _NOTHING_SMALLER),
    (slice(_HIGH, _FIRST), np.maximum, _NOTHING_LARGER),
    (slice(_FIRST, WIDTH), np.minimum, _NOTHING_SMALLER),
)
"""Stretches of these numbers, what makes one of two of them, and what changes nothing then."""

MOST_NAMES: Final = 1024
"""How many different names of an object are counted one by one."""

SHARE: Final = 0.01
"""What share of the rows makes a name frequent, where an object has too many of them."""

_EXAMPLES: Final = pa.map_(pa.string(), pa.struct({"row": pa.int64(), "octets": pa.binary()}))
_VERSION: Final = 5
_MAGIC: Final = b"varquet profile" + bytes([_VERSION])
"""What the bytes of a profile begin with; behind it is the SHA-256 of all that follows."""
_CHECKSUM: Final = 32
_DIGEST: Final = 2
"""The version of what digests are made of, which files of profiles have nothing to do with."""


@dataclass(frozen=True, slots=True)
class PathFacts:
    """What is known of one path."""

    steps: Steps
    numbers: Ints
    sketch: Bytes

    @classmethod
    def none(cls, steps: Steps) -> PathFacts:
        """What is known of a path that no row has."""
        return cls(steps, nothing(1)[0], np.zeros(kernel.SKETCH, np.uint8))

    @property
    def path(self) -> str:
        """The path as people write it: $.a.b[*].c; `$.a.*` are the fields of $.a that are not counted one by one."""
        return path_text(self.steps)

    @property
    def count(self) -> int:
        """How many values there are; more than one for a row only within arrays."""
        return int(self.numbers[COUNT])

    @property
    def rows(self) -> int:
        """How many rows have such a value."""
        return int(self.numbers[ROWS])

    @property
    def bytes(self) -> int:
        """The bytes of all values, with everything below them."""
        return int(self.numbers[BYTES])

    @property
    def types(self) -> dict[str, int]:
        """How many values there are of each physical type that occurs."""
        counts = self.numbers[_TYPES : _TYPES + kernel.TYPE_COUNT].tolist()
        return {name: count for name, count in zip(TYPE_NAMES, counts, strict=True) if count}

    @property
    def nulls(self) -> int:
        """How many values are Variant nulls."""
        return int(self.numbers[_TYPES])

    @property
    def held(self) -> int:
        """How many values are not Variant nulls."""
        return self.count - self.nulls

    def of(self, *types: str) -> int:
        """How many values are of one of these types."""
        return sum(int(self.numbers[_TYPES + TYPE_NAMES.index(name)]) for name in types)

    @property
    def integer_range(self) -> tuple[int, int] | None:
        """The smallest and largest integer."""
        places = [TYPE_NAMES.index(name) for name in INTEGERS]
        if not self.of(*INTEGERS):
            return None
        return min(int(self.numbers[_LOW + k]) for k in places), max(int(self.numbers[_HIGH + k]) for k in places)

    @property
    def decimal_digits(self) -> tuple[int, int] | None:
        """The most digits before the point and behind it that a decimal has."""
        return (int(self.numbers[_DIGITS]), int(self.numbers[_SCALE])) if self.of(*DECIMALS) else None

    @property
    def array_lengths(self) -> tuple[int, int, int] | None:
        """The shortest and longest array, and the elements of all."""
        if not self.of("array"):
            return None
        return int(self.numbers[_SHORTEST]), int(self.numbers[_LONGEST]), int(self.numbers[_ITEMS])

    def first_row(self, type: str) -> int | None:
        """The first row that has a value of this type."""
        row = int(self.numbers[_FIRST + TYPE_NAMES.index(type)])
        return None if row == _NOTHING_SMALLER else row

    def bounds(self, type: str) -> tuple[Any, Any] | None:
        """The smallest and largest value of a type; of strings, binary and uuids their first eight bytes, of decimals doubles near them."""
        place = TYPE_NAMES.index(type)
        low, high = int(self.numbers[_LOW + place]), int(self.numbers[_HIGH + place])
        if low > high:
            return None
        if type in ("string", "binary", "uuid"):
            return _prefix(low), _prefix(high)
        if type in ("double", "float", *DECIMALS):
            return _floating(low, type), _floating(high, type)
        return (bool(low), bool(high)) if type == "boolean" else (low, high)

    @property
    def distinct(self) -> int:
        """About how many different values there are, containers and nulls not among them: off by 7 % as a rule.

        1 and 1.0 count as two, and long texts that differ only in their middle as one.
        """
        return estimate(self.sketch)


def path_text(steps: Steps) -> str:
    """The path as people write it, with a star for the names that are not counted one by one."""
    shown = display_path([step for step in steps if not isinstance(step, _Others)])
    return shown + (".*" if steps and isinstance(steps[-1], _Others) else "")


def _prefix(number: int) -> bytes:
    return ((number + (1 << 63)) & ((1 << 64) - 1)).to_bytes(8, "big").rstrip(b"\x00")


def _floating(number: int, type: str) -> float:
    if type == "float":
        bits = number if number >= 0 else number ^ 0x7FFFFFFF
        return float(np.int32(bits).view(np.float32))
    bits = number if number >= 0 else number ^ kernel.LARGEST
    return float(np.int64(bits).view(np.float64))


def estimate(registers: Bytes) -> int:
    """How many different values went into a sketch (HyperLogLog, with linear counting where there are few)."""
    size = len(registers)
    zeros = int(np.count_nonzero(registers == 0))
    if zeros == size:
        return 0
    raw = 0.7213 / (1 + 1.079 / size) * size * size / float(np.sum(np.exp2(-registers.astype(np.float64))))
    if raw <= 2.5 * size and zeros:
        raw = size * float(np.log(size / zeros))
    return round(raw)


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """What is in a variant column: facts for every path, in the order of the paths."""

    rows: int
    """All rows, SQL NULLs among them."""
    nulls: int
    """SQL NULLs."""
    paths: tuple[Steps, ...]
    numbers: Ints
    """A row for each path."""
    sketches: Bytes
    closed: Mapping[Steps, frozenset[str]] = field(default_factory=dict)
    """Objects with more names than are counted one by one: those that are, because they may be frequent."""
    is_exact: bool = True
    """Whether all of these names were counted in all rows; if not, another pass over the rows will do so."""
    share: float = SHARE
    """What share of the rows makes a name of such an object frequent."""
    examples: Mapping[tuple[Steps, str], Example] = field(default_factory=dict)
    """The first value of each type at each path."""
    told_apart: Mapping[Steps, frozenset[str]] = field(default_factory=dict)
    """Objects with names that were counted together: those that were not. What is below other names was not looked at."""
    most_names: int = MOST_NAMES
    """Objects with more names than this keep those that are frequent."""
    unfolded: Profile | None = None
    """The same with all names of `closed` that were counted, where some of them turned out to be rare: others may have more of them."""

    def __len__(self) -> int:
        return len(self.paths)

    def __iter__(self) -> Iterator[PathFacts]:
        return (PathFacts(steps, self.numbers[k], self.sketches[k]) for k, steps in enumerate(self.paths))

    def __getitem__(self, path: str) -> PathFacts:
        found = next((facts for facts in self if facts.path == path), None)
        if found is None:
            raise KeyError(path)
        return found

    @property
    def values(self) -> int:
        """Rows that are not SQL NULL."""
        return self.rows - self.nulls

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Profile):
            return NotImplemented
        return self.digest() == other.digest()

    def __hash__(self) -> int:
        return hash(self.digest())

    def digest(self) -> str:
        """A hash of all counts and ranges, in hexadecimal: the same for the same data in whatever order and parts.

        Row numbers, which depend on where counting began, examples, and the sketches are not in it.
        """
        said = [_DIGEST, self.rows, self.nulls, [_plain(steps) for steps in self.paths]]
        made = hashlib.sha256(json.dumps(said).encode())
        made.update(np.ascontiguousarray(self.numbers[:, :_FIRST], "<i8").tobytes())
        return made.hexdigest()

    def conflicts(self) -> list[Conflict]:
        """Paths with values that no one typed column takes, a line for each of their types, and an example of each."""
        exact = (*INTEGERS, *DECIMALS)
        found: list[Conflict] = []
        for facts in self:
            types = {name: count for name, count in facts.types.items() if name != "null"}
            if len(types) < 2 or all(name in exact for name in types):
                continue
            for name, count in types.items():
                example = self.examples.get((facts.steps, name))
                if example is not None:
                    found.append(Conflict(facts.path, name, count, example.row, example.text(name)))
        return found

    def merge(self, *others: Profile) -> Profile:
        """The profile of all rows of these profiles, in any order and grouping; if `is_exact`, it is that of one pass over all rows."""
        # Merging and folding build on this module.
        from varquet.profiles.merging import merge

        return merge((self, *others))

    def to_bytes(self) -> bytes:
        """All of it, compressed; `from_bytes` reads it."""
        if self.unfolded is not None:
            return self.unfolded.to_bytes()
        examples: dict[Steps, list[tuple[str, tuple[int, bytes]]]] = {}
        for (steps, name), example in self.examples.items():
            examples.setdefault(steps, []).append((name, (example.row, example.octets)))
        columns = [
            pa.array([json.dumps(_plain(steps)) for steps in self.paths], pa.string()),
            pa.FixedSizeListArray.from_arrays(pa.array(self.numbers.reshape(-1), pa.int64()), WIDTH),
            pa.FixedSizeBinaryArray.from_buffers(pa.binary(kernel.SKETCH), len(self.paths), [None, pa.py_buffer(self.sketches.tobytes())]),
            pa.array([examples.get(steps, []) for steps in self.paths], _EXAMPLES),
        ]
        about = {
            "rows": self.rows,
            "nulls": self.nulls,
            "closed": [[_plain(steps), sorted(names)] for steps, names in self.closed.items()],
            "is_exact": self.is_exact,
            "share": self.share,
            "most_names": self.most_names,
            "told_apart": [[_plain(steps), sorted(names)] for steps, names in self.told_apart.items()],
        }
        table = pa.table(columns, names=["path", "numbers", "sketch", "examples"])
        table = table.replace_schema_metadata({"varquet.profiles": json.dumps(about)})
        sink = io.BytesIO(_MAGIC)
        sink.seek(len(_MAGIC) + _CHECKSUM)
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(table)
        made = sink.getbuffer()
        made[len(_MAGIC) : len(_MAGIC) + _CHECKSUM] = hashlib.sha256(made[len(_MAGIC) + _CHECKSUM :]).digest()
        return bytes(made)

    @classmethod
    def from_bytes(cls, data: bytes) -> Profile:
        """The profile that `to_bytes` wrote."""
        from varquet.profiles.folding import folded

        kind, version = len(_MAGIC) - 1, len(_MAGIC)
        if data[:kind] != _MAGIC[:kind]:
            raise VarquetError(
                "expected the bytes of a profile, got something else", hint="profile the data again if an earlier version wrote it"
            )
        if data[kind:version] not in (_MAGIC[kind:], b""):
            raise VarquetError(f"expected a profile of version {_VERSION}, got {data[kind]}", hint="profile the data again")
        stored = data[version + _CHECKSUM :]
        # What is damaged may look like anything, and Arrow trusts it: it is not looked at.
        if hashlib.sha256(stored).digest() != data[version : version + _CHECKSUM]:
            raise VarquetError("expected the bytes of a profile, got damaged ones", hint="profile the data again")
        table = pa.ipc.open_stream(stored).read_all().combine_chunks()
        about = json.loads((table.schema.metadata or {})[b"varquet.profiles"])
        count = len(table)
        numbers = integers_of(table["numbers"].combine_chunks().flatten()).reshape(count, WIDTH)
        sketches = np.frombuffer(table["sketch"].combine_chunks().buffers()[1] or b"", np.uint8)[: count * kernel.SKETCH]
        paths = tuple(map(_steps, json.loads(f"[{','.join(table['path'].to_pylist())}]")))
        read = cls(
            about["rows"],
            about["nulls"],
            paths,
            numbers,
            sketches.reshape(count, kernel.SKETCH),
            {_steps(plain): frozenset(names) for plain, names in about["closed"]},
            about["is_exact"],
            about["share"],
            _examples(paths, table["examples"].combine_chunks()),
            {_steps(plain): frozenset(names) for plain, names in about["told_apart"]},
            about["most_names"],
        )
        return folded(read)


def _examples(paths: Sequence[Steps], maps: pa.MapArray) -> dict[tuple[Steps, str], Example]:
    """The examples of each path; one by one, Arrow would take ten times as long to make objects of them."""
    counts = np.diff(integers_of(maps.offsets)).tolist()
    each = itertools.chain.from_iterable(map(itertools.repeat, paths, counts))
    rows, octets = (maps.items.field(k).to_pylist() for k in range(2))
    return dict(zip(zip(each, maps.keys.to_pylist(), strict=True), map(Example, rows, octets), strict=True))


def nothing(paths: int) -> Ints:
    """Numbers to which others can be added."""
    numbers = np.empty((paths, WIDTH), np.int64)
    for kind, _, without in _KINDS:
        numbers[:, kind] = without
    return numbers


def add(numbers: Ints, at: Ints, others: Ints) -> None:
    """Take the numbers of other rows of the same paths, each path once, into these."""
    chosen = numbers[at]
    for kind, combine, _ in _KINDS:
        combine(chosen[:, kind], others[:, kind], out=chosen[:, kind])
    numbers[at] = chosen


def together(numbers: Ints) -> Ints:
    """One row of numbers for several."""
    return np.concatenate([combine.reduce(numbers[:, kind], axis=0) for kind, combine, _ in _KINDS])[np.newaxis]


def sort_key(steps: Steps) -> tuple[str, ...]:
    """Names by their bytes, which is the order of their characters, before them elements, behind them all others."""
    return tuple(["1" + step if isinstance(step, str) else "2" if isinstance(step, _Others) else "0" for step in steps])


def _plain(steps: Steps) -> list[Any]:
    """Steps for JSON: names, 0 for elements, 1 for others."""
    return [step if isinstance(step, str) else 1 if isinstance(step, _Others) else 0 for step in steps]


def _steps(plain: list[Any]) -> Steps:
    if not (0 in plain or 1 in plain):
        return tuple(plain)
    return tuple(step if isinstance(step, str) else OTHERS if step == 1 else ELEMENT for step in plain)
