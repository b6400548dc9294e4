"""Z85, the text that Delta has for bytes in its JSON (ZeroMQ RFC 32), and Variants written in it.

    4 bytes, as one number big endian    5 characters, its digits to the base 85, the highest first

The statistics of a Variant column are one Variant as such text: metadata ‖ value ‖ zeros up to a multiple of four. No length is
stored: both parts know their own size. The two examples that the protocol prints are not made by that rule, but as value ‖ metadata
whose last block is cut off, n bytes as n + 1 characters. They are read too.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from varquet.errors import CastError, InvalidVariantError
from varquet.variant import Variant, metadata_size, value_size

__all__ = ["decode", "decode_variant", "encode", "encode_variant"]

_ALPHABET: Final = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_CHARACTERS: Final = np.frombuffer(_ALPHABET, np.uint8)
_NO_DIGIT: Final = 255
_DIGITS: Final = np.full(256, _NO_DIGIT, np.uint8)
_DIGITS[_CHARACTERS] = np.arange(85)
_POWERS: Final = 85 ** np.arange(4, -1, -1, dtype=np.uint64)
_BLOCK_END: Final = 1 << 32
# The highest digit, which fills up a block that was cut off.
_FILL: Final = "#"


def encode(data: bytes) -> str:
    """The text of some bytes, whose number must be a multiple of four.

    >>> encode(bytes.fromhex("864FD26FB559F75B"))
    'HelloWorld'
    """
    if len(data) % 4:
        raise CastError(f"expected a multiple of 4 bytes to write as Z85, got {len(data)}", hint="fill them up with zeros")
    numbers = np.frombuffer(data, ">u4").astype(np.uint64)
    digits = numbers[:, None] // _POWERS % np.uint64(85)
    return str(_CHARACTERS[digits].tobytes(), "ascii")


def decode(text: str) -> bytes:
    """The bytes of a text, whose length must be a multiple of five.

    >>> decode("HelloWorld").hex()
    '864fd26fb559f75b'
    """
    if len(text) % 5:
        raise CastError(f"expected a multiple of 5 characters of Z85, got {len(text)}")
    return _blocks(text)


def encode_variant(metadata: bytes, value: bytes) -> str:
    """The text of a Variant as statistics have it.

    >>> encode_variant(bytes.fromhex("010000"), bytes.fromhex("0c2a"))
    '0rr9ddGxCG'
    """
    data = metadata + value
    return encode(data + bytes(-len(data) % 4))


def decode_variant(text: str) -> Variant:
    """The Variant of a text by the rule, or in the form of the protocol's two examples."""
    cut = -len(text) % 5
    if cut == 4:
        raise CastError(f"expected whole blocks of 5 characters of Z85, or a last one of 2 at least, got {len(text)} characters")
    data = _blocks(text + _FILL * cut)
    data = data[: len(data) - cut]
    try:
        return _apart(data)
    except InvalidVariantError as error:
        try:
            return _apart_reversed(data)
        except InvalidVariantError:
            raise error from None


def _apart(data: bytes) -> Variant:
    names = metadata_size(data)
    return Variant(data[:names], data[names : names + value_size(data, names)])


def _apart_reversed(data: bytes) -> Variant:
    """Of value ‖ metadata."""
    size = value_size(data)
    rest = data[size:]
    return Variant(rest[: metadata_size(rest)], data[:size])


def _blocks(text: str) -> bytes:
    try:
        characters = np.frombuffer(text.encode("ascii"), np.uint8)
    except UnicodeEncodeError as error:
        raise _no_digit(text, error.start) from None
    digits = _DIGITS[characters]
    wrong = np.flatnonzero(digits == _NO_DIGIT)
    if len(wrong):
        raise _no_digit(text, int(wrong[0]))
    numbers: npt.NDArray[np.uint64] = (digits.reshape(-1, 5).astype(np.uint64) * _POWERS).sum(axis=1, dtype=np.uint64)
    large = np.flatnonzero(numbers >= _BLOCK_END)
    if len(large):
        at = 5 * int(large[0])
        raise CastError(f"expected blocks of Z85 that 4 bytes hold, got {text[at : at + 5]!r} at character {at + 1}")
    return numbers.astype(">u4").tobytes()


def _no_digit(text: str, at: int) -> CastError:
    return CastError(f"expected characters of Z85, got {text[at]!r} at character {at + 1}", hint="the text was cut or changed")
