"""The `payload` of a product event: one shape per type of event.

page_view    {"url": "/c/shoes?p=2", "ref": null, "ms": 412}
search       {"q": "caf\\u00e9 \\"to go\\"", "hits": 37}
error        {"code": 503, "msg": "..."}             the code is a number, or a name such as "E_TIMEOUT"
metric       {"name": "cpu", "value": 0.93}          the value is a number, a list of them, a text or null
logout       {}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from varquet.samples.draws import Choices, Draws, Ints, scatter

__all__ = ["payloads"]

_SECTIONS: Final = Choices.of({"": 5, "c/shoes": 4, "c/audio": 3, "c/home": 3, "blog": 2, "account": 2, "help/returns": 1})
_REFERRERS: Final = Choices.of({"null": 5, '"https://search.example.com/"': 3, '"https://news.example.org/a?b=c&d=%20"': 1, '""': 1})
_TARGETS: Final = Choices.of({"#buy": 4, "#menu": 3, "a.more": 2, "button[name=\\u0022ok\\u0022]": 1})
_QUERIES: Final = Choices.of(
    {
        "running shoes": 9, "usb-c cable": 7, "headphones": 7, "caf\\u00e9 mug": 3, "été robe": 2, "靴 26cm": 2, "27\\\" monitor": 3,
        "c:\\\\temp": 1, "50% off": 3, "tab\\there": 1, "🎁 gift": 2, "\\ud83d\\ude80 poster": 1, "null": 1, "": 2, "42": 1,
    }
)  # fmt: skip
_LISTS: Final = Choices.of({"home": 4, "search": 3, "similar": 2, "cart": 1})
_COUPONS: Final = Choices.of({"null": 7, '"SPRING10"': 2, '"VIP"': 1})
_METHODS: Final = Choices.of({"card": 6, "paypal": 3, "invoice": 1})
_LOGINS: Final = Choices.of({"password": 5, "sso": 3, "passkey": 2})
_CODES: Final = Choices.of({"500": 3, "503": 2, "404": 4, '"E_TIMEOUT"': 1, '"E_AUTH"': 1})
_MESSAGES: Final = Choices.of(
    {
        "upstream timed out after 30s": 4,
        'expected \\"}\\", got EOF': 2,
        "line 1\\nline 2\\r\\n\\tat handler(/srv/app.js:17)": 2,
        "bad path C:\\\\data\\\\in": 1,
        "\\u0000 in field \\u00abname\\u00bb": 1,
    }
)
_METRICS: Final = Choices.of({"cpu": 4, "mem.rss": 3, "queue": 2, "p95_ms": 1})
_REASONS: Final = Choices.of({'"size"': 4, '"damaged"': 2, "null": 1})
_CAMPAIGNS: Final = Choices.of({'{"source":"mail","medium":"newsletter"}': 3, '{"source":"ads","term":null}': 2, "{}": 1, "null": 2})
_TRUTH: Final = Choices.of({"true": 9, "false": 1})


def payloads(draws: Draws, types: Ints, names: tuple[str, ...]) -> list[str]:
    """The payload of each row as a JSON object; `types` are positions in `names`."""
    texts = [""] * len(draws)
    for code, name in enumerate(names):
        rows = np.flatnonzero(types == code)
        scatter(texts, rows, _SHAPES[name](draws.at(rows)))
    return texts


def _page_view(draws: Draws) -> list[str]:
    return [
        f'{{"url":"/{section}?p={page}","ref":{referrer},"ms":{millis}}}'
        for section, page, referrer, millis in zip(
            draws.choose("section", _SECTIONS),
            draws.skewed("page", 40).tolist(),
            draws.choose("referrer", _REFERRERS),
            draws.skewed("ms", 9_000).tolist(),
            strict=True,
        )
    ]


def _click(draws: Draws) -> list[str]:
    return [
        f'{{"x":{x},"y":{y},"target":"{target}"}}'
        for x, y, target in zip(
            draws.below("x", 1920).tolist(), draws.skewed("y", 8000).tolist(), draws.choose("target", _TARGETS), strict=True
        )
    ]


def _listed(draws: Draws) -> list[str]:
    return [
        f'{{"list":"{name}","pos":{place}}}'
        for name, place in zip(draws.choose("list", _LISTS), draws.skewed("pos", 60).tolist(), strict=True)
    ]


def _search(draws: Draws) -> list[str]:
    return [
        f'{{"q":"{query}","hits":{hits}}}'
        for query, hits in zip(draws.choose("q", _QUERIES), draws.skewed("hits", 5_000).tolist(), strict=True)
    ]


def _purchase(draws: Draws) -> list[str]:
    return [
        f'{{"order":"A-{order:09d}","coupon":{coupon},"method":"{method}","paid":{paid}}}'
        for order, coupon, method, paid in zip(
            draws.below("order", 1_000_000_000).tolist(),
            draws.choose("coupon", _COUPONS),
            draws.choose("method", _METHODS),
            draws.choose("paid", _TRUTH),
            strict=True,
        )
    ]


def _login(draws: Draws) -> list[str]:
    return [
        f'{{"method":"{method}","ok":{ok}}}' for method, ok in zip(draws.choose("login", _LOGINS), draws.choose("ok", _TRUTH), strict=True)
    ]


def _error(draws: Draws) -> list[str]:
    return [
        f'{{"code":{code},"msg":"{message}"}}'
        for code, message in zip(draws.choose("code", _CODES), draws.choose("msg", _MESSAGES), strict=True)
    ]


def _metric(draws: Draws) -> list[str]:
    shapes = ("0.{0:03d}", "{0}", "{0}e-3", "[{0},{1},0.5]", '"n/a"', "null")
    forms = Choices.of({"0": 5, "1": 4, "2": 2, "3": 1, "4": 1, "5": 1})
    return [
        f'{{"name":"{name}","value":{shapes[form].format(number, number // 2)}}}'
        for name, form, number in zip(
            draws.choose("metric", _METRICS), draws.codes("value is", forms).tolist(), draws.below("value", 1000).tolist(), strict=True
        )
    ]


def _logout(draws: Draws) -> list[str]:
    return ["{}"] * len(draws)


def _signup(draws: Draws) -> list[str]:
    return [
        f'{{"utm":{campaign},"terms":{terms}}}'
        for campaign, terms in zip(draws.choose("utm", _CAMPAIGNS), draws.choose("terms", _TRUTH), strict=True)
    ]


def _refund(draws: Draws) -> list[str]:
    return [
        f'{{"order":"A-{order:09d}","reason":{reason}}}'
        for order, reason in zip(draws.below("order", 1_000_000_000).tolist(), draws.choose("reason", _REASONS), strict=True)
    ]


_SHAPES: Final[dict[str, Callable[[Draws], list[str]]]] = {
    "page_view": _page_view,
    "click": _click,
    "view_item": _listed,
    "add_to_cart": _listed,
    "search": _search,
    "purchase": _purchase,
    "login": _login,
    "error": _error,
    "metric": _metric,
    "logout": _logout,
    "signup": _signup,
    "refund": _refund,
}
