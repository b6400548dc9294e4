"""The bodies of the pages of a Parquet column to its levels and its values: the way back of `encode`.

`decode_leaf` does all pages of a leaf column at once, and leaves its values where Arrow wants them: threads that are back too often
wait for each other. What is known of a page stands in `parts`: where its values begin and end in the bodies, which lie side by side,
how many entries it has, and how many of them are values. There are SPARE bytes behind the bodies, see `_unpacking`. Whatever is not as
it must be gives -1: who asks has another reader, which says what is wrong.
"""

from __future__ import annotations

from varquet.kernels.source._unpacking import AT_HELD, AT_SIZE, unpack_differences, unpack_indexes, unpack_levels
from varquet.kernels.source.dialect import (
    M64,
    InBytes,
    InBytesView,
    InInts,
    InIntsView,
    OutBytes,
    OutBytesView,
    OutInts,
    OutIntsView,
    copy_bytes,
    copy_within,
    i64,
    in_bytes,
    in_ints,
    inlined,
    kernel,
    load64,
    load_le,
    nogil,
    out_bytes,
    out_ints,
    signed,
    store64,
    store_le,
)

PART_START = 0
PART_END = 1
PART_ENTRIES = 2
PART_VALUES = 3
PART_SLOTS = 4

# What `decode_leaf` is told of a leaf column: its highest levels and how many bits they take, from which definition level on there is an
# instance, the encoding of its pages, the bytes of its numbers (1 for bits, 0 for texts), how many entries its dictionary has, and
# what its values become.
ABOUT_REPETITION = 0
ABOUT_DEFINITION = 1
ABOUT_REPETITION_BITS = 2
ABOUT_DEFINITION_BITS = 3
ABOUT_LEAST = 4
ABOUT_ENCODING = 5
ABOUT_WIDTH = 6
ABOUT_ENTRIES = 7
ABOUT_OUT = 8
ABOUT_SLOTS = 9

OUT_NOTHING = 0
OUT_TEXTS = 64

# parquet.thrift; any other one is that of indexes.
ENCODING_PLAIN = 0
ENCODING_DIFFERENCES = 5
ENCODING_LENGTHS = 6


@kernel
def split_page(data: InBytes, parts: OutInts, part: i64, most: i64, width: i64, levels: OutBytes, before: i64, scratch: OutInts) -> i64:
    """Read the levels that a page begins with, and move its start behind them; how many are the highest, or -1."""
    start: i64 = parts[part + PART_START] + 4
    length: i64 = load_le(data, start - 4, 4)
    if start + length > parts[part + PART_END]:
        return -1
    parts[part + PART_START] = start + length
    return unpack_levels(data, start, start + length, parts[part + PART_ENTRIES], most, width, levels, before, scratch)


def pick_levels(definitions: InBytesView, repetitions: InBytesView, least: i64, depth: i64, out: OutBytesView) -> i64:
    """The definition levels from `least` on that begin something in no more than `depth` lists, side by side; how many.

    There is room for all of them.
    """
    k: i64
    count: i64 = 0
    entries: i64 = len(definitions)
    definitions_p: InBytes = in_bytes(definitions)
    repetitions_p: InBytes = in_bytes(repetitions)
    out_p: OutBytes = out_bytes(out)
    with nogil:
        for k in range(entries):
            out_p[count] = definitions_p[k]
            count += (1 if definitions_p[k] >= least else 0) & (1 if repetitions_p[k] <= depth else 0)
    return count


def list_offsets(definitions: InBytesView, repetitions: InBytesView, least: i64, least_element: i64, depth: i64, out: OutBytesView) -> i64:
    """Where the elements of each list that stands in `depth` others begin, and behind them where the last ends, in 4 bytes each.

    There is a list from the definition level `least` on, and an element from `least_element` on; how many lists there are is returned.
    There is room for one offset more than there are levels.
    """
    k: i64
    count: i64 = 0
    elements: i64 = 0
    entries: i64 = len(definitions)
    definitions_p: InBytes = in_bytes(definitions)
    repetitions_p: InBytes = in_bytes(repetitions)
    out_p: OutBytes = out_bytes(out)
    with nogil:
        for k in range(entries):
            store_le(out_p, 4 * count, elements, 4)
            count += (1 if definitions_p[k] >= least else 0) & (1 if repetitions_p[k] <= depth else 0)
            elements += (1 if definitions_p[k] >= least_element else 0) & (1 if repetitions_p[k] <= depth + 1 else 0)
        store_le(out_p, 4 * count, elements, 4)
    return count


@kernel
def plain_texts(data: InBytes, at: i64, end: i64, count: i64, offsets: OutInts, number: i64, out: OutBytes, to: i64) -> i64:
    """Read texts, each behind its length, and put them from `to` on; where the last ends, or -1.

    Text k begins at offsets[k] and ends at the next offset; `number` is the first one's.
    """
    length: i64
    k: i64
    for k in range(number + 1, number + 1 + count):
        length = load_le(data, at, 4) if end - at >= 4 else -1
        if length < 0 or length > end - at - 4:
            return -1
        copy_bytes(out, to, data, at + 4, length)
        at += 4 + length
        to += length
        offsets[k] = to
    return to


@kernel
def unpack_texts(
    data: InBytes, at: i64, end: i64, count: i64, offsets: OutInts, number: i64, out: OutBytes, to: i64, scratch: OutInts
) -> i64:
    """Like `plain_texts`, of texts that have all lengths first (DELTA_LENGTH_BYTE_ARRAY)."""
    start: i64 = to
    k: i64
    at = unpack_differences(data, at, end, count, offsets, number + 1, scratch)
    if at < 0:
        return -1
    for k in range(number + 1, number + 1 + count):
        if offsets[k] < 0 or offsets[k] > end - at:
            return -1
        to += offsets[k]
        offsets[k] = to
    if to - start > end - at:
        return -1
    copy_bytes(out, start, data, at, to - start)
    return to


@kernel
def chosen_texts(
    entries: InBytes, entry_offsets: InInts, count: i64, offsets: OutInts, number: i64, out: OutBytes, to: i64, room: i64
) -> i64:
    """Put the texts of a dictionary whose numbers stand where their offsets come; where the last ends, or -1 if there is no room."""
    entry: i64
    length: i64
    k: i64
    for k in range(number + 1, number + 1 + count):
        entry = offsets[k]
        length = entry_offsets[entry + 1] - entry_offsets[entry]
        if to + length > room:
            return -1
        copy_bytes(out, to, entries, entry_offsets[entry], length)
        to += length
        offsets[k] = to
    return to


@kernel
def plain_numbers(data: InBytes, at: i64, end: i64, count: i64, width: i64, out: OutInts, to: i64) -> i64:
    """Read numbers of 4 or 8 bytes, or of a bit each if `width` is 1; the number behind the last, or -1."""
    k: i64
    if (width * count if width > 1 else (count + 7) >> 3) > end - at:
        return -1
    if width == 1:
        for k in range(count):
            out[to + k] = (data[at + (k >> 3)] >> (k & 7)) & 1
        return to + count
    if width == 4:
        for k in range(count):
            out[to + k] = signed((load64(data, at + 4 * k) << 32) & M64) >> 32
    else:
        for k in range(count):
            out[to + k] = signed(load64(data, at + 8 * k))
    return to + count


@inlined
def put_number(out: OutBytes, place: i64, width: i64, number: i64) -> i64:
    """Write a number with so many bytes, one of 16 as a decimal."""
    if width == 4:
        store_le(out, 4 * place, number, 4)
    elif width == 8:
        store64(out, 8 * place, number)
    elif width == 16:
        store64(out, 16 * place, number)
        store64(out, 16 * place + 8, number >> 63)
    elif width == 2:
        store_le(out, 2 * place, number, 2)
    else:
        store_le(out, place, number, 1)
    return 0


@inlined
def spread_numbers(
    definitions: InBytes, entries: i64, least: i64, most: i64, numbers: InInts, width: i64, out: OutBytes, picked: OutBytes
) -> i64:
    """Put a number where the level is the highest, something where it is lower, and nothing where it is below `least`; the places."""
    k: i64
    place: i64 = 0
    value: i64 = 0
    for k in range(entries):
        put_number(out, place, width, numbers[value])
        picked[place] = definitions[k]
        value += 1 if definitions[k] == most else 0
        place += 1 if definitions[k] >= least else 0
    return place


@kernel
def pack_validity(levels: InBytes, count: i64, most: i64, bits: OutBytes) -> i64:
    """A bit for each level that is the highest."""
    k: i64
    j: i64
    byte: i64
    for k in range(0, count - 7, 8):
        byte = 0
        for j in range(8):
            byte |= (1 if levels[k + j] == most else 0) << j
        bits[k >> 3] = byte
    if count & 7:
        byte = 0
        for j in range(count & 7):
            byte |= (1 if levels[count - (count & 7) + j] == most else 0) << j
        bits[count >> 3] = byte
    return count


def decode_leaf(
    bodies: InBytesView,
    parts: OutIntsView,
    pages: i64,
    about: InIntsView,
    repetitions: OutBytesView,
    definitions: OutBytesView,
    picked: OutBytesView,
    bits: OutBytesView,
    numbers: OutIntsView,
    entries: InBytesView,
    entry_numbers: InIntsView,
    out: OutBytesView,
    texts: OutBytesView,
    scratch: OutIntsView,
) -> i64:
    """Read the levels and values of the pages of a leaf column; of how many instances they are, or -1.

    An instance is an entry whose definition level is ABOUT_LEAST or above; their levels come side by side to `picked`, and a bit
    of each to `bits`, which is set if it has a value. What becomes of the values is ABOUT_OUT: nothing, or numbers of so many bytes, one
    for each instance, or texts, whose bytes come to `texts` and of which `out` has the offsets in 4 bytes each. A dictionary has its
    numbers in `entry_numbers`, or the offsets of its texts in `entries`; of those of ABOUT_OUT 4 that are texts the indexes are kept.

    There is room for all entries, in `numbers` and `out` for two more; a column without definition levels has zeros there before. The
    number of values is in scratch[AT_HELD], that of the bytes of texts in scratch[AT_SIZE].
    """
    page: i64
    part: i64
    held: i64
    number: i64 = 0
    size: i64 = 0
    before: i64 = 0
    instances: i64 = -1
    k: i64
    data: InBytes = in_bytes(bodies)
    parts_p: OutInts = out_ints(parts)
    about_p: InInts = in_ints(about)
    repetitions_p: OutBytes = out_bytes(repetitions)
    definitions_p: OutBytes = out_bytes(definitions)
    picked_p: OutBytes = out_bytes(picked)
    bits_p: OutBytes = out_bytes(bits)
    numbers_p: OutInts = out_ints(numbers)
    entries_p: InBytes = in_bytes(entries)
    entry_numbers_p: InInts = in_ints(entry_numbers)
    out_p: OutBytes = out_bytes(out)
    texts_p: OutBytes = out_bytes(texts)
    texts_size: i64 = len(texts)
    scratch_p: OutInts = out_ints(scratch)
    kind: i64 = about_p[ABOUT_OUT]
    encoding: i64 = about_p[ABOUT_ENCODING]
    most: i64 = about_p[ABOUT_DEFINITION]
    start: i64
    end: i64
    with nogil:
        numbers_p[0] = 0
        for page in range(pages):
            part = page * PART_SLOTS
            held = parts_p[part + PART_ENTRIES]
            if about_p[ABOUT_REPETITION] > 0:
                held = split_page(
                    data, parts_p, part, about_p[ABOUT_REPETITION], about_p[ABOUT_REPETITION_BITS], repetitions_p, before, scratch_p
                )
            # What repeats has definition levels, too.
            if held >= 0 and most > 0:
                held = split_page(data, parts_p, part, most, about_p[ABOUT_DEFINITION_BITS], definitions_p, before, scratch_p)
            if held < 0:
                before = -1
                break
            parts_p[part + PART_VALUES] = held
            before += parts_p[part + PART_ENTRIES]
            start = parts_p[part + PART_START]
            end = parts_p[part + PART_END]
            if held == 0 or kind == OUT_NOTHING:
                number += held
            elif kind == OUT_TEXTS:
                if encoding == ENCODING_PLAIN:
                    size = plain_texts(data, start, end, held, numbers_p, number, texts_p, size)
                elif encoding == ENCODING_LENGTHS:
                    size = unpack_texts(data, start, end, held, numbers_p, number, texts_p, size, scratch_p)
                elif unpack_indexes(data, start, end, held, about_p[ABOUT_ENTRIES], numbers_p, number + 1, scratch_p) < 0:
                    size = -1
                else:
                    size = chosen_texts(entries_p, entry_numbers_p, held, numbers_p, number, texts_p, size, texts_size)
                number = number + held if size >= 0 else -1
            elif encoding == ENCODING_PLAIN:
                number = plain_numbers(data, start, end, held, about_p[ABOUT_WIDTH], numbers_p, number)
            elif encoding == ENCODING_DIFFERENCES:
                if unpack_differences(data, start, end, held, numbers_p, number, scratch_p) < 0:
                    number = -1
                else:
                    number += held
            else:
                k = number
                number = unpack_indexes(data, start, end, held, about_p[ABOUT_ENTRIES], numbers_p, number, scratch_p)
                if about_p[ABOUT_WIDTH] > 0:
                    while k < number:
                        numbers_p[k] = entry_numbers_p[numbers_p[k]]
                        k += 1
            if number < 0:
                before = -1
                break
        if before >= 0:
            scratch_p[AT_HELD] = number
            scratch_p[AT_SIZE] = size
            if kind != OUT_TEXTS:
                # This is what nulls behind the last value have.
                numbers_p[number] = 0
            if kind == OUT_NOTHING:
                instances = 0
                for k in range(before):
                    picked_p[instances] = definitions_p[k]
                    instances += 1 if definitions_p[k] >= about_p[ABOUT_LEAST] else 0
            else:
                # A width that the compiler knows makes one instruction of what is written; offsets are numbers, too.
                if kind == 8:
                    instances = spread_numbers(definitions_p, before, about_p[ABOUT_LEAST], most, numbers_p, 8, out_p, picked_p)
                elif kind == 16:
                    instances = spread_numbers(definitions_p, before, about_p[ABOUT_LEAST], most, numbers_p, 16, out_p, picked_p)
                elif kind == 4 or kind == OUT_TEXTS:
                    instances = spread_numbers(definitions_p, before, about_p[ABOUT_LEAST], most, numbers_p, 4, out_p, picked_p)
                else:
                    instances = spread_numbers(definitions_p, before, about_p[ABOUT_LEAST], most, numbers_p, kind, out_p, picked_p)
                if kind == OUT_TEXTS:
                    store_le(out_p, 4 * instances, size, 4)
            pack_validity(picked_p, instances, most, bits_p)
    return instances


def list_texts(bodies: InBytesView, start: i64, end: i64, count: i64, offsets: OutIntsView, out: OutBytesView) -> i64:
    """Read the texts of a dictionary; how many bytes they have, or -1. There is one offset more than there are texts."""
    size: i64
    data: InBytes = in_bytes(bodies)
    offsets_p: OutInts = out_ints(offsets)
    out_p: OutBytes = out_bytes(out)
    with nogil:
        offsets_p[0] = 0
        size = plain_texts(data, start, end, count, offsets_p, 0, out_p, 0)
    return size


def unpack_changes(
    bodies: InBytesView, parts: OutIntsView, pages: i64, shared: OutIntsView, offsets: OutIntsView, scratch: OutIntsView
) -> i64:
    """Read of texts how much each shares with the one before, and their offsets (DELTA_BYTE_ARRAY); how many bytes they have, or -1.

    The start of each page is moved to the bytes that are not shared.
    """
    page: i64
    part: i64
    at: i64
    end: i64
    k: i64
    own: i64
    before: i64
    number: i64 = 0
    to: i64 = 0
    data: InBytes = in_bytes(bodies)
    parts_p: OutInts = out_ints(parts)
    shared_p: OutInts = out_ints(shared)
    offsets_p: OutInts = out_ints(offsets)
    scratch_p: OutInts = out_ints(scratch)
    with nogil:
        offsets_p[0] = 0
        for page in range(pages):
            part = page * PART_SLOTS
            if parts_p[part + PART_VALUES] == 0:
                continue
            end = parts_p[part + PART_END]
            at = unpack_differences(data, parts_p[part + PART_START], end, parts_p[part + PART_VALUES], shared_p, number, scratch_p)
            if at >= 0:
                at = unpack_differences(data, at, end, parts_p[part + PART_VALUES], offsets_p, number + 1, scratch_p)
            if at < 0:
                to = -1
                break
            parts_p[part + PART_START] = at
            before = 0
            for k in range(number, number + parts_p[part + PART_VALUES]):
                own = offsets_p[k + 1]
                if own < 0 or own > end - at or shared_p[k] < 0 or shared_p[k] > before:
                    to = -1
                    break
                at += own
                before = shared_p[k] + own
                to += before
                offsets_p[k + 1] = to
            if to < 0:
                break
            number += parts_p[part + PART_VALUES]
    return to


def join_changes(bodies: InBytesView, parts: InIntsView, pages: i64, shared: InIntsView, offsets: InIntsView, out: OutBytesView) -> i64:
    """Write the texts that `unpack_changes` has read about; how many."""
    page: i64
    part: i64
    at: i64
    own: i64
    k: i64
    number: i64 = 0
    data: InBytes = in_bytes(bodies)
    parts_p: InInts = in_ints(parts)
    shared_p: InInts = in_ints(shared)
    offsets_p: InInts = in_ints(offsets)
    out_p: OutBytes = out_bytes(out)
    with nogil:
        for page in range(pages):
            part = page * PART_SLOTS
            at = parts_p[part + PART_START]
            for k in range(number, number + parts_p[part + PART_VALUES]):
                own = offsets_p[k + 1] - offsets_p[k] - shared_p[k]
                if shared_p[k] > 0:
                    copy_within(out_p, offsets_p[k], offsets_p[k - 1], shared_p[k])
                copy_bytes(out_p, offsets_p[k] + shared_p[k], data, at, own)
                at += own
            number += parts_p[part + PART_VALUES]
    return number
