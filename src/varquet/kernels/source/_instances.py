"""What the kernels that take columns apart know of the instances of a schema node."""

from __future__ import annotations

# What became of an instance's value.
IS_MISSING = 0
IS_TYPED = 1
IS_RESIDUAL = 2

# What a kernel tells of a node's instances: how many are typed, how many are left for the residual and how many bytes those
# have; behind them two numbers of its own.
COUNT_TYPED = 0
COUNT_LEFT = 1
COUNT_LEFT_BYTES = 2
COUNT_NUMBER = 3
COUNT_SLOTS = 5

# An instance's bytes are far from those of the one before: they are fetched this many instances before they are read.
AHEAD = 16
