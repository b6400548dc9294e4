"""Maps of HTTP request headers: text to text, a few names in nearly every row and a long tail of rare ones.

One row, wrapped for reading:

    {"headers": {"host": "shop.example.com", "user-agent": "curl/8.6.0", "accept": "*/*", "content-type": "application/json",
                 "x-request-id": "5f0c..", "x-acme-trace": "91", "x-umbra-shard": null}}

Every value is a text or null. Who asks (a browser, an application, a robot) decides which of the common headers there are. The tail has
1,600 names, some of them a hundred times as frequent as others. Now and then the map is empty or null.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final

import numpy as np

from varquet.samples.draws import Choices, Draws, scatter

__all__ = ["lines"]

_CLIENTS: Final = Choices.of({"browser": 60, "application": 30, "robot": 10})
_HOSTS: Final = Choices.of(
    {
        "www.example.com": 9,
        "shop.example.com": 5,
        "api.example.com": 8,
        "cdn.example.net": 3,
        "b\\u00fccher.example": 1,
        "localhost:8080": 1,
    }
)
_AGENTS: Final = {
    "browser": Choices.of(
        {
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Browser/126.0": 5,
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_4) Browser/17.4": 3,
            "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Browser/127.0": 2,
        }
    ),
    "application": Choices.of({"curl/8.6.0": 3, "python-client/2.32.0": 4, "ShopApp/4.12 (Android 14)": 6, "okfetch/5.0.0-alpha.12": 1}),
    "robot": Choices.of({"IndexBot/2.1 (+https://bot.example.org/about)": 3, 'monitor \\"probe\\" 1.0': 1}),
}
_ACCEPTS: Final = {
    "browser": Choices.of({"text/html,application/xhtml+xml;q=0.9,*/*;q=0.8": 6, "image/avif,image/webp,*/*;q=0.8": 3, "*/*": 2}),
    "application": Choices.of({"application/json": 6, "*/*": 3, "application\\/x-protobuf": 1}),
    "robot": Choices.of({"*/*": 1}),
}
_LANGUAGES: Final = Choices.of({"en-US,en;q=0.9": 6, "de-DE,de;q=0.8,en;q=0.5": 2, "fr": 1, "ja,en;q=0.5": 1})
_CONTENT_TYPES: Final = Choices.of(
    {
        "application/json": 6,
        "application/json; charset=utf-8": 2,
        "application/x-www-form-urlencoded": 2,
        'multipart/form-data; boundary=\\"x1\\"': 1,
    }
)
_REFERERS: Final = Choices.of({"/": 3, "/cart": 2, "/search?q=caf%C3%A9": 1, "/p/1377": 2})
_FETCH_MODES: Final = Choices.of({"navigate": 4, "cors": 3, "no-cors": 3})
_THEMES: Final = Choices.of({"dark": 1, "light": 2})

_VENDORS: Final = (
    "alder", "aspen", "birch", "briar", "cedar", "clover", "cypress", "dogwood", "elder", "elm", "fern", "ginkgo", "hazel", "heather",
    "holly", "ivy", "juniper", "larch", "laurel", "linden", "lotus", "maple", "moss", "myrtle", "oak", "olive", "poplar", "rowan",
    "sedge", "sumac", "willow", "yew",
)  # fmt: skip
_SUBJECTS: Final = (
    "trace", "span", "tenant", "shard", "region", "zone", "build", "variant", "cohort", "quota", "retry", "deadline", "priority", "user",
    "org", "plan", "feature", "flag", "digest", "signature", "nonce", "epoch", "locale", "currency", "device", "model", "os", "app",
    "version", "channel", "source", "campaign", "medium", "term", "click", "visit", "cart", "order", "refund", "sku", "depot", "carrier",
    "route", "stop", "gate", "seat", "cabin", "fare", "bag", "meal",
)  # fmt: skip
_TAIL: Final = len(_VENDORS) * len(_SUBJECTS)
_TAIL_COUNTS: Final = Choices.of({"0": 30, "1": 25, "2": 20, "3": 12, "4": 8, "5": 5})
_ODD_MAPS: Final = Choices.of({"{}": 1, "null": 1})


def lines(draws: Draws) -> list[str]:
    """The header maps of these rows, one line of JSON each."""
    maps = [""] * len(draws)
    clients = draws.codes("client", _CLIENTS)
    tails = _tails(draws)
    for code, client in enumerate(_CLIENTS.texts):
        rows = np.flatnonzero(clients == code)
        scatter(maps, rows, _common_fields(draws.at(rows), client))
    texts = [f'{{"headers":{{{common}{tail}}}}}' for common, tail in zip(maps, tails, strict=True)]
    odd = np.flatnonzero(draws.chance("odd", 10))
    scatter(texts, odd, [f'{{"headers":{odd_map}}}' for odd_map in draws.at(odd).choose("odd map", _ODD_MAPS)])
    return texts


def _common_fields(draws: Draws, client: str) -> list[str]:
    fields = [
        f'"host":"{host}","user-agent":"{agent}"'
        for host, agent in zip(draws.choose("host", _HOSTS), draws.choose("user-agent", _AGENTS[client]), strict=True)
    ]
    for name, (value, frequency) in _COMMON.items():
        rows = np.flatnonzero(draws.chance(f"has {name}", frequency[client]))
        some = draws.at(rows)
        is_null = some.chance(f"{name} is null", 15).tolist()
        for row, text, null in zip(rows.tolist(), value(some, client), is_null, strict=True):
            fields[row] += f',"{name}":null' if null else f',"{name}":"{text}"'
    return fields


def _tails(draws: Draws) -> list[str]:
    texts = [""] * len(draws)
    names = _tail_names()
    counts = draws.codes("tail", _TAIL_COUNTS)
    for place in range(len(_TAIL_COUNTS.texts) - 1):
        rows = np.flatnonzero(counts > place)
        some = draws.at(rows)
        # 37 and the number of names have no common divisor, so the names of a row differ.
        for row, name, value in zip(
            rows.tolist(),
            ((some.skewed("tail.name", _TAIL) + 37 * place) % _TAIL).tolist(),
            some.below(f"tail[{place}]", 1040).tolist(),
            strict=True,
        ):
            texts[row] += f',"{names[name]}":null' if value < 40 else f',"{names[name]}":"{value - 40}"'
    return texts


@functools.cache
def _tail_names() -> list[str]:
    # Vendors change fastest, so the frequent names come from many of them.
    return [f"x-{vendor}-{subject}" for subject in _SUBJECTS for vendor in _VENDORS]


def _hex(draws: Draws, name: str) -> list[str]:
    return [f"{bits:016x}" for bits in draws.bits(name).tolist()]


def _cookies(draws: Draws) -> list[str]:
    return [f"sid={sid}; theme={theme}" for sid, theme in zip(_hex(draws, "sid"), draws.choose("theme", _THEMES), strict=True)]


def _addresses(draws: Draws) -> list[str]:
    return [f"198.51.100.{address % 256}, 10.0.{address >> 8}.1" for address in draws.below("address", 1 << 12).tolist()]


_COMMON: Final[dict[str, tuple[Callable[[Draws, str], list[str]], dict[str, int]]]] = {
    "accept": (lambda draws, client: draws.choose("accept", _ACCEPTS[client]), {"browser": 990, "application": 930, "robot": 800}),
    "accept-encoding": (lambda draws, _: ["gzip, deflate, br"] * len(draws), {"browser": 990, "application": 800, "robot": 600}),
    "accept-language": (lambda draws, _: draws.choose("language", _LANGUAGES), {"browser": 970, "application": 150, "robot": 20}),
    "authorization": (
        lambda draws, _: [f"Bearer {token}" for token in _hex(draws, "token")],
        {"browser": 60, "application": 750, "robot": 0},
    ),
    "content-type": (lambda draws, _: draws.choose("content-type", _CONTENT_TYPES), {"browser": 700, "application": 850, "robot": 500}),
    "content-length": (
        lambda draws, _: list(map(str, draws.skewed("length", 60_000).tolist())),
        {"browser": 180, "application": 420, "robot": 0},
    ),
    "cookie": (lambda draws, _: _cookies(draws), {"browser": 820, "application": 60, "robot": 0}),
    "referer": (
        lambda draws, _: [f"https://www.example.com{path}" for path in draws.choose("referer", _REFERERS)],
        {"browser": 640, "application": 10, "robot": 50},
    ),
    "sec-fetch-mode": (lambda draws, _: draws.choose("fetch", _FETCH_MODES), {"browser": 900, "application": 0, "robot": 0}),
    "x-forwarded-for": (lambda draws, _: _addresses(draws), {"browser": 950, "application": 950, "robot": 950}),
    "x-request-id": (lambda draws, _: _hex(draws, "request"), {"browser": 700, "application": 900, "robot": 300}),
}
"""The common headers: how a value is made, and in how many of a thousand requests of each client the header is."""
