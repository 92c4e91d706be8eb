"""Query logs of a task: import, hashed users, preferences both ways, and the revision they make."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sqlalchemy import select

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Audit, ClickLog, Qrels, QrelsRevision, Task
from leaderboard.errors import Conflict, Forbidden, Invalid, NotFound
from leaderboard.judging.ops import clicks as clicks_services
from leaderboard.judging.ops.clicks import FoundPreferences, ImportedLog
from leaderboard.judging.page import clicks
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import Judged, Judgments
from leaderboard.trec.clicks.sessions import unpack_sessions
from leaderboard.trec.qrels.preferences import preferences_of, read_preferences
from tests.make import build, people

Shown = Sequence[tuple[str, str, Sequence[str], Sequence[int]]]
AB = ("a", "b")
TEN: Shown = [
    *[("u1", "1", AB, (0, 1))] * 4,
    *[(f"v{each}", "title of 1", AB, (0, 1)) for each in range(4)],
    *[(f"w{each}", "1", ("b", "a"), (0, 1)) for each in range(2)],
]
"""Eight sessions of five users prefer b to a, two of two users a to b."""


def add(
    database: Database, folder: Path, shown: Shown, slug: str = "t", *, users: bool = True
) -> ImportedLog:
    """Import a log of sessions."""
    with database.write() as session:
        rules = clicks_services.rules_for(session, OPERATOR, slug)
    path = build.click_log(folder, shown)
    prepared = clicks_services.prepare_import(path, path.name, rules, keep_users=users)
    with database.write() as session:
        return clicks_services.add_import(session, OPERATOR, slug, prepared)


def found(database: Database, slug: str = "t", **asked: str) -> FoundPreferences:
    """The preferences of a choice."""
    logs = asked.pop("logs", "").split()
    wanted = clicks_services.preference_choice(**asked, logs=logs)
    with database.read() as session:
        return clicks_services.find_preference(session, OPERATOR, slug, wanted)


def told(each: FoundPreferences) -> list[tuple[str, str, int, int]]:
    """Better, worse, count and opposite count."""
    return [(one.better, one.worse, one.count, one.against) for one in each.preferences]


def test_an_import_says_what_it_found(database: Database, tmp_path: Path) -> None:
    """Sessions on topics by id and by title; a query of none is listed with its rows."""
    build.task(database, tmp_path)
    done = add(database, tmp_path, [*TEN, ("u1", "nothing", AB, (1, 0))])
    assert (done.number, done.sessions, done.topics, done.users) == (1, 10, 1, 7)
    assert (done.rows, done.unknown_rows, done.unknown) == (22, 2, {"nothing": 2})
    with database.read() as session:
        (row,) = clicks.logs(session, OPERATOR, "t")
    assert (row.log.sessions, row.unknown, row.unknown_rows) == (10, {"nothing": 2}, 2)


def test_preferences_are_counted_both_ways_and_tested(database: Database, tmp_path: Path) -> None:
    """Eight against two by session, five against two by user; p is the exact binomial's."""
    build.task(database, tmp_path)
    add(database, tmp_path, TEN)
    by_session = found(database)
    assert told(by_session) == [("b", "a", 8, 2)]
    assert by_session.preferences[0].p == pytest.approx(stats.binomtest(2, 10).pvalue)
    assert told(found(database, count="users")) == [("b", "a", 5, 2)]
    assert told(found(database, keep="both", least="2")) == [("b", "a", 8, 2), ("a", "b", 2, 8)]
    assert told(found(database, least="9")) == []
    assert told(found(database, p="0.05")) == []
    assert told(found(database, p="0.2")) == [("b", "a", 8, 2)]
    (topic,) = by_session.topics
    assert (topic.topic, topic.sessions, topic.clicks, topic.pairs, topic.both_ways, topic.kept) == (
        *("1", 10, 10, 1, 1, 1),
    )


def test_a_draw_is_no_majority(database: Database, tmp_path: Path) -> None:
    """Five each way: neither is kept, unless both are."""
    build.task(database, tmp_path)
    add(database, tmp_path, [*[("u", "1", AB, (0, 1))] * 5, *[("u", "1", AB[::-1], (0, 1))] * 5])
    assert told(found(database)) == []
    assert len(told(found(database, keep="both"))) == 2


@pytest.mark.dialect
def test_several_logs_are_one_or_looked_at_alone(database: Database, tmp_path: Path) -> None:
    """The same user in both counts once; a log that is not there is not found."""
    build.task(database, tmp_path)
    add(database, tmp_path, [("u1", "1", AB, (0, 1))])
    add(database, tmp_path, [("u1", "1", AB, (0, 1)), ("u2", "1", AB, (0, 1))])
    assert told(found(database, least="1")) == [("b", "a", 3, 0)]
    assert told(found(database, least="1", count="users")) == [("b", "a", 2, 0)]
    assert told(found(database, least="1", logs="1")) == [("b", "a", 1, 0)]
    with pytest.raises(NotFound, match="no click log 7"):
        found(database, logs="1 7")


@pytest.mark.dialect
def test_a_user_has_one_hash_in_a_task_and_another_in_another(database: Database, tmp_path: Path) -> None:
    """Two imports agree, two tasks do not, and neither has anything to do with the name alone."""
    hashes = {}
    for slug in ("t", "other"):
        build.task(database, tmp_path, slug)
        add(database, tmp_path, [("Ann Smith", "1", AB, (0, 1))], slug)
        add(database, tmp_path, [("Ann Smith", "1", AB, (1, 0))], slug)
        with database.read() as session:
            task = session.scalars(select(Task).where(Task.slug == slug)).one()
            assert task.click_key is not None
            assert len(task.click_key) == 32
            bodies = session.scalars(select(ClickLog.body).where(ClickLog.task_id == task.id))
            users = [unpack_sessions(body).users for body in bodies]
        assert users[0] == users[1]
        hashes[slug] = users[0]
    assert hashes["t"] != hashes["other"]


@pytest.mark.dialect
def test_nothing_of_a_user_is_kept_or_given_away(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Not the name, not the hash, not the key: in no table but the packed log, in no JSON, CSV or file."""
    build.task(database, tmp_path)
    add(database, tmp_path, [("Ann Smith", "1", AB, (0, 1))])
    with database.read() as session:
        body = session.scalars(select(ClickLog.body)).one()
        (hashed,) = unpack_sessions(body).users
        key = session.scalars(select(Task.click_key)).one()
        assert key is not None
        page = clicks.click_page(session, OPERATOR, "t", clicks_services.preference_choice(least="1"))
        records = [json.dumps(each) for each in session.scalars(select(Audit.detail))]
    assert told(page.found) == [("b", "a", 1, 0)]
    given = [
        json.dumps(clicks.facts(page)),
        str(clicks.preferences_table(page).data()),
        repr(page),
        caplog.text,
    ]
    given += [clicks_services.as_file(page.found), *records]
    for secret in ("Ann Smith", "Smith", hashed.hex(), repr(hashed)[2:-1], key.hex()):
        assert not any(secret in text for text in given)
    for folder in (path for path in tmp_path.rglob("*.sqlite3*")):
        assert b"Ann Smith" not in folder.read_bytes()


def test_users_may_be_dropped(database: Database, tmp_path: Path) -> None:
    """No hash is stored; sessions are counted as before."""
    build.task(database, tmp_path)
    assert add(database, tmp_path, TEN, users=False).users == 0
    with database.read() as session:
        assert unpack_sessions(session.scalars(select(ClickLog.body)).one()).users == ()
    assert told(found(database)) == [("b", "a", 8, 2)]
    assert found(database).users == 0


def test_the_rules_of_an_import_do_not_print_their_key(database: Database, tmp_path: Path) -> None:
    """An error message or a log line that shows them shows no secret."""
    build.task(database, tmp_path)
    with database.write() as session:
        rules = clicks_services.rules_for(session, OPERATOR, "t")
    assert rules.key.hex() not in repr(rules)
    assert repr(rules.key) not in repr(rules)


@pytest.mark.dialect
def test_a_log_counts_once(database: Database, tmp_path: Path) -> None:
    """The same file again is refused; after the log is deleted it may come again, with its own number."""
    build.task(database, tmp_path)
    add(database, tmp_path, TEN)
    with pytest.raises(Conflict, match="already imported as log 1"):
        add(database, tmp_path, TEN)
    with database.write() as session:
        clicks_services.remove_import(session, OPERATOR, "t", 1)
    assert found(database).topics == ()
    assert add(database, tmp_path, TEN).number == 1
    with database.write() as session, pytest.raises(NotFound, match="no click log 2"):
        clicks_services.remove_import(session, OPERATOR, "t", 2)


def test_a_log_of_no_topic_is_refused(database: Database, tmp_path: Path) -> None:
    """The message says how topics are found."""
    build.task(database, tmp_path)
    with pytest.raises(Invalid, match="None of the log's 2 rows matches a topic of Task t"):
        add(database, tmp_path, [("u", "nothing", AB, (0, 1))])


def test_only_organisers_may(database: Database, tmp_path: Path) -> None:
    """Reading, importing, deleting and publishing are refused to anybody else."""
    build.task(database, tmp_path)
    add(database, tmp_path, TEN)
    stranger = people.viewer(database, people.account(database, "Stranger"))
    wanted = clicks_services.Choice()
    whole = found(database)
    with database.write() as session:
        for act in (
            lambda: clicks_services.rules_for(session, stranger, "t"),
            lambda: clicks_services.remove_import(session, stranger, "t", 1),
            lambda: clicks_services.find_preference(session, stranger, "t", wanted),
            lambda: clicks_services.publish_preferences(session, stranger, "t", whole, "note"),
            lambda: clicks.logs(session, stranger, "t"),
        ):
            with pytest.raises(Forbidden):
                act()


@pytest.mark.parametrize(
    "asked",
    [
        {"reading": "guess"},
        {"least": "0"},
        {"least": "-1"},
        {"least": "²"},
        {"keep": "none"},
        {"count": "clicks"},
        {"p": "0"},
        {"p": "nan"},
        {"p": "2"},
        {"logs": ["x"]},
    ],
)
def test_what_is_no_choice_is_said(asked: dict[str, str]) -> None:
    """Every field has its sentence."""
    with pytest.raises(Invalid) as caught:
        clicks_services.preference_choice(**asked)  # type: ignore[arg-type]
    assert caught.value.problems[0].field in caught.value.message


@pytest.mark.dialect
def test_preferences_become_a_revision_marked_as_clicks(database: Database, tmp_path: Path) -> None:
    """Beside the judgments of people, never among them; a note is asked for."""
    build.task(database, tmp_path)
    add(database, tmp_path, TEN)
    whole = found(database)
    with database.write() as session:
        with pytest.raises(Invalid, match="note"):
            clicks_services.publish_preferences(session, OPERATOR, "t", whole, " ")
        with pytest.raises(Invalid, match="evidence"):
            clicks_services.publish_preferences(session, OPERATOR, "t", found(database, least="100"), "note")
        clicks_services.publish_preferences(session, OPERATOR, "t", whole, "from clicks")
    with database.read() as session:
        kinds = session.execute(
            select(Qrels.kind, Qrels.origin, QrelsRevision.judgments).join(
                QrelsRevision, QrelsRevision.qrels_id == Qrels.id
            )
        ).all()
    assert ("preference", "click", 1) in [tuple(each) for each in kinds]
    assert {origin for kind, origin, _ in kinds if kind == "graded"} == {"human"}


def test_clicks_scored_as_trec_eval_scores_preferences(database: Database, tmp_path: Path) -> None:
    """From a log to a preference file to scores: two of six satisfied, undecided pairs left out or not."""
    build.task(database, tmp_path)
    pairs = [("d1", "d2"), ("d3", "d2"), ("d1", "d4"), ("d1", "d4"), ("d3", "d9"), ("d7", "d8")]
    add(database, tmp_path, [(f"u{place}", "1", pair, (0, 1)) for place, pair in enumerate(pairs)])
    path = tmp_path / "preferences.txt"
    path.write_text(clicks_services.as_file(found(database, least="1")))
    assert path.read_text().splitlines()[0] == "1 d4 d1 2"
    given = read_preferences(path)
    docnos = [b"d1", b"d2", b"d3", b"d4", b"d7", b"d8", b"d9"]
    starts = np.array([0, len(docnos)])
    preferred = preferences_of(given, ["1"], starts, [docnos])
    judgments = Judgments(("1",), np.full(len(docnos), -1), starts, preferences=preferred)
    run = Judged(judgments, np.zeros(4, np.int64), np.arange(1, 5), np.array([1, 0, 2, 3]), np.array([4]))
    for name, value in (
        ("PrefsSimp(retrieved='any')", 2 / 6),
        ("PrefsSimp(retrieved='either')", 0.4),
        ("PrefsSimp(retrieved='both')", 0.5),
        ("PrefsPair(retrieved='any')", 0.4),
    ):
        assert parse(name).compute(run)[0] == pytest.approx(value)
