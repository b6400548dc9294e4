"""The application behind the command `varquet`, and its entry point.

Whatever goes wrong ends here: as one line on stderr that says what was expected, what was found and what to do, and as
an exit code. The environment variable VARQUET_DEBUG=1 shows the traceback before that line.
"""

# No `from __future__ import annotations` here: typer reads the annotations of `root`, which name what only `build_app` has imported.

import contextlib
import json
import os
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from varquet.cli.exit_codes import ExitCode
from varquet.errors import VarquetError

if TYPE_CHECKING:
    import typer

__all__ = ["ExitCode", "build_app", "main"]

# What the extra [cli] installs, with what typer itself stands on.
_EXTRA: Final = frozenset({"annotated_doc", "click", "pydantic", "rich", "shellingham", "typer"})


def main(args: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (else those of the process) and return its exit code."""
    arguments = list(sys.argv[1:] if args is None else args)
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError:
        return _reader_gone()
    except SystemExit as end:
        # rich and typer leave with 1 when nobody reads stdout any more. A reader who has seen enough is no finding.
        if isinstance(end.__context__, BrokenPipeError):
            return _reader_gone()
        raise
    except Exception as error:
        if type(error).__name__ == "Abort":  # what older versions of typer make of Ctrl-C
            return _interrupted()
        if os.environ.get("VARQUET_DEBUG") == "1":
            traceback.print_exception(error)
        _report(error, as_json="--json" in arguments)
        return ExitCode.FAILURE


def build_app() -> "typer.Typer":
    """The application with all its commands; needs the extra [cli]."""
    import typer

    from varquet.cli import analyze, cat, convert, diff, history, info, ingest, inspect, optimize, plan, query, sample, vacuum

    app = typer.Typer(rich_markup_mode="rich", pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]})

    @app.callback(invoke_without_command=True, epilog="Example: varquet sample events -n 1000 -o events.ndjson")
    def root(
        context: typer.Context,
        version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
    ) -> None:
        """Make semi-structured data (Parquet Variant) fast."""
        if version:
            from varquet import __version__

            print(f"varquet {__version__}")
            raise typer.Exit(ExitCode.OK)
        if context.invoked_subcommand is None:
            print(context.get_help())
            raise typer.Exit(ExitCode.FAILURE)

    app.command("info", epilog=info.EXAMPLE)(info.info)
    app.command("sample", epilog=sample.EXAMPLE)(sample.sample)
    app.command("analyze", epilog=analyze.EXAMPLE)(analyze.analyze)
    app.command("ingest", epilog=ingest.EXAMPLE)(ingest.ingest)
    app.command("cat", epilog=cat.EXAMPLE)(cat.cat)
    app.command("query", epilog=query.EXAMPLE)(query.query)
    app.command("inspect", epilog=inspect.EXAMPLE)(inspect.inspect)
    app.command("convert", epilog=convert.EXAMPLE)(convert.convert)
    app.command("diff", epilog=diff.EXAMPLE)(diff.diff)
    app.command("history", epilog=history.EXAMPLE)(history.history)
    app.command("optimize", epilog=optimize.EXAMPLE)(optimize.optimize)
    app.command("vacuum", epilog=vacuum.EXAMPLE)(vacuum.vacuum)
    plans = typer.Typer(help="The pinned schemas of a table: show, compare, evolve and measure them.", no_args_is_help=True)
    plans.command("show", epilog=plan.EXAMPLES["show"])(plan.show)
    plans.command("diff", epilog=plan.EXAMPLES["diff"])(plan.diff)
    plans.command("evolve", epilog=plan.EXAMPLES["evolve"])(plan.evolve)
    plans.command("drift", epilog=plan.EXAMPLES["drift"])(plan.drift)
    app.add_typer(plans, name="plan")
    return app


def _run(arguments: list[str]) -> int:
    from typer.main import get_command

    command: Any = get_command(build_app())
    code = command.main(args=arguments, prog_name="varquet", standalone_mode=False)
    sys.stdout.flush()
    if code == ExitCode.INTERRUPTED:  # what newer versions of typer make of Ctrl-C
        return _interrupted()
    return int(code or ExitCode.OK)


def _report(error: Exception, *, as_json: bool) -> None:
    message, hint = _describe(error)
    message = " ".join(message.split()).rstrip(".")
    if as_json:
        print(json.dumps({"error": {"type": type(error).__name__, "message": message, "hint": hint}}), file=sys.stderr)
    else:
        stop = "" if message.endswith("?") else "."
        print(f"error: {message}" + (f"{stop} Hint: {hint}" if hint else ""), file=sys.stderr)


def _describe(error: Exception) -> tuple[str, str | None]:
    """What to tell about an error, and what can be done about it."""
    if isinstance(error, VarquetError):
        return str(error).removesuffix(f". Hint: {error.hint}"), error.hint
    if isinstance(error, ModuleNotFoundError) and (missing := (error.name or "").partition(".")[0]) in _EXTRA:
        return f"the command varquet needs the package {missing}, which is not installed", "pip install 'varquet[cli]'"
    # Newer versions of typer carry a copy of click, older ones import it: there is no one class of usage errors to name.
    if hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        # Some versions of it say which class found the mistake.
        return error.format_message().replace("Value error, ", ""), f"{context.command_path if context else 'varquet'} --help"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror + (f": {error.filename}" if error.filename else ""), None
    return f"unexpected {type(error).__name__}: {error}", "VARQUET_DEBUG=1 shows where; please report it"


def _interrupted() -> int:
    print("interrupted", file=sys.stderr)
    return ExitCode.INTERRUPTED


def _reader_gone() -> int:
    # The interpreter flushes stdout once more on its way out, and would complain there.
    with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    return ExitCode.OK
