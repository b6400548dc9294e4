"""Product events: what an application logs about its visitors, with the flaws that such logs have.

One row, wrapped for reading:

    {"id": 1000017, "ts": "2026-01-01T00:00:04.397Z", "type": "purchase",
     "user": {"id": 48213, "name": "Zoë Okafor", "email": "zoe.okafor48213@example.org",
              "geo": {"lat": 52.5204, "lon": 13.4049, "country": "DE"}, "plan": "pro"},
     "session": "9f86d081884c", "device": {"os": "ios", "ver": "17.4"},
     "items": [{"sku": "SKU-0421", "qty": 2, "price": 12.50}, {"sku": "SKU-1377", "qty": "1", "price": 8.99}],
     "tags": ["promo", "mobile"], "amount": 33.99, "score": 0.8731, "flags": {"beta": true},
     "payload": {"order": "A-7731902", "coupon": null, "paid": true}, "seen": {"p-80231": 2, "p-11937": 1}, "x_0042": 17}

`id` and `ts` rise from row to row and are always there; so are `type`, `session` and `payload`. Every other field is missing
or null now and then. Three in a hundred `user.id` and `qty` are text instead of a number. The shape of `payload` depends on
`type`. `seen` has ids as its keys. Of the thousand rare keys `x_0001` .. `x_1000` a row holds one on average.
"""

from __future__ import annotations

import functools
from typing import Final

import numpy as np

from varquet.samples.draws import Choices, Draws, Ints, scatter
from varquet.samples.event_payloads import payloads

__all__ = ["lines"]

_FIRST_ID: Final = 1_000_000
_FIRST_INSTANT: Final = np.datetime64("2026-01-01T00:00:00.000", "ms")
_MILLIS_PER_ROW: Final = 250
_PEOPLE: Final = 200_000
_PRODUCTS: Final = 2_000
_RARE_KEYS: Final = 1_000
_RARE_VALUES: Final = 8

_TYPES: Final = Choices.of(
    {
        "page_view": 290, "click": 180, "view_item": 130, "add_to_cart": 110, "search": 90, "purchase": 70,
        "login": 40, "error": 25, "metric": 25, "logout": 20, "signup": 10, "refund": 10,
    }
)  # fmt: skip
_MOST_ITEMS: Final = np.array([{"view_item": 1, "add_to_cart": 2, "purchase": 4, "refund": 1}.get(text, 0) for text in _TYPES.texts])

# A name as it stands in JSON, and in an address. Some producers escape what they need not, so some names here are escaped.
_FIRST_NAMES: Final = (
    ("Ada", "ada"), ("Amara", "amara"), ('Anna \\"Ann\\"', "anna"), ("Bj\\u00f6rn", "bjorn"), ("Carlos", "carlos"), ("Chloé", "chloe"),
    ("Dmitri", "dmitri"), ("Ewa", "ewa"), ("Fatima", "fatima"), ("Georg", "georg"), ("Hana", "hana"), ("Ines", "ines"),
    ("Jamal", "jamal"), ("Józef", "jozef"), ("Kenji", "kenji"), ("Léa", "lea"), ("Mia", "mia"), ("Mohammed", "mohammed"),
    ("Nia", "nia"), ("Ольга", "olga"), ("Priya", "priya"), ("Quentin", "quentin"), ("Ravi", "ravi"), ("Søren", "soren"),
    ("Tariq", "tariq"), ("Uma", "uma"), ("Vera", "vera"), ("Wei", "wei"), ("小雨", "xiaoyu"), ("Yuki", "yuki"), ("Zoë", "zoe"),
)  # fmt: skip
_LAST_NAMES: Final = (
    ("Andersen", "andersen"), ("Bauer", "bauer"), ("Castillo", "castillo"), ("Dupont", "dupont"), ("Eriksson", "eriksson"),
    ("Ferreira", "ferreira"), ("García", "garcia"), ("Haddad", "haddad"), ("Ivanova", "ivanova"), ("Jansen", "jansen"),
    ("Kim", "kim"), ("Łukasik", "lukasik"), ("M\\u00fcller", "muller"), ("Nguyen", "nguyen"), ("O\\u0027Brien", "obrien"),
    ("Okafor", "okafor"), ("Petrov", "petrov"), ("Rossi", "rossi"), ("Silva \\ud83c\\udf1f", "silva"), ("Tanaka", "tanaka"),
    ("Usman", "usman"), ("van Dijk", "vandijk"), ("Wang", "wang"), ("山田", "yamada"), ("Yilmaz", "yilmaz"), ("Zhang 😀", "zhang"),
)  # fmt: skip
_NAMES: Final = [f'"{first} {last}"' for first, _ in _FIRST_NAMES for last, _ in _LAST_NAMES]
_MAILBOXES: Final = [f"{first}.{last}" for _, first in _FIRST_NAMES for _, last in _LAST_NAMES]
_MAIL: Final = Choices.of({"@example.com": 55, "@example.org": 25, "@mail.example.net": 10, "null": 6, "missing": 4})

_GEO: Final = Choices.of({"known": 920, "null": 30, "missing": 50})
_CITIES: Final = Choices.of(
    {
        "52.5 13.4 DE": 12, "48.1 11.5 DE": 8, "40.7 -73.9 US": 22, "37.7 -122.4 US": 18, "51.5 -0.1 GB": 12, "48.8 2.3 FR": 9,
        "19.0 72.8 IN": 11, "35.6 139.6 JP": 7, "-23.5 -46.6 BR": 7, "-33.8 151.2 AU": 4, "6.5 3.3 NG": 3, "1.3 103.8 SG": 2,
    }
)  # fmt: skip
_CITY_PARTS: Final = [tuple(text.split()) for text in _CITIES.texts]

_PLANS: Final = Choices.of({',"plan":"free"': 62, ',"plan":"pro"': 20, ',"plan":"team"': 7, ',"plan":"enterprise"': 3, "": 8})
_DEVICES: Final = Choices.of(
    {
        ',"device":{"os":"ios","ver":"17.4"}': 24,
        ',"device":{"os":"android","ver":"14"}': 28,
        ',"device":{"os":"windows","ver":"11"}': 18,
        ',"device":{"os":"macos","ver":"14.4.1"}': 10,
        ',"device":{"os":"linux"}': 6,
        ',"device":{"os":"tv","ver":null,"hdr":true}': 4,
        ',"device":{}': 2,
        ',"device":null': 2,
        "": 6,
    }
)
_TAGS: Final = (
    "new", "promo", "mobile", "vip", "beta", "returning", "ab-test", "spring", "organic", "paid", "email", "social",
    "été", "セール", "q\\/a", "holiday", "app", "partner", "gift",
)  # fmt: skip
_TAG_COUNTS: Final = Choices.of({"0": 15, "1": 34, "2": 27, "3": 10, "4": 2, "null": 2, "missing": 10})
_FLAGS: Final = Choices.of(
    {
        ',"flags":{"beta":false,"bot":false}': 40,
        ',"flags":{"beta":true}': 15,
        ',"flags":{"bot":true,"debug":false}': 3,
        ',"flags":{"gdpr":null}': 5,
        ',"flags":{}': 7,
        "": 30,
    }
)
_SCORES: Final = Choices.of({"plain": 86, "exponent": 7, "null": 3, "missing": 4})
_AMOUNTS: Final = Choices.of({"given": 87, "null": 5, "missing": 8})
_RARE_COUNTS: Final = Choices.of({"0": 37, "1": 37, "2": 18, "3": 6, "4": 2})
_RARE_SHAPES: Final = ("{0}", '"v{0}"', "{0}.{1}", "true", '{{"a":{0},"b":[{1}]}}', "null", "-{1}", '"{0}-{1}"')


def lines(draws: Draws) -> list[str]:
    """The events of these rows, one line of JSON each."""
    types = draws.codes("type", _TYPES)
    people = draws.skewed("person", _PEOPLE)
    items, costs = _items(draws, types)
    rows = draws.rows.astype(np.int64)
    millis = rows * _MILLIS_PER_ROW + draws.below("ts", _MILLIS_PER_ROW)
    # A session is what one person does within some thousand rows.
    sessions = draws.of((rows >> 13) * _PEOPLE + people).bits("session") >> np.uint64(16)
    return [
        f'{{"id":{row + _FIRST_ID},"ts":"{instant}Z","type":"{_TYPES.texts[kind]}","user":{user},"session":"{session:012x}"'
        f'{device}{bought}{tags}{amount}{score}{flags},"payload":{payload}{seen}{rare}}}'
        for row, instant, kind, user, session, device, bought, tags, amount, score, flags, payload, seen, rare in zip(
            rows.tolist(),
            np.datetime_as_string(_FIRST_INSTANT + millis.astype("timedelta64[ms]")).tolist(),
            types.tolist(),
            _users(draws, people),
            sessions.tolist(),
            draws.of(people).choose("device", _DEVICES),
            items,
            _tags(draws),
            _amounts(draws, types, costs),
            _scores(draws),
            draws.choose("flags", _FLAGS),
            payloads(draws, types, _TYPES.texts),
            _seen(draws),
            _rare_fields(draws),
            strict=True,
        )
    ]


def _users(draws: Draws, people: Ints) -> list[str]:
    # All but the form of the id is drawn for the person, hence the same in all events of that person.
    persons = draws.of(people)
    quotes = np.where(draws.chance("user.id is text", 30), '"', "").tolist()
    users = [
        f'{{"id":{quote}{person}{quote},"name":{name}{mail}{geo}{plan}}}'
        for quote, person, name, mail, geo, plan in zip(
            quotes, people.tolist(), _names(persons), _mails(persons), _geos(persons), persons.choose("plan", _PLANS), strict=True
        )
    ]
    anonymous = np.flatnonzero(draws.chance("user is null", 20))
    scatter(users, anonymous, ["null"] * len(anonymous))
    return users


def _names(persons: Draws) -> list[str]:
    names = [_NAMES[name] for name in persons.below("name", len(_NAMES)).tolist()]
    unknown = np.flatnonzero(persons.chance("name is null", 20))
    scatter(names, unknown, ["null"] * len(unknown))
    return names


def _mails(persons: Draws) -> list[str]:
    fields = {"null": ',"email":null', "missing": ""}
    return [
        fields[domain] if domain in fields else f',"email":"{_MAILBOXES[name]}{person}{domain}"'
        for person, name, domain in zip(
            persons.rows.tolist(), persons.below("name", len(_NAMES)).tolist(), persons.choose("mail", _MAIL), strict=True
        )
    ]


def _geos(persons: Draws) -> list[str]:
    fields = {"null": ',"geo":null', "missing": ""}
    texts = []
    for form, city, north, east in zip(
        persons.choose("geo", _GEO),
        persons.codes("city", _CITIES).tolist(),
        persons.below("lat", 1000).tolist(),
        persons.below("lon", 1000).tolist(),
        strict=True,
    ):
        if form == "known":
            latitude, longitude, country = _CITY_PARTS[city]
            texts.append(f',"geo":{{"lat":{latitude}{north:03d},"lon":{longitude}{east:03d},"country":"{country}"}}')
        else:
            texts.append(fields[form])
    return texts


def _items(draws: Draws, types: Ints) -> tuple[list[str], Ints]:
    """The items of each row as a field, and what they cost together in cents."""
    most = _MOST_ITEMS[types]
    counts = np.where(most > 0, 1 + (draws.below("items", 1 << 16) * most >> 16), 0)
    costs = np.zeros(len(draws), dtype=np.int64)
    items = [""] * len(draws)
    for place in range(int(_MOST_ITEMS.max())):
        rows = np.flatnonzero(counts > place)
        some = draws.at(rows)
        products = some.skewed(f"items[{place}].sku", _PRODUCTS)
        quantities = 1 + some.skewed(f"items[{place}].qty", 12)
        prices = 99 + draws.of(products).skewed("price", 25_000)
        costs[rows] += quantities * prices
        quotes = np.where(some.chance(f"items[{place}].qty is text", 30), '"', "").tolist()
        for row, product, quantity, quote, price, known in zip(
            rows.tolist(),
            products.tolist(),
            quantities.tolist(),
            quotes,
            prices.tolist(),
            (~some.chance(f"items[{place}].price is null", 15)).tolist(),
            strict=True,
        ):
            cost = f"{price // 100}.{price % 100:02d}" if known else "null"
            items[row] += f',{{"sku":"SKU-{product:04d}","qty":{quote}{quantity}{quote},"price":{cost}}}'
    for row, empty in enumerate(draws.chance("items is empty", 300).tolist()):
        if items[row]:
            items[row] = f',"items":[{items[row][1:]}]'
        elif empty:
            items[row] = ',"items":[]'
    return items, costs


def _tags(draws: Draws) -> list[str]:
    fields, count = _tag_fields(), len(_TAGS)
    places = (draws.codes("tags", _TAG_COUNTS) * count + draws.skewed("tags[0]", count)) * (count - 1) + draws.below("tags[1]", count - 1)
    return [fields[place] for place in places.tolist()]


@functools.cache
def _tag_fields() -> list[str]:
    """Every field there can be, by its form, its first word and the step from word to word."""
    fixed = {"null": ',"tags":null', "missing": ""}
    return [
        fixed[form]
        if form in fixed
        # The number of words is prime, so steps of one length do not meet a word twice.
        else ',"tags":[' + ",".join([f'"{_TAGS[(first + place * step) % len(_TAGS)]}"' for place in range(int(form))]) + "]"
        for form in _TAG_COUNTS.texts
        for first in range(len(_TAGS))
        for step in range(1, len(_TAGS))
    ]


def _amounts(draws: Draws, types: Ints, costs: Ints) -> list[str]:
    # Where there are items it is what they cost; elsewhere what the visit is thought to be worth.
    cents = np.where(costs > 0, costs, draws.skewed("amount", 100_000))
    signs = np.where(types == _TYPES.texts.index("refund"), "-", "").tolist()
    fields = {"null": ',"amount":null', "missing": ""}
    return [
        f',"amount":{sign}{whole}.{part:02d}' if form == "given" else fields[form]
        for form, sign, whole, part in zip(
            draws.choose("amount is", _AMOUNTS), signs, (cents // 100).tolist(), (cents % 100).tolist(), strict=True
        )
    ]


def _scores(draws: Draws) -> list[str]:
    fields = {"null": ',"score":null', "missing": ""}
    return [
        f',"score":0.{digits:04d}'
        if form == "plain"
        else f',"score":{1 + digits // 1112}.{digits % 1000:03d}e-{2 + digits % 9:02d}'
        if form == "exponent"
        else fields[form]
        for form, digits in zip(draws.choose("score is", _SCORES), draws.below("score", 10_000).tolist(), strict=True)
    ]


def _seen(draws: Draws) -> list[str]:
    """Counts by product, with the product's id as the key: the object that must not become columns."""
    texts = [""] * len(draws)
    rows = np.flatnonzero(draws.chance("seen", 150))
    some = draws.at(rows)
    fields = [
        ',"seen":{' + ",".join([f'"p-{(first + place * 7919) % 100_000:05d}":{1 + (first + place) % 5}' for place in range(count)]) + "}"
        for first, count in zip(some.below("seen.first", 100_000).tolist(), some.below("seen.count", 4).tolist(), strict=True)
    ]
    scatter(texts, rows, fields)
    return texts


def _rare_fields(draws: Draws) -> list[str]:
    texts = [""] * len(draws)
    counts = draws.codes("rare", _RARE_COUNTS)
    fields = _rare_field_table()
    for place in range(len(_RARE_COUNTS.texts) - 1):
        rows = np.flatnonzero(counts > place)
        some = draws.at(rows)
        # 377 and the number of keys have no common divisor, so the keys of a row differ.
        keys = (some.below("rare.key", _RARE_KEYS) + place * 377) % _RARE_KEYS
        for row, field in zip(rows.tolist(), (keys * _RARE_VALUES + some.below(f"rare[{place}]", _RARE_VALUES)).tolist(), strict=True):
            texts[row] += fields[field]
    return texts


@functools.cache
def _rare_field_table() -> list[str]:
    """Every value of every rare key; the key decides the type."""
    return [
        f',"x_{key:04d}":' + _RARE_SHAPES[key % len(_RARE_SHAPES)].format(value * 37 + key % 31, value + 10)
        for key in range(1, _RARE_KEYS + 1)
        for value in range(_RARE_VALUES)
    ]
