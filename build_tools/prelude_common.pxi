import cython

ctypedef long long i64
ctypedef unsigned long long u64
ctypedef unsigned char u8
ctypedef bint boolean

cdef extern from *:
    """
    #include <string.h>
    #include <stdint.h>
    #if defined(_MSC_VER) && !defined(__clang__)
    #include <intrin.h>
    static inline int vq_ctz(unsigned long long m) { unsigned long i; _BitScanForward64(&i, m); return (int)i; }
    static inline int vq_clz(unsigned long long m) { unsigned long i; _BitScanReverse64(&i, m); return 63 - (int)i; }
    static inline unsigned long long vq_mul_high(unsigned long long a, unsigned long long b) { return __umulh(a, b); }
    static inline unsigned long long vq_mix(unsigned long long a, unsigned long long b) { return a * b ^ __umulh(a, b); }
    #define vq_reversed(v) _byteswap_uint64(v)
    #else
    static inline int vq_ctz(unsigned long long m) { return __builtin_ctzll(m); }
    static inline int vq_clz(unsigned long long m) { return __builtin_clzll(m); }
    #define vq_reversed(v) __builtin_bswap64(v)
    #if defined(__SIZEOF_INT128__)
    static inline unsigned long long vq_mul_high(unsigned long long a, unsigned long long b) {
        return (unsigned long long)(((unsigned __int128)a * b) >> 64);
    }
    static inline unsigned long long vq_mix(unsigned long long a, unsigned long long b) {
        unsigned __int128 product = (unsigned __int128)a * b;
        return (unsigned long long)product ^ (unsigned long long)(product >> 64);
    }
    #else
    static inline unsigned long long vq_mul_high(unsigned long long a, unsigned long long b) {
        unsigned long long al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
        unsigned long long low = al * bl, mid = ah * bl + (low >> 32), mid2 = al * bh + (uint32_t)mid;
        return ah * bh + (mid >> 32) + (mid2 >> 32);
    }
    static inline unsigned long long vq_mix(unsigned long long a, unsigned long long b) { return a * b ^ vq_mul_high(a, b); }
    #endif
    #endif
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #error "varquet's kernels are written for little-endian machines"
    #endif
    static inline double vq_double(long long bits) { double d; memcpy(&d, &bits, 8); return d; }
    static inline long long vq_bits(double d) { long long bits; memcpy(&bits, &d, 8); return bits; }
    static inline double vq_float(long long bits) { float f; uint32_t b = (uint32_t)bits; memcpy(&f, &b, 4); return f; }
    """
    int vq_ctz(u64 mask) noexcept nogil
    int vq_clz(u64 mask) noexcept nogil
    u64 vq_mul_high(u64 one, u64 other) noexcept nogil
    u64 vq_mix(u64 one, u64 other) noexcept nogil
    u64 vq_reversed(u64 value) noexcept nogil
    double vq_double(i64 bits) noexcept nogil
    i64 vq_bits(double value) noexcept nogil
    double vq_float(i64 bits) noexcept nogil

cdef inline i64 trailing_byte(u64 mask) noexcept nogil:
    return vq_ctz(mask) >> 3

cdef inline i64 trailing_zeros(u64 mask) noexcept nogil:
    return vq_ctz(mask)

cdef inline i64 leading_zeros(u64 value) noexcept nogil:
    return vq_clz(value)

cdef inline u64 reversed_bytes(u64 value) noexcept nogil:
    return vq_reversed(value)

cdef inline u64 mix(u64 one, u64 other) noexcept nogil:
    return vq_mix(one, other)

cdef inline u64 mul_high(u64 one, u64 other) noexcept nogil:
    return vq_mul_high(one, other)

cdef inline i64 signed(u64 value) noexcept nogil:
    return <i64>value

cdef inline double double_of_bits(i64 bits) noexcept nogil:
    return vq_double(bits)

cdef inline i64 bits_of_double(double value) noexcept nogil:
    return vq_bits(value)

cdef inline double float_of_bits(i64 bits) noexcept nogil:
    return vq_float(bits)
