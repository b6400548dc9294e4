"""Sorting numbers in place: insertion for a few, merging for many."""

from __future__ import annotations

from varquet.kernels.source.dialect import OutInts, i64, kernel

FEW = 24


@kernel
def sort_ints(numbers: OutInts, at: i64, count: i64, spare: i64) -> i64:
    """Sort `count` numbers at `at`; from `spare` on there is room for as many."""
    i: i64
    j: i64
    moved: i64
    width: i64
    left: i64
    middle: i64
    right: i64
    a: i64
    b: i64
    if count <= FEW:
        for i in range(1, count):
            moved = numbers[at + i]
            j = i - 1
            while j >= 0 and numbers[at + j] > moved:
                numbers[at + j + 1] = numbers[at + j]
                j -= 1
            numbers[at + j + 1] = moved
        return 0
    width = 1
    i = at
    j = spare
    while width < count:
        left = 0
        while left < count:
            middle = left + width if left + width < count else count
            right = left + 2 * width if left + 2 * width < count else count
            a = left
            b = middle
            for moved in range(left, right):
                if b >= right or (a < middle and numbers[i + a] <= numbers[i + b]):
                    numbers[j + moved] = numbers[i + a]
                    a += 1
                else:
                    numbers[j + moved] = numbers[i + b]
                    b += 1
            left += 2 * width
        a = i
        i = j
        j = a
        width *= 2
    if i != at:
        for a in range(count):
            numbers[at + a] = numbers[i + a]
    return 0
