"""Where a command's results go: one interface, for people (`ConsoleOutput`) or for programs (`JsonOutput`).

A command hands over its result twice, as data and as lines a person reads; the output takes the one it needs. Progress is
shown on stderr, and only to a person who is looking at it.
"""

from __future__ import annotations

import abc
import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

import typer

__all__ = ["ConsoleOutput", "JsonOutput", "JsonSwitch", "Output"]

JsonSwitch = Annotated[bool, typer.Option("--json", help="Print the result, and any error, as JSON.")]
"""The option that every command has."""

_WIDE: Final = 100_000


class Output(abc.ABC):
    """Results to stdout, progress to stderr."""

    @staticmethod
    def choose(*, as_json: bool) -> Output:
        """The output that the option --json asks for."""
        return JsonOutput() if as_json else ConsoleOutput()

    @abc.abstractmethod
    def result(self, data: Mapping[str, Any], lines: Sequence[tuple[str, str]]) -> None:
        """Print a result: `data` for a program, `lines` of a label and a text for a person."""

    @abc.abstractmethod
    def tables(self, data: Mapping[str, Any], tables: Callable[[], Sequence[Any]]) -> None:
        """Print a result: `data` for a program, what `tables` makes (anything that rich prints) for a person."""

    @abc.abstractmethod
    def progress(self, label: str, total: int | None) -> contextlib.AbstractContextManager[Callable[[int], None]]:
        """Show work under way; the function it gives is told how many more of the total, if that is known, are done."""


class ConsoleOutput(Output):
    """For people."""

    def result(self, data: Mapping[str, Any], lines: Sequence[tuple[str, str]]) -> None:
        from rich.console import Console
        from rich.text import Text

        console = Console(highlight=False)
        width = max((len(label) for label, _ in lines), default=0)
        for label, text in lines:
            # Not wrapped: a person can widen the window, and what reads a pipe wants one line.
            console.print(Text.assemble((label.ljust(width), "bold"), "  ", text), soft_wrap=True)

    def tables(self, data: Mapping[str, Any], tables: Callable[[], Sequence[Any]]) -> None:
        from rich.console import Console

        # What reads a pipe wants whole lines, however wide.
        console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDE)
        for table in tables():
            console.print(table)

    @contextlib.contextmanager
    def progress(self, label: str, total: int | None) -> Iterator[Callable[[int], None]]:
        if not sys.stderr.isatty():
            yield lambda _: None
            return
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(label, total=total)
            yield lambda done: bar.advance(task, done)


class JsonOutput(Output):
    """For programs: one JSON object."""

    def result(self, data: Mapping[str, Any], lines: Sequence[tuple[str, str]]) -> None:
        print(json.dumps(data, indent=2))

    def tables(self, data: Mapping[str, Any], tables: Callable[[], Sequence[Any]]) -> None:
        self.result(data, [])

    def progress(self, label: str, total: int | None) -> contextlib.AbstractContextManager[Callable[[int], None]]:
        return contextlib.nullcontext(lambda _: None)
