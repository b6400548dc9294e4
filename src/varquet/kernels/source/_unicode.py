"""UTF-8, checked one sequence at a time, and runs of characters that need no look at all."""

from __future__ import annotations

from varquet.kernels.source.dialect import InBytes, ascii_blocks, i64, inlined, kernel, load64, plain_blocks, trailing_byte, u64


@kernel
def utf8_length(data: InBytes, at: i64, end: i64) -> i64:
    """Bytes of the well-formed UTF-8 sequence that starts at `at`, or 0 (RFC 3629: no overlong forms, no surrogates)."""
    lead: i64 = data[at]
    second: i64
    if lead < 0x80:
        return 1
    if lead < 0xC2 or lead > 0xF4:
        return 0
    if at + 1 >= end:
        return 0
    second = data[at + 1]
    if second & 0xC0 != 0x80:
        return 0
    if lead < 0xE0:
        return 2
    if at + 2 >= end or data[at + 2] & 0xC0 != 0x80:
        return 0
    if lead < 0xF0:
        if lead == 0xE0 and second < 0xA0:
            return 0
        if lead == 0xED and second >= 0xA0:
            return 0
        return 3
    if at + 3 >= end or data[at + 3] & 0xC0 != 0x80:
        return 0
    if lead == 0xF0 and second < 0x90:
        return 0
    if lead == 0xF4 and second >= 0x90:
        return 0
    return 4


@inlined
def special_bytes(word: u64) -> u64:
    """Not 0 if one of eight bytes is a quote, a backslash, a control character or no ASCII; its trailing_byte is the first."""
    ones: u64 = 0x0101010101010101
    tops: u64 = 0x8080808080808080
    quotes: u64 = 0x2222222222222222
    slashes: u64 = 0x5C5C5C5C5C5C5C5C
    blanks: u64 = 0x2020202020202020
    found: u64 = (word - blanks) & ~word
    found |= ((word ^ quotes) - ones) & ~(word ^ quotes)
    found |= ((word ^ slashes) - ones) & ~(word ^ slashes)
    return (found | word) & tops


@inlined
def plain_run(data: InBytes, at: i64, end: i64) -> i64:
    """The first byte from `at` on that is a quote, a backslash, a control character or no ASCII; or `end`."""
    found: u64
    byte: i64
    at = plain_blocks(data, at, end)
    if at + 16 <= end:
        return at
    while at + 8 <= end:
        found = special_bytes(load64(data, at))
        if found:
            return at + trailing_byte(found)
        at += 8
    while at < end:
        byte = data[at]
        if byte < 32 or byte == 34 or byte == 92 or byte >= 128:
            return at
        at += 1
    return at


@kernel
def is_utf8(data: InBytes, at: i64, end: i64) -> i64:
    """1 if the bytes are well-formed UTF-8."""
    width: i64
    tops: u64 = 0x8080808080808080
    at = ascii_blocks(data, at, end)
    while at < end:
        if at + 8 <= end and load64(data, at) & tops == 0:
            at += 8
            continue
        width = utf8_length(data, at, end)
        if width == 0:
            return 0
        at += width
    return 1
