"""Nugget sets: the facts of a good answer to each topic, in the three forms that tracks publish.

Or with the counts that are kept of it, as `leaderboard.trec.nuggets.writing` writes them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from leaderboard.errors import Problem
from leaderboard.measures.answers.judged import Assignment, Importance, JudgedSentence
from leaderboard.trec.read.json_objects import (
    ONE_OBJECT,
    Fault,
    id_value,
    list_in,
    object_in,
    object_value,
    objects_in,
    place_value,
    read_each,
    required,
    text_in,
    text_value,
    wrong_kind,
)
from leaderboard.trec.read.lines import Problems, shown

IMPORTANCES = ("vital", "okay", "failed")
Aggregator = Literal["OR", "AND"]


@dataclass(frozen=True, slots=True)
class NuggetAnswer:
    """One answer to a question, and the documents that give it."""

    text: str
    documents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Nugget:
    """One fact that a good answer contains, identified within a topic by its exact text or question.

    answers: of a question, empty for a statement; aggregator: whether one of them suffices. stated: whether
    the file gives the importance, which is okay otherwise.
    """

    text: str
    importance: Importance = "okay"
    stated: bool = True
    answers: tuple[NuggetAnswer, ...] = ()
    aggregator: Aggregator = "OR"


@dataclass(frozen=True)
class NuggetSet:
    """The nuggets of every topic, in the file's order; notes say what was assumed."""

    topics: dict[str, tuple[Nugget, ...]] = field(default_factory=dict)
    notes: tuple[Problem, ...] = ()


def read_nuggets(path: Path) -> NuggetSet:
    """The nugget set in a file of JSON lines, one per topic, in any of the three forms, recognised by keys.

    Raises Invalid with up to 25 problems: keys that are missing, a nugget or topic that is there twice.
    """
    problems = Problems("nugget set")
    topics: dict[str, tuple[Nugget, ...]] = {}
    read_each(path, problems, partial(_take, topics))
    if not topics:
        problems.add(Problem("The file has no nuggets.", "Write one JSON object per topic, one per line."))
        problems.stop()
    return NuggetSet(topics, tuple(_notes(topics)))


def _take(topics: dict[str, tuple[Nugget, ...]], number: int, record: dict[str, Any]) -> None:
    topic, nuggets = _topic(record)
    if topic in topics:
        raise Fault("The topic has nuggets on an earlier line.", "Join the lines.", "topic", shown(topic))
    seen: set[str] = set()
    for nugget in nuggets:
        if nugget.text in seen:
            raise Fault("The topic has this nugget twice.", "Keep one.", "nugget", shown(nugget.text))
        seen.add(nugget.text)
    topics[topic] = tuple(nuggets)


def _topic(record: dict[str, Any]) -> tuple[str, list[Nugget]]:
    if "nugget_bank" not in record:
        topic = id_value(required(record, "qid"), "qid")
        return topic, list(map(_statement, objects_in(record, "nuggets")))
    if "query_id" in record:
        topic = id_value(record["query_id"], "query_id")
    else:
        topic = id_value(required(object_in(record, "metadata"), "topic_id", "metadata."), "topic_id")
    return topic, [
        _question(object_value(entry, "each of nugget_bank")) for entry in _all(record, "nugget_bank")
    ]


def _all(record: dict[str, Any], key: str) -> list[Any]:
    """The items of the list or object under the key, empty if absent; raises Fault."""
    given = record.get(key)
    if given is None:
        return []
    if isinstance(given, dict):
        return list(given.values())
    if not isinstance(given, list):
        raise wrong_kind(key, "a list or an object", given)
    return given


def _statement(record: dict[str, Any]) -> Nugget:
    return Nugget(text_in(record, "text"), importance_in(record), record.get("importance") is not None)


def _question(record: dict[str, Any]) -> Nugget:
    aggregator = record.get("aggregator_type") or "OR"
    if aggregator not in ("OR", "AND"):
        raise Fault(
            "aggregator_type is OR (one answer suffices) or AND (all are needed).",
            "Write one of the two.",
            "aggregator_type",
            shown(str(aggregator)),
        )
    return Nugget(
        text_in(record, "question"),
        importance_in(record),
        record.get("importance") is not None,
        tuple(_answer(object_value(entry, "each of answers")) for entry in _all(record, "answers")),
        cast(Aggregator, aggregator),
    )


def _answer(record: dict[str, Any]) -> NuggetAnswer:
    given = _all(record, "references")
    documents = (
        reference["doc_id"] if isinstance(reference, dict) and "doc_id" in reference else reference
        for reference in given
    )
    return NuggetAnswer(
        text_value(required(record, "answer"), "answer"),
        tuple(id_value(docno, "references") for docno in documents),
    )


def importance_in(record: dict[str, Any]) -> Importance:
    """The importance that a record states, okay where it states none; raises Fault for another word."""
    stated = record.get("importance")
    if stated is None:
        return "okay"
    if stated not in IMPORTANCES:
        raise Fault(
            f"An importance is one of {', '.join(IMPORTANCES)}.",
            "Write one of them, or leave the key out for okay.",
            "importance",
            shown(str(stated)),
        )
    return cast(Importance, stated)


def _notes(topics: dict[str, tuple[Nugget, ...]]) -> Iterable[Problem]:
    nuggets = [nugget for group in topics.values() for nugget in group]
    unstated = sum(not nugget.stated for nugget in nuggets)
    if unstated:
        yield Problem(f"No importance with {unstated:,} of {len(nuggets):,} nuggets; they count as okay.")
    empty = [topic for topic, group in topics.items() if not group]
    if empty:
        rule = f"No nuggets in {_named(empty)}; measures of nuggets leave them out."
        yield Problem(rule, "Add some if this is unintended.")
    without = [topic for topic, group in topics.items() if group and not any(map(_is_vital, group))]
    if without:
        rule = f"No vital nuggets in {_named(without)}; V and V_strict are 0 there."
        yield Problem(rule, "Remove these topics from the set if this is unintended.")


def _is_vital(nugget: Nugget) -> bool:
    return nugget.importance == "vital"


def _named(topics: list[str], most: int = 10) -> str:
    some = ", ".join(map(shown, topics[:most]))
    more = f" and {len(topics) - most:,} more" if len(topics) > most else ""
    return f"{len(topics):,} {'topic' if len(topics) == 1 else 'topics'} ({some}{more})"


RELEVANT, ATTESTED, ANSWERS = "CITED_DOCUMENT_RELEVANCE", "SENTENCE_ATTESTED", "SENTENCE_ANSWERS_QUESTION"
REQUIRES, FIRST = "requires_citation", "is_first_instance"
"""Answers about a sentence without citations, for any name of the judgment's type."""


@dataclass(frozen=True)
class ArguedAnswer:
    """Auto-ARGUE's judgments of one answer: its sentences, and the answers found by question."""

    sentences: tuple[JudgedSentence, ...]
    matched: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def label(self, nugget: Nugget) -> Assignment:
        """Whether the answer answers a question: by one of its answers, or by all where all are needed."""
        matched = self.matched.get(nugget.text, frozenset())
        needed = {answer.text for answer in nugget.answers}
        is_answered = bool(matched) and (nugget.aggregator == "OR" or needed <= matched)
        return "support" if is_answered else "not_support"


@dataclass(frozen=True)
class ArguedAnswers:
    """The judgments by (run, topic), and a note on judgments of sentences that do not count."""

    cells: Mapping[tuple[str, str], ArguedAnswer] = field(default_factory=dict)
    notes: tuple[Problem, ...] = ()


def read_argued(path: Path) -> ArguedAnswers:
    """The judgments in a file of JSON lines of either form; raises Invalid with up to 25 problems.

    Judgments of other types than the three known ones are ignored; those of sentences without
    citations are counted in a note, as they may say that a citation was needed.
    """
    problems = Problems("file of Auto-ARGUE's judgments")
    cells: dict[tuple[str, str], ArguedAnswer] = {}
    unknown: Counter[str] = Counter()
    read_each(path, problems, partial(_take_argue, cells, unknown))
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


def _take_argue(
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
    by_question = {question: frozenset(answers) for question, answers in matched.items()}
    cells[run, topic] = ArguedAnswer(sentences, by_question)


def is_counted(record: dict[str, Any]) -> bool:
    """Whether a line has counts of sentences instead of a judgment of each."""
    return "sentences" in record and "matched" in record


def _kept(record: dict[str, Any]) -> ArguedAnswer:
    """An answer's counts and the answers found by question, unchanged."""
    by_question = {
        text_value(question, "matched"): frozenset(
            text_value(answer, "each of matched") for answer in list_in(matched, question, "matched.")
        )
        for matched in (object_in(record, "matched"),)
        for question in matched
    }
    return ArguedAnswer(tuple(map(_counts, objects_in(record, "sentences"))), by_question)


def _counts(sentence: dict[str, Any]) -> JudgedSentence:
    names = ("citations", "supporting", "relevant")
    cited, supporting, relevant = (place_value(required(sentence, name), name) for name in names)
    for name, count in (("supporting", supporting), ("relevant", relevant)):
        if count > cited:
            rule = f"A sentence has more {name} citations than its {cited:,} citations in total."
            raise Fault(rule, "Count only its own citations.", name, str(count))
    return JudgedSentence(cited, supporting, relevant, _truth(sentence, "needs_citation", ""))


def _sentence(
    sentence: dict[str, Any], matched: dict[str, set[str]], unknown: Counter[str]
) -> JudgedSentence:
    cited = dict.fromkeys(
        id_value(required(citation, "doc_id"), "doc_id") for citation in objects_in(sentence, "citations")
    )
    judged: dict[tuple[str, str], bool] = {}
    needs: dict[str, bool] = {}
    for judgment in objects_in(sentence, "judgments"):
        kind = text_in(judgment, "judgment_type_id")
        response = judgment.get("response")
        response = response if isinstance(response, dict) else {}
        if kind in (RELEVANT, ATTESTED):
            document = id_value(required(object_in(judgment, "provenance"), "doc_id"), "doc_id")
            judged[kind, document] = _truth(response, "is_relevant" if kind == RELEVANT else "is_attested")
        elif kind == ANSWERS:
            _match(response, matched)
        elif flags := {name: _truth(response, name) for name in (REQUIRES, FIRST) if name in response}:
            needs |= flags
        elif not cited:
            unknown[kind] += 1
    return JudgedSentence(
        len(cited),
        sum(judged.get((ATTESTED, document), False) for document in cited),
        sum(judged.get((RELEVANT, document), False) for document in cited),
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
