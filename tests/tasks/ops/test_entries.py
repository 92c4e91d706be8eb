"""TeamEntering a task: freely, by approval, by code; agreements; what keeps a team from sending."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Audit, Entry, Phase, Task
from leaderboard.errors import Closed, Forbidden, Invalid, LeaderboardError, NotFound, OverQuota
from leaderboard.runs.ops import limits
from leaderboard.tasks.ops import entries
from leaderboard.tasks.ops.entries import EntryRequest, EntryState
from tests.make import build, people


class Season:
    """A task, a team of one, and what both do."""

    def __init__(self, database: Database, folder: Path, **rules: Any) -> None:
        self.database, self.folder = database, folder
        build.task(database, folder)
        self.ann = people.account(database, "Ann")
        self.owls = people.team(database, "Owls", self.ann)
        self.rules(**rules)

    def rules(self, **values: Any) -> None:
        """Change the task as its settings would."""
        with self.database.write() as session:
            session.execute(update(Task).values(name="Task t", **values))

    def enter(self, code: str = "", agreed: int | None = None) -> EntryState:
        """Ann enters her team."""
        asker = people.viewer(self.database, self.ann)
        with self.database.write() as session:
            return entries.enter(session, asker, "t", self.owls, EntryRequest(code, agreed))

    def decide(self, *, accept: bool, why: str = "") -> None:
        """An organiser decides on her team."""
        with self.database.write() as session:
            entries.decide(session, OPERATOR, "t", self.owls, accept=accept, why=why)

    def refusal(self) -> str:
        """Why her team may not send a run; empty where it may."""
        asker = people.viewer(self.database, self.ann)
        try:
            with self.database.read() as session:
                limits.admission_quota(session, asker, "t", self.owls)
        except Forbidden as error:
            return error.message
        return ""


@pytest.fixture
def season(database: Database, tmp_path: Path) -> Callable[..., Season]:
    """A builder of seasons with the rules of entering that are given."""
    return lambda **rules: Season(database, tmp_path, **rules)


def test_a_free_task_is_entered_by_its_first_run(season: Callable[..., Season]) -> None:
    """Nothing is asked before, and the run makes the entry."""
    free = season()
    assert free.refusal() == ""
    asker = people.viewer(free.database, free.ann)
    build.run(free.database, free.folder, {"1": ["a"]}, viewer=asker, team_name="Owls")
    with free.database.read() as session:
        assert session.scalars(select(Entry.state)).all() == ["entered"]


def test_approval_waits_for_an_organiser(season: Callable[..., Season]) -> None:
    """Asked, waiting, refused with a reason, accepted: the refusal of a run says each of them."""
    asked = season(entry_rule="approval")
    assert "has not entered the task. Teams ask to enter" in asked.refusal()
    assert "See /tasks/t/enter." in asked.refusal()
    with pytest.raises(NotFound, match="has not asked"):
        asked.decide(accept=True)
    assert asked.enter().state == "waiting"
    assert asked.enter().state == "waiting"
    assert "have not decided" in asked.refusal()
    with pytest.raises(Invalid, match="Give the reason"):
        asked.decide(accept=False, why=" ")
    asked.decide(accept=False, why="No affiliation.")
    assert "refused this team: No affiliation." in asked.refusal()
    with pytest.raises(Forbidden, match="No affiliation"):
        asked.enter()
    asked.decide(accept=True)
    assert asked.refusal() == ""
    assert asked.enter().state == "entered"
    with asked.database.read() as session:
        asked_for = select(Audit.action).where(Audit.action.startswith("entry.")).order_by(Audit.id)
        acts = session.scalars(asked_for).all()
    assert acts == ["entry.enter", "entry.refuse", "entry.accept"]


def test_a_code_is_guessed_ten_times_an_hour(season: Callable[..., Season]) -> None:
    """Wrong codes are refused, an empty one of the task fits nobody, and the eleventh try is one too many."""
    coded = season(entry_rule="code", entry_code=" owl-42 ")
    for wrong in ("", "OWL-42", "owl"):
        with pytest.raises(Forbidden, match="The code is wrong"):
            coded.enter(wrong)
    assert coded.enter("owl-42").state == "entered"
    assert coded.enter().missing == ""
    asker = people.viewer(coded.database, coded.ann)
    for _ in range(entries.CODES_AN_HOUR):
        with coded.database.write() as session:
            entries.count_code(session, asker, "t")
    with pytest.raises(OverQuota), coded.database.write() as session:
        entries.count_code(session, asker, "t")
    coded.rules(entry_code="")
    with coded.database.write() as session:
        session.execute(update(Entry).values(state="waiting"))
    with pytest.raises(Forbidden, match="The code is wrong"):
        coded.enter("")


def test_each_version_of_an_agreement_is_asked_for_once(season: Callable[..., Season]) -> None:
    """Version, time and account are kept; a new version asks before the next run, whatever was ticked."""
    signed = season(agreement="*Be kind.*", agreement_version=1)
    assert "has not agreed to version 1" in signed.refusal()
    with pytest.raises(Invalid, match="not accepted, or has changed"):
        signed.enter()
    signed.enter(agreed=1)
    assert signed.refusal() == ""
    with signed.database.read() as session:
        entry = session.scalars(select(Entry)).one()
        assert (entry.agreement_version, entry.agreed_by) == (1, signed.ann)
        assert entry.agreed_at is not None
    signed.rules(agreement="*Be kinder.*", agreement_version=2)
    assert "has not agreed to version 2" in signed.refusal()
    with pytest.raises(Invalid):
        signed.enter(agreed=1)
    assert signed.enter(agreed=2).agreed == 2
    signed.rules(agreement="")
    assert signed.refusal() == ""


@pytest.mark.dialect
def test_members_who_enter_at_once_make_one_entry(season: Callable[..., Season]) -> None:
    """Of four forms in one moment all are answered, and there is one entry on record."""
    at_once = season(entry_rule="approval")
    with ThreadPoolExecutor(4) as threads:
        states = list(threads.map(lambda _: at_once.enter().state, range(4)))
    assert states == ["waiting"] * 4
    with at_once.database.read() as session:
        assert session.scalars(select(Entry.state)).all() == ["waiting"]
        entered = select(func.count(Audit.id)).where(Audit.action == "entry.enter")
        assert session.scalar(entered) == 1


def test_who_cannot_enter(season: Callable[..., Season]) -> None:
    """Teams of others, tasks that are over, and organisers' acts by others."""
    closed = season(entry_rule="approval")
    carl = people.viewer(closed.database, people.account(closed.database, "Carl"))
    acts: list[tuple[type[LeaderboardError], Callable[..., object]]] = [
        (NotFound, lambda session: entries.enter(session, carl, "t", closed.owls, EntryRequest())),
        (NotFound, lambda session: entries.enter(session, carl, "t", 99, EntryRequest())),
        (Forbidden, lambda session: entries.decide(session, carl, "t", closed.owls, accept=True)),
    ]
    for kind, act in acts:
        with pytest.raises(kind), closed.database.write() as session:
            act(session)
    with closed.database.write() as session:
        session.execute(update(Phase).values(closes_at=now(session) - timedelta(hours=1)))
    with pytest.raises(Closed):
        closed.enter()
