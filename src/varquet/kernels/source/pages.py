"""Data pages of a Parquet column that repeats nowhere, taken apart: which rows hold a value, and the values without the nulls.

A page stores a definition level for every row and then the values of those rows that have one, side by side. So a page without its
levels is a page of a required column, which is read several times as fast; the levels become Arrow's validity bits by themselves.
`list_pages` understands the headers of pages, `strip_pages` parts their levels from their values, and `spread_values` and
`spread_offsets` put what was read of the latter where the former say. Each does all pages or rows of a column at once: threads that
are back too often wait for each other.
"""

from __future__ import annotations

from varquet.kernels.source._varints import read_varint
from varquet.kernels.source.dialect import (
    InBytes,
    InBytesView,
    InInts,
    InIntsView,
    OutBytes,
    OutBytesView,
    OutInts,
    OutIntsView,
    copy_bytes,
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
    store64,
    store_le,
)

# What is known of a page. The last slots are the kernel's own: a number just read, and the last field of each open struct.
PAGE_KIND = 0
PAGE_RAW_SIZE = 1
PAGE_SIZE = 2
PAGE_VALUES = 3
PAGE_ENCODING = 4
PAGE_LEVELS = 5
PAGE_START = 6
PAGE_NUMBER = 7
PAGE_REPETITIONS = 8
PAGE_FIELDS = 9
PAGE_SLOTS = 13

# What is known of all pages: their bytes before they were compressed, their rows; how many have a value, and where the data pages begin.
ALL_RAW_SIZE = 0
ALL_ROWS = 1
ALL_VALUES = 2
ALL_START = 3
ALL_NUMBER = 4
ALL_SLOTS = 5

DATA_PAGE = 0
DICTIONARY_PAGE = 2
ENCODING_RLE = 3

UNCOMPRESSED = 0
SNAPPY = 1
ZSTD = 6

MOST_DEPTH = 4
MOST_HEADER = 64
"""Bytes that the header of a page takes at most that `strip_pages` writes."""

# What a table says of four levels: bits of those that are the highest, whether one is too high, and how many are the highest.
FOUR_TOO_HIGH = 16
FOUR_COUNT = 5


@kernel
def stated_size(data: InBytes, at: i64, end: i64, codec: i64, out: OutInts, slot: i64) -> i64:
    """How many bytes compressed ones say that they become; -1 if they do not."""
    flags: i64
    width: i64
    if codec == UNCOMPRESSED:
        return end - at
    if codec == SNAPPY:
        return -1 if read_varint(data, at, end, out, slot) < 0 else out[slot]
    if codec != ZSTD or end - at < 5 or load_le(data, at, 4) != 0xFD2FB528:
        return -1
    # A frame: flags, a window unless there is a single segment, the id of a dictionary, and the size, which need not be there.
    flags = data[at + 4]
    at += 5
    if flags & 32 == 0:
        at += 1
    width = flags & 3
    at += width if width < 3 else 4
    width = 1 << (flags >> 6)
    if at + width > end or width == 8 or (width == 1 and flags & 32 == 0):
        return -1
    return load_le(data, at, width) + (256 if width == 2 else 0)


@kernel
def read_header(data: InBytes, at: i64, end: i64, out: OutInts, page: i64) -> i64:
    """Read the header of a page into the slots from `page` on; where its body begins, or -1 if it is not understood."""
    header: i64
    kind: i64
    number: i64
    field: i64
    depth: i64 = 0
    for number in range(PAGE_SLOTS):
        out[page + number] = -1
    out[page + PAGE_FIELDS] = 0
    while True:
        if at < 0 or at >= end:
            return -1
        header = data[at]
        at += 1
        if header == 0:
            if depth == 0:
                return at
            depth -= 1
            continue
        kind = header & 15
        if header < 16:
            return -1
        out[page + PAGE_FIELDS + depth] += header >> 4
        field = out[page + PAGE_FIELDS + depth]
        if kind == 12:
            depth += 1
            if depth == MOST_DEPTH:
                return -1
            out[page + PAGE_FIELDS + depth] = 0
        elif kind == 3:
            at += 1
        elif kind >= 4 and kind <= 6:
            at = read_varint(data, at, end, out, page + PAGE_NUMBER)
            number = (out[page + PAGE_NUMBER] >> 1) ^ -(out[page + PAGE_NUMBER] & 1)
            if depth == 0 and field <= 3:
                out[page + PAGE_KIND + field - 1] = number
            elif depth == 1 and field <= 3 and (out[page + PAGE_FIELDS] == 5 or out[page + PAGE_FIELDS] == 7):
                out[page + PAGE_VALUES + field - 1] = number
            elif depth == 1 and field == 4 and out[page + PAGE_FIELDS] == 5:
                out[page + PAGE_REPETITIONS] = number
        elif kind == 8:
            at = read_varint(data, at, end, out, page + PAGE_NUMBER)
            if at >= 0:
                at += out[page + PAGE_NUMBER]
        elif kind != 1 and kind != 2:
            return -1


def list_pages(chunk: InBytesView, size: i64, codec: i64, pages: OutIntsView, room: i64, total: OutIntsView) -> i64:
    """Describe the pages of a column chunk; how many there are, one more than there is room for if that is too little, or -1.

    It is -1 if a header is not understood, if there are others than data pages with levels in RLE and a dictionary before them, or if the
    compressed bytes of one do not say that they become as many as its header says: who decompresses them would not notice.
    """
    at: i64 = 0
    count: i64 = 0
    page: i64
    data: InBytes = in_bytes(chunk)
    out: OutInts = out_ints(pages)
    all_p: OutInts = out_ints(total)
    all_p[ALL_RAW_SIZE] = 0
    all_p[ALL_ROWS] = 0
    while at < size:
        if count == room:
            return room + 1
        page = count * PAGE_SLOTS
        at = read_header(data, at, size, out, page)
        if at < 0 or out[page + PAGE_SIZE] < 0 or out[page + PAGE_SIZE] > size - at:
            return -1
        if out[page + PAGE_VALUES] < 0 or out[page + PAGE_ENCODING] < 0:
            return -1
        if out[page + PAGE_KIND] == DATA_PAGE and out[page + PAGE_LEVELS] == ENCODING_RLE:
            all_p[ALL_ROWS] += out[page + PAGE_VALUES]
        elif out[page + PAGE_KIND] != DICTIONARY_PAGE or count > 0:
            return -1
        if stated_size(data, at, at + out[page + PAGE_SIZE], codec, out, page + PAGE_NUMBER) != out[page + PAGE_RAW_SIZE]:
            return -1
        all_p[ALL_RAW_SIZE] += out[page + PAGE_RAW_SIZE]
        out[page + PAGE_START] = at
        at += out[page + PAGE_SIZE]
        count += 1
    return count


@kernel
def set_bits(bits: OutBytes, first: i64, count: i64) -> i64:
    """Set so many bits in a row."""
    at: i64 = first
    end: i64 = first + count
    while at < end and at & 7:
        bits[at >> 3] = bits[at >> 3] | (1 << (at & 7))
        at += 1
    while at + 8 <= end:
        bits[at >> 3] = 255
        at += 8
    while at < end:
        bits[at >> 3] = bits[at >> 3] | (1 << (at & 7))
        at += 1
    return count


@inlined
def put_byte(bits: OutBytes, at: i64, byte: i64) -> i64:
    """Set eight bits as those of a byte, where none is set yet."""
    shift: i64 = at & 7
    if shift == 0:
        bits[at >> 3] = byte
    else:
        bits[at >> 3] = bits[at >> 3] | ((byte << shift) & 255)
        bits[(at >> 3) + 1] = bits[(at >> 3) + 1] | (byte >> (8 - shift))
    return 0


@kernel
def read_levels(
    data: InBytes, at: i64, end: i64, rows: i64, most: i64, width: i64, four: InBytes, bits: OutBytes, before: i64, total: OutInts
) -> i64:
    """Set the bits of the rows whose level is the highest; how many these are, or -1 if the levels are not understood."""
    row: i64 = 0
    count: i64 = 0
    run: i64
    level: i64
    packed: i64
    low: i64
    high: i64
    mask: i64 = (1 << (4 * width)) - 1
    while row < rows:
        at = read_varint(data, at, end, total, ALL_NUMBER)
        if at < 0:
            return -1
        run = total[ALL_NUMBER] >> 1
        if run == 0:
            return -1
        if total[ALL_NUMBER] & 1 == 0:
            if at >= end or data[at] > most:
                return -1
            run = run if run < rows - row else rows - row
            if data[at] == most:
                count += set_bits(bits, before + row, run)
            at += 1
            row += run
            continue
        if run > end - at or run * width > end - at:
            return -1
        while run > 0 and row + 8 <= rows:
            packed = load_le(data, at, width)
            low = four[packed & mask]
            high = four[packed >> (4 * width)]
            if (low | high) & FOUR_TOO_HIGH:
                return -1
            put_byte(bits, before + row, (low & 15) | ((high & 15) << 4))
            count += (low >> FOUR_COUNT) + (high >> FOUR_COUNT)
            at += width
            row += 8
            run -= 1
        if run > 0 and row < rows:
            packed = load_le(data, at, width)
            while row < rows:
                level = packed & ((1 << width) - 1)
                if level > most:
                    return -1
                if level == most:
                    count += set_bits(bits, before + row, 1)
                packed >>= width
                row += 1
    return count


@kernel
def write_number(out: OutBytes, at: i64, number: i64) -> i64:
    """Write the header of the next field and a number of 32 bits that is not negative; the position behind it."""
    out[at] = 0x15
    at += 1
    number <<= 1
    while number > 127:
        out[at] = (number & 127) | 128
        at += 1
        number >>= 7
    out[at] = number
    return at + 1


@kernel
def write_header(out: OutBytes, at: i64, kind: i64, size: i64, values: i64, encoding: i64) -> i64:
    """Write the header of a page that is not compressed; the position behind it."""
    at = write_number(out, at, kind)
    at = write_number(out, at, size)
    at = write_number(out, at, size)
    out[at] = 0x2C if kind == DATA_PAGE else 0x4C
    at = write_number(out, at + 1, values)
    at = write_number(out, at, encoding)
    if kind == DATA_PAGE:
        at = write_number(out, at, ENCODING_RLE)
        at = write_number(out, at, ENCODING_RLE)
    out[at] = 0
    out[at + 1] = 0
    return at + 2


def strip_pages(
    bodies: InBytesView,
    pages: InIntsView,
    count: i64,
    most: i64,
    width: i64,
    four: InBytesView,
    bits: OutBytesView,
    before: i64,
    out: OutBytesView,
    at: i64,
    total: OutIntsView,
) -> i64:
    """Write pages that `list_pages` has described without levels, but those without a value; the position behind them, or -1.

    Their bodies lie side by side as they were before they were compressed. The highest level is `most`, each takes `width` bits, up
    to 4; `four` says what four of them mean. The bits of rows that hold a value are set, from bit `before` on; how many these are is in
    total[ALL_VALUES], where the data pages begin in total[ALL_START]. There is room for all bodies, and MOST_HEADER more for each.
    """
    k: i64
    page: i64
    start: i64 = 0
    end: i64
    length: i64
    values: i64
    data: InBytes = in_bytes(bodies)
    pages_p: InInts = in_ints(pages)
    four_p: InBytes = in_bytes(four)
    bits_p: OutBytes = out_bytes(bits)
    target: OutBytes = out_bytes(out)
    all_p: OutInts = out_ints(total)
    all_p[ALL_VALUES] = 0
    all_p[ALL_START] = at
    with nogil:
        for k in range(count):
            page = k * PAGE_SLOTS
            end = start + pages_p[page + PAGE_RAW_SIZE]
            values = pages_p[page + PAGE_VALUES]
            if pages_p[page + PAGE_KIND] == DATA_PAGE:
                length = load_le(data, start, 4) if end - start >= 4 else -1
                if length < 0 or length > end - start - 4:
                    at = -1
                    break
                start += 4
                values = read_levels(data, start, start + length, values, most, width, four_p, bits_p, before, all_p)
                if values < 0:
                    at = -1
                    break
                start += length
                before += pages_p[page + PAGE_VALUES]
                all_p[ALL_VALUES] += values
            if values > 0:
                at = write_header(target, at, pages_p[page + PAGE_KIND], end - start, values, pages_p[page + PAGE_ENCODING])
                copy_bytes(target, at, data, start, end - start)
                at += end - start
            if pages_p[page + PAGE_KIND] == DICTIONARY_PAGE:
                all_p[ALL_START] = at
            start = end
    return at


@inlined
def copy_value(out: OutBytes, to: i64, values: InBytes, k: i64, width: i64) -> i64:
    """Copy one value of `width` bytes."""
    if width == 8:
        store64(out, to * 8, load64(values, k * 8))
    elif width == 4:
        store_le(out, to * 4, load_le(values, k * 4, 4), 4)
    elif width == 16:
        store64(out, to * 16, load64(values, k * 16))
        store64(out, to * 16 + 8, load64(values, k * 16 + 8))
    else:
        copy_bytes(out, to * width, values, k * width, width)
    return 0


@inlined
def spread_bytes_of_bits(values: InBytes, width: i64, bits: InBytes, rows: i64, count: i64, out: OutBytes) -> i64:
    """Put values into rows, eight at a time while there are eight more values; the first row that is left."""
    row: i64 = 0
    k: i64 = 0
    byte: i64
    while row + 8 <= rows and k + 8 <= count:
        byte = bits[row >> 3]
        copy_value(out, row, values, k, width)
        k += byte & 1
        copy_value(out, row + 1, values, k, width)
        k += (byte >> 1) & 1
        copy_value(out, row + 2, values, k, width)
        k += (byte >> 2) & 1
        copy_value(out, row + 3, values, k, width)
        k += (byte >> 3) & 1
        copy_value(out, row + 4, values, k, width)
        k += (byte >> 4) & 1
        copy_value(out, row + 5, values, k, width)
        k += (byte >> 5) & 1
        copy_value(out, row + 6, values, k, width)
        k += (byte >> 6) & 1
        copy_value(out, row + 7, values, k, width)
        k += byte >> 7
        row += 8
    while row < rows and k < count:
        copy_value(out, row, values, k, width)
        k += (bits[row >> 3] >> (row & 7)) & 1
        row += 1
    return row


def spread_values(values: InBytesView, width: i64, bits: InBytesView, rows: i64, count: i64, out: OutBytesView) -> i64:
    """Put `count` values of `width` bytes into the rows whose bits are set, in order; the row behind the last one.

    Rows between get what comes next, and those behind zeros: to branch on each bit would cost more than that.
    """
    row: i64
    at: i64
    values_p: InBytes = in_bytes(values)
    bits_p: InBytes = in_bytes(bits)
    out_p: OutBytes = out_bytes(out)
    with nogil:
        # A width that the compiler knows makes one instruction of a copy.
        if width == 8:
            row = spread_bytes_of_bits(values_p, 8, bits_p, rows, count, out_p)
        elif width == 4:
            row = spread_bytes_of_bits(values_p, 4, bits_p, rows, count, out_p)
        elif width == 16:
            row = spread_bytes_of_bits(values_p, 16, bits_p, rows, count, out_p)
        else:
            row = spread_bytes_of_bits(values_p, width, bits_p, rows, count, out_p)
        for at in range(row * width, rows * width):
            out_p[at] = 0
    return row


def place_values(
    values: InBytesView, width: i64, valid: InBytesView, held: InBytesView, rows: i64, out: OutBytesView, bits: OutBytesView
) -> i64:
    """Put values of `width` bytes over those of the rows whose bits are set in `held`, in order, and null where `valid` is 0; how many."""
    row: i64 = 0
    k: i64 = 0
    values_p: InBytes = in_bytes(values)
    valid_p: InBytes = in_bytes(valid)
    held_p: InBytes = in_bytes(held)
    out_p: OutBytes = out_bytes(out)
    bits_p: OutBytes = out_bytes(bits)
    with nogil:
        while row < rows:
            if held_p[row >> 3] >> (row & 7) == 0:
                # No other row of this byte is one of them.
                row = (row | 7) + 1
                continue
            if (held_p[row >> 3] >> (row & 7)) & 1:
                copy_value(out_p, row, values_p, k, width)
                if valid_p[k]:
                    bits_p[row >> 3] = bits_p[row >> 3] | (1 << (row & 7))
                else:
                    bits_p[row >> 3] = bits_p[row >> 3] & (255 - (1 << (row & 7)))
                k += 1
            row += 1
    return k


def spread_offsets(offsets: InBytesView, width: i64, bits: InBytesView, rows: i64, count: i64, out: OutBytesView) -> i64:
    """The offsets of rows some of which are empty, from those of the `count` values alone, of 4 or 8 bytes; how many rows they are."""
    row: i64
    offsets_p: InBytes = in_bytes(offsets)
    bits_p: InBytes = in_bytes(bits)
    out_p: OutBytes = out_bytes(out)
    with nogil:
        # There is an offset more than there are values: where the last one ends, which all rows behind it begin and end at.
        if width == 8:
            row = spread_bytes_of_bits(offsets_p, 8, bits_p, rows, count + 1, out_p)
        else:
            row = spread_bytes_of_bits(offsets_p, 4, bits_p, rows, count + 1, out_p)
        copy_bytes(out_p, rows * width, offsets_p, count * width, width)
    return row
