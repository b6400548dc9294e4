"""Columns of values at native speed: the loader of the kernels.

The kernels come in three builds of one source (`varquet.kernels.source`): `compiled` with pointers and explicit guards,
`checked` with every access checked, for fuzzing, and `interpreted`, the source itself run by Python, where nothing could be
compiled. The environment variable VARQUET_KERNELS names the one to load; without it the compiled ones are, and the
interpreted ones with a warning where they are missing. `ACTIVE` says which is in use, `REASON` why it is not the compiled one.
"""

from __future__ import annotations

import importlib
import os
import warnings
from types import ModuleType
from typing import Final

from varquet.errors import UnsupportedTypeError

__all__ = [
    "ACTIVE",
    "REASON",
    "decode",
    "encode",
    "extract",
    "extract_values",
    "fingerprint",
    "load",
    "pages",
    "parse_json",
    "parse_shared",
    "profile",
    "repeated_names",
    "rewrite",
    "share",
    "shred",
    "shred_leaves",
    "to_json",
    "unshred",
    "unshred_leaves",
    "validate",
]

BUILDS: Final = {
    "compiled": "varquet.kernels.compiled",
    "checked": "varquet.kernels.checked",
    "interpreted": "varquet.kernels.source",
}
_VERBS: Final = (
    "parse_json",
    "parse_shared",
    "repeated_names",
    "to_json",
    "extract",
    "extract_values",
    "validate",
    "shred",
    "shred_leaves",
    "unshred",
    "unshred_leaves",
    "share",
    "rewrite",
    "fingerprint",
    "profile",
    "pages",
    "encode",
    "decode",
)


def load(build: str) -> dict[str, ModuleType]:
    """The kernel modules of one build by verb; ImportError where they are not built."""
    if build not in BUILDS:
        raise UnsupportedTypeError(f"expected VARQUET_KERNELS to be one of {', '.join(BUILDS)}, got {build!r}")
    return {verb: importlib.import_module(f"{BUILDS[build]}.{verb}") for verb in _VERBS}


def _choose() -> tuple[str, str | None, dict[str, ModuleType]]:
    asked = os.environ.get("VARQUET_KERNELS")
    if asked:
        return asked, None if asked == "compiled" else f"VARQUET_KERNELS={asked}", load(asked)
    try:
        return "compiled", None, load("compiled")
    except ImportError as error:
        reason = f"the compiled kernels could not be loaded ({error})"
        warnings.warn(
            f"varquet runs its interpreted kernels, several hundred times slower: {reason}. "
            "Hint: install a C compiler and reinstall varquet, or set VARQUET_KERNELS=interpreted to accept this.",
            RuntimeWarning,
            stacklevel=2,
        )
        return "interpreted", reason, load("interpreted")


ACTIVE, REASON, _modules = _choose()
parse_json: ModuleType = _modules["parse_json"]
parse_shared: ModuleType = _modules["parse_shared"]
repeated_names: ModuleType = _modules["repeated_names"]
to_json: ModuleType = _modules["to_json"]
extract: ModuleType = _modules["extract"]
extract_values: ModuleType = _modules["extract_values"]
validate: ModuleType = _modules["validate"]
shred: ModuleType = _modules["shred"]
shred_leaves: ModuleType = _modules["shred_leaves"]
unshred: ModuleType = _modules["unshred"]
unshred_leaves: ModuleType = _modules["unshred_leaves"]
share: ModuleType = _modules["share"]
rewrite: ModuleType = _modules["rewrite"]
fingerprint: ModuleType = _modules["fingerprint"]
profile: ModuleType = _modules["profile"]
pages: ModuleType = _modules["pages"]
encode: ModuleType = _modules["encode"]
decode: ModuleType = _modules["decode"]
