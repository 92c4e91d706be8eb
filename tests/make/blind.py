"""A blind task with public and hidden topics, and runs that do otherwise on the one than on the other."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import select, update

from leaderboard.db.engine import Database
from leaderboard.db.tables import Phase, Task, TopicSet
from tests.make import build, people
from tests.make.copies import built_once

TOPICS = tuple(str(number) for number in range(1, 11))
DEPTH = 12


@built_once
def task(database: Database, folder: Path) -> dict[str, int]:
    """Run name -> id: Ann's `public` is good on public topics, `even` on a few, Bob's `hidden` on others.

    RR of each run is 1 where it is good, else 1/4; document `r` is the relevant one of every topic.
    """
    build.task(
        database,
        folder,
        judgments={topic: {"r": 1, "n": 0} for topic in TOPICS},
        topics=TOPICS,
        measures=("RR", "NumRel", "Judged@10"),
        visibility="blind",
    )
    for name, team in (("Ann", "Owls"), ("Bob", "Bears")):
        people.team(database, team, people.account(database, name))
    shown = public(database)
    ids = {
        name: build.run(database, folder, ranked(good), name, team_name=team)
        for name, good, team in (
            ("public", shown, "Owls"),
            ("even", shown[:2] + [topic for topic in TOPICS if topic not in shown][:2], "Owls"),
            ("hidden", [topic for topic in TOPICS if topic not in shown], "Bears"),
        )
    }
    build.drain(database)
    return ids


def public(database: Database) -> list[str]:
    """The public topics, half of all."""
    with database.read() as session:
        return list(session.scalars(select(TopicSet.topics).where(TopicSet.name == "public")).one() or ())


def ranked(good: list[str]) -> dict[str, list[str]]:
    """Rankings with the relevant document first on some topics, and fourth on the others."""
    others = [f"x{number}" for number in range(DEPTH - 1)]
    return {topic: ["r", *others] if topic in good else [*others[:3], "r", *others[3:]] for topic in TOPICS}


def settle(database: Database, **values: object) -> None:
    """Change columns of the task."""
    with database.write() as session:
        session.execute(update(Task).values(**values))


def close(database: Database) -> None:
    """Close the task, an hour ago."""
    with database.write() as session:
        session.execute(update(Phase).values(closes_at=datetime.now(UTC) - timedelta(hours=1)))
