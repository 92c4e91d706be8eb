"""Auto-ARGUE's judgments: a line a (run, topic) with what it said of every sentence.

Or with the counts that are kept of it, as `leaderboard.trec.nuggets.writing` writes them.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from leaderboard.errors import Problem
from leaderboard.measures.answers.judged import Assignment, JudgedSentence
from leaderboard.trec.nuggets.sets import Nugget
from leaderboard.trec.read.json_objects import (
    ONE_OBJECT,
    Fault,
    id_value,
    list_in,
    object_in,
    objects_in,
    place_value,
    read_each,
    required,
    text_in,
    text_value,
    wrong_kind,
)
from leaderboard.trec.read.lines import Problems, shown

RELEVANT, ATTESTED, ANSWERS = "CITED_DOCUMENT_RELEVANCE", "SENTENCE_ATTESTED", "SENTENCE_ANSWERS_QUESTION"
REQUIRES, FIRST = "requires_citation", "is_first_instance"
"""Answers about a sentence without citations, whatever the judgment's type is called."""


@dataclass(frozen=True)
class ArguedAnswer:
    """What Auto-ARGUE said of one answer: its sentences, and the answers it found by question."""

    sentences: tuple[JudgedSentence, ...]
    matched: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def label(self, nugget: Nugget) -> Assignment:
        """Whether the answer answers a question: by one of its answers, or by all where all are needed."""
        found = self.matched.get(nugget.text, frozenset())
        needed = {answer.text for answer in nugget.answers}
        is_answered = bool(found) and (nugget.aggregator == "OR" or needed <= found)
        return "support" if is_answered else "not_support"


@dataclass(frozen=True)
class ArguedAnswers:
    """The judgments by (run, topic), and a note on judgments of sentences that do not count."""

    cells: Mapping[tuple[str, str], ArguedAnswer] = field(default_factory=dict)
    notes: tuple[Problem, ...] = ()


def read_argued(path: Path) -> ArguedAnswers:
    """The judgments in a file of JSON lines of either form; raises Invalid with up to 25 problems.

    Judgments of other types than the three that are known are passed over; those of sentences without
    citations are counted in a note, as they may say that a citation was needed.
    """
    problems = Problems("file of Auto-ARGUE's judgments")
    cells: dict[tuple[str, str], ArguedAnswer] = {}
    unknown: Counter[str] = Counter()
    read_each(path, problems, partial(_take, cells, unknown))
    if not cells:
        problems.add(Problem("The file has no judgments.", ONE_OBJECT))
        problems.stop()
    notes = [
        Problem(
            f"Judgments of sentences without citations, of the type {shown(kind)}, which is not known here: "
            f"{count:,}. Those sentences do not count in SentenceSupport."
        )
        for kind, count in unknown.items()
    ]
    return ArguedAnswers(cells, tuple(notes))


def _take(
    cells: dict[tuple[str, str], ArguedAnswer], unknown: Counter[str], number: int, record: dict[str, Any]
) -> None:
    is_kept = is_counted(record)
    within = "" if is_kept else "report.metadata."
    facts = record if is_kept else object_in(object_in(record, "report"), "metadata", "report.")
    key = "topic_id" if "topic_id" in facts else "request_id"
    run = id_value(required(facts, "run_id", within), "run_id")
    topic = id_value(required(facts, key, within), key)
    if (run, topic) in cells:
        raise Fault("The run has judgments for this topic already.", "Keep one line.", "topic", shown(topic))
    if is_kept:
        cells[run, topic] = _kept(record)
        return
    matched: dict[str, set[str]] = {}
    given = objects_in(record, "judgments")
    sentences = tuple(_sentence(sentence, matched, unknown) for sentence in given)
    found = {question: frozenset(answers) for question, answers in matched.items()}
    cells[run, topic] = ArguedAnswer(sentences, found)


def is_counted(record: dict[str, Any]) -> bool:
    """Whether a line has counts of sentences in place of what was said of each."""
    return "sentences" in record and "matched" in record


def _kept(record: dict[str, Any]) -> ArguedAnswer:
    """An answer's counts and the answers found by question, as they are."""
    found = {
        text_value(question, "matched"): frozenset(
            text_value(answer, "each of matched") for answer in list_in(matched, question, "matched.")
        )
        for matched in (object_in(record, "matched"),)
        for question in matched
    }
    return ArguedAnswer(tuple(map(_counts, objects_in(record, "sentences"))), found)


def _counts(sentence: dict[str, Any]) -> JudgedSentence:
    names = ("citations", "supporting", "relevant")
    cited, supporting, relevant = (place_value(required(sentence, name), name) for name in names)
    for name, count in (("supporting", supporting), ("relevant", relevant)):
        if count > cited:
            rule = f"A sentence has more that are {name} than its {cited:,} citations."
            raise Fault(rule, "Count those of its citations that are.", name, str(count))
    return JudgedSentence(cited, supporting, relevant, _truth(sentence, "needs_citation", ""))


def _sentence(
    sentence: dict[str, Any], matched: dict[str, set[str]], unknown: Counter[str]
) -> JudgedSentence:
    cited = dict.fromkeys(
        id_value(required(one, "doc_id"), "doc_id") for one in objects_in(sentence, "citations")
    )
    said: dict[tuple[str, str], bool] = {}
    needs: dict[str, bool] = {}
    for judgment in objects_in(sentence, "judgments"):
        kind = text_in(judgment, "judgment_type_id")
        response = judgment.get("response")
        response = response if isinstance(response, dict) else {}
        if kind in (RELEVANT, ATTESTED):
            document = id_value(required(object_in(judgment, "provenance"), "doc_id"), "doc_id")
            said[kind, document] = _truth(response, "is_relevant" if kind == RELEVANT else "is_attested")
        elif kind == ANSWERS:
            _match(response, matched)
        elif found := {name: _truth(response, name) for name in (REQUIRES, FIRST) if name in response}:
            needs |= found
        elif not cited:
            unknown[kind] += 1
    return JudgedSentence(
        len(cited),
        sum(said.get((ATTESTED, document), False) for document in cited),
        sum(said.get((RELEVANT, document), False) for document in cited),
        not cited and needs.get(REQUIRES, False) and needs.get(FIRST, True),
    )


def _match(response: dict[str, Any], matched: dict[str, set[str]]) -> None:
    """Add the answers that a sentence gives to the questions they answer."""
    for nugget in objects_in(response, "matched_nuggets", "response."):
        answers = required(nugget, "matched_answer")
        given = answers if isinstance(answers, list) else [answers]
        question = matched.setdefault(text_in(nugget, "question_text"), set())
        question.update(text_value(answer, "matched_answer") for answer in given)


def _truth(response: dict[str, Any], name: str, within: str = "response.") -> bool:
    value = required(response, name, within)
    if not isinstance(value, bool):
        raise wrong_kind(f"{within}{name}", "true or false", value)
    return value
