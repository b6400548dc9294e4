"""Profiles of DataFrames: each task counts its own rows, and the profiles of all of them merge."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Literal

import pyarrow as pa
from pyspark.sql import DataFrame

from varquet.errors import UnsupportedTypeError
from varquet.layouts.map_keys import MapKeys
from varquet.profiles.facts import MOST_NAMES, SHARE, Profile, Steps
from varquet.profiles.map_types import Fits, fits_of, merged_fits, typed_column
from varquet.profiles.merging import merge
from varquet.profiles.plan import Plan
from varquet.profiles.policies import Options, PolicyName
from varquet.profiles.profiling import profile_batches, profile_parts, variants_of
from varquet.spark.tasks import run_over

__all__ = ["analyze", "merge_parts", "merged", "profile"]


def profile(
    frame: DataFrame,
    column: str | None = None,
    *,
    most_names: int = MOST_NAMES,
    share: float = SHARE,
    sample: float = 1.0,
    on_error: Literal["raise", "null"] = "raise",
) -> Profile:
    """Count what is in a column of a DataFrame, path by path, on Spark's executors.

    The profile is the one that `varquet.profile` makes of the same rows, however they are partitioned. Where objects have more names than
    are counted one by one, the DataFrame is computed a second time; cache it if that is expensive.

    Args:
        frame: a DataFrame.
        column: a column of Variants, JSON text or maps; by default the only one of Variants.
        most_names, share, sample: as for `varquet.profile`.
        on_error: text that is not JSON is an error, or counts as an SQL NULL.
    """
    name = _column(frame, column)
    chosen = _only(frame, name)

    def count(candidates: Mapping[Steps, frozenset[str]]) -> Profile:
        task = functools.partial(_count, most_names=most_names, share=share, sample=sample, on_error=on_error, candidates=candidates)
        return merged(run_over(chosen, task, f"profile of {name}", merge=merge_parts))

    return profile_parts(count)


def analyze(
    frame: DataFrame,
    column: str | None = None,
    *,
    policy: PolicyName = "varquet",
    options: Options | None = None,
    most_names: int = MOST_NAMES,
    share: float = SHARE,
    sample: float = 1.0,
    typed: bool = False,
) -> Plan:
    """The plan that a policy makes of a column of a DataFrame; see `profile`, and `varquet.choose` for the policies.

    A column of maps stays one, and the plan has its hot keys; with `typed` those get types all of whose texts are exactly those of a number
    or the like, see `varquet.type_keys`.
    """
    name = _column(frame, column)
    found = profile(frame, name, most_names=most_names, share=share, sample=sample)
    maps = [one for one, kind in frame.dtypes if kind.startswith("map<")]
    plan = Plan.from_profiles({name: found}, policy, options, maps=maps)
    if not typed:
        return plan
    if name not in maps:
        raise UnsupportedTypeError(f"expected a column of maps whose keys get types, got {name!r}")
    parts = run_over(_only(frame, name), functools.partial(_fits, keys=plan.maps[name]), f"types of the keys of {name}")
    return Plan({name: typed_column(plan.columns[name], merged_fits(parts))})


def _fits(batches: Iterator[pa.RecordBatch], _number: int, *, keys: MapKeys) -> Fits:
    """Which types the keys may have, by the rows of one partition."""
    return fits_of((batch.column(0) for batch in batches), keys)


def _only(frame: DataFrame, name: str) -> DataFrame:
    return frame.select(f"`{name.replace('`', '``')}`")


def merged(parts: list[bytes]) -> Profile:
    """The profile of parts that tasks have sent."""
    return merge([Profile.from_bytes(part) for part in parts])


def merge_parts(parts: list[bytes]) -> bytes:
    """One part of several."""
    return merged(parts).to_bytes()


def _count(
    batches: Iterator[pa.RecordBatch],
    _number: int,
    *,
    most_names: int,
    share: float,
    sample: float,
    on_error: Literal["raise", "null"],
    candidates: Mapping[Steps, frozenset[str]],
) -> bytes:
    """The profile of one partition."""
    made = (functools.partial(variants_of, batch.column(0), batch.schema.field(0), on_error=on_error) for batch in batches)
    return profile_batches(
        lambda: made, can_be_read_again=False, most_names=most_names, share=share, sample=sample, candidates=candidates, threads=1
    ).to_bytes()


def _column(frame: DataFrame, column: str | None) -> str:
    if column is not None:
        if column not in frame.columns:
            raise UnsupportedTypeError(f"expected a column of the DataFrame, got {column!r}", hint="they are " + ", ".join(frame.columns))
        return column
    found = [name for name, kind in frame.dtypes if kind == "variant"]
    if len(found) != 1:
        raise UnsupportedTypeError(
            f"expected a DataFrame with one Variant column, got {', '.join(found) or 'none'}",
            hint="name the column; they are " + ", ".join(frame.columns),
        )
    return found[0]
