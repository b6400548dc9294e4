ctypedef const unsigned char* InBytes
ctypedef unsigned char* OutBytes
ctypedef const long long* InInts
ctypedef long long* OutInts

cdef extern from *:
    """
    static inline unsigned long long vq_load64(const unsigned char *p) { unsigned long long v; memcpy(&v, p, 8); return v; }
    static inline void vq_store64(unsigned char *p, unsigned long long v) { memcpy(p, &v, 8); }
    """
    u64 vq_load64(const unsigned char *p) noexcept nogil
    void vq_store64(unsigned char *p, u64 value) noexcept nogil
    void *memcpy(void *target, const void *source, size_t count) noexcept nogil
    void *memmove(void *target, const void *source, size_t count) noexcept nogil
    int memcmp(const void *one, const void *other, size_t count) noexcept nogil

cdef inline u64 load64(const unsigned char *data, i64 at) noexcept nogil:
    return vq_load64(data + at)

cdef inline void store64(unsigned char *data, i64 at, u64 value) noexcept nogil:
    vq_store64(data + at, value)

cdef inline i64 load_le(const unsigned char *data, i64 at, i64 width) noexcept nogil:
    cdef const unsigned char *p = data + at
    if width == 1:
        return p[0]
    if width == 2:
        return p[0] | (<i64>p[1] << 8)
    if width == 3:
        return p[0] | (<i64>p[1] << 8) | (<i64>p[2] << 16)
    return p[0] | (<i64>p[1] << 8) | (<i64>p[2] << 16) | (<i64>p[3] << 24)

cdef inline void store_le(unsigned char *data, i64 at, i64 value, i64 width) noexcept nogil:
    cdef unsigned char *p = data + at
    p[0] = <unsigned char>value
    if width > 1:
        p[1] = <unsigned char>(value >> 8)
    if width > 2:
        p[2] = <unsigned char>(value >> 16)
    if width > 3:
        p[3] = <unsigned char>(value >> 24)

cdef inline void copy_bytes(unsigned char *target, i64 at, const unsigned char *source, i64 start, i64 count) noexcept nogil:
    memcpy(target + at, source + start, count)

cdef inline void copy_within(unsigned char *data, i64 at, i64 start, i64 count) noexcept nogil:
    memmove(data + at, data + start, count)

cdef inline bint same_bytes(const unsigned char *one, i64 at, const unsigned char *other, i64 start, i64 count) noexcept nogil:
    return memcmp(one + at, other + start, count) == 0
