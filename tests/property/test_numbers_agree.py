"""Numbers of JSON texts keep their value: doubles are correctly rounded, decimals and integers exact, at every edge."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Iterable
from decimal import Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from kernel_builds import BUILDS, law_on_every_build, using
from variant_columns import nodes_column, rows_of

import varquet as vq
from varquet.types import BY_NAME
from varquet.variant import encode
from varquet.variant import parse_json as reference_parse_json
from varquet.variant import to_json as reference_to_json
from varquet.variant.model import Node, Scalar

_WIDE = Context(prec=2000)

EDGES = [
    "1e308", "1.7976931348623157e308", "1.7976931348623158e308", "1.797693134862315807e308", "1e309", "-1e309", "1e400", "1e99999999999",
    "17976931348623158079372897140530341507993413271003782693617377898044496829276475094664901797758720709633028641669288e192",
    "2.2250738585072014e-308", "2.2250738585072011e-308", "2.2250738585072012e-308", "2.225073858507201e-308", "4.9e-324", "5e-324",
    "2.4703282292062327e-324", "2.4703282292062328e-324", "2.47e-324", "2.5e-324", "3e-324", "1e-324", "1e-323", "1e-400", "-1e-400",
    "1e-99999999999", "0e0", "-0e0", "0e999999999999", "-0e-999999999999", "0.0e400", "9007199254740993e0", "9007199254740992e0",
    "9007199254740991e0", "1e22", "1e23", "8.41e21", "9.5e-5", "6.02214076e23", "1e0", "1E0", "1e+0", "1e-0", "1e00", "123456789e-9",
    "0.1e0", "0.3e0", "1.1e0", "100000000000000000000000e-5", "3.4028234663852886e38", "1e15", "1e16", "1e17", "179769313486231580793e289",
    "0.000001e0", "1" + "0" * 400 + "e-400", "0." + "0" * 400 + "1e401", "1" * 19 + "e0", "1" * 20 + "e0", "9" * 19 + "e0", "9" * 20 + "e0",
    "18446744073709551615e0", "18446744073709551616e0", "7.2057594037927933e16", "1.00000000000000011102230246251565e0",
    "1.00000000000000011102230246251564e0", "1.00000000000000011102230246251566e0", "5." + "0" * 800 + "1e-324",
]  # fmt: skip


def _agree(texts: Iterable[str]) -> None:
    """Each text, as a column, gives the bytes of the reference, or is refused by both."""
    texts = list(texts)
    made = rows_of(vq.parse_json(pa.array(texts), on_error="null"))
    for text, row in zip(texts, made, strict=True):
        try:
            expected = encode(reference_parse_json(text))
        except vq.JsonError:
            assert row is None, text
        else:
            assert row == expected, text


@pytest.mark.parametrize("build", BUILDS)
def test_numbers_at_the_edges(build: str) -> None:
    integers = [sign * ((1 << bits) + step) for bits in (7, 8, 15, 16, 31, 32, 63, 64, 127) for step in (-2, -1, 0, 1) for sign in (1, -1)]
    integers += [sign * (10**digits + step) for digits in range(1, 42) for step in (-1, 0, 1) for sign in (1, -1)]
    with using(build):
        _agree(EDGES)
        _agree(map(str, integers))
        _agree(_with_a_point(random.Random(build), count=400 if build != "interpreted" else 40))
        for text in EDGES:
            (row,) = rows_of(vq.parse_json(pa.array([text]), on_error="null"))
            number = float(text)
            assert row == (None if math.isinf(number) else (b"\x01\0\0", bytes((7 << 2,)) + struct.pack("<d", number))), text


def _with_a_point(choice: random.Random, count: int) -> list[str]:
    """Decimals of 1 to 40 digits, the point anywhere, zeros on either side."""
    texts = []
    for _ in range(count):
        digits = "".join(choice.choice("0123456789") for _ in range(choice.randint(1, 40)))
        at = choice.randrange(len(digits) + 1)
        whole = digits[:at].lstrip("0") or "0"
        zeros = "0" * choice.choice((0, 0, 0, 1, 20, 40))
        fraction = (zeros + digits[at:] if choice.random() < 0.5 else digits[at:] + zeros) or "0"
        texts.append(choice.choice(("", "-")) + whole + "." + fraction)
    return texts


@law_on_every_build(st.integers(0, 1 << 32), share=2)
def test_random_doubles_are_correctly_rounded(seed: int) -> None:
    """Shortest digits, too many digits, and texts exactly or almost halfway between two doubles."""
    choice = random.Random(seed)
    texts = []
    for _ in range(25):
        number = _random_double(choice)
        texts += [_exponent_form(repr(number)), f"{number:.16e}", f"{number:.17e}", f"{number:.25e}", f"{number:.{choice.randint(0, 30)}e}"]
        texts += _around_halfway(number, choice)
        texts.append(f"{choice.getrandbits(choice.randint(1, 70))}e{choice.randint(-345, 312)}")
        texts.append(f"{choice.getrandbits(64)}.{choice.getrandbits(40)}e{choice.randint(-30, 30)}")
    _agree(texts)


def _random_double(choice: random.Random) -> float:
    """Any finite double: all exponents alike, subnormal ones among them, or a short decimal."""
    if choice.random() < 0.2:
        return choice.getrandbits(choice.randint(1, 53)) / float(10 ** choice.randint(0, 22))
    bits = choice.getrandbits(52) if choice.random() < 0.1 else choice.getrandbits(63)
    number: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return number if math.isfinite(number) else 1.5


def _around_halfway(number: float, choice: random.Random) -> list[str]:
    """The exact middle between this double and the next, and the same a hair below and above."""
    after = math.nextafter(number, math.inf)
    if math.isinf(after):
        return []
    middle = _WIDE.divide(_WIDE.add(Decimal(number), Decimal(after)), Decimal(2))
    digits = "".join(map(str, middle.as_tuple().digits))
    exponent = int(middle.as_tuple().exponent)
    cut = choice.randint(1, len(digits))
    return [
        f"{digits}e{exponent}",
        f"{digits}1e{exponent - 1}",
        f"{int(digits) - 1}e{exponent}" if int(digits) > 0 else "0e0",
        f"{digits[:cut]}e{exponent + len(digits) - cut}",
        f"{digits[0]}.{digits[1:] or '0'}e{exponent + len(digits) - 1}",
    ]


def _exponent_form(text: str) -> str:
    return text if "e" in text else text + "e0"


@law_on_every_build(st.integers(0, 1 << 32), share=1)
def test_floating_point_numbers_are_written_as_the_reference_writes_them(seed: int) -> None:
    """And a double is read back as the same bits."""
    choice = random.Random(seed)
    doubles = [choice.choice((1, -1)) * _random_double(choice) for _ in range(40)]
    doubles += [choice.randint(0, 10**15) / 10 ** choice.randint(0, 15) for _ in range(40)]
    doubles += [float(f"{choice.randint(1, 10 ** choice.randint(1, 17))}e{choice.randint(-20, 20)}") for _ in range(40)]
    singles = [struct.unpack("<f", choice.randbytes(4))[0] for _ in range(20)]
    values: list[Node] = [*(Scalar(BY_NAME["double"], number) for number in doubles), *(Scalar(BY_NAME["float"], n) for n in singles)]
    texts = vq.to_json(nodes_column(values))
    assert texts.to_pylist() == [reference_to_json(value) for value in values]
    again = rows_of(vq.parse_json(texts[: len(doubles)]))
    assert again == [(b"\x01\0\0", bytes((7 << 2,)) + struct.pack("<d", number)) for number in doubles]


@law_on_every_build(st.integers(0, 1 << 32), share=1)
def test_decimals_are_written_with_all_their_digits_and_read_back(seed: int) -> None:
    choice = random.Random(seed)
    texts = _with_a_point(choice, 60)
    column = vq.parse_json(pa.array(texts))
    written = vq.to_json(column).to_pylist()
    for text, row, again in zip(texts, rows_of(column), written, strict=True):
        assert row is not None
        if row[1][0] >> 2 in (8, 9, 10):
            assert again == text
        else:
            assert float(again) == float(text)
    assert rows_of(vq.parse_json(pa.array(written))) == rows_of(column)
