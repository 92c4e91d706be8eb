"""A judge's qrels: TREC's four columns, or six with the judge's confidence and the name of its run."""

import hashlib
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leaderboard.checksums import compressed, damaged, plain_bytes
from leaderboard.errors import Problem
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits, Problems, bytes_of, raw_lines, shown, text_of

_TRUTH = {b"true": 1, b"false": 0}
_FORMS = (4, 6)
MOST = 10**9
"""No label is larger."""


@dataclass(frozen=True, eq=False, slots=True)
class JudgeLabels:
    """Labels by a judge: judgments: topic -> docno -> grade; confidence: the same, where given.

    Confidence weighs nothing: it is there to be shown. run: the name in the sixth column, "" without one;
    notes: what was changed while reading.
    """

    judgments: Mapping[str, Mapping[bytes, int]]
    confidence: Mapping[str, Mapping[bytes, float]]
    run: str
    notes: tuple[Problem, ...]


def read_judge_labels(
    path: Path, limits: Limits = DEFAULT_LIMITS, topics: Collection[str] = ()
) -> JudgeLabels:
    """The labels of a file of `topic 0 docno label`, or `topic Q0 docno label confidence run`.

    A label is a number, whose integer part counts, or True or False, which are 1 and 0.
    Blank lines and `#` comments are skipped. Raises Invalid, with up to 25 problems, for a line of
    another length, a label or confidence that is not a number, a document with two labels, and a topic that
    is not among those given, if any are.
    """
    reader = _Reader(topics)
    for number, line in raw_lines(path, limits):
        if line.strip() and not line.startswith(b"#"):
            reader.add(number, line.split())
    return reader.labels()


@dataclass(slots=True)
class _Reader:
    topics: Collection[str] = ()
    problems: Problems = field(default_factory=lambda: Problems("qrels file"))
    judgments: dict[str, dict[bytes, int]] = field(default_factory=dict)
    confidence: dict[str, dict[bytes, float]] = field(default_factory=dict)
    run: str = ""
    cut: list[int] = field(default_factory=list)

    def add(self, number: int, fields: list[bytes]) -> None:
        """Add the fields of a line."""
        if len(fields) not in _FORMS:
            rule = f"A judgment has four fields, or six with confidence and run; this line has {len(fields)}."
            self.problems.add(Problem(rule, "Write topic 0 docno label.", number))
            return
        topic, docno = text_of(fields[0]), fields[2]
        if self.topics and topic not in self.topics:
            rule, remedy = "The task has no such topic.", "Remove labels of other topics."
            self.problems.add(Problem(rule, remedy, number, "topic", shown(topic)))
            return
        label = self._label(number, fields[3])
        if label is None:
            return
        before = self.judgments.setdefault(topic, {}).setdefault(docno, label)
        if before != label:
            rule = f"Topic {shown(topic)} has this document already with label {before}; here it has {label}."
            self.problems.add(Problem(rule, "Keep one of the two lines.", number, "docno", shown(docno)))
        if len(fields) == 6:
            self._keep_confidence(number, topic, docno, fields[4])
            self.run = self.run or text_of(fields[5])

    def labels(self) -> JudgeLabels:
        """The labels read; raises Invalid if there were problems, or no judgment."""
        if not self.judgments and not self.problems.found:
            self.problems.add(
                Problem("The file has no judgments.", "Write one line each: topic 0 docno label.")
            )
        self.problems.stop()
        rule = "Labels that are not whole numbers were cut to the part before the point."
        notes = (Problem(rule, "", self.cut[0], count=len(self.cut)),) if self.cut else ()
        return JudgeLabels(self.judgments, self.confidence, self.run, notes)

    def _label(self, number: int, text: bytes) -> int | None:
        if (truth := _TRUTH.get(text.lower())) is not None:
            return truth
        value = _number(text)
        if value is None or abs(value) > MOST:
            rule, remedy = "A label is a number, or True or False.", "The fourth column is the label."
            self.problems.add(Problem(rule, remedy, number, "label", shown(text)))
            return None
        if value != int(value):
            self.cut.append(number)
        return int(value)

    def _keep_confidence(self, number: int, topic: str, docno: bytes, text: bytes) -> None:
        value = _number(text)
        if value is None:
            rule, remedy = "A confidence is a number.", "The fifth of six columns is the confidence."
            self.problems.add(Problem(rule, remedy, number, "confidence", shown(text)))
            return
        self.confidence.setdefault(topic, {})[docno] = value


def _number(text: bytes) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


_LABELS = b"BRL1"
_LEVEL = 3


@dataclass(frozen=True, slots=True, eq=False)
class KeptLabels:
    """The labels of a judge: the runs of the reference are scored by them, which makes its board."""

    labels: JudgeLabels

    @property
    def sha256(self) -> str:
        """The digest of labels, confidence and the name in the file, in any order of its lines."""
        return hashlib.sha256(text(self)).hexdigest()

    @property
    def documents(self) -> int:
        """Number of labels."""
        return sum(map(len, self.labels.judgments.values()))


def are_labels(stored: bytes) -> bool:
    """Whether the stored data are labels of documents."""
    return stored.startswith(_LABELS)


def pack_labels(kept: KeptLabels) -> bytes:
    """Labels in their stored form, without the notes on their file."""
    return compressed(_LABELS, text(kept), _LEVEL)


def unpack_labels(stored: bytes) -> KeptLabels:
    """The labels that were stored; raises Damaged."""
    record = json.loads(plain_bytes(_LABELS, stored, "the labels"))
    try:
        return labels_in(record)
    except (ValueError, KeyError, TypeError) as error:
        raise damaged("the labels", "they have another form") from error


def labels_in(record: dict[str, Any]) -> KeptLabels:
    """The labels in the object of `text`, without a check of its values."""
    judgments: dict[str, dict[bytes, int]] = {}
    confidence: dict[str, dict[bytes, float]] = {}
    for topic, labels in record["labels"].items():
        judgments[topic] = {bytes_of(docno): grade for docno, (grade, _) in labels.items()}
        given = {bytes_of(docno): value for docno, (_, value) in labels.items() if value is not None}
        if given:
            confidence[topic] = given
    return KeptLabels(JudgeLabels(judgments, confidence, record["run"], ()))


def text(kept: KeptLabels) -> bytes:
    """All labels as one JSON text, which is hashed."""
    labels = kept.labels
    record: dict[str, Any] = {
        "run": labels.run,
        "labels": {
            topic: {
                text_of(docno): [grade, labels.confidence.get(topic, {}).get(docno)]
                for docno, grade in grades.items()
            }
            for topic, grades in labels.judgments.items()
        },
    }
    return json.dumps(record, sort_keys=True, separators=(",", ":")).encode()
