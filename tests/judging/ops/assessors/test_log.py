"""Judgments as events: none lost, none doubled, in whatever order they come."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from leaderboard.core import throttles
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Assessment, Pool
from leaderboard.errors import Closed, Conflict, Invalid, NotFound, OverQuota
from leaderboard.judging.ops import judging
from leaderboard.judging.ops.assessors import log
from leaderboard.judging.ops.assessors.log import Label, SentLabel
from tests.make import build, pools
from tests.make.copies import built_once

pytestmark = pytest.mark.dialect

MOMENT = datetime(2026, 5, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Room:
    """A pool whose first topic is the only assessor's."""

    database: Database
    token: str

    def save(self, sent: SentLabel, token: str = "", topic: str = "1") -> bool:
        """Store a judgment as the site does."""
        with self.database.read() as session:
            checked = log.check(session, token or self.token, 1, topic, sent)
        with self.database.write() as session:
            return log.save(session, checked)

    def labels(self) -> dict[str, int | None]:
        """Docno -> grade in force of the first assessor."""
        return {each.docno: each.grade for each in self.all_labels() if each.assessor_id == 1}

    def all_labels(self) -> tuple[Label, ...]:
        """Whatever is in force."""
        with self.database.read() as session:
            return log.in_force(session, 1)

    def events(self) -> int:
        """How many are stored."""
        with self.database.read() as session:
            return session.scalar(select(func.count()).select_from(Assessment)) or 0


@pytest.fixture
@built_once
def room(database: Database, tmp_path: Path) -> Room:
    """See Room."""
    build.task(database, tmp_path)
    more = [f"{name}-{place}" for name in ("one", "other") for place in range(24)]
    pools.pool(database, {"1": ["a", "b", "c", *more], "2": ["a"]})
    (token,) = pools.judges(database, "Ada", topics=("1",))
    return Room(database, token)


def _sent(key: str, grade: int | None, at: int = 0, docno: str = "a", **more: object) -> SentLabel:
    saved = MOMENT + timedelta(seconds=at)
    facts = {"shown_at": saved - timedelta(seconds=4), "saved_at": saved, "sent_at": MOMENT, **more}
    return SentLabel(key, docno, grade, **facts)  # type: ignore[arg-type]


def test_what_is_sent_twice_is_stored_once(room: Room) -> None:
    """The second answer says that it was known."""
    assert room.save(_sent("k", 1)) is True
    assert room.save(_sent("k", 1)) is False
    assert room.events() == 1
    assert room.labels() == {"a": 1}


def test_the_order_of_arrival_does_not_matter(room: Room) -> None:
    """Grade 1, then 0, which is taken back, and a skip of another document: always the same in force."""
    for place, order in enumerate(permutations(range(4))):
        one, other = f"one-{place}", f"other-{place}"
        sent = (
            _sent(f"{place}-first", 1, -30, docno=one),
            _sent(f"{place}-second", 0, -20, docno=one),
            _sent(f"{place}-second", 0, -20, docno=one, undone=True),
            _sent(f"{place}-third", None, -10, docno=other),
        )
        for each in order:
            room.save(sent[each])
        assert {one: 1, other: None}.items() <= room.labels().items(), order
    assert room.events() == 24 * 3


def test_one_key_is_one_judgment(room: Room) -> None:
    """Another grade or document under a known key is refused, nothing is changed."""
    room.save(_sent("k", 1))
    for other in (_sent("k", 0), _sent("k", 1, docno="b")):
        with pytest.raises(Conflict, match="This key was already used"):
            room.save(other)
    assert room.labels() == {"a": 1}


def test_a_wrong_clock_does_not_matter(room: Room) -> None:
    """What was decided two minutes before it was sent is dated two minutes ago, by the server's clock."""
    room.save(_sent("k", 1, -120))
    (label,) = room.all_labels()
    age = (datetime.now(UTC) - label.saved_at).total_seconds()
    assert 119 <= age < 150
    assert label.seconds == 4


def test_no_judgment_is_of_the_future_or_of_long_ago(room: Room) -> None:
    """Ages are kept between nothing and sixty days."""
    room.save(_sent("late", 1, 500))
    room.save(_sent("old", 1, -(10**9), docno="b"))
    now = datetime.now(UTC)
    found = {each.docno: now - each.saved_at for each in room.all_labels()}
    assert timedelta(0) <= found["a"] < timedelta(minutes=1)
    assert timedelta(days=60) <= found["b"] < timedelta(days=60, minutes=1)


@pytest.mark.parametrize(
    "sent", [_sent("", 1), _sent("x" * 65, 1), _sent("k", 7), _sent("k", 1, note="x" * 2001)]
)
def test_a_judgment_obeys_rules(room: Room, sent: SentLabel) -> None:
    """A key of 1 to 64 characters, a grade of the task, a note that can be read."""
    with pytest.raises(Invalid):
        room.save(sent)


def test_only_own_topics_and_documents_of_the_pool(room: Room) -> None:
    """A dead link, another topic, an unknown document: there is no such thing."""
    for sent, token, topic in (
        (_sent("k", 1), "nonsense", "1"),
        (_sent("k", 1), "", "2"),
        (_sent("k", 1, docno="z"), "", "1"),
    ):
        with pytest.raises(NotFound):
            room.save(sent, token, topic)


@pytest.mark.parametrize("state", ["draft", "closed"])
def test_only_an_open_pool_takes_judgments(room: Room, state: str) -> None:
    """Before and after it is said why not."""
    with room.database.write() as session:
        session.execute(update(Pool).values(state=state))
    with pytest.raises(Closed):
        room.save(_sent("k", 1))


def test_a_revoked_link_takes_nothing_a_new_one_goes_on(room: Room) -> None:
    """Judgments stay; the same assessor goes on with the new link, also with what was not sent."""
    room.save(_sent("k", 1))
    with room.database.read() as session:
        checked = log.check(session, room.token, 1, "1", _sent("l", 0, docno="b"))
    with room.database.write() as session:
        judging.revoke_link(session, OPERATOR, "t", 1)
    with room.database.write() as session, pytest.raises(NotFound):
        log.save(session, checked)
    with pytest.raises(NotFound):
        room.save(_sent("l", 0, docno="b"))
    with room.database.write() as session:
        link = judging.renew_link(session, OPERATOR, "t", 1)
    assert room.save(_sent("l", 0, docno="b"), link.token)
    assert room.labels() == {"a": 1, "b": 0}


def test_nobody_sends_without_end(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the limit it is said when to try again; what was refused is not stored."""
    monkeypatch.setattr(log, "EVENTS_A_MINUTE", 2)
    room.save(_sent("1", 1))
    room.save(_sent("2", 1))
    with pytest.raises(OverQuota):
        room.save(_sent("3", 1))
    assert room.events() == 2
    with room.database.write() as session:
        throttles.clear(session, "judge:1")
    assert room.save(_sent("3", 1))


def test_undo_takes_back_the_last_decision(room: Room) -> None:
    """One after the other, by when they were decided, until nothing is left."""
    room.save(_sent("1", 1, -9))
    room.save(_sent("3", 0, -3, docno="b"))
    room.save(_sent("2", 0, -6))
    undone = []
    for _ in range(4):
        with room.database.write() as session:
            undone.append(log.undo_last(session, room.token, 1, "1"))
    assert undone == ["b", "a", "a", None]
    assert room.labels() == {}
