"""The topics that a file of answers is checked against: ids, official texts, limits."""

from dataclasses import dataclass
from pathlib import Path

from leaderboard.trec.topics.topics import read_topics


@dataclass(frozen=True, slots=True)
class AnswerTopic:
    """A topic to be answered; texts: any of its official texts, empty where the file has none.

    limit: how long an answer may be, in the unit of the task; None for the task's own limit.
    """

    topic: str
    texts: tuple[str, ...] = ()
    limit: int | None = None


def read_answer_topics(path: Path) -> dict[str, AnswerTopic]:
    """The topics of a file by id, in order, read as those of rankings are; JSON may carry `limit`.

    Raises Invalid with up to 25 problems.
    """
    return {
        topic.topic_id: AnswerTopic(
            topic.topic_id,
            tuple(filter(None, (topic.title, topic.description, topic.narrative))),
            topic.limit,
        )
        for topic in read_topics(path)
    }
