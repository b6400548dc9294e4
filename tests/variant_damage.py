"""Damage to the bytes of a Variant, of the kind that readers have to notice."""

from __future__ import annotations

import random

__all__ = ["damaged"]


def damaged(row: tuple[bytes, bytes], choice: random.Random, *, other: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """The metadata and value with a few things wrong in one of them or in both; `other` is another row to take bytes from."""
    metadata, value = row
    what = choice.random()
    if what < 0.6:
        value = _changed(value, choice, other[1])
    elif what < 0.9:
        metadata = _changed(metadata, choice, other[0])
    else:
        metadata, value = choice.choice(
            (
                (other[0], value),
                (metadata, other[1]),
                (value, metadata),
                (_changed(metadata, choice, value), _changed(value, choice, metadata)),
            )
        )
    return metadata, value


def _changed(data: bytes, choice: random.Random, other: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(choice.choice((1, 1, 1, 2, 4))):
        at = choice.randrange(len(changed) + 1)
        # Headers stand at the front, and most of what can go wrong does so there.
        if choice.random() < 0.4:
            at = min(at, choice.randrange(12))
        match choice.randrange(7):
            case 0 | 1 if at < len(changed):
                changed[at] ^= 1 << choice.randrange(8)
            case 2 | 3 if at < len(changed):
                changed[at] = choice.choice((0, 1, 2, 3, 0x7F, 0x80, 0xFE, 0xFF, len(data) & 0xFF, (len(data) - at) & 0xFF))
            case 4:
                del changed[at:]
            case 5:
                changed[at:at] = other[choice.randrange(len(other) + 1) :][:20]
            case _:
                del changed[at : at + choice.randint(1, 4)]
    return bytes(changed)
