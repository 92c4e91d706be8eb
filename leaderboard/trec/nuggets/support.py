"""Support labels: whether a cited document supports the segment, by line of (run, topic) or of pair."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from leaderboard.errors import Problem
from leaderboard.measures.answers.judged import UNLABELLED
from leaderboard.trec.answers.record import Answer, folded
from leaderboard.trec.read.json_objects import (
    ONE_OBJECT,
    Fault,
    id_value,
    object_in,
    objects_in,
    place_value,
    read_each,
    required,
)
from leaderboard.trec.read.lines import Problems, shown

LABELS = {"2": 2, "1": 1, "0": 0, "-1": UNLABELLED}
PAIR_LABELS = {"FS": 2, "PS": 1, "NS": 0}
DONE = "completed"


@dataclass(frozen=True)
class LabelledSegments:
    """The support labels of one answer's citations, segment by segment, and the segments' texts, if given."""

    labels: tuple[tuple[int, ...], ...]
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class SupportLabels:
    """Support labels by (run, topic): of whole answers, or of pairs by places of segment and citation."""

    answers: Mapping[tuple[str, str], LabelledSegments] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], Mapping[tuple[int, int], int]] = field(default_factory=dict)

    @property
    def cells(self) -> set[tuple[str, str]]:
        """The (run, topic) that have labels."""
        return {*self.answers, *self.pairs}

    def of(self, run: str, topic: str, answer: Answer | None) -> tuple[tuple[int, ...], ...] | None:
        """The labels of every segment of an answer, None if it has none.

        A citation without a label is not judged. Raises Fault where a label has a place that the answer does
        not have.
        """
        whole = self.answers.get((run, topic))
        if whole is not None:
            return whole.labels
        pairs = self.pairs.get((run, topic))
        if pairs is None:
            return None
        cited = [len(segment.citations) for segment in answer.segments] if answer else []
        for segment, citation in pairs:
            if segment >= len(cited) or citation >= cited[segment]:
                rule = f"Run {shown(run)} has labels of a citation that its answer to {shown(topic)} lacks."
                place = f"segment {segment}, citation {citation} (from 0)"
                raise Fault(rule, "Check that labels and run belong together.", "label", place)
        return tuple(
            tuple(pairs.get((segment, citation), UNLABELLED) for citation in range(count))
            for segment, count in enumerate(cited)
        )


def read_support(path: Path) -> SupportLabels:
    """The support labels in a file of JSON lines of either form; raises Invalid with up to 25 problems."""
    problems = Problems("file of support labels")
    answers: dict[tuple[str, str], LabelledSegments] = {}
    pairs: defaultdict[tuple[str, str], dict[tuple[int, int], int]] = defaultdict(dict)
    read_each(path, problems, partial(_take, answers, pairs))
    if not answers and not pairs:
        problems.add(Problem("The file has no support labels.", ONE_OBJECT))
        problems.stop()
    return SupportLabels(answers, dict(pairs))


def _take(
    answers: dict[tuple[str, str], LabelledSegments],
    pairs: defaultdict[tuple[str, str], dict[tuple[int, int], int]],
    number: int,
    record: dict[str, Any],
) -> None:
    if "support_label" in record or "status" in record:
        cell, place, label = _pair(record)
        if cell in answers or pairs[cell].setdefault(place, label) != label:
            rule = "The citation has another label already."
            raise Fault(rule, "Keep one.", "sentence_index", str(place[0]))
        return
    cell = (id_value(required(record, "run_id"), "run_id"), _topic(record))
    if cell in answers or cell in pairs:
        raise Fault("The run has labels for this topic already.", "Keep one line.", "topic", shown(cell[1]))
    answers[cell] = _segments(objects_in(record, "sentences"))


def _topic(record: dict[str, Any]) -> str:
    key = "narrative_id" if "narrative_id" in record else "topic_id"
    return id_value(required(record, key), key)


def _pair(record: dict[str, Any]) -> tuple[tuple[str, str], tuple[int, int], int]:
    facts = object_in(record, "metadata")
    cell = (id_value(required(facts, "run_id", "metadata."), "run_id"), _topic(facts))
    names = ("sentence_index", "citation_index")
    segment, citation = (place_value(required(facts, name, "metadata."), name) for name in names)
    if record.get("status", DONE) != DONE:
        return cell, (segment, citation), UNLABELLED
    label = required(record, "support_label")
    if not isinstance(label, str) or label not in PAIR_LABELS:
        rule = "A support label is FS, PS or NS."
        raise Fault(rule, "Write one of them, or a status.", "support_label", shown(str(label)))
    return cell, (segment, citation), PAIR_LABELS[label]


def _segments(given: Iterable[dict[str, Any]]) -> LabelledSegments:
    """The sentences of a line in the order of their ids, which count from 0."""
    segments: dict[int, tuple[tuple[int, ...], str]] = {}
    for sentence in given:
        place = place_value(required(sentence, "sentenceID"), "sentenceID")
        if place in segments:
            raise Fault("The line has this sentence twice.", "Keep one.", "sentenceID", str(place))
        text = folded(sentence["text"]) if isinstance(sentence.get("text"), str) else ""
        segments[place] = _labels(objects_in(sentence, "citations")), text
    _require_all(list(segments), "sentenceID")
    ordered = [segments[place] for place in sorted(segments)]
    return LabelledSegments(tuple(labels for labels, _ in ordered), tuple(text for _, text in ordered))


def _labels(given: Iterable[dict[str, Any]]) -> tuple[int, ...]:
    labels: dict[int, int] = {}
    for citation in given:
        place = place_value(required(citation, "citationID"), "citationID")
        label = required(citation, "support")
        if isinstance(label, bool) or str(label).strip() not in LABELS:
            raise Fault(
                "A support label is 2 (full), 1 (partial), 0 (none) or -1 (not judged).",
                "Write one of them.",
                "support",
                shown(str(label)),
            )
        if place in labels:
            raise Fault("The sentence has this citation twice.", "Keep one.", "citationID", str(place))
        labels[place] = LABELS[str(label).strip()]
    # Only the first ones may have been judged, but none before them may be missing.
    _require_all(list(labels), "citationID")
    return tuple(labels[place] for place in sorted(labels))


def _require_all(places: list[int], name: str) -> None:
    if places and max(places) != len(places) - 1:
        missing = next(place for place in range(len(places)) if place not in places)
        rule = f"{name} counts from 0; {missing} is missing."
        raise Fault(rule, "Number them in order.", name, str(missing))
