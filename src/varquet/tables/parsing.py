"""What becomes of the columns of batches on their way into a table: text and maps become Variants, bad texts go aside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from varquet.columns.arrow import plain, variant_field
from varquet.errors import UnsupportedTypeError
from varquet.parquet.maps import map_position
from varquet.parquet.positions import is_variant_field
from varquet.parquet.sources import FIRST_REFUSED, DuplicateKeys, Refused, bad_row, parse_texts
from varquet.profiles.profiling import variants_of
from varquet.tables.quarantine import QuarantineWriter, bad_texts
from varquet.tables.write_job import OnError, Part, check_on_error

__all__ = ["Parsed", "Parsing"]


@dataclass(frozen=True, slots=True)
class Parsed:
    """Some rows with all Variants, and what was wrong with others."""

    rows: pa.RecordBatch
    size: int = 0
    bad: list[pa.Table] = field(default_factory=list)
    nulls: int = 0
    first_refused: list[Refused] = field(default_factory=list)
    split: int = -1
    """In which lines are numbered."""

    def count(self, part: Part, quarantine: QuarantineWriter) -> None:
        """Put bad records aside and count them."""
        part.size += self.size
        part.nulls += self.nulls
        part.first_refused += [(self.split, one) for one in self.first_refused[: FIRST_REFUSED - len(part.first_refused)]]
        for table in self.bad:
            quarantine.write(table)


@dataclass(frozen=True, slots=True)
class Parsing:
    """Which columns become Variants, and what becomes of texts that are not JSON."""

    schema: pa.Schema
    """The columns as they are written, Variants among them."""
    texts: tuple[str, ...]
    """Those that were text or maps."""
    variants: tuple[str, ...]
    """Those that are Variants then, at the top level."""
    on_error: OnError
    duplicate_keys: DuplicateKeys
    maps: tuple[str, ...] = ()
    """Those that stay maps, and get columns for hot keys."""

    @classmethod
    def of(
        cls, schema: pa.Schema, named: Iterable[str], on_error: OnError, duplicate_keys: DuplicateKeys, maps: Iterable[str] = ()
    ) -> Parsing:
        """For rows of a schema, of which some columns are named because they shall be Variants, or maps with hot keys."""
        check_on_error(on_error)
        texts: list[str] = []
        kept = tuple(dict.fromkeys(maps))
        for name in kept:
            map_position(name, schema)
        for name in dict.fromkeys(named):
            if name in kept:
                raise UnsupportedTypeError(f"expected column {name!r} to stay a map or to become a Variant, got it for both")
            if name not in schema.names:
                if name.partition(".")[0] in schema.names:
                    continue  # within a struct; the writer finds it
                raise UnsupportedTypeError(f"expected the name of a column, got {name!r}", hint="they are " + ", ".join(schema.names))
            if is_variant_field(schema.field(name)):
                continue
            kind = schema.field(name).type
            if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind) or pa.types.is_map(kind)):
                raise UnsupportedTypeError(f"expected Variants, JSON text or maps in column {name!r}, got {kind}")
            texts.append(name)
        made = pa.schema([variant_field(one.name, shared_metadata=True) if one.name in texts else one for one in schema])
        return cls(made, tuple(texts), tuple(one.name for one in made if is_variant_field(one)), on_error, duplicate_keys, kept)

    @property
    def profiled(self) -> tuple[str, ...]:
        """The columns that are counted: Variants and maps at the top level."""
        return (*self.variants, *(name for name in self.maps if name in self.schema.names))

    def unplanned(self) -> tuple[str, ...]:
        """The columns of which a plan is to be made; an error for maps inside of others, whose keys somebody has to give."""
        inside = [name for name in self.maps if name not in self.schema.names]
        if inside:
            raise UnsupportedTypeError(
                f"expected the hot keys of {inside[0]!r} by a plan, because they are counted at the top level only, got none",
                hint=f'plan={{"{inside[0]}": ["a", "b"]}}',
            )
        return self.profiled

    def parse(self, batch: pa.RecordBatch, where: str, before: int) -> Parsed:
        """The rows of a batch, of which so many rows were before it."""
        columns, fields = list(batch.columns), list(batch.schema)
        bad: list[pa.Table] = []
        first: list[Refused] = []
        nulls = 0
        keep: pa.Array | None = None
        for name in self.texts:
            index = batch.schema.get_field_index(name)
            texts, fields[index] = columns[index], variant_field(name, shared_metadata=True)
            if pa.types.is_map(texts.type):
                columns[index] = variants_of(texts, batch.schema.field(index)).combine_chunks()
                continue
            parsed = parse_texts(texts, self.duplicate_keys)
            columns[index] = parsed.column
            errors = parsed.errors
            if not errors.num_rows:
                continue
            most = errors.num_rows if self.on_error == "quarantine" else FIRST_REFUSED
            refused = [(error["row"], bad_row(where, texts, before, error, self.duplicate_keys)) for error in errors[:most].to_pylist()]
            if self.on_error == "fail":
                raise refused[0][1].error()
            first += [one for _, one in refused[:FIRST_REFUSED]]
            if self.on_error == "null":
                nulls += errors.num_rows
                continue
            bad.append(bad_texts(plain(texts), refused, batch.drop_columns([name])))
            is_good = pc.or_(pc.is_valid(parsed.column), pc.is_null(texts))
            keep = is_good if keep is None else pc.and_(keep, is_good)
        rows = pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
        return Parsed(rows if keep is None else rows.filter(keep), 0, bad, nulls, first)
