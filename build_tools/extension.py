"""Compile one C file into a Python extension the way setuptools does it on this platform.

    python extension.py MODULE SOURCE.c DIRECTORY FLAGS MACROS LIMITED

setuptools knows the flags of this Python's platform and where MSVC hides, but keeps its settings in the process and its
environment; run as a script, two of these can work side by side. Prints the path of what it made.
"""

from __future__ import annotations

import contextlib
import json
import sys

from setuptools import Distribution, Extension


def compile_extension(module: str, source: str, out: str, flags: list[str], macros: list[list[str]], limited: bool) -> str:
    extension = Extension(
        module, [source], define_macros=[(name, value) for name, value in macros], extra_compile_args=flags, py_limited_api=limited
    )
    command = Distribution({"name": "varquet", "ext_modules": [extension]}).get_command_obj("build_ext")
    command.build_lib = out
    command.build_temp = out
    command.force = True
    command.ensure_finalized()
    with contextlib.redirect_stdout(sys.stderr):
        command.run()
    return str(command.get_ext_fullpath(module))


if __name__ == "__main__":
    module, source, out, flags, macros, limited = sys.argv[1:]
    print(compile_extension(module, source, out, json.loads(flags), json.loads(macros), json.loads(limited)))
