"""Two sites that differ only in what is held back answer the same to everybody it is held back from.

After the two-worlds test of information flow (non-interference; Goguen and Meseguer 1982): whatever a
visitor or another team's member can ask for, byte for byte, header for header.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from flask import Flask, Response
from sqlalchemy import select

from leaderboard.boards.ops import board
from leaderboard.boards.ops import rows as board_rows
from leaderboard.boards.page import leaders
from leaderboard.core import phase_rules, policy, shown_names
from leaderboard.core.jobs import queue
from leaderboard.db.tables import QrelsRevision
from leaderboard.scoring.ops.evaluations import shown as shown_editions
from leaderboard.web import http
from leaderboard.web.http import PRINTED
from leaderboard.web.session import API, reading
from tests.make import twins, walks
from tests.make.twins import World

pytestmark = pytest.mark.trial
VIEWERS = (None, "Ann", "Stranger", "Olga")
"""A visitor, a team's member with runs of her own, an account without a team, another task's organiser."""

STATE = "?measure=Judged@10&edition=1&all&phase=main"
BOARD_STATES = (
    *("?measure=recip_rank", "?measure=AP", "?measure=NumRel", "?measure=Judged@10", "?measure=nonsense"),
    *("?edition=1", "?edition=2&measure=AP", "?edition=9", "?all"),
    *("?one=team", "?group=students", "?run=1&reference=2&ranges", "?topics=1", "?topics=1+77&measure=AP"),
    *("?at=2000-01-01", "?at=9000-01-01", "?at=nonsense", f"?at={datetime.now(UTC):%Y-%m-%d}"),
)
PAIRS = (
    "?a=1&b=2",
    "?a=1&b=2&measure=AP&topic=1",
    "?a=1&b=2&margin=0.05",
    "?run=1&run=2&run=3",
    "?order=topics&measure=AP&q=o&team=Owls",
    "?first=one&second=two",
    "?run=1&run=2&measure=RR&baseline=1",
)
ORDERS = ("?x=AP&y=RR", "?standardised=normal")
CURVES = ("?run=1&run=2", "?run=1&kind=roc&whole&topic=1", "?kind=gain&depth=10", "?kind=precision&topic=77")
RUN_STATES = ("?sort=rank&all&ties&all_trec&drawn", "?table=field&measure=AP")
TOPIC_STATES = ("?measure=AP&sort=-median", "?sort=grade2", "?documents=missed&all", "?measure=Judged@10")
HEAT_STATES = (
    *("?measure=AP", "?measure=Judged@10", "?show=difference&rows=similarity&columns=difficulty"),
    *("?topic=1&run=1", "?topic=77"),
)
COSTS = ("?cost=latency_ms&measure=AP&sort=score", "?measure=Judged@10", "?cost=nothing")
SEARCHES = tuple(
    f"?q={words}&all" for words in (*twins.MASKED.values(), "team", "other", "other-a", "own", "both", "d1")
)
AGAIN = ("?as=1", "?as=2", "?as=4", "?again=1", "?again=2", "?again=4")
FIGURES = {
    "boards.board": "differences",
    "topics.index": "difficulty",
    "topics.show": "scores",
    "runs.show": "topics",
    "run_sections.topics": "topics",
    "run_sections.curves": "gain-by-rank",
    "rankings.show": "relevant",
    "curves.show": "curves",
    "comparisons.compare": "scatter&a=1&b=2",
    "efficiency.show": "front",
}
HTML_STATES = 1
"""Of a page that is given as JSON too; test_two_worlds_names.py, where readers see masks, asks for all."""
REFUSALS = (303, 401, 403, 404)
"""Answers to who may not see: of a visitor, 303 to the page for signing in."""
AS_JSON = {"Accept": "application/json"}
SAID_ALIKE = (200, 301, 401, 403, 404)
"""A page has nothing to do with JSON, and these refusals are one sentence in either form."""
DOCUMENTS = ("d00", "d05", "d13", "only-a", "only-b", "nowhere")


@pytest.fixture(scope="module")
def filled(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, World]]:
    """Two worlds with the same clock and ids, built once."""
    yield from twins.pair(sqlite_template, tmp_path_factory)


@pytest.fixture
def worlds(filled: tuple[World, World], monkeypatch: pytest.MonkeyPatch) -> tuple[World, World]:
    """The two worlds, where chance (the upload form's key, a request's number) is the same too."""
    walks.hold_still(monkeypatch)
    twins.note_at_one_moment(monkeypatch)
    return filled


def _addresses(app: Flask) -> list[str]:
    """Every GET rule with every object, alone and with the parameters it may listen to."""
    return [path + state for path, states in _walk(app) for state in states]


def _walk(
    app: Flask, objects: Mapping[str, Sequence[object]] = walks.VALUES, name: str | None = walks.ORGANISING
) -> list[tuple[str, tuple[str, ...]]]:
    """Every path with its states: the parameters of each; the first is none, the second all common ones.

    A page that is also given as JSON is asked for as that in all its states: both are of one record.
    """
    walk = []
    written = {rule.rule for rule in app.url_map.iter_rules()}
    for rule in app.url_map.bind("localhost").map.iter_rules():
        if "GET" not in (rule.methods or ()):
            continue
        states: tuple[str, ...] = ("", STATE)
        if rule.endpoint.startswith("boards."):
            states = ("", STATE, *BOARD_STATES)
        if rule.endpoint == "tasks.index":
            states = ("", STATE, "?page=1", "?page=2")
        if rule.endpoint.startswith("search."):
            states = ("", STATE, *SEARCHES)
        if "compar" in rule.endpoint:
            states = ("", STATE, *PAIRS)
        if "order" in rule.endpoint or "interval" in rule.endpoint:
            states = ("", STATE, *ORDERS)
        if rule.endpoint.startswith("run"):
            states = ("", STATE, *RUN_STATES)
        if rule.endpoint.startswith("topics."):
            states = ("", STATE, *TOPIC_STATES)
        if rule.endpoint.startswith("heat_maps."):
            states = ("", STATE, *HEAT_STATES)
        if rule.endpoint.startswith("efficiency."):
            states = ("", STATE, *COSTS)
        if rule.endpoint.startswith("pool"):
            states = ("", STATE, "?method=rrf&step=preview", "?depth=3&table=runs")
        if rule.endpoint.startswith(("agreement.", "adjudication.", "settled.")):
            states = ("", STATE, "?topic=1&docno=d01", "?whose=all&boards", "?rule=max&columns=both")
        if rule.endpoint.startswith("revisions."):
            states = ("", STATE, "?of=topics")
        if rule.endpoint == "uploads.form":
            states = ("", STATE, *AGAIN)
        if rule.endpoint.startswith("curves."):
            states = ("", STATE, *CURVES)
        if rule.endpoint.startswith("rankings.document"):
            asked = product(("", "&topic=1", "&topic=4", "&topic=77"), DOCUMENTS)
            several = (f"?docno={'&docno='.join(DOCUMENTS)}&topic={topic}" for topic in ("1", "4", "77"))
            states = ("", *(f"?docno={docno}{topic}" for topic, docno in asked), *several)
        if rule.endpoint == "frames.show":
            states = ("", STATE, "?measure=AP&rows=1", "?rows=nonsense")
        if rule.endpoint == "run_outward.hub_results":
            states = ("", "?dataset=o/n&task=t", "?dataset=o/n&task=t&measure=AP")
        if f"{rule.rule}.<form:form>" in written:
            states = states[:HTML_STATES]
        if rule.endpoint in FIGURES:
            states = (*states, f"?figure={FIGURES[rule.endpoint]}")
        walk += [(path, _of_form(path, states)) for path in walks.asked_of(app, rule, name, objects)]
    return walk


def _of_form(path: str, states: tuple[str, ...]) -> tuple[str, ...]:
    """All states of a page and of its JSON; the other forms are the same table: one is asked for in each."""
    of_form = {".csv": states[:1], ".tex": states[1:2], ".md": states[:1]}
    return of_form.get(path[path.rfind(".") :], states)


def _differences(
    worlds: tuple[World, World],
    name: str | None,
    of_each: int = 99,
    objects: Mapping[str, Sequence[object]] = walks.VALUES,
    *,
    other_ways: bool = False,
) -> Iterator[str]:
    """The addresses that answer differently in the two worlds.

    What refuses to answer at all, without parameters and with the common ones, is asked with no others:
    a page decides who may see its subject before it reads them. Documents are named by a parameter, so all
    of them are asked for before. Nor is a table that is refused as JSON asked for in its other forms, which
    are written of the same record; as LaTeX and Markdown only the member asks for it. The API, to which
    cookies mean nothing, is asked by the visitor alone.
    Other ways to ask are HEAD, and for JSON what says more in it than in a page: errors with a list of
    problems, and the way to the sign-in page.
    """
    one, other = (walks.asking(world.browser(name)) for world in worlds)
    closed: set[str] = set()
    for path, states in _walk(worlds[0].app, objects, name):
        refused = 0
        table, _, form = path.rpartition(".")
        is_written = form in ("csv", "tex", "md")
        if (is_written and table in closed) or (form in PRINTED and name != "Ann"):
            continue
        if name is not None and path.startswith(f"{API}/"):
            continue
        for number, state in enumerate(states[:of_each]):
            if number == refused == (1 + len(DOCUMENTS) if "?docno=" in state else 2):
                break
            address = path + state
            answer = one(address)
            refused += answer[0] in REFUSALS
            if answer != other(address):
                yield address
            if other_ways and number == 0 and other(address, "HEAD") != (*answer[:2], b""):
                yield f"HEAD {address}"
            says_more = other_ways and number < 2 and answer[0] not in SAID_ALIKE
            if says_more and one(address, headers=AS_JSON) != other(address, headers=AS_JSON):
                yield f"{address} as JSON"
        if form == "json" and refused == min(2, len(states), of_each):
            closed.add(table)


@pytest.mark.parametrize("name", VIEWERS)
def test_nothing_that_is_held_back_shows(worlds: tuple[World, World], name: str | None) -> None:
    """Visitor, member, stranger and another task's organiser get the same bytes and headers.

    The member also by HEAD, whose headers are those of GET, and as errors in JSON, which say more than pages.
    The other two have no rights in these tasks that a visitor has not: they ask for each page in one state.
    """
    of_each = 99 if name in (None, "Ann") else 1
    assert list(_differences(worlds, name, of_each, other_ways=name == "Ann")) == []


def test_an_entity_tag_of_one_world_fits_the_other(worlds: tuple[World, World]) -> None:
    """Asking with the tag of the other world's answer is answered as with one's own: nothing changed."""
    one, other = (world.browser(None) for world in worlds)
    for address in ("/", "/tasks/blind", "/tasks/blind.json", "/tasks/sealed.csv", "/tasks/blind/topics/1"):
        tag = one.get(address).headers["ETag"]
        assert other.get(address, headers={"If-None-Match": tag}).status_code == 304, address


def test_the_walk_reaches_what_is_shown(worlds: tuple[World, World]) -> None:
    """The walk is worth something: every rule is in it, and most of what it asks for is answered."""
    app = worlds[0].app
    adapter = app.url_map.bind("localhost")
    addresses = _addresses(app)
    walked = {adapter.match(address.partition("?")[0])[0] for address in addresses}
    assert walked == {rule.endpoint for rule in app.url_map.iter_rules() if "GET" in (rule.methods or ())}
    client = worlds[0].browser("Ann")
    answered = {
        walks.facts(client.get(address))[0] for address in ("/tasks/blind", "/tasks/sealed", "/runs/1")
    }
    assert answered == {200}
    rows = client.get("/tasks/blind.json").get_json()["rows"]
    assert [row["rank"] for row in rows] == [1, 2]


def test_the_worlds_do_differ(worlds: tuple[World, World]) -> None:
    """What is held back is really different: once the tasks are open, so are their answers."""
    operators = []
    for world in worlds:
        with world.database.read() as session:
            shown = (board.board(session, policy.OPERATOR, slug) for slug in ("blind", "sealed"))
            operators.append([[row.scores for row in each.rows] for each in shown])
    blind, sealed = zip(*operators, strict=True)
    assert blind[0] != blind[1]
    assert sealed[0] != sealed[1]


Patch = Callable[[pytest.MonkeyPatch], None]


def _wider_access(**changes: Any) -> Patch:
    real = policy.access

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(policy, "access", lambda *given: replace(real(*given), **changes))

    return plant


def _everybodys_team(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "owns", lambda *_: True)


def _drafts_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "organises", lambda *_: True)


def _digest_of_judgments(monkeypatch: pytest.MonkeyPatch) -> None:
    real = shown_editions.basis_of

    def with_digest(edition: Any, revision: QrelsRevision, *rest: Any, **named: Any) -> shown_editions.Basis:
        basis = real(edition, revision, *rest, **named)
        return replace(basis, revision_note=revision.sha256, revision=revision.judgments)

    monkeypatch.setattr(shown_editions, "basis_of", with_digest)


def _rows_in_hidden_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The right numbers in the order of what is held back."""
    real = board_rows.read_rows

    def ordered(session: Any, viewer: Any, task: Any, access: Any, edition: Any, *rest: Any) -> Any:
        rows = real(session, viewer, task, access, edition, *rest)
        hidden = shown_editions.means(session, edition, policy.ALL_TOPICS) if edition else {}
        return sorted(rows, key=lambda row: -hidden.get(row.run_id, {}).get("AP", 0.0))

    monkeypatch.setattr(board, "read_rows", ordered)
    monkeypatch.setattr(board, "rank", lambda rows, _: tuple(rows))


def _leader_of_every_task(monkeypatch: pytest.MonkeyPatch) -> None:
    real = leaders.leaders

    def of_all(session: Any, viewer: Any, *_: Any) -> Any:
        rules = phase_rules.rules_of_all(session)
        phases = {task_id: phase_rules.newest(session, of_task) for task_id, of_task in rules.items()}
        return real(session, viewer, phases, leaders.bases(session, phases))

    monkeypatch.setattr(leaders, "leaders", of_all)


def _tag_of_hidden_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entity tag made of when or what was stored, not of the bytes shown."""
    real = http._kept

    def tagged(response: Response) -> Response:
        digests = reading().scalars(select(QrelsRevision.sha256).order_by(QrelsRevision.id)).all()
        response = real(response)
        response.set_etag(hashlib.sha256("".join(digests).encode()).hexdigest())
        return response

    monkeypatch.setattr(http, "_kept", tagged)


def _states_of_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A header that counts runs nobody may know of."""
    real = http.page

    def counted(html: str) -> Response:
        response = real(html)
        response.headers["X-Runs"] = str(len(queue.run_states(reading(), range(1, 99))))
        return response

    monkeypatch.setattr(http, "page", counted)


def _true_names(monkeypatch: pytest.MonkeyPatch) -> None:
    real = shown_names.shown_teams
    monkeypatch.setattr(
        shown_names, "shown_teams", lambda session, _, task: real(session, policy.OPERATOR, task)
    )


LEAKS: dict[str, Patch] = {
    "details": _wider_access(details=True),
    "means of sealed tasks": _wider_access(means=True, topic_set=policy.ALL_TOPICS),
    "means over all topics": _wider_access(topic_set=policy.ALL_TOPICS),
    "runs of other teams": _everybodys_team,
    "drafts of others": _drafts_for_all,
    "digest of the judgments": _digest_of_judgments,
    "order of rows": _rows_in_hidden_order,
    "leader of a blind task": _leader_of_every_task,
    "entity tag": _tag_of_hidden_state,
    "a count in a header": _states_of_all_runs,
    "a pseudonym undone": _true_names,
}


@pytest.mark.parametrize("leak", LEAKS)
def test_planted_leaks_are_found(
    worlds: tuple[World, World], monkeypatch: pytest.MonkeyPatch, leak: str
) -> None:
    """Each of these leaks makes the two worlds differ, so the walk would have caught it."""
    LEAKS[leak](monkeypatch)
    assert next(_differences(worlds, "Ann"), None) is not None
