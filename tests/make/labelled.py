"""A task of answers whose nuggets and labels are made at the desk."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.judging.ops import judging
from leaderboard.judging.ops.judging import PersonalLink
from leaderboard.judging.ops.labelling import labels, rounds
from leaderboard.judging.ops.labelling.labels import LabelItem, SentItemLabel
from leaderboard.judging.ops.labelling.rounds import RoundPlan
from tests.make import answered, nuggeted
from tests.make.copies import built_once

DOCUMENTS = "".join(
    f'{{"_id": "{name}", "title": "Title of {name}", "text": "What {name} says of blue air and rivers."}}\n'
    for name in ("d4", "d7")
)
OTHER: answered.Texts = {
    "1": [("The sky is <b>blue</b>.", ["d4"])],
    "2": [("Seas were always salt.", ["d7", "d4"])],
}
SET = [
    {
        "qid": "1",
        "nuggets": [
            {"text": "air scatters blue", "importance": "vital"},
            {"text": "it always did", "importance": "okay"},
        ],
    },
    {"qid": "2", "nuggets": [{"text": "rivers carry salt", "importance": "vital"}]},
]


@built_once
def task(database: Database, folder: Path, slug: str = "t") -> tuple[int, int]:
    """The ids of two runs, `zeppelin` and `yacht`, of a task of answers whose collection has some texts."""
    documents = folder / "corpus.jsonl"
    documents.write_text(DOCUMENTS)
    answered.task(database, folder, slug, documents=documents)
    first = answered.run(database, folder, name="zeppelin", slug=slug, team_name="Owls")
    second = answered.run(database, folder, OTHER, "yacht", slug=slug, team_name="Bears")
    return first, second


def nuggets(database: Database, folder: Path, slug: str = "t") -> None:
    """A revision with nuggets of topics 1 and 2."""
    nuggeted.revise(database, nuggeted.files(folder, nuggets=SET), slug=slug)


def people(database: Database, *names: str, slug: str = "t") -> tuple[PersonalLink, ...]:
    """New assessors with their links."""
    with database.write() as session:
        return judging.add_link(session, OPERATOR, slug, names)


def opened(
    database: Database, kind: str, who: Sequence[PersonalLink], slug: str = "t", **options: object
) -> int:
    """The number of a new round by these assessors."""
    plan = RoundPlan(kind, tuple(person.assessor_id for person in who), **options)  # type: ignore[arg-type]
    with database.write() as session:
        return rounds.open_round(session, OPERATOR, slug, plan)


def items(database: Database, who: PersonalLink, number: int, topic_id: str) -> dict[str, LabelItem]:
    """Name -> item of all that an assessor labels of a topic, in order; empty where it is not theirs."""
    with database.read() as session:
        for desk in labels.of_link(session, who.token, number, topic_id):
            return dict(desk.topics[0].shared)
    return {}


def label(
    database: Database, who: PersonalLink, number: int, topic_id: str, given: Mapping[str, int]
) -> None:
    """Labels of an assessor by the names of items, each under a key of its own."""
    for name, value in given.items():
        with database.write() as session:
            _, desk = labels.topic_desk(session, who.token, number, topic_id)
            labels.save(session, desk, SentItemLabel(name, value, f"{name}:{value}"))


def label_all(
    database: Database, who: PersonalLink, number: int, value: int, topics: Sequence[str] = ("1", "2")
) -> None:
    """One and the same label for all that an assessor has."""
    for topic in topics:
        label(database, who, number, topic, dict.fromkeys(items(database, who, number, topic), value))
