"""Realistic sample data, the same on every machine: NDJSON lines of three kinds.

    events    nested product events: conflicting types, nulls, missing fields, rare keys, arrays of objects, data used as keys
    github    repository events as a webhook delivers them: one payload shape per type, commits, urls
    headers   maps of HTTP headers: text to text, a few hot keys and a long tail

Row i depends on the seed and on i alone, so any range of rows can be made by itself and a split made anywhere gives
the same rows. No state, no clock, no float: integers in, text out.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

from varquet.errors import UnsupportedTypeError

__all__ = ["MAX_ROWS", "Kind", "generate", "write"]

MAX_ROWS: Final = 1 << 36
"""Rows of one seed; more would run past the years that a timestamp's text can name."""

_BLOCK: Final = 4096


class Kind(enum.StrEnum):
    """What the rows are about."""

    EVENTS = "events"
    GITHUB = "github"
    HEADERS = "headers"


def generate(kind: Kind | str, n: int, *, seed: int = 0, start: int = 0) -> Iterator[bytes]:
    """The rows start .. start + n - 1 of a kind, each one line of JSON in UTF-8 without its newline.

    >>> next(generate("headers", 1, seed=2))[:20]
    b'{"headers":{"host":"'
    """
    checked = _check(kind, n, start)
    return (line.encode() for block in _blocks(checked, n, seed, start) for line in block)


def write(
    kind: Kind | str,
    n: int,
    file: BinaryIO,
    *,
    seed: int = 0,
    start: int = 0,
    on_rows: Callable[[int], object] | None = None,
) -> int:
    """Write rows as NDJSON to an open binary file, and return how many bytes that took.

    `on_rows` is told, now and then, how many more rows have been written.
    """
    checked = _check(kind, n, start)
    written = 0
    for block in _blocks(checked, n, seed, start):
        data = "\n".join([*block, ""]).encode()
        file.write(data)
        written += len(data)
        if on_rows:
            on_rows(len(block))
    return written


def _check(kind: Kind | str, n: int, start: int) -> Kind:
    try:
        checked = Kind(kind)
    except ValueError:
        raise UnsupportedTypeError(f"expected a kind of sample, got {kind!r}", hint="the kinds are " + ", ".join(Kind)) from None
    if n < 0 or start < 0 or start + n > MAX_ROWS:
        raise UnsupportedTypeError(f"expected rows between 0 and {MAX_ROWS}, got n={n} from start={start}")
    return checked


def _blocks(kind: Kind, n: int, seed: int, start: int) -> Iterator[list[str]]:
    # The generators need numpy, which a command that only lists the kinds should not wait for.
    from varquet.samples import events, github, headers
    from varquet.samples.draws import Draws

    lines = {Kind.EVENTS: events.lines, Kind.GITHUB: github.lines, Kind.HEADERS: headers.lines}[kind]
    for first in range(start, start + n, _BLOCK):
        yield lines(Draws.of_range(seed, first, min(first + _BLOCK, start + n)))
