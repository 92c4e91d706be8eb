"""Real brokers that carry jobs: killed with all they hold, as evaluators are, they double and lose none."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.make import brokers, carried, postgres
from tests.make.brokers import Broker

pytest.importorskip("celery", reason="the extra celery is not installed")

RUNS, KILLS, LOSSES = 60, 3, 1


@pytest.mark.trial
@pytest.mark.parametrize(
    ("is_there", "broker"),
    [
        pytest.param(brokers.has_redis, brokers.redis, id="redis"),
        pytest.param(brokers.has_rabbit, brokers.rabbit, id="rabbit"),
    ],
)
def test_every_run_is_scored_once_whatever_is_killed(
    is_there: Callable[[], bool],
    broker: Callable[[], AbstractContextManager[Broker]],
    postgres_server: str,
    tmp_path: Path,
) -> None:
    """Clients send runs while evaluators are killed in the middle of jobs, and the broker is lost."""
    if not is_there():
        pytest.skip("this broker is not installed (Debian: redis-server, rabbitmq-server)")
    with postgres.fresh(f"{postgres_server}/postgres") as url, broker() as running:
        outcome = carried.carried_through(url, tmp_path, running, runs=RUNS, kills=KILLS, losses=LOSSES)
    assert (outcome.accepted, outcome.lost, outcome.twice) == (RUNS, 0, 0)
