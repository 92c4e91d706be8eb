"""Comparisons that accounts ask for: how many wait, and how many results are kept."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from leaderboard.core.jobs import queue
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Job, Statistic, Throttle
from leaderboard.errors import OverQuota, SignInNeeded
from leaderboard.scoring.ops.evaluations.shown import Source
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults, Request, WaitingResult
from leaderboard.stats.arrays import pack
from tests.make import build, people

pytestmark = pytest.mark.dialect
SOURCE = Source(1, 1, 1, "digest", 10, (), ())


@pytest.fixture
def site(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Database:
    """A site with an edition and two accounts, of which nothing was computed."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))
    build.task(database, tmp_path, "t")
    build.run(database, tmp_path, {"1": ["a"]}, "one", slug="t")
    build.drain(database)
    people.account(database, "Anna")
    people.account(database, "Bert")
    return database


def _wanted(*names: object) -> list[WaitingResult]:
    """Results to be asked for, each under a method of its own."""
    return [
        WaitingResult(Request("pairs", f"method {name}", SOURCE, "AP", 1, (), ()), "absent") for name in names
    ]


def _ask(database: Database, viewer: Viewer, wanted: Sequence[WaitingResult]) -> None:
    with database.write() as session:
        requests.ask_for(session, viewer, wanted)


def _waiting(database: Database) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(Job).where(Job.state == "queued")) or 0


def test_ten_comparisons_of_an_account_wait_at_most(site: Database) -> None:
    """The eleventh is refused until one is done; other accounts and the operator may still ask."""
    anna, bert = (people.viewer(site, number) for number in (1, 2))
    _ask(site, anna, _wanted(*range(12)))
    assert _waiting(site) == 10
    _ask(site, anna, _wanted(*range(10)))
    with pytest.raises(OverQuota, match="10 of your comparisons are queued or running"):
        _ask(site, anna, _wanted(11))
    _ask(site, bert, _wanted("of Bert"))
    _ask(site, OPERATOR, _wanted("of the operator"))
    assert _waiting(site) == 12
    with site.write() as session:
        session.execute(
            update(Job)
            .where(Job.id == select(func.min(Job.id)).where(Job.kind == queue.COMPARE).scalar_subquery())
            .values(state="done")
        )
    _ask(site, anna, _wanted(11))
    with pytest.raises(SignInNeeded):
        _ask(site, ANONYMOUS, _wanted(12))


def test_asking_from_many_browsers_at_once_does_not_help(site: Database) -> None:
    """Sixteen requests at the same time leave ten waiting."""
    anna = people.viewer(site, 1)

    def ask(number: int) -> bool:
        try:
            _ask(site, anna, _wanted(number))
        except OverQuota:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(16))) == 10
    assert _waiting(site) == 10


def test_a_network_asks_a_hundred_times_an_hour(site: Database) -> None:
    """Many accounts of one network cannot fill the queue between them."""
    _ask(site, people.viewer(site, 1), _wanted(1))
    with site.write() as session:
        session.execute(update(Throttle).values(count=100))
    with pytest.raises(OverQuota, match="Too many attempts"):
        _ask(site, people.viewer(site, 2), _wanted(2))
    _ask(site, people.viewer(site, 2, ip="198.51.100.7"), _wanted(2))


def test_the_oldest_results_that_accounts_asked_for_go(
    site: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the newest are kept; what a board needs stays, also where an account asked for it first."""
    monkeypatch.setattr(requests, "MOST_KEPT", 2)
    _ask(site, people.viewer(site, 1), _wanted(*range(5)))
    _ask(site, OPERATOR, _wanted(0))
    with site.write() as session:
        for statistic_id in session.scalars(select(Statistic.id).order_by(Statistic.id)).all():
            requests.store(session, statistic_id, pack({}))
    with site.read() as session:
        kept = session.scalars(select(Statistic.request).order_by(Statistic.id)).all()
    assert [request["method"] for request in kept] == ["method 0", "method 3", "method 4"]
