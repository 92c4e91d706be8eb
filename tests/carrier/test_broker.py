"""A broker that cannot carry jobs is refused at the start, with what to do."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from leaderboard.carrier import broker
from leaderboard.cli import main
from leaderboard.errors import Invalid
from leaderboard.settings import Settings

POSTGRESQL = "postgresql+psycopg://user@host/name"
REDIS = "redis://:hidden@host/0"


def test_without_a_broker_nothing_is_asked_for() -> None:
    """The database of one machine, and no extra."""
    broker.require(Settings())


@pytest.mark.parametrize("url", [REDIS, "rediss://host", "amqp://host//", "amqps://user@host/site"])
def test_redis_and_amqp_carry(url: str) -> None:
    """With or without encryption."""
    broker.require_set(Settings(broker_url=url, database_url=POSTGRESQL))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (Settings(broker_url=REDIS), "the database is SQLite"),
        (Settings(broker_url=REDIS, database_url="sqlite:////tmp/x"), "the database is SQLite"),
        (Settings(broker_url="sqs://:hidden@host", database_url=POSTGRESQL), "begins with sqs:"),
        (Settings(broker_url="hidden", database_url=POSTGRESQL), "begins with no scheme"),
    ],
)
def test_what_cannot_carry_is_refused(settings: Settings, said: str) -> None:
    """By a sentence that does not repeat a password."""
    with pytest.raises(Invalid, match=said) as refused:
        broker.require(settings)
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "absent", "said"),
    [
        (REDIS, "celery", "celery cannot be imported"),
        (REDIS, "redis", "redis cannot be imported"),
        ("amqp://host", "celery", "celery cannot be imported"),
    ],
)
def test_the_extra_is_named(url: str, absent: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is not installed."""
    find = broker.find_spec
    monkeypatch.setattr(broker, "find_spec", lambda name: None if name == absent else find(name))
    with pytest.raises(Invalid, match=said) as refused:
        broker.require(Settings(broker_url=url, database_url=POSTGRESQL))
    assert "pip install ir-leaderboard[celery]" in str(refused.value)


@pytest.mark.parametrize(
    ("command", "environ", "said"),
    [
        (["worker", "--celery"], {}, "Set LEADERBOARD_BROKER_URL to"),
        (["worker", "--celery"], {"LEADERBOARD_BROKER_URL": REDIS}, "the database is SQLite"),
        (["serve"], {"LEADERBOARD_BROKER_URL": REDIS}, "the database is SQLite"),
        (["worker", "--celery", "--once"], {}, "Use either --celery or --once"),
    ],
)
def test_the_commands_refuse_to_start(
    command: list[str], environ: dict[str, str], said: str, data_folder: Path
) -> None:
    """Before any process is started."""
    done = CliRunner().invoke(main, [*command, "--data", str(data_folder)], env=environ)
    assert done.exit_code != 0
    assert said in done.output
