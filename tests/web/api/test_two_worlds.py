"""Two sites that differ only in what is held back answer programs alike: each operation, each object.

The walks with cookies are tests/web/test_two_worlds.py and test_two_worlds_posts.py; here tokens ask.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select, update

from leaderboard import reference
from leaderboard.accounts.ops import device_logins, sessions, tokens
from leaderboard.accounts.ops.tokens import TokenRequest
from leaderboard.core.policy import Scope, viewer_of
from leaderboard.db.tables import Account, ApiToken, Qrels
from leaderboard.judging.api import judging
from leaderboard.qrels.ops import revisions
from leaderboard.runs.ops import partial_uploads
from leaderboard.tasks.api import teams
from leaderboard.web.api import actions
from leaderboard.web.api.operations import PIECE, Operation
from tests.make import twins, walks
from tests.make.twins import World
from tests.web import test_two_worlds as gets
from tests.web import test_two_worlds_posts as posts
from tests.web.api import organising
from tests.web.sent_forms import RUN, RUN_NAMES, WHY
from tests.web.test_two_worlds_posts import Answer, Undoing

pytestmark = pytest.mark.trial
PROGRAMS = (None, "Ann", "Stranger", "Olga")
"""Without a token; of a member with runs of her own, of an account without a team, of another's organiser."""
OBJECTS = {**posts.OBJECTS, "name": (*RUN_NAMES, "open", "draft")}
"""Also the names of collections, one of which only a draft has."""

MADE = re.compile(rb'"(run_id|upload|team|team_id|assessor|announcement|group)":\d+')
HOOK = {"address": "https://hooks.example/", "events": ["run.scored"]}
Asked = tuple[str, dict[str, Any]]
"""A query, and the rest of a request."""


def _json(*bodies: Mapping[str, Any]) -> list[Asked]:
    return [("", {"json": body}) for body in bodies]


def _bodies(*bodies: Mapping[str, Any]) -> list[Asked]:
    """Each of the bodies, one with a field that is unknown, and what is no JSON."""
    return [*_json(*bodies, {"nothing": 1}), ("", {"data": {"why": "x"}})]


def _said(team: int) -> dict[str, str]:
    pairs = {"team": str(team), "name": "new"}.items()
    return {"Upload-Metadata": ",".join(f"{key} {b64encode(text.encode()).decode()}" for key, text in pairs)}


ASKED: dict[str, Sequence[Asked]] = {
    "board": [
        *(("", {}), ("?measure=AP", {}), ("?measure=NumRel&phase=main", {}), ("?measure=nonsense", {})),
        *(("?edition=1", {}), ("?edition=2&measure=AP", {}), ("?edition=9", {}), ("?group=students", {})),
        *(("?one_per_team=true", {}), ("?at=2000-01-01T00:00:00Z", {}), ("?at=9000-01-01T00:00:00Z", {})),
        ("?phase=nothing", {}),
    ],
    "quota": [
        ("", {}),
        *((f"?team={team}{phase}", {}) for team in range(1, 5) for phase in ("", "&phase=main")),
    ],
    "begin_upload": [
        *(("", {"headers": {"Upload-Length": str(len(RUN)), **_said(team)}}) for team in range(1, 5)),
        ("", {}),
    ],
    "append_to_upload": [("", {"headers": {"Upload-Offset": "0"}, "content_type": PIECE, "data": RUN})],
    "send_run": [
        ("?team=1", {"data": RUN}),
        ("?team=1", {"data": b"99 Q0 a 1 1 t\n"}),
        *((f"?team={team}", {"data": RUN}) for team in (2, 3, 4)),
        ("", {"data": RUN}),
    ],
    "check_run": [("", {"data": RUN}), ("", {"data": b"99 Q0 a 1 1 t\n"}), ("?phase=x", {})],
    "describe_run": _bodies(
        {}, {"description": "New."}, {"facts": {"type": "manual"}}, {"facts": {"no": "x"}}
    ),
    "withdraw_run": _bodies(WHY, {}),
    "say_what_a_run_reproduces": _bodies(*({"original": run_id} for run_id in (*range(1, 13), 99))),
    "make_task_webhook": _bodies(HOOK, {"address": "http://10.0.0.1/", "events": ["job.failed"]}),
    "make_team_webhook": _bodies(HOOK, {"address": "https://hooks.example/", "events": ["job.failed"]}),
    "change_webhook": _bodies({"paused": True}, {"paused": False}, {}),
    "choose_run": _bodies({}, {"chosen": False}),
    "upload": [("", {}), ("?wait=-1", {}), ("?wait=x", {})],
    "begin_login": _bodies(
        {"label": "gpu", "scopes": ["read"]},
        {"label": "gpu", "scopes": ["root"]},
        {"label": "gpu", "kind": "agent"},
    ),
    "fetch_token": _bodies({"device_code": "nonsense"}),
    "search": [(f"?q={words}", {}) for words in (*twins.MASKED.values(), "team", "other-a", "own")],
    "fix_upload": _json({"fixes": ["topics"]}),
    "review_upload": _bodies({"accept": True}, {"accept": False, "why": "No."}),
    **organising.ASKED,
}
"""Operation -> what it is asked with, others with nothing."""


@pytest.fixture(scope="module")
def filled(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Undoing, Undoing]]:
    """Two worlds with the same clock, ids and secrets of tokens."""
    for worlds in twins.pair(sqlite_template, tmp_path_factory):
        one, other = (Undoing(world, {name: _token(world, name) for name in PROGRAMS}) for world in worlds)
        assert one.tokens == other.tokens
        yield one, other


def _token(world: World, name: str | None) -> str:
    """A token of the account with every scope, of the same secret in both worlds."""
    if name is None:
        return ""
    body = f"lb_p{name:0<{tokens.RANDOM_CHARACTERS}}"
    secret = body + tokens.checksum(body)
    with world.database.write() as session, pytest.MonkeyPatch.context() as patched:
        patched.setattr(tokens, "made", lambda _: secret)
        account = session.scalars(select(Account).where(Account.name == name)).one()
        owner = viewer_of(session, account.id, account.name, account.is_organiser)
        wanted = TokenRequest(label="test", scopes=tuple(Scope))
        made = tokens.make(session, owner, wanted, factor_needed=False)
        # Used later than now, so that no walk has to note that it is used.
        used = world.moment + timedelta(days=1)
        session.execute(update(ApiToken).where(ApiToken.id == made.id).values(last_used_at=used))
    return secret


@pytest.fixture
def worlds(filled: tuple[Undoing, Undoing], monkeypatch: pytest.MonkeyPatch) -> tuple[Undoing, Undoing]:
    """The two worlds, where chance (codes, a request's number) is the same too."""
    monkeypatch.setattr(device_logins, "secrets", SimpleNamespace(choice=lambda letters: letters[0]))
    monkeypatch.setattr(partial_uploads, "secrets", SimpleNamespace(token_hex=lambda _: "nonsense"))
    monkeypatch.setattr(revisions, "secrets", SimpleNamespace(token_urlsafe=lambda _: "chance"))
    monkeypatch.setattr(sessions, "new_token", lambda: "chance")
    walks.hold_still(monkeypatch)
    twins.note_at_one_moment(monkeypatch)
    monkeypatch.setattr(tokens, "token_viewer", walks.remembered(tokens.token_viewer))
    return filled


def _ask(world: Undoing, name: str | None, environ: Mapping[str, Any]) -> Answer:
    """What a program is answered."""
    token = world.tokens[name]
    return walks.answered(
        world.world.app, {**environ, "HTTP_AUTHORIZATION": f"Bearer {token}"} if token else environ
    )


def _walk(
    world: Undoing, only: str = "", name: str | None = walks.ORGANISING, of_each: int = 99
) -> Iterator[tuple[Operation, str, dict[str, Any]]]:
    """Every operation of every object, with all that it is asked with; of_each: of what reads, so many."""
    app = world.world.app
    for rule in app.url_map.iter_rules():
        one: Operation | None = getattr(app.view_functions[rule.endpoint], "operation", None)
        if one is None or only not in ("", one.name):
            continue
        for path in walks.asked_of(app, rule, name, OBJECTS):
            asked = ASKED.get(one.name, [("", {})])
            asked = asked[:of_each] if one.method == "GET" else asked
            # Names of runs matter to whose run is taken; the rest is told apart with one that is free.
            for query, given in asked if one.name != "send_run" or path.endswith("/new") else asked[:1]:
                yield one, path + query, given


def _differences(
    worlds: tuple[Undoing, Undoing], name: str | None, only: str = ""
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """What is answered, or changes something, in one world otherwise than in the other.

    Who has no rights in these tasks that a visitor has not reads each object in one way. What refused
    somebody twice refuses whatever else is sent: who may do something is decided before that is read.
    """
    of_each = 99 if name in (None, "Ann") else 1
    refused: dict[str, int] = {}
    for operation, address, given in _walk(worlds[0], only, name, of_each):
        place = f"{operation.name} {address.partition('?')[0]}"
        if refused.get(place) == 2:
            continue
        sent = walks.written(operation.method, address, **given)
        answers = [_comparable(operation, _ask(world, name, sent)) for world in worlds]
        changed = [world.undo() for world in worlds]
        if answers[0] != answers[1] or changed[0] != changed[1]:
            yield operation.name, address, given
        # One that answered once is asked everything.
        before = refused.get(place, 0)
        refused[place] = before + 1 if answers[0][0] in posts.REFUSED and before >= 0 else -1


def _comparable(operation: Operation, answer: Answer) -> Answer:
    """The answer; of what was made without the ids that it got: they count all the site ever held."""
    status, headers, body = answer
    # A second may lie between two answers, and less is left of the day.
    headers = [(key, re.sub(r";t=\d+", ";t=N", value)) for key, value in headers]
    answer = status, headers, body
    is_kept = status < 300 or b'"upload":' in body
    # The two worlds are asked one after the other: what ends in a day ends at two moments.
    body = re.sub(rb'"expires_at":"[^"]*"', b'"expires_at":"..."', body)
    if operation.method == "GET" or not is_kept:
        return answer
    if operation.name == "test_webhook":
        body = re.sub(rb'"created_at":"[^"]*"', b"", body)
    shown = [(key, re.sub(r"/uploads/\d+", "/uploads/N", value)) for key, value in headers]
    kept = [(key, value) for key, value in shown if key not in (*posts.MADE_OF_IT, "Upload-Expires")]
    return status, kept, MADE.sub(rb'"\1":N', body)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_operation_tells_what_is_held_back(worlds: tuple[Undoing, Undoing], name: str | None) -> None:
    """Without a token and with those of three accounts: the same bytes, headers and effect."""
    assert list(_differences(worlds, name)) == []


def test_the_walk_reaches_what_it_asks_for(worlds: tuple[Undoing, Undoing]) -> None:
    """Every operation is in it, and each but the device's poll succeeds for some object and account.

    That those of organisers, teams and assessors succeed is shown by test_season.py and test_teams.py, that
    those of suites do by test_suites.py.
    """
    one, _ = worlds
    with one.world.app.app_context():
        table = {operation.name: operation.act.__module__ for operation in reference.operations()}
    assert set(ASKED) <= set(table)
    elsewhere = ("leaderboard.suites", *(module.__name__ for module in (actions, teams, judging)))
    waiting = {name for name, module in table.items() if not module.startswith(elsewhere)}
    waiting -= organising.ORGANISED
    for name in ("Ann", "Olga"):
        for operation, address, given in _walk(one):
            if operation.name in waiting:
                status, _, _ = _ask(one, name, walks.written(operation.method, address, **given))
                one.undo()
                waiting -= {operation.name} if status < 300 else set()
    # Nothing was withdrawn, so nothing is restored; no file is kept that was rejected, so none is fixed.
    # No file is being sent in pieces but in test_partial_uploads.py.
    waiting -= {"partial_upload", "append_to_upload", "drop_upload"}
    of_pools = {"show_pool", "pool_documents", "pool_file"}  # Of the task that one organises there is none.
    # The only task with several lines of answers is blind; tests/answers/web/nuggets/test_lines.py shows one.
    assert waiting <= {"restore_run", "fetch_token", "fix_upload", "show_line", *of_pools}


def test_the_line_of_each_world_is_asked_for(worlds: tuple[Undoing, Undoing]) -> None:
    """Another line of answers, which each world calls otherwise, under a number that the walk tries."""
    lines = select(Qrels.name, Qrels.id).where(Qrels.kind == "answers", Qrels.name.startswith("known to"))
    found = []
    for one in worlds:
        with one.world.database.read() as session:
            ((name, line_id),) = session.execute(lines).all()
        found.append(name)
        assert line_id in OBJECTS["line_id"]
    assert found == ["known to a", "known to b"]


LEAKS: dict[str, tuple[str, str, Callable[[pytest.MonkeyPatch], None]]] = {
    "means over all topics": ("Ann", "board", gets.LEAKS["means over all topics"]),
    "runs of other teams": ("Stranger", "run", gets.LEAKS["runs of other teams"]),
    "drafts of others": ("Stranger", "tasks", gets.LEAKS["drafts of others"]),
    "a team named in a refusal": ("Stranger", "withdraw_run", posts.LEAKS["a team named in a refusal"][2]),
    "teams listed by the upload": ("Ann", "send_run", posts.LEAKS["teams listed by the upload"][2]),
    "the name of a hidden run": ("Ann", "send_run", posts.LEAKS["the name of a hidden run"][2]),
}
"""Leak -> which program meets it, at which operation, and how it is planted."""


@pytest.mark.parametrize("leak", LEAKS)
def test_planted_leaks_are_found(
    worlds: tuple[Undoing, Undoing], monkeypatch: pytest.MonkeyPatch, leak: str
) -> None:
    """Each of these leaks makes the two worlds differ, so the walk would have caught it."""
    name, only, plant = LEAKS[leak]
    plant(monkeypatch)
    assert next(_differences(worlds, name, only), None) is not None
    for world in worlds:
        world.undo()
