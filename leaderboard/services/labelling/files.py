"""What was made in a round as files of judgments, one JSON object a line, as tracks publish them."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, Team, Topic
from leaderboard.measures.answers.judged import Assignment
from leaderboard.services.answers import store
from leaderboard.services.labelling.kinds import ASSIGNMENTS, NUGGETS, UNSURE
from leaderboard.services.labelling.settled import RoundLabels, SettledLabels, settled_labels, settled_nuggets
from leaderboard.trec.answers.counting import words
from leaderboard.trec.answers.record import Answer
from leaderboard.trec.nuggets.sets import Nugget

ASSIGNED: dict[int, Assignment] = {2: "support", 1: "partial_support", 0: "not_support"}
"""A label -> what files call it."""


def lines(session: Session, made: RoundLabels, rule: str) -> Iterator[str]:
    """What was settled by a rule, as lines of a file that can be sent back; a topic or answer a line."""
    titles = _titles(session, made)
    if made.here.kind == NUGGETS:
        for topic, nuggets in settled_nuggets(session, made).topics.items():
            yield _line({"query": titles[topic], "qid": topic, "nuggets": list(map(_of_nugget, nuggets))})
        return
    names = run_names(session, made.here.task_id)
    for (run_id, topic), labels in cells(made, settled_labels(made, rule)).items():
        answer = store.of_topic(session, run_id, topic)
        if answer is None:
            continue
        facts = {"query": titles[topic], "run_id": names[run_id]}
        if made.here.kind == ASSIGNMENTS:
            yield _line(_assigned(made, topic, labels, answer) | facts)
        else:
            yield _line(_supported(topic, labels, answer) | facts)


def cells(made: RoundLabels, settled: SettledLabels) -> dict[tuple[int, str], dict[tuple[int, int], int]]:
    """(run, topic) -> (place, citation) -> label: answers with all nuggets assigned, or a citation labelled.

    An answer whose nuggets are not all assigned is not judged: files know no nugget without a label.
    """
    found: dict[tuple[int, str], dict[tuple[int, int], int]] = {}
    for item, label in settled.labels.items():
        found.setdefault((item.run_id, item.topic_id), {})[item.place, item.citation] = label
    if made.here.kind == ASSIGNMENTS:
        whole = {topic: len(there.nuggets) for topic, there in made.topics.items()}
        found = {cell: labels for cell, labels in found.items() if len(labels) == whole[cell[1]]}
    return dict(sorted(found.items(), key=lambda cell: (cell[0][1], cell[0][0])))


def supported(labels: Mapping[tuple[int, int], int], answer: Answer) -> tuple[tuple[int, ...], ...]:
    """The support labels of an answer's segments, a citation each; -1 where it was not labelled."""
    return tuple(
        tuple(labels.get((place, citation), UNSURE) for citation in range(len(segment.citations)))
        for place, segment in enumerate(answer.segments)
    )


def run_names(session: Session, task_id: int) -> dict[int, str]:
    """Run id -> its name; TEAM/NAME where several runs of the task have the name."""
    rows = session.execute(
        select(Run.id, Run.name, Team.name.label("team"))
        .join(Team, Team.id == Run.team_id)
        .where(Run.task_id == task_id)
    ).all()
    times = Counter(row.name for row in rows)
    return {row.id: row.name if times[row.name] == 1 else f"{row.team}/{row.name}" for row in rows}


def _titles(session: Session, made: RoundLabels) -> dict[str, str]:
    rows = session.execute(
        select(Topic.topic_id, Topic.title).where(
            Topic.task_id == made.here.task_id, Topic.topic_id.in_(made.topics)
        )
    )
    return dict.fromkeys(made.topics, "") | {topic: title for topic, title in rows}


def _of_nugget(nugget: Nugget) -> dict[str, str]:
    return {"text": nugget.text, "importance": nugget.importance}


def _assigned(
    made: RoundLabels, topic: str, labels: Mapping[tuple[int, int], int], answer: Answer
) -> dict[str, Any]:
    nuggets = [
        {**nugget, "assignment": ASSIGNED[labels[place, 0]]}
        for place, nugget in enumerate(made.topics[topic].nuggets)
    ]
    length = words(answer.texts)
    return {"qid": topic, "answer_text": answer.text, "response_length": length, "nuggets": nuggets}


def _supported(topic: str, labels: Mapping[tuple[int, int], int], answer: Answer) -> dict[str, Any]:
    given = supported(labels, answer)
    sentences = [
        {
            "sentenceID": place,
            "text": segment.text,
            "citations": [
                {"citationID": at, "reference": citation.docno, "support": str(given[place][at])}
                for at, citation in enumerate(segment.citations)
            ],
        }
        for place, segment in enumerate(answer.segments)
    ]
    return {"topic_id": topic, "sentences": sentences}


def _line(record: Mapping[str, Any]) -> str:
    return f"{json.dumps(record, ensure_ascii=False)}\n"
