"""A task judged by a machine, five runs of three teams, and a sample of its judgments for a person."""

from pathlib import Path

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.judging.ops import combined
from leaderboard.judging.ops.pools import pools
from tests.make import build, judged
from tests.make.copies import built_once

TOPICS = tuple(f"{number:02}" for number in range(1, 27))
DOCNOS = tuple("abcdefgh")
TEAMS = ("Ants", "Bees", "Bees", "Cats", "Cats")
MEASURES = ("P@3", "RR", "nDCG@3", "Judged@3")


def by_machine(topic: str, docno: str) -> int:
    """The machine's grade: of every third document one too high."""
    wrong = (int(topic) + ord(docno)) % 3 == 0
    return min(2, by_people(topic, docno) + wrong)


def by_people(topic: str, docno: str) -> int:
    """A person's grade."""
    return (int(topic) * 7 + ord(docno) * 5) % 4 % 3


def ranking(run: int, topic: str) -> list[str]:
    """A run's order: the first puts what people find relevant first, the others less and less."""
    turn = int(topic) * run % len(DOCNOS)
    turned = [*DOCNOS[turn:], *DOCNOS[:turn]]
    return sorted(turned, key=lambda docno: -by_people(topic, docno)) if run == 0 else turned


@built_once
def task(database: Database, folder: Path) -> list[int]:
    """The ids of the runs of the task t, which is scored by the machine's judgments."""
    grades = {topic: {docno: by_machine(topic, docno) for docno in DOCNOS} for topic in TOPICS}
    build.task(
        database,
        folder,
        topics=TOPICS,
        judgments=grades,
        measures=MEASURES,
        origin="machine",
        origin_name="model-1",
    )
    made = [
        build.run(
            database, folder, {topic: ranking(run, topic) for topic in TOPICS}, f"run{run}", team_name=team
        )
        for run, team in enumerate(TEAMS)
    ]
    build.drain(database)
    return made


def draw(database: Database, share: float, *, seed: int = 1, is_shown: bool = False) -> int:
    """The number of a sample that is open to be judged."""
    with database.write() as session:
        number = combined.draw_sample(session, OPERATOR, "t", share, seed=seed)
        pools.change(session, OPERATOR, "t", number, pools.OPEN, highest_grade=2, without_texts=True)
        combined.show_sample(session, OPERATOR, "t", number, is_shown)
    return number


def draw_topics(database: Database, count: int, *, seed: int = 1) -> int:
    """The number of a sample of whole topics that is open to be judged."""
    with database.write() as session:
        number = combined.draw_topics(session, OPERATOR, "t", count, seed=seed)
        pools.change(session, OPERATOR, "t", number, pools.OPEN, highest_grade=2, without_texts=True)
    return number


def drawn(database: Database, number: int) -> dict[str, list[str]]:
    """Topic -> the documents of a sample that wait to be judged."""
    with database.read() as session:
        documents = pools.documents_of(session, OPERATOR, "t", number)
    return {topic: [row.docno for row in rows if row.grade is None] for topic, rows in documents.items()}


def judge(database: Database, number: int, topics: tuple[str, ...] = TOPICS, name: str = "Ada") -> None:
    """A person judges all that was drawn of these topics, in the newest sample."""
    person = judged.assessor(database, name)
    waiting = drawn(database, number)
    for topic in sorted(waiting.keys() & set(topics)):
        judged.judge(database, person, topic, {docno: by_people(topic, docno) for docno in waiting[topic]})
