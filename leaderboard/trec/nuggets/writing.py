"""Nuggets and labels as files again, in forms that they are read in."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from leaderboard.trec.nuggets.judgments import AnswerJudgments
from leaderboard.trec.nuggets.packing import Part
from leaderboard.trec.nuggets.sets import Nugget

Names = Mapping[str, str]
"""A run as the judgments know it -> what it is called in the file; runs that are not there are left out."""


def lines_of(judgments: AnswerJudgments, part: Part, names: Names) -> Iterator[str]:
    """The lines of one part, by topic in byte order; empty if the part is missing.

    Reading them gives the same judgments. Only counts are kept of Auto-ARGUE's judgments, in their own lines.
    """
    for record in _WRITERS[part](judgments, names):
        yield json.dumps(record, ensure_ascii=False) + "\n"


def _nuggets(judgments: AnswerJudgments, _: Names) -> Iterator[dict[str, Any]]:
    topics = judgments.nuggets.topics
    for topic in sorted(topics, key=str.encode):
        if any(nugget.answers or nugget.aggregator != "OR" for nugget in topics[topic]):
            yield {"query_id": topic, "nugget_bank": [_question(nugget) for nugget in topics[topic]]}
        else:
            yield {"qid": topic, "nuggets": [_statement(nugget) for nugget in topics[topic]]}


def _statement(nugget: Nugget) -> dict[str, Any]:
    return {"text": nugget.text, **_importance(nugget)}


def _importance(nugget: Nugget) -> dict[str, Any]:
    return {"importance": nugget.importance} if nugget.stated else {}


def _question(nugget: Nugget) -> dict[str, Any]:
    answers = [{"answer": answer.text, "references": list(answer.documents)} for answer in nugget.answers]
    kind = {"aggregator_type": nugget.aggregator}
    return {"question": nugget.text, **kind, **_importance(nugget), "answers": answers}


def _assignments(judgments: AnswerJudgments, names: Names) -> Iterator[dict[str, Any]]:
    if judgments.assignments is None:
        return
    for run, topic, cell in _cells(judgments.assignments.cells, names):
        nuggets = zip(judgments.nuggets.topics[topic], cell.labels, strict=True)
        statements = [{**_statement(nugget), "assignment": label} for nugget, label in nuggets]
        yield {"qid": topic, "run_id": run, "nuggets": statements}


def _support(judgments: AnswerJudgments, names: Names) -> Iterator[dict[str, Any]]:
    for run, topic, cell in _cells(judgments.support.answers, names):
        sentences = [
            {
                "sentenceID": place,
                "citations": [{"citationID": at, "support": str(label)} for at, label in enumerate(labels)],
            }
            for place, labels in enumerate(cell.labels)
        ]
        yield {"topic_id": topic, "run_id": run, "sentences": sentences}


def _argued(judgments: AnswerJudgments, names: Names) -> Iterator[dict[str, Any]]:
    for run, topic, cell in _cells(judgments.argued.cells, names):
        sentences = [
            {
                "citations": sentence.citations,
                "supporting": sentence.supporting,
                "relevant": sentence.relevant,
                "needs_citation": sentence.needs,
            }
            for sentence in cell.sentences
        ]
        matched = {question: sorted(answers) for question, answers in sorted(cell.matched.items())}
        yield {"topic_id": topic, "run_id": run, "sentences": sentences, "matched": matched}


def _cells(cells: Mapping[tuple[str, str], Any], names: Names) -> Iterator[tuple[str, str, Any]]:
    """Name of the run, topic and value of each cell, by topic and run."""
    ordered = sorted((topic.encode(), names[run], run, topic) for run, topic in cells if run in names)
    for _, name, run, topic in ordered:
        yield name, topic, cells[run, topic]


_WRITERS: Mapping[Part, Callable[[AnswerJudgments, Names], Iterator[dict[str, Any]]]] = {
    "nuggets": _nuggets,
    "assignments": _assignments,
    "support": _support,
    "argue": _argued,
}
