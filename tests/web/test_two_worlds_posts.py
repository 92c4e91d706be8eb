"""Two sites that differ only in what is held back answer every form the same to whom it is held back from.

Each form is sent to both worlds as they were built: what one changes is undone before the next. Names of
teams and accounts are a list of the site's own, in which a name that is taken is refused: forms that make one
name none that only one of the worlds has.
"""

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import sessions
from leaderboard.core import policy
from leaderboard.db.tables import Collection, Run, Task, Team
from leaderboard.errors import Forbidden, NotFound
from leaderboard.runs.ops import limits, partial_uploads
from leaderboard.runs.ops import uploads as runs
from leaderboard.scoring.ops import collections
from leaderboard.web.session import API, reading
from tests.make import twins, walks
from tests.make.people import PASSWORD
from tests.make.twins import AsBuilt, World
from tests.web.sent_forms import FORMS, WHY, Form, run_form, task_form

pytestmark = pytest.mark.trial
VIEWERS = (None, "Ann", "Stranger", "Olga")
"""A visitor, a team's member with runs of her own, an account without a team, another task's organiser."""

Answer = tuple[int, list[tuple[str, str]], bytes]
"""Status, headers and body."""
JSON = "application/json"
REFUSED = (401, 403, 404)
"""Refusals that are one sentence, in JSON as on a page."""
OBJECTS = {**walks.VALUES, "slug": (*walks.VALUES["slug"], "olgas")}
"""What addresses are filled with: also the task that one of the viewers organises."""


@dataclass
class Undoing:
    """A world whose every change can be taken back."""

    world: World
    tokens: dict[str | None, str]

    def __post_init__(self) -> None:
        self._as_built = AsBuilt(self.world.database)

    def post(self, name: str | None, address: str, form: Form, accept: str = "text/html") -> Answer:
        """What a form is answered with."""
        return self.answer(name, filled_in(address, form, accept))

    def answer(self, name: str | None, environ: Mapping[str, Any]) -> Answer:
        """What a browser is answered that is signed in under that name."""
        token = self.tokens[name]
        return walks.answered(
            self.world.app, {**environ, "HTTP_COOKIE": f"session={token}"} if token else environ
        )

    def undo(self) -> bool:
        """Make the world what it was; whether anything was to be undone."""
        return self._as_built.undo()


def filled_in(address: str, form: Form, accept: str = "text/html") -> dict[str, Any]:
    """A form as a browser sends it from a page of the site."""
    data = {
        key: (io.BytesIO(value[0]), value[1]) if isinstance(value, tuple) else value
        for key, value in form.items()
    }
    headers = {"Accept": accept, "Sec-Fetch-Site": "same-origin"}
    return walks.written("POST", address, data=data, headers=headers)


@pytest.fixture(scope="module")
def filled(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Undoing, Undoing]]:
    """Two worlds with the same clock and ids, in which everybody has signed in."""
    for worlds in twins.pair(sqlite_template, tmp_path_factory):
        one, other = (Undoing(world, {name: _token(world, name) for name in VIEWERS}) for world in worlds)
        yield one, other


def _token(world: World, name: str | None) -> str:
    cookie = world.browser(name).get_cookie("session")
    return cookie.value if cookie else ""


@pytest.fixture
def worlds(filled: tuple[Undoing, Undoing], monkeypatch: pytest.MonkeyPatch) -> tuple[Undoing, Undoing]:
    """The two worlds, where chance (keys and tokens) is the same too."""
    walks.hold_still(monkeypatch)
    monkeypatch.setattr(partial_uploads, "secrets", SimpleNamespace(token_hex=lambda _: "nonsense"))
    monkeypatch.setattr(sessions, "new_token", lambda: "chance")
    return filled


def _posts(
    app: Flask,
    only: str = "",
    objects: Mapping[str, Sequence[object]] = OBJECTS,
    name: str | None = walks.ORGANISING,
) -> Iterator[tuple[str, Form]]:
    """Every address that takes a form, with what it is sent."""
    for rule in app.url_map.iter_rules():
        if "POST" not in (rule.methods or ()) or not rule.endpoint.startswith(only):
            continue
        for path in walks.asked_of(app, rule, name, objects):
            for query, form in FORMS.get(rule.endpoint, [("", {})]):
                yield path + query, form


def _differences(
    worlds: tuple[Undoing, Undoing],
    name: str | None,
    only: str = "",
    objects: Mapping[str, Sequence[object]] = OBJECTS,
    *,
    in_json: bool = False,
) -> Iterator[str]:
    """The forms that are answered differently in the two worlds; in JSON too, where that says more."""
    one, other = worlds
    for address, form in _posts(one.world.app, only, objects, name):
        # Cookies mean nothing to the API; its walk is in tests/web/api.
        if address.startswith(f"{API}/"):
            continue
        for accept in ("text/html", JSON) if in_json else ("text/html",):
            sent = filled_in(address, form, accept)
            answers = [_comparable(world.answer(name, sent)) for world in worlds]
            changed = one.undo(), other.undo()
            if answers[0] != answers[1] or changed[0] != changed[1]:
                yield f"{address} {dict(form)} {accept}"
            if answers[0][0] in REFUSED:
                break


MADE_OF_IT = ("Content-Length", "ETag")
"""Headers that change with the body."""


def _comparable(answer: Answer) -> Answer:
    """The answer without the ids of what was made: they count everything the site ever held."""
    status, headers, body = answer
    if status >= 400 and b'"upload":' not in body:
        return answer
    shown = [(key, _unnumbered(value)) for key, value in headers if key not in MADE_OF_IT]
    return status, shown, _unnumbered(body.decode()).encode()


def _unnumbered(text: str) -> str:
    """Without ids of what was made, and the moments of what was made just now: a second lies between."""
    text = re.sub(r'<time [^>]*>[^<]*</time>|"created_at":"[^"]*"', "<time>", text)
    return re.sub(
        r'(/(?:runs|uploads|teams|batches|invitations)/|revoke-|"(?:run|run_id|upload|batch)":)\d+',
        r"\1N",
        text,
    )


@pytest.mark.parametrize("name", VIEWERS)
def test_no_form_tells_what_is_held_back(worlds: tuple[Undoing, Undoing], name: str | None) -> None:
    """Visitor, member, stranger and another task's organiser get the same bytes and headers.

    So do scripts, which ask for JSON, for the member and the organiser.
    """
    assert list(_differences(worlds, name, in_json=name in ("Ann", "Olga"))) == []


def test_the_forms_reach_what_they_change(worlds: tuple[Undoing, Undoing]) -> None:
    """The walk is worth something: every endpoint named here exists, and good forms do what they ask for."""
    one, _ = worlds
    endpoints = {
        rule.endpoint for rule in one.world.app.url_map.iter_rules() if "POST" in (rule.methods or ())
    }
    assert set(FORMS) <= endpoints
    good: list[tuple[str | None, str, Form]] = [
        ("Ann", "/tasks/sealed/submit", run_form("other-a")),
        ("Ann", "/runs/1/withdraw", WHY),
        ("Ann", "/runs/1/facts", {"type": "manual"}),
        ("Ann", "/runs/1/mark", {}),
        ("Olga", "/tasks/new", task_form("draft")),
        ("Olga", "/tasks/new", task_form("mine", collection="blind")),
        ("Olga", "/tasks/olgas/settings/address", {"slug": "draft"}),
        ("Olga", "/tasks/olgas/clone", {"slug": "draft", "name": "A clone"}),
        ("Olga", "/tasks/olgas/people", {"account": "Zed", "role": "reader"}),
        ("Stranger", "/teams", {"name": "Some team"}),
        (None, "/sign-up", {"name": "Somebody", "password": PASSWORD}),
    ]
    for name, address, form in good:
        assert one.post(name, address, form)[0] in (200, 303), address
        assert one.undo(), address
    assert not one.undo()


Patch = Callable[[pytest.MonkeyPatch], None]


def _team_named_in_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def require_member(viewer: policy.Viewer, team_id: int) -> None:
        if not policy.owns(viewer, team_id):
            raise Forbidden(f"You are not in team {reading().get_one(Team, team_id).name}.")

    monkeypatch.setattr(policy, "require_member", require_member)


def _teams_listed_by_the_upload(monkeypatch: pytest.MonkeyPatch) -> None:
    def team(session: Session, viewer: policy.Viewer, team_id: int, any_team: bool) -> Team:
        found = session.get(Team, team_id)
        if found is None:
            raise NotFound(f"You are not in team {team_id}.")
        if not policy.owns(viewer, team_id):
            raise Forbidden("You are not in this team.")
        return found

    monkeypatch.setattr(limits, "_own_team", team)


def _hidden_run_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def name_for(session: Session, task: Task, _: int, name: str) -> tuple[str, str | None]:
        return name, session.scalar(select(Run.name).where(Run.task_id == task.id, Run.name == name))

    monkeypatch.setattr(runs, "_name_for", name_for)


def _any_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    def named(session: Session, _: policy.Viewer, name: str) -> Collection:
        found = session.scalar(select(Collection).where(Collection.name == name))
        if found is None:
            raise NotFound(f"There is no collection {name!r}.")
        return collections.by_id(session, found.id)

    monkeypatch.setattr(collections, "named", named)


def _slugs_of_all_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    def known(session: Session, _: policy.Viewer, slug: str) -> list[Task]:
        return list(session.scalars(select(Task).where(Task.slug == slug)))

    monkeypatch.setattr(policy, "known_tasks", known)


LEAKS: dict[str, tuple[str, str, Patch]] = {
    "a team named in a refusal": ("Stranger", "uploads.withdraw_run", _team_named_in_a_refusal),
    "teams listed by the upload": ("Ann", "uploads.send_run", _teams_listed_by_the_upload),
    "the name of a hidden run": ("Ann", "uploads.send_run", _hidden_run_named),
    "the collection of a draft": ("Olga", "organise.make_task", _any_collection),
    "the slug of a draft": ("Olga", "organise.make_task", _slugs_of_all_drafts),
}
"""Leak -> who meets it, at which endpoint, and how it is planted."""


@pytest.mark.parametrize("leak", LEAKS)
def test_planted_leaks_are_found(
    worlds: tuple[Undoing, Undoing], monkeypatch: pytest.MonkeyPatch, leak: str
) -> None:
    """Each of these leaks makes the two worlds differ, so the forms would have caught it."""
    name, only, plant = LEAKS[leak]
    plant(monkeypatch)
    assert next(_differences(worlds, name, only), None) is not None
