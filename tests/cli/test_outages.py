"""A real site whose database goes away, or whose processes are killed, loses nothing and goes on."""

import pytest

from benchmarks import outages
from benchmarks.outages import Report
from tests.make import postgres


def _holds(report: Report) -> None:
    assert report.accepted > 0
    assert (report.lost, report.unscored) == (0, 0)
    assert set(report.refused) <= {503}
    assert report.exit_code == 0


@pytest.mark.trial
@pytest.mark.dialect
@pytest.mark.skipif(postgres.binaries() is None, reason="no PostgreSQL binaries on this machine")
def test_postgresql_stopped_and_started() -> None:
    """Readers and senders get 503 meanwhile; then all is scored, and SIGTERM ends the site without it."""
    with outages.on_postgresql() as (url, outage):
        report = outages.away(url, outage, 2)
    _holds(report)
    assert set(report.pages) == set(report.health) == {503}
    assert report.slots == outages.EVALUATORS


@pytest.mark.trial
def test_sqlite_locked_by_another_process() -> None:
    """Readers are served meanwhile; senders and evaluators try again, and /healthz says so."""
    with outages.on_sqlite() as (url, outage):
        report = outages.away(url, outage, 3, LOCK_WAIT_S="1")
    _holds(report)
    assert (set(report.pages), set(report.health)) == ({200}, {503})
    assert report.slots == outages.EVALUATORS


@pytest.mark.trial
def test_processes_killed_at_random() -> None:
    """After kills of web server and evaluators every slot does jobs again."""
    with outages.on_sqlite() as (url, _):
        report = outages.killed(url, 4, longest_s=1.0)
    _holds(report)
    assert report.slots == outages.EVALUATORS
