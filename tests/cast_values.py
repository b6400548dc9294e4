"""Values at the edges of every cast, for the tests of the definition and for its comparison with Spark."""

from __future__ import annotations

import math
import random
import struct
import uuid
from decimal import Decimal

from varquet.types import BY_NAME, integer_type_for
from varquet.variant.decimals import decimal_scalar, unscaled_and_scale
from varquet.variant.model import NULL, Scalar

TRUE = Scalar(BY_NAME["true"], True)
FALSE = Scalar(BY_NAME["false"], False)


def integer(number: int) -> Scalar:
    kind = integer_type_for(number)
    assert kind is not None
    return Scalar(kind, number)


def decimal(text: str) -> Scalar:
    return decimal_scalar(*unscaled_and_scale(Decimal(text)))


def double(number: float) -> Scalar:
    return Scalar(BY_NAME["double"], number)


def single(number: float) -> Scalar:
    """A 32-bit float: the one nearest to the number, for numbers that have one."""
    try:
        return Scalar(BY_NAME["float"], struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return Scalar(BY_NAME["float"], math.copysign(math.inf, number))


def string(text: str) -> Scalar:
    return Scalar(BY_NAME["string"], text)


def binary(data: bytes) -> Scalar:
    return Scalar(BY_NAME["binary"], data)


def date(days: int) -> Scalar:
    return Scalar(BY_NAME["date"], days)


def time(micros: int) -> Scalar:
    return Scalar(BY_NAME["time"], micros)


def timestamp(micros: int) -> Scalar:
    return Scalar(BY_NAME["timestamp"], micros)


def timestamp_ntz(micros: int) -> Scalar:
    return Scalar(BY_NAME["timestamp_ntz"], micros)


def timestamp_nanos(nanos: int) -> Scalar:
    return Scalar(BY_NAME["timestamp_nanos"], nanos)


def timestamp_ntz_nanos(nanos: int) -> Scalar:
    return Scalar(BY_NAME["timestamp_ntz_nanos"], nanos)


def identifier(text: str) -> Scalar:
    return Scalar(BY_NAME["uuid"], uuid.UUID(text))


INTEGERS = [
    0, 1, -1, 127, 128, -128, -129, 32767, 32768, -32768, -32769, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1,
    2**63 - 1, -(2**63), 2**53 + 1, 2**24 + 1, 99_999_999, 100_000_000, 9_223_372_036_854, 9_223_372_036_855,
    -9_223_372_036_854, -9_223_372_036_855, 2**62 + 2**38 + 1, 2**62 + 2**38,
]  # fmt: skip

DECIMALS = [
    "0", "0.00", "1.50", "-1.50", "100.00", "100000", "0.5", "-0.5", "0.49", "127.99", "128.0", "-128.99", "-129.0", "0.005",
    "-0.005", "0.015", "0.004", "99999999.994", "99999999.995", "-99999999.995", "9" * 38, "-" + "9" * 38, "9223372036854775807.9",
    "9223372036854775808", "-9223372036854775808.9", "-9223372036854775809", "1234567.8901234", "1.0000001", "0.0000009",
    "-0.0000009", "9223372036854.775807", "9223372036854.775808", "-9223372036854.775808", "-9223372036854.7758085",
    "1.0000000000000000000000000000000000001", "0.1", "123456789012345678", "0." + "0" * 37 + "1", "0." + "9" * 38, "127." + "9" * 20,
    "16777217.0000000000000000000001", "16777217.0", "2147483647.9", "-2147483648.9", "2147483648.0", "32767.9",
]  # fmt: skip

FLOATING = [
    0.0, -0.0, 1.0, -1.0, 1.5, -1.5, 0.5, 127.5, 127.99, 128.0, -128.5, -128.99, -129.0, 32767.9, 32768.0, -32768.9, -32769.0,
    2147483647.5, 2147483648.0, -2147483648.9, -2147483649.0, 9.2e18, 9223372036854774784.0, 2.0**63, -(2.0**63),
    -9223372036854777856.0, 1e10, 1e7, 9999999.0, 9999999.999, 1e-3, 9.99e-4, 1e-5, 1e16, 123456789.125, 1e37, 1e38, 1e39,
    1.7976931348623157e308, 5e-324, 1e-323, 2.2250738585072014e-308, math.inf, -math.inf, math.nan, 0.1, 0.005, 0.015, 1.005,
    0.1 + 0.2, 99999999.995, 99999999.994, 1e22, 2e22, 1e23, 2.0**-44, 2e-3, 2.5e-5, 1 / 3, 9.223372036854775e12, 9.3e12,
    -9.223372036854776e12, 1234567.8901234, -0.0000009, 3.4028234663852886e38, 3.4028235677973366e38, 1e-46, 2.0**-149,
    2.0**-150, 16777216.0, 16777217.0, 3.3e7, 1.1, 0.3, 2.0**31 - 64, 8.41e21, 2.0e-44, 1.0e-45,
]  # fmt: skip

NUMBER_TEXTS = [
    "", "0", "1", "-1", "+1", "--1", "+-1", "-", "+", "1.5", "1.", ".5", ".", "1.0", "-1.5", "1e3", "1E3", "1e+3", "1e-3", "1e", "e1",
    "1e+", "1e3.5", " 12 ", "12 3", "\t12\n", "\x0012\x00", "12\x7f", "\x7f1.5", "1.5\x7f", "\x1f1.5\x1f", "\xa012", "1.5\u2003",
    "\x851.5", "0012", "1_000", "1,000", "0x10", "0x", "0x1", "1d", "1D", "1f", "1F", "1L", "1.5d", "1e3f", "1dd", "1 d", "1d ",
    "Infinityd", "NaNf", "127", "128", "-128", "-129", "32767", "32768", "2147483647", "2147483648", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "9223372036854775807.0", "9" * 38, "1" + "0" * 38,
    "0.005", "0.015", "-0.005", "-0.004", "1e37", "1e38", "1e39", "0e37", "0e38", "0e999", "0e2147483647", "0e-2147483647",
    "0e-2147483648", "1e-2147483647", "1e-2147483648", "0.01e-2147483646", "1e400", "-1e400", "1e400d", "1e-400", "1e-50",
    "1." + "0" * 49 + "1", "123456789012345678901234567890.12345678901234567890", "99999999.994", "99999999.995",
    "0." + "9" * 38, "0." + "9" * 38 + "5", "9" * 38 + ".4", "9" * 38 + ".5", "1e2147483647", "1e2147483648", "1e99999999999999",
    "12345678901234567890123456789012345678901234567890e-30", "1e" + "0" * 30 + "1", "1e-" + "0" * 30 + "1", "0" * 50 + "1",
    "0" * 50 + ".5", "0." + "0" * 60 + "1", "1" * 400 + ".5", "NaN", "nan", "NAN", "+NaN", "-NaN", "+nan", "-nan", "+Nan",
    "Infinity", "infinity", "inf", "+inf", "-inf", "INF", "+Infinity", "-Infinity", "-INFINITY", "infinit", " NaN ", " inf ",
    "3.4028235e38",
    "3.4028236e38", "3.5e38", "16777217", "16777217.0000000000001", "1.00000017881393432617187499",
    "1.000000178813934326171875", "1.00000017881393432617187501", "0.1", "4.9e-324", "2e-324", "7e-46", "7.1e-46", "-0", "-0.0", "+0.0",
    "1 e3", "1e 3", "1e03", "1e+03", "1e-0", "00e0", "1.e3", ".5e1", ".e1", "+.5", "-.5", "-.", "1.2.3", "1e1e1",
]  # fmt: skip

WORDS = [
    "true", "TRUE", "True", " true ", "t", "T", "y", "Y", "yes", "YES", "on", "f", "F", "n", "N", "no", "No", "off", "false", "FaLsE",
    "tru", "\ttrue\x00", "true\x7f", "\xa0true", "true false", "ｔｒｕｅ", "00", "01", "null", "NULL", "abc", "é", "日本",
    "x" * 64, "today", "epoch", "now",
]  # fmt: skip

DATE_TEXTS = [
    "2024-01-05", "2024-1-5", "2024-01", "2024-1", "2024", "2024-", "2024-01-", "2024-13-01", "2024-02-30", "2024-02-29", "2023-02-29",
    "1900-02-29", "2000-02-29", "2024-00-01", "2024-01-00", "2024-001-05", "2024-01-005", "24-01-05", "024-01-05", "02024-01-05",
    "12024-01-05", "+12024-01-05", "-2024-01-05", "+2024-01-05", "-0001-01-01", "0000-01-01", "-0000-01-01", "0001-01-01", "1582-10-04",
    "1582-10-10", "1582-10-15", "9999999-01-01", "5881580-07-11", "5881580-07-12", "-5877641-06-23", "-5877641-06-22",
    "99999999-01-01", "294247-01-10", "294247-01-11", " 2024-01-05 ", "\t2024-01-05\n", "2024-01-05\x00", "2024-01-05\x7f",
    "2024-01-05\xa0", "\xa02024-01-05", "2024-01-05T", "2024-01-05Tabc", "2024-01-05 abc", "2024-01-05abc", "2024-01-05t", "2024/01/05",
    "20240105", "+-2024-01-01", "--2024-01-01", "2024--01-01", "2024-01--01", "+2024", "-2024-5", "0000", "00000", "000000", "0000000",
    "00000000", "2024T", "2024-01T", "٢٠٢٤-٠١-٠٥", "1712345678", "1712345678.5",
]  # fmt: skip

_MINUTE = "2024-01-05T10:20"
_SECOND = "2024-01-05T10:20:30"
ZONES = [
    "Z", "z", " Z", "\tZ", "\x00Z", "\xa0Z", "Z\x7f", "Z\u2003", "Z0", "ZZ", "+01:00", "-01:00", " +01:00", "+1", "+01", "+1:00", "+01:0",
    "+1:0",
    "+01:5", "+1:5", "+10:0", "+0130", "+130", "+1000", "+01:30:15", "+013015", "+1:30:15", "+01:30:1", "+0130:15", "+01:3015", "+18:00",
    "+18:01", "+19:00", "-18:00", "-18:00:01", "+01:60", "+01:00:60", "+0160", "+01:", "+1:", "+", "-", "-00:00", "UTC", " UTC", "utc",
    "GMT",
    "UT", " UTC+1", "UTC+01:00", "GMT-8", "GMT-08:30", "UT+1", "UTC1", "UTC+", " UTC +1", "UTC++1:00", "UTC+1:5", "UTC+01:5", "UTC+1:30",
    "UTC+0130", "UTC+01:30:15", "GMT+18:00", "GMT+18:00:01", "UTC-0", "[Europe/Paris]", "+01:00[Europe/Paris]", "ABC", "+01:00 x",
    " ++01:00",
    "+01：00", " 1", "a", ":40", "-9:5", "-9:05:05",
]  # fmt: skip

TIMESTAMP_TEXTS = [
    "2024-01-05T10", "2024-01-05T10:", _MINUTE, _MINUTE + ":", _SECOND, "2024-01-05 10:20:30", "2024-01-05  10:20:30",
    "2024-01-05t10:20:30",
    "2024-01-05\t10:20:30", "2024-1-5 1:2:3", "2024-01-05 1:2:3.4", "2024-01-05 1:1", "2024-01-05T1", "2024-01-05T100",
    _SECOND + ".", _SECOND + ".1", _SECOND + ".123456", _SECOND + ".1234567", _SECOND + ".999999999", _SECOND + ".1234567890123",
    _SECOND + ".000000", _SECOND + ".12 3", _SECOND + ".5.5", _SECOND + ".5Z", _SECOND + ".Z", _SECOND + ".12+01:00",
    _SECOND + ".1234567+01:00", _SECOND + ".12 +3", _SECOND + ".5   UTC", _SECOND + ".123 UTC-05:30", _SECOND + ",123", _SECOND + " ",
    _SECOND + ". ", "2024-01-05T24:00:00", "2024-01-05T23:59:60", "2024-01-05T23:60:00", "2024-01-05T010:00:00", "2024-01-05T10:20:300",
    _MINUTE + "Z", "2024-01-05T10Z", "2024-01-05Z", _MINUTE + "+01:00", "-10:20:30", "+10:20:30", "24:00:00", "10:20:30 PM", "10:20 pm",
    "-2024-01-05 10:20:30", "+002024-01-05 10:20:30", "+20240-1-1 1", "999999-01-01 00:00:00", "1234567-01-01 00:00:00",
    "294247-01-10 04:00:54.775807", "294247-01-10 04:00:54.775808", "+294247-01-10T04:00:54.775807Z",
    "-290308-12-21 19:59:05.224192", "-290308-12-21 19:59:05.224191", "294247-01-10 05:00:54.775807+01:00", "1969-12-31 23:59:59.999999",
    "2024-02-30 10:20:30", "2024-1-5T1:2:3+1:2", *(_SECOND + zone for zone in ZONES),
]  # fmt: skip

DAYS = [
    0, 1, -1, 19000, -141427, -141428, -719162, -719528, -719529, -719893, 2932896, 2932897, -(2**31), 2**31 - 1, 106751991, 106751992,
    -106751991, -106751992, 11016, 10957, 10956,
]  # fmt: skip

MICROS = [
    0, 1, -1, 999_999, 1_000_000, -1_000_000, -1_000_001, 1_500_000, 127_999_999, 128_000_000, 1_700_000_000_123_456,
    1_700_000_000_120_000, 1_700_000_000_000_000, 2**63 - 1, -(2**63), 2_147_483_647_999_999, 2_147_483_648_000_000,
    -2_147_483_648_000_000, -2_147_483_648_000_001, -62_135_596_800_000_000, -62_135_596_800_000_001, -62_167_219_200_000_001,
    253_402_300_799_999_999, 253_402_300_800_000_000, -12_219_292_800_000_000, 86_399_999_999, 995_000, 994_999, 86_400_000_000 * 59,
]  # fmt: skip

BINARIES = [b"", b"abc", b"12", b"true", b"2024-01-05", b"\x00", b"\xc3\xa9", b"x" * 70, bytes(16)]


def edge_values() -> list[Scalar]:
    """Every value above as each type that can hold it, but for the types that Spark cannot read."""
    texts = [*NUMBER_TEXTS, *WORDS, *DATE_TEXTS, *TIMESTAMP_TEXTS]
    return [
        NULL,
        TRUE,
        FALSE,
        *map(integer, INTEGERS),
        *map(decimal, DECIMALS),
        *map(double, FLOATING),
        *map(single, FLOATING),
        *map(string, dict.fromkeys(texts)),
        *map(date, DAYS),
        *map(timestamp, MICROS),
        *map(timestamp_ntz, MICROS),
        *map(binary, BINARIES),
        identifier("f24f9b64-81fa-49d1-b74e-8c09a6e31c56"),
    ]


def random_values(count: int, *, seed: int) -> list[Scalar]:
    """So many values of all types that Spark can read; the same ones for the same seed."""
    chance = random.Random(seed)
    return [chance.choice(_DRAWS)(chance) for _ in range(count)]


def _whole(chance: random.Random, bits: int) -> int:
    return chance.getrandbits(chance.randint(1, bits - 1)) * chance.choice((1, -1))


def _digits(chance: random.Random, most: int) -> str:
    return "".join(chance.choice("0123456789") for _ in range(chance.randint(1, most)))


def _decimal(chance: random.Random) -> Scalar:
    unscaled = int(_digits(chance, 38)) * chance.choice((1, -1))
    return decimal_scalar(unscaled, chance.randint(0, 38))


def _double(chance: random.Random) -> Scalar:
    if chance.getrandbits(1):
        return double(struct.unpack("<d", chance.randbytes(8))[0])
    return double(int(_digits(chance, 17)) * chance.choice((1, -1)) / 10 ** chance.randint(0, 17))


def _single(chance: random.Random) -> Scalar:
    if chance.getrandbits(1):
        return Scalar(BY_NAME["float"], struct.unpack("<f", chance.randbytes(4))[0])
    return single(int(_digits(chance, 8)) * chance.choice((1, -1)) / 10 ** chance.randint(0, 8))


def _number_text(chance: random.Random) -> Scalar:
    text = chance.choice(("", "", "-", "+")) + _digits(chance, 24)
    if chance.getrandbits(1):
        text += "." + _digits(chance, 24)
    if not chance.getrandbits(2):
        text += chance.choice("eE") + chance.choice(("", "-", "+")) + _digits(chance, 2)
    return string(_mutated(chance, text))


def _moment_text(chance: random.Random) -> Scalar:
    year = chance.choice((chance.randint(0, 9999), chance.randint(1900, 2100), chance.randint(10_000, 300_000)))
    width = chance.choice((1, 2, 2, 2))
    parts = [f"{chance.randint(0, limit):0{width}}" for limit in (12, 31, 24, 60, 60)]
    text = f"{chance.choice(('', '', '-', '+'))}{year:04}-{parts[0]}-{parts[1]}"
    if chance.getrandbits(2):
        text += f"{chance.choice(' T')}{parts[2]}:{parts[3]}:{parts[4]}"
        text += chance.choice(("", "." + _digits(chance, 12)))
        text += chance.choice(("", "", "Z", f"{chance.choice('+-')}{chance.randint(0, 19)}:{chance.randint(0, 61):02}"))
    return string(_mutated(chance, text))


def _mutated(chance: random.Random, text: str) -> str:
    """The text, now and then with a character dropped, doubled, moved or replaced.

    No letters but Z, T and E: others could name a zone, and a zone name is where varquet and Spark differ by design.
    """
    if chance.getrandbits(1):
        return text
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(("", " ", "-", ":", ".", "0", "9", "T", "Z", "e", "+")) + text[at + chance.randint(0, 2) :]


_DRAWS = (
    lambda chance: integer(_whole(chance, 64)),
    _decimal,
    _decimal,
    _double,
    _double,
    _single,
    _number_text,
    _number_text,
    _moment_text,
    _moment_text,
    _moment_text,
    lambda chance: date(_whole(chance, 32)),
    lambda chance: timestamp(_whole(chance, 64)),
    lambda chance: timestamp_ntz(_whole(chance, 64)),
    lambda chance: binary(_digits(chance, 5).encode()),
)
