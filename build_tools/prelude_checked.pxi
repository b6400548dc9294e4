cdef u64 load64(const unsigned char[::1] data, i64 at) except? 1 nogil:
    cdef u64 value = 0
    cdef i64 k
    for k in range(8):
        value |= <u64>data[at + k] << (8 * k)
    return value

cdef int store64(unsigned char[::1] data, i64 at, u64 value) except -1 nogil:
    cdef i64 k
    for k in range(8):
        data[at + k] = <unsigned char>(value >> (8 * k))
    return 0

cdef inline void prefetch(const unsigned char[::1] data, i64 at) noexcept nogil:
    pass

cdef inline void prefetch_int(const long long[::1] data, i64 at) noexcept nogil:
    pass

cdef i64 load_le(const unsigned char[::1] data, i64 at, i64 width) except? -1 nogil:
    cdef i64 value = 0
    cdef i64 k
    for k in range(width):
        value |= <i64>data[at + k] << (8 * k)
    return value

cdef int store_le(unsigned char[::1] data, i64 at, i64 value, i64 width) except -1 nogil:
    cdef i64 k
    for k in range(width):
        data[at + k] = <unsigned char>(value >> (8 * k))
    return 0

cdef int copy_bytes(unsigned char[::1] target, i64 at, const unsigned char[::1] source, i64 start, i64 count) except -1 nogil:
    cdef i64 k
    if count < 0:
        with gil:
            raise IndexError(f"negative count {count}")
    for k in range(count):
        target[at + k] = source[start + k]
    return 0

cdef int copy_wide(unsigned char[::1] target, i64 at, const unsigned char[::1] source, i64 start, i64 count) except -1 nogil:
    return copy_bytes(target, at, source, start, 64 if 0 <= count < 64 else count)

cdef int copy_within(unsigned char[::1] data, i64 at, i64 start, i64 count) except -1 nogil:
    cdef i64 k
    if count < 0:
        with gil:
            raise IndexError(f"negative count {count}")
    if at <= start:
        for k in range(count):
            data[at + k] = data[start + k]
    else:
        for k in range(count - 1, -1, -1):
            data[at + k] = data[start + k]
    return 0

cdef bint same_bytes(const unsigned char[::1] one, i64 at, const unsigned char[::1] other, i64 start, i64 count) except? -1 nogil:
    cdef i64 k
    if count < 0:
        with gil:
            raise IndexError(f"negative count {count}")
    for k in range(count):
        if one[at + k] != other[start + k]:
            return False
    return True

cdef i64 plain_blocks(const unsigned char[::1] data, i64 at, i64 end) except? -1 nogil:
    cdef i64 k
    cdef unsigned char byte
    while at + 16 <= end:
        for k in range(16):
            byte = data[at + k]
            if byte < 32 or byte == 34 or byte == 92 or byte >= 128:
                return at + k
        at += 16
    return at

cdef i64 ascii_blocks(const unsigned char[::1] data, i64 at, i64 end) except? -1 nogil:
    cdef i64 k
    while at + 16 <= end:
        for k in range(16):
            if data[at + k] >= 128:
                return at
        at += 16
    return at

cdef i64 find_byte(const unsigned char[::1] data, i64 at, i64 end, i64 byte) except? -1 nogil:
    while at < end and data[at] != byte:
        at += 1
    return at
