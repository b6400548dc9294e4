"""The `payload` of a repository event: one shape per type of event.

    PushEvent          {"push_id", "size", "distinct_size", "ref", "head", "before", "commits": [{"sha", "author", "message", ...}]}
    IssuesEvent        {"action", "issue": {"number", "title", "user", "labels": [...], "assignee": null, "reactions": {"+1": 3, ...}, ...}}
    PullRequestEvent   {"action", "number", "pull_request": {..., "head": {...}, "base": {...}, "merged", "merge_commit_sha"}}
    WatchEvent         {"action": "started"}

and so on. Fields that do not apply are null, as webhooks have them, not missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from varquet.samples.draws import Choices, Draws, Ints

__all__ = ["SHAPES", "Deliveries"]

_API: Final = "https://api.example.com/repos"

_COMMIT_COUNTS: Final = Choices.of({"0": 5, "1": 60, "2": 18, "3": 9, "4": 4, "5": 2, "6": 2})
_BRANCHES: Final = Choices.of({"main": 50, "master": 15, "dev": 10, "feature/login": 8, "fix/😅": 2, "release/2.x": 5, "gh-pages": 10})
_MESSAGES: Final = Choices.of(
    {
        "Update README.md": 12,
        "fix typo": 9,
        "Merge branch 'main' into dev": 6,
        "feat(api): paginate results\\n\\nThe cursor is opaque now.\\n\\nCo-authored-by: wren <wren@example.com>": 5,
        "Bump lodash from 4.17.20 to 4.17.21": 8,
        'Revert \\"Use fewer threads\\"': 3,
        "chore: новая сборка 🚀": 3,
        "wip": 9,
        "Fix path on Windows (C:\\\\temp)": 2,
    }
)
_BODIES: Final = Choices.of(
    {
        "null": 12,
        '""': 4,
        '"Thanks, this fixes it for me \\ud83d\\udc4d"': 10,
        '"### Steps\\r\\n\\r\\n1. install\\r\\n2. run `app --check`\\r\\n\\r\\n**Expected** no output, **got** a traceback"': 9,
        '"LGTM"': 8,
        '"Same here on 3.12, see the log:\\n```\\nValueError: expected \\"}\\"\\n```"': 6,
        '"日本語でも動く!"': 2,
    }
)
_TITLES: Final = Choices.of(
    {
        "Crash when the file is empty": 6, "Add dark mode": 4, "Docs: wrong default for `timeout`": 5, "Support \\u00fcmlauts in names": 2,
        "Speed up start": 4, "Bump actions/checkout from 3 to 4": 7,
    }
)  # fmt: skip
_LABELS: Final = (
    '{"id":11,"name":"bug","color":"d73a4a","default":true}',
    '{"id":12,"name":"enhancement","color":"a2eeef","default":true}',
    '{"id":13,"name":"good first issue","color":"7057ff","default":true}',
    '{"id":27,"name":"área: io","color":"ededed","default":false,"description":null}',
)
_LABEL_LISTS: Final = Choices.of(
    {"[]": 6, **{f"[{label}]": 1 for label in _LABELS}, f"[{_LABELS[0]},{_LABELS[2]}]": 1, f"[{_LABELS[1]},{_LABELS[3]}]": 1}
)
_LICENCES: Final = Choices.of({"null": 4, '{"key":"mit","spdx_id":"MIT"}': 4, '{"key":"apache-2.0","spdx_id":"Apache-2.0"}': 2})
_REF_TYPES: Final = Choices.of({"branch": 6, "tag": 2, "repository": 2})
_ISSUE_ACTIONS: Final = Choices.of({"opened": 5, "closed": 4, "reopened": 1})
_PULL_STATES: Final = Choices.of({"open": 5, "merged": 4, "closed": 1})
_REVIEWS: Final = Choices.of({"approved": 6, "commented": 5, "changes_requested": 1})
_DESCRIPTIONS: Final = Choices.of({"null": 5, '"Small tools for large files"': 3, '"Учебный проект"': 1, '""': 1})


@dataclass(frozen=True, slots=True, eq=False)
class Deliveries:
    """What the frame of an event already says, for the payload to agree with."""

    draws: Draws
    actors: list[int]
    logins: list[str]
    names: list[str]
    instants: list[str]

    def at(self, rows: Ints) -> Deliveries:
        """The deliveries at these positions."""
        places = rows.tolist()
        return Deliveries(
            self.draws.at(rows),
            [self.actors[place] for place in places],
            [self.logins[place] for place in places],
            [self.names[place] for place in places],
            [self.instants[place] for place in places],
        )

    def users(self) -> list[str]:
        """The one who acted, as payloads show a user."""
        return [_user(login, actor) for login, actor in zip(self.logins, self.actors, strict=True)]


def _shas(draws: Draws, name: str) -> list[str]:
    return [
        f"{high:016x}{middle:016x}{low & 0xFFFFFFFF:08x}"
        for high, middle, low in zip(
            draws.bits(name + " 1").tolist(), draws.bits(name + " 2").tolist(), draws.bits(name + " 3").tolist(), strict=True
        )
    ]


def _user(login: str, number: int) -> str:
    return f'{{"login":"{login}","id":{number},"type":"{"Bot" if login.endswith("]") else "User"}","site_admin":false}}'


def _reactions(likes: int) -> str:
    return f'{{"total_count":{likes + likes // 4},"+1":{likes},"-1":{likes // 4},"heart":0,"rocket":0}}'


def _push(deliveries: Deliveries) -> list[str]:
    draws = deliveries.draws
    counts = draws.codes("commits", _COMMIT_COUNTS)
    heads = _shas(draws, "head")
    commits = [""] * len(draws)
    for place in range(len(_COMMIT_COUNTS.texts) - 1):
        rows = np.flatnonzero(counts > place)
        some = draws.at(rows)
        for row, sha, message, own in zip(
            rows.tolist(),
            _shas(some, f"commit {place}"),
            some.choose(f"message {place}", _MESSAGES),
            some.chance(f"own {place}", 850).tolist(),
            strict=True,
        ):
            login, name = deliveries.logins[row], deliveries.names[row]
            author = (
                f'{{"email":"{login.removesuffix("[bot]")}@example.com","name":"{login}"}}' if own else '{"email":"","name":"web flow"}'
            )
            # The newest commit of a push is its head.
            last = heads[row] if place == counts[row] - 1 else sha
            commits[row] += (
                f',{{"sha":"{last}","author":{author},"message":"{message}","distinct":{"true" if own else "false"},'
                f'"url":"{_API}/{name}/commits/{last}"}}'
            )
    return [
        f'{{"push_id":{push},"size":{count},"distinct_size":{count},"ref":"refs/heads/{branch}","head":"{head}","before":"{before}",'
        f'"commits":[{listed[1:]}]}}'
        for push, count, branch, head, before, listed in zip(
            draws.below("push_id", 1 << 31).tolist(),
            counts.tolist(),
            draws.choose("branch", _BRANCHES),
            heads,
            _shas(draws, "before"),
            commits,
            strict=True,
        )
    ]


def _ref(kind: str, branch: str, number: int) -> str:
    if kind == "repository":
        return "null"
    return f'"v{number // 10}.{number % 10}.0"' if kind == "tag" else f'"{branch}-{number}"'


def _create(deliveries: Deliveries) -> list[str]:
    draws = deliveries.draws
    return [
        f'{{"ref":{_ref(kind, branch, number)},"ref_type":"{kind}","master_branch":"main","description":{description},'
        f'"pusher_type":"user"}}'
        for kind, branch, number, description in zip(
            draws.choose("ref_type", _REF_TYPES),
            draws.choose("branch", _BRANCHES),
            draws.below("ref", 100).tolist(),
            draws.choose("description", _DESCRIPTIONS),
            strict=True,
        )
    ]


def _delete(deliveries: Deliveries) -> list[str]:
    draws = deliveries.draws
    return [
        f'{{"ref":{_ref("branch", branch, number)},"ref_type":"branch","pusher_type":"user"}}'
        for branch, number in zip(draws.choose("branch", _BRANCHES), draws.below("ref", 100).tolist(), strict=True)
    ]


def _watch(deliveries: Deliveries) -> list[str]:
    return ['{"action":"started"}'] * len(deliveries.draws)


def _issue_objects(deliveries: Deliveries, actions: list[str]) -> list[str]:
    draws = deliveries.draws
    issues = []
    for action, user, name, instant, number, title, labels, body, assigned, comments, likes in zip(
        actions,
        deliveries.users(),
        deliveries.names,
        deliveries.instants,
        draws.skewed("number", 9_000).tolist(),
        draws.choose("title", _TITLES),
        draws.choose("labels", _LABEL_LISTS),
        draws.choose("issue body", _BODIES),
        draws.chance("assigned", 250).tolist(),
        draws.skewed("comments", 40).tolist(),
        draws.skewed("likes", 12).tolist(),
        strict=True,
    ):
        state, closed_at = ("closed", f'"{instant}Z"') if action == "closed" else ("open", "null")
        issues.append(
            f'{{"url":"{_API}/{name}/issues/{number}","id":{number + 1_500_000_000},"number":{number},"title":"{title}","user":{user},'
            f'"labels":{labels},"state":"{state}","locked":false,"assignee":{user if assigned else "null"},'
            f'"assignees":[{user if assigned else ""}],"milestone":null,"comments":{comments},"created_at":"{instant}Z",'
            f'"closed_at":{closed_at},"body":{body},"reactions":{_reactions(likes)}}}'
        )
    return issues


def _issues(deliveries: Deliveries) -> list[str]:
    actions = deliveries.draws.choose("action", _ISSUE_ACTIONS)
    return [f'{{"action":"{action}","issue":{issue}}}' for action, issue in zip(actions, _issue_objects(deliveries, actions), strict=True)]


def _issue_comment(deliveries: Deliveries) -> list[str]:
    draws = deliveries.draws
    return [
        f'{{"action":"created","issue":{issue},"comment":{{"id":{number},"user":{user},'
        f'"created_at":"{instant}Z","body":{body},"performed_via_app":null}}}}'
        for issue, number, user, instant, body in zip(
            _issue_objects(deliveries, ["opened"] * len(draws)),
            draws.below("comment", 1 << 30).tolist(),
            deliveries.users(),
            deliveries.instants,
            draws.choose("comment body", _BODIES),
            strict=True,
        )
    ]


def _pull_request(deliveries: Deliveries) -> list[str]:
    draws = deliveries.draws
    texts = []
    for user, name, number, title, body, labels, branch, head, base, merge, state, added, removed in zip(
        deliveries.users(),
        deliveries.names,
        draws.skewed("number", 9_000).tolist(),
        draws.choose("title", _TITLES),
        draws.choose("pull body", _BODIES),
        draws.choose("labels", _LABEL_LISTS),
        draws.choose("branch", _BRANCHES),
        _shas(draws, "head"),
        _shas(draws, "base"),
        _shas(draws, "merge"),
        draws.choose("pull state", _PULL_STATES),
        draws.skewed("additions", 5_000).tolist(),
        draws.skewed("deletions", 2_000).tolist(),
        strict=True,
    ):
        action = "opened" if state == "open" else "closed"
        merged, commit = ("true", f'"{merge}"') if state == "merged" else ("false", "null")
        texts.append(
            f'{{"action":"{action}","number":{number},"pull_request":{{"url":"{_API}/{name}/pulls/{number}",'
            f'"id":{number + 1_700_000_000},"state":"{"open" if action == "opened" else "closed"}","title":"{title}",'
            f'"user":{user},"body":{body},"labels":{labels},"requested_reviewers":[],"draft":false,'
            f'"head":{{"ref":"{branch}","sha":"{head}"}},"base":{{"ref":"main","sha":"{base}"}},"merged":{merged},'
            f'"merge_commit_sha":{commit},"additions":{added},"deletions":{removed},"changed_files":{1 + added % 17}}}}}'
        )
    return texts


def _pull_request_review(deliveries: Deliveries) -> list[str]:
    draws = deliveries.draws
    return [
        f'{{"action":"created","review":{{"user":{user},"body":{body},"commit_id":"{sha}","submitted_at":"{instant}Z",'
        f'"state":"{state}"}},"pull_request":{{"url":"{_API}/{name}/pulls/{number}","number":{number},"state":"open","auto_merge":null}}}}'
        for user, name, instant, number, body, sha, state in zip(
            deliveries.users(),
            deliveries.names,
            deliveries.instants,
            draws.skewed("number", 9_000).tolist(),
            draws.choose("review body", _BODIES),
            _shas(draws, "reviewed"),
            draws.choose("review", _REVIEWS),
            strict=True,
        )
    ]


def _fork(deliveries: Deliveries) -> list[str]:
    draws = deliveries.draws
    return [
        f'{{"forkee":{{"id":{number},"name":"{name.partition("/")[2]}","full_name":"{login}/{name.partition("/")[2]}","private":false,'
        f'"owner":{user},"html_url":"https://example.com/{login}/{name.partition("/")[2]}","description":{description},'
        f'"fork":true,"homepage":null,"size":{size},"stargazers_count":0,"language":null,"license":{licence},"topics":[],'
        f'"default_branch":"main","public":true}}}}'
        for login, user, name, number, description, size, licence in zip(
            deliveries.logins,
            deliveries.users(),
            deliveries.names,
            draws.below("fork", 1 << 30).tolist(),
            draws.choose("description", _DESCRIPTIONS),
            draws.skewed("size", 900_000).tolist(),
            draws.choose("license", _LICENCES),
            strict=True,
        )
    ]


def _release(deliveries: Deliveries) -> list[str]:
    draws = deliveries.draws
    texts = []
    for name, instant, version, body, files, size in zip(
        deliveries.names,
        deliveries.instants,
        draws.below("version", 1000).tolist(),
        draws.choose("release body", _BODIES),
        draws.below("assets", 4).tolist(),
        draws.skewed("size", 90_000_000).tolist(),
        strict=True,
    ):
        tag = f"v{version // 100}.{version // 10 % 10}.{version % 10}"
        assets = ",".join(
            f'{{"name":"app-{tag}-{place}.tar.gz","size":{size >> place},"download_count":{size % (7 + place)}}}' for place in range(files)
        )
        texts.append(
            f'{{"action":"published","release":{{"url":"{_API}/{name}/releases/{version}","tag_name":"{tag}","name":"{tag}","draft":false,'
            f'"prerelease":{"true" if version % 10 == 9 else "false"},"published_at":"{instant}Z","assets":[{assets}],"body":{body}}}}}'
        )
    return texts


def _gollum(deliveries: Deliveries) -> list[str]:
    draws = deliveries.draws
    return [
        f'{{"pages":[{{"page_name":"Home","title":"Home","summary":null,"action":"edited","sha":"{sha}",'
        f'"html_url":"https://example.com/{name}/wiki/Home"}}]}}'
        for name, sha in zip(deliveries.names, _shas(draws, "page"), strict=True)
    ]


def _member(deliveries: Deliveries) -> list[str]:
    numbers = deliveries.draws.below("member", 80_000).tolist()
    return [f'{{"member":{_user(f"guest-{number}", number)},"action":"added"}}' for number in numbers]


SHAPES: Final[dict[str, Callable[[Deliveries], list[str]]]] = {
    "PushEvent": _push,
    "CreateEvent": _create,
    "DeleteEvent": _delete,
    "WatchEvent": _watch,
    "IssuesEvent": _issues,
    "IssueCommentEvent": _issue_comment,
    "PullRequestEvent": _pull_request,
    "PullRequestReviewEvent": _pull_request_review,
    "ForkEvent": _fork,
    "ReleaseEvent": _release,
    "GollumEvent": _gollum,
    "MemberEvent": _member,
}
"""How the payload of each type of event is made."""
