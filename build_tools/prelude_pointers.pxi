ctypedef const unsigned char* InBytes
ctypedef unsigned char* OutBytes
ctypedef const long long* InInts
ctypedef long long* OutInts

cdef extern from *:
    """
    static inline unsigned long long vq_load64(const unsigned char *p) { unsigned long long v; memcpy(&v, p, 8); return v; }
    static inline void vq_store64(unsigned char *p, unsigned long long v) { memcpy(p, &v, 8); }
    static inline void vq_copy_wide(unsigned char *to, const unsigned char *from, long long n) {
        memcpy(to, from, 32);
        memcpy(to + 32, from + 32, 32);
        if (n > 64) memcpy(to + 64, from + 64, (size_t)(n - 64));
    }
    #if defined(__GNUC__) || defined(__clang__)
    #define vq_prefetch(p) __builtin_prefetch(p)
    #else
    #define vq_prefetch(p) ((void)(p))
    #endif
    #if defined(__SSE2__) || (defined(_M_X64) && !defined(_M_ARM64EC))
    #include <emmintrin.h>
    /* Blocks of 16 bytes: bytes from 128 on are negative, hence less than a blank too. */
    static inline long long vq_plain_blocks(const unsigned char *p, long long n) {
        const __m128i quote = _mm_set1_epi8(34), slash = _mm_set1_epi8(92), blank = _mm_set1_epi8(32);
        long long k = 0;
        for (; k + 16 <= n; k += 16) {
            __m128i block = _mm_loadu_si128((const __m128i *)(p + k));
            __m128i found = _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, slash));
            int mask = _mm_movemask_epi8(_mm_or_si128(found, _mm_cmplt_epi8(block, blank)));
            if (mask) return k + vq_ctz((unsigned long long)mask);
        }
        return k;
    }
    static inline long long vq_ascii_blocks(const unsigned char *p, long long n) {
        long long k = 0;
        for (; k + 16 <= n; k += 16)
            if (_mm_movemask_epi8(_mm_loadu_si128((const __m128i *)(p + k)))) break;
        return k;
    }
    #elif defined(__aarch64__) && defined(__ARM_NEON)
    #include <arm_neon.h>
    static inline long long vq_plain_blocks(const unsigned char *p, long long n) {
        long long k = 0;
        for (; k + 16 <= n; k += 16) {
            uint8x16_t block = vld1q_u8(p + k);
            uint8x16_t found = vorrq_u8(vceqq_u8(block, vdupq_n_u8(34)), vceqq_u8(block, vdupq_n_u8(92)));
            found = vorrq_u8(found, vorrq_u8(vcltq_u8(block, vdupq_n_u8(32)), vcgeq_u8(block, vdupq_n_u8(128))));
            uint64_t mask = vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(found), 4)), 0);
            if (mask) return k + (vq_ctz(mask) >> 2);
        }
        return k;
    }
    static inline long long vq_ascii_blocks(const unsigned char *p, long long n) {
        long long k = 0;
        for (; k + 16 <= n; k += 16)
            if (vmaxvq_u8(vld1q_u8(p + k)) >= 128) break;
        return k;
    }
    #else
    static inline long long vq_plain_blocks(const unsigned char *p, long long n) {
        long long k = 0;
        for (n &= ~15LL; k < n; k++)
            if (p[k] < 32 || p[k] == 34 || p[k] == 92 || p[k] >= 128) break;
        return k;
    }
    static inline long long vq_ascii_blocks(const unsigned char *p, long long n) {
        long long k = 0;
        for (n &= ~15LL; k < n; k++)
            if (p[k] >= 128) return k & ~15LL;
        return k;
    }
    #endif
    """
    u64 vq_load64(const unsigned char *p) noexcept nogil
    void vq_store64(unsigned char *p, u64 value) noexcept nogil
    void vq_copy_wide(unsigned char *to, const unsigned char *from_, i64 n) noexcept nogil
    void vq_prefetch(const void *p) noexcept nogil
    void *memcpy(void *target, const void *source, size_t count) noexcept nogil
    void *memmove(void *target, const void *source, size_t count) noexcept nogil
    i64 vq_plain_blocks(const unsigned char *p, i64 n) noexcept nogil
    i64 vq_ascii_blocks(const unsigned char *p, i64 n) noexcept nogil
    void *memchr(const void *data, int byte, size_t count) noexcept nogil
    int memcmp(const void *one, const void *other, size_t count) noexcept nogil

cdef inline u64 load64(const unsigned char *data, i64 at) noexcept nogil:
    return vq_load64(data + at)

cdef inline void store64(unsigned char *data, i64 at, u64 value) noexcept nogil:
    vq_store64(data + at, value)

cdef inline void prefetch(const unsigned char *data, i64 at) noexcept nogil:
    vq_prefetch(data + at)

cdef inline void prefetch_int(const long long *data, i64 at) noexcept nogil:
    vq_prefetch(data + at)

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

cdef inline void copy_wide(unsigned char *target, i64 at, const unsigned char *source, i64 start, i64 count) noexcept nogil:
    vq_copy_wide(target + at, source + start, count)

cdef inline void copy_within(unsigned char *data, i64 at, i64 start, i64 count) noexcept nogil:
    memmove(data + at, data + start, count)

cdef inline bint same_bytes(const unsigned char *one, i64 at, const unsigned char *other, i64 start, i64 count) noexcept nogil:
    return memcmp(one + at, other + start, count) == 0

cdef inline i64 plain_blocks(const unsigned char *data, i64 at, i64 end) noexcept nogil:
    return at + vq_plain_blocks(data + at, end - at)

cdef inline i64 ascii_blocks(const unsigned char *data, i64 at, i64 end) noexcept nogil:
    return at + vq_ascii_blocks(data + at, end - at)

cdef inline i64 find_byte(const unsigned char *data, i64 at, i64 end, i64 byte) noexcept nogil:
    cdef void *found = NULL
    if at < end:
        found = memchr(data + at, <int>byte, <size_t>(end - at))
    return end if found == NULL else <i64>(<unsigned char *>found - data)
