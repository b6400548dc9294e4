"""Compile the kernels in place, what has changed of them.

    python build_tools/build.py                            the compiled kernels
    python build_tools/build.py --mode compiled,checked    those for fuzzing, too
    python build_tools/build.py --clean                    remove what was built
    python build_tools/build.py --needs                    what to install first with pip: ziglang where no C compiler works

Needs cython and setuptools in this Python. Where the C compiler is missing, `pip install ziglang` provides one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time

import kernels
import native


def main() -> int:
    parser = argparse.ArgumentParser(description="Compile the kernels in place, what has changed of them.")
    parser.add_argument("--mode", default="compiled", help="the builds to make, separated by commas: compiled, checked (default: compiled)")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="how many modules to compile at once")
    parser.add_argument("--clean", action="store_true", help="remove what was built, in place and under build/")
    parser.add_argument("--needs", action="store_true", help="only print what to install with pip before building, if anything")
    options = parser.parse_args()
    if options.needs:
        print(" ".join(native.zig_requirements()))
        return 0
    if options.clean:
        native.uninstall(kernels.MODES)
        shutil.rmtree(native.WORK, ignore_errors=True)
        return 0
    modes = [mode for mode in options.mode.split(",") if mode]
    if unknown := [mode for mode in modes if mode not in kernels.MODES]:
        parser.error(f"expected --mode to be some of {', '.join(kernels.MODES)}, got {', '.join(unknown)}")
    started = time.perf_counter()
    try:
        built = native.build(modes, jobs=options.jobs)
    except native.NativeBuildError as error:
        print(f"varquet: the kernels were not compiled: {error}", file=sys.stderr)
        return 2
    placed = native.install(built)
    print(f"varquet: {len(built)} kernel modules up to date, {len(placed)} of them new, in {time.perf_counter() - started:.1f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
