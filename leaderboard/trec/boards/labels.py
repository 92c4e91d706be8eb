"""Stored labels of documents, submitted by a judge instead of a board."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from leaderboard.checksums import compressed, damaged, plain_bytes
from leaderboard.trec.boards.judge_labels import JudgeLabels
from leaderboard.trec.read.lines import bytes_of, text_of

_LABELS = b"BRL1"
_LEVEL = 3


@dataclass(frozen=True, slots=True, eq=False)
class KeptLabels:
    """The labels of a judge: the runs of the reference are scored by them, which makes its board."""

    labels: JudgeLabels

    @property
    def sha256(self) -> str:
        """The digest of labels, confidence and the name in the file, whatever the order of its lines."""
        return hashlib.sha256(text(self)).hexdigest()

    @property
    def documents(self) -> int:
        """Number of labels."""
        return sum(map(len, self.labels.judgments.values()))


def are_labels(stored: bytes) -> bool:
    """Whether what is stored is labels of documents."""
    return stored.startswith(_LABELS)


def pack_labels(kept: KeptLabels) -> bytes:
    """Labels as they are stored, without the notes on their file."""
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
    """All labels as one JSON text, which their digest is of."""
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
