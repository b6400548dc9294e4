"""Repository events as a code host delivers them to a webhook: one frame, and a payload whose shape depends on the type.

One row, wrapped for reading:

    {"id": "38000000017", "type": "PushEvent",
     "actor": {"id": 4711, "login": "heron-4711", "url": "https://api.example.com/users/heron-4711", ...},
     "repo": {"id": 90210, "name": "amber-labs/parser-210", "url": "https://api.example.com/repos/amber-labs/parser-210"},
     "payload": {...}, "public": true, "created_at": "2026-01-01T00:00:17Z",
     "org": {...}}                                                            where an organisation owns the repository

All names are invented and all addresses lie below example.com.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from varquet.samples.draws import Choices, Draws, Ints, scatter
from varquet.samples.github_payloads import SHAPES, Deliveries

__all__ = ["lines"]

_FIRST_ID: Final = 38_000_000_000
_FIRST_INSTANT: Final = np.datetime64("2026-01-01T00:00:00", "s")
_ACTORS: Final = 80_000
_REPOSITORIES: Final = 50_000

_TYPES: Final = Choices.of(
    {
        "PushEvent": 500, "CreateEvent": 110, "PullRequestEvent": 100, "IssueCommentEvent": 80, "WatchEvent": 70, "IssuesEvent": 45,
        "DeleteEvent": 30, "PullRequestReviewEvent": 25, "ForkEvent": 20, "ReleaseEvent": 10, "GollumEvent": 5, "MemberEvent": 5,
    }
)  # fmt: skip
_BIRDS: Final = ("heron", "wren", "ibis", "kestrel", "plover", "swift", "tern", "dunlin", "finch", "crane", "merlin", "siskin", "avocet")
_COLOURS: Final = ("amber", "azure", "coral", "ivory", "jade", "ochre", "olive", "pearl", "rust", "slate", "teal")
_GROUPS: Final = ("labs", "works", "hq", "project", "io", "data", "team")
_PROJECTS: Final = ("parser", "web", "infra", "docs", "sdk", "engine", "dotfiles", "notebooks", "cli", "api", "charts", "mirror", "игра")
_ROBOTS: Final = ("dependency-bot[bot]", "release-bot[bot]", "ci-runner[bot]")


def lines(draws: Draws) -> list[str]:
    """The events of these rows, one line of JSON each."""
    types = draws.codes("type", _TYPES)
    actors = draws.skewed("actor", _ACTORS)
    repositories = draws.skewed("repository", _REPOSITORIES)
    owners = draws.of(repositories).skewed("owner", 9_000)
    seconds = draws.rows.astype(np.int64) + draws.below("created_at", 2)
    instants = np.datetime_as_string(_FIRST_INSTANT + seconds.astype("timedelta64[s]")).tolist()
    groups = [_group(owner) for owner in owners.tolist()]
    deliveries = Deliveries(
        draws,
        actors.tolist(),
        [_login(actor) for actor in actors.tolist()],
        [f"{group}/{_PROJECTS[number % len(_PROJECTS)]}-{number}" for group, number in zip(groups, repositories.tolist(), strict=True)],
        instants,
    )
    # An account owns what no organisation does; then the event has no "org".
    organised = draws.of(owners).chance("organised", 600).tolist()
    return [
        f'{{"id":"{row + _FIRST_ID}","type":"{_TYPES.texts[kind]}","actor":{{"id":{actor},"login":"{login}","display_login":"{login}",'
        f'"gravatar_id":"","url":"https://api.example.com/users/{login}","avatar_url":"https://avatars.example.com/u/{actor}?"}},'
        f'"repo":{{"id":{repository},"name":"{name}","url":"https://api.example.com/repos/{name}"}},"payload":{payload},'
        f'"public":true,"created_at":"{instant}Z"{_organisation(owner, group) if is_organised else ""}}}'
        for row, kind, actor, login, repository, name, payload, instant, owner, group, is_organised in zip(
            draws.rows.tolist(),
            types.tolist(),
            deliveries.actors,
            deliveries.logins,
            repositories.tolist(),
            deliveries.names,
            _payloads(deliveries, types),
            instants,
            owners.tolist(),
            groups,
            organised,
            strict=True,
        )
    ]


def _payloads(deliveries: Deliveries, types: Ints) -> list[str]:
    texts = [""] * len(types)
    for code, name in enumerate(_TYPES.texts):
        rows = np.flatnonzero(types == code)
        scatter(texts, rows, SHAPES[name](deliveries.at(rows)))
    return texts


def _login(actor: int) -> str:
    # The busiest accounts of a code host are robots.
    return _ROBOTS[actor] if actor < len(_ROBOTS) else f"{_BIRDS[actor % len(_BIRDS)]}-{actor}"


def _group(owner: int) -> str:
    return f"{_COLOURS[owner % len(_COLOURS)]}-{_GROUPS[owner % len(_GROUPS)]}" + (f"-{owner}" if owner >= 77 else "")


def _organisation(owner: int, group: str) -> str:
    return f',"org":{{"id":{owner},"login":"{group}","gravatar_id":"","url":"https://api.example.com/orgs/{group}"}}'
