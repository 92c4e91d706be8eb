"""Nugget sets: what a good answer to each topic holds, in the three forms that tracks publish."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from leaderboard.errors import Problem
from leaderboard.measures.answers.judged import Importance
from leaderboard.trec.read.json_objects import (
    Fault,
    id_value,
    object_in,
    object_value,
    objects_in,
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
    """One fact that a good answer holds; within a topic it is known by its exact text, or question.

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
    """The nugget set in a file of JSON lines, one a topic, of any of the three forms, told apart by keys.

    Raises Invalid with up to 25 problems: keys that are missing, a nugget or topic that is there twice.
    """
    problems = Problems("nugget set")
    topics: dict[str, tuple[Nugget, ...]] = {}
    read_each(path, problems, partial(_take, topics))
    if not topics:
        problems.add(Problem("The file has no nuggets.", "Write one JSON object a topic, each on a line."))
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
    return topic, [_question(object_value(one, "each of nugget_bank")) for one in _all(record, "nugget_bank")]


def _all(record: dict[str, Any], key: str) -> list[Any]:
    """What a list or an object under the key holds, nothing where there is none; raises Fault."""
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
        tuple(_answer(object_value(one, "each of answers")) for one in _all(record, "answers")),
        cast(Aggregator, aggregator),
    )


def _answer(record: dict[str, Any]) -> NuggetAnswer:
    given = _all(record, "references")
    documents = (one["doc_id"] if isinstance(one, dict) and "doc_id" in one else one for one in given)
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
        yield Problem(rule, "Add some, if that is not meant.")
    without = [topic for topic, group in topics.items() if group and not any(map(_is_vital, group))]
    if without:
        rule = f"No vital nuggets in {_named(without)}; V and V_strict are 0 there."
        yield Problem(rule, "Leave those topics out of the set, if that is not meant.")


def _is_vital(nugget: Nugget) -> bool:
    return nugget.importance == "vital"


def _named(topics: list[str], most: int = 10) -> str:
    some = ", ".join(map(shown, topics[:most]))
    more = f" and {len(topics) - most:,} more" if len(topics) > most else ""
    return f"{len(topics):,} {'topic' if len(topics) == 1 else 'topics'} ({some}{more})"
