"""The build backend: setuptools, with the kernels compiled before it packs.

Compiling must not decide whether varquet can be installed. Where there is no C compiler, the build asks for the `ziglang`
wheel and uses that; where nothing compiles at all, the wheel holds no compiled kernels and varquet runs the interpreted ones,
which it says in a warning. VARQUET_BUILD chooses what is compiled: `compiled` (the default), `checked`, both, or `none`.
"""

from __future__ import annotations

import shutil
import sys
from typing import Any

from setuptools import build_meta

import native

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

build_sdist = build_meta.build_sdist
get_requires_for_build_sdist = build_meta.get_requires_for_build_sdist
prepare_metadata_for_build_editable = build_meta.prepare_metadata_for_build_editable
prepare_metadata_for_build_wheel = build_meta.prepare_metadata_for_build_wheel

to_pack: list[native.Built] = []
"""What `setup.py` puts into the wheel that is being built in this process."""

_NOT_COMPILED = """
********************************************************************************
varquet: THE KERNELS WERE NOT COMPILED. varquet will run its interpreted kernels,
several hundred times slower, and warn whenever it does.

{reason}

Afterwards: pip install --force-reinstall --no-cache-dir varquet
********************************************************************************
"""


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return [*build_meta.get_requires_for_build_wheel(config_settings), *native.zig_requirements()]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    return [*build_meta.get_requires_for_build_editable(config_settings), *native.zig_requirements()]


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    to_pack[:] = _compile()
    # setuptools packs whatever an earlier build has left there.
    for left in (native.WORK.parent / "lib", *native.WORK.parent.glob("lib.*")):
        shutil.rmtree(left, ignore_errors=True)
    return str(build_meta.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    if modes := native.modes_wanted():
        # What could not be made anew must not stay: it may no longer fit the sources beside it.
        if built := _compile():
            native.install(built)
        else:
            native.uninstall(modes)
    return str(build_meta.build_editable(wheel_directory, config_settings, metadata_directory))


def _compile() -> list[native.Built]:
    try:
        return native.build(native.modes_wanted())
    except native.NativeBuildError as error:
        print(_NOT_COMPILED.format(reason=error), file=sys.stderr, flush=True)
        return []
