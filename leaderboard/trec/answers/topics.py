"""The topics that a file of answers is checked against: ids, official texts, limits."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaderboard.errors import Problem
from leaderboard.trec.read.json_objects import Fault, id_value, objects, place_value
from leaderboard.trec.read.lines import Problems, numbered_lines, shown
from leaderboard.trec.topics.topics import ID_KEYS, fault_of_id, read_topics

TEXT_KEYS = ("title", "query", "text", "topic", "narrative", "description")


@dataclass(frozen=True, slots=True)
class AnswerTopic:
    """A topic to be answered; texts: any of its official texts, empty where the file has none.

    limit: how long an answer may be, in the unit of the task; None for the task's own limit.
    """

    topic: str
    texts: tuple[str, ...] = ()
    limit: int | None = None


def read_answer_topics(path: Path) -> dict[str, AnswerTopic]:
    """The topics of a file by id, in order; JSON lines may carry `limit`, other forms are as for rankings.

    Raises Invalid with up to 25 problems.
    """
    first = next((line for _, line in numbered_lines(path) if line.strip()), "")
    if not first.lstrip().startswith("{"):
        known = read_topics(path)
        texts = {one.topic_id: (one.title, one.description, one.narrative) for one in known}
        return {topic: AnswerTopic(topic, tuple(filter(None, given))) for topic, given in texts.items()}
    problems = Problems("topics file")
    topics: dict[str, AnswerTopic] = {}
    for number, record in objects(path, problems):
        try:
            topic = _topic(record)
        except Fault as fault:
            problems.add(fault.problem(number))
            continue
        if topic.topic in topics:
            remedy = "Give each topic its own id."
            problems.add(Problem("The topic is there already.", remedy, number, "topic", shown(topic.topic)))
        topics[topic.topic] = topic
    problems.stop()
    return topics


def _topic(record: dict[str, Any]) -> AnswerTopic:
    key = next((key for key in ID_KEYS if key in record), None)
    if key is None:
        raise Fault(
            f"A topic needs an id under one of {', '.join(ID_KEYS)}.", 'Write {"id": "1", "title": "..."}.'
        )
    topic = id_value(record[key], key)
    if fault := fault_of_id(topic):
        raise Fault(*fault, "topic", shown(topic))
    limit = None if record.get("limit") is None else place_value(record["limit"], "limit")
    return AnswerTopic(topic, tuple(_texts(record, key)), limit)


def _texts(record: dict[str, Any], id_key: str) -> Iterator[str]:
    for key in TEXT_KEYS:
        value = record.get(key)
        if key != id_key and isinstance(value, str) and value.strip():
            yield value
