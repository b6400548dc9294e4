"""Say what is missing here to build and test varquet, and how to get it.

    python build_tools/doctor.py           what set-up and the demo need
    python build_tools/doctor.py --spark   and a Java runtime, which Spark needs

Runs on any Python 3, because a Python that is too old is one of the things it finds. Exit code 2 if something is missing
that nothing else can stand in for.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from typing import List, Optional, Tuple

# What is missing, and how to get it.
Problem = Tuple[str, str]

OLDEST_PYTHON = (3, 11)
OLDEST_JAVA = 17


def python_problem() -> Optional[Problem]:
    if sys.version_info >= OLDEST_PYTHON:
        return None
    return (
        "Python {}.{} or later is needed; {} is Python {}.{}.".format(*OLDEST_PYTHON, sys.executable, *sys.version_info[:2]),
        "Debian, Ubuntu: apt install python3.11-venv python3.11-dev; macOS: brew install python@3.12. Then: make PYTHON=python3.11 ...",
    )


def venv_problem() -> Optional[Problem]:
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as error:
        return (
            f"The module {error.name} is missing from {sys.executable}, so no virtual environment can be made.",
            "Debian, Ubuntu: apt install python3-venv",
        )
    return None


def compiler_problem() -> Optional[Problem]:
    names = [os.environ["CC"].split()[0]] if os.environ.get("CC") else ["cc", "gcc", "clang", "cl"]
    if any(shutil.which(name) for name in names):
        return None
    return (
        "No C compiler is on the PATH; the one in the ziglang package (about 100 MB) will be used.",
        "To have your own: Debian, Ubuntu: apt install gcc; Fedora: dnf install gcc; macOS: xcode-select --install",
    )


def header_problem() -> Optional[Problem]:
    include = sysconfig.get_paths()["include"]
    if os.path.isfile(os.path.join(include, "Python.h")):
        return None
    return (
        f"Python.h is not in {include}: the kernels cannot be compiled and will run interpreted, several hundred times slower.",
        "Debian, Ubuntu: apt install python3-dev; Fedora: dnf install python3-devel",
    )


def java_problem() -> Optional[Problem]:
    advice = (
        "Debian, Ubuntu: apt install openjdk-17-jre-headless; macOS: brew install openjdk@17; or adoptium.net. Put it on the PATH or "
        "set JAVA_HOME. Without Spark: make test SPARK=0"
    )
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    if java is None:
        where = f"in JAVA_HOME ({home})" if home else "on the PATH"
        return f"Java {OLDEST_JAVA} or later is needed for the Spark tests; there is none {where}.", advice
    try:
        run = subprocess.run([java, "-version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"Java {OLDEST_JAVA} or later is needed for the Spark tests; {java} does not run ({error}).", advice
    answer = run.stdout.decode("utf-8", "replace")
    # Java 8 calls itself 1.8; macOS has a `java` that only says that there is no Java.
    found = re.search(r'version "(?:1\.)?(\d+)', answer)
    if found is None:
        said = " ".join(answer.split())[:120]
        return f"Java {OLDEST_JAVA} or later is needed for the Spark tests; {java} says: {said}", advice
    if int(found.group(1)) < OLDEST_JAVA:
        return f"Java {OLDEST_JAVA} or later is needed for the Spark tests; {java} is Java {found.group(1)}.", advice
    return None


def main(arguments: List[str]) -> int:
    needed = [python_problem, venv_problem] + ([java_problem] if "--spark" in arguments else [])
    missing = [problem for problem in (check() for check in needed) if problem]
    worse = [problem for problem in (check() for check in (compiler_problem, header_problem)) if problem]
    for kind, problems in (("missing", missing), ("warning", worse)):
        for what, how in problems:
            sys.stderr.write(f"{kind}: {what}\n         {how}\n")
    return 2 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
