"""`varquet info`: what is installed and which kernels run."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import warnings
from typing import Final

from varquet.cli.output import JsonSwitch, Output

__all__ = ["EXAMPLE", "info"]

EXAMPLE: Final = "Example: varquet info --json"

_REQUIRED: Final = ("pyarrow", "numpy")
_OPTIONAL: Final = ("pyspark", "deltalake", "duckdb", "pandas")


def info(as_json: JsonSwitch = False) -> None:
    """Print the version, the active kernels, the number of threads and what varquet works with here."""
    from varquet import __version__

    with warnings.catch_warnings():
        # The warning that nothing is compiled is what this command reports as the reason.
        warnings.simplefilter("ignore", RuntimeWarning)
        from varquet import kernels
    from varquet.columns.threads import thread_count

    threads = thread_count()
    packages = {name: _version_of(name) for name in (*_REQUIRED, *_OPTIONAL)}
    java = _java()
    java_version, java_path = java or (None, None)
    Output.choose(as_json=as_json).result(
        {
            "varquet": __version__,
            "kernels": {"active": kernels.ACTIVE, "reason": kernels.REASON},
            "threads": threads,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "packages": packages,
            "java": {"version": java_version, "path": java_path} if java else None,
        },
        [
            ("varquet", __version__),
            ("kernels", kernels.ACTIVE + (f" ({kernels.REASON})" if kernels.REASON else "")),
            ("threads", str(threads)),
            ("python", f"{platform.python_version()} on {platform.platform()}"),
            *((name, version or "not installed") for name, version in packages.items()),
            ("java", f"{java_version} ({java_path})" if java else "not found"),
        ],
    )


def _version_of(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _java() -> tuple[str, str] | None:
    """The version and the path of the Java that Spark would start: that of JAVA_HOME, else the one on the PATH."""
    home = os.environ.get("JAVA_HOME")
    path = (shutil.which("java", path=os.path.join(home, "bin")) if home else None) or shutil.which("java")
    if path is None:
        return None
    try:
        answer = subprocess.run([path, "-version"], capture_output=True, text=True, errors="replace", timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "([^"]+)"', answer.stderr + answer.stdout)
    return (found[1], path) if found else None
