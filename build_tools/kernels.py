"""Turn the kernel sources into Cython modules: with pointers for release, with checked memoryviews for fuzzing.

See `src/varquet/kernels/source/dialect.py` for the dialect the sources are written in.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "varquet" / "kernels" / "source"
MODES = {"compiled": "pointers", "checked": "checked"}

_VIEWS = {
    "InBytesView": "cython.const[cython.uchar][::1]",
    "OutBytesView": "cython.uchar[::1]",
    "InIntsView": "cython.const[cython.longlong][::1]",
    "OutIntsView": "cython.longlong[::1]",
}
_CHECKED_TYPES = {name.removesuffix("View"): view for name, view in _VIEWS.items()}
_ALWAYS = "language_level=3, show_performance_hints=False, wraparound=False, cdivision=True"
_DIRECTIVES = {
    "compiled": f"{_ALWAYS}, boundscheck=False, initializedcheck=False, nonecheck=False",
    "checked": f"{_ALWAYS}, boundscheck=True, initializedcheck=True, overflowcheck=False",
}
_KERNEL = {
    "compiled": "@cython.cfunc\n@cython.nogil\n@cython.exceptval(check=False)",
    "checked": "@cython.cfunc\n@cython.nogil",
}
_IMPORT = re.compile(r"^from varquet\.kernels\.source\.(\w+) import (?:\([^)]*\)|[^\n]*)\n", re.MULTILINE)
_CONSTANT = re.compile(r"^([A-Z][A-Z0-9_]*) = (-?\d+)\n", re.MULTILINE)
_LITERAL = re.compile(r"\b(?:0x[0-9A-Fa-f]+|\d+)\b")


def _sized(literal: re.Match[str]) -> str:
    """An integer literal that Cython takes for a C number whatever its size (it makes objects of large plain ones)."""
    number = int(literal[0], 0) if literal[0].startswith("0x") else int(literal[0])
    if number < 1 << 31:
        return literal[0]
    return literal[0] + ("LL" if number < 1 << 63 else "ULL")


def names() -> list[str]:
    """The kernel modules: every source that has an entry point of its own."""
    return sorted(p.stem for p in SOURCES.glob("*.py") if p.stem not in ("__init__", "dialect") and not p.stem.startswith("_"))


def expand(name: str, mode: str, *, _seen: set[str] | None = None) -> str:
    """The text of one source with the sources it imports put in front, each once, still in the dialect."""
    seen = _seen if _seen is not None else set()
    seen.add(name)
    text = (SOURCES / f"{name}.py").read_text(encoding="utf-8")
    before: list[str] = []
    for found in _IMPORT.finditer(text):
        if found[1] != "dialect" and found[1] not in seen:
            before.append(expand(found[1], mode, _seen=seen))
    text = _IMPORT.sub("", text).replace("from __future__ import annotations\n", "")
    return "".join(before) + text


def generate(name: str, mode: str) -> str:
    """The Cython source of one kernel module in one mode."""
    text = expand(name, mode)
    text = re.sub(r"^@kernel$", _KERNEL[mode], text, flags=re.MULTILINE)
    text = re.sub(r"^@inlined$", _KERNEL[mode] + "\n@cython.inline", text, flags=re.MULTILINE)
    for view, spelled in _VIEWS.items():
        text = re.sub(rf"\b{view}\b", spelled, text)
    if mode == "checked":
        for buffer, spelled in _CHECKED_TYPES.items():
            text = re.sub(rf"\b{buffer}\b", spelled, text)
        text = re.sub(r"\b(?:in|out)_(?:bytes|ints)\((\w+)\)", r"\1", text)
    else:
        text = re.sub(r"\b(?:in|out)_(?:bytes|ints)\((\w+)\)", r"&\1[0]", text)
    text = _CONSTANT.sub(r"cdef enum:\n    \1 = \2\n", text)
    text = _LITERAL.sub(_sized, text)
    # In C an unsigned 64-bit result needs no mask, and the mask itself would be a Python object.
    text = re.sub(r" & M64\b", "", text)
    text = re.sub(r"\bnogil\b", "cython.nogil", text.replace("cython.nogil", "nogil"))
    preludes = ("prelude_common.pxi", f"prelude_{MODES[mode]}.pxi")
    prelude = "\n".join((ROOT / "build_tools" / p).read_text(encoding="utf-8") for p in preludes)
    return f"# cython: {_DIRECTIVES[mode]}\n{prelude}\n{text}"
