"""Hypothesis strategies for JSON texts that are not quite right, or that repeat a field name."""

from __future__ import annotations

import random

from hypothesis import strategies as st
from strategies import EDGE_KEYS, json_texts

__all__ = ["damaged_json", "texts_with_duplicates"]

_TELLING = [
    *(bytes((byte,)) for byte in b"{}[],:\"\\/0123456789+-.eEtfnu \t\n\r\x00\x1f\x7f\x80\xbf\xc0\xed\xf4\xff\xef#'"),
    *(b"null", b"true", b"false", b"NaN", b"Infinity", b"-", b"-0", b"00", b"1e400", b"1e", b"1.", b".5", b"1e+", b"0.0e-999", b"1e999"),
    *(b'""', b'"a":', b"\\u", b"\\ud83d", b"\\ude00", b"\\ud83d\\ude00", b"\\u0041", b"\\x", b"\\u12", b"\\ud83d\\u00e9", b"\\ud83d\\uzz"),
    *(b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xe2\x82", b"\xf0\x9f\x98\x80", b"\xc3\xa9", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\xe0\x80\x80"),
    *(b"//", b"/*", b"True", b"None", b"undefined", b"nullx", b"truefalse", b"1_000", b"[" * 70, b"x" * 70, b'"' + b"y" * 30 + b'"'),
]


@st.composite
def damaged_json(draw: st.DrawFn) -> list[bytes]:
    """Some copies of a JSON text, each with other bytes dropped, replaced or doubled, or with something in it that parsers trip over."""
    text = draw(json_texts() | texts_with_duplicates()).encode()
    choice = random.Random(draw(st.integers(0, 1 << 32)))
    return [_damaged(text, choice) for _ in range(8)]


def _damaged(text: bytes, choice: random.Random) -> bytes:
    changed = bytearray(text)
    for _ in range(choice.choice((0, 1, 1, 1, 2, 3))):
        at = choice.randrange(len(changed) + 1)
        match choice.randrange(6):
            case 0:
                changed[at:at] = choice.choice(_TELLING)
            case 1:
                changed[at : at + 1] = choice.choice(_TELLING)
            case 2:
                del changed[at : at + choice.randint(1, 4)]
            case 3:
                del changed[at:]
            case 4 if at < len(changed):
                changed[at] ^= 1 << choice.randrange(8)
            case _:
                changed[at:at] = changed[at : at + choice.randint(1, 12)]
    return bytes(changed)


def texts_with_duplicates() -> st.SearchStrategy[str]:
    """JSON texts whose objects may hold a name several times, with values of all kinds below it."""
    names = st.sampled_from(("a", "b", "c", "aa", *EDGE_KEYS[:3]))
    return st.recursive(
        st.sampled_from(("1", "null", '"x"', "1.50", "[]", "{}", '"' + "y" * 70 + '"')),
        lambda child: (
            st.lists(child, max_size=3).map(lambda parts: "[" + ",".join(parts) + "]")
            | st.lists(st.tuples(names, child), max_size=5).map(
                lambda fields: "{" + ",".join(f'"{name}":{value}' for name, value in fields) + "}"
            )
        ),
        max_leaves=12,
    )
