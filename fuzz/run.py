"""Send damaged inputs through every verb: `python fuzz/run.py [--inputs 1000000] [--seed 0] [--build checked]`.

An input is a Variant (metadata and value) for the verbs that read, and a JSON text for parse_json. They go in batches to a
process of its own, so that a crash or a hang is seen from outside: the batch is then sent once more input by input, to find
the one to blame. A failure is printed with its bytes in hexadecimal, saved under fuzz/failures, and ends the run with 1.
`--batch N` runs one batch of a seed again, `--reproduce FILE` a saved failure.

What is checked, and what memory the verbs may take, is said in fuzz/verbs.py.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import multiprocessing
import os
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # run as a file, not with -m

from fuzz.inputs import Batch, batch  # noqa: E402

FAILURES = ROOT / "fuzz" / "failures"
_PROGRESS_SECONDS = 15.0


def main(arguments: list[str] | None = None) -> int:
    """Run the fuzzer; 0 if nothing failed, 1 if something did."""
    options = _options(arguments)
    # The build is chosen when varquet.kernels is first imported, which is in the worker.
    os.environ["VARQUET_KERNELS"] = options.build
    if options.reproduce:
        return _reproduce(Path(options.reproduce), options)
    numbers = itertools.count() if options.batch is None else [options.batch]
    print(f"{options.inputs:,} inputs, seed {options.seed}, {options.build} kernels, batches of {options.size:,}", flush=True)
    started = shown = time.monotonic()
    total = None
    worker = _Worker(options.timeout)
    for number in numbers:
        figures, problem = worker.send(("batch", options.seed, number, options.size))
        if problem is not None:
            worker.stop()
            _report(_blame(batch(options.seed, number, options.size), number, problem, options), options, number)
            return 1
        if total is None:
            total = figures
        else:
            total.add(figures)
        if total.counts["inputs"] >= options.inputs:
            break
        if time.monotonic() - shown > _PROGRESS_SECONDS:
            shown = time.monotonic()
            print(f"  {total.counts['inputs']:>9,} inputs, {shown - started:6.0f} s", file=sys.stderr, flush=True)
    worker.stop()
    _print(total, time.monotonic() - started)
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Send damaged inputs through every verb of varquet.")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="how many Variants, and how many texts (default 1,000,000)")
    parser.add_argument("--seed", type=int, default=0, help="which inputs (default 0)")
    parser.add_argument(
        "--build", default="checked", choices=("compiled", "checked", "interpreted"), help="which kernels (default checked)"
    )
    parser.add_argument("--size", type=int, default=1000, help="inputs in a batch (default 1,000)")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds after which a batch hangs (default 120)")
    parser.add_argument("--batch", type=int, help="run this batch only")
    parser.add_argument("--reproduce", help="run a saved failure again")
    return parser.parse_args(arguments)


# The process that runs the verbs


class _Worker:
    """A process that answers with figures, with a problem in words, or not at all."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        context = multiprocessing.get_context("spawn")
        self.ours, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def send(self, request: tuple[Any, ...]) -> tuple[Any, str | None]:
        """The figures, or None and what went wrong."""
        try:
            self.ours.send(request)
            if self.ours.poll(self.timeout):
                figures, problem = self.ours.recv()
                return figures, problem
        except (EOFError, OSError):
            self.process.join()
            return None, f"the process died with code {self.process.exitcode}"
        return None, f"no answer within {self.timeout:.0f} seconds"

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.ours.close()


def _serve(theirs: Connection) -> None:
    from fuzz import verbs

    with contextlib.suppress(Exception):  # the first batch will say the same
        verbs.warm_up(batch(0, 0, 200))
    while True:
        request = theirs.recv()
        kind, number = request[0], request[2]
        inputs = batch(*request[1:]) if kind == "batch" else request[1]
        try:
            theirs.send((verbs.run(inputs, number), None))
        except verbs.FaultError as failure:
            theirs.send((None, str(failure)))
        except Exception as error:
            theirs.send((None, f"{type(error).__name__}: {error}"))


# Failures


def _blame(inputs: Batch, number: int, problem: str, options: argparse.Namespace) -> dict[str, Any]:
    """The single input that fails by itself, or the whole batch where none does."""
    singles = [Batch([row], []) for row in inputs.rows] + [Batch([], [text]) for text in inputs.texts]
    worker = _Worker(options.timeout)
    for single in singles:
        _, alone = worker.send(("inputs", single, number))
        if alone is not None:
            worker.stop()
            return {"problem": alone, "in the batch": problem, "number": number, **_as_hex(single)}
    worker.stop()
    return {"problem": problem, "number": number, **_as_hex(inputs)}


def _as_hex(inputs: Batch) -> dict[str, Any]:
    return {
        "rows": [{"metadata": metadata.hex(), "value": value.hex()} for metadata, value in inputs.rows],
        "texts": [text.hex() for text in inputs.texts],
    }


def _report(failure: dict[str, Any], options: argparse.Namespace, number: int) -> None:
    FAILURES.mkdir(exist_ok=True)
    path = FAILURES / f"seed{options.seed}-batch{number}.json"
    path.write_text(json.dumps({"build": options.build, **failure}, indent=1), encoding="utf-8")
    print(f"FAILED in batch {number}: {failure['problem']}")
    for row in failure["rows"][:1]:
        print(f"  metadata {row['metadata'][:2000]}\n  value    {row['value'][:2000]}")
    for text in failure["texts"][:1]:
        print(f"  text     {text[:2000]}")
    print(f"  saved as {path.relative_to(ROOT)}")
    print(f"  python fuzz/run.py --reproduce {path.relative_to(ROOT)} --build {options.build}")
    print(f"  python fuzz/run.py --seed {options.seed} --batch {number} --size {options.size} --build {options.build}", flush=True)


def _reproduce(path: Path, options: argparse.Namespace) -> int:
    saved = json.loads(path.read_text(encoding="utf-8"))
    inputs = Batch(
        [(bytes.fromhex(row["metadata"]), bytes.fromhex(row["value"])) for row in saved["rows"]],
        [bytes.fromhex(text) for text in saved["texts"]],
    )
    worker = _Worker(options.timeout)
    _, problem = worker.send(("inputs", inputs, saved["number"]))
    worker.stop()
    print(f"FAILED: {problem}" if problem else "passes now")
    return 1 if problem else 0


def _print(total: Any, seconds: float) -> None:
    inputs = total.counts["inputs"]
    print(f"passed: {inputs:,} inputs in {seconds:,.0f} s, {inputs / seconds:,.0f}/s")
    for name, count in total.counts.items():
        print(f"  {count:>13,} {name}")
    for name, ratio in total.largest.items():
        print(f"  {ratio:>13,.1f} {name}, at most", flush=True)


if __name__ == "__main__":
    sys.exit(main())
