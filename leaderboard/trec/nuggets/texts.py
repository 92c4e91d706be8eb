"""Judgments of answers as one JSON text, as files carry them to other sites, and the check of such a text."""

import json
from collections.abc import Iterator
from typing import get_args

from leaderboard.measures.answers.judged import Assignment
from leaderboard.trec.nuggets import packing
from leaderboard.trec.nuggets.packing import PARTS, Maker, PackedAnswers
from leaderboard.trec.nuggets.sets import IMPORTANCES, Aggregator

SUPPORT = (-1, 0, 1, 2)


def of_text(text: bytes) -> PackedAnswers:
    """The judgments in a text of `packing.text`.

    Raises ValueError, KeyError, TypeError or AttributeError for one that no site has written.
    """
    packed = packing.of_record(json.loads(text))
    if not all(_sound(packed)):
        raise ValueError("The judgments have invalid values.")
    return packed


def _sound(of: PackedAnswers) -> Iterator[bool]:
    """Whether each value has its type: what follows trusts what is stored."""
    yield isinstance(of.leaves_out, bool)
    yield of.made_by.keys() <= set(PARTS)
    yield all(maker.kind in get_args(Maker) and isinstance(maker.name, str) for maker in of.made_by.values())
    yield all(isinstance(word, str) for note in of.notes for word in (note.rule, note.remedy, note.run))
    yield all(isinstance(topic, str) for note in of.notes for topic in note.topics)
    yield from _sound_nuggets(of)
    yield from _sound_labels(of)


def _sound_nuggets(of: PackedAnswers) -> Iterator[bool]:
    for nuggets in of.judgments.nuggets.topics.values():
        yield len({nugget.text for nugget in nuggets}) == len(nuggets)
        for nugget in nuggets:
            yield isinstance(nugget.text, str) and isinstance(nugget.stated, bool)
            yield nugget.importance in IMPORTANCES and nugget.aggregator in get_args(Aggregator)
            words = (word for answer in nugget.answers for word in (answer.text, *answer.documents))
            yield all(isinstance(word, str) for word in words)


def _sound_labels(of: PackedAnswers) -> Iterator[bool]:
    judgments = of.judgments
    for (_, topic), assigned in (judgments.assignments.cells if judgments.assignments else {}).items():
        yield len(assigned.labels) == len(judgments.nuggets.topics[topic])
        yield all(label in get_args(Assignment) for label in assigned.labels)
    for supported in judgments.support.answers.values():
        yield all(type(label) is int and label in SUPPORT for labels in supported.labels for label in labels)
    for argued in judgments.argued.cells.values():
        for sentence in argued.sentences:
            counts = (sentence.supporting, sentence.relevant, sentence.citations)
            yield all(type(count) is int and 0 <= count <= sentence.citations for count in counts)
            yield isinstance(sentence.needs, bool)
        yield all(isinstance(word, str) for words in argued.matched.values() for word in words)
