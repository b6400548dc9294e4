"""`python -m varquet` is the command `varquet`."""

from __future__ import annotations

import sys

from varquet.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
